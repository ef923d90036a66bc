#!/usr/bin/env python3
"""Input that is wrong, or only looks so: texts of every character, bytes that are no text, names of every kind, statements
with one mistake, values beyond the range of their type, files that are cut off. What is good comes back as it went in, over
every door and after a restart; what is bad is refused with the place where, and nothing of it stays behind.

Each kind is a table; a row is the input and what must come of it."""
import csv, http.client, io, json, subprocess, sys, urllib.parse

from lib.checks import print_again
from lib.server import Server

try:
    import psycopg
except ImportError:
    psycopg = None

# ------------------------------------------------------------------------------------------------ texts
# every control character but NUL, what JSON and CSV escape, what is two units of UTF-16, what combines or turns around
CHARACTERS = [chr(i) for i in [*range(1, 33), 0x22, 0x27, 0x2C, 0x3B, 0x5C, 0x7F, 0x80, 0x85, 0xA0, 0xAD, 0x301, 0x200B, 0x2028, 0x2029, 0x202E, 0xFEFF, 0xFFFD, 0xFFFF, 0x1F600]]
PHRASES = ["", " ", '""', "''", '"', "a\r\nb", "\\u0041", "null", "NULL", "\\N", "=1+1", "@x", "e\u0301", "x" * 5000, "😀" * 700, "%00", "&lt;", "{}", "[1]", "a\0b", "\0"]

# ------------------------------------------------------------------------------------------------ bytes that are no UTF-8
NO_TEXT = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\xf8\x88\x80\x80\x80"]

# ------------------------------------------------------------------------------------------------ names
# None: works; a text: part of the error. The first is of a table, the second of a column.
BAD_TABLE, BAD_COLUMN, SLASH, NUL, TAKEN = "invalid table name", "invalid column name", "'/' is not allowed", "unexpected character", "is reserved: the server has a relation of that name"
NAMES = [
    ("plain", None, None), ("select", None, None), ("Order", None, None), ("a b", None, None), ('a"b', BAD_TABLE, None), ("a'b", BAD_TABLE, None), ("a.b", None, None), ("a..b", BAD_TABLE, None),
    (".", BAD_TABLE, None), ("..", BAD_TABLE, None), ("../x", SLASH, None), ("/etc/x", SLASH, None), ("a/b", SLASH, None), ("a\\b", BAD_TABLE, None), ("C:\\x", BAD_TABLE, None), ("a:b", BAD_TABLE, None),
    ("a*", BAD_TABLE, None), ("a?b", BAD_TABLE, None), ("a%b", BAD_TABLE, None), ("a%2fb", BAD_TABLE, None), ("a,b", BAD_TABLE, None), ("a;b", None, None), ("a(b)", BAD_TABLE, None), ("~", BAD_TABLE, None),
    ("-", None, None), ("#x", None, None), ("x\0y", NUL, NUL), ("q\0", NUL, NUL), ("a\nb", BAD_TABLE, None), ("a\tb", BAD_TABLE, None), ("\x01", BAD_TABLE, None), ("\x7f", BAD_TABLE, None),
    ("😀", None, None), ("é", None, None), ("e\u0301", None, None), ("ﬃ", None, None), ("日本", None, None), ("\u202eb", None, None), ("\u200b", None, None), (" lead", BAD_TABLE, None), ("trail ", BAD_TABLE, None),
    ("  ", BAD_TABLE, None), ("", BAD_TABLE, BAD_COLUMN), ("x" * 127, None, None), ("x" * 128, BAD_TABLE, None), ("x" * 256, BAD_TABLE, BAD_COLUMN), ("x" * 1000, BAD_TABLE, BAD_COLUMN), ("é" * 63, None, None),
    ("é" * 64, BAD_TABLE, None), ("1", None, None), ("1a", None, None), ("$1", None, None), ("@x", None, None), ("null", None, None), ("true", None, None), ("pg_class", TAKEN, None), ("tables", TAKEN, None),
    ("[a]", None, None), ("`a`", None, None), ("a=b", None, None), ("con", None, None), ("x.d", None, None),
]

# ------------------------------------------------------------------------------------------------ statements
# @ stands where the error must point at; the text is part of the message
STATEMENTS = [
    ("create table @select (x int)", "double quotes"), ("create table bad (@from int)", "double quotes"), ("select @select from bi", "double quotes"), ("select 1 as @from", "double quotes"),
    ("insert into bi values (1@)", "expected=3, actual=1"), ("insert into bi values (1, 'a', '2024-01-01', 5@)", "expected=3, actual=4"), ("insert into @bi (a, b) values (1, 'a')", "must populate timestamp"),
    ("insert into bi (a, @a, ts) values (1, 2, 3)", "Duplicate column"), ("insert into bi values (1, 'a', @'nope')", "inconvertible value"), ("insert into bi values (1, 'a', @null)", "cannot be NULL"),
    ("insert into bi values (@'x', 'a', 0)", "inconvertible value"), ("insert into bi values (@99999999999, 'a', 0)", "inconvertible value"), ("insert into bi select 1, @1.5e300, 0::timestamp", "inconvertible"),
    ("select @abs() from bi", "requires arguments"), ("select @substring('a')", "it takes (TEXT, INT, INT), (TEXT, INT)"), ("select @split_part('a', ',')", "it takes"), ("select @starts_with('a')", "it takes"), ("select count@(* from bi", "unbalanced"), ("select @'a", "unclosed"), ('select @"a', "unclosed"), ("select @/* x", "unclosed comment"),
    ("@selec 1", "did you mean 'SELECT'?"), ("select a @form bi", "did you mean 'FROM'?"), ("select abs(1 @2)", "unexpected token [2]"), ("select a b @c from bi", "expected"), ("select 1@\0", "unexpected character"), ("select 1 \"a@\0b\"", "unexpected character"),
    # names that are not there, and the ones that are near
    ("select @prise from bi_near", "did you mean 'price'?"), ("select @t.amonut from bi_near t", None), ("select * from @bi_naer", "did you mean 'bi_near'?"), ("select price from bi_near where @pirce > 1", "did you mean 'price'?"),
    ("select price from bi_near order by @pric", "did you mean 'price'?"), ("select @bm.price from bi_near bn", "Invalid table name or alias, did you mean 'bn'?"), ("insert into @bi_nea values (1)", "did you mean 'bi_near'?"),
    ("insert into bi_near (@prce) values (1)", "did you mean 'price'?"), ("update @bi_neer set price = 1", "did you mean 'bi_near'?"), ("update bi_near set @prize = 1", "did you mean 'price'?"), ("delete from bi_near where @prize = 1", "did you mean 'price'?"),
    ("drop table @bi_nearr", "did you mean 'bi_near'?"), ("truncate table @bi_nearr", "did you mean 'bi_near'?"), ("rename table @bi_nearr to x", "did you mean 'bi_near'?"), ("alter table @bi_nearr add column z int", "did you mean 'bi_near'?"),
    ("alter table bi_near drop column @prico", "did you mean 'price'?"), ("alter table bi_near alter column @pricy type int", "did you mean 'price'?"), ("show columns from @bi_nearr", "did you mean 'bi_near'?"), ("show @datestile", "did you mean 'DateStyle'?"),
    ("create table bad (x @timestmap)", "did you mean 'TIMESTAMP'?"), ("create table bad (x @integre)", "did you mean 'integer'?"), ("select 1::@doubel", "did you mean 'DOUBLE'?"), ("select cast(1 as @varchra)", "did you mean 'VARCHAR'?"),
    ("select @nothing_like_it from bi_near", None), ("select * from @nothing_like_it", None),
    ("rename table bi to @\"a?b\"", BAD_TABLE), ("rename table bi to \"..@/x\"", SLASH), ("create view @\"a?b\" as (select 1 x)", BAD_TABLE), ("select 1 @\"\"", "must not be empty"), ("alter table bi add column @\"\" int", BAD_COLUMN),
    # types
    ("create table bad (x geohash@(61b))", "[1, 60] bits"), ("create table bad (x geohash@(0c))", "[1, 60] bits"), ("create table bad (x decimal@(77,1))", "precision (77)"), ("create table bad (x decimal@(5,6))", "scale (6)"),
    ("create table bad (x @int[])", "array element type"), ("create table bad (x @interval)", "non-persisted"), ("create table bad (x @long128)", "unsupported column type"), ("create table bad (x int, @X long)", "Duplicate column"),
    ("create table bad (x int, ts timestamp) timestamp(@tss)", "designated timestamp"), ("create table bad (x int) timestamp(@x)", "TIMESTAMP column expected"),
    ("create table bad as (@select interval('2024-01-01', '2024-01-02') i)", "non-persisted"), ("create table bad as (select 1 x), cast(x as @nope)", "unsupported column type"), ("select @abs(cast(-32768 as short))", "inconvertible value"),
    # literals and arithmetic beyond a range
    ("select @1e400", "invalid constant"), ("select @1e39f", "invalid constant"), ("select @0x" + "f" * 66, "invalid constant"), ("select @" + "9" * 77 + "m", None), ("select " + "9" * 76 + "m @+ 1m", "Overflow"), ("select " + "9" * 76 + "m @* 9m", "Overflow"),
    ("select cast(@123.456m as decimal(5,1))", "inconvertible value"), ("select @sum(x) from (select 9223372036854775807 x from long_sequence(2))", "range of LONG"), ("select @-(cast(-128 as byte))", "inconvertible value"),
    ("select cast(@'1.2.3.256' as ipv4)", "invalid IPv4"), ("select cast(@'zz' as uuid)", "invalid UUID"), ("select cast(@'u3' as geohash(6c))", "too short"), ("select cast(@#u33 as geohash(6c))", "cannot narrow"),
]

# ------------------------------------------------------------------------------------------------ files, lines
FILES = [  # bytes of a CSV file, part of the answer, rows of the table (None: it is not made)
    (b"", "OK", None), (b"\r\n\r\n", "OK", None), (b"x,y\r\n1,2\r\n", "OK", [[1, 2]]), (b"\xef\xbb\xbfx,y\r\n1,2\r\n", "OK", [[1, 2]]), (b'x,y\r\n1,"open\r\n', "line 2: a quote that is not closed", None), (b'x,y\r\n"', "line 2: a quote", None),
    (b"a,a\r\n1,2\r\n", "duplicate column name", None), (b'x,y\r\n1,"a\0b"\r\n', "OK", [[1, "a\0b"]]), (b'x,y\r\n1,"a""b"\r\n', "OK", [[1, 'a"b']]), (b'x,y\r\n1,"a\nb"\r\n', "OK", [[1, "a\nb"]]), (b"x,y\r\n1,a\xffb\r\n", "line 2, column y: bytes that are not UTF-8", None), (b"x,y\r\n" + b"1,2\r\n" * 1200 + "ü,3\r\n".encode(), 'line 1202, column x: \\"ü\\" is not', None), (b"x,y\r\n1,2\r\n3\r\n", "OK", [[1, 2], [3, None]]), (b"x,y\r\n1,2\r\n3,4,5\r\n", "line 3", None),
]
LINES = [b"bl,t\xff=a x=1i 1\n", b'bl x="a\xffb" 1\n', b"b\0l x=1i 1\n", b"bl a\0=1i 1\n", b"../bl x=1i 1\n", b"bl a/b=1i 1\n", b"bl x=1e400 1\n", b"bl x= 1\n", b"bl x=1x 1\n", b'bl x="open 1\n', b"bl x=1i,y=\xed\xa0\x80 1\n"]


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def text(value):
    return "'" + value.replace("'", "''") + "'"


class Bad:
    def __init__(self, server):
        self.s, self.passed, self.failed, self.part = server, 0, 0, ""

    def request(self, path, body=None):
        wire = http.client.HTTPConnection(self.s.http, timeout=60)
        wire.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/x-www-form-urlencoded"} if path == "/exec" else {})
        r = wire.getresponse()
        return r.status, r.read()

    def ask(self, sql):
        """Long statements go as a form. The answer is strict JSON, whatever it holds."""
        raw = sql if isinstance(sql, bytes) else sql.encode()
        status, body = self.request("/exec", "query=" + urllib.parse.quote(raw)) if len(raw) > 4000 else self.request("/exec?query=" + urllib.parse.quote(raw))
        answer = json.loads(body.decode("utf-8", "strict"), strict=True)
        return answer if status == 200 else {"status": status, **answer}

    def check(self, what, got, want):
        self.passed, self.failed = self.passed + (got == want), self.failed + (got != want)
        if got != want:
            print(f"{what[:300]!r}\n  got  {str(got)[:300]}\n  want {str(want)[:300]}", flush=True)
            print_again(self.part)
        return got == want

    def done(self, sql):
        got = self.ask(sql)
        return self.check(f"{sql}: {got.get('error')}", got.get("status"), None)

    # ---------------------------------------------------------------- texts
    def texts(self):
        self.values = [(c, c if len(c.encode("utf-16-le")) == 2 else None) for c in CHARACTERS] + [(p, p[0] if p else None) for p in PHRASES if "\0" not in p] + [(p, None) for p in PHRASES if "\0" in p]
        columns = "(k int, c char, s string, v varchar, y symbol, ts timestamp) timestamp(ts) partition by day"
        self.done(f"create table bi_text {columns}")
        self.done(f"create table bi_copy {columns}")
        for k, (v, c) in enumerate(self.values):
            char = "null" if c is None or ord(c) > 0xFFFF else text(c)
            self.done(f"insert into bi_text values ({k}, {char}, {text('<' + v + '>')}, {text(v)}, {text(v)}, {k})")
        self.texts_are_back("bi_text")
        status, exported = self.request("/exp?query=" + urllib.parse.quote("select * from bi_text"))
        rows = list(csv.reader(io.StringIO(exported.decode(), newline="")))
        self.check("CSV", [r[3] for r in rows[1:]], [v for v, _ in self.values])
        report = self.imported("bi_copy", exported)
        self.check(f"import of what was exported: {report[:300]}", json.loads(report).get("rowsImported"), len(self.values))
        self.texts_are_back("bi_copy")
        self.check("exported, imported and exported again", self.request("/exp?query=" + urllib.parse.quote("select * from bi_copy"))[1] == exported, True)
        for v, _ in self.values:
            got = self.ask(f"select count() from bi_text where y = {text(v)} and v = {text(v)}")
            self.check(f"found: {v!r} {got.get('error')}", (got.get("dataset") or [[0]])[0][0] >= 1, True)

    def texts_are_back(self, table):
        got = self.ask(f"select k, c, s, v, y from {table} order by k")
        want = [[k, "" if c is None or ord(c) > 0xFFFF else c, "<" + v + ">", v, v] for k, (v, c) in enumerate(self.values)]
        for g, w in zip(got.get("dataset", []), want):
            self.check(f"{table}: text {w[3]!r}", g, w)
        self.check(f"{table}: rows {got.get('error')}", len(got.get("dataset", [])), len(want))
        if psycopg is None:
            return
        with psycopg.connect(self.s.pg_dsn(), autocommit=True) as c:
            for binary in (False, True):
                rows = c.cursor(binary=binary).execute(f"select k, c, s, v, y from {table} order by k").fetchall()
                self.check(f"{table}: PG, binary {binary}", [list(r) for r in rows], [[w[0], w[1] or None, *w[2:]] for w in want])

    def imported(self, table, content):
        command = ["curl", "-sS", "-F", "data=@-", f"{self.s.url}/imp?name={table}&fmt=json&atomicity=abort&forceHeader=true"]
        return subprocess.run(command, input=content, capture_output=True).stdout.decode("utf-8", "strict")

    # ---------------------------------------------------------------- bytes
    def bytes_that_are_no_text(self):
        for b in NO_TEXT:
            for sql in (b"select '" + b + b"'", b"select " + b, b"select 1 \"" + b + b"\"", b"-- " + b + b"\nselect 1"):
                got = self.ask(sql)
                self.check(f"{sql!r} {got}", (got.get("status"), "UTF8" in got.get("error", "")), (400, True))
        got = self.ask("select 55296::char a, 57343::char b, 65535::char c, 0::char d, '😀'::char e")
        self.check("units that are no character", got.get("dataset"), [["?", "?", "\uffff", "", "?"]])
        if psycopg is None:
            return
        with psycopg.connect(self.s.pg_dsn(), autocommit=True) as c:
            for b in NO_TEXT:
                r = c.pgconn.exec_(b"select '" + b + b"'")
                self.check(f"PG {b!r}", r.error_field(psycopg.pq.DiagnosticField.SQLSTATE), b"22021")
                r = c.pgconn.exec_params(b"select $1", [b], param_types=[1043])
                self.check(f"PG parameter {b!r}", r.error_field(psycopg.pq.DiagnosticField.SQLSTATE), b"22021")
            self.check("PG goes on", c.execute("select 1").fetchone(), (1,))

    # ---------------------------------------------------------------- names
    def refused(self, sql, why, at=None):
        got = self.ask(sql)
        self.check(f"{sql}: {got}", (got.get("status"), why in got.get("error", ""), 0 <= got.get("position", -1) <= len(sql)), (400, True, True))

    def names(self):
        for name, table, column in NAMES:
            q = quote(name)
            make = f"create table {q} (x int, ts timestamp) timestamp(ts) partition by day"
            if table is not None:
                self.refused(make, table)
                self.refused(f"create table {q} as (select 1 x)", table)
                self.done("create table bi_old (x int)")
                self.refused(f"rename table bi_old to {q}", table)
                self.done("drop table bi_old")
            elif self.done(make):
                self.life_of_table(name, q)
            if column is not None:
                self.refused(f"create table bi_c ({q} int)", column)
                self.done("create table bi_c (x int)")
                self.refused(f"alter table bi_c add column {q} int", column)
                self.refused(f"alter table bi_c rename column x to {q}", column)
                self.check("nothing half done", self.ask("select * from bi_c")["columns"], [{"name": "x", "type": "INT"}])
                self.done("drop table bi_c")
            else:
                self.life_of_column(name, q)
        left = {r[0] for r in self.ask("select table_name from tables()")["dataset"]}
        self.check("no table is left of what was refused", {n for n, t, _ in NAMES if t is not None} & left, set())

    def life_of_table(self, name, q):
        self.done(f"insert into {q} values (1, 0)")
        self.check(f"select from {name}", self.ask(f"select x from {q}").get("dataset"), [[1]])
        for sql in (f"show columns from {q}", f"show create table {q}", f"show partitions from {q}", f"select * from table_columns({text(name)})", f"rename table {q} to bi_renamed", f"rename table bi_renamed to {q}", f"truncate table {q}"):
            self.done(sql)
        self.check(f"listed: {name}", self.ask(f"select table_name from tables() where table_name = {text(name)}").get("dataset"), [[name]])
        again = self.ask(f"create table {quote(name.swapcase())} (x int)")
        if name.isascii() and name.swapcase() != name:
            self.check(f"case does not tell names apart: {name}", again.get("error"), f"table already exists [table={name.swapcase()}]")
        elif "status" not in again and name.swapcase() != name:
            self.done(f"drop table {quote(name.swapcase())}")
        self.done(f"drop table {q}")

    def life_of_column(self, name, q):
        self.done(f"create table bi_c ({q} int, ts timestamp) timestamp(ts) partition by day")
        self.done(f"insert into bi_c ({q}, ts) values (7, 0)")
        for sql in (f"select {q} from bi_c", f"select {q} from bi_c where {q} = 7 order by {q}", f"select c.{q} from bi_c c", f"select {q} from bi_c latest on ts partition by {q}"):
            got = self.ask(sql)
            self.check(sql, ([c["name"] for c in got.get("columns", [])], got.get("dataset")), ([name], [[7]]))
        self.done(f"update bi_c set {q} = 8")
        self.check(f"SHOW COLUMNS: {name}", self.ask("select \"column\" from (show columns from bi_c) limit 1").get("dataset"), [[name]])
        status, body = self.request("/exp?query=select+*+from+bi_c")
        self.check(f"CSV header: {name}", next(csv.reader(io.StringIO(body.decode(), newline="")))[0], name)
        for sql in (f"alter table bi_c rename column {q} to bi_x", f"alter table bi_c rename column bi_x to {q}", f"alter table bi_c alter column {q} type long", f"alter table bi_c drop column {q}", "drop table bi_c"):
            self.done(sql)

    # ---------------------------------------------------------------- statements
    def statements(self):
        self.done("create table bi (a int, b string, ts timestamp) timestamp(ts) partition by day")
        self.done("create table bi_near (price double, ts timestamp) timestamp(ts) partition by day")
        for marked, why in STATEMENTS:
            at = marked.index("@")
            sql = marked[:at] + marked[at + 1:]
            got = self.ask(sql)
            if not self.check(f"{sql}: {got}", (got.get("status"), got.get("position")), (400, at)):
                continue
            self.check(f"{sql}: {got['error']}", "did you mean" not in got["error"] if why is None else why in got["error"], True)
        self.check("nothing was written", [self.ask(f"select count() from {t}")["dataset"] for t in ("bi", "bi_near")], [[[0]], [[0]]])

    # ---------------------------------------------------------------- files, lines
    def files(self):
        for content, part, rows in FILES:
            report = self.imported("bi_file", content)
            self.check(f"{content!r}: {report[:200]}", part in report, True)
            got = self.ask("select * from bi_file")
            self.check(f"rows of {content!r}", got.get("dataset"), rows)
            self.ask("drop table if exists bi_file")
        for line in LINES:
            status, body = self.request("/write?precision=n", line)
            answer = json.loads(body.decode("utf-8", "strict")) if body else {}
            self.check(f"{line!r}: {answer}", (status, answer.get("line")), (400, 1))
        self.check("no table is made by a bad line", self.ask("select count() from tables() where table_name = 'bl'")["dataset"], [[0]])

    def nothing_outside(self):
        """Names never reach the file system: what lies in the data directory has names of the server."""
        inside = {p.relative_to(self.s.root).parts[0] for p in self.s.root.rglob("*")}
        self.check("top of the data directory", inside - {"conf", "db", "import", "server.log"}, set())
        self.check("directories of tables are numbers", [p.name for p in (self.s.root / "db" / "tables").iterdir() if not p.name.isdigit()], [])

    def restart(self):
        """What the other parts have made is there afterwards."""
        alone = [name for name, table, _ in NAMES if table is None]
        for name in alone:
            self.done(f"create table {quote(name)} ({quote(name)} int)")
        self.s.stop()
        self.s.start()
        self.texts_are_back("bi_text")
        for name in alone:
            self.check(f"after a restart: {name}", self.ask(f"select * from {quote(name)}").get("columns"), [{"name": name, "type": "INT"}])


def main():
    preset = next((a.split("=")[1] for a in sys.argv if a.startswith("--preset=")), "release")
    with Server(preset=preset) as s:
        b = Bad(s)
        chosen = [a for a in sys.argv[1:] if not a.startswith("--")]
        for part in (b.texts, b.bytes_that_are_no_text, b.names, b.statements, b.files, b.nothing_outside, b.restart):
            if not chosen or part.__name__ in chosen or (part == b.texts and "restart" in chosen):
                b.part = part.__name__
                part()
    if psycopg is None:
        print("skipped: the PostgreSQL wire: psycopg is not installed")
    print(f"{b.passed} passed, {b.failed} failed")
    sys.exit(b.failed > 0)


if __name__ == "__main__":
    main()
