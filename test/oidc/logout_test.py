#!/usr/bin/env python3
"""Back-channel log-outs: what began before one is over, whether the answer about it is kept just then or not, and nothing else is. Beside it, what a
provider that changes its keys finds after somebody sent the names of keys that are made up.

    logout_test.py [--binary FILE] [--nightly] [PATTERN]      PATTERN: of the names of the parts below
"""
import base64, itertools, socket, time

import oidc_test
from lib import provider
from lib.acl_checks import arguments, close, run_part
from lib.pgclient import Closed, Wire, fields, query
from lib.provider import Provider
from oidc_test import EVENT, House, log_out

ON = {"acl.oidc.backchannel.logout.enabled": "true", "acl.oidc.pg.token.as.password.enabled": "true"}
NUMBERS = itertools.count()
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def logout_token(p, sub="alice", typ="logout+jwt", **claims):
    return p.sign(sub=sub, typ=typ, claims={"jti": f"log-out {next(NUMBERS)}", "events": {EVENT: {}}, **claims})


def logs_out(s, p, **claims):
    status, body, _ = log_out(s, logout_token(p, **claims))
    if status != 200:
        raise AssertionError(f"log-out: {status} {body}")


def statement(w):
    """None, or the message of the error; "over": that the login is over, which may have ended the connection already."""
    kind, error = None, None
    try:
        w.send(query("select 1"))
        while kind != "Z" and (error is None or error["S"] != "FATAL"):
            kind, body = w.read()
            error = fields(body) if kind == "E" else error
    except (Closed, OSError):
        return "over"
    ends = error and ("not valid any more" in error["M"] or "has ended" in error["M"])
    return "over" if ends else error and error["M"]


class Three:
    """A token, a cookie that began with another, a connection that began with a third: none is asked about by its own right."""

    def __init__(self, s):
        self.s, self.token = s, s.token("alice")
        _, _, headers = s.rest.request("/exec?query=select+1&session=true", auth=s.token("alice"))
        self.cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        self.pg = Wire(s.pg, "_sso", s.token("alice"))

    def states(self):
        return [self.s.status(self.token), self.s.rest.request("/exec?query=select+1", headers=self.cookie)[0], statement(self.pg)]


IN = [200, 200, None]
OUT = [401, 401, "over"]


def whatever_is_kept(check, p):
    """The answer about a token may be gone when its user logs out: forgotten, or the provider did not answer lately, or another log-out put it in doubt."""
    with House(p, **ON, **{"acl.oidc.cache.ttl": 300, "acl.oidc.cache.refused.ttl": 50}) as s:
        def nothing(three):
            pass

        def emptied(three):
            s.rest.must("select flush_user_info_cache()")

        def failed(three):
            time.sleep(0.4)
            p.hook("fault", {"path": "/me", "status": 503})
            check.that(three.states()[:2] == [503, 503], "the provider is away")
            p.hook("fault", {})
            time.sleep(0.1)

        def refused_once(three):
            time.sleep(0.4)
            p.hook("fault", {"path": "/me", "status": 403})
            check.that(s.status(three.token) == 401, "refused once")
            p.hook("fault", {})
            time.sleep(0.1)

        def another(three):
            logs_out(s, p, sub=None, sid="of somebody else")

        for before in (nothing, emptied, failed, refused_once, another):
            three = Three(s)
            check.that(three.states() == IN, f"{before.__name__}: before")
            before(three)
            logs_out(s, p)
            got = three.states()
            check.that(got == OUT, f"{before.__name__}: {got}")
            check.that(Three(s).states() == IN, f"{before.__name__}: who logs in again is in")


def passwords(check, p):
    """A user who logs out may log in by password again; what his password had begun before is over."""
    with House(p, **ON, **{"acl.oidc.ropc.flow.enabled": "true", "acl.oidc.cache.ttl": 300, "acl.oidc.cache.refused.ttl": 200}) as s:
        alice = ("alice", "alice-pw")
        for emptied in (False, True):
            c = Wire(s.pg, *alice)
            check.that(s.rest.sql("select 1", alice)[0] == 200 and statement(c) is None, "before")
            if emptied:
                s.rest.must("select flush_user_info_cache()")
            logs_out(s, p)
            check.that([s.rest.sql("select 1", alice)[0] for _ in range(3)] == [200] * 3, "the password is good")
            check.that(s.rest.sql("select 1", alice, session="true")[0] == 200, "for a cookie, too")
            check.that(statement(Wire(s.pg, *alice)) is None, "and for a connection")
            over = statement(c)
            check.that(over == "over", f"that of before: {over}")
        check.that(s.rest.sql("select 1", ("alice", "wrong"))[0] == 401, "no other password is")


def spellings(check, p):
    """Many read base64 whose last letter has bits too many: the text is another one, and the token is the same."""
    def others(token):
        head, body, tail = token.split(".")
        last = LETTERS.index(tail[-1])
        return ({f"{head}.{body}.{tail[:-1]}{LETTERS[last & 48 | k]}" for k in range(16)} | {token + "=", token + "==", f"{head}.{body}.{tail}~"}) - {token}

    claims = {"client_id": "almanac", "iat": int(time.time()) - 10}
    with House(p, **ON, **{"acl.oidc.cache.ttl": 300}) as s:
        p.hook("fault", {"path": "/me", "status": 200, "body": {"sub": "alice", "groups": ["analysts"]}})  # takes all
        token = p.sign(claims=claims)
        got = {t[-8:]: s.status(t) for t in others(token)}
        check.that(set(got.values()) == {401}, f"before the log-out: {token[-8:]} {got}")
        check.that(s.status(token) == 200, "as it was written")
        unseen, new = p.sign(claims={**claims, "n": 3}), p.sign(claims={**claims, "iat": int(time.time()) + 5})
        logs_out(s, p)
        check.that({s.status(t) for t in others(token)} == {401}, "after it")
        check.that(s.status(unseen) == 401 and s.status(new) == 200, "a token says when it was issued, though it comes later")
        for opaque in ("a.b.c", "ya29.x", "eyJ.x.y", "e30x.%", "AAAA.BBBBB.C="):
            check.that(s.status(opaque) == (401 if "%" in opaque else 200), f"what is no JWT may be written in any way: {opaque}")
        form, tail = base64.urlsafe_b64encode(b'{"alg":"ES256"}').rstrip(b"=").decode() + ".e30.", "A" * 85
        check.that(s.status(form + "A" + tail) == 200, "a token that does not say when it was issued")
        logs_out(s, p)
        check.that([s.status(form + c + tail) for c in "AB"] == [401, 401], "with another signature it is the same")
        p.hook("fault", {})


def introspected(check, p):
    """Of an opaque token the provider says when it was issued, where it is asked by introspection."""
    more = {"acl.oidc.introspection.endpoint": p.url + "/token/introspection", "acl.oidc.introspection.client.id": "almanac-server",
            "acl.oidc.introspection.client.secret": "introspection: %20&secret"}
    with House(p, **ON, **more) as s:
        seen, unseen = s.token("alice"), s.token("alice")
        check.that(s.status(seen) == 200, "before")
        logs_out(s, p)
        check.that(s.status(seen) == 401 and s.status(unseen) == 401, "sent before the log-out, or after it for the first time")
        time.sleep(1.1)
        check.that(s.status(s.token("alice")) == 200, "who logs in again is in")


def late(check, p):
    """A log-out that comes late does not end log-ins that came after it."""
    with House(p, **ON, **{"acl.oidc.groups.encoded.in.token": "true"}) as s:
        groups = {"groups": ["analysts"]}
        now = int(time.time())
        old, new = (p.sign(claims={**groups, "iat": now - ago}) for ago in (120, 0))
        check.that(s.status(old) == 200 and s.status(new) == 200, "before")
        logs_out(s, p, iat=now - 60)
        check.that(s.status(old) == 401, "issued before")
        check.that(s.status(new) == 200 and s.status(p.sign(claims={**groups, "n": 1})) == 200, "issued after, seen before or not")


def many(check, p):
    """Log-outs of others displace none, and a logout token counts once, however many come after it."""
    with House(p, **ON, **{"acl.oidc.groups.encoded.in.token": "true", "log.level": "error"}) as s:
        groups = {"groups": ["analysts"], "iat": int(time.time()) - 5}
        first, unseen = logout_token(p), p.sign(claims=groups)
        check.that(log_out(s, first)[0] == 200, "alice logs out")
        bad = 0
        for i in range(1010):
            bad += log_out(s, logout_token(p, sub=f"u{i % 3}", sid=f"s{i}"))[0] != 200
        check.that(bad == 0, f"others do, often: {bad}")
        time.sleep(1.1)
        again = p.sign(claims={"groups": ["analysts"]})
        check.that(s.status(unseen) == 401, "her token of before is over")
        check.that(s.status(again) == 200 and log_out(s, first)[0] == 400 and s.status(again) == 200, "and that of now is not")


def flood(check, p):
    """Made-up tokens, about which a slow provider is asked, turn no logout token away."""
    with House(p, **ON, **{"acl.oidc.address.calls.max": "1000", "http.net.connection.limit": "2000", "log.level": "error"}) as s:
        three = Three(s)
        check.that(three.states() == IN, "before")
        host, port = s.http.rsplit(":", 1)
        p.hook("fault", {"path": "/me", "delay": 5000})
        clients = []
        for i in range(1000):
            c = socket.create_connection((host, int(port)), 10, source_address=(f"127.0.0.{2 + i % 4}", 0))
            c.sendall(f"GET /exec?query=select+1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer made-up-{i}\r\n\r\n".encode())
            clients.append(c)
        time.sleep(1)
        status, body, _ = log_out(s, logout_token(p))
        check.that(status == 200, f"a log-out: {status} {body}")
        got = three.states()
        check.that(got == OUT, f"counts: {got}")
        [c.close() for c in clients]
        p.hook("fault", {})


def unknown_keys(check, q):
    """Whoever sends names of keys that are made up does not keep the server from the provider's new ones: until it has looked, it says that it does not know."""
    with House(q, **{"acl.oidc.groups.encoded.in.token": "true", "log.level": "error"}) as s:
        check.that(s.status(q.sign()) == 200, "by the old key")
        fetched, seen = q.count("jwks"), set()
        for i in range(40):
            seen.add(s.status(q.sign(kid=f"made-up-{i}", key="stranger")))
        check.that(seen == {401, 503} and 1 <= q.count("jwks") - fetched <= 8, f"made-up names: {seen}, {q.count('jwks') - fetched} fetches")
        q.hook("rotate-key", {"drop_old": True})
        got, began = [], time.monotonic()
        while 200 not in got and time.monotonic() - began < 20:
            got.append(s.status(q.sign(claims={"n": len(got)})))
            s.status(q.sign(kid=f"made-up-again-{len(got)}", key="stranger"))
            time.sleep(0.2)
        check.that(401 not in got and got[-1] == 200 and time.monotonic() - began < 12, f"a right token meanwhile: {got}")
        time.sleep(6)
        fetched = q.count("jwks")
        seen = {s.status(q.sign(kid="one name", key="stranger", claims={"n": i})) for i in range(20)}
        check.that(seen == {401} and q.count("jwks") == fetched + 1, f"a name is looked for once: {seen}, {q.count('jwks') - fetched} fetches")


def keys(check, p):
    with Provider("--groups-in-token") as q:
        unknown_keys(check, q)


PARTS = [whatever_is_kept, passwords, spellings, introspected, late, many, flood, keys]


def main():
    o, done = arguments(), []
    House.program = o.binary
    why = provider.available()
    if why:
        print(f"skipped: oidc-logout: the provider of test/idp cannot run: {why}")
        print("0 passed, 0 failed")
        return
    with Provider() as p:
        for part in PARTS:
            run_part(part, o.pattern, done, p, before=lambda: p.hook("reset", {}))
    if not o.pattern:
        run_part(oidc_test.logs, "", done)
    close(done)


if __name__ == "__main__":
    main()
