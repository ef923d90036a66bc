#!/usr/bin/env python3
"""storage.snapshot.age.max: whoever reads for longer is ended by an error that names the setting, however he reads, and files of a table that was
dropped meanwhile go. Loads read nothing and may take as long as their client likes."""
import http.client, socket, threading, time

from lib.checks import CHECKS, Suite, check, expect
from lib.pgclient import SYNC, Wire, bind, execute, fields, msg, parse, query
from lib.server import Server, TOP

AGE_S = 2
SETTING = "storage.snapshot.age.max"
ROWS = 200_000


def wait_until(true, text, seconds=AGE_S + 8):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(text)
        time.sleep(0.05)


class Table:
    """A table of some megabytes in parts; `gone` when it is dropped and its files are."""

    def __init__(self, s, name="t"):
        self.s, self.name = s, name
        folders = self.folders()
        s.exec(f"create table {name} as (select x, (x * 100000)::timestamp ts, 'a text of row ' || x v from long_sequence({ROWS})) timestamp(ts) partition by day")
        made = self.folders() - folders
        expect(len(made), 1, "folders of the table")
        self.folder = made.pop()
        expect(self.files() > 0, True, "the table has no parts")

    def folders(self):
        return {f.name for f in (self.s.root / "db" / "tables").iterdir()}

    def files(self):
        folder = self.s.root / "db" / "tables" / self.folder
        return sum(f.suffix == ".part" for f in folder.iterdir()) if folder.exists() else 0

    def drop(self):
        self.s.exec(f"drop table {self.name}")
        self.dropped = time.monotonic()

    def is_held(self, text):
        time.sleep(0.3)
        expect(self.files() > 0, True, f"{text}: nothing holds the table")

    def goes(self, text):
        wait_until(lambda: self.files() == 0, f"{text}: the files of the dropped table are there after {AGE_S + 8} s")


def wire(s):
    return Wire(s.pg)


def error_of(answers):
    return next((fields(body) for kind, body in answers if kind == "E"), None)


# ------------------------------------------------------------- readers that stand still
def portal(w, sql):
    w.rows("begin")
    w.ask(parse("s", sql), bind("p", "s"), execute("p", 3), SYNC)
    return lambda: w.ask(execute("p", 3), SYNC)


def declared(w, sql):
    w.rows("begin")
    w.rows(f"declare c cursor for {sql}")
    w.rows("fetch 3 from c")
    return lambda: w.ask(query("fetch 3 from c"))


def with_hold(w, sql):
    w.rows("begin")
    w.rows(f"declare c cursor with hold for {sql}")
    w.rows("fetch 3 from c")
    w.rows("commit")
    return lambda: w.ask(query("fetch 3 from c"))


def in_hand(w, sql):
    """A FETCH that an Execute with a limit has cut."""
    w.rows("begin")
    w.rows(f"declare c cursor for {sql}")
    w.ask(parse("f", "fetch 100 from c"), bind("q", "f"), execute("q", 3), SYNC)
    return lambda: w.ask(execute("q", 3), SYNC)


def standing(begin, sql="select * from t"):
    def run(s):
        t, w = Table(s), wire(s)
        more = begin(w, sql)
        t.drop()
        t.is_held(begin.__name__)
        t.goes(begin.__name__)
        told = error_of(more())
        expect(told is not None and told["C"] == "72000" and SETTING in told["M"], True, f"{told}")
        if begin is not with_hold:
            w.ask(query("rollback"))
        expect(w.rows("select 1"), [["1"]], "the connection goes on")
        w.close()
    run.__name__ = f"{begin.__name__}_that_stands_still" + ("" if sql == "select * from t" else "_sorted")
    return check(run)


for one in (portal, declared, with_hold, in_hand):
    standing(one)
standing(declared, "select * from t order by v")


# ------------------------------------------------------------------ readers that do not read
def slow_pg(sql):
    def run(s):
        t, w = Table(s), wire(s)
        w.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        w.send(query(sql))
        time.sleep(0.5)
        t.drop()
        t.is_held(sql)
        t.goes(sql)
        w.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)  # what is on its way comes at the speed of the machine
        w.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 4 << 20)
        answers = w.ask()
        told = error_of(answers)
        expect(told is not None and told["C"] == "72000" and SETTING in told["M"], True, f"{told}")
        expect(w.rows("select 1"), [["1"]], "the connection goes on")
        w.close()
    run.__name__ = "pg_reader_that_waits: " + sql
    return check(run)


for text in ("select * from t", "copy (select * from t) to stdout", "copy t to stdout with (format binary)"):
    slow_pg(text)


def slow_http(path):
    def run(s):
        t = Table(s)
        host, port = s.http.rsplit(":", 1)
        c = socket.create_connection((host, int(port)), timeout=30)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        time.sleep(0.5)
        t.drop()
        t.is_held(path)
        t.goes(path)
        wait_until(lambda: SETTING in s.tail(), "the log does not say why")
        c.close()
    run.__name__ = "http_reader_that_waits: " + path
    return check(run)


# a Parquet file of t is small enough for the buffers of the socket: hashes do not compress
for text in ("/exec?query=select+*+from+t", "/exp?query=select+*+from+t", "/exp?fmt=parquet&query=select+*,sha256(v)+a,sha256(v||1)+b,sha256(v||2)+c+from+t+order+by+v",
             "/exec?snapshot=new&limit=3000000&query=select+*+from+t",
             "/exp?fmt=arrow&query=select+*+from+t"):
    slow_http(text)


# ------------------------------------------------------------------------ long statements
# each takes minutes, and reads t
LONG = ["select count() from t a cross join t b where a.x + b.x < 0",
        "select max(a.x * b.x) from t a cross join t b",
        "insert into w select a.x, a.ts from t a cross join t b where a.x + b.x < 0",
        "create table made as (select a.x from t a cross join t b where a.x + b.x < 0)",
        "update w set x = (select count() from t a cross join t b where a.x + b.x < 0)",
        "copy (select a.x from t a cross join t b where a.x + b.x < 0) to stdout"]


def long_statement(sql):
    def run(s):
        t = Table(s)
        s.exec("create table if not exists w (x long, ts timestamp) timestamp(ts) partition by day")
        s.exec("insert into w values (1, '2026-01-01')")
        w, answers = wire(s), []
        w.rows("set statement_timeout = 0")
        asked = threading.Thread(target=lambda: answers.extend(w.ask(query(sql))))
        asked.start()
        time.sleep(0.5)
        t.drop()
        t.is_held(sql)
        t.goes(sql)
        asked.join(20)
        told = error_of(answers)
        expect(told is not None and told["C"] == "72000" and SETTING in told["M"], True, f"{told}")
        w.close()
    run.__name__ = "long_statement: " + sql
    return check(run)


for text in LONG:
    long_statement(text)


# ------------------------------------------------------------------------------------ loads
@check
def a_copy_that_takes_long(s):
    t, w = Table(s), wire(s)
    s.exec("create table into_it (x long, ts timestamp) timestamp(ts) partition by day")
    w.send(query("copy into_it from stdin with csv"))
    kind = w.read()[0]
    while kind not in "GE":
        kind = w.read()[0]
    expect(kind, "G")
    w.send(msg(b"d", b"1,2026-01-01\n"))
    t.drop()
    t.goes("copy")
    end = time.monotonic() + AGE_S + 1
    while time.monotonic() < end:
        w.send(msg(b"d", b"2,2026-01-02\n"))
        time.sleep(0.2)
    w.send(msg(b"c"))
    expect(error_of(w.ask()), None, "the copy")
    expect(s.rows("select count() from into_it where x = 1"), [[1]])
    w.close()
    s.exec("drop table into_it")


@check
def an_upload_that_takes_long(s):
    for n, make in enumerate((False, True)):
        t = Table(s, f"t{n}")
        if not make:
            s.exec(f"create table imported{n} (x long, v varchar)")
        host, port = s.http.rsplit(":", 1)
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        c.putrequest("POST", f"/imp?name=imported{n}&forceHeader=true")
        c.putheader("Content-Type", "multipart/form-data; boundary=b")
        c.putheader("Transfer-Encoding", "chunked")
        c.endheaders()
        send = lambda data: c.send(b"%x\r\n%s\r\n" % (len(data), data))
        send(b"--b\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\nx,v\r\n" + b"".join(b"%d,a%d\r\n" % (i, i) for i in range(400000)))
        time.sleep(0.5)
        t.drop()
        end = time.monotonic() + AGE_S + 1
        while time.monotonic() < end:
            send(b"1,b\r\n")
            time.sleep(0.2)
        t.goes(f"/imp {make}")
        send(b"\r\n--b--\r\n")
        c.send(b"0\r\n\r\n")
        r = c.getresponse()
        body = r.read()
        expect(r.status, 200, body[-300:])
        expect(s.rows(f"select count() > 400000 from imported{n}"), [[True]])


@check
def lines_that_take_long(s):
    t = Table(s)
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    c.putrequest("POST", "/write")
    c.putheader("Transfer-Encoding", "chunked")
    c.endheaders()
    send = lambda data: c.send(b"%x\r\n%s\r\n" % (len(data), data))
    send(b"l x=1i 1000\n")
    t.drop()
    try:
        for _ in range((AGE_S + 2) * 5):
            send(b"l x=1i 1000\n")
            time.sleep(0.2)
        c.send(b"0\r\n\r\n")
    except OSError:
        pass
    r = c.getresponse()
    body = r.read().decode()
    expect(r.status != 204 and SETTING in body, True, f"{r.status} {body[:300]}")
    t.goes("/write")


@check
def a_connection_of_lines_that_is_silent(s):
    t = Table(s)
    host, port = s.line.rsplit(":", 1)
    c = socket.create_connection((host, int(port)))
    c.sendall(b"lt x=1i 1000\n")
    time.sleep(0.3)
    c.sendall(b"lt x=1i 2000\nlt x=")  # half a line waits
    t.drop()
    t.goes("a line connection")
    c.close()


# ------------------------------------------------------------------------- what is not ended
@check
def younger_readers_go_on(s):
    t, w = Table(s), wire(s)
    w.rows("begin")
    for i in range(4):  # together longer than the age, each of them shorter
        w.rows(f"declare c{i} cursor for select * from t")
        for _ in range(3):
            expect(len(w.rows(f"fetch 3 from c{i}")), 3)
            time.sleep(AGE_S / 5)
        w.rows(f"close c{i}")
    w.rows("commit")
    w.close()
    t.drop()
    t.goes("nobody")


def main():
    suite = Suite(__doc__)
    env = {"ALMANAC_STORAGE_SNAPSHOT_AGE_MAX": f"{AGE_S}s", "ALMANAC_QUERY_TIMEOUT": "0", "ALMANAC_HTTP_EXPORT_TIMEOUT": "1h"}
    with Server(binary=suite.o.binary, env=env) as s:
        for f in CHECKS:
            if suite.wants(f.__name__) and suite.one(f.__name__, f, s) is False:
                for name in [r[0] for r in s.rows("select table_name from tables()")]:
                    s.exec(f"drop table {name}")
    suite.close()


if __name__ == "__main__":
    main()
