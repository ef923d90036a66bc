/*
 * json_text.h - text as JSON strings (RFC 8259): \" \\ \b \f \n \r \t, other controls as \u00xx, all
 * else as it is. Input is UTF-8; bytes that are not are written as U+FFFD, so that the document
 * stays valid.
 */
#ifndef ALM_CODEC_JSON_TEXT_H
#define ALM_CODEC_JSON_TEXT_H

#include "base/base.h"

/* Quotes included. */
ALM_NODISCARD alm_status alm_json_put_string(alm_ctx *cx, alm_buf *out, alm_str text);
/* Into memory with room for 6 * text.len + 2 bytes; returns the end. */
char *alm_json_write_string(char *out, alm_str text);
/* The same without quotes, 6 * text.len bytes: parts of a text that end where a character does make the text. */
char *alm_json_write_part(char *out, alm_str text);

#endif
