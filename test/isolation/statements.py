"""The statements of the clients: their texts, what they read and write, and what their answers tell.

Lists grow by INSERT and line protocol (tables l0, l1; each key has one time, and rows of equal time stand in the order of their commits) or by UPDATE
of a text (u0). Registers are written by rows of a table with DEDUP UPSERT KEYS (d0), by UPDATE (r0), or by DELETE and INSERT (x0).

The elements of two lists are made of what was read of other tables: rows of INSERT SELECT (f0), parts of a text of UPDATE ... FROM (g0). Each part is
`element:table:key:value`, and a row without a table says that nothing of the others is missing.

Further lists lose all elements now and then (changes.py): by TRUNCATE and DROP PARTITION (z0, z1), DROP TABLE (t0), and DROP COLUMN of w0 of c0, which
grows by INSERT, and of w1 of c1, which grows by UPDATE. While a table or a column is gone, statements that name it are refused.
"""
import re

from history import DAYS, READ, REFRESH, UPDATE, VIEW, WRITE

TABLES = {"l0": "list", "l1": "list", "u0": "list", "d0": "register", "r0": "register", "x0": "register", "f0": "list", "g0": "list",
          "z0": "list", "z1": "list", "t0": "list", "c0": "list", "c1": "list"}
LINES = ("l0", "l1", "d0", "z0", "z1")  # line protocol adds rows; it would also make a table that is gone
INSERTED = (*LINES, "l0", "l1", "t0", "c0")
MADE = {"u0": "''", "r0": "null", "x0": "null", "g0": "''", "c1": "''"}  # each key has a row from the beginning
COLUMN = {"c0": "w0", "c1": "w1"}  # of the value, else v
TEXTS = ("u0", "f0", "g0", "c1")  # whose values are texts
CARRIED = ("f0", "g0")
GOING = {"t0": "t0", "w0": "c0", "w1": "c1"}  # names that are gone now and then, and their tables
STEADY = tuple(t for t in TABLES if t not in GOING.values())
VIEWS = {"v_l0": "l0", "v_u0": "u0", "v_d0": "d0", "v_z0": "z0"}
START_S = 1_767_225_600  # 2026-01-01


def seconds_of(number):
    """Each key has one time, and neighbours are in different partitions."""
    return START_S + number % DAYS * 86400 + number


def time_of(key):
    return seconds_of(key[2]) * 1_000_000


# ---------------------------------------------------------------------------------- tables
def column_of(table):
    return COLUMN.get(table, "v")


def create_table(server, t):
    kind = "varchar" if t in TEXTS else "long"
    dedup = " dedup upsert keys(ts, k)" if t == "d0" else ""
    server.exec(f"create table {t} (ts timestamp, k long, {column_of(t)} {kind}) timestamp(ts) partition by day{dedup}")


def create(server, made, more=0, views=False):
    """`more`: rows that no key has, so that statements over the table run on several threads, and beside others."""
    for t in VIEWS:
        server.exec(f"drop materialized view if exists {t}")
    for t in TABLES:
        server.exec(f"drop table if exists {t}")
        create_table(server, t)
    for t, v in MADE.items():
        server.exec(f"insert into {t} select (({START_S} + (x - 1) % {DAYS} * 86400 + x - 1) * 1000000)::timestamp, x - 1, {v} from long_sequence({made})")
    for t in LINES if more else ():
        server.exec(f"insert into {t} select (({START_S} + x % {DAYS * 86400}) * 1000000)::timestamp, -x, x from long_sequence({more})")
    for view, t in VIEWS.items() if views else ():
        value = "last(v)" if t in TEXTS or TABLES[t] == "register" else "string_agg(v::varchar, ',')"
        how = "immediate" if t in ("l0", "u0") else "manual"
        server.exec(f"create materialized view {view} refresh {how} as (select ts, k, {value} v from {t} where k >= 0 sample by 1s) partition by day")


def missing_in(text):
    """The table that a message says is missing, or whose column is."""
    found = re.search(r"table does not exist \[table=(\w+)\]|Invalid column: (?:\w+\.)?(\w+)", text)
    return found and GOING.get(found[1] or found[2])


# --------------------------------------------------------------------------------- answers
def part_of(table, where):
    value = column_of(table)
    there = f" and {value} is not null" if value != "v" else ""
    return f"select '{table}' t, k, {value}::varchar v from {table} where {where}{there}"


def select(keys):
    by_table = {}
    for _, table, number in sorted(keys):
        by_table.setdefault(table, []).append(str(number))
    return " union all ".join(part_of(t, f"k in ({', '.join(n)})") for t, n in by_table.items())


def elements(text):
    return [int(x) for x in text.replace(" ", ",").split(",") if x]


def read_of(keys, rows):
    """{key: value} of the rows of such a statement, and {(key, element): rows that the element carries}."""
    found, carried = {key: [] for key in keys}, {}
    for table, number, text in rows:
        key = TABLES[table], table, int(number)
        values = found.setdefault(key, [])
        if table not in CARRIED:
            values += elements(text or "")
            continue
        for one in filter(None, (text or "").split(";")):
            element, t, n, value = one.split(":")
            if values[-1:] != [int(element)]:
                values.append(int(element))
            carried.setdefault((key, int(element)), []).append((t, n, value))
    one = lambda v: tuple(v) if len(v) > 1 else v[0] if v else None  # the checker complains of a register with several rows
    return {key: tuple(found[key]) if key[0] == "list" else one(found[key]) for key in keys}, carried


class Asked:
    """A statement to be, or two that belong together: their texts, what a COPY sends, and how the rows of the last become reads."""

    def __init__(self, kind, sql, keys=(), writes=(), copied=None, of=()):
        self.kind, self.keys, self.writes, self.copied, self.of = kind, list(keys), list(writes), copied, list(of)
        self.texts = sql.split("; ")

    @property
    def sql(self):
        return "; ".join(self.texts)

    def tell(self, world, s, rows):
        """What the rows say goes to the statement of the history; what an element carries only when it is news."""
        if not rows and not self.keys or rows is None:
            return
        s.reads, carried = read_of(self.keys, rows)
        for at, parts in carried.items():
            copy, _ = read_of(world.sources.get(at, ()), [part for part in parts if part[0]])
            if world.told.setdefault(at, copy) is copy or copy != world.told[at]:
                s.copies[at] = copy


def rows_of(asked, answers):
    """Of the answers to all texts those to the last text of each."""
    at, out = -1, []
    for a in asked:
        at += len(a.texts)
        out.append(answers[at])
    return out


# ------------------------------------------------------------------------------- statements
def some_keys(world, rng, numbers=(1, 2, 4, 8)):
    tables = STEADY if rng.random() < 0.7 else tuple(TABLES)
    return {world.key(rng, rng.choice(tables)) for _ in range(rng.choice(numbers))}


def a_select(world, rng):
    keys = some_keys(world, rng)
    return Asked(READ, select(keys), keys)


def select_view(view, keys):
    numbers = ", ".join(str(k[2]) for k in keys)
    return Asked(VIEW, f"select '{VIEWS[view]}' t, k, v::varchar v from {view} where k in ({numbers})", keys, of=[(view, None)])


def a_view(world, rng):
    view = rng.choice(tuple(VIEWS))
    return select_view(view, sorted({world.key(rng, VIEWS[view]) for _ in range(rng.choice((2, 4, 8)))}))


def a_refresh(view, how):
    return Asked(REFRESH, f"refresh materialized view {view} {how}", of=[(view, None)])


def an_insert(world, rng):
    table = rng.choice(INSERTED)
    writes = {world.key(rng, table): world.value() for _ in range(rng.choice((1, 1, 2, 3)))}
    rows = [f"({time_of(k)}, {k[2]}, {v})" for k, v in writes.items()]
    return Asked(WRITE, f"insert into {table} (ts, k, {column_of(table)}) values {', '.join(rows)}", (), writes.items())


def a_copy(world, rng):
    a = an_insert(world, rng)
    table = a.writes[0][0][1]
    data = "".join(f"{time_of(k)},{k[2]},{v}\n" for k, v in a.writes)
    return Asked(WRITE, f"copy {table} (ts, k, {column_of(table)}) from stdin with csv", (), a.writes, data.encode())


def an_append(world, rng, table="u0"):
    base, v = world.value() * 10_000, column_of(table)  # the key makes a value of it
    keys = sorted({world.key(rng, table) for _ in range(rng.choice((1, 1, 1, 3)))})
    where = ", ".join(str(k[2]) for k in keys)
    sql = f"update {table} set {v} = coalesce({v}, '') || ',' || ({base} + k) where k in ({where}) returning '{table}' t, k, {v}"
    return Asked(UPDATE, sql, keys, [(k, base + k[2]) for k in keys])


def an_append_to_a_column(world, rng):
    return an_append(world, rng, "c1")


def an_update(world, rng):
    key, value = world.key(rng, "r0"), world.value()
    return Asked(WRITE, f"update r0 set v = {value} where k = {key[2]}", (), [(key, value)])


def a_replacement(world, rng):
    key, value = world.key(rng, "x0"), world.value()
    return Asked(WRITE, f"delete from x0 where k = {key[2]}; insert into x0 values ({time_of(key)}, {key[2]}, {value})", (), [(key, value)])


def insert_select(key, value, parts, returning):
    """Rows of other tables as rows of f0."""
    sql = (f"insert into f0 select {time_of(key)}::timestamp, {key[2]}, '{value}:' || t || ':' || k || ':' || coalesce(v, '') from ({parts})"
           f" union all select {time_of(key)}::timestamp, {key[2]}, '{value}:::' from long_sequence(1)")
    return Asked(WRITE, sql + (" returning 'f0' t, k, v" if returning else ""), (), [(key, value)])


def an_insert_select(world, rng):
    """What it copies is told by RETURNING, or by whoever reads it."""
    sources = {k for k in some_keys(world, rng, (1, 2, 3, 5)) if k[1] not in CARRIED} or {world.key(rng, "l0"), world.key(rng, "u0")}
    key, value = world.key(rng, "f0"), world.value()
    world.sources[key, value] = sorted(sources)
    return insert_select(key, value, select(sources), rng.random() < 0.3)


def an_update_from(world, rng):
    source = world.key(rng, rng.choice(("u0", "r0", "x0")))
    key, value = world.key(rng, "g0"), world.value()
    world.sources[key, value] = [source]
    t, n = source[1:]
    text = f"g0.v || ';{value}:{t}:{n}:' || coalesce(replace({t}.v::varchar, ',', ' '), '')"
    return Asked(UPDATE, f"update g0 set v = {text} from {t} where g0.k = {key[2]} and {t}.k = {n} returning 'g0' t, g0.k, g0.v", [key], [(key, value)])


def any_statement(world, rng, reads=0.4):
    if rng.random() < reads:
        return (a_view if world.views and rng.random() < 0.2 else a_select)(world, rng)
    make = rng.choices((an_insert, an_append, an_append_to_a_column, an_insert_select, an_update_from, an_update, a_replacement), (12, 6, 2, 4, 4, 2, 2))[0]
    return make(world, rng)
