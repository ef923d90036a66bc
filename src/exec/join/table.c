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
    const alm_status status =
        alm_rows_init(cx, &p->rows, &p->pool, job->input->cols, job->input->n_cols);
    cx->arena = outer;
    ALM_TRY(status);
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
    for (uint32_t place = 0; place < p->rows.n; place += ALM_BATCH_ROWS) {
        ALM_TRY(alm_check(cx));
        const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, p->rows.n - place);
        for (uint32_t col = 0; col < p->rows.n_cols; col++)
            alm_rows_slice(&p->rows, col, place, &vecs[col]);
        ALM_TRY(alm_rows_append_picked(cx, rows, vecs, NULL, n_rows));
    }
    return ALM_OK;
}

static alm_status read_parallel(alm_ctx *cx, alm_rows *rows, alm_pipe *pipe, read_job *job)
{
    alm_vec *vecs = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, job->input->n_cols + 1, &vecs));
    const uint32_t morsels = alm_pipe_morsels(pipe);
    alm_status status = ALM_OK;
    for (uint32_t lo = 0; lo < morsels && status == ALM_OK; lo += READ_ROUND) {
        const uint32_t hi = ALM_MIN(morsels, lo + READ_ROUND);
        job->lo = lo;
        status = alm_pipe_run(cx, pipe, lo, hi, read_morsel, job);
        for (uint32_t m = lo; m < hi; m++) {
            if (status == ALM_OK)
                status = append_part(cx, rows, &job->part[m - lo], vecs);
            part_free(&job->part[m - lo]);
        }
    }
    return status;
}

static alm_status read_serial(alm_ctx *cx, alm_rows *rows, alm_run *run, const alm_plan *input)
{
    alm_op *op = NULL;
    alm_arena scratch;
    alm_arena_init(&scratch, cx->mem);
    alm_status status = alm_op_new(cx, run, input, NULL, &op);
    if (status == ALM_OK)
        status = read_rows(cx, rows, &scratch, op);
    alm_op_close(op);
    alm_arena_deinit(&scratch);
    return status;
}

alm_status alm_join_read_rows(alm_ctx *cx, alm_run *run, const alm_plan *input,
                              const alm_plan *join, alm_rows *rows)
{
    alm_pipe *pipe = NULL;
    read_job *job = NULL;
    ALM_TRY(alm_pipe_new(cx, run, input, join, &pipe));
    alm_status status = ALM_OK;
    const bool few = alm_pipe_morsels(pipe) <= 1 || alm_pipe_slots(pipe) <= 1;
    if (!alm_pipe_parallel(pipe) || (few && alm_pipe_source(pipe) == NULL)) {
        alm_pipe_free(pipe);
        return read_serial(cx, rows, run, input);
    }
    status = ALM_NEW(cx, cx->arena, &job);
    if (status == ALM_OK) {
        job->input = input;
        status = read_parallel(cx, rows, pipe, job);
    }
    alm_pipe_free(pipe);
    return status;
}

/* ------------------------------------------------------------------------------ numbering */

/* Key numbers of all rows, by code. */
static void number_by_code(alm_join_table *table, uint32_t col, uint32_t *number)
{
    table->dict = table->rows.col[col].dict;
    table->n_numbers = table->dict->count;
    memcpy(number, table->rows.col[col].data, (size_t)table->n * sizeof *number);
}

static alm_status number_by_map(alm_ctx *cx, alm_join_table *table, const alm_plan *plan,
                                uint32_t *number)
{
    const uint32_t n_keys = plan->join.n_keys;
    const alm_expr *const *keys = (const alm_expr *const *)plan->join.right_keys;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &types));
    for (uint32_t key = 0; key < n_keys; key++)
        types[key] = keys[key]->type;
    ALM_TRY(alm_rows_number(cx, &table->rows, keys, types, n_keys, number, &table->map));
    table->n_numbers = alm_keymap_count(table->map);
    return ALM_OK;
}

/* first[] and list[] from the numbers of the rows: a counting sort, or one row each. */
static alm_status join_table_list_rows(alm_ctx *cx, alm_join_table *table, uint32_t *number)
{
    const size_t bytes = ((size_t)table->n_numbers + 2) * sizeof *table->first;
    ALM_TRY(alm_pool_zero(cx, &table->pool, bytes, &table->first));
    uint32_t *count = table->first + 1; /* becomes the end of each number, shifted by one */
    table->unique = true;
    for (uint32_t row = 0; row < table->n; row++) {
        if ((row & (CHECK_ROWS - 1)) == 0)
            ALM_TRY(alm_check(cx));
        if (++count[number[row]] > 1)
            table->unique = false;
    }
    if (table->unique) {
        memset(table->first, 0xff, bytes);
        for (uint32_t row = 0; row < table->n; row++)
            table->first[number[row]] = row;
        return ALM_OK;
    }
    uint32_t sum = 0;
    for (uint32_t k = 0; k < table->n_numbers; k++) {
        const uint32_t n = count[k];
        count[k] = sum; /* where number k begins; moves to its end below */
        sum += n;
    }
    ALM_TRY(alm_pool_alloc(cx, &table->pool, (size_t)table->n * sizeof *table->list, &table->list));
    for (uint32_t row = 0; row < table->n; row++) {
        if ((row & (CHECK_ROWS - 1)) == 0)
            ALM_TRY(alm_check(cx));
        table->list[count[number[row]]++] = row;
    }
    return ALM_OK; /* first[0] is 0 and first[k + 1] the end of k */
}

static alm_status join_table_number_rows(alm_ctx *cx, alm_join_table *table, const alm_plan *plan)
{
    if (!table->keyed) {
        table->n_numbers = 1;
        ALM_TRY(alm_pool_zero(cx, &table->pool, 2 * sizeof *table->first, &table->first));
        table->first[1] = table->n;
        return ALM_OK;
    }
    uint32_t *number = NULL;
    ALM_TRY(alm_pool_alloc(cx, &table->pool, ((size_t)table->n + 1) * sizeof *number, &number));
    const alm_expr *key = plan->join.right_keys[0];
    if (plan->join.n_keys == 1 && key->kind == ALM_X_COL && table->rows.col[key->col].dict != NULL)
        number_by_code(table, key->col, number);
    else
        ALM_TRY(number_by_map(cx, table, plan, number));
    ALM_TRY(join_table_list_rows(cx, table, number));
    alm_pool_free(&table->pool, number);
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- making */

/* The row that stands for "no match". */
static alm_status join_table_append_nulls(alm_ctx *cx, alm_join_table *table, const alm_plan *input)
{
    static const uint32_t no_code = 0;
    alm_vec *nulls = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, table->rows.n_cols + 1, &nulls));
    for (uint32_t c = 0; c < table->rows.n_cols; c++) {
        alm_rows_col *col = &table->rows.col[c];
        if (table->n == 0 && col->type.id == ALM_T_SYMBOL) { /* codes, as rows would have come */
            const alm_expr expr = {.kind = ALM_X_COL, .type = col->type, .col = c};
            col->dict = alm_origin_dict(input, &expr);
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
    return alm_rows_append_picked(cx, &table->rows, nulls, NULL, 1);
}

static alm_status join_fill_table(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                  alm_join_table *table)
{
    const alm_plan *input = plan->child[1];
    ALM_TRY(alm_rows_init(cx, &table->rows, &table->pool, input->cols, input->n_cols));
    ALM_TRY(alm_join_read_rows(cx, run, input, plan, &table->rows));
    table->n = table->rows.n;
    table->keyed = plan->join.n_keys > 0;
    ALM_TRY(join_table_append_nulls(cx, table, input));
    ALM_TRY(join_table_number_rows(cx, table, plan));
    if (plan->join.kind == ALM_JOIN_RIGHT || plan->join.kind == ALM_JOIN_FULL)
        ALM_TRY(alm_pool_zero(cx, &table->pool, (size_t)table->n + 1, &table->matched));
    alm_op_count_bytes(run, plan, table->pool.bytes);
    return ALM_OK;
}

alm_status alm_join_table_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_join_table **out)
{
    alm_join_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: join");
    alm_arena_init(&table->arena, cx->mem);
    alm_pool_init(&table->pool, cx->mem, WHO);
    alm_arena *outer = cx->arena;
    cx->arena = &table->arena;
    const alm_status status = join_fill_table(cx, run, plan, table);
    cx->arena = outer;
    if (status != ALM_OK) {
        alm_join_table_free(table);
        return status;
    }
    *out = table;
    return ALM_OK;
}

void alm_join_table_free(alm_join_table *table)
{
    if (table == NULL)
        return;
    alm_pool_deinit(&table->pool);
    alm_arena_deinit(&table->arena);
    free(table);
}
