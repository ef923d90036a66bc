/* json.c - the wrapper around jansson; a node is a json_t. */
#include "codec/json.h"

#include <jansson.h>
#include <string.h>

static const json_t *peel(const alm_json *node)
{
    return (const json_t *)node;
}
static const alm_json *codec_json_wrap(const json_t *node)
{
    return (const alm_json *)node;
}

alm_status alm_json_parse(alm_ctx *cx, alm_str text, alm_json **out)
{
    json_error_t error;
    /* jansson steps over a zero byte behind null, true and false; JSON has none anywhere. */
    const char *zero = text.len > 0 ? memchr(text.ptr, 0, text.len) : NULL;
    if (zero != NULL)
        return alm_fail(cx, ALM_E_VALUE, (int32_t)(zero - text.ptr), "bad JSON: a zero byte");
    json_t *root =
        json_loadb(text.ptr != NULL ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return alm_fail(cx, ALM_E_VALUE, error.position, "bad JSON in line %d: %s", error.line,
                        error.text);
    *out = (alm_json *)root;
    return ALM_OK;
}

void alm_json_free(alm_json *document)
{
    if (document != NULL)
        json_decref((json_t *)document);
}

bool alm_json_is_array(const alm_json *node)
{
    return json_is_array(peel(node));
}
bool alm_json_is_object(const alm_json *node)
{
    return json_is_object(peel(node));
}
size_t alm_json_count(const alm_json *node)
{
    return json_array_size(peel(node));
}

const alm_json *alm_json_at(const alm_json *node, size_t i)
{
    return codec_json_wrap(json_array_get(peel(node), i));
}

const alm_json *alm_json_get(const alm_json *node, const char *key)
{
    return codec_json_wrap(json_object_get(peel(node), key));
}

alm_str alm_json_text(const alm_json *node)
{
    const json_t *value = peel(node);
    if (value == NULL || !json_is_string(value))
        return (alm_str){0};
    return (alm_str){json_string_value(value), json_string_length(value)};
}

int64_t alm_json_int(const alm_json *node, int64_t otherwise)
{
    const json_t *value = peel(node);
    return value != NULL && json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

bool alm_json_seconds(const alm_json *node, int64_t *out)
{
    const json_t *value = peel(node);
    static const double most = 1e15;
    if (value == NULL || !json_is_number(value))
        return false;
    if (json_is_integer(value)) {
        *out = (int64_t)json_integer_value(value);
        return true;
    }
    const double seconds = json_real_value(value);
    if (!(seconds > -most && seconds < most))
        return false;
    *out = (int64_t)seconds - (seconds < 0);
    return true;
}

bool alm_json_is_true(const alm_json *node)
{
    return json_is_true(peel(node));
}

bool alm_json_is_null(const alm_json *node)
{
    return node == NULL || json_is_null(peel(node));
}
