#!/usr/bin/env python3
"""Cursors on the PostgreSQL wire: DECLARE, FETCH, MOVE, CLOSE by hand, and as psycopg, psql and others write them.

    cursor_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import os, shutil, struct, subprocess, sys

from lib.checks import Skip, check, expect, main
from lib.pganswers import data_rows, kinds, pg, state, tags, text
from lib.pgclient import FLUSH, SYNC, Wire, bind, describe, execute, fields, parse, query

TEN = "select x, 'r' || x t from long_sequence(10)"


def ask(w, sql):
    """(tags or SQLSTATE, rows, state)"""
    a = w.ask(query(sql))
    errors = [fields(b)["C"] for k, b in a if k == "E"]
    return tags(a) + errors, [int(r[0]) for r in text(data_rows(a))], state(a)


# ------------------------------------------------------------------ by hand
@check
def forms_of_fetch_and_move(s):
    w = Wire(s.pg)
    expect(ask(w, "begin"), (["BEGIN"], [], "T"))
    expect(ask(w, f"declare c cursor for {TEN}"), (["DECLARE CURSOR"], [], "T"))
    for sql, tag, rows in (("fetch c", "FETCH 1", [1]), ("FETCH NEXT FROM C", "FETCH 1", [2]), ("fetch 2 in c", "FETCH 2", [3, 4]), ("move c", "MOVE 1", []),
                           ("fetch forward from c", "FETCH 1", [6]), ("fetch forward 1 c", "FETCH 1", [7]), ("move forward 1 in c", "MOVE 1", []),
                           ("fetch forward all in c", "FETCH 2", [9, 10]), ("fetch all from c", "FETCH 0", []), ("fetch c", "FETCH 0", []),
                           ("move all c", "MOVE 0", [])):
        expect(ask(w, sql), ([tag], rows, "T"), sql)
    expect(kinds(w.ask(query("fetch 5 from c"))), "TCZ", "the description comes with no rows too")
    expect(kinds(w.ask(query("move 5 from c"))), "CZ")
    expect(ask(w, "close c"), (["CLOSE CURSOR"], [], "T"))
    expect(ask(w, "fetch c"), (["34000"], [], "E"))
    expect(ask(w, "rollback"), (["ROLLBACK"], [], "I"))
    w.rows("begin")
    expect(ask(w, 'declare "Odd ""name" binary insensitive no scroll cursor without hold for select 1::int union all select 2::int for read only')[0], ["DECLARE CURSOR"])
    a = w.ask(query('fetch all "Odd ""name"'))
    expect(data_rows(a), [[struct.pack("!i", 1)], [struct.pack("!i", 2)]])
    expect(ask(w, "close all; commit")[2], "I")


@check
def what_goes_back_is_refused(s):
    w = Wire(s.pg)
    for sql in ("fetch backward from c", "fetch prior c", "fetch first from c", "fetch last in c", "fetch absolute 3 from c", "fetch relative 1 from c", "fetch -1 from c",
                "fetch forward -1 from c", "move backward all in c", "fetch 0 from c", "declare d scroll cursor for select 1", "declare d cursor for select 1 for update"):
        w.rows("begin")
        w.rows(f"declare c cursor for {TEN}")
        expect(ask(w, sql), (["0A000"], [], "E"), sql)
        expect(ask(w, "fetch c")[0], ["25P02"], sql)
        expect(ask(w, "rollback"), (["ROLLBACK"], [], "I"))
    expect("forward only" in w.error(query("fetch prior c"))["M"], True)
    for sql in ("declare c cursor", "declare c cursor select 1", "declare c no cursor for select 1", "fetch 1 2 c", "fetch next from c d", "fetch 99999999999999999999 c", "move 1.5 in c"):
        expect(ask(w, sql)[0], ["42601"], sql)
    expect(ask(w, "declare @x := 3 select @x::long")[1], [3])


@check
def blocks_and_hold(s):
    w = Wire(s.pg)
    expect(ask(w, "declare c cursor for select 1"), (["25P01"], [], "I"))
    expect(ask(w, f"declare c cursor for {TEN}; fetch 2 from c")[:2], (["DECLARE CURSOR", "FETCH 2"], [1, 2]), "one text is one block")
    expect(ask(w, "fetch c")[0], ["34000"])
    expect(ask(w, f"declare h cursor with hold for {TEN}; fetch 2 from h")[1], [1, 2])
    expect(ask(w, "fetch 2 from h")[1], [3, 4])
    expect(ask(w, f"begin; declare c cursor for {TEN}; declare k cursor with hold for {TEN}; commit; fetch k")[1], [1])
    expect([ask(w, f"fetch {n}")[0] for n in "chk"], [["34000"], ["FETCH 1"], ["FETCH 1"]])
    expect(ask(w, f"begin; declare r cursor with hold for {TEN}; rollback")[2], "I")
    expect([ask(w, f"fetch {n}")[0] for n in "rh"], [["34000"], ["FETCH 1"]], "a rollback ends those of its block alone")
    expect(ask(w, f"declare h cursor with hold for {TEN}")[0], ["42P03"])
    w.rows("begin")
    expect(ask(w, "select nope")[2], "E")
    expect(ask(w, "fetch h")[0], ["25P02"])
    expect(ask(w, "commit")[0], ["ROLLBACK"])
    expect(ask(w, "fetch h")[1], [7])
    expect(ask(w, "close h; close k")[0], ["CLOSE CURSOR"] * 2)
    expect(ask(w, "close h")[0], ["34000"])
    w.rows(f"declare h cursor with hold for {TEN}")
    w.rows("discard all")
    expect(ask(w, "fetch h")[0], ["34000"])
    w.close()


@check
def rollbacks_and_cursors(s):
    w, other = Wire(s.pg), Wire(s.pg)
    for back in ("rollback to b", "rollback to a"):
        w.ask(query(f"begin; declare one cursor for {TEN}; savepoint a; declare two cursor for {TEN}; savepoint b; declare three cursor with hold for {TEN}; fetch 2 from one"))
        w.ask(query(back))
        gone = ["three"] if back.endswith("b") else ["two", "three"]
        for name in ("one", "two", "three"):
            w.rows("savepoint try")
            expect(ask(w, f"fetch {name}")[0], ["34000"] if name in gone else ["FETCH 1"], (back, name))
            w.rows("rollback to try")
        expect(ask(w, "commit")[2], "I")
    w.ask(query(f"begin; savepoint a; declare c cursor for {TEN}; release a; savepoint b"))
    expect(ask(w, "rollback to b; fetch c")[1], [1])
    w.ask(query("rollback; begin"))
    w.ask(query(f"savepoint a; savepoint b; declare c cursor for {TEN}; release b"))
    w.ask(query("select nope"))
    expect(ask(w, "rollback to a; fetch c")[0], ["ROLLBACK", "34000"])
    w.rows("rollback")
    w.ask(query(f"begin; declare h cursor with hold for {TEN}"))
    w.ask(query("select nope"))
    expect(ask(w, "commit; fetch h")[0], ["ROLLBACK", "34000"], "the block was rolled back")
    w.rows("create table fc (ts timestamp, v int) timestamp(ts) partition by day")
    w.rows("insert into fc values ('2024-01-01', 1)")
    w.ask(query(f"begin; declare h cursor with hold for {TEN}; update fc set v = 2"))
    other.rows("update fc set v = 3")
    expect(ask(w, "commit")[::2], (["40001"], "I"))
    expect(ask(w, "fetch h")[0], ["34000"], "the commit failed")


@check
def an_execute_of_a_fetch_has_its_row_limit(s):
    w = Wire(s.pg)
    w.rows("begin")
    w.rows(f"declare c cursor for {TEN}")
    a = w.ask(parse("f", "fetch 5 from c"), bind("p", "f"), execute("p", 2), execute("p", 2), FLUSH, execute("p", 2), execute("p", 2), SYNC)
    expect((kinds(a), tags(a)), ("12DDsDDsDCCZ", ["FETCH 5", "FETCH 0"]))
    expect([int(r[0]) for r in data_rows(a)], [1, 2, 3, 4, 5])
    a = w.ask(bind("p2", "f"), execute("p2", 5), execute("p2", 1), SYNC)
    expect((kinds(a), tags(a)), ("2DDDDDsCZ", ["FETCH 5"]))
    w.rows("close c")
    w.rows(f"declare c cursor for {TEN}")
    a = w.ask(bind("q", "f"), execute("q", 2), SYNC)
    expect(kinds(a), "2DDsZ")
    expect(ask(w, "fetch 1 from c")[1], [6], "the FETCH before has had its five")
    w.rows("savepoint a")
    expect(w.error(execute("q"), SYNC)["C"], "34000", "what it left out is gone")
    w.rows("rollback to a")
    expect(ask(w, "fetch 1 from c")[1], [7])
    a = w.ask(parse("m", "move 2 in c"), bind("", "m"), execute("", 1), SYNC)
    expect((kinds(a), tags(a)), ("12CZ", ["MOVE 2"]))
    a = w.ask(bind("e", "f"), execute("e", 3), SYNC)
    expect((kinds(a), tags(a), [int(r[0]) for r in data_rows(a)]), ("2DCZ", ["FETCH 1"], [10]))
    expect(kinds(w.ask(bind("e", "f"), execute("e", 3), SYNC)), "2CZ")
    w.rows("rollback; begin")
    w.rows("declare big cursor for select x from long_sequence(300000)")
    a = w.ask(parse("", "fetch all from big"), bind("all"), execute("all", 100000), execute("all", 100000), execute("all", 100000), execute("all", 100000), SYNC)
    expect(([int(r[0]) for r in data_rows(a)] == list(range(1, 300001)), tags(a), kinds(a).count("s")), (True, ["FETCH 300000"], 3))
    w.rows("rollback")
    w.rows("begin")
    w.rows(f"declare c cursor for {TEN}")
    w.ask(bind("q", "f"), execute("q", 2), SYNC)
    w.rows("close c")
    expect(w.error(execute("q", 2), SYNC)["C"], "34000")
    w.rows("rollback")


@check
def a_cursor_sees_its_moment(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.rows("create table cm (a long)")
    w.rows("insert into cm select x from long_sequence(5)")
    w.rows("begin")
    w.rows("insert into cm values (6)")
    w.rows("declare c cursor with hold for select a from cm order by a")
    w.rows("insert into cm values (7)")
    other.rows("insert into cm values (8)")
    expect(ask(w, "fetch 2 from c")[1], [1, 2])
    expect(ask(w, "commit")[0], ["COMMIT"])
    other.rows("truncate table cm")
    expect(ask(w, "fetch all from c")[1], [3, 4, 5, 6])
    w.rows("close c")
    w.rows("begin; declare c cursor with hold for select a from cm")
    other.rows("drop table cm")
    expect(ask(w, "commit; fetch c")[0], ["COMMIT", "FETCH 0"])


@check
def errors_of_the_rows_end_the_cursor(s):
    w = Wire(s.pg)
    w.rows("set statement_timeout = 200")
    w.rows("begin")
    w.rows("declare c cursor for select count() from long_sequence(3000000) a cross join long_sequence(3000000) b")
    expect(ask(w, "fetch c")[::2], (["57014"], "E"))
    expect(ask(w, "rollback")[2], "I")
    w.rows("declare h cursor with hold for select count() from long_sequence(3000000) a cross join long_sequence(3000000) b")
    expect(ask(w, "fetch h")[::2], (["57014"], "I"))
    expect(ask(w, "fetch h")[0], ["34000"])


@check
def the_extended_protocol(s):
    w = Wire(s.pg)
    w.rows("begin")
    a = w.ask(parse("", "declare c cursor for select x, x::int y from long_sequence(10) where x > $1", [20]), describe("S"), bind("", "", [b"3"]), execute(), SYNC)
    expect((kinds(a), tags(a)), ("1tn2CZ", ["DECLARE CURSOR"]))
    expect(a[1][1], struct.pack("!HI", 1, 20))
    a = w.ask(parse("f", "fetch forward 2 from c"), describe("S", "f"), bind("", "f", results=[1]), describe("P"), execute(), SYNC)
    expect((kinds(a), tags(a)), ("1tT2TDDCZ", ["FETCH 2"]))
    expect(data_rows(a)[0], [struct.pack("!q", 4), struct.pack("!i", 4)])
    a = w.ask(bind("", "f", results=[0, 1]), execute(), SYNC)
    expect(data_rows(a)[0], [b"6", struct.pack("!i", 6)])
    expect(w.error(bind("", "f", results=[0, 1, 1]), SYNC)["C"], "08P01")
    w.rows("rollback")
    w.rows("begin")
    w.rows("declare c cursor for select 'another' from long_sequence(3)")
    a = w.ask(bind("", "f"), describe("P"), execute(), SYNC)
    expect((kinds(a), data_rows(a)), ("2TDDCZ", [[b"another"]] * 2))
    a = w.ask(describe("P", "c"), execute("c", 1), SYNC)
    expect((kinds(a), tags(a)), ("TDsZ", []), "the cursor is a portal")
    expect(w.rows("fetch c"), [])
    w.rows("close c")
    expect(kinds(w.ask(bind("", "f"), describe("P"), execute(), SYNC)), "2nEZ")
    w.rows("rollback")


@check
def rows_come_as_they_are_asked_for(s):
    w = Wire(s.pg)
    w.rows("begin")
    before = s.resident_bytes()[1]
    w.rows("declare c cursor for select x, 'some text that takes room' t from long_sequence(600000)")
    n = 0
    while True:
        rows = w.rows("fetch 10000 from c")
        n += sum(int(r[0]) for r in rows)
        if len(rows) < 10000:
            break
    expect(n, 600000 * 600001 // 2)
    expect(s.resident_bytes()[1] - before < 16 << 20 or s.sanitized, True)
    expect(ask(w, "declare d cursor for select x from long_sequence(100000000000)")[0], ["DECLARE CURSOR"])
    expect(ask(w, "move 1000000 in d")[0], ["MOVE 1000000"])
    expect(ask(w, "fetch d")[1], [1000001])
    w.rows("commit")


@check
def over_http_there_are_none(s):
    for sql in ("declare c cursor with hold for select 1", "fetch c", "move 1 in c"):
        try:
            s.exec(sql)
            raise AssertionError(sql)
        except RuntimeError as e:
            expect("needs a connection by the PostgreSQL protocol" in str(e), True, e)


# ------------------------------------------------------------------ as clients write it
@check
def texts_of_other_clients(s):
    w = Wire(s.pg)
    w.rows("BEGIN")  # psqlODBC with UseDeclareFetch, in a block and without
    expect(ask(w, f'declare "SQL_CUR0x1" cursor with hold for {TEN};fetch 4 in "SQL_CUR0x1"')[1], [1, 2, 3, 4])
    expect(ask(w, 'fetch 100 in "SQL_CUR0x1"')[1], [5, 6, 7, 8, 9, 10])
    expect(ask(w, 'close "SQL_CUR0x1"')[0], ["CLOSE CURSOR"])
    w.rows("COMMIT")
    expect(ask(w, f'declare "SQL_CUR0x2" cursor with hold for {TEN};fetch 4 in "SQL_CUR0x2"')[1], [1, 2, 3, 4])
    expect(ask(w, 'fetch 100 in "SQL_CUR0x2"')[1], [5, 6, 7, 8, 9, 10])
    w.rows('close "SQL_CUR0x2"')
    w.rows("BEGIN READ ONLY")  # libpqxx
    expect(ask(w, f'DECLARE "cur_1" NO SCROLL CURSOR FOR {TEN} FOR READ ONLY')[0], ["DECLARE CURSOR"])
    expect(ask(w, 'MOVE 3 IN "cur_1"')[0], ["MOVE 3"])
    expect(ask(w, 'FETCH 2 IN "cur_1"')[1], [4, 5])
    expect(ask(w, 'FETCH ALL IN "cur_1"')[1], [6, 7, 8, 9, 10])
    expect(ask(w, 'CLOSE "cur_1"')[0], ["CLOSE CURSOR"])
    expect(ask(w, 'DECLARE "cur_2" SCROLL CURSOR FOR select 1 FOR READ ONLY')[0], ["0A000"])
    w.rows("ROLLBACK")


@check
def psycopg_named_cursors(s):
    with pg(s) as c:
        with c.cursor("nc") as cur:
            cur.itersize = 1000
            cur.execute("select x, 'v' || x from long_sequence(10000) where x > %s", (10,))
            expect(cur.fetchone(), (11, "v11"))
            expect(cur.fetchmany(2), [(12, "v12"), (13, "v13")])
            expect(sum(r[0] for r in cur), 10000 * 10001 // 2 - 13 * 14 // 2)
        with c.cursor("bin", binary=True) as cur:
            cur.execute("select x, 0.5::double from long_sequence(3)")
            expect([d.name for d in cur.description][0], "x")
            expect(cur.fetchall(), [(1, 0.5), (2, 0.5), (3, 0.5)])
        held = c.cursor("held", withhold=True)
        held.execute("select x from long_sequence(5)")
        c.commit()
        expect(held.fetchmany(3), [(1,), (2,), (3,)])
        held.close()
        with c.cursor("s") as cur:
            cur.execute("select x from long_sequence(5)")
            cur.scroll(2)
            expect(cur.fetchone(), (3,))


@check
def psycopg2_named_cursors(s):
    # in a process of its own: both psycopgs bring a libpq
    program = '''import psycopg2, sys
with psycopg2.connect(sys.argv[1]) as c, c.cursor("named") as cur:
    cur.itersize = 7
    cur.execute("select x from long_sequence(100)")
    print(sum(r[0] for r in cur))'''
    p = subprocess.run([sys.executable, "-c", program, s.pg_dsn()], capture_output=True, text=True, timeout=60)
    if "ModuleNotFoundError" in p.stderr:
        raise Skip("psycopg2 is not installed")
    expect(p.stdout.strip(), "5050", p.stderr)


@check
def psql_fetch_count(s):
    if shutil.which("psql") is None:
        raise Skip("psql is not installed")
    host, port = s.pg.rsplit(":", 1)
    p = subprocess.run(["psql", "-XAtq", "-h", host, "-p", port, "-U", "admin", "-d", "qdb", "-v", "FETCH_COUNT=100", "-c", "select x from long_sequence(1234)"],
                       env={**os.environ, "PGPASSWORD": "quest"}, capture_output=True, text=True, timeout=60)
    expect((p.stdout.split(), p.stderr), ([str(i) for i in range(1, 1235)], ""))


if __name__ == "__main__":
    main()
