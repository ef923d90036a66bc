/*
 * horizon.c - t HORIZON JOIN q ON ... RANGE FROM a TO b STEP c AS h: each row of t once for each
 * offset, beside the row of q that prevails at its time plus the offset. A HORIZON node makes the rows,
 * with the columns offset and timestamp of h; the joins are ASOF joins by that time (from.c).
 */
#include "sql/bind/bind.h"

enum { OFFSETS_MAX = 10000 };

alm_status alm_bind_duration(alm_planner *planner, const alm_ast *ast, alm_type ts_type,
                             const char *what, int64_t *out)
{
    const int64_t us = ts_type.id == ALM_T_TIMESTAMP_NS ? 1000 : 1;
    int64_t count = 0;
    size_t i = 0;
    const alm_str text = ast->text;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        if (count < INT32_MAX)
            count = count * 10 + (text.ptr[i] - '0');
    const char unit = i + 1 == text.len ? text.ptr[i] : '?';
    static const struct {
        char unit;
        int64_t us;
    } units[] = {{'U', 1},        {'u', 1},          {'T', 1000},        {'s', 1000000},
                 {'m', 60000000}, {'h', 3600000000}, {'d', 86400000000}, {'w', 604800000000}};
    *out = 0;
    if (i == text.len && i > 0 && count == 0)
        return ALM_OK; /* 0 needs no unit */
    if (unit == 'n' && i > 0) {
        *out = us == 1 ? count / 1000 : count;
        return ALM_OK;
    }
    for (size_t k = 0; i > 0 && k < ALM_COUNT(units); k++) {
        if (units[k].unit != unit)
            continue;
        if (__builtin_mul_overflow(count, units[k].us * us, out))
            return alm_fail(planner->cx, ALM_E_RANGE, ast->pos, "%s value too high", what);
        return ALM_OK;
    }
    return alm_fail(planner->cx, ALM_E_ARG, ast->pos, "unsupported %s unit [unit=%.*s]", what,
                    (int)(text.len - i), text.ptr + i);
}

static alm_status offset_at(alm_planner *planner, const alm_horizon *horizon, uint32_t i,
                            alm_type ts_type, int64_t *out)
{
    ALM_TRY(alm_bind_duration(planner, horizon->value[i], ts_type, "HORIZON offset", out));
    if (horizon->negative[i])
        *out = -*out;
    return ALM_OK;
}

static alm_status too_many(alm_planner *planner, int32_t pos)
{
    return alm_fail(planner->cx, ALM_E_LIMIT, pos, "too many offsets in a HORIZON JOIN (limit %d)",
                    OFFSETS_MAX);
}

static alm_status list_offsets(alm_planner *planner, const alm_horizon *horizon, alm_type ts_type,
                               int64_t *out)
{
    for (uint32_t i = 0; i < horizon->n; i++) {
        ALM_TRY(offset_at(planner, horizon, i, ts_type, &out[i]));
        if (i > 0 && out[i] <= out[i - 1])
            return alm_fail(planner->cx, ALM_E_ARG, horizon->value[i]->pos,
                            "offsets of a HORIZON JOIN must be increasing");
    }
    return ALM_OK;
}

static alm_status make_offsets(alm_planner *planner, const alm_horizon *horizon, alm_type ts_type,
                               alm_plan *node)
{
    int64_t lo = 0, hi = 0, step = 0, span = 0;
    if (horizon->list) {
        if (horizon->n > OFFSETS_MAX)
            return too_many(planner, horizon->pos);
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, horizon->n, &node->horizon.offset));
        node->horizon.n_offsets = horizon->n;
        return list_offsets(planner, horizon, ts_type, node->horizon.offset);
    }
    ALM_TRY(offset_at(planner, horizon, 0, ts_type, &lo));
    ALM_TRY(offset_at(planner, horizon, 1, ts_type, &hi));
    ALM_TRY(offset_at(planner, horizon, 2, ts_type, &step));
    if (step <= 0)
        return alm_fail(planner->cx, ALM_E_ARG, horizon->value[2]->pos, "STEP must be positive");
    if (hi < lo)
        return alm_fail(planner->cx, ALM_E_ARG, horizon->value[1]->pos,
                        "FROM must not be behind TO");
    if (__builtin_sub_overflow(hi, lo, &span) || span / step >= OFFSETS_MAX)
        return too_many(planner, horizon->pos);
    node->horizon.n_offsets = (uint32_t)(span / step) + 1;
    ALM_TRY(
        ALM_NEWN(planner->cx, planner->cx->arena, node->horizon.n_offsets, &node->horizon.offset));
    for (uint32_t i = 0; i < node->horizon.n_offsets; i++)
        node->horizon.offset[i] = lo + (int64_t)i * step;
    return ALM_OK;
}

alm_status alm_bind_horizon(alm_scope *scope, const alm_from *from, uint32_t n_from)
{
    alm_planner *planner = scope->p;
    alm_plan *node = NULL;
    const alm_horizon *horizon = NULL;
    if (scope->window_join != NULL)
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, from->join_pos,
                        "no join can follow a WINDOW JOIN: put it into a subquery");
    for (uint32_t i = 0; i < n_from && from[i].join == ALM_JOIN_HORIZON; i++)
        horizon = from[i].horizon;
    if (horizon == NULL)
        return alm_fail(planner->cx, ALM_E_SYNTAX, from->join_pos, "'range' or 'list' expected");
    if (scope->plan->ts_col < 0)
        return alm_fail(planner->cx, ALM_E_TYPE, from->join_pos,
                        "left side of time series join has no timestamp");
    ALM_TRY(alm_plan_order_by_ts(planner, &scope->plan, (uint32_t)scope->plan->ts_col));
    const alm_plan *left = scope->plan;
    const uint32_t n_cols = left->n_cols;
    const alm_type ts_type = left->cols[left->ts_col].type;
    ALM_TRY(alm_plan_new(planner, ALM_P_HORIZON, from->join_pos, scope->plan, &node));
    ALM_TRY(make_offsets(planner, horizon, ts_type, node));
    node->horizon.ts_col = (uint32_t)left->ts_col;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 2, &node->cols));
    memcpy(node->cols, left->cols, n_cols * sizeof *node->cols);
    node->cols[n_cols] = (alm_plan_col){"offset", ALM_TY(LONG)};
    node->cols[n_cols + 1] = (alm_plan_col){"timestamp", ts_type};
    node->n_cols = n_cols + 2;
    node->ts_col = (int32_t)n_cols + 1;
    node->order = ALM_ORDER_NONE;
    scope->plan = node;
    scope->lane_col = n_cols;
    alm_plan shape = {.cols = node->cols + n_cols, .n_cols = 2};
    ALM_TRY(alm_scope_add(scope, horizon->alias, NULL, &shape, n_cols));
    alm_rel *rel = &scope->rels[scope->n_rels - 1]; /* by h.offset only, and not in * */
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 3, &rel->hidden));
    rel->hidden[0] = rel->hidden[1] = true;
    return ALM_OK;
}
