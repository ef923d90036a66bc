#!/usr/bin/env python3
"""Random window functions, answered here and by DuckDB: the rows must be equal.

    windows.py [--binary FILE] [--nightly] [--seed N] [--queries N]

Every query is asked of a table with a designated timestamp (frames over it stream), of the same rows in a
table without one (rows are held and sorted), with one worker and with four, whose answers must agree bit
for bit. Values are whole numbers, so that sums do not depend on their order.
"""
import argparse, datetime, math, random, sys

import duckdb

from lib.checks import given, print_again
from lib.server import Server

COLUMNS = "id, ts, k, g, v, n, s, flag"
UNITS = {"millisecond": 1000, "second": 1000000, "minute": 60000000}


def make_rows(count):
    ts = datetime.datetime(2024, 1, 1)
    for i in range(count):
        ts += datetime.timedelta(microseconds=random.choice([0, 0, 1, 500000, 1000000, 1000000, 7000000, 61000000]))
        yield (i, ts, random.choice(["A", "B", "B", "C", "D", None]), random.randint(0, 3),
               random.choice([None, float(random.randint(-50, 50))]) if random.random() < .3 else float(random.randint(-50, 50)),
               None if random.random() < .15 else random.randint(-9, 9),
               random.choice([None, "x", "yy", "zzz", "a text of some length", "another, longer than that"]),
               random.random() < .6)


def literal(v):
    return ("null" if v is None else f"'{v.isoformat()}'" if isinstance(v, datetime.datetime)
            else f"'{v}'" if isinstance(v, str) else str(v).lower())


def frame(kind, unit):
    """A frame for both: (ours, theirs)."""
    def offset(n):
        if kind == "range" and unit:
            return f"{n} {unit}", f"interval {n} {unit}"
        return str(n), str(n)

    def bound(words, n):
        a, b = offset(n)
        return f"{a} {words}", f"{b} {words}"

    a, b = sorted(random.choices([0, 1, 2, 3, 5, 9, 40], k=2))
    forms = [(("unbounded preceding",) * 2, ("current row",) * 2), (("unbounded preceding",) * 2, ("unbounded following",) * 2),
             (bound("preceding", b), ("current row",) * 2), (bound("preceding", b), ("current row",) * 2),
             (bound("preceding", b), bound("preceding", a)), (bound("preceding", a), bound("following", b)),
             (bound("following", a), bound("following", b)), (("current row",) * 2, ("unbounded following",) * 2),
             (("unbounded preceding",) * 2, bound("preceding", a)), (("current row",) * 2, bound("following", b)),
             (bound("preceding", a), ("unbounded following",) * 2), (("unbounded preceding",) * 2, bound("following", a))]
    lo, hi = random.choice(forms)
    exclude = random.choice([""] * 4 + [" exclude current row", " exclude group", " exclude ties", " exclude no others"])
    return tuple(f" {kind} between {lo[i]} and {hi[i]}{exclude}" for i in (0, 1)), lo[0] == "unbounded preceding" and exclude in (
        "", " exclude no others")


def call():
    """One call with OVER for both."""
    part = random.choice(["", "partition by k", "partition by k", "partition by g", "partition by s", "partition by k, g"])
    kind = random.choice(["rows", "rows", "range", "groups", None])
    unit, order = None, random.choice(["ts, id", "n nulls first, id", "v desc nulls last, id", "s nulls first, g desc, id", "id"])
    if kind in ("range", "groups", None):
        order = random.choice(["ts", "ts", "n nulls first", "g", "v nulls last", "g desc", "ts desc"])
    if kind == "rows" and random.random() < .3:
        order = "id"
    if kind == "range":
        order = random.choice(["ts", "ts", "ts desc", "g", "v nulls last", "g desc"])
        unit = random.choice(list(UNITS)) if order.startswith("ts") else None
    (ours, theirs), grows = frame(kind, unit) if kind else (("", ""), True)
    value = random.choice(["v", "n", "ts", "s", "id"])
    pick = random.random()
    if pick < .5:
        fn = random.choice(["sum", "avg", "min", "max", "count", "count(*)", "stddev_samp", "min", "max"])
        if fn == "count(*)":
            a = b = fn
        else:
            if fn in ("sum", "avg", "stddev_samp") and value in ("ts", "s"):
                value = "v"
            distinct = "distinct " if grows and fn in ("sum", "count") and random.random() < .25 else ""
            a = b = f"{fn}({distinct}{value})"
        if random.random() < .25:
            a, b = a + " filter (where flag)", b + " filter (where flag)"
    elif pick < .75:
        fn = random.choice(["first_value", "last_value", "nth_value"])
        args = f"{value}, {random.randint(1, 4)}" if fn == "nth_value" else value
        nulls = random.random() < .4
        a = f"{fn}({args})" + (" ignore nulls" if nulls else "")
        b = f"{fn}({args}{' ignore nulls' if nulls else ''})"
        if kind == "range" and order.startswith("ts"):  # of rows that tie, any may be the first: ask what they share
            a, b = (f"{fn}(ts{args[len(value):]})" + t for t in ("", ""))
        elif kind != "rows":
            return call()
    else:
        ours = theirs = ""
        fn = random.choice(["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "lag"])
        if fn in ("row_number", "ntile", "lag", "lead"):
            order = random.choice(["id", "ts, id", "n nulls first, id"])
        if fn in ("lag", "lead"):
            n = random.choice([1, 1, 2, 5, 12])
            rest = random.choice(["", f", {n}", f", {n}, {value}"])
            nulls = random.random() < .3
            a = f"{fn}({value}{rest})" + (" ignore nulls" if nulls else "")
            b = f"{fn}({value}{rest}{' ignore nulls' if nulls else ''})"
        else:
            a = b = f"{fn}({random.randint(1, 5) if fn == 'ntile' else ''})"
    return tuple(f"{f} over ({part}{' order by ' + order if order else ''}{fr})" for f, fr in ((a, ours), (b, theirs)))


def query():
    calls = [call() for _ in range(random.choice([1, 1, 1, 2, 3]))]
    where = random.choice(["", "", "", " where g > 0", " where v > 1000", " where id < 3"])
    return tuple("select id, " + ", ".join(f"{c[i]} c{j}" for j, c in enumerate(calls)) + " from {t}" + where + " order by id"
                 for i in (0, 1))


def top():
    """The first rows of each partition."""
    part = random.choice(["", "partition by k ", "partition by s ", "partition by k, g "])
    order = random.choice(["v desc nulls last, id", "n nulls first, id desc", "s nulls last, id", "ts desc, id"])
    if random.random() < .4:
        cond = f"rank() over ({part}order by {order.split(',')[0]}) <= {random.randint(1, 4)}"
    else:
        cond = f"row_number() over ({part}order by {order}) {random.choice(['<=', '<', '='])} {random.randint(1, 6)}"
    sql = f"select id, v from {{t}} qualify {cond} order by id"
    return sql, sql


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return (a is None) == (b is None) and (a is None or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9))
    return a == b


def plain(v):
    if isinstance(v, datetime.datetime):
        return v.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return None if isinstance(v, float) and not math.isfinite(v) else v


def answer(server, sql):
    try:
        return server.rows(sql)
    except RuntimeError as e:
        return str(e)


def over_memory(binary):
    """Held rows beyond the limit of the statement go to files by partition: the same rows in the same order."""
    n, good, bad = 400000, 0, 0
    table = (f"create table big as (select x id, timestamp_sequence('2024-01-01', 1000000L) ts, case x % 7 when 0 then null when 1 then 'A' when 2 then 'B' else 'C' end::symbol k, "
             f"x % 977 g, case when x % 11 = 0 then null else (x * 7919 % 10007)::double end v, "
             f"('text number ' || (x % 5003)) s from long_sequence({n}, 7, 8)) timestamp(ts)")
    calls = ["row_number() over (partition by g order by v desc nulls last, id) a, sum(v) over (partition by g order by v nulls last, id) b",
             "lead(s) over (partition by k, g order by v nulls first, id) a, max(s) over (partition by k, g) b, lag(k) over (partition by k, g order by id desc) c",
             "avg(v) over (partition by s order by id rows between 3 preceding and 3 following exclude current row) a"]
    queries = [f"select * from (select id, k, s, v, {c} from big) where id % 997 < 3" for c in calls]
    answers = []
    for limit in ("0", "24m"):
        with Server(binary=binary, env={"ALMANAC_QUERY_MEMORY_MAX": limit, "ALMANAC_SHARED_WORKER_COUNT": "2"}) as s:
            s.exec(table)
            answers.append([answer(s, q) for q in queries])
            if limit != "0":
                said = answer(s, "select max(a) from (select sum(v) over (order by v, id) a, s from big) where s != ''")
                ok = isinstance(said, str) and "window" in said
                good, bad = good + ok, bad + (not ok)
                if not ok:
                    print(f"no error that names the operator: {str(said)[:200]}")
    for q, a, b in zip(queries, *answers):
        if a == b and isinstance(a, list) and len(a) > 1000:
            good += 1
        else:
            bad += 1
            print(f"another answer over the memory: {q}\n    got  {str(b)[:300]}\n    want {str(a)[:300]}")
    return good, bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--binary")
    p.add_argument("--nightly", action="store_true")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--queries", type=int)
    o = p.parse_args()
    count = o.queries or (5000 if o.nightly else 400)
    random.seed(o.seed)
    rows = list(make_rows(1200))
    duck = duckdb.connect(":memory:")
    duck.execute("create table t (id int, ts timestamp, k varchar, g int, v double, n bigint, s varchar, flag boolean)")
    duck.executemany("insert into t values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    good = bad = 0
    with Server(binary=o.binary, env={"ALMANAC_SHARED_WORKER_COUNT": "4"}) as s:
        columns = "(id int, ts timestamp, k symbol, g int, v double, n long, s varchar, flag boolean)"
        s.exec(f"create table t {columns} timestamp(ts) partition by hour")
        s.exec(f"create table u {columns}")
        for name in "tu":
            for at in range(0, len(rows), 300):
                s.exec(f"insert into {name} ({COLUMNS}) values " + ", ".join(
                    "(" + ", ".join(literal(v) for v in r) + ")" for r in rows[at:at + 300]))
        asked = []
        for _ in range(count):
            ours, theirs = top() if random.random() < .1 else query()
            try:
                want = [[plain(v) for v in r] for r in duck.execute(theirs.format(t="t")).fetchall()]
            except duckdb.Error as e:
                print(f"duckdb refuses {theirs}: {e}")
                bad += 1
                continue
            got = [answer(s, ours.format(t=t)) for t in "tu"]
            asked.append((ours, got))
            for t, g in zip("tu", got):
                if isinstance(g, str) or len(g) != len(want) or not all(same(x, y) for a, b in zip(g, want) for x, y in zip(a, b)):
                    bad += 1
                    print(f"{ours.format(t=t)}\n    got  {str(g)[:300]}\n    want {str(want)[:300]}")
                    if not isinstance(g, str):
                        print("   ", [(a, b) for a, b in zip(g, want) if not all(map(same, a, b))][:3])
                else:
                    good += 1
        s.stop()
        s.env["ALMANAC_SHARED_WORKER_COUNT"] = "1"
        s.start()
        for ours, got in asked:
            if [answer(s, ours.format(t=t)) for t in "tu"] == got:
                good += 1
            else:
                bad += 1
                print(f"another answer with one worker: {ours}")
    more, worse = over_memory(o.binary)
    good, bad = good + more, bad + worse
    print(f"seed {o.seed}")
    if bad:
        print_again(*given(p, o, leave=("seed",)), "--seed", str(o.seed))
    print(f"{good} passed, {bad} failed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
