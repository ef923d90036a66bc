#!/usr/bin/env python3
"""Sign-on by OpenID Connect, server side, with the provider of test/idp as a real peer: who is let in with which token, how often the
provider is asked, what it may do wrong, and that no token or password gets into a log.

    oidc_test.py [--binary FILE] [--nightly] [PATTERN]      PATTERN: of the names of the parts below
"""
import base64, concurrent.futures, http.server, itertools, json, pathlib, shutil, socket, socketserver, ssl, tempfile, threading, time, urllib.parse, urllib.request

from lib import log_search
from lib import provider
from lib.acl_checks import ADMIN, Checks, Rest, arguments, close, run_part
from lib.certs import Certs
from lib.peers import HERE as SAME, THERE, Attack, ask, pg_says, timed
from lib.provider import Provider
from lib.server import Server


log_search.note("alice-pw", "erin-pw")
LOGS = []


def settings(p, **more):
    env = {"acl.oidc.enabled": "true", "acl.oidc.client.id": "almanac", "acl.oidc.configuration.url": f"{p.url}/.well-known/openid-configuration",
           "acl.admin.password": ADMIN[1], "log.level": "debug", "acl.password.hash.iteration.count": "4096", "pg.auth.cleartext": "true"}
    env.update(more)
    return {"ALMANAC_" + k.upper().replace(".", "_"): str(v) for k, v in env.items() if v is not None}


class House(Server):
    """A server beside a provider, with the groups of the tests."""

    def __init__(self, p, binary=None, prepare=True, **more):
        super().__init__(binary=binary or House.program, env=settings(p, **more))
        self.provider, self.prepare = p, prepare

    def __enter__(self):
        super().__enter__()
        self.rest = Rest(self)
        if self.prepare:
            for s in ("create table trades (ts timestamp, price double, qty double) timestamp(ts) partition by day",
                      "insert into trades values (0, 1, 2)", "create group analysts with external alias analysts",
                      "grant http, pgwire to analysts", "grant select on trades(ts, price) to analysts",
                      "create group nohttp with external alias nohttp", "grant pgwire to nohttp", "grant select on all tables to nohttp"):
                self.rest.must(s)
        return self

    def __exit__(self, *a):
        LOGS.append((self.root / "server.log").read_text(errors="replace"))
        super().__exit__(*a)

    def token(self, user, kind="access_token"):
        got = self.provider.sign_on(user)
        log_search.note(*(v for k, v in got.items() if k.endswith("_token")))
        return got[kind]

    def status(self, token, text="select 1"):
        return self.rest.sql(text, token)[0]


def is_over(check, connection, what):
    """The next statement of a PostgreSQL connection is refused, as its token is not valid any more."""
    import psycopg
    try:
        connection.execute("select 1")
        check.that(False, what)
    except psycopg.Error as e:
        check.that("not valid any more" in str(e), f"{what}: {e}")


def who_comes_in(check, p):
    with House(p) as s:
        facts = json.loads(s.rest.request("/settings")[1])["config"]
        check.that(facts["release.type"] == "EE" and facts["acl.oidc.enabled"] is True and facts["acl.oidc.client.id"] == "almanac", "settings")
        check.that(facts["acl.oidc.authorization.endpoint"] == p.url + "/auth" and facts["acl.oidc.token.endpoint"] == p.url + "/token"
                   and facts["acl.oidc.scope"] == "openid profile" and facts["acl.oidc.redirect.uri"] is None, "end points")
        alice = s.token("alice")
        status, body = s.rest.sql("select current_user()", alice)
        got = json.loads(body)
        check.that(status == 200 and got["columns"] == [{"name": "current_user", "type": "STRING"}] and got["dataset"] == [["Alice Analyst"]], body)
        for text, want in (("select price from trades", 200), ("select qty from trades", 403), ("select * from trades", 403),
                           ("select price from trades where qty > 0", 403), ("select avg(price) from trades sample by 1h", 200)):
            check.that(s.status(alice, text) == want, f"{text}: {want}")
        for user, name, why in (("bob", "Bob Bare", "names no groups"), ("carol", "Carol Clear", "names no groups"), ("dave", "Dave Door", "permission HTTP")):
            status, body = s.rest.sql("select 1", s.token(user))
            got = json.loads(body) if status == 403 else {}
            check.that(got.get("error") == f"Access denied for {name} [HTTP]" and why in got.get("reason", ""), f"{user}: {status} {body}")
        frank = s.token("frank")
        check.that(json.loads(s.rest.sql("select current_user", frank)[1])["dataset"] == [['Frank "F" Föreign']], "a name with quotes")
        status, body, headers = s.rest.request("/exec?query=select+1", auth=alice[:-1] + "x")
        check.that(status == 401 and headers["WWW-Authenticate"] == 'Bearer error="invalid_token"' and body == "Unauthorized\r\n", "a token that is none")


def how_often(check, p):
    ttl = 1.0
    with House(p, **{"acl.oidc.cache.ttl": int(ttl * 1000), "metrics.enabled": "true"}) as s:
        alice = s.token("alice")
        before = p.count()
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            began = time.monotonic()
            got = list(pool.map(lambda _: s.status(alice), range(50)))
        for _ in range(20):
            got.append(s.status(alice))
        took = time.monotonic() - began
        calls = p.count() - before
        check.that(set(got) == {200}, f"all of them are let in: {got}")
        check.that(calls == 1 or took >= ttl, f"one call for 70 requests, 50 of them at once: {calls}")
        with urllib.request.urlopen(urllib.request.Request(f"http://{s.health}/metrics", headers={"Authorization": "Basic " + base64.b64encode(":".join(ADMIN).encode()).decode()})) as r:
            numbers = dict(line.split() for line in r.read().decode().splitlines() if line.startswith("almanac_oidc"))
        check.that(int(numbers["almanac_oidc_known_users"]) == 1 and int(numbers["almanac_oidc_calls_total"]) == calls
                   and 69 >= int(numbers["almanac_oidc_known_tokens_used_total"]) >= 20, f"metrics: {numbers}")
        time.sleep(ttl)
        check.that(s.status(alice) == 200 and s.status(alice) == 200 and p.count() - before == calls + 1, "and one more when it is stale")


def bad_tokens(check, p):
    with House(p) as s:
        alice = s.token("alice")
        for what, token in (("too long", "a" * 16385), ("odd letters", "a\tb"), ("not of a token", "a b"), ("nothing", "="), ("a REST token", "qt1" + "a" * 43)):
            calls = p.count()
            check.that(s.status(token) == 401 and p.count() == calls, f"{what}: 401 without a question")
        check.that(s.rest.request("/exec?query=select+1&access_token=" + alice)[0] == 401, "a token in the address is none")
        for scheme, want in (("bearer", 200), ("BEARER", 200), ("Token", 401), ("Bear", 401)):
            check.that(s.rest.request("/exec?query=select+1", headers={"Authorization": f"{scheme} {alice}"})[0] == want, f"scheme {scheme}")
        host, port = s.http.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as c:
            c.sendall(f"GET /exec?query=select+1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {alice}\r\nAuthorization: Bearer {alice}\r\n\r\n".encode())
            check.that(c.recv(100).startswith(b"HTTP/1.1 400"), "two Authorization headers")
        revoked = s.token("alice")
        urllib.request.urlopen(f"{p.url}/token/revocation", urllib.parse.urlencode({"token": revoked, "client_id": "almanac"}).encode()).read()
        check.that(s.status(revoked) == 401, "revoked")
        calls = p.count()
        check.that([s.status(revoked) for _ in range(10)] == [401] * 10 and p.count() == calls, "a refusal is remembered for a moment")


def changes(check, p):
    ttl = 0.7
    with House(p, **{"acl.oidc.cache.ttl": int(ttl * 1000)}) as s:
        s.rest.must("create group more with external alias 'CN=more, OU=x'")
        s.rest.must("grant select on trades to more")
        erin, alice = s.token("erin"), s.token("alice")
        status, _, headers = s.rest.request("/exec?query=select+1&session=true", auth=erin)
        began = time.monotonic()
        cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        check.that(status == 200 and s.rest.request("/exp?query=select+1", headers=cookie)[0] == 200, "a session, for downloads")
        p.hook("user/erin", {"disabled": True})
        check.that((s.status(erin) == 200 and s.rest.request("/exp?query=select+1", headers=cookie)[0] == 200) or time.monotonic() - began > ttl,
                   "disabled: nothing changes before the answer is stale")
        check.that(s.status(alice, "select qty from trades") == 403, "not in that group")
        p.hook("user/alice", {"groups": ["analysts", "CN=more, OU=x"]})
        time.sleep(ttl + 0.1)
        check.that(s.status(erin) == 401 and s.rest.request("/exp?query=select+1", headers=cookie)[0] == 401, "then token and session are over")
        p.hook("user/erin", {"disabled": False})
        check.that(s.rest.request("/exp?query=select+1", headers=cookie)[0] == 401, "an ended session stays over")
        check.that(s.status(alice, "select qty from trades") == 200, "a group gained")
        p.hook("user/alice", {"groups": ["analysts"]})
        time.sleep(ttl + 0.1)
        check.that(s.status(alice, "select qty from trades") == 403, "a group lost, for a text whose plan is kept, too")
    p.hook("reset", {})
    with House(p) as s:  # what is changed here counts at once
        frank = s.token("frank")
        check.that(s.status(frank, "select qty from trades") == 403, "not mapped")
        s.rest.must("create group dn with external alias 'CN=TestGroup1,OU=DC Users,DC=ad,DC=example,DC=test'")
        s.rest.must("grant select on trades to dn")
        check.that(s.status(frank, "select qty from trades") == 200, "mapped now")
        s.rest.must("alter group dn drop external alias 'CN=TestGroup1,OU=DC Users,DC=ad,DC=example,DC=test'")
        check.that(s.status(frank, "select qty from trades") == 403, "and no more")
        s.rest.must("alter group dn with external alias unmapped")
        check.that(s.status(frank, "select qty from trades") == 200, "another alias")
        s.rest.must("drop group dn")
        check.that(s.status(frank, "select qty from trades") == 403, "the group is gone")
        calls = p.count()
        check.that(s.status(frank) == 200 and p.count() == calls, "still known")
        status, body = s.rest.sql("select flush_user_info_cache()", frank)
        check.that(status == 403 and "SYSTEM ADMIN" in body, f"who may flush: {status} {body}")
        s.rest.must("select flush_user_info_cache()")
        check.that(s.status(frank) == 200 and p.count() == calls + 1, "flushed")
        check.that(json.loads(s.rest.sql("select * from my_external_groups()", frank)[1])["count"] == 3, "my_external_groups()")
        check.that("analysts" in s.rest.sql("show groups 'Frank \"F\" Föreign'", frank)[1], "show groups of oneself")
        check.that(json.loads(s.rest.sql("show permissions", frank)[1])["count"] > 0, "show permissions of oneself")
        log = json.dumps(s.rest.must("select * from sys.audit_log"))
        check.that(s.status(s.token("bob")) == 403 and "no permission HTTP" in json.dumps(s.rest.must("select * from sys.audit_log")), "refused end points")
        check.that("sub:frank" in log and frank not in log, "the audit log")


def faults(check, p):
    with House(p, **{"acl.oidc.http.timeout": 300}) as s:
        alice = s.token("alice")
        check.that(s.status(alice) == 200, "before")
        cases = [("down", {"status": 503}, 503), ("status 500", {"status": 500}, 503), ("cut off", {"status": -1}, 503), ("in the middle", {"cut": True}, 503),
                 ("too slow", {"delay": 5000, "status": 200}, 503), ("endless", {"endless": True}, 503), ("10 MB", {"bytes": 10 << 20}, 503),
                 ("HTML", {"base64": base64.b64encode(b"<html>no</html>").decode(), "type": "text/html"}, 503), ("empty", {"base64": "Cg=="}, 503),
                 ("a list", {"status": 200, "body": [1]}, 503), ("bad UTF-8", {"base64": base64.b64encode(b'{"name":"\xff"}').decode()}, 503),
                 ("twice", {"base64": base64.b64encode(b'{"name":"a","name":"b"}').decode()}, 503), ("redirect", {"status": 302, "location": p.url + "/me"}, 503),
                 ("signed", {"base64": "YS5iLmM=", "type": "application/jwt"}, 401), ("refused", {"status": 401}, 401), ("forbidden", {"status": 403}, 401),
                 ("no name", {"status": 200, "body": {"email": "x"}}, 401), ("no subject", {"status": 200, "body": {"name": "x", "groups": ["analysts"]}}, 401),
                 ("a subject that is null", {"status": 200, "body": {"sub": None, "name": "x", "groups": ["analysts"]}}, 401), ("an empty subject", {"status": 200, "body": {"sub": "", "name": "x", "groups": ["analysts"]}}, 401), ("a long name", {"status": 200, "body": {"sub": "x", "name": "x" * 300}}, 401),
                 ("10,000 groups", {"status": 200, "body": {"sub": "x", "name": "x", "groups": ["analysts"] * 10000}}, 401),
                 ("no list", {"status": 200, "body": {"sub": "x", "name": "x", "groups": 7}}, 403), ("no texts", {"status": 200, "body": {"sub": "x", "name": "x", "groups": ["analysts", 7]}}, 403),
                 ("an object", {"status": 200, "body": {"sub": "x", "name": "x", "groups": {"analysts": True}}}, 403), ("null", {"status": 200, "body": {"sub": "x", "name": "x", "groups": None}}, 403),
                 ("overage", {"status": 200, "body": {"sub": "x", "name": "x", "_claim_names": {"groups": "src1"}}}, 403),
                 ("other case", {"status": 200, "body": {"sub": "x", "name": "x", "groups": ["Analysts"]}}, 403),
                 ("a zero byte", {"base64": base64.b64encode(b'{"name":"a\\u0000b"}').decode()}, 503), ("one text", {"status": 200, "body": {"sub": "x", "name": "x", "groups": "analysts"}}, 200)]
        for i, (what, fault, want) in enumerate(cases):
            p.hook("fault", {"path": "/me", **fault})
            began = time.monotonic()
            status, body, headers = s.rest.request("/exec?query=select+1", auth=f"made-up-{i}")
            check.that(status == want, f"{what}: {status} {body[:200]}")
            check.that(time.monotonic() - began < 3, f"{what}: in time")
            if want == 503:
                check.that("identity provider not reachable" in body and headers["Retry-After"] == "1", f"{what}: {body}")
            check.that(s.status(alice) == 200, f"{what}: who is known goes on")
        p.hook("fault", {"path": "/me", "delay": 3000, "status": 200})
        with concurrent.futures.ThreadPoolExecutor(40) as pool:  # nobody else waits for those that wait
            slow = [pool.submit(s.status, f"slow-{i}") for i in range(40)]
            began = time.monotonic()
            check.that([s.status(alice) for _ in range(20)] == [200] * 20 and time.monotonic() - began < 0.3, "others are quick meanwhile")
            check.that({f.result() for f in slow} == {503}, "those end in time")
        p.hook("fault", {})
        check.that(s.status(s.token("alice")) == 200, "and all is well again")


def stopping(check, p):
    """Those that wait for the provider hold up nobody: clients that go, a server that stops."""
    with House(p, prepare=False) as s:
        p.hook("fault", {"path": "/me", "delay": 20000, "status": 200})
        host, port = s.http.rsplit(":", 1)
        gone = []
        for i in range(50):
            c = socket.create_connection((host, int(port)))
            c.sendall(f"GET /exec?query=select+1 HTTP/1.1\r\nHost: {s.http}\r\nAuthorization: Bearer gone-{i}\r\n\r\n".encode())
            gone.append(c)
        time.sleep(0.2)
        for c in gone:
            c.close()
        began = time.monotonic()
        check.that(s.rest.sql("select 1")[0] == 200 and time.monotonic() - began < 1, "others get in beside those that went")
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            waiting = [pool.submit(s.status, f"waiting-{i}") for i in range(5)]
            time.sleep(0.3)
            began = time.monotonic()
            code = s.stop()
            check.that(code == 0 and time.monotonic() - began < 4, f"it stops at once: {code}, {time.monotonic() - began:.1f} s")
            check.that({f.result() for f in waiting} == {503}, "those that wait are told")
        p.hook("fault", {})


def provider_down(check, p):
    own = Provider("--quiet")
    with House(own, prepare=False) as s:  # not there at the start
        check.that("SIGN-ON" in s.rest.request("/warnings")[1], "a warning")
        check.that(json.loads(s.rest.request("/settings")[1])["config"]["acl.oidc.authorization.endpoint"] is None, "no end points yet")
        check.that(s.status("some-token") == 503 and s.rest.sql("select 1")[0] == 200, "others get in")
        own.args = ()
        own.start()
        try:
            s.rest.must("create group analysts with external alias analysts")
            s.rest.must("grant http to analysts")
            alice = s.token("alice")
            end = time.monotonic() + 20
            while s.status(alice) == 503 and time.monotonic() < end:
                time.sleep(0.1)
            check.that(s.status(alice) == 200 and s.rest.request("/warnings")[1].find("SIGN-ON") < 0, "found when it came")
            own.stop()
            check.that(s.status(alice) == 200, "down again: who is known goes on")
            status, body, _ = s.rest.request("/exec?query=select+1", auth="another-token")
            check.that(status == 503 and "identity provider not reachable" in body, "others are told")
            s.rest.must("select flush_user_info_cache()")
            check.that(s.status(alice) == 503, "nothing stale is served")
        finally:
            own.stop()


def id_tokens(check, p):
    with Provider("--groups-in-token", "--access-ttl", "1") as q:
        expired(check, q)
        forged(check, q)
        rotated(check, q)
        moved(check, q)


def introspection(check, p):
    """The provider is asked whether a token is for this server: its user info end point answers for those of every client."""
    secret = "introspection: %20&secret"
    log_search.note(secret)

    def of_client(client):
        got = p.token(grant_type="password", client_id=client, username="alice", password="alice-pw", scope="openid profile")["access_token"]
        log_search.note(got)
        return got

    with House(p) as s:
        check.that(s.status(of_client("other-app")) == 200, "opaque tokens of another client pass unless the provider is asked")
    asked = {"acl.oidc.introspection.endpoint": p.url + "/token/introspection", "acl.oidc.introspection.client.id": "almanac-server",
             "acl.oidc.introspection.client.secret": secret}
    with House(p, **asked, **{"acl.oidc.cache.ttl": 400}) as s:
        alice, other = of_client("almanac"), of_client("other-app")
        calls = p.count("introspection")
        check.that([s.status(alice) for _ in range(3)] == [200] * 3 and p.count("introspection") == calls + 1, "a token of this client, asked about once")
        calls = p.count()
        check.that(s.status(other) == 401 and p.count() == calls, "of another client")
        check.that("was issued for another client" in json.dumps(s.rest.must("select * from sys.audit_log")), "the audit log says why")
        check.that(s.status("made-up") == 401, "not active")
        urllib.request.urlopen(f"{p.url}/token/revocation", urllib.parse.urlencode({"token": alice, "client_id": "almanac"}).encode()).read()
        time.sleep(0.5)
        check.that(s.status(alice) == 401, "revoked")
        for what, body, want in (("not active", {"active": False, "client_id": "almanac"}, 401), ("active as a text", {"active": "true", "client_id": "almanac"}, 401), ("no answer", {"client_id": "almanac"}, 503), ("a list", [True], 503),
                                 ("aud", {"active": True, "aud": "almanac"}, 200), ("aud list", {"active": True, "aud": ["x", "almanac"]}, 200), ("another aud", {"active": True, "aud": ["x"]}, 401), ("nobody", {"active": True}, 401),
                                 ("null", {"active": True, "client_id": None}, 401), ("over", {"active": True, "client_id": "almanac", "exp": int(time.time()) - 1}, 401), ("exp as text", {"active": True, "client_id": "almanac", "exp": "9999999999"}, 401)):
            p.hook("fault", {"path": "/token/introspection", "status": 200, "body": body})
            got = s.status(of_client("almanac"))
            check.that(got == want, f"introspection answers {what}: {got}")
        p.hook("fault", {"path": "/token/introspection", "status": 200, "body": {"active": True, "client_id": "almanac", "exp": int(time.time()) + 2}})
        calls = p.count("introspection")
        for status in (401, 403, 500, 302):
            p.hook("fault", {"path": "/token/introspection", "status": status})
            check.that(s.status(of_client("almanac")) == 503, f"introspection answers {status}: no answer about the token")
        p.hook("fault", {})
    with House(p, prepare=False, **asked, **{"acl.oidc.audience": "https://almanac.example"}) as s:
        check.that(s.status(of_client("almanac")) == 401, "an audience that is set must be the token's")
        p.hook("fault", {"path": "/token/introspection", "status": 200, "body": {"active": True, "client_id": "other-app", "aud": "https://almanac.example"}})
        check.that(s.status(of_client("other-app")) != 401, "whatever client it was issued for")
        p.hook("fault", {})
    with House(p, prepare=False, **{**asked, "acl.oidc.introspection.client.secret": "wrong"}) as s:
        check.that(s.status(of_client("almanac")) == 503, "a wrong secret: nobody is let in")
        check.that("(acl.oidc.introspection.client.secret)" in s.log_path.read_text(), "and the log says why")


def access_tokens(check, p):
    """JWT access tokens say themselves for whom they are: the audience that is set, or without one no other client than ours."""
    p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "alice", "name": "Alice Analyst", "groups": ["analysts"]}})
    api = "https://almanac.example"
    with House(p) as s:
        for claims, want in (({"client_id": "other-app", "aud": api}, 401), ({"azp": "other-app", "aud": "account"}, 401), ({"client_id": "other-app", "aud": [api, "almanac"]}, 200),
                             ({"client_id": "almanac", "aud": api}, 200), ({"azp": "almanac", "aud": "account"}, 200), ({"aud": api}, 200), ({"client_id": 7, "aud": api}, 401)):
            check.that(s.status(p.sign(typ="at+jwt", claims=claims)) == want, f"without an audience of its own: {claims}: {want}")
        check.that("was issued for another client" in json.dumps(s.rest.must("select * from sys.audit_log")), "the audit log says why")
    with House(p, **{"acl.oidc.audience": api, "acl.oidc.cache.ttl": 100}) as s:
        now = int(time.time())
        good = p.sign(typ="at+jwt", claims={"aud": api, "client_id": "other-app"})
        check.that(s.status(good) == 200 and s.status(p.sign(claims={"aud": ["x", api]})) == 200, "tokens for this server")
        calls = p.count()
        for what, how in (("of another audience", {"claims": {"aud": "almanac"}}), ("without one", {"claims": {"aud": None}}), ("of another issuer", {"claims": {"aud": api, "iss": "http://elsewhere"}}),
                          ("over", {"claims": {"aud": api, "exp": now - 1}}), ("not signed", {"alg": "none", "claims": {"aud": api}}), ("signed with the public key", {"alg": "HS256", "claims": {"aud": api}}),
                          ("signed by others", {"key": "stranger", "claims": {"aud": api}}), ("a logout token", {"typ": "logout+jwt", "claims": {"aud": api}})):
            check.that(s.status(p.sign(**{"typ": "at+jwt", **how})) == 401, f"a token {what}")
        check.that(s.status("opaque-token") == 401, "an opaque token does not say for whom it is")
        check.that(p.count() == calls, "the user info end point is not asked about those")
        short = p.sign(typ="at+jwt", claims={"aud": api, "exp": now + 3})
        check.that(s.status(short) == 200, "nearly over")
        time.sleep(max(0, now + 3.1 - time.time()))
        check.that(s.status(short) == 401, "over")
        p.hook("fault", {"path": "/me", "status": 401})
        check.that(s.status(p.sign(typ="at+jwt", claims={"aud": api})) == 401, "the user info end point has the last word")
    p.hook("fault", {})


EVENT = "http://schemas.openid.net/event/backchannel-logout"


ADDRESSES = itertools.cycle(f"127.0.9.{n}" for n in range(1, 250))


def log_out(s, token, source=None, body=None):
    """From another address each time: failures make one wait."""
    return ask(s, path="/oidc/backchannel-logout", method="POST", headers={"Content-Type": "application/x-www-form-urlencoded"}, body="logout_token=" + token if body is None else body,
               source=source or next(ADDRESSES))


def logout(check, p):
    """The provider tells who logged out there: tokens, cookies and connections of the user are over."""
    import psycopg
    counted = iter(range(1000))

    def logout_token(sub="alice", typ="logout+jwt", key="good", alg="RS256", **claims):
        return p.sign(sub=sub, typ=typ, key=key, alg=alg, claims={"jti": f"log-out {next(counted)}", "events": {EVENT: {}}, **claims})

    with House(p, prepare=False) as s:
        check.that(log_out(s, logout_token())[0] == 404, "off unless it is switched on")
    with House(p, **{"acl.oidc.backchannel.logout.enabled": "true", "acl.oidc.pg.token.as.password.enabled": "true", "acl.oidc.cache.ttl": 600000}) as s:
        alice, other, erin = s.token("alice"), s.token("alice"), s.token("erin")
        host, port = s.pg.rsplit(":", 1)
        c = psycopg.connect(host=host, port=port, user="_sso", password=alice, dbname="qdb", autocommit=True)
        _, _, headers = s.rest.request("/exec?query=select+1&session=true", auth=other)
        cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        check.that([s.status(alice), s.status(other), s.status(erin), s.rest.request("/exp?query=select+1", headers=cookie)[0]] == [200] * 4, "before")
        now = int(time.time())
        bad = {"no event": {"events": {}}, "another event": {"events": {"http://x": {}}}, "an event that is no object": {"events": {EVENT: 1}}, "a nonce": {"nonce": "n"}, "no jti": {"jti": None}, "nobody": {"sub": None},
               "another issuer": {"iss": "http://elsewhere"}, "another client": {"aud": "other-app"}, "no audience": {"aud": None}, "over": {"exp": now - 1}, "old": {"iat": now - 400}, "of the future": {"iat": now + 100},
               "no time": {"iat": None}}
        for what, claims in bad.items():
            status, body, _ = log_out(s, logout_token(**claims))
            check.that(status == 400 and body == '{"error":"invalid_request"}', f"a logout token, {what}: {status} {body}")
        for what, how in {"an access token": {"typ": "at+jwt"}, "signed by others": {"key": "stranger"}, "not signed": {"alg": "none"}, "signed with the public key": {"alg": "HS256"}}.items():
            check.that(log_out(s, logout_token(**how))[0] == 400, f"a logout token, {what}")
        for body in ("", "logout_token=", "token=x", "logout_token=a+b", "logout_token=" + "x" * 60000, "%zz"):
            status = log_out(s, "", body=body)[0]
            check.that(status in (400, 413), f"a body that is none: {body[:20]}: {status}")
        check.that(s.rest.request("/oidc/backchannel-logout?logout_token=" + logout_token(), "POST", "")[0] == 400 and s.rest.request("/oidc/backchannel-logout", "GET", "")[0] == 405, "the token stands in the body of a POST")
        check.that([s.status(alice), s.status(other), s.status(erin), s.rest.request("/exp?query=select+1", headers=cookie)[0]] == [200] * 4, "nothing came of those")
        token = logout_token()
        status, body, headers = log_out(s, token)
        check.that(status == 200 and body == "" and headers["Cache-Control"] == "no-store", f"alice logs out: {status} {body} {headers.items()}")
        calls = p.count()
        check.that([s.status(alice), s.status(other), s.rest.request("/exp?query=select+1", headers=cookie)[0]] == [401] * 3 and p.count() == calls, "her tokens and cookies are over")
        is_over(check, c, "her connection is over")
        check.that(s.status(erin) == 200, "those of others are not")
        s.rest.must("select flush_user_info_cache()")
        check.that(s.status(alice) == 401, "also when the cache is emptied")
        again = s.token("alice")
        check.that(s.status(again) == 200, "who logs in again is in")
        check.that(log_out(s, token)[0] == 400 and s.status(again) == 200, "a logout token counts once")
        check.that(s.status(token) == 401, "and is no access token")
        log = json.dumps(s.rest.must("select * from sys.audit_log"))
        check.that("logout" in log and "sub:alice" in log and "was used before" in log, "the audit log has it")
        check.that(log_out(s, logout_token(sub=None, sid="unknown"))[0] == 200 and s.status(again) == 200 and p.count() > calls, "a session that no token here names: the provider is asked again")
        p.hook("fault", {"path": "/me", "delay": 3000})
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            late = s.token("erin")
            waits = pool.submit(s.status, late)
            time.sleep(0.5)
            check.that(log_out(s, logout_token(sub="erin"))[0] == 200 and waits.result() == 401, "a log-out while the provider is asked")
        p.hook("fault", {})
        p.hook("backchannel", {"uri": f"http://{s.http}/oidc/backchannel-logout"})
        got = p.sign_on("alice")
        log_search.note(*(v for k, v in got.items() if k.endswith("_token")))
        check.that(s.status(got["access_token"]) == 200, "in")
        p.sign_off(got)
        check.that(waited(lambda: s.status(got["access_token"]) == 401, 5), "the provider itself says that she is out")
        p.hook("backchannel", {})
    with House(p, **{"acl.oidc.backchannel.logout.enabled": "true", "acl.oidc.groups.encoded.in.token": "true"}) as s:
        groups = {"groups": ["analysts"]}
        one, two = p.sign(claims={"sid": "one", **groups}), p.sign(claims={"sid": "two", **groups})
        unseen = p.sign(claims={"sid": "one", "name": "Another", **groups})
        check.that(s.status(one) == 200 and s.status(two) == 200, "two sessions")
        check.that(log_out(s, logout_token(sid="one"))[0] == 200 and s.status(one) == 401 and s.status(two) == 200, "one of them ends")
        check.that(s.status(unseen) == 401, "also for a token of it that was not seen before")
        check.that(log_out(s, logout_token())[0] == 200 and s.status(two) == 401 and s.status(p.sign(claims={"iat": now - 5, **groups})) == 401, "and then all of the user")
        time.sleep(1.1)
        check.that(s.status(p.sign(claims=groups)) == 200, "until he logs in again")


def expired(check, q):
    with House(q, **{"acl.oidc.cache.ttl": 100}) as s:
        erin = s.token("erin")
        check.that(s.status(erin) == 200, "fresh")
        time.sleep(1.3)
        status, _, headers = s.rest.request("/exec?query=select+1", auth=erin)
        check.that(status == 401 and "invalid_token" in headers["WWW-Authenticate"], "expired")
    q.hook("reset", {})


def forged(check, q):
    with House(q, **{"acl.oidc.groups.encoded.in.token": "true"}) as s:
        check.that(s.status(s.token("alice", "id_token")) == 200, "an ID token")
        check.that(s.status(s.token("alice")) == 401, "an access token is none")
        check.that(s.status(s.token("bob", "id_token")) == 403, "no groups")
        now = int(time.time())
        bad = {"alg none": {"alg": "none"}, "HMAC with the public key": {"alg": "HS256"}, "another key": {"key": "stranger"}, "aud": {"claims": {"aud": "other-app"}},
               "no aud": {"claims": {"aud": None}}, "aud list without azp": {"claims": {"aud": ["almanac", "x"]}}, "azp": {"claims": {"azp": "other-app"}},
               "iss": {"claims": {"iss": "http://elsewhere"}}, "no iss": {"claims": {"iss": None}}, "exp": {"claims": {"exp": now - 1}}, "no exp": {"claims": {"exp": None}},
               "exp as text": {"claims": {"exp": str(now + 60)}}, "nbf": {"claims": {"nbf": now + 100}}, "iat": {"claims": {"iat": now + 100}},
               "typ of an access token": {"typ": "at+jwt"}, "no key of that name": {"kid": "another", "key": "stranger"}}
        for what, how in bad.items():
            check.that(s.status(q.sign(**how)) == 401, what)
        fetched = q.count("jwks")
        check.that({s.status(q.sign(kid="another", claims={"n": i})) for i in range(5)} == {401} and q.count("jwks") == fetched, "a name that is made up does not make it fetch keys each time")
        good = q.sign(claims={"aud": ["almanac", "x"], "azp": "almanac", "nbf": now + 20})
        check.that(s.status(good) == 200, "several audiences, for this client, clocks that differ")
        check.that(s.status(good[:-2] + ("AA" if good[-2:] != "AA" else "BB")) == 401, "a changed signature")
        head, body, tail = good.split(".")
        check.that(s.status(f"{head}.{body}.{tail}.") == 401 and s.status(f"{head}.{body}.") == 401 and s.status(f"{head}.{body}") == 401, "not three parts")
        forged = base64.urlsafe_b64encode(json.dumps({"name": "x", "groups": ["analysts"], "exp": now + 60, "aud": "almanac", "iss": q.url}).encode()).rstrip(b"=").decode()
        check.that(s.status(f"{head}.{forged}.{tail}") == 401, "another body")
        check.that(q.count() == 0, "user info is not asked")
        short = q.sign(claims={"exp": int(time.time()) + 2})
        check.that(s.status(short) == 200, "nearly over")
        time.sleep(2.1)
        check.that(s.status(short) == 401, "over, though it was known")


def rotated(check, q):
    with House(q, **{"acl.oidc.groups.encoded.in.token": "true", "acl.oidc.cache.ttl": 0}) as s:
        old = s.token("alice", "id_token")
        check.that(s.status(old) == 200, "by the old key")
        fetched = q.count("jwks")
        q.hook("rotate-key", {"drop_old": True})
        check.that(s.status(q.sign()) == 200 and q.count("jwks") == fetched + 1, "a new key is fetched once")
        check.that(s.status(old) == 401 and q.count("jwks") == fetched + 1, "the old one is gone")


class Front(http.server.ThreadingHTTPServer):
    """A discovery document that says what the test wants, and keys of its own."""

    def __init__(self, document, keys):
        super().__init__(("127.0.0.1", 0), FrontHandler)
        self.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.answers = {"/.well-known/openid-configuration": {**document, "jwks_uri": self.url + "/old"}, "/old": keys}
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def move_keys(self, to):
        self.answers["/.well-known/openid-configuration"]["jwks_uri"] = self.url + to


class FrontHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        found = self.server.answers.get(self.path)
        body = json.dumps(found or {}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def fetched(url):
    with urllib.request.urlopen(url) as r:
        return json.load(r)


def waited(true, seconds=30):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def moved(check, q):
    """Keys that move with a new discovery document; end points that fail have it read again, and what was there counts meanwhile."""
    document = fetched(q.url + "/.well-known/openid-configuration")
    jwks = document["jwks_uri"]
    at = "/.well-known/openid-configuration"
    with Front(document, fetched(jwks)) as front:
        more = {"acl.oidc.configuration.url": front.url + at, "acl.oidc.groups.encoded.in.token": "true", "acl.oidc.cache.ttl": 0}
        with House(q, prepare=False, **more) as s:
            old = s.token("alice", "id_token")
            told = s.log_path.read_text()
            check.that(s.status(old) == 503 and "is not of its address: if it is right, set acl.oidc.issuer" in told, f"a document of another issuer is not used: {told[-500:]}")
        with House(q, **more, **{"acl.oidc.issuer": q.url}) as s:
            check.that(s.status(old) == 200, "unless that one is said to be right")
            q.hook("rotate-key", {"drop_old": True})
            front.answers["/new"] = fetched(jwks)
            del front.answers["/old"]
            front.move_keys("/new")
            asked = front.asked.count(at)
            new = q.sign()
            check.that(waited(lambda: s.status(new) == 200, 5) and front.asked.count(at) == asked + 1, "new keys at a new place")
            check.that(s.status(old) == 401, "the old ones are gone")
            asked = len(front.asked)
            got = {s.status(q.sign(kid=f"made-up-{i}")) for i in range(40)}
            check.that(got <= {401, 503} and len(front.asked) <= asked + 16, f"names that are made up ask for little: {got}, {len(front.asked) - asked}")
        with House(q, prepare=False, **more, **{"acl.oidc.issuer": "https://id.example"}) as s:
            check.that(s.status(new) == 503, "the issuer that is set must be the document's")
        front.move_keys("/none")
        with House(q, **more, **{"acl.oidc.issuer": q.url}) as s:
            check.that(s.status(new) == 503, "no keys yet")
            front.move_keys("/new")
            check.that(waited(lambda: s.status(new) == 200), "the document is read again after a failure")
        front.shutdown()


def user_info_moves(check, p):
    document = fetched(p.url + "/.well-known/openid-configuration")
    at, right = "/.well-known/openid-configuration", document["userinfo_endpoint"]
    with Front({**document, "userinfo_endpoint": p.url + "/nowhere"}, {}) as front:
        with House(p, **{"acl.oidc.configuration.url": front.url + at}) as s:
            alice = s.token("alice")
            check.that(s.status(alice) == 503, "an end point that is gone")
            front.answers[at]["userinfo_endpoint"] = right
            check.that(waited(lambda: s.status(alice) == 200), "and elsewhere now")
            del front.answers[at]
            p.hook("fault", {"path": "/me", "status": 503})
            check.that(s.status("another") == 503 and s.status(alice) == 200, "away: who is known goes on")
            asked = len(front.asked)
            check.that(waited(lambda: len(front.asked) > asked), "the document is asked for")
            p.hook("fault", {})
            check.that(s.status(s.token("alice")) == 200, "what it said before counts on")
        front.shutdown()


def names(check, p):
    with House(p, **{"acl.oidc.sub.claim": "preferred_username"}) as s:
        got = json.loads(s.rest.sql("select current_user", s.token("alice"))[1])
        check.that(got["dataset"] == [["alice"]], f"another claim: {got}")
        p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "alice", "name": "Alice", "groups": ["analysts"]}})
        check.that(s.status("without-it") == 401, "a claim that is missing")
    p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "s1", "roles": ["analysts"]}})
    with House(p, **{"acl.oidc.groups.claim": "roles"}) as s:
        got = json.loads(s.rest.sql("select current_user", "any")[1])
        check.that(got["dataset"] == [["s1"]], f"no name: sub; other groups claim: {got}")
    p.hook("fault", {})


def local_names(check, p):
    """A user of the provider who is called like one of the house is not that one, nor are two who are called the same."""
    with House(p) as s:
        s.rest.must("create user jo with password pw")
        s.rest.must("grant http, pgwire, all to jo")
        s.rest.must("grant select on all tables to jo")
        s.rest.must("alter group analysts with external alias other")
        jo = ("jo", "pw")
        p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "a", "name": "jo", "groups": ["analysts"]}})
        check.that(s.status("first", "select qty from trades") == 403 and s.rest.sql("select qty from trades", jo)[0] == 200, "rights of that name are not his")
        status, body, headers = s.rest.request("/exec?query=select+*+from+trades&snapshot=new", auth=jo)
        held = headers["X-Almanac-Snapshot"] if "X-Almanac-Snapshot" in headers else json.loads(body)["snapshot"]["id"] if isinstance(json.loads(body).get("snapshot"), dict) else json.loads(body)["snapshot"]
        check.that(status == 200 and s.rest.request(f"/snapshot/{held}", auth=jo)[0] == 200, f"a held result: {body[:200]}")
        check.that(s.rest.request(f"/snapshot/{held}", auth="first")[0] in (403, 404), "is not for a namesake")
        check.that(s.rest.request(f"/exec?snapshot={held}", auth="first")[0] in (400, 403, 404), "on no way")
        status, body, headers = s.rest.request("/exec?query=select+price+from+trades&snapshot=new", auth="first")
        held = json.loads(body)["snapshot"]
        held = held["id"] if isinstance(held, dict) else held
        p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "b", "name": "jo", "groups": ["other"]}})
        check.that(s.status("second") == 200 and s.rest.request(f"/snapshot/{held}", auth="second")[0] in (403, 404), "nor for one of another subject")
        check.that(s.rest.request(f"/snapshot/{held}", auth="first")[0] == 200, "but for him")
        s.rest.must("create table kept (who string, word string)")
        s.rest.must("insert into kept values ('jo', 'of jo'), ('sub:a', 'of a'), ('sub:b', 'of b')")
        s.rest.must("create view own as (select word from kept where who = current_user())")
        for one in ("jo", "analysts"):
            s.rest.must(f"grant select on own to {one}")
        for who, name, word in ((jo, "jo", "of jo"), ("first", "sub:a", "of a")):
            for _ in range(3):  # the plan of the text is kept
                got = [json.loads(s.rest.sql(sql, who)[1])["dataset"] for sql in ("select current_user", "select word from own")]
                check.that(got == [[[name]], [[word]]], f"rows by current_user() of {name}: {got}")
        s.rest.must("create view by_setting as (select word from kept where who = current_setting('session_authorization'))")
        for one in ("jo", "analysts"):
            s.rest.must(f"grant select on by_setting to {one}")
        check.that([json.loads(s.rest.sql("select word from by_setting", who)[1])["dataset"] for who in (jo, "first")] == [[["of jo"]], [["of a"]]], "nor by the setting")
        for n, claimed in enumerate(("sub:a", "SUB:a", "sub:", "sub:b")):
            p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": f"claims{n}", "name": claimed, "groups": ["analysts"]}})
            got = [json.loads(s.rest.sql(sql, f"claims{n}")[1])["dataset"] for sql in ("select current_user", "select word from own")]
            check.that(got == [[[f"sub:claims{n}"]], []], f"a name of the form of a subject is nobody's: {claimed}: {got}")
            status, text = s.rest.sql(f'create user "{claimed}"')
            check.that(status == 400 and "are reserved" in text, f"nor a user's: {claimed}: {status} {text}")
        p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "a", "name": "jo", "groups": ["analysts"]}})
        for text in ("alter user jo with password x", "alter user jo create token type rest with ttl '1h'", "alter user jo with no password",
                     "create table own (a int) owned by jo"):
            check.that(s.status("first", text) in (400, 403), f"{text}: that is not him")
        s.rest.must("alter user jo disable")
        check.that(s.status("first") == 200, "he is not disabled with him")
        p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "evil", "name": "admin", "groups": ["analysts"]}})
        check.that(s.status("third", "grant all to jo") == 403, "one who is called like the administrator")
        check.that(json.loads(s.rest.sql("select current_user", "third")[1])["dataset"] == [["sub:evil"]], "is not shown as him")
        rows = [row for row in s.rest.must("select event, identity, address from sys.audit_log where user_name = 'admin'")["dataset"] if row[1] != "admin:admin"]
        check.that({row[0] for row in rows} == {"login", "denied", "acl"} and {tuple(row[1:]) for row in rows} == {("sub:evil", "127.0.0.1")}, f"the audit log tells them apart: {rows}")
        p.hook("fault", {})


def statements(check, p):
    with House(p) as s:
        for g in ("create table", "create view", "add column on trades", "insert on trades"):
            s.rest.must(f"grant {g} to analysts")
        alice = s.token("alice")
        status, body = s.rest.sql("create table mine (ts timestamp, a int) timestamp(ts) partition by day", alice)
        check.that(status == 400 and "OWNED BY is required for external users" in body, f"no owner: {status} {body}")
        status, body = s.rest.sql("create table mine (ts timestamp, a int) timestamp(ts) partition by day owned by nohttp", alice)
        check.that(status == 403, f"another's group: {status} {body}")
        check.that(s.status(alice, "create table mine (ts timestamp, a int) timestamp(ts) partition by day owned by analysts") == 200, "owned by the group")
        check.that(s.status(alice, "select a from mine") == 200, "which may read it")
        check.that(s.status(alice, "create view v as (select price from trades)") == 400, "a view needs an owner, too")
        check.that(s.status(alice, "create view v as (select price from trades) owned by analysts") == 200, "owned by the group")
        s.rest.must("create view w as (select qty from trades)")
        s.rest.must("grant select, alter view on w to analysts")
        check.that(s.status(alice, "select qty from w") == 200, "by the rights of who defined it")
        status, body = s.rest.sql("alter view w as (select qty, price from trades)", alice)
        check.that(status == 403, f"not what he may not read himself: {status} {body}")
        for text in ("alter view w as (select price from trades)", "create or replace view w as (select price from trades)"):
            status, body = s.rest.sql(text, alice)
            check.that(status == 400 and "OWNED BY is required for external users" in body, f"{text}: a definer of the house: {status} {body}")
            status, body = s.rest.sql(f"{text} owned by nohttp", alice)
            check.that(status == 403, f"{text}: another's group: {status} {body}")
            status, body = s.rest.sql(f"{text} owned by analysts", alice)
            check.that(status == 200 and s.status(alice, "select price from w") == 200, f"{text}: {status} {body}")
            s.rest.must("revoke select on trades from analysts")
            check.that(s.status(alice, "select price from w") == 403, "it reads with the rights that its definer has now")
            s.rest.must("grant select on trades to analysts")
        check.that(s.status(alice, "alter view w as (select * from trades) owned by analysts") == 200 and s.status(alice, "select * from w") == 200, "all columns")
        s.rest.must("alter table trades add column secret int")
        s.rest.must("revoke select on trades from analysts")
        others = ", ".join(row[0] for row in s.rest.must("show columns from trades")["dataset"] if row[0] != "secret")
        s.rest.must(f"grant select on trades({others}) to analysts")
        status, body = s.rest.sql("select * from w", alice)
        check.that(status == 403 and "secret" in body, f"and nothing that came later: {status} {body}")
        s.rest.must(f"revoke select on trades({others}) from analysts")
        s.rest.must("grant select on trades(ts, price) to analysts")
        status, body, _ = s.rest.request("/write", "POST", alice, body="trades price=1.5,qty=2 1000000000\n")
        check.that(status == 204, f"lines over HTTP: {status} {body}")
        status, body, _ = s.rest.request("/write", "POST", alice, body="newone price=1.5 1000000000\n")
        check.that(status in (400, 403) and "OWNED BY is required for external users" in body, f"lines make no tables: {status} {body}")
        check.that(s.rest.request("/write", "POST", "none", body="trades price=1\n")[0] == 401, "lines of nobody")
        for headers in ({}, {"Expect": "100-continue"}, {"Transfer-Encoding": "chunked"}):  # the body waits while the provider is asked
            s.rest.must("select flush_user_info_cache()")
            body = b"trades price=1.5,qty=3 1000000000\n" * 1000
            if "Transfer-Encoding" in headers:
                body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
            check.that(s.rest.request("/write", "POST", alice, headers=headers, body=body)[0] == 204, f"a body, {headers}")
        check.that(s.rest.must("select count() from trades where qty = 3")["dataset"] == [[3000]], "all of it")
        file = b'--x\r\nContent-Disposition: form-data; name="data"; filename="f"\r\n\r\na,b\r\n1,2\r\n\r\n--x--\r\n'
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        status, body, _ = s.rest.request("/imp?name=imported", "POST", alice, headers=kind, body=file)
        check.that("OWNED BY is required" in body or "owner" in body, f"a file needs an owner: {status} {body[:200]}")
        status, body, _ = s.rest.request("/imp?name=imported&owner=analysts&fmt=json", "POST", alice, headers=kind, body=file)
        check.that(status == 200 and s.status(alice, "select a from imported") == 200, f"a file: {status} {body[:300]}")
        check.that(s.status(alice, "alter user 'Alice Analyst' with password x") in (400, 403), "no password here")
        check.that(s.status(alice, "alter user 'Alice Analyst' create token type rest with ttl '1h'") in (400, 403), "no token here")


def pg(check, p):
    from lib.pgclient import Wire
    import psycopg
    with House(p, **{"acl.oidc.cache.ttl": 500, "acl.oidc.pg.token.as.password.enabled": "true", "acl.oidc.ropc.flow.enabled": "true"}) as s:
        host, port = s.pg.rsplit(":", 1)

        def connect(user, password):
            return psycopg.connect(host=host, port=port, user=user, password=password, dbname="qdb", autocommit=True)

        def refusal(user, password):
            try:
                connect(user, password).close()
            except psycopg.OperationalError as e:
                return str(e)
            return "connected"

        alice = s.token("alice")
        with connect("_sso", alice) as c:
            check.that(c.execute("select current_user()").fetchone() == ("Alice Analyst",), "a token as password")
            try:
                c.execute("select qty from trades")
                check.that(False, "not granted")
            except psycopg.errors.InsufficientPrivilege:
                check.that(True, "not granted")
        Wire(s.pg, "", alice).s.close()
        check.that("the token is not valid" in refusal("_sso", alice[:-1] + "x"), "another token")
        check.that("Access denied for Bob Bare [PGWIRE]" in refusal("_sso", s.token("bob")), "no groups")
        with connect("_sso", s.token("dave")) as c:
            check.that(c.execute("select count() from trades").fetchone() == (1,), "a group without HTTP")
        check.that("invalid username/password" in refusal("nobody", alice), "not with another name")
        erin = s.token("erin")
        c = connect("_sso", erin)
        check.that(c.execute("select 1").fetchone() == (1,), "erin")
        p.hook("user/erin", {"disabled": True})
        time.sleep(0.6)
        is_over(check, c, "the connection ends with the account")
        p.hook("user/erin", {"disabled": False})
        c = connect("_sso", alice)
        p.hook("user/alice", {"groups": ["analysts", "nohttp"]})
        time.sleep(0.6)
        check.that(c.execute("select qty from trades").fetchone() == (2.0,), "groups of a connection follow")
        for one in ("create service account robot", "grant pgwire to robot", "grant assume service account robot to nohttp"):
            s.rest.must(one)
        assumed = connect("_sso", alice)
        assumed.execute("assume service account robot")
        c.execute("declare kept cursor with hold for select qty from trades cross join long_sequence(9)")
        check.that(c.execute("fetch 1 from kept").fetchone() == (2.0,), "a cursor")
        time.sleep(0.6)
        check.that(c.execute("fetch 1 from kept").fetchone() == (2.0,) and assumed.execute("select current_user()").fetchone() == ("robot",), "another answer with the same groups changes nothing")
        p.hook("user/alice", {"groups": ["analysts"]})
        time.sleep(0.6)
        try:
            c.execute("fetch 1 from kept")
            check.that(False, "the group is lost: a cursor")
        except psycopg.errors.InsufficientPrivilege:
            check.that(True, "the group is lost: a cursor")
        try:
            assumed.execute("select 1")
            check.that(False, "the group that gave ASSUME is lost")
        except psycopg.Error as e:
            check.that("may not be assumed any more" in str(e) and e.sqlstate == "57P01", f"the group that gave ASSUME is lost: {e}")
        p.hook("user/alice", {"groups": ["analysts", "nohttp"]})
        time.sleep(0.6)
        p.hook("fault", {"path": "/me", "status": 503})
        time.sleep(0.6)
        try:
            c.execute("select 1")
            check.that(False, "the provider is away")
        except psycopg.Error as e:
            check.that(e.sqlstate == "08006" and "identity provider not reachable" in str(e), f"the provider is away: {e}")
        p.hook("fault", {})
        check.that(c.execute("select 1").fetchone() == (1,), "and back, on the same connection")
        p.hook("user/alice", {"groups": []})
        time.sleep(0.6)
        try:
            c.execute("select 1")
            check.that(False, "no end point any more")
        except psycopg.Error as e:
            check.that("Access denied for Alice Analyst [PGWIRE]" in str(e), f"no end point any more: {e}")
        p.hook("reset", {})
        # name and password that the provider checks
        with connect("alice", "alice-pw") as c:
            check.that(c.execute("select current_user()").fetchone() == ("Alice Analyst",), "name and password")
            time.sleep(0.6)
            check.that(c.execute("select 1").fetchone() == (1,), "asked again, by its token")
        check.that("invalid username/password" in refusal("alice", "wrong-pw"), "a wrong password")
        check.that("invalid username/password" in refusal("admin", "alice-pw"), "names of the house are asked here")
        check.that(s.rest.sql("select 1", ("alice", "alice-pw"))[0] == 200, "over HTTP, too")
        tokens = p.count("token")
        check.that(s.rest.sql("select current_user", ("alice", "alice-pw"))[0] == 200 and p.count("token") == tokens, "one question for the time it counts")
        check.that(s.rest.sql("select 1", ("alice", "wrong-pw"))[0] == 401, "a wrong password")
        s.rest.must("create user erin with password own")
        check.that(s.rest.sql("select 1", ("erin", "erin-pw"))[0] == 401, "a name that is here now is asked here alone")
    with House(p, prepare=False, **{"pg.auth.cleartext": "false", "acl.oidc.pg.token.as.password.enabled": "true"}) as s:
        host, port = s.pg.rsplit(":", 1)
        check.that("needs TLS" in refusal("_sso", alice), "no token in clear text")
    with House(p, prepare=False) as s:
        host, port = s.pg.rsplit(":", 1)
        check.that("invalid username/password" in refusal("_sso", alice), "not where it is off")


def libpq_with_tokens(token_of):
    """PQsetAuthDataHook of the libpq (18) that psycopg brings: token_of(discovery address, scope) is asked for each token. None: it is older."""
    import ctypes
    import psycopg
    found = [f for f in (pathlib.Path(psycopg.__file__).parent.parent / "psycopg_binary.libs").glob("libpq-*")]
    if not found or psycopg.pq.version() < 180000:
        return None

    class Request(ctypes.Structure):
        _fields_ = [("configuration", ctypes.c_char_p), ("scope", ctypes.c_char_p), ("begin", ctypes.c_void_p), ("cleanup", ctypes.c_void_p),
                    ("token", ctypes.c_char_p), ("user", ctypes.c_void_p)]

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Request))
    def hook(kind, _, request):
        if kind != 1:  # PQAUTHDATA_OAUTH_BEARER_TOKEN
            return 0
        hook.kept = token_of(request.contents.configuration.decode(), request.contents.scope.decode()).encode()
        request.contents.token = hook.kept
        return 1

    ctypes.CDLL(str(found[0])).PQsetAuthDataHook(hook)
    return hook


def oauthbearer(check, p):
    """SASL OAUTHBEARER, by libpq 18 and by hand."""
    import os
    import struct
    import psycopg
    from lib.pgclient import Wire, fields, msg, startup
    given, asked = [], []

    def token_of(*where):
        asked.append(where)
        return given[-1]

    def exchange(user, message, mechanism="OAUTHBEARER", answer=b"\1"):
        """(mechanisms, what a refused client is told, the error)."""
        w = Wire(s.pg, login=False)
        w.send(startup([("user", user), ("database", "qdb")]))
        kind, body = w.read()
        if kind == "E":
            return None, None, fields(body)
        offered, told = body[4:].rstrip(b"\0").split(b"\0"), None
        w.send(msg(b"p", mechanism.encode() + b"\0" + struct.pack("!i", len(message)) + message))
        kind, body = w.read()
        if kind == "R" and struct.unpack_from("!I", body)[0] == 11:
            told = json.loads(body[4:])
            w.send(msg(b"p", answer))
            kind, body = w.read()
        return offered, told, fields(body) if kind == "E" else None

    hook = libpq_with_tokens(token_of)
    check.that(hook is not None, "psycopg brings libpq 18")
    os.environ["PGOAUTHDEBUG"] = "UNSAFE"  # the provider of the tests has no TLS
    more = {"acl.oidc.pg.oauthbearer.enabled": "true", "acl.oidc.cache.ttl": 300}
    with House(p, **more) as s:
        host, port = s.pg.rsplit(":", 1)

        def connect(user, token, **how):
            given.append(token)
            return psycopg.connect(host=host, port=port, user=user, dbname="qdb", autocommit=True, oauth_issuer=p.url, oauth_client_id="almanac", **how)

        def refusal(user, token, **how):
            try:
                connect(user, token, **how).close()
            except psycopg.OperationalError as e:
                return str(e)
            return "connected"

        alice = s.token("alice")
        for user in ("_sso", "Alice Analyst", "alice"):
            with connect(user, alice, require_auth="oauth") as c:
                check.that(c.execute("select current_user()").fetchone() == ("Alice Analyst",), f"libpq as {user}")
        check.that(asked and set(asked) == {(p.url + "/.well-known/openid-configuration", "openid profile")}, f"it asks where to get a token: {asked}")
        check.that("the token is of another user" in refusal("bob", alice), "another name")
        check.that("asked to be another user" in json.dumps(s.rest.must("select * from sys.audit_log")), "which the audit log has")
        check.that("the token is not valid" in refusal("_sso", alice[:-1] + "x"), "another token")
        check.that("Access denied for Bob Bare [PGWIRE]" in refusal("_sso", s.token("bob")), "no groups")
        s.rest.must("create user local with password pw")
        s.rest.must("grant pgwire to local")
        check.that("connected" == refusal("local", alice, password="pw") and "connected" == refusal(ADMIN[0], alice, password=ADMIN[1]), "users of the house have passwords")
        c = connect("_sso", alice)
        p.hook("user/alice", {"disabled": True})
        time.sleep(0.4)
        is_over(check, c, "the connection ends with the account")
        p.hook("reset", {})
        good = s.token("alice")
        bearer = b"n,,\1auth=Bearer " + good.encode() + b"\1\1"
        check.that(exchange("_sso", bearer) == ([b"OAUTHBEARER"], None, None), "by hand")
        offered, told, error = exchange("_sso", b"n,,\1auth=\1\1")
        check.that(told == {"status": "invalid_token", "scope": "openid profile", "openid-configuration": p.url + "/.well-known/openid-configuration"}
                   and error["C"] == "28000" and error["M"] == "a bearer token is required", f"where a token is to be had: {told} {error}")
        offered, told, error = exchange("_sso", b"n,,\1auth=Bearer none\1\1", answer=b"anything")
        check.that(told["status"] == "invalid_token" and error["M"] == "the token is not valid", f"refused: {told} {error}")
        for what, message in (("an authorization identity", b"n,a=admin" + bearer[3:]), ("channel binding", b"p=tls-exporter,," + bearer[3:]), ("nothing", b""), ("no end", bearer[:-1]), ("Basic", bearer.replace(b"Bearer", b"Basic")),
                              ("two tokens", bearer[:-1] + bearer[4:])):
            offered, told, error = exchange("_sso", message)
            check.that(told is None and error["C"] == "08P01" and good not in error["M"], f"{what}: {told} {error}")
        offered, told, error = exchange("_sso", bearer, mechanism="SCRAM-SHA-256")
        check.that(error["C"] == "08P01", f"another mechanism: {error}")
        check.that(exchange("local", b"n,,n=,r=abcdefgh", mechanism="SCRAM-SHA-256")[0] in ([b"SCRAM-SHA-256"], [b""]), "the house asks by SCRAM, or in clear text where that is set")
        p.hook("fault", {"path": "/me", "status": 503})
        check.that("identity provider not reachable" in refusal("_sso", "another-one"), "the provider is away")
        p.hook("fault", {})
    with House(p, prepare=False, **more, **{"pg.auth.cleartext": "false"}) as s:
        host, port = s.pg.rsplit(":", 1)
        check.that(exchange("_sso", b"")[2]["M"] == "a token needs TLS, or pg.auth.cleartext=true", "no token in clear text")
    with House(p, prepare=False, **more, **{"acl.oidc.pg.token.as.password.enabled": "true"}) as s:
        host, port = s.pg.rsplit(":", 1)
        check.that(exchange("alice", bearer)[0] == [b"OAUTHBEARER"], "beside the password form, for names of users")
        try:
            Wire(s.pg, "_sso", good)
            check.that(False, "no permission without groups")
        except PermissionError as e:
            check.that("PGWIRE" in str(e), f"which _sso has: {e}")


class NoMatter(socketserver.BaseRequestHandler):
    """Who trusts its certificate would be heard."""
    let_in = False

    def handle(self):
        try:
            with self.server.context.wrap_socket(self.request, server_side=True) as c:
                NoMatter.let_in = bool(c.recv(1))
        except OSError:
            pass


def tls(check, p):
    import psycopg
    certs = Certs()
    try:
        certs.openssl("pkcs12", "-export", "-nokeys", "-in", "ca.pem", "-out", "ca.p12", "-passout", "pass:store-pw")
        context = ssl.create_default_context(cafile=certs.path("ca.pem"))
        with Provider("--tls-cert", certs.path("rsa.pem"), "--tls-key", certs.path("rsa.key"), scheme="https", context=context) as q:
            for what, more, good in (("unknown authority", {}, False), ("its authority", {"acl.oidc.tls.keystore.path": certs.path("ca.pem")}, True),
                                     ("as PKCS#12", {"acl.oidc.tls.keystore.path": certs.path("ca.p12"), "acl.oidc.tls.keystore.password": "store-pw"}, True),
                                     ("not checked", {"acl.oidc.tls.validation.enabled": "false"}, True)):
                more.update({"pg.tls.enabled": "true", "pg.tls.cert.path": certs.path("rsa.pem"), "pg.tls.private.key.path": certs.path("rsa.key"),
                             "pg.auth.cleartext": "false", "acl.oidc.pg.token.as.password.enabled": "true", "acl.oidc.ropc.flow.enabled": "true"})
                with House(q, prepare=good, **more) as s:
                    alice = s.token("alice")
                    check.that(s.status(alice) == (200 if good else 503), what)
                    if what != "its authority":
                        continue
                    host, port = s.pg.rsplit(":", 1)
                    for user, password in (("_sso", alice), ("alice", "alice-pw")):
                        with psycopg.connect(host=host, port=port, user=user, password=password, dbname="qdb", sslmode="require") as c:
                            check.that(c.execute("select current_user()").fetchone() == ("Alice Analyst",), f"{user} over TLS, without clear text")
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(certs.path("own.pem"), certs.path("own.key"))
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), NoMatter) as other:
            other.daemon_threads = True
            other.context = own
            threading.Thread(target=other.serve_forever, daemon=True).start()
            q.url = f"https://127.0.0.1:{other.server_address[1]}"
            with House(q, prepare=False, **{"acl.oidc.tls.keystore.path": certs.path("own.pem")}) as s:
                check.that(s.status("any") == 503 and not NoMatter.let_in, "a certificate for another host")
            other.shutdown()
    finally:
        shutil.rmtree(certs.home)


def single_end_points(check, p):
    more = {"acl.oidc.configuration.url": None, "acl.oidc.host": "127.0.0.1", "acl.oidc.port": p.port, "acl.oidc.tls.enabled": "false",
            "acl.oidc.authorization.endpoint": "/auth", "acl.oidc.token.endpoint": "/token", "acl.oidc.userinfo.endpoint": p.url + "/me",
            "acl.oidc.redirect.uri": "http://127.0.0.1:9000/", "acl.oidc.device.authorization.endpoint": "/device/auth", "acl.oidc.pkce.enabled": "false"}
    with House(p, **more) as s:
        check.that(s.status(s.token("alice")) == 200, "without discovery")
        facts = json.loads(s.rest.request("/settings")[1])["config"]
        check.that(facts["acl.oidc.authorization.endpoint"] == p.url + "/auth" and facts["acl.oidc.device.authorization.endpoint"] == p.url + "/device/auth"
                   and facts["acl.oidc.redirect.uri"] == "http://127.0.0.1:9000/" and facts["acl.oidc.pkce.required"] is False, f"end points: {facts}")


def bad_settings(check, p):
    for more, want in (({"acl.oidc.client.id": None}, "acl.oidc.client.id must be set"), ({"acl.oidc.configuration.url": None}, "acl.oidc.configuration.url or acl.oidc.host must be set"),
                       ({"acl.oidc.configuration.url": "ftp://x/"}, "acl.oidc.configuration.url is no address"), ({"acl.oidc.scope": "profile"}, "acl.oidc.scope must have openid"),
                       ({"acl.enabled": "false"}, "acl.enabled must not be false"), ({"acl.oidc.token.endpoint": "token"}, "acl.oidc.token.endpoint is neither"),
                       ({"acl.oidc.issuer": "main"}, "acl.oidc.issuer is no address"), ({"acl.oidc.redirect.uri": "/here"}, "acl.oidc.redirect.uri is no address"), ({"acl.oidc.host": "a/b"}, "acl.oidc.host is no host name"),
                       ({"acl.oidc.groups.claim": ""}, "acl.oidc.groups.claim must be set"), ({"acl.oidc.port": "0"}, "acl.oidc.port"), ({"acl.oidc.introspection.endpoint": "x"}, "acl.oidc.introspection.endpoint is neither"),
                       ({"acl.oidc.introspection.endpoint": "/x", "acl.oidc.groups.encoded.in.token": "true"}, "acl.oidc.introspection.endpoint is about access tokens"), ({"acl.oidc.introspection.client.secret": "x" * 1001}, "is too long"),
                       ({"acl.oidc.tls.keystore.path": "none.pem"}, "none.pem")):
        with tempfile.TemporaryDirectory() as root:
            try:
                s = Server(binary=House.program, root=root, env=settings(p, **more))
                s.start()
                s.stop()
                check.that(False, f"{more} is refused")
            except RuntimeError as e:
                check.that(want in str(e), f"{more}: {e}")


def guessing(check, p):
    with House(p, prepare=False, **{"acl.oidc.ropc.flow.enabled": "true"}) as s:
        for name in ("admin", "alice"):  # of the house, and of the provider
            took = []
            for _ in range(8):
                began = time.monotonic()
                check.that(s.rest.sql("select 1", (name, "wrong"))[0] == 401, "a wrong password")
                took.append(time.monotonic() - began)
            check.that(took[7] >= 0.2 and took[6] >= 0.1, f"{name}: answers wait: {took}")
        began = time.monotonic()
        check.that(s.rest.sql("select 1", ("bob", "wrong"))[0] == 401 and time.monotonic() - began < 1, "those of others do not")
        check.that(s.rest.sql("select 1", ADMIN)[0] == 200 and s.rest.sql("select 1", ("alice", "alice-pw"))[0] == 403, "nobody is locked out")


def house_names(check, p):
    """Passwords and REST tokens of the house never go to the provider, however the name is spelled; names of nobody here do."""
    with House(p, **{"acl.oidc.ropc.flow.enabled": "true", "acl.oidc.pg.token.as.password.enabled": "true"}) as s:
        for one in ("create user jane with password 'janes own'", "create user 'Özil' with password 'his own'", "create service account robot with password 'of it'", "grant http, pgwire to jane"):
            s.rest.must(one)
        token = s.rest.must("alter user jane create token type rest with ttl '1h'")["dataset"][0][1]

        def asked(name, word):
            before = p.count("token") + p.count("userinfo")
            got = s.rest.sql("select 1", (name, word))[0], pg_says(s, (name, word))
            return got, p.count("token") + p.count("userinfo") - before
        for name, word in (("Jane", "janes own"), ("JANE", "janes own"), ("jane ", "janes own"), (" Jane", "janes own"), ("\uff4aane", "janes own"), ("ja\u00adne", "janes own"), ("jane\u3000", "janes own"),
                           ("ADMIN", ADMIN[1]), ("Admin ", ADMIN[1]), ("\u00f6zil", "his own"), ("o\u0308zil", "his own"), ("Robot", "of it"), ("Analysts", "x"), ("analysts", "x"), ("j" * 256, "x")):
            got, calls = asked(name, word)
            check.that(calls == 0 and got[0] == 401 and got[1] is not None, f"{name!r}: {got}, {calls} questions")
        for name in ("nobody", "_sso", "", "Jane"):
            got, calls = asked(name, token)
            check.that(calls == 0 and got[0] == 401 and got[1] is not None, f"a REST token as password of {name!r}: {got}, {calls} questions")
        longest = "n" * 255
        s.rest.must(f"create user {longest} with password 'long one'")
        s.rest.must(f"grant pgwire to {longest}")
        check.that(pg_says(s, (longest, "long one")) is None and pg_says(s, (longest + "n", "long one")) is not None, "a name that begins as another is not that one")
        check.that(pg_says(s, ("\u202eadmin' failed", "x")) is not None, "hidden characters")
        text = s.log_path.read_text()
        check.that("login of '\\u202Eadmin\\' failed' failed" in text and "\u202e" not in text, "are escaped in the log")
        check.that(s.rest.sql("select 1", ("jane", "janes own"))[0] == 200 and s.rest.sql("select 1", token)[0] == 200, "with their own names they work")
        check.that(asked("janet", "x")[1] > 0 and asked("jan", "x")[1] > 0, "others are asked about")


COLUMNS = "event, result, user_name, identity, real_user, real_identity, interface, address, detail, repeats"


def trail(s, **wanted):
    rows = [dict(zip(COLUMNS.split(", "), row)) for row in s.rest.rows(f"select {COLUMNS} from sys.audit_log")]
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def logout_token(p, number=itertools.count(), **claims):
    return p.sign(**{"sub": "alice", "typ": "logout+jwt", "key": "good", **claims}, claims={"jti": f"trail {next(number)}", "events": {EVENT: {}}})


def refusals(check, p):
    """Each refused log-in is a row with its address, whether the provider was asked or not; what anybody may send displaces no other refusals."""
    more = {"acl.oidc.backchannel.logout.enabled": "true", "acl.oidc.pg.token.as.password.enabled": "true", "acl.oidc.ropc.flow.enabled": "true", "acl.oidc.cache.refused.ttl": 60000}
    with House(p, **more) as s:
        alice = s.token("alice")
        check.that(s.status(alice) == 200 and log_out(s, logout_token(p))[0] == 200, "alice logs out")
        for what, net, auth, said in (("a token that was logged out", 5, alice, "has logged out"), ("a made-up token", 6, "made-up", "token"), ("a guess", 7, ("alicia", "guess"), "token"), ("what is no token", 8, "=", "no token has this form")):
            sources = [f"127.0.{net}.{n}" for n in range(1, 6)]
            got = [ask(s, auth=auth, source=source)[0] for source in sources + sources]
            if isinstance(auth, str):
                sources.append(f"127.0.{net}.99")
                check.that(pg_says(s, ("_sso", auth), source=sources[-1]) is not None, f"{what} over PG")
            rows = [row for row in trail(s, event="login", result="refused") if row["address"] in sources]
            check.that(set(got) == {401} and {row["address"] for row in rows} == set(sources), f"{what}: a row for each address: {got} {rows}")
            check.that(sum(row["repeats"] for row in rows) == len(got) + len(sources) - 5 and all(said in row["detail"] for row in rows), f"{what}: each try is counted: {rows}")
            check.that({row["user_name"] for row in rows} == {"alicia" if isinstance(auth, tuple) else ""}, f"{what}: who he said he was")
    with House(p, **{**more, "acl.audit.rows.max": 20}) as s:
        s.rest.must("create user eve with password pw")
        s.rest.must("grant http to eve")
        check.that(s.rest.sql("select * from trades", ("eve", "pw"))[0] == 403 and s.rest.sql("select 1", ("eve", "wrong"))[0] == 401, "a refusal of each kind")
        for n in range(120):
            log_out(s, f"m{n}.e30.x", source=f"127.0.{10 + n // 2}.1")
        for n in range(30):
            ask(s, auth=f"made-up-{n}", source="127.0.4.1")
        check.that(len(trail(s, event="denied", user_name="eve")) == 1, "logout tokens and log-ins displace no denied permission")
        rows = trail(s, event="logout", result="refused")
        check.that(len(rows) == 20 and {row["repeats"] for row in rows} == {2} and "m1" not in str(rows), f"a row for an address: {rows}")
        log_out(s, logout_token(p, key="stranger"), source="127.0.4.2")
        check.that(len(trail(s, event="login", result="refused")) == 20 and trail(s, event="logout")[-1]["address"] == "127.0.4.2", "lists of their own")
        took = [timed(log_out, s, f"m{n}.e30.x", source="127.0.4.3")[1] for n in range(11)]
        check.that(max(took[:5]) < 1 and took[10] >= 0.7, f"who sends many of them waits: {took}")
        got, seconds = timed(log_out, s, logout_token(p), source="127.0.4.4")
        check.that(got[0] == 200 and seconds < 1.5, f"the provider does not: {got} {seconds}")


def ended_sessions(check, p):
    """Who ends a session, his own or another's, by whichever way: by identity, with the address, and the person behind an account."""
    import psycopg
    with House(p, **{"acl.oidc.backchannel.logout.enabled": "true", "acl.oidc.pg.token.as.password.enabled": "true", "acl.oidc.cache.ttl": 600000}) as s:
        for one in ("create group ops with external alias ops", "grant http, pgwire, sql engine admin to ops", "create service account robot", "grant http, pgwire, sql engine admin to robot",
                    "grant assume service account robot to ops"):
            s.rest.must(one)
        host, port = s.pg.rsplit(":", 1)

        def connect(token):
            return psycopg.connect(host=host, port=port, user="_sso", password=token, dbname="qdb", autocommit=True)
        alice = s.token("alice")
        cookie = {"Cookie": s.rest.request("/exec?query=select+1&session=true", auth=alice)[2]["Set-Cookie"].split(";")[0]}
        victims = [connect(alice) for _ in range(3)]
        p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "evil", "name": "admin", "groups": ["ops"]}})
        evil = connect("evil")
        check.that(s.status("evil") == 200, "one who is called like the administrator")
        p.hook("fault", {})
        ids = {row[0] for row in s.rest.rows("show sessions") if row[1] == "Alice Analyst"}
        number = next(one for one in ids if one.startswith("http"))
        pids = sorted((one for one in ids if one.startswith("pg")), key=lambda one: int(one[3:]))
        check.that(ask(s, f"drop session '{number}'", auth="evil", source="127.0.4.5")[0] == 200 and s.rest.request("/exec?query=select+1", headers=cookie)[0] == 401, "a cookie is ended")
        row = trail(s, event="acl", detail=f"DROP SESSION {number} of Alice Analyst")
        check.that(len(row) == 1 and (row[0]["user_name"], row[0]["identity"], row[0]["interface"], row[0]["address"]) == ("admin", "sub:evil", "http", "127.0.4.5"), f"who did it: {trail(s, event='acl')[-2:]}")
        evil.execute("assume service account robot")
        for text, detail in ((f"drop session '{pids[0]}'", f"DROP SESSION {pids[0]} of Alice Analyst"), (f"select pg_terminate_backend({pids[1][3:]})", f"pg_terminate_backend({pids[1][3:]}) of Alice Analyst")):
            evil.execute(text)
            row = trail(s, event="acl", detail=detail)
            check.that(len(row) == 1 and {k: row[0][k] for k in ("result", "user_name", "real_user", "real_identity", "interface", "address")}
                       == {"result": "ok", "user_name": "robot", "real_user": "admin", "real_identity": "sub:evil", "interface": "pg", "address": "127.0.0.1"}, f"{text}: the person behind the account: {row}")
        evil.execute("select pg_terminate_backend(x) from long_sequence(500) where x > 100000")
        check.that(s.status(alice, f"drop session '{evil.info.backend_pid}'") == 403 and s.status(alice, "drop session 'http-99999'") == 403, "not by who may not")
        row = trail(s, event="acl", result="refused", user_name="Alice Analyst")
        check.that(row and row[-1]["identity"] == "sub:alice" and row[-1]["address"] == "127.0.0.1" and "of" not in row[-1]["detail"], f"a try: {row}")
        # log-outs
        s.rest.request("/exec?query=select+1&session=false", headers={"Cookie": s.rest.request("/exec?query=select+1&session=true", auth=alice)[2]["Set-Cookie"].split(";")[0]})
        row = trail(s, event="logout", detail="cookie")
        check.that(len(row) == 1 and (row[0]["user_name"], row[0]["identity"], row[0]["interface"], row[0]["address"]) == ("Alice Analyst", "sub:alice", "http", "127.0.0.1"), f"log-out of a cookie: {row}")
        s.rest.request("/exec?query=select+1&session=false", auth=alice)
        check.that(len(trail(s, event="logout")) == 1, "without a cookie nothing ends")
        check.that(log_out(s, logout_token(p), source="127.0.4.6")[0] == 200, "log-out at the provider")
        row = trail(s, event="logout", identity="sub:alice", address="127.0.4.6")
        check.that(len(row) == 1 and row[0]["result"] == "ok" and row[0]["detail"].startswith("identity provider"), f"log-out at the provider: {trail(s, event='logout')}")
        for one in ("flush_user_info_cache()", "reload_config()"):
            s.rest.must(f"select {one}")
            check.that([row["identity"] for row in trail(s, event="acl", detail=one)] == ["admin:admin"], one)
        for c in (*victims, evil):
            c.close()


def bearer_says(s, user, token):
    """A log-in by OAUTHBEARER: what the server says at its end, Z or E."""
    from lib.pgclient import Wire, msg, startup
    w = Wire(s.pg, login=False)
    try:
        w.send(startup([("user", user), ("database", "qdb")]))
        w.read()
        first = b"n,,\1auth=Bearer " + token.encode() + b"\1\1"
        w.send(msg(b"p", b"OAUTHBEARER\0" + len(first).to_bytes(4, "big") + first))
        kind = ""
        while kind not in ("Z", "E"):
            kind, body = w.read()
            if kind == "R" and body[:4] == b"\0\0\0\x0b":
                w.send(msg(b"p", b"\1"))
        return kind
    finally:
        w.s.close()


def floods(check, p):
    """Made-up tokens and guesses of one address become so many questions a second, and nobody is turned away because of them: not who is known,
    not who is new at another address, nor who is new at the same one."""
    rate = 40
    more = {"acl.oidc.address.calls.max": str(rate), "acl.oidc.ropc.flow.enabled": "true", "acl.oidc.pg.token.as.password.enabled": "true", "acl.oidc.pg.oauthbearer.enabled": "true",
            "pg.auth.cleartext": "true", "acl.oidc.cache.ttl": "300"}
    with House(p, **more) as s:
        known = s.token("alice")
        check.that(s.status(known) == 200, "before")
        number = itertools.count()

        def sso(_):
            pg_says(s, ("_sso", f"made-up-{next(number)}"))

        def made_up(_):
            ask(s, auth=f"made-up-{next(number)}")

        def guess(_):
            ask(s, auth=(f"nobody{next(number)}", "wrong"))
        for what, one, counter in (("made-up tokens", made_up, "userinfo"), ("_sso over PG", sso, "userinfo"), ("guesses with changing names", guess, "token")):
            fresh = [s.token("alice"), s.token("alice")]
            before, began = p.count(counter), time.monotonic()
            with Attack(12, one) as attack:
                took = []
                for token, source, most in ((known, SAME, 0.7), (fresh[0], THERE, 1), (fresh[1], SAME, 2.5)):
                    got, seconds = timed(ask, s, auth=token, source=source)
                    took.append((got[0], round(seconds, 2), seconds < most))
                time.sleep(0.4)  # an answer of before is stale: who is known is asked about again, without waiting
                got, seconds = timed(ask, s, auth=known)
                took.append((got[0], round(seconds, 2), seconds < 0.7))
            calls, seconds = p.count(counter) - before, time.monotonic() - began
            check.that(all(status == 200 and soon for status, _, soon in took), f"{what}: others are let in: {took}")
            check.that(calls <= rate * (seconds + 1) + 12, f"{what}: {calls} questions in {seconds:.1f} s, {attack.calls} log-ins")
            check.that(attack.calls >= 10, f"{what}: an attack of {attack.calls}")
            time.sleep(0.5)
        with Attack(80, made_up):
            time.sleep(1)
            got, seconds = timed(bearer_says, s, "Alice Analyst", known)
            check.that(got == "Z" and seconds < 1.3, f"nor does it by OAUTHBEARER: {got} {seconds}")


PARTS = [user_info_moves, who_comes_in, how_often, bad_tokens, changes, faults, stopping, names, local_names, statements, introspection, access_tokens, logout, pg, oauthbearer, single_end_points, guessing, house_names, refusals, ended_sessions, floods]
ALONE = [id_tokens, tls, provider_down, bad_settings]  # with providers of their own, or none: beside the others


def logs(check):
    text = "\n".join(LOGS)
    check.that("Sanitizer" not in text and "Assert" not in text, "no findings in the logs")
    check.that("sub:alice" in text and "event=login result=refused" in text, "log-ins are in the logs")


def main():
    o, done = arguments(), []
    House.program = o.binary
    why = provider.available()
    if why:
        print(f"skipped: oidc: the provider of test/idp cannot run: {why}")
        print("0 passed, 0 failed")
        return
    with Provider() as p, concurrent.futures.ThreadPoolExecutor(1) as beside:
        alone = beside.submit(lambda: [run_part(part, o.pattern, done, p) for part in ALONE])
        for part in PARTS:
            run_part(part, o.pattern, done, p, before=lambda: p.hook("reset", {}))
        alone.result()
    if not o.pattern:
        run_part(logs, "", done)
    close(done)


if __name__ == "__main__":
    main()
