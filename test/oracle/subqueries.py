#!/usr/bin/env python3
"""Random queries with correlated subqueries, answered here and by SQLite: the rows must be equal.

The data has no nulls, because null = null is true here. Usage: subqueries.py BINARY [SEED [COUNT]]
"""
import random, sqlite3, sys

from lib.server import Server


def condition(outer, inner):
    equal = [f"{inner}.k = {outer}.k", f"{inner}.a = {outer}.a", f"{inner}.a = {outer}.b + 1"]
    other = [f"{inner}.a > {outer}.a", f"{inner}.b < {outer}.b", f"{inner}.a + {outer}.b > 8", f"{inner}.b <> {outer}.a"]
    free = [f"{inner}.a > 3", f"{inner}.b < 7"]
    parts = (random.sample(equal, random.randint(0, 2)) + random.sample(other, random.randint(0, 1))
             + random.sample(free, random.randint(0, 1)))
    return " and ".join(parts) or equal[0]


def query():
    w = condition("t", "x")
    if random.random() < 0.25:  # two levels
        w += (f" and {random.choice(['', 'not '])}exists (select 1 from t z where {condition('x', 'z')}"
              f"{random.choice(['', ' and z.a = t.a'])})")
    v = condition("t", "y")
    select = random.choice([
        f"id from t where exists (select 1 from s x where {w})",
        f"id from t where not exists (select 1 from s x where {w})",
        f"id, (select max(x.b) from s x where {w}) m from t",
        f"id, (select count(*) from s x where {w}) m from t",
        f"id, (select count(*) + t.a from s x where {w}) m from t",
        f"id from t where a in (select x.b from s x where {w})",
        f"id from t where a not in (select x.b from s x where {w})",
        f"id from t where a > (select min(x.b) from s x where {w}) or exists (select 1 from s y where {v})",
        f"id, case when exists (select 1 from s x where {w}) then 1 else 0 end e from t",
        f"id, (select x.id from s x where {w} order by x.id desc limit 1) m from t",
        f"id from t where (select count(*) from (select x.k from s x where {w} group by x.k)) > 1",
        f"id, (select sum(v) from (select x.a v from s x where {w} union all select y.b from s y where {v})) m from t"])
    return f"select {select} order by id"


def main():
    binary, seed, count = sys.argv[1], int((sys.argv + ["", "1"])[2] or 1), int((sys.argv[3:] or ["300"])[0])
    random.seed(seed)
    rows = {name: [(i, random.choice(letters), random.randint(0, 9), random.randint(0, 9)) for i in range(n)]
            for name, letters, n in (("t", "ABCD", 40), ("s", "ABCDE", 25))}
    oracle = sqlite3.connect(":memory:")
    bad = 0
    with Server(binary=binary) as s:
        for name, data in rows.items():
            oracle.execute(f"create table {name} (id int, k text, a int, b int)")
            oracle.executemany(f"insert into {name} values (?, ?, ?, ?)", data)
            s.exec(f"create table {name} (id int, k symbol, a int, b int)")
            s.exec(f"insert into {name} values " + ", ".join(str(r) for r in data))
        for _ in range(count):
            sql = query()
            want = [list(r) for r in oracle.execute(sql)]
            try:
                got = s.rows(sql)
            except RuntimeError as e:
                got = str(e)
            if got != want:
                bad += 1
                print(f"{sql}\n    got  {str(got)[:400]}\n    want {str(want)[:400]}")
    print(f"seed {seed}: {count} queries, {bad} differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
