/* oauthbearer.c - see oauthbearer.h. */
#include "auth/oauthbearer.h"

#include <string.h>

enum { SEPARATOR = 1 }; /* between the parts of a message */

static alm_status oauthbearer_malformed(alm_ctx *cx, const char *why)
{
    return alm_fail(cx, ALM_E_PROTOCOL, -1, "malformed OAUTHBEARER message: %s", why);
}

/* "n,," or "y,,"; *rest: what follows. */
static alm_status oauthbearer_read_header(alm_ctx *cx, alm_str message, alm_str *rest)
{
    if (message.len < 3 || (message.ptr[0] != 'n' && message.ptr[0] != 'y'))
        return oauthbearer_malformed(cx, "channel binding is not supported");
    if (message.ptr[1] != ',' || message.ptr[2] != ',')
        return oauthbearer_malformed(cx, "an authorization identity is not supported");
    *rest = (alm_str){message.ptr + 3, message.len - 3};
    return ALM_OK;
}

/* The scheme is "Bearer", in any case, and a token follows it; nothing at all: there is no token. */
static alm_status read_auth(alm_ctx *cx, alm_str value, alm_str *token)
{
    static const alm_str scheme = ALM_STR("Bearer ");
    *token = (alm_str){"", 0};
    if (value.len == 0)
        return ALM_OK;
    if (value.len <= scheme.len || !alm_str_ieq((alm_str){value.ptr, scheme.len}, scheme))
        return oauthbearer_malformed(cx, "only Bearer tokens are taken");
    size_t offset = scheme.len;
    while (offset < value.len && value.ptr[offset] == ' ')
        offset++;
    *token = (alm_str){value.ptr + offset, value.len - offset};
    return token->len > 0 ? ALM_OK : oauthbearer_malformed(cx, "the token is empty");
}

alm_status alm_oauthbearer_read(alm_ctx *cx, alm_str message, alm_str *token)
{
    alm_str rest = {0};
    bool found = false;
    ALM_TRY(oauthbearer_read_header(cx, message, &rest));
    if (rest.len < 2 || rest.ptr[0] != SEPARATOR || rest.ptr[rest.len - 1] != SEPARATOR)
        return oauthbearer_malformed(cx, "a separator is missing");
    if (memchr(rest.ptr, 0, rest.len) != NULL)
        return oauthbearer_malformed(cx, "a zero byte");
    const char *end = rest.ptr + rest.len - 1; /* the separator that ends the message */
    for (const char *ptr = rest.ptr + 1; ptr < end;) {
        const char *stop = memchr(ptr, SEPARATOR, (size_t)(end - ptr));
        const char *eq = stop != NULL ? memchr(ptr, '=', (size_t)(stop - ptr)) : NULL;
        if (eq == NULL || eq == ptr)
            return oauthbearer_malformed(cx, "a part is not of the form key=value");
        if (alm_str_eq((alm_str){ptr, (size_t)(eq - ptr)}, ALM_STR("auth"))) {
            if (found)
                return oauthbearer_malformed(cx, "auth is there twice");
            found = true;
            ALM_TRY(read_auth(cx, (alm_str){eq + 1, (size_t)(stop - eq - 1)}, token));
        }
        ptr = stop + 1;
    }
    return found ? ALM_OK : oauthbearer_malformed(cx, "auth is missing");
}
