"""Answers of the PostgreSQL wire, and connections of drivers, where they are installed."""
import asyncio

from lib.checks import Skip
from lib.pgclient import cells

try:
    import psycopg
except ImportError:
    psycopg = None
try:
    import asyncpg
except ImportError:
    asyncpg = None


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
