"""What the suites of access control and of sign-on have alike: who asks, over which wire, what was expected, and how a suite runs its parts."""
import argparse, base64, http.client, json, re, socket, sys, time, traceback, urllib.parse

from lib import log_search
from lib.checks import given, print_again
from lib.p256 import sign
from lib.pgclient import Wire, fields, query

ADMIN = ("admin", "of the house")
PW = "pw-of-cases"
ENV = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_PASSWORD": ADMIN[1], "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096",
       "ALMANAC_LOG_LEVEL": "debug", "ALMANAC_METRICS_ENABLED": "true", "ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backups"}


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def that(self, ok, what):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("FAIL", what, flush=True)


def with_credentials(headers, auth):
    """The headers of a request with those of (name, password) or of a token; None: without."""
    h = dict(headers or {})
    if isinstance(auth, tuple):
        h["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
    elif auth:
        h["Authorization"] = "Bearer " + auth
    log_search.note_login(h.get("Authorization", ""))
    return h


class Rest:
    """auth: (name, password), a token, or None."""

    def __init__(self, server):
        self.server = server

    def request(self, path, method="GET", auth=None, headers=None, body=None):
        host, port = self.server.http.rsplit(":", 1)
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        h = with_credentials(headers, auth)
        c.request(method, path, body, h)
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r.status, text, r.headers

    def sql(self, text, auth=ADMIN, **params):
        log_search.note_statement(text)
        params["query"] = text
        status, body, headers = self.request("/exec?" + urllib.parse.urlencode(params), auth=auth)
        return status, body

    def must(self, text, auth=ADMIN):
        status, body = self.sql(text, auth)
        if status != 200:
            raise AssertionError(f"{text}: {status} {body}")
        return json.loads(body)

    def rows(self, text, auth=ADMIN):
        return self.must(text, auth)["dataset"]


class Pg:
    """The same statements over the PostgreSQL wire: (200, "") or what the error stands for, and its text."""

    def __init__(self, server):
        self.server = server

    def sql(self, text, auth=ADMIN):
        """Statements of a list, on one connection: the first error counts."""
        w = Wire(self.server.pg, user=auth[0], password=auth[1])
        try:
            for one in [text] if isinstance(text, str) else text:
                w.send(query(one))
                errors = [fields(b) for k, b in pg_answer(w) if k == "E"]
                if errors:
                    return {"42501": 403}.get(errors[0]["C"], 400), errors[0]["M"]
        finally:
            w.s.close()
        return 200, ""


class Lines:
    """The exchange by hand: name, challenge, signature."""

    def __init__(self, s, name):
        host, port = s.line.rsplit(":", 1)
        self.c = socket.create_connection((host, int(port)), timeout=30)
        self.c.sendall(name.encode() + b"\n")
        self.challenge = b""
        while not self.challenge.endswith(b"\n"):
            self.challenge += self.c.recv(1000)

    def signed(self, key, challenge=None):
        number = int.from_bytes(base64.urlsafe_b64decode(key + "=="), "big")
        return base64.b64encode(sign(number, (challenge or self.challenge)[:-1])) + b"\n"

    def ends(self, *parts):
        """What the server says before it closes; None: it does not, within a moment."""
        told = b""
        try:
            self.c.sendall(b"".join(parts))
            self.c.settimeout(10)
            while True:
                block = self.c.recv(1000)
                if not block:
                    return told.decode()
                told += block
        except ConnectionError:
            return told.decode() or "reset"


def pg_answer(w):
    """Up to ReadyForQuery; a COPY FROM STDIN gets no rows."""
    out = []
    while True:
        kind, body = w.read()
        out.append((kind, body))
        if kind == "G":
            w.send(b"c\0\0\0\4")
        if kind == "Z":
            return out


PARSER = argparse.ArgumentParser()
PARSER.add_argument("--binary")
PARSER.add_argument("--nightly", action="store_true")
PARSER.add_argument("pattern", nargs="?", default="")


def arguments():
    return PARSER.parse_args()


def run_part(part, pattern, done, *args, before=None):
    """One part of a suite, if the pattern is for it: its checks into `done`, its time said; an exception is a failure of the part alone."""
    if not re.search(pattern, part.__name__):
        return
    began, mine = time.monotonic(), Checks()
    try:
        if before is not None:
            before()
        part(mine, *args)
    except Exception as e:
        traceback.print_exc()
        mine.that(False, f"{part.__name__}: {type(e).__name__}: {e}")
    print(f"{part.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    if mine.failed:
        print_again(*given(PARSER, arguments()), f"^{part.__name__}$")
    done.append(mine)


def run_suite(parts, house, env):
    """A whole suite whose parts share one server."""
    o, done = arguments(), []
    with house(binary=o.binary, env=env) as s:
        for part in parts:
            run_part(part, o.pattern, done, s)
    close(done)


def close(done):
    passed, failed = sum(c.passed for c in done), sum(c.failed for c in done)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)
