"""What Npgsql 6 to 9 sends, message by message, and whether the answers are what its reader expects: there is no .NET here.

Start-up with an SSLRequest; the types of the database in one text of four queries (those of ../../pg/catalog.case);
commands as Parse, Bind with all results in binary, Describe, Execute, Sync; BEGIN and the reset of a pooled connection
as a query in front of the next command, in one write; batches with one Sync; binary COPY.
"""
import datetime as dt, decimal, pathlib, re, socket, ssl, struct, uuid

from lib import pgclient
from lib.pgclient import SYNC, Wire, bind, cells, describe, execute, fields, msg, parse, query
from harness import (CA, COLUMNS, DATABASE, HOST, NULLS, PASSWORD, PORT, TYPES, USER, bounded, check, expect, in_threads, later, main,
                     table, types_ddl)

CASES = pathlib.Path(__file__).resolve().parent.parent.parent / "pg" / "catalog.case"
SLOW = "select sum(x % 7) from long_sequence(1000000000000)"
EPOCH = dt.datetime(2000, 1, 1)
decimal.getcontext().prec = 100
SSL_REQUEST = struct.pack("!II", 8, 80877103)


# ----------------------------------------------------------------------------- the connector
class Connector(Wire):
    """A connection as Npgsql opens it: SSLRequest, start-up, types."""

    def __init__(self, context=None, user=USER, password=PASSWORD, options=()):
        super().__init__(f"{HOST}:{PORT}", login=False)
        self.send(SSL_REQUEST)
        expect(self.take(1), b"S", "answer to SSLRequest")
        if context is None:  # SslMode=Disable asks nothing: a new socket
            self.s.close()
            self.s = socket.create_connection((HOST, PORT), timeout=60)
            self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.s = context.wrap_socket(self.s, server_hostname=HOST)
        self.send(pgclient.startup([("user", user), ("client_encoding", "UTF8"), ("database", DATABASE), ("application_name", "npgsql"), *options]))
        self.login(password)

    def command(self, sql, *params, oids=None, name="", before=()):
        """ExecuteReader: (columns [(name, oid, format)], rows [bytes], tag); `before` are messages in front, in the same write."""
        oids = oids or [p[0] for p in params]
        return self.run([*before, parse(name, sql, oids), bind("", name, [p[1] for p in params], [1] * len(params), [1]), describe("P"), execute(), SYNC], len(before))

    def run(self, messages, queries=0):
        self.send(*messages)
        for _ in range(queries):  # answers of what was put in front
            expect(self.until_ready()[-1][0], "Z")
        return answer(self.until_ready())

    def scalar(self, sql, *params, **more):
        columns, rows, _ = self.command(sql, *params, **more)
        return decode(columns[0][1], rows[0][0])

    def simple(self, sql):
        out = self.ask(query(sql))
        for kind, body in out:
            if kind == "E":
                raise Refused(fields(body))
        return out


class Refused(Exception):
    def __init__(self, fields):
        super().__init__(str(fields))
        self.fields, self.state = fields, fields["C"]


def columns_of(body):
    out, at = [], 2
    for _ in range(struct.unpack_from("!H", body)[0]):
        end = body.index(b"\0", at)
        name, (_, _, oid, _, _, form) = body[at:end].decode(), struct.unpack_from("!IhIhih", body, end + 1)
        out.append((name, oid, form))
        at = end + 19
    return out


def answer(messages):
    """One command: ParseComplete, BindComplete, RowDescription or NoData, rows, CommandComplete, ReadyForQuery, in this order."""
    kinds = "".join(k for k, _ in messages)
    for kind, body in messages:
        if kind == "E":
            raise Refused(fields(body))
    expect(re.fullmatch("1?2(TD*|n)(C|s|I)Z", kinds) is not None, True, kinds[:100])
    columns = columns_of(next((b for k, b in messages if k == "T"), b"\0\0"))
    tag = next((b[:-1].decode() for k, b in messages if k == "C"), "")
    return columns, [cells(b) for k, b in messages if k == "D"], tag


# ----------------------------------------------------------------------------- values in binary
def numeric(value):
    sign, digits, exponent = value.as_tuple()
    scale = max(-exponent, 0)
    text = "".join(map(str, digits)) + "0" * max(exponent, 0)
    whole, fraction = (text[:-scale] or "0", text[-scale:].rjust(scale, "0")) if scale else (text, "")
    whole, fraction = whole.rjust(-(-len(whole) // 4) * 4, "0"), fraction.ljust(-(-len(fraction) // 4) * 4, "0")
    groups = [int((whole + fraction)[i:i + 4]) for i in range(0, len(whole + fraction), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups = groups[:-1]
    return struct.pack(f"!HhHH{len(groups)}H", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale, *groups)


def from_numeric(b):
    n, weight, sign, scale = struct.unpack_from("!HhHH", b)
    groups = struct.unpack_from(f"!{n}H", b, 8)
    value = sum((decimal.Decimal(g).scaleb(4 * (weight - i)) for i, g in enumerate(groups)), decimal.Decimal(0))
    return (-value if sign else value).quantize(decimal.Decimal(1).scaleb(-scale))


def array(value):
    shape, flat = [], value
    while isinstance(flat, list) and (flat or not shape):
        shape, flat = shape + [len(flat)], flat[0] if flat else None
    leaves = lambda v: [y for x in v for y in leaves(x)] if isinstance(v, list) else [v]
    out = struct.pack("!iii", 0 if shape == [0] else len(shape), int(None in leaves(value)), 701)
    if shape != [0]:
        out += b"".join(struct.pack("!ii", n, 1) for n in shape)
        out += b"".join(b"\xff\xff\xff\xff" if x is None else struct.pack("!id", 8, x) for x in leaves(value))
    return out


def from_array(b):
    dims, _, oid = struct.unpack_from("!iii", b)
    expect(oid, 701, "element type")
    shape = [struct.unpack_from("!i", b, 12 + 8 * i)[0] for i in range(dims)]
    at, flat = 12 + 8 * dims, []
    while at < len(b):
        n = struct.unpack_from("!i", b, at)[0]
        flat.append(None if n < 0 else struct.unpack_from("!d", b, at + 4)[0])
        at += 4 + max(n, 0)
    for n in reversed(shape[1:]):
        flat = [flat[i:i + n] for i in range(0, len(flat), n)]
    return flat


# OID: (to bytes, from bytes); Npgsql has such a converter for each
micros = lambda t: (t - EPOCH) // dt.timedelta(microseconds=1)
FORMS = {
    16: (lambda v: struct.pack("!?", v), lambda b: struct.unpack("!?", b)[0]), 17: (bytes, bytes),
    20: (lambda v: struct.pack("!q", v), lambda b: struct.unpack("!q", b)[0]), 21: (lambda v: struct.pack("!h", v), lambda b: struct.unpack("!h", b)[0]),
    23: (lambda v: struct.pack("!i", v), lambda b: struct.unpack("!i", b)[0]), 700: (lambda v: struct.pack("!f", v), lambda b: struct.unpack("!f", b)[0]),
    701: (lambda v: struct.pack("!d", v), lambda b: struct.unpack("!d", b)[0]), 1114: (lambda v: struct.pack("!q", micros(v)), lambda b: EPOCH + dt.timedelta(microseconds=struct.unpack("!q", b)[0])),
    1700: (numeric, from_numeric), 2950: (lambda v: v.bytes, lambda b: uuid.UUID(bytes=b)), 1022: (array, from_array),
    **{oid: (lambda v: v.encode(), lambda b: b.decode()) for oid in (25, 1042, 1043)},
}
# NpgsqlDbType by the CLR type of the value: text is sent as 25, and so are the types of the server that .NET does not know
SENT = {"boolean": 16, "byte": 21, "short": 21, "int": 23, "long": 20, "float": 700, "double": 701, "date": 1114, "timestamp": 1114, "timestamp_ns": 1114, "uuid": 2950,
        "decimal": 1700, "binary": 17, "double[]": 1022, "double[][]": 1022}


def param(value, oid=None):
    if oid is None:
        oid = {bool: 16, int: 20, float: 701, str: 25, bytes: 17, dt.datetime: 1114, uuid.UUID: 2950, decimal.Decimal: 1700, list: 1022}[type(value)]
    return oid, None if value is None else FORMS[oid][0](value)


def decode(oid, b):
    return None if b is None else FORMS[oid][1](b)


def read(columns, rows):
    expect({form for _, _, form in columns} <= {1}, True, "all results in binary")
    return [[decode(c[1], b) for c, b in zip(columns, r)] for r in rows]


def fresh(c, name, columns):
    c.simple(f"DROP TABLE IF EXISTS {table(name)}")
    c.simple(f"CREATE TABLE {table(name)} " + (columns if columns.startswith("(") else f"({columns})"))
    return table(name)


def refused(state, f, *args, **more):
    try:
        f(*args, **more)
    except Refused as e:
        expect(e.state, state, str(args)[:200])
        return e
    raise AssertionError(f"no error: {args}")


# ----------------------------------------------------------------------------- checks
def loading():
    """The texts of the start-up, out of the recorded catalogue."""
    found = re.findall(r"=== Npgsql (\w+)\n(.*?)\n---", CASES.read_text(), re.S)
    expect([n for n, _ in found], ["version", "types", "composites", "enums"])
    return "\r\n".join(text + ";" for _, text in found)


@check
def connect():
    c = Connector()
    for name, value in (("standard_conforming_strings", "on"), ("integer_datetimes", "on"), ("client_encoding", "UTF8")):
        expect(c.settings.get(name), value, name)
    expect(int(c.settings["server_version"].split(".")[0]) >= 14, True)
    kinds, sets, rows = "", [], []
    for kind, body in c.simple(loading()):
        kinds += kind
        rows += [cells(body)] if kind == "D" else []
        if kind == "C":
            sets.append(rows)
            rows = []
    expect(re.fullmatch("TDCTD+CTD*CTD*CZ", kinds) is not None, True, kinds[:40])
    types = {}
    for schema, oid, name, kind, not_null, element in sets[1]:
        expect(kind in (b"b", b"a", b"r", b"m", b"e", b"d", b"c", b"p") and not_null in (b"t", b"f"), True, (name, kind))
        if kind == b"a":  # its element has to come first
            expect(element in types, True, name)
        types[oid] = name
    for oid in (*FORMS, 1000, 1005, 1007, 1009, 1015, 1016, 1021, 1115, 1184, 1231, 2951):
        expect(str(oid).encode() in types, True, f"type {oid}")
    expect((sets[2], sets[3]), ([], []), "composites and enums")
    for more in ({"password": "wrong"}, {"user": "nobody"}):
        try:
            Connector(**more)
            raise AssertionError("logged in")
        except PermissionError as e:
            expect(e.args[0]["C"], "28P01")


@check
def tls():
    require = ssl.create_default_context()
    require.check_hostname, require.verify_mode = False, ssl.CERT_NONE
    for context in (require, ssl.create_default_context(cafile=CA)):
        expect(Connector(context).scalar("SELECT 1"), 1)
    try:
        Connector(ssl.create_default_context())
        raise AssertionError("an unknown authority was taken")
    except ssl.SSLCertVerificationError:
        pass


@check
def select():
    columns, rows, tag = Connector().command("SELECT 1 a, 2L b, 1.5 c, 'it''s ü' d, true e, null f")
    expect(("".join(n for n, _, _ in columns), read(columns, rows), tag), ("abcdef", [[1, 2, 1.5, "it's ü", True, None]], "SELECT 1"))
    expect(Connector().command("SELECT 1 WHERE false")[1], [])


def oid_of(sql_type):
    return SENT.get(sql_type.split("(")[0], 25)


@check
def types():
    c, t = Connector(), table("types")
    c.simple(f"DROP TABLE IF EXISTS {t}")
    c.simple(types_ddl(t))
    for k in range(3):
        row = [v[k] for _, _, v, _ in TYPES]
        c.command(f"INSERT INTO {t} VALUES (" + ", ".join(f"${i + 1}" for i in range(len(TYPES) + 1)) + ")", param(k, 23), *[param(v, oid_of(s)) for (_, s, _, _), v in zip(TYPES, row)])
        columns, rows, _ = c.command(f"SELECT {', '.join(COLUMNS)} FROM {t} WHERE k = $1", param(k, 23))
        for name, got, want in zip(COLUMNS, read(columns, rows)[0], row):
            if name == "f":
                want = struct.unpack("!f", struct.pack("!f", want))[0]
            expect(got, want, f"column {name}")


@check
def nulls():
    c, t = Connector(), table("nulls")
    c.simple(f"DROP TABLE IF EXISTS {t}")
    c.simple(types_ddl(t))
    c.command(f"INSERT INTO {t} VALUES (" + ", ".join(f"${i + 1}" for i in range(len(TYPES) + 1)) + ")", param(1, 23), *[(oid_of(s), None) for _, s, _, _ in TYPES])
    columns, rows, _ = c.command(f"SELECT {', '.join(COLUMNS)} FROM {t}")
    expect(read(columns, rows), [NULLS])
    expect(c.scalar("SELECT $1", (0, None)), None, "DBNull without a type")


@check
def parameters():
    c = Connector()
    t = fresh(c, "parameters", "id long, sym symbol, v double, ts timestamp")
    for i in range(10):
        c.command(f"INSERT INTO {t} VALUES ($1, $2, $3, $4)", param(i), param(f"s{i % 3}"), param(i / 2), param(dt.datetime(2024, 1, 1, i)))
    n = lambda where, *p: c.scalar(f"SELECT count() FROM {t} WHERE {where}", *p)
    texts = struct.pack("!iiiii", 1, 0, 25, 2, 1) + b"".join(struct.pack("!i", 2) + s for s in (b"s0", b"s1"))
    longs = struct.pack("!iiiii", 1, 0, 20, 3, 1) + b"".join(struct.pack("!iq", 8, v) for v in (1, 2, 99))
    expect([n("id = $1", param(4)), n("sym = $1 AND v < $2", param("s1"), param(3.0)), n("ts >= $1", param(dt.datetime(2024, 1, 1, 7))), n("id = $1", param(4, 23)),
            n("sym = ANY($1)", (1009, texts)), n("id = ANY($1)", (1016, longs))], [1, 2, 3, 1, 7, 2])
    expect(len(c.command(f"SELECT id FROM {t} LIMIT $1", param(4))[1]), 4)
    zoned = struct.pack("!q", micros(dt.datetime(2024, 1, 1, 7)))
    expect(n("ts = $1", (1184, zoned)), 1, "DateTime of kind Utc")
    expect(n("ts >= $1", (1082, struct.pack("!i", 8766))), 10, "DateOnly")


@check
def prepared():
    c = Connector()
    t = fresh(c, "prepared", "id int, v varchar")
    c.ask(parse("_p1", f"INSERT INTO {t} (id, v) VALUES ($1, $2)", [23, 25]), describe("S", "_p1"), SYNC)
    expect(c.kinds(parse("_p2", f"SELECT * FROM {t} WHERE id = $1", [23]), describe("S", "_p2"), SYNC), "1tTZ")
    reuse = lambda name, *p: c.run([bind("", name, [x[1] for x in p], [1] * len(p), [1]), execute(), SYNC])
    for i in range(100):
        expect(c.kinds(bind("", "_p1", [param(i, 23)[1], b"v"], [1, 1], [1]), execute(), SYNC), "2CZ")
        expect(c.kinds(bind("", "_p2", [param(i, 23)[1]], [1], [1]), execute(), SYNC), "2DCZ")
    c.simple(f"ALTER TABLE {t} ADD COLUMN more double")
    expect(c.kinds(bind("", "_p1", [param(100, 23)[1], b"v"], [1, 1], [1]), execute(), SYNC), "2CZ")
    refused("0A000", reuse, "_p2", param(1, 23))
    expect(c.kinds(pgclient.close("S", "_p2"), SYNC), "3Z")
    expect(c.kinds(parse("_p3", f"SELECT * FROM {t} WHERE id = $1", [23]), describe("S", "_p3"), SYNC), "1tTZ")
    expect(c.scalar(f"SELECT count() FROM {t}"), 101)


@check
def batch():
    """NpgsqlBatch: all commands, one Sync; an error ends the batch and leaves nothing."""
    c = Connector()
    t = fresh(c, "batch", "id int, v varchar")

    def send(bad):
        out = []
        for i in range(1000):
            value = param("x" if i == bad else str(i))
            out += [parse("", f"INSERT INTO {t} VALUES ($1::varchar::decimal(9,0)::int, $2)", [25, 25]), bind("", "", [value[1], b"v"], [1, 1], [1]), describe("P"), execute()]
        return c.ask(*out, SYNC)
    expect("".join(k for k, _ in send(-1)), "12nC" * 1000 + "Z")
    kinds = "".join(k for k, _ in send(500))
    expect(re.fullmatch("(12nC){500}1(2n?)?EZ", kinds) is not None, True, kinds[-20:])
    expect((c.scalar(f"SELECT count() FROM {t}"), c.scalar(f"SELECT sum(id) FROM {t}")), (1000, 499500))


@check
def fetch():
    """The reader takes rows off the socket one by one."""
    c = Connector()

    def read_all():
        c.send(parse("", "SELECT x FROM long_sequence(1000000)"), bind(results=[1]), describe("P"), execute(), SYNC)
        total, kind = 0, ""
        while kind != "Z":
            kind, body = c.read()
            if kind == "D":
                total += struct.unpack_from("!q", body, 6)[0]
        return total
    expect(bounded(read_all), 500000500000)


@check
def large():
    c = Connector()
    t = fresh(c, "large", "v varchar, b binary")
    text = "0123456789abcdeü" * (1 << 17)
    c.command(f"INSERT INTO {t} VALUES ($1, $2)", param(text), param(text.encode()))
    expect(read(*c.command(f"SELECT v, b FROM {t}")[:2]) == [[text, text.encode()]], True)
    expect(len(c.command("SELECT x FROM long_sequence(100000)")[1]), 100000)


BEGIN = query("BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED")


@check
def transaction():
    c = Connector()
    t = fresh(c, "transaction", "id int")
    n = lambda: c.scalar(f"SELECT count() FROM {t}")
    c.command(f"INSERT INTO {t} VALUES (1)", before=[BEGIN])
    c.simple("COMMIT")
    c.command(f"INSERT INTO {t} VALUES (2)", before=[query("BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE")])
    expect(n(), 2, "own rows")
    c.simple("ROLLBACK")
    expect(n(), 1)
    c.command(f"INSERT INTO {t} VALUES (3)", before=[BEGIN])
    c.command(f"INSERT INTO {t} VALUES (4)", before=[query('SAVEPOINT "a"')])
    c.simple('ROLLBACK TO SAVEPOINT "a"')
    c.simple('RELEASE SAVEPOINT "a"')
    c.simple("COMMIT")
    expect(n(), 2, "savepoint")
    refused("42703", c.command, "SELECT nope", before=[BEGIN])
    refused("25P02", c.command, "SELECT 1")
    expect([b for k, b in c.simple("COMMIT") if k == "C"], [b"ROLLBACK\0"], "COMMIT of a failed block")


HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)


def importing(c, sql, rows):
    """NpgsqlBinaryImporter: rows of (OID, bytes); the answer's letters."""
    width = len(rows[0])
    c.send(query(sql))
    kind, body = c.read()
    expect((kind, body), ("G", struct.pack(f"!bh{width}h", 1, width, *[1] * width)), "CopyInResponse")
    data = HEAD + b"".join(struct.pack("!h", width) + b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for _, v in r) for r in rows)
    c.send(msg(b"d", data), msg(b"d", struct.pack("!h", -1)), msg(b"c"))
    kinds = c.until_ready()
    return "".join(k for k, _ in kinds), kinds[0][1]


@check
def copy_in():
    c, t = Connector(), table("copy_in")
    c.simple(f"DROP TABLE IF EXISTS {t}")
    c.simple(types_ddl(t))
    rows = [[param(k, 23)] + [param(v[k], oid_of(s)) for _, s, v, _ in TYPES] for k in range(3)] + [[param(3, 23)] + [(oid_of(s), None) for _, s, _, _ in TYPES]]
    expect(importing(c, f"COPY {t} (k, {', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)", rows), ("CZ", b"COPY 4\0"))
    back = read(*c.command(f"SELECT {', '.join(COLUMNS)} FROM {t} ORDER BY k")[:2])
    at = COLUMNS.index("de")
    expect([r[at] for r in back], [v for v in TYPES[at][2]] + [None])
    expect(back[3], NULLS)
    c.send(query(f"COPY {t} (k) FROM STDIN (FORMAT BINARY)"))
    expect(c.read()[0], "G")
    c.send(msg(b"d", HEAD), msg(b"f", b"Cancelled by user\0"))
    expect(fields(c.until_ready()[0][1])["C"], "57014", "an importer that is not completed")
    expect(c.scalar(f"SELECT count() FROM {t}"), 4)


@check
def copy_out():
    c = Connector()
    c.send(query("COPY (SELECT x, x * 0.5 h FROM long_sequence(100000)) TO STDOUT (FORMAT BINARY)"))
    expect(c.read(), ("H", struct.pack("!bhhh", 1, 2, 1, 1)))
    messages = c.until_ready()
    expect("".join(k for k, _ in messages[-3:]), "cCZ")
    data = b"".join(b for k, b in messages if k == "d")
    expect((data[:19], data[-2:], len(data)), (HEAD, b"\xff\xff", 19 + 100000 * 26 + 2))
    expect(struct.unpack_from("!hiqid", data, len(data) - 28), (2, 8, 100000, 8, 50000.0))


@check
def errors():
    c = Connector()
    for sql, state, at in (("SELECT 1 +", "42601", "10"), ("SELECT * FROM nosuch_table", "42P01", "15"), ("SELECT 'ü', nope FROM long_sequence(1)", "42703", "13"), ("SELECT 'x'::decimal(5,2)", "22P02", "8")):
        e = refused(state, c.command, sql)
        expect((e.fields["P"], e.fields["S"], e.fields["V"]), (at, "ERROR", "ERROR"), sql)
        expect(c.scalar("SELECT 1"), 1)


@check
def cancel():
    for sql in (SLOW, "SELECT count() FROM (SELECT x FROM long_sequence(100000000000) WHERE x % 3 = 1)"):
        c = Connector()
        later(0.2, c.cancel)
        refused("57014", c.command, sql)
        expect(c.scalar("SELECT 1"), 1)


@check
def timeout():
    c = Connector()
    c.simple("SET statement_timeout = 200")
    refused("57014", c.command, SLOW)
    for options in ([("statement_timeout", "200")], [("options", "-c statement_timeout=200")]):
        c = Connector(options=options)
        refused("57014", c.command, SLOW)
        expect(c.scalar("SELECT 1"), 1)


@check
def metadata():
    """GetSchema, SchemaOnly, DeriveParameters."""
    c = Connector()
    t = fresh(c, "metadata", "ts timestamp, sym symbol, v double, a double[], de decimal(10,2)")
    _, rows, _ = c.command("SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'FOREIGN', 'FOREIGN TABLE') "
                           "AND table_schema NOT IN ('pg_catalog', 'information_schema') AND table_name = $1", param(t))
    expect([r[1:] for r in rows], [[b"public", t.encode(), b"BASE TABLE"]])
    columns, rows, _ = c.command("SELECT column_name, ordinal_position, is_nullable, udt_name::regtype::text AS data_type, numeric_precision, numeric_scale "
                                 "FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", param(t))
    expect([(r[0].decode(), r[3].decode()) for r in rows], [("ts", "timestamp without time zone"), ("sym", "character varying"), ("v", "double precision"), ("a", "double precision[]"), ("de", "numeric")])
    expect((decode(columns[4][1], rows[4][4]), decode(columns[5][1], rows[4][5])), (10, 2))
    a = c.ask(parse("", f"SELECT * FROM {t} WHERE ts > $1 AND v < $2 AND sym = $3"), describe("S"), SYNC)
    expect(("".join(k for k, _ in a), struct.unpack("!H3I", a[1][1])), ("1tTZ", (3, 1114, 701, 1043)))
    for keys in ("table_constraints", "key_column_usage"):
        expect(c.scalar(f"SELECT count(*) FROM information_schema.{keys}"), 0)


# With prepared statements kept, DISCARD ALL would drop them: this is sent instead.
KEEPING = "SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP"


@check
def pool():
    """The reset of a connection that came back goes in front of the next command."""
    def worker(w):
        c = Connector()
        for i in range(100):
            expect(c.scalar("SELECT $1 * 1000 + $2", param(w), param(i), before=[query("DISCARD ALL")]), w * 1000 + i)
    in_threads(8, worker)
    c = Connector()
    c.ask(parse("_p1", "SELECT 5"), SYNC)
    c.simple("SET application_name = 'left'")
    expect(c.scalar("SHOW application_name", before=[query(KEEPING)]), "npgsql", "reset to the start-up value")
    expect(c.kinds(bind("", "_p1", results=[1]), execute(), SYNC), "2DCZ", "the statement is still there")
    c.scalar("SELECT 1", before=[query("DISCARD ALL")])
    expect(c.error(bind("", "_p1", results=[1]), SYNC)["C"], "26000")
    c.simple("BEGIN")
    c.simple("ROLLBACK")  # Close inside of a transaction
    expect(c.scalar("SELECT 1", before=[query("DISCARD ALL")]), 1)


@check
def time_series():
    c = Connector()
    trades = fresh(c, "trades", "(ts timestamp, sym symbol, price double) timestamp(ts) partition by day")
    quotes = fresh(c, "quotes", "(ts timestamp, sym symbol, bid double) timestamp(ts) partition by day")
    start, m = dt.datetime(2024, 1, 1), lambda n: dt.datetime(2024, 1, 1) + dt.timedelta(minutes=n)
    out = []
    for i in range(120):
        for t, at, v in ((trades, m(i), float(i)), (quotes, m(i) - dt.timedelta(seconds=1), i - 0.5)):
            p = [param(at), param("AB"[i % 2]), param(v)]
            out += [parse("", f"INSERT INTO {t} VALUES ($1, $2, $3)", [x[0] for x in p]), bind("", "", [x[1] for x in p], [1, 1, 1], [1]), describe("P"), execute()]
    expect(c.ask(*out, SYNC)[-1][0], "Z")
    get = lambda sql, *p: read(*c.command(sql, *p)[:2])
    expect(get(f"SELECT ts, avg(price) FROM {trades} WHERE ts >= $1 AND sym = $2 SAMPLE BY 1h", param(start), param("A")), [[start, 29.0], [m(60), 89.0]])
    expect(get(f"SELECT sym, price FROM {trades} WHERE ts <= $1 LATEST ON ts PARTITION BY sym", param(m(100))), [["B", 99.0], ["A", 100.0]])
    expect(get(f"SELECT t.ts, q.bid FROM {trades} t ASOF JOIN {quotes} q ON (sym) WHERE t.price BETWEEN $1 AND $2 AND t.sym = $3", param(10.0), param(13.0), param("A")), [[m(10), 9.5], [m(12), 11.5]])


main("npgsql", "9")
