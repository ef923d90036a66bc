/*
 * records.c - the request that changes records of the catalogue.
 */
#include "storage/version/records.h"
#include "storage/write/commit.h"

enum { KEY_BYTES_MAX = 4096, VALUE_BYTES_MAX = 1 << 16 };

static alm_status check_change(alm_ctx *cx, const alm_records_change *change)
{
    for (uint32_t i = 0; i < change->n; i++)
        if (change->rows[i].key.len == 0 || change->rows[i].key.len > KEY_BYTES_MAX ||
            change->rows[i].value.len > VALUE_BYTES_MAX)
            return alm_fail(cx, ALM_E_LIMIT, -1,
                            "a record of the catalogue may have a key of %d bytes and %d more",
                            KEY_BYTES_MAX, VALUE_BYTES_MAX);
    return ALM_OK;
}

static alm_status prepare_nothing(alm_ctx *cx, alm_request *request, alm_build *build)
{
    (void)cx;
    (void)request;
    (void)build;
    return ALM_OK; /* the records of the request are all there is */
}

alm_status alm_records_put(alm_ctx *cx, alm_storage *storage, const alm_records_change *change)
{
    alm_request request = {.prepare = prepare_nothing, .records = change};
    ALM_TRY(alm_storage_writable(cx, storage));
    ALM_TRY(check_change(cx, change));
    return alm_commit(cx, storage, &request);
}
