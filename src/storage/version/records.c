/*
 * records.c - records in the catalogue (records.h): a sorted array, copied at a change; the records
 * themselves are shared.
 */
#include "storage/version/records.h"

#include <stdlib.h>

enum { RECORDS_MAX = 1 << 20 };

/* ------------------------------------------------------------------ the objects */

static alm_record_obj *obj_retain(alm_record_obj *obj)
{
    (void)atomic_fetch_add_explicit(&obj->refs, 1, memory_order_relaxed);
    return obj;
}

static void obj_release(alm_record_obj *obj)
{
    if (atomic_fetch_sub_explicit(&obj->refs, 1, memory_order_acq_rel) == 1)
        free(obj);
}

static alm_status obj_new(alm_ctx *cx, alm_record record, alm_record_obj **out)
{
    alm_record_obj *obj = NULL;
    ALM_TRY(
        alm_heap_bytes(cx, sizeof *obj + record.key.len + 1 + record.value.len, "a record", &obj));
    char *text = (char *)(obj + 1);
    memcpy(text, record.key.ptr, record.key.len);
    text[record.key.len] = 0;
    if (record.value.len > 0)
        memcpy(text + record.key.len + 1, record.value.ptr, record.value.len);
    obj->refs = 1;
    obj->r = (alm_record){{text, record.key.len}, {text + record.key.len + 1, record.value.len}};
    *out = obj;
    return ALM_OK;
}

alm_records *alm_records_retain(alm_records *records)
{
    if (records != NULL)
        (void)atomic_fetch_add_explicit(&records->refs, 1, memory_order_relaxed);
    return records;
}

void alm_records_release(alm_records *records)
{
    if (records == NULL || atomic_fetch_sub_explicit(&records->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < records->n; i++)
        obj_release(records->rows[i]);
    free(records);
}

alm_record alm_records_at(const alm_records *records, size_t i)
{
    ALM_ASSERT(records != NULL && i < records->n);
    return records->rows[i]->r;
}

uint32_t alm_records_from(const alm_records *records, alm_str key)
{
    uint32_t lo = 0, hi = records == NULL ? 0 : records->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (alm_str_cmp(records->rows[mid]->r.key, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ---------------------------------------------------------------------- snapshot */

uint64_t alm_snapshot_records_lsn(const alm_snapshot *snap)
{
    return snap->cat->records == NULL ? 0 : snap->cat->records->lsn;
}

uint64_t alm_storage_records_lsn(const alm_storage *storage)
{
    return atomic_load_explicit(&storage->records_lsn, memory_order_acquire);
}

size_t alm_snapshot_record_count(const alm_snapshot *snap)
{
    return snap->cat->records == NULL ? 0 : snap->cat->records->n;
}

alm_record alm_snapshot_record_at(const alm_snapshot *snap, size_t i)
{
    ALM_ASSERT(i < alm_snapshot_record_count(snap));
    return snap->cat->records->rows[i]->r;
}

alm_records *alm_snapshot_records(const alm_snapshot *snap)
{
    return alm_records_retain(snap->cat->records);
}

/* ------------------------------------------------------------------------ change */

/* A copy with room for `more`; empty where there is none yet. */
static alm_status version_records_copy_of(alm_ctx *cx, const alm_records *old, uint32_t more,
                                          alm_records **out)
{
    const uint32_t n = old == NULL ? 0 : old->n;
    alm_records *copy = NULL;
    if (n > RECORDS_MAX - more)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the catalogue may have %d records", RECORDS_MAX);
    ALM_TRY(alm_heap_bytes(cx, sizeof *copy + ((size_t)n + more) * sizeof *copy->rows, "records",
                           &copy));
    copy->refs = 1;
    copy->n = n;
    for (uint32_t i = 0; i < n; i++)
        copy->rows[i] = obj_retain(old->rows[i]);
    *out = copy;
    return ALM_OK;
}

static alm_status put_one(alm_ctx *cx, alm_records *to, alm_record record)
{
    const uint32_t place = alm_records_from(to, record.key);
    const bool there = place < to->n && alm_str_eq(to->rows[place]->r.key, record.key);
    alm_record_obj *obj = NULL;
    if (record.value.ptr != NULL)
        ALM_TRY(obj_new(cx, record, &obj));
    if (there)
        obj_release(to->rows[place]);
    if (obj != NULL && !there) {
        memmove(&to->rows[place + 1], &to->rows[place], (to->n - place) * sizeof *to->rows);
        to->n++;
    } else if (obj == NULL && there) {
        memmove(&to->rows[place], &to->rows[place + 1], (to->n - place - 1) * sizeof *to->rows);
        to->n--;
    }
    if (obj != NULL)
        to->rows[place] = obj;
    return ALM_OK;
}

static alm_status changed(alm_ctx *cx, const alm_records *old, const alm_record *rows,
                          uint32_t n_rows, alm_records **out)
{
    alm_records *next = NULL;
    ALM_TRY(version_records_copy_of(cx, old, n_rows, &next));
    for (uint32_t i = 0; i < n_rows; i++) {
        const alm_status status = put_one(cx, next, rows[i]);
        if (status != ALM_OK) {
            alm_records_release(next);
            return status;
        }
    }
    *out = next;
    return ALM_OK;
}

alm_status alm_records_new(alm_ctx *cx, const alm_record *rows, uint32_t n, alm_records **out)
{
    return changed(cx, NULL, rows, n, out);
}

alm_status alm_records_apply(alm_ctx *cx, alm_build *build, const alm_record *rows, uint32_t n)
{
    alm_records *next = NULL;
    ALM_TRY(changed(cx, build->next->records, rows, n, &next));
    next->lsn = build->lsn;
    alm_records_release(build->next->records);
    build->next->records = next;
    return ALM_OK;
}

alm_status alm_change_records(alm_ctx *cx, alm_build *build, const alm_records_change *change)
{
    const uint64_t lsn = build->next->records == NULL ? 0 : build->next->records->lsn;
    if (lsn != change->seen_lsn && change->seen_lsn != (uint64_t)ALM_RECORDS_BLIND)
        return alm_fail(cx, ALM_E_STALE, -1, "records of the catalogue were changed meanwhile");
    return alm_records_apply(cx, build, change->rows, change->n);
}
