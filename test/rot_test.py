#!/usr/bin/env python3
"""Rot: bytes of files change while the server runs, after they were read and found good.

Whoever writes such bytes again must find out and change nothing: merges, conversions, UPDATE, DELETE, new types, copies of
rows, backups, refreshes. Afterwards reads fail, too, and never answer wrongly. The scrub finds what nobody reads; the
archive of the log takes no damaged record; a backup replaces its own damaged files.

    rot_test.py [--binary FILE] [NAME...]
"""
import argparse, json, pathlib, struct, subprocess, sys, time, traceback, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
from server import Server  # noqa: E402

CHECKS, BINARY = [], None
ROWS, DAY = 60000, 86400 * 10**6
TEXT = "a text that is no short one, number "


def check(f):
    CHECKS.append(f)
    return f


def expect(good, why):
    if not good:
        raise AssertionError(why)


def server(**env):
    return Server(binary=BINARY, env={"ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backups", "ALMANAC_METRICS_ENABLED": "true", **env})


def fill(s, name="t", first=0):
    """Three partitions, each one part of 20,000 rows: a load beside the log."""
    s.exec(f"insert into {name} select ((x - 1) * {3 * DAY // ROWS})::timestamp, x + {first}, 's' || (x % 5)::varchar, "
           f"'{TEXT}' || (x + {first})::varchar, (x + {first}) / 4.0 from long_sequence({ROWS})")


def make(s, name="t"):
    s.exec(f"create table {name} (ts timestamp, id long, s symbol, v varchar, d double) timestamp(ts) partition by day wal")
    fill(s, name)


def answers(s, name="t"):
    return s.rows(f"select count(), sum(id), sum(d), min(d), max(d), sum(length(v)), count_distinct(s) from {name}") + \
        s.rows(f"select ts, id, s, v, d from {name} where id in (5, 21234, 59999)")


def files(s, name="t", kind="*.part"):
    table = s.rows(f"select id from tables() where table_name = '{name}'")[0][0]
    return sorted((s.root / "db" / "tables" / str(table)).glob(kind))


def flip(path, at, bit=3):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ (1 << bit)]))


def place_of(path, where):
    """Offset of something in a part: the value of d or the text of row 21,234, or the sum of d in the footer."""
    data = path.read_bytes()
    if where == "value":
        return data.find(struct.pack("<d", 21234 / 4.0))
    if where == "text":
        return data.find((TEXT + "21234").encode())
    return len(data) - 32 - 48 + 32  # statistics of the last block of the last column


def rotten(s, where):
    """(file, offset) in the part of the second partition."""
    found = [(p, place_of(p, "value")) for p in files(s)]
    path = next(p for p, at in found if at >= 0)
    return path, place_of(path, where)


def error_of(s, sql):
    try:
        s.exec(sql)
    except RuntimeError as e:
        return str(e)
    return None


def copy_error(s, sql):
    """Of a COPY TO, which runs by itself."""
    s.exec(sql)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        rows = s.rows("select status, message from sys.copy_export_log order by ts desc limit 1") if export_log(s) else []
        if rows and rows[0][0] in ("finished", "failed", "cancelled"):
            return rows[0][1] if rows[0][0] != "finished" else None
        time.sleep(0.05)
    raise AssertionError("COPY TO does not end")


def export_log(s):
    return True


REWRITES = {
    "squash": ("value text", lambda s: (fill(s, first=ROWS), error_of(s, "alter table t squash partitions"))[1]),
    "convert": ("value text footer", lambda s: error_of(s, "alter table t convert partition to parquet where ts > 0")),
    "update": ("value footer", lambda s: error_of(s, "update t set d = 1 where id = 30000")),
    "update of another": ("text", lambda s: error_of(s, "update t set s = v where id = 30000")),
    "delete": ("value text footer", lambda s: error_of(s, "delete from t where id = 30000")),
    "type": ("value footer", lambda s: error_of(s, "alter table t alter column d type float")),
    "table as": ("value text footer", lambda s: error_of(s, "create table u as (select * from t)")),
    "insert select": ("value text footer", lambda s: (s.exec("create table u (ts timestamp, id long, s symbol, v varchar, d double)"),
                                                      error_of(s, "insert into u select * from t"))[1]),
    "insert of statistics": ("value footer", lambda s: (s.exec("create table u (d double)"), error_of(s, "insert into u select sum(d) from t where d > 0"))[1]),
    "insert of a sum": ("footer", lambda s: (s.exec("create table u (d double)"), error_of(s, "insert into u select sum(d) from t"))[1]),
    "backup": ("value text footer", lambda s: error_of(s, "backup database")),
    "refresh": ("value footer", lambda s: error_of(s, "refresh materialized view w full")),
    "export": ("value text footer", lambda s: error_text(s.get("/exp", query="select * from t", fmt="parquet"))),
}


def error_text(answer):
    status, _, body = answer
    return None if status == 200 and body.endswith(b"PAR1") else body[:2000].decode(errors="replace")


@check
def every_rewrite_finds_it():
    problems = []
    for name, (places, run) in REWRITES.items():
        for where in places.split():
            with server() as s:
                make(s)
                if name == "refresh":
                    s.exec("create materialized view w as (select ts, sum(d) d, max(v) v from t sample by 1h) partition by day")
                before = answers(s)
                s.rows("select * from t where length(v) < 0 or d < -1e300")  # each byte is read
                path, at = rotten(s, where)
                flip(path, at)
                said = run(s)
                if said is None or "table 't'" not in said or path.name not in said or "checksum" not in said:
                    problems.append(f"{name}, {where}: {said}")
                    continue
                if where != "footer":
                    read = error_of(s, "select sum(d + 0.0), sum(length(v)) from t")
                    expect(read is not None and "checksum" in read, f"{name}, {where}: a read afterwards: {read}")
                flip(path, at)
                if name != "squash":
                    expect(answers(s) == before, f"{name}, {where}: rows are not what they were")
                if name in ("insert select", "insert of statistics", "insert of a sum"):
                    expect(s.rows("select count() from u") == [[0]], f"{name}: rows of a statement that failed")
                if name == "table as":
                    expect(s.rows("select count() from tables() where table_name = 'u'") == [[0]], "a table of a statement that failed")
    expect(not problems, f"{len(problems)} not found:\n  " + "\n  ".join(problems))


def main():
    global BINARY
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--binary")
    ap.add_argument("names", nargs="*")
    o = ap.parse_args()
    BINARY = o.binary
    passed = failed = 0
    for f in CHECKS:
        if o.names and f.__name__ not in o.names:
            continue
        try:
            f()
            passed += 1
        except Exception as e:
            failed += 1
            where = "" if isinstance(e, AssertionError) else traceback.format_exc()[-1500:]
            print(f"{f.__name__}: {e}\n{where}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
