/*
 * joins.c - the order of inner joins, where nobody sees the order of rows: the largest relation
 * streams, the others are held in memory, small ones first; a RIGHT join becomes a LEFT one.
 *
 * Method      A tree of inner joins is taken apart into relations and conditions over the columns of all
 *             of them; the joins are built anew, leaning to the left, each time with the smallest
 *             relation that a key connects with those before it; a projection puts the columns back.
 * Statistics  Rows of tables, intervals, sizes of dictionaries for equality on symbols.
 */
#include "sql/opt/opt.h"

enum { RELATIONS_MAX = 24 };

typedef struct relation {
    alm_plan *plan;
    uint32_t first; /* column, in the order written */
    double rows;
    bool placed;
    uint32_t now; /* first column in the new order */
} relation;

typedef struct condition { /* a = b, or b alone (a NULL); over all columns as written */
    alm_expr *a, *b;
    bool used;
} condition;

typedef struct chain {
    alm_planner *p;
    relation rel[RELATIONS_MAX];
    uint32_t n;
    condition *cond;
    uint32_t n_cond, cap_cond;
    bool left_deep;
} chain;

/* ------------------------------------------------------------------------------- estimates */

static double selectivity(const alm_plan *scan, const alm_expr *e)
{
    const bool equal = alm_expr_is_call(e, "=") && e->n_args == 2;
    const alm_expr *col = !equal ? NULL : e->args[0]->kind == ALM_X_COL ? e->args[0] : e->args[1];
    if (col == NULL || col->kind != ALM_X_COL)
        return equal ? 0.1 : 0.3;
    if (scan != NULL && col->type.id == ALM_T_SYMBOL) {
        const alm_dict *dict = scan->scan.table->cols[scan->scan.cols[col->col]].dict;
        if (dict != NULL && dict->count > 1)
            return 1.0 / (dict->count - 1);
    }
    return 0.1;
}

/* How many rows a relation gives, about. */
static double rows_of(const alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN) {
        double rows = alm_scan_estimate(plan);
        for (uint32_t i = 0; i < plan->scan.n_filters; i++)
            rows *= selectivity(plan, plan->scan.filter[i]);
        return rows;
    }
    const double child = plan->n_children > 0 ? rows_of(plan->child[0]) : plan->est_rows;
    if (plan->op == ALM_P_FILTER) {
        double rows = child;
        for (uint32_t i = 0; i < plan->filter.n; i++)
            rows *= selectivity(NULL, plan->filter.conjunct[i]);
        return rows;
    }
    if (plan->op == ALM_P_GROUP && plan->group.n_keys == 0)
        return 1;
    if (alm_node_is(plan, ALM_NODE_REDUCES))
        return child / 10;
    if (plan->op == ALM_P_VALUES)
        return plan->values.n_rows;
    if (plan->op == ALM_P_LIMIT && plan->limit.lo >= 0 && plan->limit.hi >= 0)
        return ALM_MIN(child, (double)plan->limit.hi);
    if (plan->op == ALM_P_SETOP || plan->op == ALM_P_JOIN)
        return child + rows_of(plan->child[1]);
    return child;
}

/* -------------------------------------------------------------------------- taking it apart */

static bool is_inner(const alm_plan *plan)
{
    return plan->op == ALM_P_JOIN &&
           (plan->join.kind == ALM_JOIN_INNER || plan->join.kind == ALM_JOIN_CROSS);
}

static alm_status add_condition(chain *c, alm_expr *a, alm_expr *b, uint32_t a_by, uint32_t b_by)
{
    alm_ctx *cx = c->p->cx;
    ALM_TRY(alm_grow(cx, &c->cond, c->n_cond, &c->cap_cond, sizeof *c->cond));
    condition *to = &c->cond[c->n_cond++];
    *to = (condition){0};
    if (a != NULL)
        ALM_TRY(alm_expr_shift(cx, a, a_by, &to->a));
    return alm_expr_shift(cx, b, b_by, &to->b);
}

/* False: too many relations, or a condition that must not move. */
static alm_status take_apart(chain *c, alm_plan *plan, uint32_t first, bool *ok)
{
    if (!is_inner(plan)) {
        *ok &= c->n < RELATIONS_MAX;
        if (*ok)
            c->rel[c->n++] = (relation){.plan = plan, .first = first, .rows = rows_of(plan)};
        return ALM_OK;
    }
    const uint32_t nl = plan->child[0]->n_cols;
    ALM_TRY(take_apart(c, plan->child[0], first, ok));
    ALM_TRY(take_apart(c, plan->child[1], first + nl, ok));
    c->left_deep &= !is_inner(plan->child[1]);
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        *ok &= !alm_expr_volatile(plan->join.left_keys[i]) &&
               !alm_expr_volatile(plan->join.right_keys[i]);
        ALM_TRY(
            add_condition(c, plan->join.left_keys[i], plan->join.right_keys[i], first, first + nl));
    }
    for (uint32_t i = 0; i < plan->join.n_residual; i++) {
        *ok &= !alm_expr_volatile(plan->join.residual[i]);
        ALM_TRY(add_condition(c, NULL, plan->join.residual[i], 0, first));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- choosing */

typedef struct where_arg {
    const chain *c;
    uint32_t add; /* counts as placed too */
    bool in, out; /* met a column of `add`; of anything else that is placed */
    bool missing; /* met one that is not there yet */
} where_arg;

static uint32_t relation_of(const chain *c, uint32_t col)
{
    uint32_t r = 0;
    while (r + 1 < c->n && c->rel[r + 1].first <= col)
        r++;
    return r;
}

static bool look(void *arg, const alm_expr *col)
{
    where_arg *w = arg;
    const uint32_t r = relation_of(w->c, col->col);
    w->in |= r == w->add;
    w->out |= r != w->add && w->c->rel[r].placed;
    w->missing |= r != w->add && !w->c->rel[r].placed;
    return true;
}

static where_arg where_is(const chain *c, const alm_expr *e, uint32_t add)
{
    where_arg w = {.c = c, .add = add};
    (void)alm_expr_each_col(e, look, &w);
    return w;
}

/* Is this an equality between relation `add` and those placed? *turned: its b belongs to those. */
static bool connects(const chain *c, const condition *cond, uint32_t add, bool *turned)
{
    if (cond->a == NULL || cond->used)
        return false;
    const where_arg a = where_is(c, cond->a, add), b = where_is(c, cond->b, add);
    *turned = a.in;
    return (a.out && !a.in && !a.missing && b.in && !b.out && !b.missing) ||
           (b.out && !b.in && !b.missing && a.in && !a.out && !a.missing);
}

static bool connected(const chain *c, uint32_t add)
{
    bool turned = false;
    for (uint32_t i = 0; i < c->n_cond; i++)
        if (connects(c, &c->cond[i], add, &turned))
            return true;
    return false;
}

/* The order of relations into order[]; false: it is the written one. */
static bool choose_order(chain *c, uint32_t *order)
{
    uint32_t first = 0;
    for (uint32_t r = 1; r < c->n; r++)
        if (c->rel[r].rows > 2 * c->rel[first].rows)
            first = r;
    bool changed = first != 0 || !c->left_deep;
    order[0] = first;
    c->rel[first].placed = true;
    for (uint32_t k = 1; k < c->n; k++) {
        uint32_t best = UINT32_MAX;
        bool best_connected = false;
        for (uint32_t r = 0; r < c->n; r++) {
            if (c->rel[r].placed)
                continue;
            const bool joined = connected(c, r);
            if (best == UINT32_MAX || (joined && !best_connected) ||
                (joined == best_connected && c->rel[r].rows < c->rel[best].rows)) {
                best = r;
                best_connected = joined;
            }
        }
        order[k] = best;
        changed |= best != k;
        c->rel[best].placed = true;
    }
    for (uint32_t r = 0; r < c->n; r++)
        c->rel[r].placed = false;
    return changed;
}

/* --------------------------------------------------------------------------------- building */

static alm_status settle_conditions(chain *c, alm_plan *join, uint32_t add, const uint32_t *map)
{
    alm_planner *p = c->p;
    alm_exprs left = {0}, right = {0}, residual = {0};
    const int64_t nl = join->child[0]->n_cols;
    for (uint32_t i = 0; i < c->n_cond; i++) {
        condition *cond = &c->cond[i];
        bool turned = false;
        alm_expr *l = NULL, *r = NULL;
        if (!connects(c, cond, add, &turned))
            continue;
        ALM_TRY(alm_expr_renumber(p->cx, turned ? cond->b : cond->a, map, &l));
        ALM_TRY(alm_expr_renumber(p->cx, turned ? cond->a : cond->b, map, &r));
        ALM_TRY(alm_expr_shift(p->cx, r, -nl, &r));
        ALM_TRY(alm_exprs_add(p->cx, &left, l));
        ALM_TRY(alm_exprs_add(p->cx, &right, r));
        cond->used = true;
    }
    for (uint32_t i = 0; i < c->n_cond; i++) {
        condition *cond = &c->cond[i];
        const bool missing = where_is(c, cond->b, add).missing ||
                             (cond->a != NULL && where_is(c, cond->a, add).missing);
        if (cond->used || missing)
            continue;
        alm_expr *e = cond->b;
        if (cond->a != NULL) {
            alm_expr *args[2] = {cond->a, cond->b};
            ALM_TRY(alm_expr_call(p, "=", cond->b->pos, args, 2, &e));
        }
        ALM_TRY(alm_expr_renumber(p->cx, e, map, &e));
        ALM_TRY(alm_exprs_add(p->cx, &residual, e));
        cond->used = true;
    }
    join->join.left_keys = left.at;
    join->join.right_keys = right.at;
    join->join.n_keys = left.n;
    join->join.residual = residual.at;
    join->join.n_residual = residual.n;
    if (left.n == 0 && residual.n == 0)
        join->join.kind = ALM_JOIN_CROSS;
    return ALM_OK;
}

/* The columns of `written` again, in their order: column i is column map[i] of *plan. */
static alm_status put_back(alm_planner *p, const alm_plan *written, const uint32_t *map,
                           alm_plan **plan)
{
    const uint32_t n = written->n_cols;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &names));
    for (uint32_t i = 0; i < n; i++) {
        names[i] = written->cols[i].name;
        ALM_TRY(alm_expr_col(p->cx, map[i], written->cols[i].type, written->pos, &exprs[i]));
    }
    ALM_TRY(alm_plan_project(p, *plan, exprs, names, n, plan));
    (*plan)->ts_col = written->ts_col;
    (*plan)->order = ALM_ORDER_NONE;
    return ALM_OK;
}

static alm_status build(chain *c, const uint32_t *order, alm_plan **slot)
{
    alm_planner *p = c->p;
    const alm_plan *written = *slot;
    alm_plan *plan = c->rel[order[0]].plan;
    uint32_t *map = NULL, at = 0;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, written->n_cols + 1, &map));
    for (uint32_t k = 0; k < c->n; k++) {
        relation *r = &c->rel[order[k]];
        for (uint32_t i = 0; i < r->plan->n_cols; i++)
            map[r->first + i] = at++;
    }
    c->rel[order[0]].placed = true;
    for (uint32_t k = 1; k < c->n; k++) {
        alm_plan *join = NULL;
        relation *r = &c->rel[order[k]];
        ALM_TRY(alm_plan_join(p, ALM_JOIN_INNER, written->pos, plan, r->plan, &join));
        join->join.unordered = true;
        ALM_TRY(settle_conditions(c, join, order[k], map));
        r->placed = true;
        plan = join;
    }
    *slot = plan;
    return put_back(p, written, map, slot);
}

/* ------------------------------------------------------------------------------------ rule */

static alm_status turn_right(alm_planner *p, alm_plan **slot)
{
    alm_plan *written = *slot, *join = NULL;
    const uint32_t nl = written->child[0]->n_cols, nr = written->child[1]->n_cols;
    uint32_t *map = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + nr + 1, &map));
    for (uint32_t i = 0; i < nl + nr; i++)
        map[i] = i < nl ? nr + i : i - nl;
    ALM_TRY(
        alm_plan_join(p, ALM_JOIN_LEFT, written->pos, written->child[1], written->child[0], &join));
    join->join.unordered = true;
    join->join.left_keys = written->join.right_keys;
    join->join.right_keys = written->join.left_keys;
    join->join.n_keys = written->join.n_keys;
    join->join.residual = written->join.residual;
    join->join.n_residual = written->join.n_residual;
    for (uint32_t i = 0; i < join->join.n_residual; i++)
        ALM_TRY(alm_expr_renumber(p->cx, join->join.residual[i], map, &join->join.residual[i]));
    *slot = join;
    return put_back(p, written, map, slot);
}

static alm_status visit(alm_planner *p, alm_plan **slot);

/* What a chain that stays as it is joins. */
static alm_status visit_relations(alm_planner *p, alm_plan **slot)
{
    if (!is_inner(*slot))
        return visit(p, slot);
    ALM_TRY(visit_relations(p, &(*slot)->child[0]));
    return visit_relations(p, &(*slot)->child[1]);
}

static alm_status visit(alm_planner *p, alm_plan **slot)
{
    alm_plan *plan = *slot;
    if (plan->op == ALM_P_JOIN && plan->join.unordered && plan->join.kind == ALM_JOIN_RIGHT) {
        ALM_TRY(turn_right(p, slot));
        return visit(p, slot);
    }
    if (is_inner(plan) && plan->join.unordered) {
        chain c = {.p = p, .left_deep = true};
        uint32_t order[RELATIONS_MAX];
        bool ok = true;
        ALM_TRY(take_apart(&c, plan, 0, &ok));
        if (ok) {
            if (!choose_order(&c, order))
                return visit_relations(p, slot);
            for (uint32_t r = 0; r < c.n; r++)
                ALM_TRY(visit(p, &c.rel[r].plan));
            return build(&c, order, slot);
        }
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(visit(p, &plan->child[i]));
    return ALM_OK;
}

alm_status alm_rule_joins(alm_planner *p, alm_plan **plan)
{
    ALM_TRY(alm_rule_estimate(p, plan));
    return visit(p, plan);
}
