#!/usr/bin/env python3
"""Drivers on the PostgreSQL wire: psycopg, asyncpg, psql, pgjdbc.

    pg_drivers_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import asyncio, datetime as dt, decimal, os, pathlib, shutil, subprocess, sys, threading, uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pg_test  # noqa: E402
import pgclient  # noqa: E402
from pg_test import HERE, SLOW, Skip, asyncpg, check, expect, pg, psycopg, text, with_asyncpg  # noqa: E402

pg_test.CHECKS.clear()


# ------------------------------------------------------------------ psycopg
@check
def psycopg_types_round_trip(s):
    with pg(s, autocommit=True) as c:
        c.execute("create table pt (ts timestamp, bo boolean, sh short, i int, l long, f float, d double, s string, v varchar, sy symbol, u uuid, da date, c char, ip ipv4)"
                  " timestamp(ts) partition by day")
        row = (dt.datetime(2024, 3, 1, 9, 0, 0, 123456), True, -7, 12, 1 << 40, 1.5, 0.1, "it's \"q\" \\ ü", "text", "sym", uuid.uuid4(), dt.datetime(2024, 1, 2, 3, 4, 5, 123000), "x", "1.2.3.4")
        nulls = (dt.datetime(2024, 3, 2),) + (False, 0) + (None,) * 11
        insert = "insert into pt values (" + ",".join(["%s"] * 14) + ")"
        c.execute(insert, row)
        c.execute(insert, nulls)
        for binary in (False, True):
            got = c.execute("select * from pt", binary=binary).fetchall()
            expect(got[0], row, binary)
            expect(got[1], nulls, binary)
        insert_b = "insert into pt values (" + ",".join(["%b"] * 14) + ")"
        c.execute(insert_b, row)
        expect(c.execute("select count() from pt where u = %s and ts = %s and d = %s and l = %s and bo = %s", (row[10], row[0], 0.1, 1 << 40, True)).fetchone(), (2,))
        for value in (dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), dt.date(2024, 1, 1)):
            c.execute("insert into pt (ts, i) values (%s, %s)", (value, 5))
        expect(c.execute("select ts from pt where i = 5 order by ts").fetchall(), [(dt.datetime(2023, 12, 31, 22),), (dt.datetime(2024, 1, 1),)])
        c.execute("insert into pt (ts, d, l) values (%s, %s, %s)", (dt.datetime(2024, 5, 1), decimal.Decimal("12345.678"), 3))
        expect(c.execute("select d, l from pt where ts = '2024-05-01'").fetchone(), (12345.678, 3))


@check
def psycopg_arrays(s):
    with pg(s, autocommit=True) as c:
        c.execute("create table pa (k int, a double[], m double[][])")
        rows = [(1, [1.5, None, -2.0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), (2, None, None), (3, [], [[7.0]])]
        for row in rows[:2]:
            c.execute("insert into pa values (%s, %s::double[], %s::double[][])", row)
        c.execute("insert into pa values (%b, %b, %b)", rows[2])
        for binary in (False, True):
            expect(c.execute("select * from pa order by k", binary=binary).fetchall(), rows)
        expect(c.execute("select array_sum(%b), (%b)[2]", ([1.0, 2.5], [3.0, 4.0])).fetchone(), (3.5, 4.0))
        expect(c.execute("select k from pa where a = %b", (rows[0][1],)).fetchall(), [(1,)])


@check
def psycopg_prepares_and_reuses(s):
    with pg(s, autocommit=True) as c:
        for i in range(20):
            expect(c.execute("select %s::int + 1, %s", (i, "a"), prepare=i > 2 or None).fetchone(), (i + 1, "a"))
        c.execute("deallocate all")


@check
def psycopg_executemany_and_pipeline(s):
    with pg(s, autocommit=True) as c:
        c.execute("create table many (ts timestamp, a int, t varchar) timestamp(ts) partition by day")
        rows = [(dt.datetime(2024, 1, 1) + dt.timedelta(seconds=i), i, f"t{i}") for i in range(2000)]
        with c.cursor() as cur:
            cur.executemany("insert into many values (%s, %s, %s)", rows)
            expect(cur.rowcount, 2000)
        expect(c.execute("select count(), sum(a) from many").fetchone(), (2000, 1999000))
        with c.pipeline():
            cursors = [c.execute("select %s::long", (i,)) for i in range(500)]
        expect([cur.fetchone()[0] for cur in cursors], list(range(500)))
        try:
            with c.pipeline():
                c.execute("select 1")
                c.execute("select nope")
            raise AssertionError("no error")
        except psycopg.errors.UndefinedColumn:
            pass
        expect(c.execute("select 1").fetchone(), (1,))


@check
def psycopg_cancel_and_stream(s):
    with pg(s, autocommit=True) as c:
        threading.Timer(0.3, c.cancel).start()
        try:
            c.execute(SLOW)
            raise AssertionError("not cancelled")
        except psycopg.errors.QueryCanceled:
            pass
        n = 0
        with c.cursor() as cur:
            for row in cur.stream("select x from long_sequence(100000)"):
                n += row[0]
        expect(n, 5000050000)


@check
def psycopg_wrong_password(s):
    if psycopg is None:
        raise Skip("psycopg is not installed")
    for more in ({"password": "no"}, {"user": "nobody"}):
        try:
            psycopg.connect(s.pg_dsn(**more)).close()
            raise AssertionError("logged in")
        except psycopg.OperationalError as e:
            expect("invalid username/password" in str(e), True, e)


@check
def any_takes_arrays_of_every_type(s):
    rows = {"i int": ([7, 1 << 40, None], [8]), "l long": ([7, -1], [8]), "sh short": ([7], [8, 70000]), "d double": ([1.5, None], [2.5]), "f float": ([1.5], [2.5]),
            "v varchar": (['a,"b\\', "NULL"], ["a"]), "sy symbol": (["s", None], [""]), "bo boolean": ([True], [False]), "de decimal(10,2)": ([decimal.Decimal("1.25"), decimal.Decimal("1e20")], [decimal.Decimal("1.251")]),
            "ts timestamp": ([dt.datetime(2024, 1, 1, 0, 0, 0, 500000)], [dt.datetime(2024, 1, 1)]), "da date": ([dt.date(2024, 1, 1)], [dt.date(2024, 1, 2)]),
            "n timestamp_ns": ([dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)], [dt.datetime(2024, 1, 1, 1, tzinfo=dt.timezone.utc)]),
            "u uuid": ([uuid.UUID(int=5)], [uuid.UUID(int=6)]), "ip ipv4": (["1.2.3.4"], ["1.2.3.5"])}
    with pg(s, autocommit=True) as c:
        for column, (there, other) in rows.items():
            name = column.split()[0]
            c.execute(f"create table any_of ({column})")
            c.execute("insert into any_of values (%s)", [there[0]])
            for form in ("%t", "%b"):
                for values, want in ((there, 1), (other, 0), (other + there, 1), ([], 0)):
                    if values or form == "%b":
                        expect(c.execute(f"select count() from any_of where {name} = any({form})", [values]).fetchone(), (want,), (column, values, form))
                        expect(c.execute(f"select count() from any_of where {name} <> all({form})", [values]).fetchone(), (1 - want,), (column, values, form))
            c.execute("drop table any_of")
        expect(c.execute("select %b::bigint[]", [[1, None, 1 << 40]], binary=True).fetchone(), ([1, None, 1 << 40],))
        expect(c.execute("select %b::uuid[]", [[uuid.UUID(int=5)]], binary=True).fetchone(), ([uuid.UUID(int=5)],))


@check
def literals_are_bytea(s):
    with pg(s, autocommit=True) as c:
        c.execute("create table lb (b binary)")
        c.execute("insert into lb values ('\\x00ff5c'), (null)")
        expect(pgclient.Wire(s.pg).error(pgclient.query("insert into lb values ('abc')"))["C"], "42804")
        expect(c.execute("select b from lb", binary=True).fetchall(), [(b"\x00\xff\\",), (None,)])
        c.execute("create table la (m double[][])")
        c.execute("insert into la values (%s::double[])", [None])
        expect(c.execute("select m from la").fetchall(), [(None,)])


# ------------------------------------------------------------------ asyncpg
@check
def asyncpg_types_and_inserts(s):
    async def body(c):
        await c.execute("create table at (ts timestamp, bo boolean, sh short, i int, l long, f float, d double, s string, v varchar, sy symbol, u uuid) timestamp(ts) partition by day")
        row = (dt.datetime(2024, 3, 1, 9, 0, 0, 123456), True, -7, 12, 1 << 40, 1.5, 0.1, "ü", "text", "sym", uuid.uuid4())
        await c.execute("insert into at values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)", *row)
        expect(tuple(await c.fetchrow("select * from at")), row)
        await c.executemany("insert into at (ts, i) values ($1, $2)", [(dt.datetime(2024, 3, 2) + dt.timedelta(seconds=i), i) for i in range(1000)])
        expect(await c.fetchval("select count() from at where i < $1", 500), 501)
        expect(tuple(await c.fetchrow("select bo, sh, i, l, f, d, s, v, sy, u from at where i = 3")), (False, 0, 3) + (None,) * 7)
        st = await c.prepare("select * from at where i = $1")
        for i in range(5):
            expect(len(await st.fetch(i)), 1)
    with_asyncpg(s, body)


@check
def asyncpg_cursors_and_transactions(s):
    async def body(c):
        async with c.transaction():
            n = 0
            async for r in c.cursor("select x from long_sequence(10000)", prefetch=333):
                n += r[0]
            expect(n, 50005000)
            cur = await c.cursor("select x from long_sequence(100)")
            expect([r[0] for r in await cur.fetch(3)], [1, 2, 3])
            expect((await cur.fetchrow())[0], 4)
        await c.execute("create table atx (a int)")
        try:
            async with c.transaction():
                await c.execute("insert into atx values (1)")
                raise KeyError
        except KeyError:
            pass
        async with c.transaction(isolation="serializable", readonly=False):
            await c.execute("insert into atx values (2)")
        expect([r[0] for r in await c.fetch("select a from atx")], [2])
    with_asyncpg(s, body)


@check
def asyncpg_errors_and_timeouts(s):
    async def body(c):
        for sql, error in (("select * from nope", asyncpg.UndefinedTableError), ("select nope", asyncpg.UndefinedColumnError), ("selec 1", asyncpg.PostgresSyntaxError)):
            try:
                await c.fetch(sql)
                raise AssertionError(sql)
            except error:
                pass
        try:
            await c.fetch(SLOW, timeout=0.3)
            raise AssertionError("no timeout")
        except asyncio.TimeoutError:
            pass
        expect(await c.fetchval("select 1"), 1)
    with_asyncpg(s, body)


# ------------------------------------------------------------------ psql, pgjdbc
@check
def psql_runs_scripts(s):
    if shutil.which("psql") is None:
        raise Skip("psql is not installed")
    host, port = s.pg.rsplit(":", 1)
    env = {**os.environ, "PGPASSWORD": "quest", "PGCLIENTENCODING": "UTF8"}
    run = lambda *a, stdin="": subprocess.run(["psql", "-X", "-h", host, "-p", port, "-U", "admin", "-d", "qdb", *a], env=env, input=stdin, capture_output=True, text=True, timeout=60)
    p = run("-At", "-c", "select 1 a, 'ü' b, null c; select true")
    expect((p.stdout, p.stderr, p.returncode), ("1|ü|\nt\n", "", 0))
    p = run("--csv", "-v", "ON_ERROR_STOP=1", stdin="create table ps (a int, b varchar);\ninsert into ps values (1, 'x'), (2, null);\nselect * from ps;\n\\conninfo\nbegin;\nrollback;\n")
    expect(p.returncode, 0, p.stderr)
    expect("a,b\n1,x\n2,\n" in p.stdout, True, p.stdout)
    p = run("-v", "ON_ERROR_STOP=1", "-c", "select 'ü', nope")
    expect(p.returncode, 1)
    expect("LINE 1: select 'ü', nope\n                    ^" in p.stderr, True, p.stderr)
    p = run("-v", "VERBOSITY=verbose", stdin="select * from nope;\nselect 1;\n")
    expect("42P01" in p.stderr, True, p.stderr)


JAR = "/usr/share/java/postgresql.jar"


@check
def pgjdbc_program(s):
    if shutil.which("javac") is None or not os.path.exists(JAR):
        raise Skip("a JDK (default-jdk-headless) or pgjdbc (libpostgresql-jdbc-java) is missing")
    p = subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-cp", JAR, str(HERE / "pg" / "JdbcCheck.java"), s.pg], capture_output=True, text=True, timeout=300)
    expect(p.stdout.strip().splitlines()[-1:], ["jdbc: all well"], p.stdout[-3000:] + p.stderr[-3000:])


if __name__ == "__main__":
    pg_test.main()
