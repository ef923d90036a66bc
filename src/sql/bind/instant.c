/*
 * instant.c - times beside constant times of another unit, and texts: compared as if each had unlimited range
 * and every digit.
 *
 * Constants   become times of the column's unit, so that scans compare what is stored and times become intervals. One
 *             that lies between two of them, or beyond all, moves to its neighbour, and the comparison with it:
 *             x < 00.0000005 is x <= 00.000000 in microseconds, x < 9999-12-31 is x <= the last of nanoseconds.
 * Null rule   A comparison that all times pass stays one, which null does not pass, neither way round: `not` turns it
 *             around (alm_expr_not).
 */
#include "sql/bind/bind.h"
#include "sql/node/walk.h"
#include "time/interval.h"
#include "type/ops.h"

#define TIME_MIN (ALM_TS_NULL + 1)

static bool instant_is_time(alm_type type)
{
    return alm_type_info_of(type)->cls == ALM_TC_TIME;
}

/* What a constant says; *is false: it is no time, or null. */
static alm_status instant_of(alm_planner *planner, const alm_expr *expr, bool *is, alm_instant *out)
{
    int64_t ticks = 0;
    alm_str text = {0};
    *is = false;
    if (expr->kind != ALM_X_CONST || alm_expr_is_null(expr))
        return ALM_OK;
    if (instant_is_time(expr->type)) {
        *is = alm_expr_int(expr, &ticks);
        *out = alm_instant_of(ticks, alm_type_unit(expr->type));
        return ALM_OK;
    }
    if (!alm_type_is_text(expr->type))
        return ALM_OK;
    ALM_TRY(alm_expr_string(planner->cx, expr, is, &text));
    *is = *is && alm_instant_parse(text, out);
    return ALM_OK;
}

alm_status alm_bind_exact_time(alm_planner *planner, alm_expr *expr, alm_type target, bool *is,
                               bool *exact, alm_expr **out)
{
    alm_instant at = {0};
    int64_t ticks = 0;
    *out = expr;
    *exact = false;
    ALM_TRY(instant_of(planner, expr, is, &at));
    if (!*is || alm_instant_place(&at, alm_type_unit(target), &ticks, exact) != 0 || !*exact)
        return ALM_OK;
    ALM_TRY(alm_expr_bits(planner->cx, target, (uint64_t)ticks, expr->pos, out));
    (*out)->stable_only = expr->stable_only;
    return ALM_OK;
}

/* x op' ticks, where no time of the type of x is the constant: below are those up to `floor`. */
static alm_status beside_neighbour(alm_planner *planner, const char *op, int32_t pos,
                                   alm_expr *expr, int32_t place, int64_t floor, alm_expr **out)
{
    const bool less = op[0] == '<', greater = op[0] == '>';
    if ((less && op[1] == '>') || !(less || greater))
        return alm_expr_bool(planner->cx, op[0] != '=', pos, out);
    /* before the first time there is none that is less */
    const char *turned = place < 0 ? (less ? "<" : ">=") : (less ? "<=" : ">");
    alm_expr *args[2] = {expr, NULL};
    ALM_TRY(alm_expr_bits(planner->cx, expr->type, (uint64_t)floor, pos, &args[1]));
    return alm_expr_call(planner, turned, pos, args, 2, out);
}

/* x op c; *out NULL: c is no time, or one of those that x may be. */
static alm_status compare_with(alm_planner *planner, const char *op, int32_t pos, alm_expr *expr,
                               const alm_expr *c, alm_expr **out)
{
    bool is = false, exact = false;
    alm_instant at = {0};
    int64_t floor = 0;
    ALM_TRY(instant_of(planner, c, &is, &at));
    if (!is)
        return ALM_OK;
    const int32_t place = alm_instant_place(&at, alm_type_unit(expr->type), &floor, &exact);
    if (exact)
        return ALM_OK;
    ALM_TRY(beside_neighbour(planner, op, pos, expr, place, floor, out));
    (*out)->stable_only |= c->stable_only;
    return ALM_OK;
}

alm_status alm_bind_time_compare(alm_planner *planner, const char *op, int32_t pos, alm_expr *a,
                                 alm_expr *b, alm_expr **out)
{
    static const char *const mirrored[][2] = {{"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="}};
    *out = NULL;
    if (instant_is_time(a->type) && !alm_type_eq(a->type, b->type))
        ALM_TRY(compare_with(planner, op, pos, a, b, out));
    if (*out != NULL || !instant_is_time(b->type) || alm_type_eq(a->type, b->type))
        return ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(mirrored); i++)
        if (strcmp(op, mirrored[i][0]) == 0)
            return compare_with(planner, mirrored[i][1], pos, b, a, out);
    return compare_with(planner, op, pos, b, a, out);
}

alm_status alm_bind_time_range(alm_planner *planner, const alm_expr *expr, const alm_expr *lo,
                               const alm_expr *hi, bool *is, alm_time_range *out)
{
    alm_instant a = {0}, b = {0};
    bool is_a = false, is_b = false, exact_a = false, exact_b = false;
    *is = false;
    if (!instant_is_time(expr->type))
        return ALM_OK;
    ALM_TRY(instant_of(planner, lo, &is_a, &a));
    ALM_TRY(instant_of(planner, hi, &is_b, &b));
    if (!is_a || !is_b)
        return ALM_OK;
    if (alm_instant_cmp(&a, &b) > 0) {
        const alm_instant swap = a;
        a = b;
        b = swap;
    }
    const int32_t from = alm_instant_place(&a, alm_type_unit(expr->type), &out->lo, &exact_a);
    const int32_t to = alm_instant_place(&b, alm_type_unit(expr->type), &out->hi, &exact_b);
    *is = true;
    if (from > 0 || to < 0)
        *out = (alm_time_range){1, 0};
    else if (from == 0 && !exact_a)
        out->lo++;
    return ALM_OK;
}

/* Drivers write them for the ends of their calendars. Nanoseconds end so near that others follow them. */
alm_status alm_bind_infinity(alm_planner *planner, const alm_expr *expr, alm_type target,
                             alm_expr **out)
{
    bool is_text = false;
    alm_str text = {0};
    *out = NULL;
    if ((target.id != ALM_T_TIMESTAMP && target.id != ALM_T_DATE) || !alm_type_is_text(expr->type))
        return ALM_OK;
    ALM_TRY(alm_expr_string(planner->cx, expr, &is_text, &text));
    const int8_t sign = is_text ? alm_time_infinity(text) : 0;
    if (sign == 0)
        return ALM_OK;
    const int64_t end = sign > 0 ? INT64_MAX : TIME_MIN;
    return alm_expr_bits(planner->cx, target, (uint64_t)end, expr->pos, out);
}

bool alm_is_infinity(const alm_expr *expr)
{
    int64_t ticks = 0;
    return instant_is_time(expr->type) && expr->type.id != ALM_T_TIMESTAMP_NS &&
           alm_expr_int(expr, &ticks) && (ticks == INT64_MAX || ticks == TIME_MIN);
}

/* ------------------------------------------------------------------- stored */

static bool has_infinity(const alm_expr *expr)
{
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (expr->args[i] != NULL && has_infinity(expr->args[i]))
            return true;
    return alm_is_infinity(expr);
}

static alm_status instant_look(void *arg, alm_expr **expr)
{
    bool *found = arg;
    *found |= has_infinity(*expr);
    return ALM_OK;
}

/* May a row of the query have one? Only a constant makes them. */
static alm_status makes_infinity(alm_plan *plan, bool *found)
{
    *found |=
        plan->op == ALM_P_VALUES && plan->values.vecs != NULL; /* constants that are computed */
    ALM_TRY(alm_plan_exprs(plan, instant_look, found));
    for (uint32_t i = 0; i < plan->n_children && !*found; i++)
        ALM_TRY(makes_infinity(plan->child[i], found));
    if (plan->op == ALM_P_SHARED && !*found)
        ALM_TRY(makes_infinity(plan->shared.of->child[0], found));
    return ALM_OK;
}

alm_status alm_plan_finite_times(alm_planner *planner, int32_t designated, alm_plan **plan)
{
    alm_plan *child = *plan;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    bool found = false, times = false;
    for (uint32_t i = 0; i < child->n_cols; i++)
        times |= child->cols[i].type.id == ALM_T_TIMESTAMP || child->cols[i].type.id == ALM_T_DATE;
    if (times)
        ALM_TRY(makes_infinity(child, &found));
    if (!found)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols + 1, &names));
    for (uint32_t i = 0; i < child->n_cols; i++) {
        const alm_type type = child->cols[i].type;
        names[i] = child->cols[i].name;
        ALM_TRY(alm_expr_col(planner->cx, i, type, child->pos, &exprs[i]));
        const bool checked = type.id == ALM_T_TIMESTAMP && (int32_t)i == designated;
        if (checked || (type.id != ALM_T_TIMESTAMP && type.id != ALM_T_DATE))
            continue;
        alm_expr *args[1] = {exprs[i]};
        ALM_TRY(alm_expr_call(planner, "=>finite", child->pos, args, 1, &exprs[i]));
    }
    return alm_plan_project(planner, child, exprs, names, child->n_cols, plan);
}
