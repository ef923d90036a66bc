/*
 * touched.c - which times of a table were touched since its materialized views were refreshed (touched.h).
 */
#include "storage/version/touched.h"

#include <stdlib.h>

#include "base/wait.h"
#include "storage/version/change.h"
#include "storage/version/encode.h"
#include "storage/version/refs.h"
#include "storage/version/view.h"
#include "time/calendar.h"

/* ---------------------------------------------------------------------- ranges */

alm_status alm_touched_new(alm_ctx *cx, const alm_touch *rows, uint32_t n, alm_touched **out)
{
    alm_touched *touched = NULL;
    ALM_TRY(
        alm_heap_bytes(cx, sizeof *touched + n * sizeof *touched->rows, "touched times", &touched));
    touched->refs = 1;
    touched->n = n;
    if (rows != NULL && n > 0)
        memcpy(touched->rows, rows, n * sizeof *rows);
    *out = touched;
    return ALM_OK;
}

alm_touched *alm_touched_retain(alm_touched *touched)
{
    if (touched != NULL)
        (void)atomic_fetch_add_explicit(&touched->refs, 1, memory_order_relaxed);
    return touched;
}

void alm_touched_release(alm_touched *touched)
{
    if (touched != NULL && alm_refs_drop(&touched->refs))
        free(touched);
}

/* Puts one range into the sorted, disjoint ones; those it meets become part of it. */
static uint32_t touched_add_range(alm_touch *rows, uint32_t n, alm_touch one)
{
    uint32_t from = 0;
    while (from < n && rows[from].hi < one.lo)
        from++;
    uint32_t to = from;
    for (; to < n && rows[to].lo <= one.hi; to++) {
        one.lo = ALM_MIN(one.lo, rows[to].lo);
        one.hi = ALM_MAX(one.hi, rows[to].hi);
        one.lsn = ALM_MAX(one.lsn, rows[to].lsn);
    }
    memmove(rows + from + 1, rows + to, (n - to) * sizeof *rows);
    rows[from] = one;
    return n - (to - from) + 1;
}

/* One range less: the two with the least time between them become one. */
static uint32_t join_nearest(alm_touch *rows, uint32_t n)
{
    uint32_t best = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i + 1 < n; i++) {
        const uint64_t gap = (uint64_t)rows[i + 1].lo - (uint64_t)rows[i].hi;
        if (gap < least) {
            least = gap;
            best = i;
        }
    }
    rows[best].hi = rows[best + 1].hi;
    rows[best].lsn = ALM_MAX(rows[best].lsn, rows[best + 1].lsn);
    memmove(rows + best + 1, rows + best + 2, (n - best - 2) * sizeof *rows);
    return n - 1;
}

/* As many as an operation may have, sorted and disjoint. */
static uint32_t few_ranges(const alm_scan_range *ranges, uint32_t n_ranges, alm_scan_range *out)
{
    alm_touch few[ALM_TOUCH_MAX + 2];
    uint32_t m = 0;
    for (uint32_t i = 0; i < n_ranges; i++) {
        m = touched_add_range(few, m, (alm_touch){.lo = ranges[i].lo, .hi = ranges[i].hi});
        if (m > ALM_TOUCH_MAX)
            m = join_nearest(few, m);
    }
    for (uint32_t i = 0; i < m; i++)
        out[i] = (alm_scan_range){few[i].lo, few[i].hi};
    return m;
}

alm_status alm_version_touch(alm_ctx *cx, alm_build *build, alm_version *version,
                             const alm_scan_range *ranges, uint32_t n_ranges, alm_buf *ops)
{
    if (version->touched == NULL || n_ranges == 0)
        return ALM_OK;
    alm_touch rows[ALM_TOUCH_MAX + 2];
    alm_scan_range few[ALM_TOUCH_MAX];
    if (n_ranges > ALM_TOUCH_MAX) {
        n_ranges = few_ranges(ranges, n_ranges, few);
        ranges = few;
    }
    uint32_t n_rows = version->touched->n;
    ALM_ASSERT(n_rows <= ALM_TOUCH_MAX);
    memcpy(rows, version->touched->rows, n_rows * sizeof *rows);
    for (uint32_t i = 0; i < n_ranges; i++) {
        n_rows = touched_add_range(
            rows, n_rows, (alm_touch){.lsn = build->lsn, .lo = ranges[i].lo, .hi = ranges[i].hi});
        if (n_rows > ALM_TOUCH_MAX)
            n_rows = join_nearest(rows, n_rows);
    }
    alm_touched *next = NULL;
    ALM_TRY(alm_touched_new(cx, rows, n_rows, &next));
    const alm_status status =
        ops == NULL ? ALM_OK : alm_op_touch(cx, ops, version->table.id, ranges, n_ranges);
    if (status != ALM_OK) {
        alm_touched_release(next);
        return status;
    }
    alm_touched_release(version->touched);
    version->touched = next;
    build->touched = true;
    return ALM_OK;
}

alm_status alm_change_touches(alm_ctx *cx, alm_build *build, alm_version *version,
                              const alm_parts_change *change, alm_buf *ops)
{
    if (version->touched == NULL)
        return ALM_OK;
    if (change->touch != NULL)
        return alm_version_touch(cx, build, version, change->touch, change->n_touch, ops);
    alm_touch few[ALM_TOUCH_MAX + 2];
    uint32_t n_ranges = 0;
    for (uint32_t i = 0; i < change->n_add + change->n_remove; i++) {
        const alm_part_ref *part =
            i < change->n_add ? change->add[i] : change->remove[i - change->n_add];
        n_ranges =
            touched_add_range(few, n_ranges, (alm_touch){.lo = part->min_ts, .hi = part->max_ts});
        if (n_ranges > ALM_TOUCH_MAX)
            n_ranges = join_nearest(few, n_ranges);
    }
    alm_scan_range ranges[ALM_TOUCH_MAX];
    for (uint32_t i = 0; i < n_ranges; i++)
        ranges[i] = (alm_scan_range){few[i].lo, few[i].hi};
    return alm_version_touch(cx, build, version, ranges, n_ranges, ops);
}

alm_status alm_redo_touch(alm_ctx *cx, alm_build *build, uint64_t table_id,
                          const alm_scan_range *ranges, uint32_t n)
{
    const alm_version *version = alm_build_find(build, table_id);
    alm_version *next = NULL;
    if (version == NULL || version->touched == NULL)
        return ALM_OK;
    ALM_TRY(alm_version_copy(cx, version, 0, &next));
    alm_version_settle(next);
    alm_status status = alm_version_touch(cx, build, next, ranges, n, NULL);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, table_id);
    if (status == ALM_OK)
        alm_build_put(build, next);
    else
        alm_version_release(next);
    return status;
}

uint64_t alm_table_touched_lsn(const alm_table *table, uint64_t lsn)
{
    const alm_touched *touched = alm_version_of(table)->touched;
    for (uint32_t i = 0; touched != NULL && i < touched->n; i++)
        lsn = ALM_MAX(lsn, touched->rows[i].lsn);
    return lsn;
}

bool alm_table_is_touched(const alm_table *table, uint64_t lsn)
{
    const alm_touched *touched = alm_version_of(table)->touched;
    for (uint32_t i = 0; touched != NULL && i < touched->n; i++)
        if (touched->rows[i].lsn > lsn)
            return true;
    return false;
}

alm_status alm_table_touched(alm_ctx *cx, alm_arena *arena, const alm_table *table, uint64_t lsn,
                             alm_scan_range **out, uint32_t *n)
{
    const alm_touched *touched = alm_version_of(table)->touched;
    *n = 0;
    ALM_TRY(ALM_NEWN(cx, arena, (touched == NULL ? 0 : touched->n) + 1, out));
    for (uint32_t i = 0; touched != NULL && i < touched->n; i++)
        if (touched->rows[i].lsn > lsn)
            (*out)[(*n)++] = (alm_scan_range){touched->rows[i].lo, touched->rows[i].hi};
    return ALM_OK;
}

/* ----------------------------------------------------------- what follows a table */

static bool touched_follows(const alm_version *view, uint64_t base_id)
{
    return view->table.kind == ALM_TABLE_MATVIEW && view->view->v.base_id == base_id;
}

/* The base with another list, or none; takes the list over. */
static alm_status set_touched(alm_ctx *cx, alm_build *build, const alm_version *base,
                              alm_touched *touched)
{
    alm_version *next = NULL;
    alm_status status = alm_version_copy(cx, base, 0, &next);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, base->table.id);
    if (status != ALM_OK) {
        alm_version_release(next);
        alm_touched_release(touched);
        return status;
    }
    alm_touched_release(next->touched);
    next->touched = touched;
    alm_version_settle(next);
    alm_build_put(build, next);
    return ALM_OK;
}

int64_t alm_followers_need(const alm_catver *cat, const alm_version *base, int64_t from)
{
    enum { ZONES_HOURS = 3 }; /* clocks that are turned make a bucket longer */
    const bool nanos = alm_version_is_ns(base);
    const alm_time_unit unit = nanos ? ALM_TIME_NS : ALM_TIME_US;
    int64_t least = from;
    for (size_t i = 0; base->touched != NULL && i < cat->n; i++) {
        const alm_version *view = alm_catver_at(cat, i);
        if (!touched_follows(view, base->table.id) || view->view->v.bucket.count == 0)
            continue;
        const alm_every every = view->view->v.bucket;
        int64_t time = alm_time_add(from, unit, every.unit, -(int64_t)every.count);
        if (time != ALM_TS_NULL)
            time = alm_time_add(time, unit, 'h', -ZONES_HOURS);
        least = ALM_MIN(least, time == ALM_TS_NULL
                                   ? INT64_MIN
                                   : alm_partition_floor(base->table.partition, nanos, time));
    }
    return least;
}

alm_status alm_base_keep_touched(alm_ctx *cx, alm_build *build, uint64_t base_id)
{
    const alm_version *base = alm_build_find(build, base_id);
    alm_touched *none = NULL;
    if (base == NULL || base->touched != NULL)
        return ALM_OK;
    ALM_TRY(alm_touched_new(cx, NULL, 0, &none));
    return set_touched(cx, build, base, none);
}

alm_status alm_base_follow(alm_ctx *cx, alm_build *build, const alm_version *view)
{
    if (view->table.kind != ALM_TABLE_MATVIEW)
        return ALM_OK;
    if (alm_build_find(build, view->view->v.base_id) == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]",
                        view->view->v.base);
    return alm_base_keep_touched(cx, build, view->view->v.base_id);
}

alm_status alm_base_unfollow(alm_ctx *cx, alm_build *build, uint64_t view_id)
{
    const alm_version *view = alm_build_find(build, view_id);
    if (view == NULL || view->table.kind != ALM_TABLE_MATVIEW)
        return ALM_OK;
    const uint64_t base_id = view->view->v.base_id;
    const alm_version *base = alm_build_find(build, base_id);
    for (size_t i = 0; i < build->next->n; i++) {
        const alm_version *other = alm_catver_at(build->next, i);
        if (other->table.id != view_id && touched_follows(other, base_id))
            return ALM_OK;
    }
    return base == NULL || base->touched == NULL ? ALM_OK : set_touched(cx, build, base, NULL);
}

/*
 * The LSN up to which a view has seen its base. One that was never refreshed is going to read all rows,
 * so it needs no ranges; but while it is filled (its refresh holds MAINT) it may have read the base as of
 * an older LSN than the others. The log does not say when that began: recovery keeps all it may need.
 */
static uint64_t seen_by(const alm_build *build, const alm_version *view)
{
    const alm_view_def *def = &view->view->v;
    const bool idle = def->lsn == 0 && !def->deferred && !build->redo &&
                      !alm_tab_is_held(build->st, view->tab, ALM_TAB_MAINT);
    return idle ? UINT64_MAX : def->lsn;
}

/* Ranges that every view of the base has seen go. What fails here only keeps more than is needed. */
void alm_touched_prune(alm_build *build, uint64_t base_id)
{
    const alm_version *base = alm_build_find(build, base_id);
    if (base == NULL || base->touched == NULL || base->touched->n == 0)
        return;
    uint64_t seen = UINT64_MAX;
    for (size_t i = 0; i < build->next->n; i++) {
        const alm_version *view = alm_catver_at(build->next, i);
        if (touched_follows(view, base_id))
            seen = ALM_MIN(seen, seen_by(build, view));
    }
    alm_touch left[ALM_TOUCH_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < base->touched->n; i++)
        if (base->touched->rows[i].lsn > seen)
            left[count++] = base->touched->rows[i];
    alm_touched *next = NULL;
    alm_ctx own = {0};
    if (count < base->touched->n && alm_touched_new(&own, left, count, &next) == ALM_OK)
        (void)!set_touched(&own, build, base, next);
}

/* --------------------------------------------------------------------- waiting */

void alm_touch_wake(alm_storage *storage)
{
    (void)pthread_mutex_lock(&storage->touch_lock);
    storage->touch_count++;
    (void)pthread_cond_broadcast(&storage->touch_cond);
    (void)pthread_mutex_unlock(&storage->touch_lock);
}

uint64_t alm_touch_wait(alm_storage *storage, uint64_t seen, int64_t millis)
{
    (void)pthread_mutex_lock(&storage->touch_lock);
    while (storage->touch_count == seen && millis > 0 &&
           alm_cond_wait_ms(&storage->touch_cond, &storage->touch_lock, millis)) {
    }
    const uint64_t count = storage->touch_count;
    (void)pthread_mutex_unlock(&storage->touch_lock);
    return count;
}
