/*
 * dml.c - statements that change rows: INSERT, UPDATE, DELETE; EXPLAIN, which may run what it
 * explains.
 *
 * INSERT goes through the log (one transaction, acknowledged after the sync), a big INSERT SELECT
 * through a bulk load that writes parts and one log record. Either way nothing is visible before the
 * whole statement is, and all of it afterwards.
 */
#include "session/access/standing.h"
#include "session/statement/statement.h"
#include "storage/spill/spill.h"

/* An INSERT SELECT that may bring more rows than this is a bulk load. */
static const double BULK_ROWS = 50000;

alm_status alm_run_plan(alm_cursor *cursor, const alm_plan *plan, alm_snapshot *snapshot,
                        alm_status (*sink)(alm_ctx *cx, void *arg, const alm_batch *batch),
                        void *arg)
{
    alm_ctx *cx = &cursor->cx;
    alm_exec *exec = NULL;
    const alm_exec_env env = alm_db_exec_env(cursor->session->db, snapshot);
    alm_audit_plan(cursor, plan);
    ALM_TRY(alm_exec_open(cx, plan, &env, &exec));
    alm_status status = ALM_OK;
    while (status == ALM_OK) {
        alm_batch *batch = NULL;
        status = alm_exec_next(cx, exec, &batch);
        if (status != ALM_OK || batch == NULL)
            break;
        status = alm_cursor_check(cursor);
        if (status == ALM_OK)
            status = sink(cx, arg, batch);
    }
    alm_exec_close(exec);
    return status;
}

/* ------------------------------------------------------------------- insert */

typedef struct insert_sink {
    alm_cursor *cursor;
    alm_txn *txn;
    alm_bulk *bulk;
    const alm_table *table;
    int64_t rows;
} insert_sink;

static alm_status insert_batch(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    insert_sink *sink = arg;
    alm_batch rows = *batch; /* without the columns of RETURNING */
    sink->rows += batch->rows;
    rows.n_cols = sink->table->n_cols;
    ALM_TRY(alm_returning_keep(sink->cursor, batch));
    return sink->bulk != NULL ? alm_bulk_append(cx, sink->bulk, &rows)
                              : alm_txn_append(cx, sink->txn, sink->table, &rows);
}

static double widest_rows(const alm_plan *plan)
{
    double rows = plan->est_rows;
    for (uint32_t i = 0; i < plan->n_children; i++) {
        const double below = widest_rows(plan->child[i]); /* once: the macro takes it twice */
        rows = ALM_MAX(rows, below);
    }
    return rows;
}

/* The transaction that the statement takes part in; NULL: it is one of its own. */
static alm_status block_txn(alm_cursor *cursor, alm_txn **out)
{
    alm_session *session = cursor->session;
    if (alm_in_transaction(session) && session->txn == NULL)
        ALM_TRY(alm_txn_begin(&cursor->cx, session->db->storage, &session->txn));
    *out = session->txn;
    return ALM_OK;
}

static alm_status insert_bulk(alm_cursor *cursor, const alm_table *table, const alm_plan *plan)
{
    alm_ctx *cx = &cursor->cx;
    insert_sink sink = {.cursor = cursor, .table = table};
    alm_txn *txn = NULL;
    ALM_TRY(block_txn(cursor, &txn));
    ALM_TRY(alm_bulk_begin(cx, cursor->session->db->storage, table, &sink.bulk));
    const alm_status status = alm_run_plan(cursor, plan, cursor->snapshot, insert_batch, &sink);
    if (status != ALM_OK) {
        alm_bulk_rollback(sink.bulk);
        return status;
    }
    if (txn != NULL)
        return alm_bulk_into_txn(cx, sink.bulk, txn, &cursor->affected);
    return alm_bulk_commit(cx, sink.bulk, &cursor->affected);
}

static alm_status insert_logged(alm_cursor *cursor, const alm_table *table, const alm_plan *plan)
{
    alm_ctx *cx = &cursor->cx;
    insert_sink sink = {.cursor = cursor, .table = table};
    uint64_t lsn = 0;
    ALM_TRY(block_txn(cursor, &sink.txn));
    const bool in_block = sink.txn != NULL;
    if (!in_block)
        ALM_TRY(alm_txn_begin(cx, cursor->session->db->storage, &sink.txn));
    alm_status status = alm_run_plan(cursor, plan, cursor->snapshot, insert_batch, &sink);
    if (!in_block && status == ALM_OK)
        status = alm_txn_commit(cx, sink.txn, &lsn);
    else if (!in_block)
        alm_txn_rollback(sink.txn);
    if (status == ALM_OK)
        cursor->affected = sink.rows;
    return status;
}

/* Was the table altered between plan and commit, and may the statement be planned again? */
static bool dml_try_again(alm_cursor *cursor, alm_status status, int tries)
{
    enum { TRIES = 16 };
    return status == ALM_E_STALE && !alm_in_transaction(cursor->session) && tries < TRIES;
}

static alm_status insert_once(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                              uint32_t n)
{
    alm_plan_env env;
    const alm_table *table = NULL;
    const int64_t start = alm_monotonic_ns();
    alm_plan_env_init(&env, cursor, params, n);
    ALM_TRY(alm_plan_insert(&cursor->cx, &env, stmt, &table, &cursor->plan));
    cursor->compile_ns += alm_monotonic_ns() - start;
    ALM_TRY(alm_returning_begin(cursor, stmt, cursor->plan, table->n_cols));
    if (stmt->select != NULL && widest_rows(cursor->plan) > BULK_ROWS)
        return insert_bulk(cursor, table, cursor->plan);
    return insert_logged(cursor, table, cursor->plan);
}

alm_status alm_run_insert(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_status status = insert_once(cursor, stmt, params, n);
    for (int tries = 1; dml_try_again(cursor, status, tries); tries++) {
        alm_error_clear(&cursor->cx);
        ALM_TRY(alm_cursor_look_again(cursor));
        status = insert_once(cursor, stmt, params, n);
    }
    return status;
}

/* ------------------------------------------------------------------- update */

typedef struct update_sink {
    alm_cursor *cursor;
    alm_update *update;
    uint32_t n_set;
    const alm_scan *scan;
    size_t span;
    int64_t span_start; /* position of the span's first row in the scan */
} update_sink;

/* Rows come in scan order: one span after another. */
static alm_status update_batch(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    update_sink *sink = arg;
    const alm_vec *position = &batch->cols[sink->n_set];
    const int64_t *at = position->data;
    int64_t *rows = NULL;
    uint32_t *index = NULL;
    alm_vec *piece = NULL;
    alm_arena arena; /* as long as the batch */
    ALM_TRY(alm_returning_keep(sink->cursor, batch));
    alm_arena_init(&arena, cx->mem);
    alm_status status = ALM_NEWN(cx, &arena, ALM_BATCH_ROWS, &rows);
    if (status == ALM_OK)
        status = ALM_NEWN(cx, &arena, ALM_BATCH_ROWS, &index);
    if (status == ALM_OK)
        status = ALM_NEWN(cx, &arena, sink->n_set + 1, &piece);
    for (uint32_t i = 0; status == ALM_OK && i < batch->rows;) {
        const int64_t first = at[position->is_const ? 0 : i];
        alm_span span = alm_scan_span_at(sink->scan, sink->span);
        while (first >= sink->span_start + span.rows) {
            sink->span_start += span.rows;
            span = alm_scan_span_at(sink->scan, ++sink->span);
        }
        uint32_t count = 0;
        for (; i < batch->rows; i++, count++) {
            const int64_t row = at[position->is_const ? 0 : i] - sink->span_start;
            if (row >= span.rows)
                break;
            rows[count] = row;
            index[count] = i;
        }
        for (uint32_t k = 0; status == ALM_OK && k < sink->n_set; k++)
            status = alm_vec_gather(cx, &arena, &batch->cols[k], index, count, &piece[k]);
        if (status == ALM_OK)
            status = alm_update_rows(cx, sink->update, sink->span, rows, count, piece);
    }
    alm_arena_deinit(&arena);
    return status;
}

alm_status alm_run_update_plan(alm_cursor *cursor, const alm_plan *plan, const alm_table *table,
                               uint32_t n_set, alm_update *update)
{
    alm_ctx *cx = &cursor->cx;
    alm_scan *scan = NULL;
    alm_snapshot *snapshot = alm_update_snapshot(update);
    ALM_TRY(alm_scan_new(cx, cx->arena, snapshot, table, &(alm_scan_spec){.all = true}, &scan));
    update_sink sink = {.cursor = cursor, .update = update, .n_set = n_set, .scan = scan};
    return alm_run_plan(cursor, plan, snapshot, update_batch, &sink);
}

/* Which rows of a dedup table are there is settled by commits: an implicit transaction ends before a change. */
static alm_status settle_dedup(alm_cursor *cursor, const alm_stmt *stmt)
{
    const alm_table *table = alm_snapshot_find(cursor->snapshot, stmt->table);
    return table != NULL && table->dedup ? alm_commit_before(cursor) : ALM_OK;
}

typedef alm_status (*plan_rows_fn)(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                   alm_update_plan **out);

static alm_status update_columns(alm_cursor *cursor, const alm_stmt *stmt, uint32_t **cols)
{
    alm_ctx *cx = &cursor->cx;
    const alm_table *table = alm_snapshot_find(cursor->snapshot, stmt->table);
    if (table == NULL)
        return alm_no_table(cx, cursor->snapshot, stmt->table, stmt->table_pos);
    ALM_TRY(ALM_NEWN(cx, cx->arena, stmt->n_set, cols));
    for (uint32_t i = 0; i < stmt->n_set; i++) {
        const int32_t col = alm_table_col(table, stmt->set[i].col);
        if (col < 0)
            return alm_no_column(cx, table, stmt->set[i].col, stmt->set[i].pos);
        if (col == table->ts_col)
            return alm_fail(cx, ALM_E_UNSUPPORTED, stmt->set[i].pos,
                            "Designated timestamp column cannot be updated");
        (*cols)[i] = (uint32_t)col;
    }
    return ALM_OK;
}

/* Plans on the snapshot of the update and gives it the rows. */
static alm_status update_run(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                             uint32_t n, plan_rows_fn plan_rows, const uint32_t *cols,
                             alm_update *update)
{
    alm_ctx *cx = &cursor->cx;
    alm_plan_env env;
    alm_update_plan *plan = NULL;
    alm_plan_env_init(&env, cursor, params, n);
    env.snapshot = alm_update_snapshot(update);
    ALM_TRY(plan_rows(cx, &env, stmt, &plan));
    for (uint32_t i = 0; i < plan->n_set; i++)
        if (plan->set_cols[i] != cols[i])
            return alm_fail(cx, ALM_E_STALE, -1, "columns of table '%s' were changed",
                            plan->table->name);
    ALM_TRY(alm_returning_begin(cursor, stmt, plan->plan, plan->n_set + 1));
    return alm_run_update_plan(cursor, plan->plan, plan->table, plan->n_set, update);
}

static alm_status update_once(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                              uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    uint32_t *cols = NULL;
    alm_update *update = NULL;
    alm_txn *txn = NULL;
    /* plan once against the plain snapshot: bad statements fail before writers are kept out */
    alm_plan_env env;
    alm_update_plan *plan = NULL;
    alm_plan_env_init(&env, cursor, params, n);
    ALM_TRY(alm_plan_update(cx, &env, stmt, &plan));
    ALM_TRY(update_columns(cursor, stmt, &cols));
    ALM_TRY(block_txn(cursor, &txn));
    ALM_TRY(alm_update_begin(cx, cursor->session->db->storage, txn, stmt->table, cols, stmt->n_set,
                             &update));
    const alm_status status = update_run(cursor, stmt, params, n, alm_plan_update, cols, update);
    if (status != ALM_OK) {
        alm_update_rollback(update);
        return status;
    }
    return alm_update_commit(cx, update, &cursor->affected);
}

alm_status alm_run_update(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    ALM_TRY(settle_dedup(cursor, stmt));
    alm_status status = update_once(cursor, stmt, params, n);
    for (int tries = 1; dml_try_again(cursor, status, tries); tries++) {
        alm_error_clear(&cursor->cx);
        ALM_TRY(alm_cursor_look_again(cursor));
        status = update_once(cursor, stmt, params, n);
    }
    return status;
}

alm_status alm_run_delete(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    alm_plan_env env;
    alm_update_plan *plan = NULL;
    alm_update *update = NULL;
    alm_txn *txn = NULL;
    ALM_TRY(settle_dedup(cursor, stmt));
    alm_plan_env_init(&env, cursor, params, n);
    ALM_TRY(alm_plan_delete(cx, &env, stmt, &plan)); /* as for UPDATE */
    ALM_TRY(block_txn(cursor, &txn));
    ALM_TRY(alm_delete_begin(cx, cursor->session->db->storage, txn, stmt->table, &update));
    const alm_status status = update_run(cursor, stmt, params, n, alm_plan_delete, NULL, update);
    if (status != ALM_OK) {
        alm_update_rollback(update);
        return status;
    }
    return alm_update_commit(cx, update, &cursor->affected);
}

/* ------------------------------------------------------------------ explain */

static alm_status count_batch(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    (void)cx;
    *(int64_t *)arg += batch->rows;
    return ALM_OK;
}

/* Runs the query; `figures` and the lines get what was found of each node. */
static alm_status analyze_plan(alm_cursor *cursor, const alm_plan *plan, const char **lines,
                               const alm_plan *const *nodes, size_t n, alm_explain_figures *found)
{
    alm_ctx *cx = &cursor->cx;
    alm_exec *exec = NULL;
    alm_exec_env env = alm_db_exec_env(cursor->session->db, cursor->snapshot);
    env.analyze = true;
    int64_t rows = 0;
    alm_audit_plan(cursor, plan);
    ALM_TRY(alm_exec_open(cx, plan, &env, &exec));
    alm_status status = ALM_OK;
    for (alm_batch *batch = NULL; status == ALM_OK;) {
        status = alm_exec_next(cx, exec, &batch);
        if (status != ALM_OK || batch == NULL)
            break;
        status = count_batch(cx, &rows, batch);
    }
    for (size_t i = 0; status == ALM_OK && i < n; i++) {
        const alm_op_stats *figures = alm_exec_stats(exec, nodes[i]->id);
        if (figures == NULL)
            continue;
        found[i] = (alm_explain_figures){.known = true,
                                         .rows = figures->rows,
                                         .peak_bytes = figures->peak_bytes,
                                         .ms = (double)figures->cpu_ns / 1e6};
        const char *read = "";
        if (nodes[i]->op == ALM_P_SCAN)
            status =
                alm_arena_printf(cx, cx->arena, &read, " read=%lld", (long long)figures->bytes);
        if (status == ALM_OK)
            status = alm_arena_printf(
                cx, cx->arena, &lines[i], "%s (rows=%lld batches=%lld time=%.3fms memory=%lld%s)",
                lines[i], (long long)figures->rows, (long long)figures->batches,
                (double)figures->cpu_ns / 1e6, (long long)figures->peak_bytes, read);
    }
    alm_exec_close(exec);
    return status;
}

/* The plan of the statement; *out NULL: it has none. sealed: of alm_plan_env. */
static alm_status plan_inner(alm_cursor *cursor, const alm_stmt *inner, alm_param *params,
                             uint32_t n, bool *sealed, alm_plan **out)
{
    alm_plan_env env;
    alm_checked checked = {0};
    alm_plan_env_init(&env, cursor, params, n);
    env.sealed = sealed;
    if (alm_stmt_does_any(inner->kind, ALM_S_EXPLAINED))
        ALM_TRY(alm_stmt_check(cursor, &env, inner, &checked));
    *out = checked.plan;
    return ALM_OK;
}

/*
 * ANALYZE of a plan with views that hide rows from who asks: what runs is the plan with what they read, of which he is told how many
 * rows come out, which he could ask for, and how long that took. Figures of single nodes, memory and batches would count rows that
 * are hidden: a condition that is leakproof runs below the view, and any number of them may be tried.
 */
static alm_status analyze_sealed(alm_cursor *cursor, const alm_stmt *inner, alm_param *params,
                                 uint32_t n, const char **line, alm_explain_figures *found)
{
    alm_plan *plan = NULL;
    const char *own = "";
    ALM_TRY(plan_inner(cursor, inner, params, n, NULL, &plan));
    const alm_plan *root = plan;
    const int64_t start = alm_monotonic_ns();
    ALM_TRY(analyze_plan(cursor, plan, &own, &root, 1, found));
    found->ms = (double)(alm_monotonic_ns() - start) / 1e6;
    found->peak_bytes = -1;
    return alm_arena_printf(&cursor->cx, cursor->cx.arena, line, "%s (rows=%lld time=%.3fms)",
                            *line, (long long)found->rows, found->ms);
}

static alm_status give_json(alm_cursor *cursor, const char *json)
{
    ALM_TRY(alm_cursor_texts(cursor, "QUERY PLAN", &json, 1));
    cursor->cols[0].type = alm_type_json();
    return ALM_OK;
}

alm_status alm_run_explain(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    alm_plan *plan = NULL;
    const char **lines = NULL, *text = NULL;
    const alm_plan **nodes = NULL;
    alm_explain_figures *figures = NULL;
    size_t n_lines = 0;
    bool sealed = false;
    ALM_TRY(plan_inner(cursor, stmt->inner, params, n, &sealed, &plan));
    if (plan == NULL && stmt->json) {
        ALM_TRY(alm_plan_explain_json(cx, NULL, NULL, NULL, 0, &text));
        return give_json(cursor, text);
    }
    if (plan == NULL) {
        ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->inner->text, &text));
        return alm_cursor_texts(cursor, "QUERY PLAN", &text, 1);
    }
    ALM_TRY(alm_plan_explain(cx, plan, &lines, &nodes, &n_lines));
    const bool run = stmt->analyze && stmt->inner->kind == ALM_STMT_SELECT;
    if (run) {
        ALM_TRY(ALM_NEWN(cx, cx->arena, n_lines + 1, &figures));
        ALM_TRY(sealed ? analyze_sealed(cursor, stmt->inner, params, n, &lines[0], &figures[0])
                       : analyze_plan(cursor, plan, lines, nodes, n_lines, figures));
    }
    if (!stmt->json)
        return alm_cursor_texts(cursor, "QUERY PLAN", lines, n_lines);
    ALM_TRY(alm_plan_explain_json(cx, plan, figures, nodes, n_lines, &text));
    return give_json(cursor, text);
}

alm_status alm_check_insert(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    const alm_table *table = NULL;
    ALM_TRY(alm_plan_insert(&cursor->cx, env, stmt, &table, &out->plan));
    out->first = table->n_cols;
    return ALM_OK;
}

static void keep_update(const alm_update_plan *update, alm_checked *out)
{
    out->plan = update->plan;
    out->first = update->n_set + 1;
}

alm_status alm_check_update(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    alm_update_plan *update = NULL;
    ALM_TRY(alm_plan_update(&cursor->cx, env, stmt, &update));
    keep_update(update, out);
    return ALM_OK;
}

alm_status alm_check_delete(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    alm_update_plan *update = NULL;
    ALM_TRY(alm_plan_delete(&cursor->cx, env, stmt, &update));
    keep_update(update, out);
    return ALM_OK;
}
