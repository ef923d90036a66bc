#!/usr/bin/env python3
"""What is taken away is gone at once, from everything that began before: each way of taking x each kind of session.

Method: for each row a user gets one session of each kind, and all of them work. Then the change is made, and each session is used once more. It has
ENDED (its login counts no more), is REFUSED (it goes on, but not for this), or WORKS, as the row says for each of them: a cell that no row names is
a failure. What another login could do meanwhile (a new user of the name has all the grants of the old one) must not matter.

    revocation_test.py [--binary FILE] [PATTERN]      PATTERN: of the names of the parts below
"""
import base64, concurrent.futures, json, pathlib, socket, struct, tempfile, time, urllib.parse

import oidc_test
from lib import log_search
from lib import provider
from lib.acl_checks import ADMIN, ENV, Lines, Rest, arguments, close, run_part
from lib.pgclient import SYNC, Closed, Wire, bind, execute, fields, parse, query
from lib.preload import Clock
from lib.server import Server

ENDED, REFUSED, WORKS = "ended", "refused", "works"
PW, NEW = "pw-of-before", "pw-of-after"


# -------------------------------------------------------------------------------------------------------- sessions
def http(status, text):
    """401: no login; 404: a held result that is nobody's any more."""
    return {200: WORKS, 204: WORKS, 401: ENDED, 403: REFUSED, 404: ENDED}.get(status, f"{status} {text}")


def pg(w, *messages):
    """What the last of the messages met: FATAL and a closed connection, an error of permissions, or rows."""
    try:
        w.send(*messages)
        errors = [fields(b) for k, b in w.until_ready() if k == "E"]
    except (Closed, ConnectionError):
        return ENDED
    if not errors:
        return WORKS
    return REFUSED if errors[0]["C"] == "42501" else str(errors[0])


def told(w):
    """The same, where the server may have said FATAL while nothing was asked."""
    w.s.settimeout(5)
    try:
        while True:
            w.read()
    except (Closed, ConnectionError):
        return ENDED


class House(Server):
    """One table that is read, one that lines go into; somebody who reads the views of others."""

    def __enter__(self):
        super().__enter__()
        self.rest, self.number = Rest(self), 0
        for one in ("create table t (ts timestamp, x long) timestamp(ts) partition by day wal", "insert into t select (x * 1000000)::timestamp, x from long_sequence(50)",
                    "create table fed (v double, ts timestamp) timestamp(ts) partition by day wal", f"create user reader with password '{PW}'", "grant http to reader"):
            self.rest.must(one)
        return self


class User:
    """One user and his sessions. by: "user" or "group", who has SELECT; assumes: who may assume the service account."""

    def __init__(self, s, by="user", assumes="user", ttl="1h"):
        s.number += 1
        self.s, self.rest, n = s, s.rest, s.number
        self.name, self.group, self.account, self.view, self.mat = f"u{n}", f"g{n}", f"sa{n}", f"v{n}", f"m{n}"
        self.now = (self.name, PW)  # a login that counts, for what is asked for him and not by a session of before
        must = self.rest.must
        for one in (f"create group {self.group}", f"create service account {self.account}", f"create user {self.name} with password '{PW}'", f"add user {self.name} to {self.group}"):
            must(one)
        self.grants = [f"grant http, pgwire, ilp, create view, create materialized view to {self.name}", f"grant insert on fed to {self.name}", f"grant select on t to {dict(user=self.name, group=self.group)[by]}",
                       f"grant assume service account {self.account} to {dict(user=self.name, group=self.group)[assumes]}", f"grant pgwire to {self.account}", f"grant select on t to {self.account}"]
        for one in self.grants:
            must(one)
        self.token = must(f"alter user {self.name} create token type rest with ttl '{ttl}'")["dataset"][0][1]
        self.key()
        for one in (f"create view {self.view} as (select * from t)", f"create materialized view {self.mat} refresh manual as (select ts, sum(x) x from t sample by 1d) partition by day"):
            must(one, self.now)
        must(f"grant select on {self.view}, {self.mat} to reader")
        must(f"refresh materialized view {self.mat} full")
        self.open()

    def key(self):
        self.private = self.rest.rows(f"alter user {self.name} create token type jwk")[0][3]
        log_search.note(self.private)

    def wire(self, password=PW, *texts):
        w = Wire(self.s.pg, user=self.name, password=password)
        for one in texts:
            if pg(w, query(one)) != WORKS:
                raise AssertionError(f"{self.name}: {one}")
        return w

    def cookie(self, auth):
        return self.rest.request("/exec?query=select+1&session=true", auth=auth)[2]["Set-Cookie"].split(";")[0]

    def hold(self, auth):
        return json.loads(self.rest.request("/exec?query=select+*+from+t&limit=0,5&snapshot=new", auth=auth)[1])["snapshot"]

    def open(self):
        declare = "declare c cursor with hold for select x from t"
        self.cookies = {"password": self.cookie((self.name, PW)), "token": self.cookie(self.token)}
        self.held = {"password": self.hold((self.name, PW)), "token": self.hold(self.token)}
        self.wires = {"pg": self.wire(), "pg by token": self.wire(self.token), "block": self.wire(PW, "begin", "select count() from t"), "idle": self.wire(PW, "begin"),
                      "cursor": self.wire(PW, "begin", "declare c cursor for select x from t", "fetch 1 from c"), "cursor with hold": self.wire(PW, declare, "fetch 1 from c"),
                      "prepared by SQL": self.wire(PW, "prepare p as select count() from t"), "assumed": self.wire(PW, f"assume service account {self.account}", "select count() from t"),
                      "assumed cursor": self.wire(PW, f"assume service account {self.account}", declare, "fetch 1 from c", "exit service account", "fetch 1 from c")}
        w = self.wires["prepared"] = self.wire()
        self.must_work("prepared", pg(w, parse("p", "select count() from t where x > $1", [20]), bind("", "p", [b"0"]), execute(), SYNC))
        w = self.wires["portal"] = self.wire(PW, "begin")
        self.must_work("portal", pg(w, parse("", "select x from t"), bind("q"), execute("q", 3), SYNC))
        self.lines = Lines(self.s, self.name)
        self.lines.c.sendall(self.lines.signed(self.private))
        for kind in KINDS:
            self.must_work(kind, self.use(kind))

    @staticmethod
    def must_work(kind, got):
        if got != WORKS:
            raise AssertionError(f"before the change: {kind}: {got}")

    def query(self, auth=None, cookie=None, text="select count() from t"):
        headers = {"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"} if cookie else None
        status, body, _ = self.rest.request("/exec?query=" + text.replace(" ", "+"), auth=auth, headers=headers)
        return http(status, body)

    def line(self):
        """One row by the connection: it is there soon, or the connection is closed."""
        before, end = self.rest.rows("select count() from fed")[0][0], time.monotonic() + 10
        try:
            self.lines.c.sendall(f"fed v=1 {self.s.number}{time.monotonic_ns()}\n".encode())
            self.lines.c.settimeout(0.02)
            text = b""
            while time.monotonic() < end:
                try:
                    part = self.lines.c.recv(1000)
                    if not part:
                        return REFUSED if b"Access denied" in text else ENDED
                    text += part
                except TimeoutError:
                    if self.rest.rows("select count() from fed")[0][0] > before:
                        return WORKS
        except ConnectionError:
            return REFUSED if b"Access denied" in text else ENDED
        return "the line was lost"

    def use(self, kind):
        count, fetch = query("select count() from t"), query("fetch 1 from c")
        w = self.wires.get(kind)
        if kind in ("pg", "pg by token", "block", "assumed"):
            return pg(w, count)
        if kind == "idle":  # of a block that has done nothing yet
            return pg(w, count)
        if kind in ("cursor", "cursor with hold", "assumed cursor"):
            return pg(w, fetch)
        if kind == "prepared":
            return pg(w, bind("", "p", [b"0"]), execute(), SYNC)
        if kind == "prepared by SQL":
            return pg(w, query("execute p"))
        if kind == "portal":
            return pg(w, execute("q", 3), SYNC)
        if kind == "lines":
            return self.line()
        if kind == "basic":
            return self.query((self.name, PW))
        if kind == "token":
            return self.query(self.token)
        if kind.startswith("cookie"):
            return self.query(cookie=self.cookies[kind.split()[-1]])
        if kind.startswith("held"):
            status, body, _ = self.rest.request(f"/snapshot/{self.held[kind.split()[-1]]}?limit=5,10", auth=self.now)
            return http(status, body) if status != 403 or "ended" not in body else ENDED
        if kind == "view":
            return self.query(("reader", PW), text=f"select count() from {self.view}")
        assert kind == "materialized view"
        before = self.rest.rows(f"select sum(x) from {self.mat}")
        self.rest.must(f"insert into t values ({time.monotonic_ns() // 1000}, 1)")
        status, body = self.rest.sql(f"refresh materialized view {self.mat} full")
        filled = self.rest.rows(f"select sum(x) from {self.mat}") != before
        return WORKS if status == 200 and filled else http(status, body) if not filled else f"filled by {status} {body}"


BY_PASSWORD = ["cookie by password", "pg", "block", "idle", "cursor", "cursor with hold", "prepared", "prepared by SQL", "portal", "assumed", "assumed cursor", "held by password"]
BY_TOKEN = ["token", "cookie by token", "pg by token", "held by token"]
BY_HTTP = ["basic", "token", "cookie by password", "cookie by token", "held by password", "held by token"]
AS_ACCOUNT = ["assumed"]
BY_PG = ["pg", "pg by token", "block", "idle", "cursor", "cursor with hold", "prepared", "prepared by SQL", "portal", "assumed", "assumed cursor"]
AS_DEFINER = ["view", "materialized view"]
KINDS = BY_PASSWORD + BY_TOKEN + ["basic", "lines"] + AS_DEFINER
READS = [k for k in BY_HTTP + BY_PG if k != "assumed"] + AS_DEFINER  # a cursor is as good as who fetches is now

# Name; what the user is like; statements of the administrator ({u} user, {g} group, {s} service account); kinds that end; kinds that are refused. The
# others go on. "now": the login of his that counts afterwards.
ROWS = [
    ("drop user, create user", {}, ["drop user {u}", f"create user {{u}} with password '{NEW}'", "GRANTS"], [k for k in KINDS if k not in AS_DEFINER], AS_DEFINER, NEW),
    ("drop user, create user with the same password", {}, ["drop user {u}", f"create user {{u}} with password '{PW}'", "GRANTS"], [k for k in KINDS if k not in [*AS_DEFINER, "basic"]], AS_DEFINER, PW),
    ("drop user", {}, ["drop user {u}"], [k for k in KINDS if k not in AS_DEFINER], AS_DEFINER, PW),
    ("another password", {}, [f"alter user {{u}} with password '{NEW}'"], [*BY_PASSWORD, "basic"], [], NEW),
    ("the same password again", {}, [f"alter user {{u}} with password '{PW}'"], BY_PASSWORD, [], PW),
    ("no password", {}, ["alter user {u} with no password"], [*BY_PASSWORD, "basic"], [], "TOKEN"),
    ("disable", {}, ["alter user {u} disable"], [k for k in KINDS if k not in AS_DEFINER], AS_DEFINER, PW),
    ("disable, enable", {}, ["alter user {u} disable", "alter user {u} enable"], [k for k in KINDS if k not in [*AS_DEFINER, "basic", "token"]], [], PW),
    ("drop token", {}, ["alter user {u} drop token type rest"], BY_TOKEN, [], PW),
    ("the token ends", {"ttl": "1m"}, ["CLOCK"], BY_TOKEN, [], PW),
    ("drop key", {}, ["alter user {u} drop token type jwk"], ["lines"], [], PW),
    ("another key", {}, ["alter user {u} create token type jwk"], ["lines"], [], PW),
    ("revoke select", {}, ["revoke select on t from {u}"], [], READS, PW),
    ("revoke select from the group", {"by": "group"}, ["revoke select on t from {g}"], [], READS, PW),
    ("remove user from the group", {"by": "group"}, ["remove user {u} from {g}"], [], READS, PW),
    ("drop group", {"by": "group"}, ["drop group {g}"], [], READS, PW),
    ("revoke http", {}, ["revoke http from {u}"], [], BY_HTTP, PW),
    ("revoke pgwire", {}, ["revoke pgwire from {u}"], [], BY_PG, PW),
    ("revoke ilp", {}, ["revoke ilp from {u}"], [], ["lines"], PW),
    ("revoke insert", {}, ["revoke insert on fed from {u}"], [], ["lines"], PW),
    ("revoke select from the account", {}, ["revoke select on t from {s}"], [], AS_ACCOUNT, PW),
    ("revoke assume", {}, ["revoke assume service account {s} from {u}"], AS_ACCOUNT, [], PW),
    ("remove user from the group that assumes", {"assumes": "group"}, ["remove user {u} from {g}"], AS_ACCOUNT, [], PW),
    ("drop group that assumes", {"assumes": "group"}, ["drop group {g}"], AS_ACCOUNT, [], PW),
    ("drop service account", {}, ["drop service account {s}"], AS_ACCOUNT, [], PW),
    ("drop service account, create service account", {}, ["drop service account {s}", "create service account {s}", "GRANTS"], AS_ACCOUNT, [], PW),
    ("disable service account", {}, ["alter service account {s} disable"], AS_ACCOUNT, [], PW),
    ("disable service account, enable", {}, ["alter service account {s} disable", "alter service account {s} enable"], AS_ACCOUNT, [], PW),
    ("something else", {}, ["grant create table to {u}", "create user other_{u}", "drop user other_{u}"], [], [], PW),
]


def walk(check, s, clock, row):
    name, like, changes, ended, refused, now = row
    u = User(s, **like)
    for one in changes:
        if one == "CLOCK":
            clock.jump(120)
            continue
        for text in u.grants if one == "GRANTS" else [one.format(u=u.name, g=u.group, s=u.account)]:
            u.rest.must(text)
    u.now = u.token if now == "TOKEN" else (u.name, now)
    for kind in KINDS:
        want, got = ENDED if kind in ended else REFUSED if kind in refused else WORKS, u.use(kind)
        check.that(got == want, f"{name} x {kind}: {got}, not {want}")
    clock.jump(0)


def cells(check, s, clock):
    """Each change x each kind of session."""
    for row in ROWS:
        walk(check, s, clock, row)


def silent(check, s, clock):
    """A connection that asks nothing is closed all the same, and what it held goes: cursors, transactions."""
    for changes in (["alter user {u} disable"], [f"alter user {{u}} with password '{NEW}'"], ["drop user {u}"], ["alter user {u} drop token type rest"]):
        u = User(s)
        for one in changes:
            u.rest.must(one.format(u=u.name))
        by_token = "token" in changes[0]
        for kind, w in u.wires.items():
            if (kind == "pg by token") == by_token:
                check.that(told(w) == ENDED, f"{changes}: {kind} is told")
        left = u.rest.rows(f"select count() from query_activity() where username = '{u.name}'")
        check.that(left[0][0] <= len(u.wires), f"{changes}: {left}")


def definers(check, s, clock):
    """A view is as good as the person who defined it, not as his name; somebody else may take it over."""
    u, other = User(s), User(s)
    rest, read = u.rest, lambda v=u.view: u.query(("reader", PW), text=f"select count() from {v}")
    top, stacked = f"top{u.view}", f"stacked{u.view}"
    # views over his view, and a materialized view of the administrator that reads it
    for one in (f"create view {top} as (select * from {u.view})", f"grant select on {top} to reader",
                f"create materialized view {stacked} with base t refresh manual as (select t.ts, sum(v.x) x from t asof join {u.view} v sample by 1d) partition by day"):
        rest.must(one)
    check.that(rest.sql(f"refresh materialized view {stacked} full")[0] == 200, "a refresh over the view of somebody")
    rest.must(f"drop user {u.name}")
    for text in (f"select count() from {u.view}", f"select * from {top}", f"select count() from t where x in (select x from {u.view})", f"with w as (select * from {u.view}) select count() from w"):
        for auth in (("reader", PW), ADMIN, other.now):
            check.that(rest.sql(text, auth)[0] == 403, f"{text} {auth[0]}")
    status, body = rest.sql(f"refresh materialized view {stacked} full")
    check.that(status == 403 and "is gone" in body, f"a refresh over the view of who is gone: {status} {body}")
    rest.must(f"create user {u.name} with password '{NEW}'")
    for one in u.grants:
        rest.must(one)
    check.that(read() == REFUSED and read(top) == REFUSED, "another user has his name")
    rest.must(f"alter view {u.view} as (select * from t) owned by {other.name}")
    check.that(read() == WORKS and read(top) == WORKS, "OWNED BY")
    rest.must(f"revoke select on t from {other.name}")
    check.that(read() == REFUSED, "it reads as its owner")
    check.that(rest.sql(f"alter view {u.view} as (select * from t) owned by {u.group}", other.now)[0] == 403, "an owner is oneself, a group of one's own, or the administrator's choice")
    rest.must(f"create or replace view {u.view} as (select * from t) owned by {u.name}")
    check.that(read() == WORKS, "CREATE OR REPLACE ... OWNED BY")
    rest.must(f"alter view {u.view} as (select * from t)")
    rest.must(f"drop user {u.name}")
    check.that(read() == WORKS and read(top) == WORKS, "the administrator's own")
    rest.must(f"drop view {u.view}")
    rest.must(f"create view {u.view} as (select * from t)")
    rest.must(f"grant select on {u.view} to reader")
    check.that(read() == WORKS, "a view of the name of another")


def chains(check, s, clock):
    """What was opened as a service account is not read on by who may not assume it any more."""
    u = User(s)
    u.rest.must(f"revoke select on t from {u.name}")
    w = u.wire(PW, f"assume service account {u.account}", "declare c cursor with hold for select x from t", "fetch 1 from c", "exit service account")
    check.that(pg(w, query("fetch 1 from c")) == REFUSED and pg(w, query("select 1")) == WORKS, "a cursor of a service account that was left")
    # in a block: what was written before counts no more either
    u.rest.must(f"grant insert on fed to {u.name}")
    w = u.wire(PW, "begin", "insert into fed values (7.5, 0)")
    u.rest.must(f"alter user {u.name} with password '{NEW}'")
    check.that(pg(w, query("commit")) == ENDED and u.rest.rows("select count() from fed where v = 7.5") == [[0]], "a block whose login has ended")
    # a transient token is the user's who got it
    token = u.rest.must(f"alter user {u.name} create token type rest with ttl '1h' transient")["dataset"][0][1]
    check.that(u.query(token, text="select 1") == WORKS, "a transient token")
    for one in (f"drop user {u.name}", f"create user {u.name} with password '{NEW}'", f"grant http to {u.name}"):
        u.rest.must(one)
    check.that(u.query(token, text="select 1") == ENDED and u.query((u.name, NEW), text="select 1") == WORKS, "of the user before")


def running(check, s, clock):
    """A statement that runs is ended with its login; a load that goes on is asked at each piece."""
    for change in ("alter user {u} disable", "drop user {u}", f"alter user {{u}} with password '{NEW}'"):
        u = User(s)
        long = "select count() from long_sequence(1000000000000)"
        w = u.wire()
        w.send(query(long))
        host, port = s.http.rsplit(":", 1)
        c = socket.create_connection((host, int(port)), timeout=30)
        c.sendall(f"GET /exec?query={long.replace(' ', '+')} HTTP/1.1\r\nHost: x\r\nCookie: {u.cookies['password']}\r\nX-Requested-With: XMLHttpRequest\r\n\r\n".encode())
        until(lambda: u.rest.rows(f"select count() from query_activity() where username = '{u.name}' and query = '{long}' and state = 'active'")[0][0] == 2)
        u.rest.must(change.format(u=u.name))
        check.that(told(w) == ENDED, f"{change}: a statement over PG")
        answer = c.recv(100000)
        check.that(b" 200 " not in answer.split(b"\r\n")[0], f"{change}: a statement over HTTP: {answer[:200]}")
        check.that(u.rest.rows(f"select count() from query_activity() where query = '{long}' and state = 'active'") == [[0]], f"{change}: it runs no more")
    # rows that a statement reads on into a table, and that a refresh reads for who may not any more
    u = User(s)
    slow = "t cross join long_sequence(5000000) l"
    u.rest.must(f"grant create table to {u.name}")
    u.rest.must(f"create materialized view slow{u.name} refresh manual deferred as (select t.ts, count() n from {slow} sample by 1d) partition by day", u.now)
    w, refresh = u.wire(), Wire(s.pg, password=ADMIN[1])
    w.send(query(f"create table mine{u.name} as (select t.ts, t.x, l.x y from {slow})"))
    refresh.send(query(f"refresh materialized view slow{u.name} full"))
    until(lambda: u.rest.rows(f"select count() from query_activity() where query ilike '%{u.name}%' and (query ilike 'create%' or query ilike 'refresh%')")[0][0] == 2)
    u.rest.must(f"revoke select on t from {u.name}")
    for kind, one in (("CREATE TABLE AS", w), ("a refresh", refresh)):
        got = [fields(b) for k, b in one.until_ready() if k == "E"]
        check.that(got and got[0]["C"] == "42501", f"{kind} that runs: {got}")
    u.rest.must(f"drop materialized view slow{u.name}")
    u = User(s)
    w = u.wire()
    w.send(query("copy fed from stdin with (format csv)"))
    while w.read()[0] != "G":
        pass
    w.send(b"d" + struct.pack("!i", 4 + 6) + b"9.5,1\n")
    u.rest.must(f"revoke insert on fed from {u.name}")
    check.that(pg(w, b"d" + struct.pack("!i", 4 + 6) + b"9.5,2\n", b"c\0\0\0\4") == REFUSED and u.rest.rows("select count() from fed where v = 9.5") == [[0]], "COPY FROM STDIN")


def until(done):
    end = time.monotonic() + 20
    while not done():
        if time.monotonic() > end:
            raise AssertionError("it does not come to that")
        time.sleep(0.02)


def administrator(check, s, clock):
    """The built-in administrator's sessions end with his password, and when he is switched off, by a reload."""
    boss = ("boss", PW)
    for key, value, back in (("acl.admin.password", NEW, WORKS), ("acl.admin.user.enabled", "false", ENDED)):
        with tempfile.TemporaryDirectory() as d:
            conf = pathlib.Path(d) / "conf" / "server.conf"
            conf.parent.mkdir()
            text = f"acl.enabled=true\nacl.admin.password={ADMIN[1]}\n"
            conf.write_text(text)
            log_search.note(NEW)
            with Server(binary=s.binary, root=d, env={k: v for k, v in ENV.items() if "ADMIN_PASSWORD" not in k and "ACL_ENABLED" not in k}) as one:
                rest = Rest(one)
                for sql in (f"create user boss with password '{PW}'", "grant all to boss", "create table t (x long)", "insert into t select x from long_sequence(50)", "create view v as (select * from t)"):
                    rest.must(sql)
                cookie = rest.request("/exec?query=select+1&session=true", auth=ADMIN)[2]["Set-Cookie"].split(";")[0]
                held = json.loads(rest.request("/exec?query=select+*+from+t&limit=0,5&snapshot=new", auth=ADMIN)[1])["snapshot"]
                wires = [Wire(one.pg, password=ADMIN[1]) for _ in range(4)]
                wires[1].send(query("begin; declare c cursor for select * from t; fetch 1 from c"))
                wires[1].until_ready()
                wires[2].send(query("declare c cursor with hold for select * from t; fetch 1 from c"))
                wires[2].until_ready()

                def by_cookie():
                    status, body, _ = rest.request("/exec?query=select+1", headers={"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"})
                    return http(status, body)
                check.that(by_cookie() == WORKS and pg(wires[0], query("select 1")) == WORKS, "before")
                rest.must("grant create table to boss", ADMIN)
                check.that(by_cookie() == WORKS and pg(wires[0], query("select 1")) == WORKS, "another change")
                conf.write_text((text if key != "acl.admin.password" else "acl.enabled=true\n") + f"{key}={value}\n")
                rest.must("select reload_config()", boss)
                check.that(by_cookie() == ENDED, f"{key}: the cookie")
                for w, sql in zip(wires, ("select 1", "fetch 1 from c", "fetch 1 from c")):
                    check.that(pg(w, query(sql)) == ENDED, f"{key}: {sql}")
                check.that(told(wires[3]) == ENDED, f"{key}: a connection that says nothing")
                check.that(rest.sql("select 1")[0] == 401, f"{key}: the old password")
                now = ("admin", NEW if back == WORKS else ADMIN[1])
                check.that(http(*rest.sql("select 1", now)) == back, f"{key}: the new one")
                check.that(rest.request(f"/snapshot/{held}?limit=5,10", auth=now)[0] in (401, 403), f"{key}: what was held")
                check.that(rest.sql("select count() from v", boss)[0] == 200, f"{key}: his views go on")


def one_account(check, s, clock):
    """Without access control there is one user for each interface, in the settings: his sessions end with his password, too."""
    with tempfile.TemporaryDirectory() as d:
        conf = pathlib.Path(d) / "conf" / "server.conf"
        conf.parent.mkdir()
        conf.write_text(f"http.user=me\nhttp.password={PW}\npg.password={PW}\npg.readonly.user.enabled=true\npg.readonly.password={PW}\n")
        log_search.note(NEW)
        with Server(binary=s.binary, root=d) as one:
            rest = Rest(one)
            cookie = rest.request("/exec?query=select+1&session=true", auth=("me", PW))[2]["Set-Cookie"].split(";")[0]
            by_cookie = lambda: rest.request("/exec?query=select+1", headers={"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"})[0]
            wires = [Wire(one.pg, password=PW), Wire(one.pg, user="user", password=PW)]
            conf.write_text(conf.read_text() + "query.timeout=50s\n")
            rest.must("select reload_config()", ("me", PW))
            time.sleep(0.6)
            check.that(by_cookie() == 200 and [pg(w, query("select 1")) for w in wires] == [WORKS, WORKS], "another setting")
            conf.write_text(conf.read_text().replace(f"pg.readonly.password={PW}", f"pg.readonly.password={NEW}"))
            rest.must("select reload_config()", ("me", PW))
            check.that(told(wires[1]) == ENDED and pg(wires[0], query("select 1")) == WORKS, "pg.readonly.password")
            conf.write_text(conf.read_text().replace(PW, NEW))
            rest.must("select reload_config()", ("me", PW))
            check.that(by_cookie() == 401 and rest.sql("select 1", ("me", NEW))[0] == 200, "http.password")
            check.that(told(wires[0]) == ENDED, "pg.password")


def logins_again(check, s, clock):
    """A log-in with a cookie of the one before ends that one."""
    u = User(s)
    cookies = []
    for _ in range(3):
        more = {"Cookie": cookies[-1]} if cookies else {}
        cookies.append(u.rest.request("/exec?query=select+1&session=true", auth=u.now, headers=more)[2]["Set-Cookie"].split(";")[0])
    other = u.rest.request("/exec?query=select+1&session=true", auth=u.now)[2]["Set-Cookie"].split(";")[0]
    by = lambda cookie, query="": u.rest.request("/exec?query=select+1" + query, headers={"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"})[0]
    check.that([by(c) for c in cookies] == [401, 401, 200] and by(other) == 200, "the one before ends, that of another browser does not")
    check.that(by(cookies[-1], "&session=false") == 200 and [by(c) for c in cookies] == [401] * 3 and by(other) == 200, "and the log-out leaves none")


def lifetime(check, s, clock):
    """A cookie that is used all the while ends at last."""
    with Server(binary=s.binary, env={**ENV, "ALMANAC_HTTP_SESSION_LIFETIME_MAX": "1500", "ALMANAC_HTTP_SESSION_TIMEOUT": "1000"}) as one:
        rest, ids, began = Rest(one), set(), time.monotonic()
        cookie = rest.request("/exec?query=select+1&session=true", auth=ADMIN)[2]["Set-Cookie"].split(";")[0]
        while time.monotonic() < began + 10:
            status, _, headers = rest.request("/exec?query=select+1", headers={"Cookie": cookie})
            if status != 200:
                break
            cookie = headers.get("Set-Cookie", cookie).split(";")[0]
            ids.add(cookie)
            time.sleep(0.1)
        lasted = time.monotonic() - began
        check.that(status == 401 and 1.4 < lasted < 4 and len(ids) >= 2, f"it lasted {lasted} s, with {len(ids)} ids")
        check.that(rest.request("/exec?query=select+1&session=true", auth=ADMIN)[0] == 200, "a login begins another")


def sessions(check, s, clock):
    """Who is in, by which login; one's own sessions, and with SQL ENGINE ADMIN all, are listed and ended."""
    u, other = User(s), User(s)
    rest = u.rest
    ask = "select session_id, username, interface, login, service_account from session_activity()"
    mine = sorted(rest.rows(ask, u.now))
    check.that({row[1] for row in mine} == {u.name}, f"one's own: {mine}")
    check.that([sum(row[2:4] == kind for row in mine) for kind in (["http", "password"], ["http", "token"], ["pg", "password"], ["pg", "token"], ["line", "key"])] == [1, 1, len(u.wires) - 1, 1, 1], f"each login: {mine}")
    check.that([row[4] for row in mine if row[4]] == [u.account], f"the account: {mine}")
    check.that(sorted(rest.rows("show sessions", u.now), key=lambda row: row[0])[0][0] == mine[0][0], "SHOW SESSIONS")
    every = rest.rows(ask)
    check.that({u.name, other.name} <= {row[1] for row in every} and [row for row in sorted(every) if row[1] == u.name] == mine, "all, for the administrator")
    times = rest.rows(f"select count() from session_activity() where username = '{u.name}' and login_time <= last_use and last_use <= now() and client_address = '127.0.0.1' and (interface != 'http' or end_time > now())")
    check.that(times == [[len(mine)]], f"times: {times} of {len(mine)}")
    http_of = lambda name, login: next(row[0] for row in rest.rows(ask) if row[1:4] == [name, "http", login])
    # of somebody else, or of nobody: the same
    for sid in (http_of(other.name, "password"), "http-999999", "pg-999999", "line-1", "x-1", "http-", "", "pg-0x1"):
        status, body = rest.sql(f"drop session '{sid}'", u.now)
        check.that(status == 403 and "[SQL ENGINE ADMIN]" in body, f"{sid}: {status} {body}")
        if "-9" in sid or not sid.startswith("http-"):
            status, body = rest.sql(f"drop session '{sid}'")
            check.that(status == 400 and "session does not exist" in body, f"the administrator, {sid}: {status} {body}")
    check.that(other.use("cookie by password") == WORKS, "it goes on")
    # cookies: the one, with the id before it
    rest.must(f"drop session '{http_of(u.name, 'password')}'", u.now)
    check.that(u.use("cookie by password") == ENDED and u.use("cookie by token") == WORKS and u.use("basic") == WORKS and u.use("token") == WORKS, "one's own")
    rest.must(f"drop session '{http_of(other.name, 'password')}'")
    check.that(other.use("cookie by password") == ENDED and other.use("cookie by token") == WORKS and other.use("pg") == WORKS, "that of another, by the administrator")
    # connections
    pid = lambda w: struct.unpack_from("!i", w.key)[0]
    for kind, end in (("pg", lambda p: rest.rows(f"select pg_terminate_backend({p})", u.now)), ("cursor with hold", lambda p: rest.rows(f"select pg_terminate_backend({p})")),
                      ("block", lambda p: rest.must(f"drop session 'pg-{p}'", u.now)), ("prepared", lambda p: rest.must(f"drop session 'pg-{p}'"))):
        end(pid(u.wires[kind]))
        u.wires[kind].s.settimeout(5)
        k, body = u.wires[kind].read()
        check.that(k == "E" and fields(body)["S"] == "FATAL" and fields(body)["C"] == "57P01" and "administrator command" in fields(body)["M"], f"{kind}: {body}")
        check.that(told(u.wires[kind]) == ENDED, f"{kind} is closed")
    check.that(u.use("cursor") == WORKS, "the others go on")
    theirs = pid(other.wires["pg"])
    check.that(rest.rows(f"select pg_terminate_backend({theirs})", u.now) == [[False]] and other.use("pg") == WORKS, "that of another")
    check.that(rest.rows("select pg_terminate_backend(999999), pg_terminate_backend(null)") == [[False, False]], "of nobody")
    for headers in ({"User-Agent": "Mozilla/5.0", "Accept": "text/html", "Upgrade-Insecure-Requests": "1"},):
        for text in (f"select+pg_terminate_backend({theirs})", f"drop+session+'pg-{theirs}'"):
            status, body, _ = rest.request(f"/exec?query={text}", auth=ADMIN, headers=headers)
            check.that(other.use("pg") == WORKS, f"a link ends nothing: {text}: {status} {body}")
    w = u.wire()
    w.send(query(f"select pg_terminate_backend({pid(w)})"))
    check.that(told(w) == ENDED, "this one")
    w = u.wire()
    w.send(query("select count() from long_sequence(1000000000000)"))
    rest.must(f"drop session 'pg-{pid(w)}'")
    check.that(told(w) == ENDED, "one whose statement runs")
    line = next(row[0] for row in rest.rows(ask) if row[1:3] == [u.name, "line"])
    check.that(rest.rows(f"select pg_terminate_backend({line.split('-')[1]})") == [[False]], "lines are no connection of that protocol")
    rest.must(f"drop session '{line}'", u.now)
    check.that(u.use("lines") == ENDED, "lines")
    # log-out: the id before the newest does not stay good
    cookie = u.cookie((u.name, PW))
    rest.request("/exec?query=select+1&session=false", headers={"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"})
    check.that(u.query(cookie=cookie) == ENDED and len([row for row in rest.rows(ask) if row[1:3] == [u.name, "http"]]) == 1, "a log-out")
    for text, status in (("drop session", 400), ("drop session x y", 400), ("drop session 'x' y", 400)):
        check.that(rest.sql(text)[0] == status, text)


# ------------------------------------------------------------------------------------------------------- under way
TTL = 0.4  # acl.oidc.cache.ttl
LONG = "select x, 'y' from long_sequence(2000000000)"
SLOW = "select count() from long_sequence(1000000000000)"


class Under:
    """Something that has begun by a login, and goes on after the change. went_on(): did it?"""

    def __init__(self, s, rest, login, tag):
        self.s, self.rest, self.login, self.tag = s, rest, login, tag
        self.begin()

    def head(self, head):
        """A request of which the head is sent."""
        host, port = self.s.http.rsplit(":", 1)
        self.c = socket.create_connection((host, int(port)), timeout=60)
        login = self.login
        if isinstance(login, tuple):
            line = "Authorization: Basic " + base64.b64encode(":".join(login).encode()).decode()
        else:
            line = f"Cookie: {login}" if "=" in login[:20] else f"Authorization: Bearer {login}"
        self.c.sendall(f"{head}\r\nHost: {self.s.http}\r\n{line}\r\nX-Requested-With: XMLHttpRequest\r\n".encode())

    def is_there(self):
        return self.rest.rows(f"select count() from fed where v = {self.tag}")[0][0] > 0

    def answer(self):
        try:
            return self.c.recv(65536)
        except OSError as e:
            return repr(e).encode()


class Body(Under):
    """A request whose body comes in two parts."""

    def begin(self):
        head, body = self.parts()
        self.head(head)
        self.c.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body[:20])
        self.rest_of = body[20:]

    def went_on(self):
        try:
            self.c.sendall(self.rest_of)
        except OSError:
            return False
        self.said = self.answer()
        return self.is_there()


class Statement(Body):
    def parts(self):
        return "POST /exec HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded", f"query=insert+into+fed+values+({self.tag},0)".encode()


class Import(Body):
    def parts(self):
        return ("POST /imp?name=fed&fmt=json&timestamp=ts HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x",
                f'--x\r\nContent-Disposition: form-data; name="data"; filename="f"\r\n\r\nv,ts\r\n{self.tag},1970-01-01T00:00:00.000000Z\r\n\r\n--x--\r\n'.encode())


class Preferences(Body):
    def parts(self):
        version = json.loads(self.rest.request("/settings")[1])["preferences.version"]
        return f"PUT /settings?version={version} HTTP/1.1", json.dumps({"instance_name": f"house {self.tag} and more"}).encode()

    def is_there(self):
        return f"house {self.tag}" in self.rest.request("/settings")[1]


class Chunks(Under):
    def begin(self):
        self.head("POST /write HTTP/1.1")
        self.c.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        self.line(-1)

    def line(self, v):
        text = f"fed v={v} 1000000000\n".encode()
        self.c.sendall(b"%x\r\n%s\r\n" % (len(text), text))

    def went_on(self):
        try:
            self.line(self.tag)
            self.c.sendall(b"0\r\n\r\n")
        except OSError:
            return False
        self.said = self.answer()
        return self.is_there()


class Export(Under):
    def begin(self):
        self.head(f"GET /exp?query={urllib.parse.quote(LONG)} HTTP/1.1")
        self.c.sendall(b"\r\n")
        if b" 200 " not in self.c.recv(12) + self.c.recv(1000):
            raise AssertionError("no export")

    def went_on(self):
        """What waits in buffers comes in any case."""
        end = time.monotonic() + 1
        self.c.settimeout(4)  # silence: a PostgreSQL connection has said its error; a machine that has much to do is quicker than that
        try:
            while time.monotonic() < end:
                if not self.c.recv(1 << 18):
                    return False
        except OSError:
            return False
        finally:
            self.c.close()
        return True


class Runs(Under):
    def begin(self):
        # every second one waits and does not compute: a dozen that do take the processors from all that is asked meanwhile
        self.text = f"select {self.tag}, pg_sleep(3600)" if self.tag % 2 else f"{SLOW} where x != {self.tag}"
        self.start()
        until(self.is_there)

    def start(self):
        self.head(f"GET /exec?query={urllib.parse.quote(self.text)} HTTP/1.1")
        self.c.sendall(b"\r\n")

    def is_there(self):
        return self.rest.rows(f"select count() from query_activity() where query = '{self.text}' and state = 'active'")[0][0] > 0

    def went_on(self):
        end = time.monotonic() + 3
        while self.is_there() and time.monotonic() < end:
            time.sleep(0.05)
        on = self.is_there()
        if on:
            for (number,) in self.rest.rows(f"select query_id from query_activity() where query = '{self.text}'"):
                self.rest.sql(f"cancel query '{number}'")
        return on


class Copy(Under):
    def begin(self):
        self.w = Wire(self.s.pg, *self.login)
        self.w.send(query("copy fed from stdin with (format csv)"))
        while self.w.read()[0] != "G":
            pass
        self.line(-1)

    def line(self, v):
        text = f"{v},1970-01-01T00:00:00.000000Z\n".encode()
        self.w.send(b"d" + struct.pack("!i", 4 + len(text)) + text)

    def went_on(self):
        try:
            self.line(self.tag)
            self.w.send(b"c\0\0\0\4")
            self.w.until_ready()
        except (Closed, ConnectionError):
            pass
        return self.is_there()


class Pipeline(Under):
    """A transaction without a word that begins it, which Sync ends."""

    def begin(self):
        self.w = Wire(self.s.pg, *self.login)
        self.w.send(parse("", f"insert into fed values ({self.tag}, 0)"), bind(), execute(), b"H\0\0\0\4")
        while self.w.read()[0] != "C":
            pass

    def went_on(self):
        try:
            self.w.send(SYNC)
            self.w.until_ready()
        except (Closed, ConnectionError):
            pass
        return self.is_there()


class PgRuns(Runs):
    def start(self):
        self.w = Wire(self.s.pg, *self.login)
        self.w.send(query(self.text))


class PgExport(Export):
    def begin(self):
        w = Wire(self.s.pg, *self.login)
        w.send(query(LONG))
        w.read()
        self.c = w.s

BY_REQUEST, BY_WIRE = (Statement, Import, Preferences, Chunks, Export, Runs), (Copy, Pipeline, PgExport, PgRuns)


class Foreigners(Server):
    """A server with users of a provider."""

    def __init__(self, p, binary, **more):
        env = {**oidc_test.settings(p, **{"acl.oidc.cache.ttl": int(TTL * 1000), "acl.oidc.ropc.flow.enabled": "true", "acl.oidc.pg.token.as.password.enabled": "true",
                                          "acl.oidc.backchannel.logout.enabled": "true", "query.timeout": "120s", "http.export.timeout": "120s", "log.level": "info", **more})}
        super().__init__(binary=binary, env=env)
        self.provider, self.tag = p, 1000

    def __enter__(self):
        super().__enter__()
        self.rest = Rest(self)
        for one in ("create table fed (v double, ts timestamp) timestamp(ts) partition by day wal", "create group analysts with external alias analysts",
                    "grant http, pgwire, ilp, settings to analysts", "grant select, insert on fed to analysts", f"create user loc with password '{PW}'", "grant http, pgwire, settings to loc", "grant insert, select on fed to loc"):
            self.rest.must(one)
        return self

    def token(self):
        token = self.provider.sign_on("alice")["access_token"]
        log_search.note(token)
        return token

    def cookie(self, auth):
        status, body, headers = self.rest.request("/exec?query=select+1&session=true", auth=auth)
        if status != 200:
            raise AssertionError(f"{status} {body}")
        return headers["Set-Cookie"].split(";")[0]

    def begin(self, logins, kinds):
        out = []
        for name, login in logins.items():
            for kind in kinds:
                self.tag += 1
                out.append((f"{name} x {kind.__name__}", kind(self, self.rest, login, self.tag)))
        return out

    def log_out(self, sub):
        token = self.provider.sign(sub=sub, typ="logout+jwt", claims={"jti": f"under way {self.tag}", "events": {oidc_test.EVENT: {}}})
        status, body, _ = oidc_test.log_out(self, token)
        if status != 200:
            raise AssertionError(f"log-out: {status} {body}")

    def drop_sessions(self):
        for row in self.rest.rows("show sessions"):
            if row[1] != "admin" and row[0].startswith("http-"):
                self.rest.must(f"drop session '{row[0]}'")

    def everything(self, by_wire=True):
        password = ("alice", "alice-pw")
        out = self.begin({"Bearer": self.token(), "cookie by token": self.cookie(self.token()), "Basic": password, "cookie by password": self.cookie(password)}, BY_REQUEST)
        return out + self.begin({"_sso": ("_sso", self.token()), "password": password}, BY_WIRE)


def tell(check, what, began, goes_on):
    for name, one in began:
        got = one.went_on()
        check.that(got == goes_on, f"{what}: {name}: {'goes on' if got else 'ended'}: {getattr(one, 'said', b'')[:300]}")


def with_provider(part):
    def run(check, s, clock):
        why = provider.available()
        if why:
            print(f"skipped: {part.__name__}: the provider of test/idp cannot run: {why}")
            return
        with provider.Provider() as p:
            part(check, s.binary, p)
    run.__name__, run.__doc__ = part.__name__, part.__doc__
    return run


@with_provider
def under_way(check, binary, p):
    """What a user of the provider has begun ends with him: statements, bodies, lines, COPY, exports; and goes on while he is there."""
    ends = [("disabled there", lambda: p.hook("user/alice", {"disabled": True}), lambda: p.hook("user/alice", {"disabled": False}), ()),
            # what had been written when it was allowed is committed, and a statement asks for the rights of the house when it has rows
            ("in no group there", lambda: p.hook("user/alice", {"groups": []}), lambda: p.hook("user/alice", {"groups": ["analysts"]}), (Pipeline,)),
            ("no alias here", lambda: s.rest.must("alter group analysts drop external alias analysts"), lambda: s.rest.must("alter group analysts with external alias analysts"), (Pipeline, Runs, PgRuns)),
            ("the provider is away", lambda: p.hook("fault", {"path": "/me", "status": 503}), lambda: p.hook("fault", {}), ())]
    with Foreigners(p, binary) as s:
        began = s.everything()
        for change in (lambda: None, lambda: s.log_out("erin"), lambda: s.rest.must("select flush_user_info_cache()"), lambda: p.hook("user/alice", {"groups": ["more", "analysts"]})):
            change()
            time.sleep(TTL + 0.3)
        tell(check, "nothing of his", [one for one in began if not isinstance(one[1], Preferences)], True)
        p.hook("reset", {})
        for what, change, back, spared in ends:
            began = s.everything()
            change()
            time.sleep(TTL + 0.2)
            tell(check, what, [one for one in began if type(one[1]) not in spared], False)
            back()
            time.sleep(TTL)
            check.that(s.rest.sql("select 1", s.token())[0] == 200, f"{what}: who logs in again is in")
        began = s.everything()
        s.log_out("alice")
        tell(check, "logged out there", began, False)
        check.that(s.rest.sql("select 1", s.token())[0] == 200, "who logs in again is in")


@with_provider
def jobs(check, binary, p):
    """Imports and exports of files that run on their own ask about the user who began them, too."""
    with tempfile.TemporaryDirectory() as d, Foreigners(p, binary, **{"cairo.sql.copy.root": d, "copy.jobs.max": 20}) as s:
        with open(pathlib.Path(d) / "rows.csv", "w") as f:
            f.write("v,ts\n")
            for _ in range(40):
                f.write("2.5,1970-01-01T00:00:00.000000Z\n" * 100000)
        s.rest.must("grant read file to analysts")
        begin = {"export": "copy (select x from long_sequence(1000000000000)) to '{}' with format parquet", "import": "copy fed from 'rows.csv' with header true"}

        def start():
            out = {}
            for how, login in (("Bearer", s.token()), ("Basic", ("alice", "alice-pw"))):
                for what, text in begin.items():
                    s.tag += 1
                    out[f"{what}, {how}"] = s.rest.rows(text.format(f"out{s.tag}"), login)[0][0]
            w = Wire(s.pg, "_sso", s.token())
            w.send(query(begin["export"].format("by pg")))
            out["export, pg"] = next(b[-16:].decode() for k, b in w.until_ready() if k == "D")
            return out, w  # the job goes on without its connection

        def state(number):
            rows = s.rest.rows(f"select status, message from sys.copy_export_log where id = '{number}'") or s.rest.rows(f"select status, message from sys.text_import_log where id = '{number}'")
            return next((row for row in rows if row[0] != "started"), rows[0])
        for what, change in (("nothing", lambda: None), ("disabled there", lambda: p.hook("user/alice", {"disabled": True})), ("logged out there", lambda: s.log_out("alice"))):
            running, w = start()
            if what == "nothing":
                w.s.close()
            change()
            time.sleep(TTL + 1)
            for name, number in running.items():
                got = state(number)
                check.that((got[0] in ("started", "finished")) == (what == "nothing"), f"{what}: {name}: {got}")
                check.that(what == "nothing" or "the login of" in (got[1] or "") and "has ended" in got[1], f"{what}: {name}: {got}")
                if got[0] == "started":
                    s.rest.sql(f"copy '{number}' cancel")
            p.hook("reset", {})
            time.sleep(TTL + 0.1)


@with_provider
def by_cookie(check, binary, p):
    """What was begun by a cookie ends with its session: DROP SESSION, log-out, http.session.lifetime.max; a session that is idle goes on in it."""
    def cookies(s):
        return {"by token": s.cookie(s.token()), "by password there": s.cookie(("alice", "alice-pw")), "by password here": s.cookie(("loc", PW))}
    with Foreigners(p, binary, **{"http.session.timeout": 1000, "acl.oidc.cache.ttl": 60000}) as s:
        began = s.begin(cookies(s), (Statement, Import, Chunks, Export, Runs))
        time.sleep(1.2)
        s.cookie(("loc", PW))
        tell(check, "idle", began, True)
    with Foreigners(p, binary, **{"acl.oidc.cache.ttl": 60000}) as s:
        began = s.begin(cookies(s), BY_REQUEST)
        s.drop_sessions()
        tell(check, "DROP SESSION", began, False)
        of = cookies(s)
        began = s.begin(of, BY_REQUEST)
        other = s.begin({"another session": s.cookie(("loc", PW))}, (Statement, Chunks))
        for cookie in of.values():
            status = s.rest.request("/exec?query=select+1&session=false", headers={"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"})[0]
            check.that(status == 200, f"the log-out itself is answered: {status}")
        tell(check, "session=false", began, False)
        tell(check, "of another session", other, True)
    with Foreigners(p, binary, **{"http.session.lifetime.max": 2500, "acl.oidc.cache.ttl": 60000}) as s:
        for name in ("by token", "by password there", "by password here"):
            began = s.begin({name: cookies(s)[name]}, (Statement, Import, Chunks, Runs))
            time.sleep(2.7)
            tell(check, "http.session.lifetime.max", began, False)


@with_provider
def passwords_there(check, binary, p):
    """A cookie that was begun by name and password of the provider is as good as the token that they gave."""
    with Foreigners(p, binary) as s:
        headers = lambda: {"Cookie": s.cookie(("alice", "alice-pw")), "X-Requested-With": "XMLHttpRequest"}
        status = lambda h: s.rest.request("/exec?query=select+count()+from+fed", headers=h)[0]
        for what, change, want in (("in no group", lambda: p.hook("user/alice", {"groups": []}), 403), ("disabled", lambda: p.hook("user/alice", {"disabled": True}), 401), ("logged out", lambda: s.log_out("alice"), 401)):
            cookie = headers()
            check.that(status(cookie) == 200, f"{what}: before")
            change()
            time.sleep(TTL + 0.1)
            check.that(status(cookie) == want, f"{what}: then {want}")
            p.hook("reset", {})
            time.sleep(TTL + 0.1)
            s.rest.must("select flush_user_info_cache()")


@with_provider
def slow_answers(check, binary, p):
    """What the provider says counts from when it was asked: an answer that takes long is of before."""
    with Foreigners(p, binary, **{"acl.oidc.cache.ttl": 2000, "acl.oidc.http.timeout": "20s"}) as s:
        token = s.token()
        p.hook("fault", {"path": "/me", "delay": 2500})
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(lambda: s.rest.sql("select 1", token)[0])
            time.sleep(0.5)
            check.that(first.result() == 200, "who waited has the answer")
        p.hook("fault", {})
        p.hook("user/alice", {"disabled": True})
        check.that(s.rest.sql("select 1", token)[0] == 401, "the next is asked about again")


PARTS = [cells, silent, sessions, definers, chains, running, administrator, one_account, logins_again, lifetime, under_way, jobs, by_cookie, passwords_there, slow_answers]


def main():
    o, done = arguments(), []
    with tempfile.TemporaryDirectory() as d:
        clock = Clock(d)
        with House(binary=o.binary, env={**ENV, **clock.env, "ALMANAC_PG_AUTH_CLEARTEXT": "true"}) as s:
            for part in PARTS:
                run_part(part, o.pattern, done, s, clock)
    close(done)


if __name__ == "__main__":
    main()
