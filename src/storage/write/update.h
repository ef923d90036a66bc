/*
 * update.h - inner side of updates: what UPDATE, DELETE and a new type of a column share. They get
 * rows by their place in a scan of the whole table, collect them per part, and replace the parts with
 * one record.
 */
#ifndef ALM_STORAGE_UPDATE_H
#define ALM_STORAGE_UPDATE_H

#include "storage/scan/scan.h"
#include "storage/write/alter.h"
#include "storage/write/bulk.h"
#include "storage/write/txn.h"

typedef enum alm_update_kind {
    ALM_UPDATE_VALUES,
    ALM_UPDATE_DELETE, /* no columns: the rows go */
    ALM_UPDATE_RETYPE  /* one column, all rows: the values go to a new column in its place */
} alm_update_kind;

/* New values for one part. */
typedef struct update_part {
    const alm_part_ref *ref;
    uint32_t *rows; /* of the part; not ordered, later entries win */
    alm_rowbuf values;
    size_t n, cap;
    alm_part_ref *done; /* retype: written already; owned */
    bool marked;        /* a savepoint lists the part */
    alm_undo *undo;     /* then: what makes it of its successor; owned */
} update_part;

struct alm_update {
    alm_storage *st;
    alm_txn *txn; /* NULL: a change by itself, durable with its commit */
    alm_update_kind kind;
    int64_t map_faults; /* of the io, when it began */
    alm_snapshot *snap;
    const alm_version *v;
    alm_held_table held;
    alm_interning interning;
    uint32_t *cols; /* column numbers in the version */
    uint32_t n_cols;
    alm_arena arena; /* scan, columns; until the end */
    alm_scan *scan;
    update_part *parts;           /* one per part of the version */
    alm_schema values;            /* of the values, for the row buffers: cols only */
    struct alm_symbols **symbols; /* n_cols dictionaries of the values, where SYMBOL */
    alm_alteration alter;         /* retype */
    alm_schema *made;             /* retype: has the dictionary of the new column; owned */
    size_t order_span;            /* span that `order` belongs to */
    uint64_t *order;
    int64_t order_cap, rows;
    alm_arena scratch; /* of one call */
    uint64_t rewrite;  /* all that is read for it is compared for this one, or a later one */
};

/* Columns of the table that the part has (Parquet: all), with its overlays put in, as one chunk of a spec. From
 * update->scratch. */
ALM_NODISCARD alm_status alm_update_map(alm_ctx *cx, alm_update *update, const alm_part_ref *ref,
                                        alm_part_spec *spec, alm_part_chunk *chunk);
/* The part without the collected rows; *out NULL when none are left. Counts update->rows anew. */
ALM_NODISCARD alm_status alm_delete_part(alm_ctx *cx, alm_update *update, update_part *part,
                                         alm_part_ref **out);
/* The new column, and its dictionary. The table is held, update->v is set. */
ALM_NODISCARD alm_status alm_retype_prepare(alm_ctx *cx, alm_update *update, const alm_table *was,
                                            uint32_t place, const alm_column *col);

#endif
