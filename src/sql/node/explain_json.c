/*
 * explain_json.c - EXPLAIN (FORMAT JSON): plans in the shape of PostgreSQL's, for programs.
 *
 * There a node computes the select list and checks the conditions itself. So a PROJECT and a FILTER are members of
 * the node below them: Output and Filter. Drivers tell from Join Type, Parent Relationship and Output which columns
 * of a result may be null (sqlx); a RIGHT JOIN is shown as the LEFT JOIN with its sides changed, which is what they
 * understand. Output names a column by its table wherever it comes from there, so that it is the same text in each node.
 * There are no costs. What a node does, as the text form says it, is Details.
 */
#include <inttypes.h>

#include "sql/node/explain.h"

struct alm_explain_json {
    alm_ctx *cx;
    alm_buf buf;
    const alm_explain_figures *figures;
    const alm_plan *const *nodes;
    size_t n_nodes;
    uint32_t level; /* two levels of blanks for each node, as PostgreSQL writes it */
    bool first;     /* no member of the object yet */
};

static alm_status put(alm_explain_json *w, const char *text)
{
    return alm_buf_text(w->cx, &w->buf, text);
}

static alm_status new_line(alm_explain_json *w)
{
    ALM_TRY(put(w, "\n"));
    for (uint32_t i = 0; i < w->level; i++)
        ALM_TRY(put(w, "  "));
    return ALM_OK;
}

static alm_status put_string(alm_explain_json *w, const char *text)
{
    ALM_TRY(put(w, "\""));
    for (const char *at = text; *at != '\0'; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            ALM_TRY(alm_buf_printf(w->cx, &w->buf, "\\%c", c));
        else if (c < 0x20)
            ALM_TRY(alm_buf_printf(w->cx, &w->buf, "\\u%04x", c));
        else
            ALM_TRY(alm_buf_append(w->cx, &w->buf, at, 1));
    }
    return put(w, "\"");
}

/* "name": of the object in hand. */
static alm_status member(alm_explain_json *w, const char *name)
{
    if (!w->first)
        ALM_TRY(put(w, ","));
    w->first = false;
    ALM_TRY(new_line(w));
    ALM_TRY(put_string(w, name));
    return put(w, ": ");
}

alm_status alm_explain_json_text(alm_explain_json *w, const char *name, const char *value)
{
    ALM_TRY(member(w, name));
    return put_string(w, value);
}

static alm_status put_bool(alm_explain_json *w, const char *name, bool value)
{
    ALM_TRY(member(w, name));
    return put(w, value ? "true" : "false");
}

static alm_status put_int(alm_explain_json *w, const char *name, int64_t value)
{
    ALM_TRY(member(w, name));
    return alm_buf_printf(w->cx, &w->buf, "%" PRId64, value);
}

/* ------------------------------------------------------------------------- columns */

/* What column col of the plan is: followed to the table that it comes from. */
static alm_status origin(alm_explain_json *w, const alm_plan *plan, uint32_t col, const char **out)
{
    for (;;) {
        const alm_plan *child = plan->n_children > 0 ? plan->child[0] : NULL;
        switch ((int)plan->op) {
        case ALM_P_SCAN:
            if (plan->scan.cols[col] == ALM_SCAN_ROW)
                break;
            return alm_arena_printf(w->cx, w->cx->arena, out, "%s.%s", plan->scan.table->name,
                                    plan->scan.table->cols[plan->scan.cols[col]].name);
        case ALM_P_PROJECT:
            if (plan->project.expr[col]->kind != ALM_X_COL)
                return alm_explain_expr(w->cx, plan->project.expr[col], child, out);
            col = plan->project.expr[col]->col;
            plan = child;
            continue;
        case ALM_P_JOIN:
            if (col >= child->n_cols) {
                col -= child->n_cols;
                child = plan->child[1];
            }
            plan = child;
            continue;
        default:
            if (!alm_node_is(plan, ALM_NODE_SAME_ROWS))
                break;
            plan = child;
            continue;
        }
        if (alm_plan_is_sealed(plan))
            return alm_arena_printf(w->cx, w->cx->arena, out, "%s.%s", plan->view->name,
                                    plan->cols[col].name);
        *out = plan->cols[col].name;
        return ALM_OK;
    }
}

static alm_status put_output(alm_explain_json *w, const alm_plan *plan)
{
    ALM_TRY(member(w, "Output"));
    ALM_TRY(put(w, "["));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        const char *text = NULL;
        ALM_TRY(origin(w, plan, i, &text));
        ALM_TRY(put(w, i > 0 ? ", " : ""));
        ALM_TRY(put_string(w, text));
    }
    return put(w, "]");
}

/* --------------------------------------------------------------------------- nodes */

static const char *node_type(const alm_plan *plan)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->pg_name_of != NULL ? ops->pg_name_of(plan) : ops->pg_name;
}

static const alm_explain_figures *figures_of(const alm_explain_json *w, const alm_plan *plan)
{
    for (size_t i = 0; w->figures != NULL && i < w->n_nodes; i++)
        if (w->nodes[i] == plan && w->figures[i].known)
            return &w->figures[i];
    return NULL;
}

static alm_status put_figures(alm_explain_json *w, const alm_plan *plan)
{
    const alm_explain_figures *f = figures_of(w, plan);
    if (plan->est_rows >= 0 && plan->est_rows < 9e15)
        ALM_TRY(put_int(w, "Plan Rows", (int64_t)plan->est_rows));
    if (f == NULL)
        return ALM_OK;
    ALM_TRY(member(w, "Actual Total Time"));
    ALM_TRY(alm_buf_printf(w->cx, &w->buf, "%.3f", f->ms));
    ALM_TRY(put_int(w, "Actual Rows", f->rows));
    ALM_TRY(put_int(w, "Actual Loops", 1));
    return f->peak_bytes < 0
               ? ALM_OK
               : put_int(w, "Peak Memory Usage", (f->peak_bytes + 1023) / 1024); /* kB */
}

static alm_status put_head(alm_explain_json *w, const alm_plan *plan, const char *relationship)
{
    ALM_TRY(alm_explain_json_text(w, "Node Type", node_type(plan)));
    if (relationship != NULL)
        ALM_TRY(alm_explain_json_text(w, "Parent Relationship", relationship));
    ALM_TRY(put_bool(w, "Parallel Aware", false));
    ALM_TRY(put_bool(w, "Async Capable", false));
    if (alm_plan_is_sealed(plan))
        return alm_explain_json_text(w, "Alias", plan->view->name);
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->json != NULL ? ops->json(w, plan) : ALM_OK;
}

static alm_status put_node(alm_explain_json *w, const alm_plan *plan, const char *relationship);

static alm_status put_children(alm_explain_json *w, const alm_plan *plan)
{
    const bool turned = plan->op == ALM_P_JOIN && plan->join.kind == ALM_JOIN_RIGHT;
    const bool members = plan->op == ALM_P_SETOP;
    const uint32_t n = alm_plan_is_sealed(plan) ? 0 : plan->n_children;
    const bool lists = alm_plan_lists(plan);
    if (n == 0 && !lists)
        return ALM_OK;
    ALM_TRY(member(w, "Plans"));
    ALM_TRY(put(w, "["));
    w->level++;
    if (lists)
        ALM_TRY(put_node(w, plan->shared.of, "InitPlan"));
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 || lists)
            ALM_TRY(put(w, ","));
        ALM_TRY(put_node(w, plan->child[turned ? n - 1 - i : i],
                         members  ? "Member"
                         : i == 0 ? "Outer"
                                  : "Inner"));
    }
    w->level--;
    ALM_TRY(new_line(w));
    w->first = false;
    return put(w, "]");
}

/* The node with what stands above it as members. */
static alm_status put_node(alm_explain_json *w, const alm_plan *plan, const char *relationship)
{
    const alm_plan *top = plan;
    const char *text = NULL;
    ALM_TRY(new_line(w));
    ALM_TRY(put(w, "{"));
    w->level++;
    w->first = true;
    while (plan->op == ALM_P_PROJECT || plan->op == ALM_P_FILTER)
        plan = plan->child[0];
    ALM_TRY(put_head(w, plan, relationship));
    ALM_TRY(put_figures(w, top));
    ALM_TRY(put_output(w, top));
    for (const alm_plan *at = top; at != plan; at = at->child[0]) {
        if (at->op != ALM_P_FILTER)
            continue;
        ALM_TRY(alm_explain_detail(w->cx, at, &text));
        ALM_TRY(alm_explain_json_text(w, "Filter", text));
    }
    ALM_TRY(alm_explain_detail(w->cx, plan, &text));
    ALM_TRY(alm_explain_json_text(w, "Details", text));
    ALM_TRY(put_children(w, plan));
    w->level--;
    ALM_TRY(new_line(w));
    w->first = false;
    return put(w, "}");
}

static alm_status put_plan(alm_explain_json *w, const alm_plan *plan)
{
    if (plan == NULL)
        return put(w, "[\n  \"Utility Statement\"\n]");
    ALM_TRY(put(w, "[\n  {\n    \"Plan\": "));
    w->level = 2;
    const size_t at = w->buf.len;
    ALM_TRY(put_node(w, plan, NULL));
    /* the bracket stands behind the name, not on a line of its own */
    const size_t gap = 1 + 2 * (size_t)w->level;
    memmove(w->buf.ptr + at, w->buf.ptr + at + gap, w->buf.len - at - gap);
    w->buf.len -= gap;
    return put(w, "\n  }\n]");
}

alm_status alm_plan_explain_json(alm_ctx *cx, const alm_plan *plan,
                                 const alm_explain_figures *figures, const alm_plan *const *nodes,
                                 size_t n_nodes, const char **out)
{
    alm_explain_json w = {.cx = cx, .figures = figures, .nodes = nodes, .n_nodes = n_nodes};
    alm_buf_init(&w.buf, cx->mem);
    alm_status st = put_plan(&w, plan);
    if (st == ALM_OK)
        st = alm_arena_zstr(cx, cx->arena, (alm_str){w.buf.ptr, w.buf.len}, out);
    alm_buf_deinit(&w.buf);
    return st;
}
