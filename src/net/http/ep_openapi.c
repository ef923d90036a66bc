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

static alm_status text(const writer *w, const char *json)
{
    return alm_buf_text(w->cx, w->out, json);
}

static alm_status string(const writer *w, const char *value)
{
    return alm_json_put_string(w->cx, w->out, alm_str_of(value));
}

/* "name": */
static alm_status key(const writer *w, const char *name)
{
    ALM_TRY(string(w, name));
    return text(w, ":");
}

/* A comma, unless something was just opened. */
static alm_status next(const writer *w)
{
    const char last = w->out->len > 0 ? w->out->ptr[w->out->len - 1] : '{';
    return last == '{' || last == '[' ? ALM_OK : text(w, ",");
}

/* JSON with ' for ", or the name of a schema. */
static alm_status schema(const writer *w, const char *json)
{
    if (json[0] == '#')
        return alm_buf_printf(w->cx, w->out, "{\"$ref\":\"#/components/schemas/%s\"}", json + 1);
    for (; *json != 0; json++)
        ALM_TRY(alm_buf_append(w->cx, w->out, *json == '\'' ? "\"" : json, 1));
    return ALM_OK;
}

static bool is_of(const api_row *row, alm_str operation)
{
    const char *at = row->operations;
    while (*at != 0) {
        const size_t n = strcspn(at, " ");
        if (alm_str_eq((alm_str){at, n}, operation))
            return true;
        at += n + (at[n] != 0);
    }
    return false;
}

/* ------------------------------------------------------------------ operations */

static alm_status put_params(const writer *w, alm_str operation, bool has_body)
{
    ALM_TRY(text(w, ",\"parameters\":["));
    for (size_t i = 0; i < ALM_COUNT(PARAMS); i++) {
        const api_row *p = &PARAMS[i];
        const size_t n = strcspn(p->place, "!?");
        const bool must = p->place[n] == '!' || (p->place[n] == '?' && !has_body);
        if (!is_of(p, operation))
            continue;
        ALM_TRY(next(w));
        ALM_TRY(alm_buf_printf(w->cx, w->out, "{\"name\":\"%s\",\"in\":\"%.*s\",\"required\":%s,",
                               p->name, (int)n, p->place, must ? "true" : "false"));
        ALM_TRY(key(w, "description"));
        ALM_TRY(string(w, p->doc));
        ALM_TRY(text(w, ",\"schema\":"));
        ALM_TRY(schema(w, p->schema));
        ALM_TRY(text(w, "}"));
    }
    return text(w, "]");
}

static alm_status put_media(const writer *w, const api_row *row)
{
    ALM_TRY(next(w));
    ALM_TRY(alm_buf_printf(w->cx, w->out, "\"%.*s\":{\"schema\":", (int)strcspn(row->media, "!"),
                           row->media));
    ALM_TRY(schema(w, row->schema));
    return text(w, "}");
}

static bool has_body(alm_str operation)
{
    for (size_t i = 0; i < ALM_COUNT(BODIES); i++)
        if (is_of(&BODIES[i], operation))
            return true;
    return false;
}

static alm_status put_body(const writer *w, alm_str operation)
{
    bool must = false;
    ALM_TRY(text(w, ",\"requestBody\":{\"content\":{"));
    for (size_t i = 0; i < ALM_COUNT(BODIES); i++) {
        if (!is_of(&BODIES[i], operation))
            continue;
        ALM_TRY(put_media(w, &BODIES[i]));
        must = must || strchr(BODIES[i].media, '!') != NULL;
    }
    return text(w, must ? "},\"required\":true}" : "}}");
}

/* All rows of one status are one answer. HEAD has the status alone. */
static alm_status put_answer(const writer *w, alm_str operation, size_t first, bool head)
{
    const int status = ANSWERS[first].status;
    ALM_TRY(next(w));
    ALM_TRY(alm_buf_printf(w->cx, w->out, "\"%d\":{\"description\":", status));
    ALM_TRY(string(w, ANSWERS[first].doc[0] != 0 ? ANSWERS[first].doc : alm_http_reason(status)));
    if (!head && ANSWERS[first].media[0] != 0) {
        ALM_TRY(text(w, ",\"content\":{"));
        for (size_t i = first; i < ALM_COUNT(ANSWERS); i++)
            if (ANSWERS[i].status == status && is_of(&ANSWERS[i], operation))
                ALM_TRY(put_media(w, &ANSWERS[i]));
        ALM_TRY(text(w, "}"));
    }
    return text(w, "}");
}

static bool is_first(alm_str operation, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (ANSWERS[i].status == ANSWERS[at].status && is_of(&ANSWERS[i], operation))
            return false;
    return is_of(&ANSWERS[at], operation);
}

static bool answers(alm_str operation, int status)
{
    for (size_t i = 0; i < ALM_COUNT(ANSWERS); i++)
        if (ANSWERS[i].status == status && is_of(&ANSWERS[i], operation))
            return true;
    return false;
}

static alm_status put_answers(const writer *w, const alm_http_route *route, bool head)
{
    const alm_str operation = alm_str_of(route->operation);
    ALM_TRY(text(w, ",\"responses\":{"));
    for (size_t i = 0; i < ALM_COUNT(ANSWERS); i++)
        if (is_first(operation, i))
            ALM_TRY(put_answer(w, operation, i, head));
    if (route->needs_login && !answers(operation, 401)) {
        ALM_TRY(next(w));
        ALM_TRY(text(w, "\"401\":{\"description\":\"user or password are wrong or missing\"}"));
    }
    return text(w, "}");
}

/* Does it stand for all paths below it? */
static bool has_more(const char *path)
{
    return path[1] != 0 && path[strlen(path) - 1] == '/';
}

/* GET /query/ -> getQueryById: one for each path and method. */
static alm_status put_id(const writer *w, const char *path, alm_str method)
{
    bool upper = true;
    const bool more = has_more(path);
    ALM_TRY(text(w, "{\"operationId\":\""));
    for (size_t i = 0; i < method.len; i++) {
        const char c = (char)(method.ptr[i] | 0x20);
        ALM_TRY(alm_buf_append(w->cx, w->out, &c, 1));
    }
    for (; *path != 0; path++) {
        const bool letter = (*path >= 'a' && *path <= 'z') || (*path >= '0' && *path <= '9');
        const char c = (char)(upper && *path >= 'a' && *path <= 'z' ? *path & ~0x20 : *path);
        if (letter)
            ALM_TRY(alm_buf_append(w->cx, w->out, &c, 1));
        upper = !letter;
    }
    return text(w, more ? "ById\"" : "\"");
}

static alm_status put_operation(const writer *w, const alm_http_route *route, alm_str method)
{
    const alm_str operation = alm_str_of(route->operation);
    const bool head = alm_str_eq(method, ALM_STR("HEAD"));
    const bool body = has_body(operation) &&
                      (alm_str_eq(method, ALM_STR("POST")) || alm_str_eq(method, ALM_STR("PUT")));
    ALM_TRY(next(w));
    ALM_TRY(text(w, "\""));
    for (size_t i = 0; i < method.len; i++) {
        const char c = (char)(method.ptr[i] | 0x20);
        ALM_TRY(alm_buf_append(w->cx, w->out, &c, 1));
    }
    ALM_TRY(text(w, "\":"));
    ALM_TRY(put_id(w, route->path, method));
    ALM_TRY(text(w, ",\"summary\":"));
    ALM_TRY(string(w, route->doc));
    ALM_TRY(put_params(w, operation, body));
    if (body)
        ALM_TRY(put_body(w, operation));
    if (route->needs_login)
        ALM_TRY(text(w, ",\"security\":[{},{\"basic\":[]},{\"bearer\":[]}]"));
    ALM_TRY(put_answers(w, route, head));
    return text(w, "}");
}

/* ------------------------------------------------------------------------ paths */

static bool was_before(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(alm_http_route_at(i)->path, alm_http_route_at(at)->path) == 0)
            return true;
    return false;
}

static alm_status put_options(const writer *w, const alm_http_route *route)
{
    static const alm_str method = ALM_STR("OPTIONS");
    ALM_TRY(text(w, ",\"options\":"));
    ALM_TRY(put_id(w, route->path, method));
    ALM_TRY(text(w, ",\"summary\":\"what the path takes\",\"parameters\":["));
    if (has_more(route->path))
        ALM_TRY(text(w, "{\"name\":\"id\",\"in\":\"path\",\"required\":true,"
                        "\"schema\":{\"type\":\"string\"}}"));
    return text(
        w, "],\"responses\":{\"204\":{\"description\":\"methods in Allow\",\"headers\":{\"Allow\":{"
           "\"required\":true,\"schema\":{\"type\":\"string\"}}}},\"400\":{\"description\":"
           "\"the request is malformed\"}}}");
}

/* The methods of all rows of the path. */
static alm_status put_path(const writer *w, size_t at)
{
    const char *path = alm_http_route_at(at)->path;
    const bool more = has_more(path);
    ALM_TRY(next(w));
    ALM_TRY(alm_buf_printf(w->cx, w->out, "\"%s%s\":{", path, more ? "{id}" : ""));
    for (size_t i = at; i < alm_http_route_count(); i++) {
        const alm_http_route *route = alm_http_route_at(i);
        if (strcmp(route->path, path) != 0)
            continue;
        for (const char *m = route->methods; *m != 0;) {
            const size_t n = strcspn(m, ",");
            ALM_TRY(put_operation(w, route, (alm_str){m, n}));
            m += n + (m[n] != 0);
        }
    }
    ALM_TRY(put_options(w, alm_http_route_at(at)));
    return text(w, "}");
}

static alm_status put_description(const writer *w)
{
    ALM_TRY(text(w,
                 "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Almanac\",\"version\":\"" ALM_VERSION
                 "\",\"description\":\"SQL over HTTP.\",\"license\":{\"name\":\"Apache-2.0\","
                 "\"identifier\":\"Apache-2.0\"}},\"servers\":[{\"url\":"));
    ALM_TRY(string(w, w->cx->conf->http_context_web_console));
    ALM_TRY(text(w, "}],\"paths\":{"));
    for (size_t i = 0; i < alm_http_route_count(); i++)
        if (!was_before(i))
            ALM_TRY(put_path(w, i));
    ALM_TRY(text(w, "},\"components\":{\"securitySchemes\":{\"basic\":{\"type\":\"http\","
                    "\"scheme\":\"basic\"},\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
                    "\"schemas\":{"));
    for (size_t i = 0; i < ALM_COUNT(SCHEMAS); i++) {
        ALM_TRY(next(w));
        ALM_TRY(key(w, SCHEMAS[i].name));
        ALM_TRY(schema(w, SCHEMAS[i].schema));
    }
    return text(w, "}}}");
}

static void describe(alm_http *h)
{
    char etag[32];
    alm_buf out;
    alm_buf_init(&out, NULL);
    const writer w = {&h->cx, &out};
    if (put_description(&w) == ALM_OK) {
        (void)snprintf(etag, sizeof(etag), "%016llx",
                       (unsigned long long)alm_hash_bytes(out.ptr, out.len));
        const alm_asset document = {
            .path = "/openapi.json", .etag = etag, .forms = {{out.ptr, out.len}}};
        alm_asset_reply(h, &document);
    } else {
        alm_http_reply_text(h, 503, "out of memory");
    }
    alm_buf_deinit(&out);
}

const alm_http_handler alm_ep_openapi = {.begin = describe};
