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

static alm_status union_next(alm_ctx *cx, op_setop *s, alm_batch **out)
{
    for (*out = NULL; s->at < 2; s->at++) {
        ALM_TRY(alm_op_next(cx, s->op.child[s->at], out));
        if (*out != NULL)
            return ALM_OK;
    }
    return ALM_OK;
}

static alm_status dense_columns(alm_ctx *cx, alm_arena *arena, alm_batch *in)
{
    for (uint32_t c = 0; c < in->n_cols; c++) {
        alm_vec *v = NULL;
        ALM_TRY(alm_batch_column(cx, arena, in, c, &v));
    }
    return ALM_OK;
}

static alm_status read_right(alm_ctx *cx, op_setop *s)
{
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, s->op.child[1], &in));
        if (in == NULL)
            break;
        alm_arena_reset(&s->scratch);
        ALM_TRY(dense_columns(cx, &s->scratch, in));
        ALM_TRY(alm_keymap_add(cx, s->map, in->cols, in->rows, s->number));
    }
    s->n_right = alm_keymap_count(s->map);
    s->ready = true;
    return alm_pool_zero(cx, &s->pool, (size_t)s->n_right + 1, &s->taken);
}

static uint32_t pick_present(op_setop *s, uint32_t n, bool wanted)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        s->pick[k] = i;
        k += (s->number[i] < s->n_right) == wanted;
    }
    return k;
}

/* Which rows of a left batch stay; all columns are dense. */
static alm_status pick_rows(alm_ctx *cx, op_setop *s, const alm_batch *in, uint32_t *n)
{
    uint32_t k = 0;
    if (s->kind == ALM_SETOP_EXCEPT) {
        uint32_t fresh =
            alm_keymap_count(s->map); /* a row's first appearance takes the next number */
        ALM_TRY(alm_keymap_add(cx, s->map, in->cols, in->rows, s->number));
        for (uint32_t i = 0; i < in->rows; i++)
            if (s->number[i] == fresh) {
                fresh++;
                s->pick[k++] = i;
            }
        *n = k;
        return ALM_OK;
    }
    ALM_TRY(alm_keymap_find(cx, s->map, in->cols, in->rows, s->number));
    if (s->kind == ALM_SETOP_INTERSECT) {
        for (uint32_t i = 0; i < in->rows; i++) {
            const uint32_t number = s->number[i];
            if (number >= s->n_right || s->taken[number])
                continue;
            s->taken[number] = 1;
            s->pick[k++] = i;
        }
        *n = k;
        return ALM_OK;
    }
    *n = pick_present(s, in->rows, s->kind == ALM_SETOP_INTERSECT_ALL);
    return ALM_OK;
}

static alm_status emit_picked(alm_op *op, op_setop *s, const alm_batch *in, uint32_t n,
                              alm_batch **out)
{
    memcpy(op->out.cols, in->cols, in->n_cols * sizeof *in->cols);
    op->out.rows = n;
    op->out.sel = NULL;
    *out = &op->out;
    if (n == in->rows)
        return ALM_OK;
    for (uint32_t i = 0; i < n; i++)
        s->sel[i] = (uint16_t)s->pick[i];
    for (uint32_t c = 0; c < in->n_cols; c++)
        op->out.cols[c].indirect = !op->out.cols[c].is_const;
    op->out.sel = s->sel;
    return ALM_OK;
}

static alm_status setop_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_setop *s = (op_setop *)op;
    if (s->kind == ALM_SETOP_UNION_ALL)
        return union_next(cx, s, out);
    if (!s->ready)
        ALM_TRY(read_right(cx, s));
    for (;;) {
        alm_batch *in = NULL;
        uint32_t n = 0;
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_op_next(cx, op->child[0], &in));
        *out = NULL;
        if (in == NULL)
            return ALM_OK;
        ALM_TRY(dense_columns(cx, &op->batch, in));
        ALM_TRY(pick_rows(cx, s, in, &n));
        if (n > 0)
            return emit_picked(op, s, in, n, out);
    }
}

static void setop_close(alm_op *op)
{
    op_setop *s = (op_setop *)op;
    alm_pool_deinit(&s->pool);
    alm_arena_deinit(&s->scratch);
}

static const alm_op_vt setop_vt = {
    .name = "set operation", .next = setop_next, .close = setop_close};

alm_status alm_op_setop_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                             alm_op **out)
{
    op_setop *s = NULL;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &setop_vt, run, plan, pipe));
    alm_pool_init(&s->pool, cx->mem, setop_vt.name);
    alm_arena_init(&s->scratch, cx->mem);
    *out = &s->op;
    s->kind = plan->setop.kind;
    ALM_ASSERT(plan->child[0]->n_cols == plan->n_cols && plan->child[1]->n_cols == plan->n_cols);
    ALM_TRY(alm_op_child(cx, &s->op, 0));
    ALM_TRY(alm_op_child(cx, &s->op, 1));
    if (s->kind == ALM_SETOP_UNION_ALL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &types));
    for (uint32_t c = 0; c < plan->n_cols; c++)
        types[c] = plan->cols[c].type;
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->sel));
    return alm_keymap_new(cx, &s->pool, types, plan->n_cols, &s->map);
}
