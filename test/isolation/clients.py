"""Clients that write down what they asked and what they were told (history.py), over each interface. What they ask is in statements.py.

A connection that breaks while the commit is under way leaves a transaction whose outcome nobody knows; one that breaks before has rolled back.
"""
import csv, http.client, itertools, json, random, socket, threading, time, urllib.parse

from history import ABSENT, BACK, FAIL, INFO, OK, READ, SAVEPOINT, WRITE, Statement, Transaction
from lib.pgclient import SYNC, Closed, Wire, bind, cells, execute, fields, msg, parse, query
from statements import (LINES, TABLES, VIEWS, Asked, a_copy, a_refresh, a_replacement, a_select, an_insert, an_insert_select, an_update,
                        any_statement, missing_in, part_of, rows_of, seconds_of, select, select_view)

ACTIVE, USES = 6, 60  # keys of a table in use at a time; uses of a key before the next takes its place
BROKEN = (OSError, http.client.HTTPException, Closed)


class World:
    """What the clients of one round share."""

    def __init__(self, server, seed, made):
        self.server, self.seed, self.made = server, seed, made  # `made`: keys that have a row in u0, r0 and x0
        self.tick = itertools.count(1).__next__  # atomic
        self.value, self.process = itertools.count(1).__next__, itertools.count(1).__next__
        self.history, self.problems, self.uses = [], [], {t: 0 for t in TABLES}
        self.conflicts = self.absences = 0
        self.sources, self.told, self.views = {}, {}, False  # of elements that carry what was read: the keys, and the values as they were told first
        self.up, self.ending = threading.Event(), threading.Event()
        self.up.set()

    def key(self, rng, table):
        self.uses[table] += 1
        first = min(self.uses[table] // USES, self.made - ACTIVE)
        return TABLES[table], table, first + rng.randrange(ACTIVE)

    def keys(self):
        return [(kind, t, n) for t, kind in TABLES.items() for n in range(min(self.uses[t] // USES + ACTIVE, self.made))]


# ---------------------------------------------------------------------------------- clients
class Refused(Exception):
    """The server answered with an error; the transaction is rolled back. `missing` is the table that was not there, or whose column was not."""

    def __init__(self, text, missing=None):
        super().__init__(text)
        self.missing = missing


class Client(threading.Thread):
    interface = ""

    def __init__(self, world, number):
        super().__init__(daemon=True)
        self.world, self.rng = world, random.Random(f"{world.seed} {type(self).__name__} {number}")
        self.process, self.link = world.process(), None

    def run(self):
        while not self.world.ending.is_set():
            if not self.world.up.wait(0.2):
                continue
            try:
                if self.link is None:
                    self.connect()
                self.once()
            except BROKEN as e:
                self.link = None
                if self.world.up.is_set() and not self.killed_since():
                    self.world.problems.append(f"{type(self).__name__}: {type(e).__name__} {e}")
                    time.sleep(0.2)
            except Exception as e:  # noqa: BLE001 - each is reported
                self.world.problems.append(f"{type(self).__name__}: {type(e).__name__} {str(e)[:600]}")
                return

    def killed_since(self):
        """A connection may break a moment before the killer says so."""
        time.sleep(0.3)
        return not self.world.up.is_set() or self.generation != self.world.server.generation

    def begin(self):
        t = Transaction(self.process, self.interface, FAIL, generation=self.generation)
        self.world.history.append(t)
        return t

    def note(self, t, asked):
        s = Statement(asked.kind, self.world.tick(), None, {}, asked.writes, {}, asked.of)
        t.statements.append(s)
        return s

    def refused(self, code, text):
        missing = missing_in(text)
        if missing is not None and code in ("42P01", "42703", 400):
            self.world.absences += 1
            raise Refused(text, missing)
        if code not in ("40001", 409):
            raise AssertionError(f"{code} {text}")
        self.world.conflicts += 1
        raise Refused(text)

    def note_refusal(self, t, refusal):
        if refusal.missing is not None:
            t.statements.append(Statement(ABSENT, t.statements[-1].invoked, self.world.tick(), of=[(refusal.missing, None)]))

    def at_once(self, asked, send):
        """Statements that go in one request and are one transaction. send(asked) gives the rows of each, or None where they are not told."""
        t = self.begin()
        noted = [self.note(t, a) for a in asked]
        t.commit_invoked = noted[0].invoked
        for s in noted:
            s.invoked = t.commit_invoked
        try:
            rows = send(asked)
        except BROKEN:
            self.unknown(t)
            raise
        except Refused as e:
            self.note_refusal(t, e)
            return
        t.status, t.commit_completed = OK, self.world.tick()
        for a, s, of in zip(asked, noted, rows):
            s.completed = t.commit_completed
            a.tell(self.world, s, of)

    def unknown(self, t):
        if any(s.writes for s in t.statements):
            t.status = INFO
        self.process = self.world.process()


class Pg(Client):
    def connect(self):
        self.generation = self.world.server.generation
        self.link = Wire(self.world.server.pg)

    def answers(self, *messages):
        """The rows of each statement that was complete."""
        self.link.send(*messages)
        return self.told()

    def run_one(self, asked):
        """The rows of one statement, or of the last of two."""
        if asked.copied is None:
            return self.answers(query(asked.sql))[-1]
        self.link.send(query(asked.sql), msg(b"d", asked.copied), msg(b"c"))
        self.told()
        return []

    def told(self):
        rows, done, error = [], [], None
        for kind, body in self.link.until_ready():
            if kind == "D":
                rows.append([None if c is None else c.decode() for c in cells(body)])
            elif kind == "C":
                done.append(rows)
                rows = []
            elif kind == "E":
                error = fields(body)
        if error is not None:
            self.refused(error["C"], error["M"])
        return done


class PgBlock(Pg):
    interface = "pg block"

    def once(self):
        t, rng = self.begin(), self.rng
        read_only = rng.random() < 0.2
        self.answers(query("begin read only" if read_only else "begin"))
        self.marks = 0
        try:
            for _ in range(rng.randint(1, 5)):
                make = a_select if read_only else a_copy if rng.random() < 0.1 else any_statement
                self.step(t, make(self.world, rng))
            if not read_only and rng.random() < 0.1:
                self.look_slowly(t)
            self.end(t)
        except Refused as e:
            self.note_refusal(t, e)
            self.answers(query("rollback"))

    def look_slowly(self, t):
        """A cursor sees the state of its DECLARE, whatever the block writes before the rows are fetched."""
        asked = a_select(self.world, self.rng)
        s = self.note(t, asked)
        self.answers(query(f"declare c cursor for {asked.sql}"))
        s.completed = self.world.tick()
        self.marks = 0  # going back behind the DECLARE would end the cursor
        rows = self.answers(query("fetch 3 from c"))[0]
        for _ in range(self.rng.randint(0, 2)):
            self.step(t, any_statement(self.world, self.rng))
        while more := self.answers(query("fetch 5 from c"))[0]:
            rows += more
        asked.tell(self.world, s, rows)
        self.answers(query("close c"))

    def step(self, t, asked):
        chance = self.rng.random()
        if chance < 0.08:
            self.mark(t, SAVEPOINT, "savepoint a")
            self.marks += 1
        elif chance < 0.16 and self.marks:
            self.mark(t, BACK, "rollback to a")
        s = self.note(t, asked)
        rows = self.run_one(asked)
        s.completed = self.world.tick()
        asked.tell(self.world, s, rows)

    def mark(self, t, kind, sql):
        s = self.note(t, Asked(kind, sql))
        self.answers(query(sql))
        s.completed = self.world.tick()

    def end(self, t):
        chance = self.rng.random()
        if chance < 0.02:
            self.link.s.close()  # what a block wrote goes with its connection
            self.link = None
        elif chance < 0.15:
            self.roll_back(t)
        else:
            self.commit(t)

    def roll_back(self, t):
        self.answers(query("rollback"))

    def commit(self, t):
        t.commit_invoked = self.world.tick()
        try:
            self.answers(query("commit"))
        except BROKEN:
            self.unknown(t)
            raise
        t.status, t.commit_completed = OK, self.world.tick()


class PgStatement(Pg):
    """Each statement is a transaction; some are prepared once for the connection."""
    interface = "pg statement"

    def connect(self):
        super().connect()
        self.prepared = set()

    def once(self):
        if self.rng.random() < 0.2:
            table = self.rng.choice(list(TABLES))
            key = self.world.key(self.rng, table)
            self.at_once([Asked(READ, table, [key])], self.look_prepared)
            return
        make = a_copy if self.rng.random() < 0.1 else any_statement
        self.at_once([make(self.world, self.rng)], lambda asked: [self.run_one(asked[0])])

    def look_prepared(self, asked):
        table, number = asked[0].keys[0][1:]
        first = [] if table in self.prepared else [parse(table, part_of(table, "k = $1"))]
        self.prepared.add(table)
        return self.answers(*first, bind("", table, (str(number).encode(),)), execute(), SYNC)


class PgText(Pg):
    """Several statements in one text, or in one pipeline, are a transaction."""
    interface = "pg text"

    def once(self):
        asked = [any_statement(self.world, self.rng) for _ in range(self.rng.randint(2, 4))]
        self.at_once(asked, self.rng.choice((self.text, self.pipeline)))

    def text(self, asked):
        return rows_of(asked, self.answers(query("; ".join(a.sql for a in asked))))

    def pipeline(self, asked):
        return rows_of(asked, self.answers(*(m for a in asked for text in a.texts for m in (parse("", text), bind(), execute())), SYNC))


class Http(Client):
    """A request is a transaction; of several statements only the rows of the last are told."""
    interface = "http"

    def connect(self):
        self.generation = self.world.server.generation
        self.link = http.client.HTTPConnection(*self.world.server.http.rsplit(":", 1), timeout=60)

    def ask(self, path, body, kind):
        self.link.request("POST", path, body, {"Content-Type": kind})
        r = self.link.getresponse()
        text = r.read().decode()
        if r.status not in (200, 204):
            self.refused(r.status, text)
        return text

    def statements(self, asked):
        text = self.ask("/exec", "query=" + urllib.parse.quote_plus("; ".join(a.sql for a in asked)), "application/x-www-form-urlencoded")
        return [None] * (len(asked) - 1) + [json.loads(text).get("dataset", [])]

    def exported(self, asked):
        self.link.request("GET", "/exp?query=" + urllib.parse.quote_plus(asked[0].sql))
        r = self.link.getresponse()
        text = r.read().decode()
        if r.status != 200:
            self.refused(r.status, text)
        return [[[cell or None for cell in row] for row in csv.reader(text.splitlines()[1:])]]

    def once(self):
        if self.rng.random() < 0.15:
            self.at_once([a_select(self.world, self.rng)], self.exported)
            return
        asked = [self.rng.choice((an_insert, an_update, a_replacement, an_insert_select))(self.world, self.rng) for _ in range(self.rng.choice((0, 0, 1, 2)))]
        asked.append(any_statement(self.world, self.rng, 0.6))
        self.at_once(asked, self.statements)


class Lines(Http):
    """Lines of several tables, mixed, in one request; and statements between, so that the session sees what it wrote."""
    interface = "lines"

    def once(self):
        if self.rng.random() < 0.5:
            self.at_once([a_select(self.world, self.rng)], self.statements)
            return
        writes = {}
        for _ in range(self.rng.choice((1, 2, 5, 9))):
            writes.setdefault(self.world.key(self.rng, self.rng.choice(LINES)), []).append(self.world.value())
        text = [f"{k[1]} k={k[2]}i,v={v[0]}i {seconds_of(k[2])}000000000\n" for k, v in writes.items()]
        self.at_once([Asked(WRITE, "".join(text), (), [(k, v[0]) for k, v in writes.items()])], self.send)

    def send(self, asked):
        self.ask("/write", asked[0].sql, "text/plain")
        return [[]]


class Stream(Client):
    """Lines over TCP: nothing is answered, and what is stored is the beginning of what was sent. Each line is a transaction of which nobody knows whether it
    is there before it is seen, and a session has them in their order."""
    interface = "stream"

    def connect(self):
        self.generation, self.process = self.world.server.generation, self.world.process()
        host, port = self.world.server.line.rsplit(":", 1)
        self.link = socket.create_connection((host, int(port)), timeout=30)

    def once(self):
        text = []
        for _ in range(self.rng.choice((1, 1, 3, 8))):
            key, value = self.world.key(self.rng, self.rng.choice(LINES)), self.world.value()
            t = self.begin()
            s = self.note(t, Asked(WRITE, "", (), [(key, value)]))
            t.status, t.commit_invoked = INFO, s.invoked
            text.append(f"{key[1]} k={key[2]}i,v={value}i {seconds_of(key[2])}000000000\n")
        self.link.sendall("".join(text).encode())
        self.world.ending.wait(self.rng.random() * 0.02)


def read_all(world):
    """The last session sees every key; every view is refreshed and sees them, too."""
    c, keys = PgStatement(world, 0), world.keys()
    c.connect()
    look = lambda asked: c.at_once([asked], lambda asked: [c.run_one(asked[0])])
    for view in VIEWS if world.views else ():
        look(a_refresh(view, "incremental"))
    for i in range(0, len(keys), 100):
        part = keys[i:i + 100]
        look(Asked(READ, select(part), part))
        for view, table in VIEWS.items() if world.views else ():
            if seen := [k for k in part if k[1] == table]:
                look(select_view(view, seen))
    c.link.close()
