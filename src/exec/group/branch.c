/*
 * branch.c - see branch.h.
 *
 * Branch 0 gives the groups: it has the other aggregates, or, without any, the first count_distinct. The
 * counts of the other branches are kept in arrays beside a map of their keys; a batch of branch 0 looks
 * its keys up.
 */
#include "exec/group/branch.h"

#include "exec/group/group.h"
#include "exec/group/part.h"
#include "exec/run/op_make.h"

typedef struct branch {
    alm_plan plan;
    alm_op *group;  /* has run */
    alm_op *reader; /* of branch 0 */
    alm_keymap *map;
    int64_t *count; /* per key of the map; n_aggs are the same count_distinct */
    uint32_t n, cap;
} branch;

typedef struct group_branches {
    alm_op op;
    branch *branch;
    uint32_t n_branches;
    uint32_t *of_agg, *col_of_agg; /* by aggregate: its branch, and its column there */
    alm_pool pool;
    uint32_t *number;
    bool read;
} group_branches;

/* ----------------------------------------------------------------------------------- plans */

static bool is_count_distinct(const alm_agg_call *c)
{
    return strcmp(c->fn->name, "count_distinct") == 0 && c->n_args == 1 && c->filter == NULL &&
           !c->distinct && c->n_order == 0 && c->type.id == ALM_T_LONG;
}

static bool over_scan(const alm_plan *p)
{
    while (p->op == ALM_P_PROJECT || p->op == ALM_P_FILTER)
        p = p->child[0];
    return p->op == ALM_P_SCAN;
}

static bool any_volatile(const alm_plan *p)
{
    for (; p->op != ALM_P_SCAN; p = p->child[0]) {
        alm_expr *const *e = p->op == ALM_P_PROJECT ? p->project.expr : p->filter.conjunct;
        const uint32_t n = p->op == ALM_P_PROJECT ? p->n_cols : p->filter.n;
        for (uint32_t i = 0; i < n; i++)
            if (alm_eval_expr_volatile(e[i]))
                return true;
    }
    for (uint32_t i = 0; i < p->scan.n_filters; i++)
        if (alm_eval_expr_volatile(p->scan.filter[i]))
            return true;
    return false;
}

bool alm_group_branches(const alm_run *run, const alm_plan *plan)
{
    const alm_agg_call *first = NULL;
    bool other = false;
    if (run->env.registry == NULL || !over_scan(plan->child[0]) || any_volatile(plan->child[0]))
        return false;
    for (uint32_t i = 0; i < plan->group.n_aggs; i++) {
        const alm_agg_call *c = &plan->group.aggs[i];
        for (uint32_t k = 0; k < c->n_args; k++)
            if (alm_eval_expr_volatile(c->args[k]))
                return false;
        if (!is_count_distinct(c))
            other = true;
        else if (first == NULL)
            first = c;
        else
            other |= !alm_eval_expr_equal(c->args[0], first->args[0]);
    }
    for (uint32_t k = 0; k < plan->group.n_keys; k++)
        if (alm_eval_expr_volatile(plan->group.keys[k]))
            return false;
    return first != NULL && other;
}

/* The branch of an aggregate, a new one if it is the first of its kind. */
static uint32_t find_branch(const group_branches *b, const alm_agg_call *c)
{
    const bool counts = is_count_distinct(c);
    for (uint32_t i = 0; i < b->n_branches; i++) {
        const alm_agg_call *first = &b->branch[i].plan.group.aggs[0];
        if (counts != is_count_distinct(first))
            continue;
        if (!counts || alm_eval_expr_equal(c->args[0], first->args[0]))
            return i;
    }
    return b->n_branches;
}

static alm_status add_to_branch(alm_ctx *cx, group_branches *b, uint32_t agg)
{
    const alm_plan *p = b->op.plan;
    const uint32_t at = find_branch(b, &p->group.aggs[agg]), keys = p->group.n_keys;
    alm_plan *to = &b->branch[at].plan;
    if (at == b->n_branches) {
        b->n_branches++;
        *to = *p;
        to->group.n_aggs = 0;
        ALM_TRY(ALM_NEWN(cx, cx->arena, p->group.n_aggs, &to->group.aggs));
        ALM_TRY(ALM_NEWN(cx, cx->arena, p->n_cols, &to->cols));
        memcpy(to->cols, p->cols, keys * sizeof *to->cols);
    }
    const uint32_t n = to->group.n_aggs++;
    to->group.aggs[n] = p->group.aggs[agg];
    to->cols[keys + n] = p->cols[keys + agg];
    to->n_cols = keys + n + 1;
    b->of_agg[agg] = at;
    b->col_of_agg[agg] = keys + n;
    return ALM_OK;
}

/* The other aggregates first. */
static alm_status cut_plan(alm_ctx *cx, group_branches *b)
{
    const uint32_t n = b->op.plan->group.n_aggs;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &b->branch));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &b->of_agg));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &b->col_of_agg));
    for (uint32_t i = 0; i < n; i++)
        if (!is_count_distinct(&b->op.plan->group.aggs[i]))
            ALM_TRY(add_to_branch(cx, b, i));
    for (uint32_t i = 0; i < n; i++)
        if (is_count_distinct(&b->op.plan->group.aggs[i]))
            ALM_TRY(add_to_branch(cx, b, i));
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- reading */

/* Keys and counts of a finished branch into its map; its states are given back. */
static alm_status keep_counts(alm_ctx *cx, group_branches *b, branch *br)
{
    const uint32_t n_keys = b->op.plan->group.n_keys;
    alm_type *types = NULL;
    alm_op *reader = NULL;
    alm_status st = ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &types));
    for (uint32_t k = 0; k < n_keys; k++)
        types[k] = b->op.plan->group.keys[k]->type;
    ALM_TRY(alm_keymap_new(cx, &b->pool, types, n_keys, &br->map));
    ALM_TRY(alm_group_part_new(cx, b->op.run, br->group, NULL, &reader));
    br->reader = reader; /* closed with the operator, whatever happens */
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_check(cx));
        st = reader->vt->next(cx, reader, &in);
        if (st != ALM_OK || in == NULL)
            break;
        if (br->n + in->rows > br->cap) {
            const uint32_t cap = 2 * (br->n + in->rows);
            ALM_TRY(alm_pool_grow(cx, &b->pool, &br->count, (size_t)br->n * sizeof *br->count,
                                  (size_t)cap * sizeof *br->count));
            br->cap = cap;
        }
        if (n_keys > 0) /* every key once: numbers go on */
            ALM_TRY(alm_keymap_add(cx, br->map, in->cols, in->rows, b->number));
        memcpy(br->count + br->n, in->cols[n_keys].data, in->rows * sizeof *br->count);
        br->n += in->rows;
    }
    ALM_TRY(st);
    alm_op_close(br->reader);
    alm_op_close(br->group);
    br->reader = br->group = NULL;
    return ALM_OK;
}

static alm_status read_branches(alm_ctx *cx, group_branches *b)
{
    for (uint32_t i = b->n_branches; i-- > 0;) { /* branch 0 last: it stays */
        branch *br = &b->branch[i];
        ALM_TRY(alm_group_run(cx, b->op.run, &br->plan, &br->group));
        if (i > 0)
            ALM_TRY(keep_counts(cx, b, br));
    }
    return alm_group_part_new(cx, b->op.run, b->branch[0].group, NULL, &b->branch[0].reader);
}

/* Counts of a branch for the keys of a batch. */
static alm_status look_up(alm_ctx *cx, group_branches *b, branch *br, const alm_batch *in,
                          alm_vec *out)
{
    const uint32_t n = in->rows;
    int64_t *to = NULL;
    ALM_TRY(alm_vec_new(cx, &b->op.batch, ALM_TY(LONG), n, out));
    to = out->data;
    if (b->op.plan->group.n_keys == 0)
        memset(b->number, 0, n * sizeof *b->number);
    else
        ALM_TRY(alm_keymap_find(cx, br->map, in->cols, n, b->number));
    for (uint32_t i = 0; i < n; i++)
        to[i] = b->number[i] < br->n ? br->count[b->number[i]] : 0;
    return ALM_OK;
}

static alm_status branches_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    group_branches *b = (group_branches *)op;
    const uint32_t n_keys = op->plan->group.n_keys;
    alm_batch *in = NULL;
    *out = NULL;
    if (!b->read)
        ALM_TRY(read_branches(cx, b));
    b->read = true;
    alm_arena_reset(&op->batch);
    ALM_TRY(b->branch[0].reader->vt->next(cx, b->branch[0].reader, &in));
    if (in == NULL)
        return ALM_OK;
    for (uint32_t k = 0; k < n_keys; k++)
        op->out.cols[k] = in->cols[k];
    for (uint32_t i = 0; i < op->plan->group.n_aggs; i++) {
        alm_vec *col = &op->out.cols[n_keys + i];
        if (b->of_agg[i] == 0)
            *col = in->cols[b->col_of_agg[i]];
        else
            ALM_TRY(look_up(cx, b, &b->branch[b->of_agg[i]], in, col));
    }
    op->out.rows = in->rows;
    *out = &op->out;
    return ALM_OK;
}

static void branches_close(alm_op *op)
{
    group_branches *b = (group_branches *)op;
    for (uint32_t i = 0; i < b->n_branches; i++) {
        alm_op_close(b->branch[i].reader);
        alm_op_close(b->branch[i].group);
    }
    alm_pool_deinit(&b->pool);
}

static const alm_op_vt branches_vt = {
    .name = "group by", .next = branches_next, .close = branches_close};

alm_status alm_group_branch_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_op **out)
{
    group_branches *b = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &b));
    ALM_TRY(alm_op_init(cx, &b->op, &branches_vt, run, plan, NULL));
    alm_pool_init(&b->pool, cx->mem, "group by");
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &b->number));
    ALM_TRY(cut_plan(cx, b));
    *out = &b->op;
    return ALM_OK;
}
