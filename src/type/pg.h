/*
 * pg.h - binary forms of PostgreSQL that more than one type has. Parameters are numbered from 0, for errors.
 */
#ifndef ALM_TYPE_PG_H
#define ALM_TYPE_PG_H

#include "type/type.h"

/* 00:00 of 2000-01-01 in microseconds since 1970. */
#define ALM_PG_EPOCH_US INT64_C(946684800000000)

/* A DATE, TIMESTAMP or TIMESTAMP_NS, not null, as the wire has it: microseconds since 2000. */
int64_t alm_pg_time(alm_type type, int64_t value);
/* Microseconds since 2000 as a time of the type. Infinity is none that a row can hold. */
ALM_NODISCARD alm_status alm_pg_time_param(alm_ctx *cx, uint32_t index, alm_type type,
                                           int64_t value, void *out);
/* numeric (number of groups, weight, sign, scale, digits of base 10000) as text, "NaN" too. */
ALM_NODISCARD alm_status alm_pg_numeric_text(alm_ctx *cx, uint32_t index, alm_str text,
                                             char out[512], size_t *n);
/* The error for a value of another length; OK where it is that. */
ALM_NODISCARD alm_status alm_pg_length(alm_ctx *cx, uint32_t index, size_t want, size_t got);

#endif
