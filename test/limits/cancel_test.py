#!/usr/bin/env python3
"""Cancels long statements of every operator at random moments.

Each must end with SQLSTATE 57014 within LIMIT_MS of the request, leave the connection usable and change
nothing; at the end the memory of all of them must have been given back. A statement that is over before
the cancel comes is tried again with a shorter wait; if it is always over it counts as passed and is listed.

    cancel_test.py [--binary FILE] [--nightly] [--limit-ms N] [PATTERN]
"""
import argparse, random, re, sys, threading, time

from lib import pgclient as pg
from lib.checks import given, print_again
from lib.server import Server

ROWS = 3000000
SETUP = [
    f"create table big as (select x id, timestamp_sequence('2024-01-01', 100000) ts, ('S' || (x * 7919 % 1000))::symbol sym, "
    f"rnd_double() d, x * 7919 % 1000003 l, 'text ' || (x * 31 % 500000) s from long_sequence({ROWS})) timestamp(ts) partition by day",
    "create table other as (select * from big where id % 3 = 0) timestamp(ts) partition by day",
    "create table target (id long, ts timestamp, sym symbol, d double, l long, s string) timestamp(ts) partition by day"]
STATEMENTS = [  # operator, statement
    ("source", "select max(x * 3 % 7) from long_sequence(100000000000)"),
    ("series", "select count() from generate_series(1, 100000000000)"),
    ("scan rows", "select * from big"),
    ("filter", "select count() from big a cross join long_sequence(1000) where a.s ~ '.*9.*7.*5.*x'"),
    ("project", "select sum(length(replace(upper(s), 'T', 'uu'))) from big cross join long_sequence(1000)"),
    ("group by code", "select sym, sum(d) from big cross join long_sequence(1000) group by sym"),
    ("group by hash", "select s, l, sum(d) from big group by s, l order by 3 limit 5"),
    ("group plain", "select sum(d), avg(d), min(l), max(l), stddev(d) from big cross join long_sequence(1000)"),
    ("group distinct", "select count_distinct(s), count_distinct(l) from big cross join long_sequence(100)"),
    ("distinct", "select count() from (select distinct s, l, d from big)"),
    ("sample", "select ts, sym, avg(d) from big sample by 10s"),
    ("sample fill", "select ts, sym, avg(d) from big sample by 100T fill(linear)"),
    ("sort", "select * from big order by s, d, l"),
    ("sort one", "select * from big order by d desc"),
    ("top k", "select * from big cross join long_sequence(100) order by d limit 10"),
    ("latest", "select * from (select * from big order by ts) latest on ts partition by s"),
    ("join build", "select count() from other a join big b on a.s = b.s and a.d < b.d"),
    ("join probe", "select count() from big a join other b on a.l = b.l where a.d > b.d"),
    ("left join", "select count(), sum(b.d) from big a left join other b on a.s = b.s and b.d > a.d"),
    ("full join", "select count(), sum(b.d) from big a full join other b on a.s = b.s and b.d > a.d"),
    ("cross join", "select count() from big a cross join big b where a.d + b.d > 1.9"),
    ("nested loop", "select count() from big a join other b on a.d < b.d"),
    ("asof", "select count(), sum(b.d) from big a asof join other b on (s)"),
    ("lt", "select count(), sum(b.d) from big a lt join other b on (sym)"),
    ("splice", "select count(), sum(b.d) from big a splice join other b on (sym)"),
    ("window join", "select a.id, sum(b.d) from big a window join other b on (sym) range between 1 hour preceding and 1 hour following"),
    ("window stream", "select max(r) from (select sum(d) over (partition by s order by ts rows 100 preceding) r from big)"),
    ("window sort", "select max(r) from (select rank() over (partition by sym order by d) r from big)"),
    ("window frame", "select max(r) from (select max(d) over (partition by sym order by ts rows between 500 preceding and 500 following) r from big)"),
    ("window range", "select max(r) from (select avg(d) over (partition by sym order by ts range between 1 hour preceding and current row) r from big)"),
    ("union", "select count() from (select s, l from big union select s, l + 1 from big)"),
    ("except", "select count() from (select s, l from big except select s, l + 1 from big)"),
    ("intersect", "select count() from (select s, l from big intersect select s, l from other)"),
    ("exists", "select count() from big a where exists (select 1 from other b where b.s = a.s and b.d > a.d)"),
    ("scalar subquery", "select count() from big a where d > (select avg(b.d) from other b where b.s = a.s)"),
    ("rollup", "select sym, s, sum(d) from big group by rollup(sym, s)"),
    ("insert select", "insert into target select * from big order by d"),
    ("insert many", "insert into target select a.* from big a cross join long_sequence(100)"),
    ("create as", "create table made as (select * from big cross join long_sequence(100))"),
    ("update", "update big set d = d + 1 where s ~ '.*9.*7.*'"),
    ("delete", "delete from big where s ~ '.*9.*7.*5.*x'"),
]


READY = re.compile(rb"Z\0\0\0\x05[ITE]$")
ERROR = re.compile(rb"C([0-9A-Z]{5})\0M([^\0]*)\0")


def attempt(address, sql, wait, limit_ms):
    """('ok' | 'over' | text of what is wrong, milliseconds)"""
    w = pg.Wire(address, timeout=120)
    sent, answer = [0.0], {}

    def cancel():
        sent[0] = time.monotonic()
        w.cancel()

    timer = threading.Timer(wait, cancel)
    w.send(pg.query(sql))
    timer.start()
    received = bytearray()  # not parsed: the clock is for the server, not for this loop
    while not READY.search(received[-6:]):
        part = w.s.recv(1 << 20)
        if not part:
            return "connection closed", 0.0
        received = received[-4096:] + part
    took = (time.monotonic() - sent[0]) * 1000 if sent[0] else 0.0
    timer.cancel()
    timer.join()
    code = ERROR.search(received)
    if code:
        answer = {"C": code[1].decode(), "M": code[2].decode("utf-8", "replace")}
    if w.rows("select 1") != [["1"]]:
        return "the connection does not answer", took
    w.close()
    if not answer:
        return "over", took
    if answer.get("C") == "53200":
        return "over", took  # the memory limit came first
    if answer.get("C") != "57014":
        return f"{answer.get('C')} {answer.get('M')}", took
    return ("ok" if took <= limit_ms else f"took {took:.0f} ms"), took


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary")
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--limit-ms", type=float, default=100)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("pattern", nargs="?", default="")
    o = ap.parse_args()
    rng = random.Random(o.seed)
    passed, failures, over, worst = 0, [], [], (0.0, "")
    with Server(binary=o.binary, env={"ALMANAC_WAL_SYNC": "off"}) as s:
        w = pg.Wire(s.pg, timeout=300)
        for sql in SETUP:
            w.rows(sql)
        count = w.rows("select count(), sum(l) from big")
        time.sleep(1)
        base = s.resident_bytes()[1]
        for name, sql in STATEMENTS:
            if not re.search(o.pattern, name):
                continue
            results, wait = [], rng.uniform(0.05, 0.4)
            for _ in range(4 if o.nightly else 2):
                how, took = attempt(s.pg, sql, wait, o.limit_ms)
                if how == "over":
                    wait /= 3
                elif how == "ok" and took > worst[0]:
                    worst = (took, name)
                results.append(how)
                wait = wait if how == "over" else rng.uniform(0.01, 0.4)
            bad = [r for r in results if r not in ("ok", "over")]
            if len(bad) > 1 or (bad and not bad[0].startswith("took")):
                failures.append(name)
                print(f"{name}: {'; '.join(bad)}: {sql}", flush=True)
                print_again(*given(ap, o), f"^{re.escape(name)}$")
            else:
                passed += 1
                if "ok" not in results:
                    over.append(name)
        if w.rows("select count(), sum(l) from big") != count or w.rows("select count() from target") != [["0"]]:
            failures.append("changes")
            print("a cancelled statement changed rows")
        else:
            passed += 1
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and s.resident_bytes()[1] > base + (64 << 20):
            time.sleep(0.5)
        left = (s.resident_bytes()[1] - base) >> 20
        if left > 64:
            failures.append("memory")
            print(f"{left} MB more than before")
        else:
            passed += 1
    print(f"slowest cancel {worst[0]:.0f} ms ({worst[1]}); over before the cancel: {', '.join(over) or 'none'}; {left} MB left")
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
