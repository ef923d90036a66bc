/*
 * net.c - UUID, IPv4 and INTERVAL as text and back.
 *
 * Null rule   Null to null. A text that is no address: an error where it is a constant or where the
 *             cast is strict, else null.
 */
#include "func/cast/value.h"
#include "func/value/args.h"
#include "func/value/dict.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "type/ops.h"

/* ----------------------------------------------------------- values to text */

alm_status alm_cast_value_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    const alm_type type = args[0].type;
    const alm_type_ops *ops = alm_type_info_of(type)->ops;
    const char *ptr = args[0].data;
    const size_t step = args[0].is_const ? 0 : args[0].width;
    for (size_t i = 0; i < n_rows; i++, ptr += step) {
        char *pos;
        views[i] = alm_view_null();
        ALM_TRY(alm_text_room(&writer, ALM_VALUE_TEXT_MAX, &pos));
        const size_t len = ops->format(type, ptr, ALM_TEXT_DIALECT, pos);
        if (len > 0)
            views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* ----------------------------------------------------------- text to values */

static bool read_uuid(alm_str text, alm_uuid *out)
{
    return alm_uuid_parse(text, out);
}
static bool read_ipv4(alm_str text, uint32_t *out)
{
    return alm_ipv4_parse(text, out);
}

static alm_status bind_constant(alm_ctx *cx, const alm_arg *arg, alm_type target,
                                const char *message)
{
    alm_str text;
    uint64_t value[2];
    if (arg->value == NULL)
        return ALM_OK;
    ALM_TRY(alm_arg_text(cx, arg, &text));
    if (text.len > 0 && alm_value_scan(target, text, value) != ALM_SCAN_OK)
        return alm_fail(cx, ALM_E_VALUE, arg->pos, "%s", message);
    return ALM_OK;
}

static alm_status bind_uuid(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            ALM_UNUSED void **data)
{
    return bind_constant(cx, &args[0], ALM_TY(UUID), "invalid UUID constant");
}

static alm_status bind_ipv4(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            ALM_UNUSED void **data)
{
    return bind_constant(cx, &args[0], ALM_TY(IPV4), "invalid IPv4 constant");
}

#define FROM_TEXT(name, T, none, read)                                                             \
    static alm_status name##_read(const alm_call *call, size_t n, const alm_vec *args,             \
                                  alm_vec *out, bool strict)                                       \
    {                                                                                              \
        T *o = out->data;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_str text = alm_vec_text(&args[0], i);                                        \
            o[i] = (none);                                                                         \
            if (text.ptr == NULL || read(text, &o[i]))                                             \
                continue;                                                                          \
            o[i] = (none);                                                                         \
            if (strict)                                                                            \
                return alm_fail(call->cx, ALM_E_VALUE, call->pos,                                  \
                                "inconvertible value: `%.*s` [%s -> %s]",                          \
                                (int)ALM_MIN(text.len, (size_t)100), text.ptr,                     \
                                alm_type_name(args[0].type), alm_type_name(out->type));            \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        return name##_read(call, n, args, out, false);                                             \
    }                                                                                              \
    static alm_status name##_strict(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)   \
    {                                                                                              \
        return name##_read(call, n, args, out, true);                                              \
    }
FROM_TEXT(text_to_uuid, alm_uuid, ((alm_uuid){(uint64_t)ALM_LONG_NULL, (uint64_t)ALM_LONG_NULL}),
          read_uuid)
FROM_TEXT(text_to_ipv4, uint32_t, 0, read_ipv4)

/* -------------------------------------------------------------------- rows */

#define FROM(text)                                                                                 \
    ALM_CAST_ROW("::uuid", text, "UUID", bind_uuid, text_to_uuid),                                 \
        ALM_CAST_ROW("=>uuid", text, "UUID", NULL, text_to_uuid_strict),                           \
        ALM_CAST_ROW("::ipv4", text, "IPv4", bind_ipv4, text_to_ipv4),                             \
        ALM_CAST_ROW("=>ipv4", text, "IPv4", NULL, text_to_ipv4_strict)

static const alm_fn ROWS[] = {
    ALM_CASTS_TO_TEXT("UUID"),
    ALM_CASTS_TO_TEXT("IPv4"),
    ALM_CASTS_TO_TEXT("INTERVAL"),
    FROM("STRING"),
    FROM("VARCHAR"),
    FROM("SYMBOL"),
};
ALM_FN_TABLE(cast_net, ROWS);
