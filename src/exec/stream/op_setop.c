/*
 * op_setop.c - UNION ALL, EXCEPT [ALL], INTERSECT [ALL]. UNION is ALL with a grouping above it.
 *
 * UNION ALL streams one input after the other. The others number the rows of the right input (whole
 * rows as keys; null equals null), then stream the left one. As recorded from the reference, ALL only
 * means that duplicates of the left input stay: EXCEPT ALL drops every row that is on the right at all,
 * INTERSECT ALL keeps every one that is.
 * Order       Left order; without ALL the first of equal rows stays.
 */
#include "exec/data/keymap.h"
#include "exec/run/op_make.h"

typedef struct op_setop {
    alm_op op;
    enum alm_set_kind kind;
    uint32_t at; /* UNION ALL: input under way */
    alm_pool pool;
    alm_keymap *map; /* rows of the right input, then distinct rows of the left */
    uint32_t n_right;
    uint8_t *taken; /* INTERSECT: by number */
    bool ready;
    alm_arena scratch;
    uint32_t *number;
    uint32_t *pick;
    uint16_t *sel;
} op_setop;

static alm_status union_next(alm_ctx *cx, op_setop *setop, alm_batch **out)
{
    for (*out = NULL; setop->at < 2; setop->at++) {
        ALM_TRY(alm_op_next(cx, setop->op.child[setop->at], out));
        if (*out != NULL)
            return ALM_OK;
    }
    return ALM_OK;
}

static alm_status dense_columns(alm_ctx *cx, alm_arena *arena, alm_batch *batch)
{
    for (uint32_t col = 0; col < batch->n_cols; col++) {
        alm_vec *vec = NULL;
        ALM_TRY(alm_batch_column(cx, arena, batch, col, &vec));
    }
    return ALM_OK;
}

static alm_status read_right(alm_ctx *cx, op_setop *setop)
{
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, setop->op.child[1], &batch));
        if (batch == NULL)
            break;
        alm_arena_reset(&setop->scratch);
        ALM_TRY(dense_columns(cx, &setop->scratch, batch));
        ALM_TRY(alm_keymap_add(cx, setop->map, batch->cols, batch->rows, setop->number));
    }
    setop->n_right = alm_keymap_count(setop->map);
    setop->ready = true;
    return alm_pool_zero(cx, &setop->pool, (size_t)setop->n_right + 1, &setop->taken);
}

static uint32_t pick_present(op_setop *setop, uint32_t n, bool wanted)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        setop->pick[k] = i;
        k += (setop->number[i] < setop->n_right) == wanted;
    }
    return k;
}

/* Which rows of a left batch stay; all columns are dense. */
static alm_status pick_rows(alm_ctx *cx, op_setop *setop, const alm_batch *batch, uint32_t *n)
{
    uint32_t k = 0;
    if (setop->kind == ALM_SETOP_EXCEPT) {
        uint32_t fresh =
            alm_keymap_count(setop->map); /* a row's first appearance takes the next number */
        ALM_TRY(alm_keymap_add(cx, setop->map, batch->cols, batch->rows, setop->number));
        for (uint32_t i = 0; i < batch->rows; i++)
            if (setop->number[i] == fresh) {
                fresh++;
                setop->pick[k++] = i;
            }
        *n = k;
        return ALM_OK;
    }
    ALM_TRY(alm_keymap_find(cx, setop->map, batch->cols, batch->rows, setop->number));
    if (setop->kind == ALM_SETOP_INTERSECT) {
        for (uint32_t i = 0; i < batch->rows; i++) {
            const uint32_t number = setop->number[i];
            if (number >= setop->n_right || setop->taken[number])
                continue;
            setop->taken[number] = 1;
            setop->pick[k++] = i;
        }
        *n = k;
        return ALM_OK;
    }
    *n = pick_present(setop, batch->rows, setop->kind == ALM_SETOP_INTERSECT_ALL);
    return ALM_OK;
}

static alm_status emit_picked(alm_op *op, op_setop *setop, const alm_batch *batch, uint32_t n,
                              alm_batch **out)
{
    memcpy(op->out.cols, batch->cols, batch->n_cols * sizeof *batch->cols);
    op->out.rows = n;
    op->out.sel = NULL;
    *out = &op->out;
    if (n == batch->rows)
        return ALM_OK;
    for (uint32_t i = 0; i < n; i++)
        setop->sel[i] = (uint16_t)setop->pick[i];
    for (uint32_t col = 0; col < batch->n_cols; col++)
        op->out.cols[col].indirect = !op->out.cols[col].is_const;
    op->out.sel = setop->sel;
    return ALM_OK;
}

static alm_status setop_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_setop *setop = (op_setop *)op;
    if (setop->kind == ALM_SETOP_UNION_ALL)
        return union_next(cx, setop, out);
    if (!setop->ready)
        ALM_TRY(read_right(cx, setop));
    for (;;) {
        alm_batch *batch = NULL;
        uint32_t n = 0;
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_op_next(cx, op->child[0], &batch));
        *out = NULL;
        if (batch == NULL)
            return ALM_OK;
        ALM_TRY(dense_columns(cx, &op->batch, batch));
        ALM_TRY(pick_rows(cx, setop, batch, &n));
        if (n > 0)
            return emit_picked(op, setop, batch, n, out);
    }
}

static void setop_close(alm_op *op)
{
    op_setop *setop = (op_setop *)op;
    alm_pool_deinit(&setop->pool);
    alm_arena_deinit(&setop->scratch);
}

static const alm_op_vt setop_vt = {
    .name = "set operation", .next = setop_next, .close = setop_close};

alm_status alm_op_setop_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                             alm_op **out)
{
    op_setop *setop = NULL;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &setop));
    ALM_TRY(alm_op_init(cx, &setop->op, &setop_vt, run, plan, pipe));
    alm_pool_init(&setop->pool, cx->mem, setop_vt.name);
    alm_arena_init(&setop->scratch, cx->mem);
    *out = &setop->op;
    setop->kind = plan->setop.kind;
    ALM_ASSERT(plan->child[0]->n_cols == plan->n_cols && plan->child[1]->n_cols == plan->n_cols);
    ALM_TRY(alm_op_child(cx, &setop->op, 0));
    ALM_TRY(alm_op_child(cx, &setop->op, 1));
    if (setop->kind == ALM_SETOP_UNION_ALL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &types));
    for (uint32_t col = 0; col < plan->n_cols; col++)
        types[col] = plan->cols[col].type;
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &setop->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &setop->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &setop->sel));
    return alm_keymap_new(cx, &setop->pool, types, plan->n_cols, &setop->map);
}
