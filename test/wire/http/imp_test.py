#!/usr/bin/env python3
"""/imp: what is found in a file, what becomes of values that do not fit, how columns find their place,
and what the report says. Goal: no value is cut, moved or lost in silence. Method: small files, the
whole table afterwards. Parquet files are those of pyarrow.

    imp_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import base64, bz2, datetime, decimal, gzip, http.client, io, json, lzma, os, random, socket, struct, tarfile, time, zipfile

import pyarrow as pa
import pyarrow.parquet as pq

from lib.checks import check, expect, main
from lib.server import Server
from upload import imp

TYPES = "ts timestamp, a int, s symbol, v double"


def load(s, table, data, params="", schema=None, **more):
    """The report of an import that must succeed."""
    status, text = imp(s, data if isinstance(data, bytes) else data.encode(), f"name={table}&fmt=json&{params}", schema=schema, **more)
    expect(status, 200, text)
    return json.loads(text)


def refused(s, table, data, params="", schema=None, **more):
    """The message of an import that must fail, and leave the table as it was."""
    count = lambda: s.rows(f"select count() from {table}") if s.rows(f"select count() from tables() where table_name = '{table}'") != [[0]] else None
    before = count()
    status, text = imp(s, data if isinstance(data, bytes) else data.encode(), f"name={table}&fmt=json&{params}", schema=schema, **more)
    expect((400 <= status < 500, count()), (True, before), text)
    return json.loads(text)["status"]


def types(report):
    return [c["type"] for c in report["columns"]]


@check
def numbers_that_the_type_cannot_hold_are_text(s):
    data = ("i,l,h,x,m,n,f,z\n-2147483648,-9223372036854775808,9223372036854775808,99999999999999999999,1,100000000000000000000,1.5,0.0.0.0\n"
            "1,1,1,1,0.5,7,9007199254740993,1.2.3.4\n")
    expect(types(load(s, "im1", data)), ["LONG", "DOUBLE", "DOUBLE", "VARCHAR", "DOUBLE", "DOUBLE", "VARCHAR", "VARCHAR"])
    expect(s.rows("select i, x, m, f, z from im1"), [[-2147483648, "99999999999999999999", 1.0, "1.5", "0.0.0.0"], [1, "1", 0.5, "9007199254740993", "1.2.3.4"]])


@check
def identifiers_of_any_first_digits_keep_their_type(s):
    lines = "".join(f"{n:02x}234567-0000-4000-8000-{n:012x},{n}\n" for n in range(256))
    expect(types(load(s, "im1a", "id,n\n" + lines)), ["UUID", "INT"])
    expect(s.rows("select n from im1a where id = '07234567-0000-4000-8000-000000000007'"), [[7]])


@check
def blank_lines_in_front_hide_no_delimiter(s):
    expect(types(load(s, "im1b", "\n\r\na;b\n\n1;2.5\n")), ["INT", "DOUBLE"])
    expect(s.rows("select a, b from im1b"), [[1, 2.5]])


@check
def a_value_that_reads_as_null_is_an_error(s):
    s.exec("create table im2 (i int, l long, t timestamp)")
    r = load(s, "im2", "i,l,t\n-2147483648,-9223372036854775808,-9223372036854775808\n1,2,3\n")
    expect([c["errors"] for c in r["columns"]], [1, 1, 1])
    expect(refused(s, "im2", "i,l,t\n-2147483648,1,1\n", "atomicity=abort"), 'line 2, column i: "-2147483648" is not a value of type INT')


@check
def infinities_are_null(s):
    s.exec("create table im2a (d double, f float)")
    load(s, "im2a", "d,f\nInfinity,-Infinity\n-Infinity,NaN\nNaN,Infinity\n1.5,2.5\n")
    expect(s.rows("select count(), count(d), sum(d), count(f), sum(f) from im2a"), [[4, 1, 1.5, 1, 2.5]])
    expect(s.rows("select count() from im2a where d is null and f is null"), [[3]])


@check
def times_finer_than_the_type_that_was_found_are_errors(s):
    lines = "".join(f"2024-01-01T00:00:00.{n:06d}Z,{n}\n" for n in range(1001)) + "2024-01-01T00:00:00.123456789Z,1\n2024-01-01T00:00:00.123456000Z,1\n"
    r = load(s, "im3", "t,n\n" + lines)
    expect((types(r), [c["errors"] for c in r["columns"]]), (["TIMESTAMP", "INT"], [1, 0]))
    expect(r["errors"], ['line 1003, column t: "2024-01-01T00:00:00.123456789Z" is not a value of type TIMESTAMP'])
    expect(load(s, "im3", "t,n\n2024-01-01T00:00:00.123456789Z,7\n", "forceHeader=true")["columns"][0]["errors"], 0)  # the table's choice
    expect(s.rows("select t from im3 where n = 7"), [["2024-01-01T00:00:00.000007Z"], ["2024-01-01T00:00:00.123456Z"]])


@check
def bytes_behind_a_closing_quote_stay(s):
    load(s, "im4", 'a,b,c\n1,"y"z,"1"\n2,"p""q"r""s,"2" \n3,"x" ,""\n')
    expect(s.rows("select * from im4"), [[1, "yz", "1"], [2, 'p"qr""s', "2 "], [3, "x ", ""]])


@check
def lines_that_do_not_fit_are_named(s):
    s.exec(f"create table im5 ({TYPES}) timestamp(ts) partition by day")
    data = "ts,a,v\n2024-01-01,1,1\n2024-01-02,x,y\nnope,1,1\n2024-01-03,1,1,1\n\"2024-01-04\n\",1,1\n2024-01-05,1,z\n"
    want = ['line 3, column a: "x" is not a value of type INT', 'line 4, column ts: "nope" is not a value of type TIMESTAMP', "line 5: extra data after last expected column",
            'line 6, column ts: "2024-01-04\n" is not a value of type TIMESTAMP', 'line 8, column v: "z" is not a value of type DOUBLE']
    r = load(s, "im5", data)
    expect((r["rowsImported"], r["rowsRejected"], r["errors"]), (3, 3, want))
    r = load(s, "im5", data, "atomicity=skipRow")
    expect((r["rowsImported"], r["rowsRejected"], r["errors"]), (1, 5, want))
    expect(refused(s, "im5", data, "atomicity=abort"), want[0])
    status, text = imp(s, data.encode(), "name=im5")
    expect((status, [line for line in text.split("\r\n") if line.startswith("line ")][:2]), (200, want[:2]))
    r = load(s, "im5", "ts,a\n" + "2024-01-01,x\n" * 5000)
    expect((len(r["errors"]), r["errors"][-1], r["columns"][1]["errors"]), (101, "and 4900 more", 5000))
    expect("errors" in load(s, "im5", "ts,a\n2024-01-01,1\n"), False)


@check
def the_header_of_a_table_is_known(s):
    s.exec("create table im6 (name varchar, city varchar)")
    for data, n in (("name,city\n", 0), ("city,name\nRome,Bob\nname,city\n", 2), ("NAME\n", 0), ('"city","name"', 0)):
        expect((load(s, "im6", data)["rowsImported"], data), (n, data))
    expect(s.rows("select * from im6"), [["Bob", "Rome"], ["city", "name"]])
    s.exec(f"create table im7 ({TYPES}) timestamp(ts) partition by day")
    expect(load(s, "im7", "ts,a\n")["header"], True)


@check
def headers_with_missing_names(s):
    r = load(s, "im3a", ",open,close\n2024-01-01,1.5,2\n2024-01-02,2.5,3\n", "timestamp=f0")
    expect((types(r), r["header"], r["timestamp"]), (["TIMESTAMP", "DOUBLE", "INT"], True, "f0"))
    expect(s.rows("select open, close from im3a"), [[1.5, 2], [2.5, 3]])
    load(s, "im3a", ",open,close\n2024-01-03,3.5,4\n")
    expect(s.rows("select count(), max(close) from im3a"), [[3, 4]])
    r = load(s, "im3b", "ts;v;\n2024-01-01;1;\n2024-01-02;2;\n2024-01-03;3\n", "timestamp=ts")
    expect((types(r), r["rowsImported"], r["rowsRejected"]), (["TIMESTAMP", "INT", "VARCHAR"], 3, 0))
    s.exec("create table im3f (v int, ts timestamp) timestamp(ts) partition by day")
    r = load(s, "im3f", "ts;v;\n2024-01-01;1;\n2024-01-02;2;\n")
    expect((types(r), s.rows("select v from im3f")), (["TIMESTAMP", "INT"], [[1], [2]]))
    load(s, "im3b", "ts;v;\n2024-01-04;4;\n")
    expect(s.rows("select v from im3b"), [[1], [2], [3], [4]])
    r = load(s, "im3c", "a,b\n1,2,\n3,4,,\n5,6,7,\n8,9,\"\"\n")
    expect((r["rowsImported"], r["rowsRejected"], r["errors"]), (2, 2, ["line 4: extra data after last expected column", "line 5: extra data after last expected column"]))
    r = load(s, "im3d", '"","mpg"\n"Mazda",21\n"Fiat",32.4\n')
    expect([(c["name"], c["type"]) for c in r["columns"]], [("f0", "VARCHAR"), ("mpg", "DOUBLE")])
    r = load(s, "im3e", "a,b,\n" + "1,2,\n" * 1200 + "1,2,3\n")
    expect((r["rowsImported"], s.rows("select f2 from im3e limit -1")), (1201, [["3"]]))


@check
def a_file_of_a_header_alone_has_no_rows(s):
    for data, names in (("ts,price\r\n", ["ts", "price"]), ('"a"', ["a"]), ("a;b\n", ["a", "b"])):
        s.exec("drop table if exists im_lone")
        r = load(s, "im_lone", data)
        expect((r["header"], r["rowsImported"], [c["name"] for c in r["columns"]], r["warnings"]),
               (True, 0, names, ["the only line is taken as the header: there are no rows"]), data)
    r = load(s, "im_lone", "x;y\n")  # into a table that is there it is a row, unless it has its names
    expect((r["header"], r["rowsImported"], "warnings" in r), (False, 1, False))
    expect(load(s, "im_lone", "b;a\n")["rowsImported"], 0)
    expect(s.rows("select * from im_lone"), [["x", "y"]])
    for data in ("1,x\n", "x,x\n", "x,\n", "x,24h\n"):
        r = load(s, "im_lone", data, "overwrite=true")
        expect((r["header"], r["rowsImported"], "warnings" in r), (False, 1, False), data)
    csv = s.get("/exp", query="select 'x' a, 'y' b from long_sequence(0)")[2]
    expect((load(s, "im_lone", csv, "overwrite=true")["rowsImported"], s.rows("select * from im_lone")), (0, []))


@check
def a_schema_names_the_columns_of_a_file_without_header(s):
    s.exec(f"create table im8 ({TYPES}) timestamp(ts) partition by day")
    schema = '[{"name":"v","type":"DOUBLE"},{"name":"s","type":"SYMBOL"},{"name":"ts","type":"TIMESTAMP"}]'
    load(s, "im8", "1.5,x,2024-01-01\n2.5,y,2024-01-02\n", schema=schema)
    expect(s.rows("select a, s, v from im8"), [[None, "x", 1.5], [None, "y", 2.5]])
    expect(refused(s, "im8", "1.5,x,2024-01-01,7\n", schema=schema), "table 'im8' has no column 'f3'")
    expect(refused(s, "im8", "1.5,x,2024-01-01\n", schema=schema.replace('"s"', '"nope"')), "table 'im8' has no column 'nope'")
    load(s, "im9", "1,x\n2,y\n", schema='[{"name":"k","type":"LONG"},{"name":"w","type":"SYMBOL"}]')
    expect(s.rows("select k, w from im9"), [[1, "x"], [2, "y"]])


@check
def columns_of_a_header_get_other_names(s):
    schema = '[{"name":"b","type":"SYMBOL","as":"a"},{"name":"A","type":"LONG","as":"n"}]'
    r = load(s, "im9a", "a,b\n1,x\n2,y\n", schema=schema)
    expect([(c["name"], c.get("source"), c["type"]) for c in r["columns"]], [("n", "a", "LONG"), ("a", "b", "SYMBOL")])
    expect(s.rows("select n, a from im9a"), [[1, "x"], [2, "y"]])
    expect(refused(s, "im9a", "a,b\n1,x\n"), "table 'im9a' has no column 'b'")
    load(s, "im9a", "a,b\n3,z\n", "forceHeader=true", schema=schema)
    expect(s.rows("select n, a from im9a where n = 3"), [[3, "z"]])
    expect(refused(s, "im9b", "a,b\n1,x\n", schema='[{"name":"a","type":"INT","as":"b"}]')[:9].lower(), "duplicate")


@check
def names_of_a_table_are_found_as_they_are_written(s):
    s.exec('create table im9c (ts timestamp, "a b" int, "r-s" symbol, "1st" varchar, aB2 int) timestamp(ts) partition by day')
    s.exec("insert into im9c values ('2026-01-01', 1, 'x', 'y', 2), ('2026-01-02', 3, 'z', '', 4)")
    before = s.rows("select * from im9c")
    whole = s.get("/exp", query="select * from im9c")[2]
    s.exec("truncate table im9c")
    r = load(s, "im9c", whole)
    expect(([c["name"] for c in r["columns"]], s.rows("select * from im9c")), (["ts", "a b", "r-s", "1st", "aB2"], before))
    s.exec("truncate table im9c")
    load(s, "im9c", whole, "forceHeader=true", schema='[{"name":"a b","type":"INT"}]')
    expect(s.rows("select * from im9c"), before)
    s.exec('create table im9d ("a b" varchar, c varchar)')  # all text: the names alone tell the header
    expect(load(s, "im9d", 'c,a b\nx,y\nx,c\n')["header"], True)
    expect(s.rows('select "a b", c from im9d'), [["y", "x"], ["c", "x"]])
    expect([c["name"] for c in load(s, "im9e", whole, "forceHeader=true")["columns"]], ["ts", "aB", "rS", "_1st", "aB2"])  # names of a new table
    expect(refused(s, "im9e", whole.replace(b"1st", b"2nd")), "table 'im9e' has no column '_2nd'")


@check
def warnings_say_what_was_not_taken(s):
    s.exec(f"create table im10 ({TYPES}) timestamp(ts) partition by day")
    r = load(s, "im10", "ts,a\n2024-01-01,1\n", "timestamp=a&partitionBy=MONTH", schema='[{"name":"b","type":"INT"}]')
    expect(r["warnings"], ["Existing table timestamp column is used", "Existing table PartitionBy is used", "the file has no column 'b' of the schema"])
    expect("warnings" in load(s, "im10", "ts,a\n2024-01-01,1\n", "timestamp=TS&partitionBy=DAY"), False)


@check
def limits_of_parts_and_of_lines_that_are_looked_at(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_MULTIPART_HEADER_BUFFER_SIZE": "600", "ALMANAC_HTTP_TEXT_ANALYSIS_MAX_LINES": "3", "ALMANAC_COPY_RECORD_BYTES_MAX": "64k"}) as c:
        data = "a,b\n" + "1,2\n" * 5 + "1,x\n"
        report = load(c, "iml", data)
        expect((types(report), report["rowsImported"], [k["errors"] for k in report["columns"]]), (["INT", "INT"], 6, [0, 1]), "the text comes too late")
        for n, status in ((400, 200), (700, 400)):
            k = http.client.HTTPConnection(*c.http.rsplit(":", 1))
            k.request("POST", "/imp?name=imh&fmt=json", f'--B\r\nContent-Disposition: form-data; name="data"; filename="{"x" * n}"\r\n\r\na,b\n1,2\n\r\n--B--\r\n',
                      {"Content-Type": "multipart/form-data; boundary=B"})
            r = k.getresponse()
            expect((r.status, b"http.multipart.header.buffer.size" in r.read()), (status, status != 200), n)


@check
def parts_come_once(s):
    s.exec("create table im11 (a int)")
    part = lambda name, text: f'--B\r\nContent-Disposition: form-data; name="{name}"; filename="f"\r\n\r\n{text}\r\n'.encode()
    import http.client
    for parts, want in ((part("data", "a\n1\n") + part("data", "a\n2\n"), "more than one part 'data'"), (part("schema", "[]"), "no part 'data'"), (b"", "no part 'data'"),
                        (part("schema", "[]") + part("schema", "[]") + part("data", "a\n1\n"), "more than one part 'schema'"),
                        (part("data", "a\n1\n") + part("schema", "[]"), "part 'schema' must come before part 'data'")):
        host, port = s.http.rsplit(":", 1)
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        c.request("POST", "/imp?name=im11&fmt=json", parts + b"--B--\r\n", {"Content-Type": "multipart/form-data; boundary=B"})
        r = c.getresponse()
        expect((r.status, json.loads(r.read())["status"]), (400, want), parts)
    expect(s.rows("select count() from im11"), [[0]])


@check
def other_encodings_and_months_are_refused(s):
    for encoding in ("utf-16", "utf-16-be"):
        data = ("\ufeff" if encoding == "utf-16-be" else "") + "a,b\n1,x\n"
        expect(refused(s, "im12", data.encode(encoding)), "the file is UTF-16, UTF-8 is expected")
    expect(refused(s, "im12", "t\n1 mai 2024\n", schema='[{"name":"t","type":"DATE","pattern":"d MMM yyyy","locale":"fr"}]'),
           "locale 'fr' is not supported: names of months and days are English")
    load(s, "im12", "t,v\n1 May 2024,1\n", schema='[{"name":"t","type":"DATE","pattern":"d MMM yyyy","locale":"en-GB","utf8":true}]')
    expect(s.rows("select * from im12"), [["2024-05-01T00:00:00.000Z", 1]])


@check
def lines_and_delimiters_that_cannot_be_told_are_refused(s):
    expect(refused(s, "im12a", "a,b\r1,2\r3,4\r"), "lines end with CR alone, LF or CRLF is expected")
    expect(refused(s, "im12a", "a,b\n1,2\n", "delimiter=%C3%BC"), "the delimiter must be an ASCII character")


@check
def a_tab_may_be_written(s):
    expect(types(load(s, "im13", "a;b\tc\n1;2\t3\n", "delimiter=%5Ct")), ["VARCHAR", "INT"])


# ------------------------------------------------------------------ Parquet
DAY = datetime.datetime(2026, 1, 5)


def parquet(columns, **options):
    """Bytes of a file with these columns: names to lists or arrays."""
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def ticks(n):
    return pa.array([DAY + datetime.timedelta(seconds=i) for i in range(n)], pa.timestamp("us"))


def footer(data):
    """The end of a Parquet file that has its schema."""
    return data[-8 - struct.unpack("<i", data[-8:-4])[0]:]


def body_imp(s, data, query, type="application/vnd.apache.parquet", headers=None):
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    c.request("POST", "/imp?fmt=json&" + query, data, {"Content-Type": type, **(headers or {})})
    r = c.getresponse()
    return r.status, json.loads(r.read())


@check
def a_parquet_file_is_known_by_its_first_bytes(s):
    data = parquet({"ts": ticks(50000), "sym": pa.array(["BTC", "ETH"] * 25000).dictionary_encode(), "px": [i / 4 for i in range(50000)], "n": pa.array(range(50000), pa.int64())}, row_group_size=7000)
    r = load(s, "pq1", data, "timestamp=ts&partitionBy=DAY")
    expect((r["format"], r["fileRows"], r["rowsImported"], r["rowsRejected"], r["timestamp"], r["partitionBy"]), ("parquet", 50000, 50000, 0, "ts", "DAY"), r)
    expect([(c["name"], c["type"], c["errors"]) for c in r["columns"]], [("ts", "TIMESTAMP", 0), ("sym", "VARCHAR", 0), ("px", "DOUBLE", 0), ("n", "LONG", 0)])
    expect(s.rows("select count(), sum(n), max(px), count_distinct(sym), max(ts) from pq1"), [[50000, 1249975000, 12499.75, 2, "2026-01-05T13:53:19.000000Z"]])
    expect(load(s, "pq1", data, "format=parquet")["rowsImported"], 50000)  # appended
    expect(s.rows("select count() from pq1"), [[100000]])
    expect(load(s, "pq1", data, "overwrite=true&timestamp=ts&partitionBy=HOUR")["partitionBy"], "HOUR")
    expect(s.rows("select count() from pq1"), [[50000]])
    for kind in ("application/vnd.apache.parquet", "application/octet-stream"):
        status, r = body_imp(s, data, "name=pq1&overwrite=true", kind)
        expect((status, r["rowsImported"]), (200, 50000), r)
    expect(body_imp(s, b"a,b\n1,2\n", "name=pq1", "application/octet-stream")[1]["status"][:21], "parquet file 'upload'")
    status, text = imp(s, data, "name=pq1")
    expect((status, "50000" in text), (200, True))


@check
def columns_of_a_parquet_file_are_corrected(s):
    data = parquet({"When": ticks(3), "px": ["1.5", "oops", None], "n": pa.array([1, 300, None], pa.int64()), "d": pa.array([decimal.Decimal("7.00"), decimal.Decimal("7.50"), None]),
                    "f": [2.0, 2.5, float("nan")], "t": ["a", "b", "c"], "b": [True, False, True]})
    schema = json.dumps([{"name": "when", "type": "TIMESTAMP", "as": "ts"}, {"name": "px", "type": "DOUBLE"}, {"name": "n", "type": "BYTE"}, {"name": "d", "type": "LONG"},
                         {"name": "f", "type": "INT", "as": "whole"}, {"name": "t", "type": "SYMBOL"}, {"name": "b", "type": "INT"}, {"name": "nope", "type": "INT"}])
    r = load(s, "pq2", data, "timestamp=ts&partitionBy=DAY", schema=schema)
    expect([(c["name"], c.get("source"), c["type"], c["errors"]) for c in r["columns"]],
           [("ts", "When", "TIMESTAMP", 0), ("px", None, "DOUBLE", 1), ("n", None, "BYTE", 1), ("d", None, "LONG", 1), ("whole", "f", "INT", 1), ("t", None, "SYMBOL", 0), ("b", None, "INT", 0)])
    expect(r["errors"], ['row 2, column px: "oops" is not a value of type DOUBLE'])
    expect(r["warnings"], ["the file has no column 'nope' of the schema"])
    expect(s.rows("select px, n, d, whole, t, b from pq2"), [[1.5, 1, 7, 2, "a", 1], [None, 0, None, None, "b", 0], [None, 0, None, None, "c", 1]])
    r = load(s, "pq2", data, "atomicity=skipRow&overwrite=true&timestamp=ts", schema=schema)
    expect((r["rowsImported"], r["rowsRejected"]), (2, 1))
    expect(refused(s, "pq2", data, "atomicity=abort&overwrite=true&timestamp=ts", schema=schema), 'row 2, column px: "oops" is not a value of type DOUBLE')
    for entry, want in (({"name": "px", "type": "DOUBLE[]"}, "column 'px' of the file is VARCHAR and cannot be DOUBLE[]"), ({"name": "px", "type": "TIMESTAMP", "pattern": "yyyy"}, "column 'px' has a pattern: those are for CSV files"),
                        ({"name": "px", "type": "WHAT"}, "Invalid type")):
        expect(refused(s, "pq2x", data, schema=json.dumps([entry])), want)


@check
def values_of_a_parquet_file_are_not_changed_in_silence(s):
    nanos = pa.array([1, 1000], pa.timestamp("ns"))
    big = pa.array([2 ** 63 - 1, -2 ** 63 + 1], pa.int64())
    data = parquet({"n": nanos, "l": big, "u": pa.array(["11111111-2222-3333-4444-555555555555", "x"]), "e": ["", None]})
    s.exec("create table pq3 (n timestamp, l int, u uuid, e varchar)")
    r = load(s, "pq3", data)
    expect([c["errors"] for c in r["columns"]], [1, 2, 1, 0])
    expect(s.rows("select n::long, l, u, e from pq3"), [[None, None, "11111111-2222-3333-4444-555555555555", ""], [1, None, None, None]])


@check
def arrays_and_what_cannot_be_read(s):
    data = parquet({"k": pa.array([1, 2], pa.int32()), "a": pa.array([[1.0, 2.0], None]), "m": pa.array([[("x", 1)], []], pa.map_(pa.string(), pa.int32())), "s": pa.array([{"x": 1}, {"x": 2}])})
    r = load(s, "pq4", data)
    expect([(c["name"], c["type"]) for c in r["columns"]][:2], [("k", "INT"), ("a", "DOUBLE[]")], r)
    expect([w for w in r["warnings"] if w.startswith("left out: column 'm' (")] != [], True, r)
    expect(s.rows('select k, a, "s.x" from pq4'), [[1, [1.0, 2.0], 1], [2, None, 2]])
    expect(refused(s, "pq4x", parquet({"m": pa.array([["x"]], pa.list_(pa.string()))}))[:43], "the file has no column that can be read: le")


@check
def numbers_of_other_units_are_told(s):
    stamps = {"s": 1700000000, "ms": 1700000000000, "us": 1700000000000000, "ns": 1700000000000000000}
    words = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
    at = "2023-11-14T22:13:20.000000Z"
    for unit, n in stamps.items():
        data = f"t,v\n{n},1\n{n + 1},2\n"
        told = f"column t: its numbers look like {words[unit]} since 1970, and are read as microseconds since 1970; timestampUnit={unit} reads them so"
        shown = load(s, f"un_{unit}", data, "timestamp=t&preview=true")
        expect((shown.get("warnings"), shown["columns"][0].get("suggestedUnit")), (None, None) if unit == "us" else ([told], unit))
        if unit == "ns":
            expect(refused(s, "un_ns", data, "timestamp=t"), told)
        else:
            expect(load(s, f"un_{unit}", data, "timestamp=t").get("warnings"), None if unit == "us" else [told])
        for table, more in ((f"un2_{unit}", ""), (f"un2_{unit}", "&atomicity=abort")):  # made, and there
            expect(load(s, table, data, f"timestamp=t&timestampUnit={unit}{more}").get("warnings"), None)
        expect(s.rows(f"select t, v from un2_{unit} limit 1"), [[at, 1]])
        r = load(s, f"un3_{unit}", data, schema=json.dumps([{"name": "t", "type": "TIMESTAMP", "unit": unit}]))
        expect((r.get("warnings"), s.rows(f"select t, v from un3_{unit} limit 1")), (None, [[at, 1]]))
        r = load(s, f"un4_{unit}", f'{{"t":{n},"v":1}}\n', f"timestamp=t&timestampUnit={unit}")
        expect(s.rows(f"select t, v from un4_{unit}"), [[at, 1]])
    s.exec("create table un5 (t timestamp_ns, d date, v int) timestamp(t) partition by day")
    r = load(s, "un5", "t,d,v\n1700000000000,1700000000,1\n", "timestampUnit=ms")
    expect(r["warnings"], ['column d: its numbers look like seconds since 1970, and are read as milliseconds since 1970; in the schema "unit":"s" reads them so'])
    expect(s.rows("select t, d from un5"), [["2023-11-14T22:13:20.000000000Z", "1970-01-20T16:13:20.000Z"]])
    load(s, "un6", "t,v\n1700000000.25,1\n2023-11-14T22:13:21Z,2\n-1.5,3\n", "timestamp=t&timestampUnit=s&partitionBy=YEAR", schema='[{"name":"t","type":"TIMESTAMP"}]')
    expect(s.rows("select t from un6"), [["1969-12-31T23:59:58.500000Z"], ["2023-11-14T22:13:20.250000Z"], ["2023-11-14T22:13:21.000000Z"]])
    load(s, "un6a", "t,v\n1700000000.25,1\n", "timestamp=t&timestampUnit=s")
    expect(s.rows("select t from un6a"), [["2023-11-14T22:13:20.250000Z"]])
    r = load(s, "un7", "t,v\n20231114,1\n20231115,2\n", "timestamp=t")  # texts: they are read as days
    expect((r.get("warnings"), r["columns"][0].get("suggestedPattern"), s.rows("select t from un7")), (None, None, [["2023-11-14T00:00:00.000000Z"], ["2023-11-15T00:00:00.000000Z"]]))
    r = load(s, "un7a", "t,v\n20231114,1\n20231115,2\n", "timestamp=t&timestampUnit=us")
    expect((r["warnings"], r["columns"][0]["suggestedPattern"]), (['column t: its numbers look like days written yyyyMMdd, and are read as microseconds since 1970; in the schema "pattern":"yyyyMMdd" reads them so'], "yyyyMMdd"))
    expect("warnings" in load(s, "un8", "t,v\n1,1\n5000,2\n", "timestamp=t"), False)
    expect("warnings" in load(s, "un9", "t,v\n1700000000,1\n5,2\n", "timestamp=t"), False)
    for unit, n in stamps.items():
        for kind, more in ((pa.int64(), 0), (pa.float64(), 0.25)):
            if kind == pa.float64() and unit == "ns":
                continue
            file = parquet({"t": pa.array([n + more, n + 1 + more], kind), "v": [1, 2]})
            r = load(s, f"up_{unit}", file, f"timestamp=t&timestampUnit={unit}&overwrite=true")
            fraction = 0 if more == 0 else {"s": 250000, "ms": 250, "us": 0}[unit]
            expect((r.get("warnings"), s.rows(f"select t, v from up_{unit} limit 1")), (None, [[at.replace(".000000", f".{fraction:06d}"), 1]]))
        if unit != "ns" and unit != "us":
            r = load(s, f"up2_{unit}", parquet({"t": pa.array([n, n + 1], pa.int64())}), "timestamp=t")
            expect((len(r["warnings"]), r["columns"][0]["suggestedUnit"]), (1, unit))
    expect("look like nanoseconds" in refused(s, "up3", parquet({"t": pa.array([stamps["ns"]], pa.int64())}), "timestamp=t"), True)
    expect(refused(s, "un10", "t,v\n1,2\n", "timestampUnit=min"), "invalid timestampUnit: s, ms, us or ns expected")
    expect(refused(s, "un10", "t,v\n1,2\n", schema='[{"name":"t","type":"INT","unit":"s"}]'), "column 't' has a unit, but is INT")
    expect(refused(s, "un10", "t,v\n1,2\n", schema='[{"name":"t","type":"DATE","unit":"h"}]'), "Invalid unit: s, ms, us or ns expected")
    expect(refused(s, "un10", "t,v\n1,2\n", schema='[{"name":"t","type":"DATE","unit":"s","pattern":"yyyy"}]'), "column 't' has a pattern and a unit")


def zst(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


def other_server(s, **settings):
    return Server(binary=s.binary, env={"ALMANAC_" + k.upper(): v for k, v in settings.items()})


@check
def packed_files_are_unpacked(s):
    lines = "t,n,v\n" + "".join(f"2024-01-01T00:00:{i % 60:02d}.{i:06d}Z,{i},{i / 4}\n" for i in range(100000))
    for how, pack in (("gzip", gzip.compress), ("zstd", zst)):
        r = load(s, f"pk_{how}", pack(lines.encode()), "timestamp=t&partitionBy=DAY")
        expect((r["rowsImported"], r["packed"], types(r), r.get("format")), (100000, how, ["TIMESTAMP", "INT", "DOUBLE"], None))
        expect(s.rows(f"select count(), sum(n), max(v) from pk_{how}"), [[100000, 4999950000, 24999.75]])
        r = load(s, f"pk_{how}", pack(b"t,n,v\n2025-01-01T00:00:00Z,1,1\n") + pack(b"2025-01-02T00:00:00Z,2,2\n"), "format=csv")
        expect(r["rowsImported"], 2)
        expect(refused(s, f"pk_{how}", pack(pack(b"a,b\n1,2\n"))), f"the {how} file holds another packed file")
        expect("is cut off: its end is missing" in refused(s, f"pk_{how}", pack(lines.encode())[:-20]), True)
        expect("is damaged" in refused(s, f"pk_{how}", pack(lines.encode())[:40] + b"\xff" * 400 + pack(lines.encode())[440:]), True)
        expect(load(s, f"pk_{how}_few", pack(b""))["rowsImported"], 0)
        expect(load(s, f"pk_{how}_few", pack(b"a,b\n1,2\n"))["rowsImported"], 1)
        expect(load(s, f"pk_{how}_nd", pack(b'{"a":1}\n{"a":2}\n'))["format"], "ndjson")
        expect(load(s, f"pk_{how}_pq", pack(parquet({"a": pa.array([1, 2, 3])})))["rowsImported"], 3)
        expect(refused(s, f"pk_{how}_x", pack(PNG)), f"the file is a PNG picture packed by {how}: {READ}")
    r = load(s, "pk_zeros", gzip.compress(b"a,b\n1,2\n") + bytes(1000))
    expect(r["rowsImported"], 1)
    expect("is damaged" in refused(s, "pk_tail", gzip.compress(b"a,b\n1,2\n") + b"tail"), True)


@check
def the_bytes_that_come_out_are_bounded(s):
    """Both bombs are refused by the limit, in little memory, and leave nothing."""
    with other_server(s, http_request_body_max="64m") as t:
        before = t.resident_bytes()[0]
        for bomb in (gzip.compress(b"1,2,3,4,5,6,7,8\n" * (8 << 20), 9), zst(b"1,2,3,4,5,6,7,8\n" * (8 << 20))):
            expect(refused(t, "bomb", bomb), "the file is over 67108864 bytes when unpacked: the limit is http.request.body.max")
        blank = gzip.compress(b" " * (63 << 20), 9)
        expect("longer than" in refused(t, "bomb", blank), True)
        expect(t.resident_bytes()[0] - before < 400 << 20, True)
        expect(t.rows("select count() from tables() where table_name = 'bomb'"), [[0]])


@check
def objects_on_lines_are_read(s):
    data = ('{"time":"2024-01-01T10:00:00Z","station":"north","temp":1.5,"ok":true,"n":1,"tags":["a","b"],"in":{"x":1}}\n'
            '{"time":"2024-01-01T10:01:00Z","station":"so\\u00fcth \\ud83d\\ude00 \\"q\\"\\n","temp":null,"ok":false,"n":-2,"code":"007"}\n'
            '\n  \n{"n":3,"time":"2024-01-01T10:02:00Z","code":"12","station":""}\n')
    r = load(s, "nd1", data, "timestamp=time&partitionBy=DAY")
    expect((r["format"], r["header"], r["rowsImported"]), ("ndjson", True, 3))
    expect([(c["name"], c["type"]) for c in r["columns"]], [("time", "TIMESTAMP"), ("station", "VARCHAR"), ("temp", "DOUBLE"), ("ok", "BOOLEAN"), ("n", "INT"), ("tags", "VARCHAR"), ("in", "VARCHAR"), ("code", "VARCHAR")])
    expect(s.rows("select station, temp, ok, n, tags, \"in\", code from nd1"), [["north", 1.5, True, 1, '["a","b"]', '{"x":1}', None], ["so\u00fcth \U0001f600 \"q\"\n", None, False, -2, None, None, "007"], ["", None, False, 3, None, None, "12"]])
    r = load(s, "nd1", '{"time":"2024-01-01T11:00:00Z","n":4}\n{"time":"2024-01-01T11:01:00Z","n":"x"}\nno\n[1]\n{"time":"2024-01-01T11:02:00Z","n":5}\n')
    expect((r["rowsImported"], r["rowsRejected"], r["errors"]), (3, 2, ['line 2, column n: "x" is not a value of type INT', "line 3: not a JSON object", "line 4: not a JSON object"]))
    many = "".join(f'{{"a":{i},"b":"{i}"}}\n' for i in range(1500)) + '{"a":1,"c":2}\n{"a":2,"c":null}\n'
    r = load(s, "nd2", many)
    expect((types(r), r["rowsImported"], r["errors"]), (["INT", "VARCHAR"], 1501, ["line 1501: a key that no line at the beginning of the file has"]))
    expect(load(s, "nd3", many, "skipLev=true")["rowsImported"], 1502)
    expect(load(s, "nd4", '{"a b":1,"A":2}\n', schema='[{"name":"aB","type":"LONG","as":"x"}]')["columns"][0]["name"], "x")
    expect(refused(s, "nd5", '{"a":1,"A":2}\n'), "duplicate column name found [no=1,name=A]")
    expect(load(s, "nd6", "\ufeff" + '{"u":"11111111-2222-3333-4444-555555555555","d":1e3,"l":9007199254740993,"i":"10.0.0.1"}')["columns"][0]["type"], "UUID")
    expect(s.rows("select u, d, l, i from nd6"), [["11111111-2222-3333-4444-555555555555", 1000.0, 9007199254740993, "10.0.0.1"]])
    expect(load(s, "nd7", "{}\nx\n" + '{"a":1}', "format=ndjson")["rowsImported"], 2)
    expect(refused(s, "nd8", "a,b\n1,2\n", "format=ndjson"), "no line of the file's beginning is a JSON object")
    r = load(s, "nd9", '{"a":1,"b":"x\\ty"}\n{"a":2,"b":null}\n', "preview=true")
    expect((r["rows"], r["format"]), ([["1", "x\ty"], ["2", None]], "ndjson"))
    expect(s.rows("select count() from tables() where table_name = 'nd9'"), [[0]])


@check
def a_packed_file_is_looked_at_from_its_beginning(s):
    random.seed(1)
    lines = "a,b\n" + "".join(f"{i},{random.random()}\n" for i in range(200000))
    for pack in (gzip.compress, zst):
        r = load(s, "pl", pack(lines.encode())[:200000], "preview=true")
        expect((types(r), r["rows"][0][0], r["rows"][19][0], len(r["rows"]), r["rowsRejected"], r.get("errors")), (["INT", "DOUBLE"], "0", "19", 20, 0, None))
    expect(s.rows("select count() from tables() where table_name = 'pl'"), [[0]])


PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01\n\x02\n"
READ = "CSV, NDJSON (a JSON object on each line) and Parquet files are read, packed by gzip or zstd or as they are"


@check
def other_files_are_refused_by_name(s):
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as z:
        z.writestr("a.csv", "a,b\n1,2\n" * 100)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as z:
        z.writestr("[Content_Types].xml", "<Types/>")
        z.writestr("xl/workbook.xml", "<workbook/>")
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w") as t:
        t.addfile(tarfile.TarInfo("a.csv"), io.BytesIO())
    arrow = io.BytesIO()
    with pa.ipc.new_file(arrow, pa.schema([("a", pa.int32())])):
        pass
    files = {"a PNG picture": PNG, "a PDF document": b"%PDF-1.4\n%\xe2\xe3\n1 0 obj\n", "a bzip2 file": bz2.compress(b"a,b\n1,2\n"), "an xz file": lzma.compress(b"a,b\n1,2\n"),
             "a zip archive": zipped.getvalue(), "an Excel workbook (xlsx)": book.getvalue(), "a tar archive": tarred.getvalue(), "an Arrow file": arrow.getvalue(),
             "an XML document": b'\n<?xml version="1.0"?>\n<a t="1"/>\n', "an HTML page": b"<!DOCTYPE html>\n<html><body>no</body></html>", "a JPEG picture": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
             "a JSON document": b'{\n  "a": 1,\n  "b": [1, 2]\n}\n', "a JSON list": b'[\n  {"a": 1},\n  {"a": 2}\n]\n', "an old Office file (xls)": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512),
             "an ORC file": b"ORC\x0a\x03\x00\x00", "an SQLite database": b"SQLite format 3\x00" + bytes(80), "no text": bytes(range(256)) * 4}
    for name, data in files.items():
        expect(refused(s, "foreign", data), f"the file is {name}: {READ}")
        if "JSON" not in name and "XML" not in name and "HTML" not in name:
            expect(refused(s, "foreign", data, "format=csv"), f"the file is {name}: {READ}")
    for text in ("{a},b\n1,2\n", "[a],b\n1,2\n", "<a>,b\n1,2\n", "ORCID,b\n1,2\n", "BZh,b\n1,2\n", "PK,b\n1,2\n", "{1},2\n", "caf\u00e9,b\n1,2\n"):
        load(s, "home", text, "overwrite=true")
    load(s, "home", "caf\u00e9;b\n1;\u00e4".encode("latin-1"), "overwrite=true")
    expect(load(s, "home", '{"a":1},2\n{"b":2},3\n', "overwrite=true&format=csv")["rowsImported"], 2)


@check
def a_preview_shows_the_first_rows_and_stores_nothing(s):
    data = parquet({"ts": ticks(500000), "t": pa.array(["x|y", None] * 250000), "v": pa.array(range(500000), pa.int32())})
    r = load(s, "pq5", data, "preview=true&timestamp=ts")
    expect((r["rowsImported"], r["fileRows"], len(r["rows"]), r["rows"][:2]), (0, 500000, 20, [["2026-01-05T00:00:00.000000Z", "x|y", "0"], ["2026-01-05T00:00:01.000000Z", None, "1"]]))
    r = load(s, "pq5", data, "preview=true", schema='[{"name":"t","type":"INT"}]')
    expect((r["columns"][1], r["errors"][0]), ({"name": "t", "type": "INT", "size": 4, "errors": 10}, 'row 1, column t: "x|y" is not a value of type INT'))
    # the end of the file alone tells the schema: a large file need not come twice
    r = load(s, "pq5", footer(data), f"preview=true&format=parquet&fileSize={len(data)}&timestamp=ts")
    expect((r["fileRows"], [c["type"] for c in r["columns"]], "rows" in r), (500000, ["TIMESTAMP", "VARCHAR", "INT"], False), r)
    # with the first row group before it, the first rows
    for data in (data, parquet({"ts": ticks(500000), "t": pa.array(["x|y", None] * 250000), "v": pa.array(range(500000), pa.int32())}, row_group_size=20000, write_page_index=True, compression="zstd"),
                 parquet({"ts": ticks(500000), "t": pa.array(["x|y", None] * 250000), "v": pa.array(range(500000), pa.int32())}, use_dictionary=False, compression="none", row_group_size=1000)):
        at = load(s, "pq5", footer(data), f"preview=true&format=parquet&fileSize={len(data)}")["firstRows"]
        part = data[at["groupFrom"]:at["groupFrom"] + at["groupBytes"]] + data[at["tail"]:]
        query = f"preview=true&format=parquet&fileSize={len(data)}&groupFrom={at['groupFrom']}&groupBytes={at['groupBytes']}"
        r = load(s, "pq5", part, query)
        expect((r["fileRows"], len(r["rows"]), r["rows"][:2], "firstRows" in r), (500000, 20, [["2026-01-05T00:00:00.000000Z", "x|y", "0"], ["2026-01-05T00:00:01.000000Z", None, "1"]], False))
        r = load(s, "pq5", part, query, schema='[{"name":"t","type":"INT"}]')
        expect(r["errors"][0], 'row 1, column t: "x|y" is not a value of type INT')
        # a hole is not read as rows
        for wrong in (f"groupFrom={at['groupFrom'] + 1}&groupBytes={at['groupBytes'] - 1}", f"groupFrom={at['groupFrom']}&groupBytes={at['groupBytes'] - 1}", f"groupFrom=3&groupBytes={at['groupBytes']}",
                      f"groupFrom={at['groupFrom']}&groupBytes={2 ** 62}", f"groupFrom={len(data)}&groupBytes=1"):
            got = refused(s, "pq5", part, f"preview=true&format=parquet&fileSize={len(data)}&{wrong}")
            expect(got.startswith(("groupFrom and groupBytes are not", "fileSize does not fit", "parquet file")), True, got)
    for query, want in ((f"fileSize={len(data)}", "fileSize is for preview=true and format=parquet alone"), ("preview=true&format=parquet&fileSize=9", "fileSize does not fit the"), ("format=xls", "invalid format: csv, ndjson or parquet expected"),
                        (f"preview=true&format=parquet&fileSize={2 ** 62}", "the Parquet file is longer than http.import.parquet.bytes.max")):
        expect(refused(s, "pq5", footer(data), query)[:len(want)], want)
    expect(s.rows("select count() from tables() where table_name = 'pq5'"), [[0]])


@check
def times_and_owners_of_a_parquet_file(s):
    data = parquet({"ts": pa.array([DAY, None], pa.timestamp("us")), "l": pa.array([1767571200000000, 1767571201000000], pa.int64())})
    r = load(s, "pq6", data, "timestamp=ts")
    expect((r["rowsImported"], r["rowsRejected"], r["errors"]), (1, 1, ['row 2: null in the designated timestamp "ts"']))
    r = load(s, "pq7", data, "timestamp=l&partitionBy=DAY")
    expect((r["columns"][1]["type"], r["rowsImported"]), ("TIMESTAMP", 2))
    expect(s.rows("select l from pq7"), [["2026-01-05T00:00:00.000000Z"], ["2026-01-05T00:00:01.000000Z"]])
    s.exec("create table pq8 (l timestamp, other int) timestamp(l) partition by month")
    expect(refused(s, "pq8", data), "table 'pq8' has no column 'ts'")
    expect(load(s, "pq8", parquet({"L": pa.array([DAY], pa.timestamp("us"))}), "timestamp=x")["warnings"], ["Existing table timestamp column is used"])
    expect(refused(s, "pq8", parquet({"other": [1]})), "the file lacks the designated timestamp 'l'")
    expect(refused(s, "pq9", data, "create=false"), "table does not exist [table=pq9] and create param was set to false.")
    expect(load(s, "pq9", parquet({"a": pa.array([], pa.int32())}))["rowsImported"], 0)


@check
def broken_parquet_files_are_refused_by_name(s):
    data = parquet({"a": list(range(5000)), "t": ["x%d" % i for i in range(5000)]})
    for what, bad, want in (("cut", data[:len(data) // 2], "parquet file 'upload'"), ("magic alone", b"PAR1", "parquet file 'upload'"), ("footer length", data[:-8] + b"\xff\xff\xff\x7fPAR1", "parquet file 'upload'"),
                            ("encrypted", b"PARE" + data[4:-4] + b"PARE", "parquet file 'upload'"), ("page", data[:40] + b"\xff" * 400 + data[440:], "parquet file 'upload'")):
        expect(want in refused(s, "pq10", bad), True, what)
    expect("encrypted" in refused(s, "pq10", b"PARE" + data[4:-4] + b"PARE"), True)
    for bad in (b"", b"no Parquet"):
        expect("parquet file 'upload'" in refused(s, "pq10", bad, "format=parquet"), True)
    expect(load(s, "pq10", "PAR1,b\n1,2\n", "format=csv&forceHeader=true")["rowsImported"], 1)  # the magic as a name


@check
def a_parquet_file_has_a_bound_and_leaves_nothing(s):
    data = parquet({"a": pa.array(range(400000), pa.int64())}, compression="none", use_dictionary=False)
    def left():
        handles = [os.readlink(f"/proc/{bound.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{bound.process.pid}/fd") if os.path.lexists(f"/proc/{bound.process.pid}/fd/{fd}")]
        return [h for h in handles if ".tmp" in h and not h.endswith("db/scrub.tmp")]  # the scrub notes when it began, at the start of the server
    for env, want in (({"ALMANAC_HTTP_IMPORT_PARQUET_BYTES_MAX": "1m"}, "the Parquet file is longer than http.import.parquet.bytes.max [limit=1048576]"),
                      ({"ALMANAC_QUERY_SPILL_MAX": "1m"}, "temporary files would exceed query.spill.max [limit=1048576"), ({"ALMANAC_QUERY_SPILL_MAX": "0"}, "the Parquet file needs a temporary file: query.spill.max is 0")):
        with Server(preset=s.preset, env=env) as bound:
            expect(refused(bound, "pq11", data)[:len(want)], want)
            expect(left(), [])
            # whoever goes away in the middle leaves nothing, too
            host, port = bound.http.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as c:
                c.sendall(b"POST /imp?name=pq11 HTTP/1.1\r\nHost: a\r\nContent-Type: application/vnd.apache.parquet\r\nContent-Length: 100000000\r\n\r\n" + data[:500000])
            end = time.monotonic() + 60
            while left() and time.monotonic() < end:
                time.sleep(0.02)
            expect(left(), [])
            expect(bound.rows("select count() from tables() where table_name = 'pq11'"), [[0]])


@check
def a_parquet_file_needs_the_rights_of_its_table_and_no_others(s):
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_PASSWORD": "quest", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096"}
    data = parquet({"a": [1, 2, 3]})
    old = os.environ.get("ALMANAC_ACL_ENABLED")
    os.environ["ALMANAC_ACL_ENABLED"] = "true"  # so that exec() logs in
    try:
        with Server(preset=s.preset, env=env) as locked:
            for sql in ("create user ann with password 'pw'", "grant http to ann", "create table pqa (a long)"):
                locked.exec(sql)
            ann = {"Authorization": "Basic " + base64.b64encode(b"ann:pw").decode()}
            for query in ("name=pqa", "name=pqb", "name=pqa&overwrite=true", "name=pqa&preview=true"):
                status, r = body_imp(locked, data, query, headers=ann)
                expect((status, r["status"][:21]), (403, "Access denied for ann"), query)
            locked.exec("grant insert on pqa to ann")
            expect(body_imp(locked, data, "name=pqa", headers=ann)[1].get("rowsImported"), 3)  # without READ FILE
            locked.exec("grant create table to ann")
            expect(body_imp(locked, data, "name=pqb", headers=ann)[1].get("rowsImported"), 3)
            expect(body_imp(locked, data, "name=pqc&owner=admin", headers=ann)[0] in (400, 403), True)
            expect(locked.rows("select count() from permissions_of('ann') where table_name = 'pqb' and permission = 'INSERT'"), [[1]])
    finally:
        os.environ.pop("ALMANAC_ACL_ENABLED") if old is None else os.environ.update(ALMANAC_ACL_ENABLED=old)


if __name__ == "__main__":
    main()
