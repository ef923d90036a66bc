/*
 * records.h - records of other parts of the server, in the catalogue: users, grants, tokens (auth/). Storage
 * keeps bytes by key and knows nothing of what they say. Private to the folder; offered by catalog.h, storage.h.
 */
#ifndef ALM_STORAGE_RECORDS_H
#define ALM_STORAGE_RECORDS_H

#include "storage/state.h"

/* One record, counted: versions of the catalogue share those that did not change. */
typedef struct alm_record_obj {
    _Atomic uint32_t refs;
    alm_record r; /* texts lie behind the object: the key, a zero, the value */
} alm_record_obj;

/* All of them, by ascending key, counted and immutable. A catalogue without records has none (NULL). */
struct alm_records {
    _Atomic uint32_t refs;
    uint32_t n;
    uint64_t lsn; /* of the newest change */
    alm_record_obj *rows[];
};

/* The records of the build with the change in them. */
ALM_NODISCARD alm_status alm_change_records(alm_ctx *cx, alm_build *build,
                                            const alm_records_change *change);
/* The records of the build with these rows; a row without a value is removed. */
ALM_NODISCARD alm_status alm_records_apply(alm_ctx *cx, alm_build *build, const alm_record *rows,
                                           uint32_t n);

#endif
