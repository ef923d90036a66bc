/*
 * op_latest.c - the newest row of each key, in timestamp order. Three ways:
 *
 *   look-up   one SYMBOL key of a scan without conditions on other columns: each part keeps the last
 *             row of every symbol, so whole parts are answered without reading rows; the rest (the
 *             newest rows, in memory) is walked backward. A symbol that ended long ago costs a look at
 *             each part.
 *   backward  a chain of filters over a scan runs backward; the first row met of a key is its newest.
 *             Stops when every value the key's dictionary can still give was met.
 *   forward   any other input: the newest row of each key so far is kept, the rest forgotten.
 *
 * Rows with equal timestamps: the later row of the input wins.
 */
#include <stdlib.h>

#include "exec/data/keymap.h"
#include "exec/data/rows.h"
#include "exec/eval/eval.h"
#include "exec/eval/origin.h"
#include "exec/run/op_make.h"
#include "exec/run/scan_plan.h"
#include "exec/sort/sortkey.h"
#include "exec/stream/reverse.h"

typedef struct found_row {
    uint32_t span;
    int64_t row; /* NOT_FOUND, UNWANTED: none */
} found_row;

enum { NOT_FOUND = -1, UNWANTED = -2, LOOK_UP_MAX = 1 << 16 };

typedef struct op_latest {
    alm_op op;
    alm_pool pool;
    alm_rows rows;
    alm_arena scratch;
    alm_eval *eval;
    alm_keymap *map;
    alm_vec *keys;
    uint32_t *number, *pick;
    bool reversed;   /* rows are newest first */
    uint32_t *order; /* forward: rows in timestamp order */
    uint32_t at;
    bool read;
} op_latest;

static alm_status next_rows(alm_ctx *cx, op_latest *l, alm_batch **out)
{
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, l->rows.n - l->at);
    *out = NULL;
    if (n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = l->reversed ? l->rows.n - 1 - (l->at + i) : l->at + i;
        l->pick[i] = l->order != NULL ? l->order[row] : row;
    }
    alm_arena_reset(&l->op.batch);
    ALM_TRY(alm_rows_gather(cx, &l->rows, &l->op.batch, l->pick, n, l->op.out.cols));
    l->op.out.rows = n;
    l->at += n;
    *out = &l->op.out;
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- look-up */

/* A walk backward for the last row of each code. */
typedef struct latest_walk {
    const alm_scan_plan *sp;
    uint32_t col; /* the key, among the columns of the scan */
    alm_scan_cursor *cursor;
    bool *wanted;
    alm_vec *vecs;
    found_row *found; /* by code */
    uint32_t n_codes, missing;
} latest_walk;

/* Walks a span backward for codes not met yet. */
static alm_status walk_span(alm_ctx *cx, latest_walk *w, uint32_t span)
{
    int64_t row = w->sp->scans->span_at(w->sp->scan, span).rows;
    w->wanted[w->col] = true;
    while (row > 0 && w->missing > 0) {
        const uint32_t n = (uint32_t)ALM_MIN(row, (int64_t)ALM_BATCH_ROWS);
        row -= n;
        ALM_TRY(alm_check(cx));
        ALM_TRY(w->sp->scans->read(cx, w->cursor, span, row, n, w->wanted, w->vecs));
        for (uint32_t i = n; i-- > 0 && w->missing > 0;) {
            const uint32_t code = alm_vec_code(&w->vecs[w->col], i);
            if (code < w->n_codes && w->found[code].row == NOT_FOUND) {
                w->found[code] = (found_row){.span = span, .row = row + i};
                w->missing--;
            }
        }
    }
    w->wanted[w->col] = false;
    return ALM_OK;
}

static alm_status find_rows(alm_ctx *cx, const alm_scan_plan *sp, uint32_t col, uint32_t n_codes,
                            uint32_t missing, found_row *found)
{
    latest_walk w = {.sp = sp, .col = col, .found = found, .n_codes = n_codes, .missing = missing};
    ALM_TRY(sp->scans->cursor_new(cx, cx->arena, sp->scan, &w.cursor));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &w.vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &w.wanted));
    for (size_t i = sp->scans->span_count(sp->scan); i-- > 0 && w.missing > 0;) {
        uint32_t n = 0;
        const int32_t *last = sp->scans->last_rows(sp->scan, i, col, &n);
        ALM_TRY(alm_check(cx));
        if (last == NULL) {
            ALM_TRY(walk_span(cx, &w, (uint32_t)i));
            continue;
        }
        for (uint32_t code = 0; code < ALM_MIN(n, n_codes); code++)
            if (last[code] >= 0 && found[code].row == NOT_FOUND) {
                found[code] = (found_row){.span = (uint32_t)i, .row = last[code]};
                w.missing--;
            }
    }
    return ALM_OK;
}

static int by_place(const void *a, const void *b)
{
    const found_row *x = a, *y = b;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Reads the rows found, in order; neighbours within a batch are read together. */
static alm_status fetch_rows(alm_ctx *cx, op_latest *l, const alm_scan_plan *sp, found_row *found,
                             uint32_t n)
{
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *wanted = NULL;
    ALM_TRY(sp->scans->cursor_new(cx, cx->arena, sp->scan, &cur));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &wanted));
    memset(wanted, 1, sp->n_cols);
    for (uint32_t i = 0; i < n;) {
        uint32_t k = 0;
        const found_row first = found[i];
        for (; i < n && found[i].span == first.span && found[i].row < first.row + ALM_BATCH_ROWS;
             i++)
            l->pick[k++] = (uint32_t)(found[i].row - first.row);
        ALM_TRY(alm_check(cx));
        ALM_TRY(sp->scans->read(cx, cur, first.span, first.row, l->pick[k - 1] + 1, wanted, vecs));
        ALM_TRY(alm_rows_append_picked(cx, &l->rows, vecs, l->pick, k));
    }
    return ALM_OK;
}

/* Which codes pass the conditions that read the key alone: those are worth waiting for. */
static alm_status codes_that_pass(alm_ctx *cx, const alm_plan *scan, uint32_t col,
                                  const alm_dict *dict, uint8_t *pass)
{
    bool *used = NULL;
    alm_batch in = {.n_cols = scan->scan.n_cols};
    memset(pass, 1, dict->count);
    ALM_TRY(ALM_NEWN(cx, cx->arena, in.n_cols + 1, &used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, in.n_cols + 1, &in.cols));
    for (uint32_t f = 0; f < scan->scan.n_filters; f++) {
        const alm_expr *e = scan->scan.filter[f];
        bool only = true;
        memset(used, 0, in.n_cols * sizeof *used);
        alm_expr_cols(e, used, in.n_cols);
        for (uint32_t c = 0; c < in.n_cols; c++)
            only &= used[c] == (c == col);
        if (!only || alm_eval_expr_volatile(e))
            continue;
        alm_eval *eval = NULL;
        ALM_TRY(alm_eval_new(cx, &e, 1, &eval));
        alm_status st = ALM_OK;
        for (uint32_t at = 0; at < dict->count && st == ALM_OK; at += ALM_BATCH_ROWS) {
            alm_vec out;
            in.rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, dict->count - at);
            in.cols[col] = (alm_vec){.type = ALM_TY(SYMBOL),
                                     .width = sizeof(alm_view),
                                     .data = (void *)(uintptr_t)(dict->views + at)};
            st = alm_eval_run(cx, eval, cx->arena, &in, &out);
            for (uint32_t i = 0; st == ALM_OK && i < in.rows; i++)
                pass[at + i] &= ((const uint8_t *)out.data)[out.is_const ? 0 : i];
        }
        alm_eval_free(eval);
        ALM_TRY(st);
    }
    return ALM_OK;
}

/* Do all conditions of a scan read this column alone, and always answer the same? */
static alm_status conditions_on(alm_ctx *cx, const alm_plan *scan, uint32_t col, bool *out)
{
    bool *used = NULL;
    *out = true;
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->scan.n_cols + 1, &used));
    for (uint32_t f = 0; f < scan->scan.n_filters; f++) {
        alm_expr_cols(scan->scan.filter[f], used, scan->scan.n_cols);
        *out &= !alm_eval_expr_volatile(scan->scan.filter[f]);
    }
    for (uint32_t c = 0; c < scan->scan.n_cols; c++)
        *out &= c == col || !used[c];
    return ALM_OK;
}

static alm_status can_look_up(alm_ctx *cx, const op_latest *l, uint32_t *col, bool *out)
{
    const alm_plan *scan = l->op.plan->child[0];
    const alm_expr *key = l->op.plan->latest.keys[0];
    alm_origin from;
    *out = false;
    if (scan->op != ALM_P_SCAN || scan->scan.backward || l->op.plan->latest.n_keys != 1 ||
        key->type.id != ALM_T_SYMBOL || !alm_origin_of(scan, key, &from) ||
        from.column->dict == NULL ||
        (scan->scan.n_filters > 0 && from.column->dict->count > LOOK_UP_MAX))
        return ALM_OK;
    for (uint32_t i = 0; i < scan->scan.n_cols; i++)
        if (scan->scan.cols[i] == ALM_SCAN_ROW)
            return ALM_OK;
    *col = from.scan_col;
    return conditions_on(cx, scan, *col, out);
}

static alm_status look_up(alm_ctx *cx, op_latest *l, uint32_t col)
{
    const alm_scan_plan *sp = NULL;
    const alm_plan *scan = l->op.plan->child[0];
    const alm_dict *dict = scan->scan.table->cols[scan->scan.cols[col]].dict;
    found_row *found = NULL;
    uint8_t *pass = NULL;
    uint32_t n = 0, missing = 0;
    ALM_TRY(alm_op_shared(cx, l->op.run, scan, &sp));
    ALM_TRY(alm_pool_alloc(cx, &l->pool, dict->count * sizeof *found, &found));
    ALM_TRY(alm_pool_alloc(cx, &l->pool, dict->count, &pass));
    ALM_TRY(codes_that_pass(cx, scan, col, dict, pass));
    for (uint32_t c = 0; c < dict->count; c++) {
        found[c].row = pass[c] ? NOT_FOUND : UNWANTED;
        missing += pass[c];
    }
    ALM_TRY(find_rows(cx, sp, col, dict->count, missing, found));
    for (uint32_t c = 0; c < dict->count; c++)
        if (found[c].row >= 0)
            found[n++] = found[c];
    qsort(found, n, sizeof *found, by_place);
    return fetch_rows(cx, l, sp, found, n);
}

/* -------------------------------------------------------------------------------- backward */

/* Does the column hold a null anywhere in the scan? Asked of statistics first. */
static alm_status has_null(alm_ctx *cx, const alm_scan_plan *sp, uint32_t col, bool *out)
{
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *wanted = NULL;
    *out = true;
    ALM_TRY(sp->scans->cursor_new(cx, cx->arena, sp->scan, &cur));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sp->n_cols + 1, &wanted));
    wanted[col] = true;
    for (size_t s = 0; s < sp->scans->span_count(sp->scan); s++) { /* from row 0: whole blocks */
        const int64_t rows = sp->scans->span_at(sp->scan, s).rows;
        for (int64_t row = 0; row < rows;) {
            alm_col_stats stats;
            int64_t left = 0;
            sp->scans->block_stats(sp->scan, s, row, col, &left, &stats);
            if (stats.valid && stats.nulls > 0)
                return ALM_OK;
            if (stats.valid) {
                row += ALM_MAX(left, 1);
                continue;
            }
            const uint32_t n = (uint32_t)ALM_MIN(rows - row, (int64_t)ALM_BATCH_ROWS);
            ALM_TRY(alm_check(cx));
            ALM_TRY(sp->scans->read(cx, cur, s, row, n, wanted, vecs));
            for (uint32_t i = 0; !vecs[col].no_nulls && i < n; i++)
                if (alm_vec_code(&vecs[col], i) == 0)
                    return ALM_OK;
            row += n;
        }
    }
    *out = false;
    return ALM_OK;
}

/* How many keys there can be at the most; UINT32_MAX: unknown. */
static alm_status key_bound(alm_ctx *cx, op_latest *l, uint32_t *out)
{
    const alm_plan *p = l->op.plan;
    const alm_scan_plan *sp = NULL;
    alm_origin from;
    uint8_t *pass = NULL;
    bool nulls = false;
    *out = UINT32_MAX;
    if (p->latest.n_keys != 1 || !alm_origin_of(p->child[0], p->latest.keys[0], &from) ||
        from.column->dict == NULL || from.scan->scan.backward)
        return ALM_OK;
    for (uint32_t i = 0; i < from.scan->scan.n_cols; i++)
        if (from.scan->scan.cols[i] == ALM_SCAN_ROW)
            return ALM_OK;
    const alm_dict *dict = from.column->dict;
    ALM_TRY(alm_pool_alloc(cx, &l->pool, dict->count, &pass));
    ALM_TRY(codes_that_pass(cx, from.scan, from.scan_col, dict, pass));
    if (pass[0]) { /* null may pass: is there one? */
        ALM_TRY(alm_op_shared(cx, l->op.run, from.scan, &sp));
        ALM_TRY(has_null(cx, sp, from.scan_col, &nulls));
        pass[0] = nulls;
    }
    *out = 0;
    for (uint32_t c = 0; c < dict->count; c++)
        *out += pass[c];
    return ALM_OK;
}

static alm_status make_keys(alm_ctx *cx, op_latest *l)
{
    const alm_plan *p = l->op.plan;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, p->latest.n_keys + 1, &types));
    ALM_TRY(ALM_NEWN(cx, cx->arena, p->latest.n_keys + 1, &l->keys));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &l->number));
    for (uint32_t k = 0; k < p->latest.n_keys; k++)
        types[k] = p->latest.keys[k]->type;
    ALM_TRY(alm_keymap_new(cx, &l->pool, types, p->latest.n_keys, &l->map));
    return alm_eval_new(cx, (const alm_expr *const *)p->latest.keys, p->latest.n_keys, &l->eval);
}

/* Picked rows of a batch of the child, all columns. */
static alm_status keep_picked(alm_ctx *cx, op_latest *l, alm_batch *in, uint32_t n)
{
    for (uint32_t c = 0; c < in->n_cols; c++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &l->scratch, in, c, &dense));
    }
    return alm_rows_append_picked(cx, &l->rows, in->cols, l->pick, n);
}

static alm_status read_backward(alm_ctx *cx, op_latest *l)
{
    uint32_t bound = 0;
    alm_plan *backward = NULL;
    ALM_TRY(make_keys(cx, l));
    ALM_TRY(alm_reverse_plan(cx, l->op.plan->child[0], &backward));
    ALM_TRY(alm_op_new(cx, l->op.run, backward, NULL, &l->op.child[0]));
    l->op.child[0]->parent = &l->op;
    ALM_TRY(key_bound(cx, l, &bound));
    l->reversed = true;
    while (alm_keymap_count(l->map) < bound) {
        alm_batch *in = NULL;
        uint32_t n = 0, next = alm_keymap_count(l->map);
        ALM_TRY(alm_op_next(cx, l->op.child[0], &in));
        if (in == NULL)
            break;
        alm_arena_reset(&l->scratch);
        ALM_TRY(alm_eval_run(cx, l->eval, &l->scratch, in, l->keys));
        ALM_TRY(alm_keymap_add(cx, l->map, l->keys, in->rows, l->number));
        for (uint32_t i = 0; i < in->rows; i++) { /* new keys get ascending numbers */
            l->pick[n] = i;
            const bool fresh = l->number[i] == next;
            n += fresh;
            next += fresh;
        }
        if (n > 0)
            ALM_TRY(keep_picked(cx, l, in, n));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- forward */

typedef struct newest {
    int64_t *ts;   /* per key */
    uint32_t *row; /* per key: of the rows kept */
    uint32_t *in;  /* per key: row of the batch at hand, or UINT32_MAX */
    uint32_t n, cap;
} newest;

static alm_status reserve_keys(alm_ctx *cx, op_latest *l, newest *w, uint32_t n)
{
    if (n > w->cap) {
        const uint32_t cap = ALM_MAX(n, 2 * w->cap);
        ALM_TRY(alm_pool_grow(cx, &l->pool, &w->ts, (size_t)w->n * 8, (size_t)cap * 8));
        ALM_TRY(alm_pool_grow(cx, &l->pool, &w->row, (size_t)w->n * 4, (size_t)cap * 4));
        ALM_TRY(alm_pool_grow(cx, &l->pool, &w->in, (size_t)w->n * 4, (size_t)cap * 4));
        w->cap = cap;
    }
    for (; w->n < n; w->n++) {
        w->ts[w->n] = INT64_MIN;
        w->row[w->n] = UINT32_MAX;
        w->in[w->n] = UINT32_MAX;
    }
    return ALM_OK;
}

static alm_status take_forward(alm_ctx *cx, op_latest *l, newest *w, alm_batch *in)
{
    alm_vec *ts = NULL;
    alm_arena_reset(&l->scratch);
    ALM_TRY(alm_eval_run(cx, l->eval, &l->scratch, in, l->keys));
    ALM_TRY(alm_keymap_add(cx, l->map, l->keys, in->rows, l->number));
    ALM_TRY(reserve_keys(cx, l, w, alm_keymap_count(l->map)));
    ALM_TRY(alm_batch_column(cx, &l->scratch, in, l->op.plan->latest.ts_col, &ts));
    const int64_t *times = ts->data;
    for (uint32_t i = 0; i < in->rows; i++) {
        const int64_t t = times[ts->is_const ? 0 : i];
        const uint32_t key = l->number[i];
        if (t >= w->ts[key]) {
            w->ts[key] = t;
            w->in[key] = i;
        }
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->rows; i++)
        if (w->in[l->number[i]] == i) {
            w->in[l->number[i]] = UINT32_MAX;
            w->row[l->number[i]] = l->rows.n + n;
            l->pick[n++] = i;
        }
    return n == 0 ? ALM_OK : keep_picked(cx, l, in, n);
}

/* Drops kept rows that are no longer the newest of their key. */
static alm_status forget_old(alm_ctx *cx, op_latest *l, newest *w)
{
    if (l->rows.n < 4 * w->n + 4 * ALM_BATCH_ROWS)
        return ALM_OK;
    uint32_t n = 0;
    for (uint32_t k = 0; k < w->n; k++) {
        l->order[n] = w->row[k];
        w->row[k] = n++;
    }
    return alm_rows_keep(cx, &l->rows, l->order, n);
}

static alm_status read_forward(alm_ctx *cx, op_latest *l)
{
    newest w = {0};
    uint32_t order_cap = 0;
    ALM_TRY(make_keys(cx, l));
    ALM_TRY(alm_op_child(cx, &l->op, 0));
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, l->op.child[0], &in));
        if (in == NULL)
            break;
        ALM_TRY(take_forward(cx, l, &w, in));
        if (w.n > order_cap) {
            ALM_TRY(alm_pool_grow(cx, &l->pool, &l->order, 0, (size_t)w.cap * 4));
            order_cap = w.cap;
        }
        ALM_TRY(forget_old(cx, l, &w));
    }
    alm_sort_item *item = NULL, *spare = NULL;
    ALM_TRY(alm_pool_alloc(cx, &l->pool, (w.n + 1) * sizeof *item, &item));
    ALM_TRY(alm_pool_alloc(cx, &l->pool, (w.n + 1) * sizeof *spare, &spare));
    uint32_t *all = NULL;
    ALM_TRY(alm_pool_alloc(cx, &l->pool, (w.n + 1) * sizeof *all, &all));
    for (uint32_t k = 0; k < w.n; k++)
        all[k] = w.row[k];
    if (w.n > 0)
        ALM_TRY(alm_rows_keep(cx, &l->rows, all, w.n)); /* row k is the newest of key k */
    for (uint32_t k = 0; k < w.n; k++)
        item[k].row = k;
    const alm_sort_order ascending = {.nulls_first = true};
    alm_vec ts;
    alm_rows_slice(&l->rows, l->op.plan->latest.ts_col, 0, &ts);
    ALM_TRY(alm_sort_items(cx, &ts, &ascending, 1, item, spare, w.n));
    l->order = all;
    for (uint32_t k = 0; k < w.n; k++)
        l->order[k] = item[k].row;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- life cycle */

static alm_status latest_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_latest *l = (op_latest *)op;
    if (!l->read) {
        uint32_t col = 0;
        const alm_plan *child = op->plan->child[0];
        const bool in_order =
            child->order == ALM_ORDER_ASC && child->ts_col == (int32_t)op->plan->latest.ts_col;
        bool known = false;
        if (in_order)
            ALM_TRY(can_look_up(cx, l, &col, &known));
        if (known)
            ALM_TRY(look_up(cx, l, col));
        else if (in_order && alm_reverse_can(child))
            ALM_TRY(read_backward(cx, l));
        else
            ALM_TRY(read_forward(cx, l));
        l->read = true;
    }
    return next_rows(cx, l, out);
}

static void latest_close(alm_op *op)
{
    op_latest *l = (op_latest *)op;
    alm_eval_free(l->eval);
    alm_pool_deinit(&l->pool);
    alm_arena_deinit(&l->scratch);
}

static const alm_op_vt latest_vt = {
    .name = "latest by", .next = latest_next, .close = latest_close};

alm_status alm_op_latest_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_latest *l = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &l));
    ALM_TRY(alm_op_init(cx, &l->op, &latest_vt, run, plan, pipe));
    alm_pool_init(&l->pool, cx->mem, latest_vt.name);
    alm_arena_init(&l->scratch, cx->mem);
    *out = &l->op;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols);
    ALM_TRY(alm_rows_init(cx, &l->rows, &l->pool, plan->cols, plan->n_cols));
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &l->pick);
}
