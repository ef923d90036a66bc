"""psql: scripts on its standard input, each a process of its own."""
import os, pathlib, pty, re, select as select_, signal, subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import (CA, NULLS, ODD, SLOW, TYPES, check, expect, main, none, table, time_series_queries, time_series_setup, type_rows, types_ddl)


def psql(script, *args, code=0, **env):
    """(standard output, standard error) of `psql -XAtq`; the rows are unaligned, NULL is shown as [null]."""
    p = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-P", "null=[null]", *args], input=script, env={**os.environ, **env},
                       capture_output=True, text=True, timeout=120)
    expect(p.returncode, code, p.stderr + script[:500])
    return p.stdout, p.stderr


def answer(script, *args, **env):
    return psql(script, *args, **env)[0]


def quoted(v):
    """A literal; psql's own :'name' does the same for a variable."""
    return "'" + v.replace("'", "''") + "'"


def shown(v):
    """How psql shows a value of the samples."""
    if isinstance(v, bool):
        return "t" if v else "f"
    if isinstance(v, list):
        return "{" + ",".join("NULL" if x is None else shown(x) for x in v) + "}"
    if isinstance(v, bytes):
        return "\\x" + v.hex()
    return "[null]" if v is None else str(v)


def literal(v, kind):
    return "null" if v is None else f"{quoted(shown(v))}::{kind}" if kind in ("boolean", "binary", "double[]", "double[][]") else quoted(shown(v))


@check
def connect():
    expect(int(answer("show server_version").split(".")[0]) >= 14, True)
    expect("You are connected to database \"qdb\" as user \"admin\"" in answer("\\conninfo"), True)
    error = psql("select 1", code=2, PGPASSWORD="no")[1]
    expect("invalid username/password" in error, True, error)


@check
def tls():
    for mode, more in (("require", {}), ("verify-full", {"PGSSLROOTCERT": CA, "PGCHANNELBINDING": "require"})):
        expect("SSL connection (protocol: TLSv1" in answer("\\conninfo", PGSSLMODE=mode, **more), True, mode)
    error = psql("select 1", code=2, PGSSLMODE="verify-full", PGSSLROOTCERT="/etc/ssl/certs/ca-certificates.crt")[1]
    expect("certificate verify failed" in error, True, error)


@check
def select():
    expect(answer("select 1 a, 'x' b, null d, true e;\nselect x from long_sequence(3) where x > 5;\nselect 2; select 3;"), "1|x|[null]|t\n2\n3\n")
    expect(answer("select 1 a, '\u00fc' b", "-P", "tuples_only=off", "--csv"), "a,b\n1,\u00fc\n")
    expect(answer(f"select {quoted(ODD)}"), ODD + "\n")


@check
def types():
    t = table("types")
    script = [f"drop table if exists {t};", types_ddl(t) + ";"]
    for k, values in type_rows():
        script.append(f"insert into {t} values ({k}, " + ", ".join(literal(v, kind) for v, (_, kind, _, _) in zip(values, TYPES)) + ");")
    psql("\n".join(script))
    for column, kind, values, _ in TYPES:
        got = answer(f"select {column} from {t} order by k;", "-R", "\x01").rstrip("\n").split("\x01")
        if kind == "date":
            want = [v.strftime("%Y").zfill(4) + v.strftime("-%m-%d %H:%M:%S.%f")[:-3] for v in values]
        elif kind.startswith("timestamp"):
            want = [v.strftime("%Y").zfill(4) + v.strftime("-%m-%d %H:%M:%S.%f") for v in values]
        elif kind in ("float", "double") or kind.startswith("double["):
            got, want = [list(map(float, re.findall(r"[-\d.e+]+", g.replace("NULL", "")))) for g in got], [
                list(map(float, re.findall(r"[-\d.e+]+", shown(v).replace("NULL", "")))) for v in values]
            if kind == "float":
                got, want = [[f"{x:.7g}" for x in g] for g in got], [[f"{x:.7g}" for x in w] for w in want]
        else:
            want = [shown(v) for v in values]
        expect(got, want, column)


@check
def nulls():
    t = table("nulls")
    psql(f"drop table if exists {t};\n{types_ddl(t)};\ninsert into {t} values (1, {', '.join(['null'] * len(NULLS))});")
    expect(answer(f"select * from {t}"), "|".join(["1"] + [shown(v) for v in NULLS]) + "\n")


@check
def parameters():
    t = table("params")
    psql(f"drop table if exists {t};\ncreate table {t} (k int, v varchar);\n\\set text 'it''s \"odd\"'\ninsert into {t} values (:k, :'text'), (2, 'b');",
         "-v", "k=1")
    expect(answer(f"select k from {t} where v = :'v' or k = any(:'list') order by k limit :n;", "-v", "v=it's \"odd\"", "-v", "list={2,9}", "-v", "n=5"), "1\n2\n")
    expect(answer("select 5 as five, 'x' as ex \\gset\nselect :five + 1, :'ex';"), "6|x\n")


none(prepared="psql before version 16 sends no parameters")


@check
def batch():
    t = table("batch")
    rows = "".join(f"insert into {t} values ({k}, 'v{k}');\n" for k in range(1000))
    psql(f"drop table if exists {t};\ncreate table {t} (k int, v varchar);\n{rows}", "-1")
    expect(answer(f"select count(), sum(k) from {t}"), "1000|499500\n")
    bad = rows.replace("(500, 'v500')", "('x', 'v500')")
    for script, args, code in ((bad, ["-1"], 3), ("", ["-c", bad], 1)):  # one transaction: by -1, and as one text of many statements
        error = psql(script, *args, code=code)[1]
        expect("inconvertible value" in error, True, error[:500])
        expect(answer(f"select count() from {t}"), "1000\n")


@check
def fetch():
    p = subprocess.Popen(["psql", "-XAtq", "-v", "FETCH_COUNT=10000", "-c", "\\echo start", "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdin.write("select x, 'a text of some length' from long_sequence(1000000);")
    p.stdin.close()
    total, peak = 0, 0
    for n, line in enumerate(p.stdout):
        total += int(line.split("|")[0]) if "|" in line else 0
        if n % 100000 == 1:
            status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
            peak = max(peak, int(re.search(r"VmHWM:\s+(\d+)", status)[1]) >> 10)
    expect((p.wait(), total), (0, 500000500000))
    expect(peak < 64, True, f"{peak} MiB")


@check
def large():
    t = table("large")
    value = "0123456789abcd\u00fc" * (1 << 17)
    psql(f"drop table if exists {t};\ncreate table {t} (v varchar);\ninsert into {t} values ('{value}');")
    expect(answer(f"select v from {t}") == value + "\n", True)
    rows = answer("select x from long_sequence(100000)").splitlines()
    expect((len(rows), rows[-1]), (100000, "100000"))


@check
def transaction():
    t = table("tx")
    psql(f"drop table if exists {t};\ncreate table {t} (k int);\nbegin; insert into {t} values (1); commit;\nbegin;\ninsert into {t} values (2);\nrollback;\n"
         f"begin;\ninsert into {t} values (3);\nsavepoint a;\ninsert into {t} values (4);\nrollback to a;\nrelease a;\ncommit;")
    expect(answer(f"select k from {t} order by k"), "1\n3\n")
    out, error = psql(f"begin;\ninsert into {t} values (5);\nselect * from nosuch;\nselect 1;\ncommit;", "-v", "ON_ERROR_STOP=0", "-v", "VERBOSITY=sqlstate",
                      "-v", "QUIET=off")
    expect((re.findall(r"ERROR:  (\S+)", error), out.split()), (["42P01", "25P02"], ["BEGIN", "INSERT", "0", "1", "ROLLBACK"]), error)
    psql(f"begin;\ninsert into {t} values (6);\nselect * from nosuch;\ninsert into {t} values (7);\ncommit;", "-v", "ON_ERROR_STOP=0", "-v", "ON_ERROR_ROLLBACK=on")
    expect(answer(f"select k from {t} order by k"), "1\n3\n6\n7\n")


@check
def copy_in():
    t = table("copy_in")
    rows = "".join(f"{k}\t{'text ' + str(k) if k % 2 else chr(92) + 'N'}\n" for k in range(1000))
    psql(f"drop table if exists {t};\ncreate table {t} (k int, v varchar);\ncopy {t} from stdin;\n{rows}\\.\n\\copy {t} from pstdin csv\n7,\"a, b\"\n8,\n\\.\n")
    expect(answer(f"select count(), count(v), sum(k) from {t}"), "1002|501|499515\n")
    error = psql(f"copy {t} from stdin;\n1\ta\nx\tb\n\\.\n", code=3)[1]
    expect("line 2" in error, True, error)
    expect(answer(f"select count() from {t}"), "1002\n")


@check
def copy_out():
    expect(answer("copy (select x, null, 'a b' from long_sequence(2)) to stdout;"), "1\t\\N\ta b\n2\t\\N\ta b\n")
    expect(answer("\\copy (select x, 'a, b' t from long_sequence(2)) to stdout csv header"), "x,t\n1,\"a, b\"\n2,\"a, b\"\n")


@check
def errors():
    for text, state, caret in (("select 1 +", "42601", None), ("select * from nosuch", "42P01", "LINE 1: select * from nosuch\n                      ^"),
                               ("select '\u00fc', nope", "42703", "LINE 1: select '\u00fc', nope\n                    ^"),
                               ("select 1;\nselect true + 'y'::int + now('a')", None, "LINE 1: select true")):
        error = psql(text, "-v", "VERBOSITY=verbose", code=3)[1]
        expect(state is None or f"ERROR:  {state}: " in error, True, error)
        expect(caret is None or caret in error, True, error)
    t = table("errors")
    error = psql(f"drop table if exists {t};\ncreate table {t} (i int);\ninsert into {t} values ('x');", "-v", "VERBOSITY=verbose", code=3)[1]
    expect("ERROR:  22P02: " in error, True, error)


@check
def cancel():
    here, there = pty.openpty()  # after Ctrl-C psql goes on where a person sits before it, and ends elsewhere
    env = {**os.environ, "TERM": "dumb", "PSQL_HISTORY": "/dev/null", "PAGER": "cat"}
    p = subprocess.Popen(["psql", "-XAtn", "-v", "VERBOSITY=sqlstate", "-v", "PROMPT1=ready> "], stdin=there, stdout=there, stderr=there, env=env)
    seen = ""

    def until(text):
        nonlocal seen
        while text not in seen:
            if not select_.select([here], [], [], 60)[0]:
                raise AssertionError(f"no {text!r} in {seen!r}")
            seen += os.read(here, 4096).decode()
        seen = seen.split(text, 1)[1]

    try:
        until("ready> ")
        os.write(here, f"{SLOW};\n".encode())
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        until("ERROR:  57014")
        until("ready> ")
        os.write(here, b"select 'af' || 'ter';\n")
        until("after")
    finally:
        p.kill()
        p.wait()
        os.close(here)
        os.close(there)


@check
def timeout():
    out, error = psql(f"set statement_timeout = 200;\n{SLOW};\nset statement_timeout = 0;\nselect 1;", "-v", "ON_ERROR_STOP=0", "-v", "VERBOSITY=sqlstate")
    expect((out, error.split()[-1]), ("1\n", "57014"))
    error = psql(SLOW, "-v", "VERBOSITY=sqlstate", code=3, PGOPTIONS="-c statement_timeout=200")[1]
    expect(error.split()[-1], "57014")


@check
def metadata():
    t = table("meta")
    psql(f"drop table if exists {t};\ncreate table {t} (k int, sym symbol index, d decimal(10,2), a double[], ts timestamp) timestamp(ts) partition by day;")
    expect(f"public|{t}|table|admin\n" in answer("\\dt"), True)
    expect(answer(f"\\d {t}").splitlines()[:5], ["k|integer|||", "sym|character varying|||", "d|numeric(10,2)|||", "a|double precision[]|||", "ts|timestamp without time zone|||"])
    for command in ("\\l", "\\du", "\\dn", "\\dT", "\\df", "\\di", "\\dv", "\\dm", "\\ds", "\\dp", "\\db", "\\d+", f"\\d+ {t}"):
        psql(command)


none(pool="psql has one connection")


@check
def time_series():
    psql(";\n".join(time_series_setup()) + ";")
    for text, values, want in time_series_queries():
        script = text.format(*[f":'p{i}'" if isinstance(v, str) or not isinstance(v, int) else f":p{i}" for i, v in enumerate(values)])
        sets = [w for i, v in enumerate(values) for w in ("-v", f"p{i}={v}")]
        got = answer(script + ";", *sets).splitlines()
        expect([g.split("|")[-1] for g in got], [f"{w[-1]:.15g}" for w in want], text)


main("psql", re.search(r"\d+(\.\d+)*", subprocess.run(["psql", "--version"], capture_output=True, text=True).stdout)[0])
