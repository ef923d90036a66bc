/*
 * returning.c - rows of RETURNING: kept in the memory of the statement while it runs, handed out when the change is
 * made. So a client that reads slowly keeps nobody from writing, and no row is told that did not come to be.
 */
#include "session/core/session_state.h"
#include "session/statement/statement.h"

typedef struct alm_returned {
    alm_batch batch;
    struct alm_returned *next;
} alm_returned;

alm_status alm_returning_begin(alm_cursor *c, const alm_stmt *stmt, const alm_plan *plan,
                               uint32_t first)
{
    c->returned = c->last_returned = NULL;
    if (stmt->returning == NULL)
        return ALM_OK;
    ALM_ASSERT(plan->n_cols > first);
    c->cols = plan->cols + first;
    c->n_cols = plan->n_cols - first;
    c->returned_from = first;
    c->has_rows = c->returns = true;
    return ALM_OK;
}

/* Texts of a batch live as long as it does. */
static alm_status own_texts(alm_cursor *c, alm_vec *v, size_t n)
{
    const alm_null_kind null = alm_type_info_of(v->type)->null;
    if (null != ALM_NULL_VIEW && null != ALM_NULL_CODE)
        return ALM_OK;
    alm_view *views = v->data;
    for (size_t i = 0; i < (v->is_const ? 1 : n); i++) {
        char *copy = NULL;
        if (views[i].len <= ALM_VIEW_INLINE || views[i].len == ALM_VIEW_NULL)
            continue;
        ALM_TRY(alm_arena_bytes(&c->cx, &c->arena, views[i].len, &copy));
        memcpy(copy, alm_view_ptr(&views[i], NULL), views[i].len);
        views[i].off = (uint64_t)(uintptr_t)copy;
    }
    return ALM_OK;
}

alm_status alm_returning_keep(alm_cursor *c, const alm_batch *batch)
{
    alm_returned *kept = NULL;
    alm_batch from = *batch;
    uint32_t *index = NULL;
    if (!c->returns || batch->rows == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEW(&c->cx, &c->arena, &kept));
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, c->n_cols, &kept->batch.cols));
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, batch->rows, &index));
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, batch->n_cols, &from.cols));
    memcpy(from.cols, batch->cols, batch->n_cols * sizeof *from.cols);
    for (uint32_t i = 0; i < batch->rows; i++)
        index[i] = i;
    for (uint32_t i = 0; i < c->n_cols; i++) {
        alm_vec *v = NULL;
        ALM_TRY(alm_batch_column(&c->cx, &c->arena, &from, c->returned_from + i, &v));
        ALM_TRY(alm_vec_gather(&c->cx, &c->arena, v, index, batch->rows, &kept->batch.cols[i]));
        ALM_TRY(own_texts(c, &kept->batch.cols[i], batch->rows));
    }
    kept->batch.n_cols = c->n_cols;
    kept->batch.rows = batch->rows;
    if (c->last_returned != NULL)
        c->last_returned->next = kept;
    else
        c->returned = kept;
    c->last_returned = kept;
    return ALM_OK;
}

void alm_returning_next(alm_cursor *c, alm_batch **out)
{
    *out = c->returned != NULL ? &c->returned->batch : NULL;
    if (c->returned != NULL)
        c->returned = c->returned->next;
}

int64_t alm_returning_rows(const alm_cursor *c)
{
    int64_t rows = 0;
    for (const alm_returned *r = c->returned; r != NULL; r = r->next)
        rows += r->batch.rows;
    return rows;
}
