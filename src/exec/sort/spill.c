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

static int64_t row_bytes(const alm_sort *s)
{
    int64_t bytes = 0;
    for (uint32_t c = 0; c < s->n_cols; c++)
        bytes += s->own.store.rows.col[c].width;
    return bytes;
}

static bool may_spill(const alm_ctx *cx, const alm_sort *s)
{
    return alm_spill_allowed(cx, s->op.run->env.spill);
}

/* What a store may still take: an eighth of the whole is for others. */
static int64_t room_for(const alm_sort_slot *slot)
{
    int64_t limit = 0;
    const int64_t room = alm_pool_room(&slot->store.pool, &limit);
    if (room == INT64_MAX)
        return room;
    return room - ALM_MAX((int64_t)MARGIN_MIN, ALM_MIN((int64_t)MARGIN_MAX, limit / 8));
}

alm_status alm_sort_make_room(alm_ctx *cx, alm_sort *s, alm_sort_slot *slot, uint32_t rows)
{
    const alm_rows *st = &slot->store.rows;
    if (st->n == 0 || !may_spill(cx, s))
        return ALM_OK;
    const int64_t n = (int64_t)st->n + rows;
    int64_t need = n * 2 * (int64_t)sizeof(alm_sort_item);
    if (n > st->cap) /* twice as many, beside the old ones while they move */
        need += ALM_MAX(2 * (int64_t)st->cap, n) * row_bytes(s);
    return need > room_for(slot) / ALM_MAX((int64_t)s->n_slots, 1) ? alm_sort_write_run(cx, s, slot)
                                                                   : ALM_OK;
}

bool alm_sort_fits(const alm_sort *s)
{
    int64_t rows = 0, most = 0;
    for (uint32_t i = 0; i < s->n_slots; i++)
        if (s->slot[i].ready) {
            rows += s->slot[i].store.rows.n;
            most = ALM_MAX(most, s->slot[i].store.rows.n);
        }
    if (s->op.run->env.spill == NULL || rows == 0)
        return true;
    const int64_t copy = rows == most ? 0 : 2 * rows * row_bytes(s);
    return rows < UINT32_MAX - 1 &&
           copy + rows * 2 * (int64_t)sizeof(alm_sort_item) <= room_for(&s->own);
}

/* -------------------------------------------------------------------------------------- runs */

/* Rows of the store in the order of its items, as a run. */
static alm_status write_ordered(alm_ctx *cx, const alm_sort *s, alm_sort_slot *slot, uint32_t first,
                                uint32_t n)
{
    uint32_t run = 0;
    ALM_TRY(alm_spill_run(cx, slot->spill, &run));
    for (uint32_t at = 0; at < n; at += RUN_ROWS) {
        const uint32_t m = ALM_MIN((uint32_t)RUN_ROWS, n - at);
        alm_arena_reset(&slot->scratch);
        for (uint32_t i = 0; i < m; i++)
            slot->pick[i] = first + slot->store.item[at + i].row;
        ALM_TRY(alm_rows_gather(cx, &slot->store.rows, &slot->scratch, slot->pick, m, slot->cols));
        ALM_TRY(alm_spill_append(cx, slot->spill, run, slot->cols, m));
    }
    (void)s;
    return alm_spill_end(cx, slot->spill, run);
}

/* The store without its rows; the room of its columns is kept, their text goes. */
static alm_status empty_store(alm_ctx *cx, const alm_sort *s, alm_sort_slot *slot)
{
    alm_sort_store *st = &slot->store;
    alm_pool_deinit(&st->pool);
    st->item = st->spare = NULL;
    st->cap = 0;
    alm_pool_deinit(&slot->ranks);
    for (uint32_t k = 0; k < s->n_keys; k++)
        slot->order[k].rank = NULL;
    return alm_rows_init(cx, &st->rows, &st->pool, s->cols, s->n_cols);
}

alm_status alm_sort_write_run(alm_ctx *cx, alm_sort *s, alm_sort_slot *slot)
{
    alm_sort_store *st = &slot->store;
    const uint32_t n = st->rows.n;
    if (n == 0)
        return ALM_OK;
    if (!may_spill(cx, s))
        return alm_fail(cx, ALM_E_MEMORY, -1,
                        "the sort needs more memory than its limit, and temporary files are off "
                        "(query.spill.max is 0)");
    if (slot->spill == NULL)
        ALM_TRY(alm_spill_new(cx, s->op.run->env.spill, s->n_cols, "sort", &slot->spill));
    const int64_t room = room_for(slot) / 2 / (2 * (int64_t)sizeof(alm_sort_item));
    const uint32_t piece = (uint32_t)ALM_MIN(ALM_MAX(room, (int64_t)ALM_BATCH_ROWS), (int64_t)n);
    const alm_rows all = st->rows;
    for (uint32_t at = 0; at < n; at += piece) {
        /* the order is found on a window of the store */
        st->rows.n = ALM_MIN(piece, n - at);
        for (uint32_t c = 0; c < s->n_cols; c++)
            st->rows.col[c].data += (size_t)at * st->rows.col[c].width;
        const alm_status e = alm_sort_store_order(cx, s, slot, false);
        for (uint32_t c = 0; c < s->n_cols; c++)
            st->rows.col[c].data -= (size_t)at * st->rows.col[c].width;
        const uint32_t m = st->rows.n;
        st->rows.n = all.n;
        ALM_TRY(e);
        ALM_TRY(write_ordered(cx, s, slot, at, m));
    }
    alm_op_count_bytes(s->op.run, s->op.plan, alm_spill_bytes(slot->spill));
    return empty_store(cx, s, slot);
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

static int compare_inputs(const alm_sort_merge *m, const merge_in *a, const merge_in *b)
{
    const alm_sort *s = m->s;
    if (a->code[a->at] != b->code[b->at])
        return a->code[a->at] < b->code[b->at] ? -1 : 1;
    for (uint32_t k = 0; k <= s->n_keys; k++) { /* the sequence is the last one */
        const uint32_t c = s->key_col[k];
        const int r =
            alm_sort_compare_two(&a->in->cols[c], a->at, &b->in->cols[c], b->at, &m->order[k]);
        if (r != 0)
            return r;
    }
    return 0;
}

static void sift_down(alm_sort_merge *m, uint32_t at)
{
    merge_in *x = m->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= m->n_heap)
            break;
        if (child + 1 < m->n_heap && compare_inputs(m, m->heap[child + 1], m->heap[child]) < 0)
            child++;
        if (compare_inputs(m, x, m->heap[child]) <= 0)
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = x;
}

/* The next batch of an input; in->in = NULL: it has ended. */
static alm_status load(alm_ctx *cx, alm_sort_merge *m, merge_in *in)
{
    ALM_TRY(alm_spill_read(cx, in->reader, &in->in));
    in->at = 0;
    if (in->in == NULL)
        return ALM_OK;
    if (in->in->rows > in->code_cap) {
        ALM_TRY(alm_pool_grow(cx, &m->small, &in->code, 0, in->in->rows * sizeof *in->code));
        in->code_cap = in->in->rows;
    }
    alm_sort_encode(&in->in->cols[m->s->key_col[0]], &m->order[0], NULL, in->in->rows, in->code);
    return ALM_OK;
}

/* Moves the picked rows of an input to the rows of the result. */
static alm_status flush(alm_ctx *cx, alm_sort_merge *m, merge_in *in)
{
    uint32_t n = 0;
    for (uint32_t i = in->first; i != NONE; i = m->next[i]) {
        m->pick[n] = m->row[i];
        m->place[n++] = i;
    }
    in->first = in->last = NONE;
    if (n == 0)
        return ALM_OK;
    const uint32_t base = m->rows.n;
    ALM_TRY(alm_rows_append_picked(cx, &m->rows, in->in->cols, m->pick, n));
    for (uint32_t i = 0; i < n; i++)
        m->perm[m->place[i]] = base + i;
    return ALM_OK;
}

static alm_status take_top(alm_ctx *cx, alm_sort_merge *m)
{
    merge_in *in = m->heap[0];
    m->row[m->n] = in->at;
    m->next[m->n] = NONE;
    if (in->first == NONE)
        in->first = m->n;
    else
        m->next[in->last] = m->n;
    in->last = m->n++;
    if (++in->at == in->in->rows) {
        ALM_TRY(flush(cx, m, in));
        ALM_TRY(load(cx, m, in));
        if (in->in == NULL)
            m->heap[0] = m->heap[--m->n_heap];
    }
    if (m->n_heap > 0)
        sift_down(m, 0);
    return ALM_OK;
}

alm_status alm_sort_merge_next(alm_ctx *cx, alm_sort_merge *m, alm_batch **out)
{
    const alm_sort *s = m->s;
    *out = NULL;
    alm_arena_reset(&m->batch);
    alm_pool_deinit(&m->pool);
    m->n = m->rows.n = m->rows.cap = 0;
    m->rows.text = NULL;
    m->rows.text_left = 0;
    for (uint32_t c = 0; c < s->n_cols; c++) {
        alm_rows_col *col = &m->rows.col[c];
        col->data = NULL;
        col->dict = NULL;
        col->width = alm_rows_width(col->type);
    }
    ALM_TRY(alm_check(cx));
    while (m->n < MERGED_ROWS && m->n_heap > 0)
        ALM_TRY(take_top(cx, m));
    if (m->n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (m->input[i].in != NULL)
            ALM_TRY(flush(cx, m, &m->input[i]));
    ALM_TRY(alm_rows_gather(cx, &m->rows, &m->batch, m->perm, m->n, m->cols));
    m->out = (alm_batch){.rows = m->n, .n_cols = s->n_cols, .cols = m->cols};
    *out = &m->out;
    return ALM_OK;
}

static void close_inputs(alm_sort_merge *m)
{
    for (uint32_t i = 0; i < m->n_inputs; i++)
        alm_spill_reader_free(m->input[i].reader);
    m->n_inputs = m->n_heap = 0;
    alm_pool_deinit(&m->small);
}

static alm_status open_inputs(alm_ctx *cx, alm_sort_merge *m, const source_run *run, uint32_t n)
{
    memset(m->input, 0, n * sizeof *m->input);
    for (uint32_t i = 0; i < n; i++) {
        merge_in *in = &m->input[i];
        in->first = in->last = NONE;
        ALM_TRY(alm_spill_reader_new(cx, run[i].spill, run[i].run, &in->reader));
        m->n_inputs++;
        ALM_TRY(load(cx, m, in));
        if (in->in != NULL)
            m->heap[m->n_heap++] = in;
    }
    for (uint32_t i = m->n_heap / 2; i-- > 0;)
        sift_down(m, i);
    return ALM_OK;
}

/* One run of all rows of the inputs. */
static alm_status merge_to_run(alm_ctx *cx, alm_sort_merge *m, alm_spill *to, uint32_t *run)
{
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, m->s->n_cols, &cols));
    ALM_TRY(alm_spill_run(cx, to, run));
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_sort_merge_next(cx, m, &in));
        if (in == NULL)
            return alm_spill_end(cx, to, *run);
        for (uint32_t at = 0; at < in->rows; at += RUN_ROWS) {
            for (uint32_t c = 0; c < in->n_cols; c++) {
                cols[c] = in->cols[c];
                cols[c].data = (char *)cols[c].data + (size_t)at * cols[c].width;
            }
            ALM_TRY(
                alm_spill_append(cx, to, *run, cols, ALM_MIN((uint32_t)RUN_ROWS, in->rows - at)));
        }
    }
}

/* Fewer runs: each group of `fan_in` becomes one, in a file of its own. */
static alm_status merge_groups(alm_ctx *cx, alm_sort_merge *m, source_run *run, uint32_t *n,
                               uint32_t fan_in)
{
    alm_spill *to = NULL;
    uint32_t made = 0;
    alm_status st = alm_spill_new(cx, m->s->op.run->env.spill, m->s->n_cols, "sort", &to);
    for (uint32_t at = 0; st == ALM_OK && at < *n; at += fan_in) {
        uint32_t number = 0;
        st = open_inputs(cx, m, run + at, ALM_MIN(fan_in, *n - at));
        if (st == ALM_OK)
            st = merge_to_run(cx, m, to, &number);
        close_inputs(m);
        run[made++] = (source_run){.spill = to, .run = number};
    }
    if (st != ALM_OK) {
        alm_spill_free(to);
        return st;
    }
    alm_spill_free(m->spill);
    m->spill = to;
    *n = made;
    return ALM_OK;
}

static alm_status merge_new(alm_ctx *cx, const alm_sort *s, alm_sort_merge **out)
{
    alm_sort_merge *m = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &m));
    m->s = s;
    alm_pool_init(&m->pool, cx->mem, "sort");
    alm_pool_init(&m->small, cx->mem, "sort");
    alm_arena_init(&m->batch, cx->mem);
    *out = m;
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_keys + 1, &m->order));
    for (uint32_t k = 0; k < s->n_keys; k++)
        m->order[k] =
            (alm_sort_order){.desc = s->keys[k].desc, .nulls_first = s->keys[k].nulls_first};
    m->order[s->n_keys] = (alm_sort_order){.nulls_first = true};
    ALM_TRY(alm_rows_init(cx, &m->rows, &m->pool, s->cols, s->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_cols + 1, &m->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &m->row));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &m->next));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &m->perm));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &m->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, MERGED_ROWS, &m->place));
    ALM_TRY(ALM_NEWN(cx, cx->arena, FAN_IN_MAX, &m->input));
    return ALM_NEWN(cx, cx->arena, FAN_IN_MAX, &m->heap);
}

alm_status alm_sort_merge_open(alm_ctx *cx, alm_sort *s)
{
    source_run *run = NULL;
    uint32_t n = 0;
    int64_t limit = 0;
    ALM_TRY(merge_new(cx, s, &s->merge));
    for (uint32_t i = 0; i < s->n_slots; i++)
        n += s->slot[i].spill != NULL ? alm_spill_runs(s->slot[i].spill) : 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &run));
    n = 0;
    for (uint32_t i = 0; i < s->n_slots; i++)
        for (uint32_t r = 0; s->slot[i].spill != NULL && r < alm_spill_runs(s->slot[i].spill); r++)
            run[n++] = (source_run){.spill = s->slot[i].spill, .run = r};
    const int64_t room = alm_pool_room(&s->merge->pool, &limit);
    const uint32_t fan_in =
        (uint32_t)ALM_MAX(INT64_C(2), ALM_MIN((int64_t)FAN_IN_MAX, room / 2 / READER_BYTES));
    while (n > fan_in)
        ALM_TRY(merge_groups(cx, s->merge, run, &n, fan_in));
    return open_inputs(cx, s->merge, run, n);
}

void alm_sort_merge_close(alm_sort_merge *m)
{
    if (m == NULL)
        return;
    close_inputs(m);
    alm_spill_free(m->spill);
    alm_pool_deinit(&m->pool);
    alm_pool_deinit(&m->small);
    alm_arena_deinit(&m->batch);
}
