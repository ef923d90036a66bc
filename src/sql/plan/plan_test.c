/*
 * plan_test.c - plans as EXPLAIN shows them, and each rule of the optimiser with the plan before and
 * after it.
 *
 * Method: statements over a hand-made catalogue; the text of the plan is compared line by line. For a
 * rule the statement is planned with all rules and with that one left out (alm_plan_env.opt_off).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "sql/node/check.h"
#include "sql/opt/opt.h"
#include "sql/plan/fixture_for_test.h"

/* A dictionary that knows 'A' and 'B'. */
static uint32_t find_ab(const alm_dict *dict, alm_str text)
{
    (void)dict;
    return text.len == 1 && (text.ptr[0] == 'A' || text.ptr[0] == 'B')
               ? (uint32_t)(text.ptr[0] - 'A' + 1)
               : 0;
}

static const alm_dict DICT = {.count = 3, .id = 1, .find = find_ab};
static const alm_column TRADE_COLS[] = {
    {.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
    {.name = "sym", .type = {.id = ALM_T_SYMBOL}, .dict = &DICT},
    {.name = "price", .type = {.id = ALM_T_DOUBLE}},
    {.name = "qty", .type = {.id = ALM_T_INT}},
    {.name = "note", .type = {.id = ALM_T_VARCHAR}},
};
static const alm_table TRADES = {.name = "trades",
                                 .cols = TRADE_COLS,
                                 .n_cols = ALM_COUNT(TRADE_COLS),
                                 .ts_col = 0,
                                 .row_count = 1000000,
                                 .min_ts = INT64_C(1704067200000000),  /* 2024-01-01 */
                                 .max_ts = INT64_C(1711929599999999)}; /* 2024-03-31 */
static const alm_column QUOTE_COLS[] = {
    {.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
    {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
    {.name = "bid", .type = {.id = ALM_T_DOUBLE}},
};
static const alm_table QUOTES = {.name = "quotes",
                                 .cols = QUOTE_COLS,
                                 .n_cols = ALM_COUNT(QUOTE_COLS),
                                 .ts_col = 0,
                                 .row_count = 10};
static const alm_column REF_COLS[] = {
    {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
    {.name = "lot", .type = {.id = ALM_T_INT}},
    {.name = "t", .type = {.id = ALM_T_TIMESTAMP}},
};
static const alm_table REF = {
    .name = "ref", .cols = REF_COLS, .n_cols = ALM_COUNT(REF_COLS), .ts_col = -1, .row_count = 100};

static int setup(void **state)
{
    fixture *f = malloc(sizeof *f);
    fixture_init(f);
    fixture_add(f, &TRADES);
    fixture_add(f, &QUOTES);
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

static alm_plan *plan_of(fixture *f, const char *sql)
{
    size_t offset = 0;
    alm_stmt *stmt = NULL;
    alm_plan *plan = NULL;
    alm_error_clear(&f->cx);
    if (alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &stmt) != ALM_OK ||
        alm_plan_select(&f->cx, &f->env, stmt->select, &plan) != ALM_OK)
        fail_msg("%s: %s", sql, f->cx.err.msg);
    return plan;
}

/* Lines joined by '\n'. */
static void text_of(fixture *f, const char *sql, char *out, size_t size)
{
    const char **lines = NULL;
    size_t n_lines = 0, n = 0;
    assert_int_equal(alm_plan_explain(&f->cx, plan_of(f, sql), &lines, NULL, &n_lines), ALM_OK);
    for (size_t i = 0; i < n_lines && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i > 0 ? "\n" : "", lines[i]);
}

static void expect(fixture *f, const char *sql, const char *want)
{
    char got[4096];
    text_of(f, sql, got, sizeof got);
    if (strcmp(got, want) != 0)
        fail_msg("%s\n--- got\n%s\n--- want\n%s", sql, got, want);
}

#define DAY "[2024-02-01T00:00:00.000000Z, 2024-02-01T23:59:59.999999Z]"

static void clauses_become_nodes(void **state)
{
    static const char *const cases[][2] = {
        {"select 1 + 1 a", "values rows: 1"},
        {"select sym, sum(qty) / count() from trades where price > 1 order by 2 desc limit 3",
         "limit lo: 0 hi: 3\n"
         "  sort sum(qty) / count() desc first: 3\n"
         "    project sym, sum / count\n"
         "      group by keys: sym values: sum(qty), count()\n"
         "        scan trades [sym, qty; price] any order filter: price > 1.0"},
        {"select sym, count() from trades group by sym having max(price) > 5",
         "project sym, count\n"
         "  filter max > 5.0\n"
         "    group by keys: sym values: count(), max(price)\n"
         "      scan trades [sym, price] any order"},
        {"select ts, sym, avg(price) from trades sample by 1h fill(prev)",
         "sample by 1h keys: sym values: avg(price) fill: prev\n"
         "  scan trades [ts, sym, price]"},
        {"select t, sum(lot) from ref timestamp(t) sample by 1d align to calendar with offset "
         "'01:00'",
         "sample by 1d offset 3600000000 values: sum(lot)\n"
         "  sort t\n"
         "    scan ref [lot, t]"},
        {"select distinct sym from trades", "group by keys: sym\n  scan trades [sym]"},
        {"select lot from ref union select qty from trades", "group by keys: lot\n"
                                                             "  set operation union all\n"
                                                             "    scan ref [lot]\n"
                                                             "    scan trades [qty]"},
        {"select lot from ref intersect all select qty from trades limit 2, 5",
         "limit lo: 2 hi: 5\n"
         "  set operation intersect all\n"
         "    scan ref [lot]\n"
         "    scan trades [qty]"},
        {"select t.ts, q.bid from trades t asof join quotes q on (sym) tolerance 2s",
         "project ts, bid\n"
         "  join asof keys: sym = sym tolerance: 2000000\n"
         "    scan trades [ts, sym]\n"
         "    scan quotes [ts, sym, bid]"},
        {"select qty from trades where sym in (select sym from ref where lot > 1)",
         "project qty\n"
         "  join semi keys: sym = sym\n"
         "    scan trades [sym, qty]\n"
         "    scan ref [sym; lot] any order filter: lot > 1"},
        {"select qty from trades where sym not in (select sym from ref)",
         "project qty\n"
         "  join anti keys: sym = sym\n"
         "    scan trades [sym, qty]\n"
         "    scan ref [sym] any order"},
        {"select qty from trades where price > (select avg(price) from trades)",
         "project qty\n"
         "  join inner filter: price > right.avg(price)\n"
         "    scan trades [price, qty]\n"
         "    group by values: avg(price)\n"
         "      scan trades [price] any order"},
        {"select * from quotes latest on ts partition by sym",
         "latest by keys: sym\n  scan quotes [ts, sym, bid]"},
        {"(select sym, t from ref) latest on t partition by sym",
         "latest by keys: sym\n  sort t\n    scan ref [sym, t]"},
        {"select x from long_sequence(3) where x = 2", "filter x = 2\n  source long_sequence(3)"},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++)
        expect(*state, cases[i][0], cases[i][1]);
}

static void timestamp_conditions_become_ranges(void **state)
{
    static const char *const cases[][2] = {
        {"ts in '2024-02-01'", DAY},
        {"ts >= '2024-02-01' and ts < '2024-02-02'", DAY},
        {"'2024-02-01' <= ts and not ts >= '2024-02-02'", DAY},
        {"ts between '2024-02-01T23:59:59.999999Z' and '2024-02-01'", DAY},
        {"ts in '2024-02' and ts not in '2024-02-02;60d'", DAY},
        {"(ts in '2024-02-01T00;11h' or ts in '2024-02-01T12;11h')", DAY},
        {"timestamp_floor('d', ts) = '2024-02-01'", DAY},
        {"ts in '2024-02-01' and 1 = 1", DAY},
        {"ts > '2024-02-02' and ts < '2024-02-01'", "none"},
        {"ts = null", "none"},
        {"ts in ('2024-02-01', '2024-02-03')",
         "[2024-02-01T00:00:00.000000Z, 2024-02-01T00:00:00.000000Z], "
         "[2024-02-03T00:00:00.000000Z, 2024-02-03T00:00:00.000000Z]"},
        {"ts < 1706745600000000", "[MIN, 2024-01-31T23:59:59.999999Z]"},
        {"month(ts) >= 3 and ts > '2024-03-01'", "[2024-03-01T00:00:00.000001Z, MAX]"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        char sql[256], got[1024], want[512];
        (void)snprintf(sql, sizeof sql, "select qty from trades where %s", cases[i][0]);
        text_of(f, sql, got, sizeof got);
        (void)snprintf(want, sizeof want, "interval: %s", cases[i][1]);
        if (strstr(got, want) == NULL)
            fail_msg("%s\n got  %s\n want %s", sql, got, want);
    }
    /* what is no range stays a filter; a part of an OR cannot be taken alone */
    expect(f, "select qty from trades where ts in '2024-02-01' or qty = 1",
           "scan trades [qty; ts] filter: ((ts >= 2024-02-01T00:00:00.000000Z) and (ts <= "
           "2024-02-01T23:59:59.999999Z)) or (qty = 1)");
    expect(f, "select qty from trades where hour(ts) = 6",
           "scan trades [qty; ts] filter: hour(ts) = 6");
}

static void conditions_move_down(void **state)
{
    fixture *f = *state;
    expect(f, "select * from (select sym s, qty * 2 d from trades) where d > 10 and s = 'A'",
           "project sym, qty * 2\n"
           "  scan trades [sym, qty] filter: sym = 'A' and (qty * 2) > 10");
    expect(f,
           "select t.qty from trades t join ref r on (sym) where t.price > 1 and r.lot = 5 and "
           "t.qty > r.lot",
           "project qty\n"
           "  join inner keys: sym = sym filter: qty > right.lot\n"
           "    scan trades [sym, qty; price] filter: price > 1.0\n"
           "    scan ref [sym, lot] filter: lot = 5");
    expect(f, "select t.qty from trades t left join ref r on (sym) where t.price > 1 and r.lot = 5",
           "project qty\n"
           "  join inner keys: sym = sym\n"
           "    scan trades [sym, qty; price] filter: price > 1.0\n"
           "    scan ref [sym; lot] filter: lot = 5");
    expect(f,
           "select t.qty from trades t left join ref r on (sym) where t.price > 1 and r.lot < qty",
           "project qty\n"
           "  filter lot < qty\n"
           "    join left keys: sym = sym\n"
           "      scan trades [sym, qty; price] filter: price > 1.0\n"
           "      scan ref [sym, lot]");
    expect(f, "select t.qty from trades t, ref r where t.sym = r.sym",
           "project qty\n"
           "  join inner keys: sym = sym\n"
           "    scan trades [sym, qty]\n"
           "    scan ref [sym]");
    expect(f, "select * from (select sym, count() c from trades) where sym = 'A' and c > 1",
           "filter c > 1\n"
           "  group by keys: sym values: count()\n"
           "    scan trades [sym] any order filter: sym = 'A'");
    expect(f, "select * from (select lot a from ref union all select qty from trades) where a > 3",
           "set operation union all\n"
           "  scan ref [lot] filter: lot > 3\n"
           "  scan trades [qty] filter: qty > 3");
    expect(f, "select * from (trades latest on ts partition by sym) where sym = 'A' and qty > 1",
           "filter qty > 1\n"
           "  latest by keys: sym\n"
           "    scan trades [ts, sym, price, qty, note] filter: sym = 'A'");
    expect(f, "select * from (select qty from trades limit 5) where qty > 1",
           "filter qty > 1\n"
           "  limit lo: 0 hi: 5\n"
           "    scan trades [qty]");
}

/* The plan with a rule, and without it. */
static void rules_before_and_after(void **state)
{
    static const struct {
        const char *rule, *sql, *before, *after;
    } cases[] = {
        {"simplify,tidy", "select d + 1 from (select qty * 2 d from trades)",
         "project d + 1\n  project qty * 2\n    scan trades [qty]",
         "project (qty * 2) + 1\n  scan trades [qty]"},
        {"pushdown", "select qty from trades where qty > 1", "filter qty > 1\n  scan trades [qty]",
         "scan trades [qty] filter: qty > 1"},
        {"interval", "select qty from trades where ts > '2024-02-01'",
         "scan trades [qty; ts] filter: ts > 2024-02-01T00:00:00.000000Z",
         "scan trades [qty] interval: [2024-02-01T00:00:00.000001Z, MAX]"},
        {"outer",
         "select trades.qty, ref.lot from trades left join ref on trades.sym = ref.sym "
         "where ref.lot > 5",
         "project qty, lot\n  filter lot > 5\n    join left keys: sym = sym\n"
         "      scan trades [sym, qty]\n      scan ref [sym, lot]",
         "project qty, lot\n  join inner keys: sym = sym\n    scan trades [sym, qty]\n"
         "    scan ref [sym, lot] filter: lot > 5"},
        {"symbol", "select qty from trades where sym = 'nobody'",
         "scan trades [qty; sym] filter: sym = 'nobody'", "limit lo: 0 hi: 0\n  scan trades [qty]"},
        {"symbol", "select qty from trades where sym != 'nobody' and sym = 'A'",
         "scan trades [qty; sym] filter: sym != 'nobody' and sym = 'A'",
         "scan trades [qty; sym] filter: sym = 'A'"},
        {"transfer", "select count() from trades t left join ref r on (sym) where t.sym = 'A'",
         "group by values: count()\n  join left keys: sym = sym\n"
         "    scan trades [sym] any order filter: sym = 'A'\n    scan ref [sym] any order",
         "group by values: count()\n  join left keys: sym = sym\n"
         "    scan trades [sym] any order filter: sym = 'A'\n"
         "    scan ref [sym] any order filter: sym = 'A'"},
        {"joins", "select count() from ref r join trades t on r.sym = t.sym",
         "group by values: count()\n  join inner keys: sym = sym\n"
         "    scan ref [sym] any order\n    scan trades [sym] any order",
         "group by values: count()\n  join inner keys: sym = sym\n"
         "    scan trades [sym] any order\n    scan ref [sym] any order"},
        {"joins", "select sum(r.lot), max(t.qty) from ref r right join trades t on r.sym = t.sym",
         "group by values: sum(lot), max(qty)\n  join right keys: sym = sym\n"
         "    scan ref [sym, lot] any order\n    scan trades [sym, qty] any order",
         "group by values: sum(lot), max(qty)\n  project lot, qty\n    join left keys: sym = sym\n"
         "      scan trades [sym, qty] any order\n      scan ref [sym, lot] any order"},
        {"limit", "select qty from trades order by qty limit 3",
         "limit lo: 0 hi: 3\n  sort qty\n    scan trades [qty]",
         "limit lo: 0 hi: 3\n  sort qty first: 3\n    scan trades [qty]"},
        {"limit", "select qty from trades order by qty desc limit -3",
         "limit lo: -3 hi: end\n  sort qty desc\n    scan trades [qty]",
         "limit lo: -3 hi: end\n  sort qty desc last: 3\n    scan trades [qty]"},
        {"limit", "select qty, lot from trades t left join ref r on r.sym = t.sym limit 5",
         "limit lo: 0 hi: 5\n  project qty, lot\n    join left keys: sym = sym\n"
         "      scan trades [sym, qty]\n      scan ref [sym, lot]",
         "project qty, lot\n  limit lo: 0 hi: 5\n    join left keys: sym = sym\n"
         "      limit lo: 0 hi: 5\n        scan trades [sym, qty]\n      scan ref [sym, lot]"},
        {"prune", "select count() from trades",
         "group by values: count()\n  scan trades [ts, sym, price, qty, note] any order",
         "group by values: count()\n  scan trades [] any order"},
        {"order", "select ts, qty from trades order by ts desc",
         "sort ts desc\n  scan trades [ts, qty]", "scan trades [ts, qty] backward"},
        {"order", "select sum(qty) from (select qty from trades order by price)",
         "group by values: sum(qty)\n  project qty\n    sort order\n      project qty, price\n"
         "        scan trades [price, qty]",
         "group by values: sum(qty)\n  scan trades [qty] any order"},
        {"share", "with t as (select sym, max(qty) m from trades) select m from t where sym = 'A'",
         "project m\n  filter sym = 'A'\n    shared t\n      materialise t\n"
         "        group by keys: sym values: max(qty)\n          scan trades [sym, qty] any order",
         "project m\n  group by keys: sym values: max(qty)\n"
         "    scan trades [sym, qty] any order filter: sym = 'A'"},
        {"constants", "select note from trades where qty = 5 and price > qty",
         "scan trades [note; price, qty] filter: qty = 5 and price > qty::DOUBLE",
         "scan trades [note; price, qty] filter: qty = 5 and price > 5.0"},
        {"constants", "select note from trades where qty = 5 and qty + 1 = 7",
         "scan trades [note; qty] filter: qty = 5 and (qty + 1) = 7",
         "limit lo: 0 hi: 0\n  scan trades [note]"},
        {"in_list", "select price from trades where qty = 1 or qty = 2 or qty = 3",
         "scan trades [price; qty] filter: ((qty = 1) or (qty = 2)) or (qty = 3)",
         "scan trades [price; qty] filter: in(qty, 1, 2, 3)"},
        {"redundant",
         "select lot, c from (select lot, count() c from ref order by lot) order by lot",
         "sort lot\n  sort lot\n    group by keys: lot values: count()\n      scan ref [lot] any "
         "order",
         "sort lot\n  group by keys: lot values: count()\n    scan ref [lot] any order"},
        {"redundant", "select distinct lot from (select distinct lot from ref)",
         "group by keys: lot\n  group by keys: lot\n    scan ref [lot]",
         "group by keys: lot\n  scan ref [lot]"},
        {"redundant", "select max(lot) m from ref order by m",
         "sort m\n  group by values: max(lot)\n    scan ref [lot] any order",
         "group by values: max(lot)\n  scan ref [lot] any order"},
        {"recursion",
         "with recursive r as (select 1 q union select ref.lot from ref join r on ref.lot = "
         "r.q) select q from r",
         "recursion r new rows only\n  values rows: 1\n  project lot\n"
         "    join inner keys: lot = q\n      scan ref [lot]\n      last rows r",
         "recursion r new rows only\n  values rows: 1\n  project lot\n"
         "    join inner keys: q = lot\n      last rows r\n      scan ref [lot]"},
        {"topk",
         "select qty from (select qty, row_number() over (partition by sym order by price) n from "
         "trades) where n < 3",
         "project qty\n  filter row_number < 3\n"
         "    window row_number() over (partition by sym order by price)\n"
         "      scan trades [sym, price, qty]",
         "project qty\n  filter row_number < 3\n"
         "    window row_number() over (partition by sym order by price) first: 2\n"
         "      scan trades [sym, price, qty]"},
        {"topk",
         "select qty, lag(qty) over (order by price) l from trades "
         "qualify 5 >= rank() over (order by price)",
         "project qty, lag\n  filter 5 >= rank\n"
         "    window lag(qty::LONG) over (order by price), rank() over (order by price)\n"
         "      scan trades [price, qty]",
         "project qty, lag\n  filter 5 >= rank\n"
         "    window lag(qty::LONG) over (order by price), rank() over (order by price) first: 5\n"
         "      scan trades [price, qty]"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        f->env.opt_off = cases[i].rule;
        expect(f, cases[i].sql, cases[i].before);
        f->env.opt_off = NULL;
        expect(f, cases[i].sql, cases[i].after);
    }
}

/* Other calls of the node must not miss the rows that are dropped. */
static void windows_keep_what_others_need(void **state)
{
    static const char *const kept_whole[] = {
        "select qty, sum(qty) over (partition by sym) from trades "
        "qualify row_number() over (partition by sym order by price) = 1",
        "select qty, rank() over (partition by sym order by qty) from trades "
        "qualify row_number() over (partition by sym order by price) = 1",
        "select qty, lead(qty) over (order by price) from trades "
        "qualify row_number() over (order by price) = 1",
        "select qty from trades qualify dense_rank() over (order by price) <= 2",
        "select qty from trades qualify row_number() over (order by price) <> 2",
        "select qty from trades qualify row_number() over (order by price) >= 2",
        "select qty from trades qualify row_number() over (partition by sym order by ts) = 1",
    };
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(kept_whole); i++) {
        char got[4096];
        text_of(f, kept_whole[i], got, sizeof got);
        if (strstr(got, "first:") != NULL)
            fail_msg("%s\n%s", kept_whole[i], got);
    }
}

static void dependent_queries_become_joins(void **state)
{
    fixture *f = *state;
    expect(f,
           "select qty from trades where exists (select 1 from ref where ref.sym = trades.sym "
           "and lot > qty)",
           "project qty\n  join semi keys: sym = sym filter: right.lot > qty\n"
           "    scan trades [sym, qty]\n    scan ref [sym, lot] any order");
    expect(f, "select qty from trades where qty not in (select lot from ref where t < ts)",
           "project qty\n  join anti keys: qty = lot filter: right.t < ts\n"
           "    scan trades [ts, qty]\n    scan ref [lot, t] any order");
    expect(f, "select qty, (select max(lot) from ref where ref.sym = trades.sym) m from trades",
           "project qty, max\n  join left keys: sym = outer\n    scan trades [sym, qty]\n"
           "    project max, outer\n      group by keys: outer values: max(lot)\n"
           "        project lot, sym\n          scan ref [sym, lot] any order");
}

static void queries_of_with_are_shared(void **state)
{
    fixture *f = *state;
    expect(
        f,
        "with t as (select sym, max(qty) m, min(qty) n from trades) "
        "select x.m from t x join t y on x.sym = y.sym",
        "project m\n  join inner keys: sym = sym\n    shared t\n      materialise t\n"
        "        group by keys: sym values: max(qty)\n          scan trades [sym, qty] any order\n"
        "    shared t");
    /* cheap, or not wanted: once for each use */
    expect(f, "with t as (select qty from trades where sym = 'A') select x.qty from t x, t y",
           "join cross\n  scan trades [qty; sym] filter: sym = 'A'\n"
           "  scan trades [; sym] filter: sym = 'A'");
    expect(f, "with t as not materialized (select max(qty) m from trades) select x.m from t x, t y",
           "project m\n  join cross\n    group by values: max(qty)\n      scan trades [qty] any "
           "order\n"
           "    group by values: max(qty)\n      scan trades [qty] any order");
    /* one inside another: each is kept where it pays */
    expect(
        f,
        "with a as (select max(qty) m from trades), b as (select m from a union all select m from "
        "a) select m from b",
        "set operation union all\n  shared a\n    materialise a\n"
        "      group by values: max(qty)\n        scan trades [qty] any order\n  shared a");
}

static void order_is_known(void **state)
{
    fixture *f = *state;
    assert_int_equal(plan_of(f, "select ts, qty from trades where qty > 1")->order, ALM_ORDER_ASC);
    assert_int_equal(plan_of(f, "select ts from trades order by ts desc")->order, ALM_ORDER_DESC);
    assert_int_equal(plan_of(f, "select qty from trades")->ts_col, -1);
    /* a second key does not come for free */
    expect(f, "select ts, qty from trades order by ts, qty",
           "sort ts, qty\n  scan trades [ts, qty]");
    /* first() sees the order of rows, sum() does not */
    expect(f, "select first(price) from trades",
           "group by values: first(price)\n  scan trades [price]");
    /* nulls: smallest of integers, largest of floating numbers */
    const alm_plan *plan =
        plan_of(f, "select qty, price from trades order by qty, price, note desc, "
                   "qty desc nulls first, price");
    while (plan->op != ALM_P_SORT)
        plan = plan->child[0];
    assert_true(plan->sort.keys[0].nulls_first);
    assert_false(plan->sort.keys[1].nulls_first);
    assert_false(plan->sort.keys[2].nulls_first);
    assert_true(plan->sort.keys[3].nulls_first);
}

static void limits_take_every_form(void **state)
{
    static const struct {
        const char *text;
        int64_t lo, hi;
    } cases[] = {
        {"3", 0, 3},          {"-3", -3, INT64_MAX}, {"2, 5", 2, 5},   {"5, 2", 2, 5},
        {"-5, -2", -5, -2},   {"-2, -5", -5, -2},    {"2, -2", 2, -2}, {"1 + 1", 0, 2},
        {"3 offset 4", 4, 7}, {"0", 0, 0},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "select qty from trades limit %s", cases[i].text);
        const alm_plan *plan = plan_of(*state, sql);
        assert_int_equal(plan->op, ALM_P_LIMIT);
        if (plan->limit.lo != cases[i].lo || plan->limit.hi != cases[i].hi)
            fail_msg("limit %s: %lld, %lld", cases[i].text, (long long)plan->limit.lo,
                     (long long)plan->limit.hi);
    }
    assert_int_equal(plan_of(*state, "select qty from trades limit null")->op, ALM_P_SCAN);
}

static void rows_are_estimated(void **state)
{
    fixture *f = *state;
    assert_true(plan_of(f, "select * from trades")->est_rows == 1e6);
    const double month = plan_of(f, "select * from trades where ts in '2024-02'")->est_rows;
    assert_true(month > 2.5e5 && month < 4e5);
    assert_true(plan_of(f, "select * from trades where ts in '2025'")->est_rows == 0);
    assert_true(plan_of(f, "select * from trades limit 10")->est_rows <= 10);
    assert_true(plan_of(f, "select qty from trades where qty = 1 limit 10")->est_rows == 1e6);
    assert_true(plan_of(f, "select count() from trades cross join ref")->est_rows == 1e8);
}

static void windows_say_their_frames(void **state)
{
    fixture *f = *state;
    const alm_plan *plan = plan_of(
        f, "select ts, sum(price) over (partition by sym order by ts) a, sum(price) over () b, "
           "avg(qty) over (order by ts range between 1 minute preceding and current row) c, "
           "count() over (order by qty rows 2 preceding) d from trades");
    while (plan->op != ALM_P_WINDOW)
        plan = plan->child[0];
    const alm_window_call *c = plan->window.calls;
    assert_int_equal(plan->window.n_calls, 4);
    assert_true(c[0].frame == ALM_FRAME_RANGE && c[0].lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING &&
                c[0].hi_kind == ALM_BOUND_CURRENT && c[0].order_is_ts);
    assert_true(c[1].frame == ALM_FRAME_ROWS && c[1].lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING &&
                c[1].hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING);
    assert_true(c[2].lo_kind == ALM_BOUND_PRECEDING && c[2].lo == 60000000 && c[2].order_is_ts);
    assert_true(c[3].frame == ALM_FRAME_ROWS && c[3].lo == 2 && !c[3].order_is_ts);
}

static void deep_nesting_is_refused_not_fatal(void **state)
{
    fixture *f = *state;
    alm_buf sql;
    alm_buf_init(&sql, NULL);
    assert_int_equal(alm_buf_text(&f->cx, &sql, "select "), ALM_OK);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(alm_buf_text(&f->cx, &sql, "1 + "), ALM_OK);
    assert_int_equal(alm_buf_text(&f->cx, &sql, "1"), ALM_OK);
    size_t offset = 0;
    alm_stmt *stmt = NULL;
    alm_plan *plan = NULL;
    alm_error_clear(&f->cx);
    const alm_str text = {sql.ptr, sql.len};
    if (alm_sql_parse(&f->cx, text, &offset, &stmt) == ALM_OK &&
        alm_plan_select(&f->cx, &f->env, stmt->select, &plan) == ALM_OK)
        assert_int_equal(plan->op, ALM_P_VALUES);
    else
        assert_true(f->cx.err.msg[0] != '\0');
    alm_buf_deinit(&sql);
}

static alm_plan *join_plan(fixture *f)
{
    alm_plan *plan =
        plan_of(f, "select t.price + q.bid v from trades t left join quotes q on t.sym = "
                   "q.sym where q.bid > t.qty or q.bid < 0");
    while (plan->op != ALM_P_JOIN)
        plan = plan->child[0];
    return plan;
}

static void refused(fixture *f, alm_plan *plan, const char *why)
{
    alm_planner p = {.cx = &f->cx, .env = &f->env};
    alm_error_clear(&f->cx);
    assert_int_equal(alm_plan_check(&p, plan, "a test", true), ALM_E_INTERNAL);
    if (strstr(f->cx.err.msg, why) == NULL)
        fail_msg("%s: not for %s", f->cx.err.msg, why);
}

/* What does not fit together is seen before it runs. */
static void broken_plans_are_refused(void **state)
{
    fixture *f = *state;
    alm_planner p = {.cx = &f->cx, .env = &f->env};
    alm_plan *plan = join_plan(f);
    assert_int_equal(alm_plan_check(&p, plan, "a test", true), ALM_OK);
    plan->join.left_keys[0]->col = 99;
    refused(f, plan, "a test: join: a column that the input has not");
    plan = join_plan(f);
    plan->join.left_keys[0]->col = ALM_COL_OUTER | 1;
    refused(f, plan, "a column of another query or stage");
    plan = join_plan(f);
    plan->join.right_keys[0]->type = ALM_TY(DOUBLE);
    refused(f, plan, "a column of another type");
    plan = join_plan(f);
    plan->child[1] = plan->child[0];
    plan->join.right_keys = plan->join.left_keys;
    plan->n_cols = 2 * plan->child[0]->n_cols;
    refused(f, plan, "scan: a node has two parents");
    plan = join_plan(f);
    plan->n_cols++;
    refused(f, plan, "number of columns");
    plan = join_plan(f);
    plan->ts_col = 77;
    refused(f, plan, "designated timestamp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clauses_become_nodes),
        cmocka_unit_test(timestamp_conditions_become_ranges),
        cmocka_unit_test(conditions_move_down),
        cmocka_unit_test(rules_before_and_after),
        cmocka_unit_test(windows_keep_what_others_need),
        cmocka_unit_test(dependent_queries_become_joins),
        cmocka_unit_test(queries_of_with_are_shared),
        cmocka_unit_test(order_is_known),
        cmocka_unit_test(limits_take_every_form),
        cmocka_unit_test(rows_are_estimated),
        cmocka_unit_test(windows_say_their_frames),
        cmocka_unit_test(deep_nesting_is_refused_not_fatal),
        cmocka_unit_test(broken_plans_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
