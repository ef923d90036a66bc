/*
 * sample.c - SAMPLE: one row per time bucket and key, with aggregates.
 */
#include <inttypes.h>
#include <math.h>

#include "sql/node/aggs.h"
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"
#include "sql/node/walk.h"

static bool sample_groups(alm_plan *plan, alm_node_groups *out)
{
    *out = (alm_node_groups){.first = 1,
                             .keys = plan->sample.keys,
                             .n_keys = plan->sample.n_keys,
                             .aggs = plan->sample.aggs,
                             .n_aggs = plan->sample.n_aggs};
    return true;
}

static alm_status sample_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    ALM_TRY(alm_list_exprs(plan->sample.keys, plan->sample.n_keys, visit, arg));
    return alm_aggs_exprs(plan->sample.aggs, plan->sample.n_aggs, visit, arg);
}

static alm_status sample_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->sample.keys, plan->sample.n_keys);
    ALM_COPY_LIST(plan->sample.fill, plan->sample.n_aggs);
    return alm_copy_aggs(p, &plan->sample.aggs, plan->sample.n_aggs);
}

static uint32_t sample_width(const alm_plan *plan)
{
    return 1 + plan->sample.n_keys + plan->sample.n_aggs;
}

static alm_status sample_check(alm_checking *checking)
{
    return alm_check_time(checking, checking->node->sample.ts_col);
}

static alm_status sample_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_sample_spec *sample_spec = &plan->sample;
    const alm_type ts_type = plan->cols[0].type;
    ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " %" PRId64 "%c", sample_spec->count,
                           sample_spec->unit));
    if (sample_spec->backward)
        ALM_TRY(alm_print(printer, " newest first"));
    if (sample_spec->first_observation)
        ALM_TRY(alm_print(printer, " from first observation"));
    if (sample_spec->zone != NULL)
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " zone %s", sample_spec->zone));
    if (sample_spec->offset != 0)
        ALM_TRY(
            alm_buf_printf(printer->cx, &printer->buf, " offset %" PRId64, sample_spec->offset));
    if (sample_spec->has_from) {
        ALM_TRY(alm_print(printer, " from "));
        ALM_TRY(alm_print_time(printer, sample_spec->from, ts_type));
    }
    if (sample_spec->has_to) {
        ALM_TRY(alm_print(printer, " to "));
        ALM_TRY(alm_print_time(printer, sample_spec->to, ts_type));
    }
    ALM_TRY(
        alm_print_keys(printer, " keys: ", sample_spec->keys, sample_spec->n_keys, plan->child[0]));
    ALM_TRY(alm_print(printer, " values: "));
    ALM_TRY(alm_print_aggs(printer, sample_spec->aggs, sample_spec->n_aggs, plan->child[0]));
    if (sample_spec->fill == NULL)
        return ALM_OK;
    ALM_TRY(alm_print(printer, " fill: "));
    for (uint32_t i = 0; i < sample_spec->n_aggs; i++) {
        if (i > 0)
            ALM_TRY(alm_print(printer, ", "));
        const char kind = sample_spec->fill[i].kind;
        if (kind == 'v')
            ALM_TRY(alm_print_const(printer, sample_spec->fill[i].value));
        else
            ALM_TRY(alm_print(printer,
                              kind == 'N' ? "null"
                              : kind == 'p'
                                  ? (sample_spec->fill[i].prev == 0 ? "prev" : "prev of another")
                              : kind == 'l' ? "linear"
                                            : "none"));
    }
    return ALM_OK;
}

static double sample_most_rows(const alm_plan *plan, const double rows[2], double *pairs)
{
    if (plan->sample.fill == NULL)
        return rows[0];
    *pairs = INFINITY; /* between two rows are as many buckets as the clock has moments */
    return INFINITY;
}

static bool sample_reverse(alm_plan *plan, bool turn)
{
    const bool can = alm_sample_turns(&plan->sample);
    if (turn && can)
        plan->sample.backward = !plan->sample.backward;
    return can;
}

static alm_status sample_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                               uint32_t **map)
{
    alm_plan *plan = *slot;
    alm_agg_list list = {.first = 1 + plan->sample.n_keys,
                         .aggs = plan->sample.aggs,
                         .n_aggs = &plan->sample.n_aggs,
                         .fill = plan->sample.fill,
                         .keep_one = true};
    uint32_t *below = NULL;
    ALM_TRY(alm_prune_aggs(planner, plan, need, &list, map));
    ALM_TRY(alm_prune_under_aggs(planner, plan, plan->sample.ts_col, &below));
    plan->sample.ts_col = below[plan->sample.ts_col];
    return ALM_OK;
}

static alm_status sample_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                              alm_exprs *stay)
{
    /* the first row of all keys says where buckets begin, and how far to fill */
    const bool apart = plan->sample.fill == NULL && !plan->sample.first_observation;
    return alm_push_keys(planner, plan, in, 1, plan->sample.keys, apart ? plan->sample.n_keys : 0,
                         stay);
}

static alm_status sample_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *sample = *plan;
    uint32_t n_before = 0;
    const uint32_t place = 1 + sample->sample.n_keys;
    const bool whole = sample->sample.fill != NULL || sample->sample.first_observation;
    if (whole && alm_plan_is_dependent(sample->child[0])) /* the range is that of its own rows */
        return alm_dep_too_hard(dep, sample,
                                "SAMPLE BY with FILL or ALIGN TO FIRST OBSERVATION over rows "
                                "that follow from them");
    ALM_TRY(alm_dep_push_child(dep, sample, carried, &n_before));
    ALM_TRY(alm_dep_with_keys(dep->p, sample->child[0], n_before, carried->n, &sample->sample.keys,
                              &sample->sample.n_keys));
    ALM_TRY(alm_dep_insert_cols(dep->p, sample, place, sample->child[0], n_before, carried->n));
    return alm_dep_move_to_end(dep->p, plan, place, carried->n);
}

static alm_status sample_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    /* the keys are behind the time of the bucket */
    return alm_range_keys(planner, plan, plan->sample.keys, plan->sample.n_keys, used + 1);
}

const alm_node_ops alm_node_sample = {
    .pg_name = "Sample",
    .n_children = 1,
    .flags = ALM_NODE_ORDERED_INPUT | ALM_NODE_FAST | ALM_NODE_HEAVY | ALM_NODE_REDUCES |
             ALM_NODE_OPEN | ALM_NODE_REFRESHABLE,
    .groups = sample_groups,
    .exprs = sample_exprs,
    .copy = sample_copy,
    .width = sample_width,
    .check = sample_check,
    .explain = sample_explain,
    .most_rows = sample_most_rows,
    .reverse = sample_reverse,
    .prune = sample_prune,
    .push = sample_push,
    .decorrelate = sample_decorrelate,
    .range = sample_range,
};
