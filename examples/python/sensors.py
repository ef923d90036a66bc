"""Sensor readings with psycopg 3: a table, a batch of rows, time buckets, a large result in pieces, an error.

    pip install "psycopg[binary]"
    python sensors.py
"""
import os
from datetime import datetime, timedelta

import psycopg

conn = psycopg.connect(
    host=os.environ.get("PGHOST", "127.0.0.1"),
    port=os.environ.get("PGPORT", "8812"),
    user=os.environ.get("PGUSER", "admin"),
    password=os.environ.get("PGPASSWORD", "quest"),
    dbname=os.environ.get("PGDATABASE", "qdb"),
    autocommit=True,
)

conn.execute("DROP TABLE IF EXISTS py_sensors")
conn.execute("""
    CREATE TABLE py_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE)
    TIMESTAMP(ts) PARTITION BY DAY
""")

# A batch: executemany sends all rows before it waits; the block makes them one commit.
start = datetime(2026, 1, 6, 10)
rows = [(start + timedelta(seconds=i), f"s{i % 2}", 20 + i % 10) for i in range(3600)]
with conn.transaction(), conn.cursor() as cur:
    cur.executemany("INSERT INTO py_sensors VALUES (%s, %s, %s)", rows)
    print("inserted", cur.rowcount, "rows")

# Buckets of time, with parameters.
query = """
    SELECT ts, count() AS n, avg(temperature) AS mean
    FROM py_sensors WHERE sensor = %s AND ts >= %s SAMPLE BY 15m
"""
for ts, n, mean in conn.execute(query, ("s1", start)):
    print(ts.isoformat(), n, mean)

# A large result in pieces: a named cursor reads 10,000 rows at a time, whatever the result has.
with conn.transaction(), conn.cursor("big") as cur:
    cur.itersize = 10_000
    cur.execute("SELECT x FROM long_sequence(1000000)")
    print("sum of a million rows:", sum(x for (x,) in cur))

# An error has an SQLSTATE and, where the statement is at fault, a position. The connection goes on.
try:
    conn.execute("SELECT nope FROM py_sensors")
except psycopg.errors.UndefinedColumn as error:
    print(error.sqlstate, error.diag.message_primary, "at", error.diag.statement_position)

conn.execute("DROP TABLE py_sensors")
conn.close()
