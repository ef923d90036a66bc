/*
 * concat.c - concat and ||: arguments of any type, end to end.
 *
 * Null rule   A null is no text at all; the result is never null.
 * Types       What is not text is cast to STRING before.
 */
#include "func/value/tables.h"
#include "func/value/text_out.h"

static alm_status scalar_bind_concat(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                     ALM_UNUSED int32_t pos, uint32_t argc, alm_arg *args,
                                     ALM_UNUSED alm_type *result, ALM_UNUSED void **data)
{
    for (uint32_t i = 0; i < argc; i++)
        args[i].type = ALM_TY(STRING);
    return ALM_OK;
}

static alm_status concat(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        size_t bytes = 0;
        for (uint32_t k = 0; k < call->argc; k++) {
            const alm_view *view = (const alm_view *)args[k].data + (args[k].is_const ? 0 : i);
            bytes += alm_view_is_null(view) ? 0 : view->len;
        }
        char *ptr;
        ALM_TRY(alm_text_room(&writer, bytes, &ptr));
        for (uint32_t k = 0; k < call->argc; k++) {
            const alm_view *view = (const alm_view *)args[k].data + (args[k].is_const ? 0 : i);
            if (alm_view_is_null(view))
                continue;
            memcpy(ptr, alm_view_ptr(view, args[k].heap), view->len);
            ptr += view->len;
        }
        views[i] = alm_text_take(&writer, bytes);
    }
    return ALM_OK;
}

static const alm_fn ROWS[] = {
    {.name = "concat",
     .signature = "(ANY...) STRING",
     .bind = scalar_bind_concat,
     .kernel = concat,
     .doc = "Arguments as text, end to end; nulls are left out.",
     .example = "concat('BTC', '-', 7)",
     .since = "0.1"},
    {.name = "||",
     .signature = "(ANY, ANY...) STRING",
     .flags = ALM_FN_INTERNAL,
     .bind = scalar_bind_concat,
     .kernel = concat,
     .doc = "Arguments as text, end to end.",
     .example = "'BTC' || '-' || 7",
     .since = "0.1"},
};
ALM_FN_TABLE(concat, ROWS);
