/*
 * access.c - what a statement reads of tables, and whether its user may (base/access.h).
 *
 * Reads       Each table of FROM, and each column that a name or a star stands for, is noted while the statement is
 *             bound, wherever it stands; the question is asked for all columns of a table at once, so that the error
 *             names all that are missing. What a table's scan reads when the plan is made (names or not) is looked
 *             at again behind the optimiser.
 * Views       Within the query of a view its definer is asked for: alm_planner.view.
 * Cost        Nothing where cx->access is NULL.
 */
#include "sql/plan/access.h"

struct alm_read {
    const alm_table *table;
    const char *view;
    int32_t pos;      /* of its name */
    int32_t *col_pos; /* of each column: where it was read first, -1: not */
    uint32_t n_new;   /* noted since the question was asked last */
    bool asked;
    alm_read *next;
};

static bool wanted(const alm_planner *p)
{
    return p->cx->access != NULL;
}

static alm_status find_read(alm_planner *p, const alm_table *table, int32_t pos, alm_read **out)
{
    alm_read **at = &p->reads;
    for (; *at != NULL; at = &(*at)->next) {
        if ((*at)->table == table && (*at)->view == p->view) {
            *out = *at;
            return ALM_OK;
        }
    }
    alm_read *read = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &read));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, table->n_cols + 1, &read->col_pos));
    read->table = table;
    read->view = p->view;
    read->pos = pos;
    for (uint32_t i = 0; i < table->n_cols; i++)
        read->col_pos[i] = -1;
    *at = *out = read;
    return ALM_OK;
}

static alm_status ask(alm_planner *p, alm_read *read)
{
    const alm_table *t = read->table;
    const char **cols = NULL;
    int32_t *pos = NULL;
    alm_access_ask ask = {.permission = "SELECT",
                          .table = t->name,
                          .any_column = true,
                          .ts = t->ts_col >= 0 ? t->cols[t->ts_col].name : NULL,
                          .view = read->view,
                          .pos = read->pos};
    if (p->cx->access == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, t->n_cols + 1, &cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, t->n_cols + 1, &pos));
    for (uint32_t c = 0; c < t->n_cols; c++) {
        if (read->col_pos[c] < 0)
            continue;
        pos[ask.n] = read->col_pos[c];
        cols[ask.n++] = t->cols[c].name;
    }
    ask.columns = cols;
    ask.col_pos = pos;
    ask.any_column = ask.n == 0 && t->kind == ALM_TABLE_BASE; /* views are read as a whole */
    return p->cx->access->may(p->cx, p->cx->access->arg, &ask);
}

/* Some right on the table is needed at once: errors about its columns tell what they are. */
alm_status alm_note_table(alm_planner *p, const alm_table *table, int32_t pos)
{
    alm_read *read = NULL;
    if (!wanted(p))
        return ALM_OK;
    ALM_TRY(find_read(p, table, pos, &read));
    return ask(p, read);
}

alm_status alm_note_column(alm_planner *p, const alm_table *table, uint32_t col, int32_t pos)
{
    alm_read *read = NULL;
    if (!wanted(p) || table->kind != ALM_TABLE_BASE || col >= table->n_cols)
        return ALM_OK; /* views are read as a whole */
    ALM_TRY(find_read(p, table, pos, &read));
    if (read->col_pos[col] < 0) {
        read->col_pos[col] = ALM_MAX(pos, 0);
        read->n_new++;
    }
    return ALM_OK;
}

alm_status alm_check_reads(alm_planner *p)
{
    for (alm_read *read = p->reads; read != NULL; read = read->next) {
        if (read->asked && read->n_new == 0)
            continue;
        ALM_TRY(ask(p, read));
        read->asked = true;
        read->n_new = 0;
    }
    return ALM_OK;
}

/* Columns that a scan reads without that a name stood for them. */
static alm_status check_scan(alm_planner *p, const alm_plan *scan)
{
    const alm_table *t = scan->scan.table;
    for (uint32_t i = 0; i < scan->scan.n_cols; i++) {
        const uint32_t col = scan->scan.cols[i];
        if (col != ALM_SCAN_ROW && (int32_t)col != t->ts_col)
            ALM_TRY(alm_note_column(p, t, col, scan->pos));
    }
    return ALM_OK;
}

static alm_status each_scan(alm_planner *p, const alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN && !plan->scan.whole) {
        p->view = plan->scan.view;
        ALM_TRY(check_scan(p, plan));
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(each_scan(p, plan->child[i]));
    return ALM_OK;
}

alm_status alm_check_scans(alm_planner *p, const alm_plan *plan)
{
    const char *const view = p->view;
    if (p->cx->access == NULL)
        return ALM_OK;
    alm_status st = each_scan(p, plan);
    for (uint32_t i = 0; st == ALM_OK && i < p->n_kept; i++)
        st = each_scan(p, p->kept[i]);
    p->view = view;
    return st == ALM_OK ? alm_check_reads(p) : st;
}

alm_status alm_may_columns(alm_ctx *cx, const char *permission, const alm_table *table,
                           const uint32_t *cols, uint32_t n, int32_t pos)
{
    const char **names = NULL;
    if (cx->access == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &names));
    for (uint32_t i = 0; i < n; i++)
        names[i] = table->cols[cols[i]].name;
    const alm_access_ask question = {.permission = permission,
                                     .table = table->name,
                                     .columns = names,
                                     .n = n,
                                     .ts = table->ts_col >= 0 ? table->cols[table->ts_col].name
                                                              : NULL,
                                     .pos = pos};
    return cx->access->may(cx, cx->access->arg, &question);
}
