/*
 * prepared.c - statements: parsed once, kept with their own copy of the text; described on demand.
 *
 * A plan is made anew for each execution, from the parsed tree, with the parameter values at hand:
 * constant folding and time intervals then see them. It, or a template of it, may be kept (plan_cache.h); a
 * statement whose text has a plan there is parsed only if that does not hold any more.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/look.h"
#include "session/access/access.h"
#include "session/statement/statement.h"

static void prepare_context(alm_session *session, alm_prepared *prepared, alm_ctx *cx)
{
    *cx = (alm_ctx){.arena = &prepared->arena,
                    .mem = &prepared->mem,
                    .conf = session->db->conf,
                    .io = session->db->io,
                    .zones = session->db->zones,
                    .user = session->user,
                    .session = session};
    cx->started_ns = alm_monotonic_ns();
    cx->timeout_ms = alm_session_timeout_ms(session);
    cx->deadline_ns = cx->timeout_ms > 0 ? cx->started_ns + cx->timeout_ms * 1000000 : 0;
    cx->now_ns = session->db->io->wall_ns(session->db->io);
}

static alm_status parse_text(alm_ctx *cx, alm_prepared *prepared, alm_str text, size_t *next)
{
    if (next == NULL)
        ALM_TRY(alm_arena_copy(cx, &prepared->arena, text, &prepared->text));
    else
        prepared->text = text;
    size_t offset = next != NULL ? *next : 0;
    ALM_TRY(alm_sql_parse(cx, prepared->text, &offset, &prepared->stmt));
    if (next != NULL) {
        *next = offset;
        return ALM_OK;
    }
    if (prepared->stmt->kind == ALM_STMT_EMPTY)
        return ALM_OK;
    size_t rest = offset;
    alm_stmt *other = NULL;
    ALM_TRY(alm_sql_parse(cx, prepared->text, &rest, &other));
    if (other->kind != ALM_STMT_EMPTY)
        return alm_fail(cx, ALM_E_SYNTAX, other->pos, "only one statement can be run at a time");
    return ALM_OK;
}

static bool prepared_is_plain(const alm_ast *ast)
{
    while (ast->kind == ALM_AST_CAST || ast->kind == ALM_AST_UNARY)
        ast = ast->arg[0];
    switch ((int)ast->kind) {
    case ALM_AST_NULL:
    case ALM_AST_BOOL:
    case ALM_AST_NUMBER:
    case ALM_AST_STRING:
    case ALM_AST_PARAM:
    case ALM_AST_TYPED:
        return true;
    case ALM_AST_CALL: /* now(); what has arguments may be anything */
        return ast->n_args == 0;
    default:
        return false;
    }
}

/* Does the statement insert literals, parameters and the time, nothing that takes time to compute? */
static bool has_plain_values(const alm_stmt *stmt)
{
    if (stmt->kind != ALM_STMT_INSERT || stmt->select != NULL || stmt->returning != NULL)
        return false;
    for (uint32_t row = 0; row < stmt->n_rows; row++)
        for (uint32_t i = 0; i < stmt->row_lens[row]; i++)
            if (!prepared_is_plain(stmt->rows[row][i]))
                return false;
    return true;
}

alm_status alm_prepared_parse(alm_ctx *cx, alm_prepared *prepared)
{
    alm_ctx own;
    alm_stmt *stmt = NULL;
    size_t offset = 0;
    if (prepared->origin == NULL || prepared->stmt != prepared->origin->stmt)
        return ALM_OK;
    prepare_context(prepared->session, prepared, &own);
    const alm_status status = alm_sql_parse(&own, prepared->text, &offset, &stmt);
    if (status == ALM_OK)
        prepared->stmt = stmt;
    else
        cx->err = own.err;
    return status;
}

/* A plan that is kept tells all about its text; does it hold? Execution sees. */
static bool find_kept(alm_session *session, alm_prepared *prepared, alm_str text, size_t *next)
{
    if (session->db->plans.bytes_max == 0 || (next != NULL && *next != 0))
        return false; /* behind other statements its places would be others */
    const alm_plan_key key = {alm_str_of(session->who != NULL ? session->plan_key : session->user),
                              text, 0};
    prepared->origin = alm_plan_cache_find(&session->db->plans, key, &prepared->again);
    prepared->keeps = prepared->origin == NULL || !prepared->origin->hopeless;
    if (prepared->origin == NULL)
        return false;
    if (!prepared->keeps) {
        alm_kept_plan_release(prepared->origin);
        prepared->origin = NULL;
        return false;
    }
    prepared->kept = alm_kept_plan_retain(prepared->origin);
    prepared->stmt = prepared->origin->stmt;
    prepared->text = prepared->origin->key.text;
    if (next != NULL)
        *next = prepared->origin->next;
    return true;
}

/* Texts from this length on can be cancelled while they are parsed. */
enum { LONG_TEXT = 32 << 10 };

/* A statement of that number runs; *before: the one that stands still meanwhile, of a cursor. */
static void parse_begins(alm_session *session, alm_ctx *cx, alm_str text, uint64_t *before)
{
    *before = atomic_load(&session->statement);
    if (*before == 0)
        atomic_store(&session->cancel,
                     atomic_load(&session->db->stopping) || atomic_load(&session->gone));
    alm_activity_begin(session, text, cx->now_ns / 1000);
    session->last_statement = atomic_fetch_add(&session->db->next_statement, 1) + 1;
    atomic_store(&session->statement, session->last_statement);
    cx->cancel = &session->cancel;
}

void alm_statement_looked(alm_str text)
{
    enum { SHOWN = 200 };
    uintptr_t place = 0;
    const int64_t millis = alm_look_end(&place);
    if (millis == 0)
        return;
    alm_arena arena;
    const char *shown = NULL;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    if (alm_sql_masked(&cx, text, &shown) != ALM_OK) /* it may hold a password */
        shown = "?";
    alm_log_warn("look", "%lld ms without a look at the time limit, up to 0x%llx: %.*s",
                 (long long)millis, (unsigned long long)place, SHOWN, shown);
    alm_arena_deinit(&arena);
}

alm_status alm_prepare(alm_session *session, alm_str text, size_t *next, alm_prepared **out)
{
    alm_ctx cx;
    alm_prepared *prepared = calloc(1, sizeof(*prepared));
    if (prepared == NULL) {
        session->err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return ALM_E_MEMORY;
    }
    prepared->session = session;
    prepared->mem = (alm_mem){.limit_bytes = session->db->query_mem_bytes,
                              .parent = alm_session_memory(session),
                              .name = "query",
                              .setting = "query.memory.max"};
    alm_arena_init_small(&prepared->arena, &prepared->mem);
    if (find_kept(session, prepared, text, next)) {
        *out = prepared;
        return ALM_OK;
    }
    prepare_context(session, prepared, &cx);
    alm_status status = ALM_OK;
    alm_look_begin();
    const int64_t limit =
        session->db->conf != NULL ? session->db->conf->sql_text_max : INT64_C(16) << 20;
    if ((int64_t)text.len > limit)
        status = alm_fail(&cx, ALM_E_LIMIT, -1,
                          "statement of %zu bytes is longer than sql.text.max (%lld)", text.len,
                          (long long)limit);
    uint64_t before = 0;
    const bool is_long = status == ALM_OK && text.len > LONG_TEXT;
    if (is_long)
        parse_begins(session, &cx, text, &before);
    if (status == ALM_OK)
        status = parse_text(&cx, prepared, text, next);
    alm_statement_looked(text);
    if (is_long)
        atomic_store(&session->statement, before);
    prepared->nodes = cx.nodes;
    if (status != ALM_OK) {
        session->last_statement = atomic_fetch_add(&session->db->next_statement, 1) + 1;
        status = alm_session_failed(session, &cx);
        alm_prepared_free(prepared);
        return status;
    }
    prepared->plain_values = has_plain_values(prepared->stmt);
    prepared->keeps = prepared->keeps && prepared->stmt->kind == ALM_STMT_SELECT;
    prepared->parse_ns = alm_monotonic_ns() - cx.started_ns;
    *out = prepared;
    return ALM_OK;
}

void alm_prepared_free(alm_prepared *prepared)
{
    if (prepared == NULL)
        return;
    alm_arena_deinit(&prepared->arena);
    alm_kept_plan_release(prepared->kept);
    alm_kept_plan_release(prepared->origin);
    free(prepared);
}

int32_t alm_prepared_param_pos(const alm_prepared *prepared, uint32_t i)
{
    return i < prepared->n_param_pos ? prepared->param_pos[i] : -1;
}

alm_stmt_kind alm_prepared_kind(const alm_prepared *prepared)
{
    return prepared->stmt->kind;
}
const char *alm_prepared_text(const alm_prepared *prepared, size_t *len)
{
    *len = prepared->text.len;
    return prepared->text.ptr;
}

alm_status alm_prepared_shown(alm_ctx *cx, const alm_prepared *prepared, const char **out)
{
    return alm_sql_masked(cx, prepared->text, out);
}

void alm_prepared_words(const alm_prepared *prepared, alm_str *tag, alm_str *rest)
{
    const bool words = prepared->stmt->kind == ALM_STMT_SET;
    *tag = words ? prepared->stmt->text : (alm_str){"", 0};
    *rest = words ? prepared->stmt->value : (alm_str){"", 0};
}

const alm_cursor_words *alm_prepared_cursor(const alm_prepared *prepared)
{
    const bool cursor =
        prepared->stmt->kind == ALM_STMT_DECLARE_CURSOR || prepared->stmt->kind == ALM_STMT_FETCH;
    return cursor ? prepared->stmt->ext : NULL;
}

const alm_prepare_words *alm_prepared_prepare(const alm_prepared *prepared)
{
    return prepared->stmt->kind == ALM_STMT_PREPARE ? prepared->stmt->ext : NULL;
}

const alm_execute_words *alm_prepared_execute(const alm_prepared *prepared)
{
    return prepared->stmt->kind == ALM_STMT_EXECUTE ? prepared->stmt->ext : NULL;
}

alm_status alm_prepare_explain(const alm_prepared *prepared, const alm_execute_words *words,
                               alm_prepared **out)
{
    alm_session *session = prepared->session;
    alm_ctx cx = {0};
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status = alm_buf_printf(&cx, &text, "EXPLAIN (ANALYZE %s, FORMAT %s) %.*s",
                                       words->analyze ? "ON" : "OFF", words->json ? "JSON" : "TEXT",
                                       (int)prepared->text.len, prepared->text.ptr);
    if (status == ALM_OK)
        status = alm_prepare(session, (alm_str){text.ptr, text.len}, NULL, out);
    else
        session->err = cx.err;
    alm_buf_deinit(&text);
    return status;
}

/* Result columns of statements that return rows without being a SELECT. */
static alm_status describe_other(alm_ctx *cx, const alm_stmt *stmt, const alm_plan_col **cols,
                                 uint32_t *n_cols)
{
    const alm_copy *copy = stmt->kind == ALM_STMT_COPY_FROM ? stmt->ext : NULL;
    const bool file = copy != NULL && copy->place != ALM_COPY_AT_STREAM;
    const bool rows = stmt->kind == ALM_STMT_EXPLAIN || stmt->kind == ALM_STMT_SHOW || file;
    *cols = NULL;
    *n_cols = 0;
    if (!rows)
        return ALM_OK;
    alm_plan_col *col = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &col));
    *col =
        (alm_plan_col){.name = "QUERY PLAN", .type = stmt->json ? alm_type_json() : ALM_TY(STRING)};
    if (stmt->kind == ALM_STMT_SHOW)
        ALM_TRY(alm_setting_name(cx, stmt->what, &col->name));
    if (file)
        col->name = copy->place == ALM_COPY_AT_FILE ? "id" : "status";
    *cols = col;
    *n_cols = 1;
    return ALM_OK;
}

static alm_status describe_plan(alm_cursor *cursor, alm_prepared *prepared, alm_param *params,
                                uint32_t n, const alm_plan_col **cols, uint32_t *n_cols)
{
    alm_ctx *cx = &cursor->cx;
    alm_stmt *stmt = prepared->stmt;
    alm_plan_env env;
    *cols = NULL;
    *n_cols = 0;
    ALM_TRY(alm_snapshot_acquire(cx, cursor->session->db->storage, &cursor->snapshot));
    ALM_TRY(alm_cursor_access(cursor));
    alm_plan_env_init(&env, cursor, params, n);
    alm_plan *plan = NULL;
    if (stmt->kind == ALM_STMT_SELECT) {
        if (n == 0 && prepared->kept != NULL &&
            alm_kept_plan_holds(prepared->kept, cursor->snapshot, cx->now_ns)) {
            *cols = prepared->kept->plan->cols;
            *n_cols = prepared->kept->plan->n_cols;
            return ALM_OK;
        }
        ALM_TRY(alm_prepared_parse(cx, prepared));
        stmt = prepared->stmt;
        ALM_TRY(alm_plan_select(cx, &env, stmt->select, &plan));
        *cols = plan->cols;
        *n_cols = plan->n_cols;
        return ALM_OK;
    }
    const bool show = stmt->kind == ALM_STMT_SHOW;
    alm_checked found = {0};
    if (show || (alm_stmt_does_any(stmt->kind, ALM_S_TYPED) && (n > 0 || stmt->returning != NULL)))
        ALM_TRY(alm_stmt_check(cursor, &env, stmt, &found));
    if (found.plan != NULL && (show || stmt->returning != NULL)) {
        *cols = found.plan->cols + found.first;
        *n_cols = found.plan->n_cols - found.first;
        return ALM_OK;
    }
    if (stmt->kind == ALM_STMT_ACL && ((const alm_acl_words *)stmt->ext)->verb == ALM_ACL_ADD_TOKEN)
        return alm_token_cols(cx, stmt->ext, cols, n_cols);
    return describe_other(cx, stmt, cols, n_cols);
}

/* Results are copied to the prepared statement, which outlives the planning. */
static alm_status keep_description(alm_ctx *cx, alm_prepared *prepared, const alm_param *params,
                                   uint32_t n_params, const alm_plan_col *from, uint32_t n_from,
                                   const alm_type **types, const alm_plan_col **cols)
{
    alm_type *kept = NULL;
    int32_t *pos = NULL;
    alm_plan_col *kept_cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &prepared->arena, n_params + 1, &kept));
    ALM_TRY(ALM_NEWN(cx, &prepared->arena, n_params + 1, &pos));
    for (uint32_t i = 0; i < n_params; i++) {
        kept[i] = params[i].type;
        pos[i] = params[i].pos;
    }
    prepared->param_pos = pos;
    prepared->n_param_pos = n_params;
    ALM_TRY(ALM_NEWN(cx, &prepared->arena, n_from + 1, &kept_cols));
    for (uint32_t i = 0; i < n_from; i++) {
        kept_cols[i] = from[i];
        ALM_TRY(alm_arena_zstr(cx, &prepared->arena, alm_str_of(from[i].name), &kept_cols[i].name));
    }
    *types = kept;
    *cols = kept_cols;
    return ALM_OK;
}

static void describe_over(alm_cursor *cursor)
{
    if (cursor->snapshot != NULL)
        alm_snapshot_release(cursor->snapshot);
    cursor->snapshot = NULL;
    alm_cursor_access_over(cursor);
    alm_arena_deinit(&cursor->arena);
}

/*
 * Clients call every time a timestamp. Where the statement wants nanoseconds the parameter is one of these:
 * a cast would make null of a time beyond their range. Elsewhere, and when the statement cannot be described
 * without what the client says, it is what the client says.
 */
static void find_nanoseconds(alm_session *session, alm_prepared *prepared, alm_param *list,
                             uint32_t n)
{
    alm_cursor cursor = {.session = session, .ts_col = -1};
    alm_param *open = NULL;
    const alm_plan_col *cols = NULL;
    uint32_t n_cols = 0, times = 0;
    alm_cursor_context(&cursor);
    alm_cursor_lookup(&cursor);
    atomic_store_explicit(&cursor.yield_ns, session->brief_ns, memory_order_relaxed);
    alm_status status = ALM_NEWN(&cursor.cx, &cursor.arena, n + 1, &open);
    for (uint32_t i = 0; status == ALM_OK && i < n; i++) {
        const bool time = list[i].type.id == ALM_T_TIMESTAMP;
        open[i].type = time ? ALM_TY(NONE) : list[i].type;
        times += time;
    }
    if (status == ALM_OK && times > 0)
        status = describe_plan(&cursor, prepared, open, n, &cols, &n_cols);
    for (uint32_t i = 0; status == ALM_OK && times > 0 && i < n; i++)
        if (list[i].type.id == ALM_T_TIMESTAMP && open[i].type.id == ALM_T_TIMESTAMP_NS)
            list[i].type = open[i].type;
    describe_over(&cursor);
}

alm_status alm_describe(alm_session *session, alm_prepared *prepared, const alm_type *given,
                        uint32_t n_given, const alm_type **params, uint32_t *n_params,
                        const alm_plan_col **cols, uint32_t *n_cols)
{
    alm_cursor cursor = {.session = session, .ts_col = -1};
    const uint32_t n = ALM_MAX(prepared->stmt->n_params, n_given);
    if (atomic_load(&session->statement) == 0) /* a cancel was for the statement before */
        atomic_store(&session->cancel,
                     atomic_load(&session->db->stopping) || atomic_load(&session->gone));
    alm_cursor_context(&cursor);
    alm_cursor_lookup(&cursor);
    atomic_store_explicit(&cursor.yield_ns, session->brief_ns, memory_order_relaxed);
    alm_param *list = NULL;
    const alm_plan_col *found = NULL;
    uint32_t n_found = 0;
    alm_look_begin();
    alm_status status = ALM_NEWN(&cursor.cx, &cursor.arena, n + 1, &list);
    for (uint32_t i = 0; status == ALM_OK && i < n_given; i++)
        list[i].type = given[i];
    if (status == ALM_OK)
        find_nanoseconds(session, prepared, list, n);
    if (status == ALM_OK)
        status = describe_plan(&cursor, prepared, list, n, &found, &n_found);
    if (status == ALM_OK)
        status = keep_description(&cursor.cx, prepared, list, n, found, n_found, params, cols);
    alm_statement_looked(prepared->text);
    if (status == ALM_OK) {
        *n_params = n;
        *n_cols = n_found;
    } else if (
        session->brief_ns !=
        0) { /* it yields, or is asked for early: whoever needs the answer asks again, and fails */
        session->err = cursor.cx.err;
    } else {
        status = alm_session_failed(session, &cursor.cx);
    }
    describe_over(&cursor);
    return status;
}

int64_t alm_prepared_bytes(const alm_prepared *prepared)
{
    return (int64_t)sizeof(*prepared) + atomic_load(&prepared->mem.used_bytes);
}
