#!/usr/bin/env python3
"""The line protocol over HTTP and TCP: types, tables made on the fly, conversions to existing columns, errors by line, all or
nothing, and the official Python client, whose rows are read back."""
import argparse, gzip, http.client, json, pathlib, re, socket, struct, sys, threading, time, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from server import Server  # noqa: E402

try:
    import questdb.ingress as official
except ImportError:
    official = None

CHECKS = []


class Skip(Exception):
    pass


def check(f):
    CHECKS.append(f)
    return f


def expect(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def write(s, body, path="/write", headers=None):
    """(status, parsed JSON or None)"""
    c = http.client.HTTPConnection(*s.http.rsplit(":", 1), timeout=60)
    c.request("POST", path, body if isinstance(body, bytes) else body.encode(), headers or {})
    r = c.getresponse()
    text = r.read()
    if text and r.headers["Content-Type"] == "application/json":
        return r.status, json.loads(text)
    return r.status, text or None


def ok(s, body, **more):
    expect(write(s, body, **more), (204, None), body[:100])


def refused(s, body, message, line=1, status=400, **more):
    got, answer = write(s, body, **more)
    expect(got, status, body[:100])
    if message not in answer["message"]:
        raise AssertionError(f"{body[:100]!r}: {answer!r} does not say {message!r}")
    expect(answer["line"], line, body[:100])
    return answer


def columns(s, table):
    return {r[0]: r[1] for r in s.rows(f'select "column", type from table_columns(\'{table}\')')}


# --------------------------------------------------------------------------- http
@check
def makes_tables_and_columns(s):
    ok(s, "made,sy=a d=1.5,l=7i,u=8u,b=t,v=\"x y\",t=1700000000000000t,n=1700000000000000001n,w=0x1fi 1700000000000000000\n"
          "made,sy=b,s2=c d=2 1700000000000001000\n")
    expect(columns(s, "made"), {"sy": "SYMBOL", "d": "DOUBLE", "l": "LONG", "u": "LONG", "b": "BOOLEAN", "v": "VARCHAR", "t": "TIMESTAMP",
                                "n": "TIMESTAMP_NS", "w": "LONG256", "timestamp": "TIMESTAMP", "s2": "SYMBOL"})
    expect(s.rows("select * from made"), [
        ["a", 1.5, 7, 8, True, "x y", "2023-11-14T22:13:20.000000Z", "2023-11-14T22:13:20.000000001Z", "0x1f", None, "2023-11-14T22:13:20.000000Z"],
        ["b", 2.0, None, None, False, None, None, None, "", "c", "2023-11-14T22:13:20.000001Z"]])
    expect(s.rows("select partitionBy, designatedTimestamp from tables() where table_name = 'made'"), [["DAY", "timestamp"]])
    ok(s, "made,sy=c extra=\"new\" 1700000000000002000")
    expect(columns(s, "made")["extra"], "VARCHAR")
    expect(s.rows("select extra from made where extra is not null"), [["new"]])


@check
def nanosecond_tables(s):
    ok(s, "nano v=1 1700000000000000001n")
    expect(columns(s, "nano")["timestamp"], "TIMESTAMP_NS")
    expect(s.rows("select timestamp from nano"), [["2023-11-14T22:13:20.000000001Z"]])


@check
def precisions(s):
    for name, stamp in (("", 1700000000000000000), ("n", 1700000000000000000), ("us", 1700000000000000), ("ms", 1700000000000), ("s", 1700000000), ("m", 28333333), ("h", 472222)):
        ok(s, f"prec,p={name}x v=1 {stamp}", path=f"/api/v2/write?precision={name}")
    expect([r[0][:13] for r in s.rows("select timestamp from prec")], ["2023-11-14T22"] * 7)
    refused(s, "prec v=1 1", "unsupported precision", 0, path="/write?precision=x")
    before = time.time()
    ok(s, "prec,p=now v=1")
    got = s.rows("select cast(timestamp as long) / 1000000 from prec where p = 'now'")[0][0]
    if not before - 2 <= got <= time.time() + 2:
        raise AssertionError(f"the server's clock says {got}")


@check
def field_named_timestamp(s):
    ok(s, "fts a=1,timestamp=1700000000000000t 5")
    expect(s.rows("select timestamp from fts"), [["2023-11-14T22:13:20.000000Z"]])
    refused(s, "fts2 timestamp=\"x\" 5", "cast error from protocol type: STRING to column type: TIMESTAMP")


@check
def conversions(s):
    s.exec("create table conv (b byte, sh short, i int, l long, f float, d double, da date, t timestamp, n timestamp_ns, de decimal(10,2), sy symbol, v varchar, st string, c char,"
           " u uuid, ip ipv4, g geohash(4c), w long256, bo boolean, a double[], ts timestamp) timestamp(ts) partition by day")
    taken = {
        "5i": "b sh i l f d da t n de sy", "1.5": "f d de sy", "t": "bo b sh i l f d sy", "\"x\"": "v st sy c", "\"\"": "v st sy c u ip de g",
        "\"11111111-2222-3333-4444-555555555555\"": "u v", "\"1.2.3.4\"": "ip", "\"u33d8\"": "g", "\"1.25\"": "de", "5t": "t n da sy", "5n": "t n da sy", "5m": "t n da sy",
        "0x1fi": "w sy", "1.25d": "de", "2d": "de"}
    every = "b sh i l f d da t n de sy v st c u ip g w bo a".split()
    for value, names in taken.items():
        for name in every:
            status, _ = write(s, f"conv {name}={value} 1000")
            takes = name in names.split() or (value.startswith('"') and name in ("v", "st", "sy"))
            expect(status, 204 if takes else 400, f"{value} into {name}")
    refused(s, "conv b=300i", "line protocol value: 300 is out bounds of column type: BYTE")
    refused(s, "conv de=1.255d", "value error: converting 1.255 to DECIMAL(10,2) will result in loss of precision")
    refused(s, "conv l=1.5", "table: conv, column: l; cast error from protocol type: FLOAT to column type: LONG")
    refused(s, "conv g=\"zz\"", "'zz' is no GEOHASH(4c)")
    refused(s, "conv c=\"xy\"", "'xy' is no CHAR")
    refused(s, "conv nodec=1.5d", "decimal columns must be created manually")
    s.exec("truncate table conv")
    ok(s, "conv sy=7i,g=\"u33d8\",t=1700000000000000001n,n=5m,d=2i,de=\"1.20\" 0")
    expect(s.rows("select sy, g, t, n, d, de from conv"), [["7", "u33d", "2023-11-14T22:13:20.000000Z", "1970-01-01T00:00:00.005000000Z", 2.0, "1.20"]])


@check
def binary_values(s):
    two = struct.pack("<BBiidd", 10, 2, 1, 2, 1.5, float("nan"))
    body = b"bina d==\x10" + struct.pack("<d", 0.1) + b",a==\x0e" + two + b" 1000\n"
    ok(s, body)
    expect(s.rows("select d, a from bina"), [[0.1, [[1.5, None]]]])
    refused(s, b"bina a==\x0e" + struct.pack("<BBid", 10, 1, 1, 1.0) + b" 1000\n", "cast error from protocol type: DOUBLE[] to column type: DOUBLE[][]")
    refused(s, b"bina a==\x0e" + struct.pack("<BBid", 10, 1, 5, 1.0), "is cut off")
    s.exec("create table bdec (x decimal(10,3), ts timestamp) timestamp(ts) partition by day")
    ok(s, b"bdec x==\x17\x02\x01} 1\nbdec x==\x17\x00\x02\xff\x00 2\nbdec x==\x17\x02\x00 3\n")
    expect(s.rows("select x from bdec order by ts"), [["1.250"], ["-256.000"], [None]])


@check
def all_or_nothing(s):
    ok(s, "aon v=1 1000")
    answer = refused(s, "aon v=2 2000\n\n# note\nother v=1 1\naon v=\"x\" 3000\naon v=4 x\n", "error in line 5", 5)
    expect([e["line"] for e in answer["errors"]], [5, 6])
    if not answer["errorId"] or answer["code"] != "invalid":
        raise AssertionError(answer)
    expect(s.rows("select count() from aon"), [[1]])
    expect(s.rows("select count() from tables() where table_name = 'other'"), [[0]])
    many = "".join(f"aon v=\"{i}\" 1\n" for i in range(50))
    answer = refused(s, many, "and 40 more")
    expect(len(answer["errors"]), 10)
    ok(s, "aon v=5 5000\nother v=1 1\n" * 3)
    expect(s.rows("select count() from aon"), [[4]])


@check
def bad_requests(s):
    for body, message in (("br", "No fields were provided"), ("br,a x=1", "Symbol value is missing: a"), ("br x=abc", "Field: x; value: abc"), ("br x=1 1.5", "Could not parse timestamp: 1.5"),
                          ("br x=1 -5", "before 1970"), ("b*r x=1", "invalid table name"), ("br x-y=1", "invalid column name: x-y"), ("br x=\"a", "is not closed"), (b"br x=\"\xff\" 1", "not UTF-8")):
        refused(s, body, message)
    refused(s, "br x=1 9223372036854775807", "long overflow", path="/write?precision=h")
    refused(s, "br x=1", "gzip", 0, 415, headers={"Content-Encoding": "deflate"})
    refused(s, "br x=1", "not gzip", 0, headers={"Content-Encoding": "gzip"})
    expect(write(s, ""), (204, None))
    expect(write(s, "\n\n"), (204, None))
    c = http.client.HTTPConnection(*s.http.rsplit(":", 1))
    c.request("GET", "/write")
    expect(c.getresponse().status, 405)
    s.exec("create table vb (a int, ts timestamp) timestamp(ts) partition by day")
    s.exec("create view vv as (select * from vb)")
    refused(s, "vv a=1i", "cannot modify view")


@check
def bodies(s):
    rows = "".join(f"bod,s=k{i % 10} v={i} {i * 1000}\n" for i in range(50000))
    ok(s, gzip.compress(rows.encode()), headers={"Content-Encoding": "gzip"})
    expect(s.rows("select count(), sum(v), count_distinct(s) from bod"), [[50000, 1249975000.0, 10]])
    c = http.client.HTTPConnection(*s.http.rsplit(":", 1))
    c.request("POST", "/write", iter([rows[:1000].encode(), rows[1000:].encode()]), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
    expect(c.getresponse().status, 204)
    form = b"--x\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\nbod,s=form v=1 1\n\r\n--x--\r\n"
    expect(write(s, form, headers={"Content-Type": "multipart/form-data; boundary=x"})[0], 204)
    expect(s.rows("select count() from bod"), [[100001]])


@check
def wide_tables(s):
    names = [f"c{i}" for i in range(2000)]
    ok(s, "wide " + ",".join(f"{n}={i}i" for i, n in enumerate(names)) + " 1000\nwide " + ",".join(f"{n}={i}i" for i, n in reversed(list(enumerate(names)))) + " 2000\n")
    expect(s.rows("select c0, c999, c1999 from wide"), [[0, 999, 1999]] * 2)
    ok(s, "wide C5=7i,c5=8i,c6=1i 3000")
    expect(s.rows("select c5, c6, c7 from wide limit -1"), [[7, 1, None]])


@check
def many_writers_and_readers(s):
    """A row that was acknowledged is there for the next query, whoever asks; writers make the same columns at once."""
    wrong = []

    def run(k):
        for i in range(40):
            if write(s, f"mw,w=w{k} v{i % 5}={i}i {i * 8 + k}000\n")[0] != 204:
                wrong.append("refused")
            if s.rows(f"select count() from mw where w = 'w{k}'")[0][0] != i + 1:
                wrong.append(f"writer {k} misses row {i}")

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    expect(wrong, [])
    expect(s.rows("select count() from mw"), [[320]])


# ---------------------------------------------------------------------------- tcp
def line_socket(s):
    host, port = s.line.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def wait_rows(s, table, n):
    end = time.monotonic() + 20
    got = None
    while time.monotonic() < end:
        try:
            got = s.rows(f"select count() from {table}")[0][0]
        except RuntimeError:
            got = None
        if got == n:
            return
        time.sleep(0.02)
    raise AssertionError(f"{table}: {got} rows, want {n}")


@check
def tcp_lines(s):
    with line_socket(s) as c:
        c.sendall(b"tcp,s=a v=1 1000\ntcp,s=b v=2 20")
        wait_rows(s, "tcp", 1)
        c.sendall(b"00\n")
        wait_rows(s, "tcp", 2)
    rows = b"".join(b"tcpbig,s=k%d v=%d %d\n" % (i % 7, i, i * 1000) for i in range(200000))
    with line_socket(s) as c:
        c.sendall(rows)  # and closed at once: what was sent is stored
    wait_rows(s, "tcpbig", 200000)
    expect(s.rows("select sum(v) from tcpbig"), [[19999900000.0]])


@check
def tcp_errors(s):
    with line_socket(s) as c:
        c.sendall(b"tcperr v=1 1000\ntcperr v=\"x\" 2000\ntcperr v=3 3000\n")
        text = b""
        while True:
            more = c.recv(1000)
            if not more:
                break
            text += more
    if b"cast error from protocol type: STRING" not in text:
        raise AssertionError(text)
    wait_rows(s, "tcperr", 1)


# ------------------------------------------------------------------------ clients
@check
def official_python_client(s):
    if official is None:
        raise Skip("questdb is not installed")
    import datetime
    import numpy
    when = datetime.datetime(2024, 3, 1, 9, tzinfo=datetime.timezone.utc)
    for version in (None, 1, 2, 3):
        table = f"cli{version}"
        more = "" if version is None else f"protocol_version={version};"
        with official.Sender.from_conf(f"http::addr={s.http};{more}") as sender:
            columns_ = {"price": 2615.54, "n": 7, "ok": True, "note": "h\u00e9 \"q\" \\ , =", "at": when}
            if version in (None, 2, 3):
                columns_["book"] = numpy.array([[1.0, 2.0], [3.0, 4.0]])
            for i in range(3):
                sender.row(table, symbols={"symbol": "ETH USD", "side": "a,b=c"}, columns=columns_, at=when + datetime.timedelta(seconds=i))
            sender.flush()
            want = ["ETH USD", "a,b=c", 2615.54, 7, True, "h\u00e9 \"q\" \\ , ="]
            expect(s.rows(f"select symbol, side, price, n, ok, note from {table}"), [want] * 3, table)
            expect(s.rows(f"select cast(at as timestamp) from {table} limit 1"), [["2024-03-01T09:00:00.000000Z"]], table)
            if "book" in columns_:
                expect(s.rows(f"select book from {table} limit 1"), [[[[1.0, 2.0], [3.0, 4.0]]]], table)
    with official.Sender.from_conf(f"tcp::addr={s.line};") as sender:
        sender.row("clitcp", symbols={"s": "x"}, columns={"v": 1.5}, at=when)
        sender.flush()
    wait_rows(s, "clitcp", 1)
    try:
        with official.Sender.from_conf(f"http::addr={s.http};") as sender:
            sender.row("cliNone", columns={"price": "text"}, at=when)
            sender.flush()
        raise AssertionError("a bad row was taken")
    except official.IngressError as e:
        if "cast error" not in str(e):
            raise


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--preset", default="release")
    ap.add_argument("names", nargs="*")
    o = ap.parse_args()
    passed = failed = 0
    with Server(preset=o.preset) as s:
        for f in CHECKS:
            if o.names and f.__name__ not in o.names:
                continue
            try:
                f(s)
                passed += 1
            except Skip as e:
                print(f"{f.__name__}: skipped: {e}")
            except Exception as e:  # noqa: BLE001
                failed += 1
                print(f"{f.__name__}: {type(e).__name__}: {str(e)[:600]}", flush=True)
        counts = {t: s.rows(f"select count() from {t}") for t in ("made", "bod", "wide", "mw", "tcpbig") if not o.names}
        s.kill()
        s.start()
        for table, want in counts.items():  # acknowledged rows survive a kill
            got = s.rows(f"select count() from {table}")
            passed, failed = passed + (got == want), failed + (got != want)
            if got != want:
                print(f"after a kill: {table}: {got}, want {want}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
