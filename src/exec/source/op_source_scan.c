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
static alm_block_answer answer_of(const alm_filter *filter, uint32_t range, const alm_col_stats *b)
{
    if (!b->valid || !b->has_minmax)
        return ALM_BLOCK_SOME;
    return alm_filter_range_test(filter, range, b->min_i, b->max_i, b->min_f, b->max_f,
                                 b->nulls != 0);
}

static bool part_may_pass(const alm_plan *plan, const alm_source_plan *sp, uint32_t part,
                          const alm_filter *filter)
{
    if (sp->source->scan->part_stats == NULL)
        return true;
    for (uint32_t i = 0; i < alm_filter_ranges(filter); i++) {
        alm_col_stats bounds;
        sp->source->scan->part_stats(plan, &sp->parts, part, alm_filter_range_col(filter, i),
                                     &bounds);
        if (answer_of(filter, i, &bounds) == ALM_BLOCK_NONE)
            return false;
    }
    return true;
}

/* Which parts are read (1 in size, else 0): known beforehand, so that few of them are cut finely enough for all
 * threads. */
static alm_status choose_parts(alm_ctx *cx, const alm_plan *plan, const alm_source_plan *sp,
                               int64_t *size, uint32_t *n)
{
    alm_filter *filter = NULL;
    *n = 0;
    if (plan->source.n_filters > 0)
        ALM_TRY(alm_filter_new(cx, (const alm_expr *const *)plan->source.filter,
                               plan->source.n_filters, &filter));
    for (uint32_t i = 0; i < sp->parts.n; i++) {
        size[i] = filter == NULL || part_may_pass(plan, sp, i, filter);
        *n += size[i] > 0;
    }
    alm_filter_free(filter);
    return ALM_OK;
}

/* Rows of a morsel of the part: about ALM_SOURCE_MORSEL, a multiple of its step; all of it where parts are many. */
static int64_t morsel_rows(const alm_plan *plan, const alm_source_plan *sp, uint32_t part,
                           uint32_t n_read)
{
    const int64_t rows = sp->parts.rows[part];
    const int64_t wanted = n_read >= ALM_SOURCE_PARTS ? ALM_SOURCE_LARGEST : ALM_SOURCE_MORSEL;
    if (rows <= wanted)
        return ALM_MAX(rows, 1);
    const int64_t step =
        sp->source->scan->step != NULL ? sp->source->scan->step(plan, &sp->parts, part) : 0;
    if (step <= 0 || step > 4 * wanted)
        return wanted;
    return ALM_MAX((wanted + step / 2) / step, 1) * step;
}

static alm_status cut(alm_ctx *cx, const alm_plan *plan, alm_source_plan *sp)
{
    uint32_t n = 0, n_read = 0;
    int64_t *size = NULL; /* of the morsels of each part, 0: it is not read */
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->parts.n + 1, &size));
    ALM_TRY(choose_parts(cx, plan, sp, size, &n_read));
    for (uint32_t i = 0; i < sp->parts.n; i++) {
        if (size[i] == 0)
            continue;
        size[i] = morsel_rows(plan, sp, i, n_read);
        n += (uint32_t)((sp->parts.rows[i] + size[i] - 1) / size[i]);
        sp->rows += sp->parts.rows[i];
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &sp->morsel));
    for (uint32_t i = 0; i < sp->parts.n; i++)
        for (int64_t lo = 0; size[i] > 0 && lo < sp->parts.rows[i]; lo += size[i])
            sp->morsel[sp->n_morsels++] =
                (alm_source_morsel){i, lo, ALM_MIN(lo + size[i], sp->parts.rows[i])};
    ALM_ASSERT(sp->n_morsels == n);
    return ALM_OK;
}

alm_status alm_op_source_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **shared)
{
    alm_source_plan *sp = NULL;
    (void)run;
    *shared = NULL;
    if (plan->source.all == NULL)
        return ALM_OK; /* its rows come one batch after another: there are no parts */
    ALM_TRY(ALM_NEW(cx, cx->arena, &sp));
    sp->source = plan->source.function;
    ALM_ASSERT(sp->source != NULL && sp->source->scan != NULL);
    ALM_TRY(sp->source->scan->prepare(cx, plan, &sp->parts));
    ALM_TRY(cut(cx, plan, sp));
    *shared = sp;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ reading */

/*
 * Asks the statistics at `row` about each range test. *none: no row can pass; *rows they hold for. Tests that all rows
 * pass are left out until then.
 */
static alm_status ask_stats(alm_ctx *cx, op_source_scan *s, uint32_t part, int64_t row,
                            int64_t *rows, bool *none)
{
    *rows = INT64_MAX;
    *none = false;
    for (uint32_t i = 0; i < alm_filter_ranges(s->filter); i++) {
        alm_col_stats stats = {0};
        int64_t left = INT64_MAX;
        ALM_TRY(s->sp->source->scan->stats(cx, s->reader, part, row,
                                           alm_filter_range_col(s->filter, i), &left, &stats));
        const alm_block_answer answer = answer_of(s->filter, i, &stats);
        *rows = ALM_MIN(*rows, left);
        alm_filter_range_skip(s->filter, i, answer == ALM_BLOCK_ALL);
        *none |= answer == ALM_BLOCK_NONE;
    }
    return ALM_OK;
}

/* Moves over rows that statistics exclude; s->row == m->hi: the morsel is used up. */
static alm_status next_block(alm_ctx *cx, op_source_scan *s, const alm_source_morsel *m)
{
    while (s->row < m->hi && s->row >= s->tested_to) {
        int64_t left = 0;
        bool none = false;
        ALM_TRY(ask_stats(cx, s, m->part, s->row, &left, &none));
        s->tested_to = left >= m->hi - s->row ? m->hi : s->row + left;
        if (none)
            s->row = s->tested_to;
    }
    return ALM_OK;
}

/* Chooses rows [*row, *row + *n) of a part; *n = 0: no more morsels. */
static alm_status next_rows(alm_ctx *cx, op_source_scan *s, uint32_t *part, int64_t *row,
                            uint32_t *n)
{
    *n = 0;
    for (; s->morsel < s->morsel_end; s->morsel++, s->in_morsel = false) {
        const alm_source_morsel *m = &s->sp->morsel[s->morsel];
        if (!s->in_morsel) {
            s->row = s->tested_to = m->lo;
            s->in_morsel = true;
        }
        if (s->filter != NULL)
            ALM_TRY(next_block(cx, s, m));
        const int64_t end = s->filter != NULL ? s->tested_to : m->hi;
        const int64_t left = end - s->row;
        if (left <= 0)
            continue;
        *part = m->part;
        *row = s->row;
        *n = (uint32_t)ALM_MIN(left, (int64_t)s->step_rows);
        s->row += *n;
        return ALM_OK;
    }
    return ALM_OK;
}

static alm_status read_columns(alm_ctx *cx, op_source_scan *s, const bool *wanted, uint32_t part,
                               int64_t row, uint32_t n)
{
    return s->sp->source->scan->read(cx, s->reader, part, row, n, wanted, &s->op.batch, s->vecs);
}

static void emit(op_source_scan *s, const uint16_t *sel, uint32_t kept, alm_batch **out)
{
    s->op.out.rows = kept;
    for (uint32_t i = 0; i < s->op.out.n_cols; i++) {
        s->op.out.cols[i] = s->vecs[i];
        s->op.out.cols[i].indirect = sel != NULL && !s->vecs[i].is_const;
    }
    s->op.out.sel = sel;
    *out = &s->op.out;
}

static alm_status scan_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_source_scan *s = (op_source_scan *)op;
    *out = NULL;
    if (s->reader == NULL)
        ALM_TRY(s->sp->source->scan->reader(cx, op->plan, &s->sp->parts, &s->reader));
    for (;;) {
        uint32_t part = 0, n = 0, kept = 0;
        int64_t row = 0;
        const uint16_t *sel = NULL;
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_check(cx));
        ALM_TRY(next_rows(cx, s, &part, &row, &n));
        if (n == 0)
            return ALM_OK;
        kept = n;
        if (s->any_first)
            ALM_TRY(read_columns(cx, s, s->first, part, row, n));
        if (s->filter != NULL) {
            const alm_batch in = {.rows = n, .n_cols = op->plan->source.n_cols, .cols = s->vecs};
            ALM_TRY(alm_filter_run(cx, s->filter, &in, &sel, &kept));
            s->step_rows = ALM_MIN(2 * s->step_rows, (uint32_t)ALM_BATCH_ROWS);
        }
        if (kept == 0)
            continue;
        if (s->any_rest)
            ALM_TRY(read_columns(cx, s, s->rest, part, row, n));
        emit(s, sel, kept, out);
        return ALM_OK;
    }
}

/* ---------------------------------------------------------------------------------- life cycle */

static alm_status scan_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    op_source_scan *s = (op_source_scan *)op;
    (void)cx;
    ALM_ASSERT(morsel < s->sp->n_morsels);
    s->morsel = morsel;
    s->morsel_end = morsel + 1;
    s->in_morsel = false;
    return ALM_OK;
}

static void scan_hint(alm_op *op, int64_t rows)
{
    op_source_scan *s = (op_source_scan *)op;
    const int64_t few = ALM_MIN(rows, (int64_t)ALM_BATCH_ROWS);
    const int64_t first = s->filter == NULL ? few : ALM_MAX(4 * few, 1024);
    s->step_rows = (uint32_t)ALM_MIN(ALM_MAX(first, 1), (int64_t)ALM_BATCH_ROWS);
}

static int64_t scan_count(alm_ctx *cx, alm_op *op)
{
    (void)cx;
    const op_source_scan *s = (const op_source_scan *)op;
    return s->filter == NULL && op->pipe == NULL ? s->sp->rows : -1;
}

static bool scan_skip(alm_op *op, int64_t rows)
{
    op_source_scan *s = (op_source_scan *)op;
    ALM_ASSERT(s->filter == NULL && op->pipe == NULL);
    for (; rows > 0 && s->morsel < s->morsel_end; s->morsel++) {
        const alm_source_morsel *m = &s->sp->morsel[s->morsel];
        if (rows < m->hi - m->lo) {
            s->row = s->tested_to = m->lo + rows;
            s->in_morsel = true;
            return true;
        }
        rows -= m->hi - m->lo;
    }
    return true;
}

static void scan_close(alm_op *op)
{
    op_source_scan *s = (op_source_scan *)op;
    alm_filter_free(s->filter);
    s->sp->source->scan->free(s->reader);
}

static const alm_op_vt source_scan_vt = {.name = "source scan",
                                         .next = scan_next,
                                         .start = scan_start,
                                         .close = scan_close,
                                         .hint = scan_hint,
                                         .count = scan_count,
                                         .skip = scan_skip};

/* Which columns the filter reads, and which only the result does. */
static alm_status choose_columns(alm_ctx *cx, op_source_scan *s)
{
    const alm_plan *plan = s->op.plan;
    const uint32_t n = plan->source.n_cols;
    bool *used = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &s->first));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &s->rest));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &s->vecs));
    for (uint32_t i = 0; i < plan->source.n_filters; i++)
        alm_expr_cols(plan->source.filter[i], used, n);
    for (uint32_t i = 0; i < n; i++) {
        s->first[i] = plan->source.n_filters == 0 || used[i];
        s->rest[i] = !s->first[i] && i < plan->source.n_out;
        s->any_first |= s->first[i];
        s->any_rest |= s->rest[i];
    }
    return ALM_OK;
}

alm_status alm_op_source_scan_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                   alm_op **out)
{
    op_source_scan *s = NULL;
    const alm_source_plan *sp = NULL;
    ALM_TRY(alm_op_shared(cx, run, plan, &sp));
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &source_scan_vt, run, plan, pipe));
    s->sp = sp;
    *out = &s->op;
    ALM_ASSERT(plan->n_cols == plan->source.n_out && plan->source.n_out <= plan->source.n_cols);
    ALM_TRY(choose_columns(cx, s));
    if (plan->source.n_filters > 0)
        ALM_TRY(alm_filter_new(cx, (const alm_expr *const *)plan->source.filter,
                               plan->source.n_filters, &s->filter));
    s->morsel_end = s->sp->n_morsels;
    s->step_rows = ALM_BATCH_ROWS;
    return ALM_OK;
}
