#!/usr/bin/env python3
"""run.py finds every kind of wrong answer, and --update repairs the answers and nothing else.

Method: SAMPLE is a file of cases that pass. Each row of PLANTED changes one text in it; the run must fail, its printed command
must fail for the same case alone, and --update must give back SAMPLE, byte for byte.
"""
import contextlib, io, pathlib, shlex, subprocess, tempfile

from lib import cases
from lib.checks import Suite, ensure
from lib.server import Server, TOP
from run import main as run_main

SAMPLE = r'''-- A comment; with a semicolon;
drop table if exists sample_t;
create table sample_t (ts timestamp, k symbol, v double, n long, a double[][], t varchar) timestamp(ts) partition by day;
insert into sample_t values ('2024-01-01', 'a', 0.1, 9007199254740993, ARRAY[[1.5, null], [2.0, 3.0]], 'two
lines | "quoted"'), ('2024-01-02', null, 1e300, null, null, ' 12');

-- changed on purpose: what comes below is a comment of two lines
-- @unordered is only said here, not @ordered
select ts, k, v, n, a, t from sample_t;
---- ts TIMESTAMP* | k SYMBOL | v DOUBLE | n LONG | a ARRAY | t VARCHAR
2024-01-01T00:00:00.000000Z | a | 0.1 | 9007199254740993 | [[1.5, null], [2.0, 3.0]] | "two\nlines | \"quoted\""
2024-01-02T00:00:00.000000Z | null | 1e+300 | null | null | " 12"

select k, '' e, 'null' z, '17' d, true b, ts
from sample_t order by v;
---- k SYMBOL | e STRING | z STRING | d STRING | b BOOLEAN | ts TIMESTAMP
a | "" | "null" | "17" | true | 2024-01-01T00:00:00.000000Z
null | "" | "null" | "17" | true | 2024-01-02T00:00:00.000000Z
-- this line is no comment: it follows a row

select 1 "a | b", 2 " error at 3: x";
---- "a | b" INT | " error at 3: x" INT
1 | 2

select n from sample_t where v > 1e301;
---- n LONG

-- @columns-only
select rnd_double() r;
---- r DOUBLE
0.25

select nope from sample_t;
---- error at 7: any message

update sample_t set v = 2.0;
---- updated 2

drop table sample_t;
'''.replace("-- this line is no comment: it follows a row\n", "")

# what it is, text of SAMPLE, text in its place
PLANTED = [
    ("a wrong value", "a | 0.1 |", "a | 0.2 |"),
    ("a number for a text", '| "17" | true | 2024-01-01', "| 17 | true | 2024-01-01"),
    ("a value for a null", "1e+300 | null | null", "1e+300 | 0 | null"),
    ("a wrong element of an array", "| [[1.5, null], [2.0, 3.0]]", "| [[1.5, null], [2.0, 4.0]]"),
    ("another shape of an array", "| [[1.5, null], [2.0, 3.0]]", "| [1.5, null, 2.0, 3.0]"),
    ("a space for a new line", r'two\nlines', "two lines"),
    ("a digit of a long", "9007199254740993 |", "9007199254740992 |"),
    ("a wrong type", "n LONG | a ARRAY", "n INT | a ARRAY"),
    ("a wrong name", '"a | b" INT', '"a | c" INT'),
    ("another designated timestamp", "TIMESTAMP* |", "TIMESTAMP |"),
    ("a wrong order", '''a | "" | "null" | "17" | true | 2024-01-01T00:00:00.000000Z
null | "" | "null" | "17" | true | 2024-01-02T00:00:00.000000Z''', '''null | "" | "null" | "17" | true | 2024-01-02T00:00:00.000000Z
a | "" | "null" | "17" | true | 2024-01-01T00:00:00.000000Z'''),
    ("a wrong position", "error at 7: any message", "error at 8: any message"),
    ("an error that is none", "---- n LONG\n", "---- error at 7: any message\n"),
    ("rows for an error", "---- error at 7: any message", "---- nope INT\n1"),
    ("a wrong count", "updated 2", "updated 3"),
    ("no count", "---- updated 2\n\n", "\n"),
    ("a missing row", "1 | 2\n", ""),
    ("a row too many", "1 | 2\n", "1 | 2\n1 | 2\n"),
    ("a row where there is none", "---- n LONG\n", "---- n LONG\n5\n"),
    ("a wrong type where only columns count", "r DOUBLE", "r FLOAT"),
    ("no answer at all", "---- n LONG\n\n", "\n"),
    ("rows of a statement without", "drop table sample_t;\n", "drop table sample_t;\n---- x INT\n"),
]
# What --update cannot give back is what it was not told: the message of an error, a random value.
LOST = {"rows for an error", "a wrong position", "a wrong type where only columns count"}


def command(words, **more):
    p = subprocess.run(words, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return p.returncode, p.stdout


def run(s, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            code = run_main(["--url", s.url, *args])
        except SystemExit as e:
            code = e.code
    return int(code), out.getvalue()


def the_sample(s, path):
    path.write_text(SAMPLE)
    code, out = run(s, str(path))
    ensure(code == 0 and out.endswith("11 passed, 0 failed\n"), out)


def planted(s, path, old, new, lost):
    ensure(SAMPLE.count(old) == 1, f"{old!r} is {SAMPLE.count(old)} times in SAMPLE")
    text = SAMPLE.replace(old, new)
    path.write_text(text)
    code, out = run(s, str(path))
    ensure(code == 1 and out.endswith("10 passed, 1 failed\n"), out)
    again = [line.split("again: ", 1)[1] for line in out.splitlines() if "again: " in line]
    code, alone = command(shlex.split(again[0]))
    ensure(code == 1 and alone.endswith("0 passed, 1 failed\n"), f"{again[0]}: {alone}")
    code, out = run(s, "--update", str(path))
    ensure(code == 0 and "1 answers written\n" in out, out)
    updated = path.read_text()
    ensure(updated == SAMPLE or lost or new.endswith("x INT\n") and updated == SAMPLE + "\n", updated)
    ensure(len(cases.read(path)) == 11, "cases are lost")
    code, out = run(s, "--update", str(path))
    ensure(code == 0 and "\n0 answers written\n" in "\n" + out and path.read_text() == updated, f"a second --update: {out}")


def listed_as_unmet(s, path):
    """A listed case may fail, and must not pass."""
    unmet = path.with_name("unmet.txt")
    unmet.write_text("")
    name, old, new = PLANTED[0]
    path.write_text(SAMPLE.replace(old, new))
    run(s, "--unmet", str(unmet), "--write-unmet", str(path))
    ensure(unmet.read_text().count(f"\n{path}:9 select ts, k") == 1, unmet.read_text())
    code, out = run(s, "--unmet", str(unmet), str(path))
    ensure(code == 0 and out == "of these 1 are listed in unmet.txt\n11 passed, 0 failed\n", out)
    path.write_text(SAMPLE)
    code, out = run(s, "--unmet", str(unmet), str(path))
    ensure(code == 1 and "passes now: take it off unmet.txt" in out and out.endswith("10 passed, 1 failed\n"), out)


def wrong_files(path):
    """What is no file of cases is refused with its place."""
    for text, why in (("select 1\n", ":1: the statement does not end"), ("select 1\n---- 1 INT\n", ":1: the statement does not end"),
                      ("\n---- 1 INT\n1\n", ":2: an answer without a statement"), ("select 1;\n---- 1 INT\n1 | 2\n", ":2: a row of 2 values"),
                      ("select 1;\n---- error: x\n1\n", ":2: more than one line"), ("select 1;\n---- x\n1\n", ":2: 'x' is no name and type"),
                      ('select 1;\n---- x INT\n"a\n', ":2: ")):
        path.write_text(text)
        try:
            cases.read(path)
        except ValueError as e:
            ensure(f"{path}{why}" in str(e), f"{text!r}: {e}")
        else:
            raise AssertionError(f"{text!r} was read")


def values():
    """Each text, number and list is read as it was written."""
    texts = ["", " ", "a", "a b", " a", "null", "NULL", "true", "1", "-1.5", "1e5", "nan", "inf", "1_0", "0x1", '"', '"a"', "[", "[1]", "{", "|",
             "a | b", "a |", "| a", "a\nb", "a\r", "\t", "\x00", "\u2028", "\ufeff", "\U0001f600", "\U000e0001", "---- x INT", "-- a", "ä", "\\", "a;"]
    every = [*texts, None, True, False, 0, -1, 2**63 - 1, 0.1, -0.0, 1e300, 5e-324, 1.7976931348623157e308, [], [[]], [None, 1.5], [["a", "b | c"], [None]]]
    for v in every:
        got = cases.answer_of(cases.answer_lines({"columns": [["a", "X"], ["b", "Y"]], "timestamp": 1, "rows": [[v, 1], ["x", v]]}))
        ensure(repr(got["rows"]) == repr([[v, 1], ["x", v]]) and got["timestamp"] == 1, f"{v!r} became {got['rows']}")
    for name in texts + ["error: a", "error at 5: a", "updated", "count(x)"]:
        got = cases.answer_of(cases.answer_lines({"columns": [[name, "DECIMAL(10,2)"], [name, "INT"]], "timestamp": -1, "rows": []}))
        ensure(got["columns"] == [[name, "DECIMAL(10,2)"], [name, "INT"]], f"{name!r} became {got['columns']}")
    for message in texts:
        for more in ({"position": None, "status": 400}, {"position": 5, "status": 403}):
            want = {"error": message, **more}
            ensure(cases.answer_of(cases.answer_lines(want)) == want, f"{want} became {cases.answer_lines(want)}")


def main():
    suite = Suite(__doc__)
    with Server(binary=suite.o.binary) as s, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sample.test"
        checks = [("the sample", the_sample, s, path), ("values", values), ("wrong files", wrong_files, path), ("unmet", listed_as_unmet, s, path)]
        for name, old, new in PLANTED:
            checks.append((name, planted, s, path, old, new, name in LOST))
        for name, f, *args in checks:
            if suite.wants(name):
                suite.one(name, f, *args)
    suite.close()


if __name__ == "__main__":
    main()
