/*
 * ast.h - the tree the parser makes of SQL text. Names are not looked up, types are unknown.
 *
 * Ownership   All nodes and texts live in the query arena (texts may point into the SQL text).
 * Positions   Every node keeps `pos`, the byte offset of the token an error should point at.
 */
#ifndef ALM_SQL_AST_H
#define ALM_SQL_AST_H

#include "base/base.h"
#include "func/registry.h"
#include "sql/plan/join_kind.h"
#include "type/type.h"

/* ---------------------------------------------------------------- expressions */

typedef enum alm_ast_kind {
    ALM_AST_NULL,       /* null */
    ALM_AST_BOOL,       /* text: true | false */
    ALM_AST_NUMBER,     /* text as written: 1, 1_000, 1.5, 1e3, 3L, 2f, 1d, 0x1f, 12.5m */
    ALM_AST_STRING,     /* text: decoded, without quotes */
    ALM_AST_GEOHASH,    /* text: #u33d or ##0110 as written */
    ALM_AST_NAME,       /* text: column; table: qualifier or empty; quoted flags */
    ALM_AST_STAR,       /* * or t.* (table); args: NAME left out (EXCLUDE), BINARY as: expression
                           and NAME it takes the place of (REPLACE) */
    ALM_AST_PARAM,      /* $n (number) */
    ALM_AST_VAR,        /* @name of DECLARE */
    ALM_AST_UNARY,      /* text: operator; arg[0] */
    ALM_AST_BINARY,     /* text: operator, lower case: + - * / % & | ^ || = != <> < <= > >= and or
                         like ilike ~ !~ << >> ... ; arg[0], arg[1] */
    ALM_AST_CALL,       /* text: function as written; args; distinct, star, over, filter ... */
    ALM_AST_CAST,       /* arg[0], type_name; double_colon */
    ALM_AST_CASE,       /* arg[0]: operand or NULL; then pairs when, then; else_arg */
    ALM_AST_IN,         /* arg[0] in (arg[1..]) or in subquery; negated */
    ALM_AST_BETWEEN,    /* arg[0] between arg[1] and arg[2]; negated; symmetric */
    ALM_AST_IS_NULL,    /* arg[0] is [not] null */
    ALM_AST_SUBQUERY,   /* scalar subquery: select */
    ALM_AST_EXISTS,     /* exists (select) */
    ALM_AST_QUANTIFIED, /* arg[0] op ANY|ALL (arg[1] | select): text = operator, number 1 any 2 all */
    ALM_AST_ARRAY,      /* ARRAY[...] : args */
    ALM_AST_INDEX,      /* arg[0][arg[1], ...] */
    ALM_AST_SLICE,      /* lo:hi inside an index; either may be NULL */
    ALM_AST_TYPED,      /* TYPE 'text' : type_name, text */
    ALM_AST_INTERVAL,   /* INTERVAL '1 day' style literal: text */
    ALM_AST_ROW         /* (a, b, ...) and ROW(a, ...): args, one or more */
} alm_ast_kind;

typedef struct alm_ast alm_ast;
typedef struct alm_select alm_select;

/*
 * What the parser makes of some forms, so that nobody else has to:
 *   a is [not] true|false          BINARY = or !=
 *   a is [not] distinct from b     BINARY != or = (null equals null in this dialect)
 *   a not like b, not ilike, not within      UNARY not over the positive form
 *   a within (b, c)                CALL within(a, b, c)
 *   extract(hour from t)           CALL extract with a STRING argument 'hour'
 *   substring(s from a for b)      CALL substring(s, a, b); position(a in b): CALL position(b, a)
 *   t at time zone 'z'             CALL to_timezone(t, 'z')
 *   current_user (no brackets)     CALL without arguments, raw set
 *   +a                             a;   nan: NUMBER
 *   @name of DECLARE               the declared expression itself (nodes are shared: read-only);
 *                                  in FROM: its table, function or query. ALM_AST_VAR is left only
 *                                  for a name that is not declared in the text.
 *   count(distinct a)              CALL count with distinct, as written
 *   long AND / OR chains           balanced trees, so that depth stays small (`balanced` is set)
 */
typedef struct alm_ast_order { /* one ORDER BY item */
    alm_ast *expr;
    bool desc;
    int8_t nulls; /* 0 default, 1 first, 2 last */
} alm_ast_order;

typedef struct alm_window_def { /* OVER (...) or WINDOW name AS (...) */
    alm_str base;               /* name of the window it refers to, or empty */
    alm_ast **partition;
    uint32_t n_partition;
    alm_ast_order *order;
    uint32_t n_order;
    uint8_t frame;            /* alm_frame_unit; NONE: none given */
    uint8_t lo_kind, hi_kind; /* alm_frame_bound; NONE: not given */
    alm_ast *lo, *hi;         /* offsets */
    char lo_unit, hi_unit;    /* time unit of a RANGE offset: 'n','U','T','s','m','h','d' or 0 */
    uint8_t exclude;          /* alm_frame_exclude */
    int32_t pos;
} alm_window_def;

struct alm_ast { /* 176 bytes: VALUES lists are made of them, so no padding */
    alm_ast_kind kind;
    int32_t pos; /* of the operator for UNARY/BINARY, of the name for CALL */
    int32_t end; /* offset after the last byte of the node */
    int32_t type_pos;
    uint32_t n_args;
    uint32_t n_order;
    uint16_t depth; /* levels of nodes below and with this one, sub-queries included */
    bool quoted, table_quoted, negated, distinct, star, parens, double_colon, ignore_nulls,
        respect_nulls, symmetric;
    bool balanced; /* BINARY and/or: made of a chain; grouping is not the user's */
    alm_str text;
    alm_str table;     /* NAME, STAR: qualifier; CALL: schema */
    alm_str type_name; /* CAST, TYPED: as written, parameters included */
    alm_str raw;       /* literals, IS_NULL, SUBQUERY, EXISTS: as written, for names */
    int64_t number;
    alm_ast **arg;
    alm_ast *else_arg;
    alm_select *select;
    alm_window_def *over;
    alm_str over_name;    /* OVER name */
    alm_ast *filter;      /* FILTER (WHERE ...) */
    alm_ast_order *order; /* aggregate(x ORDER BY y) */
};

/* ---------------------------------------------------------------- queries */

typedef enum alm_from_kind {
    ALM_FROM_TABLE,
    ALM_FROM_FUNCTION,
    ALM_FROM_SELECT,
    ALM_FROM_VALUES,
    ALM_FROM_JOINS /* joined items in brackets */
} alm_from_kind;

/* Offsets of a HORIZON JOIN: RANGE FROM value[0] TO value[1] STEP value[2], or LIST (value, ...). */
typedef struct alm_horizon {
    bool list;
    alm_ast **value; /* NUMBER whose text is like 5s */
    bool *negative;
    uint32_t n;
    alm_str alias;
    int32_t pos;
} alm_horizon;

typedef struct alm_from { /* one item of FROM, with how it joins the items before it */
    alm_from_kind kind;
    alm_join_kind join;
    alm_str name; /* table */
    alm_str schema;
    bool quoted;
    alm_ast *call; /* table function */
    alm_select *select;
    alm_ast ***rows; /* VALUES */
    uint32_t n_rows, n_row_cols;
    struct alm_from *items; /* JOINS */
    uint32_t n_items;
    alm_str alias;
    alm_str *col_aliases;
    uint32_t n_col_aliases;
    alm_str timestamp; /* `t timestamp(col)` : designated for this use */
    int32_t timestamp_pos;
    alm_ast *on;
    alm_str *using_cols;
    int32_t *using_pos;
    uint32_t n_using;
    alm_ast *tolerance; /* NUMBER whose text is like 5s; or NULL */
    int32_t pos, join_pos;
    int32_t alias_pos, tolerance_pos;
    alm_window_def *window; /* WINDOW JOIN: its RANGE frame (frame, lo, hi, units) */
    alm_horizon *horizon;   /* HORIZON JOIN: on the last one of several */
    uint8_t direction;      /* ASOF, LT: alm_asof_direction */
    int32_t direction_pos;
    char prevailing; /* WINDOW JOIN: 0 not given, 'i' INCLUDE, 'e' EXCLUDE PREVAILING */
    bool lateral;
    bool ordinality; /* WITH ORDINALITY behind a function */
    bool natural;    /* NATURAL JOIN */
    bool merge;      /* USING, NATURAL: the joined columns are one */
} alm_from;

typedef struct alm_fill {
    char kind; /* 'n' NONE, 'N' NULL, 'p' PREV, 'l' LINEAR, 'v' value */
    alm_ast *value;
    alm_str prev; /* PREV(column); ptr NULL: of the column itself */
    int32_t pos;
} alm_fill;

typedef struct alm_sample_by {
    alm_ast *period; /* NUMBER text such as 1h, h, 15m, 500T; or expression with unit */
    char unit;       /* n U T s m h d w M y */
    int64_t count;
    alm_ast *count_expr; /* when the count is an expression / variable; else NULL */
    alm_ast *from, *to;
    alm_fill *fill;
    uint32_t n_fill;
    char align; /* 0 not given, 'c' CALENDAR, 'f' FIRST OBSERVATION */
    alm_ast *zone, *offset;
    int32_t pos;
} alm_sample_by;

typedef struct alm_select_item {
    alm_ast *expr;
    alm_str alias;
    int32_t alias_pos; /* of AS, or of the alias where AS is left out: where errors point */
    bool alias_quoted;
} alm_select_item;

/* One `column IN (values)` of PIVOT ... FOR; either values or select. */
typedef struct alm_pivot_for {
    alm_ast *column;
    alm_select_item *values;
    uint32_t n_values;
    alm_select *select;
    int32_t pos, in_pos; /* in_pos: first token inside the brackets of IN */
} alm_pivot_for;

/* PIVOT (aggregates FOR column IN (...) ... [GROUP BY ...]): sel->ext of the select it stands in.
 * Its input is the select's FROM and WHERE; items, ORDER BY and LIMIT see its output. */
typedef struct alm_pivot {
    alm_select_item *aggs;
    uint32_t n_aggs;
    alm_pivot_for *fors;
    uint32_t n_fors;
    alm_ast **group;
    uint32_t n_group;
    int32_t pos;
} alm_pivot;

/* UNPIVOT (value FOR name IN (columns)): over FROM and WHERE of the select it stands in. */
typedef struct alm_unpivot {
    alm_str value, name;
    alm_select_item *columns;
    uint32_t n_columns;
    bool nulls; /* INCLUDE NULLS */
    int32_t pos;
} alm_unpivot;

typedef struct alm_cte {
    alm_str name;
    alm_str *cols;
    uint32_t n_cols;
    alm_select *select;
    int32_t pos;
    int8_t materialized; /* 1 AS MATERIALIZED, -1 AS NOT MATERIALIZED, 0 not given */
} alm_cte;

typedef struct alm_declare { /* DECLARE [OVERRIDABLE] @name := expr; name without the @ */
    alm_str name;
    alm_ast *value;
    int32_t pos;
    bool overridable;
    int32_t assign_pos;
} alm_declare;

typedef struct alm_named_window {
    alm_str name;
    alm_window_def *def;
    int32_t pos;
} alm_named_window;

typedef enum alm_set_op {
    ALM_SET_NONE,
    ALM_SET_UNION,
    ALM_SET_EXCEPT,
    ALM_SET_INTERSECT
} alm_set_op;

/*
 * One query. Set operations: op != NONE, left and right hold the operands, and order, limit of the
 * whole stand here; the other members are unused then.
 */
struct alm_select {
    int32_t pos, end;
    alm_declare *declare;
    uint32_t n_declare;
    alm_cte *with;
    uint32_t n_with;
    bool with_recursive;
    alm_set_op op;
    bool all;
    int32_t op_pos;
    alm_select *left, *right;
    bool distinct;
    alm_ast **distinct_on;
    uint32_t n_distinct_on;
    alm_select_item *items;
    uint32_t n_items;
    bool implicit_star; /* `tab where ...` without SELECT */
    alm_from *from;
    uint32_t n_from;
    alm_ast *where;
    int32_t where_pos;
    alm_ast **latest_by; /* LATEST ON ts PARTITION BY ... (or old LATEST BY) */
    uint32_t n_latest_by;
    alm_str latest_ts;
    int32_t latest_pos;
    bool latest_before_where; /* (t latest on ...) where: filter applies to the result */
    alm_sample_by *sample;
    alm_ast **group;
    uint32_t n_group;
    bool has_group;
    bool group_all; /* GROUP BY ALL: by all items without aggregates */
    uint64_t
        *group_sets; /* ROLLUP, CUBE, GROUPING SETS: bit i: by group[i]; n_group_sets 0: none */
    uint32_t n_group_sets;
    int32_t group_pos;
    alm_ast *having;
    alm_named_window *windows;
    uint32_t n_windows;
    alm_ast *qualify;
    alm_ast_order *order;
    uint32_t n_order;
    alm_ast *limit_lo, *limit_hi; /* LIMIT lo[,hi] */
    bool limit_comma;
    bool with_ties; /* FETCH ... WITH TIES */
    alm_ast *offset;
    int32_t limit_pos;
    alm_unpivot *unpivot;
    void *ext;      /* alm_pivot, or NULL */
    uint32_t depth; /* as in alm_ast */
};

/* ---------------------------------------------------------------- statements */

typedef enum alm_stmt_kind { /* statement.def says of each what is where in alm_stmt */
#define ALM_STATEMENT(kind, tag, words, at, parse, does, permission, check, run) ALM_STMT_##kind,
#include "sql/parse/statement.def"
#undef ALM_STATEMENT
                             ALM_STMT_COUNT
} alm_stmt_kind;

/* What a kind of statement does, for those who treat several kinds alike. */
typedef enum alm_stmt_does {
    ALM_S_WRITES = 1 << 0,       /* refused where nothing may be written */
    ALM_S_READS = 1 << 1,        /* reads rows: in a block it sees what the block has written */
    ALM_S_ROWS = 1 << 2,         /* its result is the rows of a query */
    ALM_S_CHANGES = 1 << 3,      /* changes rows of a table, and counts them */
    ALM_S_EXPORTS = 1 << 4,      /* rows or files leave the database: audit.export */
    ALM_S_DDL = 1 << 5,          /* changes the catalogue: audit.ddl */
    ALM_S_NAMES = 1 << 6,        /* makes, changes or drops what later statements may name */
    ALM_S_SETTLES = 1 << 7,      /* views may be valid, or invalid, after it */
    ALM_S_FREES = 1 << 8,        /* frees space, so an administrator may run it on a full disk */
    ALM_S_FAILED_BLOCK = 1 << 9, /* runs in a block that has failed */
    ALM_S_SHORT = 1 << 10,       /* takes no time before its first rows */
    ALM_S_EXPLAINED = 1 << 11,   /* EXPLAIN shows its plan */
    ALM_S_TYPED = 1 << 12        /* its plan has the types of its parameters */
} alm_stmt_does;

typedef struct alm_stmt_info {
    const char *tag;        /* "": the words of the statement */
    const char *permission; /* NULL: see statement.def */
    uint32_t does;          /* alm_stmt_does */
} alm_stmt_info;

const alm_stmt_info *alm_stmt_info_of(alm_stmt_kind kind);
static inline bool alm_stmt_does_any(alm_stmt_kind kind, uint32_t does)
{
    return (alm_stmt_info_of(kind)->does & does) != 0;
}

/* CREATE INDEX: columns and expressions of the index, then those behind INCLUDE. */
typedef struct alm_index_words {
    alm_ast **items;
    uint32_t n_items, n_keys;
    alm_ast *where;     /* NULL: of all rows */
    int32_t unique_pos; /* -1: not UNIQUE */
} alm_index_words;

/* What is said of a transaction. */
typedef struct alm_tx_words {
    int8_t read_only;      /* 1 READ ONLY, -1 READ WRITE, 0 not said */
    bool chain;            /* AND CHAIN */
    bool session;          /* SET SESSION CHARACTERISTICS: of the transactions to come */
    const char *isolation; /* lower case; NULL: not said */
} alm_tx_words;

/* DECLARE name CURSOR, FETCH, MOVE. */
typedef struct alm_cursor_words {
    alm_str name;  /* as written, with its quotes */
    int64_t count; /* INT64_MAX: all */
    bool move, hold, binary;
} alm_cursor_words;

/* PREPARE name (types) AS text. */
typedef struct alm_prepare_words {
    alm_str name;    /* as written, with its quotes */
    alm_type *types; /* NONE: not said */
    uint32_t n_types;
    alm_str text;
    int32_t pos; /* where it begins */
} alm_prepare_words;

/* EXECUTE name (values), EXPLAIN [ANALYZE] in front of it or not. */
typedef struct alm_execute_words {
    alm_str name; /* as written, with its quotes */
    uint32_t n_values;
    int32_t pos;
    bool explain, analyze, json;
} alm_execute_words;

typedef struct alm_column_def {
    alm_str name;
    alm_str type_name;
    int32_t pos, type_pos;
    int64_t symbol_capacity;      /* 0 not given */
    int8_t cache;                 /* -1 NOCACHE, 1 CACHE, 0 not given */
    bool indexed, not_null, cast; /* cast: from the cast(col as type) list of CREATE TABLE AS */
    int64_t index_capacity;
} alm_column_def;

typedef struct alm_assign {
    alm_str col;
    int32_t pos;
    alm_ast *value;
} alm_assign;

typedef struct alm_stmt {
    alm_stmt_kind kind;
    int32_t pos, end; /* text range, the ';' not included */
    alm_str text;     /* first words, upper case, for tags: "CREATE TABLE" */
    alm_str table;
    bool table_quoted;
    int32_t table_pos;
    bool if_exists, if_not_exists, all_tables;
    alm_str *more_tables; /* TRUNCATE a, b, c: those behind the first */
    int32_t *more_pos;
    uint32_t n_more;
    alm_str *absent; /* IF EXISTS: names, with it, of schemas without such tables; left out above */
    uint32_t n_absent;
    alm_str column; /* COMMENT ON COLUMN */
    int32_t column_pos;
    alm_select *select; /* SELECT, EXPLAIN, INSERT SELECT, CREATE TABLE AS, UPDATE FROM (as from) */
    struct alm_stmt *inner; /* EXPLAIN of another statement */
    bool analyze, json;     /* ... FORMAT JSON */
    /* CREATE TABLE */
    alm_column_def *cols;
    uint32_t n_cols;
    alm_str like;
    int32_t like_pos;
    alm_str timestamp;
    int32_t timestamp_pos;
    alm_str partition; /* as written: DAY ... empty: not given */
    int32_t partition_pos;
    int8_t wal; /* 1 WAL, -1 BYPASS WAL, 0 not given */
    alm_str *dedup_keys;
    int32_t *dedup_pos;
    uint32_t n_dedup;
    bool dedup;
    int64_t ttl_count;
    char ttl_unit; /* 0: no TTL */
    alm_str volume;
    alm_assign *with; /* WITH name = value, ... */
    uint32_t n_with;
    int64_t batch_size, o3_max_lag_us;
    /* INSERT */
    alm_str *insert_cols;
    int32_t *insert_pos;
    uint32_t n_insert_cols;
    alm_ast ***rows;    /* rows[r][c] */
    uint32_t *row_lens; /* values in row r */
    int32_t *row_pos;
    uint32_t n_rows;
    alm_select *returning; /* its items; UPDATE and DELETE, too; NULL: none */
    /* UPDATE */
    alm_str alias;
    alm_assign *set;
    uint32_t n_set;
    alm_from *from;
    uint32_t n_from;
    alm_ast *where;
    int32_t where_pos;
    /* RENAME */
    alm_str new_name;
    int32_t new_name_pos;
    /* SHOW, SET, OTHER */
    alm_str what; /* SHOW: "tables", "columns", "parameters", a setting ... lower case */
    alm_str value;
    int32_t what_pos;
    bool local;        /* SET LOCAL */
    uint32_t n_params; /* highest $n seen */
    void *ext;         /* ALTER_TABLE: alm_alter; OTHER: alm_alter or alm_create_view where text
                               says so, else NULL */
    int32_t ttl_pos, dedup_kw_pos, volume_pos; /* of the value, of UPSERT, of the name */
    int32_t *row_end;                          /* INSERT: of the ')' behind row r */
    bool or_replace;
    bool keep_symbols; /* TRUNCATE ... KEEP SYMBOL MAPS */
    bool cascade;      /* DROP TABLE ... CASCADE PERMISSIONS */
    alm_str owner;     /* OWNED BY; len 0: not given */
    int32_t owner_pos;
    alm_str range_from, range_to; /* REFRESH ... RANGE: texts; range_to: BACKUP ... TO */
    int32_t range_from_pos, range_to_pos;
} alm_stmt;

static inline const char *alm_stmt_permission(const alm_stmt *stmt)
{
    return alm_stmt_info_of(stmt->kind)->permission;
}

/* Statements about users, groups, tokens and grants. */
typedef enum alm_acl_verb {
    ALM_ACL_CREATE, /* kind, name, password; group: alias; owner in the statement */
    ALM_ACL_DROP,
    ALM_ACL_ENABLE,
    ALM_ACL_DISABLE,
    ALM_ACL_PASSWORD, /* password, or none of it */
    ALM_ACL_MEMORY,   /* limit: as it is written; ptr NULL: UNLIMITED */
    ALM_ACL_ADD_TOKEN,
    ALM_ACL_DROP_TOKEN,
    ALM_ACL_ADD_ALIAS,
    ALM_ACL_DROP_ALIAS,
    ALM_ACL_ADD_MEMBER, /* name, names: of groups */
    ALM_ACL_REMOVE_MEMBER,
    ALM_ACL_GRANT, /* permissions, objects, name: of the entity */
    ALM_ACL_REVOKE,
    ALM_ACL_GRANT_ASSUME, /* names[0]: service account */
    ALM_ACL_REVOKE_ASSUME,
    ALM_ACL_ASSUME, /* name: service account */
    ALM_ACL_EXIT
} alm_acl_verb;

typedef struct alm_acl_name {
    alm_str text; /* ptr NULL: not given */
    int32_t pos;
} alm_acl_name;

typedef struct alm_acl_object { /* of GRANT: a table, maybe its columns */
    alm_acl_name table;
    alm_acl_name *columns;
    uint32_t n_columns;
    bool star;             /* (*): the columns there are now */
    alm_acl_name *exclude; /* but these */
    uint32_t n_exclude;
} alm_acl_object;

typedef struct alm_acl_words {
    alm_acl_verb verb;
    char kind; /* u user, s service account, g group; 0: any of them */
    alm_acl_name name;
    alm_acl_name *names;
    uint32_t n_names;
    alm_acl_name password, alias;
    bool no_password;
    bool jwk; /* token: a key, else a REST token */
    alm_acl_name limit;
    alm_acl_name ttl, token;
    bool refresh, transient;
    alm_acl_name *permissions; /* upper case, one blank between words */
    uint32_t n_permissions;
    bool on, all_tables; /* ON ...; ON ALL TABLES */
    alm_acl_object *objects;
    uint32_t n_objects;
    bool option, verify; /* WITH GRANT OPTION, WITH VERIFICATION */
} alm_acl_words;

/* COPY: where the bytes come from or go to. */
typedef enum alm_copy_place {
    ALM_COPY_AT_STREAM,
    ALM_COPY_AT_FILE,
    ALM_COPY_AT_CANCEL
} alm_copy_place;

/* One option of COPY, in brackets or by words: header, delimiter 'x', force_quote (a, b). */
typedef struct alm_copy_option {
    alm_str name;  /* lower case, one word */
    alm_str value; /* ptr NULL: none */
    bool quoted;   /* the value is a STRING */
    bool all;      /* it is * */
    alm_str *list; /* columns */
    uint32_t n_list;
    int32_t pos, value_pos;
} alm_copy_option;

typedef struct alm_copy {
    alm_copy_place place;
    alm_str file; /* name; of CANCEL: the id */
    int32_t file_pos;
    alm_copy_option *options;
    uint32_t n_options;
    alm_ast *where; /* FROM: of the rows that come; NULL: all */
    alm_str query;  /* TO: as it is written between the brackets, ptr NULL: it is a table, ... */
    alm_str table, columns; /* ... its name as written, and the columns, ptr NULL: all */
    alm_str schema;         /* of the table */
} alm_copy;

/* ALTER TABLE | MATERIALIZED VIEW | VIEW name action; stmt->table names the object. */
typedef enum alm_alter_kind {
    ALM_ALTER_ADD_COLUMN,      /* cols; if_not_exists */
    ALM_ALTER_DROP_COLUMN,     /* cols: name, pos */
    ALM_ALTER_RENAME_COLUMN,   /* cols: old names; new_names */
    ALM_ALTER_COLUMN_TYPE,     /* cols[0] with type and symbol options */
    ALM_ALTER_COLUMN_CAPACITY, /* cols[0].symbol_capacity */
    ALM_ALTER_ADD_INDEX,       /* cols[0].index_capacity */
    ALM_ALTER_DROP_INDEX,
    ALM_ALTER_CACHE,          /* cols[0].cache */
    ALM_ALTER_DROP_PARTITION, /* list or where; so do the next four */
    ALM_ALTER_DETACH_PARTITION,
    ALM_ALTER_ATTACH_PARTITION,
    ALM_ALTER_TO_PARQUET,
    ALM_ALTER_TO_NATIVE,
    ALM_ALTER_SQUASH,
    ALM_ALTER_SET_TTL,   /* stmt->ttl_count, ttl_unit, ttl_pos */
    ALM_ALTER_SET_PARAM, /* stmt->with */
    ALM_ALTER_SET_TYPE,  /* value: WAL or BYPASS WAL in stmt->wal */
    ALM_ALTER_DEDUP,     /* stmt->dedup_keys */
    ALM_ALTER_DEDUP_OFF,
    ALM_ALTER_SUSPEND_WAL,
    ALM_ALTER_RESUME_WAL,
    ALM_ALTER_REFRESH,       /* of a materialized view: refresh */
    ALM_ALTER_REFRESH_LIMIT, /* stmt->ttl_count, ttl_unit */
    ALM_ALTER_QUERY,         /* ALTER VIEW v AS (query): stmt->select */
    ALM_ALTER_KIND_COUNT
} alm_alter_kind;

typedef struct alm_alter {
    alm_alter_kind kind;
    int32_t pos; /* of the first word of the action */
    alm_column_def *cols;
    uint32_t n_cols;
    alm_str *new_names;
    int32_t *new_pos;
    alm_ast **list; /* partition names: STRING */
    uint32_t n_list;
    alm_ast *where;
    int32_t where_pos;
    alm_str value;
    bool force; /* FORCE DROP PARTITION */
    struct alm_refresh_clause *refresh;
} alm_alter;

typedef struct alm_length { /* 3h; count 0: not given */
    int64_t count;
    char unit; /* m h d w M y */
    int32_t pos;
} alm_length;

/* REFRESH IMMEDIATE | MANUAL | EVERY 1h [START 't' [TIME ZONE 'z']] [DEFERRED]
 * [PERIOD (LENGTH 1d [TIME ZONE 'z'] [DELAY 2h])] */
typedef struct alm_refresh_clause {
    char kind; /* i m t, 0: nothing said */
    bool deferred;
    alm_length every, period, delay;
    bool period_is_sample; /* PERIOD (SAMPLE BY INTERVAL) */
    alm_str start, zone;
    int32_t start_pos, zone_pos;
} alm_refresh_clause;

/* CREATE [MATERIALIZED] VIEW; the query is stmt->select, its text here. */
typedef struct alm_create_view {
    bool materialized;
    alm_str sql;  /* the query as written, without brackets around it */
    alm_str base; /* WITH BASE */
    int32_t base_pos;
    alm_refresh_clause refresh;
} alm_create_view;

/*
 * Name of the n-th result column that would be called the same (n = 1: alm_ast_name itself): the
 * dialect appends _n inside its length limit of 64 bytes, inside the quotes of a quoted name. The
 * caller counts n up until the name is free (names are compared without case).
 */
ALM_NODISCARD alm_status alm_ast_name_nth(alm_ctx *cx, const alm_ast *expr, uint32_t n,
                                          const char **out);

/* Like alm_ast_name, but whole: neither quoted nor cut. For EXPLAIN and messages. */
ALM_NODISCARD alm_status alm_ast_text(alm_ctx *cx, const alm_ast *expr, const char **out);

#endif
