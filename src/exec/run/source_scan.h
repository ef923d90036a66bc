/*
 * source_scan.h - a SOURCE that is scanned, made ready for one execution. Shared by all threads, read-only after
 * alm_op_source_prepare.
 *
 * Morsel      A range of rows of one part that may have rows which pass: of about ALM_SOURCE_MORSEL rows, or the whole
 *             part where many are read. Borders depend on the data and the conditions alone.
 */
#ifndef ALM_EXEC_SOURCE_SCAN_H
#define ALM_EXEC_SOURCE_SCAN_H

#include "exec/source/source.h"

enum {
    ALM_SOURCE_MORSEL = 262144,
    ALM_SOURCE_PARTS = 128, /* so many feed all threads as they are */
    ALM_SOURCE_LARGEST = 1 << 22
};

typedef struct alm_source_morsel {
    uint32_t part;
    int64_t lo, hi;
} alm_source_morsel;

typedef struct alm_source_plan {
    const alm_source *source;
    alm_source_parts parts;
    alm_source_morsel *morsel;
    uint32_t n_morsels;
    int64_t rows; /* of all parts */
} alm_source_plan;

#endif
