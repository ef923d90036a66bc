#!/usr/bin/env python3
"""What is acknowledged is seen, and what is seen is whole.

Pairs: a change is made on one connection; once it is acknowledged, another connection, over another
protocol, asks for it. Every answer must have it: rows in order, late rows, rows over the line protocol,
updates, deletes, transaction blocks.

Sums: writers move amounts between accounts, by single statements and by blocks over two tables, beside
writers of late rows; every reader of both tables must see the same total in one statement.

    visibility_test.py [--nightly] [--pairs N] [--seconds N]      nightly: 100,000 pairs, 60 seconds
"""
import argparse, http.client, json, random, sys, threading, time, urllib.parse

from lib.checks import given, print_again
from lib.pgclient import Wire
from lib.server import Server

START_US = 1700000000000000


class Rest:
    def __init__(self, s):
        host, port = s.http.rsplit(":", 1)
        self.c = http.client.HTTPConnection(host, int(port), timeout=120)

    def rows(self, sql):
        self.c.request("GET", "/exec?" + urllib.parse.urlencode({"query": sql}))
        answer = json.loads(self.c.getresponse().read())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("dataset")

    def line(self, text):
        self.c.request("POST", "/write", body=text.encode())
        r = self.c.getresponse()
        body = r.read()
        if r.status != 204:
            raise RuntimeError(f"{r.status} {body}")


class Pg:
    def __init__(self, s):
        self.w = Wire(s.pg)

    def rows(self, sql):
        return [[None if v is None else int(v) for v in r] for r in self.w.rows(sql)]

    def run(self, sql):
        self.w.rows(sql)


# ----------------------------------------------------------------------------- pairs
class Pairs(threading.Thread):
    """One writer and its readers; `w` names its rows. Expects count and sum of them after each change."""

    def __init__(self, s, w, n):
        super().__init__()
        self.w, self.n, self.rnd = w, n, random.Random(w)
        self.rest, self.pg, self.other_rest, self.other_pg = Rest(s), Pg(s), Rest(s), Pg(s)
        self.count = self.sum = self.next = self.done = 0
        self.wrong, self.error, self.gone = [], None, set()

    def time(self):
        late = self.rnd.choice((0, 0, 0, 0, 1, 3600, 86400 * 3))
        return START_US + self.next * 50_000 - late * 1_000_000

    def insert(self, how):
        t, v = self.time(), self.rnd.randrange(1000)
        sql = f"insert into seen values ({t}, {self.w}, {self.next}, {v})"
        if how == "rest":
            self.rest.rows(sql)
        elif how == "pg":
            self.pg.run(sql)
        elif how == "line":
            self.rest.line(f"seen w={self.w}i,n={self.next}i,v={v}i {t * 1000}\n")
        else:
            self.pg.run(f"begin; {sql}; insert into other values ({self.w}, {self.next}); commit")
        self.next, self.count, self.sum = self.next + 1, self.count + 1, self.sum + v

    def update(self):
        self.pg.run(f"update seen set v = v + 1 where w = {self.w} and n >= {self.next - 5}")
        self.sum += min(5, self.next) - len([n for n in self.gone if n >= self.next - 5])

    def delete(self):
        n = self.next - 1
        if n in self.gone or n < 0:
            return
        v = self.rest.rows(f"select v from seen where w = {self.w} and n = {n}")[0][0]
        self.pg.run(f"delete from seen where w = {self.w} and n = {n}")
        self.gone.add(n)
        self.count, self.sum = self.count - 1, self.sum - v

    def change(self, i):
        if i % 211 == 97:
            return self.update()
        if i % 211 == 150:
            return self.delete()
        return self.insert("block" if i % 16 == 15 else ("rest", "pg", "line")[i % 3])

    def run(self):
        try:
            for i in range(self.n):
                self.change(i)
                # the newest rows only: what is asked for must not cost more from pair to pair
                reader = self.other_pg if i % 2 else self.other_rest
                if i % 50 == 0:
                    got, want = reader.rows(f"select count(), sum(v) from seen where w = {self.w}")[0], [self.count, self.sum or None]
                else:
                    n = self.next - 1
                    got, want = reader.rows(f"select count() from seen where w = {self.w} and n = {n}")[0], [0 if n in self.gone else 1]
                if got != want:
                    self.wrong.append((i, got, want))
                self.done += 1
        except Exception as e:
            self.error = e


def pairs(s, n, threads=4):
    s.exec("create table seen (ts timestamp, w long, n long, v long) timestamp(ts) partition by day")
    s.exec("create table other (w long, n long)")
    all_of = [Pairs(s, w, n // threads) for w in range(threads)]
    for t in all_of:
        t.start()
    for t in all_of:
        t.join()
    for t in all_of:
        for i, got, want in t.wrong[:3]:
            print(f"writer {t.w}, pair {i}: seen {got}, written {want}")
        if t.error:
            print(f"writer {t.w}: {type(t.error).__name__}: {t.error}")
    done = sum(t.done for t in all_of)
    wrong = sum(len(t.wrong) for t in all_of) + sum(t.error is not None for t in all_of)
    print(f"pairs: {done}, not seen: {wrong}")
    return done - wrong, wrong


# ------------------------------------------------------------------------------ sums
ACCOUNTS, AMOUNT = 24, 1000
TOTAL = ACCOUNTS * AMOUNT


def transfer_statement(s, rnd, pg, until, counts):
    while time.monotonic() < until:
        a, b = rnd.sample(range(ACCOUNTS // 2), 2)
        pg.run(f"update bank set amount = amount + case when who = {a} then -9 else 9 end where who in ({a}, {b})")
        counts["statements"] += 1


def transfer_block(s, rnd, pg, until, counts):
    """Between the two tables; of those that meet, the second gives up and tries another."""
    while time.monotonic() < until:
        a, b = rnd.randrange(ACCOUNTS // 2), rnd.randrange(ACCOUNTS // 2, ACCOUNTS)
        try:
            pg.run("begin")
            pg.run(f"update bank set amount = amount - 5 where who = {a}")
            pg.run(f"update vault set amount = amount + 5 where who = {b}")
            pg.run("commit")
            counts["blocks"] += 1
        except Exception as e:
            pg.run("rollback")
            if "40001" not in str(e) and "meanwhile" not in str(e):
                raise
            counts["conflicts"] += 1


def insert_nothing(s, rnd, pg, until, counts):
    while time.monotonic() < until:
        table = rnd.choice(("bank", "vault"))
        pg.run(f"insert into {table} values ({START_US + rnd.randrange(86400 * 90) * 1_000_000}, 99, 0)")
        counts["inserts"] += 1


def watch(s, rnd, reader, until, counts):
    while time.monotonic() < until:
        got = reader.rows("select sum(a) from (select sum(amount) a from bank union all select sum(amount) a from vault)")[0][0]
        if got != TOTAL:
            counts["wrong"] += 1
            print(f"the total was {got}, not {TOTAL}")
        counts["reads"] += 1


def sums(s, seconds):
    for table, lo in (("bank", 0), ("vault", ACCOUNTS // 2)):
        s.exec(f"create table {table} (ts timestamp, who long, amount long) timestamp(ts) partition by day")
        s.exec(f"insert into {table} select dateadd('d', 7 * x::int, {START_US}::timestamp), x + {lo - 1}, {AMOUNT} from long_sequence({ACCOUNTS // 2})")
    counts = dict.fromkeys(("statements", "blocks", "conflicts", "inserts", "reads", "wrong"), 0)
    until, errors = time.monotonic() + seconds, []

    def guarded(f, i, client):
        try:
            f(s, random.Random(i), client, until, counts)
        except Exception as e:
            errors.append(f"{f.__name__}: {type(e).__name__}: {e}")

    jobs = [(transfer_statement, Pg), (transfer_block, Pg), (transfer_block, Pg), (insert_nothing, Pg), (watch, Pg), (watch, Rest)]
    threads = [threading.Thread(target=guarded, args=(f, i, c(s))) for i, (f, c) in enumerate(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for e in errors:
        print(e)
    print("sums:", ", ".join(f"{k} {v}" for k, v in counts.items()))
    idle = [k for k in ("statements", "blocks", "inserts", "reads") if counts[k] == 0]
    return 1, counts["wrong"] + len(errors) + len(idle)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--pairs", type=int)
    ap.add_argument("--seconds", type=float)
    ap.add_argument("--binary")
    o = ap.parse_args()
    with Server(binary=o.binary) as s:
        passed, failed = pairs(s, o.pairs or (100_000 if o.nightly else 2000))
        p, f = sums(s, o.seconds or (60 if o.nightly else 4))
    if failed + f:
        print_again(*given(ap, o))
    print(f"{passed + p} passed, {failed + f} failed")
    sys.exit(failed + f > 0)


if __name__ == "__main__":
    main()
