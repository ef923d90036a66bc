/* spool.c - see spool.h. */
#include "storage/spill/spool.h"

#include <stdlib.h>

struct alm_spool {
    alm_spill_space *space;
    alm_spool_conf conf;
    int handle;
    int64_t bytes, charged; /* of the file; of the bound */
    const void *map;
};

alm_status alm_spool_new(alm_ctx *cx, alm_spill_space *space, const alm_spool_conf *conf,
                         alm_spool **out)
{
    if (!alm_spill_allowed(cx, space))
        return alm_fail(cx, ALM_E_SPILL, -1, "%s needs a temporary file: query.spill.max is 0",
                        conf->who);
    alm_spool *spool = calloc(1, sizeof(*spool));
    if (spool == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a temporary file");
    *spool = (alm_spool){.space = space, .conf = *conf, .handle = -1};
    const alm_status status = alm_spill_space_file(cx, space, &spool->handle);
    if (status != ALM_OK) {
        alm_spool_free(spool);
        return status;
    }
    *out = spool;
    return ALM_OK;
}

static alm_status spool_check_length(alm_ctx *cx, const alm_spool *spool, int64_t more)
{
    if (more <= spool->conf.bytes_max - spool->bytes)
        return ALM_OK;
    return alm_fail(cx, ALM_E_LIMIT, -1, "%s is longer than %s [limit=%lld]", spool->conf.who,
                    spool->conf.limit, (long long)spool->conf.bytes_max);
}

alm_status alm_spool_append(alm_ctx *cx, alm_spool *spool, const void *bytes, size_t n)
{
    ALM_ASSERT(spool->map == NULL);
    ALM_TRY(alm_check(cx));
    ALM_TRY(spool_check_length(cx, spool, (int64_t)n));
    ALM_TRY(
        alm_spill_space_charge(cx, spool->space, spool->conf.files, (int64_t)n, spool->conf.who));
    spool->charged += (int64_t)n;
    ALM_TRY(alm_io_write_all(cx, spool->space->io, spool->handle, bytes, n, spool->bytes,
                             spool->conf.who));
    spool->bytes += (int64_t)n;
    return ALM_OK;
}

alm_status alm_spool_skip(alm_ctx *cx, alm_spool *spool, int64_t bytes)
{
    ALM_ASSERT(bytes >= 0);
    ALM_TRY(spool_check_length(cx, spool, bytes));
    spool->bytes += bytes;
    const int code = spool->space->io->truncate(spool->space->io, spool->handle, spool->bytes);
    return code < 0 ? alm_io_fail(cx, code, spool->conf.who) : ALM_OK;
}

int64_t alm_spool_bytes(const alm_spool *spool)
{
    return spool->bytes;
}

alm_status alm_spool_map(alm_ctx *cx, alm_spool *spool, alm_str *bytes)
{
    *bytes = (alm_str){0};
    if (spool->bytes == 0)
        return ALM_OK;
    const int code = spool->map != NULL ? 0
                                        : spool->space->io->map(spool->space->io, spool->handle,
                                                                (size_t)spool->bytes, &spool->map);
    if (code < 0)
        return alm_io_fail(cx, code, spool->conf.who);
    *bytes = (alm_str){spool->map, (size_t)spool->bytes};
    return ALM_OK;
}

void alm_spool_free(alm_spool *spool)
{
    if (spool == NULL)
        return;
    if (spool->map != NULL)
        (void)spool->space->io->unmap(spool->space->io, spool->map, (size_t)spool->bytes);
    alm_spill_space_leave(spool->space, spool->conf.files, spool->handle, spool->charged);
    free(spool);
}
