#!/usr/bin/env python3
"""Start, stop and recovery of large directories: how long each takes, and the memory of the server behind it.

    scale.py [--rows N] [--tables N] [--partitions N] [--log BYTES] [--only rows,tables,partitions] [--json FILE]

rows:       one table of 100,000,000 rows in daily partitions, in the order of time
tables:     10,000 tables of four columns with 10 rows each, made by line protocol
partitions: one table of 200,000 partitions of one row

Of each: a clean stop, a start, a query that every table or partition answers, a second start, and a kill while the log holds
--log bytes (100 MB) of rows that no checkpoint has taken, half of them late; then the start that recovers. A start is over when
the server has said where it listens. Times are wall / processor seconds of the server; other load on the machine moves the second less.
Memory is the resident set / that without pages of files.
"""
import argparse, http.client, json, os, pathlib, shutil, sys, tempfile, time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "test"))
from server import Server  # noqa: E402

ENV = {"ALMANAC_QUERY_TIMEOUT": "1h", "ALMANAC_METRICS_ENABLED": "true"}
# while the log is filled: nothing is flushed, and no checkpoint takes rows out of the log
LASTING = {"ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "8g", "ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "4g", "ALMANAC_STORAGE_HEAD_BYTES_MAX": "4g"}
DAY_US = 86_400_000_000


def used_seconds(s):
    user, system = pathlib.Path(f"/proc/{s.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory_mb(s):
    """(all that is resident, that without pages of files)"""
    return tuple(round(n / 1e6) for n in s.resident_bytes())


def log_written(s):
    text = s.get("/metrics")[2].decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("almanac_wal_bytes_total"))


def disk_bytes(root):
    """Of everything but the log, whose segments are allocated ahead."""
    return sum(p.stat().st_blocks * 512 for p in root.rglob("*") if p.is_file() and p.suffix != ".wal")


def exec_long(s, sql):
    status, _, body = s.get("/exec", query=sql, timeout=7200)
    if status != 200:
        raise RuntimeError(f"{sql[:80]}: {body[:300]}")


class Lines:
    """Requests of lines over one connection."""

    def __init__(self, s):
        host, port = s.http.rsplit(":", 1)
        self.c = http.client.HTTPConnection(host, int(port), timeout=7200)

    def send(self, text):
        self.c.request("POST", "/write", text)
        r = self.c.getresponse()
        body = r.read()
        if r.status != 204:
            raise RuntimeError(f"{r.status}: {body[:300]}")


class Rows:
    """What the kind of directory is, how it is made, and rows that go into its log."""

    name, what = "rows", "one table of {n:,} rows"

    def __init__(self, n):
        self.n = n

    def make(self, s):
        exec_long(s, f"create table big as (select (1704067200000000 + x * 86400)::timestamp ts, 'S' || (x % 100) sym, x % 1000 / 10.0 price, x amount "
                     f"from long_sequence({self.n})), cast(sym as symbol) timestamp(ts) partition by day")

    def query(self, s):
        assert s.rows("select count(), max(price) from big where amount >= 0")[0][0] >= self.n

    def line(self, k, late):
        """Line k of a request: the time of late ones is that of rows there are already."""
        day = k % 30 if late else self.n // 1_000_000 + 1
        return f"big,sym=S{k % 100} price={k % 1000}.5,amount={k}i {(1704067200000000 + day * DAY_US + k % 80000 * 1_000_000 + k // 80000) * 1000}\n"


class Tables(Rows):
    name, what = "tables", "{n:,} tables of 10 rows"

    def make(self, s):
        lines = Lines(s)
        for first in range(0, self.n, 500):
            lines.send("".join(f"t{t},sym=S{r} price={r}.5,amount={r}i {(1704067200000000 + r * 1_000_000) * 1000}\n"
                               for t in range(first, min(first + 500, self.n)) for r in range(10)))

    def query(self, s):
        for t in range(0, self.n, max(1, self.n // 500)):
            assert s.rows(f"select count() from t{t}")[0][0] >= 10

    def line(self, k, late):
        return f"t{k % self.n},sym=S{k % 10} price={k % 1000}.5,amount={k}i {(1704067200000000 + (5 if late else 100 + k) * 1_000_000) * 1000}\n"


class Partitions(Rows):
    name, what = "partitions", "one table of {n:,} partitions of one row"

    def make(self, s):
        exec_long(s, "create table parts as (select (x * 3600000000L)::timestamp ts, 'S' || (x % 10) sym, x / 10.0 price, x amount "
                     f"from long_sequence({self.n})), cast(sym as symbol) timestamp(ts) partition by hour")

    def query(self, s):
        assert s.rows("select count(), sum(amount) from parts")[0][0] >= self.n

    def line(self, k, late):
        hour = k % 5000 if late else self.n + 1
        return f"parts,sym=S{k % 10} price={k % 1000}.5,amount={k}i {(hour * 3_600_000_000 + k * 1000) * 1000}\n"


def timed(s, work):
    """(wall seconds, processor seconds) of the server."""
    before = used_seconds(s) if s.process is not None else 0
    begin = time.monotonic()
    work()
    wall = time.monotonic() - begin
    return round(wall, 2), round(used_seconds(s) - before, 2) if s.process is not None else None


def fill_log(s, kind, want):
    """Rows until so many bytes have gone into the log; (their bytes, rows)."""
    lines, k, begin = Lines(s), 0, log_written(s)
    while log_written(s) - begin < want:
        lines.send("".join(kind.line(k + i, i % 2 == 1) for i in range(20000)))
        k += 20000
    return log_written(s) - begin, k


def measure(kind, log_bytes, work):
    root = pathlib.Path(tempfile.mkdtemp(prefix=f"almanac-scale-{kind.name}-", dir=work))
    row = {"what": kind.what.format(n=kind.n)}
    try:
        s = Server(root=root, env=ENV)
        s.start()
        begin = time.monotonic()
        kind.make(s)
        row["made"] = round(time.monotonic() - begin, 1)
        row["stop after it was made"], _ = timed(s, s.stop)
        row["disk MB"] = round(disk_bytes(root) / 1e6)
        row["start"] = timed(s, s.start)
        row["MB after the start"] = memory_mb(s)
        row["first query"] = timed(s, lambda: kind.query(s))
        row["query again"] = timed(s, lambda: kind.query(s))
        row["MB after it"] = memory_mb(s)
        row["stop"], _ = timed(s, s.stop)
        s.env = {**ENV, **LASTING}
        s.start()
        written, row["rows in the log"] = fill_log(s, kind, log_bytes)
        s.kill()
        row["log MB"] = round(written / 1e6)
        row["recovery"] = timed(s, lambda: s.start(wait=600))
        row["MB after recovery"] = memory_mb(s)
        kind.query(s)
        row["stop after recovery"], _ = timed(s, s.stop)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return row


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", type=int, default=100_000_000)
    ap.add_argument("--tables", type=int, default=10_000)
    ap.add_argument("--partitions", type=int, default=200_000)
    ap.add_argument("--log", type=int, default=100_000_000)
    ap.add_argument("--only", default="rows,tables,partitions")
    ap.add_argument("--work", default=None)
    ap.add_argument("--json")
    o = ap.parse_args()
    kinds = [Rows(o.rows), Tables(o.tables), Partitions(o.partitions)]
    result = []
    for kind in kinds:
        if kind.name not in o.only.split(","):
            continue
        row = measure(kind, o.log, o.work)
        result.append(row)
        print("\n  ".join(f"{k}: {v if not isinstance(v, tuple) else ' / '.join(map(str, v))}" for k, v in row.items()), flush=True)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
