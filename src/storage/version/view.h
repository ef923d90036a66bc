/*
 * view.h - the description of a view as a counted object that versions share. Private to the folder.
 */
#ifndef ALM_STORAGE_VIEW_H
#define ALM_STORAGE_VIEW_H

#include "storage/state.h"

typedef struct alm_view_obj {
    _Atomic uint32_t refs;
    alm_view_def v; /* its texts lie behind it */
} alm_view_obj;

ALM_NODISCARD alm_status alm_view_obj_new(alm_ctx *cx, const alm_view_def *view,
                                          alm_view_obj **out);
alm_view_obj *alm_view_obj_retain(alm_view_obj *view);
void alm_view_obj_release(alm_view_obj *view);

/* Rows of views do not come by writers: ALM_E_ARG. */
ALM_NODISCARD alm_status alm_refuse_rows(alm_ctx *cx, const alm_table *table);

/* The text of a view stays in memory. ALM_E_LIMIT: it is longer than ALM_VIEW_TEXT_MAX; older programs made such views, too. */
enum { ALM_VIEW_TEXT_MAX = 1 << 20 };
ALM_NODISCARD alm_status alm_view_text_check(alm_ctx *cx, const alm_view_def *view);

/* A change of a view as a part of a record. */
typedef struct alm_view_edit {
    uint64_t view_id;
    unsigned what;
    const alm_view_def *to;
} alm_view_edit;
/* The operation, and the description that the change makes. */
ALM_NODISCARD alm_status alm_view_edited(alm_ctx *cx, const alm_build *build,
                                         const alm_view_edit *change, alm_buf *ops,
                                         alm_view_obj **out);
/* The operation, and the version that it makes; not in the build yet. */
ALM_NODISCARD alm_status alm_view_altered(alm_ctx *cx, alm_build *build,
                                          const alm_view_edit *change, alm_buf *ops,
                                          alm_version **out);
/* Into the build, and the list of the base is pruned; takes `view` over. */
ALM_NODISCARD alm_status alm_change_view(alm_ctx *cx, alm_build *build, uint64_t view_id,
                                         alm_view_obj *view);
#endif
