/* decode_runs.c - numbers of a few bits: runs, packed groups, and deltas of them. */
#include "codec/parquet/decode.h"

enum { GROUP = 8, SLACK = 8 }; /* values of a packed group; bytes that a load may go beyond one */

/* ----------------------------------------------------------------------------- packed numbers */

/* 8 * groups numbers of w bits, low bits first; SLACK bytes behind them can be read. */
static inline void unpack_groups(const uint8_t *in, size_t groups, uint32_t *out, const uint32_t w)
{
    const uint64_t mask = w == 32 ? UINT32_MAX : (UINT64_C(1) << w) - 1;
    for (size_t g = 0; g < groups; g++, in += w, out += GROUP)
        for (uint32_t i = 0; i < GROUP; i++) {
            uint64_t x;
            memcpy(&x, in + i * w / 8, sizeof x);
            out[i] = (uint32_t)(x >> (i * w % 8) & mask);
        }
}

typedef void (*unpack_fn)(const uint8_t *in, size_t groups, uint32_t *out);
#define WIDTHS(X)                                                                                  \
    X(0)                                                                                           \
    X(1)                                                                                           \
    X(2)                                                                                           \
    X(3)                                                                                           \
    X(4)                                                                                           \
    X(5)                                                                                           \
    X(6)                                                                                           \
    X(7)                                                                                           \
    X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)  \
        X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
#define UNPACK(w)                                                                                  \
    static void unpack_##w(const uint8_t *in, size_t groups, uint32_t *out)                        \
    {                                                                                              \
        unpack_groups(in, groups, out, w);                                                         \
    }
WIDTHS(UNPACK)
#undef UNPACK
#define NAME(w) unpack_##w,
static const unpack_fn unpackers[] = {WIDTHS(NAME)};
#undef NAME

/* One number at a bit; fine at the end of the bytes too. */
static uint32_t packed_one(const uint8_t *at, const uint8_t *end, uint32_t bit, uint32_t w)
{
    uint64_t x = 0;
    const size_t n = ALM_MIN((size_t)(end - at), sizeof x);
    memcpy(&x, at, n); /* little-endian */
    return (uint32_t)(x >> bit & (w == 32 ? UINT32_MAX : (UINT64_C(1) << w) - 1));
}

/* Bytes of the numbers were checked when the run began. */
static void take_packed(alm_pq_runs *r, size_t n, uint32_t *out)
{
    const uint32_t w = r->width;
    if (r->bit == 0 && out != NULL && n >= GROUP && r->end - r->at >= SLACK) {
        const size_t room = w == 0 ? n / GROUP : (size_t)(r->end - r->at - SLACK) / w;
        const size_t groups = ALM_MIN(n / GROUP, room);
        unpackers[w](r->at, groups, out);
        r->at += groups * w;
        out += groups * GROUP;
        n -= groups * GROUP;
    }
    if (out == NULL) {
        const uint64_t bits = r->bit + (uint64_t)n * w;
        r->at += bits / 8;
        r->bit = (uint32_t)(bits % 8);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = packed_one(r->at, r->end, r->bit, w);
        r->bit += w;
        r->at += r->bit / 8;
        r->bit %= 8;
    }
}

static void take_high_first(alm_pq_runs *r, size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t x = 0;
        for (uint32_t b = 0; b < r->width; b++) {
            x = x << 1 | (*r->at >> (7 - r->bit) & 1U);
            r->bit++;
            r->at += r->bit / 8;
            r->bit %= 8;
        }
        if (out != NULL)
            out[i] = x;
    }
}

/* --------------------------------------------------------------------------------------- runs */

void alm_pq_runs_init(alm_pq_runs *r, const uint8_t *at, const uint8_t *end, uint32_t width)
{
    ALM_ASSERT(width <= 32);
    *r = (alm_pq_runs){.at = at, .end = end, .width = width};
}

static bool run_head(alm_pq_runs *r, uint64_t *head)
{
    uint64_t x = 0;
    for (uint32_t shift = 0; shift < 63 && r->at < r->end; shift += 7) {
        const uint8_t byte = *r->at++;
        x |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *head = x;
            return true;
        }
    }
    return false;
}

static bool next_run(alm_pq_runs *r)
{
    uint64_t head = 0;
    if (r->high_first)
        return false;
    if (r->bit > 0) { /* the last group of packed numbers is whole */
        r->at++;
        r->bit = 0;
    }
    if (!run_head(r, &head))
        return false;
    const uint64_t left = (uint64_t)(r->end - r->at);
    if ((head & 1) != 0) {
        const uint64_t groups = head >> 1;
        if (groups == 0)
            return true;
        if (r->width > 0 && groups > left / r->width) { /* writers may cut the last group short */
            r->packed = left * 8 / r->width;
            return r->packed > 0;
        }
        r->packed = ALM_MIN(groups, UINT64_MAX / 16) * GROUP;
        return true;
    }
    const uint32_t bytes = (r->width + 7) / 8;
    if (bytes > left)
        return false;
    r->value = 0;
    memcpy(&r->value, r->at, bytes);
    r->at += bytes;
    r->equal = head >> 1;
    return true;
}

static void take_some(alm_pq_runs *r, size_t n, uint32_t *out)
{
    if (r->equal > 0) {
        r->equal -= n;
        for (size_t i = 0; out != NULL && i < n; i++)
            out[i] = r->value;
        return;
    }
    r->packed -= n;
    if (r->high_first)
        take_high_first(r, n, out);
    else
        take_packed(r, n, out);
}

bool alm_pq_runs_take(alm_pq_runs *r, size_t n, uint32_t *out)
{
    while (n > 0) {
        const uint64_t have = r->equal > 0 ? r->equal : r->packed;
        if (have == 0) {
            if (r->width == 0 && r->at == r->end) { /* a level that needs no bits */
                r->equal = UINT32_MAX;
                r->value = 0;
                continue;
            }
            if (!next_run(r))
                return false;
            continue;
        }
        const size_t k = (size_t)ALM_MIN((uint64_t)n, have);
        take_some(r, k, out);
        out = out != NULL ? out + k : NULL;
        n -= k;
    }
    return true;
}

bool alm_pq_runs_levels(alm_pq_runs *r, size_t n, uint32_t full, uint8_t *out, bool *all)
{
    uint32_t some[256];
    *all = false;
    if (r->equal == 0 && r->packed == 0 && !r->high_first && r->at < r->end && !next_run(r))
        return false;
    if (r->equal >= n && r->value == full) {
        r->equal -= n;
        *all = true;
        return true;
    }
    while (n > 0) {
        const size_t k = ALM_MIN(n, ALM_COUNT(some));
        if (!alm_pq_runs_take(r, k, some))
            return false;
        for (size_t i = 0; i < k; i++)
            out[i] = (uint8_t)some[i];
        out += k;
        n -= k;
    }
    return true;
}

/* ------------------------------------------------------------------------------------- deltas */

static const char delta_short[] = "packed differences end too early";

static bool delta_varint(alm_pq_delta *d, uint64_t *out)
{
    uint64_t x = 0;
    for (uint32_t shift = 0; shift < 70 && d->at < d->end; shift += 7) {
        const uint8_t byte = *d->at++;
        if (shift < 64)
            x |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = x;
            return true;
        }
    }
    return false;
}

static uint64_t zigzag(uint64_t x)
{
    return x >> 1 ^ (0 - (x & 1));
}

const char *alm_pq_delta_init(alm_pq_delta *d, const uint8_t *at, const uint8_t *end)
{
    uint64_t block = 0, minis = 0, count = 0, first = 0;
    *d = (alm_pq_delta){.at = at, .end = end, .first = true};
    if (!delta_varint(d, &block) || !delta_varint(d, &minis) || !delta_varint(d, &count) ||
        !delta_varint(d, &first))
        return delta_short;
    if (block == 0 || block > 1 << 24 || minis == 0 || minis > block || block % minis != 0 ||
        block / minis % GROUP != 0)
        return "packed differences have blocks of no good size";
    d->block = (uint32_t)block;
    d->minis = (uint32_t)minis;
    d->mini = (uint32_t)(block / minis);
    d->next_mini = d->minis;
    d->left = count;
    d->value = zigzag(first);
    return NULL;
}

static const char *next_block(alm_pq_delta *d)
{
    uint64_t min = 0;
    if (!delta_varint(d, &min) || (uint64_t)(d->end - d->at) < d->minis)
        return delta_short;
    d->min = zigzag(min);
    d->widths = d->at;
    d->at += d->minis;
    d->next_mini = 0;
    return NULL;
}

/* Begins a miniblock; its bytes are there as far as values need them. */
static const char *next_mini(alm_pq_delta *d)
{
    if (d->next_mini == d->minis) {
        const char *bad = next_block(d);
        if (bad != NULL)
            return bad;
    }
    d->width = d->widths[d->next_mini++];
    if (d->width > 64)
        return "packed differences have more than 64 bits";
    const uint64_t need = (ALM_MIN((uint64_t)d->mini, d->left) * d->width + 7) / 8;
    if (need > (uint64_t)(d->end - d->at))
        return delta_short;
    d->in_mini = d->mini;
    d->bit = 0;
    return NULL;
}

static uint64_t delta_one(const alm_pq_delta *d)
{
    uint64_t lo = 0, hi = 0;
    const size_t left = (size_t)(d->end - d->at);
    memcpy(&lo, d->at, ALM_MIN(left, sizeof lo));
    if (d->bit + d->width > 64)
        hi = d->at[8];
    const uint64_t x = lo >> d->bit | (d->bit > 0 ? hi << (64 - d->bit) : 0);
    return d->width == 64 ? x : x & ((UINT64_C(1) << d->width) - 1);
}

static void take_mini(alm_pq_delta *d, size_t n, int64_t *out)
{
    uint64_t value = d->value;
    for (size_t i = 0; i < n; i++) {
        value += d->min + (d->width > 0 ? delta_one(d) : 0);
        d->bit += d->width;
        d->at += d->bit / 8;
        d->bit %= 8;
        if (out != NULL)
            out[i] = (int64_t)value;
    }
    d->value = value;
}

/* Whole groups of at most 32 bits, by loops of a known width. */
static size_t take_groups(alm_pq_delta *d, size_t n, int64_t *out)
{
    uint32_t some[GROUP * 16];
    uint64_t value = d->value;
    size_t done = 0;
    while (n - done >= GROUP && d->end - d->at >= SLACK) {
        const size_t room = d->width > 0 ? (size_t)(d->end - d->at - SLACK) / d->width : n;
        const size_t groups = ALM_MIN(ALM_MIN((n - done) / GROUP, (size_t)16), room);
        if (groups == 0)
            break;
        unpackers[d->width](d->at, groups, some);
        for (size_t i = 0; i < groups * GROUP; i++) {
            value += d->min + some[i];
            out[done + i] = (int64_t)value;
        }
        d->at += groups * d->width;
        done += groups * GROUP;
    }
    d->value = value;
    return done;
}

const char *alm_pq_delta_take(alm_pq_delta *d, size_t n, int64_t *out)
{
    if (n > d->left)
        return "there are fewer packed differences than values";
    if (n > 0 && d->first) {
        d->first = false;
        if (out != NULL)
            *out++ = (int64_t)d->value;
        d->left--;
        n--;
    }
    while (n > 0) {
        if (d->in_mini == 0) {
            const char *bad = next_mini(d);
            if (bad != NULL)
                return bad;
        }
        size_t k = ALM_MIN(n, (size_t)d->in_mini);
        if (d->width <= 32 && d->bit == 0 && out != NULL) {
            const size_t fast = take_groups(d, k, out);
            if (fast > 0)
                k = fast;
            else
                take_mini(d, k, out);
        } else {
            take_mini(d, k, out);
        }
        out = out != NULL ? out + k : NULL;
        d->in_mini -= (uint32_t)k;
        d->left -= k;
        n -= k;
        if (d->in_mini == 0 && d->bit > 0) {
            d->at++;
            d->bit = 0;
        }
    }
    return NULL;
}

const char *alm_pq_delta_end(const alm_pq_delta *d, const uint8_t **end)
{
    alm_pq_delta at = *d;
    ALM_ASSERT(at.first);
    at.left -= at.left > 0;
    while (at.left > 0) {
        const char *bad = next_mini(&at);
        if (bad != NULL)
            return bad;
        /* a miniblock that holds a value is written whole; the last one may be cut by the end */
        const uint64_t whole = (uint64_t)at.mini * at.width / 8;
        at.at += ALM_MIN(whole, (uint64_t)(at.end - at.at));
        at.left -= ALM_MIN((uint64_t)at.mini, at.left);
    }
    *end = at.at;
    return NULL;
}
