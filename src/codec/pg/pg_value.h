/*
 * pg_value.h - values as the PostgreSQL wire has them: cells of DataRow in text and binary, and
 * parameters back. OIDs, sizes and text forms: type.def and type/text.h.
 *
 * Times       UTC; pg.timestamp.zone makes them timestamptz, whose text ends in +00, and
 *             pg.timestamp.nanoseconds leaves nine digits to TIMESTAMP_NS in text.
 * Binary      big-endian; times are microseconds since 2000-01-01 (TIMESTAMP_NS is cut to them).
 * Null        a cell of length -1.
 */
#ifndef ALM_CODEC_PG_PG_VALUE_H
#define ALM_CODEC_PG_PG_VALUE_H

#include "base/be.h"
#include "type/pg.h"
#include "type/vector.h"

struct alm_conf; /* base/conf.h */

/* Is it an array for clients? Vectors of the catalogue (int2vector) are texts for them. */
bool alm_pg_is_list(alm_type type);
/* conf says what times are (pg.timestamp.zone); NULL: without a zone. */
int32_t alm_pg_oid(const struct alm_conf *conf, alm_type type);
int16_t alm_pg_size(alm_type type);
int32_t alm_pg_typmod(alm_type type);

/* Appends one cell: 4-byte length and bytes. cx->conf as above. */
ALM_NODISCARD alm_status alm_pg_put_cell(alm_ctx *cx, const alm_vec *vec, size_t row, bool binary,
                                         alm_buf *out);

/* A row of values, "(a,b)", as a record in binary: 4-byte length and bytes. */
ALM_NODISCARD alm_status alm_pg_put_record(alm_ctx *cx, alm_str text, alm_buf *out);

/* Type of a parameter that the client named by OID; NONE: infer. ALM_E_UNSUPPORTED names the OID. */
ALM_NODISCARD alm_status alm_pg_param_type(alm_ctx *cx, uint32_t oid, alm_type *out);
/* One parameter value into a const vector (memory from arena, bytes copied). oid: what the client
 * said, 0 for none; type: what the statement wants. bytes.ptr NULL: null. */
ALM_NODISCARD alm_status alm_pg_param(alm_ctx *cx, alm_arena *arena, uint32_t index, uint32_t oid,
                                      alm_type type, bool binary, alm_str bytes, alm_vec *out);

/* A binary value as columns of the type are sent, written to out[0 .. width of the type); text and
 * bytes are borrowed. Not null. */
ALM_NODISCARD alm_status alm_pg_binary_value(alm_ctx *cx, alm_arena *arena, alm_type type,
                                             alm_str bytes, void *out);

#endif
