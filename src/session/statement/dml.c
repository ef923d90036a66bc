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

alm_status alm_run_plan(alm_cursor *c, const alm_plan *plan, alm_snapshot *snapshot,
                        alm_status (*sink)(alm_ctx *cx, void *arg, const alm_batch *batch),
                        void *arg)
{
    alm_ctx *cx = &c->cx;
    alm_exec *exec = NULL;
    const alm_exec_env env = alm_db_exec_env(c->session->db, snapshot);
    alm_audit_plan(c, plan);
    ALM_TRY(alm_exec_open(cx, plan, &env, &exec));
    alm_status st = ALM_OK;
    while (st == ALM_OK) {
        alm_batch *batch = NULL;
        st = alm_exec_next(cx, exec, &batch);
        if (st != ALM_OK || batch == NULL)
            break;
        st = alm_cursor_check(c);
        if (st == ALM_OK)
            st = sink(cx, arg, batch);
    }
    alm_exec_close(exec);
    return st;
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
static alm_status block_txn(alm_cursor *c, alm_txn **out)
{
    alm_session *s = c->session;
    if (alm_in_transaction(s) && s->txn == NULL)
        ALM_TRY(alm_txn_begin(&c->cx, s->db->storage, &s->txn));
    *out = s->txn;
    return ALM_OK;
}

static alm_status insert_bulk(alm_cursor *c, const alm_table *table, const alm_plan *plan)
{
    alm_ctx *cx = &c->cx;
    insert_sink sink = {.cursor = c, .table = table};
    alm_txn *txn = NULL;
    ALM_TRY(block_txn(c, &txn));
    ALM_TRY(alm_bulk_begin(cx, c->session->db->storage, table, &sink.bulk));
    const alm_status st = alm_run_plan(c, plan, c->snapshot, insert_batch, &sink);
    if (st != ALM_OK) {
        alm_bulk_rollback(sink.bulk);
        return st;
    }
    if (txn != NULL)
        return alm_bulk_into_txn(cx, sink.bulk, txn, &c->affected);
    return alm_bulk_commit(cx, sink.bulk, &c->affected);
}

static alm_status insert_logged(alm_cursor *c, const alm_table *table, const alm_plan *plan)
{
    alm_ctx *cx = &c->cx;
    insert_sink sink = {.cursor = c, .table = table};
    uint64_t lsn = 0;
    ALM_TRY(block_txn(c, &sink.txn));
    const bool in_block = sink.txn != NULL;
    if (!in_block)
        ALM_TRY(alm_txn_begin(cx, c->session->db->storage, &sink.txn));
    alm_status st = alm_run_plan(c, plan, c->snapshot, insert_batch, &sink);
    if (!in_block && st == ALM_OK)
        st = alm_txn_commit(cx, sink.txn, &lsn);
    else if (!in_block)
        alm_txn_rollback(sink.txn);
    if (st == ALM_OK)
        c->affected = sink.rows;
    return st;
}

/* Was the table altered between plan and commit, and may the statement be planned again? */
static bool try_again(alm_cursor *c, alm_status st, int tries)
{
    enum { TRIES = 16 };
    return st == ALM_E_STALE && !alm_in_transaction(c->session) && tries < TRIES;
}

static alm_status insert_once(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_plan_env env;
    const alm_table *table = NULL;
    const int64_t start = alm_monotonic_ns();
    alm_plan_env_init(&env, c, params, n);
    ALM_TRY(alm_plan_insert(&c->cx, &env, stmt, &table, &c->plan));
    c->compile_ns += alm_monotonic_ns() - start;
    ALM_TRY(alm_returning_begin(c, stmt, c->plan, table->n_cols));
    if (stmt->select != NULL && widest_rows(c->plan) > BULK_ROWS)
        return insert_bulk(c, table, c->plan);
    return insert_logged(c, table, c->plan);
}

alm_status alm_run_insert(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_status st = insert_once(c, stmt, params, n);
    for (int tries = 1; try_again(c, st, tries); tries++) {
        alm_error_clear(&c->cx);
        ALM_TRY(alm_cursor_look_again(c));
        st = insert_once(c, stmt, params, n);
    }
    return st;
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
    alm_status st = ALM_NEWN(cx, &arena, ALM_BATCH_ROWS, &rows);
    if (st == ALM_OK)
        st = ALM_NEWN(cx, &arena, ALM_BATCH_ROWS, &index);
    if (st == ALM_OK)
        st = ALM_NEWN(cx, &arena, sink->n_set + 1, &piece);
    for (uint32_t i = 0; st == ALM_OK && i < batch->rows;) {
        const int64_t first = at[position->is_const ? 0 : i];
        alm_span span = alm_scan_span_at(sink->scan, sink->span);
        while (first >= sink->span_start + span.rows) {
            sink->span_start += span.rows;
            span = alm_scan_span_at(sink->scan, ++sink->span);
        }
        uint32_t n = 0;
        for (; i < batch->rows; i++, n++) {
            const int64_t row = at[position->is_const ? 0 : i] - sink->span_start;
            if (row >= span.rows)
                break;
            rows[n] = row;
            index[n] = i;
        }
        for (uint32_t k = 0; st == ALM_OK && k < sink->n_set; k++)
            st = alm_vec_gather(cx, &arena, &batch->cols[k], index, n, &piece[k]);
        if (st == ALM_OK)
            st = alm_update_rows(cx, sink->update, sink->span, rows, n, piece);
    }
    alm_arena_deinit(&arena);
    return st;
}

alm_status alm_run_update_plan(alm_cursor *c, const alm_plan *plan, const alm_table *table,
                               uint32_t n_set, alm_update *update)
{
    alm_ctx *cx = &c->cx;
    alm_scan *scan = NULL;
    alm_snapshot *snapshot = alm_update_snapshot(update);
    ALM_TRY(alm_scan_new(cx, cx->arena, snapshot, table, &(alm_scan_spec){.all = true}, &scan));
    update_sink sink = {.cursor = c, .update = update, .n_set = n_set, .scan = scan};
    return alm_run_plan(c, plan, snapshot, update_batch, &sink);
}

/* Which rows of a dedup table are there is settled by commits: an implicit transaction ends before a change. */
static alm_status settle_dedup(alm_cursor *c, const alm_stmt *stmt)
{
    const alm_table *table = alm_snapshot_find(c->snapshot, stmt->table);
    return table != NULL && table->dedup ? alm_commit_before(c) : ALM_OK;
}

typedef alm_status (*plan_rows_fn)(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                   alm_update_plan **out);

static alm_status update_columns(alm_cursor *c, const alm_stmt *stmt, uint32_t **cols)
{
    alm_ctx *cx = &c->cx;
    const alm_table *table = alm_snapshot_find(c->snapshot, stmt->table);
    if (table == NULL)
        return alm_no_table(cx, c->snapshot, stmt->table, stmt->table_pos);
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
static alm_status update_run(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n,
                             plan_rows_fn plan_rows, const uint32_t *cols, alm_update *update)
{
    alm_ctx *cx = &c->cx;
    alm_plan_env env;
    alm_update_plan *up = NULL;
    alm_plan_env_init(&env, c, params, n);
    env.snapshot = alm_update_snapshot(update);
    ALM_TRY(plan_rows(cx, &env, stmt, &up));
    for (uint32_t i = 0; i < up->n_set; i++)
        if (up->set_cols[i] != cols[i])
            return alm_fail(cx, ALM_E_STALE, -1, "columns of table '%s' were changed",
                            up->table->name);
    ALM_TRY(alm_returning_begin(c, stmt, up->plan, up->n_set + 1));
    return alm_run_update_plan(c, up->plan, up->table, up->n_set, update);
}

static alm_status update_once(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &c->cx;
    uint32_t *cols = NULL;
    alm_update *update = NULL;
    alm_txn *txn = NULL;
    /* plan once against the plain snapshot: bad statements fail before writers are kept out */
    alm_plan_env env;
    alm_update_plan *up = NULL;
    alm_plan_env_init(&env, c, params, n);
    ALM_TRY(alm_plan_update(cx, &env, stmt, &up));
    ALM_TRY(update_columns(c, stmt, &cols));
    ALM_TRY(block_txn(c, &txn));
    ALM_TRY(alm_update_begin(cx, c->session->db->storage, txn, stmt->table, cols, stmt->n_set,
                             &update));
    const alm_status st = update_run(c, stmt, params, n, alm_plan_update, cols, update);
    if (st != ALM_OK) {
        alm_update_rollback(update);
        return st;
    }
    return alm_update_commit(cx, update, &c->affected);
}

alm_status alm_run_update(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    ALM_TRY(settle_dedup(c, stmt));
    alm_status st = update_once(c, stmt, params, n);
    for (int tries = 1; try_again(c, st, tries); tries++) {
        alm_error_clear(&c->cx);
        ALM_TRY(alm_cursor_look_again(c));
        st = update_once(c, stmt, params, n);
    }
    return st;
}

alm_status alm_run_delete(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &c->cx;
    alm_plan_env env;
    alm_update_plan *up = NULL;
    alm_update *update = NULL;
    alm_txn *txn = NULL;
    ALM_TRY(settle_dedup(c, stmt));
    alm_plan_env_init(&env, c, params, n);
    ALM_TRY(alm_plan_delete(cx, &env, stmt, &up)); /* as for UPDATE */
    ALM_TRY(block_txn(c, &txn));
    ALM_TRY(alm_delete_begin(cx, c->session->db->storage, txn, stmt->table, &update));
    const alm_status st = update_run(c, stmt, params, n, alm_plan_delete, NULL, update);
    if (st != ALM_OK) {
        alm_update_rollback(update);
        return st;
    }
    return alm_update_commit(cx, update, &c->affected);
}

/* ------------------------------------------------------------------ explain */

static alm_status count_batch(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    (void)cx;
    *(int64_t *)arg += batch->rows;
    return ALM_OK;
}

/* Runs the query; `figures` and the lines get what was found of each node. */
static alm_status analyze_plan(alm_cursor *c, const alm_plan *plan, const char **lines,
                               const alm_plan *const *nodes, size_t n, alm_explain_figures *found)
{
    alm_ctx *cx = &c->cx;
    alm_exec *exec = NULL;
    alm_exec_env env = alm_db_exec_env(c->session->db, c->snapshot);
    env.analyze = true;
    int64_t rows = 0;
    alm_audit_plan(c, plan);
    ALM_TRY(alm_exec_open(cx, plan, &env, &exec));
    alm_status st = ALM_OK;
    for (alm_batch *batch = NULL; st == ALM_OK;) {
        st = alm_exec_next(cx, exec, &batch);
        if (st != ALM_OK || batch == NULL)
            break;
        st = count_batch(cx, &rows, batch);
    }
    for (size_t i = 0; st == ALM_OK && i < n; i++) {
        const alm_op_stats *figures = alm_exec_stats(exec, nodes[i]->id);
        if (figures == NULL)
            continue;
        found[i] = (alm_explain_figures){.known = true,
                                         .rows = figures->rows,
                                         .peak_bytes = figures->peak_bytes,
                                         .ms = (double)figures->cpu_ns / 1e6};
        const char *read = "";
        if (nodes[i]->op == ALM_P_SCAN)
            st = alm_arena_printf(cx, cx->arena, &read, " read=%lld", (long long)figures->bytes);
        if (st == ALM_OK)
            st = alm_arena_printf(
                cx, cx->arena, &lines[i], "%s (rows=%lld batches=%lld time=%.3fms memory=%lld%s)",
                lines[i], (long long)figures->rows, (long long)figures->batches,
                (double)figures->cpu_ns / 1e6, (long long)figures->peak_bytes, read);
    }
    alm_exec_close(exec);
    return st;
}

/* The plan of the statement; *out NULL: it has none. sealed: of alm_plan_env. */
static alm_status plan_inner(alm_cursor *c, const alm_stmt *inner, alm_param *params, uint32_t n,
                             bool *sealed, alm_plan **out)
{
    alm_plan_env env;
    alm_checked checked = {0};
    alm_plan_env_init(&env, c, params, n);
    env.sealed = sealed;
    if (alm_stmt_does_any(inner->kind, ALM_S_EXPLAINED))
        ALM_TRY(alm_stmt_check(c, &env, inner, &checked));
    *out = checked.plan;
    return ALM_OK;
}

/*
 * ANALYZE of a plan with views that hide rows from who asks: what runs is the plan with what they read, of which he is told how many
 * rows come out, which he could ask for, and how long that took. Figures of single nodes, memory and batches would count rows that
 * are hidden: a condition that is leakproof runs below the view, and any number of them may be tried.
 */
static alm_status analyze_sealed(alm_cursor *c, const alm_stmt *inner, alm_param *params,
                                 uint32_t n, const char **line, alm_explain_figures *found)
{
    alm_plan *plan = NULL;
    const char *own = "";
    ALM_TRY(plan_inner(c, inner, params, n, NULL, &plan));
    const alm_plan *root = plan;
    const int64_t start = alm_monotonic_ns();
    ALM_TRY(analyze_plan(c, plan, &own, &root, 1, found));
    found->ms = (double)(alm_monotonic_ns() - start) / 1e6;
    found->peak_bytes = -1;
    return alm_arena_printf(&c->cx, c->cx.arena, line, "%s (rows=%lld time=%.3fms)", *line,
                            (long long)found->rows, found->ms);
}

static alm_status give_json(alm_cursor *c, const char *json)
{
    ALM_TRY(alm_cursor_texts(c, "QUERY PLAN", &json, 1));
    c->cols[0].type = alm_type_json();
    return ALM_OK;
}

alm_status alm_run_explain(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &c->cx;
    alm_plan *plan = NULL;
    const char **lines = NULL, *text = NULL;
    const alm_plan **nodes = NULL;
    alm_explain_figures *figures = NULL;
    size_t n_lines = 0;
    bool sealed = false;
    ALM_TRY(plan_inner(c, stmt->inner, params, n, &sealed, &plan));
    if (plan == NULL && stmt->json) {
        ALM_TRY(alm_plan_explain_json(cx, NULL, NULL, NULL, 0, &text));
        return give_json(c, text);
    }
    if (plan == NULL) {
        ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->inner->text, &text));
        return alm_cursor_texts(c, "QUERY PLAN", &text, 1);
    }
    ALM_TRY(alm_plan_explain(cx, plan, &lines, &nodes, &n_lines));
    const bool run = stmt->analyze && stmt->inner->kind == ALM_STMT_SELECT;
    if (run) {
        ALM_TRY(ALM_NEWN(cx, cx->arena, n_lines + 1, &figures));
        ALM_TRY(sealed ? analyze_sealed(c, stmt->inner, params, n, &lines[0], &figures[0])
                       : analyze_plan(c, plan, lines, nodes, n_lines, figures));
    }
    if (!stmt->json)
        return alm_cursor_texts(c, "QUERY PLAN", lines, n_lines);
    ALM_TRY(alm_plan_explain_json(cx, plan, figures, nodes, n_lines, &text));
    return give_json(c, text);
}

alm_status alm_check_insert(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    const alm_table *table = NULL;
    ALM_TRY(alm_plan_insert(&c->cx, env, stmt, &table, &out->plan));
    out->first = table->n_cols;
    return ALM_OK;
}

static void keep_update(const alm_update_plan *update, alm_checked *out)
{
    out->plan = update->plan;
    out->first = update->n_set + 1;
}

alm_status alm_check_update(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    alm_update_plan *update = NULL;
    ALM_TRY(alm_plan_update(&c->cx, env, stmt, &update));
    keep_update(update, out);
    return ALM_OK;
}

alm_status alm_check_delete(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    alm_update_plan *update = NULL;
    ALM_TRY(alm_plan_delete(&c->cx, env, stmt, &update));
    keep_update(update, out);
    return ALM_OK;
}
