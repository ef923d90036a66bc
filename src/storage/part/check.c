/*
 * check.c - verification of one part file, apart from what readers have open of it: its checksums, or everything a
 * reader relies on, and more.
 */
#include <stdarg.h>
#include <stdio.h>

#include "storage/part/format.h"
#include "storage/part/inner.h"
#include "storage/part/part.h"
#include "storage/part/stats.h"

static void finding(alm_part_check_arg *arg, const char *format, ...) ALM_PRINTF(2, 3);
static void finding(alm_part_check_arg *arg, const char *format, ...)
{
    char line[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    arg->n_findings++;
    arg->report(arg->arg, line);
}

/* Stored statistics must be those of the values. */
static void check_stats(const alm_part *part, uint32_t entry, uint32_t block,
                        alm_part_check_arg *arg)
{
    const alm_part_col *col = alm_part_col_at(part, entry);
    const alm_part_block *stored = &alm_part_blocks(part, entry)[block];
    const int64_t first = (int64_t)block * ALM_STATS_BLOCK_ROWS;
    const uint32_t n =
        (uint32_t)ALM_MIN(alm_part_info(part)->rows - first, (int64_t)ALM_STATS_BLOCK_ROWS);
    alm_part_block found = {0};
    alm_part_block_stats(col->type, col->width,
                         (const char *)alm_part_data(part, entry) + (size_t)first * col->width, n,
                         &found);
    if (found.nulls != stored->nulls || found.flags != stored->flags ||
        ((found.flags & ALM_BLOCK_MINMAX) != 0 &&
         (found.min != stored->min || found.max != stored->max)) ||
        ((found.flags & ALM_BLOCK_SUM) != 0 && found.sum != stored->sum))
        finding(arg, "part file '%s', column %u, row %lld: statistics do not fit the values",
                alm_part_path(part), col->id, (long long)first);
    if (col->type.id == ALM_T_SYMBOL && (found.flags & ALM_BLOCK_MINMAX) != 0 &&
        found.max > col->max_code)
        finding(arg, "part file '%s', column %u, row %lld: a code is above the largest",
                alm_part_path(part), col->id, (long long)first);
}

static void part_check_order(const alm_part *part, alm_part_check_arg *arg)
{
    const alm_part_footer *footer = alm_part_info(part);
    const int64_t *ts = alm_part_data(part, (uint32_t)footer->ts_entry);
    for (int64_t i = 1; i < footer->rows; i++) {
        if (ts[i] < ts[i - 1]) {
            finding(arg, "part file '%s', row %lld: time goes back", alm_part_path(part),
                    (long long)i);
            return;
        }
    }
    if (ts[0] != footer->min_ts || ts[footer->rows - 1] != footer->max_ts)
        finding(arg, "part file '%s': first or last time differ from the footer",
                alm_part_path(part));
}

static uint32_t part_check_code_at(const alm_part *part, uint32_t entry, int64_t row)
{
    const alm_vec vec = {.width = (uint8_t)alm_part_col_at(part, entry)->width,
                         .data = (void *)(uintptr_t)alm_part_data(part, entry)};
    return alm_vec_code(&vec, (size_t)row);
}

static alm_status check_symbols(alm_ctx *cx, const alm_part *part, uint32_t entry,
                                alm_part_check_arg *arg)
{
    const alm_part_col *col = alm_part_col_at(part, entry);
    const uint32_t count = arg->dict_count == NULL ? 0 : arg->dict_count(arg->arg, col->id);
    if (count > 0 && col->max_code >= count)
        finding(arg, "part file '%s', column %u: code %u, but the dictionary has %u",
                alm_part_path(part), col->id, col->max_code, count - 1);
    const int32_t *last = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_part_last(cx, part, entry, &last, &n));
    for (uint32_t code = 0; code < n; code++) {
        if (last[code] >= 0 && (last[code] >= alm_part_info(part)->rows ||
                                part_check_code_at(part, entry, last[code]) != code)) {
            finding(arg, "part file '%s', column %u: last row of code %u is wrong",
                    alm_part_path(part), col->id, code);
            break;
        }
    }
    return ALM_OK;
}

/* A damaged block is a finding; a cancel, or memory that lacks, says nothing about the file. */
static alm_status part_check_settle(alm_ctx *cx, alm_status status, alm_part_check_arg *arg,
                                    bool *good)
{
    *good = status == ALM_OK;
    if (status != ALM_E_CORRUPT && status != ALM_E_UNSUPPORTED && status != ALM_E_IO)
        return status;
    finding(arg, "%s", cx->err.msg);
    alm_error_clear(cx);
    return ALM_OK;
}

/* Bytes of a block: values and texts. */
static int64_t block_bytes(const alm_part *part, uint32_t entry, uint32_t block, int64_t rows)
{
    const alm_part_col *col = alm_part_col_at(part, entry);
    const alm_part_block *blocks = alm_part_blocks(part, entry);
    const uint64_t start = block == 0 ? 0 : blocks[block - 1].heap_end;
    return rows * col->width +
           (alm_part_has_heap(col->type) ? (int64_t)(blocks[block].heap_end - start) : 0);
}

static alm_status part_check_column(alm_ctx *cx, alm_part *part, uint32_t entry,
                                    alm_part_check_arg *arg)
{
    const alm_part_footer *footer = alm_part_info(part);
    bool good = true, all_good = true;
    for (uint32_t block = 0; block < footer->n_blocks; block++) {
        ALM_TRY(alm_check(cx));
        const int64_t first = (int64_t)block * ALM_STATS_BLOCK_ROWS;
        const int64_t n = ALM_MIN(footer->rows - first, (int64_t)ALM_STATS_BLOCK_ROWS);
        ALM_TRY(part_check_settle(cx, alm_part_touch(cx, part, entry, first, n), arg, &good));
        if (good)
            check_stats(part, entry, block, arg);
        all_good = all_good && good;
        if (arg->pace != NULL)
            ALM_TRY(arg->pace(cx, arg->arg, block_bytes(part, entry, block, n)));
    }
    if (all_good && (int32_t)entry == footer->ts_entry)
        part_check_order(part, arg);
    if (all_good && alm_part_col_at(part, entry)->type.id == ALM_T_SYMBOL)
        ALM_TRY(part_check_settle(cx, check_symbols(cx, part, entry, arg), arg, &good));
    alm_part_let_go(part, entry);
    return ALM_OK;
}

static alm_status verify_column(alm_ctx *cx, alm_part *part, uint32_t entry)
{
    const alm_part_footer *footer = alm_part_info(part);
    const int32_t *last = NULL;
    uint32_t n_last = 0;
    for (int64_t row = 0; row < footer->rows; row += ALM_STATS_BLOCK_ROWS) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_part_touch(cx, part, entry, row,
                               ALM_MIN(footer->rows - row, (int64_t)ALM_STATS_BLOCK_ROWS)));
    }
    ALM_TRY(alm_part_last(cx, part, entry, &last, &n_last));
    alm_part_let_go(part, entry);
    return ALM_OK;
}

alm_status alm_part_verify(alm_ctx *cx, const alm_io *io, const char *path,
                           const alm_part_place *place, const alm_part_claim *claim)
{
    alm_part *part = NULL;
    ALM_TRY(alm_part_open(cx, io, path, place, claim->table_id, NULL, &part));
    alm_status status = alm_part_match(cx, part, claim);
    for (uint32_t col = 0; col < alm_part_info(part)->n_cols && status == ALM_OK; col++)
        status = verify_column(cx, part, col);
    alm_part_release(part);
    return status;
}

alm_status alm_part_check(alm_ctx *cx, const alm_io *io, const char *path,
                          const alm_part_place *place, const alm_part_claim *claim,
                          alm_part_check_arg *arg)
{
    alm_part *part = NULL;
    bool good = true;
    ALM_TRY(part_check_settle(cx, alm_part_open(cx, io, path, place, claim->table_id, NULL, &part),
                              arg, &good));
    if (!good)
        return ALM_OK;
    arg->footer_crc = alm_part_footer_crc(part);
    alm_status status = part_check_settle(cx, alm_part_match(cx, part, claim), arg, &good);
    for (uint32_t col = 0; col < alm_part_info(part)->n_cols && status == ALM_OK; col++)
        status = part_check_column(cx, part, col, arg);
    alm_part_release(part);
    return status;
}
