/*
 * asof_column.c - columns of the matched rows of an ASOF join (asof_right.h).
 *
 * Rows come by match number: one typed loop over the segment where they all lie in one, which is the
 * rule; else a loop that looks up the segment of each row. Text comes in address form, codes with 4
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

static void take(const alm_vec *v, const matched *m, uint32_t first, bool code, const void *null,
                 void *out)
{
    switch (v->width) {
    case 1:
        (code ? take_code8 : take_8)(v->data, m->match, m->n, first, m->any_none, null, out);
        return;
    case 2:
        (code ? take_code16 : take_16)(v->data, m->match, m->n, first, m->any_none, null, out);
        return;
    case 4:
        take_32(v->data, m->match, m->n, first, m->any_none, null, out);
        return;
    case 8:
        take_64(v->data, m->match, m->n, first, m->any_none, null, out);
        return;
    case 32:
        take_256(v->data, m->match, m->n, first, m->any_none, null, out);
        return;
    default:
        ALM_DASSERT(v->width == 16);
        take_128(v->data, m->match, m->n, first, m->any_none, null, out);
    }
}

static void add_heap(alm_view *views, uint32_t n, const uint32_t *match, const char *heap)
{
    for (uint32_t i = 0; i < n; i++)
        if (match[i] != 0 && views[i].len > ALM_VIEW_INLINE && !alm_view_is_null(&views[i]))
            views[i].off += (uint64_t)(uintptr_t)heap;
}

/* ------------------------------------------------------------------------ many segments */

static void take_far(const alm_asof_reader *rd, const matched *m, uint32_t c, bool code,
                     uint32_t width, const void *null, char *out)
{
    const uint32_t n_cols = rd->right->plan->child[1]->n_cols;
    for (uint32_t i = 0; i < m->n; i++) {
        char *const to = out + (size_t)i * width;
        if (m->match[i] == 0) {
            memcpy(to, null, width);
            continue;
        }
        const uint32_t s = m->segment[i];
        const alm_vec *v = &rd->vec[s * n_cols + c];
        const uint32_t row = v->is_const ? 0 : m->match[i] - 1 - rd->right->segment[s].first;
        if (code) {
            const uint32_t value = alm_vec_code(v, row);
            memcpy(to, &value, sizeof value);
            continue;
        }
        memcpy(to, (const char *)v->data + (size_t)row * width, width);
        if (v->heap != NULL)
            add_heap((alm_view *)(void *)to, 1, &m->match[i], v->heap);
    }
}

/* ----------------------------------------------------------------------------- the rows */

/* Where the rows lie; makes their pages readable. */
static alm_status locate(alm_ctx *cx, alm_asof_reader *rd, alm_arena *arena, bool values,
                         matched *m)
{
    const alm_asof_right *a = rd->right;
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const uint32_t below = m->match[i] - 1; /* 0 wraps */
        least = ALM_MIN(least, below);
        most = ALM_MAX(most, m->match[i]);
        m->any_none |= m->match[i] == 0;
    }
    m->any = most > 0;
    if (!m->any)
        return ALM_OK;
    m->hi = alm_asof_segment_of(a, most - 1, 0);
    m->lo = alm_asof_segment_of(a, least, m->hi);
    if (m->lo == m->hi && (most - 1 - least) / ALM_ASOF_PAGE <= m->n / 256)
        return alm_asof_touch(cx, rd, m->lo, least - a->segment[m->lo].first,
                              most - a->segment[m->lo].first, values);
    ALM_TRY(alm_arena_bytes(cx, arena, m->n * sizeof *m->segment, &m->segment));
    uint32_t s = m->lo, page = UINT32_MAX;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->match[i] == 0)
            continue;
        const uint32_t row = m->match[i] - 1;
        const uint32_t in = alm_asof_segment_of(a, row, s);
        const uint32_t at = (row - a->segment[in].first) / ALM_ASOF_PAGE;
        if (in != s || at != page)
            ALM_TRY(alm_asof_touch(cx, rd, in, row - a->segment[in].first,
                                   row - a->segment[in].first + 1, values));
        s = in;
        page = at;
        m->segment[i] = s;
    }
    return ALM_OK;
}

static alm_status gather_column(alm_ctx *cx, alm_asof_reader *rd, alm_arena *arena,
                                const matched *m, uint32_t c, alm_vec *out)
{
    const alm_asof_right *a = rd->right;
    const alm_plan *right = a->plan->child[1];
    const alm_vec *v = &rd->vec[m->lo * right->n_cols + c];
    const alm_type type = right->cols[c].type;
    union {
        char bytes[32];
        uint64_t align[4];
    } null = {0};
    const bool code = v->dict != NULL;
    uint32_t width = v->width;
    void *data = NULL;
    if (code)
        width = sizeof(uint32_t);
    else
        alm_value_set_null(type, &null);
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)m->n * width, &data));
    if (m->lo == m->hi && !v->is_const) {
        take(v, m, a->segment[m->lo].first + 1, code, &null, data);
        if (v->heap != NULL)
            add_heap(data, m->n, m->match, v->heap);
    } else if (m->lo == m->hi) { /* one value for all, or null */
        const uint32_t value = code ? alm_vec_code(v, 0) : 0;
        const void *from = code ? &value : v->data;
        for (uint32_t i = 0; i < m->n; i++)
            memcpy((char *)data + (size_t)i * width, m->match[i] != 0 ? from : &null, width);
        if (v->heap != NULL)
            add_heap(data, m->n, m->match, v->heap);
    } else {
        take_far(rd, m, c, code, width, &null, data);
    }
    *out = (alm_vec){.type = type, .width = (uint8_t)width, .dict = v->dict, .data = data};
    return ALM_OK;
}

/* Nulls of column c in a form that goes with that of other batches. */
static alm_status null_column(alm_ctx *cx, const alm_asof_reader *rd, alm_arena *arena, uint32_t c,
                              alm_vec *out)
{
    const alm_asof_right *a = rd->right;
    const alm_plan *right = a->plan->child[1];
    const alm_type type = right->cols[c].type;
    const alm_expr e = {.kind = ALM_X_COL, .type = type, .col = c};
    const alm_dict *dict =
        a->n > 0 && a->scan == NULL ? a->store.col[c].dict : alm_origin_dict(right, &e);
    if (type.id != ALM_T_SYMBOL || dict == NULL)
        return alm_vec_null(cx, arena, type, out);
    void *code = NULL;
    ALM_TRY(alm_arena_zero(cx, arena, sizeof(uint32_t), &code));
    *out = (alm_vec){.type = type, .width = 4, .is_const = true, .dict = dict, .data = code};
    return ALM_OK;
}

alm_status alm_asof_gather(alm_ctx *cx, alm_asof_reader *rd, alm_arena *arena,
                           const uint32_t *match, uint32_t n, alm_vec *out)
{
    const alm_plan *right = rd->right->plan->child[1];
    matched m = {.match = match, .n = n};
    ALM_TRY(locate(cx, rd, arena, true, &m));
    for (uint32_t c = 0; c < right->n_cols; c++) {
        if (m.any && rd->right->needed[c])
            ALM_TRY(gather_column(cx, rd, arena, &m, c, &out[c]));
        else
            ALM_TRY(null_column(cx, rd, arena, c, &out[c]));
    }
    return ALM_OK;
}

alm_status alm_asof_gather_times(alm_ctx *cx, alm_asof_reader *rd, alm_arena *arena,
                                 const uint32_t *match, uint32_t n, int64_t **out)
{
    const uint32_t ts = rd->right->plan->join.right_ts;
    matched m = {.match = match, .n = n};
    alm_vec v = {0};
    ALM_TRY(locate(cx, rd, arena, false, &m));
    if (m.any) {
        ALM_TRY(gather_column(cx, rd, arena, &m, ts, &v));
        *out = v.data;
        return ALM_OK;
    }
    ALM_TRY(alm_arena_bytes(cx, arena, n * sizeof **out, out));
    for (uint32_t i = 0; i < n; i++)
        (*out)[i] = INT64_MIN;
    return ALM_OK;
}
