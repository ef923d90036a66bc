/*
 * correlate_join.c - outer columns below nodes with two inputs: joins, set operations, WINDOW JOIN
 * (correlate.c). Where rows of both sides stay, both carry the outer values and meet in them.
 */
#include "sql/bind/bind.h"
#include "sql/bind/correlate.h"
#include "sql/plan/walk.h"

static alm_status land_join(const alm_dep_ctx *d, alm_plan *join, alm_plan *left,
                            const alm_exprs *carried, uint32_t nl)
{
    alm_planner *p = d->p;
    for (uint32_t i = 0; i < join->join.n_residual; i++) {
        alm_expr **e = &join->join.residual[i];
        /* right columns move behind what the left side carries, then outer ones come down */
        uint32_t *map = NULL;
        const uint32_t all = nl + join->child[1]->n_cols;
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, all + 1, &map));
        for (uint32_t c = 0; c < all; c++)
            map[c] = c < nl ? c : c + left->n_cols - nl;
        alm_dep_landing l = {p, left, carried, nl};
        alm_expr *shifted = NULL;
        ALM_TRY(alm_expr_renumber(p->cx, *e, map, &shifted));
        ALM_TRY(alm_expr_map(p->cx, shifted, alm_dep_land_col, &l, e));
    }
    return ALM_OK;
}

static alm_status add_key_pair(alm_planner *p, const alm_plan *left, uint32_t l,
                               const alm_plan *right, uint32_t r, alm_exprs *lk, alm_exprs *rk)
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

/* Outer columns in the keys of a side: the side carries them, and the keys read them there. */
static alm_status land_keys(const alm_dep_ctx *d, alm_plan **side, uint32_t n0, alm_exprs *carried,
                            alm_expr **keys, uint32_t n)
{
    alm_exprs want = {0};
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_gather(d->p->cx, keys[i], &want));
    ALM_TRY(alm_dep_ensure(d, side, carried, &want));
    alm_dep_landing l = {d->p, *side, carried, n0};
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_land_one(&l, &keys[i]));
    return ALM_OK;
}

/* Both sides of a join made independent, with their keys. */
static alm_status push_sides(const alm_dep_ctx *d, const alm_plan *join, alm_plan **left,
                             alm_plan **right, alm_exprs *carried, alm_exprs *right_carried)
{
    const uint32_t nl = (*left)->n_cols, nr = (*right)->n_cols, n = join->join.n_keys;
    ALM_TRY(alm_dep_push(d, left, carried));
    ALM_TRY(alm_dep_push(d, right, right_carried));
    ALM_TRY(land_keys(d, left, nl, carried, join->join.left_keys, n));
    return land_keys(d, right, nr, right_carried, join->join.right_keys, n);
}

/* RIGHT, FULL, SPLICE: rows of the right side stay too, so both sides carry the same. */
static alm_status push_both(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_plan *old = *plan, *left = old->child[0], *right = old->child[1], *join = NULL;
    const uint32_t nl = left->n_cols, nr = right->n_cols;
    alm_exprs rc = {0}, want = {0}, lk = {0}, rk = {0};
    alm_dep_list l;
    ALM_TRY(push_sides(d, old, &left, &right, carried, &rc));
    for (uint32_t i = 0; i < carried->n + rc.n; i++)
        ALM_TRY(
            alm_exprs_add(p->cx, &want, i < carried->n ? carried->at[i] : rc.at[i - carried->n]));
    for (uint32_t i = 0; i < old->join.n_residual; i++)
        ALM_TRY(alm_dep_gather(p->cx, old->join.residual[i], &want));
    ALM_TRY(alm_dep_ensure(d, &left, carried, &want));
    ALM_TRY(alm_dep_ensure(d, &right, &rc, &want));
    ALM_TRY(alm_plan_join(p, old->join.kind, old->pos, left, right, &join));
    join->join = old->join;
    ALM_TRY(land_join(d, join, left, carried, nl));
    for (uint32_t i = 0; i < old->join.n_keys; i++) {
        ALM_TRY(alm_exprs_add(p->cx, &lk, old->join.left_keys[i]));
        ALM_TRY(alm_exprs_add(p->cx, &rk, old->join.right_keys[i]));
    }
    ALM_TRY(alm_dep_list_new(p, join->n_cols, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, join, 0, nl));
    ALM_TRY(alm_dep_list_cols(p, &l, join, left->n_cols, left->n_cols + nr));
    for (uint32_t i = 0; i < carried->n; i++) {
        alm_expr *a = NULL, *b = NULL;
        const uint32_t at = nr + (uint32_t)alm_dep_find_outer(&rc, carried->at[i]);
        ALM_TRY(add_key_pair(p, left, nl + i, right, at, &lk, &rk));
        ALM_TRY(alm_dep_col_of(p, join, nl + i, &a));
        ALM_TRY(alm_dep_col_of(p, join, left->n_cols + at, &b));
        if (old->join.kind != ALM_JOIN_RIGHT)
            ALM_TRY(alm_dep_unless_null(p, a, b, a, &b));
        alm_dep_list_add(&l, b);
    }
    join->join.left_keys = lk.at;
    join->join.right_keys = rk.at;
    join->join.n_keys = lk.n;
    return alm_plan_project(p, join, l.exprs, l.names, l.n, plan);
}

typedef struct moving {
    alm_ctx *cx;
    const uint32_t *map;
} moving;

static alm_status move_one(void *arg, alm_expr **e)
{
    const moving *m = arg;
    return alm_expr_renumber(m->cx, *e, m->map, e);
}

alm_status alm_dep_push_window_join(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_plan *node = *plan;
    const uint32_t nl = node->child[0]->n_cols, nr = node->child[1]->n_cols;
    alm_exprs rc = {0}, want = {0}, lk = {0}, rk = {0};
    alm_dep_gathering g = {p->cx, &want, ALM_OK};
    uint32_t *map = NULL;
    ALM_TRY(alm_dep_push(d, &node->child[0], carried));
    ALM_TRY(alm_dep_push(d, &node->child[1], &rc));
    for (uint32_t i = 0; i < rc.n; i++)
        ALM_TRY(alm_exprs_add(p->cx, &want, rc.at[i]));
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, alm_dep_gather_one, &g));
    ALM_TRY(alm_dep_ensure(d, &node->child[0], carried, &want));
    const alm_plan *left = node->child[0], *right = node->child[1];
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + nr + 1, &map));
    for (uint32_t c = 0; c < nl + nr; c++)
        map[c] = c < nl ? c : c + left->n_cols - nl;
    moving m = {p->cx, map};
    alm_dep_landing l = {p, left, carried, nl};
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, move_one, &m));
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, alm_dep_land_one, &l));
    for (uint32_t i = 0; i < node->winjoin.n_keys; i++) {
        ALM_TRY(alm_exprs_add(p->cx, &lk, node->winjoin.left_keys[i]));
        ALM_TRY(alm_exprs_add(p->cx, &rk, node->winjoin.right_keys[i]));
    }
    for (uint32_t i = 0; i < rc.n; i++)
        ALM_TRY(add_key_pair(p, left, nl + (uint32_t)alm_dep_find_outer(carried, rc.at[i]), right,
                             nr + i, &lk, &rk));
    node->winjoin.left_keys = lk.at;
    node->winjoin.right_keys = rk.at;
    node->winjoin.n_keys = lk.n;
    ALM_TRY(alm_dep_insert_cols(p, node, nl, left, nl, carried->n));
    return alm_dep_move_to_end(p, plan, nl, carried->n);
}

alm_status alm_dep_push_join(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_plan *old = *plan, *left = old->child[0], *right = old->child[1], *join = NULL;
    const uint8_t kind = old->join.kind;
    const bool one_side = kind == 'S' || kind == 'A';
    const uint32_t nl = left->n_cols, nr = right->n_cols;
    alm_exprs rc = {0}, want = {0};
    if (kind == ALM_JOIN_RIGHT || kind == ALM_JOIN_FULL || kind == ALM_JOIN_SPLICE)
        return push_both(d, plan, carried);
    ALM_TRY(push_sides(d, old, &left, &right, carried, &rc));
    for (uint32_t i = 0; i < old->join.n_residual; i++)
        ALM_TRY(alm_dep_gather(p->cx, old->join.residual[i], &want));
    for (uint32_t i = 0; i < rc.n; i++)
        if (kind != ALM_JOIN_INNER && kind != ALM_JOIN_CROSS)
            ALM_TRY(alm_exprs_add(p->cx, &want, rc.at[i]));
    ALM_TRY(alm_dep_ensure(d, &left, carried, &want));
    ALM_TRY(alm_plan_join(p, kind, old->pos, left, right, &join));
    const uint8_t joined = join->join.kind;
    join->join = old->join;
    join->join.kind = joined;
    ALM_TRY(land_join(d, join, left, carried, nl));

    alm_exprs lk = {0}, rk = {0};
    for (uint32_t i = 0; i < old->join.n_keys; i++) {
        ALM_TRY(alm_exprs_add(p->cx, &lk, old->join.left_keys[i]));
        ALM_TRY(alm_exprs_add(p->cx, &rk, old->join.right_keys[i]));
    }
    alm_dep_list l;
    ALM_TRY(alm_dep_list_new(p, join->n_cols, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, join, 0, nl));
    if (!one_side)
        ALM_TRY(alm_dep_list_cols(p, &l, join, left->n_cols, left->n_cols + nr));
    ALM_TRY(alm_dep_list_cols(p, &l, join, nl, left->n_cols));
    for (uint32_t i = 0; i < rc.n; i++) {
        const int32_t at = alm_dep_find_outer(carried, rc.at[i]);
        if (at < 0) {
            ALM_TRY(
                alm_dep_list_cols(p, &l, join, left->n_cols + nr + i, left->n_cols + nr + i + 1));
            ALM_TRY(alm_exprs_add(p->cx, carried, rc.at[i]));
            continue;
        }
        alm_expr *a = NULL, *b = NULL;
        bool ok = false;
        ALM_TRY(alm_dep_col_of(p, left, nl + (uint32_t)at, &a));
        ALM_TRY(alm_dep_col_of(p, right, nr + i, &b));
        ALM_TRY(alm_join_key_types(p, &a, &b, &ok));
        ALM_ASSERT(ok);
        ALM_TRY(alm_exprs_add(p->cx, &lk, a));
        ALM_TRY(alm_exprs_add(p->cx, &rk, b));
    }
    join->join.left_keys = lk.at;
    join->join.right_keys = rk.at;
    join->join.n_keys = lk.n;
    if (kind == ALM_JOIN_CROSS && lk.n > 0)
        join->join.kind = ALM_JOIN_INNER;
    return alm_plan_project(p, join, l.exprs, l.names, l.n, plan);
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

/* Both sides carry the same in the same order. */
alm_status alm_dep_push_setop(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *node = *plan;
    const uint32_t n = node->n_cols;
    alm_exprs own[2] = {{0}, {0}};
    for (int s = 0; s < 2; s++) {
        ALM_TRY(alm_dep_push(d, &node->child[s], &own[s]));
        for (uint32_t i = 0; i < own[s].n; i++)
            if (alm_dep_find_outer(carried, own[s].at[i]) < 0)
                ALM_TRY(alm_exprs_add(d->p->cx, carried, own[s].at[i]));
    }
    for (int s = 0; s < 2; s++)
        ALM_TRY(alm_dep_align(d, &node->child[s], n, &own[s], carried));
    node->cols = node->child[0]->cols;
    node->n_cols = node->child[0]->n_cols;
    return ALM_OK;
}
