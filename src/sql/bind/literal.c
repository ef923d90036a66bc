/* literal.c - literals and parameters as constants; texts that stand for times. */
#include "base/number.h"
#include "sql/bind/bind.h"
#include "time/timestamp.h"
#include "type/decimal.h"
#include "type/geohash.h"
#include "type/ops.h"

static alm_status integer(alm_planner *planner, alm_str text, int32_t pos, bool is_long,
                          alm_expr **out)
{
    int64_t value = 0;
    alm_num_parse got = alm_int64_parse(text, &value);
    if (got == ALM_NUM_OK && value == ALM_LONG_NULL) /* the least LONG is no number but the null */
        got = ALM_NUM_OVERFLOW;
    if (got == ALM_NUM_OVERFLOW && !is_long) {
        double d = 0;
        (void)alm_double_parse(text, &d);
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        return alm_expr_bits(planner->cx, ALM_TY(DOUBLE), bits, pos, out);
    }
    if (got != ALM_NUM_OK)
        return alm_fail(planner->cx, got == ALM_NUM_BAD ? ALM_E_SYNTAX : ALM_E_RANGE, pos,
                        "invalid constant: %.*s%s", (int)text.len, text.ptr, is_long ? "L" : "");
    if (!is_long && value <= INT32_MAX && value > INT32_MIN)
        return alm_expr_bits(planner->cx, ALM_TY(INT), (uint64_t)value, pos, out);
    return alm_expr_bits(planner->cx, ALM_TY(LONG), (uint64_t)value, pos, out);
}

/* A constant of a type of any fixed width. */
static alm_status wide_constant(alm_planner *planner, alm_type type, const void *value, int32_t pos,
                                alm_expr **out)
{
    alm_vec vec = {0};
    ALM_TRY(alm_vec_new(planner->cx, planner->cx->arena, type, 1, &vec));
    memcpy(vec.data, value, vec.width);
    return alm_expr_const(planner->cx, &vec, pos, out);
}

static alm_status hexadecimal(alm_planner *planner, alm_str digits, int32_t pos, alm_expr **out)
{
    alm_i256 value;
    if (!alm_long256_parse(digits, &value))
        return alm_fail(planner->cx, ALM_E_SYNTAX, pos, "invalid constant: %.*s", (int)digits.len,
                        digits.ptr);
    return wide_constant(planner, ALM_TY(LONG256), &value, pos, out);
}

/* 12.50m: as many digits as are written. */
static alm_status decimal(alm_planner *planner, alm_str text, int32_t pos, alm_expr **out)
{
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    uint64_t value[4] = {0};
    if (!alm_decimal_parse(text, &x, &precision, &scale))
        return alm_fail(planner->cx, ALM_E_SYNTAX, pos, "invalid decimal constant: %.*s",
                        (int)text.len, text.ptr);
    const alm_type type = alm_type_decimal(precision, scale);
    alm_decimal_store(type, x, value);
    return wide_constant(planner, type, value, pos, out);
}

/* The digits of a number that is written without a suffix but d, its sign in front; empty: not one, or too long. */
static alm_str written_digits(const alm_ast *ast, char *buf, size_t size)
{
    size_t count = 0;
    if (ast->kind == ALM_AST_UNARY && alm_str_eq(ast->text, ALM_STR("-"))) {
        buf[count++] = '-';
        ast = ast->arg[0];
    }
    if (ast->kind != ALM_AST_NUMBER)
        return (alm_str){0};
    for (size_t i = 0; i < ast->text.len; i++) {
        if (ast->text.ptr[i] == '_')
            continue;
        if (count == size)
            return (alm_str){0};
        buf[count++] = ast->text.ptr[i];
    }
    if (count > 1 && (buf[count - 1] | 0x20) == 'd')
        count--;
    return (alm_str){buf, count > 0 && buf[count - 1] != 'm' && buf[count - 1] != 'M' ? count : 0};
}

alm_status alm_bind_written_decimal(alm_planner *planner, const alm_ast *ast, alm_type target,
                                    alm_expr **out)
{
    char buf[400];
    const alm_str digits = written_digits(ast, buf, sizeof buf);
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    uint64_t value[4] = {0};
    *out = NULL;
    if (digits.len == 0 || !alm_decimal_parse(digits, &x, &precision, &scale) ||
        !alm_decimal_rescale(x, scale, target.s, ALM_ROUND_HALF_UP, &x) ||
        !alm_decimal_fits(x, target.p))
        return ALM_OK; /* the cast of a value says what is wrong */
    alm_decimal_store(target, x, value);
    return wide_constant(planner, target, value, ast->pos, out);
}

alm_status alm_bind_beside_decimal(alm_planner *planner, const alm_expr *with, const alm_ast *ast,
                                   alm_expr **expr)
{
    char buf[ALM_DECIMAL_TEXT_MAX + 20];
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    uint64_t value[4] = {0};
    if (with->type.id != ALM_T_DECIMAL || (*expr)->kind != ALM_X_CONST ||
        (*expr)->type.id != ALM_T_DOUBLE)
        return ALM_OK;
    const alm_str digits = written_digits(ast, buf, sizeof buf);
    if (digits.len == 0 || !alm_decimal_parse(digits, &x, &precision, &scale))
        return ALM_OK;
    const alm_type type = alm_type_decimal(precision, scale);
    alm_decimal_store(type, x, value);
    return wide_constant(planner, type, value, ast->pos, expr);
}

/* #u33d8, #u33d8/20 (bits of it), ##0110 */
alm_status alm_bind_geohash(alm_planner *planner, const alm_ast *ast, alm_expr **out)
{
    const alm_str text = ast->text;
    int64_t bits = 0, wanted = 0;
    uint32_t n = 0;
    bool good = text.len > 1;
    if (good && text.ptr[1] == '#') {
        good = alm_geohash_parse_bits((alm_str){text.ptr + 2, text.len - 2}, &bits, &n);
    } else if (good) {
        const char *slash = memchr(text.ptr, '/', text.len);
        const size_t end = slash == NULL ? text.len : (size_t)(slash - text.ptr);
        good = alm_geohash_parse((alm_str){text.ptr + 1, end - 1}, &bits, &n);
        if (good && slash != NULL) {
            const alm_str size = {slash + 1, text.len - end - 1};
            good = alm_int64_parse(size, &wanted) == ALM_NUM_OK && wanted >= 1 && wanted <= n;
            if (good) {
                bits >>= n - (uint32_t)wanted;
                n = (uint32_t)wanted;
            }
        }
    }
    if (!good)
        return alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos, "invalid constant: %.*s",
                        (int)text.len, text.ptr);
    const alm_type type = alm_type_geohash(n);
    return alm_expr_bits(planner->cx, type, (uint64_t)bits, ast->pos, out);
}

alm_status alm_bind_number(alm_planner *planner, const alm_ast *ast, alm_expr **out)
{
    char small[64];
    char *text = small;
    const alm_str in = ast->text;
    if (in.len > sizeof small)
        ALM_TRY(alm_arena_bytes(planner->cx, planner->cx->arena, in.len, &text));
    size_t count = 0;
    bool fraction = false;
    for (size_t i = 0; i < in.len; i++) {
        if (in.ptr[i] == '_')
            continue;
        text[count++] = in.ptr[i];
        fraction |= in.ptr[i] == '.' || in.ptr[i] == 'e' || in.ptr[i] == 'E';
    }
    if (count > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return hexadecimal(planner, (alm_str){text, count}, ast->pos, out);
    const char last = count > 0 ? text[count - 1] : 0;
    const alm_str body = {text, count - 1};
    if (last == 'L' || last == 'l')
        return integer(planner, body, ast->pos, true, out);
    if (last == 'm' || last == 'M')
        return decimal(planner, body, ast->pos, out);
    if (last == 'f' || last == 'F') {
        float f = 0;
        if (alm_float_parse(body, &f) != ALM_NUM_OK)
            return alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos, "invalid constant: %.*s",
                            (int)in.len, in.ptr);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return alm_expr_bits(planner->cx, ALM_TY(FLOAT), bits, ast->pos, out);
    }
    const bool is_double = last == 'd' || last == 'D';
    fraction |= alm_str_ieq((alm_str){text, count}, ALM_STR("nan"));
    if (!is_double && !fraction)
        return integer(planner, (alm_str){text, count}, ast->pos, false, out);
    double value = 0;
    if (alm_double_parse(is_double ? body : (alm_str){text, count}, &value) != ALM_NUM_OK)
        return alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos, "invalid constant: %.*s", (int)in.len,
                        in.ptr);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return alm_expr_bits(planner->cx, ALM_TY(DOUBLE), bits, ast->pos, out);
}

/* The UTF-16 unit of a text that is one character of the basic plane; 0: it is not. */
static uint16_t single_char(alm_str text)
{
    const uint8_t *b = (const uint8_t *)text.ptr;
    if (text.len == 1 && b[0] < 0x80)
        return b[0];
    if (text.len == 2 && (b[0] & 0xE0) == 0xC0)
        return (uint16_t)((b[0] & 0x1F) << 6 | (b[1] & 0x3F));
    if (text.len == 3 && (b[0] & 0xF0) == 0xE0)
        return (uint16_t)((b[0] & 0x0F) << 12 | (b[1] & 0x3F) << 6 | (b[2] & 0x3F));
    return 0;
}

alm_status alm_bind_string(alm_planner *planner, alm_str text, int32_t pos, alm_expr **out)
{
    const uint16_t c = single_char(text);
    if (c != 0)
        return alm_expr_bits(planner->cx, ALM_TY(CHAR), c, pos, out);
    if (text.ptr == NULL)
        text.ptr = ""; /* an empty text is not null */
    return alm_expr_text(planner->cx, ALM_TY(STRING), text, pos, out);
}

alm_status alm_bind_param(alm_planner *planner, const alm_ast *ast, alm_expr **out)
{
    const int64_t number = ast->number - 1;
    if (number < 0 || number >= (int64_t)planner->env->n_params)
        return alm_fail(planner->cx, ALM_E_PARAM, ast->pos, "undefined bind variable: $%lld",
                        (long long)ast->number);
    alm_param *param = &planner->env->params[number];
    if (param->pos == 0) /* no statement begins with a parameter */
        param->pos = ast->pos;
    if (planner->env->as_template)
        planner->env->uses->open++;
    else if (param->value != NULL) {
        ALM_TRY(alm_expr_const(planner->cx, param->value, ast->pos, out));
        (*out)->bound = true;
        return ALM_OK;
    }
    alm_expr *expr = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &expr));
    expr->kind = ALM_X_PARAM;
    expr->type = param->type;
    expr->col = (uint32_t)number;
    expr->pos = ast->pos;
    *out = expr;
    return ALM_OK;
}

alm_status alm_bind_time(alm_planner *planner, alm_expr *expr, alm_type target, bool equality,
                         alm_expr **out)
{
    bool is_text = false;
    alm_str text = {0};
    *out = expr;
    if (alm_expr_unknown(expr))
        return alm_param_infer(planner, out, target);
    ALM_TRY(alm_expr_string(planner->cx, expr, &is_text, &text));
    if (!is_text) {
        if (expr->type.id == ALM_T_NULL || (alm_expr_is_null(expr) && alm_type_is_text(expr->type)))
            return alm_expr_null(planner->cx, target, expr->pos, out);
        return ALM_OK;
    }
    int64_t ticks = 0;
    if (alm_time_read(text, alm_type_unit(target), &ticks))
        return alm_expr_bits(planner->cx, target, (uint64_t)ticks, expr->pos, out);
    if (equality && memchr(text.ptr, ';', text.len) != NULL)
        return alm_fail(planner->cx, ALM_E_TIME, expr->pos,
                        "not a timestamp, use IN keyword with intervals");
    if (equality)
        return alm_fail(planner->cx, ALM_E_TIME, expr->pos, "invalid timestamp: %.*s",
                        (int)ALM_MIN(text.len, 100), text.ptr);
    return alm_fail(planner->cx, ALM_E_TIME, expr->pos, "Invalid date [str='%.*s']",
                    (int)ALM_MIN(text.len, 100), text.ptr);
}
