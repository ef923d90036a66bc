"""The checks that are the same for every driver with Python's DB-API; a program gives a Driver and adds its own.

What differs between drivers is a method: how to connect, what a place for a parameter is, where an error has its
SQLSTATE, and values whose type is not that of the samples.
"""
from harness import (NULLS, ODD, SLOW, TYPES, check, expect, expect_raises, expect_row, in_threads, later, table, time_series_queries,
                     time_series_setup, type_rows, types_ddl)


class Driver:
    error = Exception  # base of its errors
    login_error = Exception  # of a refused login
    statuses = True  # does an error have an SQLSTATE?
    positions = True  # ... and a position?
    autocommit_off_begins = True
    threads = 8

    def connect(self, autocommit=True, **more):
        """user, password, tls ('require' or a CA file for verify-full), timeout_ms in the start-up packet."""
        raise NotImplementedError

    def place(self, i):
        return "?"

    def sqlstate(self, e):
        return e.sqlstate

    def position(self, e):
        return None

    def written(self, value, kind):
        """A sample as a parameter."""
        return value

    def read(self, value, kind):
        """What the driver gave, as the sample is."""
        return value

    def cancel(self, c):
        c.cancel()

    # ------------------------------------------------------------------ for the checks
    def run(self, c, text, values=(), fetch=True):
        cur = c.cursor()
        try:
            cur.execute(text, tuple(values)) if values else cur.execute(text)
            return [tuple(r) for r in cur.fetchall()] if fetch and cur.description else []
        finally:
            cur.close()

    def places(self, n):
        return ", ".join(self.place(i) for i in range(n))

    def fresh(self, c, name, columns):
        self.run(c, f"drop table if exists {table(name)}", fetch=False)
        self.run(c, f"create table {table(name)} ({columns})", fetch=False)
        return table(name)

    def state_of(self, kind, f, *args):
        e = expect_raises(kind, f, *args)
        return self.sqlstate(e) if self.statuses else None

    def expect_state(self, state, f, *args):
        got = self.state_of(self.error, f, *args)
        expect(got, state if self.statuses else None, args[-1] if args else "")


class closing:
    def __init__(self, c):
        self.c = c

    def __enter__(self):
        return self.c

    def __exit__(self, *_):
        self.c.close()


def register(d, without=()):
    """The checks of this driver; `without` names those that its program has by itself."""
    def offer(f):
        return f if f.__name__.rstrip("_") in without else check(f)

    @offer
    def connect():
        with closing(d.connect()) as c:
            expect(int(d.run(c, "show server_version")[0][0].split(".")[0]) >= 14, True)
        for wrong in ({"password": "no"}, {"user": "nobody"}):
            e = expect_raises(d.login_error, lambda: d.connect(**wrong))
            expect("invalid username/password" in str(e), True, e)

    @offer
    def select():
        with closing(d.connect()) as c:
            cur = c.cursor()
            cur.execute("select 1 a, 'x' b, null d, true e")
            expect([x[0] for x in cur.description], ["a", "b", "d", "e"])
            expect([tuple(r) for r in cur.fetchall()], [(1, "x", None, d.read(True, "boolean"))])
            cur.close()
            expect(d.run(c, "select x from long_sequence(10) where x > 20"), [])
            expect(d.run(c, f"select {d.place(0)}::varchar", (ODD,)), [(ODD,)])

    @offer
    def types():
        with closing(d.connect()) as c:
            t = table("types")
            d.run(c, f"drop table if exists {t}", fetch=False)
            d.run(c, types_ddl(t), fetch=False)
            kinds = [kind for _, kind, _, _ in TYPES]
            for k, values in type_rows():
                d.run(c, f"insert into {t} values ({d.places(len(values) + 1)})", [k, *map(d.written, values, kinds)], fetch=False)
            for (k, *got), (_, want) in zip(d.run(c, f"select * from {t} order by k"), type_rows(), strict=True):
                expect_row(list(map(d.read, got, kinds)), want, f"row {k}")

    @offer
    def nulls():
        with closing(d.connect()) as c:
            t = table("nulls")
            d.run(c, f"drop table if exists {t}", fetch=False)
            d.run(c, types_ddl(t), fetch=False)
            d.run(c, f"insert into {t} values (1, {d.places(len(NULLS))})", [None] * len(NULLS), fetch=False)
            expect_row(d.run(c, f"select * from {t}")[0][1:], NULLS)

    @offer
    def parameters():
        with closing(d.connect()) as c:
            t = d.fresh(c, "params", "k int, v varchar, d double")
            p = d.place
            for k in range(10):
                d.run(c, f"insert into {t} values ({d.places(3)})", (k, f"v{k}", k / 2), fetch=False)
            expect(d.run(c, f"select v from {t} where k = {p(0)} and d < {p(1)}", (3, 9.5)), [("v3",)])
            expect(d.run(c, f"select k from {t} where v in ({p(0)}, {p(1)}) order by k", ("v2", "v4")), [(2,), (4,)])
            expect(d.run(c, f"select k from {t} order by k limit {p(0)}", (2,)), [(0,), (1,)])
            expect(d.run(c, f"select k from {t} where k = any({p(0)}) order by k", ("{1,5,99}",)), [(1,), (5,)])
            expect(d.run(c, f"select {p(0)}::long + 1, {p(1)}::varchar, {p(2)}::double", (5, "6", 1.5)), [(6, "6", 1.5)])

    @offer
    def batch():
        with closing(d.connect(autocommit=False)) as c:
            t = d.fresh(c, "batch", "k int, v varchar")
            c.commit()
            cur = c.cursor()
            cur.executemany(f"insert into {t} values ({d.places(2)})", [(k, f"v{k}") for k in range(1000)])
            cur.close()
            c.commit()
            expect(d.run(c, f"select count(), sum(k) from {t}"), [(1000, 499500)])
            c.commit()
            cur = c.cursor()
            e = expect_raises(d.error, cur.executemany, f"insert into {t} (v, k) values ({d.place(0)}, {d.place(1)}::varchar::uuid::varchar::int)",
                              [("bad", "x" * 40 if k == 500 else str(k)) for k in range(1000)])
            c.rollback()
            cur.close()
            expect(d.run(c, f"select count() from {t} where v = 'bad'"), [(0,)], e)

    @offer
    def large():
        with closing(d.connect()) as c:
            t = d.fresh(c, "large", "v varchar")
            value = "0123456789abcd\u00fc" * (1 << 17)
            d.run(c, f"insert into {t} values ({d.place(0)})", (value,), fetch=False)
            expect(d.run(c, f"select v from {t}") == [(value,)], True)
            rows = d.run(c, "select x, x::varchar from long_sequence(100000)")
            expect((len(rows), rows[-1]), (100000, (100000, "100000")))

    @offer
    def transaction():
        with closing(d.connect(autocommit=False)) as c, closing(d.connect()) as other:
            t = d.fresh(other, "tx", "k int")
            seen = lambda: [k for k, in d.run(other, f"select k from {t} order by k")]
            put = lambda k: d.run(c, f"insert into {t} values ({d.place(0)})", (k,), fetch=False)
            put(1)
            expect(seen(), [])
            c.commit()
            put(2)
            c.rollback()
            expect(seen(), [1])
            put(3)
            d.run(c, "savepoint a", fetch=False)
            put(4)
            d.run(c, "rollback to savepoint a", fetch=False)
            d.run(c, "release savepoint a", fetch=False)
            c.commit()
            expect(seen(), [1, 3])
            put(5)
            d.expect_state("42P01", d.run, c, "select * from nosuch")
            d.expect_state("25P02", d.run, c, "select 1")
            c.commit()  # of a failed block: a rollback
            expect(seen(), [1, 3])

    @offer
    def errors():
        with closing(d.connect()) as c:
            for text, state, at in (("select 1 +", "42601", None), ("select * from nosuch", "42P01", 15),
                                    ("select '\u00fc', nope from long_sequence(1)", "42703", 13)):
                e = expect_raises(d.error, d.run, c, text)
                if d.statuses:
                    expect(d.sqlstate(e), state, text)
                if d.positions and at:
                    expect(int(d.position(e)), at, text)
            t = d.fresh(c, "errors", "i int")
            d.expect_state("22P02", d.run, c, f"insert into {t} values ('x')")
            expect(d.run(c, "select 1"), [(1,)])

    @offer
    def cancel():
        with closing(d.connect()) as c:
            later(0.5, lambda: d.cancel(c))
            d.expect_state("57014", d.run, c, SLOW)
            expect(d.run(c, "select 1"), [(1,)])

    @offer
    def timeout():
        with closing(d.connect()) as c:
            d.run(c, "set statement_timeout = 200", fetch=False)
            d.expect_state("57014", d.run, c, SLOW)
            d.run(c, "set statement_timeout = 0", fetch=False)
            expect(d.run(c, "select 1"), [(1,)])
        with closing(d.connect(timeout_ms=200)) as c:
            d.expect_state("57014", d.run, c, SLOW)

    @offer
    def time_series():
        with closing(d.connect()) as c:
            for text in time_series_setup():
                d.run(c, text, fetch=False)
            for text, values, want in time_series_queries():
                expect(d.run(c, text.format(*[d.place(i) for i in range(len(values))]), values), want, text)
