/* decode_runs.c - numbers of a few bits: runs, packed groups, and deltas of them. */
#include "codec/parquet/decode.h"

enum { GROUP = 8, SLACK = 8 }; /* values of a packed group; bytes that a load may go beyond one */

/* ----------------------------------------------------------------------------- packed numbers */

/* 8 * groups numbers of w bits, low bits first; SLACK bytes behind them can be read. */
static inline void unpack_groups(const uint8_t *input, size_t groups, uint32_t *out,
                                 const uint32_t w)
{
    const uint64_t mask = w == 32 ? UINT32_MAX : (UINT64_C(1) << w) - 1;
    for (size_t g = 0; g < groups; g++, input += w, out += GROUP)
        for (uint32_t i = 0; i < GROUP; i++) {
            uint64_t value;
            memcpy(&value, input + i * w / 8, sizeof value);
            out[i] = (uint32_t)(value >> (i * w % 8) & mask);
        }
}

typedef void (*unpack_fn)(const uint8_t *in, size_t groups, uint32_t *out);
/* clang-format off */
#define WIDTHS(X)                                                                                  \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10)                                        \
    X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20)                                    \
    X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
/* clang-format on */
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
static uint32_t packed_one(const uint8_t *ptr, const uint8_t *end, uint32_t bit, uint32_t w)
{
    uint64_t value = 0;
    const size_t n = ALM_MIN((size_t)(end - ptr), sizeof value);
    memcpy(&value, ptr, n); /* little-endian */
    return (uint32_t)(value >> bit & (w == 32 ? UINT32_MAX : (UINT64_C(1) << w) - 1));
}

/* Bytes of the numbers were checked when the run began. */
static void take_packed(alm_pq_runs *runs, size_t n, uint32_t *out)
{
    const uint32_t width = runs->width;
    if (runs->bit == 0 && out != NULL && n >= GROUP && runs->end - runs->at >= SLACK) {
        const size_t room = width == 0 ? n / GROUP : (size_t)(runs->end - runs->at - SLACK) / width;
        const size_t groups = ALM_MIN(n / GROUP, room);
        unpackers[width](runs->at, groups, out);
        runs->at += groups * width;
        out += groups * GROUP;
        n -= groups * GROUP;
    }
    if (out == NULL) {
        const uint64_t bits = runs->bit + (uint64_t)n * width;
        runs->at += bits / 8;
        runs->bit = (uint32_t)(bits % 8);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = packed_one(runs->at, runs->end, runs->bit, width);
        runs->bit += width;
        runs->at += runs->bit / 8;
        runs->bit %= 8;
    }
}

static void take_high_first(alm_pq_runs *runs, size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t value = 0;
        for (uint32_t byte = 0; byte < runs->width; byte++) {
            value = value << 1 | (*runs->at >> (7 - runs->bit) & 1U);
            runs->bit++;
            runs->at += runs->bit / 8;
            runs->bit %= 8;
        }
        if (out != NULL)
            out[i] = value;
    }
}

/* --------------------------------------------------------------------------------------- runs */

void alm_pq_runs_init(alm_pq_runs *runs, const uint8_t *ptr, const uint8_t *end, uint32_t width)
{
    ALM_ASSERT(width <= 32);
    *runs = (alm_pq_runs){.at = ptr, .end = end, .width = width};
}

static bool run_head(alm_pq_runs *runs, uint64_t *head)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 63 && runs->at < runs->end; shift += 7) {
        const uint8_t byte = *runs->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *head = value;
            return true;
        }
    }
    return false;
}

static bool next_run(alm_pq_runs *runs)
{
    uint64_t head = 0;
    if (runs->high_first)
        return false;
    if (runs->bit > 0) { /* the last group of packed numbers is whole */
        runs->at++;
        runs->bit = 0;
    }
    if (!run_head(runs, &head))
        return false;
    const uint64_t left = (uint64_t)(runs->end - runs->at);
    if ((head & 1) != 0) {
        const uint64_t groups = head >> 1;
        if (groups == 0)
            return true;
        if (runs->width > 0 &&
            groups > left / runs->width) { /* writers may cut the last group short */
            runs->packed = left * 8 / runs->width;
            return runs->packed > 0;
        }
        runs->packed = ALM_MIN(groups, UINT64_MAX / 16) * GROUP;
        return true;
    }
    const uint32_t bytes = (runs->width + 7) / 8;
    if (bytes > left)
        return false;
    runs->value = 0;
    memcpy(&runs->value, runs->at, bytes);
    runs->at += bytes;
    runs->equal = head >> 1;
    return true;
}

static void take_some(alm_pq_runs *runs, size_t n, uint32_t *out)
{
    if (runs->equal > 0) {
        runs->equal -= n;
        for (size_t i = 0; out != NULL && i < n; i++)
            out[i] = runs->value;
        return;
    }
    runs->packed -= n;
    if (runs->high_first)
        take_high_first(runs, n, out);
    else
        take_packed(runs, n, out);
}

bool alm_pq_runs_take(alm_pq_runs *runs, size_t n, uint32_t *out)
{
    while (n > 0) {
        const uint64_t have = runs->equal > 0 ? runs->equal : runs->packed;
        if (have == 0) {
            if (runs->width == 0 && runs->at == runs->end) { /* a level that needs no bits */
                runs->equal = UINT32_MAX;
                runs->value = 0;
                continue;
            }
            if (!next_run(runs))
                return false;
            continue;
        }
        const size_t k = (size_t)ALM_MIN((uint64_t)n, have);
        take_some(runs, k, out);
        out = out != NULL ? out + k : NULL;
        n -= k;
    }
    return true;
}

bool alm_pq_runs_levels(alm_pq_runs *runs, size_t n, uint32_t full, uint8_t *out, bool *all)
{
    uint32_t some[256];
    *all = false;
    if (runs->equal == 0 && runs->packed == 0 && !runs->high_first && runs->at < runs->end &&
        !next_run(runs))
        return false;
    if (runs->equal >= n && runs->value == full) {
        runs->equal -= n;
        *all = true;
        return true;
    }
    while (n > 0) {
        const size_t k = ALM_MIN(n, ALM_COUNT(some));
        if (!alm_pq_runs_take(runs, k, some))
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

static bool delta_varint(alm_pq_delta *delta, uint64_t *out)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70 && delta->at < delta->end; shift += 7) {
        const uint8_t byte = *delta->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static uint64_t decode_runs_zigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

const char *alm_pq_delta_init(alm_pq_delta *delta, const uint8_t *ptr, const uint8_t *end)
{
    uint64_t block = 0, minis = 0, count = 0, first = 0;
    *delta = (alm_pq_delta){.at = ptr, .end = end, .first = true};
    if (!delta_varint(delta, &block) || !delta_varint(delta, &minis) ||
        !delta_varint(delta, &count) || !delta_varint(delta, &first))
        return delta_short;
    if (block == 0 || block > 1 << 24 || minis == 0 || minis > block || block % minis != 0 ||
        block / minis % GROUP != 0)
        return "packed differences have blocks of no good size";
    delta->block = (uint32_t)block;
    delta->minis = (uint32_t)minis;
    delta->mini = (uint32_t)(block / minis);
    delta->next_mini = delta->minis;
    delta->left = count;
    delta->value = decode_runs_zigzag(first);
    return NULL;
}

static const char *decode_runs_next_block(alm_pq_delta *delta)
{
    uint64_t min = 0;
    if (!delta_varint(delta, &min) || (uint64_t)(delta->end - delta->at) < delta->minis)
        return delta_short;
    delta->min = decode_runs_zigzag(min);
    delta->widths = delta->at;
    delta->at += delta->minis;
    delta->next_mini = 0;
    return NULL;
}

/* Begins a miniblock; its bytes are there as far as values need them. */
static const char *next_mini(alm_pq_delta *delta)
{
    if (delta->next_mini == delta->minis) {
        const char *bad = decode_runs_next_block(delta);
        if (bad != NULL)
            return bad;
    }
    delta->width = delta->widths[delta->next_mini++];
    if (delta->width > 64)
        return "packed differences have more than 64 bits";
    const uint64_t need = (ALM_MIN((uint64_t)delta->mini, delta->left) * delta->width + 7) / 8;
    if (need > (uint64_t)(delta->end - delta->at))
        return delta_short;
    delta->in_mini = delta->mini;
    delta->bit = 0;
    return NULL;
}

static uint64_t delta_one(const alm_pq_delta *delta)
{
    uint64_t lo = 0, hi = 0;
    const size_t left = (size_t)(delta->end - delta->at);
    memcpy(&lo, delta->at, ALM_MIN(left, sizeof lo));
    if (delta->bit + delta->width > 64)
        hi = delta->at[8];
    const uint64_t value = lo >> delta->bit | (delta->bit > 0 ? hi << (64 - delta->bit) : 0);
    return delta->width == 64 ? value : value & ((UINT64_C(1) << delta->width) - 1);
}

static void take_mini(alm_pq_delta *delta, size_t n, int64_t *out)
{
    uint64_t value = delta->value;
    for (size_t i = 0; i < n; i++) {
        value += delta->min + (delta->width > 0 ? delta_one(delta) : 0);
        delta->bit += delta->width;
        delta->at += delta->bit / 8;
        delta->bit %= 8;
        if (out != NULL)
            out[i] = (int64_t)value;
    }
    delta->value = value;
}

/* Whole groups of at most 32 bits, by loops of a known width. */
static size_t decode_runs_take_groups(alm_pq_delta *delta, size_t n, int64_t *out)
{
    uint32_t some[GROUP * 16];
    uint64_t value = delta->value;
    size_t done = 0;
    while (n - done >= GROUP && delta->end - delta->at >= SLACK) {
        const size_t room =
            delta->width > 0 ? (size_t)(delta->end - delta->at - SLACK) / delta->width : n;
        const size_t groups = ALM_MIN(ALM_MIN((n - done) / GROUP, (size_t)16), room);
        if (groups == 0)
            break;
        unpackers[delta->width](delta->at, groups, some);
        for (size_t i = 0; i < groups * GROUP; i++) {
            value += delta->min + some[i];
            out[done + i] = (int64_t)value;
        }
        delta->at += groups * delta->width;
        done += groups * GROUP;
    }
    delta->value = value;
    return done;
}

const char *alm_pq_delta_take(alm_pq_delta *delta, size_t n, int64_t *out)
{
    if (n > delta->left)
        return "there are fewer packed differences than values";
    if (n > 0 && delta->first) {
        delta->first = false;
        if (out != NULL)
            *out++ = (int64_t)delta->value;
        delta->left--;
        n--;
    }
    while (n > 0) {
        if (delta->in_mini == 0) {
            const char *bad = next_mini(delta);
            if (bad != NULL)
                return bad;
        }
        size_t k = ALM_MIN(n, (size_t)delta->in_mini);
        if (delta->width <= 32 && delta->bit == 0 && out != NULL) {
            const size_t fast = decode_runs_take_groups(delta, k, out);
            if (fast > 0)
                k = fast;
            else
                take_mini(delta, k, out);
        } else {
            take_mini(delta, k, out);
        }
        out = out != NULL ? out + k : NULL;
        delta->in_mini -= (uint32_t)k;
        delta->left -= k;
        n -= k;
        if (delta->in_mini == 0 && delta->bit > 0) {
            delta->at++;
            delta->bit = 0;
        }
    }
    return NULL;
}

const char *alm_pq_delta_end(const alm_pq_delta *delta, const uint8_t **end)
{
    alm_pq_delta at = *delta;
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
