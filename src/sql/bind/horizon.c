/*
 * horizon.c - t HORIZON JOIN q ON ... RANGE FROM a TO b STEP c AS h: each row of t once for each
 * offset, beside the row of q that prevails at its time plus the offset. A HORIZON node makes the rows,
 * with the columns offset and timestamp of h; the joins are ASOF joins by that time (from.c).
 */
#include "sql/bind/bind.h"

enum { OFFSETS_MAX = 10000 };

alm_status alm_bind_duration(alm_planner *p, const alm_ast *ast, alm_type ts, const char *what,
                             int64_t *out)
{
    const int64_t us = ts.id == ALM_T_TIMESTAMP_NS ? 1000 : 1;
    int64_t count = 0;
    size_t i = 0;
    const alm_str t = ast->text;
    for (; i < t.len && t.ptr[i] >= '0' && t.ptr[i] <= '9'; i++)
        if (count < INT32_MAX)
            count = count * 10 + (t.ptr[i] - '0');
    const char unit = i + 1 == t.len ? t.ptr[i] : '?';
    static const struct {
        char unit;
        int64_t us;
    } units[] = {{'U', 1},        {'u', 1},          {'T', 1000},        {'s', 1000000},
                 {'m', 60000000}, {'h', 3600000000}, {'d', 86400000000}, {'w', 604800000000}};
    *out = 0;
    if (i == t.len && i > 0 && count == 0)
        return ALM_OK; /* 0 needs no unit */
    if (unit == 'n' && i > 0) {
        *out = us == 1 ? count / 1000 : count;
        return ALM_OK;
    }
    for (size_t k = 0; i > 0 && k < ALM_COUNT(units); k++) {
        if (units[k].unit != unit)
            continue;
        if (__builtin_mul_overflow(count, units[k].us * us, out))
            return alm_fail(p->cx, ALM_E_RANGE, ast->pos, "%s value too high", what);
        return ALM_OK;
    }
    return alm_fail(p->cx, ALM_E_ARG, ast->pos, "unsupported %s unit [unit=%.*s]", what,
                    (int)(t.len - i), t.ptr + i);
}

static alm_status offset_at(alm_planner *p, const alm_horizon *h, uint32_t i, alm_type ts,
                            int64_t *out)
{
    ALM_TRY(alm_bind_duration(p, h->value[i], ts, "HORIZON offset", out));
    if (h->negative[i])
        *out = -*out;
    return ALM_OK;
}

static alm_status too_many(alm_planner *p, int32_t pos)
{
    return alm_fail(p->cx, ALM_E_LIMIT, pos, "too many offsets in a HORIZON JOIN (limit %d)",
                    OFFSETS_MAX);
}

static alm_status list_offsets(alm_planner *p, const alm_horizon *h, alm_type ts, int64_t *out)
{
    for (uint32_t i = 0; i < h->n; i++) {
        ALM_TRY(offset_at(p, h, i, ts, &out[i]));
        if (i > 0 && out[i] <= out[i - 1])
            return alm_fail(p->cx, ALM_E_ARG, h->value[i]->pos,
                            "offsets of a HORIZON JOIN must be increasing");
    }
    return ALM_OK;
}

static alm_status make_offsets(alm_planner *p, const alm_horizon *h, alm_type ts, alm_plan *node)
{
    int64_t lo = 0, hi = 0, step = 0, span = 0;
    if (h->list) {
        if (h->n > OFFSETS_MAX)
            return too_many(p, h->pos);
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, h->n, &node->horizon.offset));
        node->horizon.n_offsets = h->n;
        return list_offsets(p, h, ts, node->horizon.offset);
    }
    ALM_TRY(offset_at(p, h, 0, ts, &lo));
    ALM_TRY(offset_at(p, h, 1, ts, &hi));
    ALM_TRY(offset_at(p, h, 2, ts, &step));
    if (step <= 0)
        return alm_fail(p->cx, ALM_E_ARG, h->value[2]->pos, "STEP must be positive");
    if (hi < lo)
        return alm_fail(p->cx, ALM_E_ARG, h->value[1]->pos, "FROM must not be behind TO");
    if (__builtin_sub_overflow(hi, lo, &span) || span / step >= OFFSETS_MAX)
        return too_many(p, h->pos);
    node->horizon.n_offsets = (uint32_t)(span / step) + 1;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, node->horizon.n_offsets, &node->horizon.offset));
    for (uint32_t i = 0; i < node->horizon.n_offsets; i++)
        node->horizon.offset[i] = lo + (int64_t)i * step;
    return ALM_OK;
}

alm_status alm_bind_horizon(alm_scope *sc, const alm_from *from, uint32_t n_from)
{
    alm_planner *p = sc->p;
    alm_plan *node = NULL;
    const alm_horizon *h = NULL;
    if (sc->window_join != NULL)
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, from->join_pos,
                        "no join can follow a WINDOW JOIN: put it into a subquery");
    for (uint32_t i = 0; i < n_from && from[i].join == ALM_JOIN_HORIZON; i++)
        h = from[i].horizon;
    if (h == NULL)
        return alm_fail(p->cx, ALM_E_SYNTAX, from->join_pos, "'range' or 'list' expected");
    if (sc->plan->ts_col < 0)
        return alm_fail(p->cx, ALM_E_TYPE, from->join_pos,
                        "left side of time series join has no timestamp");
    ALM_TRY(alm_plan_order_by_ts(p, &sc->plan, (uint32_t)sc->plan->ts_col));
    const alm_plan *left = sc->plan;
    const uint32_t n = left->n_cols;
    const alm_type ts = left->cols[left->ts_col].type;
    ALM_TRY(alm_plan_new(p, ALM_P_HORIZON, from->join_pos, sc->plan, &node));
    ALM_TRY(make_offsets(p, h, ts, node));
    node->horizon.ts_col = (uint32_t)left->ts_col;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 2, &node->cols));
    memcpy(node->cols, left->cols, n * sizeof *node->cols);
    node->cols[n] = (alm_plan_col){"offset", ALM_TY(LONG)};
    node->cols[n + 1] = (alm_plan_col){"timestamp", ts};
    node->n_cols = n + 2;
    node->ts_col = (int32_t)n + 1;
    node->order = ALM_ORDER_NONE;
    sc->plan = node;
    sc->lane_col = n;
    alm_plan shape = {.cols = node->cols + n, .n_cols = 2};
    ALM_TRY(alm_scope_add(sc, h->alias, NULL, &shape, n));
    alm_rel *rel = &sc->rels[sc->n_rels - 1]; /* by h.offset only, and not in * */
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 3, &rel->hidden));
    rel->hidden[0] = rel->hidden[1] = true;
    return ALM_OK;
}
