#!/usr/bin/env python3
"""A materialized view holds what its query gives, whatever happens to its base table.

Random changes of two base tables (rows in time order, late rows, rows all over, UPDATE, DELETE, DEDUP, TRUNCATE,
DROP PARTITION, DETACH and ATTACH), restarts, kill -9 in the middle. After each few of them every view is
compared with its query run directly: as soon as the refresher is through (IMMEDIATE), or after REFRESH. At the end all at
once: writers, readers, refreshes and changes of views on threads of their own.
Values are quarters, so that sums do not depend on the order of rows.

    matview_test.py [--binary FILE] [--nightly] [--seed N] [--rounds N] [-v]
"""
import argparse, json, random, sys, threading, time

from lib.answers import ask
from lib.checks import given, print_again
from lib.server import Server

BASES = ["create table mb (id long, y symbol, p double, q long, ts timestamp) timestamp(ts) partition by day wal",
         "create table md (id long, y symbol, p double, q long, ts timestamp_ns) timestamp(ts) partition by month wal "
         "dedup upsert keys(ts, y)",
         "create table names (y symbol, name symbol, f double)",
         "create table ref (ts timestamp, y symbol, f double) timestamp(ts) partition by year wal"]
AGGS = "y, sum(p) s, count() n, min(p) lo, max(q) hi, first(id) f, last(id) l"
# name, options, query, order
VIEWS = [
    ("v_hour", "refresh immediate", f"select ts, {AGGS} from mb sample by 1h", "ts, y"),
    ("v_plain", "", "select ts, sum(q) q, count() n from mb where p > 2 sample by 30m", "ts"),
    ("v_zone", "refresh immediate", f"select ts, {AGGS} from mb sample by 1d align to calendar time zone 'Europe/Berlin' "
     "with offset '02:00'", "ts, y"),
    ("v_clock", "refresh immediate", "select ts, sum(p) s, count() n from mb sample by 2h align to calendar time zone 'America/New_York'",
     "ts"),
    ("v_week", "refresh manual", "select ts, y, sum(p) s, count() n from mb sample by 1w", "ts, y"),
    ("v_month", "refresh manual deferred", "select ts, y, sum(p) s, count() n from mb sample by 1M", "ts, y"),
    ("v_dedup", "refresh immediate", f"select ts, {AGGS} from md sample by 15m", "ts, y"),
    ("v_join", "with base mb refresh immediate", "select m.ts, m.y, sum(m.p * r.f) s, count() n from mb m asof join ref r on (y) "
     "sample by 2h", "ts, y"),
    ("v_inner", "with base mb refresh immediate", "select m.ts, i.name, sum(m.p * i.f) s, count() n from mb m join names i on m.y = i.y "
     "sample by 1h", "ts, name"),
    ("v_expr", "refresh immediate", "select ts, concat(y, '!') z, y, s * 2 s2, n from (select ts, y, sum(p) s, count() n from mb "
     "sample by 1h) where n > 1", "ts, y"),
    ("v_nested", "refresh immediate", "select ts, y, max(s) m, count() n from (select ts, y, sum(p) s from mb sample by 1h) "
     "sample by 1d", "ts, y"),
    ("v_over", "refresh immediate", "select ts, y, sum(s) s, sum(n) n from v_hour sample by 1d", "ts, y"),
    ("v_over2", "refresh immediate", "select ts, sum(n) n from v_over sample by 1M", "ts"),
    ("v_cte", "refresh immediate", "with w as (select ts, y, p from mb where p > 1) select ts, y, sum(p) s from w sample by 3h", "ts, y"),
    ("v_cte2", "refresh immediate", "with w as (select ts, y, sum(p) s from mb sample by 1d) select a.ts, a.y, a.s, b.s s1 from w a "
     "left join w b on a.ts = b.ts and a.y = b.y", "ts, y"),
    ("v_view", "refresh immediate", "select ts, y, sum(p) s, count() n from plain_view sample by 1h", "ts, y"),
]
BY_HAND = {"v_week", "v_month"}
DAY = 86400 * 1000000
START = 1704067200 * 1000000  # 2024


class Test:
    def __init__(self, server, seed, verbose):
        self.s, self.rnd, self.verbose = server, random.Random(seed), verbose
        self.next_id, self.now, self.n = 1, START + 40 * DAY, 0
        self.passed = self.failed = 0
        self.detached = set()

    def sql(self, text, may_fail=False):
        if self.verbose:
            print("   ", text[:150], flush=True)
        a = ask(self.s.url, text, 60)
        if "error" in a and not may_fail:
            raise RuntimeError(f"{text[:300]}: {a['error']}")
        return a

    def insert(self, table, times):
        if not times:
            return
        ns = table == "md"
        rows = []
        for t in times:
            rows.append(f"({self.next_id}, {self.rnd.choice(['null', chr(39) + 'a' + chr(39), chr(39) + 'b' + chr(39), chr(39) + 'c' + chr(39)])}, "
                        f"{self.rnd.randrange(0, 40) / 4}, {self.rnd.randrange(1000)}, {t * 1000 if ns else t})")
            self.next_id += 1
        self.sql(f"insert into {table} values {', '.join(rows)}")

    def change(self):
        r, table = self.rnd, self.rnd.choice(["mb", "mb", "md"])
        kind = r.choices(["order", "late", "spread", "update", "delete", "truncate", "drop", "detach", "ref", "bulk"],
                         [30, 20, 10, 8, 8, 1, 2, 2, 2, 3])[0]
        day = START + r.randrange(45) * DAY
        text = time.strftime("%Y-%m-%d", time.gmtime(day / 1e6))
        if kind == "order":
            times = []
            for _ in range(r.randrange(1, 60)):
                self.now += r.randrange(0, 900) * 1000000
                times.append(self.now)
            self.insert(table, times)
        elif kind == "late":
            at = self.now - r.randrange(0, 40 * DAY)
            self.insert(table, [at + r.randrange(0, 7200) * 1000000 for _ in range(r.randrange(1, 20))])
        elif kind == "spread":
            self.insert(table, [START + r.randrange(0, r.choice([60, 360]) * DAY) for _ in range(r.randrange(1, 30))])
        elif kind == "bulk":
            self.sql(f"insert into {table} select x + {self.next_id}, 'b', (x % 16) / 4.0, x, "
                     f"timestamp_sequence({day}::timestamp, 60000000) from long_sequence(60000)")
            self.next_id += 60000
        elif kind == "update":
            self.sql(f"update {table} set p = p + {r.randrange(8) / 4} where ts in '{text}' and id % {r.randrange(1, 5)} = 0")
        elif kind == "delete":
            self.sql(f"delete from {table} where ts in '{text}' and id % {r.randrange(1, 5)} = 0")
        elif kind == "truncate":
            self.sql(f"truncate table {table}")
        elif kind == "drop":
            self.sql(f"alter table mb drop partition list '{text}'", may_fail=True)
        elif kind == "detach":
            if "error" not in self.sql(f"alter table mb detach partition list '{text}'", may_fail=True):
                if r.random() < 0.7:
                    self.sql(f"alter table mb attach partition list '{text}'", may_fail=True)
        elif kind == "ref":  # changes of tables beside the base count from the next full refresh on
            self.sql(f"insert into ref values ({START - r.randrange(1, 100) * DAY}, '{r.choice('abc')}', {r.randrange(8) / 4})")
            self.sql("refresh materialized view v_join full")

    def settle(self):
        """Waits until the refresher has seen everything; touched by nobody meanwhile."""
        end = time.monotonic() + 60
        quiet = 0
        while quiet < 2:
            rows = self.sql("select view_name, refresh_base_table_txn, base_table_txn, view_status, invalidation_reason "
                            "from materialized_views() where refresh_type = 'immediate'")["rows"]
            bad = [r for r in rows if r[3] != "valid"]
            if bad:
                raise RuntimeError(f"invalid: {bad}")
            quiet = quiet + 1 if all(r[1] == r[2] and r[1] > 0 for r in rows) else 0
            if time.monotonic() > end:
                raise RuntimeError(f"not refreshed after 60 s: {rows}")
            time.sleep(0.005)

    def compare(self):
        self.settle()
        for name in BY_HAND:
            self.sql(f"refresh materialized view {name} {self.rnd.choice(['incremental', 'incremental', 'full'])}")
        for name, _, query, order in VIEWS:
            want = self.sql(f"select * from ({query}) order by {order}")
            got = self.sql(f"select * from {name} order by {order}")
            self.n += 1
            if json.dumps(want["rows"]) == json.dumps(got["rows"]) and want["columns"] == got["columns"]:
                self.passed += 1
                continue
            self.failed += 1
            only = [r for r in want["rows"] if r not in got["rows"]][:3], [r for r in got["rows"] if r not in want["rows"]][:3]
            print(f"{name}: {len(want['rows'])} rows by the query, {len(got['rows'])} in the view; missing {only[0]}, too many {only[1]}")

    def restart(self):
        how = self.rnd.choice(["stop", "kill", "kill"])
        if self.verbose:
            print("   ", how, flush=True)
        self.s.stop() if how == "stop" else self.s.kill()
        self.s.start()


def expire(server, rnd, rounds):
    """Views over a table with a TTL hold what they hold over one without: rows that expire, the commit with rows behind them, late rows for
    what is not over, and restarts in between. Problems found; empty: none."""
    views = {"et_w": ("1w", "ts, y, sum(p) s, count() n, avg(p) a, count_distinct(p) d, first(p) f"), "et_d": ("1d", "ts, sum(p) s, max(p) m"),
             "et_m": ("1M", "ts, y, count() n"), "et_h": ("5h", "ts, y, last(p) l, min(p) v")}
    for table, ttl in (("et", " ttl 2d"), ("ef", "")):
        server.exec(f"create table {table} (y symbol, p double, ts timestamp) timestamp(ts) partition by day{ttl}")
    for name, (every, cols) in views.items():
        server.exec(f"create materialized view {name} as (select {cols} from et sample by {every}) partition by year")
    bad, now = [], START
    for i in range(rounds):
        rows = []
        for _ in range(rnd.randrange(1, 12)):
            now += rnd.choice([60, 3600, 20000, 90000]) * 1000000
            rows.append((rnd.choice("abc"), rnd.randrange(40) / 4, now - rnd.choice([0, 0, 0, 3600, 50000]) * 1000000))
        for table in ("et", "ef"):
            server.exec(f"insert into {table} values " + ", ".join(f"('{y}', {p}, {t})" for y, p, t in rows))
        end = time.monotonic() + 60
        while server.rows("select count() from materialized_views() where base_table_name = 'et' and refresh_base_table_txn <> base_table_txn") != [[0]]:
            if time.monotonic() > end:
                return ["not refreshed after 60 s"]
            time.sleep(0.005)
        kind = rnd.choice(["", "", "", "stop", "kill", "full", "checkpoint"])
        if kind in ("stop", "kill"):
            server.stop() if kind == "stop" else server.kill()
            server.start()
        elif kind == "full":
            server.exec("refresh materialized view et_w full")
        elif kind == "checkpoint":
            server.exec("checkpoint create")
            server.exec("checkpoint release")
        for name, (every, cols) in views.items():
            order = "ts, y" if " y," in cols else "ts"
            want = server.rows(f"select * from (select {cols} from ef sample by {every}) order by {order}")
            got = server.rows(f"select * from {name} order by {order}")
            if want != got:
                bad.append(f"{name}, round {i}: missing {[r for r in want if r not in got][:3]}, too many {[r for r in got if r not in want][:3]}")
        newest, oldest, n = server.rows("select max(ts), min(ts), count() from et")[0]
        if n >= server.rows("select count() from ef")[0][0] and i > 20 or bad:
            return bad or [f"nothing has expired: {oldest} to {newest}"]
    return bad


def fill(server, rounds):
    """Rows that come while views are filled, for the first time or anew from another table with the name of their base: none is missed.
    Problems found; empty: none."""
    query, bad = "select ts, sum(p) s, count() n from ft sample by 1h", []
    create = [f"create table ft as (select x % 9 p, timestamp_sequence({START}, 4000000) ts from long_sequence(200000)) timestamp(ts) partition by day"]
    views = ["ft_1", "ft_2"]
    for i in range(rounds):
        stop = threading.Event()

        def write():
            at = START
            while not stop.is_set():
                at += 3600 * 1000000  # each a bucket of its own
                ask(server.url, f"insert into ft values (1, {at})", 60)

        writer = threading.Thread(target=write)
        for sql in create:
            server.exec(sql)
        if i % 2 == 0:  # the refresher fills them, one after the other
            for v in views:
                server.exec(f"create materialized view {v} refresh manual as ({query}) partition by month")
        writer.start()
        for v in views:
            server.exec(f"refresh materialized view {v} {'incremental' if i % 2 == 0 else 'full'}")
        stop.set()
        writer.join()
        want = []
        for v in views:
            server.exec(f"refresh materialized view {v} incremental")
            want = want or server.rows(f"select * from ({query}) order by ts")
            got = server.rows(f"select * from {v} order by ts")
            if want != got:
                bad.append(f"{v}, round {i}: missing {[r for r in want if r not in got][:3]}, too many {[r for r in got if r not in want][:3]}")
        server.exec("drop table ft")
        if i % 2 == 1:
            for v in views:
                server.exec(f"drop materialized view {v}")
    return bad


def day(r):
    return f"'2024-01-{r.randrange(1, 9):02}'"


# one thread each
RACERS = [
    lambda r: f"insert into rt (y, p, ts) values ('{r.choice('abc')}', {r.randrange(9)}, {START + r.randrange(10 * DAY)})",
    lambda r: f"insert into rt (y, p, ts) values ('{r.choice('abc')}', {r.randrange(9)}, {START + r.randrange(10 * DAY)})",
    lambda r: r.choice([f"update rt set p = p + 1 where ts in {day(r)}", f"delete from rt where ts in {day(r)} and p > 5",
                        "truncate table rt", f"alter table rt add column if not exists c{r.randrange(3)} int",
                        f"alter table rt drop column c{r.randrange(3)}"]),
    lambda r: r.choice(["select * from rv order by ts", "select sum(n) from rv2", "select * from rw", "select * from rw2 where p > 1",
                        "select * from materialized_views()", "select * from views()", "select * from tables()"]),
    lambda r: r.choice(["refresh materialized view rv full", "refresh materialized view rv incremental",
                        f"refresh materialized view rv range from {day(r)} to '2024-01-10'",
                        f"create or replace view rw as (select y, p from rt where p > {r.randrange(5)})",
                        "create or replace view rw2 as (select * from rw)",
                        f"alter materialized view rv set refresh {r.choice(['immediate', 'manual', 'every 1s'])}",
                        f"alter materialized view rv set ttl {r.choice([0, 5, 100])} days",
                        "drop materialized view if exists rv2",
                        "create materialized view if not exists rv2 as (select ts, sum(n) n from rv sample by 1d)"]),
]
EXPECTED = ("Invalid column", "dropped", "meanwhile", "does not exist", "already exists")


def race(server, seconds):
    """Problems found; empty: none."""
    query = "select ts, y, sum(p) s, count() n from rt sample by 1h"
    for sql in ("create table rt (y symbol, p double, ts timestamp) timestamp(ts) partition by day wal",
                f"create materialized view rv as ({query}) partition by day", "create view rw as (select y, p from rt)",
                "create view rw2 as (select * from rw)"):
        server.exec(sql)
    bad, end = [], time.monotonic() + seconds

    def go(make, seed):
        rnd = random.Random(seed)
        while time.monotonic() < end and not bad:
            sql = make(rnd)
            why = ask(server.url, sql, 60).get("error")
            if why and not any(word in why for word in EXPECTED):
                bad.append(f"{sql}: {why}")

    threads = [threading.Thread(target=go, args=(make, i)) for i, make in enumerate(RACERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for sql in ("alter materialized view rv set ttl 0d", "refresh materialized view rv full"):
        server.exec(sql)
    want, got = (server.rows(f"select * from ({q}) order by ts, y") for q in (query, "rv"))
    return bad + ([] if want == got else [f"{len(want)} rows by the query, {len(got)} in the view"])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary")
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--rounds", type=int)
    ap.add_argument("-v", action="store_true")
    o = ap.parse_args()
    rounds = o.rounds or (400 if o.nightly else 40)
    s = Server(binary=o.binary, env={"ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "1048576"})
    s.start()
    t = Test(s, o.seed, o.v)
    try:
        for sql in BASES:
            t.sql(sql)
        t.sql("insert into names values ('a', 'A', 1), ('b', 'B', 2), ('b', 'BB', 0.5), ('x', 'X', 4)")
        t.sql("create view plain_view as (declare overridable @lo := 1.0 select * from mb where p >= @lo)")
        t.insert("mb", [START + i * 1800 * 1000000 for i in range(100)])
        for name, options, query, _ in VIEWS:
            t.sql(f"create materialized view {name} {options} as ({query})")
        for i in range(rounds):
            for _ in range(t.rnd.randrange(1, 6)):
                t.change()
            if t.rnd.random() < 0.15:
                t.restart()
            t.compare()
            if t.failed:
                print(f"seed {o.seed}, round {i}")
                print_again(*given(ap, o))
                break
        bad = expire(s, t.rnd, rounds) + fill(s, rounds // 4) + race(s, 60 if o.nightly else 5)
        t.passed, t.failed = t.passed + (not bad), t.failed + bool(bad)
        for why in bad:
            print(f"race, fill or TTL: {why}")
        s.stop()
    finally:
        s.__exit__(Exception, None, None)
    print(f"{t.passed} passed, {t.failed} failed")
    sys.exit(t.failed > 0)


if __name__ == "__main__":
    main()
