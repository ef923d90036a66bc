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
    alm_exec *exec = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &exec));
    exec->run.env = *env;
    if (env->scans == NULL)
        exec->run.env.scans = &alm_storage_scans;
    exec->run.plan = plan;
    exec->run.kinds = alm_op_table();
    exec->run.arena = cx->arena;
    exec->run.n_nodes = max_id(plan) + 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, exec->run.n_nodes, &exec->run.node));
    for (uint32_t i = 0; i < exec->run.n_nodes; i++)
        exec->run.node[i].mem = (alm_mem){.parent = cx->mem, .name = "query"};
    place_nodes(&exec->run, plan);
    const alm_status status = alm_op_new(cx, &exec->run, plan, NULL, &exec->root);
    if (status != ALM_OK) {
        alm_exec_close(exec);
        return status;
    }
    *out = exec;
    return ALM_OK;
}

#ifdef ALM_DEBUG
/* Rows come in the order the plan promises. */
static void exec_check_order(alm_exec *exec, const alm_batch *batch)
{
    const alm_plan *plan = exec->run.plan;
    if (plan->order == ALM_ORDER_NONE || plan->ts_col < 0)
        return;
    const alm_vec *ts = &batch->cols[plan->ts_col];
    for (uint32_t i = 0; i < batch->rows; i++) {
        const int64_t now = ((const int64_t *)ts->data)[ts->is_const ? 0 : i];
        if (now == INT64_MIN)
            continue; /* nulls are at one end or the other */
        ALM_ASSERT(!exec->has_last || now == exec->last ||
                   (now > exec->last) == (plan->order == ALM_ORDER_ASC));
        exec->last = now;
        exec->has_last = true;
    }
}
#endif

alm_status alm_exec_next(alm_ctx *cx, alm_exec *exec, alm_batch **out)
{
    alm_batch *batch = NULL;
    *out = NULL;
    if (exec->ended)
        return ALM_OK;
    do {
        ALM_TRY(alm_op_next(cx, exec->root, &batch));
    } while (batch != NULL && batch->rows == 0);
    exec->ended = batch == NULL;
    if (batch == NULL)
        return ALM_OK;
    for (uint32_t i = 0; i < batch->n_cols; i++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &exec->root->batch, batch, i, &dense));
    }
    batch->sel = NULL;
#ifdef ALM_DEBUG
    exec_check_order(exec, batch);
#endif
    *out = batch;
    return ALM_OK;
}

void alm_exec_close(alm_exec *exec)
{
    if (exec == NULL)
        return;
    alm_op_close(exec->root);
    exec->root = NULL;
    exec->ended = true;
    for (uint32_t i = 0; i < exec->run.n_nodes; i++) {
        alm_op_node *node = &exec->run.node[i];
        const alm_op_kind *kind =
            node->plan != NULL ? alm_op_kind_of(&exec->run, node->plan->op) : NULL;
        if (node->prepared && kind != NULL && kind->unprepare != NULL)
            kind->unprepare(node->shared);
        node->prepared = false;
        alm_arena_deinit(&node->own);
    }
}

const alm_op_stats *alm_exec_stats(const alm_exec *exec, uint32_t node_id)
{
    if (node_id >= exec->run.n_nodes)
        return NULL;
    alm_op_node *node = &exec->run.node[node_id];
    node->stats = (alm_op_stats){.rows = atomic_load(&node->rows),
                                 .batches = atomic_load(&node->batches),
                                 .cpu_ns = ALM_MAX(atomic_load(&node->cpu_ns), INT64_C(0)),
                                 .bytes = atomic_load(&node->bytes),
                                 .peak_bytes = atomic_load(&node->mem.peak_bytes)};
    return &node->stats;
}
