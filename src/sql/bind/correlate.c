/*
 * correlate.c - queries over columns of the query around them, made independent of it.
 *
 * Idea        The inner plan gets columns that say which outer rows its rows are for ("carried"), so
 *             that a join by them takes the place of running it once per outer row. A condition
 *             `outer = inner` of a filter gives such a column for nothing; where an outer column is
 *             used in another way, the inner plan is joined with the distinct values of it (the
 *             domain: the outer plan once more, grouped).
 * Upwards     Carried columns travel through projections, become keys of groups, samples, LATEST and
 *             windows, turn LIMIT into a limit per outer row, and meet in joins and set operations.
 * Null        An outer null is for inner rows whose value is null: the equality of the dialect.
 */
#include "sql/bind/correlate.h"
#include "sql/bind/bind.h"
#include "sql/plan/walk.h"

/* ----------------------------------------------------------------------- columns of outer */

typedef struct sides {
    bool inner, outer;
} sides;

static bool see_side(void *arg, const alm_expr *col)
{
    sides *s = arg;
    s->outer |= (col->col & ALM_COL_DEP) != 0;
    s->inner |= (col->col & ALM_COL_DEP) == 0;
    return true;
}

static sides sides_of(const alm_expr *e)
{
    sides s = {false, false};
    (void)alm_expr_each_col(e, see_side, &s);
    return s;
}

/* Outer columns as the outer plan numbers them. */
static alm_status strip_col(void *arg, alm_expr *e, alm_expr **out)
{
    if (e->kind != ALM_X_COL || (e->col & ALM_COL_DEP) == 0)
        return ALM_OK;
    return alm_expr_col(arg, e->col & ALM_OUTER_NUMBER, e->type, e->pos, out);
}

static alm_status strip(alm_ctx *cx, alm_expr *e, alm_expr **out)
{
    return alm_expr_map(cx, e, strip_col, cx, out);
}

int32_t alm_dep_find_outer(const alm_exprs *carried, const alm_expr *e)
{
    for (uint32_t i = 0; i < carried->n; i++)
        if (carried->at[i] == e || alm_expr_equal(carried->at[i], e))
            return (int32_t)i;
    return -1;
}

alm_status alm_dep_col_of(alm_planner *p, const alm_plan *plan, uint32_t col, alm_expr **out)
{
    return alm_expr_col(p->cx, col, plan->cols[col].type, plan->pos, out);
}

alm_status alm_dep_list_new(alm_planner *p, uint32_t room, alm_dep_list *out)
{
    *out = (alm_dep_list){0};
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, room + 1, &out->exprs));
    return ALM_NEWN(p->cx, p->cx->arena, room + 1, &out->names);
}

alm_status alm_dep_list_cols(alm_planner *p, alm_dep_list *l, const alm_plan *child, uint32_t lo,
                             uint32_t hi)
{
    for (uint32_t c = lo; c < hi; c++) {
        ALM_TRY(alm_dep_col_of(p, child, c, &l->exprs[l->n]));
        l->names[l->n++] = child->cols[c].name;
    }
    return ALM_OK;
}

void alm_dep_list_add(alm_dep_list *l, alm_expr *e)
{
    l->exprs[l->n] = e;
    l->names[l->n++] = "outer";
}

static bool is_side_join(const alm_plan *plan)
{
    return plan->op == ALM_P_JOIN &&
           (plan->join.kind == ALM_JOIN_LEFT || plan->join.kind == 'S' || plan->join.kind == 'A');
}

/* The outer plan without what hangs on its rows: the joins of earlier subqueries neither add values
 * nor, but for a first SEMI or ANTI join, take enough away to be worth a copy. Copies of copies would
 * double the plan with every subquery. */
static const alm_plan *domain_rows(const alm_plan *plan, const alm_exprs *of)
{
    for (; is_side_join(plan); plan = plan->child[0]) {
        if (plan->join.kind != ALM_JOIN_LEFT && !is_side_join(plan->child[0]))
            return plan;
        for (uint32_t i = 0; i < of->n; i++)
            if (!alm_expr_within(of->at[i], 0, plan->child[0]->n_cols))
                return plan;
    }
    return plan;
}

/* Distinct values of the expressions over the outer plan. */
static alm_status domain(const alm_dep_ctx *d, const alm_exprs *of, alm_plan **out)
{
    alm_planner *p = d->p;
    alm_plan *plan = NULL;
    alm_dep_list l;
    ALM_TRY(alm_plan_copy(p, domain_rows(d->outer, of), &plan));
    ALM_TRY(alm_dep_list_new(p, of->n, &l));
    for (uint32_t i = 0; i < of->n; i++)
        alm_dep_list_add(&l, of->at[i]);
    ALM_TRY(alm_plan_project(p, plan, l.exprs, l.names, l.n, &plan));
    ALM_TRY(alm_plan_distinct(p, &plan));
    *out = plan;
    return ALM_OK;
}

/* The plan carries all of `want` afterwards: those it does not yet come from the domain. */
alm_status alm_dep_ensure(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried,
                          const alm_exprs *want)
{
    alm_planner *p = d->p;
    alm_exprs missing = {0};
    for (uint32_t i = 0; i < want->n; i++)
        if (alm_dep_find_outer(carried, want->at[i]) < 0 &&
            alm_dep_find_outer(&missing, want->at[i]) < 0)
            ALM_TRY(alm_exprs_add(p->cx, &missing, want->at[i]));
    if (missing.n == 0)
        return ALM_OK;
    alm_plan *values = NULL;
    ALM_TRY(domain(d, &missing, &values));
    ALM_TRY(alm_plan_join(p, ALM_JOIN_CROSS, (*plan)->pos, *plan, values, plan));
    for (uint32_t i = 0; i < missing.n; i++)
        ALM_TRY(alm_exprs_add(p->cx, carried, missing.at[i]));
    return ALM_OK;
}

static bool gather_col(void *arg, const alm_expr *col)
{
    alm_dep_gathering *g = arg;
    alm_expr *e = NULL;
    if ((col->col & ALM_COL_DEP) == 0)
        return true;
    g->code = alm_expr_col(g->cx, col->col & ALM_OUTER_NUMBER, col->type, col->pos, &e);
    if (g->code == ALM_OK)
        g->code = alm_exprs_add(g->cx, g->want, e);
    return g->code == ALM_OK;
}

alm_status alm_dep_gather(alm_ctx *cx, const alm_expr *e, alm_exprs *want)
{
    alm_dep_gathering g = {cx, want, ALM_OK};
    (void)alm_expr_each_col(e, gather_col, &g);
    return g.code;
}

alm_status alm_dep_land_col(void *arg, alm_expr *e, alm_expr **out)
{
    const alm_dep_landing *l = arg;
    alm_expr *stripped = NULL;
    if (e->kind != ALM_X_COL || (e->col & ALM_COL_DEP) == 0)
        return ALM_OK;
    ALM_TRY(strip(l->p->cx, e, &stripped));
    const int32_t at = alm_dep_find_outer(l->carried, stripped);
    ALM_ASSERT(at >= 0);
    ALM_TRY(alm_dep_col_of(l->p, l->child, l->first + (uint32_t)at, out));
    return alm_type_eq((*out)->type, e->type)
               ? ALM_OK
               : alm_expr_cast(l->p, *out, e->type, ALM_CAST_EXPLICIT, out);
}

/* Outer columns of an expression over the child become columns of the child. */
static alm_status land(alm_planner *p, const alm_plan *child, const alm_exprs *carried,
                       uint32_t first, alm_expr **e)
{
    alm_dep_landing l = {p, child, carried, first};
    return alm_expr_map(p->cx, *e, alm_dep_land_col, &l, e);
}

alm_status alm_dep_gather_one(void *arg, alm_expr **e)
{
    const alm_dep_gathering *g = arg;
    return alm_dep_gather(g->cx, *e, g->want);
}

alm_status alm_dep_land_one(void *arg, alm_expr **e)
{
    return alm_expr_map(((alm_dep_landing *)arg)->p->cx, *e, alm_dep_land_col, arg, e);
}

/* The child, independent now, and with all that the node's own expressions want; they are changed to
 * read it. *n0: columns of the child that are not carried. */
static alm_status push_child(const alm_dep_ctx *d, alm_plan *plan, alm_exprs *carried, uint32_t *n0)
{
    alm_exprs want = {0};
    alm_dep_gathering g = {d->p->cx, &want, ALM_OK};
    *n0 = plan->child[0]->n_cols;
    ALM_TRY(alm_dep_push(d, &plan->child[0], carried));
    ALM_TRY(alm_plan_exprs(plan, alm_dep_gather_one, &g));
    ALM_TRY(alm_dep_ensure(d, &plan->child[0], carried, &want));
    alm_dep_landing l = {d->p, plan->child[0], carried, *n0};
    return alm_plan_exprs(plan, alm_dep_land_one, &l);
}

alm_status alm_dep_too_hard(const alm_dep_ctx *d, const alm_plan *plan, const char *what)
{
    return alm_fail(d->p->cx, ALM_E_UNSUPPORTED, plan->pos,
                    "a subquery that uses columns of the query around it cannot have %s", what);
}

/* ------------------------------------------------------------------------------ filters */

/* outer = inner: a key pair. */
static alm_status as_pair(alm_planner *p, alm_expr *e, alm_expr **outer, alm_expr **inner)
{
    *outer = NULL;
    if (!alm_expr_is_call(e, "=") || e->n_args != 2 || alm_expr_volatile(e))
        return ALM_OK;
    for (uint32_t i = 0; i < 2; i++) {
        const sides a = sides_of(e->args[i]), b = sides_of(e->args[1 - i]);
        if (a.outer && !a.inner && b.inner && !b.outer) {
            ALM_TRY(strip(p->cx, e->args[i], outer));
            *inner = e->args[1 - i];
            return ALM_OK;
        }
    }
    return ALM_OK;
}

/* Splits conjuncts: pairs, those with outer columns, those without. */
typedef struct parts {
    alm_exprs outer, inner, mixed, plain;
} parts;

static alm_status split(alm_planner *p, const alm_plan *filter, parts *out)
{
    for (uint32_t i = 0; i < filter->filter.n; i++) {
        alm_expr *e = filter->filter.conjunct[i], *outer = NULL, *inner = NULL;
        ALM_TRY(as_pair(p, e, &outer, &inner));
        if (outer != NULL) {
            ALM_TRY(alm_exprs_add(p->cx, &out->outer, outer));
            ALM_TRY(alm_exprs_add(p->cx, &out->inner, inner));
        } else {
            alm_exprs *to = sides_of(e).outer ? &out->mixed : &out->plain;
            ALM_TRY(alm_exprs_add(p->cx, to, e));
        }
    }
    return ALM_OK;
}

static alm_status push_filter(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_plan *filter = *plan, *child = filter->child[0];
    const uint32_t n0 = child->n_cols;
    parts s = {0};
    alm_exprs want = {0};
    alm_dep_list l;
    ALM_TRY(alm_dep_push(d, &child, carried));
    ALM_TRY(split(p, filter, &s));
    ALM_TRY(alm_dep_list_new(p, child->n_cols + s.outer.n, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, child, 0, child->n_cols));
    alm_exprs again = {0}; /* an outer value that is there already: an ordinary condition */
    for (uint32_t i = 0; i < s.outer.n; i++) {
        const int32_t at = alm_dep_find_outer(carried, s.outer.at[i]);
        if (at >= 0) {
            alm_expr *args[2] = {l.exprs[n0 + (uint32_t)at], s.inner.at[i]}, *same = NULL;
            ALM_TRY(alm_expr_call(p, "=", filter->pos, args, 2, &same));
            ALM_TRY(alm_exprs_add(p->cx, &again, same));
            continue;
        }
        alm_dep_list_add(&l, s.inner.at[i]);
        ALM_TRY(alm_exprs_add(p->cx, carried, s.outer.at[i]));
    }
    ALM_TRY(alm_plan_filter(p, &child, &s.plain));
    if (l.n > child->n_cols) {
        /* what was carried before may have been used by `again`: same numbers, same columns */
        for (uint32_t i = 0; i < again.n; i++)
            ALM_TRY(alm_exprs_add(p->cx, &s.mixed, again.at[i]));
        ALM_TRY(alm_plan_project(p, child, l.exprs, l.names, l.n, &child));
    } else {
        ALM_TRY(alm_plan_filter(p, &child, &again));
    }
    for (uint32_t i = 0; i < s.mixed.n; i++)
        ALM_TRY(alm_dep_gather(p->cx, s.mixed.at[i], &want));
    ALM_TRY(alm_dep_ensure(d, &child, carried, &want));
    for (uint32_t i = 0; i < s.mixed.n; i++)
        ALM_TRY(land(p, child, carried, n0, &s.mixed.at[i]));
    ALM_TRY(alm_plan_filter(p, &child, &s.mixed));
    *plan = child;
    return ALM_OK;
}

/* --------------------------------------------------------------------- rows one by one */

static alm_status push_project(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_plan *old = *plan;
    uint32_t n0 = 0;
    alm_dep_list l;
    ALM_TRY(push_child(d, old, carried, &n0));
    ALM_TRY(alm_dep_list_new(p, old->n_cols + carried->n, &l));
    for (uint32_t c = 0; c < old->n_cols; c++) {
        l.exprs[l.n] = old->project.expr[c];
        l.names[l.n++] = old->cols[c].name;
    }
    ALM_TRY(alm_dep_list_cols(p, &l, old->child[0], n0, n0 + carried->n));
    return alm_plan_project(p, old->child[0], l.exprs, l.names, l.n, plan);
}

static alm_status push_sort(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *sort = *plan;
    uint32_t n0 = 0;
    ALM_TRY(push_child(d, sort, carried, &n0));
    *plan = sort->child[0];
    return alm_plan_sort(d->p, plan, sort->sort.keys, sort->sort.n_keys);
}

/* A call over the rows of each outer row, in the order they come. */
static alm_status call_per(alm_planner *p, const alm_plan *child, const char *name,
                           alm_fn_kind kind, uint32_t n0, uint32_t n, alm_window_call *call)
{
    alm_resolved r;
    ALM_TRY(alm_registry_resolve(p->cx, p->env->registry, alm_str_of(name), kind, child->pos, 0,
                                 NULL, &r));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &call->partition));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &call->args));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &call->order));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, child, n0 + i, &call->partition[i]));
    call->fn = r.fn;
    call->data = r.data;
    call->type = r.result;
    call->n_partition = n;
    call->frame = 'r';
    call->lo_kind = 'U';
    call->hi_kind = 'V';
    call->pos = child->pos;
    return ALM_OK;
}

/* Adds the number of the row among those of its outer row, and how many these are if `counts`. */
static alm_status add_numbers(alm_planner *p, alm_plan **plan, uint32_t n0, uint32_t n, bool counts)
{
    const alm_plan *child = *plan;
    alm_window_call *calls = NULL;
    const uint32_t n_calls = counts ? 2 : 1;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &calls));
    ALM_TRY(call_per(p, child, "row_number", ALM_FN_WINDOW, n0, n, &calls[0]));
    if (counts)
        ALM_TRY(call_per(p, child, "count", ALM_FN_AGGREGATE, n0, n, &calls[1]));
    return alm_plan_window(p, plan, calls, n_calls);
}

static alm_status number_rows(alm_planner *p, alm_plan **plan, uint32_t n0, uint32_t n)
{
    return add_numbers(p, plan, n0, n, false);
}

alm_status alm_plan_limit_per(alm_planner *p, alm_plan **plan, uint32_t n0, uint32_t n, int64_t lo,
                              int64_t hi)
{
    const uint32_t number = (*plan)->n_cols;
    const int64_t bounds[2] = {lo, hi};
    alm_exprs tests = {0};
    ALM_TRY(add_numbers(p, plan, n0, n, lo < 0 || hi < 0));
    for (int i = 0; i < 2; i++) {
        alm_expr *args[2] = {NULL, NULL}, *test = NULL;
        if (bounds[i] == (i == 0 ? 0 : INT64_MAX))
            continue;
        ALM_TRY(alm_dep_col_of(p, *plan, number, &args[0]));
        if (bounds[i] < 0) { /* from the end: number - count against it */
            ALM_TRY(alm_dep_col_of(p, *plan, number + 1, &args[1]));
            ALM_TRY(alm_expr_call(p, "-", (*plan)->pos, args, 2, &args[0]));
        }
        ALM_TRY(alm_expr_bits(p->cx, args[0]->type, (uint64_t)bounds[i], (*plan)->pos, &args[1]));
        ALM_TRY(alm_expr_call(p, i == 0 ? ">" : "<=", (*plan)->pos, args, 2, &test));
        ALM_TRY(alm_exprs_add(p->cx, &tests, test));
    }
    ALM_TRY(alm_plan_filter(p, plan, &tests));
    return alm_plan_cut(p, plan, number);
}

/* A second row with the same number fails; the numbers are column `number` of the plan. */
static alm_status refuse_second(alm_planner *p, alm_plan **plan, uint32_t number, int32_t pos)
{
    alm_exprs tests = {0};
    alm_expr *args[1] = {NULL}, *test = NULL;
    ALM_TRY(alm_dep_col_of(p, *plan, number, &args[0]));
    ALM_TRY(alm_expr_call(p, "single row", pos, args, 1, &test));
    ALM_TRY(alm_exprs_add(p->cx, &tests, test));
    return alm_plan_filter(p, plan, &tests);
}

static alm_status push_limit(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *limit = *plan, *child = limit->child[0];
    const uint32_t n0 = child->n_cols;
    ALM_TRY(alm_dep_push(d, &child, carried));
    *plan = child;
    if (!limit->limit.single)
        return alm_plan_limit_per(d->p, plan, n0, carried->n, limit->limit.lo, limit->limit.hi);
    const uint32_t number = child->n_cols;
    ALM_TRY(number_rows(d->p, plan, n0, carried->n));
    ALM_TRY(refuse_second(d->p, plan, number, limit->pos));
    return alm_plan_cut(d->p, plan, number);
}

/* --------------------------------------------------------------------------- grouping */

/* Takes carried columns into a list of keys. */
static alm_status with_keys(alm_planner *p, const alm_plan *child, uint32_t n0, uint32_t n,
                            alm_expr ***keys, uint32_t *n_keys)
{
    alm_expr **all = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, *n_keys + n + 1, &all));
    if (*n_keys > 0)
        memcpy(all, *keys, *n_keys * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, child, n0 + i, &all[*n_keys + i]));
    *keys = all;
    *n_keys += n;
    return ALM_OK;
}

/* Room for n more columns at `at`; they are named. */
alm_status alm_dep_insert_cols(alm_planner *p, alm_plan *plan, uint32_t at, const alm_plan *child,
                               uint32_t n0, uint32_t n)
{
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + n + 1, &cols));
    memcpy(cols, plan->cols, at * sizeof *cols);
    memcpy(cols + at, child->cols + n0, n * sizeof *cols);
    memcpy(cols + at + n, plan->cols + at, (plan->n_cols - at) * sizeof *cols);
    plan->cols = cols;
    plan->n_cols += n;
    return ALM_OK;
}

/* Columns at [at, at + n) go to the end. */
alm_status alm_dep_move_to_end(alm_planner *p, alm_plan **plan, uint32_t at, uint32_t n)
{
    const alm_plan *child = *plan;
    alm_dep_list l;
    ALM_TRY(alm_dep_list_new(p, child->n_cols, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, child, 0, at));
    ALM_TRY(alm_dep_list_cols(p, &l, child, at + n, child->n_cols));
    ALM_TRY(alm_dep_list_cols(p, &l, child, at, at + n));
    return alm_plan_project(p, *plan, l.exprs, l.names, l.n, plan);
}

/* What an aggregate gives for no rows. */
static alm_status empty_value(alm_planner *p, const alm_agg_call *agg, alm_expr **out)
{
    if (strstr(agg->fn->name, "count") != NULL && agg->type.id == ALM_T_LONG)
        return alm_expr_bits(p->cx, agg->type, 0, agg->pos, out);
    return alm_expr_null(p->cx, agg->type, agg->pos, out);
}

/* case when mark is null then empty else value end */
alm_status alm_dep_unless_null(alm_planner *p, alm_expr *mark, alm_expr *empty, alm_expr *value,
                               alm_expr **out)
{
    alm_expr *node = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &node));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 3, &node->args));
    node->kind = ALM_X_CASE;
    node->type = value->type;
    node->pos = value->pos;
    node->n_args = 3;
    ALM_TRY(alm_bind_is_null(p, mark, false, value->pos, &node->args[0]));
    node->args[1] = empty;
    node->args[2] = value;
    if (!alm_type_eq(empty->type, value->type))
        ALM_TRY(alm_expr_cast(p, empty, value->type, ALM_CAST_EXPLICIT, &node->args[1]));
    ALM_TRY(alm_nodes_add(p->cx, 1, node->pos));
    *out = node;
    return alm_expr_measure(p->cx, node);
}

/* A mark that is not null, at the end. */
static alm_status add_mark(alm_planner *p, alm_plan **plan)
{
    alm_dep_list l;
    ALM_TRY(alm_dep_list_new(p, (*plan)->n_cols + 1, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, *plan, 0, (*plan)->n_cols));
    l.names[l.n] = "mark";
    ALM_TRY(alm_expr_bits(p->cx, ALM_TY(INT), 1, (*plan)->pos, &l.exprs[l.n++]));
    return alm_plan_project(p, *plan, l.exprs, l.names, l.n, plan);
}

static alm_status push_group_keys(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *group = *plan;
    uint32_t n0 = 0;
    const uint32_t n_keys = group->group.n_keys;
    ALM_TRY(push_child(d, group, carried, &n0));
    ALM_TRY(
        with_keys(d->p, group->child[0], n0, carried->n, &group->group.keys, &group->group.n_keys));
    ALM_TRY(alm_dep_insert_cols(d->p, group, n_keys, group->child[0], n0, carried->n));
    return alm_dep_move_to_end(d->p, plan, n_keys, carried->n);
}

/* Keys of a join: column left_at + i with right_at + i. */
static alm_status join_cols(alm_planner *p, alm_plan *join, uint32_t left_at, uint32_t right_at,
                            uint32_t n)
{
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &join->join.left_keys));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &join->join.right_keys));
    for (uint32_t i = 0; i < n; i++) {
        bool ok = false;
        ALM_TRY(alm_dep_col_of(p, join->child[0], left_at + i, &join->join.left_keys[i]));
        ALM_TRY(alm_dep_col_of(p, join->child[1], right_at + i, &join->join.right_keys[i]));
        ALM_TRY(alm_join_key_types(p, &join->join.left_keys[i], &join->join.right_keys[i], &ok));
        ALM_ASSERT(ok);
    }
    join->join.n_keys = n;
    return ALM_OK;
}

/* Aggregates without keys give a row where there is no inner row, too. */
static alm_status push_scalar_group(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    const alm_agg_call *aggs = (*plan)->group.aggs;
    const uint32_t n = (*plan)->n_cols;
    alm_plan *values = NULL, *join = NULL;
    alm_dep_list l;
    ALM_TRY(push_group_keys(d, plan, carried));
    ALM_TRY(add_mark(p, plan));
    ALM_TRY(domain(d, carried, &values));
    ALM_TRY(alm_plan_join(p, ALM_JOIN_LEFT, (*plan)->pos, values, *plan, &join));
    ALM_TRY(join_cols(p, join, 0, n, carried->n));
    ALM_TRY(alm_dep_list_new(p, n + carried->n, &l));
    for (uint32_t i = 0; i < n; i++) {
        alm_expr *mark = NULL, *value = NULL, *empty = NULL;
        ALM_TRY(alm_dep_col_of(p, join, join->n_cols - 1, &mark));
        ALM_TRY(alm_dep_col_of(p, join, carried->n + i, &value));
        ALM_TRY(empty_value(p, &aggs[i], &empty));
        ALM_TRY(alm_dep_unless_null(p, mark, empty, value, &l.exprs[l.n]));
        l.names[l.n++] = join->cols[carried->n + i].name;
    }
    ALM_TRY(alm_dep_list_cols(p, &l, join, 0, carried->n));
    return alm_plan_project(p, join, l.exprs, l.names, l.n, plan);
}

static alm_status push_sample(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *sample = *plan;
    uint32_t n0 = 0;
    const uint32_t at = 1 + sample->sample.n_keys;
    const bool whole = sample->sample.fill != NULL || sample->sample.first_observation;
    if (whole && alm_plan_is_dependent(sample->child[0])) /* the range is that of its own rows */
        return alm_dep_too_hard(d, sample,
                                "SAMPLE BY with FILL or ALIGN TO FIRST OBSERVATION over rows "
                                "that follow from them");
    ALM_TRY(push_child(d, sample, carried, &n0));
    ALM_TRY(with_keys(d->p, sample->child[0], n0, carried->n, &sample->sample.keys,
                      &sample->sample.n_keys));
    ALM_TRY(alm_dep_insert_cols(d->p, sample, at, sample->child[0], n0, carried->n));
    return alm_dep_move_to_end(d->p, plan, at, carried->n);
}

static alm_status push_latest(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *latest = *plan;
    uint32_t n0 = 0;
    ALM_TRY(push_child(d, latest, carried, &n0));
    latest->cols = latest->child[0]->cols;
    latest->n_cols = latest->child[0]->n_cols;
    return with_keys(d->p, latest->child[0], n0, carried->n, &latest->latest.keys,
                     &latest->latest.n_keys);
}

static alm_status push_window(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *window = *plan;
    uint32_t n0 = 0;
    ALM_TRY(push_child(d, window, carried, &n0));
    for (uint32_t i = 0; i < window->window.n_calls; i++)
        ALM_TRY(with_keys(d->p, window->child[0], n0, carried->n,
                          &window->window.calls[i].partition,
                          &window->window.calls[i].n_partition));
    ALM_TRY(alm_dep_insert_cols(d->p, window, n0, window->child[0], n0, carried->n));
    return alm_dep_move_to_end(d->p, plan, n0, carried->n);
}

/* ----------------------------------------------------------------------------- the way */

alm_status alm_dep_push(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_status code = ALM_OK;
    if (!alm_plan_is_dependent(*plan))
        return ALM_OK;
    ALM_TRY(alm_enter(d->p, (*plan)->pos));
    switch ((*plan)->op) {
    case ALM_P_FILTER:
        code = push_filter(d, plan, carried);
        break;
    case ALM_P_PROJECT:
        code = push_project(d, plan, carried);
        break;
    case ALM_P_GROUP:
        code = (*plan)->group.n_keys == 0 ? push_scalar_group(d, plan, carried)
                                          : push_group_keys(d, plan, carried);
        break;
    case ALM_P_SAMPLE:
        code = push_sample(d, plan, carried);
        break;
    case ALM_P_SORT:
        code = push_sort(d, plan, carried);
        break;
    case ALM_P_LIMIT:
        code = push_limit(d, plan, carried);
        break;
    case ALM_P_WINDOW:
        code = push_window(d, plan, carried);
        break;
    case ALM_P_LATEST:
        code = push_latest(d, plan, carried);
        break;
    case ALM_P_JOIN:
        code = alm_dep_push_join(d, plan, carried);
        break;
    case ALM_P_SETOP:
        code = alm_dep_push_setop(d, plan, carried);
        break;
    case ALM_P_WINDOW_JOIN:
        code = alm_dep_push_window_join(d, plan, carried);
        break;
    case ALM_P_RECURSE:
        code = alm_dep_push_recursion(d, plan, carried);
        break;
    case ALM_P_WORKING:
        code = alm_dep_push_working(d, *plan, carried);
        break;
    case ALM_P_HORIZON:
        code = alm_dep_too_hard(d, *plan, "a HORIZON join");
        break;
    case ALM_P_SCAN:
    case ALM_P_SOURCE:
    case ALM_P_SHARED:
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER: /* the query of a view stands for itself */
    case ALM_P_VALUES:
    case ALM_PLAN_OP_COUNT:
        code = alm_dep_too_hard(d, *plan, "such a source");
        break;
    }
    d->p->depth--;
    return code;
}

alm_status alm_decorrelate(alm_scope *sc, alm_plan **plan, alm_exprs *outer)
{
    const alm_dep_ctx d = {sc->p, sc->plan};
    return alm_dep_push(&d, plan, outer);
}

/* --------------------------------------------------------------------------------- EXISTS */

/* Columns of a filter condition as the residual of a join sees them. */
static alm_status semi_col(void *arg, alm_expr *e, alm_expr **out)
{
    const alm_dep_landing *l = arg; /* first: number of left columns */
    if (e->kind != ALM_X_COL || (e->col & ALM_COL_OUTER) != 0)
        return ALM_OK;
    const uint32_t col =
        (e->col & ALM_COL_DEP) != 0 ? e->col & ALM_OUTER_NUMBER : e->col + l->first;
    return alm_expr_col(l->p->cx, col, e->type, e->pos, out);
}

/* Whether there is a row does not depend on these. */
static bool does_not_matter(const alm_plan *plan)
{
    return plan->op == ALM_P_PROJECT || plan->op == ALM_P_SORT ||
           (plan->op == ALM_P_GROUP && plan->group.n_keys > 0) ||
           (plan->op == ALM_P_LIMIT && plan->limit.lo == 0 && plan->limit.hi > 0);
}

alm_status alm_decorrelate_semi(alm_scope *sc, alm_plan **plan, alm_semi *semi)
{
    alm_planner *p = sc->p;
    const alm_dep_ctx d = {p, sc->plan};
    alm_exprs carried = {0};
    while (does_not_matter(*plan))
        *plan = (*plan)->child[0];
    alm_plan *child = *plan;
    parts s = {0};
    while (child->op == ALM_P_FILTER) {
        ALM_TRY(split(p, child, &s));
        child = child->child[0];
    }
    const uint32_t n0 = child->n_cols;
    ALM_TRY(alm_dep_push(&d, &child, &carried));
    ALM_TRY(alm_plan_filter(p, &child, &s.plain));
    for (uint32_t i = 0; i < carried.n; i++) {
        alm_expr *key = NULL;
        ALM_TRY(alm_dep_col_of(p, child, n0 + i, &key));
        ALM_TRY(alm_exprs_add(p->cx, &s.outer, carried.at[i]));
        ALM_TRY(alm_exprs_add(p->cx, &s.inner, key));
    }
    for (uint32_t i = 0; i < s.outer.n; i++) {
        bool ok = false;
        ALM_TRY(alm_join_key_types(p, &s.outer.at[i], &s.inner.at[i], &ok));
        if (!ok)
            return alm_fail(p->cx, ALM_E_TYPE, s.inner.at[i]->pos, "join column type mismatch");
    }
    for (uint32_t i = 0; i < s.mixed.n; i++) {
        alm_dep_landing l = {.p = p, .first = sc->plan->n_cols};
        ALM_TRY(alm_expr_map(p->cx, s.mixed.at[i], semi_col, &l, &s.mixed.at[i]));
    }
    *semi = (alm_semi){s.outer, s.inner, s.mixed};
    *plan = child;
    return ALM_OK;
}

/* ----------------------------------------------------------------- scalars and LATERAL */

/* Projections over aggregates without keys: one row for every outer row. */
static bool is_scalar_group(const alm_plan *plan)
{
    while (plan->op == ALM_P_PROJECT)
        plan = plan->child[0];
    return plan->op == ALM_P_GROUP && plan->group.n_keys == 0;
}

/* Expressions of a chain of projections over the columns below it. */
static alm_status compose(alm_planner *p, alm_plan *plan, alm_plan **below, alm_expr ***out)
{
    alm_expr **exprs = NULL;
    const uint32_t n = plan->n_cols;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &exprs));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, plan, i, &exprs[i]));
    for (; plan->op == ALM_P_PROJECT; plan = plan->child[0])
        for (uint32_t i = 0; i < n; i++)
            ALM_TRY(alm_expr_substitute(p->cx, exprs[i], plan->project.expr, &exprs[i]));
    *below = plan;
    *out = exprs;
    return ALM_OK;
}

static alm_status join_carried(alm_scope *sc, uint8_t kind, int32_t pos, alm_plan *inner,
                               const alm_exprs *outer, uint32_t n0, alm_plan **out)
{
    alm_planner *p = sc->p;
    alm_plan *join = NULL;
    ALM_TRY(alm_plan_join(p, kind, pos, sc->plan, inner, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, outer->n + 1, &join->join.left_keys));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, outer->n + 1, &join->join.right_keys));
    join->join.n_keys = outer->n;
    for (uint32_t i = 0; i < outer->n; i++) {
        bool ok = false;
        alm_expr **a = &join->join.left_keys[i], **b = &join->join.right_keys[i];
        *a = outer->at[i];
        ALM_TRY(alm_dep_col_of(p, inner, n0 + i, b));
        ALM_TRY(alm_join_key_types(p, a, b, &ok));
        if (!ok)
            return alm_fail(p->cx, ALM_E_TYPE, pos, "join column type mismatch");
    }
    *out = join;
    return ALM_OK;
}

alm_status alm_note_dependent(alm_scope *sc, uint32_t first, const alm_plan *join,
                              const alm_exprs *outer)
{
    ALM_TRY(alm_grow(sc->p->cx, &sc->dependents, sc->n_dependents, &sc->cap_dependents,
                     sizeof *sc->dependents));
    sc->dependents[sc->n_dependents++] = (alm_dependent){first, join->n_cols, *outer};
    return ALM_OK;
}

/* Where there is no inner row, the expressions are those over empty aggregates. */
static alm_status scalar_values(alm_scope *sc, int32_t pos, alm_plan *inner, alm_expr **values,
                                uint32_t n)
{
    alm_planner *p = sc->p;
    const alm_dep_ctx d = {p, sc->plan};
    const alm_agg_call *aggs = inner->group.aggs;
    const uint32_t n_aggs = inner->n_cols, n_left = sc->plan->n_cols;
    alm_exprs outer = {0};
    alm_expr **empty = NULL, **full = NULL, *mark = NULL;
    alm_plan *join = NULL;
    if (alm_plan_is_dependent(inner))
        ALM_TRY(push_group_keys(&d, &inner, &outer));
    ALM_TRY(add_mark(p, &inner));
    ALM_TRY(join_carried(sc, ALM_JOIN_LEFT, pos, inner, &outer, n_aggs, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_aggs + 1, &empty));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_aggs + 1, &full));
    for (uint32_t i = 0; i < n_aggs; i++) {
        ALM_TRY(empty_value(p, &aggs[i], &empty[i]));
        ALM_TRY(alm_dep_col_of(p, join, n_left + i, &full[i]));
    }
    ALM_TRY(alm_dep_col_of(p, join, join->n_cols - 1, &mark));
    for (uint32_t i = 0; i < n; i++) {
        /* outer columns in the list are columns of the join's left side; nothing else is free */
        alm_expr *e = NULL, *f = NULL;
        ALM_TRY(alm_expr_substitute(p->cx, values[i], empty, &e));
        ALM_TRY(alm_expr_substitute(p->cx, values[i], full, &f));
        ALM_TRY(strip(p->cx, e, &e));
        ALM_TRY(strip(p->cx, f, &f));
        const bool same = f->kind == ALM_X_COL && alm_expr_is_null(e);
        values[i] = f;
        if (!same)
            ALM_TRY(alm_dep_unless_null(p, mark, e, f, &values[i]));
    }
    ALM_TRY(alm_note_dependent(sc, n_left, join, &outer));
    sc->plan = join;
    return ALM_OK;
}

alm_status alm_join_dependent(alm_scope *sc, uint8_t kind, int32_t pos, alm_plan *inner,
                              alm_expr ***values)
{
    alm_planner *p = sc->p;
    const uint32_t n = inner->n_cols, n_left = sc->plan->n_cols;
    if (is_scalar_group(inner)) {
        alm_plan *group = NULL;
        ALM_TRY(compose(p, inner, &group, values));
        return scalar_values(sc, pos, group, *values, n);
    }
    alm_exprs outer = {0};
    alm_plan *join = NULL;
    ALM_TRY(alm_decorrelate(sc, &inner, &outer));
    ALM_TRY(join_carried(sc, kind, pos, inner, &outer, n, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, values));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, join, n_left + i, &(*values)[i]));
    ALM_TRY(alm_note_dependent(sc, n_left, join, &outer));
    sc->plan = join;
    return ALM_OK;
}

alm_status alm_join_single(alm_scope *sc, int32_t pos, alm_plan *inner, alm_expr ***values)
{
    alm_planner *p = sc->p;
    const uint32_t n = inner->n_cols, n_left = sc->plan->n_cols;
    alm_exprs outer = {0}, tests = {0};
    alm_expr *args[2] = {NULL, NULL}, *test = NULL;
    alm_plan *join = NULL;
    ALM_TRY(alm_decorrelate(sc, &inner, &outer));
    /* two rows for each outer row are enough to know; the second one fails above the join */
    const uint32_t number = inner->n_cols;
    ALM_TRY(number_rows(p, &inner, n, outer.n));
    ALM_TRY(alm_dep_col_of(p, inner, number, &args[0]));
    ALM_TRY(alm_expr_bits(p->cx, args[0]->type, 2, pos, &args[1]));
    ALM_TRY(alm_expr_call(p, "<=", pos, args, 2, &test));
    ALM_TRY(alm_exprs_add(p->cx, &tests, test));
    ALM_TRY(alm_plan_filter(p, &inner, &tests));
    ALM_TRY(join_carried(sc, ALM_JOIN_LEFT, pos, inner, &outer, n, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, values));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, join, n_left + i, &(*values)[i]));
    ALM_TRY(alm_note_dependent(sc, n_left, join, &outer));
    sc->plan = join;
    return refuse_second(p, &sc->plan, n_left + number, pos);
}

alm_status alm_decorrelate_in(alm_scope *sc, alm_plan **plan, alm_semi *semi, alm_expr ***exprs,
                              bool *done)
{
    alm_plan *below = NULL;
    const uint32_t n = (*plan)->n_cols;
    *done = false;
    ALM_TRY(compose(sc->p, *plan, &below, exprs));
    if (below->op != ALM_P_FILTER)
        return ALM_OK;
    for (uint32_t i = 0; i < n; i++)
        if (alm_expr_has_mark((*exprs)[i], ALM_COL_DEP) || alm_expr_volatile((*exprs)[i]))
            return ALM_OK;
    *done = true;
    *plan = below;
    return alm_decorrelate_semi(sc, plan, semi);
}
