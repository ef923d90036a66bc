#!/usr/bin/env python3
"""REST beside the statements: OPTIONS and pages of other origins, Expect.

    rest_test.py [NAME...]
"""
import re

from checks import Server, check, expect, heads, main, raw

CORS = {"ALMANAC_HTTP_CORS_ORIGINS": "https://a.example, http://b.example:8080", "ALMANAC_HTTP_CORS_MAX_AGE": "90s",
        "ALMANAC_HTTP_CORS_CREDENTIALS": "true", "ALMANAC_HTTP_CORS_HEADERS": "Content-Type, X-Own",
        "ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": "secret"}


def ask(s, method, path, address=None, **headers):
    """(status, headers) of a request without a body."""
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    got, _ = raw(address or s.http, f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n".encode())
    return heads(got)[0]


# ------------------------------------------------------------------------------------------------------ OPTIONS, CORS
@check
def options_names_what_a_path_takes(s):
    for path, allow in (("/exec", "GET, HEAD, POST, OPTIONS"), ("/imp", "POST, PUT, OPTIONS"), ("/query/17", "DELETE, OPTIONS"), ("/", "GET, HEAD, OPTIONS"),
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
