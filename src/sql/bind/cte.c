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

static alm_status seek_volatile(void *arg, alm_expr **e)
{
    *(bool *)arg |= alm_expr_volatile(*e);
    return ALM_OK;
}

static bool is_volatile(alm_plan *plan)
{
    bool found = false;
    return alm_plan_each_expr(plan, seek_volatile, &found) != ALM_OK || found;
}

/* So little work that doing it again costs less than keeping rows. */
static bool is_cheap(const alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (!is_cheap(plan->child[i]))
            return false;
    return alm_node_is(plan, ALM_NODE_CHEAP);
}

static alm_status keep_rows(alm_planner *p, const alm_cte *cte, alm_plan *plan, alm_plan **out)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(p, ALM_P_MATERIALISE, cte->pos, plan, &node));
    ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, cte->name, &node->materialise.name));
    node->materialise.must = cte->materialized > 0 || is_volatile(plan);
    node->materialise.never = cte->materialized < 0 && !node->materialise.must;
    ALM_TRY(alm_grow(p->cx, &p->kept, p->n_kept, &p->cap_kept, sizeof(alm_plan *)));
    p->kept[p->n_kept++] = node;
    *out = node;
    return ALM_OK;
}

static alm_status copy_cols(alm_planner *p, const alm_plan *of, alm_plan *to)
{
    to->n_cols = of->n_cols;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, of->n_cols + 1, &to->cols));
    memcpy(to->cols, of->cols, of->n_cols * sizeof *to->cols);
    return ALM_OK;
}

static alm_status share(alm_planner *p, alm_plan *kept, int32_t pos, alm_plan **out)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(p, ALM_P_SHARED, pos, NULL, &node));
    ALM_TRY(copy_cols(p, kept, node));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, kept->n_cols + 1, &node->shared.cols));
    for (uint32_t i = 0; i < kept->n_cols; i++)
        node->shared.cols[i] = i;
    node->shared.of = kept;
    node->ts_col = kept->ts_col;
    node->order = kept->order;
    *out = node;
    return ALM_OK;
}

/* The names given behind the CTE's name. */
static alm_status name_cols(alm_planner *p, const alm_cte *cte, alm_plan *plan)
{
    if (cte->n_cols > plan->n_cols)
        return alm_fail(p->cx, ALM_E_NAME, cte->pos, "'%.*s' has %u columns, %u names are given",
                        (int)cte->name.len, cte->name.ptr, plan->n_cols, cte->n_cols);
    alm_plan shape;
    ALM_TRY(copy_cols(p, plan, &shape));
    plan->cols = shape.cols;
    for (uint32_t c = 0; c < cte->n_cols; c++)
        ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, cte->cols[c], &plan->cols[c].name));
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

static alm_status split_union(alm_planner *p, const alm_select *root, operands *out)
{
    uint32_t n = 1;
    for (const alm_select *s = root; is_union(s, root); s = s->left)
        n++;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n, &out->at));
    out->n = n;
    for (const alm_select *s = root; n > 0; s = s->left)
        out->at[--n] = is_union(s, root) ? s->right : s;
    return ALM_OK;
}

static alm_status meet(alm_planner *p, int32_t pos, const alm_plan_col *a, const alm_plan_col *b,
                       alm_type *out)
{
    const alm_type both = alm_type_union(a->type, b->type);
    *out = both.id == ALM_T_SYMBOL ? ALM_TY(STRING) : both;
    return both.id != ALM_T_NONE || a->type.id == ALM_T_NONE || b->type.id == ALM_T_NONE
               ? ALM_OK
               : alm_no_union(p, pos, a->name, b->type, a->type);
}

/* Adds one more operand to those that are there; their types meet. */
static alm_status add_operand(alm_planner *p, const alm_select *sel, alm_plan *operand,
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
        return alm_fail(p->cx, ALM_E_TYPE, sel->pos, "queries have different number of columns");
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &types));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(meet(p, sel->pos, &(*all)->cols[i], &operand->cols[i], &types[i]));
    ALM_TRY(alm_plan_cast(p, all, types, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_plan_cast(p, &operand, types, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_plan_new2(p, ALM_P_SETOP, sel->pos, *all, operand, &node));
    node->cols = (*all)->cols;
    node->n_cols = n;
    node->setop.kind = ALM_SETOP_UNION_ALL;
    *all = node;
    return ALM_OK;
}

static alm_status set_types(alm_planner *p, alm_plan *node, const alm_plan *like, bool *changed)
{
    if (like->n_cols != node->n_cols)
        return alm_fail(p->cx, ALM_E_TYPE, like->pos, "queries have different number of columns");
    *changed = false;
    for (uint32_t i = 0; i < node->n_cols; i++) {
        alm_type to = ALM_TY(NONE);
        ALM_TRY(meet(p, like->pos, &node->cols[i], &like->cols[i], &to));
        *changed |= !alm_type_eq(to, node->cols[i].type);
        node->cols[i].type = to;
    }
    return ALM_OK;
}

/* Those of ops[1..] that name the CTE: is_step[i]; the others join the start. */
static alm_status bind_start(alm_planner *p, const alm_names *names, alm_recursion *rec,
                             const operands *ops, bool *is_step, alm_plan **start)
{
    alm_plan *first = NULL;
    *start = NULL;
    rec->open = false;
    ALM_TRY(alm_bind_query(p, names, ops->at[0], &first));
    ALM_TRY(add_operand(p, ops->at[0], first, start));
    ALM_TRY(copy_cols(p, first, rec->node));
    ALM_TRY(name_cols(p, rec->cte, rec->node));
    bool changed = false;
    ALM_TRY(set_types(p, rec->node, rec->node, &changed)); /* no symbols */
    rec->open = true;
    for (uint32_t i = 1; i < ops->n; i++) {
        alm_plan *plan = NULL;
        const uint32_t before = rec->used;
        ALM_TRY(alm_bind_query(p, names, ops->at[i], &plan));
        is_step[i] = rec->used != before;
        if (!is_step[i])
            ALM_TRY(add_operand(p, ops->at[i], plan, start));
    }
    return set_types(p, rec->node, *start, &changed);
}

static alm_status bind_step(alm_planner *p, const alm_names *names, alm_recursion *rec,
                            const operands *ops, const bool *is_step, alm_plan **step)
{
    bool changed = true;
    for (int round = 0; changed; round++) {
        *step = NULL;
        for (uint32_t i = 1; i < ops->n; i++) {
            alm_plan *plan = NULL;
            if (!is_step[i])
                continue;
            ALM_TRY(alm_bind_query(p, names, ops->at[i], &plan));
            ALM_TRY(add_operand(p, ops->at[i], plan, step));
        }
        ALM_TRY(set_types(p, rec->node, *step, &changed));
        if (round == TYPE_ROUNDS)
            return alm_fail(p->cx, ALM_E_TYPE, rec->cte->pos,
                            "the types of '%.*s' do not settle: cast the first query's columns",
                            (int)rec->cte->name.len, rec->cte->name.ptr);
    }
    return ALM_OK;
}

/* *out stays NULL if the query does not name itself. */
static alm_status bind_recursive(alm_planner *p, const alm_names *names, const alm_cte *cte,
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
    ALM_TRY(alm_enter(p, root->pos));
    ALM_TRY(alm_names_with(p, root, &own, &env));
    ALM_TRY(split_union(p, root, &ops));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, ops.n, &is_step));
    ALM_TRY(alm_plan_new(p, ALM_P_RECURSE, cte->pos, NULL, &node));
    rec.node = node;
    ALM_TRY(bind_start(p, env, &rec, &ops, is_step, &start));
    p->depth--;
    if (rec.used == 0)
        return ALM_OK;
    ALM_TRY(bind_step(p, env, &rec, &ops, is_step, &step));
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, node->n_cols + 1, &types));
    for (uint32_t i = 0; i < node->n_cols; i++)
        types[i] = node->cols[i].type;
    ALM_TRY(alm_plan_cast(p, &start, types, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_plan_cast(p, &step, types, ALM_CAST_EXPLICIT));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &node->child));
    node->child[0] = start;
    node->child[1] = step;
    node->n_children = 2;
    node->recurse.distinct = !root->all;
    ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, cte->name, &node->recurse.name));
    ALM_TRY(alm_bind_order_result(p, env, root, &node));
    *out = node;
    return alm_bind_limit(p, env, root, out);
}

static alm_status working_rows(alm_planner *p, alm_recursion *rec, int32_t pos, alm_plan **out)
{
    const alm_str name = rec->cte->name;
    if (!rec->open)
        return alm_fail(
            p->cx, ALM_E_UNSUPPORTED, pos,
            "'%.*s' uses itself: that needs the form  query UNION [ALL] query that uses "
            "'%.*s'",
            (int)name.len, name.ptr, (int)name.len, name.ptr);
    rec->used++;
    ALM_TRY(alm_plan_new(p, ALM_P_WORKING, pos, NULL, out));
    ALM_TRY(copy_cols(p, rec->node, *out));
    (*out)->working.of = rec->node;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------ names */

static alm_status define(alm_planner *p, const alm_names *names, uint32_t i, alm_plan **out)
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
        ALM_TRY(bind_recursive(p, &before, cte, out));
        before.recursion = &closed;
        if (*out == NULL)
            ALM_TRY(alm_bind_query(p, &before, cte->select, out));
    } else {
        ALM_TRY(alm_bind_query(p, &before, cte->select, out));
    }
    return name_cols(p, cte, *out);
}

static alm_status use_cte(alm_planner *p, const alm_names *names, uint32_t i, int32_t pos,
                          alm_plan **out)
{
    alm_cte_use *use = &names->uses[i];
    if (use->plan == NULL) {
        const uint32_t before = p->outer_refs;
        alm_plan *plan = NULL;
        ALM_TRY(define(p, names, i, &plan));
        if (p->outer_refs != before) { /* belongs to the rows of a query around it */
            *out = plan;
            return ALM_OK;
        }
        use->plan = plan;
        if (names->ctes[i].materialized > 0 || !is_cheap(plan) || is_volatile(plan))
            ALM_TRY(keep_rows(p, &names->ctes[i], plan, &use->keep));
    }
    return use->keep != NULL ? share(p, use->keep, pos, out) : alm_plan_copy(p, use->plan, out);
}

alm_status alm_bind_cte(alm_planner *p, const alm_names *names, alm_str name, int32_t pos,
                        alm_plan **out)
{
    *out = NULL;
    for (; names != NULL; names = names->outer) {
        if (names->recursion != NULL && alm_str_ieq(names->recursion->cte->name, name))
            return working_rows(p, names->recursion, pos, out);
        const uint32_t i =
            names->n_ctes > 0 ? alm_name_set_find(names->by_name, name) : ALM_NAME_NONE;
        if (i < names->n_ctes)
            return use_cte(p, names, i, pos, out);
    }
    return ALM_OK;
}
