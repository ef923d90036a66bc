/*
 * predicate.c - comparisons, IN, BETWEEN, IS NULL: constants take the type of what they are
 * compared with, so that columns are read as they are stored and times become intervals.
 */
#include "sql/bind/bind.h"
#include "time/interval.h"
#include "time/timestamp.h"
#include "type/ops.h"
#include "type/text.h"

static bool predicate_is_time(alm_type type)
{
    return alm_type_info_of(type)->cls == ALM_TC_TIME;
}
static bool predicate_is_int(alm_type type)
{
    return alm_type_info_of(type)->cls == ALM_TC_INTEGER;
}
static bool predicate_is_number(alm_type type)
{
    return predicate_is_int(type) || type.id == ALM_T_FLOAT || type.id == ALM_T_DOUBLE;
}
static bool predicate_is_texty(alm_type type)
{
    return alm_type_is_text(type) || type.id == ALM_T_CHAR;
}

static bool int_fits(int64_t value, alm_type type)
{
    switch ((int)type.id) {
    case ALM_T_BYTE:
        return value >= INT8_MIN && value <= INT8_MAX;
    case ALM_T_SHORT:
        return value >= INT16_MIN && value <= INT16_MAX;
    case ALM_T_INT:
        return value > INT32_MIN && value <= INT32_MAX;
    default:
        return false;
    }
}

/* 't', 'false' and such where a BOOLEAN is compared with them; any other text stays one. */
static alm_status bool_of_text(alm_planner *planner, const alm_expr *expr, alm_expr **out)
{
    bool is_text = false, value = false;
    alm_str text = {0};
    ALM_TRY(alm_expr_string(planner->cx, expr, &is_text, &text));
    if (!is_text || text.len == 0 || alm_value_scan(ALM_TY(BOOLEAN), text, &value) != ALM_SCAN_OK)
        return ALM_OK;
    return alm_expr_bool(planner->cx, value, expr->pos, out);
}

alm_status alm_bind_condition(alm_planner *planner, alm_expr **expr, int32_t pos)
{
    ALM_TRY(alm_param_infer(planner, expr, ALM_TY(BOOLEAN)));
    ALM_TRY(bool_of_text(planner, *expr, expr));
    if ((*expr)->type.id != ALM_T_BOOLEAN)
        return alm_fail(planner->cx, ALM_E_TYPE, pos, "boolean expression expected");
    return ALM_OK;
}

/* Gives the constant expr the type of `with` where its value can be said in it. */
static alm_status adapt(alm_planner *planner, alm_expr **expr, const alm_expr *with, bool equality)
{
    alm_expr *e = *expr;
    const alm_type target = with->type;
    if (alm_expr_unknown(e))
        return alm_param_infer(planner, expr,
                               alm_expr_may_exceed(with) ? ALM_TY(LONG) : alm_type_beside(with));
    if (e->kind != ALM_X_CONST || alm_type_eq(e->type, target) || target.id == ALM_T_NONE ||
        target.id == ALM_T_NULL)
        return ALM_OK;
    if (e->type.id == ALM_T_NULL)
        return ALM_OK;
    if (predicate_is_texty(e->type)) {
        if (target.id == ALM_T_BOOLEAN)
            return bool_of_text(planner, e, expr);
        if (predicate_is_time(target))
            return alm_bind_time(planner, e, target, equality, expr);
        if (predicate_is_number(target) || alm_type_written(target) != ALM_WRITTEN_BY_CLASS)
            return alm_expr_cast(planner, e, target, ALM_CAST_IMPLICIT, expr);
        if (alm_type_is_text(target) && e->type.id == ALM_T_CHAR)
            return alm_expr_cast(planner, e, ALM_TY(STRING), ALM_CAST_EXPLICIT, expr);
        return ALM_OK;
    }
    int64_t value = 0;
    if (predicate_is_int(e->type) && alm_expr_int(e, &value)) {
        if (predicate_is_int(target) && int_fits(value, target))
            return alm_expr_bits(planner->cx, target, (uint64_t)value, e->pos, expr);
        if (predicate_is_time(target) && (e->type.id == ALM_T_INT || e->type.id == ALM_T_LONG))
            return alm_expr_bits(planner->cx, target, (uint64_t)value, e->pos, expr);
        return ALM_OK;
    }
    bool is = false, exact = false;
    return predicate_is_time(target) ? alm_bind_exact_time(planner, e, target, &is, &exact, expr)
                                     : ALM_OK;
}

static alm_status in_interval(alm_planner *planner, alm_expr *ts, alm_expr *text, int32_t pos,
                              alm_expr **out);

/* designated timestamp != 'text': the text is an interval here, as in NOT IN (the dialect's way). */
static bool is_not_in(const alm_scope *scope, const char *op, const alm_expr *a, const alm_expr *b)
{
    return (op[0] == '!' || op[1] == '>') && scope->plan != NULL && scope->plan->ts_col >= 0 &&
           a->kind == ALM_X_COL && a->col == (uint32_t)scope->plan->ts_col &&
           predicate_is_time(a->type) && b->kind == ALM_X_CONST && alm_type_is_text(b->type) &&
           !alm_expr_is_null(b);
}

/* Could a parameter make it such a one? */
static bool is_not_in_either(const alm_expr *a, const char *op)
{
    return (op[0] == '!' || op[1] == '>') && predicate_is_time(a->type);
}

/* Does a DOUBLE hold all values of it, one by one? */
static bool is_exact_double(const alm_expr *expr)
{
    const int64_t most = INT64_C(1) << 53;
    int64_t value = 0;
    if (expr->type.id == ALM_T_LONG)
        return alm_expr_int(expr, &value) && value >= -most && value <= most;
    return predicate_is_int(expr->type);
}

/* The type that texts beside a value of `type` are read as, NONE: the operator knows. A DECIMAL has room for its own digits and
 * for more behind the point. */
static alm_type read_as(alm_type type)
{
    enum { PLACES = 18 };
    if (type.id != ALM_T_DECIMAL)
        return type.id == ALM_T_GEOHASH ? type : ALM_TY(NONE);
    const uint32_t whole = (uint32_t)type.p - type.s, most = ALM_DECIMAL_DIGITS_MAX - whole;
    return alm_type_decimal(ALM_DECIMAL_DIGITS_MAX,
                            ALM_MIN(most, ALM_MAX((uint32_t)type.s, (uint32_t)PLACES)));
}

/* Texts of a column beside a number are numbers, whatever number they say: beside 10 the text 1.5 is less. A SYMBOL is a text
 * here, which as an argument of functions it is not. */
static alm_status predicate_read_texts(alm_planner *planner, alm_expr **text, alm_expr **number)
{
    const alm_type type = (*number)->type, as = read_as(type);
    if (!predicate_is_texty((*text)->type) || (*text)->kind == ALM_X_CONST ||
        (*text)->kind == ALM_X_PARAM)
        return ALM_OK;
    if (as.id != ALM_T_NONE)
        return alm_expr_cast(planner, *text, as, ALM_CAST_IMPLICIT, text);
    if (is_exact_double(*number) && alm_type_is_text((*text)->type))
        ALM_TRY(alm_expr_cast(planner, *number, ALM_TY(DOUBLE), ALM_CAST_EXPLICIT, number));
    if ((*text)->type.id == ALM_T_SYMBOL && (predicate_is_number(type) || type.id == ALM_T_LONG256))
        return alm_expr_cast(planner, *text, ALM_TY(STRING), ALM_CAST_EXPLICIT, text);
    return ALM_OK;
}

alm_status alm_bind_compare(alm_scope *scope, const char *op, int32_t pos, alm_expr *a, alm_expr *b,
                            alm_expr **out)
{
    const bool equality = op[0] == '=' || op[0] == '!' || op[1] == '>';
    if (alm_is_open(scope->p, (alm_expr *[]){a, b}, 2) && !is_not_in_either(a, op))
        return alm_open_test(scope->p, ALM_OPEN_COMPARE, op, pos, (alm_expr *[]){a, b}, 2, out);
    if (equality && (alm_expr_is_null(a) || alm_expr_is_null(b)) && !alm_expr_unknown(a) &&
        !alm_expr_unknown(b))
        return alm_expr_null_test(scope->p, alm_expr_is_null(b) ? a : b, op[0] != '=', pos, out);
    if (is_not_in(scope, op, a, b)) {
        ALM_TRY(in_interval(scope->p, a, b, pos, out));
        return alm_expr_call(scope->p, "not", pos, out, 1, out);
    }
    ALM_TRY(alm_bind_time_compare(scope->p, op, pos, a, b, out));
    if (*out != NULL)
        return ALM_OK;
    ALM_TRY(adapt(scope->p, &b, a, equality));
    ALM_TRY(adapt(scope->p, &a, b, equality));
    ALM_TRY(predicate_read_texts(scope->p, &a, &b));
    ALM_TRY(predicate_read_texts(scope->p, &b, &a));
    alm_expr *args[2] = {a, b};
    ALM_TRY(alm_widen_ints(scope->p, args, 2));
    return alm_expr_compare(scope->p, op, pos, args, out);
}

/* ------------------------------------------------------------------ intervals */

static alm_status range_test(alm_planner *planner, alm_expr *ts, const alm_time_range *range,
                             int32_t pos, alm_expr **out)
{
    alm_expr *lo[2] = {ts, NULL}, *hi[2] = {ts, NULL}, *both[2] = {NULL, NULL};
    ALM_TRY(alm_expr_bits(planner->cx, ts->type, (uint64_t)range->lo, pos, &lo[1]));
    if (range->lo == range->hi)
        return alm_expr_call(planner, "=", pos, lo, 2, out);
    ALM_TRY(alm_expr_bits(planner->cx, ts->type, (uint64_t)range->hi, pos, &hi[1]));
    ALM_TRY(alm_expr_call(planner, ">=", pos, lo, 2, &both[0]));
    ALM_TRY(alm_expr_call(planner, "<=", pos, hi, 2, &both[1]));
    return alm_expr_call(planner, "and", pos, both, 2, out);
}

enum { RANGES_AS_COMPARISONS = 32 }; /* more of them are one call */

static alm_status ranges_test(alm_planner *planner, alm_expr *ts, const alm_time_range *items,
                              uint32_t n, int32_t pos, alm_expr **out)
{
    if (n == 0)
        return alm_expr_bool(planner->cx, false, pos, out);
    if (n == 1)
        return range_test(planner, ts, items, pos, out);
    alm_expr *sides[2] = {NULL, NULL};
    ALM_TRY(ranges_test(planner, ts, items, n / 2, pos, &sides[0]));
    ALM_TRY(ranges_test(planner, ts, items + n / 2, n - n / 2, pos, &sides[1]));
    return alm_expr_call(planner, "or", pos, sides, 2, out);
}

/* What a text of digits means behind IN: all of the day 20231114, or one moment. */
static bool digits_range(alm_str text, alm_time_unit unit, alm_time_range *out)
{
    alm_instant
        instant; /* '1677' is a year, also where it begins before the first time of the unit */
    int64_t at = 0;
    if (alm_instant_parse(text, &instant) || !alm_time_read(text, unit, &at))
        return false;
    const bool day = alm_time_is_compact_day(text);
    *out = (alm_time_range){at, at};
    if (day &&
        __builtin_add_overflow(at, ALM_SECONDS_PER_DAY * alm_time_second(unit) - 1, &out->hi))
        out->hi = INT64_MAX; /* the last day that has a beginning */
    return true;
}

static alm_status in_interval(alm_planner *planner, alm_expr *ts, alm_expr *text, int32_t pos,
                              alm_expr **out)
{
    bool is_text = false;
    alm_str s = {0};
    alm_time_range range;
    ALM_TRY(alm_expr_string(planner->cx, text, &is_text, &s));
    if (digits_range(s, alm_type_unit(ts->type), &range))
        return range_test(planner, ts, &range, pos, out);
    if (memchr(s.ptr, '$', s.len) != NULL)
        alm_use_once(planner); /* $now, $today ... */
    alm_time_ranges set = {0};
    ALM_TRY(alm_interval_parse(planner->cx, planner->cx->arena, s, alm_type_unit(ts->type),
                               planner->cx->now_ns, text->pos, &set));
    if (set.n <= RANGES_AS_COMPARISONS)
        return ranges_test(planner, ts, set.items, set.n, pos, out);
    alm_expr *args[2] = {ts, text};
    return alm_expr_call(planner, "in interval", pos, args, 2, out);
}

/* ------------------------------------------------------------------------ IN */

/* One value: an interval text for times, else equality. */
alm_status alm_bind_in_value(alm_scope *scope, alm_expr *expr, alm_expr *value, int32_t pos,
                             alm_expr **out)
{
    if (alm_is_open(scope->p, (alm_expr *[]){expr, value}, 2))
        return alm_open_test(scope->p, ALM_OPEN_IN_VALUE, NULL, pos, (alm_expr *[]){expr, value}, 2,
                             out);
    if (value->type.id == ALM_T_INTERVAL && predicate_is_texty(expr->type))
        ALM_TRY(alm_bind_time(scope->p, expr, ALM_TY(TIMESTAMP), true, &expr));
    if (predicate_is_time(expr->type)) {
        if (alm_expr_unknown(value))
            ALM_TRY(alm_param_infer(scope->p, &value, ALM_TY(STRING)));
        if (value->kind == ALM_X_PARAM &&
            predicate_is_texty(value->type)) /* describing: any boolean */
            return alm_expr_bool(scope->p->cx, true, pos, out);
        if (value->kind == ALM_X_CONST && predicate_is_texty(value->type) &&
            !alm_expr_is_null(value))
            return in_interval(scope->p, expr, value, pos, out);
        if (value->type.id == ALM_T_BOOLEAN)
            return alm_fail(scope->p->cx, ALM_E_TIME, value->pos, "Invalid date");
        if (value->type.id == ALM_T_INTERVAL) {
            alm_expr *args[2] = {expr, value};
            return alm_expr_call(scope->p, "in", pos, args, 2, out);
        }
    }
    return alm_bind_compare(scope, "=", pos, expr, value, out);
}

/* One test or the other, balanced. */
static alm_status in_any(alm_scope *scope, const char *op, alm_expr *expr, alm_expr *const *value,
                         uint32_t n, int32_t pos, alm_expr **out)
{
    alm_expr *sides[2] = {NULL, NULL};
    if (n > 1) {
        ALM_TRY(in_any(scope, op, expr, value, n / 2, pos, &sides[0]));
        ALM_TRY(in_any(scope, op, expr, value + n / 2, n - n / 2, pos, &sides[1]));
        return alm_expr_call(scope->p, "or", pos, sides, 2, out);
    }
    if (value[0]->type.id == ALM_T_INTERVAL)
        return alm_bind_in_value(scope, expr, value[0], pos, out);
    return alm_bind_compare(scope, op, pos, expr, value[0], out);
}

/* Does `in` compare x with this value as `=` does? It has one type for the whole list. */
static bool is_of_list(const alm_expr *expr, const alm_expr *value)
{
    if (alm_expr_unknown(value) || value->type.id == ALM_T_NULL || expr->type.id == ALM_T_NULL)
        return true;
    if (predicate_is_texty(value->type))
        return predicate_is_texty(expr->type) || value->kind == ALM_X_CONST;
    if (predicate_is_number(expr->type) && predicate_is_number(value->type) &&
        value->kind == ALM_X_CONST)
        return true;
    return alm_type_eq(expr->type, value->type) && expr->type.id != ALM_T_ARRAY &&
           expr->type.id != ALM_T_BINARY; /* these are views, not values */
}

/* Leaves out what no time of the type of x is. *one: they are not compared in the type of x. */
static alm_status only_times(alm_planner *planner, alm_expr **args, uint32_t *n, bool *one)
{
    uint32_t kept = 1;
    *one = true;
    for (uint32_t i = 1; i < *n; i++)
        *one &= args[0]->kind != ALM_X_CONST || !predicate_is_time(args[i]->type) ||
                alm_type_eq(args[i]->type, args[0]->type);
    if (!predicate_is_time(args[0]->type))
        return ALM_OK;
    for (uint32_t i = 1; i < *n; i++) {
        bool is = false, exact = false;
        alm_expr *time = NULL;
        ALM_TRY(alm_bind_exact_time(planner, args[i], args[0]->type, &is, &exact, &time));
        if (!is || exact)
            args[kept++] = time;
    }
    *n = kept;
    return ALM_OK;
}

/* args: x, and the n_args - 1 values it is compared with. */
static alm_status predicate_in_values(alm_scope *scope, alm_expr **args, uint32_t n_args,
                                      int32_t pos, alm_expr **out)
{
    alm_planner *planner = scope->p;
    bool alike = true;
    if (alm_is_open(planner, args, n_args))
        return alm_open_test(planner, ALM_OPEN_IN, NULL, pos, args, n_args, out);
    ALM_TRY(only_times(planner, args, &n_args, &alike));
    if (n_args == 1)
        return alm_expr_bool(planner->cx, false, pos, out);
    if (!alike)
        return in_any(scope, "=", args[0], args + 1, n_args - 1, pos, out);
    for (uint32_t i = 1; i < n_args; i++) {
        ALM_TRY(adapt(planner, &args[i], args[0], true));
        ALM_TRY(adapt(planner, &args[0], args[i], true));
    }
    ALM_TRY(alm_widen_ints(planner, args, n_args));
    for (uint32_t i = 1; i < n_args; i++)
        alike = alike && is_of_list(args[0], args[i]);
    if (!alike)
        return in_any(scope, "=", args[0], args + 1, n_args - 1, pos, out);
    return alm_expr_call(planner, "in", pos, args, n_args, out);
}

alm_status alm_bind_in_values(alm_scope *scope, alm_expr **args, uint32_t n_args, int32_t pos,
                              alm_expr **out)
{
    bool intervals = false;
    for (uint32_t i = 1; i < n_args; i++)
        intervals |= args[i]->type.id == ALM_T_INTERVAL;
    if (intervals && predicate_is_time(args[0]->type))
        return in_any(scope, "=", args[0], args + 1, n_args - 1, pos, out);
    return predicate_in_values(scope, args, n_args, pos, out);
}

static alm_status in_list(alm_scope *scope, alm_expr *expr, const alm_ast *ast, alm_expr **out)
{
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, ast->n_args, &args));
    args[0] = expr;
    for (uint32_t i = 1; i < ast->n_args; i++) {
        ALM_TRY(alm_bind_expr(scope, ast->arg[i], &args[i]));
        ALM_TRY(alm_bind_beside_decimal(scope->p, expr, ast->arg[i], &args[i]));
    }
    return alm_bind_in_values(scope, args, ast->n_args, ast->pos, out);
}

alm_status alm_bind_any_value(alm_scope *scope, const char *op, int32_t pos, alm_expr **args,
                              uint32_t n, alm_expr **out)
{
    if (n == 1)
        return alm_expr_bool(scope->p->cx, false, pos, out);
    if (n > 2 && strcmp(op, "=") == 0)
        return predicate_in_values(scope, args, n, pos, out);
    return in_any(scope, op, args[0], args + 1, n - 1, pos, out);
}

/* `not` without turning comparisons around: NOT IN and NOT BETWEEN are true for null. */
static alm_status predicate_negate(alm_planner *planner, alm_expr *expr, bool negated, int32_t pos,
                                   alm_expr **out)
{
    *out = expr;
    return negated ? alm_expr_call(planner, "not", pos, &expr, 1, out) : ALM_OK;
}

alm_status alm_bind_in(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    if (ast->select != NULL || (ast->n_args == 2 && ast->arg[1]->kind == ALM_AST_SUBQUERY))
        return alm_bind_in_subquery(scope, ast, out);
    if (ast->n_args < 2)
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, ast->pos, "too few arguments for 'in'");
    alm_expr *expr = NULL, *test = NULL;
    if (ast->arg[0]->kind == ALM_AST_ROW) {
        ALM_TRY(alm_bind_row_in(scope, ast, &test));
        return predicate_negate(scope->p, test, ast->negated, ast->pos, out);
    }
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &expr));
    if (ast->n_args == 2) {
        alm_expr *value = NULL;
        ALM_TRY(alm_bind_expr(scope, ast->arg[1], &value));
        ALM_TRY(alm_bind_beside_decimal(scope->p, expr, ast->arg[1], &value));
        ALM_TRY(alm_bind_in_value(scope, expr, value, ast->pos, &test));
    } else {
        ALM_TRY(in_list(scope, expr, ast, &test));
    }
    return predicate_negate(scope->p, test, ast->negated, ast->pos, out);
}

/* ------------------------------------------------------------------- BETWEEN */

/* Types that are compared by operators alone; what meets a DECIMAL must not become a DOUBLE. */
static bool between_by_operators(alm_expr *const args[3])
{
    const alm_type_id id = (alm_type_id)args[0]->type.id;
    return id == ALM_T_UUID || id == ALM_T_LONG256 || id == ALM_T_BOOLEAN || id == ALM_T_DECIMAL ||
           args[1]->type.id == ALM_T_DECIMAL || args[2]->type.id == ALM_T_DECIMAL;
}

static alm_status predicate_within(alm_planner *planner, int32_t pos, alm_expr *expr, alm_expr *lo,
                                   alm_expr *hi, alm_expr **out)
{
    alm_expr *both[2] = {NULL, NULL};
    ALM_TRY(alm_expr_compare(planner, ">=", pos, (alm_expr *[]){expr, lo}, &both[0]));
    ALM_TRY(alm_expr_compare(planner, "<=", pos, (alm_expr *[]){expr, hi}, &both[1]));
    return alm_expr_call(planner, "and", pos, both, 2, out);
}

/* Are there times whose types differ, or a text or time that the type of x does not hold? */
static alm_status is_between_units(alm_planner *planner, alm_expr *const args[3], bool *out)
{
    bool time = false;
    *out = false;
    for (uint32_t i = 0; i < 3; i++)
        time |= predicate_is_time(args[i]->type);
    for (uint32_t i = 0; time && i < 3; i++)
        *out |= predicate_is_time(args[0]->type) != predicate_is_time(args[i]->type) &&
                alm_type_is_text(args[0]->type);
    for (uint32_t i = 1; time && predicate_is_time(args[0]->type) && i < 3; i++) {
        bool is = false, exact = false;
        alm_expr *same = NULL;
        ALM_TRY(alm_bind_exact_time(planner, args[i], args[0]->type, &is, &exact, &same));
        *out |= is ? !exact
                   : predicate_is_time(args[i]->type) &&
                         !alm_type_eq(args[i]->type, args[0]->type) && !alm_expr_is_null(args[i]);
    }
    return ALM_OK;
}

/* Both ways of BETWEEN: x stands in five tests, each border in two. */
static alm_status used_again(const alm_planner *planner, alm_expr *const args[3])
{
    for (uint32_t i = 0; i < 4; i++)
        ALM_TRY(alm_expr_again(planner->cx, args[0]));
    ALM_TRY(alm_expr_again(planner->cx, args[1]));
    return alm_expr_again(planner->cx, args[2]);
}

/* x within lo and hi, whichever comes first, for times of any unit. */
static alm_status within_times(alm_scope *scope, int32_t pos, alm_expr *args[3], alm_expr **out)
{
    alm_expr *ways[2] = {NULL, NULL}, *both[2] = {NULL, NULL};
    ALM_TRY(used_again(scope->p, args));
    for (uint32_t i = 0; i < 2; i++) {
        ALM_TRY(alm_bind_compare(scope, ">=", pos, args[0], args[1 + i], &both[0]));
        ALM_TRY(alm_bind_compare(scope, "<=", pos, args[0], args[2 - i], &both[1]));
        ALM_TRY(alm_expr_call(scope->p, "and", pos, both, 2, &ways[i]));
    }
    ALM_TRY(alm_expr_call(scope->p, "is not null", pos, args, 1, &both[0]));
    ALM_TRY(alm_expr_call(scope->p, "or", pos, ways, 2, &both[1]));
    return alm_expr_call(scope->p, "and", pos, both, 2, out);
}

/* x is not null and (x >= lo and x <= hi or x >= hi and x <= lo) */
static alm_status within_either_way(alm_planner *planner, int32_t pos, alm_expr *args[3],
                                    alm_expr **out)
{
    alm_expr *ways[2] = {NULL, NULL}, *both[2] = {NULL, NULL};
    ALM_TRY(used_again(planner, args));
    ALM_TRY(predicate_within(planner, pos, args[0], args[1], args[2], &ways[0]));
    ALM_TRY(predicate_within(planner, pos, args[0], args[2], args[1], &ways[1]));
    ALM_TRY(alm_expr_call(planner, "is not null", pos, args, 1, &both[0]));
    ALM_TRY(alm_expr_call(planner, "or", pos, ways, 2, &both[1]));
    return alm_expr_call(planner, "and", pos, both, 2, out);
}

alm_status alm_bind_within(alm_scope *scope, alm_expr *args[3], int32_t pos, alm_expr **out)
{
    alm_planner *planner = scope->p;
    int64_t lo = 0, hi = 0;
    if (alm_is_open(planner, args, 3))
        return alm_open_test(planner, ALM_OPEN_BETWEEN, NULL, pos, args, 3, out);
    alm_time_range times = {0};
    bool known = false, units = false;
    ALM_TRY(alm_bind_time_range(planner, args[0], args[1], args[2], &known, &times));
    if (known && times.lo > times.hi)
        return alm_expr_bool(planner->cx, false, pos, out);
    if (known)
        return range_test(planner, args[0], &times, pos, out);
    ALM_TRY(is_between_units(planner, args, &units));
    if (units)
        return within_times(scope, pos, args, out);
    for (uint32_t i = 1; i < 3; i++)
        ALM_TRY(adapt(planner, &args[i], args[0], false));
    ALM_TRY(alm_widen_ints(planner, args, 3));
    if (predicate_is_time(args[0]->type) && alm_type_eq(args[0]->type, args[1]->type) &&
        alm_type_eq(args[0]->type, args[2]->type) && alm_expr_int(args[1], &lo) &&
        alm_expr_int(args[2], &hi)) {
        const alm_time_range range = {ALM_MIN(lo, hi), ALM_MAX(lo, hi)};
        return range_test(planner, args[0], &range, pos, out);
    }
    for (uint32_t i = 1; i < 3; i++) {
        ALM_TRY(predicate_read_texts(planner, &args[0], &args[i]));
        ALM_TRY(predicate_read_texts(planner, &args[i], &args[0]));
    }
    if (between_by_operators(args))
        return within_either_way(planner, pos, args, out);
    return alm_expr_call(planner, "between", pos, args, 3, out);
}

alm_status alm_bind_between(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_expr *args[3] = {NULL, NULL, NULL}, *test = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        ALM_TRY(alm_bind_expr(scope, ast->arg[i], &args[i]));
        ALM_TRY(alm_bind_beside_decimal(scope->p, args[0], ast->arg[i], &args[i]));
    }
    ALM_TRY(alm_bind_within(scope, args, ast->pos, &test));
    return predicate_negate(scope->p, test, ast->negated, ast->pos, out);
}
