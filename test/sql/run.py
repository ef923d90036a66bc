#!/usr/bin/env python3
"""Runs the cases of *.test files (README.md: the format) and compares the answers with those in the files.

    run.py                               all cases, on a server of its own (build/release)
    run.py join select/where.test        those of a folder, of a file; paths from here or from the working directory
    run.py select/where.test:120         one case; what stands before it in its file is run, too, and not compared
    run.py --update select/where.test    writes the answers of the server into the file, where they differ from those there

The server: --preset NAME takes build/NAME; --program FILE another one; --acl asks as a user to whom everything is granted;
--url or --pg ADDRESS, with --user NAME:PASSWORD where it wants a login, ask one that runs already.
--over http | pg | pg-binary: the interface, and the form of the results.
unmet.txt (--unmet FILE) lists cases that are known to fail. When a listed case passes, the run fails, so that the list can only
shrink; --write-unmet writes it anew.
The last line reads 'N passed, N failed'.
"""
import argparse, contextlib, os, pathlib, shlex, shutil, sys

from lib import cases
from lib.answers import OverHttp, difference
from lib.demo import put_demo_files
from lib.server import Server, TOP
from over_pg import OverPg, as_seen

HERE = pathlib.Path(__file__).resolve().parent

UNMET = HERE / "unmet.txt"
UNMET_HEAD = "# Cases that are known to fail: FILE:LINE STATEMENT. A case that passes has to be taken off.\n"
SHOWN = 50  # failures that are printed in full
# Read by the cases of one file: not of this project, and left out where it is not there.
OTHER_FILE = TOP.parent / "shared" / "data" / "trades.parquet"
NEEDS_OTHER_FILE = HERE / "file" / "seed_parquet.test"
ACL = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret",
       "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096"}
ACL_USER = "admin:of tests"
ACL_GRANTS = ("create user admin with password 'of tests'", "grant all to admin", "grant all on all tables to admin", "create user somebody")


def place(path):
    return str(path.relative_to(HERE)) if path.is_relative_to(HERE) else str(path)


# ---------------------------------------------------------------- what runs
def chosen(names):
    """[(path, line or None)] of names FOLDER, FILE or FILE:LINE."""
    out = []
    for name in names or [str(HERE)]:
        text, colon, line = name.rpartition(":")
        text, line = (text, int(line)) if colon and line.isdigit() else (name, None)
        path = next((p for p in (pathlib.Path(text).resolve(), HERE / text) if p.exists()), None)
        if path is None:
            raise SystemExit(f"no file {text}")
        out += [(p, None) for p in sorted(path.rglob("*.test"))] if path.is_dir() else [(path, line)]
    return out


def case_at(every, line, path):
    found = [c for c in every if c.line <= line <= max(c.end, c.answer_end)]
    if not found:
        raise SystemExit(f"{path}:{line}: no case is there")
    return found[0]


# ---------------------------------------------------------------- servers
@contextlib.contextmanager
def server_of(o):
    """What asks the server that the options name."""
    if o.url or o.pg:
        yield OverHttp(o.url, o.user, o.timeout) if o.url else OverPg(o.pg, o.over == "pg-binary", *(o.user.split(":", 1) if o.user else ()))
        return
    with Server(binary=o.program, preset=o.preset, env=ACL if o.acl else None) as s:
        put_demo_files(s)
        if OTHER_FILE.exists():
            shutil.copy(OTHER_FILE, s.root / "import")
        if o.acl:
            admin = OverHttp(s.url, f"{ACL['ALMANAC_ACL_ADMIN_USER']}:{ACL['ALMANAC_ACL_ADMIN_PASSWORD']}")
            for sql in ACL_GRANTS:
                if "error" in admin(sql):
                    raise RuntimeError(f"{sql}: {admin(sql)}")
        login = ACL_USER if o.acl else None
        if o.over == "http":
            yield OverHttp(s.url, login, o.timeout)
        else:
            yield OverPg(s.pg, o.over == "pg-binary", *(login.split(":", 1) if login else ()))


# ---------------------------------------------------------------- a run
class Run:
    def __init__(self, o, ask, listed):
        self.o, self.ask, self.listed = o, ask, listed
        self.seen = self.passed = self.failed = self.changed = 0
        self.failing = []

    def file(self, path, line):
        file = cases.File(path)
        wanted = case_at(file.cases, line, path) if line else None
        changes = []
        for case in file.cases:
            got, why = self.one(case)
            if wanted is None or case is wanted:
                self.count(path, case, why)
                if why is not None and f"{place(path)}:{case.line}" not in self.listed:
                    changes.append((case, got))
            if case is wanted:
                break
        if self.o.update and changes:
            file.replace(changes)
            self.changed += len(changes)
            print(f"{place(path)}: {len(changes)} of {len(file.cases)} answers written")

    def one(self, case):
        want = case.answer if self.o.over == "http" else as_seen(case.answer)
        try:
            got = self.ask(case.sql, want)
        except Exception as e:  # the server went away or timed out
            if self.o.update:
                raise
            return None, f"no answer: {type(e).__name__}: {e}"
        return got, difference(want, got, case.directives)

    def count(self, path, case, why):
        key = f"{place(path)}:{case.line}"
        known = key in self.listed
        self.seen += known
        if why is not None:
            self.failing.append(f"{key} {' '.join(case.sql.split())[:100]}")
        if (why is None) != known:
            self.passed += 1
            return
        self.failed += 1
        if self.o.update or self.o.write_unmet or self.failed > SHOWN:
            return
        print(f"{key}: {case.sql}\n    {f'passes now: take it off {self.o.unmet.name}' if known else why}\n    again: {self.command(key)}")

    def command(self, key):
        """What runs this case alone, in the same way."""
        o, words = self.o, []
        off = os.environ.get("ALMANAC_DEBUG_OPTIMISER_OFF")
        for name, value, plain in (("--over", o.over, "http"), ("--preset", o.preset, "release"), ("--program", o.program, None),
                                   ("--url", o.url, None), ("--pg", o.pg, None), ("--user", o.user, None)):
            words += [name, value] if value != plain else []
        words += ["--acl"] if o.acl else []
        start = f"ALMANAC_DEBUG_OPTIMISER_OFF={shlex.quote(off)} " if off and not (o.url or o.pg) else ""
        return start + shlex.join([f"{HERE.relative_to(TOP)}/run.py", *words, key])


def main(arguments=None):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--update", action="store_true")
    ap.add_argument("--unmet", type=pathlib.Path, default=UNMET)
    ap.add_argument("--write-unmet", action="store_true")
    ap.add_argument("--over", choices=("http", "pg", "pg-binary"))
    ap.add_argument("--preset", default="release")
    ap.add_argument("--program")
    ap.add_argument("--acl", action="store_true")
    ap.add_argument("--url")
    ap.add_argument("--pg", metavar="ADDRESS")
    ap.add_argument("--user", metavar="NAME:PASSWORD")
    ap.add_argument("--timeout", type=float, default=120)
    ap.add_argument("paths", nargs="*", metavar="FOLDER | FILE | FILE:LINE")
    o = ap.parse_args(arguments)
    o.over = o.over or ("pg" if o.pg else "http")
    if o.update and o.over != "http":
        ap.error("--update needs --over http: the other interface does not name all types")
    files = chosen(o.paths)
    if not OTHER_FILE.exists() and (NEEDS_OTHER_FILE, None) in files:
        print(f"skipped: the cases of {place(NEEDS_OTHER_FILE)}: {os.path.relpath(OTHER_FILE, TOP)} is not there")
        files.remove((NEEDS_OTHER_FILE, None))
    listed = {line.split()[0] for line in o.unmet.read_text().splitlines() if line and line[0] != "#"}
    with server_of(o) as ask:
        run = Run(o, ask, listed)
        for path, line in files:
            run.file(path, line)
    if o.write_unmet:
        o.unmet.write_text(UNMET_HEAD + "".join(line + "\n" for line in run.failing))
    if run.seen:
        print(f"of these {run.seen} are listed in {o.unmet.name}")
    if o.update:
        print(f"{run.changed} answers written")
    print(f"{run.passed} passed, {run.failed} failed")
    sys.exit(run.failed > 0 and not o.update)


if __name__ == "__main__":
    main()
