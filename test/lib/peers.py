"""Clients of two addresses of loopback: how the server treats one while the other attacks."""
import http.client, socket, threading, time, urllib.parse

from lib import log_search
from lib.acl_checks import with_credentials
from lib.pgclient import Closed, Wire, startup

HERE, THERE = "127.0.0.1", "127.0.0.2"  # the attacker's address, and another one


def dial(address, source=HERE, timeout=20):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=timeout, source_address=(source, 0))


def ask(s, sql="select 1", auth=None, source=HERE, path=None, headers=None, method="GET", body=None):
    """(status, text, headers) of a request from an address."""
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60, source_address=(source, 0))
    h = with_credentials(headers, auth)
    try:
        c.request(method, path or "/exec?" + urllib.parse.urlencode({"query": sql}), body, h)
        r = c.getresponse()
        return r.status, r.read().decode(errors="replace"), r.headers
    except ConnectionError as e:
        return 0, str(e), {}
    finally:
        c.close()


class From(Wire):
    """A PostgreSQL connection from an address."""

    def __init__(self, address, user, password, source=HERE, login=True):
        self.s = dial(address, source, 60)
        self.buf, self.settings, self.key, self.seen = bytearray(), {}, None, []
        log_search.note(password)
        if login:
            self.send(startup([("user", user), ("database", "qdb")]))
            self.login(password)


def pg_says(s, user, source=HERE):
    """None: logged in; else the error."""
    try:
        w = From(s.pg, *user, source=source)
    except PermissionError as e:
        return e.args[0]["M"]
    except (Closed, OSError) as e:
        return f"{type(e).__name__}: {e}"
    w.s.close()
    return None


def timed(f, *args, **more):
    began = time.monotonic()
    got = f(*args, **more)
    return got, time.monotonic() - began


class Attack:
    """Threads that call one(i) over and over until the end; exceptions of the connection are theirs."""

    def __init__(self, n, one):
        self.stop, self.calls = threading.Event(), 0
        self.threads = [threading.Thread(target=self.run, args=(one, i), daemon=True) for i in range(n)]

    def run(self, one, i):
        while not self.stop.is_set():
            try:
                one(i)
            except (OSError, PermissionError, Closed, http.client.HTTPException):
                pass
            self.calls += 1

    def __enter__(self):
        [t.start() for t in self.threads]
        time.sleep(0.7)
        return self

    def __exit__(self, *_):
        self.stop.set()
        [t.join(20) for t in self.threads]
