/*
 * utf8.c - UTF-8. ASCII runs are taken 16 bytes at a time; everything else goes through one decoder.
 */
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

enum { REPLACEMENT = 0xFFFD, MAX_CODE_POINT = 0x10FFFF };

static const uint64_t HIGH_BITS = UINT64_C(0x8080808080808080);

/* Length of the ASCII run at the start, in steps of 16 bytes, then single ones. */
static size_t ascii_run(const char *ptr, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint64_t a, b;
        memcpy(&a, ptr + i, sizeof(a));
        memcpy(&b, ptr + i + 8, sizeof(b));
        if (((a | b) & HIGH_BITS) != 0)
            break;
    }
    while (i < n && (uint8_t)ptr[i] < 0x80)
        i++;
    return i;
}

/* Bytes of the well-formed character at p[0..n), n > 0; 0 if there is none. */
static size_t utf8_decode(const char *ptr, size_t n, uint32_t *code_point)
{
    const uint8_t *p = (const uint8_t *)ptr;
    const uint8_t lead = p[0];
    if (lead < 0x80) {
        *code_point = lead;
        return 1;
    }
    const size_t len = lead >= 0xC2 && lead <= 0xDF   ? 2
                       : lead >= 0xE0 && lead <= 0xEF ? 3
                       : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                      : 0;
    if (len == 0 || len > n)
        return 0;
    /* The second byte excludes overlong forms, surrogates, and what is above U+10FFFF. */
    const uint8_t second_min = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t second_max = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < second_min || p[1] > second_max)
        return 0;
    uint32_t cp = lead & (0x7FU >> len);
    cp = cp << 6 | (p[1] & 0x3FU);
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        cp = cp << 6 | (p[i] & 0x3FU);
    }
    *code_point = cp;
    return len;
}

size_t alm_utf8_bad_at(alm_str text)
{
    size_t offset = 0;
    while (offset < text.len) {
        offset += ascii_run(text.ptr + offset, text.len - offset);
        while (offset < text.len && (uint8_t)text.ptr[offset] >= 0x80) {
            uint32_t ignored;
            const size_t n = utf8_decode(text.ptr + offset, text.len - offset, &ignored);
            if (n == 0)
                return offset;
            offset += n;
        }
    }
    return text.len;
}

bool alm_utf8_is_valid(alm_str text)
{
    return alm_utf8_bad_at(text) == text.len;
}
static uint64_t load8(const char *ptr)
{
    uint64_t word;
    memcpy(&word, ptr, sizeof word);
    return word;
}

/* The last words overlap, so that there is no loop over single bytes. */
bool alm_utf8_is_ascii(alm_str text)
{
    const char *ptr = text.ptr;
    const size_t len = text.len;
    uint64_t seen = 0;
    if (len >= 8) {
        size_t i = 0;
        for (; i + 32 <= len; i += 32) {
            seen |= load8(ptr + i) | load8(ptr + i + 8) | load8(ptr + i + 16) | load8(ptr + i + 24);
            if ((seen & HIGH_BITS) != 0)
                return false;
        }
        for (; i + 8 <= len; i += 8)
            seen |= load8(ptr + i);
        seen |= load8(ptr + len - 8);
    } else {
        for (size_t i = 0; i < len; i++)
            seen |= (uint8_t)ptr[i];
    }
    return (seen & HIGH_BITS) == 0;
}

bool alm_utf8_is_marked(alm_str text)
{
    return text.len >= ALM_UTF8_MARK_BYTES &&
           memcmp(text.ptr, ALM_UTF8_MARK, ALM_UTF8_MARK_BYTES) == 0;
}

bool alm_utf8_has_mark(alm_str text)
{
    return text.len > 0 && memmem(text.ptr, text.len, ALM_UTF8_MARK, ALM_UTF8_MARK_BYTES) != NULL;
}

/* Every byte that does not continue a character starts one. */
size_t alm_utf8_count(alm_str text)
{
    size_t continuing = 0;
    for (size_t i = 0; i < text.len; i++)
        continuing += ((uint8_t)text.ptr[i] & 0xC0) == 0x80;
    return text.len - continuing;
}

size_t alm_utf8_count_utf16(alm_str text)
{
    size_t units = 0;
    for (size_t i = 0; i < text.len; i++) {
        units += ((uint8_t)text.ptr[i] & 0xC0) != 0x80;
        units += (uint8_t)text.ptr[i] >= 0xF0; /* four bytes: a pair */
    }
    return units;
}

size_t alm_utf8_width(alm_str text)
{
    size_t width = 0;
    for (size_t offset = 0; offset < text.len;)
        width += (size_t)utf8proc_charwidth((int32_t)alm_utf8_next(text, &offset));
    return width;
}

size_t alm_utf8_offset(alm_str text, size_t n)
{
    size_t offset = ALM_MIN(ascii_run(text.ptr, text.len), n);
    for (size_t left = n - offset; left > 0 && offset < text.len; left--) {
        offset++;
        while (offset < text.len && ((uint8_t)text.ptr[offset] & 0xC0) == 0x80)
            offset++;
    }
    return offset;
}

uint32_t alm_utf8_next(alm_str text, size_t *at)
{
    ALM_DASSERT(*at < text.len);
    uint32_t cp = REPLACEMENT;
    const size_t n = utf8_decode(text.ptr + *at, text.len - *at, &cp);
    *at += n == 0 ? 1 : n;
    return cp;
}

size_t alm_utf8_put(uint32_t cp, char *out)
{
    if (cp > MAX_CODE_POINT || (cp >= 0xD800 && cp <= 0xDFFF))
        cp = REPLACEMENT;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

/* --------------------------------------------------------------------- CHAR */

size_t alm_utf8_from_unit(uint16_t unit, char *out)
{
    if (unit == 0)
        return 0;
    if (unit >= 0xD800 && unit <= 0xDFFF) {
        out[0] = '?';
        return 1;
    }
    return alm_utf8_put(unit, out);
}

uint16_t alm_utf8_first_unit(alm_str text)
{
    if (text.len == 0)
        return 0;
    size_t offset = 0;
    const uint32_t cp = alm_utf8_next(text, &offset);
    return (uint16_t)(cp < 0x10000 ? cp : 0xD800 + ((cp - 0x10000) >> 10));
}

/* --------------------------------------------------------------------- case */

typedef int32_t (*case_map)(int32_t code_point);

static int32_t upper_of(int32_t cp)
{
    return utf8proc_toupper(cp);
}
static int32_t lower_of(int32_t cp)
{
    return utf8proc_tolower(cp);
}

/* ASCII text: the bytes from `first` to `first` + 25 change by the bit of case. */
static alm_status map_ascii(alm_ctx *cx, alm_arena *arena, alm_str text, char first, alm_str *out)
{
    size_t same = 0;
    while (same < text.len && (uint8_t)(text.ptr[same] - first) >= 26)
        same++;
    if (same == text.len) {
        *out = text;
        return ALM_OK;
    }
    char *dest = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, text.len, &dest));
    for (size_t i = 0; i < text.len; i++) {
        const bool changes = (uint8_t)(text.ptr[i] - first) < 26;
        dest[i] = (char)(text.ptr[i] ^ (changes ? 0x20 : 0));
    }
    *out = (alm_str){dest, text.len};
    return ALM_OK;
}

static alm_status map_case(alm_ctx *cx, alm_arena *arena, alm_str text, case_map map, alm_str *out)
{
    /* A character may grow (two bytes to three); four bytes each is the most. Counted exactly, so
     * that the result takes what it needs. */
    size_t bytes = 0;
    char one[4];
    for (size_t offset = 0; offset < text.len;)
        bytes += alm_utf8_put((uint32_t)map((int32_t)alm_utf8_next(text, &offset)), one);
    char *dest = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, bytes, &dest));
    size_t end = 0;
    for (size_t offset = 0; offset < text.len;) {
        const size_t n = alm_utf8_put((uint32_t)map((int32_t)alm_utf8_next(text, &offset)), one);
        memcpy(dest + end, one, n);
        end += n;
    }
    ALM_ASSERT(end == bytes);
    *out = (alm_str){dest, bytes};
    return ALM_OK;
}

alm_status alm_utf8_upper(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out)
{
    if (alm_utf8_is_ascii(text))
        return map_ascii(cx, arena, text, 'a', out);
    return map_case(cx, arena, text, upper_of, out);
}

alm_status alm_utf8_lower(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out)
{
    if (alm_utf8_is_ascii(text))
        return map_ascii(cx, arena, text, 'A', out);
    return map_case(cx, arena, text, lower_of, out);
}

static uint16_t map_unit(uint16_t unit, case_map map)
{
    if (unit >= 0xD800 && unit <= 0xDFFF)
        return unit;
    const int32_t mapped = map(unit);
    return mapped > 0 && mapped < 0x10000 ? (uint16_t)mapped : unit;
}

uint16_t alm_utf8_unit_upper(uint16_t unit)
{
    return map_unit(unit, upper_of);
}
uint16_t alm_utf8_unit_lower(uint16_t unit)
{
    return map_unit(unit, lower_of);
}

/* By way of the upper case, so that characters with several lower forms agree. */
uint32_t alm_utf8_fold(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point >= 'A' && code_point <= 'Z' ? code_point + 32 : code_point;
    return (uint32_t)utf8proc_tolower(utf8proc_toupper((int32_t)code_point));
}

/* --------------------------------------------------------------------- names */

static bool utf8_is_hidden(uint32_t cp)
{
    const utf8proc_property_t *property = utf8proc_get_property((int32_t)cp);
    switch ((int)property->category) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return true;
    case UTF8PROC_CATEGORY_ZS:
        return cp != ' ';
    default:
        return property->ignorable || cp == 0x2800 ||
               cp == 0xFFFD; /* U+2800: Braille without dots */
    }
}

size_t alm_utf8_hidden_at(alm_str text)
{
    const size_t bad = alm_utf8_bad_at(text);
    for (size_t offset = 0, next = 0; offset < bad; offset = next)
        if (utf8_is_hidden(alm_utf8_next(text, &next)))
            return offset;
    return bad;
}

alm_status alm_utf8_name_key(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out)
{
    const utf8proc_option_t options =
        UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
    uint8_t *mapped = NULL;
    if (alm_utf8_is_ascii(text))
        return alm_utf8_lower(cx, arena, text, out);
    const utf8proc_ssize_t n =
        utf8proc_map((const uint8_t *)text.ptr, (utf8proc_ssize_t)text.len, &mapped, options);
    if (n < 0)
        return alm_fail(cx, n == UTF8PROC_ERROR_NOMEM ? ALM_E_MEMORY : ALM_E_ARG, -1, "%s",
                        utf8proc_errmsg(n));
    const alm_status status =
        alm_arena_copy(cx, arena, (alm_str){(const char *)mapped, (size_t)n}, out);
    free(mapped);
    return status;
}

/* ------------------------------------------------------------------------ escapes */

size_t alm_utf8_escape_one(char *dest, size_t room, alm_str text, size_t *at)
{
    size_t next = *at;
    const uint32_t cp = alm_utf8_next(text, &next);
    const bool bad = cp == 0xFFFD && alm_utf8_bad_at((alm_str){text.ptr + *at, next - *at}) == 0;
    const size_t bytes = next - *at;
    if (!bad && alm_utf8_hidden_at((alm_str){text.ptr + *at, bytes}) > 0) {
        ALM_ASSERT(bytes < room);
        memcpy(dest, text.ptr + *at, bytes);
        *at = next;
        return bytes;
    }
    const int n = bad           ? snprintf(dest, room, "\\x%02X", (unsigned char)text.ptr[*at])
                  : cp > 0xFFFF ? snprintf(dest, room, "\\U%08X", cp)
                                : snprintf(dest, room, "\\u%04X", cp);
    *at = bad ? *at + 1 : next;
    ALM_ASSERT(n > 0 && (size_t)n < room);
    return (size_t)n;
}

void alm_utf8_escape(char *dest, size_t size, const char *from, bool quotes)
{
    const alm_str text = alm_str_of(from != NULL ? from : "");
    size_t count = 0;
    for (size_t offset = 0; offset < text.len;) {
        char one[ALM_UTF8_ESCAPE_BYTES];
        size_t bytes = 0, next = offset;
        if (text.ptr[offset] == '\\' || (quotes && text.ptr[offset] == '\'')) {
            one[bytes++] = '\\';
            one[bytes++] = text.ptr[next++];
        } else if (text.ptr[offset] >= 0x20 && text.ptr[offset] < 0x7F) {
            one[bytes++] = text.ptr[next++];
        } else {
            bytes = alm_utf8_escape_one(one, sizeof one, text, &next);
        }
        if (count + bytes >= size)
            break;
        memcpy(dest + count, one, bytes);
        count += bytes;
        offset = next;
    }
    dest[count] = 0;
}
