/*
 * link_wire.c - a server over the PostgreSQL protocol, by libpq: logins, TLS and its settings (PGSSLMODE
 * ...) are what every client of libpq has. Rows come one by one, whatever their number.
 */
#include <libpq-fe.h>
#include <stdlib.h>
#include <termios.h>

#include "base/utf8.h"
#include "cli/link.h"
#include "type/pg_oid.h"

enum { PASSWORD_MAX = 1024, COPY_BYTES = 1 << 16 };

typedef struct wire {
    alm_link link;
    PGconn *conn;
    PGcancel *cancel;
    char tag[64];
    int64_t before; /* characters before the statement in what was sent */
} wire;

alm_cell_kind alm_link_kind(uint32_t oid)
{
    switch (oid) {
    case ALM_PG_OID_BOOL:
        return ALM_CELL_BOOL;
    case ALM_PG_OID_INT8:
    case ALM_PG_OID_INT2:
    case ALM_PG_OID_INT4:
    case ALM_PG_OID_FLOAT4:
    case ALM_PG_OID_FLOAT8:
    case ALM_PG_OID_NUMERIC:
        return ALM_CELL_NUMBER;
    default:
        return ALM_CELL_TEXT;
    }
}

/* --------------------------------------------------------------------------- errors */

/* The first line of what libpq says, without its prefix. */
static alm_status conn_failed(alm_ctx *cx, wire *w, const char *what)
{
    const char *text = PQerrorMessage(w->conn);
    const size_t n = strcspn(text, "\n");
    w->link.lost = PQstatus(w->conn) != CONNECTION_OK;
    return alm_fail(cx, ALM_E_IO, -1, "%s%.*s", what, (int)ALM_MIN(n, 900), text);
}

static alm_status said(alm_ctx *cx, wire *w, const PGresult *result, alm_str sql)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *place = PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION);
    if (state == NULL || text == NULL)
        return conn_failed(cx, w, "");
    (void)snprintf(w->link.sqlstate, sizeof(w->link.sqlstate), "%s", state);
    w->link.lost = PQstatus(w->conn) != CONNECTION_OK;
    const int64_t character = place != NULL ? strtoll(place, NULL, 10) : 0;
    const int64_t own = ALM_MAX(character - w->before, INT64_C(1)); /* of the statement itself */
    const size_t at = character > 0 ? alm_utf8_offset(sql, (size_t)own - 1) : 0;
    return alm_fail(cx, ALM_E_ARG, character > 0 ? (int32_t)at : -1, "%s", text);
}

static void notice(void *arg, const PGresult *result)
{
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY);
    (void)arg;
    if (text != NULL)
        (void)fprintf(stderr, "%s: %s\n", severity != NULL ? severity : "NOTICE", text);
}

/* ----------------------------------------------------------------------------- rows */

static alm_status begin(alm_ctx *cx, const PGresult *result, alm_arena *arena, alm_out *out)
{
    const uint32_t n = (uint32_t)PQnfields(result);
    alm_out_col *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, n + 1U, &cols));
    for (uint32_t i = 0; i < n; i++) {
        alm_str name;
        ALM_TRY(alm_arena_zstr(cx, arena, alm_str_of(PQfname(result, (int)i)), &name.ptr));
        cols[i] = (alm_out_col){name.ptr, alm_link_kind(PQftype(result, (int)i))};
    }
    return alm_out_begin(cx, out, cols, n);
}

static alm_status put_row(alm_ctx *cx, const PGresult *result, alm_str *cells, alm_out *out)
{
    for (int i = 0; i < PQnfields(result); i++) {
        const bool null = PQgetisnull(result, 0, i) != 0;
        cells[i] = (alm_str){null ? NULL : PQgetvalue(result, 0, i),
                             null ? 0 : (size_t)PQgetlength(result, 0, i)};
    }
    return alm_out_row(cx, out, cells);
}

/* ----------------------------------------------------------------------------- copy */

static alm_status copy_out(alm_ctx *cx, wire *w, alm_out *out)
{
    for (;;) {
        char *bytes = NULL;
        const int n = PQgetCopyData(w->conn, &bytes, 0);
        if (n < 0)
            return ALM_OK; /* the result behind it tells how it ended */
        const alm_status st = alm_out_raw(cx, out, bytes, (size_t)n);
        PQfreemem(bytes);
        ALM_TRY(st);
    }
}

static alm_status copy_in(alm_ctx *cx, wire *w)
{
    char bytes[COPY_BYTES];
    const char *refused = NULL;
    if (w->link.input == NULL)
        refused = "standard input is the script, and cannot hold the rows of COPY as well";
    for (size_t n = 1; refused == NULL && n > 0;) {
        n = fread(bytes, 1, sizeof(bytes), w->link.input);
        if (n > 0 && PQputCopyData(w->conn, bytes, (int)n) != 1)
            return conn_failed(cx, w, "");
        if (ferror(w->link.input) != 0)
            refused = "standard input cannot be read";
    }
    return PQputCopyEnd(w->conn, refused) == 1 ? ALM_OK : conn_failed(cx, w, "");
}

/* ------------------------------------------------------------------------------ run */

/* What is read of one statement's answer. */
typedef struct answer {
    alm_arena arena;
    alm_str *cells; /* NULL: no row has come */
    bool has_rows, copied;
} answer;

static alm_status take(alm_ctx *cx, wire *w, const PGresult *result, answer *a, alm_out *out,
                       alm_str sql)
{
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COPY_OUT) {
        a->copied = true;
        return copy_out(cx, w, out);
    }
    if (status == PGRES_COPY_IN)
        return copy_in(cx, w);
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE)
        return said(cx, w, result, sql);
    if (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK) {
        if (!a->has_rows) {
            ALM_TRY(begin(cx, result, &a->arena, out));
            ALM_TRY(ALM_NEWN(cx, &a->arena, (uint32_t)PQnfields(result) + 1U, &a->cells));
        }
        a->has_rows = true;
        if (status == PGRES_SINGLE_TUPLE)
            return put_row(cx, result, a->cells, out);
    }
    char *tag = PQcmdStatus((PGresult *)(uintptr_t)result);
    (void)snprintf(w->tag, sizeof(w->tag), "%s", tag);
    return ALM_OK;
}

/* All results, to the last: the connection is ready for the next statement. */
static alm_status take_all(alm_ctx *cx, wire *w, answer *a, alm_out *out, alm_str sql)
{
    alm_status st = ALM_OK;
    for (PGresult *result; (result = PQgetResult(w->conn)) != NULL; PQclear(result)) {
        if (st != ALM_OK)
            continue;
        st = take(cx, w, result, a, out, sql);
        if (st != ALM_OK && w->link.sqlstate[0] == 0 && !w->link.lost)
            w->link.cancel(&w->link); /* our own fault: nobody wants the rest of the rows */
    }
    if (st == ALM_OK && a->has_rows)
        st = alm_out_end(cx, out);
    if (st != ALM_OK)
        alm_out_drop(out);
    return st;
}

/* Does it begin like something that COPY takes in brackets? */
static bool is_query(alm_str sql)
{
    static const char *const words[] = {"select", "with", "from", "show", "declare", "("};
    while (sql.len > 0 && strchr(" \t\r\n", sql.ptr[0]) != NULL)
        sql = (alm_str){sql.ptr + 1, sql.len - 1};
    for (size_t i = 0; i < ALM_COUNT(words); i++) {
        const alm_str word = alm_str_of(words[i]);
        if (sql.len >= word.len && alm_str_ieq((alm_str){sql.ptr, word.len}, word))
            return true;
    }
    return false;
}

/* The statement as it is sent: a query whose rows are to be a file becomes a COPY. */
static alm_status text_of(alm_ctx *cx, wire *w, alm_arena *arena, const alm_out *out, alm_str sql,
                          const char **text)
{
    static const char before[] = "COPY (";
    w->before = 0;
    if (!out->form->parquet || !is_query(sql))
        return alm_arena_zstr(cx, arena, sql, text);
    while (sql.len > 0 && strchr("; \t\r\n", sql.ptr[sql.len - 1]) != NULL)
        sql.len--;
    w->before = (int64_t)sizeof(before) - 1;
    return alm_arena_printf(cx, arena, text, "%s%.*s\n) TO STDOUT (FORMAT parquet)", before,
                            (int)sql.len, sql.ptr);
}

static alm_status run(alm_ctx *cx, alm_link *link, alm_str sql, alm_out *out, const char **tag)
{
    wire *w = (wire *)link;
    answer a = {0};
    const char *text = NULL;
    link->sqlstate[0] = 0;
    w->tag[0] = 0;
    alm_arena_init(&a.arena, NULL);
    alm_status st = text_of(cx, w, &a.arena, out, sql, &text);
    if (st == ALM_OK && (PQsendQuery(w->conn, text) != 1 || PQsetSingleRowMode(w->conn) != 1))
        st = conn_failed(cx, w, "");
    if (st == ALM_OK)
        st = take_all(cx, w, &a, out, sql);
    if (st == ALM_OK && !a.has_rows)
        st = alm_out_tag(cx, out, a.copied ? NULL : w->tag); /* rows of COPY stand alone */
    alm_arena_deinit(&a.arena);
    *tag = w->tag;
    return st;
}

static void cancel(alm_link *link)
{
    char message[256];
    (void)PQcancel(((wire *)link)->cancel, message, sizeof(message)); /* safe in a handler */
}

static void close_wire(alm_link *link)
{
    wire *w = (wire *)link;
    PQfreeCancel(w->cancel);
    PQfinish(w->conn);
    free(w);
}

/* -------------------------------------------------------------------------- connect */

static const char *or_env(const char *given, const char *env, const char *otherwise)
{
    if (given != NULL)
        return given;
    return getenv(env) != NULL ? getenv(env) : otherwise;
}

static PGconn *connect_with(const alm_link_options *o, const char *password)
{
    const char *const keys[] = {"host",       "port",
                                "user",       "password",
                                "dbname",     "application_name",
                                "gssencmode", "client_encoding",
                                NULL};
    const char *const values[] = {or_env(o->host, "PGHOST", "127.0.0.1"),
                                  or_env(o->port, "PGPORT", "8812"),
                                  or_env(o->user, "PGUSER", "admin"),
                                  password,
                                  or_env(NULL, "PGDATABASE", "qdb"),
                                  "almanac sql",
                                  "disable",
                                  "UTF8",
                                  NULL};
    return PQconnectdbParams(keys, values, 0);
}

/* Asks on the terminal, without showing what is typed; false: there is no terminal. */
static bool ask_password(char password[PASSWORD_MAX])
{
    FILE *tty = fopen("/dev/tty", "r+");
    struct termios shown, hidden;
    bool done = false;
    if (tty == NULL)
        return false;
    if (tcgetattr(fileno(tty), &shown) == 0) {
        hidden = shown;
        hidden.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(fileno(tty), TCSAFLUSH, &hidden);
        (void)dprintf(fileno(tty), "Password: ");
        done = fgets(password, PASSWORD_MAX, tty) != NULL;
        password[done ? strcspn(password, "\r\n") : 0] = 0;
        (void)dprintf(fileno(tty), "\n");
        (void)tcsetattr(fileno(tty), TCSAFLUSH, &shown);
    }
    (void)fclose(tty);
    return done;
}

alm_status alm_link_wire(alm_ctx *cx, const alm_link_options *options, alm_link **out)
{
    char password[PASSWORD_MAX] = "";
    wire *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    w->link = (alm_link){.run = run, .cancel = cancel, .close = close_wire};
    w->conn = connect_with(options, getenv("ALMANAC_PASSWORD"));
    if (PQstatus(w->conn) != CONNECTION_OK && PQconnectionNeedsPassword(w->conn) != 0 &&
        ask_password(password)) {
        PQfinish(w->conn);
        w->conn = connect_with(options, password);
    }
    explicit_bzero(password, sizeof(password));
    if (PQstatus(w->conn) != CONNECTION_OK) {
        const alm_status st = conn_failed(cx, w, "");
        close_wire(&w->link);
        return st;
    }
    w->cancel = PQgetCancel(w->conn);
    (void)PQsetNoticeReceiver(w->conn, notice, NULL);
    *out = &w->link;
    return ALM_OK;
}
