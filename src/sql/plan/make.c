/* make.c - makes plan nodes: result columns, designated timestamp, order (bind/bind.h). */
#include "sql/plan/make.h"
#include "type/ops.h"

alm_status alm_enter(alm_planner *planner, int32_t pos)
{
    if (planner->depth >= ALM_DEPTH_MAX)
        return alm_fail(planner->cx, ALM_E_LIMIT, pos,
                        "the statement is nested too deeply (limit %d)", ALM_DEPTH_MAX);
    planner->depth++;
    return ALM_OK;
}

void alm_use_once(const alm_planner *planner)
{
    if (planner->env->uses != NULL)
        planner->env->uses->once = true;
}

/* Also a name that is not found: it may be the name of a table later. */
alm_status alm_use_table(alm_planner *planner, alm_str name, const alm_table **table)
{
    alm_plan_uses *uses = planner->env->uses;
    alm_str kept = {0};
    *table = alm_snapshot_find(planner->env->snapshot, name);
    if (uses == NULL || uses->once)
        return ALM_OK;
    for (uint32_t i = 0; i < uses->n_names; i++)
        if (alm_str_eq(uses->names[i].name, name))
            return ALM_OK;
    ALM_TRY(
        alm_grow(planner->cx, &uses->names, uses->n_names, &uses->cap_names, sizeof *uses->names));
    ALM_TRY(alm_arena_copy(planner->cx, planner->cx->arena, name, &kept));
    alm_plan_name *use = &uses->names[uses->n_names++];
    *use = (alm_plan_name){.name = kept, .table = *table};
    if (*table != NULL) {
        use->id = (*table)->id;
        use->version = (*table)->version;
        use->schema_version = (*table)->schema_version;
        use->ts_col = (*table)->ts_col;
        use->dedup = (*table)->dedup;
    }
    return ALM_OK;
}

static alm_status set_depth(alm_planner *planner, alm_plan *plan, uint32_t below)
{
    if (below >= ALM_PLAN_DEPTH_MAX)
        return alm_fail(
            planner->cx, ALM_E_LIMIT, plan->pos,
            "statement is too large: its plan has more than %d steps one above the other",
            ALM_PLAN_DEPTH_MAX);
    plan->depth = below + 1;
    return ALM_OK;
}

alm_status alm_plan_new(alm_planner *planner, alm_plan_op op, int32_t pos, alm_plan *child,
                        alm_plan **out)
{
    alm_plan *plan = NULL;
    ALM_TRY(alm_nodes_add(planner->cx, 1, pos));
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &plan));
    plan->op = op;
    plan->pos = pos;
    plan->ts_col = -1;
    plan->depth = 1;
    if (child != NULL) {
        ALM_TRY(set_depth(planner, plan, child->depth));
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &plan->child));
        plan->child[0] = child;
        plan->n_children = 1;
        plan->cols = child->cols;
        plan->n_cols = child->n_cols;
        plan->ts_col = child->ts_col;
        plan->order = child->order;
    }
    *out = plan;
    return ALM_OK;
}

alm_status alm_plan_new2(alm_planner *planner, alm_plan_op op, int32_t pos, alm_plan *left,
                         alm_plan *right, alm_plan **out)
{
    alm_plan *plan = NULL;
    ALM_TRY(alm_plan_new(planner, op, pos, NULL, &plan));
    ALM_TRY(set_depth(planner, plan, ALM_MAX(left->depth, right->depth)));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2, &plan->child));
    plan->child[0] = left;
    plan->child[1] = right;
    plan->n_children = 2;
    *out = plan;
    return ALM_OK;
}

alm_status alm_plan_filter(alm_planner *planner, alm_plan **plan, const alm_exprs *conjuncts)
{
    if (conjuncts->n == 0)
        return ALM_OK;
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_FILTER, conjuncts->at[0]->pos, *plan, &node));
    node->filter.conjunct = conjuncts->at;
    node->filter.n = conjuncts->n;
    *plan = node;
    return ALM_OK;
}

alm_status alm_plan_project(alm_planner *planner, alm_plan *child, alm_expr **exprs,
                            const char *const *names, uint32_t n, alm_plan **out)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_PROJECT, child->pos, child, &node));
    ALM_TRY(alm_nodes_add(planner->cx, n, child->pos));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &node->cols));
    node->n_cols = n;
    node->project.expr = exprs;
    node->ts_col = -1;
    for (uint32_t i = 0; i < n; i++) {
        node->cols[i] = (alm_plan_col){names[i], exprs[i]->type};
        if (node->ts_col < 0 && child->ts_col >= 0 && exprs[i]->kind == ALM_X_COL &&
            exprs[i]->col == (uint32_t)child->ts_col)
            node->ts_col = (int32_t)i;
    }
    if (node->ts_col < 0)
        node->order = ALM_ORDER_NONE;
    *out = node;
    return ALM_OK;
}

alm_status alm_plan_cut(alm_planner *planner, alm_plan **plan, uint32_t n_names)
{
    alm_plan *child = *plan;
    if (child->n_cols == n_names)
        return ALM_OK;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_names + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_names + 1, &names));
    for (uint32_t i = 0; i < n_names; i++) {
        names[i] = child->cols[i].name;
        ALM_TRY(alm_expr_col(planner->cx, i, child->cols[i].type, child->pos, &exprs[i]));
    }
    return alm_plan_project(planner, child, exprs, names, n_names, plan);
}

alm_status alm_plan_sort(alm_planner *planner, alm_plan **plan, alm_sort_key *keys, uint32_t n_keys)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_SORT, keys[0].expr->pos, *plan, &node));
    node->sort.keys = keys;
    node->sort.n_keys = n_keys;
    node->sort.limit = -1;
    node->ts_col = -1;
    node->order = ALM_ORDER_NONE;
    const alm_expr *first = keys[0].expr;
    if (first->kind == ALM_X_COL && alm_type_is_timestamp(first->type)) {
        node->ts_col = (int32_t)first->col;
        node->order = keys[0].desc ? ALM_ORDER_DESC : ALM_ORDER_ASC;
    }
    *plan = node;
    return ALM_OK;
}

alm_status alm_plan_order_by_ts(alm_planner *planner, alm_plan **plan, uint32_t col)
{
    if ((*plan)->ts_col == (int32_t)col && (*plan)->order == ALM_ORDER_ASC)
        return ALM_OK;
    alm_sort_key *key = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &key));
    key->nulls_first = true;
    ALM_TRY(alm_expr_col(planner->cx, col, (*plan)->cols[col].type, (*plan)->pos, &key->expr));
    return alm_plan_sort(planner, plan, key, 1);
}

alm_status alm_plan_limit(alm_planner *planner, alm_plan **plan, int64_t lo, int64_t hi)
{
    if (lo == 0 && hi == INT64_MAX)
        return ALM_OK;
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_LIMIT, (*plan)->pos, *plan, &node));
    node->limit.lo = lo;
    node->limit.hi = hi;
    *plan = node;
    return ALM_OK;
}

alm_status alm_plan_one_row(alm_planner *planner, int32_t pos, alm_plan **out)
{
    alm_plan *node = NULL;
    alm_expr ***rows = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_VALUES, pos, NULL, &node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &node->cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &rows));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &rows[0]));
    ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), 0, pos, &rows[0][0]));
    node->cols[0] = (alm_plan_col){"", ALM_TY(INT)};
    node->n_cols = 1;
    node->values.rows = rows;
    node->values.n_rows = 1;
    *out = node;
    return ALM_OK;
}

alm_status alm_plan_scan(alm_planner *planner, const alm_table *table, int32_t pos, alm_plan **out)
{
    alm_plan *node = NULL;
    const uint32_t n_cols = table->n_cols;
    ALM_TRY(
        alm_table_is_open(planner->cx, table, pos)); /* its dictionaries answer conditions, too */
    ALM_TRY(alm_plan_new(planner, ALM_P_SCAN, pos, NULL, &node));
    ALM_TRY(alm_nodes_add(planner->cx, n_cols, pos));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &node->cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &node->scan.cols));
    for (uint32_t i = 0; i < n_cols; i++) {
        node->cols[i] = (alm_plan_col){table->cols[i].name, table->cols[i].type};
        node->scan.cols[i] = i;
    }
    node->n_cols = n_cols;
    node->scan.n_out = n_cols;
    node->scan.n_cols = n_cols;
    node->scan.table = table;
    node->scan.view = planner->view;
    node->ts_col = table->ts_col;
    node->order = table->ts_col >= 0 ? ALM_ORDER_ASC : ALM_ORDER_NONE;
    if (planner->env->only_table != 0 && planner->env->only_table == table->id) {
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, planner->env->n_only + 1,
                         &node->scan.interval));
        if (planner->env->n_only > 0)
            memcpy(node->scan.interval, planner->env->only,
                   planner->env->n_only * sizeof *planner->env->only);
        node->scan.n_intervals = planner->env->n_only;
        node->scan.has_interval = true;
    } else if (table->hides) {
        ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &node->scan.interval));
        node->scan.interval[0] = (alm_interval){table->visible_from, INT64_MAX};
        node->scan.n_intervals = 1;
        node->scan.has_interval = true;
        if (planner->env->as_template)
            alm_use_once(planner); /* the next snapshot may show less */
    }
    *out = node;
    return ALM_OK;
}

alm_status alm_plan_window(alm_planner *planner, alm_plan **plan, alm_window_call *calls,
                           uint32_t n_calls)
{
    alm_plan *child = *plan, *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_WINDOW, calls[0].pos, child, &node));
    node->n_cols = child->n_cols + n_calls;
    ALM_TRY(alm_nodes_add(planner->cx, node->n_cols, calls[0].pos));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, node->n_cols, &node->cols));
    memcpy(node->cols, child->cols, child->n_cols * sizeof *node->cols);
    for (uint32_t i = 0; i < n_calls; i++)
        node->cols[child->n_cols + i] = (alm_plan_col){calls[i].fn->name, calls[i].type};
    node->window.calls = calls;
    node->window.n_calls = n_calls;
    *plan = node;
    return ALM_OK;
}

alm_status alm_plan_distinct(alm_planner *planner, alm_plan **plan)
{
    alm_plan *child = *plan, *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_GROUP, child->pos, child, &node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols + 1, &node->group.keys));
    node->group.n_keys = child->n_cols;
    for (uint32_t i = 0; i < child->n_cols; i++)
        ALM_TRY(
            alm_expr_col(planner->cx, i, child->cols[i].type, child->pos, &node->group.keys[i]));
    node->ts_col = -1;
    node->order = ALM_ORDER_NONE;
    *plan = node;
    return ALM_OK;
}

static bool plan_make_is_other(void *arg, const alm_expr *col)
{
    return col->col != *(const uint32_t *)arg;
}

/* Does a SORT between `plan` and its projection go by column i? */
static bool sorts_by(const alm_plan *plan, uint32_t i)
{
    for (; plan->op == ALM_P_SORT || plan->op == ALM_P_LIMIT; plan = plan->child[0])
        for (uint32_t k = 0; plan->op == ALM_P_SORT && k < plan->sort.n_keys; k++)
            if (!alm_expr_each_col(plan->sort.keys[k].expr, plan_make_is_other, &i))
                return true;
    return false;
}

/* Does more than one result of a projection read the column that its result i is? */
static bool reads_twice(const alm_plan *project, uint32_t i)
{
    uint32_t count = 0, col = project->project.expr[i]->col;
    for (uint32_t k = 0; k < project->n_cols; k++)
        count += !alm_expr_each_col(project->project.expr[k], plan_make_is_other, &col);
    return count > 1;
}

alm_status alm_plan_widen_col(alm_planner *planner, alm_plan *plan, uint32_t i, bool stored)
{
    alm_plan *project = plan;
    while (project->op == ALM_P_SORT || project->op == ALM_P_LIMIT)
        project = project->child[0];
    if (project->op != ALM_P_PROJECT || i >= project->n_cols || sorts_by(plan, i))
        return ALM_OK;
    alm_expr **expr = &project->project.expr[i];
    if ((*expr)->kind == ALM_X_COL && !reads_twice(project, i)) {
        alm_plan *below = project->child[0];
        ALM_TRY(alm_plan_widen_col(planner, below, (*expr)->col, stored));
        ALM_TRY(alm_expr_col(planner->cx, (*expr)->col, below->cols[(*expr)->col].type,
                             (*expr)->pos, expr));
    }
    if (alm_expr_may_exceed(*expr))
        ALM_TRY(alm_expr_widen(planner, *expr, expr));
    if (stored)
        ALM_TRY(alm_expr_check_range(planner, NULL, expr));
    for (; plan != project; plan = plan->child[0])
        plan->cols[i].type = (*expr)->type;
    project->cols[i].type = (*expr)->type;
    return ALM_OK;
}

alm_status alm_plan_cast(alm_planner *planner, alm_plan **plan, const alm_type *types,
                         alm_cast_mode mode)
{
    alm_plan *child = *plan;
    const uint32_t n_cols = child->n_cols;
    bool same = true;
    for (uint32_t i = 0; i < n_cols; i++)
        if (child->cols[i].type.id == ALM_T_INT && !alm_type_eq(types[i], child->cols[i].type) &&
            !alm_type_is_text(types[i]))
            ALM_TRY(alm_plan_widen_col(planner, child, i, false));
    for (uint32_t i = 0; i < n_cols; i++)
        same &= alm_type_eq(types[i], child->cols[i].type);
    if (same)
        return ALM_OK;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &names));
    for (uint32_t i = 0; i < n_cols; i++) {
        names[i] = child->cols[i].name;
        ALM_TRY(alm_expr_col(planner->cx, i, child->cols[i].type, child->pos, &exprs[i]));
        /* times that a finer unit does not hold are no nulls, whatever is done with other values */
        const bool times = alm_type_info_of(types[i])->cls == ALM_TC_TIME &&
                           alm_type_info_of(exprs[i]->type)->cls == ALM_TC_TIME;
        ALM_TRY(alm_expr_cast(planner, exprs[i], types[i], times ? ALM_CAST_IMPLICIT : mode,
                              &exprs[i]));
    }
    return alm_plan_project(planner, child, exprs, names, n_cols, plan);
}

static int64_t ticks_in_second(alm_type type)
{
    return alm_time_second(alm_type_unit(type));
}

/* Numbers that are equal where the times are: neither unit holds all times of the other. */
static alm_status time_keys(alm_planner *planner, alm_expr **a, alm_expr **b)
{
    const int64_t x = ticks_in_second((*a)->type), y = ticks_in_second((*b)->type);
    const int64_t factor = x < y ? y / x : x / y;
    for (uint32_t i = 0; i < 2; i++) {
        alm_expr **side = i == 0 ? a : b, *args[2] = {*side, NULL};
        const bool coarse = (i == 0) == (x < y);
        ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(LONG), (uint64_t)(coarse ? factor : -factor),
                              (*side)->pos, &args[1]));
        ALM_TRY(alm_expr_call(planner, "time key", (*side)->pos, args, 2, side));
    }
    return ALM_OK;
}

alm_status alm_join_key_types(alm_planner *planner, alm_expr **a, alm_expr **b, bool *ok)
{
    alm_expr *keys[2] = {*a, *b};
    ALM_TRY(alm_widen_ints(planner, keys, 2)); /* as other comparisons do */
    *a = keys[0];
    *b = keys[1];
    const alm_type x = (*a)->type, y = (*b)->type;
    *ok = true;
    if (alm_type_eq(x, y) || (alm_type_is_text(x) && alm_type_is_text(y)))
        return ALM_OK;
    const alm_type_class cx_ = alm_type_info_of(x)->cls, class = alm_type_info_of(y)->cls;
    const bool numbers = (cx_ == ALM_TC_INTEGER || cx_ == ALM_TC_FLOATING) &&
                         (class == ALM_TC_INTEGER || class == ALM_TC_FLOATING);
    const bool times = cx_ == ALM_TC_TIME && class == ALM_TC_TIME;
    const bool time_long =
        (cx_ == ALM_TC_TIME && y.id == ALM_T_LONG) || (class == ALM_TC_TIME && x.id == ALM_T_LONG);
    const bool texts = (cx_ == ALM_TC_TEXT || cx_ == ALM_TC_CHAR) &&
                       (class == ALM_TC_TEXT || class == ALM_TC_CHAR);
    const bool nulls = x.id == ALM_T_NULL || y.id == ALM_T_NULL;
    const alm_type meet = alm_type_meet(x, y);
    *ok = (numbers || times || time_long || texts || nulls) && meet.id != ALM_T_NONE;
    if (!*ok)
        return ALM_OK;
    if (times)
        return time_keys(planner, a, b);
    ALM_TRY(alm_expr_cast(planner, *a, meet, ALM_CAST_EXPLICIT, a));
    return alm_expr_cast(planner, *b, meet, ALM_CAST_EXPLICIT, b);
}

alm_status alm_plan_join(alm_planner *planner, uint8_t kind, int32_t pos, alm_plan *left,
                         alm_plan *right, alm_plan **out)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new2(planner, ALM_P_JOIN, pos, left, right, &node));
    const bool left_only = kind == ALM_JOIN_SEMI || kind == ALM_JOIN_ANTI;
    const uint32_t n = left->n_cols + (left_only ? 0 : right->n_cols);
    ALM_TRY(alm_nodes_add(planner->cx, n, pos));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &node->cols));
    memcpy(node->cols, left->cols, left->n_cols * sizeof *node->cols);
    if (!left_only && right->n_cols > 0)
        memcpy(node->cols + left->n_cols, right->cols, right->n_cols * sizeof *node->cols);
    node->n_cols = n;
    node->join.kind = kind;
    node->join.tolerance = -1;
    if (kind != ALM_JOIN_RIGHT && kind != ALM_JOIN_FULL && kind != ALM_JOIN_SPLICE) {
        node->ts_col = left->ts_col;
        node->order = left->order;
    }
    *out = node;
    return ALM_OK;
}
