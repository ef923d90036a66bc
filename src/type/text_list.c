/* text_list.c - see text_list.h. */
#include "type/text_list.h"

#include <string.h>

static bool text_list_is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static const char *text_list_skip_blanks(const char *ptr, const char *end)
{
    while (ptr < end && text_list_is_blank(*ptr))
        ptr++;
    return ptr;
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
    list.at = text_list_skip_blanks(list.at + 1, list.end - 1);
    list.end--;
    if (list.at == list.end)
        list.at = NULL; /* {} */
    return list;
}

bool alm_text_list_next(alm_text_list *list, alm_list_element *out)
{
    const char *ptr = list->at;
    if (ptr == NULL)
        return false;
    if (list->gap == ',')
        ptr = text_list_skip_blanks(ptr, list->end);
    out->quoted = list->gap == ',' && ptr < list->end && *ptr == '"';
    ptr += out->quoted;
    const char *const begin = ptr;
    for (; ptr < list->end && *ptr != (out->quoted ? '"' : list->gap); ptr++)
        ptr += out->quoted && *ptr == '\\' && ptr + 1 < list->end;
    out->raw = (alm_str){begin, (size_t)(ptr - begin)};
    ptr += out->quoted && ptr < list->end;
    while (ptr < list->end && *ptr != list->gap) /* behind a quote: blanks */
        ptr++;
    while (!out->quoted && list->gap == ',' && out->raw.len > 0 &&
           text_list_is_blank(out->raw.ptr[out->raw.len - 1]))
        out->raw.len--;
    list->at = ptr < list->end ? ptr + 1 : NULL;
    return true;
}

bool alm_list_element_is_null(const alm_list_element *element)
{
    return !element->quoted && alm_str_ieq(element->raw, ALM_STR("null"));
}

size_t alm_list_element_text(const alm_list_element *element, char *dest)
{
    size_t count = 0;
    for (size_t i = 0; i < element->raw.len; i++) {
        i += element->quoted && element->raw.ptr[i] == '\\' && i + 1 < element->raw.len;
        dest[count++] = element->raw.ptr[i];
    }
    return count;
}

static bool text_list_is_plain(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr(" \t\n\r\v\f{},\"\\", text.ptr[i]) != NULL)
            return false;
    return text.len > 0 && !alm_str_ieq(text, ALM_STR("null"));
}

size_t alm_list_element_write(alm_str text, char *dest)
{
    size_t count = 0;
    if (text.ptr == NULL)
        text = ALM_STR("NULL");
    else if (!text_list_is_plain(text)) {
        dest[count++] = '"';
        for (size_t i = 0; i < text.len; i++) {
            if (text.ptr[i] == '"' || text.ptr[i] == '\\')
                dest[count++] = '\\';
            dest[count++] = text.ptr[i];
        }
        dest[count++] = '"';
        return count;
    }
    memcpy(dest, text.ptr, text.len);
    return text.len;
}
