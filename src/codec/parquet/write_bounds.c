/* write_bounds.c - see write_bounds.h. */
#include "codec/parquet/write_bounds.h"

#include "base/utf8.h"

/* -------------------------------------------------------------------------- numbers */

static void write_bounds_set(alm_pq_bound *bound, const void *value, size_t n)
{
    ALM_ASSERT(n <= ALM_PQ_BOUND_BYTES);
    bound->set = true;
    bound->inexact = false;
    bound->len = (uint8_t)n;
    (void)memcpy(bound->bytes, value, n);
}

#define DEFINE_BOUNDS(name, type)                                                                  \
    ALM_SIMD static void name(const void *data, size_t n, alm_pq_minmax *out)                      \
    {                                                                                              \
        const type *x = data;                                                                      \
        type least = x[0], most = x[0];                                                            \
        for (size_t i = 1; i < n; i++) {                                                           \
            least = x[i] < least ? x[i] : least;                                                   \
            most = x[i] > most ? x[i] : most;                                                      \
        }                                                                                          \
        write_bounds_set(&out->min, &least, sizeof least);                                         \
        write_bounds_set(&out->max, &most, sizeof most);                                           \
    }
DEFINE_BOUNDS(bounds_u8, uint8_t)
DEFINE_BOUNDS(bounds_i32, int32_t)
DEFINE_BOUNDS(bounds_u32, uint32_t)
DEFINE_BOUNDS(bounds_i64, int64_t)

/* NaN is a null, and not among the values. */
#define DEFINE_FLOAT_BOUNDS(name, type)                                                            \
    ALM_SIMD static void name(const void *data, size_t n, alm_pq_minmax *out)                      \
    {                                                                                              \
        const type *x = data;                                                                      \
        type least = x[0], most = x[0];                                                            \
        for (size_t i = 1; i < n; i++) {                                                           \
            least = x[i] < least ? x[i] : least;                                                   \
            most = x[i] > most ? x[i] : most;                                                      \
        }                                                                                          \
        least = least == 0 ? (type) - 0.0 : least;                                                 \
        most = most == 0 ? (type)0.0 : most;                                                       \
        write_bounds_set(&out->min, &least, sizeof least);                                         \
        write_bounds_set(&out->max, &most, sizeof most);                                           \
    }
DEFINE_FLOAT_BOUNDS(bounds_float, float)
DEFINE_FLOAT_BOUNDS(bounds_double, double)

/* -------------------------------------------------------------------------- bytes */

static int compare_signed(const char *a, const char *b, size_t n)
{
    const int8_t first_a = (int8_t)a[0], first_b = (int8_t)b[0];
    if (first_a != first_b)
        return first_a < first_b ? -1 : 1;
    return memcmp(a, b, n);
}

static void bounds_fixed(alm_pq_order order, uint32_t width, const char *data, size_t n,
                         alm_pq_minmax *out)
{
    const char *least = data, *most = data;
    for (size_t i = 1; i < n; i++) {
        const char *ptr = data + i * width;
        if (order == ALM_PQ_ORDER_BYTES) {
            least = memcmp(ptr, least, width) < 0 ? ptr : least;
            most = memcmp(ptr, most, width) > 0 ? ptr : most;
        } else {
            least = compare_signed(ptr, least, width) < 0 ? ptr : least;
            most = compare_signed(ptr, most, width) > 0 ? ptr : most;
        }
    }
    write_bounds_set(&out->min, least, width);
    write_bounds_set(&out->max, most, width);
}

void alm_pq_minmax_of(alm_pq_order order, uint32_t width, const void *data, size_t n,
                      alm_pq_minmax *out)
{
    ALM_ASSERT(n > 0);
    switch (order) {
    case ALM_PQ_ORDER_NONE:
        break;
    case ALM_PQ_ORDER_BOOL:
        bounds_u8(data, n, out);
        break;
    case ALM_PQ_ORDER_INT32:
        bounds_i32(data, n, out);
        break;
    case ALM_PQ_ORDER_UINT32:
        bounds_u32(data, n, out);
        break;
    case ALM_PQ_ORDER_INT64:
        bounds_i64(data, n, out);
        break;
    case ALM_PQ_ORDER_FLOAT:
        bounds_float(data, n, out);
        break;
    case ALM_PQ_ORDER_DOUBLE:
        bounds_double(data, n, out);
        break;
    case ALM_PQ_ORDER_BYTES:
    case ALM_PQ_ORDER_SIGNED_BYTES:
        bounds_fixed(order, width, data, n, out);
        break;
    case ALM_PQ_ORDER_TEXT:
        ALM_UNREACHABLE("texts have bounds of their own");
    }
}

/* -------------------------------------------------------------------------- texts */

/* Where the last character of text[0 .. n) begins, n > 0. */
static size_t last_character(const char *text, size_t n)
{
    size_t offset = n - 1;
    while (offset > 0 && ((uint8_t)text[offset] & 0xC0) == 0x80)
        offset--;
    return offset;
}

/* A beginning of at most ALM_PQ_BOUND_BYTES, of whole characters where it is UTF-8. */
static size_t write_bounds_cut(alm_pq_order order, alm_str text)
{
    size_t n = ALM_PQ_BOUND_BYTES;
    if (order == ALM_PQ_ORDER_TEXT)
        while (n > 0 && ((uint8_t)text.ptr[n] & 0xC0) == 0x80)
            n--;
    return n;
}

/* The least text above all that begin with bytes[0 .. n): its last character that has a next one becomes that. */
static size_t next_text(char *bytes, size_t n)
{
    while (n > 0) {
        const size_t offset = last_character(bytes, n);
        size_t from = offset;
        uint32_t c = alm_utf8_next((alm_str){bytes, n}, &from) + 1;
        char room[4];
        if (c == 0xD800)
            c = 0xE000; /* surrogates are no characters */
        if (c <= 0x10FFFF) {
            const size_t len = alm_utf8_put(c, room);
            if (offset + len <= ALM_PQ_BOUND_BYTES) {
                (void)memcpy(bytes + offset, room, len);
                return offset + len;
            }
        }
        n = offset;
    }
    return 0;
}

static size_t next_bytes(char *bytes, size_t n)
{
    while (n > 0 && (uint8_t)bytes[n - 1] == UINT8_MAX)
        n--;
    if (n > 0)
        bytes[n - 1] = (char)((uint8_t)bytes[n - 1] + 1);
    return n;
}

void alm_pq_minmax_of_texts(alm_pq_order order, alm_str min, alm_str max, alm_pq_minmax *out)
{
    if (min.len <= ALM_PQ_BOUND_BYTES) {
        write_bounds_set(&out->min, min.ptr, min.len);
    } else {
        write_bounds_set(&out->min, min.ptr, write_bounds_cut(order, min));
        out->min.inexact = true;
    }
    if (max.len <= ALM_PQ_BOUND_BYTES) {
        write_bounds_set(&out->max, max.ptr, max.len);
        return;
    }
    write_bounds_set(&out->max, max.ptr, write_bounds_cut(order, max));
    out->max.inexact = true;
    out->max.len = (uint8_t)(order == ALM_PQ_ORDER_TEXT ? next_text(out->max.bytes, out->max.len)
                                                        : next_bytes(out->max.bytes, out->max.len));
    out->max.set = out->max.len > 0; /* nothing is above: no bound */
}

/* -------------------------------------------------------------------------- together */

#define COMPARE(type)                                                                              \
    do {                                                                                           \
        type x, y;                                                                                 \
        (void)memcpy(&x, a->bytes, sizeof x);                                                      \
        (void)memcpy(&y, b->bytes, sizeof y);                                                      \
        return (x > y) - (x < y);                                                                  \
    } while (0)

int alm_pq_bound_compare(alm_pq_order order, const alm_pq_bound *a, const alm_pq_bound *b)
{
    switch (order) {
    case ALM_PQ_ORDER_BOOL:
        COMPARE(uint8_t);
    case ALM_PQ_ORDER_INT32:
        COMPARE(int32_t);
    case ALM_PQ_ORDER_UINT32:
        COMPARE(uint32_t);
    case ALM_PQ_ORDER_INT64:
        COMPARE(int64_t);
    case ALM_PQ_ORDER_FLOAT:
        COMPARE(float);
    case ALM_PQ_ORDER_DOUBLE:
        COMPARE(double);
    case ALM_PQ_ORDER_SIGNED_BYTES:
        return compare_signed(a->bytes, b->bytes, a->len);
    case ALM_PQ_ORDER_NONE:
    case ALM_PQ_ORDER_BYTES:
    case ALM_PQ_ORDER_TEXT:
        break;
    }
    return alm_str_cmp((alm_str){a->bytes, a->len}, (alm_str){b->bytes, b->len});
}

void alm_pq_minmax_join(alm_pq_order order, alm_pq_minmax *into, const alm_pq_minmax *more)
{
    if (!into->min.set ||
        (more->min.set && alm_pq_bound_compare(order, &more->min, &into->min) < 0))
        into->min = more->min;
    if (!into->max.set ||
        (more->max.set && alm_pq_bound_compare(order, &more->max, &into->max) > 0))
        into->max = more->max;
}
