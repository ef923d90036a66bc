#!/usr/bin/env python3
"""Ingestion side by side: every peer does the same work in turn, round after round; the best round counts.

    ingest.py --data DIR --url http://127.0.0.1:9000 --pg HOST:PORT --ilp HOST:PORT [--ref-url … --ref-pg … --ref-ilp …]
              [--postgres HOST:PORT] [--syncs FILE] [--only ilp,csv,values,commits,after-late] [--rounds N] [--json FILE]

Rows per second until they can be queried, and processor seconds of the server for the same work (the figure that other load on
the machine moves least). Rounds are interleaved: a slow minute of the machine meets every peer.

Which peer waits for the disk before it acknowledges: the target always; PostgreSQL with synchronous_commit = on (its default); the
reference does not sync in its default configuration; DuckDB syncs at the end of a COPY.
"""
import argparse, json, pathlib, random, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import datagen, engines as E  # noqa: E402
from pgwire import Pg  # noqa: E402

COLUMNS = ", ".join(E.INGEST)
QUERIES = ("select sum(price), max(amount) from {}", "select symbol, avg(price), count() from {}", "select ts, avg(price) from {} sample by 1m",
           "select ts, symbol, sum(amount) from {} sample by 5m", "select * from {} latest on ts partition by symbol",
           "select count() from {} where symbol = 'BTC-USD' and price > 100",
           "select * from {} where ts between '2024-01-01T03:00' and '2024-01-01T03:05'",
           "select ts, price, avg(price) over (partition by symbol order by ts rows 10 preceding) from {} limit -5",
           "select count() from {} a asof join {} b on (symbol)", "select * from {} order by ts desc limit 100", "select * from {} order by price desc limit 10")


def ordered_and_late(data):
    """Two lists of lines; in the second a tenth of them comes late: by 500, 20,000 or 200,000 rows."""
    lines = (pathlib.Path(data) / "ingest.ilp").read_bytes().splitlines(keepends=True)
    rnd = random.Random(1)
    keyed = [(i if rnd.random() > 0.1 else i + rnd.choice((500, 20_000, 200_000)), i) for i in range(len(lines))]
    return lines, [lines[i] for _, i in sorted(keyed)]


def packed(lines, size):
    out, one, n = [], [], 0
    for line in lines:
        one.append(line)
        n += len(line)
        if n >= size:
            out.append(b"".join(one))
            one, n = [], 0
    return out + ([b"".join(one)] if one else [])


class Run:
    def __init__(self, o):
        self.o, self.doc = o, {}
        opt = argparse.Namespace(data=o.data, threads=2, timeout=900)
        self.servers = {"target": E.Rest(opt, "target", o.url, address(o.pg), address(o.ilp), None, None)}
        if o.ref_url:
            self.servers["questdb"] = E.Rest(opt, "questdb", o.ref_url, address(o.ref_pg), address(o.ref_ilp), None, None)
        for s in self.servers.values():
            s.start()
        self.postgres_pid = E.listener(address(o.postgres)[1]) if o.postgres else None

    def row(self, what, peer, rows, seconds, cpu, **more):
        """Keeps the best round of a peer."""
        best = self.doc.setdefault(what, {}).setdefault(peer, {"rate": 0, "cpu": 1e9})
        if rows / seconds > best["rate"]:
            best.update(more)
        best.update(rate=max(best["rate"], rows / seconds), cpu=min(best["cpu"], cpu))
        print(f"{what:24}{peer:12}{rows / seconds / 1e3:10.1f} k/s {cpu:8.2f} s cpu  {more or ''}", file=sys.stderr, flush=True)

    def timed(self, what, peer, pid, rows, work, **more):
        cpu, start = E.cpu_seconds(pid), time.perf_counter()
        extra = work() or {}
        self.row(what, peer, rows, time.perf_counter() - start, E.cpu_seconds(pid) - cpu, **more, **extra)

    # -------------------------------------------------------------------- line protocol
    def send(self, server, table, how, pieces, rows):
        if how == "http":
            for p in pieces:
                status, data, _ = server.call("POST", "/write?precision=n", p)
                if status not in (200, 204):
                    raise E.Failed(f"/write: {status} {data[:200]!r}")
        else:
            s = E.socket.create_connection(server.ilp_at, timeout=300)
            for p in pieces:
                s.sendall(p)
            s.close()
        server.settle(table, rows)

    def ilp(self):
        kinds = dict(zip(("in order", "late"), ordered_and_late(self.o.data)))
        for _ in range(self.o.rounds):
            for kind, lines in kinds.items():
                for how, size in (("http", 8 << 20), ("tcp", 1 << 20)):
                    pieces = packed(lines, size)
                    for name, server in self.servers.items():
                        server.fresh("ingest_ilp")
                        server.c = None  # over the old connection the reference writes into the table that was dropped
                        self.timed(f"ilp {how}, {kind}", name, server.pid(), len(lines), lambda: self.send(server, "ingest_ilp", how, pieces, len(lines)))

    # ----------------------------------------------------------------------------- CSV
    def csv(self):
        path, rows = pathlib.Path(self.o.data) / "ingest.csv", E.parquet_rows(pathlib.Path(self.o.data) / "ingest.parquet")
        if self.o.csv_copies > 1:
            path, rows = self.longer_csv(path), rows * self.o.csv_copies
        for _ in range(self.o.rounds):
            for name, server in self.servers.items():
                server.exec("drop table if exists ingest_csv")
                server.create("ingest_csv", E.INGEST)

                def work():
                    server.imp("ingest_csv", path)
                    server.settle("ingest_csv", rows)
                self.timed("csv import", name, server.pid(), rows, work)
                server.exec("drop table ingest_csv")
            with tempfile.TemporaryDirectory(dir=self.o.work) as d:
                code = ("import duckdb, time, resource, sys; c = duckdb.connect(sys.argv[1], config={'threads': 2}); c.execute('set enable_progress_bar = false'); "
                        "c.execute('create table t (ts timestamp, symbol varchar, side varchar, price double, amount double)'); "
                        "r = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2]); a = time.perf_counter(); b = r(); "
                        "c.execute(\"copy t from '%s' (format csv, header)\" % sys.argv[2]); c.execute('checkpoint'); "
                        "print(time.perf_counter() - a, r() - b, c.execute('select count(*) from t').fetchone()[0])")
                out = subprocess.run([sys.executable, "-c", code, f"{d}/d.db", str(path)], capture_output=True, text=True)
                if out.returncode == 0:
                    seconds, cpu, n = map(float, out.stdout.split())
                    self.row("csv import", "duckdb", n, seconds, cpu)

    def longer_csv(self, path):
        """The file several times over: gigabytes."""
        out = pathlib.Path(self.o.work) / f"ingest-{self.o.csv_copies}.csv"
        if not out.exists():
            head, body = path.read_bytes().split(b"\n", 1)
            with open(out, "wb") as f:
                f.write(head + b"\n")
                for _ in range(self.o.csv_copies):
                    f.write(body)
        return out

    # -------------------------------------------------------------------- SQL over PG wire
    def sql_peers(self):
        for name, server in self.servers.items():
            yield name, lambda: Pg(*server.pg_at, timeout=300), f"({COLUMNS}) timestamp(ts) partition by day", server.pid()
        if self.o.postgres:
            yield ("postgres", lambda: Pg(*address(self.o.postgres), "postgres", "", "postgres", timeout=300),
                   "(ts timestamp, symbol text, side text, price float8, amount float8)", self.postgres_pid)

    def values(self, n=100_000, per=1000):
        import pyarrow.parquet as papq
        t = papq.read_table(pathlib.Path(self.o.data) / "ingest.parquet").slice(0, n).to_pydict()
        vals = [f"('{a:%Y-%m-%dT%H:%M:%S.%fZ}','{b}','{c}',{d!r},{e!r})" for a, b, c, d, e in zip(*t.values())]
        statements = ["insert into ingest_values values " + ",".join(vals[i:i + per]) for i in range(0, len(vals), per)]
        for _ in range(self.o.rounds):
            for name, connect, columns, pid in self.sql_peers():
                c = connect()
                c.query("drop table if exists ingest_values")
                c.query(f"create table ingest_values {columns}")
                self.timed("values of 1000 rows", name, pid, len(vals), lambda: [c.query(s) for s in statements] and None)
                c.query("drop table ingest_values")
                c.close()

    def commits(self):
        gen = pathlib.Path(self.o.work) / "loadgen"
        subprocess.run(["cc", "-O2", "-o", gen, HERE / "loadgen.c"], check=True)
        for _ in range(self.o.rounds):
            for name, connect, columns, pid in self.sql_peers():
                if name == "questdb":
                    continue  # does not sync
                c = connect()
                c.query("drop table if exists commits")
                c.query(f"create table commits {columns}")
                host, port = c.s.getpeername()[:2]
                login = ["postgres", "", "postgres"] if name == "postgres" else []
                sql = "insert into commits values (now(), 'BTC-USD', 'buy', 1.5, 2.5)"
                for n in (1, 64):
                    syncs, start, cpu = self.syncs(name, c), time.perf_counter(), E.cpu_seconds(pid)
                    out = subprocess.run([gen, "pgx", host, str(port), str(n), str(self.o.seconds), sql, *login], capture_output=True, text=True)
                    if out.returncode:
                        raise E.Failed(out.stderr)
                    rate, p50, p99, _, _ = map(float, out.stdout.split())
                    seconds = time.perf_counter() - start
                    done = rate * seconds
                    more = {"p50_us": p50, "p99_us": p99}
                    now = self.syncs(name, c)
                    if now is not None and now > syncs:
                        more["commits_per_sync"] = round(done / (now - syncs), 1)
                    self.row(f"commits, {n} writers", name, done, seconds, (E.cpu_seconds(pid) - cpu) / done * 1e6, **more)
                c.query("drop table commits")
                c.close()

    def syncs(self, name, c):
        if name == "postgres":
            return int(c.query("select wal_sync from pg_stat_wal")[2][0][0])
        if self.o.syncs:
            return int.from_bytes(pathlib.Path(self.o.syncs).read_bytes()[:8], "little")
        return None

    # ------------------------------------------------------------------ reads after late rows
    def after_late(self):
        """Each round stores the rows anew, in order and with late ones, and asks at once: both tables are in the same state then."""
        server = self.servers["target"]
        pieces = [packed(lines, 8 << 20) for lines in ordered_and_late(self.o.data)]
        rows, best = sum(p.count(b"\n") for p in pieces[0]), {}
        for _ in range(max(5, self.o.rounds)):
            for kind, sent in zip(("ordered", "late"), pieces):
                server.fresh("ingest_ilp")
                self.send(server, "ingest_ilp", "http", sent, rows)
                for q in QUERIES:
                    for _ in range(3):
                        start = time.perf_counter()
                        server.exec(q.replace("{}", "ingest_ilp"))
                        best[q, kind] = min(best.get((q, kind), 9e9), time.perf_counter() - start)
        ratios = []
        for q in QUERIES:
            ordered, late = best[q, "ordered"], best[q, "late"]
            ratios.append(late / ordered)
            print(f"{ratios[-1]:6.2f} {ordered * 1e3:8.2f} {late * 1e3:8.2f} ms  {q}", file=sys.stderr, flush=True)
            self.doc.setdefault("reads after late rows", {})[q] = {"ordered": ordered, "late": late}
        mean = 1.0
        for r in ratios:
            mean *= r ** (1 / len(ratios))
        print(f"reads right after 10 % late rows: geometric mean {mean:.2f} of the time without, worst {max(ratios):.2f}")


def address(s):
    h, p = s.rsplit(":", 1)
    return h, int(p)


def report(doc):
    for what, peers in doc.items():
        if what.startswith("reads"):
            continue
        target = peers["target"]
        print(what)
        for name, r in peers.items():
            more = ", ".join(f"{k} {v:g}" for k, v in r.items() if k not in ("rate", "cpu"))
            print(f"    {name:12}{r['rate']:12.0f}/s  target is {target['rate'] / r['rate']:5.2f} times as fast; cpu {r['cpu']:.2f}  {more}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", required=True, help="data sets of datagen.py; `ingest` is made when it is not there")
    ap.add_argument("--work", default="bench-work")
    ap.add_argument("--url", required=True)
    ap.add_argument("--pg", required=True)
    ap.add_argument("--ilp", required=True)
    ap.add_argument("--ref-url")
    ap.add_argument("--ref-pg")
    ap.add_argument("--ref-ilp")
    ap.add_argument("--postgres")
    ap.add_argument("--syncs", help="file in which the target's syncs are counted (test/lib/preload/sync_count.c)")
    ap.add_argument("--only", default="ilp,csv,values,commits,after-late")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=int, default=5, help="of each run of commits")
    ap.add_argument("--csv-copies", type=int, default=15, help="how many times over the CSV file is taken")
    ap.add_argument("--json")
    o = ap.parse_args()
    pathlib.Path(o.work).mkdir(parents=True, exist_ok=True)
    datagen.make(o.data, 1.0, ["trades"])
    run = Run(o)
    for what in o.only.split(","):
        getattr(run, what.replace("-", "_"))()
    report(run.doc)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(run.doc, indent=1))


if __name__ == "__main__":
    main()
