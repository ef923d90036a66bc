/*
 * view.c - views in the catalogue, and which times of a table were touched since its materialized
 * views were refreshed (view.h).
 */
#include "storage/version/view.h"

#include <stdlib.h>

#include "base/wait.h"
#include "storage/version/change.h"
#include "time/calendar.h"

static bool last_reference(_Atomic uint32_t *refs)
{
    const uint32_t before = atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel);
    ALM_ASSERT(before > 0);
    return before == 1;
}

/* ----------------------------------------------------------------- description */

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

alm_status alm_view_obj_new(alm_ctx *cx, const alm_view_def *view, alm_view_obj **out)
{
    const char *const texts[] = {or_empty(view->sql), or_empty(view->reason), or_empty(view->base),
                                 or_empty(view->zone)};
    size_t bytes = 0;
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        bytes += strlen(texts[i]) + 1;
    alm_view_obj *obj = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *obj + bytes, "a view", &obj));
    obj->refs = 1;
    obj->v = *view;
    const char **const at[] = {&obj->v.sql, &obj->v.reason, &obj->v.base, &obj->v.zone};
    char *to = (char *)(obj + 1);
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        const size_t n = strlen(texts[i]) + 1;
        memcpy(to, texts[i], n);
        *at[i] = to;
        to += n;
    }
    *out = obj;
    return ALM_OK;
}

alm_view_obj *alm_view_obj_retain(alm_view_obj *view)
{
    if (view != NULL)
        (void)atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
    return view;
}

void alm_view_obj_release(alm_view_obj *view)
{
    if (view != NULL && last_reference(&view->refs))
        free(view);
}

/* Of what is stored: is it deferred, and is there the length of its buckets behind the rest? */
enum { VIEW_DEFERRED = 1, VIEW_BUCKET = 2 };

static alm_status put_every(alm_ctx *cx, alm_buf *buf, alm_every e)
{
    ALM_TRY(alm_put_u32(cx, buf, e.count));
    return alm_put_u32(cx, buf, (uint8_t)e.unit);
}

alm_status alm_put_view(alm_ctx *cx, alm_buf *buf, const alm_view_def *view)
{
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->sql)));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->reason)));
    ALM_TRY(alm_put_i64(cx, buf, view->status_us));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->base)));
    ALM_TRY(alm_put_u64(cx, buf, view->base_id));
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)view->refresh));
    ALM_TRY(alm_put_u32(cx, buf, (view->deferred ? VIEW_DEFERRED : 0) | VIEW_BUCKET));
    ALM_TRY(put_every(cx, buf, view->every));
    ALM_TRY(put_every(cx, buf, view->period));
    ALM_TRY(put_every(cx, buf, view->delay));
    ALM_TRY(put_every(cx, buf, view->limit));
    ALM_TRY(alm_put_i64(cx, buf, view->start_us));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->zone)));
    ALM_TRY(alm_put_u64(cx, buf, view->lsn));
    ALM_TRY(alm_put_i64(cx, buf, view->period_hi));
    ALM_TRY(alm_put_i64(cx, buf, view->started_us));
    ALM_TRY(alm_put_i64(cx, buf, view->finished_us));
    return put_every(cx, buf, view->bucket);
}

static alm_every get_every(alm_reader *r)
{
    alm_every e = {.count = alm_get_u32(r)};
    const uint32_t unit = alm_get_u32(r);
    e.unit = (char)unit;
    if (e.count > 0 && (unit > 127 || unit == 0 || strchr("smhdwMy", (int)unit) == NULL))
        r->bad = true;
    return e;
}

/* A text with an end: the bytes have none. */
static alm_status end_text(alm_ctx *cx, alm_str text, char **out)
{
    ALM_TRY(alm_heap_bytes(cx, text.len + 1, "a view", out));
    if (text.len > 0)
        memcpy(*out, text.ptr, text.len);
    return ALM_OK;
}

alm_status alm_get_view(alm_ctx *cx, alm_reader *r, alm_view_obj **out)
{
    alm_view_def v = {0};
    alm_str texts[4];
    char *ended[4] = {0};
    texts[0] = alm_get_text(r);
    texts[1] = alm_get_text(r);
    v.status_us = alm_get_i64(r);
    texts[2] = alm_get_text(r);
    v.base_id = alm_get_u64(r);
    const uint32_t refresh = alm_get_u32(r);
    const uint32_t flags = alm_get_u32(r);
    v.deferred = (flags & VIEW_DEFERRED) != 0;
    v.every = get_every(r);
    v.period = get_every(r);
    v.delay = get_every(r);
    v.limit = get_every(r);
    v.start_us = alm_get_i64(r);
    texts[3] = alm_get_text(r);
    v.lsn = alm_get_u64(r);
    v.period_hi = alm_get_i64(r);
    v.started_us = alm_get_i64(r);
    v.finished_us = alm_get_i64(r);
    if ((flags & VIEW_BUCKET) != 0)
        v.bucket = get_every(r);
    if (r->bad || refresh > ALM_REFRESH_TIMER)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "stored description of a view is damaged");
    v.refresh = (alm_refresh_kind)refresh;
    alm_status e = ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(texts) && e == ALM_OK; i++)
        e = end_text(cx, texts[i], &ended[i]);
    v.sql = ended[0];
    v.reason = ended[1];
    v.base = ended[2];
    v.zone = ended[3];
    if (e == ALM_OK)
        e = alm_view_obj_new(cx, &v, out);
    for (size_t i = 0; i < ALM_COUNT(ended); i++)
        free(ended[i]);
    return e;
}

alm_status alm_refuse_rows(alm_ctx *cx, const alm_table *table)
{
    ALM_TRY(alm_table_is_open(cx, table, -1));
    if (table->kind == ALM_TABLE_BASE)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1, "cannot modify %s [view=%s]",
                    table->kind == ALM_TABLE_VIEW ? "view" : "materialized view", table->name);
}

/* --------------------------------------------------------------- touched ranges */

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
    if (t != NULL && last_reference(&t->refs))
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

static alm_status put_touch(alm_ctx *cx, alm_buf *ops, uint64_t table_id,
                            const alm_scan_range *ranges, uint32_t n)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, ops, ALM_OP_TOUCH, &mark));
    ALM_TRY(alm_put_u64(cx, ops, table_id));
    ALM_TRY(alm_put_u32(cx, ops, n));
    ALM_TRY(alm_put_u32(cx, ops, 0));
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_put_i64(cx, ops, ranges[i].lo));
        ALM_TRY(alm_put_i64(cx, ops, ranges[i].hi));
    }
    return alm_op_end(cx, ops, mark);
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
    const alm_status e = ops == NULL ? ALM_OK : put_touch(cx, ops, v->table.id, ranges, n);
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

uint64_t alm_table_lsn(const alm_table *table)
{
    return alm_version_of(table)->lsn;
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

/* A base that is gone is nothing to follow: the view is invalid. */
static alm_status follow_base(alm_ctx *cx, alm_build *b, uint64_t base_id)
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
    return follow_base(cx, b, view->view->v.base_id);
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

/* --------------------------------------------------------------------- changes */

static void set_view(alm_version *v, alm_view_obj *view, uint64_t lsn)
{
    alm_view_obj_release(v->view);
    v->view = view;
    v->table.view = &view->v;
    v->lsn = lsn;
    alm_version_settle(v);
}

alm_status alm_change_view(alm_ctx *cx, alm_build *b, uint64_t view_id, alm_view_obj *view)
{
    const alm_version *v = alm_build_find(b, view_id);
    alm_version *next = NULL;
    alm_status e = v == NULL || v->view == NULL
                       ? alm_fail(cx, ALM_E_CONFLICT, -1, "view was dropped meanwhile [id=%llu]",
                                  (unsigned long long)view_id)
                       : alm_version_copy(cx, v, 0, &next);
    if (e == ALM_OK)
        e = follow_base(cx, b, view->v.base_id);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, view_id);
    if (e != ALM_OK) {
        alm_version_release(next);
        alm_view_obj_release(view);
        return e;
    }
    set_view(next, view, b->lsn);
    alm_build_put(b, next);
    alm_touched_prune(b, view->v.base_id);
    return ALM_OK;
}

static void take_fields(alm_view_def *to, unsigned what, const alm_view_def *from)
{
    if (what & ALM_VIEW_OPTIONS) {
        to->refresh = from->refresh;
        to->deferred = from->deferred;
        to->every = from->every;
        to->period = from->period;
        to->delay = from->delay;
        to->limit = from->limit;
        to->start_us = from->start_us;
        to->zone = from->zone;
    }
    if (what & ALM_VIEW_STATE) {
        to->lsn = from->lsn;
        to->period_hi = from->period_hi;
        to->started_us = from->started_us;
        to->finished_us = from->finished_us;
        to->bucket = from->bucket;
    }
    if (what & ALM_VIEW_BASE) {
        to->base = from->base;
        to->base_id = from->base_id;
    }
    if (what & ALM_VIEW_STATUS) {
        to->reason = from->reason;
        to->status_us = from->status_us;
    }
}

alm_status alm_view_text_check(alm_ctx *cx, const alm_view_def *view)
{
    const size_t n = strlen(view->sql);
    return n <= ALM_VIEW_TEXT_MAX
               ? ALM_OK
               : alm_fail(cx, ALM_E_LIMIT, -1,
                          "the query of a view may have %d bytes, this one has %zu",
                          ALM_VIEW_TEXT_MAX, n);
}

static alm_status changed_view(alm_ctx *cx, const alm_build *b, const alm_view_edit *change,
                               alm_buf *ops, alm_view_obj **out)
{
    const alm_version *v = alm_build_find(b, change->view_id);
    if (v == NULL || v->view == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "view was dropped meanwhile [id=%llu]",
                        (unsigned long long)change->view_id);
    alm_view_def to = v->view->v;
    size_t mark;
    take_fields(&to, change->what, change->to);
    ALM_TRY(alm_op_begin(cx, ops, ALM_OP_VIEW, &mark));
    ALM_TRY(alm_put_u64(cx, ops, change->view_id));
    ALM_TRY(alm_put_view(cx, ops, &to));
    ALM_TRY(alm_op_end(cx, ops, mark));
    return alm_view_obj_new(cx, &to, out);
}

alm_status alm_view_altered(alm_ctx *cx, alm_build *b, const alm_view_edit *change, alm_buf *ops,
                            alm_version **out)
{
    alm_view_obj *obj = NULL;
    ALM_TRY(changed_view(cx, b, change, ops, &obj));
    alm_status e = follow_base(cx, b, obj->v.base_id);
    if (e == ALM_OK)
        e = alm_version_copy(cx, alm_build_find(b, change->view_id), 0, out);
    if (e != ALM_OK) {
        alm_view_obj_release(obj);
        return e;
    }
    set_view(*out, obj, b->lsn);
    return ALM_OK;
}

static alm_status prepare_view(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const alm_view_edit *change = rq->arg;
    alm_view_obj *obj = NULL;
    ALM_TRY(changed_view(cx, b, change, &rq->buf, &obj));
    ALM_TRY(alm_change_view(cx, b, change->view_id, obj));
    rq->pieces[0] = (alm_wal_piece){rq->buf.ptr, rq->buf.len};
    rq->n_pieces = 1;
    return ALM_OK;
}

alm_status alm_view_change(alm_ctx *cx, alm_storage *st, uint64_t view_id, unsigned what,
                           const alm_view_def *to)
{
    alm_view_edit change = {.view_id = view_id, .what = what, .to = to};
    alm_request rq = {.prepare = prepare_view, .arg = &change};
    return alm_commit(cx, st, &rq);
}

/* -------------------------------------------------------------------- waiting */

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
