/*
 * storage.h - what survives a restart: log, head, parts, catalogue, snapshots. Formats, commit
 * protocol and crash behaviour: docs/internals/storage.md.
 *
 * Knows nothing of SQL. Offers snapshots, scans in time order, transactions that append rows, bulk
 * loads, updates, and changes of the catalogue.
 *
 * Promises    A commit that returned ALM_OK is on disk (wal.sync=commit) and visible to every
 *             snapshot acquired later, on any thread. A snapshot never changes. After a failed sync
 *             every write fails until a restart (ALM_E_IO); after a full disk writes fail
 *             (ALM_E_DISK_FULL) until there is room.
 * Threads     All functions are thread safe, but one alm_txn, alm_bulk, alm_update and one
 *             alm_scan_cursor belong to one thread at a time.
 */
#ifndef ALM_STORAGE_STORAGE_H
#define ALM_STORAGE_STORAGE_H

#include "base/counter.h"
#include "io/io.h"
#include "storage/catalog.h"

typedef struct alm_storage alm_storage;

typedef enum alm_wal_sync { ALM_SYNC_COMMIT, ALM_SYNC_INTERVAL, ALM_SYNC_OFF } alm_wal_sync;

typedef struct alm_storage_conf {
    alm_wal_sync sync;
    int64_t sync_interval_ms;
    int64_t wal_segment_bytes;    /* preallocated and recycled */
    int64_t head_bytes_max;       /* all tables; over it the largest heads are flushed */
    int64_t table_head_bytes_max; /* one table */
    int64_t txn_bytes_max;        /* rows of one open transaction */
    int64_t checkpoint_wal_bytes; /* a checkpoint after that much log */
    int64_t previous_wal_bytes;   /* of log that is kept for the catalogue before */
    int64_t part_rows_max;        /* rows of one part of a bulk load or flush */
    int32_t sync_files_max;       /* more syncs than that are one of the file system; 0: never */
    int32_t overlap_max;          /* overlapping parts and runs before writers wait */
    int64_t snapshot_age_max_ms;
    int64_t decoded_bytes_max; /* columns of Parquet partitions in memory */
    int64_t maps_max; /* part files in memory, of all of the process; 0: by the system's limit */
    /* Parts below this size share a file if a flush or load writes so many of them; 0: none does. */
    int64_t shared_part_bytes_max;
    int32_t shared_parts_min;
    int64_t copies_bytes_max; /* small parts in memory that need no map; 0: none */
    const char *archive_dir;  /* of the log, for restores to a point in time; NULL or "": none */
    int64_t archive_interval_ms, archive_backlog_max;
    int64_t scrub_interval_ms;      /* between the beginnings of two passes; 0: none */
    int64_t scrub_bytes_per_second; /* 0: no limit */
    int64_t symbols_bytes_max;      /* of all dictionaries in memory; 0: no limit */
    int64_t reserve_bytes;          /* kept free for changes that free space; 0: none */
    bool whole_log;                 /* the log of a copy must be whole, too */
    bool restoring;                 /* it is being restored, by who opens it */
    int64_t hold_age_max_ms;        /* a checkpoint that is held longer is released; 0: never */
    struct alm_owner *
        owner; /* who has the directory already, and gives it up to the storage; NULL: it is taken */
    bool manual; /* no background thread: flush and checkpoint when called for (tests) */
} alm_storage_conf;

void alm_storage_conf_default(alm_storage_conf *conf);
/* The settings of an open storage. */
const alm_storage_conf *alm_storage_conf_of(const alm_storage *storage);

/* Opens or creates `root`/db; recovers; starts the background thread (flush, compaction,
 * checkpoint). ALM_E_BUSY when another process holds the directory. */
ALM_NODISCARD alm_status alm_storage_open(alm_ctx *cx, const alm_io *io, const char *root,
                                          const alm_storage_conf *conf, alm_storage **out);
/* Stops the background thread, writes a checkpoint, closes. Snapshots must be released before. */
void alm_storage_close(alm_storage *storage);
/* Writes heads to parts and a checkpoint now. */
ALM_NODISCARD alm_status alm_storage_checkpoint(alm_ctx *cx, alm_storage *storage);

/*
 * CHECKPOINT CREATE: a checkpoint that is held. From its return to the release, the directory can be
 * copied file by file in any order while writes go on: the copy opens and has every row that was
 * acknowledged before. ALM_E_ARG when one is held already. Release: without one, nothing happens;
 * ALM_E_LIMIT after one that was released for its age.
 */
ALM_NODISCARD alm_status alm_storage_hold(alm_ctx *cx, alm_storage *storage);
ALM_NODISCARD alm_status alm_storage_hold_release(alm_ctx *cx, alm_storage *storage);
/* Is one held, and since when? */
bool alm_storage_hold_status(alm_storage *storage, int64_t *since_us);

/*
 * BACKUP: the tables as they are now (n_tables 0: all) into the directory `dir`, which is made if its
 * parent is there. Files that an earlier backup has there are compared with its checksums, and copied again only
 * when they are damaged. What is copied is verified: ALM_E_CORRUPT names table and file. Readers and writers go
 * on; a cancel is looked for between pieces. ALM_E_BUSY: another backup writes to it. A backup that
 * fails leaves the earlier ones as they were.
 */
typedef struct alm_backup_spec {
    const char *dir;
    const alm_str *tables;
    uint32_t n_tables;
    /* Files that an earlier backup has there are taken by name and size, and are not read. */
    bool trusts_stored;
} alm_backup_spec;
typedef struct alm_backup_result {
    uint32_t generation; /* of this backup in the directory, from 1 */
    uint64_t lsn;
    int64_t files, files_copied, bytes, bytes_copied;
} alm_backup_result;
ALM_NODISCARD alm_status alm_storage_backup(alm_ctx *cx, alm_storage *storage,
                                            const alm_backup_spec *spec, alm_backup_result *out);
/* The backup that runs, or ran last; and the archive of the log. */
typedef struct alm_backup_status {
    bool in_progress;
    int64_t bytes_done, bytes_total;
    bool archive, archive_failing;
    uint64_t archived_lsn; /* all of the log up to there is in the archive */
} alm_backup_status;
void alm_storage_backup_status(const alm_storage *storage, alm_backup_status *out);
/* Is it an archive of the log? Verifies one: records, gaps between segments, the parts that records name. */
bool alm_archive_is(const alm_io *io, const char *dir);
ALM_NODISCARD alm_status alm_archive_check(alm_ctx *cx, const alm_io *io, const char *dir,
                                           void (*report)(void *arg, const char *line), void *arg,
                                           int64_t *n_findings);
/* Is it a directory of backups? Verifies one, as alm_storage_check does a database. */
bool alm_backup_is(const alm_io *io, const char *dir);
ALM_NODISCARD alm_status alm_backup_check(alm_ctx *cx, const alm_io *io, const char *dir,
                                          bool repair, void (*report)(void *arg, const char *line),
                                          void *arg, int64_t *n_findings);

/* A backup becomes the data directory `root`, in which there must be no database yet. What is refused before a file is
 * copied leaves nothing; until it has come to its end, nothing opens the directory. ALM_E_ARG: the archive does
 * not go that far. */
typedef struct alm_restore_spec {
    const char *dir, *root;
    uint32_t generation; /* 0: the newest that is not later than what follows */
    /* Goes on with the archived log up to a record or a time, whichever is not 0. */
    uint64_t until_lsn;
    int64_t until_us;
    bool allow_earlier; /* the archive may end before that: as far as it goes */
    const char *log;    /* directory of the archive; NULL: the one that the backup names */
} alm_restore_spec;
typedef struct alm_restore_result {
    uint32_t generation;
    uint64_t lsn;
    int64_t time_us; /* of the backup, or of the last record of the log */
    int64_t files, bytes, tables, rows;
} alm_restore_result;
ALM_NODISCARD alm_status alm_backup_restore(alm_ctx *cx, const alm_io *io,
                                            const alm_restore_spec *spec, alm_restore_result *out);

/* Offline verification for `almanac check`: every checksum, order, dictionary and catalogue entry.
 * Calls `report` for each finding; *n_findings counts them. Lines that begin with "note: " are of what
 * a crash may leave and the next start removes; they do not count. Changes nothing. */
ALM_NODISCARD alm_status alm_storage_check(alm_ctx *cx, const alm_io *io, const char *root,
                                           void (*report)(void *arg, const char *line), void *arg,
                                           int64_t *n_findings);
/* The same, and repairs what can be without a loss: the torn end of the log is cut, files that nothing
 * names are removed. Each such line says so; what was repaired does not count as a finding. */
ALM_NODISCARD alm_status alm_storage_repair(alm_ctx *cx, const alm_io *io, const char *root,
                                            void (*report)(void *arg, const char *line), void *arg,
                                            int64_t *n_findings);

/*
 * `almanac check ROOT --salvage OUT`: copies what is whole in a damaged directory that nobody uses to OUT, which is new or empty: a
 * Parquet file for each part, one for the rows of each table that are in no part yet, and report.csv. Nothing is written to ROOT.
 * Calls `report` for what was not saved, or not wholly.
 */
typedef struct alm_salvage_result {
    int64_t files, rows;          /* written */
    int64_t whole, partial, lost; /* parts, and rows that are in no part, of tables */
    int64_t found;                /* parts that nothing names; they count as partial */
    int64_t findings;             /* lines of the report that say something else than `saved` */
} alm_salvage_result;
ALM_NODISCARD alm_status alm_storage_salvage(alm_ctx *cx, const alm_io *io, const char *root,
                                             const char *out,
                                             void (*report)(void *arg, const char *line), void *arg,
                                             alm_salvage_result *done);

/*
 * `almanac check ROOT --rebuild-symbols`: writes the lost dictionaries of a directory that nobody uses anew, of the symbols that their
 * files and Parquet parts still have, and opens their tables again. Symbols that are not found get names that say so. Calls `report`
 * for each column. ALM_E_CORRUPT: something else is damaged, too, so that the directory cannot be opened.
 */
typedef struct alm_rebuild_result {
    int64_t columns, symbols; /* rebuilt, and the values in them */
    int64_t lost, rows;       /* values without a text, and rows that have them */
} alm_rebuild_result;
ALM_NODISCARD alm_status alm_storage_rebuild_symbols(alm_ctx *cx, const alm_io *io,
                                                     const char *root,
                                                     void (*report)(void *arg, const char *line),
                                                     void *arg, alm_rebuild_result *done);

typedef struct alm_storage_stats {
    int64_t head_bytes_max; /* as storage.head.bytes.max or the memory of the machine has it */
    int64_t syncs, commits, wal_bytes, head_bytes, parts, rows;
    int64_t tables, partitions, part_bytes; /* partitions with parts; files of the parts */
    int64_t wal_segments, wal_lsn, wal_synced_lsn, visible_lsn, checkpoint_lsn;
    int64_t snapshots, spill_bytes, spill_files; /* in use */
    bool read_only;                              /* after a failed sync */
    int64_t damaged_files, damage_found;         /* known now; since the start */
} alm_storage_stats;
void alm_storage_stats_get(alm_storage *storage, alm_storage_stats *out);

/* Since the start. Rows committed are those that were stored anew; rows written count each time that a row
 * went to a file of a part: by loads, flushes, merges, updates. */
typedef struct alm_storage_counters {
    alm_counter rows_committed, rows_written, rows_flushed;
    alm_counter late_commits; /* with rows older than some of their table */
    alm_counter rollbacks, flushes;
    alm_times log_syncs, checkpoints, merges;
} alm_storage_counters;
const alm_storage_counters *alm_storage_counters_of(const alm_storage *storage);

/* --------------------------------------------------------------------- damage */

/* Files of a table (0: of none: catalogue, log) that are known to be damaged, and what was found first. */
typedef struct alm_damaged {
    uint64_t table_id;
    int64_t files, since_us;
    const char *what;
} alm_damaged;
/* From arena, by table. */
ALM_NODISCARD alm_status alm_storage_damage(alm_ctx *cx, alm_arena *arena, alm_storage *storage,
                                            alm_damaged **out, size_t *n);

bool alm_storage_is_damaged(const alm_storage *storage);

/* SCRUB TABLE: all files of the table are read and compared with their checksums. Damage is no error of the call: it is
 * counted, told and remembered (alm_storage_damage). */
enum { ALM_SCRUB_TEXT = 1536 };
typedef struct alm_scrub_result {
    int64_t files, bytes, damaged, findings; /* damaged files; a file may have several findings */
    char first[ALM_SCRUB_TEXT];              /* finding */
} alm_scrub_result;
ALM_NODISCARD alm_status alm_storage_scrub(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                           alm_scrub_result *out);
/* The pass over all tables that runs, or ran last. */
typedef struct alm_scrub_status {
    bool running;
    int64_t bytes_done, bytes_total;
    int64_t bytes, passes; /* since the start; bytes of SCRUB TABLE, too */
    int64_t last_us;       /* when the last whole pass began, 0: not known */
} alm_scrub_status;
void alm_storage_scrub_status(alm_storage *storage, alm_scrub_status *out);

/* ------------------------------------------------------------------ rewriting */

/*
 * A block of a file is compared with its checksum when it is touched first. What rots later would be read as it is,
 * and whoever writes it again would give it a good checksum, under which it is never found. So between these calls a
 * block, and the statistics of its file, count as good only when they were compared since the first call: whoever
 * reads to write (statements, merges, copies) stands between them, or begins and lets the context end. Forked
 * contexts (alm_ctx_fork) and scans that were made there do, too. The value goes from begin to end; such pairs nest.
 * A change whose context stands between them, and during which the bytes of any file could not be read, is refused: it may
 * have read zeros.
 */
uint64_t alm_rewrite_begin(alm_ctx *cx, alm_storage *storage);
void alm_rewrite_end(alm_ctx *cx, uint64_t before);

/* ------------------------------------------------------------------ snapshots */

/* All tables at the newest visible LSN. Cheap: a counted reference to an immutable version. */
ALM_NODISCARD alm_status alm_snapshot_acquire(alm_ctx *cx, alm_storage *storage,
                                              alm_snapshot **out);
alm_snapshot *alm_snapshot_retain(alm_snapshot *snap);
void alm_snapshot_release(alm_snapshot *snap);
uint64_t alm_snapshot_lsn(const alm_snapshot *snap);

/* ---------------------------------------------------------------------- scans */

/* A span is a run of rows that come in time order one after another; spans come in time order
 * (backward: newest span first; rows inside a span are always numbered oldest first). */
typedef struct alm_span {
    int64_t rows;
    int64_t min_ts, max_ts; /* of the span, before clipping may be wider */
    bool direct;            /* one part or head chunk: columns can be borrowed without a copy */
} alm_span;

typedef struct alm_scan alm_scan;

typedef enum alm_scan_order { ALM_SCAN_BY_TIME, ALM_SCAN_ANY_ORDER } alm_scan_order;

typedef struct alm_scan_range { /* closed, in the unit of the designated timestamp */
    int64_t lo, hi;
} alm_scan_range;

typedef struct alm_scan_spec {
    const uint32_t *cols; /* column numbers */
    uint32_t n_cols;
    const alm_scan_range *ranges; /* sorted, disjoint */
    uint32_t n_ranges;
    bool all; /* everything, and no ranges */
    alm_scan_order order;
} alm_scan_spec;

/*
 * Plans the scan of columns of a table over ranges. Rows outside the ranges are not in the spans. Tables without a
 * designated timestamp scan in insertion order. In any order nothing is merged: the rows of each part and
 * of what is in memory come by themselves, where DEDUP allows it. Snapshot must outlive the scan. Memory from arena.
 */
ALM_NODISCARD alm_status alm_scan_new(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap,
                                      const alm_table *table, const alm_scan_spec *spec,
                                      alm_scan **out);
size_t alm_scan_span_count(const alm_scan *scan);
alm_span alm_scan_span_at(const alm_scan *scan, size_t i); /* i counts from the oldest */
int64_t alm_scan_rows(const alm_scan *scan);

/* Per-thread reader. */
typedef struct alm_scan_cursor alm_scan_cursor;
ALM_NODISCARD alm_status alm_scan_cursor_new(alm_ctx *cx, alm_arena *arena, const alm_scan *scan,
                                             alm_scan_cursor **out);
/*
 * Rows [row, row + n) of span i, n <= ALM_BATCH_ROWS, as dense vectors in vecs[0..n_cols) (columns
 * in the order given to alm_scan_new; symbols as codes with dict). wanted[c] == false: vecs[c] is
 * left alone. Vectors of direct spans borrow mapped memory and live as long as the snapshot; those
 * of merged spans live until the next read on this cursor. Sets no_nulls from statistics.
 */
ALM_NODISCARD alm_status alm_scan_read(alm_ctx *cx, alm_scan_cursor *cur, size_t i, int64_t row,
                                       uint32_t n, const bool *wanted, alm_vec *vecs);

/* Statistics of one column over a whole direct span, where the span covers whole blocks of the part
 * (else valid == false). Numbers as double or int64 by the type of the column. */
typedef struct alm_col_stats {
    bool valid;
    bool has_minmax, has_sum;
    int64_t rows, nulls;
    int64_t min_i, max_i; /* integer and time types, symbol codes */
    double min_f, max_f;  /* floating types */
    double sum_f;
    int64_t sum_i;
    bool sum_overflow;
} alm_col_stats;
/* Block size in rows of statistics; block b of span i covers rows [b * rows, ...) of the PART the
 * span lies in; first_block_row tells where the span's row 0 lies in its block. */
enum { ALM_STATS_BLOCK_ROWS = 65536 };
void alm_scan_block_stats(const alm_scan *scan, size_t i, int64_t row, uint32_t col,
                          int64_t *block_rows_left, alm_col_stats *out);
/* Last row of each symbol code in span i for column c (row number in the span, -1: none), if the
 * part keeps them; entries [0, *n). NULL: not kept, walk backward instead. */
const int32_t *alm_scan_last_rows(const alm_scan *scan, size_t i, uint32_t col, uint32_t *n);

/* The functions above as a table, for those who read tables through whatever they are given: exec/. Tests give them
 * tables in plain arrays (exec/run/table_fixture.h). */
typedef struct alm_scan_ops {
    alm_status (*open)(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap, const alm_table *table,
                       const alm_scan_spec *spec, alm_scan **out);
    size_t (*span_count)(const alm_scan *scan);
    alm_span (*span_at)(const alm_scan *scan, size_t i);
    int64_t (*rows)(const alm_scan *scan);
    alm_status (*cursor_new)(alm_ctx *cx, alm_arena *arena, const alm_scan *scan,
                             alm_scan_cursor **out);
    alm_status (*read)(alm_ctx *cx, alm_scan_cursor *cur, size_t i, int64_t row, uint32_t n,
                       const bool *wanted, alm_vec *vecs);
    void (*block_stats)(const alm_scan *scan, size_t i, int64_t row, uint32_t col,
                        int64_t *block_rows_left, alm_col_stats *out);
    const int32_t *(*last_rows)(const alm_scan *scan, size_t i, uint32_t col, uint32_t *n);
} alm_scan_ops;
extern const alm_scan_ops alm_storage_scans;

/* --------------------------------------------------------------- transactions */

typedef struct alm_txn alm_txn;
ALM_NODISCARD alm_status alm_txn_begin(alm_ctx *cx, alm_storage *storage, alm_txn **out);
/* Copies the rows. Columns by table column number in order, all of them; SYMBOL as views (or codes
 * of any dictionary); rows in any time order. Null in the designated timestamp: ALM_E_VALUE. */
ALM_NODISCARD alm_status alm_txn_append(alm_ctx *cx, alm_txn *txn, const alm_table *table,
                                        const alm_batch *rows);
/* Durable and visible when it returns OK. The transaction is gone either way. */
ALM_NODISCARD alm_status alm_txn_commit(alm_ctx *cx, alm_txn *txn, uint64_t *lsn);
/*
 * The same without waiting for the disk: done(arg) is called when the commit is durable and visible or
 * has failed, on another thread, maybe before this returns; then alm_txn_commit_end tells which. *out
 * NULL: it would have had to wait for something here (alm_txn_commit does), and the transaction is as it was.
 */
typedef struct alm_txn_commit_run alm_txn_commit_run;
ALM_NODISCARD alm_status alm_txn_commit_start(alm_ctx *cx, alm_txn *txn, void (*done)(void *arg),
                                              void *arg, alm_txn_commit_run **out);
ALM_NODISCARD alm_status alm_txn_commit_end(alm_ctx *cx, alm_txn_commit_run *run);
/* Commits that nobody waits for need somebody to lead them: lead(arg) is called by any thread and has
 * another one run alm_storage_lead soon. Set once, before the first of them; without it there are none. */
void alm_storage_lead_by(alm_storage *storage, void (*lead)(void *arg), void *arg);
void alm_storage_lead(alm_storage *storage);
void alm_txn_rollback(alm_txn *txn);
/* The newest snapshot with what the transaction has written so far. ALM_E_CONFLICT when it changed rows
 * that others have changed meanwhile. */
ALM_NODISCARD alm_status alm_txn_snapshot(alm_ctx *cx, alm_txn *txn, alm_snapshot **out);
/* What such a snapshot takes beside the rows: a version of each table that the transaction has written to. */
int64_t alm_txn_snapshot_bytes(const alm_txn *txn);
/* Savepoints: the state of now, to go back to any number of times. A mark may outlive the
 * transaction, but not the storage. */
typedef struct alm_txn_mark alm_txn_mark;
ALM_NODISCARD alm_status alm_txn_mark_new(alm_ctx *cx, alm_txn *txn, alm_txn_mark **out);
ALM_NODISCARD alm_status alm_txn_back_to(alm_ctx *cx, alm_txn *txn, const alm_txn_mark *mark);
void alm_txn_mark_free(alm_txn_mark *mark);

/* Bulk load: rows go to part files of their partitions as they come, sorted per part, and become
 * visible with one log record at the end. Memory bounded by part_rows_max rows. */
typedef struct alm_bulk alm_bulk;
ALM_NODISCARD alm_status alm_bulk_begin(alm_ctx *cx, alm_storage *storage, const alm_table *table,
                                        alm_bulk **out);
ALM_NODISCARD alm_status alm_bulk_append(alm_ctx *cx, alm_bulk *bulk, const alm_batch *rows);
ALM_NODISCARD alm_status alm_bulk_commit(alm_ctx *cx, alm_bulk *bulk, int64_t *rows);
/* The rows become the transaction's, with whose commit they are visible. The load is gone either way. */
ALM_NODISCARD alm_status alm_bulk_into_txn(alm_ctx *cx, alm_bulk *bulk, alm_txn *txn,
                                           int64_t *rows);
void alm_bulk_rollback(alm_bulk *bulk);

/*
 * Update: new values of some columns for some rows, addressed by (span, row) of a scan over the
 * whole table taken by alm_update_begin, which keeps other writers of the table out until the end
 * (readers go on). Row numbers ascending per span. Columns: table column numbers, not the
 * designated timestamp.
 *
 * In a transaction (txn != NULL, also for alm_delete_begin) nobody is kept out: the update sees the
 * transaction's own rows, its commit leaves the change there, and the commit of the transaction fails
 * with ALM_E_CONFLICT when somebody else has changed the same rows before.
 */
typedef struct alm_update alm_update;
ALM_NODISCARD alm_status alm_update_begin(alm_ctx *cx, alm_storage *storage, alm_txn *txn,
                                          alm_str table, const uint32_t *cols, uint32_t n_cols,
                                          alm_update **out);
alm_snapshot *alm_update_snapshot(alm_update *update); /* borrowed: scan with this one */
ALM_NODISCARD alm_status alm_update_rows(alm_ctx *cx, alm_update *update, size_t span,
                                         const int64_t *rows, uint32_t n_rows,
                                         const alm_vec *values);
ALM_NODISCARD alm_status alm_update_commit(alm_ctx *cx, alm_update *update, int64_t *rows);
void alm_update_rollback(alm_update *update);
/* Delete: the rows given to alm_update_rows (values NULL) go. Parts that lose some are written anew,
 * parts that lose all are dropped. */
ALM_NODISCARD alm_status alm_delete_begin(alm_ctx *cx, alm_storage *storage, alm_txn *txn,
                                          alm_str table, alm_update **out);
/*
 * The type of a column changes: all rows are given to alm_update_rows, in scan order, with their
 * values in the type of `col`; the column gets a new id and keeps its place. `was` as for
 * alm_table_alter; ALM_E_STALE also at the commit.
 */
ALM_NODISCARD alm_status alm_retype_begin(alm_ctx *cx, alm_storage *storage, const alm_table *was,
                                          uint32_t place, const alm_column *col, alm_update **out);

/* --------------------------------------------------------------------- records */

enum { ALM_RECORDS_BLIND = -1 }; /* as seen_lsn: whatever there is by then */
/*
 * Records of the catalogue (catalog.h) that are put or (value.ptr NULL) removed, all or nothing.
 * ALM_E_STALE: there was a change behind `seen_lsn` (alm_snapshot_records_lsn of what was looked at): look
 * again. Where a request takes one, it is part of the same log record.
 */
typedef struct alm_records_change {
    uint64_t seen_lsn; /* or (uint64_t)ALM_RECORDS_BLIND */
    const alm_record *rows;
    uint32_t n;
} alm_records_change;
ALM_NODISCARD alm_status alm_records_put(alm_ctx *cx, alm_storage *storage,
                                         const alm_records_change *change);
/* alm_snapshot_records_lsn of a snapshot that would be taken now, for the cost of a load: has there been a change? */
uint64_t alm_storage_records_lsn(const alm_storage *storage);

/* ------------------------------------------------------------------- catalogue */

typedef struct alm_table_spec {
    alm_str name;
    const alm_column *cols; /* name, type, symbol and index options, dedup_key */
    uint32_t n_cols;
    int32_t ts_col;
    alm_partition_by partition;
    bool wal, dedup;
    int64_t ttl_hours;
    int64_t max_uncommitted_rows, o3_max_lag_us;
    bool replace; /* the commit drops what has that name and is of that kind, if there is any */
    alm_table_kind kind;
    const alm_view_def *view;          /* of views; copied */
    const alm_records_change *records; /* with it; NULL: none. Outlives a load into the table */
} alm_table_spec;

/* Each is one durable log record: all or nothing. `load`, if not NULL, receives a bulk load into the
 * new table whose commit creates table and rows together (CREATE TABLE AS SELECT). */
ALM_NODISCARD alm_status alm_table_create(alm_ctx *cx, alm_storage *storage,
                                          const alm_table_spec *spec, alm_bulk **load);
/* Tables and columns that are made together: each is a change of its own, with its own outcome, and all cost one sync. */
typedef struct alm_table_edit {
    const alm_table_spec *create; /* without `load`; NULL: a column is added */
    alm_str table;
    const alm_column *col;
    alm_error err; /* what became of it; code ALM_OK: it is durable */
} alm_table_edit;
ALM_NODISCARD alm_status alm_tables_edit(alm_ctx *cx, alm_storage *storage, alm_table_edit *edits,
                                         uint32_t n);
ALM_NODISCARD alm_status alm_table_drop(alm_ctx *cx, alm_storage *storage, alm_str name,
                                        const alm_records_change *records);
/* All of them or none: one log record. No name may come twice. */
ALM_NODISCARD alm_status alm_tables_drop(alm_ctx *cx, alm_storage *storage, const alm_str *names,
                                         uint32_t n, const alm_records_change *records);
ALM_NODISCARD alm_status alm_tables_drop_all(alm_ctx *cx, alm_storage *storage);
ALM_NODISCARD alm_status alm_table_rename(alm_ctx *cx, alm_storage *storage, alm_str name,
                                          alm_str to, const alm_records_change *records);
/* Asked before a client's commit, load or export takes space (cx->session; storage's own work may always). ALM_E_DISK_FULL: the reserve
 * for a full disk is spent, and there is no space for it, which is looked at each second. */
ALM_NODISCARD alm_status alm_storage_takes_space(alm_ctx *cx, alm_storage *storage);
/* Dictionaries of SYMBOL columns become empty, too, unless keep_symbols; those of a table with detached partitions are kept. */
ALM_NODISCARD alm_status alm_table_truncate(alm_ctx *cx, alm_storage *storage, alm_str name);
ALM_NODISCARD alm_status alm_tables_truncate(alm_ctx *cx, alm_storage *storage,
                                             const alm_str *names, uint32_t n, bool keep_symbols);
ALM_NODISCARD alm_status alm_table_add_column(alm_ctx *cx, alm_storage *storage, alm_str name,
                                              const alm_column *col);

/*
 * ALTER: the table as it shall be, one record. spec->cols[i].id: the column of `was` that it is, 0: a
 * new one; columns that are not named go. Types, name and partitioning stay. ALM_E_STALE: columns or
 * options are not those of `was` any more (look again); `was` belongs to a snapshot that is held.
 */
ALM_NODISCARD alm_status alm_table_alter(alm_ctx *cx, alm_storage *storage, const alm_table *was,
                                         const alm_table_spec *spec);

/* Partitions with these starts (alm_partition_info.bucket) go with all their rows, one record; those
 * that are not there are left out. `table` belongs to a snapshot that is held. */
ALM_NODISCARD alm_status alm_table_drop_partitions(alm_ctx *cx, alm_storage *storage,
                                                   const alm_table *table, const int64_t *starts,
                                                   uint32_t n);
/* Partitions that end before the newest row less the TTL of the table go, one record. Commits of rows
 * and ALTER do that by themselves. ALM_E_BUSY: another statement holds the table. Materialized views over the table keep what they made of them. */
ALM_NODISCARD alm_status alm_table_expire(alm_ctx *cx, alm_storage *storage, uint64_t table_id);
/* COMMENT ON the table, or (col_id > 0) one of its columns; "": no comment. One record. */
ALM_NODISCARD alm_status alm_table_set_comment(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                               uint32_t col_id, alm_str text);
/* Detached partitions stay on disk and are not read until they are attached again; each is one record.
 * DETACH, ATTACH: ALM_E_ARG for a start that has no such partition, or (ATTACH) has rows by now.
 * FORGET drops attached and detached ones. */
typedef enum alm_partition_move {
    ALM_PARTITION_DETACH,
    ALM_PARTITION_ATTACH,
    ALM_PARTITION_FORGET
} alm_partition_move;
ALM_NODISCARD alm_status alm_table_move_partitions(alm_ctx *cx, alm_storage *storage,
                                                   const alm_table *table, alm_partition_move move,
                                                   const int64_t *starts, uint32_t n);
/* Merges the parts of the table where they overlap or are many and small. */
/* All rows of these partitions into Parquet files, or into native ones; a record for each partition, which is as it was or
 * as it should be after a crash. Rows that come meanwhile stand beside, and join at the next merge. */
ALM_NODISCARD alm_status alm_table_convert_partitions(alm_ctx *cx, alm_storage *storage,
                                                      const alm_table *table, bool parquet,
                                                      const int64_t *starts, uint32_t n);
ALM_NODISCARD alm_status alm_table_squash(alm_ctx *cx, alm_storage *storage,
                                          const alm_table *table);

/* Partitions of a table, for SHOW PARTITIONS and TTL; oldest first, detached ones at the end. */
typedef struct alm_partition_info {
    char name[48];
    int64_t bucket; /* where the partition starts */
    int64_t min_ts, max_ts, rows, disk_bytes;
    int64_t parquet_bytes; /* of its Parquet files, -1: it has none */
    uint32_t parts;
    bool detached; /* a partition can be there twice: detached, and with rows that came later */
    bool hidden;   /* has expired, and is there for materialized views alone */
} alm_partition_info;
ALM_NODISCARD alm_status alm_table_partitions(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap,
                                              const alm_table *table, alm_partition_info **out,
                                              size_t *n);

/* ----------------------------------------------------------------------- views */

/*
 * Views are created by alm_table_create (spec.kind, spec.view) and dropped as tables are. Of a table
 * that has materialized views, storage keeps which times were touched since they were refreshed.
 */

/* Which fields of a view change: what it is declared as, how far it is refreshed, its validity, which
 * table it follows. */
enum { ALM_VIEW_OPTIONS = 1, ALM_VIEW_STATE = 2, ALM_VIEW_STATUS = 4, ALM_VIEW_BASE = 8 };
ALM_NODISCARD alm_status alm_view_change(alm_ctx *cx, alm_storage *storage, uint64_t view_id,
                                         unsigned what, const alm_view_def *to);

/* Times of the table that commits behind `lsn` touched (inserted, changed, removed rows there): sorted,
 * disjoint, from arena. May be more than was touched, never less. */
ALM_NODISCARD alm_status alm_table_touched(alm_ctx *cx, alm_arena *arena, const alm_table *table,
                                           uint64_t lsn, alm_scan_range **out, uint32_t *n);
/* Of the newest such commit; `lsn` itself if there is none. */
uint64_t alm_table_touched_lsn(const alm_table *table, uint64_t lsn);
bool alm_table_is_touched(const alm_table *table, uint64_t lsn);
/* Log record of the newest change of the table, rows or definition; 0: none yet. */
uint64_t alm_table_lsn(const alm_table *table);

/*
 * Refresh: rows of a materialized view in some ranges of time are replaced, and its state goes on, by
 * one log record. Holds the maintenance lock of the view: one refresh at a time; readers go on.
 */
typedef struct alm_refresh alm_refresh;
ALM_NODISCARD alm_status alm_refresh_begin(alm_ctx *cx, alm_storage *storage, uint64_t view_id,
                                           alm_refresh **out);
const alm_table *
alm_refresh_table(const alm_refresh *refresh); /* the view as it is; until the end */
ALM_NODISCARD alm_status alm_refresh_append(alm_ctx *cx, alm_refresh *refresh,
                                            const alm_batch *rows);
/* Ranges sorted and disjoint; all: every row. what, state: as for alm_view_change. */
ALM_NODISCARD alm_status alm_refresh_commit(alm_ctx *cx, alm_refresh *refresh,
                                            const alm_scan_range *ranges, uint32_t n, bool all,
                                            unsigned what, const alm_view_def *state,
                                            int64_t *rows);
void alm_refresh_rollback(alm_refresh *refresh);

/* Counts commits that touched tables with materialized views, and calls of alm_touch_wake. Waits until
 * the count is another than `seen`, or for `millis`; gives the count. */
uint64_t alm_touch_wait(alm_storage *storage, uint64_t seen, int64_t millis);
void alm_touch_wake(alm_storage *storage);

#endif
