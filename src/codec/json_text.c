/* json_text.c - JSON string escapes; the fast path copies runs that need none. */
#include "codec/json_text.h"

#include "base/utf8.h"

static const char hex[] = "0123456789abcdef";

static char short_escape(unsigned char byte)
{
    switch (byte) {
    case '"':
    case '\\':
        return (char)byte;
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

static char *json_text_write_checked(char *out, alm_str text)
{
    size_t offset = 0;
    while (offset < text.len) {
        const unsigned char byte = (unsigned char)text.ptr[offset];
        const char letter = short_escape(byte);
        if (letter != 0) {
            *out++ = '\\';
            *out++ = letter;
            offset++;
        } else if (byte < 0x20) {
            (void)memcpy(out, "\\u00", 4);
            out[4] = hex[byte >> 4];
            out[5] = hex[byte & 15];
            out += 6;
            offset++;
        } else if (byte < 0x80) {
            *out++ = (char)byte;
            offset++;
        } else {
            out += alm_utf8_put(alm_utf8_next(text, &offset), out);
        }
    }
    return out;
}

char *alm_json_write_part(char *out, alm_str text)
{
    size_t plain = 0; /* bytes at the start that go as they are */
    while (plain < text.len) {
        const unsigned char byte = (unsigned char)text.ptr[plain];
        if (byte < 0x20 || byte == '"' || byte == '\\' || byte >= 0x80)
            break;
        plain++;
    }
    (void)memcpy(out, text.ptr, plain);
    out += plain;
    if (plain < text.len)
        out = json_text_write_checked(out, (alm_str){text.ptr + plain, text.len - plain});
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
