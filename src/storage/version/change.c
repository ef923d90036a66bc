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
static uint32_t values_needed(const alm_version *version, uint32_t col, const alm_chunk *rows,
                              uint32_t n)
{
    const uint32_t shown = version->schema->dicts[col].count,
                   all = alm_symbols_count(version->schema->symbols[col]);
    if (all == shown || rows == NULL)
        return all;
    const int32_t place = alm_schema_find(rows->schema, version->schema->cols[col].id);
    if (place < 0)
        return shown;
    const uint32_t most = alm_codes_largest(rows->cols[place], sizeof(uint32_t), n);
    ALM_ASSERT(rows->schema->symbols[place] == version->schema->symbols[col] && most < all);
    return ALM_MAX(shown, most + 1);
}

alm_status alm_change_dicts(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                            const alm_chunk *rows, uint32_t n, alm_buf *ops, alm_schema **out)
{
    const alm_schema *schema = version->schema;
    uint32_t *counts = NULL;
    *out = NULL;
    if (!alm_schema_has_more(schema))
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, schema->n_cols * sizeof *counts, "columns", &counts));
    alm_status status = ALM_OK;
    bool grown = false;
    for (uint32_t col = 0; col < schema->n_cols && status == ALM_OK; col++) {
        if (schema->symbols[col] == NULL)
            continue;
        counts[col] = values_needed(version, col, rows, n);
        grown |= counts[col] > schema->dicts[col].count;
        if (counts[col] > schema->dicts[col].count && ops != NULL)
            status = alm_op_symbols(cx, ops, version->table.id, schema->cols[col].id,
                                    schema->symbols[col], schema->dicts[col].count, counts[col]);
    }
    if (status == ALM_OK && grown)
        status = alm_schema_new(cx, storage, version->tab, schema->cols, schema->n_cols,
                                schema->symbols, counts, out);
    free(counts);
    return status;
}

/* Takes over `schema` unless NULL. */
static void version_set_schema(alm_version *version, alm_schema *schema)
{
    if (schema == NULL)
        return;
    alm_schema_release(version->schema);
    version->schema = schema;
}

alm_status alm_change_rows(alm_ctx *cx, const alm_build *build, uint64_t table_id, const char *name,
                           alm_chunk *rows, uint32_t n, alm_buf *ops, alm_version **out)
{
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return table_gone(cx, table_id, name);
    return alm_change_rows_of(cx, build, version, rows, n, ops, out);
}

alm_status alm_change_rows_of(alm_ctx *cx, const alm_build *build, const alm_version *version,
                              alm_chunk *rows, uint32_t n, alm_buf *ops, alm_version **out)
{
    alm_schema *schema = NULL;
    alm_version *next = NULL;
    ALM_TRY(alm_change_dicts(cx, build->st, version, ops != NULL ? rows : NULL, n, ops, &schema));
    const alm_status status = alm_version_append(cx, version, rows, n, build->lsn, &next);
    if (status != ALM_OK) {
        alm_schema_release(schema);
        return status;
    }
    version_set_schema(next, schema);
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}

static bool version_change_same_keys(const alm_version *a, const alm_version *b)
{
    if (a->table.dedup != b->table.dedup)
        return false;
    for (uint32_t i = 0; a->table.dedup && i < a->schema->n_cols; i++) {
        const int32_t place = alm_schema_find(b->schema, a->schema->cols[i].id);
        if (a->schema->cols[i].dedup_key != (place >= 0 && b->schema->cols[place].dedup_key))
            return false;
    }
    return true;
}

alm_status alm_change_accepts(alm_ctx *cx, const alm_version *now, const alm_version *then)
{
    if (now->table.schema_version == then->table.schema_version)
        return ALM_OK;
    bool fits = version_change_same_keys(now, then);
    for (uint32_t i = 0; i < then->schema->n_cols && fits; i++)
        fits = alm_schema_find(now->schema, then->schema->cols[i].id) >= 0;
    return fits ? ALM_OK
                : alm_fail(cx, ALM_E_STALE, -1, "columns of table '%s' were changed meanwhile",
                           now->table.name);
}

/* ----------------------------------------------------------------------- parts */

alm_status alm_change_part_set(alm_ctx *cx, const alm_version *version,
                               const alm_parts_change *change, alm_part_set **out)
{
    const alm_part_set *old = version->parts;
    alm_part_ref **parts = NULL;
    ALM_TRY(
        alm_heap_bytes(cx, (old->n + change->n_add) * sizeof *parts, "a list of parts", &parts));
    uint32_t count = 0, removed = 0;
    for (uint32_t i = 0; i < old->n; i++) {
        bool gone = false;
        for (uint32_t j = 0; j < change->n_remove && !gone; j++)
            gone = change->remove[j]->id == old->parts[i]->id;
        removed += gone;
        if (!gone)
            parts[count++] = old->parts[i];
    }
    alm_status status = ALM_OK;
    if (removed != change->n_remove)
        status =
            alm_fail(cx, ALM_E_CONFLICT, -1, "rows of the table were changed meanwhile [table=%s]",
                     version->table.name);
    for (uint32_t i = 0; i < change->n_add; i++)
        parts[count++] = change->add[i];
    if (status == ALM_OK)
        status = alm_part_set_new(cx, parts, count, version->table.ts_col >= 0, out);
    free((void *)parts);
    return status;
}

static void drop_frozen(alm_version *version)
{
    alm_lanes_clear(version->lanes, version->n_frozen);
    memmove(version->lanes, version->lanes + version->n_frozen,
            (version->n_lanes - version->n_frozen) * sizeof *version->lanes);
    version->n_lanes -= version->n_frozen;
    version->n_frozen = 0;
    version->flushed_lsn = version->frozen_lsn;
}

/* May the parts have symbols that the version does not show? Those of a flush and of a merge have rows that were committed. */
static bool has_new_codes(const alm_parts_change *change)
{
    const bool merges = change->n_remove > 0 && !change->data && change->alter == NULL &&
                        change->create == NULL && change->view == NULL;
    return change->n_add > 0 && !change->flush && !merges;
}

alm_status alm_change_parts_of(alm_ctx *cx, alm_build *build, const alm_version *version,
                               const alm_parts_change *change, uint64_t flushed_lsn, bool redo,
                               alm_buf *ops, alm_version **out)
{
    if (change->flush && !redo && (version->n_frozen == 0 || version->frozen_lsn != flushed_lsn))
        return alm_fail(cx, ALM_E_CONFLICT, -1,
                        "rows of the table were removed while they were flushed [table=%s]",
                        version->table.name);
    alm_version *next = NULL;
    alm_part_set *parts = NULL;
    alm_schema *schema = NULL;
    ALM_TRY(alm_version_copy(cx, version, 0, &next));
    alm_status status = alm_change_part_set(cx, version, change, &parts);
    if (status == ALM_OK && (redo || has_new_codes(change)))
        status = alm_change_dicts(cx, build->st, version, NULL, 0, ops, &schema);
    if (status == ALM_OK && change->data && !redo)
        status = alm_change_touches(cx, build, next, change, ops);
    if (status != ALM_OK) {
        alm_schema_release(schema);
        alm_part_set_release(parts);
        alm_version_release(next);
        return status;
    }
    version_set_schema(next, schema);
    alm_part_set_release(next->parts);
    next->parts = parts;
    if (change->flush && next->n_frozen > 0 && next->frozen_lsn == flushed_lsn)
        drop_frozen(next);
    next->lsn = build->lsn;
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}

alm_status alm_change_parts(alm_ctx *cx, alm_build *build, const alm_parts_change *change,
                            const alm_version *from, uint64_t flushed_lsn, bool redo, alm_buf *ops)
{
    const alm_version *version = from;
    if (version == NULL)
        version =
            change->create != NULL ? change->create->v : alm_build_find(build, change->table_id);
    if (version == NULL)
        return table_gone(cx, change->table_id, NULL);
    alm_version *next = NULL;
    ALM_TRY(alm_change_parts_of(cx, build, version, change, flushed_lsn, redo, ops, &next));
    alm_status status;
    if (change->create != NULL) {
        status = alm_change_create(cx, build, next);
    } else {
        status = alm_build_own(cx, build, change->table_id);
        if (status == ALM_OK)
            alm_build_put(build, next);
    }
    if (status != ALM_OK)
        alm_version_release(next);
    return status;
}

/* ------------------------------------------------------------------- catalogue */

alm_status alm_change_create(alm_ctx *cx, alm_build *build, alm_version *version)
{
    if (alm_catver_by_name(build->next, alm_str_of(version->table.name)) >= 0)
        return alm_fail(cx, ALM_E_EXISTS, -1, "table already exists [table=%s]",
                        version->table.name);
    version->lsn = build->lsn;
    ALM_TRY(alm_base_follow(cx, build, version));
    return alm_build_add(cx, build, version);
}

alm_status alm_change_drop(alm_ctx *cx, alm_build *build, uint64_t table_id)
{
    ALM_TRY(alm_base_unfollow(cx, build, table_id));
    return alm_build_remove(cx, build, table_id);
}

alm_status alm_change_rename(alm_ctx *cx, alm_build *build, uint64_t table_id, alm_str to)
{
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return table_gone(cx, table_id, NULL);
    const int64_t other = alm_catver_by_name(build->next, to);
    if (other >= 0 && alm_catver_at(build->next, (size_t)other)->table.id != table_id)
        return alm_fail(cx, ALM_E_EXISTS, -1,
                        "cannot rename table, new name is already in use [table=%s, "
                        "toTableName=%.*s]",
                        version->table.name, (int)to.len, to.ptr);
    alm_version *next = NULL;
    ALM_TRY(alm_version_copy(cx, version, 0, &next));
    alm_status status = alm_tab_text(cx, next->tab, to, &next->table.name);
    next->lsn = build->lsn;
    alm_version_settle(next);
    if (status == ALM_OK)
        status = alm_build_rename(cx, build, next);
    if (status != ALM_OK)
        alm_version_release(next);
    return status;
}

static alm_status truncated(alm_ctx *cx, alm_build *build, uint64_t table_id, alm_version **out)
{
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return table_gone(cx, table_id, NULL);
    ALM_TRY(alm_version_bare(cx, version, out));
    alm_version *next = *out;
    next->lsn = next->flushed_lsn = next->frozen_lsn = build->lsn;
    next->table.hides = false;
    next->table.kept_from = INT64_MIN;
    alm_version_settle(next);
    const alm_scan_range all = {INT64_MIN, INT64_MAX};
    ALM_TRY(alm_version_touch(cx, build, next, &all, 1, NULL));
    return alm_build_own(cx, build, table_id);
}

static bool version_change_has_symbols(const alm_version *version)
{
    bool any = false;
    for (uint32_t col = 0; col < version->schema->n_cols; col++)
        any |= version->schema->symbols[col] != NULL &&
               alm_symbols_count(version->schema->symbols[col]) > 1;
    return any;
}

static alm_status with_new_columns(alm_ctx *cx, const alm_build *build, const alm_version *version,
                                   alm_column *cols, alm_buf *ops, alm_version **out)
{
    alm_table to = version->table;
    for (uint32_t col = 0; col < to.n_cols; col++) {
        cols[col] = version->table.cols[col];
        if (version->schema->symbols[col] != NULL)
            cols[col].id = 0;
    }
    to.cols = cols;
    to.schema_version++;
    ALM_TRY(alm_change_alter(cx, build, version, &to, version->next_col_id, NULL, out));
    return alm_op_alter(cx, ops, *out);
}

/* The truncated version *version becomes one whose SYMBOL columns are new, in their old places. */
static alm_status without_symbols(alm_ctx *cx, const alm_build *build, alm_version **version,
                                  alm_buf *ops)
{
    alm_column *cols = NULL;
    alm_version *next = NULL;
    if (!version_change_has_symbols(*version) ||
        ((*version)->detached != NULL && (*version)->detached->n > 0))
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, (*version)->schema->n_cols * sizeof *cols, "columns", &cols));
    const alm_status status = with_new_columns(cx, build, *version, cols, ops, &next);
    free(cols);
    if (status != ALM_OK) {
        alm_version_release(next);
        return status;
    }
    alm_version_release(*version);
    *version = next;
    return ALM_OK;
}

alm_status alm_change_truncate(alm_ctx *cx, alm_build *build, const uint64_t *ids, uint32_t n,
                               alm_buf *ops)
{
    alm_version **next = NULL;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *next, "tables", &next));
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < n && status == ALM_OK; i++) {
        status = truncated(cx, build, ids[i], &next[i]);
        if (status == ALM_OK && ops != NULL)
            status = without_symbols(cx, build, &next[i], ops);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (status == ALM_OK)
            alm_build_put(build, next[i]);
        else
            alm_version_release(next[i]);
    }
    free((void *)next);
    return status;
}

alm_status alm_change_add_column(alm_ctx *cx, alm_build *build, uint64_t table_id,
                                 const alm_column *col)
{
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return table_gone(cx, table_id, NULL);
    if (alm_table_col(&version->table, alm_str_of(col->name)) >= 0)
        return alm_fail(cx, ALM_E_DUPLICATE, -1, "column '%s' already exists", col->name);
    const uint32_t n_cols = version->schema->n_cols;
    ALM_TRY(alm_symbols_room(cx, &build->st->symbols, col->type.id == ALM_T_SYMBOL));
    if (n_cols >= 4096)
        return alm_fail(cx, ALM_E_LIMIT, -1, "table '%s' has %u columns, no more are allowed",
                        version->table.name, n_cols);
    alm_column *cols = NULL;
    uint32_t *counts = NULL;
    alm_symbols **symbols = NULL;
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    alm_status status = alm_heap_bytes(cx, (n_cols + 1) * sizeof *cols, "columns", &cols);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, (n_cols + 1) * sizeof *counts, "columns", &counts);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, (n_cols + 1) * sizeof *symbols, "columns", &symbols);
    if (status == ALM_OK) {
        for (uint32_t i = 0; i < n_cols; i++) {
            cols[i] = version->schema->cols[i];
            symbols[i] = version->schema->symbols[i];
            counts[i] = symbols[i] != NULL ? version->schema->dicts[i].count : 1;
        }
        cols[n_cols] = *col;
        counts[n_cols] = 1;
        status =
            alm_schema_new(cx, build->st, version->tab, cols, n_cols + 1, symbols, counts, &schema);
    }
    if (status == ALM_OK)
        status = alm_version_copy(cx, version, 0, &next);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, table_id);
    free(cols);
    free(counts);
    free((void *)symbols);
    if (status != ALM_OK) {
        alm_version_release(next);
        alm_schema_release(schema);
        return status;
    }
    version_set_schema(next, schema);
    next->next_col_id = ALM_MAX(next->next_col_id, col->id + 1);
    next->table.schema_version++;
    next->lsn = build->lsn;
    alm_version_settle(next);
    alm_build_put(build, next);
    return ALM_OK;
}

/* Columns of `to` with ids, and the dictionaries that they have already. */
static alm_status altered_columns(alm_ctx *cx, const alm_version *version, const alm_table *to,
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
        const int32_t place = alm_schema_find(version->schema, cols[i].id);
        const int32_t fresh = made == NULL ? -1 : alm_schema_find(made, cols[i].id);
        if (place >= 0 && !alm_type_eq(cols[i].type, version->schema->cols[place].type))
            return alm_fail(cx, ALM_E_INTERNAL, -1, "column '%s' cannot change its type in place",
                            cols[i].name);
        if (place >= 0 && version->schema->symbols[place] != NULL) {
            symbols[i] = version->schema->symbols[place];
            counts[i] = version->schema->dicts[place].count;
        } else if (fresh >= 0) {
            symbols[i] = made->symbols[fresh];
        }
        if (place >= 0 && strcmp(cols[i].name, version->schema->cols[place].name) == 0)
            cols[i].name = version->schema->cols[place].name;
        else
            ALM_TRY(alm_tab_text(cx, version->tab, alm_str_of(to->cols[i].name), &cols[i].name));
    }
    return ALM_OK;
}

alm_status alm_change_alter(alm_ctx *cx, const alm_build *build, const alm_version *version,
                            const alm_table *to, uint32_t next_col_id, const alm_schema *made,
                            alm_version **out)
{
    alm_column *cols = NULL;
    uint32_t *counts = NULL;
    alm_symbols **symbols = NULL;
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    const size_t n_cols = to->n_cols;
    alm_status status = alm_heap_bytes(cx, n_cols * sizeof *cols, "columns", &cols);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, n_cols * sizeof *counts, "columns", &counts);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, n_cols * sizeof *symbols, "columns", &symbols);
    if (status == ALM_OK)
        status = altered_columns(cx, version, to, made, &next_col_id, cols, symbols, counts);
    if (status == ALM_OK)
        status =
            alm_schema_new(cx, build->st, version->tab, cols, to->n_cols, symbols, counts, &schema);
    if (status == ALM_OK)
        status = alm_version_copy(cx, version, 0, &next);
    free(cols);
    free(counts);
    free((void *)symbols);
    if (status != ALM_OK) {
        alm_schema_release(schema);
        return status;
    }
    version_set_schema(next, schema);
    status = alm_comments_follow(cx, version, next);
    if (status != ALM_OK) {
        alm_version_release(next);
        return status;
    }
    next->next_col_id = next_col_id;
    next->table.schema_version = to->schema_version;
    next->table.ts_col = to->ts_col;
    next->table.wal = to->wal;
    next->table.dedup = to->dedup;
    next->table.hides = next->table.hides && to->ttl_hours == version->table.ttl_hours;
    if (to->ttl_hours == 0)
        next->table.kept_from = INT64_MIN;
    next->table.ttl_hours = to->ttl_hours;
    next->table.max_uncommitted_rows = to->max_uncommitted_rows;
    next->table.o3_max_lag_us = to->o3_max_lag_us;
    next->lsn = build->lsn;
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}
