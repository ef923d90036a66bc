/* aggs.c - see aggs.h. */
#include "sql/node/aggs.h"

#include "sql/node/walk.h"

/* Where the aggregate whose value PREV takes is now. One that is kept only because another takes its
 * value may itself take that of one that went: nobody sees what it is filled with. */
static uint32_t mapped_prev(const uint32_t *map, uint32_t first, uint32_t prev)
{
    const uint32_t to = map[first + prev - 1];
    return to == ALM_PRUNE_NONE ? 0 : to - first + 1;
}

/* Aggregates that are read, and those whose value FILL(PREV) takes for them. */
static alm_status wanted_aggs(alm_planner *planner, const alm_plan *plan, const bool *need,
                              const alm_agg_list *list, bool **out)
{
    const uint32_t n = *list->n_aggs;
    ALM_TRY(alm_prune_flags(planner, plan->n_cols, out));
    memcpy(*out, need, plan->n_cols * sizeof **out);
    for (uint32_t a = 0; list->fill != NULL && a < n; a++)
        if (need[list->first + a] && list->fill[a].prev > 0)
            (*out)[list->first + list->fill[a].prev - 1] = true;
    return ALM_OK;
}

alm_status alm_prune_aggs(alm_planner *planner, alm_plan *plan, const bool *need,
                          const alm_agg_list *list, uint32_t **map)
{
    const uint32_t first = list->first, n = *list->n_aggs;
    bool *wanted = NULL;
    alm_plan_col *cols = NULL;
    ALM_TRY(wanted_aggs(planner, plan, need, list, &wanted));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, map));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < first; i++) {
        (*map)[i] = i;
        cols[i] = plan->cols[i];
    }
    uint32_t k = 0;
    for (uint32_t a = 0; a < n; a++) {
        (*map)[first + a] = ALM_PRUNE_NONE;
        if (!wanted[first + a] && !(list->keep_one && k == 0 && a + 1 == n))
            continue;
        (*map)[first + a] = first + k;
        cols[first + k] = plan->cols[first + a];
        if (list->fill != NULL)
            list->fill[k] = list->fill[a];
        list->aggs[k++] = list->aggs[a];
    }
    for (uint32_t a = 0; list->fill != NULL && a < k; a++)
        if (list->fill[a].prev > 0)
            list->fill[a].prev = mapped_prev(*map, first, list->fill[a].prev);
    *list->n_aggs = k;
    plan->cols = cols;
    plan->n_cols = first + k;
    return ALM_OK;
}

alm_status alm_prune_under_aggs(alm_planner *planner, alm_plan *plan, uint32_t time,
                                uint32_t **below)
{
    bool *wanted = NULL;
    ALM_TRY(alm_prune_flags(planner, plan->child[0]->n_cols, &wanted));
    ALM_TRY(alm_plan_exprs(plan, alm_prune_mark, wanted));
    if (time != ALM_PRUNE_NONE)
        wanted[time] = true;
    ALM_TRY(alm_prune(planner, &plan->child[0], wanted, below));
    alm_prune_map map = {planner->cx, *below};
    return alm_plan_exprs(plan, alm_prune_renumber, &map);
}
