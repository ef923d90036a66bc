#!/usr/bin/env python3
"""The official line protocol clients of other languages, unchanged: each program in clients/ writes rows of
every type by every protocol version over HTTP, and over TCP with a key; the rows are read back and compared.

    clients_test.py [--nightly] [--binary FILE]

Node needs npm (20 or newer), Go the go command; Rust is compiled, and Java (mvn and a JDK) fetched, by the
nightly run alone. What is not installed is left out and named.
"""
import argparse, pathlib, re, shutil, subprocess, sys, time

from lib import log_search
from lib.checks import given, print_again
from lib.server import TOP, Server

HERE = pathlib.Path(__file__).resolve().parent

BUILD = TOP / "build" / "clients"
KEY = {"username": "testUser1", "token": "5UjEMuA0Pj5pjK8a-fa24dyIf-Es5mYny3oE_Wmus48",
       "token_x": "fLKYEaoEb9lrn3nkwLDA-M_xnuFOdSt9y0Z7_vWSHLU", "token_y": "Dt5tbS1dEDMSYfym3fgMv0B99szno-dFc1rYF9t0aac"}
log_search.note(KEY["token"])
COMMON = ["ETH USD", "a,b=c", 2615.54, True, "h\u00e9 \"q\" \\ , =", "2024-03-01T09:00:00.000000Z"]
BOOK, COST = [[1.0, 2.0], [3.0, 4.0]], "12.50"


def version_of(program):
    found = re.search(r"(\d+)\.\d+", subprocess.run([program, "--version"], capture_output=True, text=True).stdout)
    return int(found[1]) if found else 0


def run(args, **more):
    p = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, **more)
    if p.returncode:
        raise AssertionError(f"{args[0]} ended with {p.returncode}:\n{p.stdout[-2000:]}")
    return p.stdout


def node():
    """The command, or why there is none."""
    if not shutil.which("npm") or version_of("node") < 20:
        return "node 20 with npm is not installed"
    home = BUILD / "node"
    shutil.copytree(HERE / "clients" / "node", home, dirs_exist_ok=True)
    run(["npm", "ci", "--no-audit", "--no-fund"], cwd=home)
    return ["node", str(home / "ingest.mjs")]


def go():
    if not shutil.which("go"):
        return "go is not installed"
    home = BUILD / "go"
    shutil.copytree(HERE / "clients" / "go", home, dirs_exist_ok=True)
    run(["go", "build", "-o", "ingest", "."], cwd=home)
    return [str(home / "ingest")]


def java():
    if not shutil.which("mvn") or not shutil.which("javac"):
        return "mvn or a JDK is not installed"
    home = BUILD / "java"
    home.mkdir(parents=True, exist_ok=True)
    if not list(home.glob("*.jar")):
        run(["mvn", "-q", "dependency:copy", "-Dartifact=org.questdb:questdb:9.3.0", f"-DoutputDirectory={home}"])
    return ["java", "-cp", f"{home}/*", str(HERE / "clients" / "java" / "Ingest.java")]


def rust():
    if not shutil.which("cargo"):
        return "cargo is not installed"
    home = BUILD / "rust"
    shutil.copytree(HERE / "clients" / "rust", home, dirs_exist_ok=True)
    run(["cargo", "build", "--quiet"], cwd=home)
    return [str(home / "target" / "debug" / "ingest")]


def wait_rows(s, table, n):
    """Over TCP nothing says when rows have arrived."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if s.rows(f"select count() from tables() where table_name = '{table}'") == [[1]] and s.rows(f"select count() from {table}") == [[n]]:
            return
        time.sleep(0.05)
    raise AssertionError(f"{table}: the rows did not come")


def compare(s, table, version):
    wait_rows(s, table, 3)
    extra = (["book"] if version >= 2 else []) + (["cost"] if version >= 3 else [])
    columns = ", ".join(["symbol", "side", "price", "ok", "note", "cast(at as timestamp)", "n", "cast(timestamp as timestamp)", *extra])
    want = [[*COMMON, i, f"2024-03-01T09:00:0{i}.000000Z", *([BOOK] if version >= 2 else []), *([COST] if version >= 3 else [])] for i in range(3)]
    got = s.rows(f"select {columns} from {table} order by n")
    if got != want:
        raise AssertionError(f"{table}: {got[0]}, want {want[0]}")


def client(make):
    command = make()
    if isinstance(command, str):
        return command
    keys = BUILD / "keys.txt"
    keys.write_text(f"{KEY['username']} ec-p-256-sha256 {KEY['token_x']} {KEY['token_y']}\n")
    with Server(binary=ARGS.binary, env={"ALMANAC_LINE_TCP_AUTH_DB_PATH": str(keys)}) as s:
        s.exec("create table http3 (cost decimal(10,2), timestamp timestamp) timestamp(timestamp) partition by day")  # a decimal is not made on the fly
        out = run([*command, s.http, s.line, "".join(f"{k}={v};" for k, v in KEY.items())])
        for table, version in (("http1", 1), ("http2", 2), ("http3", 3), ("http_auto", 2), ("tcp1", 1)):
            compare(s, table, version)
        if "refused: " not in out or "price" not in out:
            raise AssertionError(f"the refusal did not reach the caller: {out}")
    return None


def main():
    global ARGS
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--binary")
    ap.add_argument("names", nargs="*", metavar="LANGUAGE")
    ARGS = ap.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    for make in (node, go, java, rust):
        if make.__name__ not in (ARGS.names or ("node", "go", *(("java", "rust") if ARGS.nightly else ()))):
            continue
        try:
            skipped = client(make)
            print(f"skipped: {make.__name__}: {skipped}" if skipped else f"{make.__name__}: rows equal")
            passed += skipped is None
        except (AssertionError, RuntimeError, subprocess.SubprocessError) as e:
            print(f"{make.__name__}: {e}")
            print_again(*given(ap, ARGS), make.__name__)
            failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
