#!/usr/bin/env python3
"""PREPARE, EXECUTE and DEALLOCATE as SQL, beside the statements of Parse messages; pg_prepared_statements; FETCH and MOVE in portals of Bind.

    prepare_test.py [--preset NAME] [--nightly] [CHECK...]
"""

from lib.checks import check, expect, main
from lib.pganswers import data_rows, kinds, pg, tags, text, with_asyncpg
from lib.pgclient import SYNC, Wire, bind, close, describe, execute, fields, parse, query


def ask(w, sql):
    """(tags and SQLSTATEs, rows)"""
    a = w.ask(query(sql))
    return tags(a) + [fields(b)["C"] for k, b in a if k == "E"], text(data_rows(a))


def fault(w, sql):
    e = w.error(query(sql))
    assert e is not None, sql
    return e["C"], int(e.get("P", 0)), e["M"]


@check
def by_sql(s):
    w = Wire(s.pg)
    expect(ask(w, "prepare p (int, text) as select $1 + 1 as a, $2 || '!' as b"), (["PREPARE"], []))
    expect(ask(w, "execute p (41, 'yes')"), (["SELECT 1"], [["42", "yes!"]]))
    expect(ask(w, "EXECUTE P(1 + 1, upper('a')); execute p(null, null)"), (["SELECT 1", "SELECT 1"], [["3", "A!"], [None, "!"]]))
    expect(ask(w, 'prepare "P" as select 1'), (["PREPARE"], []), "another name")
    expect(ask(w, 'execute "P"'), (["SELECT 1"], [["1"]]))
    expect(ask(w, "deallocate p; execute \"P\""), (["DEALLOCATE", "SELECT 1"], [["1"]]))
    expect(fault(w, "execute p(1, 'a')")[0], "26000")
    expect(ask(w, 'deallocate prepare "P"')[0], ["DEALLOCATE"])
    expect(ask(w, "prepare q as select 1; prepare r as select 2; deallocate all")[0], ["PREPARE", "PREPARE", "DEALLOCATE ALL"])
    expect(fault(w, "deallocate q")[0], "26000")
    expect(w.rows("select count() from pg_prepared_statements"), [["0"]])


@check
def inferred_types(s):
    w = Wire(s.pg)
    ask(w, "create table prep (ts timestamp, sym symbol, price double, amount decimal(10,2), ok boolean, u uuid, n short, list double[]) timestamp(ts) partition by day")
    expect(ask(w, "prepare ins as insert into prep values ($1, $2, $3, $4, $5, $6, $7, $8)")[0], ["PREPARE"])
    expect(ask(w, "execute ins('2026-01-02T03:04:05.678901Z', 'a''b', 1.5, 12.34, true, '11111111-2222-3333-4444-555555555555', 7, '{1,2.5}')")[0], ["INSERT 0 1"])
    expect(ask(w, "execute ins('2026-01-03', null, 2, 5, 'f', null, '8', array[3.0])")[0], ["INSERT 0 1"])
    expect(ask(w, "select * from prep")[1], [
        ["2026-01-02 03:04:05.678901", "a'b", "1.5", "12.34", "t", "11111111-2222-3333-4444-555555555555", "7", "{1,2.5}"],
        ["2026-01-03 00:00:00.000000", None, "2", "5.00", "f", None, "8", "{3}"]])
    expect(ask(w, "prepare up as update prep set price = $2 where sym = $1; execute up('a''b', 9)")[0], ["PREPARE", "UPDATE 1"])
    expect(ask(w, "prepare del as delete from prep where ts > $1; execute del('2026-01-03T00:00:00Z'::timestamp - 1)")[0], ["PREPARE", "DELETE 1"])
    expect(ask(w, "prepare sel (unknown) as select price from prep where sym = $1; execute sel('a''b')"), (["PREPARE", "SELECT 1"], [["9"]]))
    # beside a UUID a value is one and a pattern is a text; beside a symbol a number stays a number, whatever other rows say
    expect(ask(w, "prepare pat as select price from prep where u like $1; execute pat('1111%'); execute pat('%-9')"), (["PREPARE", "SELECT 1", "SELECT 0"], [["9"]]))
    expect(ask(w, "prepare num (int) as select count() from prep where sym = $1 or sym < $1; execute num(5)"), (["PREPARE", "SELECT 1"], [["0"]]))
    expect(ask(w, "prepare is_u as select price from prep where u = $1; execute is_u('1111%')")[0], ["PREPARE", "22P02"])
    expect(ask(w, "prepare cte as with t as (select x from long_sequence($1)) select sum(x) from t; execute cte(4)"), (["PREPARE", "SELECT 1"], [["10"]]))


@check
def errors_have_places(s):
    w = Wire(s.pg)
    for sql, code, pos, part in (
            ("prepare p as select 1; prepare p as select 2", "42P05", 0, 'prepared statement "p" already exists'),
            ("prepare a as selec 1", "42601", 0, ""),
            ("prepare a as select nope from long_sequence(1)", "42703", 21, "nope"),
            ("prepare a as create table x (i int)", "42601", 14, "'select', 'insert', 'update' or 'delete' expected"),
            ("prepare a as begin", "42601", 14, "expected"),
            ("prepare a (nosuchtype) as select 1", "42704", 12, "nosuchtype"),
            ("prepare a (int as select 1", "42601", 16, "',' or ')' expected"),
            ("prepare a select 1", "42601", 11, "'as' expected"),
            ("prepare", "42601", 8, "name of a prepared statement expected"),
            ("prepare a as prepare b as select 1", "42601", 14, "expected"),
            ("execute nowhere", "26000", 9, '"nowhere" does not exist'),
            ("execute nowhere(1", "42601", 18, "',' or ')' expected"),
            ("execute", "42601", 8, "name of a prepared statement expected"),
            ("execute p(1)", "42601", 9, "0 expected, 1 given")):
        got = fault(w, sql)
        expect((got[0], got[1] if pos else 0, part in got[2]), (code, pos, True), (sql, got))
    ask(w, "prepare two (int, long) as select $1, $2")
    for sql, code in (("execute two(1)", "42601"), ("execute two(1, 2, 3)", "42601"), ("execute two('x', 1)", "22P02"), ("execute two(1, 99999999999999999999)", "22P02"),
                      ("execute two(10000000000, 1)", "22003"), ("execute two(1, nope)", "42703"), ("execute two(1, $1)", "42P02")):
        expect(fault(w, sql)[0], code, sql)
    expect(ask(w, "execute two(1, 2)")[1], [["1", "2"]], "the connection goes on")
    expect(ask(w, "begin; execute nowhere")[0], ["BEGIN", "26000"])
    expect(ask(w, "execute two(1, 2)")[0], ["25P02"])
    expect(ask(w, "rollback; execute two(1, 2)")[0], ["ROLLBACK", "SELECT 1"])
    status, _, body = s.get("/exec", query="prepare p as select 1")
    expect((status, b"needs a connection by the PostgreSQL protocol" in body), (400, True), body)


@check
def one_name_space(s):
    w = Wire(s.pg)
    expect(kinds(w.ask(parse("wire", "select $1::int * 2 as d"), SYNC)), "1Z")
    expect(ask(w, "execute wire(21)"), (["SELECT 1"], [["42"]]))
    ask(w, "prepare sqlp (double) as select $1 / 2")
    a = w.ask(describe("S", "sqlp"), bind("", "sqlp", [b"5"]), execute(), SYNC)
    expect((kinds(a), text(data_rows(a))), ("tT2DCZ", [["2.5"]]))
    expect([b for k, b in a if k == "t"], [b"\0\1\0\0\2\xbd"])
    expect(fields([b for k, b in w.ask(parse("sqlp", "select 1"), SYNC) if k == "E"][0])["C"], "42P05")
    expect(ask(w, "prepare wire as select 1")[0], ["42P05"])
    expect(kinds(w.ask(close("S", "sqlp"), SYNC)), "3Z")
    expect(ask(w, "execute sqlp(1)")[0], ["26000"])
    expect(ask(w, "deallocate wire")[0], ["DEALLOCATE"])
    w.ask(parse("b", "begin"), parse("e", "execute e"), parse("d", "declare c cursor for select 1"), parse("c", "copy t from stdin"), SYNC)
    for name in "bedc":
        expect(ask(w, f"execute {name}")[0], ["0A000"], name)
    w.ask(parse("sh", "show server_encoding"), SYNC)
    expect(ask(w, "execute sh"), (["SHOW"], [["UTF8"]]))


@check
def by_messages(s):
    """PREPARE and EXECUTE in the extended protocol: described, in binary, cut by a row limit."""
    w = Wire(s.pg)
    expect(kinds(w.ask(parse("", "prepare ten (long) as select x, x * 1.5 y from long_sequence($1)"), describe("S"), bind(), execute(), SYNC)), "1tn2CZ")
    a = w.ask(parse("x", "execute ten(10)"), describe("S", "x"), bind("p", "x", results=[1, 0]), describe("P", "p"), execute("p", 4), SYNC)
    expect(kinds(a), "1tT2TDDDDsZ")
    expect(data_rows(a)[3], [b"\0\0\0\0\0\0\0\4", b"6"])
    expect(kinds(w.ask(execute("p", 4), execute("p", 4), SYNC)), "DDDDsDDCZ")
    expect(fields([b for k, b in w.ask(bind("", "x", results=[0, 0, 0]), SYNC) if k == "E"][0])["C"], "08P01")
    # dropped while a portal of it is open
    w.ask(query("begin"))
    w.ask(bind("q", "x"), execute("q", 2), SYNC)
    expect(kinds(w.ask(query("deallocate ten"))), "CZ")
    a = w.ask(execute("q", 3), SYNC)
    expect(text(data_rows(a)), [["3", "4.5"], ["4", "6"], ["5", "7.5"]])
    w.ask(query("commit"))
    # prepared anew with other columns: what was described does not hold, a fresh Describe does
    w.ask(query("prepare ten (long) as select 'text' t"))
    expect([fields(b)["C"] for k, b in w.ask(bind("", "x", results=[1, 0]), SYNC) if k == "E"], ["08P01"])
    a = w.ask(describe("S", "x"), bind("", "x"), execute(), SYNC)
    expect((kinds(a), text(data_rows(a))), ("tT2DCZ", [["text"]]))


@check
def a_table_changes(s):
    w = Wire(s.pg)
    ask(w, "create table changing (a int); insert into changing values (1)")
    ask(w, "prepare ch as select * from changing")
    expect(ask(w, "execute ch")[1], [["1"]])
    ask(w, "alter table changing add column b int")
    expect(ask(w, "execute ch")[1], [["1", None]], "a simple query has no shape to keep")
    ask(w, "drop table changing")
    expect(fault(w, "execute ch")[:2], ("42P01", 0))
    ask(w, "create table changing (z varchar)")
    expect(ask(w, "execute ch")[1], [])


@check
def the_list(s):
    w = Wire(s.pg)
    w.ask(parse("w1", "select $1::int, $2"), SYNC)
    ask(w, "prepare s1 (double, text, double[]) as select $1, $2, $3")
    got = w.rows("select name, statement, parameter_types, from_sql, prepare_time > now() - 60000000, generic_plans, custom_plans from pg_prepared_statements order by name")
    expect(got, [["s1", "prepare s1 (double, text, double[]) as select $1, $2, $3", "{double precision,character varying,double precision[]}", "t", "t", "0", "0"],
                 ["w1", "select $1::int, $2", got[1][2], "f", "t", "0", "0"]])
    expect(Wire(s.pg).rows("select * from pg_prepared_statements"), [], "of one's own connection alone")
    expect(s.rows("select count() from pg_prepared_statements"), [[0]])
    ask(w, "begin; declare cur cursor for select 1; declare held binary cursor with hold for select 2")
    expect(w.rows("select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors order by name"),
           [["cur", "begin; declare cur cursor for select 1; declare held binary cursor with hold for select 2", "f", "f", "f"],
            ["held", "begin; declare cur cursor for select 1; declare held binary cursor with hold for select 2", "t", "t", "f"]])
    expect(ask(w, "discard all")[0], ["25001"])
    ask(w, "rollback")
    ask(w, "discard all")
    expect(w.rows("select count() from pg_prepared_statements"), [["0"]])


@check
def limits(s):
    with type(s)(preset=s.preset, env={"ALMANAC_PG_NAMED_STATEMENT_LIMIT": "3"}) as few:
        w = Wire(few.pg)
        expect(ask(w, "prepare a as select 1; prepare b as select 1; prepare c as select 1; prepare d as select 1")[0], ["PREPARE"] * 3 + ["53400"])
        expect(ask(w, "deallocate a; prepare d as select 4; execute d")[1], [["4"]])
    w = Wire(s.pg)
    for i in range(2000):  # memory goes with the statement
        w.ask(query(f"prepare again as select {i}, '{'x' * 1000}'; execute again; deallocate again"))
    expect(w.rows("select count() from pg_prepared_statements"), [["0"]])


@check
def fetch_in_a_portal(s):
    w = Wire(s.pg)
    w.ask(query("begin"))
    w.ask(parse("", "select x from long_sequence($1)"), bind("__Portal_1__", "", [b"10"]), SYNC)
    expect(ask(w, 'move forward 3 in "__Portal_1__"'), (["MOVE 3"], []))
    expect(text(data_rows(w.ask(execute("__Portal_1__", 2), SYNC))), [["4"], ["5"]])
    expect(ask(w, 'fetch 2 from "__Portal_1__"'), (["FETCH 2"], [["6"], ["7"]]))
    a = w.ask(parse("f", 'fetch 9 from "__Portal_1__"'), describe("S", "f"), bind("", "f"), execute("", 1), SYNC)
    expect((kinds(a), text(data_rows(a))), ("1tT2DsZ", [["8"]]))
    expect(text(data_rows(w.ask(execute("__Portal_1__", 5), SYNC))), [["9"], ["10"]])
    w.ask(parse("", "begin"), bind("notrows"), SYNC)
    expect(ask(w, "fetch notrows")[0], ["34000"])


@check
def explain_execute(s):
    w = Wire(s.pg)
    w.ask(query("create table pex (a int, ts timestamp) timestamp(ts) partition by day; insert into pex values (1, '2026-01-01'), (2, '2026-01-02')"))
    w.ask(query("prepare q (int) as select a from pex where a = $1"), parse("m", "insert into pex (a, ts) values ($1, $2)"), SYNC)
    w.until_ready()
    expect(ask(w, "explain execute q(2)"), (["EXPLAIN"], [["scan pex [a] filter: a = 2"]]))
    lines = ask(w, "explain (analyze) execute q(1 + 1)")[1]
    expect((len(lines), lines[0][0].startswith("scan pex [a] filter: a = 2 (rows=1 ")), (1, True), lines)
    expect(ask(w, "explain execute m(7, '2026-01-03')")[0], ["EXPLAIN"])
    expect(w.rows("select count() from pex"), [["2"]], "it is not run")
    a = w.ask(parse("e", "explain execute q(1)"), describe("S", "e"), bind("", "e"), describe("P"), execute(), SYNC)
    expect((kinds(a), b"QUERY PLAN" in a[2][1], tags(a)), ("1tT2TDCZ", True, ["EXPLAIN"]))
    expect([ask(w, sql)[0] for sql in ("explain execute nope", "explain execute q", "explain execute q('x')", "explain analyze execute q(1, 2)")],
           [["26000"], ["42601"], ["22P02"], ["42601"]])
    expect(ask(w, "execute q(2)"), (["SELECT 1"], [["2"]]))
    expect(ask(w, "select name from pg_prepared_statements order by name")[1], [["e"], ["m"], ["q"]])


@check
def asyncpg_goes_forward(s):
    async def body(c):
        async with c.transaction():
            cur = await c.cursor("select x from long_sequence($1)", 100)
            expect(await cur.forward(10), 10)
            expect([r[0] for r in await cur.fetch(3)], [11, 12, 13])
            expect(await cur.forward(80), 80)
            expect((await cur.fetchrow())[0], 94)
            expect(await cur.forward(50), 6)
            expect(await cur.fetchrow(), None)
    with_asyncpg(s, body)


@check
def psycopg_runs_it(s):
    with pg(s, autocommit=True) as c:
        c.execute("prepare pp (int) as select $1 * 2")
        expect(c.execute("execute pp(21)").fetchall(), [(42,)])
        expect(c.execute("select name from pg_prepared_statements where from_sql").fetchall(), [("pp",)])


if __name__ == "__main__":
    main()
