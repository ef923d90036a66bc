/*
 * pipe.c - parallel input: a chain of streaming operators over a scan, copied per thread, run morsel
 * by morsel. See op.h.
 *
 * Threads     The copies are made by the threads that use them, on first use. Prepared state is made
 *             before, by the thread that calls alm_pipe_new.
 * Order       Bodies run in any order; whoever needs order stores results by morsel number.
 */
#include <time.h>

#include "exec/run/op.h"
#include "exec/run/scan_plan.h"
#include "exec/run/source_scan.h"

typedef struct pipe_slot {
    alm_ctx cx;
    alm_arena arena;
    alm_op *top;
    alm_op meter; /* parent of top: takes the time spent below, for EXPLAIN ANALYZE */
    bool ready;
} pipe_slot;

struct alm_pipe {
    alm_run *run;
    const alm_plan *top;
    const alm_plan *consumer;
    const alm_scan_plan *scan; /* one of the three, or serial */
    const alm_source_plan *parts;
    alm_op *source; /* a complete operator, read in parts */
    const alm_op_parts *source_parts;
    pipe_slot *slot;
    uint32_t n_slots;
    alm_mem *mem;
};

/* ----------------------------------------------------------------------- is it a pipeline? */

static bool exprs_volatile(alm_expr *const *exprs, uint32_t n_exprs)
{
    for (uint32_t i = 0; i < n_exprs; i++)
        if (alm_eval_expr_volatile(exprs[i]))
            return true;
    return false;
}

/* Random numbers and sequences depend on the order of evaluation: they keep a plan serial. */
static bool node_volatile(const alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN)
        return exprs_volatile(plan->scan.filter, plan->scan.n_filters);
    if (plan->op == ALM_P_SOURCE)
        return exprs_volatile(plan->source.filter, plan->source.n_filters);
    if (plan->op == ALM_P_FILTER)
        return exprs_volatile(plan->filter.conjunct, plan->filter.n);
    if (plan->op == ALM_P_PROJECT)
        return exprs_volatile(plan->project.expr, plan->n_cols);
    if (plan->op == ALM_P_JOIN)
        return exprs_volatile(plan->join.left_keys, plan->join.n_keys) ||
               exprs_volatile(plan->join.residual, plan->join.n_residual);
    if (plan->op == ALM_P_WINDOW_JOIN) {
        bool any = exprs_volatile(plan->winjoin.left_keys, plan->winjoin.n_keys);
        for (uint32_t agg = 0; agg < plan->winjoin.n_aggs; agg++)
            any |= exprs_volatile(plan->winjoin.aggs[agg].args, plan->winjoin.aggs[agg].n_args);
        return any;
    }
    return false;
}

static const alm_plan *driving_child(const alm_run *run, const alm_plan *plan)
{
    const alm_op_kind *kind = alm_op_kind_of(run, plan->op);
    if (kind == NULL || kind->drive == NULL)
        return NULL;
    const int32_t i = kind->drive(plan);
    return i < 0 ? NULL : plan->child[i];
}

/* The parts of the result of `plan` if that can be read in parts (a GROUP BY with keys), or NULL. */
static const alm_op_parts *parts_of(const alm_run *run, const alm_plan *plan)
{
    const alm_op_kind *kind = alm_op_kind_of(run, plan->op);
    return kind != NULL && kind->parts != NULL && kind->parts->applies(run, plan) ? kind->parts
                                                                                  : NULL;
}

/* The scan, or the operator whose result is read in parts, at the bottom of a chain of streaming operators, or NULL. */
static const alm_plan *pipeline_bottom(const alm_run *run, const alm_plan *top)
{
    for (const alm_plan *plan = top; plan != NULL; plan = driving_child(run, plan)) {
        if (node_volatile(plan))
            return NULL;
        if (plan->op == ALM_P_SCAN || (plan->op == ALM_P_SOURCE && plan->source.all != NULL))
            return plan;
        if (parts_of(run, plan) != NULL)
            return plan;
    }
    return NULL;
}

static alm_status prepare_chain(alm_ctx *cx, alm_run *run, const alm_plan *top)
{
    for (const alm_plan *plan = top; plan != NULL; plan = driving_child(run, plan)) {
        void *shared = NULL;
        if (alm_op_kind_of(run, plan->op)->prepare != NULL)
            ALM_TRY(alm_op_shared(cx, run, plan, &shared));
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- life cycle */

/* Analyzed, its time and memory are its own, not those of the consumer that makes the pipe. */
static alm_status run_source(alm_ctx *cx, alm_pipe *pipe, const alm_plan *source)
{
    alm_run *run = pipe->run;
    alm_mem *before = alm_run_enter(cx, run, source);
    const int64_t start_ns = run->env.analyze ? alm_thread_cpu_ns() : 0;
    const alm_status status = pipe->source_parts->complete(cx, run, source, &pipe->source);
    cx->mem = before;
    if (run->env.analyze) {
        const int64_t spent_ns = alm_thread_cpu_ns() - start_ns;
        atomic_fetch_add_explicit(&run->node[source->id].cpu_ns, spent_ns, memory_order_relaxed);
        if (pipe->consumer != NULL)
            atomic_fetch_sub_explicit(&run->node[pipe->consumer->id].cpu_ns, spent_ns,
                                      memory_order_relaxed);
    }
    if (status !=
        ALM_OK) { /* the caller does not free a pipe whose construction failed, so close its source here */
        alm_op_close(pipe->source);
        pipe->source = NULL;
    }
    return status;
}

alm_status alm_pipe_new(alm_ctx *cx, alm_run *run, const alm_plan *top, const alm_plan *consumer,
                        alm_pipe **out)
{
    alm_pipe *pipe = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &pipe));
    pipe->run = run;
    pipe->top = top;
    pipe->consumer = consumer;
    pipe->mem = cx->mem;
    pipe->n_slots = run->env.workers != NULL ? alm_workers_count(run->env.workers) : 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, pipe->n_slots, &pipe->slot));
    *out = pipe;
    const alm_plan *bottom = pipeline_bottom(run, top);
    if (bottom != NULL)
        ALM_TRY(prepare_chain(cx, run, top));
    if (bottom != NULL && bottom->op == ALM_P_SCAN)
        ALM_TRY(alm_op_shared(cx, run, bottom, &pipe->scan));
    else if (bottom != NULL && bottom->op == ALM_P_SOURCE)
        ALM_TRY(alm_op_shared(cx, run, bottom, &pipe->parts));
    else if (bottom != NULL) {
        pipe->source_parts = parts_of(run, bottom);
        return run_source(cx, pipe, bottom);
    }
    return ALM_OK;
}

void alm_pipe_free(alm_pipe *pipe)
{
    if (pipe == NULL)
        return;
    for (uint32_t i = 0; i < pipe->n_slots; i++) {
        alm_op_close(pipe->slot[i].top);
        if (pipe->slot[i].ready)
            alm_arena_deinit(&pipe->slot[i].arena);
        pipe->slot[i] = (pipe_slot){0};
    }
    alm_op_close(pipe->source);
    pipe->source = NULL;
}

uint32_t alm_pipe_morsels(const alm_pipe *pipe)
{
    if (pipe->source != NULL)
        return pipe->source_parts->count(pipe->source);
    if (pipe->parts != NULL)
        return pipe->parts->n_morsels;
    return pipe->scan == NULL ? 1 : pipe->scan->n_morsels;
}

uint32_t alm_pipe_slots(const alm_pipe *pipe)
{
    return pipe->n_slots;
}
bool alm_pipe_parallel(const alm_pipe *pipe)
{
    return pipe->scan != NULL || pipe->parts != NULL || pipe->source != NULL;
}

alm_op *alm_pipe_source(const alm_pipe *pipe)
{
    return pipe->source;
}

int64_t alm_pipe_rows(const alm_pipe *pipe)
{
    if (pipe->source != NULL)
        return pipe->source_parts->rows(pipe->source);
    if (pipe->parts != NULL)
        return pipe->parts->rows;
    return pipe->scan == NULL ? -1 : pipe->scan->scans->rows(pipe->scan->scan);
}

/* ---------------------------------------------------------------------------------- runs */

typedef struct pipe_call {
    alm_pipe *pipe;
    uint32_t lo;
    alm_pipe_body body; /* one of the two */
    alm_pipe_task task;
    void *arg;
    atomic_bool failed;
} pipe_call;

static void pipe_slot_ready(pipe_slot *s, alm_mem *mem)
{
    if (!s->ready) {
        alm_arena_init(&s->arena, mem);
        s->ready = true;
    }
    s->cx.arena = &s->arena;
}

static alm_status run_body(pipe_call *call, pipe_slot *s, uint32_t slot, uint32_t morsel)
{
    if (call->body == NULL)
        return call->task(&s->cx, call->arg, slot, morsel);
    alm_pipe *pipe = call->pipe;
    if (s->top == NULL) {
        ALM_TRY(alm_op_new(&s->cx, pipe->run, pipe->top, alm_pipe_parallel(pipe) ? pipe : NULL,
                           &s->top));
        s->top->parent = &s->meter;
    }
    if (alm_pipe_parallel(pipe))
        ALM_TRY(alm_op_start(&s->cx, s->top, morsel));
    return call->body(&s->cx, call->arg, slot, morsel, s->top);
}

/* The consumer's own share of a body: all of it less what the input took. */
static alm_status run_counted(pipe_call *call, pipe_slot *s, uint32_t slot, uint32_t morsel)
{
    s->meter.child_ns = 0;
    const int64_t before_ns = alm_thread_cpu_ns();
    const alm_status status = run_body(call, s, slot, morsel);
    const int64_t own_ns = alm_thread_cpu_ns() - before_ns - s->meter.child_ns;
    alm_op_node *node = &call->pipe->run->node[call->pipe->consumer->id];
    atomic_fetch_add_explicit(&node->cpu_ns, own_ns > 0 ? own_ns : 0, memory_order_relaxed);
    return status;
}

static void pipe_step(void *arg, uint32_t i, uint32_t slot)
{
    pipe_call *call = arg;
    if (atomic_load_explicit(&call->failed, memory_order_relaxed))
        return;
    pipe_slot *s = &call->pipe->slot[slot];
    pipe_slot_ready(s, call->pipe->mem);
    const bool counted = call->pipe->run->env.analyze && call->pipe->consumer != NULL;
    const alm_status status =
        counted ? run_counted(call, s, slot, call->lo + i) : run_body(call, s, slot, call->lo + i);
    if (status != ALM_OK)
        atomic_store_explicit(&call->failed, true, memory_order_relaxed);
}

static alm_status pipe_run_call(alm_ctx *cx, pipe_call *call, uint32_t n)
{
    alm_pipe *pipe = call->pipe;
    ALM_ASSERT(call->task != NULL || alm_pipe_parallel(pipe) || n <= 1);
    const bool counted = pipe->run->env.analyze && pipe->consumer != NULL;
    const int64_t before_ns = counted ? alm_thread_cpu_ns() : 0;
    for (uint32_t i = 0; i < pipe->n_slots; i++)
        alm_ctx_fork(cx, &pipe->slot[i].cx);
    if (pipe->n_slots > 1)
        alm_workers_run(pipe->run->env.workers, n, pipe_step, call);
    else
        for (uint32_t i = 0; i < n; i++)
            pipe_step(call, i, 0);
    if (counted) /* the caller's share is counted by run_counted and by alm_op_next around it */
        atomic_fetch_sub_explicit(&pipe->run->node[pipe->consumer->id].cpu_ns,
                                  alm_thread_cpu_ns() - before_ns, memory_order_relaxed);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < pipe->n_slots; i++) {
        const alm_status slot_st = alm_ctx_join(cx, &pipe->slot[i].cx);
        status = status == ALM_OK ? slot_st : status;
    }
    if (status == ALM_OK && atomic_load(&call->failed))
        status = alm_fail(cx, ALM_E_INTERNAL, -1, "a worker failed without an error");
    return status;
}

alm_status alm_pipe_run(alm_ctx *cx, alm_pipe *pipe, uint32_t lo, uint32_t hi, alm_pipe_body body,
                        void *arg)
{
    ALM_ASSERT(lo <= hi && hi <= alm_pipe_morsels(pipe));
    pipe_call call = {.pipe = pipe, .lo = lo, .body = body, .arg = arg};
    return pipe_run_call(cx, &call, hi - lo);
}

alm_status alm_pipe_each(alm_ctx *cx, alm_pipe *pipe, uint32_t n, alm_pipe_task task, void *arg)
{
    pipe_call call = {.pipe = pipe, .task = task, .arg = arg};
    return pipe_run_call(cx, &call, n);
}
