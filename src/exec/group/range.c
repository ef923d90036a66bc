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

static bool group_has_range(alm_type type)
{
    const uint8_t id = type.id;
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

static void group_range_look_at(const alm_vec *vec, uint32_t n_rows, int64_t *least,
                                int64_t *greatest)
{
    const uint32_t m = vec->is_const ? 1 : n_rows;
    if (vec->type.id == ALM_T_SHORT)
        extremes_16(vec->data, m, least, greatest);
    else if (vec->type.id == ALM_T_CHAR)
        extremes_char(vec->data, m, least, greatest);
    else if (vec->type.id == ALM_T_INT)
        extremes_32(vec->data, m, least, greatest);
    else
        extremes_64(vec->data, m, least, greatest);
}

/* Values of rows [row, row + rows) of a span. */
static alm_status look_at_rows(alm_ctx *cx, range_scan *scan, alm_scan_cursor *cur, bool *wanted,
                               alm_vec *vecs, uint32_t span, int64_t row, int64_t rows)
{
    wanted[scan->col] = true;
    for (int64_t done = 0; done < rows;) {
        const uint32_t n_rows = (uint32_t)ALM_MIN(rows - done, (int64_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_check(cx));
        ALM_TRY(scan->sp->scans->read(cx, cur, span, row + done, n_rows, wanted, vecs));
        group_range_look_at(&vecs[scan->col], n_rows, &scan->least, &scan->greatest);
        done += n_rows;
    }
    return ALM_OK;
}

static alm_status find_extremes(alm_ctx *cx, range_scan *scan, bool *found)
{
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *wanted = NULL;
    *found = false;
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->sp->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->sp->n_cols + 1, &wanted));
    ALM_TRY(scan->sp->scans->cursor_new(cx, cx->arena, scan->sp->scan, &cur));
    for (uint32_t segment = 0; segment < scan->sp->n_segments; segment++) {
        const alm_scan_segment *seg = &scan->sp->segment[segment];
        for (int64_t row = seg->lo; row < seg->hi;) {
            alm_col_stats stats = {0};
            int64_t left = 0;
            scan->sp->scans->block_stats(scan->sp->scan, seg->span, row, scan->col, &left, &stats);
            const int64_t rows = ALM_MIN(ALM_MAX(left, 1), seg->hi - row);
            if (stats.valid && (stats.has_minmax || stats.nulls == stats.rows)) {
                scan->least = stats.has_minmax ? ALM_MIN(scan->least, stats.min_i) : scan->least;
                scan->greatest =
                    stats.has_minmax ? ALM_MAX(scan->greatest, stats.max_i) : scan->greatest;
            } else {
                scan->look -= rows;
                if (scan->look < 0)
                    return ALM_OK;
                ALM_TRY(look_at_rows(cx, scan, cur, wanted, vecs, seg->span, row, rows));
            }
            row += rows;
        }
    }
    *found = true;
    return ALM_OK;
}

alm_status alm_group_range(alm_ctx *cx, const alm_group *group, const alm_expr *key, int64_t *least,
                           uint32_t *card)
{
    alm_origin from;
    range_scan scan = {.least = INT64_MAX, .greatest = INT64_MIN};
    bool found = false;
    *card = 0;
    if (!group_has_range(key->type) || !alm_pipe_parallel(group->pipe) ||
        alm_pipe_rows(group->pipe) < ALM_MORSEL_ROWS ||
        !alm_origin_of(group->op.plan->child[0], key, &from))
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, group->op.run, from.scan, &scan.sp));
    if (scan.sp->row_col >= 0)
        return ALM_OK;
    scan.col = from.scan_col;
    scan.look = ALM_MAX((int64_t)LOOK_ROWS, alm_pipe_rows(group->pipe) / LOOK_SHARE);
    ALM_TRY(find_extremes(cx, &scan, &found));
    if (!found)
        return ALM_OK;
    if (scan.least > scan.greatest) /* nothing but nulls */
        scan.least = scan.greatest = 0;
    const uint64_t range = (uint64_t)scan.greatest - (uint64_t)scan.least;
    *least = scan.least;
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

alm_status alm_group_range_codes(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, uint32_t n_rows,
                                 int64_t least, uint32_t card, alm_vec *out)
{
    uint32_t *code = NULL, most = 0;
    const uint32_t m = vec->is_const ? 1 : n_rows;
    ALM_TRY(alm_arena_bytes(cx, arena, (m + 1) * sizeof *code, &code));
    if (vec->type.id == ALM_T_SHORT)
        most = codes_16(vec->data, m, least, code);
    else if (vec->type.id == ALM_T_CHAR)
        most = codes_char(vec->data, m, least, code);
    else if (vec->type.id == ALM_T_INT)
        most = codes_32(vec->data, m, least, code);
    else
        most = codes_64(vec->data, m, least, code);
    if (most >= card)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "statistics of a column do not hold for its values");
    *out = (alm_vec){
        .type = vec->type, .width = sizeof *code, .is_const = vec->is_const, .data = code};
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
