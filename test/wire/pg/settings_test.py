#!/usr/bin/env python3
"""Settings of a session on the PostgreSQL wire: SET, RESET, DISCARD and what blocks bring back; read-only transactions,
accounts and interfaces; connections that are idle.

    settings_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import os, signal, time

from lib.checks import check, expect, main
from lib.pganswers import data_rows, kinds, state, tags
from lib.pgclient import SYNC, Closed, Wire, bind, execute, parse, query, fields
from lib.server import Server


def show(w, name):
    return w.rows(f"show {name}")[0][0]


def told(answer):
    """ParameterStatus messages of an answer."""
    return [tuple(b[:-1].decode().split("\0")) for k, b in answer if k == "S"]


def notices(w):
    return [(fields(b)["S"], fields(b)["C"]) for b in w.notices]


def code(w, sql):
    e = w.error(query(sql))
    return e and e["C"]


@check
def set_show_and_reset(s):
    w = Wire(s.pg)
    for sql, name, value in [("set statement_timeout = 5000", "statement_timeout", "5000"), ("set statement_timeout to '3s'", "statement_timeout", "3s"),
                             ("set application_name = 'an app'", "application_name", "an app"), ("set session time zone 'UTC'", "timezone", "UTC"),
                             ("set datestyle to iso", "datestyle", None), ("set extra_float_digits = 3", "extra_float_digits", "3"), ("set names 'utf8'", "client_encoding", "UTF8"),
                             ("set client_encoding to 'UTF8'", "client_encoding", "UTF8"), ("set local lock_timeout = 1", "lock_timeout", "0")]:
        expect(tags(w.ask(query(sql))), ["SET"], sql)
        if value:
            expect(w.rows(f"show {name}"), [[value]], sql)
    a = w.ask(query("set application_name = 'other'"))
    expect([b for k, b in a if k == "S"], [b"application_name\0other\0"])
    expect(kinds(w.ask(query("set application_name = 'other'"))), "CZ")
    expect(kinds(w.ask(query("reset application_name"))), "CSZ")
    w.ask(query("reset all"))
    expect(w.rows("show statement_timeout"), [["0"]])
    for name in ("server_version", "server_version_num", "transaction_isolation", "transaction isolation level", "max_identifier_length", "standard_conforming_strings",
                 "search_path", "datestyle", "time zone", "timezone", "default_transaction_read_only", "transaction_read_only", "in_hot_standby", "client_encoding",
                 "server_encoding", "integer_datetimes", "default_transaction_isolation", "lc_collate"):
        expect(len(w.rows(f"show {name}")), 1, name)
    expect(w.error(query("set client_encoding = 'LATIN1'"))["C"], "22023")
    expect(w.error(query("set standard_conforming_strings = off"))["C"], "22023")
    expect(w.kinds(query("set standard_conforming_strings = on; set whatever.thing = 'x'; set session characteristics as transaction read only; set transaction isolation level serializable")), "CCCCSZ")


@check
def settings_of_the_clients_own(s):
    w = Wire(s.pg, params=[("options", "-c app.start=first")])
    expect(tags(w.ask(query("set my.x = 'y'"))), ["SET"])
    expect(w.rows("show my.x; select current_setting('MY.X'); show app.start"), [["y"], ["y"], ["first"]])
    expect(w.rows("select set_config('my.z', '7', false); show my.z"), [["7"], ["7"]])
    for name in ("my.other", "nosuch"):
        expect((code(w, "show " + name), code(w, f"select current_setting('{name}')")), ("42704", "42704"), name)
    expect(w.rows("select current_setting('my.other', true)"), [[None]])
    expect(w.rows("begin; set local my.x = 'z'; show my.x; commit; show my.x"), [["z"], ["y"]])
    expect(w.rows("begin; set my.x = 'z'; set my.new = 'n'; rollback; show my.x; show my.new"), [["y"], [""]])
    w.ask(query("set app.start = 'second'; reset my.x"))
    expect(w.rows("show my.x; show app.start; reset all; show app.start; show my.z"), [[""], ["second"], ["first"], [""]])
    expect(code(w, f"set my.x = '{'v' * 16385}'"), "54000")
    for i in range(200):
        w.ask(query(f"set many.n{i} = '{i}'"))
    expect((show(w, "many.n50"), code(w, "set many.more = '1'"), code(w, "set many.n50 = '1'")), ("50", "54000", None))
    expect(code(Wire(s.pg), "show my.z"), "42704", "of this session alone")


@check
def bytea_output(s):
    w = Wire(s.pg)
    w.rows("create table bytes_out (b binary)")
    raw = bytes(range(256))
    w.ask(parse("", "insert into bytes_out values ($1)", [17]), bind(values=[raw], formats=[1]), execute(), SYNC)

    def answer(binary=False):
        return data_rows(w.ask(parse("", "select b from bytes_out"), bind(results=[int(binary)]), execute(), SYNC))[0][0]
    want = b"".join(b"\\\\" if b == 92 else bytes([b]) if 32 <= b < 127 else b"\\%03o" % b for b in raw)
    expect(answer(), b"\\x" + raw.hex().encode())
    w.ask(query("set bytea_output = 'ESCAPE'"))
    expect((answer(), answer(True), w.rows("select b from bytes_out where b is null")), (want, raw, []))
    w.ask(parse("", "insert into bytes_out values ($1)", [17]), bind(values=[want]), execute(), SYNC)
    expect(data_rows(w.ask(query("select b from bytes_out"))), [[want], [want]])
    w.ask(query("reset bytea_output"))
    expect(answer(), b"\\x" + raw.hex().encode())
    expect(code(w, "set bytea_output = 'base64'"), "22023")
    w.rows("drop table bytes_out")


@check
def deallocate_discard_and_close(s):
    w = Wire(s.pg)
    for name in ("a", "b", "pdo_1", "MiXed"):
        w.ask(parse(name, "select 1"), SYNC)
    expect(tags(w.ask(query("deallocate a"))), ["DEALLOCATE"])
    expect(w.error(bind("", "a"), SYNC)["C"], "26000")
    expect(w.error(query("deallocate a"))["C"], "26000")
    expect(w.kinds(query("deallocate prepare pdo_1")), "CZ")
    expect(w.kinds(query('deallocate "MiXed"')), "CZ")
    expect(w.kinds(bind("", "b"), execute(), SYNC), "2DCZ")
    expect(w.kinds(query("deallocate all")), "CZ")
    expect(w.error(bind("", "b"), SYNC)["C"], "26000")
    w.ask(parse("c", "select x from long_sequence(9)"), bind("p", "c"), execute("p", 2), SYNC)
    expect(w.kinds(query("close p")), "CZ")
    expect(w.error(execute("p"), SYNC)["C"], "34000")
    w.ask(bind("p", "c"), execute("p", 2), SYNC)
    expect(w.kinds(query("close all; unlisten *; reset all")), "CCCZ")
    expect(w.error(execute("p"), SYNC)["C"], "34000")
    w.ask(query("set application_name = 'x'"))
    a = w.ask(query("discard all"))
    expect((kinds(a), tags(a)), ("CSZ", ["DISCARD ALL"]))
    expect(w.error(bind("", "c"), SYNC)["C"], "26000")
    expect(w.kinds(parse("", "discard all"), bind(), execute(), SYNC), "12CZ")
    expect(w.kinds(parse("d", "deallocate all"), bind("dp", "d"), execute("dp"), SYNC), "12CZ")
    expect(w.error(query("deallocate nope"))["C"], "26000")


# ------------------------------------------------------------------ what blocks bring back
@check
def there_are_no_constraints_to_defer(s):
    """Django and Rails say so before they look at what they have stored."""
    w = Wire(s.pg)
    for mode in ("all immediate", "ALL DEFERRED"):
        expect(tags(w.ask(query("set constraints " + mode))), ["SET CONSTRAINTS"], mode)
    for text in ("set constraints x deferred", "set constraints all", "set constraints all deferred now"):
        expect(code(w, text), "42601", text)


@check
def a_rollback_takes_set_back(s):
    w = Wire(s.pg, params=[("application_name", "first")])
    w.ask(query("set application_name = 'second'"))
    w.ask(query("begin"))
    expect(told(w.ask(query("set application_name = 'third'"))), [("application_name", "third")])
    expect(told(w.ask(query("rollback"))), [("application_name", "second")])
    w.ask(query("begin; set application_name = 'third'"))
    w.ask(query("select nope"))
    expect(told(w.ask(query("commit"))), [("application_name", "second")], "a failed block is rolled back")
    expect(told(w.ask(query("begin; set application_name = 'third'; commit"))), [("application_name", "third")])
    expect(show(w, "application_name"), "third")
    expect(told(w.ask(query("begin; reset application_name"))), [("application_name", "first")])
    expect(told(w.ask(query("rollback"))), [("application_name", "third")])


@check
def set_local_ends_with_the_block(s):
    w = Wire(s.pg)
    for end, want in (("commit", "0"), ("rollback", "0")):
        w.ask(query("begin; set local lock_timeout = 7"))
        expect(show(w, "lock_timeout"), "7")
        w.ask(query(end))
        expect(show(w, "lock_timeout"), want, end)
    for texts, inside, after in [(["set local lock_timeout = 1", "set lock_timeout = 2"], "2", "2"), (["set lock_timeout = 3", "set local lock_timeout = 4"], "4", "3"),
                                 (["set local lock_timeout = 5", "set lock_timeout = 6", "set local lock_timeout = 7", "set local lock_timeout = 8"], "8", "6"),
                                 (["savepoint a", "set local lock_timeout = 9", "release a"], "9", "6"), (["set local lock_timeout = 9", "savepoint a", "set lock_timeout = 10"], "10", "10"),
                                 (["set lock_timeout = 11", "savepoint a", "set local lock_timeout = 12", "savepoint b", "set local lock_timeout = 13"], "13", "11"),
                                 (["set lock_timeout = 14", "savepoint a", "set lock_timeout = 15", "rollback to a"], "14", "14"),
                                 (["set local lock_timeout = 16", "savepoint a", "set lock_timeout = 17", "rollback to a"], "16", "14"),
                                 (["set lock_timeout = 18", "savepoint a", "select nope", "rollback to a"], "18", "18"),
                                 (["set local lock_timeout = default"], "0", "18"), (["set local lock_timeout to 1", "reset lock_timeout"], "0", "0")]:
        w.ask(query("begin"))
        for t in texts:
            w.ask(query(t))
        expect(show(w, "lock_timeout"), inside, texts)
        w.ask(query("commit"))
        expect(show(w, "lock_timeout"), after, texts)
        w.ask(query("begin"))
        for t in texts:
            w.ask(query(t))
        w.ask(query("rollback"))
        expect(show(w, "lock_timeout"), after, (texts, "the rollback goes back to what was before"))
    expect(tags(w.ask(query("set local lock_timeout = 1"))), ["SET"])
    expect(notices(w), [("WARNING", "25P01")])
    expect(show(w, "lock_timeout"), "0")
    expect(w.rows("begin; select set_config('lock_timeout', '33', true); show lock_timeout; commit; show lock_timeout"), [["33"], ["33"], ["0"]])
    expect(w.rows("select set_config('lock_timeout', '34', true)"), [["34"]])
    expect(show(w, "lock_timeout"), "0")
    expect(w.rows("select set_config('lock_timeout', '35', false)"), [["35"]])
    expect(show(w, "lock_timeout"), "35")


@check
def a_text_or_pipeline_that_fails_takes_set_back(s):
    w = Wire(s.pg)
    w.ask(query("set lock_timeout = 1; select nope"))
    expect(show(w, "lock_timeout"), "0")
    w.ask(query("set lock_timeout = 2; select 1"))
    expect(show(w, "lock_timeout"), "2")
    w.ask(query("set local lock_timeout = 3; select 1"))
    expect((notices(w), show(w, "lock_timeout")), ([], "2"))
    run = lambda sql: parse("", sql) + bind() + execute()
    w.ask(run("set lock_timeout = 4") + run("select nope") + SYNC)
    expect(show(w, "lock_timeout"), "2")
    expect(told(w.ask(run("set application_name = 'p'") + run("select 1") + SYNC)), [("application_name", "p")])
    expect(told(w.ask(run("set application_name = 'q'") + run("select 1/") + SYNC)), [])
    expect(show(w, "application_name"), "p")
    w.ask(run("set lock_timeout = 5") + SYNC)
    expect(show(w, "lock_timeout"), "5")


@check
def reset_goes_back_to_the_start_up_packet(s):
    start = [("application_name", "mine"), ("options", "-c lock_timeout=5s -c search_path=here"), ("DateStyle", "ISO")]
    w = Wire(s.pg, params=start)
    names = ("application_name", "lock_timeout", "search_path", "DateStyle", "extra_float_digits")
    want = ["mine", "5s", "here", "ISO", "1"]
    for reset in ("reset application_name; reset lock_timeout; reset search_path; reset datestyle; reset extra_float_digits", "reset all", "discard all",
                  "set application_name to default; set lock_timeout = default; set search_path to default; set datestyle to default; set extra_float_digits to default"):
        w.ask(query("set application_name = 'x'; set lock_timeout = 1; set search_path to a, b; set datestyle to 'ISO', 'DMY'; set extra_float_digits = 3"))
        expect([show(w, n) for n in names], ["x", "1", "a, b", "ISO, DMY", "3"])
        a = w.ask(query(reset))
        expect(sorted(told(a)), [("DateStyle", "ISO"), ("application_name", "mine"), ("search_path", "here")], reset)
        expect([show(w, n) for n in names], want, reset)
    w.ask(query("begin; reset all"))
    expect(tags(w.ask(query("commit"))), ["COMMIT"])


@check
def discard_deallocate_and_their_tags(s):
    w = Wire(s.pg)
    for sql, tag in [("discard plans", "DISCARD PLANS"), ("discard temp", "DISCARD TEMP"), ("discard temporary", "DISCARD TEMP"), ("discard sequences", "DISCARD SEQUENCES"),
                     ("discard all", "DISCARD ALL"), ("deallocate prepare all", "DEALLOCATE ALL"), ("reset session authorization", "RESET"), ("reset role", "RESET"), ("reset time zone", "RESET"),
                     ("reset transaction isolation level", "RESET"), ("set role none", "SET"), ("set session authorization default", "SET"), ("unlisten *", "UNLISTEN"), ("unlisten a", "UNLISTEN"),
                     ("set session characteristics as transaction isolation level serializable, read write", "SET")]:
        expect(tags(w.ask(query(sql))), [tag], sql)
    for sql in ("discard", "discard nothing", "discard all plans", "reset", "reset a b", "deallocate", "close", "unlisten", "set transaction", "set transaction read", "begin read nothing",
                "begin isolation level", "begin isolation serializable", "start", "commit and", "commit chain", "savepoint", "rollback to", "set local", "begin read only,", "release a b"):
        expect(code(w, sql), "42601", sql)
    for sql in ("commit prepared 'x'", "rollback prepared 'x'", "prepare transaction 'x'", "set transaction snapshot '1'", "listen a", "notify a", "notify a, 'text'"):
        expect(code(w, sql), "0A000", sql)
    w.ask(query("begin"))
    expect(code(w, "discard all"), "25001")
    w.ask(query("rollback"))
    w.ask(parse("all", "select 1") + parse("a", "select 1") + SYNC)
    expect(tags(w.ask(query('deallocate "all"'))), ["DEALLOCATE"])
    expect(w.kinds(bind("", "a"), execute(), SYNC), "2DCZ")
    for sql, want in [("set statement_timeout = -1", "22023"), ("set statement_timeout = 'soon'", "22023"), ("set default_transaction_read_only = maybe", "22023"),
                      ("set client_min_messages = loud", "22023"), ("set default_transaction_isolation = none", "22023"), ("set role somebody", "22023"),
                      ("set session authorization 'other'", "22023"), ("set server_version = '9'", "22023"), ("set application_name = '" + "x" * 20000 + "'", "54000"), ("show nonsense", "42704")]:
        expect(code(w, sql), want, sql[:60])


@check
def show_all_lists_what_is_set(s):
    w = Wire(s.pg)
    w.ask(query("set lock_timeout = '3s'"))
    a = w.ask(query("show all"))
    rows = {r[0].decode(): r[1].decode() for r in data_rows(a)}
    expect((tags(a), rows["lock_timeout"], rows["transaction_read_only"], rows["TimeZone"]), (["SHOW"], "3s", "off", "UTC"))
    names = [r[0].decode().lower() for r in data_rows(a)]
    expect(names, sorted(names))
    for name in rows:
        expect(show(w, name), rows[name], name)


@check
def thousands_of_settings_in_one_block(s):
    w = Wire(s.pg)
    w.ask(query("begin"))
    for turn in range(20):
        w.ask(query("".join(f"savepoint s; set lock_timeout = {turn}; set local lock_timeout = 5; release s;" for _ in range(400))))
    expect(state(w.ask(query("".join("savepoint s; set lock_timeout = 1; release s;" for _ in range(3000))))), "E")
    w.ask(query("rollback"))
    expect(show(w, "lock_timeout"), "0")


# ------------------------------------------------------------------ read-only transactions
WRITES = ["insert into ro values (1)", "insert into ro select 1", "update ro set a = 2", "delete from ro", "create table ro2 (a int)", "create table ro2 as (select 1 a)", "create view rov as (select 1 a)",
          "create table if not exists ro (a int)", "drop table ro", "drop table if exists nothing", "truncate table ro", "alter table ro add column b int", "rename table ro to ro3", "copy ro from stdin",
          "copy ro from 'file.csv'", "comment on table ro is 'x'", "vacuum table ro", "with q as (select 1) insert into ro select * from q", "explain analyze insert into ro values (1)",
          "create materialized view rom as (select 1)", "drop view if exists nothing", "backup database", "checkpoint create", "refresh materialized view nothing full", "reindex table ro column a lock exclusive"]


@check
def read_only_transactions_refuse_every_write(s):
    w = Wire(s.pg)
    w.ask(query("create table ro (a int)"))
    for sql in WRITES:
        expect(tags(w.ask(query("begin read only"))), ["BEGIN"])
        e = w.error(query(sql))
        if sql.startswith("explain"):  # it plans, and writes nothing
            expect(e is None or e["C"] in ("25006", "0A000"), True, (sql, e))
        else:
            expect((e["C"], "read-only transaction" in e["M"]), ("25006", True), (sql, e))
        w.ask(query("rollback"))
        expect(w.error(query("begin read only"), ), None)
        e = w.error(parse("", sql), bind(), execute(), SYNC)
        if not sql.startswith("explain"):
            expect(e["C"], "25006", (sql, e))
        w.ask(query("rollback"))
    expect(w.rows("select count() from ro"), [["0"]])
    for sql in ("select * from ro", "show tables", "explain insert into ro values (1)", "copy ro to stdout", "set x = 1", "declare c cursor for select a from ro", "values (1)"):
        w.ask(query("begin read only"))
        expect(code(w, sql) in (None, "42601"), True, sql)
        expect(show(w, "transaction_read_only") if sql != "values (1)" else "on", "on")
        w.ask(query("rollback"))
        expect(show(w, "transaction_read_only"), "off")


@check
def modes_of_transactions(s):
    w = Wire(s.pg)
    w.ask(query("create table if not exists modes (a int)"))
    insert = "insert into modes values (1)"
    for begin, want in [("begin", None), ("begin read write", None), ("begin transaction isolation level serializable read only", "25006"), ("start transaction read only, deferrable", "25006"),
                        ("begin; set transaction read only", "25006"), ("begin; set transaction_read_only = on", "25006"), ("begin read only; set transaction read write", None),
                        ("begin; select count() from modes; set transaction read only", "25006"), ("begin read only; select count() from modes; set transaction read write", "25001"),
                        ("begin read only; savepoint a; set transaction read write", "25001"), ("begin; savepoint a; set transaction read only; rollback to a", None),
                        ("begin; savepoint a; set transaction read only; release a", "25006"), ("begin; set local transaction_read_only to true", "25006")]:
        e = w.error(query(begin))
        expect((e or w.error(query(insert)) or {"C": None})["C"], want, begin)
        w.ask(query("rollback"))
        expect(code(w, insert), None, "a block's mode ends with it")
    expect(told(w.ask(query("set default_transaction_read_only = on"))), [("default_transaction_read_only", "on")])
    expect((show(w, "transaction_read_only"), code(w, insert), code(w, insert + ";" + insert)), ("on", "25006", "25006"))
    expect(w.error(parse("", insert), bind(), execute(), SYNC)["C"], "25006")
    expect(w.error(query("begin; " + insert))["C"], "25006")
    w.ask(query("rollback"))
    expect(code(w, "begin read write; " + insert + "; commit"), None)
    expect(told(w.ask(query("set session characteristics as transaction read write"))), [("default_transaction_read_only", "off")])
    expect(code(w, insert), None)
    w.ask(query("set session characteristics as transaction read only, isolation level repeatable read"))
    expect((show(w, "default_transaction_read_only"), show(w, "default_transaction_isolation"), code(w, insert)), ("on", "repeatable read", "25006"))
    w.ask(query("begin; set default_transaction_read_only = off"))
    expect((show(w, "transaction_read_only"), code(w, insert)), ("on", "25006"), "for those to come")
    w.ask(query("rollback; reset all"))
    expect(code(w, insert), None)
    for sql, notice in [("set transaction read only", [("WARNING", "25P01")]), ("set transaction_read_only = on", [])]:
        w.ask(query(sql))
        expect((notices(w), show(w, "transaction_read_only"), code(w, insert)), (notice, "off", None), sql)
    expect(code(w, "set transaction read only; " + insert), "25006")
    w = Wire(s.pg, params=[("options", "-c default_transaction_read_only=on")])
    expect((w.settings["default_transaction_read_only"], code(w, insert)), ("on", "25006"))


@check
def chained_blocks(s):
    w = Wire(s.pg)
    w.ask(query("create table chain (a int)"))
    w.ask(query("begin read only"))
    a = w.ask(query("commit and chain"))
    expect((tags(a), state(a), show(w, "transaction_read_only")), (["COMMIT"], "T", "on"))
    w.ask(query("rollback and no chain"))
    w.ask(query("begin; insert into chain values (1)"))
    a = w.ask(query("rollback and chain"))
    expect((tags(a), state(a), w.rows("select count() from chain")), (["ROLLBACK"], "T", [["0"]]))
    w.ask(query("insert into chain values (2)"))
    expect(state(w.ask(query("commit work and chain"))), "T")
    w.ask(query("insert into chain values (3)"))
    expect(state(w.ask(query("abort"))), "I")
    expect(w.rows("select a from chain"), [["2"]])
    w.ask(query("begin"))
    w.ask(query("select nope"))
    a = w.ask(query("commit and chain"))
    expect((tags(a), state(a)), (["ROLLBACK"], "T"))
    w.ask(query("rollback"))
    expect((code(w, "commit and chain"), code(w, "rollback and chain")), ("25P01", "25P01"))


@check
def savepoints_have_names_and_need_a_block(s):
    w = Wire(s.pg)
    for sql in ("savepoint a", "release a", "rollback to a", "rollback work to savepoint a"):
        expect(code(w, sql), "25P01", sql)
    w.ask(query('begin; create table if not exists spn (a int); savepoint "A"; insert into spn values (1)'))
    expect(code(w, "rollback to a"), "3B001")
    w.ask(query('rollback to "A"'))
    w.ask(query("savepoint a; insert into spn values (2); savepoint B; insert into spn values (3)"))
    w.ask(query("rollback transaction to savepoint b"))
    expect(w.rows("select a from spn"), [["2"]])
    w.ask(query("commit"))


# ------------------------------------------------------------------ read-only accounts and interfaces
@check
def read_only_accounts_and_interfaces(s):
    if os.environ.get("ALMANAC_ACL_ENABLED") == "true":
        return  # users are those of access control then
    env = {"ALMANAC_PG_READONLY_USER_ENABLED": "true"}
    with Server(preset=s.preset, env=env) as one:
        admin = Wire(one.pg)
        admin.ask(query("create table ro (a int)"))
        w = Wire(one.pg, "user", "quest")
        expect((w.settings["is_superuser"], w.settings["default_transaction_read_only"], admin.settings["is_superuser"]), ("off", "off", "on"))
        for sql in WRITES:
            e = w.error(query(sql))
            if not sql.startswith("explain"):
                expect((e["C"], e["M"]), ("42501", "Write permission denied"), sql)
                expect(w.error(parse("", sql), bind(), execute(), SYNC)["C"], "42501", sql)
        expect(admin.rows("select count() from ro"), [["0"]])
        expect(code(w, "listen x"), "0A000")
        expect(w.kinds(query("begin; set a = 1; select 1; savepoint a; rollback to a; declare c cursor for select 1; fetch c; commit")), "CCTDCCCCTDCCZ")
        expect(w.kinds(query("copy ro to stdout")), "HcCZ")
        slow = "select sum(x % 7) from long_sequence(1000000000000)"
        admin.send(query(slow))
        time.sleep(0.2)
        pid = int.from_bytes(admin.key[:4], "big")
        expect(w.rows(f"select pg_cancel_backend({pid})"), [["f"]], "a statement of somebody else")
        expect([r for r in w.rows("select query from pg_stat_activity") if "x % 7" in r[0]], [])
        mate = Wire(one.pg, "user", "quest")
        mate.send(query(slow))
        time.sleep(0.2)
        expect(w.rows(f"select pg_cancel_backend({int.from_bytes(mate.key[:4], 'big')})"), [["t"]])
        expect([fields(b)["C"] for k, b in mate.until_ready() if k == "E"], ["57014"])
        admin.cancel()
        admin.until_ready()
    with Server(preset=s.preset, env={**env, "ALMANAC_PG_SECURITY_READONLY": "true"}) as one:
        one.exec("create table ro (a int)")
        for user in ("admin", "user"):
            w = Wire(one.pg, user, "quest")
            expect((w.settings["default_transaction_read_only"], show(w, "transaction_read_only")), ("on", "on"))
            for sql in WRITES:
                e = w.error(query(sql))
                if not sql.startswith("explain"):
                    expect((e["C"], e["M"]), ("25006", "Write permission denied"), sql)
            w.ask(query("set default_transaction_read_only = off; begin read write"))
            expect((show(w, "transaction_read_only"), code(w, "insert into ro values (1)")), ("on", "25006"))
            w.ask(query("rollback"))


# ------------------------------------------------------------------ idle
def ended(w, want):
    start = time.monotonic()
    kind, body = w.read()
    expect((kind, fields(body)["S"], fields(body)["C"]), ("E", "FATAL", want))
    try:
        w.read()
        raise AssertionError("still open")
    except (Closed, ConnectionResetError):
        return time.monotonic() - start


@check
def idle_blocks_are_ended(s):
    other = Wire(s.pg)
    other.ask(query("create table idle (a int)"))
    for params, sql in [([], "set idle_in_transaction_session_timeout = 400"), ([("idle_in_transaction_session_timeout", "400ms")], ""),
                        ([("options", "-c idle_in_transaction_session_timeout=400")], "")]:
        w = Wire(s.pg, params=params)
        if sql:
            w.ask(query(sql))
        time.sleep(0.9)
        expect(state(w.ask(query("select 1"))), "I", "outside of a block it does not count")
        w.ask(query("begin; insert into idle values (1)"))
        for _ in range(5):
            time.sleep(0.2)
            expect(state(w.ask(query("select 1"))), "T", "time between statements only")
        ended(w, "25P03")
        expect(other.rows("select count() from idle"), [["0"]])
    w = Wire(s.pg)
    w.ask(query("set idle_in_transaction_session_timeout = 400"))
    w.ask(query("begin"))
    expect(w.error(query("select nope"))["C"], "42703")
    ended(w, "25P03")
    w = Wire(s.pg)
    w.ask(query("set idle_in_transaction_session_timeout = 400; begin"))
    expect(len(w.rows("select sum(x % 7) from long_sequence(60000000)")), 1, "a statement that runs is not idle")
    w.ask(query("set idle_in_transaction_session_timeout = 0"))
    time.sleep(0.9)
    expect(state(w.ask(query("commit"))), "I")


@check
def idle_sessions_are_ended(s):
    w = Wire(s.pg)
    w.ask(query("set idle_session_timeout = 400"))
    w.ask(query("begin"))
    time.sleep(0.9)
    expect(state(w.ask(query("commit"))), "I", "blocks have a limit of their own")
    ended(w, "57P05")
    with Server(preset=s.preset, env={"ALMANAC_PG_NET_CONNECTION_TIMEOUT": "500ms"}) as one:
        w = Wire(one.pg)
        w.ask(query("select 1"))
        start = time.monotonic()
        kind, body = w.read()
        expect((kind, fields(body)["S"], fields(body)["C"], "pg.net.connection.timeout" in fields(body)["M"]), ("E", "FATAL", "57P05", True))
        expect(0.4 < time.monotonic() - start < 2, True)


@check
def who_is_connected_hears_of_the_stop(s):
    one = Server(preset=s.preset).start()
    idle, block = Wire(one.pg), Wire(one.pg)
    block.ask(query("begin"))
    one.process.send_signal(signal.SIGTERM)
    for w in (idle, block):
        ended(w, "57P01")
    one.__exit__(None, None, None)


# ------------------------------------------------------------------ notices
@check
def notices_and_who_wants_them(s):
    w = Wire(s.pg)
    for level, begin in [("notice", [("WARNING", "25001")]), ("warning", [("WARNING", "25001")]), ("error", []), ("debug1", [("WARNING", "25001")])]:
        w.ask(query(f"set client_min_messages = {level}"))
        w.ask(query("begin"))
        w.ask(query("begin"))
        expect(notices(w), begin, level)
        w.ask(query("commit"))
        w.ask(query("rollback"))
        expect(notices(w), [("WARNING", "25P01")] if begin else [], level)


if __name__ == "__main__":
    main()
