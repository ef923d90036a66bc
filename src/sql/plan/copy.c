/*
 * copy.c - a second plan like the first: nodes and their lists are new, so that rules may
 * change one and not the other; expressions, tables and data of sources are shared.
 */
#include "sql/plan/node.h"

static alm_status copy_bytes(alm_planner *p, const void *from, size_t bytes, void **out)
{
    *out = NULL;
    if (from == NULL || bytes == 0)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, bytes, out));
    memcpy(*out, from, bytes);
    return ALM_OK;
}

#define COPY_LIST(field, n)                                                                        \
    do {                                                                                           \
        void *list_ = NULL;                                                                        \
        ALM_TRY(copy_bytes(p, (field), (size_t)(n) * sizeof *(field), &list_));                    \
        (field) = list_;                                                                           \
    } while (0)

static alm_status copy_aggs(alm_planner *p, alm_agg_call **aggs, uint32_t n)
{
    COPY_LIST(*aggs, n);
    for (uint32_t i = 0; i < n; i++)
        COPY_LIST((*aggs)[i].args, (*aggs)[i].n_args);
    return ALM_OK;
}

static alm_status copy_windows(alm_planner *p, alm_plan *plan)
{
    COPY_LIST(plan->window.calls, plan->window.n_calls);
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        alm_window_call *call = &plan->window.calls[i];
        COPY_LIST(call->args, call->n_args);
        COPY_LIST(call->partition, call->n_partition);
        COPY_LIST(call->order, call->n_order);
    }
    return ALM_OK;
}

static alm_status copy_lists(alm_planner *p, alm_plan *plan)
{
    switch (plan->op) {
    case ALM_P_SCAN:
        COPY_LIST(plan->scan.cols, plan->scan.n_cols);
        COPY_LIST(plan->scan.interval, plan->scan.n_intervals);
        COPY_LIST(plan->scan.filter, plan->scan.n_filters);
        break;
    case ALM_P_FILTER:
        COPY_LIST(plan->filter.conjunct, plan->filter.n);
        break;
    case ALM_P_PROJECT:
        COPY_LIST(plan->project.expr, plan->n_cols);
        break;
    case ALM_P_GROUP:
        COPY_LIST(plan->group.keys, plan->group.n_keys);
        return copy_aggs(p, &plan->group.aggs, plan->group.n_aggs);
    case ALM_P_SAMPLE:
        COPY_LIST(plan->sample.keys, plan->sample.n_keys);
        COPY_LIST(plan->sample.fill, plan->sample.n_aggs);
        return copy_aggs(p, &plan->sample.aggs, plan->sample.n_aggs);
    case ALM_P_SORT:
        COPY_LIST(plan->sort.keys, plan->sort.n_keys);
        break;
    case ALM_P_JOIN:
        COPY_LIST(plan->join.left_keys, plan->join.n_keys);
        COPY_LIST(plan->join.right_keys, plan->join.n_keys);
        COPY_LIST(plan->join.residual, plan->join.n_residual);
        break;
    case ALM_P_WINDOW:
        return copy_windows(p, plan);
    case ALM_P_WINDOW_JOIN:
        COPY_LIST(plan->winjoin.left_keys, plan->winjoin.n_keys);
        COPY_LIST(plan->winjoin.right_keys, plan->winjoin.n_keys);
        return copy_aggs(p, &plan->winjoin.aggs, plan->winjoin.n_aggs);
    case ALM_P_HORIZON:
        break; /* offsets are never changed */
    case ALM_P_LATEST:
        COPY_LIST(plan->latest.keys, plan->latest.n_keys);
        break;
    case ALM_P_VALUES:
        for (uint32_t r = 0; plan->values.rows != NULL && r < plan->values.n_rows; r++) {
            if (r == 0)
                COPY_LIST(plan->values.rows, plan->values.n_rows);
            COPY_LIST(plan->values.rows[r], plan->n_cols);
        }
        break;
    case ALM_P_SHARED: /* of the same rows */
        COPY_LIST(plan->shared.cols, plan->n_cols);
        break;
    case ALM_P_SOURCE:
        if (plan->source.all != NULL) {
            COPY_LIST(plan->source.cols, plan->source.n_cols);
            COPY_LIST(plan->source.filter, plan->source.n_filters);
        }
        break;
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER:
    case ALM_P_RECURSE:
    case ALM_P_WORKING: /* of the same recursion, which is around both or is copied too */
    case ALM_P_LIMIT:
    case ALM_P_SETOP:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    return ALM_OK;
}

/* The step of a copied recursion reads the rows of the copy. Rows that are kept stay with the first. */
static alm_status lead_back(alm_planner *p, alm_plan *plan, const alm_plan *from,
                            const alm_plan *to, bool kept)
{
    if (plan->op == ALM_P_WORKING && plan->working.of == from) {
        if (kept)
            return alm_fail(p->cx, ALM_E_UNSUPPORTED, plan->pos,
                            "WITH over the rows of a WITH RECURSIVE inside a subquery that is "
                            "copied is not supported");
        plan->working.of = to;
    }
    if (plan->op == ALM_P_SHARED)
        ALM_TRY(lead_back(p, plan->shared.of, from, to, true));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(lead_back(p, plan->child[i], from, to, kept));
    return ALM_OK;
}

alm_status alm_plan_copy(alm_planner *p, const alm_plan *plan, alm_plan **out)
{
    alm_plan *copy = NULL;
    ALM_TRY(alm_enter(p, plan->pos));
    ALM_TRY(alm_nodes_add(p->cx, 1 + (int64_t)plan->n_cols, plan->pos));
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &copy));
    *copy = *plan;
    COPY_LIST(copy->cols, copy->n_cols);
    COPY_LIST(copy->child, copy->n_children);
    ALM_TRY(copy_lists(p, copy));
    for (uint32_t i = 0; i < copy->n_children; i++)
        ALM_TRY(alm_plan_copy(p, plan->child[i], &copy->child[i]));
    if (copy->op == ALM_P_RECURSE && copy->n_children == 2)
        ALM_TRY(lead_back(p, copy->child[1], plan, copy, false));
    p->depth--;
    *out = copy;
    return ALM_OK;
}
