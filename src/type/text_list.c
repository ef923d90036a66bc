/* text_list.c - see text_list.h. */
#include "type/text_list.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

alm_text_list alm_text_list_of(alm_str text)
{
    alm_text_list list = {.gap = ' '};
    if (text.ptr == NULL || text.len == 0)
        return list;
    list.at = text.ptr;
    list.end = text.ptr + text.len;
    if (text.len < 2 || text.ptr[0] != '{' || text.ptr[text.len - 1] != '}')
        return list;
    list.gap = ',';
    list.at = skip_blanks(list.at + 1, list.end - 1);
    list.end--;
    if (list.at == list.end)
        list.at = NULL; /* {} */
    return list;
}

bool alm_text_list_next(alm_text_list *list, alm_list_element *out)
{
    const char *p = list->at;
    if (p == NULL)
        return false;
    if (list->gap == ',')
        p = skip_blanks(p, list->end);
    out->quoted = list->gap == ',' && p < list->end && *p == '"';
    p += out->quoted;
    const char *const begin = p;
    for (; p < list->end && *p != (out->quoted ? '"' : list->gap); p++)
        p += out->quoted && *p == '\\' && p + 1 < list->end;
    out->raw = (alm_str){begin, (size_t)(p - begin)};
    p += out->quoted && p < list->end;
    while (p < list->end && *p != list->gap) /* behind a quote: blanks */
        p++;
    while (!out->quoted && list->gap == ',' && out->raw.len > 0 &&
           is_blank(out->raw.ptr[out->raw.len - 1]))
        out->raw.len--;
    list->at = p < list->end ? p + 1 : NULL;
    return true;
}

bool alm_list_element_is_null(const alm_list_element *e)
{
    return !e->quoted && alm_str_ieq(e->raw, ALM_STR("null"));
}

size_t alm_list_element_text(const alm_list_element *e, char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < e->raw.len; i++) {
        i += e->quoted && e->raw.ptr[i] == '\\' && i + 1 < e->raw.len;
        to[n++] = e->raw.ptr[i];
    }
    return n;
}

static bool is_plain(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr(" \t\n\r\v\f{},\"\\", text.ptr[i]) != NULL)
            return false;
    return text.len > 0 && !alm_str_ieq(text, ALM_STR("null"));
}

size_t alm_list_element_write(alm_str text, char *to)
{
    size_t n = 0;
    if (text.ptr == NULL)
        text = ALM_STR("NULL");
    else if (!is_plain(text)) {
        to[n++] = '"';
        for (size_t i = 0; i < text.len; i++) {
            if (text.ptr[i] == '"' || text.ptr[i] == '\\')
                to[n++] = '\\';
            to[n++] = text.ptr[i];
        }
        to[n++] = '"';
        return n;
    }
    memcpy(to, text.ptr, text.len);
    return text.len;
}
