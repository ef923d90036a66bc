/*
 * sql.h - SQL text to statements, statements to plans. Touches no data.
 *
 * parse: text -> alm_stmt (parse/ast.h). Names are looked up later, so a parsed statement can be planned
 * again after a schema change and with other parameter values.
 * plan: statement + snapshot + parameter values -> alm_plan (plan/plan.h).
 */
#ifndef ALM_SQL_SQL_H
#define ALM_SQL_SQL_H

#include "sql/parse/ast.h"
#include "sql/plan/plan.h"
#include "sql/plan/source_if.h"

/* Parses the first statement at or after *offset; *offset moves behind it and its ';'. At the end of
 * the text: kind ALM_STMT_EMPTY. Nodes and texts from cx->arena; `text` must outlive them. */
ALM_NODISCARD alm_status alm_sql_parse(alm_ctx *cx, alm_str text, size_t *offset, alm_stmt **out);

/* The text, or its beginning, with **** for passwords and tokens, for others to read; at most room - 1 bytes and a zero.
 * The text may be wrong, cut off, or of several statements. */
void alm_sql_mask(alm_str text, char *out, size_t room);
/* All of it, from cx->arena. */
ALM_NODISCARD alm_status alm_sql_masked(alm_ctx *cx, alm_str text, const char **out);

/* Text of an expression as the dialect names an unnamed result column: normalised blanks, lower-case
 * keywords, "price + qty * 2", at most 64 bytes (the rules: test/sql/select/expression_names.test). */
ALM_NODISCARD alm_status alm_ast_name(alm_ctx *cx, const alm_ast *expr, const char **out);

typedef struct alm_param {
    alm_type type;        /* NONE: not known, infer */
    const alm_vec *value; /* one element; NULL: only describing */
    int32_t pos;          /* where it stands first in the text; describing writes it */
} alm_param;

/* A name of FROM as it was found in the snapshot; table NULL: there is no table of that name. */
typedef struct alm_plan_name {
    alm_str name;
    const alm_table *table; /* to compare with, not to follow: it goes with its snapshot */
    uint64_t id, version;   /* of the table: its address may be that of another one by then */
    uint64_t schema_version;
    int32_t ts_col;
    bool dedup;
} alm_plan_name;

/*
 * What a plan was made from. It can run again in another snapshot if that finds every name as it is here,
 * for the rest of the UTC day (a year of two digits is one near the present), with the same user and
 * without parameters; unless it holds what was true for its own execution only: the time, settings of
 * the session, lists of the server, rows that were read for it.
 */
typedef struct alm_plan_uses {
    bool once;
    int32_t open;         /* of a template: parameters that stand outside of open tests */
    alm_plan_name *names; /* in the arena of the plan */
    uint32_t n_names, cap_names;
} alm_plan_uses;

typedef struct alm_plan_env {
    alm_snapshot *snapshot;
    const alm_registry *registry;
    const alm_source_if *sources;
    alm_param *params; /* n_params; describing writes inferred types back */
    uint32_t n_params;
    const char *
        as_view; /* the query is that of this view, whose definer is asked; NULL: it is the user's */
    /* Runs a plan of one text column: its values (ptr NULL: null), at most max + 1 of them. For PIVOT
     * ... IN (SELECT ...), whose columns are data. NULL: there is none. */
    alm_status (*texts)(alm_ctx *cx, alm_snapshot *snapshot, const alm_registry *registry,
                        const alm_plan *plan, uint32_t max, alm_str **out, uint32_t *n);
    /* Refresh of a materialized view: of the table with that id only rows in these times are read.
     * 0: no table. */
    uint64_t only_table;
    const alm_interval *only;
    uint32_t n_only;
    bool
        of_view; /* for a view: functions must have no effect, as whoever reads the view would call them */
    bool fixed; /* for a materialized view: functions must give the same whenever they are called */
    alm_plan_uses *uses; /* written while planning; NULL: nobody asks */
    /* The plan is a template (bind/template.c): it says nothing of the values of `params`, nor of rows, and runs by
     * its instances alone. Of no use if uses->once. `uses` must be there. */
    bool as_template;
    /* The plan is shown, not run: views that hide rows from who asks are leaves of it, and this is set where there is one
     * (bind/view.c). NULL: the plan is to run. */
    bool *sealed;
    int64_t last_rows;   /* > 0: alm_plan_select plans only the last so many rows of the query */
    const char *opt_off; /* comma list of optimiser rules to leave out (tests), or NULL */
} alm_plan_env;

/* A query (SELECT, and SHOW through its table function). */
ALM_NODISCARD alm_status alm_plan_select(alm_ctx *cx, const alm_plan_env *env, alm_select *sel,
                                         alm_plan **out);

/* The template for these values and this snapshot, in which every name of its uses is the same table with the same
 * columns as then. Borrows from the template. */
ALM_NODISCARD alm_status alm_plan_instance(alm_ctx *cx, const alm_plan_env *env,
                                           const alm_plan *from, alm_plan **out);

/* INSERT: a plan whose columns are the table's columns in order and type (implicit casts applied,
 * missing columns null), for VALUES and SELECT alike. */
ALM_NODISCARD alm_status alm_plan_insert(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                         const alm_table **table, alm_plan **out);
/* CREATE TABLE [AS]: the table's specification; *source is the SELECT's plan in the column order and
 * types of the table, or NULL. */
struct alm_table_spec_sql;
typedef struct alm_create {
    const char *name;
    alm_column *cols;
    uint32_t n_cols;
    int32_t ts_col;
    alm_partition_by partition;
    bool wal, dedup;
    int64_t ttl_hours, max_uncommitted_rows, o3_max_lag_us;
    alm_plan *source;
    bool exists; /* IF NOT EXISTS and the table is there: do nothing */
} alm_create;
ALM_NODISCARD alm_status alm_plan_create(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                         alm_create **out);
/*
 * ALTER TABLE: the table as it shall be (alm_create; columns keep their ids, 0: a new one).
 */
typedef struct alm_alter_plan {
    const alm_table *table;
    alm_create *to;
    bool nothing;    /* it is as it shall be already */
    bool partitions; /* about partitions: `to` says nothing */
    alm_plan
        *values; /* COLUMN TYPE: the new values of the column whose id is 0, then a LONG with the
                         position of the row as for UPDATE; else NULL */
} alm_alter_plan;
ALM_NODISCARD alm_status alm_plan_alter(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                        alm_alter_plan **out);
/* CREATE INDEX: columns that it names; symbol: the SYMBOL column that it declares an index of, -1: it changes nothing. */
typedef struct alm_index_plan {
    const alm_table *table;
    uint32_t *cols, n_cols;
    int32_t symbol;
} alm_index_plan;
ALM_NODISCARD alm_status alm_plan_index(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                        alm_index_plan **out);
/* WHERE of DROP PARTITION and its like: a plan that gives those of the starts of partitions (borrowed,
 * in the type of the designated timestamp) for which it holds. */
ALM_NODISCARD alm_status alm_plan_partitions(alm_ctx *cx, const alm_plan_env *env,
                                             const alm_stmt *stmt, const alm_table *table,
                                             int64_t *starts, uint32_t n, alm_plan **out);
/* LIST: could this be the name of a partition of the table? */
ALM_NODISCARD alm_status alm_check_partition_name(alm_ctx *cx, const alm_table *table, alm_str name,
                                                  int32_t pos);
/* ------------------------------------------------------------------- views */

/* CREATE VIEW, CREATE MATERIALIZED VIEW, ALTER VIEW: columns, options, description; `create.exists`:
 * nothing to do. A materialized one follows view.base_id. */
typedef struct alm_view_plan {
    alm_create create;
    alm_table_kind kind;
    bool replace;
    alm_view_def view;
} alm_view_plan;
ALM_NODISCARD alm_status alm_plan_create_view(alm_ctx *cx, const alm_plan_env *env,
                                              const alm_stmt *stmt, alm_view_plan **out);
/* REFRESH and its options of a materialized view into `out`, which keeps what is not said. */
ALM_NODISCARD alm_status alm_view_refresh_options(alm_ctx *cx, const alm_refresh_clause *clause,
                                                  alm_every sample, alm_view_def *out);
/* The query of a view, in the columns it has now. */
ALM_NODISCARD alm_status alm_plan_view(alm_ctx *cx, const alm_plan_env *env, const char *sql,
                                       alm_plan **out);
/* The SAMPLE BY whose buckets are the view's rows, NULL: none. *incremental: rows of a bucket follow
 * from the rows of the base table in its time, and from no others of it. */
const alm_sample_spec *alm_view_shape(const alm_plan *plan, uint64_t base_id, bool *incremental);
/* Length of its buckets, as storage is to know it (alm_view_def.bucket). */
alm_every alm_view_bucket(const alm_sample_spec *sample);
/* ALM_E_DENIED at `pos` unless it is a table. */
ALM_NODISCARD alm_status alm_refuse_view(alm_ctx *cx, const alm_table *table, int32_t pos);

/*
 * UPDATE: plan over a full scan of the table (rows in scan order) whose result columns are: new
 * values of set_cols (in their column types), then a LONG with the row's position in the scan
 * (counted over all rows of the table in scan order). Only rows to change come out.
 */
typedef struct alm_update_plan {
    const alm_table *table;
    uint32_t *set_cols;
    uint32_t n_set;
    alm_plan *plan; /* behind these columns those of RETURNING */
} alm_update_plan;
ALM_NODISCARD alm_status alm_plan_update(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                         alm_update_plan **out);

/* DELETE: the same, with nothing but the positions of the rows that go (n_set is 0). */
ALM_NODISCARD alm_status alm_plan_delete(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                         alm_update_plan **out);

/* WHERE of COPY FROM, over batches of the table whose symbols are texts; *n = 0: it always holds. */
ALM_NODISCARD alm_status alm_plan_copy_where(alm_ctx *cx, const alm_plan_env *env,
                                             const alm_stmt *stmt, const alm_table *table,
                                             const alm_expr *const **conjuncts, uint32_t *n);

/* Physical plan as text lines, one per node, indented by two spaces a level; the node of each line in
 * *nodes (may be NULL). */
ALM_NODISCARD alm_status alm_plan_explain(alm_ctx *cx, const alm_plan *plan, const char ***lines,
                                          const alm_plan ***nodes, size_t *n_lines);

/* What EXPLAIN ANALYZE found of a node. */
typedef struct alm_explain_figures {
    bool known;
    int64_t rows, peak_bytes;
    double ms;
} alm_explain_figures;
/* EXPLAIN (FORMAT JSON) in the shape of PostgreSQL's; figures NULL: not run, else of nodes[0..n). */
ALM_NODISCARD alm_status alm_plan_explain_json(alm_ctx *cx, const alm_plan *plan,
                                               const alm_explain_figures *figures,
                                               const alm_plan *const *nodes, size_t n_nodes,
                                               const char **out);

#endif
