/*
 * explain.c - plans as text: one line for each node, two blanks for each level, what it does in
 * brackets. For people; nothing reads it back.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "sql/node/explain.h"
#include "time/timestamp.h"
#include "type/ops.h"

alm_status alm_print(alm_printer *pr, const char *text)
{
    return alm_buf_text(pr->cx, &pr->buf, text);
}

/* -------------------------------------------------------------------- expressions */

alm_status alm_print_time(alm_printer *pr, int64_t ticks, alm_type type)
{
    char text[ALM_TIME_TEXT_MAX];
    const alm_time_unit unit = alm_type_unit(type);
    const size_t n = alm_time_format(ticks, unit, ALM_TIME_ISO, text);
    return alm_buf_append(pr->cx, &pr->buf, text, n);
}

alm_status alm_print_const(alm_printer *pr, const alm_expr *e)
{
    int64_t v = 0;
    char text[ALM_DOUBLE_TEXT_MAX];
    if (alm_expr_is_null(e))
        return alm_print(pr, "null");
    if (alm_type_is_text(e->type)) {
        const alm_str s = alm_vec_text(&e->value, 0);
        return alm_buf_printf(pr->cx, &pr->buf, "'%.*s'", (int)ALM_MIN(s.len, 64), s.ptr);
    }
    if (alm_type_info_of(e->type)->cls == ALM_TC_TIME && alm_expr_int(e, &v))
        return alm_print_time(pr, v, e->type);
    if (alm_expr_int(e, &v))
        return alm_buf_printf(pr->cx, &pr->buf, "%" PRId64, v);
    if (e->type.id == ALM_T_BOOLEAN)
        return alm_print(pr, alm_expr_is_true(e) ? "true" : "false");
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

static alm_status put_column(alm_printer *pr, uint32_t col, const alm_plan *left,
                             const alm_plan *right)
{
    if (left->op == ALM_P_SCAN && right == left) { /* a filter of the scan: its own columns */
        const uint32_t at = left->scan.cols[col];
        return alm_print(pr, at == ALM_SCAN_ROW ? "row" : left->scan.table->cols[at].name);
    }
    if (left->op == ALM_P_SOURCE && left->source.all != NULL && right == left)
        return alm_print(pr, left->source.all[left->source.cols[col]].name);
    if (col < left->n_cols)
        return alm_print(pr, left->cols[col].name);
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

static alm_status put_operand(alm_printer *pr, const alm_expr *e, const alm_plan *left,
                              const alm_plan *right)
{
    const bool brackets = is_loose(e);
    if (brackets)
        ALM_TRY(alm_print(pr, "("));
    ALM_TRY(alm_print_expr(pr, e, left, right));
    return brackets ? alm_print(pr, ")") : ALM_OK;
}

alm_status alm_print_list(alm_printer *pr, alm_expr *const *list, uint32_t n, const alm_plan *left,
                          const alm_plan *right)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(alm_print(pr, ", "));
        ALM_TRY(alm_print_expr(pr, list[i], left, right));
    }
    return ALM_OK;
}

static alm_status put_call(alm_printer *pr, const alm_expr *e, const alm_plan *left,
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
    ALM_TRY(alm_print_list(pr, e->args, e->n_args, left, right));
    return alm_print(pr, ")");
}

alm_status alm_print_expr(alm_printer *pr, const alm_expr *e, const alm_plan *left,
                          const alm_plan *right)
{
    switch (e->kind) {
    case ALM_X_CONST:
        return alm_print_const(pr, e);
    case ALM_X_COL:
        return put_column(pr, e->col, left, right);
    case ALM_X_CALL:
        return put_call(pr, e, left, right);
    case ALM_X_CASE:
        ALM_TRY(alm_print(pr, "case("));
        ALM_TRY(alm_print_list(pr, e->args, e->n_args, left, right));
        return alm_print(pr, ")");
    case ALM_X_PARAM:
        return alm_buf_printf(pr->cx, &pr->buf, "$%u", e->col + 1);
    }
    return ALM_OK;
}

alm_status alm_print_conjuncts(alm_printer *pr, const char *label, alm_expr *const *list,
                               uint32_t n, const alm_plan *left, const alm_plan *right)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_print(pr, label));
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(alm_print(pr, " and "));
        ALM_TRY(alm_print_expr(pr, list[i], left, right));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- nodes */

alm_status alm_print_aggs(alm_printer *pr, const alm_agg_call *aggs, uint32_t n,
                          const alm_plan *child)
{
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "%s%s(%s", i > 0 ? ", " : "", aggs[i].fn->name,
                               aggs[i].distinct ? "distinct " : ""));
        const uint32_t n_args = aggs[i].n_args - aggs[i].n_order;
        ALM_TRY(alm_print_list(pr, aggs[i].args, n_args, child, NULL));
        for (uint32_t k = 0; k < aggs[i].n_order; k++) {
            ALM_TRY(alm_print(pr, k == 0 ? " order by " : ", "));
            ALM_TRY(put_operand(pr, aggs[i].args[n_args + k], child, NULL));
            ALM_TRY(alm_print(pr, aggs[i].order[k].desc ? " desc" : ""));
        }
        ALM_TRY(alm_print(pr, ")"));
        if (aggs[i].filter != NULL) {
            ALM_TRY(alm_print(pr, " filter "));
            ALM_TRY(put_operand(pr, aggs[i].filter, child, NULL));
        }
    }
    return ALM_OK;
}

alm_status alm_print_keys(alm_printer *pr, const char *label, alm_expr *const *keys, uint32_t n,
                          const alm_plan *child)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_print(pr, label));
    return alm_print_list(pr, keys, n, child, NULL);
}

alm_status alm_print_sort_keys(alm_printer *pr, const alm_sort_key *keys, uint32_t n,
                               const alm_plan *child)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(alm_print(pr, ", "));
        ALM_TRY(alm_print_expr(pr, keys[i].expr, child, NULL));
        if (keys[i].desc)
            ALM_TRY(alm_print(pr, " desc"));
    }
    return ALM_OK;
}

static alm_status put_detail(alm_printer *pr, const alm_plan *plan)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->explain != NULL ? ops->explain(pr, plan) : ALM_OK;
}

static alm_status taken(alm_printer *pr, alm_status st, const char **out)
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
    alm_printer pr = {.cx = cx};
    alm_buf_init(&pr.buf, cx->mem);
    return taken(&pr, put_detail(&pr, plan), out);
}

alm_status alm_explain_expr(alm_ctx *cx, const alm_expr *e, const alm_plan *child, const char **out)
{
    alm_printer pr = {.cx = cx};
    alm_buf_init(&pr.buf, cx->mem);
    return taken(&pr, alm_print_expr(&pr, e, child, NULL), out);
}

const char *alm_plan_op_name(alm_plan_op op)
{
    static const char *const names[] = {
#define ALM_OP(id, node, name, doc) name,
#include "sql/plan/op.def"
#undef ALM_OP
    };
    ALM_ASSERT((size_t)op < ALM_COUNT(names));
    return names[op];
}

static alm_status put_node(alm_printer *pr, const alm_plan *plan, uint32_t level)
{
    pr->buf.len = 0;
    for (uint32_t i = 0; i < level; i++)
        ALM_TRY(alm_print(pr, "  "));
    if (alm_plan_is_sealed(plan))
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "view %s", plan->view->name));
    else
        ALM_TRY(alm_print(pr, alm_plan_op_name(plan->op)));
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
    alm_printer pr = {.cx = cx};
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
