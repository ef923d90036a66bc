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

static bool plain_scan(const alm_plan *plan)
{
    return plan->op == ALM_P_SCAN && plan->scan.n_filters == 0 && !plan->scan.backward;
}

static bool one_symbol(const alm_plan *plan)
{
    const alm_expr *left = plan->join.left_keys[0], *right = plan->join.right_keys[0];
    return plan->join.n_keys == 1 && right->kind == ALM_X_COL && right->type.id == ALM_T_SYMBOL &&
           alm_type_is_text(left->type);
}

bool alm_asof_fits(const alm_plan *plan)
{
    const alm_plan *right = plan->child[1];
    size_t width = 8;
    if (plan->join.direction != ALM_ASOF_BACKWARD || plan->join.has_lane)
        return true;
    if (plain_scan(right) && (plan->join.n_keys == 0 || one_symbol(plan)))
        return right->est_rows < (double)(UINT32_MAX / 2);
    for (uint32_t col = 0; col < right->n_cols; col++)
        width += ALM_MAX(alm_type_width(right->cols[col].type), 4U);
    return right->est_rows * (double)width <= COPY_BYTES_MAX;
}

/* --------------------------------------------------------------------------------- segments */

static alm_status add_segment(alm_ctx *cx, alm_asof_right *right, int64_t rows, uint32_t span)
{
    if ((uint64_t)rows + right->n >= UINT32_MAX - 1)
        return alm_fail(cx, ALM_E_LIMIT, right->plan->pos, "%s: too many rows (limit %u)", WHO,
                        UINT32_MAX - 2);
    right->segment[right->n_segments++] = (alm_asof_segment){
        .first = right->n, .rows = (uint32_t)rows, .span = span, .page = right->n_pages};
    right->n += (uint32_t)rows;
    right->n_pages += (uint32_t)((rows + ALM_ASOF_PAGE - 1) / ALM_ASOF_PAGE);
    return ALM_OK;
}

/* Rows of a span whose columns do not lie side by side in storage. */
static alm_status copy_span(alm_ctx *cx, alm_asof_right *right, alm_scan_cursor *cur, alm_vec *vecs,
                            const bool *all, alm_asof_segment *segment)
{
    const uint32_t span = segment->span;
    segment->span = UINT32_MAX;
    segment->at = right->store.n;
    for (uint32_t row = 0; row < segment->rows; row += ALM_BATCH_ROWS) {
        const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, segment->rows - row);
        ALM_TRY(alm_check(cx));
        ALM_TRY(right->scans->read(cx, cur, span, row, n_rows, all, vecs));
        ALM_TRY(alm_rows_append_picked(cx, &right->store, vecs, NULL, n_rows));
    }
    return ALM_OK;
}

static alm_status segments_of_scan(alm_ctx *cx, alm_run *run, alm_asof_right *asof_right)
{
    const alm_plan *right = asof_right->plan->child[1];
    const alm_scan_plan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    alm_vec *vecs = NULL;
    bool *all = NULL;
    ALM_TRY(alm_op_shared(cx, run, right, &scan));
    asof_right->scans = scan->scans;
    asof_right->scan = scan->scan;
    const size_t spans = asof_right->scans->span_count(asof_right->scan);
    ALM_TRY(ALM_NEWN(cx, cx->arena, spans + 1, &asof_right->segment));
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &vecs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &all));
    memset(all, 1, right->n_cols * sizeof *all);
    for (size_t i = 0; i < spans; i++) {
        const alm_span span = asof_right->scans->span_at(asof_right->scan, i);
        if (span.rows == 0)
            continue;
        ALM_TRY(add_segment(cx, asof_right, span.rows, (uint32_t)i));
        if (span.direct)
            continue;
        if (cur == NULL)
            ALM_TRY(asof_right->scans->cursor_new(cx, cx->arena, asof_right->scan, &cur));
        ALM_TRY(copy_span(cx, asof_right, cur, vecs, all,
                          &asof_right->segment[asof_right->n_segments - 1]));
    }
    return ALM_OK;
}

static alm_status segment_of_rows(alm_ctx *cx, alm_run *run, alm_asof_right *right)
{
    ALM_TRY(alm_join_read_rows(cx, run, right->plan->child[1], right->plan, &right->store));
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &right->segment));
    return right->store.n == 0 ? ALM_OK : add_segment(cx, right, right->store.n, UINT32_MAX);
}

/* ------------------------------------------------------------------------------------- keys */

static alm_status asof_right_number_rows(alm_ctx *cx, alm_asof_right *right)
{
    const uint32_t n_keys = right->plan->join.n_keys, n_cols = right->plan->child[1]->n_cols;
    const alm_expr *const *exprs = (const alm_expr *const *)right->plan->join.right_keys;
    alm_type *types = NULL;
    alm_eval *eval = NULL;
    alm_vec *cols = NULL, *keys = NULL;
    alm_asof_reader reader;
    alm_arena scratch;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &types));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &keys));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &cols));
    for (uint32_t key = 0; key < n_keys; key++) {
        types[key] = exprs[key]->type;
        if (right->plan->join.left_keys[key]->type.id != types[key].id)
            types[key] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    ALM_TRY(alm_keymap_new(cx, &right->pool, types, n_keys, &right->map));
    ALM_TRY(alm_pool_alloc(cx, &right->pool, ((size_t)right->n + 1) * sizeof *right->number,
                           &right->number));
    ALM_TRY(alm_asof_reader_new(cx, right, &reader));
    ALM_TRY(alm_eval_new(cx, exprs, n_keys, &eval));
    alm_arena_init(&scratch, cx->mem);
    alm_status status = ALM_OK;
    for (uint32_t segment = 0; segment < right->n_segments; segment++) {
        const alm_asof_segment *seg = &right->segment[segment];
        for (uint32_t place = 0; place < seg->rows && status == ALM_OK; place += ALM_BATCH_ROWS) {
            const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, seg->rows - place);
            alm_batch batch = {.rows = n_rows, .n_cols = n_cols, .cols = cols};
            alm_arena_reset(&scratch);
            status = alm_check(cx);
            if (status == ALM_OK)
                status = alm_asof_touch(cx, &reader, segment, place, place + n_rows, false);
            for (uint32_t col = 0; status == ALM_OK && col < n_cols; col++) {
                cols[col] = reader.vec[segment * n_cols + col];
                if (!cols[col].is_const && cols[col].data != NULL)
                    cols[col].data = (char *)cols[col].data + (size_t)place * cols[col].width;
            }
            if (status == ALM_OK)
                status = alm_eval_run(cx, eval, &scratch, &batch, keys);
            if (status == ALM_OK)
                status = alm_keymap_add(cx, right->map, keys, n_rows,
                                        right->number + seg->first + place);
        }
    }
    alm_eval_free(eval);
    alm_arena_deinit(&scratch);
    right->n_numbers = alm_keymap_count(right->map);
    return status;
}

static alm_status settle_keys(alm_ctx *cx, alm_asof_right *right)
{
    const alm_plan *plan = right->plan;
    right->keys = ALM_ASOF_NO_KEY;
    right->n_numbers = 1;
    if (plan->join.n_keys == 0)
        return ALM_OK;
    if (one_symbol(plan)) {
        right->key_col = plan->join.right_keys[0]->col;
        if (right->scan != NULL)
            right->dict =
                plan->child[1]->scan.table->cols[plan->child[1]->scan.cols[right->key_col]].dict;
        else
            right->dict = right->store.col[right->key_col].dict;
        if (right->scan != NULL && right->store.n > 0 &&
            right->store.col[right->key_col].dict == NULL)
            right->dict = NULL;
    }
    if (right->dict != NULL) {
        right->keys = ALM_ASOF_CODE;
        right->n_numbers = right->dict->count;
        return ALM_OK;
    }
    ALM_TRY(asof_right_number_rows(cx, right));
    right->keys = ALM_ASOF_NUMBER;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- making */

static alm_status asof_right_fill(alm_ctx *cx, alm_run *run, alm_asof_right *asof_right)
{
    const alm_plan *right = asof_right->plan->child[1];
    asof_right->units = alm_asof_units_of(asof_right->plan);
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &asof_right->needed));
    for (uint32_t col = 0; col < right->n_cols; col++)
        asof_right->needed[col] =
            asof_right->plan->join.unread == NULL ||
            !asof_right->plan->join.unread[asof_right->plan->child[0]->n_cols + col];
    ALM_TRY(alm_rows_init(cx, &asof_right->store, &asof_right->pool, right->cols, right->n_cols));
    if (plain_scan(right))
        ALM_TRY(segments_of_scan(cx, run, asof_right));
    else
        ALM_TRY(segment_of_rows(cx, run, asof_right));
    ALM_TRY(settle_keys(cx, asof_right));
    alm_op_count_bytes(run, asof_right->plan, asof_right->pool.bytes);
    return ALM_OK;
}

alm_status alm_asof_right_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_asof_right **out)
{
    alm_asof_right *right = calloc(1, sizeof *right);
    if (right == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: asof join");
    right->plan = plan;
    alm_arena_init(&right->arena, cx->mem);
    alm_pool_init(&right->pool, cx->mem, WHO);
    alm_arena *outer = cx->arena;
    cx->arena = &right->arena;
    const alm_status status = asof_right_fill(cx, run, right);
    cx->arena = outer;
    if (status != ALM_OK) {
        alm_asof_right_free(right);
        return status;
    }
    *out = right;
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
