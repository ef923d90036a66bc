"""Random tables and queries, each written twice: in this server's dialect and in DuckDB's.

Where the dialects mean different things by the same words, the DuckDB text says what this server means
(two-valued conditions, null = null), so that answers can be compared without looking away. A query that
DuckDB cannot say has no second text: then only our own answers are compared with each other.
"""
import re

DAY = 86400000000
BASE = 19723 * DAY  # 2024-01-01
COLUMNS = [  # name, type of the generator, type here, type in DuckDB
    ("ts", "ts", "timestamp", "timestamp"), ("id", "long", "long", "bigint"), ("sym", "txt", "symbol", "varchar"),
    ("key", "txt", "symbol", "varchar"), ("s", "txt", "varchar", "varchar"), ("st", "txt", "string", "varchar"),
    ("b", "bool", "boolean", "boolean"), ("sh", "int", "short", "bigint"), ("i", "int", "int", "bigint"),
    ("l", "long", "long", "bigint"), ("f", "dbl", "float", "double"), ("d", "dbl", "double", "double"),
    ("ts2", "ts", "timestamp", "timestamp"), ("u", "uuid", "uuid", "uuid"), ("ip", "ip", "ipv4", "varchar"),
    ("de", "dec", "decimal(12,2)", "decimal(12,2)"), ("ch", "char", "char", "varchar")]
BIG = ("ts", "id", "sym", "key", "b", "i", "l", "d", "s")
NOT_NULL = {"ts", "id", "b", "sh"}
WORDS = ["", "a", "A", "ab", "abc", "Alpha", "beta", "gamma ray", " x ", "zz%", "a_b", "\u00e4\u00f6", "\u65e5\u672c", "0", "12", "-3.5"]
NAMES = re.compile(r"\b[a-z]\.\w")
CONSTANT_FIRST = re.compile(r"coalesce\(\(?['\d-]")
STEPS = [("1s", 10**6), ("30s", 30 * 10**6), ("5m", 300 * 10**6), ("1h", 3600 * 10**6), ("6h", 6 * 3600 * 10**6), ("1d", DAY)]


class E:
    """An expression: type, text here, text in DuckDB, least upper bound of its size. Conditions have two more
    texts in DuckDB: where they stand in WHERE, and their opposite there, for NOT in WHERE turns comparisons
    around: null > 5 and NOT null > 5 are both false there, while elsewhere NOT is the plain opposite."""
    __slots__ = ("t", "a", "d", "m", "w", "n")

    def __init__(self, t, a, d, m=0, w=None, n=None):
        self.t, self.a, self.d, self.m = t, a, d, m
        self.w, self.n = w or d, n or f"(not {d})"


class Column:
    __slots__ = ("name", "t", "a", "d", "m", "raw")

    def __init__(self, name, t, a, d, m=1000, raw=None):
        self.name, self.t, self.a, self.d, self.m, self.raw = name, t, a, d, m, raw or name


class Table:
    def __init__(self, name, rows, unique, columns=None, partition="day", big=0):
        self.name, self.rows, self.unique, self.partition, self.big = name, rows, unique, partition, big
        by_name = {c[0]: c for c in COLUMNS}
        self.columns = [by_name[n] for n in columns] if columns else COLUMNS


def quote(v):
    return "null" if v is None else "'" + str(v).replace("'", "''") + "'"


def ts_text(us, t=None):
    s, us = divmod(us, 10**6)
    import datetime
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%S") + ".%06dZ" % us


def make_tables(rng):
    """Small ones with every type and a big one, for pieces that many threads share."""
    tables = [Table("t0", [], True, partition="none")]
    for name, n, unique in (("t1", rng.randint(1, 4), True), ("t2", rng.randint(40, 300), True), ("t3", rng.randint(40, 300), False),
                            ("t4", rng.randint(300, 1500), True), ("t5", rng.randint(20, 120), False)):
        spread = rng.choice([DAY // 24, DAY, 5 * DAY, 60 * DAY])
        times = rng.sample(range(max(n * 2, spread // 250000)), n) if unique else [rng.randrange(max(1, n // 3)) for _ in range(n)]
        unit = 250000 if unique else max(1, spread // max(1, n // 3))
        rows = []
        for k, at in enumerate(times):
            null = lambda v, p=0.15: None if rng.random() < p else v
            rows.append({
                "ts": BASE + at * unit, "id": k, "sym": null(rng.choice("ABCDE")), "key": null("k%d" % rng.randrange(40), 0.05),
                "s": null(rng.choice(WORDS)), "st": null(rng.choice(WORDS)), "b": rng.random() < 0.5, "sh": rng.randint(-40, 40),
                "i": null(rng.randint(-50, 200)), "l": null(rng.choice([rng.randint(-9, 9), rng.randint(-10**6, 10**6)])),
                "f": null(rng.randint(-400, 400) / 8), "d": null(rng.randint(-4000, 4000) / 16),
                "ts2": null(BASE + rng.randint(-5 * DAY, 5 * DAY) // 1000000 * 1000000),
                "u": null("00000000-0000-0000-0000-%012d" % rng.randrange(30)), "ip": null("10.0.%d.%d" % (rng.randrange(3), rng.randrange(1, 9))),
                "de": null("%.2f" % (rng.randint(-9999, 9999) / 100)), "ch": null(rng.choice("xyzQ"))})
        tables.append(Table(name, rows, unique, partition=rng.choice(["hour", "day", "day", "month"]) if unique else "day"))
    tables.append(Table("big", [], True, columns=BIG, big=rng.randint(100000, 200000)))
    return tables


def cell(c, v, duck):
    if v is None:
        return "null"
    if c in ("id", "sh", "i", "l", "f", "d", "b"):
        return str(v).lower()
    if c in ("ts", "ts2"):
        return f"timestamp '{ts_text(v)[:-1]}'" if duck else f"'{ts_text(v)}'"
    if c == "de":
        return v if duck else v + "m"
    return quote(v)


def big_rows(lo, hi, step, duck):
    """One formula for both: numbers lo .. hi - 1 shuffled in time."""
    n = f"(x * 7919 % {hi - lo} + {lo})" if step == 1 else "x"
    ts = f"({BASE} + {n} * 1000003)"
    ts = f"make_timestamp({ts})" if duck else f"({ts})::timestamp"
    part = lambda every, value: f"case when x % {every} = 0 then null else {value} end"
    txt = lambda p, k: f"'{p}' || (x % {k})::varchar"
    cells = [ts, "x", part(11, txt("S", 7)), txt("k", 900), "x % 3 = 0", part(13, "(x * 31 % 501 - 100)" + ("" if duck else "::int")),
             part(17, "(x * 17 % 100003)"), part(7, "(x * 37 % 8009 - 4000) / 16.0"), part(19, txt("v", 5000))]
    source = f"range({lo}, {hi}) r(x)" if duck else f"(select x + {lo - 1} x from long_sequence({hi - lo}))"
    return f"insert into big select {', '.join(cells)} from {source}"


def create(table, duck, one_part=False):
    cols = ", ".join(f"{n} {d if duck else a}" for n, _, a, d in table.columns)
    if duck:
        return f"create table {table.name} ({cols})"
    return f"create table {table.name} ({cols}) timestamp(ts) partition by {'none' if one_part else table.partition}"


def inserts(table, duck, pieces, rng=None):
    """INSERT statements; with a rng the rows come in another order, so that some are late."""
    if table.big:
        cut = table.big * 2 // 3
        return [big_rows(0, cut, 1, duck), big_rows(cut, table.big, 1, duck)]
    rows = list(table.rows)
    if rng is not None and table.unique:
        rng.shuffle(rows)
    out, size = [], max(1, len(rows) // pieces + 1)
    for k in range(0, len(rows), size):
        values = ", ".join("(" + ", ".join(cell(c[0], r[c[0]], duck) for c in table.columns) + ")" for r in rows[k:k + size])
        out.append(f"insert into {table.name} values {values}")
    return out


# ---------------------------------------------------------------- expressions

class Source:
    """Columns one can name, the FROM text of both dialects, and whether ts is unique and in order."""

    def __init__(self, a, d, columns, unique, rows, ordered=True):
        self.a, self.d, self.columns, self.unique, self.rows, self.ordered = a, d, columns, unique, rows, ordered

    def of(self, *types):
        return [c for c in self.columns if c.t in types]


def base_columns(table, alias, outer=False):
    """outer: of the side of a join that may have no row; what has no null is 0 or false then."""
    out = []
    for name, t, a, _ in table.columns:
        d = f"{alias}.{name}"
        if outer and name in ("b", "sh"):
            d = f"coalesce({d}, {'false' if name == 'b' else '0'})"
        m = {"id": table.big or 2000, "sh": 40, "i": 400, "l": 10**6, "f": 50, "d": 300}.get(name, 1000)
        out.append(Column(name, t, f"{alias}.{name}", d, m, f"{alias}.{name}"))
    return out


class Gen:
    def __init__(self, rng, tables):
        self.r, self.tables = rng, tables
        self.t = {t.name: t for t in tables}
        self.tags, self.out = set(), []  # what the query is about; names and types of its columns, where it can be asked about

    # -- leaves
    def literal(self, t):
        r = self.r
        if t in ("int", "long"):
            v = r.choice([0, 1, 2, 3, 5, -1, 7, 10, 42, 100, r.randint(-60, 210)])
            return E(t, str(v) if v >= 0 else f"({v})", f"({v}::bigint)", abs(v))
        if t == "dbl":
            v = r.choice([0.0, 0.5, 1.0, -1.25, 10.0, 2.5, r.randint(-800, 800) / 8])
            return E(t, f"{v}" if v >= 0 else f"({v})", f"({v}::double)", abs(v))
        if t == "txt":
            v = r.choice(WORDS + ["A", "B", "C", "k1", "S1", "v12"])
            return E(t, quote(v) + ("::varchar" if len(v) == 1 else ""), quote(v))  # one letter would be CHAR
        if t == "bool":
            v = r.choice(["true", "false"])
            return E(t, v, v)
        v = BASE + r.randint(-DAY, 4 * DAY) // 10**6 * 10**6
        return E("ts", f"'{ts_text(v)}'::timestamp", f"timestamp '{ts_text(v)[:-1]}'")

    def column(self, src, *types):
        found = src.of(*types)
        if not found:
            return None
        c = self.r.choice(found)
        return E(c.t, c.a, c.d, c.m)

    def leaf(self, src, t):
        if self.r.random() < 0.8:
            c = self.column(src, *(("int", "long") if t == "long" else (t,)))
            if c is not None:
                return c
        return self.literal(t)

    def expr(self, src, t, depth):
        """Of type t: int long dbl txt bool ts."""
        if depth <= 0 or self.r.random() < 0.25:
            return self.leaf(src, t)
        return getattr(self, "make_" + t)(src, depth - 1)

    def any(self, src, depth):
        return self.expr(src, self.r.choice(["int", "long", "dbl", "txt", "ts", "bool", "int", "dbl"]), depth)

    def case(self, src, t, depth):
        c, x, y = self.cond(src, depth), self.expr(src, t, depth), self.expr(src, t, depth)
        m = max(x.m, y.m)
        if t != "bool" and self.r.random() < 0.3:
            if t in ("int", "long"):  # SHORT has no null: made INT
                x = E(t, f"({x.a} + 0)", x.d, x.m)
            return E(t, f"case when {c.a} then {x.a} end", f"case when {c.d} then {x.d} end", m)
        return E(t, f"case when {c.a} then {x.a} else {y.a} end", f"case when {c.d} then {x.d} else {y.d} end", m)

    # -- numbers
    def make_int(self, src, depth):
        return self.whole(src, depth, "int", 2 * 10**9)

    def make_long(self, src, depth):
        return self.whole(src, depth, "long", 4 * 10**15)

    def whole(self, src, depth, t, most):
        r = self.r
        kind = r.randrange(16)
        x = self.expr(src, t, depth)
        if kind == 11:
            v = self.literal(t)
            return E(t, f"nullif({x.a} + 0, {v.a})", f"(case when {x.d} = {v.d} then null else {x.d} end)", x.m)
        if kind == 12:
            y, f = self.expr(src, t, depth), r.choice(["greatest", "least"])
            return E(t, f"{f}({x.a} + 0, {y.a})", f"{f}({x.d}, {y.d})", max(x.m, y.m))
        if kind == 13:
            y = self.expr(src, "txt", depth)
            return E(t, f"position({y.a}, 'a')", f"strpos({y.d}, 'a')::bigint", 100)
        if kind == 14:
            y = self.expr(src, "dbl", depth)
            if y.m < 10**8:
                return E(t, f"({y.a})::{t}", f"trunc({y.d})::bigint", y.m)
            return x
        if kind == 15 and t == "long":
            u, us = r.choice([("s", 10**6), ("h", 3600 * 10**6), ("d", DAY)])
            y, z = self.expr(src, "ts", depth), self.expr(src, "ts", depth)
            return E(t, f"datediff('{u}', {y.a}, {z.a})", f"(abs(epoch_us({y.d}) - epoch_us({z.d})) // {us})", 10**9)
        if kind <= 2:
            y, op = self.expr(src, t, depth), r.choice("+-*")
            m = x.m * y.m if op == "*" else x.m + y.m
            if m < most:
                return E(t, f"({x.a} {op} {y.a})", f"({x.d} {op} {y.d})", m)
            return x
        if kind == 3:
            v, op = r.choice([2, 3, 7, -4, 10]), r.choice("/%")
            text = str(v) if v > 0 else f"({v})"
            duck = f"trunc_div({x.d}, {v})" if op == "/" else f"({x.d} % {v})"
            return E(t, f"({x.a} {op} {text})", duck, x.m)
        if kind == 4:
            return E(t, f"abs({x.a})", f"abs({x.d})", x.m)
        if kind == 5:
            y = self.expr(src, t, depth)
            return E(t, f"coalesce({x.a}, {y.a})", f"coalesce({x.d}, {y.d})", max(x.m, y.m))
        if kind == 6:
            return self.case(src, t, depth)
        if kind == 7:
            s = self.expr(src, "txt", depth)
            return E(t, f"length({s.a})", f"coalesce(length({s.d}), -1)::bigint", 1000)
        if kind == 8:
            s, f = self.expr(src, "ts", depth), r.choice(["hour", "minute", "day", "month", "year", "second"])
            return E(t, f"{f}({s.a})", f"{f}({s.d})::bigint", 3000)
        if kind == 9:
            op = r.choice(["&", "|"])
            y = self.literal(t)
            if y.m and "(" not in y.a and x.m < 10**6:
                return E(t, f"({x.a} {op} {y.a})", f"({x.d} {op} {y.d})", x.m * 2 + 256)
            return x
        return E(t, f"(0 - {x.a})", f"(0 - {x.d})", x.m)

    def make_dbl(self, src, depth):
        r = self.r
        kind = r.randrange(10)
        x = self.expr(src, "dbl", depth)
        if kind <= 2:
            y, op = self.expr(src, r.choice(["dbl", "dbl", "int"]), depth), r.choice("+-*")
            m = x.m * y.m if op == "*" else x.m + y.m
            if m < 10**12:
                return E("dbl", f"({x.a} {op} {y.a})", f"({x.d} {op} {y.d})", m)
            return x
        if kind == 3:
            v = r.choice([2.0, 4.0, 0.5, 3.0, -8.0])
            return E("dbl", f"({x.a} / {v})" if v > 0 else f"({x.a} / ({v}))", f"({x.d} / {v}::double)", x.m * 4)
        if kind == 4:
            f = r.choice(["abs", "floor", "ceil"])
            return E("dbl", f"{f}({x.a})", f"{f}({x.d})", x.m + 1)
        if kind == 5:
            y = self.expr(src, "dbl", depth)
            return E("dbl", f"coalesce({x.a}, {y.a})", f"coalesce({x.d}, {y.d})", max(x.m, y.m))
        if kind == 6:
            return self.case(src, "dbl", depth)
        if kind == 7:
            y = self.expr(src, r.choice(["int", "long"]), depth)
            return E("dbl", f"{y.a}::double", f"({y.d})::double", y.m)
        if kind == 8:
            return E("dbl", f"sqrt(abs({x.a}))", f"sqrt(abs({x.d}))", x.m + 1)
        return E("dbl", f"(-{x.a})" if x.a[0] != "-" else x.a, f"(-{x.d})" if x.a[0] != "-" else x.d, x.m)

    # -- text, time
    def make_txt(self, src, depth):
        r = self.r
        kind = r.randrange(13)
        x = self.expr(src, "txt", depth)
        if kind == 10:
            f, n = r.choice(["lpad", "rpad"]), r.randint(0, 6)
            return E("txt", f"{f}({x.a}, {n}, '*')", f"{f}({x.d}, {n}, '*')")
        if kind == 11:
            n = r.randint(1, 3)
            return E("txt", f"split_part({x.a}, 'a', {n})", f"split_part({x.d}, 'a', {n})")
        if kind == 12:
            y = self.literal("txt")
            return E("txt", f"nullif({x.a}, {y.a})", f"nullif({x.d}, {y.d})")
        if kind == 0:
            f = r.choice(["upper", "lower"])
            return E("txt", f"{f}({x.a})", f"{f}({x.d})")
        if kind == 1:
            n, f = r.randint(0, 4), r.choice(["left", "right"])
            return E("txt", f"{f}({x.a}, {n})", f"{f}({x.d}, {n})")
        if kind == 2:
            a, n = r.randint(1, 4), r.randint(0, 4)
            return E("txt", f"substring({x.a}, {a}, {n})", f"substring({x.d}, {a}, {n})")
        if kind == 3:
            y = self.expr(src, "txt", depth)
            return E("txt", f"({x.a} || {y.a})", f"concat({x.d}, {y.d})")
        if kind == 4:
            y = self.expr(src, "int", depth)
            return E("txt", f"concat({x.a}, {y.a})", f"concat({x.d}, {y.d})")
        if kind == 5:
            a, b = r.choice(["a", "b", "A", "lp"]), r.choice(["", "x", "aa"])
            return E("txt", f"replace({x.a}, '{a}', '{b}')", f"replace({x.d}, '{a}', '{b}')")
        if kind == 6:
            return E("txt", f"trim({x.a})", f"trim({x.d})")
        if kind == 7:
            y = self.expr(src, "txt", depth)
            return E("txt", f"coalesce({x.a}, {y.a})", f"coalesce({x.d}, {y.d})")
        if kind == 8:
            y = self.expr(src, r.choice(["int", "long"]), depth)
            return E("txt", f"{y.a}::varchar", f"({y.d})::varchar")
        return self.case(src, "txt", depth)

    def make_ts(self, src, depth):
        r = self.r
        x = self.expr(src, "ts", depth)
        kind = r.randrange(6)
        if kind == 0:
            u, word = r.choice([("s", "second"), ("m", "minute"), ("h", "hour"), ("d", "day"), ("M", "month"), ("y", "year")])
            n = r.randint(-3, 3)
            return E("ts", f"dateadd('{u}', {n}, {x.a})", f"({x.d} + interval ({n}) {word})")
        if kind == 1:
            u = r.choice(["second", "minute", "hour", "day", "month", "year", "week", "quarter"])
            return E("ts", f"date_trunc('{u}', {x.a})", f"date_trunc('{u}', {x.d})::timestamp")
        if kind == 2:
            step, us = r.choice(STEPS)
            return E("ts", f"timestamp_floor('{step}', {x.a})", f"floor_ts({x.d}, {us})")
        if kind == 3:
            return self.case(src, "ts", depth)
        if kind == 4:
            y = self.expr(src, "ts", depth)
            return E("ts", f"coalesce({x.a}, {y.a})", f"coalesce({x.d}, {y.d})")
        return x

    # -- conditions
    def make_bool(self, src, depth):
        return self.cond(src, depth)

    def compare(self, op, x, y):
        a = f"({x.a} {op} {y.a})"
        texts = {"=": f"({x.d} is not distinct from {y.d})", "<>": f"({x.d} is distinct from {y.d})",
             "<": f"coalesce({x.d} < {y.d}, false)", ">": f"coalesce({x.d} > {y.d}, false)",
             "<=": f"(coalesce({x.d} <= {y.d}, false) or ({x.d} is null and {y.d} is null))",
             ">=": f"(coalesce({x.d} >= {y.d}, false) or ({x.d} is null and {y.d} is null))"}
        return E("bool", a, texts[op], n=texts[{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}[op]])

    def cond(self, src, depth):
        r = self.r
        kind = r.randrange(14)
        if kind <= 4 or depth <= 0:
            t = r.choice(["int", "long", "dbl", "txt", "ts", "int", "dbl"])
            x = self.expr(src, t, depth - 1)
            y = self.expr(src, t, depth - 1) if r.random() < 0.4 else self.literal(t)
            return self.compare(r.choice(["=", "<>", "<", ">", "<=", ">="]), x, y)
        if kind <= 6:
            op = r.choice(["and", "or"])
            x, y = self.cond(src, depth - 1), self.cond(src, depth - 1)
            return E("bool", f"({x.a} {op} {y.a})", f"({x.d} {op} {y.d})", 0, f"({x.w} {op} {y.w})",
                     f"({x.n} {'or' if op == 'and' else 'and'} {y.n})")
        if kind == 7:
            x = self.cond(src, depth - 1)
            return E("bool", f"not ({x.a})", f"(not {x.d})", 0, x.n, x.w)
        if kind == 8:
            t = r.choice(["int", "txt", "dbl", "long", "ts"])
            x, no = self.leaf(src, t), r.random() < 0.3
            values = [self.literal(t) for _ in range(r.randint(1, 5))]
            a = ", ".join(v.a for v in values)
            d = f"coalesce({x.d} in ({', '.join(v.d for v in values)}), false)"
            if r.random() < 0.15 and not x.a.endswith(".sh"):
                a, d = a + ", null", f"({d} or {x.d} is null)"
            return E("bool", f"{x.a} {'not ' if no else ''}in ({a})", f"(not {d})" if no else d)
        if kind == 9:
            t = r.choice(["int", "dbl", "long", "ts"])
            x, lo, hi, no = self.expr(src, t, depth - 1), self.literal(t), self.literal(t), r.random() < 0.3
            # the ends of BETWEEN stand in any order here
            d = f"coalesce({x.d} between least({lo.d}, {hi.d}) and greatest({lo.d}, {hi.d}), false)"
            return E("bool", f"{x.a} {'not ' if no else ''}between {lo.a} and {hi.a}", f"(not {d})" if no else d)
        if kind == 10:
            x, p = self.leaf(src, "txt"), r.choice(["a%", "%a", "%b%", "_", "A_%", "%", "S1", "k1%", "%1", ""])
            op, no = r.choice(["like", "ilike"]), r.random() < 0.3
            d = f"coalesce({x.d} {op} '{p}', false)"
            return E("bool", f"{x.a} {'not ' if no else ''}{op} '{p}'", f"(not {d})" if no else d)
        if kind == 11:
            c = self.column(src, "int", "dbl", "txt", "ts", "uuid", "ip", "dec", "char", "long")
            no = r.choice(["", "not "])
            if c is None:
                return self.literal("bool")
            return E("bool", f"{c.a} is {no}null", f"({c.d} is {no}null)")
        if kind == 12:
            c = self.column(src, "bool")
            return E("bool", c.a, c.d) if c is not None else self.literal("bool")
        return self.subquery_cond(src, depth) if r.random() < 0.5 else self.cond(src, depth - 1)

    def subquery_cond(self, src, depth):
        r = self.r
        q = self.relation("q%d" % r.randrange(1000), small=True)
        where = self.cond(q, 0)
        kind = r.randrange(3)
        if kind == 0:
            t = r.choice(["int", "txt"])
            x, y, no = self.leaf(src, t), self.leaf(q, t), r.random() < 0.4
            d = f"exists (select 1 from {q.d} where {where.w} and {y.d} is not distinct from {x.d})"
            return E("bool", f"{x.a} {'not ' if no else ''}in (select {y.a} from {q.a} where {where.a})", f"(not {d})" if no else d)
        if kind == 1:
            x = self.leaf(src, "dbl")
            f, y = r.choice(["max", "min", "avg"]), self.leaf(q, "dbl")
            return self.compare(r.choice(["<", ">", "<=", ">="]), x, E("dbl", f"(select {f}({y.a}) from {q.a} where {where.a})",
                                                                    f"(select {f}({y.d}) from {q.d} where {where.w})"))
        t = r.choice(["int", "txt"])
        x, y, no = self.column(src, t), self.column(q, t), r.choice(["", "not "])
        if x is None or y is None:
            return self.literal("bool")
        return E("bool", f"{no}exists (select 1 from {q.a} where {y.a} = {x.a} and {where.a})",
                 f"({no}exists (select 1 from {q.d} where {y.d} is not distinct from {x.d} and {where.w}))")

    # -- relations
    def relation(self, alias, small=False, unique=None):
        names = [t.name for t in self.tables if not (small and t.big) and (unique is None or t.unique == unique)]
        weights = [1 if n in ("t0", "t1") else 2 if n == "big" else 4 for n in names]
        t = self.t[self.r.choices(names, weights)[0]]
        return Source(f"{t.name} {alias}", f"{t.name} {alias}", base_columns(t, alias), t.unique, t.big or len(t.rows))

    def derived(self, alias):
        """A subquery in FROM."""
        r = self.r
        inner = self.relation("i" + alias, small=True)
        where = self.cond(inner, 1)
        cols, a, d = [], [], []
        for k in range(r.randint(2, 5)):
            x = self.any(inner, 1)
            if x.t in ("int", "long"):  # SHORT has no null, on the outer side of a join either: made INT
                x = E(x.t, f"({x.a} + 0)", x.d, x.m)
            a.append(f"{x.a} x{k}")
            d.append(f"{x.d} x{k}")
            cols.append(Column(f"x{k}", x.t, f"{alias}.x{k}", f"{alias}.x{k}", x.m))
        w = r.random() < 0.7
        text = lambda items, frm, cond: f"(select {', '.join(items)} from {frm}{' where ' + cond if w else ''}) {alias}"
        return Source(text(a, inner.a, where.a), text(d, inner.d, where.w), cols, False, inner.rows, False)

    def joined(self):
        r = self.r
        left = self.relation("a", small=True)
        right = self.relation("b", small=True) if r.random() < 0.75 else self.derived("b")
        kind = r.choice(["join", "inner join", "left join", "full join", "right join", "cross join"])
        if kind == "cross join" and left.rows * right.rows > 40000:
            kind = "join"
        on = []
        for _ in range(r.randint(1, 2)):
            t = r.choice(["txt", "int", "txt"])
            x, y = self.column(left, t), self.column(right, t)
            if x is not None and y is not None:
                on.append(self.compare("=", x, y))
        if not on:
            x, y = self.leaf(left, "int"), self.leaf(right, "int")
            on.append(self.compare("=", x, y))
        if r.random() < 0.3:
            t = r.choice(["int", "dbl", "ts"])
            x, y = self.column(left, t), self.column(right, t)
            if x is not None and y is not None:
                on.append(self.compare(r.choice(["<", ">", "<=", "<>"]), x, y))
        if kind in ("left join", "join") and r.random() < 0.3:
            on.append(self.cond(right, 0))
        a = f"{left.a} {kind} {right.a}" + ("" if kind == "cross join" else " on " + " and ".join(c.a for c in on))
        d = f"{left.d} {kind} {right.d}" + ("" if kind == "cross join" else " on " + " and ".join(c.d for c in on))

        def side(s, outer):
            if not outer:
                return s.columns
            return [Column(c.name, c.t, c.a, f"coalesce({c.d}, false)" if c.t == "bool" else
                           f"coalesce({c.d}, 0)" if c.name == "sh" else c.d, c.m) for c in s.columns]

        cols = side(left, kind in ("full join", "right join")) + side(right, kind in ("full join", "left join"))
        return Source(a, d, cols, False, left.rows * 3, False)

    # -- queries: (text here, text in DuckDB or None, rows in order?)
    def where(self, src, p=0.75):
        if self.r.random() >= p:
            return "", ""
        c = self.cond(src, self.r.randint(0, 3))
        return " where " + c.a, " where " + c.w

    def order(self, cols):
        """Orders by all columns, so that ties are equal rows. cols: [(number, type)]"""
        r = self.r
        cols = list(cols)
        r.shuffle(cols)
        a, d = [], []
        for n, t in cols:
            down = r.random() < 0.4
            first = (t != "dbl") != down  # doubles: NaN is the greatest; other nulls are the least
            a.append(f"{n}{' desc' if down else ''}")
            d.append(f"{n}{' desc' if down else ''} nulls {'first' if first else 'last'}")
        return " order by " + ", ".join(a), " order by " + ", ".join(d)

    def finish(self, a, d, types, big=False):
        """ORDER BY and LIMIT, or neither."""
        r = self.r
        sortable = all(t in ("int", "long", "dbl", "txt", "ts", "bool") for t in types)
        if sortable and (big or r.random() < 0.5):
            oa, od = self.order(list(enumerate(types, 1)))
            a, d = a + oa, d + od
            if big or r.random() < 0.5:
                n, m = r.randint(0, 20), r.randint(0, 10)
                if r.random() < 0.3:
                    return a + f" limit {m}, {m + n}", d + f" limit {n} offset {m}", True
                return a + f" limit {n}", d + f" limit {n}", True
            return a, d, True
        return a, d, False

    def items(self, exprs):
        self.out = [(f"c{k}", x.t) for k, x in enumerate(exprs)]
        return ", ".join(f"{x.a} c{k}" for k, x in enumerate(exprs)), ", ".join(f"{x.d} c{k}" for k, x in enumerate(exprs))

    def source(self):
        p = self.r.random()
        return self.relation("a") if p < 0.5 else self.joined() if p < 0.8 else self.derived("a")

    def q_select(self):
        src = self.source()
        exprs = [self.any(src, self.r.randint(0, 3)) for _ in range(self.r.randint(1, 5))]
        if self.r.random() < 0.4:
            c = self.r.choice(src.columns)
            exprs.append(E(c.t, c.a, f"coalesce({c.d}, '')" if c.t == "char" else c.d))
        wa, wd = self.where(src)
        ia, id_ = self.items(exprs)
        distinct = "distinct " if self.r.random() < 0.2 else ""
        return self.finish(f"select {distinct}{ia} from {src.a}{wa}", f"select {distinct}{id_} from {src.d}{wd}",
                           [x.t for x in exprs], src.rows > 5000)

    def aggregate(self, src):
        x = self.plain_aggregate(src)
        if self.r.random() < 0.15 and not x.a.startswith(("first", "last")):
            c = self.cond(src, 1)
            if "select" not in c.a:
                return E(x.t, f"{x.a} filter (where {c.a})", x.d.replace("::bigint", "") + f" filter (where {c.d})" + ("::bigint" if x.d.endswith("::bigint") else ""))
        return x

    def plain_aggregate(self, src):
        r = self.r
        kind = r.randrange(12)
        if kind == 0:
            return E("long", "count(*)", "count(*)")
        if kind == 1:
            x = self.any(src, 1)
            if x.t in ("bool",) or x.a[0] in "'0123456789(":
                return E("long", "count()", "count(*)")
            return E("long", f"count({x.a})", f"count({x.d})")
        if kind <= 3:
            x = self.expr(src, r.choice(["int", "long"]), 1)
            return E("long", f"sum({x.a})", f"sum({x.d})::bigint")
        if kind == 4:
            x = self.expr(src, "dbl", 1)
            return E("dbl", f"sum({x.a})", f"sum({x.d})")
        if kind == 5:
            x = self.expr(src, r.choice(["dbl", "int", "long"]), 1)
            return E("dbl", f"avg({x.a})", f"avg({x.d})")
        if kind <= 8:
            x, f = self.expr(src, r.choice(["int", "long", "dbl", "ts", "txt"]), 1), r.choice(["min", "max"])
            return E(x.t, f"{f}({x.a})", f"{f}({x.d})")
        if kind == 9:
            x = self.column(src, "int", "txt", "long", "ts", "uuid")
            if x is None:
                return E("long", "count(*)", "count(*)")
            return E("long", f"count_distinct({x.a})", f"count(distinct {x.d})")
        if kind == 10:
            x, f = self.leaf(src, "dbl"), r.choice(["stddev_samp", "var_samp", "stddev_pop", "var_pop"])
            return E("dbl~", f"{f}({x.a})", f"{f}({x.d})")
        if src.unique and src.ordered:
            c = self.r.choice([k for k in src.of("int", "dbl", "txt", "ts", "long") if k.name != "sh"])
            ts = next(k.d for k in src.columns if k.name == "ts")
            f, g = r.choice([("first", "arg_min_null"), ("last", "arg_max_null"), ("first_not_null", "arg_min"), ("last_not_null", "arg_max")])
            return E(c.t, f"{f}({c.a})", f"{g}({c.d}, {ts})")
        return E("long", "count(*)", "count(*)")

    def q_group(self):
        r = self.r
        src = self.source()
        keys = [self.leaf(src, r.choice(["txt", "txt", "int", "bool", "ts"])) if r.random() < 0.7 else self.any(src, 1)
                for _ in range(r.randint(0, 3))]
        keys = [k for k in keys if NAMES.search(k.a) and k.a[0] not in "'("]  # a constant is no key unless it is written
        aggs = [self.aggregate(src) for _ in range(r.randint(1, 4))]
        exprs = keys + aggs
        wa, wd = self.where(src)
        ia, id_ = self.items(exprs)
        written = [k.a for k in keys]
        if keys and r.random() < 0.3:  # called as some column is: GROUP BY means the alias
            names = [f"c{k}" for k in range(len(exprs))]
            for k in range(len(keys)):
                name = r.choice(src.columns).a.split(".")[-1]
                if name.isidentifier() and name not in names:
                    names[k] = written[k] = name
            if written != [k.a for k in keys]:
                self.tags.add("alias")
            ia, id_ = (", ".join(f"{t} {name}" for t, name in zip(texts, names)) for texts in ([x.a for x in exprs], [x.d for x in exprs]))
            self.out = [(name, x.t) for name, x in zip(names, exprs)]
        a, d = f"select {ia} from {src.a}{wa}", f"select {id_} from {src.d}{wd}"
        if keys:
            d += " group by " + ", ".join(str(k + 1) for k in range(len(keys)))
            # a coalesce of a constant is one, and a constant is no key unless it is written
            if r.random() < 0.6 or written != [k.a for k in keys] or any(CONSTANT_FIRST.search(k.a) for k in keys):
                a += " group by " + ", ".join(written)
                if r.random() < 0.3:
                    h = self.compare(r.choice(["<", ">", "=", "<>"]), E("long", "count(*)", "count(*)"), self.literal("int"))
                    a, d = a + " having " + h.a, d + " having " + h.d
        return self.finish(a, d, [x.t for x in exprs], False)

    def q_rollup(self):
        r = self.r
        src = self.relation("a")
        keys = [self.column(src, "txt") for _ in range(2)]
        if keys[0].a == keys[1].a:
            keys.pop()
        aggs = [self.aggregate(src) for _ in range(2)]
        wa, wd = self.where(src)
        ia, id_ = self.items(keys + aggs)
        how = r.choice(["rollup", "cube"])
        return (f"select {ia} from {src.a}{wa} group by {how}({', '.join(k.a for k in keys)})",
                f"select {id_} from {src.d}{wd} group by {how}({', '.join(k.d for k in keys)})", False)

    def q_set(self):
        r = self.r
        types = [r.choice(["int", "dbl", "txt", "ts", "long"]) for _ in range(r.randint(1, 3))]

        def part():
            src = self.relation("a", small=True)
            xs = [self.expr(src, t, 1) for t in types]
            ia, id_ = self.items(xs)
            wa, wd = self.where(src)
            return f"select {ia} from {src.a}{wa}", f"select {id_} from {src.d}{wd}"

        a, d = part()
        for _ in range(r.randint(1, 2)):
            op = r.choice(["union", "union all", "except", "intersect"])
            x, y = part()
            a, d = f"({a}) {op} ({x})", f"({d}) {op} ({y})"
        self.out = [(f"c{k}", t) for k, t in enumerate(types)]
        return self.finish(f"select * from ({a})", f"select * from ({d})", types, False)

    def window_frame(self):
        r = self.r
        side = lambda word: r.choice([f"{r.randint(0, 5)} {word}", f"unbounded {word}", "current row"])
        kind = r.randrange(5)
        if kind == 0:
            return "", ""
        if kind <= 3:
            lo, hi = side("preceding"), r.choice(["current row", side("following"), "1 preceding"])
            if hi == "1 preceding" and lo == "current row":
                lo = "3 preceding"
            if lo == "0 preceding" and hi == "1 preceding":
                lo = "2 preceding"
            f = f" rows between {lo} and {hi}" + (r.choice([" exclude current row", " exclude no others", " exclude group"]) if r.random() < 0.15 else "")
            return f, f
        if r.random() < 0.4:
            f = f" groups between {r.randint(0, 3)} preceding and {r.choice(['current row', '1 following', 'unbounded following'])}"
            f += r.choice(["", " exclude current row", " exclude ties", " exclude group"])
            return f, f
        n, (u, word) = r.randint(1, 90), r.choice([("second", "second"), ("minute", "minute"), ("hour", "hour")])
        return f" range between {n} {u} preceding and current row", f" range between interval {n} {word} preceding and current row"

    def window(self, src):
        r = self.r
        part = self.column(src, "txt", "bool") if r.random() < 0.6 else None
        ts = next(c for c in src.columns if c.name == "ts")
        over = lambda f, frame: E(None, f"{f} over ({'partition by ' + part.a + ' ' if part else ''}order by {ts.a}{frame[0]})",
                                  f"{f} over ({'partition by ' + part.d + ' ' if part else ''}order by {ts.d}{frame[1]})")
        kind = r.randrange(8)
        if kind == 0:
            f = r.choice(["row_number()", "rank()", "dense_rank()", f"ntile({r.randint(1, 7)})"])
            x = over(f, ("", ""))
            return E("long", x.a, x.d)
        if kind == 6:
            x = over(r.choice(["percent_rank()", "cume_dist()"]), ("", ""))
            return E("dbl", x.a, x.d)
        c = self.column(src, "dbl", "int", "long")
        frame = self.window_frame()

        def both(fa, fd, t):
            head = lambda p, o, fr: f" over ({'partition by ' + p + ' ' if p else ''}order by {o}{fr})"
            return E(t, fa + head(part and part.a, ts.a, frame[0]), fd + head(part and part.d, ts.d, frame[1]))

        if kind == 7:
            n = r.randint(1, 4)
            return both(f"nth_value({c.a}, {n})", f"nth_value({c.d}, {n})", c.t)
        if kind == 1:
            n, f = r.randint(1, 4), r.choice(["lag", "lead"])
            frame = ("", "")
            return both(f"{f}({c.a}, {n})", f"{f}({c.d}, {n})", c.t)
        if kind == 2:
            f = r.choice(["first_value", "last_value"])
            if r.random() < 0.3 and "exclude" not in frame[0]:
                return both(f"{f}({c.a}) ignore nulls", f"{f}({c.d} ignore nulls)", c.t)
            return both(f"{f}({c.a})", f"{f}({c.d})", c.t)
        f = r.choice(["sum", "avg", "min", "max", "count"])
        if f == "count":
            return both(f"count({c.a})", f"count({c.d})", "long")
        return both(f"{f}({c.a})", f"{f}({c.d})", "dbl" if f in ("sum", "avg") or c.t == "dbl" else "long")

    def q_window(self):
        r = self.r
        src = self.relation("a", small=True, unique=True)
        exprs = [E("long", "a.id", "a.id")] + [self.window(src) for _ in range(r.randint(1, 3))]
        if r.random() < 0.4:
            exprs.append(self.any(src, 1))
        wa, wd = self.where(src, 0.4)
        ia, id_ = self.items(exprs)
        if r.random() < 0.3:
            return (f"select * from (select {ia} from {src.a}{wa}) where c1 is not null",
                    f"select * from (select {id_} from {src.d}{wd}) where c1 is not null", False)
        return self.finish(f"select {ia} from {src.a}{wa}", f"select {id_} from {src.d}{wd}", [x.t for x in exprs])

    def q_sample(self):
        r = self.r
        src = self.relation("a", unique=True)
        ts = next(c for c in src.columns if c.name == "ts")
        step, us = r.choice(STEPS[2:] if src.rows > 5000 else STEPS)
        keys = [k for k in [self.column(src, "txt")] if r.random() < 0.5]
        aggs = [self.aggregate(src) for _ in range(r.randint(1, 3))]
        wa, wd = self.where(src, 0.5)
        exprs = [E("ts", ts.a, f"floor_ts({ts.d}, {us})")] + keys + aggs
        ia, id_ = self.items(exprs)
        fill = r.choice(["", "", " fill(none)", " fill(null)", " fill(prev)", " fill(0)" if len(aggs) == 1 else "", " fill(linear)"])
        a = f"select {ia} from {src.a}{wa} sample by {step}{fill}"
        d = f"select {id_} from {src.d}{wd} group by {', '.join(str(k + 1) for k in range(1 + len(keys)))}"
        if fill == " fill(linear)" and any(x.t in ("txt", "ts") for x in aggs):
            a, fill = a.replace(fill, " fill(null)"), " fill(null)"
        if fill in (" fill(prev)", " fill(linear)", " fill(0)"):
            if us < 10**9:  # tables span months: too many buckets to read
                return a.replace(fill, ""), d, False
            if fill == " fill(0)" and aggs[0].t in ("txt", "ts"):
                return a.replace(fill, ""), d, False
            return a, None, False
        if fill == " fill(null)":
            if us < 10**9 * 10:
                return a.replace(fill, ""), d, False
            names = ", ".join(f"c{k}" for k in range(1 + len(keys), len(exprs)))
            key = ", c1" if keys else ""
            d = (f"with g as ({d}), buckets as (select unnest(generate_series(min(c0), max(c0), interval ({us}) microseconds)) c0 from g), "
                 f"k as (select distinct 1 one{key} from g) select buckets.c0{', k.c1' if keys else ''}, {names} from buckets, k "
                 f"left join g on g.c0 = buckets.c0{' and g.c1 is not distinct from k.c1' if keys else ''}")
            d = d.replace("from buckets, k left join", "from (select buckets.c0 b0" + (", k.c1 k1" if keys else "") + " from buckets, k) bk left join")
            d = d.replace("select buckets.c0" + (", k.c1" if keys else "") + f", {names}", "select b0 c0" + (", k1 c1" if keys else "") + f", {names}")
            d = d.replace("on g.c0 = buckets.c0", "on g.c0 = bk.b0").replace("distinct from k.c1", "distinct from bk.k1")
        return a, d, False

    def q_asof(self):
        r = self.r
        left, right = self.relation("a", small=True), self.relation("b", small=True, unique=True)
        keyed, kind, tol = r.random() < 0.6, r.choice(["asof", "lt"]), r.random() < 0.25
        seconds = r.choice([1, 60, 3600])
        xs = [E("long", "a.id", "a.id")]
        for c in r.sample(right.columns, 3):
            d = c.d
            if tol:
                d = f"case when a.ts - b.ts <= interval {seconds} second then {d} end"
            if c.name in ("b", "sh", "ch"):  # no null there
                d = f"coalesce({d}, {'false' if c.name == 'b' else '0' if c.name == 'sh' else quote('')})"
            xs.append(E(c.t, c.a, d))
        key = r.choice(["sym", "key", "s"])
        ia, id_ = self.items(xs)
        op = ">=" if kind == "asof" else ">"
        a = f"select {ia} from {left.a} {kind} join {right.a}" + (f" on (a.{key} = b.{key})" if keyed else "") + (f" tolerance {seconds}s" if tol else "")
        d = f"select {id_} from {left.d} asof left join {right.d} on a.ts {op} b.ts" + (f" and coalesce(a.{key}, '~') = coalesce(b.{key}, '~')" if keyed else "")
        if r.random() < 0.4:
            c = self.cond(left, 1)
            a, d = a + " where " + c.a, d + " where " + c.w
        return a, d, False

    def q_latest(self):
        r = self.r
        src = self.relation("a", unique=True)
        keys = r.sample(["sym", "key", "b"], r.randint(1, 2))
        cols = [c for c in src.columns if c.name in ("ts", "id", "sym", "i", "d", "s")]
        wa, wd = self.where(src, 0.5)
        names = ", ".join(c.a for c in cols)
        self.out = [(c.name, c.t) for c in cols]
        a = f"select {names} from {src.a}{wa} latest on ts partition by {', '.join(keys)}"
        d = (f"select {', '.join(c.name for c in cols)} from (select a.*, row_number() over (partition by {', '.join('a.' + k for k in keys)} "
             f"order by a.ts desc) rn from {src.d}{wd}) where rn = 1")
        return a, d, False

    def q_join3(self):
        r = self.r
        a, b, c = (self.relation(n, small=True) for n in "abc")
        k1, k2 = r.choice(["sym", "i", "key"]), r.choice(["key", "i", "s"])
        j1, j2 = r.choice(["join", "left join"]), r.choice(["join", "left join"])
        on1 = f"a.{k1} is not distinct from b.{k1}"
        on2 = f"{r.choice('ab')}.{k2} is not distinct from c.{k2}"
        xs = [E("long", "count(*)", "count(*)")]
        for f, s in (("sum", r.choice([b, c])), ("max", r.choice([a, b, c]))):
            x = r.choice([k for k in s.of("int", "long", "dbl") if k.name != "sh"])
            xs.append(E("long" if x.t != "dbl" else "dbl", f"{f}({x.a})", f"{f}({x.d})" + ("::bigint" if x.t != "dbl" else "")))
        ia, id_ = self.items(xs)
        w = self.cond(a, 1)
        eq = lambda on: on.replace("is not distinct from", "=")
        return (f"select {ia} from {a.a} {j1} {b.a} on {eq(on1)} {j2} {c.a} on {eq(on2)} where {w.a}",
                f"select {id_} from {a.d} {j1} {b.d} on {on1} {j2} {c.d} on {on2} where {w.w}", False)

    def q_cte(self):
        r = self.r
        src = self.relation("a", small=True)
        c, k = self.cond(src, 1), r.choice(["sym", "key", "s"])
        inner = lambda w, f: f"with q as (select a.{k} k, a.i i, a.d d from {f} where {w}) "
        outs = r.randrange(4)
        self.out = [[("k", "txt"), ("i", "int"), ("d", "dbl")], [("k", "txt"), ("c", "long"), ("s", "long")], [("k", "txt"), ("m", "dbl")], [("i", "int"), ("d", "dbl")]][outs]
        tail = [
            ("select x.k, x.i, y.d from q x join q y on x.k = y.k and x.i = y.i", "select x.k, x.i, y.d from q x join q y on x.k is not distinct from y.k and x.i is not distinct from y.i"),
            ("select k, count(*) c, sum(i) s from q where i > (select avg(i) from q) group by k", "select k, count(*) c, sum(i)::bigint s from q where coalesce(i > (select avg(i) from q), false) group by k"),
            ("select * from (select k, max(d) m from q group by k) where m in (select d from q where i > 10)",
             "select * from (select k, max(d) m from q group by k) t where exists (select 1 from q where coalesce(i > 10, false) and q.d is not distinct from t.m)"),
            ("select i, d from q union select i + 1, d from q", "select i, d from q union select i + 1, d from q")][outs]
        return inner(c.a, src.a) + tail[0], inner(c.w, src.d) + tail[1], False

    def q_scalar(self):
        """Subqueries with outer columns in the list."""
        r = self.r
        a, b = self.relation("a", small=True), self.relation("b", small=True)
        k = r.choice(["sym", "key", "i"])
        c = self.cond(b, 0)
        xs = [E("long", "a.id", "a.id")]
        for _ in range(r.randint(1, 2)):
            f, col = r.choice(["sum", "max", "min"]), r.choice(["d", "i", "f"])
            cast = "::bigint" if col == "i" else ""
            more = r.choice(["", "", " and b.d > a.d"])
            xs.append(E("dbl", f"(select {f}(b.{col}) from {b.a} where b.{k} = a.{k} and {c.a}{more})",
                        f"(select {f}(b.{col}){cast} from {b.d} where b.{k} is not distinct from a.{k} and {c.w}{more})"))
        if r.random() < 0.5:
            xs.append(E("long", f"(select count(*) from {b.a} where b.{k} = a.{k})", f"(select count(*) from {b.d} where b.{k} is not distinct from a.{k})"))
        ia, id_ = self.items(xs)
        wa, wd = self.where(a, 0.5)
        return f"select {ia} from {a.a}{wa}", f"select {id_} from {a.d}{wd}", False

    def q_interval(self):
        r = self.r
        src = self.relation("a")
        day = BASE + r.randint(0, 6) * DAY
        iso = ts_text(day)[:10]
        lo, hi, text = r.choice([(day, day + DAY, iso), (day, day + DAY // 24, iso + "T00"), (day, day + 3 * DAY, iso + ";2d"),
                                 (day + 3600 * 10**6 * 5, day + 3600 * 10**6 * 6, iso + "T05"), (BASE, BASE + 31 * DAY, "2024-01")])
        no = r.random() < 0.2
        t = lambda v: f"timestamp '{ts_text(v)[:-1]}'"
        xs = [E("long", "count(*)", "count(*)")] + [self.aggregate(src) for _ in range(2)]
        ia, id_ = self.items(xs)
        more = self.cond(src, 1)
        d = f"(a.ts >= {t(lo)} and a.ts < {t(hi)})"
        op = r.choice(["and", "and", "or"])
        return (f"select {ia} from {src.a} where a.ts {'not ' if no else ''}in '{text}' {op} {more.a}",
                f"select {id_} from {src.d} where {'not ' if no else ''}{d} {op} {more.w}", False)

    def q_keys(self):
        """Grouping, joining and counting by the other types."""
        r = self.r
        src = self.relation("a", small=True)
        k = r.choice(["u", "ip", "de", "ch", "ts2", "b"])
        show = (lambda c: f"coalesce({c}, '')") if k == "ch" else (lambda c: c)
        wa, wd = self.where(src, 0.5)
        kind = r.randrange(4)
        self.out = [[("k", "ts" if k == "ts2" else "bool" if k == "b" else k), ("n", "long"), ("s", "long"), ("m", "dbl")], [], [("n", "long"), ("s", "long")],
                    [("n", "long")]][kind]
        if kind == 0:
            return (f"select a.{k} k, count(*) n, sum(a.i) s, min(a.d) m from {src.a}{wa} group by a.{k}",
                    f"select {show('a.' + k)} k, count(*) n, sum(a.i)::bigint s, min(a.d) m from {src.d}{wd} group by a.{k}", False)
        if kind == 1:
            return f"select distinct a.{k} from {src.a}{wa}", f"select distinct {show('a.' + k)} from {src.d}{wd}", False
        if kind == 2:
            b = self.relation("b", small=True)
            return (f"select count(*) n, sum(b.i) s from {src.a} join {b.a} on a.{k} = b.{k}{wa}",
                    f"select count(*) n, sum(b.i)::bigint s from {src.d} join {b.d} on a.{k} is not distinct from b.{k}{wd}", False)
        v = r.choice(["0.00", "12.5", "-7.25", "50"])
        op = r.choice(["<", ">", "<=", ">="])
        c = {"<": f"coalesce(a.de < {v}, false)", ">": f"coalesce(a.de > {v}, false)", "<=": f"coalesce(a.de <= {v}, false)", ">=": f"coalesce(a.de >= {v}, false)"}[op]
        return (f"select sum(a.de) s, min(a.de) m, max(a.de) x, count(a.de) n from {src.a} where a.de {op} {v}m",
                f"select sum(a.de) s, min(a.de) m, max(a.de) x, count(a.de) n from {src.d} where {c}", False)

    def q_distinct_on(self):
        r = self.r
        src = self.relation("a", small=True, unique=True)
        k = r.choice(["sym", "key"])
        down = r.random() < 0.5
        wa, wd = self.where(src, 0.5)
        self.out = [("k", "txt"), ("c", "long"), ("e", "dbl")]
        return (f"select distinct on (a.{k}) a.{k} k, a.id c, a.d e from {src.a}{wa} order by a.{k}, a.ts{' desc' if down else ''}",
                f"select distinct on (a.{k}) a.{k} k, a.id c, a.d e from {src.d}{wd} order by a.{k} nulls first, a.ts{' desc' if down else ''}", False)

    def q_qualify(self):
        r = self.r
        src = self.relation("a", small=True, unique=True)
        k, f, n = r.choice(["sym", "key", "b"]), r.choice(["row_number()", "rank()", "count(*)", "ntile(3)"]), r.randint(1, 4)
        wa, wd = self.where(src, 0.5)
        tail = f" qualify {f} over (partition by a.{k} order by a.ts{r.choice(['', ' desc'])}) {r.choice(['<=', '=', '>'])} {n}"
        self.out = [("id", "long"), (k, "bool" if k == "b" else "txt")]
        return f"select a.id, a.{k} from {src.a}{wa}{tail}", f"select a.id, a.{k} from {src.d}{wd}{tail}", False

    def q_lateral(self):
        r = self.r
        a, b = self.relation("a", small=True), self.relation("b", small=True, unique=True)
        k, n, left = r.choice(["sym", "key"]), r.randint(1, 3), r.random() < 0.5
        d = r.choice(["", " desc"])
        inner = lambda f, eq: f"(select b.id bid, b.d bd from {f} where {eq} order by b.ts{d} limit {n})"
        j = "left join lateral" if left else "cross join lateral"
        on = " on true" if left else ""
        self.out = [("id", "long"), ("bid", "long"), ("bd", "dbl")]
        return (f"select a.id, l.bid, l.bd from {a.a} {j} {inner(b.a, f'b.{k} = a.{k}')} l{on}",
                f"select a.id, l.bid, l.bd from {a.d} {j} {inner(b.d, f'b.{k} is not distinct from a.{k}')} l{on}", False)

    def q_self(self):
        """What DuckDB has no words for."""
        r = self.r
        left, right = self.relation("a", small=True, unique=True), self.relation("b", small=True, unique=True)
        kind = r.randrange(5)
        self.out = [[("aid", "long"), ("bid", "long")], [("i", "int"), ("d", "dbl")], [("sym", "txt"), ("f", "dbl")], [("n", "long"), ("s", "dbl")],
                    [("id", "long"), ("s", "dbl"), ("n", "long")]][kind]
        if kind == 0:
            return f"select a.id aid, b.id bid, a.ts from {left.a} splice join {right.a}" + (" on (sym)" if r.random() < 0.5 else ""), None, False
        if kind == 1:
            return f"select ts, i, d from {left.a} limit -{r.randint(1, 30)}", None, True
        if kind == 2:
            f = r.choice(["ksum", "nsum", "mode", "count_distinct"])
            c = self.column(left, "dbl") if f in ("ksum", "nsum") else self.column(left, "long")
            return f"select a.sym, {f}({c.a}) f from {left.a}", None, False
        if kind == 3:
            day = ts_text(BASE + r.randint(0, 3) * DAY)[:10]
            return f"select count() n, min(ts), max(ts), sum(d) s from {left.a} where ts in '{day}{r.choice(['', ';2d', 'T00;1h'])}'", None, False
        return f"select a.ts, a.id, sum(b.d) s, count() n from {left.a} window join {right.a} on (sym) range between {r.randint(1, 60)} minutes preceding and {r.randint(0, 9)} minutes following include prevailing", None, False

    SHAPES = [("select", 9), ("group", 7), ("set", 2), ("window", 5), ("sample", 4), ("asof", 3), ("latest", 2), ("rollup", 1), ("self", 2),
              ("join3", 2), ("cte", 2), ("scalar", 2), ("interval", 2), ("keys", 2), ("distinct_on", 1), ("qualify", 1), ("lateral", 1)]

    def query(self):
        shape = self.r.choices([s for s, _ in self.SHAPES], [w for _, w in self.SHAPES])[0]
        a, d, ordered = getattr(self, "q_" + shape)()
        return shape, a, d, ordered
