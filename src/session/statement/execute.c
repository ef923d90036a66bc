/*
 * execute.c - one execution: context, dispatch by statement kind, rows to the caller.
 *
 * A statement that returns rows is planned and opened here and pulled by alm_cursor_next. One that
 * does not (INSERT, UPDATE, DDL, SET ...) has run when alm_execute returns.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "base/hash.h"
#include "base/look.h"
#include "base/number.h"
#include "session/access/access.h"
#include "session/core/standing.h"
#include "session/statement/plan_texts.h"
#include "session/transfer/copy.h"
#include "storage/spill/spill.h"

typedef alm_status (*run_fn)(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n);

static alm_status run_select_stmt(alm_cursor *c, const alm_stmt *stmt, alm_param *params,
                                  uint32_t n)
{
    (void)stmt;
    return alm_run_prepared(c, params, n);
}

/* A cursor stands between statements: only a connection that says where can have one. */
static alm_status needs_connection(alm_cursor *c, const alm_stmt *stmt)
{
    if (c->session->streams)
        return ALM_OK;
    return alm_fail(&c->cx, ALM_E_UNSUPPORTED, stmt->pos,
                    "%.*s needs a connection by the PostgreSQL protocol", (int)stmt->text.len,
                    stmt->text.ptr);
}

static alm_status run_declare(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    const alm_cursor_words *words = stmt->ext;
    ALM_TRY(needs_connection(c, stmt));
    if (!words->hold && !alm_in_transaction(c->session))
        return alm_fail(&c->cx, ALM_E_NO_BLOCK, stmt->pos,
                        "DECLARE CURSOR can only be used in transaction blocks, or WITH HOLD");
    c->tag = "SELECT"; /* of the rows; DECLARE itself has none */
    return alm_run_select(c, stmt->select, params, n);
}

/* The rows are those of the cursor, which the protocol has. */
static alm_status run_fetch(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    const alm_cursor_words *words = stmt->ext;
    (void)params;
    (void)n;
    if (words->move)
        c->tag = "MOVE";
    return needs_connection(c, stmt);
}

static alm_status run_cancel(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    int64_t number = 0;
    (void)params;
    (void)n;
    if (alm_int64_parse(stmt->value, &number) != ALM_NUM_OK)
        return alm_fail(&c->cx, ALM_E_SYNTAX, stmt->what_pos, "number of a query expected");
    switch (alm_activity_cancel(c->session, number, false)) {
    case ALM_CANCEL_DONE:
        return ALM_OK;
    case ALM_CANCEL_DENIED:
        if (c->rights != NULL)
            return alm_access_denied(c, stmt->what_pos, "SQL ENGINE ADMIN");
        return alm_fail(&c->cx, ALM_E_DENIED, stmt->what_pos,
                        "Access denied: the query of another user [id=%lld]", (long long)number);
    case ALM_CANCEL_NONE:
        break;
    }
    return alm_fail(&c->cx, ALM_E_ARG, stmt->what_pos,
                    "query to cancel not found in registry [id=%lld]", (long long)number);
}

/* What is prepared stays with the protocol, by its name. */
static alm_status run_prepare(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    return needs_connection(c, stmt);
}

/* The row of its values; what they are for is run by the protocol. */
static alm_status run_execute(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    ALM_TRY(needs_connection(c, stmt));
    return stmt->select != NULL ? alm_run_select(c, stmt->select, params, n) : ALM_OK;
}

static alm_status run_other(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    return alm_fail(&c->cx, ALM_E_UNSUPPORTED, stmt->pos, "%.*s is not supported",
                    (int)stmt->text.len, stmt->text.ptr);
}

/* One row per statement kind: how it runs, its command tag, does it write; does it read rows, so that in a
 * block it sees those of the block. */
static const struct {
    run_fn run;
    const char *tag;
    bool writes, reads;
} kinds[] = {
    [ALM_STMT_EMPTY] = {alm_run_empty, "", false},
    [ALM_STMT_SELECT] = {run_select_stmt, "SELECT", false, true},
    [ALM_STMT_EXPLAIN] = {alm_run_explain, "EXPLAIN", false, true},
    [ALM_STMT_CREATE_TABLE] = {alm_run_create, "CREATE TABLE", true},
    [ALM_STMT_INSERT] = {alm_run_insert, "INSERT", true, true},
    [ALM_STMT_UPDATE] = {alm_run_update, "UPDATE", true, true},
    [ALM_STMT_DELETE] = {alm_run_delete, "DELETE", true, true},
    [ALM_STMT_DROP_TABLE] = {alm_run_drop, "DROP TABLE", true},
    [ALM_STMT_TRUNCATE] = {alm_run_truncate, "TRUNCATE TABLE", true},
    [ALM_STMT_RENAME_TABLE] = {alm_run_rename, "RENAME TABLE", true},
    [ALM_STMT_ALTER_TABLE] = {alm_run_alter, "ALTER TABLE", true},
    [ALM_STMT_CREATE_VIEW] = {alm_run_create_view, "CREATE VIEW", true},
    [ALM_STMT_ALTER_VIEW] = {alm_run_create_view, "ALTER VIEW", true},
    [ALM_STMT_DROP_VIEW] = {alm_run_drop_view, "DROP VIEW", true},
    [ALM_STMT_ALTER_MATVIEW] = {alm_run_alter_matview, "ALTER MATERIALIZED VIEW", true},
    [ALM_STMT_DROP_MATVIEW] = {alm_run_drop_view, "DROP MATERIALIZED VIEW", true},
    [ALM_STMT_REFRESH] = {alm_run_refresh, "REFRESH MATERIALIZED VIEW", true},
    [ALM_STMT_BACKUP] = {alm_run_backup, "BACKUP", true},
    [ALM_STMT_CHECKPOINT] = {alm_run_checkpoint, "CHECKPOINT", true},
    [ALM_STMT_CREATE_INDEX] = {alm_run_create_index, "CREATE INDEX", true},
    [ALM_STMT_DROP_INDEX] = {alm_run_drop_index, "DROP INDEX", true},
    [ALM_STMT_MAINTAIN] = {alm_run_maintain, "VACUUM", true},
    [ALM_STMT_COMMENT] = {alm_run_comment, "COMMENT", true},
    [ALM_STMT_SHOW] = {alm_run_show, "SHOW", false, true},
    [ALM_STMT_SET] = {alm_run_set, "SET", false},
    [ALM_STMT_SET_TRANSACTION] = {alm_run_set_transaction, "SET", false},
    [ALM_STMT_BEGIN] = {alm_run_transaction, "BEGIN", false},
    [ALM_STMT_COMMIT] = {alm_run_transaction, "COMMIT", false},
    [ALM_STMT_ROLLBACK] = {alm_run_transaction, "ROLLBACK", false},
    [ALM_STMT_SAVEPOINT] = {alm_run_transaction, "SAVEPOINT", false},
    [ALM_STMT_COPY_FROM] = {alm_run_copy_from, "COPY", true},
    [ALM_STMT_COPY_TO] = {alm_run_copy_to, "COPY", false, true},
    [ALM_STMT_DECLARE_CURSOR] = {run_declare, "DECLARE CURSOR", false, true},
    [ALM_STMT_FETCH] = {run_fetch, "FETCH", false},
    [ALM_STMT_CANCEL] = {run_cancel, "CANCEL QUERY", false},
    [ALM_STMT_DROP_SESSION] = {alm_run_drop_session, "DROP SESSION", false},
    [ALM_STMT_PREPARE] = {run_prepare, "PREPARE", false},
    [ALM_STMT_EXECUTE] = {run_execute, "EXECUTE", false},
    [ALM_STMT_ACL] = {alm_run_acl, "", true},
    [ALM_STMT_OTHER] = {run_other, "", false},
};

const char *alm_stmt_tag(const alm_stmt *stmt)
{
    return kinds[stmt->kind].tag;
}

int64_t alm_session_timeout_ms(const alm_session *s)
{
    const int64_t configured = s->db->conf != NULL ? s->db->conf->query_timeout : 60000;
    const int64_t server = s->timeout_max_ms > 0 ? s->timeout_max_ms : configured;
    if (s->timeout_ms <= 0)
        return server;
    return server > 0 ? ALM_MIN(server, s->timeout_ms) : s->timeout_ms;
}

void alm_cursor_context(alm_cursor *c)
{
    alm_session *s = c->session;
    c->mem = (alm_mem){.limit_bytes = s->db->query_mem_bytes,
                       .parent = alm_session_memory(s),
                       .name = "query",
                       .setting = "query.memory.max"};
    alm_arena_init(&c->arena, &c->mem);
    c->cx = (alm_ctx){.arena = &c->arena,
                      .mem = &c->mem,
                      .lasting = alm_session_memory(s),
                      .files = alm_session_files(s),
                      .symbols = alm_session_symbols(s),
                      .conf = s->db->conf,
                      .io = s->db->io,
                      .zones = s->db->zones,
                      .cancel = &s->cancel,
                      .yield_ns = &c->yield_ns,
                      .user = s->user,
                      .session = s,
                      .may_wait = s->brief_ns == 0};
    c->cx.started_ns = alm_monotonic_ns();
    c->cx.now_ns = s->db->io->wall_ns(s->db->io);
    c->map_faults = s->db->io->map_faults(s->db->io);
    c->cx.timeout_ms = alm_session_timeout_ms(s);
    c->cx.deadline_ns = c->cx.timeout_ms > 0 ? c->cx.started_ns + c->cx.timeout_ms * 1000000 : 0;
    c->cx.seed = alm_hash_u128(s->seed, c->statement);
    alm_cursor_lookup(c);
}

void alm_cursor_begin(alm_cursor *c)
{
    alm_session *s = c->session;
    atomic_store(&s->cancel, atomic_load(&s->db->stopping) || atomic_load(&s->gone));
    c->statement = atomic_fetch_add(&s->db->next_statement, 1) + 1;
    s->last_statement = c->statement;
    atomic_store(&s->statement, c->statement);
    alm_cursor_context(c);
}

void alm_plan_env_init(alm_plan_env *env, alm_cursor *c, alm_param *params, uint32_t n_params)
{
    *env = (alm_plan_env){.snapshot = c->snapshot,
                          .registry = c->session->db->registry,
                          .sources = alm_session_sources(),
                          .texts = alm_plan_texts,
                          .params = params,
                          .n_params = n_params,
                          .opt_off = c->cx.conf != NULL ? c->cx.conf->debug_optimiser_off : NULL};
}

static alm_status check_state(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    const bool writes = kinds[stmt->kind].writes;
    ALM_TRY(alm_session_goes_on(&c->cx, s));
    if (s->reads_only != NULL &&
        (writes || !kinds[stmt->kind].reads || stmt->kind == ALM_STMT_COPY_TO))
        return alm_fail(&c->cx, ALM_E_DENIED, stmt->pos, "%s", s->reads_only);
    if (s->read_only && writes)
        return alm_fail(&c->cx, s->interface_read_only ? ALM_E_READONLY : ALM_E_DENIED, stmt->pos,
                        "Write permission denied");
    if (s->tx_state == 'E' && stmt->kind != ALM_STMT_COMMIT && stmt->kind != ALM_STMT_ROLLBACK &&
        stmt->kind != ALM_STMT_SAVEPOINT && stmt->kind != ALM_STMT_EMPTY)
        return alm_fail(&c->cx, ALM_E_ABORTED, stmt->pos,
                        "current transaction is aborted, commands ignored until end of "
                        "transaction block");
    if (writes && alm_session_refuses_writes(s))
        return alm_fail(&c->cx, ALM_E_READONLY, stmt->pos,
                        "cannot execute %s in a read-only transaction", kinds[stmt->kind].tag);
    s->tx_looked |= writes || kinds[stmt->kind].reads;
    return ALM_OK;
}

static alm_status take_params(alm_ctx *cx, const alm_stmt *stmt, const alm_vec *values, uint32_t n,
                              alm_param **out)
{
    alm_param *params = NULL;
    if (n < stmt->n_params)
        return alm_fail(cx, ALM_E_PARAM, stmt->pos,
                        "the statement has %u parameters, %u values were given", stmt->n_params, n);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &params));
    for (uint32_t i = 0; i < n; i++) {
        static const uint32_t first = 0;
        alm_vec *copy = NULL;
        ALM_TRY(ALM_NEW(cx, cx->arena, &copy));
        ALM_TRY(alm_vec_gather(cx, cx->arena, &values[i], &first, 1, copy));
        copy->is_const = true;
        if (alm_type_is_text(copy->type)) { /* long texts point into the caller's memory: copy */
            alm_view *view = copy->data;
            const alm_str text = alm_vec_text(copy, 0);
            alm_str kept;
            if (text.ptr != NULL) {
                ALM_TRY(alm_arena_copy(cx, cx->arena, text, &kept));
                *view = alm_view_of(kept);
            }
        }
        params[i] = (alm_param){.type = values[i].type, .value = copy};
    }
    *out = params;
    return ALM_OK;
}

void alm_cursor_ages(alm_cursor *c)
{
    const struct alm_conf *conf = c->session->db->conf;
    c->cx.snapshot_age_ms = conf != NULL ? conf->storage_snapshot_age_max : 0;
    c->cx.snapshot_until_ns =
        c->cx.snapshot_age_ms > 0 ? alm_monotonic_ns() + c->cx.snapshot_age_ms * 1000000 : 0;
}

alm_status alm_cursor_keeps_table(alm_cursor *c, const alm_table **table)
{
    alm_snapshot *narrow = NULL;
    ALM_TRY(alm_snapshot_narrow(&c->cx, c->snapshot, *table, &narrow));
    if (*table != NULL) {
        *table = alm_snapshot_find(narrow, alm_str_of((*table)->name));
        ALM_ASSERT(*table != NULL);
    }
    alm_snapshot_release(c->snapshot);
    c->snapshot = narrow;
    c->cx.snapshot_until_ns = 0;
    return ALM_OK;
}

bool alm_cursor_is_aged(const alm_cursor *c, alm_error *err)
{
    if (c->snapshot == NULL || c->cx.snapshot_until_ns == 0 ||
        alm_monotonic_ns() < c->cx.snapshot_until_ns)
        return false;
    alm_ctx cx = {.snapshot_age_ms = c->cx.snapshot_age_ms};
    (void)alm_fail_age(&cx);
    *err = cx.err;
    return true;
}

/* In a block that has written: with what it wrote. VALUES read no rows, and a block may insert many. */
static alm_status look(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    const bool values = stmt->kind == ALM_STMT_INSERT && stmt->select == NULL;
    alm_cursor_ages(c);
    if (s->txn != NULL && kinds[stmt->kind].reads && !values) {
        const int64_t bytes = alm_txn_snapshot_bytes(s->txn);
        ALM_ASSERT(c->snapshot_bytes == 0);
        ALM_TRY(alm_mem_charge(&c->cx, &c->mem, bytes, "transaction"));
        c->snapshot_bytes = bytes;
        return alm_txn_snapshot(&c->cx, s->txn, &c->snapshot);
    }
    return alm_snapshot_acquire(&c->cx, s->db->storage, &c->snapshot);
}

/* Rows that were read since the statement began may be zeros in the place of bytes that were gone. */
static alm_status check_maps(alm_cursor *c)
{
    const alm_io *io = c->session->db->io;
    if (io->map_faults(io) == c->map_faults)
        return ALM_OK;
    return alm_fail(
        &c->cx, ALM_E_IO, -1,
        "a file of the database could not be read: the disk failed, or the file was cut");
}

/* Of an administrator: what frees space, or keeps who took it from going on. */
static bool ends_a_full_disk(const alm_stmt *stmt)
{
    const alm_alter *alter = stmt->kind == ALM_STMT_ALTER_TABLE ? stmt->ext : NULL;
    switch ((int)stmt->kind) {
    case ALM_STMT_DROP_TABLE:
    case ALM_STMT_DROP_VIEW:
    case ALM_STMT_DROP_MATVIEW:
    case ALM_STMT_TRUNCATE:
    case ALM_STMT_ACL:
        return true;
    case ALM_STMT_ALTER_TABLE:
        return alter->kind == ALM_ALTER_DROP_PARTITION || alter->kind == ALM_ALTER_DROP_COLUMN;
    default:
        return false;
    }
}

static alm_status run(alm_cursor *c, const alm_stmt *stmt, const alm_vec *values, uint32_t n)
{
    alm_param *params = NULL;
    ALM_TRY(check_state(c, stmt));
    ALM_TRY(take_params(&c->cx, stmt, values, n, &params));
    ALM_TRY(look(c, stmt));
    ALM_TRY(alm_cursor_access(c));
    c->cx.frees = (c->rights == NULL || c->rights->all) && ends_a_full_disk(stmt);
    const bool to_file = c->session->copies || c->session->exports;
    if (kinds[stmt->kind].writes || stmt->kind == ALM_STMT_COPY_TO || to_file)
        (void)alm_rewrite_begin(&c->cx, c->session->db->storage);
    ALM_TRY(kinds[stmt->kind].run(c, stmt, params, n));
    /* A change by itself was looked at before it was logged. */
    if (c->cx.rewrite != 0 && (c->session->txn != NULL || !kinds[stmt->kind].writes))
        ALM_TRY(check_maps(c));
    const struct alm_conf *conf = c->session->db->conf;
    if (conf != NULL && (conf->audit_ddl || conf->audit_export))
        alm_audit_statement(c, stmt);
    return alm_views_settle(c, stmt->kind);
}

/* For /metrics. Statements that the server makes itself (refreshes ...) are not executed here. */
static void count_start(alm_cursor *c, alm_prepared *p)
{
    alm_db_counters *counters = &c->session->db->counters;
    const uint8_t by = c->session->by;
    c->counted = true;
    if (p->yielded)
        return; /* it was counted when it began */
    alm_count(&counters->by[by].started, 1);
    if (p->stmt->kind == ALM_STMT_SELECT)
        alm_count(p->ran || p->origin != NULL ? &counters->by[by].parsed_before
                                              : &counters->by[by].parsed,
                  1);
    p->ran = true;
}

static void count_end(const alm_cursor *c)
{
    alm_db_counters *counters = &c->session->db->counters;
    if (!c->counted)
        return;
    alm_count(&counters->by[c->session->by].completed, !c->failed);
    alm_times_add(&counters->statements, c->compile_ns + c->execute_ns);
}

/* It has rows to come: others may end it while it stands still. */
static void stands_open(alm_cursor *c)
{
    c->open_next = c->session->open;
    c->session->open = c;
    c->is_open = true;
}

int64_t alm_cursor_plan_limit(const alm_cursor *c)
{
    const bool planned = c->prepared->stmt->kind == ALM_STMT_SELECT && !c->options.count_all;
    return planned ? c->options.last_rows : 0;
}

static void start_over(alm_cursor *c);
static void restart_time_limit(alm_cursor *c);

/* Rows that the cursor has made already, as those of RETURNING and SHOW; -1: it makes them as they are asked for. */
static int64_t rows_made(const alm_cursor *c)
{
    if (c->returns)
        return alm_returning_rows(c);
    return c->ready != NULL ? (int64_t)(c->ready->rows - c->ready_row) : -1;
}

/*
 * Leaves out the rows before the last options.last_rows, where the plan does not. Rows that are not made yet are counted by
 * running the plan to its end; it then starts over in the same snapshot, with the time limit of a new execution.
 */
static alm_status skip_to_last(alm_cursor *c)
{
    if (c->options.last_rows == 0 || !c->has_rows || alm_cursor_plan_limit(c) > 0)
        return ALM_OK;
    int64_t rows = rows_made(c);
    if (rows < 0) {
        alm_batch *batch = NULL;
        do
            ALM_TRY(alm_cursor_next(c, &batch));
        while (batch != NULL);
        rows = c->rows_given;
        c->rows_given = 0;
        start_over(c);
        restart_time_limit(c);
    }
    c->rows_before = ALM_MAX(rows - c->options.last_rows, (int64_t)0);
    c->rows_to_pass = c->rows_before;
    return ALM_OK;
}

alm_status alm_execute(alm_session *s, alm_prepared *p, const alm_vec *values, uint32_t n_values,
                       alm_cursor **out)
{
    static const alm_execute_options all = {0};
    return alm_execute_with(s, p, values, n_values, &all, out);
}

alm_status alm_execute_with(alm_session *s, alm_prepared *p, const alm_vec *values,
                            uint32_t n_values, const alm_execute_options *options, alm_cursor **out)
{
    ALM_ASSERT(options->last_rows >= 0);
    alm_cursor *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        s->err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return ALM_E_MEMORY;
    }
    c->session = s;
    c->prepared = p;
    c->options = *options;
    c->affected = -1;
    c->ts_col = -1;
    c->tag = kinds[p->stmt->kind].tag;
    alm_cursor_begin(c);
    alm_statement_hold(c);
    alm_activity_begin(s, p->text, c->cx.now_ns / 1000);
    c->compile_ns = p->parse_ns;
    count_start(c, p);
    if (p->stmt->kind == ALM_STMT_SELECT)
        atomic_store_explicit(&c->yield_ns, s->brief_ns, memory_order_relaxed);
    alm_look_begin();
    const alm_status st = run(c, p->stmt, values, n_values);
    alm_statement_looked(p->text);
    atomic_store_explicit(&c->yield_ns, 0, memory_order_relaxed);
    c->execute_ns = alm_monotonic_ns() - c->cx.started_ns - (c->compile_ns - p->parse_ns);
    p->yielded = st == ALM_E_YIELD;
    if (p->yielded) {
        c->counted = false;
        alm_cursor_close(c);
        return st;
    }
    if (st != ALM_OK) {
        const alm_status code = alm_session_failed(s, &c->cx);
        c->failed = true;
        alm_cursor_close(c);
        return code;
    }
    if (!c->has_rows && c->copy_in == NULL)
        alm_cursor_ended(c);
    else
        stands_open(c);
    const alm_status skipped = skip_to_last(c);
    if (skipped != ALM_OK)
        alm_cursor_close(c);
    else
        *out = c;
    return skipped;
}

alm_status alm_run_empty(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)c;
    (void)stmt;
    (void)params;
    (void)n;
    return ALM_OK;
}

/* ------------------------------------------------------------------ cursors */

alm_status alm_cursor_texts(alm_cursor *c, const char *column, const char *const *texts, size_t n)
{
    alm_ctx *cx = &c->cx;
    ALM_TRY(ALM_NEW(cx, cx->arena, &c->cols));
    ALM_TRY(ALM_NEW(cx, cx->arena, &c->ready));
    ALM_TRY(ALM_NEW(cx, cx->arena, &c->ready->cols));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(column), &c->cols[0].name));
    c->cols[0].type = ALM_TY(STRING);
    c->n_cols = 1;
    c->has_rows = true;
    ALM_TRY(alm_vec_new(cx, cx->arena, ALM_TY(STRING), n, &c->ready->cols[0]));
    alm_view *views = c->ready->cols[0].data;
    for (size_t i = 0; i < n; i++)
        views[i] = alm_view_of(alm_str_of(texts[i]));
    c->ready->n_cols = 1;
    c->ready->rows = (uint32_t)n;
    return ALM_OK;
}

static alm_status next_ready(alm_cursor *c, alm_batch **out)
{
    const uint32_t left = c->ready->rows - c->ready_row;
    if (left == 0) {
        *out = NULL;
        return ALM_OK;
    }
    alm_batch *piece = NULL;
    ALM_TRY(ALM_NEW(&c->cx, &c->arena, &piece));
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, c->ready->n_cols, &piece->cols));
    for (uint32_t i = 0; i < c->ready->n_cols; i++) {
        piece->cols[i] = c->ready->cols[i];
        piece->cols[i].data =
            (char *)c->ready->cols[i].data + c->ready_row * c->ready->cols[i].width;
    }
    piece->n_cols = c->ready->n_cols;
    piece->rows = ALM_MIN(left, (uint32_t)ALM_BATCH_ROWS);
    c->ready_row += piece->rows;
    *out = piece;
    return ALM_OK;
}

/* The rows of a batch behind the first n; its vectors belong to the operators until the next call. */
static alm_status behind(alm_cursor *c, const alm_batch *batch, uint32_t n, alm_batch **out)
{
    alm_batch *rest = NULL;
    ALM_TRY(ALM_NEW(&c->cx, &c->arena, &rest));
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, batch->n_cols + 1, &rest->cols));
    for (uint32_t i = 0; i < batch->n_cols; i++) {
        rest->cols[i] = batch->cols[i];
        if (!batch->cols[i].is_const)
            rest->cols[i].data = (char *)batch->cols[i].data + (size_t)n * batch->cols[i].width;
    }
    rest->n_cols = batch->n_cols;
    rest->rows = batch->rows - n;
    *out = rest;
    return ALM_OK;
}

static alm_status next_of_plan(alm_cursor *c, alm_batch **out)
{
    if (c->exec == NULL)
        ALM_TRY(alm_cursor_open_plan(c));
    return alm_exec_next(&c->cx, c->exec, out);
}

/* What it has made is for nothing. */
static void start_over(alm_cursor *c)
{
    alm_error_clear(&c->cx);
    if (c->exec != NULL)
        alm_exec_close(c->exec);
    c->exec = NULL;
    c->yielded = true;
    c->rows_to_pass = c->rows_before + c->rows_given;
}

static alm_status next_brief(alm_cursor *c, alm_batch **out)
{
    const int64_t until_ns = c->yielded || c->plan->effects ? 0 : c->session->brief_ns;
    atomic_store_explicit(&c->yield_ns, until_ns, memory_order_relaxed);
    const alm_status st = next_of_plan(c, out);
    atomic_store_explicit(&c->yield_ns, 0, memory_order_relaxed);
    ALM_ASSERT(st != ALM_E_YIELD || until_ns != 0);
    return st;
}

static alm_status next_of_any(alm_cursor *c, alm_batch **out)
{
    if (!c->returns)
        return c->ready != NULL ? next_ready(c, out) : next_brief(c, out);
    alm_returning_next(c, out);
    return ALM_OK;
}

/* The next batch without the rows that are to be skipped. A plan gives the same rows in the same order each time in one
 * snapshot, so a cursor that yielded skips as many rows as it has given. */
static alm_status next_batch(alm_cursor *c, alm_batch **out)
{
    ALM_TRY(next_of_any(c, out));
    while (*out != NULL && c->rows_to_pass > 0 && c->rows_to_pass >= (*out)->rows) {
        c->rows_to_pass -= (*out)->rows;
        ALM_TRY(next_of_any(c, out));
    }
    if (*out == NULL || c->rows_to_pass == 0)
        return ALM_OK;
    const uint32_t n = (uint32_t)c->rows_to_pass;
    c->rows_to_pass = 0;
    return behind(c, *out, n, out);
}

/* Its client may keep a cursor that failed until the end of a block: memory and temporary files go at once. */
static void give_up(alm_cursor *c)
{
    c->failed = true;
    if (c->exec != NULL)
        alm_exec_close(c->exec);
    c->exec = NULL;
}

alm_status alm_cursor_next(alm_cursor *c, alm_batch **out)
{
    *out = NULL;
    if (!c->has_rows)
        return ALM_OK;
    if (c->failed)
        return alm_session_failed(c->session, &c->cx);
    const int64_t start = alm_monotonic_ns();
    c->cx.may_wait = c->session->brief_ns == 0;
    alm_look_begin();
    alm_status st = next_batch(c, out);
    alm_statement_looked(c->prepared != NULL ? c->prepared->text : (alm_str){"", 0});
    if (st == ALM_E_YIELD) {
        *out = NULL;
        start_over(c);
        c->execute_ns += alm_monotonic_ns() - start;
        return st;
    }
    if (st == ALM_OK)
        st = check_maps(c);
    if (st == ALM_OK) /* behind the work: it may have taken long */
        st = alm_cursor_check(c);
    c->execute_ns += alm_monotonic_ns() - start;
    if (st != ALM_OK) {
        *out = NULL;
        give_up(c);
        return alm_session_failed(c->session, &c->cx);
    }
    if (*out != NULL && c->counted)
        alm_count(&c->session->db->counters.by[c->session->by].rows, (*out)->rows);
    c->rows_given += *out != NULL ? (*out)->rows : 0;
    return ALM_OK;
}

alm_status alm_cursor_still(alm_cursor *c)
{
    const alm_status st = alm_cursor_check(c);
    if (st == ALM_OK)
        return ALM_OK;
    c->failed = true;
    return alm_session_failed(c->session, &c->cx);
}

alm_status alm_cursor_goes_on(alm_cursor *c)
{
    if (alm_check(&c->cx) == ALM_OK)
        return alm_cursor_still(c);
    c->failed = true;
    return alm_session_failed(c->session, &c->cx);
}

alm_mem *alm_cursor_memory(alm_cursor *c)
{
    return &c->mem;
}

void alm_cursor_ended(alm_cursor *c)
{
    alm_session *s = c->session;
    uint64_t mine = c->statement;
    alm_cursor **at = &s->open;
    while (c->is_open && *at != c)
        at = &(*at)->open_next;
    if (c->is_open)
        *at = c->open_next;
    c->is_open = false;
    /* what the session is known by from here on: a cursor that stands still, if there is one */
    (void)atomic_compare_exchange_strong(&s->statement, &mine,
                                         s->open != NULL ? s->open->statement : 0);
}

void alm_cursor_over(alm_cursor *c)
{
    alm_cursor_ended(c);
    alm_cursor_access_over(c);
    alm_mem_release(&c->mem, c->snapshot_bytes);
    c->snapshot_bytes = 0;
    alm_arena_deinit(&c->arena);
}

void alm_cursor_close(alm_cursor *c)
{
    if (c == NULL)
        return;
    count_end(c);
    alm_copy_in_free(c);
    alm_pq_writer_free(c->parquet);
    if (c->exec != NULL)
        alm_exec_close(c->exec);
    alm_kept_plan_release(c->kept);
    if (c->snapshot != NULL)
        alm_snapshot_release(c->snapshot);
    alm_cursor_over(c);
    alm_statement_release(c);
    free(c);
}

void alm_cursor_waited(alm_cursor *c, int64_t ns)
{
    if (c->cx.deadline_ns > 0)
        c->cx.deadline_ns += ns;
}

static void restart_time_limit(alm_cursor *c)
{
    if (c->cx.timeout_ms > 0)
        c->cx.deadline_ns = alm_monotonic_ns() + c->cx.timeout_ms * 1000000;
}

void alm_cursor_resume(alm_cursor *c)
{
    alm_session *s = c->session;
    /* a cancel that came while it stood still was for it */
    if (atomic_load(&s->statement) != c->statement)
        atomic_store(&s->cancel, atomic_load(&s->db->stopping) || atomic_load(&s->gone));
    atomic_store(&s->statement, c->statement);
    restart_time_limit(c);
}

bool alm_cursor_has_rows(const alm_cursor *c)
{
    return c->has_rows;
}
int32_t alm_cursor_ts_col(const alm_cursor *c)
{
    return c->ts_col;
}
uint64_t alm_cursor_statement(const alm_cursor *c)
{
    return c->statement;
}
int64_t alm_cursor_affected(const alm_cursor *c)
{
    return c->affected;
}
int64_t alm_cursor_rows_before(const alm_cursor *c)
{
    return c->rows_before;
}
const char *alm_cursor_tag(const alm_cursor *c)
{
    return c->tag;
}
const alm_notice *alm_cursor_notice(const alm_cursor *c)
{
    return c->notices;
}

void alm_cursor_note(alm_cursor *c, bool warning, const char *sqlstate, const char *format, ...)
{
    enum { TEXT_BYTES = 512 };
    char *text = NULL;
    alm_notice *notice = NULL;
    va_list args;
    va_start(args, format);
    if (alm_arena_bytes(&c->cx, &c->arena, TEXT_BYTES, &text) == ALM_OK &&
        ALM_NEW(&c->cx, &c->arena, &notice) == ALM_OK) {
        (void)vsnprintf(text, TEXT_BYTES, format, args);
        *notice = (alm_notice){.warning = warning, .sqlstate = sqlstate, .text = text};
        if (c->last_notice != NULL)
            c->last_notice->next = notice;
        else
            c->notices = notice;
        c->last_notice = notice;
    } else {
        alm_error_clear(&c->cx); /* what it says is not worth a failure */
    }
    va_end(args);
}

const alm_plan_col *alm_cursor_cols(const alm_cursor *c, uint32_t *n)
{
    *n = c->n_cols;
    return c->cols;
}

void alm_cursor_times(const alm_cursor *c, int64_t *compile_ns, int64_t *execute_ns)
{
    *compile_ns = c->compile_ns;
    *execute_ns = c->execute_ns;
}

/*
 * Rows below which a query takes less than about a millisecond: scans, filters and aggregates spend
 * about a nanosecond on a row and column; whatever else there is (sorts, joins, windows) up to ten
 * times that. A long result leaves this thread after its first piece.
 */
static const double SHORT_ROWS = 200000, OTHER_WEIGHT = 10, EARLY_WEIGHT = 0.2;
static const double FEW_ROWS = 1000; /* of what cannot yield: it has an effect */
enum { EARLY_FILTERS_MAX = 2 };

static bool is_plain(alm_plan_op op)
{
    return op == ALM_P_SCAN || op == ALM_P_FILTER || op == ALM_P_PROJECT || op == ALM_P_LIMIT ||
           op == ALM_P_GROUP || op == ALM_P_SAMPLE;
}

/* A number, a time or a symbol beside a constant. */
static bool compares(const alm_expr *e)
{
    static const char *const names[] = {"=", "!=", "<", "<=", ">", ">="};
    if (e->kind != ALM_X_CALL || e->n_args != 2 || e->args[0]->kind != ALM_X_COL ||
        e->args[1]->kind != ALM_X_CONST)
        return false;
    const alm_type type = e->args[0]->type;
    if (type.id != ALM_T_SYMBOL && (alm_type_is_text(type) || alm_type_width(type) > 8))
        return false;
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (strcmp(e->fn->name, names[i]) == 0)
            return true;
    return false;
}

/* A scan that ends with the first few rows that are found. It may find none and read all: with such conditions that
 * takes a third of a nanosecond a row. */
static bool ends_early(const alm_plan *limit)
{
    const alm_plan *plan = limit->child[0];
    if (limit->limit.lo < 0 || limit->limit.hi < 0 || limit->limit.hi > ALM_BATCH_ROWS)
        return false;
    while (plan->op == ALM_P_PROJECT)
        plan = plan->child[0];
    if (plan->op != ALM_P_SCAN || plan->scan.n_filters > EARLY_FILTERS_MAX)
        return false;
    for (uint32_t i = 0; i < plan->scan.n_filters; i++)
        if (!compares(plan->scan.filter[i]))
            return false;
    return true;
}

static double weighted_rows(const alm_plan *plan, double weight)
{
    if (plan->op == ALM_P_LIMIT && ends_early(plan))
        weight *= EARLY_WEIGHT;
    /* the last row of each symbol is kept by the parts: nothing is scanned */
    if (plan->op == ALM_P_LATEST && plan->child[0]->op == ALM_P_SCAN &&
        plan->child[0]->scan.n_filters == 0 && plan->latest.n_keys == 1 &&
        plan->latest.keys[0]->type.id == ALM_T_SYMBOL)
        return plan->est_rows * OTHER_WEIGHT;
    if (!is_plain(plan->op))
        weight = OTHER_WEIGHT;
    double rows = plan->n_children == 0 ? plan->est_rows * weight : 0;
    for (uint32_t i = 0; i < plan->n_children; i++)
        rows += weighted_rows(plan->child[i], weight);
    return rows;
}

/* What a walk of the plan has found; its steps are bounded, as what is shared is met once for each use. */
typedef struct reckoning {
    double
        pairs; /* of rows that joins may have to look at; infinite: nobody knows how much there is to do */
    uint32_t steps;
} reckoning;

enum { RECKONING_STEPS_MAX = 1000 };

static double most_rows(reckoning *r, const alm_plan *plan);

static double most_of_join(reckoning *r, const alm_plan *plan)
{
    const double a = most_rows(r, plan->child[0]), b = most_rows(r, plan->child[1]);
    const uint8_t kind = plan->join.kind;
    if (kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT || kind == ALM_JOIN_SPLICE)
        return a + b;
    const bool half = kind == 'S' || kind == 'A';
    if (!half || plan->join.n_keys == 0 || plan->join.n_residual > 0)
        r->pairs += a * b; /* keys may all be the same */
    return half ? a : ALM_MAX(a * b, a + b);
}

static double most_of_children(reckoning *r, const alm_plan *plan)
{
    double rows = 0;
    for (uint32_t i = 0; i < plan->n_children; i++)
        rows += most_rows(r, plan->child[i]);
    return plan->n_children > 0 ? rows : plan->est_rows;
}

/* The most rows that a node can make: unlike est_rows, which says what is likely. */
static double most_rows(reckoning *r, const alm_plan *plan)
{
    const alm_plan_op op = plan->op;
    if (r->steps++ > RECKONING_STEPS_MAX || (op == ALM_P_SAMPLE && plan->sample.fill != NULL))
        return r->pairs =
                   INFINITY; /* between two rows are as many buckets as the clock has moments */
    if (op == ALM_P_SHARED)
        return most_rows(r, plan->shared.of->child[0]);
    if (op == ALM_P_JOIN)
        return most_of_join(r, plan);
    if (op == ALM_P_WINDOW_JOIN) {
        const double left = most_rows(r, plan->child[0]);
        r->pairs += left * most_rows(r, plan->child[1]); /* a window may hold all of them */
        return left;
    }
    const double rows = most_of_children(r, plan);
    if (op == ALM_P_HORIZON)
        return rows * plan->horizon.n_offsets;
    if (op == ALM_P_GROUP && plan->group.n_keys == 0)
        return 1;
    if (op == ALM_P_LIMIT && plan->limit.lo >= 0 && plan->limit.hi >= 0)
        return ALM_MIN(rows, (double)plan->limit.hi);
    return rows;
}

/* Rows that are made between others count, as all that a statement reads may be few. */
static bool makes_few(const alm_plan *plan)
{
    reckoning r = {0};
    const double rows = most_rows(&r, plan);
    return rows <= SHORT_ROWS && r.pairs <= SHORT_ROWS;
}

bool alm_cursor_is_short(const alm_cursor *c)
{
    const alm_plan *plan = c->plan;
    if (plan == NULL)
        return true;
    if (c->yielded || plan->waits)
        return false;
    return weighted_rows(plan, 1) <= (plan->effects ? FEW_ROWS : SHORT_ROWS) && makes_few(plan);
}

void alm_session_brief(alm_session *s, bool brief)
{
    enum { BRIEF_MS = 10 };
    s->brief_ns = brief ? alm_monotonic_ns() + BRIEF_MS * INT64_C(1000000) : 0;
}

bool alm_prepared_is_values(const alm_prepared *p)
{
    return p->plain_values;
}

bool alm_prepared_is_small(const alm_prepared *p)
{
    enum { SMALL = 1000 };
    return p->nodes <= SMALL;
}

bool alm_prepared_is_short(alm_session *s, const alm_prepared *p)
{
    const alm_stmt_kind kind = p->stmt->kind;
    if (!alm_prepared_is_small(p))
        return false;
    if (p->plain_values && alm_in_transaction(s))
        return true;
    /* the cursor of a SELECT tells more once it is planned; what writes may wait for the disk; DECLARE and PREPARE plan
     * another statement, however long that takes */
    return kind == ALM_STMT_SELECT || kind == ALM_STMT_SHOW || kind == ALM_STMT_SET ||
           kind == ALM_STMT_SET_TRANSACTION || kind == ALM_STMT_EMPTY || kind == ALM_STMT_BEGIN ||
           kind == ALM_STMT_FETCH;
}
