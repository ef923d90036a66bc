/*
 * pg_prepare.c - PREPARE and EXECUTE as SQL. Their statements have the names of those by Parse messages: what one has
 * prepared the other may run, describe and drop.
 *
 * EXPLAIN      of an EXECUTE is that of the statement it names, with the values of this EXECUTE: its text is prepared anew.
 * EXECUTE      Its values are a row that the session makes. A value of the type of its parameter is taken as it is,
 *              any other goes through its text, which is read as that of a Bind message.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/io.h"
#include "net/pgwire/pg_state.h"

static bool pg_prepare_fail(alm_error *err, alm_status code, int32_t pos, const char *format, ...)
    ALM_PRINTF(4, 5);

static bool pg_prepare_fail(alm_error *err, alm_status code, int32_t pos, const char *format, ...)
{
    va_list args;
    *err = (alm_error){.code = code, .sql_pos = pos};
    va_start(args, format);
    (void)vsnprintf(err->msg, sizeof(err->msg), format, args);
    va_end(args);
    return false;
}

int64_t pg_now_us(const pg_conn *conn)
{
    (void)conn;
    return alm_io_posix()->wall_ns(alm_io_posix()) / 1000;
}

/* -------------------------------------------------------------------- prepare */

static bool pg_prepare_take_types(const alm_prepare_words *words, pg_statement *statement)
{
    statement->n_params = words->n_types;
    statement->oids = calloc(words->n_types + 1U, sizeof(*statement->oids));
    statement->types = calloc(words->n_types + 1U, sizeof(*statement->types));
    for (uint32_t i = 0; statement->oids != NULL && statement->types != NULL && i < words->n_types;
         i++)
        statement->types[i] = words->types[i];
    return statement->oids != NULL && statement->types != NULL;
}

/* The place of an error in the text that is prepared, as one in that of PREPARE. */
static bool pg_prepare_session_failed(const pg_conn *conn, int32_t pos, alm_error *err)
{
    *err = *alm_session_error(conn->session);
    if (err->sql_pos >= 0)
        err->sql_pos += pos;
    return false;
}

static bool pg_prepare_fill(pg_conn *conn, const alm_prepare_words *words, const pg_statement *from,
                            pg_statement *statement, alm_error *err)
{
    size_t n = 0;
    const char *text = alm_prepared_text(from->prepared, &n);
    statement->by_sql = true;
    statement->made_us = pg_now_us(conn);
    statement->shown = strndup(text, n);
    if (statement->name == NULL || statement->shown == NULL ||
        !pg_prepare_take_types(words, statement))
        return pg_prepare_fail(err, ALM_E_MEMORY, -1, "out of memory");
    if (alm_prepare(conn->session, words->text, NULL, &statement->prepared) != ALM_OK)
        return pg_prepare_session_failed(conn, words->pos, err);
    if (pg_statement_describe(conn, statement, err))
        return true;
    if (err->sql_pos >= 0)
        err->sql_pos += words->pos;
    return false;
}

bool pg_sql_prepare(pg_conn *conn, const pg_statement *from, alm_error *err)
{
    char text[PG_NAME_BYTES];
    alm_ctx cx = {0};
    const alm_prepare_words *words = alm_prepared_prepare(from->prepared);
    const alm_str name = pg_object_name(words->name, text);
    if (!pg_statement_fits(conn, name, err))
        return false;
    pg_statement *statement = calloc(1, sizeof(*statement));
    if (statement == NULL)
        return pg_prepare_fail(err, ALM_E_MEMORY, -1, "out of memory");
    statement->refs = 1;
    statement->name = strdup(text);
    bool ok = pg_prepare_fill(conn, words, from, statement, err) &&
              pg_statement_charge(conn, statement, err);
    if (ok && alm_map_put(&cx, &conn->statements, (alm_str){statement->name, name.len}, statement,
                          NULL) != ALM_OK)
        ok = pg_prepare_fail(err, ALM_E_MEMORY, -1, "out of memory");
    if (!ok)
        pg_statement_release(statement);
    return ok;
}

/* -------------------------------------------------------------------- execute */

pg_statement *pg_sql_named(pg_conn *conn, const pg_statement *statement)
{
    char text[PG_NAME_BYTES];
    const alm_execute_words *words = alm_prepared_execute(statement->prepared);
    return words == NULL ? NULL : alm_map_get(&conn->statements, pg_object_name(words->name, text));
}

/* Does a client get anywhere by running it so? Blocks, cursors and COPY are told apart by their own words. */
static bool pg_prepare_can_run(const pg_statement *statement)
{
    return alm_stmt_does_any(alm_prepared_kind(statement->prepared), ALM_S_ROWS | ALM_S_CHANGES);
}

/* Value i of the row, as parameter i of the statement. */
static alm_status pg_prepare_read_value(alm_ctx *cx, alm_arena *arena,
                                        const pg_statement *statement, uint32_t i,
                                        const alm_vec *col, alm_vec *out)
{
    static const uint32_t first = 0;
    const alm_type target = statement->types[i];
    alm_pg_cell cell = {0};
    alm_buf text;
    if (target.id == ALM_T_NONE || alm_type_eq(target, col->type))
        return alm_vec_gather(cx, arena, col, &first, 1, out);
    alm_pg_cell_init(cx->conf, &cell, col->type, false);
    alm_buf_init(&text, NULL);
    alm_status status = alm_pg_cell_put(cx, &cell, col, 0, &text);
    alm_str bytes = {0};
    if (status == ALM_OK) { /* length, then the text; -1: null */
        const int32_t length = (int32_t)alm_be_get32(text.ptr);
        alm_str kept = {0};
        if (length >= 0)
            status = alm_arena_copy(cx, arena, (alm_str){text.ptr + 4, (size_t)length}, &kept);
        if (length >= 0)
            bytes = (alm_str){kept.ptr != NULL ? kept.ptr : "", (size_t)length};
    }
    if (status == ALM_OK)
        status = alm_pg_param(cx, arena, i, statement->oids[i], target, false, bytes, out);
    alm_buf_deinit(&text);
    return status;
}

static bool pg_prepare_read_row(pg_conn *conn, pg_portal *portal, const alm_batch *row,
                                alm_error *err)
{
    alm_ctx cx = {.arena = &portal->arena, .conf = conn->cx.conf};
    const pg_statement *statement = portal->executes;
    alm_status status = ALM_NEWN(&cx, &portal->arena, statement->n_params + 1, &portal->values);
    for (uint32_t i = 0; status == ALM_OK && i < statement->n_params; i++)
        status = pg_prepare_read_value(&cx, &portal->arena, statement, i, &row->cols[i],
                                       &portal->values[i]);
    portal->n_values = statement->n_params;
    *err = cx.err;
    return status == ALM_OK;
}

static bool pg_prepare_read_values(pg_conn *conn, pg_portal *portal, alm_error *err)
{
    alm_cursor *values = NULL;
    alm_batch *row = NULL;
    alm_status status = alm_execute(conn->session, portal->statement->prepared, NULL, 0, &values);
    if (status == ALM_E_YIELD)
        return pg_prepare_fail(err, status, -1, "EXECUTE goes on elsewhere");
    if (status != ALM_OK)
        return pg_prepare_session_failed(conn, 0, err);
    bool ok = true;
    if (portal->executes->n_params > 0) {
        status = alm_cursor_next(values, &row);
        ok = status == ALM_OK ||
             (status == ALM_E_YIELD ? pg_prepare_fail(err, status, -1, "EXECUTE goes on elsewhere")
                                    : pg_prepare_session_failed(conn, 0, err));
        ok = ok &&
             (row != NULL || pg_prepare_fail(err, ALM_E_INTERNAL, -1, "EXECUTE has no values")) &&
             pg_prepare_read_row(conn, portal, row, err);
    }
    alm_cursor_close(values);
    return ok;
}

/* EXPLAIN of the statement, whose parameters it has; NULL: the error. */
static pg_statement *explained(pg_conn *conn, const pg_statement *of,
                               const alm_execute_words *words, alm_error *err)
{
    pg_statement *statement = calloc(1, sizeof(*statement));
    bool ok = statement != NULL;
    if (ok) {
        statement->refs = 1;
        statement->n_params = of->n_params;
        statement->oids = calloc(of->n_params + 1U, sizeof(*statement->oids));
        statement->types = calloc(of->n_params + 1U, sizeof(*statement->types));
        ok = statement->oids != NULL && statement->types != NULL;
    }
    for (uint32_t i = 0; ok && i < of->n_params; i++) {
        statement->oids[i] = of->oids[i];
        statement->types[i] = of->types[i];
    }
    if (!ok)
        (void)pg_prepare_fail(err, ALM_E_MEMORY, -1, "out of memory");
    else
        ok = alm_prepare_explain(of->prepared, words, &statement->prepared) == ALM_OK ||
             pg_prepare_session_failed(conn, 0, err);
    if (ok && pg_statement_describe(conn, statement, err))
        return statement;
    pg_statement_release(statement);
    return NULL;
}

bool pg_sql_execute(pg_conn *conn, pg_portal *portal, alm_error *err)
{
    char text[PG_NAME_BYTES];
    const alm_execute_words *words = alm_prepared_execute(portal->statement->prepared);
    pg_statement *statement = pg_sql_named(conn, portal->statement);
    (void)pg_object_name(words->name, text);
    if (statement == NULL)
        return pg_prepare_fail(err, ALM_E_STATEMENT, words->pos,
                               "prepared statement \"%s\" does not exist", text);
    if (!pg_prepare_can_run(statement))
        return pg_prepare_fail(
            err, ALM_E_UNSUPPORTED, words->pos,
            "\"%s\" is not a query, INSERT, UPDATE or DELETE: EXECUTE does not run it", text);
    if (!pg_statement_describe(conn, statement, err)) {
        err->sql_pos = -1;
        return false;
    }
    if (statement->n_params != words->n_values)
        return pg_prepare_fail(
            err, ALM_E_SYNTAX, words->pos,
            "wrong number of parameters for prepared statement \"%s\": %u expected, %u given", text,
            statement->n_params, words->n_values);
    statement->refs++;
    pg_statement_release(portal->executes);
    portal->executes = words->explain ? explained(conn, statement, words, err) : statement;
    if (words->explain)
        pg_statement_release(statement);
    if (portal->executes == NULL)
        return false;
    return pg_prepare_read_values(conn, portal, err);
}

/* ---------------------------------------------------------------------- lists */

static alm_status statement_row(alm_ctx *cx, const pg_conn *conn, const pg_statement *statement,
                                const char **cell)
{
    alm_buf types;
    alm_buf_init(&types, NULL);
    alm_status status = alm_buf_text(cx, &types, "");
    for (uint32_t i = 0; status == ALM_OK && i < statement->n_params; i++)
        status = alm_buf_printf(cx, &types, "%" PRIu32 " ",
                                statement->oids[i] != 0
                                    ? statement->oids[i]
                                    : (uint32_t)alm_pg_oid(conn->cx.conf, statement->types[i]));
    if (status == ALM_OK)
        status = alm_arena_zstr(cx, cx->arena, (alm_str){types.ptr, types.len}, &cell[3]);
    alm_buf_deinit(&types);
    ALM_TRY(status);
    cell[0] = statement->name;
    cell[4] = statement->by_sql ? "t" : "f";
    cell[1] = statement->shown;
    if (statement->shown == NULL)
        ALM_TRY(alm_prepared_shown(cx, statement->prepared, &cell[1]));
    return alm_arena_printf(cx, cx->arena, &cell[2], "%" PRId64, statement->made_us);
}

static alm_status cursor_row(alm_ctx *cx, const pg_portal *portal, const char **cell)
{
    cell[0] = portal->name;
    cell[3] = portal->hold ? "t" : "f";
    cell[4] = portal->binary ? "t" : "f";
    ALM_TRY(alm_prepared_shown(cx, portal->statement->prepared, &cell[1]));
    return alm_arena_printf(cx, cx->arena, &cell[2], "%" PRId64, portal->made_us);
}

alm_status pg_session_lists(alm_ctx *cx, void *arg, const char *what, const char *const **cells,
                            size_t *rows)
{
    const pg_conn *conn = arg;
    const bool cursors = strcmp(what, "cursors") == 0;
    const alm_map *map = cursors ? &conn->portals : &conn->statements;
    const alm_map_entry *entry = NULL;
    const char **cell = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_SESSION_LIST_CELLS * map->count + 1, &cell));
    *cells = cell;
    for (size_t offset = 0; (entry = alm_map_next(map, &offset)) != NULL;) {
        if (entry->key.len == 0) /* the unnamed ones */
            continue;
        ALM_TRY(cursors ? cursor_row(cx, entry->value, cell)
                        : statement_row(cx, conn, entry->value, cell));
        cell += ALM_SESSION_LIST_CELLS;
        ++*rows;
    }
    return ALM_OK;
}
