#!/usr/bin/env python3
"""Requests that are framed wrongly or twice, floods, and requests that come too slowly: bytes, and what comes back.

A request that two readers could take for different ones (smuggling) gets 400 and its connection ends, with nothing of what
stands behind it looked at. Each phase of a request has its time: the head, the body, the answer, the silence between.

    framing_test.py [NAME...]
"""
import threading, time

from lib.checks import check, expect, main
from lib.rawhttp import heads, raw
from lib.server import Server

FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
NEXT = b"GET /exec?query=select+777 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"  # must not be answered behind a bad one


def post(*headers, body=b"", path=b"/exec", version=b"1.1"):
    return b"POST " + path + b" HTTP/" + version + b"\r\nHost: a\r\n" + FORM + b"".join(h + b"\r\n" for h in headers) + b"\r\n" + body


def get(*lines, path=b"/ping"):
    return b"GET " + path + b" HTTP/1.1\r\n" + b"".join(x + b"\r\n" for x in lines) + b"\r\n"


def chunked(body, path=b"/exec"):
    return post(b"Transfer-Encoding: chunked", body=body, path=path)


Q = b"query=select+1"
CASES = [  # name, bytes, status, does the server close?
    # one length
    ("length", post(b"Content-Length: 14", body=Q), 200, False),
    ("two equal lengths", post(b"Content-Length: 14", b"Content-Length: 14", body=Q), 400, True),
    ("two lengths", post(b"Content-Length: 14", b"Content-Length: 3", body=Q), 400, True),
    ("list of lengths", post(b"Content-Length: 14, 14", body=Q), 400, True),
    ("length with sign", post(b"Content-Length: +14", body=Q), 400, True),
    ("negative length", post(b"Content-Length: -14", body=Q), 400, True),
    ("hexadecimal length", post(b"Content-Length: 0xe", body=Q), 400, True),
    ("length with space within", post(b"Content-Length: 1 4", body=Q), 400, True),
    ("length that is empty", post(b"Content-Length:", body=Q), 400, True),
    ("length beyond 64 bits", post(b"Content-Length: 99999999999999999999", body=Q), 400, True),
    ("length with decimals", post(b"Content-Length: 14.0", body=Q), 400, True),
    ("length in other digits", post("Content-Length: \u0661\u0664".encode(), body=Q), 400, True),
    ("length and chunks", post(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400, True),
    ("chunks and length", post(b"Transfer-Encoding: chunked", b"Content-Length: 5", body=b"0\r\n\r\n"), 400, True),
    ("space before the colon", post(b"Content-Length : 14", body=Q), 400, True),
    ("encoding with space before the colon", post(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n"), 400, True),
    ("encoding twice", post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400, True),
    ("encoding that is none", post(b"Transfer-Encoding: identity", body=Q), 501, True),
    ("encoding in a list", post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"), 501, True),
    ("encoding nearly chunked", post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n"), 501, True),
    ("encoding in quotes", post(b'Transfer-Encoding: "chunked"', body=b"0\r\n\r\n"), 501, True),
    ("encoding with a control character", post(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n"), 400, True),
    ("encoding in capitals", post(b"Transfer-Encoding: CHUNKED", body=b"e\r\n" + Q + b"\r\n0\r\n\r\n"), 200, False),
    ("chunks in HTTP/1.0", post(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n", version=b"1.0"), 400, True),
    ("body of a GET", get(b"Host: a", b"Content-Length: 3") + b"abc", 400, False),
    # chunks
    ("chunks", chunked(b"6\r\nquery=\r\n8\r\nselect+1\r\n0\r\n\r\n"), 200, False),
    ("chunk size in both cases, zeros before it", chunked(b"00000E\r\n" + Q + b"\r\n000\r\n\r\n"), 200, False),
    ("chunk with an extension", chunked(b'e;a=b;c="d"\r\n' + Q + b"\r\n0;x\r\n\r\n"), 200, False),
    ("chunk with white space and an extension", chunked(b"e \t;a\r\n" + Q + b"\r\n0\r\n\r\n"), 200, False),
    ("trailers", chunked(b"e\r\n" + Q + b"\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n"), 200, False),
    ("trailer that is a length", chunked(b"e\r\n" + Q + b"\r\n0\r\nContent-Length: 5\r\n\r\n"), 200, False),
    ("chunk size with white space", chunked(b"e \r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk size with white space before it", chunked(b" e\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk size with 0x", chunked(b"0xe\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk size with sign", chunked(b"+e\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk size that is empty", chunked(b"\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk size that is none", chunked(b"zz\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk size beyond 64 bits", chunked(b"fffffffffffffffff\r\n" + Q), 400, True),
    ("chunk size that wraps around", chunked(b"1000000000000000e\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk longer than its size", chunked(b"5\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk line with LF alone", chunked(b"e\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("chunk end with LF alone", chunked(b"e\r\n" + Q + b"\n0\r\n\r\n"), 400, True),
    ("CR within an extension", chunked(b"e;a\rb\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("control character in an extension", chunked(b"e;a\x00\r\n" + Q + b"\r\n0\r\n\r\n"), 400, True),
    ("extension without end", chunked(b"e;" + b"a" * 10000), 400, True),
    ("trailer without colon", chunked(b"e\r\n" + Q + b"\r\n0\r\nX\r\n\r\n"), 400, True),
    ("trailer with a bad name", chunked(b"e\r\n" + Q + b"\r\n0\r\nX Y: 1\r\n\r\n"), 400, True),
    ("trailer that is folded", chunked(b"e\r\n" + Q + b"\r\n0\r\nX: 1\r\n 2\r\n\r\n"), 400, True),
    ("trailers without end", chunked(b"e\r\n" + Q + b"\r\n0\r\n" + b"X: 1\r\n" * 20000), 400, True),
    # lines
    ("LF alone at every line", b"GET /ping HTTP/1.1\nHost: a\n\n", 204, False),
    ("LF alone, no headers", b"GET /ping HTTP/1.0\n\n", 204, True),
    ("LF alone and a length", b"POST /exec HTTP/1.1\nHost: a\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 14\n\n" + Q, 200, False),
    ("LF alone and chunks", b"POST /exec HTTP/1.1\nHost: a\nContent-Type: application/x-www-form-urlencoded\nTransfer-Encoding: chunked\n\ne\r\n" + Q + b"\r\n0\r\n\r\n", 400, True),
    ("LF alone, a length and chunks", b"POST /exec HTTP/1.1\nHost: a\nContent-Length: 14\nTransfer-Encoding: chunked\n\n" + Q, 400, True),
    ("LF alone and two lengths", b"POST /exec HTTP/1.1\nHost: a\nContent-Length: 14\nContent-Length: 14\n\n" + Q, 400, True),
    ("LF alone, then CRLF", b"GET /ping HTTP/1.1\nHost: a\r\n\r\n", 400, True),
    ("LF alone, then an empty line of CRLF", b"GET /ping HTTP/1.1\nHost: a\n\r\n", 400, True),
    ("LF alone and a CR in a value", b"GET /ping HTTP/1.1\nHost: a\nX: a\rTransfer-Encoding: chunked\n\n", 400, True),
    ("CRLF, then an empty line of LF", b"GET /ping HTTP/1.1\r\nHost: a\r\n\n", 400, True),
    ("CRLF, then LF before the empty line", b"GET /ping HTTP/1.1\r\nHost: a\n\r\n", 400, True),
    ("LF alone and a folded header", b"GET /ping HTTP/1.1\nHost: a\nX: a\n b\n\n", 400, True),
    ("LF before the request", b"\nGET /ping HTTP/1.1\nHost: a\n\n", 400, True),
    ("LF alone behind a header", b"GET /ping HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400, True),
    ("CR alone in a value", get(b"Host: a", b"X: a\rb"), 400, True),
    ("CR alone before a name", get(b"Host: a", b"\rX: a"), 400, True),
    ("folded header", get(b"Host: a", b"X: a", b" b"), 400, True),
    ("folded header by a tab", get(b"Host: a", b"X: a", b"\tb"), 400, True),
    ("white space before the first header", get(b" Host: a"), 400, True),
    ("header without colon", get(b"Host: a", b"X"), 400, True),
    ("header without name", get(b"Host: a", b": x"), 400, True),
    ("header with a space in its name", get(b"Host: a", b"X Y: z"), 400, True),
    ("NUL in a value", get(b"Host: a", b"X: \x00"), 400, True),
    ("control character in a value", get(b"Host: a", b"X: \x08"), 400, True),
    ("bytes beyond ASCII in a value", get(b"Host: a", b"X: \xff\xc3\xbc"), 204, False),
    ("two hosts", get(b"Host: a", b"Host: b"), 400, True),
    ("no host", get(), 400, True),
    ("no host in HTTP/1.0", b"GET /ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 204, False),
    ("no host beside the absolute form", b"GET http://a/ping HTTP/1.1\r\n\r\n", 400, True),
    ("an empty host", get(b"Host:"), 204, False),
    ("host with a blank", get(b"Host: a b"), 400, True),
    ("host with a user", get(b"Host: me@a"), 400, True),
    ("host with a path", get(b"Host: a/b"), 400, True),
    ("host with a comma and a blank", get(b"Host: a, b"), 400, True),
    ("host with bytes beyond ASCII", get(b"Host: \xc3\xbc"), 400, True),
    ("host with a port that is none", get(b"Host: a:b"), 400, True),
    ("host with two ports", get(b"Host: a:1:2"), 400, True),
    ("host of an IPv6 address", get(b"Host: [::1]:9000"), 204, False),
    ("host of an IPv6 address without its end", get(b"Host: [::1"), 400, True),
    ("host of brackets with a name", get(b"Host: [xyz]"), 400, True),
    ("host with a quote", get(b'Host: a"b'), 400, True),
    ("host with a backslash", get(b"Host: a\\b"), 400, True),
    ("empty lines before", b"\r\n\r\n" + get(b"Host: a"), 204, False),
    ("space before the method", b" GET /ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("two spaces", b"GET  /ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("no target", b"GET HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("no version", b"GET /ping\r\n\r\n", 400, True),
    ("HTTP/2 without being asked", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, True),
    ("version with letters", b"GET /ping HTTP/1.x\r\n\r\n", 505, True),
    ("lower case version", b"GET /ping http/1.1\r\n\r\n", 400, True),
    ("TLS on the plain port", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, True),
    ("NUL in the target", b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("escaped NUL in the path", b"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("bad escape", b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("path that is not UTF-8", b"GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("absolute form", b"GET http://a/ping HTTP/1.1\r\nHost: a\r\n\r\n", 204, False),
    ("absolute form with a query and no path", b"GET http://a?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", 301, False),
    ("absolute form, https", b"GET HTTPS://localhost:1/ping HTTP/1.1\r\nHost: a\r\n\r\n", 204, False),
    ("absolute form of another host", b"GET http://evil.example/ping HTTP/1.1\r\nHost: localhost\r\n\r\n", 421, False),
    ("absolute form of this one, a header of another", b"GET http://localhost/ping HTTP/1.1\r\nHost: evil.example\r\n\r\n", 204, False),
    ("absolute form with a user", b"GET http://localhost@evil.example/ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("absolute form without a host", b"GET http:///ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("absolute form of another scheme", b"GET ftp://a/ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("absolute form with a bad host", b"GET http://a\\b/ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("authority form", b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    # floods
    ("too many headers", get(b"Host: a", *[b"X: %d" % i for i in range(200)]), 431, True),
    ("a header without end", b"GET /ping HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 70000, 431, True),
    ("headers without end", b"GET /ping HTTP/1.1\r\n" + b"X: aaaaaaaaaaaaaaaa\r\n" * 4000, 431, True),
    ("a request line without end", b"GET /" + b"a" * 70000, 414, True),
    ("too many parameters", get(b"Host: a", path=b"/ping?" + b"&".join(b"a=%d" % i for i in range(300))), 400, True),
    ("a hundred headers", get(b"Host: a", *[b"X: %d" % i for i in range(99)]), 204, False),
    ("a target that fits", get(b"Host: a", path=b"/ping?a=" + b"b" * 60000), 204, False),
]


@check
def each_request_is_taken_in_one_way(s):
    """Twice: in one packet with a request behind it, and byte after byte in three pieces."""
    bad = []
    for name, data, status, closes in CASES:
        for behind, parts in ((NEXT, [data + NEXT]), (b"", [data[:7], data[7:-3], data[-3:]])):
            got, closed = raw(s.http, *parts, timeout=4 if closes or behind else 0.3)
            answers = [a[0] for a in heads(got)]
            want = [status] if closes else [status, 200] if behind else [status]
            if answers != want or closed != (closes or bool(behind)) or (closes and b"777" in got) or (closes and b"Connection: close" not in got):
                bad.append((name, bool(behind), answers, want, closed, got[:120]))
    expect(bad, [])
    expect(s.rows("select 1"), [[1]])


@check
def a_flood_of_pipelined_requests_is_answered_in_order(s):
    n = 5000
    got, closed = raw(s.http, get(b"Host: a") * (n - 1) + get(b"Host: a", b"Connection: close"), timeout=30)
    expect((got.count(b"HTTP/1.1 204 "), closed), (n, True))


SLOW = {"ALMANAC_HTTP_REQUEST_HEAD_TIMEOUT": "900ms", "ALMANAC_HTTP_REQUEST_BODY_TIMEOUT": "1s", "ALMANAC_HTTP_NET_CONNECTION_TIMEOUT": "2s"}


def drip(s, first, piece, seconds, pause=0.1):
    """Sends `piece` again and again; (bytes that came back, seconds until the end, or None)."""
    c = s.connect()
    start = time.monotonic()
    got = b""
    try:
        c.sendall(first)
        c.settimeout(pause)
        while time.monotonic() - start < seconds:
            try:
                block = c.recv(65536)
                if not block:
                    return got, time.monotonic() - start
                got += block
            except TimeoutError:
                pass
            c.sendall(piece)
    except (BrokenPipeError, ConnectionResetError):
        return got, time.monotonic() - start
    finally:
        c.close()
    return got, None


@check
def each_phase_has_its_time(s):
    with Server(preset=s.preset, env=SLOW) as c:
        cases = [  # first bytes, then, the setting that is named, seconds
            (b"GET /ping HT", b"T", b"http.request.head.timeout", 0.9), (b"GET /ping HTTP/1.1\r\nHost: a\r\nX: ", b"a", b"http.request.head.timeout", 0.9), (b"\r\n", b"\r\n", None, 0.9),
            (post(b"Content-Length: 100000"), b"q", b"http.request.body.timeout", 1), (chunked(b""), b"1\r\nq\r\n", b"http.request.body.timeout", 1), (chunked(b"5;"), b"a", b"http.request.body.timeout", 1),
            (chunked(b"0\r\n"), b"X: 1\r\n", b"http.request.body.timeout", 1), (post(b"Content-Length: 100000", path=b"/write"), b"a", b"http.request.body.timeout", 1),
            (b"POST /imp?name=x HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\nContent-Length: 100000\r\n\r\n", b"-", b"http.request.body.timeout", 1)]
        results = [None] * len(cases)

        def run(i):
            first, piece, _, _ = cases[i]
            results[i] = drip(c, first, piece, 8)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(cases))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for (first, _, setting, least), (got, seconds) in zip(cases, results):
            expect(seconds is not None and seconds >= least - 0.1, True, (first, seconds, got))
            expect(setting is None or (got.startswith(b"HTTP/1.1 408 ") and setting in got), True, (first, got))
        got, closed = raw(c.http, b"", timeout=6)  # silence
        expect((got, closed), (b"", True))
        expect(c.rows("select 1"), [[1]])


@check
def a_body_that_goes_on_has_time(s):
    """Five times the time of the body in all, but each 64 kB come in it."""
    with Server(preset=s.preset, env=SLOW) as c:
        body = b"\n" * (64 << 10)
        sock = c.connect()
        sock.sendall(post(b"Content-Length: %d" % (10 * len(body)), path=b"/write"))
        for _ in range(10):
            sock.sendall(body)
            time.sleep(0.5)
        sock.settimeout(10)
        expect(sock.recv(1000).startswith(b"HTTP/1.1 204 "), True)


@check
def who_does_not_read_the_answer_loses_it(s):
    with Server(preset=s.preset, env=SLOW) as c:
        sock = c.connect()
        sock.sendall(b"GET /exec?query=select+x+from+long_sequence(100000000) HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(6)
        sock.settimeout(10)
        got, ended = 0, False
        try:
            while got < 1 << 28:
                block = sock.recv(1 << 20)
                if not block:
                    ended = True
                    break
                got += len(block)
        except ConnectionResetError:
            ended = True
        expect((ended, got < 1 << 26), (True, True), got)
        expect([r for r in c.rows("select query from query_activity()") if "100000000" in r[0] and "activity" not in r[0]], [])


if __name__ == "__main__":
    main()
