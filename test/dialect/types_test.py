#!/usr/bin/env python3
"""Every column type in every place a value can stand: read back over REST, CSV and PostgreSQL (text and binary),
grouped, ordered, joined, aggregated, filled, cast to every other type, updated, exported and imported again, and all of it once
more after a restart.

A type is a ladder of values in ascending order: the literal, the value in JSON, the text in CSV and over PostgreSQL (where
it differs). Each value stands in two rows, and so does null. What a type cannot do must be refused with status 400; such
places are listed, so that a change in either direction shows."""
import asyncio, csv, datetime as dt, http.client, io, json, re, subprocess, sys, urllib.parse, urllib.request

from lib.checks import print_again
from lib.ladders import LADDERS, NO_NULL, family
from lib.server import TOP, Server


try:
    import asyncpg, psycopg
except ImportError:
    psycopg = None

FLOATING = {"FLOAT", "DOUBLE"}  # nulls come last
NO_ORDER = {"DOUBLE[]", "DOUBLE[][]", "DOUBLE[][][]"}
# the places a type is refused at, in so many words
REFUSED = {
    "extremes": {"BINARY", *NO_ORDER},
    "count_distinct": NO_ORDER,
}

NO_COMPARE = {"BINARY", *NO_ORDER}
NO_BETWEEN = {t for t in LADDERS if t.startswith("GEOHASH")}
NOT_BESIDE_TEXT = {"BOOLEAN", "BINARY", "DOUBLE[]"}
LINEAR = {"BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP_NS"}
NUMBERS, TIMES, TEXTS = ["BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE"], ["DATE", "TIMESTAMP", "TIMESTAMP_NS"], ["STRING", "VARCHAR", "SYMBOL"]
FAMILIES = list(dict.fromkeys(family(t) for t in LADDERS))
# what a type can be cast to, besides itself and the texts; one without a row here is made of texts and characters alone
CASTS = {
    "BOOLEAN": ["CHAR", *NUMBERS, *TIMES, "LONG256"],
    **{t: ["BOOLEAN", "CHAR", *NUMBERS, *TIMES, "LONG256", "DECIMAL", "DOUBLE[]"] for t in NUMBERS},
    "CHAR": ["BOOLEAN", *NUMBERS, *TIMES, "LONG256", "GEOHASH", "DECIMAL"],
    **{t: [f for f in FAMILIES if f not in TEXTS] for t in TEXTS},
    **{t: ["BOOLEAN", "CHAR", *NUMBERS, *TIMES, "LONG256"] for t in TIMES},
    "UUID": [], "IPv4": ["INT"], "LONG256": ["BOOLEAN", "CHAR", *NUMBERS, *TIMES], "GEOHASH": ["GEOHASH"], "DECIMAL": [*NUMBERS, "DECIMAL"], "BINARY": [], "DOUBLE[]": ["DOUBLE[]"],
}
CASTS["CHAR"] += [f for f in FAMILIES if f not in CASTS]
CASTS.update({f: [] for f in FAMILIES if f not in CASTS})
CASTS["INT"].append("IPv4")
CASTS["LONG"].append("GEOHASH")
CASTS["SYMBOL"] = [t for t in CASTS["SYMBOL"] if t != "BINARY"]
# a constant text that is none of these is refused where it stands; of a column it is null
CONSTANT_MUST_FIT = {"UUID", "IPv4", "GEOHASH", "DECIMAL"}
# ALTER COLUMN TYPE leaves these alone, on either side
NO_ALTER = {"BINARY", "LONG256", "GEOHASH", "DOUBLE[]"}
# UNION ALL with a value of another type: the type both meet in
WIDER = {
    "BYTE": [("SHORT", "SHORT"), ("INT", "INT"), ("DOUBLE", "DOUBLE")], "SHORT": [("BYTE", "SHORT"), ("LONG", "LONG")], "INT": [("LONG", "LONG"), ("FLOAT", "FLOAT"), ("STRING", "STRING"), ("BOOLEAN", "STRING")],
    "LONG": [("INT", "LONG"), ("DOUBLE", "DOUBLE")], "FLOAT": [("DOUBLE", "DOUBLE")], "CHAR": [("STRING", "STRING"), ("VARCHAR", "VARCHAR")], "STRING": [("VARCHAR", "STRING")], "SYMBOL": [("VARCHAR", "VARCHAR")],
    "DATE": [("TIMESTAMP", "TIMESTAMP")], "TIMESTAMP": [("TIMESTAMP_NS", "TIMESTAMP_NS")], "UUID": [("VARCHAR", "VARCHAR")], "IPv4": [("STRING", "STRING")], "GEOHASH(12c)": [("GEOHASH(3c)", "GEOHASH(3c)")],
    "DECIMAL(4,2)": [("DECIMAL(9,3)", "DECIMAL(9,3)"), ("DECIMAL(38,6)", "DECIMAL(38,6)"), ("INT", "DECIMAL(12,2)"), ("DOUBLE", "DOUBLE")], "DOUBLE[]": [("DOUBLE[][]", "ARRAY")],
}


def bits(t):
    return int(t[8:-2]) * (5 if t[-2] == "c" else 1)


def may_cast(a, b):
    if a == b or b in TEXTS:
        return not (a != b and (a == "BINARY" or (b == "SYMBOL" and "[" in a)))
    if family(b) not in CASTS[family(a)]:
        return False
    if family(a) == family(b) == "GEOHASH":
        return bits(a) >= bits(b)
    return family(a) != "DOUBLE[]" or a.count("[") <= b.count("[")


def may_alter(a, b):
    return may_cast(a, b) and not NO_ALTER & {family(a), family(b)}


# no text of these types is taken by INSERT
NOT_FROM_TEXT = {"BINARY"}
# texts that are none of the type
BAD_TEXT = {
    "BYTE": ("x1", "128", "1.5", "", "1e1", "--1"), "SHORT": ("x1", "32768", "", "1_", "0x1"), "INT": ("x1", "2147483648", "1.5", "1 2"), "LONG": ("x1", "9223372036854775808", "1.5"),
    "FLOAT": ("x1", "1e39", "1,5", "1e"), "DOUBLE": ("x1", "1e400", "1,5", "--1"), "CHAR": ("ab",),
    "DATE": ("x1", "2024-13-01", "2024-02-30", "24:00"), "TIMESTAMP": ("x1", "2024-13-01", "2024-02-30T00", "2024-01-01T25:00"), "TIMESTAMP_NS": ("x1", "2024-13-01", "9999-01-01", "1000-01-01"),
    "UUID": ("x1", "11111111-2222-3333-4444-55555555555", "11111111-2222-3333-4444-5555555555555", "g1111111-2222-3333-4444-555555555555"),
    "IPv4": ("x1", "1.2.3", "1.2.3.256", "1.2.3.4.5", "::1"), "LONG256": ("0xzz", "0x1" + "0" * 64, "x1"), "GEOHASH": ("a", "u33!" * 5, "il"),
    "DECIMAL": ("x1", "1" + "0" * 77, "1e", "0." + "1" * 50, "1.2.3"),
}
# how a line carries the text of a value
plain = lambda suffix="": lambda t, i, v: f"{t} k={i}i,v={v}{suffix} {i}000\n"  # noqa: E731
quoted = lambda t, i, v: f"{t} k={i}i,v=\"{re.sub(ESCAPED, BEFORE, v)}\" {i}000\n"  # noqa: E731
tagged = lambda t, i, v: f"{t},v={re.sub(ESCAPED, BEFORE, v)} k={i}i {i}000\n" if v else f"{t} k={i}i,v=\"\" {i}000\n"  # noqa: E731
ESCAPED, BEFORE = r'([ ,="\\\n])', r"\\\1"


def instant(t, i, v):
    """In the unit that carries all of it."""
    digits = len(v) - len("0001-01-01T00:00:00.Z")
    seconds = (dt.datetime.fromisoformat(v[:19]) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)
    return f"{t} k={i}i,v={seconds * 10**digits + int(v[20:-1])}{ {3: 'm', 6: 't', 9: 'n'}[digits] } {i}000\n"


LINES = {"BOOLEAN": plain(), "BYTE": plain("i"), "SHORT": plain("i"), "INT": plain("i"), "LONG": plain("i"), "FLOAT": plain(), "DOUBLE": plain(), "CHAR": quoted, "STRING": quoted, "VARCHAR": quoted,
         "SYMBOL": tagged, "DATE": instant, "TIMESTAMP": instant, "TIMESTAMP_NS": instant, "UUID": quoted, "IPv4": quoted, "LONG256": plain("i"), "GEOHASH": quoted, "DECIMAL": plain("d")}


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) <= 1e-6 * max(abs(a), abs(b))
    return a == b


class Matrix:
    def __init__(self, server):
        self.s, self.passed, self.failed, self.wire = server, 0, 0, None

    def ask(self, sql):
        if self.wire is None:
            self.wire = http.client.HTTPConnection(self.s.http)
        self.wire.request("GET", "/exec?" + urllib.parse.urlencode({"query": sql}))
        r = self.wire.getresponse()
        answer = json.loads(r.read())
        return answer if r.status == 200 else {"status": r.status, **answer}

    def check(self, what, got, want):
        good = same(got, want) if not isinstance(want, list) else len(got or []) == len(want) and all(map(self.row_same, got, want))
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"{self.type}: {what}\n  got  {str(got)[:400]}\n  want {str(want)[:400]}", flush=True)
            print_again(self.type)
        return good

    @staticmethod
    def row_same(a, b):
        return (isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(Matrix.row_same, a, b))) if isinstance(b, list) else same(a, b)

    def rows(self, what, sql, want):
        got = self.ask(sql)
        self.check(f"{what}: {sql}" + (f": {got['error']}" if "error" in got else ""), got.get("dataset"), want)

    def refused(self, what, sql):
        got = self.ask(sql)
        self.check(f"{what} must be refused: {sql}", (got.get("status"), bool(got.get("error"))), (400, True))

    def place(self, what, sql, want, refused=()):
        if self.type in refused:
            self.refused(what, sql)
        else:
            self.rows(what, sql, want)

    # ---------------------------------------------------------------- one type
    def begin(self, name):
        self.type, self.ladder = name, LADDERS[name]
        self.t = "mx_" + "".join(c if c.isalnum() else "_" for c in name.lower())
        self.json = [v for _, v, _, _ in self.ladder]
        self.null = {"BOOLEAN": False, "BYTE": 0, "SHORT": 0, "CHAR": "", "LONG256": ""}.get(name)
        self.values = self.json + [self.null]

    def make(self):
        self.ask(f"drop table if exists {self.t}")
        got = self.ask(f"create table {self.t} (k int, v {self.type}, ts timestamp) timestamp(ts) partition by day")
        if not self.check("create", got.get("ddl"), "OK"):
            return False
        for twin in range(2):
            for i, literal in enumerate([x[0] for x in self.ladder] + ["null"]):
                got = self.ask(f"insert into {self.t} values ({i}, {literal}, '2024-01-0{1 + twin}T{i:02d}')")
                self.check(f"insert {literal}: {got.get('error')}", got.get("dml"), "OK")
        return True

    def read(self, when):
        n = len(self.values)
        t = self.t
        self.rows(when, f"select k, v from {t}", [[i, v] for i, v in enumerate(self.values)] * 2)
        text = urllib.request.urlopen(f"{self.s.url}/exp?query=select+k,v+from+{t}").read().decode()
        got = list(csv.reader(io.StringIO(text, newline="")))[1:]
        null = {"BOOLEAN": "false", "BYTE": "0", "SHORT": "0"}.get(self.type, "")
        self.check(f"{when}: CSV", got, [[str(i), c] for i, c in enumerate([c for _, _, c, _ in self.ladder] + [null])] * 2)
        if psycopg is not None:
            self.read_pg(when, n)

    def read_pg(self, when, n):
        with psycopg.connect(self.s.pg_dsn(), autocommit=True) as c:
            cursor = c.cursor()
            both = []
            for binary in (False, True):
                cursor = c.cursor(binary=binary)
                cursor.execute(f"select v from {self.t} where ts in '2024-01-01'")
                try:
                    both.append([r[0] for r in cursor.fetchall()])
                except psycopg.DataError:  # a time before year 1 or after 9999 of Python
                    both.append("no value of Python")
            self.check(f"{when}: PG, binary as text", both[1], both[0])
            raw = c.pgconn.exec_(f"select v from {self.t} where ts in '2024-01-01'".encode())
            want = [p if p is not None else v for _, _, v, p in self.ladder]
            if self.type == "BINARY":
                want = ["\\x00", "\\x000102030405060708090a0b0c0d0e"]
            null = {"BOOLEAN": "f", "BYTE": "0", "SHORT": "0"}.get(self.type)
            got = [raw.get_value(i, 0) for i in range(n)]
            self.check(f"{when}: PG text", [g if g is None else g.decode() for g in got], want + [null])

    # ------------------------------------------------------------- ways in
    def fresh(self, name, ts=True):
        self.ask(f"drop table if exists {self.t}_{name}")
        self.ask(f"create table {self.t}_{name} (k int, v {self.type}, ts timestamp) timestamp(ts) partition by day")
        return f"{self.t}_{name}"

    def arrived(self, what, table, n, cut=False):
        """cut: by drivers of PostgreSQL, whose times are microseconds."""
        values = [v[:-4] + "000Z" if v else v for v in self.values] if cut and self.type == "TIMESTAMP_NS" else self.values
        self.rows(what, f"select k, v from {table}", [[i, values[i]] for i in range(n)])
        self.ask(f"drop table {table}")

    def by_text(self):
        """The text of a value stands for it in INSERT; what is no text of the type is refused at the text."""
        into = self.fresh("text")
        n = len(self.json)
        for i, text in enumerate([c for _, _, c, _ in self.ladder]):
            sql = f"insert into {into} values ({i}, '{text}', {i})"
            if self.type in NOT_FROM_TEXT:
                self.refused("insert text", sql)
            else:
                got = self.ask(sql)
                self.check(f"{sql}: {got.get('error')}", got.get("dml"), "OK")
        for text in BAD_TEXT.get(self.type.split("(")[0].split("[")[0], ()):
            got = self.ask(sql := f"insert into {into} values (0, '{text}', 0)")
            self.check(f"bad text {sql}: {got}", (got.get("status"), got.get("position")), (400, sql.index("'")))
        self.arrived("by text", into, 0 if self.type in NOT_FROM_TEXT else n)

    def by_psycopg(self):
        """What the driver has read it can send back, as text and as binary."""
        n = len(self.json)
        with psycopg.connect(self.s.pg_dsn(), autocommit=True) as c:
            for form in ("t", "b"):
                rows = c.cursor(binary=True).execute(f"select k, v from {self.t} where ts in '2024-01-01'")
                try:
                    values = rows.fetchall()
                except psycopg.DataError:
                    return  # a time Python has not
                into = self.fresh(f"pg_{form}")
                for k, v in values:
                    try:
                        c.execute(f"insert into {into} values (%s, %{form}, %s)", (k, v, dt.datetime(1970, 1, 1, second=k)))
                    except Exception as e:
                        self.check(f"psycopg %{form} of {v!r}: {e}", False, True)
                self.arrived(f"by psycopg %{form}", into, n + 1, cut=True)

    async def by_asyncpg(self):
        host, port = self.s.pg.rsplit(":", 1)
        c = await asyncpg.connect(host=host, port=int(port), user="admin", password="quest", database="qdb")
        into = self.fresh("apg")
        try:
            rows = await c.fetch(f"select k, v from {self.t} where ts in '2024-01-01'")
            for r in rows:
                if r["v"] in (dt.datetime.min, dt.datetime.max):
                    raise OverflowError("the infinities of this driver")
                await c.execute(f"insert into {into} values ($1, $2, $3)", r["k"], r["v"], dt.datetime(1970, 1, 1, second=r["k"]))
        except OverflowError:
            return  # a time Python has not
        except Exception as e:
            self.check(f"asyncpg: {type(e).__name__} {e}", False, True)
        finally:
            await c.close()
        self.arrived("by asyncpg", into, len(self.json) + 1, cut=True)

    def by_line(self):
        """The line protocol, where it carries the type; a missing field is null."""
        base = self.type.split("(")[0]
        form = LINES.get(base, None if self.type in ("BINARY", *NO_ORDER) else quoted)
        if form is None:
            return
        into = self.fresh("line")
        lines = "".join(form(into, i, v) for i, v in enumerate([c for _, _, c, _ in self.ladder])) + f"{into} k={len(self.json)}i {len(self.json)}000\n"
        out = subprocess.run(["curl", "-sS", "-w", "%{http_code}", "--data-binary", "@-", f"{self.s.url}/write?precision=n"], input=lines.encode(), capture_output=True).stdout
        self.check(f"lines: {out.decode()[:300]}", out, b"204")
        self.arrived("by lines", into, len(self.json) + 1)

    # ---------------------------------------------------------------- ways through
    def group(self):
        t, n = self.t, len(self.json)
        by_key = lambda rows: sorted(rows, key=lambda r: json.dumps(r))  # noqa: E731
        got = self.ask(f"select min(k) k, count() c from (select k, v from {t} order by k) group by v").get("dataset") or []
        merged = {}
        for i, v in enumerate(self.values):
            first = next((j for j, w in enumerate(self.values[:i]) if w == v), i)
            merged[first] = merged.get(first, 0) + 2
        self.check("group by", by_key(got), by_key([[k, c] for k, c in merged.items()]))
        got = self.ask(f"select count() from (select distinct v from {t})").get("dataset")
        self.check("distinct", got, [[len(merged)]])
        got = self.ask(f"select k from {t} latest on ts partition by v").get("dataset") or []
        last = sorted({max(j for j in range(n + 1) if self.values[j] == self.values[k]) for k in merged})
        self.check("latest on", sorted(r[0] for r in got), last)

    def order(self):
        t, n = self.t, len(self.json)
        if self.type in NO_ORDER:
            return self.refused("order by", f"select k from {t} order by v")
        up = list(range(n))
        if self.type in NO_NULL:
            at = next(i for i in range(n) if self.values[i] == self.null)
            keys = [[i] for i in range(n) for _ in range(2)]
            got = [r for r in self.ask(f"select k from {t} order by v, ts").get("dataset") or [] if r[0] != n]
            return self.check("order by", got, keys) and at >= 0
        asc = up + [n] if self.type in FLOATING else [n] + up
        double = [[k] for k in asc for _ in range(2)]
        self.rows("order by", f"select k from {t} order by v, ts", double)
        self.rows("order by desc", f"select k from {t} order by v desc, ts", [[k] for k in reversed(asc) for _ in range(2)])
        self.rows("order by nulls last", f"select k from {t} order by v nulls last, ts limit 1", [[0]])
        self.rows("top", f"select k from {t} where v is not null order by v desc, ts limit 1", [[n - 1]])
        return None

    def aggregate(self):
        t, n = self.t, len(self.json)
        low, high = (self.json[0], self.json[-1])
        self.place("min, max", f"select min(v) a, max(v) b from {t}", [[low, high]], REFUSED["extremes"])
        self.place("count_distinct", f"select count_distinct(v) from {t}", [[n]], REFUSED["count_distinct"])
        self.rows("count", f"select count(v) from {t}", [[2 * n + (2 if self.type in NO_NULL else 0)]])
        self.rows("first, last", f"select first(v), last(v) from {t}", [[self.json[0], self.null]])
        if self.type not in NO_NULL:
            self.rows("first_not_null, last_not_null", f"select first_not_null(v), last_not_null(v) from {t}", [[low, high]])
        for fill in ("prev", "null"):
            got = self.ask(f"select ts, first(v) f from {t} where k = 0 sample by 12h fill({fill})")
            middle = self.json[0] if fill == "prev" else self.null
            self.check(f"sample by fill({fill}): {got.get('error')}", [r[1] for r in got.get("dataset") or []], [self.json[0], middle, self.json[0]])

    def conditions(self):
        t, n = self.t, len(self.json)
        for i, (literal, _, _, _) in enumerate(self.ladder):
            twins = [j for j in range(n + 1) if self.values[j] == self.values[i]] if self.type in NO_NULL else [i]
            self.rows("=", f"select count() from {t} where v = {literal}", [[2 * len(twins)]])
            self.rows("!=", f"select count() from {t} where v != {literal}", [[2 * (n + 1 - len(twins))]])
        if self.type not in NO_NULL:
            self.rows("is null", f"select count() from {t} where v is null", [[2]])
            self.rows("is not null", f"select count() from {t} where v is not null", [[2 * n]])
            self.rows("join", f"select count() from {t} a join {t} b on a.v = b.v where a.v is not null", [[4 * n]])
            self.rows("coalesce", f"select coalesce(v, {self.ladder[0][0]}) from {t} where k = {n} limit 1", [[self.json[0]]])
            self.rows("asof join by key", f"select count() from {t} a asof join {t} b on (v) where a.v is not null and b.k = a.k", [[2 * n]])
        self.rows("in a subquery", f"select count() from {t} where k = 0 and v in (select v from {t} where k = 0)", [[2]])
        self.rows("case", f"select case when k = 0 then v end c from {t} limit 2", [[self.json[0]], [self.null]])
        self.rows("union all", f"select v from {t} where k = 0 union all select v from {t} where k = 0", [[self.json[0]]] * 4)
        none = None if self.type in ("BYTE", "SHORT") else self.null  # lag of these is an INT, which has a null
        self.rows("lag", f"select lag(v) over (order by ts) l from {t} limit 2", [[none], [self.json[0]]])
        self.rows("first_value", f"select first_value(v) over (partition by k order by ts) f from {t} where k = 0", [[self.json[0]]] * 2)

    def casts(self):
        t, n = self.t, len(self.json)
        if self.type not in {"BINARY", *NO_ORDER} and not self.type.startswith("DECIMAL"):
            got = self.ask(f"select count() from {t} where cast(cast(v as varchar) as {self.type}) = v")
            self.check(f"text and back: {got.get('error')}", got.get("dataset"), [[2 * (n + 1)]])
        self.rows("cast to itself", f"select count() from {t} where cast(v as {self.type}) = v", [[2 * (n + 1)]])
        for to in LADDERS:
            got = self.ask(f"select k, cast(v as {to}) c from {t}")
            if "error" in got:  # refused as a whole, or for a value that does not fit; never by a crash
                self.check(f"cast to {to}: {got}", (got.get("status"), bool(got["error"]), got.get("position", -1) >= 0), (400, True, True))
                continue
            null = {"BOOLEAN": False, "BYTE": 0, "SHORT": 0, "CHAR": "", "LONG256": ""}.get(to)
            if self.type not in NO_NULL:
                self.check(f"null as {to}", [r[1] for r in got["dataset"] if r[0] == n], [null, null])

    def compare(self):
        """< <= > >= BETWEEN IN over a column, with a literal and with the other column of a join."""
        t, n = self.t, len(self.json)
        if self.type in NO_COMPARE:
            return self.refused("<", f"select count() from {t} where v < {self.ladder[0][0]}")
        rows = self.values if self.type in NO_NULL else self.json
        place = {json.dumps(v): i for i, v in enumerate(self.json)}
        at = [place[json.dumps(v)] for v in rows]
        for i, (literal, _, _, _) in enumerate(self.ladder):
            for op, holds in (("<", lambda a: a < i), ("<=", lambda a: a <= i), (">", lambda a: a > i), (">=", lambda a: a >= i)):  # noqa: B023
                self.rows(op, f"select count() from {t} where v {op} {literal}", [[2 * sum(map(holds, at))]])
        low, high = self.ladder[0][0], self.ladder[n // 2][0]
        if self.type in NO_BETWEEN:
            self.refused("between", f"select count() from {t} where v between {low} and {high}")
        for lo, hi in ((low, high), (high, low)) if self.type not in NO_BETWEEN else ():
            self.rows("between", f"select count() from {t} where v between {lo} and {hi}", [[2 * sum(a <= n // 2 for a in at)]])
            self.rows("not between", f"select count() from {t} where v not between {lo} and {hi}", [[2 * sum(a > n // 2 for a in at) + (0 if self.type in NO_NULL else 2)]])
        self.rows("in", f"select count() from {t} where v in ({low}, {self.ladder[-1][0]})", [[2 * sum(a in (0, n - 1) for a in at)]])
        self.rows("not in", f"select count() from {t} where v not in ({low}, {self.ladder[-1][0]})", [[2 * sum(a not in (0, n - 1) for a in at) + (0 if self.type in NO_NULL else 2)]])
        if self.type not in NO_NULL:
            self.rows("never below null", f"select count() from {t} where v < null", [[0]])

    def join(self):
        t, n = self.t, len(self.json)
        if self.type in NO_NULL:
            return
        keys = f"(select k + 100 j, v w from {t} where ts in '2024-01-01' and k < {n - 1})"
        matched = [[i, 100 + i if i < n - 1 else None] for i in range(n)] + [[n, None]]
        self.rows("left join", f"select k, j from {t} left join {keys} on v = w where ts in '2024-01-01' order by k", matched)
        self.rows("latest row of a key", f"select k, v from {t} where k <> {n} latest on ts partition by v order by k", [[i, v] for i, v in enumerate(self.json)])
        self.rows("union", f"select v from {t} where k = 0 union select v from {t} where k = 0", [[self.json[0]]])
        self.rows("except", f"select v from {t} where k < 2 except select v from {t} where k = 1", [[self.json[0]]])
        self.rows("nullif", f"select nullif(v, {self.ladder[0][0]}) x from {t} where k = 0 limit 1", [[self.null]])

    def texts(self):
        """Beside a column of texts, some of which are no values of the type: those equal nothing, and end no statement."""
        t, n = self.t, len(self.json)
        if self.type in (*TEXTS, "CHAR"):  # as texts
            return None
        if family(self.type) in NOT_BESIDE_TEXT:
            return self.refused("= text", f"select v = w from (select v, 'x' || k w from {t})")
        forms = [(c if c is not None else str(v), i) for i, (_, v, c, _) in enumerate(self.ladder)] + [("no value", -1), ("", -1), (None, n)]
        for text in TEXTS:
            self.ask(f"create table {t}_w (j int, w {text})")
            for j, (form, _) in enumerate(forms):
                self.ask(f"insert into {t}_w values ({j}, {'null' if form is None else chr(39) + form + chr(39)})")
            rows = f"from {t} cross join {t}_w where ts in '2024-01-01'"
            place = {json.dumps(v): i for i, v in enumerate(self.json)}
            of = [place.get(json.dumps(v), n) for v in self.values]  # a type without null has one of its values there
            equal = [[k, j] for k in range(n + 1) for j, (_, i) in enumerate(forms) if i == of[k]]
            order = "order by k, j"
            self.rows(f"= {text}", f"select k, j {rows} and v = w {order}", equal)
            self.rows(f"{text} =", f"select k, j {rows} and w = v {order}", equal)
            self.rows(f"!= {text}", f"select count() {rows} and v != w", [[(n + 1) * len(forms) - len(equal)]])
            self.rows(f"not = {text}", f"select count() {rows} and not (v = w)", [[(n + 1) * len(forms) - len(equal)]])
            self.rows(f"in {text}", f"select k, j {rows} and v in (w, w) {order}", equal)
            self.rows(f"case {text}", f"select k, j {rows} and case v when w then true else false end {order}", equal)
            self.rows(f"<= and >= {text}", f"select k, j {rows} and v <= w and v >= w {order}", equal)
            below = [[k, j] for k in range(n + 1) for j, (_, i) in enumerate(forms) if of[k] < i < n]
            self.rows(f"< {text}", f"select k, j {rows} and v < w {order}", below)
            self.rows(f"{text} >", f"select k, j {rows} and w > v {order}", below)
            self.ask(f"drop table {t}_w")

    def fills(self):
        """Of a value per hour, and a gap of two between: what stands in it."""
        t = self.t
        self.ask(f"create table {t}_f as (select k, v, (case when ts in '2024-01-01' then 0 else 10800000000L end)::timestamp ts from {t} where k = 0 order by ts) timestamp(ts) partition by day")
        for fill, gap in (("none", []), ("null", [self.null] * 2), ("prev", [self.json[0]] * 2), (self.ladder[-1][0], [self.json[-1]] * 2), ("linear", [self.json[0]] * 2)):
            got = self.ask(sql := f"select last(v) x from {t}_f sample by 1h fill({fill})")
            if fill == "linear" and self.type not in LINEAR:
                self.check(f"must be refused: {sql}: {got}", (got.get("status"), got.get("position", -1) > 0), (400, True))
            else:
                self.check(f"{sql}: {got.get('error')}", got.get("dataset"), [[self.json[0]], *([v] for v in gap), [self.json[0]]])
        self.ask(f"drop table {t}_f")

    def pair(self, to, i):
        """A cast over the column and over the constant: the same value, or the same error."""
        literal = self.ladder[i][0] if i < len(self.json) else "null"
        if self.type not in ("BINARY", *NO_ORDER) or literal == "null":
            literal = f"cast({literal} as {self.type})"
        answers = [self.ask(f"select cast(v as {to}) c from {self.t} where k = {i} limit 1"), self.ask(f"select cast({literal} as {to}) c")]
        return [a["dataset"][0][0] if "dataset" in a else ("refused", a["status"]) for a in answers]

    def all_casts(self):
        for to in LADDERS:
            refused = self.ask(f"select cast(v as {to}) c from {self.t} where k < 0")
            allowed = may_cast(self.type, to)
            self.check(f"cast to {to}: {refused.get('error')}", "error" not in refused, allowed)
            if "error" in refused:
                self.check(f"cast to {to}: {refused}", (refused["status"], refused["position"] > 0), (400, True))
                continue
            for i in range(len(self.values)):
                column, constant = self.pair(to, i)
                empty = to in ("UUID", "IPv4") and self.values[i] == ""  # no text at all: null
                if self.type in (*TEXTS, "CHAR") and family(to) in CONSTANT_MUST_FIT and column is None and i < len(self.json) and not empty:
                    column = ("refused", 400)
                self.check(f"cast of {self.values[i]!r} to {to}, column (got) and constant (want)", column, constant)

    def retype(self):
        """ALTER COLUMN TYPE gives what a cast gives, or is refused and changes nothing."""
        t = self.t
        targets = [to for to in LADDERS if to != self.type]
        columns = ", ".join(f"v v{i}" for i in range(len(targets)))
        self.ask(f"create table {t}_a as (select k, v, {columns}, ts from {t}) timestamp(ts) partition by day")
        for i, to in enumerate(targets):
            got = self.ask(f"alter table {t}_a alter column v{i} type {to}")
            want = self.ask(f"select cast(v as {to}) c from {t}_a")
            if "error" in got:
                self.check(f"alter to {to}: {got}", got.get("status"), 400)
                self.check(f"alter to {to} is refused: {got['error']}", may_alter(self.type, to) and "error" not in want, False)
                self.rows("unchanged", f"select v{i} from {t}_a where k = 0 limit 1", [[self.json[0]]])
                continue
            self.check(f"alter to {to} works", may_alter(self.type, to), True)
            have = self.ask(f"select v{i} from {t}_a")
            self.check(f"alter to {to} and cast: {want.get('error')}", have.get("dataset"), want.get("dataset"))
        self.ask(f"drop table {t}_a")

    def late(self):
        """Rows in falling order of time, then once more as duplicates of what is there."""
        t, n = self.t, len(self.json)
        into = self.fresh("late")
        values = [x[0] for x in self.ladder] + ["null"]
        for i in reversed(range(n + 1)):
            self.ask(f"insert into {into} values ({i}, {values[i]}, {i})")
        self.rows("late rows", f"select k, v from {into}", [[i, v] for i, v in enumerate(self.values)])
        self.ask(f"drop table {into}")
        self.ask(f"create table {into} (k int, v {self.type}, ts timestamp) timestamp(ts) partition by day")
        got = self.ask(f"alter table {into} dedup enable upsert keys(ts, v)")
        self.check(f"dedup: {got.get('error')}", got.get("ddl"), "OK")
        for round in range(2):
            for i in range(n + 1):
                self.ask(f"insert into {into} values ({10 * round + i}, {values[i]}, 0)")
        keep = {json.dumps(v): i for i, v in enumerate(self.values)}
        self.rows("dedup", f"select k from {into} order by k", [[10 + i] for i in sorted(keep.values())])
        self.ask(f"drop table {into}")

    def remove(self):
        t, n = self.t, len(self.json)
        self.ask(f"create table {t}_d as (select * from {t}) timestamp(ts) partition by day")
        got = self.ask(f"delete from {t}_d where v = {self.ladder[0][0]}")
        left = [[i, v] for i, v in enumerate(self.values) if v != self.json[0]]
        self.rows(f"after delete: {got.get('error')}", f"select k, v from {t}_d where ts in '2024-01-01'", left)
        self.ask(f"drop table {t}_d")

    def wider(self):
        """UNION ALL and CASE with another type: the type both meet in, by the table."""
        for other, meet in WIDER.get(self.type, ()):
            with_null = f"cast({'false' if other == 'BOOLEAN' else 'null'} as {other})"
            for sql in (f"select v from {self.t} where k = 0 union all select {with_null} v from long_sequence(1)", f"select {with_null} v from long_sequence(1) union all select v from {self.t} where k = 0"):
                got = self.ask(sql)
                if (self.type, other) == ("TIMESTAMP", "TIMESTAMP_NS"):  # the least of them is no time of nanoseconds: refused, not null
                    self.check(f"{sql}: {got.get('error')}", (got.get("status"), "0001-01-01" in got.get("error", "")), (400, True))
                    continue
                self.check(f"{sql}: {got.get('error')}", (got.get("columns") or [{}])[0].get("type"), meet)
                self.check(f"{sql}: rows", len(got.get("dataset") or []), 3)

    def change(self):
        t, n = self.t, len(self.json)
        self.ask(f"create table {t}_u as (select * from {t}) timestamp(ts) partition by day")
        got = self.ask(f"update {t}_u set v = {self.ladder[-1][0]} where k = 0")
        self.check(f"update: {got.get('error')}", got.get("updated"), 2)
        self.rows("after update", f"select v from {t}_u where k = 0", [[self.json[-1]]] * 2)
        self.ask(f"update {t}_u set v = null where k = {n - 1}")
        self.rows("after update to null", f"select v from {t}_u where k = {n - 1}", [[self.null]] * 2)
        got = self.ask(f"insert into {t}_u select * from {t} where k = 0")
        self.rows(f"insert select: {got.get('error')}", f"select count() from {t}_u where v = {self.ladder[-1][0]}",
                  [[2 + (2 if n == 1 else 0) if self.type not in NO_NULL or self.json[-1] != self.null else 2]])
        self.ask(f"drop table {t}_u")

    def reimport(self):
        """What /exp wrote, /imp reads back."""
        t = self.t
        text = urllib.request.urlopen(f"{self.s.url}/exp?query=select+*+from+{t}").read()
        self.ask(f"create table {t}_i (k int, v {self.type}, ts timestamp) timestamp(ts) partition by day")
        out = subprocess.run(["curl", "-sS", "-F", "data=@-", f"{self.s.url}/imp?name={t}_i&fmt=json&atomicity=abort&forceHeader=true"], input=text, capture_output=True).stdout
        report = json.loads(out)
        if self.check(f"import: {out.decode()[:300]}", report.get("status"), "OK"):
            want = self.ask(f"select k, v from {t}").get("dataset")
            self.rows("imported", f"select k, v from {t}_i", want)
        self.ask(f"drop table {t}_i")


def documented_casts():
    """The table of casts of the page on types, as CASTS has it."""
    page = (TOP / "docs/reference/types.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([^|]*)\|$", page.split("| From | To |\n|---|---|\n")[1].split("\n\n")[0] + "\n", re.M)
    words = {"numbers": NUMBERS, "times": TIMES}
    return {a: {t for b in to.split(",") if b.strip() for t in words.get(b.strip(), [b.strip()])} for of, to in rows for a in of.strip().split(", ")}


def main():
    chosen = [a for a in sys.argv[1:] if not a.startswith("--")]
    preset = next((a.split("=")[1] for a in sys.argv if a.startswith("--preset=")), "release")
    names = [n for n in LADDERS if not chosen or n in chosen]
    start = dt.datetime.now()
    with Server(preset=preset) as s:
        m = Matrix(s)
        m.type = "docs"
        told = documented_casts()
        for name, to in CASTS.items():
            m.check(f"casts from {name} in docs/reference/types.md", sorted(told.get(name, ["nothing"])), sorted({t for t in to if t not in TEXTS and (t != name or name in ("GEOHASH", "DECIMAL", "DOUBLE[]"))} | ({name} if name in NUMBERS + TIMES else set())))
        for name in names:
            m.begin(name)
            if not m.make():
                continue
            m.read("written")
            m.by_text()
            if psycopg is not None:
                m.by_psycopg()
                asyncio.run(m.by_asyncpg())
            m.by_line()
            for part in (m.group, m.order, m.aggregate, m.conditions, m.compare, m.texts, m.join, m.fills, m.casts, m.all_casts, m.retype, m.wider, m.late, m.change, m.remove, m.reimport):
                part()
        s.stop()
        s.start()
        m.wire = None
        for name in names:
            m.begin(name)
            m.read("after a restart")
    if psycopg is None:
        print("skipped: the PostgreSQL column: psycopg is not installed")
    print(f"{len(names)} types, {(dt.datetime.now() - start).seconds} s")
    print(f"{m.passed} passed, {m.failed} failed")
    sys.exit(m.failed > 0)


if __name__ == "__main__":
    main()
