#!/usr/bin/env python3
"""Settings and certificates that change while the server runs: SIGHUP, reload_config(), reload_tls(); TLS of HTTP, of the health port and of
lines over TCP. A file that is wrong changes nothing; what says that it is reloadable in SHOW PARAMETERS is.

    reload_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import atexit, http.client, json, pathlib, re, shutil, signal, socket, ssl, threading, time, urllib.parse

from lib.certs import Certs
from lib.checks import Skip, check, expect, main
from lib.pgclient import Closed, Wire, fields, query, startup
from lib.server import TOP, Server


class Loose(Server):
    """A server with a file of settings; say() writes it and has it read."""

    def __init__(self, s, env=None, **settings):
        super().__init__(preset=s.preset, env=env)
        (self.root / "conf").mkdir()
        self.write(settings)
        self.log = self.root / "server.log"

    def write(self, settings):
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        (self.root / "conf" / "server.conf").write_text("# settings\n" + text)

    def say(self, **settings):
        self.write({key.replace("_", "."): value for key, value in settings.items()})
        return self.exec("select reload_config()")["dataset"] == [[True]]

    def hup(self, wait_for, **settings):
        """By signal; `wait_for` is what the log says then."""
        self.write({key.replace("_", "."): value for key, value in settings.items()})
        before = len(self.log.read_text())
        self.process.send_signal(signal.SIGHUP)
        return waited(lambda: wait_for in self.log.read_text()[before:], wait_for)

    def parameters(self):
        return {row[0]: dict(zip(("env", "value", "source", "sensitive", "reloadable"), row[1:])) for row in self.rows("show parameters")}

    def value(self, key):
        return self.parameters()[key]["value"]


def waited(true, what, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what}")


def error(f, part):
    try:
        got = f()
    except (RuntimeError, AssertionError, ConnectionError, OSError, Closed) as e:
        expect(part in str(e), True, f"{part!r} in {e!r}")
        return
    raise AssertionError(f"no error with {part!r}: {got!r}")


# ------------------------------------------------------------------ how
@check
def by_sql_and_by_signal(s):
    with Loose(s) as r:
        expect(r.say(query_timeout="7s"), True)
        expect((r.parameters()["query.timeout"]["value"], r.parameters()["query.timeout"]["source"]), ("7000", "conf"))
        expect(r.say(query_timeout="7s"), False, "nothing has changed")
        r.hup("read again on SIGHUP\n", query_timeout="8s")
        expect(r.value("query.timeout"), "8000")
        r.hup("read again on SIGHUP, nothing has changed", query_timeout="8s")
        r.hup("read again on SIGHUP\n")
        expect((r.value("query.timeout"), r.parameters()["query.timeout"]["source"]), ("60000", "default"))
        w = Wire(r.pg)
        r.write({"query.timeout": "9s"})
        expect(w.rows("select reload_config() as r"), [["t"]])
        expect(r.value("query.timeout"), "9000")


@check
def a_wrong_file_changes_nothing(s):
    with Loose(s) as r:
        r.say(query_timeout="7s", pg_user="jane")
        r.write({"query.timeout": "5s", "pg.user": "joe", "log.level": "loud"})
        error(lambda: r.exec("select reload_config()"), "server.conf line 4: log.level=loud: not one of")
        before = len(r.log.read_text())
        r.process.send_signal(signal.SIGHUP)
        waited(lambda: "SIGHUP changes nothing" in r.log.read_text()[before:], "the log")
        expect((r.value("query.timeout"), r.value("pg.user")), ("7000", "jane"))
        (r.root / "conf" / "server.conf").unlink()
        error(lambda: r.exec("select reload_config()"), "server.conf")
        expect((r.root / "conf" / "server.conf").exists(), False)
        r.hup("read again on SIGHUP\n", query_timeout="6s")
        expect(r.value("query.timeout"), "6000")


SPECIAL = {"log.level": "debug", "line.default.partition.by": "HOUR", "line.float.default.column.type": "FLOAT",
           "line.integer.default.column.type": "INT", "acl.password.length.min": "8", "http.snapshot.user.count.max": "9", **{f"{port}.net.connection.address.limit": "9" for port in ("http", "pg", "line.tcp", "http.min")}, "http.export.connection.limit": "7", "http.ilp.connection.limit": "7", "http.json.query.connection.limit": "7", "line.timestamp.default.column.type": "TIMESTAMP_NS"}


@check
def what_is_marked_is_taken_over(s):
    """Every setting gets another value in the file: those that are reloadable have it then, the others keep theirs."""
    aliases = re.findall(r'ALM_CONF_ALIAS\("([^"]+)"', (TOP / "src/base/conf_alias.def").read_text())
    with Loose(s, env={"ALMANAC_HTTP_NET_CONNECTION_LIMIT": "100"}) as r:
        before, file = r.parameters(), {}
        expect(set(aliases) - set(before), set(), "all names are shown")
        expect((before["query.timeout.sec"]["value"], before["http.net.active.connection.limit"]["value"], before["http.net.active.connection.limit"]["env"]),
               ("60", "100", "QDB_HTTP_NET_ACTIVE_CONNECTION_LIMIT"))
        for key, p in before.items():
            value = p["value"]
            if key in aliases or p["source"] == "env" or not p["reloadable"] or "tls" in key or key in ("http.user", "http.password"):
                continue
            file[key] = SPECIAL.get(key) or ("changed-secret" if p["sensitive"] else "changed" if not value else {"true": "false", "false": "true"}.get(value) or
                                             (str(max(int(value) // 2, 1)) if value.lstrip("-").isdigit() and int(value) > 1 else
                                              "5000000" if value.lstrip("-").isdigit() else "other"))
        file["pg.enabled"] = "false"
        r.write(file)
        expect(r.rows("select reload_config()"), [[True]])
        after = r.parameters()
        for key, value in file.items():
            if key == "pg.enabled":
                expect(after[key]["value"], "true")
            elif before[key]["sensitive"]:
                expect((after[key]["value"], after[key]["source"]), ("****", "conf"), key)
            else:
                expect((after[key]["value"], after[key]["source"]), (value, "conf"), key)
        expect(after["http.net.connection.limit"]["value"], "100", "the environment wins")
        expect("pg.enabled has changed in the file: that needs a restart" in r.log.read_text(), True)


@check
def who_may(s):
    with Loose(s, **{"pg.readonly.user.enabled": "true"}) as r:
        w = Wire(r.pg, user="user")
        for f in ("reload_config", "reload_tls"):
            expect(w.error(query(f"select {f}()"))["C"], "42501")
            status, _, body = r.get("/exec", query=f"select {f}()", headers={"Sec-Fetch-Site": "cross-site"})
            expect((status, b"another site" in body), (403, True), body)
    with Loose(s, **{"acl.enabled": "true", "acl.admin.password": "secret"}) as r:
        admin = Wire(r.pg, password="secret")
        admin.rows("create user op with password 'pw'")
        admin.rows("grant pgwire to op")
        w = Wire(r.pg, user="op", password="pw")
        expect(w.error(query("select reload_config()"))["C"], "42501")
        admin.rows("grant system admin to op")
        expect(w.rows("select reload_config()"), [["f"]])
        r.write({"acl.enabled": "true", "acl.admin.password": "other"})
        expect(w.rows("select reload_config()"), [["t"]])
        error(lambda: Wire(r.pg, password="secret"), "28P01")
        expect(Wire(r.pg, password="other").rows("select 1"), [["1"]])


# ------------------------------------------------------------------ limits
@check
def limits_of_connections(s):
    with Loose(s) as r:
        held = [Wire(r.pg) for _ in range(3)]
        r.say(pg_net_connection_limit=3, http_net_connection_limit=2, line_tcp_net_connection_limit=1)
        error(lambda: Wire(r.pg), "pg.net.connection.limit=3")
        r.hup("read again", pg_net_connection_limit=4, http_net_connection_limit=1, line_tcp_net_connection_limit=1)
        held.append(Wire(r.pg))
        error(lambda: Wire(r.pg), "pg.net.connection.limit=4")
        first = r.connect()
        waited(lambda: answer(r)[:12] == b"HTTP/1.1 503", "one connection too many")
        expect(b"http.net.connection.limit=1" in answer(r), True)
        expect([w.rows("select 1") for w in held], [[["1"]]] * 4, "those that are over a limit that went down stay")
        first.close()


def answer(r, request=b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"):
    got = b""
    with r.connect() as c:
        c.sendall(request)
        try:
            while block := c.recv(65536):
                got += block
        except ConnectionError:
            pass
    return got


@check
def idle_times(s):
    with Loose(s) as r:
        w, c = Wire(r.pg), r.connect()
        r.say(pg_net_connection_timeout="300ms", http_net_connection_timeout="300ms")
        kind, body = w.read()
        expect((kind, fields(body)["C"]), ("E", "57P05"))
        expect(c.recv(10), b"")


@check
def threads_and_memory(s):
    with Loose(s) as r:
        def three():
            start = time.monotonic()
            threads = [threading.Thread(target=lambda: r.exec("select pg_sleep(0.3)")) for _ in range(3)]
            [t.start() for t in threads]
            [t.join() for t in threads]
            return time.monotonic() - start
        three()
        r.say(query_concurrent_max=1)
        expect(three() >= 0.85, True, "one after the other")
        r.hup("read again", query_concurrent_max=8)
        expect(three() < 0.8, True, "beside each other")
        sql = "select count() from (select distinct x from long_sequence(2000000))"
        r.say(query_memory_max="2m", query_spill_max=0)
        error(lambda: r.exec(sql), "memory")
        r.say(query_memory_max="1g")
        expect(r.rows(sql), [[2000000]])
        r.say(query_memory_total_max="3m", query_spill_max=0)
        error(lambda: r.exec(sql), "all queries")


@check
def accounts(s):
    with Loose(s) as r:
        w = Wire(r.pg)
        r.say(pg_user="jane", pg_password="new", pg_readonly_user_enabled="true", pg_readonly_user="eye", pg_readonly_password="see")
        for user, password in (("admin", "quest"), ("jane", "quest"), ("admin", "new"), ("eye", "quest")):
            error(lambda: Wire(r.pg, user=user, password=password), "28P01")
        expect(Wire(r.pg, user="jane", password="new").rows("select 1"), [["1"]])
        expect(Wire(r.pg, user="eye", password="see").error(query("create table t (x int)"))["C"], "42501")
        expect(w.rows("select 1"), [["1"]], "who is in stays")
        r.say(http_user="web", http_password="one")
        expect(r.get("/exec", query="select 1")[0], 401)


@check
def the_log(s):
    with Loose(s) as r:
        r.say(log_level="off")
        size = len(r.log.read_text())
        error(lambda: Wire(r.pg, password="no"), "28P01")
        expect(r.log.read_text()[size:], "")
        r.write({"log.level": "info"})
        r.exec("select reload_config()")
        error(lambda: Wire(r.pg, password="no"), "28P01")
        waited(lambda: "login of 'admin' failed" in r.log.read_text()[size:], "the log")


@check
def what_keeps_others_out_stays(s):
    """An interface of the world keeps its login, also when the file loses it."""
    env = {"ALMANAC_HTTP_BIND_TO": "0.0.0.0:0", "ALMANAC_PG_NET_BIND_TO": "0.0.0.0:0"}
    login = {"http.user": "web", "http.password": "one", "pg.password": "two"}
    with Loose(s, env=env, **login) as r:
        w = Wire(r.pg.replace("0.0.0.0", "127.0.0.1"), password="two")
        r.write({key: value for key, value in login.items() if key != "http.user"})
        expect("http.bind.to=0.0.0.0:0 is not a loopback address" in w.error(query("select reload_config()"))["M"], True)
        r.write({**login, "pg.password": "quest"})
        expect("set pg.password" in w.error(query("select reload_config()"))["M"], True)
        expect([row[2] for row in w.rows("show parameters") if row[0] == "http.user"], ["web"])


@check
def names_of_the_server(s):
    """A page whose own name was made to stand for 127.0.0.1 gets nothing (DNS rebinding)."""
    def status(r, host):
        line = f"Host: {host}\r\n" if host is not None else ""
        minor = 1 if host is not None else 0
        got = answer(r, f"GET /exec?query=select+1 HTTP/1.{minor}\r\n{line}Connection: close\r\n\r\n".encode())
        return int(got.split(b" ")[1])
    ours = ["127.0.0.1", "127.0.0.1:9000", "[::1]:9000", "10.1.2.3:80", "localhost", "LOCALHOST:9000", "localhost.", "db.localhost:9000", "almanac", "almanac:9000", None]
    others = ["evil.example", "evil.example:9000", "localhost.evil.example", "127.0.0.1.evil.example", "evil.localhost.example.", "1.2.3.4.5"]
    with Loose(s) as r:
        expect([status(r, h) for h in ours], [200] * len(ours))
        expect([status(r, h) for h in others], [421] * len(others))
        with socket.create_connection(tuple(r.health.split(":")), timeout=30) as c:
            c.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            expect(c.recv(300).split(b" ")[1], b"421")
        r.say(http_host_names="db.example.com, other.example.com")
        expect([status(r, h) for h in ("db.example.com:9000", "OTHER.example.com", "127.0.0.1", "localhost", "db.example.org", "almanac")],
               [200, 200, 200, 200, 421, 421])
        expect(r.exec("select 1")["count"], 1)
        r.say(http_host_names="*")
        expect(status(r, "evil.example"), 200)
    with Loose(s, env={"ALMANAC_HTTP_BIND_TO": "0.0.0.0:0"}, **{"http.user": "a", "http.password": "b"}) as r:
        r.http = r.http.replace("0.0.0.0", "127.0.0.1")
        expect(status(r, "db.example.com"), 401, "its name is anything; there is a login")


# ------------------------------------------------------------------ TLS
def certs(s):
    if not hasattr(s, "certs"):
        s.certs = Certs()
        atexit.register(shutil.rmtree, s.certs.home)
    return s.certs


def install(r, c, kind):
    for end in ("pem", "key"):
        shutil.copy(c.path(f"{kind}.{end}"), r.root / "conf" / f"new.{end}")
        (r.root / "conf" / f"new.{end}").rename(r.root / "conf" / f"server.{end}")


ALL = {"tls.enabled": "true", "tls.cert.path": "conf/server.pem", "tls.private.key.path": "conf/server.key"}


def sealed(address, c, alpn=None, ca="ca.pem", version=None, **more):
    context = ssl.create_default_context(cafile=c.path(ca))
    if alpn:
        context.set_alpn_protocols(alpn)
    if version:
        context.minimum_version = context.maximum_version = version
    host, port = address.rsplit(":", 1)
    return context.wrap_socket(socket.create_connection((host, int(port)), timeout=30), server_hostname="localhost")


def key_kind(address, c, ask=b""):
    with socket.create_connection(tuple(address.rsplit(":", 1)), timeout=30) as plain:
        if ask:
            plain.sendall(ask)
            expect(plain.recv(1), b"S")
        context = ssl.create_default_context(cafile=c.path("ca.pem"))
        with context.wrap_socket(plain, server_hostname="localhost") as t:
            return t.getpeercert(binary_form=True)


def der(c, kind):
    return ssl.PEM_cert_to_DER_cert(pathlib.Path(c.path(f"{kind}.pem")).read_text())


def ask_https(t, path="/exec?" + urllib.parse.urlencode({"query": "select x from long_sequence(100000)"}), close=False):
    t.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{'Connection: close' + chr(13) + chr(10) if close else ''}\r\n".encode())
    response = http.client.HTTPResponse(t)
    response.begin()
    return response.status, response.read()


SSL_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"


@check
def tls_everywhere(s):
    c = certs(s)
    r = Loose(s, **ALL)
    error(r.start, "server.pem")
    install(r, c, "rsa")
    with r:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with sealed(r.http, c, ["h2", "http/1.1"], version=version) as t:
                expect(t.selected_alpn_protocol(), "http/1.1")
                for _ in range(3):  # one connection
                    status, body = ask_https(t)
                    expect((status, json.loads(body)["count"]), (200, 100000))
                big = json.dumps({"query": "select length($1::string)", "params": ["x" * 3_000_000]}).encode()
                t.sendall(b"POST /exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(big) + big)
                response = http.client.HTTPResponse(t)
                response.begin()
                expect(json.loads(response.read())["dataset"], [[3000000]])
                expect(ask_https(t, close=True)[0], 200)
                expect(t.recv(1), b"")
        with sealed(r.health, c) as t:
            expect(ask_https(t, "/"), (200, b"Status: Healthy"))
        expect(answer(r)[:5] != b"HTTP/", True, "plain text on a port of TLS")
        with sealed(r.line, c) as t:
            t.sendall(b"sealed,k=a v=1 1700000000000000000\nsealed,k=b v=2 1700000001000000000\n")
            with sealed(r.http, c) as h:
                path = "/exec?query=" + urllib.parse.quote("select count() from sealed")
                waited(lambda: b'"dataset":[[2]]' in ask_https(h, path)[1], "the lines")
        expect(key_kind(r.pg, c, SSL_REQUEST), der(c, "rsa"))
        # a client that never ends its handshake
        host, port = r.http.rsplit(":", 1)
        with sealed(r.http, c) as t:
            r.write({**ALL, "http.request.head.timeout": "300ms"})
            ask_https(t, "/exec?query=" + urllib.parse.quote("select reload_config()"))
        with socket.create_connection((host, int(port)), timeout=30) as slow:
            slow.sendall(b"\x16\x03\x01")
            expect(slow.recv(1), b"")


@check
def one_interface_may_differ(s):
    c = certs(s)
    r = Loose(s, **ALL, **{"http.tls.enabled": "false", "http.min.tls.enabled": "false", "pg.tls.cert.path": "conf/pg.pem",
                           "pg.tls.private.key.path": "conf/pg.key"})
    install(r, c, "rsa")
    for end in ("pem", "key"):
        shutil.copy(c.path(f"ec.{end}"), r.root / "conf" / f"pg.{end}")
    with r:
        expect(r.rows("select 1"), [[1]])
        expect(key_kind(r.pg, c, SSL_REQUEST), der(c, "ec"))
        expect(key_kind(r.line, c), der(c, "rsa"))
    for settings, why in (({"http.tls.enabled": "true"}, "http.tls.enabled=true needs http.tls.cert.path and http.tls.private.key.path"),
                          ({"pg.tls.required": "true"}, "pg.tls.required=true needs pg.tls.enabled=true"),
                          ({"line.tcp.tls.enabled": "true", "line.tcp.tls.cert.path": "conf/no.pem"}, "line.tcp.tls.private.key.path")):
        r = Loose(s, **settings)
        error(r.start, why)
        shutil.rmtree(r.root)


def own_address():
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
            return probe.getsockname()[0]
        except OSError:
            return None


@check
def logins_from_elsewhere_need_tls(s):
    c, here = certs(s), own_address()
    if here is None or here.startswith("127."):
        raise Skip("this machine has no address but loopback")
    r = Loose(s, env={f"ALMANAC_{k}": "0.0.0.0:0" for k in ("HTTP_BIND_TO", "PG_NET_BIND_TO", "LINE_TCP_NET_BIND_TO")},
              **{"acl.enabled": "true", "acl.require.tls": "true", "acl.admin.password": "secret", "pg.tls.enabled": "true",
                 "tls.cert.path": "conf/server.pem", "tls.private.key.path": "conf/server.key"})
    install(r, c, "rsa")
    with r:
        port = lambda address: int(address.rsplit(":", 1)[1])
        error(lambda: Wire(f"{here}:{port(r.pg)}", password="secret"), "acl.require.tls")
        expect(Wire(f"127.0.0.1:{port(r.pg)}", password="secret").rows("select 1"), [["1"]])
        with socket.create_connection((here, port(r.pg)), timeout=30) as plain:
            plain.sendall(SSL_REQUEST)
            expect(plain.recv(1), b"S")
            context = ssl.create_default_context(cafile=c.path("ca.pem"))
            with context.wrap_socket(plain, server_hostname="localhost") as t:
                t.sendall(startup([("user", "admin")]))
                expect(t.recv(1), b"R")
        with socket.create_connection((here, port(r.line)), timeout=30) as t:
            t.sendall(b"somebody\n")
            expect(b"acl.require.tls" in t.recv(600), True)
        waited(lambda: "acl.require.tls: logins from other hosts need TLS" in r.log.read_text(), "the log")
        with socket.create_connection(("127.0.0.1", port(r.line)), timeout=30) as t:
            t.sendall(b"somebody\n")
            expect(len(t.recv(600)) > 100, True, "a challenge")
        with socket.create_connection((here, port(r.http)), timeout=30) as t:
            expect(ask_https(t, "/exec?query=select+1")[0], 403)


@check
def certificates_change(s):
    c = certs(s)
    r = Loose(s, **ALL, **{"http.tls.enabled": "false"})
    install(r, c, "rsa")
    with r:
        before = sealed(r.health, c)
        expect(ask_https(before, "/")[0], 200)
        install(r, c, "ec")
        expect(key_kind(r.health, c), der(c, "rsa"), "nobody has said so")
        expect(r.rows("select reload_tls()"), [[True]])
        expect((key_kind(r.health, c), key_kind(r.pg, c, SSL_REQUEST), key_kind(r.line, c)), (der(c, "ec"),) * 3)
        expect(ask_https(before, "/")[0], 200, "a connection keeps its keys")
        install(r, c, "rsa")
        before_bytes = len(r.log.read_text())
        r.process.send_signal(signal.SIGHUP)
        waited(lambda: "read again on SIGHUP" in r.log.read_text()[before_bytes:], "the log")
        expect(key_kind(r.pg, c, SSL_REQUEST), der(c, "rsa"))
        # a certificate without its key: the old pair goes on
        shutil.copy(c.path("ec.pem"), r.root / "conf" / "server.pem")
        for f in ("reload_tls", "reload_config"):
            error(lambda: r.exec(f"select {f}()"), "holds no private key in PEM form")
        expect(key_kind(r.pg, c, SSL_REQUEST), der(c, "rsa"))
        # other names of files
        r.write({**ALL, "http.tls.enabled": "false", "tls.cert.path": c.path("ed25519.pem"), "tls.private.key.path": c.path("ed25519.key")})
        expect(r.rows("select reload_config()"), [[True]])
        expect(key_kind(r.pg, c, SSL_REQUEST), der(c, "ed25519"))
    with Loose(s) as plain:
        expect(plain.rows("select reload_tls()"), [[False]])


@check
def many_at_once(s):
    """Certificates and settings change under connections that come and go."""
    c = certs(s)
    r = Loose(s, **ALL, **{"http.tls.enabled": "false"})
    install(r, c, "rsa")
    with r:
        over, faults = threading.Event(), []

        def come_and_go():
            while not over.is_set():
                try:
                    expect(key_kind(r.pg, c, SSL_REQUEST) in (der(c, "rsa"), der(c, "ec")), True)
                    expect(r.rows("select 1"), [[1]])
                except Exception as e:
                    faults.append(repr(e))

        threads = [threading.Thread(target=come_and_go) for _ in range(4)]
        [t.start() for t in threads]
        for i in range(20):
            install(r, c, "ec" if i % 2 else "rsa")
            r.write({**ALL, "http.tls.enabled": "false", "query.timeout": f"{50 + i}s", "pg.user": f"user{i}"})
            r.process.send_signal(signal.SIGHUP) if i % 3 else r.exec("select reload_config()")
        over.set()
        [t.join() for t in threads]
        expect(faults, [])


if __name__ == "__main__":
    main()
