/*
 * view.c - the description of a view as an object that versions share, and its changes (view.h).
 */
#include "storage/version/view.h"

#include <stdlib.h>

#include "storage/version/encode.h"
#include "storage/version/refs.h"
#include "storage/version/touched.h"

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
    if (view != NULL && alm_refs_drop(&view->refs))
        free(view);
}

alm_status alm_refuse_rows(alm_ctx *cx, const alm_table *table)
{
    ALM_TRY(alm_table_is_open(cx, table, -1));
    if (table->kind == ALM_TABLE_BASE)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1, "cannot modify %s [view=%s]",
                    table->kind == ALM_TABLE_VIEW ? "view" : "materialized view", table->name);
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
        e = alm_base_keep_touched(cx, b, view->v.base_id);
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

alm_status alm_view_edited(alm_ctx *cx, const alm_build *b, const alm_view_edit *change,
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
    ALM_TRY(alm_view_edited(cx, b, change, ops, &obj));
    alm_status e = alm_base_keep_touched(cx, b, obj->v.base_id);
    if (e == ALM_OK)
        e = alm_version_copy(cx, alm_build_find(b, change->view_id), 0, out);
    if (e != ALM_OK) {
        alm_view_obj_release(obj);
        return e;
    }
    set_view(*out, obj, b->lsn);
    return ALM_OK;
}
