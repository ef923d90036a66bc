/*
 * pushdown.c - conditions move down as far as they mean the same: through projections, sorts,
 * set operations, grouping keys, partitions; into joins as keys; into scans.
 */
#include "sql/opt/opt.h"

static alm_status push(alm_planner *p, alm_plan **slot, alm_exprs *conjuncts);

static alm_status push_child(alm_planner *p, alm_plan *plan, uint32_t i, alm_exprs *conjuncts)
{
    ALM_TRY(push(p, &plan->child[i], conjuncts));
    return ALM_OK;
}

/* Into *down goes what holds of all rows of a group or of none, and reads what `passes` allows; the rest is
 * put above the node as a filter. */
static alm_status split_off(alm_planner *p, const alm_exprs *in,
                            bool (*passes)(const void *arg, const alm_expr *e), const void *arg,
                            alm_exprs *down, alm_exprs *stay)
{
    for (uint32_t i = 0; i < in->n; i++) {
        const bool pass = !alm_expr_volatile(in->at[i]) && alm_expr_by_equality(p, in->at[i]) &&
                          passes(arg, in->at[i]);
        ALM_TRY(alm_exprs_add(p->cx, pass ? down : stay, in->at[i]));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------- project */

static bool uses_volatile(void *arg, const alm_expr *col)
{
    alm_expr *const *exprs = arg;
    return !alm_expr_volatile(exprs[col->col]);
}

static alm_status push_project(alm_planner *p, alm_plan *plan, const alm_exprs *in, alm_exprs *stay)
{
    enum { SIZE_MAX_DOWN = 10000 }; /* computing what is so large once is worth more */
    alm_exprs down = {0};
    for (uint32_t i = 0; i < in->n; i++) {
        alm_expr *e = in->at[i];
        ALM_TRY(alm_steps_add(p->cx, 1 + (int64_t)e->size));
        if (alm_expr_volatile(e) || !alm_expr_each_col(e, uses_volatile, plan->project.expr) ||
            alm_expr_substituted_size(e, plan->project.expr) > SIZE_MAX_DOWN) {
            ALM_TRY(alm_exprs_add(p->cx, stay, e));
            continue;
        }
        ALM_TRY(alm_expr_substitute(p->cx, e, plan->project.expr, &e));
        ALM_TRY(alm_exprs_split(p->cx, &down, e));
    }
    return push_child(p, plan, 0, &down);
}

/* ------------------------------------------------- group, sample, window, latest */

typedef struct key_range {
    uint32_t lo, hi;
} key_range;

static bool in_keys(const void *arg, const alm_expr *e)
{
    const key_range *r = arg;
    return alm_expr_has_col(e) && alm_expr_within(e, r->lo, r->hi);
}

static alm_status push_keys(alm_planner *p, alm_plan *plan, const alm_exprs *in, uint32_t first,
                            alm_expr **keys, uint32_t n_keys, alm_exprs *stay)
{
    const key_range range = {first, first + n_keys};
    alm_exprs pass = {0}, down = {0};
    ALM_TRY(split_off(p, in, in_keys, &range, &pass, stay));
    for (uint32_t i = 0; i < pass.n; i++) {
        alm_expr *e = NULL;
        ALM_TRY(alm_expr_shift(p->cx, pass.at[i], -(int64_t)first, &e));
        ALM_TRY(alm_expr_substitute(p->cx, e, keys, &e));
        ALM_TRY(alm_exprs_split(p->cx, &down, e));
    }
    return push_child(p, plan, 0, &down);
}

typedef struct column_set {
    alm_expr *const *keys;
    uint32_t n;
} column_set;

static bool is_key_column(void *arg, const alm_expr *col)
{
    const column_set *set = arg;
    for (uint32_t i = 0; i < set->n; i++)
        if (set->keys[i]->kind == ALM_X_COL && set->keys[i]->col == col->col)
            return true;
    return false;
}

static bool of_columns(const void *arg, const alm_expr *e)
{
    column_set set = *(const column_set *)arg;
    return alm_expr_has_col(e) && alm_expr_each_col(e, is_key_column, &set);
}

static bool of_partitions(const void *arg, const alm_expr *e)
{
    const alm_plan *plan = arg;
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        const column_set set = {plan->window.calls[i].partition, plan->window.calls[i].n_partition};
        if (!of_columns(&set, e))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------------- joins */

typedef struct join_lists {
    alm_exprs left, right, left_keys, right_keys, residual;
} join_lists;

static bool keeps_left(uint8_t kind)
{
    return kind == ALM_JOIN_CROSS || kind == ALM_JOIN_INNER || kind == ALM_JOIN_LEFT ||
           kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT || kind == 'S' || kind == 'A';
}

static bool keeps_right(uint8_t kind)
{
    return kind == ALM_JOIN_CROSS || kind == ALM_JOIN_INNER || kind == ALM_JOIN_RIGHT;
}

static bool is_inner(uint8_t kind)
{
    return kind == ALM_JOIN_CROSS || kind == ALM_JOIN_INNER;
}

static alm_status add_shifted(alm_planner *p, alm_exprs *list, alm_expr *e, uint32_t by)
{
    ALM_TRY(alm_expr_shift(p->cx, e, -(int64_t)by, &e));
    return alm_exprs_add(p->cx, list, e);
}

/* Keys are compared as they are: DECIMALs of different scales are not. */
static bool may_be_keys(const alm_expr *a, const alm_expr *b)
{
    return alm_type_eq(a->type, b->type) ||
           (alm_type_is_text(a->type) && alm_type_is_text(b->type));
}

/* left = right becomes a key pair; anything else a residual condition. */
static alm_status join_condition(alm_planner *p, const alm_plan *plan, alm_expr *e, join_lists *to)
{
    const uint32_t nl = plan->child[0]->n_cols, all = nl + plan->child[1]->n_cols;
    if (alm_expr_is_call(e, "=") && may_be_keys(e->args[0], e->args[1])) {
        alm_expr *a = e->args[0], *b = e->args[1];
        if (alm_expr_within(b, 0, nl) && alm_expr_within(a, nl, all)) {
            alm_expr *swap = a;
            a = b;
            b = swap;
        }
        if (alm_expr_within(a, 0, nl) && alm_expr_within(b, nl, all) && alm_expr_has_col(a) &&
            alm_expr_has_col(b)) {
            bool ok = false; /* times of two units are compared as they are, and not joined so */
            if (!alm_type_eq(a->type, b->type))
                ALM_TRY(alm_join_key_types(p, &a, &b, &ok));
            ALM_TRY(alm_exprs_add(p->cx, &to->left_keys, a));
            return add_shifted(p, &to->right_keys, b, nl);
        }
    }
    return alm_exprs_add(p->cx, &to->residual, e);
}

static alm_status place_where(alm_planner *p, const alm_plan *plan, alm_expr *e, join_lists *to,
                              alm_exprs *stay)
{
    const uint32_t nl = plan->child[0]->n_cols, all = nl + plan->child[1]->n_cols;
    const uint8_t kind = plan->join.kind;
    if (alm_expr_volatile(e) || !alm_expr_has_col(e))
        return alm_exprs_add(p->cx, stay, e);
    if (alm_expr_within(e, 0, nl))
        return alm_exprs_add(p->cx, keeps_left(kind) ? &to->left : stay, e);
    if (alm_expr_within(e, nl, all)) {
        if (keeps_right(kind))
            return add_shifted(p, &to->right, e, nl);
        return alm_exprs_add(p->cx, stay, e);
    }
    return is_inner(kind) ? join_condition(p, plan, e, to) : alm_exprs_add(p->cx, stay, e);
}

/* A condition of ON that speaks of one side may run before the join on the side that is not kept. */
static alm_status place_on(alm_planner *p, const alm_plan *plan, alm_expr *e, join_lists *to)
{
    const uint32_t nl = plan->child[0]->n_cols, all = nl + plan->child[1]->n_cols;
    const uint8_t kind = plan->join.kind;
    const bool fixed = alm_expr_volatile(e) || !alm_expr_has_col(e);
    if (!fixed && alm_expr_within(e, nl, all) && (is_inner(kind) || kind == ALM_JOIN_LEFT))
        return add_shifted(p, &to->right, e, nl);
    if (!fixed && alm_expr_within(e, 0, nl) && (is_inner(kind) || kind == ALM_JOIN_RIGHT))
        return alm_exprs_add(p->cx, &to->left, e);
    return alm_exprs_add(p->cx, &to->residual, e);
}

static alm_status push_join(alm_planner *p, alm_plan *plan, const alm_exprs *in, alm_exprs *stay)
{
    join_lists to = {0};
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(alm_exprs_add(p->cx, &to.left_keys, plan->join.left_keys[i]));
        ALM_TRY(alm_exprs_add(p->cx, &to.right_keys, plan->join.right_keys[i]));
    }
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        ALM_TRY(place_on(p, plan, plan->join.residual[i], &to));
    for (uint32_t i = 0; i < in->n; i++)
        ALM_TRY(place_where(p, plan, in->at[i], &to, stay));
    plan->join.left_keys = to.left_keys.at;
    plan->join.right_keys = to.right_keys.at;
    plan->join.n_keys = to.left_keys.n;
    plan->join.residual = to.residual.at;
    plan->join.n_residual = to.residual.n;
    if (plan->join.kind == ALM_JOIN_CROSS && (to.left_keys.n > 0 || to.residual.n > 0))
        plan->join.kind = ALM_JOIN_INNER;
    ALM_TRY(push_child(p, plan, 0, &to.left));
    return push_child(p, plan, 1, &to.right);
}

/* ---------------------------------------------------------------------- others */

/* WINDOW JOIN, HORIZON: what a left row gives follows from it alone. */
static alm_status split_left(alm_planner *p, const alm_plan *plan, const alm_exprs *in,
                             alm_exprs *down, alm_exprs *stay)
{
    for (uint32_t i = 0; i < in->n; i++) {
        const bool pass =
            !alm_expr_volatile(in->at[i]) && alm_expr_within(in->at[i], 0, plan->child[0]->n_cols);
        ALM_TRY(alm_exprs_add(p->cx, pass ? down : stay, in->at[i]));
    }
    return ALM_OK;
}

static alm_status push_setop(alm_planner *p, alm_plan *plan, const alm_exprs *in, alm_exprs *stay)
{
    /* equal rows fall under the condition together: what is taken away on one side goes on both */
    const bool all = plan->setop.kind == ALM_SETOP_UNION_ALL;
    for (uint32_t side = 0; side < 2; side++) {
        alm_exprs down = {0};
        bool same_types = true;
        for (uint32_t c = 0; c < plan->n_cols; c++)
            same_types &= alm_type_eq(plan->child[side]->cols[c].type, plan->cols[c].type);
        for (uint32_t i = 0; i < in->n; i++) {
            if (alm_expr_volatile(in->at[i]) || !(all || alm_expr_by_equality(p, in->at[i]))) {
                if (side == 0)
                    ALM_TRY(alm_exprs_add(p->cx, stay, in->at[i]));
            } else if (side == 0 || same_types || all) {
                ALM_TRY(alm_exprs_add(p->cx, &down, in->at[i]));
            }
        }
        ALM_TRY(push_child(p, plan, side, &down));
    }
    return ALM_OK;
}

/* Cheap comparisons first, in the order written otherwise. */
static int expr_cost(const alm_expr *e)
{
    int cost = e->kind == ALM_X_CALL ? 1 : 0;
    if (e->kind == ALM_X_COL && alm_type_is_text(e->type) && e->type.id != ALM_T_SYMBOL)
        cost = 4;
    for (uint32_t i = 0; i < e->n_args; i++)
        cost += expr_cost(e->args[i]);
    return cost;
}

static alm_status push_scan(alm_planner *p, const alm_exprs *in, alm_expr ***filter,
                            uint32_t *n_filters)
{
    alm_exprs all = {0};
    for (uint32_t i = 0; i < *n_filters; i++)
        ALM_TRY(alm_exprs_add(p->cx, &all, (*filter)[i]));
    for (uint32_t i = 0; i < in->n; i++)
        ALM_TRY(alm_exprs_add(p->cx, &all, in->at[i]));
    for (uint32_t i = 1; i < all.n; i++) {
        alm_expr *e = all.at[i];
        const int cost = expr_cost(e);
        uint32_t j = i;
        for (; j > 0 && expr_cost(all.at[j - 1]) > cost; j--)
            all.at[j] = all.at[j - 1];
        all.at[j] = e;
    }
    *filter = all.at;
    *n_filters = all.n;
    return ALM_OK;
}

static alm_status push_into(alm_planner *p, alm_plan *plan, const alm_exprs *in, alm_exprs *stay)
{
    alm_exprs down = {0};
    switch (plan->op) {
    case ALM_P_PROJECT:
        return push_project(p, plan, in, stay);
    case ALM_P_GROUP:
        return push_keys(p, plan, in, 0, plan->group.keys, plan->group.n_keys, stay);
    case ALM_P_SAMPLE: /* the first row of all keys says where buckets begin, and how far to fill */
        return push_keys(
            p, plan, in, 1, plan->sample.keys,
            plan->sample.fill == NULL && !plan->sample.first_observation ? plan->sample.n_keys : 0,
            stay);
    case ALM_P_WINDOW:
        ALM_TRY(split_off(p, in, of_partitions, plan, &down, stay));
        return push_child(p, plan, 0, &down);
    case ALM_P_LATEST: {
        const column_set set = {plan->latest.keys, plan->latest.n_keys};
        ALM_TRY(split_off(p, in, of_columns, &set, &down, stay));
        return push_child(p, plan, 0, &down);
    }
    case ALM_P_JOIN:
        return push_join(p, plan, in, stay);
    case ALM_P_WINDOW_JOIN:
        ALM_TRY(split_left(p, plan, in, &down, stay));
        ALM_TRY(push_child(p, plan, 0, &down));
        down = (alm_exprs){0};
        return push_child(p, plan, 1, &down);
    case ALM_P_HORIZON:
        ALM_TRY(split_left(p, plan, in, &down, stay));
        return push_child(p, plan, 0, &down);
    case ALM_P_SETOP:
        return push_setop(p, plan, in, stay);
    case ALM_P_SORT:
        if (plan->sort.limit == -1) {
            down = *in;
            return push_child(p, plan, 0, &down);
        }
        break;
    case ALM_P_SCAN:
        return push_scan(p, in, &plan->scan.filter, &plan->scan.n_filters);
    case ALM_P_SOURCE:
        if (plan->source.all != NULL)
            return push_scan(p, in, &plan->source.filter, &plan->source.n_filters);
        break;
    case ALM_P_BARRIER:
        if (alm_plan_is_sealed(plan))
            break;
        for (uint32_t i = 0; i < in->n; i++)
            ALM_TRY(alm_exprs_add(p->cx, alm_expr_leakproof(in->at[i]) ? &down : stay, in->at[i]));
        return push_child(p, plan, 0, &down);
    case ALM_P_LIMIT:
    case ALM_P_SHARED:
    case ALM_P_MATERIALISE:
    case ALM_P_RECURSE:
    case ALM_P_WORKING:
    case ALM_P_VALUES:
    case ALM_P_FILTER:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    *stay = *in;
    for (uint32_t i = 0; i < plan->n_children; i++) {
        alm_exprs none = {0};
        ALM_TRY(push_child(p, plan, i, &none));
    }
    return ALM_OK;
}

static alm_status push(alm_planner *p, alm_plan **slot, alm_exprs *conjuncts)
{
    alm_plan *plan = *slot;
    alm_exprs all = *conjuncts, stay = {0};
    while (plan->op == ALM_P_FILTER) {
        alm_exprs more = {0};
        for (uint32_t i = 0; i < plan->filter.n; i++)
            ALM_TRY(alm_exprs_add(p->cx, &more, plan->filter.conjunct[i]));
        for (uint32_t i = 0; i < all.n; i++)
            ALM_TRY(alm_exprs_add(p->cx, &more, all.at[i]));
        all = more;
        plan = plan->child[0];
    }
    for (uint32_t i = 0; i < all.n; i++) {
        if (!alm_expr_is_false(all.at[i]))
            continue;
        alm_exprs none = {0};
        ALM_TRY(push(p, &plan, &none));
        ALM_TRY(alm_plan_limit(p, &plan, 0, 0));
        *slot = plan;
        return ALM_OK;
    }
    ALM_TRY(push_into(p, plan, &all, &stay));
    ALM_TRY(alm_plan_filter(p, &plan, &stay));
    *slot = plan;
    return ALM_OK;
}

alm_status alm_rule_pushdown(alm_planner *p, alm_plan **plan)
{
    alm_exprs none = {0};
    return push(p, plan, &none);
}
