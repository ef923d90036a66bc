/* decorrelate.c - see decorrelate.h. */
#include "sql/node/decorrelate.h"
#include "sql/node/copy.h"
#include "sql/node/walk.h"

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

alm_status alm_dep_strip(alm_ctx *cx, alm_expr *e, alm_expr **out)
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
           (plan->join.kind == ALM_JOIN_LEFT || plan->join.kind == ALM_JOIN_SEMI ||
            plan->join.kind == ALM_JOIN_ANTI);
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
alm_status alm_dep_domain(const alm_dep_ctx *d, const alm_exprs *of, alm_plan **out)
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

/* The plan carries all of `want` afterwards: those it does not yet come from the alm_dep_domain. */
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
    ALM_TRY(alm_dep_domain(d, &missing, &values));
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
    ALM_TRY(alm_dep_strip(l->p->cx, e, &stripped));
    const int32_t at = alm_dep_find_outer(l->carried, stripped);
    ALM_ASSERT(at >= 0);
    ALM_TRY(alm_dep_col_of(l->p, l->child, l->first + (uint32_t)at, out));
    return alm_type_eq((*out)->type, e->type)
               ? ALM_OK
               : alm_expr_cast(l->p, *out, e->type, ALM_CAST_EXPLICIT, out);
}

/* Outer columns of an expression over the child become columns of the child. */
alm_status alm_dep_land(alm_planner *p, const alm_plan *child, const alm_exprs *carried,
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
alm_status alm_dep_push_child(const alm_dep_ctx *d, alm_plan *plan, alm_exprs *carried,
                              uint32_t *n0)
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
            ALM_TRY(alm_dep_strip(p->cx, e->args[i], outer));
            *inner = e->args[1 - i];
            return ALM_OK;
        }
    }
    return ALM_OK;
}

alm_status alm_dep_split(alm_planner *p, const alm_plan *filter, alm_dep_parts *out)
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

/* --------------------------------------------------------------------- rows one by one */

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
    call->frame = ALM_FRAME_ROWS;
    call->lo_kind = ALM_BOUND_UNBOUNDED_PRECEDING;
    call->hi_kind = ALM_BOUND_UNBOUNDED_FOLLOWING;
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

alm_status alm_dep_number_rows(alm_planner *p, alm_plan **plan, uint32_t n0, uint32_t n)
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
alm_status alm_dep_refuse_second(alm_planner *p, alm_plan **plan, uint32_t number, int32_t pos)
{
    alm_exprs tests = {0};
    alm_expr *args[1] = {NULL}, *test = NULL;
    ALM_TRY(alm_dep_col_of(p, *plan, number, &args[0]));
    ALM_TRY(alm_expr_call(p, "single row", pos, args, 1, &test));
    ALM_TRY(alm_exprs_add(p->cx, &tests, test));
    return alm_plan_filter(p, plan, &tests);
}

/* --------------------------------------------------------------------------- grouping */

/* Takes carried columns into a list of keys. */
alm_status alm_dep_with_keys(alm_planner *p, const alm_plan *child, uint32_t n0, uint32_t n,
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
alm_status alm_dep_empty_value(alm_planner *p, const alm_agg_call *agg, alm_expr **out)
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
    ALM_TRY(alm_expr_null_test(p, mark, false, value->pos, &node->args[0]));
    node->args[1] = empty;
    node->args[2] = value;
    if (!alm_type_eq(empty->type, value->type))
        ALM_TRY(alm_expr_cast(p, empty, value->type, ALM_CAST_EXPLICIT, &node->args[1]));
    ALM_TRY(alm_nodes_add(p->cx, 1, node->pos));
    *out = node;
    return alm_expr_measure(p->cx, node);
}

/* A mark that is not null, at the end. */
alm_status alm_dep_add_mark(alm_planner *p, alm_plan **plan)
{
    alm_dep_list l;
    ALM_TRY(alm_dep_list_new(p, (*plan)->n_cols + 1, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, *plan, 0, (*plan)->n_cols));
    l.names[l.n] = "mark";
    ALM_TRY(alm_expr_bits(p->cx, ALM_TY(INT), 1, (*plan)->pos, &l.exprs[l.n++]));
    return alm_plan_project(p, *plan, l.exprs, l.names, l.n, plan);
}

alm_status alm_dep_push_group_keys(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *group = *plan;
    uint32_t n0 = 0;
    const uint32_t n_keys = group->group.n_keys;
    ALM_TRY(alm_dep_push_child(d, group, carried, &n0));
    ALM_TRY(alm_dep_with_keys(d->p, group->child[0], n0, carried->n, &group->group.keys,
                              &group->group.n_keys));
    ALM_TRY(alm_dep_insert_cols(d->p, group, n_keys, group->child[0], n0, carried->n));
    return alm_dep_move_to_end(d->p, plan, n_keys, carried->n);
}

/* ------------------------------------------------------------------------------- joins */

alm_status alm_dep_key_pair(alm_planner *p, const alm_plan *left, uint32_t l, const alm_plan *right,
                            uint32_t r, alm_exprs *lk, alm_exprs *rk)
{
    alm_expr *a = NULL, *b = NULL;
    bool ok = false;
    ALM_TRY(alm_dep_col_of(p, left, l, &a));
    ALM_TRY(alm_dep_col_of(p, right, r, &b));
    ALM_TRY(alm_join_key_types(p, &a, &b, &ok));
    ALM_ASSERT(ok);
    ALM_TRY(alm_exprs_add(p->cx, lk, a));
    return alm_exprs_add(p->cx, rk, b);
}

alm_status alm_dep_align(const alm_dep_ctx *d, alm_plan **child, uint32_t n, alm_exprs *own,
                         const alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_dep_list l;
    ALM_TRY(alm_dep_ensure(d, child, own, carried));
    ALM_TRY(alm_dep_list_new(p, n + carried->n, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, *child, 0, n));
    for (uint32_t i = 0; i < carried->n; i++) {
        const uint32_t at = n + (uint32_t)alm_dep_find_outer(own, carried->at[i]);
        ALM_TRY(alm_dep_list_cols(p, &l, *child, at, at + 1));
        if (!alm_type_eq(l.exprs[l.n - 1]->type, carried->at[i]->type))
            ALM_TRY(alm_expr_cast(p, l.exprs[l.n - 1], carried->at[i]->type, ALM_CAST_EXPLICIT,
                                  &l.exprs[l.n - 1]));
    }
    return alm_plan_project(p, *child, l.exprs, l.names, l.n, child);
}

/* ----------------------------------------------------------------------------- the way */

static alm_status seek_dep(void *arg, alm_expr **e)
{
    *(bool *)arg |= alm_expr_has_mark(*e, ALM_COL_DEP);
    return ALM_OK;
}

/* Rows of a recursion that is made independent follow from the query around it. */
static bool reads_carried(const alm_plan *plan)
{
    if (plan->op == ALM_P_WORKING)
        return plan->working.carried != NULL;
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (reads_carried(plan->child[i]))
            return true;
    return false;
}

bool alm_plan_is_dependent(alm_plan *plan)
{
    bool found = false;
    return alm_plan_each_expr(plan, seek_dep, &found) == ALM_OK && (found || reads_carried(plan));
}

alm_status alm_dep_push(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    const alm_node_ops *ops = alm_node_ops_of((*plan)->op);
    if (!alm_plan_is_dependent(*plan))
        return ALM_OK;
    ALM_TRY(alm_enter(d->p, (*plan)->pos));
    const alm_status st = ops->decorrelate != NULL ? ops->decorrelate(d, plan, carried)
                                                   : alm_dep_too_hard(d, *plan, "such a source");
    d->p->depth--;
    return st;
}
