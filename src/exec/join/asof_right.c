/*
 * asof_right.c - prepares the right side of an ASOF join (asof_right.h): segments, copies where they are
 * needed, key numbers.
 */
#include "exec/join/asof_right.h"

#include <stdlib.h>

#include "exec/run/scan_plan.h"

static const char *const WHO = "asof join";

static const double COPY_BYTES_MAX = 256 << 20; /* by estimate: what is larger streams */

/* ------------------------------------------------------------------------------- the choice */

static bool plain_scan(const alm_plan *p)
{
    return p->op == ALM_P_SCAN && p->scan.n_filters == 0 && !p->scan.backward;
}

static bool one_symbol(const alm_plan *plan)
{
    const alm_expr *l = plan->join.left_keys[0], *r = plan->join.right_keys[0];
    return plan->join.n_keys == 1 && r->kind == ALM_X_COL && r->type.id == ALM_T_SYMBOL &&
           alm_type_is_text(l->type);
}

bool alm_asof_fits(const alm_plan *plan)
{
    const alm_plan *right = plan->child[1];
    size_t width = 8;
    if (plan->join.direction != ALM_ASOF_BACKWARD || plan->join.has_lane)
        return true;
    if (plain_scan(right) && (plan->join.n_keys == 0 || one_symbol(plan)))
        return right->est_rows < (double)(UINT32_MAX / 2);
    for (uint32_t c = 0; c < right->n_cols; c++)
        width += ALM_MAX(alm_type_width(right->cols[c].type), 4U);
    return right->est_rows * (double)width <= COPY_BYTES_MAX;
}

/* --------------------------------------------------------------------------------- segments */

static alm_status add_segment(alm_ctx *cx, alm_asof_right *a, int64_t rows, uint32_t span)
{
    if ((uint64_t)rows + a->n >= UINT32_MAX - 1)
        return alm_fail(cx, ALM_E_LIMIT, a->plan->pos, "%s: too many rows (limit %u)", WHO,
                        UINT32_MAX - 2);
    a->segment[a->n_segments++] =
        (alm_asof_segment){.first = a->n, .rows = (uint32_t)rows, .span = span, .page = a->n_pages};
    a->n += (uint32_t)rows;
    a->n_pages += (uint32_t)((rows + ALM_ASOF_PAGE - 1) / ALM_ASOF_PAGE);
    return ALM_OK;
}

/* Rows of a span whose columns do not lie side by side in storage. */
static alm_status copy_span(alm_ctx *cx, alm_asof_right *a, alm_scan_cursor *cur, alm_vec *vecs,
                            const bool *all, alm_asof_segment *s)
{
    const uint32_t span = s->span;
    s->span = UINT32_MAX;
    s->at = a->store.n;
    for (uint32_t row = 0; row < s->rows; row += ALM_BATCH_ROWS) {
        const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, s->rows - row);
        ALM_TRY(alm_check(cx));
        ALM_TRY(a->scans->read(cx, cur, span, row, n, all, vecs));
        ALM_TRY(alm_rows_append_picked(cx, &a->store, vecs, NULL, n));
    }
    return ALM_OK;
}

static alm_status segments_of_scan(alm_ctx *cx, alm_run *run, alm_asof_right *a)
{
    const alm_plan *right = a->plan->child[1];
    const alm_scan_plan *sp = NULL;
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *all = NULL;
    ALM_TRY(alm_op_shared(cx, run, right, &sp));
    a->scans = sp->scans;
    a->scan = sp->scan;
    const size_t spans = a->scans->span_count(a->scan);
    ALM_TRY(ALM_NEWN(cx, cx->arena, spans + 1, &a->segment));
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &all));
    memset(all, 1, right->n_cols * sizeof *all);
    for (size_t i = 0; i < spans; i++) {
        const alm_span span = a->scans->span_at(a->scan, i);
        if (span.rows == 0)
            continue;
        ALM_TRY(add_segment(cx, a, span.rows, (uint32_t)i));
        if (span.direct)
            continue;
        if (cur == NULL)
            ALM_TRY(a->scans->cursor_new(cx, cx->arena, a->scan, &cur));
        ALM_TRY(copy_span(cx, a, cur, vecs, all, &a->segment[a->n_segments - 1]));
    }
    return ALM_OK;
}

static alm_status segment_of_rows(alm_ctx *cx, alm_run *run, alm_asof_right *a)
{
    ALM_TRY(alm_join_read_rows(cx, run, a->plan->child[1], a->plan, &a->store));
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &a->segment));
    return a->store.n == 0 ? ALM_OK : add_segment(cx, a, a->store.n, UINT32_MAX);
}

/* ------------------------------------------------------------------------------------- keys */

static alm_status number_rows(alm_ctx *cx, alm_asof_right *a)
{
    const uint32_t n_keys = a->plan->join.n_keys, n_cols = a->plan->child[1]->n_cols;
    const alm_expr *const *exprs = (const alm_expr *const *)a->plan->join.right_keys;
    alm_type *types = NULL;
    alm_eval *eval = NULL;
    alm_vec *cols = NULL, *keys = NULL;
    alm_asof_reader rd;
    alm_arena scratch;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &types));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &keys));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &cols));
    for (uint32_t k = 0; k < n_keys; k++) {
        types[k] = exprs[k]->type;
        if (a->plan->join.left_keys[k]->type.id != types[k].id)
            types[k] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    ALM_TRY(alm_keymap_new(cx, &a->pool, types, n_keys, &a->map));
    ALM_TRY(alm_pool_alloc(cx, &a->pool, ((size_t)a->n + 1) * sizeof *a->number, &a->number));
    ALM_TRY(alm_asof_reader_new(cx, a, &rd));
    ALM_TRY(alm_eval_new(cx, exprs, n_keys, &eval));
    alm_arena_init(&scratch, cx->mem);
    alm_status st = ALM_OK;
    for (uint32_t s = 0; s < a->n_segments; s++) {
        const alm_asof_segment *seg = &a->segment[s];
        for (uint32_t at = 0; at < seg->rows && st == ALM_OK; at += ALM_BATCH_ROWS) {
            const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, seg->rows - at);
            alm_batch batch = {.rows = n, .n_cols = n_cols, .cols = cols};
            alm_arena_reset(&scratch);
            st = alm_check(cx);
            if (st == ALM_OK)
                st = alm_asof_touch(cx, &rd, s, at, at + n, false);
            for (uint32_t c = 0; st == ALM_OK && c < n_cols; c++) {
                cols[c] = rd.vec[s * n_cols + c];
                if (!cols[c].is_const && cols[c].data != NULL)
                    cols[c].data = (char *)cols[c].data + (size_t)at * cols[c].width;
            }
            if (st == ALM_OK)
                st = alm_eval_run(cx, eval, &scratch, &batch, keys);
            if (st == ALM_OK)
                st = alm_keymap_add(cx, a->map, keys, n, a->number + seg->first + at);
        }
    }
    alm_eval_free(eval);
    alm_arena_deinit(&scratch);
    a->n_numbers = alm_keymap_count(a->map);
    return st;
}

static alm_status settle_keys(alm_ctx *cx, alm_asof_right *a)
{
    const alm_plan *plan = a->plan;
    a->keys = ALM_ASOF_NO_KEY;
    a->n_numbers = 1;
    if (plan->join.n_keys == 0)
        return ALM_OK;
    if (one_symbol(plan)) {
        a->key_col = plan->join.right_keys[0]->col;
        if (a->scan != NULL)
            a->dict = plan->child[1]->scan.table->cols[plan->child[1]->scan.cols[a->key_col]].dict;
        else
            a->dict = a->store.col[a->key_col].dict;
        if (a->scan != NULL && a->store.n > 0 && a->store.col[a->key_col].dict == NULL)
            a->dict = NULL;
    }
    if (a->dict != NULL) {
        a->keys = ALM_ASOF_CODE;
        a->n_numbers = a->dict->count;
        return ALM_OK;
    }
    ALM_TRY(number_rows(cx, a));
    a->keys = ALM_ASOF_NUMBER;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- making */

static alm_status fill(alm_ctx *cx, alm_run *run, alm_asof_right *a)
{
    const alm_plan *right = a->plan->child[1];
    a->units = alm_asof_units_of(a->plan);
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &a->needed));
    for (uint32_t c = 0; c < right->n_cols; c++)
        a->needed[c] =
            a->plan->join.unread == NULL || !a->plan->join.unread[a->plan->child[0]->n_cols + c];
    ALM_TRY(alm_rows_init(cx, &a->store, &a->pool, right->cols, right->n_cols));
    if (plain_scan(right))
        ALM_TRY(segments_of_scan(cx, run, a));
    else
        ALM_TRY(segment_of_rows(cx, run, a));
    ALM_TRY(settle_keys(cx, a));
    alm_op_count_bytes(run, a->plan, a->pool.bytes);
    return ALM_OK;
}

alm_status alm_asof_right_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_asof_right **out)
{
    alm_asof_right *a = calloc(1, sizeof *a);
    if (a == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: asof join");
    a->plan = plan;
    alm_arena_init(&a->arena, cx->mem);
    alm_pool_init(&a->pool, cx->mem, WHO);
    alm_arena *outer = cx->arena;
    cx->arena = &a->arena;
    const alm_status st = fill(cx, run, a);
    cx->arena = outer;
    if (st != ALM_OK) {
        alm_asof_right_free(a);
        return st;
    }
    *out = a;
    return ALM_OK;
}

void alm_asof_right_free(alm_asof_right *right)
{
    if (right == NULL)
        return;
    alm_pool_deinit(&right->pool);
    alm_arena_deinit(&right->arena);
    free(right);
}
