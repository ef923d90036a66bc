#!/usr/bin/env python3
"""The driver matrix: every row of drivers.toml runs the same checks against one server with TLS.

    run.py [--nightly | --all] [--write] [--binary FILE] [DRIVER...]
    run.py --page                       lays out docs/drivers.md anew from the rows it has, as after a merge
    run.py --serve                      a server and the environment of the programs, until the end of its input

Without names: the rows that CI runs; --all adds those that take long to build; --nightly the same, and a missing
toolchain is a failure there. What a driver answered has to be what docs/drivers.md says; --write makes that page.
How to add a driver: README.md in this folder.
"""
import argparse, concurrent.futures, hashlib, json, os, pathlib, re, shutil, subprocess, sys, time, tomllib

from lib.certs import Certs
from lib.checks import print_again
from lib.server import TOP, Server

HERE = pathlib.Path(__file__).resolve().parent
BUILD = TOP / "build" / "drivers"
PAGE = TOP / "docs" / "drivers.md"

LINE = re.compile(r"^(ok|fail|none) ([a-z_]+)(?:: (.*))?$")
SECONDS_MAX = {"prepare": 900, "run": 600}


class Result:
    """What one driver answered: marks[check] is 'ok', 'none' or 'fail'; reasons of the last two; output in full."""

    def __init__(self, row):
        self.row, self.name = row, row["name"]
        self.version = self.missing = None
        self.marks, self.reasons, self.output, self.seconds = {}, {}, "", 0.0


def load():
    with open(HERE / "drivers.toml", "rb") as f:
        table = tomllib.load(f)
    names = [r["name"] for r in table["driver"]]
    assert len(names) == len(set(names)), "a driver is listed twice"
    return table["check"], table["driver"]


# ----------------------------------------------------------------------------- one driver
def words(command, row):
    """A command of the table with its places filled in."""
    at = {"python": sys.executable, "here": HERE / row["name"], "build": BUILD / row["name"], "top": TOP, "all": BUILD}
    return [w.format(**at) for w in command]


def missing_tools(row):
    """Programs and files the row needs that are not there."""
    return [n for n in row.get("needs", []) if not (os.path.exists(n) if n.startswith("/") else shutil.which(n))]


def run_command(command, row, kind, env):
    """(exit code, output); nothing is written beside the sources."""
    try:
        p = subprocess.run(words(command, row), cwd=BUILD / row["name"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS_MAX[kind])
        return p.returncode, p.stdout
    except subprocess.TimeoutExpired as e:
        return -1, (e.stdout or b"").decode(errors="replace") + f"\nstopped after {SECONDS_MAX[kind]} s"
    except OSError as e:
        return -1, str(e)


def fingerprint(row):
    """Changes when the preparation has to be done anew."""
    h = hashlib.sha256(json.dumps(row, sort_keys=True).encode())
    for path in sorted(p for p in (HERE / row["name"]).rglob("*") if p.is_file()):
        h.update(path.relative_to(HERE).as_posix().encode() + b"\0" + path.read_bytes())
    return h.hexdigest()


def prepare(row):
    """Copies the program to build/drivers/NAME and runs the commands of `prepare` there; the output of one that failed, else None."""
    home = BUILD / row["name"]
    home.mkdir(parents=True, exist_ok=True)
    stamp, wanted = home / ".prepared", fingerprint(row)
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    shutil.copytree(HERE / row["name"], home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for command in row.get("prepare", []):
        code, out = run_command(command, row, "prepare", dict(os.environ))
        if code:
            return f"{' '.join(words(command, row))} ended with {code}\n{out}"
    stamp.write_text(wanted)
    return None


def read_lines(result, known):
    """Takes the lines `ok CHECK`, `fail CHECK: reason`, `none CHECK: reason` and `driver NAME VERSION` out of the output."""
    for line in result.output.splitlines():
        if line.startswith("driver ") and result.version is None:
            result.version = line.split()[-1]
        m = LINE.match(line)
        if m and m[2] in known:
            mark = "fail" if m[2] in result.marks else m[1]  # twice: the program is wrong
            result.marks[m[2]], result.reasons[m[2]] = mark, m[3] or ""


def judge(result, checks, code):
    """Turns what is not as it has to be into failures: checks left out, and `none` where the table does not allow it."""
    for c in checks:
        name = c["name"]
        mark = result.marks.get(name)
        if mark is None:
            result.marks[name], result.reasons[name] = "fail", f"did not run (the program ended with {code})"
        elif mark == "none" and name not in result.row.get("none", []):
            result.marks[name], result.reasons[name] = "fail", "answered none, which drivers.toml does not allow: " + result.reasons[name]
        elif mark == "ok" and name in result.row.get("none", []):
            result.marks[name], result.reasons[name] = "fail", "drivers.toml says that there is no such feature"
    if result.version is None:
        result.marks["connect"], result.reasons["connect"] = "fail", "no line `driver NAME VERSION`"


def run_driver(row, checks, env):
    result = Result(row)
    missing = missing_tools(row)
    if missing:
        result.missing = ", ".join(missing)
        return result
    start = time.monotonic()
    problem = prepare(row)
    prepared = time.monotonic() - start
    if problem is None:
        code, result.output = run_command(row["run"], row, "run", {**env, "TABLE_PREFIX": "d_" + re.sub(r"\W", "_", row["name"]) + "_"})
        read_lines(result, {c["name"] for c in checks})
    else:
        code, result.output = -1, problem
    judge(result, checks, code)
    result.seconds = time.monotonic() - start
    print(f"{row['name']}: {sum(m == 'ok' for m in result.marks.values())} ok, {sum(m == 'none' for m in result.marks.values())} none, "
          f"{sum(m == 'fail' for m in result.marks.values())} failed ({prepared:.0f} s + {result.seconds - prepared:.0f} s)", flush=True)
    return result


# ----------------------------------------------------------------------------- the page
def page_row(result, checks):
    shown = {"ok": "\u2713", "none": "\u2013", "fail": "\u2717"}
    row = result.row
    version = result.version or "?"
    if not row.get("pinned", True):
        version = version.split(".")[0] + " (of the system)"
    return f"| {row['title']} | {row['language']} | {version} | " + " | ".join(shown[result.marks[c["name"]]] for c in checks) + " |"


def page_notes(result, checks):
    return [f"- {result.row['title']}: `{c['name']}`: {result.reasons[c['name']]}" for c in checks if result.marks[c["name"]] == "none"]


def split_page(text, rows):
    """{title: (row, notes)} of a page."""
    found = {}
    for row in rows:
        line = re.search(rf"^\| {re.escape(row['title'])} \| .*$", text, re.M)
        if line:
            found[row["title"]] = (line[0], re.findall(rf"^- {re.escape(row['title'])}: `.*$", text, re.M))
    return found


def page_text(checks, rows, found):
    out = ["# Drivers", "", "Every driver here runs the same checks against the server, over its own protocol and types, as part of the test suite",
           "(`./dev test drivers`). \u2713 it works; \u2013 the driver has no such feature, see [below](#what-a-driver-does-not-have).", "",
           "| Driver | Language | Version | " + " | ".join(c["title"] for c in checks) + " |", "|---" * (3 + len(checks)) + "|"]
    out += [found[r["title"]][0] for r in rows if r["title"] in found]
    out += ["", "Programs to start from: [examples](../examples/README.md). Types and what they are on the wire:",
            "[PostgreSQL protocol](reference/pgwire.md#types).", "", "## The checks", ""]
    out += [f"- **{c['title']}**: {c['about']}" for c in checks]
    notes = [n for r in rows if r["title"] in found for n in found[r["title"]][1]]
    if notes:
        out += ["", "## What a driver does not have", ""] + notes
    return "\n".join(out) + "\n"


def without_version(line, row):
    """Versions of what the system brings differ from one machine to the next."""
    if row.get("pinned", True):
        return line
    cells = line.split(" | ")
    cells[2] = "?"
    return " | ".join(cells)


def compare_page(results, checks, rows):
    """What the page says otherwise than this run: one text for each driver."""
    text = PAGE.read_text() if PAGE.exists() else ""
    found, wrong = split_page(text, rows), []
    for r in results:
        had, now = found.get(r.row["title"]), (page_row(r, checks), page_notes(r, checks))
        if had is None or without_version(had[0], r.row) != without_version(now[0], r.row) or had[1] != now[1]:
            wrong.append(f"docs/drivers.md, {r.row['title']}: says\n  {had}\nbut it is\n  {now}")
    if not wrong and text != page_text(checks, rows, found):
        wrong.append("docs/drivers.md is not what drivers.toml makes of it")
    return wrong


def write_page(results, checks, rows):
    found = split_page(PAGE.read_text(), rows) if PAGE.exists() else {}
    for r in results:
        found[r.row["title"]] = (page_row(r, checks), page_notes(r, checks))
    PAGE.write_text(page_text(checks, rows, found))


# ----------------------------------------------------------------------------- all
def environment(server, certs):
    host, port = server.pg.rsplit(":", 1)
    return {**{k: v for k, v in os.environ.items() if not k.startswith("PG")}, "PGHOST": host, "PGPORT": port, "PGUSER": "admin",
            "PGPASSWORD": "quest", "PGDATABASE": "qdb", "PGSSLMODE": "disable", "PGSSLROOTCERT": certs.path("ca.pem"), "PGCLIENTENCODING": "UTF8",
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(HERE)}


def choose(rows, o):
    unknown = set(o.drivers) - {r["name"] for r in rows}
    if unknown:
        raise SystemExit(f"no driver {', '.join(sorted(unknown))}; there are: {', '.join(r['name'] for r in rows)}")
    if o.drivers:
        return [r for r in rows if r["name"] in o.drivers]
    return [r for r in rows if o.all or o.nightly or not r.get("nightly", False)]


def run_all(chosen, checks, binary):
    certs = Certs()
    try:
        with Server(binary=binary, env=certs.env()) as server, concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as threads:
            env = environment(server, certs)
            return list(threads.map(lambda row: run_driver(row, checks, env), chosen))
    finally:
        shutil.rmtree(certs.home, ignore_errors=True)


def serve(binary):
    """For work on one program: a server like that of the suite."""
    certs = Certs()
    try:
        with Server(binary=binary, env=certs.env()) as server:
            for name, value in environment(server, certs).items():
                if name.startswith("PG"):
                    print(f"export {name}={value}")
            print("export TABLE_PREFIX=d_", flush=True)
            sys.stdin.read()
    finally:
        shutil.rmtree(certs.home, ignore_errors=True)


def report(results, wrong, nightly):
    """(passed, failed, skipped); says what failed."""
    passed = failed = skipped = 0
    for r in results:
        if r.missing is not None:
            print(f"{'FAILED' if nightly else 'skipped'}: driver {r.name}: not installed: {r.missing}")
            failed, skipped = failed + nightly, skipped + (not nightly)
            continue
        bad = [c for c, mark in r.marks.items() if mark == "fail"]
        passed, failed = passed + sum(m == "ok" for m in r.marks.values()), failed + len(bad)
        for c in bad:
            print(f"FAILED {r.name} {c}: {r.reasons[c]}")
        if bad:
            print(f"---- output of {r.name}\n{r.output[-6000:]}\n----")
            print_again(r.name)
    for text in wrong:
        print("FAILED " + text)
    return passed, failed + len(wrong), skipped


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--all", action="store_true")
    ap.add_argument("--write", action="store_true")
    ap.add_argument("--serve", action="store_true")
    ap.add_argument("--page", action="store_true")
    ap.add_argument("--binary", help="the server, instead of build/release/almanac")
    ap.add_argument("drivers", nargs="*", metavar="DRIVER")
    o = ap.parse_args()
    if o.serve:
        return serve(o.binary)
    checks, rows = load()
    if o.page:
        return write_page([], checks, rows)
    results = run_all(choose(rows, o), checks, o.binary)
    ran = [r for r in results if r.missing is None]
    if o.write:
        write_page([r for r in ran if "fail" not in r.marks.values()], checks, rows)
        wrong = []
    else:
        wrong = compare_page([r for r in ran if "fail" not in r.marks.values()], checks, rows)
    passed, failed, skipped = report(results, wrong, o.nightly)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
