/*
 * pg_extended.c - messages of a logged-in connection: the extended query protocol, and which message
 * goes where.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "net/pgwire/pg_state.h"
#include "session/core/requests.h"
#include "type/pg_oid.h"

void pg_fail_err(pg_conn *conn, const alm_error *err, alm_str sql)
{
    pg_send_error(conn, err, sql, false);
    alm_session_fail_block(conn->session);
    conn->skip = true;
    pg_flush(conn); /* the client may wait for it before it sends its Sync */
}

void pg_fail(pg_conn *conn, alm_status code, const char *text)
{
    alm_error err = {.code = code, .sql_pos = -1};
    if (code == ALM_E_PROTOCOL)
        alm_conn_fault(conn->conn, PG_BROKEN, text);
    (void)snprintf(err.msg, sizeof(err.msg), "%s", text);
    pg_fail_err(conn, &err, (alm_str){0});
}

static void ALM_PRINTF(3, 0)
    fail_name(pg_conn *conn, alm_status code, const char *format, const char *name)
{
    alm_error err = {.code = code, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), format, name);
    pg_fail_err(conn, &err, (alm_str){0});
}

/* ----------------------------------------------------------------- statements */

void pg_statement_release(pg_statement *statement)
{
    if (statement == NULL || --statement->refs > 0)
        return;
    alm_mem_release(statement->account, statement->charged);
    alm_prepared_free(statement->prepared);
    free(statement->text);
    free((char *)(uintptr_t)statement->shown);
    free(statement->oids);
    free(statement->types);
    free(statement->name);
    free(statement);
}

void pg_statement_drop(pg_conn *conn, alm_str name)
{
    pg_statement_release(alm_map_remove(&conn->statements, name));
}

void pg_portal_free(pg_portal *portal)
{
    if (portal == NULL)
        return;
    alm_cursor_close(portal->cursor);
    pg_statement_release(portal->statement);
    pg_statement_release(portal->executes);
    alm_arena_deinit(&portal->arena);
    free(portal->formats);
    free(portal->cells);
    free(portal->name);
    free(portal);
}

alm_str pg_object_name(alm_str words, char out[PG_NAME_BYTES])
{
    size_t count = 0;
    const bool quoted = words.len > 0 && words.ptr[0] == '"';
    for (size_t offset = quoted; offset < words.len && count < PG_NAME_BYTES - 1; offset++) {
        char byte = words.ptr[offset];
        if (quoted && byte == '"' && offset + 1 < words.len && words.ptr[offset + 1] == '"')
            offset++; /* a doubled quote is one */
        else if (quoted && byte == '"')
            break;
        if (!quoted && byte >= 'A' && byte <= 'Z')
            byte = (char)(byte + 32);
        out[count++] = byte;
    }
    out[count] = 0;
    return (alm_str){out, count};
}

static void drop_portal(pg_conn *conn, alm_str name);

typedef enum portal_set { PORTALS_ALL, PORTALS_DONE, PORTALS_KEPT } portal_set;

static bool pg_extended_is_of(const pg_portal *portal, portal_set set)
{
    return set == PORTALS_ALL ||
           (!portal->declared && (set == PORTALS_DONE ? portal->done : portal->kept));
}

/* The portal that runs stays. */
static void drop_portals(pg_conn *conn, portal_set set)
{
    const alm_map_entry *entry = NULL;
    pg_portal *list = NULL; /* the map must not change while it is walked */
    for (size_t offset = 0; (entry = alm_map_next(&conn->portals, &offset)) != NULL;) {
        pg_portal *portal = entry->value;
        if (portal == conn->run.portal || !pg_extended_is_of(portal, set))
            continue;
        portal->next_drop = list;
        list = portal;
    }
    while (list != NULL) {
        pg_portal *next = list->next_drop;
        drop_portal(conn, alm_str_of(list->name));
        list = next;
    }
}

static void drop_all_statements(pg_conn *conn)
{
    const alm_map_entry *entry = NULL;
    for (size_t offset = 0; (entry = alm_map_next(&conn->statements, &offset)) != NULL;)
        pg_statement_release(entry->value);
    alm_map_deinit(&conn->statements);
    alm_map_init(&conn->statements, false);
}

bool pg_drop_named(pg_conn *conn, const alm_prepared *prepared, alm_error *err)
{
    alm_str tag, words;
    char text[PG_NAME_BYTES];
    alm_prepared_words(prepared, &tag, &words);
    const alm_str name = pg_object_name(words, text);
    const bool all = alm_str_ieq(words, ALM_STR("all")); /* without quotes */
    const bool discard = alm_str_eq(tag, ALM_STR("DISCARD ALL"));
    if (discard || alm_str_eq(tag, ALM_STR("DEALLOCATE ALL")))
        drop_all_statements(conn);
    if (discard || (all && alm_str_eq(tag, ALM_STR("CLOSE"))))
        drop_portals(conn, PORTALS_ALL);
    if (all || discard)
        return true;
    if (alm_str_eq(tag, ALM_STR("DEALLOCATE"))) {
        if (alm_map_get(&conn->statements, name) == NULL) {
            *err = (alm_error){.code = ALM_E_STATEMENT, .sql_pos = -1};
            (void)snprintf(err->msg, sizeof(err->msg), "prepared statement \"%s\" does not exist",
                           text);
            return false;
        }
        pg_statement_drop(conn, name);
    } else if (alm_str_eq(tag, ALM_STR("CLOSE"))) {
        const pg_portal *portal = alm_map_get(&conn->portals, name);
        if (portal == NULL) {
            *err = (alm_error){.code = ALM_E_PORTAL, .sql_pos = -1};
            (void)snprintf(err->msg, sizeof(err->msg), "cursor \"%s\" does not exist", text);
            return false;
        }
        if (portal != conn->run.portal)
            drop_portal(conn, name);
    }
    return true;
}

static void drop_portal(pg_conn *conn, alm_str name)
{
    pg_portal_free(alm_map_remove(&conn->portals, name));
}

void pg_drop_all(pg_conn *conn)
{
    drop_portals(conn, PORTALS_ALL);
    drop_all_statements(conn);
}

static char *pg_extended_copy_text(alm_str text)
{
    char *copy = malloc(text.len + 1);
    if (copy == NULL)
        return NULL;
    (void)memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

static alm_str statement_text(const pg_statement *statement)
{
    size_t n = 0;
    const char *text = alm_prepared_text(statement->prepared, &n);
    return (alm_str){text, n};
}

bool pg_statement_describe(pg_conn *conn, pg_statement *statement, alm_error *err)
{
    const alm_type *types = NULL;
    uint32_t n_kepts = 0;
    if (statement->described)
        return true;
    if (alm_describe(conn->session, statement->prepared, statement->types, statement->n_params,
                     &types, &n_kepts, &statement->cols, &statement->n_cols) != ALM_OK) {
        *err = *alm_session_error(conn->session);
        return false;
    }
    if (!pg_cols_fit(statement->n_cols, PG_COLS_MAX, err))
        return false;
    alm_type *kept = calloc(n_kepts + 1, sizeof(*kept));
    uint32_t *oids = calloc(n_kepts + 1, sizeof(*oids));
    if (kept == NULL || oids == NULL) {
        free(kept);
        free(oids);
        *err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return false;
    }
    for (uint32_t i = 0; i < n_kepts; i++) {
        kept[i] = types[i];
        oids[i] = i < statement->n_params ? statement->oids[i] : 0;
    }
    free(statement->types);
    free(statement->oids);
    statement->types = kept;
    statement->oids = oids;
    statement->n_params = n_kepts;
    statement->described = true;
    return statement->account == NULL || pg_statement_charge(conn, statement, err);
}

bool pg_statement_charge(pg_conn *conn, pg_statement *statement, alm_error *err)
{
    alm_ctx cx = {0};
    const int64_t more = alm_prepared_bytes(statement->prepared) - statement->charged;
    if (more > 0 && alm_mem_charge(&cx, &conn->prepared, more, "prepared statements") != ALM_OK) {
        *err = cx.err;
        return false;
    }
    statement->account = &conn->prepared;
    statement->charged += ALM_MAX(more, (int64_t)0);
    return true;
}

/* False: the error was sent. */
static bool pg_extended_describe(pg_conn *conn, pg_statement *statement)
{
    alm_error err;
    if (pg_statement_describe(conn, statement, &err))
        return true;
    pg_fail_err(conn, &err, statement_text(statement));
    return false;
}

bool pg_statement_fits(pg_conn *conn, alm_str name, alm_error *err)
{
    *err = (alm_error){.sql_pos = -1};
    if (name.len > 0 && alm_map_get(&conn->statements, name) != NULL) {
        err->code = ALM_E_STATEMENT_EXISTS;
        (void)snprintf(err->msg, sizeof(err->msg), "prepared statement \"%.*s\" already exists",
                       (int)name.len, name.ptr);
    } else if (name.len > 0 && (int64_t)conn->statements.count >=
                                   alm_db_conf(conn->pg->db)->pg_named_statement_limit) {
        err->code = ALM_E_STATEMENT_LIMIT;
        (void)snprintf(err->msg, sizeof(err->msg),
                       "too many prepared statements: the limit is pg.named.statement.limit");
    }
    return err->code == ALM_OK;
}

static bool read_param_types(pg_conn *conn, pg_reader *reader, pg_statement *statement)
{
    const int32_t n = pg_read16(reader) & 0xffff;
    statement->n_params = (uint32_t)n;
    statement->oids = calloc((size_t)n + 1, sizeof(*statement->oids));
    statement->types = calloc((size_t)n + 1, sizeof(*statement->types));
    if (statement->oids == NULL || statement->types == NULL) {
        pg_fail(conn, ALM_E_MEMORY, "out of memory");
        return false;
    }
    for (int32_t i = 0; i < n; i++) {
        statement->oids[i] = (uint32_t)pg_read32(reader);
        alm_error_clear(&conn->cx);
        if (!reader->bad &&
            alm_pg_param_type(&conn->cx, statement->oids[i], &statement->types[i]) != ALM_OK) {
            pg_fail_err(conn, &conn->cx.err, (alm_str){0});
            return false;
        }
    }
    if (!reader->bad && reader->at == reader->end)
        return true;
    pg_fail(conn, ALM_E_PROTOCOL, "malformed Parse message");
    return false;
}

/* A parsed statement gets its name. */
static void keep_statement(pg_conn *conn, pg_statement *statement)
{
    const alm_str name = alm_str_of(statement->name);
    alm_error err;
    pg_statement_drop(conn, name);
    alm_error_clear(&conn->cx);
    if (!pg_statement_charge(conn, statement, &err)) {
        pg_statement_release(statement);
        pg_fail_err(conn, &err, (alm_str){0});
        return;
    }
    if (alm_map_put(&conn->cx, &conn->statements, name, statement, NULL) != ALM_OK) {
        pg_statement_release(statement);
        pg_fail(conn, ALM_E_MEMORY, "out of memory");
        return;
    }
    pg_simple_message(conn, ALM_PG_SERVER_PARSE_COMPLETE);
}

/* Planning is what takes long: the statement is described here too, so that Describe and Bind have it. */
static void parse_work(void *arg)
{
    pg_conn *conn = arg;
    pg_run *run = &conn->run;
    pg_statement *statement = run->statement;
    const alm_str text = {run->text, run->text_len};
    run->failed = statement->prepared == NULL &&
                  alm_prepare(conn->session, text, NULL, &statement->prepared) != ALM_OK;
    if (run->failed)
        run->err = *alm_session_error(conn->session);
    else if (!alm_prepared_is_small(statement->prepared) || run->describes)
        run->failed = !pg_statement_describe(conn, statement, &run->err);
}

/* Describe and Bind, which come next, want to know; they say what is wrong with the statement. False: it takes longer than
 * others can wait. */
static bool describe_briefly(pg_conn *conn, pg_statement *statement)
{
    alm_error err = {0};
    alm_session_brief(conn->session, true);
    const bool known = pg_statement_describe(conn, statement, &err);
    alm_session_brief(conn->session, false);
    return known || err.code != ALM_E_YIELD;
}

static void parse_done(alm_conn *conn, void *arg)
{
    pg_conn *wire = arg;
    pg_run *run = &wire->run;
    (void)conn;
    if (run->failed) {
        pg_fail_err(wire, &run->err, (alm_str){run->text, run->text_len});
    } else {
        keep_statement(wire, run->statement);
        run->statement = NULL;
    }
    pg_run_clear(wire);
}

/* Short texts are parsed here and now; long ones, and what takes long to plan, on a query thread. */
static void pg_extended_parse(pg_conn *conn, pg_statement *statement, alm_str text)
{
    if (!alm_utf8_is_valid(text)) {
        pg_fail(conn, ALM_E_UTF8, "the statement is not UTF-8");
        pg_statement_release(statement);
        return;
    }
    if (text.len <= PG_INLINE_TEXT_MAX &&
        alm_prepare(conn->session, text, NULL, &statement->prepared) != ALM_OK) {
        pg_fail_err(conn, alm_session_error(conn->session), text);
        pg_statement_release(statement);
        return;
    }
    if (statement->prepared == NULL || !alm_prepared_is_small(statement->prepared) ||
        !describe_briefly(conn, statement)) {
        conn->run = (pg_run){.parsing = true,
                             .describes = statement->prepared != NULL,
                             .text = pg_extended_copy_text(text),
                             .text_len = text.len};
        conn->run.statement = statement;
        if (conn->run.text == NULL) {
            pg_run_clear(conn);
            pg_fail(conn, ALM_E_MEMORY, "out of memory");
            return;
        }
        conn->running = true;
        alm_conn_work(conn->conn, parse_work, parse_done, NULL, conn);
        return;
    }
    keep_statement(conn, statement);
}

static void on_parse(pg_conn *conn, pg_reader *reader)
{
    const alm_str name = pg_read_text(reader);
    const alm_str text = pg_read_text(reader);
    if (reader->bad) {
        pg_fail(conn, ALM_E_PROTOCOL, "malformed Parse message");
        return;
    }
    alm_error err;
    if (!pg_statement_fits(conn, name, &err)) {
        pg_fail_err(conn, &err, (alm_str){0});
        return;
    }
    if (name.len == 0) /* gone even if the new one fails */
        pg_statement_drop(conn, name);
    pg_statement *statement = calloc(1, sizeof(*statement));
    if (statement == NULL) {
        pg_fail(conn, ALM_E_MEMORY, "out of memory");
        return;
    }
    statement->refs = 1;
    statement->made_us = pg_now_us(conn);
    statement->name = pg_extended_copy_text(name);
    alm_error_clear(&conn->cx);
    if (statement->name == NULL || !read_param_types(conn, reader, statement)) {
        if (!conn->skip)
            pg_fail(conn, ALM_E_MEMORY, "out of memory");
        pg_statement_release(statement);
        return;
    }
    pg_extended_parse(conn, statement, text);
}

/* ----------------------------------------------------------------------- bind */

pg_portal *pg_portal_new(pg_conn *conn, alm_str name, pg_statement *statement)
{
    pg_portal *portal = calloc(1, sizeof(*portal));
    if (portal == NULL)
        return NULL;
    portal->name = pg_extended_copy_text(name);
    if (portal->name == NULL) {
        free(portal);
        return NULL;
    }
    alm_arena_init_small(&portal->arena, &conn->requests->requests);
    portal->statement = statement;
    statement->refs++;
    return portal;
}

/* False: the error was sent. None of them: *out is NULL. */
static bool read_formats(pg_conn *conn, pg_reader *reader, int16_t **out, uint32_t *n)
{
    *out = NULL;
    *n = (uint32_t)(pg_read16(reader) & 0xffff);
    if (*n == 0 && !reader->bad) /* all as text: most clients, most of the time */
        return true;
    int16_t *formats = calloc(*n + 1, sizeof(*formats));
    int16_t unknown = 0;
    for (uint32_t i = 0; formats != NULL && i < *n; i++) {
        formats[i] = (int16_t)pg_read16(reader);
        if (formats[i] != 0 && formats[i] != 1 && unknown == 0)
            unknown = formats[i];
    }
    *out = formats;
    if (formats != NULL && !reader->bad && unknown == 0)
        return true;
    alm_error err = {.code = ALM_E_ARG, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), "unsupported format code: %d", (int)unknown);
    if (formats == NULL)
        pg_fail(conn, ALM_E_MEMORY, "out of memory");
    else if (reader->bad)
        pg_fail(conn, ALM_E_PROTOCOL, "malformed Bind message");
    else
        pg_fail_err(conn, &err, (alm_str){0});
    free(formats);
    *out = NULL;
    return false;
}

/* As many values as parameters, and formats for none, all or each of them? False: the error was sent. */
static bool counts_fit(pg_conn *conn, const pg_statement *statement, uint32_t n, uint32_t n_formats)
{
    alm_error err = {.code = ALM_E_PROTOCOL, .sql_pos = -1};
    if (n_formats > 1 && n_formats != n)
        (void)snprintf(err.msg, sizeof(err.msg),
                       "bind message has %u parameter formats but %u parameters", n_formats, n);
    else if (n != statement->n_params)
        (void)snprintf(
            err.msg, sizeof(err.msg),
            "bind message supplies %u parameters, but prepared statement \"%s\" requires %u", n,
            statement->name, statement->n_params);
    else
        return true;
    pg_fail_err(conn, &err, (alm_str){0});
    return false;
}

static bool result_formats_fit(pg_conn *conn, const pg_portal *portal, uint32_t n_cols)
{
    alm_error err = {.code = ALM_E_PROTOCOL, .sql_pos = -1};
    if (portal->n_formats <= 1 || portal->n_formats == n_cols)
        return true;
    (void)snprintf(err.msg, sizeof(err.msg),
                   "bind message has %u result formats but query has %u columns", portal->n_formats,
                   n_cols);
    pg_fail_err(conn, &err, (alm_str){0});
    return false;
}

static bool pg_extended_read_values(pg_conn *conn, pg_reader *reader, pg_portal *portal,
                                    const int16_t *formats, uint32_t n_formats)
{
    const pg_statement *statement = portal->statement;
    const uint32_t n = (uint32_t)(pg_read16(reader) & 0xffff);
    if (reader->bad) {
        pg_fail(conn, ALM_E_PROTOCOL, "malformed Bind message");
        return false;
    }
    if (!counts_fit(conn, statement, n, n_formats))
        return false;
    conn->cx.arena = &portal->arena;
    alm_status status = n == 0 ? ALM_OK : ALM_NEWN(&conn->cx, &portal->arena, n, &portal->values);
    portal->n_values = n;
    for (uint32_t i = 0; status == ALM_OK && i < n; i++) {
        const int32_t length = pg_read32(reader);
        alm_str bytes = {0};
        if (length >= 0)
            bytes = pg_read_bytes(reader, (size_t)length);
        if (reader->bad || length < -1) {
            pg_fail(conn, ALM_E_PROTOCOL, "malformed Bind message");
            break;
        }
        const bool binary = n_formats > 0 && formats[n_formats == 1 ? 0 : i] == 1;
        status = alm_pg_param(&conn->cx, &portal->arena, i, statement->oids[i], statement->types[i],
                              binary, bytes, &portal->values[i]);
    }
    conn->cx.arena = &conn->arena;
    if (status != ALM_OK)
        pg_fail_err(conn, &conn->cx.err, (alm_str){0});
    return status == ALM_OK && !reader->bad;
}

/* May a portal have this name? The unnamed one is always replaced, a cursor by DECLARE never. */
static bool name_is_free(pg_conn *conn, alm_str name)
{
    const pg_portal *there = alm_map_get(&conn->portals, name);
    return name.len == 0 || there == NULL || (there->kept && !there->declared);
}

/* The unnamed one is no matter of the limit: there is but one. */
static bool portal_fits(pg_conn *conn, alm_str name)
{
    const int64_t limit = alm_db_conf(conn->pg->db)->pg_named_statement_limit;
    if (name.len > 0 && (int64_t)conn->portals.count >= limit)
        drop_portals(conn, PORTALS_KEPT);
    return name.len == 0 || (int64_t)conn->portals.count < limit;
}

static void on_bind(pg_conn *conn, pg_reader *reader)
{
    const alm_str name = pg_read_text(reader);
    const alm_str statement_name = pg_read_text(reader);
    uint32_t n_formats = 0;
    int16_t *formats = NULL;
    if (!read_formats(conn, reader, &formats, &n_formats))
        return;
    pg_statement *statement = alm_map_get(&conn->statements, statement_name);
    pg_portal *portal = NULL;
    bool ok = false;
    alm_error_clear(&conn->cx);
    if (statement == NULL)
        fail_name(conn, ALM_E_STATEMENT, "prepared statement \"%s\" does not exist",
                  statement_name.ptr);
    else if (!name_is_free(conn, name))
        fail_name(conn, ALM_E_PORTAL_EXISTS, "portal \"%s\" already exists", name.ptr);
    else if (!portal_fits(conn, name))
        pg_fail(conn, ALM_E_STATEMENT_LIMIT,
                "too many portals: the limit is pg.named.statement.limit");
    else if (pg_extended_describe(conn, statement)) {
        portal = pg_portal_new(conn, name, statement);
        if (portal == NULL)
            pg_fail(conn, ALM_E_MEMORY, "out of memory");
        else
            ok = pg_extended_read_values(conn, reader, portal, formats, n_formats);
    }
    free(formats);
    if (ok) {
        ok = read_formats(conn, reader, &portal->formats, &portal->n_formats);
        uint32_t n_cols = 0;
        (void)pg_result_cols(conn, statement, &n_cols);
        if (ok && reader->at != reader->end) {
            pg_fail(conn, ALM_E_PROTOCOL,
                    "malformed Bind message: bytes behind the result formats");
            ok = false;
        }
        ok = ok && result_formats_fit(conn, portal, n_cols);
    }
    if (ok) {
        drop_portal(conn, name);
        ok = alm_map_put(&conn->cx, &conn->portals, (alm_str){portal->name, name.len}, portal,
                         NULL) == ALM_OK;
    }
    if (!ok) {
        pg_portal_free(portal);
        if (!conn->skip)
            pg_fail(conn, ALM_E_MEMORY, "out of memory");
        return;
    }
    pg_simple_message(conn, ALM_PG_SERVER_BIND_COMPLETE);
}

/* ------------------------------------------------------------ describe, close */

static void send_cols(pg_conn *conn, const alm_plan_col *cols, uint32_t n, const int16_t *formats,
                      uint32_t n_formats)
{
    if (n > 0 && n_formats <= 1)
        pg_send_row_description(conn, cols, n, formats, n_formats);
    else if (n > 0) /* a cursor may be another since the Bind */
        pg_send_row_description(conn, cols, n, formats, n == n_formats ? n_formats : 1);
    else
        pg_simple_message(conn, ALM_PG_SERVER_NO_DATA);
}

static void describe_statement(pg_conn *conn, pg_statement *statement)
{
    size_t offset = 0;
    if (!pg_extended_describe(conn, statement))
        return;
    pg_begin(conn, ALM_PG_SERVER_PARAMETER_DESCRIPTION, &offset);
    pg_put16(conn, (int32_t)statement->n_params);
    for (uint32_t i = 0; i < statement->n_params; i++)
        pg_put32(conn, statement->oids[i] != 0 ? (int32_t)statement->oids[i]
                       : statement->types[i].id == ALM_T_NONE
                           ? ALM_PG_OID_TEXT
                           : alm_pg_oid(conn->cx.conf, statement->types[i]));
    pg_end(conn, offset);
    uint32_t n = 0;
    const alm_plan_col *cols = pg_result_cols(conn, statement, &n);
    send_cols(conn, cols, n, NULL, 0);
}

static void on_describe(pg_conn *conn, pg_reader *reader)
{
    const alm_str kind = pg_read_bytes(reader, 1);
    const alm_str name = pg_read_text(reader);
    if (reader->bad || reader->at != reader->end ||
        (kind.ptr[0] != ALM_PG_TARGET_STATEMENT && kind.ptr[0] != ALM_PG_TARGET_PORTAL)) {
        pg_fail(conn, ALM_E_PROTOCOL, "malformed Describe message");
        return;
    }
    if (kind.ptr[0] == ALM_PG_TARGET_STATEMENT) {
        pg_statement *statement = alm_map_get(&conn->statements, name);
        if (statement == NULL)
            fail_name(conn, ALM_E_STATEMENT, "prepared statement \"%s\" does not exist", name.ptr);
        else
            describe_statement(conn, statement);
        return;
    }
    pg_portal *portal = alm_map_get(&conn->portals, name);
    alm_error err;
    if (portal == NULL)
        fail_name(conn, ALM_E_PORTAL, "portal \"%s\" does not exist", name.ptr);
    else if (pg_cursor_is_closed(portal, &err))
        pg_fail_err(conn, &err, (alm_str){0});
    else {
        uint32_t n = 0;
        const alm_plan_col *cols = portal->declared ? alm_cursor_cols(portal->cursor, &n)
                                                    : pg_result_cols(conn, portal->statement, &n);
        send_cols(conn, cols, n, portal->formats, portal->n_formats);
    }
}

static void pg_extended_on_close(pg_conn *conn, pg_reader *reader)
{
    const alm_str kind = pg_read_bytes(reader, 1);
    const alm_str name = pg_read_text(reader);
    if (reader->bad || reader->at != reader->end ||
        (kind.ptr[0] != ALM_PG_TARGET_STATEMENT && kind.ptr[0] != ALM_PG_TARGET_PORTAL)) {
        pg_fail(conn, ALM_E_PROTOCOL, "malformed Close message");
        return;
    }
    if (kind.ptr[0] == ALM_PG_TARGET_STATEMENT)
        pg_statement_drop(conn, name);
    else
        drop_portal(conn, name);
    pg_simple_message(conn, ALM_PG_SERVER_CLOSE_COMPLETE);
}

static void on_execute(pg_conn *conn, pg_reader *reader)
{
    const alm_str name = pg_read_text(reader);
    const int32_t limit = pg_read32(reader);
    pg_portal *portal = reader->bad ? NULL : alm_map_get(&conn->portals, name);
    alm_error err;
    if (reader->bad || reader->at != reader->end)
        pg_fail(conn, ALM_E_PROTOCOL, "malformed Execute message");
    else if (portal == NULL)
        fail_name(conn, ALM_E_PORTAL, "portal \"%s\" does not exist", name.ptr);
    else if (pg_cursor_is_closed(portal, &err))
        pg_fail_err(conn, &err, (alm_str){0});
    else if (portal->done && portal->cursor != NULL && !pg_is_fetch(portal) &&
             !alm_cursor_has_rows(portal->cursor))
        fail_name(conn, ALM_E_PORTAL, "portal \"%s\" cannot be run again", name.ptr);
    else {
        pg_run_portal(conn, portal, limit > 0 ? limit : 0, conn->ahead == ALM_PG_CLIENT_SYNC);
    }
}

/* Portals whose rows are all sent go; others stay, so that a fetch size works without a block. */
void pg_synced(pg_conn *conn)
{
    conn->skip = false;
    drop_portals(conn, PORTALS_DONE);
    pg_send_ready(conn);
}

static void on_sync(pg_conn *conn)
{
    if (alm_session_pending(conn->session))
        pg_run_sync(conn);
    else
        pg_synced(conn);
}

/* ------------------------------------------------------------------- messages */

void pg_message_refused(pg_conn *conn, char type, alm_status code, const char *text)
{
    if (conn->copying) {
        pg_copy_fail(conn, code, text);
        return;
    }
    if (conn->skip)
        return; /* the client has heard of an error */
    pg_fail(conn, code, text);
    if (type == ALM_PG_CLIENT_QUERY || type == ALM_PG_CLIENT_FUNCTION_CALL ||
        type == ALM_PG_CLIENT_SYNC)
        on_sync(conn);
}

static void unknown_message(pg_conn *conn, char type)
{
    alm_error err = {.code = ALM_E_PROTOCOL, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), "unknown message [type=%d]", type);
    pg_send_error(conn, &err, (alm_str){0}, true);
    pg_flush(conn);
    alm_conn_finish(conn->conn);
}

/* Names of statements and portals; what is no message at all is left to its reader. */
static bool names_are_utf8(char type, pg_reader reader)
{
    if (type == ALM_PG_CLIENT_DESCRIBE || type == ALM_PG_CLIENT_CLOSE)
        (void)pg_read_bytes(&reader, 1);
    else if (type != ALM_PG_CLIENT_PARSE && type != ALM_PG_CLIENT_BIND &&
             type != ALM_PG_CLIENT_EXECUTE)
        return true;
    const bool first = alm_utf8_is_valid(pg_read_text(&reader));
    return first && (type != ALM_PG_CLIENT_BIND || alm_utf8_is_valid(pg_read_text(&reader)));
}

void pg_message(pg_conn *conn, char type, const char *body, size_t n)
{
    pg_reader reader = {.at = body, .end = body + n};
    alm_conn_deadline(conn->conn, 0); /* not idle; see pg_send_ready */
    if (conn->copying) {
        pg_copy_message(conn, type, body, n);
        return;
    }
    if (conn->skip && type != ALM_PG_CLIENT_SYNC && type != ALM_PG_CLIENT_TERMINATE)
        return;
    if (!names_are_utf8(type, reader)) {
        pg_fail(conn, ALM_E_UTF8, "a name is not UTF-8");
        return;
    }
    switch (type) {
    case ALM_PG_CLIENT_QUERY: {
        const alm_str text = pg_read_text(&reader);
        if (reader.bad || reader.at != reader.end) {
            pg_fail(conn, ALM_E_PROTOCOL, "malformed Query message");
            on_sync(conn);
        } else {
            pg_statement_drop(conn,
                              (alm_str){"", 0}); /* as the unnamed portal: a query uses both */
            drop_portal(conn, (alm_str){"", 0});
            pg_run_simple(conn, text);
        }
        return;
    }
    case ALM_PG_CLIENT_PARSE:
        on_parse(conn, &reader);
        return;
    case ALM_PG_CLIENT_BIND:
        on_bind(conn, &reader);
        return;
    case ALM_PG_CLIENT_DESCRIBE:
        on_describe(conn, &reader);
        return;
    case ALM_PG_CLIENT_EXECUTE:
        on_execute(conn, &reader);
        return;
    case ALM_PG_CLIENT_CLOSE:
        pg_extended_on_close(conn, &reader);
        return;
    case ALM_PG_CLIENT_FLUSH:
        pg_flush(conn);
        return;
    case ALM_PG_CLIENT_SYNC:
        on_sync(conn);
        return;
    case ALM_PG_CLIENT_TERMINATE:
        alm_conn_finish(conn->conn);
        return;
    case ALM_PG_CLIENT_FUNCTION_CALL:
        pg_message_refused(conn, type, ALM_E_UNSUPPORTED,
                           "the function call protocol is not supported");
        return;
    case ALM_PG_CLIENT_COPY_DATA:
    case ALM_PG_CLIENT_COPY_DONE:
    case ALM_PG_CLIENT_COPY_FAIL:
        return; /* rest of a COPY that failed */
    default:
        unknown_message(conn, type);
        return;
    }
}
