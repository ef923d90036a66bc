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
    sides *self = arg;
    self->outer |= (col->col & ALM_COL_DEP) != 0;
    self->inner |= (col->col & ALM_COL_DEP) == 0;
    return true;
}

static sides sides_of(const alm_expr *expr)
{
    sides result = {false, false};
    (void)alm_expr_each_col(expr, see_side, &result);
    return result;
}

/* Outer columns as the outer plan numbers them. */
static alm_status strip_col(void *arg, alm_expr *expr, alm_expr **out)
{
    if (expr->kind != ALM_X_COL || (expr->col & ALM_COL_DEP) == 0)
        return ALM_OK;
    return alm_expr_col(arg, expr->col & ALM_OUTER_NUMBER, expr->type, expr->pos, out);
}

alm_status alm_dep_strip(alm_ctx *cx, alm_expr *expr, alm_expr **out)
{
    return alm_expr_map(cx, expr, strip_col, cx, out);
}

int32_t alm_dep_find_outer(const alm_exprs *carried, const alm_expr *expr)
{
    for (uint32_t i = 0; i < carried->n; i++)
        if (carried->at[i] == expr || alm_expr_equal(carried->at[i], expr))
            return (int32_t)i;
    return -1;
}

alm_status alm_dep_col_of(alm_planner *planner, const alm_plan *plan, uint32_t col, alm_expr **out)
{
    return alm_expr_col(planner->cx, col, plan->cols[col].type, plan->pos, out);
}

alm_status alm_dep_list_new(alm_planner *planner, uint32_t room, alm_dep_list *out)
{
    *out = (alm_dep_list){0};
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, room + 1, &out->exprs));
    return ALM_NEWN(planner->cx, planner->cx->arena, room + 1, &out->names);
}

alm_status alm_dep_list_cols(alm_planner *planner, alm_dep_list *deps, const alm_plan *child,
                             uint32_t lo, uint32_t hi)
{
    for (uint32_t col = lo; col < hi; col++) {
        ALM_TRY(alm_dep_col_of(planner, child, col, &deps->exprs[deps->n]));
        deps->names[deps->n++] = child->cols[col].name;
    }
    return ALM_OK;
}

void alm_dep_list_add(alm_dep_list *deps, alm_expr *expr)
{
    deps->exprs[deps->n] = expr;
    deps->names[deps->n++] = "outer";
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
alm_status alm_dep_domain(const alm_dep_ctx *dep, const alm_exprs *of, alm_plan **out)
{
    alm_planner *planner = dep->p;
    alm_plan *plan = NULL;
    alm_dep_list deps;
    ALM_TRY(alm_plan_copy(planner, domain_rows(dep->outer, of), &plan));
    ALM_TRY(alm_dep_list_new(planner, of->n, &deps));
    for (uint32_t i = 0; i < of->n; i++)
        alm_dep_list_add(&deps, of->at[i]);
    ALM_TRY(alm_plan_project(planner, plan, deps.exprs, deps.names, deps.n, &plan));
    ALM_TRY(alm_plan_distinct(planner, &plan));
    *out = plan;
    return ALM_OK;
}

/* The plan carries all of `want` afterwards: those it does not yet come from the alm_dep_domain. */
alm_status alm_dep_ensure(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried,
                          const alm_exprs *want)
{
    alm_planner *planner = dep->p;
    alm_exprs missing = {0};
    for (uint32_t i = 0; i < want->n; i++)
        if (alm_dep_find_outer(carried, want->at[i]) < 0 &&
            alm_dep_find_outer(&missing, want->at[i]) < 0)
            ALM_TRY(alm_exprs_add(planner->cx, &missing, want->at[i]));
    if (missing.n == 0)
        return ALM_OK;
    alm_plan *values = NULL;
    ALM_TRY(alm_dep_domain(dep, &missing, &values));
    ALM_TRY(alm_plan_join(planner, ALM_JOIN_CROSS, (*plan)->pos, *plan, values, plan));
    for (uint32_t i = 0; i < missing.n; i++)
        ALM_TRY(alm_exprs_add(planner->cx, carried, missing.at[i]));
    return ALM_OK;
}

static bool gather_col(void *arg, const alm_expr *col)
{
    alm_dep_gathering *gathering = arg;
    alm_expr *expr = NULL;
    if ((col->col & ALM_COL_DEP) == 0)
        return true;
    gathering->code =
        alm_expr_col(gathering->cx, col->col & ALM_OUTER_NUMBER, col->type, col->pos, &expr);
    if (gathering->code == ALM_OK)
        gathering->code = alm_exprs_add(gathering->cx, gathering->want, expr);
    return gathering->code == ALM_OK;
}

alm_status alm_dep_gather(alm_ctx *cx, const alm_expr *expr, alm_exprs *want)
{
    alm_dep_gathering gathering = {cx, want, ALM_OK};
    (void)alm_expr_each_col(expr, gather_col, &gathering);
    return gathering.code;
}

alm_status alm_dep_land_col(void *arg, alm_expr *expr, alm_expr **out)
{
    const alm_dep_landing *landing = arg;
    alm_expr *stripped = NULL;
    if (expr->kind != ALM_X_COL || (expr->col & ALM_COL_DEP) == 0)
        return ALM_OK;
    ALM_TRY(alm_dep_strip(landing->p->cx, expr, &stripped));
    const int32_t place = alm_dep_find_outer(landing->carried, stripped);
    ALM_ASSERT(place >= 0);
    ALM_TRY(alm_dep_col_of(landing->p, landing->child, landing->first + (uint32_t)place, out));
    return alm_type_eq((*out)->type, expr->type)
               ? ALM_OK
               : alm_expr_cast(landing->p, *out, expr->type, ALM_CAST_EXPLICIT, out);
}

/* Outer columns of an expression over the child become columns of the child. */
alm_status alm_dep_land(alm_planner *planner, const alm_plan *child, const alm_exprs *carried,
                        uint32_t first, alm_expr **expr)
{
    alm_dep_landing landing = {planner, child, carried, first};
    return alm_expr_map(planner->cx, *expr, alm_dep_land_col, &landing, expr);
}

alm_status alm_dep_gather_one(void *arg, alm_expr **expr)
{
    const alm_dep_gathering *gathering = arg;
    return alm_dep_gather(gathering->cx, *expr, gathering->want);
}

alm_status alm_dep_land_one(void *arg, alm_expr **expr)
{
    return alm_expr_map(((alm_dep_landing *)arg)->p->cx, *expr, alm_dep_land_col, arg, expr);
}

/* The child, independent now, and with all that the node's own expressions want; they are changed to
 * read it. *n0: columns of the child that are not carried. */
alm_status alm_dep_push_child(const alm_dep_ctx *dep, alm_plan *plan, alm_exprs *carried,
                              uint32_t *n0)
{
    alm_exprs want = {0};
    alm_dep_gathering gathering = {dep->p->cx, &want, ALM_OK};
    *n0 = plan->child[0]->n_cols;
    ALM_TRY(alm_dep_push(dep, &plan->child[0], carried));
    ALM_TRY(alm_plan_exprs(plan, alm_dep_gather_one, &gathering));
    ALM_TRY(alm_dep_ensure(dep, &plan->child[0], carried, &want));
    alm_dep_landing landing = {dep->p, plan->child[0], carried, *n0};
    return alm_plan_exprs(plan, alm_dep_land_one, &landing);
}

alm_status alm_dep_too_hard(const alm_dep_ctx *dep, const alm_plan *plan, const char *what)
{
    return alm_fail(dep->p->cx, ALM_E_UNSUPPORTED, plan->pos,
                    "a subquery that uses columns of the query around it cannot have %s", what);
}

/* ------------------------------------------------------------------------------ filters */

/* outer = inner: a key pair. */
static alm_status as_pair(alm_planner *planner, alm_expr *expr, alm_expr **outer, alm_expr **inner)
{
    *outer = NULL;
    if (!alm_expr_is_call(expr, "=") || expr->n_args != 2 || alm_expr_volatile(expr))
        return ALM_OK;
    for (uint32_t i = 0; i < 2; i++) {
        const sides a = sides_of(expr->args[i]), b = sides_of(expr->args[1 - i]);
        if (a.outer && !a.inner && b.inner && !b.outer) {
            ALM_TRY(alm_dep_strip(planner->cx, expr->args[i], outer));
            *inner = expr->args[1 - i];
            return ALM_OK;
        }
    }
    return ALM_OK;
}

alm_status alm_dep_split(alm_planner *planner, const alm_plan *filter, alm_dep_parts *out)
{
    for (uint32_t i = 0; i < filter->filter.n; i++) {
        alm_expr *expr = filter->filter.conjunct[i], *outer = NULL, *inner = NULL;
        ALM_TRY(as_pair(planner, expr, &outer, &inner));
        if (outer != NULL) {
            ALM_TRY(alm_exprs_add(planner->cx, &out->outer, outer));
            ALM_TRY(alm_exprs_add(planner->cx, &out->inner, inner));
        } else {
            alm_exprs *to = sides_of(expr).outer ? &out->mixed : &out->plain;
            ALM_TRY(alm_exprs_add(planner->cx, to, expr));
        }
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------- rows one by one */

/* A call over the rows of each outer row, in the order they come. */
static alm_status call_per(alm_planner *planner, const alm_plan *child, const char *name,
                           alm_fn_kind kind, uint32_t n_before, uint32_t n, alm_window_call *call)
{
    alm_resolved resolved;
    ALM_TRY(alm_registry_resolve(planner->cx, planner->env->registry, alm_str_of(name), kind,
                                 child->pos, 0, NULL, &resolved));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &call->partition));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &call->args));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &call->order));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(planner, child, n_before + i, &call->partition[i]));
    call->fn = resolved.fn;
    call->data = resolved.data;
    call->type = resolved.result;
    call->n_partition = n;
    call->frame = ALM_FRAME_ROWS;
    call->lo_kind = ALM_BOUND_UNBOUNDED_PRECEDING;
    call->hi_kind = ALM_BOUND_UNBOUNDED_FOLLOWING;
    call->pos = child->pos;
    return ALM_OK;
}

/* Adds the number of the row among those of its outer row, and how many these are if `counts`. */
static alm_status decorrelate_add_numbers(alm_planner *planner, alm_plan **plan, uint32_t n_before,
                                          uint32_t n, bool counts)
{
    const alm_plan *child = *plan;
    alm_window_call *calls = NULL;
    const uint32_t n_calls = counts ? 2 : 1;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2, &calls));
    ALM_TRY(call_per(planner, child, "row_number", ALM_FN_WINDOW, n_before, n, &calls[0]));
    if (counts)
        ALM_TRY(call_per(planner, child, "count", ALM_FN_AGGREGATE, n_before, n, &calls[1]));
    return alm_plan_window(planner, plan, calls, n_calls);
}

alm_status alm_dep_number_rows(alm_planner *planner, alm_plan **plan, uint32_t n_before, uint32_t n)
{
    return decorrelate_add_numbers(planner, plan, n_before, n, false);
}

alm_status alm_plan_limit_per(alm_planner *planner, alm_plan **plan, uint32_t n_before, uint32_t n,
                              int64_t lo, int64_t hi)
{
    const uint32_t number = (*plan)->n_cols;
    const int64_t bounds[2] = {lo, hi};
    alm_exprs tests = {0};
    ALM_TRY(decorrelate_add_numbers(planner, plan, n_before, n, lo < 0 || hi < 0));
    for (int i = 0; i < 2; i++) {
        alm_expr *args[2] = {NULL, NULL}, *test = NULL;
        if (bounds[i] == (i == 0 ? 0 : INT64_MAX))
            continue;
        ALM_TRY(alm_dep_col_of(planner, *plan, number, &args[0]));
        if (bounds[i] < 0) { /* from the end: number - count against it */
            ALM_TRY(alm_dep_col_of(planner, *plan, number + 1, &args[1]));
            ALM_TRY(alm_expr_call(planner, "-", (*plan)->pos, args, 2, &args[0]));
        }
        ALM_TRY(
            alm_expr_bits(planner->cx, args[0]->type, (uint64_t)bounds[i], (*plan)->pos, &args[1]));
        ALM_TRY(alm_expr_call(planner, i == 0 ? ">" : "<=", (*plan)->pos, args, 2, &test));
        ALM_TRY(alm_exprs_add(planner->cx, &tests, test));
    }
    ALM_TRY(alm_plan_filter(planner, plan, &tests));
    return alm_plan_cut(planner, plan, number);
}

/* A second row with the same number fails; the numbers are column `number` of the plan. */
alm_status alm_dep_refuse_second(alm_planner *planner, alm_plan **plan, uint32_t number,
                                 int32_t pos)
{
    alm_exprs tests = {0};
    alm_expr *args[1] = {NULL}, *test = NULL;
    ALM_TRY(alm_dep_col_of(planner, *plan, number, &args[0]));
    ALM_TRY(alm_expr_call(planner, "single row", pos, args, 1, &test));
    ALM_TRY(alm_exprs_add(planner->cx, &tests, test));
    return alm_plan_filter(planner, plan, &tests);
}

/* --------------------------------------------------------------------------- grouping */

/* Takes carried columns into a list of keys. */
alm_status alm_dep_with_keys(alm_planner *planner, const alm_plan *child, uint32_t n_before,
                             uint32_t n, alm_expr ***keys, uint32_t *n_keys)
{
    alm_expr **all = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, *n_keys + n + 1, &all));
    if (*n_keys > 0)
        memcpy(all, *keys, *n_keys * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(planner, child, n_before + i, &all[*n_keys + i]));
    *keys = all;
    *n_keys += n;
    return ALM_OK;
}

/* Room for n more columns at `place`; they are named. */
alm_status alm_dep_insert_cols(alm_planner *planner, alm_plan *plan, uint32_t place,
                               const alm_plan *child, uint32_t n_before, uint32_t n)
{
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + n + 1, &cols));
    memcpy(cols, plan->cols, place * sizeof *cols);
    memcpy(cols + place, child->cols + n_before, n * sizeof *cols);
    memcpy(cols + place + n, plan->cols + place, (plan->n_cols - place) * sizeof *cols);
    plan->cols = cols;
    plan->n_cols += n;
    return ALM_OK;
}

/* Columns at [at, at + n) go to the end. */
alm_status alm_dep_move_to_end(alm_planner *planner, alm_plan **plan, uint32_t place, uint32_t n)
{
    const alm_plan *child = *plan;
    alm_dep_list deps;
    ALM_TRY(alm_dep_list_new(planner, child->n_cols, &deps));
    ALM_TRY(alm_dep_list_cols(planner, &deps, child, 0, place));
    ALM_TRY(alm_dep_list_cols(planner, &deps, child, place + n, child->n_cols));
    ALM_TRY(alm_dep_list_cols(planner, &deps, child, place, place + n));
    return alm_plan_project(planner, *plan, deps.exprs, deps.names, deps.n, plan);
}

/* What an aggregate gives for no rows. */
alm_status alm_dep_empty_value(alm_planner *planner, const alm_agg_call *agg, alm_expr **out)
{
    if (strstr(agg->fn->name, "count") != NULL && agg->type.id == ALM_T_LONG)
        return alm_expr_bits(planner->cx, agg->type, 0, agg->pos, out);
    return alm_expr_null(planner->cx, agg->type, agg->pos, out);
}

/* case when mark is null then empty else value end */
alm_status alm_dep_unless_null(alm_planner *planner, alm_expr *mark, alm_expr *empty,
                               alm_expr *value, alm_expr **out)
{
    alm_expr *node = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 3, &node->args));
    node->kind = ALM_X_CASE;
    node->type = value->type;
    node->pos = value->pos;
    node->n_args = 3;
    ALM_TRY(alm_expr_null_test(planner, mark, false, value->pos, &node->args[0]));
    node->args[1] = empty;
    node->args[2] = value;
    if (!alm_type_eq(empty->type, value->type))
        ALM_TRY(alm_expr_cast(planner, empty, value->type, ALM_CAST_EXPLICIT, &node->args[1]));
    ALM_TRY(alm_nodes_add(planner->cx, 1, node->pos));
    *out = node;
    return alm_expr_measure(planner->cx, node);
}

/* A mark that is not null, at the end. */
alm_status alm_dep_add_mark(alm_planner *planner, alm_plan **plan)
{
    alm_dep_list deps;
    ALM_TRY(alm_dep_list_new(planner, (*plan)->n_cols + 1, &deps));
    ALM_TRY(alm_dep_list_cols(planner, &deps, *plan, 0, (*plan)->n_cols));
    deps.names[deps.n] = "mark";
    ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), 1, (*plan)->pos, &deps.exprs[deps.n++]));
    return alm_plan_project(planner, *plan, deps.exprs, deps.names, deps.n, plan);
}

alm_status alm_dep_push_group_keys(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *group = *plan;
    uint32_t n_before = 0;
    const uint32_t n_keys = group->group.n_keys;
    ALM_TRY(alm_dep_push_child(dep, group, carried, &n_before));
    ALM_TRY(alm_dep_with_keys(dep->p, group->child[0], n_before, carried->n, &group->group.keys,
                              &group->group.n_keys));
    ALM_TRY(alm_dep_insert_cols(dep->p, group, n_keys, group->child[0], n_before, carried->n));
    return alm_dep_move_to_end(dep->p, plan, n_keys, carried->n);
}

/* ------------------------------------------------------------------------------- joins */

alm_status alm_dep_key_pair(alm_planner *planner, const alm_plan *left, uint32_t l,
                            const alm_plan *right, uint32_t r, alm_exprs *exprs, alm_exprs *rk)
{
    alm_expr *a = NULL, *b = NULL;
    bool ok = false;
    ALM_TRY(alm_dep_col_of(planner, left, l, &a));
    ALM_TRY(alm_dep_col_of(planner, right, r, &b));
    ALM_TRY(alm_join_key_types(planner, &a, &b, &ok));
    ALM_ASSERT(ok);
    ALM_TRY(alm_exprs_add(planner->cx, exprs, a));
    return alm_exprs_add(planner->cx, rk, b);
}

alm_status alm_dep_align(const alm_dep_ctx *dep, alm_plan **child, uint32_t n, alm_exprs *own,
                         const alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    alm_dep_list deps;
    ALM_TRY(alm_dep_ensure(dep, child, own, carried));
    ALM_TRY(alm_dep_list_new(planner, n + carried->n, &deps));
    ALM_TRY(alm_dep_list_cols(planner, &deps, *child, 0, n));
    for (uint32_t i = 0; i < carried->n; i++) {
        const uint32_t place = n + (uint32_t)alm_dep_find_outer(own, carried->at[i]);
        ALM_TRY(alm_dep_list_cols(planner, &deps, *child, place, place + 1));
        if (!alm_type_eq(deps.exprs[deps.n - 1]->type, carried->at[i]->type))
            ALM_TRY(alm_expr_cast(planner, deps.exprs[deps.n - 1], carried->at[i]->type,
                                  ALM_CAST_EXPLICIT, &deps.exprs[deps.n - 1]));
    }
    return alm_plan_project(planner, *child, deps.exprs, deps.names, deps.n, child);
}

/* ----------------------------------------------------------------------------- the way */

static alm_status seek_dep(void *arg, alm_expr **expr)
{
    *(bool *)arg |= alm_expr_has_mark(*expr, ALM_COL_DEP);
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

alm_status alm_dep_push(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    const alm_node_ops *ops = alm_node_ops_of((*plan)->op);
    if (!alm_plan_is_dependent(*plan))
        return ALM_OK;
    ALM_TRY(alm_enter(dep->p, (*plan)->pos));
    const alm_status status = ops->decorrelate != NULL
                                  ? ops->decorrelate(dep, plan, carried)
                                  : alm_dep_too_hard(dep, *plan, "such a source");
    dep->p->depth--;
    return status;
}
