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

alm_status alm_returning_begin(alm_cursor *cursor, const alm_stmt *stmt, const alm_plan *plan,
                               uint32_t first)
{
    cursor->returned = cursor->last_returned = NULL;
    if (stmt->returning == NULL)
        return ALM_OK;
    ALM_ASSERT(plan->n_cols > first);
    cursor->cols = plan->cols + first;
    cursor->n_cols = plan->n_cols - first;
    cursor->returned_from = first;
    cursor->has_rows = cursor->returns = true;
    return ALM_OK;
}

/* Texts of a batch live as long as it does. */
static alm_status statement_returning_own_texts(alm_cursor *cursor, alm_vec *vec, size_t n_rows)
{
    const alm_null_kind null = alm_type_info_of(vec->type)->null;
    if (null != ALM_NULL_VIEW && null != ALM_NULL_CODE)
        return ALM_OK;
    alm_view *views = vec->data;
    for (size_t i = 0; i < (vec->is_const ? 1 : n_rows); i++) {
        char *copy = NULL;
        if (views[i].len <= ALM_VIEW_INLINE || views[i].len == ALM_VIEW_NULL)
            continue;
        ALM_TRY(alm_arena_bytes(&cursor->cx, &cursor->arena, views[i].len, &copy));
        memcpy(copy, alm_view_ptr(&views[i], NULL), views[i].len);
        views[i].off = (uint64_t)(uintptr_t)copy;
    }
    return ALM_OK;
}

alm_status alm_returning_keep(alm_cursor *cursor, const alm_batch *batch)
{
    alm_returned *kept = NULL;
    alm_batch from = *batch;
    uint32_t *index = NULL;
    if (!cursor->returns || batch->rows == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEW(&cursor->cx, &cursor->arena, &kept));
    ALM_TRY(ALM_NEWN(&cursor->cx, &cursor->arena, cursor->n_cols, &kept->batch.cols));
    ALM_TRY(ALM_NEWN(&cursor->cx, &cursor->arena, batch->rows, &index));
    ALM_TRY(ALM_NEWN(&cursor->cx, &cursor->arena, batch->n_cols, &from.cols));
    memcpy(from.cols, batch->cols, batch->n_cols * sizeof *from.cols);
    for (uint32_t i = 0; i < batch->rows; i++)
        index[i] = i;
    for (uint32_t i = 0; i < cursor->n_cols; i++) {
        alm_vec *vec = NULL;
        ALM_TRY(
            alm_batch_column(&cursor->cx, &cursor->arena, &from, cursor->returned_from + i, &vec));
        ALM_TRY(alm_vec_gather(&cursor->cx, &cursor->arena, vec, index, batch->rows,
                               &kept->batch.cols[i]));
        ALM_TRY(statement_returning_own_texts(cursor, &kept->batch.cols[i], batch->rows));
    }
    kept->batch.n_cols = cursor->n_cols;
    kept->batch.rows = batch->rows;
    if (cursor->last_returned != NULL)
        cursor->last_returned->next = kept;
    else
        cursor->returned = kept;
    cursor->last_returned = kept;
    return ALM_OK;
}

void alm_returning_next(alm_cursor *cursor, alm_batch **out)
{
    *out = cursor->returned != NULL ? &cursor->returned->batch : NULL;
    if (cursor->returned != NULL)
        cursor->returned = cursor->returned->next;
}

int64_t alm_returning_rows(const alm_cursor *cursor)
{
    int64_t rows = 0;
    for (const alm_returned *returned = cursor->returned; returned != NULL;
         returned = returned->next)
        rows += returned->batch.rows;
    return rows;
}
