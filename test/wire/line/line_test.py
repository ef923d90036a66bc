#!/usr/bin/env python3
"""The line protocol over HTTP and TCP: types, tables made on the fly, conversions to existing columns, errors by line, all or
nothing, and the official Python client, whose rows are read back."""
import base64, gzip, http.client, json, pathlib, re, shutil, socket, struct, tempfile, threading, time

from lib import log_search
from lib.checks import Skip, Suite, check, expect
from lib.server import Server

try:
    import questdb.ingress as official
except ImportError:
    official = None

try:
    import influxdb_client as influx
except ImportError:
    influx = None



def write(s, body, path="/write", headers=None):
    """(status, parsed JSON or None)"""
    c = http.client.HTTPConnection(*s.http.rsplit(":", 1), timeout=60)
    c.request("POST", path, body if isinstance(body, bytes) else body.encode(), headers or {})
    r = c.getresponse()
    text = r.read()
    if text and r.headers["Content-Type"] == "application/json":
        return r.status, json.loads(text)
    return r.status, text or None


def ok(s, body, **more):
    expect(write(s, body, **more), (204, None), body[:100])


def refused(s, body, message, line=1, status=400, **more):
    got, answer = write(s, body, **more)
    expect(got, status, body[:100])
    if message not in answer["message"]:
        raise AssertionError(f"{body[:100]!r}: {answer!r} does not say {message!r}")
    expect(answer["line"], line, body[:100])
    return answer


def columns(s, table):
    return {r[0]: r[1] for r in s.rows(f'select "column", type from table_columns(\'{table}\')')}


def other_server(s, **settings):
    """A server with settings of its own: line_tcp_enabled="false" ..."""
    return Server(binary=s.binary, env={"ALMANAC_" + k.upper(): v for k, v in settings.items()})


# What one line (or a few) of table t leaves there, or what is said about it. The column of times is left out.
GRAMMAR = [
    ("t,s=x", [["x"]]), ("t,s=x 1000", [["x"]]), ("t", "No fields were provided"), ("t ", "No fields were provided"),
    ("t v=1\r\nt v=2\r\n", [[1.0], [2.0]]), ("\n  \n# note\n  # note\nt v=1 1\n\n", [[1.0]]), ("  t  v=1   1  ", [[1.0]]),
    ("t v=1, w=2 1", "Field value is missing"), ("t v=1 1 1", "behind the timestamp"), ("t v=1\t1", "field value is invalid"),
    ("t,s=a\\ b\\,c\\=d\\\\e v=1 1", [["a b,c=d\\e", 1.0]]), ("t,s=a\\\nb v=1 1", [["a\nb", 1.0]]),
    ('t v="a\\"b\\\\c\\\nd\\ne" 1', [['a"b\\c\ndne']]), ('t v="a\nb" 1', "is not closed"), ('t,s="xy" v=1 1', [['"xy"', 1.0]]),
    ("t,s= v=1 1", [["", 1.0]]), ("t,s v=1 1", "Symbol value is missing: s"), ("t,=1 v=1 1", "a symbol without a name"), ("t =1 1", "a field without a name"),
    ("t a=1,A=2,a=3 1", [[1.0]]), ("t,a=x A=2 1", [["x"]]), ("t a=1,b=2 1\nt b=3,a=4 2000", [[1.0, 2.0], [4.0, 3.0]]), ("t a=1 1\nt b=t 2000", [[1.0, False], [None, True]]),
    ("t,s=x, a=1, 5\nt,s=x,\nt,s=x a=1,\r\n", [["x", 1.0], ["x", None], ["x", 1.0]]),
    ("t a=-2,b=+5,c=.5,d=5.,e=1e5,f=1E-5,g=NaN,h=Infinity,i=-Infinity 1", [[-2.0, 5.0, 0.5, 5.0, 1e5, 1e-5, None, None, None]]),
    ("t v=nan 1", "value: nan"), ("t v=inf 1", "value: inf"), ("t v=1f 1", "value: 1f"), ("t v=5s 1", "value: 5s"), ("t v='x' 1", "value: 'x'"), ("t v= 1", "value: "),
    ("t v=2024-01-01T00:00:00Z 1", "value: 2024-01-01T00:00:00Z"), ("t v=0x1f 1", "value: 0x1f"), ("t v=0x1fi 1", [["0x1f"]]),
    ("t v=7i,w=-9223372036854775807i 1", [[7, -9223372036854775807]]), ("t v=7i,w=-9223372036854775808i 1", "value: -9223372036854775808i"),
    ("t v=5t,w=-9223372036854775808t 1", "value: -9223372036854775808t"), ("t v=9223372036854775808i 1", "value: 9223372036854775808i"),
    ("t v=5u,w=9223372036854775807u 1", [[5, 9223372036854775807]]), ("t v=9223372036854775808u 1", "value: 9223372036854775808u"), ("t v=-1u 1", "value: -1u"),
    ("t a=t,b=tRuE,c=F,d=FALSE 1", [[True, True, False, False]]), (b't v="\xff" 1', "not UTF-8"), (b"t,s=\xff v=1 1", "not UTF-8"), (b"t \xff=1 1", "not UTF-8"),
    ("t a=5t,b=6n,c=7m 1", [["1970-01-01T00:00:00.000005Z", "1970-01-01T00:00:00.000000006Z", "1970-01-01T00:00:00.007000Z"]]),
    ("t v=1.25d 1", "decimal columns must be created manually"), ("t v=1 -5", "before 1970"), ("t v=1 -1t", "before 1970"), ("t v=1 9223372036854775808", "Could not parse timestamp"),
    ("t v=1 1.5", "Could not parse timestamp"), ("t v=1 abc", "Could not parse timestamp"), ("t v=1 -9223372036854775808", [[1.0]]),
    (b"t v==\x10\x00\x00\x00\x00\x00\x00\xf8?,w==\x10\n,= \x00\x00\xf8? 1", [[1.5, 1.5000001200994597]]), (b"t v==\x0e\x0a\x01\0\0\0\0 1", [[[]]]),
    (b"t v==\x10\0\0", "is cut off"), (b"t v==", "is cut off"), (b"t v==\x17\x02", "is cut off"), (b"t v==\x0e\x0a\x01\x05\0\0\0abc", "is cut off"), (b"t v==\x05 1", "unknown type 5"),
    (b"t v==\x0e\x09\x01\x01\0\0\0", "only double is supported"), (b"t v==\x0e\x0a\x21", "33 dimensions"), (b"t v==\x17\x02\x01} 1", "must be created manually"),
    ("t " + "v" * 127 + "=1 1", [[1.0]]), ("t " + "v" * 128 + "=1 1", "invalid column name"), ("t a.b=1 1", "invalid column name: a.b"), ("t a-b=1 1", "invalid column name: a-b"),
    ("t a\\=b=1,select=2,1a=3 1", [[1.0, 2.0, 3.0]]), (b"t v\x01=1 1", "invalid column name"), (b"t v=1\0 1", "field value is invalid")]


# --------------------------------------------------------------------------- http
@check
def grammar(s):
    for i, (line, want) in enumerate(GRAMMAR):
        body = re.sub(rb"(?m)^( *)t(?=[ ,]|$)", rb"\1gra%d" % i, line.encode() if isinstance(line, str) else line)
        if isinstance(want, str):
            expect(want in write(s, body)[1]["message"], True, (body[:100], want, write(s, body)[1]))
            expect(write(s, body)[0], 400, body[:100])
            continue
        ok(s, body)
        got = s.exec(f"select * from gra{i}")
        times = [k for k, c in enumerate(got["columns"]) if c["name"] == "timestamp"]
        expect([[v for k, v in enumerate(row) if k not in times] for row in got["dataset"]], want, body[:100])
    for name in "a?b a'b a\"b a\\\\b a/b a:b a)b a(b a+b a*b a%b a~b .ab ab. a\\,b".split() + ["x" * 128]:
        refused(s, f"{name} v=1 1", "invalid table name")
    for name in "a.b a-b a;b a!b a@b a#b a$b a&b a|b a<b a>b a[b a]b a{b a}b a^b a`b a\\=b \u00fcn\u00ef\u4e2d 1a select".split() + ["a\\ b"]:
        ok(s, f"{name} v=1 1")


@check
def makes_tables_and_columns(s):
    ok(s, "made,sy=a d=1.5,l=7i,u=8u,b=t,v=\"x y\",t=1700000000000000t,n=1700000000000000001n,w=0x1fi 1700000000000000000\n"
          "made,sy=b,s2=c d=2 1700000000000001000\n")
    expect(columns(s, "made"), {"sy": "SYMBOL", "d": "DOUBLE", "l": "LONG", "u": "LONG", "b": "BOOLEAN", "v": "VARCHAR", "t": "TIMESTAMP",
                                "n": "TIMESTAMP_NS", "w": "LONG256", "timestamp": "TIMESTAMP", "s2": "SYMBOL"})
    expect(s.rows("select * from made"), [
        ["a", 1.5, 7, 8, True, "x y", "2023-11-14T22:13:20.000000Z", "2023-11-14T22:13:20.000000001Z", "0x1f", None, "2023-11-14T22:13:20.000000Z"],
        ["b", 2.0, None, None, False, None, None, None, "", "c", "2023-11-14T22:13:20.000001Z"]])
    expect(s.rows("select partitionBy, designatedTimestamp from tables() where table_name = 'made'"), [["DAY", "timestamp"]])
    ok(s, "made,sy=c extra=\"new\" 1700000000000002000")
    expect(columns(s, "made")["extra"], "VARCHAR")
    expect(s.rows("select extra from made where extra is not null"), [["new"]])


@check
def nanosecond_tables(s):
    ok(s, "nano v=1 1700000000000000001n")
    expect(columns(s, "nano")["timestamp"], "TIMESTAMP_NS")
    expect(s.rows("select timestamp from nano"), [["2023-11-14T22:13:20.000000001Z"]])


@check
def precisions(s):
    for name, stamp in (("", 1700000000000000000), ("n", 1700000000000000000), ("us", 1700000000000000), ("ms", 1700000000000), ("s", 1700000000), ("m", 28333333), ("h", 472222)):
        ok(s, f"prec,p={name}x v=1 {stamp}", path=f"/api/v2/write?precision={name}")
    expect([r[0][:13] for r in s.rows("select timestamp from prec")], ["2023-11-14T22"] * 7)
    refused(s, "prec v=1 1", "unsupported precision", 0, path="/write?precision=x")
    before = time.time()
    ok(s, "prec,p=now v=1")
    got = s.rows("select cast(timestamp as long) / 1000000 from prec where p = 'now'")[0][0]
    if not before - 2 <= got <= time.time() + 2:
        raise AssertionError(f"the server's clock says {got}")


@check
def field_named_timestamp(s):
    ok(s, "fts a=1,timestamp=1700000000000000t 5")
    expect(s.rows("select timestamp from fts"), [["2023-11-14T22:13:20.000000Z"]])
    refused(s, "fts2 timestamp=\"x\" 5", "cast error from protocol type: STRING to column type: TIMESTAMP")


@check
def conversions(s):
    s.exec("create table conv (b byte, sh short, i int, l long, f float, d double, da date, t timestamp, n timestamp_ns, de decimal(10,2), sy symbol, v varchar, st string, c char,"
           " u uuid, ip ipv4, g geohash(4c), w long256, bo boolean, a double[], ts timestamp) timestamp(ts) partition by day")
    taken = {
        "5i": "b sh i l f d da t n de sy", "1.5": "f d de sy", "t": "bo b sh i l f d sy", "\"x\"": "v st sy c", "\"\"": "v st sy c u ip de g",
        "\"11111111-2222-3333-4444-555555555555\"": "u v", "\"1.2.3.4\"": "ip", "\"u33d8\"": "g", "\"1.25\"": "de", "5t": "t n da sy", "5n": "t n da sy", "5m": "t n da sy",
        "0x1fi": "w sy", "1.25d": "de", "2d": "de"}
    every = "b sh i l f d da t n de sy v st c u ip g w bo a".split()
    for value, names in taken.items():
        for name in every:
            status, _ = write(s, f"conv {name}={value} 1000")
            takes = name in names.split() or (value.startswith('"') and name in ("v", "st", "sy"))
            expect(status, 204 if takes else 400, f"{value} into {name}")
    refused(s, "conv b=300i", "line protocol value: 300 is out bounds of column type: BYTE")
    refused(s, "conv de=1.255d", "value error: converting 1.255 to DECIMAL(10,2) will result in loss of precision")
    refused(s, "conv l=1.5", "table: conv, column: l; cast error from protocol type: FLOAT to column type: LONG")
    refused(s, "conv g=\"zz\"", "'zz' is no GEOHASH(4c)")
    refused(s, "conv c=\"xy\"", "'xy' is no CHAR")
    refused(s, "conv nodec=1.5d", "decimal columns must be created manually")
    s.exec("truncate table conv")
    ok(s, "conv sy=7i,g=\"u33d8\",t=1700000000000000001n,n=5m,d=2i,de=\"1.20\" 0")
    expect(s.rows("select sy, g, t, n, d, de from conv"), [["7", "u33d", "2023-11-14T22:13:20.000000Z", "1970-01-01T00:00:00.005000000Z", 2.0, "1.20"]])


@check
def binary_values(s):
    two = struct.pack("<BBiidd", 10, 2, 1, 2, 1.5, float("nan"))
    body = b"bina d==\x10" + struct.pack("<d", 0.1) + b",a==\x0e" + two + b" 1000\n"
    ok(s, body)
    expect(s.rows("select d, a from bina"), [[0.1, [[1.5, None]]]])
    refused(s, b"bina a==\x0e" + struct.pack("<BBid", 10, 1, 1, 1.0) + b" 1000\n", "cast error from protocol type: DOUBLE[] to column type: DOUBLE[][]")
    refused(s, b"bina a==\x0e" + struct.pack("<BBid", 10, 1, 5, 1.0), "is cut off")
    s.exec("create table bdec (x decimal(10,3), ts timestamp) timestamp(ts) partition by day")
    ok(s, b"bdec x==\x17\x02\x01} 1\nbdec x==\x17\x00\x02\xff\x00 2\nbdec x==\x17\x02\x00 3\n")
    expect(s.rows("select x from bdec order by ts"), [["1.250"], ["-256.000"], [None]])


@check
def all_or_nothing(s):
    ok(s, "aon v=1 1000")
    answer = refused(s, "aon v=2 2000\n\n# note\nother v=1 1\naon v=\"x\" 3000\naon v=4 x\n", "error in line 5", 5)
    expect([e["line"] for e in answer["errors"]], [5, 6])
    if not answer["errorId"] or answer["code"] != "invalid":
        raise AssertionError(answer)
    expect(s.rows("select count() from aon"), [[1]])
    expect(s.rows("select count() from tables() where table_name = 'other'"), [[0]])
    many = "".join(f"aon v=\"{i}\" 1\n" for i in range(50))
    answer = refused(s, many, "and 40 more")
    expect(len(answer["errors"]), 10)
    ok(s, "aon v=5 5000\nother v=1 1\n" * 3)
    expect(s.rows("select count() from aon"), [[4]])


@check
def a_byte_order_mark_is_no_part_of_a_name(s):
    mark = "\ufeff"
    ok(s, mark + "marked v=1 1000\nmarked v=2 2000\n" + mark + "marked v=3 3000")
    ok(s, mark + "# a comment\n" + mark + "\nmarked v=4 4000\n" + mark)
    ok(s, mark + "  marked v=5 5000")
    expect(s.rows("select v from marked"), [[1.0], [2.0], [3.0], [4.0], [5.0]])
    expect(s.rows("select table_name from tables() where table_name ilike '%marked%'"), [["marked"]])
    refused(s, f"mar{mark}ked v=1 1", "invalid table name")
    refused(s, f"marked {mark}v=1 1", "invalid column name")
    refused(s, f"marked,a{mark}=x v=1 1", "invalid column name")
    refused(s, mark[:1].encode()[:2] + b"x v=1 1", "not UTF-8")
    with line_socket(s) as c:
        for piece in (mark.encode()[:1], mark.encode()[1:] + b"marked v=6 6000\n"):
            c.sendall(piece)
            time.sleep(0.05)
        wait_rows(s, "marked", 6)


@check
def a_request_over_the_limit_of_columns_makes_none(s):
    ok(s, "full " + ",".join(f"c{i}=1i" for i in range(4090)) + " 1000")
    had = columns(s, "full")
    refused(s, "full n0=1i,n1=1i,n2=1i,n3=1i,n4=1i,n5=1i 1000", "a table may have 4096 columns, no more for: n5")
    refused(s, "".join(f"full n{i}=1i 1000\n" for i in range(6)), "no more for: n5", 6)
    refused(s, "full2 v=1 1\nfull n0=1i,n1=1i,n2=1i,n3=1i,n4=1i,n5=1i 1000", "no more for: n5", 2)
    expect(columns(s, "full"), had)
    expect(s.rows("select count() from tables() where table_name = 'full2'"), [[0]])
    ok(s, "full n0=1i,n1=1i,n2=1i,n3=1i,n4=1i,c7=2i 2000")
    expect(len(columns(s, "full")), 4096)
    expect(s.rows("select c7, n4 from full"), [[1, None], [2, 1]])
    refused(s, "full3 " + ",".join(f"c{i}=1i" for i in range(4096)) + " 1000", "no more for: c4095")
    expect(s.rows("select count() from tables() where table_name = 'full3'"), [[0]])


@check
def bad_requests(s):
    for body, message in (("br", "No fields were provided"), ("br,a x=1", "Symbol value is missing: a"), ("br x=abc", "Field: x; value: abc"), ("br x=1 1.5", "Could not parse timestamp: 1.5"),
                          ("br x=1 -5", "before 1970"), ("b*r x=1", "invalid table name"), ("br x-y=1", "invalid column name: x-y"), ("br x=\"a", "is not closed"), (b"br x=\"\xff\" 1", "not UTF-8")):
        refused(s, body, message)
    refused(s, "br x=1 9223372036854775807", "long overflow", path="/write?precision=h")
    refused(s, "br x=1", "gzip", 0, 415, headers={"Content-Encoding": "deflate"})
    refused(s, "br x=1", "not gzip", 0, headers={"Content-Encoding": "gzip"})
    expect(write(s, ""), (204, None))
    expect(write(s, "\n\n"), (204, None))
    c = http.client.HTTPConnection(*s.http.rsplit(":", 1))
    c.request("GET", "/write")
    expect(c.getresponse().status, 405)
    s.exec("create table vb (a int, ts timestamp) timestamp(ts) partition by day")
    s.exec("create view vv as (select * from vb)")
    refused(s, "vv a=1i", "cannot modify view")


@check
def instance_that_takes_no_writes(s):
    with other_server(s, http_security_readonly="true") as t:
        status, answer = write(t, "ro v=1")
        expect(status, 421)
        expect((answer["code"], "line" in answer), ("not accepting writes", False))


@check
def limits_and_requests_in_turn(s):
    """What passes by itself answers 5xx, which clients send again."""
    with other_server(s, http_ilp_connection_limit="1") as t:
        slow = t.connect()
        slow.sendall(b"POST /write HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
        time.sleep(0.2)
        status, answer = write(t, "lim v=1 1")
        expect(status, 503)
        expect("http.ilp.connection.limit" in answer["message"], True, answer)
        slow.sendall(b"lim v=1 1\n")
        expect(slow.recv(1000)[:12], b"HTTP/1.1 204")
        ok(t, "lim v=2 2000")
        slow.close()
        expect(t.rows("select count() from lim"), [[2]])
    one = b"POST /write HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    c = s.connect()
    c.sendall(b"".join(one % len(b) + b for b in [b"pipe v=%d %d\n" % (i, i * 1000) for i in range(50)] + [b"pipe v=bad"]))
    text = b""
    while text.count(b"HTTP/1.1 ") < 51:
        text += c.recv(65536)
    expect([text.count(b"HTTP/1.1 204"), text.count(b"HTTP/1.1 400")], [50, 1])
    expect(s.rows("select count() from pipe"), [[50]])


@check
def settings_of_what_is_made(s):
    with other_server(s, line_float_default_column_type="FLOAT", line_integer_default_column_type="INT", line_timestamp_default_column_type="TIMESTAMP_NS",
                      line_timestamp_default_column_name="at", line_default_partition_by="MONTH") as t:
        ok(t, "made f=1.5,i=7i,t=5t,timestamp=\"plain\" 1000")
        expect(columns(t, "made"), {"f": "FLOAT", "i": "INT", "t": "TIMESTAMP_NS", "timestamp": "VARCHAR", "at": "TIMESTAMP_NS"})
        expect(t.rows("select partitionBy, designatedTimestamp from tables() where table_name = 'made'"), [["MONTH", "at"]])
        refused(t, "made2 i=2147483648i", "out bounds of column type: INT")
        ok(t, "made3 v=1,at=5t 1000")
        expect(t.rows("select at from made3"), [["1970-01-01T00:00:00.000005000Z"]])
    with other_server(s, line_auto_create_new_columns="false") as t:
        t.exec("create table there (v double, ts timestamp) timestamp(ts) partition by day")
        refused(t, "none v=1", "creating new tables is disabled")
        refused(t, "there w=1", "creating new columns is disabled")
        ok(t, "there v=1 1")
    with other_server(s, line_log_message_on_error="false") as t:
        refused(t, "secret v=hidden", "hidden")
        expect("hidden" in t.tail(), False)


@check
def settings_that_are_refused(s):
    for key, value, why in (("line_timestamp_default_column_name", "a-b", "line.timestamp.default.column.name"), ("line_tcp_auth_db_path", "conf/nothing.txt", "nothing.txt")):
        try:
            with other_server(s, **{key: value}):
                raise AssertionError(f"{key}={value}: the server started")
        except RuntimeError as e:
            expect(why in str(e), True, str(e))


@check
def bodies(s):
    rows = "".join(f"bod,s=k{i % 10} v={i} {i * 1000}\n" for i in range(50000))
    ok(s, gzip.compress(rows.encode()), headers={"Content-Encoding": "gzip"})
    expect(s.rows("select count(), sum(v), count_distinct(s) from bod"), [[50000, 1249975000.0, 10]])
    c = http.client.HTTPConnection(*s.http.rsplit(":", 1))
    c.request("POST", "/write", iter([rows[:1000].encode(), rows[1000:].encode()]), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
    expect(c.getresponse().status, 204)
    form = b"--x\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\nbod,s=form v=1 1\n\r\n--x--\r\n"
    expect(write(s, form, headers={"Content-Type": "multipart/form-data; boundary=x"})[0], 204)
    expect(s.rows("select count() from bod"), [[100001]])


@check
def wide_tables(s):
    names = [f"c{i}" for i in range(2000)]
    ok(s, "wide " + ",".join(f"{n}={i}i" for i, n in enumerate(names)) + " 1000\nwide " + ",".join(f"{n}={i}i" for i, n in reversed(list(enumerate(names)))) + " 2000\n")
    expect(s.rows("select c0, c999, c1999 from wide"), [[0, 999, 1999]] * 2)
    ok(s, "wide C5=7i,c5=8i,c6=1i 3000")
    expect(s.rows("select c5, c6, c7 from wide limit -1"), [[7, 1, None]])


@check
def many_writers_and_readers(s):
    """A row that was acknowledged is there for the next query, whoever asks; writers make the same columns at once."""
    wrong = []

    def run(k):
        for i in range(40):
            if write(s, f"mw,w=w{k} v{i % 5}={i}i {i * 8 + k}000\n")[0] != 204:
                wrong.append("refused")
            if s.rows(f"select count() from mw where w = 'w{k}'")[0][0] != i + 1:
                wrong.append(f"writer {k} misses row {i}")

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    expect(wrong, [])
    expect(s.rows("select count() from mw"), [[320]])


# ---------------------------------------------------------------------------- tcp
def line_socket(s):
    host, port = s.line.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def wait_rows(s, table, n):
    end = time.monotonic() + 20
    got = None
    while time.monotonic() < end:
        try:
            got = s.rows(f"select count() from {table}")[0][0]
        except RuntimeError:
            got = None
        if got == n:
            return
        time.sleep(0.02)
    raise AssertionError(f"{table}: {got} rows, want {n}")


@check
def tcp_lines(s):
    with line_socket(s) as c:
        c.sendall(b"tcp,s=a v=1 1000\ntcp,s=b v=2 20")
        wait_rows(s, "tcp", 1)
        c.sendall(b"00\n")
        wait_rows(s, "tcp", 2)
    rows = b"".join(b"tcpbig,s=k%d v=%d %d\n" % (i % 7, i, i * 1000) for i in range(200000))
    with line_socket(s) as c:
        c.sendall(rows)  # and closed at once: what was sent is stored
    wait_rows(s, "tcpbig", 200000)
    expect(s.rows("select sum(v) from tcpbig"), [[19999900000.0]])


@check
def tcp_errors(s):
    with line_socket(s) as c:
        c.sendall(b"tcperr v=1 1000\ntcperr v=\"x\" 2000\ntcperr v=3 3000\n")
        text = b""
        while True:
            more = c.recv(1000)
            if not more:
                break
            text += more
    if b"cast error from protocol type: STRING" not in text:
        raise AssertionError(text)
    wait_rows(s, "tcperr", 1)


def told(c):
    """What the server says before it closes."""
    text = b""
    while more := c.recv(1000):
        text += more
    return text.decode()


def metrics(s):
    host, port = s.health.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port))
    c.request("GET", "/metrics")
    return {m[1]: int(m[2]) for m in re.finditer(r"(?m)^(\w+) (-?\d+)$", c.getresponse().read().decode())}


@check
def tcp_counts_what_is_dropped(s):
    with other_server(s, metrics_enabled="true") as t:
        with line_socket(t) as c:
            c.sendall(b"cnt v=1 1\ncnt v=2 2000\ncnt v=bad 3000\ncnt v=4 4000\n")
            expect("value: bad" in told(c), True)
        ok(t, "cnt v=5 5000\n")
        refused(t, "cnt v=bad", "value: bad")
        time.sleep(0.2)
        got = metrics(t)
        expect([got[k] for k in ("almanac_line_tcp_rows_total", "almanac_line_tcp_dropped_lines_total", "almanac_line_tcp_disconnects_total", "questdb_line_tcp_connections",
                                 "almanac_line_http_rows_total", "almanac_line_http_refused_requests_total", "questdb_line_http_connections")], [2, 2, 1, 0, 1, 1, 0])
        expect(got["questdb_line_tcp_recv_bytes_total"], 51)
    with other_server(s, metrics_enabled="true", line_tcp_disconnect_on_error="false") as t:
        with line_socket(t) as c:
            c.sendall(b"cnt v=1 1\ncnt v=bad 3000\ncnt v=4 4000\nGET / HTTP/1.1\r\n\r\n")
            wait_rows(t, "cnt", 2)
        expect(metrics(t)["almanac_line_tcp_dropped_lines_total"], 2)


@check
def bad_lines_leave_nothing(s):
    """What a line that is refused would have made is not there for the next line either, however lines come together."""
    with other_server(s, line_tcp_disconnect_on_error="false") as t:
        for apart in (False, True):
            table = f"left{int(apart)}"
            with line_socket(t) as c:
                lines = [line.replace("left", table) for line in ("left w=1,v=1 -5n\n", "left v=\"x\" 1000\n", "left b=1,v=5 1\n", "left b=\"y\",v=\"z\" 2000\n")]
                for part in lines if apart else ["".join(lines)]:
                    c.sendall(part.encode())
                    time.sleep(0.3 * apart)
                wait_rows(t, table, 2)
            expect(t.rows(f"select v, timestamp, b from {table}"), [["x", "1970-01-01T00:00:00.000001Z", None], ["z", "1970-01-01T00:00:00.000002Z", "y"]])
            expect(columns(t, table), {"v": "VARCHAR", "timestamp": "TIMESTAMP", "b": "VARCHAR"})


@check
def rest_of_a_bad_line(s):
    """A line found bad before its end has come: the rest of it is no line of its own."""
    with other_server(s, line_tcp_disconnect_on_error="false", metrics_enabled="true") as t:
        with line_socket(t) as c:
            for part in (b"rest v=1 1\nrest v=bad,", b"other x=5 1\nrest v=2 2000\nrest v=", b"3 30"):
                c.sendall(part)
                time.sleep(0.3)
            wait_rows(t, "rest", 2)
        time.sleep(0.3)
        expect(t.rows("select count() from tables()"), [[1]])
        expect([metrics(t)[k] for k in ("almanac_line_tcp_rows_total", "almanac_line_tcp_dropped_lines_total")], [2, 2])


@check
def tcp_settings(s):
    with other_server(s, line_tcp_timestamp="ms", line_tcp_max_measurement_size="64", line_tcp_net_connection_timeout="300ms", line_tcp_net_connection_limit="2") as t:
        with line_socket(t) as c:
            c.sendall(b"tset v=1 1700000000000\n")
            wait_rows(t, "tset", 1)
            expect(t.rows("select timestamp from tset"), [["2023-11-14T22:13:20.000000Z"]])
            c.sendall(b"tset v=" + b"1" * 100)
            expect("line.tcp.max.measurement.size" in told(c), True)
        with line_socket(t) as c:
            c.settimeout(10)
            expect(told(c), "")  # idle


KEY = ("5UjEMuA0Pj5pjK8a-fa24dyIf-Es5mYny3oE_Wmus48", "fLKYEaoEb9lrn3nkwLDA-M_xnuFOdSt9y0Z7_vWSHLU", "Dt5tbS1dEDMSYfym3fgMv0B99szno-dFc1rYF9t0aac")
log_search.note(KEY[0])


@check
def tcp_login(s):
    """The exchange by hand as far as it goes without a key, the rest by the official client."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="almanac-test-"))
    (root / "conf").mkdir()
    (root / "conf" / "keys.txt").write_text(f"# who\ntestUser1 ec-p-256-sha256 {KEY[1]} {KEY[2]}\n")
    with Server(binary=s.binary, root=root, env={"ALMANAC_LINE_TCP_AUTH_DB_PATH": "conf/keys.txt"}) as t:
        for kid in (b"testUser1", b"nobody", b""):
            for answer in (b"", b"x" * 88, base64.b64encode(bytes(64)), base64.b64encode(bytes(range(64))), b"y" * 300):
                with line_socket(t) as c:
                    c.sendall(kid + b"\n")
                    challenge = b""
                    while len(challenge) < 513:
                        challenge += c.recv(1000)
                    expect((len(challenge), challenge[-1:], challenge[:-1].isascii() and challenge[:-1].decode().isprintable()), (513, b"\n", True))
                    c.sendall(answer + b"\nlogin v=1 1\n")
                    expect("login failed" in told(c), True, (kid, answer))
        with line_socket(t) as c:
            c.sendall(b"login v=1 1000" * 50)
            expect("login failed" in told(c), True)
        expect(t.rows("select count() from tables()"), [[0]])
        if official is None:
            raise Skip("questdb is not installed")
        with official.Sender.from_conf(f"tcp::addr={t.line};username=testUser1;token={KEY[0]};token_x={KEY[1]};token_y={KEY[2]};") as sender:
            for i in range(3):
                sender.row("login", columns={"v": float(i)}, at=official.TimestampNanos(i * 1000))
        wait_rows(t, "login", 3)
        expect(t.rows("select sum(v) from login"), [[3.0]])
    shutil.rmtree(root)


# ------------------------------------------------------------------------ clients
@check
def official_python_client(s):
    if official is None:
        raise Skip("questdb is not installed")
    import datetime
    import numpy
    when = datetime.datetime(2024, 3, 1, 9, tzinfo=datetime.timezone.utc)
    for version in (None, 1, 2, 3):
        table = f"cli{version}"
        more = "" if version is None else f"protocol_version={version};"
        with official.Sender.from_conf(f"http::addr={s.http};{more}") as sender:
            columns_ = {"price": 2615.54, "n": 7, "ok": True, "note": "h\u00e9 \"q\" \\ , =", "at": when}
            if version in (None, 2, 3):
                columns_["book"] = numpy.array([[1.0, 2.0], [3.0, 4.0]])
            for i in range(3):
                sender.row(table, symbols={"symbol": "ETH USD", "side": "a,b=c"}, columns=columns_, at=when + datetime.timedelta(seconds=i))
            sender.flush()
            want = ["ETH USD", "a,b=c", 2615.54, 7, True, "h\u00e9 \"q\" \\ , ="]
            expect(s.rows(f"select symbol, side, price, n, ok, note from {table}"), [want] * 3, table)
            expect(s.rows(f"select cast(at as timestamp) from {table} limit 1"), [["2024-03-01T09:00:00.000000Z"]], table)
            if "book" in columns_:
                expect(s.rows(f"select book from {table} limit 1"), [[[[1.0, 2.0], [3.0, 4.0]]]], table)
    with official.Sender.from_conf(f"tcp::addr={s.line};") as sender:
        sender.row("clitcp", symbols={"s": "x"}, columns={"v": 1.5}, at=when)
        sender.flush()
    wait_rows(s, "clitcp", 1)
    try:
        with official.Sender.from_conf(f"http::addr={s.http};") as sender:
            sender.row("cliNone", columns={"price": "text"}, at=when)
            sender.flush()
        raise AssertionError("a bad row was taken")
    except official.IngressError as e:
        if "cast error" not in str(e):
            raise


@check
def influxdb_clients(s):
    """The client of InfluxDB 2, unchanged, with and without a login; and what Telegraf sends, by hand."""
    with other_server(s, http_user="joe", http_password="s:ecret") as t:
        login = base64.b64encode(b"joe:s:ecret").decode()
        for header, status in (("Token joe:s:ecret", 204), ("token joe:s:ecret", 204), ("Basic " + login, 204), ("Token joe", 401), ("Token joe:wrong", 401), ("Token :", 401), ("Token ", 401), ("Bearer joe:s:ecret", 401)):
            expect(write(t, "log v=1", headers={"Authorization": header})[0], status, header)
        # outputs.influxdb makes its database first, and goes on when that fails; outputs.influxdb_v2 packs its lines
        expect(write(t, "q=CREATE+DATABASE+telegraf", path="/query?q=CREATE+DATABASE+telegraf")[0], 405)  # /query lists statements, to GET
        body = b"cpu,cpu=cpu0,host=h\\ 1 usage_idle=98.5,usage_user=1i,ok=true,n=5u,state=\"run ning\" 1700000000000000000\n"
        expect(write(t, body, path="/write?consistency=any&db=telegraf&rp=", headers={"Authorization": "Basic " + login, "Content-Type": "text/plain; charset=utf-8", "User-Agent": "Telegraf/1.30"})[0], 204)
        expect(write(t, gzip.compress(body), path="/api/v2/write?bucket=b&org=o&precision=ns", headers={"Authorization": "Token joe:s:ecret", "Content-Encoding": "gzip"})[0], 204)
        got = [json.loads(t.get("/exec", headers={"Authorization": "Basic " + login}, query="select * from cpu")[2])["dataset"]]
        expect(got, [[["cpu0", "h 1", 98.5, 1, True, 5, "run ning", "2023-11-14T22:13:20.000000Z"]] * 2])
        if influx is not None:
            write_points(t, "joe:s:ecret")
            expect(json.loads(t.get("/exec", headers={"Authorization": "Basic " + login}, query="select location, level, n, ok, note, timestamp from h2o")[2])["dataset"], H2O)
    if influx is None:
        raise Skip("influxdb-client is not installed")
    write_points(s, "anything")
    expect(s.rows("select location, level, n, ok, note, timestamp from h2o"), H2O)


H2O = [["coyote_creek", 1.5, 7, True, "a \"b\" , =", "2023-11-14T22:13:20.000000Z"], ["x y,z=w", 2.0, None, False, None, "2023-11-14T22:13:20.001000Z"]]


def write_points(s, token):
    from influxdb_client.client.write_api import SYNCHRONOUS
    for packed in (False, True):
        with influx.InfluxDBClient(url=s.url, token=token, org="o", enable_gzip=packed) as client:
            expect((client.ping(), client.version()), (True, "v2.7.4"))
            point = influx.Point("h2o").tag("location", "coyote_creek").field("level", 1.5).field("n", 7).field("ok", True).field("note", "a \"b\" , =")
            rows = {False: [point.time(1700000000000000000)], True: {"measurement": "h2o", "tags": {"location": "x y,z=w"}, "fields": {"level": 2.0}, "time": 1700000000001000000}}
            client.write_api(write_options=SYNCHRONOUS).write(bucket="b", record=rows[packed])
            try:
                client.write_api(write_options=SYNCHRONOUS).write(bucket="b", record="h2o level=\"text\" 1")
                raise AssertionError("a bad row was taken")
            except influx.rest.ApiException as e:
                expect((e.status, "cast error" in e.body.decode() if isinstance(e.body, bytes) else "cast error" in str(e.body)), (400, True), str(e))


def rows_survive_a_kill(s, tables):
    """Acknowledged rows of the checks before."""
    counts = {t: s.rows(f"select count() from {t}") for t in tables}
    s.kill()
    s.start()
    for table, want in counts.items():
        expect(s.rows(f"select count() from {table}"), want, f"after a kill: {table}")


def main():
    suite = Suite(__doc__)
    with Server(binary=suite.o.binary, preset=suite.o.preset) as s:
        suite.checks(s)
        if not suite.o.names:
            for table in ("made", "bod", "wide", "mw", "tcpbig"):
                suite.one("rows_survive_a_kill", rows_survive_a_kill, s, [table])
    suite.close()


if __name__ == "__main__":
    main()
