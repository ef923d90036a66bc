/*
 * join.c - JOIN: rows of two inputs side by side.
 *
 * Decorrelation   Both sides carry outer values and meet in them where rows of both stay (RIGHT, FULL, SPLICE); else the right
 *                 side carries what the left one does.
 */
#include <inttypes.h>

#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"

static bool one_sided(const alm_plan *plan)
{
    return plan->join.kind == ALM_JOIN_SEMI || plan->join.kind == ALM_JOIN_ANTI;
}

static alm_status join_pairs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(visit(arg, &plan->join.left_keys[i]));
        ALM_TRY(visit(arg, &plan->join.right_keys[i]));
    }
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        ALM_TRY(visit(arg, &plan->join.residual[i]));
    return ALM_OK;
}

static alm_status join_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->join.left_keys, plan->join.n_keys);
    ALM_COPY_LIST(plan->join.right_keys, plan->join.n_keys);
    ALM_COPY_LIST(plan->join.residual, plan->join.n_residual);
    return ALM_OK;
}

static uint32_t join_width(const alm_plan *plan)
{
    return plan->child[0]->n_cols + (one_sided(plan) ? 0 : plan->child[1]->n_cols);
}

static alm_status join_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node, *left = plan->child[0], *right = plan->child[1];
    const uint8_t kind = plan->join.kind;
    ALM_TRY(
        alm_check_pairs(checking, plan->join.left_keys, plan->join.right_keys, plan->join.n_keys));
    ALM_TRY(alm_check_each(checking, plan->join.residual, plan->join.n_residual));
    if (kind != ALM_JOIN_ASOF && kind != ALM_JOIN_LT && kind != ALM_JOIN_SPLICE)
        return ALM_OK;
    if (!alm_check_is_time(left, plan->join.left_ts) ||
        !alm_check_is_time(right, plan->join.right_ts) ||
        (plan->join.has_lane && !alm_check_is_column(left, plan->join.lane_col)))
        return alm_check_wrong(checking, "times of a join");
    return ALM_OK;
}

static alm_status join_explain(alm_printer *printer, const alm_plan *plan)
{
    static const char *const names[] = {
        [ALM_JOIN_CROSS] = "cross", [ALM_JOIN_INNER] = "inner",  [ALM_JOIN_LEFT] = "left",
        [ALM_JOIN_RIGHT] = "right", [ALM_JOIN_FULL] = "full",    [ALM_JOIN_ASOF] = "asof",
        [ALM_JOIN_LT] = "lt",       [ALM_JOIN_SPLICE] = "splice"};
    const uint8_t kind = plan->join.kind;
    const alm_plan *left = plan->child[0], *right = plan->child[1];
    ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " %s",
                           kind == ALM_JOIN_SEMI   ? "semi"
                           : kind == ALM_JOIN_ANTI ? "anti"
                                                   : names[kind]));
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(alm_print(printer, i == 0 ? " keys: " : ", "));
        ALM_TRY(alm_print_expr(printer, plan->join.left_keys[i], left, NULL));
        ALM_TRY(alm_print(printer, " = "));
        ALM_TRY(alm_print_expr(printer, plan->join.right_keys[i], right, NULL));
    }
    if (plan->join.direction != ALM_ASOF_BACKWARD)
        ALM_TRY(alm_print(printer, plan->join.direction == ALM_ASOF_FORWARD
                                       ? " direction: forward"
                                       : " direction: nearest"));
    if (plan->join.tolerance >= 0)
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " tolerance: %" PRId64,
                               plan->join.tolerance));
    return alm_print_conjuncts(printer, " filter: ", plan->join.residual, plan->join.n_residual,
                               left, right);
}

static const char *join_pg_name(const alm_plan *plan)
{
    switch ((int)plan->join.kind) {
    case ALM_JOIN_ASOF:
        return "ASOF Join";
    case ALM_JOIN_LT:
        return "LT Join";
    case ALM_JOIN_SPLICE:
        return "SPLICE Join";
    default:
        return plan->join.n_keys > 0 ? "Hash Join" : "Nested Loop";
    }
}

/* Which side of it may be null, in PostgreSQL's words. */
static const char *join_type(uint8_t kind)
{
    switch ((int)kind) {
    case ALM_JOIN_LEFT:
    case ALM_JOIN_RIGHT: /* its sides are changed */
    case ALM_JOIN_ASOF:
    case ALM_JOIN_LT:
        return "Left";
    case ALM_JOIN_FULL:
    case ALM_JOIN_SPLICE:
        return "Full";
    case ALM_JOIN_SEMI:
        return "Semi";
    case ALM_JOIN_ANTI:
        return "Anti";
    default:
        return "Inner";
    }
}

static alm_status join_json(alm_explain_json *json, const alm_plan *plan)
{
    return alm_explain_json_text(json, "Join Type", join_type(plan->join.kind));
}

static void join_estimate(alm_plan *plan, double left, double right)
{
    const uint8_t kind = plan->join.kind;
    const bool pairs = plan->join.n_keys == 0 &&
                       (kind == ALM_JOIN_CROSS || kind == ALM_JOIN_INNER || kind == ALM_JOIN_LEFT ||
                        kind == ALM_JOIN_RIGHT || kind == ALM_JOIN_FULL);
    plan->est_rows = pairs ? ALM_MAX(left * right, left + right) : left + right;
}

static double join_most_rows(const alm_plan *plan, const double rows[2], double *pairs)
{
    const uint8_t kind = plan->join.kind;
    const double sum = rows[0] + rows[1], product = rows[0] * rows[1];
    if (kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT || kind == ALM_JOIN_SPLICE)
        return sum;
    if (!one_sided(plan) || plan->join.n_keys == 0 || plan->join.n_residual > 0)
        *pairs += product; /* keys may all be the same */
    return one_sided(plan) ? rows[0] : ALM_MAX(product, sum);
}

static bool join_is_asof(uint8_t kind)
{
    return kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT || kind == ALM_JOIN_SPLICE;
}

static void join_order(alm_plan *plan, bool needed, bool below[2])
{
    const bool asof = join_is_asof(plan->join.kind);
    plan->join.unordered = !needed;
    below[0] = asof || needed;
    below[1] = asof || (needed && !one_sided(plan));
}

static alm_status join_cols(alm_planner *planner, alm_plan *plan)
{
    const alm_plan *left = plan->child[0], *right = plan->child[1];
    const bool left_only = plan->join.kind == ALM_JOIN_SEMI || plan->join.kind == ALM_JOIN_ANTI;
    const uint32_t n_right = left_only ? 0 : right->n_cols;
    plan->n_cols = left->n_cols + n_right;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &plan->cols));
    if (left->n_cols > 0)
        memcpy(plan->cols, left->cols, left->n_cols * sizeof *plan->cols);
    if (n_right > 0)
        memcpy(plan->cols + left->n_cols, right->cols, n_right * sizeof *plan->cols);
    return ALM_OK;
}

/* Columns that are there for the keys alone. */
static alm_status mark_unread(alm_planner *planner, alm_plan *plan, const bool *need,
                              const uint32_t *map, uint32_t n_needs)
{
    bool *unread = NULL;
    ALM_TRY(alm_prune_flags(planner, plan->n_cols, &unread));
    memset(unread, 1, plan->n_cols * sizeof *unread);
    for (uint32_t i = 0; i < n_needs; i++)
        if (need[i] && map[i] != ALM_PRUNE_NONE)
            unread[map[i]] = false;
    plan->join.unread = unread;
    return ALM_OK;
}

static alm_status join_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                             uint32_t **map)
{
    alm_plan *plan = *slot;
    const uint32_t n_left = plan->child[0]->n_cols, n_right = plan->child[1]->n_cols;
    const bool left_only = plan->join.kind == ALM_JOIN_SEMI || plan->join.kind == ALM_JOIN_ANTI;
    bool *wanted = NULL;
    uint32_t *left = NULL, *right = NULL;
    ALM_TRY(alm_prune_flags(planner, n_left + n_right, &wanted));
    memcpy(wanted, need, (left_only ? n_left : n_left + n_right) * sizeof *wanted);
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        ALM_TRY(alm_prune_mark(wanted, &plan->join.residual[i]));
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(alm_prune_mark(wanted, &plan->join.left_keys[i]));
        ALM_TRY(alm_prune_mark(wanted + n_left, &plan->join.right_keys[i]));
    }
    if (join_is_asof(plan->join.kind)) {
        wanted[plan->join.left_ts] = true;
        wanted[n_left + plan->join.right_ts] = true;
        if (plan->join.has_lane)
            wanted[plan->join.lane_col] = true;
    }
    ALM_TRY(alm_prune(planner, &plan->child[0], wanted, &left));
    ALM_TRY(alm_prune(planner, &plan->child[1], wanted + n_left, &right));
    uint32_t *all = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + n_right + 1, &all));
    memcpy(all, left, n_left * sizeof *all);
    for (uint32_t i = 0; i < n_right; i++)
        all[n_left + i] =
            right[i] == ALM_PRUNE_NONE ? ALM_PRUNE_NONE : right[i] + plan->child[0]->n_cols;
    alm_prune_map prune_map = {planner->cx, all}, rl = {planner->cx, left},
                  rr = {planner->cx, right};
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        ALM_TRY(alm_prune_renumber(&prune_map, &plan->join.residual[i]));
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(alm_prune_renumber(&rl, &plan->join.left_keys[i]));
        ALM_TRY(alm_prune_renumber(&rr, &plan->join.right_keys[i]));
    }
    if (join_is_asof(plan->join.kind)) {
        plan->join.left_ts = left[plan->join.left_ts];
        plan->join.right_ts = right[plan->join.right_ts];
        if (plan->join.has_lane)
            plan->join.lane_col = left[plan->join.lane_col];
    }
    plan->ts_col = alm_prune_mapped(all, plan->ts_col);
    *map = all;
    ALM_TRY(join_cols(planner, plan));
    return mark_unread(planner, plan, need, all, left_only ? n_left : n_left + n_right);
}

typedef struct join_lists {
    alm_exprs left, right, left_keys, right_keys, residual;
} join_lists;

static bool join_keeps_left(uint8_t kind)
{
    return kind == ALM_JOIN_CROSS || kind == ALM_JOIN_INNER || kind == ALM_JOIN_LEFT ||
           kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT || kind == ALM_JOIN_SEMI ||
           kind == ALM_JOIN_ANTI;
}

static bool keeps_right(uint8_t kind)
{
    return kind == ALM_JOIN_CROSS || kind == ALM_JOIN_INNER || kind == ALM_JOIN_RIGHT;
}

static bool join_is_inner(uint8_t kind)
{
    return kind == ALM_JOIN_CROSS || kind == ALM_JOIN_INNER;
}

static alm_status add_shifted(alm_planner *planner, alm_exprs *list, alm_expr *expr, uint32_t by)
{
    ALM_TRY(alm_expr_shift(planner->cx, expr, -(int64_t)by, &expr));
    return alm_exprs_add(planner->cx, list, expr);
}

/* Keys are compared as they are: DECIMALs of different scales are not. */
static bool may_be_keys(const alm_expr *a, const alm_expr *b)
{
    return alm_type_eq(a->type, b->type) ||
           (alm_type_is_text(a->type) && alm_type_is_text(b->type));
}

/* left = right becomes a key pair; anything else a residual condition. */
static alm_status join_condition(alm_planner *planner, const alm_plan *plan, alm_expr *expr,
                                 join_lists *to)
{
    const uint32_t n_left = plan->child[0]->n_cols, all = n_left + plan->child[1]->n_cols;
    if (alm_expr_is_call(expr, "=") && may_be_keys(expr->args[0], expr->args[1])) {
        alm_expr *a = expr->args[0], *b = expr->args[1];
        if (alm_expr_within(b, 0, n_left) && alm_expr_within(a, n_left, all)) {
            alm_expr *swap = a;
            a = b;
            b = swap;
        }
        if (alm_expr_within(a, 0, n_left) && alm_expr_within(b, n_left, all) &&
            alm_expr_has_col(a) && alm_expr_has_col(b)) {
            bool ok = false; /* times of two units are compared as they are, and not joined so */
            if (!alm_type_eq(a->type, b->type))
                ALM_TRY(alm_join_key_types(planner, &a, &b, &ok));
            ALM_TRY(alm_exprs_add(planner->cx, &to->left_keys, a));
            return add_shifted(planner, &to->right_keys, b, n_left);
        }
    }
    return alm_exprs_add(planner->cx, &to->residual, expr);
}

static alm_status place_where(alm_planner *planner, const alm_plan *plan, alm_expr *expr,
                              join_lists *to, alm_exprs *stay)
{
    const uint32_t n_left = plan->child[0]->n_cols, all = n_left + plan->child[1]->n_cols;
    const uint8_t kind = plan->join.kind;
    if (alm_expr_volatile(expr) || !alm_expr_has_col(expr))
        return alm_exprs_add(planner->cx, stay, expr);
    if (alm_expr_within(expr, 0, n_left))
        return alm_exprs_add(planner->cx, join_keeps_left(kind) ? &to->left : stay, expr);
    if (alm_expr_within(expr, n_left, all)) {
        if (keeps_right(kind))
            return add_shifted(planner, &to->right, expr, n_left);
        return alm_exprs_add(planner->cx, stay, expr);
    }
    return join_is_inner(kind) ? join_condition(planner, plan, expr, to)
                               : alm_exprs_add(planner->cx, stay, expr);
}

/* A condition of ON that speaks of one side may run before the join on the side that is not kept. */
static alm_status place_on(alm_planner *planner, const alm_plan *plan, alm_expr *expr,
                           join_lists *to)
{
    const uint32_t n_left = plan->child[0]->n_cols, all = n_left + plan->child[1]->n_cols;
    const uint8_t kind = plan->join.kind;
    const bool fixed = alm_expr_volatile(expr) || !alm_expr_has_col(expr);
    if (!fixed && alm_expr_within(expr, n_left, all) &&
        (join_is_inner(kind) || kind == ALM_JOIN_LEFT))
        return add_shifted(planner, &to->right, expr, n_left);
    if (!fixed && alm_expr_within(expr, 0, n_left) &&
        (join_is_inner(kind) || kind == ALM_JOIN_RIGHT))
        return alm_exprs_add(planner->cx, &to->left, expr);
    return alm_exprs_add(planner->cx, &to->residual, expr);
}

static alm_status join_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                            alm_exprs *stay)
{
    join_lists to = {0};
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(alm_exprs_add(planner->cx, &to.left_keys, plan->join.left_keys[i]));
        ALM_TRY(alm_exprs_add(planner->cx, &to.right_keys, plan->join.right_keys[i]));
    }
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        ALM_TRY(place_on(planner, plan, plan->join.residual[i], &to));
    for (uint32_t i = 0; i < in->n; i++)
        ALM_TRY(place_where(planner, plan, in->at[i], &to, stay));
    plan->join.left_keys = to.left_keys.at;
    plan->join.right_keys = to.right_keys.at;
    plan->join.n_keys = to.left_keys.n;
    plan->join.residual = to.residual.at;
    plan->join.n_residual = to.residual.n;
    if (plan->join.kind == ALM_JOIN_CROSS && (to.left_keys.n > 0 || to.residual.n > 0))
        plan->join.kind = ALM_JOIN_INNER;
    ALM_TRY(alm_push_child(planner, plan, 0, &to.left));
    return alm_push_child(planner, plan, 1, &to.right);
}

static alm_status land_join(const alm_dep_ctx *dep, alm_plan *join, alm_plan *left,
                            const alm_exprs *carried, uint32_t n_left)
{
    alm_planner *planner = dep->p;
    for (uint32_t i = 0; i < join->join.n_residual; i++) {
        alm_expr **expr = &join->join.residual[i];
        /* right columns move behind what the left side carries, then outer ones come down */
        uint32_t *map = NULL;
        const uint32_t all = n_left + join->child[1]->n_cols;
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, all + 1, &map));
        for (uint32_t col = 0; col < all; col++)
            map[col] = col < n_left ? col : col + left->n_cols - n_left;
        alm_dep_landing landing = {planner, left, carried, n_left};
        alm_expr *shifted = NULL;
        ALM_TRY(alm_expr_renumber(planner->cx, *expr, map, &shifted));
        ALM_TRY(alm_expr_map(planner->cx, shifted, alm_dep_land_col, &landing, expr));
    }
    return ALM_OK;
}

/* Outer columns in the keys of a side: the side carries them, and the keys read them there. */
static alm_status land_keys(const alm_dep_ctx *dep, alm_plan **side, uint32_t n_before,
                            alm_exprs *carried, alm_expr **keys, uint32_t n_keys)
{
    alm_exprs want = {0};
    for (uint32_t i = 0; i < n_keys; i++)
        ALM_TRY(alm_dep_gather(dep->p->cx, keys[i], &want));
    ALM_TRY(alm_dep_ensure(dep, side, carried, &want));
    alm_dep_landing landing = {dep->p, *side, carried, n_before};
    for (uint32_t i = 0; i < n_keys; i++)
        ALM_TRY(alm_dep_land_one(&landing, &keys[i]));
    return ALM_OK;
}

/* Both sides of a join made independent, with their keys. */
static alm_status push_sides(const alm_dep_ctx *dep, const alm_plan *join, alm_plan **left,
                             alm_plan **right, alm_exprs *carried, alm_exprs *right_carried)
{
    const uint32_t n_left = (*left)->n_cols, n_right = (*right)->n_cols, n_keys = join->join.n_keys;
    ALM_TRY(alm_dep_push(dep, left, carried));
    ALM_TRY(alm_dep_push(dep, right, right_carried));
    ALM_TRY(land_keys(dep, left, n_left, carried, join->join.left_keys, n_keys));
    return land_keys(dep, right, n_right, right_carried, join->join.right_keys, n_keys);
}

/* RIGHT, FULL, SPLICE: rows of the right side stay too, so both sides carry the same. */
static alm_status push_both(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    alm_plan *old = *plan, *left = old->child[0], *right = old->child[1], *join = NULL;
    const uint32_t n_left = left->n_cols, n_right = right->n_cols;
    alm_exprs exprs = {0}, want = {0}, lk = {0}, rk = {0};
    alm_dep_list deps;
    ALM_TRY(push_sides(dep, old, &left, &right, carried, &exprs));
    for (uint32_t i = 0; i < carried->n + exprs.n; i++)
        ALM_TRY(alm_exprs_add(planner->cx, &want,
                              i < carried->n ? carried->at[i] : exprs.at[i - carried->n]));
    for (uint32_t i = 0; i < old->join.n_residual; i++)
        ALM_TRY(alm_dep_gather(planner->cx, old->join.residual[i], &want));
    ALM_TRY(alm_dep_ensure(dep, &left, carried, &want));
    ALM_TRY(alm_dep_ensure(dep, &right, &exprs, &want));
    ALM_TRY(alm_plan_join(planner, old->join.kind, old->pos, left, right, &join));
    join->join = old->join;
    ALM_TRY(land_join(dep, join, left, carried, n_left));
    for (uint32_t i = 0; i < old->join.n_keys; i++) {
        ALM_TRY(alm_exprs_add(planner->cx, &lk, old->join.left_keys[i]));
        ALM_TRY(alm_exprs_add(planner->cx, &rk, old->join.right_keys[i]));
    }
    ALM_TRY(alm_dep_list_new(planner, join->n_cols, &deps));
    ALM_TRY(alm_dep_list_cols(planner, &deps, join, 0, n_left));
    ALM_TRY(alm_dep_list_cols(planner, &deps, join, left->n_cols, left->n_cols + n_right));
    for (uint32_t i = 0; i < carried->n; i++) {
        alm_expr *a = NULL, *b = NULL;
        const uint32_t place = n_right + (uint32_t)alm_dep_find_outer(&exprs, carried->at[i]);
        ALM_TRY(alm_dep_key_pair(planner, left, n_left + i, right, place, &lk, &rk));
        ALM_TRY(alm_dep_col_of(planner, join, n_left + i, &a));
        ALM_TRY(alm_dep_col_of(planner, join, left->n_cols + place, &b));
        if (old->join.kind != ALM_JOIN_RIGHT)
            ALM_TRY(alm_dep_unless_null(planner, a, b, a, &b));
        alm_dep_list_add(&deps, b);
    }
    join->join.left_keys = lk.at;
    join->join.right_keys = rk.at;
    join->join.n_keys = lk.n;
    return alm_plan_project(planner, join, deps.exprs, deps.names, deps.n, plan);
}

static alm_status join_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    alm_plan *old = *plan, *left = old->child[0], *right = old->child[1], *join = NULL;
    const uint8_t kind = old->join.kind;
    const bool one_side = kind == ALM_JOIN_SEMI || kind == ALM_JOIN_ANTI;
    const uint32_t n_left = left->n_cols, n_right = right->n_cols;
    alm_exprs exprs = {0}, want = {0};
    if (kind == ALM_JOIN_RIGHT || kind == ALM_JOIN_FULL || kind == ALM_JOIN_SPLICE)
        return push_both(dep, plan, carried);
    ALM_TRY(push_sides(dep, old, &left, &right, carried, &exprs));
    for (uint32_t i = 0; i < old->join.n_residual; i++)
        ALM_TRY(alm_dep_gather(planner->cx, old->join.residual[i], &want));
    for (uint32_t i = 0; i < exprs.n; i++)
        if (kind != ALM_JOIN_INNER && kind != ALM_JOIN_CROSS)
            ALM_TRY(alm_exprs_add(planner->cx, &want, exprs.at[i]));
    ALM_TRY(alm_dep_ensure(dep, &left, carried, &want));
    ALM_TRY(alm_plan_join(planner, kind, old->pos, left, right, &join));
    const uint8_t joined = join->join.kind;
    join->join = old->join;
    join->join.kind = joined;
    ALM_TRY(land_join(dep, join, left, carried, n_left));

    alm_exprs lk = {0}, rk = {0};
    for (uint32_t i = 0; i < old->join.n_keys; i++) {
        ALM_TRY(alm_exprs_add(planner->cx, &lk, old->join.left_keys[i]));
        ALM_TRY(alm_exprs_add(planner->cx, &rk, old->join.right_keys[i]));
    }
    alm_dep_list deps;
    ALM_TRY(alm_dep_list_new(planner, join->n_cols, &deps));
    ALM_TRY(alm_dep_list_cols(planner, &deps, join, 0, n_left));
    if (!one_side)
        ALM_TRY(alm_dep_list_cols(planner, &deps, join, left->n_cols, left->n_cols + n_right));
    ALM_TRY(alm_dep_list_cols(planner, &deps, join, n_left, left->n_cols));
    for (uint32_t i = 0; i < exprs.n; i++) {
        const int32_t place = alm_dep_find_outer(carried, exprs.at[i]);
        if (place < 0) {
            ALM_TRY(alm_dep_list_cols(planner, &deps, join, left->n_cols + n_right + i,
                                      left->n_cols + n_right + i + 1));
            ALM_TRY(alm_exprs_add(planner->cx, carried, exprs.at[i]));
            continue;
        }
        alm_expr *a = NULL, *b = NULL;
        bool ok = false;
        ALM_TRY(alm_dep_col_of(planner, left, n_left + (uint32_t)place, &a));
        ALM_TRY(alm_dep_col_of(planner, right, n_right + i, &b));
        ALM_TRY(alm_join_key_types(planner, &a, &b, &ok));
        ALM_ASSERT(ok);
        ALM_TRY(alm_exprs_add(planner->cx, &lk, a));
        ALM_TRY(alm_exprs_add(planner->cx, &rk, b));
    }
    join->join.left_keys = lk.at;
    join->join.right_keys = rk.at;
    join->join.n_keys = lk.n;
    if (kind == ALM_JOIN_CROSS && lk.n > 0)
        join->join.kind = ALM_JOIN_INNER;
    return alm_plan_project(planner, join, deps.exprs, deps.names, deps.n, plan);
}

static alm_status join_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    if (!one_sided(plan))
        ALM_TRY(alm_range_below(planner, plan->child[1], used + plan->child[0]->n_cols));
    return alm_range_below(planner, plan->child[0], used);
}

const alm_node_ops alm_node_join = {
    .pg_name_of = join_pg_name,
    .n_children = 2,
    .flags = ALM_NODE_REFRESHABLE,
    .pairs = join_pairs,
    .copy = join_copy,
    .width = join_width,
    .check = join_check,
    .explain = join_explain,
    .json = join_json,
    .estimate = join_estimate,
    .most_rows = join_most_rows,
    .order = join_order,
    .prune = join_prune,
    .push = join_push,
    .decorrelate = join_decorrelate,
    .range = join_range,
};
