#!/usr/bin/env python3
"""The machine has no memory left: the n-th request for it fails, for every n, while one statement or one upload is answered
(alloc_fault.c). There is always an error or the right answer, never a crash; nothing is half done; the server goes on.

    memory_test.py [--nightly] [NAME...]

Method: for each case n grows until none fails any more. In CI n grows by steps, so that a case takes some 60 rounds.
"""
import http.client, json, pathlib, socket, struct, sys, tempfile, urllib.parse

from lib.checks import Suite, expect
from lib.pgclient import Closed, Wire, bind, describe, execute, msg, parse, query, SYNC
from lib.preload import preloaded
from lib.server import TOP, Server

NIGHTLY = "--nightly" in sys.argv
ROUNDS = 60


class Fault:
    def __init__(self, d):
        self.so = preloaded(d, "alloc_fault")
        self.path = pathlib.Path(d) / "alloc"
        self.path.write_bytes(struct.pack("=qq", -1, 0))
        self.env = {"LD_PRELOAD": self.so, "ALLOC_FAULT_FILE": str(self.path)}

    def arm(self, n):
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=qq", n, 0))

    def disarm(self):
        """How many failed, and how many were asked for."""
        left, failed = struct.unpack("=qq", self.path.read_bytes())
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=q", -1))
        return failed, left


QUERIES = [
    "select * from m order by ts limit 10", "select s, count(), sum(d), avg(n), min(v), max(v) from m group by s order by s", "select ts, sum(d) from m sample by 1h fill(linear)", "select * from m latest on ts partition by s",
    "select a.n, b.d from m a join m b on a.n = b.n where a.n < 20 order by a.n", "select a.n, b.d from m a asof join m b on (s) limit 20", "select n, row_number() over (partition by s order by d desc) r from m order by n limit 20",
    "select n, avg(d) over (partition by s order by ts rows between 5 preceding and current row) from m limit 20", "select distinct v from m order by v limit 10", "select count_distinct(v), approx_percentile(d, 0.5) from m",
    "with recursive r as (select 1 x union all select x + 1 from r where x < 50) select sum(x) from r", "select v || s || n::varchar c, regexp_replace(v, 'x', 'y'), to_str(ts, 'yyyy') from m limit 20", "select n from m union select n + 1 from m except select 5 order by n limit 20",
    "select n from m where v like '%7%' and d > 0.2 and s in ('k1', 'k2') order by n", "select n from m where n in (select n from m where d < 0.3) order by n limit 10", "explain select s, sum(d) from m group by s", "show columns from m",
    "select table_name from tables()", "select * from m pivot (sum(d) for s in ('k1', 'k2') group by n) limit 10", "select string_agg(v, ',') from (select v from m order by n limit 20)", "select count() from pg_catalog.pg_class", "select sum(x) from (select x from long_sequence(100000) order by x % 7, x)",
]


class Cases:
    def __init__(self, s):
        self.s = s
        s.exec("create table m (n int, d double, s symbol, v varchar, ts timestamp) timestamp(ts) partition by day")
        s.exec("insert into m select x::int, (x % 97) / 97.0, 'k' || (x % 5), 'text ' || x, (x * 60000000)::timestamp from long_sequence(3000)")
        s.exec("create table w (n long, v varchar, s symbol, ts timestamp) timestamp(ts) partition by day")
        self.lines = "".join(f"w,s=k{i % 3} n={i}i,v=\"text {i}\" {i * 1000}\n" for i in range(50)).encode()
        self.csv = b"n,v,s,ts\r\n" + b"".join(b"%d,text %d,k%d,2024-01-01T00:00:00.%06dZ\r\n" % (i, i, i % 3, i) for i in range(50))

    # each returns None for an error, the answer otherwise; no answer at all is an error too
    def http(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection(*self.s.http.rsplit(":", 1), timeout=10)
        try:
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            text = r.read()
        except (http.client.HTTPException, ConnectionError):
            return None
        if r.status >= 400:
            return None
        return text or b"done"

    def exec(self, sql):
        text = self.http("GET", "/exec?query=" + urllib.parse.quote(sql))
        answer = None if text is None else json.loads(text)
        return None if answer is None or "error" in answer else answer.get("dataset", "done")

    def exp(self, sql):
        return self.http("GET", "/exp?query=" + urllib.parse.quote(sql))

    def held(self, sql):
        """A result that is held, and a page of it; the name of the result is another one each time."""
        made = self.http("GET", "/exec?snapshot=new&tag=fault&limit=1,10&query=" + urllib.parse.quote(sql))
        if made is None:
            return None
        made = json.loads(made)
        page = self.http("GET", f"/snapshot/{made['snapshot']}?limit=11,2000&nm=true")
        return None if page is None else (made["dataset"], made["count"], json.loads(page)["dataset"])

    def write(self, _):
        return self.http("POST", "/write", self.lines)

    def imp(self, _):
        body = b'--BB\r\nContent-Disposition: form-data; name="data"\r\n\r\n' + self.csv + b"\r\n--BB--\r\n"
        text = self.http("POST", "/imp?name=w&fmt=json&forceHeader=true&atomicity=abort", body, {"Content-Type": "multipart/form-data; boundary=BB"})
        return None if text is None or json.loads(text).get("status") != "OK" else "done"

    def pg(self, *messages):
        try:
            w = Wire(self.s.pg, timeout=10)
            rows, failed = [], False
            for kind, body in w.ask(*messages):
                failed |= kind == "E"
                if kind in "DCT":
                    rows.append(body)
            w.close()
            return None if failed else rows
        except (Closed, PermissionError, ConnectionError):
            return None

    def simple(self, sql):
        return self.pg(query(sql))

    def extended(self, sql):
        return self.pg(parse("p", sql), bind("", "p"), describe("P"), execute(), SYNC)

    def copy_in(self, _):
        return self.pg(query("copy w from stdin with (format csv, header)"), msg(b"d", self.csv), msg(b"c"))

    def copy_out(self, _):
        return self.pg(query("copy (select * from m order by ts limit 100) to stdout"))

    def line_tcp(self, _):
        """There is no acknowledgement: what comes back is an error."""
        host, port = self.s.line.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=10) as c:
            try:
                c.sendall(self.lines)
                c.shutdown(socket.SHUT_WR)
                return None if c.recv(1000) else "done"
            except OSError:
                return None

    def remake(self, _):
        made = self.exec("create table made_as as (select * from m)")
        dropped = self.exec("drop table if exists made_as")
        return None if made is None or dropped is None else "done"

    def rows(self):
        return self.s.rows("select count(), count_distinct(n) from w")[0]


INSERT = "insert into w select x, 'text ' || x, 'k' || (x % 3), x::timestamp from long_sequence(50)"


def cases():
    for sql in QUERIES:
        yield f"exec {sql}", "exec", sql, None
    yield "exp", "exp", QUERIES[0], None
    yield "held", "held", "select * from m order by n", None
    for sql in QUERIES[:6]:
        yield f"simple {sql}", "simple", sql, None
        yield f"extended {sql}", "extended", sql, None
    yield "copy out", "copy_out", "", None
    for name, sql in (("exec", INSERT), ("simple", INSERT), ("extended", INSERT), ("write", ""), ("imp", ""), ("copy_in", ""), ("line_tcp", "")):
        yield f"insert by {name}", name, sql, 50
    yield "update", "exec", "update m set d = d + 0 where n < 100", None
    yield "create", "exec", "create table if not exists made (a int, b symbol, ts timestamp) timestamp(ts) partition by day", None
    yield "alter", "exec", "alter table w add column if not exists extra double", None
    yield "delete", "exec", "delete from m where n = -1", None
    yield "create as, and drop", "remake", "", None
    yield "drop", "exec", "drop table if exists made", None


class Failure(Exception):
    pass


def run(c, fault, name, how, sql, adds):
    """Rounds; every one ends with an error or the right answer."""
    call = getattr(c, how)
    c.s.exec("truncate table w")
    want = call(sql)
    if want is None:
        raise Failure("an error without a fault")
    have = c.rows()[0]
    fault.arm(1 << 40)
    call(sql)
    asked = (1 << 40) - fault.disarm()[1]
    have = c.rows()[0]
    step = 1 if NIGHTLY else max(1, asked // ROUNDS)
    n, errors = 0, 0
    while n < asked * 2 + 50:
        fault.arm(n)
        got = call(sql)
        failed, _ = fault.disarm()
        if c.s.process.poll() is not None:
            raise Failure(f"request {n} of {asked}: THE SERVER ENDED: {c.s.tail()[-700:]}")
        if got is not None and adds is None and how in ("exec", "exp", "held") and sql.startswith(("select", "with")) and got != want:
            raise Failure(f"request {n} of {asked}: a wrong answer: {str(got)[:200]}")
        errors += got is None
        if adds is not None:
            now = c.rows()[0]
            if now - have not in ((0,) if got is None and failed and now == have else (0, adds)) or (got is not None and now - have != adds):
                raise Failure(f"request {n} of {asked}: {now - have} rows came, the answer is {str(got)[:80]}")
            have = now
        if not failed:
            break
        n += step
    if c.s.rows("select count(), sum(n) from m") != [[3000, 4501500]]:
        raise Failure("the rows of others")
    return n // step, errors


def one_case(c, fault, suite, name, how, sql, adds):
    try:
        rounds, errors = run(c, fault, name, how, sql, adds)
    finally:
        fault.disarm()
    if suite.o.v:
        print(f"{name[:100]}: {rounds} rounds, {errors} errors", flush=True)


def rows_are_whole(s):
    s.kill()
    s.start()
    expect(s.rows("select count(), sum(n) from m"), [[3000, 4501500]], "after a restart")


def main():
    suite = Suite(__doc__)
    with tempfile.TemporaryDirectory() as d:
        fault = Fault(d)
        with Server(env=fault.env) as s:
            c = Cases(s)
            for name, how, sql, adds in cases():
                if suite.o.names and not any(n in name for n in suite.o.names):
                    continue
                if suite.one(name, one_case, c, fault, suite, name, how, sql, adds) is False and s.process.poll() is not None:
                    s.start()
            suite.one("rows_are_whole", rows_are_whole, s)
    suite.close()


if __name__ == "__main__":
    main()
