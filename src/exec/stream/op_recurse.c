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
static bool varies(op_recurse *r, const alm_plan *plan)
{
    int8_t *known = &r->varies[plan->id];
    if (*known != 0)
        return *known > 0;
    bool yes = plan->op == ALM_P_WORKING && plan->working.of == r->op.plan;
    if (plan->op == ALM_P_SHARED)
        yes = varies(r, plan->shared.of);
    for (uint32_t i = 0; i < plan->n_children && !yes; i++)
        yes = varies(r, plan->child[i]);
    *known = yes ? 1 : -1;
    return yes;
}

static alm_status prepare_one(alm_ctx *cx, op_recurse *r, const alm_plan *plan)
{
    void *shared = NULL;
    const alm_op_kind *kind = alm_op_kind_of(r->op.run, plan->op);
    if (kind == NULL || kind->prepare == NULL)
        return ALM_OK;
    if (plan->op == ALM_P_JOIN && (kind->drive(plan) != 0 || varies(r, plan->child[1])))
        return ALM_OK;
    if (plan->op == ALM_P_MATERIALISE && varies(r, plan))
        return ALM_OK;
    return alm_op_shared(cx, r->op.run, plan, &shared);
}

/* Prepares what all rounds can use. */
static alm_status prepare_lasting(alm_ctx *cx, op_recurse *r, const alm_plan *plan)
{
    if (plan->op == ALM_P_SHARED) {
        const alm_plan *of = plan->shared.of;
        if (!varies(r, of))
            return prepare_one(cx, r, of);
        return alm_plan_lists(plan) ? prepare_lasting(cx, r, of) : ALM_OK;
    }
    ALM_TRY(prepare_one(cx, r, plan));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(prepare_lasting(cx, r, plan->child[i]));
    return ALM_OK;
}

static void note_lasting(op_recurse *r)
{
    for (uint32_t i = 0; i < r->op.run->n_nodes; i++)
        r->lasting[i] = r->op.run->node[i].prepared;
}

/* Takes back what a round prepared for itself. */
static void forget(op_recurse *r, const alm_plan *plan)
{
    alm_op_node *node = &r->op.run->node[plan->id];
    if (node->prepared && !r->lasting[plan->id]) {
        const alm_op_kind *kind = alm_op_kind_of(r->op.run, plan->op);
        if (kind->unprepare != NULL)
            kind->unprepare(node->shared);
        node->prepared = false;
    }
    if (alm_plan_lists(plan))
        forget(r, plan->shared.of);
    for (uint32_t i = 0; i < plan->n_children; i++)
        forget(r, plan->child[i]);
}

/* ------------------------------------------------------------------------------- rows */

static alm_status empty_set(alm_ctx *cx, op_recurse *r, row_set *s)
{
    alm_ctx own;
    if (s->rows.col != NULL && !r->has_text) { /* its room serves again */
        s->rows.n = 0;
        return ALM_OK;
    }
    alm_ctx_fork(cx, &own);
    alm_pool_deinit(&s->pool);
    alm_pool_init(&s->pool, cx->mem, "recursion");
    alm_arena_reset(&s->arena);
    own.arena = &s->arena;
    if (alm_rows_init(&own, &s->rows, &s->pool, r->op.plan->cols, r->op.plan->n_cols) != ALM_OK)
        return alm_ctx_join(cx, &own);
    return ALM_OK;
}

static alm_status add_new_rows(alm_ctx *cx, op_recurse *r, row_set *to, alm_batch *in)
{
    uint32_t fresh = alm_keymap_count(r->map), n = 0;
    for (uint32_t c = 0; c < in->n_cols; c++) {
        alm_vec *v = NULL;
        ALM_TRY(alm_batch_column(cx, &r->scratch, in, c, &v));
    }
    ALM_TRY(alm_keymap_add(cx, r->map, in->cols, in->rows, r->number));
    for (uint32_t i = 0; i < in->rows; i++) { /* a new row takes the next number */
        r->pick[n] = i;
        const bool first = r->number[i] == fresh;
        n += first;
        fresh += first;
    }
    r->total += n;
    return alm_rows_append_picked(cx, &to->rows, in->cols, r->pick, n);
}

static alm_status add_rows(alm_ctx *cx, op_recurse *r, row_set *to, alm_batch *in)
{
    alm_arena_reset(&r->scratch);
    if (r->map != NULL) {
        ALM_TRY(add_new_rows(cx, r, to, in));
    } else {
        r->total += in->rows;
        ALM_TRY(alm_rows_append(cx, &to->rows, &r->scratch, in));
    }
    const int64_t max = cx->conf != NULL ? cx->conf->sql_recursive_rows_max : INT64_MAX;
    if (r->total <= max)
        return ALM_OK;
    return alm_fail(cx, ALM_E_LIMIT, r->op.plan->pos,
                    "the recursion of '%s' made more than %lld rows [sql.recursive.rows.max]",
                    r->op.plan->recurse.name, (long long)max);
}

static alm_status read_all(alm_ctx *cx, op_recurse *r, alm_op *from, row_set *to)
{
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, from, &in));
        if (in == NULL)
            return ALM_OK;
        ALM_TRY(add_rows(cx, r, to, in));
    }
}

/* ------------------------------------------------------------------------------ rounds */

static alm_status run_step(alm_ctx *cx, op_recurse *r, row_set *to)
{
    alm_op *op = &r->op;
    ALM_TRY(alm_op_new(cx, op->run, op->plan->child[1], NULL, &op->child[1]));
    op->child[1]->parent = op;
    return read_all(cx, r, op->child[1], to);
}

static void end_round(op_recurse *r)
{
    alm_op_close(r->op.child[1]);
    r->op.child[1] = NULL;
    if (r->lasting != NULL)
        forget(r, r->op.plan->child[1]);
    alm_arena_reset(&r->round);
}

static alm_status next_round(alm_ctx *cx, op_recurse *r)
{
    row_set *to = &r->set[1 - r->last];
    const int64_t max = cx->conf != NULL ? cx->conf->sql_recursive_iterations_max : INT64_MAX;
    if (r->rounds++ >= max)
        return alm_fail(cx, ALM_E_LIMIT, r->op.plan->pos,
                        "the recursion of '%s' does not end after %lld rounds "
                        "[sql.recursive.iterations.max]",
                        r->op.plan->recurse.name, (long long)max);
    ALM_TRY(empty_set(cx, r, to));
    alm_ctx own;
    alm_ctx_fork(cx, &own);
    own.arena = &r->round;
    const alm_status st = run_step(&own, r, to);
    end_round(r);
    if (st != ALM_OK)
        return alm_ctx_join(cx, &own);
    r->last = 1 - r->last;
    r->at = 0;
    return ALM_OK;
}

static alm_status start(alm_ctx *cx, op_recurse *r)
{
    alm_run *run = r->op.run;
    ALM_TRY(ALM_NEWN(cx, cx->arena, run->n_nodes, &r->varies));
    bool *lasting = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, run->n_nodes, &lasting));
    ALM_TRY(empty_set(cx, r, &r->set[0]));
    ALM_TRY(read_all(cx, r, r->op.child[0], &r->set[0]));
    if (r->set[0].rows.n > 0)
        ALM_TRY(prepare_lasting(cx, r, r->op.plan->child[1]));
    r->lasting = lasting;
    note_lasting(r);
    r->started = true;
    return ALM_OK;
}

static alm_status recurse_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_recurse *r = (op_recurse *)op;
    *out = NULL;
    if (!r->started)
        ALM_TRY(start(cx, r));
    if (r->at >= r->set[r->last].rows.n) {
        if (r->set[r->last].rows.n == 0)
            return ALM_OK;
        ALM_TRY(next_round(cx, r));
    }
    const alm_rows *rows = &r->set[r->last].rows;
    if (rows->n == 0)
        return ALM_OK;
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, rows->n - r->at);
    for (uint32_t i = 0; i < op->plan->n_cols; i++)
        alm_rows_slice(rows, i, r->at, &op->out.cols[i]);
    op->out.rows = n;
    op->out.sel = NULL;
    r->at += n;
    *out = &op->out;
    return ALM_OK;
}

static void recurse_close(alm_op *op)
{
    op_recurse *r = (op_recurse *)op;
    op->child[1] = NULL; /* closed by now */
    end_round(r);
    const int64_t bytes = r->pool.bytes + r->set[0].pool.bytes + r->set[1].pool.bytes;
    alm_op_count_bytes(op->run, op->plan, bytes);
    for (int i = 0; i < 2; i++) {
        alm_pool_deinit(&r->set[i].pool);
        alm_arena_deinit(&r->set[i].arena);
    }
    alm_pool_deinit(&r->pool);
    alm_arena_deinit(&r->round);
    alm_arena_deinit(&r->scratch);
}

static const alm_op_vt recurse_vt = {
    .name = "recursion", .next = recurse_next, .close = recurse_close};

static alm_status make_map(alm_ctx *cx, op_recurse *r, const alm_plan *plan)
{
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &types));
    for (uint32_t c = 0; c < plan->n_cols; c++)
        types[c] = plan->cols[c].type;
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS + 1, &r->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS + 1, &r->pick));
    return alm_keymap_new(cx, &r->pool, types, plan->n_cols, &r->map);
}

alm_status alm_op_recurse_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                               alm_op **out)
{
    op_recurse *r = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &r));
    ALM_TRY(alm_op_init(cx, &r->op, &recurse_vt, run, plan, pipe));
    *out = &r->op;
    for (int i = 0; i < 2; i++) {
        alm_pool_init(&r->set[i].pool, cx->mem, "recursion");
        alm_arena_init(&r->set[i].arena, cx->mem);
    }
    alm_pool_init(&r->pool, cx->mem, "recursion");
    alm_arena_init(&r->round, cx->mem);
    alm_arena_init(&r->scratch, cx->mem);
    for (uint32_t c = 0; c < plan->n_cols; c++)
        r->has_text |= alm_has_views(plan->cols[c].type);
    run->node[plan->id].shared = r; /* for the WORKING nodes below */
    if (plan->recurse.distinct)
        ALM_TRY(make_map(cx, r, plan));
    return alm_op_child(cx, &r->op, 0);
}

/* ------------------------------------------------------------------------------ WORKING */

typedef struct op_working {
    alm_op op;
    uint32_t at;
} op_working;

static alm_status working_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_working *w = (op_working *)op;
    const op_recurse *r = op->run->node[op->plan->working.of->id].shared;
    const alm_rows *rows = &r->set[r->last].rows;
    (void)cx;
    *out = NULL;
    if (w->at >= rows->n)
        return ALM_OK;
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, rows->n - w->at);
    for (uint32_t i = 0; i < op->plan->n_cols; i++)
        alm_rows_slice(rows, i, w->at, &op->out.cols[i]);
    op->out.rows = n;
    op->out.sel = NULL;
    w->at += n;
    *out = &op->out;
    return ALM_OK;
}

static int64_t working_count(alm_ctx *cx, alm_op *op)
{
    (void)cx;
    const op_recurse *r = op->run->node[op->plan->working.of->id].shared;
    return (int64_t)r->set[r->last].rows.n;
}

static bool working_skip(alm_op *op, int64_t rows)
{
    op_working *w = (op_working *)op;
    w->at = (uint32_t)ALM_MIN((int64_t)UINT32_MAX, (int64_t)w->at + rows);
    return true;
}

static const alm_op_vt working_vt = {
    .name = "last rows", .next = working_next, .count = working_count, .skip = working_skip};

alm_status alm_op_working_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                               alm_op **out)
{
    op_working *w = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &w));
    ALM_TRY(alm_op_init(cx, &w->op, &working_vt, run, plan, pipe));
    *out = &w->op;
    return ALM_OK;
}
