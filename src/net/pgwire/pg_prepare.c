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

static bool fail(alm_error *err, alm_status code, int32_t pos, const char *format, ...)
    ALM_PRINTF(4, 5);

static bool fail(alm_error *err, alm_status code, int32_t pos, const char *format, ...)
{
    va_list args;
    *err = (alm_error){.code = code, .sql_pos = pos};
    va_start(args, format);
    (void)vsnprintf(err->msg, sizeof(err->msg), format, args);
    va_end(args);
    return false;
}

int64_t pg_now_us(const pg_conn *c)
{
    (void)c;
    return alm_io_posix()->wall_ns(alm_io_posix()) / 1000;
}

/* -------------------------------------------------------------------- prepare */

static bool take_types(const alm_prepare_words *words, pg_statement *s)
{
    s->n_params = words->n_types;
    s->oids = calloc(words->n_types + 1U, sizeof(*s->oids));
    s->types = calloc(words->n_types + 1U, sizeof(*s->types));
    for (uint32_t i = 0; s->oids != NULL && s->types != NULL && i < words->n_types; i++)
        s->types[i] = words->types[i];
    return s->oids != NULL && s->types != NULL;
}

/* The place of an error in the text that is prepared, as one in that of PREPARE. */
static bool session_failed(const pg_conn *c, int32_t pos, alm_error *err)
{
    *err = *alm_session_error(c->session);
    if (err->sql_pos >= 0)
        err->sql_pos += pos;
    return false;
}

static bool fill(pg_conn *c, const alm_prepare_words *words, const pg_statement *from,
                 pg_statement *s, alm_error *err)
{
    size_t n = 0;
    const char *text = alm_prepared_text(from->prepared, &n);
    s->by_sql = true;
    s->made_us = pg_now_us(c);
    s->shown = strndup(text, n);
    if (s->name == NULL || s->shown == NULL || !take_types(words, s))
        return fail(err, ALM_E_MEMORY, -1, "out of memory");
    if (alm_prepare(c->session, words->text, NULL, &s->prepared) != ALM_OK)
        return session_failed(c, words->pos, err);
    if (pg_statement_describe(c, s, err))
        return true;
    if (err->sql_pos >= 0)
        err->sql_pos += words->pos;
    return false;
}

bool pg_sql_prepare(pg_conn *c, const pg_statement *from, alm_error *err)
{
    char text[PG_NAME_BYTES];
    alm_ctx cx = {0};
    const alm_prepare_words *words = alm_prepared_prepare(from->prepared);
    const alm_str name = pg_object_name(words->name, text);
    if (!pg_statement_fits(c, name, err))
        return false;
    pg_statement *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return fail(err, ALM_E_MEMORY, -1, "out of memory");
    s->refs = 1;
    s->name = strdup(text);
    bool ok = fill(c, words, from, s, err) && pg_statement_charge(c, s, err);
    if (ok && alm_map_put(&cx, &c->statements, (alm_str){s->name, name.len}, s, NULL) != ALM_OK)
        ok = fail(err, ALM_E_MEMORY, -1, "out of memory");
    if (!ok)
        pg_statement_release(s);
    return ok;
}

/* -------------------------------------------------------------------- execute */

pg_statement *pg_sql_named(pg_conn *c, const pg_statement *s)
{
    char text[PG_NAME_BYTES];
    const alm_execute_words *words = alm_prepared_execute(s->prepared);
    return words == NULL ? NULL : alm_map_get(&c->statements, pg_object_name(words->name, text));
}

/* Does a client get anywhere by running it so? Blocks, cursors and COPY are told apart by their own words. */
static bool can_run(const pg_statement *s)
{
    return alm_stmt_does_any(alm_prepared_kind(s->prepared), ALM_S_ROWS | ALM_S_CHANGES);
}

/* Value i of the row, as parameter i of the statement. */
static alm_status read_value(alm_ctx *cx, alm_arena *arena, const pg_statement *s, uint32_t i,
                             const alm_vec *col, alm_vec *out)
{
    static const uint32_t first = 0;
    const alm_type to = s->types[i];
    alm_pg_cell cell = {0};
    alm_buf text;
    if (to.id == ALM_T_NONE || alm_type_eq(to, col->type))
        return alm_vec_gather(cx, arena, col, &first, 1, out);
    alm_pg_cell_init(cx->conf, &cell, col->type, false);
    alm_buf_init(&text, NULL);
    alm_status st = alm_pg_cell_put(cx, &cell, col, 0, &text);
    alm_str bytes = {0};
    if (st == ALM_OK) { /* length, then the text; -1: null */
        const int32_t length = (int32_t)alm_be_get32(text.ptr);
        alm_str kept = {0};
        if (length >= 0)
            st = alm_arena_copy(cx, arena, (alm_str){text.ptr + 4, (size_t)length}, &kept);
        if (length >= 0)
            bytes = (alm_str){kept.ptr != NULL ? kept.ptr : "", (size_t)length};
    }
    if (st == ALM_OK)
        st = alm_pg_param(cx, arena, i, s->oids[i], to, false, bytes, out);
    alm_buf_deinit(&text);
    return st;
}

static bool read_row(pg_conn *c, pg_portal *portal, const alm_batch *row, alm_error *err)
{
    alm_ctx cx = {.arena = &portal->arena, .conf = c->cx.conf};
    const pg_statement *s = portal->executes;
    alm_status st = ALM_NEWN(&cx, &portal->arena, s->n_params + 1, &portal->values);
    for (uint32_t i = 0; st == ALM_OK && i < s->n_params; i++)
        st = read_value(&cx, &portal->arena, s, i, &row->cols[i], &portal->values[i]);
    portal->n_values = s->n_params;
    *err = cx.err;
    return st == ALM_OK;
}

static bool read_values(pg_conn *c, pg_portal *portal, alm_error *err)
{
    alm_cursor *values = NULL;
    alm_batch *row = NULL;
    alm_status st = alm_execute(c->session, portal->statement->prepared, NULL, 0, &values);
    if (st == ALM_E_YIELD)
        return fail(err, st, -1, "EXECUTE goes on elsewhere");
    if (st != ALM_OK)
        return session_failed(c, 0, err);
    bool ok = true;
    if (portal->executes->n_params > 0) {
        st = alm_cursor_next(values, &row);
        ok = st == ALM_OK || (st == ALM_E_YIELD ? fail(err, st, -1, "EXECUTE goes on elsewhere")
                                                : session_failed(c, 0, err));
        ok = ok && (row != NULL || fail(err, ALM_E_INTERNAL, -1, "EXECUTE has no values")) &&
             read_row(c, portal, row, err);
    }
    alm_cursor_close(values);
    return ok;
}

/* EXPLAIN of the statement, whose parameters it has; NULL: the error. */
static pg_statement *explained(pg_conn *c, const pg_statement *of, const alm_execute_words *words,
                               alm_error *err)
{
    pg_statement *s = calloc(1, sizeof(*s));
    bool ok = s != NULL;
    if (ok) {
        s->refs = 1;
        s->n_params = of->n_params;
        s->oids = calloc(of->n_params + 1U, sizeof(*s->oids));
        s->types = calloc(of->n_params + 1U, sizeof(*s->types));
        ok = s->oids != NULL && s->types != NULL;
    }
    for (uint32_t i = 0; ok && i < of->n_params; i++) {
        s->oids[i] = of->oids[i];
        s->types[i] = of->types[i];
    }
    if (!ok)
        (void)fail(err, ALM_E_MEMORY, -1, "out of memory");
    else
        ok = alm_prepare_explain(of->prepared, words, &s->prepared) == ALM_OK ||
             session_failed(c, 0, err);
    if (ok && pg_statement_describe(c, s, err))
        return s;
    pg_statement_release(s);
    return NULL;
}

bool pg_sql_execute(pg_conn *c, pg_portal *portal, alm_error *err)
{
    char text[PG_NAME_BYTES];
    const alm_execute_words *words = alm_prepared_execute(portal->statement->prepared);
    pg_statement *s = pg_sql_named(c, portal->statement);
    (void)pg_object_name(words->name, text);
    if (s == NULL)
        return fail(err, ALM_E_STATEMENT, words->pos, "prepared statement \"%s\" does not exist",
                    text);
    if (!can_run(s))
        return fail(err, ALM_E_UNSUPPORTED, words->pos,
                    "\"%s\" is not a query, INSERT, UPDATE or DELETE: EXECUTE does not run it",
                    text);
    if (!pg_statement_describe(c, s, err)) {
        err->sql_pos = -1;
        return false;
    }
    if (s->n_params != words->n_values)
        return fail(
            err, ALM_E_SYNTAX, words->pos,
            "wrong number of parameters for prepared statement \"%s\": %u expected, %u given", text,
            s->n_params, words->n_values);
    s->refs++;
    pg_statement_release(portal->executes);
    portal->executes = words->explain ? explained(c, s, words, err) : s;
    if (words->explain)
        pg_statement_release(s);
    if (portal->executes == NULL)
        return false;
    return read_values(c, portal, err);
}

/* ---------------------------------------------------------------------- lists */

static alm_status statement_row(alm_ctx *cx, const pg_conn *c, const pg_statement *s,
                                const char **cell)
{
    alm_buf types;
    alm_buf_init(&types, NULL);
    alm_status st = alm_buf_text(cx, &types, "");
    for (uint32_t i = 0; st == ALM_OK && i < s->n_params; i++)
        st = alm_buf_printf(cx, &types, "%" PRIu32 " ",
                            s->oids[i] != 0 ? s->oids[i]
                                            : (uint32_t)alm_pg_oid(c->cx.conf, s->types[i]));
    if (st == ALM_OK)
        st = alm_arena_zstr(cx, cx->arena, (alm_str){types.ptr, types.len}, &cell[3]);
    alm_buf_deinit(&types);
    ALM_TRY(st);
    cell[0] = s->name;
    cell[4] = s->by_sql ? "t" : "f";
    cell[1] = s->shown;
    if (s->shown == NULL)
        ALM_TRY(alm_prepared_shown(cx, s->prepared, &cell[1]));
    return alm_arena_printf(cx, cx->arena, &cell[2], "%" PRId64, s->made_us);
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
    const pg_conn *c = arg;
    const bool cursors = strcmp(what, "cursors") == 0;
    const alm_map *map = cursors ? &c->portals : &c->statements;
    const alm_map_entry *e = NULL;
    const char **cell = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_SESSION_LIST_CELLS * map->count + 1, &cell));
    *cells = cell;
    for (size_t at = 0; (e = alm_map_next(map, &at)) != NULL;) {
        if (e->key.len == 0) /* the unnamed ones */
            continue;
        ALM_TRY(cursors ? cursor_row(cx, e->value, cell) : statement_row(cx, c, e->value, cell));
        cell += ALM_SESSION_LIST_CELLS;
        ++*rows;
    }
    return ALM_OK;
}
