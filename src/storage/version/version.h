/*
 * version.h - what a table is made of at one LSN: files, parts, head, schema. The other wings of storage/ work with these
 * objects. Private to the folder.
 *
 * Version     Immutable, counted. A snapshot holds a catalogue version (all tables at one LSN), which
 *             holds one table version each. alm_table.handle of a table is the address of its
 *             alm_version (alm_version_of). Publishing makes new objects and shares what did not
 *             change; nothing reachable from a published version is ever written again, but rows of
 *             the last chunk of a lane beyond the published length.
 * Sources     A version has parts (files) and lanes (memory). Each of them is sorted by the
 *             designated timestamp by itself. Without designated timestamp: in insertion order, all
 *             timestamps count as 0.
 * Ties        Rows of equal timestamp come in the order of their insertion: parts before lanes, parts
 *             by ascending seq, lanes by ascending index; inside a source by row number. What an open
 *             transaction inserted comes behind all that is published, again parts before lanes.
 * Dedup       In a dedup table no source has two rows of equal timestamp and keys, but those that it
 *             had when DEDUP was enabled; of equal rows in several sources those of the last source
 *             (order as above) are visible. Row counts of a
 *             dedup version are an upper bound, exact when no two sources overlap in time.
 * Columns     Found by column id, never by position: a part or chunk made before ADD COLUMN lacks the
 *             column, which then reads as null (false/0 for types without null). What has columns
 *             that are gone keeps them unread until it is rewritten. The schemas of all chunks of a
 *             version agree in their first columns: changes other than ADD and RENAME flush first.
 * Publishing  All changes pass through the commit queue (write/commit.h): the leader of a group builds the
 *             new versions, writes and syncs the log, then swaps one pointer. alm_commit returns when the
 *             change is durable and visible.
 * Files       Each file under tables/ is an alm_file, counted by the parts that name it. When the
 *             last reference goes while the storage is open, no version can reach the file any more:
 *             it is unlinked, or waits (part/retired.h). A file that was written and not committed goes the same way. Files left
 *             by a crash are swept after start.
 * Lock order  1. maintenance lock of a table, 2. writer gate of a table, 3. commit queue.
 */
#ifndef ALM_STORAGE_VERSION_H
#define ALM_STORAGE_VERSION_H

#include "storage/part/durable.h"
#include "storage/storage.h"

/* ---------------------------------------------------------------------- files */

struct alm_part; /* part/part.h: an open, mapped part or overlay file */

/* A number of a file says its format, too: the one bit of it is set where the file is Parquet, the other where it is a pack of
 * small parts (part/pack.h). */
#define ALM_FILE_PARQUET (UINT64_C(1) << 63)
#define ALM_FILE_PACK    (UINT64_C(1) << 62)
#define ALM_FILE_FORMATS (ALM_FILE_PARQUET | ALM_FILE_PACK)
static inline bool alm_file_id_is_parquet(uint64_t id)
{
    return (id & ALM_FILE_PARQUET) != 0;
}
enum { ALM_NAME_MAX = 32 };
/* "<16 hex digits>.part", ".parquet" or ".pack": the number without the bits. */
void alm_file_id_name(uint64_t id, char *name, size_t name_size);
/* Is it such a name, and of which number? */
bool alm_file_id_of_name(const char *name, uint64_t *id);

typedef struct alm_file {
    _Atomic uint32_t refs;
    uint64_t id;            /* never reused while the file may exist; name: alm_file_id_name */
    uint64_t table_id;      /* directory: tables/<table id as decimal>/ */
    int64_t bytes;          /* size, set by the writer before commit; known to the catalogue */
    int64_t rows;           /* as is all up to here */
    int64_t min_ts, max_ts; /* min > max: of an overlay, which has no times */
    _Atomic uint32_t
        footer_crc; /* alm_part_footer_crc; 0: an older catalogue did not say, until the file is opened */
    struct alm_file
        *pack; /* its bytes are in this file, from `offset` on; NULL: it has its own. Counted */
    int64_t offset;
    alm_storage *st;
    alm_unsynced
        unsynced; /* the writer's, until a record names the file; of a part in a pack: the pack's */
    _Atomic(struct alm_part *) part; /* opened on first use: alm_file_part */
} alm_file;

/* A fresh id, registered; makes the directory of the table if it is not there. `format`: a bit of ALM_FILE_FORMATS, 0: a
 * native part. refs = 1. */
ALM_NODISCARD alm_status alm_file_new(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                      uint64_t format, alm_file **out);
/* Of the file itself, or of its pack. */
alm_unsynced *alm_file_unsynced(alm_file *file);
/* Writes a fresh file. It is durable after alm_parts_sync of a part that names it: alm_parts_commit does that. */
struct alm_part_spec;
struct alm_part_written;
ALM_NODISCARD alm_status alm_file_write(alm_ctx *cx, alm_file *file,
                                        const struct alm_part_spec *spec,
                                        struct alm_part_written *out);
alm_file *alm_file_retain(alm_file *file);
void alm_file_release(alm_file *file);
enum { ALM_PATH_MAX = 4096 };
/* Directory of the table and name of the file, as alm_part_write wants them. */
void alm_file_dir(const alm_file *file, char *dir, size_t dir_size);
void alm_file_name(const alm_file *file, char *name, size_t name_size);
void alm_file_path(const alm_file *file, char *path, size_t path_size);
struct alm_part_claim;
void alm_file_claim(const alm_file *file, struct alm_part_claim *out);
/* The open part of the file, opened on first use; borrowed, lives as long as the file. */
ALM_NODISCARD alm_status alm_file_part(alm_ctx *cx, alm_file *file, struct alm_part **out);

/* ---------------------------------------------------------------------- parts */

typedef struct alm_overlay { /* new values of one column for all rows of the part */
    uint32_t col_id;
    alm_file *file;
} alm_overlay;

/* Set in `seq` of the parts that an open transaction inserted, which come behind the published lanes, too. The commit
 * flushes those and numbers the parts anew; no record has the bit. */
#define ALM_SEQ_OPEN (UINT64_C(1) << 62)

/* A part as the catalogue knows it. Immutable, counted; holds references to its files. */
typedef struct alm_part_ref {
    _Atomic uint32_t refs;
    uint64_t id; /* never reused; an update makes a new description over the same file */
    uint64_t
        seq; /* tie order; parts of one flush or bulk that follow each other ascend; see ALM_SEQ_OPEN */
    int64_t rows;           /* > 0 */
    int64_t min_ts, max_ts; /* 0 and 0 without designated timestamp */
    int64_t bucket;         /* start of the partition, alm_partition_floor */
    alm_file *file;
    uint32_t n_overlays; /* at most one for a column */
    alm_overlay *overlays;
} alm_part_ref;

/* `part` is copied with its overlays; takes references to the files (caller keeps its own). id is
 * assigned when 0; seq when 0 (newest). refs = 1. */
ALM_NODISCARD alm_status alm_part_ref_new(alm_ctx *cx, alm_storage *storage,
                                          const alm_part_ref *part, alm_part_ref **out);
alm_part_ref *alm_part_ref_retain(alm_part_ref *part);
void alm_part_ref_release(alm_part_ref *part);
static inline bool alm_part_ref_is_parquet(const alm_part_ref *part)
{
    return alm_file_id_is_parquet(part->file->id);
}
/* File of the column in this part: its overlay, else part->file. */
alm_file *alm_part_ref_file(const alm_part_ref *part, uint32_t col_id);

/* Shared by all versions between two changes of the parts. Counted. */
typedef struct alm_part_set {
    _Atomic uint32_t refs;
    uint32_t n;
    uint32_t overlap; /* most parts that share one timestamp: 1 when none overlap, 0 when empty */
    int64_t rows;
    int64_t min_ts, max_ts; /* min > max when empty */
    int64_t bytes;          /* of the files, overlays included */
    alm_part_ref *parts[];  /* by (min_ts, seq); without designated timestamp by seq */
} alm_part_set;

/* ----------------------------------------------------------------------- head */

/*
 * Rows in memory: one array per column of the schema it was made under. Text columns hold views in
 * address form into memory of the chunk (vec.heap = NULL); SYMBOL columns hold 4-byte codes.
 */
typedef struct alm_schema alm_schema;
typedef struct alm_chunk {
    _Atomic uint32_t refs;
    uint32_t cap; /* rows allocated */
    uint32_t n_cols;
    bool
        borrowed; /* columns are memory of somebody else, who must outlive the chunk: never of a version */
    _Atomic int64_t bytes; /* of memory; grows with texts, while views of transactions read it */
    alm_mem *account;      /* of the open transaction that it is of; NULL: nobody's */
    int64_t charged;       /* to it */
    alm_schema *schema;    /* counted; schema->cols[i] describes cols[i] */
    struct alm_chunk_heap *heap;
    void *cols[]; /* 64-byte aligned arrays */
} alm_chunk;

typedef struct alm_lane_chunk {
    alm_chunk *chunk;
    uint32_t rows; /* published rows of it, > 0 */
} alm_lane_chunk;

typedef struct alm_lane {
    alm_lane_chunk *chunks; /* time goes on from chunk to chunk */
    uint32_t n_chunks;
    int64_t rows; /* > 0 */
    int64_t min_ts, max_ts;
} alm_lane;

/* --------------------------------------------------------------------- schema */

struct
    alm_symbols; /* dict/dict.h: the live dictionary of a SYMBOL column; counted by the schemas that have the column */

/* Columns with the dictionary sizes of one LSN; cols[i].dict points to dicts[i] of SYMBOL columns.
 * A column that changed its type keeps its place and has a new id, so that ids need not ascend.
 * Counted; shared until a column or a dictionary changes. */
struct alm_schema {
    _Atomic uint32_t refs;
    uint32_t n_cols;
    uint32_t row_bytes; /* sum of widths in memory */
    const char *closed; /* why its dictionaries cannot be used (dict/lost.c); NULL: they can */
    alm_column *cols;
    alm_dict *dicts;              /* n_cols entries, used where SYMBOL */
    struct alm_symbols **symbols; /* n_cols entries, NULL where not SYMBOL */
    uint32_t *by_id;              /* positions by ascending id */
};
/* Have its dictionaries, by now, values that it does not show? */
bool alm_schema_has_more(const alm_schema *schema);
/* Position of a column id, -1: not there. */
int32_t alm_schema_find(const alm_schema *schema, uint32_t col_id);

/* -------------------------------------------------------------------- version */

typedef struct alm_tab alm_tab; /* identity of a table across versions: its locks */
struct alm_view_obj;            /* view.h */
struct alm_comments;            /* comment.h */
struct alm_touched;

typedef struct alm_version {
    _Atomic uint32_t refs;
    alm_table table; /* public face; cols = schema->cols */
    alm_tab *tab;
    alm_schema *schema;
    alm_part_set *parts;    /* never NULL */
    alm_part_set *detached; /* DETACH PARTITION: kept and not read; NULL: none */
    alm_lane *lanes; /* n_lanes; the first n_frozen are being written to parts: no more appends */
    uint32_t n_lanes, n_frozen;
    uint32_t
        n_open; /* the last lanes are of an open transaction, whose view this is; 0 when published */
    uint32_t next_col_id;
    int64_t head_rows, head_bytes;
    uint64_t lsn;                  /* of the newest change in it */
    uint64_t flushed_lsn;          /* rows of log records up to here are in parts (or gone) */
    uint64_t frozen_lsn;           /* the same, once the frozen lanes are in parts */
    struct alm_view_obj *view;     /* counted; table.view points into it; NULL: a table */
    struct alm_touched *touched;   /* counted; NULL: no materialized view follows the table */
    struct alm_comments *comments; /* counted; NULL: there are none */
} alm_version;

static inline const alm_version *alm_version_of(const alm_table *table)
{
    return (const alm_version *)(uintptr_t)table->handle;
}
alm_version *alm_version_retain(alm_version *version);
void alm_version_release(alm_version *version);
static inline bool alm_version_is_ns(const alm_version *version)
{
    return version->table.ts_col >= 0 &&
           version->schema->cols[version->table.ts_col].type.id == ALM_T_TIMESTAMP_NS;
}

/* ----------------------------------------------------------------- partitions */

/* Start of the partition that holds ts, and of the next one; `nanos`: unit of the timestamp. NONE: one
 * partition [INT64_MIN, INT64_MAX]. */
int64_t alm_partition_floor(alm_partition_by by, bool nanos, int64_t ts);
int64_t alm_partition_next(alm_partition_by by, bool nanos, int64_t ts);
/* "2026-02-14T10", "2026-02-14", "2026-W07", "2026-02", "2026", "default". */
void alm_partition_name(alm_partition_by by, bool nanos, int64_t bucket, char *name,
                        size_t name_size);

/* -------------------------------------------------------------------- changes */

/*
 * One change of the parts of one table: durable, atomic for readers. New symbol values of the table
 * (interned before) are logged in the same record. ALM_E_CONFLICT when the table is gone or a
 * removed part is no longer there. References stay with the caller. A load (nothing removed, no
 * flush, no create) takes MAINT and SHARE itself, flushes rows of the head that it meets in time, and
 * gives its parts the newest seq. The others: the caller holds MAINT. Committed by write/parts_commit.h.
 */
typedef struct alm_parts_change {
    uint64_t table_id;
    alm_part_ref *const *add;
    uint32_t n_add;
    alm_part_ref *const *remove;
    uint32_t n_remove;
    bool flush; /* the added parts replace the frozen lanes */
    /* CREATE TABLE AS: the table comes into being with its parts; else NULL. */
    struct alm_pending *create;
    const struct alm_alteration *alter; /* columns change with the parts; or NULL */
    const alm_version *made_for;        /* load: whose columns the new parts have; or NULL */
    bool data; /* rows change for readers (a load does that anyway): what follows tells where */
    const alm_scan_range *touch; /* or NULL: in all of the parts that come and go */
    uint32_t n_touch;
    const struct alm_view_edit *view; /* goes on with the parts; or NULL */
} alm_parts_change;
/*
 * Locks of a table, owned by a handle and not by a thread. MAINT: one flush, compaction or update
 * at a time. WRITE: commits share it, an update takes it alone. Waiting ends with an error when cx
 * is cancelled.
 */
typedef enum alm_tab_lock_kind { ALM_TAB_MAINT, ALM_TAB_SHARE, ALM_TAB_ALONE } alm_tab_lock_kind;
ALM_NODISCARD alm_status alm_tab_lock(alm_ctx *cx, alm_storage *storage, alm_tab *tab,
                                      alm_tab_lock_kind kind);
/* Gives up after some tenths of a second: for work that can be left to others. */
bool alm_tab_lock_soon(alm_storage *storage, alm_tab *tab, alm_tab_lock_kind kind);
bool alm_tab_trylock(alm_storage *storage, alm_tab *tab, alm_tab_lock_kind kind);
/* By anybody; what it says may be over at once. */
bool alm_tab_is_held(alm_storage *storage, const alm_tab *tab, alm_tab_lock_kind kind);
void alm_tab_unlock(alm_storage *storage, alm_tab *tab, alm_tab_lock_kind kind);
alm_tab *alm_tab_retain(alm_tab *tab);
void alm_tab_release(alm_tab *tab);

/* The newest version of a table (retained), NULL when it is gone. */
alm_version *alm_storage_version(alm_storage *storage, uint64_t table_id);

#endif
