/*
 * scan_mask.h - rows that pass the conditions of a scan as one byte per row, instead of a selection.
 *
 * For aggregates without keys: where every eighth row or more passes, reading the columns whole and leaving
 * out values by the mask costs less than numbering the rows and gathering their values. Which of the two
 * a batch gets depends on its rows alone.
 */
#ifndef ALM_EXEC_SCAN_MASK_H
#define ALM_EXEC_SCAN_MASK_H

#include "exec/run/op.h"

/* Asks `op` for masks. False: it gives none (not a scan with conditions, backward, analyzed). */
bool alm_op_scan_masks(alm_op *op);
/* Mask of the batch that `op` gave last, which has all rows then; NULL: an ordinary batch. */
const uint8_t *alm_op_scan_mask(const alm_op *op, uint32_t *kept);

#endif
