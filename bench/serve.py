#!/usr/bin/env python3
"""Ways out side by side: every peer does the same work in turn, round after round; the best round counts.

    serve.py --data DIR --url http://127.0.0.1:9000 --pg HOST:PORT [--ref-url … --ref-pg …] [--postgres HOST:PORT]
             [--only exports,points,latency] [--rounds N] [--json FILE]

exports: 1,000,000 rows as CSV, JSON, PG text and PG binary, thrown away as fast as the socket gives them.
points:  requests per second and latencies on 8 and 32 connections, each with one request in flight (loadgen.c). `bound` is a
         server that answers every request with the same bytes (canned.c): what machine and loadgen let through at all.
latency: `select 1` every 20 ms over HTTP and PG, first alone, then beside four connections that run heavy queries without a pause.

Beside the wall time stands the processor time of the server, the figure that other load on the machine moves least; the
programs that ask take their part of the same cores.
"""
import argparse, http.client, json, os, pathlib, socket, struct, subprocess, sys, threading, time, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import datagen, engines as E  # noqa: E402
from pgwire import Pg, _msg  # noqa: E402
from ingest import address  # noqa: E402

EXPORT = "select ts, symbol, side, price, amount from trades1m"
POINTS = {"select 1": "select 1",
          "a minute of a symbol": "select ts, side, price, amount from trades1m where symbol = 'BTC-USD' and ts in '2024-01-15T10:30'",
          "last of a symbol": "select ts, price from trades1m where symbol = 'ETH-USD' order by ts desc limit 1"}
PARAMETERS = {"a minute of a symbol, parameters": ("select ts, side, price, amount from trades1m where symbol = $1 and ts >= $2 and ts < $3",
                                                   ["BTC-USD|ETH-USD|BTC-USD", "2024-01-15T10:30:00.000000Z|2024-01-16T10:30:00.000000Z", "2024-01-15T10:31:00.000000Z|2024-01-16T10:31:00.000000Z"]),
              "last of a symbol, parameters": ("select ts, price from trades1m where symbol = $1 order by ts desc limit 1", ["BTC-USD|ETH-USD"])}
HEAVY = "select symbol, side, {count}, sum(price * amount), stddev(price) from trades1m cross join (select x from {numbers}) n where price > x group by symbol, side"
DIALECT = {"postgres": {"count": "count(*)", "numbers": "generate_series(1, 200) x"}}
DIALECT_ELSE = {"count": "count()", "numbers": "long_sequence(200)"}


def drain(s, request, is_end, tail_bytes=8):
    """Sends a request and throws the answer away; its bytes."""
    s.sendall(request)
    total, tail, view = 0, b"", bytearray(1 << 20)
    while not is_end(tail):
        n = s.recv_into(view)
        if not n:
            raise E.Failed("the connection was closed")
        if total == 0 and view[:5] == b"HTTP/" and view[9:12] != b"200":
            raise E.Failed(bytes(view[:300]).decode(errors="replace"))
        if total == 0 and view[:1] == b"E":
            raise E.Failed(bytes(view[5:300]).decode(errors="replace"))
        total += n
        tail = (tail + bytes(view[max(0, n - tail_bytes):n]))[-tail_bytes:]
    return total


def http_end(tail):
    return tail.endswith((b"\r\n0\r\n\r\n", b"\r\n00\r\n\r\n"))


def pg_end(tail):
    return tail[-6:-1] == b"Z\0\0\0\5"


def get(path, **params):
    return f"GET {path}?{urllib.parse.urlencode(params)} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def binary(sql):
    return (_msg(b"P", b"\0" + sql.encode() + b"\0\0\0") + _msg(b"B", b"\0\0" + struct.pack("!HHHH", 0, 0, 1, 1)) +
            _msg(b"D", b"P\0") + _msg(b"E", b"\0" + struct.pack("!I", 0)) + _msg(b"S", b""))


class Peer:
    def __init__(self, name, pg, http=None, user="admin", database="qdb"):
        self.name, self.pg, self.http, self.user, self.database = name, pg, http, user, database
        self.pid = E.listener((http or pg)[1])

    def web(self):
        s = socket.create_connection(self.http, timeout=600)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def wire(self):
        return Pg(*self.pg, user=self.user, database=self.database, timeout=600).s

    def exports(self):
        out = {"pg text": (self.wire, _msg(b"Q", EXPORT.encode() + b"\0"), pg_end), "pg binary": (self.wire, binary(EXPORT), pg_end)}
        if self.http:
            out = {"csv": (self.web, get("/exp", query=EXPORT), http_end), "json": (self.web, get("/exec", query=EXPORT), http_end), **out}
        return out

    def heavy(self):
        return HEAVY.format(**DIALECT.get(self.name, DIALECT_ELSE))


class Run:
    def __init__(self, o):
        self.o, self.doc, self.peers = o, {}, []
        opt = argparse.Namespace(data=o.data, threads=2, timeout=900)
        for name, url, pg in (("target", o.url, o.pg), ("questdb", o.ref_url, o.ref_pg)):
            if url:
                u = urllib.parse.urlsplit(url)
                rest = E.Rest(opt, name, url, address(pg), None, None, None)
                self.load(rest)
                self.peers.append(Peer(name, address(pg), (u.hostname, u.port)))
        if o.postgres:
            p = E.Postgres(opt, address(o.postgres))
            p.start()
            p.load_table("trades1m")
            self.peers.append(Peer("postgres", address(o.postgres), user="postgres", database="postgres"))

    @staticmethod
    def load(rest):
        rows = E.parquet_rows(rest.data / "trades1m.parquet")
        try:
            if rest.count("trades1m") == rows:
                return
        except E.Failed:
            pass
        rest.exec("drop table if exists trades1m")
        rest.create("trades1m")
        rest.imp("trades1m", rest.csv_file("trades1m"))
        rest.settle("trades1m", rows)

    def keep(self, what, peer, better, **figures):
        best = self.doc.setdefault(what, {}).setdefault(peer, figures)
        if better(figures, best):
            best.update({k: v for k, v in figures.items() if k != "cpu"})
        best["cpu"] = min(best["cpu"], figures["cpu"])
        print(f"{what:42}{peer:10}" + "  ".join(f"{k} {v:,.6g}" for k, v in figures.items()), file=sys.stderr, flush=True)

    # ------------------------------------------------------------------------------------------------- exports
    def exports(self):
        for _ in range(self.o.rounds):
            for kind in ("csv", "json", "pg text", "pg binary"):
                for p in self.peers:
                    if kind not in p.exports():
                        continue
                    connect, request, is_end = p.exports()[kind]
                    with connect() as s:
                        time.sleep(0.2)
                        cpu, start = E.cpu_seconds(p.pid), time.perf_counter()
                        size = drain(s, request, is_end)
                        took = time.perf_counter() - start
                        self.keep(f"export {kind}", p.name, lambda a, b: a["rate"] > b["rate"], rate=1e6 / took, cpu=E.cpu_seconds(p.pid) - cpu, MB=size / 1e6)

    # -------------------------------------------------------------------------------------------------- points
    def points(self):
        work = pathlib.Path(self.o.work)
        for name in ("loadgen", "canned"):
            subprocess.run(["cc", "-O2", "-o", str(work / name), str(HERE / f"{name}.c"), "-lpthread"], check=True)
        canned = subprocess.Popen([str(work / "canned")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        at = ("127.0.0.1", int(canned.stdout.readline()))
        bound = Peer("bound", at, at)
        questions = [(what, sql, mode, ()) for what, sql in POINTS.items() for mode in ("http", "pg", "pgx")]
        questions += [(what, sql, "pgx", values) for what, (sql, values) in PARAMETERS.items()]
        try:
            for _ in range(self.o.rounds):
                for what, sql, mode, values in questions:
                    for n in (8, 32):
                        for p in self.peers + ([bound] if what == "select 1" else []):
                            at = p.http if mode == "http" else p.pg
                            text = sql if p.name != "postgres" else sql.replace("ts in '2024-01-15T10:30'", "ts >= '2024-01-15 10:30' and ts < '2024-01-15 10:31'")
                            if at:
                                self.point(work / "loadgen", p, mode, at, n, what, text, values)
        finally:
            canned.stdin.close()
            canned.wait()

    def point(self, exe, p, mode, at, n, what, sql, values):
        cpu = E.cpu_seconds(p.pid)
        done = subprocess.run([str(exe), mode, at[0], str(at[1]), str(n), str(self.o.seconds), sql, p.user, "quest", p.database, *values], capture_output=True, text=True)
        if done.returncode:
            raise E.Failed(f"{p.name} {mode} x{n}: {done.stderr[:300]}")
        v = [float(x) for x in done.stdout.split()]
        each = (E.cpu_seconds(p.pid) - cpu) / max(1, v[0] * self.o.seconds)
        self.keep(f"{what}, {mode} x{n}", p.name, lambda a, b: a["rate"] > b["rate"], rate=v[0], cpu=each * 1e6, client_cpu=v[5], p50_us=v[1], p99_us=v[2], max_us=v[3])

    # ------------------------------------------------------------------------------------------------- latency
    def latency(self):
        for p in self.peers:
            for way in (["http"] if p.http else []) + ["pg"]:
                for load in (0, 4):
                    figures = self.probed(p, way, load)
                    self.keep(f"select 1 over {way}, {load} heavy", p.name, lambda a, b: a["p99_ms"] < b["p99_ms"], **figures)

    def probed(self, p, way, load):
        stop, done = threading.Event(), []
        threads = [threading.Thread(target=self.heavy, args=(p, stop, done), daemon=True) for _ in range(load)]
        for t in threads:
            t.start()
        time.sleep(1 if load else 0)
        connect, request, is_end = (p.web, get("/exec", query="select 1"), http_end) if way == "http" else (p.wire, _msg(b"Q", b"select 1\0"), pg_end)
        seen, cpu, end = [], E.cpu_seconds(p.pid), time.monotonic() + self.o.seconds * 3
        with connect() as s:
            while time.monotonic() < end or len(seen) < 5:
                start = time.perf_counter()
                if way == "http" and p.name == "target":
                    self.small_answer(s, request)
                else:
                    drain(s, request, is_end)
                seen.append((time.perf_counter() - start) * 1e3)
                time.sleep(0.02)
        stop.set()
        cpu = E.cpu_seconds(p.pid) - cpu
        for t in threads:
            t.join(600)
        seen.sort()
        return {"p50_ms": seen[len(seen) // 2], "p99_ms": seen[int(len(seen) * 0.99)], "max_ms": seen[-1], "heavy_done": len(done), "cpu": cpu}

    @staticmethod
    def small_answer(s, request):
        """An answer with a Content-Length or one that is chunked."""
        s.sendall(request)
        r = http.client.HTTPResponse(s)
        r.begin()
        if r.status != 200:
            raise E.Failed(f"status {r.status}")
        r.read()

    @staticmethod
    def heavy(p, stop, done):
        with p.wire() as s:
            while not stop.is_set():
                drain(s, _msg(b"Q", p.heavy().encode() + b"\0"), pg_end)
                done.append(1)


def report(doc):
    for what, peers in doc.items():
        print(what)
        target = peers["target"]
        for name, r in peers.items():
            ratio = f"target {target['rate'] / r['rate']:5.2f} times as fast, cpu {r['cpu'] / max(target['cpu'], 1e-9):5.2f} times the target's" if "rate" in r else ""
            if name == "bound":
                ratio = f"target at {target['rate'] / r['rate']:.0%} of it; a server twice as fast as the target would be at {2 * target['rate'] / r['rate']:.0%}"
            print(f"    {name:10}" + "  ".join(f"{k} {v:,.4g}" for k, v in r.items()) + "  " + ratio)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", required=True, help="data sets of datagen.py; made when they are not there")
    ap.add_argument("--work", default="bench-work")
    ap.add_argument("--url", required=True)
    ap.add_argument("--pg", required=True)
    ap.add_argument("--ref-url")
    ap.add_argument("--ref-pg")
    ap.add_argument("--postgres")
    ap.add_argument("--only", default="exports,points,latency")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=float, default=3, help="of each run of points")
    ap.add_argument("--json")
    o = ap.parse_args()
    pathlib.Path(o.work).mkdir(parents=True, exist_ok=True)
    datagen.make(o.data, 1.0, ["trades"])
    run = Run(o)
    for what in o.only.split(","):
        getattr(run, what)()
    report(run.doc)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(run.doc, indent=1))


if __name__ == "__main__":
    main()
