#!/usr/bin/env python3
"""Upgrades: a directory that an older program wrote opens, has all rows, and is written in the formats of today from then on.

data/database-9.tar.xz is of the last program with catalogue version 9 and log version 10, killed: two tables with partitions, symbols, an overlay, a Parquet
part and rows behind the checkpoint, and a backup from before these. data/database-10.tar.xz is of catalogue version 10 and log version 11: a table of 40
hourly partitions of one row, each in a file of its own, and behind the checkpoint ten late rows and an UPDATE. data/database-11.tar.xz is of catalogue
version 11 and dictionary version 2, killed: a table with a dictionary of three records, its rows in the catalogue, and two rows behind the checkpoint.

    upgrade_test.py [--binary FILE] [NAME...]
"""
import pathlib, shutil, struct, subprocess, tarfile, tempfile

from lib.checks import check, ensure, main_alone
from lib.server import TOP, Server

HERE = pathlib.Path(__file__).resolve().parent



def program(*args):
    """(exit code, output) of the program."""
    r = subprocess.run([Server.program or TOP / "build/release/almanac", *map(str, args)], capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout + r.stderr


class Old:
    """The directory, in a place that goes away."""

    def __init__(self, version=9):
        self.version = version

    def __enter__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="almanac-test-"))
        with tarfile.open(HERE / f"database-{self.version}.tar.xz") as t:
            t.extractall(self.root)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def server(self, **env):
        return Server(root=self.root, env={"ALMANAC_WAL_SEGMENT_SIZE": "1m", **env})


def rows_of(table, late):
    """What the table has by its making: 300 rows, of t 100 with an UPDATE, and one of behind the checkpoint."""
    d = [x / 4 + (table == "t" and x <= 100) for x in range(1, 301)] + [7.5] * late
    symbols = sorted([f"s{x % 5}" for x in range(1, 301)] + [{"t": "s9", "u": "s8"}[table]] * late)
    return [300 + late, sum(range(1, 301)) + 301 * late, sum(d)], [[s, symbols.count(s)] for s in sorted(set(symbols))]


def answers(s, table, more=0):
    where = f"where id < {302 + more}"
    return s.rows(f"select count(), sum(id), sum(d) from {table} {where}")[0], s.rows(f"select s, count() from {table} {where} order by s")


def version_of(path):
    return struct.unpack_from("<I", path.read_bytes(), 8)[0]


def id_of_catalogue(root):
    return struct.unpack_from("<Q", (root / "db" / "catalog").read_bytes(), 64)[0]


def segments(root):
    return sorted((root / "db" / "wal").glob("[0-9a-f]*.wal"))


def id_of_segment(path):
    return struct.unpack_from("<Q", path.read_bytes(), 40)[0]


def are_right(s, late=1):
    for table in ("t", "u"):
        found = answers(s, table)
        ensure(found == rows_of(table, late), f"{table}: {found}, not {rows_of(table, late)}")


@check
def an_older_directory_is_sound():
    with Old() as old:
        code, said = program("check", old.root)
        ensure(code == 0, f"check: {code} {said}")
        with old.server() as s:
            are_right(s)


@check
def it_gets_an_id_with_the_log_and_with_the_catalogue():
    """What is written in the log of today stands in a segment of today, so that an older program refuses it."""
    with Old() as old:
        ensure((version_of(old.root / "db" / "catalog"), [version_of(p) for p in segments(old.root)]) == (9, [10]), "not a directory of before")
        with old.server() as s:
            s.exec("insert into t values ('1970-01-05', 1000, 's10', 'new', 1.0)")
            are_right(s)
            s.kill()
        found = segments(old.root)
        ensure([version_of(p) for p in found] == [10, 12], f"{[version_of(p) for p in found]}")
        number = id_of_segment(found[1])
        ensure(number != 0 and version_of(old.root / "db" / "catalog") == 9, "no id in the log")
        with old.server() as s:
            are_right(s)
            ensure(s.rows("select s, v from t where id = 1000") == [["s10", "new"]], "a row of the log of today")
            s.exec("checkpoint create")
            s.exec("checkpoint release")
        ensure((version_of(old.root / "db" / "catalog"), id_of_catalogue(old.root)) == (12, number), "the id of the catalogue")
        with old.server() as s:
            are_right(s)
        code, said = program("check", old.root)
        ensure(code == 0, f"check: {code} {said}")


@check
def parts_share_files_from_then_on():
    """Those of before stay where they are, in the catalogue and in the log."""
    def kinds():
        return sorted({f.suffix for f in (old.root / "db" / "tables").glob("*/*") if f.suffix != ".dict"})

    late = list(range(31, 41))
    want = [[50, sum(range(1, 41)) + sum(x + 100 for x in late), sum(range(1, 5))]]
    with Old(10) as old:
        ensure(version_of(old.root / "db" / "catalog") == 10 and kinds() == [".part"], "not a directory of before")
        code, said = program("check", old.root)
        ensure(code == 0, f"check: {code} {said}")
        with old.server() as s:
            ensure(s.rows("select count(), sum(x), sum(d) from h") == want, "rows of before")
            s.exec("create table i as (select * from h) timestamp(ts) partition by hour")
            s.exec("insert into h select x + 1000, s, t, d, ts from h")
            s.exec("delete from h where x = 1")
            s.kill()
        ensure(kinds() == [".pack", ".part"], f"{kinds()}")
        with old.server() as s:
            ensure(s.rows("select count(), sum(x), sum(d) from i") == want, "a copy")
            ensure(s.rows("select count(), sum(x) from h") == [[99, 2 * want[0][1] + 50000 - 1]], "new rows")
        code, said = program("check", old.root)
        ensure(code == 0, f"check: {code} {said}")


def symbols_of(s):
    return s.rows("select count(), sum(id), count_distinct(s) from t")[0], s.rows("select s from t where id in (3, 104, 205, 301, 302, 400) order by id")


@check
def a_dictionary_of_before_is_appended_to():
    """Its records stay in the form of the version that its header says; a dictionary that is made now has the version of today."""
    checkpoint = ("checkpoint create", "checkpoint release")
    with Old(11) as old:
        path = old.root / "db" / "tables" / "1" / "3.dict"
        before = path.read_bytes()
        ensure((version_of(old.root / "db" / "catalog"), version_of(path)) == (11, 2), "not a directory of before")
        code, said = program("check", old.root)
        ensure(code == 0, f"check: {code} {said}")
        with old.server() as s:
            ensure(symbols_of(s) == ([302, 45753, 16], [["a3"], ["b4"], ["c0"], ["d0"], ["a1"]]), symbols_of(s))
            s.exec("insert into t values ('1970-01-10', 400, 'e0', 9.5)")
            s.exec("create table n as (select * from t) timestamp(ts) partition by day")
            for sql in checkpoint:
                s.exec(sql)
            s.kill()
        after = path.read_bytes()
        ensure(after.startswith(before) and len(after) > len(before), "the dictionary was not appended to")
        ensure((version_of(old.root / "db" / "catalog"), [version_of(p) for p in sorted((old.root / "db" / "tables").glob("*/*.dict"))]) == (12, [2, 3]), "versions")
        with old.server() as s:
            ensure(symbols_of(s) == ([303, 46153, 17], [["a3"], ["b4"], ["c0"], ["d0"], ["a1"], ["e0"]]), symbols_of(s))
            ensure(s.rows("select count(), count_distinct(s) from n") == [[303, 17]], "a copy")
        code, said = program("check", old.root)
        ensure(code == 0, f"check: {code} {said}")


@check
def it_gets_an_id_with_a_checkpoint_alone():
    with Old() as old:
        with old.server() as s:
            are_right(s)
            s.exec("checkpoint create")
            s.exec("checkpoint release")
            s.kill()
        number = id_of_catalogue(old.root)
        ensure(version_of(old.root / "db" / "catalog") == 12 and number != 0, "no id")
        with old.server() as s:
            are_right(s)
            for table in ("t", "u"):  # parts, dictionaries of before and the Parquet file are written anew
                s.exec(f"insert into {table} select ts, id + 1000, s || 'x', v, d from {table}")
                s.exec(f"alter table {table} squash partitions")
            s.exec("alter table t convert partition to parquet where ts > 0")
            are_right(s)
            s.kill()
        ensure(id_of_catalogue(old.root) == number, "the id is another")
        with old.server() as s:
            are_right(s)
            ensure(s.rows("select count(), count_distinct(s) from u where id >= 1000") == [[301, 6]], "new rows")


def parts(root, table):
    """Native parts with their checksum in the trailer, as it stands in the catalogue."""
    return {p: p.read_bytes()[-16:-12] for p in sorted((root / "db" / "tables" / table).glob("*.part"))}


@check
def checksums_are_filled_in():
    """The catalogue of before has none of parts: that of today has those of the files that were read since."""
    with Old() as old:
        found = {**parts(old.root, "1"), **parts(old.root, "2")}
        ensure(len(found) == 6, f"{found}")
        with old.server() as s:
            ensure(s.rows("select sum(id) from u")[0][0] > 0, "a read")
            s.exec("checkpoint create")
            s.exec("checkpoint release")
            catalogue = (old.root / "db" / "catalog").read_bytes()
            told = sorted(p.parent.name for p, crc in found.items() if crc in catalogue)
            ensure(told == ["2", "2", "2"], f"of the table that was read, and no other: {told}")
            s.exec("scrub table t")
            s.exec("insert into t values ('1970-01-05', 1000, 's10', 'new', 1.0)")
            s.exec("checkpoint create")
            s.exec("checkpoint release")
            catalogue = (old.root / "db" / "catalog").read_bytes()
            ensure(all(crc in catalogue for crc in found.values()), "those that a scrub looked at")


@check
def parts_of_before_that_are_exchanged_are_noticed():
    """By their times, which the catalogue of before has."""
    with Old() as old:
        first, second, _ = parts(old.root, "2")
        ensure(first.stat().st_size == second.stat().st_size, "no pair")
        third = first.with_suffix(".third")
        first.rename(third)
        second.rename(first)
        third.rename(second)
        code, said = program("check", old.root)
        ensure(code == 1 and first.name in said and second.name in said, f"check: {code} {said}")
        with old.server() as s:
            try:
                ensure(False, f"a wrong answer: {answers(s, 'u')}")
            except RuntimeError as e:
                ensure("table 'u'" in str(e) and first.name in str(e), str(e))
            ensure(answers(s, "t") == rows_of("t", 1), "another table")


@check
def an_older_backup_is_restored():
    with Old() as old:
        code, said = program("check", old.root / "backups")
        ensure(code == 0, f"check: {code} {said}")
        target = old.root / "restored"
        code, said = program("restore", old.root / "backups", "TO", target)
        ensure(code == 0, f"restore: {code} {said}")
        with Server(root=target) as s:
            are_right(s, late=0)


if __name__ == "__main__":
    main_alone(__doc__)
