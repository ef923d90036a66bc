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

static bool plan_access_wanted(const alm_planner *planner)
{
    return planner->cx->access != NULL;
}

static alm_status find_read(alm_planner *planner, const alm_table *table, int32_t pos,
                            alm_read **out)
{
    alm_read **at = &planner->reads;
    for (; *at != NULL; at = &(*at)->next) {
        if ((*at)->table == table && (*at)->view == planner->view) {
            *out = *at;
            return ALM_OK;
        }
    }
    alm_read *read = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &read));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &read->col_pos));
    read->table = table;
    read->view = planner->view;
    read->pos = pos;
    for (uint32_t i = 0; i < table->n_cols; i++)
        read->col_pos[i] = -1;
    *at = *out = read;
    return ALM_OK;
}

static alm_status plan_access_ask(alm_planner *planner, alm_read *read)
{
    const alm_table *table = read->table;
    const char **cols = NULL;
    int32_t *pos = NULL;
    alm_access_ask ask = {.permission = "SELECT",
                          .table = table->name,
                          .any_column = true,
                          .ts = table->ts_col >= 0 ? table->cols[table->ts_col].name : NULL,
                          .view = read->view,
                          .pos = read->pos};
    if (planner->cx->access == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &pos));
    for (uint32_t col = 0; col < table->n_cols; col++) {
        if (read->col_pos[col] < 0)
            continue;
        pos[ask.n] = read->col_pos[col];
        cols[ask.n++] = table->cols[col].name;
    }
    ask.columns = cols;
    ask.col_pos = pos;
    ask.any_column = ask.n == 0 && table->kind == ALM_TABLE_BASE; /* views are read as a whole */
    return planner->cx->access->may(planner->cx, planner->cx->access->arg, &ask);
}

/* Some right on the table is needed at once: errors about its columns tell what they are. */
alm_status alm_note_table(alm_planner *planner, const alm_table *table, int32_t pos)
{
    alm_read *read = NULL;
    if (!plan_access_wanted(planner))
        return ALM_OK;
    ALM_TRY(find_read(planner, table, pos, &read));
    return plan_access_ask(planner, read);
}

alm_status alm_note_column(alm_planner *planner, const alm_table *table, uint32_t col, int32_t pos)
{
    alm_read *read = NULL;
    if (!plan_access_wanted(planner) || table->kind != ALM_TABLE_BASE || col >= table->n_cols)
        return ALM_OK; /* views are read as a whole */
    ALM_TRY(find_read(planner, table, pos, &read));
    if (read->col_pos[col] < 0) {
        read->col_pos[col] = ALM_MAX(pos, 0);
        read->n_new++;
    }
    return ALM_OK;
}

alm_status alm_check_reads(alm_planner *planner)
{
    for (alm_read *read = planner->reads; read != NULL; read = read->next) {
        if (read->asked && read->n_new == 0)
            continue;
        ALM_TRY(plan_access_ask(planner, read));
        read->asked = true;
        read->n_new = 0;
    }
    return ALM_OK;
}

/* Columns that a scan reads without that a name stood for them. */
static alm_status check_scan(alm_planner *planner, const alm_plan *scan)
{
    const alm_table *table = scan->scan.table;
    for (uint32_t i = 0; i < scan->scan.n_cols; i++) {
        const uint32_t col = scan->scan.cols[i];
        if (col != ALM_SCAN_ROW && (int32_t)col != table->ts_col)
            ALM_TRY(alm_note_column(planner, table, col, scan->pos));
    }
    return ALM_OK;
}

static alm_status each_scan(alm_planner *planner, const alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN && !plan->scan.whole) {
        planner->view = plan->scan.view;
        ALM_TRY(check_scan(planner, plan));
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(each_scan(planner, plan->child[i]));
    return ALM_OK;
}

alm_status alm_check_scans(alm_planner *planner, const alm_plan *plan)
{
    const char *const view = planner->view;
    if (planner->cx->access == NULL)
        return ALM_OK;
    alm_status status = each_scan(planner, plan);
    for (uint32_t i = 0; status == ALM_OK && i < planner->n_kept; i++)
        status = each_scan(planner, planner->kept[i]);
    planner->view = view;
    return status == ALM_OK ? alm_check_reads(planner) : status;
}

alm_status alm_may_columns(alm_ctx *cx, const char *permission, const alm_table *table,
                           const uint32_t *cols, uint32_t n_cols, int32_t pos)
{
    const char **names = NULL;
    if (cx->access == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &names));
    for (uint32_t i = 0; i < n_cols; i++)
        names[i] = table->cols[cols[i]].name;
    const alm_access_ask question = {.permission = permission,
                                     .table = table->name,
                                     .columns = names,
                                     .n = n_cols,
                                     .ts = table->ts_col >= 0 ? table->cols[table->ts_col].name
                                                              : NULL,
                                     .pos = pos};
    return cx->access->may(cx, cx->access->arg, &question);
}
