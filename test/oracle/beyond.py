"""Queries about the ends of the types, added to the shapes of generate.py: times of two units with distant dates and gaps of
centuries, NaN and infinity in Parquet files, whole constants near 2^31 and 2^63, aliases that are columns, too, and a filter above
whatever was asked.

The table far has a designated TIMESTAMP, farn a designated TIMESTAMP_NS; in DuckDB their times are whole numbers of nanoseconds in a
HUGEINT, which has no limits that matter. ends has integers at the ends of their types, in DuckDB HUGEINT, too: what INT and LONG hold is
said there by macros. pq is a Parquet file and pqt a table made of it; DuckDB has its values as they are here.
"""
import datetime, pathlib, random, re

import generate
from generate import E, Column, Source

EPOCH = datetime.datetime(1970, 1, 1)
US = 1000
FIRST_NS, LAST_NS = -(1 << 63) + 1, (1 << 63) - 1  # the null is the least
FIRST_US, LAST_US = -62135596800 * 10**6, 253402300799999999  # years 1 to 9999
UNITS = {"ts": {"far": US, "farn": 1}, "n": 1, "u": US, "d": 10**6}
ROWS_OF_FILE = 6000
KINDS = ["alias", "constants", "units", "parquet", "centuries", "above"]  # of each there must be some in a long run
MACROS = f"""
create macro as_int(x) as case when abs(x) < {1 << 31} then x end;
create macro as_long(x) as case when abs(x) < {1 << 63}::hugeint then x end;
create macro int_or_error(x) as case when abs(x) >= {1 << 31} then error('INT out of range') else x end;
create macro long_or_error(x) as case when abs(x) >= {1 << 63}::hugeint then error('LONG out of range') else x end;
create macro ns_or_error(x) as case when x < {FIRST_NS} or x > {LAST_NS} then error('no TIMESTAMP_NS') else x end;
create macro whole_div(a, b) as (a - (a % b)) // b;
create macro floor_div(a, b) as (a - ((a % b) + b) % b) // b;
"""


def text(ns):
    """Nine digits, so that nothing stands for a range of times."""
    us, rest = divmod(ns, US)
    at = EPOCH + datetime.timedelta(microseconds=us)
    return f"{at.year:04}-{at.month:02}-{at.day:02}T{at.hour:02}:{at.minute:02}:{at.second:02}.{at.microsecond:06}{rest:03}Z"


def instant(rng, unit):
    """A time of the unit in nanoseconds: near the ends of nanoseconds, of the calendar, of 1970, or anywhere."""
    low, high = (FIRST_NS, LAST_NS) if unit == 1 else (FIRST_US * US, LAST_US * US)
    near = rng.choice([FIRST_NS, LAST_NS, FIRST_US * US, LAST_US * US, 0, generate.BASE * US, generate.BASE * US, generate.BASE * US])
    if rng.random() < 0.2:
        near = rng.randint(low, high)
    at = near + rng.choice([0, 1, -1, 500, 1000, -1000, 10**6, 10**9, -10**9, 3600 * 10**9, 86400 * 10**9]) * rng.choice([1, 1, 2])
    return min(max(at, low), high) // unit * unit if unit > 1 else min(max(at, low), high)


def far_rows(rng, table):
    rows, seen = [], set()
    for k in range(rng.randint(20, 70)):
        unit = UNITS["ts"][table]
        at = instant(rng, unit)
        if at in seen:  # ASOF JOIN takes one of several
            continue
        seen.add(at)
        null = lambda v: None if rng.random() < 0.15 else v
        rows.append({"ts": at, "id": k, "n": null(instant(rng, 1)), "u": null(instant(rng, US)), "d": null(instant(rng, 10**6)), "k": null(rng.choice("xyz"))})
    for a in rows[:10]:  # some that are equal across the units
        a["u"], a["d"] = a["ts"] // US * US, a["ts"] // 10**6 * 10**6
        a["n"] = a["ts"] if FIRST_NS <= a["ts"] <= LAST_NS else a["n"]
    return rows


def far_values(rows):
    return ", ".join("(" + ", ".join("null" if v is None else str(v) if c == "id" else f"'{text(v)}'" if c != "k" else f"'{v}'" for c, v in r.items()) + ")" for r in rows)


def fill(seed, duck, servers):
    """servers: (wire, root of the server, whether rows come late and in pieces)."""
    rng = random.Random(f"beyond {seed}")
    duck.execute(MACROS)
    ends(rng, duck, servers)
    for table, kind in (("far", "timestamp"), ("farn", "timestamp_ns")):
        rows = far_rows(rng, table)
        duck.execute(f"create table {table} (ts hugeint, id bigint, n hugeint, u hugeint, d hugeint, k varchar)")
        duck.execute(f"insert into {table} values " + ", ".join("(" + ", ".join("null" if v is None else f"'{v}'" if c == "k" else str(v) for c, v in r.items()) + ")" for r in rows))
        for wire, _, pieces in servers:
            wire.rows(f"create table {table} (ts {kind}, id long, n timestamp_ns, u timestamp, d date, k symbol) timestamp(ts) partition by {'year' if pieces else 'none'}")
            mixed = rng.sample(rows, len(rows)) if pieces else sorted(rows, key=lambda r: r["ts"])
            size = max(1, len(rows) // 3) if pieces else len(rows)
            for k in range(0, len(rows), size):
                wire.rows(f"insert into {table} values {far_values(mixed[k:k + size])}")
    parquet(rng, duck, servers)


def ends(rng, duck, servers):
    near = lambda bits: rng.choice([1, -1]) * ((1 << bits - 1) - rng.choice([1, 1, 2, 3, rng.randint(1, 100)]))
    some = lambda bits: rng.choice([near(bits), near(bits), near(min(bits, 32)), near(min(bits, 16)), rng.randint(-3, 3), rng.randint(-99, 99)])
    null = lambda v: "null" if rng.random() < 0.15 else str(v)
    rows = [f"({k}, {null(some(32))}, {null(some(64))}, {some(16)}, {some(8)})" for k in range(rng.randint(5, 60))]
    duck.execute("create table ends (id bigint, i hugeint, l hugeint, sh hugeint, y hugeint)")
    duck.execute("insert into ends values " + ", ".join(rows))
    for wire, _, _ in servers:
        wire.rows("create table ends (id long, i int, l long, sh short, y byte)")
        wire.rows("insert into ends values " + ", ".join(rows))


def parquet(rng, duck, servers):
    n, odd = rng.randint(1, ROWS_OF_FILE), rng.choice([2, 7, 50, 1000])
    some = lambda salt, value: f"case when hash(x + {salt}) % {odd} = 0 then {value} else "
    for wire, root, _ in servers:
        folder = pathlib.Path(root) / "import"
        folder.mkdir(exist_ok=True)
    first = pathlib.Path(servers[0][1]) / "import" / "beyond.parquet"
    duck.execute(
        f"copy (select x id, {some(1, chr(39) + 'nan' + chr(39) + '::double')} {some(2, chr(39) + 'inf' + chr(39) + '::double')} {some(3, chr(39) + '-inf' + chr(39) + '::double')} "
        f"{some(4, 'null') if rng.random() < 0.7 else 'case when false then null else '} (x % 801 - 400) / 8.0 end end end end x, "
        f"({some(5, chr(39) + 'nan' + chr(39))} {some(6, chr(39) + 'inf' + chr(39))} (x % 41 - 20) / 4.0 end end)::float y, "
        f"({some(7, '-2147483648')} x % 97 - 40 end)::int i, ({some(8, '-9223372036854775808')} {some(9, 'null')} x % 1009 end end)::bigint l, 'k' || (x % 5) k "
        f"from range({n}) r(x)) to '{first}' (format parquet, row_group_size {rng.choice([2048, 4096, 100000])})")
    for wire, root, _ in servers:
        to = pathlib.Path(root) / "import" / "beyond.parquet"
        if to != first:
            to.write_bytes(first.read_bytes())
        wire.rows("create table pqt as (select * from read_parquet('beyond.parquet'))")
    real = lambda c: f"case when isfinite({c}) then {c}::double end {c}"
    duck.execute(f"create table pq as select id, {real('x')}, {real('y')}, case when i <> -2147483648 then i::bigint end i, "
                 f"case when l <> -9223372036854775808 then l end l, k from read_parquet('{first}')")


class Gen(generate.Gen):
    # -- names of the list that are columns, too
    def q_alias(self):
        r = self.r
        single = r.random() < 0.7
        src = self.relation("a", small=True) if single else self.joined()
        names = r.sample(["i", "l", "s", "sym", "d", "ts", "id", "st", "key", "sh"], 2)
        keys = [k for k in (self.expr(src, r.choice(["txt", "int", "ts", "long"]), r.randint(0, 2)) for _ in range(r.randint(1, 2)))
                if generate.NAMES.search(k.a) and k.a[0] not in "'(" and "select" not in k.a]
        if not keys:
            return self.q_group()
        self.tags.add("alias")
        aggs = [self.aggregate(src) for _ in range(r.randint(1, 2))]
        wa, wd = self.where(src, 0.5)
        heads = [f"{k.a} {n}" for k, n in zip(keys, names)], [f"{k.d} {n}" for k, n in zip(keys, names)]
        tails = [[f"{x.a} c{k}" for k, x in enumerate(aggs)], [f"{x.d} c{k}" for k, x in enumerate(aggs)]]
        self.out = [(n, k.t) for n, k in zip(names, keys)] + [(f"c{k}", x.t) for k, x in enumerate(aggs)]
        a = f"select {', '.join(heads[0] + tails[0])} from {src.a}{wa} group by {', '.join(names[:len(keys)])}"
        d = f"select {', '.join(heads[1] + tails[1])} from {src.d}{wd} group by {', '.join(str(k + 1) for k in range(len(keys)))}"
        if r.random() < 0.3:
            h = self.compare(r.choice(["<", ">", "=", "<>"]), E("long", "count(*)", "count(*)"), self.literal("int"))
            a, d = a + " having " + h.a, d + " having " + h.d
        if single and "select" not in a[6:] and r.random() < 0.6:
            a = re.sub(r"\ba\.(?=[a-z])", "", a)  # inside of the list a name is the column
        if r.random() < 0.4 and all(t in ("int", "long", "dbl", "txt", "ts", "bool") for _, t in self.out):
            oa, od = self.order(list(enumerate((t for _, t in self.out), 1)))
            for k, (n, _) in enumerate(self.out, 1):
                oa = re.sub(rf"(?<=[ ,]){k}(?= desc|,|$)", n, oa)
            n = r.randint(0, 20)
            return a + oa + f" limit {n}", d + od + f" limit {n}", True
        return a, d, False

    # -- whole constants
    def constant(self):
        """Arithmetic on constants whose parts and whole fit 64 bits."""
        r = self.r
        pool = [2147483647, 2147483648, 1000000, 86400, 24, 60, 3600, 1720468801, 4294967296, 65536, 3, 1, 0]
        v = r.choice(pool + [9223372036854775807, 9223372036854775806, 4611686018427387904])
        out = str(v)
        for _ in range(r.randint(0, 3)):
            op, w = r.choice("+-*"), r.choice(pool)
            most = {"+": v + w, "-": v - w, "*": v * w}[op]
            if abs(most) < 1 << 63:
                v, out = most, f"({out} {op} {w})"
        return E("long", out, f"({v}::bigint)", abs(v))

    def q_constants(self):
        self.tags.add("constants")
        if self.r.random() < 0.6:
            return self.q_ends()
        r = self.r
        src = self.relation("a", small=True)
        c = self.constant()
        x = self.column(src, "long", "int")
        w = self.compare(r.choice(["<", ">", "<=", ">=", "=", "<>"]), x, c)
        y = self.constant()
        if r.random() < 0.4:
            between = f"coalesce({x.d} between least({c.d}, {y.d}) and greatest({c.d}, {y.d}), false)"
            w = E("bool", f"{x.a} between {c.a} and {y.a}", between)
        xs = [y, E("long", "count(*)", "count(*)"), E("long", f"max({x.a})", f"max({x.d})")]
        if r.random() < 0.5 and any(k.name == "i" for k in src.columns):
            m = r.choice([2000000000, 2147483647, 65536, 1000000])  # an INT beside it has no room for the product
            xs.append(E("long", f"sum(a.i * {m})", f"sum(a.i * {m}::bigint)::bigint"))
        ia, id_ = self.items(xs)
        return f"select {ia} from {src.a} where {w.a}", f"select {id_} from {src.d} where {w.w}", False

    def beyond_constant(self):
        """Constants beyond 64 bits, which are refused."""
        r = self.r
        a, op, b = r.choice([(9223372036854775807, "+", 1), (9223372036854775806, "+", 2), (-9223372036854775807, "-", 1), (4611686018427387904, "*", 2),
                             (4294967296, "*", 2147483648), (3037000500, "*", 3037000500), (-4611686018427387904, "*", 2), (9223372036854775807, "*", -1000)])
        text = f"{a} {op} {b}" if b > 0 else f"{a} {op} ({b})"
        return r.choice([text, f"({text}) - 5", f"{text} + a.id", f"a.id + ({text})"])

    def whole_of(self, alias, depth):
        """Over ends: (INT or LONG, text here, in DuckDB as a result of that type, computed in 64 bits, with an error beyond them, beyond its type)."""
        r = self.r
        if depth <= 0 or r.random() < 0.15:
            if r.random() < 0.7:
                c = r.choice(["i", "i", "l", "l", "sh", "y"])
                return "long" if c == "l" else "int", *[f"{alias}.{c}"] * 5
            v = r.choice([2147483647, 2147483646, 2147483648, 9223372036854775807, 9223372036854775806, 4611686018427387904, 2000000000, 65536, 46341, 3037000500, 2, 1, 0, 3])
            return "int" if v < 1 << 31 else "long", str(v), *[f"{v}::hugeint"] * 4
        t, a, n, w, e, s = self.whole_of(alias, depth - 1)
        kind = r.randrange(7)
        if kind == 0 and not a[0].isdigit():
            return t, f"({a} {r.choice('%/')} 7)".replace("/ 7", "% 7"), *(f"({x} % 7)" for x in (n, w, e, s))
        if kind == 1 and not a[0].isdigit():
            return t, f"({a} / 3)", *(f"whole_div({x}, 3)" for x in (n, w, e, s))
        u, b, m, v, f, z = self.whole_of(alias, depth - 1)
        op = r.choice("+-*")
        text, wide, error = f"({a} {op} {b})", f"as_long({w} {op} {v})", f"long_or_error({e} {op} {f})"
        if not generate.NAMES.search(text):  # of constants the whole counts
            return self.whole_of(alias, depth)
        if "long" in (t, u):
            return "long", text, wide, wide, error, error
        return "int", text, f"as_int({n} {op} {m})", wide, error, f"int_or_error({s} {op} {z})"

    def ends_condition(self, alias="a"):
        r = self.r
        _, a, _, w, _, _ = self.whole_of(alias, r.randint(0, 2))
        if r.random() < 0.25:
            values = [self.whole_of(alias, 0) for _ in range(2)]
            if r.random() < 0.5:
                lo, hi = (v[3] for v in values)
                d = f"coalesce({w} between least({lo}, {hi}) and greatest({lo}, {hi}) and {lo} is not null and {hi} is not null, false)"
                return E("bool", f"{a} between {values[0][1]} and {values[1][1]}", d)
            if "." not in values[0][1] + values[1][1]:
                return E("bool", f"{a} in ({values[0][1]}, {values[1][1]})", f"coalesce({w} in ({values[0][3]}, {values[1][3]}), false)")
        _, b, _, v, _, _ = self.whole_of(alias, r.randint(0, 1))
        return self.compare(r.choice(["<", ">", "<=", ">=", "=", "<>"]), E("long", a, w), E("long", b, v))

    def q_ends(self):
        r = self.r
        if r.random() < 0.08:
            xs = f"select {self.beyond_constant()} c0 from ends a"
            return xs, "select error('LONG out of range') from ends", False
        w = self.ends_condition() if r.random() < 0.5 else None
        wa, wd = (" where " + w.a, " where " + w.w) if w else ("", "")
        kind = r.randrange(6)
        if kind <= 1:
            xs = [E("long", "a.id", "a.id")]
            for _ in range(r.randint(1, 3)):
                t, a, n, wide, _, _ = self.whole_of("a", r.randint(1, 2))
                how = r.randrange(6)
                if how <= 1 and generate.NAMES.search(a):
                    xs.append(E(t, a, n))
                elif how == 2:
                    xs.append(E("long", f"({a})::long", wide))
                elif how == 3:
                    xs.append(E("dbl", f"({a})::double", f"({wide})::double"))
                elif how == 4:
                    xs.append(E("long", f"coalesce({a}, 5L)", f"coalesce({wide}, 5)"))
                else:
                    xs.append(E("long", f"case when a.id % 2 = 0 then {a} else a.l end", f"case when a.id % 2 = 0 then {wide} else a.l end"))
            ia, id_ = self.items(xs)
            if r.random() < 0.4:  # sorted as what is shown
                n, down = r.randint(1, 9), r.choice(["", " desc"])
                order = f" order by 2{down}" + "{}, 1" + f" limit {n}"
                if xs[1].t != "dbl":
                    return f"select {ia} from ends a{wa}{order.format('')}", f"select {id_} from ends a{wd}{order.format(' nulls last' if down else ' nulls first')}", True
            return f"select {ia} from ends a{wa}", f"select {id_} from ends a{wd}", False
        if kind <= 3:
            xs = []
            for _ in range(r.randint(1, 3)):
                t, a, n, wide, error, strict = self.whole_of("a", r.randint(1, 2))
                f = r.choice(["sum", "avg", "count", "min", "max", "sum", "count_distinct"])
                if not generate.NAMES.search(a):
                    continue
                if f in ("min", "max"):
                    xs.append(E(t, f"{f}({a})", f"{f}({strict})"))
                elif f == "sum":
                    xs.append(E("long", f"sum({a})", f"long_or_error(sum({error}))"))
                elif f == "avg":
                    xs.append(E("dbl", f"avg({a})", f"sum({error})::double / count({error})"))
                else:
                    xs.append(E("long", f"{f}({a})", f"count({'distinct ' if 'd' in f else ''}{error})"))
            key = E("long", "a.id % 3", "a.id % 3") if r.random() < 0.4 else None
            xs = ([key] if key else []) + xs + [E("long", "count(*)", "count(*)")]
            ia, id_ = self.items(xs)
            return f"select {ia} from ends a{wa}", f"select {id_} from ends a{wd}" + (" group by 1" if key else ""), False
        if kind == 4:
            x, y = self.whole_of("a", 1), self.whole_of("b", r.randint(0, 1))
            if not (generate.NAMES.search(x[1]) and generate.NAMES.search(y[1])):
                return self.q_ends()
            on = self.compare(r.choice(["=", "=", "=", "<", ">="]), E("long", x[1], x[3]), E("long", y[1], y[3]))
            j = r.choice(["join", "left join"])
            self.items([E("long", "", ""), E("long", "", "")])
            return f"select a.id c0, b.id c1 from ends a {j} ends b on {on.a}{wa}", f"select a.id c0, b.id c1 from ends a {j} ends b on {on.d}{wd}", False
        x, c = r.choice(["i", "l", "sh", "y"]), self.whole_of("a", 0)
        self.items([E("long", "", ""), E("long", "", "")])
        return (f"select a.{x} c0, count(*) c1 from ends a{wa} group by a.{x} having max(a.id) > 3", f"select a.{x} c0, count(*) c1 from ends a{wd} group by a.{x} having max(a.id) > 3", False)

    # -- times of two units
    def far(self, alias, table=None):
        table = table or self.r.choice(["far", "farn"])
        cols = [Column(c, "time", f"{alias}.{c}", f"{alias}.{c}") for c in ("ts", "n", "u", "d")]
        return table, Source(f"{table} {alias}", f"{table} {alias}", cols, True, 70)

    def unit(self, table, x):
        return UNITS["ts"][table] if x.a.endswith(".ts") else UNITS[x.a[-1]]

    def far_constant(self):
        r = self.r
        kind = r.choice(["", "", "::timestamp", "::timestamp_ns", "::date"])
        unit = {"": 1, "::timestamp": US, "::timestamp_ns": 1, "::date": 10**6}[kind]
        at = instant(r, unit)
        if kind == "" and r.random() < 0.5:
            at = instant(r, US)  # beyond nanoseconds, as text
        return E("time", f"'{text(at)}'{kind}", f"({at})::hugeint")

    def far_range(self, x):
        """x IN a year, a month or a day, as text."""
        r = self.r
        year, month = r.choice([(1, 1), (1677, 9), (2262, 4), (9998, 12), (1970, 1), (2024, 1), (1969, 12), (r.randint(1, 9998), r.randint(1, 12))])
        first = lambda y, m: ((datetime.datetime(y, m, 1) - EPOCH) // datetime.timedelta(microseconds=1)) * US
        lo, hi, said = r.choice([(first(year, 1), first(year + 1, 1), f"{year:04}"), (first(year, month), first(year + month // 12, month % 12 + 1), f"{year:04}-{month:02}")])
        no = r.random() < 0.2
        d = f"coalesce({x.d} >= ({lo})::hugeint and {x.d} < ({hi})::hugeint, false)"
        return E("bool", f"{x.a} {'not ' if no else ''}in '{said}'", f"(not {d})" if no else d)

    def far_cond(self, src, depth=1):
        r = self.r
        x = self.column(src, "time")
        kind = r.randrange(9)
        if kind <= 3 or depth <= 0:
            y = self.far_constant() if r.random() < 0.6 else self.column(src, "time")
            op = r.choice(["=", "<>", "<", ">", "<=", ">="])
            return self.compare(op, x, y) if r.random() < 0.8 else self.compare(op, y, x)
        if kind == 4:
            lo, hi = (self.far_constant() if r.random() < 0.7 else self.column(src, "time") for _ in range(2))
            no = r.random() < 0.3
            d = f"coalesce({x.d} between least({lo.d}, {hi.d}) and greatest({lo.d}, {hi.d}) and {lo.d} is not null and {hi.d} is not null, false)"
            return E("bool", f"{x.a} {'not ' if no else ''}between {lo.a} and {hi.a}", f"(not {d})" if no else d)
        if kind == 5:
            values, no = [self.far_constant() for _ in range(r.randint(1, 4))], r.random() < 0.3
            d = f"coalesce({x.d} in ({', '.join(v.d for v in values)}), false)"
            return E("bool", f"{x.a} {'not ' if no else ''}in ({', '.join(v.a for v in values)})", f"(not {d})" if no else d)
        if kind == 6:
            c = self.far_cond(src, depth - 1)
            return E("bool", f"not ({c.a})", f"(not {c.d})", 0, c.n, c.w)
        if kind == 7:
            return self.far_range(x)
        op, b, c = r.choice(["and", "or"]), self.far_cond(src, depth - 1), self.far_cond(src, depth - 1)
        return E("bool", f"({b.a} {op} {c.a})", f"({b.d} {op} {c.d})", 0, f"({b.w} {op} {c.w})", f"({b.n} {'or' if op == 'and' else 'and'} {c.n})")

    def q_units(self):
        r = self.r
        self.tags.add("units")
        table, a = self.far("a")
        kind = r.randrange(14)
        w = self.far_cond(a)
        if kind == 0:
            ia, id_ = self.items([E("long", "a.id", "a.id")])
            return f"select {ia} from {a.a} where {w.a}", f"select {id_} from {a.d} where {w.w}", False
        if kind == 1:
            xs = [E("long", "a.id", "a.id")] + [self.far_cond(a) for _ in range(2)]
            ia, id_ = self.items(xs)
            return f"select {ia} from {a.a}", f"select {id_} from {a.d}", False
        other, b = self.far("b")
        x, y = self.column(a, "time"), self.column(b, "time")
        self.out = [("c0", "long"), ("c1", "long")]
        if kind == 2:
            j = r.choice(["join", "left join", "full join", "right join"])
            more = self.compare(r.choice(["<", ">=", "<>"]), self.column(a, "time"), self.column(b, "time")) if r.random() < 0.4 else None
            on = self.compare("=", x, y)
            return (f"select a.id c0, b.id c1 from {a.a} {j} {b.a} on {on.a}{' and ' + more.a if more else ''}",
                    f"select a.id c0, b.id c1 from {a.d} {j} {b.d} on {on.d}{' and ' + more.d if more else ''}", False)
        if kind == 3:
            on = self.compare(r.choice(["<", ">", "<=", ">=", "="]), x, y)
            return (f"select count(*) c0, sum(a.id + b.id) c1 from {a.a} join {b.a} on {on.a} where {w.a}",
                    f"select count(*) c0, sum(a.id + b.id)::bigint c1 from {a.d} join {b.d} on {on.d} where {w.w}", False)
        if kind == 4:
            no = r.choice(["", "not "])
            if r.random() < 0.5:
                self.out = [("c0", "long")]
                d = f"exists (select 1 from {b.d} where {y.d} is not distinct from {x.d})"
                return f"select a.id c0 from {a.a} where {x.a} {no}in (select {y.a} from {b.a})", f"select a.id c0 from {a.d} where {no}{d}", False
            on = self.compare(r.choice(["=", "=", "<"]), y, x)
            return (f"select a.id c0, (select count(*) from {b.a} where {on.a}) c1 from {a.a} where {w.a}",
                    f"select a.id c0, (select count(*) from {b.d} where {on.d}) c1 from {a.d} where {w.w}", False)
        if kind <= 6:
            return self.far_asof(table)
        if kind == 7:  # sorted by a time
            down = r.random() < 0.5
            tail = " order by {}" + (" desc nulls last" if down else " nulls first") + f", a.id limit {r.randint(0, 30)}"
            self.out = [("c0", "long")]
            return f"select a.id c0 from {a.a} where {w.a}{tail.format(x.a).replace(' nulls last', '').replace(' nulls first', '')}", f"select a.id c0 from {a.d} where {w.w}{tail.format(x.d)}", True
        if kind == 8:
            return self.far_meeting(table, a, other, b)
        if kind == 9:
            unit = self.unit(table, x)
            f = r.choice(["min", "max"])
            self.out = [("c0", "long"), ("c1", "long"), ("c2", "long")]
            key, by = (", a.k c3", " group by a.k") if r.random() < 0.5 else ("", "")
            return (f"select {f}({x.a})::long c0, count_distinct({x.a}) c1, count({x.a}) c2{key} from {a.a} where {w.a}{by}",
                    f"select {f}({x.d}) // {unit} c0, count(distinct {x.d}) c1, count({x.d}) c2{key} from {a.d} where {w.w}{by}", False)
        if kind == 10:
            self.out = [("c0", "long"), ("c1", "long")]
            f = r.choice(["lag(a.id)", "lead(a.id)", "row_number()", "count(*)", "sum(a.id)", "first_value(a.id)"])
            part = r.choice(["", "partition by a.k "])
            n = r.choice([1, 3600, 86400, 36500 * 86400, 100000 * 86400])
            frame = ("", "")
            if f.startswith(("count", "sum", "first")):
                frame = (f" range between {n} second preceding and current row", f" range between {n}000000000 preceding and current row")
            return (f"select a.id c0, {f} over ({part}order by a.ts{frame[0]}) c1 from {a.a} where {w.a}",
                    f"select a.id c0, {f} over ({part}order by a.ts{frame[1]}) c1 from {a.d} where {w.w}", False)
        if kind == 11:
            self.out = [("id", "long"), ("k", "txt")]
            return (f"select a.id, a.k from {a.a} where {w.a} latest on ts partition by k",
                    f"select id, k from (select a.*, row_number() over (partition by a.k order by a.ts desc) rn from {a.d} where {w.w}) where rn = 1", False)
        if kind == 12:  # of one unit: of two, the finer may have no room
            y = self.column(a, "time")
            if self.unit(table, x) != self.unit(table, y):
                y = E("time", f"a.{x.a[2:]}", x.d)
                x = self.far_constant_of(self.unit(table, y))
            u, ns = r.choice([("s", 10**9), ("m", 60 * 10**9), ("h", 3600 * 10**9), ("d", 86400 * 10**9)])
            ia, id_ = self.items([E("long", "a.id", "a.id"), E("long", f"datediff('{u}', {x.a}, {y.a})", f"(abs({x.d} - {y.d}) // {ns})")])
            return f"select {ia} from {a.a} where {w.a}", f"select {id_} from {a.d} where {w.w}", False
        v = self.far_range(x)
        ia, id_ = self.items([E("long", "a.id", "a.id")])
        return f"select {ia} from {a.a} where {v.a} and {w.a}", f"select {id_} from {a.d} where {v.w} and {w.w}", False

    def far_constant_of(self, unit):
        at = instant(self.r, unit)
        return E("time", f"'{text(at)}'::{ {1: 'timestamp_ns', US: 'timestamp', 10**6: 'date'}[unit]}", f"({at})::hugeint")

    def far_asof(self, table):
        """The nearest row of a table of another unit, with how far it may be."""
        r = self.r
        left, right = r.choice([("far", "farn"), ("farn", "far"), (table, table)])
        _, a = self.far("a", left)
        _, b = self.far("b", right)
        kind, op = r.choice([("asof", ">="), ("lt", ">")])
        tail, c = "", "b.id"
        keyed = r.random() < 0.3
        if r.random() < 0.5:
            tail, ns = r.choice([("1s", 10**9), ("1h", 3600 * 10**9), ("30d", 30 * 86400 * 10**9), ("36500d", 36500 * 86400 * 10**9)])
            tail, c = f" tolerance {tail}", f"case when a.ts - b.ts <= {ns}::hugeint then b.id end"
        d = f"select a.id c0, {c} c1 from {a.d} asof left join {b.d} on a.ts {op} b.ts" + (" and coalesce(a.k, '~') = coalesce(b.k, '~')" if keyed else "")
        return f"select a.id c0, b.id c1 from {a.a} {kind} join {b.a}{' on (k)' if keyed else ''}{tail}", d, False

    def far_meeting(self, table, a, other, b):
        """Where times of two units become one of the finer: an error if it has no room."""
        r = self.r
        x, y = self.column(a, "time"), self.column(b, "time")
        ux, uy = self.unit(table, x), self.unit(other, y)
        unit = min(ux, uy)
        room = lambda v, u: f"ns_or_error({v})" if unit == 1 and u > 1 else v
        wx, wy = (self.compare(r.choice("<>"), v, E("time", f"'{text(at)}'", f"({at})::hugeint")) for v, at in
                  ((x, r.choice([FIRST_NS, LAST_NS, 0]) // US * US), (y, r.choice([FIRST_NS, LAST_NS, 0]) // US * US)))
        if r.random() < 0.6:
            op = r.choice(["union all", "union", "except", "intersect"])
            self.out = [("c0", "long")]
            return (f"select c0::long c0 from (select {x.a} c0 from {a.a} where {wx.a} {op} select {y.a} from {b.a} where {wy.a})",
                    f"select c0 // {unit} c0 from (select {room(x.d, ux)} c0 from {a.d} where {wx.w} {op} select {room(y.d, uy)} from {b.d} where {wy.w})", False)
        y = self.column(a, "time")
        uy = self.unit(table, y)
        unit = min(ux, uy)
        ia, id_ = self.items([E("long", "a.id", "a.id"), E("long", f"(case when a.id % 2 = 0 then {x.a} else {y.a} end)::long",
                                                          f"(case when a.id % 2 = 0 then {room(x.d, ux)} else {room(y.d, uy)} end) // {unit}")])
        return f"select {ia} from {a.a} where {wx.a}", f"select {id_} from {a.d} where {wx.w}", False

    def q_centuries(self):
        r = self.r
        self.tags.add("centuries")
        table, a = self.far("a")
        wa, wd = ("", "")
        if r.random() < 0.5:
            w = self.far_cond(a)
            wa, wd = " where " + w.a, " where " + w.w
        if r.random() < 0.5:
            return self.filled_centuries(table, a, wa, wd)
        step, ns = r.choice([("1s", 10**9), ("1h", 3600 * 10**9), ("1d", 86400 * 10**9), ("6h", 6 * 3600 * 10**9), ("100d", 8640000 * 10**9)])
        key = r.random() < 0.3
        k = ", a.k c3" if key else ""
        outer = ("c1, c2" + (", c3" if key else ""), " where c1 > 1" if r.random() < 0.3 else "")
        self.out = [("c1", "long"), ("c2", "long")] + ([("c3", "txt")] if key else [])
        # the times of buckets are of two types: what is in them is compared
        return (f"select {outer[0]} from (select a.ts c0, count(*) c1, sum(a.id) c2{k} from {a.a}{wa} sample by {step}){outer[1]}",
                f"select {outer[0]} from (select floor_div(a.ts, {ns}) c0, count(*) c1, sum(a.id)::bigint c2{k} from {a.d}{wd} group by 1{', 4' if key else ''}){outer[1]}", False)

    def filled_centuries(self, table, a, wa, wd):
        """All the buckets between, counted and summed: by numbers of days, or by months and years, in DuckDB numbered."""
        r = self.r
        step, number, ns = r.choice([("100d", "floor_div(a.ts, {}::hugeint)::bigint", 8640000 * 10**9), ("1000d", "floor_div(a.ts, {}::hugeint)::bigint", 86400000 * 10**9),
                                     ("1M", "year(@) * 12 + month(@)", 0), ("1y", "year(@)", 0)])
        number = number.format(ns).replace("@", "make_timestamp(floor_div(a.ts, 1000)::bigint)")
        key = ", k" if r.random() < 0.3 else ""
        fill = r.choice(["null", "prev", "0", "linear" if "d" in step else "prev"])
        value = "avg(a.id)" if fill == "linear" else r.choice(["sum(a.id)", "max(a.id)"])
        fills = {"null": "null, null", "prev": "prev, null", "0": "0, null", "linear": "linear, null"}[fill]
        typed = "::bigint" if value.startswith("sum") else ""
        over = f"over ({'partition by k ' if key else ''}order by b"
        filled = {"null": "v", "0": "case when h then v else 0 end", "prev": f"last_value(v ignore nulls) {over})"}.get(fill)
        if fill == "linear":
            low, high = f"last_value(v ignore nulls) {over})", f"first_value(v ignore nulls) {over} rows between current row and unbounded following)"
            lowb, highb = f"last_value(case when h then tb end ignore nulls) {over})", f"first_value(case when h then tb end ignore nulls) {over} rows between current row and unbounded following)"
            filled = f"case when h then v else {low} + ({high} - {low}) * (tb - {lowb})::double / ({highb} - {lowb})::double end"
        first = FIRST_NS if table == "farn" else -(1 << 100)  # the first bucket of nanoseconds may begin with them
        self.out = [("c0", "long"), ("c1", "dbl" if fill == "linear" else "long"), ("c2", "long"), ("c3", "long")]
        cast = "" if fill == "linear" else "::bigint"
        a_text = (f"select count(*) c0, sum(v) c1, count(v) c2, count(n) c3{', k c4' if key else ''} from (select a.ts t{', a.k k' if key else ''}, {value} v, count(*) n from {a.a}{wa} "
                  f"sample by {step} fill({fills})){' group by k' if key else ''}")
        d_text = (f"with g as (select {number} b{', a.k k' if key else ''}, {value}{typed} v, count(*) n from {a.d}{wd} group by all), "
                  f"bs as (select unnest(range(lo, hi + 1)) b from (select min(b) lo, max(b) hi from g)), ks as (select distinct 1 one{key} from g), "
                  f"f as (select bs.b{', ks.k' if key else ''}, g.v, g.n, g.b is not null h, greatest(bs.b * {max(ns, 1)}::hugeint, {first}::hugeint) tb from bs cross join ks left join g on g.b = bs.b{' and g.k is not distinct from ks.k' if key else ''}), "
                  f"w as (select {filled} v, n{key} from f) "
                  f"select count(*) c0, sum(v){cast} c1, count(v) c2, count(n) c3{', k c4' if key else ''} from w{' group by k' if key else ''}")
        return a_text, d_text, False

    # -- values of Parquet files that are nulls here
    def parquet_source(self, alias):
        a = self.r.choice(["read_parquet('beyond.parquet')", "pqt"])
        cols = [Column(n, t, f"{alias}.{n}", f"{alias}.{n}", m) for n, t, m in
                (("id", "long", ROWS_OF_FILE), ("x", "dbl", 60), ("y", "dbl", 6), ("i", "int", 100), ("l", "long", 1010), ("k", "txt", 1))]
        return Source(f"{a} {alias}", f"pq {alias}", cols, False, ROWS_OF_FILE, False)

    def parquet_cond(self, src):
        """Near the least and greatest values of the file, where its statistics may leave out groups of rows."""
        r = self.r
        c = self.column(src, "dbl", "int", "long")
        v = r.choice([-50.0, 50.0, -5.0, 5.0, -40, 56, 1e300, -1e300, 1008, 0])
        return self.compare(r.choice(["<", ">", "<=", ">=", "=", "<>"]), c, E("dbl", repr(v), f"{v!r}::double"))

    def q_parquet(self):
        r = self.r
        self.tags.add("parquet")
        src = self.parquet_source("a")
        wa, wd = self.where(src, 0.6)
        if "select" in wa:
            wa = wd = ""
        if r.random() < 0.3:
            c = self.parquet_cond(src)
            wa, wd = (wa + " and " + c.a, wd + " and " + c.w) if wa and " or " not in wa else (" where " + c.a, " where " + c.w)
        kind = r.randrange(8)
        if kind == 0:  # rows in order
            c = self.column(src, "dbl")
            ia, id_ = self.items([c, E("long", "a.id", "a.id")])
            oa, od = self.order([(1, "dbl"), (2, "long")])
            n = r.randint(0, 40)
            return f"select {ia} from {src.a}{wa}{oa} limit {n}", f"select {id_} from {src.d}{wd}{od} limit {n}", True
        if kind == 1:  # null equals null
            b, c = self.parquet_source("b"), r.choice("xyl")
            self.out = [("c0", "long"), ("c1", "long")]
            j = r.choice(["join", "left join"])
            at = r.randint(0, 50)
            return (f"select a.id c0, b.id c1 from {src.a} {j} {b.a} on a.{c} = b.{c} and b.id < {at} where a.id < 400",
                    f"select a.id c0, b.id c1 from {src.d} {j} {b.d} on a.{c} is not distinct from b.{c} and b.id < {at} where a.id < 400", False)
        if kind == 2:
            b, c = self.parquet_source("b"), r.choice("xyl")
            op = r.choice(["union", "except", "intersect", "union all"])
            self.out = [("c0", "dbl" if c != "l" else "long")]
            half = r.choice([10, 300, 3000])
            return (f"select * from (select a.{c} c0 from {src.a} where a.id < {half} {op} select b.{c} c0 from {b.a} where b.id >= {half // 2})",
                    f"select * from (select a.{c} c0 from {src.d} where a.id < {half} {op} select b.{c} c0 from {b.d} where b.id >= {half // 2})", False)
        if kind == 3:
            c = self.column(src, "dbl", "long")
            f, frame = r.choice(["count", "max", "min", "sum"]), r.choice(["", f" rows between {r.randint(0, 9)} preceding and current row"])
            ia, id_ = self.items([E("long", "a.id", "a.id"), E("long" if f == "count" or c.t == "long" else "dbl", f"{f}({c.a}) over (partition by a.k order by a.id{frame})",
                                                              f"{f}({c.d}) over (partition by a.k order by a.id{frame})")])
            return f"select {ia} from {src.a} where a.id < 500", f"select {id_} from {src.d} where a.id < 500", False
        aggs = [self.aggregate(src) for _ in range(r.randint(1, 4))]
        for c in r.sample(src.columns, 2):
            aggs.append(E("long", f"count({c.a})", f"count({c.d})"))
        keys = [E("txt", "a.k", "a.k")] if r.random() < 0.5 else [E("dbl", "a.y", "a.y")] if r.random() < 0.3 else []
        ia, id_ = self.items(keys + aggs)
        return f"select {ia} from {src.a}{wa}", f"select {id_} from {src.d}{wd}" + (" group by 1" if keys else ""), False

    # -- a filter above it all
    def above(self, a, d):
        """Rows of the query again, those that pass a condition on its columns."""
        r = self.r
        most = {"int": 10**9, "long": 10**15, "dbl": 10**12}
        cols = [Column(n, t, f"z.{n}", f"z.{n}", most.get(t, 1000)) for n, t in self.out if t not in ("dbl~", "char")]  # a null CHAR is shown as a text
        src = Source(f"({a}) z", f"({d}) z", cols, False, 1000, False)
        if not cols:
            return None
        c = r.choice(cols)
        w = E("bool", f"{c.a} is null", f"({c.d} is null)") if r.random() < 0.2 else self.cond(src, r.choice([0, 0, 1, 2]))
        if c.t in ("int", "long") and r.random() < 0.3:
            w = self.compare(r.choice(["<", ">=", "=", "<>"]), E(c.t, c.a, c.d), E("int", *[str(r.randint(0, 60))] * 2))
        heads = [("z.*", "z.*"), ("z.*", "z.*"), ("count(*) n", "count(*) n"), (f"{c.a} n", f"{c.d} n")]
        ha, hd = r.choice(heads)
        if r.random() < 0.15:  # a filter above a filter
            v = self.cond(src, 0)
            if "select" not in v.a:
                src = Source(f"(select * from {src.a} where {v.a}) z", f"(select * from {src.d} where {v.w}) z", cols, False, 1000, False)
        return f"select {ha} from {src.a} where {w.a}", d and f"select {hd} from {src.d} where {w.w}", False

    SHAPES = generate.Gen.SHAPES + [("alias", 3), ("constants", 5), ("units", 6), ("centuries", 3), ("parquet", 3)]

    def query(self):
        self.tags, self.out = set(), []
        shape, a, d, ordered = super().query()
        self.tags.add(shape)
        if self.r.random() < 0.25 and self.out:
            a, d, ordered = self.above(a, d) or (a, d, ordered)
            if a.startswith("select") and " z where " in a:
                self.tags |= {"above", f"above {shape}"}
        return shape, a, d, ordered
