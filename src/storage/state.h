/*
 * state.h - the struct of an open storage, of which every wing owns a few fields; catalogue versions. Private to the folder.
 *
 * Threads     queue_lock   the commit queue, who leads, the log's state between groups
 *             publish_lock the pointer to the current catalogue version
 *             tab_lock     the locks of all tables, and who waits for them
 *             file_lock    the registry of files
 *             durable.lock directories of tables; durable.sync_lock, before it: syncs of the file system
 *             work_lock    the background thread's wishes, the stop of it and of the archive's thread, the work
 *                          that fails (write/failing.h)
 *             The leader of a group alone touches the log, chunk memory beyond published lengths,
 *             and the memory of tables.
 */
#ifndef ALM_STORAGE_STATE_H
#define ALM_STORAGE_STATE_H

#include <pthread.h>

#include "base/heap.h"
#include "storage/dict/dict.h"
#include "storage/dict/list.h"
#include "storage/log/wal.h"
#include "storage/part/damage.h"
#include "storage/part/decoded.h"
#include "storage/part/durable.h"
#include "storage/recover/owner.h"
#include "storage/spill/spill.h"
#include "storage/version/version.h"

/* ------------------------------------------------------------------ tables */

typedef struct tab_text { /* names live as long as the table's identity */
    struct tab_text *next;
    char text[];
} tab_text;

struct alm_tab {
    _Atomic uint32_t refs;
    alm_storage *st;
    uint64_t id;
    tab_text *texts;
    /* Under tab_lock. */
    bool maint, alone;
    uint32_t sharers, waiting_alone;
    /* Open transactions that change rows of parts: compaction would make them fail. */
    _Atomic uint32_t claims;
    _Atomic uint64_t versions; /* made of it so far: alm_table.version */
    pthread_mutex_t interning_lock;
    uint32_t interning; /* who may add symbols that no version shows yet (write/interning.c) */
    atomic_bool unused; /* it may have symbols that nobody will need */
};

/* ------------------------------------------------------- catalogue versions */

enum { CAT_BLOCK = 64 };

typedef struct cat_block {
    _Atomic uint32_t refs;
    alm_version *versions[CAT_BLOCK];
} cat_block;

typedef struct cat_names { /* name -> position; open addressing */
    _Atomic uint32_t refs;
    uint32_t mask, n;
    struct {
        uint32_t hash, pos_plus_1; /* 0: free */
    } slots[];
} cat_names;

/* All tables at one LSN, by ascending id. Counted, immutable once published. */
typedef struct alm_catver {
    _Atomic uint32_t refs;
    uint64_t lsn;
    size_t n, n_blocks;
    cat_names *names;
    cat_block **blocks;
    struct alm_records *records; /* version/records.h; NULL: none */
} alm_catver;

struct alm_snapshot {
    _Atomic uint32_t refs;
    alm_storage *st;
    alm_catver *cat;
    int64_t acquired_ns;
    alm_reading reading; /* keeps decoded columns that it was shown */
};

alm_catver *alm_catver_retain(alm_catver *cat);
void alm_catver_release(alm_catver *cat);
alm_catver *alm_catver_current(alm_storage *storage); /* retained */
alm_version *alm_catver_at(const alm_catver *cat, size_t pos);
/* Position of a table, -1: not there. */
int64_t alm_catver_by_id(const alm_catver *cat, uint64_t table_id);
int64_t alm_catver_by_name(const alm_catver *cat, alm_str name);

/* The next catalogue version while a group of requests is prepared. */
typedef struct alm_build {
    alm_storage *st;
    alm_catver *next;
    uint64_t lsn; /* of the request that is prepared */
    int64_t head_delta;
    bool touched; /* rows that materialized views follow */
    bool redo;    /* of the log, by recovery */
    bool gaps;    /* the log has some: codes of lost symbols get placeholders (dict/lost.c) */
} alm_build;
ALM_NODISCARD alm_status alm_catver_empty(alm_ctx *cx, alm_catver **out);
ALM_NODISCARD alm_status alm_build_begin(alm_ctx *cx, alm_storage *storage, alm_build *build);
/* On top of any version, for one that is never published. */
ALM_NODISCARD alm_status alm_build_on(alm_ctx *cx, alm_storage *storage, const alm_catver *from,
                                      alm_build *build);
/* A snapshot of that version; takes over the reference. */
ALM_NODISCARD alm_status alm_snapshot_new(alm_ctx *cx, alm_storage *storage, alm_catver *cat,
                                          alm_snapshot **out);
void alm_build_abandon(alm_build *build);
void alm_build_publish(alm_build *build);
/* The current version of a table in the build (borrowed), NULL: not there. */
alm_version *alm_build_find(const alm_build *build, uint64_t table_id);
/* Makes sure that alm_build_put of this table cannot fail. Changes nothing that can be seen. */
ALM_NODISCARD alm_status alm_build_own(alm_ctx *cx, alm_build *build, uint64_t table_id);
/* Replaces the version of its table; takes over the reference. */
void alm_build_put(alm_build *build, alm_version *version);
/* Each takes over the reference to `version`, or fails without an effect. Names are not checked. */
ALM_NODISCARD alm_status alm_build_add(alm_ctx *cx, alm_build *build, alm_version *version);
ALM_NODISCARD alm_status alm_build_rename(alm_ctx *cx, alm_build *build, alm_version *version);
ALM_NODISCARD alm_status alm_build_remove(alm_ctx *cx, alm_build *build, uint64_t table_id);
/* Removes all tables, or fails without an effect. */
ALM_NODISCARD alm_status alm_build_clear(alm_ctx *cx, alm_build *build);

/* ------------------------------------------------------------------ storage */

typedef struct file_slot {
    alm_file *file;
} file_slot;

typedef struct alm_retired_file {
    uint64_t table_id, id;
    uint64_t lsn; /* of the log when it was retired */
} alm_retired_file;

typedef struct alm_retired { /* part/retired.h; under file_lock */
    alm_retired_file *files;
    size_t n, cap;
} alm_retired;

typedef struct alm_archive_state {
    uint64_t number;           /* last segment that is archived or given up; under wal.lock */
    int64_t since_ns, commits; /* of the last new segment; the archive's thread */
    bool identified; /* what is in the directory is of this database; the archive's thread */
    atomic_bool failing;
} alm_archive_state;

typedef struct alm_hold { /* recover/hold.h; `held` changes under file_lock */
    atomic_bool held;
    _Atomic int64_t since_us;
    int64_t began_ns; /* the same moment by the clock that never jumps */
    bool marked, copy, expired;
    uint64_t lsn;
    uint64_t sweep_end; /* sweep that waits for the release, 0: none */
} alm_hold;

typedef struct alm_generation { /* recover/generation.h; by recovery, later under checkpoint_lock */
    bool kept;                  /* the previous catalogue is sound, and the log goes back to it */
    uint64_t lsn;               /* of its checkpoint */
    uint64_t lost_lsn; /* of the damaged catalogue, as far as its header says; 0: not known */
    bool cut;          /* the crash met a checkpoint between its two renames */
    atomic_bool alone; /* recovered from the previous catalogue, and no checkpoint since */
    atomic_bool
        passed; /* recovered beside damage in the log before the checkpoint, and no checkpoint since */
    int64_t since_ns;
    alm_error why; /* the damage that recovery found; code ALM_OK: none */
} alm_generation;

typedef struct alm_backup_progress {
    _Atomic int32_t running;
    _Atomic int64_t done, total; /* bytes, of the one that runs or ran last */
    _Atomic uint64_t whole_lsn;  /* of the last one of the whole database, since the start */
} alm_backup_progress;

/* Work on one table in the background: write/failing.h. */
typedef enum alm_work_step { ALM_WORK_FLUSH, ALM_WORK_MERGE } alm_work_step;

typedef struct alm_failing {
    uint64_t table_id;
    alm_work_step step;
    uint32_t tries;
    int64_t again_ns; /* not before */
    alm_error why;
} alm_failing;

typedef struct alm_scrub_state { /* check/scrub.h */
    pthread_t thread;
    bool started;
    atomic_bool running;
    _Atomic int64_t done, total, last_us;
    alm_counter bytes, passes;
} alm_scrub_state;

struct alm_storage {
    const alm_io *io;
    char root[ALM_PATH_MAX - 128]; /* .../db */
    alm_storage_conf conf;
    alm_owner owner;      /* of the directory; of an open storage always */
    bool closing;         /* no more unlinking of files whose references go */
    bool foreign;         /* recovery found a file of another database */
    uint64_t database_id; /* random, not 0; known from recovery on */

    alm_wal wal;
    pthread_mutex_t queue_lock;
    struct alm_request *queue_head, **queue_tail;
    bool leading, leader_called;
    uint32_t queue_n, crowd,
        crowd_wanted; /* requests; who commit at the same time; gather() waits for */
    pthread_cond_t crowd_cond;
    int64_t log_ns; /* that the last group took to write and sync */
    void (*lead)(
        void *arg); /* calls somebody who runs alm_storage_lead; NULL: everybody waits himself */
    void *lead_arg;
    alm_symbols_space symbols;
    atomic_bool reserve_spent; /* write/reserve.h; set by who leads */
    _Atomic int64_t reserve_tried_ns;
    atomic_bool failed; /* read-only after a failed write or sync */
    char failed_why[256];

    pthread_mutex_t publish_lock;
    _Atomic uint64_t records_lsn; /* of `current` */
    alm_catver *current;
    _Atomic int64_t n_snapshots;

    pthread_mutex_t tab_lock;
    pthread_cond_t tab_cond;

    pthread_mutex_t file_lock;
    file_slot *files; /* open addressing by id */
    size_t files_cap, n_files;
    alm_durable durable;

    _Atomic uint64_t next_table_id, next_part_id, next_file_id, next_seq;
    _Atomic uint32_t next_dict_id;

    _Atomic uint64_t rewrites; /* numbers of alm_rewrite_begin */
    _Atomic int64_t commits, head_bytes;
    alm_storage_counters counters;
    alm_spill_space spill;
    alm_decoded decoded; /* columns of Parquet parts in memory */

    pthread_mutex_t touch_lock; /* alm_touch_wait */
    pthread_cond_t touch_cond;
    uint64_t touch_count;

    pthread_mutex_t work_lock;
    pthread_cond_t work_cond;
    pthread_mutex_t checkpoint_lock; /* one checkpoint at a time */
    pthread_t worker, archiver;
    pthread_cond_t archive_cond, scrub_cond; /* with work_lock; told of a stop only */
    bool worker_started, archiver_started, stop, work_wanted;
    uint64_t sweep_end;        /* tables from here on are made after the start */
    atomic_bool worker_cancel; /* ends long work at a stop */
    alm_error work_error;      /* of the last round; code ALM_OK: none */
    alm_failing *failing;      /* under work_lock; in no order */
    _Atomic uint32_t n_failing;
    uint32_t cap_failing;
    uint64_t compacted_lsn, expired_lsn, tidied_lsn;
    atomic_bool untidy; /* a commit left late rows in a lane of their own */
    atomic_bool unused; /* a table has alm_tab.unused set */
    int64_t tidied_ns;  /* of the background thread */
    int64_t idle_commits, idle_since_ns;
    _Atomic uint64_t checkpoint_lsn; /* of the catalogue file */
    alm_generation generation;       /* and the one before */
    alm_damages damages;
    alm_scrub_state scrub;
    alm_hold hold;
    alm_retired retired;
    alm_backup_progress backup;
    alm_archive_state archive;
    uint32_t catalog_version; /* of the file that was read */
    int64_t rows_redone;      /* rows that recovery copied, each time counted */
    alm_dict_list
        catalog_dicts; /* those that it names, sorted: recovery needs their files; under file_lock */
    _Atomic int64_t checkpoint_wal_bytes; /* wal.bytes_written at that time */
};

/* The state was recovered from the previous catalogue, or beside damage in the log: the next checkpoint ends that. */
static inline bool alm_generation_is_stale(const alm_storage *storage)
{
    return atomic_load(&storage->generation.alone) || atomic_load(&storage->generation.passed);
}

static inline bool alm_archive_is_on(const alm_storage *storage)
{
    return storage->conf.archive_dir != NULL && storage->conf.archive_dir[0] != 0;
}

/* ------------------------------------------------------------ making versions */

/* A copy of `version` that shares all its parts and chunks, with room for more lanes; refs = 1. The caller
 * changes it, calls alm_version_settle, and puts it into a build. */
ALM_NODISCARD alm_status alm_version_copy(alm_ctx *cx, const alm_version *version,
                                          uint32_t more_lanes, alm_version **out);
/* A version of the same table without parts and lanes. */
ALM_NODISCARD alm_status alm_version_bare(alm_ctx *cx, const alm_version *version,
                                          alm_version **out);
/* Recomputes the public face: rows, times, bytes. */
void alm_version_settle(alm_version *version);
/* Releases the chunks of lanes and zeroes them. */
void alm_lanes_clear(alm_lane *lanes, uint32_t n_lanes);

ALM_NODISCARD alm_status alm_tab_new(alm_ctx *cx, alm_storage *storage, uint64_t id, alm_tab **out);
ALM_NODISCARD alm_status alm_tab_text(alm_ctx *cx, alm_tab *tab, alm_str text, const char **out);

/* Schema from column descriptions; `symbols` are the dictionaries of the columns (NULL: make new
 * ones); counts gives codes in use + 1 per column (NULL: 1). Names are borrowed from the table. */
ALM_NODISCARD alm_status alm_schema_new(alm_ctx *cx, alm_storage *storage, alm_tab *tab,
                                        const alm_column *cols, uint32_t n_cols,
                                        struct alm_symbols *const *symbols, const uint32_t *counts,
                                        alm_schema **out);
alm_schema *alm_schema_retain(alm_schema *schema);
void alm_schema_release(alm_schema *schema);

alm_part_set *alm_part_set_retain(alm_part_set *set);
void alm_part_set_release(alm_part_set *set);
/* parts[n_parts] in any order; takes references of its own. `by_time`: the table has a timestamp. */
ALM_NODISCARD alm_status alm_part_set_new(alm_ctx *cx, alm_part_ref *const *parts, uint32_t n_parts,
                                          bool by_time, alm_part_set **out);

/* Used by recovery: a file with a known id. */
ALM_NODISCARD alm_status alm_file_known(alm_ctx *cx, alm_storage *storage,
                                        const struct alm_part_claim *claim, alm_file **out);
bool alm_file_is_registered(alm_storage *storage, uint64_t id);
/* With a reference of its own; NULL: there is none with this number any more. */
alm_file *alm_file_find(alm_storage *storage, uint64_t id);
/* Removes the directory of a table that was dropped, if nothing is in it: when the last version of the table goes, and when its
 * dictionaries are removed, which may be later. Ids of tables are never used again. */
void alm_storage_table_dir_drop(alm_storage *storage, uint64_t table_id);
void alm_storage_table_dir(const alm_storage *storage, uint64_t table_id, char *dir,
                           size_t dir_size);

#endif
