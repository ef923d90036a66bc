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
static alm_status integer_arg(alm_ctx *cx, const alm_expr *e, int64_t *out)
{
    if (e->kind != ALM_X_CONST)
        return alm_fail(cx, ALM_E_ARG, e->pos, "long_sequence: constant expected");
    const void *at = e->value.data;
    switch (e->value.type.id) {
    case ALM_T_BYTE:
        *out = *(const int8_t *)at;
        return ALM_OK;
    case ALM_T_SHORT:
        *out = *(const int16_t *)at;
        return ALM_OK;
    case ALM_T_INT:
        *out = *(const int32_t *)at == ALM_INT_NULL ? ALM_LONG_NULL : *(const int32_t *)at;
        return ALM_OK;
    case ALM_T_LONG:
        *out = *(const int64_t *)at;
        return ALM_OK;
    case ALM_T_NULL:
        *out = ALM_LONG_NULL;
        return ALM_OK;
    default:
        return alm_fail(cx, ALM_E_ARG, e->pos, "long_sequence: integer expected, got %s",
                        alm_type_name(e->value.type));
    }
}

static alm_status bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)
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
    sequence *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    s->rows = *(const int64_t *)plan->source.data;
    ALM_ASSERT(s->rows >= 0);
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_MIN(s->rows, (int64_t)ALM_BATCH_ROWS), &s->x));
    *state = s;
    return ALM_OK;
}

static alm_status next(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out)
{
    (void)cx;
    (void)arena;
    sequence *s = state;
    if (s->done == s->rows)
        return ALM_OK;
    const uint32_t n = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, s->rows - s->done);
    for (uint32_t i = 0; i < n; i++)
        s->x[i] = s->done + 1 + i;
    s->done += n;
    out->rows = n;
    out->cols[0] =
        (alm_vec){.type = ALM_TY(LONG), .width = sizeof(int64_t), .no_nulls = true, .data = s->x};
    return ALM_OK;
}

static int64_t count(const void *state)
{
    const sequence *s = state;
    return s->rows - s->done;
}

static void skip(void *state, int64_t rows)
{
    sequence *s = state;
    s->done += ALM_MIN(rows, s->rows - s->done);
}

const alm_source alm_source_long_sequence = {
    .name = "long_sequence",
    .signature = "(count LONG, seed1 LONG, seed2 LONG)",
    .doc = "Rows with one LONG column x: 1, 2, 3 ... count. Seeds fix random functions over it.",
    .example = "select x from long_sequence(3)",
    .bind = bind,
    .open = open_sequence,
    .next = next,
    .count = count,
    .skip = skip};
