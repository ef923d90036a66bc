/*
 * network.c - networks of IPv4 (netmask, << <<= >> >>=) and to_uuid.
 *
 * Null rule   Null to null, or false. A text that is no network: an error where it is a constant, else
 *             false or null.
 */
#include "func/scalar/network.h"

#include "func/value/args.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/text.h"

/* ---------------------------------------------------------------- networks */

bool alm_network_parse(alm_str text, alm_network *out)
{
    const char *slash = memchr(text.ptr, '/', text.len);
    const size_t address = slash == NULL ? text.len : (size_t)(slash - text.ptr);
    int bits = slash == NULL ? 32 : -1;
    for (const char *ptr = slash == NULL ? NULL : slash + 1;
         ptr != NULL && ptr < text.ptr + text.len; ptr++) {
        if (*ptr < '0' || *ptr > '9' || ptr - slash > 2)
            return false;
        bits = (bits < 0 ? 0 : bits * 10) + (*ptr - '0');
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

static alm_status scalar_bind_network(alm_ctx *cx, const alm_arg *arg, void **data)
{
    alm_str text;
    alm_network *net = NULL;
    if (arg->value == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &net));
    ALM_TRY(alm_arg_text(cx, arg, &text));
    if (text.ptr != NULL && !alm_network_parse(text, net))
        return alm_fail(cx, ALM_E_ARG, arg->pos, "invalid argument: %.*s",
                        (int)ALM_MIN(text.len, (size_t)60), text.ptr);
    *data = net;
    return ALM_OK;
}

static alm_status network_bind_second(alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                      ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                      alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    return scalar_bind_network(cx, &args[1], data);
}

static alm_status network_bind_first(alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                     ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                     alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    return scalar_bind_network(cx, &args[0], data);
}

/* An address equal to a network of 32 bits is not strictly inside it. */
static ALM_SIMD void network_inside(const uint32_t *restrict a, const uint32_t base,
                                    const uint32_t mask, uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(((a[i] & mask) == base) & (a[i] != 0));
}

/* The networks are of a column. */
static void each_inside(size_t n_rows, const alm_vec *vec, const alm_vec *text, uint8_t *out,
                        bool or_equal)
{
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str name = alm_vec_text(text, i);
        const uint32_t address = ALM_AT(uint32_t, *vec, i);
        alm_network net = {0};
        out[i] = 0;
        if (name.ptr != NULL && alm_network_parse(name, &net) && (net.bits < 32 || or_equal))
            network_inside(&address, net.base, net.mask, &out[i], 1);
    }
}

static alm_status contained(const alm_call *call, size_t n_rows, const alm_vec *vec,
                            const alm_vec *text, alm_vec *out, bool or_equal)
{
    const alm_network *net = call->data;
    if (net == NULL)
        each_inside(n_rows, vec, text, out->data, or_equal);
    else if (!net->ok || (net->bits == 32 && !or_equal))
        memset(out->data, 0, n_rows);
    else if (!vec->is_const || n_rows == 1)
        network_inside(vec->data, net->base, net->mask, out->data, n_rows);
    else
        for (size_t i = 0; i < n_rows; i++)
            network_inside(vec->data, net->base, net->mask, (uint8_t *)out->data + i, 1);
    return ALM_OK;
}

#define CONTAINED(name, which, or_equal)                                                           \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        return contained(call, n, &args[which], &args[1 - (which)], out, or_equal);                \
    }
CONTAINED(network_within, 0, false)
CONTAINED(within_equal, 0, true)
CONTAINED(network_contains, 1, false)
CONTAINED(contains_equal, 1, true)

static alm_status netmask(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                          alm_vec *out)
{
    uint32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        alm_network net = {0};
        const alm_str text = alm_vec_text(&args[0], i);
        results[i] = text.ptr != NULL && alm_network_parse(text, &net) ? net.mask : 0;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- to_uuid */

typedef struct uuid_halves {
    uint64_t hi, lo;
} uuid_halves;

static alm_status to_uuid(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                          alm_vec *out)
{
    uuid_halves *halves = out->data;
    const uint64_t *lo = args[0].data, *hi = args[1].data;
    for (size_t i = 0; i < n_rows; i++)
        halves[i] =
            (uuid_halves){.hi = hi[args[1].is_const ? 0 : i], .lo = lo[args[0].is_const ? 0 : i]};
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

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
    NET("<<", "(IPv4, TEXT)", network_bind_second, network_within, "Address inside a network.",
        "'10.1.2.3'::ipv4 << '10.0.0.0/8'"),
    NET("<<=", "(IPv4, TEXT)", network_bind_second, within_equal,
        "Address inside a network, or equal.", "'10.1.2.3'::ipv4 <<= '10.0.0.0/8'"),
    NET(">>", "(TEXT, IPv4)", network_bind_first, network_contains, "Network around an address.",
        "'10.0.0.0/8' >> '10.1.2.3'::ipv4"),
    NET(">>=", "(TEXT, IPv4)", network_bind_first, contains_equal,
        "Network around an address, or equal.", "'10.0.0.0/8' >>= '10.1.2.3'::ipv4"),
    {.name = "netmask",
     .signature = "(TEXT) IPv4",
     .flags = ALM_FN_NULL_OUT,
     .kernel = netmask,
     .doc = "Mask of a network.",
     .example = "netmask('10.0.0.0/16')",
     .since = "0.1"},
    {.name = "to_uuid",
     .signature = "(LONG, LONG) UUID",
     .kernel = to_uuid,
     .doc = "UUID of its low and its high half; null where both are.",
     .example = "to_uuid(1, 2)",
     .since = "0.1"},
};
ALM_FN_TABLE(network, ROWS);
