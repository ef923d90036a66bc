/*
 * json_scan.h - JSON (RFC 8259) read in place: checked once, then walked as slices of the text. Numbers stay
 * the digits that were sent, so that integers and decimals of any length arrive exactly.
 *
 * Limits      ALM_JSON_DEPTH_MAX lists and objects in one another.
 * Ownership   Everything points into the text, but what alm_json_unquote returns.
 * Cost        One pass for the check, one for each level that is walked.
 */
#ifndef ALM_CODEC_JSON_SCAN_H
#define ALM_CODEC_JSON_SCAN_H

#include "base/base.h"

enum { ALM_JSON_DEPTH_MAX = 64 };

typedef enum alm_json_kind {
    ALM_JSON_NULL,
    ALM_JSON_FALSE,
    ALM_JSON_TRUE,
    ALM_JSON_NUMBER,
    ALM_JSON_STRING,
    ALM_JSON_ARRAY,
    ALM_JSON_OBJECT
} alm_json_kind;

typedef struct alm_json_value {
    alm_json_kind kind;
    alm_str raw; /* as written: a string with its quotes */
} alm_json_value;

/* The whole text is one value, in UTF-8. ALM_E_VALUE; its position is a byte of the text. */
ALM_NODISCARD alm_status alm_json_check(alm_ctx *cx, alm_str text, alm_json_value *out);
/* The next element of a checked array, or member of a checked object (key: with its quotes). *at starts with
 * 0. False: there are no more. */
bool alm_json_next(alm_json_value list, size_t *at, alm_str *key, alm_json_value *out);
/* What a checked string says. */
ALM_NODISCARD alm_status alm_json_unquote(alm_ctx *cx, alm_arena *arena, alm_str raw, alm_str *out);

#endif
