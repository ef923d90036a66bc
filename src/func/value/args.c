/*
 * args.c - see args.h. Control plane: one value at a time, at bind.
 */
#include "func/value/args.h"

#include "base/utf8.h"
#include "time/timestamp.h"
#include "type/decimal.h"
#include "type/ops.h"
#include "type/text.h"

alm_status alm_arg_text(alm_ctx *cx, const alm_arg *arg, alm_str *out)
{
    const alm_vec *vec = arg->value;
    *out = (alm_str){0};
    if (vec->type.id == ALM_T_NULL)
        return ALM_OK;
    if (alm_type_is_text(vec->type)) {
        *out = alm_vec_text(vec, 0);
        return ALM_OK;
    }
    if (vec->type.id != ALM_T_CHAR)
        return alm_fail(cx, ALM_E_TYPE, arg->pos, "STRING expected, found %s",
                        alm_type_name(vec->type));
    const uint16_t unit = *(const uint16_t *)vec->data;
    if (unit == 0)
        return ALM_OK;
    char *bytes = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, 4, &bytes));
    *out = (alm_str){bytes, alm_utf8_from_unit(unit, bytes)};
    return ALM_OK;
}

/* Integers and times as they are stored; false: not of this kind, or null. */
static bool args_as_long(const alm_vec *vec, int64_t *out)
{
    if (vec->type.id == ALM_T_NULL || alm_vec_is_null(vec, 0))
        return false;
    const alm_type_class cls = alm_type_info_of(vec->type)->cls;
    if (cls != ALM_TC_INTEGER && cls != ALM_TC_TIME && cls != ALM_TC_BOOL)
        return false;
    switch (vec->width) {
    case 1:
        *out = *(const int8_t *)vec->data;
        return true;
    case 2:
        *out = *(const int16_t *)vec->data;
        return true;
    case 4:
        *out = *(const int32_t *)vec->data;
        return true;
    case 8:
        *out = *(const int64_t *)vec->data;
        return true;
    default:
        break;
    }
    return false;
}

static bool args_as_double(const alm_vec *vec, double *out)
{
    int64_t whole;
    if (vec->type.id == ALM_T_DOUBLE)
        *out = *(const double *)vec->data;
    else if (vec->type.id == ALM_T_FLOAT)
        *out = (double)*(const float *)vec->data;
    else if (args_as_long(vec, &whole))
        *out = (double)whole;
    else
        return false;
    return *out == *out;
}

static bool args_is_null(const alm_arg *arg)
{
    return arg->value->type.id == ALM_T_NULL || alm_vec_is_null(arg->value, 0);
}

static bool args_is_texty(alm_type type)
{
    return alm_type_is_text(type) || type.id == ALM_T_CHAR;
}

alm_status alm_arg_long(alm_ctx *cx, const alm_arg *arg, int64_t *out)
{
    double real;
    *out = ALM_LONG_NULL;
    if (args_is_null(arg) || args_as_long(arg->value, out))
        return ALM_OK;
    if (args_is_texty(arg->value->type)) {
        alm_str text;
        ALM_TRY(alm_arg_text(cx, arg, &text));
        return alm_value_parse(cx, arg->pos, ALM_TY(LONG), text, out);
    }
    if (!args_as_double(arg->value, &real))
        return alm_fail(cx, ALM_E_TYPE, arg->pos, "a number is expected, found %s",
                        alm_type_name(arg->value->type));
    *out = real > -9e18 && real < 9e18 ? (int64_t)real : ALM_LONG_NULL;
    return ALM_OK;
}

alm_status alm_arg_double(alm_ctx *cx, const alm_arg *arg, double *out)
{
    *out = __builtin_nan("");
    if (args_is_null(arg) || args_as_double(arg->value, out))
        return ALM_OK;
    if (!args_is_texty(arg->value->type))
        return alm_fail(cx, ALM_E_TYPE, arg->pos, "a number is expected, found %s",
                        alm_type_name(arg->value->type));
    alm_str text;
    ALM_TRY(alm_arg_text(cx, arg, &text));
    return alm_value_parse(cx, arg->pos, ALM_TY(DOUBLE), text, out);
}

/* A whole number into the width of `target`; false: it does not fit. */
static bool store_long(int64_t value, alm_type target, void *out)
{
    const uint32_t width = alm_type_width(target);
    const int64_t limit = width == 8 ? INT64_MAX : (INT64_C(1) << (8 * width - 1)) - 1;
    if (value > limit || value < -limit - (width < 4))
        return false;
    memcpy(out, &value, width); /* little-endian */
    return true;
}

/* Numbers as a DECIMAL without loss. */
static bool store_decimal(const alm_vec *vec, alm_type target, void *out)
{
    int64_t whole = 0;
    double real = 0;
    alm_i256 value;
    uint32_t scale = 0;
    if (vec->type.id == ALM_T_DECIMAL) {
        value = alm_decimal_load(vec->type, vec->data);
        scale = vec->type.s;
    } else if (args_as_long(vec, &whole)) {
        value = alm_i256_of(whole);
    } else if (args_as_double(vec, &real)) {
        if (!alm_decimal_of_double(real, target.s, &value) ||
            alm_decimal_to_double(value, target.s) != real)
            return false;
        scale = target.s;
    } else {
        return false;
    }
    if (!alm_decimal_rescale(value, scale, target.s, ALM_ROUND_EXACT, &value) ||
        !alm_decimal_fits(value, target.p == 0 ? 18 : target.p))
        return false;
    alm_decimal_store(target, value, out);
    return true;
}

static bool store_number(const alm_vec *vec, alm_type target, void *out)
{
    const alm_type_class cls = alm_type_info_of(target)->cls;
    int64_t whole;
    double real;
    if (args_as_long(vec, &whole)) {
        if (alm_type_info_of(vec->type)->cls == ALM_TC_TIME && cls == ALM_TC_TIME)
            whole = alm_time_rescale(whole, alm_type_unit(vec->type), alm_type_unit(target));
        if (cls == ALM_TC_INTEGER || cls == ALM_TC_TIME || cls == ALM_TC_BOOL)
            return store_long(whole, target, out);
    }
    if (!args_as_double(vec, &real))
        return false;
    if (target.id == ALM_T_DOUBLE) {
        memcpy(out, &real, sizeof real);
        return true;
    }
    if (target.id == ALM_T_FLOAT) {
        const float single = (float)real;
        memcpy(out, &single, sizeof single);
        return (double)single == real;
    }
    return cls == ALM_TC_INTEGER && real > -9e18 && real < 9e18 && (double)(int64_t)real == real &&
           store_long((int64_t)real, target, out);
}

alm_status alm_arg_value(alm_ctx *cx, const alm_arg *arg, alm_type target, void *out, bool *fits)
{
    *fits = true;
    if (args_is_null(arg)) {
        alm_vec null = {0};
        ALM_TRY(alm_vec_null(cx, cx->arena, target, &null));
        memcpy(out, null.data, null.width);
        return ALM_OK;
    }
    if (args_is_texty(arg->value->type)) {
        alm_str text;
        ALM_TRY(alm_arg_text(cx, arg, &text));
        if (alm_type_is_text(target)) {
            const alm_view view = alm_view_of(text);
            memcpy(out, &view, sizeof view);
            return ALM_OK;
        }
        return alm_value_parse(cx, arg->pos, target, text, out);
    }
    if (alm_type_eq(arg->value->type, target)) {
        memcpy(out, arg->value->data, arg->value->width);
        return ALM_OK;
    }
    *fits = target.id == ALM_T_DECIMAL ? store_decimal(arg->value, target, out)
                                       : store_number(arg->value, target, out);
    return ALM_OK;
}
