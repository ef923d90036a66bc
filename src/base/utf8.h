/*
 * utf8.h - UTF-8: validity, counting, case, and the UTF-16 units of CHAR.
 *
 * Valid       RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 * Invalid in  Functions that decode take valid text; given other bytes they stay in bounds and
 *             treat a bad byte as one character U+FFFD.
 */
#ifndef ALM_BASE_UTF8_H
#define ALM_BASE_UTF8_H

#include "base/base.h"

bool alm_utf8_is_valid(alm_str text);
/* Offset of the first bad byte, text.len if there is none. */
size_t alm_utf8_bad_at(alm_str text);
bool alm_utf8_is_ascii(alm_str text);

/* U+FEFF, the byte order mark: some editors write it at the start of a file; in a name it is invisible. */
#define ALM_UTF8_MARK "\xEF\xBB\xBF"
enum { ALM_UTF8_MARK_BYTES = 3 };
/* Does the text begin with it? */
bool alm_utf8_is_marked(alm_str text);
/* Does it stand anywhere in it? */
bool alm_utf8_has_mark(alm_str text);

/* Code points; and UTF-16 units (characters beyond U+FFFF count two, as length() does). */
size_t alm_utf8_count(alm_str text);
size_t alm_utf8_count_utf16(alm_str text);
/* Columns on a terminal: wide characters take two, combining marks none. */
size_t alm_utf8_width(alm_str text);
/* Byte offset of code point number `n` (text.len when there are fewer). */
size_t alm_utf8_offset(alm_str text, size_t n);

/* Offset of the first character that nobody sees, or that changes how others are shown: control and format characters
 * (bidirectional ones among them), blanks other than U+0020, private and unassigned ones, bad bytes. text.len: none. */
size_t alm_utf8_hidden_at(alm_str text);
/* The character at *at, which goes behind it, as it is written in logs: one that is hidden as \uXXXX or \UXXXXXXXX, a bad byte as \xXX, any
 * other as it is. room: ALM_UTF8_ESCAPE_BYTES. How many bytes. */
enum { ALM_UTF8_ESCAPE_BYTES = 16 };
size_t alm_utf8_escape_one(char *dest, size_t room, alm_str text, size_t *at);
/* All of them, a backslash as two; quotes: ' as \', too. At most size - 1 bytes, whole characters and escapes. from may be NULL. */
void alm_utf8_escape(char *dest, size_t size, const char *from, bool quotes);
/* What two names have alike that people read as the same: case, width and compatible forms do not count (NFKC_Casefold of
 * Unicode). The text is valid; the result is in the arena. */
ALM_NODISCARD alm_status alm_utf8_name_key(alm_ctx *cx, alm_arena *arena, alm_str text,
                                           alm_str *out);

/* Decodes the character at text.ptr[*at], moves *at behind it. *at < text.len. */
uint32_t alm_utf8_next(alm_str text, size_t *at);
/* Writes 1 to 4 bytes; returns how many. Surrogates and too large values are written as U+FFFD. */
size_t alm_utf8_put(uint32_t code_point, char *out);

/* CHAR is a UTF-16 unit. A unit as text (0: no bytes; half of a pair gives '?'); 3 bytes at most. */
size_t alm_utf8_from_unit(uint16_t unit, char *out);
/* First UTF-16 unit of a text, 0 if it is empty. */
uint16_t alm_utf8_first_unit(alm_str text);

/* Simple case mapping, character by character. Result in the arena; the text itself if unchanged. */
ALM_NODISCARD alm_status alm_utf8_upper(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out);
ALM_NODISCARD alm_status alm_utf8_lower(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out);
uint16_t alm_utf8_unit_upper(uint16_t unit);
uint16_t alm_utf8_unit_lower(uint16_t unit);
/* Code points, for matching without case. */
uint32_t alm_utf8_fold(uint32_t code_point);

#endif
