/* json_text.c - JSON string escapes; the fast path copies runs that need none. */
#include "codec/json_text.h"

#include "base/utf8.h"

static const char hex[] = "0123456789abcdef";

static char short_escape(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

static char *write_checked(char *out, alm_str text)
{
    size_t at = 0;
    while (at < text.len) {
        const unsigned char c = (unsigned char)text.ptr[at];
        const char letter = short_escape(c);
        if (letter != 0) {
            *out++ = '\\';
            *out++ = letter;
            at++;
        } else if (c < 0x20) {
            (void)memcpy(out, "\\u00", 4);
            out[4] = hex[c >> 4];
            out[5] = hex[c & 15];
            out += 6;
            at++;
        } else if (c < 0x80) {
            *out++ = (char)c;
            at++;
        } else {
            out += alm_utf8_put(alm_utf8_next(text, &at), out);
        }
    }
    return out;
}

char *alm_json_write_part(char *out, alm_str text)
{
    size_t plain = 0; /* bytes at the start that go as they are */
    while (plain < text.len) {
        const unsigned char c = (unsigned char)text.ptr[plain];
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80)
            break;
        plain++;
    }
    (void)memcpy(out, text.ptr, plain);
    out += plain;
    if (plain < text.len)
        out = write_checked(out, (alm_str){text.ptr + plain, text.len - plain});
    return out;
}

char *alm_json_write_string(char *out, alm_str text)
{
    *out++ = '"';
    out = alm_json_write_part(out, text);
    *out++ = '"';
    return out;
}

alm_status alm_json_put_string(alm_ctx *cx, alm_buf *out, alm_str text)
{
    ALM_TRY(alm_buf_reserve(cx, out, 6 * text.len + 2));
    out->len = (size_t)(alm_json_write_string(out->ptr + out->len, text) - out->ptr);
    return ALM_OK;
}
