#!/usr/bin/env python3
"""Random queries over random tables, answered by this server in several ways and by DuckDB.

    differential.py [--binary FILE] [--nightly] [--seed N] [--queries N] [--only N] [--keep-going N]

Each round makes tables from its seed (types, nulls, duplicates, late rows, several partitions, updates,
deletes) and asks each query of
  - a server with four workers, tables in partitions, some in Parquet files, rows come late and in pieces;
  - a server with one worker, the same rows in one part each, written once, and in two of three rounds
    without some or without any rules of the optimizer;
  - DuckDB, where the dialects meet (generate.py writes each query for both).
Then the first server is killed and started with one worker: what it answered before it must answer
again, bit for bit. A difference prints seed and number: --seed N --only K asks that one again.
Differences that are known and right are rows of EXPLAINED, with the reason.
"""
import argparse, collections, datetime, decimal, hashlib, json, math, random, re, sys, threading, time, urllib.parse

import duckdb

import beyond, generate
from lib import pgclient
from lib.checks import given, print_again
from lib.server import TOP, Server



def unasked(a, d, got, other):
    errors = [x for x in (got, other) if isinstance(x, str)]
    return " z where " in a and d is not None and "error(" in d and len(errors) == 1 and re.search("out of range|the range of LONG|inconvertible value|no TIMESTAMP_NS", errors[0])


# (condition on both statements and both answers, reason)
EXPLAINED = [(unasked, "a filter above leaves out what nobody asks for, and with it the error that it would be: which plan computes it is not said")]

WANTED_ERRORS = re.compile("LONG out of range|INT out of range|no TIMESTAMP_NS")  # of the macros in beyond.py
DUCK_SECONDS = 10
MACROS = """
create macro floor_ts(t, us) as make_timestamp(epoch_us(t) - ((epoch_us(t) % us) + us) % us);
create macro trunc_div(a, b) as (a - (a % b)) // b;
"""


class Rows(list):
    def __init__(self, rows, types):
        super().__init__(rows)
        self.types = types


class Asker:
    """One kept connection for queries: a request each."""

    def __init__(self, server):
        import http.client
        host, port = server.http.rsplit(":", 1)
        self.c = http.client.HTTPConnection(host, int(port), timeout=120)

    def __call__(self, sql):
        self.c.request("GET", "/exec?" + urllib.parse.urlencode({"query": sql, "timings": "false"}))
        r = self.c.getresponse()
        body = r.read()
        answer = json.loads(body)
        if "dataset" in answer:
            return Rows(answer["dataset"], [c["type"] for c in answer["columns"]])
        return f"error: {answer.get('error', answer)}"


def plain(v):
    """A value of DuckDB as JSON of this server has it."""
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, float):
        return v if math.isfinite(v) else None
    if isinstance(v, decimal.Decimal):
        return str(v)
    if isinstance(v, datetime.datetime):
        return v.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
    return str(v)


def same(a, b):
    if a == b and isinstance(a, bool) == isinstance(b, bool):
        return True
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool) and not isinstance(b, bool):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return False


def sort_key(row):
    return [(v is not None, str(type(v)) if not isinstance(v, (int, float)) else "n", round(v, 6) if isinstance(v, float) else v) if v is not None else (False, "", 0)
            for v in row]


def as_float(v):
    return float("%.6g" % v) if isinstance(v, (int, float)) else v


def differ(got, want, ordered):
    """None, or where they differ."""
    if isinstance(got, Rows) and "FLOAT" in got.types and not isinstance(want, str):  # written with the digits a float has
        at = [k for k, t in enumerate(got.types) if t == "FLOAT"]
        got, want = ([[as_float(v) if k in at else v for k, v in enumerate(row)] for row in rows] for rows in (got, want))
    if isinstance(got, str) or isinstance(want, str):
        return None if isinstance(got, str) and isinstance(want, str) else f"{str(got)[:300]} <> {str(want)[:300]}"
    if len(got) != len(want):
        return f"{len(got)} rows, want {len(want)}: {got[:3]} <> {want[:3]}"
    if not ordered:
        got, want = sorted(got, key=sort_key), sorted(want, key=sort_key)
    for k, (x, y) in enumerate(zip(got, want)):
        if len(x) != len(y) or not all(map(same, x, y)):
            if not ordered and multiset_equal(got, want):
                return None
            return f"row {k}: {x} <> {y}"
    return None


def multiset_equal(got, want):
    """Rounding may have put close rows in another order."""
    left = list(want)
    for row in got:
        for k, other in enumerate(left[:50]):
            if all(map(same, row, other)):
                del left[k]
                break
        else:
            return False
    return True


def digest(rows, ordered):
    """Short texts as they are; the order of rows counts where the query gives one."""
    lines = [json.dumps(r) for r in rows] if not isinstance(rows, str) else [rows]
    text = "\n".join(lines if ordered else sorted(lines))
    return text if len(text) < 500 else f"{len(lines)} rows, {hashlib.sha256(text.encode()).hexdigest()}"


class Found(list):
    def append(self, text):
        print(text, flush=True)
        super().append(text)


class Round:
    def __init__(self, seed, binary, options):
        self.seed, self.options = seed, options
        rng = random.Random(seed)
        self.tables = generate.make_tables(rng)
        self.duck = duckdb.connect(config={"memory_limit": "2GB", "max_temp_directory_size": "0B"})
        self.duck.execute("set error_on_division_by_zero = false" if duckdb.__version__ >= "1.5" else "select 1")
        self.duck.execute("set threads = 1")
        self.duck.execute("set memory_limit = '1GB'")
        self.duck.execute(MACROS)
        self.many = Server(binary=binary, env={"ALMANAC_SHARED_WORKER_COUNT": "4", "ALMANAC_WAL_SYNC": "off"})
        rules = [m[1] for m in re.finditer(r"^ALM_RULE\((\w+)", (TOP / "src/sql/opt/opt.def").read_text(), re.M)]
        rules = [name for name in rules if name not in ("nulls", "overflow")]  # these decide what is computed
        off = [[], rules, rng.sample(rules, rng.randint(1, 4))][seed % 3]
        self.one = Server(binary=binary, env={"ALMANAC_SHARED_WORKER_COUNT": "1", "ALMANAC_WAL_SYNC": "off",
                                              "ALMANAC_DEBUG_OPTIMISER_OFF": ",".join(off)})
        self.many.start()
        self.one.start()
        self.fill(rng)
        self.answers, self.kinds = [], collections.Counter()

    def fill(self, rng):
        cold = random.Random(f"cold {self.seed}")  # the rounds stay what they are
        wire, other = pgclient.Wire(self.many.pg), pgclient.Wire(self.one.pg)
        for t in self.tables:
            self.duck.execute(generate.create(t, True))
            wire.rows(generate.create(t, False))
            other.rows(generate.create(t, False, one_part=True))
            for sql in generate.inserts(t, True, 1):
                self.duck.execute(sql)
            for sql in generate.inserts(t, False, rng.randint(1, 7), rng):
                wire.rows(sql)
                if t.partition != "none" and cold.random() < 0.4:
                    to = "native" if cold.random() < 0.2 else "parquet"
                    wire.rows(f"alter table {t.name} convert partition to {to} where ts < '2024-01-{cold.randint(2, 28):02}'")
            if t.rows or t.big:
                self.change(t, rng, wire)
            if t.big:
                for sql in generate.inserts(t, False, 1):
                    other.rows(sql)
                for sql in self.changes:
                    other.rows(sql)
            else:
                self.copy(t, other)
        beyond.fill(self.seed, self.duck, [(wire, self.many.root, True), (other, self.one.root, False)])
        wire.close()
        other.close()

    def change(self, t, rng, wire):
        """Updates and deletes of both."""
        g = generate.Gen(rng, [x for x in self.tables if not x.big])
        src = generate.Source(t.name, t.name, [generate.Column(c[0], c[1], c[0], c[0], 500) for c in t.columns], t.unique, 0)
        self.changes = []
        for _ in range(rng.randint(0, 3)):
            c = g.compare(rng.choice(["=", "<", ">"]), g.column(src, "int"), g.literal("int"))
            if rng.random() < 0.6:
                col = rng.choice([k for k in src.columns if k.name in ("i", "l", "d", "s", "sym")])
                v = g.literal(col.t)
                v = generate.E(v.t, "null", "null") if rng.random() < 0.2 else v
                a, d = f"update {t.name} set {col.name} = {v.a} where {c.a}", f"update {t.name} set {col.name} = {v.d} where {c.d}"
            else:
                extra = g.compare("=", generate.E("int", "id % 3", "id % 3"), generate.E("int", "1", "1"))
                a, d = f"delete from {t.name} where {c.a} and {extra.a}", f"delete from {t.name} where {c.d} and {extra.d}"
            wire.rows(a)
            self.duck.execute(d)
            self.changes.append(a)

    def copy(self, t, wire):
        """The rows as they are now, in one INSERT in order."""
        names = [c[0] for c in t.columns]
        rows = self.duck.execute(f"select {', '.join(names)} from {t.name} order by ts, id").fetchall()
        if not rows:
            return

        def cell(name, v):
            if isinstance(v, datetime.datetime):
                return "'" + v.strftime("%Y-%m-%dT%H:%M:%S.%fZ") + "'"
            return generate.cell(name, v if v is None or isinstance(v, (int, float)) else str(v), False)

        values = ", ".join("(" + ", ".join(map(cell, names, r)) + ")" for r in rows)
        wire.rows(f"insert into {t.name} values {values}")

    def query(self, k):
        gen = beyond.Gen(random.Random(f"{self.seed}/{k}"), self.tables)
        asked = gen.query()
        self.kinds.update(gen.tags)
        return asked

    def ask_duck(self, sql):
        """Rows, the text of an error, or None if it takes too long."""
        timer = threading.Timer(DUCK_SECONDS, self.duck.interrupt)
        timer.start()
        try:
            return [[plain(v) for v in row] for row in self.duck.execute(sql).fetchall()]
        except duckdb.InterruptException:
            return None
        except duckdb.Error as e:
            return None if "memory" in str(e).lower() else f"error: {e}"
        finally:
            timer.cancel()

    def run(self, numbers):
        """Differences found, as texts, [] if all is well; how many are explained, errors everywhere, too slow for DuckDB."""
        many, one = Asker(self.many), Asker(self.one)
        found, explained, errors, skipped = Found(), 0, 0, 0
        for k in numbers:
            shape, a, d, ordered = self.query(k)
            try:
                got = many(a)
                mine = one(a)
            except Exception as e:
                found.append(f"seed {self.seed} only {k} ({shape}): no answer: {type(e).__name__} {e}\n  {a}")
                try:
                    if self.many.process.poll() is not None:
                        self.many.start()
                    if self.one.process.poll() is not None:
                        self.one.start()
                except RuntimeError:
                    return found, explained, errors, skipped
                many, one = Asker(self.many), Asker(self.one)
                continue
            if self.options.only is not None:
                print(a, "\n", d, "\n", "many", got if isinstance(got, str) else got[:10], "\n", "one", mine if isinstance(mine, str) else mine[:10])
            self.answers.append((a, digest(got, ordered), ordered))
            why = differ(got, mine, ordered)
            if why and any(rule(a, d, got, mine) for rule, _ in EXPLAINED):
                explained += 1
                continue
            if why:
                found.append(f"seed {self.seed} only {k} ({shape}): four workers <> one, rules off: {self.one.env['ALMANAC_DEBUG_OPTIMISER_OFF'] or 'none'}\n  {a}\n  {why}")
                continue
            if d is None:
                if isinstance(got, str):
                    errors += 1
                    found.append(f"seed {self.seed} only {k} ({shape}): {got}\n  {a}")
                continue
            want = self.ask_duck(d)
            if want is None:
                skipped += 1
                continue
            if self.options.only is not None:
                print(" duck", want if isinstance(want, str) else want[:10])
            why = differ(got, want, ordered)
            if isinstance(got, str) and isinstance(want, str):
                errors += 1
                if not WANTED_ERRORS.search(want):  # the generator wrote what nobody understands
                    found.append(f"seed {self.seed} only {k} ({shape}): an error everywhere\n  {a}\n  {d}\n  {got[:300]}\n  {want[:300]}")
            if why:
                if any(rule(a, d, got, want) for rule, _ in EXPLAINED):
                    explained += 1
                else:
                    found.append(f"seed {self.seed} only {k} ({shape}): here <> DuckDB\n  {a}\n  {d}\n  {why}")
        return found, explained, errors, skipped

    def again(self):
        """After kill -9, with one worker: the same bytes."""
        self.many.kill()
        self.many.env["ALMANAC_SHARED_WORKER_COUNT"] = "1"
        self.many.start()
        ask, found = Asker(self.many), Found()
        for a, want, ordered in self.answers:
            got = ask(a)
            if digest(got, ordered) != want:
                found.append(f"seed {self.seed}: after kill -9 and a start with one worker\n  {a}\n  {str(got)[:400]} <> {want[:400]}")
        return found

    def close(self):
        self.many.__exit__(1, None, None)
        self.one.__exit__(1, None, None)
        self.duck.close()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary")
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--seed", type=int)
    ap.add_argument("--queries", type=int)
    ap.add_argument("--per-round", type=int, default=400)
    ap.add_argument("--only", type=int)
    o = ap.parse_args()
    total = o.queries or (20000 if o.nightly else 400)
    seed = o.seed if o.seed is not None else (int(time.time()) if o.nightly else 1)
    passed, explained, errors, skipped, failures, done, kinds = 0, 0, 0, 0, [], 0, collections.Counter()
    while done < total:
        n = min(o.per_round, total - done)
        numbers = [o.only] if o.only is not None else range(n)
        r = Round(seed, o.binary, o)
        try:
            found, e, x, skip = r.run(numbers)
            if o.only is None:
                found += r.again()
        finally:
            r.close()
        kinds += r.kinds
        explained, errors, skipped = explained + e, errors + x, skipped + skip
        passed += len(numbers) - len({f.split("\n")[0] for f in found})
        failures += found
        for k in sorted({int(m[1]) for m in (re.match(r"seed \d+ only (\d+) ", f) for f in found) if m}):
            print_again(*given(ap, o, leave=("seed", "only", "queries", "nightly")), "--seed", str(seed), "--only", str(k))
        print(f"seed {seed}: {len(numbers)} queries, {len(found)} differ", flush=True)
        if o.only is not None:
            break
        done += n
        seed += 1
    print(f"last seed {seed}: {explained} differences explained, {errors} queries are errors everywhere, {skipped} too slow for DuckDB")
    print("of kinds: " + ", ".join(f"{name} {n}" for name, n in sorted(kinds.items())))
    if o.only is None and total >= 400:
        failures += [f"no query of kind {name}" for name in beyond.KINDS if not kinds[name]]
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
