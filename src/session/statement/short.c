/*
 * short.c - which statements and cursors are short enough for a network thread, and how long they may stay there.
 */
#include <math.h>

#include "session/statement/statement.h"
#include "sql/node/ops.h"

/*
 * Rows below which a query takes less than about a millisecond: scans, filters and aggregates spend
 * about a nanosecond on a row and column; whatever else there is (sorts, joins, windows) up to ten
 * times that. A long result leaves this thread after its first piece.
 */
static const double SHORT_ROWS = 200000, OTHER_WEIGHT = 10, EARLY_WEIGHT = 0.2;
static const double FEW_ROWS = 1000; /* of what cannot yield: it has an effect */
enum { EARLY_FILTERS_MAX = 2 };

/* A number, a time or a symbol beside a constant. */
static bool compares(const alm_expr *expr)
{
    static const char *const names[] = {"=", "!=", "<", "<=", ">", ">="};
    if (expr->kind != ALM_X_CALL || expr->n_args != 2 || expr->args[0]->kind != ALM_X_COL ||
        expr->args[1]->kind != ALM_X_CONST)
        return false;
    const alm_type type = expr->args[0]->type;
    if (type.id != ALM_T_SYMBOL && (alm_type_is_text(type) || alm_type_width(type) > 8))
        return false;
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (strcmp(expr->fn->name, names[i]) == 0)
            return true;
    return false;
}

/* A scan that ends with the first few rows that are found. It may find none and read all: with such conditions that
 * takes a third of a nanosecond a row. */
static bool ends_early(const alm_plan *limit)
{
    const alm_plan *plan = limit->child[0];
    if (limit->limit.lo < 0 || limit->limit.hi < 0 || limit->limit.hi > ALM_BATCH_ROWS)
        return false;
    while (plan->op == ALM_P_PROJECT)
        plan = plan->child[0];
    if (plan->op != ALM_P_SCAN || plan->scan.n_filters > EARLY_FILTERS_MAX)
        return false;
    for (uint32_t i = 0; i < plan->scan.n_filters; i++)
        if (!compares(plan->scan.filter[i]))
            return false;
    return true;
}

static double short_weighted_rows(const alm_plan *plan, double weight)
{
    if (plan->op == ALM_P_LIMIT && ends_early(plan))
        weight *= EARLY_WEIGHT;
    /* the last row of each symbol is kept by the parts: nothing is scanned */
    if (plan->op == ALM_P_LATEST && plan->child[0]->op == ALM_P_SCAN &&
        plan->child[0]->scan.n_filters == 0 && plan->latest.n_keys == 1 &&
        plan->latest.keys[0]->type.id == ALM_T_SYMBOL)
        return plan->est_rows * OTHER_WEIGHT;
    if (!alm_node_is(plan, ALM_NODE_FAST))
        weight = OTHER_WEIGHT;
    double rows = plan->n_children == 0 ? plan->est_rows * weight : 0;
    for (uint32_t i = 0; i < plan->n_children; i++)
        rows += short_weighted_rows(plan->child[i], weight);
    return rows;
}

/* What a walk of the plan has found; its steps are bounded, as what is shared is met once for each use. */
typedef struct reckoning {
    double
        pairs; /* of rows that joins may have to look at; infinite: nobody knows how much there is to do */
    uint32_t steps;
} reckoning;

enum { RECKONING_STEPS_MAX = 1000 };

/* The most rows that a node can make: unlike est_rows, which is what is likely. */
static double most_rows(reckoning *self, const alm_plan *plan)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    double rows[2] = {plan->n_children == 0 ? plan->est_rows : 0, 0};
    if (self->steps++ > RECKONING_STEPS_MAX)
        return self->pairs = INFINITY;
    if (plan->op == ALM_P_SHARED)
        return most_rows(self, plan->shared.of->child[0]);
    for (uint32_t i = 0; i < plan->n_children; i++)
        rows[i] = most_rows(self, plan->child[i]);
    return ops->most_rows != NULL ? ops->most_rows(plan, rows, &self->pairs) : rows[0] + rows[1];
}

/* Rows that are made between others count, as all that a statement reads may be few. */
static bool makes_few(const alm_plan *plan)
{
    reckoning self = {0};
    const double rows = most_rows(&self, plan);
    return rows <= SHORT_ROWS && self.pairs <= SHORT_ROWS;
}

bool alm_cursor_is_short(const alm_cursor *cursor)
{
    const alm_plan *plan = cursor->plan;
    if (plan == NULL)
        return true;
    if (cursor->yielded || plan->waits)
        return false;
    return short_weighted_rows(plan, 1) <= (plan->effects ? FEW_ROWS : SHORT_ROWS) &&
           makes_few(plan);
}

void alm_session_brief(alm_session *session, bool brief)
{
    enum { BRIEF_MS = 10 };
    session->brief_ns = brief ? alm_monotonic_ns() + BRIEF_MS * INT64_C(1000000) : 0;
}

bool alm_prepared_is_values(const alm_prepared *prepared)
{
    return prepared->plain_values;
}

bool alm_prepared_is_small(const alm_prepared *prepared)
{
    enum { SMALL = 1000 };
    return prepared->nodes <= SMALL;
}

bool alm_prepared_is_short(alm_session *session, const alm_prepared *prepared)
{
    const alm_stmt_kind kind = prepared->stmt->kind;
    if (!alm_prepared_is_small(prepared))
        return false;
    if (prepared->plain_values && alm_in_transaction(session))
        return true;
    /* the cursor of a SELECT tells more once it is planned; what writes may wait for the disk; DECLARE and PREPARE plan
     * another statement, however long that takes */
    return alm_stmt_does_any(kind, ALM_S_SHORT);
}
