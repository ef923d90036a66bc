/* route.c - see route.h. */
#include "net/http/route.h"

#include <stdio.h>

#include "net/http/asset.h"

static const alm_http_route ROUTES[] = {
#define ALM_ROUTE(path, methods, handler, login, operation, doc)                                   \
    {path, methods, &handler, login, operation, doc},
#include "net/http/route.def"
#undef ALM_ROUTE
};

/* Files of the program, at the paths that its pages know them by. */
static const alm_http_route FILES = {"",    "GET,HEAD", &alm_ep_asset,
                                     false, "file",     "a file of the program"};

size_t alm_http_route_count(void)
{
    return ALM_COUNT(ROUTES);
}

const alm_http_route *alm_http_route_at(size_t i)
{
    ALM_ASSERT(i < ALM_COUNT(ROUTES));
    return &ROUTES[i];
}

/* The next word of a list with commas; len 0: there are no more. */
static alm_str route_next_word(const char **list)
{
    const char *from = *list;
    const size_t len = strcspn(from, ",");
    *list = from + len + (from[len] == ',');
    return (alm_str){from, len};
}

static bool route_takes(const alm_http_route *route, alm_str method)
{
    const char *list = route->methods;
    for (alm_str word = route_next_word(&list); word.len > 0; word = route_next_word(&list))
        if (alm_str_eq(word, method))
            return true;
    return false;
}

/* Files below http.static.public.directory. */
static const alm_http_route PUBLIC = {"",    "GET,HEAD", &alm_ep_public,
                                      false, "file",     "a file of the folder"};

const alm_http_route *alm_http_route_public(alm_str method)
{
    return route_takes(&PUBLIC, method) ? &PUBLIC : NULL;
}

/* A path that ends with a slash has more behind it. */
static bool is_path_of(alm_str route, alm_str path)
{
    const bool more = route.len > 1 && route.ptr[route.len - 1] == '/' && path.len > route.len;
    return alm_str_eq(route, more ? (alm_str){path.ptr, route.len} : path);
}

const alm_http_route *alm_http_route_find(alm_str path, alm_str method, bool *known)
{
    *known = false;
    for (size_t i = 0; i < ALM_COUNT(ROUTES); i++) {
        if (!is_path_of(alm_str_of(ROUTES[i].path), path))
            continue;
        *known = true;
        if (route_takes(&ROUTES[i], method))
            return &ROUTES[i];
    }
    if (*known || alm_asset_find(path) == NULL)
        return NULL;
    *known = true;
    return route_takes(&FILES, method) ? &FILES : NULL;
}

static bool has_method(alm_str path, alm_str method)
{
    const bool any = alm_str_eq(path, ALM_STR("*"));
    for (size_t i = 0; i < ALM_COUNT(ROUTES); i++)
        if ((any || is_path_of(alm_str_of(ROUTES[i].path), path)) &&
            route_takes(&ROUTES[i], method))
            return true;
    return route_takes(&FILES, method) && alm_asset_find(path) != NULL;
}

void alm_http_route_methods(alm_str path, char out[ALM_HTTP_METHODS_BYTES])
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE"};
    size_t count = 0;
    for (size_t more = 0; more < ALM_COUNT(methods); more++)
        if (has_method(path, alm_str_of(methods[more])))
            count += (size_t)snprintf(out + count, ALM_HTTP_METHODS_BYTES - count, "%s, ",
                                      methods[more]);
    (void)snprintf(out + count, ALM_HTTP_METHODS_BYTES - count, "OPTIONS");
}
