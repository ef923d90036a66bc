/* literal.c - literals and parameters as constants; texts that stand for times. */
#include "base/number.h"
#include "sql/bind/bind.h"
#include "time/timestamp.h"
#include "type/decimal.h"
#include "type/geohash.h"
#include "type/ops.h"

static alm_status integer(alm_planner *p, alm_str text, int32_t pos, bool is_long, alm_expr **out)
{
    int64_t v = 0;
    alm_num_parse got = alm_int64_parse(text, &v);
    if (got == ALM_NUM_OK && v == ALM_LONG_NULL) /* the least LONG is no number but the null */
        got = ALM_NUM_OVERFLOW;
    if (got == ALM_NUM_OVERFLOW && !is_long) {
        double d = 0;
        (void)alm_double_parse(text, &d);
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        return alm_expr_bits(p->cx, ALM_TY(DOUBLE), bits, pos, out);
    }
    if (got != ALM_NUM_OK)
        return alm_fail(p->cx, got == ALM_NUM_BAD ? ALM_E_SYNTAX : ALM_E_RANGE, pos,
                        "invalid constant: %.*s%s", (int)text.len, text.ptr, is_long ? "L" : "");
    if (!is_long && v <= INT32_MAX && v > INT32_MIN)
        return alm_expr_bits(p->cx, ALM_TY(INT), (uint64_t)v, pos, out);
    return alm_expr_bits(p->cx, ALM_TY(LONG), (uint64_t)v, pos, out);
}

/* A constant of a type of any fixed width. */
static alm_status wide_constant(alm_planner *p, alm_type type, const void *value, int32_t pos,
                                alm_expr **out)
{
    alm_vec v = {0};
    ALM_TRY(alm_vec_new(p->cx, p->cx->arena, type, 1, &v));
    memcpy(v.data, value, v.width);
    return alm_expr_const(p->cx, &v, pos, out);
}

static alm_status hexadecimal(alm_planner *p, alm_str digits, int32_t pos, alm_expr **out)
{
    alm_i256 v;
    if (!alm_long256_parse(digits, &v))
        return alm_fail(p->cx, ALM_E_SYNTAX, pos, "invalid constant: %.*s", (int)digits.len,
                        digits.ptr);
    return wide_constant(p, ALM_TY(LONG256), &v, pos, out);
}

/* 12.50m: as many digits as are written. */
static alm_status decimal(alm_planner *p, alm_str text, int32_t pos, alm_expr **out)
{
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    uint64_t value[4] = {0};
    if (!alm_decimal_parse(text, &x, &precision, &scale))
        return alm_fail(p->cx, ALM_E_SYNTAX, pos, "invalid decimal constant: %.*s", (int)text.len,
                        text.ptr);
    const alm_type type = alm_type_decimal(precision, scale);
    alm_decimal_store(type, x, value);
    return wide_constant(p, type, value, pos, out);
}

/* The digits of a number that is written without a suffix but d, its sign in front; empty: not one, or too long. */
static alm_str written_digits(const alm_ast *ast, char *buf, size_t size)
{
    size_t n = 0;
    if (ast->kind == ALM_AST_UNARY && alm_str_eq(ast->text, ALM_STR("-"))) {
        buf[n++] = '-';
        ast = ast->arg[0];
    }
    if (ast->kind != ALM_AST_NUMBER)
        return (alm_str){0};
    for (size_t i = 0; i < ast->text.len; i++) {
        if (ast->text.ptr[i] == '_')
            continue;
        if (n == size)
            return (alm_str){0};
        buf[n++] = ast->text.ptr[i];
    }
    if (n > 1 && (buf[n - 1] | 0x20) == 'd')
        n--;
    return (alm_str){buf, n > 0 && buf[n - 1] != 'm' && buf[n - 1] != 'M' ? n : 0};
}

alm_status alm_bind_written_decimal(alm_planner *p, const alm_ast *ast, alm_type to, alm_expr **out)
{
    char buf[400];
    const alm_str digits = written_digits(ast, buf, sizeof buf);
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    uint64_t value[4] = {0};
    *out = NULL;
    if (digits.len == 0 || !alm_decimal_parse(digits, &x, &precision, &scale) ||
        !alm_decimal_rescale(x, scale, to.s, ALM_ROUND_HALF_UP, &x) || !alm_decimal_fits(x, to.p))
        return ALM_OK; /* the cast of a value says what is wrong */
    alm_decimal_store(to, x, value);
    return wide_constant(p, to, value, ast->pos, out);
}

alm_status alm_bind_beside_decimal(alm_planner *p, const alm_expr *with, const alm_ast *ast,
                                   alm_expr **e)
{
    char buf[ALM_DECIMAL_TEXT_MAX + 20];
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    uint64_t value[4] = {0};
    if (with->type.id != ALM_T_DECIMAL || (*e)->kind != ALM_X_CONST ||
        (*e)->type.id != ALM_T_DOUBLE)
        return ALM_OK;
    const alm_str digits = written_digits(ast, buf, sizeof buf);
    if (digits.len == 0 || !alm_decimal_parse(digits, &x, &precision, &scale))
        return ALM_OK;
    const alm_type type = alm_type_decimal(precision, scale);
    alm_decimal_store(type, x, value);
    return wide_constant(p, type, value, ast->pos, e);
}

/* #u33d8, #u33d8/20 (bits of it), ##0110 */
alm_status alm_bind_geohash(alm_planner *p, const alm_ast *ast, alm_expr **out)
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
        return alm_fail(p->cx, ALM_E_SYNTAX, ast->pos, "invalid constant: %.*s", (int)text.len,
                        text.ptr);
    const alm_type type = alm_type_geohash(n);
    return alm_expr_bits(p->cx, type, (uint64_t)bits, ast->pos, out);
}

alm_status alm_bind_number(alm_planner *p, const alm_ast *ast, alm_expr **out)
{
    char small[64];
    char *text = small;
    const alm_str in = ast->text;
    if (in.len > sizeof small)
        ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, in.len, &text));
    size_t n = 0;
    bool fraction = false;
    for (size_t i = 0; i < in.len; i++) {
        if (in.ptr[i] == '_')
            continue;
        text[n++] = in.ptr[i];
        fraction |= in.ptr[i] == '.' || in.ptr[i] == 'e' || in.ptr[i] == 'E';
    }
    if (n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return hexadecimal(p, (alm_str){text, n}, ast->pos, out);
    const char last = n > 0 ? text[n - 1] : 0;
    const alm_str body = {text, n - 1};
    if (last == 'L' || last == 'l')
        return integer(p, body, ast->pos, true, out);
    if (last == 'm' || last == 'M')
        return decimal(p, body, ast->pos, out);
    if (last == 'f' || last == 'F') {
        float f = 0;
        if (alm_float_parse(body, &f) != ALM_NUM_OK)
            return alm_fail(p->cx, ALM_E_SYNTAX, ast->pos, "invalid constant: %.*s", (int)in.len,
                            in.ptr);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return alm_expr_bits(p->cx, ALM_TY(FLOAT), bits, ast->pos, out);
    }
    const bool is_double = last == 'd' || last == 'D';
    fraction |= alm_str_ieq((alm_str){text, n}, ALM_STR("nan"));
    if (!is_double && !fraction)
        return integer(p, (alm_str){text, n}, ast->pos, false, out);
    double d = 0;
    if (alm_double_parse(is_double ? body : (alm_str){text, n}, &d) != ALM_NUM_OK)
        return alm_fail(p->cx, ALM_E_SYNTAX, ast->pos, "invalid constant: %.*s", (int)in.len,
                        in.ptr);
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return alm_expr_bits(p->cx, ALM_TY(DOUBLE), bits, ast->pos, out);
}

/* The UTF-16 unit of a text that is one character of the basic plane; 0: it is not. */
static uint16_t single_char(alm_str t)
{
    const uint8_t *b = (const uint8_t *)t.ptr;
    if (t.len == 1 && b[0] < 0x80)
        return b[0];
    if (t.len == 2 && (b[0] & 0xE0) == 0xC0)
        return (uint16_t)((b[0] & 0x1F) << 6 | (b[1] & 0x3F));
    if (t.len == 3 && (b[0] & 0xF0) == 0xE0)
        return (uint16_t)((b[0] & 0x0F) << 12 | (b[1] & 0x3F) << 6 | (b[2] & 0x3F));
    return 0;
}

alm_status alm_bind_string(alm_planner *p, alm_str text, int32_t pos, alm_expr **out)
{
    const uint16_t c = single_char(text);
    if (c != 0)
        return alm_expr_bits(p->cx, ALM_TY(CHAR), c, pos, out);
    if (text.ptr == NULL)
        text.ptr = ""; /* an empty text is not null */
    return alm_expr_text(p->cx, ALM_TY(STRING), text, pos, out);
}

alm_status alm_bind_param(alm_planner *p, const alm_ast *ast, alm_expr **out)
{
    const int64_t number = ast->number - 1;
    if (number < 0 || number >= (int64_t)p->env->n_params)
        return alm_fail(p->cx, ALM_E_PARAM, ast->pos, "undefined bind variable: $%lld",
                        (long long)ast->number);
    alm_param *param = &p->env->params[number];
    if (param->pos == 0) /* no statement begins with a parameter */
        param->pos = ast->pos;
    if (p->env->as_template)
        p->env->uses->open++;
    else if (param->value != NULL) {
        ALM_TRY(alm_expr_const(p->cx, param->value, ast->pos, out));
        (*out)->bound = true;
        return ALM_OK;
    }
    alm_expr *e = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &e));
    e->kind = ALM_X_PARAM;
    e->type = param->type;
    e->col = (uint32_t)number;
    e->pos = ast->pos;
    *out = e;
    return ALM_OK;
}

alm_status alm_bind_time(alm_planner *p, alm_expr *e, alm_type to, bool equality, alm_expr **out)
{
    bool is_text = false;
    alm_str text = {0};
    *out = e;
    if (alm_expr_unknown(e))
        return alm_param_infer(p, out, to);
    ALM_TRY(alm_expr_string(p->cx, e, &is_text, &text));
    if (!is_text) {
        if (e->type.id == ALM_T_NULL || (alm_expr_is_null(e) && alm_type_is_text(e->type)))
            return alm_expr_null(p->cx, to, e->pos, out);
        return ALM_OK;
    }
    int64_t ticks = 0;
    if (alm_time_read(text, alm_type_unit(to), &ticks))
        return alm_expr_bits(p->cx, to, (uint64_t)ticks, e->pos, out);
    if (equality && memchr(text.ptr, ';', text.len) != NULL)
        return alm_fail(p->cx, ALM_E_TIME, e->pos,
                        "not a timestamp, use IN keyword with intervals");
    if (equality)
        return alm_fail(p->cx, ALM_E_TIME, e->pos, "invalid timestamp: %.*s",
                        (int)ALM_MIN(text.len, 100), text.ptr);
    return alm_fail(p->cx, ALM_E_TIME, e->pos, "Invalid date [str='%.*s']",
                    (int)ALM_MIN(text.len, 100), text.ptr);
}
