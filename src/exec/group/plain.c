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

static alm_status group_plain_take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel,
                                          alm_op *input)
{
    alm_group *group = arg;
    alm_group_slot *group_slot = &group->slot[slot];
    ALM_TRY(alm_group_slot_ready(cx, group, group_slot));
    const bool masks = alm_aggs_masks(group_slot->aggs) && alm_op_scan_masks(input);
    for (;;) {
        alm_batch *batch = NULL;
        uint32_t kept = 0;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        alm_arena_reset(&group_slot->scratch);
        ALM_TRY(alm_aggs_eval(cx, group_slot->aggs, &group_slot->scratch, batch));
        const uint8_t *mask = masks ? alm_op_scan_mask(input, &kept) : NULL;
        if (mask != NULL)
            ALM_TRY(alm_aggs_update_masked(cx, group_slot->aggs, &group_slot->scratch,
                                           &group->states, morsel, mask, kept, batch->rows));
        else
            ALM_TRY(alm_aggs_update(cx, group_slot->aggs, &group->states, morsel, 0, batch->rows));
    }
}

/* -------------------------------------------------------------------------- block statistics */

/* One argument of a state: a stored column whose statistics serve. */
typedef struct stat_source {
    char kind;    /* '*' rows, 'c' values, 'm' min or max, 's' sum of DOUBLE */
    uint32_t col; /* of the scan */
    alm_type type;
} stat_source;

static bool stats_serve(alm_type type)
{
    const uint8_t id = type.id;
    return id == ALM_T_INT || id == ALM_T_LONG || id == ALM_T_FLOAT || id == ALM_T_DOUBLE ||
           id == ALM_T_DATE || id == ALM_T_TIMESTAMP || id == ALM_T_TIMESTAMP_NS;
}

static bool state_source(const alm_group *group, const alm_agg_state *agg, const alm_plan **scan,
                         stat_source *out)
{
    const alm_agg_call *call = agg->call;
    alm_origin from;
    if (call->filter != NULL || call->distinct || call->n_order > 0)
        return false;
    const bool counts = strcmp(call->fn->name, "count") == 0;
    *out = (stat_source){.kind = '*'};
    if (counts && call->n_args == 0)
        return true;
    const bool extreme = strcmp(call->fn->name, "min") == 0 || strcmp(call->fn->name, "max") == 0;
    const bool sum = agg->ops->fuse == ALM_FUSE_SUM;
    if (call->n_args != 1 || !(counts || extreme || sum) ||
        !alm_origin_of(group->op.plan->child[0], call->args[0], &from) || from.filtered ||
        !stats_serve(call->args[0]->type))
        return false;
    *scan = from.scan;
    *out = (stat_source){.kind = counts ? 'c'
                                 : sum  ? 's'
                                        : 'm',
                         .col = from.scan_col,
                         .type = call->args[0]->type};
    return true;
}

/* All states can be made from statistics; *scan is their table, at least one reads a column. */
static bool find_sources(const alm_group *group, stat_source *source, const alm_plan **scan)
{
    const alm_aggs *aggs = group->own.aggs;
    *scan = NULL;
    for (uint32_t i = 0; i < aggs->n_states; i++)
        if (!state_source(group, &aggs->state[i], scan, &source[i]))
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

static void extreme_values(alm_type type, const alm_col_stats *stats, extremes *out)
{
    if (type.id == ALM_T_DOUBLE) {
        out->f64[0] = stats->min_f;
        out->f64[1] = stats->max_f;
    } else if (type.id == ALM_T_FLOAT) {
        out->f32[0] = (float)stats->min_f;
        out->f32[1] = (float)stats->max_f;
    } else if (type.id == ALM_T_INT) {
        out->i32[0] = (int32_t)stats->min_i;
        out->i32[1] = (int32_t)stats->max_i;
    } else {
        out->i64[0] = stats->min_i;
        out->i64[1] = stats->max_i;
    }
}

static alm_status feed_block(alm_ctx *cx, alm_group *group, uint32_t i, const stat_source *src,
                             const alm_col_stats *stats, int64_t rows)
{
    alm_agg_state *agg = &group->own.aggs->state[i];
    const int64_t values = src->kind == '*' ? rows : stats->rows - stats->nulls;
    if (values == 0)
        return ALM_OK;
    if (src->kind == 's') {
        alm_fsum *sum = (alm_fsum *)(void *)group->states.array[i];
        sum->sum += stats->sum_f;
        sum->count += values;
        return ALM_OK;
    }
    extremes pair = {0};
    alm_vec vec = {.type = src->type, .width = (uint8_t)alm_type_width(src->type), .data = &pair};
    uint64_t n = 2;
    if (src->kind == 'm') {
        extreme_values(src->type, stats, &pair);
    } else {
        vec.is_const = vec.no_nulls = true; /* zeroes: any value that is not null */
        n = (uint64_t)values;
    }
    agg->rt.cx = cx;
    return agg->ops->update(&agg->rt, group->states.array[i], n, &vec);
}

/* Statistics of all columns for the block at `row`; false: not all are there. *left rows. */
static bool group_plain_block_stats(const alm_scan_plan *scan, uint32_t span, int64_t row,
                                    const stat_source *source, uint32_t n_sources,
                                    alm_col_stats *stats, int64_t *left)
{
    bool all = true;
    for (uint32_t i = 0; i < n_sources; i++) {
        if (source[i].kind == '*')
            continue;
        scan->scans->block_stats(scan->scan, span, row, source[i].col, left, &stats[i]);
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

/* Rows [row, row + n_rows) of a span as they are. */
static alm_status feed_rows(alm_ctx *cx, alm_group *group, const stat_reader *in, uint32_t span,
                            int64_t row, int64_t rows)
{
    alm_aggs *aggs = group->own.aggs;
    for (int64_t done = 0; done < rows;) {
        const uint32_t n_rows = (uint32_t)ALM_MIN(rows - done, (int64_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_check(cx));
        ALM_TRY(in->scans->read(cx, in->cursor, span, row + done, n_rows, in->wanted, in->vecs));
        for (uint32_t i = 0; i < aggs->n_states; i++) {
            alm_agg_state *agg = &aggs->state[i];
            agg->rt.cx = cx;
            ALM_TRY(
                agg->ops->update(&agg->rt, group->states.array[i], n_rows,
                                 in->source[i].kind == '*' ? NULL : &in->vecs[in->source[i].col]));
        }
        done += n_rows;
    }
    return ALM_OK;
}

/* Are there few rows that would have to be read? One thread reads them. */
static bool few_without(const alm_scan_plan *scan, const stat_source *source, uint32_t n,
                        alm_col_stats *stats)
{
    enum { READ_MAX = 1 << 20 };
    int64_t without = 0;
    for (uint32_t segment = 0; segment < scan->n_segments; segment++) {
        const alm_scan_segment *seg = &scan->segment[segment];
        for (int64_t row = seg->lo; row < seg->hi;) {
            int64_t left = 0;
            const bool known =
                group_plain_block_stats(scan, seg->span, row, source, n, stats, &left);
            const int64_t rows = ALM_MIN(ALM_MAX(left, 1), seg->hi - row);
            without += known && rows == left ? 0 : rows;
            row += rows;
        }
    }
    return without <= READ_MAX;
}

static alm_status read_stats(alm_ctx *cx, alm_group *group, const alm_scan_plan *scan,
                             const stat_source *source)
{
    const uint32_t n_states = group->own.aggs->n_states;
    alm_col_stats *stats = NULL;
    stat_reader in = {.source = source, .scans = scan->scans};
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_states + 1, &stats));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &in.vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &in.wanted));
    for (uint32_t i = 0; i < n_states; i++)
        if (source[i].kind != '*')
            in.wanted[source[i].col] = true;
    ALM_TRY(scan->scans->cursor_new(cx, cx->arena, scan->scan, &in.cursor));
    for (uint32_t segment = 0; segment < scan->n_segments; segment++) {
        const alm_scan_segment *seg = &scan->segment[segment];
        ALM_TRY(alm_check(cx));
        for (int64_t row = seg->lo; row < seg->hi;) {
            int64_t left = 0;
            const bool known =
                group_plain_block_stats(scan, seg->span, row, source, n_states, stats, &left);
            const int64_t rows = ALM_MIN(ALM_MAX(left, 1), seg->hi - row);
            if (known && rows == left) {
                for (uint32_t i = 0; i < n_states; i++)
                    ALM_TRY(feed_block(cx, group, i, &source[i], &stats[i], rows));
            } else {
                ALM_TRY(feed_rows(cx, group, &in, seg->span, row, rows));
            }
            row += rows;
        }
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------- statistics of files */

/* The scanned source that a column of the input is of, and which of its columns; NULL: of none. */
static const alm_plan *source_of(const alm_plan *plan, const alm_expr *expr, uint32_t *col)
{
    while (plan->op == ALM_P_PROJECT && (expr == NULL || expr->kind == ALM_X_COL)) {
        expr = expr != NULL ? plan->project.expr[expr->col] : NULL;
        plan = plan->child[0];
    }
    if (plan->op != ALM_P_SOURCE || plan->source.all == NULL || plan->source.n_filters > 0 ||
        (expr != NULL && expr->kind != ALM_X_COL))
        return NULL;
    *col = expr != NULL ? expr->col : 0;
    return plan;
}

static bool file_source(const alm_group *group, const alm_agg_state *agg, stat_source *out)
{
    const alm_agg_call *call = agg->call;
    const bool counts = strcmp(call->fn->name, "count") == 0;
    *out = (stat_source){.kind = '*'};
    if (call->filter != NULL || call->distinct || call->n_order > 0)
        return false;
    if (counts && call->n_args == 0)
        return true;
    if (call->n_args != 1 || source_of(group->op.plan->child[0], call->args[0], &out->col) == NULL)
        return false;
    out->type = call->args[0]->type;
    out->kind = counts ? 'c' : 'm';
    if (counts && alm_type_is_text(out->type) && out->type.id != ALM_T_SYMBOL)
        return true;
    return stats_serve(out->type) &&
           (counts || strcmp(call->fn->name, "min") == 0 || strcmp(call->fn->name, "max") == 0);
}

/*
 * Do the statistics say it for sure? A file does not count the values that are null here and none there: NaN and
 * the infinities, the least integer. Of a zero it does not tell the sign.
 */
static bool file_says(const stat_source *src, const alm_col_stats *stats)
{
    const bool real = src->type.id == ALM_T_FLOAT || src->type.id == ALM_T_DOUBLE;
    if (!stats->valid)
        return false;
    if (stats->nulls == stats->rows || alm_type_is_text(src->type))
        return stats->nulls >= 0;
    if (!stats->has_minmax || (src->kind == 'c' && (real || stats->nulls < 0)))
        return false;
    if (real)
        return isfinite(stats->min_f) && isfinite(stats->max_f) && stats->min_f != 0 &&
               stats->max_f != 0;
    return stats->min_i != (src->type.id == ALM_T_INT ? ALM_INT_NULL : ALM_LONG_NULL);
}

/* All parts of the source, or nothing: the states are fed only when `feed`. */
static alm_status walk_parts(alm_ctx *cx, alm_group *group, const alm_plan *from,
                             const alm_source_plan *source_plan, const stat_source *source,
                             bool feed, bool *all)
{
    for (uint32_t part = 0; *all && part < source_plan->parts.n; part++) {
        ALM_TRY(alm_check(cx));
        for (uint32_t i = 0; *all && i < group->own.aggs->n_states; i++) {
            alm_col_stats stats = {0};
            if (source[i].kind != '*')
                source_plan->source->scan->part_stats(from, &source_plan->parts, part,
                                                      source[i].col, &stats);
            if (source[i].kind == 'm' && stats.nulls < 0)
                stats.nulls = 0; /* not known; there is a value */
            if (feed)
                ALM_TRY(
                    feed_block(cx, group, i, &source[i], &stats, source_plan->parts.rows[part]));
            else
                *all = source[i].kind == '*' || file_says(&source[i], &stats);
        }
    }
    return ALM_OK;
}

/* *done: the files have answered. */
static alm_status read_file_stats(alm_ctx *cx, alm_group *group, stat_source *source, bool *done)
{
    const alm_source_plan *source_plan = NULL;
    uint32_t col = 0;
    const alm_plan *from = source_of(group->op.plan->child[0], NULL, &col);
    bool all = from != NULL;
    *done = false;
    for (uint32_t i = 0; all && i < group->own.aggs->n_states; i++)
        all = file_source(group, &group->own.aggs->state[i], &source[i]);
    if (!all)
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, group->op.run, from, &source_plan));
    all = source_plan->source->scan->part_stats != NULL;
    ALM_TRY(walk_parts(cx, group, from, source_plan, source, false, &all));
    if (!all)
        return ALM_OK;
    *done = true;
    ALM_TRY(alm_states_reserve(cx, group->own.aggs, &group->states, &group->own.pool, 1));
    return walk_parts(cx, group, from, source_plan, source, true, &all);
}

/* ---------------------------------------------------------------------------------- the choice */

/* *out: the scan whose statistics answer everything; NULL: rows must be read. */
static alm_status choose_stats(alm_ctx *cx, const alm_group *group, stat_source *source,
                               const alm_scan_plan **out)
{
    const alm_plan *scan = NULL;
    alm_col_stats *stats = NULL;
    const uint32_t n_states = group->own.aggs->n_states;
    *out = NULL;
    if (!alm_pipe_parallel(group->pipe) || !find_sources(group, source, &scan))
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_states + 1, &stats));
    ALM_TRY(alm_op_shared(cx, group->op.run, scan, out));
    if (!few_without(*out, source, n_states, stats))
        *out = NULL;
    return ALM_OK;
}

alm_status alm_group_plain(alm_ctx *cx, alm_group *group)
{
    alm_aggs *aggs = group->own.aggs;
    const uint32_t morsels = alm_pipe_morsels(group->pipe);
    stat_source *source = NULL;
    const alm_scan_plan *stats = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, aggs->n_states + 1, &source));
    bool done = false;
    ALM_TRY(read_file_stats(cx, group, source, &done));
    if (done)
        return ALM_OK;
    ALM_TRY(choose_stats(cx, group, source, &stats));
    const uint32_t groups = stats != NULL ? 1 : ALM_MAX(morsels, 1U);
    ALM_TRY(alm_states_reserve(cx, aggs, &group->states, &group->own.pool, groups));
    if (stats != NULL)
        return read_stats(cx, group, stats, source);
    ALM_TRY(alm_pipe_run(cx, group->pipe, 0, morsels, group_plain_take_morsel, group));
    for (uint32_t m = 1; m < morsels; m++)
        ALM_TRY(alm_aggs_merge(cx, aggs, &group->states, 0, NULL, &group->states, m, 1));
    return ALM_OK;
}
