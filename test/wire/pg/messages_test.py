#!/usr/bin/env python3
"""The PostgreSQL wire: messages by hand (pgclient.py). Start-up, simple and extended queries.

    messages_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import os, random, select, struct, time

from lib.checks import check, expect, main
from lib.pganswers import SLOW, data_rows, kinds, pg, state, tags, text
from lib.pgclient import FLUSH, SYNC, TERMINATE, Closed, Wire, bind, close, describe, execute, fields, msg, parse, query, startup


# ------------------------------------------------------------------ start-up and login
@check
def login_is_scram_and_reports_the_settings(s):
    w = Wire(s.pg)
    expect(w.seen[:3], ["R", "R", "R"])
    for name, value in {"server_encoding": "UTF8", "client_encoding": "UTF8", "DateStyle": "ISO, MDY", "integer_datetimes": "on",
                        "standard_conforming_strings": "on", "TimeZone": "UTC", "IntervalStyle": "postgres", "is_superuser": "on",
                        "session_authorization": "admin", "default_transaction_read_only": "off", "in_hot_standby": "off",
                        "application_name": ""}.items():
        expect(w.settings.get(name), value, name)
    expect(int(w.settings["server_version"].split(".")[0]) >= 14, True)
    expect(len(w.key), 8)


@check
def wrong_password_and_unknown_user_get_the_same_answer(s):
    found = []
    for user, password in (("admin", "wrong"), ("nobody", "quest"), ("ADMIN", "quest"), ("admin", "")):
        try:
            Wire(s.pg, user, password)
            raise AssertionError("logged in")
        except PermissionError as e:
            found.append(e.args[0])
    expect([(f["S"], f["C"]) for f in found], [("FATAL", "28P01")] * 4)
    expect(len({f["M"] for f in found}), 1)


@check
def malformed_logins_are_refused(s):
    first = "n,,n=,r=abcdefghijklmnop"
    tails = [b"", b"c=biws", b"p=", b"p=" + b"A" * 44, b"p=" + b"A" * 44 + b",c=biws,r=", b"c=biws,r=x,p=" + b"A" * 44, b"\xff" * 100,
             b"c=biws,r=" + b"x" * 2000, b"\0" * 50]
    for tail in tails:
        w = Wire(s.pg, login=False)
        w.send(startup([("user", "admin")]))
        w.read()
        w.send(msg(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first.encode()))
        nonce = w.read()[1]
        if tail.endswith(b"r="):
            tail += nonce.split(b"r=")[1].split(b",")[0]
        w.send(msg(b"p", tail))
        kind, body = w.read()
        expect((kind, fields(body)["S"], fields(body)["C"] in ("08P01", "28P01")), ("E", "FATAL", True), tail)
    for first in (b"", b"SCRAM-SHA-1\0\0\0\0\0", b"SCRAM-SHA-256\0\xff\xff\xff\xff", b"SCRAM-SHA-256\0\x7f\xff\xff\xff", b"SCRAM-SHA-256\0\0\0\0\x03n,,",
                  b"SCRAM-SHA-256\0\0\0\0\x09p=x,,r=ab", b"SCRAM-SHA-256"):
        w = Wire(s.pg, login=False)
        w.send(startup([("user", "admin")]), msg(b"p", first))
        w.read()
        kind, body = w.read()
        expect((kind, fields(body)["C"]), ("E", "08P01"), first)
    w = Wire(s.pg, login=False)
    w.send(startup([("user", "admin")]), query("select 1"))
    w.read()
    expect(fields(w.read()[1])["C"], "08P01")


@check
def ssl_and_gss_requests_are_answered_no_and_the_start_goes_on(s):
    w = Wire(s.pg, login=False)
    w.send(struct.pack("!II", 8, 80877104))
    expect(w.take(1), b"N")
    w.send(struct.pack("!II", 8, 80877103))
    expect(w.take(1), b"N")
    w.send(startup([("user", "admin")]))
    w.login("quest")
    expect(w.rows("select 1"), [["1"]])


@check
def protocol_versions_and_the_keys_of_their_cancels(s):
    for code, options, told, key in [(196608, [], None, 4), (196610, [], None, 32), (196609, [], None, 4), (196611, [], 196610, 32), (196608 + 9999, [], 196610, 32),
                                     (196608, ["_pq_.something"], 196608, 4), (196610, ["_pq_.a", "_pq_.b"], 196610, 32)]:
        w = Wire(s.pg, code=code, params=[(o, "1") for o in options])
        expect(len(w.key), 4 + key, code)
        expect(w.seen[0] == "v", told is not None, code)
        if told is not None:
            expect(w.negotiated, struct.pack("!II", told, len(options)) + b"".join(o.encode() + b"\0" for o in options), code)
        w.send(query(SLOW))
        time.sleep(0.1)
        for wrong in (w.key[:-1] + bytes([w.key[-1] ^ 1]), w.key[:-1], w.key + b"\0", w.key[:4], w.key[:4] + bytes(key)):
            w.cancel(wrong)
        expect(select.select([w.s], [], [], 0.1)[0], [], code)
        w.cancel()
        expect([fields(b)["C"] for k, b in w.until_ready() if k == "E"], ["57014"], code)


@check
def other_starts_are_refused(s):
    w = Wire(s.pg, login=False)
    w.send(startup([("user", "admin")], code=131072))
    expect(fields(w.read()[1])["C"], "0A000")
    w = Wire(s.pg, login=False)
    w.send(startup([("database", "qdb")]))
    expect(fields(w.read()[1])["C"], "28000")
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x04", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\x27\x11" + b"x" * 10001, b"\0\0\0\x09\0\3\0\0u"):
        w = Wire(s.pg, login=False)
        w.send(junk)
        try:
            kind, body = w.read()
            expect(kind, "E", junk)
            w.read()
            raise AssertionError("still open")
        except (Closed, ConnectionResetError):
            pass


@check
def start_up_parameters_are_settings(s):
    w = Wire(s.pg, params=[("application_name", "tester"), ("options", "-c statement_timeout=120000 --search-path=x -c jit=off"), ("TimeZone", "Europe/Berlin"),
                           ("client_encoding", "'utf-8'"), ("DateStyle", "ISO"), ("extra_float_digits", "3"), ("replication", "false"), ("unknown", "x")])
    expect(w.settings["application_name"], "tester")
    expect(w.settings["client_encoding"], "UTF8")
    expect(w.rows("show statement_timeout"), [["120000"]])
    expect(w.rows("show search_path"), [["x"]])
    expect(w.rows("show extra_float_digits"), [["3"]])
    expect(w.rows("select current_database()"), [["qdb"]])


# ------------------------------------------------------------------ simple queries
@check
def several_statements_in_one_text(s):
    w = Wire(s.pg)
    expect(w.kinds(query("select 1; select 'a;b' -- ;\n; select 3;")), "TDCTDCTDCZ")
    expect(w.kinds(query("")), "IZ")
    expect(w.kinds(query(" -- nothing\n")), "IZ")
    expect(w.kinds(query(";;")), "IZ")
    a = w.ask(query("select 1; select nope; select 3"))
    expect(kinds(a), "TDCEZ")
    expect(state(a), "I")
    w.rows("create table multi (a int)")
    a = w.ask(query("insert into multi values (1); insert into multi values (2), (3); insert into multi values ('x')"))
    expect((tags(a), kinds(a)), (["INSERT 0 1", "INSERT 0 2"], "CCEZ"))
    expect(w.rows("select count() from multi"), [["0"]])


@check
def many_statements_in_one_text_take_linear_time(s):
    w = Wire(s.pg)
    start = time.monotonic()
    a = w.ask(query("select 1;" * 20000))
    expect(len(tags(a)), 20000)
    expect(time.monotonic() - start < 30, True, time.monotonic() - start)


@check
def command_tags(s):
    w = Wire(s.pg)
    tag = lambda sql: tags(w.ask(query(sql)))
    for sql, want in [("create table tags (ts timestamp, a int) timestamp(ts) partition by day", "CREATE TABLE"), ("insert into tags values (1, 1), (2, 2)", "INSERT 0 2"),
                      ("insert into tags select x::timestamp, x::int from long_sequence(5)", "INSERT 0 5"), ("update tags set a = 7 where a = 1", "UPDATE 2"),
                      ("select * from tags", "SELECT 7"), ("tags", "SELECT 7"), ("show tables", "SHOW"), ("explain select 1", "EXPLAIN"),
                      ("create table tags2 as (select * from tags)", "SELECT 7"), ("truncate table tags", "TRUNCATE TABLE"), ("drop table tags", "DROP TABLE"),
                      ("begin", "BEGIN"), ("commit", "COMMIT"), ("start transaction isolation level serializable, read only", "START TRANSACTION"), ("end", "COMMIT"),
                      ("begin read write", "BEGIN"), ("abort", "ROLLBACK"), ("set x = 1", "SET"), ("reset all", "RESET"), ("discard all", "DISCARD ALL"),
                      ("close all", "CLOSE CURSOR"), ("unlisten *", "UNLISTEN"), ("deallocate all", "DEALLOCATE ALL")]:
        expect(tag(sql), [want], sql)


@check
def errors_carry_sqlstate_and_position_in_characters(s):
    w = Wire(s.pg)
    w.rows("create table posn (a int)")
    for sql, code, position in [("select 'ü', nope", "42703", "13"), ("select * from nope", "42P01", "15"), ("select '\U0001F600', nope", "42703", "13"),
                                ("select 1 +", "42601", None), ("select foo(1)", "42883", "8"), ("create table bad (a badtype)", None, "21"), ("delete from x", "42P01", "13"), ("copy x from stdin", "42P01", "6"),
                                ("select 1; select 'ü', nope", "42703", "23"), ("insert into posn values ('x')", "22P02", None), ("copy x from stdin", "42P01", "6"),
                                ("listen x", "0A000", None), ("show nonsense", None, None)]:
        e = w.error(query(sql))
        if e is None:
            raise AssertionError(f"no error: {sql}")
        expect((e["S"], e["V"]), ("ERROR", "ERROR"), sql)
        if code:
            expect(e["C"], code, (sql, e))
        if position:
            expect(e.get("P"), position, (sql, e))
    expect(w.error(parse("", "select 'ü', nope"), describe("S"), SYNC).get("P"), "13")


@check
def what_is_left_out_is_told(s):
    w = Wire(s.pg)
    w.rows("create table told_a (k int)")
    w.rows("create view told_v as (select 1 x)")
    w.rows("create table told_base (ts timestamp, v int) timestamp(ts) partition by day")
    w.rows("create materialized view told_m as (select ts, sum(v) v from told_base sample by 1h)")
    there, missing = ("NOTICE", "42P07"), ("NOTICE", "00000")
    cases = [("create table if not exists told_a (k int)", [there + ('relation "told_a" already exists, skipping',)]),
             ("create view if not exists told_v as (select 1 x)", [there + ('relation "told_v" already exists, skipping',)]),
             ("create materialized view if not exists told_m as (select ts, sum(v) v from told_base sample by 1h)",
              [there + ('relation "told_m" already exists, skipping',)]),
             ("drop table if exists told_x, told_y", [missing + (f'table "told_{c}" does not exist, skipping',) for c in "xy"]),
             ("drop view if exists told_x", [missing + ('view "told_x" does not exist, skipping',)]),
             ("drop materialized view if exists told_x", [missing + ('materialized view "told_x" does not exist, skipping',)]),
             ("truncate table if exists told_x", [missing + ('table "told_x" does not exist, skipping',)]),
             ("alter table told_a add column if not exists k int, l int",
              [("NOTICE", "42701", f'column "{c}" of relation "told_a" already exists, skipping') for c in "kl"]),
             ("alter table told_a drop column if exists z", [missing + ('column "z" of relation "told_a" does not exist, skipping',)])]
    w.ask(query("alter table told_a add column if not exists k int, l int"))
    expect([fields(b)["M"] for b in w.notices], ['column "k" of relation "told_a" already exists, skipping'])
    w.ask(query("alter table told_a add column if not exists m int; drop table if exists told_base2; drop table told_a2"))
    expect([fields(b)["M"] for b in w.notices], ['table "told_base2" does not exist, skipping'])
    for silent in (False, True):
        w.ask(query(f"set client_min_messages = {'warning' if silent else 'notice'}"))
        for sql, want in cases:
            for messages in ([query(sql)], [parse("", sql), bind(), execute(), SYNC]):
                a = w.ask(*messages)
                expect([fields(b)["M"] for k, b in a if k == "E"], [], sql)
                expect([tuple(fields(b)[f] for f in "SCM") for b in w.notices], [] if silent else want, sql)
    w.ask(query("reset client_min_messages"))
    w.rows("drop materialized view told_m")


@check
def a_sleep_holds_up_nobody_and_can_be_cancelled(s):
    w, other = Wire(s.pg), Wire(s.pg)
    start = time.monotonic()
    w.send(query("select pg_sleep(30)"))
    for _ in range(20):
        expect(other.rows("select 1"), [["1"]])
    expect(time.monotonic() - start < 10, True)
    time.sleep(0.1)
    w.cancel()
    expect([fields(b)["C"] for k, b in w.until_ready() if k == "E"], ["57014"])
    expect(w.error(query("set statement_timeout = 100; select pg_sleep(30)"))["C"], "57014")
    expect(time.monotonic() - start < 20, True)


@check
def bad_utf8_is_22021(s):
    w = Wire(s.pg)
    expect(w.error(msg(b"Q", b"select '\xff'\0"))["C"], "22021")
    expect(w.error(msg(b"P", b"\0select '\xff'\0\0\0"), SYNC)["C"], "22021")
    expect(w.error(parse("", "select $1::varchar"), bind(values=[b"\xc3"]), SYNC)["C"], "22021")
    expect(w.rows("select 1"), [["1"]])


# ------------------------------------------------------------------ extended queries
@check
def names_that_are_no_utf8(s):
    w = Wire(s.pg)
    for m in (msg(b"P", b"\xff\0select 1\0\0\0"), msg(b"B", b"\xff\0\0" + bytes(6)), msg(b"B", b"\0\xff\0" + bytes(6)), msg(b"D", b"S\xff\0"), msg(b"C", b"P\xff\0"),
              msg(b"E", b"\xff\0" + bytes(4))):
        expect(w.error(m, SYNC)["C"], "22021", m)
    expect(w.rows("select 1"), [["1"]])


@check
def the_usual_round(s):
    w = Wire(s.pg)
    a = w.ask(parse("", "select $1::int + 1 as n, $2 as t"), bind(values=[b"41", "grüße".encode()]), describe("P"), execute(), SYNC)
    expect(kinds(a), "12TDCZ")
    expect(text(data_rows(a)), [["42", "grüße"]])
    expect(tags(a), ["SELECT 1"])


@check
def describe_of_statement_and_portal_in_one_pipeline(s):
    w = Wire(s.pg)
    a = w.ask(parse("q", "select $1::long"), describe("S", "q"), bind("p", "q", [struct.pack("!q", 5)], [1], [1]), describe("P", "p"), execute("p"), close("P", "p"),
              close("S", "q"), SYNC)
    expect(kinds(a), "1tT2TDC33Z")
    expect(struct.unpack("!HI", a[1][1]), (1, 20))
    expect([a[2][1][-2:], a[4][1][-2:]], [b"\0\0", b"\0\1"])
    expect(data_rows(a), [[struct.pack("!q", 5)]])
    a = w.ask(parse("", "set x = 1"), describe("S"), bind(), describe("P"), execute(), SYNC)
    expect(kinds(a), "1tn2nCZ")
    a = w.ask(parse("", ""), describe("S"), bind(), describe("P"), execute(), SYNC)
    expect(kinds(a), "1tn2nIZ")


@check
def an_unnamed_statement_can_be_bound_again(s):
    w = Wire(s.pg)
    a = w.ask(parse("", "select $1::int"), bind(values=[b"1"]), execute(), SYNC)
    a += w.ask(bind(values=[b"2"]), execute(), bind(values=[b"3"]), execute(), SYNC)
    expect(text(data_rows(a)), [["1"], ["2"], ["3"]])
    expect(w.error(parse("", "select 1"), parse("", "nonsense ("), SYNC)["C"], "42601")


@check
def each_bind_has_its_own_result_formats(s):
    w = Wire(s.pg)
    a = w.ask(parse("q", "select 1::int a, 2::long b"), *[m for f in ([], [1], [0], [1, 0], [0, 1], [1]) for m in (bind("", "q", (), (), f), execute())], SYNC)
    one, two = struct.pack("!i", 1), struct.pack("!q", 2)
    expect(data_rows(a), [[b"1", b"2"], [one, two], [b"1", b"2"], [one, b"2"], [b"1", two], [one, two]])


@check
def names_that_are_not_there_or_taken(s):
    w = Wire(s.pg)
    expect(w.kinds(close("S", "nope"), close("P", "nope"), close("S", ""), SYNC), "333Z")
    expect(w.error(bind("", "nope"), SYNC)["C"], "26000")
    expect(w.error(describe("S", "nope"), SYNC)["C"], "26000")
    expect(w.error(describe("P", "nope"), SYNC)["C"], "34000")
    expect(w.error(execute("nope"), SYNC)["C"], "34000")
    expect(w.error(parse("a", "select 1"), parse("a", "select 2"), SYNC)["C"], "42P05")
    expect(w.error(bind("p", "a"), bind("p", "a"), SYNC)["C"], "42P03")
    expect(w.error(parse("", "select 1; select 2"), SYNC)["C"], "42601")


@check
def after_an_error_all_up_to_sync_is_skipped(s):
    w = Wire(s.pg)
    a = w.ask(parse("", "select 1"), bind(), execute(), parse("", "select nope"), bind(), execute(), query("select 2"), parse("", "select 3"), SYNC)
    expect(kinds(a), "12DC1EZ")
    expect(w.kinds(parse("", "select 3"), bind(), execute(), SYNC), "12DCZ")


@check
def row_limits_suspend_and_go_on(s):
    w = Wire(s.pg)
    a = w.ask(parse("", "select x from long_sequence(5)"), bind("p"), execute("p", 2), execute("p", 2), FLUSH, execute("p", 2), execute("p", 2), SYNC)
    expect(kinds(a), "12DDsDDsDCCZ")
    expect(tags(a), ["SELECT 1", "SELECT 0"])
    a = w.ask(bind("q"), execute("q", 5), execute("q", 5), SYNC)
    expect(kinds(a), "2DDDDDsCZ")
    a = w.ask(bind("r"), execute("r", 3), SYNC)
    expect(kinds(a), "2DDDsZ")
    expect(text(data_rows(w.ask(execute("r", 3), SYNC))), [["4"], ["5"]])


@check
def portals_take_turns(s):
    w = Wire(s.pg)
    a = w.ask(parse("q", "select x + $1::long from long_sequence(20000)"), bind("a", "q", [b"0"]), bind("b", "q", [b"100"]),
              *[m for _ in range(4) for m in (execute("a", 1), execute("b", 1))], execute("a"), execute("b"), SYNC)
    rows = [int(r[0]) for r in data_rows(a)]
    expect(rows[:8], [1, 101, 2, 102, 3, 103, 4, 104])
    expect(rows[8:], list(range(5, 20001)) + list(range(105, 20101)))
    expect(tags(a), ["SELECT 19996"] * 2)


@check
def portals_and_their_names(s):
    def code(*messages):
        e = w.error(*messages, SYNC)
        return e and (e["C"], e["M"])

    w = Wire(s.pg)
    w.ask(parse("q", "select x from long_sequence(9)"), SYNC)
    there = ("42P03", 'portal "p" already exists')
    w.rows("begin")
    expect(kinds(w.ask(bind("p", "q"), execute("p", 2), SYNC)), "2DDsZ")
    expect(code(bind("p", "q")), there, "in a block it lasts over Sync")
    w.rows("rollback")
    expect(kinds(w.ask(bind("p", "q"), execute("p", 2), SYNC)), "2DDsZ")
    expect(text(data_rows(w.ask(execute("p", 2), SYNC))), [["3"], ["4"]], "a fetch size works without a block")
    expect(text(data_rows(w.ask(bind("p", "q"), execute("p", 1), SYNC))), [["1"]], "and the name is free")
    expect(code(bind("r", "q"), bind("r", "q")), ("42P03", 'portal "r" already exists'))
    for _ in range(3):
        expect(kinds(w.ask(bind("", "q"), bind("", "q"), execute("", 2), SYNC)), "22DDsZ")
    w.rows("begin; declare c cursor for select 1")
    expect(code(bind("c", "q")), ("42P03", 'portal "c" already exists'))
    w.rows("rollback")
    expect(kinds(w.ask(bind("", "q"), execute("", 2), SYNC)), "2DDsZ")
    w.rows("select 1")
    expect(code(execute()), ("34000", 'portal "" does not exist'), "a query uses the unnamed one")


@check
def the_unnamed_statement_ends(s):
    gone = ("26000", 'prepared statement "" does not exist')
    for what, messages in (("query", [query("select 2")]), ("empty query", [query("")]), ("query that fails", [query("select nope")]),
                           ("Parse that fails", [parse("", "select ("), SYNC]), ("with a type that is none", [parse("", "select $1", [4711]), SYNC])):
        w = Wire(s.pg)
        expect(kinds(w.ask(parse("", "select 1"), parse("named", "select 1"), SYNC)), "11Z")
        w.ask(*messages)
        e = w.error(bind(), execute(), SYNC)
        expect(e and (e["C"], e["M"]), gone, what)
        expect(kinds(w.ask(bind("", "named"), execute(), SYNC)), "2DCZ", what)
        expect(kinds(w.ask(parse("", "select 1"), SYNC, parse("named", "select 2"), SYNC)), "1Z")
        w.until_ready()
        expect(kinds(w.ask(bind(), execute(), SYNC)), "2DCZ", "a named one that fails is another matter")


@check
def bind_counts_are_checked(s):
    w = Wire(s.pg)
    w.ask(parse("two", "select $1::int, $2::int, 3"), parse("none", "select 1"), SYNC)
    for name, values, formats, results, want in (
            ("two", [b"1", b"2"], [0, 0, 0], [], "bind message has 3 parameter formats but 2 parameters"),
            ("two", [b"1"], [], [], 'bind message supplies 1 parameters, but prepared statement "two" requires 2'),
            ("two", [b"1", b"2", b"3"], [0, 0, 0], [], 'bind message supplies 3 parameters, but prepared statement "two" requires 2'),
            ("none", [b"1"], [], [], 'bind message supplies 1 parameters, but prepared statement "none" requires 0'),
            ("two", [b"1", b"2"], [], [0, 0], "bind message has 2 result formats but query has 3 columns"),
            ("two", [b"1", b"2"], [1], [0, 0, 1, 1], None)):
        e = w.error(bind("", name, values, formats, results), execute(), SYNC)
        if want:
            expect((e["C"], e["M"]), ("08P01", want))
        else:
            expect(e["C"] in ("08P01", "22P03"), True)


@check
def flush_sends_what_is_ready_and_ends_nothing(s):
    w = Wire(s.pg)
    w.send(parse("", "select x from long_sequence(3)"), FLUSH)
    expect(w.read()[0], "1")
    w.send(bind(), execute("", 1), FLUSH)
    expect([w.read()[0] for _ in range(3)], ["2", "D", "s"])
    w.send(execute("", 1), FLUSH)
    expect([w.read()[0] for _ in range(2)], ["D", "s"])
    expect(w.kinds(execute(), SYNC), "DCZ")


@check
def a_finished_insert_does_not_run_twice(s):
    w = Wire(s.pg)
    w.rows("create table once (a int)")
    a = w.ask(parse("", "insert into once values (1)"), bind("p"), execute("p"), execute("p"), SYNC)
    expect(kinds(a), "12CEZ")
    expect(w.rows("select count() from once"), [["0"]])  # the pipeline is one transaction


@check
def bad_counts_and_formats_of_bind(s):
    w = Wire(s.pg)
    w.ask(parse("q", "select $1::int, $2::int"), SYNC)
    for m, code in [(bind("", "q", [b"1"]), "08P01"), (bind("", "q", [b"1"] * 3), "08P01"), (bind("", "q", [b"1", b"2"], [0, 0, 0]), "08P01"),
                    (bind("", "q", [b"1", b"2"], [2]), "22023"), (bind("", "q", [b"1", b"2"], [-1]), "22023"), (bind("", "q", [b"1", b"2"], [0], [0, 0, 0]), "08P01"),
                    (bind("", "q", [b"1", b"2"], [0], [7]), "22023"), (bind("", "q", [b"1", b"2"], [1]), "22P03"), (bind("", "q", [b"x", b"2"]), "22P02"),
                    (bind("", "q", [b"1", b"99999999999"]), "22003")]:
        expect(w.error(m, SYNC)["C"], code, m)
    expect(w.error(parse("", "select $1", [1083]), SYNC)["C"], "0A000")
    expect(w.kinds(bind("", "q", [b"1", None]), execute(), SYNC), "2DCZ")


@check
def malformed_messages_never_end_the_server(s):
    whole = [b"P\0\0\0\x04", b"B\0\0\0\x04", b"D\0\0\0\x04", b"E\0\0\0\x04", b"C\0\0\0\x04", b"Q\0\0\0\x04", msg(b"P", b"a"), msg(b"P", b"a\0select 1"),
             msg(b"P", b"\0select 1\0"), msg(b"P", b"\0select 1\0\0\x05"), msg(b"P", b"\0select 1\0\xff\xff"), msg(b"P", b"\0select 1\0\0\0junk"), msg(b"B", b"\0"),
             msg(b"B", b"\0\0"), msg(b"B", b"\0\0\xff\xff"), msg(b"B", b"\0\0\0\0\0\1\x7f\xff\xff\xff"), msg(b"B", b"\0\0\0\0\0\1\xff\xff\xff\xfe\0\0"),
             msg(b"D", b"X\0"), msg(b"D", b"S"), msg(b"D", b"S\0more\0"), msg(b"C", b"Z\0"), msg(b"E", b"\0"), msg(b"E", b"\0\0\0\0\0\0"), msg(b"Q", b"select 1"),
             msg(b"Q", b"select 1\0select 2\0"), msg(b"H", b"xx"), msg(b"S", b"xx")]
    w = Wire(s.pg)
    for m in whole:
        a = w.ask(m) if m[:1] in (b"Q", b"S") else w.ask(m, SYNC)
        if m[:1] in b"PBDECQ":
            expect(kinds(a)[-2:], "EZ", m)
            expect(fields(a[-2][1])["C"] in ("08P01", "26000"), True, (m, fields(a[-2][1])))
        w.rows("select 1")
    for m in (b"Q\0\0\0\3", b"Q\0\0\0\0", b"Q\xff\xff\xff\xff", b"Q\x7f\xff\xff\xff", b"P\x40\0\0\1", msg(b"~"), msg(b"\0"), msg(b"p", b"x")):
        w = Wire(s.pg)
        w.send(m)
        kind, body = w.read()
        expect((kind, fields(body)["S"]), ("E", "FATAL"), m)
        try:
            w.read()
            raise AssertionError(f"still open: {m}")
        except (Closed, ConnectionResetError):
            pass
    rng = random.Random(7)
    for i in range(300):
        w = Wire(s.pg)
        w.s.settimeout(10)
        kind = bytes([rng.choice(b"PBDECQSHXFdcf")])
        body = bytes(rng.choice([0, 0, 0, 1, 2, 65, 255, rng.randrange(256)]) for _ in range(rng.randrange(40)))
        w.send(msg(kind, body), SYNC, TERMINATE)
        try:
            while True:
                w.read()
        except (Closed, ConnectionResetError, BrokenPipeError):
            pass
        w.close()
    expect(s.rows("select 1"), [[1]])


@check
def function_calls_and_copy_messages(s):
    w = Wire(s.pg)
    a = w.ask(msg(b"F", b"\0\0\0\1\0\0\0\0\0\0"))
    expect((kinds(a), fields(a[0][1])["C"]), ("EZ", "0A000"))
    expect(w.kinds(msg(b"d", b"x"), msg(b"c"), msg(b"f", b"x\0"), SYNC), "Z")
    expect(w.rows("select 1"), [["1"]])


@check
def messages_come_in_any_pieces(s):
    data = parse("", "select $1::int, 'ü'") + bind("", "", [b"7"], [0], [1, 0]) + describe("P") + execute() + SYNC + query("select 1; select 2")
    w = Wire(s.pg)
    for i in range(len(data)):
        w.send(data[i:i + 1])
    expect(kinds(w.until_ready()) + kinds(w.until_ready()), "12TDCZTDCTDCZ")
    for cut in range(1, len(data)):
        w.send(data[:cut])
        if cut % 16 == 0:
            time.sleep(0.001)
        w.send(data[cut:])
        expect(kinds(w.until_ready()) + kinds(w.until_ready()), "12TDCZTDCTDCZ", cut)
    start = startup([("user", "admin"), ("database", "x")])
    w = Wire(s.pg, login=False)
    for i in range(len(start)):
        w.send(start[i:i + 1])
    w.login("quest")


@check
def three_thousand_syncs_before_anything_is_read(s):
    w = Wire(s.pg)
    w.send(SYNC * 3000)
    for _ in range(3000):
        expect(w.until_ready(), [("Z", b"I")])


@check
def long_pipelines_answer_in_order(s):
    w = Wire(s.pg)
    rng = random.Random(1)
    for turn in range(20):
        data = b"".join(parse("", f"select {turn * 1000 + i}") + bind() + describe("P") + execute() for i in range(100)) + SYNC
        at = 0
        while at < len(data):
            n = rng.randrange(1, 3000)
            w.send(data[at:at + n])
            at += n
        a = w.until_ready()
        expect(kinds(a), "12TDC" * 100 + "Z")
        expect([int(r[0]) for r in data_rows(a)], [turn * 1000 + i for i in range(100)])


class Pipeline:
    """Random messages, and what must come back: kinds, values of rows, tags."""

    def __init__(self, rng, mark):
        self.rng, self.mark, self.bytes, self.kinds, self.rows, self.tags, self.skip, self.portals = rng, mark, b"", "", [], [], False, {}

    def add(self, data, kinds="", rows=(), tags=()):
        self.bytes += data
        if not self.skip:
            self.kinds += kinds
            self.rows += rows
            self.tags += tags

    def step(self):
        n, what = self.mark * 1000 + len(self.bytes), self.rng.randrange(11)
        if what == 0:
            self.add(parse("", f"select {n}") + bind() + describe("P") + execute(), "12TDC", [n], ["SELECT 1"])
        elif what == 1:  # binary parameter and result
            self.add(parse("", "select $1::long", [20]) + bind("", "", [struct.pack("!q", n)], [1], [1]) + execute(), "12DC", [struct.pack("!q", n)], ["SELECT 1"])
        elif what == 2 and not self.skip and len(self.portals) < 5:
            name = f"p{self.mark}_{len(self.bytes)}"
            self.add(bind(name, "seq", [str(n).encode()]), "2")
            self.portals[name] = [n, 0]
        elif what in (3, 4) and self.portals and not self.skip:
            name = self.rng.choice(sorted(self.portals))
            base, at = self.portals[name]
            k = self.rng.randrange(1, 4)
            got = min(k, 7 - at)
            self.add(execute(name, k), "D" * got + ("s" if got == k else "C"), [base + at + i + 1 for i in range(got)], [] if got == k else [f"SELECT {got}"])
            self.portals[name][1] += got
            if got < k:  # a finished portal may be closed, or run into nothing
                del self.portals[name]
                self.add(close("P", name), "3")
        elif what == 5:
            self.add(parse("", "") + bind() + execute(), "12I")
        elif what == 6:
            self.add(FLUSH)
        elif what == 7:
            self.fail(parse("", "nonsense ("))
        elif what == 8:
            self.add(describe("S", "seq") + close("S", "none"), "tT3")
        elif what == 9:
            self.fail(bind("", "no_such_statement"))
        elif what == 10:
            self.sync()

    def fail(self, data):
        self.add(data, "E")
        self.skip = True

    def sync(self):
        self.bytes += SYNC
        self.kinds += "Z"
        self.skip = False


@check
def random_pipelines_in_random_pieces(s):
    rng = random.Random(11)
    w = Wire(s.pg)
    w.ask(parse("seq", "select x + $1::long from long_sequence(7)"), SYNC)
    for turn in range(20000 if s.nightly else 3000):
        p = Pipeline(rng, turn)
        for _ in range(rng.randrange(1, 25)):
            p.step()
        p.sync()
        at = 0
        while at < len(p.bytes):
            n = rng.choice((1, 2, 5, 30, 200, 5000, rng.randrange(1, 400)))
            w.s.sendall(p.bytes[at:at + n])
            at += n
        answer = []
        while kinds(answer).count("Z") < p.kinds.count("Z"):
            answer += w.until_ready()
        expect(kinds(answer), p.kinds, (turn, p.bytes))
        values = [r[0] if len(r[0]) == 8 and r[0][0] == 0 else int(r[0]) for r in data_rows(answer)]
        expect((values, tags(answer)), (p.rows, p.tags), (turn, p.bytes))
        if turn % 10 == 0:
            w.ask(query("discard all"))
            w.ask(parse("seq", "select x + $1::long from long_sequence(7)"), SYNC)


@check
def values_of_many_megabytes_and_messages_over_the_limit(s):
    w = Wire(s.pg)
    big = os.urandom(6 << 20).hex().encode()
    a = w.ask(parse("", "select $1::varchar"), bind(values=[big]), execute(), SYNC)
    expect(data_rows(a) == [[big]], True)
    w.send(b"Q" + struct.pack("!I", (65 << 20)))
    try:
        for _ in range(65):
            w.send(b"x" * (1 << 20))
    except OSError:
        pass
    kind, body = w.read()
    expect((kind, fields(body)["S"], fields(body)["C"]), ("E", "FATAL", "54000"))


@check
def long_statements_do_not_hold_up_others(s):
    w = Wire(s.pg)
    sql = "select " + ",".join(f"{i} + x as c{i}" for i in range(1500)) + ", '" + "x" * 200000 + "' from long_sequence(2)"
    a = w.ask(parse("long", sql), describe("S", "long"), bind("", "long"), execute(), parse("", "select 1"), bind(), execute(), SYNC)
    expect(kinds(a), "1tT2DDC12DCZ")
    expect(len(data_rows(a)[1]), 1501)
    e = w.error(parse("", sql + " where nope ("), SYNC)
    expect(e["C"], "42601")
    expect(int(e["P"]) > 200000, True)
    w = Wire(s.pg)
    w.send(parse("", sql))
    w.close()
    expect(s.rows("select 1"), [[1]])


@check
def types_that_there_are_not_and_escapes_of_texts(s):
    w = Wire(s.pg)
    for sql, want in [("select 1::nosuch", "42704"), ("select cast(1 as nosuch)", "42704"), ("create table nt (a nosuch)", "42704"),
                      ("select E'\\xff'", "22021"), ("select E'\\u12'", "42601"), ("select E'\\000'", "22021")]:
        expect(w.error(query(sql))["C"], want, sql)
    expect(w.rows("select E'\\x41\\u00e9\\ud83d\\ude00\\101\\n''\\''"), [["A\u00e9\U0001F600A\n''"]])


@check
def a_changed_table_makes_an_old_plan_stale(s):
    w = Wire(s.pg)
    w.rows("create table stale (a int, b long)")
    w.rows("insert into stale values (1, 2)")
    expect(w.kinds(parse("q", "select * from stale"), describe("S", "q"), bind("", "q"), execute(), SYNC), "1tT2DCZ")
    w.rows("drop table stale")
    w.rows("create table stale (a int, b varchar)")
    w.rows("insert into stale values (1, 'x')")
    e = w.error(bind("", "q"), execute(), SYNC)
    expect((e["C"], e["R"]), ("0A000", "RevalidateCachedQuery"))
    expect(w.kinds(parse("", "select * from stale"), describe("S"), bind(), execute(), SYNC), "1tT2DCZ")


if __name__ == "__main__":
    main()
