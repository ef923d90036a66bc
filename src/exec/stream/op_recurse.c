/*
 * op_recurse.c - WITH RECURSIVE: the rows of the start, then those of the step over the rows found
 * last (WORKING), again and again until there are none.
 *
 * State       Two sets of rows change places: what was found last, which the step reads and the
 *             consumer gets in slices, and what the step finds now. UNION also numbers all rows (keymap):
 *             a row counts when its number is new, so that walks over a graph with cycles end.
 * Step        Its operators are made anew for each round, in an arena that is emptied after it. What does
 *             not follow from the WORKING rows (scan plans, hash tables over tables, shared rows) is
 *             prepared once, before.
 * Limits      sql.recursive.iterations.max, sql.recursive.rows.max; memory on the query's account.
 */
#include "base/conf.h"
#include "exec/data/blend.h"
#include "exec/data/keymap.h"
#include "exec/data/rows.h"
#include "exec/run/op_make.h"

typedef struct row_set {
    alm_pool pool;
    alm_arena arena;
    alm_rows rows;
} row_set;

typedef struct op_recurse {
    alm_op op;
    row_set set[2];
    uint32_t last; /* the set found last */
    uint32_t at;   /* rows of it given out */
    bool started;
    int64_t rounds, total;
    alm_pool pool; /* of the keymap */
    alm_keymap *map;
    uint32_t *number, *pick;
    alm_arena round;   /* of the step's operators */
    alm_arena scratch; /* of one batch */
    bool *lasting;     /* by plan id: prepared before the first round */
    int8_t *varies;    /* by plan id: 0 not known, 1 yes, -1 no */
    bool has_text;
} op_recurse;

/* ------------------------------------------------------------------------ what stays */

/* Do the rows of the node follow from a WORKING node of this recursion? */
static bool varies(op_recurse *recurse, const alm_plan *plan)
{
    int8_t *known = &recurse->varies[plan->id];
    if (*known != 0)
        return *known > 0;
    bool yes = plan->op == ALM_P_WORKING && plan->working.of == recurse->op.plan;
    if (plan->op == ALM_P_SHARED)
        yes = varies(recurse, plan->shared.of);
    for (uint32_t i = 0; i < plan->n_children && !yes; i++)
        yes = varies(recurse, plan->child[i]);
    *known = yes ? 1 : -1;
    return yes;
}

static alm_status prepare_one(alm_ctx *cx, op_recurse *recurse, const alm_plan *plan)
{
    void *shared = NULL;
    const alm_op_kind *kind = alm_op_kind_of(recurse->op.run, plan->op);
    if (kind == NULL || kind->prepare == NULL)
        return ALM_OK;
    if (plan->op == ALM_P_JOIN && (kind->drive(plan) != 0 || varies(recurse, plan->child[1])))
        return ALM_OK;
    if (plan->op == ALM_P_MATERIALISE && varies(recurse, plan))
        return ALM_OK;
    return alm_op_shared(cx, recurse->op.run, plan, &shared);
}

/* Prepares what all rounds can use. */
static alm_status prepare_lasting(alm_ctx *cx, op_recurse *recurse, const alm_plan *plan)
{
    if (plan->op == ALM_P_SHARED) {
        const alm_plan *of = plan->shared.of;
        if (!varies(recurse, of))
            return prepare_one(cx, recurse, of);
        return alm_plan_lists(plan) ? prepare_lasting(cx, recurse, of) : ALM_OK;
    }
    ALM_TRY(prepare_one(cx, recurse, plan));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(prepare_lasting(cx, recurse, plan->child[i]));
    return ALM_OK;
}

static void note_lasting(op_recurse *recurse)
{
    for (uint32_t i = 0; i < recurse->op.run->n_nodes; i++)
        recurse->lasting[i] = recurse->op.run->node[i].prepared;
}

/* Takes back what a round prepared for itself. */
static void op_recurse_forget(op_recurse *recurse, const alm_plan *plan)
{
    alm_op_node *node = &recurse->op.run->node[plan->id];
    if (node->prepared && !recurse->lasting[plan->id]) {
        const alm_op_kind *kind = alm_op_kind_of(recurse->op.run, plan->op);
        if (kind->unprepare != NULL)
            kind->unprepare(node->shared);
        node->prepared = false;
    }
    if (alm_plan_lists(plan))
        op_recurse_forget(recurse, plan->shared.of);
    for (uint32_t i = 0; i < plan->n_children; i++)
        op_recurse_forget(recurse, plan->child[i]);
}

/* ------------------------------------------------------------------------------- rows */

static alm_status empty_set(alm_ctx *cx, op_recurse *recurse, row_set *set)
{
    alm_ctx own;
    if (set->rows.col != NULL && !recurse->has_text) { /* its room serves again */
        set->rows.n = 0;
        return ALM_OK;
    }
    alm_ctx_fork(cx, &own);
    alm_pool_deinit(&set->pool);
    alm_pool_init(&set->pool, cx->mem, "recursion");
    alm_arena_reset(&set->arena);
    own.arena = &set->arena;
    if (alm_rows_init(&own, &set->rows, &set->pool, recurse->op.plan->cols,
                      recurse->op.plan->n_cols) != ALM_OK)
        return alm_ctx_join(cx, &own);
    return ALM_OK;
}

static alm_status add_new_rows(alm_ctx *cx, op_recurse *recurse, row_set *to, alm_batch *batch)
{
    uint32_t fresh = alm_keymap_count(recurse->map), count = 0;
    for (uint32_t col = 0; col < batch->n_cols; col++) {
        alm_vec *vec = NULL;
        ALM_TRY(alm_batch_column(cx, &recurse->scratch, batch, col, &vec));
    }
    ALM_TRY(alm_keymap_add(cx, recurse->map, batch->cols, batch->rows, recurse->number));
    for (uint32_t i = 0; i < batch->rows; i++) { /* a new row takes the next number */
        recurse->pick[count] = i;
        const bool first = recurse->number[i] == fresh;
        count += first;
        fresh += first;
    }
    recurse->total += count;
    return alm_rows_append_picked(cx, &to->rows, batch->cols, recurse->pick, count);
}

static alm_status op_recurse_add_rows(alm_ctx *cx, op_recurse *recurse, row_set *to,
                                      alm_batch *batch)
{
    alm_arena_reset(&recurse->scratch);
    if (recurse->map != NULL) {
        ALM_TRY(add_new_rows(cx, recurse, to, batch));
    } else {
        recurse->total += batch->rows;
        ALM_TRY(alm_rows_append(cx, &to->rows, &recurse->scratch, batch));
    }
    const int64_t max = cx->conf != NULL ? cx->conf->sql_recursive_rows_max : INT64_MAX;
    if (recurse->total <= max)
        return ALM_OK;
    return alm_fail(cx, ALM_E_LIMIT, recurse->op.plan->pos,
                    "the recursion of '%s' made more than %lld rows [sql.recursive.rows.max]",
                    recurse->op.plan->recurse.name, (long long)max);
}

static alm_status op_recurse_read_all(alm_ctx *cx, op_recurse *recurse, alm_op *from, row_set *to)
{
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, from, &batch));
        if (batch == NULL)
            return ALM_OK;
        ALM_TRY(op_recurse_add_rows(cx, recurse, to, batch));
    }
}

/* ------------------------------------------------------------------------------ rounds */

static alm_status run_step(alm_ctx *cx, op_recurse *recurse, row_set *to)
{
    alm_op *op = &recurse->op;
    ALM_TRY(alm_op_new(cx, op->run, op->plan->child[1], NULL, &op->child[1]));
    op->child[1]->parent = op;
    return op_recurse_read_all(cx, recurse, op->child[1], to);
}

static void end_round(op_recurse *recurse)
{
    alm_op_close(recurse->op.child[1]);
    recurse->op.child[1] = NULL;
    if (recurse->lasting != NULL)
        op_recurse_forget(recurse, recurse->op.plan->child[1]);
    alm_arena_reset(&recurse->round);
}

static alm_status next_round(alm_ctx *cx, op_recurse *recurse)
{
    row_set *to = &recurse->set[1 - recurse->last];
    const int64_t max = cx->conf != NULL ? cx->conf->sql_recursive_iterations_max : INT64_MAX;
    if (recurse->rounds++ >= max)
        return alm_fail(cx, ALM_E_LIMIT, recurse->op.plan->pos,
                        "the recursion of '%s' does not end after %lld rounds "
                        "[sql.recursive.iterations.max]",
                        recurse->op.plan->recurse.name, (long long)max);
    ALM_TRY(empty_set(cx, recurse, to));
    alm_ctx own;
    alm_ctx_fork(cx, &own);
    own.arena = &recurse->round;
    const alm_status status = run_step(&own, recurse, to);
    end_round(recurse);
    if (status != ALM_OK)
        return alm_ctx_join(cx, &own);
    recurse->last = 1 - recurse->last;
    recurse->at = 0;
    return ALM_OK;
}

static alm_status op_recurse_start(alm_ctx *cx, op_recurse *recurse)
{
    alm_run *run = recurse->op.run;
    ALM_TRY(ALM_NEWN(cx, cx->arena, run->n_nodes, &recurse->varies));
    bool *lasting = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, run->n_nodes, &lasting));
    ALM_TRY(empty_set(cx, recurse, &recurse->set[0]));
    ALM_TRY(op_recurse_read_all(cx, recurse, recurse->op.child[0], &recurse->set[0]));
    if (recurse->set[0].rows.n > 0)
        ALM_TRY(prepare_lasting(cx, recurse, recurse->op.plan->child[1]));
    recurse->lasting = lasting;
    note_lasting(recurse);
    recurse->started = true;
    return ALM_OK;
}

static alm_status recurse_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_recurse *recurse = (op_recurse *)op;
    *out = NULL;
    if (!recurse->started)
        ALM_TRY(op_recurse_start(cx, recurse));
    if (recurse->at >= recurse->set[recurse->last].rows.n) {
        if (recurse->set[recurse->last].rows.n == 0)
            return ALM_OK;
        ALM_TRY(next_round(cx, recurse));
    }
    const alm_rows *rows = &recurse->set[recurse->last].rows;
    if (rows->n == 0)
        return ALM_OK;
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, rows->n - recurse->at);
    for (uint32_t i = 0; i < op->plan->n_cols; i++)
        alm_rows_slice(rows, i, recurse->at, &op->out.cols[i]);
    op->out.rows = n_rows;
    op->out.sel = NULL;
    recurse->at += n_rows;
    *out = &op->out;
    return ALM_OK;
}

static void recurse_close(alm_op *op)
{
    op_recurse *recurse = (op_recurse *)op;
    op->child[1] = NULL; /* closed by now */
    end_round(recurse);
    const int64_t bytes =
        recurse->pool.bytes + recurse->set[0].pool.bytes + recurse->set[1].pool.bytes;
    alm_op_count_bytes(op->run, op->plan, bytes);
    for (int i = 0; i < 2; i++) {
        alm_pool_deinit(&recurse->set[i].pool);
        alm_arena_deinit(&recurse->set[i].arena);
    }
    alm_pool_deinit(&recurse->pool);
    alm_arena_deinit(&recurse->round);
    alm_arena_deinit(&recurse->scratch);
}

static const alm_op_vt recurse_vt = {
    .name = "recursion", .next = recurse_next, .close = recurse_close};

static alm_status make_map(alm_ctx *cx, op_recurse *recurse, const alm_plan *plan)
{
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &types));
    for (uint32_t col = 0; col < plan->n_cols; col++)
        types[col] = plan->cols[col].type;
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS + 1, &recurse->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS + 1, &recurse->pick));
    return alm_keymap_new(cx, &recurse->pool, types, plan->n_cols, &recurse->map);
}

alm_status alm_op_recurse_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                               alm_op **out)
{
    op_recurse *recurse = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &recurse));
    ALM_TRY(alm_op_init(cx, &recurse->op, &recurse_vt, run, plan, pipe));
    *out = &recurse->op;
    for (int i = 0; i < 2; i++) {
        alm_pool_init(&recurse->set[i].pool, cx->mem, "recursion");
        alm_arena_init(&recurse->set[i].arena, cx->mem);
    }
    alm_pool_init(&recurse->pool, cx->mem, "recursion");
    alm_arena_init(&recurse->round, cx->mem);
    alm_arena_init(&recurse->scratch, cx->mem);
    for (uint32_t col = 0; col < plan->n_cols; col++)
        recurse->has_text |= alm_has_views(plan->cols[col].type);
    run->node[plan->id].shared = recurse; /* for the WORKING nodes below */
    if (plan->recurse.distinct)
        ALM_TRY(make_map(cx, recurse, plan));
    return alm_op_child(cx, &recurse->op, 0);
}

/* ------------------------------------------------------------------------------ WORKING */

typedef struct op_working {
    alm_op op;
    uint32_t at;
} op_working;

static alm_status working_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_working *working = (op_working *)op;
    const op_recurse *recurse = op->run->node[op->plan->working.of->id].shared;
    const alm_rows *rows = &recurse->set[recurse->last].rows;
    (void)cx;
    *out = NULL;
    if (working->at >= rows->n)
        return ALM_OK;
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, rows->n - working->at);
    for (uint32_t i = 0; i < op->plan->n_cols; i++)
        alm_rows_slice(rows, i, working->at, &op->out.cols[i]);
    op->out.rows = n_rows;
    op->out.sel = NULL;
    working->at += n_rows;
    *out = &op->out;
    return ALM_OK;
}

static int64_t working_count(alm_ctx *cx, alm_op *op)
{
    (void)cx;
    const op_recurse *recurse = op->run->node[op->plan->working.of->id].shared;
    return (int64_t)recurse->set[recurse->last].rows.n;
}

static bool working_skip(alm_op *op, int64_t rows)
{
    op_working *working = (op_working *)op;
    working->at = (uint32_t)ALM_MIN((int64_t)UINT32_MAX, (int64_t)working->at + rows);
    return true;
}

static const alm_op_vt working_vt = {
    .name = "last rows", .next = working_next, .count = working_count, .skip = working_skip};

alm_status alm_op_working_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                               alm_op **out)
{
    op_working *working = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &working));
    ALM_TRY(alm_op_init(cx, &working->op, &working_vt, run, plan, pipe));
    *out = &working->op;
    return ALM_OK;
}
