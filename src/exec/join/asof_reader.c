/*
 * asof_reader.c - looks at the right side of an ASOF join (asof_right.h): pages on demand, positions of
 * times, neighbours by key, columns of matched rows.
 */
#include "exec/join/asof_right.h"

enum { KEYS_SEEN = 1, VALUES_SEEN = 2 };

/* ------------------------------------------------------------------------------------ pages */

/* Times, and what keys are made of: NUMBER reads it only while the numbers are made. */
static void mark_key_columns(const alm_asof_right *right, bool *wanted)
{
    const alm_plan *plan = right->plan;
    wanted[plan->join.right_ts] = true;
    for (uint32_t k = 0; right->keys != ALM_ASOF_NUMBER && k < plan->join.n_keys; k++)
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
    for (uint32_t segment = 0; segment < right->n_segments; segment++)
        if (right->segment[segment].span == UINT32_MAX)
            for (uint32_t col = 0; col < n_cols; col++)
                alm_rows_slice(&right->store, col, right->segment[segment].at,
                               &out->vec[segment * n_cols + col]);
    if (right->scan != NULL)
        ALM_TRY(right->scans->cursor_new(cx, cx->arena, right->scan, &out->cur));
    return ALM_OK;
}

uint32_t alm_asof_segment_of(const alm_asof_right *right, uint32_t row, uint32_t hint)
{
    const alm_asof_segment *segments = right->segment;
    if (row - segments[hint].first < segments[hint].rows)
        return hint;
    uint32_t lo = 0, hi = right->n_segments - 1;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo + 1) / 2;
        if (segments[mid].first <= row)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

alm_status alm_asof_touch(alm_ctx *cx, alm_asof_reader *reader, uint32_t segment, uint32_t lo,
                          uint32_t hi, bool values)
{
    const alm_asof_segment *asof_segment = &reader->right->segment[segment];
    const uint32_t n_cols = reader->right->plan->child[1]->n_cols;
    const uint8_t mark = values ? VALUES_SEEN : KEYS_SEEN;
    const bool *wanted = reader->wanted[values];
    if (asof_segment->span == UINT32_MAX || lo >= hi)
        return ALM_OK;
    for (uint32_t page = lo / ALM_ASOF_PAGE; page <= (hi - 1) / ALM_ASOF_PAGE; page++) {
        if ((reader->seen[asof_segment->page + page] & mark) != 0)
            continue;
        const uint32_t row = page * ALM_ASOF_PAGE;
        const uint32_t n = ALM_MIN((uint32_t)ALM_ASOF_PAGE, asof_segment->rows - row);
        ALM_TRY(reader->right->scans->read(cx, reader->cur, asof_segment->span, row, n, wanted,
                                           reader->read));
        for (uint32_t col = 0; col < n_cols; col++) {
            if (!wanted[col])
                continue;
            alm_vec *vec = &reader->vec[segment * n_cols + col];
            *vec = reader->read[col];
            vec->no_nulls = false; /* said of one page only */
            if (!vec->is_const)
                vec->data = (char *)vec->data - (size_t)row * vec->width;
        }
        reader->seen[asof_segment->page + page] |= mark;
    }
    return ALM_OK;
}

const int64_t *alm_asof_times_of(const alm_asof_reader *reader, uint32_t segment)
{
    const uint32_t n_cols = reader->right->plan->child[1]->n_cols;
    return reader->vec[segment * n_cols + reader->right->plan->join.right_ts].data;
}

const void *alm_asof_keys_of(const alm_asof_reader *reader, uint32_t segment, uint32_t *width)
{
    const alm_asof_right *right = reader->right;
    if (right->keys == ALM_ASOF_NUMBER) {
        *width = sizeof *right->number;
        return right->number + right->segment[segment].first;
    }
    *width = 0;
    if (right->keys == ALM_ASOF_NO_KEY)
        return NULL;
    const alm_vec *vec = &reader->vec[segment * right->plan->child[1]->n_cols + right->key_col];
    if (vec->is_const) /* a column younger than the part: nulls, code 0 */
        return NULL;
    *width = vec->width;
    return vec->data;
}

/* -------------------------------------------------------------------------------- positions */

static alm_status asof_reader_time_at(alm_ctx *cx, alm_asof_reader *reader, uint32_t s,
                                      uint32_t row, int64_t *out)
{
    ALM_TRY(alm_asof_touch(cx, reader, s, row, row + 1, false));
    *out = alm_asof_times_of(reader, s)[row];
    return ALM_OK;
}

/* First segment from `segment` on whose last row lies behind the bound; n_segments: none. */
static alm_status segment_behind(alm_ctx *cx, alm_asof_reader *reader, int64_t bound,
                                 uint32_t segment, uint32_t *out)
{
    uint32_t hi = reader->right->n_segments;
    for (uint32_t mid = segment; segment < hi;
         mid = segment + (hi - segment) / 2) { /* often it is the first one */
        int64_t last = 0;
        ALM_TRY(asof_reader_time_at(cx, reader, mid, reader->right->segment[mid].rows - 1, &last));
        if (last > bound)
            hi = mid;
        else
            segment = mid + 1;
    }
    *out = hi;
    return ALM_OK;
}

alm_status alm_asof_position(alm_ctx *cx, alm_asof_reader *reader, int64_t bound, uint32_t from,
                             uint32_t *out)
{
    const alm_asof_right *right = reader->right;
    *out = right->n;
    if (from >= right->n)
        return ALM_OK;
    const uint32_t first = alm_asof_segment_of(right, from, 0);
    uint32_t segment = 0;
    ALM_TRY(segment_behind(cx, reader, bound, first, &segment));
    if (segment == right->n_segments)
        return ALM_OK;
    const alm_asof_segment *seg = &right->segment[segment];
    uint32_t lo = segment == first ? from - seg->first : 0, hi = seg->rows - 1;
    for (uint32_t step = 16; lo + step < hi; step *= 2) { /* the answer is often near */
        int64_t time = 0;
        ALM_TRY(asof_reader_time_at(cx, reader, segment, lo + step, &time));
        if (time > bound) {
            hi = lo + step;
            break;
        }
        lo += step + 1;
    }
    while (lo < hi) { /* row hi lies behind */
        const uint32_t mid = lo + (hi - lo) / 2;
        int64_t time = 0;
        ALM_TRY(asof_reader_time_at(cx, reader, segment, mid, &time));
        if (time > bound)
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

static uint32_t asof_reader_find_last(const void *keys, uint32_t width, uint32_t lo, uint32_t n,
                                      uint32_t key)
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

alm_status alm_asof_look_back(alm_ctx *cx, alm_asof_reader *reader, uint32_t key, uint32_t lo,
                              uint32_t hi, uint32_t *match)
{
    const alm_asof_right *right = reader->right;
    *match = 0;
    if (lo >= hi)
        return ALM_OK;
    uint32_t segment = alm_asof_segment_of(right, hi - 1, 0);
    while (hi > lo) {
        while (hi - 1 < right->segment[segment].first)
            segment--;
        const alm_asof_segment *seg = &right->segment[segment];
        const uint32_t end = hi - seg->first; /* one page at a time */
        const uint32_t page = (end - 1) / ALM_ASOF_PAGE * ALM_ASOF_PAGE;
        const uint32_t from = ALM_MAX(page, lo > seg->first ? lo - seg->first : 0);
        uint32_t width = 0;
        ALM_TRY(alm_asof_touch(cx, reader, segment, from, end, false));
        const void *keys = alm_asof_keys_of(reader, segment, &width);
        const uint32_t place = asof_reader_find_last(keys, width, from, end - from, key);
        if (place < end - from) {
            *match = seg->first + from + place + 1;
            return ALM_OK;
        }
        hi = seg->first + from;
        ALM_TRY(alm_check(cx));
    }
    return ALM_OK;
}

alm_status alm_asof_look_ahead(alm_ctx *cx, alm_asof_reader *reader, uint32_t key, uint32_t lo,
                               uint32_t hi, uint32_t *match)
{
    const alm_asof_right *right = reader->right;
    *match = 0;
    if (lo >= hi)
        return ALM_OK;
    uint32_t segment = alm_asof_segment_of(right, lo, 0);
    while (lo < hi) {
        while (lo - right->segment[segment].first >= right->segment[segment].rows)
            segment++;
        const alm_asof_segment *seg = &right->segment[segment];
        const uint32_t from = lo - seg->first;
        const uint32_t page_end = (from / ALM_ASOF_PAGE + 1) * ALM_ASOF_PAGE;
        const uint32_t end = ALM_MIN(ALM_MIN(page_end, seg->rows), hi - seg->first);
        uint32_t width = 0;
        ALM_TRY(alm_asof_touch(cx, reader, segment, from, end, false));
        const void *keys = alm_asof_keys_of(reader, segment, &width);
        const uint32_t place = find_first(keys, width, from, end - from, key);
        if (place < end - from) {
            *match = seg->first + from + place + 1;
            return ALM_OK;
        }
        lo = seg->first + end;
        ALM_TRY(alm_check(cx));
    }
    return ALM_OK;
}
