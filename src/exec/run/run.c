/*
 * run.c - the tree of operators of one execution: construction from the plan, the wrapped calls
 * (cancel check, EXPLAIN ANALYZE figures), shared state per plan node.
 */
#include <time.h>

#include "exec/run/op.h"

const alm_op_kind *alm_op_kind_of(const alm_run *run, alm_plan_op op)
{
    ALM_ASSERT(run->kinds != NULL && (uint32_t)op < ALM_PLAN_OP_COUNT);
    return run->kinds[op].make != NULL ? &run->kinds[op] : NULL;
}

alm_status alm_op_init(alm_ctx *cx, alm_op *op, const alm_op_vt *vt, alm_run *run,
                       const alm_plan *plan, alm_pipe *pipe)
{
    op->vt = vt;
    op->plan = plan;
    op->run = run;
    op->pipe = pipe;
    alm_arena_init(&op->batch, cx->mem);
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &op->out.cols));
    op->out.n_cols = plan->n_cols;
    return ALM_OK;
}

alm_mem *alm_run_enter(alm_ctx *cx, alm_run *run, const alm_plan *plan)
{
    alm_mem *before = cx->mem;
    if (run->env.analyze)
        cx->mem = &run->node[plan->id].mem;
    return before;
}

alm_status alm_op_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe, alm_op **out)
{
    const alm_op_kind *kind = alm_op_kind_of(run, plan->op);
    if (kind == NULL)
        return alm_fail(cx, ALM_E_UNSUPPORTED, plan->pos, "this kind of query is not supported");
    alm_mem *before = alm_run_enter(cx, run, plan);
    const alm_status status = kind->make(cx, run, plan, pipe, out);
    cx->mem = before;
    return status;
}

alm_status alm_op_child(alm_ctx *cx, alm_op *op, uint32_t i)
{
    const alm_op_kind *kind = alm_op_kind_of(op->run, op->plan->op);
    ALM_ASSERT(i < op->plan->n_children && i < ALM_OP_CHILDREN_MAX && kind != NULL);
    const bool driven = kind->drive != NULL && kind->drive(op->plan) == (int32_t)i;
    ALM_TRY(alm_op_new(cx, op->run, op->plan->child[i], driven ? op->pipe : NULL, &op->child[i]));
    op->child[i]->parent = op;
    return ALM_OK;
}

int64_t alm_thread_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static alm_status next_counted(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    alm_op_node *node = &op->run->node[op->plan->id];
    const int64_t before_ns = alm_thread_cpu_ns();
    op->child_ns = 0;
    alm_mem *before = alm_run_enter(cx, op->run, op->plan);
    const alm_status status = op->vt->next(cx, op, out);
    cx->mem = before;
    const int64_t spent_ns = alm_thread_cpu_ns() - before_ns;
    if (op->parent != NULL)
        op->parent->child_ns += spent_ns;
    const int64_t own_ns = spent_ns - op->child_ns;
    atomic_fetch_add_explicit(&node->cpu_ns, own_ns > 0 ? own_ns : 0, memory_order_relaxed);
    if (status == ALM_OK && *out != NULL) {
        atomic_fetch_add_explicit(&node->rows, (*out)->rows, memory_order_relaxed);
        atomic_fetch_add_explicit(&node->batches, 1, memory_order_relaxed);
    }
    return status;
}

/* The columns of a batch are those of the plan: debug builds look. */
static void check_batch(const alm_op *op, const alm_batch *batch)
{
#ifdef ALM_DEBUG
    ALM_ASSERT(batch->n_cols == op->plan->n_cols);
    for (uint32_t i = 0; i < batch->n_cols; i++)
        ALM_ASSERT(alm_type_eq(batch->cols[i].type, op->plan->cols[i].type));
#else
    (void)op;
    (void)batch;
#endif
}

alm_status alm_op_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    ALM_TRY(alm_check(cx));
    const alm_status status =
        op->run->env.analyze ? next_counted(cx, op, out) : op->vt->next(cx, op, out);
    if (status == ALM_OK && *out != NULL)
        check_batch(op, *out);
    return status;
}

alm_status alm_op_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    if (op->vt->start != NULL)
        return op->vt->start(cx, op, morsel);
    const alm_op_kind *kind = alm_op_kind_of(op->run, op->plan->op);
    ALM_ASSERT(kind != NULL && kind->drive != NULL);
    const int32_t i = kind->drive(op->plan);
    ALM_ASSERT(i >= 0);
    return alm_op_start(cx, op->child[i], morsel);
}

void alm_op_hint(alm_op *op, int64_t rows)
{
    if (op->vt->hint != NULL)
        op->vt->hint(op, rows);
}

int64_t alm_op_count(alm_ctx *cx, alm_op *op)
{
    return op->vt->count != NULL ? op->vt->count(cx, op) : -1;
}

bool alm_op_skip(alm_op *op, int64_t rows)
{
    ALM_ASSERT(rows >= 0);
    return op->vt->skip != NULL && op->vt->skip(op, rows);
}

void alm_op_close(alm_op *op)
{
    if (op == NULL)
        return;
    for (uint32_t i = 0; i < ALM_OP_CHILDREN_MAX; i++)
        alm_op_close(op->child[i]);
    if (op->vt->close != NULL)
        op->vt->close(op);
    alm_arena_deinit(&op->batch);
}

/* Inside a pipe the arena at hand goes with the pipe, while the input may be opened once more. */
static alm_status exec_run_prepare(alm_ctx *cx, alm_run *run, alm_op_node *node,
                                   const alm_plan *plan)
{
    alm_arena *const at_hand = cx->arena;
    alm_mem *before = alm_run_enter(cx, run, plan);
    if (at_hand != run->arena) {
        if (node->own.block == NULL)
            alm_arena_init(&node->own, cx->mem);
        cx->arena = &node->own;
    }
    const alm_status status = alm_op_kind_of(run, plan->op)->prepare(cx, run, plan, &node->shared);
    cx->arena = at_hand;
    cx->mem = before;
    return status;
}

alm_status alm_op_shared(alm_ctx *cx, alm_run *run, const alm_plan *plan, void *out)
{
    ALM_ASSERT(plan->id < run->n_nodes);
    alm_op_node *node = &run->node[plan->id];
    const alm_op_kind *kind = alm_op_kind_of(run, plan->op);
    ALM_ASSERT(kind != NULL && kind->prepare != NULL);
    if (!node->prepared) {
        ALM_TRY(exec_run_prepare(cx, run, node, plan));
        node->prepared = true;
    }
    memcpy(out, &node->shared, sizeof node->shared);
    return ALM_OK;
}

void alm_op_count_bytes(alm_run *run, const alm_plan *plan, int64_t bytes)
{
    if (run->env.analyze)
        atomic_fetch_add_explicit(&run->node[plan->id].bytes, bytes, memory_order_relaxed);
}
