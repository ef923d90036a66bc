/*
 * Sensor readings with libpq: a table, a batch of rows by COPY, a prepared query over time buckets, a large
 * result in pieces, an error.
 *
 *   cc sensors.c -o sensors $(pkg-config --cflags --libs libpq) && ./sensors
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? value : otherwise;
}

static PGresult *expect(PGconn *conn, PGresult *result, ExecStatusType status)
{
    if (PQresultStatus(result) == status)
        return result;
    (void)fprintf(stderr, "%s", PQerrorMessage(conn));
    exit(1);
}

static void run(PGconn *conn, const char *sql)
{
    PQclear(expect(conn, PQexec(conn, sql), PGRES_COMMAND_OK));
}

/* The fastest way in: rows as lines of text. */
static void insert_rows(PGconn *conn)
{
    char line[100];
    PQclear(
        expect(conn, PQexec(conn, "COPY c_sensors FROM STDIN WITH (FORMAT csv)"), PGRES_COPY_IN));
    for (int i = 0; i < 3600; i++) {
        const int n = snprintf(line, sizeof(line), "2026-01-06T10:%02d:%02d,s%d,%d\n", i / 60,
                               i % 60, i % 2, 20 + i % 10);
        if (PQputCopyData(conn, line, n) != 1)
            exit(1);
    }
    (void)PQputCopyEnd(conn, NULL);
    PGresult *result = expect(conn, PQgetResult(conn), PGRES_COMMAND_OK);
    (void)printf("inserted %s rows\n", PQcmdTuples(result));
    PQclear(result);
    (void)PQgetResult(conn); /* NULL: the COPY is over */
}

/* Buckets of time, with parameters. */
static void query_buckets(PGconn *conn)
{
    const char *values[] = {"s1", "2026-01-06T10:00:00Z"};
    PGresult *rows =
        PQexecParams(conn,
                     "SELECT ts, count() AS n, avg(temperature) AS mean FROM c_sensors "
                     "WHERE sensor = $1 AND ts >= $2 SAMPLE BY 15m",
                     2, NULL, values, NULL, NULL, 0);
    (void)expect(conn, rows, PGRES_TUPLES_OK);
    for (int i = 0; i < PQntuples(rows); i++)
        (void)printf("%s %s %s\n", PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1),
                     PQgetvalue(rows, i, 2));
    PQclear(rows);
}

/* A large result row by row: the memory of the client does not grow with it. */
static void read_many(PGconn *conn)
{
    long long sum = 0;
    if (PQsendQuery(conn, "SELECT x FROM long_sequence(1000000)") != 1 ||
        PQsetSingleRowMode(conn) != 1)
        exit(1);
    for (PGresult *row = NULL; (row = PQgetResult(conn)) != NULL; PQclear(row))
        if (PQresultStatus(row) == PGRES_SINGLE_TUPLE)
            sum += strtoll(PQgetvalue(row, 0, 0), NULL, 10);
    (void)printf("sum of a million rows: %lld\n", sum);
}

int main(void)
{
    const char *names[] = {"host", "port", "user", "password", "dbname", NULL};
    const char *values[] = {setting("PGHOST", "127.0.0.1"), setting("PGPORT", "8812"),
                            setting("PGUSER", "admin"),     setting("PGPASSWORD", "quest"),
                            setting("PGDATABASE", "qdb"),   NULL};
    PGconn *conn = PQconnectdbParams(names, values, 0);
    if (PQstatus(conn) != CONNECTION_OK) {
        (void)fprintf(stderr, "%s", PQerrorMessage(conn));
        return 1;
    }
    run(conn, "DROP TABLE IF EXISTS c_sensors");
    run(conn, "CREATE TABLE c_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE) "
              "TIMESTAMP(ts) PARTITION BY DAY");
    insert_rows(conn);
    query_buckets(conn);
    read_many(conn);
    PGresult *failed = PQexec(conn, "SELECT nope FROM c_sensors"); /* the connection goes on */
    (void)printf("%s %s at %s\n", PQresultErrorField(failed, PG_DIAG_SQLSTATE),
                 PQresultErrorField(failed, PG_DIAG_MESSAGE_PRIMARY),
                 PQresultErrorField(failed, PG_DIAG_STATEMENT_POSITION));
    PQclear(failed);
    run(conn, "DROP TABLE c_sensors");
    PQfinish(conn);
    return 0;
}
