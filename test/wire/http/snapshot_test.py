#!/usr/bin/env python3
"""Results that the server holds for reading by pages (/exec?snapshot=new, /snapshot/NAME), and statements that carry a tag of their client.

    snapshot_test.py [NAME...]
"""
import base64, concurrent.futures, json, random, time

from lib.checks import check, expect, main
from lib.server import Server

ENDLESS = "select count() from long_sequence(1000000000000) where x % 7 = 8"


def call(s, path="/exec", headers=None, **params):
    status, _, body = s.get(path, headers=headers, **params)
    return status, json.loads(body)


def page(s, name, headers=None, **params):
    status, _, body = s.get("/snapshot/" + name, headers=headers, **params)
    return status, json.loads(body) if status != 401 else None


def hold(s, query, **params):
    status, answer = call(s, query=query, snapshot="new", **params)
    expect(status, 200, answer)
    return answer


def method(s, verb, path):
    import http.client
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=30)
    c.request(verb, path)
    r = c.getresponse()
    body = r.read()
    return r.status, json.loads(body) if body else {}


@check
def pages_are_those_of_the_first_run(s):
    s.exec("create table held (ts timestamp, v long, t varchar) timestamp(ts) partition by day")
    s.exec("insert into held select timestamp_sequence('2026-01-01', 1000), x, 'r' || x from long_sequence(5000)")
    first = hold(s, "select * from held", limit="1,1000")
    expect((first["count"], len(first["dataset"]), first["complete"], first["timestamp"]), (5000, 1000, True, 0))
    s.exec("insert into held select timestamp_sequence('2025-01-01', 1000), -x, 'new' from long_sequence(100)")
    s.exec("update held set v = 0")
    pages = [page(s, first["snapshot"], limit=f"{lo},{lo + 999}")[1] for lo in range(1, 5001, 1000)]
    expect([r[1] for p in pages for r in p["dataset"]], list(range(1, 5001)))
    expect([(p["columns"], p["query"], p["count"]) for p in pages], [(first["columns"], "select * from held", 5000)] * 5)
    s.exec("drop table held")
    expect(page(s, first["snapshot"], limit="5000,5000")[1]["dataset"][0][1:], [5000, "r5000"])
    rnd = hold(s, "select rnd_double() r, rnd_str(1, 30, 2) t from long_sequence(3000)")
    expect(page(s, rnd["snapshot"])[1]["dataset"], rnd["dataset"])


@check
def any_window_is_the_part_of_the_whole(s):
    """Rows of every width, so that blocks end anywhere."""
    whole = hold(s, "select x, rpad('', (x * x % 97)::int * 11, 'é\"\n') t, case when x % 5 = 0 then null else x * 0.5 end n from long_sequence(4097)", quoteLargeNum="true")
    plain = s.exec("select x, rpad('', (x * x % 97)::int * 11, 'é\"\n') t, case when x % 5 = 0 then null else x * 0.5 end n from long_sequence(4097)", quoteLargeNum="true")
    expect((whole["dataset"], whole["columns"]), (plain["dataset"], plain["columns"]))
    r = random.Random(5)
    windows = [(1, 1), (4097, 4097), (4098, 5000), (1, 5000), (1024, 1025), (1025, 2048)] + [tuple(sorted((r.randint(1, 4200), r.randint(1, 4200)))) for _ in range(60)]
    for lo, hi in windows:
        got = page(s, whole["snapshot"], limit=f"{lo},{hi}", nm="true")[1]
        expect((got["dataset"], sorted(got)), (plain["dataset"][lo - 1:hi], ["complete", "count", "dataset", "snapshot"]), (lo, hi))
    expect(page(s, whole["snapshot"], limit="-3")[1]["dataset"], plain["dataset"][-3:])
    expect(hold(s, "select x from long_sequence(10)", limit="-2")["dataset"], [[9], [10]])
    expect(hold(s, "select x from long_sequence(0)")["count"], 0)
    wide = hold(s, "select 'a' a, 'b' b from long_sequence(2)", cols="b,a,b")
    expect(page(s, wide["snapshot"])[1]["dataset"], [["b", "a", "b"]] * 2)


@check
def a_cell_may_be_longer_than_a_block(s):
    got = hold(s, "select x, case when x % 3 = 0 then rpad('', 1000000, 'z') else 'a' end t from long_sequence(10)", limit="1,2")
    expect([len(r[1]) for r in page(s, got["snapshot"])[1]["dataset"]], [1, 1, 1000000] * 3 + [1])


@check
def statements_without_rows_hold_nothing(s):
    expect(hold(s, "create table held_nothing (a int)"), {"ddl": "OK"})
    expect(hold(s, "insert into held_nothing values (1)"), {"dml": "OK"})
    expect(hold(s, "insert into held_nothing values (2); select * from held_nothing")["dataset"], [[1], [2]])
    for query, params in (("select nope", {}), ("selec", {}), ("select 1", {"fmt": "csv"}), ("select 1", {"limit": "x"})):
        expect(call(s, query=query, snapshot="new", **params)[0], 400, (query, params))
    expect(call(s, query="select 1", snapshot="0" * 32)[0], 400)
    for name in ("0" * 32, "NEW", "..%2fx", "a" * 5000):
        status, answer = page(s, name)
        expect((status, "not held" in answer["error"]), (404, True), name)
    s.exec("drop table held_nothing")


@check
def one_result_is_cut_at_its_limit_and_says_so(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_SNAPSHOT_RESULT_BYTES_MAX": "256k"}) as c:
        start = time.monotonic()
        got = hold(c, "select rnd_long() r from long_sequence(1000000000)", limit="1,10")
        expect((got["complete"], 5_000 < got["count"] < 200_000, len(got["dataset"]), time.monotonic() - start < 5), (False, True, 10, True))
        expect(len(page(c, got["snapshot"], limit=f"{got['count']},")[1]["dataset"]), 1)
        expect(len(page(c, got["snapshot"], limit=f"{got['count'] + 1},")[1]["dataset"]), 0)
        expect(hold(c, "select 1")["complete"], True)


@check
def old_results_go_first(s):
    env = {"ALMANAC_HTTP_SNAPSHOT_COUNT_MAX": "3", "ALMANAC_HTTP_SNAPSHOT_BYTES_MAX": "400k", "ALMANAC_HTTP_SNAPSHOT_TIMEOUT": "1s"}
    with Server(preset=s.preset, env=env) as c:
        a, b, d = (hold(c, f"select {i}")["snapshot"] for i in range(3))
        expect(page(c, a)[0], 200)  # read: b is the oldest by now
        e = hold(c, "select 4")["snapshot"]
        expect([page(c, n)[0] for n in (a, b, d, e)], [200, 404, 200, 200])
        big = hold(c, "select rnd_long() from long_sequence(40000)", limit="1")["snapshot"]
        expect([page(c, n, limit="1")[0] for n in (a, d, e, big)], [404, 200, 200, 200])
        expect(method(c, "DELETE", f"/snapshot/{e}"), (200, {"status": "OK"}))
        expect(method(c, "DELETE", f"/snapshot/{e}")[0], 404)
        expect(page(c, e)[0], 404)
        time.sleep(1.2)
        expect([page(c, n)[0] for n in (d, big)], [404, 404])


@check
def many_readers_and_makers_at_once(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_SNAPSHOT_COUNT_MAX": "4"}) as c:
        def work(i):
            got = hold(c, f"select x + {i} from long_sequence(3000)", limit="1")
            status, answer = page(c, got["snapshot"], limit="2990,3000")
            return status == 404 or [r[0] for r in answer["dataset"]] == list(range(2990 + i, 3001 + i))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            expect(all(pool.map(work, range(120))), True)


def parts(s, packed=False, **params):
    """What comes and when: (seconds, all the bytes until then), the page first."""
    import http.client, urllib.parse, zlib
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    start = time.monotonic()
    c.request("POST", "/exec", urllib.parse.urlencode({"snapshot": "new", **params}), {"Content-Type": "application/x-www-form-urlencoded", **({"Accept-Encoding": "gzip"} if packed else {})})
    r = c.getresponse()
    seen, body = [], b""
    unpack = zlib.decompressobj(31) if packed else None
    expect(r.headers.get("Content-Encoding"), "gzip" if packed else None)
    while piece := r.read1():
        body += unpack.decompress(piece) if packed else piece
        seen.append((time.monotonic() - start, body))
    return r.status, seen


@check
def the_page_does_not_wait_for_the_rows_behind_it(s):
    sql = "select x, rnd_str(5, 20, 2) t from long_sequence(3000000)"
    for packed in (False, True):
        status, seen = parts(s, packed, query=sql, limit="1,1000")
        first, page_bytes = next(p for p in seen if p[1].count(b"]\n") >= 1000)
        last, body = seen[-1]
        answer = json.loads(body)
        expect((status, answer["count"], answer["complete"], [r[0] for r in answer["dataset"]]), (200, 3000000, True, list(range(1, 1001))))
        rows = json.loads(page_bytes.rstrip() + b"]}")["dataset"]
        expect((rows, first < last / 3), (answer["dataset"], True), (packed, first, last))
        expect(page(s, answer["snapshot"], limit="2999999,")[1]["dataset"][1][0], 3000000)
        expect(page(s, answer["snapshot"], limit="1,1000")[1]["dataset"], answer["dataset"])
    # not from the first row on; and all of them, piece by piece
    answer = json.loads(parts(s, query=sql, limit="2001,2100")[1][-1][1])
    expect([r[0] for r in answer["dataset"]], list(range(2001, 2101)))
    answer = json.loads(parts(s, query="select x from long_sequence(1000000)")[1][-1][1])
    expect((answer["count"], [r[0] for r in answer["dataset"]]), (1000000, list(range(1, 1000001))))
    expect(page(s, answer["snapshot"], limit="1000000,")[1]["dataset"], [[1000000]])


@check
def an_error_behind_the_page_stands_behind_its_rows(s):
    slow = "select x, pg_sleep(0.00001) from long_sequence(100000000)"
    status, seen = parts(s, query=slow + " -- \u00e9\U0001f600", limit="1,100", timeout="2")
    answer = json.loads(seen[-1][1])
    expect((status, len(answer["dataset"]), "timeout" in answer["error"] or "time" in answer["error"], answer["position"], "snapshot" in answer), (200, 100, True, 0, False), answer)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(lambda: parts(s, query=slow, limit="1,100", tag="page-1"))
        while not method(s, "GET", "/query/page-1")[1].get("rows", 0) > 100:
            time.sleep(0.01)
        expect(method(s, "DELETE", "/query/page-1")[0], 200)
        status, seen = run.result(timeout=10)
        expect((status, "cancel" in json.loads(seen[-1][1])["error"].lower()), (200, True), seen[-1][1][-200:])
    # before it, the status tells
    status, seen = parts(s, query="select x from long_sequence(1000000000000) where x % 1000003 = 1000004", limit="1,100", timeout="1")
    expect((status, sorted(json.loads(seen[-1][1]))), (400, ["error", "position", "query"]))


@check
def a_slow_reader_gets_all_of_it(s):
    import socket
    got = hold(s, "select x, rpad('', 100, 'ab') from long_sequence(100000)", limit="1")
    host, port = s.http.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as c:
        c.sendall(f"GET /snapshot/{got['snapshot']} HTTP/1.0\r\n\r\n".encode())
        time.sleep(0.5)
        body = b""
        while block := c.recv(1 << 20):
            body += block
    expect([r[0] for r in json.loads(body.partition(b"\r\n\r\n")[2])["dataset"]], list(range(1, 100001)))


# ------------------------------------------------------------------------------------------------------ tags
@check
def a_run_is_followed_and_ended_by_its_tag(s):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        start = time.monotonic()
        run = pool.submit(lambda: call(s, query=ENDLESS, tag="mine-1"))
        while method(s, "GET", "/query/mine-1")[0] != 200:
            expect(time.monotonic() - start < 10, True)
            time.sleep(0.01)
        status, progress = method(s, "GET", "/query/mine-1")
        expect((status, sorted(progress), progress["elapsed"] > 0), (200, ["elapsed", "query_id", "rows"], True))
        expect([progress["query_id"]] if progress["query_id"] else [], [r[0] for r in s.rows("select query_id from query_activity()") if r[0] == progress["query_id"]])
        while not method(s, "GET", "/query/mine-1")[1].get("query_id"):
            time.sleep(0.01)
        expect(method(s, "DELETE", "/query/mine-1"), (200, {"status": "OK"}))
        status, answer = run.result(timeout=10)
        expect((status, "cancel" in answer["error"].lower()), (400, True), answer)
    expect((method(s, "GET", "/query/mine-1")[0], method(s, "DELETE", "/query/mine-1")[0]), (204, 404))
    for tag in ("", "17", "-5", "a b", "a.b", "a" * 65, "\u00e9"):
        expect(call(s, query="select 1", tag=tag)[0], 400, tag)
    expect(call(s, query="select 1", tag="a" * 64)[0], 200)
    expect(method(s, "GET", "/query/17")[0], 400)


@check
def rows_so_far_are_counted(s):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(lambda: call(s, query="select x, rnd_str(5, 5, 0) t from long_sequence(3000000)", tag="counted", snapshot="new", limit="1"))
        seen = []
        while not run.done():
            status, progress = method(s, "GET", "/query/counted")
            if status == 200:
                seen.append(progress["rows"])
            time.sleep(0.005)
        expect(run.result()[0], 200)
    expect((seen == sorted(seen), len(set(seen)) > 2), (True, True), seen)


@check
def both_need_the_login(s):
    login = {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}
    with Server(preset=s.preset, env={"ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": "secret"}) as c:
        held = call(c, headers=login, query="select 1", snapshot="new")[1]["snapshot"]
        expect(page(c, held)[0], 401)
        expect([c.get(p)[0] for p in ("/query/x",)], [401])
        expect(page(c, held, headers=login)[1]["dataset"], [[1]])


def held_metrics(s):
    """The samples about held results, by name and label."""
    body = s.get("/metrics")[2].decode()
    lines = [line.rsplit(" ", 1) for line in body.splitlines() if line.startswith("almanac_held_results")]
    return {name.removeprefix("almanac_held_results"): int(value) for name, value in lines}


@check
def metrics_tell_what_is_held(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_SNAPSHOT_COUNT_MAX": "2", "ALMANAC_HTTP_SNAPSHOT_TIMEOUT": "1500"}) as c:
        empty = held_metrics(c)
        expect((empty[""], empty["_bytes"], empty["_made_total"], empty["_limit_bytes"] > 0), (0, 0, 0, True))
        names = [hold(c, f"select x from long_sequence({n})")["snapshot"] for n in (10, 1000, 20)]
        status = [page(c, name)[0] for name in (*names, names[2])]
        got = held_metrics(c)
        expect((status, got["_bytes"] > 0), ([404, 200, 200, 200], True))
        expect({k: v for k, v in got.items() if "bytes" not in k},
               {"": 2, "_made_total": 3, '_reads_total{found="true"}': 3, '_reads_total{found="false"}': 1,
                '_removed_total{reason="timeout"}': 0, '_removed_total{reason="limit"}': 1})
        expect(method(c, "DELETE", "/snapshot/" + names[1])[0], 200)
        less = held_metrics(c)
        expect((less[""], 0 < less["_bytes"] < got["_bytes"], less['_removed_total{reason="limit"}']), (1, True, 1))
        time.sleep(1.6)
        expect(page(c, names[2])[0], 404)
        last = held_metrics(c)
        expect((last[""], last["_bytes"], last['_removed_total{reason="timeout"}'], last['_reads_total{found="false"}']), (0, 0, 1, 2))


if __name__ == "__main__":
    main()
