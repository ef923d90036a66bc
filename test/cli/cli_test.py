#!/usr/bin/env python3
"""`almanac sql` as scripts use it: statements of arguments, files and pipes, against a server and against a
directory; formats; errors and their places; exit codes; cancel; memory of large results.

    cli_test.py [--nightly]
"""
import csv, io, json, os, pathlib, signal, subprocess, sys, tempfile, time

from lib.checks import CHECKS, Suite, check, expect
from lib.server import Server, TOP

PROGRAM = str(TOP / "build" / "release" / "almanac")
NIGHTLY = "--nightly" in sys.argv
TABLE = """create table t (ts timestamp, s symbol, x double, b boolean, n long) timestamp(ts) partition by day;
insert into t values ('2026-01-01', 'a|b', 1.5, true, 7), ('2026-01-02', null, null, false, null),
    ('2026-01-03', 'q"x,\té', 1e300, true, 3);"""


class Client:
    """where: arguments that name the server or the directory."""

    def __init__(self, server=None, folder=None):
        self.where = ["-p", server.pg.rsplit(":", 1)[1]] if server else ["-d", folder]
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith("PG")}, "ALMANAC_PASSWORD": "quest"}

    def start(self, *args, **more):
        return subprocess.Popen([PROGRAM, "sql", *self.where, *args], env=self.env, **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                "stderr": subprocess.PIPE, "text": True, **more})

    def run(self, *args, text=None, **more):
        """(exit code, output, errors)"""
        p = self.start(*args, **{"stdin": subprocess.PIPE if text is not None else subprocess.DEVNULL, **more})
        out, err = p.communicate(text, timeout=120)
        return p.returncode, out, err

    def ok(self, *args, **more):
        code, out, err = self.run(*args, **more)
        expect((code, err), (0, ""))
        return out


@check
def table(c):
    code, out, err = c.run("-c", "select s, x, b, n from t; drop table if exists none")
    expect((code, err), (0, 'NOTICE: table "none" does not exist, skipping\n'))
    expect(out.splitlines(),
           [' s       |      x | b     |    n',
            '---------+--------+-------+------',
            ' a|b     |    1.5 | true  |    7',
            ' null    |   null | false | null',
            ' q"x,\\té | 1e+300 | true  |    3', '(3 rows)', 'DROP TABLE'])


@check
def vertical(c):
    expect(c.ok("--format", "vertical", "-c", "select s, x long_name from t limit 1"), "-[ 1 ]-\ns         | a|b\nlong_name | 1.5\n")


@check
def csv_reads_back(c):
    rows = list(csv.reader(io.StringIO(c.ok("--format=csv", "-c", "select s, x, b, n from t"))))
    expect(rows, [["s", "x", "b", "n"], ["a|b", "1.5", "true", "7"], ["", "", "false", ""], ['q"x,\té', "1e+300", "true", "3"]])


@check
def csv_knows_null_from_empty(c):
    expect(c.ok("--format", "csv", "-c", "select '' e, null::varchar n, 'a\nb' l"), 'e,n,l\n"",,"a\nb"\n')


@check
def tsv(c):
    expect(c.ok("--format", "tsv", "-c", "select s, n from t"), 's\tn\na|b\t7\n\\N\t\\N\nq"x,\\té\t3\n')


@check
def json_reads_back(c):
    want = [{"s": "a|b", "x": 1.5, "b": True, "n": 7}, {"s": None, "x": None, "b": False, "n": None}, {"s": 'q"x,\té', "x": 1e300, "b": True, "n": 3}]
    expect(json.loads(c.ok("--format", "json", "-c", "select s, x, b, n from t")), want)
    expect([json.loads(line) for line in c.ok("--format", "ndjson", "-c", "select s, x, b, n from t").splitlines()], want)
    expect(json.loads(c.ok("--format", "json", "-c", "select s from t where n = 99")), [])
    expect(json.loads(c.ok("--format", "json", "-c", "create table if not exists j (x int); select 9223372036854775807 l from t limit 1")),
           [{"l": 9223372036854775807}])


@check
def markdown(c):
    expect(c.ok("--format", "markdown", "-c", "select s, n from t limit 2"), "| s | n |\n|---|---:|\n| a\\|b | 7 |\n| null | null |\n")


@check
def terminals_are_safe(c):
    expect(c.ok("-c", "select '\x1b[2J\x07' v").splitlines()[2], " \\x1b[2J\\x07")


@check
def input_of_every_kind(c):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as f:
        f.write("-- first;\nselect 2 two;")
        f.flush()
        expect(c.ok("--format", "csv", "-c", "select 1 one", "-f", f.name, "-c", "select 3 three"), "one\n1\ntwo\n2\nthree\n3\n")
    expect(c.ok("--format", "csv", text="select 'a;\nb' v;\nselect 4"), 'v\n"a;\nb"\n4\n4\n')
    expect(c.ok("--format", "csv", "-f", "-", text="select 5 -- no end"), "5\n5\n")
    expect(c.ok(text=""), "")


@check
def errors_have_their_place(c):
    code, out, err = c.run("-c", "select 1 a;\nselect 'é',\n\tnope from t; select 2 b", "--format", "csv")
    expect((code, out), (1, "a\n1\n"))
    lines = err.splitlines()
    expect((lines[0].split(":")[0], lines[1], lines[2]), ("ERROR 42703", "LINE 3: \tnope from t", "        \t^"))


@check
def scripts_stop_or_go_on(c):
    script = "select 1 a;\nselect * frm t;\nselect 2 b;"
    code, out, err = c.run("--format", "csv", text=script)
    expect((code, out, err.splitlines()[0].split(": ")[0]), (1, "a\n1\n", "stdin:2"))
    code, out, _ = c.run("--format", "csv", "-k", text=script)
    expect((code, out), (1, "a\n1\nb\n2\n"))


@check
def usage(c):
    for args in (["--format", "x"], ["-c"], ["--nope"], ["-f", "/nonexistent", "--zzz"]):
        code, out, err = c.run(*args)
        expect((code, out, err.startswith("almanac sql: ")), (2, "", True))
    expect(c.run("-f", "/nonexistent")[0], 1)
    expect(c.ok("--help").startswith("usage: almanac sql"), True)


@check
def output_to_a_file(c):
    with tempfile.TemporaryDirectory() as folder:
        expect(c.ok("-o", f"{folder}/out.csv", "--format", "csv", "-c", "select 1 a"), "")
        expect(pathlib.Path(folder, "out.csv").read_text(), "a\n1\n")
    code, _, err = c.run("-o", "/dev/full", "-c", "select 1")
    expect((code, "No space left" in err), (1, True))


@check
def transactions_span_statements(c):
    expect(c.run("-c", "begin; insert into t values ('2026-03-01', 'z', 1, true, 1); rollback")[0], 0)
    expect(c.ok("--format", "csv", "-c", "select count() n from t"), "n\n3\n")


@check
def large_results_take_little_memory(c):
    rows = 20_000_000 if NIGHTLY else 3_000_000
    for form in ("csv", "table", "json"):
        p = c.start("--format", form, "-c", f"select x, rnd_str(10, 20, 0) s from long_sequence({rows})", stdout=subprocess.PIPE, text=False)
        lines = peak = 0
        while chunk := p.stdout.read(1 << 20):
            lines += chunk.count(b"\n")
            status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
            peak = max(peak, int(status.split("VmHWM:")[1].split()[0]) if "VmHWM:" in status else 0)
        expect((p.wait(), lines >= rows, p.stderr.read()), (0, True, b""))
        bound = 64 if c.where[0] == "-p" else 256  # the engine has memory of its own
        print(f"  {form}: {rows} rows, {peak // 1024} MB (bound {bound})", flush=True)
        expect(peak < bound * 1024, True)


@check
def interrupts_cancel(c):
    p = c.start("-c", "select sum(a.x * b.x) from long_sequence(10000000) a cross join long_sequence(1000000) b", "-c", "select 1")
    time.sleep(1.0)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    expect((p.returncode, out, "cancel" in err), (130, "", True))


def wire_only():
    with Server() as s:
        c = Client(server=s)
        c.ok("-c", TABLE)
        expect(c.ok("-c", "copy t to stdout with csv").count("\n"), 3)
        expect(c.ok("-c", "copy t from stdin with (format csv)", text="2026-02-01,z,3,true,9\n"), "COPY 1\n")
        code, _, err = c.run(text="copy t from stdin;")
        expect((code, "standard input is the script" in err), (1, True))
        c.env["ALMANAC_PASSWORD"] = "wrong"
        code, _, err = c.run("-c", "select 1")
        expect((code, "password" in err), (2, True))
        del c.env["ALMANAC_PASSWORD"]
        c.env["PGPASSWORD"] = "quest"
        expect(c.ok("--format", "csv", "-c", "select 1 a"), "a\n1\n")
        code, _, err = Client(folder=str(s.root)).run("-c", "select 1")
        expect((code, "in use" in err), (2, True))
        p = c.start("-f", "-", stdin=subprocess.PIPE)
        p.stdin.write("select 1;\n")
        p.stdin.flush()
        expect(p.stdout.readline().strip(), "1")
        s.kill()
        expect((p.communicate("select 2;\nselect 3;\n", timeout=30)[1].count("almanac sql:"), p.returncode), (1, 2))
        s.start()
    expect(Client(folder="/nonexistent").run("-c", "select 1")[0], 2)


def each_check(suite, where, client, *more):
    """Every check against one client; its name begins with where the data are."""
    for f in CHECKS:
        if suite.wants(f.__name__):
            suite.one(f"{where}: {f.__name__}", f, client, *more)


class OnBoth(Suite):
    """A suite whose checks run against a server and against a directory: a failure names both, the command the check."""

    def again(self, name):
        return super().again(name.rpartition(": ")[2])


def main():
    suite = OnBoth(__doc__)
    with Server() as s, tempfile.TemporaryDirectory(prefix="almanac-cli-", ignore_cleanup_errors=True) as folder:
        for where, client in (("server", Client(server=s)), ("directory", Client(folder=folder))):
            suite.one(f"{where}: set-up", client.ok, "-c", TABLE)
            each_check(suite, where, client)
    if suite.wants("wire_only"):
        suite.one("wire_only", wire_only)
    suite.close()


if __name__ == "__main__":
    main()
