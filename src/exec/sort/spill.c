/*
 * spill.c - ORDER BY over its memory: sorted runs in temporary files, and their merge.
 *
 * Runs     A thread whose store comes near the limit sorts it, writes it and goes on with an empty one.
 *          Where even the order does not fit, the store is written in several runs.
 * Merge    A heap of readers by code of the first key, the other keys, the sequence. More runs than
 *          readers fit: groups of runs are merged to new runs first.
 * Batches  The picks of a batch are chained per reader, so that rows move column by column.
 */
#include "exec/sort/sort.h"

enum {
    RUN_ROWS = 1024, /* per batch in a file */
    MERGED_ROWS =
        ALM_BATCH_ROWS,      /* of the result, as without files: sums above see the same batches */
    MARGIN_MIN = 512 * 1024, /* left free: arenas, buffers of files */
    MARGIN_MAX = 64 * 1024 * 1024,
    READER_BYTES = 3 * ALM_SPILL_BLOCK_BYTES,
    FAN_IN_MAX = 64
};

/* ------------------------------------------------------------------------------------ memory */

static int64_t sort_spill_row_bytes(const alm_sort *sort)
{
    int64_t bytes = 0;
    for (uint32_t col = 0; col < sort->n_cols; col++)
        bytes += sort->own.store.rows.col[col].width;
    return bytes;
}

static bool sort_may_spill(const alm_ctx *cx, const alm_sort *sort)
{
    return alm_spill_allowed(cx, sort->op.run->env.spill);
}

/* What a store may still take: an eighth of the whole is for others. */
static int64_t sort_spill_room_for(const alm_sort_slot *slot)
{
    int64_t limit = 0;
    const int64_t room = alm_pool_room(&slot->store.pool, &limit);
    if (room == INT64_MAX)
        return room;
    return room - ALM_MAX((int64_t)MARGIN_MIN, ALM_MIN((int64_t)MARGIN_MAX, limit / 8));
}

alm_status alm_sort_make_room(alm_ctx *cx, alm_sort *sort, alm_sort_slot *slot, uint32_t rows)
{
    const alm_rows *st = &slot->store.rows;
    if (st->n == 0 || !sort_may_spill(cx, sort))
        return ALM_OK;
    const int64_t n = (int64_t)st->n + rows;
    int64_t need = n * 2 * (int64_t)sizeof(alm_sort_item);
    if (n > st->cap) /* twice as many, beside the old ones while they move */
        need += ALM_MAX(2 * (int64_t)st->cap, n) * sort_spill_row_bytes(sort);
    return need > sort_spill_room_for(slot) / ALM_MAX((int64_t)sort->n_slots, 1)
               ? alm_sort_write_run(cx, sort, slot)
               : ALM_OK;
}

bool alm_sort_fits(const alm_sort *sort)
{
    int64_t rows = 0, most = 0;
    for (uint32_t i = 0; i < sort->n_slots; i++)
        if (sort->slot[i].ready) {
            rows += sort->slot[i].store.rows.n;
            most = ALM_MAX(most, sort->slot[i].store.rows.n);
        }
    if (sort->op.run->env.spill == NULL || rows == 0)
        return true;
    const int64_t copy = rows == most ? 0 : 2 * rows * sort_spill_row_bytes(sort);
    return rows < UINT32_MAX - 1 &&
           copy + rows * 2 * (int64_t)sizeof(alm_sort_item) <= sort_spill_room_for(&sort->own);
}

/* -------------------------------------------------------------------------------------- runs */

/* Rows of the store in the order of its items, as a run. */
static alm_status sort_spill_write_ordered(alm_ctx *cx, const alm_sort *sort, alm_sort_slot *slot,
                                           uint32_t first, uint32_t n)
{
    uint32_t run = 0;
    ALM_TRY(alm_spill_run(cx, slot->spill, &run));
    for (uint32_t place = 0; place < n; place += RUN_ROWS) {
        const uint32_t m = ALM_MIN((uint32_t)RUN_ROWS, n - place);
        alm_arena_reset(&slot->scratch);
        for (uint32_t i = 0; i < m; i++)
            slot->pick[i] = first + slot->store.item[place + i].row;
        ALM_TRY(alm_rows_gather(cx, &slot->store.rows, &slot->scratch, slot->pick, m, slot->cols));
        ALM_TRY(alm_spill_append(cx, slot->spill, run, slot->cols, m));
    }
    (void)sort;
    return alm_spill_end(cx, slot->spill, run);
}

/* The store without its rows; the room of its columns is kept, their text goes. */
static alm_status empty_store(alm_ctx *cx, const alm_sort *sort, alm_sort_slot *slot)
{
    alm_sort_store *store = &slot->store;
    alm_pool_deinit(&store->pool);
    store->item = store->spare = NULL;
    store->cap = 0;
    alm_pool_deinit(&slot->ranks);
    for (uint32_t key = 0; key < sort->n_keys; key++)
        slot->order[key].rank = NULL;
    return alm_rows_init(cx, &store->rows, &store->pool, sort->cols, sort->n_cols);
}

alm_status alm_sort_write_run(alm_ctx *cx, alm_sort *sort, alm_sort_slot *slot)
{
    alm_sort_store *store = &slot->store;
    const uint32_t n_rows = store->rows.n;
    if (n_rows == 0)
        return ALM_OK;
    if (!sort_may_spill(cx, sort))
        return alm_fail(cx, ALM_E_MEMORY, -1,
                        "the sort needs more memory than its limit, and temporary files are off "
                        "(query.spill.max is 0)");
    if (slot->spill == NULL)
        ALM_TRY(alm_spill_new(cx, sort->op.run->env.spill, sort->n_cols, "sort", &slot->spill));
    const int64_t room = sort_spill_room_for(slot) / 2 / (2 * (int64_t)sizeof(alm_sort_item));
    const uint32_t piece =
        (uint32_t)ALM_MIN(ALM_MAX(room, (int64_t)ALM_BATCH_ROWS), (int64_t)n_rows);
    const alm_rows all = store->rows;
    for (uint32_t place = 0; place < n_rows; place += piece) {
        /* the order is found on a window of the store */
        store->rows.n = ALM_MIN(piece, n_rows - place);
        for (uint32_t col = 0; col < sort->n_cols; col++)
            store->rows.col[col].data += (size_t)place * store->rows.col[col].width;
        const alm_status status = alm_sort_store_order(cx, sort, slot, false);
        for (uint32_t col = 0; col < sort->n_cols; col++)
            store->rows.col[col].data -= (size_t)place * store->rows.col[col].width;
        const uint32_t m = store->rows.n;
        store->rows.n = all.n;
        ALM_TRY(status);
        ALM_TRY(sort_spill_write_ordered(cx, sort, slot, place, m));
    }
    alm_op_count_bytes(sort->op.run, sort->op.plan, alm_spill_bytes(slot->spill));
    return empty_store(cx, sort, slot);
}

/* ------------------------------------------------------------------------------------- merge */

typedef struct source_run {
    const alm_spill *spill;
    uint32_t run;
} source_run;

typedef struct merge_in {
    alm_spill_reader *reader;
    alm_batch *in;
    uint64_t *code; /* of the first key, by row of the batch */
    uint32_t at, code_cap;
    uint32_t first, last; /* chain of positions of the result, NONE: none */
} merge_in;

enum { NONE = UINT32_MAX };

struct alm_sort_merge {
    const alm_sort *s;
    alm_sort_order *order; /* without ranks: batches come in any form */
    alm_pool pool, small;
    alm_spill *spill; /* of runs that were merged before */
    merge_in *input;
    merge_in **heap;
    uint32_t n_inputs, n_heap;
    alm_rows rows;
    uint32_t n, *row, *next, *perm, *pick, *place;
    alm_vec *cols;
    alm_arena batch;
    alm_batch out;
};

static int compare_inputs(const alm_sort_merge *merge, const merge_in *a, const merge_in *b)
{
    const alm_sort *sort = merge->s;
    if (a->code[a->at] != b->code[b->at])
        return a->code[a->at] < b->code[b->at] ? -1 : 1;
    for (uint32_t k = 0; k <= sort->n_keys; k++) { /* the sequence is the last one */
        const uint32_t col = sort->key_col[k];
        const int r = alm_sort_compare_two(&a->in->cols[col], a->at, &b->in->cols[col], b->at,
                                           &merge->order[k]);
        if (r != 0)
            return r;
    }
    return 0;
}

static void sort_spill_sift_down(alm_sort_merge *merge, uint32_t place)
{
    merge_in *x = merge->heap[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= merge->n_heap)
            break;
        if (child + 1 < merge->n_heap &&
            compare_inputs(merge, merge->heap[child + 1], merge->heap[child]) < 0)
            child++;
        if (compare_inputs(merge, x, merge->heap[child]) <= 0)
            break;
        merge->heap[place] = merge->heap[child];
        place = child;
    }
    merge->heap[place] = x;
}

/* The next batch of an input; in->in = NULL: it has ended. */
static alm_status sort_spill_load(alm_ctx *cx, alm_sort_merge *merge, merge_in *in)
{
    ALM_TRY(alm_spill_read(cx, in->reader, &in->in));
    in->at = 0;
    if (in->in == NULL)
        return ALM_OK;
    if (in->in->rows > in->code_cap) {
        ALM_TRY(alm_pool_grow(cx, &merge->small, &in->code, 0, in->in->rows * sizeof *in->code));
        in->code_cap = in->in->rows;
    }
    alm_sort_encode(&in->in->cols[merge->s->key_col[0]], &merge->order[0], NULL, in->in->rows,
                    in->code);
    return ALM_OK;
}

/* Moves the picked rows of an input to the rows of the result. */
static alm_status sort_spill_flush(alm_ctx *cx, alm_sort_merge *merge, merge_in *in)
{
    uint32_t count = 0;
    for (uint32_t i = in->first; i != NONE; i = merge->next[i]) {
        merge->pick[count] = merge->row[i];
        merge->place[count++] = i;
    }
    in->first = in->last = NONE;
    if (count == 0)
        return ALM_OK;
    const uint32_t base = merge->rows.n;
    ALM_TRY(alm_rows_append_picked(cx, &merge->rows, in->in->cols, merge->pick, count));
    for (uint32_t i = 0; i < count; i++)
        merge->perm[merge->place[i]] = base + i;
    return ALM_OK;
}

static alm_status take_top(alm_ctx *cx, alm_sort_merge *merge)
{
    merge_in *in = merge->heap[0];
    merge->row[merge->n] = in->at;
    merge->next[merge->n] = NONE;
    if (in->first == NONE)
        in->first = merge->n;
    else
        merge->next[in->last] = merge->n;
    in->last = merge->n++;
    if (++in->at == in->in->rows) {
        ALM_TRY(sort_spill_flush(cx, merge, in));
        ALM_TRY(sort_spill_load(cx, merge, in));
        if (in->in == NULL)
            merge->heap[0] = merge->heap[--merge->n_heap];
    }
    if (merge->n_heap > 0)
        sort_spill_sift_down(merge, 0);
    return ALM_OK;
}

alm_status alm_sort_merge_next(alm_ctx *cx, alm_sort_merge *merge, alm_batch **out)
{
    const alm_sort *sort = merge->s;
    *out = NULL;
    alm_arena_reset(&merge->batch);
    alm_pool_deinit(&merge->pool);
    merge->n = merge->rows.n = merge->rows.cap = 0;
    merge->rows.text = NULL;
    merge->rows.text_left = 0;
    for (uint32_t c = 0; c < sort->n_cols; c++) {
        alm_rows_col *col = &merge->rows.col[c];
        col->data = NULL;
        col->dict = NULL;
        col->width = alm_rows_width(col->type);
    }
    ALM_TRY(alm_check(cx));
    while (merge->n < MERGED_ROWS && merge->n_heap > 0)
        ALM_TRY(take_top(cx, merge));
    if (merge->n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < merge->n_inputs; i++)
        if (merge->input[i].in != NULL)
            ALM_TRY(sort_spill_flush(cx, merge, &merge->input[i]));
    ALM_TRY(alm_rows_gather(cx, &merge->rows, &merge->batch, merge->perm, merge->n, merge->cols));
    merge->out = (alm_batch){.rows = merge->n, .n_cols = sort->n_cols, .cols = merge->cols};
    *out = &merge->out;
    return ALM_OK;
}

static void close_inputs(alm_sort_merge *merge)
{
    for (uint32_t i = 0; i < merge->n_inputs; i++)
        alm_spill_reader_free(merge->input[i].reader);
    merge->n_inputs = merge->n_heap = 0;
    alm_pool_deinit(&merge->small);
}

static alm_status open_inputs(alm_ctx *cx, alm_sort_merge *merge, const source_run *run,
                              uint32_t n_runs)
{
    memset(merge->input, 0, n_runs * sizeof *merge->input);
    for (uint32_t i = 0; i < n_runs; i++) {
        merge_in *in = &merge->input[i];
        in->first = in->last = NONE;
        ALM_TRY(alm_spill_reader_new(cx, run[i].spill, run[i].run, &in->reader));
        merge->n_inputs++;
        ALM_TRY(sort_spill_load(cx, merge, in));
        if (in->in != NULL)
            merge->heap[merge->n_heap++] = in;
    }
    for (uint32_t i = merge->n_heap / 2; i-- > 0;)
        sort_spill_sift_down(merge, i);
    return ALM_OK;
}

/* One run of all rows of the inputs. */
static alm_status merge_to_run(alm_ctx *cx, alm_sort_merge *merge, alm_spill *to, uint32_t *run)
{
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, merge->s->n_cols, &cols));
    ALM_TRY(alm_spill_run(cx, to, run));
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_sort_merge_next(cx, merge, &batch));
        if (batch == NULL)
            return alm_spill_end(cx, to, *run);
        for (uint32_t place = 0; place < batch->rows; place += RUN_ROWS) {
            for (uint32_t col = 0; col < batch->n_cols; col++) {
                cols[col] = batch->cols[col];
                cols[col].data = (char *)cols[col].data + (size_t)place * cols[col].width;
            }
            ALM_TRY(alm_spill_append(cx, to, *run, cols,
                                     ALM_MIN((uint32_t)RUN_ROWS, batch->rows - place)));
        }
    }
}

/* Fewer runs: each group of `fan_in` becomes one, in a file of its own. */
static alm_status sort_spill_merge_groups(alm_ctx *cx, alm_sort_merge *merge, source_run *run,
                                          uint32_t *n, uint32_t fan_in)
{
    alm_spill *to = NULL;
    uint32_t made = 0;
    alm_status status =
        alm_spill_new(cx, merge->s->op.run->env.spill, merge->s->n_cols, "sort", &to);
    for (uint32_t place = 0; status == ALM_OK && place < *n; place += fan_in) {
        uint32_t number = 0;
        status = open_inputs(cx, merge, run + place, ALM_MIN(fan_in, *n - place));
        if (status == ALM_OK)
            status = merge_to_run(cx, merge, to, &number);
        close_inputs(merge);
        run[made++] = (source_run){.spill = to, .run = number};
    }
    if (status != ALM_OK) {
        alm_spill_free(to);
        return status;
    }
    alm_spill_free(merge->spill);
    merge->spill = to;
    *n = made;
    return ALM_OK;
}

static alm_status merge_new(alm_ctx *cx, const alm_sort *sort, alm_sort_merge **out)
{
    alm_sort_merge *merge = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &merge));
    merge->s = sort;
    alm_pool_init(&merge->pool, cx->mem, "sort");
    alm_pool_init(&merge->small, cx->mem, "sort");
    alm_arena_init(&merge->batch, cx->mem);
    *out = merge;
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_keys + 1, &merge->order));
    for (uint32_t key = 0; key < sort->n_keys; key++)
        merge->order[key] = (alm_sort_order){.desc = sort->keys[key].desc,
                                             .nulls_first = sort->keys[key].nulls_first};
    merge->order[sort->n_keys] = (alm_sort_order){.nulls_first = true};
    ALM_TRY(alm_rows_init(cx, &merge->rows, &merge->pool, sort->cols, sort->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_cols + 1, &merge->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &merge->row));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &merge->next));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &merge->perm));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &merge->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &merge->place));
    ALM_TRY(ALM_NEWN(cx, cx->arena, FAN_IN_MAX, &merge->input));
    return ALM_NEWN(cx, cx->arena, FAN_IN_MAX, &merge->heap);
}

alm_status alm_sort_merge_open(alm_ctx *cx, alm_sort *sort)
{
    source_run *run = NULL;
    uint32_t count = 0;
    int64_t limit = 0;
    ALM_TRY(merge_new(cx, sort, &sort->merge));
    for (uint32_t i = 0; i < sort->n_slots; i++)
        count += sort->slot[i].spill != NULL ? alm_spill_runs(sort->slot[i].spill) : 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, count + 1, &run));
    count = 0;
    for (uint32_t i = 0; i < sort->n_slots; i++)
        for (uint32_t r = 0; sort->slot[i].spill != NULL && r < alm_spill_runs(sort->slot[i].spill);
             r++)
            run[count++] = (source_run){.spill = sort->slot[i].spill, .run = r};
    const int64_t room = alm_pool_room(&sort->merge->pool, &limit);
    const uint32_t fan_in =
        (uint32_t)ALM_MAX(INT64_C(2), ALM_MIN((int64_t)FAN_IN_MAX, room / 2 / READER_BYTES));
    while (count > fan_in)
        ALM_TRY(sort_spill_merge_groups(cx, sort->merge, run, &count, fan_in));
    return open_inputs(cx, sort->merge, run, count);
}

void alm_sort_merge_close(alm_sort_merge *merge)
{
    if (merge == NULL)
        return;
    close_inputs(merge);
    alm_spill_free(merge->spill);
    alm_pool_deinit(&merge->pool);
    alm_pool_deinit(&merge->small);
    alm_arena_deinit(&merge->batch);
}
