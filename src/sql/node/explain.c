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

alm_status alm_print(alm_printer *printer, const char *text)
{
    return alm_buf_text(printer->cx, &printer->buf, text);
}

/* -------------------------------------------------------------------- expressions */

alm_status alm_print_time(alm_printer *printer, int64_t ticks, alm_type type)
{
    char text[ALM_TIME_TEXT_MAX];
    const alm_time_unit unit = alm_type_unit(type);
    const size_t n = alm_time_format(ticks, unit, ALM_TIME_ISO, text);
    return alm_buf_append(printer->cx, &printer->buf, text, n);
}

alm_status alm_print_const(alm_printer *printer, const alm_expr *expr)
{
    int64_t value = 0;
    char text[ALM_DOUBLE_TEXT_MAX];
    if (alm_expr_is_null(expr))
        return alm_print(printer, "null");
    if (alm_type_is_text(expr->type)) {
        const alm_str s = alm_vec_text(&expr->value, 0);
        return alm_buf_printf(printer->cx, &printer->buf, "'%.*s'", (int)ALM_MIN(s.len, 64), s.ptr);
    }
    if (alm_type_info_of(expr->type)->cls == ALM_TC_TIME && alm_expr_int(expr, &value))
        return alm_print_time(printer, value, expr->type);
    if (alm_expr_int(expr, &value))
        return alm_buf_printf(printer->cx, &printer->buf, "%" PRId64, value);
    if (expr->type.id == ALM_T_BOOLEAN)
        return alm_print(printer, alm_expr_is_true(expr) ? "true" : "false");
    if (expr->type.id == ALM_T_DOUBLE) {
        double d;
        memcpy(&d, expr->value.data, sizeof d);
        return alm_buf_append(printer->cx, &printer->buf, text,
                              alm_double_format(d, ALM_NUM_DIALECT, text));
    }
    if (expr->type.id == ALM_T_FLOAT) {
        float f;
        memcpy(&f, expr->value.data, sizeof f);
        return alm_buf_append(printer->cx, &printer->buf, text,
                              alm_float_format(f, ALM_NUM_DIALECT, text));
    }
    if (expr->type.id == ALM_T_CHAR) {
        uint16_t c;
        memcpy(&c, expr->value.data, sizeof c);
        return c < 0x80 ? alm_buf_printf(printer->cx, &printer->buf, "'%c'", (char)c)
                        : alm_buf_printf(printer->cx, &printer->buf, "'\\u%04x'", c);
    }
    return alm_buf_printf(printer->cx, &printer->buf, "%s constant", alm_type_name(expr->type));
}

static alm_status node_explain_put_column(alm_printer *printer, uint32_t col, const alm_plan *left,
                                          const alm_plan *right)
{
    if (left->op == ALM_P_SCAN && right == left) { /* a filter of the scan: its own columns */
        const uint32_t place = left->scan.cols[col];
        return alm_print(printer,
                         place == ALM_SCAN_ROW ? "row" : left->scan.table->cols[place].name);
    }
    if (left->op == ALM_P_SOURCE && left->source.all != NULL && right == left)
        return alm_print(printer, left->source.all[left->source.cols[col]].name);
    if (col < left->n_cols)
        return alm_print(printer, left->cols[col].name);
    if (right != NULL && col - left->n_cols < right->n_cols)
        return alm_buf_printf(printer->cx, &printer->buf, "right.%s",
                              right->cols[col - left->n_cols].name);
    return alm_buf_printf(printer->cx, &printer->buf, "#%u", col);
}

static bool is_infix(const alm_expr *expr)
{
    const char byte = expr->fn->name[0];
    if (expr->n_args != 2)
        return false;
    return strchr("+-*/%=<>!&|^~", byte) != NULL || strcmp(expr->fn->name, "and") == 0 ||
           strcmp(expr->fn->name, "or") == 0 || strcmp(expr->fn->name, "like") == 0 ||
           strcmp(expr->fn->name, "ilike") == 0;
}

static bool is_loose(const alm_expr *expr)
{
    return expr->kind == ALM_X_CALL && is_infix(expr);
}

static alm_status node_explain_put_operand(alm_printer *printer, const alm_expr *expr,
                                           const alm_plan *left, const alm_plan *right)
{
    const bool brackets = is_loose(expr);
    if (brackets)
        ALM_TRY(alm_print(printer, "("));
    ALM_TRY(alm_print_expr(printer, expr, left, right));
    return brackets ? alm_print(printer, ")") : ALM_OK;
}

alm_status alm_print_list(alm_printer *printer, alm_expr *const *list, uint32_t n,
                          const alm_plan *left, const alm_plan *right)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(alm_print(printer, ", "));
        ALM_TRY(alm_print_expr(printer, list[i], left, right));
    }
    return ALM_OK;
}

static alm_status node_explain_put_call(alm_printer *printer, const alm_expr *expr,
                                        const alm_plan *left, const alm_plan *right)
{
    const char *name = expr->fn->name;
    if (is_infix(expr)) {
        ALM_TRY(node_explain_put_operand(printer, expr->args[0], left, right));
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " %s ", name));
        return node_explain_put_operand(printer, expr->args[1], left, right);
    }
    if (expr->n_args == 1 && alm_fn_is_cast(expr->fn)) {
        ALM_TRY(node_explain_put_operand(printer, expr->args[0], left, right));
        return alm_buf_printf(printer->cx, &printer->buf, "::%s", alm_type_name(expr->type));
    }
    if (expr->n_args == 1 && strncmp(name, "is ", 3) == 0) {
        ALM_TRY(node_explain_put_operand(printer, expr->args[0], left, right));
        return alm_buf_printf(printer->cx, &printer->buf, " %s", name);
    }
    ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, "%s(", name));
    ALM_TRY(alm_print_list(printer, expr->args, expr->n_args, left, right));
    return alm_print(printer, ")");
}

alm_status alm_print_expr(alm_printer *printer, const alm_expr *expr, const alm_plan *left,
                          const alm_plan *right)
{
    switch (expr->kind) {
    case ALM_X_CONST:
        return alm_print_const(printer, expr);
    case ALM_X_COL:
        return node_explain_put_column(printer, expr->col, left, right);
    case ALM_X_CALL:
        return node_explain_put_call(printer, expr, left, right);
    case ALM_X_CASE:
        ALM_TRY(alm_print(printer, "case("));
        ALM_TRY(alm_print_list(printer, expr->args, expr->n_args, left, right));
        return alm_print(printer, ")");
    case ALM_X_PARAM:
        return alm_buf_printf(printer->cx, &printer->buf, "$%u", expr->col + 1);
    }
    return ALM_OK;
}

alm_status alm_print_conjuncts(alm_printer *printer, const char *label, alm_expr *const *list,
                               uint32_t n, const alm_plan *left, const alm_plan *right)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_print(printer, label));
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ALM_TRY(alm_print(printer, " and "));
        ALM_TRY(alm_print_expr(printer, list[i], left, right));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- nodes */

alm_status alm_print_aggs(alm_printer *printer, const alm_agg_call *aggs, uint32_t n_aggs,
                          const alm_plan *child)
{
    for (uint32_t i = 0; i < n_aggs; i++) {
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, "%s%s(%s", i > 0 ? ", " : "",
                               aggs[i].fn->name, aggs[i].distinct ? "distinct " : ""));
        const uint32_t n_args = aggs[i].n_args - aggs[i].n_order;
        ALM_TRY(alm_print_list(printer, aggs[i].args, n_args, child, NULL));
        for (uint32_t order = 0; order < aggs[i].n_order; order++) {
            ALM_TRY(alm_print(printer, order == 0 ? " order by " : ", "));
            ALM_TRY(node_explain_put_operand(printer, aggs[i].args[n_args + order], child, NULL));
            ALM_TRY(alm_print(printer, aggs[i].order[order].desc ? " desc" : ""));
        }
        ALM_TRY(alm_print(printer, ")"));
        if (aggs[i].filter != NULL) {
            ALM_TRY(alm_print(printer, " filter "));
            ALM_TRY(node_explain_put_operand(printer, aggs[i].filter, child, NULL));
        }
    }
    return ALM_OK;
}

alm_status alm_print_keys(alm_printer *printer, const char *label, alm_expr *const *keys,
                          uint32_t n, const alm_plan *child)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_print(printer, label));
    return alm_print_list(printer, keys, n, child, NULL);
}

alm_status alm_print_sort_keys(alm_printer *printer, const alm_sort_key *keys, uint32_t n_keys,
                               const alm_plan *child)
{
    for (uint32_t i = 0; i < n_keys; i++) {
        if (i > 0)
            ALM_TRY(alm_print(printer, ", "));
        ALM_TRY(alm_print_expr(printer, keys[i].expr, child, NULL));
        if (keys[i].desc)
            ALM_TRY(alm_print(printer, " desc"));
    }
    return ALM_OK;
}

static alm_status put_detail(alm_printer *printer, const alm_plan *plan)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->explain != NULL ? ops->explain(printer, plan) : ALM_OK;
}

static alm_status node_explain_taken(alm_printer *printer, alm_status status, const char **out)
{
    alm_str text = {printer->buf.ptr == NULL ? "" : printer->buf.ptr, printer->buf.len};
    if (status == ALM_OK && text.len > 0 && text.ptr[0] == ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    if (status == ALM_OK)
        status = alm_arena_zstr(printer->cx, printer->cx->arena, text, out);
    alm_buf_deinit(&printer->buf);
    return status;
}

alm_status alm_explain_detail(alm_ctx *cx, const alm_plan *plan, const char **out)
{
    alm_printer printer = {.cx = cx};
    alm_buf_init(&printer.buf, cx->mem);
    return node_explain_taken(&printer, put_detail(&printer, plan), out);
}

alm_status alm_explain_expr(alm_ctx *cx, const alm_expr *expr, const alm_plan *child,
                            const char **out)
{
    alm_printer printer = {.cx = cx};
    alm_buf_init(&printer.buf, cx->mem);
    return node_explain_taken(&printer, alm_print_expr(&printer, expr, child, NULL), out);
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

static alm_status explain_put_node(alm_printer *printer, const alm_plan *plan, uint32_t level)
{
    printer->buf.len = 0;
    for (uint32_t i = 0; i < level; i++)
        ALM_TRY(alm_print(printer, "  "));
    if (alm_plan_is_sealed(plan))
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, "view %s", plan->view->name));
    else
        ALM_TRY(alm_print(printer, alm_plan_op_name(plan->op)));
    ALM_TRY(put_detail(printer, plan));
    ALM_TRY(
        alm_grow(printer->cx, &printer->lines, printer->n, &printer->cap, sizeof *printer->lines));
    ALM_TRY(alm_grow(printer->cx, &printer->nodes, printer->n, &printer->cap_nodes,
                     sizeof *printer->nodes));
    printer->nodes[printer->n] = plan;
    const alm_str line = {printer->buf.ptr, printer->buf.len};
    ALM_TRY(alm_arena_zstr(printer->cx, printer->cx->arena, line, &printer->lines[printer->n]));
    printer->n++;
    if (alm_plan_is_sealed(plan))
        return ALM_OK;
    if (alm_plan_lists(plan))
        ALM_TRY(explain_put_node(printer, plan->shared.of, level + 1));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(explain_put_node(printer, plan->child[i], level + 1));
    return ALM_OK;
}

alm_status alm_plan_explain(alm_ctx *cx, const alm_plan *plan, const char ***lines,
                            const alm_plan ***nodes, size_t *n_lines)
{
    alm_printer printer = {.cx = cx};
    alm_buf_init(&printer.buf, cx->mem);
    const alm_status status = explain_put_node(&printer, plan, 0);
    alm_buf_deinit(&printer.buf);
    if (status != ALM_OK)
        return status;
    *lines = printer.lines;
    if (nodes != NULL)
        *nodes = printer.nodes;
    *n_lines = printer.n;
    return ALM_OK;
}
