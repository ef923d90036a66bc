/*
 * overlay.h - parts that change in place: whole columns in memory, and the overlay file or the part that they
 * become. For UPDATE, and for parts that a savepoint brings back.
 *
 * Memory      The columns that are given, in the arena of the caller.
 */
#ifndef ALM_STORAGE_OVERLAY_H
#define ALM_STORAGE_OVERLAY_H

#include "storage/version/version.h"
#include "type/vector.h"

/* Column number `col` of the part in its widest form, which can be written to: 4-byte codes, address-form views. There is
 * room for `room` rows, which are at least those of the part. */
ALM_NODISCARD alm_status alm_overlay_column(alm_ctx *cx, alm_arena *arena,
                                            const alm_version *version, const alm_part_ref *ref,
                                            uint32_t col, int64_t room, alm_vec *out);

/* New values for all rows of a part: column cols[i] of the version becomes `as[i]`, which may have another id. */
typedef struct alm_overlay_change {
    const uint32_t *cols;
    const alm_column *as;
    const alm_vec *values;
    uint32_t n;
} alm_overlay_change;

/* The part under one overlay file with the values; overlays of other columns stay. */
ALM_NODISCARD alm_status alm_overlay_put(alm_ctx *cx, alm_storage *storage, alm_arena *arena,
                                         const alm_version *version, const alm_part_ref *ref,
                                         const alm_overlay_change *change, alm_part_ref **out);
/* A part in the place and format of `ref` with `rows` rows, one vector for each column of the version. */
ALM_NODISCARD alm_status alm_overlay_whole(alm_ctx *cx, alm_storage *storage, alm_arena *arena,
                                           const alm_version *version, const alm_part_ref *ref,
                                           int64_t rows, alm_vec *cols, alm_part_ref **out);

#endif
