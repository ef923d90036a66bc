/*
 * predicate.c - comparisons, IN, BETWEEN, IS NULL: constants take the type of what they are
 * compared with, so that columns are read as they are stored and times become intervals.
 */
#include "sql/bind/bind.h"
#include "time/interval.h"
#include "time/timestamp.h"
#include "type/ops.h"
#include "type/text.h"

static bool is_time(alm_type t)
{
    return alm_type_info_of(t)->cls == ALM_TC_TIME;
}
static bool is_int(alm_type t)
{
    return alm_type_info_of(t)->cls == ALM_TC_INTEGER;
}
static bool is_number(alm_type t)
{
    return is_int(t) || t.id == ALM_T_FLOAT || t.id == ALM_T_DOUBLE;
}
static bool is_texty(alm_type t)
{
    return alm_type_is_text(t) || t.id == ALM_T_CHAR;
}

static bool int_fits(int64_t v, alm_type t)
{
    switch ((int)t.id) {
    case ALM_T_BYTE:
        return v >= INT8_MIN && v <= INT8_MAX;
    case ALM_T_SHORT:
        return v >= INT16_MIN && v <= INT16_MAX;
    case ALM_T_INT:
        return v > INT32_MIN && v <= INT32_MAX;
    default:
        return false;
    }
}

/* 't', 'false' and such where a BOOLEAN is compared with them; any other text stays one. */
static alm_status bool_of_text(alm_planner *p, const alm_expr *e, alm_expr **out)
{
    bool is_text = false, value = false;
    alm_str text = {0};
    ALM_TRY(alm_expr_string(p->cx, e, &is_text, &text));
    if (!is_text || text.len == 0 || alm_value_scan(ALM_TY(BOOLEAN), text, &value) != ALM_SCAN_OK)
        return ALM_OK;
    return alm_expr_bool(p->cx, value, e->pos, out);
}

alm_status alm_bind_condition(alm_planner *p, alm_expr **e, int32_t pos)
{
    ALM_TRY(alm_param_infer(p, e, ALM_TY(BOOLEAN)));
    ALM_TRY(bool_of_text(p, *e, e));
    if ((*e)->type.id != ALM_T_BOOLEAN)
        return alm_fail(p->cx, ALM_E_TYPE, pos, "boolean expression expected");
    return ALM_OK;
}

/* Gives the constant c the type of `with` where its value can be said in it. */
static alm_status adapt(alm_planner *p, alm_expr **c, const alm_expr *with, bool equality)
{
    alm_expr *e = *c;
    const alm_type to = with->type;
    if (alm_expr_unknown(e))
        return alm_param_infer(p, c,
                               alm_expr_may_exceed(with) ? ALM_TY(LONG) : alm_type_beside(with));
    if (e->kind != ALM_X_CONST || alm_type_eq(e->type, to) || to.id == ALM_T_NONE ||
        to.id == ALM_T_NULL)
        return ALM_OK;
    if (e->type.id == ALM_T_NULL)
        return ALM_OK;
    if (is_texty(e->type)) {
        if (to.id == ALM_T_BOOLEAN)
            return bool_of_text(p, e, c);
        if (is_time(to))
            return alm_bind_time(p, e, to, equality, c);
        if (is_number(to) || alm_type_written(to) != ALM_WRITTEN_BY_CLASS)
            return alm_expr_cast(p, e, to, ALM_CAST_IMPLICIT, c);
        if (alm_type_is_text(to) && e->type.id == ALM_T_CHAR)
            return alm_expr_cast(p, e, ALM_TY(STRING), ALM_CAST_EXPLICIT, c);
        return ALM_OK;
    }
    int64_t v = 0;
    if (is_int(e->type) && alm_expr_int(e, &v)) {
        if (is_int(to) && int_fits(v, to))
            return alm_expr_bits(p->cx, to, (uint64_t)v, e->pos, c);
        if (is_time(to) && (e->type.id == ALM_T_INT || e->type.id == ALM_T_LONG))
            return alm_expr_bits(p->cx, to, (uint64_t)v, e->pos, c);
        return ALM_OK;
    }
    bool is = false, exact = false;
    return is_time(to) ? alm_bind_exact_time(p, e, to, &is, &exact, c) : ALM_OK;
}

static alm_status in_interval(alm_planner *p, alm_expr *ts, alm_expr *text, int32_t pos,
                              alm_expr **out);

/* designated timestamp != 'text': the text is an interval here, as in NOT IN (the dialect's way). */
static bool is_not_in(const alm_scope *sc, const char *op, const alm_expr *a, const alm_expr *b)
{
    return (op[0] == '!' || op[1] == '>') && sc->plan != NULL && sc->plan->ts_col >= 0 &&
           a->kind == ALM_X_COL && a->col == (uint32_t)sc->plan->ts_col && is_time(a->type) &&
           b->kind == ALM_X_CONST && alm_type_is_text(b->type) && !alm_expr_is_null(b);
}

/* Could a parameter make it such a one? */
static bool is_not_in_either(const alm_expr *a, const char *op)
{
    return (op[0] == '!' || op[1] == '>') && is_time(a->type);
}

/* Does a DOUBLE hold all values of it, one by one? */
static bool is_exact_double(const alm_expr *e)
{
    const int64_t most = INT64_C(1) << 53;
    int64_t v = 0;
    if (e->type.id == ALM_T_LONG)
        return alm_expr_int(e, &v) && v >= -most && v <= most;
    return is_int(e->type);
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
static alm_status read_texts(alm_planner *p, alm_expr **text, alm_expr **number)
{
    const alm_type type = (*number)->type, as = read_as(type);
    if (!is_texty((*text)->type) || (*text)->kind == ALM_X_CONST || (*text)->kind == ALM_X_PARAM)
        return ALM_OK;
    if (as.id != ALM_T_NONE)
        return alm_expr_cast(p, *text, as, ALM_CAST_IMPLICIT, text);
    if (is_exact_double(*number) && alm_type_is_text((*text)->type))
        ALM_TRY(alm_expr_cast(p, *number, ALM_TY(DOUBLE), ALM_CAST_EXPLICIT, number));
    if ((*text)->type.id == ALM_T_SYMBOL && (is_number(type) || type.id == ALM_T_LONG256))
        return alm_expr_cast(p, *text, ALM_TY(STRING), ALM_CAST_EXPLICIT, text);
    return ALM_OK;
}

alm_status alm_bind_compare(alm_scope *sc, const char *op, int32_t pos, alm_expr *a, alm_expr *b,
                            alm_expr **out)
{
    const bool equality = op[0] == '=' || op[0] == '!' || op[1] == '>';
    if (alm_is_open(sc->p, (alm_expr *[]){a, b}, 2) && !is_not_in_either(a, op))
        return alm_open_test(sc->p, ALM_OPEN_COMPARE, op, pos, (alm_expr *[]){a, b}, 2, out);
    if (equality && (alm_expr_is_null(a) || alm_expr_is_null(b)) && !alm_expr_unknown(a) &&
        !alm_expr_unknown(b))
        return alm_expr_null_test(sc->p, alm_expr_is_null(b) ? a : b, op[0] != '=', pos, out);
    if (is_not_in(sc, op, a, b)) {
        ALM_TRY(in_interval(sc->p, a, b, pos, out));
        return alm_expr_call(sc->p, "not", pos, out, 1, out);
    }
    ALM_TRY(alm_bind_time_compare(sc->p, op, pos, a, b, out));
    if (*out != NULL)
        return ALM_OK;
    ALM_TRY(adapt(sc->p, &b, a, equality));
    ALM_TRY(adapt(sc->p, &a, b, equality));
    ALM_TRY(read_texts(sc->p, &a, &b));
    ALM_TRY(read_texts(sc->p, &b, &a));
    alm_expr *args[2] = {a, b};
    ALM_TRY(alm_widen_ints(sc->p, args, 2));
    return alm_expr_compare(sc->p, op, pos, args, out);
}

/* ------------------------------------------------------------------ intervals */

static alm_status range_test(alm_planner *p, alm_expr *ts, const alm_time_range *r, int32_t pos,
                             alm_expr **out)
{
    alm_expr *lo[2] = {ts, NULL}, *hi[2] = {ts, NULL}, *both[2] = {NULL, NULL};
    ALM_TRY(alm_expr_bits(p->cx, ts->type, (uint64_t)r->lo, pos, &lo[1]));
    if (r->lo == r->hi)
        return alm_expr_call(p, "=", pos, lo, 2, out);
    ALM_TRY(alm_expr_bits(p->cx, ts->type, (uint64_t)r->hi, pos, &hi[1]));
    ALM_TRY(alm_expr_call(p, ">=", pos, lo, 2, &both[0]));
    ALM_TRY(alm_expr_call(p, "<=", pos, hi, 2, &both[1]));
    return alm_expr_call(p, "and", pos, both, 2, out);
}

enum { RANGES_AS_COMPARISONS = 32 }; /* more of them are one call */

static alm_status ranges_test(alm_planner *p, alm_expr *ts, const alm_time_range *items, uint32_t n,
                              int32_t pos, alm_expr **out)
{
    if (n == 0)
        return alm_expr_bool(p->cx, false, pos, out);
    if (n == 1)
        return range_test(p, ts, items, pos, out);
    alm_expr *sides[2] = {NULL, NULL};
    ALM_TRY(ranges_test(p, ts, items, n / 2, pos, &sides[0]));
    ALM_TRY(ranges_test(p, ts, items + n / 2, n - n / 2, pos, &sides[1]));
    return alm_expr_call(p, "or", pos, sides, 2, out);
}

/* What a text of digits means behind IN: all of the day 20231114, or one moment. */
static bool digits_range(alm_str s, alm_time_unit unit, alm_time_range *out)
{
    alm_instant
        instant; /* '1677' is a year, also where it begins before the first time of the unit */
    int64_t at = 0;
    if (alm_instant_parse(s, &instant) || !alm_time_read(s, unit, &at))
        return false;
    const bool day = alm_time_is_compact_day(s);
    *out = (alm_time_range){at, at};
    if (day &&
        __builtin_add_overflow(at, ALM_SECONDS_PER_DAY * alm_time_second(unit) - 1, &out->hi))
        out->hi = INT64_MAX; /* the last day that has a beginning */
    return true;
}

static alm_status in_interval(alm_planner *p, alm_expr *ts, alm_expr *text, int32_t pos,
                              alm_expr **out)
{
    bool is_text = false;
    alm_str s = {0};
    alm_time_range range;
    ALM_TRY(alm_expr_string(p->cx, text, &is_text, &s));
    if (digits_range(s, alm_type_unit(ts->type), &range))
        return range_test(p, ts, &range, pos, out);
    if (memchr(s.ptr, '$', s.len) != NULL)
        alm_use_once(p); /* $now, $today ... */
    alm_time_ranges set = {0};
    ALM_TRY(alm_interval_parse(p->cx, p->cx->arena, s, alm_type_unit(ts->type), p->cx->now_ns,
                               text->pos, &set));
    if (set.n <= RANGES_AS_COMPARISONS)
        return ranges_test(p, ts, set.items, set.n, pos, out);
    alm_expr *args[2] = {ts, text};
    return alm_expr_call(p, "in interval", pos, args, 2, out);
}

/* ------------------------------------------------------------------------ IN */

/* One value: an interval text for times, else equality. */
alm_status alm_bind_in_value(alm_scope *sc, alm_expr *x, alm_expr *value, int32_t pos,
                             alm_expr **out)
{
    if (alm_is_open(sc->p, (alm_expr *[]){x, value}, 2))
        return alm_open_test(sc->p, ALM_OPEN_IN_VALUE, NULL, pos, (alm_expr *[]){x, value}, 2, out);
    if (value->type.id == ALM_T_INTERVAL && is_texty(x->type))
        ALM_TRY(alm_bind_time(sc->p, x, ALM_TY(TIMESTAMP), true, &x));
    if (is_time(x->type)) {
        if (alm_expr_unknown(value))
            ALM_TRY(alm_param_infer(sc->p, &value, ALM_TY(STRING)));
        if (value->kind == ALM_X_PARAM && is_texty(value->type)) /* describing: any boolean */
            return alm_expr_bool(sc->p->cx, true, pos, out);
        if (value->kind == ALM_X_CONST && is_texty(value->type) && !alm_expr_is_null(value))
            return in_interval(sc->p, x, value, pos, out);
        if (value->type.id == ALM_T_BOOLEAN)
            return alm_fail(sc->p->cx, ALM_E_TIME, value->pos, "Invalid date");
        if (value->type.id == ALM_T_INTERVAL) {
            alm_expr *args[2] = {x, value};
            return alm_expr_call(sc->p, "in", pos, args, 2, out);
        }
    }
    return alm_bind_compare(sc, "=", pos, x, value, out);
}

/* One test or the other, balanced. */
static alm_status in_any(alm_scope *sc, const char *op, alm_expr *x, alm_expr *const *value,
                         uint32_t n, int32_t pos, alm_expr **out)
{
    alm_expr *sides[2] = {NULL, NULL};
    if (n > 1) {
        ALM_TRY(in_any(sc, op, x, value, n / 2, pos, &sides[0]));
        ALM_TRY(in_any(sc, op, x, value + n / 2, n - n / 2, pos, &sides[1]));
        return alm_expr_call(sc->p, "or", pos, sides, 2, out);
    }
    if (value[0]->type.id == ALM_T_INTERVAL)
        return alm_bind_in_value(sc, x, value[0], pos, out);
    return alm_bind_compare(sc, op, pos, x, value[0], out);
}

/* Does `in` compare x with this value as `=` does? It has one type for the whole list. */
static bool is_of_list(const alm_expr *x, const alm_expr *value)
{
    if (alm_expr_unknown(value) || value->type.id == ALM_T_NULL || x->type.id == ALM_T_NULL)
        return true;
    if (is_texty(value->type))
        return is_texty(x->type) || value->kind == ALM_X_CONST;
    if (is_number(x->type) && is_number(value->type) && value->kind == ALM_X_CONST)
        return true;
    return alm_type_eq(x->type, value->type) && x->type.id != ALM_T_ARRAY &&
           x->type.id != ALM_T_BINARY; /* these are views, not values */
}

/* Leaves out what no time of the type of x is. *one: they are not compared in the type of x. */
static alm_status only_times(alm_planner *p, alm_expr **args, uint32_t *n, bool *one)
{
    uint32_t kept = 1;
    *one = true;
    for (uint32_t i = 1; i < *n; i++)
        *one &= args[0]->kind != ALM_X_CONST || !is_time(args[i]->type) ||
                alm_type_eq(args[i]->type, args[0]->type);
    if (!is_time(args[0]->type))
        return ALM_OK;
    for (uint32_t i = 1; i < *n; i++) {
        bool is = false, exact = false;
        alm_expr *time = NULL;
        ALM_TRY(alm_bind_exact_time(p, args[i], args[0]->type, &is, &exact, &time));
        if (!is || exact)
            args[kept++] = time;
    }
    *n = kept;
    return ALM_OK;
}

/* args: x, and the n - 1 values it is compared with. */
static alm_status in_values(alm_scope *sc, alm_expr **args, uint32_t n, int32_t pos, alm_expr **out)
{
    alm_planner *p = sc->p;
    bool alike = true;
    if (alm_is_open(p, args, n))
        return alm_open_test(p, ALM_OPEN_IN, NULL, pos, args, n, out);
    ALM_TRY(only_times(p, args, &n, &alike));
    if (n == 1)
        return alm_expr_bool(p->cx, false, pos, out);
    if (!alike)
        return in_any(sc, "=", args[0], args + 1, n - 1, pos, out);
    for (uint32_t i = 1; i < n; i++) {
        ALM_TRY(adapt(p, &args[i], args[0], true));
        ALM_TRY(adapt(p, &args[0], args[i], true));
    }
    ALM_TRY(alm_widen_ints(p, args, n));
    for (uint32_t i = 1; i < n; i++)
        alike = alike && is_of_list(args[0], args[i]);
    if (!alike)
        return in_any(sc, "=", args[0], args + 1, n - 1, pos, out);
    return alm_expr_call(p, "in", pos, args, n, out);
}

alm_status alm_bind_in_values(alm_scope *sc, alm_expr **args, uint32_t n, int32_t pos,
                              alm_expr **out)
{
    bool intervals = false;
    for (uint32_t i = 1; i < n; i++)
        intervals |= args[i]->type.id == ALM_T_INTERVAL;
    if (intervals && is_time(args[0]->type))
        return in_any(sc, "=", args[0], args + 1, n - 1, pos, out);
    return in_values(sc, args, n, pos, out);
}

static alm_status in_list(alm_scope *sc, alm_expr *x, const alm_ast *ast, alm_expr **out)
{
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(sc->p->cx, sc->p->cx->arena, ast->n_args, &args));
    args[0] = x;
    for (uint32_t i = 1; i < ast->n_args; i++) {
        ALM_TRY(alm_bind_expr(sc, ast->arg[i], &args[i]));
        ALM_TRY(alm_bind_beside_decimal(sc->p, x, ast->arg[i], &args[i]));
    }
    return alm_bind_in_values(sc, args, ast->n_args, ast->pos, out);
}

alm_status alm_bind_any_value(alm_scope *sc, const char *op, int32_t pos, alm_expr **args,
                              uint32_t n, alm_expr **out)
{
    if (n == 1)
        return alm_expr_bool(sc->p->cx, false, pos, out);
    if (n > 2 && strcmp(op, "=") == 0)
        return in_values(sc, args, n, pos, out);
    return in_any(sc, op, args[0], args + 1, n - 1, pos, out);
}

/* `not` without turning comparisons around: NOT IN and NOT BETWEEN are true for null. */
static alm_status negate(alm_planner *p, alm_expr *e, bool negated, int32_t pos, alm_expr **out)
{
    *out = e;
    return negated ? alm_expr_call(p, "not", pos, &e, 1, out) : ALM_OK;
}

alm_status alm_bind_in(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    if (ast->select != NULL || (ast->n_args == 2 && ast->arg[1]->kind == ALM_AST_SUBQUERY))
        return alm_bind_in_subquery(sc, ast, out);
    if (ast->n_args < 2)
        return alm_fail(sc->p->cx, ALM_E_SYNTAX, ast->pos, "too few arguments for 'in'");
    alm_expr *x = NULL, *test = NULL;
    if (ast->arg[0]->kind == ALM_AST_ROW) {
        ALM_TRY(alm_bind_row_in(sc, ast, &test));
        return negate(sc->p, test, ast->negated, ast->pos, out);
    }
    ALM_TRY(alm_bind_expr(sc, ast->arg[0], &x));
    if (ast->n_args == 2) {
        alm_expr *value = NULL;
        ALM_TRY(alm_bind_expr(sc, ast->arg[1], &value));
        ALM_TRY(alm_bind_beside_decimal(sc->p, x, ast->arg[1], &value));
        ALM_TRY(alm_bind_in_value(sc, x, value, ast->pos, &test));
    } else {
        ALM_TRY(in_list(sc, x, ast, &test));
    }
    return negate(sc->p, test, ast->negated, ast->pos, out);
}

/* ------------------------------------------------------------------- BETWEEN */

/* Types that are compared by operators alone; what meets a DECIMAL must not become a DOUBLE. */
static bool between_by_operators(alm_expr *const args[3])
{
    const alm_type_id id = (alm_type_id)args[0]->type.id;
    return id == ALM_T_UUID || id == ALM_T_LONG256 || id == ALM_T_BOOLEAN || id == ALM_T_DECIMAL ||
           args[1]->type.id == ALM_T_DECIMAL || args[2]->type.id == ALM_T_DECIMAL;
}

static alm_status within(alm_planner *p, int32_t pos, alm_expr *x, alm_expr *lo, alm_expr *hi,
                         alm_expr **out)
{
    alm_expr *both[2] = {NULL, NULL};
    ALM_TRY(alm_expr_compare(p, ">=", pos, (alm_expr *[]){x, lo}, &both[0]));
    ALM_TRY(alm_expr_compare(p, "<=", pos, (alm_expr *[]){x, hi}, &both[1]));
    return alm_expr_call(p, "and", pos, both, 2, out);
}

/* Are there times whose types differ, or a text or time that the type of x does not hold? */
static alm_status is_between_units(alm_planner *p, alm_expr *const args[3], bool *out)
{
    bool time = false;
    *out = false;
    for (uint32_t i = 0; i < 3; i++)
        time |= is_time(args[i]->type);
    for (uint32_t i = 0; time && i < 3; i++)
        *out |= is_time(args[0]->type) != is_time(args[i]->type) && alm_type_is_text(args[0]->type);
    for (uint32_t i = 1; time && is_time(args[0]->type) && i < 3; i++) {
        bool is = false, exact = false;
        alm_expr *same = NULL;
        ALM_TRY(alm_bind_exact_time(p, args[i], args[0]->type, &is, &exact, &same));
        *out |= is ? !exact
                   : is_time(args[i]->type) && !alm_type_eq(args[i]->type, args[0]->type) &&
                         !alm_expr_is_null(args[i]);
    }
    return ALM_OK;
}

/* Both ways of BETWEEN: x stands in five tests, each border in two. */
static alm_status used_again(const alm_planner *p, alm_expr *const args[3])
{
    for (uint32_t i = 0; i < 4; i++)
        ALM_TRY(alm_expr_again(p->cx, args[0]));
    ALM_TRY(alm_expr_again(p->cx, args[1]));
    return alm_expr_again(p->cx, args[2]);
}

/* x within lo and hi, whichever comes first, for times of any unit. */
static alm_status within_times(alm_scope *sc, int32_t pos, alm_expr *args[3], alm_expr **out)
{
    alm_expr *ways[2] = {NULL, NULL}, *both[2] = {NULL, NULL};
    ALM_TRY(used_again(sc->p, args));
    for (uint32_t i = 0; i < 2; i++) {
        ALM_TRY(alm_bind_compare(sc, ">=", pos, args[0], args[1 + i], &both[0]));
        ALM_TRY(alm_bind_compare(sc, "<=", pos, args[0], args[2 - i], &both[1]));
        ALM_TRY(alm_expr_call(sc->p, "and", pos, both, 2, &ways[i]));
    }
    ALM_TRY(alm_expr_call(sc->p, "is not null", pos, args, 1, &both[0]));
    ALM_TRY(alm_expr_call(sc->p, "or", pos, ways, 2, &both[1]));
    return alm_expr_call(sc->p, "and", pos, both, 2, out);
}

/* x is not null and (x >= lo and x <= hi or x >= hi and x <= lo) */
static alm_status within_either_way(alm_planner *p, int32_t pos, alm_expr *args[3], alm_expr **out)
{
    alm_expr *ways[2] = {NULL, NULL}, *both[2] = {NULL, NULL};
    ALM_TRY(used_again(p, args));
    ALM_TRY(within(p, pos, args[0], args[1], args[2], &ways[0]));
    ALM_TRY(within(p, pos, args[0], args[2], args[1], &ways[1]));
    ALM_TRY(alm_expr_call(p, "is not null", pos, args, 1, &both[0]));
    ALM_TRY(alm_expr_call(p, "or", pos, ways, 2, &both[1]));
    return alm_expr_call(p, "and", pos, both, 2, out);
}

alm_status alm_bind_within(alm_scope *sc, alm_expr *args[3], int32_t pos, alm_expr **out)
{
    alm_planner *p = sc->p;
    int64_t lo = 0, hi = 0;
    if (alm_is_open(p, args, 3))
        return alm_open_test(p, ALM_OPEN_BETWEEN, NULL, pos, args, 3, out);
    alm_time_range times = {0};
    bool known = false, units = false;
    ALM_TRY(alm_bind_time_range(p, args[0], args[1], args[2], &known, &times));
    if (known && times.lo > times.hi)
        return alm_expr_bool(p->cx, false, pos, out);
    if (known)
        return range_test(p, args[0], &times, pos, out);
    ALM_TRY(is_between_units(p, args, &units));
    if (units)
        return within_times(sc, pos, args, out);
    for (uint32_t i = 1; i < 3; i++)
        ALM_TRY(adapt(p, &args[i], args[0], false));
    ALM_TRY(alm_widen_ints(p, args, 3));
    if (is_time(args[0]->type) && alm_type_eq(args[0]->type, args[1]->type) &&
        alm_type_eq(args[0]->type, args[2]->type) && alm_expr_int(args[1], &lo) &&
        alm_expr_int(args[2], &hi)) {
        const alm_time_range range = {ALM_MIN(lo, hi), ALM_MAX(lo, hi)};
        return range_test(p, args[0], &range, pos, out);
    }
    for (uint32_t i = 1; i < 3; i++) {
        ALM_TRY(read_texts(p, &args[0], &args[i]));
        ALM_TRY(read_texts(p, &args[i], &args[0]));
    }
    if (between_by_operators(args))
        return within_either_way(p, pos, args, out);
    return alm_expr_call(p, "between", pos, args, 3, out);
}

alm_status alm_bind_between(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_expr *args[3] = {NULL, NULL, NULL}, *test = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        ALM_TRY(alm_bind_expr(sc, ast->arg[i], &args[i]));
        ALM_TRY(alm_bind_beside_decimal(sc->p, args[0], ast->arg[i], &args[i]));
    }
    ALM_TRY(alm_bind_within(sc, args, ast->pos, &test));
    return negate(sc->p, test, ast->negated, ast->pos, out);
}
