/*
 * exec.h - runs plans. Vectorised, pulled by batch, parallel by morsels.
 *
 * An execution borrows plan, snapshot and context; it belongs to one thread at a time but may move
 * between threads from call to call (a slow reader holds an execution, never a thread). Operators
 * that read all their input first (group, sort, join build, sample) split the scans below them into
 * morsels that the worker pool's threads take; results are merged in morsel order, so that any
 * number of threads gives the same rows and the same sums.
 */
#ifndef ALM_EXEC_EXEC_H
#define ALM_EXEC_EXEC_H

#include "base/lookup.h"
#include "base/nearest.h"
#include "sql/plan/plan.h"
#include "storage/storage.h"

/* Threads that help with parallel work; the calling thread takes part too. n_threads counts all:
 * 1 means no helpers. */
typedef struct alm_workers alm_workers;
ALM_NODISCARD alm_status alm_workers_new(alm_ctx *cx, uint32_t n_threads, alm_workers **out);
void alm_workers_free(alm_workers *workers);
uint32_t alm_workers_count(const alm_workers *workers);
/* Runs task(arg, i, slot) for i in [0, n) on the caller and idle helpers; returns when all are done.
 * slot < alm_workers_count identifies the thread for per-thread state. */
void alm_workers_run(alm_workers *workers, uint32_t n,
                     void (*task)(void *arg, uint32_t i, uint32_t slot), void *arg);

typedef struct alm_exec alm_exec;

typedef struct alm_exec_env {
    alm_workers *workers;
    alm_snapshot *snapshot;
    const alm_registry *registry;
    const alm_scan_ops *scans;     /* how tables are read; NULL: those of storage */
    struct alm_spill_space *spill; /* for what does not fit in memory; NULL: none */
    bool analyze;                  /* count rows, time and bytes per operator */
    /* Lists that only the caller knows, for the table functions that show them: `what` is "keywords"
     * (one text per row), "settings" (name, value, description), "sessions" (session_activity), "activity" (of each session: number
     * of its statement or 0, of the connection, begin in us, user, protocol, state, text of the
     * statement, application, address and port of the client, begin of the session in us), "memory" (account, bytes), "checkpoint" (the time in us since which one
     * is held) or "files" and a folder (path, bytes, time of its last
     * change in us, "0": not known); *cells has rows one after the
     * other, NULL is null. Memory from cx->arena. May be NULL: no rows. */
    alm_status (*texts)(alm_ctx *cx, const char *what, const char *const **cells, size_t *rows);
} alm_exec_env;

/* cx->arena must live until close. */
ALM_NODISCARD alm_status alm_exec_open(alm_ctx *cx, const alm_plan *plan, const alm_exec_env *env,
                                       alm_exec **out);
/* Next rows in *out (borrowed until the next call); all columns dense or const, no selection.
 * *out = NULL: the end. */
ALM_NODISCARD alm_status alm_exec_next(alm_ctx *cx, alm_exec *exec, alm_batch **out);
void alm_exec_close(alm_exec *exec);

/* Evaluates an expression without input columns to one element (planner: constant folding). */
ALM_NODISCARD alm_status alm_exec_constant(alm_ctx *cx, const alm_expr *expr, alm_vec *out);

/* Figures per plan node id, after or during a run with analyze. */
typedef struct alm_op_stats {
    int64_t rows, batches, cpu_ns;
    int64_t bytes;      /* read from storage, by scans */
    int64_t peak_bytes; /* most memory held at once, over all threads */
} alm_op_stats;
const alm_op_stats *alm_exec_stats(const alm_exec *exec, uint32_t node_id);

/* ------------------------------------------------------- table functions (exec/source/source.def) */

/* What the binder needs of a table function: does it exist, which columns does it give. */
typedef struct alm_source alm_source;
const alm_source *alm_source_find(alm_str name);
/* Is it one that stands in FROM without brackets, as a table does? */
bool alm_source_by_name(alm_str name);
/* What a parameter of a statement is there; NONE: as the others. */
alm_type alm_source_arg_type(const alm_source *source, uint32_t i);
/* Number i of them, the relations of the catalogues behind the table functions; NULL: no more. */
const alm_source *alm_source_at(size_t i);
/* Names of those that stand in FROM with brackets: what a wrong name may have been meant to be. */
void alm_source_offer(alm_nearest *near);
ALM_NODISCARD alm_status alm_source_bind(alm_ctx *cx, const alm_source *src,
                                         const alm_source_call *call, alm_source_bound *out);

/* Do the rows of a source that is scanned come in ascending order of column `col`, without nulls? */
ALM_NODISCARD alm_status alm_source_ordered(alm_ctx *cx, const alm_source *src, void *data,
                                            uint32_t col, bool *out);
/* The column that is this one as codes of a dictionary, -1: none (alm_source_scan.codes). */
ALM_NODISCARD alm_status alm_source_codes(alm_ctx *cx, const alm_source *src, void *data,
                                          uint32_t col, int32_t *out);

/* ------------------------------------------------- object numbers of pg_class, for regclass */

/* Number of a table, index or catalogue relation by name; schema, quotes and digits are understood. 0: none. */
ALM_NODISCARD alm_status alm_catalog_oid(alm_ctx *cx, const alm_snapshot *snap, alm_str name,
                                         int32_t *oid);
/* NULL: no table. *index_col: the column whose index has that number, -1: the table itself. */
const alm_table *alm_catalog_table(const alm_snapshot *snap, int32_t oid, int32_t *index_col);
/* Name as it is written, *out = NULL: no such relation; statement that makes an index. */
ALM_NODISCARD alm_status alm_catalog_name(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap,
                                          int32_t oid, const char **out);
/* Names of indexes (source/index_names.c): those that CREATE INDEX gave, else table_column_idx. */
enum { ALM_INDEX_KEY = 'i' }; /* records of the catalogue begin so */
typedef struct alm_index_name {
    alm_str name, key; /* key: of its record; empty: it has none */
    const alm_table *table;
    int32_t col;   /* -1: of no single column */
    bool declared; /* false: a name for what has no effect */
} alm_index_name;
/* Record i of the catalogue; false: no name of an index, or of one that is gone. */
bool alm_index_at(const alm_snapshot *snap, size_t i, alm_index_name *out);
ALM_NODISCARD alm_status alm_index_name_of(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap,
                                           const alm_table *table, uint32_t col, const char **out);
ALM_NODISCARD alm_status alm_index_find(alm_ctx *cx, const alm_snapshot *snap, alm_str name,
                                        alm_index_name *out, bool *found);
/* COMMENT ON the table or view (column 0) of that number, or one of its columns; *out = NULL: none. */
ALM_NODISCARD alm_status alm_catalog_comment(alm_ctx *cx, alm_arena *arena,
                                             const alm_snapshot *snap, int32_t oid, int32_t column,
                                             const char **out);
ALM_NODISCARD alm_status alm_catalog_index(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap,
                                           const alm_table *table, int32_t col, const char **out);

/* Number of a function of pg_proc by name, or name(types); 0: none, or several. */
int32_t alm_catalog_function_oid(const alm_registry *reg, alm_str name, bool *several);
/* Name, result or arguments of a function of pg_proc; *out = NULL: there is none. */
ALM_NODISCARD alm_status alm_catalog_function(alm_ctx *cx, alm_arena *arena,
                                              const alm_registry *reg, int32_t oid,
                                              alm_relation_text what, const char **out);

#endif
