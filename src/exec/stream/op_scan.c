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

static alm_status cut_span(alm_ctx *cx, alm_scan_plan *sp, uint32_t span, uint32_t *cap)
{
    const int64_t rows = sp->scans->span_at(sp->scan, span).rows;
    const bool backward = sp->plan->scan.backward;
    for (int64_t done = 0; done < rows;) {
        const int64_t n = ALM_MIN((int64_t)ALM_MORSEL_ROWS, rows - done);
        if (sp->n_segments == *cap) {
            alm_scan_segment *grown = NULL;
            const uint32_t more = ALM_MAX(16U, 2 * *cap);
            ALM_TRY(ALM_NEWN(cx, cx->arena, more, &grown));
            if (sp->n_segments > 0)
                memcpy(grown, sp->segment, sp->n_segments * sizeof *grown);
            sp->segment = grown;
            *cap = more;
        }
        const int64_t lo = backward ? rows - done - n : done;
        sp->segment[sp->n_segments++] = (alm_scan_segment){.span = span, .lo = lo, .hi = lo + n};
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

static alm_status cut_morsels(alm_ctx *cx, alm_scan_plan *sp)
{
    const size_t spans = sp->scans->span_count(sp->scan);
    uint32_t cap = 0;
    for (size_t i = 0; i < spans; i++) {
        const size_t at = sp->plan->scan.backward ? spans - 1 - i : i;
        const alm_span span = sp->scans->span_at(sp->scan, at);
        if (is_wanted(sp->plan, &span))
            ALM_TRY(cut_span(cx, sp, (uint32_t)at, &cap));
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_segments + 1, &sp->morsel));
    int64_t rows = 0;
    for (uint32_t i = 0; i < sp->n_segments; i++) {
        const int64_t n = sp->segment[i].hi - sp->segment[i].lo;
        if (i == 0 || rows + n > ALM_MORSEL_ROWS) {
            sp->morsel[sp->n_morsels++] = i;
            rows = 0;
        }
        rows += n;
    }
    sp->morsel[sp->n_morsels] = sp->n_segments;
    return ALM_OK;
}

/* Row numbers are no stored column: the others go to the storage scan, in their order. */
static alm_status stored_columns(alm_ctx *cx, alm_scan_plan *sp, uint32_t **cols)
{
    const alm_plan *plan = sp->plan;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->scan.n_cols + 1, cols));
    sp->n_cols = plan->scan.n_cols;
    sp->row_col = -1;
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        if (plan->scan.cols[i] == ALM_SCAN_ROW)
            sp->row_col = (int32_t)i;
        else
            (*cols)[sp->n_stored++] = plan->scan.cols[i];
    }
    ALM_ASSERT(sp->n_stored + (sp->row_col >= 0 ? 1U : 0U) == sp->n_cols);
    return ALM_OK;
}

static alm_status number_spans(alm_ctx *cx, alm_scan_plan *sp)
{
    const size_t spans = sp->scans->span_count(sp->scan);
    int64_t row = 0;
    ALM_ASSERT(!sp->plan->scan.backward && !sp->plan->scan.has_interval);
    ALM_TRY(ALM_NEWN(cx, cx->arena, spans + 1, &sp->span_row));
    for (size_t i = 0; i < spans; i++) {
        sp->span_row[i] = row;
        row += sp->scans->span_at(sp->scan, i).rows;
    }
    return ALM_OK;
}

alm_status alm_op_scan_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **shared)
{
    alm_scan_plan *sp = NULL;
    alm_scan_range *range = NULL;
    uint32_t *cols = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &sp));
    sp->plan = plan;
    ALM_TRY(stored_columns(cx, sp, &cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->scan.n_intervals + 1, &range));
    for (uint32_t i = 0; i < plan->scan.n_intervals; i++)
        range[i] = (alm_scan_range){plan->scan.interval[i].lo, plan->scan.interval[i].hi};
    const alm_scan_order order = plan->scan.unordered && !plan->scan.backward && sp->row_col < 0
                                     ? ALM_SCAN_ANY_ORDER
                                     : ALM_SCAN_BY_TIME;
    sp->scans = run->env.scans;
    ALM_TRY(sp->scans->open(cx, cx->arena, run->env.snapshot, plan->scan.table,
                            &(alm_scan_spec){.cols = cols,
                                             .n_cols = sp->n_stored,
                                             .ranges = range,
                                             .n_ranges = plan->scan.n_intervals,
                                             .all = !plan->scan.has_interval,
                                             .order = order},
                            &sp->scan));
    if (sp->row_col >= 0)
        ALM_TRY(number_spans(cx, sp));
    ALM_TRY(cut_morsels(cx, sp));
    *shared = sp;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ reading */

/* Reads the wanted columns (by stored number) of rows [row, row + n) into s->vecs. */
static alm_status read_columns(alm_ctx *cx, op_scan *s, alm_scan_cursor **cur, const bool *wanted,
                               uint32_t span, int64_t row, uint32_t n)
{
    if (*cur == NULL)
        ALM_TRY(s->sp->scans->cursor_new(cx, cx->arena, s->sp->scan, cur));
    return s->sp->scans->read(cx, *cur, span, row, n, wanted, s->stored);
}

/* The row numbers of a batch, where the scan has them. */
static alm_status make_row_numbers(alm_ctx *cx, op_scan *s, uint32_t span, int64_t row, uint32_t n)
{
    int64_t *number = NULL;
    if (s->sp->row_col < 0)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, &s->op.batch, n * sizeof *number, &number));
    for (uint32_t i = 0; i < n; i++)
        number[i] = s->sp->span_row[span] + row + i;
    s->vecs[s->sp->row_col] =
        (alm_vec){.type = ALM_TY(LONG), .width = sizeof(int64_t), .no_nulls = true, .data = number};
    return ALM_OK;
}

static void place_columns(op_scan *s, const bool *wanted)
{
    for (uint32_t i = 0; i < s->sp->n_cols; i++)
        if ((int32_t)i != s->sp->row_col && wanted[alm_scan_stored(s->sp, i)])
            s->vecs[i] = s->stored[alm_scan_stored(s->sp, i)];
}

/* Has the block at `row` only rows that the sort above does not want? */
static bool block_beyond(const op_scan *s, uint32_t span, int64_t row, int64_t *rows)
{
    const alm_scan_bound *bound = s->sp->bound;
    const uint64_t code = atomic_load_explicit(&bound->code, memory_order_relaxed);
    alm_col_stats stats;
    s->sp->scans->block_stats(s->sp->scan, span, row, bound->stored_col, rows, &stats);
    return code != UINT64_MAX && stats.valid && stats.rows > 0 &&
           alm_sort_best_code(bound->type, &bound->order, &stats) > code;
}

/*
 * Asks the statistics of the block at `row` about each range test. True: no row of the block can
 * pass; *rows are left in it. Tests that all rows pass are left out until the next block.
 */
static bool block_excluded(op_scan *s, uint32_t span, int64_t row, int64_t *rows)
{
    int64_t left = INT64_MAX;
    bool none = false;
    if (s->sp->bound != NULL)
        none = block_beyond(s, span, row, &left);
    for (uint32_t i = 0; s->filter != NULL && i < alm_filter_ranges(s->filter); i++) {
        const uint32_t col = alm_filter_range_col(s->filter, i);
        alm_col_stats stats = {0};
        int64_t block_left = 0;
        alm_block_answer answer = ALM_BLOCK_SOME;
        if ((int32_t)col != s->sp->row_col) {
            s->sp->scans->block_stats(s->sp->scan, span, row, alm_scan_stored(s->sp, col),
                                      &block_left, &stats);
            if (stats.valid && stats.has_minmax)
                answer = alm_filter_range_test(s->filter, i, stats.min_i, stats.max_i, stats.min_f,
                                               stats.max_f, stats.nulls != 0);
            if (block_left > 0)
                left = ALM_MIN(left, block_left);
        }
        alm_filter_range_skip(s->filter, i, answer == ALM_BLOCK_ALL);
        none |= answer == ALM_BLOCK_NONE;
    }
    *rows = left;
    return none;
}

/* Moves over blocks without matching rows; false: the segment is used up. */
static bool next_block(op_scan *s, const alm_scan_segment *seg)
{
    while (s->row < seg->hi && s->row >= s->tested_to) {
        int64_t left = 0;
        const bool none = block_excluded(s, seg->span, s->row, &left);
        s->tested_to = left == INT64_MAX ? seg->hi : ALM_MIN(seg->hi, s->row + left);
        if (none)
            s->row = s->tested_to;
    }
    return s->row < seg->hi;
}

/* Chooses rows [*row, *row + n) of the current segment; n = 0: no more segments. */
static uint32_t next_rows(op_scan *s, uint32_t *span, int64_t *row)
{
    const bool backward = s->sp->plan->scan.backward;
    const bool by_block = !backward && (s->filter != NULL || s->sp->bound != NULL);
    for (; s->segment < s->segment_end; s->segment++, s->in_segment = false) {
        const alm_scan_segment *seg = &s->sp->segment[s->segment];
        if (!s->in_segment) {
            s->row = backward ? seg->hi : seg->lo;
            s->tested_to = seg->lo;
            s->in_segment = true;
        }
        if (by_block && !next_block(s, seg))
            continue;
        int64_t n = backward ? s->row - seg->lo : seg->hi - s->row;
        if (by_block)
            n = ALM_MIN(n, s->tested_to - s->row);
        if (n <= 0)
            continue;
        n = ALM_MIN(n, (int64_t)s->step_rows);
        *span = seg->span;
        *row = backward ? s->row - n : s->row;
        s->row = backward ? s->row - n : s->row + n;
        return (uint32_t)n;
    }
    return 0;
}

/* Copies of the surviving rows, newest first. */
static alm_status reverse_rows(alm_ctx *cx, op_scan *s, const uint16_t *sel, uint32_t k)
{
    if (s->reversed == NULL)
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->reversed));
    for (uint32_t i = 0; i < k; i++)
        s->reversed[i] = sel != NULL ? sel[k - 1 - i] : k - 1 - i;
    for (uint32_t i = 0; i < s->op.out.n_cols; i++) {
        if (s->vecs[i].is_const)
            s->op.out.cols[i] = s->vecs[i];
        else
            ALM_TRY(
                alm_vec_gather(cx, &s->op.batch, &s->vecs[i], s->reversed, k, &s->op.out.cols[i]));
    }
    s->op.out.sel = NULL;
    return ALM_OK;
}

static alm_status emit(alm_ctx *cx, op_scan *s, const uint16_t *sel, uint32_t k, alm_batch **out)
{
    s->op.out.rows = k;
    if (s->sp->plan->scan.backward) {
        ALM_TRY(reverse_rows(cx, s, sel, k));
    } else {
        for (uint32_t i = 0; i < s->op.out.n_cols; i++) {
            s->op.out.cols[i] = s->vecs[i];
            s->op.out.cols[i].indirect = sel != NULL && !s->vecs[i].is_const;
        }
        s->op.out.sel = sel;
    }
    *out = &s->op.out;
    return ALM_OK;
}

static alm_status scan_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_scan *s = (op_scan *)op;
    *out = NULL;
    alm_arena_reset(&op->batch);
    for (;;) {
        uint32_t span = 0, kept = 0;
        int64_t row = 0;
        const uint16_t *sel = NULL;
        ALM_TRY(alm_check(cx));
        const uint32_t n = next_rows(s, &span, &row);
        if (n == 0)
            return ALM_OK;
        kept = n;
        ALM_TRY(make_row_numbers(cx, s, span, row, n));
        if (s->any_first) {
            ALM_TRY(read_columns(cx, s, &s->cur, s->first, span, row, n));
            place_columns(s, s->first);
        }
        if (s->filter != NULL) {
            const alm_batch in = {.rows = n, .n_cols = s->sp->n_cols, .cols = s->vecs};
            ALM_TRY(alm_filter_run(cx, s->filter, &in, &sel, &kept));
            s->step_rows = ALM_MIN(2 * s->step_rows, (uint32_t)ALM_BATCH_ROWS);
            s->mask = alm_filter_mask(s->filter);
            s->mask_kept = kept;
        }
        if (kept == 0)
            continue;
        if (s->any_rest) {
            ALM_TRY(read_columns(cx, s, &s->late, s->rest, span, row, n));
            place_columns(s, s->rest);
        }
        alm_op_count_bytes(op->run, op->plan, s->row_bytes * n);
        return emit(cx, s, sel, s->mask != NULL ? n : kept, out);
    }
}

/* ---------------------------------------------------------------------------------- life cycle */

static alm_status scan_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    op_scan *s = (op_scan *)op;
    (void)cx;
    ALM_ASSERT(morsel < s->sp->n_morsels);
    s->segment = s->sp->morsel[morsel];
    s->segment_end = s->sp->morsel[morsel + 1];
    s->in_segment = false;
    return ALM_OK;
}

static void scan_hint(alm_op *op, int64_t rows)
{
    op_scan *s = (op_scan *)op;
    const int64_t few = ALM_MIN(rows, (int64_t)ALM_BATCH_ROWS);
    const int64_t first = s->filter == NULL ? few : ALM_MAX(4 * few, 1024);
    s->step_rows = (uint32_t)ALM_MIN(ALM_MAX(first, 1), (int64_t)ALM_BATCH_ROWS);
}

static int64_t scan_count(alm_ctx *cx, alm_op *op)
{
    (void)cx;
    const op_scan *s = (const op_scan *)op;
    return s->filter == NULL && op->pipe == NULL ? s->sp->scans->rows(s->sp->scan) : -1;
}

static bool scan_skip(alm_op *op, int64_t rows)
{
    op_scan *s = (op_scan *)op;
    const bool backward = op->plan->scan.backward;
    ALM_ASSERT(s->filter == NULL && op->pipe == NULL);
    for (; rows > 0 && s->segment < s->segment_end; s->segment++) {
        const alm_scan_segment *seg = &s->sp->segment[s->segment];
        const int64_t n = seg->hi - seg->lo;
        if (rows < n) {
            s->row = backward ? seg->hi - rows : seg->lo + rows;
            s->in_segment = true;
            return true;
        }
        rows -= n;
    }
    return true;
}

static void scan_close(alm_op *op)
{
    alm_filter_free(((op_scan *)op)->filter);
}

static const alm_op_vt scan_vt = {.name = "scan",
                                  .next = scan_next,
                                  .start = scan_start,
                                  .close = scan_close,
                                  .hint = scan_hint,
                                  .count = scan_count,
                                  .skip = scan_skip};

bool alm_op_scan_masks(alm_op *op)
{
    op_scan *s = (op_scan *)op;
    if (op->vt != &scan_vt || s->filter == NULL || op->plan->scan.backward || op->run->env.analyze)
        return false;
    alm_filter_masks(s->filter);
    return true;
}

const uint8_t *alm_op_scan_mask(const alm_op *op, uint32_t *kept)
{
    const op_scan *s = (const op_scan *)op;
    *kept = s->mask_kept;
    return s->mask;
}

/* Which stored columns the filter reads, and which only the result does. */
static alm_status choose_columns(alm_ctx *cx, op_scan *s)
{
    const alm_plan *plan = s->op.plan;
    const uint32_t n = s->sp->n_cols;
    bool *used = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &s->first));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &s->rest));
    for (uint32_t i = 0; i < plan->scan.n_filters; i++)
        alm_expr_cols(plan->scan.filter[i], used, n);
    for (uint32_t i = 0; i < n; i++) {
        if ((int32_t)i == s->sp->row_col)
            continue;
        const bool first = plan->scan.n_filters == 0 || used[i];
        s->first[alm_scan_stored(s->sp, i)] = first;
        s->rest[alm_scan_stored(s->sp, i)] = !first && i < plan->scan.n_out;
        s->any_first |= first;
        s->any_rest |= !first && i < plan->scan.n_out;
        s->row_bytes += alm_type_width(plan->scan.table->cols[plan->scan.cols[i]].type);
    }
    return ALM_OK;
}

alm_status alm_op_scan_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    op_scan *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &scan_vt, run, plan, pipe));
    *out = &s->op;
    ALM_TRY(alm_op_shared(cx, run, plan, &s->sp));
    ALM_ASSERT(plan->n_cols == plan->scan.n_out && plan->scan.n_out <= s->sp->n_cols);
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->sp->n_cols + 1, &s->vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->sp->n_cols + 1, &s->stored));
    ALM_TRY(choose_columns(cx, s));
    if (plan->scan.n_filters > 0)
        ALM_TRY(alm_filter_new(cx, (const alm_expr *const *)plan->scan.filter, plan->scan.n_filters,
                               &s->filter));
    s->segment_end = s->sp->n_segments;
    s->step_rows = ALM_BATCH_ROWS;
    return ALM_OK;
}
