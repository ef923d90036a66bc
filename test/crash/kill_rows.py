"""Rows of the kill test: what a request writes, the texts of it in each protocol, and the journal of who asked for what.

A row says which request it is of and its place there, and all its other values follow from these two: so a lost, doubled,
torn or changed row shows in one grouped query.
"""
import datetime, itertools, random

BASE_US = 1704067200000000  # 2024-01-01
EPOCH = datetime.datetime(1970, 1, 1)
SECOND_US, DAY_US = 1000000, 86400000000
COLUMNS = "ts timestamp, w symbol, s symbol, r long, i long, v double, txt varchar"
NAMES = "ts,w,s,r,i,v,txt"
# one where the row is not what its request and place say
WRONG = "sum(case when s = 's' || ((r + i) % 97) and v = r + i * 0.5 and txt = 'row ' || i || ' of ' || r then 0 else 1 end)"
LATE_US = {"in order": 0, "seconds": 90 * SECOND_US, "days": 9 * DAY_US, "months": 80 * DAY_US}


class Row:
    __slots__ = ("us", "w", "r", "i")

    def __init__(self, us, w, r, i):
        self.us, self.w, self.r, self.i = us, w, r, i

    def values(self):
        return (iso(self.us), self.w, f"s{(self.r + self.i) % 97}", self.r, self.i, self.r + self.i * 0.5, f"row {self.i} of {self.r}")


def iso(us):
    return (EPOCH + datetime.timedelta(microseconds=us)).isoformat(timespec="microseconds") + "Z"


def made(rng, w, r, n):
    """n rows of request r, in order or late in one of the ways, or each in another."""
    now = BASE_US + 100 * DAY_US + r * 20000
    mode = rng.choice([*LATE_US, "mixed"])
    late = lambda: rng.randrange(LATE_US[rng.choice([*LATE_US]) if mode == "mixed" else mode] + 1)
    at_once = late() if mode != "mixed" and rng.random() < 0.5 else None
    return [Row(now + i - (late() if at_once is None else at_once), w, r, i) for i in range(n)]


def sql_insert(table, rows):
    return f"insert into {table} ({NAMES}) values " + ",".join("('%s','%s','%s',%d,%d,%r,'%s')" % row.values() for row in rows)


def lines(table, rows):
    return "".join("%s,w=%s,s=%s r=%di,i=%di,v=%r,txt=\"%s\" %d\n" % (table, *row.values()[1:], row.us * 1000) for row in rows)


def csv(rows):
    return NAMES + "\n" + "".join("%s,%s,%s,%d,%d,%r,%s\n" % row.values() for row in rows)


class Asked:
    """A request: so many rows of its number into each of these tables. `never`: it was rolled back."""
    __slots__ = ("r", "kind", "tables", "acked", "never")

    def __init__(self, r, kind, tables):
        self.r, self.kind, self.tables, self.acked, self.never = r, kind, tables, False, False


class Journal:
    """What was asked and what was acknowledged, outside the server. Requests of earlier rounds are settled: what was there of them
    stays, and what was not never comes."""

    def __init__(self, seed):
        self.seed, self.numbers, self.asked, self.first = seed, itertools.count(1), {}, 1
        self.settled = {}  # table: rows, sum of r
        self.streams = {}  # lines over TCP: r: (sent, seen)
        self.acked_rows = 0

    def ask(self, kind, tables):
        a = Asked(next(self.numbers), kind, tables)
        self.asked[a.r] = a
        return a

    def ack(self, a):
        a.acked = True
        self.acked_rows += sum(a.tables.values())

    def rng(self, *what):
        return random.Random(f"{self.seed} {self.first} {what}")

    def settle(self, found):
        """found: {table: {r: rows}} of this round."""
        for table, requests in found.items():
            rows, total = self.settled.get(table, (0, 0))
            self.settled[table] = (rows + sum(requests.values()), total + sum(r * n for r, n in requests.items()))
        self.asked.clear()
        self.streams.clear()
        self.first = next(self.numbers)
