#!/usr/bin/env python3
"""What one client cannot take from the others: places, log-ins, memory, sessions, the identity provider. The attacks are those of many
clients, made small by settings; somebody else, from another address of loopback and from the same one, has to get in meanwhile.

    bounds_test.py [--binary FILE] [PATTERN]      PATTERN: of the names of the parts below
"""
import base64, concurrent.futures, gzip, http.client, json, shutil, subprocess, threading, time

from lib import log_search
from lib.acl_checks import ADMIN, Lines, Rest, arguments, close, run_part, with_credentials
from lib.certs import Certs
from lib.peers import HERE, THERE, Attack, From, ask, dial, pg_says, timed
from lib.pgclient import Closed, Wire, bind, execute, fields, msg, parse, query, startup, SYNC
from lib.server import Server

PW = "pw-of-cases"
ENV = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_PASSWORD": ADMIN[1], "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "50000",
       "ALMANAC_PG_AUTH_CLEARTEXT": "true", "ALMANAC_METRICS_ENABLED": "true"}


class House(Server):
    """A server with access control and users who have HTTP, PGWIRE and ILP, nothing more."""

    def __init__(self, binary=None, env=None, **settings):
        super().__init__(binary=binary, env={**ENV, **(env or {}), **{"ALMANAC_" + k.upper(): str(v) for k, v in settings.items()}})

    def __enter__(self):
        super().__enter__()
        self.rest, self.number = Rest(self), 0
        return self

    def user(self, grants="http, pgwire, ilp"):
        self.number += 1
        name = f"u{self.number}"
        self.rest.must(f"create user {name} with password '{PW}'")
        self.rest.must(f"grant {grants} to {name}")
        return name, PW


def line_says(s, name, key, source=HERE, patience=0.15):
    """None: logged in; else what the server said."""
    class Here(Lines):
        def __init__(self):
            self.c = dial(s.line, source)
            self.c.sendall(name.encode() + b"\n")
            self.challenge = b""
            while not self.challenge.endswith(b"\n"):
                block = self.c.recv(1000)
                if not block:
                    raise ConnectionError("closed")
                self.challenge += block
    try:
        c = Here()
        if c.challenge.startswith(b"error"):
            return c.challenge.decode()
        c.c.sendall(c.signed(key) + b"said v=1i\n")
        c.c.settimeout(patience)
        try:
            return c.c.recv(1000).decode() or "closed"
        except TimeoutError:
            return None
    except ConnectionError as e:
        return f"{type(e).__name__}: {e}"


def at_once(n, one):
    """What one(i) gave, all at the same time."""
    out = [None] * n

    def run(i):
        out[i] = one(i)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    return out


def within(seconds, f):
    """f() until it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if f():
            return True
        time.sleep(0.05)
    return False


# ------------------------------------------------------------------------------------------------------- log-ins
def bad_passwords(check, o):
    """Answers to failures wait, and hold nobody up: no log-in of anybody is refused or late because of them."""
    with House(o.binary) as s:
        target = s.user()
        wrong = target[0], "wrong"

        def gets_in(what):
            for source, most in (HERE, 3.5), (THERE, 1.5):  # many failures of an address make all its answers wait: 2 s at most
                new = s.user()  # whose password has to be hashed: none of those that were right lately
                got, took = timed(ask, s, auth=new, source=source)
                check.that(got[0] == 200 and took < most, f"{what}: Basic from {source}: {got[:2]} after {took:.1f} s")
                got, took = timed(pg_says, s, s.user(), source)
                check.that(got is None and took < most, f"{what}: PG from {source}: {got} after {took:.1f} s")

        answers = at_once(12, lambda i: ask(s, auth=wrong)[0] if i % 2 else pg_says(s, wrong))
        check.that(set(answers) == {401, "invalid username/password"}, f"{answers}")
        with Attack(12, lambda i: ask(s, auth=wrong)):
            got, took = timed(ask, s, auth=wrong)
            check.that(got[0] == 401 and took > 1, f"a penalised log-in is answered late, not turned away: {got} {took:.1f} s")
            gets_in("bad passwords over HTTP")
        with Attack(12, lambda i: pg_says(s, wrong)):
            gets_in("bad passwords over PG")
        got, took = timed(ask, s, auth=target, source=THERE)
        check.that(got[0] == 200 and took < 1, f"whose name it is, from another address: {got[:2]} {took:.1f} s")
        made_up = at_once(12, lambda i: ask(s, auth="qt1" + "x" * 43)[0])
        check.that(set(made_up) == {401}, f"{made_up}")
        with Attack(12, lambda i: ask(s, auth="qt1" + "x" * 43)):
            gets_in("made-up tokens")
        # a guesser who goes away does not leave his waits behind: places are free at once
        gone = [dial(s.http) for _ in range(12)]
        head = b"GET /exec?query=select+1 HTTP/1.1\r\nHost: a\r\nAuthorization: Basic " + base64.b64encode(":".join(wrong).encode()) + b"\r\n\r\n"
        [c.sendall(head) for c in gone]
        time.sleep(0.1)
        [c.close() for c in gone]

        def left():
            host, port = s.health.rsplit(":", 1)
            c = http.client.HTTPConnection(host, int(port), timeout=60)
            c.request("GET", "/metrics", headers=with_credentials(None, ADMIN))
            text = c.getresponse().read().decode()
            return [float(line.split()[1]) for line in text.splitlines() if line.startswith("questdb_http_connections ")]
        got = within(1.2, lambda: left() == [0])
        check.that(got, f"connections of who went away: {left()}")


def guesses_without_access_control(check, o):
    """http.user, and pg.user, are guessed no faster than the users of access control, and leave a line; who is right from elsewhere does not wait."""
    env = {"ALMANAC_ACL_ENABLED": "false", "ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": PW, "ALMANAC_PG_USER": "me", "ALMANAC_PG_PASSWORD": PW, "ALMANAC_HTTP_HEALTH_CHECK_AUTHENTICATION_REQUIRED": "true"}
    with Server(binary=o.binary, env=env) as s:
        me = "me", PW

        def tried():
            return sum("login" in line and "refused" in line and "user='me'" in line for line in s.log_path.read_text().splitlines())
        got = [ask(s, auth=("me", f"guess{i}"))[0] for i in range(6)]
        check.that(set(got) == {401} and tried() > 0, f"they leave a line: {tried()}")
        for what, one in (("Basic", lambda i: ask(s, auth=("me", f"guess{i}"))[0]), ("Token", lambda i: ask(s, headers={"Authorization": f"Token me:guess{i}"})[0]),
                          ("/settings", lambda i: ask(s, path="/settings", auth=("me", f"guess{i}"))[0] == 200 and 401)):
            got, took = timed(at_once, 4, one)
            check.that(set(got) == {401} and took > 0.09, f"{what}: {got} in {took:.2f} s")
        got, took = timed(lambda: [ask(s, auth=("me", f"guess{i}"))[0] for i in range(3)])
        check.that(set(got) == {401} and took > 5, f"each waits longer, up to 2 s: {took:.1f} s")
        got, took = timed(ask, s, auth=me, source=THERE)
        check.that(got[0] == 200 and took < 1, f"from another address: {got[:2]} {took:.1f} s")
        got, took = timed(ask, s, auth=me)
        check.that(got[0] == 200 and took < 4, f"from the same one: {got[:2]} {took:.1f} s")
        got, took = timed(ask, s, auth=me)
        check.that(got[0] == 200 and took < 1, f"and that is forgiven: {got[:2]} {took:.1f} s")
        check.that(ask(s)[0] == 401, "without credentials")
        got, took = timed(lambda: [pg_says(s, ("me", f"guess{i}")) for i in range(11)])
        check.that(len(set(got)) == 1 and got[0] is not None and took > 2.9, f"PG: {set(got)} in {took:.1f} s")
        check.that(timed(pg_says, s, me, THERE)[0] is None, "PG from another address")
        gone = [dial(s.http) for _ in range(6)]  # a guesser who goes away
        [c.sendall(b"GET /exec?query=select+1 HTTP/1.1\r\nHost: a\r\nAuthorization: Basic " + base64.b64encode(b"me:wrong") + b"\r\n\r\n") for c in gone]
        [c.close() for c in gone]
        check.that(ask(s, auth=me, source=THERE)[0] == 200, "and it goes on")


def messages_of_tls(check, o):
    """KeyUpdate messages without end, each of which is answered, end the connection; a client that sends some goes on."""
    certs = Certs()
    env = {f"ALMANAC_HTTP_TLS_{k}": v for k, v in {"ENABLED": "true", "CERT_PATH": certs.path("ec.pem"), "PRIVATE_KEY_PATH": certs.path("ec.key")}.items()}
    try:
        with Server(binary=o.binary, env=env) as s:
            def client():
                return subprocess.Popen(["openssl", "s_client", "-connect", s.http, "-tls1_3", "-quiet", "-no_ign_eof"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            p, sent = client(), 0
            try:
                for sent in range(8000):
                    p.stdin.write(b"K\n")
                    p.stdin.flush()
                    if p.poll() is not None:
                        break
                    time.sleep(0.0015)
            except BrokenPipeError:
                pass
            check.that(sent < 7999 and within(5, lambda: p.poll() is not None), f"{sent} messages, and the connection is there")
            check.that(within(5, lambda: "messages of TLS alone" in s.log_path.read_text()), "the log tells why")
            p.kill()
            p = client()
            for _ in range(20):
                p.stdin.write(b"K\n")
                p.stdin.flush()
                time.sleep(0.01)
            time.sleep(1)  # else it is read with the line before
            p.stdin.write(b"GET /exec?query=select+1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            p.stdin.flush()
            got = p.stdout.read()
            check.that(b" 200 " in got.split(b"\r\n")[0], f"a few are no matter: {got[:200]}")
            p.kill()
    finally:
        shutil.rmtree(certs.home)


def changing_names(check, o):
    """Guesses with another name each time: after some fifty from one address its answers wait. Who was right lately goes on at once."""
    with House(o.binary, acl_password_hash_iteration_count=4096) as s:
        good = s.user()
        check.that(ask(s, auth=good)[0] == 200, "before")
        took = [timed(ask, s, auth=(f"name{i}", "wrong")) for i in range(54)]
        check.that({t[0][0] for t in took} == {401}, "all are refused alike")
        check.that(sum(t[1] for t in took[:50]) < 5 and sum(t[1] for t in took[51:]) > 0.7, f"the last ones wait: {[round(t[1], 2) for t in took[48:]]}")
        got, seconds = timed(ask, s, auth=good)
        check.that(got[0] == 200 and seconds < 0.2, f"who was right lately does not: {got[0]} {seconds:.2f} s")
        got, seconds = timed(ask, s, auth=("name100", "wrong"), source=THERE)
        check.that(got[0] == 401 and seconds < 0.3, f"nor does another address: {got[0]} {seconds:.2f} s")


def guessed_keys(check, o):
    """Lines: log-ins that fail wait as passwords do, whatever the names; a good one counts for nothing against it."""
    with House(o.binary) as s:
        took = [timed(line_says, s, f"name{i}", "AAAA", HERE, 10) for i in range(54)]
        check.that(all("login failed" in t[0] or "closed" in t[0] or "Error" in t[0] for t in took), f"all are refused: {set(t[0] for t in took)}")
        check.that(sum(t[1] for t in took[51:]) > 0.7, f"the last ones wait: {[round(t[1], 2) for t in took[48:]]}")
        got, seconds = timed(line_says, s, "name100", "AAAA", THERE, 10)
        check.that(got is not None and seconds < 0.3, f"another address does not: {got} {seconds:.2f} s")
        got, seconds = timed(ask, s, auth=("name200", "wrong"))
        check.that(got[0] == 401 and seconds > 0.1, f"the address waits at other interfaces, too: {got[0]} {seconds:.2f} s")


def turns(check, o):
    """Passwords are hashed in turns: an address with a crowd has two of them at once, and the next address need not wait for its crowd."""
    with House(o.binary, acl_password_hash_iteration_count=300000, acl_password_check_max=3, acl_password_check_address_max=1) as s:
        name = s.user()
        with Attack(20, lambda i: ask(s, auth=(f"crowd{i}-{time.monotonic_ns()}", "wrong"))):
            got, took = timed(ask, s, auth=name, source=THERE)
            check.that(got[0] == 200 and took < 3, f"another address: {got[:2]} after {took:.1f} s")


# -------------------------------------------------------------------------------------------------------- places
def silent_connections(check, o):
    """Connections that say nothing fill an interface: whoever comes next has the place of the oldest of them."""
    limits = {f"{k}_net_connection_limit": 12 for k in ("http", "pg", "line_tcp", "http_min")}
    with House(o.binary, net_connection_silent_timeout="700ms", **limits) as s:
        (user, pw), other = s.user(), s.user()
        row = s.rest.rows(f"alter user {user} create token type jwk")[0]
        key = row[3]
        log_search.note(key)
        s.rest.must("create table said (v long, ts timestamp) timestamp(ts) partition by day")
        s.rest.must(f"grant insert on said to {user}")
        ways = {"HTTP": (s.http, lambda source: ask(s, auth=other, source=source)[:2], lambda got: got[0] == 200),
                "PG": (s.pg, lambda source: pg_says(s, other, source), lambda got: got is None),
                "lines": (s.line, lambda source: line_says(s, user, key, source), lambda got: got is None)}
        for name, (address, one, good) in ways.items():
            held = [dial(address) for _ in range(12 + 6)]
            time.sleep(0.2)
            for source in (THERE, HERE):
                got = [one(source) for _ in range(3)]
                check.that(all(map(good, got)), f"{name}: silent connections, then from {source}: {got}")
            [c.close() for c in held]
        # those that say a little, and do not log in
        spoken = {"HTTP": b"GET / HTTP/1.1\r\nHos", "PG": startup([("user", "nobody"), ("database", "qdb")]), "lines": b"a name with"}
        for name, (address, one, good) in ways.items():
            time.sleep(0.3)
            held = [dial(address) for _ in range(12)]
            [c.sendall(spoken[name]) for c in held]
            time.sleep(0.3)
            got = one(THERE)
            check.that(good(got), f"{name}: another address has the reserve: {got}")
            got = one(HERE)
            told = {"HTTP": "http.net.connection.limit=12", "PG": "pg.net.connection.limit=12", "lines": "line.tcp.net.connection.limit=12"}[name]
            check.that(not good(got) and told in str(got), f"{name}: the same address is full, for a while: {got}")
            check.that(within(3, lambda: good(one(HERE))), f"{name}: after net.connection.silent.timeout it is not")
            [c.close() for c in held]
        # who has logged in keeps his place
        wires = [From(s.pg, *other) for _ in range(12)]
        time.sleep(1)
        got = pg_says(s, other)
        check.that(got is not None and "pg.net.connection.limit=12" in got, f"PG is full of users: {got}")
        check.that(pg_says(s, other, THERE) is None, "but for the reserve")
        check.that([w.error(query("select 1")) for w in wires] == [None] * 12, "they go on")
        [w.s.close() for w in wires]
    with House(o.binary, http_net_connection_address_limit=3, pg_net_connection_address_limit=3, line_tcp_net_connection_address_limit=3, net_connection_silent_timeout="0") as s:
        user = s.user()
        time.sleep(0.3)  # connections of before are gone
        for name, address, one, told in (("HTTP", s.http, lambda source: ask(s, auth=user, source=source), "http.net.connection.address.limit=3"),
                                         ("PG", s.pg, lambda source: pg_says(s, user, source), "pg.net.connection.address.limit=3"),
                                         ("lines", s.line, lambda source: line_says(s, "x", "AAAA", source), "line.tcp.net.connection.address.limit=3")):
            held = [dial(address) for _ in range(3)]
            time.sleep(0.2)
            got = one(HERE)
            check.that(told in str(got), f"{name}: {got}")
            check.that(told not in str(one(THERE)), f"{name} from another address")
            [c.close() for c in held]


def late_lines(check, o):
    """A connection for lines that does not log in ends; one that has logged in, or need not, may be silent for ever."""
    with House(o.binary, line_tcp_login_timeout="300ms") as s:
        for first in (b"", b"a name", b"a name\n"):
            with dial(s.line) as c:
                c.sendall(first)
                began, told = time.monotonic(), b""
                while block := c.recv(1000):
                    told += block
                check.that(b"line.tcp.login.timeout" in told and time.monotonic() - began < 3, f"{first}: {told}")
    with House(o.binary, line_tcp_login_timeout="300ms", line_tcp_acl_enabled="false") as s, dial(s.line) as c:
        time.sleep(1)
        c.sendall(b"later v=1i\n")
        check.that(within(10, lambda: s.rest.sql("select count() from later")[0] == 200), "where there is no login, none is late")


# ------------------------------------------------------------------------------------------------------ sessions
def cookies(check, o):
    """A user who logs in without end loses sessions of his own, nobody else does: by his limit, and where the places of all are taken."""
    with House(o.binary, http_session_user_max=20, http_session_max=24, acl_password_hash_iteration_count=4096) as s:
        greedy, modest = s.user(), s.user()

        def begin(who):
            status, _, headers = ask(s, auth=who, path="/exec?query=select+1&session=true")
            return headers["Set-Cookie"].split(";")[0]

        def alive(cookie):
            return ask(s, headers={"Cookie": cookie})[0] == 200
        first = begin(greedy)
        others = [begin(ADMIN), begin(modest)]
        own = [begin(greedy) for _ in range(40)]
        check.that(all(map(alive, others)), "cookies of others")
        check.that(not alive(first) and [alive(c) for c in own] == [False] * 20 + [True] * 20, "of his own the newest are left")
        third = [begin(s.user()) for _ in range(10)]  # 32 where 24 may be
        check.that(all(map(alive, others + third)), "who has most gives his places")
        check.that(sum(map(alive, own)) == 12, f"he has the rest: {sum(map(alive, own))}")
        for _ in range(60):
            begin(greedy)
        check.that(all(map(alive, others + third)), "and takes no others")


def replaced_cookies(check, o):
    """An id that was replaced is over no later than the newest of its session, which is the one that is listed."""
    with House(o.binary, http_session_timeout="2s") as s:
        _, _, headers = ask(s, auth=ADMIN, path="/exec?query=select+1&session=true")
        old = headers["Set-Cookie"].split(";")[0]
        time.sleep(1.2)
        status, _, headers = ask(s, headers={"Cookie": old})
        new = headers["Set-Cookie"].split(";")[0]
        check.that(status == 200 and new != old and ask(s, headers={"Cookie": old})[0] == 200, "it counts for a while")
        time.sleep(2.4)
        got = ask(s, headers={"Cookie": old})[0], ask(s, headers={"Cookie": new})[0]
        check.that(got == (401, 401), f"both are over without use: {got}")
        check.that(not [r for r in s.rest.rows("show sessions") if "cookie" in str(r)], "and none is listed")


def held_results(check, o):
    """The same for results that are held for reading by pages."""
    with House(o.binary, http_snapshot_count_max=8, acl_password_hash_iteration_count=4096) as s:
        greedy, modest = s.user(), s.user()

        def hold(who, rows=9):
            status, text, _ = ask(s, auth=who, path=f"/exec?query=select+x,rnd_str(9,9,0)+from+long_sequence({rows})&snapshot=new&limit=1")
            return json.loads(text)["snapshot"]

        def alive(who, name):
            return ask(s, auth=who, path=f"/snapshot/{name}?limit=1")[0] == 200
        others = [(ADMIN, hold(ADMIN)), (modest, hold(modest)), (modest, hold(modest))]
        own = [hold(greedy) for _ in range(20)]
        check.that(all(alive(*one) for one in others), "results of others")
        check.that([alive(greedy, name) for name in own] == [False] * 15 + [True] * 5, "of his own the newest are left")
    with House(o.binary, http_snapshot_user_count_max=3, http_snapshot_user_bytes_max="200k", acl_password_hash_iteration_count=4096) as s:
        greedy, modest = s.user(), s.user()
        other, own = hold(modest), [hold(greedy) for _ in range(5)]
        check.that([alive(greedy, name) for name in own] == [False] * 2 + [True] * 3 and alive(modest, other), "http.snapshot.user.count.max")
        big = [hold(greedy, 12000) for _ in range(3)]
        check.that([alive(greedy, name) for name in big] == [False, False, True] and alive(modest, other), "http.snapshot.user.bytes.max")


# -------------------------------------------------------------------------------------------------------- memory
def resident(s):
    return s.resident_bytes()[1]


def peak(s, f):
    """f(), and by how much the memory of the process grew meanwhile at most."""
    before, most, over = resident(s), 0, threading.Event()

    def look():
        nonlocal most
        while not over.is_set():
            most = max(most, resident(s) - before)
            time.sleep(0.01)
    watch = threading.Thread(target=look)
    watch.start()
    try:
        return f(), most
    finally:
        over.set()
        watch.join()


def requests_of(s):
    return dict(s.rest.rows("select * from memory_metrics()"))["REQUESTS"]


MB = 1 << 20


def may_before_bytes(check, o):
    """Who may add no rows is told so before he has sent any, by each way."""
    with House(o.binary, acl_password_hash_iteration_count=4096) as s:
        user, writer, maker = s.user(), s.user(), s.user()
        s.rest.must("create table rows_of (ts timestamp, v double) timestamp(ts) partition by day")
        s.rest.must(f"grant insert on rows_of to {writer[0]}")
        s.rest.must(f"grant create table to {maker[0]}")

        def head(who, path, length=50 << 20, more=b""):
            """The answer to a head whose body does not come."""
            with dial(s.http, timeout=0.3) as c:
                login = base64.b64encode(":".join(who).encode())
                c.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: Basic %s\r\nContent-Length: %d\r\n%s\r\n" % (path, login, length, more))
                try:
                    return c.recv(4000).decode()
                except TimeoutError:
                    return "waits"
        form = b"Content-Type: multipart/form-data; boundary=BB\r\n"
        for path, more in ((b"/write", b""), (b"/api/v2/write", b"Content-Encoding: gzip\r\n"), (b"/imp?name=rows_of", form), (b"/imp", form)):
            got = head(user, path, more=more)
            check.that(" 403 " in got[:20] and "[INSERT]" in got if b"write" in path else "[INSERT" in got and "waits" not in got, f"{path}: {got}")
            for who in (writer,) if b"name=" in path else (writer, maker):
                got = head(who, path, more=more)
                check.that(got == "waits", f"{path} by who may: {got}")
        key = s.rest.rows(f"alter user {user[0]} create token type jwk")[0][3]
        log_search.note(key)
        got = line_says(s, user[0], key)
        check.that(got is not None and "CREATE TABLE]" in got, f"lines: {got}")
        c = Lines(s, user[0])
        got = c.ends(c.signed(key), b"rows_of v=1,t=" + b"x" * 200000)
        check.that("[INSERT]" in got, f"a line that does not end: {got}")
        got = ask(s, auth=user, path="/write", method="POST", body=b"rows_of v=1\n" * 4000)
        check.that(got[0] == 403 and "[INSERT on rows_of" in got[1], f"a short body is told what it needs: {got[:2]}")
        got = ask(s, auth=writer, path="/write", method="POST", body=b"rows_of v=1\n" * 4000 + b"none_of v=1\n" + b"rows_of v=1\n" * 400000)
        check.that(got[0] == 403 and "CREATE TABLE]" in got[1] and s.rest.rows("select count() from rows_of") == [[0]], f"and each table is asked for at its first line: {got[:2]}")
        w = From(s.pg, *user)
        w.send(query("copy rows_of from stdin"))
        kind, body = w.read()
        check.that(kind == "E" and fields(body)["C"] == "42501", f"COPY: {kind} {body}")
        w.s.close()


def packed_bodies(check, o):
    """A packed body is unpacked as it comes: in memory are a piece of it and the rows that it adds, and these have a limit."""
    with House(o.binary, acl_password_hash_iteration_count=4096, request_memory_max="48m") as s:
        user = s.user()
        s.rest.must("create table swollen (v long, ts timestamp) timestamp(ts) partition by day")
        s.rest.must(f"grant insert on swollen to {user[0]}")
        gz = {"Content-Encoding": "gzip"}
        text = b"swollen v=1i 1700000000000000000\n" * 1000 + b"# a comment that is nothing to keep, and is long\n" * 400000
        (got, _, _), grown = peak(s, lambda: ask(s, auth=user, path="/write", method="POST", headers=gz, body=gzip.compress(text, 1)))
        check.that(got == 204 and grown < 16 * MB, f"{len(text) / MB:.0f} MB of comments: {got}, {grown / MB:.0f} MB more")
        check.that(s.rest.rows("select count() from swollen") == [[1000]], "its rows")
        rows = gzip.compress(b"swollen v=1i 1700000000000000000\n" * 2000000, 1)
        answers, grown = peak(s, lambda: at_once(3, lambda i: ask(s, auth=user, path="/write", method="POST", headers=gz, body=rows)))
        check.that(all(a[0] == 503 and "request.memory.user.max" in a[1] for a in answers), f"rows beyond the budget: {[a[:2] for a in answers]}")
        check.that(grown < 80 * MB, f"{grown / MB:.0f} MB more")
        cut = gzip.compress(text, 1)[:-9]
        got = ask(s, auth=user, path="/write", method="POST", headers=gz, body=cut)
        check.that(got[0] == 400 and "gzip" in got[1], f"cut off: {got[:2]}")
        check.that(s.rest.rows("select count() from swollen") == [[1000]], "nothing of what failed")
        check.that(within(3, lambda: requests_of(s) == 0), f"all is given back: {requests_of(s)}")


def budget_of_requests(check, o):
    """One budget for what is sent and not worked off, a part of it for each user: one who fills his leaves the others theirs."""
    settings = dict(request_memory_max="40m", request_memory_user_max="16m", acl_password_hash_iteration_count=4096)
    with House(o.binary, **settings) as s:
        greedy, modest = s.user(), s.user()
        for t in ("told", "said"):
            s.rest.must(f"create table {t} (v long, ts timestamp) timestamp(ts) partition by day")
            [s.rest.must(f"grant insert on {t} to {who}") for who, _ in (greedy, modest)]
        key = s.rest.rows(f"alter user {greedy[0]} create token type jwk")[0][3]
        log_search.note(key)

        def unfinished(what):
            """A connection for lines with a long line that does not end."""
            c = Lines(s, greedy[0])
            try:
                c.c.settimeout(20)
                c.c.sendall(c.signed(key) + what)
            except OSError:
                pass
            return c.c
        held, grown = peak(s, lambda: [unfinished(b"told v=1i,x=" + b"1" * (5 * MB)) for _ in range(8)])
        time.sleep(0.3)
        said = b""
        for c in held:
            c.settimeout(0.1)
            try:
                said += c.recv(1000)
            except OSError:
                pass
        check.that(b"request.memory.user.max" in said and grown < 60 * MB, f"unfinished lines: {grown / MB:.0f} MB more, {said[:200]}")
        check.that(0 < requests_of(s) <= 16 * MB, f"memory_metrics(): {requests_of(s)}")
        limits = dict(s.rest.rows("select * from memory_metrics()"))
        check.that(limits["REQUESTS_LIMIT"] == 40 * MB, f"{limits}")
        body = b"told v=2i\n" * 100000
        got = ask(s, auth=modest, path="/write", method="POST", body=body)
        check.that(got[0] == 204, f"another user writes: {got[:2]}")
        got = ask(s, auth=greedy, path="/write", method="POST", body=body * 5)
        check.that(got[0] == 503 and "request.memory.user.max" in got[1], f"the greedy one does not: {got[:2]}")
        [c.close() for c in held]
        check.that(within(3, lambda: requests_of(s) == 0), f"given back: {requests_of(s)}")
        # statements in forms, and parameters and messages of the PostgreSQL protocol
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        slow = [dial(s.http) for _ in range(4)]
        login = base64.b64encode(":".join(greedy).encode())
        for c in slow:
            c.sendall(b"POST /exec HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nAuthorization: Basic %s\r\nContent-Length: 9000000\r\n\r\nquery=" % login)
            try:
                c.sendall(b"x" * 6 * MB)
            except OSError:
                pass
        time.sleep(0.5)
        check.that(0 < requests_of(s) <= 16 * MB, f"forms are counted: {requests_of(s)}")
        told = b""
        for c in slow:
            c.settimeout(0.2)
            try:
                told += c.recv(2000)
            except OSError:
                pass
        check.that(b"request.memory.user.max" in told, f"and told: {told[:300]}")
        check.that(ask(s, auth=modest, path="/exec", method="POST", headers=form, body=b"query=select+1")[0] == 200, "others go on")
        [c.close() for c in slow]
        check.that(within(3, lambda: requests_of(s) == 0), f"given back: {requests_of(s)}")
        wires = [From(s.pg, *greedy) for _ in range(3)]
        said = []
        for w in wires:
            w.send(parse("", "select length($1::varchar)"), bind("p", "", [b"y" * 7 * MB]), SYNC)
            said += [fields(b)["M"] for k, b in w.until_ready() if k == "E"]
        w = wires[0]
        w.send(parse("", "select length($1::varchar)"))
        [w.send(bind(f"p{i}", "", [b"y" * 5 * MB])) for i in range(4)]
        w.send(SYNC)
        said += [fields(b)["M"] for k, b in w.until_ready() if k == "E"]
        check.that(any("request.memory.user.max" in one for one in said), f"parameters of portals: {said}")
        other = From(s.pg, *modest)
        check.that(other.error(query("select 1")) is None, "others go on")
        [x.s.close() for x in wires + [other]]
        check.that(within(3, lambda: requests_of(s) == 0), f"given back: {requests_of(s)}")


def prepared_statements(check, o):
    """What is prepared has a limit for each connection and for each user."""
    with House(o.binary, pg_prepared_memory_max="4m", pg_prepared_memory_user_max="10m", acl_password_hash_iteration_count=4096) as s:
        greedy, modest = s.user(), s.user()

        def prepares(w, n, size, start=0):
            """How many were prepared, and what the first refusal said."""
            text = "select " + ", ".join(f"{i} + x" for i in range(size)) + " from long_sequence(1)"
            done = 0
            for i in range(start, start + n):
                w.send(parse(f"s{i}", text), SYNC)
                errors = [fields(b) for k, b in w.until_ready() if k == "E"]
                if errors:
                    return done, (errors[0]["C"], errors[0]["M"])
                done += 1
            return done, None
        first = From(s.pg, *greedy)
        done, why = prepares(first, 400, 100)
        check.that(10 < done < 400 and why[0] == "53200" and "pg.prepared.memory.max" in why[1], f"of a connection: {done} {why}")
        check.that(first.rows("select 1") == [["1"]], "it goes on")
        got = first.error(query("prepare by_sql as select " + ", ".join("1 + x" for _ in range(2000)) + " from long_sequence(1)"))
        check.that(got is not None and "pg.prepared.memory.max" in str(got), f"PREPARE: {got}")
        first.error(query("deallocate all"))
        check.that(prepares(first, 5, 100)[0] == 5, "after DEALLOCATE there is room")
        more = [From(s.pg, *greedy) for _ in range(4)]
        told = [prepares(w, 400, 100)[1] for w in more]
        check.that("pg.prepared.memory.user.max" in told[-1][1], f"of a user: {told}")
        other = From(s.pg, *modest)
        check.that(prepares(other, 10, 100)[0] == 10, "another user prepares")
        first.s.close()
        [w.s.close() for w in more]
        last = From(s.pg, *greedy)
        check.that(within(3, lambda: prepares(last, 1, 100)[1] is None), "connections that end give it back")
        big = From(s.pg, *modest)
        got = prepares(big, 1, 60000)
        check.that(got[0] == 0 and "pg.prepared.memory.max" in got[1][1], f"one long text: {got}")


PARTS = [guesses_without_access_control, messages_of_tls, replaced_cookies, bad_passwords, changing_names, guessed_keys, turns, silent_connections, late_lines, cookies, held_results, may_before_bytes, packed_bodies, budget_of_requests, prepared_statements]


def main():
    o, done = arguments(), []
    with concurrent.futures.ThreadPoolExecutor(3) as pool:  # they wait most of the time
        for one in [pool.submit(run_part, part, o.pattern, done, o) for part in PARTS]:
            one.result()
    close(done)


if __name__ == "__main__":
    main()
