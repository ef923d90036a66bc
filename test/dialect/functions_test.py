#!/usr/bin/env python3
"""Every function of functions(): its example runs, its null rule is said and holds, and no call of it does harm.
Closes with 'N passed, N failed'.

    functions_test.py [--nightly] [--written] [--preset NAME] [FUNCTION...]

The table `v` has a column of every type, with null, ordinary, least and greatest values. Each name is called
with combinations of these columns as arguments (all of one, two, many samples of three and more), with
constants in their place, with nulls alone, without arguments and with too many. The answer must be rows or
status 400 with a position inside of the text, and the server must live. Where a call of columns is answered
and is not random, the same call with the values of each row written as constants gives the same.

Besides: operators and casts over all types, and every relation of the catalogues and every table function
without arguments is read to its end."""
import argparse, decimal, http.client, itertools, json, math, random, re, sys, threading, time, urllib.parse

from lib.checks import given, print_again
from lib.demo import load_demo
from lib.server import Server
from lib.tools import function_pages

# column: (type, values of the rows); None: null
COLUMNS = {
    "bo": ("boolean", ["false", "true", "true", "false", "true"]),
    "by": ("byte", ["0::byte", "1::byte", "(-128)::byte", "127::byte", "3::byte"]),
    "sh": ("short", ["0::short", "2::short", "(-32768)::short", "32767::short", "3::short"]),
    "i": ("int", [None, "3", "-2147483647", "2147483647", "0"]),
    "l": ("long", [None, "4L", "-9223372036854775807", "9223372036854775807", "0L"]),
    "f": ("float", [None, "1.5f", "-3.4e38f", "3.4e38f", "0f"]),
    "d": ("double", [None, "2.5", "-1.7e308", "1.7976931348623157e308", "-0.0"]),
    "c": ("char", [None, "'d'::char", "'A'::char", "'é'::char", "'%'::char"]),
    "s": ("string", [None, "'d'::string", "'žluť [a-z]*'::string", "''::string", "'1234567890123'::string"]),
    "v": ("varchar", [None, "'1d'::varchar", "'2024-02-30T25'::varchar", "''::varchar", "'{\"a\": [1, 2.5]}'::varchar"]),
    "m": ("symbol", [None, "'us'::symbol", "'%Y-%j('::symbol", "''::symbol", "'Europe/Berlin'::symbol"]),
    "da": ("date", [None, "'2024-02-29'::date", "'0001-01-01'::date", "'9999-12-31T23:59:59.999Z'::date", "0::date"]),
    "ts": ("timestamp", [None, "'2024-02-29T12:34:56.123456Z'::timestamp", "'0001-01-01'::timestamp",
                         "'9999-12-31T23:59:59.999999Z'::timestamp", "0::timestamp"]),
    "tn": ("timestamp_ns", [None, "'2024-02-29T12:34:56.123456789Z'::timestamp_ns", "'1678-01-01'::timestamp_ns",
                            "'2262-04-11T23:47:16.854775806Z'::timestamp_ns", "0::timestamp_ns"]),
    "u": ("uuid", [None, "'11111111-2222-3333-4444-555555555555'::uuid", "'00000000-0000-0000-0000-000000000000'::uuid",
                   "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid", "'80000000-0000-0000-0000-000000000001'::uuid"]),
    "ip": ("ipv4", [None, "'10.0.0.255'::ipv4", "'0.0.0.1'::ipv4", "'255.255.255.255'::ipv4", "'127.0.0.1'::ipv4"]),
    "w": ("long256", [None, "0x0102", "0x00", "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "0x01"]),
    "g": ("geohash(5c)", [None, "#u33d8", "#00000", "#zzzzz", "#s0000"]),
    "gb": ("geohash(3b)", [None, "##101", "##000", "##111", "##001"]),
    "x": ("binary", [None, "from_base64('AQID')", "from_base64('AA==')", "from_base64('AAECAwQFBgcICQoLDA0O')", "from_base64('/w==')"]),
    "e": ("decimal(10,2)", [None, "1.25m", "-99999999.99m", "99999999.99m", "0.00m"]),
    "e2": ("decimal(60,5)", [None, "2.00001m", "-" + "9" * 55 + ".99999m", "9" * 55 + ".99999m", "0.00000m"]),
    "a": ("double[]", [None, "array[1.0, 2.5, null]", "array[]", "array[1.7e308, 1.7e308]", "array[0.0]"]),
    "a2": ("double[][]", [None, "array[[1.0, 2.0], [3.0, 4.0]]", "array[[0.5]]", "array[[1e308, 1e308]]", "array[[0.0], [1.0]]"]),
}
# an interval cannot be stored: it is made of the others
MADE = {"interval(ts, '2024-03-01'::timestamp)": [f"interval({v or 'null::timestamp'}, '2024-03-01'::timestamp)" for v in COLUMNS["ts"][1]]}
ROWS = 5
BINARY_OPERATORS = ["+", "-", "*", "/", "%", "&", "|", "^", "=", "!=", "<", "<=", ">", ">=", "||", "~", "!~", "like", "ilike",
                    "in", "<<", "<<=", ">>", ">>=", "and", "or", "within"]
WORDS = {"in", "within", "between", "case", "cast", "and", "or", "not", "like", "ilike"}  # written as operators
# A value of a row that a function cannot take is null there. What remains: limits of the statement's resources, results beyond
# their type where that has no null or never loses digits (SHORT, DECIMAL), DECIMALs and other numbers as each other, a setting
# without a name.
LIMITS = re.compile(r"too long|too many|more than \d+ numbers|may have \d+ numbers at most|operation failed|aggregation failed|\[INT -> (SHORT|BYTE)\]|sparkline of more|"
                    r"\[DECIMAL\S* -> |\[(BYTE|SHORT|INT|LONG|FLOAT|DOUBLE) -> DECIMAL|SET requires")
ENDS_SOMETHING = {"cancel_query", "pg_terminate_backend", "reload_config", "reload_tls"}
WAITS = {"pg_sleep"}  # as long as it is told; its example runs
passed, failures = 0, []
OPTIONS = []  # of this run
part = None  # what is tried: a function, or one of GROUPS


def check(ok, what, detail=""):
    global passed
    if ok:
        passed += 1
    else:
        failures.append(what)
        if len(failures) <= 60:
            print(f"FAILED {what}\n    {detail}", flush=True)
            print_again(*OPTIONS, part)
    return ok


def literal(column, row):
    if column in MADE:
        return MADE[column][row]
    kind, values = COLUMNS[column]
    if values[row] is not None and kind.startswith("decimal"):  # a literal has the digits it is written with
        return f"{values[row]}::{kind}"
    return values[row] if values[row] is not None else f"null::{kind}"


def same(a, b):
    """Values of two answers; sums of different shapes may differ in their last digits."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-12)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


# ----------------------------------------------------------------------------- asking
class Asker:
    def __init__(self, server, env=None):
        self.server, self.http = server, None

    def ask(self, sql):
        """(status, answer), None after a crash."""
        for attempt in (1, 2):
            try:
                if self.http is None:
                    host, port = self.server.http.rsplit(":", 1)
                    self.http = http.client.HTTPConnection(host, int(port), timeout=120)
                self.http.request("GET", "/exec?query=" + urllib.parse.quote(sql))
                answer = self.http.getresponse()
                body = answer.read()
                return answer.status, json.loads(body)
            except (http.client.HTTPException, OSError, ValueError) as e:
                self.http = None
                problem = e
                if self.server.process.poll() is not None:
                    break
        tail = self.server.tail()
        if self.server.process.poll() is not None:
            self.server.process = None
            self.server.start()
        return None, {"error": f"{problem!r}: {tail[-600:]}"}

    def harmless(self, sql, whole=False):
        """Rows, or a refusal that points into the text. The rows, None if refused. What is refused is refused for its types or its
        constants: a value in a row ends no statement, so over no rows the same is refused too. whole: of an aggregate, which
        leaves out no row whose value does not convert."""
        status, answer = self.ask(sql)
        if status == 200 and "dataset" in answer:
            return answer
        rows = whole and answer.get("error", "").startswith("inconvertible value")
        # A time that no TIMESTAMP_NS holds is never null in silence: where no cast is written, it is refused.
        rows = rows or answer.get("error", "").startswith("inconvertible value") and answer["error"].endswith(("TIMESTAMP -> TIMESTAMP_NS]", "DATE -> TIMESTAMP_NS]"))
        if status == 400 and " from v" in sql and not rows and not LIMITS.search(answer.get("error", "")):
            without = sql.replace(" from v where", " from v where n < 0 and") if " from v where" in sql else sql.replace(" from v", " from v where n < 0", 1)
            check(self.ask(without)[0] == 400, f"a value ends it: {sql}", answer["error"])
        good = status == 400 and 0 <= answer.get("position", -1) <= len(sql) and answer.get("error")
        if not good:
            check(False, f"harmless: {sql}", f"{status} {answer.get('error')} at {answer.get('position')}")
        return None


def make_table(server):
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    server.exec(f"create table v (n int, {columns})")
    for row in range(ROWS):
        server.exec(f"insert into v select {row}, " + ", ".join(literal(c, row) for c in COLUMNS))


# ----------------------------------------------------------------------------- calls
def arguments(text):
    """Parameters of a signature: [(type, const, rest)]."""
    inner = text[text.index("(") + 1:text.rindex(")")]
    return [(p.strip(), "const" in p, "..." in p) for p in inner.split(",")] if inner.strip() else []


def shapes(signatures):
    """Numbers of arguments to try: {arity: positions that must be constant}."""
    found = {}
    for s in signatures:
        params = arguments(s)
        rest = bool(params) and params[-1][2]
        for arity in ([len(params) - 1, len(params), len(params) + 1] if rest else [len(params)]):
            fixed = [params[min(i, len(params) - 1)][1] for i in range(arity)]
            found.setdefault(arity, set()).add(tuple(fixed))
    return found


def combinations(arity, most, rng):
    every = [*COLUMNS, *MADE]
    if len(every) ** arity <= most:
        return list(itertools.product(every, repeat=arity))
    same_type = [(c,) * arity for c in every]
    return same_type + [tuple(rng.choice(every) for _ in range(arity)) for _ in range(most - len(same_type))]


def written(name, args):
    return f"{name}({', '.join(args)})"


def compare(asker, kind, name, args, fixed, answer, pick):
    """The rows of a call of columns against the same call with constants."""
    over = " over ()" if kind == "WINDOW" else ""
    if kind == "GROUP_BY":
        rows = [asker.harmless(f"select {written(name, args)} from v where n = {r}", True) for r in range(ROWS)]
        rows = [a["dataset"][0] if a and a["dataset"] else None for a in rows]
    else:
        rows = answer["dataset"]
    calls = []
    for r in range(ROWS):
        values = [a if f else literal(a, r) for a, f in zip(args, fixed)]
        calls.append(written(name, values) + over)
    for r, call in enumerate(calls):
        if pick is not None and r not in pick:
            continue
        status, one = asker.ask(f"select {call} from long_sequence(1)")
        if rows[r] is None or status != 200:
            # a constant may be refused with a reason where a column gives null
            check(status in (200, 400) and 0 <= one.get("position", 0), f"constant: {call}", str(one.get("error")))
            continue
        kinds = {re.sub(r"DECIMAL.*", "DECIMAL", a["columns"][0]["type"]) for a in (one, answer)}
        if kinds == {"FLOAT", "DOUBLE"}:
            continue  # null::float is a DOUBLE
        value, other = one["dataset"][0][0], rows[r][0]
        if kinds == {"DECIMAL"} and value is not None and other is not None:
            value, other = decimal.Decimal(value), decimal.Decimal(other)  # constants may set the scale
        check(len(kinds) == 1 and same(value, other), f"constant: {call}",
              f"{one['columns'][0]['type']} {one['dataset'][0]} for constants, "
              f"{answer['columns'][0]['type']} {rows[r]} for columns {args}")


def try_calls(asker, kind, name, signatures, steady, most, rng):
    over = " over ()" if kind == "WINDOW" else ""
    known = shapes(signatures)
    for arity, forms in sorted(known.items()):
        for fixed in sorted(forms):
            for columns in combinations(arity, most, rng):
                args = [literal(c, rng.randrange(1, ROWS)) if f else c for c, f in zip(columns, fixed)]
                answer = asker.harmless(f"select {written(name, args)}{over} from v", kind in ("GROUP_BY", "WINDOW"))
                if answer is None:
                    continue
                check(len(answer["dataset"]) in (1, ROWS), f"rows: {written(name, args)}", str(len(answer["dataset"])))
                if steady and kind != "WINDOW" and arity > 0 and not all(fixed):
                    pick = None if arity == 1 else {0, rng.randrange(1, ROWS)}
                    compare(asker, kind, name, args, fixed, answer, pick)
                if kind == "GROUP_BY":
                    asker.harmless(f"select m, {written(name, args)} from v group by m order by m", True)
                    asker.harmless(f"select {written(name, args)} over (order by n) from v", True)
    for count in {0, 1, 2, 3, 4, 5, 9, 70} - {70 if len(known) > 30 else 0}:
        asker.harmless(f"select {written(name, ['null'] * count)}{over} from v", kind in ("GROUP_BY", "WINDOW"))
    for arity in known:
        for kind_name, _ in COLUMNS.values():
            asker.harmless(f"select {written(name, [f'null::{kind_name}'] * arity)}{over}")
    asker.harmless(f"select {written(name, ['n'] * 12)}{over} from v", kind in ("GROUP_BY", "WINDOW"))


def check_functions(asker, most, only):
    global part
    status, answer = asker.ask("select name, signature, runtime_constant, type from functions()")
    found = {}
    for name, signature, stable, kind in answer["dataset"]:
        found.setdefault((name, kind), []).append((signature, stable))
    for (name, kind), rows in sorted(found.items()):
        if (only and name not in only) or kind in ("CURSOR", "TABLE") or name in WORDS or not re.match(r"[\w.]+$", name):
            continue
        if name in ENDS_SOMETHING | WAITS:
            continue
        part = name
        steady = not name.startswith("rnd_") and not rows[0][1] and name not in VARYING
        before = len(failures)
        try_calls(asker, kind, name, [s for s, _ in rows], steady, most, random.Random(name))
        check(len(failures) == before, f"calls of {name}")


# Constants without a type, as people write them: what bind sees is a CHAR, a text that is kept within its view and one that is not, a
# number of each width, null.
WRITTEN = ["'x'", "'é'", "''", "'us'", "'a text that is kept elsewhere'", "'2024-02-29T12:34'", "'1h'", "null", "true", "0", "1", "-1", "2147483648", "1.5",
           "1.5m", "#u33d8", "##101", "array[1.0]", "array[]"]


def check_written(asker, most, only):
    """Each function with constants alone, which bind may look at."""
    global part
    _, answer = asker.ask("select name, signature, type from functions()")
    found = {}
    for name, signature, kind in answer["dataset"]:
        found.setdefault((name, kind), []).append(signature)
    for (name, kind), signatures in sorted(found.items()):
        if (only and name not in only) or kind in ("CURSOR", "TABLE") or name in WORDS | ENDS_SOMETHING | WAITS or not re.match(r"[\w.]+$", name):
            continue
        part = name
        rng, over = random.Random(name), " over ()" if kind == "WINDOW" else ""
        for arity in sorted(shapes(signatures)):
            every = itertools.product(WRITTEN, repeat=arity) if len(WRITTEN) ** arity <= most else ([rng.choice(WRITTEN) for _ in range(arity)] for _ in range(most))
            before = len(failures)
            for args in every:
                asker.harmless(f"select {written(name, args)}{over}", True)
            check(len(failures) == before, f"constants for {name}, {arity}")


# of the statement or of the row's place: nothing to compare
VARYING = {"typeof", "timestamp_sequence", "timestamp_sequence_ns", "timestamp_shuffle", "pg_backend_pid"}


# ----------------------------------------------------------------------------- the registry
def check_registry(asker, build, only):
    """Each function has an example that runs and says what becomes of nulls; what it promises of them holds."""
    global part
    for (kind, name), rows in sorted(function_pages.registry(build).items()):
        if (only and name not in only) or not function_pages.is_listed(rows):
            continue
        part = name
        shown = [r for r in rows if r["flags"] != "internal"]
        sqls = function_pages.statements(shown)
        check(sqls, f"example of {name}")
        for sql in sqls:
            for view, view_sql in VIEWS:
                if view in sql:
                    asker.ask(view_sql)
            status, answer = asker.ask(sql)
            check(status == 200 and "dataset" in answer, f"example: {sql}", answer.get("error"))
        for row in shown:
            if kind == "scalar" and arguments(row["signature"]):
                check_null_rule(asker, row)


VIEWS = [("trades_1h", "create materialized view trades_1h as (select timestamp, avg(price) p from trades sample by 1h) partition by day"),
         ("large_trades", "create view large_trades as (select * from trades where amount > 100)")]
SAYS_NULL = re.compile(r"null|always|nothing|there (is|are) no", re.I)


def check_null_rule(asker, row):
    name, params = row["name"], arguments(row["signature"])
    if row["nulls"] != "null":
        own = row["flags"] in ("stable", "volatile") or row["group"] == "postgresql" or SAYS_NULL.search(row["doc"])
        check(own, f"null rule: {name}{row['signature']}", f"the documentation does not say it: {row['doc']}")
        return
    for i, (kind, const, _) in enumerate(params):
        if const:
            continue
        args = [EXAMPLE_OF.get(k.split()[-2 if c else -1].replace("...", "") if k.split() else k, "1") for k, c, _ in params]
        kind = next((w for w in kind.replace("...", "").split() if w in EXAMPLE_OF), None)
        if kind is None:
            continue
        args[i] = f"null::{NULL_TYPE.get(kind, kind)}"
        status, answer = asker.ask(f"select {written(name, args)}")
        if status == 200:  # else the other arguments do not fit, which does not matter here
            value = answer["dataset"][0][0]
            check(value in (None, False, "", []), f"null rule: {written(name, args)}", str(value))


EXAMPLE_OF = {"INT": "1", "LONG": "1L", "DOUBLE": "0.5", "FLOAT": "0.5f", "TEXT": "'d'::string", "STRING": "'d'::string", "VARCHAR": "'d'::varchar",
              "SYMBOL": "'d'::symbol", "TIME": "'2024-01-01'::timestamp", "TIMESTAMP": "'2024-01-01'::timestamp", "DATE": "'2024-01-01'::date",
              "TIMESTAMP_NS": "'2024-01-01'::timestamp_ns", "ARRAY": "array[1.0, 2.0]", "DECIMAL": "1.5m", "IPv4": "'10.0.0.1'::ipv4",
              "BINARY": "from_base64('AQID')", "BOOLEAN": "true", "INTERVAL": "interval('2024-01-01', '2024-01-02')", "GEOHASH": "#u33d8"}
NULL_TYPE = {"TEXT": "string", "TIME": "timestamp", "ARRAY": "double[]", "DECIMAL": "decimal(5,2)", "GEOHASH": "geohash(5c)"}


# ----------------------------------------------------------------------------- operators, casts
def wider(constant, row):
    """Constants are computed in 64 bits; over columns an INT that 32 bits do not hold is null (docs/reference/types.md, Arithmetic)."""
    return row is None and isinstance(constant, int) and not -2**31 < constant < 2**31


def check_operators(asker):
    every = [*COLUMNS, *MADE]
    for op in BINARY_OPERATORS:
        for x, y in itertools.product(every, repeat=2):
            form = "{0} in ({1}, {1})" if op == "in" else "{0} within ({1})" if op == "within" else f"{{0}} {op} {{1}}"
            answer = asker.harmless(f"select {form.format(x, y)} from v order by n")
            asker.harmless(f"select count() from v where {form.format(x, y)}")
            if answer is None:
                continue
            calls = ", ".join(form.format(literal(x, r), literal(y, r)) for r in range(ROWS))
            status, one = asker.ask(f"select {calls}")
            if status == 200:
                int_rows = answer["columns"][0]["type"] == "INT"
                check(all(same(c, a[0]) or (int_rows and wider(c, a[0])) for c, a in zip(one["dataset"][0], answer["dataset"])), f"operator: {form.format(x, y)}",
                      f"{one['dataset'][0]} for constants, {answer['dataset']} for columns")
            else:
                check(status == 400, f"operator: {calls}", one.get("error"))
    for x in every:
        for form in ("-{0}", "~{0}", "not {0}", "{0} is null", "{0} is not null", "{0} between {0} and {0}",
                     "case when {0} is null then {0} else {0} end", "case {0} when {0} then 1 else 2 end", "{0}[1]", "{0}[1:]", "{0}[1, 1]"):
            asker.harmless(f"select {form.format(x)} from v")
    check(True, "operators")


def check_casts(asker):
    for to in [kind for kind, _ in COLUMNS.values()] + ["interval", "geohash(60b)", "decimal(76,70)", "geohash(1c)"]:
        for column in [*COLUMNS, *MADE]:
            answer = asker.harmless(f"select cast({column} as {to}) from v order by n")
            if answer is None:
                continue
            for r in range(ROWS):
                status, one = asker.ask(f"select cast({literal(column, r)} as {to})")
                if status == 400 and answer["dataset"][r] == [None]:
                    continue  # a constant that cannot be cast is refused with the reason
                check(status == 200 and same(one["dataset"][0], answer["dataset"][r]), f"cast: {literal(column, r)} as {to}",
                      f"{one.get('dataset', one.get('error'))} for the constant, {answer['dataset'][r]} for the column")


# ----------------------------------------------------------------------------- other statements
def check_cancel(server):
    """cancel_query ends a statement of another connection, and says whether there was one."""
    long, asker, done = Asker(server), Asker(server), {}
    thread = threading.Thread(target=lambda: done.update(answer=long.ask("select sum(x) from long_sequence(1000000000000)")))
    thread.start()
    found = []
    for _ in range(200):
        _, answer = asker.ask("select query_id from query_activity() where query like '%1000000000000)' and query not like '%activity%'")
        found = answer["dataset"]
        if found:
            break
        time.sleep(0.02)
    check(found, "cancel_query: the statement is listed")
    number = found[0][0] if found else 0
    check(asker.ask(f"select cancel_query({number})")[1]["dataset"] == [[True]], "cancel_query: true")
    thread.join(30)
    check(done.get("answer", (0, {}))[1].get("error") == "cancelled by user", "cancel_query: it ends", str(done))
    check(asker.ask(f"select cancel_query({number}), pg_cancel_backend(0), cancel_query(null)")[1]["dataset"] == [[False] * 3], "cancel_query: false")
    check(asker.ask("select pg_postmaster_start_time() between dateadd('h', -1, now()) and now()")[1]["dataset"] == [[True]], "start time")


# ----------------------------------------------------------------------------- relations
def check_relations(asker):
    names = ["information_schema." + r for r in INFORMATION_SCHEMA]
    names += ["pg_catalog." + r for r in pg_relations(asker)]
    _, answer = asker.ask("select distinct name, signature from functions() where type = 'CURSOR'")
    for name, signature in answer.get("dataset", []):
        if not arguments(signature) or name in WITHOUT:
            names.append(f"{name}()")
    for name in names:
        status, answer = asker.ask(f"select * from {name}")
        check(status == 200 and len(answer["dataset"]) == answer["count"], f"relation {name}", answer.get("error"))


WITHOUT = set()
INFORMATION_SCHEMA = ["columns", "tables", "questdb_columns", "character_sets", "key_column_usage", "referential_constraints",
                      "table_constraints"]


def pg_relations(asker):
    _, answer = asker.ask("select relname from pg_catalog.pg_class where relnamespace = 11")
    return [r[0] for r in answer["dataset"]]


GROUPS = {"operators": check_operators, "casts": check_casts, "cancel": check_cancel, "relations": check_relations}


def main():
    global part
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--preset", default="release")
    ap.add_argument("--written", action="store_true", help="only calls with constants, as people write them")
    ap.add_argument("functions", nargs="*")
    o = ap.parse_args()
    OPTIONS.extend(given(ap, o))
    with Server(preset=o.preset) as server:
        make_table(server)
        load_demo(server)
        asker = Asker(server)
        check_written(asker, 40 if not o.nightly else 1000, set(o.functions))
        if not o.written:
            check_registry(asker, function_pages.TOP / "build" / o.preset, set(o.functions))
            check_functions(asker, 350 if not o.nightly else 3000, set(o.functions))
        for name, group in GROUPS.items():
            if not o.written and (not o.functions or name in o.functions):
                part = name
                group(server if name == "cancel" else asker)
    for what in failures:
        print("failed:", what)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(len(failures) > 0)


if __name__ == "__main__":
    main()
