#!/usr/bin/env python3
"""What clients of PostgreSQL ask by themselves: the statements of drivers and tools, and psql's commands.

    catalog_test.py [--preset NAME | --binary FILE] [--record]

pg/catalog.case holds the statements, as the clients send them, with their answers: `=== client`, the
statement, `--- N rows`, the first rows as JSON (texts as on the wire). `--- some rows`: their number
grows with the catalogue. --record writes the answers anew; read the difference before it is kept.
"""
import json, os, pathlib, re, shutil, subprocess

from lib.checks import Suite, ensure, expect
from lib.pgclient import SYNC, Wire, bind, cells, describe, execute, fields, parse, query
from lib.server import Server

HERE = pathlib.Path(__file__).resolve().parent

CASES = HERE / "catalog.case"
SHOWN = 3
SETUP = ["create table trades (symbol symbol index, price double, n long, v varchar, c char, ts timestamp) "
         "timestamp(ts) partition by day",
         "insert into trades values ('a', 1.5, 1, 'x', 'c', '2024-01-01T00:00:00')",
         "create view cheap as (select symbol, price from trades where price < 10)",
         "create materialized view hourly refresh manual deferred as (select ts, sum(price) p from trades sample by 1h)"]

# psql command: what must stand in its answer
COMMANDS = {
    r"\d": [r"public \| trades *\| table +\| admin", r"public \| cheap *\| view +\| admin"],
    r"\dt": [r"public \| trades *\| table \| admin"],
    r"\dt+": [r"trades", r"permanent"],
    r"\d trades": [r"symbol \| character varying", r"price +\| double precision", r"n +\| bigint", r"c +\| character\(1\)",
                   r"ts +\| timestamp without time zone", r'"trades_symbol_idx" btree \(symbol\)'],
    r"\di": [r"trades_symbol_idx \| index \| admin \| trades"],
    r"\l": [r"qdb +\| admin \| UTF8"],
    r"\du": [r"admin +\| Superuser"],
    r"\dn": [r"public \| admin"],
    r"\dn+": [r"public \| admin"],
    r"\df": [r"0 rows"],
    r"\dT": [r"0 rows"],
    r"\dfS": [r"pg_catalog \| abs +\| double precision +\| double precision +\| func"],
    r"\df abs*": [r"pg_catalog \| abs +\| bigint +\| bigint +\| func"],
    r"\df+ abs": [r"immutable"],
    r"\dfn": [r"0 rows"],
    r"\da sum": [r"pg_catalog \| sum +\| double precision +\| double precision"],
    r"\dfw row_number": [r"row_number.*window"],
    r"\dv": [r"public \| cheap +\| view +\| admin"],
    r"\dv+": [r"cheap"],
    r"\dm": [r"public \| hourly +\| materialized view +\| admin"],
    r"\d cheap": [r'View "public.cheap"', r"symbol \| character varying", r"price +\| double precision"],
    r"\d+ cheap": [r"View definition:", r"select symbol, price from trades where price < 10;"],
    r"\d+ hourly": [r'Materialized view "public.hourly"', r"select ts, sum\(price\) p from trades sample by 1h;"],
    r"\d+ trades": [r"symbol \| character varying", r"ts +\| timestamp without time zone", r'"trades_symbol_idx" btree \(symbol\)'],
    r"\sv cheap": [r"CREATE OR REPLACE VIEW public.cheap AS", r"select symbol, price from trades where price < 10"],
    r"\di+": [r"trades_symbol_idx"],
    r"\l+": [r"qdb"],
    r"\z": [r"public \| trades"],
    r"\dd": [r"0 rows"],
    r"\dy": [r"0 rows"],
    r"\dTS float8": [r"double precision"],
    r"\dconfig server_version": [r"14.0"],
    r"\dFp": [r"0 rows"],
    r"\dFt": [r"0 rows"],
    r"\dRp": [r"Did not find|0 rows"],
    r"\ddp": [r"0 rows|Did not find"],
    r"\dL+": [r"List of languages"],
    r"\dp": [r"public \| trades"],
    r"\db": [r"pg_default \| admin"],
    r"\dx": [r"0 rows"],
    r"\dS": [r"pg_catalog \| pg_class +\| table"],
    r"\d pg_class": [r"relname +\| character varying"],
    r"\dC": [r"List of casts"],
    r"\dL": [r"List of languages"],
    r"\dA": [r"heap"],
    r"\drds": [r"Did not find"],
}


def read():
    for block in re.split(r"^=== ", CASES.read_text(), flags=re.M)[1:]:
        name, rest = block.split("\n", 1)
        sql, answer = re.split(r"^--- ", rest, flags=re.M)
        count, *rows = answer.strip().split("\n")
        yield name, sql.strip(), count.split()[0], [json.loads(r) for r in rows]


def run(w, sql, extended):
    w.send(*([parse("", sql), bind(), describe("P"), execute(), SYNC] if extended else [query(sql)]))
    rows = []
    for kind, body in w.until_ready():
        if kind == "E":
            raise AssertionError(fields(body)["M"])
        if kind == "D":
            rows.append([None if c is None else c.decode() for c in cells(body)])
    return rows


def same(w, rows, sql, count, want):
    expect(run(w, sql, True), rows, "the prepared statement")
    first = rows[:len(want)] if count == "some" else rows[:SHOWN]
    ensure(first == want and count in ("some", str(len(rows))), f"{len(rows)} rows {first}, want {count} rows {want}")


def statement(w, sql, count, want, record):
    """One case, or its new text."""
    rows = run(w, sql, False)
    if record is None:
        return same(w, rows, sql, count, want)
    shown = rows[:0 if "version()" in sql else SHOWN]
    record.append(f"--- {count if count == 'some' else len(rows)} rows\n" + "".join(json.dumps(r) + "\n" for r in shown))


def statements(suite, s):
    out = ""
    w = Wire(s.pg)
    for sql in SETUP:
        run(w, sql, False)
    for name, sql, count, want in read():
        record = [f"=== {name}\n{sql}\n"] if suite.o.record else None
        if suite.wants(name):
            suite.one(name, statement, w, sql, count, want, record)
        out += "".join(record or ()) + "\n"
    if suite.o.record:
        CASES.write_text(out)


def commands(suite, s):
    psql = shutil.which("psql")
    if psql is None:
        print("skipped: psql: not installed")
        return
    host, port = s.pg.rsplit(":", 1)
    env = {**os.environ, "PGHOST": host, "PGPORT": port, "PGUSER": "admin", "PGPASSWORD": "quest", "PGDATABASE": "qdb",
           "PSQLRC": "/dev/null"}
    for command, wanted in COMMANDS.items():
        if not suite.wants(f"psql {command}"):
            continue
        p = subprocess.run([psql, "-c", command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=60)
        missing = [w for w in wanted if re.search(w, p.stdout) is None]
        suite.that(not missing and "ERROR" not in p.stdout, f"psql {command}", f"lacks {missing}\n{p.stdout[-1500:]}")


def main():
    suite = Suite(__doc__, add=lambda parser: parser.add_argument("--record", action="store_true"))
    with Server(binary=suite.o.binary, preset=suite.o.preset) as s:
        statements(suite, s)
        commands(suite, s)
    suite.close()


if __name__ == "__main__":
    main()
