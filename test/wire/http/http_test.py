#!/usr/bin/env python3
"""REST over raw sockets and http.client: framing, /exec and /exp bodies as recorded, /imp, errors.

Recorded cases: test/wire/http/*.case. A case is a request (method, path, headers, body) and the
status, chosen headers and exact body it gets; `--record` writes the answers anew for review.
"""
import http.client, json, pathlib, re, socket, urllib.parse

from lib.checks import Suite, check, expect
from lib.server import Server
from upload import imp

HERE = pathlib.Path(__file__).resolve().parent

SETUP = ["create table h (ts timestamp, sym symbol, side symbol, price double, qty int, big long, note varchar, ok boolean, f float,"
         " d date, n timestamp_ns, u uuid, ip ipv4, c char, b byte, sh short, s string) timestamp(ts) partition by day",
         "insert into h values ('2024-03-01T09:00:00.000001Z','A','buy',1.5,10,10000000000,'it''s \"quoted\"',true,0.1f,'2024-03-01T00:00:00.123Z',"
         "'2024-03-01T09:00:00.000000001Z','11111111-2222-3333-4444-555555555555','1.2.3.4','x',1,2,'line\nbreak'),"
         "('2024-03-01T09:01:00.000000Z','B',null,null,null,null,null,false,null,null,null,null,null,null,0,0,null),"
         "('2024-03-02T00:00:00.000000Z','ünï','sell',12345678.9,-5,-1,'',true,-2.5f,'1969-12-31','1970-01-01','00000000-0000-0000-0000-000000000001',"
         "'255.255.255.255','\"',-128,-32768,'tab\there')"]


# ------------------------------------------------------------------ recorded cases
def read_cases(path):
    """[(name, request lines, expected text)]"""
    for block in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
        head, _, rest = block.partition("\n")
        request, _, answer = rest.partition("--- answer\n")
        yield head.strip(), request.strip("\n"), answer.rstrip("\n")


def run_case(server, request):
    lines = request.split("\n")
    method, path = lines[0].split(" ", 1)
    headers, body = {}, None
    for i, line in enumerate(lines[1:], 1):
        if not line:
            body = "\r\n".join(lines[i + 1:]).encode()
            break
        k, _, v = line.partition(": ")
        headers[k] = v
    host, port = server.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    c.request(method, urllib.parse.quote(path, safe="/?&=%+,:;()*'!~$@"), body, headers)
    r = c.getresponse()
    text = r.read().decode()
    out = [f"{r.status} {r.reason}"]
    for k in ("Content-Type", "Content-Disposition", "Location", "Allow", "WWW-Authenticate"):
        if r.headers.get(k):
            v = re.sub(r"almanac-query-\d+", "almanac-query-N", r.headers[k])
            out.append(f"{k}: {v}")
    out.append("")
    text = re.sub(r'"(compiler|execute)":\d+', r'"\1":N', text)
    out += text.replace("\r\n", "<CRLF>\n").split("\n")
    return "\n".join(out).rstrip("\n")


def recorded(suite, server):
    for path in sorted(HERE.glob("*.case")):
        out = []
        for name, request, want in read_cases(path):
            got = run_case(server, request)
            out.append(f"=== {name}\n{request}\n--- answer\n{got}\n")
            if suite.wants(f"{path.name}: {name}") and not suite.o.record:
                suite.that(got == want, f"{path.name}: {name}", f"\n  got\n{got}\n  want\n{want}")
        if suite.o.record:
            path.write_text("\n".join(out))


# ------------------------------------------------------------------ framing over raw sockets
def raw(server, data, shut=False, parts=None):
    s = server.connect()
    for part in parts or [data]:
        s.sendall(part)
    got = b""
    s.settimeout(5)
    try:
        while True:
            b = s.recv(65536)
            if not b:
                break
            got += b
    except socket.timeout:
        pass
    s.close()
    return got


GET = b"GET /exec?query=select%201 HTTP/1.1\r\nHost: a\r\n"


@check
def connection_close_is_honoured(s):
    got = raw(s, GET + b"Connection: close\r\n\r\n")
    expect(got.startswith(b"HTTP/1.1 200 OK\r\n"), True)
    expect(b"Connection: close" in got, True)


@check
def http_1_0_is_not_chunked_and_closes(s):
    got = raw(s, b"GET /exec?query=select%20x%20from%20long_sequence(200000) HTTP/1.0\r\n\r\n")
    expect(b"chunked" in got, False)
    expect(got.endswith(b'"count":200000}'), True, got[-40:])


@check
def pipelined_requests_are_all_answered_in_order(s):
    data = b"".join(b"GET /exec?query=select%%20%d HTTP/1.1\r\nHost: a\r\n%s\r\n" % (i, b"Connection: close\r\n" if i == 49 else b"")
                    for i in range(50))
    got = raw(s, data)
    expect(re.findall(rb'"dataset":\[\[(\d+)\]\]', got), [b"%d" % i for i in range(50)])


@check
def requests_split_at_any_byte_are_answered(s):
    data = GET + b"Connection: close\r\n\r\n"
    for cut in range(1, len(data), 7):
        got = raw(s, b"", parts=[data[:cut], data[cut:]])
        expect(got.startswith(b"HTTP/1.1 200"), True, cut)


@check
def malformed_requests_get_400_and_the_server_lives(s):
    bad = [b"GARBAGE\r\n\r\n", b"GET  HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
           b"GET / HTTP/1.1\r\nHost: a\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHo st: a\r\n\r\n",
           b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n", b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /exec?query=%4 HTTP/1.1\r\nHost: a\r\n\r\n",
           b"POST /exec HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
           b"POST /exec HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n", b"POST /exec HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
           b"POST /exec HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           b"POST /write HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
           b"POST /exec HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"]
    for data in bad:
        got = raw(s, data)
        expect(re.match(rb"HTTP/1.1 (400|501|505) ", got) is not None, True, (data, got[:60]))
    expect(s.rows("select 1"), [[1]])


@check
def long_lines_are_414_and_431(s):
    expect(raw(s, b"GET /exec?query=" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n").split(b" ")[1], b"414")
    expect(raw(s, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 70000 + b"\r\n\r\n").split(b" ")[1], b"431")


@check
def statements_of_any_length_come_as_a_form(s):
    sql = "select " + " + ".join(["1"] * 400) + " as n, '" + "x" * 200000 + "' as t"
    host, port = s.http.rsplit(":", 1)
    for chunked in (False, True):
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        body = urllib.parse.urlencode({"query": sql, "nm": "true"}).encode()
        c.request("POST", "/exec", iter([body[:1000], body[1000:]]) if chunked else body,
                  {"Content-Type": "application/x-www-form-urlencoded"}, encode_chunked=chunked)
        r = c.getresponse()
        expect(json.loads(r.read()), {"dataset": [[400, "x" * 200000]], "count": 1}, chunked)


def post_json(s, body, path="/exec"):
    """(status, answer as JSON or text) of a POST; a body that is no bytes is written as JSON."""
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    c.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), {"Content-Type": "application/json; charset=utf-8"})
    r = c.getresponse()
    text = r.read().decode()
    return r.status, json.loads(text) if r.headers["Content-Type"].startswith("application/json") else text


def bound(s, sql, *params, **more):
    return post_json(s, {"query": sql, "params": params, "nm": True, **more})


@check
def parameters_of_every_type_come_as_json(s):
    cols = {"ts": "timestamp", "sym": "symbol", "i": "int", "l": "long", "d": "double", "f": "float", "o": "boolean", "v": "varchar", "s": "string", "c": "char",
            "u": "uuid", "ip": "ipv4", "x": "long256", "dec": "decimal(38,4)", "g": "geohash(4c)", "bin": "binary", "a": "double[]", "aa": "double[][]",
            "dt": "date", "n": "timestamp_ns", "b": "byte", "sh": "short"}
    row = ["2026-01-01T00:00:00.000000Z", "S", 1, 9223372036854775807, 1.5, 0.1, True, "v\u00e9\U0001f600", 's\n"\\/\t', "x", "11111111-2222-3333-4444-555555555555",
           "1.2.3.4", "0x1f", "1234567890123456789012345678901234.5678", "u33d", "AAEC", [1.0, 2.5, None], [[1.0, 2.0], [3.0, 4.0]],
           "2026-01-02T00:00:00.000Z", "2026-01-01T00:00:00.000000001Z", 7, 8]
    nulls = row[:1] + [None] * 21
    s.exec(f"create table jp ({', '.join(f'{c} {t}' for c, t in cols.items())}) timestamp(ts) partition by day")
    insert = f"insert into jp values ({', '.join(f'${i}' for i in range(1, len(cols) + 1))})"
    expect(bound(s, insert, *row), (200, {"dml": "OK"}))
    expect(bound(s, insert, *nulls), (200, {"dml": "OK"}))
    nulls[6], nulls[9], nulls[12], nulls[20], nulls[21] = False, "", "", 0, 0  # types without a null of their own
    expect(bound(s, "select * from jp where ts = $1", row[0]), (200, {"dataset": [row, nulls], "count": 2}))
    for i, name in enumerate(cols):
        if name not in ("a", "aa", "bin"):  # every value finds its own row
            expect(bound(s, f"select count() from jp where {name} = $1 and l = $2", row[i], row[3]), (200, {"dataset": [[1]], "count": 1}), name)
    digits = b'{"query": "select $1::decimal(38,4) d, $2::long l", "params": [1234567890123456789012345678901234.5678, -9223372036854775807], "nm": true}'
    expect(post_json(s, digits)[1]["dataset"], [["1234567890123456789012345678901234.5678", -9223372036854775807]])
    expect(bound(s, "select count() from jp where sym = any($1)", ["T", 'a, "b"', None, "S"])[1]["dataset"], [[1]])
    expect(bound(s, "select x from long_sequence($1)", 5, limit="-2")[1]["dataset"], [[4], [5]])
    expect(bound(s, "update jp set i = $1 where l = $2", 5, row[3])[1], {"dml": "OK", "updated": 1})
    expect(post_json(s, {"query": "select $1::int x", "params": [3]}, "/exp"), (200, '"x"\r\n3\r\n'))
    expect(s.get("/exec", query="select $1::int x", params="[3]", nm="true")[2], b'{"dataset":[[3]],"count":1}')


@check
def bad_parameters_and_bodies_are_told_with_their_place(s):
    s.exec("create table jb (ts timestamp, i int) timestamp(ts) partition by day")
    for sql, params, want in (("select i from jb where i = $1", ["abc"], ("parameter $1: inconvertible value: `abc` [STRING -> INT]", 27)),
                              ("select i from jb where i = $1", [1.5], ("parameter $1: inconvertible value: `1.5` [STRING -> INT]", 27)),
                              ("select i from jb where i = $1", [[1]], ("parameter $1: no list or object is a value of type INT", 27)),
                              ("insert into jb values ($1, $2)", ["2026", "x"], ("parameter $2: inconvertible value: `x` [STRING -> INT]", 27)),
                              ("select $1", [], ("the statement has 1 parameters, 0 values were given", 0)),
                              ("select $1", [1, 2], ("the statement has 1 parameters, 2 values were given", 0)),
                              ("select * from nope where a = $1", [1], ("table does not exist [table=nope]", 14))):
        status, answer = bound(s, sql, *params)
        expect((status, answer["query"], answer["error"], answer["position"]), (400, sql, *want))
    for body, position in ((b"", 0), (b"{", 1), (b"[]", 0), (b'{"query":1', 10), (b'{"query":"select 1",}', 20), (b'{"query":["a"]}', 9),
                           (b'{"query":"select $1","params":{"a":1}}', 30), (b'{"query":"a\x01"}', 11), (b'{"q":"\\ud800"}', 6),
                           (b'{"query":"select $1","params":[01]}', 32), (b"[" * 100000, 64), (b'{"query":"\xff"}', 10), (b'{"query":null}', 0)):
        status, answer = post_json(s, body)
        if body:  # without one the parameters come from the URL alone
            expect((status, answer["position"]), (400, position), body[:40])
    expect(bound(s, "select 1"), (200, {"dataset": [[1]], "count": 1}))


@check
def several_statements_are_one_transaction(s):
    s.exec("create table script (ts timestamp, v int) timestamp(ts) partition by day")
    count = lambda: s.rows("select count(), sum(v) from script")[0]
    run = lambda sql, **more: bound(s, sql, **more) if "params" in more else post_json(s, {"query": sql, "nm": True, **more})
    expect(run("insert into script values ('2026-01-01', 1); insert into script values ('2026-01-02', 2);"), (200, {"dml": "OK"}))
    expect(run("insert into script values ('2026-01-03', 3); select sum(v) from script -- ; with its own row"), (200, {"dataset": [[6]], "count": 1}))
    expect(run("select 1; select v from script", limit="-2"), (200, {"dataset": [[2], [3]], "count": 2}))
    expect(run("insert into script values ('2026-01-03', 4); select x from long_sequence(300000)")[1]["count"], 300000)
    expect(run("create table script2 (a int); insert into script2 values (1); update script2 set a = 5; select a from script2"), (200, {"dataset": [[5]], "count": 1}))
    expect(count(), [4, 10])
    for sql, error, position in (("insert into script values ('2026-01-04', 4); select nope from script", "Invalid column: nope", 52),
                                 ("insert into script values ('2026-01-04', 4); select (", "", 53),
                                 ("insert into script values ('2026-01-04', 4); insert into script values ('x', 4); select 1", "", 72),
                                 ("insert into script values ('2026-01-04', 4); select count() from script; select 1 where 1 = 'a'", "", 92),
                                 ("insert into script values ('2026-01-04', 4); select 1; insert into nope values (1)", "", 67),
                                 ("begin; insert into script values ('2026-01-04', 4)", "the statements end inside of a transaction block: COMMIT or ROLLBACK is missing, nothing was stored", 0)):
        status, answer = run(sql)
        expect((status, answer["position"], error in answer["error"]), (400, position, True), (sql, answer))
        expect(count(), [4, 10], sql)
    expect(run("begin; insert into script values ('2026-01-05', 5); rollback; select count() from script"), (200, {"dataset": [[4]], "count": 1}))
    expect(run("begin; insert into script values ('2026-01-05', 5); savepoint a; insert into script values ('2026-01-05', 7); rollback to a; commit"), (200, {"ddl": "OK"}))
    expect(count(), [5, 15])
    expect(run("begin")[0], 200)  # alone it does nothing, as before
    expect(run("insert into script values ('2026-01-06', 6)"), (200, {"dml": "OK"}))
    expect(count(), [6, 21])
    expect(bound(s, "select $1; select 2", 1)[1]["error"], "'params' takes one statement")
    expect(post_json(s, {"query": "select 1; select 2"}, "/exp")[1]["error"], "/exp takes one statement")
    many = ";".join(f"insert into script values ('2026-01-07', {i})" for i in range(2000))
    expect(run(many + "; select count() from script")[1]["dataset"], [[2006]])


def validated(s, text, **params):
    status, _, body = s.get("/api/v1/sql/validate", query=text, **params)
    answer = json.loads(body)
    expect(answer["query"], text)
    return status, answer


@check
def statements_are_validated_without_running(s):
    s.exec("create table val (ts timestamp, v int, t symbol) timestamp(ts) partition by day")
    before = s.rows("select table_name from tables()")
    status, answer = validated(s, "select ts, v * 2 w, array[1.0] a from val")
    expect((status, answer["queryType"], answer["timestamp"], answer["errors"]), (200, "SELECT", 0, []))
    expect(answer["columns"], [{"name": "ts", "type": "TIMESTAMP"}, {"name": "w", "type": "INT"}, {"name": "a", "type": "ARRAY", "dim": 1, "elemType": "DOUBLE"}])
    for text, kind in (("insert into val values (now(), 1, 'a')", "INSERT"), ("update val set v = 1", "UPDATE"), ("delete from val", "DELETE"), ("drop table val", "DROP TABLE"),
                       ("create table other as (select * from val)", "CREATE TABLE"), ("alter table val add column n int", "ALTER TABLE"), ("truncate table val", "TRUNCATE TABLE"),
                       ("create view vv as (select v from val)", "CREATE VIEW"), ("show columns from val", "SHOW"), ("explain update val set v = $1", "EXPLAIN"),
                       ("vacuum table nope", "VACUUM"), ("drop table if exists nope", "DROP TABLE"), ("select v from val where t = $1 and v > $2", "SELECT")):
        status, answer = validated(s, text)
        expect((status, answer["queryType"], answer["statements"], answer["errors"]), (200, kind, 1, []), text)
    for text, wrong in (("select wrong from val", "wrong"), ("insert into val (ts, nope) values (1, 2)", "nope"), ("update val set nope = 1", "nope"), ("update nope set v = 1", "nope"),
                        ("delete from val where nope = 1", "nope"), ("drop table nope", "nope"), ("truncate table val, nope", "nope"), ("rename table nope to x", "nope"),
                        ("alter table val drop column nope", "nope"), ("create table other as (select nope from val)", "nope"), ("create view vv as (select nope from val)", "nope"),
                        ("show columns from nope", "nope"), ("explain select nope from val", "nope"), ("select nope(1)", "nope"), ("create table val (a int)", "val"),
                        ("select 'é\U0001f600', wrong from val", "wrong"), ("select v from val where ts in '2026-13'", "'2026-13'"), ("selec v from val", "selec"), ("select v from", "from"),
                        ("select 'open", "'open"), ("insert into val values (now(), 1, 'a', 2)", None)):
        status, answer = validated(s, text)
        first = answer["errors"][0]
        expect((status, answer["error"], answer["position"], len(answer["errors"])), (400, first["error"], first["position"], 1), text)
        units = text.encode("utf-16-le")
        at = units[2 * first["position"]:2 * (first["position"] + first["length"])].decode("utf-16-le")
        expect(at if wrong is not None else bool(at), wrong if wrong is not None else True, (text, answer))
    expect(s.rows("select table_name from tables()"), before)
    expect(s.rows("select count() from val"), [[0]])


@check
def all_statements_of_a_text_are_validated(s):
    s.exec("create table vall (v int)")
    text = "; selec 1; select 'a;b', x1 from vall; -- ;\n\n;select v from vall; update vall set x2 = 1 where"
    status, answer = validated(s, text, report="true")
    expect((status, answer["statements"], [text[e["position"]:][:e["length"]] for e in answer["errors"]]), (200, 2, ["selec", "x1", "where"]))
    expect(validated(s, text)[0], 400)
    # what a statement makes, changes or takes away is not there yet for those behind it
    made = ("create table vnew (a int); insert into vnew values (1); select b from \"VNEW\"; select nope from vall; "
            "alter table vall rename column v to w; select w from vall; drop table vnew; select wrong from vnew; select wrong")
    answer = validated(s, made, report="true")[1]
    expect([made[e["position"]:][:e["length"]] for e in answer["errors"]], ["nope", "wrong"])
    expect([e["position"] for e in answer["errors"]], [made.index("nope"), made.rindex("wrong")])
    many = "select nope from vall;" * 150
    answer = validated(s, many, report="true")[1]
    expect((len(answer["errors"]), answer["statements"], answer["errors"][99]["position"]), (100, 100, 99 * 22 + 7))
    expect(validated(s, "-- nothing\n", report="true")[1], {"query": "-- nothing\n", "statements": 0, "errors": []})
    expect(validated(s, "")[1]["error"], "No query text")
    expect(post_json(s, {"query": "select v from vall; select x"}, "/api/v1/sql/validate?report=true")[1]["errors"],
           [{"position": 27, "length": 1, "error": "Invalid column: x"}])
    expect(post_json(s, {"query": "x" * (17 << 20)}, "/api/v1/sql/validate")[0], 400)
    expect(s.get("/api/v1/sql/validate?query=%ff")[0], 400)


@check
def results_have_the_format_that_was_asked_for(s):
    sql = 'select 1::int a, null::char "c ""d", \'x\' || chr(34) || chr(10) t, 1.5 d, array[1.5, 2] r, null::long256 l, 9007199254740993 b'
    row = {"a": 1, 'c "d': None, "t": 'x"\n', "d": 1.5, "r": [1.5, 2.0], "l": None, "b": 9007199254740993}
    types = {"json": "application/json; charset=utf-8", "csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}
    for path in ("/exec", "/exp"):
        for name, kind in types.items():
            status, headers, body = s.get(path, query=sql, fmt=name.upper())
            expect((status, headers["Content-Type"], headers["Vary"]), (200, kind, "Accept, Accept-Encoding"), (path, name))
            expect((headers["Content-Disposition"] or "").endswith(f'.{name}"'), path == "/exp")
            if name == "ndjson":
                expect((body[-2:], json.loads(body)), (b"}\n", row))
            elif name == "json":
                expect(json.loads(body)["dataset"], [[1, "", 'x"\n', 1.5, [1.5, 2.0], "", 9007199254740993]])
            else:
                expect(body.count(b"\r\n"), 2)
        expect(s.get(path, query=sql, fmt="xml")[0], 400)
        own = {"/exec": "json", "/exp": "csv"}[path]
        for accept, want in (("application/x-ndjson", "ndjson"), ("text/csv;q=0.5, application/x-ndjson;q=0.4", "csv"), ("*/*", own), ("text/html,*/*;q=0.8", own),
                             ("application/json;q=0.1, text/csv ; charset=utf-8; q=0.2", "csv"), ("image/png", own), ("", own), ("text/csv;q=x,;;,", own),
                             ("text/csv;q=0.9, */*;q=0.1", "csv"), ("application/x-ndjson;q=0.1, */*", own)):
            expect(s.get(path, headers={"Accept": accept}, query=sql)[1]["Content-Type"], types[want], (path, accept))
    expect(s.get("/exec", query="select x from long_sequence(3)", fmt="ndjson", limit="2,3", cols="x,x")[2], b'{"x":2,"x":2}\n{"x":3,"x":3}\n')
    expect(s.get("/exec", query="select x from long_sequence(0)", fmt="ndjson")[2], b"")
    expect(s.get("/exec", query="select nope", fmt="ndjson")[0], 400)
    expect(json.loads(s.get("/exec", query="create table fmts (a int)", fmt="csv")[2]), {"ddl": "OK"})
    body = s.get("/exec", query="select x, 'text' || x t from long_sequence(200000)", fmt="ndjson")[2]
    expect([json.loads(x)["t"] for x in body.splitlines()[::50000]], ["text1", "text50001", "text100001", "text150001"])


@check
def delimiters_that_fields_may_have_are_refused(s):
    for c in '"\r\n\0-.+5eX':
        status, _, body = s.get("/exp", query="select -1.5 a, 'x' b", delimiter=c)
        expect((status, "invalid delimiter" in json.loads(body).get("error", "")), (400, True), c)
    for c in "\t;|: ~":
        expect(s.get("/exp", query="select -1.5 a, 'x' b", delimiter=c)[2].decode(), f'"a"{c}"b"\r\n-1.5{c}"x"\r\n', c)


@check
def arrow_streams_are_read_by_pyarrow_and_polars(s):
    import io, polars, pyarrow
    def get(sql, **more):
        status, headers, body = s.get("/exec", query=sql, fmt="arrow", **more)
        expect((status, headers["Content-Type"]), (200, "application/vnd.apache.arrow.stream"), body[:200])
        table = pyarrow.ipc.open_stream(body).read_all()
        table.validate(full=True)
        frame = polars.read_ipc_stream(io.BytesIO(body))
        expect((frame.height, frame.columns), (table.num_rows, table.column_names))
        return table, frame
    s.exec("create table arrows (ts timestamp, sym symbol, i int, l long, d double, f float, o boolean, v varchar, s string, c char, u uuid, ip ipv4, x long256,"
           " dec decimal(38,4), g geohash(4c), bin binary, a double[], aa double[][], dt date, n timestamp_ns, b byte, sh short) timestamp(ts) partition by day")
    expect(bound(s, "insert into arrows values ('2026-01-01', 'S', 1, 9223372036854775807, 1.5, 0.5, true, 'v\u00e9', '', 'x', '11111111-2222-3333-4444-555555555555', '1.2.3.4',"
           " '0x1f', '12.5', 'u33d', $1, array[1, null, 2.5], array[[1, 2], [3, 4]], '2026-01-02', '2026-01-01T00:00:00.000000001Z', 7, 8)", "AAEC")[0], 200)
    s.exec("insert into arrows (ts) values ('2026-01-02')")
    table, frame = get("select * from arrows")
    types = {f.name: str(f.type) for f in table.schema}
    expect((types["ts"], types["sym"], types["u"], types["aa"], types["n"], types["b"]),
           ("timestamp[us, tz=UTC]", "dictionary<values=string, indices=int32, ordered=0>", "fixed_size_binary[16]", "list<item: list<item: double>>", "timestamp[ns, tz=UTC]", "int8"))
    first, second = [{k: v for k, v in row.items() if k not in ("ts", "dt", "n")} for row in table.to_pylist()]
    expect(first, {"sym": "S", "i": 1, "l": 9223372036854775807, "d": 1.5, "f": 0.5, "o": True, "v": "v\u00e9", "s": "", "c": "x", "u": bytes.fromhex("11111111222233334444555555555555"),
                   "ip": "1.2.3.4", "x": "0x1f", "dec": "12.5000", "g": "u33d", "bin": b"\0\1\2", "a": [1.0, None, 2.5], "aa": [[1.0, 2.0], [3.0, 4.0]], "b": 7, "sh": 8})
    expect(second, {**dict.fromkeys(first), "o": False, "b": 0, "sh": 0})
    expect([str(table["n"][0]), str(table["dt"][0])], ["2026-01-01 00:00:00.000000001+00:00", "2026-01-02 00:00:00+00:00"])
    sql = "select x, ('k' || x % 5000)::symbol k, case when x % 3 = 0 then null else 'v' || x end v, null n, x % 2 = 0 o from long_sequence(50000)"
    table, frame = get(sql, limit="5,40000", cols="k,x,n,o,v")
    want = [{"k": f"k{x % 5000}", "x": x, "n": None, "o": x % 2 == 0, "v": None if x % 3 == 0 else f"v{x}"} for x in range(5, 40001)]
    expect((table.to_pylist() == want, frame.to_dicts() == want), (True, True))
    expect(get("select * from arrows where i = 77")[0].num_rows, 0)
    status, headers, body = s.get("/exp", headers={"Accept": "application/vnd.apache.arrow.stream"}, query="select x from long_sequence(3)")
    expect((headers["Content-Disposition"][-7:], pyarrow.ipc.open_stream(body).read_all()["x"].to_pylist()), ('.arrow"', [1, 2, 3]))
    expect(s.get("/exec", query="select nope", fmt="arrow")[0], 400)


@check
def answers_are_packed_for_those_who_ask(s):
    """One connection for all requests: what one client takes says nothing of the next."""
    import gzip, pyarrow
    unpack = {"gzip": gzip.decompress, "zstd": lambda b: pyarrow.input_stream(pyarrow.BufferReader(b), compression="zstd").read(), None: bytes}
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    def get(rows, accept, method="GET", path="/exec", more=""):
        c.request(method, f"{path}?query=select%20x%20from%20long_sequence({rows}){more}", headers={"Accept-Encoding": accept})
        r = c.getresponse()
        return r.headers, r.read()
    for accept, want in (("gzip", "gzip"), ("identity", None), ("gzip, deflate, br, zstd", "zstd"), ("zstd;q=0.1, gzip;q=0.2", "gzip"), ("gzip;q=0", None), ("br", None),
                         ("*", "gzip"), ("gzip;q=0, *", None), ("GZIP", "gzip"), ("zstd", "zstd")):
        for rows in (1, 2000, 300000):
            for fmt in ("json", "csv", "ndjson", "arrow"):
                headers, body = get(rows, accept, more=f"&fmt={fmt}")
                small = rows == 1
                expect((headers["Content-Encoding"], headers["Vary"]), (None if small else want, "Accept, Accept-Encoding"), (accept, rows, fmt))
                if fmt != "json" or small:
                    continue
                plain = unpack[want](body)
                expect(json.loads(plain)["count"], rows)
                expect(want is None or len(body) < len(plain) * 0.6, True, (accept, rows))
    plain = get(300000, "identity", path="/exp")[1]
    for accept in ("gzip", "zstd"):
        expect(unpack[accept](get(300000, accept, path="/exp")[1]) == plain, True, accept)
    headers, body = get(2000, "gzip", method="HEAD")
    expect((headers["Content-Encoding"], body), ("gzip", b""))
    with Server(preset=s.preset, env={"ALMANAC_HTTP_ALLOW_DEFLATE_BEFORE_SEND": "false"}) as plain_server:
        expect(plain_server.get("/exec", headers={"Accept-Encoding": "gzip"}, query="select x from long_sequence(2000)")[1]["Content-Encoding"], None)


@check
def running_queries_are_listed_and_ended_by_number(s):
    import threading, time
    host, port = s.http.rsplit(":", 1)
    def call(method, path):
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        c.request(method, path)
        r = c.getresponse()
        body = r.read()
        return r.status, r.headers, json.loads(body) if r.headers.get_content_type() == "application/json" else body
    answers = []
    thread = threading.Thread(target=lambda: answers.append(s.get("/exec", query="select sum(x % 7) as ending from long_sequence(1000000000000)")))
    thread.start()
    number, end = None, time.monotonic() + 20
    while number is None and time.monotonic() < end:
        status, headers, listed = call("GET", "/query")
        expect(status, 200, listed)
        names = [c["name"] for c in listed["columns"]]
        rows = [dict(zip(names, row)) for row in listed["dataset"]]
        number = next((r["query_id"] for r in rows if "ending" in (r["query"] or "")), None)
    expect(call("DELETE", f"/query/{number}")[::2], (200, {"status": "OK"}))
    thread.join(20)
    expect((answers[0][0], b"cancel" in answers[0][2]), (400, True), answers)
    expect(call("DELETE", f"/query/{number}")[::2], (404, {"error": "no query of that number runs"}))
    expect(call("DELETE", "/query/x")[0], 404)  # a tag that no run has
    for bad in ("-x", "-1", "0", "99999999999999999999", "1/2", ""):
        expect(call("DELETE", f"/query/{bad}")[0], 400, bad)
    expect((s.get("/query/1")[0], s.get("/query/")[0], call("PUT", "/query/1")[0]), (400, 400, 405))
    ids = [int(s.get("/exec", query=q)[1]["X-Query-Id"]) for q in ("select 1", "create table qid (a int)", "insert into qid values (1)", "select x from long_sequence(300000)")]
    expect(ids == sorted(set(ids)), True, ids)


@check
def expect_100_continue_is_answered(s):
    sock = s.connect()
    sock.sendall(b"POST /exec HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 14\r\nExpect: 100-continue\r\n\r\n")
    sock.settimeout(5)
    expect(sock.recv(100).startswith(b"HTTP/1.1 100 Continue"), True)
    sock.sendall(b"query=select+1")
    expect(b'"dataset":[[1]]' in sock.recv(4000), True)


@check
def a_late_error_cuts_the_stream_without_a_last_chunk(s):
    sock = s.connect()
    q = urllib.parse.quote("select x from long_sequence(100000000000)").encode()
    sock.sendall(b"GET /exec?query=" + q + b" HTTP/1.1\r\nHost: a\r\nStatement-Timeout: 500\r\n\r\n")
    head, last = b"", b""
    while True:
        block = sock.recv(1 << 20)
        if not block:
            break
        head = head or block
        last = (last + block)[-64:]
    expect(head.startswith(b"HTTP/1.1 200 OK"), True, head[:60])
    expect(last.endswith(b"0\r\n\r\n"), False, last)


@check
def an_answer_without_chunks_that_breaks_off_is_reset(s):
    """Where only the end of the connection ends a body, an orderly one would say that the rows are complete."""
    sock = s.connect()
    sock.sendall(b"GET /exp?query=select%20x%20from%20long_sequence(100000000000) HTTP/1.0\r\nStatement-Timeout: 500\r\n\r\n")
    n, end = 0, None
    while end is None:
        try:
            block = sock.recv(1 << 20)
            n += len(block)
            end = None if block else "closed"
        except ConnectionResetError:
            end = "reset"
    expect((n > 1 << 20, end), (True, "reset"))
    expect(s.rows("select 1"), [[1]])


@check
def time_limits_do_not_leak_to_other_requests(s):
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    q = "/exec?" + urllib.parse.urlencode({"query": "select sum(x) from long_sequence(1000000000000)"})
    c.request("GET", q, headers={"Statement-Timeout": "100"})
    r = c.getresponse()
    expect(r.status, 400)
    expect("timeout" in json.loads(r.read())["error"], True)
    c.request("GET", "/exec?" + urllib.parse.urlencode({"query": "select count() from long_sequence(300000000)"}))
    expect(json.loads(c.getresponse().read())["dataset"], [[300000000]])


@check
def two_long_queries_do_not_delay_a_short_one(s):
    import threading, time
    long_q = "/exec?" + urllib.parse.urlencode({"query": "select sum(x % 7) from long_sequence(400000000)"})
    def run():
        host, port = s.http.rsplit(":", 1)
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        c.request("GET", long_q)
        c.getresponse().read()
    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    time.sleep(0.1)
    times = []
    for _ in range(20):
        start = time.monotonic()
        s.rows("select 1")
        times.append(time.monotonic() - start)
    for t in threads:
        t.join()
    expect(sorted(times)[10] < 0.25, True, times)


# ------------------------------------------------------------------ /imp
@check
def imp_detects_types_and_header(s):
    data = (b"sym,side,price,qty,big,ok,ts,d,u,code,text\r\n"
            b'A,buy,1.5,10,10000000000,true,2024-01-02T03:04:05.123456Z,2024-01-02,11111111-2222-3333-4444-555555555555,007,"a ""b"""\r\n'
            b"B,,,,,false,2024-01-02T03:04:06.000000Z,,,12,\"multi\nline\"\r\n")
    status, text = imp(s, data, "name=i1&fmt=json&timestamp=ts&partitionBy=DAY", quoted=True)
    j = json.loads(text)
    expect(status, 200, text)
    expect([(c["name"], c["type"]) for c in j["columns"]],
           [("sym", "VARCHAR"), ("side", "VARCHAR"), ("price", "DOUBLE"), ("qty", "INT"), ("big", "LONG"), ("ok", "BOOLEAN"),
            ("ts", "TIMESTAMP"), ("d", "DATE"), ("u", "UUID"), ("code", "VARCHAR"), ("text", "VARCHAR")])
    expect((j["rowsImported"], j["rowsRejected"], j["header"], j["partitionBy"], j["timestamp"]), (2, 0, True, "DAY", "ts"))
    expect(s.rows("select sym, side, price, qty, big, code, text from i1"),
           [["A", "buy", 1.5, 10, 10000000000, "007", 'a "b"'], ["B", None, None, None, None, "12", "multi\nline"]])


@check
def imp_matches_columns_by_name_and_refuses_unknown_ones(s):
    s.exec("create table i2 (ts timestamp, a int, b symbol) timestamp(ts) partition by day")
    expect(imp(s, b"b,ts,a\nx,2024-01-01T00:00:00.000000Z,1\ny,2024-01-01T00:00:01.000000Z,2\n", "name=i2")[0], 200)
    expect(s.rows("select a, b from i2"), [[1, "x"], [2, "y"]])
    status, text = imp(s, b"b,ts,zzz\nx,2024-01-01T00:00:00.000000Z,1\n", "name=i2&fmt=json")
    expect(status, 400, text)
    expect("zzz" in text, True)
    expect(s.rows("select count() from i2"), [[2]])


@check
def imp_never_cuts_text_and_counts_the_last_line(s):
    expect(imp(s, b"a,b\n1,x\n2,hello", "name=i3&forceHeader=true")[0], 200)
    expect(s.rows("select * from i3"), [[1, "x"], [2, "hello"]])


@check
def imp_abort_is_all_or_nothing(s):
    s.exec("create table i4 (a int, b double)")
    status, text = imp(s, b"a,b\n1,1.5\nx,2\n3,3\n", "name=i4&atomicity=abort&forceHeader=true")
    expect(status, 400, text)
    expect("line 3" in text, True, text)
    expect(s.rows("select count() from i4"), [[0]])
    status, text = imp(s, b"a,b\n1,1.5\nx,2\n3,3\n", "name=i4&atomicity=skipRow&forceHeader=true&fmt=json")
    expect((json.loads(text)["rowsImported"], json.loads(text)["rowsRejected"]), (2, 1))
    expect(s.rows("select * from i4"), [[1, 1.5], [3, 3.0]])


@check
def imp_preview_reports_and_stores_nothing(s):
    bad = b"a,b\n1,1.5\nx,2\n3,3\n"
    status, text = imp(s, bad, "name=i4p&preview=true&atomicity=skipRow&forceHeader=true&fmt=json", schema='[{"name":"a","type":"INT"}]')
    j = json.loads(text)
    expect((status, j["rowsImported"], j["rowsRejected"], [(c["name"], c["type"], c["errors"]) for c in j["columns"]]), (200, 0, 1, [("a", "INT", 1), ("b", "DOUBLE", 0)]), text)
    expect(j["errors"], ['line 3, column a: "x" is not a value of type INT'])
    expect(s.rows("select count() from tables() where table_name = 'i4p'"), [[0]])
    s.exec("create table i4q (a int, b double)")
    s.exec("insert into i4q values (7, 7)")
    for more in ("", "&overwrite=true"):
        expect(imp(s, bad, "name=i4q&preview=true&forceHeader=true" + more)[0], 200)
        expect(s.rows("select * from i4q"), [[7, 7.0]])
    expect(imp(s, bad, "name=i4q&preview=true&atomicity=abort&forceHeader=true")[0], 400)


@check
def imp_failures_have_4xx_status(s):
    expect(imp(s, b"a,b\n1,2\n", "name=a/b")[0], 400)
    expect(imp(s, b"a,b\n1,2\n", "name=i5&partitionBy=DAY")[0], 400)
    expect(imp(s, b"a,b\n1,2\n", "name=i5&timestamp=zz&forceHeader=true")[0], 400)
    expect(imp(s, b"a,b\n1,2\n", "name=i5&create=false")[0], 400)
    expect(imp(s, b"a,A\n1,2\n", "name=i5&forceHeader=true")[0], 400)
    expect(imp(s, b"a,b\n1,2\n", "name=i5", name="other")[0], 400)
    expect(imp(s, b"a,b\n1,2\n", "name=i5", schema="[{")[0], 400)
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    c.request("POST", "/imp?name=i5", b"a,b\n1,2\n", {"Content-Type": "text/csv"})
    expect(c.getresponse().status, 400)


@check
def imp_schema_sets_types(s):
    status, text = imp(s, b"a,b\n1,x\n", "name=i6&fmt=json&forceHeader=true", schema='[{"name":"a","type":"LONG"},{"name":"b","type":"SYMBOL"}]')
    expect(status, 200, text)
    expect([c["type"] for c in json.loads(text)["columns"]], ["LONG", "SYMBOL"])


@check
def imp_reads_times_by_pattern(s):
    schema = '[{"name":"ts","type":"TIMESTAMP","pattern":"yyyy-MM-dd - HH:mm:ss"},{"name":"d","type":"DATE","pattern":"dd/MM/yyyy"}]'
    status, text = imp(s, b"ts,d,v\n2024-01-02 - 03:04:05,31/12/2023,1\n2024-01-02 - 03:04:06,2024-01-01,2\n", "name=ip&fmt=json&timestamp=ts&partitionBy=DAY", schema=schema)
    expect(status, 200, text)
    expect([c["errors"] for c in json.loads(text)["columns"]], [0, 1, 0], text)
    expect(s.rows("select * from ip"), [["2024-01-02T03:04:05.000000Z", "2023-12-31T00:00:00.000Z", 1], ["2024-01-02T03:04:06.000000Z", None, 2]])
    status, text = imp(s, b"a,b\n1,2\n", "name=ip2&fmt=json&forceHeader=true", schema='[{"name":"a","type":"INT","pattern":"yyyy"}]')
    expect((status, json.loads(text)["status"]), (400, "column 'a' has a pattern, but is INT"))


@check
def imp_says_what_is_wrong(s):
    s.exec("create table iw (ts timestamp, a int) timestamp(ts) partition by day")
    for data, want in ((b"ts,a\n2024-01-01,1\n2024-01-01,x1\n", 'line 3, column a: "x1" is not a value of type INT'),
                       (b"ts,a\n2024-01-01,1,2\n", "line 2: extra data after last expected column"),
                       (b"ts,a\n,1\n", 'line 2: null in the designated timestamp "ts"')):
        status, text = imp(s, data, "name=iw&atomicity=abort&fmt=json&forceHeader=true")
        expect((status, json.loads(text)["status"]), (400, want))
    for query in ("maxUncommittedRows=x", "o3MaxLag=-1"):
        expect(imp(s, b"a,b\n1,2\n", "name=iw2&" + query)[0], 400, query)
    expect(imp(s, b"a,b\n1,2\n", "name=iw2&maxUncommittedRows=1000&o3MaxLag=5000000&durable=true&forceHeader=true")[0], 200)
    expect(s.rows("select count() from iw"), [[0]])


@check
def imp_takes_a_million_lines_and_exp_gives_them_back(s):
    lines = [b"a,t,v"] + [b"%d,2024-01-01T00:%02d:%02d.000000Z,%d.5" % (i, i // 60 % 60, i % 60, i) for i in range(300000)]
    status, text = imp(s, b"\n".join(lines) + b"\n", "name=i7&timestamp=t&partitionBy=HOUR&fmt=json")
    expect(status, 200, text)
    expect(json.loads(text)["rowsImported"], 300000)
    expect(s.rows("select count(), sum(a), sum(v) from i7"), [[300000, 44999850000, 44999850000 + 150000.0]])
    back = s.get("/exp", query="select a, v from i7 order by a", nm="true")[2]
    expect(len(back.split(b"\r\n")), 300001)


@check
def imports_of_any_size_around_a_piece_work(s):
    """A piece of work starts at a megabyte of body: the end may come with it, just before or just after."""
    for size in [(1 << 20) + d for d in (-300, -1, 0, 1, 40, 200, 65536, 131072)] + [(2 << 20) + 7]:
        line = b"12345,abcdefghij\n"
        data = b"a,b\n" + line * ((size - 4) // len(line))
        status, text = imp(s, data, "name=pieces&overwrite=true&fmt=json&forceHeader=true")
        expect((status, json.loads(text)["rowsImported"]), (200, (size - 4) // len(line)), size)


@check
def a_refused_upload_gets_its_answer(s):
    status, text = imp(s, b"a,b\n" + b"1,2\n" * 3000000, "name=a/b")
    expect((status, "invalid table name" in text), (400, True))
    status, text = imp(s, b"a,b\n" + b"1,2\n" * 3000000, "name=i9", name="other")
    expect(status, 400)


@check
def transactions_do_not_outlive_a_request(s):
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    def run(sql):
        c.request("GET", "/exec?" + urllib.parse.urlencode({"query": sql}))
        return json.loads(c.getresponse().read())
    run("create table alone (a int)")
    for sql in ("begin", "insert into alone values (1)", "select nope"):
        run(sql)
    expect(run("select count() from alone")["dataset"], [[1]])
    expect(s.rows("select count() from alone"), [[1]])
    expect(run("rollback"), {"ddl": "OK"})
    expect(s.rows("select count() from alone"), [[1]])


@check
def pipelines_that_nobody_reads_do_not_pile_up(s):
    import time
    sock = s.connect()
    sock.setblocking(False)
    base = s.resident_bytes()[1]
    data = b"GET /exec?query=select%20x%20from%20long_sequence(5000) HTTP/1.1\r\nHost: a\r\n\r\n" * 200
    sent, end = 0, time.monotonic() + 2
    while time.monotonic() < end:
        try:
            sent += sock.send(data[sent % len(data):])
        except BlockingIOError:
            time.sleep(0.05)
    if "asan" not in s.preset:
        expect(s.resident_bytes()[1] - base < 100 << 20, True, s.resident_bytes()[1] - base)
    sock.close()
    expect(s.rows("select 1"), [[1]])


@check
def large_results_stream_in_bounded_memory(s):
    import time
    sock = s.connect()
    base = s.resident_bytes()[1]
    sock.sendall(b"GET /exp?query=select%20x,'some%20text%20that%20is%20not%20short'%20from%20long_sequence(2000000) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    n = top = 0
    while True:
        block = sock.recv(1 << 20)
        if not block:
            break
        n += len(block)
        top = max(top, s.resident_bytes()[1])
        if n < 4 << 20:
            time.sleep(0.02)
    expect(n > 60 << 20, True, n)
    if "asan" not in s.preset:
        expect(top - base < 64 << 20, True, top - base)


@check
def a_client_that_is_gone_ends_its_query(s):
    import time, pathlib
    def cpu():
        parts = pathlib.Path(f"/proc/{s.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / 100
    for _ in range(3):
        sock = s.connect()
        sock.sendall(b"GET /exec?query=select%20sum(x%20%25%207)%20from%20long_sequence(1000000000000) HTTP/1.1\r\nHost: a\r\n\r\n")
        sock.close()
    time.sleep(1.5)
    first = cpu()
    time.sleep(1)
    expect(cpu() - first < 0.3, True)


@check
def over_the_connection_limit_the_answer_is_503(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_NET_CONNECTION_LIMIT": "2"}) as small:
        held = [small.connect() for _ in range(2)]
        held[0].sendall(b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
        held[0].recv(1000)
        got = raw(small, GET + b"\r\n")
        expect((got[:12], len(got.split(b"\r\n\r\n")[1])), (b"HTTP/1.1 503", int(re.search(rb"Content-Length: (\d+)", got)[1])))


@check
def logins_are_basic_and_compared_whole(s):
    import base64
    with Server(preset=s.preset, env={"ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": "pass:w\u00f6rd"}) as locked:
        code = lambda user, password, scheme="Basic": {"Authorization": scheme + " " + base64.b64encode(f"{user}:{password}".encode()).decode()}
        for headers, want in [({}, 401), (code("me", "pass:w\u00f6rd"), 200), (code("me", "pass:w\u00f6rd", "basic"), 200), (code("me", "pass"), 401),
                              (code("", ""), 401), (code("Me", "pass:w\u00f6rd"), 401), ({"Authorization": "Basic"}, 401), ({"Authorization": "Basic ===="}, 401),
                              ({"Authorization": "Basic a"}, 401), ({"Authorization": "Bearer x"}, 401), ({"Authorization": "Basic " + "A" * 4000}, 401)]:
            status, got, _ = locked.get("/exec", headers=headers, query="select 1")
            expect((status, "WWW-Authenticate" in got), (want, want == 401), headers)
        for path in ("/ping", "/settings", "/", "/index.html", "/warnings"):
            expect(locked.get(path)[0] < 400, True, path)
        expect(locked.get("/chk", j="x", f="json")[0], 401)
        by_page, by_script = ({}, {"X-Requested-With": "XMLHttpRequest"})
        expect([locked.get("/exec", headers=h, query="select 1")[1]["WWW-Authenticate"].split()[0] for h in (by_page, by_script)], ["Basic", "Form"])


def main():
    suite = Suite(__doc__, add=lambda parser: parser.add_argument("--record", action="store_true"))
    with Server(binary=suite.o.binary, preset=suite.o.preset) as s:
        s.preset = suite.o.preset
        for sql in SETUP:
            s.exec(sql)
        recorded(suite, s)
        suite.checks(s)
    suite.close()


if __name__ == "__main__":
    main()
