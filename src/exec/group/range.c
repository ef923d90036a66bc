/*
 * range.c - keys that are integers of a small range: value - least + 1 is a code like that of a
 * symbol, 0 is null.
 *
 * The range comes from block statistics of the stored column; rows without statistics (the newest ones,
 * cut blocks) are looked at, if they are not too many. Conditions of the scan only make the range
 * wider than needed.
 */
#include "exec/eval/origin.h"
#include "exec/group/group.h"
#include "exec/run/scan_plan.h"

enum { LOOK_ROWS = 1 << 20, LOOK_SHARE = 8 };

typedef struct range_scan {
    const alm_scan_plan *sp;
    uint32_t col; /* of the scan */
    int64_t least, greatest;
    int64_t look; /* rows that may still be looked at */
} range_scan;

static bool has_range(alm_type t)
{
    const uint8_t id = t.id;
    return id == ALM_T_SHORT || id == ALM_T_CHAR || id == ALM_T_INT || id == ALM_T_LONG;
}

#define DEFINE_EXTREMES(name, type, HAS_NULL, NULLV)                                               \
    ALM_SIMD static void extremes_##name(const type *restrict v, uint32_t n, int64_t *least,       \
                                         int64_t *greatest)                                        \
    {                                                                                              \
        int64_t lo = *least, hi = *greatest;                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const int64_t x = (int64_t)v[i];                                                       \
            const bool in = !(HAS_NULL) || v[i] != (NULLV);                                        \
            lo = in && x < lo ? x : lo;                                                            \
            hi = in && x > hi ? x : hi;                                                            \
        }                                                                                          \
        *least = lo;                                                                               \
        *greatest = hi;                                                                            \
    }
DEFINE_EXTREMES(16, int16_t, false, 0)
DEFINE_EXTREMES(char, uint16_t, true, 0)
DEFINE_EXTREMES(32, int32_t, true, ALM_INT_NULL)
DEFINE_EXTREMES(64, int64_t, true, ALM_LONG_NULL)

static void look_at(const alm_vec *v, uint32_t n, int64_t *least, int64_t *greatest)
{
    const uint32_t m = v->is_const ? 1 : n;
    if (v->type.id == ALM_T_SHORT)
        extremes_16(v->data, m, least, greatest);
    else if (v->type.id == ALM_T_CHAR)
        extremes_char(v->data, m, least, greatest);
    else if (v->type.id == ALM_T_INT)
        extremes_32(v->data, m, least, greatest);
    else
        extremes_64(v->data, m, least, greatest);
}

/* Values of rows [row, row + rows) of a span. */
static alm_status look_at_rows(alm_ctx *cx, range_scan *r, alm_scan_cursor *cur, bool *wanted,
                               alm_vec *vecs, uint32_t span, int64_t row, int64_t rows)
{
    wanted[r->col] = true;
    for (int64_t done = 0; done < rows;) {
        const uint32_t n = (uint32_t)ALM_MIN(rows - done, (int64_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_check(cx));
        ALM_TRY(r->sp->scans->read(cx, cur, span, row + done, n, wanted, vecs));
        look_at(&vecs[r->col], n, &r->least, &r->greatest);
        done += n;
    }
    return ALM_OK;
}

static alm_status find_extremes(alm_ctx *cx, range_scan *r, bool *found)
{
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *wanted = NULL;
    *found = false;
    ALM_TRY(ALM_NEWN(cx, cx->arena, r->sp->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, r->sp->n_cols + 1, &wanted));
    ALM_TRY(r->sp->scans->cursor_new(cx, cx->arena, r->sp->scan, &cur));
    for (uint32_t s = 0; s < r->sp->n_segments; s++) {
        const alm_scan_segment *seg = &r->sp->segment[s];
        for (int64_t row = seg->lo; row < seg->hi;) {
            alm_col_stats stats = {0};
            int64_t left = 0;
            r->sp->scans->block_stats(r->sp->scan, seg->span, row, r->col, &left, &stats);
            const int64_t rows = ALM_MIN(ALM_MAX(left, 1), seg->hi - row);
            if (stats.valid && (stats.has_minmax || stats.nulls == stats.rows)) {
                r->least = stats.has_minmax ? ALM_MIN(r->least, stats.min_i) : r->least;
                r->greatest = stats.has_minmax ? ALM_MAX(r->greatest, stats.max_i) : r->greatest;
            } else {
                r->look -= rows;
                if (r->look < 0)
                    return ALM_OK;
                ALM_TRY(look_at_rows(cx, r, cur, wanted, vecs, seg->span, row, rows));
            }
            row += rows;
        }
    }
    *found = true;
    return ALM_OK;
}

alm_status alm_group_range(alm_ctx *cx, const alm_group *g, const alm_expr *key, int64_t *least,
                           uint32_t *card)
{
    alm_origin from;
    range_scan r = {.least = INT64_MAX, .greatest = INT64_MIN};
    bool found = false;
    *card = 0;
    if (!has_range(key->type) || !alm_pipe_parallel(g->pipe) ||
        alm_pipe_rows(g->pipe) < ALM_MORSEL_ROWS ||
        !alm_origin_of(g->op.plan->child[0], key, &from))
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, g->op.run, from.scan, &r.sp));
    if (r.sp->row_col >= 0)
        return ALM_OK;
    r.col = from.scan_col;
    r.look = ALM_MAX((int64_t)LOOK_ROWS, alm_pipe_rows(g->pipe) / LOOK_SHARE);
    ALM_TRY(find_extremes(cx, &r, &found));
    if (!found)
        return ALM_OK;
    if (r.least > r.greatest) /* nothing but nulls */
        r.least = r.greatest = 0;
    const uint64_t range = (uint64_t)r.greatest - (uint64_t)r.least;
    *least = r.least;
    *card = range < ALM_GROUP_RANGE_MAX - 2 ? (uint32_t)range + 2 : 0;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- codes */

#define DEFINE_CODES(name, type, HAS_NULL, NULLV)                                                  \
    ALM_SIMD static uint32_t codes_##name(const type *restrict v, uint32_t n, int64_t least,       \
                                          uint32_t *restrict code)                                 \
    {                                                                                              \
        const uint32_t base = (uint32_t)least - 1;                                                 \
        uint32_t most = 0;                                                                         \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const bool null = (HAS_NULL) && v[i] == (NULLV);                                       \
            const uint32_t c = null ? 0 : (uint32_t)v[i] - base;                                   \
            most = c > most ? c : most;                                                            \
            code[i] = c;                                                                           \
        }                                                                                          \
        return most;                                                                               \
    }
DEFINE_CODES(16, int16_t, false, 0)
DEFINE_CODES(char, uint16_t, true, 0)
DEFINE_CODES(32, int32_t, true, ALM_INT_NULL)
DEFINE_CODES(64, int64_t, true, ALM_LONG_NULL)

alm_status alm_group_range_codes(alm_ctx *cx, alm_arena *arena, const alm_vec *v, uint32_t n,
                                 int64_t least, uint32_t card, alm_vec *out)
{
    uint32_t *code = NULL, most = 0;
    const uint32_t m = v->is_const ? 1 : n;
    ALM_TRY(alm_arena_bytes(cx, arena, (m + 1) * sizeof *code, &code));
    if (v->type.id == ALM_T_SHORT)
        most = codes_16(v->data, m, least, code);
    else if (v->type.id == ALM_T_CHAR)
        most = codes_char(v->data, m, least, code);
    else if (v->type.id == ALM_T_INT)
        most = codes_32(v->data, m, least, code);
    else
        most = codes_64(v->data, m, least, code);
    if (most >= card)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "statistics of a column do not hold for its values");
    *out = (alm_vec){.type = v->type, .width = sizeof *code, .is_const = v->is_const, .data = code};
    return ALM_OK;
}

void alm_group_range_value(alm_type type, int64_t least, uint32_t code, void *out)
{
    const int64_t value = least + (int64_t)code - 1;
    if (code == 0)
        alm_value_set_null(type, out);
    else
        memcpy(out, &value, alm_type_width(type)); /* little-endian: the low bytes */
}
