/*
 * comment.c - comments of a table and of its columns, by column id (comment.h).
 */
#include "storage/version/comment.h"

#include <stdlib.h>

#include "storage/version/change.h"

/* ------------------------------------------------------------------ the object */

alm_comments *alm_comments_retain(alm_comments *c)
{
    if (c != NULL)
        (void)atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void alm_comments_release(alm_comments *c)
{
    if (c != NULL && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        free(c);
}

static alm_status comments_new(alm_ctx *cx, const alm_comment *rows, uint32_t n, alm_comments **out)
{
    size_t bytes = 0;
    alm_comments *c = NULL;
    *out = NULL;
    if (n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < n; i++)
        bytes += strlen(rows[i].text) + 1;
    ALM_TRY(alm_heap_bytes(cx, sizeof *c + n * sizeof *rows + bytes, "comments", &c));
    c->refs = 1;
    c->n = n;
    char *to = (char *)(c->rows + n);
    for (uint32_t i = 0; i < n; i++) {
        const size_t len = strlen(rows[i].text) + 1;
        memcpy(to, rows[i].text, len);
        c->rows[i] = (alm_comment){rows[i].col_id, to};
        to += len;
    }
    *out = c;
    return ALM_OK;
}

static const char *find(const alm_comments *c, uint32_t col_id)
{
    for (uint32_t i = 0; c != NULL && i < c->n; i++)
        if (c->rows[i].col_id == col_id)
            return c->rows[i].text;
    return NULL;
}

const char *alm_table_comment(const alm_table *table, uint32_t col_id)
{
    return find(alm_version_of(table)->comments, col_id);
}

/* --------------------------------------------------------------------- change */

alm_status alm_comments_with(alm_ctx *cx, const alm_comments *old, uint32_t col_id, alm_str text,
                             alm_comments **out)
{
    const uint32_t had = old == NULL ? 0 : old->n;
    alm_comment *rows = NULL;
    char *ended = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_heap_bytes(cx, (had + 1) * sizeof *rows, "comments", &rows));
    alm_status e = alm_heap_bytes(cx, text.len + 1, "a comment", &ended);
    for (uint32_t i = 0; i < had; i++)
        if (old->rows[i].col_id != col_id)
            rows[n++] = old->rows[i];
    if (e == ALM_OK && text.len > 0) {
        memcpy(ended, text.ptr, text.len);
        rows[n++] = (alm_comment){col_id, ended};
    }
    if (e == ALM_OK)
        e = comments_new(cx, rows, n, out);
    free(rows);
    free(ended);
    return e;
}

alm_status alm_change_comment(alm_ctx *cx, alm_build *b, uint64_t table_id, uint32_t col_id,
                              alm_str text)
{
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)table_id);
    if (col_id != 0 && alm_schema_find(v->schema, col_id) < 0)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "column was dropped meanwhile [table=%s]",
                        v->table.name);
    alm_comments *comments = NULL;
    alm_version *next = NULL;
    ALM_TRY(alm_comments_with(cx, v->comments, col_id, text, &comments));
    alm_status e = alm_version_copy(cx, v, 0, &next);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, table_id);
    if (e != ALM_OK) {
        alm_comments_release(comments);
        alm_version_release(next);
        return e;
    }
    alm_comments_release(next->comments);
    next->comments = comments;
    next->lsn = b->lsn;
    alm_version_settle(next);
    alm_build_put(b, next);
    return ALM_OK;
}

/* The comment that a column of `to` has in `from`: its own, else that of the one with its name. */
static const char *inherited(const alm_version *from, bool same_table, const alm_column *col)
{
    if (same_table && alm_schema_find(from->schema, col->id) >= 0)
        return find(from->comments, col->id);
    for (uint32_t i = 0; i < from->schema->n_cols; i++)
        if (alm_str_ieq(alm_str_of(from->schema->cols[i].name), alm_str_of(col->name)))
            return find(from->comments, from->schema->cols[i].id);
    return NULL;
}

alm_status alm_comments_follow(alm_ctx *cx, const alm_version *from, alm_version *to)
{
    alm_comments *comments = NULL;
    if (from->comments != NULL) {
        alm_comment *rows = NULL;
        uint32_t n = 0;
        ALM_TRY(alm_heap_bytes(cx, (to->schema->n_cols + 1) * sizeof *rows, "comments", &rows));
        rows[n].text = find(from->comments, 0);
        n += rows[n].text != NULL;
        for (uint32_t i = 0; i < to->schema->n_cols; i++) {
            rows[n].col_id = to->schema->cols[i].id;
            rows[n].text = inherited(from, from->tab == to->tab, &to->schema->cols[i]);
            n += rows[n].text != NULL;
        }
        const alm_status e = comments_new(cx, rows, n, &comments);
        free(rows);
        ALM_TRY(e);
    }
    alm_comments_release(to->comments);
    to->comments = comments;
    return ALM_OK;
}
