"""psqlODBC, by way of unixODBC and pyodbc."""
import os, pathlib, sys, uuid

sys.path[:1] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import pyodbc
from dbapi import Driver, closing, register
from harness import CA, DATABASE, HOST, PASSWORD, PORT, SLOW, USER, bounded, check, expect, expect_raises, in_threads, later, main, none

LIBRARY = next(p for p in ("/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so", "/usr/lib/aarch64-linux-gnu/odbc/psqlodbcw.so") if os.path.exists(p))


class Odbc(Driver):
    error = pyodbc.Error
    login_error = pyodbc.Error
    positions = False  # the driver keeps the text of an error alone

    def connect(self, autocommit=True, user=USER, password=PASSWORD, tls=None, timeout_ms=None, **options):
        mode = "disable" if tls is None else "require" if tls == "require" else "verify-full"
        os.environ["PGSSLROOTCERT"] = tls if mode == "verify-full" else CA
        settings = {"Driver": LIBRARY, "Server": HOST, "Port": PORT, "Database": DATABASE, "UID": user, "PWD": password, "SSLMode": mode,
                    "BoolsAsChar": 0, "ByteaAsLongVarBinary": 1, "MaxLongVarcharSize": 8190, "MaxVarcharSize": 4000, "TextAsLongVarchar": 0, **options}
        if timeout_ms:
            settings["pqopt"] = f"{{options='-c statement_timeout={timeout_ms}'}}"
        c = pyodbc.connect(";".join(f"{k}={v}" for k, v in settings.items()), autocommit=autocommit)
        return c

    def sqlstate(self, e):
        return e.args[0]

    def written(self, value, kind):
        if value is None:
            return None
        if kind == "uuid":
            return str(value)
        if kind.startswith("double["):
            return array_text(value)
        return value

    def read(self, value, kind):
        if kind == "uuid" and value is not None:
            return uuid.UUID(str(value))
        if kind.startswith("double[") and value is not None:
            return array_value(value)
        return value


def array_text(v):
    return "{" + ",".join("NULL" if x is None else array_text(x) if isinstance(x, list) else repr(x) for x in v) + "}"


def array_value(text):
    return eval(text.replace("{", "[").replace("}", "]").replace("NULL", "None"), {"__builtins__": {}})


d = Odbc()
register(d, without=("transaction", "cancel", "batch"))
none(copy_in="ODBC has no call for COPY", copy_out="ODBC has no call for COPY")


@check
def tls():
    for how in ("require", CA):
        with closing(d.connect(tls=how)) as c:
            expect(d.run(c, "select sum(x) from long_sequence(100000)"), [(5000050000,)])
    e = expect_raises(pyodbc.Error, d.connect, tls="/etc/ssl/certs/ca-certificates.crt")
    expect("certificate verify failed" in str(e), True, e)


@check
def parameters():
    for server_side in (1, 0):  # 0: the driver writes the values into the text
        with closing(d.connect(UseServerSidePrepare=server_side)) as c:
            t = d.fresh(c, "params", "k int, v varchar, d double")
            for k in range(10):
                d.run(c, f"insert into {t} values (?, ?, ?)", (k, f"v{k}", k / 2))
            expect(d.run(c, f"select v from {t} where k = ? and d < ?", (3, 9.5)), [("v3",)])
            expect(d.run(c, f"select k from {t} where v in (?, ?) order by k", ("v2", "v4")), [(2,), (4,)])
            expect(d.run(c, f"select k from {t} where k = any(?) order by k", ("{1,5,99}",)), [(1,), (5,)])
            expect(d.run(c, f"select k from {t} order by k limit ?", (2,)), [(0,), (1,)])


@check
def prepared():
    with closing(d.connect()) as c, closing(d.connect()) as other:
        t = d.fresh(c, "prep", "k int, v varchar")
        cur = c.cursor()  # a cursor keeps the statement it has prepared while the text stays the same
        for k in range(100):
            cur.execute(f"insert into {t} values (?, ?)", k, f"v{k}")
        for k in range(100):
            expect(tuple(cur.execute(f"select k, v from {t} where k = ?", k).fetchone()), (k, f"v{k}"))
        d.run(other, f"alter table {t} add column w double")
        expect(tuple(cur.execute(f"select k, v from {t} where k = ?", 5).fetchone()), (5, "v5"), "the shape is the same")
        expect(tuple(cur.execute(f"select * from {t} where k = ?", 5).fetchone()), (5, "v5", None))
        d.run(other, f"alter table {t} drop column v")
        try:
            cur.execute(f"select * from {t} where k = ?", 5)
        except pyodbc.Error as e:
            expect(e.args[0], "0A000", e)
        expect(tuple(c.cursor().execute(f"select * from {t} where k = ?", 5).fetchone()), (5, None))


@check
def batch():
    for fast in (False, True):
        with closing(d.connect(autocommit=False)) as c:
            t = d.fresh(c, "batch", "k int, v varchar")
            c.commit()
            cur = c.cursor()
            cur.fast_executemany = fast  # all rows by one call of the driver
            cur.executemany(f"insert into {t} values (?, ?)", [(k, f"v{k}") for k in range(1000)])
            c.commit()
            expect(d.run(c, f"select count(), sum(k) from {t}"), [(1000, 499500)])
            c.commit()
            bad = [("x" if k == 500 else str(k), "bad") for k in range(1000)]
            expect_raises(pyodbc.Error, cur.executemany, f"insert into {t} values (?, ?)", bad)
            c.rollback()
            expect(d.run(c, f"select count() from {t} where v = 'bad'"), [(0,)])


@check
def fetch():
    with closing(d.connect(autocommit=False, UseDeclareFetch=1, Fetch=10000)) as c:
        def total():
            n, cur = 0, c.cursor()
            cur.execute("select x, x * 2 y, 'a text of some length' from long_sequence(1000000)")
            while rows := cur.fetchmany(5000):
                n += sum(r[0] for r in rows)
            return n
        expect(bounded(total), 500000500000)


@check
def transaction():
    """A statement that fails costs the block, or (as the driver has it by default) is undone alone, by savepoints."""
    with closing(d.connect(autocommit=False, Protocol="7.4-1")) as c, closing(d.connect()) as other:
        t = d.fresh(other, "tx", "k int")
        seen = lambda: [k for k, in d.run(other, f"select k from {t} order by k")]
        d.run(c, f"insert into {t} values (?)", (1,))
        expect(seen(), [])
        c.commit()
        d.run(c, f"insert into {t} values (?)", (2,))
        c.rollback()
        expect(seen(), [1])
        d.run(c, f"insert into {t} values (3)")
        d.run(c, "savepoint a")
        d.run(c, f"insert into {t} values (4)")
        d.run(c, "rollback to savepoint a")
        c.commit()
        expect(seen(), [1, 3])
        d.run(c, f"insert into {t} values (5)")
        # psqlODBC ends the block of a statement that failed by itself
        d.expect_state("42P01", d.run, c, "select * from nosuch")
        c.commit()
        expect(seen(), [1, 3])
        expect(d.run(c, "select 1"), [(1,)])
    with closing(d.connect(autocommit=False)) as c, closing(d.connect()) as other:
        d.run(c, f"insert into {t} values (6)")
        d.expect_state("42P01", d.run, c, "select * from nosuch")
        d.run(c, f"insert into {t} values (7)")
        c.commit()
        expect([k for k, in d.run(other, f"select k from {t} order by k")], [1, 3, 6, 7])
        d.expect_state("42P01", d.run, c, "begin; select * from nosuch")


@check
def cancel():
    with closing(d.connect()) as c:
        cur = c.cursor()
        later(0.5, cur.cancel)
        expect(expect_raises(pyodbc.Error, cur.execute, SLOW).args[0], "57014")
        expect(d.run(c, "select 1"), [(1,)])


@check
def metadata():
    with closing(d.connect()) as c:
        t = d.fresh(c, "meta", "k int, v varchar, d decimal(10,2), b binary, ts timestamp")
        expect([(r.table_name, r.table_type) for r in c.cursor().tables(table=t)], [(t, "TABLE")])
        got = [(r.column_name, r.type_name, r.data_type) for r in c.cursor().columns(table=t)]
        expect([g[:2] for g in got], [("k", "int4"), ("v", "varchar"), ("d", "numeric"), ("b", "bytea"), ("ts", "timestamp")])
        expect(list(c.cursor().primaryKeys(t)), [])
        expect(list(c.cursor().foreignKeys(t)), [])
        expect(len(list(c.cursor().getTypeInfo())) > 10, True)
        expect([x.index_name for x in c.cursor().statistics(t) if x.index_name], [])
        cur = c.cursor().execute(f"select * from {t}")
        expect([(x[0], x[4], x[5]) for x in cur.description][2], ("d", 10, 2))
        expect(c.getinfo(pyodbc.SQL_DBMS_NAME), "PostgreSQL")


@check
def pool():
    """unixODBC keeps connections of a process; here each thread takes one from a list."""
    def one(i):
        with closing(d.connect()) as c:
            for n in range(100):
                expect(d.run(c, "select ?::long * 2", (i * n,)), [(2 * i * n,)])
    expect(pyodbc.pooling, True)
    in_threads(8, one)
    c = d.connect(autocommit=False)
    t = d.fresh(c, "pool", "k int")
    c.commit()
    d.run(c, f"insert into {t} values (1)")
    c.close()  # back to the pool, with its block open
    with closing(d.connect()) as c:
        expect(d.run(c, f"select count() from {t}"), [(0,)])


with closing(d.connect()) as connection:
    version = connection.getinfo(pyodbc.SQL_DRIVER_VER)
main("psqlODBC", version)
