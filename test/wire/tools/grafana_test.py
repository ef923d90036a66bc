#!/usr/bin/env python3
"""Grafana over the PostgreSQL protocol: its macros expand on its side, so what arrives here is made the way it makes it.

Every query of examples/grafana/trades.json, every macro of the PostgreSQL data source and of QuestDB's, what their editors and health
checks ask; each as simple query, and prepared with text and with binary results, over the demo table.

    grafana_test.py [-v]
"""
import datetime, json, re, struct, subprocess, sys

import psycopg

from lib.checks import print_again
from lib.pgclient import Wire, bind, cells, describe, execute, fields, parse, SYNC
from lib.server import TOP, Server

FROM = datetime.datetime(2026, 1, 5, tzinfo=datetime.timezone.utc)
TO = datetime.datetime(2026, 1, 7, 12, tzinfo=datetime.timezone.utc)
SYMBOLS = ["BTC-USD", "ETH-USD", "SOL-USD"]
VERBOSE = "-v" in sys.argv
passed = failed = 0


ONLY = [a for a in sys.argv[1:] if not a.startswith("-")]  # these are counted alone


def check(ok, what, why=""):
    global passed, failed
    if ONLY and what not in ONLY:
        return
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"{what}: {why}"[:1500], flush=True)
        print_again(what)
    elif VERBOSE:
        print(f"{what}: ok", flush=True)


# --------------------------------------------------------------------------------------------------------- macros
def seconds(text):
    n, unit = re.fullmatch(r"(\d+)(ms|[TsmhdwMy])", text.strip().strip("'")).groups()
    return int(n) * {"ms": 0.001, "T": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "M": 2592000, "y": 31536000}[unit]


def iso(t):
    return t.isoformat().replace("+00:00", "Z")


def number(x):
    return f"{x:g}"


POSTGRES = {
    "time": lambda c: f'{c} AS "time"',
    "timeEpoch": lambda c: f'extract(epoch from {c}) as "time"',
    "timeFilter": lambda c: f"{c} BETWEEN '{iso(FROM)}' AND '{iso(TO)}'",
    "timeFrom": lambda *_: f"'{iso(FROM)}'",
    "timeTo": lambda *_: f"'{iso(TO)}'",
    "timeGroup": lambda c, i, *fill: f"floor(extract(epoch from {c})/{number(seconds(i))})*{number(seconds(i))}",
    "timeGroupAlias": lambda c, i, *fill: POSTGRES["timeGroup"](c, i) + ' AS "time"',
    "unixEpochFilter": lambda c: f"{c} >= {int(FROM.timestamp())} AND {c} <= {int(TO.timestamp())}",
    "unixEpochNanoFilter": lambda c: f"{c} >= {int(FROM.timestamp()) * 10**9} AND {c} <= {int(TO.timestamp()) * 10**9}",
    "unixEpochNanoFrom": lambda *_: str(int(FROM.timestamp()) * 10**9),
    "unixEpochNanoTo": lambda *_: str(int(TO.timestamp()) * 10**9),
    "unixEpochGroup": lambda c, i, *fill: f"floor(({c})/{int(seconds(i))})*{int(seconds(i))}",
    "unixEpochGroupAlias": lambda c, i, *fill: POSTGRES["unixEpochGroup"](c, i) + ' AS "time"',
}
TIMESCALE = {**POSTGRES, "timeGroup": lambda c, i, *fill: f"time_bucket('{seconds(i):.3f}s',{c})"}


def micros(t):
    return f"cast({int(t.timestamp() * 1e6)} as timestamp)"


QUESTDB = {
    "timeFilter": lambda c: f"{c} >= {micros(FROM)} AND {c} <= {micros(TO)}",
    "fromTime": lambda *_: micros(FROM),
    "toTime": lambda *_: micros(TO),
    "sampleByInterval": lambda *_: "SAMPLE",
}


def expand(sql, macros, interval, symbols=SYMBOLS):
    """Variables, global variables, then macros with and without arguments, as both data sources do."""
    listed = ",".join(f"'{s}'" for s in symbols)
    sql = sql.replace("$__interval_ms", str(int(seconds(interval) * 1000))).replace("$__interval", interval)
    sql = re.sub(r"\$symbol\b|\$\{symbol\}", listed, sql).replace("$pair", symbols[0])
    sql = re.sub(r"\$__conditionalAll\((.*?\)), *'.*?'\)", r"\1", sql)

    def one(m):
        args = [a.strip() for a in m[2].split(",")] if m[2] else []
        return macros[m[1]](*args).replace("SAMPLE", interval)
    return re.sub(r"\$__(\w+)(?:\(([^()]*)\))?", one, sql)


# --------------------------------------------------------------------------------------------------------- asking
def prepared(wire, sql, values=(), binary=False):
    """As lib/pq asks with arguments: types by the server, values as text. ([names], [rows])"""
    names, rows = [], []
    for kind, body in wire.ask(parse("", sql), describe("S"), bind(values=[v.encode() for v in values], results=[1] if binary else []), execute(), SYNC):
        if kind == "E":
            raise RuntimeError(fields(body))
        if kind == "T":
            at = 2
            for _ in range(struct.unpack_from("!H", body)[0]):
                end = body.index(b"\0", at)
                names.append(body[at:end].decode())
                at = end + 19
        if kind == "D":
            rows.append(cells(body))
    return names, rows


CONNECTIONS = {}


def connections(address):
    """As a pool keeps them."""
    if address not in CONNECTIONS:
        host, port = address.split(":")
        CONNECTIONS[address] = Wire(address), psycopg.connect(host=host, port=port, user="admin", password="quest", dbname="qdb", autocommit=True)
    return CONNECTIONS[address]


def ask(address, what, sql, columns, rows_at_least, values=()):
    """By each way that Grafana's drivers have; the same rows each time."""
    try:
        wire, c = connections(address)
        names, text = prepared(wire, sql, values)
        _, binary = prepared(wire, sql, values, binary=True)
        check(columns is None or names == columns, f"{what}: columns", f"{names}\n{sql}")
        check(len(text) >= rows_at_least and len(binary) == len(text), f"{what}: rows", f"{len(text)} and {len(binary)} rows, {rows_at_least} wanted\n{sql}")
        if not values:
            simple = [[c and c.decode() for c in row] for row in text]
            check(wire.rows(sql) == simple, f"{what}: simple query", sql)
            decoded = [c.execute(sql.encode(), prepare=False, binary=b).fetchall() for b in (False, True)]
            check(decoded[0] == decoded[1], f"{what}: values as text and binary", sql)
            if "time" in names:
                kinds = {type(row[names.index("time")]) for row in decoded[0]}
                check(kinds <= {datetime.datetime, float, int, type(None)}, f"{what}: `time` is a time or a number", f"{kinds}\n{sql}")
        return text
    except Exception as e:  # noqa: BLE001
        check(False, what, f"{type(e).__name__}: {e}\n{sql}")
        return []


# --------------------------------------------------------------------------------------------------------- cases
# macros of the PostgreSQL data source: query, columns, rows at least
MACROS = [
    ("SELECT $__time(timestamp), price FROM trades WHERE $__timeFilter(timestamp) LIMIT 10", ["time", "price"], 10),
    ("SELECT $__timeEpoch(timestamp), price FROM trades LIMIT 10", ["time", "price"], 10),
    ("SELECT count(*) FROM trades WHERE timestamp >= $__timeFrom() AND timestamp < $__timeTo()", ["count()"], 1),
    ("SELECT $__timeGroup(timestamp, '1h') AS time, avg(price) FROM trades WHERE $__timeFilter(timestamp) GROUP BY time ORDER BY time", ["time", "avg(price)"], 60),
    ("SELECT $__timeGroupAlias(timestamp, '1h', NULL), symbol AS metric, avg(price) AS value FROM trades WHERE $__timeFilter(timestamp) GROUP BY 1, 2 ORDER BY 1, 2", ["time", "metric", "value"], 60),
    ("SELECT $__timeGroupAlias(timestamp, '5m', previous), sum(amount) AS \"amount\" FROM trades WHERE $__timeFilter(timestamp) GROUP BY 1 ORDER BY 1", ["time", "amount"], 600),
    ("SELECT $__unixEpochGroupAlias(s, '1h'), count(*) FROM seconds WHERE $__unixEpochFilter(s) GROUP BY 1 ORDER BY 1", ["time", "count()"], 60),
    ("SELECT count(*) FROM seconds WHERE $__unixEpochNanoFilter(n)", ["count()"], 1),
    ("SELECT count(*) FROM seconds WHERE n BETWEEN $__unixEpochNanoFrom() AND $__unixEpochNanoTo()", ["count()"], 1),
    ("SELECT timestamp AS time, symbol AS metric, max(price) FROM trades WHERE $__timeFilter(timestamp) AND symbol IN ($symbol) SAMPLE BY $__interval", None, 100),
    ("SELECT\n  timestamp AS \"time\",\n  price\nFROM\n  \"public\".\"trades\"\nWHERE\n  $__timeFilter(timestamp)\nORDER BY\n  timestamp\nLIMIT\n  50 ", ["time", "price"], 50),
    ("SELECT AVG(price) AS \"price\", symbol FROM trades WHERE (symbol = 'BTC-USD' AND price > 0) GROUP BY symbol LIMIT 50 ", ["price", "symbol"], 1),
    ("SELECT timestamp AS time, symbol AS text, side AS tags FROM trades WHERE $__timeFilter(timestamp) ORDER BY amount DESC LIMIT 3", ["time", "text", "tags"], 3),
    ("SELECT symbol AS __text, symbol AS __value FROM trades GROUP BY symbol ORDER BY 1", ["__text", "__value"], 3),
    ("SELECT DISTINCT symbol FROM trades WHERE symbol LIKE 'B%' ORDER BY symbol LIMIT 100", ["symbol"], 1),
    ("SELECT * FROM trades WHERE $__timeFilter(timestamp) LIMIT 5", None, 5),
]
# those of QuestDB's
REFERENCE = [
    ("SELECT timestamp as time, avg(price) FROM \"trades\" WHERE $__timeFilter(timestamp) SAMPLE BY $__sampleByInterval ORDER BY time ASC", ["time", "avg(price)"], 60),
    ("SELECT timestamp as time, symbol, sum(amount) total FROM trades WHERE $__timeFilter(timestamp) AND symbol IN ($symbol) SAMPLE BY $__sampleByInterval FILL(PREV) ALIGN TO CALENDAR", ["time", "symbol", "total"], 60),
    ("SELECT timestamp as time, last(price) FROM trades WHERE timestamp >= $__fromTime AND timestamp <= $__toTime SAMPLE BY $__sampleByInterval FILL(LINEAR)", ["time", "last(price)"], 60),
    ("SELECT * FROM trades WHERE $__timeFilter(timestamp) LATEST ON timestamp PARTITION BY symbol", None, 3),
    ("SELECT count() FROM trades WHERE $__conditionalAll(symbol IN ($symbol), '$symbol')", ["count()"], 1),
]
# what editors, health checks and pools ask
OTHERS = [
    ("SELECT 1", None, 1),
    ("select table_name, partitionBy, designatedTimestamp, walEnabled, dedup  from tables()", ["table_name", "partitionBy", "designatedTimestamp", "walEnabled", "dedup"], 2),
    ("select \"column\", type, designated from table_columns('trades')", ["column", "type", "designated"], 5),
    ("select table_name, ordinal_position, column_name, data_type from information_schema.columns", ["table_name", "ordinal_position", "column_name", "data_type"], 7),
    ("select column_name, data_type, table_name from information_schema.columns WHERE table_name IN ('trades')", ["column_name", "data_type", "table_name"], 5),
    ("select distinct symbol from trades limit 1000", ["symbol"], 3),
    ("SELECT current_setting('server_version_num')::int/100 as version", ["version"], 1),
    ("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'", ["extversion"], 0),
]


def dashboard(address):
    doc = json.loads((TOP / "examples/grafana/trades.json").read_text())
    targets = [(p["title"], t["rawSql"], t["format"]) for p in doc["panels"] for t in p["targets"]]
    check(len(targets) >= 8, "the dashboard has panels")
    for interval in ("1s", "1m", "1h", "1d"):
        for title, sql, form in targets:
            # `All` of a variable without a value of its own is the list of all its values
            every = [r[0] for r in Wire(address).rows("SELECT DISTINCT symbol FROM trades ORDER BY symbol")]
            for symbols in (SYMBOLS, every) if interval == "1m" else (SYMBOLS,):
                rows = ask(address, f"dashboard, {title} by {interval}", expand(sql, POSTGRES, interval, symbols) + (" LIMIT 500" if interval in ("1s", "1m") else ""), None, 1)
                check(form != "time_series" or rows == sorted(rows, key=lambda r: as_time(r[0])), f"{title}: in order of time")
    for v in doc["templating"]["list"]:
        check(len(ask(address, f"variable {v['name']}", v["query"], ["symbol"], 3)) >= 3, f"variable {v['name']} has values")
    for a in doc["annotations"]["list"]:
        ask(address, f"annotation {a['name']}", expand(a["target"]["rawSql"], POSTGRES, "1m"), ["time", "text"], 1)


def as_time(cell):
    text = cell.decode()
    return float(text) if re.fullmatch(r"-?[\d.]+(?:[eE][+-]?\d+)?", text) else datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc).timestamp()


def with_parameters(address):
    """QuestDB's data source can send its times as arguments: numbers as text, types by the server."""
    values = [str(int(t.timestamp() * 1e6)) for t in (FROM, TO)]
    for form in ("cast(${} as timestamp)", "${}"):
        where = "timestamp >= " + form.format(1) + " AND timestamp <= " + form.format(2)
        with_them = ask(address, f"arguments as {form}", f"SELECT timestamp as time, count() FROM trades WHERE {where} SAMPLE BY 1h", ["time", "count()"], 60, values=values)
        without = ask(address, "numbers", f"SELECT timestamp as time, count() FROM trades WHERE timestamp >= {micros(FROM)} AND timestamp <= {micros(TO)} SAMPLE BY 1h", ["time", "count()"], 60)
        check(with_them == without, f"arguments as {form}: the same rows", f"{len(with_them)} and {len(without)}")


def groups_are_right(address):
    """A time group and SAMPLE BY are two ways to the same sums."""
    group = ask(address, "time group", expand("SELECT $__timeGroupAlias(timestamp,'1h'), count(*) FROM trades WHERE $__timeFilter(timestamp) GROUP BY 1 ORDER BY 1", POSTGRES, "1h"), None, 60)
    sample = ask(address, "sample", expand("SELECT timestamp AS time, count(*) FROM trades WHERE $__timeFilter(timestamp) SAMPLE BY 1h ALIGN TO CALENDAR ORDER BY time", POSTGRES, "1h"), None, 60)
    check([(as_time(t), n) for t, n in group] == [(as_time(t), n) for t, n in sample], "a time group counts what SAMPLE BY counts")


def main():
    with Server() as s:
        rows = subprocess.run([str(TOP / "build/release/demo_trades")], check=True, capture_output=True).stdout
        subprocess.run(["curl", "-fsS", "-o", "/dev/null", "-F", "data=@-", f"{s.url}/imp?name=trades&timestamp=timestamp&partitionBy=DAY&forceHeader=true"], input=rows, check=True)
        s.exec("create table seconds as (select cast(timestamp as long) / 1000000 s, cast(timestamp as long) * 1000 n from trades)")
        dashboard(s.pg)
        for sql, columns, least in MACROS:
            ask(s.pg, sql, expand(sql, POSTGRES, "1m"), columns, least)
        for interval in ("500T", "30s", "5m", "1h", "1d"):
            for sql, columns, least in REFERENCE:
                ask(s.pg, f"{sql} by {interval}", expand(sql, QUESTDB, interval), columns, least if interval not in ("1d",) else 1)
        for sql, columns, least in OTHERS:
            ask(s.pg, sql, sql, columns, least)
        with_parameters(s.pg)
        groups_are_right(s.pg)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
