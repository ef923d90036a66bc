/*
 * overlay.c - see overlay.h.
 */
#include "storage/write/overlay.h"

#include "storage/dict/dict.h"
#include "storage/part/format.h"
#include "storage/scan/scan.h"
#include "storage/write/bulk.h"

alm_status alm_overlay_column(alm_ctx *cx, alm_arena *arena, const alm_version *v,
                              const alm_part_ref *ref, uint32_t col, int64_t room, alm_vec *out)
{
    const alm_scan_piece piece = {.part = ref, .hi = ref->rows};
    alm_vec old;
    ALM_ASSERT(room >= ref->rows);
    ALM_TRY(alm_scan_piece_vec(cx, arena, v, &piece, col, &old));
    const size_t rows = (size_t)ref->rows;
    const alm_type type = v->table.cols[col].type;
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

static alm_status write_file(alm_ctx *cx, alm_arena *arena, const alm_version *v, int64_t rows,
                             const alm_overlay_change *change, alm_file *file)
{
    alm_part_coldef *defs = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, change->n, &defs));
    for (uint32_t c = 0; c < change->n; c++)
        defs[c] = (alm_part_coldef){change->as[c].id, change->as[c].type};
    const alm_part_chunk chunk = {.rows = (uint32_t)rows, .cols = change->values};
    const alm_part_spec spec = {.table_id = v->table.id,
                                .cols = defs,
                                .n_cols = change->n,
                                .ts_col = -1,
                                .chunks = &chunk,
                                .n_chunks = 1};
    alm_part_written written = {0};
    return alm_file_write(cx, file, &spec, &written);
}

static bool touches(const alm_version *v, const alm_overlay_change *change, uint32_t col_id)
{
    for (uint32_t c = 0; c < change->n; c++)
        if (v->table.cols[change->cols[c]].id == col_id)
            return true;
    return false;
}

static alm_status ref_under(alm_ctx *cx, alm_storage *st, alm_arena *arena, const alm_version *v,
                            const alm_part_ref *old, const alm_overlay_change *change,
                            alm_file *file, alm_part_ref **out)
{
    alm_overlay *overlays = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, old->n_overlays + change->n, &overlays));
    uint32_t n = 0;
    for (uint32_t i = 0; i < old->n_overlays; i++)
        if (!touches(v, change, old->overlays[i].col_id))
            overlays[n++] = old->overlays[i];
    for (uint32_t c = 0; c < change->n; c++)
        overlays[n++] = (alm_overlay){change->as[c].id, file};
    const alm_part_ref ref = {.seq = old->seq,
                              .rows = old->rows,
                              .min_ts = old->min_ts,
                              .max_ts = old->max_ts,
                              .bucket = old->bucket,
                              .file = old->file,
                              .n_overlays = n,
                              .overlays = overlays};
    return alm_part_ref_new(cx, st, &ref, out);
}

alm_status alm_overlay_put(alm_ctx *cx, alm_storage *st, alm_arena *arena, const alm_version *v,
                           const alm_part_ref *ref, const alm_overlay_change *change,
                           alm_part_ref **out)
{
    alm_file *file = NULL;
    ALM_ASSERT(change->n > 0);
    ALM_TRY(alm_file_new(cx, st, v->table.id, 0, &file));
    alm_status e = write_file(cx, arena, v, ref->rows, change, file);
    if (e == ALM_OK)
        e = ref_under(cx, st, arena, v, ref, change, file, out);
    alm_file_release(file); /* the part holds its own references */
    return e;
}

/* A Parquet part keeps the words of its symbols: those of the newest dictionary. */
static alm_status give_words(alm_ctx *cx, alm_arena *arena, const alm_version *v, alm_vec *cols)
{
    for (uint32_t c = 0; c < v->table.n_cols; c++) {
        struct alm_symbols *symbols = v->schema->symbols[c];
        alm_dict *dict = NULL;
        if (symbols == NULL)
            continue;
        ALM_TRY(ALM_NEW(cx, arena, &dict));
        alm_symbols_view(symbols, alm_symbols_count(symbols), dict);
        cols[c].dict = dict;
    }
    return ALM_OK;
}

alm_status alm_overlay_whole(alm_ctx *cx, alm_storage *st, alm_arena *arena, const alm_version *v,
                             const alm_part_ref *ref, int64_t rows, alm_vec *cols,
                             alm_part_ref **out)
{
    const alm_table *table = &v->table;
    alm_part_coldef *defs = NULL;
    ALM_ASSERT(rows > 0);
    ALM_TRY(ALM_NEWN(cx, arena, table->n_cols, &defs));
    for (uint32_t c = 0; c < table->n_cols; c++)
        defs[c] = (alm_part_coldef){table->cols[c].id, table->cols[c].type, table->cols[c].name};
    const alm_part_chunk chunk = {.rows = (uint32_t)rows, .cols = cols};
    const alm_part_spec spec = {.table_id = table->id,
                                .cols = defs,
                                .n_cols = table->n_cols,
                                .ts_col = table->ts_col,
                                .chunks = &chunk,
                                .n_chunks = 1,
                                .parquet = alm_part_ref_is_parquet(ref)};
    if (spec.parquet)
        ALM_TRY(give_words(cx, arena, v, cols));
    return alm_spec_to_part(cx, st, &spec, ref->bucket, ref->seq, out);
}
