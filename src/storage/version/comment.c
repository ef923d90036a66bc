/*
 * comment.c - comments of a table and of its columns, by column id (comment.h).
 */
#include "storage/version/comment.h"

#include <stdlib.h>

#include "storage/version/change.h"

/* ------------------------------------------------------------------ the object */

alm_comments *alm_comments_retain(alm_comments *comments)
{
    if (comments != NULL)
        (void)atomic_fetch_add_explicit(&comments->refs, 1, memory_order_relaxed);
    return comments;
}

void alm_comments_release(alm_comments *comments)
{
    if (comments != NULL &&
        atomic_fetch_sub_explicit(&comments->refs, 1, memory_order_acq_rel) == 1)
        free(comments);
}

static alm_status comments_new(alm_ctx *cx, const alm_comment *rows, uint32_t n_rows,
                               alm_comments **out)
{
    size_t bytes = 0;
    alm_comments *comments = NULL;
    *out = NULL;
    if (n_rows == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < n_rows; i++)
        bytes += strlen(rows[i].text) + 1;
    ALM_TRY(alm_heap_bytes(cx, sizeof *comments + n_rows * sizeof *rows + bytes, "comments",
                           &comments));
    comments->refs = 1;
    comments->n = n_rows;
    char *dest = (char *)(comments->rows + n_rows);
    for (uint32_t i = 0; i < n_rows; i++) {
        const size_t len = strlen(rows[i].text) + 1;
        memcpy(dest, rows[i].text, len);
        comments->rows[i] = (alm_comment){rows[i].col_id, dest};
        dest += len;
    }
    *out = comments;
    return ALM_OK;
}

static const char *version_comment_find(const alm_comments *comments, uint32_t col_id)
{
    for (uint32_t i = 0; comments != NULL && i < comments->n; i++)
        if (comments->rows[i].col_id == col_id)
            return comments->rows[i].text;
    return NULL;
}

const char *alm_table_comment(const alm_table *table, uint32_t col_id)
{
    return version_comment_find(alm_version_of(table)->comments, col_id);
}

/* --------------------------------------------------------------------- change */

alm_status alm_comments_with(alm_ctx *cx, const alm_comments *old, uint32_t col_id, alm_str text,
                             alm_comments **out)
{
    const uint32_t had = old == NULL ? 0 : old->n;
    alm_comment *rows = NULL;
    char *ended = NULL;
    uint32_t count = 0;
    ALM_TRY(alm_heap_bytes(cx, (had + 1) * sizeof *rows, "comments", &rows));
    alm_status status = alm_heap_bytes(cx, text.len + 1, "a comment", &ended);
    for (uint32_t i = 0; i < had; i++)
        if (old->rows[i].col_id != col_id)
            rows[count++] = old->rows[i];
    if (status == ALM_OK && text.len > 0) {
        memcpy(ended, text.ptr, text.len);
        rows[count++] = (alm_comment){col_id, ended};
    }
    if (status == ALM_OK)
        status = comments_new(cx, rows, count, out);
    free(rows);
    free(ended);
    return status;
}

alm_status alm_change_comment(alm_ctx *cx, alm_build *build, uint64_t table_id, uint32_t col_id,
                              alm_str text)
{
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)table_id);
    if (col_id != 0 && alm_schema_find(version->schema, col_id) < 0)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "column was dropped meanwhile [table=%s]",
                        version->table.name);
    alm_comments *comments = NULL;
    alm_version *next = NULL;
    ALM_TRY(alm_comments_with(cx, version->comments, col_id, text, &comments));
    alm_status status = alm_version_copy(cx, version, 0, &next);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, table_id);
    if (status != ALM_OK) {
        alm_comments_release(comments);
        alm_version_release(next);
        return status;
    }
    alm_comments_release(next->comments);
    next->comments = comments;
    next->lsn = build->lsn;
    alm_version_settle(next);
    alm_build_put(build, next);
    return ALM_OK;
}

/* The comment that a column of `to` has in `from`: its own, else that of the one with its name. */
static const char *inherited(const alm_version *from, bool same_table, const alm_column *col)
{
    if (same_table && alm_schema_find(from->schema, col->id) >= 0)
        return version_comment_find(from->comments, col->id);
    for (uint32_t i = 0; i < from->schema->n_cols; i++)
        if (alm_str_ieq(alm_str_of(from->schema->cols[i].name), alm_str_of(col->name)))
            return version_comment_find(from->comments, from->schema->cols[i].id);
    return NULL;
}

alm_status alm_comments_follow(alm_ctx *cx, const alm_version *from, alm_version *to)
{
    alm_comments *comments = NULL;
    if (from->comments != NULL) {
        alm_comment *rows = NULL;
        uint32_t count = 0;
        ALM_TRY(alm_heap_bytes(cx, (to->schema->n_cols + 1) * sizeof *rows, "comments", &rows));
        rows[count].text = version_comment_find(from->comments, 0);
        count += rows[count].text != NULL;
        for (uint32_t i = 0; i < to->schema->n_cols; i++) {
            rows[count].col_id = to->schema->cols[i].id;
            rows[count].text = inherited(from, from->tab == to->tab, &to->schema->cols[i]);
            count += rows[count].text != NULL;
        }
        const alm_status status = comments_new(cx, rows, count, &comments);
        free(rows);
        ALM_TRY(status);
    }
    alm_comments_release(to->comments);
    to->comments = comments;
    return ALM_OK;
}
