#!/usr/bin/env python3
"""A disk that is full, or fails, under a running server.

Full     a small tmpfs is filled by somebody else while rows come in over HTTP, PG wire and the line
         protocol: writes fail with a clear error and its proper status, reads go on, the server stays;
         when there is room again writes go on by themselves. Nothing acknowledged is lost by a kill.
         Bulk loads that fill it leave nothing behind. The same with calls that refuse space
         (io_fault.c), which stand in where nothing can be mounted.
Failing  a write or a sync that fails with EIO: no write is accepted until a restart, reads go on; after
         it everything acknowledged is there.

    disk_test.py [--binary FILE]
"""
import json, pathlib, subprocess, tempfile, time, urllib.request, urllib.error

from lib.checks import Suite, ensure
from lib.pgclient import Wire, msg, query
from lib.preload import preloaded
from lib.server import TOP, Server

ENV = {"ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "8m",
       "ALMANAC_STORAGE_HEAD_BYTES_MAX": "8m", "ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "4m"}
PAD = "x" * 200


class Rows:
    """Rows by three protocols; which are acknowledged."""

    def __init__(self, s):
        self.s, self.next, self.acked = s, 0, set()
        s.exec("create table full (ts timestamp, n long, pad varchar) timestamp(ts) partition by day")

    def insert(self, how, rows=100):
        """None, or (status, message) of the refusal."""
        first, self.next = self.next, self.next + rows
        numbers = range(first, first + rows)
        sql = "insert into full values " + ",".join(f"({n * 1_000_000}, {n}, '{PAD}')" for n in numbers)
        if how == "pg":
            error = Wire(self.s.pg).error(query(sql))
            answer = error and (error["C"], error["M"])
        elif how == "http":
            answer = self.post("/exec", f"query={sql}".encode(), {"Content-Type": "application/x-www-form-urlencoded"})
        else:
            answer = self.post("/write", "".join(f"full n={n}i,pad=\"{PAD}\" {n * 1_000_000_000}\n" for n in numbers).encode(), {})
        if answer is None:
            self.acked.update(numbers)
        return answer

    def post(self, path, body, headers):
        try:
            with urllib.request.urlopen(urllib.request.Request(self.s.url + path, data=body, headers=headers), timeout=120):
                return None
        except urllib.error.HTTPError as e:
            answer = json.loads(e.read())
            return e.code, answer.get("error") or answer.get("message")

    def check(self):
        got = [r[0] for r in self.s.rows("select n from full", limit="0,10000000")]
        ensure(len(got) == len(set(got)), "a row is there twice")
        missing = self.acked - set(got)
        ensure(not missing, f"{len(missing)} acknowledged rows are gone, the first {min(missing, default=None)}")


def refusals(rows, codes, words):
    """Each protocol says in its own way that nothing can be written."""
    for how in ("http", "pg", "line"):
        answer = rows.insert(how)
        ensure(answer is not None, f"{how}: accepted")
        ensure(answer[0] in codes and words in answer[1], f"{how}: {answer}")


def fill_and_free(s, fill, free):
    rows = Rows(s)
    for how in ("http", "pg", "line") * 3:
        ensure(rows.insert(how) is None, f"{how}: refused before the disk was full")
    fill()
    end = time.monotonic() + 60
    while rows.insert("http") is None:  # what was reserved is used up first
        ensure(time.monotonic() < end, "the full disk is not noticed")
    refusals(rows, (507, 503, "53100"), "No space left")
    rows.check()
    ensure(s.rows("select 1") == [[1]], "reads do not go on")
    try:
        s.exec("create table another (a int)")
    except RuntimeError as e:
        ensure("No space left" in str(e), str(e))
    free()
    end = time.monotonic() + 30
    while rows.insert("http") is not None:
        ensure(time.monotonic() < end, "writes do not go on when there is room")
        time.sleep(0.1)
    for how in ("http", "pg", "line"):
        ensure(rows.insert(how) is None, f"{how}: refused though there is room")
    rows.check()
    s.kill()
    s.start()
    rows.check()
    ensure(rows.insert("pg") is None, "refused after the restart")
    return len(rows.acked)


def full_disk(binary):
    with tempfile.TemporaryDirectory() as d:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", d], capture_output=True).returncode == 0
        if not mounted:
            return full_by_calls(binary)
        ballast = pathlib.Path(d) / "ballast"

        def fill():
            with open(ballast, "wb", buffering=0) as f:
                try:
                    while True:
                        f.write(bytes(65536))
                except OSError:
                    pass

        try:
            with Server(binary=binary, root=d, env=ENV) as s:
                return fill_and_free(s, fill, ballast.unlink)
        finally:
            subprocess.run(["umount", d])


def post(s, path, body, headers=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(s.url + path, data=body, headers=headers or {}), timeout=120) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def bulk_ways(s):
    """Each writes more than the disk takes: (what the client is told)."""
    rows = b"".join(b"%d,%s,2024-01-01T00:00:00Z\n" % (i, b"x" * 500) for i in range(120000))
    form = b'--BB\r\nContent-Disposition: form-data; name="data"\r\n\r\nn,pad,ts\n' + rows + b"\r\n--BB--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=BB"}

    def copy():
        w = Wire(s.pg)
        w.send(query("copy bulk from stdin with (format csv)"))
        w.read()
        error = w.error(*[msg(b"d", rows[i:i + 1048576]) for i in range(0, len(rows), 1048576)], msg(b"c"))
        return error and (error["C"], error["M"])

    def sql(text):
        return lambda: s.get("/exec", query=text)[::2]

    yield "COPY", copy
    yield "/imp", lambda: post(s, "/imp?name=bulk&fmt=json&atomicity=abort&forceHeader=true", form, headers)
    yield "/imp of a new table", lambda: post(s, "/imp?name=bulk_new&fmt=json&atomicity=abort&forceHeader=true", form, headers)
    yield "CREATE TABLE AS", sql("create table bulk_as as (select x, rpad('a', 1000, 'b') p from long_sequence(200000))")
    yield "INSERT SELECT", sql("insert into bulk select x, rpad('a', 1000, 'b'), x::timestamp from long_sequence(200000)")
    yield "UPDATE", sql("update bulk set pad = rpad('c', 60000, 'd')")
    yield "lines", lambda: post(s, "/write", b"".join(b'bulk n=%di,pad="%s" %d\n' % (i, b"x" * 500, i) for i in range(120000)))


def bulk_loads_on_a_small_disk(binary):
    """Nothing of a load that found no room is left, neither rows nor files; small writes go on at once."""
    with tempfile.TemporaryDirectory() as d:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", d], capture_output=True).returncode:
            print("skipped: bulk loads: cannot mount a tmpfs")
            return 0
        try:
            with Server(binary=binary, root=d, env=ENV) as s:
                s.exec("create table bulk (n long, pad varchar, ts timestamp) timestamp(ts) partition by day")
                s.exec("insert into bulk select x, rpad('a', 100, 'b'), x::timestamp from long_sequence(1000)")
                parts = lambda: {str(p) for p in (s.root / "db").rglob("*") if p.is_file() and "/wal/" not in str(p)}
                before, rows = parts(), 1000
                for name, load in bulk_ways(s):
                    answer = load()
                    ensure("No space left" in str(answer) and any(c in str(answer) for c in ("507", "53100")), f"{name}: {answer}")
                    began = time.monotonic()
                    while s.get("/exec", query="insert into bulk values (1, 'a', 1)")[0] != 200:
                        ensure(time.monotonic() - began < 5, f"{name}: writes do not go on within 5 s")
                        time.sleep(0.1)
                    rows += 1
                    ensure(s.rows("select count() from bulk") == [[rows]], f"{name}: rows of the load")
                    ensure(not {r[0] for r in s.rows("select table_name from tables()")} - {"bulk"}, f"{name}: a table of the load")
                    end = time.monotonic() + 5
                    while parts() - before and time.monotonic() < end:
                        time.sleep(0.1)
                    ensure(len(parts() - before) <= 1, f"{name}: files {parts() - before}")  # rows of the head may have been flushed
                    before = parts()
                return rows
        finally:
            subprocess.run(["umount", "-l", d])


class Fault:
    def __init__(self, d):
        so = preloaded(d, "io_fault")
        self.path = pathlib.Path(d) / "fault"
        self.set("-")
        self.env = {**ENV, "LD_PRELOAD": so, "IO_FAULT_FILE": str(self.path)}

    def set(self, what):
        with open(self.path, "r+b" if self.path.exists() else "wb") as f:
            f.write(what.encode())


def full_by_calls(binary):
    with tempfile.TemporaryDirectory() as d:
        fault = Fault(d)
        with Server(binary=binary, env=fault.env) as s:
            return fill_and_free(s, lambda: fault.set("f"), lambda: fault.set("-"))


def failing_disk(binary, kind):
    with tempfile.TemporaryDirectory() as d:
        fault = Fault(d)
        with Server(binary=binary, env=fault.env) as s:
            rows = Rows(s)
            for how in ("http", "pg", "line"):
                ensure(rows.insert(how) is None, f"{how}: refused before the fault")
            fault.set(kind)
            refusals(rows, (500, "58030"), "error")
            fault.set("-")
            refusals(rows, (500, "58030"), "until a restart")  # what the disk has is not known any more
            rows.check()
            try:
                s.exec("create table another (a int)")
                raise AssertionError("CREATE TABLE was accepted")
            except RuntimeError as e:
                ensure("until a restart" in str(e), str(e))
            s.kill()
            s.start()
            rows.check()
            for how in ("http", "pg", "line"):
                ensure(rows.insert(how) is None, f"{how}: refused after the restart")
            rows.check()
            return len(rows.acked)


def main():
    suite = Suite(__doc__)
    binary = suite.o.binary
    for name, test, *more in (("full", full_disk), ("bulk_loads", bulk_loads_on_a_small_disk), ("full_by_calls", full_by_calls),
                              ("failing_sync", failing_disk, "s"), ("failing_write", failing_disk, "w")):
        if suite.wants(name):
            suite.one(name, lambda test=test, more=more: print(f"{name}: {test(binary, *more)} rows acknowledged, all there"))
    suite.close()


if __name__ == "__main__":
    main()
