/*
 * plain.c - aggregates without keys.
 *
 * Each morsel has a group of its own; groups are merged in order of morsels. A query that asks only
 * for counts, sums, minima and maxima of whole stored columns reads block statistics instead: the
 * extremes of a block are fed to the aggregate as two values, its count as a constant, its sum is added.
 * Blocks without statistics (the newest rows in memory, merged ranges) are read, if they are few. Files say the
 * same of their row groups (source/source.h), all of them or the rows are read; they have no sums.
 */
#include "exec/eval/origin.h"
#include "exec/eval/scan_mask.h"
#include "exec/group/group.h"
#include "exec/run/scan_plan.h"
#include "exec/run/source_scan.h"

#include <math.h>

/* --------------------------------------------------------------------------------- all rows */

static alm_status take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel, alm_op *input)
{
    alm_group *g = arg;
    alm_group_slot *s = &g->slot[slot];
    ALM_TRY(alm_group_slot_ready(cx, g, s));
    const bool masks = alm_aggs_masks(s->aggs) && alm_op_scan_masks(input);
    for (;;) {
        alm_batch *in = NULL;
        uint32_t kept = 0;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        alm_arena_reset(&s->scratch);
        ALM_TRY(alm_aggs_eval(cx, s->aggs, &s->scratch, in));
        const uint8_t *mask = masks ? alm_op_scan_mask(input, &kept) : NULL;
        if (mask != NULL)
            ALM_TRY(alm_aggs_update_masked(cx, s->aggs, &s->scratch, &g->states, morsel, mask, kept,
                                           in->rows));
        else
            ALM_TRY(alm_aggs_update(cx, s->aggs, &g->states, morsel, 0, in->rows));
    }
}

/* -------------------------------------------------------------------------- block statistics */

/* One argument of a state: a stored column whose statistics serve. */
typedef struct stat_source {
    char kind;    /* '*' rows, 'c' values, 'm' min or max, 's' sum of DOUBLE */
    uint32_t col; /* of the scan */
    alm_type type;
} stat_source;

static bool stats_serve(alm_type t)
{
    const uint8_t id = t.id;
    return id == ALM_T_INT || id == ALM_T_LONG || id == ALM_T_FLOAT || id == ALM_T_DOUBLE ||
           id == ALM_T_DATE || id == ALM_T_TIMESTAMP || id == ALM_T_TIMESTAMP_NS;
}

static bool state_source(const alm_group *g, const alm_agg_state *st, const alm_plan **scan,
                         stat_source *out)
{
    const alm_agg_call *c = st->call;
    alm_origin from;
    if (c->filter != NULL || c->distinct || c->n_order > 0)
        return false;
    const bool counts = strcmp(c->fn->name, "count") == 0;
    *out = (stat_source){.kind = '*'};
    if (counts && c->n_args == 0)
        return true;
    const bool extreme = strcmp(c->fn->name, "min") == 0 || strcmp(c->fn->name, "max") == 0;
    const bool sum = st->ops->fuse == ALM_FUSE_SUM;
    if (c->n_args != 1 || !(counts || extreme || sum) ||
        !alm_origin_of(g->op.plan->child[0], c->args[0], &from) || from.filtered ||
        !stats_serve(c->args[0]->type))
        return false;
    *scan = from.scan;
    *out = (stat_source){.kind = counts ? 'c'
                                 : sum  ? 's'
                                        : 'm',
                         .col = from.scan_col,
                         .type = c->args[0]->type};
    return true;
}

/* All states can be made from statistics; *scan is their table, at least one reads a column. */
static bool find_sources(const alm_group *g, stat_source *source, const alm_plan **scan)
{
    const alm_aggs *a = g->own.aggs;
    *scan = NULL;
    for (uint32_t i = 0; i < a->n_states; i++)
        if (!state_source(g, &a->state[i], scan, &source[i]))
            return false;
    return *scan != NULL && (*scan)->scan.n_filters == 0;
}

typedef struct extremes {
    union {
        int32_t i32[2];
        int64_t i64[2];
        float f32[2];
        double f64[2];
    };
} extremes;

static void extreme_values(alm_type t, const alm_col_stats *s, extremes *out)
{
    if (t.id == ALM_T_DOUBLE) {
        out->f64[0] = s->min_f;
        out->f64[1] = s->max_f;
    } else if (t.id == ALM_T_FLOAT) {
        out->f32[0] = (float)s->min_f;
        out->f32[1] = (float)s->max_f;
    } else if (t.id == ALM_T_INT) {
        out->i32[0] = (int32_t)s->min_i;
        out->i32[1] = (int32_t)s->max_i;
    } else {
        out->i64[0] = s->min_i;
        out->i64[1] = s->max_i;
    }
}

static alm_status feed_block(alm_ctx *cx, alm_group *g, uint32_t i, const stat_source *src,
                             const alm_col_stats *stats, int64_t rows)
{
    alm_agg_state *st = &g->own.aggs->state[i];
    const int64_t values = src->kind == '*' ? rows : stats->rows - stats->nulls;
    if (values == 0)
        return ALM_OK;
    if (src->kind == 's') {
        alm_fsum *sum = (alm_fsum *)(void *)g->states.array[i];
        sum->sum += stats->sum_f;
        sum->count += values;
        return ALM_OK;
    }
    extremes pair = {0};
    alm_vec v = {.type = src->type, .width = (uint8_t)alm_type_width(src->type), .data = &pair};
    uint64_t n = 2;
    if (src->kind == 'm') {
        extreme_values(src->type, stats, &pair);
    } else {
        v.is_const = v.no_nulls = true; /* zeroes: any value that is not null */
        n = (uint64_t)values;
    }
    st->rt.cx = cx;
    return st->ops->update(&st->rt, g->states.array[i], n, &v);
}

/* Statistics of all columns for the block at `row`; false: not all are there. *left rows. */
static bool block_stats(const alm_scan_plan *sp, uint32_t span, int64_t row,
                        const stat_source *source, uint32_t n, alm_col_stats *stats, int64_t *left)
{
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        if (source[i].kind == '*')
            continue;
        sp->scans->block_stats(sp->scan, span, row, source[i].col, left, &stats[i]);
        const bool has = source[i].kind == 's' ? stats[i].has_sum : stats[i].has_minmax;
        all &= stats[i].valid && (source[i].kind == 'c' || has || stats[i].nulls == stats[i].rows);
    }
    return all;
}

/* What one thread reads rows with where statistics do not suffice. */
typedef struct stat_reader {
    const stat_source *source; /* by state */
    const alm_scan_ops *scans;
    alm_scan_cursor *cursor;
    bool *wanted;
    alm_vec *vecs;
} stat_reader;

/* Rows [row, row + n) of a span as they are. */
static alm_status feed_rows(alm_ctx *cx, alm_group *g, const stat_reader *in, uint32_t span,
                            int64_t row, int64_t rows)
{
    alm_aggs *a = g->own.aggs;
    for (int64_t done = 0; done < rows;) {
        const uint32_t n = (uint32_t)ALM_MIN(rows - done, (int64_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_check(cx));
        ALM_TRY(in->scans->read(cx, in->cursor, span, row + done, n, in->wanted, in->vecs));
        for (uint32_t i = 0; i < a->n_states; i++) {
            alm_agg_state *st = &a->state[i];
            st->rt.cx = cx;
            ALM_TRY(
                st->ops->update(&st->rt, g->states.array[i], n,
                                in->source[i].kind == '*' ? NULL : &in->vecs[in->source[i].col]));
        }
        done += n;
    }
    return ALM_OK;
}

/* Are there few rows that would have to be read? One thread reads them. */
static bool few_without(const alm_scan_plan *sp, const stat_source *source, uint32_t n,
                        alm_col_stats *stats)
{
    enum { READ_MAX = 1 << 20 };
    int64_t without = 0;
    for (uint32_t s = 0; s < sp->n_segments; s++) {
        const alm_scan_segment *seg = &sp->segment[s];
        for (int64_t row = seg->lo; row < seg->hi;) {
            int64_t left = 0;
            const bool known = block_stats(sp, seg->span, row, source, n, stats, &left);
            const int64_t rows = ALM_MIN(ALM_MAX(left, 1), seg->hi - row);
            without += known && rows == left ? 0 : rows;
            row += rows;
        }
    }
    return without <= READ_MAX;
}

static alm_status read_stats(alm_ctx *cx, alm_group *g, const alm_scan_plan *sp,
                             const stat_source *source)
{
    const uint32_t n = g->own.aggs->n_states;
    alm_col_stats *stats = NULL;
    stat_reader in = {.source = source, .scans = sp->scans};
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &stats));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &in.vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &in.wanted));
    for (uint32_t i = 0; i < n; i++)
        if (source[i].kind != '*')
            in.wanted[source[i].col] = true;
    ALM_TRY(sp->scans->cursor_new(cx, cx->arena, sp->scan, &in.cursor));
    for (uint32_t s = 0; s < sp->n_segments; s++) {
        const alm_scan_segment *seg = &sp->segment[s];
        ALM_TRY(alm_check(cx));
        for (int64_t row = seg->lo; row < seg->hi;) {
            int64_t left = 0;
            const bool known = block_stats(sp, seg->span, row, source, n, stats, &left);
            const int64_t rows = ALM_MIN(ALM_MAX(left, 1), seg->hi - row);
            if (known && rows == left) {
                for (uint32_t i = 0; i < n; i++)
                    ALM_TRY(feed_block(cx, g, i, &source[i], &stats[i], rows));
            } else {
                ALM_TRY(feed_rows(cx, g, &in, seg->span, row, rows));
            }
            row += rows;
        }
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------- statistics of files */

/* The scanned source that a column of the input is of, and which of its columns; NULL: of none. */
static const alm_plan *source_of(const alm_plan *plan, const alm_expr *e, uint32_t *col)
{
    while (plan->op == ALM_P_PROJECT && (e == NULL || e->kind == ALM_X_COL)) {
        e = e != NULL ? plan->project.expr[e->col] : NULL;
        plan = plan->child[0];
    }
    if (plan->op != ALM_P_SOURCE || plan->source.all == NULL || plan->source.n_filters > 0 ||
        (e != NULL && e->kind != ALM_X_COL))
        return NULL;
    *col = e != NULL ? e->col : 0;
    return plan;
}

static bool file_source(const alm_group *g, const alm_agg_state *st, stat_source *out)
{
    const alm_agg_call *c = st->call;
    const bool counts = strcmp(c->fn->name, "count") == 0;
    *out = (stat_source){.kind = '*'};
    if (c->filter != NULL || c->distinct || c->n_order > 0)
        return false;
    if (counts && c->n_args == 0)
        return true;
    if (c->n_args != 1 || source_of(g->op.plan->child[0], c->args[0], &out->col) == NULL)
        return false;
    out->type = c->args[0]->type;
    out->kind = counts ? 'c' : 'm';
    if (counts && alm_type_is_text(out->type) && out->type.id != ALM_T_SYMBOL)
        return true;
    return stats_serve(out->type) &&
           (counts || strcmp(c->fn->name, "min") == 0 || strcmp(c->fn->name, "max") == 0);
}

/*
 * Do the statistics say it for sure? A file does not count the values that are null here and none there: NaN and
 * the infinities, the least integer. Of a zero it does not tell the sign.
 */
static bool file_says(const stat_source *src, const alm_col_stats *s)
{
    const bool real = src->type.id == ALM_T_FLOAT || src->type.id == ALM_T_DOUBLE;
    if (!s->valid)
        return false;
    if (s->nulls == s->rows || alm_type_is_text(src->type))
        return s->nulls >= 0;
    if (!s->has_minmax || (src->kind == 'c' && (real || s->nulls < 0)))
        return false;
    if (real)
        return isfinite(s->min_f) && isfinite(s->max_f) && s->min_f != 0 && s->max_f != 0;
    return s->min_i != (src->type.id == ALM_T_INT ? ALM_INT_NULL : ALM_LONG_NULL);
}

/* All parts of the source, or nothing: the states are fed only when `feed`. */
static alm_status walk_parts(alm_ctx *cx, alm_group *g, const alm_plan *from,
                             const alm_source_plan *sp, const stat_source *source, bool feed,
                             bool *all)
{
    for (uint32_t part = 0; *all && part < sp->parts.n; part++) {
        ALM_TRY(alm_check(cx));
        for (uint32_t i = 0; *all && i < g->own.aggs->n_states; i++) {
            alm_col_stats stats = {0};
            if (source[i].kind != '*')
                sp->source->scan->part_stats(from, &sp->parts, part, source[i].col, &stats);
            if (source[i].kind == 'm' && stats.nulls < 0)
                stats.nulls = 0; /* not known; there is a value */
            if (feed)
                ALM_TRY(feed_block(cx, g, i, &source[i], &stats, sp->parts.rows[part]));
            else
                *all = source[i].kind == '*' || file_says(&source[i], &stats);
        }
    }
    return ALM_OK;
}

/* *done: the files have answered. */
static alm_status read_file_stats(alm_ctx *cx, alm_group *g, stat_source *source, bool *done)
{
    const alm_source_plan *sp = NULL;
    uint32_t col = 0;
    const alm_plan *from = source_of(g->op.plan->child[0], NULL, &col);
    bool all = from != NULL;
    *done = false;
    for (uint32_t i = 0; all && i < g->own.aggs->n_states; i++)
        all = file_source(g, &g->own.aggs->state[i], &source[i]);
    if (!all)
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, g->op.run, from, &sp));
    all = sp->source->scan->part_stats != NULL;
    ALM_TRY(walk_parts(cx, g, from, sp, source, false, &all));
    if (!all)
        return ALM_OK;
    *done = true;
    ALM_TRY(alm_states_reserve(cx, g->own.aggs, &g->states, &g->own.pool, 1));
    return walk_parts(cx, g, from, sp, source, true, &all);
}

/* ---------------------------------------------------------------------------------- the choice */

/* *out: the scan whose statistics answer everything; NULL: rows must be read. */
static alm_status choose_stats(alm_ctx *cx, const alm_group *g, stat_source *source,
                               const alm_scan_plan **out)
{
    const alm_plan *scan = NULL;
    alm_col_stats *stats = NULL;
    const uint32_t n = g->own.aggs->n_states;
    *out = NULL;
    if (!alm_pipe_parallel(g->pipe) || !find_sources(g, source, &scan))
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &stats));
    ALM_TRY(alm_op_shared(cx, g->op.run, scan, out));
    if (!few_without(*out, source, n, stats))
        *out = NULL;
    return ALM_OK;
}

alm_status alm_group_plain(alm_ctx *cx, alm_group *g)
{
    alm_aggs *a = g->own.aggs;
    const uint32_t morsels = alm_pipe_morsels(g->pipe);
    stat_source *source = NULL;
    const alm_scan_plan *stats = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_states + 1, &source));
    bool done = false;
    ALM_TRY(read_file_stats(cx, g, source, &done));
    if (done)
        return ALM_OK;
    ALM_TRY(choose_stats(cx, g, source, &stats));
    const uint32_t groups = stats != NULL ? 1 : ALM_MAX(morsels, 1U);
    ALM_TRY(alm_states_reserve(cx, a, &g->states, &g->own.pool, groups));
    if (stats != NULL)
        return read_stats(cx, g, stats, source);
    ALM_TRY(alm_pipe_run(cx, g->pipe, 0, morsels, take_morsel, g));
    for (uint32_t m = 1; m < morsels; m++)
        ALM_TRY(alm_aggs_merge(cx, a, &g->states, 0, NULL, &g->states, m, 1));
    return ALM_OK;
}
