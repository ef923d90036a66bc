"""asyncpg: binary throughout, types as the server describes them."""
import asyncio, io, pathlib, re, ssl, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import asyncpg
import harness
from harness import (CA, DATABASE, HOST, NULLS, ODD, PASSWORD, PORT, SLOW, TYPES, bounded, expect, expect_row, main, table, time_series_queries,
                     time_series_setup, type_rows, types_ddl)


def connecting(**more):
    return asyncpg.connect(**{"host": HOST, "port": PORT, "user": "admin", "password": PASSWORD, "database": DATABASE, "ssl": False, **more})


def check(f):
    """Runs the check with a connection of its own."""
    async def body():
        c = await connecting()
        try:
            await asyncio.wait_for(f(c), 120)
        finally:
            await c.close(timeout=10)

    def run():
        asyncio.run(body())
    run.__name__ = f.__name__
    return harness.check(run)


async def fresh(c, name, columns):
    await c.execute(f"drop table if exists {table(name)}")
    await c.execute(f"create table {table(name)} ({columns})")
    return table(name)


async def raises(kind, awaited):
    try:
        await awaited
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


@check
async def connect(c):
    expect(c.get_server_version() >= (14, 0), True)
    expect(c.get_settings().server_encoding, "UTF8")
    for wrong in ({"password": "no"}, {"user": "nobody"}):
        expect((await raises(asyncpg.InvalidPasswordError, connecting(**wrong))).sqlstate, "28P01")


@check
async def tls(_):
    verify = ssl.create_default_context(cafile=CA)
    for how in ("require", verify):
        c = await connecting(ssl=how)
        expect(await c.fetchval("select sum(x) from long_sequence(100000)"), 5000050000)
        await c.close()
    c = await asyncpg.connect(f"postgres://admin:{PASSWORD}@{HOST}:{PORT}/{DATABASE}?sslmode=verify-full&sslrootcert={CA}")
    expect(await c.fetchval("select 1"), 1)
    await c.close()
    await raises(ssl.SSLCertVerificationError, connecting(ssl=ssl.create_default_context()))


@check
async def select(c):
    row = await c.fetchrow("select 1 a, 'x' b, null d, true e")
    expect(dict(row), {"a": 1, "b": "x", "d": None, "e": True})
    expect(await c.fetch("select x from long_sequence(10) where x > 20"), [])
    expect(await c.fetchval("select $1", ODD), ODD)
    expect(await c.execute("select 1; select 2"), "SELECT 1")


@check
async def types(c):
    t = table("types")
    await c.execute(f"drop table if exists {t}")
    await c.execute(types_ddl(t))
    places = ", ".join(f"${i + 2}" for i in range(len(TYPES)))
    for k, values in type_rows():
        await c.execute(f"insert into {t} values ($1, {places})", k, *values)
    for row, (k, want) in zip(await c.fetch(f"select * from {t} order by k"), type_rows(), strict=True):
        expect_row(tuple(row)[1:], want, f"row {k}")
    for column, _, values, _ in TYPES:
        expect(await c.fetchval(f"select k from {t} where {column} = $1 order by k", values[0]), 0, column)


@check
async def nulls(c):
    t = table("nulls")
    await c.execute(f"drop table if exists {t}")
    await c.execute(types_ddl(t))
    await c.execute(f"insert into {t} values (1, {', '.join(f'${i + 1}' for i in range(len(NULLS)))})", *[None] * len(NULLS))
    expect_row(tuple(await c.fetchrow(f"select * from {t}"))[1:], NULLS)
    expect(await c.fetchval(f"select count() from {t} where i = $1 and v is null", None), 1)


@check
async def parameters(c):
    t = await fresh(c, "params", "k int, v varchar, d double, u uuid")
    await c.executemany(f"insert into {t} (k, v, d) values ($1, $2, $3)", [(k, f"v{k}", k / 2) for k in range(10)])
    one = lambda rows: [r[0] for r in rows]
    expect(one(await c.fetch(f"select v from {t} where k = $1 and d < $2", 3, 9.5)), ["v3"])
    expect(one(await c.fetch(f"select k from {t} where k = any($1::int[]) order by k", [1, 5, 99])), [1, 5])
    expect(one(await c.fetch(f"select k from {t} where k = any($1) order by k", [1, 5, 99])), [1, 5])
    expect(one(await c.fetch(f"select k from {t} where v = any($1::text[]) order by k", ["v2", "v4"])), [2, 4])
    expect(one(await c.fetch(f"select k from {t} where v = any($1) order by k", ["v2", "v4"])), [2, 4])
    expect(one(await c.fetch(f"select k from {t} order by k limit $1", 2)), [0, 1])
    expect(one(await c.fetch(f"select k from {t} where k in ($1, $2) and v like $3", 3, 4, "v4%")), [4])
    expect(await c.fetchrow("select $1::long + 1, $2::varchar, $3::double", 5, "6", 1.5), (6, "6", 1.5))
    expect(await c.fetchval(f"select count() from {t} where k > $1 and k > $1 and d >= $2", 5, 3), 4)
    e = await raises(asyncpg.DataError, c.fetch(f"select v from {t} where k = $1", "three"))
    expect("$1" in str(e), True, e)


@check
async def prepared(c):
    other = await connecting()
    t = await fresh(c, "prep", "k int, v varchar")
    put = await c.prepare(f"insert into {t} values ($1, $2)")
    for k in range(100):
        await put.fetch(k, f"v{k}")
    get, every = await c.prepare(f"select k, v from {t} where k = $1"), await c.prepare(f"select * from {t} where k = $1")
    for k in range(100):
        expect(tuple(await get.fetchrow(k)), (k, f"v{k}"))
    expect(tuple(await every.fetchrow(5)), (5, "v5"))
    text = f"select * from {t} where k = {5}"
    expect(tuple(await c.fetchrow(text)), (5, "v5"))
    await other.execute(f"alter table {t} add column w double")
    expect(tuple(await get.fetchrow(5)), (5, "v5"), "the shape is the same")
    await raises(asyncpg.InvalidCachedStatementError, every.fetchrow(5))  # what the driver makes of 0A000
    expect(tuple(await c.fetchrow(text)), (5, "v5", None), "the driver prepares anew by itself")
    await other.close()


@check
async def batch(c):
    t = await fresh(c, "batch", "k int, v varchar")
    await c.executemany(f"insert into {t} values ($1, $2)", [(k, f"v{k}") for k in range(1000)])
    expect(tuple(await c.fetchrow(f"select count(), sum(k) from {t}")), (1000, 499500))
    # executemany is one transaction up to its Sync; the driver finds this value
    await raises(asyncpg.DataError, c.executemany(f"insert into {t} values ($1, $2)", [("x" if k == 500 else k, "bad") for k in range(1000)]))
    # ... and the server this one
    await raises(asyncpg.PostgresError, c.executemany(f"insert into {t} values ($1::varchar::int, $2::long256)", [("1", "zz" if k == 500 else "0x1") for k in range(1000)]))
    expect(await c.fetchval(f"select count() from {t} where v = 'bad' or v is null"), 0)


@check
async def fetch(c):
    async def total():
        n = 0
        async with c.transaction():
            async for row in c.cursor("select x, x * 2 y, 'a text of some length' from long_sequence(1000000) where x > $1", 0, prefetch=10000):
                n += row[0]
        return n
    peak = lambda: harness.resource.getrusage(harness.resource.RUSAGE_SELF).ru_maxrss >> 10
    before = peak()
    expect(await total(), 500000500000)
    expect(peak() - before < 96, True, f"{peak() - before} MiB")
    async with c.transaction():
        cur = await c.cursor("select x from long_sequence(100)")
        expect([r[0] for r in await cur.fetch(3)], [1, 2, 3])
        expect([r[0] for r in await cur.fetch(100)], list(range(4, 101)))


@check
async def large(c):
    t = await fresh(c, "large", "k int, v varchar")
    value = "0123456789abcd\u00fc" * (1 << 17)
    await c.execute(f"insert into {t} values (1, $1)", value)
    expect(await c.fetchval(f"select v from {t}") == value, True)
    rows = await c.fetch("select x, x::varchar from long_sequence(100000)")
    expect((len(rows), tuple(rows[-1])), (100000, (100000, "100000")))


@check
async def transaction(c):
    other = await connecting()
    t = await fresh(other, "tx", "k int")

    async def seen():
        return [r[0] for r in await other.fetch(f"select k from {t} order by k")]
    for isolation in ("read_committed", "repeatable_read", "serializable"):
        tx = c.transaction(isolation=isolation)
        await tx.start()
        await c.execute(f"insert into {t} values (1)")
        await tx.rollback()
    async with c.transaction():
        await c.execute(f"insert into {t} values (2)")
        try:
            async with c.transaction():  # a savepoint
                await c.execute(f"insert into {t} values (3)")
                await c.execute("select * from nosuch")
        except asyncpg.UndefinedTableError:
            pass
        expect(await seen(), [])
    expect(await seen(), [2])
    await c.execute("begin")
    await c.execute(f"insert into {t} values (4)")
    await raises(asyncpg.UndefinedTableError, c.execute("select * from nosuch"))
    expect((await raises(asyncpg.InFailedSQLTransactionError, c.execute("select 1"))).sqlstate, "25P02")
    expect(await c.execute("commit"), "ROLLBACK")
    expect((await seen(), c.is_in_transaction()), ([2], False))
    async with c.transaction(readonly=True):
        expect(await c.fetchval(f"select count() from {t}"), 1)
    await other.close()


@check
async def copy_in(c):
    t = await fresh(c, "copy_in", "k int, v varchar, d double, ts timestamp")
    rows = [(k, ODD if k % 2 else None, k / 3, harness.T(2024, 1, 1)) for k in range(1000)]
    expect(await c.copy_records_to_table(t, records=rows), "COPY 1000")
    expect([tuple(r) for r in await c.fetch(f"select * from {t}")], rows)
    expect(await c.copy_to_table(t, source=io.BytesIO(b"k,v\n1,\"a, b\"\n2,\n"), columns=["k", "v"], format="csv", header=True), "COPY 2")
    await raises(asyncpg.InvalidTextRepresentationError, c.copy_to_table(t, source=io.BytesIO(b"1\ta\nx\tb\n"), columns=["k", "v"]))
    expect(await c.fetchval(f"select count() from {t}"), 1002)


@check
async def copy_out(c):
    out = io.BytesIO()
    expect(await c.copy_from_query("select x, 'a, b' t from long_sequence(9) where x < $1", 3, output=out, format="csv", header=True), "COPY 2")
    expect(out.getvalue(), b"x,t\n1,\"a, b\"\n2,\"a, b\"\n")
    t = await fresh(c, "copy_out", "k int, v varchar")
    await c.executemany(f"insert into {t} values ($1, $2)", [(k, None if k % 2 else "v") for k in range(100)])
    out = io.BytesIO()
    expect(await c.copy_from_table(t, output=out, columns=["k"], format="binary"), "COPY 100")
    expect((out.getvalue()[:11], len(out.getvalue())), (b"PGCOPY\n\xff\r\n\0", 19 + 100 * 10 + 2))


@check
async def errors(c):
    for text, kind, state, at in (("select 1 +", asyncpg.PostgresSyntaxError, "42601", None), ("select * from nosuch", asyncpg.UndefinedTableError, "42P01", "15"),
                                  ("select '\u00fc', nope from long_sequence(1)", asyncpg.UndefinedColumnError, "42703", "13")):
        e = await raises(kind, c.fetch(text))
        expect((e.sqlstate, e.severity), (state, "ERROR"), text)
        expect(e.position == at if at else int(e.position) > 0, True, e.position)
    t = await fresh(c, "errors", "i int")
    expect((await raises(asyncpg.InvalidTextRepresentationError, c.execute(f"insert into {t} values ('x')"))).sqlstate, "22P02")
    expect(await c.fetchval("select 1"), 1)


@check
async def cancel(c):
    """The driver asks the server to stop when its task is cancelled; the caller sees that, not 57014."""
    task = asyncio.create_task(c.fetch(SLOW))
    await asyncio.sleep(0.3)
    task.cancel()
    await raises(asyncio.CancelledError, task)
    expect(await c.fetchval("select 1"), 1)
    await raises(asyncio.TimeoutError, c.fetch(SLOW, timeout=0.3))
    expect(await c.fetchval("select 1"), 1)


@check
async def timeout(c):
    await c.execute("set statement_timeout = 200")
    expect((await raises(asyncpg.QueryCanceledError, c.fetch(SLOW))).sqlstate, "57014")
    await c.execute("set statement_timeout = 0")
    expect(await c.fetchval("select 1"), 1)
    other = await connecting(server_settings={"statement_timeout": "200", "application_name": "matrix"})
    expect((await raises(asyncpg.QueryCanceledError, other.fetch(SLOW))).sqlstate, "57014")
    expect(await other.fetchval("show application_name"), "matrix")
    await other.close()


@check
async def metadata(c):
    t = await fresh(c, "meta", "k int, d decimal(10,2), u uuid, a double[], ts timestamp")
    st = await c.prepare(f"select * from {t} where k = $1 and u = $2::uuid")
    expect([(a.name, a.type.name) for a in st.get_attributes()],
           [("k", "int4"), ("d", "numeric"), ("u", "uuid"), ("a", "float8[]"), ("ts", "timestamp")])
    expect([p.name for p in st.get_parameters()], ["int4", "uuid"])
    # asks the catalog for the type, with a query that spans arrays, ranges and composites
    await c.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str)
    expect(await c.fetchval("select '11111111-2222-3333-4444-555555555555'::uuid"), "11111111-2222-3333-4444-555555555555")
    await c.reset_type_codec("uuid", schema="pg_catalog")
    await c.reload_schema_state()
    expect(await c.fetchval("select array_sum($1)", [1.0, 2.5]), 3.5)


@check
async def pool(_):
    async with asyncpg.create_pool(host=HOST, port=PORT, user="admin", password=PASSWORD, database=DATABASE, ssl=False, min_size=2, max_size=8) as p:
        async def one(i):
            for n in range(100):
                async with p.acquire() as c:
                    expect(await c.fetchval("select $1::long * 2", i * n), 2 * i * n)
        await asyncio.gather(*[one(i) for i in range(8)])
    async with asyncpg.create_pool(host=HOST, port=PORT, user="admin", password=PASSWORD, database=DATABASE, ssl=False, min_size=1, max_size=1) as p:
        async with p.acquire() as c:
            await c.execute("set statement_timeout = 12345")
            await c.execute("set application_name = 'changed'")
        async with p.acquire() as c:  # CLOSE ALL, UNLISTEN *, RESET ALL
            expect(await c.fetchval("show application_name"), "")
            expect(re.sub(r"\D", "", await c.fetchval("show statement_timeout")) != "12345", True)


@check
async def time_series(c):
    for text in time_series_setup():
        await c.execute(text)
    for text, values, want in time_series_queries():
        got = await c.fetch(text.format(*[f"${i + 1}" for i in range(len(values))]), *values)
        expect([tuple(r) for r in got], want, text)


main("asyncpg", asyncpg.__version__)
