/*
 * geohash.c - see geohash.h.
 */
#include "type/geohash.h"

#include "type/ops.h"

static const char LETTERS[] = "0123456789bcdefghjkmnpqrstuvwxyz";

size_t alm_geohash_format(int64_t bits, uint32_t n, char out[ALM_GEOHASH_TEXT_MAX])
{
    const uint32_t step = n % 5 == 0 ? 5 : 1;
    size_t len = 0;
    for (uint32_t left = n; left > 0; left -= step) {
        const uint64_t digit = (uint64_t)bits >> (left - step) & ((1U << step) - 1);
        out[len++] = step == 5 ? LETTERS[digit] : (char)('0' + digit);
    }
    return len;
}

bool alm_geohash_parse(alm_str text, int64_t *bits, uint32_t *n)
{
    if (text.len < 1 || text.len > ALM_GEOHASH_BITS_MAX / 5)
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char byte = text.ptr[i];
        const char lower = byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
        const char *ptr = lower == '\0' ? NULL : strchr(LETTERS, lower);
        if (ptr == NULL)
            return false;
        value = value << 5 | (ptr - LETTERS);
    }
    *bits = value;
    *n = (uint32_t)text.len * 5;
    return true;
}

bool alm_geohash_parse_bits(alm_str text, int64_t *bits, uint32_t *n)
{
    if (text.len < 1 || text.len > ALM_GEOHASH_BITS_MAX)
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '0' && text.ptr[i] != '1')
            return false;
        value = value << 1 | (text.ptr[i] - '0');
    }
    *bits = value;
    *n = (uint32_t)text.len;
    return true;
}

/* One side of the world cut in 2^32 strips; the far edge belongs to the last. */
static uint32_t strip(double at, double low, double span)
{
    const double scaled = (at - low) / span * 4294967296.0;
    return scaled >= 4294967295.0 ? UINT32_MAX : scaled <= 0 ? 0 : (uint32_t)scaled;
}

int64_t alm_geohash_of(double longitude, double latitude, uint32_t n)
{
    const uint32_t x = strip(longitude, -180, 360), y = strip(latitude, -90, 180);
    uint64_t bits = 0;
    for (uint32_t i = 0; i < n; i++) { /* longitude and latitude in turn */
        const uint32_t side = i % 2 == 0 ? x : y;
        bits = bits << 1 | (side >> (31 - i / 2) & 1);
    }
    return (int64_t)bits;
}

/* ------------------------------------------------------------------------- the type */

static uint32_t geohash_bits(alm_type type)
{
    return type.p == 0 ? ALM_GEOHASH_BITS_MAX : type.p;
}

static size_t format_geohash(alm_type type, const void *ptr, ALM_UNUSED alm_text_style style,
                             char *out)
{
    const int64_t bits = alm_geohash_load(ptr, alm_type_width(type));
    return bits == ALM_LONG_NULL ? 0 : alm_geohash_format(bits, geohash_bits(type), out);
}

/* Letters, as many as the type wants at least: what is behind them is cut off. Where five does not
 * divide the bits, also as many 0 and 1: the form of text out. */
static alm_scan_result type_scan_geohash(alm_type type, alm_str text, void *out)
{
    const uint32_t want = geohash_bits(type);
    const size_t most = ALM_GEOHASH_BITS_MAX / 5;
    int64_t bits = 0;
    uint32_t n = 0;
    const bool as_bits =
        want % 5 != 0 && text.len == want && alm_geohash_parse_bits(text, &bits, &n);
    text.len = ALM_MIN(text.len, most);
    if (!as_bits && (!alm_geohash_parse(text, &bits, &n) || n < want))
        return ALM_SCAN_BAD;
    alm_geohash_store(bits >> (n - want), out, alm_type_width(type));
    return ALM_SCAN_OK;
}

static alm_parquet_form parquet_geohash(alm_type type, ALM_UNUSED bool raw)
{
    const uint32_t width = alm_type_width(type);
    return width < 4    ? alm_parquet_integer(8 * width, true)
           : width == 4 ? alm_parquet_of(ALM_PQ_INT32, ALM_PQ_ORDER_INT32)
                        : alm_parquet_of(ALM_PQ_INT64, ALM_PQ_ORDER_INT64);
}

const alm_type_ops alm_type_ops_GEOHASH = {
    .format = format_geohash,
    .scan = type_scan_geohash,
    .parquet = parquet_geohash,
    .written = ALM_WRITTEN_WIDE,
};
