#!/usr/bin/env python3
"""EXPLAIN (FORMAT JSON) on the PostgreSQL wire: its type, its shape, and what drivers read from it.

    explain_json_test.py [--preset NAME] [CHECK...]
"""
import json

from lib.checks import check, expect, main
from lib.pganswers import data_rows, pg, with_asyncpg
from lib.pgclient import SYNC, Wire, bind, describe, execute, parse

TABLES = ["create table if not exists ej_a (ts timestamp, k int, v int) timestamp(ts) partition by day",
          "create table if not exists ej_b (ts timestamp, k int, w int) timestamp(ts) partition by day",
          "insert into ej_a values ('2024-01-01', 1, 1), ('2024-01-02', 2, 2)", "insert into ej_b values ('2024-01-01', 1, 10)"]


def tables(s):
    if not s.rows("select 1 from tables() where table_name = 'ej_a'"):
        for sql in TABLES:
            s.exec(sql)


def plan_of(s, sql, options="format json"):
    tables(s)
    with pg(s, autocommit=True) as c:
        rows = c.execute(f"explain ({options}) {sql}").fetchall()
    expect(len(rows), 1, sql)
    expect(len(rows[0]), 1, sql)
    got = rows[0][0]
    assert isinstance(got, list) and len(got) == 1, got  # psycopg reads json by its type
    return got[0].get("Plan", got[0]) if isinstance(got[0], dict) else got[0]


def nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def nullable(plan):
    """Which columns sqlx takes for nullable: its rule of Join Type, Parent Relationship and Output (sqlx-postgres, describe)."""
    outputs, found = plan["Output"], [None] * len(plan["Output"])

    def visit(p):
        if p.get("Join Type") == "Full" or p.get("Parent Relationship") == "Inner":
            for o in p.get("Output", []):
                if o in outputs:
                    found[outputs.index(o)] = True
        if p.get("Join Type") in ("Left", "Right"):
            for child in p.get("Plans", []):
                visit(child)
    visit(plan)
    return found


@check
def shape(s):
    p = plan_of(s, "select v, k + 1 x from ej_a where k > 1 order by v")
    for one in nodes(p):
        assert isinstance(one["Node Type"], str) and isinstance(one["Output"], list) and one["Parallel Aware"] is False, one
        assert "Actual Rows" not in one, one
    expect("Parent Relationship" in p, False)
    scan = list(nodes(p))[-1]
    expect([scan["Node Type"], scan["Relation Name"], scan["Schema"]], ["Seq Scan", "ej_a", "public"])
    expect(scan["Parent Relationship"], "Outer")


@check
def analyze(s):
    p = plan_of(s, "select v from ej_a", "analyze, verbose, format json")
    expect([p["Actual Rows"], p["Actual Loops"]], [2, 1])
    assert p["Actual Total Time"] >= 0, p
    p = plan_of(s, "select v from ej_a", "analyze off, format json")
    expect("Actual Rows" in p, False)


@check
def null_columns(s):
    for sql, want in (("select a.v, b.w from ej_a a join ej_b b on a.k = b.k", [None, None]),
                      ("select a.v, b.w from ej_a a left join ej_b b on a.k = b.k", [None, True]),
                      ("select b.w, a.v from ej_a a left join ej_b b on a.k = b.k where a.v > 0", [True, None]),
                      ("select a.v, b.w from ej_a a right join ej_b b on a.k = b.k", [True, None]),
                      ("select a.v, b.w from ej_a a full join ej_b b on a.k = b.k", [True, True]),
                      ("select a.v, b.w from ej_a a asof join ej_b b on a.k = b.k", [None, True])):
        p = plan_of(s, sql, "verbose, format json")
        expect(nullable(p), want, (sql, p))


@check
def kinds_of_nodes(s):
    for sql, want in (("select count() from ej_a", "Aggregate"), ("select ts, count() from ej_a sample by 1h", "Sample"), ("select * from ej_a limit 1", "Limit"),
                      ("select v from ej_a union all select w from ej_b", "Append"), ("select * from long_sequence(3)", "Function Scan"),
                      ("select row_number() over (order by v) from ej_a", "WindowAgg"), ("select * from ej_a a join ej_b b on a.k = b.k", "Hash Join"),
                      ("select * from ej_a latest on ts partition by k", "Latest"), ("select v from ej_a except select w from ej_b", "SetOp"),
                      ("select 'a\"b\\c' x, '\u0001' y", "Values Scan")):
        p = plan_of(s, sql)
        assert want in [one["Node Type"] for one in nodes(p)], (sql, p)


@check
def other_statements(s):
    for sql in ("insert into ej_a select * from ej_a", "update ej_a set v = 1 where k = 1", "delete from ej_a where k = 1", "create table ej_c as (select * from ej_a)"):
        expect(isinstance(plan_of(s, sql)["Node Type"], str), True, sql)
    expect(plan_of(s, "create table ej_c (a int)"), "Utility Statement")
    expect(s.rows("select count() from ej_a"), [[2]])


@check
def execute_as_sqlx_asks(s):
    """A prepared statement is explained by its name with null for each parameter; the result is json, in binary too."""
    tables(s)
    w = Wire(s.pg)
    w.send(parse("sqlx_s_1", "select a.v, b.w from ej_a a left join ej_b b on a.k = b.k where a.v > $1"), SYNC)
    w.until_ready()
    w.send(parse("", "explain (verbose, format json) execute sqlx_s_1(null)"), bind("", "", results=[1]), describe("P", ""), execute(""), SYNC)
    answer = w.until_ready()
    head = [b for k, b in answer if k == "T"]
    expect(int.from_bytes(head[0][-12:-8], "big"), 114, head)
    got = json.loads(data_rows(answer)[0][0])
    expect(nullable(got[0]["Plan"]), [None, True], got)


@check
def asyncpg_reads_it(s):
    tables(s)

    async def body(c):
        got = json.loads(await c.fetchval("explain (format json) select v from ej_a"))
        expect(got[0]["Plan"]["Output"], ["ej_a.v"])
    with_asyncpg(s, body)


if __name__ == "__main__":
    main()
