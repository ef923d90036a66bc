/*
 * plan.h - what the binder and planner make and exec runs: bound expressions (columns are numbers,
 * functions are registry rows, types are known) and a tree of physical operators.
 *
 * A plan is read-only and lives in the query arena; run state is a separate tree (exec). Every node
 * says its result columns. `pos` is for error messages.
 */
#ifndef ALM_SQL_PLAN_H
#define ALM_SQL_PLAN_H

#include "func/registry.h"
#include "sql/plan/join_kind.h"
#include "storage/catalog.h"
#include "time/bucket.h"

typedef enum alm_expr_kind {
    ALM_X_CONST, /* value */
    ALM_X_COL,   /* column of the input */
    ALM_X_CALL,  /* scalar function, operator or cast */
    ALM_X_CASE,  /* searched CASE; COALESCE and friends too */
    ALM_X_PARAM  /* only while a statement is described without values */
} alm_expr_kind;

typedef struct alm_expr alm_expr;
struct alm_expr {
    alm_expr_kind kind;
    alm_type type;
    int32_t pos;
    bool stable_only; /* contains ALM_FN_STABLE or VOLATILE calls */
    bool
        lenient; /* CALL: a cast that nobody wrote, null for what does not fit (alm_expr_compare) */
    bool bound;  /* CONST: from the value of a bind variable */
    alm_vec value;    /* CONST: one element */
    uint32_t col;     /* COL */
    const alm_fn *fn; /* CALL */
    const void *data; /* CALL: from bind */
    alm_expr **args;  /* CALL: arguments; CASE: when, then, when, then ... [else] */
    uint32_t n_args;
    /* Nodes that it is made of, a part that stands in several places counted in each, as what walks it meets it there:
     * alm_expr_measure; 0: a leaf. At most sql.nodes.max. */
    uint32_t size;
};

/* Equal expressions have equal hashes; of a large one only the top is looked at. */
uint64_t alm_expr_hash(const alm_expr *expr);

enum { ALM_AGG_ARGS_MAX = 16 };

/* A key of ORDER BY inside an aggregate. */
typedef struct alm_agg_order {
    bool desc, nulls_first;
} alm_agg_order;

typedef struct alm_agg_call {
    const alm_fn *fn;
    const void *data;
    alm_expr **args; /* the last n_order of them are sort keys, not arguments */
    uint32_t n_args;
    alm_expr *filter; /* FILTER (WHERE), or NULL */
    const alm_agg_order *order;
    uint32_t n_order;
    bool distinct;
    alm_type type;
    int32_t pos;
} alm_agg_call;

typedef struct alm_sort_key {
    alm_expr *expr;
    bool desc;
    bool nulls_first; /* resolved from the default of the dialect */
} alm_sort_key;

typedef struct alm_window_call {
    const alm_fn *fn; /* kind WINDOW, or AGGREGATE used as a window */
    const void *data;
    alm_expr **args;
    uint32_t n_args;
    alm_expr *filter;
    bool ignore_nulls;
    alm_type type;
    alm_expr **partition;
    uint32_t n_partition;
    alm_sort_key *order;
    uint32_t n_order;
    uint8_t frame;            /* alm_frame_unit; always set */
    uint8_t lo_kind, hi_kind; /* alm_frame_bound; always set */
    int64_t lo, hi;           /* rows, groups, or units of the order column */
    double lo_real, hi_real;  /* the same for RANGE over a floating column */
    bool distinct;            /* of an aggregate: each value counts once */
    uint8_t exclude;          /* alm_frame_exclude */
    bool order_is_ts; /* ORDER BY is the designated timestamp in input order: nothing to sort */
    int32_t pos;
} alm_window_call;

typedef enum alm_plan_op {
#define ALM_OP(id, node, name, doc) ALM_P_##id,
#include "sql/plan/op.def"
#undef ALM_OP
    ALM_PLAN_OP_COUNT
} alm_plan_op;

typedef struct alm_plan_col {
    const char *name;
    alm_type type;
    /* Of the result of a query: the column of a table or view that it is, counted from 1; 0: it is none. */
    uint32_t table_col;
    uint64_t table_id;
} alm_plan_col;

/* A call of a table function. */
typedef struct alm_source_call {
    alm_snapshot *snap;
    int32_t pos;
    const alm_expr *const *args; /* constants */
    uint32_t n_args;
} alm_source_call;

/* What its source answers; memory from cx->arena. */
typedef struct alm_source_bound {
    alm_plan_col *cols;
    uint32_t n_cols;
    int32_t ts_col;
    double est_rows;
    void *data;
    uint32_t n_hidden; /* more columns after the others in cols: of its `codes` */
    bool scanned;      /* it takes conditions and may leave out columns */
} alm_source_bound;

typedef enum alm_ts_order { ALM_ORDER_NONE, ALM_ORDER_ASC, ALM_ORDER_DESC } alm_ts_order;

/* Closed interval of the designated timestamp, in the unit of its type. */
typedef struct alm_interval {
    int64_t lo, hi;
} alm_interval;

typedef struct alm_fill_spec {
    char kind;       /* 'n' NONE, 'N' NULL, 'p' PREV, 'l' LINEAR, 'v' value */
    alm_expr *value; /* constant of the aggregate's type */
    uint32_t prev;   /* 'p': 1 + the aggregate whose previous value it is; 0: its own */
} alm_fill_spec;

/*
 * SAMPLE BY. Result columns: bucket start, keys, aggregates, in that order; a PROJECT above makes
 * the select list. Input is in timestamp order (the planner sorts otherwise).
 */
typedef struct alm_sample_spec {
    uint32_t ts_col; /* of the input */
    int64_t count;   /* stride */
    char unit;       /* n U T s m h d w M y */
    bool first_observation;
    const char *zone; /* NULL: UTC; else a zone name or offset, checked */
    int64_t offset;   /* in the unit of the timestamp */
    bool has_from, has_to;
    int64_t from, to; /* from inclusive, to exclusive */
    alm_expr **keys;
    uint32_t n_keys;
    alm_agg_call *aggs;
    uint32_t n_aggs;
    alm_fill_spec *fill; /* n_aggs entries, or NULL: no filling */
    bool backward;       /* newest bucket first; only where alm_sample_turns */
} alm_sample_spec;

/* Can its rows be made newest first? One row a bucket, each from its own rows alone. */
static inline bool alm_sample_turns(const alm_sample_spec *sample_spec)
{
    return sample_spec->n_keys == 0 && sample_spec->fill == NULL && !sample_spec->first_observation;
}

/* Its buckets; `ts_type` is the type of the timestamp. Those aligned to the first observation get their
 * origin from whoever knows it. */
static inline alm_bucket_spec alm_sample_buckets(const alm_sample_spec *sample_spec,
                                                 alm_type ts_type, const alm_zone *zone)
{
    const bool from =
        sample_spec->has_from && !sample_spec->first_observation; /* says where buckets start */
    return (alm_bucket_spec){.unit = sample_spec->unit,
                             .count = sample_spec->count,
                             .time_unit =
                                 ts_type.id == ALM_T_TIMESTAMP_NS ? ALM_TIME_NS : ALM_TIME_US,
                             .zone = zone,
                             .offset = from ? 0 : sample_spec->offset,
                             .has_origin = from,
                             .origin = from ? sample_spec->from : 0};
}

/*
 * In scan.cols: not a column but the position of the row, a LONG, counted from 0 over all rows of the
 * table in scan order (0 is the first row of span 0). UPDATE asks for it, always of all rows
 * (has_interval is false) and forward, so that positions stay the same whatever the filters are.
 */
#define ALM_SCAN_ROW UINT32_MAX

typedef struct alm_plan alm_plan;
struct alm_plan {
    alm_plan_op op;
    int32_t pos;
    uint32_t id; /* unique in the plan, for EXPLAIN ANALYZE */
    uint32_t
        depth; /* of nodes below it when it was made, itself too: what walks plans calls itself */
    alm_plan_col *cols; /* result */
    uint32_t n_cols;
    bool waits;            /* of a whole query: it calls a function that waits */
    bool effects;          /* of a whole query: it calls a function that changes something */
    const alm_table *view; /* whose rows these are, as it was bound; NULL: of none */
    int32_t ts_col;        /* designated timestamp among cols, -1 */
    alm_ts_order order;    /* rows come ordered by ts_col */
    double est_rows;       /* how many rows this node reads or makes, for inline execution */
    alm_plan **child;
    uint32_t n_children;
    union {
        struct { /* SCAN: columns of a table in timestamp order (or table order without one) */
            const alm_table *table;
            uint32_t *cols;         /* table column numbers, or ALM_SCAN_ROW */
            uint32_t n_cols;        /* of them: n_out results, then what only filters need */
            alm_interval *interval; /* sorted, disjoint; n == 0 with has_interval: nothing */
            uint32_t n_intervals;
            bool has_interval;
            bool
                skips; /* of a scan with positions, which keeps its filters: what lies outside of the intervals is not read */
            bool backward;
            alm_expr **filter; /* conjuncts over the scan's columns, cheapest first */
            uint32_t n_filters;
            uint32_t n_out;    /* result is the first n_out of cols; the rest serve filters */
            uint8_t unordered; /* consumer does not need order */
            bool whole;        /* for a statement that changes the table: it reads what it must */
            const char *view;  /* in whose query it stands; NULL: none */
        } scan;
        struct { /* SOURCE: table function (exec/source/source.def) */
            const char *name;
            const struct alm_source *function; /* as alm_source_if.find gave it */
            alm_expr **args;                   /* constants */
            uint32_t n_args;
            void *data; /* from its bind */
            /* A source that is scanned as a table is (exec/source/source.h): all its columns, and behind them those
             * that only the rule `codes` uses; NULL: it gives all it has and takes no conditions. The
             * rest as in SCAN. */
            alm_plan_col *all;
            uint32_t n_all;
            uint32_t *cols;
            uint32_t n_cols, n_out;
            alm_expr **filter;
            uint32_t n_filters;
        } source;
        struct { /* VALUES: either expressions row by row, or `vecs`: one vector of n_rows elements
                    (dense, or const) for each column, made by INSERT; rows is NULL then. A SELECT
                    without FROM is one row, n_rows == 1 */
            alm_expr ***rows;
            uint32_t n_rows;
            alm_vec *vecs;
        } values;
        struct { /* FILTER */
            alm_expr **conjunct;
            uint32_t n;
        } filter;
        struct { /* PROJECT: cols[i] = expr[i] over the child */
            alm_expr **expr;
        } project;
        struct { /* GROUP: keys then aggregates; no keys: exactly one row. DISTINCT: no aggs */
            alm_expr **keys;
            uint32_t n_keys;
            alm_agg_call *aggs;
            uint32_t n_aggs;
        } group;
        alm_sample_spec sample;
        struct { /* SORT; limit -1: all rows; n >= 0: the first n (top-k); -1 - n: the last n */
            alm_sort_key *keys;
            uint32_t n_keys;
            int64_t limit;
        } sort;
        struct { /* LIMIT: rows lo..hi-1 counted from 0; negative counts from the end; the planner
                    passes hi = INT64_MAX for an open end */
            int64_t lo, hi;
            bool single; /* 0, 1 and more rows than that are an error: a subquery that is a value */
        } limit;
        struct { /* SETOP over two children of equal types: UNION is ALL + GROUP above it */
            enum alm_set_kind {
                ALM_SETOP_UNION_ALL,
                ALM_SETOP_EXCEPT,
                ALM_SETOP_EXCEPT_ALL,
                ALM_SETOP_INTERSECT,
                ALM_SETOP_INTERSECT_ALL
            } kind;
        } setop;
        struct { /* JOIN: result is the left columns, then the right ones (SEMI, ANTI: the left ones
                    only). Rows come in the order of the left input, but for RIGHT, FULL and
                    SPLICE: node.order relies on it. Keys compare null = null. No keys and no
                    residual: every pair (LEFT: null row on the right if there is none) */
            uint8_t kind;          /* alm_join_kind: CROSS, INNER, LEFT, RIGHT, FULL,
                                       ASOF, LT, SPLICE, SEMI, ANTI */
            alm_expr **left_keys;  /* over the left child */
            alm_expr **right_keys; /* over the right child; pairs have equal types (text may mix) */
            uint32_t n_keys;
            alm_expr **residual; /* over left columns ++ right columns */
            uint32_t n_residual;
            uint32_t left_ts, right_ts; /* ASOF family */
            int64_t tolerance;          /* < 0: none; in the unit of the left timestamp */
            bool unordered;             /* nobody sees the order of the rows */
            uint8_t direction;          /* alm_asof_direction: ASOF, LT */
            bool has_lane;      /* ASOF above a HORIZON: rows come in time order only among */
            uint32_t lane_col;  /* those with the same offset, which is this left column */
            const bool *unread; /* by column of the result: nobody reads it, it may hold nulls;
                                       NULL: all are read */
        } join;
        struct { /* WINDOW_JOIN: left columns ++ one per aggregate. Both inputs come in ascending
                    order of their timestamps. Right rows of a left row: equal keys (null = null)
                    and left_ts + lo <= right_ts <= left_ts + hi */
            alm_expr **left_keys, **right_keys; /* over their child */
            uint32_t n_keys;
            uint32_t left_ts, right_ts;
            int64_t lo, hi; /* in the unit of the left timestamp; INT64_MIN: from the start */
            int32_t lo_col, hi_col; /* instead of lo, hi: left columns (LONG) with the ticks of the
                                       row, null: no rows; -1: lo, hi */
            bool prevailing;        /* without a row at left_ts + lo, the last one before it too */
            alm_agg_call *aggs;     /* over left columns ++ right columns */
            uint32_t n_aggs;
        } winjoin;
        struct
        { /* HORIZON: child columns, then offset (LONG) and time + offset, once per offset; the
                    child comes in ascending order of ts_col. Rows with the same offset stay in
                    order, all rows together do not: batch by batch, offset by offset */
            uint32_t ts_col; /* of the child */
            int64_t *offset; /* ascending, in the unit of the timestamp */
            uint32_t n_offsets;
        } horizon;
        struct { /* WINDOW: child columns ++ one column per call */
            alm_window_call *calls;
            uint32_t n_calls;
            int64_t
                top; /* > 0: rows whose rank() would be above it need not come. All calls have the
                            same PARTITION BY and ORDER BY and look at rows before theirs only */
            bool top_ties; /* rows that tie with the last one are wanted too */
        } window;
        struct { /* SHARED: no children; result column i is column cols[i] of the rows kept */
            alm_plan *of; /* MATERIALISE; all that share it point to the same node */
            uint32_t *cols;
        } shared;
        struct { /* MATERIALISE: columns of the child; runs once, when somebody asks first */
            const char *name;
            bool must;     /* inlining would change what it means (volatile), or was forbidden */
            bool never;    /* NOT MATERIALIZED */
            uint32_t refs; /* SHARED nodes in the plan; 0: no part of it any more */
            bool *checked; /* by column: overflows of it are refused (opt/overflow.c); or NULL */
            struct alm_shared_use *uses; /* of the rule `prune` */
        } materialise;
        struct { /* RECURSE: rows of child 0, then those of child 1 again and again, each time over
                    the rows found last, until there are none */
            bool distinct; /* UNION: rows that were there before do not count */
            const char *name;
        } recurse;
        struct { /* WORKING: no children; the rows a RECURSE around it found last, all columns */
            const alm_plan *of;
            const struct alm_exprs
                *carried; /* columns of the query around the recursion it is to get
                                                (node/recurse.c); NULL: none */
        } working;
        struct { /* LATEST: last row per key by ts_col of the child; result = child columns, in
                    timestamp order. Child is a SCAN wherever possible */
            alm_expr **keys;
            uint32_t n_keys;
            uint32_t ts_col;
        } latest;
        struct { /* BARRIER: rows of the child */
            bool
                sealed; /* the plan is shown to whom the view hides rows: what is below is left out (bind/view.c) */
        } barrier;
    };
};

static inline bool alm_plan_is_sealed(const alm_plan *plan)
{
    return plan->op == ALM_P_BARRIER && plan->barrier.sealed;
}

/* Nodes are numbered as they are walked: what several SHARED nodes point to comes right behind the first
 * of them, which is where who walks a whole plan goes down. */
static inline bool alm_plan_lists(const alm_plan *plan)
{
    return plan->op == ALM_P_SHARED && plan->shared.of->id == plan->id + 1;
}

#endif
