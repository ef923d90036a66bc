/*
 * bind_test.c - names, types, errors with positions, INSERT, CREATE TABLE and UPDATE.
 *
 * Method: statements over two tables made by hand (plan/fixture_for_test.h); the expected columns and
 * messages are those of the dialect's recorded cases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "sql/plan/fixture_for_test.h"

static const alm_column TRADE_COLS[] = {
    {.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
    {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
    {.name = "price", .type = {.id = ALM_T_DOUBLE}},
    {.name = "qty", .type = {.id = ALM_T_INT}},
    {.name = "big", .type = {.id = ALM_T_LONG}},
    {.name = "note", .type = {.id = ALM_T_VARCHAR}},
    {.name = "ok", .type = {.id = ALM_T_BOOLEAN}},
};
static const alm_table TRADES = {.name = "trades",
                                 .cols = TRADE_COLS,
                                 .n_cols = ALM_COUNT(TRADE_COLS),
                                 .ts_col = 0,
                                 .partition = ALM_PART_DAY,
                                 .row_count = 1000000,
                                 .min_ts = INT64_C(1704067200000000),
                                 .max_ts = INT64_C(1711929599999999)};
static const alm_column REF_COLS[] = {
    {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
    {.name = "lot", .type = {.id = ALM_T_INT}},
    {.name = "t", .type = {.id = ALM_T_TIMESTAMP}},
    {.name = "by", .type = {.id = ALM_T_BYTE}},
};
static const alm_table REF = {
    .name = "ref", .cols = REF_COLS, .n_cols = ALM_COUNT(REF_COLS), .ts_col = -1, .row_count = 100};

static int setup(void **state)
{
    fixture *f = malloc(sizeof *f);
    fixture_init(f);
    fixture_add(f, &TRADES);
    fixture_add(f, &REF);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_free(*state);
    free(*state);
    return 0;
}

static alm_stmt *parse(fixture *f, const char *sql)
{
    size_t offset = 0;
    alm_stmt *stmt = NULL;
    alm_error_clear(&f->cx);
    if (alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &stmt) != ALM_OK)
        fail_msg("%s: %s", sql, f->cx.err.msg);
    return stmt;
}

static alm_status plan_any(fixture *f, const char *sql, alm_plan **plan)
{
    alm_stmt *stmt = parse(f, sql);
    const alm_table *table = NULL;
    alm_create *create = NULL;
    alm_update_plan *up = NULL;
    *plan = NULL;
    switch ((int)stmt->kind) {
    case ALM_STMT_INSERT:
        return alm_plan_insert(&f->cx, &f->env, stmt, &table, plan);
    case ALM_STMT_CREATE_TABLE:
        return alm_plan_create(&f->cx, &f->env, stmt, &create);
    case ALM_STMT_UPDATE:
        return alm_plan_update(&f->cx, &f->env, stmt, &up);
    default:
        return alm_plan_select(&f->cx, &f->env, stmt->select, plan);
    }
}

/* "name:TYPE name:TYPE @ts" of a query. */
static void shape_of(fixture *f, const char *sql, char *out, size_t size)
{
    alm_plan *plan = NULL;
    if (plan_any(f, sql, &plan) != ALM_OK)
        fail_msg("%s: %s (%d)", sql, f->cx.err.msg, f->cx.err.sql_pos);
    size_t n = 0;
    for (uint32_t i = 0; i < plan->n_cols && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s:%s ", plan->cols[i].name,
                              alm_type_name(plan->cols[i].type));
    (void)snprintf(out + n, size - n, "@%d", plan->ts_col);
}

static void names_and_types(void **state)
{
    static const char *const cases[][2] = {
        {"select 1, -2, 3.5, 'txt', 'c', true, null",
         "1:INT -(2):INT \"3.5\":DOUBLE 'txt':STRING 'c':CHAR true:BOOLEAN null:STRING @-1"},
        {"select 2147483648 l, 1f f, 3L g, 1_000 h, 1e3 e, 0x10 x",
         "l:LONG f:FLOAT g:LONG h:INT e:DOUBLE x:LONG256 @-1"},
        {"select * from trades", "ts:TIMESTAMP sym:SYMBOL price:DOUBLE qty:INT big:LONG "
                                 "note:VARCHAR ok:BOOLEAN @0"},
        {"select SYM, PrIcE from TRADES", "SYM:SYMBOL PrIcE:DOUBLE @-1"},
        {"select price, price, price from trades",
         "price:DOUBLE price_2:DOUBLE price_3:DOUBLE @-1"},
        {"select price, qty price_2, price from trades",
         "price:DOUBLE price_2:INT price_3:DOUBLE @-1"},
        {"select qty, price qty from trades", "qty_2:INT qty:DOUBLE @-1"},
        {"select sym, lot, * from ref",
         "sym:SYMBOL lot:INT sym1:SYMBOL lot1:INT t:TIMESTAMP by:BYTE @-1"},
        {"select a.lot, b.lot from ref a cross join ref b", "lot:INT lot_2:INT @-1"},
        {"select a.*, b.lot from ref a cross join ref b",
         "sym:SYMBOL lot:INT t:TIMESTAMP by:BYTE lot1:INT @-1"},
        {"select count(), count(*), COUNT() from trades",
         "count():LONG count()_2:LONG COUNT()_3:LONG @-1"},
        {"select qty aa, aa from trades", "aa:INT aa_2:INT @-1"},
        {"select x.p * 2 d from (select price p from trades) x", "d:DOUBLE @-1"},
        {"select \"price + 1\" from (select price + 1 from trades)", "price + 1:DOUBLE @-1"},
        {"select case when qty > 0 then qty else price end c, coalesce(qty, big) d from trades",
         "c:DOUBLE d:LONG @-1"},
        {"select case when qty > 0 then sym end c, coalesce(note, sym, 'x') d from trades",
         "c:STRING d:VARCHAR @-1"},
        {"select nullif(null, 1) a, nullif(2L, 2L) b", "a:INT b:LONG @-1"},
        {"select sym, ts t from trades", "sym:SYMBOL t:TIMESTAMP @1"},
        {"select ts, qty from trades order by qty, ts", "ts:TIMESTAMP qty:INT @-1"},
        {"select ts, qty from trades order by ts desc", "ts:TIMESTAMP qty:INT @0"},
        {"select t, lot from ref order by t", "t:TIMESTAMP lot:INT @0"},
        {"select q, ts b from (select ts, sum(qty) q from trades sample by 1d)",
         "q:LONG b:TIMESTAMP @1"},
        {"select sum(qty) q, ts as bucket from trades sample by 1d", "q:LONG bucket:TIMESTAMP @1"},
        {"select sym, ts from trades union all select sym, ts from trades",
         "sym:STRING ts:TIMESTAMP @-1"},
        {"select sym, ts from trades except select sym, ts from trades",
         "sym:SYMBOL ts:TIMESTAMP @1"},
        {"select 1 a union all select null union all select 2.5", "a:DOUBLE @-1"},
        {"select 1 a union all select 'abc'", "a:STRING @-1"},
        {"select distinct n from (select null n union select null)", "n:STRING @-1"},
        {"select n, count() from (select null n from trades)", "n:STRING count():LONG @-1"},
        {"with a (x, y) as (select sym, lot from ref) select y, x from a", "y:INT x:SYMBOL @-1"},
        {"trades latest on ts partition by sym", "ts:TIMESTAMP sym:SYMBOL price:DOUBLE qty:INT "
                                                 "big:LONG note:VARCHAR ok:BOOLEAN @0"},
        {"select t.ts, r.lot from trades t join ref r on (sym)", "ts:TIMESTAMP lot:INT @0"},
        {"select t.ts, r.lot from trades t right join ref r on (sym)", "ts:TIMESTAMP lot:INT @-1"},
        {"declare @x := 5 select @x, @x + 1 y", "5:INT y:INT @-1"},
        {"select lot from ref where lot in (select qty from trades) or lot = 1", "lot:INT @-1"},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        char got[1024];
        shape_of(*state, cases[i][0], got, sizeof got);
        if (strcmp(got, cases[i][1]) != 0)
            fail_msg("%s\n got  %s\n want %s", cases[i][0], got, cases[i][1]);
    }
}

static void errors_and_positions(void **state)
{
    static const struct {
        const char *sql;
        int32_t pos;
        const char *text;
    } cases[] = {
        {"select nope from trades", 7, "Invalid column: nope"},
        {"select t.nope from trades t", 7, "Invalid column: t.nope"},
        {"select x.sym from trades t", 7, "Invalid table name or alias"},
        {"select * from nope", 14, "table does not exist [table=nope]"},
        {"select sym s, price s from trades", 20, "Duplicate column [name=s]"},
        {"select a.sym from trades a join ref a on (sym)", 36, "Duplicate table or alias: a"},
        {"select sym from trades t join ref r on (sym)", 7,
         "Ambiguous column [name=sym]: it is in t and in r"},
        {"select t.qty from trades t join ref r on t.qty = r.lot where sym = 'a'", 61,
         "Ambiguous column [name=sym]: it is in t and in r"},
        {"select * from trades where sym = \"BTC-USD\"", 33,
         "Invalid column: BTC-USD (double quotes are for names, a text needs single quotes: "
         "'BTC-USD')"},
        {"select \"prise\" from trades", 7,
         "Invalid column: prise (double quotes are for names, a text needs single quotes: "
         "'prise'), "
         "did you mean 'price'?"},
        {"select prise from trades", 7, "Invalid column: prise, did you mean 'price'?"},
        {"SHWO tables", 0, "unexpected token [SHWO], did you mean 'SHOW'?"},
        {"SHWO", 0, "table does not exist [table=SHWO]"},
        {"select *", 7, "'from' expected: * stands for the columns of tables"},
        {"select 1, *", 10, "'from' expected: * stands for the columns of tables"},
        {"select t.*", 7, "Invalid table name or alias"},
        {"help", 0, "table does not exist [table=help]: SHOW TABLES lists the tables"},
        {"use trades", 0, "table does not exist [table=use]: there is one database, and no USE"},
        {"quit", 0, "table does not exist [table=quit]: the client ends the session"},
        {"select * from trades where sym ~ sym", 33, "argument 2 of `~` must be a constant"},
        {"select * from trades where qty ~ sym", 31, "no matching operator `~`"},
        {"select * from trades a lt join trades b on a.qty > b.qty", 49,
         "unsupported LT join expression [expr="},
        {"select * from trades a splice join trades b on a.qty > b.qty", 53,
         "unsupported SPLICE join expression [expr="},
        {"select * from trades a asof join trades b on a.ts >= b.ts and a.qty > b.qty", 68,
         "unsupported ASOF join expression [expr='\"a.qty > b.qty\"']"},
        {"select * from trades a asof join trades b on a.qty > b.qty and a.ts >= b.ts", 51,
         "unsupported ASOF join expression [expr='\"a.qty > b.qty\"']"},
        {"select * from trades a asof join trades b on (sym) tolerance 0s", 61,
         "ASOF JOIN TOLERANCE must be positive"},
        {"select * from trades a lt join trades b on (sym) tolerance 0s", 59,
         "LT JOIN TOLERANCE must be positive"},
        {"select * from trades t join ref r on (nope)", 38, "Invalid column: t.nope"},
        {"select t.qty from trades t join ref r on t.ts = r.lot", 48, "join column type mismatch"},
        {"select qty from trades where qty", 29, "boolean expression expected"},
        {"select qty from trades where count() > 1", 29, "Aggregate function cannot be passed"},
        {"select sum(sum(qty)) from trades", 11, "Aggregate function cannot be passed"},
        {"select sym, price from trades group by sym", 12, "column must appear in GROUP BY"},
        {"select sym, count() from trades group by 3", 41, "position 3 is not in select list"},
        {"select sym, count() from trades group by count()", 41, "not allowed in GROUP BY"},
        {"select qty from trades order by 9", 32, "out of range [max=1]"},
        {"select qty from trades limit 'x'", 29, "inconvertible value: x [CHAR -> LONG]"},
        {"select qty from trades where ts > '2024-13-01'", 34, "Invalid date [str='2024-13-01']"},
        {"select qty from trades where ts in '2024-02-30'", 35, "Invalid date"},
        {"select qty from trades where ts = '2024-01-01;1d'", 34, "use IN keyword with intervals"},
        {"select case when 1 then 2 end", 17, "BOOLEAN expected, found INT"},
        {"select case when true then 1 else 'x' end", 34, "inconvertible types: CHAR -> INT"},
        {"select not 5", 11, "argument type mismatch for function `not`"},
        {"select 1 and 2", 7, "expected: BOOLEAN, actual: INT"},
        {"select sym::nope from trades", 12, "invalid constant: nope"},
        {"select qty from trades union select qty, sym from trades", 29,
         "different number of columns"},
        {"select * from ref r asof join trades t", 20,
         "left side of time series join has no timestamp"},
        {"select ts, qty from trades sample by 1h", 37, "at least one aggregation function"},
        {"select lot, count() from ref sample by 1h", 0, "designated TIMESTAMP"},
        {"select ts, count() from trades sample by 1h align to calendar time zone 'No/Where'", 72,
         "invalid timezone: No/Where"},
        {"select * from ref latest on t partition by sym", 28, "requires designated TIMESTAMP"},
        {"select * from trades latest on price partition by sym", 31, "not a TIMESTAMP"},
        {"insert into trades (ts, nope) values ('2024-01-01', 1)", 24, "Invalid column: nope"},
        {"insert into trades (ts, ts) values ('2024-01-01', 1)", 24, "Duplicate column [name=ts]"},
        {"insert into trades (qty) values (1)", 12, "must populate timestamp"},
        {"insert into trades (ts, qty) values (null, 1)", 37, "cannot be NULL"},
        {"insert into trades (ts, qty) values ('2024-01-01', true)", 51,
         "inconvertible types: BOOLEAN -> INT [from=true, to=qty]"},
        {"insert into ref values ('a', 1, '2024-01-01')", 44, "expected=4, actual=3, tuple=1"},
        {"insert into nope values (1)", 12, "table does not exist [table=nope]"},
        {"insert into ref select note, 1, ts, 1 from trades union all select 1, 2, 3, 4", 16, ""},
        {"create table trades (a int)", 13, "table already exists [table=trades]"},
        {"create table x (a nope)", 18, "unsupported column type: nope"},
        {"create table x (a int) timestamp(b)", 33, "invalid designated timestamp column [name=b]"},
        {"create table x (a int) timestamp(a)", 33, "TIMESTAMP column expected [actual=INT"},
        {"create table x (a int) partition by day", 36,
         "only on tables with designated timestamps"},
        {"update trades set ts = null", 18, "Designated timestamp column cannot be updated"},
        {"update trades set ok = 5", 23, "inconvertible types: INT -> BOOLEAN"},
        {"update nope set a = 1", 7, "table does not exist [table=nope]"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        alm_plan *plan = NULL;
        const alm_status st = plan_any(f, cases[i].sql, &plan);
        if (cases[i].text[0] == '\0') {
            if (st != ALM_OK && f->cx.err.msg[0] == '\0')
                fail_msg("%s: no message", cases[i].sql);
            continue;
        }
        if (st == ALM_OK)
            fail_msg("accepted: %s", cases[i].sql);
        if (strstr(f->cx.err.msg, cases[i].text) == NULL || f->cx.err.sql_pos != cases[i].pos)
            fail_msg("%s\n got  %d %s\n want %d %s", cases[i].sql, f->cx.err.sql_pos, f->cx.err.msg,
                     cases[i].pos, cases[i].text);
    }
}

static void insert_values_become_columns(void **state)
{
    fixture *f = *state;
    alm_plan *plan = NULL;
    const alm_status st = plan_any(
        f,
        "insert into trades (ts, sym, qty, price, ok) values "
        "('2024-01-01T00:00:01Z', 'A', 1 + 2, 1.5, true), "
        "(1704067200000000, null, -7, null, false), ('2024-01-02', 'it''s', '12', -2, true)",
        &plan);
    if (st != ALM_OK)
        fail_msg("%s", f->cx.err.msg);
    assert_int_equal(plan->op, ALM_P_VALUES);
    assert_null(plan->values.rows);
    assert_int_equal(plan->values.n_rows, 3);
    assert_int_equal(plan->n_cols, TRADES.n_cols);
    const alm_vec *v = plan->values.vecs;
    const int64_t *ts = v[0].data;
    assert_int_equal(ts[0], INT64_C(1704067201000000));
    assert_int_equal(ts[1], INT64_C(1704067200000000));
    assert_int_equal(ts[2], INT64_C(1704153600000000));
    assert_true(alm_str_eq(alm_vec_text(&v[1], 0), ALM_STR("A")));
    assert_true(alm_vec_is_null(&v[1], 1));
    assert_true(alm_str_eq(alm_vec_text(&v[1], 2), ALM_STR("it's")));
    const int32_t *qty = v[3].data;
    assert_int_equal(qty[0], 3);
    assert_int_equal(qty[1], -7);
    assert_int_equal(qty[2], 12);
    const double *price = v[2].data;
    assert_true(price[0] == 1.5 && price[1] != price[1] && price[2] == -2.0);
    assert_true(v[4].is_const && alm_vec_is_null(&v[4], 2)); /* big: not named */
    assert_int_equal(((const uint8_t *)v[6].data)[1], 0);
}

static void thousands_of_rows_plan_fast(void **state)
{
    enum { ROWS = 20000 };
    fixture *f = *state;
    alm_buf sql;
    alm_buf_init(&sql, NULL);
    assert_int_equal(alm_buf_text(&f->cx, &sql, "insert into ref values "), ALM_OK);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(alm_buf_printf(&f->cx, &sql, "%s('s%d',%d,'2024-01-01T00:00:00.%06dZ',1)",
                                        i > 0 ? "," : "", i % 9, i, i),
                         ALM_OK);
    assert_int_equal(alm_buf_append(&f->cx, &sql, "", 1), ALM_OK);
    alm_stmt *stmt = parse(f, sql.ptr);
    alm_plan *plan = NULL;
    const alm_table *table = NULL;
    const int64_t start = alm_monotonic_ns();
    assert_int_equal(alm_plan_insert(&f->cx, &f->env, stmt, &table, &plan), ALM_OK);
    assert_true(alm_monotonic_ns() - start < INT64_C(1000000000)); /* 50 us a row even here */
    assert_int_equal(plan->values.n_rows, ROWS);
    assert_int_equal(((const int32_t *)plan->values.vecs[1].data)[ROWS - 1], ROWS - 1);
    alm_buf_deinit(&sql);
}

static void insert_select_casts_and_fills(void **state)
{
    char got[512];
    shape_of(*state, "insert into trades (qty, ts) select x, '2024-01-01' from long_sequence(3)",
             got, sizeof got);
    assert_string_equal(got, "ts:TIMESTAMP sym:SYMBOL price:DOUBLE qty:INT big:LONG note:VARCHAR "
                             "ok:BOOLEAN @-1");
}

static void create_table_is_described(void **state)
{
    fixture *f = *state;
    alm_create *c = NULL;
    alm_stmt *stmt = parse(f, "create table n (s symbol capacity 64 nocache index, ts timestamp, "
                              "v int) timestamp(ts) partition by day ttl 2 weeks wal "
                              "dedup upsert keys(ts, s)");
    if (alm_plan_create(&f->cx, &f->env, stmt, &c) != ALM_OK)
        fail_msg("%s", f->cx.err.msg);
    assert_string_equal(c->name, "n");
    assert_int_equal(c->n_cols, 3);
    assert_int_equal(c->ts_col, 1);
    assert_int_equal(c->partition, ALM_PART_DAY);
    assert_true(c->wal && c->dedup && !c->exists && c->source == NULL);
    assert_int_equal(c->ttl_hours, 336);
    assert_int_equal(c->cols[0].symbol_capacity, 64);
    assert_true(c->cols[0].indexed && !c->cols[0].symbol_cached);
    assert_true(c->cols[0].dedup_key && c->cols[1].dedup_key && !c->cols[2].dedup_key);

    stmt = parse(f, "create table n as (select sym, qty, ts from trades), cast(qty as long)");
    if (alm_plan_create(&f->cx, &f->env, stmt, &c) != ALM_OK)
        fail_msg("%s", f->cx.err.msg);
    assert_int_equal(c->cols[1].type.id, ALM_T_LONG);
    assert_int_equal(c->source->cols[1].type.id, ALM_T_LONG);
    assert_int_equal(c->ts_col, 2); /* carried over from the source */
    assert_int_equal(c->partition, ALM_PART_NONE);

    stmt = parse(f, "create table if not exists trades (a int)");
    assert_int_equal(alm_plan_create(&f->cx, &f->env, stmt, &c), ALM_OK);
    assert_true(c->exists);
}

static void update_gives_values_and_positions(void **state)
{
    fixture *f = *state;
    alm_update_plan *up = NULL;
    alm_stmt *stmt =
        parse(f, "update trades set note = 'x', qty = qty + 1 where ts > '2024-02-01'");
    if (alm_plan_update(&f->cx, &f->env, stmt, &up) != ALM_OK)
        fail_msg("%s", f->cx.err.msg);
    assert_int_equal(up->n_set, 2);
    assert_int_equal(up->set_cols[0], 5);
    assert_int_equal(up->set_cols[1], 3);
    assert_int_equal(up->plan->n_cols, 3);
    assert_int_equal(up->plan->cols[0].type.id, ALM_T_VARCHAR);
    assert_int_equal(up->plan->cols[2].type.id, ALM_T_LONG);
    const alm_plan *scan = up->plan;
    while (scan->n_children > 0)
        scan = scan->child[0];
    assert_int_equal(scan->op, ALM_P_SCAN);
    assert_false(scan->scan.has_interval); /* positions count all rows */
    assert_int_equal(scan->scan.n_filters, 1);
    assert_true(scan->scan.skips); /* but other days are not read */
    assert_int_equal(scan->scan.n_intervals, 1);
}

static void parameters_are_inferred(void **state)
{
    static const struct {
        const char *sql;
        alm_type_id types[3];
    } cases[] = {
        {"select * from trades where qty = $1 and sym = $2", {ALM_T_INT, ALM_T_STRING}},
        {"select qty from trades where ts in $1 limit $2", {ALM_T_STRING, ALM_T_LONG}},
        {"select $1 from trades where ts > $2 and big in ($3)",
         {ALM_T_STRING, ALM_T_TIMESTAMP, ALM_T_LONG}},
        {"select $1 + 1, qty between $2 and 5 from trades", {ALM_T_INT, ALM_T_INT}},
        {"insert into trades (ts, qty, note) values ($1, $2, $3)",
         {ALM_T_TIMESTAMP, ALM_T_INT, ALM_T_VARCHAR}},
    };
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        alm_param params[3] = {{{0}, NULL}, {{0}, NULL}, {{0}, NULL}};
        alm_plan *plan = NULL;
        f->env.params = params;
        f->env.n_params = 3;
        if (plan_any(f, cases[i].sql, &plan) != ALM_OK)
            fail_msg("%s: %s", cases[i].sql, f->cx.err.msg);
        for (size_t k = 0; k < 3 && cases[i].types[k] != ALM_T_NONE; k++)
            if (params[k].type.id != cases[i].types[k])
                fail_msg("%s: $%zu is %s", cases[i].sql, k + 1, alm_type_name(params[k].type));
    }
    f->env.n_params = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_types),
        cmocka_unit_test(errors_and_positions),
        cmocka_unit_test(insert_values_become_columns),
        cmocka_unit_test(thousands_of_rows_plan_fast),
        cmocka_unit_test(insert_select_casts_and_fills),
        cmocka_unit_test(create_table_is_described),
        cmocka_unit_test(update_gives_values_and_positions),
        cmocka_unit_test(parameters_are_inferred),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
