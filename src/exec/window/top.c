/*
 * top.c - see top.h.
 *
 * Store       What a thread keeps: columns of the child, keys that are no plain columns, partition
 *             number, sequence (morsel and row). When it has grown it is sorted by partition, keys and
 *             sequence, and all but the first rows go.
 * Threshold   Lowered with every row where few rows are asked for (their codes are kept in order),
 *             else when the store is pruned.
 */
#include "exec/window/top.h"

#include "exec/data/keymap.h"
#include "exec/eval/eval.h"
#include "exec/sort/sortkey.h"

enum { STORE_MIN = 8192, CODES_MAX = 32 };

/* Two pools: pruning copies the winners and drops the rest with their texts. */
typedef struct top_store {
    alm_pool pool, other;
    alm_rows rows;
    uint32_t kept; /* rows after it was pruned last */
} top_store;

typedef struct top_slot {
    top_store store;
    alm_pool pool;
    alm_arena scratch;
    alm_eval *eval;
    alm_sort_order *order;
    alm_vec *vec;  /* results of eval: partition keys, ORDER BY keys */
    alm_vec *cols; /* columns of the store */
    alm_keymap *map;
    const alm_dict *dict; /* numbers are its codes */
    uint32_t *number, *pick, *under;
    uint64_t *code;
    /* by partition: codes of the first rows, ascending, the last one is the threshold */
    uint64_t *best;
    uint32_t n_parts;
    bool ready;
} top_slot;

struct alm_window_top {
    const alm_plan *plan;
    const alm_window_call *call;
    uint32_t top, n_codes; /* rows per partition; codes kept per partition */
    bool ties;             /* rows that tie with the last one count too */
    uint32_t n_child, n_keys, n_exprs, n_cols;
    uint32_t *key_col; /* of the store: number, keys, sequence */
    const alm_expr **expr;
    alm_plan_col *col;
    alm_pipe *pipe;
    alm_run *run;
    top_slot *slot, own;
    uint32_t n_slots, at;
    uint32_t *result;
    alm_batch out;
    bool read;
};

/* ------------------------------------------------------------------------------------ slots */

static alm_status slot_ready(alm_ctx *cx, const alm_window_top *t, top_slot *s)
{
    if (s->ready)
        return ALM_OK;
    alm_pool_init(&s->store.pool, cx->mem, "window");
    alm_pool_init(&s->store.other, cx->mem, "window");
    alm_pool_init(&s->pool, cx->mem, "window");
    alm_arena_init(&s->scratch, cx->mem);
    s->ready = true;
    ALM_TRY(alm_rows_init(cx, &s->store.rows, &s->store.pool, t->col, t->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_keys, &s->order));
    s->order[0] = s->order[t->n_keys - 1] = (alm_sort_order){.nulls_first = true};
    for (uint32_t k = 0; k < t->call->n_order; k++)
        s->order[k + 1] = (alm_sort_order){.desc = t->call->order[k].desc,
                                           .nulls_first = t->call->order[k].nulls_first};
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_exprs + 1, &s->vec));
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_cols + 1, &s->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->under));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->code));
    return alm_eval_new(cx, t->expr, t->n_exprs, &s->eval);
}

static void slot_close(top_slot *s)
{
    if (!s->ready)
        return;
    alm_eval_free(s->eval);
    alm_pool_deinit(&s->store.pool);
    alm_pool_deinit(&s->store.other);
    alm_pool_deinit(&s->pool);
    alm_arena_deinit(&s->scratch);
}

/* ---------------------------------------------------------------------------------- pruning */

/* Row numbers of the store in order of partition, keys and sequence. */
static alm_status order_rows(alm_ctx *cx, const alm_window_top *t, top_slot *s, uint32_t first_key,
                             alm_vec *key, alm_sort_item **out)
{
    const uint32_t n = s->store.rows.n;
    alm_sort_item *item = NULL;
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, ((size_t)n + 1) * 2 * sizeof *item, &item));
    for (uint32_t k = 0; k < t->n_keys; k++) {
        alm_rows_slice(&s->store.rows, t->key_col[k], 0, &key[k]);
        ALM_TRY(alm_sort_rank(cx, &s->pool, &key[k], &s->order[k]));
    }
    for (uint32_t i = 0; i < n; i++)
        item[i] = (alm_sort_item){.row = i};
    ALM_TRY(alm_sort_items(cx, key + first_key, s->order + first_key, t->n_keys - first_key, item,
                           item + n, n));
    *out = item;
    return ALM_OK;
}

static bool ties(const alm_window_top *t, const top_slot *s, const alm_vec *key, uint32_t a,
                 uint32_t b)
{
    for (uint32_t k = 1; k <= t->call->n_order; k++)
        if (alm_sort_compare(&key[k], &s->order[k], a, b) != 0)
            return false;
    return true;
}

/* Drops what is not among the first of its partition, and sets thresholds where no codes are kept. */
static alm_status prune(alm_ctx *cx, const alm_window_top *t, top_slot *s)
{
    alm_sort_item *item = NULL;
    alm_vec *key = NULL;
    uint32_t *pick = NULL, m = 0;
    const uint32_t n = s->store.rows.n;
    ALM_TRY(ALM_NEWN(cx, &s->scratch, t->n_keys, &key));
    ALM_TRY(order_rows(cx, t, s, 0, key, &item));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, ((size_t)n + 1) * sizeof *pick, &pick));
    const uint32_t *number = key[0].data;
    for (uint32_t lo = 0, hi = 0; lo < n; lo = hi) {
        const uint32_t part = number[item[lo].row];
        for (hi = lo; hi < n && number[item[hi].row] == part;)
            hi++;
        uint32_t end = ALM_MIN(hi, lo + t->top);
        while (t->ties && end < hi && ties(t, s, key, item[end - 1].row, item[end].row))
            end++;
        if (t->n_codes == 1 && t->top > 1 && hi - lo >= t->top)
            alm_sort_encode(&key[1], &s->order[1], &item[lo + t->top - 1].row, 1, &s->best[part]);
        for (uint32_t i = lo; i < end; i++)
            pick[m++] = item[i].row;
    }
    ALM_TRY(alm_rows_keep_moved(cx, &s->store.rows, &s->store.other, &s->scratch, pick, m));
    s->store.kept = m;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- partitions */

static alm_status map_codes(alm_ctx *cx, const alm_window_top *t, top_slot *s)
{
    alm_type *types = NULL;
    const uint32_t n_keys = t->call->n_partition;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &types));
    for (uint32_t k = 0; k < n_keys; k++)
        types[k] = t->call->partition[k]->type;
    ALM_TRY(alm_keymap_new(cx, &s->pool, types, n_keys, &s->map));
    for (uint32_t at = 0; s->dict != NULL && at < s->dict->count; at += ALM_BATCH_ROWS) {
        const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, s->dict->count - at);
        for (uint32_t i = 0; i < n; i++)
            s->under[i] = at + i;
        const alm_vec v = {
            .type = types[0], .width = sizeof *s->under, .dict = s->dict, .data = s->under};
        ALM_TRY(alm_keymap_add(cx, s->map, &v, n, s->number));
    }
    s->dict = NULL;
    return ALM_OK;
}

static alm_status number_rows(alm_ctx *cx, const alm_window_top *t, top_slot *s, uint32_t n)
{
    const uint32_t n_keys = t->call->n_partition;
    const alm_vec *v = s->vec;
    uint32_t parts = 1;
    if (n_keys == 1 && v->dict != NULL && s->map == NULL &&
        (s->dict == NULL || s->dict->id == v->dict->id)) {
        s->dict = v->dict;
        parts = v->dict->count;
        for (uint32_t i = 0; i < n; i++)
            s->number[i] = alm_vec_code(v, i);
    } else if (n_keys > 0) {
        if (s->map == NULL)
            ALM_TRY(map_codes(cx, t, s));
        ALM_TRY(alm_keymap_add(cx, s->map, v, n, s->number));
        parts = alm_keymap_count(s->map);
    }
    if (parts <= s->n_parts)
        return ALM_OK;
    parts = ALM_MAX(parts, 2 * s->n_parts);
    const size_t old = (size_t)s->n_parts * t->n_codes, all = (size_t)parts * t->n_codes;
    ALM_TRY(alm_pool_grow(cx, &s->pool, &s->best, old * sizeof *s->best, all * sizeof *s->best));
    memset(s->best + old, 0xff, (all - old) * sizeof *s->best);
    s->n_parts = parts;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- reading */

/* The code takes its place among the best of its partition. */
static void note_code(uint64_t *best, uint32_t n, uint64_t code)
{
    uint32_t at = n - 1;
    for (; at > 0 && best[at - 1] > code; at--)
        best[at] = best[at - 1];
    best[at] = code;
}

/* Rows that may be among the first of their partition. strict: a row that ties comes too late. */
static uint32_t candidates(const alm_window_top *t, top_slot *s, uint32_t n, bool strict)
{
    const uint32_t k = t->n_codes;
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *best = &s->best[(size_t)s->number[i] * k];
        const uint64_t code = s->code[i], limit = best[k - 1];
        if (code > limit || (strict && code == limit && code != UINT64_MAX))
            continue;
        s->pick[m++] = i;
        if (t->top == k && code < limit)
            note_code(best, k, code);
    }
    return m;
}

static alm_status picked_column(alm_ctx *cx, top_slot *s, const alm_batch *in, const alm_vec *col,
                                uint32_t m, alm_vec *out)
{
    if (col->is_const)
        return alm_vec_expand(cx, &s->scratch, col, m, out);
    alm_vec plain = *col;
    plain.indirect = false;
    if (!col->indirect)
        return alm_vec_gather(cx, &s->scratch, &plain, s->pick, m, out);
    for (uint32_t i = 0; i < m; i++)
        s->under[i] = in->sel[s->pick[i]];
    return alm_vec_gather(cx, &s->scratch, &plain, s->under, m, out);
}

static alm_status store_rows(alm_ctx *cx, const alm_window_top *t, top_slot *s, const alm_batch *in,
                             uint32_t m, uint64_t sequence)
{
    int64_t *row = NULL;
    uint32_t *number = NULL, c = 0;
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, m * sizeof *row, &row));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, m * sizeof *number, &number));
    for (uint32_t i = 0; i < m; i++) {
        row[i] = (int64_t)(sequence + s->pick[i]);
        number[i] = s->number[s->pick[i]];
    }
    for (; c < t->n_child; c++)
        ALM_TRY(picked_column(cx, s, in, &in->cols[c], m, &s->cols[c]));
    for (uint32_t k = 0; k < t->call->n_order; k++)
        if (t->key_col[k + 1] >= t->n_child)
            ALM_TRY(picked_column(cx, s, in, &s->vec[t->call->n_partition + k], m, &s->cols[c++]));
    s->cols[c++] = (alm_vec){.type = ALM_TY(INT), .width = 4, .data = number};
    s->cols[c++] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = row};
    ALM_ASSERT(c == t->n_cols);
    return alm_rows_append_picked(cx, &s->store.rows, s->cols, NULL, m);
}

static alm_status take_batch(alm_ctx *cx, const alm_window_top *t, top_slot *s, alm_batch *in,
                             uint64_t sequence)
{
    alm_arena_reset(&s->scratch);
    ALM_TRY(alm_eval_run(cx, s->eval, &s->scratch, in, s->vec));
    ALM_TRY(number_rows(cx, t, s, in->rows));
    const alm_vec *key = &s->vec[t->call->n_partition];
    ALM_TRY(alm_sort_rank(cx, &s->pool, key, &s->order[1]));
    alm_sort_encode(key, &s->order[1], NULL, in->rows, s->code);
    const bool strict = !t->ties && t->call->n_order == 1 && alm_sort_exact(key, &s->order[1]);
    const uint32_t m = candidates(t, s, in->rows, strict);
    if (m == 0)
        return ALM_OK;
    ALM_TRY(store_rows(cx, t, s, in, m, sequence));
    return s->store.rows.n > 2 * s->store.kept + STORE_MIN ? prune(cx, t, s) : ALM_OK;
}

static alm_status take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel, alm_op *input)
{
    alm_window_top *t = arg;
    uint64_t sequence = (uint64_t)morsel << 36; /* a morsel has fewer rows; one morsel may be all */
    ALM_TRY(slot_ready(cx, t, &t->slot[slot]));
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        const uint32_t n = in->rows;
        if (n > 0)
            ALM_TRY(take_batch(cx, t, &t->slot[slot], in, sequence));
        sequence += n;
    }
}

/* ----------------------------------------------------------------------------------- results */

/* What the threads kept, in input order. */
static alm_status read_input(alm_ctx *cx, alm_window_top *t)
{
    alm_vec *key = NULL;
    alm_sort_item *item = NULL;
    ALM_TRY(alm_pipe_new(cx, t->run, t->plan->child[0], t->plan, &t->pipe));
    t->n_slots = alm_pipe_slots(t->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_slots, &t->slot));
    ALM_TRY(alm_pipe_run(cx, t->pipe, 0, alm_pipe_morsels(t->pipe), take_morsel, t));
    ALM_TRY(slot_ready(cx, t, &t->own));
    for (uint32_t i = 0; i < t->n_slots; i++) {
        top_slot *s = &t->slot[i];
        if (!s->ready || s->store.rows.n == 0)
            continue;
        alm_arena_reset(&s->scratch);
        ALM_TRY(prune(cx, t, s));
        for (uint32_t c = 0; c < t->n_cols; c++)
            alm_rows_slice(&s->store.rows, c, 0, &t->own.cols[c]);
        ALM_TRY(alm_rows_append_picked(cx, &t->own.store.rows, t->own.cols, NULL, s->store.rows.n));
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_keys, &key));
    ALM_TRY(order_rows(cx, t, &t->own, t->n_keys - 1, key, &item));
    const uint32_t n = t->own.store.rows.n;
    ALM_TRY(alm_pool_alloc(cx, &t->own.pool, ((size_t)n + 1) * sizeof *t->result, &t->result));
    for (uint32_t i = 0; i < n; i++)
        t->result[i] = item[i].row;
    return ALM_OK;
}

alm_status alm_window_top_next(alm_ctx *cx, alm_window_top *t, alm_batch **out)
{
    *out = NULL;
    if (!t->read) {
        ALM_TRY(read_input(cx, t));
        t->read = true;
    }
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, t->own.store.rows.n - t->at);
    if (n == 0)
        return ALM_OK;
    alm_rows shown = t->own.store.rows;
    shown.n_cols = t->n_child;
    alm_arena_reset(&t->own.scratch);
    ALM_TRY(alm_rows_gather(cx, &shown, &t->own.scratch, t->result + t->at, n, t->out.cols));
    t->out.rows = n;
    t->out.n_cols = t->n_child;
    t->at += n;
    *out = &t->out;
    return ALM_OK;
}

/* Columns of the store: the child's, keys that are none of them, number, sequence. */
static alm_status lay_out(alm_ctx *cx, alm_window_top *t)
{
    const alm_window_call *c = t->call;
    t->n_exprs = c->n_partition + c->n_order;
    t->n_keys = c->n_order + 2;
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_exprs + 1, &t->expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_keys, &t->key_col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_child + t->n_keys, &t->col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_child + 1, &t->out.cols));
    memcpy(t->col, t->plan->child[0]->cols, t->n_child * sizeof *t->col);
    t->n_cols = t->n_child;
    for (uint32_t k = 0; k < c->n_partition; k++)
        t->expr[k] = c->partition[k];
    for (uint32_t k = 0; k < c->n_order; k++) {
        const alm_expr *e = t->expr[c->n_partition + k] = c->order[k].expr;
        t->key_col[k + 1] = e->kind == ALM_X_COL ? e->col : t->n_cols;
        if (e->kind != ALM_X_COL)
            t->col[t->n_cols++] = (alm_plan_col){"", e->type};
    }
    t->key_col[0] = t->n_cols;
    t->col[t->n_cols++] = (alm_plan_col){"", ALM_TY(INT)};
    t->key_col[t->n_keys - 1] = t->n_cols;
    t->col[t->n_cols++] = (alm_plan_col){"", ALM_TY(LONG)};
    return ALM_OK;
}

alm_status alm_window_top_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_window_top **out)
{
    alm_window_top *t = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &t));
    t->plan = plan;
    t->run = run;
    t->call = &plan->window.calls[0];
    t->top = (uint32_t)plan->window.top;
    t->ties = plan->window.top_ties;
    t->n_codes = t->top <= CODES_MAX ? t->top : 1;
    t->n_child = plan->child[0]->n_cols;
    ALM_ASSERT(t->call->n_order > 0);
    *out = t;
    return lay_out(cx, t);
}

void alm_window_top_free(alm_window_top *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; t->slot != NULL && i < t->n_slots; i++)
        slot_close(&t->slot[i]);
    slot_close(&t->own);
    alm_pipe_free(t->pipe); /* last: the slots live in its arenas */
}
