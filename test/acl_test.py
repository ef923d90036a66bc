#!/usr/bin/env python3
"""Access control: each statement with its permission is allowed and without it refused, over REST;
REVOKE takes effect at the next statement; tokens, cookies, restarts; nothing secret in the log.

Method: for each row of CASES a fresh user has the end points alone: the statement must answer 403 and name the
permission. With the grants of the row it must pass. A row may say what makes the state it needs.

    acl_test.py [--binary FILE] [--nightly] [PATTERN]
"""
import argparse, base64, http.client, json, pathlib, re, sys, threading, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE / "wire"))
from server import Server  # noqa: E402
from pgclient import Closed, Wire, fields, query  # noqa: E402

ADMIN = ("admin", "of the house")
# statement, missing permission as the error names it, grants (%s: the user), set-up, clean-up
CASES = [
    ("select a from t", "SELECT on t", ["select on t(a)"]),
    ("select ts, a from t", "SELECT on t", ["select on t(a)"]),
    ("select count() from t", "SELECT on t", ["select on t(b)"]),
    ("select * from t", "SELECT on t", ["select on t"]),
    ("select * from v", "SELECT on v", ["select on v"]),
    ("select a from t where a in (select a from u)", "SELECT on t", ["select on t(a)", "select on u(a)"]),
    ("with x as (select a from t) select * from x", "SELECT on t", ["select on t(a)"]),
    ("select sum(a) from t sample by 1h", "SELECT on t", ["select on t(a)"]),
    ("select t.a from t asof join u", "SELECT on t", ["select on t(a)", "select on u(a)"]),
    ("select (select max(a) from t) x", "SELECT on t", ["select on t(a)"]),
    ("explain select a from t", "SELECT on t", ["select on t(a)"]),
    ("show columns from t", "SELECT on t", ["select on t(a)"]),
    ("show create table t", "SELECT on t", ["select on t(a)"]),
    ("insert into t values (0, 1, 2)", "INSERT on t", ["insert on t"]),
    ("insert into t select ts, a, a from u", "INSERT on t", ["insert on t", "select on u(a)"]),
    ("update t set a = 1", "UPDATE on t(a)", ["update on t(a)"]),
    ("update t set a = b", "UPDATE on t(a)", ["update on t(a)", "select on t(b)"]),
    ("delete from t where a = 77", "DELETE on t", ["delete on t", "select on t(a)"]),
    ("create table n (x int)", "CREATE TABLE", ["create table"], [], ["drop table n"]),
    ("create table n as (select a from t)", "CREATE TABLE", ["create table", "select on t(a)"], [], ["drop table n"]),
    ("drop table n", "DROP TABLE on n", ["drop table on n"], ["create table n (x int)"], ["drop table if exists n"]),
    ("rename table n to m", "RENAME TABLE on n", ["rename table on n"], ["create table n (x int)"],
     ["drop table if exists n", "drop table if exists m"]),
    ("truncate table n", "TRUNCATE TABLE on n", ["truncate table on n"], ["create table n (x int)"], ["drop table n"]),
    ("alter table n add column y int", "ADD COLUMN on n", ["add column on n"], ["create table n (x int)"], ["drop table n"]),
    ("alter table n drop column y", "DROP COLUMN on n(y)", ["drop column on n(y)"], ["create table n (x int, y int)"], ["drop table n"]),
    ("alter table n rename column y to z", "RENAME COLUMN on n(y)", ["rename column on n(y)"], ["create table n (x int, y int)"],
     ["drop table n"]),
    ("alter table n alter column y type long", "ALTER COLUMN TYPE on n(y)", ["alter column type on n(y)"],
     ["create table n (x int, y int)"], ["drop table n"]),
    ("alter table n alter column s add index", "ADD INDEX on n(s)", ["add index on n(s)"], ["create table n (s symbol)"], ["drop table n"]),
    ("alter table n alter column s drop index", "DROP INDEX on n(s)", ["drop index on n(s)"], ["create table n (s symbol index)"],
     ["drop table n"]),
    ("alter table n alter column s nocache", "ALTER COLUMN CACHE on n(s)", ["alter column cache on n(s)"],
     ["create table n (s symbol)"], ["drop table n"]),
    ("alter table t set ttl 100 weeks", "SET TABLE PARAM on t", ["set table param on t"]),
    ("alter table t squash partitions", "DROP PARTITION on t", ["drop partition on t"]),
    ("alter table t dedup enable upsert keys(ts)", "DEDUP ENABLE on t", ["dedup enable on t"]),
    ("alter table t dedup disable", "DEDUP DISABLE on t", ["dedup disable on t"]),
    ("comment on table t is 'x'", "SET TABLE PARAM on t", ["set table param on t"]),
    ("vacuum table t", "VACUUM TABLE on t", ["vacuum table on t"]),
    ("create view w as (select a from t)", "CREATE VIEW", ["create view", "select on t(a)"], [], ["drop view w"]),
    ("alter view w as (select a from t)", "ALTER VIEW on w", ["alter view on w", "select on t(a)"],
     ["create view w as (select a from u)"], ["drop view w"]),
    ("drop view w", "DROP VIEW on w", ["drop view on w"], ["create view w as (select a from u)"], []),
    ("create user x", "CREATE USER", ["create user"], [], ["drop user x"]),
    ("drop user x", "DROP USER", ["drop user"], ["create user x"], ["drop user if exists x"]),
    ("alter user x disable", "DISABLE USER", ["disable user"], ["create user x"], ["drop user x"]),
    ("alter user x enable", "ENABLE USER", ["enable user"], ["create user x"], ["drop user x"]),
    ("alter user x with password y", "ADD PASSWORD", ["add password"], ["create user x"], ["drop user x"]),
    ("alter user x with no password", "REMOVE PASSWORD", ["remove password"], ["create user x"], ["drop user x"]),
    ("alter user x create token type rest with ttl '1h'", "CREATE REST TOKEN", ["create rest token"], ["create user x"], ["drop user x"]),
    ("alter user x drop token type rest", "DROP REST TOKEN", ["drop rest token"], ["create user x"], ["drop user x"]),
    ("alter user x create token type jwk", "CREATE JWK", ["create jwk"], ["create user x"], ["drop user x"]),
    ("alter user x drop token type jwk", "DROP JWK", ["drop jwk"], ["create user x"], ["drop user x"]),
    ("create group x", "CREATE GROUP", ["create group"], [], ["drop group x"]),
    ("drop group x", "DROP GROUP", ["drop group"], ["create group x"], ["drop group if exists x"]),
    ("add user x to g", "ADD USER", ["add user"], ["create user x"], ["drop user x"]),
    ("remove user x from g", "REMOVE USER", ["remove user"], ["create user x", "add user x to g"], ["drop user x"]),
    ("alter group g with external alias 'A, B'", "ADD EXTERNAL ALIAS", ["add external alias"], [], ["alter group g drop external alias 'A, B'"]),
    ("alter group g drop external alias q", "REMOVE EXTERNAL ALIAS", ["remove external alias"], ["alter group g with external alias q"], []),
    ("create service account x", "CREATE SERVICE ACCOUNT", ["create service account"], [], ["drop service account x"]),
    ("drop service account x", "DROP SERVICE ACCOUNT", ["drop service account"], ["create service account x"],
     ["drop service account if exists x"]),
    ("show users", "LIST USERS", ["list users"]),
    ("show permissions other", "USER DETAILS", ["user details"]),
    ("select * from sys.audit_log", "DATABASE ADMIN", ["database admin"]),
    ("select * from import_files()", "READ FILE", ["read file"]),
    ("select * from read_parquet('none.parquet')", "READ FILE", None),
    ("grant select on t to g", "GRANT SELECT on t", ["select on t", "WITH GRANT OPTION"]),
    ("checkpoint create", "SNAPSHOT", ["snapshot"], [], ["checkpoint release"]),
]


class Rest:
    def __init__(self, server):
        self.address = server.http

    def request(self, path, method="GET", auth=None, headers=None, body=None):
        host, port = self.address.rsplit(":", 1)
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        h = dict(headers or {})
        if isinstance(auth, tuple):
            h["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
        elif auth:
            h["Authorization"] = "Bearer " + auth
        c.request(method, path, body, h)
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r.status, text, r.headers

    def sql(self, text, auth=ADMIN, **params):
        params["query"] = text
        status, body, headers = self.request("/exec?" + urllib.parse.urlencode(params), auth=auth)
        return status, body

    def must(self, text, auth=ADMIN):
        status, body = self.sql(text, auth)
        if status != 200:
            raise AssertionError(f"{text}: {status} {body}")
        return json.loads(body)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def that(self, ok, what):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("FAIL", what)


def prepare(rest):
    for s in ("create table t (ts timestamp, a int, b int) timestamp(ts) partition by day",
              "create table u (ts timestamp, a int) timestamp(ts) partition by day",
              "insert into t values (0, 1, 2), (1000000, 3, 4)", "insert into u values (0, 1)",
              "create view v as (select * from t)", "create group g", "create user other"):
        rest.must(s)


class Pg:
    """The same statements over the PostgreSQL wire: (200, "") or what the error stands for, and its text."""

    def __init__(self, server):
        self.address = server.pg

    def sql(self, text, auth):
        w = Wire(self.address, user=auth[0], password=auth[1])
        errors = [fields(b) for k, b in w.ask(query(text)) if k == "E"]
        w.close()
        return (200, "") if not errors else ({"42501": 403}.get(errors[0]["C"], 400), errors[0]["M"])


def case(rest, check, row, number, over):
    statement, missing, grants = row[:3]
    setup, clean = (row[3], row[4]) if len(row) > 3 else ([], [])
    user = f"case{number}"
    way = type(over).__name__
    auth = (user, "pw")
    for s in [f"create user {user} with password pw", f"grant http, pgwire to {user}"] + setup:
        rest.must(s)
    status, body = over.sql(statement, auth)
    check.that(status == 403 and f"Access denied for {user} [{missing}" in body, f"{way}: {statement}: without {missing}: {status} {body[:200]}")
    if grants is not None:
        option = " with grant option" if "WITH GRANT OPTION" in grants else ""
        for g in grants:
            if g != "WITH GRANT OPTION":
                rest.must(f"grant {g} to {user}{option}")
        status, body = over.sql(statement, auth)
        check.that(status == 200, f"{way}: {statement}: with {grants}: {status} {body[:200]}")
    for s in clean:
        rest.must(s)
    rest.must(f"drop user {user}")


def logins(rest, check):
    rest.must("create user joe with password 'a b'")
    joe = ("joe", "a b")
    check.that(rest.sql("select 1", None)[0] == 401, "nobody is refused")
    check.that(rest.sql("select 1", ("joe", "x"))[0] == 401, "a wrong password is refused")
    check.that(rest.sql("select 1", ("nobody", "x"))[1] == rest.sql("select 1", ("joe", "x"))[1], "unknown users get the same answer")
    status, body = rest.sql("select 1", joe)
    check.that(status == 403 and "Access denied for joe [HTTP]" in body, f"without HTTP: {status} {body}")
    rest.must("grant http to joe")
    check.that(rest.sql("select 1", joe)[0] == 200, "with HTTP")
    token = rest.must("alter user joe create token type rest with ttl '1h'", joe)["dataset"][0][1]
    check.that(rest.sql("select current_user()", token)[0] == 200, "a token")
    check.that(rest.sql("select 1", token[:-1] + ("A" if token[-1] != "A" else "B"))[0] == 401, "another token")
    status, _, headers = rest.request("/exec?query=select+1&session=true", auth=joe)
    cookie = headers["Set-Cookie"].split(";")[0]
    check.that(status == 200 and "HttpOnly" in headers["Set-Cookie"], "a cookie")
    check.that(rest.request("/exec?query=select+1", headers={"Cookie": cookie})[0] == 200, "the cookie lets in")
    check.that(rest.request("/exec?query=select+1", headers={"Cookie": cookie, "Origin": "http://elsewhere"})[0] == 403, "not from elsewhere")
    check.that(rest.request("/exec?query=select+1&session=false", headers={"Cookie": cookie})[0] == 200, "log out")
    check.that(rest.request("/exec?query=select+1", headers={"Cookie": cookie})[0] == 401, "the cookie is over")
    rest.must("alter user joe disable")
    check.that(rest.sql("select 1", joe)[0] == 401 and rest.sql("select 1", token)[0] == 401, "disabled")
    rest.must("alter user joe enable")
    return token


def at_once(rest, check):
    """A REVOKE counts for the next statement, also for a text whose plan is kept."""
    rest.must("create user eve with password pw")
    rest.must("grant http to eve")
    eve = ("eve", "pw")
    for _ in range(3):
        rest.must("grant select on t(a) to eve")
        for _ in range(4):
            check.that(rest.sql("select a from t where a > 0", eve)[0] == 200, "granted")
        rest.must("revoke select on t(a) from eve")
        check.that(rest.sql("select a from t where a > 0", eve)[0] == 403, "revoked")
    rest.must("grant select on all tables to eve")
    rest.must("revoke select on t(b) from eve")
    check.that(rest.sql("select a from t", eve)[0] == 200 and rest.sql("select b from t", eve)[0] == 403, "all but one column")
    rest.must("rename table u to u2")
    check.that(rest.sql("select a from u2", eve)[0] == 200, "grants go with a table")
    rest.must("rename table u2 to u")
    status, body = rest.sql("select * from nosuch_u", eve)
    check.that(status == 400, "a table that is not there")
    rest.must("revoke select on all tables from eve")
    check.that("did you mean" not in rest.sql("select * from tt", eve)[1], "names of others are not told")
    check.that(json.loads(rest.sql("select * from tables()", eve)[1])["count"] == 0, "nor listed")


def end_points(s, rest, check):
    """PGWIRE lets in over the PostgreSQL wire and HTTP over HTTP; /imp and /write ask for what the rows need."""
    rest.must("create user pat with password pw")
    pat = ("pat", "pw")
    try:
        Wire(s.pg, user="pat", password="pw")
        check.that(False, "PGWIRE is asked for")
    except (PermissionError, Closed) as e:
        check.that("Access denied for pat [PGWIRE]" in str(e) or isinstance(e, Closed), f"without PGWIRE: {e!r}")
    rest.must("grant http to pat")
    form = b'--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\nts,a,b\r\n1000,5,6\r\n--x--\r\n'
    for path, body, headers, needs in (("/write", b"t a=5i,b=6i 1700000000000000000\n", {}, "insert on t"),
                                       ("/imp?name=t&forceHeader=true&fmt=json", form, {"Content-Type": "multipart/form-data; boundary=x"}, "insert on t"),
                                       ("/write", b"made_by_line a=5i 1700000000000000000\n", {}, "create table"),
                                       ("/imp?name=made_by_imp&forceHeader=true&fmt=json", form, {"Content-Type": "multipart/form-data; boundary=x"}, "create table")):
        count = rest.must("select count() from t")["dataset"]
        status, text, _ = rest.request(path, "POST", pat, headers, body)
        check.that(status in (403, 421) and "Access denied" in text, f"{path} without {needs}: {status} {text[:200]}")
        check.that(rest.must("select count() from t")["dataset"] == count, f"{path}: nothing is stored")
        rest.must(f"grant {needs} to pat")
        status, text, _ = rest.request(path, "POST", pat, headers, body)
        check.that(status in (200, 204), f"{path} with {needs}: {status} {text[:300]}")
        rest.must(f"revoke {needs} from pat")


def names_are_not_told(s, rest, check):
    """Functions about objects know nothing of a table on which one may do nothing."""
    rest.must("create user nosy with password pw")
    rest.must("grant http to nosy")
    nosy = ("nosy", "pw")
    oid = rest.must("select to_regclass('t')::oid o")["dataset"][0][0]
    asks = ["select to_regclass('t') is null n", f"select {oid}::regclass::text = 't' is false n", f"select pg_table_size({oid}) is null n",
            f"select obj_description({oid}, 'pg_class') is null n"]
    for ask in asks:
        check.that("true" in rest.sql(ask, nosy)[1].split("dataset")[-1], f"{ask}: {rest.sql(ask, nosy)}")
    check.that(rest.sql("select 't'::regclass", nosy)[0] == 400, "a regclass of it")
    rest.must("grant select on t(a) to nosy")
    check.that("false" in rest.sql(asks[0], nosy)[1].split("dataset")[-1], "with a right on it, it is there")


def grants_between(rest, check):
    """RENAME and DROP CASCADE beside GRANTs of others."""
    rest.must("create user busy")
    rest.must("create table other_table (x int)")
    over = threading.Event()

    def grant():
        mine = Rest.__new__(Rest)
        mine.address = rest.address
        while not over.is_set():
            mine.must("grant select on other_table to busy")
            mine.must("revoke select on other_table from busy")
    threads = [threading.Thread(target=grant) for _ in range(2)]
    [t.start() for t in threads]
    try:
        for i in range(40):
            rest.must("create table moving (x int)")
            rest.must("grant insert on moving to busy")
            rest.must("rename table moving to moved")
            rest.must("drop table moved cascade permissions")
        check.that(True, "all went through")
    except AssertionError as e:
        check.that(False, f"beside GRANTs: {e}")
    over.set()
    [t.join() for t in threads]
    check.that("mov" not in json.dumps(rest.must("show permissions busy")), "no grant is left")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--binary")
    a.add_argument("--nightly", action="store_true")
    a.add_argument("pattern", nargs="?", default="")
    o = a.parse_args()
    check = Checks()
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_PASSWORD": ADMIN[1], "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096"}
    with Server(binary=o.binary, env=env) as s:
        rest = Rest(s)
        prepare(rest)
        for i, row in enumerate(CASES):
            if re.search(o.pattern, row[0]):
                for over in (rest, Pg(s)):
                    try:
                        case(rest, check, row, i, over)
                    except AssertionError as e:
                        check.that(False, str(e))
        token = logins(rest, check)
        at_once(rest, check)
        end_points(s, rest, check)
        names_are_not_told(s, rest, check)
        grants_between(rest, check)
        before = rest.must("show permissions joe")["dataset"], rest.must("show users")["dataset"]
        s.kill()
        s.start()
        rest = Rest(s)
        check.that((rest.must("show permissions joe")["dataset"], rest.must("show users")["dataset"]) == before, "all is there after a restart")
        check.that(rest.sql("select 1", token)[0] == 200, "tokens, too")
        log = (s.root / "server.log").read_text(errors="replace")
        check.that(token not in log and ADMIN[1] not in log and "a b" not in log, "nothing secret is in the log")
    print(f"{check.passed} passed, {check.failed} failed")
    sys.exit(check.failed != 0)


if __name__ == "__main__":
    main()
