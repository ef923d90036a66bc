/*
 * libpq: the checks of the driver matrix (../README.md). A check that finds something wrong leaves by longjmp, and
 * the next one runs; its connections are closed by then.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define SLOW                                                                                       \
    "select count() from long_sequence(100000) a cross join long_sequence(100000) b where a.x + "  \
    "b.x = -1"
#define ODD "it's \"q\" \\ \t \xc3\xbc \xe6\xbc\xa2 \xf0\x9f\x98\x80 $1 ;--"

static jmp_buf out;
static char reason[4000];
static PGconn *open_conns[8];
static size_t n_open;

static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    for (char *p = reason; *p != 0; p++)
        if (*p == '\n')
            *p = ' ';
    longjmp(out, 1);
}

static void same(const char *got, const char *want, const char *what)
{
    if (got == NULL || want == NULL ? got != want : strcmp(got, want) != 0)
        fail("%s: got %.200s, want %.200s", what, got == NULL ? "(null)" : got,
             want == NULL ? "(null)" : want);
}

/* ------------------------------------------------------------------ connections */

static PGconn *try_connect(const char *more)
{
    char info[1000];
    (void)snprintf(info, sizeof(info), "connect_timeout=30 %s", more);
    PGconn *c = PQconnectdb(info); /* the rest is in the environment */
    if (n_open == COUNT(open_conns))
        fail("too many connections");
    open_conns[n_open++] = c;
    return c;
}

static PGconn *connect_with(const char *more)
{
    PGconn *c = try_connect(more);
    if (PQstatus(c) != CONNECTION_OK)
        fail("%s", PQerrorMessage(c));
    return c;
}

static const char *state(const PGresult *r)
{
    return PQresultErrorField(r, PG_DIAG_SQLSTATE);
}

static PGresult *good(PGresult *r)
{
    const ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN &&
        status != PGRES_COPY_OUT && status != PGRES_PIPELINE_SYNC)
        fail("%s %s", PQresStatus(status), PQresultErrorMessage(r));
    return r;
}

/* %T is the prefix of the tables. */
static const char *text_of(const char *sql)
{
    static char text[1 << 16];
    const char *prefix = getenv("TABLE_PREFIX");
    size_t n = 0;
    for (; *sql != 0 && n + 100 < sizeof(text); sql++) {
        if (sql[0] == '%' && sql[1] == 'T') {
            n += (size_t)snprintf(text + n, 100, "%s", prefix != NULL ? prefix : "d_libpq_");
            sql++;
        } else {
            text[n++] = *sql;
        }
    }
    text[n] = 0;
    return text;
}

static void run(PGconn *c, const char *sql)
{
    PQclear(good(PQexec(c, text_of(sql))));
}

/* The first cell, kept until the next call; NULL: null. */
static const char *cell(PGconn *c, const char *sql)
{
    static char kept[2000];
    PGresult *r = good(PQexec(c, text_of(sql)));
    const bool none = PQntuples(r) == 0 || PQgetisnull(r, 0, 0);
    (void)snprintf(kept, sizeof(kept), "%s", none ? "" : PQgetvalue(r, 0, 0));
    PQclear(r);
    return none ? NULL : kept;
}

static void expect_state(PGconn *c, const char *sql, const char *want)
{
    PGresult *r = PQexec(c, text_of(sql));
    char got[6] = "";
    if (state(r) != NULL)
        (void)snprintf(got, sizeof(got), "%s", state(r));
    PQclear(r);
    same(got, want, sql);
}

static PGresult *params(PGconn *c, const char *sql, int n, const char *const *values, int format)
{
    return good(PQexecParams(c, text_of(sql), n, NULL, values, NULL, NULL, format));
}

/* ------------------------------------------------------------------ checks */

/* The SQLSTATE of a refused login is in the message, if that is asked for before it comes. */
static void check_connect(void)
{
    PGconn *c = connect_with("");
    if (PQserverVersion(c) < 140000)
        fail("server_version %d", PQserverVersion(c));
    same(PQparameterStatus(c, "server_encoding"), "UTF8", "server_encoding");
    same(PQuser(c), "admin", "user");
    if (!PQconnectionUsedPassword(c))
        fail("no password was asked for");
    static const char *const wrong[] = {"password=no", "user=nobody"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        PGconn *refused = PQconnectStart(wrong[i]);
        open_conns[n_open++] = refused;
        (void)PQsetErrorVerbosity(refused, PQERRORS_SQLSTATE);
        PostgresPollingStatusType poll = PGRES_POLLING_WRITING;
        for (int turn = 0; turn < 10000 && poll != PGRES_POLLING_OK && poll != PGRES_POLLING_FAILED;
             turn++) {
            (void)usleep(1000);
            poll = PQconnectPoll(refused);
        }
        if (poll != PGRES_POLLING_FAILED || strstr(PQerrorMessage(refused), "28P01") == NULL)
            fail("%s: %s", wrong[i], PQerrorMessage(refused));
    }
}

static void check_tls(void)
{
    static const char *const modes[] = {
        "sslmode=require", "sslmode=verify-full channel_binding=require",
        "sslmode=require sslrootcert='' ssl_max_protocol_version=TLSv1.2"};
    for (size_t i = 0; i < COUNT(modes); i++) {
        PGconn *c = connect_with(modes[i]);
        if (!PQsslInUse(c))
            fail("%s: no TLS", modes[i]);
        same(cell(c, "select sum(x) from long_sequence(100000)"), "5000050000", modes[i]);
    }
    PGconn *c = try_connect("sslmode=verify-full sslrootcert=/etc/ssl/certs/ca-certificates.crt");
    if (PQstatus(c) == CONNECTION_OK ||
        strstr(PQerrorMessage(c), "certificate verify failed") == NULL)
        fail("another authority: %s", PQerrorMessage(c));
}

static void check_select(void)
{
    PGconn *c = connect_with("");
    PGresult *r = good(PQexec(c, "select 1 a, 'x' b, null d, true e"));
    same(PQfname(r, 3), "e", "name");
    same(PQgetvalue(r, 0, 0), "1", "a");
    same(PQgetvalue(r, 0, 3), "t", "e");
    if (!PQgetisnull(r, 0, 2))
        fail("no null");
    PQclear(r);
    r = good(PQexec(c, "select x from long_sequence(10) where x > 20"));
    if (PQntuples(r) != 0 || PQnfields(r) != 1)
        fail("rows of an empty result");
    PQclear(r);
    char *quoted = PQescapeLiteral(c, ODD, strlen(ODD)), sql[200];
    (void)snprintf(sql, sizeof(sql), "select %s", quoted);
    PQfreemem(quoted);
    same(cell(c, sql), ODD, "a literal");
}

/* column, type, values: usual, least, greatest */
static const char *const types[][5] = {
    {"bo", "boolean", "t", "f", "t"},
    {"by", "byte", "7", "-128", "127"},
    {"sh", "short", "-7", "-32768", "32767"},
    {"i", "int", "12", "-2147483647", "2147483647"},
    {"l", "long", "1099511627776", "-9223372036854775807", "9223372036854775807"},
    {"f", "float", "1.5", "-3.4028235e+38", "3.4028235e+38"},
    {"d", "double", "0.1", "-1.7976931348623157e+308", "5e-324"},
    {"c", "char", "\xc3\xbc", "'", "x"},
    {"s", "string", ODD, "", "s"},
    {"v", "varchar", ODD, "", "a text longer than twelve bytes"},
    {"y", "symbol", ODD, "", "sym"},
    {"da", "date", "2024-01-02 03:04:05.123", "1969-12-31 23:59:59.999", "9999-12-31 23:59:59.999"},
    {"ts", "timestamp", "2024-03-01 09:00:00.123456", "1969-12-31 23:59:59.999999",
     "9999-12-31 23:59:59.999999"},
    {"tn", "timestamp_ns", "2024-03-01 09:00:00.123456", "1678-01-01 00:00:00.000001",
     "2262-01-01 00:00:00.999999"},
    {"u", "uuid", "11111111-2222-3333-4444-555555555555", "00000000-0000-0000-0000-000000000001",
     "ffffffff-ffff-ffff-ffff-ffffffffffff"},
    {"ip", "ipv4", "192.168.0.1", "0.0.0.1", "255.255.255.255"},
    {"w", "long256", "0xff", "0x00",
     "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"},
    {"g", "geohash(8c)", "u33dbm12", "00000000", "zzzzzzzz"},
    {"de", "decimal(20,4)", "12345.6789", "-9999999999999999.9999", "0.0001"},
    {"dw", "decimal(76,10)", "1.5000000000",
     "-999999999999999999999999999999999999999999999999999999999999999999.9999999999",
     "1234567890123456789012345678901234567890.0123456789"},
    {"bi", "binary", "\\x0001ff", "\\x", "\\x00"},
    {"a", "double[]", "{1.5,NULL,-2}", "{}", "{1e+300}"},
    {"m", "double[][]", "{{1,2},{NULL,4}}", "{}", "{{5e-324}}"},
};

static void create_types(PGconn *c, const char *name)
{
    char sql[4000];
    size_t n = 0;
    (void)snprintf(sql, sizeof(sql), "drop table if exists %%T%s", name);
    run(c, sql);
    n = (size_t)snprintf(sql, sizeof(sql), "create table %%T%s (k int", name);
    for (size_t i = 0; i < COUNT(types); i++)
        n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", %s %s", types[i][0], types[i][1]);
    (void)snprintf(sql + n, sizeof(sql) - n, ")");
    run(c, sql);
}

static const char *insert_types(const char *name)
{
    static char sql[2000];
    size_t n = (size_t)snprintf(sql, sizeof(sql), "insert into %%T%s values ($1", name);
    for (size_t i = 0; i < COUNT(types); i++)
        n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", $%zu", i + 2);
    (void)snprintf(sql + n, sizeof(sql) - n, ")");
    return sql;
}

static void expect_types(PGconn *c, const char *sql, const char *what)
{
    PGresult *r = good(PQexec(c, text_of(sql)));
    if (PQntuples(r) != 3)
        fail("%s: %d rows", what, PQntuples(r));
    for (int row = 0; row < 3; row++)
        for (size_t i = 0; i < COUNT(types); i++) {
            char place[100];
            (void)snprintf(place, sizeof(place), "%s: %s, row %d", what, types[i][1], row);
            same(PQgetisnull(r, row, (int)i + 1) ? NULL : PQgetvalue(r, row, (int)i + 1),
                 types[i][row + 2], place);
        }
    PQclear(r);
}

/* Texts in, texts and bytes out; the bytes in again, by the types they came with. */
static void check_types(void)
{
    enum { N = COUNT(types) + 1 };
    PGconn *c = connect_with("");
    create_types(c, "types");
    create_types(c, "types2");
    for (int row = 0; row < 3; row++) {
        const char *values[N] = {row == 0 ? "0" : row == 1 ? "1" : "2"};
        for (size_t i = 1; i < N; i++)
            values[i] = types[i - 1][row + 2];
        PQclear(params(c, insert_types("types"), N, values, 0));
    }
    expect_types(c, "select * from %Ttypes order by k", "text");
    PGresult *r = good(
        PQexecParams(c, text_of("select * from %Ttypes order by k"), 0, NULL, NULL, NULL, NULL, 1));
    for (int row = 0; row < 3; row++) {
        const char *values[N];
        int lengths[N], formats[N];
        Oid oids[N];
        for (int i = 0; i < (int)N; i++) {
            values[i] = PQgetvalue(r, row, i);
            lengths[i] = PQgetlength(r, row, i);
            formats[i] = 1;
            oids[i] = PQftype(r, i);
        }
        PQclear(good(PQexecParams(c, text_of(insert_types("types2")), N, oids, values, lengths,
                                  formats, 0)));
    }
    PQclear(r);
    expect_types(c, "select * from %Ttypes2 order by k", "binary");
}

static void check_nulls(void)
{
    enum { N = COUNT(types) + 1 };
    PGconn *c = connect_with("");
    const char *values[N] = {NULL};
    create_types(c, "nulls");
    PQclear(params(c, insert_types("nulls"), N, values, 1));
    for (int format = 0; format < 2; format++) {
        PGresult *r = good(
            PQexecParams(c, text_of("select * from %Tnulls"), 0, NULL, NULL, NULL, NULL, format));
        for (int i = 0; i < (int)N; i++)
            if (PQgetisnull(r, 0, i) !=
                !(i >= 1 && i <= 3)) /* boolean, byte and short have no null */
                fail("%s, format %d", PQfname(r, i), format);
        PQclear(r);
    }
}

static void expect_rows(PGresult *r, const char *want, const char *what)
{
    char got[500] = "";
    size_t n = 0;
    for (int i = 0; i < PQntuples(r) && n < sizeof(got); i++)
        n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s", i > 0 ? " " : "",
                              PQgetvalue(r, i, PQnfields(r) - 1));
    PQclear(r);
    same(got, want, what);
}

static void check_parameters(void)
{
    PGconn *c = connect_with("");
    run(c, "drop table if exists %Tparams");
    run(c, "create table %Tparams (k int, v varchar, d double)");
    for (int k = 0; k < 10; k++) {
        char key[12], text[16], half[32];
        (void)snprintf(key, sizeof(key), "%d", k);
        (void)snprintf(text, sizeof(text), "v%d", k);
        (void)snprintf(half, sizeof(half), "%g", k / 2.0);
        PQclear(params(c, "insert into %Tparams values ($1, $2, $3)", 3,
                       (const char *const[]){key, text, half}, 0));
    }
    expect_rows(params(c, "select v from %Tparams where k = $1 and d < $2", 2,
                       (const char *const[]){"3", "9.5"}, 0),
                "v3", "WHERE");
    expect_rows(params(c, "select k from %Tparams where k = any($1) order by k", 1,
                       (const char *const[]){"{1,5,99}"}, 0),
                "1 5", "ANY of numbers");
    expect_rows(params(c, "select k from %Tparams where v = any($1) order by k", 1,
                       (const char *const[]){"{v2,v4}"}, 0),
                "2 4", "ANY of texts");
    expect_rows(
        params(c, "select k from %Tparams order by k limit $1", 1, (const char *const[]){"2"}, 0),
        "0 1", "LIMIT");
    static const char
        five[4] = {0, 0, 0, 5},
        list[] = "\0\0\0\1\0\0\0\0\0\0\0\x17\0\0\0\2\0\0\0\1\0\0\0\4\0\0\0\7\0\0\0\4\0\0\0\x63";
    const Oid int4 = 23, int4s = 1007;
    expect_rows(good(PQexecParams(c, text_of("select k from %Tparams where k = $1"), 1, &int4,
                                  (const char *const[]){five}, (int[]){4}, (int[]){1}, 0)),
                "5", "typed, binary");
    expect_rows(
        good(PQexecParams(c, text_of("select k from %Tparams where k = any($1)"), 1, &int4s,
                          (const char *const[]){list}, (int[]){sizeof(list) - 1}, (int[]){1}, 0)),
        "7", "a list in binary");
}

static void check_prepared(void)
{
    PGconn *c = connect_with(""), *other = connect_with("");
    run(c, "drop table if exists %Tprep");
    run(c, "create table %Tprep (k int, v varchar)");
    PQclear(good(PQprepare(c, "put", text_of("insert into %Tprep values ($1, $2)"), 0, NULL)));
    PQclear(good(PQprepare(c, "get", text_of("select k, v from %Tprep where k = $1"), 0, NULL)));
    PQclear(good(PQprepare(c, "all", text_of("select * from %Tprep where k = $1"), 0, NULL)));
    for (int k = 0; k < 100; k++) {
        char key[12];
        (void)snprintf(key, sizeof(key), "%d", k);
        PQclear(good(PQexecPrepared(c, "put", 2, (const char *const[]){key, key}, NULL, NULL, 0)));
        expect_rows(good(PQexecPrepared(c, "get", 1, (const char *const[]){key}, NULL, NULL, 0)),
                    key, "get");
    }
    const char *const five[] = {"5"};
    expect_rows(good(PQexecPrepared(c, "all", 1, five, NULL, NULL, 0)), "5", "all columns");
    run(other, "alter table %Tprep add column w double");
    expect_rows(good(PQexecPrepared(c, "get", 1, five, NULL, NULL, 0)), "5",
                "the shape is the same");
    PGresult *r = PQexecPrepared(c, "all", 1, five, NULL, NULL, 0);
    same(state(r), "0A000", "another shape");
    PQclear(r);
    run(c, "deallocate \"all\"");
    PQclear(good(PQprepare(c, "all", text_of("select * from %Tprep where k = $1"), 0, NULL)));
    r = good(PQexecPrepared(c, "all", 1, five, NULL, NULL, 0));
    if (PQnfields(r) != 3)
        fail("%d columns", PQnfields(r));
    PQclear(r);
    r = PQexecPrepared(c, "nosuch", 0, NULL, NULL, NULL, 0);
    same(state(r), "26000", "a statement that is not there");
    PQclear(r);
}

/* 1,000 inserts in a pipeline up to one Sync; the 500th gets `bad`. The SQLSTATE of the first error, "" for none. */
static void pipeline(PGconn *c, const char *bad, char first[6])
{
    first[0] = 0;
    if (PQenterPipelineMode(c) != 1)
        fail("no pipeline");
    for (int k = 0; k < 1000; k++) {
        char key[12];
        (void)snprintf(key, sizeof(key), "%d", k);
        const char *const values[] = {k == 500 && bad != NULL ? bad : key,
                                      bad != NULL ? "bad" : key};
        if (PQsendQueryParams(c, text_of("insert into %Tbatch values ($1, $2)"), 2, NULL, values,
                              NULL, NULL, 0) != 1)
            fail("%s", PQerrorMessage(c));
    }
    if (PQpipelineSync(c) != 1)
        fail("%s", PQerrorMessage(c));
    for (int done = 0; done < 1001;) {
        PGresult *r = PQgetResult(c);
        if (r == NULL)
            continue; /* between two statements */
        if (PQresultStatus(r) == PGRES_FATAL_ERROR && first[0] == 0)
            (void)snprintf(first, 6, "%s", state(r));
        done++;
        PQclear(r);
    }
    if (PQexitPipelineMode(c) != 1)
        fail("%s", PQerrorMessage(c));
}

static void check_batch(void)
{
    PGconn *c = connect_with("");
    char first[6];
    run(c, "drop table if exists %Tbatch");
    run(c, "create table %Tbatch (k int, v varchar)");
    pipeline(c, NULL, first);
    same(first, "", "a batch");
    same(cell(c, "select count() || ' ' || sum(k) from %Tbatch"), "1000 499500", "rows");
    pipeline(c, "x", first);
    same(first, "22P02", "an error in the middle");
    same(cell(c, "select count() from %Tbatch where v = 'bad'"), "0", "of a batch with an error");
}

static long peak_kib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void check_fetch(void)
{
    PGconn *c = connect_with("");
    const long before = peak_kib();
    long long sum = 0;
    if (PQsendQuery(c, "select x, 'a text of some length' from long_sequence(1000000)") != 1 ||
        PQsetSingleRowMode(c) != 1)
        fail("%s", PQerrorMessage(c));
    for (PGresult *r = NULL; (r = PQgetResult(c)) != NULL; PQclear(r))
        if (PQresultStatus(r) == PGRES_SINGLE_TUPLE)
            sum += strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    if (sum != 500000500000)
        fail("row by row: %lld", sum);
    run(c, "begin");
    run(c, "declare big cursor for select x, 'a text of some length' from long_sequence(1000000)");
    sum = 0;
    for (int got = 1; got > 0;) {
        PGresult *r = good(PQexec(c, "fetch 10000 from big"));
        got = PQntuples(r);
        for (int i = 0; i < got; i++)
            sum += strtoll(PQgetvalue(r, i, 0), NULL, 10);
        PQclear(r);
    }
    run(c, "commit");
    if (sum != 500000500000)
        fail("by cursor: %lld", sum);
    if (peak_kib() - before > 64 << 10)
        fail("the client took %ld MiB", (peak_kib() - before) >> 10);
}

static void check_large(void)
{
    enum { BYTES = 2 << 20 };
    PGconn *c = connect_with("");
    char *value = malloc(BYTES + 1);
    if (value == NULL)
        fail("no memory");
    for (size_t i = 0; i < BYTES; i++)
        value[i] = (char)('a' + i % 26);
    value[BYTES] = 0;
    run(c, "drop table if exists %Tlarge");
    run(c, "create table %Tlarge (v varchar)");
    for (int format = 0; format < 2; format++) {
        PQclear(good(PQexecParams(c, text_of("insert into %Tlarge values ($1)"), 1, NULL,
                                  (const char *const[]){value}, (int[]){BYTES}, &format, 0)));
        PGresult *r = good(PQexecParams(c, text_of("select v from %Tlarge limit -1"), 0, NULL, NULL,
                                        NULL, NULL, format));
        const bool equal =
            PQgetlength(r, 0, 0) == BYTES && memcmp(PQgetvalue(r, 0, 0), value, BYTES) == 0;
        PQclear(r);
        if (!equal) {
            free(value);
            fail("another value, format %d", format);
        }
    }
    free(value);
    PGresult *r = good(PQexec(c, "select x, x::varchar from long_sequence(100000)"));
    if (PQntuples(r) != 100000)
        fail("%d rows", PQntuples(r));
    same(PQgetvalue(r, 99999, 1), "100000", "the last row");
    PQclear(r);
}

static void check_transaction(void)
{
    PGconn *c = connect_with("");
    run(c, "drop table if exists %Ttx");
    run(c, "create table %Ttx (k int)");
    run(c, "begin");
    run(c, "insert into %Ttx values (1)");
    if (PQtransactionStatus(c) != PQTRANS_INTRANS)
        fail("no block");
    run(c, "commit");
    run(c, "begin");
    run(c, "insert into %Ttx values (2)");
    run(c, "rollback");
    run(c, "begin");
    run(c, "insert into %Ttx values (3)");
    run(c, "savepoint a");
    run(c, "insert into %Ttx values (4)");
    run(c, "rollback to a");
    run(c, "commit");
    run(c, "begin");
    run(c, "insert into %Ttx values (5)");
    expect_state(c, "select * from nosuch", "42P01");
    if (PQtransactionStatus(c) != PQTRANS_INERROR)
        fail("no failed block");
    expect_state(c, "select 1", "25P02");
    PGresult *r = good(PQexec(c, "commit"));
    char tag[20];
    (void)snprintf(tag, sizeof(tag), "%s", PQcmdStatus(r));
    PQclear(r);
    same(tag, "ROLLBACK", "COMMIT of a failed block");
    expect_rows(good(PQexec(c, text_of("select k from %Ttx order by k"))), "1 3", "rows");
}

static void check_copy_in(void)
{
    PGconn *c = connect_with("");
    run(c, "drop table if exists %Tcopy");
    run(c, "create table %Tcopy (k int, v varchar)");
    PQclear(good(PQexec(c, text_of("copy %Tcopy from stdin"))));
    for (int k = 0; k < 1000; k++) {
        char line[40];
        const int n = snprintf(line, sizeof(line), "%d\t%s\n", k, k % 2 == 0 ? "\\N" : "text");
        if (PQputCopyData(c, line, n) != 1)
            fail("%s", PQerrorMessage(c));
    }
    (void)PQputCopyEnd(c, NULL);
    PGresult *r = good(PQgetResult(c));
    char count[20];
    (void)snprintf(count, sizeof(count), "%s", PQcmdTuples(r));
    PQclear(r);
    same(count, "1000", "COPY");
    if (PQgetResult(c) != NULL)
        fail("more than one result");
    static const char *const ends[][3] = {{"x\ty\n", NULL, "22P02"},
                                          {"1\ta\n", "the client gave up", "57014"}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        PQclear(good(PQexec(c, text_of("copy %Tcopy from stdin"))));
        (void)PQputCopyData(c, "1\ta\n", 4);
        (void)PQputCopyData(c, ends[i][0], (int)strlen(ends[i][0]));
        (void)PQputCopyEnd(c, ends[i][1]);
        r = PQgetResult(c);
        same(state(r), ends[i][2], "an error");
        PQclear(r);
        while ((r = PQgetResult(c)) != NULL)
            PQclear(r);
    }
    same(cell(c, "select count() || ' ' || count(v) from %Tcopy"), "1000 500", "rows");
}

static void check_copy_out(void)
{
    PGconn *c = connect_with("");
    static const char *const forms[] = {"text", "csv", "binary"};
    static const char *const rows[] = {"1\ta b\n2\t\\N\n", "1,a b\n2,\n", NULL};
    for (size_t i = 0; i < COUNT(forms); i++) {
        char sql[200], got[500] = "", *line = NULL;
        size_t n = 0;
        (void)snprintf(sql, sizeof(sql),
                       "copy (select x, case when x = 1 then 'a b' end v from long_sequence(2)) to "
                       "stdout (format %s)",
                       forms[i]);
        PQclear(good(PQexec(c, sql)));
        for (int len = 0; (len = PQgetCopyData(c, &line, 0)) > 0; PQfreemem(line)) {
            memcpy(got + n, line, (size_t)len);
            n += (size_t)len;
        }
        PGresult *r = good(PQgetResult(c));
        PQclear(r);
        if (PQgetResult(c) != NULL)
            fail("more than one result");
        if (rows[i] != NULL)
            same(got, rows[i], forms[i]);
        else if (n != 19 + (2 + 12 + 4 + 3) + (2 + 12 + 4) + 2 ||
                 memcmp(got, "PGCOPY\n\377\r\n", 11) != 0)
            fail("binary: %zu bytes", n);
    }
}

static void check_errors(void)
{
    PGconn *c = connect_with("");
    static const char *const cases[][3] = {
        {"select 1 +", "42601", NULL},
        {"select * from nosuch", "42P01", "15"},
        {"select '\xc3\xbc', nope from long_sequence(1)", "42703", "13"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        PGresult *r = PQexec(c, cases[i][0]);
        same(state(r), cases[i][1], cases[i][0]);
        same(PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED), "ERROR", cases[i][0]);
        const char *at = PQresultErrorField(r, PG_DIAG_STATEMENT_POSITION);
        same(at, cases[i][2] != NULL ? cases[i][2] : at, cases[i][0]);
        if (at == NULL)
            fail("%s: no position", cases[i][0]);
        PQclear(r);
    }
    run(c, "drop table if exists %Terrors");
    run(c, "create table %Terrors (i int)");
    expect_state(c, "insert into %Terrors values ('x')", "22P02");
    same(cell(c, "select 1"), "1", "afterwards");
}

static void *cancel_later(void *arg)
{
    char why[256];
    (void)usleep(300000);
    (void)PQcancel(arg, why, sizeof(why));
    return NULL;
}

static void check_cancel(void)
{
    PGconn *c = connect_with("");
    PGcancel *cancel = PQgetCancel(c);
    pthread_t thread;
    if (pthread_create(&thread, NULL, cancel_later, cancel) != 0)
        fail("no thread");
    PGresult *r = PQexec(c, SLOW);
    (void)pthread_join(thread, NULL);
    PQfreeCancel(cancel);
    same(state(r), "57014", "a cancelled query");
    PQclear(r);
    same(cell(c, "select 1"), "1", "afterwards");
}

static void check_timeout(void)
{
    PGconn *c = connect_with("");
    run(c, "set statement_timeout = 200");
    expect_state(c, SLOW, "57014");
    run(c, "set statement_timeout = 0");
    same(cell(c, "select 1"), "1", "afterwards");
    expect_state(connect_with("options='-c statement_timeout=200'"), SLOW, "57014");
}

static void check_metadata(void)
{
    PGconn *c = connect_with("");
    run(c, "drop table if exists %Tmeta");
    run(c, "create table %Tmeta (k int, d decimal(10,2), u uuid, a double[], ts timestamp)");
    PQclear(
        good(PQprepare(c, "", text_of("select * from %Tmeta where k = $1 and d > $2"), 0, NULL)));
    PGresult *r = good(PQdescribePrepared(c, ""));
    static const Oid want[] = {23, 1700, 2950, 1022, 1114};
    for (int i = 0; i < (int)COUNT(want); i++)
        if (PQnfields(r) != (int)COUNT(want) || PQftype(r, i) != want[i])
            fail("%s: type %u", PQfname(r, i), PQftype(r, i));
    if (PQfmod(r, 1) != (10 << 16 | 2) + 4 || PQfsize(r, 0) != 4)
        fail("modifier %d, size %d", PQfmod(r, 1), PQfsize(r, 0));
    if (PQnparams(r) != 2 || PQparamtype(r, 0) != 23 || PQparamtype(r, 1) != 1700)
        fail("parameters %d: %u %u", PQnparams(r), PQparamtype(r, 0), PQparamtype(r, 1));
    PQclear(r);
}

static void check_time_series(void)
{
    PGconn *c = connect_with("");
    run(c, "drop table if exists %Ttrades");
    run(c, "drop table if exists %Tquotes");
    run(c, "create table %Ttrades (ts timestamp, sym symbol, price double, n long) timestamp(ts) "
           "partition by day");
    run(c, "create table %Tquotes (ts timestamp, sym symbol, bid double) timestamp(ts) partition "
           "by day");
    run(c, "insert into %Ttrades select dateadd('s', (x - 1)::int, "
           "'2026-01-06T10:00:00Z'::timestamp), case when x % 2 = 0 then 'A' else 'B' end, "
           "x::double, x from long_sequence(600)");
    run(c, "insert into %Tquotes select dateadd('s', ((x - 1) * 10)::int, "
           "'2026-01-06T10:00:00Z'::timestamp), 'A', x * 10.0 from long_sequence(60)");
    expect_rows(
        params(c, "select ts, avg(price) p from %Ttrades where sym = $1 and ts >= $2 sample by 2m",
               2, (const char *const[]){"A", "2026-01-06T10:00:00Z"}, 0),
        "61 181 301 421 541", "SAMPLE BY");
    expect_rows(params(c,
                       "select sym, price from %Ttrades where ts < $1 latest on ts partition by "
                       "sym order by sym",
                       1, (const char *const[]){"2026-01-06T10:05:00Z"}, 0),
                "300 299", "LATEST ON");
    expect_rows(params(c,
                       "select t.n, q.bid from %Ttrades t asof join %Tquotes q on (sym) where "
                       "t.sym = $1 and t.n > $2 order by t.n",
                       2, (const char *const[]){"A", "594"}, 0),
                "600 600 600", "ASOF JOIN");
}

static const struct {
    const char *name;
    void (*run)(void); /* NULL: libpq has no such thing */
    const char *reason;
} checks[] = {
    {"connect", check_connect, NULL},
    {"tls", check_tls, NULL},
    {"select", check_select, NULL},
    {"types", check_types, NULL},
    {"nulls", check_nulls, NULL},
    {"parameters", check_parameters, NULL},
    {"prepared", check_prepared, NULL},
    {"batch", check_batch, NULL},
    {"fetch", check_fetch, NULL},
    {"large", check_large, NULL},
    {"transaction", check_transaction, NULL},
    {"copy_in", check_copy_in, NULL},
    {"copy_out", check_copy_out, NULL},
    {"errors", check_errors, NULL},
    {"cancel", check_cancel, NULL},
    {"timeout", check_timeout, NULL},
    {"metadata", check_metadata, NULL},
    {"pool", NULL, "libpq keeps no pool"},
    {"time_series", check_time_series, NULL},
};

int main(void)
{
    const int version = PQlibVersion();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)printf("driver libpq %d.%d\n", version / 10000, version % 10000);
    for (size_t i = 0; i < COUNT(checks); i++) {
        if (checks[i].run == NULL) {
            (void)printf("none %s: %s\n", checks[i].name, checks[i].reason);
            continue;
        }
        if (setjmp(out) == 0) {
            checks[i].run();
            (void)printf("ok %s\n", checks[i].name);
        } else {
            (void)printf("fail %s: %s\n", checks[i].name, reason);
        }
        while (n_open > 0)
            PQfinish(open_conns[--n_open]);
    }
    return 0;
}
