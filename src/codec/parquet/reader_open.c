/* reader_open.c - a file is what it says: magic, footer, and counts and places that fit the bytes. */
#include <stdarg.h>
#include <stdio.h>

#include "codec/parquet/meta.h"
#include "codec/parquet/reader_state.h"

alm_status alm_pq_fail(alm_ctx *cx, const alm_pq_file *file, int64_t group, const char *column,
                       const char *format, ...)
{
    char what[400], where[300] = "";
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (group >= 0 && column != NULL)
        (void)snprintf(where, sizeof where, ", row group %lld, column '%.200s'", (long long)group,
                       column);
    else if (group >= 0)
        (void)snprintf(where, sizeof where, ", row group %lld", (long long)group);
    else if (column != NULL)
        (void)snprintf(where, sizeof where, ", column '%.200s'", column);
    return alm_fail(cx, ALM_E_FORMAT, -1, "parquet file '%.200s'%s: %s", file->name, where, what);
}

bool alm_pq_slice(const alm_pq_file *file, int64_t offset, int64_t bytes, alm_str *out)
{
    if (offset < ALM_PQ_MAGIC_BYTES || bytes < 0 || offset > file->data_end ||
        bytes > file->data_end - offset)
        return false;
    *out = (alm_str){file->bytes + offset, (size_t)bytes};
    return true;
}

static uint32_t little_endian(const char *ptr)
{
    uint32_t value;
    memcpy(&value, ptr, sizeof value);
    return value;
}

static alm_status read_footer(alm_ctx *cx, alm_arena *arena, alm_pq_file *file, alm_str all)
{
    enum { LEAST = ALM_PQ_MAGIC_BYTES + ALM_PQ_TAIL_BYTES };
    const char *bad = NULL;
    if (all.len < LEAST || memcmp(all.ptr, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES) != 0) {
        if (all.len >= LEAST && memcmp(all.ptr, ALM_PQ_MAGIC_ENCRYPTED, ALM_PQ_MAGIC_BYTES) == 0)
            return alm_pq_fail(cx, file, -1, NULL, "it is encrypted, which is not supported");
        return alm_pq_fail(cx, file, -1, NULL,
                           all.len < LEAST ? "%zu bytes are no Parquet file"
                                           : "it is no Parquet file of %zu bytes: PAR1 is missing "
                                             "at its start",
                           all.len);
    }
    const char *tail = all.ptr + all.len - ALM_PQ_TAIL_BYTES;
    const char *magic = tail + sizeof(uint32_t);
    if (memcmp(magic, ALM_PQ_MAGIC_ENCRYPTED, ALM_PQ_MAGIC_BYTES) == 0)
        return alm_pq_fail(cx, file, -1, NULL, "it is encrypted, which is not supported");
    if (memcmp(magic, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES) != 0)
        return alm_pq_fail(cx, file, -1, NULL,
                           "PAR1 is missing at its end: it was cut, or is "
                           "being written");
    const size_t footer = little_endian(tail), room = all.len - LEAST;
    if (footer > room)
        return alm_pq_fail(cx, file, -1, NULL,
                           "the footer has %zu bytes and the file only %zu for it", footer, room);
    file->bytes = all.ptr;
    file->data_end = (int64_t)(room - footer) + ALM_PQ_MAGIC_BYTES;
    ALM_TRY(alm_pq_read_file_meta(cx, arena, (alm_str){tail - footer, footer}, &file->meta, &bad));
    if (bad != NULL)
        return alm_pq_fail(cx, file, -1, NULL, "the footer is damaged: %s", bad);
    return ALM_OK;
}

static alm_status check_chunk(alm_ctx *cx, const alm_pq_file *file, uint32_t g, uint32_t i)
{
    const alm_pq_row_group *group = &file->meta.row_group[g];
    const alm_pq_column_chunk *chunk = &group->column[i];
    const alm_pq_leaf *leaf = &file->leaf[i];
    if (chunk->encrypted || !chunk->has_meta)
        return ALM_OK; /* an error where it is read */
    if (chunk->physical != (int8_t)leaf->physical)
        return alm_pq_fail(cx, file, g, leaf->path, "it is %s here and %s in the schema",
                           alm_pq_physical_name(chunk->physical),
                           alm_pq_physical_name((int32_t)leaf->physical));
    if (chunk->n_values < 0 || (leaf->max_rep == 0 && chunk->n_values != group->n_rows))
        return alm_pq_fail(cx, file, g, leaf->path,
                           "it has %lld values in a row group of %lld rows",
                           (long long)chunk->n_values, (long long)group->n_rows);
    return ALM_OK;
}

/* Rows are countable, each row group has a chunk for each leaf. */
static alm_status reader_open_check_groups(alm_ctx *cx, alm_pq_file *file)
{
    int64_t rows = 0;
    for (uint32_t row_group = 0; row_group < file->meta.n_row_groups; row_group++) {
        const alm_pq_row_group *group = &file->meta.row_group[row_group];
        if (group->n_rows < 0 || __builtin_add_overflow(rows, group->n_rows, &rows) ||
            rows > INT64_MAX / 64)
            return alm_pq_fail(cx, file, row_group, NULL, "it has %lld rows",
                               (long long)group->n_rows);
        if (group->n_columns != file->n_leaves)
            return alm_pq_fail(cx, file, row_group, NULL, "it has %u columns, and the schema %u",
                               group->n_columns, file->n_leaves);
        for (uint32_t i = 0; i < file->n_leaves; i++)
            ALM_TRY(check_chunk(cx, file, row_group, i));
    }
    file->meta.n_rows = rows; /* some writers leave the sum at 0 */
    return ALM_OK;
}

alm_status alm_pq_open(alm_ctx *cx, alm_arena *arena, const char *name, alm_str bytes,
                       const alm_pq_file **out)
{
    alm_pq_file *file = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &file));
    ALM_TRY(alm_arena_zstr(cx, arena, alm_str_of(name), &file->name));
    file->ts_col = -1;
    ALM_TRY(read_footer(cx, arena, file, bytes));
    ALM_TRY(alm_pq_map_schema(cx, arena, file));
    ALM_TRY(reader_open_check_groups(cx, file));
    *out = file;
    return ALM_OK;
}

const char *alm_pq_name(const alm_pq_file *file)
{
    return file->name;
}
const alm_pq_file_meta *alm_pq_meta(const alm_pq_file *file)
{
    return &file->meta;
}
const alm_pq_read_col *alm_pq_columns(const alm_pq_file *file, uint32_t *n)
{
    *n = file->n_columns;
    return file->column;
}
int64_t alm_pq_rows(const alm_pq_file *file)
{
    return file->meta.n_rows;
}
uint32_t alm_pq_groups(const alm_pq_file *file)
{
    return file->meta.n_row_groups;
}
int64_t alm_pq_group_rows(const alm_pq_file *file, uint32_t group)
{
    ALM_ASSERT(group < file->meta.n_row_groups);
    return file->meta.row_group[group].n_rows;
}
int32_t alm_pq_ts_col(const alm_pq_file *file)
{
    return file->ts_col;
}
