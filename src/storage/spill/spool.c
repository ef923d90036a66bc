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
    alm_spool *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a temporary file");
    *s = (alm_spool){.space = space, .conf = *conf, .handle = -1};
    const alm_status st = alm_spill_space_file(cx, space, &s->handle);
    if (st != ALM_OK) {
        alm_spool_free(s);
        return st;
    }
    *out = s;
    return ALM_OK;
}

static alm_status check_length(alm_ctx *cx, const alm_spool *s, int64_t more)
{
    if (more <= s->conf.bytes_max - s->bytes)
        return ALM_OK;
    return alm_fail(cx, ALM_E_LIMIT, -1, "%s is longer than %s [limit=%lld]", s->conf.who,
                    s->conf.limit, (long long)s->conf.bytes_max);
}

alm_status alm_spool_append(alm_ctx *cx, alm_spool *s, const void *bytes, size_t n)
{
    ALM_ASSERT(s->map == NULL);
    ALM_TRY(alm_check(cx));
    ALM_TRY(check_length(cx, s, (int64_t)n));
    ALM_TRY(alm_spill_space_charge(cx, s->space, s->conf.files, (int64_t)n, s->conf.who));
    s->charged += (int64_t)n;
    ALM_TRY(alm_io_write_all(cx, s->space->io, s->handle, bytes, n, s->bytes, s->conf.who));
    s->bytes += (int64_t)n;
    return ALM_OK;
}

alm_status alm_spool_skip(alm_ctx *cx, alm_spool *s, int64_t bytes)
{
    ALM_ASSERT(bytes >= 0);
    ALM_TRY(check_length(cx, s, bytes));
    s->bytes += bytes;
    const int e = s->space->io->truncate(s->space->io, s->handle, s->bytes);
    return e < 0 ? alm_io_fail(cx, e, s->conf.who) : ALM_OK;
}

int64_t alm_spool_bytes(const alm_spool *s)
{
    return s->bytes;
}

alm_status alm_spool_map(alm_ctx *cx, alm_spool *s, alm_str *bytes)
{
    *bytes = (alm_str){0};
    if (s->bytes == 0)
        return ALM_OK;
    const int e =
        s->map != NULL ? 0 : s->space->io->map(s->space->io, s->handle, (size_t)s->bytes, &s->map);
    if (e < 0)
        return alm_io_fail(cx, e, s->conf.who);
    *bytes = (alm_str){s->map, (size_t)s->bytes};
    return ALM_OK;
}

void alm_spool_free(alm_spool *s)
{
    if (s == NULL)
        return;
    if (s->map != NULL)
        (void)s->space->io->unmap(s->space->io, s->map, (size_t)s->bytes);
    alm_spill_space_leave(s->space, s->conf.files, s->handle, s->charged);
    free(s);
}
