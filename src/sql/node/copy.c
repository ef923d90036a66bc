/*
 * copy.c - a second plan like the first: nodes and their lists are new, so that rules may
 * change one and not the other; expressions, tables and data of sources are shared.
 */
#include "sql/node/copy.h"

alm_status alm_copy_bytes(alm_planner *planner, const void *from, size_t bytes, void **out)
{
    *out = NULL;
    if (from == NULL || bytes == 0)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(planner->cx, planner->cx->arena, bytes, out));
    memcpy(*out, from, bytes);
    return ALM_OK;
}

alm_status alm_copy_aggs(alm_planner *p, alm_agg_call **aggs, uint32_t n)
{
    ALM_COPY_LIST(*aggs, n);
    for (uint32_t i = 0; i < n; i++)
        ALM_COPY_LIST((*aggs)[i].args, (*aggs)[i].n_args);
    return ALM_OK;
}

/* The step of a copied recursion reads the rows of the copy. Rows that are kept stay with the first. */
static alm_status lead_back(alm_planner *planner, alm_plan *plan, const alm_plan *from,
                            const alm_plan *to, bool kept)
{
    if (plan->op == ALM_P_WORKING && plan->working.of == from) {
        if (kept)
            return alm_fail(planner->cx, ALM_E_UNSUPPORTED, plan->pos,
                            "WITH over the rows of a WITH RECURSIVE inside a subquery that is "
                            "copied is not supported");
        plan->working.of = to;
    }
    if (plan->op == ALM_P_SHARED)
        ALM_TRY(lead_back(planner, plan->shared.of, from, to, true));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(lead_back(planner, plan->child[i], from, to, kept));
    return ALM_OK;
}

alm_status alm_plan_copy(alm_planner *p, const alm_plan *plan, alm_plan **out)
{
    alm_plan *copy = NULL;
    ALM_TRY(alm_enter(p, plan->pos));
    ALM_TRY(alm_nodes_add(p->cx, 1 + (int64_t)plan->n_cols, plan->pos));
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &copy));
    *copy = *plan;
    ALM_COPY_LIST(copy->cols, copy->n_cols);
    ALM_COPY_LIST(copy->child, copy->n_children);
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    if (ops->copy != NULL)
        ALM_TRY(ops->copy(p, copy));
    for (uint32_t i = 0; i < copy->n_children; i++)
        ALM_TRY(alm_plan_copy(p, plan->child[i], &copy->child[i]));
    if (copy->op == ALM_P_RECURSE && copy->n_children == 2)
        ALM_TRY(lead_back(p, copy->child[1], plan, copy, false));
    p->depth--;
    *out = copy;
    return ALM_OK;
}
