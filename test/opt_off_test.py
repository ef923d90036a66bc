#!/usr/bin/env python3
"""The optimiser's rules change the speed of a query, never its answer: the recorded cases that only read run with
each rule of src/sql/opt/opt.def left out (debug.optimiser.off), and with all of them left out.

    opt_off_test.py [--binary FILE] [--rules a,b] [FILE...]     no files: QUERIES
"""
import argparse, pathlib, re, subprocess, sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "test"))
from server import Server  # noqa: E402

KEEP = {"nulls", "overflow"}  # makes plans that can run at all; decides what is computed
QUERIES = ["compositions", "group_by", "joins", "asof_joins", "latest_on", "order_limit", "sample_by", "sample_by_fill",
           "select_where", "set_operations", "timestamp_predicates", "window_functions", "window_join", "pivot",
           "null_semantics", "interval_where", "own_recursive", "own_select", "own_subqueries", "own_subqueries2",
           "own_grouping", "own_names", "own_group_names", "own_pushdown"]


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
    files = args.files or [str(TOP / "test/sql" / f"{name}.sql") for name in QUERIES]
    passed = failed = 0
    for off in sets:
        with Server(binary=args.binary, env={"ALMANAC_DEBUG_OPTIMISER_OFF": off}) as s:
            p = subprocess.run([sys.executable, "test/sql/conform.py", "--url", s.url, "--timeout", "120", "--strict", "--unmet",
                                "test/sql/unmet.txt", *files], cwd=TOP, stdout=subprocess.PIPE, text=True)
        if p.returncode:
            print(f"without {off}:\n{p.stdout[-3000:]}")
        passed, failed = passed + (p.returncode == 0), failed + (p.returncode != 0)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
