#!/usr/bin/env python3
"""Partitions in Parquet files: no statement sees a difference, and other programs read the files where they are.

Two tables get the same rows and the same changes; the partitions of one are converted, back and forth. After each
step both must answer the same. pyarrow and DuckDB read the converted files in place and must find the rows of the
table. Damage, a failing disk and too little memory are errors that say where and what; readers and writers go on
while partitions change their format.

    cold_test.py [--nightly] [--binary FILE] [NAME...]
"""
import datetime, decimal, os, pathlib, random, subprocess, tempfile, threading, time, uuid

import duckdb
import pyarrow.parquet as pq

from lib.answers import same_value
from lib.checks import Suite, check, ensure
from lib.preload import preloaded
from lib.server import Server

NIGHTLY = False
COLUMNS = """ts timestamp, id long, s symbol, s2 symbol, v varchar, st string, b boolean, by byte, sh short, ch char, i int, l long,
    f float, d double, da date, tn timestamp_ns, u uuid, ip ipv4, l2 long256, g1 geohash(3b), g4 geohash(4c), g12 geohash(12c), bi binary,
    d2 decimal(2,1), d4 decimal(4,2), d9 decimal(9,3), d18 decimal(18,4), d38 decimal(38,5), d76 decimal(76,10), a double[], a2 double[][]"""
# Each value is null in some rows; texts are short and long; the two tables get the same, for nothing here is random.
ROWS = """select ({start} + x * {step})::timestamp, x + {first}, case when x % 7 = 0 then null else 's' || (x % 5)::varchar end::symbol,
    case when x % 1000 < 990 then null else 'rare ' || x::varchar end::symbol,
    case when x % 11 = 0 then null when x % 3 = 0 then 'v' || x::varchar else 'a text that is no short one, with number ' || x::varchar end,
    case when x % 13 = 0 then null else 'String \u00e4 ' || (x % 100)::varchar end, x % 2 = 0, (x % 128)::byte, (x % 30000)::short,
    case when x % 5 = 0 then null else 'x' end::char, case when x % 17 = 0 then null else (x * 31 % 10007)::int end,
    case when x % 19 = 0 then null else x * 1000003 end, case when x % 23 = 0 then null else (x / 8.0)::float end,
    case when x % 29 = 0 then null else x / 7.0 end, case when x % 31 = 0 then null else (x * 86400000)::date end,
    case when x % 37 = 0 then null else (1700000000000000000 + x)::timestamp_ns end,
    case when x % 41 = 0 then null else lpad((x % 100)::varchar, 32, '1')::uuid end, case when x % 43 = 0 then null else ('10.0.' || (x % 200)::varchar || '.7')::ipv4 end,
    case when x % 47 = 0 then null else ('0x' || lpad(x::varchar, 40, '3'))::long256 end, case when x % 53 = 0 then null else 's'::geohash(3b) end,
    case when x % 59 = 0 then null else 'u33d'::geohash(4c) end, case when x % 61 = 0 then null else 'u33d8b1234fe'::geohash(12c) end,
    case when x % 67 = 0 then null else base64_to_binary end,
    case when x % 71 = 0 then null else (x % 99 / 10.0)::decimal(2,1) end, case when x % 73 = 0 then null else (x % 9999 / 100.0)::decimal(4,2) end,
    case when x % 79 = 0 then null else (x % 1000)::decimal(9,3) end, case when x % 83 = 0 then null else x::decimal(18,4) end,
    case when x % 89 = 0 then null else x::decimal(38,5) end, case when x % 97 = 0 then null else x::decimal(76,10) end,
    case when x % 101 = 0 then null else array[x::double, null, 2.5] end, case when x % 103 = 0 then null else array[[x::double, 1.0], [2.0, 3.0]] end
    from long_sequence({n})""".replace("base64_to_binary", "'AQIDBAUGBwgJCgsMDQ4P'::binary")
DAY = 86400 * 10**6
START = 1704067200 * 10**6  # 2024-01-01


def server(**env):
    return Server(env=env)


def make(s, name, n=1500, days=3, dedup=False, start=START, first=0, create=True):
    if create:
        s.exec(f"create table {name} ({COLUMNS}) timestamp(ts) partition by day wal" + (" dedup upsert keys(ts, s)" if dedup else ""))
    s.exec(f"insert into {name} " + ROWS.format(start=start, step=days * DAY // (n + 1), first=first, n=n))


def convert(s, name, to="parquet", where="ts is not null"):
    s.exec(f"alter table {name} convert partition to {to} where {where}")


def formats(s, name):
    return [r[0] for r in s.rows(f"select \"isParquet\" from table_partitions('{name}')")]


def files(s, name):
    table = s.rows(f"select id from tables() where table_name = '{name}'")[0][0]
    return sorted((s.root / "db" / "tables" / str(table)).glob("*.parquet"))


# Ordered where rows could come in any order. Every operator that reads a table in a way of its own is here.
QUERIES = [
    "select * from {t}", "select count() from {t}", "select * from {t} where ts in '2024-01-02'", "select * from {t} where ts between '2024-01-01T23' and '2024-01-02T01'",
    "select min(ts), max(ts), min(id), max(id), sum(id), count(l), sum(l), min(d), max(d), sum(d), sum(f), avg(i) from {t}",
    "select s, count(), sum(d), first(v), last(v), min(i), max(u), sum(d38), last(a) from {t} order by s",
    "select s2, count() from {t} where s2 is not null order by s2", "select * from {t} where s = 's3' and i > 5000", "select * from {t} where s is null limit 20",
    "select ts, count(), sum(d), last(s), max(v) from {t} sample by 5h", "select ts, s, avg(d), first(id) from {t} sample by 7h fill(prev)",
    "select * from {t} latest on ts partition by s", "select * from {t} where i is not null latest on ts partition by s, b",
    "select * from {t} order by ts desc limit 7", "select * from {t} limit -5", "select id, v from {t} order by v, id limit 50",
    "select a.id, b.id, b.v from {t} a asof join {t} b on (s) order by a.id limit 100", "select a.id, b.d from (select * from {t} limit 50) a join {t} b on a.id = b.id order by a.id",
    "select id, sum(d) over (partition by s order by ts rows 5 preceding), row_number() over (partition by b order by ts) from {t}",
    "select d2, d4, d9, d18, d38, d76 from {t} where d9 > 500 order by ts", "select a[1], a2[2][1], dim_length(a, 1) from {t} where a is not null",
    "select count_distinct(v), count_distinct(s), count_distinct(u), approx_count_distinct(id) from {t}", "select g4, count() from {t} order by g4", "select ip, l2, g12, bi, tn, da, ch, by, sh from {t} where id % 97 = 0",
    "select max(length(v)), max(length(st)), min(v), max(st) from {t}", "select distinct ch, b from {t} order by ch, b",
]


def same(s, a="cold", b="native", also=()):
    for q in [*QUERIES, *also]:
        x, y = s.exec(q.format(t=a)), s.exec(q.format(t=b))
        if x["columns"] != y["columns"] or not same_value(x["dataset"], y["dataset"]):
            for k, (p, r) in enumerate(zip(x["dataset"], y["dataset"])):
                ensure(same_value(p, r), f"{q}: row {k} is {str(p)[:400]}, not {str(r)[:400]}")
            raise AssertionError(f"{q}: {len(x['dataset'])} rows, not {len(y['dataset'])}")


def both(s, sql):
    for t in ("cold", "native"):
        s.exec(sql.format(t=t))


# ----------------------------------------------------------------------------------------------- no difference
@check
def changes_of_every_kind():
    with server() as s:
        for t in ("cold", "native"):
            make(s, t)
        convert(s, "cold")
        ensure(all(formats(s, "cold")) and not any(formats(s, "native")), "isParquet")
        same(s)
        for t in ("cold", "native"):  # late rows, in the middle of the first day
            make(s, t, n=200, days=1, start=START + DAY // 2, first=100000, create=False)
        same(s)
        both(s, "update {t} set d = -1, v = 'new ' || v, s = 'brand new' where id % 10 = 3")
        same(s)
        both(s, "delete from {t} where id % 10 = 4")
        same(s)
        ensure(all(formats(s, "cold")), "still Parquet")
        both(s, "alter table {t} add column added int")
        both(s, "update {t} set added = id::int where id % 2 = 0")
        both(s, "alter table {t} drop column st")
        both(s, "alter table {t} add column st varchar")
        both(s, "alter table {t} rename column da to da2")
        both(s, "alter table {t} rename column da2 to da")
        both(s, "alter table {t} alter column i type long")
        more = ["select added, st, i from {t}"]
        same(s, also=more)
        convert(s, "cold")
        same(s, also=more)
        s.kill()
        s.start()
        same(s, also=more)
        convert(s, "cold", where="ts >= '2024-01-02'", to="native")
        ensure(formats(s, "cold") == [True, False, False], f"some: {formats(s, 'cold')}")
        same(s, also=more)
        for action in ("detach", "attach"):
            both(s, "alter table {t} " + action + " partition list '2024-01-01'")
            same(s, also=more)
        both(s, "alter table {t} drop partition list '2024-01-01'")
        same(s, also=more)
        convert(s, "cold")
        both(s, "alter table {t} set ttl 1d")
        make(s, "cold2", n=10)
        both(s, "insert into {t} (ts, id) values ('2024-01-04', 1)")
        same(s, also=more)
        both(s, "truncate table {t}")
        same(s, also=more)
        ensure(files(s, "cold") == [], "files of a table that is empty")


@check
def dedup_and_transactions():
    with server() as s:
        for t in ("cold", "native"):
            make(s, t, dedup=True)
        convert(s, "cold")
        same(s)
        for t in ("cold", "native"):  # the same keys with other values
            make(s, t, first=5000000, dedup=True, create=False)
        same(s)
        ensure(s.rows("select count() from cold") == [[1500]], "rows that replace others")
        convert(s, "cold")
        same(s)
        import psycopg
        with psycopg.connect(s.pg_dsn(), autocommit=True) as c, psycopg.connect(s.pg_dsn(), autocommit=True) as d:
            c.execute("begin")
            c.execute("update cold set d = 7 where id < 5000100")
            d.execute("alter table cold convert partition to native where ts is not null")
            try:
                c.execute("commit")
                raise AssertionError("a commit over parts that are gone")
            except psycopg.errors.SerializationFailure:
                pass
            c.execute("rollback")
            c.execute("begin")
            c.execute("delete from cold where id % 2 = 0")
            c.execute("update cold set v = 'x' where id % 3 = 0")
            c.execute("commit")
        s.exec("delete from native where id % 2 = 0")
        s.exec("update native set v = 'x' where id % 3 = 0")
        same(s)


@check
def other_units_of_partitions():
    with server() as s:
        for by, rows in (("hour", 60), ("week", 500), ("month", 2000), ("year", 20000)):
            for t in ("cold", "native"):
                s.exec(f"create table {t} (ts timestamp_ns, k int, s symbol) timestamp(ts) partition by {by} wal")
                s.exec(f"insert into {t} select (1704067200000000000 + x * 3600000000000)::timestamp_ns, x::int, 'k' || (x % 3)::varchar from long_sequence({rows})")
            names = [r[0] for r in s.rows("select name from table_partitions('cold')")]
            s.exec("alter table cold convert partition to parquet list " + ", ".join(f"'{n}'" for n in names[::2]))
            ensure(formats(s, "cold") == [k % 2 == 0 for k in range(len(names))], by)
            for q in ("select * from {t}", "select s, sum(k), max(ts) from {t} order by s", "select * from {t} latest on ts partition by s"):
                ensure(s.rows(q.format(t="cold")) == s.rows(q.format(t="native")), f"{by}: {q}")
            both(s, "drop table {t}")
        for sql, text in (("alter table nosuch convert partition to parquet list '2024'", "does not exist"),
                          ("alter table n convert partition to parquet list '2024'", "not partitioned")):
            if "table n " in sql:
                s.exec("create table n (k int, ts timestamp) timestamp(ts)")
            try:
                s.exec(sql)
                raise AssertionError(sql)
            except RuntimeError as e:
                ensure(text in str(e), f"{sql}: {e}")


# ----------------------------------------------------------------------------------------------- other programs
def as_value(type_, v):
    """A value of /exec as Python has it from pyarrow."""
    if v is None or type_ == "CHAR" and v == "":
        return None
    utc = datetime.timezone.utc
    if type_ in ("TIMESTAMP", "DATE"):
        return datetime.datetime.fromisoformat(v.replace("Z", "+00:00")).astimezone(utc)
    if type_.startswith("DECIMAL"):
        return decimal.Decimal(v)
    if type_ == "UUID":
        return uuid.UUID(v)
    if type_ == "FLOAT":
        import struct
        return struct.unpack("f", struct.pack("f", v))[0]
    return v


COMPARED = ("TIMESTAMP", "DATE", "LONG", "INT", "SHORT", "BYTE", "BOOLEAN", "SYMBOL", "VARCHAR", "STRING", "CHAR", "DOUBLE", "FLOAT", "UUID", "ARRAY")


@check
def programs_read_the_files_in_place():
    with server() as s:
        make(s, "cold", n=2000)
        want = s.exec("select * from cold")
        convert(s, "cold")
        names = [c["name"] for c in want["columns"]]
        paths = files(s, "cold")
        ensure(len(paths) == 3, f"files {paths}")
        got = [r for p in paths for r in pq.read_table(p).to_pylist()]
        ensure(len(got) == len(want["dataset"]), "rows")
        ensure(pq.read_schema(paths[0]).names == names, "columns")
        compared = 0
        for c, column in enumerate(want["columns"]):
            if column["type"] not in COMPARED and not column["type"].startswith("DECIMAL"):
                continue
            compared += 1
            for k, row in enumerate(want["dataset"]):
                w, g = as_value(column["type"], row[c]), got[k][column["name"]]
                if isinstance(g, datetime.datetime) and g.tzinfo is None:
                    g = g.replace(tzinfo=datetime.timezone.utc)
                ensure(w == g, f"{column['name']}, row {k}: {g!r}, not {w!r}")
        ensure(compared >= 21, f"{compared} columns")
        meta = pq.read_metadata(paths[0])
        ensure(meta.row_group(0).sorting_columns[0].column_index == 0, "sorting columns")
        ensure(meta.row_group(0).column(1).statistics.min == 1, "statistics")
        nulls = sum(pq.read_table(p, columns=["d"])["d"].null_count for p in paths)
        ensure(nulls == s.rows("select count() from cold where d is null")[0][0], "nulls")
        glob = str(paths[0].parent / "*.parquet")
        duck = duckdb.sql(f"select count(*), sum(id), min(epoch_us(ts)), max(v), sum(d38), count(s), sum(a[1]), max(l) from '{glob}'").fetchall()[0]
        own = s.rows("select count(), sum(id), min(ts)::long, max(v), sum(d38), count(s), sum(a[1]), max(l) from cold")[0]
        ensure([float(x) if not isinstance(x, str) else x for x in duck] == [float(x) if k != 3 else x for k, x in enumerate(own)], f"DuckDB {duck}, not {own}")
        s.exec("update cold set v = 'changed' where id = 77")
        s.exec("delete from cold where id = 78")
        deadline = time.monotonic() + 20
        while len(files(s, "cold")) != 3 and time.monotonic() < deadline:  # what was rewritten goes a moment later
            time.sleep(0.05)
        duck = duckdb.sql(f"select id, v from '{str(files(s, 'cold')[0].parent / '*.parquet')}' where id between 77 and 78").fetchall()
        ensure(duck == [(77, "changed")], f"after UPDATE and DELETE: {duck}")


# ----------------------------------------------------------------------------------------------- limits and damage
def fails(s, sql, *words):
    try:
        got = s.rows(sql)
    except RuntimeError as e:
        for w in words:
            ensure(w in str(e), f"{sql}: {e}")
        return
    raise AssertionError(f"{sql}: {str(got)[:200]}")


@check
def damage_is_named_and_stays_alone():
    with server() as s:
        make(s, "cold", n=9000)
        convert(s, "cold")
        path = files(s, "cold")[1]
        chunk = next(c for c in (pq.read_metadata(path).row_group(0).column(k) for k in range(99)) if c.path_in_schema == "l")
        s.stop()
        whole = path.read_bytes()
        at = chunk.data_page_offset + chunk.total_compressed_size // 2
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        s.start()
        fails(s, "select sum(l) from cold where ts in '2024-01-02' and id > 0 and i > 0", path.name, "'l'", "row group 0")
        ensure(s.rows("select count(), sum(id) from cold")[0][0] == 9000, "other columns")
        s.rows("select sum(l) from cold where ts in '2024-01-01' and i > 0")
        fails(s, "alter table cold convert partition to native list '2024-01-02'", path.name)
        s.rows("select sum(l) from cold where ts in '2024-01-03' and i > 0")
        s.stop()
        p = subprocess.run([s.binary, "check", str(s.root)], capture_output=True, text=True)
        ensure(p.returncode != 0 and path.name in p.stdout + p.stderr, f"almanac check: {p.stdout[-500:]}")
        path.write_bytes(whole)
        ensure(subprocess.run([s.binary, "check", str(s.root)], capture_output=True).returncode == 0, "check of a sound directory")
        path.write_bytes(whole[:len(whole) // 2])
        s.start()
        fails(s, "select sum(l) from cold where ts in '2024-01-02' and i > 0", path.name)
        s.rows("select sum(l) from cold where ts in '2024-01-03' and i > 0")


@check
def files_that_are_cut_while_they_are_open():
    with server() as s:
        s.exec("create table cold as (select x a, x * 7 % 1000003 b, 'text number ' || x v, x::timestamp ts from long_sequence(600000)) timestamp(ts) partition by day")
        s.exec("create table whole as (select x a, x::timestamp ts from long_sequence(1000)) timestamp(ts) partition by day")
        convert(s, "cold")
        ensure(s.rows("select sum(a) from cold where a > 0") == [[180000300000]], "sum")
        os.truncate(files(s, "cold")[0], 8192)
        fails(s, "select sum(b) from cold where b > 5", "part file")
        fails(s, "select max(v) from cold", "part file")
        ensure(s.rows("select count() from whole") == [[1000]], "another table")
        s.kill()


@check
def memory_has_a_bound():
    n = 400000
    env = {"ALMANAC_STORAGE_PARQUET_MEMORY_MAX": "4m", "ALMANAC_SHARED_WORKER_COUNT": "2"}
    with server(**env, ALMANAC_QUERY_SPILL_MAX="1g") as s:
        for t in ("cold", "native"):
            s.exec(f"create table {t} as (select x a, x * 7 % 1000003 b, 'text number ' || x v, (x * 1000)::timestamp ts from long_sequence({n})) timestamp(ts) partition by hour")
        convert(s, "cold")
        for q in ("select sum(a), sum(b), max(v), count_distinct(b) from {t} where a > 0", "select * from {t} where b % 1000 = 7", "select a, b from {t} order by b limit 10"):
            ensure(s.rows(q.format(t="cold")) == s.rows(q.format(t="native")), q)
        left = list((s.root / "db" / "spill").glob("*")) if (s.root / "db" / "spill").exists() else []
        ensure(left == [], f"temporary files {left}")
        s.stop()
        s.env = {**env, "ALMANAC_QUERY_SPILL_MAX": "0"}
        s.start()
        fails(s, "select sum(a), sum(b), max(v) from cold where a > 0 and b > 0", "storage.parquet.memory.max", "query.spill.max")
        ensure(s.rows("select count() from cold") == [[n]], "a count needs no decoding")
        ensure(s.rows("select a from cold limit 3") == [[1], [2], [3]], "a small query")


@check
def a_disk_that_fails():
    with tempfile.TemporaryDirectory() as d:
        so, switch = preloaded(d, "io_fault"), pathlib.Path(d) / "switch"
        switch.write_bytes(b"-")
        with server(LD_PRELOAD=str(so), IO_FAULT_FILE=str(switch)) as s:
            make(s, "cold", n=20000)
            before = s.rows("select count(), sum(id), max(v) from cold")
            s.exec("alter table cold convert partition to native where ts is not null")  # out of memory, into files
            switch.write_bytes(b"w")
            fails(s, "alter table cold convert partition to parquet where ts is not null", "nput/output error")
            ensure(s.rows("select count(), sum(id), max(v) from cold") == before and files(s, "cold") == [], "after it")
            s.kill()
            switch.write_bytes(b"-")
            s.start()
            convert(s, "cold")
            ensure(s.rows("select count(), sum(id), max(v) from cold") == before and len(files(s, "cold")) == 3, "on a sound one")


# ----------------------------------------------------------------------------------------------- at the same time
@check
def readers_and_writers_go_on():
    seconds = 20 if NIGHTLY else 3
    with server(ALMANAC_STORAGE_PARQUET_MEMORY_MAX="2m") as s:
        s.exec("create table cold (ts timestamp, k long, s symbol, v varchar) timestamp(ts) partition by hour wal")
        s.exec("insert into cold select (x * 100000)::timestamp, x, 's' || (x % 9)::varchar, 'value ' || x::varchar from long_sequence(200000)")
        stop, problems, done = threading.Event(), [], {"read": 0, "convert": 0, "write": 0}

        def loop(what, f):
            try:
                while not stop.is_set():
                    f()
                    done[what] += 1
            except Exception as e:
                problems.append(f"{what}: {e}")

        def read():
            n, total, texts, last = s.rows("select count(), sum(k), sum(length(v)), max(k) from cold where k >= 0")[0]
            ensure(total == n * (n + 1) // 2 and last == n, f"{n} rows, sum {total}, last {last}")

        rng = random.Random(5)

        def change():
            to = rng.choice(["parquet", "parquet", "native"])
            hour = rng.randrange(6)
            s.exec(f"alter table cold convert partition to {to} where ts >= '1970-01-01T0{hour}'")

        written = [200000]

        def write():
            first = written[0]
            s.exec(f"insert into cold select ((x * 7919 % 200000) * 100000)::timestamp, x + {first}, 's' || (x % 9)::varchar, 'late ' || x::varchar from long_sequence(50)")
            written[0] += 50

        threads = [threading.Thread(target=loop, args=a, daemon=True) for a in (("read", read), ("read", read), ("convert", change), ("write", write))]
        for t in threads:
            t.start()
        stop.wait(seconds)
        stop.set()
        for t in threads:
            t.join(60)
        ensure(not problems, "; ".join(problems)[:1000])
        ensure(all(n > 3 for n in done.values()), f"{done}")
        s.kill()
        s.start()
        ensure(s.rows("select count() from cold") == [[written[0]]], "rows after a restart")


def main():
    global NIGHTLY
    suite = Suite(__doc__)
    NIGHTLY = suite.o.nightly
    suite.checks()
    suite.close()


if __name__ == "__main__":
    main()
