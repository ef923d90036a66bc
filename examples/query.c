/*
 * query.c - the engine without a server: open a directory, write rows, read them back as Arrow.
 *
 *   example_query DIR
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "almanac.h"

static int fail(const almanac_connection *conn)
{
    almanac_error_info err;
    almanac_error(conn, &err);
    (void)fprintf(stderr, "%s %s (at byte %d)\n", err.sqlstate, err.message, (int)err.position);
    return 1;
}

static int run(almanac_connection *conn, const char *sql)
{
    almanac_result *result = NULL;
    if (almanac_query(conn, sql, &result) != 0)
        return fail(conn);
    almanac_result_close(result);
    return 0;
}

/* Buffers of a double column: 0 validity bits, 1 values. Of text: 1 offsets, 2 bytes. */
static void print_rows(const struct ArrowArray *rows)
{
    const struct ArrowArray *symbol = rows->children[0], *price = rows->children[1];
    const int32_t *offsets = symbol->buffers[1];
    const char *bytes = symbol->buffers[2];
    const double *prices = price->buffers[1];
    for (int64_t i = 0; i < rows->length; i++)
        (void)printf("%.*s %.2f\n", (int)(offsets[i + 1] - offsets[i]), bytes + offsets[i],
                     prices[i]);
}

static int read_back(almanac_connection *conn)
{
    almanac_statement *stmt = NULL;
    almanac_result *result = NULL;
    const char *sql = "select symbol, avg(price) from quotes where price > $1 group by symbol "
                      "order by symbol";
    if (almanac_prepare(conn, sql, &stmt) != 0)
        return fail(conn);
    if (almanac_bind_double(stmt, 0, 1.0) != 0 || almanac_execute(stmt, &result) != 0) {
        almanac_statement_free(stmt);
        return fail(conn);
    }
    int code = 0;
    for (;;) {
        struct ArrowArray rows;
        code = almanac_result_next(result, &rows);
        if (code != 0 || rows.release == NULL)
            break;
        print_rows(&rows);
        rows.release(&rows);
    }
    almanac_result_close(result);
    almanac_statement_free(stmt);
    return code != 0 ? fail(conn) : 0;
}

int main(int argc, char **argv)
{
    char message[512];
    almanac_database *db = NULL;
    almanac_connection *conn = NULL;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s DIR\n", argv[0]);
        return 2;
    }
    if (almanac_open(argv[1], &db, message, sizeof(message)) != 0) {
        (void)fprintf(stderr, "%s\n", message);
        return 1;
    }
    int code = almanac_connect(db, &conn);
    if (code == 0)
        code = run(conn, "create table if not exists quotes (ts timestamp, symbol symbol, price "
                         "double) timestamp(ts) partition by day");
    if (code == 0)
        code = run(conn, "insert into quotes values ('2026-01-01T00:00:00Z', 'A', 1.5), "
                         "('2026-01-01T00:00:01Z', 'B', 2.5)");
    if (code == 0)
        code = read_back(conn);
    almanac_disconnect(conn);
    almanac_close(db);
    return code;
}
