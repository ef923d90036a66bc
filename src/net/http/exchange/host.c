/* host.c - see host.h. */
#include "net/http/exchange/host.h"

#include <arpa/inet.h>

#include "net/conn/loop.h"

/* Without port, brackets and the dot of a full name. */
static alm_str host_name_of(alm_str host)
{
    if (host.len > 0 && host.ptr[0] == '[') {
        const char *end = memchr(host.ptr, ']', host.len);
        return end != NULL ? (alm_str){host.ptr + 1, (size_t)(end - host.ptr) - 1} : host;
    }
    const char *colon = memchr(host.ptr, ':', host.len);
    if (colon != NULL)
        host.len = (size_t)(colon - host.ptr);
    if (host.len > 0 && host.ptr[host.len - 1] == '.')
        host.len--;
    return host;
}

static bool is_address(alm_str name)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    if (name.len >= sizeof text)
        return false;
    (void)memcpy(text, name.ptr, name.len);
    text[name.len] = 0;
    return inet_pton(strchr(text, ':') != NULL ? AF_INET6 : AF_INET, text, bytes) == 1;
}

static bool is_localhost(alm_str name)
{
    static const alm_str local = {"localhost", 9};
    if (alm_str_ieq(name, local))
        return true;
    return name.len > local.len && name.ptr[name.len - local.len - 1] == '.' &&
           alm_str_ieq((alm_str){name.ptr + name.len - local.len, local.len}, local);
}

static bool host_is_listed(const char *list, alm_str name)
{
    while (*list != 0) {
        const size_t len = strcspn(list, ", ");
        if (len > 0 && alm_str_ieq((alm_str){list, len}, name))
            return true;
        list += len + (list[len] != 0);
    }
    return false;
}

bool alm_http_host_is_ours(const struct alm_conf *conf, alm_str host)
{
    const char *list = conf->http_host_names;
    if (host.ptr == NULL || host.len == 0 || strcmp(list, "*") == 0)
        return true;
    const alm_str name = host_name_of(host);
    if (is_address(name) || is_localhost(name) || host_is_listed(list, name))
        return true;
    if (list[0] != 0)
        return false;
    /* one without a dot is of a container or of the own network: no site has such a name */
    return !alm_address_is_loopback(conf->http_bind_to) || memchr(name.ptr, '.', name.len) == NULL;
}
