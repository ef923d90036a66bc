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
    alm_touched *t = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *t + n * sizeof *t->rows, "touched times", &t));
    t->refs = 1;
    t->n = n;
    if (rows != NULL && n > 0)
        memcpy(t->rows, rows, n * sizeof *rows);
    *out = t;
    return ALM_OK;
}

alm_touched *alm_touched_retain(alm_touched *t)
{
    if (t != NULL)
        (void)atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void alm_touched_release(alm_touched *t)
{
    if (t != NULL && alm_refs_drop(&t->refs))
        free(t);
}

/* Puts one range into the sorted, disjoint ones; those it meets become part of it. */
static uint32_t add_range(alm_touch *rows, uint32_t n, alm_touch one)
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
static uint32_t few_ranges(const alm_scan_range *ranges, uint32_t n, alm_scan_range *out)
{
    alm_touch few[ALM_TOUCH_MAX + 2];
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        m = add_range(few, m, (alm_touch){.lo = ranges[i].lo, .hi = ranges[i].hi});
        if (m > ALM_TOUCH_MAX)
            m = join_nearest(few, m);
    }
    for (uint32_t i = 0; i < m; i++)
        out[i] = (alm_scan_range){few[i].lo, few[i].hi};
    return m;
}

alm_status alm_version_touch(alm_ctx *cx, alm_build *b, alm_version *v,
                             const alm_scan_range *ranges, uint32_t n, alm_buf *ops)
{
    if (v->touched == NULL || n == 0)
        return ALM_OK;
    alm_touch rows[ALM_TOUCH_MAX + 2];
    alm_scan_range few[ALM_TOUCH_MAX];
    if (n > ALM_TOUCH_MAX) {
        n = few_ranges(ranges, n, few);
        ranges = few;
    }
    uint32_t n_rows = v->touched->n;
    ALM_ASSERT(n_rows <= ALM_TOUCH_MAX);
    memcpy(rows, v->touched->rows, n_rows * sizeof *rows);
    for (uint32_t i = 0; i < n; i++) {
        n_rows = add_range(rows, n_rows,
                           (alm_touch){.lsn = b->lsn, .lo = ranges[i].lo, .hi = ranges[i].hi});
        if (n_rows > ALM_TOUCH_MAX)
            n_rows = join_nearest(rows, n_rows);
    }
    alm_touched *next = NULL;
    ALM_TRY(alm_touched_new(cx, rows, n_rows, &next));
    const alm_status e = ops == NULL ? ALM_OK : alm_op_touch(cx, ops, v->table.id, ranges, n);
    if (e != ALM_OK) {
        alm_touched_release(next);
        return e;
    }
    alm_touched_release(v->touched);
    v->touched = next;
    b->touched = true;
    return ALM_OK;
}

alm_status alm_change_touches(alm_ctx *cx, alm_build *b, alm_version *v,
                              const alm_parts_change *change, alm_buf *ops)
{
    if (v->touched == NULL)
        return ALM_OK;
    if (change->touch != NULL)
        return alm_version_touch(cx, b, v, change->touch, change->n_touch, ops);
    alm_touch few[ALM_TOUCH_MAX + 2];
    uint32_t n = 0;
    for (uint32_t i = 0; i < change->n_add + change->n_remove; i++) {
        const alm_part_ref *part =
            i < change->n_add ? change->add[i] : change->remove[i - change->n_add];
        n = add_range(few, n, (alm_touch){.lo = part->min_ts, .hi = part->max_ts});
        if (n > ALM_TOUCH_MAX)
            n = join_nearest(few, n);
    }
    alm_scan_range ranges[ALM_TOUCH_MAX];
    for (uint32_t i = 0; i < n; i++)
        ranges[i] = (alm_scan_range){few[i].lo, few[i].hi};
    return alm_version_touch(cx, b, v, ranges, n, ops);
}

alm_status alm_redo_touch(alm_ctx *cx, alm_build *b, uint64_t table_id,
                          const alm_scan_range *ranges, uint32_t n)
{
    const alm_version *v = alm_build_find(b, table_id);
    alm_version *next = NULL;
    if (v == NULL || v->touched == NULL)
        return ALM_OK;
    ALM_TRY(alm_version_copy(cx, v, 0, &next));
    alm_version_settle(next);
    alm_status e = alm_version_touch(cx, b, next, ranges, n, NULL);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, table_id);
    if (e == ALM_OK)
        alm_build_put(b, next);
    else
        alm_version_release(next);
    return e;
}

uint64_t alm_table_touched_lsn(const alm_table *table, uint64_t lsn)
{
    const alm_touched *t = alm_version_of(table)->touched;
    for (uint32_t i = 0; t != NULL && i < t->n; i++)
        lsn = ALM_MAX(lsn, t->rows[i].lsn);
    return lsn;
}

bool alm_table_is_touched(const alm_table *table, uint64_t lsn)
{
    const alm_touched *t = alm_version_of(table)->touched;
    for (uint32_t i = 0; t != NULL && i < t->n; i++)
        if (t->rows[i].lsn > lsn)
            return true;
    return false;
}

alm_status alm_table_touched(alm_ctx *cx, alm_arena *arena, const alm_table *table, uint64_t lsn,
                             alm_scan_range **out, uint32_t *n)
{
    const alm_touched *t = alm_version_of(table)->touched;
    *n = 0;
    ALM_TRY(ALM_NEWN(cx, arena, (t == NULL ? 0 : t->n) + 1, out));
    for (uint32_t i = 0; t != NULL && i < t->n; i++)
        if (t->rows[i].lsn > lsn)
            (*out)[(*n)++] = (alm_scan_range){t->rows[i].lo, t->rows[i].hi};
    return ALM_OK;
}

/* ----------------------------------------------------------- what follows a table */

static bool follows(const alm_version *view, uint64_t base_id)
{
    return view->table.kind == ALM_TABLE_MATVIEW && view->view->v.base_id == base_id;
}

/* The base with another list, or none; takes the list over. */
static alm_status set_touched(alm_ctx *cx, alm_build *b, const alm_version *base,
                              alm_touched *touched)
{
    alm_version *next = NULL;
    alm_status e = alm_version_copy(cx, base, 0, &next);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, base->table.id);
    if (e != ALM_OK) {
        alm_version_release(next);
        alm_touched_release(touched);
        return e;
    }
    alm_touched_release(next->touched);
    next->touched = touched;
    alm_version_settle(next);
    alm_build_put(b, next);
    return ALM_OK;
}

int64_t alm_followers_need(const alm_catver *cat, const alm_version *base, int64_t from)
{
    enum { ZONES_HOURS = 3 }; /* clocks that are turned make a bucket longer */
    const bool ns = alm_version_is_ns(base);
    const alm_time_unit unit = ns ? ALM_TIME_NS : ALM_TIME_US;
    int64_t least = from;
    for (size_t i = 0; base->touched != NULL && i < cat->n; i++) {
        const alm_version *view = alm_catver_at(cat, i);
        if (!follows(view, base->table.id) || view->view->v.bucket.count == 0)
            continue;
        const alm_every e = view->view->v.bucket;
        int64_t t = alm_time_add(from, unit, e.unit, -(int64_t)e.count);
        if (t != ALM_TS_NULL)
            t = alm_time_add(t, unit, 'h', -ZONES_HOURS);
        least =
            ALM_MIN(least, t == ALM_TS_NULL ? INT64_MIN
                                            : alm_partition_floor(base->table.partition, ns, t));
    }
    return least;
}

alm_status alm_base_keep_touched(alm_ctx *cx, alm_build *b, uint64_t base_id)
{
    const alm_version *base = alm_build_find(b, base_id);
    alm_touched *none = NULL;
    if (base == NULL || base->touched != NULL)
        return ALM_OK;
    ALM_TRY(alm_touched_new(cx, NULL, 0, &none));
    return set_touched(cx, b, base, none);
}

alm_status alm_base_follow(alm_ctx *cx, alm_build *b, const alm_version *view)
{
    if (view->table.kind != ALM_TABLE_MATVIEW)
        return ALM_OK;
    if (alm_build_find(b, view->view->v.base_id) == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]",
                        view->view->v.base);
    return alm_base_keep_touched(cx, b, view->view->v.base_id);
}

alm_status alm_base_unfollow(alm_ctx *cx, alm_build *b, uint64_t view_id)
{
    const alm_version *view = alm_build_find(b, view_id);
    if (view == NULL || view->table.kind != ALM_TABLE_MATVIEW)
        return ALM_OK;
    const uint64_t base_id = view->view->v.base_id;
    const alm_version *base = alm_build_find(b, base_id);
    for (size_t i = 0; i < b->next->n; i++) {
        const alm_version *other = alm_catver_at(b->next, i);
        if (other->table.id != view_id && follows(other, base_id))
            return ALM_OK;
    }
    return base == NULL || base->touched == NULL ? ALM_OK : set_touched(cx, b, base, NULL);
}

/*
 * The LSN up to which a view has seen its base. One that was never refreshed is going to read all rows,
 * so it needs no ranges; but while it is filled (its refresh holds MAINT) it may have read the base as of
 * an older LSN than the others. The log does not say when that began: recovery keeps all it may need.
 */
static uint64_t seen_by(const alm_build *b, const alm_version *view)
{
    const alm_view_def *v = &view->view->v;
    const bool idle = v->lsn == 0 && !v->deferred && !b->redo &&
                      !alm_tab_is_held(b->st, view->tab, ALM_TAB_MAINT);
    return idle ? UINT64_MAX : v->lsn;
}

/* Ranges that every view of the base has seen go. What fails here only keeps more than is needed. */
void alm_touched_prune(alm_build *b, uint64_t base_id)
{
    const alm_version *base = alm_build_find(b, base_id);
    if (base == NULL || base->touched == NULL || base->touched->n == 0)
        return;
    uint64_t seen = UINT64_MAX;
    for (size_t i = 0; i < b->next->n; i++) {
        const alm_version *view = alm_catver_at(b->next, i);
        if (follows(view, base_id))
            seen = ALM_MIN(seen, seen_by(b, view));
    }
    alm_touch left[ALM_TOUCH_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < base->touched->n; i++)
        if (base->touched->rows[i].lsn > seen)
            left[n++] = base->touched->rows[i];
    alm_touched *next = NULL;
    alm_ctx own = {0};
    if (n < base->touched->n && alm_touched_new(&own, left, n, &next) == ALM_OK)
        (void)!set_touched(&own, b, base, next);
}

/* --------------------------------------------------------------------- waiting */

void alm_touch_wake(alm_storage *st)
{
    (void)pthread_mutex_lock(&st->touch_lock);
    st->touch_count++;
    (void)pthread_cond_broadcast(&st->touch_cond);
    (void)pthread_mutex_unlock(&st->touch_lock);
}

uint64_t alm_touch_wait(alm_storage *st, uint64_t seen, int64_t ms)
{
    (void)pthread_mutex_lock(&st->touch_lock);
    while (st->touch_count == seen && ms > 0 &&
           alm_cond_wait_ms(&st->touch_cond, &st->touch_lock, ms)) {
    }
    const uint64_t count = st->touch_count;
    (void)pthread_mutex_unlock(&st->touch_lock);
    return count;
}
