/*
 * rows_part.c - rows of one partition become one part of a table: sorted by time, deduplicated,
 * written, described for the catalogue.
 */
#include <stdlib.h>

#include "storage/version/merge.h"
#include "storage/write/bulk.h"

/* Key vectors per chunk, for the comparison of rows. */
static alm_status dedup_sources(alm_ctx *cx, const alm_version *version,
                                const alm_part_chunk *chunks, size_t n_chunks, alm_dedup_src **out,
                                alm_vec **keys, uint32_t *n_keys)
{
    uint32_t per_chunk = 0;
    for (uint32_t col = 0; col < version->table.n_cols; col++)
        per_chunk += version->table.cols[col].dedup_key && (int32_t)col != version->table.ts_col;
    *out = calloc(n_chunks, sizeof(**out));
    *keys = calloc(n_chunks * (per_chunk + 1), sizeof(**keys));
    if (*out == NULL || *keys == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to compare rows by their keys");
    alm_vec *at = *keys;
    for (size_t i = 0; i < n_chunks; i++) {
        (*out)[i] = (alm_dedup_src){.ts = chunks[i].cols[version->table.ts_col].data, .keys = at};
        for (uint32_t col = 0; col < version->table.n_cols; col++)
            if (version->table.cols[col].dedup_key && (int32_t)col != version->table.ts_col)
                *at++ = chunks[i].cols[col];
    }
    *n_keys = per_chunk;
    return ALM_OK;
}

static alm_status order_as_given(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                                 int64_t rows, uint64_t **out)
{
    uint64_t *order = malloc((size_t)rows * sizeof(*order));
    if (order == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to order %lld rows", (long long)rows);
    size_t count = 0;
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        for (uint32_t i = 0; i < chunks[chunk].rows; i++)
            order[count++] = (uint64_t)chunk << 32 | i;
    *out = order;
    return ALM_OK;
}

/* Order of the rows that stay; the caller frees it. */
static alm_status dedup_order(alm_ctx *cx, const alm_version *version, const alm_part_chunk *chunks,
                              size_t n_chunks, uint64_t **order, int64_t *rows)
{
    ALM_TRY(alm_part_sort(cx, chunks, n_chunks, (uint32_t)version->table.ts_col, order, rows));
    if (*order == NULL)
        ALM_TRY(order_as_given(cx, chunks, n_chunks, *rows, order));
    alm_dedup_src *srcs = NULL;
    alm_vec *keys = NULL;
    uint32_t n_keys = 0;
    alm_status status = dedup_sources(cx, version, chunks, n_chunks, &srcs, &keys, &n_keys);
    if (status == ALM_OK)
        status = alm_dedup_rows(cx, ALM_DEDUP_ROWS, srcs, n_keys, *order, *rows, rows);
    free(srcs);
    free(keys);
    return status;
}

static alm_status rows_write_part(alm_ctx *cx, alm_storage *storage, alm_file *file,
                                  const alm_part_spec *spec, int64_t bucket, uint64_t seq,
                                  alm_part_ref **out)
{
    alm_part_written written = {0};
    ALM_TRY(alm_file_write(cx, file, spec, &written));
    const bool timed = spec->ts_col >= 0;
    const alm_part_ref ref = {.seq = seq,
                              .rows = written.rows,
                              .min_ts = timed ? written.min_ts : 0,
                              .max_ts = timed ? written.max_ts : 0,
                              .bucket = bucket,
                              .file = file};
    return alm_part_ref_new(cx, storage, &ref, out);
}

alm_status alm_spec_to_part(alm_ctx *cx, alm_storage *storage, const alm_part_spec *spec,
                            int64_t bucket, uint64_t seq, alm_part_ref **out)
{
    alm_file *file = NULL;
    ALM_TRY(alm_file_new(cx, storage, spec->table_id, spec->parquet ? ALM_FILE_PARQUET : 0, &file));
    const alm_status status = rows_write_part(cx, storage, file, spec, bucket, seq, out);
    alm_file_release(file); /* the part holds its own reference; without one the file goes */
    return status;
}

alm_status alm_rows_to_part(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                            const alm_part_chunk *chunks, size_t n_chunks, int64_t bucket,
                            alm_part_pack *pack, alm_part_ref **out)
{
    alm_part_coldef *defs = calloc(version->table.n_cols, sizeof(*defs));
    if (defs == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to write a part");
    for (uint32_t col = 0; col < version->table.n_cols; col++)
        defs[col] = (alm_part_coldef){version->table.cols[col].id, version->table.cols[col].type};
    alm_part_spec spec = {.table_id = version->table.id,
                          .cols = defs,
                          .n_cols = version->table.n_cols,
                          .ts_col = version->table.ts_col,
                          .chunks = chunks,
                          .n_chunks = n_chunks,
                          .pack = pack,
                          .sort = true};
    uint64_t *order = NULL;
    alm_status status = ALM_OK;
    if (version->table.dedup) {
        status = dedup_order(cx, version, chunks, n_chunks, &order, &spec.n_order);
        spec.order = order;
    }
    if (status == ALM_OK)
        status = alm_spec_to_part(cx, storage, &spec, bucket, 0, out);
    free(order);
    free(defs);
    return status;
}
