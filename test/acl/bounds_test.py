#!/usr/bin/env python3
"""The bounds of access control: what somebody could read, take or start who was not granted it. One part for each way that has to stay closed.

    bounds_test.py [--binary FILE] [PATTERN]      PATTERN: of the names of the parts below
"""
import base64, json, re, threading, time, urllib.parse

from acl_test import House
from lib.acl_checks import ADMIN, ENV, PW, Pg, Rest, pg_answer, run_suite
from lib.pgclient import Wire, query
from lib.server import Server

BASIC = {"Authorization": "Basic " + base64.b64encode(":".join(ADMIN).encode()).decode()}


def preferences(check, s):
    """Saved queries and boards are for whoever has a login; anybody may know the name, the kind and the colour of the server."""
    secret, shown = "board.pay", {"instance_name": "lab", "instance_type": "test", "instance_rgb": "r"}
    kept = {secret: "select sum(sal) from pay", "instance_description": "of the house", **shown}

    def read(rest, auth=None, headers=None, method="GET"):
        status, text, got = rest.request("/settings", method, auth, headers)
        check.that(status == 200 and got["Cache-Control"] == "no-store", f"/settings {auth} {headers}: {status}")
        return json.loads(text)

    def public(what, found):
        check.that(found["preferences"] == shown and found.get("preferences.public") is True and "release.version" in found["config"] and "sal" not in str(found), f"{what}: {found}")

    def whole(what, found):
        check.that(found["preferences"] == kept and "preferences.public" not in found, f"{what}: {found}")

    def put(rest, auth):
        version = json.loads(rest.request("/settings", auth=auth)[1])["preferences.version"]
        check.that(rest.request(f"/settings?version={version}", "PUT", auth, None, json.dumps(kept).encode())[0] == 200, "kept")

    rest = s.rest
    put(rest, ADMIN)
    user = s.user()
    whole("the administrator", read(rest, ADMIN))
    whole("a user with HTTP", read(rest, user))
    token = rest.must(f"alter user {user[0]} create token type rest with ttl '1h'", user)["dataset"][0][1]
    whole("a token", read(rest, token))
    cookie = rest.request("/exec?query=select+1&session=true", auth=user)[2]["Set-Cookie"].split(";")[0]
    whole("a cookie", read(rest, None, {"Cookie": cookie}))
    public("nobody", read(rest))
    public("a wrong password", read(rest, (user[0], "wrong")))
    public("a wrong token", read(rest, token[:-1] + ("A" if token[-1] != "A" else "B")))
    public("a cookie that is none", read(rest, None, {"Cookie": "qdb_session=qs1" + "x" * 43}))
    public("a cookie beside a page of another site", read(rest, None, {"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}))
    public("Authorization that is none", read(rest, None, {"Authorization": "Basic"}))
    rest.must(f"revoke http from {user[0]}")
    public("a user without HTTP", read(rest, user))
    public("his cookie", read(rest, None, {"Cookie": cookie}))
    rest.must(f"grant http to {user[0]}")
    rest.must(f"alter user {user[0]} disable")
    public("a disabled user", read(rest, user))
    check.that(rest.request("/settings", "HEAD")[0] == 200, "HEAD")
    refused = [row for row in rest.rows("select * from sys.audit_log") if row[1:4] == ["login", "refused", user[0]]]
    check.that(len(refused) >= 2, f"bad credentials are in the audit log: {refused}")
    with Server(binary=s.binary, env={"ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": PW}) as one:
        me = Rest(one)
        put(me, ("me", PW))
        whole("http.user", read(me, ("me", PW)))
        cookie = me.request("/exec?query=select+1&session=true", auth=("me", PW))[2]["Set-Cookie"].split(";")[0]
        whole("its cookie", read(me, None, {"Cookie": cookie}))
        public("without http.user", read(me))
        public("http.user with another password", read(me, ("me", "wrong")))
        public("Bearer", read(me, "me"))
    with Server(binary=s.binary) as one:
        put(Rest(one), None)
        whole("no logins at all", read(Rest(one)))


def barriers(check, s):
    """What a reader puts above the view of somebody else sees none of the rows that the view hides: not in errors, not by what it reads."""
    rest, (user, pw) = s.rest, s.user()
    who = (user, pw)
    for one in ("create table pay (ts timestamp, who symbol, dept symbol, sal int, note varchar) timestamp(ts) partition by day",
                "create table udept (u varchar, dept symbol)", "create table mine (dept symbol)", "insert into mine values ('it')", f"insert into udept values ('{user}', 'it')",
                "insert into pay values (0, 'ann', 'it', 7, 'u4pr'), (1, 'bob', 'hr', 20077, 'told'), (2, 'cy', 'hr', 30077, '(')",
                "insert into pay select (3 + x)::timestamp, 'd' || x, 'hr', 20077, '(' from long_sequence(3000)",
                "create view by_in as (select ts, who, sal, note from pay where dept in (select d.dept from udept d where u = current_user()))",
                "create view by_join as (select ts, who, sal, note from pay join udept on pay.dept = udept.dept where u = current_user())",
                "create view by_left as (select ts, who, sal, note from pay left join udept on pay.dept = udept.dept where u = current_user())",
                "create view by_column as (select ts, who, sal, note from pay where dept = 'it')",
                "create view by_group as (select who, max(ts) ts, max(sal) sal, max(note) note from pay group by who having max(sal) < 10)",
                "create view by_limit as (select ts, who, sal, note from pay order by ts limit 1)",
                "create view by_latest as (select ts, who, sal, note from (pay latest on ts partition by who) where sal < 10)",
                "create view by_view as (select * from by_in)",
                "create view by_value as (declare overridable @d := 'it' select ts, who, sal, note from pay where dept = @d and sal < 10)",
                "create view by_table as (declare overridable @t := udept select * from @t)"):
        rest.must(one)
    views = ["by_in", "by_join", "by_left", "by_column", "by_group", "by_limit", "by_latest", "by_view", "by_value"]
    rest.must(f"grant select on {', '.join(views)}, by_table, mine to {user}")
    fails = ["sal::decimal(2,0) >= 0", "case when sal::decimal(2,0) > 1 then 1 else 2 end > 0", "(sal + 1)::decimal(3,1) in (8m, 9m)", "who || sal::decimal(2,0) > 'a'"]
    told = []
    for bad in fails:
        status, text = rest.sql(f"select who from pay where {bad}")
        told += [bad] if status != 200 else []
        for v in views:
            for form in (f"select who from {v} where {bad}", f"select x.who from {v} x join mine y on y.dept = 'it' and {bad.replace('sal', 'x.sal').replace('note', 'x.note').replace('who', 'x.who')}",
                         f"with c as (select * from {v}) select who from c where {bad}", f"select who from {v} where {bad} order by ts limit 5",
                         f"select who from (select who, {bad} ok from {v}) where ok", f"select who from {v} group by who, {bad}",
                         f"select (select max(who) from {v} where {bad}) who"):
                status, text = rest.sql(form, who)
                got = json.loads(text).get("dataset")
                check.that(status == 200 and got == [["ann"]], f"{form}: {status} {text[-200:]}")
    check.that(told == fails, f"conditions that fail on rows that are hidden: {told}")
    # variables of a view
    for value, status in (("'hr'", 200), ("lower('IT')", 200), ("(select max(note) from pay)", 403), ("note", 403), ("(select 'it')", 403), ("case when note > 'a' then 'it' end", 403),
                          ("concat('i', (select 't'))", 403), ("max(note)", 403)):
        got = rest.sql(f"declare @d := {value} select count() from by_value", who)
        check.that(got[0] == status, f"@d := {value}: {got}")
        check.that(rest.sql(f"declare @d := {value} select count() from by_value")[0] != 403, f"the administrator may: {value}")
    for value in ("pay", "tables()", "all_users()", "(select * from pay)", "'pay'"):
        got = rest.sql(f"declare @t := {value} select * from by_table", who)
        check.that(got[0] == 403, f"@t := {value}: {got}")
    for v in views + ["by_table"]:
        rest.must(f"drop view {v}")
    rest.must("drop table pay")
    rest.must("drop table udept")
    rest.must("drop table mine")


def plans(check, s):
    """EXPLAIN shows nothing of what lies below a view of somebody else: no names, no figures, and nothing that depends on rows that it hides. Who made the view, and who may everything, see all."""
    rest, (user, pw), (maker, _), who = s.rest, s.user(), s.user(), None
    who, by = (user, pw), (maker, pw)
    for one in ("create table xpay (ts timestamp, xwho symbol, xdept symbol, xsal long, xnote varchar) timestamp(ts) partition by day", "create table mine (dept symbol, n long)",
                "insert into xpay values (0, 'ann', 'it', 7, 'open'), (1, 'bob', 'hr', 20077, 'told')", "insert into xpay select (1000 + x)::timestamp, 'd' || x, 'hr', x, 'n' from long_sequence(3000)", "insert into mine values ('it', 1)",
                f"grant select on xpay, mine to {maker}", f"grant create view to {maker}", f"grant create view to {user}"):
        rest.must(one)
    cols = "xwho who, xsal sal, xnote note"
    made = {"by_in": f"select ts, {cols} from xpay where xdept in (select 'it')", "by_join": f"select ts, {cols} from xpay join (select 'it' d) t on xdept = d", "by_column": f"select ts, {cols} from xpay where xdept = 'it'",
            "by_group": "select xwho who, max(ts) ts, max(xsal) sal, max(xnote) note from xpay group by xwho having max(xsal) < 10", "by_latest": f"select ts, {cols} from (xpay latest on ts partition by xwho) where xsal < 10",
            "by_with": f"with w as (select * from xpay) select ts, {cols} from w where xdept = (select max(xdept) from w)", "by_union": f"select ts, {cols} from xpay where xdept = 'it' union all select ts, {cols} from xpay where xdept = 'none'"}
    for v, text in made.items():
        rest.must(f"create view {v} as ({text})", by)
    made["by_view"] = "select * from by_in"
    rest.must("create view by_view as (select * from by_in)", by)
    rest.must(f"grant select on {', '.join(made)}, mine to {user}")
    rest.must(f"grant create table, insert on all tables to {user}")
    rest.must("create table target (ts timestamp, who symbol, sal long, note varchar) timestamp(ts)", who)
    rest.must("create view own as (select * from by_in)", who)

    def shape(v):
        return {"filter": f"select * from {v} where sal > {{}} and who = '{{}}' and ts in '1970'", "pushed": f"select who from (select who, sal from {v} order by sal limit 5) where sal > {{}} and who != '{{}}'",
                "join": f"select x.who from {v} x join mine y on y.n = x.sal where x.sal > {{}} and x.who = '{{}}'", "asof": f"select a.who from {v} a asof join {v} b on (who) where a.sal > {{}} and a.who in ('{{}}')" if v not in ("by_group", "by_union", "by_with", "by_join") else f"select who from {v} where sal > {{}} or who = '{{}}'",
                "group": f"select who, count() from {v} where sal > {{}} and who = '{{}}' group by who", "with": f"with c as (select * from {v}) select * from c where sal > {{}} and who = '{{}}' union all select * from c",
                "exists": f"select * from mine where exists (select 1 from {v} where sal > {{}} and who = '{{}}')", "value": f"select *, (select max(who) from {v} where sal > {{}} and who = '{{}}') from mine", "limit": f"select * from mine limit (select count() from {v} where sal > {{}} and who = '{{}}')",
                "pivot": f"select * from (select who, sal from {v} where sal > {{}} and who != '{{}}') pivot (max(sal) for who in (select who from {v}))"}
    names = r"xpay|xdept|xwho|xsal|xnote|scan (?!mine)"
    words = re.compile(names + r"|memory|batches|read=|Peak")
    named = {"own": "by_in"}

    def walk(v, auth, sealed):
        for kind, form in shape(v).items():
            for options in ("", "(analyze)", "(format json)", "(analyze, format json)"):
                answers = set()
                for sal, name in ((5, "bob"), (10000, "bob"), (5, "bob2"), (10000, "nobody")):
                    text = f"explain {options} {form.format(sal, name)}"
                    status, body = rest.sql(text, auth)
                    if status != 200:
                        check.that(False, f"{text}: {status} {body[-300:]}")
                        continue
                    plan = "\n".join(row[0] for row in json.loads(body)["dataset"])
                    if not sealed:
                        check.that("xpay" in plan or kind in ("limit", "pivot") or "none" in plan or "limit" in plan, f"all is seen: {text}: {plan}")
                        continue
                    check.that(not re.search(names, plan) if kind == "limit" else not words.search(plan), f"{auth[0]}: {text}: {plan}")
                    if kind == "limit":
                        continue  # it runs before there is a plan, and is a number there
                    check.that(f"view {named.get(v, v)}" in plan or f'"Alias": "{named.get(v, v)}"' in plan, f"the view is named: {text}: {plan}")
                    plan = re.sub(r"time=[0-9.]+ms|Actual Total Time\": [0-9.]+", "", plan)
                    plan = plan.replace(f"'{name}'", "NAME").replace(f"> {sal}", "SAL")
                    # of figures there is what comes out, which is asked for anyway
                    check.that(plan.count("rows=") + plan.count("Actual Rows") == ("analyze" in options), f"figures: {text}: {plan}")
                    answers.add(re.sub(r"rows=\d+|Actual Rows\": \d+", "", plan))
                if sealed and kind != "limit":
                    check.that(len(answers) == 1, f"{auth[0]}: {v} {kind} {options}: the plan depends on rows that are hidden: {answers}")
    for v in made:
        walk(v, who, True)
    walk("own", who, True)
    walk("by_in", by, False)
    walk("by_in", ADMIN, False)
    walk("own", ADMIN, False)
    # statements that write, and prepared ones
    writes = ["insert into target select * from by_in where sal > 5", "create table copied as (select * from by_in where who = 'bob')"]
    for one in writes:
        plan = "\n".join(row[0] for row in rest.rows(f"explain {one}", who))
        check.that("view by_in" in plan and not words.search(plan), f"explain {one}: {plan}")
    one = Wire(s.pg, user=user, password=pw)
    one.send(query("prepare p as select * from by_in where sal > $1 and who = $2"))
    pg_answer(one)
    one.send(query("explain analyze execute p(5, 'bob')"))
    plan = str(pg_answer(one))
    check.that("view by_in" in plan and not words.search(plan), f"explain execute: {plan}")
    one.s.close()
    # which view it is may not change what runs
    for v in made:
        check.that(rest.rows(f"select count() from {v} where sal > 5", who) == rest.rows(f"select count() from {v} where sal > 5"), f"{v}: the rows are the same")
    for v in ["own", *reversed(made)]:
        rest.must(f"drop view {v}")
    for t in ("xpay", "mine", "target"):
        rest.must(f"drop table {t}")


def refreshes(check, s):
    """A materialized view sees what its definer may: lists of the catalogue, functions about it, and tables, at each refresh."""
    rest, who = s.rest, s.user()
    for one in ("create table base (ts timestamp, x int) timestamp(ts) partition by day wal", "insert into base values (0, 1)",
                "create table hidden_one (ts timestamp, y int) timestamp(ts) partition by day wal", "insert into hidden_one values (0, 1)",
                "create view hidden_view as (select * from hidden_one)", f"grant create materialized view to {who[0]}", f"grant select on base to {who[0]}"):
        rest.must(one)
    lists = ["(select table_name n from tables())", "(select table_name n from all_tables())", "(select view_name n from views())", "(select relname n from pg_class)", "(select relname n from pg_catalog.pg_class)",
             "(select table_name n from information_schema.tables)", "(select column_name || table_name n from information_schema.columns)", "(select ddl n from show_create_database())",
             "(select tablename n from pg_tables)", "(select name n from wal_tables())", "(select view_name n from materialized_views())"]
    count, needs = 0, {}

    def refresh(name, how):
        """Where the list needs a permission that the definer lacks, the refresh is refused, whoever runs it."""
        status, body = rest.sql(f"refresh materialized view {name} {how}")
        # 400: it was refused before, and says for what reason the view is invalid
        check.that(status in (403, 400) and f"Access denied for {who[0]} [{needs[name]}]" in body if name in needs else status == 200, f"refresh {name} {how}: {status} {body}")
    for text in lists:
        name = f"m{count}"
        if "show_create_database" in text:
            needs[name] = "LIST USERS"
        made = f"create materialized view {name} as (select base.ts, max(l.n) n, string_agg(l.n, ',') a from base cross join {text} l sample by 1d) partition by month"
        made = made.replace("base cross", "base cross", 1)
        status, body = rest.sql(made.replace(" as (", " with base base as (", 1), who)
        if status != 200:
            status, body = rest.sql(made, who)
        if status != 200:
            check.that("hidden" not in body, f"{made}: {body}")
            continue
        count += 1
        for full in (" incremental", " full"):
            refresh(name, full)
            got = rest.rows(f"select * from {name}")
            check.that(got == rest.rows(f"select * from {name}", who) and "hidden" not in str(got), f"{text}{full}: {got}")
    check.that(count >= 8, f"materialized views of lists: {count}")
    rest.must("insert into base values (86400000000, 2)")
    for i in range(count):
        refresh(f"m{i}", "incremental")
    for i in range(count):
        check.that("hidden" not in str(rest.rows(f"select * from m{i}")), f"behind a commit: m{i}")
        rest.must(f"drop materialized view m{i}")
    # tables, too: what the definer lost is read no more
    rest.must("create materialized view kept as (select ts, sum(x) x from base sample by 1d) partition by month", who)
    rest.must("refresh materialized view kept full")
    rest.must(f"revoke select on base from {who[0]}")
    status, body = rest.sql("refresh materialized view kept full")
    check.that(status == 403 and f"Access denied for {who[0]} [SELECT on base" in body, f"a table that was taken from the definer: {status} {body}")
    rest.must(f"grant select on base to {who[0]}")
    rest.must("refresh materialized view kept full")
    rest.must(f"drop user {who[0]}")
    status, body = rest.sql("refresh materialized view kept full")
    check.that(status == 403 and "the definer of view kept is gone" in body, f"a definer that is gone: {status} {body}")
    check.that(rest.rows("select count() from kept") == [[2]], "it keeps the rows it has")
    for one in ("drop materialized view kept", "drop table base", "drop view hidden_view", "drop table hidden_one"):
        rest.must(one)


def grants_of_names(check, s):
    """Grants are of what they were given on: not of the next table, column or view of that name, when somebody else makes it."""
    rest = s.rest
    a, b, reader = s.user(), s.user(), s.user()
    rest.must(f"grant create table, create view, create materialized view to {a[0]}")
    rest.must(f"grant create table, create view to {b[0]}")

    def readable(name, auth, what="*"):
        return rest.sql(f"select {what} from {name}", auth)[0] == 200

    def denied(name, auth, why, what="*"):
        status, body = rest.sql(f"select {what} from {name}", auth)
        check.that(status == 403, f"{why}: {status} {body}")

    # a grant on a column, made before there is anything, is none on a view
    rest.must(f"grant select on fut(a) to {reader[0]}")
    rest.must("create view fut as (select 1 a, 2 b)")
    for what in ("*", "a", "b", "count()"):
        denied("fut", reader, f"a column grant is none on a view: {what}", what)
    check.that(rest.sql("show columns from fut", reader)[0] == 403, "SHOW COLUMNS of it")
    check.that("fut" not in str(rest.rows(f"show permissions {reader[0]}")), "it went when the view was made")
    rest.must("drop view fut")
    rest.must(f"grant select on fut(a) to {reader[0]}")
    rest.must("create table fut (a int, b int)")
    check.that(readable("fut", reader, "a") and not readable("fut", reader, "b"), "on a table of the administrator it is as before")
    rest.must("drop table fut cascade permissions")

    # the owner's grants, and those that he gave, end with the table
    for make, drop in (("create table payroll (x int)", "drop table payroll"), ("create view payroll as (select 1 x)", "drop view payroll")):
        rest.must(make, a)
        rest.must(f"grant select on payroll to {reader[0]} with grant option", a)
        check.that(readable("payroll", a) and readable("payroll", reader), f"{make}: its owner and who he let in")
        rest.must(drop, a)
        for maker in (ADMIN, b):
            rest.must(make, maker)
            for who in (a, reader):
                denied("payroll", who, f"{make} by {maker[0]}")
                check.that(rest.sql(drop, who)[0] == 403 and rest.sql(f"grant select on payroll to {who[0]}", who)[0] == 403, f"{make}: DROP and GRANT")
            rest.must(drop, maker)
    # dropped by the administrator: the owner has nothing any more; grants stay, until somebody else makes the table
    rest.must("create table payroll (x int)", a)
    rest.must(f"grant select on payroll to {reader[0]}")
    rest.must("drop table payroll")
    rest.must("create table payroll (x int)")
    denied("payroll", a, "the owner of the one before")
    check.that(readable("payroll", reader), "made again by the administrator: grants stay, as documented")
    rest.must("drop table payroll")
    rest.must("create table payroll (x int)", b)
    denied("payroll", reader, "made by somebody else")
    check.that(readable("payroll", b), "its owner")
    rest.must("drop table payroll", b)
    # made without CREATE TABLE
    rest.must(f"grant select, insert on sent to {reader[0]}")
    status, text, _ = rest.request("/write", "POST", b, None, b"sent v=1 1000000000\n")
    check.that(status == 204, f"/write: {status} {text}")
    denied("sent", reader, "made by the line protocol")
    rest.must("drop table sent")
    rest.must(f"grant select on sent to {reader[0]}")
    form = b'--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\na,b\r\n1,2\r\n--x--\r\n'
    status, text, _ = rest.request("/imp?name=sent&forceHeader=true", "POST", b, {"Content-Type": "multipart/form-data; boundary=x"}, form)
    check.that(status == 200 and rest.rows("select count() from sent", b) == [[1]], f"/imp: {status} {text}")
    denied("sent", reader, "made by /imp")
    rest.must("drop table sent")
    # names that others get
    rest.must(f"grant select on later to {reader[0]}")
    rest.must("create table sooner (x int)", b)
    rest.must("rename table sooner to later", b)
    denied("later", reader, "renamed by somebody else")
    check.that(readable("later", b), "grants go with a table that is renamed")
    rest.must("drop table later", b)
    # columns
    rest.must("create table cols (x int, y int)")
    rest.must(f"grant select on cols(y) to {reader[0]}")
    rest.must("alter table cols drop column y")
    rest.must("alter table cols add column y int")
    denied("cols", reader, "a column of that name", "y")
    rest.must(f"grant select on cols(z) to {reader[0]}")
    rest.must(f"grant add column, rename column on cols to {b[0]}")
    rest.must("alter table cols add column z int", b)
    denied("cols", reader, "added by somebody else", "z")
    rest.must(f"grant select on cols(zz) to {reader[0]}")
    rest.must("alter table cols rename column z to zz", b)
    denied("cols", reader, "renamed by somebody else", "zz")
    rest.must(f"grant select on cols(w) to {reader[0]}")
    rest.must("alter table cols add column w int")
    check.that(readable("cols", reader, "w"), "added by the administrator: as documented")
    rest.must("drop table cols cascade permissions")


def sizes(check, s):
    """No size tells who may not list a table what is in it, nor what statements hold."""
    rest, (user, pw) = s.rest, s.user()
    who, asks = (user, pw), ("select pg_database_size('qdb')", "select pg_tablespace_size('pg_default')", "select sum(pg_table_size(oid)) from pg_class", "select sum(\"diskSize\") from table_storage()", "select count() from pg_class where oid > 16384",
                            "select count() from tables()", "select count() from pg_stat_user_tables")
    asks = [a for a in asks if rest.sql(a)[0] == 200]
    check.that(len(asks) >= 5, f"they are known: {asks}")
    before, all_before = [rest.rows(a, who) for a in asks], [rest.rows(a) for a in asks]
    rest.must("create table hidden_size as (select x, rnd_str(5, 16, 0) z from long_sequence(200000))")
    check.that([rest.rows(a, who) for a in asks] == before, "they do not change")
    check.that(rest.rows(asks[0]) != all_before[0], "the administrator sees it")
    rest.must(f"grant select on hidden_size to {user}")
    check.that(rest.rows(asks[0], who)[0][0] > before[0][0][0], "who may list it sees it")
    held = dict(rest.rows("select * from memory_metrics()", who))
    check.that(held["QUERIES"] is held["THIS_QUERY"] is held["REQUESTS"] is None and held["QUERIES_LIMIT"] > 0, f"what is held is not told: {held}")
    check.that(dict(rest.rows("select * from memory_metrics()"))["QUERIES"] is not None, "the administrator sees it")
    rest.must(f"grant sql engine admin to {user}")
    check.that(dict(rest.rows("select * from memory_metrics()", who))["THIS_QUERY"] is not None, "SQL ENGINE ADMIN sees it")
    rest.must("drop table hidden_size")


def grants_in_number(check, s):
    """Who owns tables makes no more grants than acl.grants.user.max, and none to names that nobody has; how many there are costs others no time."""
    many, cols = "acl.grants.user.max is 50", ", ".join(f"c{i}" for i in range(30))
    with Server(binary=s.binary, env={**ENV, "ALMANAC_ACL_GRANTS_USER_MAX": "50", "ALMANAC_ACL_ADMIN_PASSWORD": ADMIN[1], "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096"}) as one:
        rest = Rest(one)
        for name in ("ann", "bob", "cy", "dan"):
            rest.must(f"create user {name} with password '{PW}'")
            rest.must(f"grant http to {name}")
        rest.must("create group few")
        ann, bob, table = ("ann", PW), ("bob", PW), ", ".join(f"c{i} int" for i in range(30))
        rest.must("grant create table to ann")
        rest.must("grant create table to bob")
        for t in ("w0", "w1"):
            rest.must(f"create table {t} ({table})", ann)
        rest.must(f"create table other ({table})", bob)

        def refused(text, why, auth=ann):
            status, body = rest.sql(text, auth)
            check.that(status == 400 and why in body, f"{text}: {status} {body}")
        for name in ("nobody", "ghost", "'a name'"):
            refused(f"grant select on w0 to {name}", "does not exist")
            refused(f"grant select on w0(c1) to {name}", "does not exist")
        rest.must("grant select on w0 to later")
        check.that(True, "an administrator grants in advance")
        rest.must("revoke select on w0 from later", ann)
        rest.must(f"grant select, update on w0({cols}) to cy", ann)
        rest.must("grant select on w0 to few", ann)
        refused(f"grant select on w1({cols}) to dan", many)
        refused("grant select on w1(*) to dan", many)
        rest.must("grant update on w0(c1) to cy", ann)
        check.that(True, "what is there is no more")
        rest.must(f"grant select on other({cols}) to cy", bob)
        check.that(True, "the grants of one user are not another's")
        # a REVOKE below a grant makes one for each other column
        rest.must("grant select on w1 to dan", ann)
        refused("revoke select on w1(c1) from dan", many)
        check.that(rest.sql("select c2 from w1", ("dan", PW))[0] == 200, "what is refused changes nothing")
        rest.must("revoke select on w1 from dan", ann)
        check.that(rest.sql("select c2 from w1", ("dan", PW))[0] == 403, "taking all away is no more")
        # by several statements, and by who may grant on
        rest.must("grant select on w0 to bob with grant option", ann)
        refused(f"grant select on w0({cols}) to dan", many, bob)
        rest.must(f"grant select on w1({cols}) to dan")
        check.that(True, "an administrator has no such limit")
        rest.must(f"revoke select, update on w0({cols}) from cy", ann)
        rest.must(f"revoke select on w1({cols}) from dan", ann)
        rest.must(f"grant select on w1({cols}) to dan", ann)
        check.that(rest.sql("select c2 from w1", ("dan", PW))[0] == 200, "there is room again")
        # columns of one's own table are no grants of their own
        before = len(rest.rows("select * from permissions_of('ann')"))
        for i in range(20):
            rest.must(f"alter table w0 add column more{i} int", ann)
        check.that(len(rest.rows("select * from permissions_of('ann')")) == before and rest.sql("select more3 from w0", ann)[0] == 200, "a new column is the owner's by the table")
        # very many of an administrator cost nobody time at each change
        wide = ", ".join(f"d{i}" for i in range(4000))
        rest.must(f"create table wide ({', '.join(f'd{i} int' for i in range(4000))})")
        for i in range(25):
            rest.request("/exec", "POST", ADMIN, {"Content-Type": "application/x-www-form-urlencoded"}, urllib.parse.urlencode({"query": f"grant select on wide({wide}) to cy{i}"}))
        rest.must("create user cy24")
        check.that(rest.rows("select count() from permissions_of('cy24') where \"column_name\" is not null") == [[4000]], "there are 100,000")
        took, usual = [], []
        for i in range(8):
            began = time.monotonic()
            rest.must("select 1", bob)
            usual.append(time.monotonic() - began)
            rest.must(f"{'grant' if i % 2 == 0 else 'revoke'} select on wide(d1) {'to' if i % 2 == 0 else 'from'} dan")
            began = time.monotonic()
            rest.must("select 1", bob)
            took.append(time.monotonic() - began)
        check.that(sorted(took)[4] < 0.03 + 3 * sorted(usual)[4], f"100,000 grants cost the next statement of others {sorted(took)[4]:.3f} s")


def assumed(check, s):
    """What is set of an account while it is assumed outlives REVOKE ASSUME: so it needs the permission, as it is not one's own."""
    rest, who = s.rest, s.user()
    for one in (f"create service account keyed with password '{PW}'", "grant http, pgwire to keyed", f"grant assume service account keyed to {who[0]}"):
        rest.must(one)
    own = (("with password 'of somebody'", "ADD PASSWORD"), ("with no password", "REMOVE PASSWORD"), ("create token type rest with ttl '1h'", "CREATE REST TOKEN"),
           ("create token type rest with ttl '1h' transient", "CREATE REST TOKEN"), ("create token type jwk", "CREATE JWK"), ("drop token type rest", "DROP REST TOKEN"), ("drop token type jwk", "DROP JWK"))
    for what, permission in own:
        status, body = Pg(s).sql(["assume service account keyed", f"alter service account keyed {what}"], who)
        check.that(status == 403 and permission in body, f"assumed: {what}: {status} {body}")
    check.that(rest.sql("select 1", ("keyed", PW))[0] == 200, "its password is what it was")
    for what, _ in own[2:]:
        check.that(rest.sql(f"alter service account keyed {what}", ("keyed", PW))[0] == 200, f"itself: {what}")
    rest.must("drop service account keyed")


def tokens_in_memory(check, s):
    """TRANSIENT tokens are counted with the others of their entity: one user had all 10,000 places, and nobody else could make one."""
    rest, who, other = s.rest, s.user(), s.user()
    status, body = Pg(s).sql([f"alter user {who[0]} create token type rest with ttl '3650d' transient"] * 990, who)
    check.that(status == 200, f"990 of them: {body}")
    for _ in range(10):
        rest.must(f"alter user {who[0]} create token type rest with ttl '1d'")
    for kind in (" transient", ""):
        status, body = rest.sql(f"alter user {who[0]} create token type rest with ttl '1d'{kind}", who)
        check.that(status == 400 and "has 1000 tokens already" in body, f"one more{kind}: {status} {body}")
    token = rest.must(f"alter user {other[0]} create token type rest with ttl '1d' transient", other)["dataset"][0][1]
    check.that(rest.sql("select 1", token)[0] == 200, "somebody else makes one")
    rest.must(f"alter user {who[0]} drop token type rest", who)
    check.that(dict(row[:2] for row in rest.rows(f"show user {who[0]}"))["REST Token"] in (False, "false"), "all of them are gone")
    check.that(rest.sql(f"alter user {who[0]} create token type rest with ttl '1d' transient", who)[0] == 200 and rest.sql("select 1", token)[0] == 200, "and there is room again")
    rest.must(f"drop user {who[0]}")
    rest.must(f"create user {who[0]} with password '{PW}'")
    check.that(dict(row[:2] for row in rest.rows(f"show user {who[0]}"))["REST Token"] in (False, "false"), "another user of the name has none of them")


def targets(check, s):
    """Permissions over users are over those who hold no more than the actor: not the password, a token, a group or the end of anybody else."""
    rest = s.rest
    over = "create user, create group, create service account, drop user, drop group, drop service account, disable user, enable user, add password, remove password, " \
           "set memory limit, create rest token, drop rest token, create jwk, drop jwk, add user, remove user, add external alias, remove external alias"
    clerk = s.user()
    for one in (f"grant {over} to {clerk[0]}", "create table pay (x int, y int)", "create service account keeper", "grant select on pay to keeper",
                "create group weak", "create group strong", "grant select on pay to strong", "create group chiefs", "grant database admin to chiefs", "create user plain", "grant http to plain"):
        rest.must(one)

    def changes(user, group, kind="user"):
        """Each way to change the user or the group, and the way back, which the administrator goes."""
        k = kind
        return [(f"alter {k} {user} with password 'of somebody'", None), (f"alter {k} {user} with no password", None), (f"alter {k} {user} disable", f"alter {k} {user} enable"),
                (f"alter {k} {user} enable", None), (f"alter {k} {user} set memory limit 100M", f"alter {k} {user} set memory limit unlimited"),
                (f"alter {k} {user} create token type rest with ttl '1h'", None), (f"alter {k} {user} create token type rest with ttl '1h' transient", None),
                (f"alter {k} {user} drop token type rest", None), (f"alter {k} {user} create token type jwk", None), (f"alter {k} {user} drop token type jwk", None)] + (
               [(f"add user {user} to {group}", f"remove user {user} from {group}")] if k == "user" else [])

    def all_denied(why, user, group="weak", kind="user"):
        for text, back in changes(user, group, kind) + [(f"drop {kind} {user}", None)]:
            for way in (rest, Pg(s)):
                status, body = way.sql(text, clerk)
                check.that(status == 403 and "holds permissions" in body, f"{why}: {text}: {status} {body}")

    def allowed(why, user, group="weak", kind="user"):
        for text, back in changes(user, group, kind):
            status, body = rest.sql(text, clerk)
            check.that(status == 200, f"{why}: {text}: {status} {body}")
            if back is not None:
                rest.must(back)

    rest.must(f"grant pgwire to {clerk[0]}")
    allowed("a user who holds what the clerk does", "plain")
    for why, grant, revoke in (("all", "grant database admin to plain", "revoke database admin from plain"),
                               ("a permission", "grant create table to plain", "revoke create table from plain"),
                               ("with grant option", "grant http to plain with grant option", "grant http to plain"),
                               ("on all tables", "grant select on all tables to plain", "revoke select on all tables from plain"),
                               ("on a table", "grant insert on pay to plain", "revoke insert on pay from plain"),
                               ("on a column", "grant select on pay(y) to plain", "revoke select on pay(y) from plain"),
                               ("by a group", "add user plain to strong", "remove user plain from strong"),
                               ("by a group that may all", "add user plain to chiefs", "remove user plain from chiefs"),
                               ("by a service account", "grant assume service account keeper to plain", "revoke assume service account keeper from plain"),
                               ("on a table that is not there yet", "grant select on not_yet to plain", "revoke select on not_yet from plain")):
        rest.must(grant)
        all_denied(why, "plain")
        rest.must(revoke)
        allowed(f"{why}, no more", "plain")
    all_denied("a service account", "keeper", kind="service account")
    # groups give what they have
    for text in ("add user plain to strong", f"add user {clerk[0]} to strong", f"add user {clerk[0]} to chiefs", f"add user {clerk[0]} to weak, chiefs", "alter group strong with external alias mine",
                 "alter group chiefs with external alias mine", "alter group chiefs set memory limit 64K", "drop group chiefs", "drop group strong"):
        status, body = rest.sql(text, clerk)
        check.that(status == 403 and "holds permissions" in body, f"{text}: {status} {body}")
    rest.must("alter group chiefs with external alias theirs")
    check.that(rest.sql("alter group chiefs drop external alias theirs", clerk)[0] == 403, "an alias is not taken away")
    rest.must("add user other to chiefs")
    check.that(rest.sql("remove user other from chiefs", clerk)[0] == 403, "a member is not taken away")
    rest.must("remove user other from chiefs")
    for text in (f"add user {clerk[0]} to weak", "alter group weak with external alias mine", "alter group weak drop external alias mine", f"remove user {clerk[0]} from weak"):
        rest.must(text, clerk)
    # what was granted in advance
    rest.must("grant database admin to coming")
    for text in ("create user coming with password 'mine of old'", "create service account coming with password 'mine of old'", "create group coming with external alias mine"):
        check.that(rest.sql(text, clerk)[0] == 403, f"granted in advance: {text}")
    rest.must("revoke database admin from coming")
    rest.must("create user coming", clerk)
    # one's own, however little the others hold; and the same rights are enough
    rest.must("grant create table to plain")
    rest.must("alter user plain with password 'old of plain'")
    rest.must("alter user plain with password 'new of plain'", ("plain", "old of plain"))
    rest.must(f"grant create table to {clerk[0]}")
    allowed("as much", "plain")
    rest.must(f"revoke create table from {clerk[0]}")
    rest.must(f"grant database admin to {clerk[0]}")
    allowed("a database admin", "plain")
    for one in ("drop user plain", "drop user coming", "drop service account keeper", "drop group weak", "drop group strong", "drop group chiefs", "drop table pay", f"drop user {clerk[0]}"):
        rest.must(one)


def catalogue(check, s):
    """The relations of the server come before tables, and nobody makes a table, a view or a user with a name that has a meaning for others."""
    for name in ("sys.audit_log", "SYS.Audit_Log"):
        status, body = s.rest.sql(f'create table "{name}" (x int)')
        check.that(status == 400 and "is reserved" in body, f"{name}: {status} {body}")
        status, text, _ = s.rest.request("/write", "POST", ADMIN, None, f"{name} v=1 1000000000\n".encode())
        check.that(status == 400 and "is reserved" in text, f"/write {name}: {status} {text}")
    rest, clerk = s.rest, s.user()
    for one in (f"grant create table, create view, create materialized view, create user, create group, create service account to {clerk[0]}",
                "create table plain (ts timestamp, x int) timestamp(ts) partition by day wal", f"grant select, insert, rename table on plain to {clerk[0]}"):
        rest.must(one)
    names = ["pg_type", "PG_TYPE", "pg_class", "pg_attribute", "pg_tables", "tables", "all_users", "all_tables", "views", "functions", "query_activity", "audit_log", "materialized_views", "permissions_of"]
    for name in names:
        # where the name stands in the statement
        ways = [("create table ", " (x int)"), ("create table if not exists ", " (x int)"), ("create table public.", " (x int)"), ("create table ", " (like plain)"), ("create table ", " as (select 1 x)"),
                ("create view ", " as (select 1 x)"), ("create or replace view ", " as (select 1 x)"), ("create materialized view ", " as (select ts, max(x) x from plain sample by 1d) partition by day"),
                ("rename table plain to ", "")]
        for before, behind in ways:
            for quoted in (name, f'"{name}"'):
                at = before.removesuffix("public.")
                for auth in (clerk, ADMIN):
                    status, body = rest.sql(before + quoted + behind, auth)
                    got = json.loads(body)
                    check.that(status == 400 and f'the name "{name}" is reserved' in got.get("error", "") and got["position"] == len(at), f"{before}{quoted}{behind}: {status} {body}")
        status, text, _ = rest.request("/write", "POST", ADMIN, None, f"{name} v=1 1000000000\n".encode())
        check.that(status == 400 and "is reserved" in text, f"/write {name}: {status} {text}")
        form = b'--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\na,b\r\n1,2\r\n--x--\r\n'
        for more in ("", "&overwrite=true"):
            status, text, _ = rest.request(f"/imp?name={name}&forceHeader=true&fmt=json{more}", "POST", ADMIN, {"Content-Type": "multipart/form-data; boundary=x"}, form)
            check.that("is reserved" in text, f"/imp {name}{more}: {status} {text}")
        check.that(rest.rows(f"select count() from tables() where table_name ilike '{name}'") == [[0]], f"{name} was not made")
    check.that(rest.rows("select 'pg_type'::regclass::int, 'plain'::regclass::int > 16384") == [[1247, True]], "regclass")
    for name in ("public", "qdb", "information_schema", "pg_catalog", "sys", "columns", "pg_mine", "files", "generate_series"):  # no relation of the server has these by name alone
        rest.must(f'create table "{name}" (x int)')
        for quoted in (name, f'"{name}"'):
            check.that(rest.rows(f"select count() from {quoted}") == [[0]], quoted)
        rest.must(f'drop table "{name}"')
    for kind in ("user", "group", "service account"):
        for name in ("_sso", '"_sso"', "'_sso'", "_SSO"):
            for text in (f"create {kind} {name}", f"create {kind} if not exists {name}") + ((f"create {kind} {name} with password 'of somebody'",) if kind == "user" else ()):
                for auth in (clerk, ADMIN):
                    status, body = rest.sql(text, auth)
                    got = json.loads(body)
                    check.that(status == 400 and "is reserved" in got.get("error", "") and got["position"] == text.index(name), f"{text}: {status} {body}")
    for one in (f"drop user {clerk[0]}", "drop table plain"):
        rest.must(one)


# What clients send by themselves. meant: may it change something?
MARK = {"X-Requested-With": "XMLHttpRequest"}
CHROME = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/143.0", "Accept-Language": "en-US,en;q=0.9", "Accept-Encoding": "gzip"}
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Upgrade-Insecure-Requests": "1"}
CLIENTS = [  # name, headers, meant
    ("curl", {"User-Agent": "curl/8.5.0", "Accept": "*/*"}, True),
    ("requests", {"User-Agent": "python-requests/2.32", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}, True),
    ("no headers", {}, True),
    ("fetch of Node.js", {"User-Agent": "node", "Accept": "*/*", "Accept-Language": "*", "Sec-Fetch-Mode": "cors"}, True),
    ("PowerShell", {"User-Agent": "Mozilla/5.0 (Windows NT 10.0; en-US) PowerShell/7.4"}, True),
    ("the back end of Grafana", {"User-Agent": "Grafana/12.0", "X-Forwarded-For": "10.0.0.1"}, True),
    ("a link of a mail, TLS", {**CHROME, **HTML, "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-User": "?1"}, False),
    ("a link of our own page, TLS", {**CHROME, **HTML, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Referer": "http://HOST/"}, False),
    ("that with the header", {**CHROME, **HTML, **MARK, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}, False),
    ("a link of another site, TLS", {**CHROME, **HTML, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, False),
    ("a frame, TLS", {**CHROME, **HTML, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, False),
    ("an image, TLS", {**CHROME, "Accept": "image/*", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, False),
    ("a navigation, plain HTTP", {**CHROME, **HTML}, False),
    ("one without a language", {"User-Agent": "x", "Accept": "text/html"}, False),
    ("one of a browser with little in it", {"Upgrade-Insecure-Requests": "1"}, False),
    ("an image, plain HTTP", {**CHROME, "Accept": "image/avif,*/*;q=0.8"}, False),
    ("a script, plain HTTP", {**CHROME, "Accept": "*/*"}, False),
    ("a video, iOS", {"User-Agent": "AppleCoreMedia/1.0.0.21A329 (iPhone; U; CPU OS 17_0 like Mac OS X; en_us)", "Accept": "*/*", "Accept-Language": "en-GB,en;q=0.9", "Range": "bytes=0-1", "X-Playback-Session-Id": "A", "Accept-Encoding": "identity"}, False),
    ("its playlist", {"User-Agent": "AppleCoreMedia/1.0.0.21A329", "Accept": "*/*"}, False),
    ("a video, Android", {"User-Agent": "stagefright/1.2 (Linux;Android 11)", "Accept-Encoding": "identity"}, False),
    ("a part of a file", {"User-Agent": "x", "Range": "bytes=0-"}, False),
    ("an image without a language", {"User-Agent": "Mozilla/5.0 (X11; Linux) Firefox/1", "Accept": "image/*"}, False),
    ("a language alone", {"Accept-Language": "de"}, False),
    ("a page that is fetched in advance", {"Accept": "*/*", "Sec-Purpose": "prefetch"}, False),
    ("a page that is told", {"Accept": "*/*", "Referer": "http://evil.example/"}, False),
    ("a form of our own, plain HTTP", {**CHROME, **HTML, "Origin": "http://HOST"}, False),
    ("a form of another site, plain HTTP", {**CHROME, **HTML, "Origin": "http://evil.example"}, False),
    ("a script of our own page without the header", {**CHROME, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Origin": "http://HOST"}, False),
    ("the console, TLS", {**CHROME, **MARK, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Referer": "http://HOST/"}, True),
    ("the console, plain HTTP", {**CHROME, **MARK, "Origin": "http://HOST"}, True),
    ("another site with the header", {**CHROME, **MARK, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "http://evil.example"}, False),
    ("another word in the header", {**CHROME, **HTML, "X-Requested-With": "com.example.app"}, False),
]


def links(check, s):
    """What a browser sends without a script of ours has no effect: by whichever route, method and credentials it brings itself. Reading is open to it."""
    form, boundary = {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "multipart/form-data; boundary=x"}
    file = '--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\na\r\n1\r\n--x--\r\n'
    query = lambda sql, path="/exec": path + "?" + urllib.parse.urlencode({"query": sql})
    changes = [(m, t, h, b) for sql in ("insert into linked values (1)", "create table made (x int)", "select reload_config()", "select set_config('timezone', 'Asia/Tokyo', false)", "select 1; drop table linked")
               for m, t, h, b in (("GET", query(sql), {}, None), ("POST", "/exec", form, urllib.parse.urlencode({"query": sql})), ("GET", query(sql, "/api/v1/sql/execute"), {}, None))]
    changes += [("POST", "/write", {}, "linked x=1i\n"), ("POST", "/api/v2/write", {}, "linked x=1i\n"), ("POST", "/imp?name=made&forceHeader=true", boundary, file), ("PUT", "/imp?name=made&forceHeader=true", boundary, file),
                ("POST", "/settings?version=0", {}, '{"a":"b"}'), ("PUT", "/settings?version=0", {}, '{"a":"b"}'), ("DELETE", "/query/none-of-that", {}, None), ("DELETE", "/snapshot/none-of-that", {}, None)]
    reads = [("GET", query("select count() from linked"), {}, None), ("GET", query("select count() from linked", "/exp"), {}, None), ("GET", query("show tables"), {}, None), ("GET", "/chk?f=json&j=linked", {}, None),
             ("POST", "/exec", form, urllib.parse.urlencode({"query": "select count() from linked"})), ("GET", "/settings", {}, None)]

    def state(rest, auth):
        return rest.rows("select count() from linked", auth), rest.rows("select count() from tables() where table_name = 'made'", auth), json.loads(rest.request("/settings", auth=auth)[1])["preferences"]

    def walk(what, rest, auth, sent, clients, foreign="POST", step=3):
        """sent: the headers of the credentials; foreign: what another site may not even read, by a method or "all"; one in `step` changes is tried."""
        for one in ("drop table if exists linked", "create table linked (x long)"):
            rest.must(one, auth)
        before = state(rest, auth)
        for name, headers, meant in clients:
            headers = {k: v.replace("HOST", rest.server.http) for k, v in headers.items()}
            if meant:
                status, text, _ = rest.request(query("insert into linked values (1)"), "GET", None, {**headers, **sent})
                check.that(status == 200, f"{what}, {name}: GET INSERT: {status} {text}")
                status, text, _ = rest.request("/write", "POST", None, {**headers, **sent}, "linked x=1i\n")
                check.that(status == 204 and state(rest, auth)[0] == [[2]], f"{what}, {name}: /write: {status} {text}")
                rest.must("truncate table linked", auth)
            for method, target, more, body in changes[::step] if not meant else []:
                status, text, _ = rest.request(target, method, None, {**headers, **sent, **more}, body)
                check.that(status == 403 and ("X-Requested-With" in text or "another site" in text), f"{what}, {name}: {method} {target} {body}: {status} {text}")
            if not meant:
                check.that(state(rest, auth) == before, f"{what}, {name}: nothing changed: {state(rest, auth)}")
            for method, target, more, body in reads:
                status, text, _ = rest.request(target, method, None, {**headers, **sent, **more}, body)
                other = "evil" in headers.get("Origin", "") or headers.get("Sec-Fetch-Site") == "cross-site"
                wanted = 403 if other and (method == foreign or (foreign == "all" and target != "/settings")) else 200
                check.that(status == wanted, f"{what}, {name}: {method} {target}: {status} {text}")
        rest.must("drop table linked", auth)

    rest = s.rest
    cookie = rest.request("/exec?query=select+1&session=true", auth=ADMIN)[2]["Set-Cookie"].split(";")[0]
    walk("Basic", rest, ADMIN, BASIC, CLIENTS, step=1)
    by_cookie = [(name, headers, meant and "X-Requested-With" in headers) for name, headers, meant in CLIENTS]
    walk("a cookie", rest, ADMIN, {"Cookie": cookie}, by_cookie, "all")
    token = rest.must("create service account linker") and rest.must("grant all to linker") and rest.must("alter service account linker create token type rest with ttl '1h'")["dataset"][0][1]
    walk("a token, which no browser adds", rest, ADMIN, {"Authorization": "Bearer " + token}, [(name, headers, True) for name, headers, _ in CLIENTS if "evil" not in str(headers) and "cross-site" not in str(headers)])
    # nor does a link cancel a statement or end the session
    for headers in ({**CHROME, **HTML}, {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}):
        check.that(rest.request("/exec?query=select+1&session=false", headers={**headers, "Cookie": cookie})[0] == 200, "session=false by a link is a query")
        check.that(rest.request("/exec?query=select+1", headers={"Cookie": cookie})[0] == 200, "and the session goes on")
    check.that(rest.request("/exec?query=select+1&session=false", headers={**MARK, "Cookie": cookie})[0] == 200 and rest.request("/exec?query=select+1", headers={"Cookie": cookie})[0] == 401, "the console ends it")
    rest.must("drop service account linker")
    with Server(binary=s.binary) as one:
        walk("no logins at all", Rest(one), None, {}, CLIENTS)
    with Server(binary=s.binary, env={"ALMANAC_HTTP_USER": "me", "ALMANAC_HTTP_PASSWORD": PW}) as one:
        me = ("me", PW)
        walk("http.user", Rest(one), me, {"Authorization": "Basic " + base64.b64encode(":".join(me).encode()).decode()}, CLIENTS)
        cookie = Rest(one).request("/exec?query=select+1&session=true", auth=me)[2]["Set-Cookie"].split(";")[0]
        walk("its cookie", Rest(one), me, {"Cookie": cookie}, by_cookie)
    with Server(binary=s.binary, env={"ALMANAC_HTTP_CROSS_SITE_WRITES": "true"}) as one:
        walk("http.cross.site.writes", Rest(one), None, {}, [(name, headers, True) for name, headers, _ in CLIENTS], "")


def places(check, s):
    """Statements without end of one user take not all places of query.concurrent.max: others log in and run theirs, and so does the administrator."""
    endless = "select count() from long_sequence(100000000000000)"
    with Server(binary=s.binary, env={**ENV, "ALMANAC_QUERY_CONCURRENT_MAX": "8", "ALMANAC_QUERY_TIMEOUT": "60s"}) as one:
        rest = Rest(one)
        for name in ("hog", "other"):
            rest.must(f"create user {name} with password '{PW}'")
            rest.must(f"grant http, pgwire to {name}")

        def run(who):
            try:
                Rest(one).request("/exec?" + urllib.parse.urlencode({"query": endless}), auth=who)
            except OSError:
                pass  # the server is gone

        def take(who, n):
            for _ in range(n):
                threading.Thread(target=run, args=(who,), daemon=True).start()

        def runs(of):
            return rest.rows(f"select count() from query_activity() where username = '{of}' and query = '{endless}'")[0][0]

        take(("hog", PW), 12)
        end = time.monotonic() + 20
        while runs("hog") < 7 and time.monotonic() < end:
            time.sleep(.05)
        for who in (("other", PW), ADMIN):  # who was never here
            for over in ("http", "pg"):
                start = time.monotonic()
                found = (Rest(one).request("/exec?query=select+count()+from+long_sequence(3000000)", auth=who)[0],) if over == "http" else Pg(one).sql("select count() from long_sequence(3000000)", who)
                check.that(found[0] == 200 and time.monotonic() - start < 10, f"{who[0]} over {over}: {found} {time.monotonic() - start:.1f} s")
        take(("other", PW), 4)  # now all are taken
        end = time.monotonic() + 20
        while runs("other") < 1 and time.monotonic() < end:
            time.sleep(.05)
        start = time.monotonic()
        found = Rest(one).rows("select count() from long_sequence(3000000)", ADMIN)
        check.that(found == [[3000000]] and time.monotonic() - start < 10, f"the administrator when all places are taken: {time.monotonic() - start:.1f} s")
        one.process.kill()  # what waited runs now, without end
        one.process.wait()
        one.process = None


PARTS = [preferences, barriers, plans, refreshes, grants_of_names, grants_in_number, sizes, assumed, tokens_in_memory, targets, catalogue, links, places]


if __name__ == "__main__":
    run_suite(PARTS, House, ENV)
