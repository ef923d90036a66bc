/*
 * distinct.c - count_distinct(x) by k as two groupings: rows by (k, x), then count(x) by k.
 *
 * The first is the parallel, partitioned GROUP BY without aggregates; the second reads one row for each
 * distinct pair. Sets of values as aggregate states would have to be merged by one thread.
 */
#include "exec/group/group.h"

static bool rewritable(const alm_plan *plan)
{
    const alm_agg_call *first = plan->group.aggs;
    if (plan->group.n_aggs == 0 || strcmp(first->fn->name, "count_distinct") != 0 ||
        first->n_args != 1)
        return false;
    for (uint32_t i = 0; i < plan->group.n_aggs; i++) {
        const alm_agg_call *call = &plan->group.aggs[i];
        if (call->fn != first->fn || call->n_args != 1 || call->filter != NULL || call->distinct ||
            call->n_order > 0 || call->type.id != ALM_T_LONG ||
            !alm_eval_expr_equal(call->args[0], first->args[0]))
            return false;
    }
    return true;
}

static alm_status column(alm_ctx *cx, uint32_t col, alm_type type, int32_t pos, alm_expr **out)
{
    ALM_TRY(ALM_NEW(cx, cx->arena, out));
    **out = (alm_expr){.kind = ALM_X_COL, .type = type, .pos = pos, .col = col};
    return ALM_OK;
}

/* Rows by keys and argument. */
static alm_status inner_plan(alm_ctx *cx, const alm_plan *plan, alm_plan **out)
{
    const uint32_t n_keys = plan->group.n_keys;
    ALM_TRY(ALM_NEW(cx, cx->arena, out));
    **out = *plan;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &(*out)->group.keys));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &(*out)->cols));
    for (uint32_t k = 0; k <= n_keys; k++) {
        alm_expr *key = k < n_keys ? plan->group.keys[k] : plan->group.aggs[0].args[0];
        (*out)->group.keys[k] = key;
        (*out)->cols[k] = (alm_plan_col){"", key->type};
    }
    (*out)->group.n_keys = (*out)->n_cols = n_keys + 1;
    (*out)->group.n_aggs = 0;
    return ALM_OK;
}

alm_status alm_group_rewrite(alm_ctx *cx, const alm_run *run, const alm_plan *plan,
                             const alm_plan **out)
{
    *out = plan;
    if (run->env.registry == NULL || !rewritable(plan))
        return ALM_OK;
    const alm_expr *value = plan->group.aggs[0].args[0];
    const uint32_t n_keys = plan->group.n_keys;
    alm_plan *inner = NULL, *outer = NULL;
    alm_resolved count;
    alm_arg arg = {.type = value->type, .pos = value->pos};
    ALM_TRY(alm_registry_resolve(cx, run->env.registry, ALM_STR("count"), ALM_FN_AGGREGATE,
                                 value->pos, 1, &arg, &count));
    if (!alm_type_eq(arg.type, value->type) || count.result.id != ALM_T_LONG)
        return ALM_OK;
    ALM_TRY(inner_plan(cx, plan, &inner));
    ALM_TRY(ALM_NEW(cx, cx->arena, &outer));
    *outer = *plan;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &outer->child));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &outer->group.keys));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->group.n_aggs, &outer->group.aggs));
    outer->child[0] = inner;
    for (uint32_t k = 0; k < n_keys; k++)
        ALM_TRY(
            column(cx, k, inner->cols[k].type, plan->group.keys[k]->pos, &outer->group.keys[k]));
    for (uint32_t i = 0; i < plan->group.n_aggs; i++) {
        alm_agg_call *call = &outer->group.aggs[i];
        *call = (alm_agg_call){.fn = count.fn,
                               .data = count.data,
                               .n_args = 1,
                               .type = count.result,
                               .pos = plan->group.aggs[i].pos};
        ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &call->args));
        ALM_TRY(column(cx, n_keys, value->type, value->pos, &call->args[0]));
    }
    *out = outer;
    return ALM_OK;
}
