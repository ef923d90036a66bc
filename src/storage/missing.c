/*
 * missing.c - the errors for tables and columns that are not found: they say which name is near.
 */
#include "storage/catalog.h"

alm_status alm_no_table(alm_ctx *cx, const alm_snapshot *snap, alm_str name, int32_t pos)
{
    alm_nearest near = alm_nearest_of(name);
    for (size_t i = 0; i < alm_snapshot_count(snap); i++)
        alm_nearest_offer(&near, alm_str_of(alm_snapshot_at(snap, i)->name));
    return alm_fail_near(cx, ALM_E_TABLE, pos, &near, "table does not exist [table=%.*s]",
                         (int)name.len, name.ptr == NULL ? "" : name.ptr);
}

alm_nearest alm_nearest_column(const alm_table *table, alm_str name)
{
    alm_nearest near = alm_nearest_of(name);
    for (uint32_t i = 0; i < table->n_cols; i++)
        alm_nearest_offer(&near, alm_str_of(table->cols[i].name));
    return near;
}

alm_status alm_no_column(alm_ctx *cx, const alm_table *table, alm_str name, int32_t pos)
{
    const alm_nearest near = alm_nearest_column(table, name);
    return alm_fail_near(cx, ALM_E_NAME, pos, &near, "Invalid column: %.*s", (int)name.len,
                         name.ptr);
}
