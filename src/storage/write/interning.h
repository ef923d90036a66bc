/*
 * interning.h - symbols that were added to a dictionary and are not in any version yet.
 *
 * Method      A writer adds the values of SYMBOL columns to the dictionaries before it commits, and the commit shows them (version/change.h,
 *             alm_change_dicts). What a transaction or load brought that then failed is in memory for nothing. When nobody is
 *             writing to the table, its dictionary is exchanged for a copy without the values that no version shows. Readers keep
 *             the one that they have; codes do not change.
 * Threads     alm_tab.interning_lock guards the count of writers. While the dictionary is exchanged it is held, so that no writer
 *             begins with the old one. Lock order: checkpoint_lock, interning_lock, commit queue.
 */
#ifndef ALM_STORAGE_INTERNING_H
#define ALM_STORAGE_INTERNING_H

#include "storage/state.h"

/* A writer's part in it; zeroed: none. */
typedef struct alm_interning {
    alm_tab *tab;       /* counted */
    alm_schema *schema; /* that it writes with; counted */
} alm_interning;

/* Before the first value is added to a dictionary of `schema`. ALM_E_STALE: it was exchanged, the writer needs a newer snapshot. Nothing
 * is to be done for a schema without SYMBOL columns. */
ALM_NODISCARD alm_status alm_interning_begin(alm_ctx *cx, alm_tab *tab, alm_schema *schema,
                                             alm_interning *out);
/* The same for a version: where its dictionaries were exchanged, *version is released and becomes the newest version of the table, which has the
 * same columns, else ALM_E_STALE. The caller owns *version, also after a failure. */
ALM_NODISCARD alm_status alm_interning_begin_newest(alm_ctx *cx, alm_storage *storage,
                                                    alm_version **version, alm_interning *out);
/* A copy of the codes of a writer, for as long as he or another copy has his part. */
alm_interning alm_interning_share(const alm_interning *in);
/* The writer has committed, or dropped all codes that it got. */
void alm_interning_end(alm_interning *in);

/* Exchanges the dictionaries of tables where a writer left values unused, if that is worth a copy. Tables that are being written to are
 * left for the next call. Of the background thread. */
ALM_NODISCARD alm_status alm_unused_symbols_drop(alm_ctx *cx, alm_storage *storage);

#endif
