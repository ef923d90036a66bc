#!/usr/bin/env python3
"""Time, memory and numbers on the PostgreSQL wire: cancel, time-outs, large results, limits of connections and statements.

    limits_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import os, pathlib, threading, time

from lib.checks import check, expect, main
from lib.pganswers import SLOW, STREAM, data_rows, kinds, pg, state
from lib.pgclient import SYNC, Wire, bind, close, describe, execute, fields, msg, parse, query
from lib.server import Server


# ------------------------------------------------------------------ time, cancel, memory
@check
def cancel_while_computing(s):
    w = Wire(s.pg)
    start = time.monotonic()
    threading.Timer(0.3, w.cancel).start()
    e = w.error(query(SLOW))
    expect(e["C"], "57014")
    expect(time.monotonic() - start < 5, True)
    expect(w.rows("select 1"), [["1"]])
    threading.Timer(0.3, w.cancel).start()
    expect(w.error(parse("", SLOW), bind(), execute(), SYNC)["C"], "57014")
    expect(w.rows("select 1"), [["1"]])


@check
def cancel_by_statement(s):
    w, other = Wire(s.pg), Wire(s.pg)
    w.send(query("/* to be ended */ " + SLOW))
    end, found = time.monotonic() + 10, []
    while not found and time.monotonic() < end:
        found = other.rows("select query_id from query_activity() where query like '/* to be ended %'")
    expect([k for k, b in other.ask(query(f"cancel query {found[0][0]}"))], ["C", "Z"])
    expect([fields(b)["C"] for k, b in w.until_ready() if k == "E"], ["57014"])
    e = other.error(query("CANCEL QUERY 999999999"))
    expect((e["C"], e["P"], e["M"]), ("22023", "14", "query to cancel not found in registry [id=999999999]"))
    for sql in ("cancel", "cancel query", "cancel query x", "cancel query 1 2", "cancel query -1"):
        expect(other.error(query(sql))["C"], "42601", sql)
    status, _, body = s.get("/exec", query="cancel query 999999999")
    expect((status, b"not found in registry" in body), (400, True))


@check
def cancel_while_rows_are_sent(s):
    w = Wire(s.pg)
    w.send(query(STREAM))
    w.read(), w.read()
    w.cancel()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        kind, body = w.read()
        if kind == "E":
            break
    expect((kind, fields(body)["C"]), ("E", "57014"))
    expect(w.until_ready(), [("Z", b"I")])
    expect(w.rows("select 1"), [["1"]])


@check
def a_late_cancel_hits_no_statement_that_comes_after_it(s):
    """But rows that stand still are given back: nothing else frees them while their client does not come."""
    w = Wire(s.pg)
    w.ask(parse("q", "select x from long_sequence(100000)"), bind("p", "q"), execute("p", 10), SYNC)
    for _ in range(20):
        w.cancel()
        expect(w.rows("select count() from long_sequence(1000)"), [["1000"]])
    w.ask(bind("p", "q"), execute("p", 10), SYNC)
    w.cancel()
    expect(w.error(execute("p", 50000), SYNC)["C"], "57014")
    expect(w.rows("select count() from long_sequence(1000)"), [["1000"]])
    w.ask(bind("p", "q"), execute("p", 10), SYNC)
    expect(len(data_rows(w.ask(execute("p", 50000), SYNC))), 50000)


@check
def statement_timeouts(s):
    w = Wire(s.pg)
    for sql in ("set statement_timeout = 200", "set statement_timeout = '200ms'"):
        w.ask(query(sql))
        start = time.monotonic()
        e = w.error(query(SLOW))
        expect((e["C"], "timeout" in e["M"]), ("57014", True))
        expect(time.monotonic() - start < 5, True)
    w.ask(query("reset statement_timeout"))
    expect(w.rows("show statement_timeout"), [["0"]])
    for params in ([("statement_timeout", "200")], [("options", "-c statement_timeout=200ms")]):
        expect(Wire(s.pg, params=params).error(query(SLOW))["C"], "57014", params)


@check
def time_between_fetches_does_not_count(s):
    w = Wire(s.pg, params=[("statement_timeout", "700")])
    w.ask(parse("", "select x from long_sequence(1000000)"), bind("p"), execute("p", 10), SYNC)
    time.sleep(1.2)
    expect(kinds(w.ask(execute("p", 10), SYNC)), "D" * 10 + "sZ")


@check
def a_gone_client_ends_its_query(s):
    before = threads_cpu(s)
    for _ in range(3):
        w = Wire(s.pg)
        w.send(query(SLOW))
        w.close()
    time.sleep(1.5)
    first = threads_cpu(s)
    time.sleep(1)
    expect(threads_cpu(s) - first < 0.3, True, (before, first))


def threads_cpu(s):
    parts = pathlib.Path(f"/proc/{s.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


@check
def large_results_stream_in_bounded_memory(s):
    w = Wire(s.pg)
    s.rows("select 1")
    base = s.resident_bytes()[1]
    w.send(query("select x, 'some text that is not short at all' from long_sequence(3000000)"))
    n, top = 0, 0
    while True:
        kind, _ = w.read()
        if kind == "D":
            n += 1
            if n == 100000:
                time.sleep(1)
            if n % 250000 == 0:
                top = max(top, s.resident_bytes()[1])
        if kind == "Z":
            break
    expect(n, 3000000)
    if not s.sanitized:
        expect(top - base < 64 << 20, True, top - base)


@check
def pipelines_that_nobody_reads_do_not_pile_up(s):
    w = Wire(s.pg)
    base = s.resident_bytes()[1]
    w.s.setblocking(False)
    data = (parse("", "select x, 'some text that is not short at all' from long_sequence(1000)") + bind() + execute() + SYNC) * 100
    sent, end = 0, time.monotonic() + 3
    while time.monotonic() < end:
        try:
            sent += w.s.send(data[sent % len(data):])
        except BlockingIOError:
            time.sleep(0.05)
    grown = s.resident_bytes()[1] - base
    if not s.sanitized:
        expect(grown < 200 << 20, True, grown)
    w.close()
    expect(s.rows("select 1"), [[1]])


@check
def a_slow_reader_holds_no_thread(s):
    readers = []
    for _ in range(30):
        w = Wire(s.pg)
        w.send(query(STREAM))
        readers.append(w)
    time.sleep(1)
    start = time.monotonic()
    expect(Wire(s.pg).rows("select count() from long_sequence(1000000)"), [["1000000"]])
    expect(time.monotonic() - start < 5, True)
    for w in readers:
        w.close()


@check
def over_the_connection_limit_one_is_told_at_once(s):
    with Server(preset=s.preset, env={"ALMANAC_PG_NET_CONNECTION_LIMIT": "3", "ALMANAC_PG_NET_CONNECTION_TIMEOUT": "2s"}) as small:
        held = [Wire(small.pg) for _ in range(3)]
        try:
            Wire(small.pg)
            raise AssertionError("logged in")
        except PermissionError as e:
            expect((e.args[0]["S"], e.args[0]["C"]), ("FATAL", "53300"))
        held[0].close()
        time.sleep(0.2)
        Wire(small.pg).rows("select 1")
        kind, body = held[1].read()
        expect((kind, fields(body)["C"], fields(body)["S"]), ("E", "57P05", "FATAL"))


@check
def messages_that_come_in_have_a_budget(s):
    with Server(preset=s.preset, env={"ALMANAC_PG_INPUT_MEMORY_MAX": "20m", "ALMANAC_PG_NET_CONNECTION_LIMIT": "40"}) as small:
        big = b"x" * (12 << 20)
        Wire(small.pg).rows("create table budget (a varchar)")
        before = small.resident_bytes()[1]
        whole = parse("", "select length($1::varchar)") + bind("", "", [big]) + execute() + SYNC
        held = [Wire(small.pg) for _ in range(30)]
        for w in held:
            w.s.settimeout(20)
        cut = len(whole) - (1 << 20)
        threads = [threading.Thread(target=lambda w=w: w.send(whole[:cut])) for w in held]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        if not s.sanitized:  # the allocator keeps what each loop thread freed for two seconds
            end = time.monotonic() + 8
            while (grown := small.resident_bytes()[1] - before) >= 60 << 20 and time.monotonic() < end:
                time.sleep(0.1)
            expect(grown < 60 << 20, True, grown)
        small_one = Wire(small.pg)
        expect(small_one.rows("select length('" + "y" * 30000 + "')"), [["30000"]], "others go on")
        answers = []
        for w in held:
            w.send(whole[cut:])
            a = w.until_ready()
            answers.append(kinds(a) if kinds(a) == "12DCZ" else [(fields(b)["S"], fields(b)["C"], "pg.input.memory.max" in fields(b)["M"]) for k, b in a if k == "E"][0])
            expect(w.rows("select 1"), [["1"]], "the connection goes on")
        expect(set(answers), {"12DCZ", ("ERROR", "53200", True)}, answers)
        expect(answers.count("12DCZ") >= 1, True)
        for w in held[:3]:
            for _ in range(40):  # right behind the answer, which may be here first: each loop thread has its connections
                got = kinds(w.ask(whole))
                if got == "12DCZ":
                    break
                time.sleep(0.05)
            expect(got, "12DCZ", "what was taken is given back")
        # a message that never fits: simple query, COPY, extended; and what follows each
        huge = b"z" * (30 << 20)
        w = held[0]
        a = w.ask(msg(b"Q", b"select '" + huge + b"'\0"))
        expect((kinds(a), fields(a[0][1])["C"]), ("EZ", "53200"))
        w.send(query("copy budget from stdin"))
        expect(w.read()[0], "G")
        w.send(msg(b"d", b"one\n"), msg(b"d", huge), msg(b"c"))
        a = w.until_ready()
        expect((kinds(a), fields(a[0][1])["C"], w.rows("select count() from budget")), ("EZ", "53200", [["0"]]))
        a = w.ask(query("begin"))
        a = w.ask(parse("", "select 1"), bind(), execute(), parse("", "select $1"), bind("", "", [huge]), execute(), SYNC)
        expect((kinds(a), state(a)), ("12DC1EZ", "E"))
        w.rows("rollback")
        # a pipeline of small messages needs no more than is read ahead
        w.send(query("select sum(x % 7) from long_sequence(300000000)"), *[query(f"select {i}, '{'p' * 3000}'") for i in range(2000)])
        w.until_ready()
        for i in range(2000):
            expect(int(data_rows(w.until_ready())[0][0]), i)


@check
def read_only_accounts(s):
    with Server(preset=s.preset, env={"ALMANAC_PG_READONLY_USER_ENABLED": "true", "ALMANAC_PG_AUTH_CLEARTEXT": "true"}) as small:
        w = Wire(small.pg, "user", "quest")
        expect(w.rows("select 1"), [["1"]])
        expect(w.error(query("create table x (a int)"))["C"], "42501")
        expect(w.kinds(query("begin; set a = 1; rollback")), "CCCZ")
        Wire(small.pg).rows("create table x (a int)")
        for user, password in (("user", "no"), ("nobody", "quest")):
            try:
                Wire(small.pg, user, password)
                raise AssertionError("logged in")
            except PermissionError as e:
                expect(e.args[0]["C"], "28P01")


@check
def named_statement_limit(s):
    with Server(preset=s.preset, env={"ALMANAC_PG_NAMED_STATEMENT_LIMIT": "50"}) as small:
        w = Wire(small.pg)
        for i in range(50):
            expect(w.kinds(parse(f"s{i}", "select 1"), SYNC), "1Z")
        expect(w.error(parse("more", "select 1"), SYNC)["C"], "53400")
        expect(w.kinds(parse("", "select 1"), bind("", ""), execute(), SYNC), "12DCZ", "the unnamed one is beside them")
        w.rows("begin")
        for i in range(50):
            expect(w.kinds(bind(f"p{i}", "s0"), SYNC), "2Z")
        expect(w.kinds(bind("", "s0"), execute(), SYNC), "2DCZ", "the unnamed one is beside them")
        expect(w.error(bind("more", "s0"), SYNC)["C"], "53400")
        w.rows("rollback")
        for i in range(200):  # outside a block they go when there is no more room
            expect(w.kinds(bind(f"q{i}", "s0"), SYNC), "2Z")


@check
def columns_have_a_count_of_16_bits(s):
    w = Wire(s.pg)
    w.rows("create table wide (" + ", ".join(f"c{i} int" for i in range(2000)) + ")")
    w.rows("insert into wide (c0) values (1)")

    def wide(n):
        tables = [f"a{i}" for i in range(n // 2000 + 1)]
        return "select " + ", ".join([f"{t}.*" for t in tables[:-1]] + [f"{tables[-1]}.c{i}" for i in range(n % 2000)]) + " from " + " cross join ".join("wide " + t for t in tables)

    a = w.ask(query(wide(65535)))
    expect((kinds(a), a[0][1][:2], a[1][1][:2], len(data_rows(a)[0])), ("TDCZ", b"\xff\xff", b"\xff\xff", 65535))
    many = wide(65536)
    for what, messages in (("simple", [query(many)]), ("described", [parse("", many), describe("S"), SYNC]), ("bound", [parse("", many), bind(), execute(), SYNC]),
                           ("cursor", [query("declare c cursor with hold for " + many)]), ("prepared", [query("prepare p as " + many)]),
                           ("copy", [query(f"copy ({many}) to stdout")]), ("binary copy: 65535 is its end", [query(f"copy ({wide(65535)}) to stdout (format binary)")])):
        e = w.error(*messages)
        expect((e and e["C"], "at most" in e["M"]), ("54011", True), what)
        expect(w.rows("select 1"), [["1"]], "the connection goes on")


@check
def columns_of_one_name_are_numbered_in_time(s):
    start = time.monotonic()
    a = Wire(s.pg).ask(query("select " + ",".join(["1"] * 20000)))
    expect((kinds(a), b"1_20000\0" in a[0][1]), ("TDCZ", True))
    if not s.sanitized:
        expect(time.monotonic() - start < 5, True, "each is not looked for from 1 on")


if __name__ == "__main__":
    main()
