/*
 * cte.c - WITH: what a name of FROM stands for, bound once however often it is used; WITH
 * RECURSIVE.
 *
 * Sharing     A cheap plan (scans, filters, projections) is copied for each use. Any other becomes a
 *             MATERIALISE node that all uses point to; the rule `share` puts it back where there is one
 *             use, or where keeping the rows does not pay. A volatile one must not be run twice.
 * Recursion   name AS (start UNION [ALL] step ...): the operands of the union that do not name it are
 *             the start, the others the step. Columns take the type in which all of them meet; as the
 *             step's types follow from them, it is bound until they stand still.
 */
#include "sql/bind/bind.h"
#include "sql/node/copy.h"
#include "sql/node/ops.h"
#include "sql/node/walk.h"

enum { TYPE_ROUNDS = 8 };

/* --------------------------------------------------------------------------- one plan */

static alm_status cte_seek_volatile(void *arg, alm_expr **expr)
{
    *(bool *)arg |= alm_expr_volatile(*expr);
    return ALM_OK;
}

static bool is_volatile(alm_plan *plan)
{
    bool found = false;
    return alm_plan_each_expr(plan, cte_seek_volatile, &found) != ALM_OK || found;
}

/* So little work that doing it again costs less than keeping rows. */
static bool is_cheap(const alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (!is_cheap(plan->child[i]))
            return false;
    return alm_node_is(plan, ALM_NODE_CHEAP);
}

static alm_status cte_keep_rows(alm_planner *planner, const alm_cte *cte, alm_plan *plan,
                                alm_plan **out)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_MATERIALISE, cte->pos, plan, &node));
    ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, cte->name, &node->materialise.name));
    node->materialise.must = cte->materialized > 0 || is_volatile(plan);
    node->materialise.never = cte->materialized < 0 && !node->materialise.must;
    ALM_TRY(alm_grow(planner->cx, &planner->kept, planner->n_kept, &planner->cap_kept,
                     sizeof(alm_plan *)));
    planner->kept[planner->n_kept++] = node;
    *out = node;
    return ALM_OK;
}

static alm_status copy_cols(alm_planner *planner, const alm_plan *of, alm_plan *to)
{
    to->n_cols = of->n_cols;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, of->n_cols + 1, &to->cols));
    memcpy(to->cols, of->cols, of->n_cols * sizeof *to->cols);
    return ALM_OK;
}

static alm_status cte_share(alm_planner *planner, alm_plan *kept, int32_t pos, alm_plan **out)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_SHARED, pos, NULL, &node));
    ALM_TRY(copy_cols(planner, kept, node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, kept->n_cols + 1, &node->shared.cols));
    for (uint32_t i = 0; i < kept->n_cols; i++)
        node->shared.cols[i] = i;
    node->shared.of = kept;
    node->ts_col = kept->ts_col;
    node->order = kept->order;
    *out = node;
    return ALM_OK;
}

/* The names given behind the CTE's name. */
static alm_status name_cols(alm_planner *planner, const alm_cte *cte, alm_plan *plan)
{
    if (cte->n_cols > plan->n_cols)
        return alm_fail(planner->cx, ALM_E_NAME, cte->pos,
                        "'%.*s' has %u columns, %u names are given", (int)cte->name.len,
                        cte->name.ptr, plan->n_cols, cte->n_cols);
    alm_plan shape;
    ALM_TRY(copy_cols(planner, plan, &shape));
    plan->cols = shape.cols;
    for (uint32_t col = 0; col < cte->n_cols; col++)
        ALM_TRY(
            alm_arena_zstr(planner->cx, planner->cx->arena, cte->cols[col], &plan->cols[col].name));
    return ALM_OK;
}

/* ------------------------------------------------------------------------- recursion */

typedef struct operands { /* of the union, in the order written */
    const alm_select **at;
    uint32_t n;
} operands;

static bool is_union(const alm_select *sel, const alm_select *root)
{
    if (sel->op != ALM_SET_UNION || sel->all != root->all)
        return false;
    return sel == root || (sel->n_with == 0 && sel->n_order == 0 && sel->limit_lo == NULL &&
                           sel->limit_hi == NULL && sel->offset == NULL);
}

static alm_status split_union(alm_planner *planner, const alm_select *root, operands *out)
{
    uint32_t n = 1;
    for (const alm_select *select = root; is_union(select, root); select = select->left)
        n++;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n, &out->at));
    out->n = n;
    for (const alm_select *select = root; n > 0; select = select->left)
        out->at[--n] = is_union(select, root) ? select->right : select;
    return ALM_OK;
}

static alm_status meet(alm_planner *planner, int32_t pos, const alm_plan_col *a,
                       const alm_plan_col *b, alm_type *out)
{
    const alm_type both = alm_type_union(a->type, b->type);
    *out = both.id == ALM_T_SYMBOL ? ALM_TY(STRING) : both;
    return both.id != ALM_T_NONE || a->type.id == ALM_T_NONE || b->type.id == ALM_T_NONE
               ? ALM_OK
               : alm_no_union(planner, pos, a->name, b->type, a->type);
}

/* Adds one more operand to those that are there; their types meet. */
static alm_status add_operand(alm_planner *planner, const alm_select *sel, alm_plan *operand,
                              alm_plan **all)
{
    alm_plan *node = NULL;
    alm_type *types = NULL;
    if (*all == NULL) {
        *all = operand;
        return ALM_OK;
    }
    const uint32_t n = (*all)->n_cols;
    if (operand->n_cols != n)
        return alm_fail(planner->cx, ALM_E_TYPE, sel->pos,
                        "queries have different number of columns");
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &types));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(meet(planner, sel->pos, &(*all)->cols[i], &operand->cols[i], &types[i]));
    ALM_TRY(alm_plan_cast(planner, all, types, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_plan_cast(planner, &operand, types, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_plan_new2(planner, ALM_P_SETOP, sel->pos, *all, operand, &node));
    node->cols = (*all)->cols;
    node->n_cols = n;
    node->setop.kind = ALM_SETOP_UNION_ALL;
    *all = node;
    return ALM_OK;
}

static alm_status set_types(alm_planner *planner, alm_plan *node, const alm_plan *like,
                            bool *changed)
{
    if (like->n_cols != node->n_cols)
        return alm_fail(planner->cx, ALM_E_TYPE, like->pos,
                        "queries have different number of columns");
    *changed = false;
    for (uint32_t i = 0; i < node->n_cols; i++) {
        alm_type target = ALM_TY(NONE);
        ALM_TRY(meet(planner, like->pos, &node->cols[i], &like->cols[i], &target));
        *changed |= !alm_type_eq(target, node->cols[i].type);
        node->cols[i].type = target;
    }
    return ALM_OK;
}

/* Those of ops[1..] that name the CTE: is_step[i]; the others join the start. */
static alm_status bind_start(alm_planner *planner, const alm_names *names, alm_recursion *rec,
                             const operands *ops, bool *is_step, alm_plan **start)
{
    alm_plan *first = NULL;
    *start = NULL;
    rec->open = false;
    ALM_TRY(alm_bind_query(planner, names, ops->at[0], &first));
    ALM_TRY(add_operand(planner, ops->at[0], first, start));
    ALM_TRY(copy_cols(planner, first, rec->node));
    ALM_TRY(name_cols(planner, rec->cte, rec->node));
    bool changed = false;
    ALM_TRY(set_types(planner, rec->node, rec->node, &changed)); /* no symbols */
    rec->open = true;
    for (uint32_t i = 1; i < ops->n; i++) {
        alm_plan *plan = NULL;
        const uint32_t before = rec->used;
        ALM_TRY(alm_bind_query(planner, names, ops->at[i], &plan));
        is_step[i] = rec->used != before;
        if (!is_step[i])
            ALM_TRY(add_operand(planner, ops->at[i], plan, start));
    }
    return set_types(planner, rec->node, *start, &changed);
}

static alm_status bind_step(alm_planner *planner, const alm_names *names, alm_recursion *rec,
                            const operands *ops, const bool *is_step, alm_plan **step)
{
    bool changed = true;
    for (int round = 0; changed; round++) {
        *step = NULL;
        for (uint32_t i = 1; i < ops->n; i++) {
            alm_plan *plan = NULL;
            if (!is_step[i])
                continue;
            ALM_TRY(alm_bind_query(planner, names, ops->at[i], &plan));
            ALM_TRY(add_operand(planner, ops->at[i], plan, step));
        }
        ALM_TRY(set_types(planner, rec->node, *step, &changed));
        if (round == TYPE_ROUNDS)
            return alm_fail(planner->cx, ALM_E_TYPE, rec->cte->pos,
                            "the types of '%.*s' do not settle: cast the first query's columns",
                            (int)rec->cte->name.len, rec->cte->name.ptr);
    }
    return ALM_OK;
}

/* *out stays NULL if the query does not name itself. */
static alm_status bind_recursive(alm_planner *planner, const alm_names *names, const alm_cte *cte,
                                 alm_plan **out)
{
    const alm_select *root = cte->select;
    alm_recursion rec = {.cte = cte};
    alm_names self = *names, own;
    const alm_names *env = &self;
    self.recursion = &rec;
    operands ops = {0};
    bool *is_step = NULL;
    alm_plan *start = NULL, *step = NULL, *node = NULL;
    if (!is_union(root, root))
        return ALM_OK;
    ALM_TRY(alm_enter(planner, root->pos));
    ALM_TRY(alm_names_with(planner, root, &own, &env));
    ALM_TRY(split_union(planner, root, &ops));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, ops.n, &is_step));
    ALM_TRY(alm_plan_new(planner, ALM_P_RECURSE, cte->pos, NULL, &node));
    rec.node = node;
    ALM_TRY(bind_start(planner, env, &rec, &ops, is_step, &start));
    planner->depth--;
    if (rec.used == 0)
        return ALM_OK;
    ALM_TRY(bind_step(planner, env, &rec, &ops, is_step, &step));
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, node->n_cols + 1, &types));
    for (uint32_t i = 0; i < node->n_cols; i++)
        types[i] = node->cols[i].type;
    ALM_TRY(alm_plan_cast(planner, &start, types, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_plan_cast(planner, &step, types, ALM_CAST_EXPLICIT));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2, &node->child));
    node->child[0] = start;
    node->child[1] = step;
    node->n_children = 2;
    node->recurse.distinct = !root->all;
    ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, cte->name, &node->recurse.name));
    ALM_TRY(alm_bind_order_result(planner, env, root, &node));
    *out = node;
    return alm_bind_limit(planner, env, root, out);
}

static alm_status working_rows(alm_planner *planner, alm_recursion *rec, int32_t pos,
                               alm_plan **out)
{
    const alm_str name = rec->cte->name;
    if (!rec->open)
        return alm_fail(
            planner->cx, ALM_E_UNSUPPORTED, pos,
            "'%.*s' uses itself: that needs the form  query UNION [ALL] query that uses "
            "'%.*s'",
            (int)name.len, name.ptr, (int)name.len, name.ptr);
    rec->used++;
    ALM_TRY(alm_plan_new(planner, ALM_P_WORKING, pos, NULL, out));
    ALM_TRY(copy_cols(planner, rec->node, *out));
    (*out)->working.of = rec->node;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------ names */

static alm_status cte_define(alm_planner *planner, const alm_names *names, uint32_t i,
                             alm_plan **out)
{
    const alm_cte *cte = &names->ctes[i];
    /* a CTE sees those written before it and what its WITH sees */
    alm_names before = {.outer = names->outer,
                        .ctes = names->ctes,
                        .n_ctes = i,
                        .by_name = names->by_name,
                        .uses = names->uses,
                        .recursive = names->recursive,
                        .defining = cte};
    *out = NULL;
    if (names->recursive) {
        alm_recursion closed = {.cte = cte};
        ALM_TRY(bind_recursive(planner, &before, cte, out));
        before.recursion = &closed;
        if (*out == NULL)
            ALM_TRY(alm_bind_query(planner, &before, cte->select, out));
    } else {
        ALM_TRY(alm_bind_query(planner, &before, cte->select, out));
    }
    return name_cols(planner, cte, *out);
}

static alm_status use_cte(alm_planner *planner, const alm_names *names, uint32_t i, int32_t pos,
                          alm_plan **out)
{
    alm_cte_use *use = &names->uses[i];
    if (use->plan == NULL) {
        const uint32_t before = planner->outer_refs;
        alm_plan *plan = NULL;
        ALM_TRY(cte_define(planner, names, i, &plan));
        if (planner->outer_refs != before) { /* belongs to the rows of a query around it */
            *out = plan;
            return ALM_OK;
        }
        use->plan = plan;
        if (names->ctes[i].materialized > 0 || !is_cheap(plan) || is_volatile(plan))
            ALM_TRY(cte_keep_rows(planner, &names->ctes[i], plan, &use->keep));
    }
    return use->keep != NULL ? cte_share(planner, use->keep, pos, out)
                             : alm_plan_copy(planner, use->plan, out);
}

alm_status alm_bind_cte(alm_planner *planner, const alm_names *names, alm_str name, int32_t pos,
                        alm_plan **out)
{
    *out = NULL;
    for (; names != NULL; names = names->outer) {
        if (names->recursion != NULL && alm_str_ieq(names->recursion->cte->name, name))
            return working_rows(planner, names->recursion, pos, out);
        const uint32_t i =
            names->n_ctes > 0 ? alm_name_set_find(names->by_name, name) : ALM_NAME_NONE;
        if (i < names->n_ctes)
            return use_cte(planner, names, i, pos, out);
    }
    return ALM_OK;
}
