/*
 * op_source_scan.c - rows of a source that is scanned: conditions first, the other columns for rows that
 * survive, what statistics exclude not at all. The counterpart of stream/op_scan.c for files.
 *
 * Threads     One operator per thread, with a reader of its own; alm_source_plan is shared.
 */
#include "exec/eval/eval.h"
#include "exec/run/op_make.h"
#include "exec/run/source_scan.h"

typedef struct op_source_scan {
    alm_op op;
    const alm_source_plan *sp;
    void *reader;       /* made when it is first needed */
    alm_filter *filter; /* NULL: none */
    bool *first, *rest; /* columns read for the filter, and after it */
    bool any_first, any_rest;
    alm_vec *vecs; /* all columns of the source that are read */
    uint32_t morsel, morsel_end;
    int64_t row; /* the next one of the morsel */
    bool in_morsel;
    uint32_t step_rows;
    int64_t tested_to; /* rows of the part below it have had their statistics asked */
} op_source_scan;

/* --------------------------------------------------------------------------- morsels, shared */

/* Can rows between the bounds pass the range test? */
static alm_block_answer answer_of(const alm_filter *filter, uint32_t range,
                                  const alm_col_stats *stats)
{
    if (!stats->valid || !stats->has_minmax)
        return ALM_BLOCK_SOME;
    return alm_filter_range_test(filter, range, stats->min_i, stats->max_i, stats->min_f,
                                 stats->max_f, stats->nulls != 0);
}

static bool part_may_pass(const alm_plan *plan, const alm_source_plan *source, uint32_t part,
                          const alm_filter *filter)
{
    if (source->source->scan->part_stats == NULL)
        return true;
    for (uint32_t i = 0; i < alm_filter_ranges(filter); i++) {
        alm_col_stats bounds;
        source->source->scan->part_stats(plan, &source->parts, part,
                                         alm_filter_range_col(filter, i), &bounds);
        if (answer_of(filter, i, &bounds) == ALM_BLOCK_NONE)
            return false;
    }
    return true;
}

/* Which parts are read (1 in size, else 0): known beforehand, so that few of them are cut finely enough for all
 * threads. */
static alm_status choose_parts(alm_ctx *cx, const alm_plan *plan, const alm_source_plan *source,
                               int64_t *size, uint32_t *n)
{
    alm_filter *filter = NULL;
    *n = 0;
    if (plan->source.n_filters > 0)
        ALM_TRY(alm_filter_new(cx, (const alm_expr *const *)plan->source.filter,
                               plan->source.n_filters, &filter));
    for (uint32_t i = 0; i < source->parts.n; i++) {
        size[i] = filter == NULL || part_may_pass(plan, source, i, filter);
        *n += size[i] > 0;
    }
    alm_filter_free(filter);
    return ALM_OK;
}

/* Rows of a morsel of the part: about ALM_SOURCE_MORSEL, a multiple of its step; all of it where parts are many. */
static int64_t morsel_rows(const alm_plan *plan, const alm_source_plan *source, uint32_t part,
                           uint32_t n_read)
{
    const int64_t rows = source->parts.rows[part];
    const int64_t wanted = n_read >= ALM_SOURCE_PARTS ? ALM_SOURCE_LARGEST : ALM_SOURCE_MORSEL;
    if (rows <= wanted)
        return ALM_MAX(rows, 1);
    const int64_t step = source->source->scan->step != NULL
                             ? source->source->scan->step(plan, &source->parts, part)
                             : 0;
    if (step <= 0 || step > 4 * wanted)
        return wanted;
    return ALM_MAX((wanted + step / 2) / step, 1) * step;
}

static alm_status op_source_scan_cut(alm_ctx *cx, const alm_plan *plan, alm_source_plan *source)
{
    uint32_t count = 0, n_read = 0;
    int64_t *size = NULL; /* of the morsels of each part, 0: it is not read */
    ALM_TRY(ALM_NEWN(cx, cx->arena, source->parts.n + 1, &size));
    ALM_TRY(choose_parts(cx, plan, source, size, &n_read));
    for (uint32_t i = 0; i < source->parts.n; i++) {
        if (size[i] == 0)
            continue;
        size[i] = morsel_rows(plan, source, i, n_read);
        count += (uint32_t)((source->parts.rows[i] + size[i] - 1) / size[i]);
        source->rows += source->parts.rows[i];
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, count + 1, &source->morsel));
    for (uint32_t i = 0; i < source->parts.n; i++)
        for (int64_t lo = 0; size[i] > 0 && lo < source->parts.rows[i]; lo += size[i])
            source->morsel[source->n_morsels++] =
                (alm_source_morsel){i, lo, ALM_MIN(lo + size[i], source->parts.rows[i])};
    ALM_ASSERT(source->n_morsels == count);
    return ALM_OK;
}

alm_status alm_op_source_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **shared)
{
    alm_source_plan *source = NULL;
    (void)run;
    *shared = NULL;
    if (plan->source.all == NULL)
        return ALM_OK; /* its rows come one batch after another: there are no parts */
    ALM_TRY(ALM_NEW(cx, cx->arena, &source));
    source->source = plan->source.function;
    ALM_ASSERT(source->source != NULL && source->source->scan != NULL);
    ALM_TRY(source->source->scan->prepare(cx, plan, &source->parts));
    ALM_TRY(op_source_scan_cut(cx, plan, source));
    *shared = source;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ reading */

/*
 * Asks the statistics at `row` about each range test. *none: no row can pass; *rows they hold for. Tests that all rows
 * pass are left out until then.
 */
static alm_status ask_stats(alm_ctx *cx, op_source_scan *scan, uint32_t part, int64_t row,
                            int64_t *rows, bool *none)
{
    *rows = INT64_MAX;
    *none = false;
    for (uint32_t i = 0; i < alm_filter_ranges(scan->filter); i++) {
        alm_col_stats stats = {0};
        int64_t left = INT64_MAX;
        ALM_TRY(scan->sp->source->scan->stats(
            cx, scan->reader, part, row, alm_filter_range_col(scan->filter, i), &left, &stats));
        const alm_block_answer answer = answer_of(scan->filter, i, &stats);
        *rows = ALM_MIN(*rows, left);
        alm_filter_range_skip(scan->filter, i, answer == ALM_BLOCK_ALL);
        *none |= answer == ALM_BLOCK_NONE;
    }
    return ALM_OK;
}

/* Moves over rows that statistics exclude; scan->row == morsel->hi: the morsel is used up. */
static alm_status op_source_scan_next_block(alm_ctx *cx, op_source_scan *scan,
                                            const alm_source_morsel *morsel)
{
    while (scan->row < morsel->hi && scan->row >= scan->tested_to) {
        int64_t left = 0;
        bool none = false;
        ALM_TRY(ask_stats(cx, scan, morsel->part, scan->row, &left, &none));
        scan->tested_to = left >= morsel->hi - scan->row ? morsel->hi : scan->row + left;
        if (none)
            scan->row = scan->tested_to;
    }
    return ALM_OK;
}

/* Chooses rows [*row, *row + *n) of a part; *n = 0: no more morsels. */
static alm_status op_source_scan_next_rows(alm_ctx *cx, op_source_scan *scan, uint32_t *part,
                                           int64_t *row, uint32_t *n)
{
    *n = 0;
    for (; scan->morsel < scan->morsel_end; scan->morsel++, scan->in_morsel = false) {
        const alm_source_morsel *morsel = &scan->sp->morsel[scan->morsel];
        if (!scan->in_morsel) {
            scan->row = scan->tested_to = morsel->lo;
            scan->in_morsel = true;
        }
        if (scan->filter != NULL)
            ALM_TRY(op_source_scan_next_block(cx, scan, morsel));
        const int64_t end = scan->filter != NULL ? scan->tested_to : morsel->hi;
        const int64_t left = end - scan->row;
        if (left <= 0)
            continue;
        *part = morsel->part;
        *row = scan->row;
        *n = (uint32_t)ALM_MIN(left, (int64_t)scan->step_rows);
        scan->row += *n;
        return ALM_OK;
    }
    return ALM_OK;
}

static alm_status op_source_scan_read_columns(alm_ctx *cx, op_source_scan *scan, const bool *wanted,
                                              uint32_t part, int64_t row, uint32_t n)
{
    return scan->sp->source->scan->read(cx, scan->reader, part, row, n, wanted, &scan->op.batch,
                                        scan->vecs);
}

static void op_source_scan_emit(op_source_scan *scan, const uint16_t *sel, uint32_t kept,
                                alm_batch **out)
{
    scan->op.out.rows = kept;
    for (uint32_t i = 0; i < scan->op.out.n_cols; i++) {
        scan->op.out.cols[i] = scan->vecs[i];
        scan->op.out.cols[i].indirect = sel != NULL && !scan->vecs[i].is_const;
    }
    scan->op.out.sel = sel;
    *out = &scan->op.out;
}

static alm_status op_source_scan_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_source_scan *scan = (op_source_scan *)op;
    *out = NULL;
    if (scan->reader == NULL)
        ALM_TRY(scan->sp->source->scan->reader(cx, op->plan, &scan->sp->parts, &scan->reader));
    for (;;) {
        uint32_t part = 0, n = 0, kept = 0;
        int64_t row = 0;
        const uint16_t *sel = NULL;
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_check(cx));
        ALM_TRY(op_source_scan_next_rows(cx, scan, &part, &row, &n));
        if (n == 0)
            return ALM_OK;
        kept = n;
        if (scan->any_first)
            ALM_TRY(op_source_scan_read_columns(cx, scan, scan->first, part, row, n));
        if (scan->filter != NULL) {
            const alm_batch batch = {
                .rows = n, .n_cols = op->plan->source.n_cols, .cols = scan->vecs};
            ALM_TRY(alm_filter_run(cx, scan->filter, &batch, &sel, &kept));
            scan->step_rows = ALM_MIN(2 * scan->step_rows, (uint32_t)ALM_BATCH_ROWS);
        }
        if (kept == 0)
            continue;
        if (scan->any_rest)
            ALM_TRY(op_source_scan_read_columns(cx, scan, scan->rest, part, row, n));
        op_source_scan_emit(scan, sel, kept, out);
        return ALM_OK;
    }
}

/* ---------------------------------------------------------------------------------- life cycle */

static alm_status op_source_scan_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    op_source_scan *scan = (op_source_scan *)op;
    (void)cx;
    ALM_ASSERT(morsel < scan->sp->n_morsels);
    scan->morsel = morsel;
    scan->morsel_end = morsel + 1;
    scan->in_morsel = false;
    return ALM_OK;
}

static void op_source_scan_hint(alm_op *op, int64_t rows)
{
    op_source_scan *scan = (op_source_scan *)op;
    const int64_t few = ALM_MIN(rows, (int64_t)ALM_BATCH_ROWS);
    const int64_t first = scan->filter == NULL ? few : ALM_MAX(4 * few, 1024);
    scan->step_rows = (uint32_t)ALM_MIN(ALM_MAX(first, 1), (int64_t)ALM_BATCH_ROWS);
}

static int64_t op_source_scan_count(alm_ctx *cx, alm_op *op)
{
    (void)cx;
    const op_source_scan *scan = (const op_source_scan *)op;
    return scan->filter == NULL && op->pipe == NULL ? scan->sp->rows : -1;
}

static bool op_source_scan_skip(alm_op *op, int64_t rows)
{
    op_source_scan *scan = (op_source_scan *)op;
    ALM_ASSERT(scan->filter == NULL && op->pipe == NULL);
    for (; rows > 0 && scan->morsel < scan->morsel_end; scan->morsel++) {
        const alm_source_morsel *morsel = &scan->sp->morsel[scan->morsel];
        if (rows < morsel->hi - morsel->lo) {
            scan->row = scan->tested_to = morsel->lo + rows;
            scan->in_morsel = true;
            return true;
        }
        rows -= morsel->hi - morsel->lo;
    }
    return true;
}

static void op_source_scan_close(alm_op *op)
{
    op_source_scan *scan = (op_source_scan *)op;
    alm_filter_free(scan->filter);
    scan->sp->source->scan->free(scan->reader);
}

static const alm_op_vt source_scan_vt = {.name = "source scan",
                                         .next = op_source_scan_next,
                                         .start = op_source_scan_start,
                                         .close = op_source_scan_close,
                                         .hint = op_source_scan_hint,
                                         .count = op_source_scan_count,
                                         .skip = op_source_scan_skip};

/* Which columns the filter reads, and which only the result does. */
static alm_status op_source_scan_choose_columns(alm_ctx *cx, op_source_scan *scan)
{
    const alm_plan *plan = scan->op.plan;
    const uint32_t n_cols = plan->source.n_cols;
    bool *used = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &scan->first));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &scan->rest));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &scan->vecs));
    for (uint32_t i = 0; i < plan->source.n_filters; i++)
        alm_expr_cols(plan->source.filter[i], used, n_cols);
    for (uint32_t i = 0; i < n_cols; i++) {
        scan->first[i] = plan->source.n_filters == 0 || used[i];
        scan->rest[i] = !scan->first[i] && i < plan->source.n_out;
        scan->any_first |= scan->first[i];
        scan->any_rest |= scan->rest[i];
    }
    return ALM_OK;
}

alm_status alm_op_source_scan_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                   alm_op **out)
{
    op_source_scan *scan = NULL;
    const alm_source_plan *source = NULL;
    ALM_TRY(alm_op_shared(cx, run, plan, &source));
    ALM_TRY(ALM_NEW(cx, cx->arena, &scan));
    ALM_TRY(alm_op_init(cx, &scan->op, &source_scan_vt, run, plan, pipe));
    scan->sp = source;
    *out = &scan->op;
    ALM_ASSERT(plan->n_cols == plan->source.n_out && plan->source.n_out <= plan->source.n_cols);
    ALM_TRY(op_source_scan_choose_columns(cx, scan));
    if (plan->source.n_filters > 0)
        ALM_TRY(alm_filter_new(cx, (const alm_expr *const *)plan->source.filter,
                               plan->source.n_filters, &scan->filter));
    scan->morsel_end = scan->sp->n_morsels;
    scan->step_rows = ALM_BATCH_ROWS;
    return ALM_OK;
}
