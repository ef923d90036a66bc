/*
 * long_sequence.c - long_sequence(n): x = 1 .. n, one loop per batch.
 *
 * Null or negative counts give no rows. The seeds are taken as constants for the random functions of
 * the statement; without them a statement has a seed of its own.
 */
#include "exec/source/source.h"

typedef struct sequence {
    int64_t done,
        rows; /* numbers that were given or skipped, all of them: the last may be the greatest LONG */
    int64_t *x;
} sequence;

/* Integer of a constant argument of any integer type. */
static alm_status integer_arg(alm_ctx *cx, const alm_expr *expr, int64_t *out)
{
    if (expr->kind != ALM_X_CONST)
        return alm_fail(cx, ALM_E_ARG, expr->pos, "long_sequence: constant expected");
    const void *ptr = expr->value.data;
    switch (expr->value.type.id) {
    case ALM_T_BYTE:
        *out = *(const int8_t *)ptr;
        return ALM_OK;
    case ALM_T_SHORT:
        *out = *(const int16_t *)ptr;
        return ALM_OK;
    case ALM_T_INT:
        *out = *(const int32_t *)ptr == ALM_INT_NULL ? ALM_LONG_NULL : *(const int32_t *)ptr;
        return ALM_OK;
    case ALM_T_LONG:
        *out = *(const int64_t *)ptr;
        return ALM_OK;
    case ALM_T_NULL:
        *out = ALM_LONG_NULL;
        return ALM_OK;
    default:
        return alm_fail(cx, ALM_E_ARG, expr->pos, "long_sequence: integer expected, got %s",
                        alm_type_name(expr->value.type));
    }
}

static alm_status long_sequence_bind(alm_ctx *cx, const alm_source_call *call,
                                     alm_source_bound *out)
{
    int64_t value[3] = {0};
    int64_t *count = NULL;
    if (call->n_args != 1 && call->n_args != 3)
        return alm_fail(cx, ALM_E_ARG, call->pos,
                        "long_sequence takes a count, or a count and two seeds");
    for (uint32_t i = 0; i < call->n_args; i++)
        ALM_TRY(integer_arg(cx, call->args[i], &value[i]));
    ALM_TRY(ALM_NEW(cx, cx->arena, &count));
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &out->cols));
    *count = ALM_MAX(value[0], 0); /* null is the least LONG */
    out->cols[0] = (alm_plan_col){"x", ALM_TY(LONG)};
    out->n_cols = 1;
    out->ts_col = -1;
    out->est_rows = (double)*count;
    out->data = count;
    return ALM_OK;
}

static alm_status open_sequence(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)
{
    (void)run;
    sequence *self = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    self->rows = *(const int64_t *)plan->source.data;
    ALM_ASSERT(self->rows >= 0);
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_MIN(self->rows, (int64_t)ALM_BATCH_ROWS), &self->x));
    *state = self;
    return ALM_OK;
}

static alm_status long_sequence_next(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out)
{
    (void)cx;
    (void)arena;
    sequence *self = state;
    if (self->done == self->rows)
        return ALM_OK;
    const uint32_t n_rows = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, self->rows - self->done);
    for (uint32_t i = 0; i < n_rows; i++)
        self->x[i] = self->done + 1 + i;
    self->done += n_rows;
    out->rows = n_rows;
    out->cols[0] = (alm_vec){
        .type = ALM_TY(LONG), .width = sizeof(int64_t), .no_nulls = true, .data = self->x};
    return ALM_OK;
}

static int64_t long_sequence_count(const void *state)
{
    const sequence *self = state;
    return self->rows - self->done;
}

static void long_sequence_skip(void *state, int64_t rows)
{
    sequence *self = state;
    self->done += ALM_MIN(rows, self->rows - self->done);
}

const alm_source alm_source_long_sequence = {
    .name = "long_sequence",
    .signature = "(count LONG, seed1 LONG, seed2 LONG)",
    .doc = "Rows with one LONG column x: 1, 2, 3 ... count. Seeds fix random functions over it.",
    .example = "select x from long_sequence(3)",
    .bind = long_sequence_bind,
    .open = open_sequence,
    .next = long_sequence_next,
    .count = long_sequence_count,
    .skip = long_sequence_skip};
