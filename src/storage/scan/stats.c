/*
 * stats.c - what a scan knows without reading rows: statistics of blocks, last rows of symbols.
 *
 * Errors      None: where a file cannot be opened the answer is "not known", and the read of the
 *             rows tells the error.
 */
#include "storage/part/format.h"
#include "storage/scan/scan.h"

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* A column that the part lacks: null in every row, or 0 for the types without null. */
static void missing_stats(alm_type type, int64_t rows, alm_col_stats *out)
{
    const bool has_null = alm_type_info_of(type)->null != ALM_NULL_NONE;
    *out = (alm_col_stats){.valid = true,
                           .has_minmax = !has_null,
                           .has_sum = true,
                           .rows = rows,
                           .nulls = has_null ? rows : 0};
}

static void scan_block_stats(alm_type type, const alm_part_block *block, int64_t rows,
                             alm_col_stats *out)
{
    *out = (alm_col_stats){.valid = true,
                           .has_minmax = (block->flags & ALM_BLOCK_MINMAX) != 0,
                           .has_sum = (block->flags & ALM_BLOCK_SUM) != 0,
                           .rows = rows,
                           .nulls = block->nulls,
                           .sum_overflow = (block->flags & ALM_BLOCK_OVERFLOW) != 0};
    if (type.id == ALM_T_FLOAT || type.id == ALM_T_DOUBLE) {
        out->min_f = double_of(block->min);
        out->max_f = double_of(block->max);
        out->sum_f = double_of(block->sum);
    } else {
        out->min_i = (int64_t)block->min;
        out->max_i = (int64_t)block->max;
        out->sum_i = (int64_t)block->sum;
    }
}

void alm_scan_block_stats(const alm_scan *scan, size_t i, int64_t row, uint32_t col,
                          int64_t *block_rows_left, alm_col_stats *out)
{
    ALM_ASSERT(i < scan->n_spans && col < scan->n_cols);
    const alm_scan_span *span = &scan->spans[i];
    const alm_scan_piece *piece = &scan->pieces[span->piece];
    *out = (alm_col_stats){0};
    *block_rows_left = span->rows - row;
    if (span->n_pieces != 1 || piece->part == NULL)
        return;
    const int64_t offset = piece->lo + row; /* row of the part */
    const int64_t block = offset / ALM_STATS_BLOCK_ROWS;
    const int64_t first = block * ALM_STATS_BLOCK_ROWS;
    const int64_t end = ALM_MIN(first + ALM_STATS_BLOCK_ROWS, piece->part->rows);
    *block_rows_left = ALM_MIN(end, piece->hi) - offset;
    if (offset != first || piece->hi < end)
        return;
    const alm_column *def = &scan->version->table.cols[scan->cols[col]];
    alm_ctx quiet = {.rewrite = scan->rewrite};
    alm_part *part = NULL;
    int32_t entry = -1;
    if (alm_scan_part_col(&quiet, scan->version, piece->part, def->id, scan->cols[col], &part,
                          &entry) != ALM_OK)
        return;
    if (entry < 0)
        missing_stats(def->type, end - first, out);
    else
        scan_block_stats(def->type, &alm_part_blocks(part, (uint32_t)entry)[block], end - first,
                         out);
}

const int32_t *alm_scan_last_rows(const alm_scan *scan, size_t i, uint32_t col, uint32_t *n)
{
    ALM_ASSERT(i < scan->n_spans && col < scan->n_cols);
    const alm_scan_span *span = &scan->spans[i];
    const alm_scan_piece *piece = &scan->pieces[span->piece];
    *n = 0;
    if (span->n_pieces != 1 || piece->part == NULL || piece->lo != 0 ||
        piece->hi != piece->part->rows)
        return NULL;
    const alm_column *def = &scan->version->table.cols[scan->cols[col]];
    alm_ctx quiet = {.rewrite = scan->rewrite};
    alm_part *part = NULL;
    int32_t entry = -1;
    const int32_t *rows = NULL;
    if (def->type.id != ALM_T_SYMBOL ||
        alm_scan_part_col(&quiet, scan->version, piece->part, def->id, scan->cols[col], &part,
                          &entry) != ALM_OK)
        return NULL;
    if (entry < 0) { /* null in all rows */
        *n = 1;
        return &piece->last;
    }
    return alm_part_last(&quiet, part, (uint32_t)entry, &rows, n) == ALM_OK ? rows : NULL;
}
