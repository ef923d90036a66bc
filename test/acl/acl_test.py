#!/usr/bin/env python3
"""Access control: each statement and each end point with its permission is allowed and without it refused, over REST and over the PostgreSQL
wire; REVOKE takes effect at the next statement; tokens, cookies, restarts; lists that tell no secret.

Method: for each row of acl_cases.py a fresh user has the end points alone: the statement must answer 403 and name the permission. With the grants
of the row it must pass. What the program knows (permissions, kinds of statements, routes) and what the tables have are compared.

    acl_test.py [--binary FILE] [--nightly] [PATTERN]      PATTERN: of the names of the parts below
"""
import base64, json, re, threading, time, warnings

from acl_cases import END_POINTS, FREE, NOT_THERE, STATEMENTS, WITHOUT
from lib import log_search
from lib.acl_checks import ADMIN, ENV, PW, Lines, Pg, Rest, run_suite
from lib.pgclient import Closed, Wire, parse, query, SYNC
from lib.server import TOP, Server

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import questdb.ingress as official
except ImportError:
    official = None

class House(Server):
    """A server with the tables, the group and the files that the cases are about, and a statement of somebody that runs all the while."""

    def __enter__(self):
        super().__enter__()
        self.rest, self.number = Rest(self), 0
        for s in ("create table t (ts timestamp, a int, b int) timestamp(ts) partition by day",
                  "create table u (ts timestamp, a int) timestamp(ts) partition by day",
                  "insert into t values (0, 1, 2), (1000000, 3, 4)", "insert into u values (0, 1)",
                  "create table ints (x int)", "create view v as (select * from t)", "create group g", "create user other", "create service account sa", "grant pgwire to sa",
                  f"create user runner with password '{PW}'", "grant http, read file to runner"):
            self.rest.must(s)
        (self.root / "import").mkdir(exist_ok=True)
        (self.root / "import" / "rows.csv").write_text("ts,a,b\n1970-01-01T00:00:01Z,5,6\n")
        host = Wire(self.pg, password=ADMIN[1])
        host.send(query("copy (select 1 x) to stdout with (format parquet)"))
        (self.root / "import" / "one.parquet").write_bytes(b"".join(body for kind, body in host.until_ready() if kind == "d"))
        self.facts = {"held": json.loads(self.rest.request("/exec?query=select+1+from+long_sequence(9)&snapshot=new", auth=("runner", PW))[1])["snapshot"]}
        return self

    def user(self):
        self.number += 1
        name = f"case{self.number}"
        for s in (f"create user {name} with password '{PW}'", f"grant http, pgwire to {name}"):
            self.rest.must(s)
        return name, PW

    def running(self):
        """The number of a statement of another user, which runs; begun when there is none."""
        text = "select count() from long_sequence(1000000000000)"
        found = f"select query_id from query_activity() where query = '{text}'"
        if not self.rest.rows(found):
            threading.Thread(target=self.rest.sql, args=(text, ("runner", PW)), daemon=True).start()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            got = self.rest.rows(found)
            if got:
                return got[0][0]
            time.sleep(0.01)
        raise AssertionError("the statement of the other user does not run")

    def copying(self):
        """The same of a COPY: its id."""
        found = self.rest.rows("select export_id from export_activity() where username = 'runner'")
        return found[0][0] if found else self.rest.rows("copy (select x from long_sequence(1000000000000)) to 'endless' with format parquet", ("runner", PW))[0][0]

    def ended(self, text):
        """The statement or the COPY that was ended is gone: the next one finds another."""
        gone = {"{running}": "select query_id from query_activity() where username = 'runner' and query like 'select%'",
                "{copying}": "select export_id from export_activity() where username = 'runner'"}
        end = time.monotonic() + 30
        while time.monotonic() < end and any(mark in text and self.rest.rows(ask) for mark, ask in gone.items()):
            time.sleep(0.01)

    def filled(self, text):
        if "{copying}" in text:
            text = text.replace("{copying}", self.copying())
        if "{session}" in text:
            self.rest.request("/exec?query=select+1&session=true", auth=("runner", PW))
            text = text.replace("{session}", self.rest.rows("select session_id from session_activity() where username = 'runner' order by login_time desc limit 1")[0][0])
        if "{running}" in text:
            text = text.replace("{running}", str(self.running()))
        if "{version}" in text:
            text = text.replace("{version}", str(json.loads(self.rest.request("/settings")[1])["preferences.version"]))
        return text.replace("{held}", self.facts["held"]).replace("{number}", str(self.number))


def grant(s, user, grants):
    option = " with grant option" if "WITH GRANT OPTION" in grants else ""
    for g in grants:
        if g != "WITH GRANT OPTION":
            s.rest.must(f"grant {g} to {user}{option}")


# ------------------------------------------------------------------ the tables
def case(check, s, row, over):
    kind, statement, missing, grants = row[:4]
    setup, clean = (row[4], row[5]) if len(row) > 4 else ([], [])
    way, auth = type(over).__name__, s.user()
    user = auth[0]
    try:
        for one in setup:
            s.rest.must(one.replace("%s", user))
        text = s.filled(statement) if isinstance(statement, str) else statement
        status, body = over.sql(text, auth)
        check.that(status == 403 and f"Access denied for {user} [{missing}" in body, f"{way}: {text}: without {missing}: {status} {body[:200]}")
        grant(s, user, grants)
        status, body = over.sql(s.filled(statement) if isinstance(statement, str) else statement, auth)
        check.that(status == 200, f"{way}: {text}: with {grants}: {status} {body[:200]}")
        s.ended(str(statement))
        wait_for_copies(s)
    finally:
        for one in clean:
            s.rest.must(one)
        s.rest.must(f"drop user {user}")


def wait_for_copies(s):
    """COPY with files goes on behind its answer. The lists of imports and exports have it from the answer on; query_activity, from the moment its thread begins."""
    ends = ("select (select count() from text_import_log() where status = 'started') - (select count() from text_import_log() where status != 'started')",
            "select count() from export_activity() where username != 'runner'",
            "select count() from query_activity() where query ilike 'copy %' and username != 'runner'")
    end = time.monotonic() + 30
    while time.monotonic() < end and any(s.rest.rows(ask)[0][0] for ask in ends):
        time.sleep(0.01)


def statements(check, s):
    for row in STATEMENTS:
        ways = [Pg(s)] if "pg" in row[6:] else [s.rest, Pg(s)]
        for over in ways:
            try:
                case(check, s, row, over)
            except AssertionError as e:
                check.that(False, f"{row[0]}: {row[1]}: {e}")


def free_statements(check, s):
    for kind, statement in FREE:
        auth = s.user()
        text = statement.replace("{me}", auth[0]) if isinstance(statement, str) else statement
        status, body = Pg(s).sql(text, auth)
        check.that(status == 200, f"{kind}: {statement}: {status} {body}")


def routes():
    """(path, methods, does it need a login) of route.def."""
    text = (TOP / "src/net/http/route.def").read_text()
    return [(path, methods, login == "true") for path, methods, login in re.findall(r'^ALM_ROUTE\("([^"]+)", "([^"]+)", \w+, (true|false),', text, re.M)]


def end_points(check, s):
    """Nobody, a user without HTTP, one with it, one with what it needs."""
    for path, methods, login in routes():
        for method, at, body, headers, missing, grants, good in END_POINTS.get((methods, path), []):
            what = f"{method} {at}"

            def ask(auth):
                whole = (body or b"").replace(b"{one.parquet}", (s.root / "import" / "one.parquet").read_bytes())
                return s.rest.request(s.filled(at), method, auth, headers, whole or None)
            user = s.user()
            status = ask(None)[0]
            check.that(status == (401 if login else good), f"{what}: nobody: {status}")
            s.rest.must(f"revoke http from {user[0]}")
            status, text, _ = ask(user)
            refused = status == 403 and (method == "HEAD" or f"Access denied for {user[0]} [HTTP]" in text)
            check.that(refused if login else status == good, f"{what}: without HTTP: {status} {text[:200]}")
            s.rest.must(f"grant http to {user[0]}")
            if missing is not None:
                status, text, _ = ask(user)
                check.that(missing in text and status == (200 if path == "/chk" else 403), f"{what}: without {missing}: {status} {text[:200]}")
            grant(s, user[0], grants)
            status, text, _ = ask(user)
            check.that(status == good and (missing is None or missing not in text), f"{what}: with {grants}: {status} {text[:300]}")
            s.ended(at)


def members(path, name, prefix):
    """Of an enumeration of a header."""
    body = re.search(rf"typedef enum {name} {{(.*?)}} {name};", (TOP / path).read_text(), re.S)[1]
    return [m for m in re.findall(rf"\b{prefix}(\w+)", re.sub(r"/\*.*?\*/", "", body, flags=re.S)) if not m.endswith("COUNT")]


def nothing_is_left_out(check, s):
    """A permission, a kind of statement or an end point that the program has must have a row."""
    permissions = re.findall(r'^ALM_PERMISSION\(\d+, "([^"]+)"', (TOP / "src/auth/permission.def").read_text(), re.M)
    known = [row[0] for row in s.rest.rows("select permission from all_permissions()")]
    check.that(sorted(permissions) == sorted(known), "all_permissions() is the table")
    named = [row[2] for row in STATEMENTS] + [r[4] for rows in END_POINTS.values() for r in rows if r[4]]
    tried = {p for p in permissions for n in named if n == p or n.startswith(p + " on ")} | {"HTTP", "PGWIRE", "ILP"}  # end_points, interfaces, line_keys
    check.that(set(permissions) - tried == NOT_THERE, f"permissions without a row: {sorted(set(permissions) - tried - NOT_THERE)}; too many in NOT_THERE: {sorted(NOT_THERE & tried)}")
    kinds = set(re.findall(r"^ALM_STATEMENT\((\w+)", (TOP / "src/sql/parse/statement.def").read_text(), re.M)) - {"ACL"}
    kinds |= {"ALTER " + m for m in members("src/sql/parse/ast.h", "alm_alter_kind", "ALM_ALTER_")} | {"ACL " + m for m in members("src/sql/parse/ast.h", "alm_acl_verb", "ALM_ACL_")}
    rows = {row[0] for row in STATEMENTS + FREE} | WITHOUT
    check.that(len(kinds) > 60 and kinds == rows, f"kinds of statements without a row: {sorted(kinds - rows)}; rows of no kind: {sorted(rows - kinds)}")
    have = {(methods, path) for path, methods, _ in routes()}
    check.that(len(have) > 15 and have == set(END_POINTS), f"end points without a row: {sorted(have - set(END_POINTS))}; rows of none: {sorted(set(END_POINTS) - have)}")
    for (methods, path), asked in END_POINTS.items():
        check.that({a[0] for a in asked} == set(methods.split(",")), f"{path}: each of {methods}")


# ------------------------------------------------------------------ who comes in
def interfaces(check, s):
    """PGWIRE lets in over the PostgreSQL wire, and HTTP does not."""
    s.rest.must(f"create user pat with password '{PW}'")
    s.rest.must("grant http to pat")
    try:
        Wire(s.pg, user="pat", password=PW)
        check.that(False, "PGWIRE is asked for")
    except (PermissionError, Closed) as e:
        check.that("Access denied for pat [PGWIRE]" in str(e), f"without PGWIRE: {e!r}")
    s.rest.must("grant pgwire to pat")
    check.that(Wire(s.pg, user="pat", password=PW).rows("select current_user()") == [["pat"]], "with PGWIRE")


def logins(check, s):
    """Passwords, tokens, cookies, accounts that are disabled; a token outlives a restart."""
    rest = s.rest
    rest.must("create user joe with password 'a b of joe'")
    joe = ("joe", "a b of joe")
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
    before = rest.must("show permissions joe")["dataset"], rest.must("show users")["dataset"]
    s.kill()
    s.start()
    check.that((rest.must("show permissions joe")["dataset"], rest.must("show users")["dataset"]) == before, "all is there after a restart")
    check.that(rest.sql("select 1", token)[0] == 200, "tokens, too")


def defaults(check, s):
    """Access control is on where the administrator has a password of his own, unless it is said to be off; the factory one is warned about."""
    clear = "passwords and tokens travel in clear"
    for env, on, warned in (({}, False, False), ({"ACL_ADMIN_PASSWORD": ADMIN[1]}, True, False), ({"ACL_ADMIN_PASSWORD": ADMIN[1], "ACL_ENABLED": "false"}, False, False),
                            ({"ACL_ENABLED": "true"}, True, True), ({"ACL_ENABLED": "true", "ACL_ADMIN_USER_ENABLED": "false"}, True, False), ({"ACL_ENABLED": "true", "PG_AUTH_CLEARTEXT": "true"}, True, True)):
        with Server(binary=s.binary, env={"ALMANAC_" + key: value for key, value in env.items()}) as one:
            rest, told = Rest(one), one.log_path.read_text()
            facts = json.loads(rest.request("/settings")[1])["config"]
            check.that((rest.sql("select 1", None)[0] == 401) == on == facts.get("acl.enabled", False) and facts["release.type"] == ("EE" if on else "OSS"), f"{env}: {facts}")
            check.that(("FACTORY PASSWORD" in rest.request("/warnings")[1]) == warned, f"{env}: {rest.request('/warnings')}")
            check.that((f"WARN http {clear}" in told) == on and (f"WARN pg {clear}" in told) == ("PG_AUTH_CLEARTEXT" in env), f"{env}: {told}")
    try:
        Server(binary=s.binary, env={"ALMANAC_ACL_ENABLED": "true", "ALMANAC_HTTP_BIND_TO": "0.0.0.0:0"}).start().stop()
        check.that(False, "the factory password is for loopback addresses")
    except RuntimeError as e:
        check.that("the administrator's password is the factory one" in str(e), f"the factory password: {e}")


def at_once(check, s):
    """A REVOKE counts for the next statement, also for a text whose plan is kept."""
    rest = s.rest
    rest.must(f"create user eve with password '{PW}'")
    rest.must("grant http to eve")
    eve = ("eve", PW)
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
    check.that(rest.sql("select * from nosuch_u", eve)[0] == 403, "a table that is not there, and that she might not list: as one that is hidden")
    rest.must("grant select on nosuch_u to eve")
    check.that(rest.sql("select * from nosuch_u", eve)[0] == 400, "one that she might list is not there")
    rest.must("revoke select on nosuch_u from eve")
    rest.must("revoke select on all tables from eve")
    check.that("did you mean" not in rest.sql("select * from tt", eve)[1], "names of others are not told")
    check.that(json.loads(rest.sql("select * from tables()", eve)[1])["count"] == 0, "nor listed")


def names_are_not_told(check, s):
    """Functions about objects know nothing of a table on which one may do nothing."""
    rest = s.rest
    rest.must(f"create user nosy with password '{PW}'")
    rest.must("grant http to nosy")
    nosy = ("nosy", PW)
    oid = rest.must("select to_regclass('t')::oid o")["dataset"][0][0]
    asks = ["select to_regclass('t') is null n", f"select {oid}::regclass::text = 't' is false n", f"select pg_table_size({oid}) is null n",
            f"select obj_description({oid}, 'pg_class') is null n"]
    for ask in asks:
        check.that("true" in rest.sql(ask, nosy)[1].split("dataset")[-1], f"{ask}: {rest.sql(ask, nosy)}")
    check.that(rest.sql("select 't'::regclass", nosy)[0] == 400, "a regclass of it")
    rest.must("grant select on t(a) to nosy")
    check.that("false" in rest.sql(asks[0], nosy)[1].split("dataset")[-1], "with a right on it, it is there")


def jobs_of_others(check, s):
    """Imports and exports of others, their files and statements, are for those who may end them."""
    rest, mine, other = s.rest, s.user(), s.user()
    for name in (mine[0], other[0]):
        rest.must(f"grant read file, create table to {name}")
    copied = rest.rows("copy jobs_of_mine from 'rows.csv' with header true", mine)[0][0]
    written = rest.rows("copy (select 'of mine' x) to 'of_mine' with format parquet", mine)[0][0]
    wait_for_copies(s)
    lists = {"text_import_log": copied, "copy_export_log": written, "export_activity": s.copying()}

    def shows(name, auth):
        return lists[name] in json.dumps(rest.rows(f"select * from {name}()", auth))
    for restarted in (False, True):
        check.that(shows("text_import_log", mine) and not shows("text_import_log", other) and shows("text_import_log", ADMIN), f"an import; restarted: {restarted}")
        if not restarted:
            check.that(shows("copy_export_log", mine) and not shows("copy_export_log", other) and shows("copy_export_log", ADMIN), "an export")
            check.that(not shows("export_activity", mine) and shows("export_activity", ADMIN), "an export that runs")
            for job in (copied, written):
                status, body = rest.sql(f"copy '{job}' cancel", other)
                check.that(status == 403 and "CANCEL ANY COPY" in body, f"nor what became of it: {body}")
            s.kill()
            s.start()
    rest.must(f"grant cancel any copy to {other[0]}")
    check.that(shows("text_import_log", other), "who may end them sees them")
    # a kill can leave the next one behind, half written
    files = [f for f in s.root.rglob("*") if f.is_file() and f.suffix != ".tmp" and b'"imports":[' in f.read_bytes()[:200]]
    check.that(len(files) == 1, f"the list of imports: {files}")
    s.stop()
    files[0].write_text(re.sub(r'"owner":"[^"]*",', "", files[0].read_text()))
    s.start()
    check.that(not shows("text_import_log", mine) and shows("text_import_log", ADMIN), "a list of an older version, without owners")


def revoked_below(check, s):
    """REVOKE below the place of a grant turns it into grants on what is left there: it needs grant option there."""
    rest, owner, reader = s.rest, ("owns", PW), ("reads", PW)
    for who in ("owns", "reads"):
        rest.must(f"create user {who} with password '{PW}'")
        rest.must(f"grant http to {who}")
    rest.must("create group readers_of_all")
    rest.must("add user reads to readers_of_all")
    rest.must("grant create table to owns")
    check.that(rest.sql("create table owned_one (x int, y int)", owner)[0] == 200, "a table of his own")
    rest.must("create table split_one (x int, y int)")
    for to in ("reads", "readers_of_all"):
        rest.must(f"grant select, insert on all tables to {to}")
        for sql in (f"revoke all on owned_one from {to}", f"revoke select on owned_one from {to}", f"revoke select on owned_one(x) from {to}"):
            status, answer = rest.sql(sql, owner)
            check.that(status == 403 and "on all tables" in answer, f"{sql}: {status} {answer}")
        rest.must("create table made_later (x int)")
        check.that(rest.sql("select * from made_later", reader)[0] == 200, f"a grant on all tables stays whole: {to}")
        rest.must("drop table made_later")
        rest.must(f"revoke select, insert on all tables from {to}")
    rest.must("grant select on owned_one to reads")
    check.that(rest.sql("revoke select on owned_one(x) from reads", owner)[0] == 200, "of the table that is his, by column")
    check.that(rest.sql("select y from owned_one", reader)[0] == 200 and rest.sql("select x from owned_one", reader)[0] == 403, "all but the column")
    rest.must("grant select on split_one to reads")
    rest.must("grant select on split_one(x) to owns with grant option")
    status, answer = rest.sql("revoke select on split_one(x) from reads", owner)
    check.that(status == 403 and "split_one" in answer, f"grant option on a column is none on the table: {status} {answer}")
    rest.must("alter table split_one add column z int")
    check.that(rest.sql("select z from split_one", reader)[0] == 200, "a grant on the table stays whole")
    rest.must("grant select on all tables to reads")
    rest.must("revoke select on split_one from reads")
    check.that(rest.sql("select * from split_one", reader)[0] == 403 and rest.sql("select * from t", reader)[0] == 200, "an administrator may split")
    for sql in ("drop table owned_one", "drop table split_one", "drop user owns", "drop user reads", "drop group readers_of_all"):
        rest.must(sql)


def owners_end(check, s):
    """Where an administrator drops a table, its owner's grants end, whatever he took from himself before."""
    rest, owner = s.rest, ("made", PW)
    rest.must(f"create user made with password '{PW}'")
    rest.must("grant http, create table, create view, create materialized view to made")
    takes = ("revoke reindex on {t} from made", "revoke select on {t}(x) from made", "revoke all on {t}(x) from made", "revoke all on {t} from made", "grant select on {t} to made", "revoke select on {t}(x) from made; revoke all on {t} from made; grant http to made", "")
    for i, take in enumerate(takes):
        table = f"ended{i}"
        check.that(rest.sql(f"create table {table} (ts timestamp, x int, y int) timestamp(ts) partition by day", owner)[0] == 200, "a table of his own")
        for sql in filter(None, take.format(t=table).split("; ")):
            rest.sql(sql, owner)
        rest.must(f"drop table {table}")
        rest.must(f"create table {table} (ts timestamp, x int, y int) timestamp(ts) partition by day")
        rest.must(f"insert into {table} values (0, 1, 2)")
        for sql in ("select * from {t}", "select y from {t}", "select ts from {t}", "insert into {t} values (1, 2, 3)", "alter table {t} add column z int", "drop table {t}", "grant select on {t} to other"):
            status, answer = rest.sql(sql.format(t=table), owner)
            check.that(status == 403, f"after {take}: {sql}: {status} {answer}")
        check.that(table not in str(rest.rows("show permissions made")), f"after {take}: {rest.rows('show permissions made')}")
        rest.must(f"drop table {table}")
    check.that(rest.sql("create table kept_one (x int)", owner)[0] == 200, "a table of his own")
    rest.must("rename table kept_one to kept_two")
    check.that("kept_two" in str(rest.rows("show permissions made")) and rest.sql("drop table kept_two", owner)[0] == 200, "a new name keeps its owner")
    check.that("kept" not in str(rest.rows("show permissions made")), "and his DROP ends what he had")
    rest.must("drop user made")


def backups_apart(check, s):
    """Who may back up tables alone writes to no directory of others, and the owner of a table may not even that."""
    rest, owner = s.rest, ("keeps", PW)
    rest.must(f"create user keeps with password '{PW}'")
    rest.must("grant http to keeps")
    rest.must("grant create table to keeps")
    check.that(rest.sql("create table kept (x int)", owner)[0] == 200, "a table of his own")
    check.that(rest.sql("grant all on kept to other", owner)[0] == 200 and "BACKUP TABLE" not in rest.sql("show permissions other")[1], "ALL of an owner goes without it")
    rest.must("backup database to 'nightly'")
    status, answer = rest.sql("backup table kept to 'of_owner'", owner)
    check.that(status == 403 and "BACKUP TABLE on kept" in answer, f"owners: {status} {answer}")
    rest.must("grant backup table on kept to keeps")
    for to in (" to 'nightly'", " to 'nightly/files'", " to './nightly'", " to 'new/one'", " to '.'", "", " to '99999999.manifest'", " to '00000009.MANIFEST'", " to 'lock'", " to 'Files'", " to 'owner'", " to '00000002.manifest.tmp'"):
        status, answer = rest.sql(f"backup table kept{to}", owner)
        check.that(status == 403 and "BACKUP DATABASE" in answer, f"backup{to}: {status} {answer}")
    check.that(rest.sql("backup table kept to 'kept_one'", owner)[0] == 200, "a new directory")
    check.that(rest.sql("backup table kept to 'kept_one'", owner)[0] == 403, "that is new no more")
    rest.must("grant backup database to keeps")
    check.that(rest.sql("backup table kept to 'kept_one'", owner)[0] == 200, "who may back up the database")
    top = s.root / "backups"
    for name in ("99999999.manifest", "00000007.manifest"):
        (top / "nightly" / name).mkdir()
    rest.must("backup database to 'nightly'")
    rest.must("backup database to 'nightly'")
    found = sorted(p.name for p in (top / "nightly").glob("*.manifest") if p.is_file())
    check.that(found == ["00000001.manifest", "00000002.manifest", "00000003.manifest"], f"a directory is no manifest: {found}")
    rest.must("drop table kept")
    rest.must("drop user keeps")


def lists_in_writes(check, s):
    """Lists of the server have the rows, and ask for the permissions, in statements that write, too."""
    rest, low = s.rest, ("lister", PW)
    rest.must(f"create user lister with password '{PW}'")
    rest.must("grant http, create table to lister")
    for source, permission in (("sys.audit_log", "DATABASE ADMIN"), ("all_users()", "LIST USERS"), ("keywords()", None), ("query_activity()", None), ("pg_settings", None)):
        shown = rest.rows(f"select count() from {source}")[0][0]
        rest.must(f"create table kept_list as (select * from {source})")
        check.that(rest.rows("select count() from kept_list")[0][0] >= shown > 0, f"create table as: {source}")
        rest.must("truncate table kept_list")
        rest.must(f"insert into kept_list select * from {source}")
        check.that(rest.rows("select count() from kept_list")[0][0] >= shown, f"insert: {source}")
        rest.must("drop table kept_list")
        rest.must("create table kept_count (x long)")
        rest.must("insert into kept_count values (0), (1)")
        rest.must(f"update kept_count set x = (select count() from {source})")
        check.that(all(n >= shown for n, in rest.rows("select x from kept_count")), f"update: {source}")
        rest.must(f"delete from kept_count where exists (select 1 from {source})")
        check.that(rest.rows("select count() from kept_count") == [[0]], f"delete: {source}")
        rest.must("drop table kept_count")
        check.that(rest.sql("create table his_list (x long)", low)[0] == 200, "his table")
        for sql in (f"create table his_copy as (select * from {source})", f"insert into his_list select count() from {source}", f"update his_list set x = (select count() from {source})",
                    f"delete from his_list where exists (select 1 from {source})", f"explain analyze select * from {source}"):
            status, answer = rest.sql(sql, low)
            check.that(status == (200 if permission is None else 403) and (permission is None or permission in answer), f"{sql}: {status} {answer}")
        for sql in ("drop table his_list", "drop table if exists his_copy"):
            rest.must(sql)
    rest.must("drop user lister")


def grants_between(check, s):
    """RENAME and DROP CASCADE beside GRANTs of others."""
    rest = s.rest
    rest.must("create user busy")
    rest.must("create table other_table (x int)")
    over = threading.Event()

    def grant():
        mine = Rest(s)
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


def memory_limits(check, s):
    """One's own counts, else the least of one's groups'; it is felt by the next statement, and there after a restart."""
    rest, auth = s.rest, s.user()
    me, needs = auth[0], "select count() from (select x, count() from long_sequence(300000) group by x)"  # some 20 MB

    def limit():
        """What the refusal says, or 0."""
        found = re.search(r"limit=(\d+)", rest.sql(needs, auth)[1])
        return int(found[1]) if found else 0
    for name in ("frugal", "thrifty"):
        rest.must(f"create group {name}")
    check.that(limit() == 0, "nothing is said")
    for statement, want in ((f"alter user {me} set memory limit 1M", 1 << 20), (f"alter user {me} set memory limit 2097152", 2 << 20), (f"alter user {me} set memory limit '3m'", 3 << 20),
                            (f"add user {me} to frugal, thrifty", 3 << 20), ("alter group frugal set memory limit 1M", 3 << 20), (f"alter user {me} set memory limit unlimited", 1 << 20),
                            ("alter group thrifty set memory limit 512K", 512 << 10), ("alter group thrifty set memory limit 0", 1 << 20), (f"alter user {me} set memory limit 2G", 0),
                            (f"alter user {me} set memory limit 4096K", 4 << 20)):
        rest.must(statement)
        check.that(limit() == want, f"{statement}: {limit()}")
    check.that(rest.rows("select * from memory_limits()") == [[me, 4 << 20], ["frugal", 1 << 20]], f"memory_limits(): {rest.rows('select * from memory_limits()')}")
    rest.must("alter service account sa set memory limit 5M")
    rest.must(f"grant assume service account sa to {me}")
    status, text = Pg(s).sql(["assume service account sa", needs], auth)
    check.that(status != 200 and f"limit={5 << 20}" in text, f"that of the account: {text}")
    rest.must(f"alter user {me} with password '{PW}'")
    s.kill()
    s.start()
    check.that(limit() == 4 << 20, "kept, also when something else is changed")
    for statement, error, position in ((f"alter user {me} set memory limit 5T", "a size is a number of bytes", len(me) + 29), (f"alter user {me} set memory limit 1K", "at least 64K", len(me) + 29),
                                       (f"alter user {me} set memory limit 99999999999G", "a size is", len(me) + 29), (f"alter user {me} set memory limit", "a size, such as 512M", len(me) + 28),
                                       (f"alter user {me} set memory limit -1", "a size, such as 512M", len(me) + 29), (f"alter user {me} set memory limit 1M 2", "unexpected token", len(me) + 32),
                                       ("alter user admin set memory limit 1M", "the built-in admin has no memory limit", 11), ("alter user nobody set memory limit 1M", "user does not exist", 11),
                                       ("alter group sa set memory limit 1M", "group does not exist", 12)):
        status, body = rest.sql(statement)
        got = json.loads(body)
        check.that(status == 400 and error in got["error"] and got["position"] == position, f"{statement}: {body}")
    for one in ("frugal", "thrifty"):
        rest.must(f"drop group {one}")
    rest.must("alter service account sa set memory limit unlimited")


# ------------------------------------------------------------------ SHOW CREATE DATABASE
MADE = ["create table d1 (ts timestamp, s symbol capacity 512 nocache index, v double, \"odd name\" int) timestamp(ts) partition by week ttl 3 weeks dedup upsert keys(ts, s)",
        "create table \"d 2\" (x int)", "comment on table d1 is 'it''s a table'", "comment on column d1.v is 'a value'", "create view z1 as (select v from d1)", "create view a1 as (select v from d1)",
        "create view m1 as (select * from d1)", "alter view a1 as (select v from z1)", "comment on view z1 is 'last of all'",
        "create materialized view mv1 refresh every 2h as (select ts, sum(v) v from d1 sample by 1h) partition by day ttl 2 weeks", "alter materialized view mv1 set refresh limit 3 days",
        "create group \"group \"\"1\"\"\" with external alias 'CN=x, O=y'", "create group g2", "alter group g2 with external alias 'a ''b'", "alter group g2 set memory limit 3M",
        "create user anna with password 'pw-of-anna-1'", "create user ben", "alter user ben disable", "alter user anna set memory limit 1G", "create service account bot with password 'pw-of-bot-1'",
        "add user anna to g2, \"group \"\"1\"\"\"", "grant http, pgwire to g2", "grant create table to g2 with grant option", "grant select, insert on all tables to g2", "grant update on d1(v, s) to anna with grant option",
        "grant select on d1(\"odd name\") to anna", "grant drop table on \"d 2\" to ben", "grant select on never_made to ben", "grant assume service account bot to anna with grant option",
        "alter user anna create token type rest with ttl '1h'", "alter user anna create token type jwk"]


def database_again(check, s):
    """The statements of SHOW CREATE DATABASE make another database of which it says the same."""
    with Server(binary=s.binary, env=ENV) as first, Server(binary=s.binary, env=ENV) as second:
        one, other = Rest(first), Rest(second)
        for statement in MADE:
            one.must(statement)
        one.must("grant create table to anna")
        one.must("create table of_anna (x int)", ("anna", "pw-of-anna-1"))
        made = [row[0] for row in one.rows("show create database")]
        for statement in made:
            other.must(statement)
        check.that(len(made) > 30 and [row[0] for row in other.rows("show create database")] == made, "again, and the same")
        for ask in ("show users", "show groups", "show groups anna", "show permissions anna", "show permissions g2", "show permissions ben", "show service accounts anna", "select * from external_aliases()",
                    "select table_name, designatedTimestamp, ttlValue, ttlUnit, dedup from tables() order by 1", "select view_name, view_sql from views() order by 1", "show columns from d1"):
            check.that(one.rows(ask) == other.rows(ask), f"{ask}: {one.rows(ask)} {other.rows(ask)}")
        told = json.dumps(made)
        check.that("pw-of" not in told and "qt1" not in told and "SCRAM" not in told, "no secrets")
        check.that(other.sql("select 1", ("anna", "pw-of-anna-1"))[0] == 401, "who has no password comes not in")
        kinds = {"tables": {"CREATE TABLE", "COMMENT ON"}, "views": {"CREATE VIEW", "COMMENT ON"}, "materialized_views": {"CREATE MATERIALIZED", "ALTER MATERIALIZED"}, "users": {"CREATE USER", "ALTER USER"},
                 "groups": {"CREATE GROUP", "ALTER GROUP"}, "service_accounts": {"CREATE SERVICE"}, "permissions": {"GRANT"}, "tables, permissions": {"CREATE TABLE", "COMMENT ON", "GRANT"},
                 "ACL": {"CREATE USER", "ALTER USER", "CREATE GROUP", "ALTER GROUP", "CREATE SERVICE", "ADD USER", "GRANT"}}
        for words, want in kinds.items():
            got = {"GRANT" if row[0].startswith("GRANT") else " ".join(row[0].split(" ")[:2]) for row in one.rows(f"show create database {words}")}
            check.that(got == want, f"show create database {words}: {got}")
        check.that(len(one.rows("(show create database tables) order by ddl limit 1")) == 1 and one.rows("select count() from show_create_database('views')") == [[4]], "as a table")
        status, body = one.sql("show create database tables, nothing")
        check.that(status == 400 and "'nothing' is none of TABLES" in body and json.loads(body)["position"] == 21, f"another word: {body}")
        one.must("grant http to ben")
        one.must("alter user ben enable")
        one.must("alter user ben with password 'pw-of-ben-1'")
        ben = ("ben", "pw-of-ben-1")
        check.that(one.sql("show create database", ben)[0] == 403, "who may not list users")
        status, body = one.sql("show create database tables", ben)
        check.that(status == 403 and "SELECT on d 2" in body, f"a table that he sees and may not read: {body}")
        one.must("grant select on \"d 2\" to ben")
        check.that([row[0].split("'")[1] for row in one.rows("show create database tables, views", ben)] == ["d 2"], "those that he sees alone")
        first.stop()
        first.env = {**ENV, "ALMANAC_ACL_ENABLED": "false"}
        first.start()
        got = one.must("show create database", None)["dataset"]
        check.that(len(got) > 8 and not any("GRANT" in row[0] for row in got), "without access control there are no users")


# ------------------------------------------------------------------ lines over TCP
def lines(check, s):
    """Keys of users for lines over TCP, by hand and by the official client: who has ILP, a key, and what the rows need."""
    rest, (me, _) = s.rest, s.user()
    other = s.user()[0]

    def make(name):
        row = rest.rows(f"alter user {name} create token type jwk")[0]
        log_search.note(row[3])
        check.that(row[0] == name and [len(base64.urlsafe_b64decode(part + "==")) for part in row[1:]] == [32, 32, 32], f"a key pair: {row[:3]}")
        return row[1:]
    x, y, d = make(me)
    strange = make(other)[2]
    rest.must("create table lines (v double, ts timestamp) timestamp(ts) partition by day")

    def send(key=d, name=me, table="lines", columns=None):
        """By the client; what it met, or None. The server closes on an error, which the client sees when it sends again."""
        with official.Sender.from_conf(f"tcp::addr={s.line};username={name};token={key};token_x={x};token_y={y};") as sender:
            sender.row(table, columns=columns or {"v": 1.5}, at=official.TimestampNanos(1000))
            sender.flush()

    def count(table="lines"):
        return rest.rows(f"select count() from {table}")[0][0]

    def arrives(n, table="lines"):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if rest.rows(f"select count() from tables() where table_name = '{table}'") == [[1]] and count(table) == n:
                return True
            time.sleep(0.02)
        return False
    row = b"lines v=9 1000\n"

    def refused(name, key, what, wants, **more):
        c = Lines(s, name)
        told = c.ends(c.signed(key, **more), row)
        check.that(wants in told and count() == before, f"{what}: {told}")
        return c
    before = 0
    refused(me, d, "without ILP", f"Access denied for {me} [ILP]")
    rest.must(f"grant ilp to {me}")
    refused(me, d, "without INSERT", f"Access denied for {me} [INSERT on lines or CREATE TABLE]")
    rest.must(f"grant insert on lines to {me}")
    if official is not None:
        send()
    else:
        c = Lines(s, me)
        c.c.sendall(c.signed(d) + row)
    check.that(arrives(1), "with key, ILP and INSERT")
    before = 1
    refused(me, strange, "the key of another", "login failed")
    refused("nobody", d, "an unknown name", "login failed")
    refused("admin", d, "the admin has none", "login failed")
    first = Lines(s, me)
    answer = first.signed(d)
    check.that("login failed" in Lines(s, me).ends(answer, row) and count() == 1, "an answer to another challenge")
    challenges = {Lines(s, me).challenge for _ in range(5)} | {first.challenge}
    check.that(len(challenges) == 6, "challenges differ")
    check.that("login failed" in Lines(s, me).ends(base64.b64encode(bytes(64)) + b"\n", row), "no signature")
    c = Lines(s, me)
    told = c.ends(c.signed(d), b"fresh v=1 1000\n")
    check.that(f"Access denied for {me} [INSERT on fresh or CREATE TABLE]" in told, f"a new table: {told}")
    c = Lines(s, me)
    told = c.ends(c.signed(d), b"lines v=1,w=2 1000\n")
    check.that(f"Access denied for {me} [ADD COLUMN on lines]" in told and count() == 1, f"a new column: {told}")
    rest.must(f"grant create table to {me}")
    rest.must(f"grant add column on lines to {me}")
    for table, columns, n in (("fresh", {"v": 1.5}, 1), ("lines", {"v": 1.5, "w": 2.5}, 2)):
        if official is not None:
            send(table=table, columns=columns)
            check.that(arrives(n, table), f"{table}: with the permission")
    before = count()
    rest.must(f"alter user {me} disable")
    refused(me, d, "disabled", "login failed")
    rest.must(f"alter user {me} enable")
    held = Lines(s, me)
    held.c.sendall(held.signed(d) + row)
    check.that(arrives(before + 1), "enabled again")
    before += 1
    rest.must(f"revoke insert on lines from {me}")
    told = held.ends(row)
    check.that(f"Access denied for {me} [INSERT on lines]" in told and count() == before, f"REVOKE counts for a connection that is open: {told}")
    rest.must(f"grant insert on lines to {me}")
    old = d
    x, y, d = make(me)
    refused(me, old, "a key that was replaced", "login failed")
    rest.must(f"alter user {me} drop token type jwk")
    refused(me, d, "a key that was dropped", "login failed")
    rest.must("create service account feeder")
    rest.must("grant ilp, create table to feeder")
    feeder = rest.rows("alter service account feeder create token type jwk")[0][3]
    log_search.note(feeder)
    c = Lines(s, "feeder")
    c.c.sendall(c.signed(feeder) + b"fed v=1 1000\n")
    check.that(arrives(1, "fed") and rest.rows("select current_user()") == [["admin"]], "a service account")
    check.that(any(row[1:5] == ["login", "refused", me, "line"] for row in rest.rows("select * from sys.audit_log")), "refused log-ins are in the audit log")


def lists_tell_no_secret(check, s):
    """What runs, what is prepared, plans, errors and the audit log have no password and no token, whatever is wrong with the statement."""
    secret, w, rest = "never-told-77", Wire(s.pg, password=ADMIN[1]), s.rest
    token = rest.rows("alter user other create token type rest with ttl '1h'")[0][1]
    texts = [f"create user hush with password '{secret}'", f"alter user hush with password '{secret}'", f"explain alter user hush with password '{secret}'",
             f"alter user nobody with password '{secret}'", f"select 1; alter user hush with password '{secret}'", f"alter user hush wiht password '{secret}'",
             f"alter user hush with password '{secret}", f"alter user other drop token type rest '{token}'", f"explain drop user '{token}'"]
    lists = ["select * from query_activity()", "select * from pg_stat_activity", "select * from pg_prepared_statements", "select * from sys.audit_log",
             "select * from show_parameters()", "select * from show_settings()", "select * from user_logins('hush')", "select * from pg_authid"]
    for text in texts:
        told = [str(w.ask(query(text)))]
        held = Wire(s.pg, password=ADMIN[1])
        held.send(parse("named", text), SYNC)
        told.append(str(held.until_ready()))
        told += [str(w.rows(one)) + str(rest.rows(one)) + str(held.rows(one)) for one in lists]
        told += [json.loads(rest.sql(text)[1]).get("error", ""), rest.request("/warnings")[1], rest.request("/settings")[1], rest.request("/metrics", auth=ADMIN)[1]]
        held.s.close()
        check.that(not any(secret in one or token in one for one in told), f"{text}: {[one for one in told if secret in one or token in one]}")
    slow = Wire(s.pg, password=ADMIN[1])
    slow.send(query(f"select count() from long_sequence(100000000000); alter user hush with password '{secret}'"))
    end, seen = time.monotonic() + 30, []
    while not seen and time.monotonic() < end:
        seen = [row for row in w.rows("select query_id, query from query_activity()") if "long_sequence" in row[1]]
    check.that(seen and "password ****" in seen[0][1] and secret not in seen[0][1], f"while it runs: {seen}")
    w.rows(f"select cancel_query({seen[0][0]})")
    slow.s.close()


PARTS = [nothing_is_left_out, statements, free_statements, end_points, interfaces, logins, defaults, at_once, names_are_not_told, jobs_of_others, revoked_below, owners_end, backups_apart, lists_in_writes, grants_between, memory_limits, database_again, lines, lists_tell_no_secret]


if __name__ == "__main__":
    run_suite(PARTS, House, ENV)
