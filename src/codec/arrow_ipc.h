/*
 * arrow_ipc.h - rows as an Arrow IPC stream ("Serialization and Interprocess Communication" of the Arrow columnar
 * format, metadata version 5): a schema, record batches, an end.
 *
 * Shapes      Columns as in arrow.h. SYMBOL is a dictionary of utf8 with 32-bit indices; each record batch comes
 *             behind the dictionaries of its own values, so that neither side keeps more than a batch.
 * Memory      What is appended to `out`, and copies of the rows of one message while it is written, charged to cx->mem.
 */
#ifndef ALM_CODEC_ARROW_IPC_H
#define ALM_CODEC_ARROW_IPC_H

#include "codec/arrow.h"

ALM_NODISCARD alm_status alm_arrow_ipc_schema(alm_ctx *cx, const alm_arrow_field *fields,
                                              uint32_t n, alm_buf *out);
/* A message of the first *rows rows of the batch, at least one, as many as make ALM_ARROW_IPC_BYTES. The columns of the batch are
 * those of the schema. */
enum { ALM_ARROW_IPC_BYTES = 1 << 20 };
ALM_NODISCARD alm_status alm_arrow_ipc_batch(alm_ctx *cx, const alm_arrow_field *fields,
                                             const alm_batch *batch, uint32_t *rows, alm_buf *out);
ALM_NODISCARD alm_status alm_arrow_ipc_end(alm_ctx *cx, alm_buf *out);

#endif
