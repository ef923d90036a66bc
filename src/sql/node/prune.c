/* prune.c - see prune.h. */
#include "sql/node/prune.h"
#include "sql/node/walk.h"

alm_status alm_prune_flags(alm_planner *planner, uint32_t n, bool **out)
{
    return ALM_NEWN(planner->cx, planner->cx->arena, n + 1, out);
}

bool alm_prune_mark_col(void *flags, const alm_expr *col)
{
    ((bool *)flags)[col->col] = true;
    return true;
}

alm_status alm_prune_mark(void *flags, alm_expr **expr)
{
    (void)alm_expr_each_col(*expr, alm_prune_mark_col, flags);
    return ALM_OK;
}

alm_status alm_prune_renumber(void *map, alm_expr **expr)
{
    const alm_prune_map *prune_map = map;
    return alm_expr_renumber(prune_map->cx, *expr, prune_map->map, expr);
}

/* Columns of the node are those of its only child. */
void alm_prune_take_child(alm_plan *plan)
{
    plan->cols = plan->child[0]->cols;
    plan->n_cols = plan->child[0]->n_cols;
}

int32_t alm_prune_mapped(const uint32_t *map, int32_t col)
{
    return col < 0 || map[col] == ALM_PRUNE_NONE ? -1 : (int32_t)map[col];
}

alm_status alm_prune_identity(alm_planner *planner, uint32_t n, uint32_t **map)
{
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, map));
    for (uint32_t i = 0; i < n; i++)
        (*map)[i] = i;
    return ALM_OK;
}

/* Of a SCAN, or a SOURCE that is scanned: columns of the result first, then those of conditions. */
alm_status alm_prune_leaf(alm_planner *planner, alm_plan *plan, const bool *need, uint32_t **map,
                          uint32_t **of, uint32_t *n_of, uint32_t *n_out)
{
    const uint32_t n = *n_of;
    bool *reads = NULL;
    uint32_t *cols = NULL;
    alm_plan_col *out = NULL;
    ALM_TRY(alm_prune_flags(planner, n, &reads));
    ALM_TRY(alm_plan_exprs(plan, alm_prune_mark, reads));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, map));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &out));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        (*map)[i] = ALM_PRUNE_NONE;
        if (!need[i])
            continue;
        out[k] = plan->cols[i];
        cols[k] = (*of)[i];
        (*map)[i] = k++;
    }
    *n_out = k;
    uint32_t *all = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &all));
    for (uint32_t i = 0; i < n; i++) {
        all[i] = (*map)[i];
        if (!reads[i] || need[i])
            continue;
        cols[k] = (*of)[i];
        all[i] = k++;
    }
    alm_prune_map prune_map = {planner->cx, all};
    ALM_TRY(alm_plan_exprs(plan, alm_prune_renumber, &prune_map));
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    *of = cols;
    *n_of = k;
    plan->cols = out;
    plan->n_cols = *n_out;
    return ALM_OK;
}

alm_status alm_prune_passing(alm_planner *planner, alm_plan **slot, const bool *need,
                             uint32_t **map)
{
    alm_plan *plan = *slot;
    bool *wanted = NULL;
    ALM_TRY(alm_prune_flags(planner, plan->n_cols, &wanted));
    memcpy(wanted, need, plan->n_cols * sizeof *wanted);
    ALM_TRY(alm_plan_exprs(plan, alm_prune_mark, wanted));
    ALM_TRY(alm_prune(planner, &plan->child[0], wanted, map));
    alm_prune_map prune_map = {planner->cx, *map};
    ALM_TRY(alm_plan_exprs(plan, alm_prune_renumber, &prune_map));
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    alm_prune_take_child(plan);
    return ALM_OK;
}

/* Exactly the wanted columns of the child, in order. */
alm_status alm_prune_exact(alm_planner *planner, alm_plan **slot, const bool *need,
                           uint32_t n_needs, const uint32_t *map)
{
    uint32_t k = 0;
    bool same = true;
    for (uint32_t i = 0; i < n_needs; i++)
        if (need[i])
            same &= map[i] == k++;
    if (same && (*slot)->n_cols == k)
        return ALM_OK;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, k + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, k + 1, &names));
    k = 0;
    for (uint32_t i = 0; i < n_needs; i++) {
        if (!need[i])
            continue;
        const alm_plan_col *col = &(*slot)->cols[map[i]];
        names[k] = col->name;
        ALM_TRY(alm_expr_col(planner->cx, map[i], col->type, (*slot)->pos, &exprs[k++]));
    }
    return alm_plan_project(planner, *slot, exprs, names, k, slot);
}

alm_status alm_prune(alm_planner *planner, alm_plan **slot, const bool *need, uint32_t **map)
{
    const alm_node_ops *ops = alm_node_ops_of((*slot)->op);
    return ops->prune != NULL ? ops->prune(planner, slot, need, map)
                              : alm_prune_identity(planner, (*slot)->n_cols, map);
}

static alm_status prune_kept(alm_planner *planner, alm_plan *kept)
{
    const uint32_t n_cols = kept->n_cols;
    bool *need = NULL, any = false;
    uint32_t *map = NULL, *at = NULL, k = 0;
    ALM_TRY(alm_prune_flags(planner, n_cols, &need));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &at));
    for (const alm_shared_use *use = kept->materialise.uses; use != NULL; use = use->next)
        for (uint32_t i = 0; i < use->node->n_cols; i++)
            any = need[use->node->shared.cols[i]] = true;
    if (!any && n_cols > 0)
        need[0] = true;
    ALM_TRY(alm_prune(planner, &kept->child[0], need, &map));
    ALM_TRY(alm_prune_exact(planner, &kept->child[0], need, n_cols, map));
    for (uint32_t i = 0; i < n_cols; i++)
        at[i] = need[i] ? k++ : ALM_PRUNE_NONE;
    kept->ts_col = alm_prune_mapped(at, kept->ts_col);
    alm_prune_take_child(kept);
    for (const alm_shared_use *use = kept->materialise.uses; use != NULL; use = use->next)
        for (uint32_t i = 0; i < use->node->n_cols; i++)
            use->node->shared.cols[i] = at[use->node->shared.cols[i]];
    return ALM_OK;
}

alm_status alm_prune_plan(alm_planner *planner, alm_plan **plan)
{
    bool *need = NULL;
    uint32_t *map = NULL;
    const uint32_t n = (*plan)->n_cols;
    ALM_TRY(alm_prune_flags(planner, n, &need));
    memset(need, 1, n * sizeof *need);
    ALM_TRY(alm_prune(planner, plan, need, &map));
    ALM_TRY(alm_prune_exact(planner, plan, need, n, map));
    for (uint32_t k = planner->n_kept; k-- > 0;) /* those who use another come behind it */
        if (planner->kept[k]->materialise.refs > 0)
            ALM_TRY(prune_kept(planner, planner->kept[k]));
    return ALM_OK;
}
