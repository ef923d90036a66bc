#!/usr/bin/env python3
"""Clients that send what nobody should: random bytes, forms that are cut off, lengths that lie, packed bodies that swell, lines
and messages without end, times outside of the calendar; that send a byte now and then, or go away in the middle.

Each ends with a clear error of its own, or none where nobody listens; the rows of others are there, memory and descriptors are
what they were, and nothing of a request is half there.

    hostile_test.py [--nightly] [NAME...]
"""
import gzip, http.client, json, os, pathlib, random, socket, struct, sys, threading, time, zlib

from lib.checks import CHECKS, Suite, check, ensure
from lib.pgclient import Wire, Closed, bind, execute, msg, parse, query, startup, SYNC
from lib.server import Server

NIGHTLY = "--nightly" in sys.argv
MB = 1 << 20


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def connect(where, timeout=60):
    return socket.create_connection(address(where), timeout=timeout)


def post(s, path, body, headers=None):
    """(status, body)"""
    c = http.client.HTTPConnection(*address(s.http), timeout=120)
    c.request("POST", path, body, headers or {})
    r = c.getresponse()
    return r.status, r.read()


def everything(c, seconds=60):
    """Bytes until the other side closes."""
    c.settimeout(seconds)
    out = b""
    try:
        while True:
            more = c.recv(1 << 16)
            if not more:
                return out
            out += more
    except ConnectionError:
        return out


def raw(where, *pieces, half_close=True):
    """Sends bytes as they are, as far as they are taken; what came back."""
    with connect(where) as c:
        try:
            for p in pieces:
                c.sendall(p)
            if half_close:
                c.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return everything(c)


def reset(c):
    """Ends a connection as a machine that lost its power would: no FIN, a reset."""
    time.sleep(random.choice([0, 0.001, 0.01]))
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()


def descriptors(s):
    return len(os.listdir(f"/proc/{s.process.pid}/fd"))


def threads(s):
    """Without those of the allocator, which come and go by themselves."""
    found = 0
    for task in pathlib.Path(f"/proc/{s.process.pid}/task").iterdir():
        try:
            found += not (task / "comm").read_text().startswith("jemalloc")
        except OSError:  # it ended meanwhile
            pass
    return found


def processor_seconds(s):
    fields = pathlib.Path(f"/proc/{s.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_bytes(s):
    return int(pathlib.Path(f"/proc/{s.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def forget_peak(s):
    pathlib.Path(f"/proc/{s.process.pid}/clear_refs").write_text("5")


def soon(f, what, seconds=20):
    end = time.monotonic() + seconds
    while not f():
        ensure(time.monotonic() < end, what() if callable(what) else what)
        time.sleep(0.05)


def tables(s):
    return {r[0] for r in s.rows("select table_name from tables()", limit="0,100000")}


class Form:
    """multipart/form-data by hand"""

    def __init__(self, content, name=b"data"):
        self.headers = {"Content-Type": "multipart/form-data; boundary=BB"}
        self.head = b'--BB\r\nContent-Disposition: form-data; name="%s"; filename="f"\r\n\r\n' % name
        self.body = self.head + content + b"\r\n--BB--\r\n"


# ------------------------------------------------------------------------------------------------------ garbage
def random_bytes(rnd, n):
    return bytes(rnd.getrandbits(8) for _ in range(n))


def nearly_lines(rnd):
    """Lines with some bytes changed, binary values among them."""
    line = bytearray(b'hostile,s=a v=1.5,n=7i,t="x y",b=t,w=0x1fi,d==\x10' + struct.pack("<d", 2.5) + b",a==\x0e\x0a\x01\x02\x00\x00\x00" + struct.pack("<dd", 1, 2) + b",k==\x17\x02\x01} 1700000000000000000\n")
    for _ in range(rnd.randrange(1, 6)):
        at = rnd.randrange(len(line))
        what = rnd.randrange(4)
        if what == 0:
            line[at] = rnd.getrandbits(8)
        elif what == 1:
            del line[at:at + rnd.randrange(1, 9)]
        elif what == 2:
            line[at:at] = random_bytes(rnd, rnd.randrange(1, 9))
        else:
            del line[at:]
        if not line:
            return b"\n"
    return bytes(line)


@check
def random_bytes_on_every_port(s):
    rnd = random.Random(1)
    before = tables(s)
    for i in range(400 if NIGHTLY else 60):
        noise = random_bytes(rnd, rnd.choice([1, 5, 70, 4000, 70000]))
        for where in (s.http, s.pg, s.line, s.health):
            raw(where, noise)
        raw(s.http, b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(noise), noise)
        raw(s.http, b"POST /imp?name=noise HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=BB\r\nContent-Length: %d\r\n\r\n" % len(noise), noise)
        raw(s.http, b"POST /imp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", noise)
        raw(s.http, b"GET /" + noise.replace(b"\n", b"") + b" HTTP/1.1\r\n\r\n")
    ensure(tables(s) - before <= {"noise"}, f"tables {tables(s) - before}")


@check
def messages_of_pg_with_random_bodies(s):
    rnd = random.Random(2)
    for i in range(600 if NIGHTLY else 100):
        w = Wire(s.pg)
        try:
            for _ in range(5):
                w.send(msg(bytes([rnd.choice(b"QPBEDSCHFdcfpX?\0\xff")]), random_bytes(rnd, rnd.choice([0, 1, 4, 20, 300]))))
            w.send(SYNC)
            w.s.shutdown(socket.SHUT_WR)
            everything(w.s)
        except OSError:
            pass
        w.s.close()


@check
def lines_that_are_nearly_right(s):
    rnd = random.Random(3)
    s.exec("create table hostile (timestamp timestamp, v double) timestamp(timestamp) partition by day")
    good = b"hostile v=1 1000\n"
    for i in range(4000 if NIGHTLY else 600):
        line = nearly_lines(rnd)
        status, body = post(s, "/write", good + line + good)
        ensure(status in (204, 400), f"{line!r}: {status} {body[:300]!r}")
        if status == 400:
            answer = json.loads(body)
            ensure(answer["line"] >= 1 and answer["message"], f"{line!r}: {answer}")
        if i % 8 == 0:
            raw(s.line, line)
    ensure(s.rows("select count() from hostile where v is null and timestamp is null") == [[0]], "rows without a time")


@check
def ten_thousand_bad_lines_get_a_short_report(s):
    body = b"hostile2 v=1x 1\n" * 10000
    forget_peak(s)
    status, answer = post(s, "/write", body)
    ensure(status == 400 and len(answer) < 8000, f"{status}, {len(answer)} bytes")
    ensure("9990 more" in json.loads(answer)["message"], answer[:2000])
    csv = b"n,ts\r\n" + b"x,2024-01-01T00:00:00Z\r\n" * 10000
    s.exec("create table hostile3 (n int, ts timestamp) timestamp(ts) partition by day")
    form = Form(csv)
    for atomicity in ("abort", "skipRow", "skipCol"):
        status, answer = post(s, f"/imp?name=hostile3&fmt=json&forceHeader=true&atomicity={atomicity}", form.body, form.headers)
        ensure(len(answer) < 20000, f"{atomicity}: {len(answer)} bytes")
        json.loads(answer)


@check
def packed_bodies(s):
    """Not gzip, cut off, with a wrong sum, and one that swells a thousand times: bounded by what a request may have."""
    rows = gzip.compress(b"packed v=1 1000\n" * 1000)
    broken = bytearray(rows)
    broken[-6] ^= 1
    for body in (rows[:-10], rows[:20], bytes(broken), b"\x1f\x8b", b"", zlib.compress(b"packed v=1 1\n"), rows + b"more"):
        status, answer = post(s, "/write", body, {"Content-Encoding": "gzip"})
        ensure(status in (204, 400) and (status == 400 or body == b""), f"{body[:20]!r}: {status} {answer[:200]!r}")
    ensure("packed" not in tables(s), "rows of a broken body")


@check
def a_packed_body_that_swells(_):
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(b"\n" * MB) for _ in range(512)) + bomb.flush()
    with Server(env={"ALMANAC_LINE_HTTP_MAX_RECV_BUFFER_SIZE": "64m"}) as s:
        s.exec("select 1")
        forget_peak(s)
        before = peak_bytes(s)
        status, answer = post(s, "/write", packed, {"Content-Encoding": "gzip"})
        ensure(status == 413 and b"line.http.max.recv.buffer.size" in answer, f"{status} {answer[:300]!r}")
        ensure(peak_bytes(s) - before < 240 * MB, f"{(peak_bytes(s) - before) / MB:.0f} MB")
        bombs = threading.Thread(target=lambda: [post(s, "/write", packed, {"Content-Encoding": "gzip"}) for _ in range(2)])
        bombs.start()
        while bombs.is_alive():
            start = time.monotonic()
            s.rows("select 1")
            ensure(time.monotonic() - start < 2, "others wait for a packed body")
            time.sleep(0.05)


# ------------------------------------------------------------------------------------------------------ times
PAST, FUTURE, EMPTY, LINE = "before 0001-01-01", "beyond 9999-12-31", "cannot be NULL", "before 1970-01-01"
NUMBERS = [  # microseconds, why SQL, COPY and files refuse them, why lines do; None: taken
    (0, None, None), (-1, None, LINE), (-62135596800000000, None, LINE), (-62135596800000001, PAST, LINE), (253402300799999999, None, None), (253402300800000000, FUTURE, FUTURE),
    (2**63 - 1, FUTURE, FUTURE), (-2**63 + 1, PAST, LINE),
]
TEXTS = [("0001-01-01T00:00:00Z", True), ("1969-12-31T23:59:59.999999Z", True), ("9999-12-31T23:59:59.999999Z", True), ("10000-01-01T00:00:00Z", False), ("-0001-01-01T00:00:00Z", False), ("0000-12-31T00:00:00Z", False)]
STAMPS = [  # precision, time of a line, part of the answer; None: taken
    ("n", 2**63 - 1, None), ("us", 2**63 - 1, FUTURE), ("ms", 2**63 - 1, "long overflow"), ("s", 2**63 - 1, "long overflow"), ("m", 2**63 - 1, "long overflow"), ("h", 2**63 - 1, "long overflow"), ("s", 253402300799, None),
    ("s", 253402300800, FUTURE), ("us", 1700000000000000000, FUTURE), ("ms", 1700000000000000, FUTURE), ("n", 2**63, "Could not parse timestamp"), ("n", -1, LINE),
]


@check
def times_outside_of_the_calendar(s):
    """A time in the wrong unit is refused by every door, in whose words it can; what is taken can be exported and imported."""
    s.exec("create table times (n long, ts timestamp) timestamp(ts) partition by year")
    taken = 0

    def door(what, got, why):
        nonlocal taken
        ensure((got is None) == (why is None) and (why is None or why in got), f"{what}: {got}, want {why}")
        taken += why is None

    def sql(text):
        answer = json.loads(s.get("/exec", query=text)[2])
        return answer.get("error")

    def imported(value):
        answer = post(s, "/imp?name=times&fmt=json&atomicity=abort&forceHeader=true", Form(b"n,ts\r\n1,%s\r\n" % value).body, Form(b"").headers)[1]
        return None if b'"rowsImported":1' in answer else answer.decode()

    def copied(value):
        w = Wire(s.pg)
        w.send(query("copy times from stdin with (format csv)"))
        w.read()
        error = w.error(msg(b"d", b"1,%s\n" % value), msg(b"c"))
        return error and error["M"]

    def line(precision, stamp):
        status, answer = post(s, f"/write?precision={precision}", f"times n=1i {stamp}\n".encode())
        return None if status == 204 else answer.decode()

    for us, why, why_line in NUMBERS:
        door(f"INSERT {us}", sql(f"insert into times values (1, {us})"), why)
        door(f"INSERT SELECT {us}", sql(f"insert into times select 1, ({us})::timestamp"), why)
        door(f"/imp {us}", imported(b"%d" % us), why)
        door(f"COPY {us}", copied(b"%d" % us), why)
        w = Wire(s.pg)
        if abs(us) < 2**62:
            error = w.error(parse("", "insert into times values (1, $1)", [1114]), bind(values=[struct.pack("!q", us - 946684800000000)], formats=[1]), execute(), SYNC)
            door(f"PG {us}", error and error["M"], why)
        door(f"line {us}", line("us", us), why_line)
    for text, good in TEXTS:
        for what, got in (("INSERT", sql(f"insert into times values (1, '{text}')")), ("/imp", imported(text.encode())), ("COPY", copied(text.encode()))):
            ensure((got is None) == good and (good or text in got), f"{what} {text}: {got}")
            taken += good
    for precision, stamp, why in STAMPS:
        door(f"line {precision} {stamp}", line(precision, stamp), why)
    ensure("0000" not in str(sql("create table times_as as (select 253402300800000000::timestamp ts) timestamp(ts) partition by year")) and "times_as" not in tables(s), "CREATE TABLE AS")
    ensure(s.rows("select count() from times") == [[taken]], f"{s.rows('select count() from times')} rows, {taken} were taken")
    exported = s.get("/exp", query="select * from times")[2]
    s.exec("create table times_again (n long, ts timestamp) timestamp(ts) partition by year")
    answer = post(s, "/imp?name=times_again&fmt=json&atomicity=abort&forceHeader=true", Form(exported).body, Form(b"").headers)[1]
    ensure(b'"rowsImported":%d' % taken in answer, answer[:300])


# ------------------------------------------------------------------------------------------------------ tables by strangers
@check
def wide_and_many_tables_by_lines(s):
    """4,096 columns, 127 bytes of a name, and a thousand tables that nobody asked for."""
    status, answer = post(s, "/write", b"wide_line " + b",".join(b"c%d=%di" % (i, i) for i in range(4097)) + b" 1\n")
    ensure(status == 400 and b"4096" in answer.replace(b",", b""), f"{status} {answer[:300]!r}")
    status, answer = post(s, "/write", b"wide_line " + b",".join(b"c%d=%di" % (i, i) for i in range(4095)) + b" 1\n")
    ensure(status == 204, f"{status} {answer[:300]!r}")
    status, answer = post(s, "/write", b"wide_line one_more=1i 2\n")
    ensure(status == 400 and b"4096" in answer.replace(b",", b""), f"{status} {answer[:300]!r}")
    for body in (b"x" * 128 + b" v=1 1\n", b"t " + b"x" * 128 + b"=1 1\n"):
        status, answer = post(s, "/write", body)
        ensure(status == 400 and b"invalid" in answer, f"{status} {answer[:300]!r}")
    disk = lambda: sum(p.stat().st_blocks * 512 for p in (s.root / "db").rglob("*") if p.is_file() and "/wal/" not in str(p))
    before, memory, files = disk(), s.resident_bytes()[0], descriptors(s)
    for i in range(0, 1000, 100):
        status, answer = post(s, "/write", b"".join(b"stranger_%d v=1 1\n" % (i + j) for j in range(100)))
        ensure(status == 204, f"{status} {answer[:300]!r}")
    ensure(disk() - before < 1000 * 64 * 1024, f"{(disk() - before) >> 20} MB of disk for 1000 tables")
    ensure(s.resident_bytes()[0] - memory < 100 * MB, f"{(s.resident_bytes()[0] - memory) >> 20} MB of memory for 1000 tables")
    ensure(descriptors(s) <= files + 2, "descriptors")


# ------------------------------------------------------------------------------------------------------ lengths that lie
HEADS = [  # request, part of the answer
    (b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", b" 400 "), (b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b" 400 "), (b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", b" 400 "),
    (b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b" 400 "), (b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\nx", b" 413 "), (b"POST /exec HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\nx", b" 413 "),
    (b"POST /imp?name=x HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=BB\r\nContent-Length: 1000000000000\r\n\r\nx", b" 413 "), (b"POST /write HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", b" 400 "),
    (b"POST /write HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", b" 400 "), (b"POST /write HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloworld\r\n", b" 400 "), (b"POST /write HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nx", None),
    (b"POST /write HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", b" 50"), (b"POST /write HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nlie v", None), (b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nlie v=1 1\n", None),
    (b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 100000 + b"\r\n\r\n", b" 431 "), (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b" 414 "), (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 5000 + b"\r\n", b" 431 "), (b"GET / HTTP/9.9\r\n\r\n", b" 505 "),
]


@check
def lengths_that_lie_over_http(s):
    for request, want in HEADS:
        got = raw(s.http, request)
        ensure(want is None or want in got[:20], f"{request[:90]!r}: {got[:200]!r}")
    ensure("lie" not in tables(s), "rows of a request that was cut off")


@check
def lengths_that_lie_over_pg(s):
    for length in (0, 3, 70 * MB, 0x7fffffff, 0x80000000, 0xffffffff):
        forget_peak(s)
        before = peak_bytes(s)
        w = Wire(s.pg)
        w.send(b"Q" + struct.pack("!I", length))
        answer = everything(w.s)
        ensure(b"08P01" in answer or (b"54000" in answer and b"pg.message.bytes.max" in answer), f"{length}: {answer!r}")
        ensure(peak_bytes(s) - before < 16 * MB, f"{length}: {(peak_bytes(s) - before) >> 20} MB")
    for head in (struct.pack("!II", 0x7fffffff, 196608), struct.pack("!II", 4, 196608), struct.pack("!II", 9, 196608) + b"u"):
        raw(s.pg, head)
    w = Wire(s.pg)  # values of parameters whose lengths lie
    for n in (-2, 1000, 0x7fffffff):
        w.send(parse("", "select $1", [25]), msg(b"B", b"\0\0" + struct.pack("!HHi", 0, 1, n) + b"x" + struct.pack("!H", 0)), SYNC)
        kinds = []
        while True:
            kind, body = w.read()
            kinds.append(kind)
            if kind == "E":
                ensure(b"C08P01" in body, f"{n}: {body!r}")
            if kind == "Z":
                break
        ensure("E" in kinds, f"{n}: {kinds}")
    ensure(w.error(query("select 1")) is None, "the connection does not go on")


# ------------------------------------------------------------------------------------------------------ without end
BLOCK = b"x" * MB


def endless(c, count, first=b"", block=BLOCK):
    """Sends 100 MB while it is taken; whether all were."""
    try:
        c.sendall(first)
        for _ in range(count):
            c.sendall(block)
        return True
    except OSError:
        return False


def at_rest(s):
    """Until what others used is given back: memory that is kept for a while hides what an action takes."""
    seen = []
    while len(seen) < 6 or seen[-1] != seen[-6]:
        seen.append(s.resident_bytes()[1] >> 20)
        time.sleep(0.15)


def bounded(s, what, megabytes, action):
    at_rest(s)
    forget_peak(s)
    before = peak_bytes(s)
    got = action()
    grown = (peak_bytes(s) - before) / MB
    ensure(grown < megabytes, f"{what}: memory grew by {grown:.0f} MB")
    return got


@check
def lines_of_100_mb(s):
    def over_tcp(end):
        with connect(s.line) as c:
            endless(c, 100, b"endless v=")
            try:
                c.sendall(end)
                c.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            return everything(c)

    for end in (b"", b" 1\n"):
        answer = bounded(s, "a line over TCP", 64, lambda: over_tcp(end))
        ensure(b"line.tcp.max.measurement.size" in answer, f"TCP: {answer!r}")
        for kind, value in (("number", b"1" * (100 * MB)), ("text", b'"' + b"x" * (100 * MB) + b'"')):
            body = b"endless v=" + value + end
            status, answer = bounded(s, f"a {kind} over HTTP", 1000, lambda: post(s, "/write", body))
            ensure(status in (400, 413) or (status == 204 and kind == "text"), f"{kind}: {status} {answer[:300]!r}")
            ensure(len(answer) < 4000, f"{kind}: an answer of {len(answer)} bytes")
        s.exec("drop table if exists endless")


@check
def values_and_statements_of_100_mb(s):
    s.exec("create table big (v varchar, ts timestamp) timestamp(ts) partition by day")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    text = b"insert into big values ('" + b"x" * (100 * MB) + b"', 0)"
    status, answer = bounded(s, "/exec", 16, lambda: post(s, "/exec", b"query=" + text, form))
    ensure(status == 413 and b"sql.text.max" in answer, f"{status} {answer[:300]!r}")
    status, answer = bounded(s, "/exec", 16, lambda: post(s, "/exec", b'{"query":"' + text + b'"}', {"Content-Type": "application/json"}))
    ensure(status == 413 and b"sql.text.max" in answer, f"{status} {answer[:300]!r}")
    # of no announced length: it is taken up to its limit of 48 MB, in a buffer that is made anew as it grows, and no further
    pieces = (text[i:i + MB] for i in range(0, len(text), MB))
    status, answer = bounded(s, "/exec", 240, lambda: post(s, "/exec", pieces, form))
    ensure(status == 413 and b"sql.text.max" in answer, f"{status} {answer[:300]!r}")
    short = text[:10 * MB] + text[-5:]
    status, answer = bounded(s, "/exec", 100, lambda: post(s, "/exec", b"query=" + short, form))
    ensure(status == 200, f"{status} {answer[:300]!r}")

    def over_pg():
        w = Wire(s.pg)
        endless(w.s, 100, b"Q" + struct.pack("!I", 100 * MB + 5))
        return everything(w.s)

    ensure(b"pg.message.bytes.max" in bounded(s, "PG", 64, over_pg), "PG does not say why")
    w = Wire(s.pg)
    value = b"x" * (60 * MB)
    w.send(parse("", "insert into big values ($1, 1)", [25]), bind(values=[value]), execute(), SYNC)
    seen = []
    while not seen or seen[-1] != "Z":
        seen.append(w.read()[0])
    ensure("E" not in seen, "a value of 60 MB over PG")
    ensure(s.rows("select length(v) from big") == [[len(short) - 30], [60 * MB]], "the values of 10 and 60 MB")
    s.exec("drop table big")


@check
def records_of_100_mb(s):
    s.exec("create table record (v varchar, ts timestamp) timestamp(ts) partition by day")
    form = Form(b"")
    for quoted in (b"", b'"'):
        content = b"v,ts\r\n" + quoted + b"x" * (100 * MB) + quoted + b",2024-01-01T00:00:00Z\r\n"
        body = form.head + content + b"\r\n--BB--\r\n"
        status, answer = bounded(s, "/imp", 320, lambda: post(s, "/imp?name=record&fmt=json&forceHeader=true&atomicity=abort", body, form.headers))
        ensure(b"copy.record.bytes.max" in answer and b"line 2" in answer, f"/imp: {status} {answer[:300]!r}")

        def copy():
            w = Wire(s.pg)
            w.send(query("copy record from stdin with (format csv)"))
            w.read()
            w.send(msg(b"d", quoted))
            endless(w.s, 100, b"", msg(b"d", BLOCK))
            return w.error(msg(b"c"))

        error = bounded(s, "COPY", 320, copy)
        ensure("copy.record.bytes.max" in error["M"], f"COPY: {error}")
        pathlib.Path(s.root / "import").mkdir(exist_ok=True)
        pathlib.Path(s.root / "import" / "record.csv").write_bytes(content)
        try:
            bounded(s, "COPY FROM a file", 320, lambda: s.exec("copy record from 'record.csv' with header true"))
        except RuntimeError as e:
            ensure("copy.record.bytes.max" in str(e), str(e))
    ensure(s.rows("select count() from record") == [[0]], "a row of a record that was refused")


# ------------------------------------------------------------------------------------------------------ slowly, or not at all
def quiet_server(**more):
    return Server(env={"ALMANAC_HTTP_NET_CONNECTION_TIMEOUT": "1500ms", "ALMANAC_PG_NET_CONNECTION_TIMEOUT": "1500ms", **more})


SLOW = [  # port, bytes at once, then one at a time
    ("http", b"GET /exec?query=select+1 HT", b"T" * 1000), ("http", b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n", b"X-A: b\r\n" * 100), ("http", b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nslow v=1 1\n", b""),
    ("http", b"POST /imp?name=slow HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=BB\r\nContent-Length: 100000\r\n\r\n--BB", b""), ("http", b"", b""), ("pg", b"", b""), ("pg", b"\0\0\1", b"\0" * 1000), ("pg", startup([("user", "admin")]), b""),
    ("health", b"GET / HTT", b"P" * 1000),
]


@check
def slow_clients_hold_a_place_and_no_thread(_):
    """What stands still ends after the time of the connection; what trickles in, without ever becoming a request, too."""
    with quiet_server() as s:
        s.exec("select 1")
        files, work = descriptors(s), threads(s)
        cs = [(connect(getattr(s, port)), first, rest) for port, first, rest in SLOW for _ in range(6)]
        for c, first, _ in cs:
            c.sendall(first)
        began = time.monotonic()
        open_ = list(cs)
        while open_ and time.monotonic() - began < 12:
            time.sleep(0.1)
            start = time.monotonic()
            ensure(s.rows("select 1") == [[1]] and time.monotonic() - start < 1, "others wait for the slow")
            ensure(threads(s) <= work + 2, f"{threads(s)} threads, {work} before")
            at = int((time.monotonic() - began) / 0.1)
            for item in list(open_):
                try:
                    item[0].sendall(item[2][at:at + 1])
                    item[0].settimeout(0.0005)
                    if item[0].recv(1000) == b"":
                        open_.remove(item)
                except TimeoutError:
                    pass
                except OSError:
                    open_.remove(item)
        left = [(i[1], i[2][:8]) for i in open_]
        ensure(not left, f"{len(left)} are open after 12 s: {left[0] if left else ''}")
        soon(lambda: descriptors(s) <= files + 1, lambda: f"{descriptors(s)} descriptors, {files} before")


@check
def a_body_a_byte_at_a_time_is_read_in_the_end(s):
    body = b"trickle v=1 1000\ntrickle v=2 2000\n"
    with connect(s.http) as c:
        c.sendall(b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body))
        for b in body:
            c.sendall(bytes([b]))
            time.sleep(0.005)
        ensure(b" 204 " in c.recv(1000), "refused")
    ensure(s.rows("select sum(v) from trickle") == [[3.0]], "rows")


# ------------------------------------------------------------------------------------------------------ gone
ROWS = b"".join(b"%d,2024-01-01T00:00:%02d.000000Z\r\n" % (i, i % 60) for i in range(60000))
LINES = b"".join(b"gone_line v=%di %d000\n" % (i, i) for i in range(60000))


def request(head, length):
    return head + b" HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n" % length


def leave_during_lines(s):
    c = connect(s.http)
    c.sendall(request(b"POST /write", len(LINES) + 10) + b"\r\n" + LINES)
    reset(c)


def leave_during_import(s):
    c = connect(s.http)
    body = Form(b"n,ts\r\n" + ROWS).body[:-20]
    c.sendall(request(b"POST /imp?name=gone&forceHeader=true", len(body) + 30) + b"Content-Type: multipart/form-data; boundary=BB\r\n\r\n" + body)
    reset(c)


def leave_during_copy_in(s):
    w = Wire(s.pg)
    w.send(query("copy gone from stdin with (format csv)"))
    w.read()
    w.send(msg(b"d", ROWS))
    reset(w.s)


def leave_during_copy_in_with_fin(s):
    w = Wire(s.pg)
    w.send(query("copy gone from stdin with (format csv)"), msg(b"d", ROWS))
    w.s.close()


def leave_in_a_block(s):
    w = Wire(s.pg)
    for sql in ("begin", "insert into gone select x::int, x::timestamp from long_sequence(1000)"):
        ensure(w.error(query(sql)) is None, sql)
    reset(w.s)


def leave_during_an_answer(s):
    c = connect(s.http)
    c.sendall(b"GET /exec?query=select+x,+rnd_str()+from+long_sequence(50000000) HTTP/1.1\r\nHost: a\r\n\r\n")
    c.recv(100)
    reset(c)


def leave_during_an_export(s):
    c = connect(s.http)
    c.sendall(b"GET /exp?query=select+x,+rnd_str()+from+long_sequence(50000000) HTTP/1.1\r\nHost: a\r\n\r\n")
    c.recv(100)
    reset(c)


def leave_during_copy_out(s):
    w = Wire(s.pg)
    w.send(query("copy (select x, rnd_str() from long_sequence(50000000)) to stdout"))
    w.read()
    reset(w.s)


def leave_during_a_result(s):
    w = Wire(s.pg)
    w.send(query("select x, rnd_str() from long_sequence(50000000)"))
    w.read()
    reset(w.s)


def leave_during_a_long_insert(s):
    w = Wire(s.pg)
    w.send(query("insert into gone select x::int, (x / 1000)::timestamp from long_sequence(2000000000)"))
    time.sleep(0.02)
    reset(w.s)


def leave_during_a_line(s):
    c = connect(s.line)
    c.sendall(b"gone_tcp v=")
    reset(c)


def leave_at_login(s):
    w = Wire(s.pg, login=False)
    w.send(startup([("user", "admin"), ("database", "qdb")]))
    w.read()
    reset(w.s)


LEAVES = [leave_during_lines, leave_during_import, leave_during_copy_in, leave_during_copy_in_with_fin, leave_in_a_block, leave_during_an_answer, leave_during_an_export, leave_during_copy_out,
          leave_during_a_result, leave_during_a_long_insert, leave_during_a_line, leave_at_login]


def files_of(s):
    return {str(p) for p in (s.root / "db").rglob("*") if p.is_file() and "/wal/" not in str(p)}


@check
def clients_that_vanish(_):
    """Nothing of what they sent is there, and nothing is kept for them: no descriptor, thread, memory, file, processor time."""
    with Server(env={"ALMANAC_COPY_LOG_BYTES_MAX": "64k"}) as s:
        s.exec("create table gone (n int, ts timestamp) timestamp(ts) partition by day")
        at_rest = threads(s)
        for round_ in range(3):  # the first makes what stays: buffers of threads
            for leave in LEAVES * (10 if NIGHTLY and round_ else 3):
                leave(s)
            ensure(s.rows("select count() from gone") == [[0]], "rows of a client that left")
            if round_ == 0:
                time.sleep(3)
                files, memory, left = descriptors(s), s.resident_bytes()[0], files_of(s)
        soon(lambda: descriptors(s) <= files, lambda: f"{descriptors(s)} descriptors, {files} before")
        soon(lambda: files_of(s) <= left, lambda: f"files {files_of(s) - left}")
        soon(lambda: s.resident_bytes()[0] < memory + 24 * MB, lambda: f"{s.resident_bytes()[0] >> 20} MB, {memory >> 20} MB before")
        soon(lambda: threads(s) <= at_rest, lambda: f"{threads(s)} threads, {at_rest} before")
        before = processor_seconds(s)
        time.sleep(1)
        ensure(processor_seconds(s) - before < 0.2, "something still works for those who left")
        ensure("gone_line" not in tables(s) and "gone_tcp" not in tables(s), "tables of those who left")
        ensure([r[0] for r in s.rows("select query from query_activity()") if "gone" in r[0] or "sequence" in r[0]] == [], "their statements")


# ------------------------------------------------------------------------------------------------------ too many
@check
def storms_of_connections(_):
    """Over the limit each gets a message at once; those connected keep working; the limit holds again when they are gone."""
    with Server(env={"ALMANAC_HTTP_NET_CONNECTION_LIMIT": "20", "ALMANAC_PG_NET_CONNECTION_LIMIT": "20", "ALMANAC_LINE_TCP_NET_CONNECTION_LIMIT": "20"}) as s:
        keep = http.client.HTTPConnection(*address(s.http))
        keep.request("GET", "/exec?query=select+1")
        ensure(keep.getresponse().read(), "no answer")
        bare = descriptors(s)
        wires = [Wire(s.pg) for _ in range(20)]
        lines = [connect(s.line) for _ in range(20)]
        soon(lambda: descriptors(s) >= bare + 40, lambda: f"{descriptors(s)} descriptors, {bare} without the 40 connections")
        files = descriptors(s)
        rest = [connect(s.http) for _ in range(19)]
        time.sleep(0.2)
        for _ in range(200 if NIGHTLY else 60):
            got = raw(s.http, b"GET /exec?query=select+1 HTTP/1.1\r\nHost: a\r\n\r\n", half_close=False)
            ensure(b" 503 " in got[:20] and b"http.net.connection.limit" in got, f"HTTP: {got!r}")
            w = Wire(s.pg, login=False)
            w.send(startup([("user", "admin"), ("database", "qdb")]))
            kind, body = w.read()
            while kind == "R":
                w.s.close()
                break
            got = raw(s.line, b"storm v=1 1\n", half_close=False)
            ensure(b"line.tcp.net.connection.limit" in got, f"lines: {got!r}")
        try:
            Wire(s.pg)
            ensure(False, "a login over the limit")
        except Exception as e:  # noqa: BLE001
            ensure("53300" in str(e), f"PG: {e}")
        keep.request("GET", "/exec?query=select+2")
        ensure(b"[[2]]" in keep.getresponse().read(), "those connected do not go on")
        for w in wires:
            ensure(w.error(query("select 1")) is None, "PG connections do not go on")
        for i, c in enumerate(lines):
            c.sendall(b"storm_kept v=%di %d000\n" % (i, i))
        soon(lambda: "storm_kept" in tables_over(keep) and keep_rows(keep) == 20, "lines of those connected")
        ensure("storm" not in tables_over(keep), "a line of a connection that was refused")
        [c.close() for c in rest + lines]
        [w.s.close() for w in wires]
        soon(lambda: descriptors(s) <= files - 36, lambda: f"{descriptors(s)} descriptors, {files} before")
        ensure(Wire(s.pg).error(query("select 1")) is None and s.rows("select 1") == [[1]], "no place though all are gone")


def ask(keep, sql):
    import urllib.parse
    keep.request("GET", "/exec?query=" + urllib.parse.quote(sql))
    return json.loads(keep.getresponse().read()).get("dataset")


def tables_over(keep):
    return {r[0] for r in ask(keep, "select table_name from tables()")}


def keep_rows(keep):
    return ask(keep, "select count() from storm_kept")[0][0]


def main():
    suite = Suite(__doc__)
    with Server(binary=suite.o.binary) as s:
        s.exec("create table others (n int, ts timestamp) timestamp(ts) partition by day")
        s.exec("insert into others values (1, 0), (2, 1)")
        for f in CHECKS:
            if suite.wants(f.__name__) and suite.one(f.__name__, and_others_are_served, f, s) is False and s.process.poll() is not None:
                print("THE SERVER ENDED: " + s.tail())
                s.start()
            if suite.o.v:
                print(f"{descriptors(s)} descriptors, {s.resident_bytes()[0] >> 20} MB", flush=True)
    suite.close()


def and_others_are_served(f, s):
    f(s)
    ensure(s.rows("select sum(n) from others") == [[3]], "the rows of others")
    ensure(Wire(s.pg).error(query("select 1")) is None, "PG does not answer")


if __name__ == "__main__":
    main()
