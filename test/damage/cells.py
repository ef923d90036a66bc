"""A cell of the matrix: a copy of the directory, a damage, an action, and every answer compared with the known one."""
import http.client, json, pathlib, random, shutil, urllib.parse

import known as k, kinds
from allowed import allowed
from files import program, records, segments

TIMES, ACTIONS = ("stopped", "before", "after"), ("read", "rewrite", "backup", "restart")
NOT_THERE, RIGHT, REFUSED, START_REFUSED, CUT, WINDOW = "not applicable", "right", "refused", "start refused", "log cut", "window"
OUTCOMES = (RIGHT, REFUSED, START_REFUSED, CUT, WINDOW, NOT_THERE)


class Violation(Exception):
    pass


class Ended(Exception):
    """The process of the server."""


class Client:
    """/exec over one connection."""

    def __init__(self, s):
        self.s, self.connection = s, http.client.HTTPConnection(s.http, timeout=60)

    def rows(self, sql):
        """Rows, or the text of an error."""
        try:
            self.connection.request("GET", "/exec?" + urllib.parse.urlencode({"query": sql}))
            answer = json.loads(self.connection.getresponse().read())
        except (ConnectionError, http.client.HTTPException) as e:
            raise Ended(f"the server ends at: {sql[:100]}: {e!r}") from None
        return answer["error"] if "error" in answer else answer.get("dataset", [])


class Cell:
    def __init__(self, dbs, kind, damage, time, action, place, lie=None):
        self.dbs, self.kind, self.damage, self.time, self.action, self.place, self.lie = dbs, kind, damage, time, action, place, lie
        self.rng = random.Random(f"{kind.name}/{damage}/{time}/{action}/{place}")
        self.allowed = allowed(kind.name, damage, time, action)
        self.known, self.s, self.wrong, self.closed, self.outcomes, self.originals = dbs.known.copy(), None, [], False, set(), {}
        self.in_place = time == "after" and damage in ("bit", "zero", "truncated", "longer") or self.rng.randrange(2) == 0
        self.window, self.clean_stops, self.env, self.base = False, 0, {}, kind.base
        if self.base == "here-held":
            self.known = dbs.held.states[-1].copy()

    @property
    def name(self):
        return f"{self.kind.name}/{self.damage}/{self.time}/{self.action}/{self.place}"

    # ------------------------------------------------------------------------- the steps

    def run(self):
        """The worst outcome; raises Violation."""
        if self.time not in self.kind.times:
            return NOT_THERE
        self.root = self.dbs.copy(self.base, self.kind.whose in (kinds.BACKUP, kinds.ARCHIVE))
        try:
            if self.steps() == NOT_THERE:
                return NOT_THERE
        except Ended as e:
            self.fail(f"{e}; {self.s.tail()[-300:]}")
        finally:
            if self.s is not None and self.s.process is not None:
                self.s.kill()
            shutil.rmtree(self.root, ignore_errors=True)
        return max(self.outcomes or {RIGHT}, key=OUTCOMES.index)

    def fail(self, why):
        raise Violation(f"{self.name}: {why}")

    def steps(self):
        if self.time != "stopped":
            self.start()
        if self.kind.held:
            self.hold()
        if self.time == "after":
            self.compare("before the damage")
            for name in k.TABLES:
                self.ask(f"select * from {name} where length(v) < 0 or d < -1e300 or s = 'none' or id < -10")
        if not self.strike():
            return NOT_THERE
        if self.time == "stopped" and not self.start():
            return self.mend("refused")
        return getattr(self, self.action)()

    def hold(self):
        if self.time == "stopped":
            self.start()
        self.run_all("checkpoint create")
        if self.time == "stopped":
            self.s.kill()

    def run_all(self, *statements):
        for sql in statements:
            said = self.ask(sql)
            if isinstance(said, str):
                self.fail(f"{sql}: {said}")

    def strike(self):
        if self.kind.prepare:
            self.kind.prepare(self.root)
        try:
            target = self.kind.pick(self.root, self.rng)
        except FileNotFoundError:
            if self.kind.whose != kinds.NOTHING or self.time == "stopped":
                raise
            return False  # the server has removed what a crash left
        for path in (target.path, target.partner and target.partner.path):
            if path is not None:
                self.originals[path] = path.read_bytes()
        wrong = kinds.DAMAGES[self.damage](target, self.rng, self.source, self.in_place)
        self.wrong = wrong or []
        self.struck_bytes = {path.name: path.read_bytes() for path in self.originals if path.is_file()}
        self.window = "window" in self.allowed and self.in_place
        return wrong is not None

    def source(self, which):
        """The folder of another database, or of this one at an older time."""
        return self.dbs.folder / {"before": "here-before", "other": "other"}[which]

    def start(self):
        """False: refused, as is allowed."""
        self.s = self.s or self.dbs.server(self.root, **self.env)
        try:
            self.s.start()
        except RuntimeError as e:
            if "server ended with" not in str(e):
                raise
            said = "ERROR" + str(e).rpartition("ERROR")[2]
            if not self.wrong or "start refused" not in self.allowed or not self.names_file(said) or "ended with -" in str(e):
                self.fail(f"start: {said}")
            self.s.process = None
            self.outcomes.add(START_REFUSED)
            return False
        self.client = Client(self.s)
        self.closed = bool(self.wrong) and self.kind.whose == kinds.DICT
        self.window = False
        self.cut()
        return True

    def stop(self):
        if self.s.process.poll() is not None:
            raise Ended("the server ended")
        if self.rng.randrange(2):
            self.s.kill()
            return
        self.clean_stops += 1
        if (code := self.s.stop()) != 0:
            raise Ended(f"the server ended with {code} at a stop")

    def ask(self, sql):
        return self.client.rows(sql)

    # ---------------------------------------------------------------------------- actions

    def read(self):
        self.compare("read")

    def restart(self):
        for _ in range(2):
            self.stop()
            if not self.start():
                return self.mend("refused")
            self.compare("behind a restart")
        return self.mend("read")

    def mend(self, behind):
        """The right bytes are put back, where no checkpoint has made others the right ones: nothing else may have been harmed."""
        if behind == "refused":
            unchanged = self.clean_stops == 0
        else:  # of a closed table no dictionary is written
            unchanged = self.kind.whose == kinds.PART or self.kind.whose == kinds.DICT and self.time == "stopped" and REFUSED in self.outcomes
        if unchanged:
            if self.s.process is not None:
                self.stop()
            if self.kind.name == "restoring":  # whatever it holds, it is in the way
                (shutil.rmtree if self.wrong[0].path.is_dir() else pathlib.Path.unlink)(self.wrong[0].path)
                self.wrong = []
            for path in {w.path for w in self.wrong}:
                if path.is_dir():
                    shutil.rmtree(path)
                path.write_bytes(self.originals[path])
            self.wrong, self.closed = [], False
            if self.start():
                self.compare("when the file is right again")

    def rewrite(self):
        name = next((k.table_of(w.of) for w in self.wrong if w.of), self.rng.choice(k.TABLES))
        statements = list(REWRITES)
        self.rng.shuffle(statements)
        for statement in statements[:6]:
            self.write(name, statement)
        sound = self.rng.choice([t for t in k.TABLES if t != name and not any(w.of and k.table_of(w.of) == t for w in self.wrong)])
        self.write(sound, self.rng.choice(list(REWRITES)))
        for table in k.TABLES:
            self.accept(f"scrub table {table}, {k.view_of(table)}", (table, k.view_of(table)), self.ask(f"scrub table {table}, {k.view_of(table)}"))
        self.window = False
        self.compare("behind rewrites and a scrub")
        self.run_all(*(["checkpoint release"] if self.kind.held else []), "checkpoint create", "checkpoint release")
        self.compare("behind a checkpoint")
        self.s.kill()
        if self.start():
            self.compare("behind rewrites and a restart")

    def write(self, name, statement):
        after = self.known.copy()
        sql = REWRITES[statement](after, name)
        for sql in [sql] if isinstance(sql, str) else sql:
            said = self.ask(sql)
            if isinstance(said, str):
                self.accept(sql, (name, k.view_of(name)), said, READ_DAYS.get(statement))
                return
            if sql.startswith("create table w"):
                for q in k.questions_of("w"):
                    got, right = self.ask(q.sql), self.right(q, after.tables[name])
                    if got != right:
                        self.fail(f"a copy of the table: {q.sql}: {difference(got, right)}")
        for w in self.wrong:
            if w.of == name and w.detached is not None and w.detached not in after.tables[name].detached:
                w.days, w.detached = {w.detached}, None
        self.known = after

    def backup(self):
        said = self.ask("backup database")
        if isinstance(said, str):
            self.accept("backup database", [w.of for w in self.wrong], said)
            if len(self.wrong) == 1:
                self.window = False
            struck = {k.table_of(w.of) for w in self.wrong}
            names = [n for t in k.TABLES if t not in struck for n in (t, k.view_of(t))]
            said = self.ask("backup table " + ", ".join(names))
            if isinstance(said, str):
                self.fail(f"a backup of other tables: {said}")
        else:
            names = None
            self.window = False
        code, said = program("restore", self.root / "backups", "TO", self.root / "restored")
        if code:
            self.fail(f"restore: {code}, {said}")
        with self.dbs.server(self.root / "restored") as restored:
            client = Client(restored)
            for q in k.questions():
                if names is None or q.of in names:
                    got, right = client.rows(q.sql), self.right(q)
                    if got != right:
                        self.fail(f"restored: {q.sql}: {difference(got, right)}")
        self.compare("behind a backup")

    # ------------------------------------------------------------------------ comparison

    def names_file(self, said):
        """A hole in the log is told by its folder and the LSN."""
        if self.kind.name == "restoring":
            return "is not complete" in said
        return any(w.path.name in said for w in self.wrong) or self.kind.whose == kinds.DATABASE and "/wal'" in said and "lsn" in said

    def accept(self, sql, tables, said, days=None):
        """An error of a statement about these tables, which reads these days (None: all), or none."""
        if not isinstance(said, str):
            return
        self.outcomes.add(REFUSED)
        concerned = [w for w in self.wrong if w.of in tables and (days is None or w.days is None or w.days & days)]
        if not self.is_named(said, concerned):
            self.fail(f"{sql}: {said}")

    def is_named(self, said, concerned):
        """Does an error say one of these tables, and its file?"""
        if concerned and "unnamed" in self.allowed and "could not be read: the disk failed, or the file was cut" in said:
            return True
        return any(f"'{w.of}'" in said and (w.path.name in said or w.path.stem in said) for w in concerned)

    def right(self, q, table=None):
        answer = q.answer(table or self.known.tables[k.table_of(q.of)])
        return self.lie(q, answer) if self.lie else answer

    def cut(self):
        """Where the log may end before the damage, what is known becomes what is left, if the server shows that."""
        if self.kind.whose == kinds.COPY and self.wrong and CUT not in self.outcomes:
            self.cut_copy()
        if not self.wrong or "cut" not in self.allowed or self.outcomes & {CUT}:
            return
        i = self.state_before_damage()
        if i is not None and i < len(self.dbs.tail.states) - 1:
            left = self.dbs.tail.states[i]
            name = next(n for n in k.TABLES for q in [1] if len(left.tables[n].rows) != len(self.known.tables[n].rows))
            if self.ask(f"select count() from {name}") == [[len(left.tables[name].rows)]]:
                self.known = left.copy()
                self.outcomes.add(CUT)

    def cut_copy(self):
        """Of a copy whose log is damaged the catalogue counts, and of its log what is whole from there on."""
        counts = [self.ask(f"select count() from {name}") for name in k.TABLES]
        for state in self.dbs.held.states[:-1]:
            if counts == [[[len(state.tables[name].rows)]] for name in k.TABLES]:
                self.known = state.copy()
                self.outcomes.add(CUT)
                return

    def state_before_damage(self):
        """Number of the state that the records before the damage make; None if a whole record stands behind it."""
        path = segments(self.dbs.folder / "here")[-1]
        now, was = self.struck_bytes.get(path.name), path.read_bytes()
        if now is None:
            return None
        same = [now[a:b] == was[a:b] for a, b in records(path)]
        if now[:64] != was[:64]:
            same = [False] * len(same)
        first = same.index(False) if False in same else len(same)
        if any(same[first:]):
            return None
        end = records(path)[first][0] if first < len(same) else records(path)[-1][1]
        return max(i for i, (name, at) in enumerate(self.dbs.tail.ends) if name < path.name or at <= end)

    def compare(self, when):
        for q in k.questions():
            try:
                got = self.ask(q.sql)
            except Ended:
                if not self.window:
                    raise
                self.outcomes.add(WINDOW)
                return
            right = self.right(q)
            if got == right:
                self.outcomes.add(RIGHT)
                continue
            concerned = [w for w in self.wrong if w.of == q.of and (self.closed or w.days is None or q.days is None or q.days & w.days)]
            if isinstance(got, str):
                if not self.is_named(got, concerned) or self.kind.whose == kinds.DICT and not self.closed:
                    self.fail(f"{when}: {q.sql}: {got}")
                self.outcomes.add(REFUSED)
            elif concerned and self.window:
                self.outcomes.add(WINDOW)
            else:
                self.fail(f"{when}: {q.sql}: {difference(got, right)}")


def difference(got, right):
    if isinstance(got, str):
        return got
    at = next((i for i, (a, b) in enumerate(zip(got, right)) if a != b), min(len(got), len(right)))
    return f"{len(got)} rows, not {len(right)}; row {at}: {got[at:at + 1]}, not {right[at:at + 1]}"


def same(sql):
    return lambda known, name: sql.format(name)


# The days of those that have no need of others.
READ_DAYS = {"update of a day": {k.NATIVE_DAY}, "update of a Parquet day": {k.PARQUET_DAY}, "delete": {k.NATIVE_DAY}, "insert": set()}

# Statements that read what they write again, and what they make of the rows.
REWRITES = {
    "table as": lambda known, name: [f"create table w as (select * from {name})", "drop table w"],
    "update of text": lambda known, name: known.append(name, "x"),
    "update of a day": lambda known, name: known.add(name, k.NATIVE_DAY, 3),
    "update of a Parquet day": lambda known, name: known.add(name, k.PARQUET_DAY, 3),
    "delete": lambda known, name: known.delete_first(name, k.NATIVE_DAY),
    "delete from a pack": lambda known, name: known.delete_first(name, k.SECOND_PACK),
    "type": lambda known, name: "select 1" if known.tables[name].detached else known.retype(name),
    "to native": same("alter table {} convert partition to native where ts >= 0"),
    "to Parquet": same("alter table {} convert partition to parquet where ts >= 0"),
    "squash": same("alter table {} squash partitions"),
    "refresh": lambda known, name: known.refresh(name),
    "attach": lambda known, name: known.attach(name, k.DETACHED_DAY) if k.DETACHED_DAY in known.tables[name].detached else "select 1",
    "attach Parquet": lambda known, name: known.attach(name, k.DETACHED_PARQUET_DAY) if k.DETACHED_PARQUET_DAY in known.tables[name].detached else "select 1",
    "insert": lambda known, name: known.insert(name, [known.row(name, (k.NATIVE_DAY - 1) * k.DAY + 7, 4000)]),
}
