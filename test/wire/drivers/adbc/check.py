"""ADBC (adbc-driver-postgresql) by its DB-API, with Arrow tables in and out, and polars over it.

The driver reads results by COPY (query) TO STDOUT (FORMAT binary), writes tables by COPY FROM STDIN, and asks pg_type and
pg_attribute for the types it will meet. Within a failed block it refuses statements by itself, with no SQLSTATE.
"""
import decimal, json, pathlib, sys, urllib.parse, uuid

sys.path[:1] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import adbc_driver_manager
import adbc_driver_postgresql
import adbc_driver_postgresql.dbapi as dbapi
import polars as pl
import pyarrow as pa
from dbapi import Driver, closing, register
from harness import (CA, DATABASE, HOST, ODD, PASSWORD, PORT, TYPES, USER, bounded, check, expect, expect_raises, expect_row, in_threads, main, none, table,
                     time_series_queries, time_series_setup, type_rows, types_ddl)

# Text of which the driver makes no type of its own: Arrow has none for these, or the driver writes none of its lists of lists.
AS_TEXT = {"uuid": str, "decimal(20,4)": str, "decimal(76,10)": str, "double[][]": None}


def array_text(v):
    """A list of lists as PostgreSQL writes it."""
    return "{" + ",".join("NULL" if x is None else array_text(x) if isinstance(x, list) else repr(x) for x in v) + "}"


class Adbc(Driver):
    error = dbapi.Error
    login_error = dbapi.Error
    positions = False  # it has an SQLSTATE and the position within its text

    def uri(self, user=USER, password=PASSWORD, tls=None, timeout_ms=None):
        more = {"sslmode": "disable"} if tls is None else {"sslmode": "require"} if tls == "require" else {"sslmode": "verify-full", "sslrootcert": tls}
        if timeout_ms:
            more["options"] = f"-c statement_timeout={timeout_ms}"
        return f"postgresql://{user}:{password}@{HOST}:{PORT}/{DATABASE}?" + urllib.parse.urlencode(more, quote_via=urllib.parse.quote)

    def connect(self, autocommit=True, **more):
        return dbapi.connect(self.uri(**more), autocommit=autocommit)

    def place(self, i):
        return f"${i + 1}"

    def sqlstate(self, e):
        return e.sqlstate

    def written(self, value, kind):
        if kind == "double[][]":
            return array_text(value)
        return AS_TEXT[kind](value) if kind in AS_TEXT else value

    def read(self, value, kind):
        if kind == "uuid":
            return value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value) if isinstance(value, bytes) else uuid.UUID(value)
        if kind == "double[][]":
            return json.loads(value)
        if kind.startswith("decimal"):
            return decimal.Decimal(value)
        return value

    def cancel(self, c):
        c.adbc_cancel()


d = Adbc()
register(d, without=("types", "transaction", "time_series"))
none(copy_out="it reads everything by COPY TO STDOUT; there is no other way to it")


def schema_of(c, name):
    return {f.name: str(f.type) for f in c.adbc_get_table_schema(name)}


@check
def types():
    with closing(d.connect()) as c:
        t = table("types")
        d.run(c, f"drop table if exists {t}", fetch=False)
        d.run(c, types_ddl(t), fetch=False)
        kinds = [kind for _, kind, _, _ in TYPES]
        columns = ", ".join("m::varchar m" if name == "m" else name for name, _, _, _ in TYPES)  # it reads a list of lists as one list
        for k, values in type_rows():
            d.run(c, f"insert into {t} values ({d.places(len(values) + 1)})", [k, *map(d.written, values, kinds)], fetch=False)
        for (k, *got), (_, want) in zip(d.run(c, f"select k, {columns} from {t} order by k"), type_rows(), strict=True):
            expect_row(list(map(d.read, got, kinds)), want, f"row {k}")
        cur = c.cursor()
        for values in (pa.array([[]], pa.list_(pa.float64())), pa.array([[None, 1.5]], pa.list_(pa.float64()))):
            cur.execute("select $1::double[]", pa.record_batch([values], ["a"]))
            expect(cur.fetchall(), [(values[0].as_py(),)])
        cur.close()


@check
def tls():
    for mode in ("require", CA):
        with closing(d.connect(tls=mode)) as c:
            expect(d.run(c, "select sum(x) from long_sequence(100000)"), [(5000050000,)])
    e = expect_raises(dbapi.Error, d.connect, tls="system")
    expect("certificate verify failed" in str(e), True, e)


@check
def prepared():
    with closing(d.connect()) as c, closing(d.connect()) as other:
        t = d.fresh(c, "prep", "k int, v varchar")
        cur = c.cursor()
        expect(len(cur.adbc_prepare(f"insert into {t} values ($1, $2)")), 2)
        for k in range(100):
            cur.execute(f"insert into {t} values ($1, $2)", (k, f"v{k}"))
        for k in range(100):
            expect(d.run(c, f"select k, v from {t} where k = $1", (k,)), [(k, f"v{k}")])
        d.run(other, f"alter table {t} add column w double", fetch=False)
        expect(d.run(c, f"select * from {t} where k = $1", (5,)), [(5, "v5", None)])
        d.run(other, f"alter table {t} drop column v", fetch=False)
        expect(d.run(c, f"select * from {t} where k = $1", (5,)), [(5, None)])
        cur.execute(f"select * from {t} where k = $1", (6,))
        expect(cur.adbc_execute_schema(f"select * from {t}").names, ["k", "w"])
        cur.close()


@check
def fetch():
    with closing(d.connect()) as c:
        def by_batches():
            cur = c.cursor()
            cur.execute("select x, x * 2 y, 'a text of some length' t from long_sequence(1000000)")
            total = 0
            for part in cur.fetch_record_batch():
                total += sum(part.column(0).to_pylist())
            cur.close()
            return total
        expect(bounded(by_batches), 500000500000)


@check
def transaction():
    with closing(d.connect(autocommit=False)) as c, closing(d.connect()) as other:
        t = d.fresh(other, "tx", "k int")
        seen = lambda: [k for k, in d.run(other, f"select k from {t} order by k")]
        put = lambda k: d.run(c, f"insert into {t} values ($1)", (k,), fetch=False)
        put(1)
        expect(seen(), [])
        c.commit()
        put(2)
        c.rollback()
        put(3)
        d.run(c, "savepoint a", fetch=False)
        put(4)
        d.run(c, "rollback to savepoint a", fetch=False)
        c.commit()
        expect(seen(), [1, 3])
        put(5)
        d.expect_state("42P01", d.run, c, "select * from nosuch")
        e = expect_raises(dbapi.Error, d.run, c, "select 1")
        expect("error state" in str(e), True, e)  # by itself: it does not ask the server
        c.rollback()
        expect(d.run(c, "select 1"), [(1,)])
        c.rollback()
        expect(seen(), [1, 3])


@check
def copy_in():
    with closing(d.connect()) as c:
        rows = pa.table({"k": pa.array(range(1000), pa.int32()), "v": [ODD if k % 2 else None for k in range(1000)],
                         "d": pa.array([k / 3 for k in range(1000)]), "b": pa.array([k % 3 == 0 for k in range(1000)]),
                         "ts": pa.array([1700000000000000 + k for k in range(1000)], pa.timestamp("us"))})
        t = table("copy_in")
        cur = c.cursor()
        d.run(c, f"drop table if exists {t}", fetch=False)
        expect(cur.adbc_ingest(t, rows, mode="create"), 1000)
        expect(cur.adbc_ingest(t, rows, mode="append"), 1000)
        cur.execute(f"select * from {t}")
        expect(cur.fetch_arrow_table().cast(rows.schema).equals(pa.concat_tables([rows, rows])), True)
        e = expect_raises(dbapi.Error, cur.adbc_ingest, t, rows, mode="create")
        expect("ALREADY_EXISTS" in str(e), True, e)  # its status for SQLSTATE 42P07, which it does not give here
        bad = pa.table({"k": ["1"] * 999 + ["x"]})
        expect_raises(dbapi.Error, cur.adbc_ingest, t, bad, mode="append")
        expect(d.run(c, f"select count() from {t}"), [(2000,)])
        frame = pl.DataFrame({"k": [1, 2, 3], "v": ["a", None, ODD]})
        d.run(c, f"drop table if exists {t}_polars", fetch=False)
        frame.write_database(f"{t}_polars", d.uri(), engine="adbc", if_table_exists="replace")
        got = pl.read_database_uri(f"select k, v from {t}_polars order by k", d.uri(), engine="adbc")
        expect(got.equals(frame), True, got)


@check
def metadata():
    with closing(d.connect()) as c:
        t = d.fresh(c, "meta", "k int, d decimal(10,2), u uuid, a double[], v varchar, ts timestamp")
        expect(list(schema_of(c, t)), ["k", "d", "u", "a", "v", "ts"])
        expect([schema_of(c, t)[n] for n in ("k", "v", "ts")], ["int32", "string", "timestamp[us]"])
        info = c.adbc_get_info()
        expect(info["vendor_name"], "PostgreSQL")
        found = c.adbc_get_objects(depth="columns", table_name_filter=t).read_all().to_pylist()
        tables = [x for catalog in found for s in catalog["catalog_db_schemas"] or [] for x in s["db_schema_tables"] or []]
        expect([(x["table_name"], [col["column_name"] for col in x["table_columns"]], x["table_constraints"]) for x in tables],
               [(t, ["k", "d", "u", "a", "v", "ts"], [])])
        expect((c.adbc_current_catalog, c.adbc_current_db_schema), (DATABASE, "public"))
        expect("table" in c.adbc_get_table_types(), True)


@check
def pool():
    """The driver has none; polars opens a connection for each read."""
    base = d.connect()

    def one(i):
        c = base.adbc_clone()  # another connection of the same database object
        try:
            for n in range(100):
                expect(d.run(c, "select $1::long * 2", (i * n,)), [(2 * i * n,)])
        finally:
            c.close()
    in_threads(8, one)
    base.close()


@check
def time_series():
    with closing(d.connect()) as c:
        for text in time_series_setup():
            d.run(c, text, fetch=False)
        for text, values, want in time_series_queries():
            expect(d.run(c, text.format(*[d.place(i) for i in range(len(values))]), values), want, text)
    frame = pl.read_database_uri(f"select sym, avg(price) p from {table('trades')} sample by 5m order by sym, p limit 3", d.uri(), engine="adbc")
    expect((frame.columns, frame.height), (["sym", "p"], 3))


main("adbc-driver-postgresql", adbc_driver_postgresql.__version__)
