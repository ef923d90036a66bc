/*
 * guard.c - the footer of an open part whose file is mapped (inner.h). Of its columns 4 bytes each are kept and not a
 * copy of 64: many parts are open at a time.
 */
#include <stdlib.h>

#include "storage/part/inner.h"
#include "storage/part/part.h"

alm_status alm_part_guard_new(alm_ctx *cx, alm_part *part)
{
    const uint32_t n_cols = part->footer->n_cols;
    ALM_ASSERT(part->guard == NULL && part->copy == NULL && part->parquet == NULL);
    alm_part_guard *guard = malloc(sizeof *guard + n_cols * sizeof guard->crcs[0]);
    if (guard == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to open part file '%s'", part->path);
    guard->footer = *part->footer;
    guard->mapped = part->footer;
    for (uint32_t entry = 0; entry < n_cols; entry++)
        guard->crcs[entry] = alm_crc32c(0, &part->cols[entry], sizeof *part->cols);
    part->guard = guard;
    part->footer = &guard->footer;
    return ALM_OK;
}
