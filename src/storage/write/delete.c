/*
 * delete.c - DELETE: a part that loses rows is written anew without them, under its old place in the
 * order of insertion and in its format; one that loses all is dropped. Space returns when no snapshot holds the old
 * files.
 *
 * Memory      a bit and 8 bytes per row of one part.
 */
#include "storage/write/update.h"

alm_status alm_update_map(alm_ctx *cx, alm_update *update, const alm_part_ref *ref,
                          alm_part_spec *spec, alm_part_chunk *chunk)
{
    const alm_version *version = update->v;
    const alm_scan_piece piece = {.part = ref, .hi = ref->rows};
    alm_part_coldef *defs = NULL;
    alm_vec *vecs = NULL;
    ALM_TRY(ALM_NEWN(cx, &update->scratch, version->table.n_cols, &defs));
    ALM_TRY(ALM_NEWN(cx, &update->scratch, version->table.n_cols, &vecs));
    for (uint32_t col = 0; col < version->table.n_cols; col++) {
        alm_part *part = NULL;
        int32_t entry = -1;
        ALM_TRY(alm_check(cx));
        ALM_TRY(
            alm_scan_part_col(cx, version, ref, version->table.cols[col].id, col, &part, &entry));
        /* All that the part holds may have been dropped: its rows are null then. */
        const bool one_at_least = spec->n_cols == 0 && col + 1 == version->table.n_cols;
        if (entry < 0 && !spec->parquet && !one_at_least)
            continue;
        if ((int32_t)col == version->table.ts_col)
            spec->ts_col = (int32_t)spec->n_cols;
        ALM_TRY(
            alm_scan_piece_vec(cx, &update->scratch, version, &piece, col, &vecs[spec->n_cols]));
        defs[spec->n_cols++] =
            (alm_part_coldef){version->table.cols[col].id, version->table.cols[col].type,
                              version->table.cols[col].name};
    }
    *chunk = (alm_part_chunk){.rows = (uint32_t)ref->rows, .cols = vecs};
    spec->cols = defs;
    return ALM_OK;
}

alm_status alm_delete_part(alm_ctx *cx, alm_update *update, update_part *part, alm_part_ref **out)
{
    const alm_part_ref *ref = part->ref;
    const size_t rows = (size_t)ref->rows;
    uint64_t *order = NULL;
    bool *goes = NULL;
    *out = NULL;
    alm_arena_reset(&update->scratch);
    update->order_span = SIZE_MAX;
    if (part->n >= rows) /* no row is given twice */
        return ALM_OK;
    if (part->marked) /* a savepoint has it as it was */
        ALM_TRY(alm_undo_of_delete(cx, update->txn->account, &update->scratch,
                                   &(alm_undo_rows){update->v, ref, part->rows, part->n},
                                   &part->undo));
    ALM_TRY(ALM_NEWN(cx, &update->scratch, rows, &goes));
    ALM_TRY(alm_arena_bytes(cx, &update->scratch, rows * sizeof(*order), &order));
    for (size_t i = 0; i < part->n; i++)
        goes[part->rows[i]] = true;
    int64_t count = 0;
    for (size_t i = 0; i < rows; i++)
        if (!goes[i])
            order[count++] = i; /* of chunk 0 */
    alm_part_chunk chunk;
    alm_part_spec spec = {.table_id = update->v->table.id,
                          .ts_col = -1,
                          .chunks = &chunk,
                          .n_chunks = 1,
                          .order = order,
                          .n_order = count,
                          .parquet = alm_part_ref_is_parquet(ref)};
    ALM_TRY(alm_update_map(cx, update, ref, &spec, &chunk));
    return alm_spec_to_part(cx, update->st, &spec, ref->bucket, ref->seq, out);
}
