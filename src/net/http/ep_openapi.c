/*
 * ep_openapi.c - /openapi.json: the rows of route.def, with what openapi.def says of their operations, as an OpenAPI 3.1
 * description. It is made anew for each request, and is the same as long as the program is.
 */
#include <stdio.h>

#include "base/conf.h"
#include "base/hash.h"
#include "codec/json_text.h"
#include "net/http/asset.h"
#include "net/http/route.h"

typedef struct api_row { /* of openapi.def; fields that a kind of row does not have are NULL */
    const char *operations, *place, *name, *media, *schema, *doc;
    int status;
} api_row;

#define ALM_API_PARAM(operations, in, name, schema, doc)
#define ALM_API_BODY(operations, media, schema)
#define ALM_API_ANSWER(operations, status, media, schema, doc)
#define ALM_API_SCHEMA(name, json)

static const api_row PARAMS[] = {
#undef ALM_API_PARAM
#define ALM_API_PARAM(operations, in, name, schema, doc)                                           \
    {operations, in, name, NULL, schema, doc, 0},
#include "net/http/openapi.def"
#undef ALM_API_PARAM
#define ALM_API_PARAM(operations, in, name, schema, doc)
};

static const api_row BODIES[] = {
#undef ALM_API_BODY
#define ALM_API_BODY(operations, media, schema) {operations, NULL, NULL, media, schema, NULL, 0},
#include "net/http/openapi.def"
#undef ALM_API_BODY
#define ALM_API_BODY(operations, media, schema)
};

static const api_row ANSWERS[] = {
#undef ALM_API_ANSWER
#define ALM_API_ANSWER(operations, status, media, schema, doc)                                     \
    {operations, NULL, NULL, media, schema, doc, status},
#include "net/http/openapi.def"
#undef ALM_API_ANSWER
#define ALM_API_ANSWER(operations, status, media, schema, doc)
};

static const api_row SCHEMAS[] = {
#undef ALM_API_SCHEMA
#define ALM_API_SCHEMA(name, json) {NULL, NULL, name, NULL, json, NULL, 0},
#include "net/http/openapi.def"
#undef ALM_API_SCHEMA
};

/* What is written, and whether a comma is due. */
typedef struct writer {
    alm_ctx *cx;
    alm_buf *out;
} writer;

static alm_status ep_openapi_text(const writer *self, const char *json)
{
    return alm_buf_text(self->cx, self->out, json);
}

static alm_status ep_openapi_string(const writer *self, const char *value)
{
    return alm_json_put_string(self->cx, self->out, alm_str_of(value));
}

/* "name": */
static alm_status key(const writer *self, const char *name)
{
    ALM_TRY(ep_openapi_string(self, name));
    return ep_openapi_text(self, ":");
}

/* A comma, unless something was just opened. */
static alm_status ep_openapi_next(const writer *self)
{
    const char last = self->out->len > 0 ? self->out->ptr[self->out->len - 1] : '{';
    return last == '{' || last == '[' ? ALM_OK : ep_openapi_text(self, ",");
}

/* JSON with ' for ", or the name of a schema. */
static alm_status schema(const writer *self, const char *json)
{
    if (json[0] == '#')
        return alm_buf_printf(self->cx, self->out, "{\"$ref\":\"#/components/schemas/%s\"}",
                              json + 1);
    for (; *json != 0; json++)
        ALM_TRY(alm_buf_append(self->cx, self->out, *json == '\'' ? "\"" : json, 1));
    return ALM_OK;
}

static bool ep_openapi_is_of(const api_row *row, alm_str operation)
{
    const char *ptr = row->operations;
    while (*ptr != 0) {
        const size_t len = strcspn(ptr, " ");
        if (alm_str_eq((alm_str){ptr, len}, operation))
            return true;
        ptr += len + (ptr[len] != 0);
    }
    return false;
}

/* ------------------------------------------------------------------ operations */

static alm_status ep_openapi_put_params(const writer *self, alm_str operation, bool has_body)
{
    ALM_TRY(ep_openapi_text(self, ",\"parameters\":["));
    for (size_t i = 0; i < ALM_COUNT(PARAMS); i++) {
        const api_row *p = &PARAMS[i];
        const size_t len = strcspn(p->place, "!?");
        const bool must = p->place[len] == '!' || (p->place[len] == '?' && !has_body);
        if (!ep_openapi_is_of(p, operation))
            continue;
        ALM_TRY(ep_openapi_next(self));
        ALM_TRY(alm_buf_printf(self->cx, self->out,
                               "{\"name\":\"%s\",\"in\":\"%.*s\",\"required\":%s,", p->name,
                               (int)len, p->place, must ? "true" : "false"));
        ALM_TRY(key(self, "description"));
        ALM_TRY(ep_openapi_string(self, p->doc));
        ALM_TRY(ep_openapi_text(self, ",\"schema\":"));
        ALM_TRY(schema(self, p->schema));
        ALM_TRY(ep_openapi_text(self, "}"));
    }
    return ep_openapi_text(self, "]");
}

static alm_status put_media(const writer *self, const api_row *row)
{
    ALM_TRY(ep_openapi_next(self));
    ALM_TRY(alm_buf_printf(self->cx, self->out,
                           "\"%.*s\":{\"schema\":", (int)strcspn(row->media, "!"), row->media));
    ALM_TRY(schema(self, row->schema));
    return ep_openapi_text(self, "}");
}

static bool has_body(alm_str operation)
{
    for (size_t i = 0; i < ALM_COUNT(BODIES); i++)
        if (ep_openapi_is_of(&BODIES[i], operation))
            return true;
    return false;
}

static alm_status put_body(const writer *self, alm_str operation)
{
    bool must = false;
    ALM_TRY(ep_openapi_text(self, ",\"requestBody\":{\"content\":{"));
    for (size_t i = 0; i < ALM_COUNT(BODIES); i++) {
        if (!ep_openapi_is_of(&BODIES[i], operation))
            continue;
        ALM_TRY(put_media(self, &BODIES[i]));
        must = must || strchr(BODIES[i].media, '!') != NULL;
    }
    return ep_openapi_text(self, must ? "},\"required\":true}" : "}}");
}

/* All rows of one status are one answer. HEAD has the status alone. */
static alm_status ep_openapi_put_answer(const writer *self, alm_str operation, size_t first,
                                        bool head)
{
    const int status = ANSWERS[first].status;
    ALM_TRY(ep_openapi_next(self));
    ALM_TRY(alm_buf_printf(self->cx, self->out, "\"%d\":{\"description\":", status));
    ALM_TRY(ep_openapi_string(self, ANSWERS[first].doc[0] != 0 ? ANSWERS[first].doc
                                                               : alm_http_reason(status)));
    if (!head && ANSWERS[first].media[0] != 0) {
        ALM_TRY(ep_openapi_text(self, ",\"content\":{"));
        for (size_t i = first; i < ALM_COUNT(ANSWERS); i++)
            if (ANSWERS[i].status == status && ep_openapi_is_of(&ANSWERS[i], operation))
                ALM_TRY(put_media(self, &ANSWERS[i]));
        ALM_TRY(ep_openapi_text(self, "}"));
    }
    return ep_openapi_text(self, "}");
}

static bool ep_openapi_is_first(alm_str operation, size_t offset)
{
    for (size_t i = 0; i < offset; i++)
        if (ANSWERS[i].status == ANSWERS[offset].status && ep_openapi_is_of(&ANSWERS[i], operation))
            return false;
    return ep_openapi_is_of(&ANSWERS[offset], operation);
}

static bool answers(alm_str operation, int status)
{
    for (size_t i = 0; i < ALM_COUNT(ANSWERS); i++)
        if (ANSWERS[i].status == status && ep_openapi_is_of(&ANSWERS[i], operation))
            return true;
    return false;
}

static alm_status put_answers(const writer *self, const alm_http_route *route, bool head)
{
    const alm_str operation = alm_str_of(route->operation);
    ALM_TRY(ep_openapi_text(self, ",\"responses\":{"));
    for (size_t i = 0; i < ALM_COUNT(ANSWERS); i++)
        if (ep_openapi_is_first(operation, i))
            ALM_TRY(ep_openapi_put_answer(self, operation, i, head));
    if (route->needs_login && !answers(operation, 401)) {
        ALM_TRY(ep_openapi_next(self));
        ALM_TRY(ep_openapi_text(
            self, "\"401\":{\"description\":\"user or password are wrong or missing\"}"));
    }
    return ep_openapi_text(self, "}");
}

/* Does it stand for all paths below it? */
static bool ep_openapi_has_more(const char *path)
{
    return path[1] != 0 && path[strlen(path) - 1] == '/';
}

/* GET /query/ -> getQueryById: one for each path and method. */
static alm_status put_id(const writer *self, const char *path, alm_str method)
{
    bool upper = true;
    const bool more = ep_openapi_has_more(path);
    ALM_TRY(ep_openapi_text(self, "{\"operationId\":\""));
    for (size_t i = 0; i < method.len; i++) {
        const char byte = (char)(method.ptr[i] | 0x20);
        ALM_TRY(alm_buf_append(self->cx, self->out, &byte, 1));
    }
    for (; *path != 0; path++) {
        const bool letter = (*path >= 'a' && *path <= 'z') || (*path >= '0' && *path <= '9');
        const char byte = (char)(upper && *path >= 'a' && *path <= 'z' ? *path & ~0x20 : *path);
        if (letter)
            ALM_TRY(alm_buf_append(self->cx, self->out, &byte, 1));
        upper = !letter;
    }
    return ep_openapi_text(self, more ? "ById\"" : "\"");
}

static alm_status put_operation(const writer *self, const alm_http_route *route, alm_str method)
{
    const alm_str operation = alm_str_of(route->operation);
    const bool head = alm_str_eq(method, ALM_STR("HEAD"));
    const bool body = has_body(operation) &&
                      (alm_str_eq(method, ALM_STR("POST")) || alm_str_eq(method, ALM_STR("PUT")));
    ALM_TRY(ep_openapi_next(self));
    ALM_TRY(ep_openapi_text(self, "\""));
    for (size_t i = 0; i < method.len; i++) {
        const char byte = (char)(method.ptr[i] | 0x20);
        ALM_TRY(alm_buf_append(self->cx, self->out, &byte, 1));
    }
    ALM_TRY(ep_openapi_text(self, "\":"));
    ALM_TRY(put_id(self, route->path, method));
    ALM_TRY(ep_openapi_text(self, ",\"summary\":"));
    ALM_TRY(ep_openapi_string(self, route->doc));
    ALM_TRY(ep_openapi_put_params(self, operation, body));
    if (body)
        ALM_TRY(put_body(self, operation));
    if (route->needs_login)
        ALM_TRY(ep_openapi_text(self, ",\"security\":[{},{\"basic\":[]},{\"bearer\":[]}]"));
    ALM_TRY(put_answers(self, route, head));
    return ep_openapi_text(self, "}");
}

/* ------------------------------------------------------------------------ paths */

static bool was_before(size_t offset)
{
    for (size_t i = 0; i < offset; i++)
        if (strcmp(alm_http_route_at(i)->path, alm_http_route_at(offset)->path) == 0)
            return true;
    return false;
}

static alm_status ep_openapi_put_options(const writer *self, const alm_http_route *route)
{
    static const alm_str method = ALM_STR("OPTIONS");
    ALM_TRY(ep_openapi_text(self, ",\"options\":"));
    ALM_TRY(put_id(self, route->path, method));
    ALM_TRY(ep_openapi_text(self, ",\"summary\":\"what the path takes\",\"parameters\":["));
    if (ep_openapi_has_more(route->path))
        ALM_TRY(ep_openapi_text(self, "{\"name\":\"id\",\"in\":\"path\",\"required\":true,"
                                      "\"schema\":{\"type\":\"string\"}}"));
    return ep_openapi_text(
        self,
        "],\"responses\":{\"204\":{\"description\":\"methods in Allow\",\"headers\":{\"Allow\":{"
        "\"required\":true,\"schema\":{\"type\":\"string\"}}}},\"400\":{\"description\":"
        "\"the request is malformed\"}}}");
}

/* The methods of all rows of the path. */
static alm_status put_path(const writer *self, size_t offset)
{
    const char *path = alm_http_route_at(offset)->path;
    const bool more = ep_openapi_has_more(path);
    ALM_TRY(ep_openapi_next(self));
    ALM_TRY(alm_buf_printf(self->cx, self->out, "\"%s%s\":{", path, more ? "{id}" : ""));
    for (size_t i = offset; i < alm_http_route_count(); i++) {
        const alm_http_route *route = alm_http_route_at(i);
        if (strcmp(route->path, path) != 0)
            continue;
        for (const char *m = route->methods; *m != 0;) {
            const size_t len = strcspn(m, ",");
            ALM_TRY(put_operation(self, route, (alm_str){m, len}));
            m += len + (m[len] != 0);
        }
    }
    ALM_TRY(ep_openapi_put_options(self, alm_http_route_at(offset)));
    return ep_openapi_text(self, "}");
}

static alm_status ep_openapi_put_description(const writer *self)
{
    ALM_TRY(ep_openapi_text(
        self, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Almanac\",\"version\":\"" ALM_VERSION
              "\",\"description\":\"SQL over HTTP.\",\"license\":{\"name\":\"Apache-2.0\","
              "\"identifier\":\"Apache-2.0\"}},\"servers\":[{\"url\":"));
    ALM_TRY(ep_openapi_string(self, self->cx->conf->http_context_web_console));
    ALM_TRY(ep_openapi_text(self, "}],\"paths\":{"));
    for (size_t i = 0; i < alm_http_route_count(); i++)
        if (!was_before(i))
            ALM_TRY(put_path(self, i));
    ALM_TRY(ep_openapi_text(
        self, "},\"components\":{\"securitySchemes\":{\"basic\":{\"type\":\"http\","
              "\"scheme\":\"basic\"},\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
              "\"schemas\":{"));
    for (size_t i = 0; i < ALM_COUNT(SCHEMAS); i++) {
        ALM_TRY(ep_openapi_next(self));
        ALM_TRY(key(self, SCHEMAS[i].name));
        ALM_TRY(schema(self, SCHEMAS[i].schema));
    }
    return ep_openapi_text(self, "}}}");
}

static void ep_openapi_describe(alm_http *http)
{
    char etag[32];
    alm_buf out;
    alm_buf_init(&out, NULL);
    const writer self = {&http->cx, &out};
    if (ep_openapi_put_description(&self) == ALM_OK) {
        (void)snprintf(etag, sizeof(etag), "%016llx",
                       (unsigned long long)alm_hash_bytes(out.ptr, out.len));
        const alm_asset document = {
            .path = "/openapi.json", .etag = etag, .forms = {{out.ptr, out.len}}};
        alm_asset_reply(http, &document);
    } else {
        alm_http_reply_text(http, 503, "out of memory");
    }
    alm_buf_deinit(&out);
}

const alm_http_handler alm_ep_openapi = {.begin = ep_openapi_describe};
