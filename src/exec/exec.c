/*
 * exec.c - one execution of a plan from open to close: the root operator, dense results, figures.
 */
#include "exec/exec.h"

#include "exec/op_table.h"

struct alm_exec {
    alm_run run;
    alm_op *root;
    alm_ctx *cx;
    bool ended;
#ifdef ALM_DEBUG
    bool has_last;
    int64_t last; /* timestamp of the row given last */
#endif
};

static uint32_t max_id(const alm_plan *plan)
{
    uint32_t id = alm_plan_lists(plan) ? max_id(plan->shared.of) : plan->id;
    for (uint32_t i = 0; i < plan->n_children; i++) {
        const uint32_t below =
            max_id(plan->child[i]); /* once: the macro takes its arguments twice */
        id = ALM_MAX(id, below);
    }
    return id;
}

static void place_nodes(alm_run *run, const alm_plan *plan)
{
    run->node[plan->id].plan = plan;
    if (alm_plan_lists(plan))
        place_nodes(run, plan->shared.of);
    for (uint32_t i = 0; i < plan->n_children; i++)
        place_nodes(run, plan->child[i]);
}

alm_status alm_exec_open(alm_ctx *cx, const alm_plan *plan, const alm_exec_env *env, alm_exec **out)
{
    alm_exec *ex = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &ex));
    ex->run.env = *env;
    if (env->scans == NULL)
        ex->run.env.scans = &alm_storage_scans;
    ex->run.plan = plan;
    ex->run.kinds = alm_op_table();
    ex->run.arena = cx->arena;
    ex->run.n_nodes = max_id(plan) + 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, ex->run.n_nodes, &ex->run.node));
    for (uint32_t i = 0; i < ex->run.n_nodes; i++)
        ex->run.node[i].mem = (alm_mem){.parent = cx->mem, .name = "query"};
    place_nodes(&ex->run, plan);
    const alm_status st = alm_op_new(cx, &ex->run, plan, NULL, &ex->root);
    if (st != ALM_OK) {
        alm_exec_close(ex);
        return st;
    }
    *out = ex;
    return ALM_OK;
}

#ifdef ALM_DEBUG
/* Rows come in the order the plan promises. */
static void check_order(alm_exec *ex, const alm_batch *batch)
{
    const alm_plan *plan = ex->run.plan;
    if (plan->order == ALM_ORDER_NONE || plan->ts_col < 0)
        return;
    const alm_vec *ts = &batch->cols[plan->ts_col];
    for (uint32_t i = 0; i < batch->rows; i++) {
        const int64_t now = ((const int64_t *)ts->data)[ts->is_const ? 0 : i];
        if (now == INT64_MIN)
            continue; /* nulls are at one end or the other */
        ALM_ASSERT(!ex->has_last || now == ex->last ||
                   (now > ex->last) == (plan->order == ALM_ORDER_ASC));
        ex->last = now;
        ex->has_last = true;
    }
}
#endif

alm_status alm_exec_next(alm_ctx *cx, alm_exec *ex, alm_batch **out)
{
    alm_batch *batch = NULL;
    *out = NULL;
    if (ex->ended)
        return ALM_OK;
    do {
        ALM_TRY(alm_op_next(cx, ex->root, &batch));
    } while (batch != NULL && batch->rows == 0);
    ex->ended = batch == NULL;
    if (batch == NULL)
        return ALM_OK;
    for (uint32_t i = 0; i < batch->n_cols; i++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &ex->root->batch, batch, i, &dense));
    }
    batch->sel = NULL;
#ifdef ALM_DEBUG
    check_order(ex, batch);
#endif
    *out = batch;
    return ALM_OK;
}

void alm_exec_close(alm_exec *ex)
{
    if (ex == NULL)
        return;
    alm_op_close(ex->root);
    ex->root = NULL;
    ex->ended = true;
    for (uint32_t i = 0; i < ex->run.n_nodes; i++) {
        alm_op_node *node = &ex->run.node[i];
        const alm_op_kind *kind =
            node->plan != NULL ? alm_op_kind_of(&ex->run, node->plan->op) : NULL;
        if (node->prepared && kind != NULL && kind->unprepare != NULL)
            kind->unprepare(node->shared);
        node->prepared = false;
        alm_arena_deinit(&node->own);
    }
}

const alm_op_stats *alm_exec_stats(const alm_exec *ex, uint32_t node_id)
{
    if (node_id >= ex->run.n_nodes)
        return NULL;
    alm_op_node *node = &ex->run.node[node_id];
    node->stats = (alm_op_stats){.rows = atomic_load(&node->rows),
                                 .batches = atomic_load(&node->batches),
                                 .cpu_ns = ALM_MAX(atomic_load(&node->cpu_ns), INT64_C(0)),
                                 .bytes = atomic_load(&node->bytes),
                                 .peak_bytes = atomic_load(&node->mem.peak_bytes)};
    return &node->stats;
}
