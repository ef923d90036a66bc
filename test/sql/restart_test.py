#!/usr/bin/env python3
"""The recorded cases across restarts and in Parquet: what a query answers must not depend on them.

Runs the case files, but leaves standing what they would drop at their ends. Then every query of them is
asked of the same tables: as they were made, after a stop and a start with one worker, after kill -9 and a
start with seven, and when every partition has become Parquet files. All answers must be the same, floating values
bit for bit.

    restart_test.py [--binary FILE] [--nightly] [FILE.test...]
"""
import argparse, json, pathlib, re, sys, time

from lib import cases
from lib.answers import ask
from lib.checks import given, print_again, relative
from lib.demo import put_demo_files
from lib.server import Server

HERE = pathlib.Path(__file__).resolve().parent

READS = re.compile(r"\s*(--.*\n\s*)*\(*\s*(select|with|declare|show|values|from)\b", re.I)
WRITES = re.compile(r"^\s*(with|declare)\b.*\b(update\s+\w+\s+set|insert\s+into)\b", re.I | re.S)
DROPS = re.compile(r"\s*drop\s+(table|view|materialized\s+view)\s+(if\s+exists\s+)?['\"]?(\w+)", re.I)
MAKES = re.compile(r"\s*create\s+(or\s+replace\s+)?(atomic\s+|batch\s+\d+\s+)?(table|view|materialized\s+view)\s+(if\s+not\s+exists\s+)?['\"]?(\w+)", re.I)
# What a restart may change, and why.
MAY_DIFFER = [
    (re.compile(r"\b(now|systimestamp|sysdate|today|yesterday|tomorrow|current_timestamp|clock_timestamp)\b", re.I), "the clock"),
    (re.compile(r"\b(rnd_\w+|random)\b", re.I), "random values"),
    (re.compile(r"\b(query_activity|pg_stat_activity|memory_metrics|wal_transactions|pg_backend_pid|pg_postmaster_start_time)\b", re.I), "the process"),
]


def plan(path):
    """(statements that make the tables, queries)"""
    made_later, setup, queries = set(), [], []
    for case in reversed(cases.read(path)):
        sql = case.sql
        dropped, made = DROPS.match(sql), MAKES.match(sql)
        if made:
            made_later.add(made[5].lower())
        if READS.match(sql) and not WRITES.match(sql):
            if not case.directives & {"columns-only", "skip"} and not any(r.search(sql) for r, _ in MAY_DIFFER):
                queries.append((f"{path}:{case.line}", sql, "unordered" in case.directives))
        elif not dropped or dropped[3].lower() in made_later:
            setup.append(sql)
    return setup[::-1], queries[::-1]


def answer(s, sql, unordered):
    a = ask(s.url, sql, 60)
    if unordered and "rows" in a:
        a["rows"].sort(key=json.dumps)
    return json.dumps(a)


def settle(s):
    """Waits until materialized views have seen what was written."""
    for _ in range(1000):
        rows = ask(s.url, "select view_name from materialized_views() where refresh_type = 'immediate' and view_status = 'valid' "
                          "and refresh_base_table_txn <> base_table_txn", 60).get("rows")
        if not rows:
            return
        time.sleep(0.02)


ABOUT_FILES = re.compile(r"\b(partitions|table_partitions|table_storage|tables|storage_stats)\b", re.I)


def to_parquet(s):
    """All partitions of all tables; how many."""
    tables = ask(s.url, "select table_name, designatedTimestamp from tables() where partitionBy <> 'NONE' and designatedTimestamp <> ''", 60)["rows"]
    n = 0
    for name, column in tables:
        quoted = '"' + name.replace('"', '""') + '"'
        a = ask(s.url, f"alter table {quoted} convert partition to parquet where \"{column}\" is not null", 60)
        if "error" in a and "materialized view" not in a["error"] and "view" not in a["error"]:
            raise RuntimeError(f"{name}: {a['error']}")
        shown = ask(s.url, f"select count() from table_partitions('{name}') where \"isParquet\"", 60)
        n += shown["rows"][0][0] if "rows" in shown else 0
    return n


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary")
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("paths", nargs="*", type=pathlib.Path)
    o = ap.parse_args()
    files = sorted(f for p in o.paths or [HERE] for f in (p.rglob("*.test") if p.is_dir() else [p]))
    s = Server(binary=o.binary)
    put_demo_files(s)
    passed = failed = 0

    def compare(when, asked):
        nonlocal passed, failed
        for (name, sql, u), want in asked:
            got = answer(s, sql, u)
            passed, failed = passed + (got == want), failed + (got != want)
            if got != want:
                print(f"{name}: {sql}\n    before {want[:600]}\n    {when} {got[:600]}")
                print_again(*given(ap, o, leave=("paths",)), relative(name.rpartition(":")[0]))

    try:
        s.start()
        queries = []
        for f in files:
            setup, asked = plan(f)
            for sql in setup:
                ask(s.url, sql, 60)
            queries += asked
        settle(s)
        before = [answer(s, sql, u) for _, sql, u in queries]
        for how, stop, workers in (("a stop, 1 worker", s.stop, "1"), ("kill -9, 7 workers", s.kill, "7")):
            stop()
            s.env = {"ALMANAC_SHARED_WORKER_COUNT": workers}
            s.start()
            compare(f"after {how}", zip(queries, before))
        cold = to_parquet(s)
        if cold < 100 and not o.paths:
            failed += 1
            print(f"only {cold} partitions became Parquet")
        compare("in Parquet", [(query, want) for query, want in zip(queries, before) if not ABOUT_FILES.search(query[1])])
        s.stop()
    finally:
        s.__exit__(None, None, None)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
