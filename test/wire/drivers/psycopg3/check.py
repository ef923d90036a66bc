"""psycopg 3, with psycopg_pool."""
import datetime as dt, decimal, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import psycopg
from psycopg import errors
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool
from harness import (CA, NULLS, ODD, SLOW, TYPES, bounded, check, expect, expect_raises, expect_row, in_threads, later, main, table,
                     time_series_queries, time_series_setup, type_rows, types_ddl)


def connect(**more):
    """Host, port, user, password and database come from the environment."""
    return psycopg.connect(**{"autocommit": True, **more})


def fresh(c, name, columns):
    c.execute(f"drop table if exists {table(name)}")
    c.execute(f"create table {table(name)} ({columns})")
    return table(name)


@check
def connect_():
    with connect() as c:
        expect(c.info.server_version >= 140000, True, c.info.server_version)
        expect(c.info.parameter_status("server_encoding"), "UTF8")
        expect(c.execute("show server_version").fetchone()[0], c.info.parameter_status("server_version"))
    for wrong in ({"password": "no"}, {"user": "nobody"}):
        # libpq keeps the text of a refused login and no SQLSTATE; the drivers/libpq program reads it
        e = expect_raises(psycopg.OperationalError, connect, **wrong)
        expect("invalid username/password" in str(e), True, e)


@check
def tls():
    for more in ({"sslmode": "require"}, {"sslmode": "verify-full", "sslrootcert": CA, "channel_binding": "require"}):
        with connect(**more) as c:
            expect(c.pgconn.ssl_in_use, True)
            expect(c.execute("select sum(x) from long_sequence(100000)").fetchone(), (5000050000,))
    e = expect_raises(psycopg.OperationalError, connect, sslmode="verify-full", sslrootcert="system")
    expect("certificate verify failed" in str(e), True, e)


@check
def select():
    with connect() as c:
        cur = c.execute("select 1 a, 'x' b, null d, true e")
        expect([d.name for d in cur.description], ["a", "b", "d", "e"])
        expect(cur.fetchall(), [(1, "x", None, True)])
        expect(c.execute("select x from long_sequence(10) where x > 20").fetchall(), [])
        expect(c.execute("select %s", (ODD,)).fetchone(), (ODD,))
        cur = c.execute("select 1; select 2")
        expect((cur.fetchone(), cur.nextset(), cur.fetchone()), ((1,), True, (2,)))
        expect(psycopg.ClientCursor(c).execute("select %s, %s", (ODD, [1.5, None])).fetchone(), (ODD, [1.5, None]))


@check
def types():
    with connect() as c:
        t = table("types")
        for place in ("%s", "%b", "%t"):
            c.execute(f"drop table if exists {t}")
            c.execute(types_ddl(t))
            for k, values in type_rows():
                c.execute(f"insert into {t} values (%s, {', '.join([place] * len(values))})", [k, *values])
            for binary in (False, True):
                for (k, *got), (want_k, want) in zip(c.execute(f"select * from {t} order by k", binary=binary), type_rows(), strict=True):
                    expect_row(got, want, f"{place}, binary {binary}, row {k}")
        for column, _, values, _ in TYPES:  # what was written is found again
            expect(c.execute(f"select k from {t} where {column} = %s order by k", (values[0],)).fetchone(), (0,), column)


@check
def nulls():
    with connect() as c:
        t = table("nulls")
        c.execute(f"drop table if exists {t}")
        c.execute(types_ddl(t))
        for place in ("%s", "%b", "%t"):
            c.execute(f"insert into {t} values (1, {', '.join([place] * len(NULLS))})", [None] * len(NULLS))
        for binary in (False, True):
            for row in c.execute(f"select * from {t}", binary=binary).fetchall():
                expect_row(row[1:], NULLS, f"binary {binary}")
        expect(c.execute(f"select count() from {t} where i = %s or v is null", (None,)).fetchone(), (3,))


@check
def parameters():
    with connect() as c:
        t = fresh(c, "params", "k int, v varchar, d double")
        for k in range(10):
            c.execute(f"insert into {t} values (%s, %s, %s)", (k, f"v{k}", k / 2))
        for binary in (False, True):
            expect(c.execute(f"select v from {t} where k = %s and d < %s", (3, 9.5), binary=binary).fetchall(), [("v3",)])
        expect(c.execute(f"select k from {t} where k = any(%s) order by k", ([1, 5, 99],)).fetchall(), [(1,), (5,)])
        expect(c.execute(f"select k from {t} where v = any(%s) order by k", (["v2", "v4"],)).fetchall(), [(2,), (4,)])
        expect(c.execute(f"select k from {t} where k = any(%b) order by k", ([7],)).fetchall(), [(7,)])
        expect(c.execute(f"select k from {t} order by k limit %s", (2,)).fetchall(), [(0,), (1,)])
        expect(c.execute(f"select k from {t} order by k limit %b offset %b", (2, 5)).fetchall(), [(5,), (6,)])
        expect(c.execute(f"select k from {t} where d between %(lo)s and %(hi)s", {"lo": 1, "hi": 1.5}).fetchall(), [(2,), (3,)])
        expect(c.execute("select %s::long + 1, %s::varchar, %s::double", (5, 6, "1.5")).fetchone(), (6, "6", 1.5))
        expect(c.execute(f"select k from {t} where d = %s", (decimal.Decimal("1.5"),)).fetchall(), [(3,)])
        u = fresh(c, "params2", "ts timestamp, d double, u uuid")
        zone = dt.timezone(dt.timedelta(hours=2))
        for value in (dt.datetime(2024, 1, 1, tzinfo=zone), dt.date(2024, 1, 1)):  # a zone is converted to UTC
            c.execute(f"insert into {u} (ts, d) values (%s, %s)", (value, decimal.Decimal("12345.678")))
        expect(c.execute(f"select ts, d from {u} order by ts").fetchall(),
               [(dt.datetime(2023, 12, 31, 22), 12345.678), (dt.datetime(2024, 1, 1), 12345.678)])
        expect(c.execute("select array_sum(%b), (%b)[2]", ([1.0, 2.5], [3.0, 4.0])).fetchone(), (3.5, 4.0))


@check
def prepared():
    with connect() as c, connect() as other:
        t = fresh(c, "prep", "k int, v varchar")
        for k in range(100):
            c.execute(f"insert into {t} values (%s, %s)", (k, f"v{k}"), prepare=True)
        for k in range(100):
            expect(c.execute(f"select k, v from {t} where k = %s", (k,), prepare=True).fetchone(), (k, f"v{k}"))
        other.execute(f"alter table {t} add column w double")
        expect(c.execute(f"select k, v from {t} where k = %s", (5,), prepare=True).fetchone(), (5, "v5"), "the shape is the same")
        expect(c.execute(f"select * from {t} where k = %s", (5,), prepare=True).fetchone(), (5, "v5", None))
        other.execute(f"alter table {t} drop column v")
        e = expect_raises(errors.FeatureNotSupported, c.execute, f"select * from {t} where k = %s", (5,), prepare=True)
        expect("cached plan must not change result type" in str(e), True, e)
        c.execute("deallocate all")
        expect(c.execute(f"select * from {t} where k = %s", (5,), prepare=True).fetchone(), (5, None))
        c.execute(f"alter table {t} add column z int")  # the driver sees it and prepares anew by itself
        expect(c.execute(f"select * from {t} where k = %s", (5,), prepare=True).fetchone(), (5, None, None))


@check
def batch():
    with connect() as c:
        t = fresh(c, "batch", "k int, v varchar")
        cur = c.cursor()
        cur.executemany(f"insert into {t} values (%s, %s)", [(k, f"v{k}") for k in range(1000)])
        expect(cur.rowcount, 1000)
        expect(c.execute(f"select count(), sum(k) from {t}").fetchone(), (1000, 499500))
        with c.pipeline():
            found = [c.execute("select %s::long", (i,)) for i in range(500)]
        expect([f.fetchone()[0] for f in found], list(range(500)))

        def fails():
            with c.transaction():
                c.cursor().executemany(f"insert into {t} values (%s, %s)", [("x" if k == 500 else k, "bad") for k in range(1000)])
        expect_raises(errors.InvalidTextRepresentation, fails)

        def fails_in_pipeline():  # one transaction up to the Sync
            with c.pipeline():
                c.execute(f"insert into {t} values (1, 'bad')")
                c.execute(f"insert into {t} values (1, 'bad', 2)")
        expect_raises(psycopg.Error, fails_in_pipeline)
        expect(c.execute(f"select count() from {t} where v = 'bad'").fetchone(), (0,))


@check
def fetch():
    text = "select x, x * 2 y, 'a text of some length' from long_sequence(1000000)"
    with connect(autocommit=False) as c:
        def by_cursor():
            with c.cursor("big") as cur:
                cur.itersize = 10000
                cur.execute(text)
                return sum(row[0] for row in cur)
        expect(bounded(by_cursor), 500000500000)
        with c.cursor("some", withhold=True) as cur:
            cur.execute("select x from long_sequence(100)")
            expect((cur.fetchone(), cur.fetchmany(2)), ((1,), [(2,), (3,)]))
            c.commit()
            cur.scroll(90)
            expect(cur.fetchall(), [(x,) for x in range(94, 101)])
        expect(bounded(lambda: sum(row[0] for row in c.cursor().stream(text, size=1000))), 500000500000)


@check
def large():
    with connect() as c:
        t = fresh(c, "large", "k int, v varchar")
        value = "0123456789abcd\u00fc" * (1 << 17)  # 2 MiB and more
        for place in ("%s", "%b"):
            c.execute(f"insert into {t} values (1, {place})", (value,))
        for binary in (False, True):
            expect(c.execute(f"select v from {t}", binary=binary).fetchall() == [(value,)] * 2, True)
            rows = c.execute("select x, x::varchar from long_sequence(100000)", binary=binary).fetchall()
            expect((len(rows), rows[-1]), (100000, (100000, "100000")))


@check
def transaction():
    with connect(autocommit=False) as c, connect() as other:
        other.execute(f"drop table if exists {table('tx')}")
        t = fresh(other, "tx", "k int")
        seen = lambda: [k for k, in other.execute(f"select k from {t} order by k")]
        c.execute(f"insert into {t} values (1)")
        expect(seen(), [])
        c.commit()
        c.execute(f"insert into {t} values (2)")
        c.rollback()
        expect(seen(), [1])
        with c.transaction():
            c.execute(f"insert into {t} values (3)")
            try:
                with c.transaction():
                    c.execute(f"insert into {t} values (4)")
                    raise KeyError
            except KeyError:
                pass
            with c.transaction():
                c.execute(f"insert into {t} values (5)")
        expect(seen(), [1, 3, 5])
        c.execute(f"insert into {t} values (6)")
        expect_raises(errors.UndefinedTable, c.execute, "select * from nosuch")
        expect(expect_raises(errors.InFailedSqlTransaction, c.execute, "select 1").sqlstate, "25P02")
        expect(c.info.transaction_status.name, "INERROR")
        c.commit()
        expect((c.info.transaction_status.name, seen()), ("IDLE", [1, 3, 5]))


@check
def copy_in():
    with connect() as c:
        t = fresh(c, "copy_in", "k int, v varchar, d double")
        rows = [(k, ODD if k % 2 else None, k / 3) for k in range(1000)]
        with c.cursor() as cur:
            with cur.copy(f"copy {t} from stdin") as copy:
                for row in rows:
                    copy.write_row(row)
            expect(cur.rowcount, 1000)
            with cur.copy(f"copy {t} (k, v, d) from stdin (format binary)") as copy:
                copy.set_types(["int4", "varchar", "float8"])
                for row in rows:
                    copy.write_row(row)
        expect(c.execute(f"select * from {t}").fetchall(), rows * 2)

        def fails():
            with c.cursor().copy(f"copy {t} from stdin") as copy:
                copy.write_row((1, "a", 2))
                copy.write_row(("x", "a", 2))
        expect_raises(errors.InvalidTextRepresentation, fails)
        expect(c.execute(f"select count() from {t}").fetchone(), (2000,))


@check
def copy_out():
    with connect() as c:
        t = fresh(c, "copy_out", "k int, v varchar, d double")
        rows = [(k, ODD if k % 2 else None, k / 3) for k in range(1000)]
        c.cursor().executemany(f"insert into {t} values (%s, %s, %s)", rows)
        for form in ("text", "binary"):
            with c.cursor().copy(f"copy {t} to stdout (format {form})") as copy:
                copy.set_types(["int4", "varchar", "float8"])
                expect(list(copy.rows()), rows, form)
        with c.cursor().copy("copy (select x from long_sequence(3)) to stdout (format csv, header)") as copy:
            expect(b"".join(map(bytes, copy)), b"x\n1\n2\n3\n")


@check
def errors_():
    with connect() as c:
        for text, kind, state, at in (("select 1 +", errors.SyntaxError, "42601", None), ("select * from nosuch", errors.UndefinedTable, "42P01", "15"),
                                      ("select '\u00fc', nope from long_sequence(1)", errors.UndefinedColumn, "42703", "13")):
            e = expect_raises(kind, c.execute, text)
            expect((e.sqlstate, e.diag.severity), (state, "ERROR"), text)
            expect(e.diag.statement_position == at if at else int(e.diag.statement_position) > 0, True, e.diag.statement_position)
        t = fresh(c, "errors", "i int")
        e = expect_raises(errors.InvalidTextRepresentation, c.execute, f"insert into {t} values (%s)", ("x",))
        expect(e.sqlstate, "22P02")
        expect(c.execute("select 1").fetchone(), (1,))


@check
def cancel():
    with connect() as c:
        for stop in (c.cancel, c.cancel_safe):
            later(0.3, stop)
            expect(expect_raises(errors.QueryCanceled, c.execute, SLOW).sqlstate, "57014")
            expect(c.execute("select 1").fetchone(), (1,))


@check
def timeout():
    with connect() as c:
        c.execute("set statement_timeout = 200")
        expect(expect_raises(errors.QueryCanceled, c.execute, SLOW).sqlstate, "57014")
        c.execute("set statement_timeout = 0")
        expect(c.execute("select 1").fetchone(), (1,))
    with connect(options="-c statement_timeout=200") as c:
        expect(expect_raises(errors.QueryCanceled, c.execute, SLOW).sqlstate, "57014")


@check
def metadata():
    with connect() as c:
        for name, oid in (("uuid", 2950), ("float8", 701), ("timestamp", 1114), ("numeric", 1700)):
            info = TypeInfo.fetch(c, name)
            expect((info.name, info.oid, info.array_oid > 0), (name, oid, True), name)
        expect(TypeInfo.fetch(c, "nosuch"), None)
        t = fresh(c, "meta", "k int, d decimal(10,2), u uuid, a double[], ts timestamp")
        got = [(d.name, d.type_code, d.precision, d.scale) for d in c.execute(f"select * from {t}").description]
        expect([g[:2] for g in got], [("k", 23), ("d", 1700), ("u", 2950), ("a", 1022), ("ts", 1114)])
        expect(got[1][2:], (10, 2))


@check
def pool():
    def one(i):
        for n in range(100):
            with p.connection() as c:
                expect(c.execute("select %s::long * 2", (i * n,)).fetchone(), (2 * i * n,))
    with ConnectionPool(min_size=2, max_size=8, kwargs={"autocommit": True}, open=True, reset=lambda c: c.execute("reset all") and None,
                        check=ConnectionPool.check_connection) as p:
        in_threads(8, one)
    with ConnectionPool(min_size=1, max_size=1, open=True) as p:
        c = p.getconn()
        c.execute("select 1")
        expect(c.info.transaction_status.name, "INTRANS")
        p.putconn(c)
        with p.connection() as c:
            expect(c.info.transaction_status.name, "IDLE")


@check
def time_series():
    with connect() as c:
        for text in time_series_setup():
            c.execute(text)
        for text, values, want in time_series_queries():
            for place in ("%s", "%b"):
                expect(c.execute(text.format(*[place] * len(values)), values).fetchall(), want, text)


main("psycopg", psycopg.__version__)
