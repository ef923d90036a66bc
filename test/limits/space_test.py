#!/usr/bin/env python3
"""What tables take on the disk, as `du` counts it, beside the bytes of their rows: wide tables of which each row sets few columns, tables of many
small partitions; and that what takes no bytes is read, changed, merged, converted and backed up as it was written.

    space_test.py [NAME...]
"""
import pathlib, subprocess, tempfile, urllib.request

from lib.checks import check, ensure, main_alone
from lib.server import Server

COLUMNS, HOURS, SET = 1000, 1000, 5
HOUR_US = 3600 * 1000000
FILE_BYTES, PARTITION_BYTES = 4096, 1024  # the least that a file takes on most file systems; what a partition may take beside three times its rows
# Columns of every type that a column may have: a value, and what a column without values reads as.
TYPES = {"boolean": ("true", False), "byte": ("7", 0), "short": ("-7", 0), "char": ("'x'", ""), "int": ("1", None), "long": ("0", None), "float": ("0.5", None),
         "double": ("0.0", None), "date": ("'2024-01-01'", None), "timestamp": ("'2024-01-01'", None), "symbol": ("'a'", None), "string": ("''", None),
         "varchar": ("'a text that is longer than a view'", None), "uuid": ("'11111111-1111-1111-1111-111111111111'", None), "ipv4": ("'1.2.3.4'", None),
         "long256": ("'0x01'", ""), "geohash(5c)": ("#u33d8", None), "decimal(30,2)": ("1.25m", None), "double[]": ("array[1.0]", None)}


def server(**env):
    return Server(env=env)


def on_disk(root):
    """Bytes of the files and folders of the tables; the log has its own place."""
    return sum(f.lstat().st_blocks * 512 for f in pathlib.Path(root, "db", "tables").rglob("*"))


def wide_lines():
    """One row per hour; each sets five of the columns, and in the end all columns have values."""
    for h in range(HOURS):
        first = h * SET % COLUMNS
        yield "wide " + ",".join(f"c{first + k}={h}.5" for k in range(SET)) + f" {h * HOUR_US * 1000}"


def send(s, lines):
    with urllib.request.urlopen(urllib.request.Request(s.url + "/write", data="\n".join(lines).encode() + b"\n", method="POST"), timeout=600) as r:
        ensure(r.status == 204, f"lines: {r.status}")


def to_parts(s, table, ts="ts"):
    """What changes rows writes those in memory to parts first."""
    s.exec(f"delete from {table} where {ts} < '1900'", timeout=600)


@check
def a_wide_table_of_small_partitions():
    with server(ALMANAC_QUERY_TIMEOUT="600s") as s:
        s.exec("create table wide (timestamp timestamp) timestamp(timestamp) partition by hour")
        send(s, list(wide_lines()))
        to_parts(s, "wide", "timestamp")
        rows_bytes = HOURS * (8 + SET * 8)
        took = on_disk(s.root)
        print(f"    {HOURS} rows of {rows_bytes} bytes in {HOURS} partitions take {took} bytes")
        ensure(took <= 3 * rows_bytes + HOURS * PARTITION_BYTES, f"{HOURS} rows of {rows_bytes} bytes take {took}")
        want = [[HOURS * SET // COLUMNS, sum(h + 0.5 for h in range(0, HOURS, COLUMNS // SET))]]
        ensure(s.rows("select count(c3), sum(c3) from wide") == want, "values of one column")
        ensure(s.rows("select count() from wide where c999 is null") == [[HOURS - HOURS * SET // COLUMNS]], "rows without a value")
        ensure(s.rows("select c0, c4, c5, c999 from wide where timestamp = '1970-01-01T00:00:00Z'") == [[0.5, 0.5, None, None]], "one row")
        s.exec("scrub table wide")
        s.stop()
        p = subprocess.run([s.binary, "check", str(s.root)], capture_output=True, text=True)
        ensure(p.returncode == 0, f"check: {p.stdout}")


@check
def a_load_of_more_partitions_than_are_buffered():
    """Parts that are written early, to make room for rows of others, share files, too."""
    partitions = 12000
    with server() as s:
        s.exec(f"create table t as (select x, dateadd('h', x::int, '2000-01-01') ts from long_sequence({partitions})) timestamp(ts) partition by hour", timeout=600)
        took = on_disk(s.root)
        ensure(took <= partitions * (3 * 16 + PARTITION_BYTES), f"{partitions} partitions of one row take {took}")
        ensure(s.rows("select count(), sum(x) from t where x > 0") == [[partitions, partitions * (partitions + 1) // 2]], "the rows")


@check
def columns_without_values():
    """A table has as many bytes with columns of nulls as without them."""
    with server() as s:
        rows = "select x::timestamp ts, x from long_sequence(100000)"
        s.exec(f"create table few as ({rows}) timestamp(ts) partition by day")
        before = on_disk(s.root)
        nulls = ", ".join(f"null::double n{k}" for k in range(200))
        s.exec(f"create table wide as (select x::timestamp ts, x, {nulls} from long_sequence(100000)) timestamp(ts) partition by day")
        more = on_disk(s.root) - before
        ensure(more <= before + 3 * FILE_BYTES, f"200 columns of nulls take {more - before} bytes")
        ensure(s.rows("select count(), count(n7), sum(n7), min(n199), max(x) from wide") == [[100000, 0, None, None, 100000]], "aggregates")
        ensure(s.rows("select n7 is null b, count() from wide where n7 is null and n8 = n9") == [[True, 100000]], "conditions")


def types_table(s, name, values):
    """Two partitions: rows of the first have nothing but nulls, or only the first row of it has values."""
    columns = ", ".join(f"c{k} {t}" for k, t in enumerate(TYPES))
    s.exec(f"create table {name} ({columns}, k int, ts timestamp) timestamp(ts) partition by day wal")
    names = ", ".join(f"c{k}" for k in range(len(TYPES)))
    if values:
        s.exec(f"insert into {name} ({names}, k, ts) values ({', '.join(v for v, _ in TYPES.values())}, 1, '2024-01-01')")
    s.exec(f"insert into {name} (k, ts) values (2, '2024-01-01T01:00:00Z'), (3, '2024-01-02')")
    to_parts(s, name)


MISSING = [missing for _, missing in TYPES.values()]


@check
def every_type_reads_as_it_was_written():
    with server() as s:
        for values in (False, True):
            name = f"t{int(values)}"
            types_table(s, name, values)
            at = f"select * from {name} where k = "
            ensure(s.rows(at + "3") == [MISSING + [3, "2024-01-02T00:00:00.000000Z"]], f"{name}: a partition without values: {s.rows(at + '3')}")
            ensure(s.rows(at + "2")[0][:-2] == MISSING, f"{name}: a row without values")
            whole = s.rows(f"select * from {name}")
            for sql in (f"alter table {name} convert partition to parquet where ts > 0", f"alter table {name} convert partition to native where ts > 0",
                        f"insert into {name} (k, ts) values (2, '2024-01-01T01:00:00Z')", f"delete from {name} where k = 1",
                        f"alter table {name} squash partitions"):
                before = s.rows(f"select * from {name}")
                s.exec(sql)
                to_parts(s, name)
                after = s.rows(f"select * from {name}")
                if sql.startswith("insert"):
                    ensure(after == sorted(before + before[-2:-1], key=lambda r: r[-1]), sql)
                elif sql.startswith("delete"):
                    ensure(after == [r for r in before if r[-2] != 1], sql)
                else:
                    ensure(after == before, sql)
            ensure(len(whole) == 2 + values, "rows")


@check
def updates_to_null_hide_what_was_there():
    with server() as s:
        types_table(s, "t", True)
        for k, (value, missing) in enumerate(TYPES.values()):
            null = "null" if missing in (None, "") else str(missing).lower()
            ensure(s.rows(f"select c{k} from t where k = 1")[0][0] != missing, f"c{k} has no value")
            s.exec(f"update t set c{k} = {null} where k < 3")
            ensure(s.rows(f"select c{k} from t") == [[missing]] * 3, f"c{k} = {null}")
        s.exec("update t set c4 = null, c5 = null, c6 = 2")  # one file for three columns
        ensure(s.rows("select c4, c5, c6 from t") == [[None, None, 2.0]] * 3, "an overlay of which two columns are null")
        s.exec("update t set c4 = 9 where k = 2")
        ensure(s.rows("select c4 from t") == [[None], [9], [None]], "a value again")
        s.exec("alter table t squash partitions")
        ensure(s.rows("select c4, c5, c6 from t") == [[None, None, 2.0], [9, None, 2.0], [None, None, 2.0]], "merged")
        s.stop()
        s.start()
        ensure(s.rows("select c4, c5, c6 from t") == [[None, None, 2.0], [9, None, 2.0], [None, None, 2.0]], "after a restart")


@check
def the_last_row_of_no_symbol():
    with server() as s:
        s.exec("create table t (s symbol, x int, ts timestamp) timestamp(ts) partition by day wal")
        s.exec("insert into t values ('a', 1, '2024-01-01'), (null, 2, '2024-01-02'), (null, 3, '2024-01-02T01:00:00Z'), ('b', 4, '2024-01-03')")
        to_parts(s, "t")
        ensure(s.rows("select s, x from t latest on ts partition by s") == [["a", 1], [None, 3], ["b", 4]], "LATEST ON")
        ensure(s.rows("select s, x from t where ts < '2024-01-02T00:30:00Z' latest on ts partition by s") == [["a", 1], [None, 2]], "of half a part")
        ensure(s.rows("select x from t where s is null latest on ts partition by s") == [[3]], "of null")


@check
def the_log_has_what_was_written():
    """Columns that the lines do not name are not in the log; a restart from the log alone has the same rows."""
    with server() as s:
        s.exec("create table wide (timestamp timestamp) timestamp(timestamp) partition by hour")
        send(s, list(wide_lines()))
        types_rows = "select sum(c0), count(c0), sum(c999), count() from wide"
        want = s.rows(types_rows)
        s.stop(9)
        s.start()
        ensure(s.rows(types_rows) == want, "rows of the log")
        for k in range(3):
            s.exec(f"insert into wide (timestamp) values ('1980-01-0{k + 1}')")
        s.stop(9)
        s.start()
        ensure(s.rows("select count(), count(c0) from wide where timestamp > '1979'") == [[3, 0]], "rows of nothing but a time")


@check
def backups_have_it_too():
    with tempfile.TemporaryDirectory() as d, server(ALMANAC_CAIRO_SQL_BACKUP_ROOT=d) as s:
        types_table(s, "t", True)
        want = s.rows("select * from t")
        s.exec("backup database")
        target = pathlib.Path(d, "restored")
        for command in (["check", d], ["restore", d, "TO", str(target)]):
            p = subprocess.run([s.binary, *command], capture_output=True, text=True)
            ensure(p.returncode == 0, p.stdout + p.stderr)
        with Server(root=target) as r:
            ensure(r.rows("select * from t") == want, "rows of the backup")


if __name__ == "__main__":
    main_alone(__doc__)
