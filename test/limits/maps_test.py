#!/usr/bin/env python3
"""A table of many partitions, more than the system lets a process map: statements over all of it, short ones beside them, and everything
else that reads its files. In CI few partitions under a lower limit (storage.maps.max), by night 200,000 under that of the system.

    maps_test.py [--nightly] [--partitions N] [NAME...]
"""
import argparse, os, pathlib, re, subprocess, tempfile, threading

from lib.checks import Suite, check, ensure
from lib.server import TOP, Server

SIZE = argparse.Namespace(partitions=1500, limit=40, env={})
TEXT = "a text of partition "  # longer than what lies in a view


def metric(s, name):
    return int(float(re.search(rf"^{name}(?:_total)? (\S+)$", s.get("/metrics")[2].decode(), re.M).group(1)))


def maps_of(s):
    with open(f"/proc/{s.process.pid}/maps") as f:
        return sum(1 for _ in f)


def descriptors_of(s):
    return len(os.listdir(f"/proc/{s.process.pid}/fd"))


def no_syncs(d):
    """A partition is a file, and each is synced: that is tested elsewhere and takes most of the time here."""
    so = f"{d}/nosync.so"
    code = "int fsync(int fd) { (void)fd; return 0; } int fdatasync(int fd) { (void)fd; return 0; }"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-o", so, "-"], input=code, text=True, check=True)
    return {"LD_PRELOAD": so}


def fill(s, n):
    """Row x in hour x since 2000; a text of its own, a symbol of ten."""
    s.exec(f"create table many as (select x, '{TEXT}' || x t, ('s' || (x % 10))::symbol s, dateadd('h', x::int, "
           f"'2000-01-01T00:00:00.000000Z') ts from long_sequence({n})) timestamp(ts) partition by hour", timeout=7200)
    s.exec("create table small (x long, ts timestamp) timestamp(ts) partition by day")
    s.exec("insert into small values (7, '2024-01-01')")


def whole(s, n, more=0):
    """Every statement over all partitions has the answer that the formula has."""
    rows = lambda sql: s.exec(sql, timeout=3600)["dataset"]
    total = n * (n + 1) // 2
    ensure(rows("select count(), sum(x), min(ts), max(x) from many") == [[n + more, total, "2000-01-01T01:00:00.000000Z", n]], "count, sum")
    years = rows("select ts, count(), sum(x) from many sample by 1y")
    ensure(sum(y[1] for y in years) == n + more and sum(y[2] or 0 for y in years) == total, "SAMPLE BY")
    by_symbol = {r[0]: (r[1], r[2]) for r in rows(f"select s, count(), sum(x) from many where x <= {n}")}
    ensure(by_symbol == {f"s{k}": (len(range(k or 10, n + 1, 10)), sum(range(k or 10, n + 1, 10))) for k in range(10)}, "GROUP BY")
    # texts are held as pointers until all rows are read
    ensure(rows("select t from many where x <= %d order by t desc limit 2" % n) ==
           [[TEXT + t] for t in sorted(map(str, range(1, n + 1)), reverse=True)[:2]], "ORDER BY")
    ensure(rows(f"select count(distinct t) from many where x <= {n}") == [[n]], "DISTINCT")
    ensure(rows(f"select x from many where x <= {n} latest on ts partition by s order by x limit 1") == [[n - 9]], "LATEST ON")


class Beside:
    """Asks for one row again and again."""

    def __init__(self, s, n):
        self.s, self.n, self.answers, self.wrong, self.stop = s, n, 0, [], False
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop:
            k = 1 + self.answers * 7919 % self.n
            try:
                one = self.s.rows(f"select x, t from many where ts = dateadd('h', {k}, '2000-01-01T00:00:00.000000Z')")
                other = self.s.rows("select x from small")
                if one != [[k, TEXT + str(k)]] or other != [[7]]:
                    self.wrong.append((k, one, other))
            except Exception as e:
                self.wrong.append((k, str(e)))
            self.answers += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        self.thread.join()


def limits_hold(s, limit):
    mapped, most = metric(s, "almanac_part_files_mapped"), metric(s, "almanac_part_files_mapped_max")
    ensure(limit in (0, most) and mapped <= most + 64, f"{mapped} files are mapped, of {most}")
    ensure(maps_of(s) < 3 * most + 2000, f"{maps_of(s)} maps, with a limit of {most} files")
    ensure(descriptors_of(s) < 300, f"{descriptors_of(s)} descriptors")


@check
def a_table_of_many_partitions():
    """Each in a file of its own, of which many are copies in memory."""
    many_partitions(SIZE.partitions, "0", "0")


@check
def a_table_of_many_partitions_that_share_files():
    many_partitions(SIZE.partitions, "0", "32k")


@check
def a_table_of_many_partitions_without_copies():
    """As of parts that are not small: each of them needs a map."""
    many_partitions(min(SIZE.partitions, 30000), "1", "0")


@check
def a_table_of_many_partitions_that_share_files_without_copies():
    many_partitions(min(SIZE.partitions, 30000), "1", "32k")


def many_partitions(n, copies, shared):
    with tempfile.TemporaryDirectory() as d:
        env = {"ALMANAC_STORAGE_MAPS_MAX": str(SIZE.limit), "ALMANAC_QUERY_TIMEOUT": "3600s", "ALMANAC_STORAGE_SMALL_MEMORY_MAX": copies,
               "ALMANAC_STORAGE_SHARED_PART_BYTES_MAX": shared,
               "ALMANAC_CAIRO_SQL_BACKUP_ROOT": f"{d}/backups", **no_syncs(d)}
        os.mkdir(f"{d}/backups")
        os.mkdir(f"{d}/data")
        with Server(root=f"{d}/data", env=env) as s:
            fill(s, n)
            with Beside(s, n) as beside:
                for _ in range(1 if n > 10000 else 5):
                    whole(s, n)
                limits_hold(s, SIZE.limit)
            ensure(not beside.wrong, f"beside: {beside.wrong[:3]}")
            ensure(beside.answers > 10, f"{beside.answers} short statements were answered beside")
            ensure(copies == "0" or metric(s, "almanac_part_files_let_go") > min(n, 5000), "no file was let go")
            ensure(copies != "0" or metric(s, "almanac_part_files_open") < n, "no file is a copy")
            s.exec("insert into many values (null, null, null, '1999-12-31')")  # memory and threads are there still
            s.exec("delete from many where x is null")
            s.exec("backup database", timeout=3600)
            s.exec("scrub table many", timeout=3600)
            s.exec("checkpoint create", timeout=3600)
            s.exec("checkpoint release", timeout=3600)
            s.exec("alter table many detach partition list '2000-01-10T05'")
            s.exec("alter table many attach partition list '2000-01-10T05'")
            whole(s, n)
            limits_hold(s, SIZE.limit)
        env.pop("LD_PRELOAD")
        with Server(root=f"{d}/data", env=env) as s:
            whole(s, n)
            limits_hold(s, SIZE.limit)
        p = subprocess.run([s.binary, "check", f"{d}/backups"], capture_output=True, text=True)
        ensure(p.returncode == 0, p.stdout + p.stderr)


@check
def a_file_that_goes_meanwhile():
    """A part that was let go, and is another file or gone when it is wanted again: an error, never other rows."""
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(f"{d}/data")
        with Server(root=f"{d}/data", env={"ALMANAC_STORAGE_MAPS_MAX": "4", "ALMANAC_STORAGE_SMALL_MEMORY_MAX": "1", "ALMANAC_STORAGE_SHARED_PART_BYTES_MAX": "0"}) as s:
            s.exec("create table many as (select x, dateadd('h', x::int, '2000-01-01T00:00:00.000000Z') ts from long_sequence(60)) "
                   "timestamp(ts) partition by hour")
            ensure(s.rows("select sum(x) from many where x % 2 = 0") == [[930]], "the rows")
            files = sorted(pathlib.Path(f"{d}/data/db/tables").glob("*/*.part"))
            ensure(len(files) == 60, f"{len(files)} files")
            os.rename(files[20], f"{files[10]}.tmp")
            os.rename(f"{files[10]}.tmp", files[10])
            for i in range(3):
                try:
                    got = s.rows("select sum(x) from many where x % 2 = 1 or x % 2 = 0")
                except RuntimeError as e:
                    ensure(files[10].name in str(e) or files[20].name in str(e), str(e))
                else:
                    raise AssertionError(f"an answer from other files: {got}")
            ensure(s.rows("select x from many where ts = '2000-01-03T02:00:00Z'") == [[50]], "a partition beside")


def main():
    suite = Suite(__doc__, add=lambda parser: parser.add_argument("--partitions", type=int))
    if suite.o.nightly:
        SIZE.partitions, SIZE.limit = 200000, 0
    SIZE.partitions = suite.o.partitions or SIZE.partitions
    suite.checks()
    suite.close()


if __name__ == "__main__":
    main()
