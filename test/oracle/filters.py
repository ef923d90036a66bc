#!/usr/bin/env python3
"""Conditions above every operator: `select ... from (QUERY) where CONDITION` must give the rows that the same condition leaves of a table
that keeps the rows of QUERY. A rule that moves a condition below an operator whose rows depend on one another differs there.

    filters.py [--nightly] [--seed N] [--count CONDITIONS_PER_QUERY] [--only PART_OF_QUERY] [--off RULES] [BINARY]
"""
import argparse, random, sys

from lib.checks import print_again
from lib.server import Server

FILLS = ["", " fill(none)", " fill(null)", " fill(prev)", " fill(linear)", " fill(0)"]
ALIGNS = ["", " align to calendar", " align to first observation", " align to calendar time zone 'Europe/Berlin'",
          " align to calendar with offset '00:07'"]
BOUNDS = ["", " from '2024-03-01T00:20' to '2024-03-01T04:00'", " from '2024-02-28'"]
DAY = "'2024-03-01T01:30'"


def sampled():
    for select in ("ts, count() c, sum(n) s, min(x) x", "ts, k, count() c, sum(n) s, first(n) f", "ts, k, b, count() c, sum(n) s"):
        for fill in FILLS:
            for align in ALIGNS:
                for bound in BOUNDS if "first" not in align and "zone" not in align else BOUNDS[:1]:
                    shown = select.replace(", first(n) f", "").replace(", min(x) x", "") if "linear" in fill or "(0)" in fill else select
                    if fill == " fill(0)":
                        fill_of = " fill(" + ", ".join("0" for _ in range(shown.count("("))) + ")"
                    else:
                        fill_of = fill
                    yield f"select {shown} from t sample by 37m{bound}{fill_of}{align}"
    yield "select ts, k, count() c from (select * from t where n > 2) sample by 1h align to first observation"
    yield "select ts, k, sum(c) c from (select ts, k, count() c from t sample by 10m align to first observation) sample by 1h align to first observation"
    yield "select ts, k, max(n) m from t where k <> 'a' sample by 1M align to first observation"


WINDOWS = ["row_number() over (partition by k order by ts)", "rank() over (order by n)", "dense_rank() over (partition by k order by n desc)",
           "lag(n) over (partition by k order by ts)", "lead(n) over (order by ts)", "lead(n, 2) over (partition by k order by n)",
           "first_value(n) over (partition by k order by ts)", "last_value(n) over (partition by k, b order by ts)",
           "sum(n) over (partition by k order by ts rows between 2 preceding and current row)",
           "avg(x) over (order by ts range between '30' minute preceding and current row)", "count() over (partition by b)",
           "max(n) over (partition by k)", "ntile(3) over (order by n)", "percent_rank() over (partition by k order by n)"]


def windowed():
    for w in WINDOWS:
        yield f"select ts, k, n, x, b, {w} w from t"
    for a, b in zip(WINDOWS, WINDOWS[1:] + WINDOWS[:1]):
        yield f"select ts, k, n, x, {a} v, {b} w from t"
    yield "select ts, k, x, sum(n) over (partition by x order by ts) w from t"
    yield "select k, sum(n) s, rank() over (order by sum(n)) r from t group by k"
    yield "select ts, k, n from t qualify row_number() over (partition by k order by n desc, ts) <= 3"


def joined():
    for kind in ("join", "left join", "right join", "full join"):
        yield f"select t.ts, t.k, t.n, t.x, u.k uk, u.y, u.ts ut from t {kind} u on t.k = u.k and u.y > t.n"
        yield f"select t.ts, t.k, t.n, u.k uk, u.y from t {kind} u on t.k = u.k and u.y > 3 and t.n < 6"
        yield f"select t.k, t.x, u.z, u.y from t {kind} u on t.x = u.z"
    for kind in ("asof join", "lt join"):
        yield f"select t.ts, t.k, t.n, u.ts ut, u.k uk, u.y from t {kind} u"
        yield f"select t.ts, t.k, t.n, u.ts ut, u.k uk, u.y from t {kind} u on (k)"
        yield f"select t.ts, t.k, t.n, u.ts ut, u.k uk, u.y from t {kind} u on (k) tolerance 20m"
        yield f"select t.ts, t.k, t.n, u.ts ut, u.k uk, u.y from (select * from t where n > 3) t {kind} (select * from u where y < 7) u"
        yield f"select a.ts, a.k, a.n, a.ut, a.y, b.n bn, b.k bk from (select t.ts, t.k, t.n, u.ts ut, u.y from t {kind} u) a {kind} t b on (k)"
    yield "select t.ts, t.k, t.n, u.ts ut, u.k uk, u.y from t splice join u"
    yield "select t.ts, t.k, t.n, u.ts ut, u.k uk, u.y from t splice join u on (k)"
    yield "select t.k, t.n, u.y from t cross join (select * from u limit 5) u"
    yield "select ts, k, n, b from t where k in (select k from u where y > 4)"
    yield "select ts, k, n, b from t where k not in (select k from u where y > 4)"
    yield "select ts, k, n, (select max(y) from u where u.k = t.k) m from t"
    yield "select t.ts, t.k, l.y from t, lateral (select y from u where u.k = t.k order by ts limit 2) l"
    yield "select t.ts, t.k, t.n, l.c from t left join lateral (select count() c from u where u.k = t.k and u.y > t.n) l on true"
    for more in ("exclude prevailing", "include prevailing"):
        for on in ("", "on (t.k = u.k) "):
            yield f"select t.ts, t.k, t.n, sum(u.y) s, count() c from t window join u {on}range between 30 minutes preceding and 10 minutes following {more}"
    yield "select h.offset o, t.k, avg(u.y) a, count() c from t horizon join u on (k) range from -20m to 20m step 10m as h"
    yield "select h.offset o, t.k, t.n, max(u.y) a from t horizon join u on (k) list (-10m, 0s, 20m) as h"


def others():
    yield "select k, count() c, sum(n) s, max(ts) m from t"
    yield "select x, count() c, sum(n) s from t"
    yield "select k, b, n % 3 m, count() c from t group by k, b, m"
    yield "select upper(k) k, count() c from t group by k"
    yield "select k, b, sum(n) s, grouping(k) g from t group by rollup(k, b)"
    yield "select timestamp_floor('1h', ts) ts, sum(n) n from t group by ts"
    yield "select distinct k, b, n from t"
    yield "select distinct x, k from t"
    yield "select distinct on (k) k, n, ts, x from t order by k, n, ts"
    yield "select * from t latest on ts partition by k"
    yield "select * from t latest on ts partition by k, b"
    yield "select * from t where n > 3 latest on ts partition by k"
    yield "select * from t latest on ts partition by x"
    yield "select * from t limit 40"
    yield "select * from t limit -40"
    yield "select * from t limit 20, 60"
    yield "select * from t order by n, ts limit 30"
    yield "select * from t order by x desc, ts limit -30"
    yield "select k, n, ts from t order by n fetch first 20 rows with ties"
    yield "select k, n, y from (select k, n, n y from t union all select k, y, y from u)"
    yield "select k, n from t union select k, y from u"
    yield "select k, n from t except select k, y from u"
    yield "select k, n from t except all select k, y from u"
    yield "select k, n from t intersect select k, y from u"
    yield "select k, n from t intersect all select k, y from u"
    yield "select x, k from t union select z, k from u"
    yield "select x, k from t intersect select z, k from u"
    yield "select x, k from t except select z, k from u"
    yield "select * from (select k, n, b from t) pivot (sum(n) for k in ('a', 'c') group by b)"
    yield "select * from (select n, x * 1.0 x, k from t) unpivot (v for name in (x))"
    yield "select t.k, t.n, a.value v from t, unnest(array[t.n * 1.0, t.x, 3.0]) a(value)"
    yield "select x n, x * 2 m from long_sequence(40)"
    yield ("with recursive r as (select 1 n, 'a' k from long_sequence(1) union all select n + 1, case when n % 2 = 0 then 'a' else 'b' end "
           "from r where n < 12) select * from r")
    yield "with q as (select k, sum(n) s from t group by k) select a.k, a.s, b.s z from q a join q b on a.s >= b.s"
    yield "select ts, k, n, rnd from (select ts, k, n, n * 3 rnd from t) where n > 2"
    yield "select array_agg(n) is null e, k, count() c from t group by k"


def queries():
    return [*sampled(), *windowed(), *joined(), *others()]


def fill(s, rng):
    s.exec("create table t (ts timestamp, k symbol, s varchar, n int, x double, b boolean) timestamp(ts) partition by day")
    s.exec("create table u (ts timestamp, k symbol, y int, z double) timestamp(ts) partition by day")
    at = {"t": 0, "u": 0}
    text = lambda m: f"'2024-03-01T{m // 60 % 24:02}:{m % 60:02}:{m * 7 % 60:02}'"
    for name, n in (("t", 160), ("u", 60)):
        rows = []
        for i in range(n):
            at[name] += rng.choice([0, 0, 1, 2, 3, 11]) if name == "t" else rng.choice([0, 3, 9])
            k = "null" if rng.random() < 0.08 else repr(rng.choice("abcd" if name == "t" else "abce"))
            number = "null" if rng.random() < 0.08 else str(rng.randint(0, 9))
            real = rng.choice(["null", "0.0", "-0.0", "0.5", "1.5", "-2.0", "4.0"])
            rows.append(f"({text(at[name])}, {k}, {rng.choice(['null', repr(rng.choice('pqr'))])}, {number}, {real}, {rng.choice(['true', 'false'])})"
                        if name == "t" else f"({text(at[name])}, {k}, {number}, {real})")
        s.exec(f"insert into {name} values " + ", ".join(rows))


def condition(rng, columns, rows):
    """One over columns of the answer, with values that it has."""
    i = rng.randrange(len(columns))
    c, t = '"' + columns[i]["name"] + '"', columns[i]["type"]
    values = [r[i] for r in rows if r[i] is not None]
    v = rng.choice(values) if values else None
    forms = [f"{c} is null", f"{c} is not null"]
    if v is None:
        return rng.choice(forms)
    same = [o["name"] for o in columns if o["type"] == t and o["name"] != columns[i]["name"]]
    if t.startswith("TIMESTAMP"):
        forms += [f"{c} {op} '{v}'" for op in ("=", "<", ">=", "<>", ">", "<=")] + [f"{c} in '{v[:13]}'", f"{c} between {DAY} and '{v}'", f"hour({c}) = {int(v[11:13])}"]
        values = [f"'{x}'" for x in values]
    elif t in ("SYMBOL", "STRING", "VARCHAR", "CHAR"):
        v = v.replace("'", "''")
        forms += [f"{c} {op} '{v}'" for op in ("=", "<", ">=", "<>")] + [f"{c} in ('{v}', 'zz')", f"length({c}) = {len(v)}", f"coalesce({c}, 'a') = '{v}'"]
    elif t == "BOOLEAN":
        return rng.choice([c, f"not {c}", f"{c} = true", f"{c} <> true"])
    elif t == "DOUBLE":
        forms += [f"{c} {op} {v}" for op in ("=", "<", ">=", "<>", ">")] + [f"{c} in ({v}, 7.5)", f"abs({c}) = {abs(v)}", f"cast({c} as string) = '{v}'"]
    elif t in ("INT", "LONG", "SHORT", "BYTE"):
        forms += [f"{c} {op} {v}" for op in ("=", "<", ">=", "<>", ">", "<=")] + [f"{c} in ({v}, 77)", f"{c} between {v} and 5", f"{c} % 2 = 0", f"case when {c} > {v} then true else false end"]
    else:
        return rng.choice(forms)
    if same:
        forms += [f'{c} {op} "{rng.choice(same)}"' for op in ("=", "<", "<>")]
    return rng.choice(forms)


def conditions(rng, columns, rows):
    a, b = condition(rng, columns, rows), condition(rng, columns, rows)
    return rng.choice([a, a, a, f"{a} and {b}", f"({a} or {b})", f"not ({a})"])


def key(rows):
    return sorted(repr(r) for r in rows)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("binary", nargs="?")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--count", type=int, default=5)
    ap.add_argument("--only", default="")
    ap.add_argument("--off", help="rules of src/sql/opt/opt.def left out")
    ap.add_argument("--nightly", action="store_true")
    args = ap.parse_args()
    if args.nightly:
        args.count = 60
    rng = random.Random(args.seed)
    passed = failed = kept = 0
    env = {"ALMANAC_DEBUG_OPTIMISER_OFF": args.off} if args.off else {}
    with Server(binary=args.binary, env=env) as s:
        fill(s, rng)
        for n, sql in enumerate(queries()):
            mine = random.Random(args.seed * 100003 + n)
            if args.only not in sql:
                continue
            whole = s.exec(sql)
            s.exec(f"create table kept as ({sql})")
            for _ in range(args.count):
                where = conditions(mine, whole["columns"], whole["dataset"])
                form = mine.choice(["select * from {} where {}", "select * from {} where {}", "select count() from {} where {}",
                                    "select * from (select * from {}) where {} limit 1000"])
                want = s.rows(form.format("kept", where))
                got = s.rows(form.format(f"({sql})", where))
                kept += 0 < len(want) < whole["count"]
                if key(got) == key(want):
                    passed += 1
                    continue
                failed += 1
                print(f"{form.format(f'({sql})', where)}\n    got  {str(key(got))[:600]}\n    want {str(key(want))[:600]}", flush=True)
                print_again("--seed", str(args.seed), *(["--off", args.off] if args.off else []), *(["--nightly"] if args.nightly else []), "--only", sql)
            s.exec("drop table kept")
    print(f"seed {args.seed}: {kept} conditions kept some rows and not all", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or kept == 0


if __name__ == "__main__":
    sys.exit(main())
