/*
 * names.c - names that tables may have, and the errors for tables and columns that are not found: they
 * say which name is near.
 */
#include "storage/catalog.h"

#include <string.h>

#include "base/access.h"
#include "base/utf8.h"

static bool at_edge(alm_str name, char byte)
{
    return name.ptr[0] == byte || name.ptr[name.len - 1] == byte;
}

bool alm_table_name_ok(alm_str name)
{
    if (name.len == 0 || name.len > ALM_TABLE_NAME_MAX || at_edge(name, '.') || at_edge(name, ' '))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const unsigned char byte = (unsigned char)name.ptr[i];
        if (byte < 0x20 || byte == 0x7F || strchr("?,'\"\\/:)(+*%~", byte) != NULL)
            return false;
        if (byte == '.' && name.ptr[i + 1] == '.') /* the last one is no dot */
            return false;
    }
    return !alm_utf8_has_mark(name);
}

alm_status alm_no_table(alm_ctx *cx, const alm_snapshot *snap, alm_str name, int32_t pos)
{
    alm_nearest near = alm_nearest_of(name);
    for (size_t i = 0; i < alm_snapshot_count(snap); i++)
        if (alm_access_sees(cx, alm_snapshot_at(snap, i)->name))
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

alm_status alm_table_is_open(alm_ctx *cx, const alm_table *table, int32_t pos)
{
    return table->closed == NULL
               ? ALM_OK
               : alm_fail(cx, ALM_E_CORRUPT, pos, "table '%s': %s", table->name, table->closed);
}
