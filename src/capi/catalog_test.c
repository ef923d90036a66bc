/*
 * catalog_test.c - every relation of pg_catalog and information_schema and every table function
 * without arguments, read to its end.
 *
 * Method      A database without tables, then with a table of every type, views, and odd names. A fill
 *             that writes too few or too many cells of a row fails with ALM_E_INTERNAL (exec/source/catalog.h);
 *             both forms of a relation are read, name and name().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "almanac.h"
#include "base/base.h"

static const char *const relations[] = {
#define ALM_RELATION(schema, name, oid, fill, columns) #schema "." #name, #schema "." #name "()",
#include "exec/source/catalog.def"
#undef ALM_RELATION
};

static const char *const functions[] = {
#define ALM_SOURCE(id, name) name,
#include "exec/source/source.def"
#undef ALM_SOURCE
};

typedef struct world {
    char root[64];
    almanac_database *db;
    almanac_connection *conn;
} world;

static int setup(void **state)
{
    char message[256] = "";
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    (void)snprintf(w->root, sizeof w->root, "/tmp/catalog_test_XXXXXX");
    assert_non_null(mkdtemp(w->root));
    if (almanac_open(w->root, &w->db, message, sizeof message) != 0)
        fail_msg("%s", message);
    assert_int_equal(almanac_connect(w->db, &w->conn), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    char command[128];
    almanac_disconnect(w->conn);
    almanac_close(w->db);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", w->root);
    assert_int_equal(system(command), 0); /* NOLINT: our own folder */
    free(w);
    return 0;
}

/* Rows of the statement; its error fails the test. */
static int64_t rows_of(world *w, const char *sql)
{
    almanac_result *r = NULL;
    int64_t rows = 0;
    int code = almanac_query(w->conn, sql, &r);
    for (bool more = code == 0; more;) {
        struct ArrowArray array = {0};
        code = almanac_result_next(r, &array);
        more = code == 0 && array.release != NULL;
        rows += more ? array.length : 0;
        if (more)
            array.release(&array);
    }
    almanac_error_info error = {0};
    almanac_error(w->conn, &error);
    if (code != 0)
        fail_msg("%s: %s", sql, error.message);
    almanac_result_close(r);
    return rows;
}

static bool takes_arguments(const char *name)
{
    static const char *const with[] = {"long_sequence",
                                       "generate_series",
                                       "table_columns",
                                       "table_partitions",
                                       "wal_transactions",
                                       "show_create_table",
                                       "show_create_view",
                                       "show_create_materialized_view",
                                       "files",
                                       "read_parquet",
                                       "parquet_read",
                                       "parquet_scan",
                                       "parquet_metadata",
                                       "parquet_schema"};
    for (size_t i = 0; i < ALM_COUNT(with); i++)
        if (strcmp(with[i], name) == 0)
            return true;
    return false;
}

static void read_everything(world *w)
{
    char sql[256];
    for (size_t i = 0; i < ALM_COUNT(relations); i++) {
        (void)snprintf(sql, sizeof sql, "select * from %s", relations[i]);
        const int64_t rows = rows_of(w, sql);
        (void)snprintf(sql, sizeof sql, "select count() from %s where 1 = 1", relations[i]);
        assert_int_equal(rows_of(w, sql), 1);
        (void)snprintf(sql, sizeof sql, "select * from %s union all select * from %s", relations[i],
                       relations[i]);
        assert_int_equal(rows_of(w, sql), 2 * rows);
    }
    for (size_t i = 0; i < ALM_COUNT(functions); i++) {
        if (takes_arguments(functions[i]))
            continue;
        (void)snprintf(sql, sizeof sql, "select * from %s()", functions[i]);
        (void)rows_of(w, sql);
    }
}

static void an_empty_database_is_read(void **state)
{
    read_everything(*state);
}

static const char *const objects[] = {
    "create table \"every type\" (bo boolean, by byte, sh short, i int, l long, f float, d double, "
    "c char, s string, v varchar, y symbol index, da date, ts timestamp, tn timestamp_ns, u uuid, "
    "ip ipv4, l2 long256, g geohash(5c), de decimal(10,2), a double[], a2 double[][], bi binary) "
    "timestamp(ts) partition by day ttl 1 week wal dedup upsert keys(ts, y)",
    "insert into \"every type\" (i, y, ts) values (1, 'a', '2024-01-01'), (2, 'b', '2024-01-02')",
    "create table plain (x int)",
    "create table \"Its Own\" (\"a b\" int, \"Mixed\" symbol index)",
    "create table \"\xf0\x9f\x98\x80\" (\"\xf0\x9f\x98\x80\" symbol index)",
    "create table n23456789012345678901234567890123456789012345678901234567890123456789012345678901"
    "2345678901234567890123456789012345678901234567 (x symbol index)",
    "create view v as (select i, y from \"every type\")",
    "create view \"odd view\" as (select x as \"a\"\"b\" from plain)",
    "create materialized view m as (select ts, y, sum(d) d from \"every type\" sample by 1h)",
    "create materialized view empty_m refresh manual deferred as (select ts, count() n from "
    "\"every type\" sample by 1d)",
};

static void every_kind_of_object_is_read(void **state)
{
    world *w = *state;
    for (size_t i = 0; i < ALM_COUNT(objects); i++)
        (void)rows_of(w, objects[i]);
    read_everything(w);
    assert_int_equal(rows_of(w, "select * from pg_tables where schemaname = 'public'"), 5);
    assert_int_equal(rows_of(w, "select * from pg_views where schemaname = 'public'"), 2);
    assert_int_equal(rows_of(w, "select * from pg_matviews"), 2);
    assert_int_equal(rows_of(w, "select * from pg_index"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_database_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(every_kind_of_object_is_read, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
