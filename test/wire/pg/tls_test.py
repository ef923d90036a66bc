#!/usr/bin/env python3
"""TLS on the PostgreSQL wire, against certificates made here: sslmodes of libpq, psql, asyncpg (other drivers:
drivers/); the handshake by hand with Python's ssl; channel binding of SCRAM; time limit of the login.

    tls_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import asyncio, atexit, base64, hashlib, hmac, os, shutil, socket, ssl, struct, subprocess, time

from lib.certs import Certs
from lib.checks import Skip, check, expect, main
from lib.pganswers import SLOW, asyncpg, psycopg
from lib.pgclient import Closed, Wire, fields, msg, query, startup
from lib.server import Server

SSL_REQUEST = struct.pack("!II", 8, 80877103)


class TlsWire(Wire):
    """A Wire whose socket speaks TLS before the start-up packet."""

    def __init__(self, address, certs, direct=False, alpn=("postgresql",), version=None, login=True):
        super().__init__(address, login=False)
        if not direct:
            self.send(SSL_REQUEST)
            expect(self.take(1), b"S")
        context = ssl.create_default_context(cafile=certs.path("ca.pem"))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if version:
            context.minimum_version = context.maximum_version = version
        self.s = context.wrap_socket(self.s, server_hostname="localhost")
        if login:
            self.send(startup([("user", "admin")]))
            self.login("quest")


def certs(s):
    if shutil.which("openssl") is None:
        raise Skip("openssl is not installed")
    if not hasattr(s, "certs"):
        s.certs = Certs()
        s.tls = Server(preset=s.preset, env=s.certs.env()).start()
        atexit.register(s.tls.__exit__, None, None, None)
        atexit.register(shutil.rmtree, s.certs.home)
    return s.certs


def psql(server, options, user="admin", password="quest"):
    host, port = server.pg.rsplit(":", 1)
    p = subprocess.run(["psql", "-XAtq", f"host={host} port={port} user={user} dbname=qdb {options}", "-c", "select 'in'"],
                       env={**os.environ, "PGPASSWORD": password}, capture_output=True, text=True, timeout=60)
    return p.stdout.strip() or p.stderr.strip()


# ------------------------------------------------------------------ libpq
@check
def sslmodes_of_libpq(s):
    c = certs(s)
    if shutil.which("psql") is None:
        raise Skip("psql is not installed")
    ca = f"sslrootcert={c.path('ca.pem')}"
    for options in ("sslmode=disable", "sslmode=allow", "sslmode=prefer", "sslmode=require", f"sslmode=verify-ca {ca}", f"sslmode=verify-full {ca}",
                    "sslmode=require channel_binding=require", "sslmode=require ssl_min_protocol_version=TLSv1.3", "sslmode=require ssl_max_protocol_version=TLSv1.2"):
        expect(psql(s.tls, options), "in", options)
    expect("certificate verify failed" in psql(s.tls, f"sslmode=verify-full sslrootcert={c.path('own.pem')}"), True)
    expect("invalid username/password" in psql(s.tls, "sslmode=require", password="no"), True)
    expect("invalid username/password" in psql(s.tls, "sslmode=require channel_binding=require", user="nobody"), True)
    expect(psql(s, "sslmode=prefer"), "in", "a server without TLS")
    expect("server does not support SSL" in psql(s, "sslmode=require"), True)
    expect("channel binding" in psql(s.tls, "sslmode=disable channel_binding=require"), True)


@check
def other_kinds_of_keys(s):
    c = certs(s)
    for kind in ("ec", "ed25519", "own"):
        with Server(preset=s.preset, env=c.env(kind)) as other:
            if shutil.which("psql") is not None:
                expect(psql(other, "sslmode=require"), "in", kind)
                bound = psql(other, "sslmode=require channel_binding=require")
                expect(bound == "in", kind != "own", bound)  # no hash belongs to an Ed25519 signature
            if kind != "own":
                expect(TlsWire(other.pg, c).rows("select 1"), [["1"]], kind)


@check
def tls_can_be_required(s):
    c = certs(s)
    with Server(preset=s.preset, env=c.env(ALMANAC_PG_TLS_REQUIRED="true")) as strict:
        try:
            Wire(strict.pg)
            raise AssertionError("logged in")
        except PermissionError as e:
            expect((e.args[0]["S"], e.args[0]["C"]), ("FATAL", "28000"))
        w = TlsWire(strict.pg, c)
        expect(w.rows("select 1"), [["1"]])
        plain = Wire(strict.pg, login=False)  # a cancel request says nothing secret
        plain.send(struct.pack("!II", 16, 80877102) + w.key)
        expect(plain.s.recv(1), b"")


# ------------------------------------------------------------------ by hand
@check
def large_answers_and_requests(s):
    c = certs(s)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        w = TlsWire(s.tls.pg, c, version=version)
        rows = w.rows("select x, 'a text that makes the row longer' from long_sequence(300000)")
        expect((len(rows), rows[-1][0]), (300000, "300000"))
        expect(w.rows(f"select length('{'x' * 3000000}')"), [["3000000"]])
        w.close()


@check
def requests_in_small_pieces(s):
    w = TlsWire(s.tls.pg, certs(s))
    for byte in query("select 'a', 1") * 3:
        w.s.sendall(bytes([byte]))
    for _ in range(3):
        expect("".join(k for k, _ in w.until_ready()), "TDCZ")


@check
def bytes_before_the_handshake_are_refused(s):
    certs(s)
    w = Wire(s.tls.pg, login=False)
    w.send(SSL_REQUEST + startup([("user", "admin")]))
    kind, body = w.read()
    expect((kind, fields(body)["S"], fields(body)["C"]), ("E", "FATAL", "08P01"))
    w = Wire(s.tls.pg, login=False)
    w.send(SSL_REQUEST)
    expect(w.take(1), b"S")
    w.send(startup([("user", "admin")]))  # plain where TLS was promised
    try:
        while w.s.recv(1000):
            pass
    except ConnectionResetError:
        pass
    expect(Wire(s.tls.pg).rows("select 1"), [["1"]])


@check
def a_second_request_and_gss(s):
    c = certs(s)
    w = Wire(s.tls.pg, login=False)
    w.send(struct.pack("!II", 8, 80877104))
    expect(w.take(1), b"N")
    w = TlsWire(s.tls.pg, c, login=False)
    w.send(SSL_REQUEST)
    expect(fields(w.read()[1])["C"], "08P01")


@check
def tls_from_the_first_byte_on(s):
    c = certs(s)
    expect(TlsWire(s.tls.pg, c, direct=True).rows("select 1"), [["1"]])
    w = TlsWire(s.tls.pg, c, direct=True, alpn=(), login=False)
    w.send(startup([("user", "admin")]))
    expect(fields(w.read()[1])["C"], "08P01")
    try:
        TlsWire(s.tls.pg, c, direct=True, alpn=("http/1.1",))
        raise AssertionError("another protocol was taken")
    except ssl.SSLError:
        pass


@check
def suites_have_forward_secrecy(s):
    """What s_client agrees on, by interface; "": nothing. TLS 1.2 has suites of fresh keys with authenticated encryption alone, TLS 1.3 knows no others."""
    c = certs(s)
    offers = ["AES256-SHA", "AES128-SHA256", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES256-CCM", "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES128-SHA256", "DHE-RSA-AES256-SHA", "AECDH-AES256-SHA", "ADH-AES256-GCM-SHA384"]
    taken = {"ECDHE-RSA-AES128-GCM-SHA256": "rsa", "ECDHE-RSA-AES256-GCM-SHA384": "rsa", "ECDHE-RSA-CHACHA20-POLY1305": "rsa", "ECDHE-ECDSA-AES128-GCM-SHA256": "ec"}

    def agreed(address, how, *more):
        p = subprocess.run(["openssl", "s_client", "-connect", address, *how, *more, "-brief"], input=b"", capture_output=True, timeout=30)
        found = [line.split(": ")[1] for line in p.stderr.decode().splitlines() if line.startswith("Ciphersuite: ")]
        return found[0] if found else ""

    for kind in ("rsa", "ec"):
        http = {f"ALMANAC_HTTP_TLS_{key}": value for key, value in (("ENABLED", "true"), ("CERT_PATH", c.path(kind + ".pem")), ("PRIVATE_KEY_PATH", c.path(kind + ".key")))}
        with Server(preset=s.preset, env=c.env(kind, **http)) as one:
            for address, how in ((one.pg, ("-starttls", "postgres")), (one.http, ())):
                for suite in (*offers, *(name.replace("RSA", "ECDSA") for name in offers)):
                    expect(agreed(address, how, "-tls1_2", "-cipher", suite + ":@SECLEVEL=0"), "", (kind, how, suite))
                for suite, wanted in taken.items():
                    expect(agreed(address, how, "-tls1_2", "-cipher", suite), suite if wanted == kind else "", (kind, how, suite))
                for suite in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"):
                    expect(agreed(address, how, "-tls1_3", "-ciphersuites", suite), suite, (kind, how, suite))


@check
def cancel_and_end(s):
    c = certs(s)
    w = TlsWire(s.tls.pg, c)
    w.send(query(SLOW))
    time.sleep(0.2)
    w.cancel()
    answer = w.until_ready()
    expect([fields(b)["C"] for k, b in answer if k == "E"], ["57014"])
    w.send(msg(b"X"))
    expect(w.s.recv(10), b"")  # an orderly end, else SSLEOFError


@check
def rubbish_instead_of_a_handshake(s):
    certs(s)
    for rubbish in (b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\x16" * 1000, b"GET / HTTP/1.1\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x00", b"\0" * 20000):
        w = Wire(s.tls.pg, login=False)
        w.send(SSL_REQUEST)
        expect(w.take(1), b"S")
        try:
            w.send(rubbish)
            w.s.shutdown(socket.SHUT_WR)
            while w.s.recv(1000):
                pass
        except OSError:
            pass
    expect(Wire(s.tls.pg).rows("select 1"), [["1"]])


# ------------------------------------------------------------------ channel binding
def sasl(w, mechanism, header, binding):
    """The first message behind the exchange."""
    w.send(startup([("user", "admin")]))
    kind, body = w.read()
    offered = body[4:].split(b"\0")[:-2]
    first = b"n=,r=" + base64.b64encode(os.urandom(18))
    w.send(msg(b"p", mechanism + b"\0" + struct.pack("!i", len(header + first)) + header + first))
    kind, body = w.read()
    if kind == "E":
        return offered, fields(body)
    got = dict(p.split("=", 1) for p in body[4:].decode().split(","))
    salted = hashlib.pbkdf2_hmac("sha256", b"quest", base64.b64decode(got["s"]), int(got["i"]))
    mac = lambda key, text: hmac.new(key, text, hashlib.sha256).digest()
    without = b"c=" + base64.b64encode(header + binding) + b",r=" + got["r"].encode()
    key = mac(salted, b"Client Key")
    proof = bytes(a ^ b for a, b in zip(key, mac(hashlib.sha256(key).digest(), first + b"," + body[4:] + b"," + without)))
    w.send(msg(b"p", without + b",p=" + base64.b64encode(proof)))
    kind, body = w.read()
    return offered, fields(body) if kind == "E" else struct.unpack_from("!I", body)[0]


@check
def scram_is_bound_to_the_certificate(s):
    c = certs(s)
    both, plus, plain, p = [b"SCRAM-SHA-256-PLUS", b"SCRAM-SHA-256"], b"SCRAM-SHA-256-PLUS", b"SCRAM-SHA-256", b"p=tls-server-end-point,,"

    def ask(*exchange):
        return sasl(TlsWire(s.tls.pg, c, login=False), *exchange)
    w = TlsWire(s.tls.pg, c, login=False)
    right = hashlib.sha256(w.s.getpeercert(True)).digest()
    expect(ask(plus, p, right), (both, 12))
    expect(ask(plain, b"n,,", b""), (both, 12))
    for exchange in ((plus, p, b"\0" * 32), (plus, p, b""), (plus, b"n,,", b""), (plus, b"p=tls-unique,,", right), (plain, p, right), (plain, b"y,,", b""), (plain, b"n,,", right)):
        expect(ask(*exchange)[1]["C"], "08P01", exchange)
    w = Wire(s.tls.pg, login=False)
    expect(sasl(w, plus, p, right)[0], [plain], "without TLS")
    expect(sasl(Wire(s.tls.pg, login=False), plain, b"y,,", b""), ([plain], 12))


# ------------------------------------------------------------------ drivers
@check
def psycopg_over_tls(s):
    c = certs(s)
    if psycopg is None:
        raise Skip("psycopg is not installed")
    with psycopg.connect(s.tls.pg_dsn(sslmode="verify-full", sslrootcert=c.path("ca.pem"), channel_binding="require"), autocommit=True) as con:
        expect(con.pgconn.ssl_in_use, True)
        expect(con.execute("select count(), sum(x) from long_sequence(1000)").fetchone(), (1000, 500500))
        with con.pipeline():
            cursors = [con.execute("select %s::long", (i,)) for i in range(300)]
        expect([cur.fetchone()[0] for cur in cursors], list(range(300)))


@check
def asyncpg_over_tls(s):
    c = certs(s)
    if asyncpg is None:
        raise Skip("asyncpg is not installed")
    host, port = s.tls.pg.rsplit(":", 1)
    verify = ssl.create_default_context(cafile=c.path("ca.pem"))

    async def run():
        for mode in (False, "prefer", "require", verify):
            con = await asyncpg.connect(host=host, port=int(port), user="admin", password="quest", database="qdb", ssl=mode)
            expect(await con.fetchval("select sum(x) from long_sequence(1000) where x > $1", 0), 500500, mode)
            await con.close()
    asyncio.run(run())


# ------------------------------------------------------------------ limits and configuration
@check
def logins_have_a_time_limit(s):
    with Server(preset=s.preset, env=certs(s).env(ALMANAC_PG_LOGIN_TIMEOUT="700ms")) as quick:
        start = startup([("user", "admin")])
        for said in (b"", SSL_REQUEST, start[:10], start):
            w = Wire(quick.pg, login=False)
            begin = time.monotonic()
            w.send(said)
            try:
                for _ in range(20):  # a byte now and then keeps no connection
                    time.sleep(0.1)
                    if said[:10] == start[:10] and len(said) == 10:
                        w.send(b"a")
                    w.s.setblocking(False)
                    try:
                        if w.s.recv(1000) == b"":
                            break
                    except BlockingIOError:
                        pass
                    w.s.setblocking(True)
                else:
                    raise AssertionError(f"still open after {said!r}")
            except (Closed, ConnectionError):
                pass
            expect(time.monotonic() - begin < 1.9, True, said)
        w = Wire(quick.pg)
        time.sleep(1.5)
        expect(w.rows("select 1"), [["1"]], "who is in may stay")


@check
def wrong_files_stop_the_start(s):
    c = certs(s)
    c.openssl("pkey", "-in", "rsa.key", "-aes256", "-passout", "pass:secret", "-out", "locked.key")
    (c.home / "empty").write_text("")
    for change, word in (({"ALMANAC_PG_TLS_CERT_PATH": c.path("none.pem")}, "none.pem"), ({"ALMANAC_PG_TLS_CERT_PATH": c.path("empty")}, "holds no certificate"),
                         ({"ALMANAC_PG_TLS_PRIVATE_KEY_PATH": c.path("ec.key")}, "that fits"), ({"ALMANAC_PG_TLS_PRIVATE_KEY_PATH": c.path("locked.key")}, "without a password"),
                         ({"ALMANAC_PG_TLS_CERT_PATH": ""}, "needs pg.tls.cert.path"), ({"ALMANAC_PG_TLS_ENABLED": "false", "ALMANAC_PG_TLS_REQUIRED": "true"}, "pg.tls.required")):
        try:
            with Server(preset=s.preset, env={**c.env(), **change}):
                raise AssertionError(f"started with {change}")
        except RuntimeError as e:
            expect(word in str(e), True, e)


@check
def memory_of_connections(s):
    c = certs(s)
    with Server(preset=s.preset, env=c.env(ALMANAC_PG_NET_CONNECTION_LIMIT="400")) as many:
        TlsWire(many.pg, c).close()
        before = many.resident_bytes()[1]
        wires = [TlsWire(many.pg, c) for _ in range(300)]
        each = (many.resident_bytes()[1] - before) // 300
        for w in wires:
            w.close()
        if not s.sanitized:
            print(f"an idle connection over TLS: {each >> 10} KiB")
            expect(each < 160 << 10, True, each)


if __name__ == "__main__":
    main()
