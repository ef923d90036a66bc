/* decode.c - the values of a data page: one function for each encoding, see decode.h. */
#include "codec/parquet/decode.h"

static const char too_short[] = "its values end too early";

uint32_t alm_pq_plain_width(const alm_pq_leaf *leaf)
{
    static const uint8_t width[] = {[ALM_PQ_INT32] = 4, [ALM_PQ_INT64] = 8,  [ALM_PQ_INT96] = 12,
                                    [ALM_PQ_FLOAT] = 4, [ALM_PQ_DOUBLE] = 8, [ALM_PQ_FIXED] = 0};
    if (leaf->physical == ALM_PQ_FIXED)
        return leaf->length;
    return leaf->physical < ALM_COUNT(width) ? width[leaf->physical] : 0;
}

uint32_t alm_pq_physical_width(const alm_pq_leaf *leaf)
{
    if (leaf->physical == ALM_PQ_BOOLEAN)
        return 1;
    return leaf->physical == ALM_PQ_BYTE_ARRAY ? sizeof(alm_view) : alm_pq_plain_width(leaf);
}

/* --------------------------------------------------------------------------------------- PLAIN */

static const char *plain_bytes(alm_pq_decoder *decoder, size_t n, alm_view *out)
{
    const uint8_t *ptr = decoder->at;
    const uint8_t *const end = decoder->end;
    for (size_t i = 0; i < n; i++) {
        uint32_t len;
        if ((size_t)(end - ptr) < sizeof len)
            return too_short;
        memcpy(&len, ptr, sizeof len);
        ptr += sizeof len;
        const size_t room = (size_t)(end - ptr);
        if (len > room || len == ALM_VIEW_NULL)
            return "a text is longer than its page";
        if (out != NULL)
            out[i] = alm_pq_view(ptr, len, room);
        ptr += len;
    }
    decoder->at = ptr;
    return NULL;
}

static const char *plain_bools(alm_pq_decoder *decoder, size_t n, uint8_t *out)
{
    if ((decoder->taken + n + 7) / 8 > (size_t)(decoder->end - decoder->base))
        return too_short;
    for (size_t i = decoder->taken; out != NULL && i < decoder->taken + n; i++)
        *out++ = decoder->base[i / 8] >> (i % 8) & 1;
    decoder->taken += n;
    return NULL;
}

static const char *parquet_decode_plain(alm_pq_decoder *decoder, size_t n, void *out)
{
    if (decoder->leaf->physical == ALM_PQ_BOOLEAN)
        return plain_bools(decoder, n, out);
    if (decoder->leaf->physical == ALM_PQ_BYTE_ARRAY)
        return plain_bytes(decoder, n, out);
    const size_t width = alm_pq_plain_width(decoder->leaf);
    if (width > 0 && n > (size_t)(decoder->end - decoder->at) / width)
        return too_short;
    if (out != NULL && n * width > 0)
        memcpy(out, decoder->at, n * width);
    decoder->at += n * width;
    return NULL;
}

/* ---------------------------------------------------------------------------------- the others */

static const char *rle_bools(alm_pq_decoder *decoder, size_t n, uint8_t *out)
{
    bool all = false;
    if (out == NULL)
        return alm_pq_runs_take(&decoder->runs, n, NULL) ? NULL : too_short;
    if (!alm_pq_runs_levels(&decoder->runs, n, 1, out, &all))
        return too_short;
    if (all)
        memset(out, 1, n);
    return NULL;
}

/* INT32: the low half of each sum. */
static const char *delta_ints(alm_pq_decoder *decoder, size_t n, void *out)
{
    int64_t some[1024];
    int32_t *narrow = out;
    if (decoder->leaf->physical == ALM_PQ_INT64 || out == NULL)
        return alm_pq_delta_take(&decoder->delta, n, out);
    while (n > 0) {
        const size_t k = ALM_MIN(n, ALM_COUNT(some));
        const char *bad = alm_pq_delta_take(&decoder->delta, k, some);
        if (bad != NULL)
            return bad;
        for (size_t i = 0; i < k; i++)
            narrow[i] = (int32_t)(uint32_t)(uint64_t)some[i];
        narrow += k;
        n -= k;
    }
    return NULL;
}

static const char *parquet_decode_split(alm_pq_decoder *decoder, size_t n, uint8_t *out)
{
    const size_t width = alm_pq_plain_width(decoder->leaf);
    if (n > decoder->stride - decoder->taken)
        return too_short;
    const uint8_t *input = decoder->base + decoder->taken;
    for (size_t b = 0; out != NULL && b < width; b++)
        for (size_t i = 0; i < n; i++)
            out[i * width + b] = input[b * decoder->stride + i];
    decoder->taken += n;
    return NULL;
}

/* A value of text or FIXED from bytes that stay. */
static const char *parquet_decode_put_bytes(const alm_pq_decoder *decoder, const uint8_t *ptr,
                                            uint64_t n, size_t room, void *out, size_t i)
{
    if (decoder->leaf->physical == ALM_PQ_BYTE_ARRAY) {
        ((alm_view *)out)[i] = alm_pq_view(ptr, (uint32_t)n, room);
        return NULL;
    }
    if (n != decoder->leaf->length)
        return "a value has another size than its type";
    memcpy((uint8_t *)out + i * n, ptr, n);
    return NULL;
}

static const char *delta_lengths(alm_pq_decoder *decoder, size_t n, void *out)
{
    int64_t len[512];
    for (size_t done = 0; done < n;) {
        const size_t k = ALM_MIN(n - done, ALM_COUNT(len));
        const char *bad = alm_pq_delta_take(&decoder->delta, k, len);
        for (size_t i = 0; bad == NULL && i < k; i++) {
            const size_t room = (size_t)(decoder->end - decoder->at);
            if (len[i] < 0 || (uint64_t)len[i] > room || len[i] >= ALM_VIEW_NULL)
                return "a text is longer than its page";
            if (out != NULL)
                bad = parquet_decode_put_bytes(decoder, decoder->at, (uint64_t)len[i], room, out,
                                               done + i);
            decoder->at += len[i];
        }
        if (bad != NULL)
            return bad;
        done += k;
    }
    return NULL;
}

/* decoder->last becomes its first `prefix` bytes and `n` more. */
static alm_status delta_value(alm_ctx *cx, alm_pq_decoder *decoder, int64_t prefix, int64_t n,
                              const char **bad)
{
    if (prefix < 0 || (uint64_t)prefix > decoder->last->len)
        *bad = "a text begins with more bytes than the one before has";
    else if (n < 0 || n > decoder->end - decoder->at || n + prefix > ALM_PQ_PAGE_MAX)
        *bad = "a text is longer than its page";
    if (*bad != NULL)
        return ALM_OK;
    decoder->last->len = (size_t)prefix;
    ALM_TRY(alm_buf_append(cx, decoder->last, decoder->at, (size_t)n));
    decoder->at += n;
    return ALM_OK;
}

static alm_status delta_strings(alm_ctx *cx, alm_arena *arena, alm_pq_decoder *decoder, size_t n,
                                void *out, const char **bad)
{
    int64_t prefix[256], suffix[256];
    for (size_t done = 0; done < n;) {
        const size_t k = ALM_MIN(n - done, ALM_COUNT(prefix));
        *bad = alm_pq_delta_take(&decoder->delta, k, prefix);
        if (*bad == NULL)
            *bad = alm_pq_delta_take(&decoder->suffix, k, suffix);
        for (size_t i = 0; i < k && *bad == NULL; i++) {
            ALM_TRY(delta_value(cx, decoder, prefix[i], suffix[i], bad));
            if (out == NULL || *bad != NULL)
                continue;
            alm_str kept = {decoder->last->ptr, decoder->last->len};
            if (kept.len > ALM_VIEW_INLINE && decoder->leaf->physical == ALM_PQ_BYTE_ARRAY)
                ALM_TRY(alm_arena_copy(cx, arena, kept, &kept));
            *bad = parquet_decode_put_bytes(decoder, (const uint8_t *)kept.ptr, kept.len, kept.len,
                                            out, done + i);
        }
        if (*bad != NULL)
            return ALM_OK;
        ALM_TRY(alm_check(cx));
        done += k;
    }
    return ALM_OK;
}

alm_status alm_pq_decode(alm_ctx *cx, alm_arena *arena, alm_pq_decoder *decoder, size_t n,
                         void *out, const char **bad)
{
    *bad = NULL;
    if (n == 0)
        return ALM_OK;
    switch ((alm_pq_encoding)decoder->encoding) {
    case ALM_PQ_PLAIN:
        *bad = parquet_decode_plain(decoder, n, out);
        return ALM_OK;
    case ALM_PQ_RLE:
        *bad = rle_bools(decoder, n, out);
        return ALM_OK;
    case ALM_PQ_DELTA_BINARY_PACKED:
        *bad = delta_ints(decoder, n, out);
        return ALM_OK;
    case ALM_PQ_BYTE_STREAM_SPLIT:
        *bad = parquet_decode_split(decoder, n, out);
        return ALM_OK;
    case ALM_PQ_DELTA_LENGTH_BYTE_ARRAY:
        *bad = delta_lengths(decoder, n, out);
        return ALM_OK;
    case ALM_PQ_DELTA_BYTE_ARRAY:
        return delta_strings(cx, arena, decoder, n, out, bad);
    case ALM_PQ_PLAIN_DICTIONARY:
    case ALM_PQ_RLE_DICTIONARY:
    case ALM_PQ_BIT_PACKED:
    case ALM_PQ_ENCODING_COUNT:
    default:
        ALM_UNREACHABLE("refused by alm_pq_decoder_init");
    }
}

/* --------------------------------------------------------------------------------------- begin */

static const char *init_rle(alm_pq_decoder *decoder)
{
    uint32_t len;
    if (decoder->leaf->physical != ALM_PQ_BOOLEAN)
        return "RLE is for booleans only";
    if ((size_t)(decoder->end - decoder->at) < sizeof len)
        return decoder->at == decoder->end ? NULL : too_short; /* a page of nulls */
    memcpy(&len, decoder->at, sizeof len);
    decoder->at += sizeof len;
    if (len > (size_t)(decoder->end - decoder->at))
        return too_short;
    alm_pq_runs_init(&decoder->runs, decoder->at, decoder->at + len, 1);
    return NULL;
}

static bool parquet_decode_holds_texts(const alm_pq_leaf *leaf)
{
    return leaf->physical == ALM_PQ_BYTE_ARRAY || leaf->physical == ALM_PQ_FIXED;
}

static const char *init_split(alm_pq_decoder *decoder)
{
    const size_t width = alm_pq_plain_width(decoder->leaf);
    const size_t bytes = (size_t)(decoder->end - decoder->at);
    if (width == 0 || decoder->leaf->physical == ALM_PQ_INT96)
        return "BYTE_STREAM_SPLIT of a type that has no such bytes";
    if (bytes % width != 0)
        return "streams of bytes differ in length";
    decoder->stride = bytes / width;
    return NULL;
}

static const char *init_lengths(alm_pq_decoder *decoder, alm_pq_delta *lengths)
{
    const char *bad = alm_pq_delta_init(lengths, decoder->at, decoder->end);
    return bad != NULL ? bad : alm_pq_delta_end(lengths, &decoder->at);
}

const char *alm_pq_decoder_init(alm_pq_decoder *decoder, const alm_pq_leaf *leaf, int32_t encoding,
                                const uint8_t *ptr, const uint8_t *end, alm_buf *last)
{
    const char *bad = NULL;
    *decoder = (alm_pq_decoder){.leaf = leaf, .at = ptr, .base = ptr, .end = end, .last = last};
    decoder->encoding = (uint32_t)encoding;
    last->len = 0;
    switch (encoding) {
    case ALM_PQ_PLAIN:
        return NULL;
    case ALM_PQ_RLE:
        return init_rle(decoder);
    case ALM_PQ_BYTE_STREAM_SPLIT:
        return init_split(decoder);
    case ALM_PQ_DELTA_BINARY_PACKED:
        if (leaf->physical != ALM_PQ_INT32 && leaf->physical != ALM_PQ_INT64)
            return "DELTA_BINARY_PACKED is for integers only";
        return ptr == end ? NULL : alm_pq_delta_init(&decoder->delta, ptr, end);
    case ALM_PQ_DELTA_LENGTH_BYTE_ARRAY:
        if (!parquet_decode_holds_texts(leaf))
            return "DELTA_LENGTH_BYTE_ARRAY is for texts only";
        return ptr == end ? NULL : init_lengths(decoder, &decoder->delta);
    case ALM_PQ_DELTA_BYTE_ARRAY:
        if (!parquet_decode_holds_texts(leaf))
            return "DELTA_BYTE_ARRAY is for texts only";
        bad = ptr == end ? NULL : init_lengths(decoder, &decoder->delta);
        return bad != NULL || ptr == end ? bad : init_lengths(decoder, &decoder->suffix);
    default:
        return "an encoding that is not known";
    }
}
