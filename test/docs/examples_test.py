#!/usr/bin/env python3
"""Runs the programs of examples/ (examples.toml) against a server and compares what they print.

    examples_test.py [--nightly | --all] [--write] [--binary FILE] [NAME...]

What is not installed is said and left out; in the nightly run it is a failure. --write keeps what they print.
"""
import argparse, os, shutil, subprocess, sys, tomllib

from lib.checks import given, print_again
from lib.server import TOP, Server

BUILD = TOP / "build" / "examples"


def run(command, row, env):
    """What it prints; raises with it where it fails."""
    at = {"python": sys.executable, "here": TOP / "examples" / row["name"], "build": BUILD / row["name"], "top": TOP}
    p = subprocess.run([w.format(**at) for w in command], cwd=BUILD / row["name"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, errors="replace", timeout=900)
    if p.returncode:
        raise AssertionError(f"{command[0]} ended with {p.returncode}:\n{p.stdout[-4000:]}")
    return p.stdout


def example(row, env, write):
    home, folder = BUILD / row["name"], TOP / "examples" / row["name"]
    shutil.copytree(folder, home, dirs_exist_ok=True)
    for command in row.get("prepare", []):
        run(command, row, dict(os.environ))
    got, kept = run(row["run"], row, env), folder / row["output"]
    if write:
        kept.write_text(got)
    elif got != kept.read_text():
        raise AssertionError(f"prints\n{got}\nnot\n{kept.read_text()}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--all", action="store_true", help="those that take long to build too")
    ap.add_argument("--write", action="store_true")
    ap.add_argument("--binary")
    ap.add_argument("names", nargs="*")
    o = ap.parse_args()
    with open(TOP / "test" / "docs" / "examples.toml", "rb") as f:
        rows = tomllib.load(f)["example"]
    passed = failed = skipped = 0
    with Server(binary=o.binary) as s:
        host, port = s.pg.rsplit(":", 1)
        env = {**{k: v for k, v in os.environ.items() if not k.startswith("PG")}, "PGHOST": host, "PGPORT": port,
               "PGOPTIONS": "-c client_min_messages=warning",  # some drivers print notices
               "HTTP_ADDRESS": s.http}
        for row in rows:
            if (o.names and row["name"] not in o.names) or (row.get("nightly") and not (o.nightly or o.all or o.names)):
                continue
            missing = [n for n in row.get("needs", []) if not shutil.which(n)]
            if missing:
                print(f"{'FAILED' if o.nightly else 'skipped'}: examples/{row['name']}: not installed: {', '.join(missing)}", flush=True)
                failed, skipped = failed + o.nightly, skipped + (not o.nightly)
                continue
            try:
                example(row, env, o.write)
                passed += 1
            except (AssertionError, OSError, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f"FAILED examples/{row['name']}: {e}", flush=True)
                print_again(*given(ap, o, leave=("all", "nightly")), row["name"])
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
