/*
 * op_shared.c - rows of a query of WITH that is used several times: run once, by whoever asks first,
 * and kept until the statement ends.
 *
 * Threads     The rows are made by the thread that pulls first; SHARED is never part of a parallel
 *             pipeline, so there is only one at a time.
 * Memory      Of the kept rows: a pool on the query's account, given back at alm_exec_close.
 */
#include <stdlib.h>

#include "exec/data/rows.h"
#include "exec/run/op_make.h"

typedef struct kept_rows {
    alm_arena arena; /* of its own: who asks first may have a short-lived one */
    alm_pool pool;
    alm_rows rows;
} kept_rows;

static alm_status op_shared_read_all(alm_ctx *cx, alm_run *run, const alm_plan *child, kept_rows *k)
{
    alm_op *op = NULL;
    alm_arena scratch;
    alm_arena_init(&scratch, cx->mem);
    alm_status status = alm_op_new(cx, run, child, NULL, &op);
    for (alm_batch *batch = NULL; status == ALM_OK;) {
        alm_arena_reset(&scratch);
        status = alm_op_next(cx, op, &batch);
        if (status != ALM_OK || batch == NULL)
            break;
        status = alm_rows_append(cx, &k->rows, &scratch, batch);
    }
    alm_op_close(op);
    alm_arena_deinit(&scratch);
    return status;
}

alm_status alm_op_materialise_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                      void **shared)
{
    const alm_plan *child = plan->child[0];
    alm_ctx own;
    /* not in cx->arena: that may belong to a join around this one, whose table goes first */
    kept_rows *k = calloc(1, sizeof *k);
    if (k == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: materialise");
    alm_ctx_fork(cx, &own);
    alm_arena_init(&k->arena, cx->mem);
    own.arena = &k->arena;
    alm_pool_init(&k->pool, cx->mem, "materialise");
    alm_status status = alm_rows_init(&own, &k->rows, &k->pool, child->cols, child->n_cols);
    if (status == ALM_OK)
        status = op_shared_read_all(&own, run, child, k);
    if (status != ALM_OK) {
        alm_op_materialise_unprepare(k);
        return alm_ctx_join(cx, &own);
    }
    if (run->env.analyze)
        atomic_fetch_add_explicit(&run->node[plan->id].rows, k->rows.n, memory_order_relaxed);
    alm_op_count_bytes(run, plan, k->pool.bytes);
    *shared = k;
    return ALM_OK;
}

void alm_op_materialise_unprepare(void *shared)
{
    kept_rows *k = shared;
    alm_pool_deinit(&k->pool);
    alm_arena_deinit(&k->arena);
    free(k);
}

/* ------------------------------------------------------------------------------ operator */

typedef struct op_shared {
    alm_op op;
    uint32_t at;
    int64_t left; /* rows the consumer still wants */
} op_shared;

static alm_status kept_of(alm_ctx *cx, const alm_op *op, const kept_rows **out)
{
    return alm_op_shared(cx, op->run, op->plan->shared.of, out);
}

static alm_status shared_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_shared *shared = (op_shared *)op;
    const kept_rows *k = NULL;
    *out = NULL;
    ALM_TRY(kept_of(cx, op, &k));
    if (shared->at >= k->rows.n)
        return ALM_OK;
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, k->rows.n - shared->at);
    for (uint32_t i = 0; i < op->plan->n_cols; i++)
        alm_rows_slice(&k->rows, op->plan->shared.cols[i], shared->at, &op->out.cols[i]);
    op->out.rows = n_rows;
    op->out.sel = NULL;
    shared->at += n_rows;
    *out = &op->out;
    return ALM_OK;
}

static int64_t shared_count(alm_ctx *cx, alm_op *op)
{
    const kept_rows *k = NULL;
    return kept_of(cx, op, &k) == ALM_OK ? (int64_t)k->rows.n : -1;
}

static bool shared_skip(alm_op *op, int64_t rows)
{
    op_shared *shared = (op_shared *)op;
    shared->at = (uint32_t)ALM_MIN((int64_t)UINT32_MAX, (int64_t)shared->at + rows);
    return true;
}

static const alm_op_vt shared_vt = {
    .name = "shared", .next = shared_next, .count = shared_count, .skip = shared_skip};

alm_status alm_op_shared_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_shared *shared = NULL;
    ALM_ASSERT(plan->op == ALM_P_SHARED); /* MATERIALISE is only ever prepared */
    ALM_TRY(ALM_NEW(cx, cx->arena, &shared));
    ALM_TRY(alm_op_init(cx, &shared->op, &shared_vt, run, plan, pipe));
    *out = &shared->op;
    return ALM_OK;
}
