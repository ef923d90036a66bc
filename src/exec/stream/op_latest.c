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

static alm_status op_latest_next_rows(alm_ctx *cx, op_latest *latest, alm_batch **out)
{
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, latest->rows.n - latest->at);
    *out = NULL;
    if (n_rows == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < n_rows; i++) {
        const uint32_t row =
            latest->reversed ? latest->rows.n - 1 - (latest->at + i) : latest->at + i;
        latest->pick[i] = latest->order != NULL ? latest->order[row] : row;
    }
    alm_arena_reset(&latest->op.batch);
    ALM_TRY(alm_rows_gather(cx, &latest->rows, &latest->op.batch, latest->pick, n_rows,
                            latest->op.out.cols));
    latest->op.out.rows = n_rows;
    latest->at += n_rows;
    *out = &latest->op.out;
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
static alm_status walk_span(alm_ctx *cx, latest_walk *walk, uint32_t span)
{
    int64_t row = walk->sp->scans->span_at(walk->sp->scan, span).rows;
    walk->wanted[walk->col] = true;
    while (row > 0 && walk->missing > 0) {
        const uint32_t n_rows = (uint32_t)ALM_MIN(row, (int64_t)ALM_BATCH_ROWS);
        row -= n_rows;
        ALM_TRY(alm_check(cx));
        ALM_TRY(
            walk->sp->scans->read(cx, walk->cursor, span, row, n_rows, walk->wanted, walk->vecs));
        for (uint32_t i = n_rows; i-- > 0 && walk->missing > 0;) {
            const uint32_t code = alm_vec_code(&walk->vecs[walk->col], i);
            if (code < walk->n_codes && walk->found[code].row == NOT_FOUND) {
                walk->found[code] = (found_row){.span = span, .row = row + i};
                walk->missing--;
            }
        }
    }
    walk->wanted[walk->col] = false;
    return ALM_OK;
}

static alm_status find_rows(alm_ctx *cx, const alm_scan_plan *scan, uint32_t col, uint32_t n_codes,
                            uint32_t missing, found_row *found)
{
    latest_walk walk = {
        .sp = scan, .col = col, .found = found, .n_codes = n_codes, .missing = missing};
    ALM_TRY(scan->scans->cursor_new(cx, cx->arena, scan->scan, &walk.cursor));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &walk.vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &walk.wanted));
    for (size_t i = scan->scans->span_count(scan->scan); i-- > 0 && walk.missing > 0;) {
        uint32_t n = 0;
        const int32_t *last = scan->scans->last_rows(scan->scan, i, col, &n);
        ALM_TRY(alm_check(cx));
        if (last == NULL) {
            ALM_TRY(walk_span(cx, &walk, (uint32_t)i));
            continue;
        }
        for (uint32_t code = 0; code < ALM_MIN(n, n_codes); code++)
            if (last[code] >= 0 && found[code].row == NOT_FOUND) {
                found[code] = (found_row){.span = (uint32_t)i, .row = last[code]};
                walk.missing--;
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
static alm_status fetch_rows(alm_ctx *cx, op_latest *latest, const alm_scan_plan *scan,
                             found_row *found, uint32_t n)
{
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *wanted = NULL;
    ALM_TRY(scan->scans->cursor_new(cx, cx->arena, scan->scan, &cur));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &wanted));
    memset(wanted, 1, scan->n_cols);
    for (uint32_t i = 0; i < n;) {
        uint32_t k = 0;
        const found_row first = found[i];
        for (; i < n && found[i].span == first.span && found[i].row < first.row + ALM_BATCH_ROWS;
             i++)
            latest->pick[k++] = (uint32_t)(found[i].row - first.row);
        ALM_TRY(alm_check(cx));
        ALM_TRY(scan->scans->read(cx, cur, first.span, first.row, latest->pick[k - 1] + 1, wanted,
                                  vecs));
        ALM_TRY(alm_rows_append_picked(cx, &latest->rows, vecs, latest->pick, k));
    }
    return ALM_OK;
}

/* Which codes pass the conditions that read the key alone: those are worth waiting for. */
static alm_status codes_that_pass(alm_ctx *cx, const alm_plan *scan, uint32_t col,
                                  const alm_dict *dict, uint8_t *pass)
{
    bool *used = NULL;
    alm_batch batch = {.n_cols = scan->scan.n_cols};
    memset(pass, 1, dict->count);
    ALM_TRY(ALM_NEWN(cx, cx->arena, batch.n_cols + 1, &used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, batch.n_cols + 1, &batch.cols));
    for (uint32_t filter = 0; filter < scan->scan.n_filters; filter++) {
        const alm_expr *expr = scan->scan.filter[filter];
        bool only = true;
        memset(used, 0, batch.n_cols * sizeof *used);
        alm_expr_cols(expr, used, batch.n_cols);
        for (uint32_t c = 0; c < batch.n_cols; c++)
            only &= used[c] == (c == col);
        if (!only || alm_eval_expr_volatile(expr))
            continue;
        alm_eval *eval = NULL;
        ALM_TRY(alm_eval_new(cx, &expr, 1, &eval));
        alm_status status = ALM_OK;
        for (uint32_t place = 0; place < dict->count && status == ALM_OK; place += ALM_BATCH_ROWS) {
            alm_vec out;
            batch.rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, dict->count - place);
            batch.cols[col] = (alm_vec){.type = ALM_TY(SYMBOL),
                                        .width = sizeof(alm_view),
                                        .data = (void *)(uintptr_t)(dict->views + place)};
            status = alm_eval_run(cx, eval, cx->arena, &batch, &out);
            for (uint32_t i = 0; status == ALM_OK && i < batch.rows; i++)
                pass[place + i] &= ((const uint8_t *)out.data)[out.is_const ? 0 : i];
        }
        alm_eval_free(eval);
        ALM_TRY(status);
    }
    return ALM_OK;
}

/* Do all conditions of a scan read this column alone, and always answer the same? */
static alm_status conditions_on(alm_ctx *cx, const alm_plan *scan, uint32_t col, bool *out)
{
    bool *used = NULL;
    *out = true;
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->scan.n_cols + 1, &used));
    for (uint32_t filter = 0; filter < scan->scan.n_filters; filter++) {
        alm_expr_cols(scan->scan.filter[filter], used, scan->scan.n_cols);
        *out &= !alm_eval_expr_volatile(scan->scan.filter[filter]);
    }
    for (uint32_t column = 0; column < scan->scan.n_cols; column++)
        *out &= column == col || !used[column];
    return ALM_OK;
}

static alm_status can_look_up(alm_ctx *cx, const op_latest *latest, uint32_t *col, bool *out)
{
    const alm_plan *scan = latest->op.plan->child[0];
    const alm_expr *key = latest->op.plan->latest.keys[0];
    alm_origin from;
    *out = false;
    if (scan->op != ALM_P_SCAN || scan->scan.backward || latest->op.plan->latest.n_keys != 1 ||
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

static alm_status op_latest_look_up(alm_ctx *cx, op_latest *latest, uint32_t col)
{
    const alm_scan_plan *scan_plan = NULL;
    const alm_plan *scan = latest->op.plan->child[0];
    const alm_dict *dict = scan->scan.table->cols[scan->scan.cols[col]].dict;
    found_row *found = NULL;
    uint8_t *pass = NULL;
    uint32_t count = 0, missing = 0;
    ALM_TRY(alm_op_shared(cx, latest->op.run, scan, &scan_plan));
    ALM_TRY(alm_pool_alloc(cx, &latest->pool, dict->count * sizeof *found, &found));
    ALM_TRY(alm_pool_alloc(cx, &latest->pool, dict->count, &pass));
    ALM_TRY(codes_that_pass(cx, scan, col, dict, pass));
    for (uint32_t c = 0; c < dict->count; c++) {
        found[c].row = pass[c] ? NOT_FOUND : UNWANTED;
        missing += pass[c];
    }
    ALM_TRY(find_rows(cx, scan_plan, col, dict->count, missing, found));
    for (uint32_t c = 0; c < dict->count; c++)
        if (found[c].row >= 0)
            found[count++] = found[c];
    qsort(found, count, sizeof *found, by_place);
    return fetch_rows(cx, latest, scan_plan, found, count);
}

/* -------------------------------------------------------------------------------- backward */

/* Does the column hold a null anywhere in the scan? Asked of statistics first. */
static alm_status op_latest_has_null(alm_ctx *cx, const alm_scan_plan *scan, uint32_t col,
                                     bool *out)
{
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *wanted = NULL;
    *out = true;
    ALM_TRY(scan->scans->cursor_new(cx, cx->arena, scan->scan, &cur));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, scan->n_cols + 1, &wanted));
    wanted[col] = true;
    for (size_t s = 0; s < scan->scans->span_count(scan->scan);
         s++) { /* from row 0: whole blocks */
        const int64_t rows = scan->scans->span_at(scan->scan, s).rows;
        for (int64_t row = 0; row < rows;) {
            alm_col_stats stats;
            int64_t left = 0;
            scan->scans->block_stats(scan->scan, s, row, col, &left, &stats);
            if (stats.valid && stats.nulls > 0)
                return ALM_OK;
            if (stats.valid) {
                row += ALM_MAX(left, 1);
                continue;
            }
            const uint32_t n_rows = (uint32_t)ALM_MIN(rows - row, (int64_t)ALM_BATCH_ROWS);
            ALM_TRY(alm_check(cx));
            ALM_TRY(scan->scans->read(cx, cur, s, row, n_rows, wanted, vecs));
            for (uint32_t i = 0; !vecs[col].no_nulls && i < n_rows; i++)
                if (alm_vec_code(&vecs[col], i) == 0)
                    return ALM_OK;
            row += n_rows;
        }
    }
    *out = false;
    return ALM_OK;
}

/* How many keys there can be at the most; UINT32_MAX: unknown. */
static alm_status key_bound(alm_ctx *cx, op_latest *latest, uint32_t *out)
{
    const alm_plan *plan = latest->op.plan;
    const alm_scan_plan *scan = NULL;
    alm_origin from;
    uint8_t *pass = NULL;
    bool nulls = false;
    *out = UINT32_MAX;
    if (plan->latest.n_keys != 1 || !alm_origin_of(plan->child[0], plan->latest.keys[0], &from) ||
        from.column->dict == NULL || from.scan->scan.backward)
        return ALM_OK;
    for (uint32_t i = 0; i < from.scan->scan.n_cols; i++)
        if (from.scan->scan.cols[i] == ALM_SCAN_ROW)
            return ALM_OK;
    const alm_dict *dict = from.column->dict;
    ALM_TRY(alm_pool_alloc(cx, &latest->pool, dict->count, &pass));
    ALM_TRY(codes_that_pass(cx, from.scan, from.scan_col, dict, pass));
    if (pass[0]) { /* null may pass: is there one? */
        ALM_TRY(alm_op_shared(cx, latest->op.run, from.scan, &scan));
        ALM_TRY(op_latest_has_null(cx, scan, from.scan_col, &nulls));
        pass[0] = nulls;
    }
    *out = 0;
    for (uint32_t col = 0; col < dict->count; col++)
        *out += pass[col];
    return ALM_OK;
}

static alm_status op_latest_make_keys(alm_ctx *cx, op_latest *latest)
{
    const alm_plan *plan = latest->op.plan;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->latest.n_keys + 1, &types));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->latest.n_keys + 1, &latest->keys));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &latest->number));
    for (uint32_t key = 0; key < plan->latest.n_keys; key++)
        types[key] = plan->latest.keys[key]->type;
    ALM_TRY(alm_keymap_new(cx, &latest->pool, types, plan->latest.n_keys, &latest->map));
    return alm_eval_new(cx, (const alm_expr *const *)plan->latest.keys, plan->latest.n_keys,
                        &latest->eval);
}

/* Picked rows of a batch of the child, all columns. */
static alm_status keep_picked(alm_ctx *cx, op_latest *latest, alm_batch *batch, uint32_t n)
{
    for (uint32_t col = 0; col < batch->n_cols; col++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &latest->scratch, batch, col, &dense));
    }
    return alm_rows_append_picked(cx, &latest->rows, batch->cols, latest->pick, n);
}

static alm_status read_backward(alm_ctx *cx, op_latest *latest)
{
    uint32_t bound = 0;
    alm_plan *backward = NULL;
    ALM_TRY(op_latest_make_keys(cx, latest));
    ALM_TRY(alm_reverse_plan(cx, latest->op.plan->child[0], &backward));
    ALM_TRY(alm_op_new(cx, latest->op.run, backward, NULL, &latest->op.child[0]));
    latest->op.child[0]->parent = &latest->op;
    ALM_TRY(key_bound(cx, latest, &bound));
    latest->reversed = true;
    while (alm_keymap_count(latest->map) < bound) {
        alm_batch *batch = NULL;
        uint32_t count = 0, next = alm_keymap_count(latest->map);
        ALM_TRY(alm_op_next(cx, latest->op.child[0], &batch));
        if (batch == NULL)
            break;
        alm_arena_reset(&latest->scratch);
        ALM_TRY(alm_eval_run(cx, latest->eval, &latest->scratch, batch, latest->keys));
        ALM_TRY(alm_keymap_add(cx, latest->map, latest->keys, batch->rows, latest->number));
        for (uint32_t i = 0; i < batch->rows; i++) { /* new keys get ascending numbers */
            latest->pick[count] = i;
            const bool fresh = latest->number[i] == next;
            count += fresh;
            next += fresh;
        }
        if (count > 0)
            ALM_TRY(keep_picked(cx, latest, batch, count));
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

static alm_status reserve_keys(alm_ctx *cx, op_latest *latest, newest *self, uint32_t n)
{
    if (n > self->cap) {
        const uint32_t cap = ALM_MAX(n, 2 * self->cap);
        ALM_TRY(alm_pool_grow(cx, &latest->pool, &self->ts, (size_t)self->n * 8, (size_t)cap * 8));
        ALM_TRY(alm_pool_grow(cx, &latest->pool, &self->row, (size_t)self->n * 4, (size_t)cap * 4));
        ALM_TRY(alm_pool_grow(cx, &latest->pool, &self->in, (size_t)self->n * 4, (size_t)cap * 4));
        self->cap = cap;
    }
    for (; self->n < n; self->n++) {
        self->ts[self->n] = INT64_MIN;
        self->row[self->n] = UINT32_MAX;
        self->in[self->n] = UINT32_MAX;
    }
    return ALM_OK;
}

static alm_status take_forward(alm_ctx *cx, op_latest *latest, newest *self, alm_batch *batch)
{
    alm_vec *ts = NULL;
    alm_arena_reset(&latest->scratch);
    ALM_TRY(alm_eval_run(cx, latest->eval, &latest->scratch, batch, latest->keys));
    ALM_TRY(alm_keymap_add(cx, latest->map, latest->keys, batch->rows, latest->number));
    ALM_TRY(reserve_keys(cx, latest, self, alm_keymap_count(latest->map)));
    ALM_TRY(alm_batch_column(cx, &latest->scratch, batch, latest->op.plan->latest.ts_col, &ts));
    const int64_t *times = ts->data;
    for (uint32_t i = 0; i < batch->rows; i++) {
        const int64_t time = times[ts->is_const ? 0 : i];
        const uint32_t key = latest->number[i];
        if (time >= self->ts[key]) {
            self->ts[key] = time;
            self->in[key] = i;
        }
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->rows; i++)
        if (self->in[latest->number[i]] == i) {
            self->in[latest->number[i]] = UINT32_MAX;
            self->row[latest->number[i]] = latest->rows.n + count;
            latest->pick[count++] = i;
        }
    return count == 0 ? ALM_OK : keep_picked(cx, latest, batch, count);
}

/* Drops kept rows that are no longer the newest of their key. */
static alm_status op_latest_forget_old(alm_ctx *cx, op_latest *latest, newest *self)
{
    if (latest->rows.n < 4 * self->n + 4 * ALM_BATCH_ROWS)
        return ALM_OK;
    uint32_t count = 0;
    for (uint32_t k = 0; k < self->n; k++) {
        latest->order[count] = self->row[k];
        self->row[k] = count++;
    }
    return alm_rows_keep(cx, &latest->rows, latest->order, count);
}

static alm_status read_forward(alm_ctx *cx, op_latest *latest)
{
    newest self = {0};
    uint32_t order_cap = 0;
    ALM_TRY(op_latest_make_keys(cx, latest));
    ALM_TRY(alm_op_child(cx, &latest->op, 0));
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, latest->op.child[0], &batch));
        if (batch == NULL)
            break;
        ALM_TRY(take_forward(cx, latest, &self, batch));
        if (self.n > order_cap) {
            ALM_TRY(alm_pool_grow(cx, &latest->pool, &latest->order, 0, (size_t)self.cap * 4));
            order_cap = self.cap;
        }
        ALM_TRY(op_latest_forget_old(cx, latest, &self));
    }
    alm_sort_item *item = NULL, *spare = NULL;
    ALM_TRY(alm_pool_alloc(cx, &latest->pool, (self.n + 1) * sizeof *item, &item));
    ALM_TRY(alm_pool_alloc(cx, &latest->pool, (self.n + 1) * sizeof *spare, &spare));
    uint32_t *all = NULL;
    ALM_TRY(alm_pool_alloc(cx, &latest->pool, (self.n + 1) * sizeof *all, &all));
    for (uint32_t k = 0; k < self.n; k++)
        all[k] = self.row[k];
    if (self.n > 0)
        ALM_TRY(alm_rows_keep(cx, &latest->rows, all, self.n)); /* row k is the newest of key k */
    for (uint32_t k = 0; k < self.n; k++)
        item[k].row = k;
    const alm_sort_order ascending = {.nulls_first = true};
    alm_vec ts;
    alm_rows_slice(&latest->rows, latest->op.plan->latest.ts_col, 0, &ts);
    ALM_TRY(alm_sort_items(cx, &ts, &ascending, 1, item, spare, self.n));
    latest->order = all;
    for (uint32_t k = 0; k < self.n; k++)
        latest->order[k] = item[k].row;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- life cycle */

static alm_status latest_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_latest *latest = (op_latest *)op;
    if (!latest->read) {
        uint32_t col = 0;
        const alm_plan *child = op->plan->child[0];
        const bool in_order =
            child->order == ALM_ORDER_ASC && child->ts_col == (int32_t)op->plan->latest.ts_col;
        bool known = false;
        if (in_order)
            ALM_TRY(can_look_up(cx, latest, &col, &known));
        if (known)
            ALM_TRY(op_latest_look_up(cx, latest, col));
        else if (in_order && alm_reverse_can(child))
            ALM_TRY(read_backward(cx, latest));
        else
            ALM_TRY(read_forward(cx, latest));
        latest->read = true;
    }
    return op_latest_next_rows(cx, latest, out);
}

static void latest_close(alm_op *op)
{
    op_latest *latest = (op_latest *)op;
    alm_eval_free(latest->eval);
    alm_pool_deinit(&latest->pool);
    alm_arena_deinit(&latest->scratch);
}

static const alm_op_vt latest_vt = {
    .name = "latest by", .next = latest_next, .close = latest_close};

alm_status alm_op_latest_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_latest *latest = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &latest));
    ALM_TRY(alm_op_init(cx, &latest->op, &latest_vt, run, plan, pipe));
    alm_pool_init(&latest->pool, cx->mem, latest_vt.name);
    alm_arena_init(&latest->scratch, cx->mem);
    *out = &latest->op;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols);
    ALM_TRY(alm_rows_init(cx, &latest->rows, &latest->pool, plan->cols, plan->n_cols));
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &latest->pick);
}
