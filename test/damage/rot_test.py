#!/usr/bin/env python3
"""Rot: bytes of files change while the server runs, after they were read and found good.

Whoever writes such bytes again must find out and change nothing: merges, conversions, UPDATE, DELETE, new types, copies of
rows, backups, refreshes. Afterwards reads fail, too, and never answer wrongly. The scrub finds what nobody reads; the
archive of the log takes no damaged record; a backup replaces its own damaged files.

    rot_test.py [--binary FILE] [NAME...]
"""
import json, struct, subprocess, time, urllib.request

from files import DAY, error_of, flip, program
from lib.checks import check, ensure, main_alone
from lib.server import TOP, Server


ROWS = 60000
TEXT = "a text that is no short one, number "


def server(**env):
    return Server(env={"ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backups", "ALMANAC_METRICS_ENABLED": "true", **env})


def fill(s, name="t", first=0):
    """Three partitions, each one part of 20,000 rows: a load beside the log."""
    s.exec(f"insert into {name} select ((x - 1) * {3 * DAY // ROWS})::timestamp, x + {first}, 's' || (x % 5)::varchar, "
           f"'{TEXT}' || (x + {first})::varchar, (x + {first}) / 4.0 from long_sequence({ROWS})")


def make(s, name="t"):
    s.exec(f"create table {name} (ts timestamp, id long, s symbol, v varchar, d double) timestamp(ts) partition by day wal")
    fill(s, name)


def answers(s, name="t"):
    return s.rows(f"select count(), sum(id), sum(d), min(d), max(d), sum(length(v)), count_distinct(s) from {name}") + \
        s.rows(f"select ts, id, s, v, d from {name} where id in (5, 21234, 59999)")


def files(s, name="t", kind="*.part"):
    table = s.rows(f"select id from tables() where table_name = '{name}'")[0][0]
    return sorted((s.root / "db" / "tables" / str(table)).glob(kind))


def place_of(path, where):
    """Offset of something in a part: the value of d or the text of row 21,234, or the sum of d in the footer."""
    data = path.read_bytes()
    if where == "value":
        return data.find(struct.pack("<d", 21234 / 4.0))
    if where == "text":
        return data.find((TEXT + "21234").encode())
    return len(data) - 32 - 48 + 32  # statistics of the last block of the last column


def rotten(s, where):
    """(file, offset) in the part of the second partition."""
    found = [(p, place_of(p, "value")) for p in files(s)]
    path = next(p for p, at in found if at >= 0)
    return path, place_of(path, where)


def copied_out(s, sql):
    """The error of COPY TO a file, which runs by itself."""
    number = s.rows(sql)[0][0]
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for status, message in s.rows(f"select status, message from sys.copy_export_log where id = '{number}'"):
            if status == "finished":
                return None
            if status in ("failed", "cancelled"):
                return message
        time.sleep(0.05)
    raise AssertionError("COPY TO does not end")


def warnings(s):
    return [w["warning"] for w in json.loads(s.get("/warnings")[2]) if w["tag"] == "DAMAGE"]


def health(s):
    with urllib.request.urlopen(f"http://{s.health}/status", timeout=10) as r:
        return r.read().decode().strip()


def metric(s, name):
    with urllib.request.urlopen(f"http://{s.health}/metrics", timeout=10) as r:
        return next(float(line.split()[1]) for line in r.read().decode().splitlines() if line.startswith(name + " "))


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    return what()


def program_check(folder):
    """Lines and exit code of `almanac check`."""
    code, said = program("check", folder)
    return said, code


REWRITES = {
    "squash": ("value text", lambda s: (fill(s, first=ROWS), error_of(s, "alter table t squash partitions"))[1]),
    "convert": ("value text footer", lambda s: error_of(s, "alter table t convert partition to parquet where ts > 0")),
    "update": ("value footer", lambda s: error_of(s, "update t set d = 1 where id = 30000")),
    "update of another": ("text", lambda s: error_of(s, "update t set s = v where id = 30000")),
    "delete": ("value text footer", lambda s: error_of(s, "delete from t where id = 30000")),
    "type": ("value footer", lambda s: error_of(s, "alter table t alter column d type float")),
    "table as": ("value text footer", lambda s: error_of(s, "create table u as (select * from t)")),
    "insert select": ("value text footer", lambda s: (s.exec("create table u (ts timestamp, id long, s symbol, v varchar, d double)"),
                                                      error_of(s, "insert into u select * from t"))[1]),
    "insert of statistics": ("value footer", lambda s: (s.exec("create table u (d double)"), error_of(s, "insert into u select sum(d) from t where d > 0"))[1]),
    "insert of a sum": ("footer", lambda s: (s.exec("create table u (d double)"), error_of(s, "insert into u select sum(d) from t"))[1]),
    "backup": ("value text footer", lambda s: error_of(s, "backup database")),
    "refresh": ("value footer", lambda s: error_of(s, "refresh materialized view w full")),
    "copy to file": ("value text footer", lambda s: copied_out(s, "copy t to 'out' with format parquet")),
    "export": ("value text footer", lambda s: error_text(s.get("/exp", query="select * from t", fmt="parquet"))),
}


def error_text(answer):
    status, _, body = answer
    return None if status == 200 and body.endswith(b"PAR1") else body[:2000].decode(errors="replace")


@check
def every_rewrite_finds_it():
    problems = []
    for name, (places, run) in REWRITES.items():
        for where in places.split():
            with server() as s:
                make(s)
                if name == "refresh":
                    s.exec("create materialized view w as (select ts, sum(d) d, max(v) v from t sample by 1h) partition by day")
                before = answers(s)
                s.rows("select * from t where length(v) < 0 or d < -1e300")  # each byte is read
                path, at = rotten(s, where)
                flip(path, at)
                said = run(s)
                if said is None or "table 't'" not in said or path.name not in said or "checksum" not in said:
                    problems.append(f"{name}, {where}: {said}")
                    continue
                if where != "footer":
                    read = error_of(s, "select sum(d + 0.0), sum(length(v)) from t")
                    ensure(read is not None and "checksum" in read, f"{name}, {where}: a read afterwards: {read}")
                flip(path, at)
                if name != "squash":
                    ensure(answers(s) == before, f"{name}, {where}: rows are not what they were")
                if name in ("insert select", "insert of statistics", "insert of a sum"):
                    ensure(s.rows("select count() from u") == [[0]], f"{name}: rows of a statement that failed")
                if name == "table as":
                    ensure(s.rows("select count() from tables() where table_name = 'u'") == [[0]], "a table of a statement that failed")
    ensure(not problems, f"{len(problems)} not found:\n  " + "\n  ".join(problems))


@check
def the_scrub_finds_what_nobody_reads():
    with server(ALMANAC_STORAGE_SCRUB_INTERVAL="1s") as s:
        make(s)
        answers(s)
        ensure(wait_for(lambda: metric(s, "almanac_scrub_passes_total") > 1), "no pass over a sound database")
        ensure((warnings(s), health(s), metric(s, "almanac_damaged_files")) == ([], "Status: Healthy", 0), "damage of a sound database")
        path, at = rotten(s, "value")
        flip(path, at)
        said = wait_for(lambda: warnings(s))
        ensure(len(said) == 1 and "table 't'" in said[0] and path.name in said[0], f"/warnings: {said}")
        ensure(health(s) == "Status: Degraded", health(s))
        ensure((metric(s, "almanac_damaged_files"), metric(s, "almanac_damage_found_total")) == (1, 1), "metrics")
        ensure(path.name in s.log_path.read_text(), "the log says nothing")
        read = error_of(s, "select sum(d + 0.0) from t")
        ensure(read is not None and "checksum" in read, f"a read behind the scrub: {read}")
        ensure(s.rows("select count() from t where ts < '1970-01-02'") == [[20000]], "another partition")
        flip(path, at)  # as if it had been copied back
        ensure(wait_for(lambda: not warnings(s)), "damage that is gone is told on")
        ensure(s.rows("select count(), sum(d + 0.0) from t")[0][0] == ROWS, "rows after it is gone")
        flip(path, at)
        ensure(wait_for(lambda: warnings(s)), "it is found again")
        s.exec("alter table t drop partition list '1970-01-02'")
        ensure(wait_for(lambda: not warnings(s)), "damage of a dropped partition")
        ensure(health(s) == "Status: Healthy", health(s))


@check
def a_scrub_of_a_table():
    with server() as s:
        make(s)
        make(s, "u")
        s.exec("create view v as (select * from t)")
        s.exec("scrub table t, u")
        path, at = rotten(s, "text")
        flip(path, at)
        said = error_of(s, "scrub table u, t")
        ensure(said is not None and "1 of " in said and "table 't'" in said and path.name in said, f"{said}")
        s.exec("scrub table u")
        ensure("does not exist" in error_of(s, "scrub table nope"), "a table that is not there")
        ensure("view" in error_of(s, "scrub table v"), "a view")
        ensure(len(warnings(s)) == 1, f"{warnings(s)}")
        s.exec("drop table t")
        ensure(wait_for(lambda: not warnings(s)), "damage of a dropped table")


def size_of(path):
    """Of a file that the server may remove or rename meanwhile: 0."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@check
def damage_of_one_table_stops_no_other():
    """A part that cannot be merged: late rows of its table stay safe, other tables are merged and written on without a brake, and checkpoints give
    the log back."""
    small = {"ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "256k", "ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "4m", "ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_STORAGE_OVERLAP_MAX": "4"}
    with server(**small) as s:
        make(s)
        make(s, "u")
        path, at = rotten(s, "value")
        flip(path, at)
        log_bytes = lambda: sum(size_of(f) for f in (s.root / "db" / "wal").iterdir())
        late = lambda name, i: s.exec(f"insert into {name} select ({DAY} + (x * 7919 + {i}) % {DAY})::timestamp, x + {i} * 1000000L + 1000000000, 's1', '{TEXT}' || x, 0.5 from long_sequence(5000)")
        slowest, most, checkpoints = {"t": 0, "u": 0}, 0, metric(s, "almanac_checkpoint_seconds_count")
        for i in range(60):
            for name in ("t", "u"):
                start = time.monotonic()
                late(name, i)
                slowest[name] = max(slowest[name], time.monotonic() - start)
            most = max(most, log_bytes())
        ensure(wait_for(lambda: warnings(s)) and path.name in warnings(s)[0] and "table 't'" in warnings(s)[0], f"{warnings(s)}")
        ensure(wait_for(lambda: len(files(s, "u")) < 12), f"parts of the other table are not merged: {len(files(s, 'u'))}")
        ensure(len(files(s)) > 12, f"the damaged table was merged: {len(files(s))}")
        ensure(metric(s, "almanac_checkpoint_seconds_count") > checkpoints, "no checkpoint")
        ensure(most < 24 << 20, f"the log takes {most / 1e6:.0f} MB")
        ensure(max(slowest.values()) < 2, f"writers wait: {slowest}")
        ensure(error_of(s, "select sum(d + 0.0) from t") is not None, "a read of the damaged part")
        late_rows = "select count(), sum(id) from {} where id > 1000000000 and ts >= '1970-01-02' and v <> ''"
        flip(path, at)  # as if it had been copied back
        wanted = s.rows(late_rows.format("u"))
        ensure(wanted[0][0] == 60 * 5000 and s.rows(late_rows.format("t")) == wanted, "late rows")
        ensure(wait_for(lambda: len(files(s)) < 12, 90), f"it is merged when it is good again: {len(files(s))}")
        s.process.kill()
        s.process.wait()
        s.start()
        ensure((s.rows(late_rows.format("t")), s.rows(late_rows.format("u"))) == (wanted, wanted), "late rows after a kill")


@check
def a_file_that_is_gone_or_cut():
    with server() as s:
        make(s)
        answers(s)
        found = files(s)
        found[0].unlink()
        found[1].unlink()
        found[1].mkdir()
        said = error_of(s, "scrub table t")
        ensure(said is not None and "2 of " in said, f"{said}")


@check
def what_memory_has_is_written_anew():
    """Dictionaries, the catalogue and the log: damage is told, and a restart finds all rows."""
    with server(ALMANAC_STORAGE_SCRUB_INTERVAL="1s", ALMANAC_WAL_SEGMENT_SIZE="1m") as s:
        make(s)
        s.exec("checkpoint create")
        s.exec("checkpoint release")
        dicts = files(s, kind="*.dict")
        ensure(len(dicts) == 1, f"{dicts}")
        before = answers(s)
        for path, at in ((dicts[0], 70), (s.root / "db" / "catalog", 200)):
            told = metric(s, "almanac_damage_found_total")
            flip(path, at)
            ensure(wait_for(lambda: metric(s, "almanac_damage_found_total") > told), f"{path.name} is not found")
            ensure(wait_for(lambda: not warnings(s)), f"{warnings(s)}")
        said = s.log_path.read_text()
        ensure("1.dict" not in said or "written anew" in said, "the log says nothing")
        s.kill()
        s.start()
        ensure(answers(s) == before, "rows after a restart")


@check
def a_start_with_a_damaged_catalogue():
    """It takes the one before and the log behind it: all rows, told until the next checkpoint; the damaged file stays for study."""
    for log, damage in (("32m", "flip"), ("32m", "missing"), ("0", "flip"), ("0", "folder")):
        with server(ALMANAC_WAL_SEGMENT_SIZE="1m", ALMANAC_STORAGE_CHECKPOINT_PREVIOUS_WAL_BYTES=log) as s:
            make(s)
            s.exec("create table gone (ts timestamp, s symbol) timestamp(ts)")
            s.exec("insert into gone values (1, 'a'), (2, 'b')")
            for sql in ("insert into t values ('1970-01-02', 70001, 'late', 'x', 1.0)", "drop table gone", "insert into t values ('1970-01-02', 70002, 'later', 'x', 1.0)"):
                s.exec("checkpoint create")
                s.exec("checkpoint release")
                s.exec(sql)
            catalog = s.root / "db" / "catalog"
            before = answers(s)
            s.kill()
            if damage == "flip":
                flip(catalog, 200)
            else:
                catalog.unlink()
            if damage == "folder":
                catalog.mkdir()
            said, code = program_check(s.root)
            ensure(code == 1 and "catalog" in said and "1 finding" in said, f"{damage}: check: {code} {said}")
            s.start()
            ensure(answers(s) == before and s.rows("select count() from tables() where table_name = 'gone'") == [[0]], f"{damage}: {answers(s)}")
            found = warnings(s)
            ensure(len(found) == 1 and "db/catalog.1" in found[0] and health(s) == "Status: Degraded" and metric(s, "almanac_damaged_files") == 1, f"{damage}: {found}, {health(s)}")
            aside = s.root / "db" / "catalog.damaged"
            ensure(aside.exists() == (damage != "missing") and not catalog.exists(), f"{damage}: the damaged file")
            s.exec("checkpoint create")
            s.exec("checkpoint release")
            ensure(not warnings(s) and health(s) == "Status: Healthy" and catalog.is_file(), f"{damage}: told for ever: {warnings(s)}")
            s.kill()
            said, code = program_check(s.root)
            ensure(code == 0, f"{damage}: check: {code} {said}")
            s.start()
            ensure(answers(s) == before and not warnings(s), f"{damage}: another start")


@check
def where_no_catalogue_is_left():
    """Both are damaged: no start, the error names them, and nothing is changed; with one of them back, all is there."""
    with server(ALMANAC_WAL_SEGMENT_SIZE="1m") as s:
        make(s)
        for _ in range(2):
            s.exec("checkpoint create")
            s.exec("checkpoint release")
            s.exec("insert into t values ('1970-01-02', 70001, 'late', 'x', 1.0)")
        before = answers(s)
        s.kill()
        both = [s.root / "db" / name for name in ("catalog", "catalog.1")]
        for path in both:
            flip(path, 200)
        kept = {p: p.read_bytes() for p in (s.root / "db").rglob("*") if p.is_file() and p.name not in ("owner", "scrub")}
        try:
            s.start()
            ensure(False, "it started")
        except RuntimeError as e:
            text = str(e) + s.log_path.read_text()
            ensure(all(f"{path.name}' is damaged" in text for path in both), text[-1500:])
        ensure({p: p.read_bytes() for p in kept} == kept, "a start that was refused changed files")
        flip(both[1], 200)
        s.start()
        ensure(answers(s) == before, "rows")


@check
def backups_replace_their_damaged_files():
    with server() as s:
        make(s)
        before = answers(s)
        s.exec("backup database")
        folder = s.root / "backups"
        stored = sorted((folder / "files").glob("*.part"))
        flip(stored[1], place_of(stored[1], "footer") - 500)
        said, code = program_check(folder)
        ensure(code == 1 and stored[1].name in said, f"check: {code} {said}")
        s.exec("backup database")
        said, code = program_check(folder)
        ensure(code == 0, f"check after the next backup: {code} {said}")
        target = s.root / "restored"
        done = subprocess.run([Server.program or TOP / "build/release/almanac", "restore", str(folder), "TO", str(target)], capture_output=True, text=True)
        ensure(done.returncode == 0, done.stderr)
        with Server(root=target) as r:
            ensure(answers(r) == before, "rows of the restored database")


def restore(s, target, *more):
    return subprocess.run([Server.program or TOP / "build/release/almanac", "restore", str(s.root / "backups"), "TO", str(target), *more],
                          capture_output=True, text=True, timeout=120)


def segments(s):
    return sorted((s.root / "archive").glob("*.wal"))


@check
def the_archive_takes_no_damaged_record():
    with server(ALMANAC_WAL_ARCHIVE_DIR="archive", ALMANAC_WAL_ARCHIVE_INTERVAL="3s") as s:
        s.exec("create table l (ts timestamp, id long) timestamp(ts) partition by day wal")
        s.exec("insert into l values ('2024-01-01', 1)")
        s.exec("backup database")
        wait_for(lambda: len(segments(s)) > 1)
        had = len(segments(s))
        for i in range(20):
            s.exec(f"insert into l values ('2024-01-01', {1000003 + i})")
        log = sorted((s.root / "db" / "wal").glob("[0-9a-f]*.wal"))[-1]
        at = log.read_bytes().find(struct.pack("<q", 1000013))
        ensure(at > 0, "the record is not found")
        flip(log, at)
        said = wait_for(lambda: warnings(s))
        ensure(said and log.name in said[0], f"/warnings: {said}")
        ensure(log.name not in [p.name for p in segments(s)], "the damaged segment is archived")
        failing = s.rows("select archive_failing from backup_status()")[0][0]
        ensure(failing is True, "backup_status()")
        s.exec("backup database")
        s.exec("insert into l values ('2024-01-01', 7)")
        ensure(wait_for(lambda: len(segments(s)) > had), "the archive does not go on behind a backup")
        ensure(wait_for(lambda: s.rows("select archive_failing from backup_status()")[0][0] is False), "it fails on")
        ensure(s.rows("select count(), sum(id) from l") == [[22, 1 + sum(1000003 + i for i in range(20)) + 7]], "rows")


@check
def a_restore_does_not_end_early():
    with server(ALMANAC_WAL_ARCHIVE_DIR="archive", ALMANAC_WAL_ARCHIVE_INTERVAL="100ms") as s:
        s.exec("create table l (ts timestamp, id long) timestamp(ts) partition by day wal")
        s.exec("backup database")
        for i in range(3):
            had = len(segments(s))
            s.exec(f"insert into l values ('2024-01-01', {i})")
            start = time.monotonic()
            ensure(wait_for(lambda: len(segments(s)) > had, 5), "nothing comes into the archive")
            took = time.monotonic() - start
            ensure(took < 0.6, f"wal.archive.interval=100ms took {took:.2f} s")
            time.sleep(0.3)
        target = s.root / "restored"
        for until in ("2999-01-01T00:00:00Z", str(10**9)):
            r = restore(s, target, "--until", until)
            ensure(r.returncode == 2 and "--allow-earlier" in r.stderr, f"--until {until}: {r.returncode} {r.stdout} {r.stderr}")
            ensure(not target.exists(), "a restore that was refused leaves something")
        r = restore(s, target, "--until", "2999-01-01T00:00:00Z", "--allow-earlier")
        ensure(r.returncode == 0, r.stderr)
        with Server(root=target) as t:
            ensure(t.rows("select count() from l") == [[3]], "rows of the restored database")
        said, code = program_check(s.root / "archive")
        ensure(code == 0, f"check of the archive: {code} {said}")
        flip(segments(s)[-1], 120)
        said, code = program_check(s.root / "archive")
        ensure(code == 1 and segments(s)[-1].name in said, f"check of a damaged archive: {code} {said}")
        # Cut off in its middle: nothing is served.
        half = s.root / "half"
        (half / "db").mkdir(parents=True)
        (half / "restoring").write_text("almanac restore 1\n")
        try:
            Server(root=half).start().stop()
            raise AssertionError("a server starts on a restore that was cut off")
        except RuntimeError as e:
            ensure("restore" in str(e), str(e))


if __name__ == "__main__":
    main_alone(__doc__)
