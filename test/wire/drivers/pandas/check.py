"""pandas over SQLAlchemy and psycopg 3: frames written by to_sql, read by read_sql."""
import pathlib, sys

sys.path[:1] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import numpy as np
import pandas as pd
import sqlalchemy as sa
from harness import (CA, DATABASE, HOST, NULLS, ODD, PASSWORD, PORT, SLOW, T, TYPES, bounded, check, expect, expect_raises, expect_row, in_threads, later,
                     main, none, table, time_series_queries, time_series_setup, type_rows, types_ddl)

AUTO = {"isolation_level": "AUTOCOMMIT"}


def engine(password=PASSWORD, **more):
    return sa.create_engine(sa.URL.create("postgresql+psycopg", "admin", password, HOST, PORT, DATABASE), **more)


def drop(e, name):
    with e.connect().execution_options(**AUTO) as c:
        c.exec_driver_sql(f"drop table if exists {table(name)}")
    return table(name)


def failure(f, *args, **more):
    """SQLSTATE of the error of psycopg below those of SQLAlchemy and pandas."""
    e = expect_raises(Exception, f, *args, **more)
    while e is not None and getattr(e, "sqlstate", None) is None:
        e = e.__cause__
    return e and e.sqlstate


@check
def connect():
    expect(pd.read_sql("select 1 a", engine()).a.tolist(), [1])
    e = expect_raises(sa.exc.OperationalError, pd.read_sql, "select 1", engine(password="no"))
    expect("invalid username/password" in str(e), True, e)


@check
def tls():
    for args in ({"sslmode": "require"}, {"sslmode": "verify-full", "sslrootcert": CA}):
        expect(pd.read_sql("select sum(x) s from long_sequence(100000)", engine(connect_args=args)).s.tolist(), [5000050000])
    expect_raises(sa.exc.OperationalError, pd.read_sql, "select 1", engine(connect_args={"sslmode": "verify-full", "sslrootcert": "system"}))


@check
def select():
    frame = pd.read_sql("select x, 'a' || x::varchar t, x / 2.0 d from long_sequence(3)", engine())
    expect((list(frame.columns), frame.values.tolist()), (["x", "t", "d"], [[1, "a1", 0.5], [2, "a2", 1.0], [3, "a3", 1.5]]))
    expect(len(pd.read_sql("select x from long_sequence(3) where x > 5", engine())), 0)
    expect(pd.read_sql(sa.select(sa.literal(ODD).label("t")), engine()).t.tolist(), [ODD])


@check
def types():
    """Kinds of columns that frames have, written by to_sql; and every type of the server, read by read_sql."""
    e = engine()
    name = drop(e, "frame")
    frame = pd.DataFrame({"b": [True, False], "i2": np.array([-32768 + 1, 32767], "int16"), "i4": np.array([-(1 << 31) + 1, (1 << 31) - 1], "int32"),
                          "i8": np.array([-(1 << 63) + 1, (1 << 63) - 1], "int64"), "f4": np.array([1.5, -2.25], "float32"), "f8": [0.1, 1.7976931348623157e308],
                          "t": [ODD, ""], "c": pd.Categorical(["x", "y"]), "ts": pd.to_datetime(["2024-03-01 09:00:00.123456", "1969-12-31 23:59:59.999999"])})
    frame.to_sql(name, e, index=False)
    got = pd.read_sql_table(name, e)
    for column in frame.columns:
        expect(got[column].tolist(), frame[column].tolist(), column)
    every = drop(e, "types")
    with e.connect().execution_options(**AUTO) as c:
        c.exec_driver_sql(types_ddl(every))
        reflected = sa.Table(every, sa.MetaData(), autoload_with=c)
        for k, values in type_rows():
            c.execute(sa.insert(reflected).values(k=k, **dict(zip([n for n, _, _, _ in TYPES], values))))
    got = pd.read_sql(f"select * from {every} order by k", e)
    for k, want in type_rows():
        row = got.iloc[k].tolist()[1:]
        expect([str(v) for v in row[:5]], [str(v) for v in want[:5]], f"row {k}")
        expect([pd.Timestamp(v) for v in row[11:14]], [pd.Timestamp(v) for v in want[11:14]], f"row {k}")


@check
def nulls():
    e = engine()
    name = drop(e, "nulls")
    frame = pd.DataFrame({"i": pd.array([1, None], "Int64"), "f": [1.5, None], "t": ["a", None], "ts": pd.to_datetime(["2024-01-01", None])})
    frame.to_sql(name, e, index=False)
    got = pd.read_sql_table(name, e)
    expect(got.isna().values.tolist(), [[False] * 4, [True] * 4])
    every = drop(e, "nulls2")
    with e.connect().execution_options(**AUTO) as c:
        c.exec_driver_sql(types_ddl(every))
        c.exec_driver_sql(f"insert into {every} values (1, {', '.join(['null'] * len(NULLS))})")
    got = pd.read_sql(f"select * from {every}", e).iloc[0].tolist()[1:]
    expect([bool(pd.isna(v)) for v in got], [v is None for v in NULLS])


@check
def parameters():
    e = engine()
    name = drop(e, "params")
    pd.DataFrame({"k": range(10), "v": [f"v{k}" for k in range(10)], "d": [k / 2 for k in range(10)]}).to_sql(name, e, index=False)
    one = lambda text, **params: pd.read_sql(sa.text(text), e, params=params).iloc[:, 0].tolist()
    expect(one(f"select v from {name} where k = :k and d < :d", k=3, d=9.5), ["v3"])
    expect(one(f"select k from {name} where k = any(:k) order by k", k=[1, 5, 99]), [1, 5])
    expect(one(f"select k from {name} where v = any(:v) order by k", v=["v2", "v4"]), [2, 4])
    expect(one(f"select k from {name} order by k limit :n", n=2), [0, 1])


@check
def batch():
    e = engine()
    for how in (None, "multi"):
        name = drop(e, "batch")
        frame = pd.DataFrame({"k": range(1000), "v": [f"v{k}" for k in range(1000)]})
        frame.to_sql(name, e, index=False, method=how)
        expect(pd.read_sql(f"select count() n, sum(k) s from {name}", e).values.tolist(), [[1000, 499500]])
        bad = pd.DataFrame({"k": ["x" if k == 500 else str(k) for k in range(1000)], "v": "bad"})
        expect(failure(bad.to_sql, name, e, index=False, if_exists="append", method=how), "22P02")
        expect(pd.read_sql(f"select count() n from {name} where v = 'bad'", e).n.tolist(), [0])


@check
def fetch():
    with engine().connect().execution_options(stream_results=True) as c:
        def total():
            return sum(int(part.x.sum()) for part in pd.read_sql("select x, 'a text of some length' t from long_sequence(1000000)", c, chunksize=10000))
        expect(bounded(total), 500000500000)


@check
def large():
    e = engine()
    name = drop(e, "large")
    value = "0123456789abcd\u00fc" * (1 << 17)
    pd.DataFrame({"v": [value]}).to_sql(name, e, index=False)
    expect(pd.read_sql_table(name, e).v[0] == value, True)
    frame = pd.read_sql("select x, x::varchar t from long_sequence(100000)", e)
    expect((len(frame), frame.iloc[-1].tolist()), (100000, [100000, "100000"]))


@check
def transaction():
    e = engine()
    name = drop(e, "tx")
    frame = pd.DataFrame({"k": [1, 2]})
    frame.to_sql(name, e, index=False)
    count = lambda: pd.read_sql(f"select count() n from {name}", e).n[0]
    with e.connect() as c:
        c.begin()  # else to_sql commits what it wrote
        frame.to_sql(name, c, index=False, if_exists="append")
        expect((pd.read_sql(f"select count() n from {name}", c).n[0], count()), (4, 2))
        c.rollback()
        expect(count(), 2)
        with c.begin():
            frame.to_sql(name, c, index=False, if_exists="append")
            with c.begin_nested() as point:
                frame.to_sql(name, c, index=False, if_exists="append")
                point.rollback()
        expect(count(), 4)
        c.exec_driver_sql(f"insert into {name} values (9)")
        expect(failure(pd.read_sql, sa.text("select * from nosuch"), c), "42P01")
        expect(failure(pd.read_sql, sa.text("select 1"), c), "25P02")
        c.commit()
        expect(count(), 4)


@check
def copy_in():
    """The `method` of to_sql may be a function; the one of pandas' documentation writes by COPY."""
    def by_copy(target, connection, keys, rows):
        with connection.connection.cursor() as cur, cur.copy(f"COPY {target.name} ({', '.join(keys)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    e = engine()
    name = drop(e, "copy_in")
    pd.DataFrame({"k": range(1000), "v": [ODD] * 1000}).to_sql(name, e, index=False, method=by_copy)
    expect(pd.read_sql(f"select count() n, sum(k) s, max(v) m from {name}", e).values.tolist(), [[1000, 499500, ODD]])


@check
def errors():
    for text, code in (("select 1 +", "42601"), ("select * from nosuch", "42P01"), ("select nope from long_sequence(1)", "42703")):
        expect(failure(pd.read_sql, text, engine()), code)
    e = engine()
    name = drop(e, "errors")
    pd.DataFrame({"i": [1]}).to_sql(name, e, index=False)
    expect(failure(pd.DataFrame({"i": ["x"]}).to_sql, name, e, index=False, if_exists="append"), "22P02")


@check
def cancel():
    with engine().connect() as c:
        later(0.5, c.connection.driver_connection.cancel)
        expect(failure(pd.read_sql, sa.text(SLOW), c), "57014")
        c.rollback()
        expect(pd.read_sql("select 1 a", c).a.tolist(), [1])


@check
def timeout():
    with engine().connect() as c:
        c.exec_driver_sql("set statement_timeout = 200")
        expect(failure(pd.read_sql, sa.text(SLOW), c), "57014")
    e = engine(connect_args={"options": "-c statement_timeout=200"})
    expect(failure(pd.read_sql, sa.text(SLOW), e), "57014")


@check
def metadata():
    e = engine()
    name = drop(e, "meta")
    frame = pd.DataFrame({"k": [1], "ts": pd.to_datetime(["2024-01-01"])})
    frame.to_sql(name, e, index=False)
    expect_raises(ValueError, frame.to_sql, name, e, index=False)  # it is there
    frame.to_sql(name, e, index=False, if_exists="replace", dtype={"k": sa.SmallInteger})
    got = pd.read_sql_table(name, e, columns=["ts", "k"])
    expect((list(got.columns), got.k.tolist()), (["ts", "k"], [1]))
    expect("CREATE TABLE" in pd.io.sql.get_schema(frame, name, con=e), True)


@check
def pool():
    e = engine(pool_size=8)

    def one(i):
        for n in range(100):
            expect(pd.read_sql(sa.text("select cast(:n as long) * 2 a"), e, params={"n": i * n}).a[0], 2 * i * n)
    in_threads(8, one)


@check
def time_series():
    e = engine()
    with e.connect().execution_options(**AUTO) as c:
        for text in time_series_setup():
            c.execute(sa.text(text))
    for text, values, want in time_series_queries():
        names = [f"p{i}" for i in range(len(values))]
        frame = pd.read_sql(sa.text(text.format(*[":" + n for n in names])), e, params=dict(zip(names, values)))
        expect([tuple(r) for r in frame.itertuples(index=False)], want, text)


none(prepared="pandas prepares nothing by itself", copy_out="pandas reads by SELECT")
main("pandas", pd.__version__)
