"""SQLAlchemy: Core over psycopg 3, its pool and inspector, the ORM; and its asyncio side over asyncpg."""
import asyncio, pathlib, sys

sys.path[:1] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import create_async_engine
from harness import (CA, DATABASE, HOST, NULLS, ODD, PASSWORD, PORT, SLOW, T, TYPES, bounded, check, expect, expect_raises, expect_row, in_threads, later,
                     main, none, table, time_series_queries, time_series_setup, type_rows, types_ddl)


def engine(driver="psycopg", password=PASSWORD, user="admin", **more):
    url = sa.URL.create(f"postgresql+{driver}", user, password, HOST, PORT, DATABASE)
    return sa.create_engine(url, **more)


AUTO = {"isolation_level": "AUTOCOMMIT"}


def fresh(e, name, *columns):
    """A Table, made anew."""
    t = sa.Table(table(name), sa.MetaData(), *columns)
    with e.connect().execution_options(**AUTO) as c:
        t.drop(c, checkfirst=True)
        t.create(c)
    return t


def state(e):
    return e.orig.sqlstate


@check
def connect():
    with engine().connect() as c:
        expect(c.dialect.server_version_info >= (14, 0), True)
        expect(c.scalar(sa.text("select 1")), 1)
    for wrong in ({"password": "no"}, {"user": "nobody"}):
        e = expect_raises(sa.exc.OperationalError, engine(**wrong).connect)
        expect("invalid username/password" in str(e), True, e)


@check
def tls():
    for args in ({"sslmode": "require"}, {"sslmode": "verify-full", "sslrootcert": CA}):
        with engine(connect_args=args).connect() as c:
            expect(c.connection.driver_connection.pgconn.ssl_in_use, True)
            expect(c.scalar(sa.text("select sum(x) from long_sequence(100000)")), 5000050000)
    e = expect_raises(sa.exc.OperationalError, engine(connect_args={"sslmode": "verify-full", "sslrootcert": "system"}).connect)
    expect("certificate verify failed" in str(e), True, e)


@check
def select():
    with engine().connect() as c:
        r = c.execute(sa.text("select 1 a, 'x' b, null d, true e"))
        expect(list(r.keys()), ["a", "b", "d", "e"])
        expect(tuple(r.one()), (1, "x", None, True))
        expect(c.execute(sa.text("select x from long_sequence(10) where x > 20")).all(), [])
        expect(c.scalar(sa.select(sa.literal(ODD))), ODD)
        expect(c.scalar(sa.select(sa.func.count()).select_from(sa.func.long_sequence(sa.literal_column("7")))), 7)


@check
def types():
    with engine().connect().execution_options(**AUTO) as c:
        t = table("types")
        c.exec_driver_sql(f"drop table if exists {t}")
        c.exec_driver_sql(types_ddl(t))
        reflected = sa.Table(t, sa.MetaData(), autoload_with=c)
        names = [n for n, _, _, _ in TYPES]
        for k, values in type_rows():
            c.execute(sa.insert(reflected).values(k=k, **dict(zip(names, values))))
        for row, (k, want) in zip(c.execute(sa.select(reflected).order_by(reflected.c.k)), type_rows(), strict=True):
            expect_row(tuple(row)[1:], want, f"row {k}")
        for name, _, values, _ in TYPES:
            if name not in ("a", "m", "f"):
                expect(c.scalar(sa.select(reflected.c.k).where(reflected.c[name] == values[0]).order_by("k").limit(1)), 0, name)


@check
def nulls():
    with engine().connect().execution_options(**AUTO) as c:
        t = table("nulls")
        c.exec_driver_sql(f"drop table if exists {t}")
        c.exec_driver_sql(types_ddl(t))
        reflected = sa.Table(t, sa.MetaData(), autoload_with=c)
        c.execute(sa.insert(reflected).values(k=1, **{n: None for n, _, _, _ in TYPES}))
        expect_row(tuple(c.execute(sa.select(reflected)).one())[1:], NULLS)
        expect(c.scalar(sa.select(sa.func.count()).where(reflected.c.i.is_(None), reflected.c.v.is_(None))), 1)


@check
def parameters():
    e = engine()
    t = fresh(e, "params", sa.Column("k", sa.Integer), sa.Column("v", sa.String), sa.Column("d", sa.Double))
    with e.begin() as c:
        c.execute(sa.insert(t), [{"k": k, "v": f"v{k}", "d": k / 2} for k in range(10)])
        one = lambda q: c.scalars(q).all()
        expect(one(sa.select(t.c.v).where(t.c.k == 3, t.c.d < 9.5)), ["v3"])
        expect(one(sa.select(t.c.k).where(t.c.k.in_([1, 5, 99])).order_by(t.c.k)), [1, 5])
        expect(one(sa.select(t.c.k).where(t.c.v.in_([]))), [])
        expect(one(sa.select(t.c.k).where(t.c.k == sa.any_(sa.literal([1, 5], postgresql.ARRAY(sa.Integer)))).order_by(t.c.k)), [1, 5])
        expect(one(sa.select(t.c.k).where(t.c.v == sa.any_(sa.literal(["v2", "v4"], postgresql.ARRAY(sa.String)))).order_by(t.c.k)), [2, 4])
        expect(one(sa.select(t.c.k).order_by(t.c.k).limit(2).offset(5)), [5, 6])
        expect(one(sa.select(t.c.k).where(t.c.v.ilike("%V7"))), [7])
        expect(one(sa.select(t.c.k).where(t.c.d.between(1, 1.5)).order_by(sa.desc(t.c.k))), [3, 2])


@check
def prepared():
    """What SQLAlchemy keeps is its compiled text; the driver below prepares it."""
    e = engine(connect_args={"prepare_threshold": 0}).execution_options(**AUTO)
    t = fresh(e, "prep", sa.Column("k", sa.Integer), sa.Column("v", sa.String))
    with e.connect() as c, engine().connect().execution_options(**AUTO) as other:
        for k in range(100):
            c.execute(sa.insert(t).values(k=k, v=f"v{k}"))
        for k in range(100):
            expect(tuple(c.execute(sa.select(t).where(t.c.k == k)).one()), (k, f"v{k}"))
        other.exec_driver_sql(f"alter table {t.name} add column w double")
        expect(tuple(c.execute(sa.select(t).where(t.c.k == 5)).one()), (5, "v5"))
        text = sa.text(f"select * from {t.name} where k = :k")
        expect(tuple(c.execute(text, {"k": 5}).one()), (5, "v5", None))
        other.exec_driver_sql(f"alter table {t.name} drop column w")
        expect(state(expect_raises(sa.exc.NotSupportedError, c.execute, text, {"k": 5})), "0A000")
        c.exec_driver_sql("deallocate all")
        expect(tuple(c.execute(text, {"k": 5}).one()), (5, "v5"))


@check
def batch():
    e = engine()
    t = fresh(e, "batch", sa.Column("k", sa.Integer), sa.Column("v", sa.String))
    rows = [{"k": k, "v": f"v{k}"} for k in range(1000)]
    with e.begin() as c:
        c.execute(sa.insert(t), rows)
        c.execute(sa.insert(t).values(rows))
    bad = [{"k": k, "v": "bad"} for k in range(1000)]
    bad[500]["k"] = "x"

    def fails():
        with e.begin() as c:
            c.execute(sa.insert(t), bad)
    expect_raises(sa.exc.DBAPIError, fails)
    with e.connect() as c:
        expect(tuple(c.execute(sa.select(sa.func.count(), sa.func.sum(t.c.k)).select_from(t)).one()), (2000, 2 * 499500))


@check
def fetch():
    with engine().connect() as c:
        def total():
            r = c.execution_options(stream_results=True, max_row_buffer=10000).execute(sa.text("select x, x * 2 y, 'some text' from long_sequence(1000000)"))
            return sum(row[0] for part in r.partitions(10000) for row in part)
        expect(bounded(total), 500000500000)
        expect(sum(c.execution_options(yield_per=1000).scalars(sa.text("select x from long_sequence(5000)"))), 12502500)


@check
def large():
    e = engine()
    t = fresh(e, "large", sa.Column("v", sa.Text))
    value = "0123456789abcd\u00fc" * (1 << 17)
    with e.begin() as c:
        c.execute(sa.insert(t).values(v=value))
        expect(c.scalar(sa.select(t.c.v)) == value, True)
        rows = c.execute(sa.text("select x, x::varchar from long_sequence(100000)")).all()
        expect((len(rows), tuple(rows[-1])), (100000, (100000, "100000")))


@check
def transaction():
    e = engine()
    t = fresh(e, "tx", sa.Column("k", sa.Integer))

    def seen():
        with e.connect() as other:
            return other.scalars(sa.select(t.c.k).order_by(t.c.k)).all()
    with e.connect() as c:
        c.execute(sa.insert(t).values(k=1))
        expect(seen(), [])
        c.commit()
        c.execute(sa.insert(t).values(k=2))
        c.rollback()
        expect(seen(), [1])
        with c.begin():
            c.execute(sa.insert(t).values(k=3))
            nested = c.begin_nested()
            c.execute(sa.insert(t).values(k=4))
            nested.rollback()
            with c.begin_nested():
                c.execute(sa.insert(t).values(k=5))
        expect(seen(), [1, 3, 5])
        c.execute(sa.insert(t).values(k=6))
        expect(state(expect_raises(sa.exc.ProgrammingError, c.execute, sa.text("select * from nosuch"))), "42P01")
        expect(state(expect_raises(sa.exc.InternalError, c.execute, sa.text("select 1"))), "25P02")
        c.commit()
        expect(seen(), [1, 3, 5])


none(copy_in="COPY is used through the driver's own connection", copy_out="COPY is used through the driver's own connection")


@check
def errors():
    e = engine().execution_options(**AUTO)
    t = fresh(e, "errors", sa.Column("i", sa.Integer))
    with e.connect() as c:
        for text, code, at in (("select 1 +", "42601", None), ("select * from nosuch", "42P01", "15"), ("select '\u00fc', nope from long_sequence(1)", "42703", "13")):
            x = expect_raises(sa.exc.ProgrammingError, c.execute, sa.text(text))
            expect(state(x), code)
            expect(at is None or x.orig.diag.statement_position == at, True, x)
        expect(state(expect_raises(sa.exc.DataError, c.exec_driver_sql, f"insert into {t.name} values ('x')")), "22P02")
        expect(c.scalar(sa.text("select 1")), 1)


@check
def cancel():
    with engine().connect() as c:
        later(0.5, c.connection.driver_connection.cancel)
        expect(state(expect_raises(sa.exc.OperationalError, c.execute, sa.text(SLOW))), "57014")
        c.rollback()
        expect(c.scalar(sa.text("select 1")), 1)


@check
def timeout():
    with engine().connect().execution_options(**AUTO) as c:
        c.execute(sa.text("set statement_timeout = 200"))
        expect(state(expect_raises(sa.exc.OperationalError, c.execute, sa.text(SLOW))), "57014")
    with engine(connect_args={"options": "-c statement_timeout=200"}).connect() as c:
        expect(state(expect_raises(sa.exc.OperationalError, c.execute, sa.text(SLOW))), "57014")


@check
def metadata():
    e = engine()
    with e.connect().execution_options(**AUTO) as c:
        name = table("meta")
        c.exec_driver_sql(f"drop table if exists {name}")
        c.exec_driver_sql(f"create table {name} (sym symbol index, d decimal(10,2), a double[], u uuid, ts timestamp) timestamp(ts) partition by day")
    i = sa.inspect(e)
    expect(name in i.get_table_names(), True)
    expect({c["name"]: c["type"].compile(e.dialect) for c in i.get_columns(name)},
           {"sym": "VARCHAR", "d": "NUMERIC(10, 2)", "a": "DOUBLE PRECISION[]", "u": "UUID", "ts": "TIMESTAMP WITHOUT TIME ZONE"})
    expect(i.get_pk_constraint(name)["constrained_columns"] + i.get_foreign_keys(name) + i.get_unique_constraints(name), [])
    expect([x["column_names"] for x in i.get_indexes(name)], [["sym"]])


class Base(orm.DeclarativeBase):
    pass


class Reading(Base):
    """The key is the ORM's own: the server keeps none."""
    __tablename__ = table("reading")
    ts: orm.Mapped[T] = orm.mapped_column(sa.TIMESTAMP, primary_key=True)
    sensor: orm.Mapped[str]
    value: orm.Mapped[float]


@check
def pool():
    e = engine(pool_size=4, max_overflow=4, pool_pre_ping=True)

    def one(i):
        for n in range(100):
            with e.connect() as c:
                expect(c.scalar(sa.select(sa.literal(i * n) * 2)), 2 * i * n)
    in_threads(8, one)
    t = fresh(e, "pool", sa.Column("k", sa.Integer))
    c = e.connect()
    c.execute(sa.insert(t).values(k=1))
    c.close()  # back to the pool: rolled back
    with e.connect() as c:
        expect(c.scalar(sa.select(sa.func.count()).select_from(t)), 0)
    orm_and_asyncio(e)


def orm_and_asyncio(e):
    with e.connect().execution_options(**AUTO) as c:
        Base.metadata.drop_all(c)
        c.exec_driver_sql(f"create table {Reading.__tablename__} (ts timestamp, sensor symbol, value double) timestamp(ts) partition by day")
    with orm.Session(e) as session:
        session.add_all([Reading(ts=T(2026, 1, 1, 0, 0, k), sensor="a", value=k / 2) for k in range(10)])
        session.commit()
        expect([r.value for r in session.scalars(sa.select(Reading).where(Reading.value > 3).order_by(Reading.ts))], [3.5, 4.0, 4.5])

    async def body():
        a = create_async_engine(sa.URL.create("postgresql+asyncpg", "admin", PASSWORD, HOST, PORT, DATABASE))
        async with a.begin() as c:
            r = await c.execute(sa.select(Reading.value).where(Reading.ts >= T(2026, 1, 1, 0, 0, 8)))
            expect(r.scalars().all(), [4.0, 4.5])
            await c.execute(sa.insert(Reading), [{"ts": T(2026, 1, 2), "sensor": "b", "value": 1.5}])
        async with a.connect() as c:
            total = 0
            async for row in await c.stream(sa.text("select x from long_sequence(10000)")):
                total += row[0]
            expect(total, 50005000)
            expect(Reading.__tablename__ in await c.run_sync(lambda s: sa.inspect(s).get_table_names()), True)
        await a.dispose()
    asyncio.run(body())


@check
def time_series():
    with engine().connect().execution_options(**AUTO) as c:
        for text in time_series_setup():
            c.execute(sa.text(text))
        for text, values, want in time_series_queries():
            names = [f"p{i}" for i in range(len(values))]
            got = c.execute(sa.text(text.format(*[":" + n for n in names])), dict(zip(names, values)))
            expect([tuple(r) for r in got], want, text)


main("SQLAlchemy", sa.__version__)
