/*
 * branch.c - see branch.h.
 *
 * Branch 0 gives the groups: it has the other aggregates, or, without any, the first count_distinct. The
 * counts of the other branches are kept in arrays beside a map of their keys; a batch of branch 0 looks
 * its keys up.
 */
#include "exec/group/branch.h"

#include "exec/group/group.h"
#include "exec/group/part.h"
#include "exec/run/op_make.h"

typedef struct branch {
    alm_plan plan;
    alm_op *group;  /* has run */
    alm_op *reader; /* of branch 0 */
    alm_keymap *map;
    int64_t *count; /* per key of the map; n_aggs are the same count_distinct */
    uint32_t n, cap;
} branch;

typedef struct group_branches {
    alm_op op;
    branch *branch;
    uint32_t n_branches;
    uint32_t *of_agg, *col_of_agg; /* by aggregate: its branch, and its column there */
    alm_pool pool;
    uint32_t *number;
    bool read;
} group_branches;

/* ----------------------------------------------------------------------------------- plans */

static bool is_count_distinct(const alm_agg_call *call)
{
    return strcmp(call->fn->name, "count_distinct") == 0 && call->n_args == 1 &&
           call->filter == NULL && !call->distinct && call->n_order == 0 &&
           call->type.id == ALM_T_LONG;
}

static bool over_scan(const alm_plan *plan)
{
    while (plan->op == ALM_P_PROJECT || plan->op == ALM_P_FILTER)
        plan = plan->child[0];
    return plan->op == ALM_P_SCAN;
}

static bool any_volatile(const alm_plan *plan)
{
    for (; plan->op != ALM_P_SCAN; plan = plan->child[0]) {
        alm_expr *const *exprs =
            plan->op == ALM_P_PROJECT ? plan->project.expr : plan->filter.conjunct;
        const uint32_t n = plan->op == ALM_P_PROJECT ? plan->n_cols : plan->filter.n;
        for (uint32_t i = 0; i < n; i++)
            if (alm_eval_expr_volatile(exprs[i]))
                return true;
    }
    for (uint32_t i = 0; i < plan->scan.n_filters; i++)
        if (alm_eval_expr_volatile(plan->scan.filter[i]))
            return true;
    return false;
}

bool alm_group_branches(const alm_run *run, const alm_plan *plan)
{
    const alm_agg_call *first = NULL;
    bool other = false;
    if (run->env.registry == NULL || !over_scan(plan->child[0]) || any_volatile(plan->child[0]))
        return false;
    for (uint32_t i = 0; i < plan->group.n_aggs; i++) {
        const alm_agg_call *call = &plan->group.aggs[i];
        for (uint32_t arg = 0; arg < call->n_args; arg++)
            if (alm_eval_expr_volatile(call->args[arg]))
                return false;
        if (!is_count_distinct(call))
            other = true;
        else if (first == NULL)
            first = call;
        else
            other |= !alm_eval_expr_equal(call->args[0], first->args[0]);
    }
    for (uint32_t key = 0; key < plan->group.n_keys; key++)
        if (alm_eval_expr_volatile(plan->group.keys[key]))
            return false;
    return first != NULL && other;
}

/* The branch of an aggregate, a new one if it is the first of its kind. */
static uint32_t find_branch(const group_branches *branches, const alm_agg_call *call)
{
    const bool counts = is_count_distinct(call);
    for (uint32_t i = 0; i < branches->n_branches; i++) {
        const alm_agg_call *first = &branches->branch[i].plan.group.aggs[0];
        if (counts != is_count_distinct(first))
            continue;
        if (!counts || alm_eval_expr_equal(call->args[0], first->args[0]))
            return i;
    }
    return branches->n_branches;
}

static alm_status add_to_branch(alm_ctx *cx, group_branches *branches, uint32_t agg)
{
    const alm_plan *plan = branches->op.plan;
    const uint32_t place = find_branch(branches, &plan->group.aggs[agg]), keys = plan->group.n_keys;
    alm_plan *to = &branches->branch[place].plan;
    if (place == branches->n_branches) {
        branches->n_branches++;
        *to = *plan;
        to->group.n_aggs = 0;
        ALM_TRY(ALM_NEWN(cx, cx->arena, plan->group.n_aggs, &to->group.aggs));
        ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols, &to->cols));
        memcpy(to->cols, plan->cols, keys * sizeof *to->cols);
    }
    const uint32_t n = to->group.n_aggs++;
    to->group.aggs[n] = plan->group.aggs[agg];
    to->cols[keys + n] = plan->cols[keys + agg];
    to->n_cols = keys + n + 1;
    branches->of_agg[agg] = place;
    branches->col_of_agg[agg] = keys + n;
    return ALM_OK;
}

/* The other aggregates first. */
static alm_status cut_plan(alm_ctx *cx, group_branches *branches)
{
    const uint32_t n_aggs = branches->op.plan->group.n_aggs;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_aggs, &branches->branch));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_aggs, &branches->of_agg));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_aggs, &branches->col_of_agg));
    for (uint32_t i = 0; i < n_aggs; i++)
        if (!is_count_distinct(&branches->op.plan->group.aggs[i]))
            ALM_TRY(add_to_branch(cx, branches, i));
    for (uint32_t i = 0; i < n_aggs; i++)
        if (is_count_distinct(&branches->op.plan->group.aggs[i]))
            ALM_TRY(add_to_branch(cx, branches, i));
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- reading */

/* Keys and counts of a finished branch into its map; its states are given back. */
static alm_status keep_counts(alm_ctx *cx, group_branches *branches, branch *self)
{
    const uint32_t n_keys = branches->op.plan->group.n_keys;
    alm_type *types = NULL;
    alm_op *reader = NULL;
    alm_status status = ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &types));
    for (uint32_t key = 0; key < n_keys; key++)
        types[key] = branches->op.plan->group.keys[key]->type;
    ALM_TRY(alm_keymap_new(cx, &branches->pool, types, n_keys, &self->map));
    ALM_TRY(alm_group_part_new(cx, branches->op.run, self->group, NULL, &reader));
    self->reader = reader; /* closed with the operator, whatever happens */
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_check(cx));
        status = reader->vt->next(cx, reader, &batch);
        if (status != ALM_OK || batch == NULL)
            break;
        if (self->n + batch->rows > self->cap) {
            const uint32_t cap = 2 * (self->n + batch->rows);
            ALM_TRY(alm_pool_grow(cx, &branches->pool, &self->count,
                                  (size_t)self->n * sizeof *self->count,
                                  (size_t)cap * sizeof *self->count));
            self->cap = cap;
        }
        if (n_keys > 0) /* every key once: numbers go on */
            ALM_TRY(alm_keymap_add(cx, self->map, batch->cols, batch->rows, branches->number));
        memcpy(self->count + self->n, batch->cols[n_keys].data, batch->rows * sizeof *self->count);
        self->n += batch->rows;
    }
    ALM_TRY(status);
    alm_op_close(self->reader);
    alm_op_close(self->group);
    self->reader = self->group = NULL;
    return ALM_OK;
}

static alm_status read_branches(alm_ctx *cx, group_branches *branches)
{
    for (uint32_t i = branches->n_branches; i-- > 0;) { /* branch 0 last: it stays */
        branch *br = &branches->branch[i];
        ALM_TRY(alm_group_run(cx, branches->op.run, &br->plan, &br->group));
        if (i > 0)
            ALM_TRY(keep_counts(cx, branches, br));
    }
    return alm_group_part_new(cx, branches->op.run, branches->branch[0].group, NULL,
                              &branches->branch[0].reader);
}

/* Counts of a branch for the keys of a batch. */
static alm_status group_branch_look_up(alm_ctx *cx, group_branches *branches, branch *self,
                                       const alm_batch *batch, alm_vec *out)
{
    const uint32_t n_rows = batch->rows;
    int64_t *dest = NULL;
    ALM_TRY(alm_vec_new(cx, &branches->op.batch, ALM_TY(LONG), n_rows, out));
    dest = out->data;
    if (branches->op.plan->group.n_keys == 0)
        memset(branches->number, 0, n_rows * sizeof *branches->number);
    else
        ALM_TRY(alm_keymap_find(cx, self->map, batch->cols, n_rows, branches->number));
    for (uint32_t i = 0; i < n_rows; i++)
        dest[i] = branches->number[i] < self->n ? self->count[branches->number[i]] : 0;
    return ALM_OK;
}

static alm_status branches_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    group_branches *branches = (group_branches *)op;
    const uint32_t n_keys = op->plan->group.n_keys;
    alm_batch *batch = NULL;
    *out = NULL;
    if (!branches->read)
        ALM_TRY(read_branches(cx, branches));
    branches->read = true;
    alm_arena_reset(&op->batch);
    ALM_TRY(branches->branch[0].reader->vt->next(cx, branches->branch[0].reader, &batch));
    if (batch == NULL)
        return ALM_OK;
    for (uint32_t key = 0; key < n_keys; key++)
        op->out.cols[key] = batch->cols[key];
    for (uint32_t i = 0; i < op->plan->group.n_aggs; i++) {
        alm_vec *col = &op->out.cols[n_keys + i];
        if (branches->of_agg[i] == 0)
            *col = batch->cols[branches->col_of_agg[i]];
        else
            ALM_TRY(group_branch_look_up(cx, branches, &branches->branch[branches->of_agg[i]],
                                         batch, col));
    }
    op->out.rows = batch->rows;
    *out = &op->out;
    return ALM_OK;
}

static void branches_close(alm_op *op)
{
    group_branches *branches = (group_branches *)op;
    for (uint32_t i = 0; i < branches->n_branches; i++) {
        alm_op_close(branches->branch[i].reader);
        alm_op_close(branches->branch[i].group);
    }
    alm_pool_deinit(&branches->pool);
}

static const alm_op_vt branches_vt = {
    .name = "group by", .next = branches_next, .close = branches_close};

alm_status alm_group_branch_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_op **out)
{
    group_branches *branches = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &branches));
    ALM_TRY(alm_op_init(cx, &branches->op, &branches_vt, run, plan, NULL));
    alm_pool_init(&branches->pool, cx->mem, "group by");
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &branches->number));
    ALM_TRY(cut_plan(cx, branches));
    *out = &branches->op;
    return ALM_OK;
}
