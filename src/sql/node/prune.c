/* prune.c - see prune.h. */
#include "sql/node/prune.h"
#include "sql/node/walk.h"

alm_status alm_prune_flags(alm_planner *p, uint32_t n, bool **out)
{
    return ALM_NEWN(p->cx, p->cx->arena, n + 1, out);
}

bool alm_prune_mark_col(void *flags, const alm_expr *col)
{
    ((bool *)flags)[col->col] = true;
    return true;
}

alm_status alm_prune_mark(void *flags, alm_expr **e)
{
    (void)alm_expr_each_col(*e, alm_prune_mark_col, flags);
    return ALM_OK;
}

alm_status alm_prune_renumber(void *map, alm_expr **e)
{
    const alm_prune_map *r = map;
    return alm_expr_renumber(r->cx, *e, r->map, e);
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

alm_status alm_prune_identity(alm_planner *p, uint32_t n, uint32_t **map)
{
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, map));
    for (uint32_t i = 0; i < n; i++)
        (*map)[i] = i;
    return ALM_OK;
}

/* Of a SCAN, or a SOURCE that is scanned: columns of the result first, then those of conditions. */
alm_status alm_prune_leaf(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map,
                          uint32_t **of, uint32_t *n_of, uint32_t *n_out)
{
    const uint32_t n = *n_of;
    bool *reads = NULL;
    uint32_t *cols = NULL;
    alm_plan_col *out = NULL;
    ALM_TRY(alm_prune_flags(p, n, &reads));
    ALM_TRY(alm_plan_exprs(plan, alm_prune_mark, reads));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, map));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &out));
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
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &all));
    for (uint32_t i = 0; i < n; i++) {
        all[i] = (*map)[i];
        if (!reads[i] || need[i])
            continue;
        cols[k] = (*of)[i];
        all[i] = k++;
    }
    alm_prune_map r = {p->cx, all};
    ALM_TRY(alm_plan_exprs(plan, alm_prune_renumber, &r));
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    *of = cols;
    *n_of = k;
    plan->cols = out;
    plan->n_cols = *n_out;
    return ALM_OK;
}

alm_status alm_prune_passing(alm_planner *p, alm_plan **slot, const bool *need, uint32_t **map)
{
    alm_plan *plan = *slot;
    bool *wanted = NULL;
    ALM_TRY(alm_prune_flags(p, plan->n_cols, &wanted));
    memcpy(wanted, need, plan->n_cols * sizeof *wanted);
    ALM_TRY(alm_plan_exprs(plan, alm_prune_mark, wanted));
    ALM_TRY(alm_prune(p, &plan->child[0], wanted, map));
    alm_prune_map r = {p->cx, *map};
    ALM_TRY(alm_plan_exprs(plan, alm_prune_renumber, &r));
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    alm_prune_take_child(plan);
    return ALM_OK;
}

/* Exactly the wanted columns of the child, in order. */
alm_status alm_prune_exact(alm_planner *p, alm_plan **slot, const bool *need, uint32_t n,
                           const uint32_t *map)
{
    uint32_t k = 0;
    bool same = true;
    for (uint32_t i = 0; i < n; i++)
        if (need[i])
            same &= map[i] == k++;
    if (same && (*slot)->n_cols == k)
        return ALM_OK;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, k + 1, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, k + 1, &names));
    k = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!need[i])
            continue;
        const alm_plan_col *col = &(*slot)->cols[map[i]];
        names[k] = col->name;
        ALM_TRY(alm_expr_col(p->cx, map[i], col->type, (*slot)->pos, &exprs[k++]));
    }
    return alm_plan_project(p, *slot, exprs, names, k, slot);
}

alm_status alm_prune(alm_planner *p, alm_plan **slot, const bool *need, uint32_t **map)
{
    const alm_node_ops *ops = alm_node_ops_of((*slot)->op);
    return ops->prune != NULL ? ops->prune(p, slot, need, map)
                              : alm_prune_identity(p, (*slot)->n_cols, map);
}

static alm_status prune_kept(alm_planner *p, alm_plan *kept)
{
    const uint32_t n = kept->n_cols;
    bool *need = NULL, any = false;
    uint32_t *map = NULL, *at = NULL, k = 0;
    ALM_TRY(alm_prune_flags(p, n, &need));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &at));
    for (const alm_shared_use *u = kept->materialise.uses; u != NULL; u = u->next)
        for (uint32_t i = 0; i < u->node->n_cols; i++)
            any = need[u->node->shared.cols[i]] = true;
    if (!any && n > 0)
        need[0] = true;
    ALM_TRY(alm_prune(p, &kept->child[0], need, &map));
    ALM_TRY(alm_prune_exact(p, &kept->child[0], need, n, map));
    for (uint32_t i = 0; i < n; i++)
        at[i] = need[i] ? k++ : ALM_PRUNE_NONE;
    kept->ts_col = alm_prune_mapped(at, kept->ts_col);
    alm_prune_take_child(kept);
    for (const alm_shared_use *u = kept->materialise.uses; u != NULL; u = u->next)
        for (uint32_t i = 0; i < u->node->n_cols; i++)
            u->node->shared.cols[i] = at[u->node->shared.cols[i]];
    return ALM_OK;
}

alm_status alm_prune_plan(alm_planner *p, alm_plan **plan)
{
    bool *need = NULL;
    uint32_t *map = NULL;
    const uint32_t n = (*plan)->n_cols;
    ALM_TRY(alm_prune_flags(p, n, &need));
    memset(need, 1, n * sizeof *need);
    ALM_TRY(alm_prune(p, plan, need, &map));
    ALM_TRY(alm_prune_exact(p, plan, need, n, map));
    for (uint32_t k = p->n_kept; k-- > 0;) /* those who use another come behind it */
        if (p->kept[k]->materialise.refs > 0)
            ALM_TRY(prune_kept(p, p->kept[k]));
    return ALM_OK;
}
