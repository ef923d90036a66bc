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
static alm_status link_wire_conn_failed(alm_ctx *cx, wire *self, const char *what)
{
    const char *text = PQerrorMessage(self->conn);
    const size_t len = strcspn(text, "\n");
    self->link.lost = PQstatus(self->conn) != CONNECTION_OK;
    return alm_fail(cx, ALM_E_IO, -1, "%s%.*s", what, (int)ALM_MIN(len, 900), text);
}

static alm_status said(alm_ctx *cx, wire *self, const PGresult *result, alm_str sql)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *place = PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION);
    if (state == NULL || text == NULL)
        return link_wire_conn_failed(cx, self, "");
    (void)snprintf(self->link.sqlstate, sizeof(self->link.sqlstate), "%s", state);
    self->link.lost = PQstatus(self->conn) != CONNECTION_OK;
    const int64_t character = place != NULL ? strtoll(place, NULL, 10) : 0;
    const int64_t own = ALM_MAX(character - self->before, INT64_C(1)); /* of the statement itself */
    const size_t offset = character > 0 ? alm_utf8_offset(sql, (size_t)own - 1) : 0;
    return alm_fail(cx, ALM_E_ARG, character > 0 ? (int32_t)offset : -1, "%s", text);
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

static alm_status link_wire_begin(alm_ctx *cx, const PGresult *result, alm_arena *arena,
                                  alm_out *out)
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

static alm_status link_wire_put_row(alm_ctx *cx, const PGresult *result, alm_str *cells,
                                    alm_out *out)
{
    for (int i = 0; i < PQnfields(result); i++) {
        const bool null = PQgetisnull(result, 0, i) != 0;
        cells[i] = (alm_str){null ? NULL : PQgetvalue(result, 0, i),
                             null ? 0 : (size_t)PQgetlength(result, 0, i)};
    }
    return alm_out_row(cx, out, cells);
}

/* ----------------------------------------------------------------------------- copy */

static alm_status copy_out(alm_ctx *cx, wire *self, alm_out *out)
{
    for (;;) {
        char *bytes = NULL;
        const int n = PQgetCopyData(self->conn, &bytes, 0);
        if (n < 0)
            return ALM_OK; /* the result behind it tells how it ended */
        const alm_status status = alm_out_raw(cx, out, bytes, (size_t)n);
        PQfreemem(bytes);
        ALM_TRY(status);
    }
}

static alm_status copy_in(alm_ctx *cx, wire *self)
{
    char bytes[COPY_BYTES];
    const char *refused = NULL;
    if (self->link.input == NULL)
        refused = "standard input is the script, and cannot hold the rows of COPY as well";
    for (size_t n = 1; refused == NULL && n > 0;) {
        n = fread(bytes, 1, sizeof(bytes), self->link.input);
        if (n > 0 && PQputCopyData(self->conn, bytes, (int)n) != 1)
            return link_wire_conn_failed(cx, self, "");
        if (ferror(self->link.input) != 0)
            refused = "standard input cannot be read";
    }
    return PQputCopyEnd(self->conn, refused) == 1 ? ALM_OK : link_wire_conn_failed(cx, self, "");
}

/* ------------------------------------------------------------------------------ run */

/* What is read of one statement's answer. */
typedef struct answer {
    alm_arena arena;
    alm_str *cells; /* NULL: no row has come */
    bool has_rows, copied;
} answer;

static alm_status link_wire_take(alm_ctx *cx, wire *self, const PGresult *result, answer *reply,
                                 alm_out *out, alm_str sql)
{
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COPY_OUT) {
        reply->copied = true;
        return copy_out(cx, self, out);
    }
    if (status == PGRES_COPY_IN)
        return copy_in(cx, self);
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE)
        return said(cx, self, result, sql);
    if (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK) {
        if (!reply->has_rows) {
            ALM_TRY(link_wire_begin(cx, result, &reply->arena, out));
            ALM_TRY(ALM_NEWN(cx, &reply->arena, (uint32_t)PQnfields(result) + 1U, &reply->cells));
        }
        reply->has_rows = true;
        if (status == PGRES_SINGLE_TUPLE)
            return link_wire_put_row(cx, result, reply->cells, out);
    }
    char *tag = PQcmdStatus((PGresult *)(uintptr_t)result);
    (void)snprintf(self->tag, sizeof(self->tag), "%s", tag);
    return ALM_OK;
}

/* All results, to the last: the connection is ready for the next statement. */
static alm_status link_wire_take_all(alm_ctx *cx, wire *self, answer *reply, alm_out *out,
                                     alm_str sql)
{
    alm_status status = ALM_OK;
    for (PGresult *result; (result = PQgetResult(self->conn)) != NULL; PQclear(result)) {
        if (status != ALM_OK)
            continue;
        status = link_wire_take(cx, self, result, reply, out, sql);
        if (status != ALM_OK && self->link.sqlstate[0] == 0 && !self->link.lost)
            self->link.cancel(
                &self->link); /* a client-side error: the remaining rows are not needed */
    }
    if (status == ALM_OK && reply->has_rows)
        status = alm_out_end(cx, out);
    if (status != ALM_OK)
        alm_out_drop(out);
    return status;
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
static alm_status link_wire_text_of(alm_ctx *cx, wire *self, alm_arena *arena, const alm_out *out,
                                    alm_str sql, const char **text)
{
    static const char before[] = "COPY (";
    self->before = 0;
    if (!out->form->parquet || !is_query(sql))
        return alm_arena_zstr(cx, arena, sql, text);
    while (sql.len > 0 && strchr("; \t\r\n", sql.ptr[sql.len - 1]) != NULL)
        sql.len--;
    self->before = (int64_t)sizeof(before) - 1;
    return alm_arena_printf(cx, arena, text, "%s%.*s\n) TO STDOUT (FORMAT parquet)", before,
                            (int)sql.len, sql.ptr);
}

static alm_status link_wire_run(alm_ctx *cx, alm_link *link, alm_str sql, alm_out *out,
                                const char **tag)
{
    wire *self = (wire *)link;
    answer reply = {0};
    const char *text = NULL;
    link->sqlstate[0] = 0;
    self->tag[0] = 0;
    alm_arena_init(&reply.arena, NULL);
    alm_status status = link_wire_text_of(cx, self, &reply.arena, out, sql, &text);
    if (status == ALM_OK &&
        (PQsendQuery(self->conn, text) != 1 || PQsetSingleRowMode(self->conn) != 1))
        status = link_wire_conn_failed(cx, self, "");
    if (status == ALM_OK)
        status = link_wire_take_all(cx, self, &reply, out, sql);
    if (status == ALM_OK && !reply.has_rows)
        status =
            alm_out_tag(cx, out, reply.copied ? NULL : self->tag); /* rows of COPY stand alone */
    alm_arena_deinit(&reply.arena);
    *tag = self->tag;
    return status;
}

static void link_wire_cancel(alm_link *link)
{
    char message[256];
    (void)PQcancel(((wire *)link)->cancel, message, sizeof(message)); /* safe in a handler */
}

static void close_wire(alm_link *link)
{
    wire *self = (wire *)link;
    PQfreeCancel(self->cancel);
    PQfinish(self->conn);
    free(self);
}

/* -------------------------------------------------------------------------- connect */

static const char *or_env(const char *given, const char *env, const char *otherwise)
{
    if (given != NULL)
        return given;
    return getenv(env) != NULL ? getenv(env) : otherwise;
}

static PGconn *connect_with(const alm_link_options *options, const char *password)
{
    const char *const keys[] = {"host",       "port",
                                "user",       "password",
                                "dbname",     "application_name",
                                "gssencmode", "client_encoding",
                                NULL};
    const char *const values[] = {or_env(options->host, "PGHOST", "127.0.0.1"),
                                  or_env(options->port, "PGPORT", "8812"),
                                  or_env(options->user, "PGUSER", "admin"),
                                  password,
                                  or_env(NULL, "PGDATABASE", "qdb"),
                                  "almanac sql",
                                  "disable",
                                  "UTF8",
                                  NULL};
    return PQconnectdbParams(keys, values, 0);
}

/* Asks on the terminal, without showing what is typed; false: there is no terminal. */
static bool link_wire_ask_password(char password[PASSWORD_MAX])
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
    w->link = (alm_link){.run = link_wire_run, .cancel = link_wire_cancel, .close = close_wire};
    w->conn = connect_with(options, getenv("ALMANAC_PASSWORD"));
    if (PQstatus(w->conn) != CONNECTION_OK && PQconnectionNeedsPassword(w->conn) != 0 &&
        link_wire_ask_password(password)) {
        PQfinish(w->conn);
        w->conn = connect_with(options, password);
    }
    explicit_bzero(password, sizeof(password));
    if (PQstatus(w->conn) != CONNECTION_OK) {
        const alm_status status = link_wire_conn_failed(cx, w, "");
        close_wire(&w->link);
        return status;
    }
    w->cancel = PQgetCancel(w->conn);
    (void)PQsetNoticeReceiver(w->conn, notice, NULL);
    *out = &w->link;
    return ALM_OK;
}
