/*
 * overlay.c - see overlay.h.
 */
#include "storage/write/overlay.h"

#include "storage/dict/dict.h"
#include "storage/part/format.h"
#include "storage/scan/scan.h"
#include "storage/write/bulk.h"

alm_status alm_overlay_column(alm_ctx *cx, alm_arena *arena, const alm_version *version,
                              const alm_part_ref *ref, uint32_t col, int64_t room, alm_vec *out)
{
    const alm_scan_piece piece = {.part = ref, .hi = ref->rows};
    alm_vec old;
    ALM_ASSERT(room >= ref->rows);
    ALM_TRY(alm_scan_piece_vec(cx, arena, version, &piece, col, &old));
    const size_t rows = (size_t)ref->rows;
    const alm_type type = version->table.cols[col].type;
    const size_t width = alm_type_width(type);
    uint8_t *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)room * width, &data));
    if (type.id == ALM_T_SYMBOL) {
        uint32_t *codes = (uint32_t *)(void *)data;
        for (size_t i = 0; i < rows; i++)
            codes[i] = alm_vec_code(&old, i);
    } else if (old.is_const) {
        for (size_t i = 0; i < rows; i++)
            memcpy(data + i * width, old.data, width);
    } else {
        memcpy(data, old.data, rows * width);
    }
    if (alm_part_has_heap(type) && !old.is_const) {
        alm_view *views = (alm_view *)(void *)data;
        for (size_t i = 0; i < rows; i++)
            if (!alm_view_is_null(&views[i]) && views[i].len > ALM_VIEW_INLINE)
                views[i].off += (uint64_t)(uintptr_t)old.heap;
    }
    *out = (alm_vec){.type = type, .width = (uint8_t)width, .data = data};
    return ALM_OK;
}

static alm_status overlay_write_file(alm_ctx *cx, alm_arena *arena, const alm_version *version,
                                     int64_t rows, const alm_overlay_change *change, alm_file *file)
{
    alm_part_coldef *defs = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, change->n, &defs));
    for (uint32_t col = 0; col < change->n; col++)
        defs[col] = (alm_part_coldef){change->as[col].id, change->as[col].type};
    const alm_part_chunk chunk = {.rows = (uint32_t)rows, .cols = change->values};
    const alm_part_spec spec = {.table_id = version->table.id,
                                .cols = defs,
                                .n_cols = change->n,
                                .ts_col = -1,
                                .chunks = &chunk,
                                .n_chunks = 1};
    alm_part_written written = {0};
    return alm_file_write(cx, file, &spec, &written);
}

static bool overlay_touches(const alm_version *version, const alm_overlay_change *change,
                            uint32_t col_id)
{
    for (uint32_t col = 0; col < change->n; col++)
        if (version->table.cols[change->cols[col]].id == col_id)
            return true;
    return false;
}

static alm_status ref_under(alm_ctx *cx, alm_storage *storage, alm_arena *arena,
                            const alm_version *version, const alm_part_ref *old,
                            const alm_overlay_change *change, alm_file *file, alm_part_ref **out)
{
    alm_overlay *overlays = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, old->n_overlays + change->n, &overlays));
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->n_overlays; i++)
        if (!overlay_touches(version, change, old->overlays[i].col_id))
            overlays[count++] = old->overlays[i];
    for (uint32_t col = 0; col < change->n; col++)
        overlays[count++] = (alm_overlay){change->as[col].id, file};
    const alm_part_ref ref = {.seq = old->seq,
                              .rows = old->rows,
                              .min_ts = old->min_ts,
                              .max_ts = old->max_ts,
                              .bucket = old->bucket,
                              .file = old->file,
                              .n_overlays = count,
                              .overlays = overlays};
    return alm_part_ref_new(cx, storage, &ref, out);
}

alm_status alm_overlay_put(alm_ctx *cx, alm_storage *storage, alm_arena *arena,
                           const alm_version *version, const alm_part_ref *ref,
                           const alm_overlay_change *change, alm_part_ref **out)
{
    alm_file *file = NULL;
    ALM_ASSERT(change->n > 0);
    ALM_TRY(alm_file_new(cx, storage, version->table.id, 0, &file));
    alm_status status = overlay_write_file(cx, arena, version, ref->rows, change, file);
    if (status == ALM_OK)
        status = ref_under(cx, storage, arena, version, ref, change, file, out);
    alm_file_release(file); /* the part holds its own references */
    return status;
}

/* A Parquet part keeps the words of its symbols: those of the newest dictionary. */
static alm_status give_words(alm_ctx *cx, alm_arena *arena, const alm_version *version,
                             alm_vec *cols)
{
    for (uint32_t col = 0; col < version->table.n_cols; col++) {
        struct alm_symbols *symbols = version->schema->symbols[col];
        alm_dict *dict = NULL;
        if (symbols == NULL)
            continue;
        ALM_TRY(ALM_NEW(cx, arena, &dict));
        alm_symbols_view(symbols, alm_symbols_count(symbols), dict);
        cols[col].dict = dict;
    }
    return ALM_OK;
}

alm_status alm_overlay_whole(alm_ctx *cx, alm_storage *storage, alm_arena *arena,
                             const alm_version *version, const alm_part_ref *ref, int64_t rows,
                             alm_vec *cols, alm_part_ref **out)
{
    const alm_table *table = &version->table;
    alm_part_coldef *defs = NULL;
    ALM_ASSERT(rows > 0);
    ALM_TRY(ALM_NEWN(cx, arena, table->n_cols, &defs));
    for (uint32_t col = 0; col < table->n_cols; col++)
        defs[col] =
            (alm_part_coldef){table->cols[col].id, table->cols[col].type, table->cols[col].name};
    const alm_part_chunk chunk = {.rows = (uint32_t)rows, .cols = cols};
    const alm_part_spec spec = {.table_id = table->id,
                                .cols = defs,
                                .n_cols = table->n_cols,
                                .ts_col = table->ts_col,
                                .chunks = &chunk,
                                .n_chunks = 1,
                                .parquet = alm_part_ref_is_parquet(ref)};
    if (spec.parquet)
        ALM_TRY(give_words(cx, arena, version, cols));
    return alm_spec_to_part(cx, storage, &spec, ref->bucket, ref->seq, out);
}
