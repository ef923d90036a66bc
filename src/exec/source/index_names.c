/*
 * index_names.c - names of indexes. An index is a declaration of a SYMBOL column and called table_column_idx, unless CREATE
 * INDEX gave it a name: that is a record of the catalogue (storage/catalog.h), and so are names that CREATE INDEX gave to
 * what has no effect, so that DROP INDEX finds them.
 *
 * Record      key: 'i' and the name in small letters. Value: 'd' (declared) or 'n' (no effect), the number of the table, that of
 *             the column, the name as written; blanks between them. One whose table or column is gone says nothing.
 */
#include <string.h>

#include "exec/exec.h"

static bool index_names_take_number(alm_str *text, uint64_t *out)
{
    size_t i = 1;
    *out = 0;
    for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++)
        *out = *out * 10 + (uint64_t)(text->ptr[i] - '0');
    const bool found = text->len > 0 && i > 1;
    *text = found ? (alm_str){text->ptr + i, text->len - i} : *text;
    return found;
}

static const alm_table *index_names_table_of(const alm_snapshot *snap, uint64_t id)
{
    for (size_t i = 0; i < alm_snapshot_count(snap); i++)
        if (alm_snapshot_at(snap, i)->id == id)
            return alm_snapshot_at(snap, i);
    return NULL;
}

/* False: the record is of somebody else, or of what is not there any more. */
static bool index_names_read_record(const alm_snapshot *snap, alm_record record,
                                    alm_index_name *out)
{
    alm_str rest = record.value;
    uint64_t table = 0, column = 0;
    if (record.key.len < 2 || record.key.ptr[0] != ALM_INDEX_KEY || rest.len < 2)
        return false;
    *out = (alm_index_name){.col = -1, .key = record.key, .declared = rest.ptr[0] == 'd'};
    rest = (alm_str){rest.ptr + 1, rest.len - 1};
    if (!index_names_take_number(&rest, &table) || !index_names_take_number(&rest, &column) ||
        rest.len < 2)
        return false;
    out->name = (alm_str){rest.ptr + 1, rest.len - 1};
    out->table = index_names_table_of(snap, table);
    for (uint32_t col = 0; out->table != NULL && col < out->table->n_cols; col++)
        if (out->table->cols[col].id == column)
            out->col = (int32_t)col;
    return out->table != NULL && (column == 0 || out->col >= 0) &&
           (!out->declared || (out->col >= 0 && out->table->cols[out->col].indexed));
}

bool alm_index_at(const alm_snapshot *snap, size_t i, alm_index_name *out)
{
    return index_names_read_record(snap, alm_snapshot_record_at(snap, i), out);
}

/* First record that is not before those of indexes. */
static size_t first_record(const alm_snapshot *snap)
{
    size_t lo = 0, hi = alm_snapshot_record_count(snap);
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (alm_snapshot_record_at(snap, mid).key.ptr[0] < ALM_INDEX_KEY)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

alm_status alm_index_name_of(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap,
                             const alm_table *table, uint32_t col, const char **out)
{
    alm_index_name named;
    for (size_t i = first_record(snap); i < alm_snapshot_record_count(snap); i++) {
        const alm_record record = alm_snapshot_record_at(snap, i);
        if (record.key.ptr[0] != ALM_INDEX_KEY)
            break;
        if (index_names_read_record(snap, record, &named) && named.declared &&
            named.table == table && named.col == (int32_t)col)
            return alm_arena_zstr(cx, arena, named.name, out);
    }
    return alm_arena_printf(cx, arena, out, "%s_%s_idx", table->name, table->cols[col].name);
}

static alm_status find_default(alm_ctx *cx, const alm_snapshot *snap, alm_str name,
                               alm_index_name *out, bool *found)
{
    for (size_t i = 0; i < alm_snapshot_count(snap) && !*found; i++) {
        const alm_table *table = alm_snapshot_at(snap, i);
        const size_t len = strlen(table->name);
        if (name.len <= len || !alm_str_ieq((alm_str){name.ptr, len}, alm_str_of(table->name)))
            continue;
        for (uint32_t col = 0; col < table->n_cols && !*found; col++) {
            const char *its = NULL;
            if (!table->cols[col].indexed)
                continue;
            ALM_TRY(alm_index_name_of(cx, cx->arena, snap, table, col, &its));
            *found = alm_str_ieq(name, alm_str_of(its));
            *out = (alm_index_name){alm_str_of(its), {0}, table, (int32_t)col, true};
        }
    }
    return ALM_OK;
}

alm_status alm_index_find(alm_ctx *cx, const alm_snapshot *snap, alm_str name, alm_index_name *out,
                          bool *found)
{
    *found = false;
    for (size_t i = first_record(snap); i < alm_snapshot_record_count(snap); i++)
        if (alm_index_at(snap, i, out) && alm_str_ieq(out->name, name)) {
            *found = true;
            return ALM_OK;
        }
    return find_default(cx, snap, name, out, found);
}
