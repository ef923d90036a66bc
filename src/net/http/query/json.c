/* json.c - see json.h. */
#include "net/http/query/json.h"

#include "base/base64.h"
#include "base/number.h"
#include "codec/json_scan.h"
#include "codec/pg/pg_value.h"
#include "type/text_list.h"

enum { PARAMS_MAX = 65535 }; /* what a statement may number */

/* -------------------------------------------------------------------- members */

static alm_status member_value(alm_ctx *cx, alm_arena *arena, alm_http_pair *pair,
                               alm_json_value value, int32_t pos)
{
    const bool list = alm_str_eq(pair->name, ALM_STR("params"));
    pair->value = value.raw;
    if (value.kind == ALM_JSON_STRING && !list)
        return alm_json_unquote(cx, arena, value.raw, &pair->value);
    if (list ? value.kind == ALM_JSON_ARRAY : value.kind < ALM_JSON_STRING)
        return alm_arena_copy(cx, arena, value.raw, &pair->value);
    return alm_fail(cx, ALM_E_VALUE, pos,
                    list ? "'%.*s' must be a list" : "'%.*s' must be a text, a number or a boolean",
                    (int)ALM_MIN(pair->name.len, (size_t)64), pair->name.ptr);
}

alm_status alm_query_json_members(alm_ctx *cx, alm_arena *arena, alm_str body,
                                  alm_http_request *req)
{
    alm_json_value object, value;
    alm_str key;
    ALM_TRY(alm_json_check(cx, body, &object));
    if (object.kind != ALM_JSON_OBJECT)
        return alm_fail(cx, ALM_E_VALUE, 0, "the body must be a JSON object");
    ALM_ASSERT(req->params != NULL); /* the head was parsed */
    for (size_t offset = 0; alm_json_next(object, &offset, &key, &value);) {
        const int32_t pos = (int32_t)ALM_MIN(value.raw.ptr - body.ptr, (ptrdiff_t)INT32_MAX);
        if (value.kind == ALM_JSON_NULL)
            continue; /* as if it were not there */
        if (req->n_params == ALM_HTTP_PARAMS_MAX)
            return alm_fail(cx, ALM_E_LIMIT, pos, "too many parameters");
        alm_http_pair *pair = &req->params[req->n_params];
        ALM_TRY(alm_json_unquote(cx, arena, key, &pair->name));
        ALM_TRY(member_value(cx, arena, pair, value, pos));
        req->n_params++;
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------- values */

/* ["a",null] as {a,NULL}: the form in which lists are texts. */
static alm_status list_text(alm_ctx *cx, alm_json_value list, alm_str *out)
{
    alm_json_value value;
    alm_str key, text;
    char *dest = NULL;
    size_t count = 0;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, 2 + 6 * list.raw.len, &dest));
    for (size_t offset = 0; alm_json_next(list, &offset, &key, &value);) {
        text = value.raw;
        if (value.kind == ALM_JSON_STRING)
            ALM_TRY(alm_json_unquote(cx, cx->arena, value.raw, &text));
        if (value.kind == ALM_JSON_NULL)
            text = (alm_str){0};
        dest[count] = count == 0 ? '{' : ',';
        count += 1;
        count += alm_list_element_write(text, dest + count);
    }
    if (count == 0)
        dest[count++] = '{';
    dest[count++] = '}';
    *out = (alm_str){dest, count};
    return ALM_OK;
}

static alm_status query_json_from_base64(alm_ctx *cx, alm_str *text)
{
    char *bytes = NULL;
    size_t n = 0;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, alm_base64_bytes_max(text->len), &bytes));
    if (!alm_base64_decode(*text, bytes, &n))
        return alm_fail(cx, ALM_E_VALUE, -1, "bytes must be base 64");
    *text = (alm_str){bytes, n};
    return ALM_OK;
}

static alm_status to_value(alm_ctx *cx, uint32_t index, alm_type type, alm_json_value value,
                           alm_vec *out)
{
    const bool text = type.id == ALM_T_NONE || alm_type_is_text(type);
    alm_str bytes = value.raw;
    if (value.kind == ALM_JSON_NULL)
        return alm_pg_param(cx, cx->arena, index, 0, type, false, (alm_str){0}, out);
    if (value.kind == ALM_JSON_STRING)
        ALM_TRY(alm_json_unquote(cx, cx->arena, value.raw, &bytes));
    else if (value.kind == ALM_JSON_ARRAY && text)
        ALM_TRY(list_text(cx, value, &bytes));
    else if (value.kind >= ALM_JSON_ARRAY && type.id != ALM_T_ARRAY && !text)
        return alm_fail(cx, ALM_E_VALUE, -1, "no list or object is a value of type %s",
                        alm_type_name(type));
    if (type.id == ALM_T_BINARY)
        ALM_TRY(query_json_from_base64(cx, &bytes));
    return alm_pg_param(cx, cx->arena, index, 0, type, type.id == ALM_T_BINARY, bytes, out);
}

static alm_type guessed(alm_json_value value)
{
    if (value.kind == ALM_JSON_TRUE || value.kind == ALM_JSON_FALSE)
        return ALM_TY(BOOLEAN);
    if (value.kind != ALM_JSON_NUMBER)
        return ALM_TY(VARCHAR);
    int64_t integer = 0;
    return alm_int64_parse(value.raw, &integer) == ALM_NUM_OK ? ALM_TY(LONG) : ALM_TY(DOUBLE);
}

static alm_status guess_types(alm_ctx *cx, alm_json_value array, const alm_type **out, uint32_t *n)
{
    alm_json_value value;
    alm_str key;
    alm_type *types = NULL;
    *n = 0;
    uint32_t count = 0;
    for (size_t offset = 0; alm_json_next(array, &offset, &key, &value) && count <= PARAMS_MAX;)
        count++;
    if (count > PARAMS_MAX)
        return alm_fail(cx, ALM_E_LIMIT, 0, "'params' has more than %d values", PARAMS_MAX);
    ALM_TRY(ALM_NEWN(cx, cx->arena, count + 1, &types));
    for (size_t offset = 0; alm_json_next(array, &offset, &key, &value); ++*n)
        types[*n] = guessed(value);
    ALM_ASSERT(*n == count);
    *out = types;
    return ALM_OK;
}

alm_status alm_query_json_values(alm_ctx *cx, alm_session *session, alm_prepared *prepared,
                                 alm_str list, alm_vec **out, uint32_t *n)
{
    const alm_type *types = NULL;
    const alm_plan_col *cols = NULL;
    alm_json_value array, value;
    alm_str key;
    uint32_t want = 0, n_cols = 0;
    ALM_TRY(alm_json_check(cx, list, &array));
    if (array.kind != ALM_JSON_ARRAY)
        return alm_fail(cx, ALM_E_VALUE, 0, "'params' must be a list");
    /* where only a constant can stand, the values tell the types; a fault shows when the statement runs */
    const bool known =
        alm_describe(session, prepared, NULL, 0, &types, &want, &cols, &n_cols) == ALM_OK;
    if (!known)
        ALM_TRY(guess_types(cx, array, &types, &want));
    ALM_TRY(ALM_NEWN(cx, cx->arena, want + 1, out));
    uint32_t got = 0;
    for (size_t offset = 0; got <= PARAMS_MAX && alm_json_next(array, &offset, &key, &value);
         got++) {
        if (got >= want || to_value(cx, got, types[got], value, &(*out)[got]) == ALM_OK)
            continue;
        const alm_error err = cx->err;
        alm_error_clear(cx);
        return alm_fail(cx, err.code, alm_prepared_param_pos(prepared, got), "parameter $%u: %s",
                        got + 1, err.msg);
    }
    if (got > PARAMS_MAX)
        return alm_fail(cx, ALM_E_PARAM, 0,
                        "the statement has %u parameters, more than %d values were given", want,
                        PARAMS_MAX);
    if (got != want)
        return alm_fail(cx, ALM_E_PARAM, 0, "the statement has %u parameters, %u values were given",
                        want, got);
    *n = want;
    return ALM_OK;
}
