/*
 * text.h - values as text and text as values, for every type: what JSON, CSV, casts, COPY and the
 * PostgreSQL wire show and accept. Quoting and escaping belong to the format, not here.
 *
 * Text out    ALM_TEXT_DIALECT: true, 100.0, 2020-01-02T03:04:05.678901Z, 1.2.3.4,
 *             ('2020-01-01T00:00:00.000Z', '2020-01-02T00:00:00.000Z').
 *             ALM_TEXT_PG: t, 100, 2020-01-02 03:04:05.678901.
 * Null rule   Null has no text: false is returned. NaN and the infinities are null, as everywhere in
 *             the dialect. BOOLEAN, BYTE and SHORT are never null.
 * Text in     Takes both forms of text out, and what the dialect's casts take. BINARY: its bytes, as they are.
 * Ownership   Text results point into the scratch given, or to the stored text.
 */
#ifndef ALM_TYPE_TEXT_H
#define ALM_TYPE_TEXT_H

#include "type/vector.h"

/* 16 bytes of a UUID: the first eight of its text as a number, then the last eight. Null: both
 * INT64_MIN. Ordered as unsigned numbers, hi first. */
typedef struct alm_uuid {
    uint64_t hi, lo;
} alm_uuid;

/* Closed range of time in microseconds. Null: both INT64_MIN. */
typedef struct alm_interval_us {
    int64_t lo_us, hi_us;
} alm_interval_us;

typedef enum alm_text_style { ALM_TEXT_DIALECT, ALM_TEXT_PG } alm_text_style;

enum { ALM_VALUE_TEXT_MAX = 96 }; /* bytes of any value that is not text itself */

/* Text of row i of a dense or const vector; false: null. Not of an ARRAY. */
bool alm_value_text(const alm_vec *vec, size_t i, alm_text_style style,
                    char scratch[ALM_VALUE_TEXT_MAX], alm_str *out);
/* The same, appended to a buffer; *is_null instead of a result. */
ALM_NODISCARD alm_status alm_value_format(alm_ctx *cx, const alm_vec *vec, size_t i,
                                          alm_text_style style, alm_buf *out, bool *is_null);

typedef enum alm_scan_result {
    ALM_SCAN_OK,
    ALM_SCAN_BAD,  /* not a text of the type */
    ALM_SCAN_RANGE /* a number, but too large for the type */
} alm_scan_result;

/*
 * One value of `type` from text, written to out[0 .. width of the type). Text types give a view of
 * the text as it is (SYMBOL too). text.ptr NULL gives null (0 where there is none). Numbers: no
 * digits beyond the type; floating ones with blanks around and one letter d or f behind. CHAR:
 * one UTF-16 unit, or empty for null. BOOLEAN: true t yes y on 1, false f no n off 0, any case.
 */
/* As alm_value_scan, for a text that is stored: an empty one is no UUID and no LONG256, which is null, and LONG256 needs no 0x. */
alm_scan_result alm_value_scan_stored(alm_type type, alm_str text, void *out);
alm_scan_result alm_value_scan(alm_type type, alm_str text, void *out);
/* The same with an error: "inconvertible value: `abc` [STRING -> INT]". */
ALM_NODISCARD alm_status alm_value_parse(alm_ctx *cx, int32_t pos, alm_type type, alm_str text,
                                         void *out);
/* A const vector of one value, memory from the arena (long text included). */
ALM_NODISCARD alm_status alm_vec_parse(alm_ctx *cx, alm_arena *arena, int32_t pos, alm_type type,
                                       alm_str text, alm_vec *out);

/* Single types, for kernels. */
enum { ALM_UUID_TEXT = 36, ALM_IPV4_TEXT_MAX = 15 };
void alm_uuid_format(alm_uuid uuid, char out[ALM_UUID_TEXT]);
bool alm_uuid_parse(alm_str text, alm_uuid *out); /* 8-4-4-4-12 hex digits, any case */
/* Bytes as PostgreSQL writes them: \x and hexadecimal digits, or text where a backslash is doubled or
 * stands before three octal digits. Room for text.len bytes; false: neither. */
bool alm_bytea_parse(alm_str text, void *bytes, size_t *n);
static inline bool alm_uuid_is_null(alm_uuid uuid)
{
    return uuid.hi == (uint64_t)INT64_MIN && uuid.lo == (uint64_t)INT64_MIN;
}
/* Sixteen bytes in the order of the text (PostgreSQL, Arrow, Parquet). */
void alm_uuid_to_bytes(alm_uuid uuid, uint8_t out[16]);
alm_uuid alm_uuid_from_bytes(const uint8_t bytes[16]);
size_t alm_ipv4_format(uint32_t ip, char out[ALM_IPV4_TEXT_MAX]); /* the first number on top */
bool alm_ipv4_parse(alm_str text, uint32_t *out);
bool alm_bool_parse(alm_str text, bool *out);

#endif
