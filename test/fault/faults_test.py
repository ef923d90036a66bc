#!/usr/bin/env python3
"""Faults of the machine under a running server: a clock that is set years forward or back, descriptors that run out, folders
that cannot be written. Clear errors; reads go on; everything goes on by itself when the cause is gone.

    faults_test.py [--nightly] [NAME...]
"""
import contextlib, http.client, os, pathlib, shutil, subprocess, tempfile, time

from hostile_test import Form, address, connect, descriptors, post, processor_seconds, raw, soon
from lib.checks import check, ensure, main_alone
from lib.pgclient import Wire, msg, query
from lib.preload import Clock
from lib.server import TOP, Server

YEAR = 365 * 86400


# ------------------------------------------------------------------------------------------------------- clock
def write_line(s, table, value):
    return post(s, "/write", b"%s v=%di\n" % (table.encode(), value))[0]


@check
def a_clock_that_jumps():
    with tempfile.TemporaryDirectory() as d:
        clock = Clock(d)
        env = {**clock.env, "ALMANAC_HTTP_NET_CONNECTION_TIMEOUT": "4s", "ALMANAC_WAL_SYNC": "interval", "ALMANAC_QUERY_TIMEOUT": "2s"}
        with Server(env=env) as s:
            s.exec("create table old (n int, ts timestamp) timestamp(ts) partition by day ttl 2 days")
            s.exec("insert into old select x::int, dateadd('h', x::int, '2024-01-01') from long_sequence(40)")
            s.exec("create table base (n int, ts timestamp) timestamp(ts) partition by day")
            s.exec("create materialized view mv as (select ts, sum(n) n from base sample by 1h) partition by day")
            keep = http.client.HTTPConnection(*address(s.http))
            before = processor_seconds(s)
            began = time.monotonic()
            for i, at in enumerate((10 * YEAR, -20 * YEAR, 0, 200 * YEAR, -40 * YEAR, 0)):
                clock.jump(at)
                keep.request("GET", "/exec?query=select+1")
                ensure(keep.getresponse().read(), "the connection that was open")
                year = s.rows("select year(now())")[0][0]
                ensure(abs(year - (time.gmtime().tm_year + at // YEAR)) <= 1, f"now() is in {year}")
                start = time.monotonic()
                s.exec(f"insert into base values ({i + 1}, '2024-05-01T0{i}:00:00Z')")
                ensure(write_line(s, "stamped", i) == 204, "a line without a time")
                ensure(Wire(s.pg).error(query("insert into base values (0, '2024-05-02')")) is None, "PG")
                ensure(time.monotonic() - start < 2, "writes hang")
                soon(lambda: s.rows("select count() from mv")[0][0] >= i + 1, "the materialized view does not follow", 5)
                try:
                    start = time.monotonic()
                    s.exec("select sum(x) from long_sequence(100000000000)", timeout=20)
                    ensure(False, "no time-out")
                except RuntimeError as e:
                    ensure("timeout" in str(e) and 1.5 < time.monotonic() - start < 4, f"{e} after {time.monotonic() - start:.1f} s")
            ensure(s.rows("select count() from old") == [[40]], "rows that are not older than the newest less the TTL")
            ensure(s.rows("select count() from stamped") == [[6]], "lines with the server's time")
            took = time.monotonic() - began
            used = processor_seconds(s) - before
            before, began = processor_seconds(s), time.monotonic()
            idle = connect(s.http)
            idle.settimeout(15)
            clock.jump(-30 * YEAR)
            ensure(idle.recv(1) == b"" and 3 < time.monotonic() - began < 8, f"an idle connection ends after {time.monotonic() - began:.1f} s")
            ensure(processor_seconds(s) - before < 1, f"{processor_seconds(s) - before:.1f} s of work at rest ({used:.0f} of {took:.0f} before)")
            s.kill()
            clock.jump(0)
            s.start()
            ensure(s.rows("select count() from old") == [[40]] and s.rows("select count() from mv") == [[7]], "after a restart in another year")


# ------------------------------------------------------------------------------------------------- descriptors
@contextlib.contextmanager
def started_by(command, **more):
    """A server whose program is started by a line of the shell."""
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        starter = pathlib.Path(d) / "almanac"
        starter.write_text(f"#!/bin/sh\n{command} {TOP}/build/release/almanac \"$@\"\n")
        starter.chmod(0o755)
        with Server(binary=starter, **more) as s:
            yield s


def few_files(n):
    return started_by(f"ulimit -n {n}; exec")


@check
def connections_leave_descriptors_to_files():
    with few_files(100) as s:
        s.exec("create table f (n int, ts timestamp) timestamp(ts) partition by day")
        keep = Wire(s.pg)
        held = []
        for _ in range(80):
            held += [connect(s.http), connect(s.line), connect(s.pg)]
        time.sleep(0.5)
        before = processor_seconds(s)
        ensure(descriptors(s) <= 80, f"{descriptors(s)} descriptors")
        for where, want in ((s.http, b" 503 "), (s.pg, b"53300"), (s.line, b"error: ")):
            got = raw(where, half_close=False)
            ensure(want in got and b"too many connections" in got and b"ulimit -n" in got, f"{got!r}")
        for i in range(50):  # files are made and read still
            ensure(keep.error(query(f"insert into f select x::int, dateadd('d', x::int, '2020-01-01') from long_sequence({i + 1})")) is None, "insert")
        ensure(keep.rows("select count() from f") == [["1275"]], "select")
        time.sleep(1)
        ensure(processor_seconds(s) - before < 3, "a busy loop")
        [c.close() for c in held]
        soon(lambda: s.get("/exec", query="select 1")[0] == 200, "no place though all are gone")
        ensure(write_line(s, "f2", 1) == 204, "a line")


@check
def files_that_cannot_be_opened():
    """All descriptors are taken by files of somebody: statements that need one get an error; then it goes on."""
    with few_files(64) as s:
        s.exec("create table f (n int, s symbol, ts timestamp) timestamp(ts) partition by day")
        wire = Wire(s.pg)
        ensure(wire.error(query("insert into f select x::int, 'k' || x, dateadd('d', x::int, '2020-01-01') from long_sequence(300)")) is None, "insert")
        subprocess.run(["prlimit", f"--nofile={descriptors(s)}:64", "--pid", str(s.process.pid)], check=True)
        errors = 0
        for sql in ("create table g as (select * from f)", "insert into f select n, s, ts from f", "vacuum table f", "update f set n = n + 1", "alter table f add column z int", "select count(), sum(n) from f", "copy f from 'nothing.csv'",
                    "select count_distinct(s) from f", "backup table f", "reindex table f lock exclusive"):
            error = wire.error(query(sql))
            errors += error is not None and ("open files" in error["M"] or "58030" == error["C"] or "53300" == error["C"])
        ensure(errors >= 1, "nothing failed")
        ensure(wire.error(query("select count() from f")) is None, "reads")
        before = processor_seconds(s)
        refused = [connect(s.http) for _ in range(20)]
        time.sleep(1)
        ensure(processor_seconds(s) - before < 0.3, f"{processor_seconds(s) - before} s in one second at the limit of descriptors")
        [c.close() for c in refused]
        subprocess.run(["prlimit", "--nofile=64:64", "--pid", str(s.process.pid)], check=True)
        soon(lambda: wire.error(query("insert into f (n, ts) values (1, '2024-01-01')")) is None, "writes do not go on", 5)
        soon(lambda: s.rows("select 1") == [[1]], "HTTP does not go on", 5)
        wire.close()


# --------------------------------------------------------------------------------------------------- folders
def start_code(root, **env):
    p = subprocess.run([str(TOP / "build/release/almanac"), "-d", str(root)], capture_output=True, text=True, timeout=30, env={
        **os.environ, "ALMANAC_HTTP_BIND_TO": "127.0.0.1:0", "ALMANAC_PG_NET_BIND_TO": "127.0.0.1:0", "ALMANAC_HTTP_MIN_NET_BIND_TO": "127.0.0.1:0", "ALMANAC_LINE_TCP_NET_BIND_TO": "127.0.0.1:0", **env})
    return p.returncode, p.stderr


@check
def folders_that_cannot_be_used_at_the_start():
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        (root / "file").write_text("x")
        (root / "half").mkdir()
        (root / "half" / "db").write_text("not a folder")
        (root / "wal").mkdir()
        (root / "wal" / "db").mkdir()
        (root / "wal" / "db" / "wal").write_text("not a folder")
        for path in ("file", "file/below", "half", "wal"):
            code, text = start_code(root / path)
            ensure(code == 1 and str(root / path.split("/")[0]) in text and "ERROR" in text, f"{path}: {code} {text[-300:]}")
        code, text = start_code("/proc/almanac")
        ensure(code == 1 and "/proc/almanac" in text, f"{code} {text[-300:]}")
        code, text = start_code(root / ("x" * 5000))
        ensure(code == 1 and "ERROR" in text, f"{code} {text[-300:]}")


def copy_in(s, rows):
    w = Wire(s.pg)
    w.send(query("copy f from stdin with (format csv)"))
    w.read()
    return w.error(msg(b"d", rows), msg(b"c"))


@check
def a_data_folder_that_becomes_unwritable():
    """The server runs as a user to whom its folders are closed for a while."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("skipped: folders that are closed: another user is needed")
        return
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        root = pathlib.Path(d) / "root"
        root.mkdir()
        os.chown(root, 65534, 65534)
        with started_by("exec setpriv --reuid 65534 --regid 65534 --clear-groups", root=root, log=f"{d}/log", env={"ALMANAC_WAL_SEGMENT_SIZE": "1m"}) as s:
            s.exec("create table f (n long, v varchar, ts timestamp) timestamp(ts) partition by day")
            folders = [p for p in (root / "db").rglob("*") if p.is_dir()] + [root / "db"]
            for p in folders:
                p.chmod(0o555)
            error, rows = None, 0
            while error is None:  # what is there already of the log is used up first
                status, _, body = s.get("/exec", query=f"insert into f select x, rpad('a', 500, 'b'), x::timestamp from long_sequence(300)")
                error = body if status != 200 else None
                rows += 300 if status == 200 else 0
                ensure(rows < 100000, "nothing was refused")
            ensure(b"Permission denied" in error, error)
            pad = b"b" * 500
            for door in (lambda: post(s, "/write", b"".join(b'f n=%di,v="%s" %d\n' % (i, pad, i) for i in range(3000))),
                         lambda: (500, repr(Wire(s.pg).error(query("insert into f select x, rpad('a', 500, 'b'), x::timestamp from long_sequence(3000)"))).encode()),
                         lambda: post(s, "/imp?name=f&fmt=json&atomicity=abort", Form(b"n,v,ts\r\n" + b"".join(b"%d,%s,2024-01-01T00:00:00Z\r\n" % (i, pad) for i in range(3000))).body, Form(b"").headers),
                         lambda: (500, repr(copy_in(s, b"".join(b"%d,%s,2024-01-01T00:00:00Z\n" % (i, pad) for i in range(12000)))).encode())):
                status, body = door()
                ensure(status != 204 and b"Permission denied" in body, f"{status} {body}")
            ensure(s.rows("select count() from f") == [[rows]], "reads")
            for p in folders:
                p.chmod(0o755)
            soon(lambda: s.get("/exec", query="insert into f values (3, 'c', 2)")[0] == 200, lambda: f"writes do not go on: {s.get('/exec', query='create table t (a int)')}", 6)
            ensure(s.rows("select count() from f") == [[rows + 1]], "rows after it")


# ---------------------------------------------------------------------------------------------------- bytes
def fails(s, sql, *words):
    try:
        got = s.rows(sql)
    except RuntimeError as e:
        ensure(any(w in str(e) for w in words), f"{sql}: {e}")
        return
    raise AssertionError(f"{sql}: {got}")


@check
def part_files_that_cannot_be_read_any_more():
    """Cut while they are in memory, as a disk that fails takes their bytes away: an error, no row of zeros, no end of the server."""
    with Server() as s:
        for table in ("cut", "near", "whole"):
            s.exec(f"create table {table} as (select x a, x b, 'text number ' || x v, x::timestamp ts from long_sequence(1000000)) timestamp(ts) partition by day")
        part = {t: next((s.root / "db" / "tables").glob(f"{i}/*.part")) for i, t in ((r[0], r[1]) for r in s.rows("select id, table_name from tables()"))}
        ensure(s.rows("select sum(a) from near") == [[500000500000]], "sum")
        os.truncate(part["near"], part["near"].stat().st_size // 3)  # what was not read yet is missed before it is touched
        fails(s, "select sum(length(v)) from near", "part file", "could not be read")
        for _ in range(2):
            ensure(s.rows("select sum(a), sum(b), sum(length(v)) from cut")[0][0] == 500000500000, "sum")
        os.truncate(part["cut"], 8192)
        for sql in ("select sum(b) from cut", "select sum(a) from cut", "select max(v) from cut", "select * from cut where a = 900000", "select count() from cut where a > 5", "select * from cut latest on ts partition by a limit 3", "select last(v) from cut"):
            fails(s, sql, "part file", "could not be read")
        ensure(s.rows("select sum(a), sum(b) from whole") == [[500000500000, 500000500000]], "another table")
        for sql in ("update cut set a = 1", "create table copy as (select * from cut)", "alter table cut alter column v type symbol", "insert into whole select a, b, v, ts from cut"):
            fails(s, sql, "part file", "could not be read")
        for sql in ("insert into whole values (1, 1, 'a', 5)", "create table other (a int)", "update whole set b = b + 1", "insert into cut values (1, 1, 'a', '2024-01-01')", "delete from whole where a < 0"):
            s.exec(sql)  # everything else goes on
        ensure(s.rows("select count(), sum(b) from whole") == [[1000001, 500001500002]], "changes of another table")
        ensure("damage" in s.get("/warnings")[2].decode().lower(), "no warning")
        ensure(s.rows("select a from cut where ts >= '2024-01-01'") == [[1]], "another part of the table")
        s.kill()
        s.start()
        fails(s, "select sum(b) from cut", "part file")
        ensure(s.rows("select count(), sum(b) from whole") == [[1000001, 500001500002]], "another table, after a restart")
        ensure(s.rows("select a from cut where ts >= '2024-01-01'") == [[1]], "another part of the table, after a restart")


@check
def an_archive_that_cannot_be_written():
    with tempfile.TemporaryDirectory() as d:
        blocked = pathlib.Path(d) / "archive"
        blocked.write_text("in the way")
        with Server(env={"ALMANAC_WAL_ARCHIVE_DIR": str(blocked), "ALMANAC_WAL_ARCHIVE_INTERVAL": "200ms", "ALMANAC_WAL_SEGMENT_SIZE": "1m"}) as s:
            s.exec("create table f (n long, v varchar, ts timestamp) timestamp(ts) partition by day")
            before = processor_seconds(s)
            for i in range(20):
                s.exec(f"insert into f select x, rpad('a', 500, 'b'), x::timestamp from long_sequence(1000)")
            ensure(s.rows("select count() from f") == [[20000]], "rows")
            time.sleep(1.5)
            ensure(processor_seconds(s) - before < 3, "a busy loop")
            ensure("archive" in s.tail(), f"the log does not say so: {s.tail()[-300:]}")
            blocked.unlink()
            blocked.mkdir()
            soon(lambda: any(p.is_file() for p in blocked.rglob("*")), "the archive does not go on", 10)


@check
def a_backup_folder_that_cannot_be_written():
    with tempfile.TemporaryDirectory() as d:
        blocked = pathlib.Path(d) / "backup"
        blocked.write_text("in the way")
        with Server(env={"ALMANAC_CAIRO_SQL_BACKUP_ROOT": str(blocked)}) as s:
            s.exec("create table f (n long, ts timestamp) timestamp(ts) partition by day")
            s.exec("insert into f select x, x::timestamp from long_sequence(1000)")
            for sql in ("backup database", "backup table f"):
                try:
                    s.exec(sql)
                    ensure(False, f"{sql} worked")
                except RuntimeError as e:
                    ensure(str(blocked) in str(e), str(e))
            ensure(write_line(s, "f", 1) == 204, "writes")
            blocked.unlink()
            blocked.mkdir()
            s.exec("backup database")
            ensure(any(p.is_file() for p in blocked.rglob("*")), "no backup though there is a folder")


if __name__ == "__main__":
    main_alone(__doc__)
