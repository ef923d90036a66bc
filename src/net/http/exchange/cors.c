/* cors.c - see cors.h. */
#include "net/http/exchange/cors.h"

#include "base/conf.h"

static const char exposed[] = "Access-Control-Expose-Headers: Content-Disposition, ETag, "
                              "X-Influxdb-Version, X-Query-Id\r\n";

#define ALM_HOST_SIGNS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-[]"

static bool is_any(const struct alm_conf *conf)
{
    return strcmp(conf->http_cors_origins, "*") == 0;
}

static bool fits_header(const char *text)
{
    for (; *text != 0; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

/* Origins alone, as they stand in a Content-Security-Policy: nothing that could end it. */
static bool are_origins(const char *list)
{
    while (*list != 0) {
        const size_t len = strcspn(list, ", ");
        const size_t scheme = strncmp(list, "https://", 8) == 0  ? 8
                              : strncmp(list, "http://", 7) == 0 ? 7
                                                                 : 0;
        const char *host = list + scheme;
        if (len > 0 &&
            (scheme == 0 || len == scheme || strspn(host, ALM_HOST_SIGNS) < len - scheme))
            return false;
        list += len + (list[len] != 0);
    }
    return true;
}

alm_status alm_http_check_conf(alm_ctx *cx, const struct alm_conf *conf)
{
    const char *context = conf->http_context_web_console;
    if (context[0] != '/' || !fits_header(context) ||
        (context[1] != 0 && context[strlen(context) - 1] == '/'))
        return alm_fail(cx, ALM_E_ARG, -1,
                        "http.context.web.console=%s is no path like / or /console", context);
    if (!fits_header(conf->http_cors_origins) || !fits_header(conf->http_cors_headers))
        return alm_fail(cx, ALM_E_ARG, -1,
                        "http.cors.origins and http.cors.headers are one line each");
    if (conf->http_cors_credentials && conf->http_cors_origins[0] != 0 && is_any(conf))
        return alm_fail(cx, ALM_E_ARG, -1,
                        "http.cors.credentials=true would let any page act for its visitors with "
                        "http.cors.origins=*: list the origins");
    if (!are_origins(conf->http_frame_ancestors))
        return alm_fail(cx, ALM_E_ARG, -1,
                        "http.frame.ancestors=%s: it lists origins like https://wiki.example.com",
                        conf->http_frame_ancestors);
    return ALM_OK;
}

/* The elements of http.cors.origins are separated by commas and spaces. */
static bool cors_is_listed(const char *list, alm_str origin)
{
    while (*list != 0) {
        const size_t len = strcspn(list, ", ");
        if (len > 0 && alm_str_ieq((alm_str){list, len}, origin))
            return true;
        list += len + (list[len] != 0);
    }
    return false;
}

static bool is_allowed(const alm_http *http, alm_str origin)
{
    const struct alm_conf *conf = http->cx.conf;
    return origin.len > 0 && (is_any(conf) || cors_is_listed(conf->http_cors_origins, origin));
}

/* Is it "http://" or "https://" and what the request was sent to? */
static bool cors_is_own(alm_str origin, alm_str host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < ALM_COUNT(schemes); i++) {
        const alm_str scheme = alm_str_of(schemes[i]);
        if (host.len > 0 && origin.len > scheme.len &&
            alm_str_ieq((alm_str){origin.ptr, scheme.len}, scheme))
            return alm_str_ieq((alm_str){origin.ptr + scheme.len, origin.len - scheme.len}, host);
    }
    return false;
}

/* Basic is what browsers keep and send with any page's requests. */
static bool has_meant_credentials(const alm_http *http)
{
    static const alm_str basic = {"Basic ", 6};
    const alm_str header = alm_http_header(&http->req, "Authorization");
    return header.len > 0 &&
           (header.len < basic.len || !alm_str_ieq((alm_str){header.ptr, basic.len}, basic));
}

static bool cors_has(const alm_http *http, const char *name)
{
    return alm_http_header(&http->req, name).ptr != NULL;
}

/* A page of another origin sets this header only where the preflight request allowed it. */
static bool is_marked(const alm_http *http)
{
    return alm_str_ieq(alm_http_header(&http->req, "X-Requested-With"), ALM_STR("XMLHttpRequest"));
}

/* Is it by a login that browsers keep, and send with requests of pages that know nothing of it? */
static bool is_by_kept_login(const alm_http *http)
{
    return cors_has(http, "Authorization")
               ? !has_meant_credentials(http)
               : alm_http_cookie(&http->req, alm_http_session_cookie(http)).ptr != NULL;
}

/* A page of an allowed origin acts in its own name, or in that of the browser's user where http.cors.credentials says so. Browsers send
 * the preflight request of a script without that login where it does not: what had to be asked for is the script's own. */
static bool is_of_allowed(const alm_http *http)
{
    return is_allowed(http, alm_http_header(&http->req, "Origin")) &&
           (http->cx.conf->http_cors_credentials || !is_by_kept_login(http) || is_marked(http));
}

bool alm_cors_is_foreign(const alm_http *http)
{
    const alm_str site = alm_http_header(&http->req, "Sec-Fetch-Site");
    const alm_str origin = alm_http_header(&http->req, "Origin");
    if (http->cx.conf->http_cross_site_writes || alm_str_eq(site, ALM_STR("same-origin")) ||
        alm_str_eq(site, ALM_STR("none")) || is_of_allowed(http) || has_meant_credentials(http))
        return false;
    if (alm_str_eq(site, ALM_STR("cross-site")) || alm_str_eq(site, ALM_STR("same-site")))
        return true;
    return origin.ptr != NULL && !cors_is_own(origin, http->req.host);
}

static bool cors_begins(alm_str text, alm_str with)
{
    return text.len >= with.len && alm_str_ieq((alm_str){text.ptr, with.len}, with);
}

static bool cors_contains(alm_str text, alm_str part)
{
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (cors_begins((alm_str){text.ptr + i, text.len - i}, part))
            return true;
    return false;
}

/* ------------------------------------------------------------------- signs of browsers */

/* Sec-Fetch-Mode: cors is of programs that have fetch(), too (Node.js). */
static bool is_no_fetch(alm_str mode)
{
    return !alm_str_eq(mode, ALM_STR("cors"));
}

/* "*" is what these programs send. */
static bool is_language(alm_str language)
{
    return !alm_str_eq(language, ALM_STR("*"));
}

static bool is_player(alm_str agent)
{
    return cors_begins(agent, ALM_STR("AppleCoreMedia/")) ||
           cors_begins(agent, ALM_STR("stagefright/"));
}

static bool is_page_part(alm_str accept)
{
    static const alm_str kinds[] = {{"text/html", 9}, {"text/css", 8}, {"image/", 6},
                                    {"video/", 6},    {"audio/", 6},   {"text/event-stream", 17}};
    for (size_t i = 0; i < ALM_COUNT(kinds); i++)
        if (cors_contains(accept, kinds[i]))
            return true;
    return false;
}

/*
 * Headers of browsers. Over plain HTTP there is no Sec-Fetch header, nor an Origin with GET, and a page can leave out Referer: then a navigation shows
 * in Upgrade-Insecure-Requests and Accept, an image or script in the language of their user and what they take, and what a media player loads
 * for a page in that it asks for a part.
 */
#define SIGNS(S)                                                                                   \
    S("Sec-Fetch-Site", NULL)                                                                      \
    S("Sec-Fetch-Dest", NULL)                                                                      \
    S("Sec-Fetch-User", NULL)                                                                      \
    S("Sec-Fetch-Mode", is_no_fetch)                                                               \
    S("Origin", NULL)                                                                              \
    S("Referer", NULL)                                                                             \
    S("Upgrade-Insecure-Requests", NULL)                                                           \
    S("Range", NULL)                                                                               \
    S("X-Playback-Session-Id", NULL)                                                               \
    S("Icy-MetaData", NULL)                                                                        \
    S("Sec-Purpose", NULL)                                                                         \
    S("Purpose", NULL)                                                                             \
    S("X-Moz", NULL)                                                                               \
    S("DNT", NULL)                                                                                 \
    S("Sec-GPC", NULL)                                                                             \
    S("Ping-To", NULL)                                                                             \
    S("Last-Event-ID", NULL)                                                                       \
    S("User-Agent", is_player)                                                                     \
    S("Accept", is_page_part)                                                                      \
    S("Accept-Language", is_language)

static bool is_browsers(const alm_http_pair *field)
{
#define ROW(name, says)        {{name, sizeof name - 1}, says},
#define LENGTH_BIT(name, says) 1u << (sizeof name - 1) |
    static const struct {
        alm_str name;
        bool (*says)(alm_str value); /* NULL: any value does */
    } signs[] = {SIGNS(ROW)};
    static const uint32_t lengths = SIGNS(LENGTH_BIT) 0;
#undef ROW
#undef LENGTH_BIT
    if (field->name.len >= 32 || (lengths >> field->name.len & 1) == 0)
        return false;
    for (size_t i = 0; i < ALM_COUNT(signs); i++)
        if (signs[i].name.len == field->name.len && alm_str_ieq(signs[i].name, field->name))
            return signs[i].says == NULL || signs[i].says(field->value);
    return false;
}

static bool is_of_browser(const alm_http *http)
{
    for (uint32_t i = 0; i < http->req.n_headers; i++)
        if (is_browsers(&http->req.headers[i]))
            return true;
    return false;
}

/* Did a script mean it, and of a page that may? */
static bool cors_is_meant(const alm_http *http)
{
    const bool marked = is_marked(http) || is_of_allowed(http);
    return http->cx.conf->http_cross_site_writes || has_meant_credentials(http) ||
           (marked &&
            !alm_str_eq(alm_http_header(&http->req, "Sec-Fetch-Mode"), ALM_STR("navigate")));
}

bool alm_cors_is_link(const alm_http *http)
{
    return is_of_browser(http) && !cors_is_meant(http);
}

bool alm_cors_is_unmarked(const alm_http *http)
{
    const bool by_cookie = !cors_has(http, "Authorization") &&
                           alm_http_cookie(&http->req, alm_http_session_cookie(http)).ptr != NULL;
    return (by_cookie || is_of_browser(http)) && !cors_is_meant(http);
}

void alm_cors_answer(alm_http *http)
{
    const struct alm_conf *conf = http->cx.conf;
    const alm_str origin = alm_http_header(&http->req, "Origin");
    if (conf->http_cors_origins[0] == 0)
        return;
    if (!is_any(conf)) /* a cache must not give the answer for one page to another */
        alm_http_add_headers(http, "Vary: Origin\r\n");
    if (!is_allowed(http, origin))
        return;
    if (is_any(conf))
        alm_http_add_headers(http, "Access-Control-Allow-Origin: *\r\n");
    else
        alm_http_add_headers(
            http, "Access-Control-Allow-Origin: %.*s\r\n%s", (int)origin.len, origin.ptr,
            conf->http_cors_credentials ? "Access-Control-Allow-Credentials: true\r\n" : "");
    alm_http_add_headers(http, "%s", exposed);
}

void alm_cors_preflight(alm_http *http, const char *methods)
{
    const struct alm_conf *conf = http->cx.conf;
    const alm_str asked = alm_http_header(&http->req, "Access-Control-Request-Method");
    if (conf->http_cors_origins[0] == 0 || asked.len == 0 ||
        !is_allowed(http, alm_http_header(&http->req, "Origin")))
        return;
    alm_http_add_headers(http,
                         "Access-Control-Allow-Methods: %s\r\n"
                         "Access-Control-Allow-Headers: %s\r\n"
                         "Access-Control-Max-Age: %lld\r\n",
                         methods, conf->http_cors_headers,
                         (long long)(conf->http_cors_max_age / 1000));
}
