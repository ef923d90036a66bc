"""Databases whose right answers are known: what statements leave is computed beside the server, row by row.

Three tables of the same shape, each with a materialized view. A table has partitions of each kind: native parts, one with an overlay, a Parquet part, two packs, a
native and a Parquet part that are detached, rows in the log alone, and symbols that the log alone has. `Databases` makes them once: `here`; `here-before`, the same
directory at an older time; `here-middle`, with less of the log; and the same of `other`, a database by the same statements and with other values.
"""
import os, pathlib, shutil, struct, tempfile, time

from files import DAY, records, segments
from lib.server import Server

TABLES = ("t0", "t1", "t2")
ROWS = 40  # of a whole day
WHOLE_DAYS, SMALL_DAYS = 8, 16
OVERLAY_DAY, NATIVE_DAY, CHANGED_DAY, PARQUET_DAY, DETACHED_DAY, DETACHED_PARQUET_DAY = 1, 2, 3, 4, 6, 7
FIRST_PACK, SECOND_PACK, HEAD_DAY, TAIL_DAY = 11, 31, 50, 51
ENV = {"ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backups", "ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_STORAGE_DISK_RESERVE": "1m", "ALMANAC_STORAGE_SCRUB_INTERVAL": "0"}

ARCHIVE = {"ALMANAC_WAL_ARCHIVE_DIR": "archive", "ALMANAC_WAL_ARCHIVE_INTERVAL": "100ms"}


def date(day):
    """Of the nth day of 1970, from 1 on."""
    month, lengths = 0, (31, 28, 31, 30)
    while day > lengths[month]:
        day -= lengths[month]
        month += 1
    return f"1970-{month + 1:02}-{day:02}"


def text_of(ts):
    day, rest = divmod(ts, DAY)
    seconds, micros = divmod(rest, 10**6)
    return f"{date(day + 1)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}Z"


class Table:
    """Rows by time: [ts, id, s, v, d]; times are unique."""

    def __init__(self, name):
        self.name, self.rows, self.detached, self.view, self.text = name, {}, {}, [], "varchar"

    def of_days(self, first, last=None):
        return [row for ts, row in sorted(self.rows.items()) if first <= ts // DAY + 1 <= (last or first)]

    def all(self):
        return [row for _, row in sorted(self.rows.items())]

    def refresh(self):
        """select ts, s, count() n, sum(d) d, max(id) id from TABLE sample by 1d"""
        groups = {}
        for ts, id, s, _, d in self.all():
            groups.setdefault((ts // DAY * DAY, s), []).append((id, d))
        self.view = [[ts, s, len(g), sum(d for _, d in g), max(id for id, _ in g)] for (ts, s), g in sorted(groups.items())]


class Known:
    """What all tables hold; each change is one statement of SQL and the same of the rows."""

    def __init__(self, base):
        self.base, self.tables = base, {name: Table(name) for name in TABLES}

    def copy(self):
        other = Known(self.base)
        for name, table in self.tables.items():
            t = other.tables[name]
            t.rows = {ts: list(row) for ts, row in table.rows.items()}
            t.detached = {day: {ts: list(row) for ts, row in rows.items()} for day, rows in table.detached.items()}
            t.view, t.text = table.view, table.text
        return other

    def row(self, name, ts, id):
        k = TABLES.index(name)
        return [ts, id, f"{'abc'[k]}{id % 5}", f"the text of number {100000 + id + self.base + k * 10000}", (id + self.base + k * 10000) / 4]

    def new_rows(self, name, first_day, days, n, first_id):
        step = DAY // n
        return [self.row(name, (first_day - 1 + day) * DAY + i * step + 1000, first_id + day * n + i) for day in range(days) for i in range(n)]

    def insert(self, name, rows):
        self.tables[name].rows.update({row[0]: row for row in rows})
        return f"insert into {name} values " + ", ".join(f"('{text_of(ts)}', {id}, '{s}', '{v}', {d})" for ts, id, s, v, d in rows)

    def add(self, name, day, more):
        for row in self.tables[name].of_days(day):
            row[4] += more
        return f"update {name} set d = d + {more} where ts in '{date(day)}'"

    def append(self, name, letter):
        for row in self.tables[name].all():
            row[3] += letter
        return f"update {name} set v = v || '{letter}' where length(v) > 0 and d > 0"

    def delete_first(self, name, day):
        row = self.tables[name].of_days(day)[0]
        del self.tables[name].rows[row[0]]
        return f"delete from {name} where ts = '{text_of(row[0])}'"

    def detach(self, name, day):
        table = self.tables[name]
        table.detached[day] = {row[0]: row for row in table.of_days(day)}
        for ts in table.detached[day]:
            del table.rows[ts]
        return f"alter table {name} detach partition list '{date(day)}'"

    def attach(self, name, day):
        self.tables[name].rows.update(self.tables[name].detached.pop(day))
        return f"alter table {name} attach partition list '{date(day)}'"

    def retype(self, name):
        """The texts stay."""
        self.tables[name].text = {"varchar": "string", "string": "varchar"}[self.tables[name].text]
        return f"alter table {name} alter column v type {self.tables[name].text}"

    def refresh(self, name, how="full"):
        self.tables[name].refresh()
        return f"refresh materialized view {view_of(name)} {how}"


def view_of(name):
    return "v" + name[1:]


def create(name):
    return (f"create table {name} (ts timestamp, id long, s symbol, v varchar, d double) timestamp(ts) partition by day wal",
            f"create materialized view {view_of(name)} refresh manual deferred as (select ts, s, count() n, sum(d) d, max(id) id from {name} sample by 1d) partition by month")


# ------------------------------------------------------------------------------ answers


class Question:
    """A query, the table or view it is of, the days it reads (None: all), and the right answer by what is known."""

    def __init__(self, sql, of, days, answer):
        self.sql, self.of, self.days, self.answer = sql, of, days, answer


def shown(rows):
    return [[text_of(ts), id, s, v, d] for ts, id, s, v, d in rows]


def sums(rows):
    d = [row[4] for row in rows]
    return [[len(rows), sum(row[1] for row in rows), sum(d), min(d), max(d), sum(len(row[3]) for row in rows), len({row[2] for row in rows})]]


def by_symbol(rows):
    groups = {}
    for _, _, s, _, d in rows:
        groups.setdefault(s, []).append(d)
    return [[s, len(d), sum(d)] for s, d in sorted(groups.items())]


def latest(rows):
    last = {s: [text_of(ts), id, s] for ts, id, s, _, _ in rows}
    return [last[s] for s in sorted(last)]


def questions_of(name):
    """Of a table, or of a copy of it by another name (`known` is asked for the table)."""
    def days(first, last):
        return Question(f"select * from {name} where ts >= '{date(first)}' and ts < '{date(last + 1)}'", name, set(range(first, last + 1)), lambda t: shown(t.of_days(first, last)))

    for day in range(1, WHOLE_DAYS + 1):
        yield days(day, day)
    yield days(FIRST_PACK, FIRST_PACK + SMALL_DAYS - 1)
    yield days(SECOND_PACK, SECOND_PACK + SMALL_DAYS - 1)
    yield days(HEAD_DAY, HEAD_DAY)
    yield days(TAIL_DAY, TAIL_DAY + 9)
    yield Question(f"select * from {name}", name, None, lambda t: shown(t.all()))
    yield Question(f"select count(), sum(id), sum(d), min(d), max(d), sum(length(v)), count_distinct(s) from {name}", name, None, lambda t: sums(t.all()))
    yield Question(f"select s, count(), sum(d) from {name} order by s", name, None, lambda t: by_symbol(t.all()))
    yield Question(f"select ts, id, s from {name} latest on ts partition by s order by s", name, None, lambda t: latest(t.all()))
    yield Question(f"select count(), min(id), max(d) from {name}", name, None, lambda t: [[len(t.rows), min(r[1] for r in t.all()), max(r[4] for r in t.all())]])
    yield Question(f"select * from {name} order by ts desc limit 3", name, None, lambda t: shown(t.all()[:-4:-1]))
    for letter in "abc":
        yield Question(f"select count() from {name} where s = '{letter}1'", name, None, lambda t, s=letter + "1": [[sum(row[2] == s for row in t.all())]])
    yield Question(f"select id, d from {name} where v = 'the text of number 100041'", name, None, lambda t: [[r[1], r[4]] for r in t.all() if r[3] == "the text of number 100041"])


def questions():
    """Of all tables and views."""
    for name in TABLES:
        yield from questions_of(name)
        yield Question(f"select ts, s, n, d, id from {view_of(name)} order by ts, s", view_of(name), None, lambda t: [[text_of(ts), *rest] for ts, *rest in t.view])


def table_of(name):
    return "t" + name[1:] if name[0] == "v" else name


# ---------------------------------------------------------------------------- databases


def checkpoint(s):
    s.exec("checkpoint create")
    s.exec("checkpoint release")


def make(s, known):
    """An UPDATE writes the rows before it to parts: eight in files of their own, sixteen in a pack."""
    for name in TABLES:
        for sql in create(name):
            s.exec(sql)
        s.exec(known.insert(name, known.new_rows(name, 1, WHOLE_DAYS, ROWS, 1)))
        s.exec(known.add(name, OVERLAY_DAY, 1))
        s.exec(known.insert(name, known.new_rows(name, FIRST_PACK, SMALL_DAYS, 2, 1000)))
        s.exec(known.add(name, OVERLAY_DAY, 1))
        s.exec(f"alter table {name} convert partition to parquet list '{date(PARQUET_DAY)}', '{date(DETACHED_PARQUET_DAY)}'")
        s.exec(known.detach(name, DETACHED_DAY))
        s.exec(known.detach(name, DETACHED_PARQUET_DAY))
        s.exec(known.refresh(name))
    checkpoint(s)


def fill_segment(s, then=lambda: None):
    """The log goes on in a new segment."""
    began = segments(s.root)[-1]
    s.exec("create table filler (v varchar)")
    then()
    while segments(s.root)[-1] == began:
        s.exec("insert into filler select 'the text of number ' || x from long_sequence(2000)")
        then()
    s.exec("drop table filler")
    then()


def go_on(s, known):
    """What makes the files of before older ones. The log does not go back to its beginning; the last rows are in the catalogue, not in parts."""
    fill_segment(s)
    for name in TABLES:
        s.exec(known.delete_first(name, CHANGED_DAY))
        s.exec(known.add(name, PARQUET_DAY, 1))
        for day in (DETACHED_DAY, DETACHED_PARQUET_DAY):
            s.exec(known.attach(name, day))
            s.exec(known.delete_first(name, day))
            s.exec(known.detach(name, day))
        s.exec(known.insert(name, known.new_rows(name, SECOND_PACK, SMALL_DAYS, 2, 2000)))
        s.exec(known.add(name, OVERLAY_DAY, 1))
        s.exec(known.insert(name, known.new_rows(name, HEAD_DAY, 1, ROWS, 2500)))
        s.exec(known.refresh(name))
    checkpoint(s)


class Tail:
    """Commits behind the checkpoint: what was known behind each, and where in the log it ends (segment, offset)."""

    def __init__(self):
        self.states, self.ends = [], []

    def note(self, s, known):
        segment = segments(s.root)[-1]
        self.states.append(known.copy())
        self.ends.append((segment.name, records(segment)[-1][1] if records(segment) else 64))

    def commits(self, s, known, first, n):
        for i in range(first, first + n):
            for name in TABLES:
                row = known.row(name, (TAIL_DAY + i - 1) * DAY + 5000, 3000 + i)
                row[2] = f"{row[2][0]}-tail{i}" if i % 2 else row[2]
                s.exec(known.insert(name, [row]))
                self.note(s, known)


def scratch():
    """A folder in memory where there is room, as thousands of small directories are copied and synced; else where temporary files are."""
    memory, need = pathlib.Path("/dev/shm"), 1 << 30
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > need
    return pathlib.Path(tempfile.mkdtemp(prefix="almanac-matrix-", dir=memory if roomy and "TMPDIR" not in os.environ else None))


class Databases:
    def __init__(self, binary=None):
        self.binary, self.folder = binary, scratch()
        self.make("other", 50000)
        self.make("here", 0)
        self.hold()

    def server(self, root, **env):
        return Server(binary=self.binary, root=root, env={**ENV, **env})

    def keep(self, name, as_name):
        shutil.copytree(self.folder / name, self.folder / as_name)

    def hold(self):
        """`here-held`: a copy of the directory that was taken while a checkpoint was held, and what it knows behind each commit since."""
        root = self.folder / "here-held"
        self.keep("here", "here-held")
        self.held, known = Tail(), self.known.copy()
        with self.server(root) as s:
            s.exec("checkpoint create")
            self.held.note(s, known)
            for name in TABLES:
                s.exec(known.insert(name, [known.row(name, (TAIL_DAY + 8) * DAY + 5000, 3008)]))
                self.held.note(s, known)
            s.kill()

    def archive(self, name, known):
        """`NAME-archived`: a directory with a backup and the archive of the log that goes on from it, and what it knows at its end."""
        root = self.folder / (name + "-archived")
        self.keep(name, name + "-archived")
        known = known.copy()
        archived = lambda: len(list(root.glob("archive/0*.wal")))
        with self.server(root, **ARCHIVE) as s:
            s.exec("backup database")
            for i in range(3):
                s.exec(f"alter table {TABLES[i]} convert partition to native list '{date(PARQUET_DAY)}'")
                for table in TABLES:
                    s.exec(known.insert(table, [known.row(table, (TAIL_DAY + 9) * DAY + 5000 + i, 3009 + i)]))
                had, end = archived(), time.monotonic() + 10
                while archived() <= had and time.monotonic() < end:
                    time.sleep(0.02)
        last = sorted(root.glob("archive/0*.wal"))[-1]
        while not records(last):
            last = sorted(p for p in root.glob("archive/0*.wal") if p < last)[-1]
        return known, struct.unpack_from("<Q", last.read_bytes(), records(last)[-1][0] + 16)[0]

    def make(self, name, base):
        root = self.folder / name
        root.mkdir()
        known, tail = Known(base), Tail()
        with self.server(root) as s:
            make(s, known)
            s.exec("backup database")
            s.kill()
            self.keep(name, name + "-before")
            before = known.copy()
            s.start()
            go_on(s, known)
            s.exec("backup database")
            s.kill()
            s.start()
            tail.note(s, known)
            tail.commits(s, known, 0, 2)
            fill_segment(s, lambda: tail.note(s, known))
            tail.commits(s, known, 2, 1)
            self.keep(name, name + "-middle")
            tail.commits(s, known, 3, 2)
            s.kill()
        self.before, self.known, self.tail = before, known, tail
        self.archived, self.archived_lsn = self.archive(name, known)

    def copy(self, name, stored=False):
        """Without backups, which most cells have no use for, or with them."""
        root = pathlib.Path(tempfile.mkdtemp(prefix="cell-", dir=self.folder))
        shutil.copytree(self.folder / name, root, dirs_exist_ok=True, ignore=None if stored else shutil.ignore_patterns("backups"))
        return root

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
