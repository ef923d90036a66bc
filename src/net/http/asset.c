/* asset.c - see asset.h. */
#include "net/http/asset.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/crc32c.h"
#include "base/number.h"
#include "session/access/login.h"

static const struct {
    const char *ending, *type;
} TYPES[] = {{".html", "text/html; charset=utf-8"},
             {".js", "text/javascript; charset=utf-8"},
             {".mjs", "text/javascript; charset=utf-8"},
             {".css", "text/css; charset=utf-8"},
             {".json", "application/json; charset=utf-8"},
             {".map", "application/json; charset=utf-8"},
             {".webmanifest", "application/manifest+json; charset=utf-8"},
             {".txt", "text/plain; charset=utf-8"},
             {".md", "text/markdown; charset=utf-8"},
             {".csv", "text/csv; charset=utf-8"},
             {".xml", "application/xml; charset=utf-8"},
             {".svg", "image/svg+xml"},
             {".png", "image/png"},
             {".jpg", "image/jpeg"},
             {".jpeg", "image/jpeg"},
             {".gif", "image/gif"},
             {".webp", "image/webp"},
             {".ico", "image/x-icon"},
             {".woff", "font/woff"},
             {".woff2", "font/woff2"},
             {".ttf", "font/ttf"},
             {".wasm", "application/wasm"},
             {".pdf", "application/pdf"}};

const alm_asset *alm_asset_find(alm_str path)
{
    for (size_t i = 0; i < alm_asset_count; i++)
        if (alm_str_eq(alm_str_of(alm_assets[i].path), path))
            return &alm_assets[i];
    return NULL;
}

const char *alm_asset_type(alm_str path)
{
    for (size_t i = 0; i < ALM_COUNT(TYPES); i++) {
        const alm_str ending = alm_str_of(TYPES[i].ending);
        if (path.len > ending.len &&
            alm_str_ieq((alm_str){path.ptr + path.len - ending.len, ending.len}, ending))
            return TYPES[i].type;
    }
    return "application/octet-stream";
}

/* ----------------------------------------------------------------------- form */

static const struct {
    const char *coding; /* of Content-Encoding */
    const char *mark;   /* behind the hash: each form has an ETag of its own */
} FORMS[ALM_ASSET_FORMS] = {{NULL, ""}, {"gzip", "-gz"}, {"zstd", "-zst"}};

static alm_asset_form choose_form(const alm_http *http, const alm_asset *asset)
{
    const alm_str accept = alm_http_header(&http->req, "Accept-Encoding");
    const int32_t any = alm_http_quality(accept, ALM_STR("*"));
    alm_asset_form best = ALM_ASSET_PLAIN;
    int32_t best_q = 0;
    for (int f = ALM_ASSET_ZSTD; f > ALM_ASSET_PLAIN; f--) {
        int32_t q = alm_http_quality(accept, alm_str_of(FORMS[f].coding));
        if (q < 0)
            q = any;
        if (asset->forms[f].ptr != NULL && q > best_q) {
            best = (alm_asset_form)f;
            best_q = q;
        }
    }
    return best_q >= alm_http_quality(accept, ALM_STR("identity")) ? best : ALM_ASSET_PLAIN;
}

/* ----------------------------------------------------------------------- ETag */

/* An element of a list of entity tags, *at behind it; false: the end, or what is no tag. */
static bool next_tag(alm_str list, size_t *at, bool *weak, alm_str *tag)
{
    while (*at < list.len && strchr(" \t,", list.ptr[*at]) != NULL)
        ++*at;
    *weak = list.len - *at >= 2 && memcmp(list.ptr + *at, "W/", 2) == 0;
    const size_t open = *at + (*weak ? 2 : 0);
    if (open >= list.len || list.ptr[open] != '"')
        return false;
    const char *close = memchr(list.ptr + open + 1, '"', list.len - open - 1);
    if (close == NULL)
        return false;
    *tag = (alm_str){list.ptr + open + 1, (size_t)(close - list.ptr) - open - 1};
    *at = open + tag->len + 2;
    return true;
}

/* Does the field name this tag, or any (*)? A strong comparison takes no weak ones. */
static bool names_tag(const alm_http_request *req, const char *field, alm_str etag, bool strong)
{
    for (uint32_t i = 0; i < req->n_headers; i++) {
        const alm_str list = req->headers[i].value;
        bool weak = false;
        alm_str tag;
        if (!alm_str_ieq(req->headers[i].name, alm_str_of(field)))
            continue;
        if (alm_str_eq(list, ALM_STR("*")))
            return true;
        for (size_t offset = 0; next_tag(list, &offset, &weak, &tag);)
            if (!(strong && weak) && alm_str_eq(tag, etag))
                return true;
    }
    return false;
}

/* ---------------------------------------------------------------------- range */

typedef enum range_kind { RANGE_NONE, RANGE_SOME, RANGE_BEYOND } range_kind;

static bool asset_digits(alm_str text, uint64_t *out)
{
    return text.len > 0 && text.ptr[0] >= '0' && text.ptr[0] <= '9' &&
           alm_uint64_parse(text, out) == ALM_NUM_OK;
}

/* bytes=first-last, bytes=first-, bytes=-suffix; anything else counts as not sent. [*from, *to) */
static range_kind asset_read_range(alm_str text, uint64_t n, uint64_t *from, uint64_t *to)
{
    static const alm_str unit = ALM_STR("bytes=");
    if (text.len <= unit.len || !alm_str_ieq((alm_str){text.ptr, unit.len}, unit) ||
        memchr(text.ptr, ',', text.len) != NULL)
        return RANGE_NONE;
    text = (alm_str){text.ptr + unit.len, text.len - unit.len};
    const char *dash = memchr(text.ptr, '-', text.len);
    if (dash == NULL)
        return RANGE_NONE;
    const alm_str first = {text.ptr, (size_t)(dash - text.ptr)};
    const alm_str last = {dash + 1, text.len - first.len - 1};
    uint64_t a = 0, b = 0;
    if (first.len == 0) {
        if (!asset_digits(last, &b))
            return RANGE_NONE;
        *from = b < n ? n - b : 0;
        *to = n;
        return b == 0 || n == 0 ? RANGE_BEYOND : RANGE_SOME;
    }
    if (!asset_digits(first, &a) || (last.len > 0 && (!asset_digits(last, &b) || b < a)))
        return RANGE_NONE;
    *from = a;
    *to = last.len > 0 && b < n - 1 ? b + 1 : n;
    return a >= n ? RANGE_BEYOND : RANGE_SOME;
}

/* Without If-Range, or while that is still the one (strongly). */
static bool range_holds(const alm_http *http, alm_str etag)
{
    const alm_str condition = alm_http_header(&http->req, "If-Range");
    return condition.ptr == NULL || (condition.len > 0 && condition.ptr[0] == '"' &&
                                     names_tag(&http->req, "If-Range", etag, true));
}

static void reply_part(alm_http *http, int status, const char *type, alm_str body,
                       alm_asset_part *part, alm_asset_part which)
{
    const size_t n = (size_t)(which.to - which.from);
    if (part == NULL) {
        alm_http_reply(http, status, type, NULL, (alm_str){body.ptr + which.from, n});
        return;
    }
    *part = which;
    alm_http_whole_begin(http, status, type, (int64_t)n);
}

static void reply_range(alm_http *http, const char *type, alm_str body, alm_str etag,
                        alm_asset_part *part)
{
    const alm_str asked = alm_http_header(&http->req, "Range");
    uint64_t from = 0, to = 0;
    range_kind kind = RANGE_NONE;
    if (asked.ptr != NULL && alm_str_eq(http->req.method, ALM_STR("GET")) &&
        range_holds(http, etag))
        kind = asset_read_range(asked, body.len, &from, &to);
    if (kind == RANGE_NONE) {
        reply_part(http, 200, type, body, part, (alm_asset_part){0, body.len});
    } else if (kind == RANGE_BEYOND) {
        alm_http_add_headers(http, "Content-Range: bytes */%zu\r\n", body.len);
        alm_http_reply(http, 416, NULL, NULL, (alm_str){"", 0});
    } else {
        alm_http_add_headers(http, "Content-Range: bytes %llu-%llu/%zu\r\n",
                             (unsigned long long)from, (unsigned long long)(to - 1), body.len);
        reply_part(http, 206, type, body, part, (alm_asset_part){from, to});
    }
}

/* ---------------------------------------------------------------------- answer */

static const char program_policy[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self' data: blob:; "
    "font-src 'self'; connect-src 'self'%s%s; worker-src 'self'; manifest-src 'self'; form-action "
    "'self'; "
    "object-src 'none'; base-uri 'none'; frame-ancestors %s; require-trusted-types-for "
    "'script'; "
    "trusted-types almanac-worker\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"
    "Permissions-Policy: camera=(), geolocation=(), microphone=()\r\n";
static const char foreign_policy[] =
    "Content-Security-Policy: default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n";
/* A browser opens these as documents with scripts: they have none, and an origin of their own. */
static const char sealed_policy[] =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "sandbox; "
    "frame-ancestors 'self'\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n";

/* The origin of an address of the web, "" where it is none or has what would end the policy. */
static void asset_origin_of(const char *address, char *out, size_t bytes)
{
    static const char marks[] = ".:-[]";
    const char *rest = strncmp(address, "https://", 8) == 0  ? address + 8
                       : strncmp(address, "http://", 7) == 0 ? address + 7
                                                             : NULL;
    size_t count = 0;
    out[0] = 0;
    if (rest == NULL)
        return;
    while (isalnum((unsigned char)rest[count]) ||
           (rest[count] != 0 && strchr(marks, rest[count]) != NULL))
        count++;
    const size_t whole = (size_t)(rest - address) + count;
    if (count == 0 || whole >= bytes || (rest[count] != 0 && rest[count] != '/'))
        return;
    memcpy(out, address, whole);
    out[whole] = 0;
}

/* Where the page gets tokens: the one other host that it may ask; "": there is none, or it is not known yet. */
static void provider_origin(alm_http *http, char *out, size_t bytes)
{
    alm_oidc *oidc = alm_login_oidc(alm_conn_db(http->conn));
    alm_oidc_endpoints *at = oidc != NULL ? malloc(sizeof *at) : NULL;
    out[0] = 0;
    if (at != NULL) {
        alm_oidc_endpoints_get(oidc, at);
        asset_origin_of(at->token, out, bytes);
    }
    free(at);
}

/* Of the pages that may show this one in a frame: what http.frame.ancestors lists, separated by spaces. */
static const char *frame_ancestors(alm_http *http)
{
    const char *listed = http->cx.conf->http_frame_ancestors;
    const size_t len = strlen(listed);
    char *out = NULL;
    if (strspn(listed, ", ") == len ||
        alm_arena_bytes(&http->cx, &http->arena, len + 1, &out) != ALM_OK) {
        alm_error_clear(&http->cx);
        return "'none'";
    }
    for (size_t i = 0; i <= len; i++)
        out[i] = listed[i] == ',' ? ' ' : listed[i];
    return out;
}

void alm_asset_reply(alm_http *http, const alm_asset *asset)
{
    char tag[80], provider[512] = "";
    const alm_asset_form form = choose_form(http, asset);
    const char *type = alm_asset_type(alm_str_of(asset->path));
    const bool page = strncmp(type, "text/html", 9) == 0;
    const bool sealed =
        strncmp(type, "image/svg", 9) == 0 || strncmp(type, "application/xml", 15) == 0;
    const char *policy = sealed ? sealed_policy : page && asset->foreign ? foreign_policy : NULL;
    const char *ancestors = page && !asset->foreign ? frame_ancestors(http) : "";
    if (page && !asset->foreign)
        provider_origin(http, provider, sizeof provider);
    /* another policy is another page for who has it */
    (void)snprintf(tag, sizeof(tag), "%s%s", asset->etag, FORMS[form].mark);
    if (provider[0] != 0)
        (void)snprintf(tag + strlen(tag), sizeof(tag) - strlen(tag), "-%08x",
                       (unsigned)alm_crc32c(0, provider, strlen(provider)));
    if (page && !asset->foreign && strcmp(ancestors, "'none'") != 0)
        (void)snprintf(tag + strlen(tag), sizeof(tag) - strlen(tag), "-f%08x",
                       (unsigned)alm_crc32c(0, ancestors, strlen(ancestors)));
    if (policy != NULL)
        (void)snprintf(tag + strlen(tag), sizeof(tag) - strlen(tag), "-p%08x",
                       (unsigned)alm_crc32c(0, policy, strlen(policy)));
    const alm_str etag = alm_str_of(tag);
    if (alm_http_header(&http->req, "If-Match").ptr != NULL &&
        !names_tag(&http->req, "If-Match", etag, true)) {
        alm_http_reply_text(http, 412, "The file is another one by now");
        return;
    }
    http->is_public = true;
    alm_http_add_headers(http, "ETag: \"%s\"\r\nCache-Control: %s\r\nVary: Accept-Encoding\r\n",
                         tag, asset->hashed ? "public, max-age=31536000, immutable" : "no-cache");
    if (names_tag(&http->req, "If-None-Match", etag, false)) {
        alm_http_reply(http, 304, NULL, NULL, (alm_str){0});
        return;
    }
    alm_http_add_headers(http, "Accept-Ranges: bytes\r\n");
    if (FORMS[form].coding != NULL)
        alm_http_add_headers(http, "Content-Encoding: %s\r\n", FORMS[form].coding);
    if (policy != NULL)
        alm_http_add_headers(http, "%s", policy);
    else if (page)
        alm_http_add_headers(http, program_policy, provider[0] != 0 ? " " : "", provider,
                             ancestors);
    reply_range(http, type, (alm_str){asset->forms[form].ptr, asset->forms[form].n}, etag,
                asset->part);
}
