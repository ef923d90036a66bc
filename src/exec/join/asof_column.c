/*
 * asof_column.c - columns of the matched rows of an ASOF join (asof_right.h).
 *
 * The matched rows are given by number. If all of them are in one segment, which is the common case, one typed loop
 * gathers them; otherwise a loop looks up the segment of each row. Text comes in address form, codes with 4
 * bytes, because segments differ in both.
 */
#include "exec/data/wide.h"
#include "exec/eval/origin.h"
#include "exec/join/asof_right.h"

typedef struct matched {
    const uint32_t *match;
    uint32_t n;
    uint32_t lo, hi;    /* segments of the least and the greatest row */
    bool any, any_none; /* is there a row; is there a 0 */
    uint32_t *segment;  /* by row, where lo < hi */
} matched;

/* ------------------------------------------------------------------------- one segment */

#define DEFINE_TAKE(name, from_type, to_type)                                                      \
    static void take_##name(const void *data, const uint32_t *restrict match, uint32_t n,          \
                            uint32_t first, bool none, const void *null, void *out)                \
    {                                                                                              \
        const from_type *restrict from = data;                                                     \
        to_type *restrict to = out;                                                                \
        if (!none) {                                                                               \
            for (uint32_t i = 0; i < n; i++)                                                       \
                to[i] = from[match[i] - first];                                                    \
            return;                                                                                \
        }                                                                                          \
        to_type nothing;                                                                           \
        memcpy(&nothing, null, sizeof nothing);                                                    \
        for (uint32_t i = 0; i < n; i++)                                                           \
            if (match[i] != 0)                                                                     \
                to[i] = from[match[i] - first];                                                    \
            else                                                                                   \
                to[i] = nothing;                                                                   \
    }
DEFINE_TAKE(8, uint8_t, uint8_t)
DEFINE_TAKE(16, uint16_t, uint16_t)
DEFINE_TAKE(32, uint32_t, uint32_t)
DEFINE_TAKE(64, uint64_t, uint64_t)
DEFINE_TAKE(128, alm_wide16, alm_wide16)
DEFINE_TAKE(256, alm_wide32, alm_wide32)
DEFINE_TAKE(code8, uint8_t, uint32_t)
DEFINE_TAKE(code16, uint16_t, uint32_t)

static void asof_column_take(const alm_vec *vec, const matched *self, uint32_t first, bool code,
                             const void *null, void *out)
{
    switch (vec->width) {
    case 1:
        (code ? take_code8 : take_8)(vec->data, self->match, self->n, first, self->any_none, null,
                                     out);
        return;
    case 2:
        (code ? take_code16 : take_16)(vec->data, self->match, self->n, first, self->any_none, null,
                                       out);
        return;
    case 4:
        take_32(vec->data, self->match, self->n, first, self->any_none, null, out);
        return;
    case 8:
        take_64(vec->data, self->match, self->n, first, self->any_none, null, out);
        return;
    case 32:
        take_256(vec->data, self->match, self->n, first, self->any_none, null, out);
        return;
    default:
        ALM_DASSERT(vec->width == 16);
        take_128(vec->data, self->match, self->n, first, self->any_none, null, out);
    }
}

static void add_heap(alm_view *views, uint32_t n_matches, const uint32_t *match, const char *heap)
{
    for (uint32_t i = 0; i < n_matches; i++)
        if (match[i] != 0 && views[i].len > ALM_VIEW_INLINE && !alm_view_is_null(&views[i]))
            views[i].off += (uint64_t)(uintptr_t)heap;
}

/* ------------------------------------------------------------------------ many segments */

static void take_far(const alm_asof_reader *reader, const matched *self, uint32_t col, bool code,
                     uint32_t width, const void *null, char *out)
{
    const uint32_t n_cols = reader->right->plan->child[1]->n_cols;
    for (uint32_t i = 0; i < self->n; i++) {
        char *const dest = out + (size_t)i * width;
        if (self->match[i] == 0) {
            memcpy(dest, null, width);
            continue;
        }
        const uint32_t segment = self->segment[i];
        const alm_vec *vec = &reader->vec[segment * n_cols + col];
        const uint32_t row =
            vec->is_const ? 0 : self->match[i] - 1 - reader->right->segment[segment].first;
        if (code) {
            const uint32_t value = alm_vec_code(vec, row);
            memcpy(dest, &value, sizeof value);
            continue;
        }
        memcpy(dest, (const char *)vec->data + (size_t)row * width, width);
        if (vec->heap != NULL)
            add_heap((alm_view *)(void *)dest, 1, &self->match[i], vec->heap);
    }
}

/* ----------------------------------------------------------------------------- the rows */

/* Where the rows lie; makes their pages readable. */
static alm_status asof_column_locate(alm_ctx *cx, alm_asof_reader *reader, alm_arena *arena,
                                     bool values, matched *self)
{
    const alm_asof_right *right = reader->right;
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < self->n; i++) {
        const uint32_t below = self->match[i] - 1; /* 0 wraps */
        least = ALM_MIN(least, below);
        most = ALM_MAX(most, self->match[i]);
        self->any_none |= self->match[i] == 0;
    }
    self->any = most > 0;
    if (!self->any)
        return ALM_OK;
    self->hi = alm_asof_segment_of(right, most - 1, 0);
    self->lo = alm_asof_segment_of(right, least, self->hi);
    if (self->lo == self->hi && (most - 1 - least) / ALM_ASOF_PAGE <= self->n / 256)
        return alm_asof_touch(cx, reader, self->lo, least - right->segment[self->lo].first,
                              most - right->segment[self->lo].first, values);
    ALM_TRY(alm_arena_bytes(cx, arena, self->n * sizeof *self->segment, &self->segment));
    uint32_t segment = self->lo, page = UINT32_MAX;
    for (uint32_t i = 0; i < self->n; i++) {
        if (self->match[i] == 0)
            continue;
        const uint32_t row = self->match[i] - 1;
        const uint32_t in = alm_asof_segment_of(right, row, segment);
        const uint32_t place = (row - right->segment[in].first) / ALM_ASOF_PAGE;
        if (in != segment || place != page)
            ALM_TRY(alm_asof_touch(cx, reader, in, row - right->segment[in].first,
                                   row - right->segment[in].first + 1, values));
        segment = in;
        page = place;
        self->segment[i] = segment;
    }
    return ALM_OK;
}

static alm_status gather_column(alm_ctx *cx, alm_asof_reader *reader, alm_arena *arena,
                                const matched *self, uint32_t col, alm_vec *out)
{
    const alm_asof_right *asof_right = reader->right;
    const alm_plan *right = asof_right->plan->child[1];
    const alm_vec *vec = &reader->vec[self->lo * right->n_cols + col];
    const alm_type type = right->cols[col].type;
    union {
        char bytes[32];
        uint64_t align[4];
    } null = {0};
    const bool code = vec->dict != NULL;
    uint32_t width = vec->width;
    void *data = NULL;
    if (code)
        width = sizeof(uint32_t);
    else
        alm_value_set_null(type, &null);
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)self->n * width, &data));
    if (self->lo == self->hi && !vec->is_const) {
        asof_column_take(vec, self, asof_right->segment[self->lo].first + 1, code, &null, data);
        if (vec->heap != NULL)
            add_heap(data, self->n, self->match, vec->heap);
    } else if (self->lo == self->hi) { /* one value for all, or null */
        const uint32_t value = code ? alm_vec_code(vec, 0) : 0;
        const void *from = code ? &value : vec->data;
        for (uint32_t i = 0; i < self->n; i++)
            memcpy((char *)data + (size_t)i * width, self->match[i] != 0 ? from : &null, width);
        if (vec->heap != NULL)
            add_heap(data, self->n, self->match, vec->heap);
    } else {
        take_far(reader, self, col, code, width, &null, data);
    }
    *out = (alm_vec){.type = type, .width = (uint8_t)width, .dict = vec->dict, .data = data};
    return ALM_OK;
}

/* Nulls of column col in a form that goes with that of other batches. */
static alm_status asof_null_column(alm_ctx *cx, const alm_asof_reader *reader, alm_arena *arena,
                                   uint32_t col, alm_vec *out)
{
    const alm_asof_right *asof_right = reader->right;
    const alm_plan *right = asof_right->plan->child[1];
    const alm_type type = right->cols[col].type;
    const alm_expr expr = {.kind = ALM_X_COL, .type = type, .col = col};
    const alm_dict *dict = asof_right->n > 0 && asof_right->scan == NULL
                               ? asof_right->store.col[col].dict
                               : alm_origin_dict(right, &expr);
    if (type.id != ALM_T_SYMBOL || dict == NULL)
        return alm_vec_null(cx, arena, type, out);
    void *code = NULL;
    ALM_TRY(alm_arena_zero(cx, arena, sizeof(uint32_t), &code));
    *out = (alm_vec){.type = type, .width = 4, .is_const = true, .dict = dict, .data = code};
    return ALM_OK;
}

alm_status alm_asof_gather(alm_ctx *cx, alm_asof_reader *reader, alm_arena *arena,
                           const uint32_t *match, uint32_t n, alm_vec *out)
{
    const alm_plan *right = reader->right->plan->child[1];
    matched self = {.match = match, .n = n};
    ALM_TRY(asof_column_locate(cx, reader, arena, true, &self));
    for (uint32_t col = 0; col < right->n_cols; col++) {
        if (self.any && reader->right->needed[col])
            ALM_TRY(gather_column(cx, reader, arena, &self, col, &out[col]));
        else
            ALM_TRY(asof_null_column(cx, reader, arena, col, &out[col]));
    }
    return ALM_OK;
}

alm_status alm_asof_gather_times(alm_ctx *cx, alm_asof_reader *reader, alm_arena *arena,
                                 const uint32_t *match, uint32_t n, int64_t **out)
{
    const uint32_t ts = reader->right->plan->join.right_ts;
    matched self = {.match = match, .n = n};
    alm_vec vec = {0};
    ALM_TRY(asof_column_locate(cx, reader, arena, false, &self));
    if (self.any) {
        ALM_TRY(gather_column(cx, reader, arena, &self, ts, &vec));
        *out = vec.data;
        return ALM_OK;
    }
    ALM_TRY(alm_arena_bytes(cx, arena, n * sizeof **out, out));
    for (uint32_t i = 0; i < n; i++)
        (*out)[i] = INT64_MIN;
    return ALM_OK;
}
