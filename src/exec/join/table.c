/*
 * table.c - reading the right input of a hash join, numbering its keys, listing rows by number.
 * See join.h.
 *
 * The input is read in parallel where it is a pipeline: rounds of morsels, put together in morsel
 * order, so that row numbers do not depend on the number of threads.
 */
#include "exec/eval/origin.h"
#include "exec/join/join.h"
#include "exec/join/number.h"

#include <stdlib.h>

enum { READ_ROUND = 32, CHECK_ROWS = 65536 };

static const char *const WHO = "join";

/* ------------------------------------------------------------------------------- reading */

typedef struct read_part {
    alm_pool pool;
    alm_arena arena; /* of the columns */
    alm_arena scratch;
    alm_rows rows;
    bool used;
} read_part;

typedef struct read_job {
    const alm_plan *input;
    read_part part[READ_ROUND];
    uint32_t lo;
} read_job;

static alm_status read_rows(alm_ctx *cx, alm_rows *rows, alm_arena *scratch, alm_op *input)
{
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        alm_arena_reset(scratch);
        ALM_TRY(alm_rows_append(cx, rows, scratch, batch));
    }
}

static alm_status read_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel, alm_op *input)
{
    (void)slot;
    read_job *job = arg;
    read_part *p = &job->part[morsel - job->lo];
    alm_pool_init(&p->pool, cx->mem, WHO);
    alm_arena_init(&p->arena, cx->mem);
    alm_arena_init(&p->scratch, cx->mem);
    p->used = true;
    alm_arena *outer = cx->arena;
    cx->arena = &p->arena;
    const alm_status st =
        alm_rows_init(cx, &p->rows, &p->pool, job->input->cols, job->input->n_cols);
    cx->arena = outer;
    ALM_TRY(st);
    return read_rows(cx, &p->rows, &p->scratch, input);
}

static void part_free(read_part *p)
{
    if (!p->used)
        return;
    alm_pool_deinit(&p->pool);
    alm_arena_deinit(&p->arena);
    alm_arena_deinit(&p->scratch);
    p->used = false;
}

static alm_status append_part(alm_ctx *cx, alm_rows *rows, const read_part *p, alm_vec *vecs)
{
    for (uint32_t at = 0; at < p->rows.n; at += ALM_BATCH_ROWS) {
        ALM_TRY(alm_check(cx));
        const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, p->rows.n - at);
        for (uint32_t c = 0; c < p->rows.n_cols; c++)
            alm_rows_slice(&p->rows, c, at, &vecs[c]);
        ALM_TRY(alm_rows_append_picked(cx, rows, vecs, NULL, n));
    }
    return ALM_OK;
}

static alm_status read_parallel(alm_ctx *cx, alm_rows *rows, alm_pipe *pipe, read_job *job)
{
    alm_vec *vecs = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, job->input->n_cols + 1, &vecs));
    const uint32_t morsels = alm_pipe_morsels(pipe);
    alm_status st = ALM_OK;
    for (uint32_t lo = 0; lo < morsels && st == ALM_OK; lo += READ_ROUND) {
        const uint32_t hi = ALM_MIN(morsels, lo + READ_ROUND);
        job->lo = lo;
        st = alm_pipe_run(cx, pipe, lo, hi, read_morsel, job);
        for (uint32_t m = lo; m < hi; m++) {
            if (st == ALM_OK)
                st = append_part(cx, rows, &job->part[m - lo], vecs);
            part_free(&job->part[m - lo]);
        }
    }
    return st;
}

static alm_status read_serial(alm_ctx *cx, alm_rows *rows, alm_run *run, const alm_plan *input)
{
    alm_op *op = NULL;
    alm_arena scratch;
    alm_arena_init(&scratch, cx->mem);
    alm_status st = alm_op_new(cx, run, input, NULL, &op);
    if (st == ALM_OK)
        st = read_rows(cx, rows, &scratch, op);
    alm_op_close(op);
    alm_arena_deinit(&scratch);
    return st;
}

alm_status alm_join_read_rows(alm_ctx *cx, alm_run *run, const alm_plan *input,
                              const alm_plan *join, alm_rows *rows)
{
    alm_pipe *pipe = NULL;
    read_job *job = NULL;
    ALM_TRY(alm_pipe_new(cx, run, input, join, &pipe));
    alm_status st = ALM_OK;
    const bool few = alm_pipe_morsels(pipe) <= 1 || alm_pipe_slots(pipe) <= 1;
    if (!alm_pipe_parallel(pipe) || (few && alm_pipe_source(pipe) == NULL)) {
        alm_pipe_free(pipe);
        return read_serial(cx, rows, run, input);
    }
    st = ALM_NEW(cx, cx->arena, &job);
    if (st == ALM_OK) {
        job->input = input;
        st = read_parallel(cx, rows, pipe, job);
    }
    alm_pipe_free(pipe);
    return st;
}

/* ------------------------------------------------------------------------------ numbering */

/* Key numbers of all rows, by code. */
static void number_by_code(alm_join_table *t, uint32_t col, uint32_t *number)
{
    t->dict = t->rows.col[col].dict;
    t->n_numbers = t->dict->count;
    memcpy(number, t->rows.col[col].data, (size_t)t->n * sizeof *number);
}

static alm_status number_by_map(alm_ctx *cx, alm_join_table *t, const alm_plan *plan,
                                uint32_t *number)
{
    const uint32_t n_keys = plan->join.n_keys;
    const alm_expr *const *keys = (const alm_expr *const *)plan->join.right_keys;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &types));
    for (uint32_t k = 0; k < n_keys; k++)
        types[k] = keys[k]->type;
    ALM_TRY(alm_rows_number(cx, &t->rows, keys, types, n_keys, number, &t->map));
    t->n_numbers = alm_keymap_count(t->map);
    return ALM_OK;
}

/* first[] and list[] from the numbers of the rows: a counting sort, or one row each. */
static alm_status list_rows(alm_ctx *cx, alm_join_table *t, uint32_t *number)
{
    const size_t bytes = ((size_t)t->n_numbers + 2) * sizeof *t->first;
    ALM_TRY(alm_pool_zero(cx, &t->pool, bytes, &t->first));
    uint32_t *count = t->first + 1; /* becomes the end of each number, shifted by one */
    t->unique = true;
    for (uint32_t r = 0; r < t->n; r++) {
        if ((r & (CHECK_ROWS - 1)) == 0)
            ALM_TRY(alm_check(cx));
        if (++count[number[r]] > 1)
            t->unique = false;
    }
    if (t->unique) {
        memset(t->first, 0xff, bytes);
        for (uint32_t r = 0; r < t->n; r++)
            t->first[number[r]] = r;
        return ALM_OK;
    }
    uint32_t sum = 0;
    for (uint32_t k = 0; k < t->n_numbers; k++) {
        const uint32_t n = count[k];
        count[k] = sum; /* where number k begins; moves to its end below */
        sum += n;
    }
    ALM_TRY(alm_pool_alloc(cx, &t->pool, (size_t)t->n * sizeof *t->list, &t->list));
    for (uint32_t r = 0; r < t->n; r++) {
        if ((r & (CHECK_ROWS - 1)) == 0)
            ALM_TRY(alm_check(cx));
        t->list[count[number[r]]++] = r;
    }
    return ALM_OK; /* first[0] is 0 and first[k + 1] the end of k */
}

static alm_status number_rows(alm_ctx *cx, alm_join_table *t, const alm_plan *plan)
{
    if (!t->keyed) {
        t->n_numbers = 1;
        ALM_TRY(alm_pool_zero(cx, &t->pool, 2 * sizeof *t->first, &t->first));
        t->first[1] = t->n;
        return ALM_OK;
    }
    uint32_t *number = NULL;
    ALM_TRY(alm_pool_alloc(cx, &t->pool, ((size_t)t->n + 1) * sizeof *number, &number));
    const alm_expr *key = plan->join.right_keys[0];
    if (plan->join.n_keys == 1 && key->kind == ALM_X_COL && t->rows.col[key->col].dict != NULL)
        number_by_code(t, key->col, number);
    else
        ALM_TRY(number_by_map(cx, t, plan, number));
    ALM_TRY(list_rows(cx, t, number));
    alm_pool_free(&t->pool, number);
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- making */

/* The row that stands for "no match". */
static alm_status append_nulls(alm_ctx *cx, alm_join_table *t, const alm_plan *input)
{
    static const uint32_t no_code = 0;
    alm_vec *nulls = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->rows.n_cols + 1, &nulls));
    for (uint32_t c = 0; c < t->rows.n_cols; c++) {
        alm_rows_col *col = &t->rows.col[c];
        if (t->n == 0 && col->type.id == ALM_T_SYMBOL) { /* codes, as rows would have come */
            const alm_expr e = {.kind = ALM_X_COL, .type = col->type, .col = c};
            col->dict = alm_origin_dict(input, &e);
            col->width = col->dict != NULL ? sizeof(uint32_t) : col->width;
        }
        if (col->dict != NULL) {
            void *code = NULL;
            ALM_TRY(alm_arena_zero(cx, cx->arena, sizeof no_code, &code));
            nulls[c] = (alm_vec){
                .type = col->type, .width = 4, .is_const = true, .dict = col->dict, .data = code};
        } else {
            ALM_TRY(alm_vec_null(cx, cx->arena, col->type, &nulls[c]));
        }
    }
    return alm_rows_append_picked(cx, &t->rows, nulls, NULL, 1);
}

static alm_status fill_table(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_join_table *t)
{
    const alm_plan *input = plan->child[1];
    ALM_TRY(alm_rows_init(cx, &t->rows, &t->pool, input->cols, input->n_cols));
    ALM_TRY(alm_join_read_rows(cx, run, input, plan, &t->rows));
    t->n = t->rows.n;
    t->keyed = plan->join.n_keys > 0;
    ALM_TRY(append_nulls(cx, t, input));
    ALM_TRY(number_rows(cx, t, plan));
    if (plan->join.kind == ALM_JOIN_RIGHT || plan->join.kind == ALM_JOIN_FULL)
        ALM_TRY(alm_pool_zero(cx, &t->pool, (size_t)t->n + 1, &t->matched));
    alm_op_count_bytes(run, plan, t->pool.bytes);
    return ALM_OK;
}

alm_status alm_join_table_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_join_table **out)
{
    alm_join_table *t = calloc(1, sizeof *t);
    if (t == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: join");
    alm_arena_init(&t->arena, cx->mem);
    alm_pool_init(&t->pool, cx->mem, WHO);
    alm_arena *outer = cx->arena;
    cx->arena = &t->arena;
    const alm_status st = fill_table(cx, run, plan, t);
    cx->arena = outer;
    if (st != ALM_OK) {
        alm_join_table_free(t);
        return st;
    }
    *out = t;
    return ALM_OK;
}

void alm_join_table_free(alm_join_table *t)
{
    if (t == NULL)
        return;
    alm_pool_deinit(&t->pool);
    alm_arena_deinit(&t->arena);
    free(t);
}
