"""psycopg 2: simple queries, with parameters written into the text by the client."""
import io, pathlib, sys

sys.path[:1] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import psycopg2, psycopg2.extras, psycopg2.pool
from dbapi import Driver, closing, register
from harness import (CA, ODD, bounded, check, expect, expect_raises, in_threads, main, none, table)

psycopg2.extras.register_uuid()


class Psycopg2(Driver):
    error = psycopg2.Error
    login_error = psycopg2.OperationalError

    def connect(self, autocommit=True, tls=None, timeout_ms=None, **more):
        if tls:
            more |= {"sslmode": "require"} if tls == "require" else {"sslmode": "verify-full", "sslrootcert": tls}
        if timeout_ms:
            more["options"] = f"-c statement_timeout={timeout_ms}"
        c = psycopg2.connect("", **more)
        c.autocommit = autocommit
        return c

    def place(self, i):
        return "%s"

    def sqlstate(self, e):
        return e.pgcode

    def position(self, e):
        return e.diag.statement_position

    def written(self, value, kind):
        return psycopg2.Binary(value) if kind == "binary" else value

    def read(self, value, kind):
        return bytes(value) if isinstance(value, memoryview) else value


d = Psycopg2()
register(d)
none(prepared="it sends no parameters and prepares nothing")


@check
def tls():
    for how in ("require", CA):
        with closing(d.connect(tls=how)) as c:
            expect(c.info.ssl_in_use, True)
            expect(d.run(c, "select sum(x) from long_sequence(100000)"), [(5000050000,)])
    e = expect_raises(psycopg2.OperationalError, d.connect, tls="/etc/ssl/certs/ca-certificates.crt")
    expect("certificate verify failed" in str(e), True, e)


@check
def parameters():
    with closing(d.connect()) as c:
        t = d.fresh(c, "params", "k int, v varchar, d double")
        cur = c.cursor()
        psycopg2.extras.execute_values(cur, f"insert into {t} values %s", [(k, f"v{k}", k / 2) for k in range(10)])
        expect(cur.rowcount, 10)
        expect(d.run(c, f"select v from {t} where k = %s and d < %s", (3, 9.5)), [("v3",)])
        expect(d.run(c, f"select k from {t} where k = any(%s) order by k", ([1, 5, 99],)), [(1,), (5,)])
        expect(d.run(c, f"select k from {t} where v = any(%s) order by k", (["v2", "v4"],)), [(2,), (4,)])
        expect(d.run(c, f"select k from {t} where v in %s order by k", (("v2", "v4"),)), [(2,), (4,)])
        expect(d.run(c, f"select k from {t} order by k limit %s", (2,)), [(0,), (1,)])
        cur.execute("select %(a)s, %(b)s", {"a": 1, "b": ODD})
        expect(cur.fetchone(), (1, ODD))


@check
def batch():
    with closing(d.connect(autocommit=False)) as c:
        t = d.fresh(c, "batch", "k int, v varchar")
        c.commit()
        cur, rows = c.cursor(), [(k, f"v{k}") for k in range(1000)]
        cur.executemany(f"insert into {t} values (%s, %s)", rows)
        psycopg2.extras.execute_batch(cur, f"insert into {t} values (%s, %s)", rows)
        psycopg2.extras.execute_values(cur, f"insert into {t} values %s", rows, page_size=1000)
        expect(cur.rowcount, 1000)
        c.commit()
        expect(d.run(c, f"select count(), sum(k) from {t}"), [(3000, 3 * 499500)])
        c.commit()
        bad = [("x" if k == 500 else k, "bad") for k in range(1000)]
        for put in (cur.executemany, lambda *a: psycopg2.extras.execute_batch(cur, *a)):
            expect_raises(psycopg2.DataError, put, f"insert into {t} values (%s, %s)", bad)
            c.rollback()
        expect(d.run(c, f"select count() from {t} where v = 'bad'"), [(0,)])


@check
def fetch():
    with closing(d.connect(autocommit=False)) as c:
        def total():
            with c.cursor("big") as cur:
                cur.itersize = 10000
                cur.execute("select x, x * 2 y, 'a text of some length' from long_sequence(1000000)")
                return sum(row[0] for row in cur)
        expect(bounded(total), 500000500000)
        with c.cursor("held", withhold=True) as cur:
            cur.execute("select x from long_sequence(100)")
            expect((cur.fetchone(), cur.fetchmany(2)), ((1,), [(2,), (3,)]))
            c.commit()
            cur.scroll(90)
            expect(cur.fetchall(), [(x,) for x in range(94, 101)])


@check
def copy_in():
    with closing(d.connect()) as c:
        t = d.fresh(c, "copy_in", "k int, v varchar")
        cur = c.cursor()
        cur.copy_from(io.StringIO("".join(f"{k}\t{'v' if k % 2 else chr(92) + 'N'}\n" for k in range(1000))), t)
        expect(cur.rowcount, 1000)
        cur.copy_expert(f"copy {t} (k, v) from stdin with (format csv, header)", io.StringIO("k,v\n1,\"a, b\"\n2,\n"))
        expect(d.run(c, f"select count(), count(v) from {t}"), [(1002, 501)])
        e = expect_raises(psycopg2.DataError, cur.copy_from, io.StringIO("1\ta\nx\tb\n"), t)
        expect(e.pgcode, "22P02")
        expect(d.run(c, f"select count() from {t}"), [(1002,)])


@check
def copy_out():
    with closing(d.connect()) as c:
        t = d.fresh(c, "copy_out", "k int, v varchar")
        d.run(c, f"insert into {t} values (1, 'a b'), (2, null)", fetch=False)
        out = io.StringIO()
        c.cursor().copy_to(out, t)
        expect(out.getvalue(), "1\ta b\n2\t\\N\n")
        out = io.BytesIO()
        c.cursor().copy_expert(f"copy (select * from {t} order by k) to stdout with csv header", out)
        expect(out.getvalue(), b"k,v\n1,a b\n2,\n")


@check
def metadata():
    with closing(d.connect()) as c:
        t = d.fresh(c, "meta", "k int, d decimal(10,2), u uuid, a double[], ts timestamp")
        cur = c.cursor()
        cur.execute(f"select * from {t}")
        expect([(x.name, x.type_code) for x in cur.description], [("k", 23), ("d", 1700), ("u", 2950), ("a", 1022), ("ts", 1114)])
        expect((cur.description[1].precision, cur.description[1].scale), (10, 2))
        expect(cur.description[4].type_code in psycopg2.DATETIME.values, True)
        expect(psycopg2.extras.HstoreAdapter.get_oids(c), ((), ()))  # asks pg_type and pg_namespace
        expect((c.encoding, c.get_parameter_status("standard_conforming_strings")), ("UTF8", "on"))


@check
def pool():
    p = psycopg2.pool.ThreadedConnectionPool(1, 8, "")

    def one(i):
        for n in range(100):
            c = p.getconn()
            try:
                expect(d.run(c, "select %s::long * 2", (i * n,)), [(2 * i * n,)])
            finally:
                p.putconn(c)
    in_threads(8, one)
    c = p.getconn(key=1)
    d.run(c, "select 1")
    expect(c.get_transaction_status(), psycopg2.extensions.TRANSACTION_STATUS_INTRANS)
    p.putconn(c, key=1)
    expect(c.get_transaction_status(), psycopg2.extensions.TRANSACTION_STATUS_IDLE)
    p.closeall()


main("psycopg2", psycopg2.__version__.split()[0])
