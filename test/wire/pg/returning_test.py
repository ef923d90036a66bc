#!/usr/bin/env python3
"""RETURNING of INSERT, UPDATE and DELETE: over the PostgreSQL wire in both protocols, and over REST.

    returning_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import json, threading, urllib.request

from lib.checks import check, expect, main
from lib.pganswers import data_rows, kinds, pg, state, tags, text
from lib.pgclient import SYNC, Wire, bind, describe, execute, fields, parse, query
from lib.server import Server

LONG = "a text that does not fit in a view of twelve bytes"


def ask(w, sql):
    """(tags and SQLSTATEs, rows)"""
    a = w.ask(query(sql))
    return tags(a) + [fields(b)["C"] for k, b in a if k == "E"], text(data_rows(a))


def table(w, name, more=""):
    w.ask(query(f"drop table if exists {name}"))
    w.ask(query(f"create table {name} (ts timestamp, sym symbol, v double, s varchar, list double[]) timestamp(ts) partition by day {more}"))


@check
def what_was_inserted(s):
    w = Wire(s.pg)
    table(w, "ri")
    expect(ask(w, f"insert into ri values ('2026-01-01', 'a', 1.5, '{LONG}', '{{1,2}}'), ('2026-01-02', null, null, '', null) returning *"),
           (["INSERT 0 2"], [["2026-01-01 00:00:00.000000", "a", "1.5", LONG, "{1,2}"], ["2026-01-02 00:00:00.000000", None, None, "", None]]))
    expect(ask(w, "insert into ri (v, ts) select x, (x * 1000000)::timestamp from long_sequence(3) returning v * 2 as twice, ri.ts - 1, sym is null \"No\", length(s)"),
           (["INSERT 0 3"], [[str(2 * i), f"1970-01-01 00:00:0{i - 1}.999999", "t", "-1"] for i in (1, 2, 3)]))
    expect(ask(w, "insert into ri (v, ts) select x, (x * 1000000)::timestamp from long_sequence(3) where x > 5 returning v"), (["INSERT 0 0"], []))
    expect(ask(w, "with t as (select x from long_sequence(2)) insert into ri (ts, v) select x::timestamp, x from t returning *")[0], ["INSERT 0 2"])
    expect(w.rows("select count() from ri"), [["7"]])


@check
def what_was_updated_and_deleted(s):
    w = Wire(s.pg)
    table(w, "ru")
    ask(w, f"insert into ru (ts, sym, v, s) values ('2026-01-01', 'a', 1, '{LONG}'), ('2026-01-02', 'b', 2, null), ('2026-01-03', 'a', 3, 'x')")
    expect(ask(w, "update ru set v = v * 10, sym = sym || '!' where v < 3 returning sym, v, v + 1 more, s"),
           (["UPDATE 2"], [["a!", "10", "11", LONG], ["b!", "20", "21", None]]))
    expect(ask(w, "update ru r set v = f.d from (select 'a' k, 5.5 d union all select 'a', 6.5) f where r.sym = f.k returning r.ts, v, f.k, f.d"),
           (["UPDATE 1"], [["2026-01-03 00:00:00.000000", "5.5", "a", "5.5"]]), "the first match")
    expect(ask(w, "update ru set v = 0 where v > 1000 returning v"), (["UPDATE 0"], []))
    expect(ask(w, "delete from ru d where d.sym like '%!' returning d.sym || '-', v"), (["DELETE 2"], [["a!-", "10"], ["b!-", "20"]]))
    expect(ask(w, "delete from ru returning *")[0], ["DELETE 1"])
    expect(w.rows("select count() from ru"), [["0"]])


@check
def what_cannot_stand_there(s):
    w = Wire(s.pg)
    table(w, "re")
    head = "insert into re (ts) values ('2026-01-01') returning "
    for tail, code, pos in (("count()", "42601", 43), ("row_number() over ()", "42601", 43), ("(select nope)", "42703", 61), ("(select x from long_sequence(2))", "54000", 53), ("nope", "42703", 53), ("", "42601", 52),
                            ("v,", "42601", 55), ("v as a, s as a", "42701", 63), ("* as x", "42601", 55), ("x.*", "42P01", 53), ("v from re", "42601", 55)):
        e = w.error(query(head + tail))
        expect((e["C"], abs(int(e["P"]) - pos) <= 1), (code, True), (tail, e))
    expect(w.rows("select count() from re"), [["0"]], "nothing was inserted")
    expect(ask(w, "create table returning (returning int); insert into returning values (1) returning returning; select returning from returning; drop table returning"),
           (["CREATE TABLE", "INSERT 0 1", "SELECT 1", "DROP TABLE"], [["1"], ["1"]]), "it is no reserved word")


@check
def subqueries(s):
    w = Wire(s.pg)
    table(w, "rq")
    w.ask(query("create table rqn (sym symbol, name varchar); insert into rqn values ('a', 'first'), ('b', 'second')"))
    name = "(select n.name from rqn n where n.sym = rq.sym) as name"
    expect(ask(w, f"insert into rq (ts, sym, v) values ('2026-01-01', 'a', 1), ('2026-01-02', 'b', 2), ('2026-01-03', 'c', 3) returning v, {name}, (select count() from rq) n"),
           (["INSERT 0 3"], [["1", "first", "0"], ["2", "second", "0"], ["3", None, "0"]]))
    expect(ask(w, f"update rq set v = v * 10 where sym in (select sym from rqn) returning v, {name}, (select sum(v) from rq) s"),
           (["UPDATE 2"], [["10", "first", "6"], ["20", "second", "6"]]))
    expect(ask(w, "update rq set v = v + 1, sym = 'b' where sym = 'c' returning sym in (select sym from rqn) there, exists(select 1 from rqn where sym = 'x') x, v > any (select 2) more"),
           (["UPDATE 1"], [["t", "f", "t"]]))
    expect(ask(w, "insert into rq (ts, sym, v) select x::timestamp, 'a', x from long_sequence(4) where x > (select 2) returning v, (select max(v) from rq) m"),
           (["INSERT 0 2"], [["3", "20"], ["4", "20"]]))
    expect(ask(w, f"delete from rq where v > 5 returning v, {name}"), (["DELETE 2"], [["10", "first"], ["20", "second"]]))
    expect(ask(w, "select v from rq order by v")[1], [["3"], ["4"], ["4"]])
    expect(ask(w, "insert into rq (ts) values ('2026-01-01') returning (select x from long_sequence(2))")[0], ["54000"])
    expect(ask(w, "select count() from rq")[1], [["3"]], "nothing was inserted")


@check
def extended(s):
    w = Wire(s.pg)
    table(w, "rx")
    sql = "insert into rx (ts, sym, v) values ($1, $2, $3) returning sym, v + $4 as w"
    a = w.ask(parse("i", sql), describe("S", "i"), SYNC)
    expect((kinds(a), a[1][1]), ("1tTZ", b"\0\4\0\0\4\x5a\0\0\4\x13\0\0\2\xbd\0\0\2\xbd"))
    a = w.ask(bind("", "i", [b"2026-01-01", b"q", b"1.5", b"1"], results=[0, 1]), execute(), bind("", "i", [b"2026-01-02", b"r", b"2.5", b"1"]), execute(), SYNC)
    expect((kinds(a), data_rows(a), tags(a)), ("2DC2DCZ", [[b"q", b"\x40\4\0\0\0\0\0\0"], [b"r", b"3.5"]], ["INSERT 0 1"] * 2))
    w.ask(query("begin"))
    a = w.ask(parse("", "insert into rx (ts, v) select x::timestamp, x from long_sequence(5) returning v"), bind("p"), describe("P", "p"), execute("p", 2), SYNC)
    expect((kinds(a), state(a)), ("12TDDsZ", "T"))
    expect(kinds(w.ask(execute("p"), SYNC)), "DDDCZ")
    w.ask(query("rollback"))
    expect(w.rows("select count() from rx"), [["2"]])
    expect(ask(w, "prepare d (double) as delete from rx where v > $1 returning sym; execute d(2)"), (["PREPARE", "DELETE 1"], [["r"]]))


@check
def blocks(s):
    w, other = Wire(s.pg), Wire(s.pg)
    table(w, "rb")
    expect(ask(w, "begin; insert into rb (ts, v) values ('2026-01-01', 1) returning v; update rb set v = v + 1 returning v; delete from rb where v = 2 returning v, sym")[1],
           [["1"], ["2"], ["2", None]])
    expect(ask(w, "insert into rb (ts, v) values ('2026-01-01', 9) returning v")[1], [["9"]])
    expect(other.rows("select count() from rb"), [["0"]])
    ask(w, "commit")
    expect(other.rows("select v from rb"), [["9"]])
    expect(ask(w, "insert into rb (ts, v) values ('2026-01-02', 1) returning v; select 1 / nope")[0], ["INSERT 0 1", "42703"])
    expect(other.rows("select v from rb"), [["9"]], "one transaction, of a text")


@check
def many_rows(s):
    w = Wire(s.pg)
    table(w, "rm")
    a = w.ask(query("insert into rm (ts, v, s) select x::timestamp, x, 'text number ' || x || ' of some length' from long_sequence(300000) returning v, s"))
    expect((tags(a), len(data_rows(a)), data_rows(a)[-1]), (["INSERT 0 300000"], 300000, [b"300000", b"text number 300000 of some length"]))
    a = w.ask(query("update rm set v = -v where ts >= 100000::timestamp returning v, ts"))
    expect((tags(a), data_rows(a)[0][0], len(data_rows(a))), (["UPDATE 200001"], b"-100000", 200001))
    a = w.ask(query("delete from rm where v < 0 returning v"))
    expect((tags(a), sum(float(r[0]) for r in data_rows(a))), (["DELETE 200001"], -sum(range(100000, 300001))))
    with Server(preset=s.preset, env={"ALMANAC_QUERY_MEMORY_MAX": "4m"}) as small:
        w = Wire(small.pg)
        table(w, "rm")
        e = w.error(query("insert into rm (ts, v) select x::timestamp, x from long_sequence(1000000) returning ts, v, v + 1, v + 2"))
        expect((e["C"], "query" in e["M"]), ("53200", True), e)
        expect(w.rows("select count() from rm"), [["0"]], "all or nothing")


@check
def rest(s):
    w = Wire(s.pg)
    table(w, "rr")
    expect(s.exec("insert into rr (ts, sym, v) values ('2026-01-01', 'a', 1.5) returning *, v * 2 d")["dataset"], [["2026-01-01T00:00:00.000000Z", "a", 1.5, None, None, 3.0]])
    body = json.dumps({"query": "update rr set v = $1 where sym = $2 returning v, sym", "params": [7.25, "a"]}).encode()
    with urllib.request.urlopen(urllib.request.Request(s.url + "/exec", body, {"Content-Type": "application/json", **s.login()})) as r:
        got = json.loads(r.read())
    expect((got["columns"], got["dataset"], got["count"]), ([{"name": "v", "type": "DOUBLE"}, {"name": "sym", "type": "STRING"}], [[7.25, "a"]], 1))
    status, _, body = s.get("/exp", query="delete from rr returning v")
    expect((status, b"only accepts SELECT" in body), (400, True))
    expect(s.get("/exec", query="delete from rr returning v", fmt="csv")[2], b'"v"\r\n7.25\r\n')
    expect(s.rows("select count() from rr"), [[0]])
    expect(s.get("/exec", query="delete from rr returning v", headers={"Sec-Fetch-Site": "cross-site"})[0], 403)


@check
def a_window_of_rows_runs_nothing_twice(s):
    w = Wire(s.pg)
    table(w, "rw")
    many = "insert into rw (ts, v) select x::timestamp, x from long_sequence(20000) returning v"
    three = "insert into rw (ts, v) values ('2026-01-01', 1), ('2026-01-02', 2), ('2026-01-03', 3) returning v"
    there = 0
    for sql, limit, want, more in ((three, "-1", [[3]], 3), (three, "-2", [[2], [3]], 3), (three, "-9", [[1], [2], [3]], 3), (three, "0", [], 3), (three, "2,2", [[2]], 3), (many, "-2", [[19999], [20000]], 20000),
                                   ("select 1; " + three, "-1", [[3]], 3), ("insert into rw (ts) select ts from rw where v > 1e9 returning v", "-1", [], 0), ("update rw set v = v + 1 where v <= 3 returning v", "-1", [[4]], 0)):
        there += more
        expect(s.rows(sql, limit=limit), want, (sql, limit))
        expect(s.rows("select count() from rw"), [[there]], (sql, limit))
    expect(s.rows(three, limit="-1", count="true"), [[3]])
    expect(s.rows("select count() from rw"), [[there + 3]])
    expect(s.rows("show columns from rw", limit="-1")[0][0], s.rows("show columns from rw")[-1][0])


@check
def what_cannot_be_answered_is_not_done(s):
    w = Wire(s.pg)
    table(w, "ro")
    one = "insert into ro (ts, v) values ('2026-01-01', 1) returning v, ts"
    for sql in (one, "update ro set v = 2 returning v, ts", "delete from ro returning v, ts", "select 1; " + one):
        w.rows("truncate table ro")
        w.rows("insert into ro (ts, v) values ('2026-01-01', 1)")
        status, _, body = s.get("/exec", query=sql, cols="v,nope")
        expect((status, json.loads(body)["error"], s.rows("select v from ro")), (400, "column not found: 'nope'", [[1.0]]), sql)
    expect((s.rows(one, cols="ts"), s.rows("select count() from ro")), ([["2026-01-01T00:00:00.000000Z"]], [[2]]))
    expect((s.get("/exec", query=one, fmt="parquet")[2][:4], s.rows("select count() from ro")), (b"PAR1", [[3]]))
    body = json.dumps({"query": "insert into ro (ts, v) values ('2026-01-01', $1) returning v, ts", "params": [5], "cols": "v", "nm": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(s.url + "/exec", body, {"Content-Type": "application/json", **s.login()})) as r:
        expect((json.loads(r.read())["dataset"], s.rows("select count() from ro")), ([[5.0]], [[4]]))


@check
def rights(s):
    with Server(preset=s.preset, env={"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_PASSWORD": "secret"}) as r:
        admin = Wire(r.pg, password="secret")
        table(admin, "ra")
        for sql in ("create user w with password 'pw'", "grant pgwire to w", "grant insert on ra to w", "grant update on ra(v) to w", "grant select on ra(v) to w"):
            admin.rows(sql)
        w = Wire(r.pg, user="w", password="pw")
        expect(ask(w, "insert into ra (ts, v) values ('2026-01-01', 1) returning v"), (["INSERT 0 1"], [["1"]]))
        expect(ask(w, "insert into ra (ts, v) values ('2026-01-01', 1) returning sym")[0], ["42501"])
        expect(ask(w, "insert into ra (ts, v) values ('2026-01-01', 1) returning *")[0], ["42501"])
        expect(ask(w, "update ra set v = 2 returning v + 1"), (["UPDATE 1"], [["3"]]))
        expect(ask(w, "update ra set v = 2 returning s")[0], ["42501"])
        expect(admin.rows("select count() from ra"), [["1"]])


@check
def beside_changes_of_the_table(s):
    """What is planned on columns that are changed meanwhile is planned again: rows come once."""
    w = Wire(s.pg)
    table(w, "rc")
    over, faults = threading.Event(), []

    def alter():
        c, i = Wire(s.pg), 0
        while not over.is_set():
            c.ask(query(f"alter table rc add column c{i} int"), )
            c.ask(query(f"alter table rc drop column c{i}"))
            i += 1
    t = threading.Thread(target=alter)
    t.start()
    for i in range(150):
        got = ask(w, f"insert into rc (ts, v) values ({i}, {i}) returning v")
        if got != (["INSERT 0 1"], [[str(i)]]):
            faults.append(got)
    over.set()
    t.join()
    expect(faults, [])
    expect(w.rows("select count(), sum(v) from rc"), [["150", str(sum(range(150)))]])


@check
def psycopg(s):
    w = Wire(s.pg)
    table(w, "rp")
    with pg(s, autocommit=True) as c:
        expect(c.execute("insert into rp (ts, v, s) values ('2026-01-01', %s, %s) returning v, s", (1.5, "ü")).fetchone(), (1.5, "ü"))
        cur = c.cursor()
        cur.executemany("insert into rp (ts, v) values (%s::timestamp, %s) returning v", [("2026-01-02", 2.0), ("2026-01-03", 3.0)], returning=True)
        got = [cur.fetchone()]
        while cur.nextset():
            got.append(cur.fetchone())
        expect(got, [(2.0,), (3.0,)])


if __name__ == "__main__":
    main()
