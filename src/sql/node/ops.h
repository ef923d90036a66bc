/*
 * ops.h - what a kind of node answers for itself. Each operator of plan/op.def has one file in this folder with one
 * table, alm_node_<name>; the rules of the optimiser and the binder ask the table and know no operator by name.
 *
 * To add one   A row in plan/op.def, its member in plan/plan.h, a file here. A member of the table that is left out
 *              means the cautious answer, which is written beside it.
 */
#ifndef ALM_SQL_NODE_OPS_H
#define ALM_SQL_NODE_OPS_H

#include "sql/plan/expr.h"

typedef enum alm_node_flag {
    ALM_NODE_SAME_COLUMNS = 1 << 0, /* its columns are those of its first child */
    ALM_NODE_SAME_ROWS =
        1 << 1, /* its rows are those of its child, some left out or in another order */
    ALM_NODE_LEFT_FIRST =
        1 << 2, /* the columns of its first child, then others that are computed */
    ALM_NODE_ONE_LEFT_ROW = 1 << 3,  /* LEFT_FIRST, and one row for each row of its first child */
    ALM_NODE_ORDERED_INPUT = 1 << 4, /* the order of the rows of its first child matters to it */
    ALM_NODE_FOLLOWS = 1 << 5,       /* it has no row unless its first child has one */
    ALM_NODE_HEAVY =
        1 << 6, /* it sees all rows before it gives the first: running it twice is expensive */
    ALM_NODE_REDUCES = 1 << 7, /* it makes few rows of many */
    ALM_NODE_CHEAP = 1 << 8,   /* running it again costs less than keeping its rows */
    ALM_NODE_FAST = 1 << 9,    /* about a nanosecond for each row and column */
    ALM_NODE_OPEN = 1 << 10,   /* a template may have it: parameters stay open in its conditions */
    ALM_NODE_REFRESHABLE =
        1 << 11,                 /* a materialized view that has it can be refreshed by buckets */
    ALM_NODE_MAY_LEAK = 1 << 12, /* it could tell of rows that a view hides (opt/barrier.c) */
} alm_node_flag;

/* Keys and aggregates of a node that groups. */
typedef struct alm_node_groups {
    uint32_t first; /* number of the first key among its columns; the aggregates follow the keys */
    alm_expr **keys;
    uint32_t n_keys;
    alm_agg_call *aggs;
    uint32_t n_aggs;
} alm_node_groups;

typedef alm_status (*alm_expr_visit)(void *arg, alm_expr **e);
typedef struct alm_checking alm_checking;         /* check.h */
typedef struct alm_printer alm_printer;           /* explain.h */
typedef struct alm_explain_json alm_explain_json; /* explain.h */
typedef struct alm_dep_ctx alm_dep_ctx;           /* decorrelate.h */

typedef struct alm_node_ops {
    /* Its name in EXPLAIN (FORMAT JSON), in PostgreSQL's words, or what depends on the plan. */
    const char *pg_name;
    const char *(*pg_name_of)(const alm_plan *plan);
    uint32_t n_children;
    uint32_t flags; /* alm_node_flag */
    /* false or NULL: it does not group. */
    bool (*groups)(alm_plan *plan, alm_node_groups *out);
    /* Calls f for each expression over its only input; f may replace it. NULL: it has none. */
    alm_status (*exprs)(alm_plan *plan, alm_expr_visit f, void *arg);
    /* The same for those over one or both of two inputs: keys, residual conditions, aggregates. */
    alm_status (*pairs)(alm_plan *plan, alm_expr_visit f, void *arg);
    /* Gives a copied node lists of its own (copy.h). NULL: it has none that a rule changes. */
    alm_status (*copy)(alm_planner *p, alm_plan *plan);
    /* Number of its columns. NULL: that of its child with SAME_COLUMNS, else any. */
    uint32_t (*width)(const alm_plan *plan);
    /* Checks what is special to it (check.h). NULL: expressions over its only child. */
    alm_status (*check)(alm_checking *c);
    /* What it does, behind its name in EXPLAIN; members of its own in JSON. NULL: nothing. */
    alm_status (*explain)(alm_printer *pr, const alm_plan *plan);
    alm_status (*json)(alm_explain_json *w, const alm_plan *plan);
    /* Sets est_rows, of those of its children. NULL: as many as its first child. */
    void (*estimate)(alm_plan *plan, double left, double right);
    /* The most rows it can make of so many of its children. Adds to *pairs how many pairs of rows it may look at;
     * INFINITY: there is no bound. NULL: the sum of its children. */
    double (*most_rows)(const alm_plan *plan, const double rows[2], double *pairs);
    /* Does it need the order of its children? below[] is `needed` by its parent, or with ORDERED_INPUT true for the first. */
    void (*order)(alm_plan *plan, bool needed, bool below[2]);
    /* Can its rows come the other way round? With `turn` it is done. NULL: they cannot. */
    bool (*reverse)(alm_plan *plan, bool turn);
    /* Leaves out what nobody needs (prune.h). NULL: it keeps all its columns. */
    alm_status (*prune)(alm_planner *p, alm_plan **slot, const bool *need, uint32_t **map);
    /* Takes conditions that may go below it out of `in`; *stay gets the others (push.h). NULL: none goes below. */
    alm_status (*push)(alm_planner *p, alm_plan *plan, const alm_exprs *in, alm_exprs *stay);
    /* Makes it independent of the query around it (decorrelate.h). NULL: an error says that it cannot be. */
    alm_status (*decorrelate)(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried);
    /* Rejects what its columns `used` lost to the range of a type (range.h). NULL: with SAME_ROWS in its child. */
    alm_status (*range)(alm_planner *p, alm_plan *plan, const bool *used);
} alm_node_ops;

#define ALM_OP(id, node, name, doc) extern const alm_node_ops alm_node_##node;
#include "sql/plan/op.def"
#undef ALM_OP

const alm_node_ops *alm_node_ops_of(alm_plan_op op);

static inline bool alm_node_is(const alm_plan *plan, uint32_t flag)
{
    return (alm_node_ops_of(plan->op)->flags & flag) != 0;
}

static inline bool alm_node_groups_of(alm_plan *plan, alm_node_groups *out)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->groups != NULL && ops->groups(plan, out);
}

/* Can the rows of the plan come the other way round? With `turn` they do. */
bool alm_plan_reverse(alm_plan *plan, bool turn);

/* Rows a SCAN reads by its intervals, before filters. */
double alm_scan_estimate(const alm_plan *scan);

static inline bool alm_plan_updates(const alm_plan *scan) /* gives row positions: UPDATE */
{
    for (uint32_t i = 0; i < scan->scan.n_cols; i++)
        if (scan->scan.cols[i] == ALM_SCAN_ROW)
            return true;
    return false;
}

#endif
