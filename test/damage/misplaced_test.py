#!/usr/bin/env python3
"""Whole files in the wrong place: exchanged with another of their kind, of another database, of an older time.

Their checksums are right, so that nothing but what the catalogue says of them tells them from the files that belong there. Each kind of file in each of these
ways, put there while no server runs, and under a server before it reads the file: reads, statements that write rows again, a backup, a scrub, `almanac check`
and a restart never give a wrong answer, and other tables are served. Where a file is no part of one table (the catalogue, the log) the start is refused by name.

    misplaced_test.py [--binary FILE] [NAME...]
"""
import pathlib, shutil, tempfile, time, traceback

import files
from files import DAY, error_of, exchange, folder, natives, overlays, parquets, part_of, program, put, read_part, segments
from lib.checks import Suite, check, ensure
from lib.server import Server

ROWS, DAYS = 2000, 6
ENV = {"ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backups", "ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_METRICS_ENABLED": "true"}


def server(root, **env):
    return Server(root=root, env={**ENV, **env})


# ------------------------------------------------------------------------- databases


def checkpoint(s):
    s.exec("checkpoint create")
    s.exec("checkpoint release")


def make(s, base):
    """Tables t and u: the same statements in each database give the same names and sizes of files, and other values."""
    for table, letter in (("t", "abcdefghij"[base % 7]), ("u", "z")):
        s.exec(f"create table {table} (ts timestamp, id long, s symbol, v varchar, d double) timestamp(ts) partition by day wal")
        s.exec(f"insert into {table} select ((x - 1) * {DAY // ROWS})::timestamp, x + {base}, '{letter}' || (x % 5), "
               f"'the text of number ' || (100000 + x + {base}), (x + {base}) / 4.0 from long_sequence({ROWS * DAYS})")
        s.exec(f"alter table {table} convert partition to parquet list '1970-01-05', '1970-01-06'")
        s.exec(f"update {table} set d = d + 1 where ts < '1970-01-03'")
    checkpoint(s)


def go_on(s, base, older_segment):
    """What makes the files of before older ones: the third day in a new part, new overlays, a new Parquet file, more symbols and segments of the log."""
    s.exec("update t set d = d + 1 where ts < '1970-01-03'")
    s.exec("delete from t where ts = '1970-01-03'")
    s.exec("update t set d = d + 1 where ts >= '1970-01-05'")
    s.exec("insert into t values ('1970-01-08', -1, 'more', 'late', 1.0)")
    more = lambda n, first: s.exec(f"insert into u select ({DAYS} * {DAY} + x * 1000)::timestamp, {first} + x + {base}, 'z0', 'the text of number ' || (100000 + x), 0.5 from long_sequence({n})")
    more(9000, 10**6)
    checkpoint(s)
    more(9, 2 * 10**6)
    last = segments(s.root)[-1]
    older_segment.mkdir()
    shutil.copyfile(last, older_segment / last.name)
    s.exec("insert into t values ('1970-01-08', -2, 'behind', 'late', 1.0)")  # a symbol that the log alone has
    while segments(s.root)[-1] == last:
        more(3000, 3 * 10**6)
    more(9, 4 * 10**6)


class Databases:
    """`here` at its end and at an older time, and another of the same making; made once."""

    made, folders = None, []

    def __init__(self):
        self.folder, self.n = pathlib.Path(tempfile.mkdtemp(prefix="almanac-misplaced-")), 0
        Databases.folders.append(self.folder)
        for name, base in (("here", 0), ("other", 50002)):
            (self.folder / name).mkdir()
            with server(self.folder / name) as s:
                make(s, base)
            shutil.copytree(self.folder / name, self.folder / (name + "-before"))
            with server(self.folder / name) as s:
                go_on(s, base, self.folder / (name + "-segment"))
                if name == "here":
                    self.answers = {table: answers(s, table) for table in ("t", "u")}
                    self.symbols = {table: symbols(s, table) for table in ("t", "u")}
                s.kill()

    def copy(self):
        self.n += 1
        root = self.folder / f"case{self.n}"
        shutil.copytree(self.folder / "here", root)
        return root

    @classmethod
    def get(cls):
        cls.made = cls.made or cls()
        return cls.made


READS = ("select count(), sum(id), sum(d), min(d), max(d), sum(length(v)), count_distinct(s) from {}",
         "select sum(d) from {} where ts < '1970-01-02'", "select sum(d) from {} where ts in '1970-01-02'", "select sum(id), max(v) from {} where ts in '1970-01-03'",
         "select sum(id), max(v) from {} where ts in '1970-01-04'", "select sum(d), max(v) from {} where ts in '1970-01-05'", "select sum(d), max(v) from {} where ts in '1970-01-06'",
         "select s, count(), sum(d) from {} order by s", "select ts, id, s from {} latest on ts partition by s order by s", "select ts, id, v from {} order by ts limit 3",
         "select ts, id, v from {} order by ts desc limit 3", "select count() from {} where id = 4242", "select count() from {} where s = 'a1'", "select max(d), min(id) from {}")


def answers(s, table):
    """Per query rows, or its error."""
    found = []
    for sql in READS:
        try:
            found.append(s.rows(sql.format(table)))
        except RuntimeError as e:
            found.append(str(e))
    return found


def symbols(s, table):
    return s.rows(f"select s, count() from {table} where ts < '1970-01-07' order by s")


# ----------------------------------------------------------------------------- files


def equal(a, b):
    ensure(a.stat().st_size == b.stat().st_size and a.read_bytes() != b.read_bytes(), f"{a} and {b} are no pair for this test")
    return a, b


# Kind and way of a misplacement: what is done to a directory, and the files that are wrong then.
def native_exchanged(dbs, root):
    pair = equal(part_of(root, 1), part_of(root, 2))
    exchange(*pair)
    return pair


def native_of_another_day(dbs, root):
    pair = equal(part_of(root, 4), part_of(root, 1))
    put(pair[1], pair[0])
    return pair[:1]


def native_of_another_table(dbs, root):
    pair = equal(part_of(root, 4), part_of(root, 4, table=2))
    put(pair[1], pair[0])
    return pair[:1]


def native_of_another_database(dbs, root):
    pair = equal(part_of(root, 4), part_of(dbs.folder / "other", 4))
    put(pair[1], pair[0])
    return pair[:1]


def native_older(dbs, root):
    pair = part_of(root, 3), part_of(dbs.folder / "here-before", 3)
    ensure(pair[0].name != pair[1].name, "the part of the third day is not a new one")
    put(pair[1], pair[0])
    return pair[:1]


def overlay_exchanged(dbs, root):
    pair = equal(*overlays(root)[:2])
    exchange(*pair)
    return pair


def overlay_of_another_database(dbs, root):
    pair = equal(overlays(root)[0], overlays(dbs.folder / "other")[0])
    put(pair[1], pair[0])
    return pair[:1]


def overlay_older(dbs, root):
    pair = equal(overlays(root)[0], overlays(dbs.folder / "here-before")[0])
    put(pair[1], pair[0])
    return pair[:1]


def parquet_exchanged(dbs, root):
    pair = tuple(parquets(root)[:2])
    exchange(*pair)
    return pair


def parquet_of_another_database(dbs, root):
    path = parquets(root)[0]
    put(parquets(dbs.folder / "other")[0], path)
    return path,


def parquet_older(dbs, root):
    path = parquets(root)[0]
    put(parquets(dbs.folder / "here-before")[0], path)
    return path,


PARTS = [native_exchanged, native_of_another_day, native_of_another_table, native_of_another_database, native_older,
         overlay_exchanged, overlay_of_another_database, overlay_older, parquet_exchanged, parquet_of_another_database, parquet_older]

REWRITES = ("update t set v = v || 'x' where d > 0", "update t set d = d * 2 where length(v) > 0", "delete from t where d > 0 and length(v) > 0",
            "alter table t alter column d type float", "create table w as (select * from t)", "backup database", "insert into t select ts + 1, id, s, v, d from t",
            "alter table t convert partition to native where ts >= 0", "alter table t convert partition to parquet where ts >= 0")


def needless(sql, wrong):
    """Does the statement not read the wrong files? An overlay has d alone; the first days have their d in overlays; some files have the format already."""
    first_days = wrong[0].suffix == ".part" and len(wrong) == 2
    return "to native" in sql and wrong[0].suffix == ".part" or "alter column d" in sql and first_days and not is_overlay(wrong[0])


def is_overlay(path):
    return path.suffix == ".part" and read_part(path).is_overlay


def names_one(said, wrong):
    return said is not None and any(p.name in said for p in wrong)


def never_wrong(dbs, s, wrong, when):
    ensure(answers(s, "u") == dbs.answers["u"], f"{when}: another table")
    found = answers(s, "t")
    for sql, got, right in zip(READS, found, dbs.answers["t"]):
        ensure(got == right or (isinstance(got, str) and names_one(got, wrong) and "table 't'" in got), f"{when}: {sql}: {got}")
    ensure(any(isinstance(got, str) for got in found), f"{when}: no read says that {wrong[0].name} is another file")


def served(dbs, s, wrong, when):
    never_wrong(dbs, s, wrong, when)
    for sql in REWRITES:
        if not needless(sql, wrong):
            said = error_of(s, sql)
            ensure(names_one(said, wrong), f"{when}: {sql}: {said}")
    never_wrong(dbs, s, wrong, when + ", behind the rewrites")
    said = error_of(s, "scrub table t")
    ensure(names_one(said, wrong), f"{when}: scrub: {said}")
    ensure(error_of(s, "scrub table u") is None, f"{when}: a scrub of another table")
    never_wrong(dbs, s, wrong, when + ", behind the scrub")


def parts_are_noticed(ways, running):
    dbs = Databases.get()
    problems = []
    for way in ways:
        root = dbs.copy()
        try:
            if not running:
                wrong = way(dbs, root)
                code, said = program("check", root)
                ensure(code == 1 and all(p.name in said for p in wrong), f"check: {code} {said}")
            with server(root) as s:
                if running:
                    wrong = way(dbs, root)
                served(dbs, s, wrong, "running" if running else "stopped")
            with server(root) as s:
                never_wrong(dbs, s, wrong, "after a restart")
            for path in wrong:  # copied back, all is as it was
                put(dbs.folder / "here" / path.relative_to(root), path)
            code, said = program("check", root)
            ensure(code == 0, f"check when it is right again: {code} {said}")
            with server(root) as s:
                ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, "rows when it is right again")
        except Exception as e:
            problems.append(f"{way.__name__}: {e if isinstance(e, AssertionError) else traceback.format_exc()[-1500:]}")
        shutil.rmtree(root, ignore_errors=True)
    ensure(not problems, f"{len(problems)} of {len(ways)}:\n  " + "\n  ".join(problems))


@check
def parts_that_were_misplaced_before_the_start():
    parts_are_noticed(PARTS, False)


@check
def parts_that_are_misplaced_before_the_first_touch():
    parts_are_noticed(PARTS, True)


@check
def a_part_that_is_written_over_after_it_was_read():
    """Until it is found a read may be wrong; whoever writes rows again, a backup and a scrub find it, and no read is wrong from then on."""
    dbs = Databases.get()
    problems = []
    for sql in REWRITES + ("scrub table t",):
        root = dbs.copy()
        with server(root) as s:
            ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, "answers")
            s.rows("select * from t where length(v) < 0 or d < -1e300 or s = 'none' or id < -10")  # each byte is read
            wrong = equal(part_of(root, 4), part_of(dbs.folder / "other", 4))[:1]
            files.write_over(wrong[0], part_of(dbs.folder / "other", 4).read_bytes())
            if needless(sql, wrong):
                continue
            said = error_of(s, sql)
            if not names_one(said, wrong):
                problems.append(f"{sql}: {said}")
                continue
            try:
                never_wrong(dbs, s, wrong, f"behind {sql}")
            except AssertionError as e:
                problems.append(str(e))
        shutil.rmtree(root, ignore_errors=True)
    ensure(not problems, "\n  ".join(problems))


@check
def the_scrub_finds_them():
    dbs = Databases.get()
    for way in (native_exchanged, overlay_older, parquet_of_another_database):
        root = dbs.copy()
        with server(root, ALMANAC_STORAGE_SCRUB_INTERVAL="1s") as s:
            wrong = way(dbs, root)
            said = lambda: s.get("/warnings")[2].decode()
            ensure(any(names_one(said(), wrong) or time.sleep(0.1) for _ in range(200)), f"{way.__name__}: {said()}")
            ensure("table 't'" in said() and "table 'u'" not in said(), said())


# ------------------------------------------------------------------------ dictionaries


def dictionary(root, table=1):
    return next(folder(root, table).glob("*.dict"))


def dict_exchanged(dbs, root):
    a, b = dictionary(root), dictionary(root, 2)
    exchange(a, b)
    return a, b


def dict_of_another_database(dbs, root):
    path = dictionary(root)
    put(equal(path, dictionary(dbs.folder / "other"))[1], path)
    return path,


def dict_older(dbs, root):
    path = dictionary(root)
    put(dictionary(dbs.folder / "here-before"), path)
    return path,


def dict_of_the_same_length(dbs, root):
    """The dictionary of that column in a copy of the database that had other values: same id, table, column and length."""
    path = dictionary(root)
    twin = dbs.copy()
    shutil.rmtree(twin)
    shutil.copytree(dbs.folder / "here-before", twin)
    with server(twin) as s:
        s.exec("insert into t values ('1970-01-08', -1, 'less', 'late', 1.0)")
        checkpoint(s)
    put(equal(path, dictionary(twin))[1], path)
    return path,


DICTS = [dict_exchanged, dict_of_another_database, dict_older, dict_of_the_same_length]


def refused(root):
    """What a server says that does not start."""
    s = server(root)
    try:
        s.start()
    except RuntimeError as e:
        return str(e)
    s.stop()
    return None


def is_closed(s, table, wrong, when):
    """Nothing is read and nothing is written, and each statement says why."""
    for said in answers(s, table) + [error_of(s, sql.format(table)) for sql in CLOSED]:
        ensure(isinstance(said, str) and f"table '{table}'" in said and any(f"{p.parent.name}/{p.name}" in said for p in wrong), f"{when}: {table}: {said}")
    ensure("CREATE TABLE" in s.rows(f"show create table {table}")[0][0], f"{when}: it is not described")


CLOSED = ("insert into {} values ('1970-01-09', -3, 'fresh', 'late', 1.0)", "insert into {} values ('1970-01-09', -3, null, 'late', 1.0)", "update {} set d = 1", "delete from {} where id = 1",
          "select count() from {} where s = 'nothing'", "alter table {} convert partition to parquet where ts > 0", "alter table {} alter column s type varchar", "backup table {}",
          "create table w as (select id from {})", "alter table {} squash partitions", "alter table {} detach partition list '1970-01-01'", "alter table {} dedup enable upsert keys(ts)")


@check
def dictionaries_that_were_misplaced_before_the_start():
    """They close their tables, whose symbols in the log are kept until the right file is back; all other tables are served."""
    dbs = Databases.get()
    problems = []
    for way in DICTS:
        root = dbs.copy()
        try:
            wrong = way(dbs, root)
            tables = ("t", "u") if len(wrong) == 2 else ("t",)
            code, said = program("check", root)
            ensure(code == 1 and all(f"{p.parent.name}/{p.name}" in said for p in wrong), f"check: {code} {said}")
            for when in ("at first", "after a restart"):
                with server(root) as s:
                    for table in tables:
                        is_closed(s, table, wrong, when)
                    if "u" not in tables:
                        ensure(answers(s, "u") == dbs.answers["u"], f"{when}: another table")
                        ensure(error_of(s, "scrub table u") is None, f"{when}: a scrub of another table")
                    said = s.get("/warnings")[2].decode()
                    ensure("is closed" in said and f"table '{tables[0]}'" in said, f"{when}: {said}")
                    ensure(error_of(s, f"scrub table {tables[-1]}") is not None, f"{when}: a scrub")
                    s.exec("create table x (ts timestamp, y symbol) timestamp(ts)" if when == "at first" else "drop table x")
                    checkpoint(s)  # the log with the symbols goes
            for path in wrong:
                put(dbs.folder / "here" / path.relative_to(root), path)
            code, said = program("check", root)
            ensure(code == 0, f"check when it is right again: {code} {said}")
            with server(root) as s:
                ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, "rows when it is right again")
                ensure(s.rows("select id from t where s = 'behind'") == [[-2]], "a symbol that the log alone had")
                s.exec("insert into t values ('1970-01-09', -3, 'fresh', 'late', 1.0)")
                checkpoint(s)
            with server(root) as s:
                ensure(s.rows("select s from t where id < 0 order by id") == [["fresh"], ["behind"], ["more"]], "symbols")
        except Exception as e:
            problems.append(f"{way.__name__}: {e if isinstance(e, AssertionError) else traceback.format_exc()[-1500:]}")
        shutil.rmtree(root, ignore_errors=True)
    ensure(not problems, f"{len(problems)} of {len(DICTS)}:\n  " + "\n  ".join(problems))


@check
def a_table_that_is_closed_opens_without_its_column():
    dbs = Databases.get()
    root = dbs.copy()
    dictionary(root).unlink()
    with server(root) as s:
        ensure("it is missing" in answers(s, "t")[0], answers(s, "t")[0])
        s.exec("alter table t drop column s")
        ensure(s.rows("select count(), sum(id) from t") == [dbs.answers["t"][0][0][:2]], "rows without the column")
        s.exec("insert into t values ('1970-01-09', -3, 'late', 1.0)")
        dictionary(root, 2).unlink()
    with server(root) as s:
        ensure(s.rows("select count() from t where id = -3") == [[1]], "a row of the table that was opened")
        s.exec("truncate table u")
        s.exec("drop table u")
    with server(root) as s:
        ensure(s.rows("select count() from t where id = -3") == [[1]], "a row behind a restart")


@check
def dictionaries_under_a_server_are_written_anew():
    """Memory has what they said: a scrub, or the checkpoint that appends to them, replaces them, and nothing is lost."""
    dbs = Databases.get()
    problems = []
    for by_scrub in (True, False):
        for way in DICTS:
            root = dbs.copy()
            try:
                with server(root) as s:
                    wrong = way(dbs, root)
                    ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, "answers")
                    if by_scrub:
                        said = error_of(s, "scrub table t")
                        ensure(names_one(said, wrong) or "dictionary" in str(said), f"scrub: {said}")
                        error_of(s, "scrub table u")
                    else:
                        for table in ("t", "u"):
                            s.exec(f"insert into {table} values ('1970-01-09', -2, 'fresh', 'late', 1.0)")
                        checkpoint(s)
                    s.kill()
                if not by_scrub and way is dict_of_the_same_length:
                    continue  # seen by a scrub, or by the next start
                with server(root) as s:
                    ensure({table: symbols(s, table) for table in ("t", "u")} == dbs.symbols, "symbols after a restart")
                    if by_scrub:
                        ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, "answers after a restart")
                    else:
                        ensure(s.rows("select id from t where s = 'fresh'") == [[-2]] == s.rows("select id from u where s = 'fresh'"), "the new symbol")
                        ensure(s.rows("select id from t where s = 'more'") == [[-1]], "the symbol before")
            except Exception as e:
                problems.append(f"{way.__name__}, {'scrub' if by_scrub else 'checkpoint'}: {e if isinstance(e, AssertionError) else traceback.format_exc()[-1500:]}")
    ensure(not problems, "\n  ".join(problems))


# ------------------------------------------------------------------ catalogue and log


def catalogue_of_another_database(dbs, root):
    put(dbs.folder / "other" / "db" / "catalog", root / "db" / "catalog")
    return root / "db" / "catalog"


def catalogue_older(dbs, root):
    put(dbs.folder / "here-before" / "db" / "catalog", root / "db" / "catalog")
    return None


def log_of_another_database(dbs, root):
    path = segments(root)[-1]
    put(dbs.folder / "other" / "db" / "wal" / path.name, path)
    return path


def log_of_another_database_alone(dbs, root):
    path = root / "db" / "wal"
    shutil.rmtree(path)
    shutil.copytree(dbs.folder / "other" / "db" / "wal", path)
    return segments(root)[0]


def logs_exchanged(dbs, root):
    pair = segments(root)[-2:]
    ensure(len(pair) == 2, "the log has one segment")
    exchange(*pair)
    return None


def log_older(dbs, root):
    """A segment as it was when it was the last: the next one shows that it went on."""
    older, = (dbs.folder / "here-segment").iterdir()
    ensure(segments(root)[-1].name != older.name, "the log did not go on")
    put(older, root / "db" / "wal" / older.name)
    return None


@check
def a_catalogue_or_log_of_elsewhere_is_refused():
    dbs = Databases.get()
    problems = []
    for way in (catalogue_of_another_database, log_of_another_database, log_of_another_database_alone, logs_exchanged, log_older):
        root = dbs.copy()
        before = {p: p.read_bytes() for p in folder(root).iterdir()}
        wrong = way(dbs, root)
        code, said = program("check", root)
        if code != 1 or (wrong is not None and "another database" not in said):
            problems.append(f"{way.__name__}: check: {code} {said}")
        said = refused(root)
        if said is None or (wrong is not None and "another database" not in said) or "lsn" not in said and wrong is None:
            problems.append(f"{way.__name__}: {said}")
        if {p: p.read_bytes() for p in folder(root).iterdir()} != before:
            problems.append(f"{way.__name__}: a start that was refused changed files")
    ensure(not problems, "\n  ".join(problems))


@check
def an_older_catalogue_leads_to_the_same_state():
    """By the log, as far as it goes back, else by the previous catalogue."""
    dbs = Databases.get()
    root = dbs.copy()
    catalogue_older(dbs, root)
    with server(root) as s:
        ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, "answers")
        s.kill()
    with server(root) as s:
        ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, "answers after another start")


@check
def a_catalogue_under_a_server_is_written_anew():
    dbs = Databases.get()
    for way in (catalogue_of_another_database, catalogue_older):
        root = dbs.copy()
        with server(root, ALMANAC_STORAGE_SCRUB_INTERVAL="1s") as s:
            way(dbs, root)
            wrong = (root / "db" / "catalog").read_bytes()
            ensure(any((root / "db" / "catalog").read_bytes() != wrong or time.sleep(0.1) for _ in range(200)), f"{way.__name__}: it stays")
            s.kill()
        with server(root) as s:
            ensure({table: answers(s, table) for table in ("t", "u")} == dbs.answers, f"{way.__name__}: answers after a restart")


# ---------------------------------------------------------------------------- backups


@check
def backups_of_two_databases_need_two_directories():
    dbs = Databases.get()
    root, other = dbs.copy(), dbs.copy()
    shutil.rmtree(other)
    shutil.copytree(dbs.folder / "other", other)
    for one in (root, other):
        with server(one) as s:
            s.exec("backup database")
    backups = root / "backups"
    with server(other, ALMANAC_CAIRO_SQL_BACKUP_ROOT=str(backups)) as s:
        said = error_of(s, "backup database")
        ensure(said is not None and "another database" in said, f"{said}")
    ensure(program("check", backups)[0] == 0, "check of a sound backup")
    # As if it had been copied there by hand.
    for f in (other / "backups" / "files").iterdir():
        shutil.copyfile(f, backups / "files" / f.name)
    shutil.copyfile(other / "backups" / "00000001.manifest", backups / "00000002.manifest")
    code, said = program("check", backups)
    ensure(code == 1, f"check: {code} {said}")


def wait_for(what):
    return any(what() or time.sleep(0.05) for _ in range(400))


@check
def archives_of_two_databases_need_two_directories():
    """An archive with a segment or a part of another database: nothing is archived there, it is found by a check, and no restore goes on with it."""
    dbs = Databases.get()
    root, other = dbs.copy(), dbs.copy()
    shutil.rmtree(other)
    shutil.copytree(dbs.folder / "other", other)
    archive = root / "archive"
    env = {"ALMANAC_WAL_ARCHIVE_INTERVAL": "100ms", "ALMANAC_WAL_ARCHIVE_DIR": str(archive)}
    log = lambda: sorted(archive.glob("*.wal"))
    with server(root, **env) as s:
        s.exec("backup database")
        s.exec(f"insert into u select ({DAYS + 20} * {DAY} + x * 1000)::timestamp, x, 'z0', 'text', 0.5 from long_sequence(90000)")  # a part
        ensure(wait_for(lambda: log() and list((archive / "files").iterdir())), "nothing is archived")
    had = log()
    with server(other, **env) as s:
        ensure(wait_for(lambda: s.rows("select archive_failing from backup_status()") == [[True]]), "it is archived beside the log of another database")
        ensure("another database" in s.log_path.read_text(), "the log does not say why")
    ensure(log() == had, "something was archived")
    ensure(program("check", archive)[0] == 0, "check of a sound archive")
    restore = lambda n: program("restore", root / "backups", "TO", root / f"restored{n}", "--until", "2999-01-01T00:00:00Z", "--allow-earlier")
    ensure(restore(0)[0] == 0, "a restore with it")
    source = segments(dbs.folder / "other")[-1]
    shutil.copyfile(source, archive / source.name)
    code, said = program("check", archive)
    ensure(code == 1 and "another database" in said, f"check: {code} {said}")
    code, said = restore(1)
    ensure(code != 0 and "another database" in said and not (root / "restored1").exists(), f"restore: {code} {said}")


@check
def a_restored_database_keeps_its_id():
    dbs = Databases.get()
    root = dbs.copy()
    with server(root) as s:
        s.exec("backup database")
    target = root / "restored"
    code, said = program("restore", root / "backups", "TO", target)
    ensure(code == 0, said)
    number = lambda r: (r / "db" / "catalog").read_bytes()[64:72]
    ensure(number(target) == number(root), "the id is another")
    with server(target) as s:
        ensure(answers(s, "t") == dbs.answers["t"], "rows")


def main():
    suite = Suite(__doc__)
    suite.checks()
    for path in Databases.folders:
        shutil.rmtree(path, ignore_errors=True)
    suite.close()


if __name__ == "__main__":
    main()
