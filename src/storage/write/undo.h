/*
 * undo.h - the values that an UPDATE or DELETE took away from one part, by which the part is made again from the one that
 * took its place.
 *
 * Contents    UPDATE: the rows whose value became another one, and the old values, column by column. DELETE: the rows that
 *             went, with all their columns. A column's values are packed by zstd, bytes of equal significance together.
 * Memory      One block, charged to the account of the transaction. To make or apply one: the values of one column.
 * Threads     Belongs to one thread at a time.
 */
#ifndef ALM_STORAGE_UNDO_H
#define ALM_STORAGE_UNDO_H

#include "storage/write/overlay.h"

typedef struct alm_undo alm_undo;
struct alm_undo {
    alm_undo *older; /* applied behind it; of the list's owner */
    alm_mem *mem;    /* what `bytes` are charged to, or NULL */
    int64_t bytes;   /* of the block */
    int64_t gone;    /* rows that a DELETE took away */
    uint32_t n_cols; /* with values */
};

/* rows[0..n) of a part, in any order and some more than once. */
typedef struct alm_undo_rows {
    const alm_version *v;
    const alm_part_ref *ref;
    const uint32_t *rows;
    size_t n;
} alm_undo_rows;

/* They get the values of `change`. */
ALM_NODISCARD alm_status alm_undo_of_update(alm_ctx *cx, alm_mem *mem, alm_arena *arena,
                                            const alm_undo_rows *of,
                                            const alm_overlay_change *change, alm_undo **out);
/* They go. */
ALM_NODISCARD alm_status alm_undo_of_delete(alm_ctx *cx, alm_mem *mem, alm_arena *arena,
                                            const alm_undo_rows *of, alm_undo **out);
void alm_undo_free(alm_undo *undo); /* not the older ones; NULL is fine */

bool alm_undo_has(const alm_undo *undo, uint32_t col_id);
int64_t alm_undo_unpacked(const alm_undo *undo,
                          uint32_t col_id); /* bytes; 0: it lacks the column */
/* A column as alm_overlay_column gives it, with *rows rows and room for those that come back. Long texts of old values lie in
 * `texts`; what else is needed is taken from `scratch`. */
ALM_NODISCARD alm_status alm_undo_apply(alm_ctx *cx, alm_arena *texts, alm_arena *scratch,
                                        const alm_undo *undo, uint32_t col_id, alm_vec *column,
                                        int64_t *rows);

#endif
