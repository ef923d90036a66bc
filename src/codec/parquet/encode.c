/* encode.c - see encode.h. */
#include "codec/parquet/encode.h"

enum { DELTA_BLOCK = 128, DELTA_MINIBLOCKS = 4, DELTA_MINIBLOCK = 32, VARINT_MAX = 10 };
/* Equal numbers that are worth a run of their own: a run costs two bytes or more. */
enum { RUN_LEAST = 8, GROUP = 8 };

uint32_t alm_pq_bits(uint64_t max)
{
    return max == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(max);
}

/* The room is there. */
static void put_varint(alm_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        out->ptr[out->len++] = (char)(value | 0x80);
    out->ptr[out->len++] = (char)value;
}

static uint64_t parquet_encode_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* -------------------------------------------------------------------------- bit packing */

/* n numbers below 2^bits, n a multiple of 8, the least bits first: n * bits / 8 bytes. */
static char *pack32(const uint32_t *value, size_t n, uint32_t bits, char *ptr)
{
    uint64_t word = 0;
    uint32_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)value[i] << filled;
        filled += bits;
        if (filled >= 32) {
            (void)memcpy(ptr, &word, 4);
            ptr += 4;
            word >>= 32;
            filled -= 32;
        }
    }
    (void)memcpy(ptr, &word, filled / 8);
    return ptr + filled / 8;
}

/* The same of numbers of up to 64 bits. */
static char *pack64(const uint64_t *value, size_t n, uint32_t bits, char *ptr)
{
    unsigned __int128 word = 0;
    uint32_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (unsigned __int128)value[i] << filled;
        filled += bits;
        if (filled >= 64) {
            const uint64_t low = (uint64_t)word;
            (void)memcpy(ptr, &low, 8);
            ptr += 8;
            word >>= 64;
            filled -= 64;
        }
    }
    const uint64_t low = (uint64_t)word;
    (void)memcpy(ptr, &low, filled / 8);
    return ptr + filled / 8;
}

/* -------------------------------------------------------------------------- hybrid runs */

alm_status alm_pq_put_run(alm_ctx *cx, uint32_t value, size_t n, uint32_t bits, alm_buf *out)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_buf_reserve(cx, out, VARINT_MAX + 4));
    put_varint(out, (uint64_t)n << 1);
    (void)memcpy(out->ptr + out->len, &value, (bits + 7) / 8);
    out->len += (bits + 7) / 8;
    return ALM_OK;
}

static size_t parquet_encode_run_length(const uint32_t *value, size_t n)
{
    size_t i = 1;
    while (i < n && value[i] == value[0])
        i++;
    return i;
}

/* Numbers that are no runs, padded to a group with zeros at the end of the values only. */
static alm_status put_groups(alm_ctx *cx, const uint32_t *value, size_t n, uint32_t bits,
                             alm_buf *out)
{
    uint32_t last[GROUP] = {0};
    const size_t whole = n / GROUP * GROUP, groups = (n + GROUP - 1) / GROUP;
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_buf_reserve(cx, out, VARINT_MAX + groups * bits));
    put_varint(out, (uint64_t)groups << 1 | 1);
    char *ptr = pack32(value, whole, bits, out->ptr + out->len);
    if (whole < n) {
        (void)memcpy(last, value + whole, (n - whole) * sizeof(*value));
        ptr = pack32(last, GROUP, bits, ptr);
    }
    out->len = (size_t)(ptr - out->ptr);
    return ALM_OK;
}

alm_status alm_pq_put_hybrid(alm_ctx *cx, const uint32_t *value, size_t n, uint32_t bits,
                             alm_buf *out)
{
    ALM_ASSERT(bits <= 32);
    size_t literal = 0; /* numbers from here to i wait; a multiple of a group */
    for (size_t i = 0; i < n;) {
        const size_t run = parquet_encode_run_length(value + i, n - i);
        if (run < RUN_LEAST) {
            i += ALM_MIN((size_t)GROUP, n - i);
            continue;
        }
        ALM_TRY(put_groups(cx, value + literal, i - literal, bits, out));
        ALM_TRY(alm_pq_put_run(cx, value[i], run, bits, out));
        i += run;
        literal = i;
    }
    return put_groups(cx, value + literal, n - literal, bits, out);
}

alm_status alm_pq_put_bits(alm_ctx *cx, const uint8_t *value, size_t n, alm_buf *out)
{
    const size_t bytes = (n + 7) / 8;
    ALM_TRY(alm_buf_reserve(cx, out, bytes));
    uint8_t *ptr = (uint8_t *)out->ptr + out->len;
    (void)memset(ptr, 0, bytes);
    for (size_t i = 0; i < n; i++)
        ptr[i / 8] |= (uint8_t)(value[i] << (i % 8));
    out->len += bytes;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- deltas */

/* One block: the least delta, the bits of each miniblock, the deltas above the least. The last miniblock is
 * padded; miniblocks without values have no bytes. `mask` has the bits of the type: deltas wrap around. */
static void parquet_encode_put_block(alm_buf *out, uint64_t *delta, size_t n, uint32_t width)
{
    const uint64_t mask = width == 8 ? UINT64_MAX : UINT32_MAX;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const int64_t d = width == 8 ? (int64_t)delta[i] : (int32_t)(uint32_t)delta[i];
        least = d < least ? d : least;
    }
    put_varint(out, parquet_encode_zigzag(least));
    uint8_t bits[DELTA_MINIBLOCKS] = {0};
    for (size_t i = 0; i < n; i++) {
        delta[i] = (delta[i] - (uint64_t)least) & mask;
        const uint32_t need = alm_pq_bits(delta[i]);
        if (need > bits[i / DELTA_MINIBLOCK])
            bits[i / DELTA_MINIBLOCK] = (uint8_t)need;
    }
    for (size_t i = n; i % DELTA_MINIBLOCK != 0; i++)
        delta[i] = 0;
    (void)memcpy(out->ptr + out->len, bits, sizeof(bits));
    out->len += sizeof(bits);
    char *ptr = out->ptr + out->len;
    for (size_t more = 0; more * DELTA_MINIBLOCK < n; more++)
        ptr = pack64(delta + more * DELTA_MINIBLOCK, DELTA_MINIBLOCK, bits[more], ptr);
    out->len = (size_t)(ptr - out->ptr);
}

static uint64_t parquet_encode_number_at(const void *value, uint32_t width, size_t i)
{
    return width == 8 ? ((const uint64_t *)value)[i]
                      : (uint64_t)(int64_t)((const int32_t *)value)[i];
}

alm_status alm_pq_put_delta(alm_ctx *cx, const void *value, uint32_t width, size_t n, alm_buf *out)
{
    ALM_ASSERT(width == 4 || width == 8);
    ALM_TRY(alm_buf_reserve(cx, out, 4 * VARINT_MAX));
    put_varint(out, DELTA_BLOCK);
    put_varint(out, DELTA_MINIBLOCKS);
    put_varint(out, n);
    put_varint(
        out, n > 0 ? parquet_encode_zigzag((int64_t)parquet_encode_number_at(value, width, 0)) : 0);
    for (size_t offset = 1; offset < n; offset += DELTA_BLOCK) {
        uint64_t delta[DELTA_BLOCK];
        const size_t count = ALM_MIN((size_t)DELTA_BLOCK, n - offset);
        if (width == 8)
            for (size_t i = 0; i < count; i++)
                delta[i] = ((const uint64_t *)value)[offset + i] -
                           ((const uint64_t *)value)[offset + i - 1];
        else
            for (size_t i = 0; i < count; i++)
                delta[i] = ((const uint32_t *)value)[offset + i] -
                           ((const uint32_t *)value)[offset + i - 1];
        ALM_TRY(alm_buf_reserve(cx, out, VARINT_MAX + DELTA_MINIBLOCKS + DELTA_BLOCK * 8));
        parquet_encode_put_block(out, delta, count, width);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- others */

alm_status alm_pq_put_split(alm_ctx *cx, const void *value, uint32_t width, size_t n, alm_buf *out)
{
    const uint8_t *from = value;
    ALM_TRY(alm_buf_reserve(cx, out, n * width));
    for (uint32_t k = 0; k < width; k++) {
        uint8_t *dest = (uint8_t *)out->ptr + out->len + k * n;
        for (size_t i = 0; i < n; i++)
            dest[i] = from[i * width + k];
    }
    out->len += n * width;
    return ALM_OK;
}

alm_status alm_pq_put_bytes(alm_ctx *cx, const char *bytes, const uint32_t *len, size_t n,
                            alm_buf *out)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += len[i];
    ALM_TRY(alm_buf_reserve(cx, out, total + 4 * n));
    char *ptr = out->ptr + out->len;
    for (size_t i = 0; i < n; i++) {
        (void)memcpy(ptr, &len[i], 4);
        if (len[i] > 0)
            (void)memcpy(ptr + 4, bytes, len[i]);
        ptr += 4 + len[i];
        bytes += len[i];
    }
    out->len = (size_t)(ptr - out->ptr);
    return ALM_OK;
}
