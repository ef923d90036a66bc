/*
 * prune.c - every node gives only the columns somebody above reads; scans read no others.
 *
 * Method      Top down with a set of wanted columns, bottom up with a map from old to new numbers. A
 *             node may still give more than wanted (what its own conditions read); parents renumber.
 */
#include "sql/opt/opt.h"

#define NONE UINT32_MAX

typedef struct alm_shared_use shared_use;
struct alm_shared_use {
    alm_plan *node;
    shared_use *next;
};

static alm_status prune(alm_planner *p, alm_plan **slot, const bool *need, uint32_t **map);

static alm_status flags(alm_planner *p, uint32_t n, bool **out)
{
    return ALM_NEWN(p->cx, p->cx->arena, n + 1, out);
}

static bool mark_col(void *arg, const alm_expr *col)
{
    ((bool *)arg)[col->col] = true;
    return true;
}

static alm_status mark(void *arg, alm_expr **e)
{
    (void)alm_expr_each_col(*e, mark_col, arg);
    return ALM_OK;
}

typedef struct renumber_arg {
    alm_ctx *cx;
    const uint32_t *map;
} renumber_arg;

static alm_status renumber(void *arg, alm_expr **e)
{
    const renumber_arg *r = arg;
    return alm_expr_renumber(r->cx, *e, r->map, e);
}

/* Columns of the node are those of its only child. */
static void take_child(alm_plan *plan)
{
    plan->cols = plan->child[0]->cols;
    plan->n_cols = plan->child[0]->n_cols;
}

static int32_t mapped(const uint32_t *map, int32_t col)
{
    return col < 0 || map[col] == NONE ? -1 : (int32_t)map[col];
}

static alm_status identity(alm_planner *p, uint32_t n, uint32_t **map)
{
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, map));
    for (uint32_t i = 0; i < n; i++)
        (*map)[i] = i;
    return ALM_OK;
}

/* ----------------------------------------------------------------------- leaves */

/* Of a SCAN, or a SOURCE that is scanned: columns of the result first, then those of conditions. */
static alm_status prune_leaf(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map,
                             uint32_t **of, uint32_t *n_of, uint32_t *n_out)
{
    const uint32_t n = *n_of;
    bool *reads = NULL;
    uint32_t *cols = NULL;
    alm_plan_col *out = NULL;
    ALM_TRY(flags(p, n, &reads));
    ALM_TRY(alm_plan_exprs(plan, mark, reads));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, map));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &out));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        (*map)[i] = NONE;
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
    renumber_arg r = {p->cx, all};
    ALM_TRY(alm_plan_exprs(plan, renumber, &r));
    plan->ts_col = mapped(*map, plan->ts_col);
    *of = cols;
    *n_of = k;
    plan->cols = out;
    plan->n_cols = *n_out;
    return ALM_OK;
}

static alm_status prune_scan(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    return prune_leaf(p, plan, need, map, &plan->scan.cols, &plan->scan.n_cols, &plan->scan.n_out);
}

static alm_status prune_source(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    if (plan->source.all == NULL)
        return identity(p, plan->n_cols, map);
    return prune_leaf(p, plan, need, map, &plan->source.cols, &plan->source.n_cols,
                      &plan->source.n_out);
}

/* -------------------------------------------------------------------- one child */

/* FILTER, SORT, LIMIT, LATEST: the child's columns pass through. */
static alm_status prune_passing(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    bool *wanted = NULL;
    ALM_TRY(flags(p, plan->n_cols, &wanted));
    memcpy(wanted, need, plan->n_cols * sizeof *wanted);
    ALM_TRY(alm_plan_exprs(plan, mark, wanted));
    if (plan->op == ALM_P_LATEST)
        wanted[plan->latest.ts_col] = true;
    ALM_TRY(prune(p, &plan->child[0], wanted, map));
    renumber_arg r = {p->cx, *map};
    ALM_TRY(alm_plan_exprs(plan, renumber, &r));
    if (plan->op == ALM_P_LATEST)
        plan->latest.ts_col = (*map)[plan->latest.ts_col];
    plan->ts_col = mapped(*map, plan->ts_col);
    take_child(plan);
    return ALM_OK;
}

static alm_status prune_project(alm_planner *p, alm_plan **slot, const bool *need, uint32_t **map)
{
    alm_plan *plan = *slot;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    alm_plan_col *cols = NULL;
    alm_expr **exprs = NULL;
    const uint32_t n = plan->n_cols;
    ALM_TRY(flags(p, plan->child[0]->n_cols, &wanted));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, map));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &exprs));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        (*map)[i] = NONE;
        if (!need[i])
            continue;
        (void)alm_expr_each_col(plan->project.expr[i], mark_col, wanted);
        cols[k] = plan->cols[i];
        exprs[k] = plan->project.expr[i];
        (*map)[i] = k++;
    }
    ALM_TRY(prune(p, &plan->child[0], wanted, &below));
    if (k == 0) { /* only the number of rows counts */
        *slot = plan->child[0];
        return ALM_OK;
    }
    for (uint32_t i = 0; i < k; i++)
        ALM_TRY(alm_expr_renumber(p->cx, exprs[i], below, &exprs[i]));
    plan->ts_col = mapped(*map, plan->ts_col);
    plan->project.expr = exprs;
    plan->cols = cols;
    plan->n_cols = k;
    return ALM_OK;
}

/* Where the aggregate whose value PREV takes is now. One that is kept only because another takes its
 * value may itself take that of one that went: nobody sees what it is filled with. */
static uint32_t mapped_prev(const uint32_t *map, uint32_t first, uint32_t prev)
{
    const uint32_t to = map[first + prev - 1];
    return to == NONE ? 0 : to - first + 1;
}

/* Aggregates that nobody reads go; `first` columns stand before them. */
static alm_status drop_aggs(alm_planner *p, alm_plan *plan, const bool *need, uint32_t first,
                            bool keep_one, uint32_t **map)
{
    const bool sample = plan->op == ALM_P_SAMPLE;
    alm_agg_call *aggs = sample ? plan->sample.aggs : plan->group.aggs;
    const uint32_t n = sample ? plan->sample.n_aggs : plan->group.n_aggs;
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, map));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < first; i++) {
        (*map)[i] = i;
        cols[i] = plan->cols[i];
    }
    uint32_t k = 0;
    bool *wanted = NULL;
    ALM_TRY(flags(p, plan->n_cols, &wanted));
    memcpy(wanted, need, plan->n_cols * sizeof *wanted);
    for (uint32_t a = 0; sample && plan->sample.fill != NULL && a < n; a++)
        if (need[first + a] && plan->sample.fill[a].prev > 0)
            wanted[first + plan->sample.fill[a].prev - 1] = true;
    for (uint32_t a = 0; a < n; a++) {
        (*map)[first + a] = NONE;
        if (!wanted[first + a] && !(keep_one && k == 0 && a + 1 == n))
            continue;
        (*map)[first + a] = first + k;
        cols[first + k] = plan->cols[first + a];
        if (sample && plan->sample.fill != NULL)
            plan->sample.fill[k] = plan->sample.fill[a];
        aggs[k++] = aggs[a];
    }
    for (uint32_t a = 0; sample && plan->sample.fill != NULL && a < k; a++)
        if (plan->sample.fill[a].prev > 0)
            plan->sample.fill[a].prev = mapped_prev(*map, first, plan->sample.fill[a].prev);
    if (sample)
        plan->sample.n_aggs = k;
    else
        plan->group.n_aggs = k;
    plan->cols = cols;
    plan->n_cols = first + k;
    return ALM_OK;
}

static alm_status prune_group(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    const bool sample = plan->op == ALM_P_SAMPLE;
    const uint32_t first = sample ? 1 + plan->sample.n_keys : plan->group.n_keys;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    ALM_TRY(drop_aggs(p, plan, need, first, sample || plan->group.n_keys == 0, map));
    ALM_TRY(flags(p, plan->child[0]->n_cols, &wanted));
    ALM_TRY(alm_plan_exprs(plan, mark, wanted));
    if (sample)
        wanted[plan->sample.ts_col] = true;
    ALM_TRY(prune(p, &plan->child[0], wanted, &below));
    renumber_arg r = {p->cx, below};
    if (sample)
        plan->sample.ts_col = below[plan->sample.ts_col];
    return alm_plan_exprs(plan, renumber, &r);
}

static alm_status prune_window(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    const uint32_t nc = plan->child[0]->n_cols;
    bool *wanted = NULL;
    uint32_t *below = NULL, *all = NULL;
    uint32_t k = 0;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &all));
    alm_plan_col *kept = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->window.n_calls + 1, &kept));
    for (uint32_t w = 0; w < plan->window.n_calls; w++) {
        all[nc + w] = NONE;
        if (!need[nc + w])
            continue;
        all[nc + w] = k;
        kept[k] = plan->cols[nc + w];
        plan->window.calls[k++] = plan->window.calls[w];
    }
    const uint32_t n_calls = plan->window.n_calls;
    plan->window.n_calls = k;
    ALM_TRY(flags(p, nc, &wanted));
    memcpy(wanted, need, nc * sizeof *wanted);
    ALM_TRY(alm_plan_exprs(plan, mark, wanted));
    ALM_TRY(prune(p, &plan->child[0], wanted, &below));
    renumber_arg r = {p->cx, below};
    ALM_TRY(alm_plan_exprs(plan, renumber, &r));
    const alm_plan *child = plan->child[0];
    memcpy(all, below, nc * sizeof *all);
    for (uint32_t w = 0; w < n_calls; w++)
        if (all[nc + w] != NONE)
            all[nc + w] += child->n_cols;
    plan->ts_col = mapped(all, plan->ts_col);
    plan->n_cols = child->n_cols + k;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &plan->cols));
    if (child->n_cols > 0)
        memcpy(plan->cols, child->cols, child->n_cols * sizeof *plan->cols);
    if (k > 0)
        memcpy(plan->cols + child->n_cols, kept, k * sizeof *kept);
    *map = all;
    return ALM_OK;
}

/* Offset and time stay, whoever reads them. */
static alm_status prune_horizon(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    const uint32_t n = plan->child[0]->n_cols;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    alm_plan_col *cols = NULL;
    ALM_TRY(flags(p, n, &wanted));
    memcpy(wanted, need, n * sizeof *wanted);
    wanted[plan->horizon.ts_col] = true;
    ALM_TRY(prune(p, &plan->child[0], wanted, &below));
    const alm_plan *child = plan->child[0];
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 3, map));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, child->n_cols + 2, &cols));
    memcpy(*map, below, n * sizeof **map);
    memcpy(cols, child->cols, child->n_cols * sizeof *cols);
    for (uint32_t i = 0; i < 2; i++) {
        (*map)[n + i] = child->n_cols + i;
        cols[child->n_cols + i] = plan->cols[n + i];
    }
    plan->horizon.ts_col = below[plan->horizon.ts_col];
    plan->cols = cols;
    plan->n_cols = child->n_cols + 2;
    plan->ts_col = mapped(*map, plan->ts_col);
    return ALM_OK;
}

/* ------------------------------------------------------------------ two children */

static bool is_asof(uint8_t kind)
{
    return kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT || kind == ALM_JOIN_SPLICE;
}

static alm_status join_cols(alm_planner *p, alm_plan *plan)
{
    const alm_plan *l = plan->child[0], *r = plan->child[1];
    const bool left_only = plan->join.kind == 'S' || plan->join.kind == 'A';
    const uint32_t nr = left_only ? 0 : r->n_cols;
    plan->n_cols = l->n_cols + nr;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &plan->cols));
    if (l->n_cols > 0)
        memcpy(plan->cols, l->cols, l->n_cols * sizeof *plan->cols);
    if (nr > 0)
        memcpy(plan->cols + l->n_cols, r->cols, nr * sizeof *plan->cols);
    return ALM_OK;
}

/* Columns that are there for the keys alone. */
static alm_status mark_unread(alm_planner *p, alm_plan *plan, const bool *need, const uint32_t *map,
                              uint32_t n)
{
    bool *unread = NULL;
    ALM_TRY(flags(p, plan->n_cols, &unread));
    memset(unread, 1, plan->n_cols * sizeof *unread);
    for (uint32_t i = 0; i < n; i++)
        if (need[i] && map[i] != NONE)
            unread[map[i]] = false;
    plan->join.unread = unread;
    return ALM_OK;
}

static alm_status prune_join(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    const uint32_t nl = plan->child[0]->n_cols, nr = plan->child[1]->n_cols;
    const bool left_only = plan->join.kind == 'S' || plan->join.kind == 'A';
    bool *wanted = NULL;
    uint32_t *left = NULL, *right = NULL;
    ALM_TRY(flags(p, nl + nr, &wanted));
    memcpy(wanted, need, (left_only ? nl : nl + nr) * sizeof *wanted);
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        ALM_TRY(mark(wanted, &plan->join.residual[i]));
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(mark(wanted, &plan->join.left_keys[i]));
        ALM_TRY(mark(wanted + nl, &plan->join.right_keys[i]));
    }
    if (is_asof(plan->join.kind)) {
        wanted[plan->join.left_ts] = true;
        wanted[nl + plan->join.right_ts] = true;
        if (plan->join.has_lane)
            wanted[plan->join.lane_col] = true;
    }
    ALM_TRY(prune(p, &plan->child[0], wanted, &left));
    ALM_TRY(prune(p, &plan->child[1], wanted + nl, &right));
    uint32_t *all = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + nr + 1, &all));
    memcpy(all, left, nl * sizeof *all);
    for (uint32_t i = 0; i < nr; i++)
        all[nl + i] = right[i] == NONE ? NONE : right[i] + plan->child[0]->n_cols;
    renumber_arg r = {p->cx, all}, rl = {p->cx, left}, rr = {p->cx, right};
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        ALM_TRY(renumber(&r, &plan->join.residual[i]));
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(renumber(&rl, &plan->join.left_keys[i]));
        ALM_TRY(renumber(&rr, &plan->join.right_keys[i]));
    }
    if (is_asof(plan->join.kind)) {
        plan->join.left_ts = left[plan->join.left_ts];
        plan->join.right_ts = right[plan->join.right_ts];
        if (plan->join.has_lane)
            plan->join.lane_col = left[plan->join.lane_col];
    }
    plan->ts_col = mapped(all, plan->ts_col);
    *map = all;
    ALM_TRY(join_cols(p, plan));
    return mark_unread(p, plan, need, all, left_only ? nl : nl + nr);
}

static alm_status prune_window_join(alm_planner *p, alm_plan *plan, const bool *need,
                                    uint32_t **map)
{
    const uint32_t nl = plan->child[0]->n_cols, nr = plan->child[1]->n_cols;
    bool *wanted = NULL;
    uint32_t *left = NULL, *right = NULL, *all = NULL;
    ALM_TRY(flags(p, nl + nr, &wanted));
    memcpy(wanted, need, nl * sizeof *wanted);
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, mark, wanted));
    for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
        ALM_TRY(mark(wanted, &plan->winjoin.left_keys[i]));
        ALM_TRY(mark(wanted + nl, &plan->winjoin.right_keys[i]));
    }
    wanted[plan->winjoin.left_ts] = true;
    if (plan->winjoin.lo_col >= 0)
        wanted[plan->winjoin.lo_col] = true;
    if (plan->winjoin.hi_col >= 0)
        wanted[plan->winjoin.hi_col] = true;
    wanted[nl + plan->winjoin.right_ts] = true;
    ALM_TRY(prune(p, &plan->child[0], wanted, &left));
    ALM_TRY(prune(p, &plan->child[1], wanted + nl, &right));
    const alm_plan *child = plan->child[0];
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + nr + 1, &all));
    memcpy(all, left, nl * sizeof *all);
    for (uint32_t i = 0; i < nr; i++)
        all[nl + i] = right[i] == NONE ? NONE : right[i] + child->n_cols;
    renumber_arg r = {p->cx, all}, rl = {p->cx, left}, rr = {p->cx, right};
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, renumber, &r));
    for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
        ALM_TRY(renumber(&rl, &plan->winjoin.left_keys[i]));
        ALM_TRY(renumber(&rr, &plan->winjoin.right_keys[i]));
    }
    plan->winjoin.left_ts = left[plan->winjoin.left_ts];
    plan->winjoin.lo_col = mapped(left, plan->winjoin.lo_col);
    plan->winjoin.hi_col = mapped(left, plan->winjoin.hi_col);
    plan->winjoin.right_ts = right[plan->winjoin.right_ts];
    /* result: what is left of the left side, then the aggregates */
    const uint32_t n_aggs = plan->winjoin.n_aggs;
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, child->n_cols + n_aggs + 1, &cols));
    if (child->n_cols > 0)
        memcpy(cols, child->cols, child->n_cols * sizeof *cols);
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + n_aggs + 1, map));
    memcpy(*map, left, nl * sizeof **map);
    for (uint32_t a = 0; a < n_aggs; a++) {
        cols[child->n_cols + a] = plan->cols[nl + a];
        (*map)[nl + a] = child->n_cols + a;
    }
    plan->cols = cols;
    plan->n_cols = child->n_cols + n_aggs;
    plan->ts_col = mapped(left, plan->ts_col);
    return ALM_OK;
}

/* Exactly the wanted columns of the child, in order. */
static alm_status exact(alm_planner *p, alm_plan **slot, const bool *need, uint32_t n,
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

static alm_status prune_setop(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    const uint32_t n = plan->n_cols;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    ALM_TRY(flags(p, n, &wanted));
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        wanted[i] = need[i] || plan->setop.kind != ALM_SETOP_UNION_ALL;
        any |= wanted[i];
    }
    if (!any && n > 0)
        wanted[0] = true; /* rows of both sides must look alike */
    for (uint32_t side = 0; side < 2; side++) {
        ALM_TRY(prune(p, &plan->child[side], wanted, &below));
        ALM_TRY(exact(p, &plan->child[side], wanted, n, below));
    }
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, map));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++)
        (*map)[i] = wanted[i] ? k++ : NONE;
    plan->ts_col = mapped(*map, plan->ts_col);
    take_child(plan);
    return ALM_OK;
}

/* --------------------------------------------------------------- shared, recursive */

/* Remembers the node: what all of them read together is kept, and numbered anew afterwards. */
static alm_status prune_shared(alm_planner *p, alm_plan *plan, const bool *need, uint32_t **map)
{
    const uint32_t n = plan->n_cols;
    uint32_t *cols = NULL;
    alm_plan_col *out = NULL;
    shared_use *use = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, map));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &out));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        (*map)[i] = NONE;
        if (!need[i])
            continue;
        out[k] = plan->cols[i];
        cols[k] = plan->shared.cols[i];
        (*map)[i] = k++;
    }
    plan->ts_col = mapped(*map, plan->ts_col);
    plan->shared.cols = cols;
    plan->cols = out;
    plan->n_cols = k;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &use));
    *use = (shared_use){plan, plan->shared.of->materialise.uses};
    plan->shared.of->materialise.uses = use;
    return ALM_OK;
}

static alm_status prune_kept(alm_planner *p, alm_plan *kept)
{
    const uint32_t n = kept->n_cols;
    bool *need = NULL, any = false;
    uint32_t *map = NULL, *at = NULL, k = 0;
    ALM_TRY(flags(p, n, &need));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &at));
    for (const shared_use *u = kept->materialise.uses; u != NULL; u = u->next)
        for (uint32_t i = 0; i < u->node->n_cols; i++)
            any = need[u->node->shared.cols[i]] = true;
    if (!any && n > 0)
        need[0] = true;
    ALM_TRY(prune(p, &kept->child[0], need, &map));
    ALM_TRY(exact(p, &kept->child[0], need, n, map));
    for (uint32_t i = 0; i < n; i++)
        at[i] = need[i] ? k++ : NONE;
    kept->ts_col = mapped(at, kept->ts_col);
    take_child(kept);
    for (const shared_use *u = kept->materialise.uses; u != NULL; u = u->next)
        for (uint32_t i = 0; i < u->node->n_cols; i++)
            u->node->shared.cols[i] = at[u->node->shared.cols[i]];
    return ALM_OK;
}

/* Start and step give the same columns: all of them. */
static alm_status prune_recurse(alm_planner *p, alm_plan *plan, uint32_t **map)
{
    bool *wanted = NULL;
    uint32_t *below = NULL;
    ALM_TRY(flags(p, plan->n_cols, &wanted));
    memset(wanted, 1, plan->n_cols * sizeof *wanted);
    for (uint32_t side = 0; side < 2; side++) {
        ALM_TRY(prune(p, &plan->child[side], wanted, &below));
        ALM_TRY(exact(p, &plan->child[side], wanted, plan->n_cols, below));
    }
    return identity(p, plan->n_cols, map);
}

/* --------------------------------------------------------------------- dispatch */

static alm_status prune(alm_planner *p, alm_plan **slot, const bool *need, uint32_t **map)
{
    alm_plan *plan = *slot;
    switch (plan->op) {
    case ALM_P_SCAN:
        return prune_scan(p, plan, need, map);
    case ALM_P_PROJECT:
        return prune_project(p, slot, need, map);
    case ALM_P_FILTER:
    case ALM_P_SORT:
    case ALM_P_LIMIT:
    case ALM_P_LATEST:
    case ALM_P_BARRIER:
        return prune_passing(p, plan, need, map);
    case ALM_P_GROUP:
    case ALM_P_SAMPLE:
        return prune_group(p, plan, need, map);
    case ALM_P_WINDOW:
        return prune_window(p, plan, need, map);
    case ALM_P_JOIN:
        return prune_join(p, plan, need, map);
    case ALM_P_WINDOW_JOIN:
        return prune_window_join(p, plan, need, map);
    case ALM_P_HORIZON:
        return prune_horizon(p, plan, need, map);
    case ALM_P_SETOP:
        return prune_setop(p, plan, need, map);
    case ALM_P_SHARED:
        return prune_shared(p, plan, need, map);
    case ALM_P_RECURSE:
        return prune_recurse(p, plan, map);
    case ALM_P_SOURCE:
        return prune_source(p, plan, need, map);
    case ALM_P_VALUES:
    case ALM_P_MATERIALISE:
    case ALM_P_WORKING:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    return identity(p, plan->n_cols, map);
}

alm_status alm_prune_filtered(alm_planner *p, alm_plan *scan)
{
    bool *need = NULL;
    uint32_t *map = NULL;
    if (scan->scan.n_cols == scan->scan.n_out)
        return ALM_OK;
    ALM_TRY(flags(p, scan->scan.n_cols, &need));
    memset(need, 1, scan->scan.n_out * sizeof *need);
    return prune_scan(p, scan, need, &map);
}

alm_status alm_rule_prune(alm_planner *p, alm_plan **plan)
{
    bool *need = NULL;
    uint32_t *map = NULL;
    const uint32_t n = (*plan)->n_cols;
    ALM_TRY(flags(p, n, &need));
    memset(need, 1, n * sizeof *need);
    ALM_TRY(prune(p, plan, need, &map));
    ALM_TRY(exact(p, plan, need, n, map));
    for (uint32_t k = p->n_kept; k-- > 0;) /* those who use another come behind it */
        if (p->kept[k]->materialise.refs > 0)
            ALM_TRY(prune_kept(p, p->kept[k]));
    return ALM_OK;
}
