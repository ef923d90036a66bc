"""What the tests of the PostgreSQL wire have alike: a list of checks with one server, and how to read answers.

A file of checks takes `check` from here and ends with main(). Checks that need a driver which is not installed say so and
are skipped.
"""
import argparse, asyncio, sys, time

from lib.pgclient import cells, fields  # noqa: F401
from lib.server import Server

try:
    import psycopg
except ImportError:
    psycopg = None
try:
    import asyncpg
except ImportError:
    asyncpg = None

CHECKS = []


class Skip(Exception):
    pass


def check(f):
    CHECKS.append(f)
    return f


def expect(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def text(rows):
    return [[None if c is None else c.decode() for c in r] for r in rows]


def data_rows(answer):
    return [cells(b) for k, b in answer if k == "D"]


def tags(answer):
    return [b[:-1].decode() for k, b in answer if k == "C"]


def kinds(answer):
    return "".join(k for k, _ in answer)


def state(answer):
    return answer[-1][1].decode()


def pg(s, **more):
    if psycopg is None:
        raise Skip("psycopg is not installed")
    return psycopg.connect(s.pg_dsn(), **more)


def with_asyncpg(s, body):
    if asyncpg is None:
        raise Skip("asyncpg is not installed")

    async def run():
        host, port = s.pg.rsplit(":", 1)
        c = await asyncpg.connect(host=host, port=int(port), user="admin", password="quest", database="qdb", ssl=False)
        try:
            await asyncio.wait_for(body(c), 120)
        finally:
            await c.close()
    asyncio.run(run())


SLOW = "select sum(x % 7) from long_sequence(1000000000000)"
STREAM = "select x, x * 1.5, 'some text here' from long_sequence(100000000000)"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--preset", default="release", help="build directory under build/")
    ap.add_argument("names", nargs="*")
    o = ap.parse_args()
    passed = failed = 0
    with Server(preset=o.preset) as s:
        s.preset = o.preset
        s.nightly = o.nightly
        s.sanitized = "asan" in o.preset or "tsan" in o.preset
        for f in CHECKS:
            if o.names and f.__name__ not in o.names:
                continue
            start = time.monotonic()
            try:
                f(s)
                passed += 1
            except Skip as e:
                print(f"skipped: {f.__name__}: {e}", flush=True)
            except Exception as e:
                failed += 1
                print(f"{f.__name__}: {type(e).__name__}: {e}", flush=True)
                if s.process.poll() is not None:
                    print(f"the server ended: {s.tail()}", flush=True)
                    break
            if time.monotonic() - start > 10:
                print(f"{f.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
