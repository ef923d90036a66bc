#!/usr/bin/env python3
"""The optimiser's rules change the speed of a query, never its answer: the recorded cases that only read run with
each rule of src/sql/opt/opt.def left out (debug.optimiser.off), and with all of them left out.

    rules_test.py [--binary FILE] [--rules a,b] [FILE...]     no files: QUERIES
"""
import argparse, os, re, subprocess, sys

from lib.server import TOP


KEEP = {"nulls", "overflow"}  # makes plans that can run at all; decides what is computed
QUERIES = ["select/compositions.test", "aggregate/group_by.test", "join/joins.test", "join/asof.test", "sample/latest_on.test",
           "select/order_limit.test", "sample/sample_by.test", "sample/fill.test", "select/where.test",
           "select/set_operations.test", "time/predicates.test", "window/functions.test", "join/window_join.test",
           "pivot/pivot.test", "select/null_semantics.test", "time/interval_where.test", "select/own_recursive.test",
           "select/own_select.test", "select/own_subqueries.test", "select/own_subqueries2.test", "aggregate/own_grouping.test",
           "select/own_names.test", "aggregate/own_group_names.test", "select/own_pushdown.test"]


def rules():
    text = (TOP / "src/sql/opt/opt.def").read_text()
    return [r for r in re.findall(r"^ALM_RULE\((\w+),", text, re.M) if r not in KEEP]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--binary")
    ap.add_argument("--rules", help="comma list; default: each of opt.def, then all together")
    ap.add_argument("files", nargs="*")
    args = ap.parse_args()
    sets = args.rules.split(",") if args.rules else [*rules(), ",".join(rules())]
    program = ["--program", args.binary] if args.binary else []
    passed = failed = 0
    for off in sets:
        p = subprocess.run([sys.executable, "test/sql/run.py", *program, *(args.files or QUERIES)], cwd=TOP, stdout=subprocess.PIPE, text=True,
                           env={**os.environ, "ALMANAC_DEBUG_OPTIMISER_OFF": off})
        if p.returncode:
            print(f"without {off}:\n{p.stdout[-3000:]}")
        passed, failed = passed + (p.returncode == 0), failed + (p.returncode != 0)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
