#!/usr/bin/env python3
"""Statements about tables, beside writers and readers, while the server is killed with SIGKILL at random moments.

What must hold:
- Readers and writers see no error but that a table or column is not there or has changed just now (ALLOWED).
- Every acknowledged row is there after the restart unless a statement removed it, and no row is there twice or half.
- Every acknowledged statement about a table is there after the restart; the one under way at the kill is there wholly
  or not at all.
- `almanac check` finds the directory sound after each kill.

Method: table `a` keeps its rows: its writers number them, statements add, change, rename and drop columns and options,
and detach and attach partitions. Table `b` loses rows: TRUNCATE, DELETE, UPDATE, DROP PARTITION, DROP and CREATE, RENAME,
TTL. One client makes the statements of one table, one after the other, and keeps a model of what each table must look
like: columns, options, comment, and of `b` its rows too, for it is written by that client alone. Readers ask both.
Options: --nightly (60 s instead of 10), --seconds N, --seed N.
"""
import argparse, http.client, json, random, subprocess, sys, threading, time, urllib.error, urllib.parse, urllib.request

from lib.checks import given, print_again
from lib.server import Server

ROWS = 5
WRITERS = 2
START_US = 1704067200000000  # 2024-01-01
DAY_US = 86400000000
# SQLSTATE over the wire, the beginning of the message over REST: the table or column is not there (any more), has changed
# since the statement was planned, or was dropped under it
ALLOWED_STATES = {"42P01", "42703", "0A000", "40001"}
ALLOWED_TEXTS = ("table does not exist", "Invalid column", "column '", "columns of table", "table was dropped meanwhile", "table '",
                 "column was dropped meanwhile")


class Gone(Exception):
    """The server was killed."""


class Refused(Exception):
    pass


def request(url, body=None):
    try:
        with urllib.request.urlopen(url, data=body, timeout=30) as r:
            return json.loads(r.read() or "null")
    except urllib.error.HTTPError as e:
        answer = json.loads(e.read())
        raise Refused(answer.get("error") or answer["message"]) from None
    except (OSError, ValueError, http.client.HTTPException) as e:
        raise Gone(str(e)) from None


def plain(shape):
    return json.loads(json.dumps(shape))


def ask(server, sql):
    return request(f"{server.url}/exec?" + urllib.parse.urlencode({"query": sql}))


# ------------------------------------------------------------------------------------------------ table a: rows stay

def convert_where(rng):
    return rng.choice([f"where ts >= '2024-01-0{rng.randint(1, 9)}'", f"list '2024-01-0{rng.randint(1, 3)}'"])


class Kept:
    """What a client knows of table a: its shape. Statements come as (sql, change of the model)."""

    def __init__(self, rng):
        self.rng, self.serial = rng, 0
        self.shape = {"columns": ["ts:TIMESTAMP", "w:INT", "n:LONG", "s:SYMBOL"], "ttl": (0, "HOUR"), "dedup": False, "rows": 0,
                      "comment": None, "detached": []}

    name = "a"

    def next(self):
        rng, shape = self.rng, plain(self.shape)
        extra = [c.split(":")[0] for c in shape["columns"][4:]]
        self.serial += 1
        kind = rng.choice(["add", "add", "drop", "rename", "type", "comment", "param", "dedup", "detach", "attach", "index", "squash",
                           "convert", "convert"])
        if kind == "add" and len(extra) < 6:
            new = [f"x{self.serial}", f"y{self.serial}"][:rng.randint(1, 2)]
            types = [rng.choice(["INT", "DOUBLE", "SYMBOL", "VARCHAR"]) for _ in new]
            shape["columns"] += [f"{c}:{t}" for c, t in zip(new, types)]
            return "alter table a add column " + ", ".join(f"{c} {t}" for c, t in zip(new, types)), shape
        if kind == "drop" and extra:
            gone = rng.sample(extra, rng.randint(1, len(extra)))
            shape["columns"] = [c for c in shape["columns"] if c.split(":")[0] not in gone]
            return "alter table a drop column " + ", ".join(gone), shape
        if kind in ("rename", "type") and extra:
            at = rng.randrange(4, len(shape["columns"]))
            old, type_ = shape["columns"][at].split(":")
            if kind == "rename":
                shape["columns"][at] = f"r{self.serial}:{type_}"
                return f"alter table a rename column {old} to r{self.serial}", shape
            to = rng.choice([t for t in ("LONG", "DOUBLE", "VARCHAR", "SYMBOL") if t != type_])
            shape["columns"][at] = f"{old}:{to}"
            return f"alter table a alter column {old} type {to}", shape
        if kind == "param":
            shape["rows"] = self.serial
            return f"alter table a set param maxUncommittedRows = {self.serial}", shape
        if kind == "dedup":
            shape["dedup"] = not shape["dedup"]
            return "alter table a dedup " + ("enable upsert keys(ts, w, n)" if shape["dedup"] else "disable"), shape
        if kind == "detach" and not shape["detached"]:
            day = f"2024-01-0{rng.randint(1, 3)}"
            shape["detached"] = [day]
            return f"alter table a detach partition list '{day}'", shape
        if kind == "attach" and shape["detached"]:
            day = shape["detached"].pop()
            return f"alter table a attach partition list '{day}'", shape
        if kind == "convert":
            return f"alter table a convert partition to {rng.choice(['parquet', 'native'])} {convert_where(rng)}", shape
        if kind == "index":
            return f"alter table a alter column s symbol capacity {self.serial + 2}", shape
        if kind == "squash":
            return "alter table a squash partitions", shape
        shape["comment"] = f"comment {self.serial}"
        return f"comment on table a is 'comment {self.serial}'", shape

    def read(self, server):
        return read_shape(server, "a")


def read_shape(server, table):
    columns = [f"{r[0]}:{r[1]}" for r in ask(server, f"show columns from {table}")["dataset"]]
    found = ask(server, f"select ttlValue, ttlUnit, dedup, maxUncommittedRows from tables() where table_name = '{table}'")["dataset"][0]
    comment = ask(server, f"select obj_description('{table}'::regclass) c")["dataset"][0][0]
    detached = [r[0] for r in ask(server, f"select name from (show partitions from {table}) where detached")["dataset"]]
    return {"columns": columns, "ttl": (found[0], found[1]), "dedup": found[2], "rows": found[3], "comment": comment, "detached": detached}


# ------------------------------------------------------------------------------------------------ table b: rows go

class Lost:
    """Table b, or b2 after a RENAME: its rows are known, for this client alone writes them."""

    def __init__(self, rng):
        self.rng, self.serial = rng, 0
        self.shape = {"name": "b", "rows": {}, "ttl": 0, "comment": None}

    def create(self):
        return "create table b (ts timestamp, n long, v long) timestamp(ts) partition by day wal"

    @staticmethod
    def age(shape):
        if shape["ttl"] and shape["rows"]:
            newest = max(r[0] for r in shape["rows"].values())
            shape["rows"] = {k: r for k, r in shape["rows"].items() if r[0] >= newest - shape["ttl"]}

    def next(self):
        rng, shape = self.rng, plain(self.shape)
        shape["rows"] = {int(k): v for k, v in shape["rows"].items()}
        name, rows = shape["name"], shape["rows"]
        self.serial += 1
        kind = rng.choice(["insert"] * 6 + ["convert"] * 3 + ["truncate", "delete", "update", "partition", "recreate", "rename", "ttl", "comment", "drop"])
        if name is None:
            shape.update(name="b", rows={}, ttl=0, comment=None)
            return self.create(), shape
        if kind == "insert":
            new = {self.serial * 100 + i: (rng.randint(0, 9), 0) for i in range(rng.randint(1, 40))}
            values = ",".join(f"({START_US + d * DAY_US + k % DAY_US}, {k}, {v})" for k, (d, v) in new.items())
            rows.update({k: list(v) for k, v in new.items()})
            self.age(shape)
            return f"insert into {name} values {values}", shape
        if kind == "truncate":
            shape["rows"] = {}
            return f"truncate table {name}", shape
        if kind == "delete":
            rest = rng.randint(0, 2)
            shape["rows"] = {k: v for k, v in rows.items() if k % 3 != rest}
            return f"delete from {name} where n % 3 = {rest}", shape
        if kind == "update":
            for r in rows.values():
                r[1] = self.serial if r[0] >= 5 else r[1]
            return f"update {name} set v = {self.serial} where ts >= '2024-01-06'", shape
        if kind == "convert":
            return f"alter table {name} convert partition to {rng.choice(['parquet', 'parquet', 'native'])} {convert_where(rng)}", shape
        if kind == "partition":
            day = rng.randint(0, 8)
            shape["rows"] = {k: v for k, v in rows.items() if v[0] > day}
            return f"alter table {name} drop partition where ts <= '2024-01-0{day + 1}'", shape
        if kind == "drop":
            shape.update(name=None, rows={}, ttl=0, comment=None)
            return f"drop table {name}", shape
        if kind == "rename":
            shape["name"] = "b2" if name == "b" else "b"
            return f"rename table {name} to {shape['name']}", shape
        if kind == "ttl":
            shape["ttl"] = rng.choice([0, 0, 2, 5])
            self.age(shape)
            return f"alter table {name} set ttl {shape['ttl']}d", shape
        shape["comment"] = f"comment {self.serial}"
        return f"comment on table {name} is 'comment {self.serial}'", shape

    def read(self, server):
        names = [r[0] for r in ask(server, "select table_name from tables() where table_name in ('b', 'b2')")["dataset"]]
        if not names:
            return {"name": None, "rows": {}, "ttl": 0, "comment": None}
        name = names[0] if len(names) == 1 else "both"
        rows = ask(server, f"select n, datediff('d', ts, '2024-01-01'), v from {name}")["dataset"]
        ttl = ask(server, f"select ttlValue, ttlUnit from tables() where table_name = '{name}'")["dataset"][0]
        comment = ask(server, f"select obj_description('{name}'::regclass) c")["dataset"][0][0]
        assert len({r[0] for r in rows}) == len(rows), "a row is there twice"
        return {"name": name, "rows": {r[0]: [abs(r[1]), r[2]] for r in rows}, "ttl": ttl[0] * {"WEEK": 7}.get(ttl[1], 1),
                "comment": comment}


# ------------------------------------------------------------------------------------------------ clients

class Client(threading.Thread):
    def __init__(self, server, problems):
        super().__init__(daemon=True)
        self.server, self.problems, self.stop, self.count, self.refused = server, problems, False, 0, 0

    def run(self):
        try:
            self.work()
        except Gone:
            pass
        except Exception as e:
            if not self.stop:
                self.problems.append(f"{type(self).__name__}: {type(e).__name__}: {e}")


class Statements(Client):
    """Makes the statements of one model; `pending` is what the one under way would lead to."""

    def __init__(self, server, problems, model):
        super().__init__(server, problems)
        self.model, self.pending, self.sql = model, None, None

    def work(self):
        while not self.stop:
            self.sql, self.pending = self.model.next()
            try:
                ask(self.server, self.sql)
                self.model.shape = self.pending
            except Refused as e:  # only what must fail may: a partition that has no rows yet
                if not any(text in str(e) for text in ("could not detach", "could not attach", "could not convert", "are detached: attach or drop")):
                    self.problems.append(f"{self.sql[:100]}: {e}")
                self.refused += 1
            self.pending = None
            self.count += 1
            time.sleep(random.uniform(0, 0.01))


class Chaos(Client):
    """Statements of several clients about one table, `c`, of which nobody knows what it must look like."""

    FITTING = ALLOWED_TEXTS + ("table already exists", "Duplicate column", "could not ", "partitions of table", "cannot ", "deduplicat",
                               "incompatible column", "row value count", "found [tok", "rows of the table were changed", "column is ",
                               "Could not ", "DEDUP key column", "partitions were changed", "view or materialized view", "view already exists", "materialized view ")

    def statement(self):
        n, day = random.randint(0, 9), random.randint(1, 9)
        return random.choice([
            f"insert into c (ts, k) values ('2024-01-0{day}', 'k{n}'), ('2024-01-0{day}T01', 'l{n}')",
            f"insert into c (ts, k) select timestamp_sequence('2024-01-0{day}', 60000000L), rnd_symbol('a', 'b') from long_sequence(3000)",
            *["create table if not exists c (ts timestamp, k symbol) timestamp(ts) partition by day wal"] * 4, "drop table if exists c",
            f"alter table c add column x{n} int", f"alter table c drop column x{n}", f"alter table c rename column x{n} to x{day}",
            f"alter table c alter column x{n} type {random.choice(['long', 'symbol', 'varchar'])}", "truncate table c",
            f"update c set k = 'u{n}' where ts >= '2024-01-0{day}'", f"delete from c where k = 'k{n}'", f"alter table c set ttl {n}d",
            f"alter table c drop partition list '2024-01-0{day}'", f"alter table c detach partition list '2024-01-0{day}'",
            f"alter table c attach partition list '2024-01-0{day}'", "alter table c dedup enable upsert keys(ts, k)",
            "alter table c dedup disable", "alter table c squash partitions", f"alter table c convert partition to native where ts > '2024-01-0{day}'",
            f"alter table c convert partition to parquet list '2024-01-0{day}'", "alter table c convert partition to parquet where ts > 0", f"comment on column c.x{n} is '{n}'", "rename table c to d",
            "rename table d to c", "drop table if exists d", "create view v as (select ts, k from c)", "drop view if exists v",
            "create materialized view m as (select ts, count() n from c sample by 1d) partition by month",
            "drop materialized view if exists m", f"create or replace view v as (select ts, {n} n from c)"])

    def work(self):
        while not self.stop:
            sql = self.statement()
            try:
                ask(self.server, sql)
            except Refused as e:
                self.refused += 1
                if not str(e).startswith(self.FITTING):
                    self.problems.append(f"{sql[:100]}: {e}")
            self.count += 1


class Writer(Client):
    """The second one writes lines."""

    def __init__(self, server, problems, number, log):
        super().__init__(server, problems)
        self.number, self.log = number, log

    def insert(self, rows):
        values = ",".join(f"({ts}, {w}, {n}, '{s}')" for ts, w, n, s in rows)
        ask(self.server, f"insert into a (ts, w, n, s) values {values}")

    def lines(self, rows):
        text = "".join(f"a,s={s} w={w}i,n={n}i {ts * 1000}\n" for ts, w, n, s in rows)
        request(f"{self.server.url}/write", text.encode())

    def work(self):
        while not self.stop:
            first = self.log["sent"]
            self.log["sent"] += ROWS
            day = random.randint(0, 5)
            rows = [(START_US + day * DAY_US + n, self.number, n, f"s{n % 7}") for n in range(first, first + ROWS)]
            try:
                self.lines(rows) if self.number == 1 else self.insert(rows)
            except Refused as e:
                if not str(e).startswith(ALLOWED_TEXTS):
                    self.problems.append(f"writer: {e}")
                self.refused += 1
                self.log["failed"].add(first)
                continue
            self.log["acked"].append((first, day))
            self.count += 1


QUERIES = ["select count(), max(n) from a", "select w, count(), min(ts) from a group by w", "select * from a limit -5", "select * from b",
           "select ts, count() from a sample by 1d", "select * from a latest on ts partition by s", "select sum(v), count() from b",
           "select a.n, b.v from a join b on (n) limit 10", "select * from a order by n desc limit 3", "show columns from a",
           "select * from c", "select k, count() from c", "select count() from d", "select * from v", "select * from m",
           "select table_name, table_row_count from tables()", "select * from pg_description"]


class RestReader(Client):
    def work(self):
        while not self.stop:
            try:
                ask(self.server, random.choice(QUERIES))
            except Refused as e:
                self.refused += 1
                if not str(e).startswith(ALLOWED_TEXTS):
                    self.problems.append(f"REST reader: {e}")
            self.count += 1


class PgReader(Client):
    def work(self):
        import psycopg
        try:
            with psycopg.connect(self.server.pg_dsn(), autocommit=True) as c:
                while not self.stop:
                    try:
                        c.execute(random.choice(QUERIES), prepare=random.random() < 0.3).fetchall()
                    except psycopg.OperationalError:
                        raise Gone("") from None
                    except psycopg.Error as e:
                        self.refused += 1
                        if e.sqlstate not in ALLOWED_STATES:
                            self.problems.append(f"PG reader: {e.sqlstate} {e}")
                    self.count += 1
        except psycopg.OperationalError:
            raise Gone("") from None


# ------------------------------------------------------------------------------------------------ checks

def differences(want, got):
    return {k: (v if k != "rows" or not isinstance(v, dict) else len(v), got[k] if k != "rows" or not isinstance(v, dict) else len(got[k]))
            for k, v in want.items() if got[k] != v}


def check_model(server, client):
    """The model, or the model with the statement that was under way."""
    found = client.model.read(server)
    got = plain(found)
    for shape in (client.model.shape, client.pending):
        if shape is not None and plain(shape) == got:
            client.model.shape = shape
            return []
    if client.pending is not None and isinstance(client.model, Lost):
        Lost.age(found)  # the kill came between the rows and what expires with them
        if plain(client.pending) == plain(found):
            client.model.shape = client.pending
            return []
    want = plain(client.model.shape)
    text = f"{type(client.model).__name__}: {differences(want, got)}"
    if client.pending is not None:
        text += f"; with the statement under way ({client.sql[:80]}): {differences(plain(client.pending), got)}"
    return [text]


def check_rows(server, logs, detached):
    bad = []
    for w, log in enumerate(logs):
        numbers = [r[0] for r in ask(server, f"select n from a where w = {w}")["dataset"]]
        seen = set(numbers)
        away = {f"2024-01-0{d + 1}": d for d in range(6)}
        gone = {away[d] for d in detached}
        if len(seen) != len(numbers):
            bad.append(f"writer {w}: {len(numbers) - len(seen)} rows twice")
        lost = [f for f, day in log["acked"] if day not in gone and not seen.issuperset(range(f, f + ROWS))]
        if lost:
            bad.append(f"writer {w}: acknowledged rows are lost, first {lost[0]} of {len(lost)}")
        torn = [f for f in range(0, log["sent"], ROWS) if len(seen & set(range(f, f + ROWS))) not in (0, ROWS)]
        if torn:
            bad.append(f"writer {w}: half a statement at {torn[0]}")
        ghosts = [f for f in log["failed"] if seen & set(range(f, f + ROWS))]
        if ghosts:
            bad.append(f"writer {w}: refused rows are there, {ghosts[0]}")
    return bad


def check_chaos(server):
    """Whatever there is can be read, and counting agrees with reading."""
    bad = []
    for name in ("c", "d"):
        try:
            rows, count = len(ask(server, f"select * from {name}")["dataset"]), ask(server, f"select count() from {name}")["dataset"]
        except Refused as e:
            bad += [] if str(e).startswith("table does not exist") else [f"select from {name}: {e}"]
            continue
        bad += [] if [[rows]] == count else [f"{name}: {rows} rows, count {count}"]
    return bad


def opens_after_drop():
    """A table of the catalogue file that was dropped later: two kills, and what the first start removed is not missed."""
    with Server() as server:
        ask(server, "create table s as (select 'x'::symbol k from long_sequence(5))")
        server.stop()
        server.start()
        ask(server, "drop table s")
        for _ in range(2):
            server.kill()
            server.start()
            time.sleep(0.3)
        return sound_after_kill(server)


def sound_after_kill(server):
    server.kill()
    problems = sound(server, killed=True)
    server.start()
    return problems


def size_bytes(server):
    total = 0
    for f in (server.root / "db" / "tables").rglob("*.par*"):
        try:
            total += f.stat().st_size
        except FileNotFoundError:  # it went just now
            pass
    return total


def space_returns():
    """What DELETE, DROP PARTITION, TTL, TRUNCATE remove is gone from the disk, and back to what the rows need."""
    steps = [("delete from s where n % 20 > 0", 0.12), ("alter table s drop partition where ts < '2024-01-06'", 0.07),
             ("alter table s set ttl 2d", 0.05), ("truncate table s", 0)]
    bad = []
    with Server() as server:
        ask(server, "create table s as (select timestamp_sequence('2024-01-01', 4320000L) ts, x n, rnd_str(20, 30, 0) t "
                    "from long_sequence(200000)) timestamp(ts) partition by day")
        full = size_bytes(server)
        for sql, share in steps:
            ask(server, sql)
            end = time.monotonic() + 5
            while size_bytes(server) > share * full and time.monotonic() < end:
                time.sleep(0.05)
            print(f"{sql}: {size_bytes(server)} bytes of {full}")
            if size_bytes(server) > share * full:
                bad.append(f"{sql}: {size_bytes(server)} bytes are left of {full}")
    return bad


def sound(server, killed=False):
    """A kill may leave the end of a record that was never acknowledged: told, and no damage."""
    found = subprocess.run([server.binary, "check", "-d", str(server.root)], capture_output=True, text=True)
    lines = [line for line in found.stdout.splitlines() if not line.startswith("note: ")]
    findings = [line for line in lines[:-1] if not (killed and line.startswith("the log ends within a record"))]
    if found.returncode == 0 or (found.returncode == 1 and killed and not findings):
        return []
    return [f"almanac check: {findings} {found.stderr}"[:600]]


def one_round(server, models, logs, seconds):
    problems = []
    clients = [Statements(server, problems, m) for m in models]
    clients += [Writer(server, problems, w, logs[w]) for w in range(WRITERS)]
    clients += [PgReader(server, problems), RestReader(server, problems), Chaos(server, problems), Chaos(server, problems)]
    for c in clients:
        c.start()
    time.sleep(seconds)
    if server.process.poll() is not None:
        problems.append(f"the server ended by itself: {server.tail()}")
    server.kill()
    for c in clients:
        c.stop = True
    for c in clients:
        c.join(30)
    problems += sound(server, killed=True)
    server.start()
    for c in clients[:len(models)]:
        problems += check_model(server, c)
    problems += check_chaos(server)
    problems += check_rows(server, logs, models[0].shape["detached"])
    return problems, clients


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--seconds", type=float)
    ap.add_argument("--binary")
    ap.add_argument("--seed", type=int, default=20260106)
    o = ap.parse_args()
    rng = random.Random(o.seed)
    random.seed(o.seed)
    # small limits, so that flushes, compactions, checkpoints and recycled segments happen within a round too
    server = Server(binary=o.binary, env={"ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "1m", "ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "1m",
                                          "ALMANAC_WAL_SEGMENT_SIZE": "1m"}).start()
    models = [Kept(random.Random(rng.random())), Lost(random.Random(rng.random()))]
    logs = [{"sent": 0, "acked": [], "failed": set()} for _ in range(WRITERS)]
    passed = failed = rounds = 0
    total = {}
    try:
        problems = space_returns() + opens_after_drop()
        print(*problems, sep="\n")
        passed, failed = passed + (not problems), failed + bool(problems)
        end = time.monotonic() + (o.seconds or (60 if o.nightly else 9))
        ask(server, "create table a (ts timestamp, w int, n long, s symbol) timestamp(ts) partition by day wal")
        ask(server, models[1].create())
        while time.monotonic() < end and not failed:
            problems, clients = one_round(server, models, logs, rng.uniform(0.2, 1.5))
            rounds += 1
            for c in clients:
                count, refused = total.get(type(c).__name__, (0, 0))
                total[type(c).__name__] = count + c.count, refused + c.refused
            passed, failed = passed + (not problems), failed + bool(problems)
            for p in problems[:10]:
                print(f"round {rounds}: {p}", flush=True)
        server.stop()
        problems = sound(server)
        print(*problems, sep="\n")
        passed, failed = passed + (not problems), failed + bool(problems)
        print(f"{rounds} kills, seed {o.seed}: " + ", ".join(f"{k} {n} ({r} refused)" for k, (n, r) in total.items()))
        if failed:
            server.own = False
            print(f"kept: {server.root}")
            print_again(*given(ap, o, leave=("seed",)), "--seed", str(o.seed))
        server.__exit__(None, None, None)
    finally:
        if server.process is not None:
            server.kill()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
