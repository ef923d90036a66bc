/*
 * ndjson.h - a JSON object on each line (NDJSON, JSON Lines) as records of the reader of CSV files: a key is a column, in the
 * order in which keys come first.
 *
 * Values      Texts, numbers and booleans as such; lists and objects as their JSON text; null, and a key that is not there, are
 *             null. A key that comes twice has its last value.
 * Bad lines   One that is no JSON object is ALM_CSV_NO_OBJECT, one with a key that is no column ALM_CSV_NEW_KEY, unless
 *             its value is null. Blank lines are skipped.
 * Types       As of a CSV file, but a text is no number: what was in quotes stays a text, or becomes a time, a UUID or an
 *             address where all values of the column are of that form.
 */
#ifndef ALM_CODEC_NDJSON_NDJSON_H
#define ALM_CODEC_NDJSON_NDJSON_H

#include "codec/csv/csv.h"

/* Columns by the lines at the start of a file; the raw keys, without their quotes, in `keys`. */
ALM_NODISCARD alm_status alm_ndjson_detect(alm_ctx *cx, alm_arena *arena, alm_str sample,
                                           bool whole, alm_csv_shape *out, const alm_str **keys);
ALM_NODISCARD alm_status alm_ndjson_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem,
                                               const alm_str *keys, uint32_t n, size_t record_max,
                                               alm_csv_reader **out);

#endif
