#!/usr/bin/env python3
"""VARCHAR(n) on each way into a table: INSERT with parameters, COPY, files, lines, and after a restart.

    text_length_test.py [--preset NAME] [CHECK...]
"""
import http.client, json, signal, socket, time, uuid

from lib.checks import check, expect, main
from lib.pganswers import pg, psycopg, with_asyncpg


def table(s, name):
    s.exec(f"drop table if exists {name}")
    s.exec(f"create table {name} (ts timestamp, v varchar(3), w varchar) timestamp(ts) partition by day")


def stored(s, name):
    return s.rows(f"select v from {name} order by ts")


def post(s, path, body, headers):
    c = http.client.HTTPConnection(*s.http.rsplit(":", 1), timeout=60)
    c.request("POST", path, body, headers)
    r = c.getresponse()
    return r.status, r.read().decode()


def load(s, name, file, options=""):
    mark = uuid.uuid4().hex
    head = f"--{mark}\r\nContent-Disposition: form-data; name=\"data\"; filename=\"f\"\r\n\r\n"
    body = head.encode() + (file.encode() if isinstance(file, str) else file) + f"\r\n--{mark}--\r\n".encode()
    return post(s, f"/imp?name={name}&fmt=json{options}", body, {"Content-Type": f"multipart/form-data; boundary={mark}"})


@check
def parameters(s):
    table(s, "tl_pg")
    with pg(s, autocommit=True) as c:
        for binary in (False, True):
            cur = c.cursor(binary=binary)
            cur.execute("insert into tl_pg (ts, v) values ('2024-01-01', %s)", ["äöü"])
            for sql in ("insert into tl_pg (ts, v) values ('2024-01-02', %s)", "update tl_pg set v = %s"):
                try:
                    cur.execute(sql, ["äöüß"])
                except psycopg.Error as e:
                    expect(e.sqlstate, "22001", sql)
                    assert "value too long for type character varying(3)" in str(e), e
                else:
                    raise AssertionError(f"{sql}: no error")
        cur = c.cursor()
        cur.execute("select %s::varchar(2), %s::varchar", ["abc", "abc"])
        expect(cur.fetchone(), ("ab", "abc"))
    expect(stored(s, "tl_pg"), [["äöü"], ["äöü"]])


@check
def transactions(s):
    """A row that is refused takes the whole block with it, as any error."""
    table(s, "tl_tx")
    with pg(s) as c:
        c.execute("insert into tl_tx (ts, v) values ('2024-01-01', 'abc')")
        try:
            c.execute("insert into tl_tx (ts, v) values ('2024-01-02', 'abcd')")
        except psycopg.Error as e:
            expect(e.sqlstate, "22001")
        c.rollback()
    expect(stored(s, "tl_tx"), [])


@check
def copy(s):
    table(s, "tl_copy")
    with pg(s, autocommit=True) as c:
        cur = c.cursor()
        with cur.copy("copy tl_copy (ts, v) from stdin") as out:
            out.write(b"2024-01-01\tabc\n")
        try:
            with cur.copy("copy tl_copy (ts, v) from stdin") as out:
                out.write(b"2024-01-02\tab\n2024-01-03\tabcd\n")
        except psycopg.Error as e:
            expect(e.sqlstate, "22001")
        else:
            raise AssertionError("no error")
    expect(stored(s, "tl_copy"), [["abc"]])


@check
def copy_binary(s):
    table(s, "tl_bin")

    async def body(c):
        import asyncpg, datetime
        day = datetime.datetime(2024, 1, 1)
        await c.copy_records_to_table("tl_bin", records=[(day, "abc")], columns=["ts", "v"])
        try:
            await c.copy_records_to_table("tl_bin", records=[(day, "abcd")], columns=["ts", "v"])
        except asyncpg.PostgresError as e:
            expect(e.sqlstate, "22001")
        else:
            raise AssertionError("no error")
    with_asyncpg(s, body)
    expect(stored(s, "tl_bin"), [["abc"]])


@check
def files(s):
    table(s, "tl_csv")
    status, text = load(s, "tl_csv", "ts,v,w\n2024-01-01T00:00:00Z,abc,a long text\n")
    expect(status, 200, text)
    # as any value that its column does not take: null, its line left out, or the file refused
    bad = "ts,v,w\n2024-01-02T00:00:00Z,abcd,x\n2024-01-03T00:00:00Z,ab,x\n2024-01-04T00:00:00Z,\u00e4\u00f6\u00fc,x\n"
    fault = "line 2, column v: value too long for type character varying(3) [length=4]"
    status, text = load(s, "tl_csv", bad, "&atomicity=abort")
    expect((status, json.loads(text)["status"]), (400, fault))
    expect(stored(s, "tl_csv"), [["abc"]])
    status, text = load(s, "tl_csv", bad, "&atomicity=skipRow")
    got = json.loads(text)
    expect((status, got["rowsRejected"], got["rowsImported"], got["errors"]), (200, 1, 2, [fault]))
    expect(stored(s, "tl_csv"), [["abc"], ["ab"], ["\u00e4\u00f6\u00fc"]])
    s.exec("truncate table tl_csv")
    status, text = load(s, "tl_csv", bad)
    got = json.loads(text)
    expect((status, got["rowsRejected"], got["rowsImported"], got["errors"]), (200, 0, 3, [fault]))
    expect([c["errors"] for c in got["columns"]], [0, 1, 0])
    expect(stored(s, "tl_csv"), [[None], ["ab"], ["\u00e4\u00f6\u00fc"]])
    s.exec("truncate table tl_csv")
    records = '{"ts":"2024-01-02T00:00:00Z","v":"abcd"}\n{"ts":"2024-01-03T00:00:00Z","v":"ab"}\n'
    status, text = load(s, "tl_csv", records, "&atomicity=skipRow")
    expect(json.loads(text)["errors"], [fault.replace("line 2", "line 1")])
    expect(stored(s, "tl_csv"), [["ab"]])


@check
def parquet_files(s):
    import io, datetime, pyarrow, pyarrow.parquet
    table(s, "tl_pq")
    buffer = io.BytesIO()
    days = [datetime.datetime(2024, 1, d) for d in (1, 2, 3)]
    pyarrow.parquet.write_table(pyarrow.table({"ts": days, "v": ["abc", "abcd", None], "w": ["a long text"] * 3}), buffer)
    fault = "row 2, column v: value too long for type character varying(3) [length=4]"
    status, text = load(s, "tl_pq", buffer.getvalue(), "&atomicity=abort")
    expect((status, json.loads(text)["status"]), (400, fault))
    expect(stored(s, "tl_pq"), [])
    status, text = load(s, "tl_pq", buffer.getvalue(), "&atomicity=skipRow")
    expect((status, json.loads(text)["errors"]), (200, [fault]))
    expect(stored(s, "tl_pq"), [["abc"], [None]])
    s.exec("truncate table tl_pq")
    status, text = load(s, "tl_pq", buffer.getvalue())
    expect((status, json.loads(text)["errors"]), (200, [fault]))
    expect(stored(s, "tl_pq"), [["abc"], [None], [None]])


@check
def lines(s):
    table(s, "tl_line")
    status, text = post(s, "/write", 'tl_line v="abc",w="a long text" 1704067200000000000\n', {})
    expect(status, 204, text)
    status, text = post(s, "/write", 'tl_line v="ab" 1704067300000000000\ntl_line v="abcd" 1704067400000000000\n', {})
    expect(status, 400, text)
    expect([(e["line"], e["message"]) for e in json.loads(text)["errors"]],
           [(2, "table: tl_line, column: v; value too long for type character varying(3) [length=4]")])
    expect(stored(s, "tl_line"), [["abc"]])
    with socket.create_connection(s.line.rsplit(":", 1)) as c:
        c.sendall(b'tl_line v="xyz" 1704067500000000000\n')
        c.shutdown(socket.SHUT_WR)
        c.recv(1000)
    end = time.monotonic() + 20
    while time.monotonic() < end and len(stored(s, "tl_line")) < 2:
        time.sleep(0.02)
    expect(stored(s, "tl_line"), [["abc"], ["xyz"]])


@check
def after_a_restart(s):
    """The length is in the log, in the catalogue, and in a checkpoint of it."""
    table(s, "tl_up")
    s.exec("alter table tl_up add column x varchar(70000)")
    for stop in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        s.stop(stop)
        s.start()
        expect(s.rows("select column_name, character_maximum_length from information_schema.columns where table_name = 'tl_up' order by ordinal_position"),
               [["ts", None], ["v", 3], ["w", None], ["x", 70000]], stop)
        try:
            s.exec("insert into tl_up (ts, v) values ('2024-01-01', 'abcd')")
        except Exception as e:
            assert "value too long" in str(e), e
        else:
            raise AssertionError("no error")
    s.exec("insert into tl_up (ts, v, x) values ('2024-01-01', 'abc', 'x')")
    s.exec("alter table tl_up alter column v type varchar(4)")
    s.exec("insert into tl_up (ts, v) values ('2024-01-02', 'abcd')")
    s.stop(signal.SIGKILL)
    s.start()
    s.exec("insert into tl_up (ts, v) values ('2024-01-03', 'efgh')")
    expect(stored(s, "tl_up"), [["abc"], ["abcd"], ["efgh"]])


if __name__ == "__main__":
    main()
