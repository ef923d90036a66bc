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
    const char **const ptr[] = {&obj->v.sql, &obj->v.reason, &obj->v.base, &obj->v.zone};
    char *dest = (char *)(obj + 1);
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        const size_t len = strlen(texts[i]) + 1;
        memcpy(dest, texts[i], len);
        *ptr[i] = dest;
        dest += len;
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

static void set_view(alm_version *version, alm_view_obj *view, uint64_t lsn)
{
    alm_view_obj_release(version->view);
    version->view = view;
    version->table.view = &view->v;
    version->lsn = lsn;
    alm_version_settle(version);
}

alm_status alm_change_view(alm_ctx *cx, alm_build *build, uint64_t view_id, alm_view_obj *view)
{
    const alm_version *version = alm_build_find(build, view_id);
    alm_version *next = NULL;
    alm_status status =
        version == NULL || version->view == NULL
            ? alm_fail(cx, ALM_E_CONFLICT, -1, "view was dropped meanwhile [id=%llu]",
                       (unsigned long long)view_id)
            : alm_version_copy(cx, version, 0, &next);
    if (status == ALM_OK)
        status = alm_base_keep_touched(cx, build, view->v.base_id);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, view_id);
    if (status != ALM_OK) {
        alm_version_release(next);
        alm_view_obj_release(view);
        return status;
    }
    set_view(next, view, build->lsn);
    alm_build_put(build, next);
    alm_touched_prune(build, view->v.base_id);
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
    const size_t len = strlen(view->sql);
    return len <= ALM_VIEW_TEXT_MAX
               ? ALM_OK
               : alm_fail(cx, ALM_E_LIMIT, -1,
                          "the query of a view may have %d bytes, this one has %zu",
                          ALM_VIEW_TEXT_MAX, len);
}

alm_status alm_view_edited(alm_ctx *cx, const alm_build *build, const alm_view_edit *change,
                           alm_buf *ops, alm_view_obj **out)
{
    const alm_version *version = alm_build_find(build, change->view_id);
    if (version == NULL || version->view == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "view was dropped meanwhile [id=%llu]",
                        (unsigned long long)change->view_id);
    alm_view_def to = version->view->v;
    size_t mark;
    take_fields(&to, change->what, change->to);
    ALM_TRY(alm_op_begin(cx, ops, ALM_OP_VIEW, &mark));
    ALM_TRY(alm_put_u64(cx, ops, change->view_id));
    ALM_TRY(alm_put_view(cx, ops, &to));
    ALM_TRY(alm_op_end(cx, ops, mark));
    return alm_view_obj_new(cx, &to, out);
}

alm_status alm_view_altered(alm_ctx *cx, alm_build *build, const alm_view_edit *change,
                            alm_buf *ops, alm_version **out)
{
    alm_view_obj *obj = NULL;
    ALM_TRY(alm_view_edited(cx, build, change, ops, &obj));
    alm_status status = alm_base_keep_touched(cx, build, obj->v.base_id);
    if (status == ALM_OK)
        status = alm_version_copy(cx, alm_build_find(build, change->view_id), 0, out);
    if (status != ALM_OK) {
        alm_view_obj_release(obj);
        return status;
    }
    set_view(*out, obj, build->lsn);
    return ALM_OK;
}
