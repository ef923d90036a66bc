#!/usr/bin/env python3
"""Transactions on the PostgreSQL wire: blocks, savepoints, the implicit transaction of a pipeline and of a text.

    transactions_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import random, threading, time

from lib.checks import check, expect, main
from lib.pganswers import kinds, pg, psycopg, state, tags
from lib.pgclient import FLUSH, SYNC, Wire, bind, execute, msg, parse, query, fields


# ------------------------------------------------------------------ blocks
@check
def transaction_blocks(s):
    w = Wire(s.pg)
    other = Wire(s.pg)
    w.rows("create table tx (a int)")
    expect(state(w.ask(query("begin"))), "T")
    expect(state(w.ask(query("insert into tx values (1)"))), "T")
    expect(other.rows("select count() from tx"), [["0"]])
    expect(state(w.ask(query("commit"))), "I")
    expect(other.rows("select count() from tx"), [["1"]])
    w.ask(query("begin; insert into tx values (2)"))
    expect(tags(w.ask(query("rollback"))), ["ROLLBACK"])
    expect(other.rows("select count() from tx"), [["1"]])
    w.ask(query("begin"))
    w.ask(query("insert into tx values (3)"))
    expect(state(w.ask(query("select nope"))), "E")
    expect(w.error(query("select 1"))["C"], "25P02")
    expect(w.error(parse("", "select 1"), bind(), execute(), SYNC)["C"], "25P02")
    a = w.ask(query("commit"))
    expect((tags(a), state(a)), (["ROLLBACK"], "I"))
    expect(other.rows("select count() from tx"), [["1"]])
    for broken in (msg(b"Q", b"select '\xff'\0"), msg(b"P", b"x") + SYNC, bind("", "nope") + SYNC):
        w.ask(query("begin"))
        expect(state(w.ask(broken)), "E", broken)
        w.ask(query("rollback"))
    w.ask(query("begin"))
    w.ask(query("insert into tx values (4)"))
    w.close()
    time.sleep(0.1)
    expect(other.rows("select count() from tx"), [["1"]])


@check
def blocks_see_their_own_writes(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.rows("create table own (ts timestamp, k symbol, v long) timestamp(ts) partition by day")
    w.rows("create table own_log (a string)")
    w.rows("insert into own values ('2024-01-01', 'a', 1), ('2024-01-02', 'b', 2)")
    w.ask(query("begin"))
    w.ask(query("insert into own values ('2023-12-31', 'new', 3); insert into own_log values ('one')"))
    expect(w.rows("select k, v from own"), [["new", "3"], ["a", "1"], ["b", "2"]])
    expect(tags(w.ask(query("update own set v = v * 10, k = k || '!' where v <> 2"))), ["UPDATE 2"])
    expect(tags(w.ask(query("delete from own where k = 'a!'"))), ["DELETE 1"])
    expect(tags(w.ask(query("insert into own select dateadd('d', 7, ts), k, v + 1 from own"))), ["INSERT 0 2"])
    mine = [["new!", "30"], ["b", "2"], ["new!", "31"], ["b", "3"]]
    expect(w.rows("select k, v from own"), mine)
    expect(w.rows("select k, v from own latest on ts partition by k"), mine[2:])
    expect(w.rows("select count(), sum(v) from own join own_log on own_log.a = 'one'"), [["4", "66"]])
    expect([b for k, b in w.ask(query("copy (select k, v from own) to stdout")) if k == "d"], [f"{k}\t{v}\n".encode() for k, v in mine])
    expect(other.rows("select k, v from own"), [["a", "1"], ["b", "2"]])
    expect(other.rows("select count() from own_log"), [["0"]])
    expect(w.error(query("truncate table own"))["C"], "0A000")
    w.ask(query("rollback"))
    expect(w.rows("select k, v from own"), [["a", "1"], ["b", "2"]])
    w.ask(query("begin; update own set v = 5; insert into own_log values ('two'); commit"))
    expect(other.rows("select sum(v) from own"), [["10"]])
    expect(other.rows("select a from own_log"), [["two"]])


@check
def the_first_of_two_writers_wins(s):
    a, b = Wire(s.pg), Wire(s.pg)
    a.rows("create table race (ts timestamp, v long) timestamp(ts) partition by day")
    a.rows("insert into race values ('2024-01-01', 1), ('2024-02-01', 1)")
    for last in ("commit", "select * from race", "update race set v = 0"):
        a.ask(query("begin; update race set v = v + 1 where ts in '2024-01'"))
        b.ask(query("update race set v = v + 10 where ts in '2024-01'"))
        expect(a.error(query(last))["C"], "40001", last)
        a.ask(query("rollback"))
    expect(b.rows("select v from race"), [["31"], ["1"]])
    a.ask(query("begin; update race set v = v + 1 where ts in '2024-01'"))
    b.ask(query("insert into race values ('2024-01-01T05', 7)"))  # rows that come are no conflict
    b.ask(query("update race set v = v + 10 where ts in '2024-02'"))  # nor is another partition
    expect(tags(a.ask(query("commit"))), ["COMMIT"])
    expect(b.rows("select v from race"), [["32"], ["7"], ["11"]])
    a.ask(query("begin; delete from race"))
    b.ask(query("drop table race"))
    expect(a.error(query("commit"))["C"], "40001")
    expect(state(a.ask(query("select 1"))), "I")


@check
def columns_that_change_under_a_block_are_a_conflict(s):
    """The rows and plans of the block were made for other columns. To try again helps, and the code says so."""
    a, b = Wire(s.pg), Wire(s.pg)
    more = "insert into cols (ts, v) values ('2026-01-03', 1)"
    refused = {"add column y int": {more}, "rename column w to x": {more},  # what was written fits; what comes next would not
               "drop column w": {"commit", more, "select sum(v) from cols"}, "alter column w type varchar": {"commit", more, "select sum(v) from cols"}}
    for change, ends in refused.items():
        for last in ("commit", more, "select sum(v) from cols"):
            for written in ("insert into cols values ('2026-01-02', 2, 2)", "update cols set w = 3"):
                b.ask(query("drop table if exists cols"))
                b.rows("create table cols (ts timestamp, v long, w long) timestamp(ts) partition by day")
                b.rows("insert into cols values ('2026-01-01', 1, 1)")
                a.ask(query(f"begin; {written}"))
                b.rows(f"alter table cols {change}")
                codes = [fields(body)["C"] for kind, body in a.ask(query(last)) if kind == "E"]
                expect(codes, ["40001"] if last in ends else [], (change, written, last))
                a.ask(query("rollback"))
    b.rows("drop table cols")


@check
def own_rows_stand_behind_those_of_others(s):
    """Also where they are in files: those of a bulk load, and those that an UPDATE of the block found in memory."""
    a, b = Wire(s.pg), Wire(s.pg)
    b.rows("create table many (x long)")
    b.rows("insert into many select x from long_sequence(500000)")
    inserts = {"rows": [], "an UPDATE": ["update behind set k = k + 0 where v = 'own'"],
               "a bulk load": ["insert into behind select '2026-01-01'::timestamp, 1, 'own' from many where x = 7"]}
    for kind in ("timestamp(ts) partition by day", "timestamp(ts) partition by day dedup upsert keys(ts, k)", ""):
        for how, more in inserts.items():
            if "dedup" in kind and how == "an UPDATE":
                continue
            b.ask(query("drop table if exists behind"))
            b.rows(f"create table behind (ts timestamp, k long, v symbol) {kind}")
            see = lambda w: [v for v, in w.rows("select v from behind")]
            put = lambda w, v: w.rows(f"insert into behind values ('2026-01-01', 1, '{v}')")
            kept = lambda rows: rows[-1:] if "dedup" in kind else rows
            put(b, "before")
            a.ask(query("begin"))
            if how != "a bulk load":
                put(a, "own")
            for sql in more:
                a.rows(sql)
            put(b, "beside")
            expect(see(a), kept(["before", "beside", "own"]), (kind, how))
            put(a, "own too")
            put(b, "later")
            expect(see(a), kept(["before", "beside", "later", "own", "own too"]), (kind, how))
            expect(see(b), kept(["before", "beside", "later"]), (kind, how))
            if kind.startswith("timestamp"):
                expect(a.rows("select v from behind latest on ts partition by k"), [["own too"]], (kind, how))
            a.rows("commit")
            expect(see(b), kept(["before", "beside", "later", "own", "own too"]), (kind, how))
    b.rows("drop table behind")
    b.rows("drop table many")


@check
def own_rows_that_are_updated_keep_their_order(s):
    """Rows of equal time, in several files of the block, of which an older one is changed last."""
    a = Wire(s.pg)
    a.rows("create table kept (ts timestamp, v symbol, n long) timestamp(ts) partition by day")
    a.rows("begin")
    for v in ("a", "b", "c"):
        a.rows(f"insert into kept values ('2026-01-01', '{v}', 0)")
        a.rows("update kept set n = n + 1 where v = 'a'")
    for changed in ("b", "a"):
        a.rows(f"update kept set n = n + 10 where v = '{changed}'")
    rows = [["a", "13"], ["b", "10"], ["c", "0"]]
    expect(a.rows("select v, n from kept"), rows)
    a.rows("commit")
    expect(a.rows("select v, n from kept"), rows)
    a.rows("drop table kept")


@check
def concurrent_transfers_keep_the_sum(s):
    with pg(s, autocommit=True) as c:
        c.execute("create table accounts (ts timestamp, who long, amount long) timestamp(ts) partition by month")
        c.execute("insert into accounts select dateadd('M', x::int, '2024-01-01'), x, 100 from long_sequence(12)")
    done, conflicts, sums = [0] * 3, [0], set()
    end = time.monotonic() + 2

    def move(i):
        rnd = random.Random(i)
        with pg(s) as c:
            while time.monotonic() < end:
                f, t = rnd.sample(range(1, 13), 2)
                try:
                    c.execute("update accounts set amount = amount - 7 where who = %s", (f,))
                    c.execute("update accounts set amount = amount + 7 where who = %s", (t,))
                    c.commit()
                    done[i] += 1
                except psycopg.errors.SerializationFailure:
                    c.rollback()
                    conflicts[0] += 1

    def watch():
        with pg(s, autocommit=True) as c:
            while time.monotonic() < end:
                sums.add(c.execute("select sum(amount) from accounts").fetchone()[0])

    threads = [threading.Thread(target=move, args=(i,)) for i in range(3)] + [threading.Thread(target=watch) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expect(sums, {1200})
    expect(all(n > 0 for n in done), True, (done, conflicts))


@check
def savepoints(s):
    w = Wire(s.pg)
    w.rows("create table sp (a int)")
    w.ask(query("begin"))
    expect(tags(w.ask(query("savepoint one"))), ["SAVEPOINT"])
    expect(state(w.ask(query("select nope"))), "E")
    a = w.ask(query("rollback to savepoint one"))
    expect((tags(a), state(a)), (["ROLLBACK"], "T"))
    w.ask(query("insert into sp values (1)"))
    w.ask(query("savepoint two"))
    w.ask(query("insert into sp values (10)"))
    w.ask(query("update sp set a = a + 1"))
    expect(w.rows("select a from sp"), [["2"], ["11"]])
    expect(state(w.ask(query("insert into sp values ('x')"))), "E")
    expect(state(w.ask(query("rollback to two"))), "T")
    expect(w.rows("select a from sp"), [["1"]])
    w.ask(query("delete from sp; rollback to two"))
    expect(w.rows("select a from sp"), [["1"]])
    expect(state(w.ask(query("rollback to one"))), "T")
    expect(w.rows("select a from sp"), [])
    expect(state(w.ask(query("rollback to two"))), "E")
    w.ask(query("rollback to one"))
    w.ask(query("insert into sp values (2)"))
    expect(tags(w.ask(query("release savepoint one"))), ["RELEASE"])
    expect(state(w.ask(query("rollback to one"))), "E")
    w.ask(query("rollback"))
    w.ask(query("begin"))
    w.ask(query("insert into sp values (3)"))
    w.ask(query("insert into sp values ('x')"))
    expect(state(w.ask(query("rollback to nowhere"))), "E")
    expect(tags(w.ask(query("commit"))), ["ROLLBACK"])
    expect(w.rows("select count() from sp"), [["0"]])
    w.ask(query("begin; savepoint a; insert into sp values (4); rollback to a; insert into sp values (5); commit"))
    expect(w.rows("select a from sp"), [["5"]])


@check
def psycopg_transactions(s):
    with pg(s) as c:
        c.autocommit = True
        c.execute("create table ptx (a int)")
        c.autocommit = False
        c.execute("insert into ptx values (1)")
        c.rollback()
        c.execute("insert into ptx values (2)")
        c.commit()
        try:
            with c.transaction():
                c.execute("insert into ptx values (3)")
                c.execute("select nope")
        except psycopg.errors.UndefinedColumn as e:
            expect((e.sqlstate, e.diag.statement_position), ("42703", "8"))
        with c.transaction():
            try:
                with c.transaction():
                    c.execute("insert into ptx values (5)")
                    c.execute("select * from nope")
            except psycopg.errors.UndefinedTable:
                pass
            c.execute("insert into ptx values (4)")
            with c.transaction():
                c.execute("update ptx set a = a + 10 where a = 4")
        expect(c.execute("select a from ptx order by a").fetchall(), [(2,), (14,)])
        c.commit()


# ------------------------------------------------------------------ implicit transactions
def insert(sql, *values):
    return parse("", sql) + bind(values=[str(v).encode() for v in values]) + execute()


@check
def a_pipeline_up_to_its_sync_is_one_transaction(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.rows("create table pipe (a int)")
    w.rows("create table pipe_too (a int)")
    put = "insert into pipe values ($1)"
    for more in (FLUSH, b""):  # with and without the answers on the way
        w.send(insert(put, 1) + insert("insert into pipe_too values ($1)", 2) + insert("select count() from pipe") + more)
        if more:
            expect([w.read()[0] for _ in range(10)], list("12C12C12DC"))
        time.sleep(0.05)
        expect(other.rows("select count() from pipe"), [["0"]])
        a = w.ask(insert("select nope", 3), insert(put, 4), SYNC)
        expect((fields(next(b for k, b in a if k == "E"))["C"], state(a)), ("42703", "I"))
        expect(other.rows("select (select count() from pipe), (select count() from pipe_too)"), [["0", "0"]])
    a = w.ask(*[insert(put, n) for n in range(1000)], SYNC, insert("select count() from pipe"), SYNC)
    expect(kinds(a), "12C" * 1000 + "Z")
    expect(kinds(w.until_ready()), "12DCZ")
    expect(other.rows("select count(), sum(a) from pipe"), [["1000", "499500"]])


@check
def an_execute_may_come_without_what_follows_it(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.rows("create table alone (a int)")
    for piece in (insert("insert into alone values ($1)", 1), SYNC[:2], SYNC[2:]):
        w.send(piece)
        time.sleep(0.05)
    expect(kinds(w.until_ready()), "12CZ")
    w.send(insert("insert into alone values ($1)", 2))
    time.sleep(0.05)
    w.close()  # no Sync: nothing was committed
    time.sleep(0.1)
    expect(other.rows("select a from alone"), [["1"]])


@check
def blocks_in_a_pipeline(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.rows("create table mixed (a int)")
    run = lambda sql: parse("", sql) + bind() + execute()
    expect(state(w.ask(run("insert into mixed values (1)"), run("begin"), run("insert into mixed values (2)"), SYNC)), "T")
    expect(other.rows("select count() from mixed"), [["0"]])
    expect(state(w.ask(query("rollback"))), "I")  # with what was before the BEGIN
    expect(other.rows("select count() from mixed"), [["0"]])
    w.ask(run("insert into mixed values (1)"), run("commit"), run("insert into mixed values (2)"), run("rollback"), run("insert into mixed values (3)"), run("select nope"), SYNC)
    expect(other.rows("select a from mixed"), [["1"]])
    a = w.ask(run("insert into mixed values (4)"), run("create table mixed_too (a int)"), run("insert into mixed_too values (1)"), run("select nope"), SYNC)
    expect(kinds(a), "12C12C12C1EZ")  # a change of the catalogue commits what came before it
    expect(other.rows("select (select count() from mixed), (select count() from mixed_too)"), [["2", "0"]])


@check
def a_text_of_several_statements_is_one_transaction(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.rows("create table script (a int)")
    a = w.ask(query("insert into script values (1); insert into script select x::int from long_sequence(100000); update script set a = a + 1; select nope"))
    expect((tags(a), state(a)), (["INSERT 0 1", "INSERT 0 100000", "UPDATE 100001"], "I"))
    expect(other.rows("select count() from script"), [["0"]])
    a = w.ask(query("insert into script values (1); insert into script select x::int from long_sequence(100000); delete from script where a > 10; -- end"))
    expect(tags(a), ["INSERT 0 1", "INSERT 0 100000", "DELETE 99990"])
    expect(other.rows("select count() from script"), [["11"]])
    w.ask(query("insert into script values (1); commit; insert into script values (2); select nope"))
    expect(other.rows("select count() from script"), [["12"]])
    w.rows("create table script_keys (ts timestamp, a int) timestamp(ts) partition by day dedup upsert keys (ts)")
    a = w.ask(query("insert into script_keys values (1, 1), (2, 1); insert into script_keys values (2, 2); delete from script_keys where a = 1; select nope"))
    expect(tags(a), ["INSERT 0 2", "INSERT 0 1", "DELETE 1"])
    expect(other.rows("select a from script_keys"), [["1"], ["2"]])  # the DELETE had committed what was before it
    w.ask(query("begin; insert into script values (1); select nope"))
    expect(tags(w.ask(query("commit"))), ["ROLLBACK"])
    expect(other.rows("select count() from script"), [["12"]])


@check
def many_writers_of_single_rows_while_columns_come_and_go(s):
    with pg(s, autocommit=True) as c:
        c.execute("create table singles (ts timestamp, w int, n int) timestamp(ts) partition by day")
        c.execute("create table singles_keys (ts timestamp, w int, n int) timestamp(ts) partition by day dedup upsert keys (ts, w)")
    stop, acknowledged, wrong = threading.Event(), [0] * 16, []

    def write(i):
        try:
            w = Wire(s.pg)
            w.ask(parse("p", "insert into singles (ts, w, n) values (now(), $1, $2)"), parse("k", "insert into singles_keys (ts, w, n) values (1, $1, $2)"), SYNC)
            while not stop.is_set():
                values = [str(i).encode(), str(acknowledged[i]).encode()]
                a = w.ask(bind("", "p", values), execute(), SYNC)
                if kinds(a) != "2CZ":
                    wrong.append(a)
                acknowledged[i] += 1
                if kinds(w.ask(bind("", "k", values), execute(), SYNC)) != "2CZ":
                    wrong.append(a)
        except Exception as e:
            wrong.append(repr(e))

    threads = [threading.Thread(target=write, args=(i,)) for i in range(len(acknowledged))]
    for t in threads:
        t.start()
    w = Wire(s.pg)
    end, turn = time.monotonic() + 2, 0
    while time.monotonic() < end:
        for sql in (f"alter table singles add column c{turn} int", f"alter table singles drop column c{turn}"):
            expect(w.error(query(sql)), None, sql)
        turn += 1
        seen = [int(n) for n in acknowledged]
        found = dict((int(r[0]), int(r[1])) for r in w.rows("select w, count() from singles"))
        expect([i for i, n in enumerate(seen) if found.get(i, 0) < n], [], "acknowledged rows that are not seen")
    stop.set()
    for t in threads:
        t.join()
    expect(wrong, [])
    expect(turn > 0, True)
    expect(w.rows("select w, count(), max(n) from singles order by w"), [[str(i), str(n), str(n - 1)] for i, n in enumerate(acknowledged)])
    expect(w.rows("select w, n from singles_keys order by w"), [[str(i), str(n - 1)] for i, n in enumerate(acknowledged)])


@check
def after_a_commit_nothing_runs(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.rows("create table at_rest (a int)")
    for sql in ("insert into at_rest values (1)", "insert into at_rest values (1); insert into at_rest values (2)", "insert into at_rest select x::int from long_sequence(3)"):
        w.ask(query(sql))
        expect(other.rows("select state from pg_stat_activity where query like 'insert into at_rest%'"), [["idle"]], sql)


@check
def psycopg_executemany_is_all_or_nothing(s):
    with pg(s, autocommit=True) as c:
        c.execute("create table all_of (a int, b varchar)")
        try:
            with c.pipeline():
                for i in range(100):
                    c.execute("insert into all_of values (%s, 'x')", (i,))
                c.execute("insert into nowhere values (1)")
            raise AssertionError("no error")
        except psycopg.errors.UndefinedTable:
            pass
        expect(c.execute("select count() from all_of").fetchone(), (0,))
        with c.pipeline():
            for i in range(100):
                c.execute("insert into all_of values (%s, 'x')", (i,))
        expect(c.execute("select count() from all_of").fetchone(), (100,))


@check
def warnings_about_blocks(s):
    w = Wire(s.pg)
    for sql, codes in (("begin", []), ("begin", ["25001"]), ("commit", []), ("commit", ["25P01"]), ("rollback", ["25P01"]), ("begin; commit", [])):
        w.ask(query(sql))
        got = [fields(b) for b in w.notices]
        expect([(f["S"], f["C"]) for f in got], [("WARNING", c) for c in codes], sql)


if __name__ == "__main__":
    main()
