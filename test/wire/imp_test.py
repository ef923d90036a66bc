#!/usr/bin/env python3
"""/imp: what is found in a file, what becomes of values that do not fit, how columns find their place,
and what the report says. Goal: no value is cut, moved or lost in silence. Method: small files, the
whole table afterwards.

    imp_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import http_test  # noqa: E402
from http_test import check, expect, imp  # noqa: E402

http_test.CHECKS.clear()
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
def a_value_that_reads_as_null_is_an_error(s):
    s.exec("create table im2 (i int, l long, t timestamp)")
    r = load(s, "im2", "i,l,t\n-2147483648,-9223372036854775808,-9223372036854775808\n1,2,3\n")
    expect([c["errors"] for c in r["columns"]], [1, 1, 1])
    expect(refused(s, "im2", "i,l,t\n-2147483648,1,1\n", "atomicity=abort"), 'line 2, column i: "-2147483648" is not a value of type INT')


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
def warnings_say_what_was_not_taken(s):
    s.exec(f"create table im10 ({TYPES}) timestamp(ts) partition by day")
    r = load(s, "im10", "ts,a\n2024-01-01,1\n", "timestamp=a&partitionBy=MONTH", schema='[{"name":"b","type":"INT"}]')
    expect(r["warnings"], ["Existing table timestamp column is used", "Existing table PartitionBy is used", "the file has no column 'b' of the schema"])
    expect("warnings" in load(s, "im10", "ts,a\n2024-01-01,1\n", "timestamp=TS&partitionBy=DAY"), False)


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
def a_tab_may_be_written(s):
    expect(types(load(s, "im13", "a;b\tc\n1;2\t3\n", "delimiter=%5Ct")), ["VARCHAR", "INT"])


if __name__ == "__main__":
    http_test.main(cases=False)
