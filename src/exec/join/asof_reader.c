/*
 * asof_reader.c - looks at the right side of an ASOF join (asof_right.h): pages on demand, positions of
 * times, neighbours by key, columns of matched rows.
 */
#include "exec/join/asof_right.h"

enum { KEYS_SEEN = 1, VALUES_SEEN = 2 };

/* ------------------------------------------------------------------------------------ pages */

/* Times, and what keys are made of: NUMBER reads it only while the numbers are made. */
static void mark_key_columns(const alm_asof_right *a, bool *wanted)
{
    const alm_plan *plan = a->plan;
    wanted[plan->join.right_ts] = true;
    for (uint32_t k = 0; a->keys != ALM_ASOF_NUMBER && k < plan->join.n_keys; k++)
        alm_expr_cols(plan->join.right_keys[k], wanted, plan->child[1]->n_cols);
}

alm_status alm_asof_reader_new(alm_ctx *cx, const alm_asof_right *right, alm_asof_reader *out)
{
    const uint32_t n_cols = right->plan->child[1]->n_cols;
    *out = (alm_asof_reader){.right = right};
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)right->n_segments * n_cols + 1, &out->vec));
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_pages + 1, &out->seen));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &out->read));
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &out->wanted[i]));
    mark_key_columns(right, out->wanted[0]);
    memcpy(out->wanted[1], right->needed, n_cols * sizeof *right->needed);
    for (uint32_t s = 0; s < right->n_segments; s++)
        if (right->segment[s].span == UINT32_MAX)
            for (uint32_t c = 0; c < n_cols; c++)
                alm_rows_slice(&right->store, c, right->segment[s].at, &out->vec[s * n_cols + c]);
    if (right->scan != NULL)
        ALM_TRY(right->scans->cursor_new(cx, cx->arena, right->scan, &out->cur));
    return ALM_OK;
}

uint32_t alm_asof_segment_of(const alm_asof_right *right, uint32_t row, uint32_t hint)
{
    const alm_asof_segment *s = right->segment;
    if (row - s[hint].first < s[hint].rows)
        return hint;
    uint32_t lo = 0, hi = right->n_segments - 1;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo + 1) / 2;
        if (s[mid].first <= row)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

alm_status alm_asof_touch(alm_ctx *cx, alm_asof_reader *rd, uint32_t segment, uint32_t lo,
                          uint32_t hi, bool values)
{
    const alm_asof_segment *s = &rd->right->segment[segment];
    const uint32_t n_cols = rd->right->plan->child[1]->n_cols;
    const uint8_t mark = values ? VALUES_SEEN : KEYS_SEEN;
    const bool *wanted = rd->wanted[values];
    if (s->span == UINT32_MAX || lo >= hi)
        return ALM_OK;
    for (uint32_t p = lo / ALM_ASOF_PAGE; p <= (hi - 1) / ALM_ASOF_PAGE; p++) {
        if ((rd->seen[s->page + p] & mark) != 0)
            continue;
        const uint32_t row = p * ALM_ASOF_PAGE;
        const uint32_t n = ALM_MIN((uint32_t)ALM_ASOF_PAGE, s->rows - row);
        ALM_TRY(rd->right->scans->read(cx, rd->cur, s->span, row, n, wanted, rd->read));
        for (uint32_t c = 0; c < n_cols; c++) {
            if (!wanted[c])
                continue;
            alm_vec *v = &rd->vec[segment * n_cols + c];
            *v = rd->read[c];
            v->no_nulls = false; /* said of one page only */
            if (!v->is_const)
                v->data = (char *)v->data - (size_t)row * v->width;
        }
        rd->seen[s->page + p] |= mark;
    }
    return ALM_OK;
}

const int64_t *alm_asof_times_of(const alm_asof_reader *rd, uint32_t segment)
{
    const uint32_t n_cols = rd->right->plan->child[1]->n_cols;
    return rd->vec[segment * n_cols + rd->right->plan->join.right_ts].data;
}

const void *alm_asof_keys_of(const alm_asof_reader *rd, uint32_t segment, uint32_t *width)
{
    const alm_asof_right *a = rd->right;
    if (a->keys == ALM_ASOF_NUMBER) {
        *width = sizeof *a->number;
        return a->number + a->segment[segment].first;
    }
    *width = 0;
    if (a->keys == ALM_ASOF_NO_KEY)
        return NULL;
    const alm_vec *v = &rd->vec[segment * a->plan->child[1]->n_cols + a->key_col];
    if (v->is_const) /* a column younger than the part: nulls, code 0 */
        return NULL;
    *width = v->width;
    return v->data;
}

/* -------------------------------------------------------------------------------- positions */

static alm_status time_at(alm_ctx *cx, alm_asof_reader *rd, uint32_t s, uint32_t row, int64_t *out)
{
    ALM_TRY(alm_asof_touch(cx, rd, s, row, row + 1, false));
    *out = alm_asof_times_of(rd, s)[row];
    return ALM_OK;
}

/* First segment from `s` on whose last row lies behind the bound; n_segments: none. */
static alm_status segment_behind(alm_ctx *cx, alm_asof_reader *rd, int64_t bound, uint32_t s,
                                 uint32_t *out)
{
    uint32_t hi = rd->right->n_segments;
    for (uint32_t mid = s; s < hi; mid = s + (hi - s) / 2) { /* often it is the first one */
        int64_t last = 0;
        ALM_TRY(time_at(cx, rd, mid, rd->right->segment[mid].rows - 1, &last));
        if (last > bound)
            hi = mid;
        else
            s = mid + 1;
    }
    *out = hi;
    return ALM_OK;
}

alm_status alm_asof_position(alm_ctx *cx, alm_asof_reader *rd, int64_t bound, uint32_t from,
                             uint32_t *out)
{
    const alm_asof_right *a = rd->right;
    *out = a->n;
    if (from >= a->n)
        return ALM_OK;
    const uint32_t first = alm_asof_segment_of(a, from, 0);
    uint32_t s = 0;
    ALM_TRY(segment_behind(cx, rd, bound, first, &s));
    if (s == a->n_segments)
        return ALM_OK;
    const alm_asof_segment *seg = &a->segment[s];
    uint32_t lo = s == first ? from - seg->first : 0, hi = seg->rows - 1;
    for (uint32_t step = 16; lo + step < hi; step *= 2) { /* the answer is often near */
        int64_t t = 0;
        ALM_TRY(time_at(cx, rd, s, lo + step, &t));
        if (t > bound) {
            hi = lo + step;
            break;
        }
        lo += step + 1;
    }
    while (lo < hi) { /* row hi lies behind */
        const uint32_t mid = lo + (hi - lo) / 2;
        int64_t t = 0;
        ALM_TRY(time_at(cx, rd, s, mid, &t));
        if (t > bound)
            hi = mid;
        else
            lo = mid + 1;
    }
    *out = seg->first + lo;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- neighbours */

/* Last, or first, of n keys that equals `key`, n if there is none: blocks first, then the block. */
enum { LOOK_BLOCK = 64 };
#define DEFINE_FIND(bits)                                                                          \
    static bool any_##bits(const uint##bits##_t *at, uint##bits##_t key)                           \
    {                                                                                              \
        uint##bits##_t any = 0;                                                                    \
        for (uint32_t i = 0; i < LOOK_BLOCK; i++)                                                  \
            any |= at[i] == key;                                                                   \
        return any != 0;                                                                           \
    }                                                                                              \
    ALM_SIMD static uint32_t last_##bits(const uint##bits##_t *at, uint32_t n, uint##bits##_t key) \
    {                                                                                              \
        uint32_t i = n;                                                                            \
        while (i >= LOOK_BLOCK && !any_##bits(at + i - LOOK_BLOCK, key))                           \
            i -= LOOK_BLOCK;                                                                       \
        while (i-- > 0)                                                                            \
            if (at[i] == key)                                                                      \
                return i;                                                                          \
        return n;                                                                                  \
    }                                                                                              \
    ALM_SIMD static uint32_t first_##bits(const uint##bits##_t *at, uint32_t n,                    \
                                          uint##bits##_t key)                                      \
    {                                                                                              \
        uint32_t i = 0;                                                                            \
        while (i + LOOK_BLOCK <= n && !any_##bits(at + i, key))                                    \
            i += LOOK_BLOCK;                                                                       \
        for (; i < n; i++)                                                                         \
            if (at[i] == key)                                                                      \
                return i;                                                                          \
        return n;                                                                                  \
    }
DEFINE_FIND(8)
DEFINE_FIND(16)
DEFINE_FIND(32)

static uint32_t find_last(const void *keys, uint32_t width, uint32_t lo, uint32_t n, uint32_t key)
{
    switch (width) {
    case 0:
        return key == 0 && n > 0 ? n - 1 : n;
    case 1:
        return key > UINT8_MAX ? n : last_8((const uint8_t *)keys + lo, n, (uint8_t)key);
    case 2:
        return key > UINT16_MAX ? n : last_16((const uint16_t *)keys + lo, n, (uint16_t)key);
    default:
        return last_32((const uint32_t *)keys + lo, n, key);
    }
}

static uint32_t find_first(const void *keys, uint32_t width, uint32_t lo, uint32_t n, uint32_t key)
{
    switch (width) {
    case 0:
        return key == 0 && n > 0 ? 0 : n;
    case 1:
        return key > UINT8_MAX ? n : first_8((const uint8_t *)keys + lo, n, (uint8_t)key);
    case 2:
        return key > UINT16_MAX ? n : first_16((const uint16_t *)keys + lo, n, (uint16_t)key);
    default:
        return first_32((const uint32_t *)keys + lo, n, key);
    }
}

alm_status alm_asof_look_back(alm_ctx *cx, alm_asof_reader *rd, uint32_t key, uint32_t lo,
                              uint32_t hi, uint32_t *match)
{
    const alm_asof_right *a = rd->right;
    *match = 0;
    if (lo >= hi)
        return ALM_OK;
    uint32_t s = alm_asof_segment_of(a, hi - 1, 0);
    while (hi > lo) {
        while (hi - 1 < a->segment[s].first)
            s--;
        const alm_asof_segment *seg = &a->segment[s];
        const uint32_t end = hi - seg->first; /* one page at a time */
        const uint32_t page = (end - 1) / ALM_ASOF_PAGE * ALM_ASOF_PAGE;
        const uint32_t from = ALM_MAX(page, lo > seg->first ? lo - seg->first : 0);
        uint32_t width = 0;
        ALM_TRY(alm_asof_touch(cx, rd, s, from, end, false));
        const void *keys = alm_asof_keys_of(rd, s, &width);
        const uint32_t at = find_last(keys, width, from, end - from, key);
        if (at < end - from) {
            *match = seg->first + from + at + 1;
            return ALM_OK;
        }
        hi = seg->first + from;
        ALM_TRY(alm_check(cx));
    }
    return ALM_OK;
}

alm_status alm_asof_look_ahead(alm_ctx *cx, alm_asof_reader *rd, uint32_t key, uint32_t lo,
                               uint32_t hi, uint32_t *match)
{
    const alm_asof_right *a = rd->right;
    *match = 0;
    if (lo >= hi)
        return ALM_OK;
    uint32_t s = alm_asof_segment_of(a, lo, 0);
    while (lo < hi) {
        while (lo - a->segment[s].first >= a->segment[s].rows)
            s++;
        const alm_asof_segment *seg = &a->segment[s];
        const uint32_t from = lo - seg->first;
        const uint32_t page_end = (from / ALM_ASOF_PAGE + 1) * ALM_ASOF_PAGE;
        const uint32_t end = ALM_MIN(ALM_MIN(page_end, seg->rows), hi - seg->first);
        uint32_t width = 0;
        ALM_TRY(alm_asof_touch(cx, rd, s, from, end, false));
        const void *keys = alm_asof_keys_of(rd, s, &width);
        const uint32_t at = find_first(keys, width, from, end - from, key);
        if (at < end - from) {
            *match = seg->first + from + at + 1;
            return ALM_OK;
        }
        lo = seg->first + end;
        ALM_TRY(alm_check(cx));
    }
    return ALM_OK;
}
