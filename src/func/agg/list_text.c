/*
 * list_text.c - array_agg of texts and booleans: a list as text (type/text_list.h), an array for
 * drivers.
 *
 * Null rule   A null is an element NULL. No row: null.
 */
#include "func/agg/agg.h"
#include "func/value/joined.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "type/text_list.h"

ALM_AGG_INIT(list, alm_joined, {0})

static alm_status list_text_add(const alm_call *call, alm_joined *joined, alm_str text)
{
    char *dest = NULL;
    ALM_TRY(alm_joined_room(call, joined, 2 * text.len + 5, &dest));
    if (joined->count > 0)
        *dest++ = ',';
    joined->len += alm_list_element_write(text, dest) + (joined->count > 0);
    joined->count++;
    return ALM_OK;
}

static inline alm_str list_text_of(const alm_vec *vec, size_t i)
{
    if (vec->type.id == ALM_T_BOOLEAN)
        return ((const uint8_t *)vec->data)[vec->is_const ? 0 : i] != 0 ? ALM_STR("t")
                                                                        : ALM_STR("f");
    return alm_vec_text(vec, i);
}

static alm_status list_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    for (size_t i = 0; i < n; i++)
        ALM_TRY(list_text_add(call, state, list_text_of(&args[0], i)));
    return ALM_OK;
}

static alm_status list_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                               const alm_vec *args)
{
    alm_joined *all = states;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(list_text_add(call, &all[group[i]], list_text_of(&args[0], i)));
    return ALM_OK;
}

static alm_status list_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                             size_t n)
{
    alm_joined *to = dst;
    const alm_joined *from = src;
    for (size_t i = 0; i < n; i++)
        if (from[i].count > 0)
            ALM_TRY(alm_joined_add(call, &to[index != NULL ? index[i] : i], ALM_STR(","),
                                   (alm_str){from[i].ptr, from[i].len}, from[i].count));
    return ALM_OK;
}

static alm_status list_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const alm_joined *all = states;
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        char *dest = NULL;
        views[i] = alm_view_null();
        if (all[i].count == 0)
            continue;
        ALM_TRY(alm_text_room(&writer, all[i].len + 2, &dest));
        dest[0] = '{';
        memcpy(dest + 1, all[i].ptr, all[i].len);
        dest[1 + all[i].len] = '}';
        views[i] = alm_text_take(&writer, all[i].len + 2);
    }
    return ALM_OK;
}

ALM_AGG_OWNING_OPS(list, alm_joined, list, list)

static alm_status bind_list(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                            ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc, alm_arg *args,
                            alm_type *result, ALM_UNUSED void **data)
{
    const bool bools = args[0].type.id == ALM_T_BOOLEAN;
    *result = alm_type_list(bools ? ALM_LIST_BOOL : ALM_LIST_TEXT);
    return ALM_OK;
}

static alm_status bind_oids(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                            ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                            ALM_UNUSED alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    *result = alm_type_list(ALM_LIST_OID);
    return ALM_OK;
}

static alm_status bind_rows(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                            ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                            ALM_UNUSED alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    *result = alm_type_list(ALM_LIST_ROW);
    return ALM_OK;
}

#define LIST(T)                                                                                    \
    {.name = "array_agg",                                                                          \
     .signature = "(" T ") ?",                                                                     \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = ALM_FN_ROW_ORDER,                                                                    \
     .agg = &list_ops,                                                                             \
     .bind = bind_list,                                                                            \
     .doc = "All values in row order, as a list \"{a,b}\"; drivers get an array.",                 \
     .example = "array_agg(symbol) from (select distinct symbol from trades order by symbol)",     \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    LIST("STRING"),
    LIST("VARCHAR"),
    LIST("BOOLEAN"),
    {.name = "oid_agg",
     .signature = "(STRING) ?",
     .kind = ALM_FN_AGGREGATE,
     .flags = ALM_FN_ROW_ORDER | ALM_FN_INTERNAL,
     .agg = &list_ops,
     .bind = bind_oids,
     .doc = "array_agg over OIDs of the catalogue.",
     .example = "oid_agg('1')",
     .since = "0.1"},
    {.name = "row_agg",
     .signature = "(STRING) ?",
     .kind = ALM_FN_AGGREGATE,
     .flags = ALM_FN_ROW_ORDER | ALM_FN_INTERNAL,
     .agg = &list_ops,
     .bind = bind_rows,
     .doc = "array_agg over rows.",
     .example = "row_agg(row(1, 2))",
     .since = "0.1"},
};
ALM_FN_TABLE(list_text, ROWS);
