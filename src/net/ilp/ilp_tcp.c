/*
 * ilp_tcp.c - lines from a TCP connection into tables.
 */
#include "net/ilp/ilp_tcp.h"

#include <stdio.h>
#include <string.h>

#include "base/conf.h"
#include "base/log.h"
#include "session/lines.h"

/* A piece of work reads as much as is there, up to PIECE_BYTES: a client that sends fast gets large commits. */
enum { PIECE_BYTES = 4 << 20, REASON_BYTES = 400 };

typedef struct tcp {
    alm_conn *conn;
    alm_session *session;
    alm_buf in;      /* lines that wait, the last of them may be incomplete */
    size_t line_max; /* line.tcp.max.measurement.size */
    bool failed;
    int64_t stored, dropped;
    char reason[REASON_BYTES];
} tcp;

static void tcp_open(alm_conn *conn)
{
    tcp *c = alm_conn_state(conn);
    const struct alm_conf *conf = alm_db_conf(alm_conn_db(conn));
    c->conn = conn;
    c->line_max = (size_t)conf->line_tcp_max_measurement_size;
    alm_buf_init(&c->in, NULL);
    alm_conn_input_max(conn, 1 << 20);
}

static char unit_of(const char *name)
{
    return strcmp(name, "n") == 0 || strcmp(name, "ns") == 0   ? 'n'
           : strcmp(name, "u") == 0 || strcmp(name, "us") == 0 ? 'u'
           : strcmp(name, "ms") == 0                           ? 'm'
           : strcmp(name, "s") == 0                            ? 's'
           : strcmp(name, "m") == 0                            ? 'M'
                                                               : 'h';
}

static void fail(tcp *c, const char *message)
{
    c->failed = true;
    (void)snprintf(c->reason, sizeof c->reason, "%.*s", REASON_BYTES - 1, message);
}

/* Bad lines: the good ones before the first are stored, or all good ones, as configured. */
static void note_bad_lines(tcp *c, const alm_lines *lines)
{
    const alm_line_error *first = alm_lines_error_at(lines, 0);
    c->dropped += alm_lines_error_count(lines);
    for (size_t i = 0; alm_lines_error_at(lines, i) != NULL; i++)
        alm_log_warn("line tcp", "connection %llu: %s", (unsigned long long)alm_conn_id(c->conn),
                     alm_lines_error_at(lines, i)->message);
    if (alm_db_conf(alm_conn_db(c->conn))->line_tcp_disconnect_on_error)
        fail(c, first->message);
}

static void work(void *arg)
{
    tcp *c = arg;
    const struct alm_conf *conf = alm_db_conf(alm_conn_db(c->conn));
    const alm_lines_options options = {.unit = unit_of(conf->line_tcp_timestamp),
                                       .stop_at_error = conf->line_tcp_disconnect_on_error};
    alm_lines *lines = NULL;
    size_t used = 0;
    alm_status st = alm_lines_begin(c->session, &options, &lines);
    if (st == ALM_OK)
        st = alm_lines_feed(lines, c->in.ptr, c->in.len, false, &used);
    if (st != ALM_OK) {
        fail(c, alm_session_error(c->session)->msg);
        alm_lines_drop(lines);
        return;
    }
    if (alm_lines_error_count(lines) > 0)
        note_bad_lines(c, lines);
    const int64_t rows = alm_lines_rows(lines);
    if (alm_lines_commit(lines) != ALM_OK)
        fail(c, alm_session_error(c->session)->msg);
    else
        c->stored += rows;
    c->in.len -= used;
    if (c->in.len > 0 && used > 0)
        (void)memmove(c->in.ptr, c->in.ptr + used, c->in.len);
    if (!c->failed && c->in.len > c->line_max)
        fail(c, "a line is longer than line.tcp.max.measurement.size");
}

static void hang_up(tcp *c)
{
    char text[REASON_BYTES + 40];
    alm_log_warn("line tcp", "connection %llu closed: %s", (unsigned long long)alm_conn_id(c->conn),
                 c->reason);
    const int n = snprintf(text, sizeof text, "error: %s\n", c->reason);
    alm_conn_send_bytes(c->conn, text, (size_t)n);
    alm_conn_finish(c->conn);
}

static void done(alm_conn *conn, void *arg)
{
    tcp *c = arg;
    (void)conn;
    if (c->failed)
        hang_up(c);
}

static bool has_line(const char *bytes, size_t n)
{
    return memchr(bytes, '\n', n) != NULL;
}

static size_t tcp_data(alm_conn *conn, const char *bytes, size_t n)
{
    tcp *c = alm_conn_state(conn);
    alm_ctx cx = {0};
    if (c->failed)
        return n;
    if (c->session == NULL) {
        alm_db *db = alm_conn_db(conn);
        const alm_status st = alm_session_new(&cx, db, "admin", "line", &c->session);
        if (st != ALM_OK) {
            fail(c, cx.err.msg);
            hang_up(c);
            return n;
        }
        alm_session_no_blocks(c->session);
    }
    const size_t take = ALM_MIN(n, (size_t)PIECE_BYTES);
    if (alm_buf_append(&cx, &c->in, bytes, take) != ALM_OK) {
        fail(c, "out of memory");
        hang_up(c);
        return n;
    }
    if (has_line(bytes, take) || c->in.len > c->line_max)
        alm_conn_work(conn, work, done, NULL, c);
    return take;
}

static void tcp_closing(alm_conn *conn)
{
    (void)conn; /* what arrived before the end is stored */
}

static void tcp_close(alm_conn *conn)
{
    tcp *c = alm_conn_state(conn);
    if (c->in.len > 0 && !c->failed)
        alm_log_warn("line tcp", "connection %llu ended within a line: %zu bytes are dropped",
                     (unsigned long long)alm_conn_id(conn), c->in.len);
    alm_session_free(c->session);
    alm_buf_deinit(&c->in);
}

const alm_protocol alm_ilp_protocol = {.name = "line",
                                       .state_bytes = sizeof(tcp),
                                       .open = tcp_open,
                                       .data = tcp_data,
                                       .closing = tcp_closing,
                                       .close = tcp_close,
                                       .half_close = true};
