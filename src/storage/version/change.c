/*
 * change.c - changes of tables as functions from version to version (change.h).
 */
#include "storage/version/change.h"

#include <stdlib.h>

#include "storage/dict/dict.h"
#include "storage/version/comment.h"
#include "storage/version/encode.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"

static alm_status table_gone(alm_ctx *cx, uint64_t table_id, const char *name)
{
    if (name != NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]", name);
    return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                    (unsigned long long)table_id);
}

/* How many values of the column, + 1, a version must show that has these rows, too: all that were interned where `rows` is NULL. */
static uint32_t values_needed(const alm_version *v, uint32_t c, const alm_chunk *rows, uint32_t n)
{
    const uint32_t shown = v->schema->dicts[c].count,
                   all = alm_symbols_count(v->schema->symbols[c]);
    if (all == shown || rows == NULL)
        return all;
    const int32_t at = alm_schema_find(rows->schema, v->schema->cols[c].id);
    if (at < 0)
        return shown;
    const uint32_t most = alm_codes_largest(rows->cols[at], sizeof(uint32_t), n);
    ALM_ASSERT(rows->schema->symbols[at] == v->schema->symbols[c] && most < all);
    return ALM_MAX(shown, most + 1);
}

alm_status alm_change_dicts(alm_ctx *cx, alm_storage *st, const alm_version *v,
                            const alm_chunk *rows, uint32_t n, alm_buf *ops, alm_schema **out)
{
    const alm_schema *s = v->schema;
    uint32_t *counts = NULL;
    *out = NULL;
    if (!alm_schema_has_more(s))
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, s->n_cols * sizeof *counts, "columns", &counts));
    alm_status e = ALM_OK;
    bool grown = false;
    for (uint32_t c = 0; c < s->n_cols && e == ALM_OK; c++) {
        if (s->symbols[c] == NULL)
            continue;
        counts[c] = values_needed(v, c, rows, n);
        grown |= counts[c] > s->dicts[c].count;
        if (counts[c] > s->dicts[c].count && ops != NULL)
            e = alm_op_symbols(cx, ops, v->table.id, s->cols[c].id, s->symbols[c],
                               s->dicts[c].count, counts[c]);
    }
    if (e == ALM_OK && grown)
        e = alm_schema_new(cx, st, v->tab, s->cols, s->n_cols, s->symbols, counts, out);
    free(counts);
    return e;
}

/* Takes over `schema` unless NULL. */
static void version_set_schema(alm_version *v, alm_schema *schema)
{
    if (schema == NULL)
        return;
    alm_schema_release(v->schema);
    v->schema = schema;
}

alm_status alm_change_rows(alm_ctx *cx, const alm_build *b, uint64_t table_id, const char *name,
                           alm_chunk *rows, uint32_t n, alm_buf *ops, alm_version **out)
{
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return table_gone(cx, table_id, name);
    return alm_change_rows_of(cx, b, v, rows, n, ops, out);
}

alm_status alm_change_rows_of(alm_ctx *cx, const alm_build *b, const alm_version *v,
                              alm_chunk *rows, uint32_t n, alm_buf *ops, alm_version **out)
{
    alm_schema *schema = NULL;
    alm_version *next = NULL;
    ALM_TRY(alm_change_dicts(cx, b->st, v, ops != NULL ? rows : NULL, n, ops, &schema));
    const alm_status e = alm_version_append(cx, v, rows, n, b->lsn, &next);
    if (e != ALM_OK) {
        alm_schema_release(schema);
        return e;
    }
    version_set_schema(next, schema);
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}

static bool same_keys(const alm_version *a, const alm_version *b)
{
    if (a->table.dedup != b->table.dedup)
        return false;
    for (uint32_t i = 0; a->table.dedup && i < a->schema->n_cols; i++) {
        const int32_t at = alm_schema_find(b->schema, a->schema->cols[i].id);
        if (a->schema->cols[i].dedup_key != (at >= 0 && b->schema->cols[at].dedup_key))
            return false;
    }
    return true;
}

alm_status alm_change_accepts(alm_ctx *cx, const alm_version *now, const alm_version *then)
{
    if (now->table.schema_version == then->table.schema_version)
        return ALM_OK;
    bool fits = same_keys(now, then);
    for (uint32_t i = 0; i < then->schema->n_cols && fits; i++)
        fits = alm_schema_find(now->schema, then->schema->cols[i].id) >= 0;
    return fits ? ALM_OK
                : alm_fail(cx, ALM_E_STALE, -1, "columns of table '%s' were changed meanwhile",
                           now->table.name);
}

/* ----------------------------------------------------------------------- parts */

alm_status alm_change_part_set(alm_ctx *cx, const alm_version *v, const alm_parts_change *change,
                               alm_part_set **out)
{
    const alm_part_set *old = v->parts;
    alm_part_ref **parts = NULL;
    ALM_TRY(
        alm_heap_bytes(cx, (old->n + change->n_add) * sizeof *parts, "a list of parts", &parts));
    uint32_t n = 0, removed = 0;
    for (uint32_t i = 0; i < old->n; i++) {
        bool gone = false;
        for (uint32_t j = 0; j < change->n_remove && !gone; j++)
            gone = change->remove[j]->id == old->parts[i]->id;
        removed += gone;
        if (!gone)
            parts[n++] = old->parts[i];
    }
    alm_status e = ALM_OK;
    if (removed != change->n_remove)
        e = alm_fail(cx, ALM_E_CONFLICT, -1, "rows of the table were changed meanwhile [table=%s]",
                     v->table.name);
    for (uint32_t i = 0; i < change->n_add; i++)
        parts[n++] = change->add[i];
    if (e == ALM_OK)
        e = alm_part_set_new(cx, parts, n, v->table.ts_col >= 0, out);
    free((void *)parts);
    return e;
}

static void drop_frozen(alm_version *v)
{
    alm_lanes_clear(v->lanes, v->n_frozen);
    memmove(v->lanes, v->lanes + v->n_frozen, (v->n_lanes - v->n_frozen) * sizeof *v->lanes);
    v->n_lanes -= v->n_frozen;
    v->n_frozen = 0;
    v->flushed_lsn = v->frozen_lsn;
}

/* May the parts have symbols that the version does not show? Those of a flush and of a merge have rows that were committed. */
static bool has_new_codes(const alm_parts_change *change)
{
    const bool merges = change->n_remove > 0 && !change->data && change->alter == NULL &&
                        change->create == NULL && change->view == NULL;
    return change->n_add > 0 && !change->flush && !merges;
}

alm_status alm_change_parts_of(alm_ctx *cx, alm_build *b, const alm_version *v,
                               const alm_parts_change *change, uint64_t flushed_lsn, bool redo,
                               alm_buf *ops, alm_version **out)
{
    if (change->flush && !redo && (v->n_frozen == 0 || v->frozen_lsn != flushed_lsn))
        return alm_fail(cx, ALM_E_CONFLICT, -1,
                        "rows of the table were removed while they were flushed [table=%s]",
                        v->table.name);
    alm_version *next = NULL;
    alm_part_set *parts = NULL;
    alm_schema *schema = NULL;
    ALM_TRY(alm_version_copy(cx, v, 0, &next));
    alm_status e = alm_change_part_set(cx, v, change, &parts);
    if (e == ALM_OK && (redo || has_new_codes(change)))
        e = alm_change_dicts(cx, b->st, v, NULL, 0, ops, &schema);
    if (e == ALM_OK && change->data && !redo)
        e = alm_change_touches(cx, b, next, change, ops);
    if (e != ALM_OK) {
        alm_schema_release(schema);
        alm_part_set_release(parts);
        alm_version_release(next);
        return e;
    }
    version_set_schema(next, schema);
    alm_part_set_release(next->parts);
    next->parts = parts;
    if (change->flush && next->n_frozen > 0 && next->frozen_lsn == flushed_lsn)
        drop_frozen(next);
    next->lsn = b->lsn;
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}

alm_status alm_change_parts(alm_ctx *cx, alm_build *b, const alm_parts_change *change,
                            const alm_version *from, uint64_t flushed_lsn, bool redo, alm_buf *ops)
{
    const alm_version *v = from;
    if (v == NULL)
        v = change->create != NULL ? change->create->v : alm_build_find(b, change->table_id);
    if (v == NULL)
        return table_gone(cx, change->table_id, NULL);
    alm_version *next = NULL;
    ALM_TRY(alm_change_parts_of(cx, b, v, change, flushed_lsn, redo, ops, &next));
    alm_status e;
    if (change->create != NULL) {
        e = alm_change_create(cx, b, next);
    } else {
        e = alm_build_own(cx, b, change->table_id);
        if (e == ALM_OK)
            alm_build_put(b, next);
    }
    if (e != ALM_OK)
        alm_version_release(next);
    return e;
}

/* ------------------------------------------------------------------- catalogue */

alm_status alm_change_create(alm_ctx *cx, alm_build *b, alm_version *v)
{
    if (alm_catver_by_name(b->next, alm_str_of(v->table.name)) >= 0)
        return alm_fail(cx, ALM_E_EXISTS, -1, "table already exists [table=%s]", v->table.name);
    v->lsn = b->lsn;
    ALM_TRY(alm_base_follow(cx, b, v));
    return alm_build_add(cx, b, v);
}

alm_status alm_change_drop(alm_ctx *cx, alm_build *b, uint64_t table_id)
{
    ALM_TRY(alm_base_unfollow(cx, b, table_id));
    return alm_build_remove(cx, b, table_id);
}

alm_status alm_change_rename(alm_ctx *cx, alm_build *b, uint64_t table_id, alm_str to)
{
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return table_gone(cx, table_id, NULL);
    const int64_t other = alm_catver_by_name(b->next, to);
    if (other >= 0 && alm_catver_at(b->next, (size_t)other)->table.id != table_id)
        return alm_fail(cx, ALM_E_EXISTS, -1,
                        "cannot rename table, new name is already in use [table=%s, "
                        "toTableName=%.*s]",
                        v->table.name, (int)to.len, to.ptr);
    alm_version *next = NULL;
    ALM_TRY(alm_version_copy(cx, v, 0, &next));
    alm_status e = alm_tab_text(cx, next->tab, to, &next->table.name);
    next->lsn = b->lsn;
    alm_version_settle(next);
    if (e == ALM_OK)
        e = alm_build_rename(cx, b, next);
    if (e != ALM_OK)
        alm_version_release(next);
    return e;
}

static alm_status truncated(alm_ctx *cx, alm_build *b, uint64_t table_id, alm_version **out)
{
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return table_gone(cx, table_id, NULL);
    ALM_TRY(alm_version_bare(cx, v, out));
    alm_version *next = *out;
    next->lsn = next->flushed_lsn = next->frozen_lsn = b->lsn;
    next->table.hides = false;
    next->table.kept_from = INT64_MIN;
    alm_version_settle(next);
    const alm_scan_range all = {INT64_MIN, INT64_MAX};
    ALM_TRY(alm_version_touch(cx, b, next, &all, 1, NULL));
    return alm_build_own(cx, b, table_id);
}

static bool has_symbols(const alm_version *v)
{
    bool any = false;
    for (uint32_t c = 0; c < v->schema->n_cols; c++)
        any |= v->schema->symbols[c] != NULL && alm_symbols_count(v->schema->symbols[c]) > 1;
    return any;
}

static alm_status with_new_columns(alm_ctx *cx, const alm_build *b, const alm_version *v,
                                   alm_column *cols, alm_buf *ops, alm_version **out)
{
    alm_table to = v->table;
    for (uint32_t c = 0; c < to.n_cols; c++) {
        cols[c] = v->table.cols[c];
        if (v->schema->symbols[c] != NULL)
            cols[c].id = 0;
    }
    to.cols = cols;
    to.schema_version++;
    ALM_TRY(alm_change_alter(cx, b, v, &to, v->next_col_id, NULL, out));
    return alm_op_alter(cx, ops, *out);
}

/* The truncated version *v becomes one whose SYMBOL columns are new, in their old places. */
static alm_status without_symbols(alm_ctx *cx, const alm_build *b, alm_version **v, alm_buf *ops)
{
    alm_column *cols = NULL;
    alm_version *next = NULL;
    if (!has_symbols(*v) || ((*v)->detached != NULL && (*v)->detached->n > 0))
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, (*v)->schema->n_cols * sizeof *cols, "columns", &cols));
    const alm_status e = with_new_columns(cx, b, *v, cols, ops, &next);
    free(cols);
    if (e != ALM_OK) {
        alm_version_release(next);
        return e;
    }
    alm_version_release(*v);
    *v = next;
    return ALM_OK;
}

alm_status alm_change_truncate(alm_ctx *cx, alm_build *b, const uint64_t *ids, uint32_t n,
                               alm_buf *ops)
{
    alm_version **next = NULL;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *next, "tables", &next));
    alm_status e = ALM_OK;
    for (uint32_t i = 0; i < n && e == ALM_OK; i++) {
        e = truncated(cx, b, ids[i], &next[i]);
        if (e == ALM_OK && ops != NULL)
            e = without_symbols(cx, b, &next[i], ops);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (e == ALM_OK)
            alm_build_put(b, next[i]);
        else
            alm_version_release(next[i]);
    }
    free((void *)next);
    return e;
}

alm_status alm_change_add_column(alm_ctx *cx, alm_build *b, uint64_t table_id,
                                 const alm_column *col)
{
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return table_gone(cx, table_id, NULL);
    if (alm_table_col(&v->table, alm_str_of(col->name)) >= 0)
        return alm_fail(cx, ALM_E_DUPLICATE, -1, "column '%s' already exists", col->name);
    const uint32_t n = v->schema->n_cols;
    ALM_TRY(alm_symbols_room(cx, &b->st->symbols, col->type.id == ALM_T_SYMBOL));
    if (n >= 4096)
        return alm_fail(cx, ALM_E_LIMIT, -1, "table '%s' has %u columns, no more are allowed",
                        v->table.name, n);
    alm_column *cols = NULL;
    uint32_t *counts = NULL;
    alm_symbols **symbols = NULL;
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    alm_status e = alm_heap_bytes(cx, (n + 1) * sizeof *cols, "columns", &cols);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, (n + 1) * sizeof *counts, "columns", &counts);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, (n + 1) * sizeof *symbols, "columns", &symbols);
    if (e == ALM_OK) {
        for (uint32_t i = 0; i < n; i++) {
            cols[i] = v->schema->cols[i];
            symbols[i] = v->schema->symbols[i];
            counts[i] = symbols[i] != NULL ? v->schema->dicts[i].count : 1;
        }
        cols[n] = *col;
        counts[n] = 1;
        e = alm_schema_new(cx, b->st, v->tab, cols, n + 1, symbols, counts, &schema);
    }
    if (e == ALM_OK)
        e = alm_version_copy(cx, v, 0, &next);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, table_id);
    free(cols);
    free(counts);
    free((void *)symbols);
    if (e != ALM_OK) {
        alm_version_release(next);
        alm_schema_release(schema);
        return e;
    }
    version_set_schema(next, schema);
    next->next_col_id = ALM_MAX(next->next_col_id, col->id + 1);
    next->table.schema_version++;
    next->lsn = b->lsn;
    alm_version_settle(next);
    alm_build_put(b, next);
    return ALM_OK;
}

/* Columns of `to` with ids, and the dictionaries that they have already. */
static alm_status altered_columns(alm_ctx *cx, const alm_version *v, const alm_table *to,
                                  const alm_schema *made, uint32_t *next_col_id, alm_column *cols,
                                  alm_symbols **symbols, uint32_t *counts)
{
    for (uint32_t i = 0; i < to->n_cols; i++) {
        cols[i] = to->cols[i];
        cols[i].dict = NULL;
        if (cols[i].id == 0)
            cols[i].id = *next_col_id;
        *next_col_id = ALM_MAX(*next_col_id, cols[i].id + 1);
        counts[i] = 1;
        const int32_t at = alm_schema_find(v->schema, cols[i].id);
        const int32_t fresh = made == NULL ? -1 : alm_schema_find(made, cols[i].id);
        if (at >= 0 && !alm_type_eq(cols[i].type, v->schema->cols[at].type))
            return alm_fail(cx, ALM_E_INTERNAL, -1, "column '%s' cannot change its type in place",
                            cols[i].name);
        if (at >= 0 && v->schema->symbols[at] != NULL) {
            symbols[i] = v->schema->symbols[at];
            counts[i] = v->schema->dicts[at].count;
        } else if (fresh >= 0) {
            symbols[i] = made->symbols[fresh];
        }
        if (at >= 0 && strcmp(cols[i].name, v->schema->cols[at].name) == 0)
            cols[i].name = v->schema->cols[at].name;
        else
            ALM_TRY(alm_tab_text(cx, v->tab, alm_str_of(to->cols[i].name), &cols[i].name));
    }
    return ALM_OK;
}

alm_status alm_change_alter(alm_ctx *cx, const alm_build *b, const alm_version *v,
                            const alm_table *to, uint32_t next_col_id, const alm_schema *made,
                            alm_version **out)
{
    alm_column *cols = NULL;
    uint32_t *counts = NULL;
    alm_symbols **symbols = NULL;
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    const size_t n = to->n_cols;
    alm_status e = alm_heap_bytes(cx, n * sizeof *cols, "columns", &cols);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, n * sizeof *counts, "columns", &counts);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, n * sizeof *symbols, "columns", &symbols);
    if (e == ALM_OK)
        e = altered_columns(cx, v, to, made, &next_col_id, cols, symbols, counts);
    if (e == ALM_OK)
        e = alm_schema_new(cx, b->st, v->tab, cols, to->n_cols, symbols, counts, &schema);
    if (e == ALM_OK)
        e = alm_version_copy(cx, v, 0, &next);
    free(cols);
    free(counts);
    free((void *)symbols);
    if (e != ALM_OK) {
        alm_schema_release(schema);
        return e;
    }
    version_set_schema(next, schema);
    e = alm_comments_follow(cx, v, next);
    if (e != ALM_OK) {
        alm_version_release(next);
        return e;
    }
    next->next_col_id = next_col_id;
    next->table.schema_version = to->schema_version;
    next->table.ts_col = to->ts_col;
    next->table.wal = to->wal;
    next->table.dedup = to->dedup;
    next->table.hides = next->table.hides && to->ttl_hours == v->table.ttl_hours;
    if (to->ttl_hours == 0)
        next->table.kept_from = INT64_MIN;
    next->table.ttl_hours = to->ttl_hours;
    next->table.max_uncommitted_rows = to->max_uncommitted_rows;
    next->table.o3_max_lag_us = to->o3_max_lag_us;
    next->lsn = b->lsn;
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}
