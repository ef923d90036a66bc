/*
 * list.c - lists written as texts (type/text_list.h): elements, lengths, joining. What parser and
 * binder make of unnest, generate_subscripts, x[i] and ARRAY(select ...) is here too.
 *
 * Kernels     Called for a handful of catalogue rows, and for lists of many elements that clients send to have rows made of
 *             them: list_at goes on from the element before.
 * Null rule   Null in, null out, unless said otherwise.
 * Subscripts  Lists count from 1, vectors of the catalogue ("1 2") from 0.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "func/value/args.h"
#include "func/value/by_row.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "type/array.h"
#include "type/text_list.h"

#define KERNEL(name)                                                                               \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, ALM_UNUSED const alm_vec *args,    \
                           alm_vec *out)
#define BIND(name)                                                                                 \
    static alm_status name(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,                    \
                           ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,                       \
                           ALM_UNUSED alm_arg *args, alm_type *result, ALM_UNUSED void **data)

static alm_str array_list_text_at(const alm_vec *vec, size_t i)
{
    return alm_vec_text(vec, vec->is_const ? 0 : i);
}

static bool is_vector(alm_str list)
{
    return list.ptr != NULL && (list.len == 0 || list.ptr[0] != '{');
}

/* Element k, from 0; false: there is none. */
static bool array_list_element(alm_str text, int64_t k, alm_list_element *list_element)
{
    alm_text_list list = alm_text_list_of(text);
    bool found = k >= 0 && alm_text_list_next(&list, list_element);
    for (; found && k > 0; k--)
        found = alm_text_list_next(&list, list_element);
    return found;
}

static int64_t array_list_count_of(alm_str text)
{
    alm_text_list list = alm_text_list_of(text);
    alm_list_element list_element;
    int64_t count = 0;
    while (alm_text_list_next(&list, &list_element))
        count++;
    return count;
}

/* --------------------------------------------------------------------------------- elements */

/* A vector has numbers, a list has texts. */
/* Elements of numbers are numbers, others are texts. */
BIND(bind_element)
{
    switch (args[0].type.p) {
    case ALM_LIST_VECTOR:
    case ALM_LIST_INT2:
    case ALM_LIST_INT4:
        *result = ALM_TY(INT);
        return ALM_OK;
    case ALM_LIST_INT8:
        *result = ALM_TY(LONG);
        return ALM_OK;
    default:
        *result = ALM_TY(STRING);
        return ALM_OK;
    }
}

/* NULL: there is no such element. */
static alm_status array_list_put_element(const alm_call *call, alm_text_out *writer,
                                         const alm_list_element *list_element, alm_vec *out,
                                         size_t i)
{
    const bool found = list_element != NULL && !alm_list_element_is_null(list_element);
    int64_t number = ALM_LONG_NULL;
    if (call->result.id != ALM_T_STRING) {
        if (found && alm_int64_parse(list_element->raw, &number) != ALM_NUM_OK)
            return alm_fail(call->cx, ALM_E_VALUE, call->pos,
                            "inconvertible value: `%.*s` [STRING -> %s]",
                            (int)ALM_MIN(list_element->raw.len, 100U), list_element->raw.ptr,
                            alm_type_name(call->result));
        if (call->result.id == ALM_T_LONG)
            ((int64_t *)out->data)[i] = number;
        else
            ((int32_t *)out->data)[i] =
                number > INT32_MIN && number <= INT32_MAX ? (int32_t)number : ALM_INT_NULL;
        return ALM_OK;
    }
    alm_view *dest = (alm_view *)out->data + i;
    char *ptr = NULL;
    *dest = alm_view_null();
    if (!found)
        return ALM_OK;
    ALM_TRY(alm_text_room(writer, list_element->raw.len, &ptr));
    *dest = alm_text_take(writer, alm_list_element_text(list_element, ptr));
    return ALM_OK;
}

/* By number from 1. Numbers that rise in one list are found on one way through it. */
KERNEL(list_at)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_text_list list = {0};
    alm_list_element list_element = {0};
    int64_t offset = 0; /* number of list_element; 0: before the first */
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        const int64_t k = ALM_AT(int64_t, args[1], i);
        if (i == 0 || !args[0].is_const || k < offset) {
            list = alm_text_list_of(array_list_text_at(&args[0], i));
            offset = 0;
            found = true;
        }
        for (; found && offset < k; offset++) {
            found = alm_text_list_next(&list, &list_element);
            ALM_TRY(alm_text_work(call->cx, list_element.raw.len));
        }
        const alm_status status =
            array_list_put_element(call, &writer, found && k > 0 ? &list_element : NULL, out, i);
        if (alm_row_is_null(call, status, !args[0].is_const))
            ALM_TRY(array_list_put_element(call, &writer, NULL, out, i));
        else
            ALM_TRY(status);
    }
    return ALM_OK;
}

KERNEL(array_at)
{
    double *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_array array = alm_array_of(&args[0], args[0].is_const ? 0 : i);
        const int64_t k = ALM_AT(int64_t, args[1], i);
        results[i] = k > 0 && (uint64_t)k <= array.count ? alm_array_at(array.data, (size_t)k - 1)
                                                         : __builtin_nan("");
    }
    return ALM_OK;
}

KERNEL(array_size)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n; i++)
        results[i] = (int64_t)alm_array_of(&args[0], args[0].is_const ? 0 : i).count;
    return ALM_OK;
}

/* Of a dimension, the outermost is 1; null if there is none, or no elements. */
KERNEL(array_length)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_array array = alm_array_of(&args[0], args[0].is_const ? 0 : i);
        const int32_t dim = ALM_AT(int32_t, args[1], i);
        results[i] = array.count > 0 && dim >= 1 && (uint32_t)dim <= array.dims
                         ? (int32_t)array.len[dim - 1]
                         : ALM_INT_NULL;
    }
    return ALM_OK;
}

KERNEL(array_lower)
{
    int32_t *results = out->data;
    ALM_TRY(array_length(call, n, args, out));
    for (size_t i = 0; i < n; i++)
        results[i] = results[i] == ALM_INT_NULL ? ALM_INT_NULL : 1;
    return ALM_OK;
}

/* How many elements, of any number; 0 of null. */
KERNEL(list_size)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n; i++)
        results[i] = args[0].is_const && i > 0
                         ? results[0]
                         : array_list_count_of(array_list_text_at(&args[0], i));
    return ALM_OK;
}

/* By subscript. */
KERNEL(list_index)
{
    alm_text_out writer = alm_text_out_of(call);
    for (size_t i = 0; i < n; i++) {
        const alm_str list = array_list_text_at(&args[0], i);
        const int64_t k = ALM_AT(int64_t, args[1], i);
        alm_list_element list_element;
        const bool found =
            array_list_element(list, is_vector(list) || k < 0 ? k : k - 1, &list_element);
        ALM_TRY(array_list_put_element(call, &writer, found ? &list_element : NULL, out, i));
    }
    return ALM_OK;
}

/* How many rows unnest makes of it; none of null. */
KERNEL(list_count)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        results[i] = array_list_count_of(array_list_text_at(&args[0], i));
        if (results[i] > ALM_UNNEST_MAX)
            return alm_fail(call->cx, ALM_E_LIMIT, call->pos,
                            "a list of %lld elements is too long for unnest, the limit is %d",
                            (long long)results[i], ALM_UNNEST_MAX);
    }
    return ALM_OK;
}

KERNEL(list_subscript)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str list = array_list_text_at(&args[0], i);
        const int64_t number = ALM_AT(int64_t, args[1], i);
        results[i] =
            number > array_list_count_of(list) ? ALM_INT_NULL : (int32_t)number - is_vector(list);
    }
    return ALM_OK;
}

/* The row (x,n) of an element and its number, of which a field is taken by name. */
KERNEL(list_pair)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const int64_t number = ALM_AT(int64_t, args[1], i);
        alm_list_element list_element;
        char *ptr = NULL;
        views[i] = alm_view_null();
        if (!array_list_element(array_list_text_at(&args[0], i), number - 1, &list_element))
            continue;
        const size_t room = list_element.raw.len + 32;
        ALM_TRY(alm_text_room(&writer, room, &ptr));
        views[i] = alm_text_take(
            &writer, (size_t)snprintf(ptr, room, "(%.*s,%lld)", (int)list_element.raw.len,
                                      list_element.raw.ptr, (long long)number));
    }
    return ALM_OK;
}

static alm_status bind_field(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                             ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                             void **data)
{
    static const char second = 'n';
    alm_str name = {0};
    if (args[1].value != NULL)
        ALM_TRY(alm_arg_text(cx, &args[1], &name));
    const bool n = alm_str_ieq(name, ALM_STR("n"));
    if (!n && !alm_str_ieq(name, ALM_STR("x")))
        return alm_fail(cx, ALM_E_NAME, pos, "a row has no field \"%.*s\"", (int)name.len,
                        name.ptr == NULL ? "" : name.ptr);
    *data = n ? (void *)(uintptr_t)&second : NULL;
    return ALM_OK;
}

KERNEL(list_field)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str row = array_list_text_at(&args[0], i);
        const char *comma = row.len < 3 ? NULL : memrchr(row.ptr, ',', row.len);
        results[i] = ALM_INT_NULL;
        if (comma == NULL)
            continue;
        const char *from = call->data != NULL ? comma + 1 : row.ptr + 1;
        const char *dest = call->data != NULL ? row.ptr + row.len - 1 : comma;
        if (alm_int32_parse((alm_str){from, (size_t)(dest - from)}, &results[i]) != ALM_NUM_OK)
            results[i] = ALM_INT_NULL;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- whole lists */

/* The parts of a text between separators. Without a separator: its characters. */
static size_t next_part(alm_str text, alm_str separator)
{
    if (separator.ptr == NULL) {
        size_t n = 1;
        while (n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
            n++;
        return n;
    }
    const char *ptr =
        separator.len == 0 ? NULL : memmem(text.ptr, text.len, separator.ptr, separator.len);
    return ptr == NULL ? text.len : (size_t)(ptr - text.ptr);
}

/* A list of the parts; those that are `null` become NULL. `dest` has room for 7 * len + 16 bytes. */
static size_t array_list_split(alm_str text, alm_str separator, const alm_str *null, char *dest)
{
    size_t len = 0;
    dest[len++] = '{';
    for (bool more = text.len > 0; more;) {
        const size_t n = next_part(text, separator), gap = n + separator.len;
        const alm_str part = {text.ptr, n};
        const bool is_null = null != NULL && alm_str_eq(part, *null);
        if (len > 1)
            dest[len++] = ',';
        len += alm_list_element_write(is_null ? (alm_str){0} : part, dest + len);
        more = n < text.len; /* a separator at the end is followed by an empty part */
        text = more ? (alm_str){text.ptr + gap, text.len - gap} : text;
    }
    dest[len++] = '}';
    return len;
}

KERNEL(list_split)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = array_list_text_at(&args[0], i),
                      separator = array_list_text_at(&args[1], i);
        const alm_str null = call->argc > 2 ? array_list_text_at(&args[2], i) : (alm_str){0};
        char *ptr = NULL;
        views[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        ALM_TRY(alm_text_room(&writer, 7 * text.len + 16, &ptr));
        views[i] = alm_text_take(
            &writer, array_list_split(text, separator, null.ptr != NULL ? &null : NULL, ptr));
    }
    return ALM_OK;
}

static bool is_name_byte(char byte, bool first)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (byte & 0x80) != 0 || (!first && ((byte >= '0' && byte <= '9') || byte == '$'));
}

/* The parts of a name "a b".c as a list; strict: nothing may stand behind it. `dest` has room as for split,
 * `part` for the text. */
static alm_status split_name(const alm_call *call, alm_str text, bool strict, char *part,
                             char *dest, size_t *out)
{
    const char *ptr = text.ptr;
    const char *const end = text.ptr + text.len;
    size_t len = 0;
    dest[len++] = '{';
    for (;;) {
        size_t count = 0;
        while (ptr < end && *ptr == ' ')
            ptr++;
        const bool quoted = ptr < end && *ptr == '"';
        const char *const first = ptr;
        if (quoted) {
            for (ptr++; ptr < end && (*ptr != '"' || (ptr + 1 < end && ptr[1] == '"')); ptr++) {
                ptr += *ptr == '"';
                part[count++] = *ptr;
            }
            if (ptr == end)
                return alm_fail(call->cx, ALM_E_ARG, call->pos,
                                "string is not a valid identifier: \"%.*s\": a quote is not closed",
                                (int)text.len, text.ptr);
            ptr++;
        } else {
            for (; ptr < end && is_name_byte(*ptr, ptr == first); ptr++)
                part[count++] = (char)(*ptr >= 'A' && *ptr <= 'Z' ? *ptr + 32 : *ptr);
        }
        if (count == 0)
            return alm_fail(call->cx, ALM_E_ARG, call->pos,
                            "string is not a valid identifier: \"%.*s\"", (int)text.len, text.ptr);
        if (len > 1)
            dest[len++] = ',';
        len += alm_list_element_write((alm_str){part, count}, dest + len);
        while (ptr < end && *ptr == ' ')
            ptr++;
        if (ptr == end || *ptr != '.')
            break;
        ptr++;
    }
    if (strict && ptr < end)
        return alm_fail(call->cx, ALM_E_ARG, call->pos,
                        "string is not a valid identifier: \"%.*s\"", (int)text.len, text.ptr);
    dest[len++] = '}';
    *out = len;
    return ALM_OK;
}

KERNEL(parse_ident)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = array_list_text_at(&args[0], i);
        const bool strict = call->argc < 2 || ALM_AT(uint8_t, args[1], i) != 0;
        char *part = NULL, *ptr = NULL;
        size_t len = 0;
        views[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, text.len + 1, &part));
        ALM_TRY(alm_text_room(&writer, 7 * text.len + 16, &ptr));
        const alm_status status = split_name(call, text, strict, part, ptr, &len);
        if (alm_row_is_null(call, status, !args[0].is_const))
            continue;
        ALM_TRY(status);
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* What stands for a null element; ptr NULL: it is left out. */
static alm_str null_text(const alm_call *call, const alm_vec *args, size_t i)
{
    return call->argc > 2 ? array_list_text_at(&args[2], i) : (alm_str){0};
}

static size_t array_list_put_text(char *dest, alm_str text)
{
    memcpy(dest, text.ptr, text.len);
    return text.len;
}

/* What parts an element from the one before. */
static size_t put_gap(char *dest, bool *first, alm_str between)
{
    const bool none = *first;
    *first = false;
    return none ? 0 : array_list_put_text(dest, between);
}

/* Elements with a text between them, nulls left out unless there is a text for them. */
KERNEL(list_join)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = array_list_text_at(&args[0], i),
                      between = array_list_text_at(&args[1], i);
        const alm_str null = null_text(call, args, i);
        alm_text_list list = alm_text_list_of(text);
        alm_list_element list_element;
        char *ptr = NULL;
        size_t len = 0;
        views[i] = alm_view_null();
        if (text.ptr == NULL || between.ptr == NULL)
            continue;
        ALM_TRY(alm_text_room(&writer, text.len * (between.len + null.len + 1) + 1, &ptr));
        for (bool first = true; alm_text_list_next(&list, &list_element);) {
            const bool is_null = alm_list_element_is_null(&list_element);
            if (is_null && null.ptr == NULL)
                continue;
            len += put_gap(ptr + len, &first, between);
            len += is_null ? array_list_put_text(ptr + len, null)
                           : alm_list_element_text(&list_element, ptr + len);
        }
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* Escapes aside, is the element that text? */
static bool element_is(const alm_list_element *list_element, alm_str text)
{
    if (text.ptr == NULL || alm_list_element_is_null(list_element))
        return false;
    size_t offset = 0;
    for (size_t i = 0; i < list_element->raw.len; i++, offset++) {
        i += list_element->quoted && list_element->raw.ptr[i] == '\\' &&
             i + 1 < list_element->raw.len;
        if (offset >= text.len || list_element->raw.ptr[i] != text.ptr[offset])
            return false;
    }
    return offset == text.len;
}

/* Number of the first element that is the text, or null. */
KERNEL(list_position)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = array_list_text_at(&args[0], i),
                      wanted = array_list_text_at(&args[1], i);
        alm_text_list list = alm_text_list_of(text);
        alm_list_element list_element;
        results[i] = ALM_INT_NULL;
        for (int32_t k = is_vector(text) ? 0 : 1;
             results[i] == ALM_INT_NULL && alm_text_list_next(&list, &list_element); k++)
            if (wanted.ptr == NULL ? alm_list_element_is_null(&list_element)
                                   : element_is(&list_element, wanted))
                results[i] = k;
    }
    return ALM_OK;
}

/* The elements of {a,b} as they stand in it, without the braces. */
static alm_str array_list_inside(alm_str list)
{
    return list.len >= 2 ? (alm_str){list.ptr + 1, list.len - 2} : (alm_str){"", 0};
}

/* Two parts of lists as one list. */
static alm_status put_joined(alm_text_out *writer, alm_str a, alm_str b, alm_view *out)
{
    char *ptr = NULL;
    size_t len = 0;
    ALM_TRY(alm_text_room(writer, a.len + b.len + 3, &ptr));
    ptr[len++] = '{';
    memcpy(ptr + len, a.ptr, a.len);
    len += a.len;
    if (a.len > 0 && b.len > 0)
        ptr[len++] = ',';
    memcpy(ptr + len, b.ptr, b.len);
    len += b.len;
    ptr[len++] = '}';
    *out = alm_text_take(writer, len);
    return ALM_OK;
}

/* A null list is one without elements, as in PostgreSQL. */
KERNEL(list_cat)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str a = array_list_text_at(&args[0], i), b = array_list_text_at(&args[1], i);
        views[i] = alm_view_null();
        if (a.ptr != NULL || b.ptr != NULL)
            ALM_TRY(put_joined(&writer, array_list_inside(a), array_list_inside(b), &views[i]));
    }
    return ALM_OK;
}

static alm_status with_element(alm_call *call, size_t n_rows, const alm_vec *lists,
                               const alm_vec *texts, bool first, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str list = array_list_inside(array_list_text_at(lists, i)),
                      text = array_list_text_at(texts, i);
        char *bytes = NULL;
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, 2 * text.len + 4, &bytes));
        const alm_str item = {bytes, alm_list_element_write(text, bytes)};
        ALM_TRY(put_joined(&writer, first ? item : list, first ? list : item, &views[i]));
    }
    return ALM_OK;
}

KERNEL(list_append)
{
    return with_element(call, n, &args[0], &args[1], false, out);
}

KERNEL(list_prepend)
{
    return with_element(call, n, &args[1], &args[0], true, out);
}

/* A text as it stands among the elements of a list. */
KERNEL(list_item)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = array_list_text_at(&args[0], i);
        char *ptr = NULL;
        ALM_TRY(alm_text_room(&writer, 2 * text.len + 4, &ptr));
        views[i] = alm_text_take(&writer, alm_list_element_write(text, ptr));
    }
    return ALM_OK;
}

/* '{a,b}'::text[]: the text, if it has the form of a list. */
KERNEL(list_read)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = array_list_text_at(&args[0], i);
        views[i] = text.ptr == NULL ? alm_view_null() : alm_view_of(text);
        const bool bad = text.ptr != NULL &&
                         (text.len < 2 || text.ptr[0] != '{' || text.ptr[text.len - 1] != '}');
        if (bad && !args[0].is_const)
            views[i] = alm_view_null();
        else if (bad)
            return alm_fail(call->cx, ALM_E_VALUE, call->pos, "malformed array literal: \"%.*s\"",
                            (int)ALM_MIN(text.len, 100U), text.ptr);
    }
    return ALM_OK;
}

/* Numbers as in '{1,2.5}', with a text between them; nulls as those of a list. */
KERNEL(array_join)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {

        const alm_array array = alm_array_of(&args[0], args[0].is_const ? 0 : i);
        const alm_str between = array_list_text_at(&args[1], i), null = null_text(call, args, i);
        char *ptr = NULL;
        size_t len = 0;
        views[i] = alm_view_null();
        if (array.dims == 0 || between.ptr == NULL)
            continue;
        ALM_TRY(alm_text_room(
            &writer, array.count * (between.len + null.len + ALM_DOUBLE_TEXT_MAX) + 1, &ptr));
        bool first = true;
        for (size_t k = 0; k < array.count; k++) {
            const double value = alm_array_at(array.data, k);
            const bool is_null = value != value;
            if (is_null && null.ptr == NULL)
                continue;
            len += put_gap(ptr + len, &first, between);
            len += is_null ? array_list_put_text(ptr + len, null)
                           : alm_double_format(value, ALM_NUM_PG, ptr + len);
        }
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

KERNEL(list_has)
{
    uint8_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        alm_text_list list = alm_text_list_of(array_list_text_at(&args[0], i));
        const alm_str wanted = array_list_text_at(&args[1], i);
        alm_list_element list_element;
        results[i] = 0;
        while (results[i] == 0 && alm_text_list_next(&list, &list_element))
            results[i] = element_is(&list_element, wanted);
    }
    return ALM_OK;
}

/* The list without the elements that are the text. */
KERNEL(list_without)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = array_list_text_at(&args[0], i),
                      unwanted = array_list_text_at(&args[1], i);
        alm_text_list list = alm_text_list_of(text);
        alm_list_element list_element;
        char *ptr = NULL;
        size_t len = 1;
        views[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        ALM_TRY(alm_text_room(&writer, text.len + 4, &ptr));
        ptr[0] = '{';
        while (alm_text_list_next(&list, &list_element)) {
            if (element_is(&list_element, unwanted))
                continue;
            const char *from =
                list_element.raw.ptr - list_element.quoted; /* with its quotes, as it stands */
            const size_t bytes = list_element.raw.len + 2 * (size_t)list_element.quoted;
            if (len > 1)
                ptr[len++] = ',';
            memcpy(ptr + len, from, bytes);
            len += bytes;
        }
        ptr[len++] = '}';
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* Number of elements; null of an empty list, as of an array without a dimension. */
KERNEL(list_length)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const int64_t count = array_list_count_of(array_list_text_at(&args[0], i));
        results[i] = count > 0 && ALM_AT(int32_t, args[1], i) == 1 ? (int32_t)count : ALM_INT_NULL;
    }
    return ALM_OK;
}

KERNEL(list_lower)
{
    int32_t *results = out->data;
    ALM_TRY(list_length(call, n, args, out));
    for (size_t i = 0; i < n; i++)
        if (results[i] != ALM_INT_NULL)
            results[i] = is_vector(array_list_text_at(&args[0], i)) ? 0 : 1;
    return ALM_OK;
}

KERNEL(list_upper)
{
    int32_t *results = out->data;
    ALM_TRY(list_length(call, n, args, out));
    for (size_t i = 0; i < n; i++)
        results[i] -= results[i] != ALM_INT_NULL && is_vector(array_list_text_at(&args[0], i));
    return ALM_OK;
}

/* ARRAY(select ...) of no row is an empty list. */
KERNEL(list_of)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str list = array_list_text_at(&args[0], i);
        views[i] = alm_view_of(list.ptr == NULL ? ALM_STR("{}") : list);
    }
    return ALM_OK;
}

BIND(array_list_bind_texts)
{
    *result = alm_type_list(ALM_LIST_TEXT);
    return ALM_OK;
}

BIND(array_list_bind_first)
{
    *result = args[0].type.p == ALM_LIST_NONE ? alm_type_list(ALM_LIST_TEXT) : args[0].type;
    result->id = ALM_T_STRING;
    return ALM_OK;
}

BIND(array_list_bind_second)
{
    return array_list_bind_first(cx, fn, pos, argc, args + 1, result, data);
}

/* ------------------------------------------------------------------------------------- LIKE */

static alm_status with_backslash(const alm_call *call, alm_str from, alm_str sign, char *ptr,
                                 size_t *out)
{
    size_t len = 0;
    for (size_t k = 0; k < from.len; k++) {
        const bool escaped = sign.len == 1 && from.ptr[k] == sign.ptr[0];
        if (escaped && ++k == from.len)
            return alm_fail(call->cx, ALM_E_ARG, call->pos,
                            "the pattern ends with its ESCAPE character");
        if (escaped || from.ptr[k] == '\\')
            ptr[len++] = '\\';
        ptr[len++] = from.ptr[k];
    }
    *out = len;
    return ALM_OK;
}

/* The pattern with \ for the sign that takes another as it is. */
KERNEL(like_escape)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str from = array_list_text_at(&args[0], i),
                      sign = array_list_text_at(&args[1], i);
        char *ptr = NULL;
        size_t len = 0;
        views[i] = alm_view_null();
        if (from.ptr == NULL || sign.ptr == NULL)
            continue;
        ALM_TRY(alm_text_room(&writer, 2 * from.len, &ptr));
        const alm_status status = with_backslash(call, from, sign, ptr, &len);
        if (alm_row_is_null(call, status, alm_by_row(args, 0, 2)))
            continue;
        ALM_TRY(status);
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- rows */

#define ROW(f, sig, flags_, bind_, kernel_, doc_, example_)                                        \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define HIDDEN(f, sig, bind_, kernel_, doc_, args_)                                                \
    ROW(f, sig, ALM_FN_INTERNAL, bind_, kernel_, doc_, f args_)

static const alm_fn ROWS[] = {
    ROW("array_to_string", "(TEXT, TEXT) STRING", 0, NULL, list_join,
        "Elements of a list with a text between them; nulls are left out.",
        "array_to_string('{a,b}', ' ')"),
    ROW("array_length", "(TEXT, INT) INT", 0, NULL, list_length,
        "Elements in a list; null of an empty one.", "array_length('{a,b}', 1)"),
    ROW("array_lower", "(TEXT, INT) INT", 0, NULL, list_lower,
        "First subscript of a list; null of an empty one.", "array_lower('{a,b}', 1)"),
    ROW("string_to_array", "(TEXT, TEXT) ?", 0, array_list_bind_texts, list_split,
        "The parts of a text between separators as a list; without a separator its characters.",
        "string_to_array('a,b', ',')"),
    ROW("parse_ident", "(TEXT) ?", 0, array_list_bind_texts, parse_ident,
        "The parts of a name with dots as a list: quotes taken off, other letters made small.",
        "parse_ident('public.\"My table\"')"),
    ROW("parse_ident", "(TEXT, BOOLEAN) ?", 0, array_list_bind_texts, parse_ident,
        "With false, what stands behind the name is left out.", "parse_ident('public.t x', false)"),
    ROW("string_to_array", "(TEXT, TEXT, TEXT) ?", 0, array_list_bind_texts, list_split,
        "Parts that are the third text become NULL.", "string_to_array('a,-', ',', '-')"),
    ROW("array_upper", "(TEXT, INT) INT", 0, NULL, list_upper,
        "Last subscript of a list; null of an empty one.", "array_upper('{a,b}', 1)"),
    ROW("array_remove", "(TEXT, TEXT) ?", 0, array_list_bind_first, list_without,
        "The list without the elements that are the text.", "array_remove('{a,b}', 'a')"),
    ROW("array_to_string", "(ARRAY, TEXT) STRING", 0, NULL, array_join,
        "Numbers of an array with a text between them; nulls are left out.",
        "array_to_string(ARRAY[1.0, 2.5], ' ')"),
    ROW("array_to_string", "(TEXT, TEXT, TEXT) STRING", 0, NULL, list_join,
        "Nulls are written as the third text.", "array_to_string('{a,NULL,b}', ' ', '-')"),
    ROW("array_to_string", "(ARRAY, TEXT, TEXT) STRING", 0, NULL, array_join,
        "Nulls are written as the third text.", "array_to_string(ARRAY[1.0, NULL], ' ', '-')"),
    ROW("array_lower", "(ARRAY, INT) INT", 0, NULL, array_lower,
        "First subscript of a dimension of an array, which is 1; null of an empty one.",
        "array_lower(ARRAY[1.0, 2.5], 1)"),
    ROW("array_upper", "(ARRAY, INT) INT", 0, NULL, array_length,
        "Last subscript of a dimension of an array; null of an empty one.",
        "array_upper(ARRAY[1.0, 2.5], 1)"),
    ROW("array_length", "(ARRAY, INT) INT", 0, NULL, array_length,
        "Length of a dimension of an array; null of an empty one.",
        "array_length(ARRAY[1.0, 2.5], 1)"),
    ROW("cardinality", "(ARRAY) LONG", 0, NULL, array_size, "Numbers in an array; 0 of null.",
        "cardinality(ARRAY[1.0, 2.5])"),
    ROW("array_position", "(TEXT, TEXT) INT", 0, NULL, list_position,
        "Subscript of the first element of a list that is the text; null if there is none.",
        "array_position('{a,b}', 'b')"),
    ROW("array_append", "(TEXT, TEXT) ?", 0, array_list_bind_first, list_append,
        "The list with the text as its last element.", "array_append('{a,b}', 'c')"),
    ROW("array_prepend", "(TEXT, TEXT) ?", 0, array_list_bind_second, list_prepend,
        "The list with the text as its first element.", "array_prepend('a', '{b,c}')"),
    ROW("array_cat", "(TEXT, TEXT) ?", 0, array_list_bind_first, list_cat,
        "The elements of both lists as one list.", "array_cat('{a}', '{b,c}')"),
    ROW("cardinality", "(TEXT) LONG", 0, NULL, list_size, "Elements in a list; 0 of null.",
        "cardinality('{a,b}')"),
    HIDDEN("list_has", "(TEXT, TEXT) BOOLEAN", NULL, list_has, "Is the text an element?",
           "('{a,b}', 'a')"),
    HIDDEN("list_at", "(TEXT, LONG) ?", bind_element, list_at, "Element by number.",
           "('{a,b}', 1)"),
    HIDDEN("list_index", "(TEXT, LONG) ?", bind_element, list_index, "Element by subscript.",
           "('{a,b}', 1)"),
    HIDDEN("list_count", "(TEXT) LONG", NULL, list_count, "Number of elements.", "('{a,b}')"),
    HIDDEN("list_count", "(ARRAY) LONG", NULL, array_size, "Number of elements.", "(ARRAY[1.5])"),
    HIDDEN("list_size", "(ARRAY) LONG", NULL, array_size, "Number of elements.", "(ARRAY[1.5])"),
    HIDDEN("list_size", "(TEXT) LONG", NULL, list_size, "Number of elements.", "('{a,b}')"),
    HIDDEN("list_at", "(ARRAY, LONG) DOUBLE", NULL, array_at, "Element by number.",
           "(ARRAY[1.5], 1)"),
    HIDDEN("list_item", "(TEXT) STRING", NULL, list_item, "A text as an element is written.",
           "('a b')"),
    HIDDEN("list_read", "(TEXT) STRING", NULL, list_read, "A text that is a list.", "('{a,b}')"),
    HIDDEN("list_subscript", "(TEXT, LONG) INT", NULL, list_subscript,
           "Subscript of an element by its number.", "('{a,b}', 1)"),
    HIDDEN("list_pair", "(TEXT, LONG) STRING", NULL, list_pair, "Element and number as a row.",
           "('{1,2}', 1)"),
    HIDDEN("list_field", "(TEXT, STRING const) INT", bind_field, list_field, "Field of a row.",
           "('(5,1)', 'n')"),
    HIDDEN("list_of", "(TEXT) ?", array_list_bind_first, list_of,
           "The list, an empty one for null.", "('{a}')"),
    HIDDEN("like_escape", "(TEXT, TEXT) STRING", NULL, like_escape, "Pattern of LIKE ... ESCAPE.",
           "('a/%', '/')"),
};
ALM_FN_TABLE(text_list, ROWS);
