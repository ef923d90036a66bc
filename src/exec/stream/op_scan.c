/*
 * op_scan.c - rows of a table: time intervals, filters, late materialisation, both directions.
 *
 * Filter columns are read first; the others only for batches of which some rows survive, and are
 * left in storage position under the batch's selection (columns nobody uses are never touched).
 * Blocks whose minimum and maximum answer a range test are skipped, or not tested.
 *
 * Backward    Segments come newest first; a batch is the newest rows left, reversed by a gather.
 * Threads     One op_scan per thread, with cursors of its own; alm_scan_plan is shared.
 */
#include "exec/eval/eval.h"
#include "exec/eval/scan_mask.h"
#include "exec/run/op_make.h"
#include "exec/run/scan_plan.h"

typedef struct op_scan {
    alm_op op;
    const alm_scan_plan *sp;
    alm_filter *filter;          /* NULL: none */
    alm_scan_cursor *cur, *late; /* two, because a read ends the life of the one before */
    bool *first, *rest;          /* columns read for the filter, and after it */
    bool any_first, any_rest;
    alm_vec *vecs;   /* all columns of the scan */
    alm_vec *stored; /* as storage gives them */
    uint32_t segment, segment_end;
    int64_t row; /* forward: next row of the segment; backward: end of the rows left */
    bool in_segment;
    uint32_t step_rows; /* size of the next batch */
    int64_t tested_to;  /* rows of the segment below it have had their blocks tested */
    uint32_t *reversed; /* row numbers of a backward batch */
    int64_t row_bytes;
    const uint8_t *mask; /* of the last batch, and how many rows it keeps */
    uint32_t mask_kept;
} op_scan;

/* ------------------------------------------------------------------------------ morsels, shared */

static alm_status cut_span(alm_ctx *cx, alm_scan_plan *scan, uint32_t span, uint32_t *cap)
{
    const int64_t rows = scan->scans->span_at(scan->scan, span).rows;
    const bool backward = scan->plan->scan.backward;
    for (int64_t done = 0; done < rows;) {
        const int64_t n = ALM_MIN((int64_t)ALM_MORSEL_ROWS, rows - done);
        if (scan->n_segments == *cap) {
            alm_scan_segment *grown = NULL;
            const uint32_t more = ALM_MAX(16U, 2 * *cap);
            ALM_TRY(ALM_NEWN(cx, cx->arena, more, &grown));
            if (scan->n_segments > 0)
                memcpy(grown, scan->segment, scan->n_segments * sizeof *grown);
            scan->segment = grown;
            *cap = more;
        }
        const int64_t lo = backward ? rows - done - n : done;
        scan->segment[scan->n_segments++] =
            (alm_scan_segment){.span = span, .lo = lo, .hi = lo + n};
        done += n;
    }
    return ALM_OK;
}

/* Has the span times within the intervals, where these say what is read? */
static bool is_wanted(const alm_plan *plan, const alm_span *span)
{
    uint32_t from = 0, to = plan->scan.n_intervals;
    while (from < to) { /* the first one that does not end before the span */
        const uint32_t mid = from + (to - from) / 2;
        if (plan->scan.interval[mid].hi < span->min_ts)
            from = mid + 1;
        else
            to = mid;
    }
    return !plan->scan.skips ||
           (from < plan->scan.n_intervals && plan->scan.interval[from].lo <= span->max_ts);
}

static alm_status cut_morsels(alm_ctx *cx, alm_scan_plan *scan)
{
    const size_t spans = scan->scans->span_count(scan->scan);
    uint32_t cap = 0;
    for (size_t i = 0; i < spans; i++) {
        const size_t offset = scan->plan->scan.backward ? spans - 1 - i : i;
        const alm_span span = scan->scans->span_at(scan->scan, offset);
        if (is_wanted(scan->plan, &span))
            ALM_TRY(cut_span(cx, scan, (uint32_t)offset, &cap));
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_segments + 1, &scan->morsel));
    int64_t rows = 0;
    for (uint32_t i = 0; i < scan->n_segments; i++) {
        const int64_t n = scan->segment[i].hi - scan->segment[i].lo;
        if (i == 0 || rows + n > ALM_MORSEL_ROWS) {
            scan->morsel[scan->n_morsels++] = i;
            rows = 0;
        }
        rows += n;
    }
    scan->morsel[scan->n_morsels] = scan->n_segments;
    return ALM_OK;
}

/* Row numbers are no stored column: the others go to the storage scan, in their order. */
static alm_status stored_columns(alm_ctx *cx, alm_scan_plan *scan, uint32_t **cols)
{
    const alm_plan *plan = scan->plan;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->scan.n_cols + 1, cols));
    scan->n_cols = plan->scan.n_cols;
    scan->row_col = -1;
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        if (plan->scan.cols[i] == ALM_SCAN_ROW)
            scan->row_col = (int32_t)i;
        else
            (*cols)[scan->n_stored++] = plan->scan.cols[i];
    }
    ALM_ASSERT(scan->n_stored + (scan->row_col >= 0 ? 1U : 0U) == scan->n_cols);
    return ALM_OK;
}

static alm_status number_spans(alm_ctx *cx, alm_scan_plan *scan)
{
    const size_t spans = scan->scans->span_count(scan->scan);
    int64_t row = 0;
    ALM_ASSERT(!scan->plan->scan.backward && !scan->plan->scan.has_interval);
    ALM_TRY(ALM_NEWN(cx, cx->arena, spans + 1, &scan->span_row));
    for (size_t i = 0; i < spans; i++) {
        scan->span_row[i] = row;
        row += scan->scans->span_at(scan->scan, i).rows;
    }
    return ALM_OK;
}

alm_status alm_op_scan_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **shared)
{
    alm_scan_plan *scan = NULL;
    alm_scan_range *range = NULL;
    uint32_t *cols = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &scan));
    scan->plan = plan;
    ALM_TRY(stored_columns(cx, scan, &cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->scan.n_intervals + 1, &range));
    for (uint32_t i = 0; i < plan->scan.n_intervals; i++)
        range[i] = (alm_scan_range){plan->scan.interval[i].lo, plan->scan.interval[i].hi};
    const alm_scan_order order = plan->scan.unordered && !plan->scan.backward && scan->row_col < 0
                                     ? ALM_SCAN_ANY_ORDER
                                     : ALM_SCAN_BY_TIME;
    scan->scans = run->env.scans;
    ALM_TRY(scan->scans->open(cx, cx->arena, run->env.snapshot, plan->scan.table,
                              &(alm_scan_spec){.cols = cols,
                                               .n_cols = scan->n_stored,
                                               .ranges = range,
                                               .n_ranges = plan->scan.n_intervals,
                                               .all = !plan->scan.has_interval,
                                               .order = order},
                              &scan->scan));
    if (scan->row_col >= 0)
        ALM_TRY(number_spans(cx, scan));
    ALM_TRY(cut_morsels(cx, scan));
    *shared = scan;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ reading */

/* Reads the wanted columns (by stored number) of rows [row, row + n) into scan->vecs. */
static alm_status op_scan_read_columns(alm_ctx *cx, op_scan *scan, alm_scan_cursor **cur,
                                       const bool *wanted, uint32_t span, int64_t row, uint32_t n)
{
    if (*cur == NULL)
        ALM_TRY(scan->sp->scans->cursor_new(cx, cx->arena, scan->sp->scan, cur));
    return scan->sp->scans->read(cx, *cur, span, row, n, wanted, scan->stored);
}

/* The row numbers of a batch, where the scan has them. */
static alm_status make_row_numbers(alm_ctx *cx, op_scan *scan, uint32_t span, int64_t row,
                                   uint32_t n)
{
    int64_t *number = NULL;
    if (scan->sp->row_col < 0)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, &scan->op.batch, n * sizeof *number, &number));
    for (uint32_t i = 0; i < n; i++)
        number[i] = scan->sp->span_row[span] + row + i;
    scan->vecs[scan->sp->row_col] =
        (alm_vec){.type = ALM_TY(LONG), .width = sizeof(int64_t), .no_nulls = true, .data = number};
    return ALM_OK;
}

static void op_scan_place_columns(op_scan *scan, const bool *wanted)
{
    for (uint32_t i = 0; i < scan->sp->n_cols; i++)
        if ((int32_t)i != scan->sp->row_col && wanted[alm_scan_stored(scan->sp, i)])
            scan->vecs[i] = scan->stored[alm_scan_stored(scan->sp, i)];
}

/* Has the block at `row` only rows that the sort above does not want? */
static bool block_beyond(const op_scan *scan, uint32_t span, int64_t row, int64_t *rows)
{
    const alm_scan_bound *bound = scan->sp->bound;
    const uint64_t code = atomic_load_explicit(&bound->code, memory_order_relaxed);
    alm_col_stats stats;
    scan->sp->scans->block_stats(scan->sp->scan, span, row, bound->stored_col, rows, &stats);
    return code != UINT64_MAX && stats.valid && stats.rows > 0 &&
           alm_sort_best_code(bound->type, &bound->order, &stats) > code;
}

/*
 * Asks the statistics of the block at `row` about each range test. True: no row of the block can
 * pass; *rows are left in it. Tests that all rows pass are left out until the next block.
 */
static bool block_excluded(op_scan *scan, uint32_t span, int64_t row, int64_t *rows)
{
    int64_t left = INT64_MAX;
    bool none = false;
    if (scan->sp->bound != NULL)
        none = block_beyond(scan, span, row, &left);
    for (uint32_t i = 0; scan->filter != NULL && i < alm_filter_ranges(scan->filter); i++) {
        const uint32_t col = alm_filter_range_col(scan->filter, i);
        alm_col_stats stats = {0};
        int64_t block_left = 0;
        alm_block_answer answer = ALM_BLOCK_SOME;
        if ((int32_t)col != scan->sp->row_col) {
            scan->sp->scans->block_stats(scan->sp->scan, span, row, alm_scan_stored(scan->sp, col),
                                         &block_left, &stats);
            if (stats.valid && stats.has_minmax)
                answer = alm_filter_range_test(scan->filter, i, stats.min_i, stats.max_i,
                                               stats.min_f, stats.max_f, stats.nulls != 0);
            if (block_left > 0)
                left = ALM_MIN(left, block_left);
        }
        alm_filter_range_skip(scan->filter, i, answer == ALM_BLOCK_ALL);
        none |= answer == ALM_BLOCK_NONE;
    }
    *rows = left;
    return none;
}

/* Moves over blocks without matching rows; false: the segment is used up. */
static bool op_scan_next_block(op_scan *scan, const alm_scan_segment *seg)
{
    while (scan->row < seg->hi && scan->row >= scan->tested_to) {
        int64_t left = 0;
        const bool none = block_excluded(scan, seg->span, scan->row, &left);
        scan->tested_to = left == INT64_MAX ? seg->hi : ALM_MIN(seg->hi, scan->row + left);
        if (none)
            scan->row = scan->tested_to;
    }
    return scan->row < seg->hi;
}

/* Chooses rows [*row, *row + n) of the current segment; n = 0: no more segments. */
static uint32_t op_scan_next_rows(op_scan *scan, uint32_t *span, int64_t *row)
{
    const bool backward = scan->sp->plan->scan.backward;
    const bool by_block = !backward && (scan->filter != NULL || scan->sp->bound != NULL);
    for (; scan->segment < scan->segment_end; scan->segment++, scan->in_segment = false) {
        const alm_scan_segment *seg = &scan->sp->segment[scan->segment];
        if (!scan->in_segment) {
            scan->row = backward ? seg->hi : seg->lo;
            scan->tested_to = seg->lo;
            scan->in_segment = true;
        }
        if (by_block && !op_scan_next_block(scan, seg))
            continue;
        int64_t n = backward ? scan->row - seg->lo : seg->hi - scan->row;
        if (by_block)
            n = ALM_MIN(n, scan->tested_to - scan->row);
        if (n <= 0)
            continue;
        n = ALM_MIN(n, (int64_t)scan->step_rows);
        *span = seg->span;
        *row = backward ? scan->row - n : scan->row;
        scan->row = backward ? scan->row - n : scan->row + n;
        return (uint32_t)n;
    }
    return 0;
}

/* Copies of the surviving rows, newest first. */
static alm_status reverse_rows(alm_ctx *cx, op_scan *scan, const uint16_t *sel, uint32_t k)
{
    if (scan->reversed == NULL)
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &scan->reversed));
    for (uint32_t i = 0; i < k; i++)
        scan->reversed[i] = sel != NULL ? sel[k - 1 - i] : k - 1 - i;
    for (uint32_t i = 0; i < scan->op.out.n_cols; i++) {
        if (scan->vecs[i].is_const)
            scan->op.out.cols[i] = scan->vecs[i];
        else
            ALM_TRY(alm_vec_gather(cx, &scan->op.batch, &scan->vecs[i], scan->reversed, k,
                                   &scan->op.out.cols[i]));
    }
    scan->op.out.sel = NULL;
    return ALM_OK;
}

static alm_status op_scan_emit(alm_ctx *cx, op_scan *scan, const uint16_t *sel, uint32_t k,
                               alm_batch **out)
{
    scan->op.out.rows = k;
    if (scan->sp->plan->scan.backward) {
        ALM_TRY(reverse_rows(cx, scan, sel, k));
    } else {
        for (uint32_t i = 0; i < scan->op.out.n_cols; i++) {
            scan->op.out.cols[i] = scan->vecs[i];
            scan->op.out.cols[i].indirect = sel != NULL && !scan->vecs[i].is_const;
        }
        scan->op.out.sel = sel;
    }
    *out = &scan->op.out;
    return ALM_OK;
}

static alm_status op_scan_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_scan *scan = (op_scan *)op;
    *out = NULL;
    alm_arena_reset(&op->batch);
    for (;;) {
        uint32_t span = 0, kept = 0;
        int64_t row = 0;
        const uint16_t *sel = NULL;
        ALM_TRY(alm_check(cx));
        const uint32_t n = op_scan_next_rows(scan, &span, &row);
        if (n == 0)
            return ALM_OK;
        kept = n;
        ALM_TRY(make_row_numbers(cx, scan, span, row, n));
        if (scan->any_first) {
            ALM_TRY(op_scan_read_columns(cx, scan, &scan->cur, scan->first, span, row, n));
            op_scan_place_columns(scan, scan->first);
        }
        if (scan->filter != NULL) {
            const alm_batch batch = {.rows = n, .n_cols = scan->sp->n_cols, .cols = scan->vecs};
            ALM_TRY(alm_filter_run(cx, scan->filter, &batch, &sel, &kept));
            scan->step_rows = ALM_MIN(2 * scan->step_rows, (uint32_t)ALM_BATCH_ROWS);
            scan->mask = alm_filter_mask(scan->filter);
            scan->mask_kept = kept;
        }
        if (kept == 0)
            continue;
        if (scan->any_rest) {
            ALM_TRY(op_scan_read_columns(cx, scan, &scan->late, scan->rest, span, row, n));
            op_scan_place_columns(scan, scan->rest);
        }
        alm_op_count_bytes(op->run, op->plan, scan->row_bytes * n);
        return op_scan_emit(cx, scan, sel, scan->mask != NULL ? n : kept, out);
    }
}

/* ---------------------------------------------------------------------------------- life cycle */

static alm_status op_scan_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    op_scan *scan = (op_scan *)op;
    (void)cx;
    ALM_ASSERT(morsel < scan->sp->n_morsels);
    scan->segment = scan->sp->morsel[morsel];
    scan->segment_end = scan->sp->morsel[morsel + 1];
    scan->in_segment = false;
    return ALM_OK;
}

static void op_scan_hint(alm_op *op, int64_t rows)
{
    op_scan *scan = (op_scan *)op;
    const int64_t few = ALM_MIN(rows, (int64_t)ALM_BATCH_ROWS);
    const int64_t first = scan->filter == NULL ? few : ALM_MAX(4 * few, 1024);
    scan->step_rows = (uint32_t)ALM_MIN(ALM_MAX(first, 1), (int64_t)ALM_BATCH_ROWS);
}

static int64_t op_scan_count(alm_ctx *cx, alm_op *op)
{
    (void)cx;
    const op_scan *scan = (const op_scan *)op;
    return scan->filter == NULL && op->pipe == NULL ? scan->sp->scans->rows(scan->sp->scan) : -1;
}

static bool op_scan_skip(alm_op *op, int64_t rows)
{
    op_scan *scan = (op_scan *)op;
    const bool backward = op->plan->scan.backward;
    ALM_ASSERT(scan->filter == NULL && op->pipe == NULL);
    for (; rows > 0 && scan->segment < scan->segment_end; scan->segment++) {
        const alm_scan_segment *seg = &scan->sp->segment[scan->segment];
        const int64_t n = seg->hi - seg->lo;
        if (rows < n) {
            scan->row = backward ? seg->hi - rows : seg->lo + rows;
            scan->in_segment = true;
            return true;
        }
        rows -= n;
    }
    return true;
}

static void op_scan_close(alm_op *op)
{
    alm_filter_free(((op_scan *)op)->filter);
}

static const alm_op_vt scan_vt = {.name = "scan",
                                  .next = op_scan_next,
                                  .start = op_scan_start,
                                  .close = op_scan_close,
                                  .hint = op_scan_hint,
                                  .count = op_scan_count,
                                  .skip = op_scan_skip};

bool alm_op_scan_masks(alm_op *op)
{
    op_scan *scan = (op_scan *)op;
    if (op->vt != &scan_vt || scan->filter == NULL || op->plan->scan.backward ||
        op->run->env.analyze)
        return false;
    alm_filter_masks(scan->filter);
    return true;
}

const uint8_t *alm_op_scan_mask(const alm_op *op, uint32_t *kept)
{
    const op_scan *scan = (const op_scan *)op;
    *kept = scan->mask_kept;
    return scan->mask;
}

/* Which stored columns the filter reads, and which only the result does. */
static alm_status op_scan_choose_columns(alm_ctx *cx, op_scan *scan)
{
    const alm_plan *plan = scan->op.plan;
    const uint32_t n_cols = scan->sp->n_cols;
    bool *used = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &scan->first));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &scan->rest));
    for (uint32_t i = 0; i < plan->scan.n_filters; i++)
        alm_expr_cols(plan->scan.filter[i], used, n_cols);
    for (uint32_t i = 0; i < n_cols; i++) {
        if ((int32_t)i == scan->sp->row_col)
            continue;
        const bool first = plan->scan.n_filters == 0 || used[i];
        scan->first[alm_scan_stored(scan->sp, i)] = first;
        scan->rest[alm_scan_stored(scan->sp, i)] = !first && i < plan->scan.n_out;
        scan->any_first |= first;
        scan->any_rest |= !first && i < plan->scan.n_out;
        scan->row_bytes += alm_type_width(plan->scan.table->cols[plan->scan.cols[i]].type);
    }
    return ALM_OK;
}

alm_status alm_op_scan_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    op_scan *scan = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &scan));
    ALM_TRY(alm_op_init(cx, &scan->op, &scan_vt, run, plan, pipe));
    *out = &scan->op;
    ALM_TRY(alm_op_shared(cx, run, plan, &scan->sp));
    ALM_ASSERT(plan->n_cols == plan->scan.n_out && plan->scan.n_out <= scan->sp->n_cols);
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->sp->n_cols + 1, &scan->vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->sp->n_cols + 1, &scan->stored));
    ALM_TRY(op_scan_choose_columns(cx, scan));
    if (plan->scan.n_filters > 0)
        ALM_TRY(alm_filter_new(cx, (const alm_expr *const *)plan->scan.filter, plan->scan.n_filters,
                               &scan->filter));
    scan->segment_end = scan->sp->n_segments;
    scan->step_rows = ALM_BATCH_ROWS;
    return ALM_OK;
}
