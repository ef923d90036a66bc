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

static alm_status explain_json_put(alm_explain_json *json, const char *text)
{
    return alm_buf_text(json->cx, &json->buf, text);
}

static alm_status new_line(alm_explain_json *json)
{
    ALM_TRY(explain_json_put(json, "\n"));
    for (uint32_t i = 0; i < json->level; i++)
        ALM_TRY(explain_json_put(json, "  "));
    return ALM_OK;
}

static alm_status explain_json_put_string(alm_explain_json *json, const char *text)
{
    ALM_TRY(explain_json_put(json, "\""));
    for (const char *ptr = text; *ptr != '\0'; ptr++) {
        const unsigned char byte = (unsigned char)*ptr;
        if (byte == '"' || byte == '\\')
            ALM_TRY(alm_buf_printf(json->cx, &json->buf, "\\%c", byte));
        else if (byte < 0x20)
            ALM_TRY(alm_buf_printf(json->cx, &json->buf, "\\u%04x", byte));
        else
            ALM_TRY(alm_buf_append(json->cx, &json->buf, ptr, 1));
    }
    return explain_json_put(json, "\"");
}

/* "name": of the object in hand. */
static alm_status explain_json_member(alm_explain_json *json, const char *name)
{
    if (!json->first)
        ALM_TRY(explain_json_put(json, ","));
    json->first = false;
    ALM_TRY(new_line(json));
    ALM_TRY(explain_json_put_string(json, name));
    return explain_json_put(json, ": ");
}

alm_status alm_explain_json_text(alm_explain_json *json, const char *name, const char *value)
{
    ALM_TRY(explain_json_member(json, name));
    return explain_json_put_string(json, value);
}

static alm_status put_bool(alm_explain_json *json, const char *name, bool value)
{
    ALM_TRY(explain_json_member(json, name));
    return explain_json_put(json, value ? "true" : "false");
}

static alm_status explain_json_put_int(alm_explain_json *json, const char *name, int64_t value)
{
    ALM_TRY(explain_json_member(json, name));
    return alm_buf_printf(json->cx, &json->buf, "%" PRId64, value);
}

/* ------------------------------------------------------------------------- columns */

/* What column col of the plan is: followed to the table that it comes from. */
static alm_status origin(alm_explain_json *json, const alm_plan *plan, uint32_t col,
                         const char **out)
{
    for (;;) {
        const alm_plan *child = plan->n_children > 0 ? plan->child[0] : NULL;
        switch ((int)plan->op) {
        case ALM_P_SCAN:
            if (plan->scan.cols[col] == ALM_SCAN_ROW)
                break;
            return alm_arena_printf(json->cx, json->cx->arena, out, "%s.%s", plan->scan.table->name,
                                    plan->scan.table->cols[plan->scan.cols[col]].name);
        case ALM_P_PROJECT:
            if (plan->project.expr[col]->kind != ALM_X_COL)
                return alm_explain_expr(json->cx, plan->project.expr[col], child, out);
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
            return alm_arena_printf(json->cx, json->cx->arena, out, "%s.%s", plan->view->name,
                                    plan->cols[col].name);
        *out = plan->cols[col].name;
        return ALM_OK;
    }
}

static alm_status put_output(alm_explain_json *json, const alm_plan *plan)
{
    ALM_TRY(explain_json_member(json, "Output"));
    ALM_TRY(explain_json_put(json, "["));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        const char *text = NULL;
        ALM_TRY(origin(json, plan, i, &text));
        ALM_TRY(explain_json_put(json, i > 0 ? ", " : ""));
        ALM_TRY(explain_json_put_string(json, text));
    }
    return explain_json_put(json, "]");
}

/* --------------------------------------------------------------------------- nodes */

static const char *node_type(const alm_plan *plan)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->pg_name_of != NULL ? ops->pg_name_of(plan) : ops->pg_name;
}

static const alm_explain_figures *figures_of(const alm_explain_json *json, const alm_plan *plan)
{
    for (size_t i = 0; json->figures != NULL && i < json->n_nodes; i++)
        if (json->nodes[i] == plan && json->figures[i].known)
            return &json->figures[i];
    return NULL;
}

static alm_status put_figures(alm_explain_json *json, const alm_plan *plan)
{
    const alm_explain_figures *figures = figures_of(json, plan);
    if (plan->est_rows >= 0 && plan->est_rows < 9e15)
        ALM_TRY(explain_json_put_int(json, "Plan Rows", (int64_t)plan->est_rows));
    if (figures == NULL)
        return ALM_OK;
    ALM_TRY(explain_json_member(json, "Actual Total Time"));
    ALM_TRY(alm_buf_printf(json->cx, &json->buf, "%.3f", figures->ms));
    ALM_TRY(explain_json_put_int(json, "Actual Rows", figures->rows));
    ALM_TRY(explain_json_put_int(json, "Actual Loops", 1));
    return figures->peak_bytes < 0
               ? ALM_OK
               : explain_json_put_int(json, "Peak Memory Usage",
                                      (figures->peak_bytes + 1023) / 1024); /* kB */
}

static alm_status explain_json_put_head(alm_explain_json *json, const alm_plan *plan,
                                        const char *relationship)
{
    ALM_TRY(alm_explain_json_text(json, "Node Type", node_type(plan)));
    if (relationship != NULL)
        ALM_TRY(alm_explain_json_text(json, "Parent Relationship", relationship));
    ALM_TRY(put_bool(json, "Parallel Aware", false));
    ALM_TRY(put_bool(json, "Async Capable", false));
    if (alm_plan_is_sealed(plan))
        return alm_explain_json_text(json, "Alias", plan->view->name);
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->json != NULL ? ops->json(json, plan) : ALM_OK;
}

static alm_status explain_json_put_node(alm_explain_json *w, const alm_plan *plan,
                                        const char *relationship);

static alm_status put_children(alm_explain_json *json, const alm_plan *plan)
{
    const bool turned = plan->op == ALM_P_JOIN && plan->join.kind == ALM_JOIN_RIGHT;
    const bool members = plan->op == ALM_P_SETOP;
    const uint32_t n = alm_plan_is_sealed(plan) ? 0 : plan->n_children;
    const bool lists = alm_plan_lists(plan);
    if (n == 0 && !lists)
        return ALM_OK;
    ALM_TRY(explain_json_member(json, "Plans"));
    ALM_TRY(explain_json_put(json, "["));
    json->level++;
    if (lists)
        ALM_TRY(explain_json_put_node(json, plan->shared.of, "InitPlan"));
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 || lists)
            ALM_TRY(explain_json_put(json, ","));
        ALM_TRY(explain_json_put_node(json, plan->child[turned ? n - 1 - i : i],
                                      members  ? "Member"
                                      : i == 0 ? "Outer"
                                               : "Inner"));
    }
    json->level--;
    ALM_TRY(new_line(json));
    json->first = false;
    return explain_json_put(json, "]");
}

/* The node with what stands above it as members. */
static alm_status explain_json_put_node(alm_explain_json *json, const alm_plan *plan,
                                        const char *relationship)
{
    const alm_plan *top = plan;
    const char *text = NULL;
    ALM_TRY(new_line(json));
    ALM_TRY(explain_json_put(json, "{"));
    json->level++;
    json->first = true;
    while (plan->op == ALM_P_PROJECT || plan->op == ALM_P_FILTER)
        plan = plan->child[0];
    ALM_TRY(explain_json_put_head(json, plan, relationship));
    ALM_TRY(put_figures(json, top));
    ALM_TRY(put_output(json, top));
    for (const alm_plan *at = top; at != plan; at = at->child[0]) {
        if (at->op != ALM_P_FILTER)
            continue;
        ALM_TRY(alm_explain_detail(json->cx, at, &text));
        ALM_TRY(alm_explain_json_text(json, "Filter", text));
    }
    ALM_TRY(alm_explain_detail(json->cx, plan, &text));
    ALM_TRY(alm_explain_json_text(json, "Details", text));
    ALM_TRY(put_children(json, plan));
    json->level--;
    ALM_TRY(new_line(json));
    json->first = false;
    return explain_json_put(json, "}");
}

static alm_status put_plan(alm_explain_json *json, const alm_plan *plan)
{
    if (plan == NULL)
        return explain_json_put(json, "[\n  \"Utility Statement\"\n]");
    ALM_TRY(explain_json_put(json, "[\n  {\n    \"Plan\": "));
    json->level = 2;
    const size_t offset = json->buf.len;
    ALM_TRY(explain_json_put_node(json, plan, NULL));
    /* the bracket stands behind the name, not on a line of its own */
    const size_t gap = 1 + 2 * (size_t)json->level;
    memmove(json->buf.ptr + offset, json->buf.ptr + offset + gap, json->buf.len - offset - gap);
    json->buf.len -= gap;
    return explain_json_put(json, "\n  }\n]");
}

alm_status alm_plan_explain_json(alm_ctx *cx, const alm_plan *plan,
                                 const alm_explain_figures *figures, const alm_plan *const *nodes,
                                 size_t n_nodes, const char **out)
{
    alm_explain_json json = {.cx = cx, .figures = figures, .nodes = nodes, .n_nodes = n_nodes};
    alm_buf_init(&json.buf, cx->mem);
    alm_status status = put_plan(&json, plan);
    if (status == ALM_OK)
        status = alm_arena_zstr(cx, cx->arena, (alm_str){json.buf.ptr, json.buf.len}, out);
    alm_buf_deinit(&json.buf);
    return status;
}
