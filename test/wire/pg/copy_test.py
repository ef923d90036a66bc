#!/usr/bin/env python3
"""COPY on the PostgreSQL wire: messages by hand, psycopg, asyncpg, psql (other drivers: drivers/).

    copy_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import io, signal, socket, struct, subprocess, sys, os, shutil, time, pathlib

from lib.checks import Skip, check, expect, main
from lib.pganswers import kinds, psycopg, tags, with_asyncpg
from lib.pgclient import FLUSH, SYNC, TERMINATE, Wire, bind, describe, execute, msg, parse, query, fields

HEAD = b"PGCOPY\n\xff\r\n\0" + b"\0" * 8
DATA = lambda b: msg(b"d", b)
DONE = msg(b"c")

ALL_TYPES = ("ts timestamp, bo boolean, b byte, sh short, c char, i int, l long, f float, d double, dt date, n timestamp_ns, s string, v varchar, "
             "sy symbol, u uuid, ip ipv4, g geohash(6c), gb geohash(7b), l256 long256, de decimal(18,3), a double[], bi binary")
ALL_ROWS = ("('2024-03-01T09:00:00.123456Z', true, 1, -2, 'ü', 3, 10000000000, 1.5f, 0.1, '2024-03-01T09:00:00.123Z', "
            "'2024-03-01T09:00:00.123456Z'::timestamp_ns, 'tab\there', 'back\\slash \"q\" ,; é', 'sym', '11111111-2222-3333-4444-555555555555', "
            "'1.2.3.4', #u33d8b, ##0101010, 0x1f, 12.345m, ARRAY[1.0, 2.5], null)",
            "('2024-03-01T09:00:01Z', false, 0, 0, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null)",
            "('2024-03-01T09:00:02Z', false, 0, 0, 'x', -1, -1, -1.0f, 1e300, '1970-01-01', 0::timestamp_ns, '', '\\N', '\\.', "
            "'00000000-0000-0000-0000-000000000001', '255.255.255.255', #zzzzzz, ##1111111, 0x0, -0.001m, ARRAY[]::double[], null)")
FORMATS = ("", "(format csv)", "(format csv, header, delimiter ';', quote '''', escape '\\', null 'N')", "(format binary)", "with csv header force quote *",
           "with binary", "(format text, delimiter '|', null '-')", "with delimiter as ',' null as 'NN'")


def wire_in(w, sql, *messages):
    w.send(query(sql))
    kind, body = w.read()
    if kind == "E":
        w.until_ready()
        return fields(body)
    expect(kind, "G", body)
    w.send(*messages)
    return w.until_ready()


def error_of(answer):
    return answer if isinstance(answer, dict) else fields(answer[0][1])


def wire_out(w, sql):
    w.send(query(sql))
    a = w.until_ready()
    expect(a[0][0], "H", a[0])
    return b"".join(b for k, b in a if k == "d"), a


@check
def every_type_in_every_format(s):
    w = Wire(s.pg)
    w.rows(f"create table ct ({ALL_TYPES}) timestamp(ts) partition by day")
    for row in ALL_ROWS:
        e = w.error(query(f"insert into ct values {row}"))
        expect(e, None, row)
    want = w.rows("select * from ct")
    expect(len(want), len(ALL_ROWS))
    for n, how in enumerate(FORMATS):
        data, answer = wire_out(w, f"copy ct to stdout {how}")
        expect(tags(answer), [f"COPY {len(ALL_ROWS)}"], how)
        w.rows(f"create table ct{n} ({ALL_TYPES}) timestamp(ts) partition by day")
        back = how.replace(" force quote *", "")
        expect(tags(wire_in(w, f"copy ct{n} from stdin {back}", DATA(data), DONE)), [f"COPY {len(ALL_ROWS)}"], (how, data))
        expect(w.rows(f"select * from ct{n}"), want, (how, data))


@check
def either_word_means_the_client(s):
    w = Wire(s.pg)
    w.rows("create table either_word (a int)")
    expect(tags(wire_in(w, "copy either_word from stdout", DATA(b"7\n"), DONE)), ["COPY 1"])
    _, a = wire_out(w, "copy either_word to stdin")
    expect([b for k, b in a if k == "d"], [b"7\n"])


@check
def one_message_for_each_row(s):
    w = Wire(s.pg)
    _, a = wire_out(w, "copy (select x, 'a' || x s from long_sequence(3)) to stdout")
    expect([b for k, b in a if k == "d"], [b"1\ta1\n", b"2\ta2\n", b"3\ta3\n"])
    expect(kinds(a), "HdddcCZ")
    _, a = wire_out(w, "copy (select x from long_sequence(2)) to stdout with csv header")
    expect([b for k, b in a if k == "d"], [b"x\n", b"1\n", b"2\n"])
    one = struct.pack("!hiq", 1, 8, 1)
    _, a = wire_out(w, "copy (select x from long_sequence(1)) to stdout binary")
    expect([b for k, b in a if k == "d"], [HEAD + one, b"\xff\xff"])
    _, a = wire_out(w, "copy (select x from long_sequence(1) where x > 5) to stdout binary")
    expect([b for k, b in a if k == "d"], [HEAD + b"\xff\xff"])
    expect(a[0][1], b"\1\0\1\0\1")


@check
def data_in_any_pieces(s):
    w = Wire(s.pg)
    w.rows("create table cp (ts timestamp, s varchar, v double) timestamp(ts) partition by day")
    rows = "2024-01-01\ta\\tb\t1\n2024-01-02\t\\N\t\\N\n2024-01-03\tü\\\nx\t-2.5\n".encode()
    binary = HEAD + b"".join(struct.pack("!hiqi", 3, 8, n, len(t)) + t + struct.pack("!id", 8, n) for n, t in ((1, b"x"), (2, "ü".encode()))) + b"\xff\xff"
    for sql, data, n in (("copy cp from stdin", rows, 3), ("copy cp from stdin binary", binary, 2)):
        want = None
        for cut in range(1, len(data)):
            expect(tags(wire_in(w, sql, DATA(data[:cut]), DATA(data[cut:]), DONE)), [f"COPY {n}"], cut)
            got = w.rows("select * from cp")
            want = want or got
            expect((len(got), got), (n, want), cut)
            w.rows("truncate table cp")
        whole = b"".join(DATA(data[i:i + 1]) for i in range(len(data))) + DONE
        w.send(query(sql))
        expect(w.read()[0], "G")
        for i in range(0, len(whole), 7):
            w.send(whole[i:i + 7])
        expect(tags(w.until_ready()), [f"COPY {n}"])
        w.rows("truncate table cp")


@check
def faults_name_line_and_column_and_change_nothing(s):
    w = Wire(s.pg)
    w.rows("create table cf (ts timestamp, v double, s symbol) timestamp(ts) partition by day")
    good = b"2024-01-01\t1\ta\n"
    for sql, data, code, text in [
            ("copy cf from stdin", good + b"2024-01-01\tx\ta\n", "22P02", 'COPY cf, line 2, column v: "x" is not a value of type DOUBLE'),
            ("copy cf from stdin", good + b"2024-01-01\t\ta\n", "22P02", "column v"),
            ("copy cf from stdin", good + b"2024-01-01\t1\n", "22P04", 'COPY cf, line 2: missing data for column "s"'),
            ("copy cf from stdin", good + b"2024-01-01\t1\ta\tb\n", "22P04", "COPY cf, line 2: extra data after last expected column"),
            ("copy cf from stdin", good + b"\\N\t1\ta\n", None, 'null in the designated timestamp "ts"'),
            ("copy cf from stdin", good + b"\n", "22P04", "missing data"),
            ("copy cf from stdin", good + b"2024-01-01\t1\t\xff\n", "22021", "column s: bytes that are not UTF-8"),
            ("copy cf from stdin csv", b"2024-01-01,1,a\n2024-01-02,1,\"a\n", "22P04", "line 2: unterminated CSV quoted field"),
            ("copy cf from stdin (format csv, header match)", b"ts,v,x\n", "22P04", 'header line field 3: got "x", expected "s"'),
            ("copy cf from stdin binary", b"PGCOPY\n", "22P04", "header"),
            ("copy cf from stdin binary", b"nonsense", "22P04", "signature"),
            ("copy cf from stdin binary", HEAD + b"\0\2", "22P04", "row field count is 2, expected 3"),
            ("copy cf from stdin binary", HEAD + b"\0\3\0\0\0\4abcd\xff\xff\xff\xff\xff\xff\xff\xff", "22P03", "row 1, column ts"),
            ("copy cf from stdin binary", HEAD + b"\0\3\0\0\0\4ab", "22P04", "unexpected EOF")]:
        e = error_of(wire_in(w, sql, DATA(data), DONE))
        expect(text in e["M"], True, (sql, data, e))
        expect(code in (None, e["C"]), True, (sql, data, e))
        expect(w.rows("select count() from cf"), [["0"]], sql)
    for sql, code in [("copy nope from stdin", "42P01"), ("copy cf (ts, x) from stdin", "42703"), ("copy cf (ts, ts) from stdin", "42701"),
                      ("copy cf (v) from stdin", "42703"), ("copy cf from stdin (format x)", "22023"), ("copy cf from stdin (header maybe)", "22023"),
                      ("copy cf from stdin (delimiter 'ab')", "22023"), ("copy cf from stdin (quote 'a')", "22023"), ("copy cf from stdin (delimiter 'a')", "22023"),
                      ("copy cf from stdin (format csv, delimiter '\"')", "22023"), ("copy cf from stdin (format csv, null 'a,b')", "22023"),
                      ("copy cf from stdin (format binary, header)", "22023"), ("copy cf from stdin (encoding 'latin1')", "0A000"),
                      ("copy cf from stdin (format csv, format csv)", "42601"), ("copy cf from stdin (nonsense 1)", "42601"), ("copy cf from stdin (format)", "42601"),
                      ("copy cf from stdin (format csv, force_quote (v))", "22023"), ("copy cf to stdout (format csv, force_quote (x))", "42703"),
                      ("copy cf to stdout (header match)", "22023"), ("copy cf from", "42601"), ("copy cf", "42601"), ("copy", "42601"),
                      ("copy cf from program 'ls'", "0A000"), ("copy cf to stdout where v > 1", "42601"), ("copy (select nope from cf) to stdout", "42703"),
                      ("copy cf to '/tmp/x'", "0A000"), ("copy cf from stdin (timestamp 'ts')", "22023"), ("copy cf from stdin (default 'x')", "0A000"),
                      ("copy cf from stdin (reject_limit 1)", "22023"), ("copy cf from stdin (on_error ignore, reject_limit 0)", "22023"),
                      ("copy cf from stdin (log_verbosity loud)", "22023"), ("copy cf to stdout (on_error ignore)", "22023"), ("copy cf to stdout (freeze)", "22023")]:
        e = error_of(wire_in(w, sql))
        expect((sql, e["C"]), (sql, code), e)
        expect(w.rows("select 1"), [["1"]], sql)


@check
def where_takes_some_of_the_rows(s):
    w = Wire(s.pg)
    w.rows("create table cw (ts timestamp, v double, s symbol, t varchar) timestamp(ts) partition by day")
    rows = b"".join(b"2024-01-%02d\t%d\ts%d\tt\n" % (n % 28 + 1, n, n % 3) for n in range(20000))
    for where, n in (("v < 10", 10), ("s = 's1' and t = 't'", 6667), ("ts in '2024-01-05'", 715), ("s in ('s0', 's2') or v is null", 13333), ("true", 20000),
                     ("v < 0", 0), ("length(s) = 2 and v % 2 = 0", 10000)):
        for data in (rows, b"".join(rows.splitlines(True)[:25])):
            a = wire_in(w, f"copy cw (ts, v, s, t) from stdin where {where}", DATA(data), DONE)
            if data is rows:
                expect(tags(a), [f"COPY {n}"], where)
            expect(w.rows("select count() from cw")[0][0], tags(a)[0][5:], where)
            expect(w.rows(f"select count() from cw where {where}")[0][0], tags(a)[0][5:], where)
            w.rows("truncate table cw")
    a = wire_in(w, "copy cw (ts, v) from stdin (format csv, on_error skip_row) where v > 1", DATA(b"2024-01-01,1\n2024-01-01,x\n2024-01-01,2\n"), DONE)
    expect((tags(a), w.rows("select v, s from cw")), (["COPY 1"], [["2", None]]))
    for sql, code in (("copy cw from stdin where nope = 1", "42703"), ("copy cw from stdin where v", "42804"), ("copy cw from stdin where", "42601"),
                      ("copy cw from stdin where v in (select v from cw)", "0A000"), ("copy cw from stdin where v = (select 1)", "0A000"),
                      ("copy cw from stdin where max(v) > 1", None), ("copy cw from stdin where v > $1", None), ("copy cw from 'x' where v > 1", "0A000")):
        e = error_of(wire_in(w, sql))
        expect(e["C"] in (code, e["C"] if code is None else None), True, (sql, e))
        expect(w.rows("select 1"), [["1"]], sql)


@check
def a_limit_of_skipped_rows(s):
    w = Wire(s.pg)
    w.rows("create table cj (a int)")
    data = b"1\nx\n2\ny\n3\nz\n"
    e = error_of(wire_in(w, "copy cj from stdin (on_error ignore, reject_limit 2)", DATA(data), DONE))
    expect((e["C"], e["M"]), ("22P02", "COPY cj, skipped more than REJECT_LIMIT (2) rows, the last is line 6"))
    expect(w.rows("select count() from cj"), [["0"]])
    expect(tags(wire_in(w, "copy cj from stdin (on_error ignore, reject_limit 3)", DATA(data), DONE)), ["COPY 3"])


@check
def notices_tell_of_rows_left_out(s):
    w = Wire(s.pg)
    w.rows("create table cn (a int)")
    data = b"1\nx\n2\ny\n"
    bad = [f'COPY cn, line {n}, column a: "{v}" is not a value of type INT' for n, v in ((2, "x"), (4, "y"))]
    skipped, nulled = "2 rows were skipped due to data type incompatibility", "in 2 rows, columns were set to null due to data type incompatibility"
    for how, want in (("on_error ignore", [skipped]), ("on_error skip_column", [nulled]), ("on_error ignore, log_verbosity verbose", bad + [skipped]),
                      ("on_error ignore, log_verbosity silent", [])):
        a = wire_in(w, f"copy cn from stdin ({how})", DATA(data), DONE)
        expect([fields(b)["M"] for b in w.notices], want, how)
        expect(kinds(a), "CZ")
    a = wire_in(w, "copy cn from stdin (on_error ignore)", DATA(b"x\n"), DONE)
    said = fields(w.notices[0])
    expect((said["M"], said["S"], said["C"], tags(a)), ("1 row was skipped due to data type incompatibility", "NOTICE", "00000", ["COPY 0"]))
    wire_in(w, "copy cn from stdin (on_error ignore)", DATA(b"1\n"), DONE)
    expect(w.notices, [])


@check
def copyfail_and_other_messages_end_it(s):
    w = Wire(s.pg)
    w.rows("create table ce (a int)")
    e = error_of(wire_in(w, "copy ce from stdin", DATA(b"1\n"), msg(b"f", b"no more\0")))
    expect((e["C"], e["M"]), ("57014", "COPY from stdin failed: no more"))
    a = wire_in(w, "copy ce from stdin", DATA(b"1\n"), FLUSH, SYNC, DATA(b"2\n"), DONE)
    expect((kinds(a), tags(a)), ("CZ", ["COPY 2"]))
    e = error_of(wire_in(w, "copy ce from stdin", DATA(b"1\n"), query("select 1")))
    expect((e["C"], e["M"]), ("08P01", "unexpected message type 0x51 during COPY from stdin"))
    e = error_of(wire_in(w, "copy ce from stdin", DATA(b"x\n" * 1000000), DATA(b"1\n"), DONE))
    expect(e["C"], "22P02")
    expect(w.rows("select count(), sum(a) from ce"), [["2", "3"]])
    a = wire_in(w, "copy ce from stdin; select 7; copy ce to stdout", DATA(b"9\n"), DONE)
    expect((kinds(a), tags(a)), ("CTDCHdddcCZ", ["COPY 1", "SELECT 1", "COPY 3"]))


@check
def in_the_extended_protocol(s):
    w = Wire(s.pg)
    w.rows("create table cx (a int, b varchar)")
    w.send(parse("", "copy cx from stdin"), bind(), describe("P"), execute(), FLUSH)
    seen = [w.read()[0] for _ in range(4)]
    expect("".join(seen), "12nG")
    w.send(DATA(b"1\tx\n"), SYNC, DATA(b"2\ty\n"), DONE, SYNC)
    a = w.until_ready()
    expect((kinds(a), tags(a)), ("CZ", ["COPY 2"]))
    w.send(parse("", "copy cx from stdin"), bind(), execute(), SYNC, DATA(b"x\ty\n"), DONE, DATA(b"z"), parse("", "select 1"), SYNC)
    a = w.until_ready()
    expect((kinds(a), fields(a[3][1])["C"]), ("12GEZ", "22P02"))
    a = w.ask(parse("", "copy cx to stdout csv"), bind(), describe("P"), execute(), SYNC)
    expect((kinds(a), tags(a)), ("12nHddcCZ", ["COPY 2"]))


@check
def transactions(s):
    w = Wire(s.pg)
    w.rows("create table cb (ts timestamp, a int) timestamp(ts) partition by day")
    other = Wire(s.pg)
    count = lambda: other.rows("select count(), sum(a) from cb")
    w.ask(query("begin"))
    expect(tags(wire_in(w, "copy cb from stdin", DATA(b"2024-01-01\t1\n"), DONE)), ["COPY 1"])
    w.ask(query("insert into cb values ('2024-01-02', 2)"))
    expect(tags(wire_in(w, "copy cb from stdin", DATA(b"2024-01-03\t4\n"), DONE)), ["COPY 1"])
    expect(count(), [["0", None]])
    w.ask(query("commit"))
    expect(count(), [["3", "7"]])
    w.ask(query("begin"))
    wire_in(w, "copy cb from stdin", DATA(b"2024-01-01\t8\n"), DONE)
    e = wire_in(w, "copy cb from stdin", DATA(b"2024-01-01\tx\n"), DONE)
    expect((kinds(e), e[-1][1]), ("EZ", b"E"))
    expect(w.error(query("copy cb from stdin"))["C"], "25P02")
    expect(tags(w.ask(query("commit"))), ["ROLLBACK"])
    for end in (msg(b"f", b"stop\0"), SYNC * 0 + query("select 1")):
        w.ask(query("begin"))
        w.ask(query("insert into cb values ('2024-01-02', 16)"))
        wire_in(w, "copy cb from stdin", DATA(b"2024-01-01\t32\n"), end)
        w.ask(query("rollback"))
    w.ask(query("begin"))
    wire_in(w, "copy cb from stdin", DATA(b"2024-01-01\t8\n"), DONE)
    w.ask(query("rollback"))
    expect(count(), [["3", "7"]])


BIG_ROW = b"2024-01-01T00:00:%02d.%06dZ\tsym%d\t%d.25\ta text that is not so very short\n"


def big_rows(n):
    return b"".join(BIG_ROW % (i // 1000000 % 60, i % 1000000, i % 50, i) for i in range(n))


@check
def large_copies_are_loads_in_blocks_too(s):
    w = Wire(s.pg)
    rows = big_rows(200000)
    for block in (False, True):
        w.rows("drop table if exists cl")
        w.rows("create table cl (ts timestamp, s symbol, v double, t varchar) timestamp(ts) partition by day")
        if block:
            w.ask(query("begin"))
            w.ask(query("insert into cl values ('2023-01-01', 'first', 1, null)"))
        a = wire_in(w, "copy cl from stdin", *[DATA(rows[i:i + 300000]) for i in range(0, len(rows), 300000)], DONE)
        expect(tags(a), ["COPY 200000"])
        if block:
            expect(Wire(s.pg).rows("select count() from cl"), [["0"]])
            w.ask(query("commit"))
        expect(Wire(s.pg).rows("select count(), count_distinct(s), sum(v) from cl where s != 'first'"), [["200000", "50", "19999950000"]])
        # the last row is bad: nothing of it stays
        e = wire_in(w, "copy cl from stdin", *[DATA(rows[i:i + 300000]) for i in range(0, len(rows), 300000)], DATA(b"x\n"), DONE)
        expect(error_of(e)["M"].startswith("COPY cl, line 200001: missing data"), True, e)
        expect(w.rows("select count() from cl where s != 'first'"), [["200000"]])


@check
def cancel_and_timeout(s):
    w = Wire(s.pg)
    w.rows("create table cc (a int)")

    def cancel():
        host, port = s.pg.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as c:
            c.sendall(struct.pack("!ii", 16, 80877102) + w.key)
            c.recv(1)
    w.send(query("copy cc from stdin"))
    expect(w.read()[0], "G")
    w.send(DATA(b"1\n"))
    time.sleep(0.1)
    cancel()
    a = w.until_ready()
    expect((kinds(a), fields(a[0][1])["C"]), ("EZ", "57014"))
    w.send(DATA(b"1\n"), DONE)
    expect(w.rows("select count() from cc"), [["0"]])
    w.send(query("copy (select x from long_sequence(1000000000)) to stdout"))
    w.read()
    cancel()
    a = w.until_ready()
    expect(fields(a[-2][1])["C"], "57014")
    w.rows("set statement_timeout = 200")
    w.send(query("copy cc from stdin"))
    w.read()
    w.send(DATA(b"1\n"))
    time.sleep(0.4)
    w.send(DATA(b"1\n"), DONE)
    expect(fields(w.until_ready()[0][1])["C"], "57014")
    w.rows("set statement_timeout = 0")
    expect(w.rows("select count() from cc"), [["0"]])


@check
def a_client_that_goes_away_leaves_nothing(s):
    w = Wire(s.pg)
    w.rows("create table cg (ts timestamp, s symbol, v double, t varchar) timestamp(ts) partition by day")
    rows = big_rows(150000)
    for end in ("close", "terminate"):
        c = Wire(s.pg)
        c.send(query("copy cg from stdin"))
        c.read()
        c.send(DATA(rows))
        if end == "terminate":
            c.send(TERMINATE)
        c.close()
    c = Wire(s.pg)
    c.send(query("copy (select x from long_sequence(100000000)) to stdout"))
    c.read()
    c.close()
    time.sleep(0.3)
    expect(w.rows("select count() from cg"), [["0"]])


@check
def read_only_users_may_read(s):
    w = Wire(s.pg)
    w.rows("create table cro (a int)")
    a = s.rows  # HTTP cannot carry the bytes
    try:
        a("copy cro from stdin")
        raise AssertionError("no error")
    except Exception as e:
        expect("PostgreSQL protocol" in str(e), True, e)


@check
def memory_does_not_grow_with_the_data(s):
    if s.sanitized:
        raise Skip("sanitizers keep what is freed")
    w = Wire(s.pg)
    w.rows("create table cm (ts timestamp, s symbol, v double, t varchar) timestamp(ts) partition by day")
    rows = big_rows(100000)
    rounds = 20 if "--nightly" not in sys.argv else 160
    status = lambda key: int([line for line in open(f"/proc/{s.process.pid}/status") if line.startswith(key)][0].split()[1]) // 1024
    before = status("VmRSS")
    open(f"/proc/{s.process.pid}/clear_refs", "w").write("5")
    w.send(query("copy cm from stdin"))
    w.read()
    for _ in range(rounds):
        w.send(*[DATA(rows[i:i + 65536]) for i in range(0, len(rows), 65536)])
    w.send(DONE)
    expect(tags(w.until_ready()), [f"COPY {rounds * 100000}"])
    grown = status("VmHWM") - before
    expect(grown < 700, True, f"{grown} MiB more for {rounds * len(rows) >> 20} MiB")


# ------------------------------------------------------------------ files of the server
def copied(s, sql, wait=60):
    """[status, message, rows_imported, errors] of the import that the statement starts."""
    id = s.rows(sql)[0][0]
    end = time.monotonic() + wait
    while time.monotonic() < end:
        rows = s.rows(f"select status, message, rows_imported, errors from sys.text_import_log where id = '{id}' and status != 'started'")
        if rows:
            return rows[0]
        time.sleep(0.01)
    raise AssertionError("the import does not end")


def folder(s):
    f = pathlib.Path(s.root) / "import"
    (f / "sub").mkdir(parents=True, exist_ok=True)
    return f


def long_import(s, table):
    """The id of an import of two million rows that has begun."""
    with open(folder(s) / "long.csv", "wb") as out:
        out.write(b"ts,s,v,t\n")
        for _ in range(20):
            out.write(big_rows(100000).replace(b"\t", b","))
    s.exec(f"create table {table} (ts timestamp, s symbol, v double, t varchar) timestamp(ts) partition by day")
    return s.rows(f"copy {table} from 'long.csv' header true")[0][0]


@check
def files_of_the_server(s):
    f = folder(s)
    (f / "sub" / "a.csv").write_text("ts,s,v\n2024-01-01T00:00:00Z,x,1.5\n2024-01-02 00:00:00,y,\n2024-01-03,z,bad\n")
    expect(copied(s, "copy fa from 'sub/a.csv' with header true timestamp 'ts' partition by day"), ["finished", None, 3, 0])
    expect([c["type"] for c in s.exec("select * from fa")["columns"]], ["TIMESTAMP", "VARCHAR", "VARCHAR"])
    expect(s.rows("select designatedTimestamp, partitionBy from tables() where table_name = 'fa'"), [["ts", "DAY"]])
    s.exec("create table fb (ts timestamp, v double, s symbol, n int) timestamp(ts) partition by day")
    expect(copied(s, "copy fb from 'sub/a.csv' (header)"), ["finished", None, 3, 1])
    expect(copied(s, "copy fb from 'sub/a.csv' header on error skip_row"), ["finished", None, 2, 2])
    status, message, imported, _ = copied(s, "copy fb from 'sub/a.csv' header true on error abort")
    expect((status, message, imported), ("failed", 'line 4, column v: "bad" is not a value of type DOUBLE', 0))
    expect(s.rows("select count(), count(v) from fb"), [[5, 2]])
    (f / "b.csv").write_text("01/02/2024;1\n02/02/2024;2\n")
    s.exec("create table fc (ts timestamp, i int) timestamp(ts) partition by month")
    expect(copied(s, "copy fc from 'b.csv' with format 'dd/MM/yyyy' delimiter ';'"), ["finished", None, 2, 0])
    expect(s.rows("select ts from fc"), [["2024-02-01T00:00:00.000000Z"], ["2024-02-02T00:00:00.000000Z"]])
    w = Wire(s.pg)
    a = w.ask(parse("", "copy fc from 'b.csv' with format 'dd/MM/yyyy'"), bind(), describe("P"), execute(), SYNC)
    expect((kinds(a), tags(a)), ("12TDCZ", ["COPY 1"]))


@check
def files_outside_of_the_folder_are_refused(s):
    f = folder(s)
    for name, to in (("out.csv", "/etc/passwd"), ("up.csv", "../conf/server.conf"), ("dir", "/etc")):
        (f / name).unlink(missing_ok=True)
        (f / name).symlink_to(to)
    (f / "good.csv").write_text("a\n1\n")
    (f / "sub" / "in.csv").unlink(missing_ok=True)
    (f / "sub" / "in.csv").symlink_to("../good.csv")
    if not (f / "pipe").exists():
        os.mkfifo(f / "pipe")
    for name in ("out.csv", "up.csv", "dir/passwd", "/etc/passwd", "../conf/server.conf", "sub/../../conf/server.conf", "", "nope.csv", "sub", "pipe"):
        try:
            s.rows(f"copy fo from '{name}'")
            raise AssertionError(f"taken: {name}")
        except AssertionError:
            raise
        except Exception as e:
            expect("cairo.sql.copy.root" in str(e), True, (name, e))
    expect(copied(s, "copy fo from 'sub/in.csv' header true")[0], "finished")
    for sql, code in (("copy 'abc' cancel", "22023"), ("copy nope (a) from 'good.csv'", "42P01"), ("copy nope from 'good.csv' (format text)", "42P01"),
                      ("copy fo (b) from 'good.csv'", "42703"), ("copy fo from 'good.csv' (format csv, force_null (b))", "42703"),
                      ("copy fo from 'good.csv' (format csv, force_quote (a))", "22023"), ("copy fo from 'good.csv' (format text, quote 'x')", "22023"),
                      ("copy fo from 'good.csv' (default 'x')", "0A000")):
        e = Wire(s.pg).error(query(sql))
        expect(e["C"], code, (sql, e))


@check
def files_come_in_every_form_of_copy(s):
    f = folder(s)
    s.exec("create table fm (ts timestamp, v double, s symbol, t varchar) timestamp(ts) partition by day")
    row = "2024-01-01T00:00:00Z"
    binary = HEAD + struct.pack("!hiqid", 4, 8, 757382400000000, 8, 1.5) + struct.pack("!i1si", 1, b"x", -1) + b"\xff\xff"
    for name, data, how, want in [
            ("text", f"{row}\t1.5\tx\t\\N\n", "(format text)", [1.5, "x", None]),
            ("bar", f"\ufeff{row}|-|a\\|b|x\\ny", "(format text, delimiter '|', null '-')", [None, "a|b", "x\ny"]),
            ("names", f"t\tts\nq\t{row}\n", "(format text, header)", [None, None, "q"]),
            ("null", f"{row},1.5,N,\"N\"\n", "(format csv, null 'N')", [1.5, None, "N"]),
            ("force", f't,ts\n"",{row}\n', "(format csv, header, force_null (t))", [None, None, None]),
            ("never", f"{row},1.5,,\n", "(format csv, force_not_null (t))", [1.5, None, ""]),
            ("quote", f"{row};1.5;'a;''b';'x\\'y'\n", "(format csv, delimiter ';', quote '''', escape '\\')", [1.5, "a;b", "x'y"]),
            ("match", f"ts,v,s,t\n{row},1.5,x,y\n", "(header match)", [1.5, "x", "y"]),
            ("binary", binary, "(format binary)", [1.5, "x", None])]:
        (f / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        expect(copied(s, f"copy fm from '{name}' {how}"), ["finished", None, 1, 0], name)
        expect(s.rows("select v, s, t from fm"), [want], name)
        s.exec("truncate table fm")
    (f / "list").write_text(f"x,{row}\n")
    expect(copied(s, "copy fm (t, ts) from 'list'"), ["finished", None, 1, 0])
    (f / "pattern").write_text("01.02.2024|2\n")
    expect(copied(s, "copy fm (ts, v) from 'pattern' (format text, delimiter '|', format 'dd.MM.yyyy')"), ["finished", None, 1, 0])
    expect(s.rows("select ts, v, t from fm"), [["2024-01-01T00:00:00.000000Z", None, "x"], ["2024-02-01T00:00:00.000000Z", 2.0, None]])
    for name, data, how, want in [
            ("wrong", "ts,v,t,s\n", "(header match)", 'header line field 3: got "t", expected "s"'),
            ("less", f"{row}\t1\n", "(format text, on_error abort)", "line 1: missing data for column"),
            ("unknown", f"ts\tnope\n{row}\t1\n", "(format text, header)", "no column 'nope'"),
            ("open", f'{row},1,"x\n', "(format csv, null 'N')", "line 1: unterminated CSV quoted field"),
            ("cut", binary[:-12], "(format binary)", "unexpected EOF"), ("nohead", b"x", "(format binary)", "signature"), ("none", b"", "(format binary)", "signature")]:
        (f / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        status, message, imported, _ = copied(s, f"copy fm from '{name}' {how}")
        expect((status, want in message, imported), ("failed", True, 0), (name, message))
    (f / "empty").write_text("")
    expect(copied(s, "copy fm from 'empty' (format text)"), ["finished", None, 0, 0])
    expect(s.rows("select count() from fm"), [[2]])


@check
def the_list_of_imports_outlives_the_server(s):
    f = folder(s)
    (f / "kept.csv").write_text("a\n1\n")
    (f / "bad.csv").write_text("a\n\"x\n")
    expect(copied(s, "copy fk from 'kept.csv' header true")[0], "finished")
    expect(copied(s, "copy fk from 'bad.csv' header true")[0], "failed")
    log = lambda: s.rows("select * from sys.text_import_log")
    want = log()
    for how in (signal.SIGTERM, signal.SIGKILL):
        s.stop(how)
        s.start()
        expect(log(), want, how)
    if not s.sanitized:  # one that runs when the process ends
        id = long_import(s, "fl")
        s.stop(signal.SIGKILL)
        s.start()
        rows = s.rows(f"select status, message from sys.text_import_log where id = '{id}'")
        expect([r[0] for r in rows] in (["started", "failed"], ["started", "finished"]), True, rows)
        expect(s.rows("select count() from fl") in ([[0]], [[2000000]]), True)
        expect(s.rows(f"copy '{id}' cancel"), [[rows[1][0]]])
    s.stop()
    path = pathlib.Path(s.root) / "imports.json"
    path.write_text("{")
    s.start()
    expect(log(), [])
    expect(copied(s, "copy fk from 'kept.csv' header true")[0], "finished")


@check
def a_file_import_can_be_cancelled(s):
    id = long_import(s, "fx")
    time.sleep(0.05)
    expect(s.rows("select rows_handled is not null from sys.text_import_log where id = '%s'" % id)[0], [True])
    said = s.rows(f"copy '{id}' cancel")
    expect(said in ([["cancelled"]], [["finished"]]), True, said)
    for _ in range(2000):
        rows = s.rows(f"select status from sys.text_import_log where id = '{id}' and status != 'started'")
        if rows:
            break
        time.sleep(0.01)
    expect(s.rows("select count() from fx"), [[2000000 if rows == [["finished"]] else 0]])
    expect(s.rows(f"copy '{id}' cancel"), rows)


@check
def a_kill_leaves_all_or_nothing(s):
    w = Wire(s.pg)
    w.rows("create table ck (ts timestamp, s symbol, v double, t varchar) timestamp(ts) partition by day")
    rows = big_rows(150000)
    w.send(query("copy ck from stdin"))
    w.read()
    w.send(DATA(rows))
    time.sleep(0.3)
    s.stop(signal.SIGKILL)
    s.start()
    w = Wire(s.pg)
    expect(w.rows("select count() from ck"), [["0"]])
    w.ask(query("begin"))
    expect(tags(wire_in(w, "copy ck from stdin", DATA(rows), DONE)), ["COPY 150000"])
    w.ask(query("insert into ck values ('2023-01-01', 'x', 1, null)"))
    expect(tags(w.ask(query("commit"))), ["COMMIT"])
    expect(tags(wire_in(w, "copy ck from stdin", DATA(b"2022-01-01\ty\t1\t\\N\n"), DONE)), ["COPY 1"])
    s.stop(signal.SIGKILL)
    s.start()
    expect(Wire(s.pg).rows("select count(), sum(v) from ck"), [["150002", "11249962502"]])


# ------------------------------------------------------------------ drivers
@check
def psycopg_copies_both_ways(s):
    if psycopg is None:
        raise Skip("psycopg is not installed")
    with psycopg.connect(f"host={s.pg.split(':')[0]} port={s.pg.split(':')[1]} user=admin password=quest dbname=qdb") as c:
        c.execute("create table py (ts timestamp, i int, l long, d double, s varchar, b boolean)")
        c.commit()
        import datetime as dt
        rows = [(dt.datetime(2024, 1, 1, 0, 0, n), n, n << 40, n / 4, f"t\t{n}\n", n % 2 == 0) for n in range(10)] + [(dt.datetime(2025, 1, 1), None, None, None, None, False)]
        with c.cursor() as cur:
            with cur.copy("copy py from stdin") as copy:
                for r in rows:
                    copy.write_row(r)
            c.commit()
            with cur.copy("copy py from stdin (format binary)") as copy:
                copy.set_types(["timestamp", "int4", "int8", "float8", "varchar", "bool"])
                for r in rows:
                    copy.write_row(r)
            c.commit()
            expect(cur.execute("select * from py").fetchall(), rows + rows)
            for how in ("", "(format binary)"):
                with cur.copy(f"copy (select * from py order by ts, i) to stdout {how}") as copy:
                    copy.set_types(["timestamp", "int4", "int8", "float8", "varchar", "bool"])
                    expect(list(copy.rows()), sorted(rows + rows, key=lambda r: r[0]), how)
            with cur.copy("copy py (ts, i) from stdin (format csv, header)") as copy:
                copy.write("ts,i\n2026-01-01,7\n")
            c.commit()
            try:
                with cur.copy("copy py from stdin") as copy:
                    copy.write_row((rows[0]))
                    raise ValueError("of the client")
            except ValueError:
                pass
            c.rollback()
            expect(cur.execute("select count() from py").fetchone(), (23,))


@check
def psycopg2_copies_both_ways(s):
    try:
        import psycopg2
    except ImportError:
        raise Skip("psycopg2 is not installed")
    host, port = s.pg.rsplit(":", 1)
    c = psycopg2.connect(host=host, port=port, user="admin", password="quest", dbname="qdb")
    cur = c.cursor()
    cur.execute("create table p2 (ts timestamp, a int, b varchar) timestamp(ts) partition by day")
    cur.copy_from(io.StringIO("2024-01-01\t1\tx\\ty\n2024-01-02\t\\N\t\\N\n"), "p2", columns=("ts", "a", "b"))
    expect(cur.rowcount, 2)
    cur.copy_expert("copy p2 from stdin with (format csv, header)", io.StringIO('ts,a,b\n2024-01-03,3,"x\ny"\n'))
    c.commit()
    out = io.StringIO()
    cur.copy_to(out, "p2", columns=("a", "b"), sep="|")
    expect(out.getvalue(), "1|x\\ty\n\\N|\\N\n3|x\\ny\n")
    out = io.StringIO()
    cur.copy_expert("copy (select a, b from p2 where a = 3) to stdout csv header", out)
    expect(out.getvalue(), 'a,b\n3,"x\ny"\n')
    try:
        cur.copy_expert("copy p2 from stdin csv", io.StringIO("2024-01-03,x,y\n"))
        raise AssertionError("no error")
    except psycopg2.Error as e:
        expect((e.pgcode, "line 1, column a" in str(e)), ("22P02", True))
    c.rollback()
    cur.execute("select count() from p2")
    expect(cur.fetchone(), (3,))
    c.close()


@check
def asyncpg_copies_both_ways(s):
    async def body(c):
        import datetime as dt
        await c.execute("create table ay (ts timestamp, i int, l long, d double, s varchar, b boolean, u uuid)")
        import uuid
        rows = [(dt.datetime(2024, 1, 1, 0, 0, n), n, n << 40, n / 4, f"ü{n}", n % 2 == 0, uuid.UUID(int=n + 1)) for n in range(10)]
        rows.append((dt.datetime(2025, 1, 1), None, None, None, None, False, None))
        expect(await c.copy_records_to_table("ay", records=rows), "COPY 11")
        expect([tuple(r) for r in await c.fetch("select * from ay")], rows)
        out = io.BytesIO()
        expect(await c.copy_from_query("select i, s from ay where i < $1", 2, output=out, format="csv", header=True), "COPY 2")
        expect(out.getvalue().decode(), "i,s\n0,ü0\n1,ü1\n")
        out = io.BytesIO()
        await c.copy_from_table("ay", output=out, format="binary")
        out.seek(0)
        expect(await c.copy_to_table("ay", source=out, format="binary"), "COPY 11")
        expect(await c.fetchval("select count() from ay"), 22)
        async with c.transaction():
            await c.copy_records_to_table("ay", records=rows[:3])
        expect(await c.fetchval("select count() from ay"), 25)
    with_asyncpg(s, body)


@check
def psql_copies_files(s):
    if shutil.which("psql") is None:
        raise Skip("psql is not installed")
    host, port = s.pg.rsplit(":", 1)
    env = {**os.environ, "PGPASSWORD": "quest", "PGCLIENTENCODING": "UTF8"}
    name = f"/tmp/copy_test_{os.getpid()}.csv"
    with open(name, "w") as f:
        f.write("ts,a,b\n2024-01-01T00:00:00Z,1,\"x, y\"\n2024-01-02,,\n")
    script = f"""create table pc (ts timestamp, a int, b varchar) timestamp(ts) partition by day;
\\copy pc from '{name}' csv header
\\copy (select a, b from pc) to stdout
copy pc from stdin;
2024-01-03\t3\tin line
\\.
copy pc (b, a) to stdout with csv header;
\\copy pc to '{name}' binary
\\copy pc from '{name}' binary
select count() from pc;
"""
    p = subprocess.run(["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port, "-U", "admin", "-d", "qdb"], env=env, input=script,
                       capture_output=True, text=True, timeout=60)
    os.unlink(name)
    expect((p.stdout, p.stderr, p.returncode), ("1\tx, y\n\\N\t\\N\nb,a\n\"x, y\",1\n,\nin line,3\n6\n", "", 0))


if __name__ == "__main__":
    main()
