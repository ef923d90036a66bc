/*
 * explain.c - plans as text: one line for each node, two blanks for each level, what it does in
 * brackets. For people; nothing reads it back.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "sql/plan/expr.h"
#include "time/timestamp.h"
#include "type/ops.h"

typedef struct printer {
    alm_ctx *cx;
    alm_buf buf;
    const char **lines;
    const alm_plan **nodes;
    uint32_t n, cap, cap_nodes;
} printer;

static alm_status put(printer *pr, const char *text)
{
    return alm_buf_text(pr->cx, &pr->buf, text);
}

static alm_status put_expr(printer *pr, const alm_expr *e, const alm_plan *left,
                           const alm_plan *right);

/* -------------------------------------------------------------------- expressions */

static alm_status put_time(printer *pr, int64_t ticks, alm_type type)
{
    char text[ALM_TIME_TEXT_MAX];
    const alm_time_unit unit = alm_type_unit(type);
    const size_t n = alm_time_format(ticks, unit, ALM_TIME_ISO, text);
    return alm_buf_append(pr->cx, &pr->buf, text, n);
}

static alm_status put_const(printer *pr, const alm_expr *e)
{
    int64_t v = 0;
    char text[ALM_DOUBLE_TEXT_MAX];
    if (alm_expr_is_null(e))
        return put(pr, "null");
    if (alm_type_is_text(e->type)) {
        const alm_str s = alm_vec_text(&e->value, 0);
        return alm_buf_printf(pr->cx, &pr->buf, "'%.*s'", (int)ALM_MIN(s.len, 64), s.ptr);
    }
    if (alm_type_info_of(e->type)->cls == ALM_TC_TIME && alm_expr_int(e, &v))
        return put_time(pr, v, e->type);
    if (alm_expr_int(e, &v))
        return alm_buf_printf(pr->cx, &pr->buf, "%" PRId64, v);
    if (e->type.id == ALM_T_BOOLEAN)
        return put(pr, alm_expr_is_true(e) ? "true" : "false");
    if (e->type.id == ALM_T_DOUBLE) {
        double d;
        memcpy(&d, e->value.data, sizeof d);
        return alm_buf_append(pr->cx, &pr->buf, text, alm_double_format(d, ALM_NUM_DIALECT, text));
    }
    if (e->type.id == ALM_T_FLOAT) {
        float f;
        memcpy(&f, e->value.data, sizeof f);
        return alm_buf_append(pr->cx, &pr->buf, text, alm_float_format(f, ALM_NUM_DIALECT, text));
    }
    if (e->type.id == ALM_T_CHAR) {
        uint16_t c;
        memcpy(&c, e->value.data, sizeof c);
        return c < 0x80 ? alm_buf_printf(pr->cx, &pr->buf, "'%c'", (char)c)
                        : alm_buf_printf(pr->cx, &pr->buf, "'\\u%04x'", c);
    }
    return alm_buf_printf(pr->cx, &pr->buf, "%s constant", alm_type_name(e->type));
}

static alm_status put_column(printer *pr, uint32_t col, const alm_plan *left, const alm_plan *right)
{
    if (left->op == ALM_P_SCAN && right == left) { /* a filter of the scan: its own columns */
        const uint32_t at = left->scan.cols[col];
        return put(pr, at == ALM_SCAN_ROW ? "row" : left->scan.table->cols[at].name);
    }
    if (left->op == ALM_P_SOURCE && left->source.all != NULL && right == left)
        return put(pr, left->source.all[left->source.cols[col]].name);
    if (col < left->n_cols)
        return put(pr, left->cols[col].name);
    if (right != NULL && col - left->n_cols < right->n_cols)
        return alm_buf_printf(pr->cx, &pr->buf, "right.%s", right->cols[col - left->n_cols].name);
    return alm_buf_printf(pr->cx, &pr->buf, "#%u", col);
}

static bool is_infix(const alm_expr *e)
{
    const char c = e->fn->name[0];
    if (e->n_args != 2)
        return false;
    return strchr("+-*/%=<>!&|^~", c) != NULL || strcmp(e->fn->name, "and") == 0 ||
           strcmp(e->fn->name, "or") == 0 || strcmp(e->fn->name, "like") == 0 ||
           strcmp(e->fn->name, "ilike") == 0;
}

static bool is_loose(const alm_expr *e)
{
    return e->kind == ALM_X_CALL && is_infix(e);
}

static alm_status put_operand(printer *pr, const alm_expr *e, const alm_plan *left,
                              const alm_plan *right)
{
    const bool brackets = is_loose(e);
    if (brackets)
        ALM_TRY(put(pr, "("));
    ALM_TRY(put_expr(pr, e, left, right));
    return brackets ? put(pr, ")") : ALM_OK;
}

static alm_status put_list(printer *pr, alm_expr *const *list, uint32_t n, const alm_plan *left,
                           const alm_plan *right)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(put(pr, ", "));
        ALM_TRY(put_expr(pr, list[i], left, right));
    }
    return ALM_OK;
}

static alm_status put_call(printer *pr, const alm_expr *e, const alm_plan *left,
                           const alm_plan *right)
{
    const char *name = e->fn->name;
    if (is_infix(e)) {
        ALM_TRY(put_operand(pr, e->args[0], left, right));
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " %s ", name));
        return put_operand(pr, e->args[1], left, right);
    }
    if (e->n_args == 1 && alm_fn_is_cast(e->fn)) {
        ALM_TRY(put_operand(pr, e->args[0], left, right));
        return alm_buf_printf(pr->cx, &pr->buf, "::%s", alm_type_name(e->type));
    }
    if (e->n_args == 1 && strncmp(name, "is ", 3) == 0) {
        ALM_TRY(put_operand(pr, e->args[0], left, right));
        return alm_buf_printf(pr->cx, &pr->buf, " %s", name);
    }
    ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "%s(", name));
    ALM_TRY(put_list(pr, e->args, e->n_args, left, right));
    return put(pr, ")");
}

static alm_status put_expr(printer *pr, const alm_expr *e, const alm_plan *left,
                           const alm_plan *right)
{
    switch (e->kind) {
    case ALM_X_CONST:
        return put_const(pr, e);
    case ALM_X_COL:
        return put_column(pr, e->col, left, right);
    case ALM_X_CALL:
        return put_call(pr, e, left, right);
    case ALM_X_CASE:
        ALM_TRY(put(pr, "case("));
        ALM_TRY(put_list(pr, e->args, e->n_args, left, right));
        return put(pr, ")");
    case ALM_X_PARAM:
        return alm_buf_printf(pr->cx, &pr->buf, "$%u", e->col + 1);
    }
    return ALM_OK;
}

static alm_status put_conjuncts(printer *pr, const char *label, alm_expr *const *list, uint32_t n,
                                const alm_plan *left, const alm_plan *right)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(put(pr, label));
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(put(pr, " and "));
        ALM_TRY(put_expr(pr, list[i], left, right));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- nodes */

static alm_status put_scan(printer *pr, const alm_plan *plan)
{
    const alm_table *t = plan->scan.table;
    ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " %s [", t->name));
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        const uint32_t col = plan->scan.cols[i];
        if (i == plan->scan.n_out)
            ALM_TRY(put(pr, i > 0 ? "; " : "; "));
        else if (i > 0)
            ALM_TRY(put(pr, ", "));
        ALM_TRY(put(pr, col == ALM_SCAN_ROW ? "row" : t->cols[col].name));
    }
    ALM_TRY(put(pr, "]"));
    if (plan->scan.has_interval || plan->scan.skips) {
        const alm_type type = t->cols[t->ts_col].type;
        ALM_TRY(put(pr, " interval: "));
        if (plan->scan.n_intervals == 0)
            ALM_TRY(put(pr, "none"));
        for (uint32_t i = 0; i < plan->scan.n_intervals && i < 3; i++) {
            const alm_interval *in = &plan->scan.interval[i];
            ALM_TRY(put(pr, i > 0 ? ", [" : "["));
            ALM_TRY(in->lo <= INT64_MIN + 1 ? put(pr, "MIN") : put_time(pr, in->lo, type));
            ALM_TRY(put(pr, ", "));
            ALM_TRY(in->hi == INT64_MAX ? put(pr, "MAX") : put_time(pr, in->hi, type));
            ALM_TRY(put(pr, "]"));
        }
        if (plan->scan.n_intervals > 3)
            ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " and %u more", plan->scan.n_intervals - 3));
    }
    if (plan->scan.backward)
        ALM_TRY(put(pr, " backward"));
    if (plan->scan.unordered)
        ALM_TRY(put(pr, " any order"));
    return put_conjuncts(pr, " filter: ", plan->scan.filter, plan->scan.n_filters, plan, plan);
}

/* As of a scan: columns of the result; those of conditions. */
static alm_status put_source_cols(printer *pr, const alm_plan *plan)
{
    ALM_TRY(put(pr, " ["));
    for (uint32_t i = 0; i < plan->source.n_cols; i++) {
        ALM_TRY(put(pr, i == plan->source.n_out ? "; " : i > 0 ? ", " : ""));
        ALM_TRY(put(pr, plan->source.all[plan->source.cols[i]].name));
    }
    ALM_TRY(put(pr, "]"));
    return put_conjuncts(pr, " filter: ", plan->source.filter, plan->source.n_filters, plan, plan);
}

static alm_status put_aggs(printer *pr, const alm_agg_call *aggs, uint32_t n, const alm_plan *child)
{
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "%s%s(%s", i > 0 ? ", " : "", aggs[i].fn->name,
                               aggs[i].distinct ? "distinct " : ""));
        const uint32_t n_args = aggs[i].n_args - aggs[i].n_order;
        ALM_TRY(put_list(pr, aggs[i].args, n_args, child, NULL));
        for (uint32_t k = 0; k < aggs[i].n_order; k++) {
            ALM_TRY(put(pr, k == 0 ? " order by " : ", "));
            ALM_TRY(put_operand(pr, aggs[i].args[n_args + k], child, NULL));
            ALM_TRY(put(pr, aggs[i].order[k].desc ? " desc" : ""));
        }
        ALM_TRY(put(pr, ")"));
        if (aggs[i].filter != NULL) {
            ALM_TRY(put(pr, " filter "));
            ALM_TRY(put_operand(pr, aggs[i].filter, child, NULL));
        }
    }
    return ALM_OK;
}

static alm_status put_keys(printer *pr, const char *label, alm_expr *const *keys, uint32_t n,
                           const alm_plan *child)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(put(pr, label));
    return put_list(pr, keys, n, child, NULL);
}

static alm_status put_sample(printer *pr, const alm_plan *plan)
{
    const alm_sample_spec *s = &plan->sample;
    const alm_type ts = plan->cols[0].type;
    ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " %" PRId64 "%c", s->count, s->unit));
    if (s->backward)
        ALM_TRY(put(pr, " newest first"));
    if (s->first_observation)
        ALM_TRY(put(pr, " from first observation"));
    if (s->zone != NULL)
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " zone %s", s->zone));
    if (s->offset != 0)
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " offset %" PRId64, s->offset));
    if (s->has_from) {
        ALM_TRY(put(pr, " from "));
        ALM_TRY(put_time(pr, s->from, ts));
    }
    if (s->has_to) {
        ALM_TRY(put(pr, " to "));
        ALM_TRY(put_time(pr, s->to, ts));
    }
    ALM_TRY(put_keys(pr, " keys: ", s->keys, s->n_keys, plan->child[0]));
    ALM_TRY(put(pr, " values: "));
    ALM_TRY(put_aggs(pr, s->aggs, s->n_aggs, plan->child[0]));
    if (s->fill == NULL)
        return ALM_OK;
    ALM_TRY(put(pr, " fill: "));
    for (uint32_t i = 0; i < s->n_aggs; i++) {
        if (i > 0)
            ALM_TRY(put(pr, ", "));
        const char kind = s->fill[i].kind;
        if (kind == 'v')
            ALM_TRY(put_const(pr, s->fill[i].value));
        else
            ALM_TRY(put(pr, kind == 'N'   ? "null"
                            : kind == 'p' ? (s->fill[i].prev == 0 ? "prev" : "prev of another")
                            : kind == 'l' ? "linear"
                                          : "none"));
    }
    return ALM_OK;
}

static alm_status put_sort_keys(printer *pr, const alm_sort_key *keys, uint32_t n,
                                const alm_plan *child)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(put(pr, ", "));
        ALM_TRY(put_expr(pr, keys[i].expr, child, NULL));
        if (keys[i].desc)
            ALM_TRY(put(pr, " desc"));
    }
    return ALM_OK;
}

static alm_status put_window(printer *pr, const alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        const alm_window_call *c = &plan->window.calls[i];
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "%s%s(", i > 0 ? ", " : " ", c->fn->name));
        ALM_TRY(put_list(pr, c->args, c->n_args, plan->child[0], NULL));
        ALM_TRY(put(pr, ") over ("));
        ALM_TRY(put_keys(pr, "partition by ", c->partition, c->n_partition, plan->child[0]));
        if (c->n_order > 0) {
            ALM_TRY(put(pr, c->n_partition > 0 ? " order by " : "order by "));
            ALM_TRY(put_sort_keys(pr, c->order, c->n_order, plan->child[0]));
            ALM_TRY(put(pr, c->order_is_ts ? " as it comes" : ""));
        }
        ALM_TRY(put(pr, ")"));
    }
    if (plan->window.top > 0)
        return alm_buf_printf(pr->cx, &pr->buf, " first: %" PRId64, plan->window.top);
    return ALM_OK;
}

static alm_status put_join(printer *pr, const alm_plan *plan)
{
    static const char *const names[] = {
        [ALM_JOIN_CROSS] = "cross", [ALM_JOIN_INNER] = "inner",  [ALM_JOIN_LEFT] = "left",
        [ALM_JOIN_RIGHT] = "right", [ALM_JOIN_FULL] = "full",    [ALM_JOIN_ASOF] = "asof",
        [ALM_JOIN_LT] = "lt",       [ALM_JOIN_SPLICE] = "splice"};
    const uint8_t kind = plan->join.kind;
    const alm_plan *l = plan->child[0], *r = plan->child[1];
    ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " %s",
                           kind == 'S'   ? "semi"
                           : kind == 'A' ? "anti"
                                         : names[kind]));
    for (uint32_t i = 0; i < plan->join.n_keys; i++) {
        ALM_TRY(put(pr, i == 0 ? " keys: " : ", "));
        ALM_TRY(put_expr(pr, plan->join.left_keys[i], l, NULL));
        ALM_TRY(put(pr, " = "));
        ALM_TRY(put_expr(pr, plan->join.right_keys[i], r, NULL));
    }
    if (plan->join.direction != ALM_ASOF_BACKWARD)
        ALM_TRY(put(pr, plan->join.direction == ALM_ASOF_FORWARD ? " direction: forward"
                                                                 : " direction: nearest"));
    if (plan->join.tolerance >= 0)
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " tolerance: %" PRId64, plan->join.tolerance));
    return put_conjuncts(pr, " filter: ", plan->join.residual, plan->join.n_residual, l, r);
}

static alm_status put_detail(printer *pr, const alm_plan *plan)
{
    static const char *const setops[] = {"union all", "except", "except all", "intersect",
                                         "intersect all"};
    const alm_plan *child = plan->n_children > 0 ? plan->child[0] : NULL;
    switch (plan->op) {
    case ALM_P_SCAN:
        return put_scan(pr, plan);
    case ALM_P_SOURCE:
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " %s(", plan->source.name));
        for (uint32_t i = 0; i < plan->source.n_args; i++) {
            ALM_TRY(put(pr, i > 0 ? ", " : ""));
            ALM_TRY(put_expr(pr, plan->source.args[i], plan, NULL));
        }
        ALM_TRY(put(pr, ")"));
        return plan->source.all != NULL ? put_source_cols(pr, plan) : ALM_OK;
    case ALM_P_VALUES:
        return alm_buf_printf(pr->cx, &pr->buf, " rows: %u", plan->values.n_rows);
    case ALM_P_FILTER:
        return put_conjuncts(pr, " ", plan->filter.conjunct, plan->filter.n, child, NULL);
    case ALM_P_PROJECT:
        ALM_TRY(put(pr, " "));
        return put_list(pr, plan->project.expr, plan->n_cols, child, NULL);
    case ALM_P_GROUP:
        ALM_TRY(put_keys(pr, " keys: ", plan->group.keys, plan->group.n_keys, child));
        if (plan->group.n_aggs > 0)
            ALM_TRY(put(pr, " values: "));
        return put_aggs(pr, plan->group.aggs, plan->group.n_aggs, child);
    case ALM_P_SAMPLE:
        return put_sample(pr, plan);
    case ALM_P_SORT:
        ALM_TRY(put(pr, " "));
        ALM_TRY(put_sort_keys(pr, plan->sort.keys, plan->sort.n_keys, child));
        if (plan->sort.limit == -1)
            return ALM_OK;
        return plan->sort.limit < 0
                   ? alm_buf_printf(pr->cx, &pr->buf, " last: %" PRId64, -1 - plan->sort.limit)
                   : alm_buf_printf(pr->cx, &pr->buf, " first: %" PRId64, plan->sort.limit);
    case ALM_P_LIMIT:
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " lo: %" PRId64 " hi: ", plan->limit.lo));
        return plan->limit.hi == INT64_MAX
                   ? put(pr, "end")
                   : alm_buf_printf(pr->cx, &pr->buf, "%" PRId64, plan->limit.hi);
    case ALM_P_SETOP:
        return alm_buf_printf(pr->cx, &pr->buf, " %s", setops[plan->setop.kind]);
    case ALM_P_JOIN:
        return put_join(pr, plan);
    case ALM_P_WINDOW:
        return put_window(pr, plan);
    case ALM_P_WINDOW_JOIN:
        ALM_TRY(alm_buf_printf(
            pr->cx, &pr->buf, "%s range: ", plan->winjoin.prevailing ? " include prevailing" : ""));
        if (plan->winjoin.lo_col >= 0)
            ALM_TRY(put(pr, "by row"));
        else if (plan->winjoin.lo == INT64_MIN)
            ALM_TRY(put(pr, "unbounded"));
        else
            ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "%" PRId64, plan->winjoin.lo));
        if (plan->winjoin.hi_col >= 0)
            ALM_TRY(put(pr, " to by row"));
        else
            ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " to %" PRId64, plan->winjoin.hi));
        return put_keys(pr, " keys: ", plan->winjoin.left_keys, plan->winjoin.n_keys, child);
    case ALM_P_SHARED:
        return alm_buf_printf(pr->cx, &pr->buf, " %s", plan->shared.of->materialise.name);
    case ALM_P_MATERIALISE:
        return alm_buf_printf(pr->cx, &pr->buf, " %s", plan->materialise.name);
    case ALM_P_RECURSE:
        return alm_buf_printf(pr->cx, &pr->buf, " %s%s", plan->recurse.name,
                              plan->recurse.distinct ? " new rows only" : "");
    case ALM_P_WORKING:
        return alm_buf_printf(pr->cx, &pr->buf, " %s", plan->working.of->recurse.name);
    case ALM_P_HORIZON:
        return alm_buf_printf(pr->cx, &pr->buf, " offsets: %u, %" PRId64 " to %" PRId64,
                              plan->horizon.n_offsets, plan->horizon.offset[0],
                              plan->horizon.offset[plan->horizon.n_offsets - 1]);
    case ALM_P_LATEST:
        return put_keys(pr, " keys: ", plan->latest.keys, plan->latest.n_keys, child);
    case ALM_P_BARRIER:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    return ALM_OK;
}

static alm_status taken(printer *pr, alm_status st, const char **out)
{
    alm_str text = {pr->buf.ptr == NULL ? "" : pr->buf.ptr, pr->buf.len};
    if (st == ALM_OK && text.len > 0 && text.ptr[0] == ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    if (st == ALM_OK)
        st = alm_arena_zstr(pr->cx, pr->cx->arena, text, out);
    alm_buf_deinit(&pr->buf);
    return st;
}

alm_status alm_explain_detail(alm_ctx *cx, const alm_plan *plan, const char **out)
{
    printer pr = {.cx = cx};
    alm_buf_init(&pr.buf, cx->mem);
    return taken(&pr, put_detail(&pr, plan), out);
}

alm_status alm_explain_expr(alm_ctx *cx, const alm_expr *e, const alm_plan *child, const char **out)
{
    printer pr = {.cx = cx};
    alm_buf_init(&pr.buf, cx->mem);
    return taken(&pr, put_expr(&pr, e, child, NULL), out);
}

const char *alm_plan_op_name(alm_plan_op op)
{
    static const char *const names[] = {
#define ALM_OP(id, name, doc) name,
#include "sql/plan/op.def"
#undef ALM_OP
    };
    ALM_ASSERT((size_t)op < ALM_COUNT(names));
    return names[op];
}

static alm_status put_node(printer *pr, const alm_plan *plan, uint32_t level)
{
    pr->buf.len = 0;
    for (uint32_t i = 0; i < level; i++)
        ALM_TRY(put(pr, "  "));
    if (alm_plan_is_sealed(plan))
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "view %s", plan->view->name));
    else
        ALM_TRY(put(pr, alm_plan_op_name(plan->op)));
    ALM_TRY(put_detail(pr, plan));
    ALM_TRY(alm_grow(pr->cx, &pr->lines, pr->n, &pr->cap, sizeof *pr->lines));
    ALM_TRY(alm_grow(pr->cx, &pr->nodes, pr->n, &pr->cap_nodes, sizeof *pr->nodes));
    pr->nodes[pr->n] = plan;
    const alm_str line = {pr->buf.ptr, pr->buf.len};
    ALM_TRY(alm_arena_zstr(pr->cx, pr->cx->arena, line, &pr->lines[pr->n]));
    pr->n++;
    if (alm_plan_is_sealed(plan))
        return ALM_OK;
    if (alm_plan_lists(plan))
        ALM_TRY(put_node(pr, plan->shared.of, level + 1));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(put_node(pr, plan->child[i], level + 1));
    return ALM_OK;
}

alm_status alm_plan_explain(alm_ctx *cx, const alm_plan *plan, const char ***lines,
                            const alm_plan ***nodes, size_t *n_lines)
{
    printer pr = {.cx = cx};
    alm_buf_init(&pr.buf, cx->mem);
    const alm_status st = put_node(&pr, plan, 0);
    alm_buf_deinit(&pr.buf);
    if (st != ALM_OK)
        return st;
    *lines = pr.lines;
    if (nodes != NULL)
        *nodes = pr.nodes;
    *n_lines = pr.n;
    return ALM_OK;
}
