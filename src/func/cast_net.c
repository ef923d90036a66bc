/*
 * cast_net.c - UUID, IPv4 and INTERVAL as text and back; networks: netmask, << <<= >> >>=.
 *
 * Null rule   Null to null. A text that is no address: an error where it is a constant or where the
 *             cast is strict, else null.
 */
#include "func/args.h"
#include "func/cast_value.h"
#include "func/dict.h"
#include "func/kernel.h"
#include "func/tables.h"
#include "func/text_out.h"
#include "type/text.h"

/* ----------------------------------------------------------- values to text */

alm_status alm_cast_value_text(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    alm_text_out w = alm_text_out_of(call);
    alm_view *o = out->data;
    for (size_t i = 0; i < n; i++) {
        char *p;
        alm_str text;
        o[i] = alm_view_null();
        ALM_TRY(alm_text_room(&w, ALM_VALUE_TEXT_MAX, &p));
        char scratch[ALM_VALUE_TEXT_MAX];
        if (!alm_value_text(&args[0], i, ALM_TEXT_DIALECT, scratch, &text))
            continue;
        memcpy(p, text.ptr, text.len);
        o[i] = alm_text_take(&w, text.len);
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

static alm_status bind_constant(alm_ctx *cx, const alm_arg *arg, alm_type to, const char *message)
{
    alm_str text;
    uint64_t value[2];
    if (arg->value == NULL)
        return ALM_OK;
    ALM_TRY(alm_arg_text(cx, arg, &text));
    if (text.ptr != NULL && alm_value_scan(to, text, value) != ALM_SCAN_OK)
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

/* ---------------------------------------------------------------- networks */

typedef struct network {
    uint32_t base, mask;
    uint8_t bits;
    bool ok;
} network;

/* "10.0.0.0/8", "10.0.0.1" (32 bits) */
static bool parse_network(alm_str text, network *out)
{
    const char *slash = memchr(text.ptr, '/', text.len);
    const size_t address = slash == NULL ? text.len : (size_t)(slash - text.ptr);
    int bits = slash == NULL ? 32 : -1;
    for (const char *p = slash == NULL ? NULL : slash + 1; p != NULL && p < text.ptr + text.len;
         p++) {
        if (*p < '0' || *p > '9' || p - slash > 2)
            return false;
        bits = (bits < 0 ? 0 : bits * 10) + (*p - '0');
    }
    if (bits < 0 || bits > 32)
        return false;
    uint32_t base = 0;
    const alm_str host = {text.ptr, address};
    if (!alm_ipv4_parse(host, &base) && !alm_str_eq(host, ALM_STR("0.0.0.0")))
        return false;
    out->mask = bits == 0 ? 0 : UINT32_MAX << (32 - bits);
    out->base = base & out->mask;
    out->bits = (uint8_t)bits;
    out->ok = true;
    return true;
}

static alm_status bind_network(alm_ctx *cx, const alm_arg *arg, void **data)
{
    alm_str text;
    network *net = NULL;
    if (arg->value == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &net));
    ALM_TRY(alm_arg_text(cx, arg, &text));
    if (text.ptr != NULL && !parse_network(text, net))
        return alm_fail(cx, ALM_E_ARG, arg->pos, "invalid argument: %.*s",
                        (int)ALM_MIN(text.len, (size_t)60), text.ptr);
    *data = net;
    return ALM_OK;
}

static alm_status bind_second(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                              ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                              void **data)
{
    return bind_network(cx, &args[1], data);
}

static alm_status bind_first(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                             ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                             void **data)
{
    return bind_network(cx, &args[0], data);
}

/* An address equal to a network of 32 bits is not strictly inside it. */
static ALM_SIMD void inside(const uint32_t *restrict a, const uint32_t base, const uint32_t mask,
                            uint8_t *restrict o, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o[i] = (uint8_t)(((a[i] & mask) == base) & (a[i] != 0));
}

static alm_status contained(const alm_call *call, size_t n, const alm_vec *ip, alm_vec *out,
                            bool or_equal)
{
    const network *net = call->data;
    if (net == NULL || !net->ok || (net->bits == 32 && !or_equal))
        memset(out->data, 0, n);
    else if (!ip->is_const || n == 1)
        inside(ip->data, net->base, net->mask, out->data, n);
    else
        for (size_t i = 0; i < n; i++)
            inside(ip->data, net->base, net->mask, (uint8_t *)out->data + i, 1);
    return ALM_OK;
}

#define CONTAINED(name, which, or_equal)                                                           \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        return contained(call, n, &args[which], out, or_equal);                                    \
    }
CONTAINED(within, 0, false)
CONTAINED(within_equal, 0, true)
CONTAINED(contains, 1, false)
CONTAINED(contains_equal, 1, true)

static alm_status netmask(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    uint32_t *o = out->data;
    for (size_t i = 0; i < n; i++) {
        network net = {0};
        const alm_str text = alm_vec_text(&args[0], i);
        o[i] = text.ptr != NULL && parse_network(text, &net) ? net.mask : 0;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define FROM(text)                                                                                 \
    ALM_CAST_ROW("::uuid", text, "UUID", bind_uuid, text_to_uuid),                                 \
        ALM_CAST_ROW("=>uuid", text, "UUID", NULL, text_to_uuid_strict),                           \
        ALM_CAST_ROW("::ipv4", text, "IPv4", bind_ipv4, text_to_ipv4),                             \
        ALM_CAST_ROW("=>ipv4", text, "IPv4", NULL, text_to_ipv4_strict)
#define NET(op, sig, bind_, kernel_, doc_, example_)                                               \
    {.name = op,                                                                                   \
     .signature = sig " BOOLEAN",                                                                  \
     .flags = ALM_FN_INTERNAL | ALM_FN_NULL_OUT,                                                   \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ALM_CASTS_TO_TEXT("UUID"),
    ALM_CASTS_TO_TEXT("IPv4"),
    ALM_CASTS_TO_TEXT("INTERVAL"),
    FROM("STRING"),
    FROM("VARCHAR"),
    FROM("SYMBOL"),
    NET("<<", "(IPv4, TEXT const)", bind_second, within, "Address inside a network.",
        "ip << '10.0.0.0/8'"),
    NET("<<=", "(IPv4, TEXT const)", bind_second, within_equal,
        "Address inside a network, or equal.", "ip <<= '10.0.0.0/8'"),
    NET(">>", "(TEXT const, IPv4)", bind_first, contains, "Network around an address.",
        "'10.0.0.0/8' >> ip"),
    NET(">>=", "(TEXT const, IPv4)", bind_first, contains_equal,
        "Network around an address, or equal.", "'10.0.0.0/8' >>= ip"),
    {.name = "netmask",
     .signature = "(TEXT) IPv4",
     .flags = ALM_FN_NULL_OUT,
     .kernel = netmask,
     .doc = "Mask of a network.",
     .example = "netmask('10.0.0.0/16')",
     .since = "0.1"},
};
ALM_FN_TABLE(cast_net, ROWS);
