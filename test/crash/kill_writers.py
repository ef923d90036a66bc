"""Writers of the kill test: each a thread that sends requests of one kind until the server is killed, or complains if one is
refused before that. What they asked and what was acknowledged stands in the journal (kill_rows.py)."""
import http.client, json, logging, socket, threading, time, urllib.parse

import psycopg

from kill_rows import NAMES, Row, csv, lines, made, sql_insert

PLAIN = ("k", "l")
logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # it warns of connections that the kill ended


class Refused(Exception):
    """The server answered, and it was no yes."""


class Http:
    """One connection that is kept."""

    def __init__(self, server):
        self.c = http.client.HTTPConnection(*server.http.rsplit(":", 1), timeout=60)

    def ask(self, method, path, body=None, headers=None):
        self.c.request(method, path, body, headers or {})
        r = self.c.getresponse()
        text = r.read()
        if r.status not in (200, 204):
            raise Refused(f"{r.status} {text[:300]!r}")
        return text

    def exec(self, sql):
        body = "query=" + urllib.parse.quote_plus(sql)
        return json.loads(self.ask("POST", "/exec", body, {"Content-Type": "application/x-www-form-urlencoded"}))

    def write(self, text):
        self.ask("POST", "/write", text.encode())

    def imp(self, table, text):
        mark = "--------kill"
        body = f'--{mark}\r\nContent-Disposition: form-data; name="data"; filename="x.csv"\r\n\r\n{text}\r\n--{mark}--\r\n'
        answer = json.loads(self.ask("POST", f"/imp?name={table}&fmt=json&forceHeader=true&atomicity=abort", body.encode(),
                                     {"Content-Type": f"multipart/form-data; boundary={mark}"}))
        if answer.get("status") != "OK" or answer["rowsRejected"]:
            raise Refused(str(answer)[:300])


def copy_stdin(c, table, rows):
    with c.cursor() as cur, cur.copy(f"copy {table} ({NAMES}) from stdin (format csv, header)") as copy:
        copy.write(csv(rows))


def copy_file(server, web, table, name, rows):
    folder = server.root / "import"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(csv(rows))
    number = web.exec(f"copy {table} from '{name}' with header true on error abort")["dataset"][0][0]
    while True:
        found = web.exec(f"select status, message from sys.text_import_log where id = '{number}' and status <> 'started'")["dataset"]
        if found:
            (folder / name).unlink()
            if found[0][0] != "finished":
                raise Refused(str(found))
            return
        time.sleep(0.003)


class Writer(threading.Thread):
    kind, most, pause = "", 30, 0.004

    def __init__(self, server, journal, ending):
        super().__init__(daemon=True)
        self.server, self.journal, self.ending, self.problems = server, journal, ending, []
        self.rng = journal.rng(self.kind)

    def run(self):
        try:
            self.begin()
            while not self.ending.is_set():
                self.once()
                time.sleep(self.rng.random() * self.pause * 2)
        except (OSError, http.client.HTTPException, psycopg.Error, ValueError, Refused) as e:
            if not self.ending.is_set():
                self.problems.append(f"{self.kind}: refused while the server ran: {type(e).__name__} {str(e)[:400]}")

    def begin(self):
        self.web = Http(self.server)

    def pg(self):
        self.c = psycopg.connect(self.server.pg_dsn(), autocommit=True)

    def size(self):
        return self.rng.choice([1, 7, self.rng.randint(1, self.most)])

    def request(self, *tables):
        """One request over these tables: (Asked, {table: rows})"""
        a = self.journal.ask(self.kind, {t: self.size() for t in tables})
        return a, {t: made(self.rng, self.kind, a.r, n) for t, n in a.tables.items()}

    def once(self):
        table = self.rng.choice(PLAIN)
        a, rows = self.request(table)
        self.send(table, rows[table])
        self.journal.ack(a)


class HttpInsert(Writer):
    kind = "http"

    def send(self, table, rows):
        self.web.exec(sql_insert(table, rows))


class LineHttp(Writer):
    """Several tables, their lines mixed: all of the request or none."""
    kind = "line_http"

    def once(self):
        a, rows = self.request(*PLAIN)
        text = "".join(lines(t, rows[t]) for t in PLAIN).splitlines(keepends=True)
        self.rng.shuffle(text)
        self.web.write("".join(text))
        self.journal.ack(a)


class LineTcp(Writer):
    """Nothing is acknowledged: what was seen once stays, and what is there is the beginning of what was sent."""
    kind, pause = "line_tcp", 0.01

    def begin(self):
        super().begin()
        self.r, self.sent = next(self.journal.numbers), 0
        host, port = self.server.line.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.journal.streams[self.r] = (0, 0)

    def once(self):
        n = self.rng.randint(1, 60)
        rows = [Row(row.us, self.kind, self.r, self.sent + i) for i, row in enumerate(made(self.rng, self.kind, self.r, n))]
        seen = self.journal.streams[self.r][1]
        self.journal.streams[self.r] = (self.sent + n, seen)
        self.socket.sendall(lines("t", rows).encode())
        self.sent += n
        if self.rng.random() < 0.3:
            self.look(seen)

    def look(self, seen):
        n, last = self.web.exec(f"select count(), max(i) from t where r = {self.r}")["dataset"][0]
        if n and n != last + 1 or n < seen or n > self.sent:
            self.problems.append(f"line_tcp: {n} rows of {self.sent} sent are seen, the last is {last}, before there were {seen}")
        self.journal.streams[self.r] = (self.sent, n)


class PgSimple(Writer):
    """A statement, or a text of two, which is one transaction."""
    kind = "pg_simple"

    def begin(self):
        self.pg()

    def once(self):
        a, rows = self.request(*(PLAIN if self.rng.random() < 0.3 else [self.rng.choice(PLAIN)]))
        self.c.execute("; ".join(sql_insert(t, rows[t]) for t in rows))
        self.journal.ack(a)


class PgPipeline(Writer):
    """Prepared, several statements on the way at once: up to their Sync they are one transaction."""
    kind, most = "pg_pipeline", 8

    def begin(self):
        self.pg()

    def once(self):
        a, rows = self.request(*PLAIN)
        with self.c.pipeline():
            for table in PLAIN:
                for row in rows[table]:
                    self.c.execute(f"insert into {table} ({NAMES}) values (%s, %s, %s, %s, %s, %s, %s)", row.values(), prepare=True)
        self.journal.ack(a)


class PgBlock(Writer):
    """Transactions over two tables; some are rolled back."""
    kind = "pg_block"

    def begin(self):
        self.pg()

    def once(self):
        a, rows = self.request(*PLAIN)
        a.never = self.rng.random() < 0.15
        self.c.execute("begin")
        for table in PLAIN:
            half = len(rows[table]) // 2
            for some in (rows[table][:half], rows[table][half:]):
                if some:
                    self.c.execute(sql_insert(table, some))
        self.c.execute("rollback" if a.never else "commit")
        if not a.never:
            self.journal.ack(a)


class Import(Writer):
    """Some go through the log, some are written as parts."""
    kind, most, pause = "imp", 4000, 0.02

    def send(self, table, rows):
        self.web.imp(table, csv(rows))


class CopyStdin(Writer):
    kind, most, pause = "copy_stdin", 4000, 0.02

    def begin(self):
        self.pg()

    def send(self, table, rows):
        copy_stdin(self.c, table, rows)


class CopyFile(Writer):
    kind, most, pause = "copy_file", 4000, 0.03

    def send(self, table, rows):
        copy_file(self.server, self.web, table, f"{rows[0].r}.csv", rows)


# ------------------------------------------------------------------------------------------------ a table with keys

class Keys:
    """What a client knows of its keys in the table with DEDUP UPSERT KEYS: the value that was acknowledged last, and what
    requests on the way may have made of it."""

    def __init__(self, kind, n, rng):
        self.kind = kind
        self.times = [row.us for row in made(rng, kind, 1, n)]
        self.known, self.sent, self.pending = {}, [], None

    def rows(self, request):
        r, keys = request
        return [Row(self.times[i], self.kind, r, i) for i in keys]

    def begin(self, r, keys):
        self.pending = (r, keys)
        self.sent = [*self.sent[-4:], self.pending]
        return self.rows(self.pending)

    def acked(self):
        r, keys = self.pending
        self.known.update(dict.fromkeys(keys, r))
        self.pending = None

    def settle(self, took):
        """After a restart: was the request on the way taken?"""
        if took:
            self.acked()
        self.pending = None


class Upsert(Writer):
    """Requests for the same keys again and again, each way in turn; after a restart the last ones are sent once more."""
    kind = "upsert"
    ways = ("http", "line", "imp", "pg", "copy_stdin", "copy_file")

    def __init__(self, server, journal, ending, keys):
        super().__init__(server, journal, ending)
        self.keys, self.rng = keys, journal.rng(keys.kind)

    def begin(self):
        super().begin()
        self.pg()

    def once(self):
        many = self.rng.random() < 0.1
        n = len(self.keys.times)
        keys = self.rng.sample(range(n), self.rng.randint(n // 2, n) if many else self.rng.randint(1, 20))
        self.send("d", self.keys.begin(next(self.journal.numbers), keys))
        self.keys.acked()

    def send(self, table, rows):
        way = self.rng.choice(self.ways)
        if way == "http":
            self.web.exec(sql_insert(table, rows))
        elif way == "line":
            self.web.write(lines(table, rows))
        elif way == "imp":
            self.web.imp(table, csv(rows))
        elif way == "pg":
            self.c.execute(sql_insert(table, rows))
        elif way == "copy_stdin":
            copy_stdin(self.c, table, rows)
        else:
            copy_file(self.server, self.web, table, f"{self.keys.kind}.csv", rows)

    def again(self):
        """The last requests, in order, acknowledged before or not."""
        self.begin()
        for r, keys in list(self.keys.sent):
            self.send("d", self.keys.rows((r, keys)))
            self.keys.known.update(dict.fromkeys(keys, r))


# ------------------------------------------------------------------------------------------------ rows that change

class Edited:
    """The rows of table u as its only client knows them: {n: v}; `after`: as the statement under way makes them, and the
    request in table l that goes with it (0: none)."""

    def __init__(self):
        self.rows, self.after, self.beside, self.serial = {}, None, 0, 0


class Editor(Writer):
    """INSERT, UPDATE and DELETE, alone and in transactions that also write to another table."""
    kind, pause = "edit", 0.01

    def __init__(self, server, journal, ending, model):
        super().__init__(server, journal, ending)
        self.model = model

    def begin(self):
        super().begin()
        self.pg()

    def change(self, rows):
        """A statement, and the rows it makes of these."""
        rng = self.rng
        kind = rng.choice(["insert"] * 3 + ["update", "update", "delete"] if len(rows) < 1500 else ["delete"])
        by, rest = rng.randint(3, 9), rng.randint(0, 2)
        hit = [n for n in rows if n % by == rest]
        after = dict(rows)
        if kind == "update":
            add = rng.randint(1, 100)
            after.update({n: rows[n] + add for n in hit})
            return f"update u set v = v + {add} where n % {by} = {rest}", after
        if kind == "delete":
            for n in hit:
                del after[n]
            return f"delete from u where n % {by} = {rest}", after
        first, self.model.serial = self.model.serial, self.model.serial + rng.randint(1, 60)
        new = made(rng, self.kind, first + 1, self.model.serial - first)
        after.update({first + row.i: row.i for row in new})
        return "insert into u (ts, n, v) values " + ",".join("('%s',%d,%d)" % (row.values()[0], first + row.i, row.i) for row in new), after

    def once(self):
        block = self.rng.random() < 0.4
        rows, statements = self.model.rows, []
        for _ in range(self.rng.randint(2, 4) if block else 1):
            sql, rows = self.change(rows)
            statements.append(sql)
        a = None
        if block:
            a, beside = self.request("l")
            statements = ["begin", *statements, sql_insert("l", beside["l"]), "commit"]
        self.model.beside = a.r if a else 0
        self.model.after = rows
        for sql in statements:
            if block or self.rng.random() < 0.5:
                self.c.execute(sql)
            else:
                self.web.exec(sql)
        self.model.rows, self.model.after = rows, None
        if a:
            self.journal.ack(a)


PLAIN_WRITERS = (HttpInsert, LineHttp, LineTcp, PgSimple, PgPipeline, PgBlock, Import, CopyStdin, CopyFile)
