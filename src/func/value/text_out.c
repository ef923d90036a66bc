/* text_out.c - see text_out.h. */
#include "func/value/text_out.h"

#include "base/conf.h"

enum { TEXT_BYTES_MAX = 64 << 20 }; /* where there is no configuration */

size_t alm_text_bytes_max(const alm_ctx *cx)
{
    const int64_t most = cx->conf != NULL ? cx->conf->query_text_bytes_max : TEXT_BYTES_MAX;
    ALM_ASSERT(most > 0 && most < (int64_t)ALM_VIEW_NULL); /* a view holds the length */
    return (size_t)most;
}

alm_status alm_text_bounded(const alm_call *call, size_t bytes)
{
    const size_t most = alm_text_bytes_max(call->cx);
    if (bytes <= most)
        return ALM_OK;
    return alm_fail(call->cx, ALM_E_LIMIT, call->pos,
                    "a text of %zu bytes, as %s may make here, is above query.text.bytes.max (%zu)",
                    bytes, call->fn->name, most);
}
