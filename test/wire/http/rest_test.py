#!/usr/bin/env python3
"""REST beside the statements: OPTIONS and pages of other origins, files and what clients keep of them, Expect.

    rest_test.py [NAME...]
"""
import base64, concurrent.futures, gzip, hashlib, http.client, json, pathlib, re, resource, subprocess, tempfile, time, urllib.parse

from lib.checks import check, expect, main
from lib.rawhttp import heads, raw
from lib.server import TOP, Server

CORS = {"ALMANAC_HTTP_CORS_ORIGINS": "https://a.example, http://b.example:8080", "ALMANAC_HTTP_CORS_MAX_AGE": "90s",
        "ALMANAC_HTTP_CORS_CREDENTIALS": "true", "ALMANAC_HTTP_CORS_HEADERS": "Content-Type, X-Own",
        "ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": "secret"}


LONG = "select sum(x % 7) from long_sequence(1000000000000)"


def ask(s, method, path, address=None, **headers):
    """(status, headers) of a request without a body."""
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    got, _ = raw(address or s.http, f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n".encode())
    return heads(got)[0]


# ------------------------------------------------------------------------------------------------------ OPTIONS, CORS
@check
def options_names_what_a_path_takes(s):
    for path, allow in (("/exec", "GET, HEAD, POST, OPTIONS"), ("/imp", "POST, PUT, OPTIONS"), ("/query/17", "GET, HEAD, DELETE, OPTIONS"), ("/snapshot/a", "GET, HEAD, DELETE, OPTIONS"), ("/", "GET, HEAD, OPTIONS"),
                        ("*", "GET, HEAD, POST, PUT, DELETE, OPTIONS"), ("/write?precision=ms", "POST, OPTIONS")):
        status, got = ask(s, "OPTIONS", path)
        expect((status, got.get("allow"), got.get("content-length")), (204, allow, None), path)
    expect(ask(s, "OPTIONS", "/nope")[0], 404)
    expect(ask(s, "GET", "*")[0], 400)
    for path in ("/", "/metrics"):
        expect(ask(s, "OPTIONS", path, s.health)[1]["allow"], "GET, HEAD, OPTIONS", path)
        expect(ask(s, "POST", path, s.health)[0], 405, path)


@check
def without_origins_no_answer_speaks_of_them(s):
    for method in ("GET", "OPTIONS"):
        got = ask(s, method, "/exec?query=select+1", Origin="https://a.example", Access_Control_Request_Method="GET")[1]
        expect([k for k in got if k.startswith("access-control") or (k == "vary" and "Origin" in got[k])], [], method)


@check
def listed_origins_may_read_and_send(s):
    with Server(preset=s.preset, env=CORS) as c:
        for origin in ("https://a.example", "http://b.example:8080"):
            got = ask(c, "GET", "/ping", Origin=origin)[1]
            expect((got["access-control-allow-origin"], got["access-control-allow-credentials"]), (origin, "true"))
            expect("X-Query-Id" in got["access-control-expose-headers"], True)
            status, got = ask(c, "OPTIONS", "/exec", Origin=origin, Access_Control_Request_Method="POST", Access_Control_Request_Headers="content-type")
            expect((status, got["access-control-allow-origin"], got["access-control-allow-methods"], got["access-control-allow-headers"], got["access-control-max-age"]),
                   (204, origin, "GET, HEAD, POST, OPTIONS", "Content-Type, X-Own", "90"))  # asked without the login, which browsers leave out
            status, got = ask(c, "GET", "/exec?query=select+1", Origin=origin)
            expect((status, got["access-control-allow-origin"]), (401, origin))  # errors can be read, too
            expect(ask(c, "GET", "/nope", Origin=origin)[1]["access-control-allow-origin"], origin)
        for origin in ("https://a.example.evil", "http://a.example", "null", "https://A.example:443", ""):
            for method in ("GET", "OPTIONS"):
                got = ask(c, method, "/ping", Origin=origin, Access_Control_Request_Method="GET")[1]
                expect([k for k in got if k.startswith("access-control")], [], (origin, method))
                expect(got["vary"], "Origin", origin)
        expect(ask(c, "GET", "/ping")[1]["vary"], "Origin")


@check
def any_origin_gets_a_star_and_never_a_login(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_CORS_ORIGINS": "*"}) as c:
        got = ask(c, "GET", "/exec?query=select+1", Origin="https://x.example")[1]
        expect((got["access-control-allow-origin"], got.get("access-control-allow-credentials")), ("*", None))
        got = ask(c, "OPTIONS", "/exec", Origin="https://x.example", Access_Control_Request_Method="GET")[1]
        expect((got["access-control-allow-headers"], got["access-control-max-age"]), ("Authorization, Content-Type, Statement-Timeout", "600"))
    for env, word in (({"ALMANAC_HTTP_CORS_ORIGINS": "*", "ALMANAC_HTTP_CORS_CREDENTIALS": "true"}, "http.cors.credentials"),):
        try:
            with Server(preset=s.preset, env=env):
                raise AssertionError("it started")
        except RuntimeError as e:
            expect(word in str(e), True, e)


# ------------------------------------------------------------------------------------------------------ what other pages may do
FOREIGN = [  # the headers that browsers set by themselves; is such a request of another site?
    ({}, False), ({"Sec_Fetch_Site": "none"}, False), ({"Sec_Fetch_Site": "same-origin"}, False), ({"Sec_Fetch_Site": "cross-site"}, True),
    ({"Sec_Fetch_Site": "same-site"}, True), ({"Origin": "http://evil.example"}, True), ({"Origin": "null"}, True), ({"Origin": "http://HOST"}, False),
    ({"Origin": "https://HOST"}, False), ({"Origin": "http://HOST0"}, True), ({"Origin": "HOST"}, True), ({"Origin": "http://xHOST"}, True), ({"Origin": "http://HOST/"}, True),
    ({"Origin": "http://proxy.example", "Sec_Fetch_Site": "same-origin"}, False), ({"Origin": "http://HOST", "Sec_Fetch_Site": "cross-site"}, True),
    ({"Origin": "http://evil.example", "Sec_Fetch_Site": "cross-site", "Authorization": "Token a:b"}, False), ({"Sec_Fetch_Site": "cross-site", "Authorization": "Bearer x"}, False),
    ({"Sec_Fetch_Site": "cross-site", "Authorization": "Basic YTpi"}, True),  # browsers send what was typed once with any page's requests
]
CHANGES = ["drop table t", "insert into t values (2)", "truncate table t", "create table u (x int)", "alter table t add column y int", "update t set x = 3", "select 1; drop table t",
           "set timezone = 'Asia/Tokyo'", "begin", "vacuum table t", "comment on table t is 'x'", "copy (select 1) to 'a.parquet' with (format parquet)", "create view v as (select 1)",
           "select set_config('timezone', 'Asia/Tokyo', false)"]


def exchanges(s, requests):
    """(status, body) of requests (method, target, headers, body) one after another on one connection."""
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=30)
    for method, target, headers, body in requests:
        c.request(method, target, body, {k.replace("_", "-"): v.replace("HOST", s.http) for k, v in headers.items()})
        r = c.getresponse()
        yield r.status, r.read().decode()
    c.close()


def exec_target(sql, path="/exec"):
    return path + "?" + urllib.parse.urlencode({"query": sql})


@check
def another_site_reads_but_changes_nothing(s):
    with Server(preset=s.preset) as c:
        c.exec("create table t (x int)")
        c.exec("insert into t values (1)")
        foreign = {"Sec_Fetch_Site": "cross-site"}
        for sql in CHANGES:
            for path in ("/exec", "/api/v1/sql/execute"):
                [(status, body)] = exchanges(c, [("GET", exec_target(sql, path), foreign, None)])
                expect((status, "another site" in body), (403, True), (sql, body))
        # who comes on the same connection, before and behind, is not taken for that page
        got = list(exchanges(c, [("GET", exec_target("insert into t values (4)"), {}, None), ("GET", exec_target("insert into t values (5)"), foreign, None),
                                 ("GET", exec_target("insert into t values (6)"), {}, None), ("GET", exec_target("select * from t"), foreign, None),
                                 ("GET", exec_target("select * from t", "/exp"), foreign, None), ("GET", exec_target("drop table t", "/exp"), foreign, None),
                                 ("HEAD", exec_target("drop table t"), foreign, None), ("GET", exec_target("show time zone"), foreign, None), ("GET", "/index.html", foreign, None)]))
        expect([g[0] for g in got], [200, 403, 200, 200, 200, 400, 403, 200, 200])
        expect('"dataset":[[1],[4],[6]]' in got[3][1], True, got[3][1])
        expect("UTC" in got[7][1], True, got[7][1])


@check
def another_site_sends_no_bodies(s):
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    with Server(preset=s.preset) as c:
        for headers, is_foreign in FOREIGN:
            headers = {**headers, "X_Requested_With": "XMLHttpRequest"}  # which a page of this server sends, and no page of another can
            [(status, body)] = exchanges(c, [("POST", "/exec", {**form, **headers}, "query=select+1")])
            expect((status, "another site" in body), (403, True) if is_foreign else (200, False), (headers, body))
            [(status, body)] = exchanges(c, [("GET", exec_target("create table if not exists t (x int)"), headers, None)])
            expect(status, 403 if is_foreign else 200, (headers, body))
        for method, path in (("POST", "/write"), ("POST", "/api/v2/write"), ("POST", "/imp?name=t"), ("PUT", "/imp?name=t"), ("DELETE", "/query/1"), ("DELETE", "/snapshot/a"),
                             ("POST", "/settings?version=0"), ("PUT", "/settings?version=0"), ("POST", "/exp")):
            got = list(exchanges(c, [(method, path, {"Sec_Fetch_Site": "cross-site"}, "m x=1\n" if method != "DELETE" else None), ("GET", exec_target("select 1"), {}, None)]))
            expect([g[0] for g in got], [403, 200], (method, path, got))


@check
def what_set_says_ends_with_its_request(s):
    """One connection: a pool or a proxy gives it to other clients."""
    get = lambda sql: ("GET", exec_target(sql) + "&nm=true", {}, None)
    there = ("show timezone", "show statement_timeout", "show default_transaction_read_only", "select current_setting('search_path')", "show my.own")
    with Server(preset=s.preset) as c:
        c.exec("create table t (x int)")
        before = [body for _, body in exchanges(c, [get(sql) for sql in there])]
        for sql in ("set timezone = 'Asia/Tokyo'", "set statement_timeout = 1", "set default_transaction_read_only = on", "set search_path = x", "select set_config('search_path', 'y', false)",
                    "set search_path = x; select 1", "begin; set search_path = x; commit", "set search_path = x; select nope", "set my.own = 'mine'", *(f"set my.n{i} = 1" for i in range(120))):
            got = list(exchanges(c, [get(sql), *[get(q) for q in there], get("insert into t values (1)")]))
            expect(([body for _, body in got[1:6]], got[0][0], got[6][0]), (before, 400 if "nope" in sql else 200, 200), sql)
        [(status, body)] = exchanges(c, [get("set search_path = x; select current_setting('search_path')")])
        expect((status, json.loads(body)["dataset"]), (200, [["x"]]))
        expect(c.rows("select count() from t"), [[129]])


@check
def listed_origins_and_the_setting_let_other_sites_in(s):
    foreign = {"Sec_Fetch_Site": "cross-site"}
    listed = {**foreign, "Origin": "https://a.example"}
    other = {**foreign, "Origin": "https://x.example"}
    for env, want in (({}, [403, 403, 403]), ({"ALMANAC_HTTP_CORS_ORIGINS": "https://a.example"}, [403, 200, 403]), ({"ALMANAC_HTTP_CORS_ORIGINS": "*"}, [403, 200, 200]),
                      ({"ALMANAC_HTTP_CROSS_SITE_WRITES": "true"}, [200, 200, 200])):
        with Server(preset=s.preset, env=env) as c:
            for method, target in (("GET", exec_target("create table if not exists t (x int)")), ("POST", exec_target("create table if not exists t (x int)"))):
                got = [next(exchanges(c, [(method, target, headers, None)])) for headers in (foreign, listed, other)]
                expect([g[0] for g in got], want, (env, method, got))


@check
def a_login_that_the_browser_keeps_is_for_pages_with_credentials_alone(s):
    page, login = "https://a.example", {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}
    browser = {"Origin": page, "User-Agent": "Mozilla/5.0", "Accept-Language": "en", "Referer": page + "/"}
    ways = ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, {}, {"Upgrade-Insecure-Requests": "1", "Accept": "text/html"})
    form = "application/x-www-form-urlencoded"
    create = urllib.parse.urlencode({"query": "create table if not exists t (x int)"}).encode()
    requests = (("/exec", form, create), ("/write", "text/plain", b"u x=1i\n"),
                ("/imp?name=v", "multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="data"; filename="f"\r\n\r\na,b\n1,2\n--x--\r\n'))

    def post(c, path, kind, body, headers):
        host, port = c.http.rsplit(":", 1)
        con = http.client.HTTPConnection(host, int(port), timeout=30)
        con.request("POST", path, body, {**headers, "Content-Type": kind})
        status = con.getresponse().status
        con.close()
        return status
    kept = {"ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": "secret"}
    acl = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "me", "ALMANAC_ACL_ADMIN_PASSWORD": "secret"}
    for env in ({**acl, "ALMANAC_HTTP_CORS_ORIGINS": "*"}, {**acl, "ALMANAC_HTTP_CORS_ORIGINS": page}, {**kept, "ALMANAC_HTTP_CORS_ORIGINS": page}):
        with Server(preset=s.preset, env=env) as c:
            for request in requests:
                for way in ways:
                    expect(post(c, *request, {**login, **browser, **way}), 403, (env, request[0], way))
            own = {**browser, **ways[1], **login, "X-Requested-With": "XMLHttpRequest"}  # a header that had to be asked for: the script's own login
            expect(post(c, *requests[0], own), 200, env)
    with Server(preset=s.preset, env={**kept, "ALMANAC_HTTP_CORS_ORIGINS": page, "ALMANAC_HTTP_CORS_CREDENTIALS": "true"}) as c:
        expect([post(c, *requests[0], {**login, **browser, **way}) for way in ways[:3]], [200] * 3, "pages that may use it")
    with Server(preset=s.preset, env={"ALMANAC_HTTP_CORS_ORIGINS": page}) as c:
        expect([post(c, *requests[0], {**browser, **way}) for way in ways[:3]], [200] * 3, "without a login")


@check
def what_a_browser_plays_or_shows_changes_nothing(s):
    with Server(preset=s.preset) as c:
        for headers in ({"User-Agent": "AppleCoreMedia/1.0.0.21A329 (iPhone; U; CPU OS 17_0 like Mac OS X; en_us)", "Accept": "*/*"}, {"User-Agent": "stagefright/1.2 (Linux;Android 11)"},
                        {"User-Agent": "ExoPlayer", "Range": "bytes=0-"}, {"X-Playback-Session-Id": "A"}, {"Accept-Language": "en-GB,en;q=0.9"}, {"User-Agent": "Mozilla/5.0 (X11; Linux) Firefox/1", "Accept": "image/*"}):
            got = next(exchanges(c, [("GET", exec_target("create table t (x int)"), headers, None)]))
            expect(got[0], 403, headers)
        for headers in ({"User-Agent": "curl/8.0", "Accept": "*/*"}, {"User-Agent": "node", "Accept": "*/*", "Accept-Language": "*", "Sec-Fetch-Mode": "cors"}, {}):
            got = next(exchanges(c, [("GET", exec_target("create table if not exists t (x int)"), headers, None)]))
            expect(got[0], 200, headers)


@check
def who_asks_to_read_only_changes_nothing(s):
    with Server(preset=s.preset) as c:
        c.exec("create table t (x int)")
        host, port = c.http.rsplit(":", 1)

        def post(sql, target="/exec?readonly=true"):
            con = http.client.HTTPConnection(host, int(port), timeout=30)
            con.request("POST", target, urllib.parse.urlencode({"query": sql}), {"Content-Type": "application/x-www-form-urlencoded"})
            r = con.getresponse()
            answers = [(r.status, json.loads(r.read()))]
            con.request("POST", "/exec", urllib.parse.urlencode({"query": "insert into t values (1)"}), {"Content-Type": "application/x-www-form-urlencoded"})  # the next one on the connection may
            r = con.getresponse()
            r.read()
            con.close()
            return answers[0], r.status

        for sql in ("select count() from t", "with a as (select 1 one) select * from a", "explain analyze select * from t", "explain analyze insert into t values (3)", "show tables"):
            got, later = post(sql)
            expect((got[0], later), (200, 200), (sql, got))
        before = c.rows("select count() from t")
        for sql in ("insert into t values (2)", "drop table t", "create table u (x int)", "alter table t add column y int", "update t set x = 5", "truncate table t", "set query_timeout = 5", "select reload_config()", "select flush_user_info_cache()",
                    "copy t to 'x.csv'", "select 1; drop table t", "begin; drop table t"):
            got, later = post(sql)
            expect((got[0], "only statements that read" in got[1]["error"], later), (403, True, 200), (sql, got))
        expect(c.rows("select count() n, max(x) m from t"), [[before[0][0] + 12, 1]])


# ------------------------------------------------------------------------------------------------------ files
def fetch(s, path="/index.html", method="GET", **headers):
    """(status, headers, body) by http.client, which unpacks nothing."""
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=30)
    c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    r = c.getresponse()
    body = r.read()
    return r.status, {k.lower(): v for k, v in r.getheaders()}, body


@check
def the_start_page_is_found_and_complete(s):
    got, closed = raw(s.http, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", timeout=1)
    expect((heads(got)[0][0], heads(got)[0][1]["location"], heads(got)[0][1]["content-length"], closed), (301, "/index.html", "0", False))
    for query in ("?code=a%2Bb&state=%0d%0aX:y", "?x", "?"):  # of a provider that sends the browser to the address of the server
        expect(fetch(s, "/" + query)[1]["location"], "/index.html" + (query if query != "?" else ""))
    status, headers, page = fetch(s)
    expect((status, headers["content-type"], headers["content-length"], page.startswith(b"<!doctype html>"), b"@" in page.replace(b"data=@", b"")),
           (200, "text/html; charset=utf-8", str(len(page)), True, False))
    policy = headers["content-security-policy"]
    for part in ("default-src 'none';", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "object-src 'none';", "base-uri 'none';",
                 "frame-ancestors 'none';", "require-trusted-types-for 'script'", "trusted-types almanac-worker"):
        expect(part in policy, True, part)
    expect(("unsafe" in policy, headers["referrer-policy"], headers["cross-origin-opener-policy"]), (False, "no-referrer", "same-origin"))
    status, head, body = fetch(s, method="HEAD")
    expect((status, body, {k: v for k, v in head.items() if k != "date"}), (200, b"", {k: v for k, v in headers.items() if k != "date"}))
    expect(fetch(s, method="POST")[0], 405)


@check
def the_console_stands_in_frames_of_listed_pages_only(s):
    plain = fetch(s)[1]["etag"]
    with Server(preset=s.preset, env={"ALMANAC_HTTP_FRAME_ANCESTORS": "https://wiki.example.com, http://b.example:8080"}) as c:
        status, headers, _ = fetch(c)
        expect(" frame-ancestors https://wiki.example.com  http://b.example:8080; require-trusted" in headers["content-security-policy"], True, headers["content-security-policy"])
        expect(headers["etag"] == plain, False)  # a page that is kept has another policy
        expect(fetch(c, If_None_Match=headers["etag"])[0], 304)
    for bad in ("*", "wiki.example.com", "https://a.example; script-src *", "https://", "https://a.example/path", "https://a 'self'"):
        try:
            with Server(preset=s.preset, env={"ALMANAC_HTTP_FRAME_ANCESTORS": bad}):
                raise AssertionError(f"started with {bad}")
        except RuntimeError as e:
            expect("http.frame.ancestors" in str(e), True, str(e))


@check
def each_packed_form_has_its_own_tag(s):
    plain = fetch(s)
    tags = {plain[1]["etag"]}
    for accept, coding, unpack in (("gzip", "gzip", gzip.decompress), ("zstd, gzip", "zstd", None), ("gzip;q=1, zstd;q=0.5", "gzip", gzip.decompress), ("*", "zstd", None),
                                   ("gzip;q=0, zstd;q=0", None, None), ("br", None, None), ("identity, gzip;q=0.5", None, None)):
        status, headers, body = fetch(s, Accept_Encoding=accept)
        expect((status, headers.get("content-encoding"), headers["vary"]), (200, coding, "Accept-Encoding"), accept)
        expect(re.fullmatch(r'"[0-9a-f]{32}(-gz|-zst)?"', headers["etag"]) is not None, True, headers["etag"])
        tags.add(headers["etag"])
        if unpack:
            expect(unpack(body), plain[2])
        expect(headers["etag"] == plain[1]["etag"], coding is None, accept)
    expect(len(tags), 3)


@check
def a_file_that_the_client_has_is_not_sent_again(s):
    tag = fetch(s)[1]["etag"]
    for condition, status in ((tag, 304), ("W/" + tag, 304), (f'"x", W/"y" , {tag}', 304), ("*", 304), ('"x"', 200), (f'"x,{tag[1:]}', 200), (tag.strip('"'), 200), ("", 200), ('"', 200), ("W/", 200)):
        for method in ("GET", "HEAD"):
            got, headers, body = fetch(s, method=method, If_None_Match=condition)
            expect((got, headers["etag"], headers["cache-control"], headers["vary"], body == b"" if got == 304 else True), (status, tag, "no-cache", "Accept-Encoding", True), condition)
            expect("content-length" in headers, got == 200, condition)
    got, headers, _ = fetch(s, If_None_Match=tag, Accept_Encoding="gzip")  # another form is other bytes
    expect((got, headers["etag"]), (200, tag[:-1] + '-gz"'))
    for condition, status in ((tag, 200), ("*", 200), (f'"x", {tag}', 200), ('"x"', 412), ("W/" + tag, 412)):
        expect(fetch(s, If_Match=condition)[0], status, condition)


@check
def ranges_are_those_of_rfc_9110(s):
    _, headers, whole = fetch(s)
    n, tag = len(whole), headers["etag"]
    expect(headers["accept-ranges"], "bytes")
    for spec, want in (("bytes=0-0", (0, 1)), ("bytes=2-5", (2, 6)), ("bytes=2-", (2, n)), ("bytes=-5", (n - 5, n)), (f"bytes=-{n * 2}", (0, n)), (f"bytes=0-{n * 2}", (0, n)), (f"bytes={n - 1}-", (n - 1, n)),
                       ("BYTES=1-2", (1, 3)), (f"bytes={n}-", 416), ("bytes=-0", 416), (f"bytes={n + 5}-{n + 9}", 416), ("bytes=5-2", None), ("bytes=", None), ("bytes=a-b", None), ("bytes=1", None),
                       ("bytes=--1", None), ("bytes=0-1,3-4", None), ("lines=1-2", None), ("bytes=99999999999999999999-", None)):
        status, got, body = fetch(s, Range=spec)
        if want is None:
            expect((status, body), (200, whole), spec)
        elif want == 416:
            expect((status, got["content-range"], body), (416, f"bytes */{n}", b""), spec)
        else:
            expect((status, got["content-range"], got["content-length"], body), (206, f"bytes {want[0]}-{want[1] - 1}/{n}", str(want[1] - want[0]), whole[want[0]:want[1]]), spec)
    expect(fetch(s, Range="bytes=2-5", If_Range=tag)[0], 206)
    for other in ('"x"', "W/" + tag, "Wed, 21 Oct 2015 07:28:00 GMT", ""):
        expect(fetch(s, Range="bytes=2-5", If_Range=other)[0], 200, other)
    expect(fetch(s, Range="bytes=2-5", If_None_Match=tag)[0], 304)
    expect(fetch(s, method="HEAD", Range="bytes=2-5")[0], 200)
    packed = fetch(s, Accept_Encoding="gzip")[2]
    expect(fetch(s, Accept_Encoding="gzip", Range="bytes=10-19")[2], packed[10:20])  # of the bytes that are sent


@check
def files_of_a_folder_are_part_of_a_program(s):
    """tools/embed_assets.c by itself: names, hashes, packed forms, replaced words."""
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        files = {"a.html": b"<p>@NAME@ @NAME@ @OTHER@</p>", "js/index-B4xk29Qz.js": b"x" * 5000, "js/plain-component.js": b"", "deep/er/b.woff2": bytes(range(256))}
        for name, content in files.items():
            (top / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (top / "in" / name).write_bytes(content)
        tool = TOP / "build" / s.preset / "embed_assets"
        subprocess.run([tool, top / "in", top / "out", top / "out.c", "NAME=it"], check=True)
        text = (top / "out.c").read_text()
        rows = re.findall(r'\.path = "([^"]+)", \.etag = "([0-9a-f]{32})", \.hashed = (true|false), \.forms = \{\{asset_(\d)_plain, (\d+)\}, (\{[^}]*\}), (\{[^}]*\})', text)
        files["a.html"] = b"<p>it it @OTHER@</p>"
        expect([r[0] for r in rows], sorted("/" + f for f in files))
        for path, etag, hashed, number, size, gz, zst in rows:
            content = files[path[1:]]
            expect((etag, int(size), hashed), (hashlib.sha256(content).hexdigest()[:32], len(content), "true" if "B4xk29Qz" in path else "false"), path)
            expect((top / "out" / f"asset_{number}.plain").read_bytes(), content)
            expect("NULL" not in gz, len(content) > 4000, path)
            if "NULL" not in gz:
                expect(gzip.decompress((top / "out" / f"asset_{number}.gzip").read_bytes()), content)
        expect(text.endswith("alm_asset_count = 4;\n"), True)


# ------------------------------------------------------------------------------------------------------ preferences
def send(s, method, path, body=None, chunked=False, **headers):
    """(status, answer as JSON or text)"""
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=30)
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    c.request(method, path, iter([body]) if chunked else body, {k.replace("_", "-"): v for k, v in headers.items()}, encode_chunked=chunked)
    r = c.getresponse()
    text = r.read().decode()
    return r.status, json.loads(text) if (r.getheader("Content-Type") or "").startswith("application/json") else text


def preferences(s):
    answer = s.get("/settings")[2]
    answer = json.loads(answer)
    return answer["preferences.version"], answer["preferences"]


OK = (200, {"status": "OK"})


@check
def preferences_are_replaced_and_merged_by_version(s):
    expect(preferences(s), (0, {}))
    expect(send(s, "PUT", "/settings?version=0", {"instance_name": "a\u00fc\"\n", "n": 1.50, "on": True}), OK)
    expect(preferences(s), (1, {"instance_name": "a\u00fc\"\n", "n": 1.5, "on": True}))
    expect(send(s, "POST", "/settings?version=1", {"n": 2, "new": "x"}, chunked=True), OK)
    expect(preferences(s), (2, {"instance_name": "a\u00fc\"\n", "n": 2, "on": True, "new": "x"}))
    expect(send(s, "POST", "/settings?version=2", {"on": None, "nope": None}), OK)
    expect(send(s, "PUT", "/settings?version=2", {"a": "b"}), (409, {"error": "preferences view is out of date [currentVersion=3, expectedVersion=2]"}))
    for version, shown in (("", ""), ("abc", "abc"), ("-1", "-1"), ("1.5", "1.5")):
        expect(send(s, "PUT", f"/settings?version={version}", {"a": "b"}), (400, {"error": f"Invalid version, numeric value expected [version='{shown}']"}))
    expect(send(s, "PUT", "/settings", {"a": "b"})[0], 400)
    for body, position in ((b'{"a":"b"', 8), (b"", 0), (b"[]", 0), (b'{"a":{"b":1}}', 5), (b'{"a":[1]}', 5), (b'{"a":1}x', 7), (b'{"a":"\xff"}', 6), (b"null", 0), (b'{a:1}', 1)):
        for method in ("PUT", "POST"):
            status, answer = send(s, method, "/settings?version=3", body)
            expect((status, answer["position"], len(answer["error"]) > 5), (400, position, True), body)
    for body in (b'{"a":"' + b"x" * 70000 + b'"}', b" " * 66000 + b"{}"):
        for chunked in (False, True):
            expect(send(s, "PUT", "/settings?version=3", body, chunked=chunked)[0], 413)
    expect(preferences(s), (3, {"instance_name": "a\u00fc\"\n", "n": 2, "new": "x"}))
    expect(send(s, "PUT", "/settings?version=3", b'{"a":1,"a":2}'), OK)
    expect(preferences(s), (4, {"a": 2}))


@check
def preferences_are_there_after_a_kill(s):
    with tempfile.TemporaryDirectory() as root:
        c = Server(preset=s.preset, root=root).start()
        for i in range(20):
            expect(send(c, "POST", f"/settings?version={i}", {f"k{i}": i}), OK)
        c.kill()
        c.start()
        expect(preferences(c), (20, {f"k{i}": i for i in range(20)}))
        c.stop()
        path = pathlib.Path(root) / "conf" / "preferences.json"
        path.write_text(path.read_text()[:-10])
        try:
            c.start()
            raise AssertionError("it started")
        except RuntimeError as e:
            expect("preferences.json, byte" in str(e), True, e)
        finally:
            c.process = None


@check
def one_of_many_writers_wins_each_version(s):
    version = preferences(s)[0]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            got = list(pool.map(lambda i: send(s, "POST", f"/settings?version={version}", {"who": i})[0], range(8)))
            expect(sorted(got), [200] + [409] * 7)
            version += 1
            expect(preferences(s), (version, {**preferences(s)[1], "who": got.index(200)}))


@check
def preferences_may_be_read_only(s):
    for env, want in (({"ALMANAC_HTTP_SETTINGS_READONLY": "true"}, (401, {"error": "The /settings endpoint is read-only"})),
                      ({"ALMANAC_HTTP_SECURITY_READONLY": "true"}, (403, {"error": "Write permission denied"}))):
        with Server(preset=s.preset, env=env) as c:
            for method in ("PUT", "POST"):
                expect(send(c, method, "/settings?version=0", {"a": "b"}), want)
            expect(preferences(c), (0, {}))
            expect(json.loads(c.get("/settings")[2])["config"]["http.settings.readonly"], "SETTINGS" in str(env))
    with Server(preset=s.preset, env=CORS) as c:
        expect(send(c, "PUT", "/settings?version=0", {"a": "b"}), (401, "Unauthorized\r\n"))
        expect(send(c, "PUT", "/settings?version=0", {"a": "b"}, Authorization="Basic bWU6c2VjcmV0"), OK)
        expect(preferences(c), (1, {}))  # what anybody may know of them is not among these
        known = json.loads(c.get("/settings", headers={"Authorization": "Basic bWU6c2VjcmV0"})[2])
        expect((known["preferences.version"], known["preferences"]), (1, {"a": "b"}))


@check
def a_large_file_is_sent_in_pieces(_s):
    import os, socket
    with tempfile.TemporaryDirectory() as folder:
        public = pathlib.Path(folder) / "public"
        public.mkdir()
        sizes = (0, 1, 262143, 262144, 262145, 524288, 12_000_000)
        for n in sizes:
            (public / f"{n}.bin").write_bytes(os.urandom(n))
        with Server(preset=_s.preset, root=folder) as s:
            for n in sizes:
                want = (public / f"{n}.bin").read_bytes()
                status, headers, body = fetch(s, f"/{n}.bin")
                expect((status, headers["content-length"], body == want), (200, str(n), True), n)
                expect(fetch(s, f"/{n}.bin", If_None_Match=headers["etag"])[0], 304, n)
                expect((fetch(s, f"/{n}.bin", "HEAD")[1]["content-length"], fetch(s, f"/{n}.bin", "HEAD")[2]), (str(n), b""), n)
                if n > 300000:
                    status, headers, body = fetch(s, f"/{n}.bin", Range="bytes=200000-499999")
                    expect((status, headers["content-range"], body == want[200000:500000]), (206, f"bytes 200000-499999/{n}", True), n)
                    expect(fetch(s, f"/{n}.bin", Range="bytes=-5")[2], want[-5:], n)
            host, port = s.http.rsplit(":", 1)
            before, silent = s.resident_bytes()[1], []
            for _ in range(20):
                c = socket.socket()
                c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                c.connect((host, int(port)))
                c.sendall(b"GET /12000000.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
                silent.append(c)
            time.sleep(2)
            grown = s.resident_bytes()[1] - before
            expect(grown < 40_000_000, True, f"20 clients that do not read: {grown / 1e6:.0f} MB")
            (public / "12000000.bin").write_bytes(b"")  # it is cut while they read: no answer that seems whole
            got, more = 0, b"x"
            silent[0].settimeout(20)
            while more:
                more = silent[0].recv(1 << 20)
                got += len(more)
            expect(got < 12_000_000, True, got)
            for c in silent:
                c.close()
            expect(s.rows("select 1"), [[1]])


@check
def files_of_the_public_folder_are_served_and_no_others(s):
    with tempfile.TemporaryDirectory() as root:
        top = pathlib.Path(root)
        files = {"a.txt": b"hello", "sub/b c.woff2": bytes(range(256)), "index.html": b"not this one", "big.bin": b"x" * 70000, "\u00fc.css": b"p{}", "empty.js": b""}
        for name, content in files.items():
            (top / "public" / name).parent.mkdir(parents=True, exist_ok=True)
            (top / "public" / name).write_bytes(content)
        (top / "secret.txt").write_text("secret")
        (top / "public" / ".hidden").write_text("secret")
        (top / "public" / "link").symlink_to(top / "secret.txt")
        (top / "public" / "inside").symlink_to("a.txt")
        with Server(preset=s.preset, root=root, env={"ALMANAC_HTTP_STATIC_FILE_BYTES_MAX": "64k"}) as c:
            for path, status, content, kind in (("/a.txt", 200, b"hello", "text/plain; charset=utf-8"), ("/sub/b%20c.woff2", 200, bytes(range(256)), "font/woff2"), ("/%C3%BC.css", 200, b"p{}", "text/css; charset=utf-8"),
                                                ("/empty.js", 200, b"", "text/javascript; charset=utf-8"), ("/inside", 200, b"hello", "application/octet-stream")):
                got, headers, body = fetch(c, path)
                expect((got, body, headers["content-type"], headers["content-length"], headers["cache-control"]), (status, content, kind, str(len(content)), "no-cache"), path)
                expect(fetch(c, path, If_None_Match=headers["etag"])[0], 304)
                expect(fetch(c, path, method="HEAD")[2], b"")
            expect(fetch(c, "/a.txt", Range="bytes=1-2")[::2], (206, b"el"))
            for path in ("/.hidden", "/link", "/../secret.txt", "/%2e%2e/secret.txt", "/sub/..%2f..%2fsecret.txt", "/sub", "/sub/", "/nope", "//a.txt/../../secret.txt", "/a.txt/", "/conf/server.conf"):
                expect(fetch(c, path)[0], 404, path)
            expect(fetch(c, "/big.bin")[0], 503)
            expect((fetch(c, "/a.txt", method="POST")[0], fetch(c, "/index.html")[2][:9]), (404, b"<!doctype"))
            before = fetch(c, "/a.txt")[1]["etag"]
            (top / "public" / "own.html").write_text("<p style='color:red'>mine")
            expect("style-src 'self' 'unsafe-inline'" in fetch(c, "/own.html")[1]["content-security-policy"], True)
            for name, parts in (("own.html", ("default-src 'self';", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'")), ("own.svg", ("default-src 'none';", "; sandbox;", "frame-ancestors 'self'")),
                                ("OWN.SVG", ("default-src 'none';", "; sandbox;")), ("own.xml", ("default-src 'none';", "; sandbox;"))):
                (top / "public" / name).write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
                _, headers, _ = fetch(c, "/" + name)
                policy = headers["content-security-policy"]
                expect(([part for part in parts if part not in policy], "script-src" in policy, "allow-scripts" in policy), ([], False, False), (name, policy))
                expect((headers["referrer-policy"], headers["cross-origin-opener-policy"]), ("no-referrer", "same-origin"), name)
                expect(fetch(c, "/" + name, If_None_Match=headers["etag"])[0], 304)
            (top / "public" / "a.txt").write_bytes(b"other")
            expect((fetch(c, "/a.txt", If_None_Match=before)[2], fetch(c, "/a.txt")[1]["etag"] != before), (b"other", True))


# ------------------------------------------------------------------------------------------------------ settings of the server
@check
def exports_wait_for_a_place(s):
    env = {"ALMANAC_HTTP_EXPORT_CONNECTION_LIMIT": "1", "ALMANAC_HTTP_EXPORT_TIMEOUT": "4s", "ALMANAC_HTTP_EXPORT_QUEUE_TIMEOUT": "1s", "ALMANAC_QUERY_CONCURRENT_MAX": "2"}
    with Server(preset=s.preset, env=env) as c, concurrent.futures.ThreadPoolExecutor(20) as pool:
        def long_one():
            it = pool.submit(lambda: c.get("/exp", query=LONG)[0])
            while not c.rows("select query_id from query_activity() where query = '" + LONG.replace("'", "''") + "'"):
                time.sleep(0.01)
            return it
        one, start = long_one(), time.monotonic()
        status, headers, body = fetch(c, "/exp?query=select+1")  # waits in vain
        expect((status, headers["retry-after"], "http.export.connection.limit" in json.loads(body)["error"], 0.9 < time.monotonic() - start < 2.5), (429, "1", True, True))
        # those that wait hold no thread
        waiting = [pool.submit(lambda: c.get("/exp", query="select 1")[0]) for _ in range(6)]
        expect(c.rows("select 1"), [[1]])
        expect([w.result() for w in waiting], [429] * 6)
        expect(one.result(), 400)
    env["ALMANAC_HTTP_EXPORT_QUEUE_TIMEOUT"] = "30s"
    with Server(preset=s.preset, env=env) as c, concurrent.futures.ThreadPoolExecutor(40) as pool:
        one = pool.submit(lambda: c.get("/exp", query=LONG)[0])
        while len(c.rows("select query_id from query_activity()")) < 2:
            time.sleep(0.01)
        gone = c.connect()
        gone.sendall(b"GET /exp?query=select+1 HTTP/1.1\r\nHost: a\r\n\r\n")
        line = c.connect()
        line.sendall(b"GET /exp?nm=true&query=select+7 HTTP/1.1\r\nHost: a\r\n\r\nGET /exec?nm=true&query=select+8 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        waiting = [pool.submit(lambda: c.get("/exp", query="select x from long_sequence(100000)")) for _ in range(20)]
        expect(c.rows("select 1"), [[1]])
        time.sleep(0.3)
        gone.close()
        number = [r[0] for r in c.rows("select query_id, query from query_activity()") if r[1] == LONG][0]
        expect(c.rows(f"select cancel_query({number})"), [[True]])
        expect(one.result(), 400)
        expect([(w.result()[0], len(w.result()[2].split())) for w in waiting], [(200, 100001)] * 20)
        got = b""
        while part := line.recv(65536):
            got += part
        expect((got.index(b"7\r\n") < got.index(b"[[8]]"), got.count(b"HTTP/1.1 200")), (True, 2))
        expect([c.get("/exp", query="select 1")[0] for _ in range(5)], [200] * 5)
        # the server stops while one waits
        one = pool.submit(lambda: fetch(c, "/exp?query=" + urllib.parse.quote(LONG)))
        two = pool.submit(lambda: fetch(c, "/exp?query=select+1"))
        time.sleep(0.3)
        c.stop()
        for it in (one, two):
            try:
                it.result(10)
            except (http.client.HTTPException, OSError):
                pass


@check
def settings_of_answers_and_exports(s):
    env = {"ALMANAC_HTTP_SECURITY_MAX_RESPONSE_ROWS": "5", "ALMANAC_HTTP_KEEP_ALIVE_TIMEOUT": "7", "ALMANAC_HTTP_KEEP_ALIVE_MAX": "99", "ALMANAC_HTTP_EXPORT_CONNECTION_LIMIT": "1",
           "ALMANAC_HTTP_EXPORT_TIMEOUT": "3s", "ALMANAC_HTTP_EXPORT_QUEUE_TIMEOUT": "0", "ALMANAC_QUERY_TIMEOUT": "1s"}
    with Server(preset=s.preset, env=env) as c:
        for limit, want in ((None, [1, 2, 3, 4, 5]), ("3", [1, 2, 3]), ("4,20", [4, 5, 6, 7, 8]), ("8,", [8, 9]), ("-3", [7, 8, 9]), ("-9", [5, 6, 7, 8, 9])):
            expect([r[0] for r in c.rows("select x from long_sequence(9)", **({"limit": limit} if limit else {}))], want, limit)
        expect(c.exec("select x from long_sequence(9)", count="true")["count"], 9)
        expect(c.get("/exp", query="select x from long_sequence(9)", nm="true")[2].split(), [b"1", b"2", b"3", b"4", b"5"])
        expect(fetch(c, "/ping")[1]["keep-alive"], "timeout=7, max=99")
        start = time.monotonic()
        expect(c.get("/exec", query=LONG)[0], 400)
        expect(0.9 < time.monotonic() - start < 2.5, True)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            start = time.monotonic()
            one = pool.submit(lambda: c.get("/exp", query=LONG))
            time.sleep(0.5)
            status, headers, body = fetch(c, "/exp?query=select+1")
            expect((status, headers["retry-after"], "http.export.connection.limit" in json.loads(body)["error"]), (429, "1", True))
            expect(c.rows("select 1"), [[1]])
            expect((one.result()[0], 2.5 < time.monotonic() - start < 5), (400, True))
        with Server(preset=s.preset, env={"ALMANAC_HTTP_JSON_QUERY_CONNECTION_LIMIT": "1", "ALMANAC_QUERY_TIMEOUT": "2s", "ALMANAC_HTTP_NET_CONNECTION_RCVBUF": "16k",
                                          "ALMANAC_HTTP_NET_CONNECTION_SNDBUF": "16k"}) as few, concurrent.futures.ThreadPoolExecutor(1) as pool:
            def long():  # it may meet one of those below, and then is the one that is told to come again
                while (answer := few.get("/exec", query=LONG))[0] == 429:
                    pass
                return answer
            one = pool.submit(long)
            while (got := fetch(few, "/exec?query=select+1"))[0] == 200:
                pass
            status, headers, body = got
            expect((status, headers["retry-after"], "http.json.query.connection.limit" in json.loads(body)["error"]), (429, "1", True))
            expect((few.get("/exp", query="select 1")[0], one.result()[0]), (200, 400))
            expect([few.get("/exec", query=q)[0] for q in ("select 1", "select nope", "select 1")], [200, 400, 200])
            expect(len(few.rows("select x, 'text of some length' from long_sequence(100000)")), 100000)
        for _ in range(3):  # those that are over, and those that failed, take no place
            expect([c.get("/exp", query=q)[0] for q in ("select 1", "select nope", "drop table x", "selec", "select \ufffd")], [200, 400, 400, 400, 400])
    with Server(preset=s.preset, env={"ALMANAC_HTTP_SERVER_KEEP_ALIVE": "false"}) as c:
        got, closed = raw(c.http, b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n", timeout=5)
        expect((heads(got)[0][1]["connection"], closed), ("close", True))


@check
def all_may_be_below_a_path(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_CONTEXT_WEB_CONSOLE": "/console"}) as c:
        for path, status in (("/console/exec?query=select+1", 200), ("/console/index.html", 200), ("/console/", 301), ("/console", 301), ("/console/settings", 200), ("/ping", 204), ("/exec?query=select+1", 404),
                             ("/index.html", 404), ("/", 404), ("/settings", 404), ("/consolexec?query=select+1", 404), ("/console/ping", 204), ("/console/query/1", 400)):
            got, headers, _ = fetch(c, path)
            expect(got, status, path)
            expect(headers.get("location"), "/console/index.html" if status == 301 else None)
        expect(send(c, "POST", "/write", b"a v=1 1000000000\n")[0], 204)
        expect(send(c, "DELETE", "/console/query/5")[0], 404)
        expect(json.loads(fetch(c, "/console/openapi.json")[2])["servers"], [{"url": "/console"}])
    for path in ("console", "/console/", "/a\r\nb"):
        try:
            with Server(preset=s.preset, env={"ALMANAC_HTTP_CONTEXT_WEB_CONSOLE": path}):
                raise AssertionError("it started")
        except RuntimeError as e:
            expect("http.context.web.console" in str(e), True, e)


@check
def every_http_setting_is_shown(s):
    keys = set(re.findall(r'"(http\.[a-z.-]+)"', (TOP / "src/base/conf.def").read_text()))
    shown = {r[0] for r in s.rows("show parameters", limit="1000")}
    expect((keys - shown, len(keys) > 35), (set(), True))


@check
def a_login_may_be_kept_in_a_cookie(s):
    login = {"Authorization": "Basic bWU6c2VjcmV0"}
    query = "/exec?query=select+1"
    cookie_of = lambda headers: re.fullmatch(r"qdb_session=(qs1[0-9a-f]{112}); HttpOnly; Path=/; SameSite=Strict; Max-Age=(\d+)", headers["set-cookie"])
    with Server(preset=s.preset, env={**CORS, "ALMANAC_HTTP_SESSION_TIMEOUT": "2s"}) as c:
        expect("set-cookie" in fetch(c, query, **login)[1], False)
        expect("set-cookie" in fetch(c, query + "&session=true", Authorization="Basic bWU6d3Jvbmc=")[1], False)
        status, headers, _ = fetch(c, query + "&session=true", **login)
        first, age = cookie_of(headers).groups()
        expect((status, age), (200, "2"))
        expect(cookie_of(fetch(c, query.replace("/exec", "/api/v1/sql/execute") + "&session=true", **login)[1])[2], "2")
        for path in (query, "/chk?j=x", "/exp?query=select+1", "/query"):  # renewed by each use, the one before holds on
            status, headers, _ = fetch(c, path, Cookie=f"a=b; qdb_session={first}; c=d")
            expect((status, cookie_of(headers)[1] != first), (200, True), path)
        flipped = first[:-1] + ("0" if first[-1] != "0" else "1")
        later = "qs1" + format(int(first[3:5], 16) ^ 1, "02x") + first[5:]
        for bad in (flipped, later, first[:-2], first + "00", first.upper(), "", "qs1", "x" * 99, "qs2" + first[3:]):
            status, headers, _ = fetch(c, query, Cookie="qdb_session=" + bad)
            expect((status, "set-cookie" in headers), (401, False), bad)
        expect(fetch(c, query, Cookie="xqdb_session=" + first)[0], 401)
        expect(fetch(c, query, Cookie="qdb_session=" + first, Authorization="Basic bWU6d3Jvbmc=")[0], 401)
        with Server(preset=s.preset, env=CORS) as other:
            expect(fetch(other, query, Cookie="qdb_session=" + first)[0], 401)
        for more in ({}, login):  # session=false ends all cookies of the session, by whichever it is asked for, and of no other
            one = cookie_of(fetch(c, query + "&session=true", **login)[1])[1]
            two = cookie_of(fetch(c, query, Cookie="qdb_session=" + one)[1])[1]
            status, headers, _ = fetch(c, query + "&session=false", Cookie="qdb_session=" + two, **more)
            expect((status, headers["set-cookie"]), (200, "qdb_session=; HttpOnly; Path=/; SameSite=Strict; Max-Age=0"))
            expect([fetch(c, query, Cookie="qdb_session=" + it)[0] for it in (one, two, first)], [401, 401, 200])
            expect([fetch(c, query + "&session=false", Cookie="qdb_session=" + one)[0]], [401])
        last = first
        for _ in range(5):  # longer than one lasts
            time.sleep(0.6)
            last = cookie_of(fetch(c, query, Cookie="qdb_session=" + last)[1])[1]
        expect((fetch(c, query, Cookie="qdb_session=" + first)[0], fetch(c, query, Cookie="qdb_session=" + last)[0]), (401, 200))
    with Server(preset=s.preset, env={**CORS, "ALMANAC_HTTP_SERVER_COOKIES_ENABLED": "false"}) as c:
        expect("set-cookie" in fetch(c, query + "&session=true", **login)[1], False)
    with Server(preset=s.preset, env={**CORS, "ALMANAC_HTTP_SESSION_LIFETIME_MAX": "2s"}) as c:  # however much it is used
        start, last, ages, status = time.monotonic(), None, [], 200
        while status == 200 and time.monotonic() < start + 8:
            status, headers, _ = fetch(c, query, Cookie="qdb_session=" + last) if last else fetch(c, query + "&session=true", **login)
            if status == 200:
                last, age = cookie_of(headers).groups()
                ages.append(int(age))
            time.sleep(0.2)
        expect((status, max(ages) <= 2, 1.9 < time.monotonic() - start < 6), (401, True, True), ages)
        expect("set-cookie" in fetch(c, query + "&session=true", Cookie="qdb_session=" + last)[1], False)
    with Server(preset=s.preset, env={"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "me", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_HTTP_SESSION_TIMEOUT": "2s"}) as c:
        old = fetch(c, query + "&session=true", **login)[1]["set-cookie"].split(";")[0]
        time.sleep(1.2)
        new = fetch(c, query, Cookie=old)[1]["set-cookie"].split(";")[0]  # another id
        expect((old != new, fetch(c, query, Cookie=old)[0], fetch(c, query, Cookie=new)[0]), (True, 200, 200))
        time.sleep(3)
        expect((fetch(c, query, Cookie=old)[0], fetch(c, query, Cookie=new)[0]), (401, 401), "the one before ends by its last use, too")


# ------------------------------------------------------------------------------------------------------ statements that run, health
def begin(s, sql):
    """A connection on which the statement runs, its number from query_activity()."""
    sock = s.connect()
    sock.sendall(b"GET /exec?query=" + urllib.parse.quote(sql).encode() + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in range(200):
        found = [r[0] for r in s.rows("select query_id, query from query_activity()") if r[1] == sql]
        if found:
            return sock, found[0]
        time.sleep(0.02)
    raise AssertionError("it does not run")


@check
def errors_of_statements_have_a_number(s):
    last = 0
    for sql, status in (("select 1", 200), ("select nope", 400), ("selec", 400), ("select (", 400), ("select * from nope", 400), ("select 1; select nope", 400), ("insert into nope values (1)", 400)):
        got, headers, _ = s.get("/exec", query=sql)
        expect((got, int(headers["X-Query-Id"]) > last), (status, True), sql)
        last = int(headers["X-Query-Id"])
    sock, number = begin(s, LONG)
    expect(send(s, "DELETE", f"/query/{number}"), OK)
    expect(re.search(rb"HTTP/1.1 400 .*X-Query-Id: (\d+)\r\n", sock.recv(4000), re.S)[1], str(number).encode())
    for path, want in (("/query/x", 404), ("/query/x.y", 400), ("/query/0", 400), ("/query/-5", 400), (f"/query/{number}", 404), ("/query/99999999999999999999", 400), ("/query/", 400)):
        expect(send(s, "DELETE", path)[0], want, path)


@check
def a_read_only_listener_ends_its_own_queries_alone(s):
    import psycopg
    with Server(preset=s.preset, env={"ALMANAC_HTTP_SECURITY_READONLY": "true", "ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": "secret"}) as c:
        login = {"Authorization": "Basic bWU6c2VjcmV0"}
        with psycopg.connect(c.pg_dsn(), autocommit=True) as theirs, concurrent.futures.ThreadPoolExecutor(2) as pool:
            other = pool.submit(lambda: theirs.execute(LONG.replace("7", "8")))
            mine = pool.submit(lambda: fetch(c, "/exec?query=" + urllib.parse.quote(LONG), **login))
            found = {}
            while len(found) < 2:
                rows = json.loads(c.get("/query", headers=login)[2])
                at = [x["name"] for x in rows["columns"]]
                found = {r[at.index("username")]: r[at.index("query_id")] for r in rows["dataset"] if "long_sequence(1000" in r[at.index("query")] or r[at.index("username")] == "admin"}
            expect(send(c, "DELETE", f"/query/{found['admin']}", **login), (403, {"error": "the query is that of another user"}))
            expect(send(c, "DELETE", f"/query/{found['admin']}")[0], 401)
            expect(send(c, "DELETE", f"/query/{found['me']}", **login), OK)
            expect(mine.result()[0], 400)
            theirs.cancel()
            expect(isinstance(other.exception(), psycopg.errors.QueryCanceled), True)


@check
def a_pessimistic_health_check_remembers_faults(s):
    with Server(preset=s.preset, env={"ALMANAC_HTTP_PESSIMISTIC_HEALTH_CHECK_ENABLED": "true"}) as c:
        health = lambda path="/": raw(c.health, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())[0]
        expect(health().endswith(b"Status: Healthy"), True)
        expect(c.get("/exec", query="select nope")[0], 400)
        expect(health("/any").startswith(b"HTTP/1.1 200"), True)  # a fault of the statement is none of the server
        c.exec("create table gone as (select x from long_sequence(200000))")
        for part in (c.root / "db").rglob("*.part"):
            part.unlink()
        expect(c.get("/exec", query="select sum(x) from gone")[0], 500)
        expect(health().startswith(b"HTTP/1.1 500"), True)


@check
def low_limits_of_the_host_are_warned_of(s):
    maps = int(pathlib.Path("/proc/sys/vm/max_map_count").read_text())
    with Server(preset=s.preset) as c:
        hard = resource.prlimit(c.process.pid, resource.RLIMIT_NOFILE)[1]
        for limit in (1000, 20000):
            if hard != resource.RLIM_INFINITY and limit > hard:
                continue
            resource.prlimit(c.process.pid, resource.RLIMIT_NOFILE, (limit, hard))
            got = [w for w in json.loads(c.get("/warnings")[2]) if w["tag"] == "TOO MANY OPEN FILES"]
            expect(got, [{"tag": "TOO MANY OPEN FILES", "warning": "the limit of open files (ulimit -n) is low [current=1000, recommended=16384]"}] if limit == 1000 else [])
        expect("TOO MANY MAPS" in c.get("/warnings")[2].decode(), maps < 65530)


@check
def the_name_of_an_export_is_the_time(s):
    name = fetch(s, "/exp?query=select+1")[1]["content-disposition"]
    expect(abs(int(re.search(r'filename="almanac-query-(\d+)\.csv"', name)[1]) / 1000 - time.time()) < 5, True, name)
    for given, want in (("%ff", None), ("a%ff", None), ("\u00fc" * 150, "\u00fc" * 100), ("a" + "\u20ac" * 100, "a" + "\u20ac" * 66), ("x" * 300, "x" * 200)):  # whole characters alone
        got = fetch(s, "/exp?query=select+1&filename=" + urllib.parse.quote(given, safe="%"))[1]["content-disposition"]
        said = re.search(r"filename\*=UTF-8''(\S+)\.csv$", got) or re.search(r'filename="(\S+)\.csv"$', got)
        expect(urllib.parse.unquote(said[1], errors="strict") if want else said[1][:14], want or "almanac-query-", given)


@check
def the_health_port_wants_the_login(s):
    login = "Authorization: Basic bWU6c2VjcmV0\r\n"
    for required in ("true", "false"):
        with Server(preset=s.preset, env={**CORS, "ALMANAC_HTTP_HEALTH_CHECK_AUTHENTICATION_REQUIRED": required, "ALMANAC_METRICS_ENABLED": "true"}) as c:
            for path in ("/", "/metrics"):
                for more, status in (("", b"401" if required == "true" else b"200"), (login, b"200")):
                    got, _ = raw(c.health, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n".encode())
                    expect(got.split(b" ")[1], status, (path, required, more))


# ------------------------------------------------------------------------------------------------------ Expect
def waiting(path, n, more=b"", form=b"application/x-www-form-urlencoded"):
    return b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n%s\r\n" % (path, form, n, more)


@check
def who_waits_is_told_to_go_on_or_refused_at_once(s):
    sock = s.connect()
    sock.settimeout(5)
    sock.sendall(waiting(b"/exec", 14))
    expect(sock.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
    sock.sendall(b"query=select+1")
    expect(b'"dataset":[[1]]' in sock.recv(4000), True)
    sock.sendall(waiting(b"/write", 10, form=b"text/plain"))  # the connection goes on
    expect(sock.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
    sock.close()
    for request, status in ((waiting(b"/nope", 10), 404), (waiting(b"/ping", 10), 405), (waiting(b"/exec", 1 << 50), 413), (waiting(b"/exec", 1 << 30), 413),
                            (waiting(b"/exec", 5, b"Content-Encoding: br\r\n", b"text/plain"), 415), (waiting(b"/write?precision=x", 10), 400),
                            (waiting(b"/write", 10, b"Content-Encoding: br\r\n"), 415), (waiting(b"/imp?name=x", 10), 400),
                            (waiting(b"/exec", 14).replace(b"100-continue", b"200-ok"), 417), (waiting(b"/chk?j=a", 0).replace(b"POST", b"PUT"), 405)):
        got, closed = raw(s.http, request, timeout=4)
        expect((b"100 Continue" in got, [a[0] for a in heads(got)], closed), (False, [status], b": 0\r\n" not in request), request)
    got, _ = raw(s.http, waiting(b"/exec", 14).replace(b"1.1", b"1.0") + b"query=select+1")
    expect(re.match(rb"HTTP/1.1 200 ", got) is not None, True, got[:80])
    with Server(preset=s.preset, env=CORS) as c:
        got, closed = raw(c.http, waiting(b"/exec", 14), timeout=4)
        expect(([a[0] for a in heads(got)], closed), ([401], True))


if __name__ == "__main__":
    main()
