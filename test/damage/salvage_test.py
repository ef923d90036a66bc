#!/usr/bin/env python3
"""`almanac check ROOT --salvage OUT`: a directory is damaged in many ways, and what is saved is compared value by value with what was written.

Whatever the damage: no value is a wrong one, what is missing is said in report.csv, what the damage did not touch is there, and ROOT is as it was.

    salvage_test.py [--binary FILE] [NAME...]
"""
import csv, hashlib, pathlib, shutil, tempfile

import pyarrow.parquet

import files
from files import DAY, flip, folder as tables, overlays
from lib.checks import Suite, check, ensure
from lib.server import Server

ROWS, DAYS, COMMITS, LATE = 1000, 5, 6, 50
PARQUET_DAY, UPDATED_DAY = 4, 1
NAMES = {"t": "t", "table-1": "t", "u": "u", "table-2": "u"}  # table ids, where their names are lost
ENV = {"ALMANAC_WAL_SEGMENT_SIZE": "1m"}


# ------------------------------------------------------------------------- the database


def day_of(id):
    return id // ROWS + 1 if id < ROWS * DAYS else DAYS + 1


def written(table, id):
    """The row with that id: s, v, d, b."""
    return (f"{NAMES[table]} day {day_of(id)} symbol {id % 5}", f"the text of number {id}", id / 4 + (day_of(id) == UPDATED_DAY), id % 2 == 1)


def insert(s, table, first, n, step):
    s.exec(f"insert into {table} select ({first} * {step} + (x - 1) * {step})::timestamp, {first} + x - 1, '{table} day ' || {day_of(first)} || ' symbol ' || (({first} + x - 1) % 5), "
           f"'the text of number ' || ({first} + x - 1), ({first} + x - 1) / 4.0, ({first} + x - 1) % 2 = 1 from long_sequence({n})")


def make(root):
    """Each day is a part and a record of the dictionary; the rows behind them are in the log alone, in some records."""
    with Server(root=root, env=ENV) as s:
        for table in ("t", "u"):
            s.exec(f"create table {table} (ts timestamp, id long, s symbol, v varchar, d double, b boolean) timestamp(ts) partition by day wal")
        segments = lambda: sorted((root / "db" / "wal").glob("0*.wal"))
        began = segments()
        for day in range(DAYS):
            for table in ("t", "u"):
                insert(s, table, day * ROWS, ROWS, DAY // ROWS)
            s.exec("checkpoint create")
            s.exec("checkpoint release")
        s.exec(f"alter table t convert partition to parquet list '1970-01-{PARQUET_DAY:02}'")
        for table in ("t", "u"):
            s.exec(f"update {table} set d = d + 1 where ts in '1970-01-{UPDATED_DAY:02}'")
        s.exec("create table filler (v varchar)")
        while segments()[0] == began[0]:  # what made the tables leaves the log
            s.exec("insert into filler select 'the text of number ' || x from long_sequence(2000)")
            s.exec("checkpoint create")
            s.exec("checkpoint release")
        s.exec("drop table filler")
        for i in range(COMMITS):
            insert(s, "t", DAYS * ROWS + i * LATE, LATE, DAY // ROWS)
        s.kill()


class Database:
    made = None

    def __init__(self):
        self.folder, self.n = pathlib.Path(tempfile.mkdtemp(prefix="almanac-salvage-")), 0
        (self.folder / "root").mkdir()
        make(self.folder / "root")
        (self.folder / "root" / "db" / "reserve").unlink(missing_ok=True)  # large, and empty

    @classmethod
    def copy(cls):
        cls.made = cls.made or cls()
        cls.made.n += 1
        root = cls.made.folder / f"case{cls.made.n}"
        shutil.copytree(cls.made.folder / "root", root)
        return root


def part_of(root, day, overlay=False):
    return overlays(root)[0] if overlay else files.part_of(root, day)


def flip_bytes(path, what):
    at = path.read_bytes().find(what)
    ensure(at > 0, f"{path} does not hold {what}")
    flip(path, at + len(what) - 1)


# ------------------------------------------------------------------------- what is saved


def state(root):
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted((root / "db").rglob("*")) if p.is_file()}


def program(*args):
    return files.program(*args, timeout=60)


class Saved:
    """The report and all rows of a salvage; `found`: those that count though nothing names them."""

    def __init__(self, root, code):
        self.out = root.with_name(root.name + "-out")
        before = state(root)
        got, self.said = program("check", root, "--salvage", self.out)
        ensure(got == code, f"exit code {got}, not {code}: {self.said}")
        ensure(state(root) == before, "the directory was changed")
        self.report = list(csv.DictReader((self.out / "report.csv").open()))
        self.rows = {}
        for line in self.report:
            if line["file"]:
                self.read(line)

    def read(self, line):
        table = pyarrow.parquet.read_table(self.out / line["file"])
        ensure(table.num_rows == int(line["rows"]), f"{line} is not of {table.num_rows} rows")
        names = {name: {"c1": "ts", "c2": "id", "c3": "s", "c4": "v", "c5": "d", "c6": "b"}.get(name, name) for name in table.column_names}
        if "id" not in names.values():
            return  # an overlay that was found
        rows = self.rows.setdefault(line["table"], {})
        for row in table.rename_columns([names[n] for n in table.column_names]).to_pylist():
            self.compare(line, row)
            rows[row["id"]] = row

    def compare(self, line, row):
        id = row["id"]
        ensure(id is not None, f"{line}: a row without an id")
        for name, value in zip("svdb", written(line["table"], id)):
            old = line["result"] == "found" and name == "d" and row[name] == id / 4  # below an overlay that nothing names
            if name in row and row[name] is not None and row[name] != value and not old:
                raise AssertionError(f"{line}: row {id} has {name} = {row[name]!r}, not {value!r}")

    def nulls(self, table, column, ids=None):
        return sorted(id for id, row in self.rows[table].items() if row.get(column) is None and (ids is None or id in ids))

    def lines(self, **that):
        return [line for line in self.report if all(line[k] == v for k, v in that.items())]


ALL = set(range(DAYS * ROWS + COMMITS * LATE))
OF_DAY = {day: set(range((day - 1) * ROWS, day * ROWS)) for day in range(1, DAYS + 1)}
IN_LOG = ALL - set(range(DAYS * ROWS))


def all_of_u(saved):
    ensure(set(saved.rows["u"]) == set(range(DAYS * ROWS)) and not saved.nulls("u", "s"), "table u is not whole")
    ensure(all(line["result"] == "saved" for line in saved.lines(table="u")), saved.lines(table="u"))


@check
def a_sound_directory():
    saved = Saved(Database.copy(), 0)
    ensure(set(saved.rows["t"]) == ALL and {line["result"] for line in saved.report} == {"saved"}, saved.report)
    ensure(not any(saved.nulls("t", name) for name in "svdb"), "values are missing")
    all_of_u(saved)
    ensure(len(saved.lines(table="t", partition="1970-01-01")) == 1, saved.report)


@check
def what_was_saved_is_taken_in_again():
    root = Database.copy()
    saved = Saved(root, 0)
    shutil.copytree(saved.out / "t", root / "import" / "t")
    with Server(root=root, env=ENV) as s:
        s.exec("create table again as (select * from read_parquet('t/1970-01-02.*.parquet')) timestamp(ts) partition by day")
        ensure(s.rows("select count(), sum(id) from again") == s.rows("select count(), sum(id) from t where ts in '1970-01-02'"), "other rows")
        ensure(s.rows("select typeof(s), typeof(v), typeof(b) from again limit 1") == s.rows("select typeof(s), typeof(v), typeof(b) from t limit 1"), "other types")


@check
def a_dictionary():
    """Of one bit in a record the other records stay, and Parquet parts have the words of their rows; of a missing file these alone."""
    parquet = OF_DAY[PARQUET_DAY]
    for damage, without in (("bit", OF_DAY[2]), ("first code", OF_DAY[2]), ("missing", ALL - parquet - IN_LOG), ("of another column", ALL - parquet - IN_LOG), ("header", set()), ("short", OF_DAY[5])):
        root = Database.copy()
        path = tables(root) / "3.dict"
        data = path.read_bytes()
        if damage == "bit":
            flip_bytes(path, b"t day 2 symbol 3")
        if damage == "first code":
            flip(path, [i for i in range(len(data)) if data.startswith(b"DICR", i)][1] + 4)
        if damage == "missing":
            path.unlink()
        if damage == "of another column":
            shutil.copyfile(tables(root, 2) / "3.dict", path)
        if damage == "header":
            flip(path, 20)
        if damage == "short":
            path.write_bytes(data[:-10])
        saved = Saved(root, 1)
        ensure(set(saved.rows["t"]) == ALL, f"{damage}: rows are missing")
        ensure(set(saved.nulls("t", "s")) == without, f"{damage}: {len(saved.nulls('t', 's'))} rows without a symbol, not {len(without)}")
        line, = saved.lines(part="tables/1/3.dict")
        lost = len({written("t", id)[0] for id in without})
        ensure(f"{lost} of 30 symbols are lost" in line["reason"], f"{damage}: {line}")
        ensure(all(line["result"] == ("partial" if OF_DAY[2] & without else "saved") for line in saved.lines(table="t", partition="1970-01-02")), saved.report)
        all_of_u(saved)


@check
def a_dictionary_is_rebuilt():
    """The table opens again. Rows of symbols that are lost can be told from each other, and have no other symbol; nothing else changes."""
    for damage, without in (("bit", OF_DAY[2]), ("missing", ALL - OF_DAY[PARQUET_DAY] - IN_LOG), ("header", set())):
        root = Database.copy()
        path = tables(root) / "3.dict"
        if damage == "bit":
            flip_bytes(path, b"t day 2 symbol 3")
        if damage == "missing":
            path.unlink()
        if damage == "header":
            flip(path, 20)
        data = path.read_bytes() if path.exists() else None
        symbols = len({written("t", id)[0] for id in without})
        code, said = program("check", root, "--rebuild-symbols")
        ensure(code == (symbols > 0) and f"{symbols} of 30 symbols are lost, in {len(without)} rows" in said, f"{damage}: {code}, {said}")
        kept = path.with_name("3.dict.damaged")
        ensure((kept.read_bytes() if kept.exists() else None) == data, f"{damage}: the old file is not kept")
        for again in range(2):
            with Server(root=root, env=ENV) as s:
                rows = s.rows("select id, s, v from t where id >= 0")
                ensure({row[0] for row in rows} == ALL, f"{damage}: rows are missing")
                named = {}
                for id, symbol, text in rows:
                    want = written("t", id)
                    if id in without:
                        ensure(symbol.startswith("lost symbol 1/"), f"{damage}: row {id} has {symbol}")
                        ensure(named.setdefault(want[0], symbol) == symbol, f"{damage}: one symbol has two names")
                    else:
                        ensure(symbol == want[0], f"{damage}: row {id} has {symbol}, not {want[0]}")
                    ensure(text == want[1], f"{damage}: row {id} has {text}")
                ensure(len(set(named.values())) == symbols, f"{damage}: two symbols have one name")
                ensure(s.rows("select count() from t where s = 't day 5 symbol 1'")[0][0] == (0 if damage == "missing" else ROWS // 5), "symbols are not found")
                ensure(not s.rows("select count() from u where s like 'lost%'")[0][0], "table u has changed")
                s.exec("insert into t values ('1970-02-01', -1, 't day 2 symbol 3', '', 1, true)")
        code, said = program("check", root)
        ensure(code == 0, f"{damage}: {said}")
        code, said = program("check", root, "--rebuild-symbols")
        ensure(code == 0 and said.startswith("0 dictionaries"), said)


@check
def a_column_of_a_part():
    """A damaged column is null, one of a type without null is left out; all else of the part, and all other parts, are there."""
    root = Database.copy()
    part = part_of(root, 2)
    flip_bytes(part, b"the text of number 1234")
    saved = Saved(root, 1)
    ensure(set(saved.rows["t"]) == ALL and set(saved.nulls("t", "v")) == OF_DAY[2] and not saved.nulls("t", "s"), "other values are missing")
    line, = saved.lines(part=str(part.relative_to(root / "db")))
    ensure(line["result"] == "partial" and line["rows"] == str(ROWS) and "'v' is null in 1000 rows" in line["reason"], line)
    all_of_u(saved)

    root = Database.copy()
    part = part_of(root, 3)
    bits = bytes(id % 2 for id in range(2 * ROWS, 3 * ROWS))
    flip_bytes(part, bits)
    saved = Saved(root, 1)
    ensure(set(saved.nulls("t", "b")) == OF_DAY[3] and not saved.nulls("t", "v"), "other values are missing")
    ensure("'b' is left out" in saved.lines(part=str(part.relative_to(root / "db")))[0]["reason"], saved.report)


@check
def a_part():
    """Its footer, all of it, an overlay over it, its place."""
    for damage in ("footer", "missing", "exchanged", "overlay", "parquet"):
        root = Database.copy()
        part = part_of(root, 2)
        if damage == "footer":
            flip(part, part.stat().st_size - 50)
        if damage == "missing":
            part.unlink()
        if damage == "exchanged":
            other = part_of(root, 3)
            data = part.read_bytes()
            part.write_bytes(other.read_bytes())
            other.write_bytes(data)
        if damage == "overlay":
            part = part_of(root, UPDATED_DAY, overlay=True)
            flip(part, 100)
        if damage == "parquet":
            part, = tables(root).glob("*.parquet")
            flip(part, part.stat().st_size - 500)
        saved = Saved(root, 1)
        gone = {"footer": OF_DAY[2], "missing": OF_DAY[2], "parquet": OF_DAY[PARQUET_DAY]}.get(damage, set())
        ensure(set(saved.rows["t"]) == ALL - gone, f"{damage}: other rows are missing")
        ensure(set(saved.nulls("t", "d")) == (OF_DAY[1] if damage == "overlay" else set()), f"{damage}: other values are missing")
        ensure(len(saved.lines(result="found")) == (2 if damage == "exchanged" else 0), saved.report)
        ensure(sum(int(line["rows"]) for line in saved.lines(result="lost")) == (2 * ROWS if damage == "exchanged" else len(gone)), saved.report)
        all_of_u(saved)


@check
def the_log():
    """Records before and behind the damage; symbols that a damaged one brought are lost, and the rows that it has."""
    for damage in ("record", "first", "header"):
        root = Database.copy()
        which = {"record": 2, "first": 0, "header": None}[damage]
        text = b"the text of number %d" % (DAYS * ROWS + (which or 0) * LATE + 3)
        path, = (p for p in (root / "db" / "wal").glob("0*.wal") if text in p.read_bytes())
        if which is None:
            flip(path, 20)
        else:
            flip_bytes(path, text)
        saved = Saved(root, which is not None)
        lost = set() if which is None else set(range(DAYS * ROWS + which * LATE, DAYS * ROWS + (which + 1) * LATE))
        ensure(set(saved.rows["t"]) == ALL - lost, f"{damage}: {len(saved.rows['t'])} rows: {saved.said}")
        ensure(set(saved.nulls("t", "s")) == (IN_LOG - lost if which == 0 else set()), f"{damage}: other symbols are missing")
        ensure(f"{int(which is not None)} stretches of the log are missing" in saved.lines(part="wal", table="")[0]["reason"], saved.report)
        all_of_u(saved)


@check
def the_catalogue():
    """Damaged, missing, with the log or without: rows and what part files say. Tables and columns may lose their names, values do not."""
    root = Database.copy()
    flip(root / "db" / "catalog", 300)
    saved = Saved(root, 0)
    ensure(set(saved.rows["t"]) == ALL and not saved.nulls("t", "s"), f"the one before: {saved.said}")
    ensure("catalog.1" in saved.lines(part="catalog", result="saved")[0]["reason"], saved.report)
    all_of_u(saved)
    for damage in ("catalog", "both"):
        root = Database.copy()
        (root / "db" / "catalog.1").unlink()
        if damage == "catalog":
            flip(root / "db" / "catalog", 300)
        else:
            (root / "db" / "catalog").unlink()
            shutil.rmtree(root / "db" / "wal")
        saved = Saved(root, 1)
        ensure("table-1" in saved.rows, f"the log has the names: {saved.said}")
        t, u = saved.rows["table-1"], saved.rows["table-2"]
        ensure(set(t) == (ALL if damage == "catalog" else ALL - IN_LOG) and set(u) == set(range(DAYS * ROWS)), f"{damage}: {len(t)} and {len(u)} rows: {saved.said}")
        ensure(not saved.nulls("table-2", "s") and not saved.nulls("table-1", "s"), f"{damage}: symbols are missing")
        ensure(saved.lines(part="catalog", result="lost"), saved.report)
        names = pyarrow.parquet.read_table(saved.out / saved.lines(table="table-1")[0]["file"]).column_names
        ensure("id" in names, f"a Parquet part says the names: {names}")


@check
def where_nothing_is_saved():
    root = Database.copy()
    out = root.with_name("full")
    out.mkdir()
    (out / "there").write_text("mine")
    for args, why in (((root, "--salvage", out), "is not empty"), ((root, "--salvage", root / "new"), "is within"), ((root.parent / "nothing", "--salvage", root.with_name("new")), "is not a data directory"),
                      ((root, "--salvage", root.with_name("new"), "--repair"), "--repair")):
        code, said = program("check", *args)
        ensure(code == 2 and why in said, f"{args}: {code}, {said}")
    ensure(not (root / "new").exists() and not root.with_name("new").exists(), "something was made")
    with Server(root=root, env=ENV):
        code, said = program("check", root, "--salvage", root.with_name("new"))
        ensure(code == 2 and "in use by process" in said, f"{code}, {said}")


def main():
    suite = Suite(__doc__)
    suite.checks()
    if Database.made is not None:
        shutil.rmtree(Database.made.folder, ignore_errors=True)
    suite.close()


if __name__ == "__main__":
    main()
