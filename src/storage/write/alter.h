/*
 * alter.h - inner side of ALTER TABLE: a change of columns and options as a part of a log record, and
 * the ways to the table that changes of all its rows share.
 */
#ifndef ALM_STORAGE_ALTER_H
#define ALM_STORAGE_ALTER_H

#include "storage/version/change.h"

typedef struct alm_alteration {
    const alm_table *was; /* what the caller looked at; must still stand at the commit */
    alm_table to;         /* columns and options; id 0: a new column */
    bool held; /* the table is (alm_table_hold): what its TTL lets go goes with the same record */
    const alm_schema *made; /* dictionaries of new columns that have values already; or NULL */
    const alm_records_change *records; /* with it, or NULL */
} alm_alteration;

/* Writes the alter operation and gives the version that it makes. ALM_E_STALE: columns or options are
 * not those of `was` any more. */
ALM_NODISCARD alm_status alm_alter_prepare(alm_ctx *cx, alm_buf *ops, const alm_build *build,
                                           const alm_alteration *alter, alm_version **out);

/* A table whose parts nobody else changes: ALM_TAB_MAINT and ALM_TAB_ALONE are held, the head is in
 * parts. */
typedef struct alm_held_table {
    alm_storage *st;
    alm_tab *tab;
    bool maint, alone;
} alm_held_table;
/* *held must be released whatever this returns. */
ALM_NODISCARD alm_status alm_table_hold(alm_ctx *cx, alm_storage *storage, alm_tab *tab,
                                        alm_held_table *held);
void alm_table_let_go(alm_held_table *held);

/* Parts with these ids are detached, attached, or forgotten wherever they are. */
ALM_NODISCARD alm_status alm_change_move(alm_ctx *cx, alm_build *build, uint64_t table_id,
                                         alm_partition_move move, const uint64_t *ids, uint32_t n);

#endif
