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

static double selectivity(const alm_plan *scan, const alm_expr *expr)
{
    const bool equal = alm_expr_is_call(expr, "=") && expr->n_args == 2;
    const alm_expr *col = !equal                             ? NULL
                          : expr->args[0]->kind == ALM_X_COL ? expr->args[0]
                                                             : expr->args[1];
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
static double joins_rows_of(const alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN) {
        double rows = alm_scan_estimate(plan);
        for (uint32_t i = 0; i < plan->scan.n_filters; i++)
            rows *= selectivity(plan, plan->scan.filter[i]);
        return rows;
    }
    const double child = plan->n_children > 0 ? joins_rows_of(plan->child[0]) : plan->est_rows;
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
        return child + joins_rows_of(plan->child[1]);
    return child;
}

/* -------------------------------------------------------------------------- taking it apart */

static bool joins_is_inner(const alm_plan *plan)
{
    return plan->op == ALM_P_JOIN &&
           (plan->join.kind == ALM_JOIN_INNER || plan->join.kind == ALM_JOIN_CROSS);
}

static alm_status add_condition(chain *self, alm_expr *a, alm_expr *b, uint32_t a_by, uint32_t b_by)
{
    alm_ctx *cx = self->p->cx;
    ALM_TRY(alm_grow(cx, &self->cond, self->n_cond, &self->cap_cond, sizeof *self->cond));
    condition *to = &self->cond[self->n_cond++];
    *to = (condition){0};
    if (a != NULL)
        ALM_TRY(alm_expr_shift(cx, a, a_by, &to->a));
    return alm_expr_shift(cx, b, b_by, &to->b);
}

/* False: too many relations, or a condition that must not move. */
static alm_status take_apart(chain *self, alm_plan *plan, uint32_t first, bool *ok)
{
    if (!joins_is_inner(plan)) {
        *ok &= self->n < RELATIONS_MAX;
        if (*ok)
            self->rel[self->n++] =
                (relation){.plan = plan, .first = first, .rows = joins_rows_of(plan)};
        return ALM_OK;
    }
    const uint32_t n_left = plan->child[0]->n_cols;
    ALM_TRY(take_apart(self, plan->child[0], first, ok));
    ALM_TRY(take_apart(self, plan->child[1], first + n_left, ok));
    self->left_deep &= !joins_is_inner(plan->child[1]);
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        *ok &= !alm_expr_volatile(plan->join.left_keys[i]) &&
               !alm_expr_volatile(plan->join.right_keys[i]);
        ALM_TRY(add_condition(self, plan->join.left_keys[i], plan->join.right_keys[i], first,
                              first + n_left));
    }
    for (uint32_t i = 0; i < plan->join.n_residual; i++) {
        *ok &= !alm_expr_volatile(plan->join.residual[i]);
        ALM_TRY(add_condition(self, NULL, plan->join.residual[i], 0, first));
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

static uint32_t relation_of(const chain *self, uint32_t col)
{
    uint32_t r = 0;
    while (r + 1 < self->n && self->rel[r + 1].first <= col)
        r++;
    return r;
}

static bool joins_look(void *arg, const alm_expr *col)
{
    where_arg *w = arg;
    const uint32_t r = relation_of(w->c, col->col);
    w->in |= r == w->add;
    w->out |= r != w->add && w->c->rel[r].placed;
    w->missing |= r != w->add && !w->c->rel[r].placed;
    return true;
}

static where_arg where_is(const chain *self, const alm_expr *expr, uint32_t add)
{
    where_arg arg = {.c = self, .add = add};
    (void)alm_expr_each_col(expr, joins_look, &arg);
    return arg;
}

/* Is this an equality between relation `add` and those placed? *turned: its b belongs to those. */
static bool connects(const chain *self, const condition *cond, uint32_t add, bool *turned)
{
    if (cond->a == NULL || cond->used)
        return false;
    const where_arg a = where_is(self, cond->a, add), b = where_is(self, cond->b, add);
    *turned = a.in;
    return (a.out && !a.in && !a.missing && b.in && !b.out && !b.missing) ||
           (b.out && !b.in && !b.missing && a.in && !a.out && !a.missing);
}

static bool connected(const chain *self, uint32_t add)
{
    bool turned = false;
    for (uint32_t i = 0; i < self->n_cond; i++)
        if (connects(self, &self->cond[i], add, &turned))
            return true;
    return false;
}

/* The order of relations into order[]; false: it is the written one. */
static bool choose_order(chain *self, uint32_t *order)
{
    uint32_t first = 0;
    for (uint32_t row = 1; row < self->n; row++)
        if (self->rel[row].rows > 2 * self->rel[first].rows)
            first = row;
    bool changed = first != 0 || !self->left_deep;
    order[0] = first;
    self->rel[first].placed = true;
    for (uint32_t k = 1; k < self->n; k++) {
        uint32_t best = UINT32_MAX;
        bool best_connected = false;
        for (uint32_t row = 0; row < self->n; row++) {
            if (self->rel[row].placed)
                continue;
            const bool joined = connected(self, row);
            if (best == UINT32_MAX || (joined && !best_connected) ||
                (joined == best_connected && self->rel[row].rows < self->rel[best].rows)) {
                best = row;
                best_connected = joined;
            }
        }
        order[k] = best;
        changed |= best != k;
        self->rel[best].placed = true;
    }
    for (uint32_t row = 0; row < self->n; row++)
        self->rel[row].placed = false;
    return changed;
}

/* --------------------------------------------------------------------------------- building */

static alm_status settle_conditions(chain *self, alm_plan *join, uint32_t add, const uint32_t *map)
{
    alm_planner *planner = self->p;
    alm_exprs left = {0}, right = {0}, residual = {0};
    const int64_t nl = join->child[0]->n_cols;
    for (uint32_t i = 0; i < self->n_cond; i++) {
        condition *cond = &self->cond[i];
        bool turned = false;
        alm_expr *l = NULL, *r = NULL;
        if (!connects(self, cond, add, &turned))
            continue;
        ALM_TRY(alm_expr_renumber(planner->cx, turned ? cond->b : cond->a, map, &l));
        ALM_TRY(alm_expr_renumber(planner->cx, turned ? cond->a : cond->b, map, &r));
        ALM_TRY(alm_expr_shift(planner->cx, r, -nl, &r));
        ALM_TRY(alm_exprs_add(planner->cx, &left, l));
        ALM_TRY(alm_exprs_add(planner->cx, &right, r));
        cond->used = true;
    }
    for (uint32_t i = 0; i < self->n_cond; i++) {
        condition *cond = &self->cond[i];
        const bool missing = where_is(self, cond->b, add).missing ||
                             (cond->a != NULL && where_is(self, cond->a, add).missing);
        if (cond->used || missing)
            continue;
        alm_expr *expr = cond->b;
        if (cond->a != NULL) {
            alm_expr *args[2] = {cond->a, cond->b};
            ALM_TRY(alm_expr_call(planner, "=", cond->b->pos, args, 2, &expr));
        }
        ALM_TRY(alm_expr_renumber(planner->cx, expr, map, &expr));
        ALM_TRY(alm_exprs_add(planner->cx, &residual, expr));
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
static alm_status joins_put_back(alm_planner *planner, const alm_plan *written, const uint32_t *map,
                                 alm_plan **plan)
{
    const uint32_t n_cols = written->n_cols;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &names));
    for (uint32_t i = 0; i < n_cols; i++) {
        names[i] = written->cols[i].name;
        ALM_TRY(alm_expr_col(planner->cx, map[i], written->cols[i].type, written->pos, &exprs[i]));
    }
    ALM_TRY(alm_plan_project(planner, *plan, exprs, names, n_cols, plan));
    (*plan)->ts_col = written->ts_col;
    (*plan)->order = ALM_ORDER_NONE;
    return ALM_OK;
}

static alm_status joins_build(chain *self, const uint32_t *order, alm_plan **slot)
{
    alm_planner *planner = self->p;
    const alm_plan *written = *slot;
    alm_plan *plan = self->rel[order[0]].plan;
    uint32_t *map = NULL, place = 0;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, written->n_cols + 1, &map));
    for (uint32_t k = 0; k < self->n; k++) {
        relation *r = &self->rel[order[k]];
        for (uint32_t i = 0; i < r->plan->n_cols; i++)
            map[r->first + i] = place++;
    }
    self->rel[order[0]].placed = true;
    for (uint32_t k = 1; k < self->n; k++) {
        alm_plan *join = NULL;
        relation *r = &self->rel[order[k]];
        ALM_TRY(alm_plan_join(planner, ALM_JOIN_INNER, written->pos, plan, r->plan, &join));
        join->join.unordered = true;
        ALM_TRY(settle_conditions(self, join, order[k], map));
        r->placed = true;
        plan = join;
    }
    *slot = plan;
    return joins_put_back(planner, written, map, slot);
}

/* ------------------------------------------------------------------------------------ rule */

static alm_status turn_right(alm_planner *planner, alm_plan **slot)
{
    alm_plan *written = *slot, *join = NULL;
    const uint32_t n_left = written->child[0]->n_cols, n_right = written->child[1]->n_cols;
    uint32_t *map = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + n_right + 1, &map));
    for (uint32_t i = 0; i < n_left + n_right; i++)
        map[i] = i < n_left ? n_right + i : i - n_left;
    ALM_TRY(alm_plan_join(planner, ALM_JOIN_LEFT, written->pos, written->child[1],
                          written->child[0], &join));
    join->join.unordered = true;
    join->join.left_keys = written->join.right_keys;
    join->join.right_keys = written->join.left_keys;
    join->join.n_keys = written->join.n_keys;
    join->join.residual = written->join.residual;
    join->join.n_residual = written->join.n_residual;
    for (uint32_t i = 0; i < join->join.n_residual; i++)
        ALM_TRY(
            alm_expr_renumber(planner->cx, join->join.residual[i], map, &join->join.residual[i]));
    *slot = join;
    return joins_put_back(planner, written, map, slot);
}

static alm_status joins_visit(alm_planner *p, alm_plan **slot);

/* What a chain that stays as it is joins. */
static alm_status visit_relations(alm_planner *planner, alm_plan **slot)
{
    if (!joins_is_inner(*slot))
        return joins_visit(planner, slot);
    ALM_TRY(visit_relations(planner, &(*slot)->child[0]));
    return visit_relations(planner, &(*slot)->child[1]);
}

static alm_status joins_visit(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    if (plan->op == ALM_P_JOIN && plan->join.unordered && plan->join.kind == ALM_JOIN_RIGHT) {
        ALM_TRY(turn_right(planner, slot));
        return joins_visit(planner, slot);
    }
    if (joins_is_inner(plan) && plan->join.unordered) {
        chain self = {.p = planner, .left_deep = true};
        uint32_t order[RELATIONS_MAX];
        bool ok = true;
        ALM_TRY(take_apart(&self, plan, 0, &ok));
        if (ok) {
            if (!choose_order(&self, order))
                return visit_relations(planner, slot);
            for (uint32_t r = 0; r < self.n; r++)
                ALM_TRY(joins_visit(planner, &self.rel[r].plan));
            return joins_build(&self, order, slot);
        }
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(joins_visit(planner, &plan->child[i]));
    return ALM_OK;
}

alm_status alm_rule_joins(alm_planner *planner, alm_plan **plan)
{
    ALM_TRY(alm_rule_estimate(planner, plan));
    return joins_visit(planner, plan);
}
