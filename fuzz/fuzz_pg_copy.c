/*
 * fuzz_pg_copy.c - COPY on whole connections of the PostgreSQL protocol, without a socket (fake_pg.h):
 * CopyData cut at any place, CopyDone, CopyFail, Sync, other messages in between, types that are none.
 *
 * Byte 0 is the size of pieces, byte 1 the statement, byte 2 whether it comes by the extended protocol.
 * Then messages: a byte for the type, one for the length, the body.
 *
 * All that is sent must be well-formed. Where no other statement came, the table has the rows that the
 * tags say, and none of a COPY that failed.
 */
#include "fake_pg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const copies[] = {
    "copy ct from stdin",
    "copy ct from stdin (format csv)",
    "copy ct from stdin (format binary)",
    "copy ct (ts, v) from stdin csv header delimiter ';' null 'N' quote '''' escape '\\'",
    "copy ct from stdin (on_error skip_row)",
    "copy ct from stdin (format csv, on_error skip_column, force_null (t), force_not_null (s))",
    "copy ct (ts, s, v, i, t) from stdin (header match)",
    "copy ct (v, ts) from stdin (format binary, on_error skip_column)",
    "copy ct from stdin (on_error skip_row, reject_limit 2) where v > 1 and s = 'x'",
    "copy nope from stdin",
    "copy ct from stdin (format csv); copy ct to stdout",
    "copy (select * from ct) to stdout (format csv, header, force_quote *)",
    "copy ct to stdout (format binary)",
};

static const char *const others[] = {"select 1",
                                     "begin",
                                     "commit",
                                     "rollback",
                                     "copy ct to stdout",
                                     "copy ct from stdin",
                                     "insert into ct values ('2024-01-01', 'x', 1, 1, 't')",
                                     "truncate table ct",
                                     "drop table nope",
                                     ""};

static void put_bytes(alm_buf *out, const void *bytes, size_t n)
{
    alm_ctx cx = {0};
    ALM_ASSERT(alm_buf_append(&cx, out, bytes, n) == ALM_OK);
}

static void put_query(alm_buf *out, const char *sql)
{
    fake_pg_put(out, 'Q', (alm_str){sql, strlen(sql) + 1});
}

static void put_extended(alm_buf *out, const char *sql)
{
    static const char zeros[8] = {0};
    alm_buf body;
    alm_buf_init(&body, NULL);
    put_bytes(&body, zeros, 1); /* the statement without a name */
    put_bytes(&body, sql, strlen(sql) + 1);
    put_bytes(&body, zeros, 2);
    fake_pg_put(out, 'P', (alm_str){body.ptr, body.len});
    fake_pg_put(out, 'B', (alm_str){zeros, 8});
    fake_pg_put(out, 'E', (alm_str){zeros, 5});
    alm_buf_deinit(&body);
}

/* The messages of an input; *alone: none of them brings a statement. */
static void put_messages(alm_buf *out, alm_str bytes, bool *alone)
{
    static const char kinds[] = "ddddddddddcfSHQPBDECX";
    for (size_t at = 0; at + 2 <= bytes.len;) {
        const unsigned char kind = (unsigned char)bytes.ptr[at];
        const size_t n = ALM_MIN((size_t)(unsigned char)bytes.ptr[at + 1], bytes.len - at - 2);
        const char type = kind < 192 ? kinds[kind % (sizeof(kinds) - 1)] : (char)kind;
        const alm_str body = {bytes.ptr + at + 2, n};
        const char *other = others[n > 0 ? (unsigned char)body.ptr[0] % ALM_COUNT(others) : 0];
        *alone &= strchr("dcfSH", type) != NULL;
        at += 2 + n;
        if (type == 'Q')
            put_query(out, other);
        else if (type == 'P')
            put_extended(out, other);
        else
            fake_pg_put(out, type, body);
    }
}

/* Sum of the counts of the tags "COPY n". */
static int64_t copied(const alm_conn *conn)
{
    int64_t sum = 0;
    const alm_str sent = {conn->sent.ptr, conn->sent.len};
    for (size_t at = 0; at < sent.len; at += 1 + alm_be_get32(sent.ptr + at + 1))
        if (sent.ptr[at] == 'C' && strncmp(sent.ptr + at + 5, "COPY ", 5) == 0)
            sum += strtoll(sent.ptr + at + 10, NULL, 10);
    return sum;
}

/* What a connection of its own answers to the statements. */
static void ask(alm_conn *conn, const char *sql)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    fake_pg_open(conn, fake_database(false));
    fake_pg_login(conn);
    conn->sent.len = 0;
    put_query(&out, sql);
    fake_feed(conn, &alm_pg_protocol, (alm_str){out.ptr, out.len}, out.len);
    alm_buf_deinit(&out);
}

static void forget(const char *sql)
{
    alm_conn conn;
    ask(&conn, sql);
    fake_close(&conn, &alm_pg_protocol);
}

static void check_rows(int64_t rows)
{
    alm_conn conn;
    ask(&conn, "copy ct to stdout");
    check_sent(&conn);
    ALM_ASSERT(copied(&conn) == rows);
    fake_close(&conn, &alm_pg_protocol);
}

static void converse(alm_str bytes, size_t piece, const char *sql, bool extended)
{
    bool alone = strstr(sql, "from") != NULL && strchr(sql, ';') == NULL;
    alm_conn conn;
    alm_buf out;
    alm_buf_init(&out, NULL);
    fake_pg_open(&conn, fake_database(false));
    fake_pg_login(&conn);
    conn.sent.len = 0;
    if (extended)
        put_extended(&out, sql);
    else
        put_query(&out, sql);
    put_messages(&out, bytes, &alone);
    fake_feed(&conn, &alm_pg_protocol, (alm_str){out.ptr, out.len}, piece);
    alm_buf_deinit(&out);
    check_sent(&conn);
    const int64_t rows = copied(&conn);
    fake_close(&conn, &alm_pg_protocol);
    if (alone)
        check_rows(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool made;
    if (n < 3)
        return 0;
    if (!made)
        forget("create table ct (ts timestamp, s symbol, v double, i int, t varchar) timestamp(ts) "
               "partition by day");
    made = true;
    converse((alm_str){(const char *)data + 3, n - 3}, data[0] + 1u,
             copies[data[1] % ALM_COUNT(copies)], data[2] & 1);
    forget("truncate table ct");
    return 0;
}
