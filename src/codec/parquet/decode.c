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

static const char *plain_bytes(alm_pq_decoder *d, size_t n, alm_view *out)
{
    const uint8_t *at = d->at;
    const uint8_t *const end = d->end;
    for (size_t i = 0; i < n; i++) {
        uint32_t len;
        if ((size_t)(end - at) < sizeof len)
            return too_short;
        memcpy(&len, at, sizeof len);
        at += sizeof len;
        const size_t room = (size_t)(end - at);
        if (len > room || len == ALM_VIEW_NULL)
            return "a text is longer than its page";
        if (out != NULL)
            out[i] = alm_pq_view(at, len, room);
        at += len;
    }
    d->at = at;
    return NULL;
}

static const char *plain_bools(alm_pq_decoder *d, size_t n, uint8_t *out)
{
    if ((d->taken + n + 7) / 8 > (size_t)(d->end - d->base))
        return too_short;
    for (size_t i = d->taken; out != NULL && i < d->taken + n; i++)
        *out++ = d->base[i / 8] >> (i % 8) & 1;
    d->taken += n;
    return NULL;
}

static const char *plain(alm_pq_decoder *d, size_t n, void *out)
{
    if (d->leaf->physical == ALM_PQ_BOOLEAN)
        return plain_bools(d, n, out);
    if (d->leaf->physical == ALM_PQ_BYTE_ARRAY)
        return plain_bytes(d, n, out);
    const size_t width = alm_pq_plain_width(d->leaf);
    if (width > 0 && n > (size_t)(d->end - d->at) / width)
        return too_short;
    if (out != NULL && n * width > 0)
        memcpy(out, d->at, n * width);
    d->at += n * width;
    return NULL;
}

/* ---------------------------------------------------------------------------------- the others */

static const char *rle_bools(alm_pq_decoder *d, size_t n, uint8_t *out)
{
    bool all = false;
    if (out == NULL)
        return alm_pq_runs_take(&d->runs, n, NULL) ? NULL : too_short;
    if (!alm_pq_runs_levels(&d->runs, n, 1, out, &all))
        return too_short;
    if (all)
        memset(out, 1, n);
    return NULL;
}

/* INT32: the low half of each sum. */
static const char *delta_ints(alm_pq_decoder *d, size_t n, void *out)
{
    int64_t some[1024];
    int32_t *narrow = out;
    if (d->leaf->physical == ALM_PQ_INT64 || out == NULL)
        return alm_pq_delta_take(&d->delta, n, out);
    while (n > 0) {
        const size_t k = ALM_MIN(n, ALM_COUNT(some));
        const char *bad = alm_pq_delta_take(&d->delta, k, some);
        if (bad != NULL)
            return bad;
        for (size_t i = 0; i < k; i++)
            narrow[i] = (int32_t)(uint32_t)(uint64_t)some[i];
        narrow += k;
        n -= k;
    }
    return NULL;
}

static const char *split(alm_pq_decoder *d, size_t n, uint8_t *out)
{
    const size_t width = alm_pq_plain_width(d->leaf);
    if (n > d->stride - d->taken)
        return too_short;
    const uint8_t *in = d->base + d->taken;
    for (size_t b = 0; out != NULL && b < width; b++)
        for (size_t i = 0; i < n; i++)
            out[i * width + b] = in[b * d->stride + i];
    d->taken += n;
    return NULL;
}

/* A value of text or FIXED from bytes that stay. */
static const char *put_bytes(const alm_pq_decoder *d, const uint8_t *at, uint64_t n, size_t room,
                             void *out, size_t i)
{
    if (d->leaf->physical == ALM_PQ_BYTE_ARRAY) {
        ((alm_view *)out)[i] = alm_pq_view(at, (uint32_t)n, room);
        return NULL;
    }
    if (n != d->leaf->length)
        return "a value has another size than its type";
    memcpy((uint8_t *)out + i * n, at, n);
    return NULL;
}

static const char *delta_lengths(alm_pq_decoder *d, size_t n, void *out)
{
    int64_t len[512];
    for (size_t done = 0; done < n;) {
        const size_t k = ALM_MIN(n - done, ALM_COUNT(len));
        const char *bad = alm_pq_delta_take(&d->delta, k, len);
        for (size_t i = 0; bad == NULL && i < k; i++) {
            const size_t room = (size_t)(d->end - d->at);
            if (len[i] < 0 || (uint64_t)len[i] > room || len[i] >= ALM_VIEW_NULL)
                return "a text is longer than its page";
            if (out != NULL)
                bad = put_bytes(d, d->at, (uint64_t)len[i], room, out, done + i);
            d->at += len[i];
        }
        if (bad != NULL)
            return bad;
        done += k;
    }
    return NULL;
}

/* d->last becomes its first `prefix` bytes and `n` more. */
static alm_status delta_value(alm_ctx *cx, alm_pq_decoder *d, int64_t prefix, int64_t n,
                              const char **bad)
{
    if (prefix < 0 || (uint64_t)prefix > d->last->len)
        *bad = "a text begins with more bytes than the one before has";
    else if (n < 0 || n > d->end - d->at || n + prefix > ALM_PQ_PAGE_MAX)
        *bad = "a text is longer than its page";
    if (*bad != NULL)
        return ALM_OK;
    d->last->len = (size_t)prefix;
    ALM_TRY(alm_buf_append(cx, d->last, d->at, (size_t)n));
    d->at += n;
    return ALM_OK;
}

static alm_status delta_strings(alm_ctx *cx, alm_arena *arena, alm_pq_decoder *d, size_t n,
                                void *out, const char **bad)
{
    int64_t prefix[256], suffix[256];
    for (size_t done = 0; done < n;) {
        const size_t k = ALM_MIN(n - done, ALM_COUNT(prefix));
        *bad = alm_pq_delta_take(&d->delta, k, prefix);
        if (*bad == NULL)
            *bad = alm_pq_delta_take(&d->suffix, k, suffix);
        for (size_t i = 0; i < k && *bad == NULL; i++) {
            ALM_TRY(delta_value(cx, d, prefix[i], suffix[i], bad));
            if (out == NULL || *bad != NULL)
                continue;
            alm_str kept = {d->last->ptr, d->last->len};
            if (kept.len > ALM_VIEW_INLINE && d->leaf->physical == ALM_PQ_BYTE_ARRAY)
                ALM_TRY(alm_arena_copy(cx, arena, kept, &kept));
            *bad = put_bytes(d, (const uint8_t *)kept.ptr, kept.len, kept.len, out, done + i);
        }
        if (*bad != NULL)
            return ALM_OK;
        ALM_TRY(alm_check(cx));
        done += k;
    }
    return ALM_OK;
}

alm_status alm_pq_decode(alm_ctx *cx, alm_arena *arena, alm_pq_decoder *d, size_t n, void *out,
                         const char **bad)
{
    *bad = NULL;
    if (n == 0)
        return ALM_OK;
    switch ((alm_pq_encoding)d->encoding) {
    case ALM_PQ_PLAIN:
        *bad = plain(d, n, out);
        return ALM_OK;
    case ALM_PQ_RLE:
        *bad = rle_bools(d, n, out);
        return ALM_OK;
    case ALM_PQ_DELTA_BINARY_PACKED:
        *bad = delta_ints(d, n, out);
        return ALM_OK;
    case ALM_PQ_BYTE_STREAM_SPLIT:
        *bad = split(d, n, out);
        return ALM_OK;
    case ALM_PQ_DELTA_LENGTH_BYTE_ARRAY:
        *bad = delta_lengths(d, n, out);
        return ALM_OK;
    case ALM_PQ_DELTA_BYTE_ARRAY:
        return delta_strings(cx, arena, d, n, out, bad);
    case ALM_PQ_PLAIN_DICTIONARY:
    case ALM_PQ_RLE_DICTIONARY:
    case ALM_PQ_BIT_PACKED:
    case ALM_PQ_ENCODING_COUNT:
    default:
        ALM_UNREACHABLE("refused by alm_pq_decoder_init");
    }
}

/* --------------------------------------------------------------------------------------- begin */

static const char *init_rle(alm_pq_decoder *d)
{
    uint32_t len;
    if (d->leaf->physical != ALM_PQ_BOOLEAN)
        return "RLE is for booleans only";
    if ((size_t)(d->end - d->at) < sizeof len)
        return d->at == d->end ? NULL : too_short; /* a page of nulls */
    memcpy(&len, d->at, sizeof len);
    d->at += sizeof len;
    if (len > (size_t)(d->end - d->at))
        return too_short;
    alm_pq_runs_init(&d->runs, d->at, d->at + len, 1);
    return NULL;
}

static bool holds_texts(const alm_pq_leaf *leaf)
{
    return leaf->physical == ALM_PQ_BYTE_ARRAY || leaf->physical == ALM_PQ_FIXED;
}

static const char *init_split(alm_pq_decoder *d)
{
    const size_t width = alm_pq_plain_width(d->leaf);
    const size_t bytes = (size_t)(d->end - d->at);
    if (width == 0 || d->leaf->physical == ALM_PQ_INT96)
        return "BYTE_STREAM_SPLIT of a type that has no such bytes";
    if (bytes % width != 0)
        return "streams of bytes differ in length";
    d->stride = bytes / width;
    return NULL;
}

static const char *init_lengths(alm_pq_decoder *d, alm_pq_delta *lengths)
{
    const char *bad = alm_pq_delta_init(lengths, d->at, d->end);
    return bad != NULL ? bad : alm_pq_delta_end(lengths, &d->at);
}

const char *alm_pq_decoder_init(alm_pq_decoder *d, const alm_pq_leaf *leaf, int32_t encoding,
                                const uint8_t *at, const uint8_t *end, alm_buf *last)
{
    const char *bad = NULL;
    *d = (alm_pq_decoder){.leaf = leaf, .at = at, .base = at, .end = end, .last = last};
    d->encoding = (uint32_t)encoding;
    last->len = 0;
    switch (encoding) {
    case ALM_PQ_PLAIN:
        return NULL;
    case ALM_PQ_RLE:
        return init_rle(d);
    case ALM_PQ_BYTE_STREAM_SPLIT:
        return init_split(d);
    case ALM_PQ_DELTA_BINARY_PACKED:
        if (leaf->physical != ALM_PQ_INT32 && leaf->physical != ALM_PQ_INT64)
            return "DELTA_BINARY_PACKED is for integers only";
        return at == end ? NULL : alm_pq_delta_init(&d->delta, at, end);
    case ALM_PQ_DELTA_LENGTH_BYTE_ARRAY:
        if (!holds_texts(leaf))
            return "DELTA_LENGTH_BYTE_ARRAY is for texts only";
        return at == end ? NULL : init_lengths(d, &d->delta);
    case ALM_PQ_DELTA_BYTE_ARRAY:
        if (!holds_texts(leaf))
            return "DELTA_BYTE_ARRAY is for texts only";
        bad = at == end ? NULL : init_lengths(d, &d->delta);
        return bad != NULL || at == end ? bad : init_lengths(d, &d->suffix);
    default:
        return "an encoding that is not known";
    }
}
