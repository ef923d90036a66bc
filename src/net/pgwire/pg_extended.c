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

void pg_fail_err(pg_conn *c, const alm_error *err, alm_str sql)
{
    pg_send_error(c, err, sql, false);
    alm_session_fail_block(c->session);
    c->skip = true;
    pg_flush(c); /* the client may wait for it before it sends its Sync */
}

void pg_fail(pg_conn *c, alm_status code, const char *text)
{
    alm_error err = {.code = code, .sql_pos = -1};
    if (code == ALM_E_PROTOCOL)
        alm_conn_fault(c->conn, PG_BROKEN, text);
    (void)snprintf(err.msg, sizeof(err.msg), "%s", text);
    pg_fail_err(c, &err, (alm_str){0});
}

static void ALM_PRINTF(3, 0)
    fail_name(pg_conn *c, alm_status code, const char *format, const char *name)
{
    alm_error err = {.code = code, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), format, name);
    pg_fail_err(c, &err, (alm_str){0});
}

/* ----------------------------------------------------------------- statements */

void pg_statement_release(pg_statement *s)
{
    if (s == NULL || --s->refs > 0)
        return;
    alm_mem_release(s->account, s->charged);
    alm_prepared_free(s->prepared);
    free(s->text);
    free((char *)(uintptr_t)s->shown);
    free(s->oids);
    free(s->types);
    free(s->name);
    free(s);
}

void pg_statement_drop(pg_conn *c, alm_str name)
{
    pg_statement_release(alm_map_remove(&c->statements, name));
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
    size_t n = 0;
    const bool quoted = words.len > 0 && words.ptr[0] == '"';
    for (size_t at = quoted; at < words.len && n < PG_NAME_BYTES - 1; at++) {
        char ch = words.ptr[at];
        if (quoted && ch == '"' && at + 1 < words.len && words.ptr[at + 1] == '"')
            at++; /* a doubled quote is one */
        else if (quoted && ch == '"')
            break;
        if (!quoted && ch >= 'A' && ch <= 'Z')
            ch = (char)(ch + 32);
        out[n++] = ch;
    }
    out[n] = 0;
    return (alm_str){out, n};
}

static void drop_portal(pg_conn *c, alm_str name);

typedef enum portal_set { PORTALS_ALL, PORTALS_DONE, PORTALS_KEPT } portal_set;

static bool is_of(const pg_portal *portal, portal_set set)
{
    return set == PORTALS_ALL ||
           (!portal->declared && (set == PORTALS_DONE ? portal->done : portal->kept));
}

/* The portal that runs stays. */
static void drop_portals(pg_conn *c, portal_set set)
{
    const alm_map_entry *e = NULL;
    pg_portal *list = NULL; /* the map must not change while it is walked */
    for (size_t at = 0; (e = alm_map_next(&c->portals, &at)) != NULL;) {
        pg_portal *portal = e->value;
        if (portal == c->run.portal || !is_of(portal, set))
            continue;
        portal->next_drop = list;
        list = portal;
    }
    while (list != NULL) {
        pg_portal *next = list->next_drop;
        drop_portal(c, alm_str_of(list->name));
        list = next;
    }
}

static void drop_all_statements(pg_conn *c)
{
    const alm_map_entry *e = NULL;
    for (size_t at = 0; (e = alm_map_next(&c->statements, &at)) != NULL;)
        pg_statement_release(e->value);
    alm_map_deinit(&c->statements);
    alm_map_init(&c->statements, false);
}

bool pg_drop_named(pg_conn *c, const alm_prepared *prepared, alm_error *err)
{
    alm_str tag, words;
    char text[PG_NAME_BYTES];
    alm_prepared_words(prepared, &tag, &words);
    const alm_str name = pg_object_name(words, text);
    const bool all = alm_str_ieq(words, ALM_STR("all")); /* without quotes */
    const bool discard = alm_str_eq(tag, ALM_STR("DISCARD ALL"));
    if (discard || alm_str_eq(tag, ALM_STR("DEALLOCATE ALL")))
        drop_all_statements(c);
    if (discard || (all && alm_str_eq(tag, ALM_STR("CLOSE"))))
        drop_portals(c, PORTALS_ALL);
    if (all || discard)
        return true;
    if (alm_str_eq(tag, ALM_STR("DEALLOCATE"))) {
        if (alm_map_get(&c->statements, name) == NULL) {
            *err = (alm_error){.code = ALM_E_STATEMENT, .sql_pos = -1};
            (void)snprintf(err->msg, sizeof(err->msg), "prepared statement \"%s\" does not exist",
                           text);
            return false;
        }
        pg_statement_drop(c, name);
    } else if (alm_str_eq(tag, ALM_STR("CLOSE"))) {
        const pg_portal *portal = alm_map_get(&c->portals, name);
        if (portal == NULL) {
            *err = (alm_error){.code = ALM_E_PORTAL, .sql_pos = -1};
            (void)snprintf(err->msg, sizeof(err->msg), "cursor \"%s\" does not exist", text);
            return false;
        }
        if (portal != c->run.portal)
            drop_portal(c, name);
    }
    return true;
}

static void drop_portal(pg_conn *c, alm_str name)
{
    pg_portal_free(alm_map_remove(&c->portals, name));
}

void pg_drop_all(pg_conn *c)
{
    drop_portals(c, PORTALS_ALL);
    drop_all_statements(c);
}

static char *copy_text(alm_str text)
{
    char *copy = malloc(text.len + 1);
    if (copy == NULL)
        return NULL;
    (void)memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

static alm_str statement_text(const pg_statement *s)
{
    size_t n = 0;
    const char *text = alm_prepared_text(s->prepared, &n);
    return (alm_str){text, n};
}

bool pg_statement_describe(pg_conn *c, pg_statement *s, alm_error *err)
{
    const alm_type *types = NULL;
    uint32_t n = 0;
    if (s->described)
        return true;
    if (alm_describe(c->session, s->prepared, s->types, s->n_params, &types, &n, &s->cols,
                     &s->n_cols) != ALM_OK) {
        *err = *alm_session_error(c->session);
        return false;
    }
    if (!pg_cols_fit(s->n_cols, PG_COLS_MAX, err))
        return false;
    alm_type *kept = calloc(n + 1, sizeof(*kept));
    uint32_t *oids = calloc(n + 1, sizeof(*oids));
    if (kept == NULL || oids == NULL) {
        free(kept);
        free(oids);
        *err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        kept[i] = types[i];
        oids[i] = i < s->n_params ? s->oids[i] : 0;
    }
    free(s->types);
    free(s->oids);
    s->types = kept;
    s->oids = oids;
    s->n_params = n;
    s->described = true;
    return s->account == NULL || pg_statement_charge(c, s, err);
}

bool pg_statement_charge(pg_conn *c, pg_statement *s, alm_error *err)
{
    alm_ctx cx = {0};
    const int64_t more = alm_prepared_bytes(s->prepared) - s->charged;
    if (more > 0 && alm_mem_charge(&cx, &c->prepared, more, "prepared statements") != ALM_OK) {
        *err = cx.err;
        return false;
    }
    s->account = &c->prepared;
    s->charged += ALM_MAX(more, (int64_t)0);
    return true;
}

/* False: the error was sent. */
static bool describe(pg_conn *c, pg_statement *s)
{
    alm_error err;
    if (pg_statement_describe(c, s, &err))
        return true;
    pg_fail_err(c, &err, statement_text(s));
    return false;
}

bool pg_statement_fits(pg_conn *c, alm_str name, alm_error *err)
{
    *err = (alm_error){.sql_pos = -1};
    if (name.len > 0 && alm_map_get(&c->statements, name) != NULL) {
        err->code = ALM_E_STATEMENT_EXISTS;
        (void)snprintf(err->msg, sizeof(err->msg), "prepared statement \"%.*s\" already exists",
                       (int)name.len, name.ptr);
    } else if (name.len > 0 &&
               (int64_t)c->statements.count >= alm_db_conf(c->pg->db)->pg_named_statement_limit) {
        err->code = ALM_E_STATEMENT_LIMIT;
        (void)snprintf(err->msg, sizeof(err->msg),
                       "too many prepared statements: the limit is pg.named.statement.limit");
    }
    return err->code == ALM_OK;
}

static bool read_param_types(pg_conn *c, pg_reader *r, pg_statement *s)
{
    const int32_t n = pg_read16(r) & 0xffff;
    s->n_params = (uint32_t)n;
    s->oids = calloc((size_t)n + 1, sizeof(*s->oids));
    s->types = calloc((size_t)n + 1, sizeof(*s->types));
    if (s->oids == NULL || s->types == NULL) {
        pg_fail(c, ALM_E_MEMORY, "out of memory");
        return false;
    }
    for (int32_t i = 0; i < n; i++) {
        s->oids[i] = (uint32_t)pg_read32(r);
        alm_error_clear(&c->cx);
        if (!r->bad && alm_pg_param_type(&c->cx, s->oids[i], &s->types[i]) != ALM_OK) {
            pg_fail_err(c, &c->cx.err, (alm_str){0});
            return false;
        }
    }
    if (!r->bad && r->at == r->end)
        return true;
    pg_fail(c, ALM_E_PROTOCOL, "malformed Parse message");
    return false;
}

/* A parsed statement gets its name. */
static void keep_statement(pg_conn *c, pg_statement *s)
{
    const alm_str name = alm_str_of(s->name);
    alm_error err;
    pg_statement_drop(c, name);
    alm_error_clear(&c->cx);
    if (!pg_statement_charge(c, s, &err)) {
        pg_statement_release(s);
        pg_fail_err(c, &err, (alm_str){0});
        return;
    }
    if (alm_map_put(&c->cx, &c->statements, name, s, NULL) != ALM_OK) {
        pg_statement_release(s);
        pg_fail(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    pg_simple_message(c, ALM_PG_SERVER_PARSE_COMPLETE);
}

/* Planning is what takes long: the statement is described here too, so that Describe and Bind have it. */
static void parse_work(void *arg)
{
    pg_conn *c = arg;
    pg_run *run = &c->run;
    pg_statement *s = run->statement;
    const alm_str text = {run->text, run->text_len};
    run->failed =
        s->prepared == NULL && alm_prepare(c->session, text, NULL, &s->prepared) != ALM_OK;
    if (run->failed)
        run->err = *alm_session_error(c->session);
    else if (!alm_prepared_is_small(s->prepared) || run->describes)
        run->failed = !pg_statement_describe(c, s, &run->err);
}

/* Describe and Bind, which come next, want to know; they say what is wrong with the statement. False: it takes longer than
 * others can wait. */
static bool describe_briefly(pg_conn *c, pg_statement *s)
{
    alm_error err = {0};
    alm_session_brief(c->session, true);
    const bool known = pg_statement_describe(c, s, &err);
    alm_session_brief(c->session, false);
    return known || err.code != ALM_E_YIELD;
}

static void parse_done(alm_conn *conn, void *arg)
{
    pg_conn *c = arg;
    pg_run *run = &c->run;
    (void)conn;
    if (run->failed) {
        pg_fail_err(c, &run->err, (alm_str){run->text, run->text_len});
    } else {
        keep_statement(c, run->statement);
        run->statement = NULL;
    }
    pg_run_clear(c);
}

/* Short texts are parsed here and now; long ones, and what takes long to plan, on a query thread. */
static void parse(pg_conn *c, pg_statement *s, alm_str text)
{
    if (!alm_utf8_is_valid(text)) {
        pg_fail(c, ALM_E_UTF8, "the statement is not UTF-8");
        pg_statement_release(s);
        return;
    }
    if (text.len <= PG_INLINE_TEXT_MAX &&
        alm_prepare(c->session, text, NULL, &s->prepared) != ALM_OK) {
        pg_fail_err(c, alm_session_error(c->session), text);
        pg_statement_release(s);
        return;
    }
    if (s->prepared == NULL || !alm_prepared_is_small(s->prepared) || !describe_briefly(c, s)) {
        c->run = (pg_run){.parsing = true,
                          .describes = s->prepared != NULL,
                          .text = copy_text(text),
                          .text_len = text.len};
        c->run.statement = s;
        if (c->run.text == NULL) {
            pg_run_clear(c);
            pg_fail(c, ALM_E_MEMORY, "out of memory");
            return;
        }
        c->running = true;
        alm_conn_work(c->conn, parse_work, parse_done, NULL, c);
        return;
    }
    keep_statement(c, s);
}

static void on_parse(pg_conn *c, pg_reader *r)
{
    const alm_str name = pg_read_text(r);
    const alm_str text = pg_read_text(r);
    if (r->bad) {
        pg_fail(c, ALM_E_PROTOCOL, "malformed Parse message");
        return;
    }
    alm_error err;
    if (!pg_statement_fits(c, name, &err)) {
        pg_fail_err(c, &err, (alm_str){0});
        return;
    }
    if (name.len == 0) /* gone even if the new one fails */
        pg_statement_drop(c, name);
    pg_statement *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        pg_fail(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    s->refs = 1;
    s->made_us = pg_now_us(c);
    s->name = copy_text(name);
    alm_error_clear(&c->cx);
    if (s->name == NULL || !read_param_types(c, r, s)) {
        if (!c->skip)
            pg_fail(c, ALM_E_MEMORY, "out of memory");
        pg_statement_release(s);
        return;
    }
    parse(c, s, text);
}

/* ----------------------------------------------------------------------- bind */

pg_portal *pg_portal_new(pg_conn *c, alm_str name, pg_statement *statement)
{
    pg_portal *portal = calloc(1, sizeof(*portal));
    if (portal == NULL)
        return NULL;
    portal->name = copy_text(name);
    if (portal->name == NULL) {
        free(portal);
        return NULL;
    }
    alm_arena_init_small(&portal->arena, &c->requests->requests);
    portal->statement = statement;
    statement->refs++;
    return portal;
}

/* False: the error was sent. None of them: *out is NULL. */
static bool read_formats(pg_conn *c, pg_reader *r, int16_t **out, uint32_t *n)
{
    *out = NULL;
    *n = (uint32_t)(pg_read16(r) & 0xffff);
    if (*n == 0 && !r->bad) /* all as text: most clients, most of the time */
        return true;
    int16_t *formats = calloc(*n + 1, sizeof(*formats));
    int16_t unknown = 0;
    for (uint32_t i = 0; formats != NULL && i < *n; i++) {
        formats[i] = (int16_t)pg_read16(r);
        if (formats[i] != 0 && formats[i] != 1 && unknown == 0)
            unknown = formats[i];
    }
    *out = formats;
    if (formats != NULL && !r->bad && unknown == 0)
        return true;
    alm_error err = {.code = ALM_E_ARG, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), "unsupported format code: %d", (int)unknown);
    if (formats == NULL)
        pg_fail(c, ALM_E_MEMORY, "out of memory");
    else if (r->bad)
        pg_fail(c, ALM_E_PROTOCOL, "malformed Bind message");
    else
        pg_fail_err(c, &err, (alm_str){0});
    free(formats);
    *out = NULL;
    return false;
}

/* As many values as parameters, and formats for none, all or each of them? False: the error was sent. */
static bool counts_fit(pg_conn *c, const pg_statement *s, uint32_t n, uint32_t n_formats)
{
    alm_error err = {.code = ALM_E_PROTOCOL, .sql_pos = -1};
    if (n_formats > 1 && n_formats != n)
        (void)snprintf(err.msg, sizeof(err.msg),
                       "bind message has %u parameter formats but %u parameters", n_formats, n);
    else if (n != s->n_params)
        (void)snprintf(
            err.msg, sizeof(err.msg),
            "bind message supplies %u parameters, but prepared statement \"%s\" requires %u", n,
            s->name, s->n_params);
    else
        return true;
    pg_fail_err(c, &err, (alm_str){0});
    return false;
}

static bool result_formats_fit(pg_conn *c, const pg_portal *portal, uint32_t n_cols)
{
    alm_error err = {.code = ALM_E_PROTOCOL, .sql_pos = -1};
    if (portal->n_formats <= 1 || portal->n_formats == n_cols)
        return true;
    (void)snprintf(err.msg, sizeof(err.msg),
                   "bind message has %u result formats but query has %u columns", portal->n_formats,
                   n_cols);
    pg_fail_err(c, &err, (alm_str){0});
    return false;
}

static bool read_values(pg_conn *c, pg_reader *r, pg_portal *portal, const int16_t *formats,
                        uint32_t n_formats)
{
    const pg_statement *s = portal->statement;
    const uint32_t n = (uint32_t)(pg_read16(r) & 0xffff);
    if (r->bad) {
        pg_fail(c, ALM_E_PROTOCOL, "malformed Bind message");
        return false;
    }
    if (!counts_fit(c, s, n, n_formats))
        return false;
    c->cx.arena = &portal->arena;
    alm_status st = n == 0 ? ALM_OK : ALM_NEWN(&c->cx, &portal->arena, n, &portal->values);
    portal->n_values = n;
    for (uint32_t i = 0; st == ALM_OK && i < n; i++) {
        const int32_t length = pg_read32(r);
        alm_str bytes = {0};
        if (length >= 0)
            bytes = pg_read_bytes(r, (size_t)length);
        if (r->bad || length < -1) {
            pg_fail(c, ALM_E_PROTOCOL, "malformed Bind message");
            break;
        }
        const bool binary = n_formats > 0 && formats[n_formats == 1 ? 0 : i] == 1;
        st = alm_pg_param(&c->cx, &portal->arena, i, s->oids[i], s->types[i], binary, bytes,
                          &portal->values[i]);
    }
    c->cx.arena = &c->arena;
    if (st != ALM_OK)
        pg_fail_err(c, &c->cx.err, (alm_str){0});
    return st == ALM_OK && !r->bad;
}

/* May a portal have this name? The unnamed one is always replaced, a cursor by DECLARE never. */
static bool name_is_free(pg_conn *c, alm_str name)
{
    const pg_portal *there = alm_map_get(&c->portals, name);
    return name.len == 0 || there == NULL || (there->kept && !there->declared);
}

/* The unnamed one is no matter of the limit: there is but one. */
static bool portal_fits(pg_conn *c, alm_str name)
{
    const int64_t limit = alm_db_conf(c->pg->db)->pg_named_statement_limit;
    if (name.len > 0 && (int64_t)c->portals.count >= limit)
        drop_portals(c, PORTALS_KEPT);
    return name.len == 0 || (int64_t)c->portals.count < limit;
}

static void on_bind(pg_conn *c, pg_reader *r)
{
    const alm_str name = pg_read_text(r);
    const alm_str statement_name = pg_read_text(r);
    uint32_t n_formats = 0;
    int16_t *formats = NULL;
    if (!read_formats(c, r, &formats, &n_formats))
        return;
    pg_statement *s = alm_map_get(&c->statements, statement_name);
    pg_portal *portal = NULL;
    bool ok = false;
    alm_error_clear(&c->cx);
    if (s == NULL)
        fail_name(c, ALM_E_STATEMENT, "prepared statement \"%s\" does not exist",
                  statement_name.ptr);
    else if (!name_is_free(c, name))
        fail_name(c, ALM_E_PORTAL_EXISTS, "portal \"%s\" already exists", name.ptr);
    else if (!portal_fits(c, name))
        pg_fail(c, ALM_E_STATEMENT_LIMIT,
                "too many portals: the limit is pg.named.statement.limit");
    else if (describe(c, s)) {
        portal = pg_portal_new(c, name, s);
        if (portal == NULL)
            pg_fail(c, ALM_E_MEMORY, "out of memory");
        else
            ok = read_values(c, r, portal, formats, n_formats);
    }
    free(formats);
    if (ok) {
        ok = read_formats(c, r, &portal->formats, &portal->n_formats);
        uint32_t n_cols = 0;
        (void)pg_result_cols(c, s, &n_cols);
        if (ok && r->at != r->end) {
            pg_fail(c, ALM_E_PROTOCOL, "malformed Bind message: bytes behind the result formats");
            ok = false;
        }
        ok = ok && result_formats_fit(c, portal, n_cols);
    }
    if (ok) {
        drop_portal(c, name);
        ok = alm_map_put(&c->cx, &c->portals, (alm_str){portal->name, name.len}, portal, NULL) ==
             ALM_OK;
    }
    if (!ok) {
        pg_portal_free(portal);
        if (!c->skip)
            pg_fail(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    pg_simple_message(c, ALM_PG_SERVER_BIND_COMPLETE);
}

/* ------------------------------------------------------------ describe, close */

static void send_cols(pg_conn *c, const alm_plan_col *cols, uint32_t n, const int16_t *formats,
                      uint32_t n_formats)
{
    if (n > 0 && n_formats <= 1)
        pg_send_row_description(c, cols, n, formats, n_formats);
    else if (n > 0) /* a cursor may be another since the Bind */
        pg_send_row_description(c, cols, n, formats, n == n_formats ? n_formats : 1);
    else
        pg_simple_message(c, ALM_PG_SERVER_NO_DATA);
}

static void describe_statement(pg_conn *c, pg_statement *s)
{
    size_t at = 0;
    if (!describe(c, s))
        return;
    pg_begin(c, ALM_PG_SERVER_PARAMETER_DESCRIPTION, &at);
    pg_put16(c, (int32_t)s->n_params);
    for (uint32_t i = 0; i < s->n_params; i++)
        pg_put32(c, s->oids[i] != 0                ? (int32_t)s->oids[i]
                    : s->types[i].id == ALM_T_NONE ? ALM_PG_OID_TEXT
                                                   : alm_pg_oid(c->cx.conf, s->types[i]));
    pg_end(c, at);
    uint32_t n = 0;
    const alm_plan_col *cols = pg_result_cols(c, s, &n);
    send_cols(c, cols, n, NULL, 0);
}

static void on_describe(pg_conn *c, pg_reader *r)
{
    const alm_str kind = pg_read_bytes(r, 1);
    const alm_str name = pg_read_text(r);
    if (r->bad || r->at != r->end ||
        (kind.ptr[0] != ALM_PG_TARGET_STATEMENT && kind.ptr[0] != ALM_PG_TARGET_PORTAL)) {
        pg_fail(c, ALM_E_PROTOCOL, "malformed Describe message");
        return;
    }
    if (kind.ptr[0] == ALM_PG_TARGET_STATEMENT) {
        pg_statement *s = alm_map_get(&c->statements, name);
        if (s == NULL)
            fail_name(c, ALM_E_STATEMENT, "prepared statement \"%s\" does not exist", name.ptr);
        else
            describe_statement(c, s);
        return;
    }
    pg_portal *portal = alm_map_get(&c->portals, name);
    alm_error err;
    if (portal == NULL)
        fail_name(c, ALM_E_PORTAL, "portal \"%s\" does not exist", name.ptr);
    else if (pg_cursor_is_closed(portal, &err))
        pg_fail_err(c, &err, (alm_str){0});
    else {
        uint32_t n = 0;
        const alm_plan_col *cols = portal->declared ? alm_cursor_cols(portal->cursor, &n)
                                                    : pg_result_cols(c, portal->statement, &n);
        send_cols(c, cols, n, portal->formats, portal->n_formats);
    }
}

static void on_close(pg_conn *c, pg_reader *r)
{
    const alm_str kind = pg_read_bytes(r, 1);
    const alm_str name = pg_read_text(r);
    if (r->bad || r->at != r->end ||
        (kind.ptr[0] != ALM_PG_TARGET_STATEMENT && kind.ptr[0] != ALM_PG_TARGET_PORTAL)) {
        pg_fail(c, ALM_E_PROTOCOL, "malformed Close message");
        return;
    }
    if (kind.ptr[0] == ALM_PG_TARGET_STATEMENT)
        pg_statement_drop(c, name);
    else
        drop_portal(c, name);
    pg_simple_message(c, ALM_PG_SERVER_CLOSE_COMPLETE);
}

static void on_execute(pg_conn *c, pg_reader *r)
{
    const alm_str name = pg_read_text(r);
    const int32_t limit = pg_read32(r);
    pg_portal *portal = r->bad ? NULL : alm_map_get(&c->portals, name);
    alm_error err;
    if (r->bad || r->at != r->end)
        pg_fail(c, ALM_E_PROTOCOL, "malformed Execute message");
    else if (portal == NULL)
        fail_name(c, ALM_E_PORTAL, "portal \"%s\" does not exist", name.ptr);
    else if (pg_cursor_is_closed(portal, &err))
        pg_fail_err(c, &err, (alm_str){0});
    else if (portal->done && portal->cursor != NULL && !pg_is_fetch(portal) &&
             !alm_cursor_has_rows(portal->cursor))
        fail_name(c, ALM_E_PORTAL, "portal \"%s\" cannot be run again", name.ptr);
    else {
        pg_run_portal(c, portal, limit > 0 ? limit : 0, c->ahead == ALM_PG_CLIENT_SYNC);
    }
}

/* Portals whose rows are all sent go; others stay, so that a fetch size works without a block. */
void pg_synced(pg_conn *c)
{
    c->skip = false;
    drop_portals(c, PORTALS_DONE);
    pg_send_ready(c);
}

static void on_sync(pg_conn *c)
{
    if (alm_session_pending(c->session))
        pg_run_sync(c);
    else
        pg_synced(c);
}

/* ------------------------------------------------------------------- messages */

void pg_message_refused(pg_conn *c, char type, alm_status code, const char *text)
{
    if (c->copying) {
        pg_copy_fail(c, code, text);
        return;
    }
    if (c->skip)
        return; /* the client has heard of an error */
    pg_fail(c, code, text);
    if (type == ALM_PG_CLIENT_QUERY || type == ALM_PG_CLIENT_FUNCTION_CALL ||
        type == ALM_PG_CLIENT_SYNC)
        on_sync(c);
}

static void unknown_message(pg_conn *c, char type)
{
    alm_error err = {.code = ALM_E_PROTOCOL, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), "unknown message [type=%d]", type);
    pg_send_error(c, &err, (alm_str){0}, true);
    pg_flush(c);
    alm_conn_finish(c->conn);
}

/* Names of statements and portals; what is no message at all is left to its reader. */
static bool names_are_utf8(char type, pg_reader r)
{
    if (type == ALM_PG_CLIENT_DESCRIBE || type == ALM_PG_CLIENT_CLOSE)
        (void)pg_read_bytes(&r, 1);
    else if (type != ALM_PG_CLIENT_PARSE && type != ALM_PG_CLIENT_BIND &&
             type != ALM_PG_CLIENT_EXECUTE)
        return true;
    const bool first = alm_utf8_is_valid(pg_read_text(&r));
    return first && (type != ALM_PG_CLIENT_BIND || alm_utf8_is_valid(pg_read_text(&r)));
}

void pg_message(pg_conn *c, char type, const char *body, size_t n)
{
    pg_reader r = {.at = body, .end = body + n};
    alm_conn_deadline(c->conn, 0); /* not idle; see pg_send_ready */
    if (c->copying) {
        pg_copy_message(c, type, body, n);
        return;
    }
    if (c->skip && type != ALM_PG_CLIENT_SYNC && type != ALM_PG_CLIENT_TERMINATE)
        return;
    if (!names_are_utf8(type, r)) {
        pg_fail(c, ALM_E_UTF8, "a name is not UTF-8");
        return;
    }
    switch (type) {
    case ALM_PG_CLIENT_QUERY: {
        const alm_str text = pg_read_text(&r);
        if (r.bad || r.at != r.end) {
            pg_fail(c, ALM_E_PROTOCOL, "malformed Query message");
            on_sync(c);
        } else {
            pg_statement_drop(c, (alm_str){"", 0}); /* as the unnamed portal: a query uses both */
            drop_portal(c, (alm_str){"", 0});
            pg_run_simple(c, text);
        }
        return;
    }
    case ALM_PG_CLIENT_PARSE:
        on_parse(c, &r);
        return;
    case ALM_PG_CLIENT_BIND:
        on_bind(c, &r);
        return;
    case ALM_PG_CLIENT_DESCRIBE:
        on_describe(c, &r);
        return;
    case ALM_PG_CLIENT_EXECUTE:
        on_execute(c, &r);
        return;
    case ALM_PG_CLIENT_CLOSE:
        on_close(c, &r);
        return;
    case ALM_PG_CLIENT_FLUSH:
        pg_flush(c);
        return;
    case ALM_PG_CLIENT_SYNC:
        on_sync(c);
        return;
    case ALM_PG_CLIENT_TERMINATE:
        alm_conn_finish(c->conn);
        return;
    case ALM_PG_CLIENT_FUNCTION_CALL:
        pg_message_refused(c, type, ALM_E_UNSUPPORTED,
                           "the function call protocol is not supported");
        return;
    case ALM_PG_CLIENT_COPY_DATA:
    case ALM_PG_CLIENT_COPY_DONE:
    case ALM_PG_CLIENT_COPY_FAIL:
        return; /* rest of a COPY that failed */
    default:
        unknown_message(c, type);
        return;
    }
}
