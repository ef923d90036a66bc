#!/usr/bin/env python3
"""What statements may take, whatever they are made of: nodes, time and memory of parser, binder, planner and of the operators that are opened;
memory of users together and of cursors that nobody reads; refreshes of materialized views.

Statements of many parts (PARTS, in three sizes) must take time in proportion to their size, end at their time limit, and be refused by the
names of limits. `query_bounds_test.py NAME` runs one check, `--nightly` the large sizes too."""
import http.client, json, os, pathlib, sys, threading, time, urllib.error, urllib.parse, urllib.request

from lib.checks import Suite, check, ensure
from lib.pgclient import SYNC, Wire, bind, execute, fields, parse, query
from lib.server import Server

NIGHTLY = "--nightly" in sys.argv


def post(s, sql, timeout_ms=None, user=None, wait=120, path="/exec"):
    """(status, error or dataset, seconds)"""
    body = urllib.parse.urlencode({"query": sql}).encode()
    request = urllib.request.Request(s.url + path, data=body)
    if timeout_ms is not None:
        request.add_header("Statement-Timeout", str(timeout_ms))
    if user is not None:
        import base64
        request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
    start = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=wait) as r:
            answer, status = r.read(), r.status
    except urllib.error.HTTPError as e:
        answer, status = e.read(), e.code
    except http.client.IncompleteRead:  # the answer had begun: it is torn
        return 400, "timeout, query aborted", time.monotonic() - start
    took = time.monotonic() - start
    found = json.loads(answer)
    return status, found.get("error", found.get("dataset", found.get("ddl"))), took


def many(n, one, between=", "):
    return between.join(one(i) for i in range(n))


# name: statement of n parts
PARTS = {
    "with": lambda n: "with " + many(n, lambda i: f"c{i} as (select {i} x)") + f" select * from c{n - 1}",
    "with, each read": lambda n: "with " + many(n, lambda i: f"c{i} as (select {i} x)") + " select " + many(n, lambda i: f"(select x from c{i}) v{i}") + " from long_sequence(1)",
    "scalar subqueries": lambda n: "select " + many(n, lambda i: f"(select {i} + x from long_sequence(1))") + " from long_sequence(1)",
    "exists": lambda n: "select x from long_sequence(1) where " + many(n, lambda i: f"exists (select {i} from long_sequence(1))", " and "),
    "in (select)": lambda n: "select x from long_sequence(1) where " + many(n, lambda i: "x in (select x from long_sequence(1))", " and "),
    "fill": lambda n: "select ts, " + many(n, lambda i: f"sum(v + {i})") + " from bounds sample by 1h fill(" + many(n, lambda i: "prev") + ")",
    "fill of names": lambda n: "select ts, " + many(n, lambda i: f"sum(v + {i}) s{i}") + " from bounds sample by 1h fill(" + many(n, lambda i: f"prev(s{n - 1 - i})") + ")",
    "sums": lambda n: "select " + many(n, lambda i: f"sum(v + {i})") + " from bounds",
    "sum of sums": lambda n: "select " + many(n, lambda i: f"sum(v + {i}) - sum(v + {n - i})") + " from bounds",
    "concat": lambda n: "select concat(" + many(n, lambda i: f"'literal number {i}'") + ")",
    "concat of characters": lambda n: "select concat(" + many(n, lambda i: "'a'") + ")",
    "joins": lambda n: "select count() from long_sequence(1) t0 " + many(n, lambda i: f"join long_sequence(1) t{i + 1} on t{i + 1}.x = t{i}.x", " "),
    "cross joins": lambda n: "select count() from " + many(n + 1, lambda i: f"long_sequence(1) t{i}"),
    "left joins": lambda n: "select count() from long_sequence(1) t0 " + many(n, lambda i: f"left join bounds t{i + 1} on t{i + 1}.v = t0.x", " "),
    "asof joins": lambda n: "select count() from bounds t0 " + many(n, lambda i: f"asof join bounds t{i + 1}", " "),
    "in": lambda n: "select x from long_sequence(1) where x in (" + many(n, lambda i: str(i)) + ")",
    "in of texts": lambda n: "select x from long_sequence(1) where x::string in (" + many(n, lambda i: f"'text number {i}'") + ")",
    "or": lambda n: "select x from long_sequence(1) where " + many(n, lambda i: f"x = {i}", " or "),
    "or of two": lambda n: "select v from bounds where " + many(n, lambda i: f"(v = {i} and s = 'a{i}')", " or "),
    "case": lambda n: "select case " + many(n, lambda i: f"when x = {i} then {i}", " ") + " end from long_sequence(1)",
    "case of a value": lambda n: "select case x " + many(n, lambda i: f"when {i} then 'text {i}'", " ") + " end from long_sequence(1)",
    "union": lambda n: many(n, lambda i: f"select {i} x", " union all "),
    "union in brackets": lambda n: "select * from (" + many(n, lambda i: f"select {i} x", " union ") + ")",
    "windows": lambda n: "select " + many(n, lambda i: f"sum(x + {i}) over (order by x)") + " from long_sequence(1)",
    "named windows": lambda n: "select " + many(n, lambda i: f"sum(x) over w{i}") + " from long_sequence(1) window " + many(n, lambda i: f"w{i} as (order by x + {i})"),
    "group by": lambda n: "select count() from bounds group by " + many(n, lambda i: f"v + {i}"),
    "group by items": lambda n: "select " + many(n, lambda i: f"v + {i} k{i}") + ", count() from bounds group by " + many(n, lambda i: f"k{i}"),
    "implied keys": lambda n: "select " + many(n, lambda i: f"v + {i}") + ", count() from bounds",
    "order by": lambda n: "select x from long_sequence(1) order by " + many(n, lambda i: f"x + {i}"),
    "order by items": lambda n: "select " + many(n, lambda i: f"x + {i} k{i}") + " from long_sequence(1) order by " + many(n, lambda i: f"k{n - 1 - i}"),
    "columns": lambda n: "select " + many(n, lambda i: "x") + " from long_sequence(1)",
    "aliases": lambda n: "select " + many(n, lambda i: f"x a{i}") + " from long_sequence(1)",
    "aliases of aliases": lambda n: "select 1 a0, " + many(n, lambda i: f"a{i} + 1 a{i + 1}") + " from long_sequence(1)",
    "columns of columns": lambda n: "select " + many(n, lambda i: f"a{i}") + " from (select " + many(n, lambda i: f"x + {i} a{i}") + " from long_sequence(1))",
    "having": lambda n: "select s, count() c from bounds group by s having " + many(n, lambda i: f"sum(v + {i}) > {i}", " and "),
    "values": lambda n: "select * from (values " + many(n, lambda i: f"({i}, 'text {i}')") + ")",
    "sum": lambda n: "select " + many(n, lambda i: "x", " + ") + " from long_sequence(1)",
    "coalesce": lambda n: "select coalesce(" + many(n, lambda i: f"x + {i}") + ") from long_sequence(1)",
    "and": lambda n: "select v from bounds where " + many(n, lambda i: f"v != {i}", " and "),
    "intervals": lambda n: "select v from bounds where " + many(n, lambda i: f"ts between {i}000 and {i}500", " or "),
    "declare": lambda n: "declare " + many(n, lambda i: f"@v{i} := {i}") + " select " + many(n, lambda i: f"@v{i}"),
    "explain": lambda n: "explain select " + many(n, lambda i: f"sum(v + {i})") + " from bounds",
    "pivot": lambda n: "select * from (select v, s from bounds) pivot (sum(v) for s in (" + many(n, lambda i: f"'s{i}'") + "))",
    "star without": lambda n: "select * exclude (" + many(n, lambda i: f"a{i}") + ") from (select 1 b, " + many(n, lambda i: f"x + {i} a{i}") + " from long_sequence(1))",
    "using": lambda n: "select count() from (select " + many(n, lambda i: f"x a{i}") + " from long_sequence(1)) p join (select " + many(n, lambda i: f"x a{i}") + " from long_sequence(1)) q using (" + many(n, lambda i: f"a{i}") + ")",
    "array": lambda n: "select array[" + many(n, lambda i: f"x + {i}") + "] from long_sequence(1)",
    "long name": lambda n: "select x " + "a" * (10 * n) + " from long_sequence(1)",
    "brackets": lambda n: "select " + "(" * n + "x" + ")" * n + " from long_sequence(1)",
    "not": lambda n: "select " + "not " * n + "true",
    "create table": lambda n: "create table made (" + many(n, lambda i: f"a{i} int") + ")",
    "create table with indexes": lambda n: "create table made (" + many(n, lambda i: f"a{i} symbol") + many(n, lambda i: f", index(a{i})", "") + ")",
    "create table as": lambda n: "create table made as (select " + many(n, lambda i: f"x a{i}") + " from long_sequence(1))",
    "create view": lambda n: "create view made as (select " + many(n, lambda i: f"x a{i}") + " from long_sequence(1))",
    "create materialized view": lambda n: "create materialized view made as (select ts, " + many(n, lambda i: f"sum(v) a{i}") + " from bounds sample by 1h)",
    "add columns": lambda n: "alter table bounds add column " + many(n, lambda i: f"a{i} int"),
    "drop columns": lambda n: "alter table bounds drop column " + many(n, lambda i: f"a{i}"),
    "lists": lambda n: "select " + many(n, lambda i: "unnest(array[1, 2])"),
    "natural join": lambda n: "select count() from (select " + many(n, lambda i: f"x a{i}") + " from long_sequence(1)) p natural join (select " + many(n, lambda i: f"x a{i}") + " from long_sequence(1)) q",
    "names of with": lambda n: "with c (" + many(n, lambda i: f"a{i}") + ") as (select " + many(n, lambda i: "1") + ") select a0 from c",
    "recursion": lambda n: "with recursive c as (select " + many(n, lambda i: f"{i} a{i}") + " union all select " + many(n, lambda i: f"a{i} + 1") + " from c where a0 < 2) select a0 from c",
    "grouping sets": lambda n: "select count() from bounds group by grouping sets (" + many(n, lambda i: "(v)") + ")",
    "partitions of a window": lambda n: "select sum(x) over (partition by " + many(n, lambda i: f"x + {i}") + ") from long_sequence(1)",
    "filters": lambda n: "select " + many(n, lambda i: f"count() filter (where v > {i})") + " from bounds",
    "strings": lambda n: "select '" + "''" * n + "'",
    "comments": lambda n: "select /* " + "*" * n + " */ 1 " + "-- nothing\n" * n,
    "conditions of joins": lambda n: "select count() from bounds a join bounds b on " + many(n, lambda i: f"a.v + {i} = b.v + {i}", " and "),
    "except": lambda n: many(n, lambda i: f"select {i} x", " except "),
    "statements": lambda n: many(n, lambda i: "select 1", "; "),
    "insert columns": lambda n: "insert into bounds (" + many(n, lambda i: f"a{i}") + ") values (" + many(n, lambda i: "1") + ")",
    "insert the same column": lambda n: "insert into bounds (ts, " + many(n, lambda i: "v") + ") values (0, " + many(n, lambda i: "1") + ")",
    "insert rows": lambda n: "insert into bounds values " + many(n, lambda i: f"({i}, {i}, 'a')"),
    "insert computed rows": lambda n: "insert into bounds values " + many(n, lambda i: f"({i}, {i} + 1, concat('a', 'b'))"),
    "insert select": lambda n: "insert into bounds select 0::timestamp, " + many(n, lambda i: str(i), " + ") + ", 'a'",
    "update": lambda n: "update bounds set " + many(n, lambda i: f"a{i} = 1"),
    "update case": lambda n: "update bounds set v = case " + many(n, lambda i: f"when v = {i} then {i}", " ") + " end",
    "drop tables": lambda n: "drop table if exists " + many(n, lambda i: f"nothing{i}"),
    "truncate": lambda n: "truncate table " + many(n, lambda i: "nothing"),
    "in of rows": lambda n: "select v from bounds where (v, s) in (" + many(n, lambda i: f"({i}, 'a{i}')") + ")",
}
# what may be refused, and how it must be
REFUSED = ("sql.nodes.max", "steps one above the other", "nested too deeply", "a table may have", "memory limit", "timeout, query aborted",
           "Invalid column", "not enough fill", "too many columns", "PIVOT gives", "variables make", "does not exist", "sql.nesting.max",
           "needs a column", "Duplicate column", "column name", "at most", "too many grouping sets")


def seed(s):
    s.exec("create table bounds (ts timestamp, v long, s symbol) timestamp(ts) partition by day")
    s.exec("insert into bounds select (x * 3600000000L)::timestamp, x, 'a' || x from long_sequence(10)")


def forget(s):
    for sql in ("drop table if exists made", "drop view if exists made", "drop materialized view if exists made"):
        post(s, sql)


def size_of(name, bytes_max):
    """So many parts that the text has about so many bytes."""
    per = max(len(PARTS[name](1000)) // 1000, 1)
    return max(bytes_max // per, 1)


def cpu_seconds(s):
    fields = pathlib.Path(f"/proc/{s.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@check
def statements_of_many_parts_end_at_their_time_limit(s):
    """Every one is over soon after its time limit, or was refused by a limit before."""
    slow = []
    for name in PARTS:
        sql = PARTS[name](size_of(name, (15 << 20) if NIGHTLY else (120 << 10)))
        status, said, took = post(s, sql, 60)
        forget(s)
        if took > 3:
            slow.append(f"{name}: {took:.1f} s ({status} {str(said)[:120]})")
        if status != 200:
            ensure(any(word in said for word in REFUSED), f"{name}: {status} {said[:200]}")
    ensure(not slow, "\n".join(slow))


# Those whose parts were once compared with one another, and what took memory for each part.
HASHED = ("with", "sums", "fill", "group by", "implied keys", "concat", "create table", "create view", "star without", "in", "case")


@check
def time_grows_with_the_size(s):
    """Of the processor, so that other work does not count: for eight times the parts not more than 24 times as much."""
    slow = []
    for name in PARTS if NIGHTLY else HASHED:
        n, used = size_of(name, 40000), []
        for parts in (n, 8 * n):
            before = cpu_seconds(s)
            post(s, PARTS[name](parts))
            used.append(cpu_seconds(s) - before)
            forget(s)
        if used[1] > 0.25 and used[1] > 24 * used[0]:
            slow.append(f"{name}: {n} parts {used[0]:.3f} s, {8 * n} parts {used[1]:.3f} s")
    ensure(not slow, "\n".join(slow))


@check
def constants_take_the_memory_of_their_text(s):
    """100,000 of them, which took 64 kB each, within the 512 MB of the server."""
    status, said, _ = post(s, PARTS["concat"](100000))
    ensure(status == 200 and said[0][0].startswith("literal number 0literal number 1"), f"{status} {str(said)[:200]}")


@check
def a_statement_of_too_many_nodes_is_refused_by_the_name_of_the_limit(_):
    with Server(env={"ALMANAC_SQL_NODES_MAX": "20000"}) as s:
        seed(s)
        for name in ("scalar subqueries", "joins", "sums", "columns", "with", "in", "case"):
            status, said, _ = post(s, PARTS[name](30000))
            ensure(status == 400 and "sql.nodes.max (20000)" in said, f"{name}: {status} {said[:200]}")
            status, said, _ = post(s, PARTS[name](50))
            ensure(status == 200, f"{name}: {status} {said}")
        for n, wanted in ((1, 200), (6, 400)):  # ranges of intervals
            status, said, _ = post(s, "select count() from (select x::timestamp ts from long_sequence(1)) where " + many(n, lambda i: f"ts in '2020-01-0{i + 1};1s;2s;6000'", " or "))
            ensure(status == wanted and (wanted == 200 or "sql.nodes.max (20000)" in said), f"{n} intervals: {status} {said}")
        status, said, _ = post(s, PARTS["insert rows"](30000))
        ensure(status == 200, f"rows are no nodes: {said}")
        ensure(s.rows("select count() from bounds") == [[30010]], "rows were lost")


@check
def depth_of_plans_is_bounded(s):
    for sql in ("select count() from long_sequence(1) where " + many(60000, lambda i: "x in (select x from long_sequence(1))", " and "),
                "select count() from long_sequence(1) where " + many(60000, lambda i: "exists (select 1 from long_sequence(1) l where l.x = long_sequence.x)", " and ")):
        status, said, _ = post(s, sql)
        ensure(status == 400 and ("steps one above the other" in said or "sql.nodes.max" in said), f"{status} {said[:200]}")
    ensure(s.rows("select 1") == [[1]], "the server does not answer")


@check
def columns_of_tables_are_counted_first(s):
    for name in ("create table", "create view", "create table as", "add columns", "drop columns"):
        status, said, _ = post(s, PARTS[name](20000))
        ensure(status == 400 and "a table may have 4096 columns, not " in said, f"{name}: {status} {said[:200]}")


@check
def who_may_not_is_told_so_before_the_statement_is_looked_at(_):
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096"}
    with Server(env=env) as s:
        root, guest = "root:secret", "guest:of tests"
        for sql in ("create user guest with password 'of tests'", "grant http to guest", "create table bounds (ts timestamp, v long, s symbol) timestamp(ts) partition by day"):
            status, said, _ = post(s, sql, user=root)
            ensure(status == 200, f"{sql}: {said}")
        status, said, _ = post(s, "select 1", user=guest)
        ensure(status == 200, str(said))
        for name in ("create table", "create view", "create materialized view", "insert rows", "update case", "sums", "fill", "group by"):
            sql = PARTS[name](30000)
            before = cpu_seconds(s)
            status, said, _ = post(s, sql, user=guest)
            ensure(status == 403 and "denied" in said.lower(), f"{name}: {status} {said[:200]}")
            ensure(cpu_seconds(s) - before < 1.5, f"{name}: {cpu_seconds(s) - before:.1f} s of the processor")
        n = 20000
        for sql in ("grant select on bounds(" + many(n, lambda i: f"a{i}") + ") to guest", "grant select on " + many(n, lambda i: f"t{i}") + " to guest",
                    "grant " + many(n, lambda i: "select") + " on bounds to guest", "grant http to " + many(n, lambda i: f"u{i}"),
                    "revoke select on " + many(n, lambda i: f"t{i}") + " from guest", "add user guest to " + many(n, lambda i: f"g{i}")):
            for user in (guest, root):
                before = cpu_seconds(s)
                status, said, took = post(s, sql, 500, user=user)
                used = cpu_seconds(s) - before
                ensure(used < 2 and took < 5, f"{user} {sql[:60]}: {used:.1f} s of the processor ({status} {str(said)[:100]})")


def wire(s, **more):
    return Wire(s.pg, **more)


@check
def long_statements_are_cancelled_while_they_are_parsed_and_planned(s):
    """Over the PostgreSQL wire, simple and extended: by a cancel request."""
    for name in ("case of a value", "sums"):
        sql = PARTS[name](size_of(name, 3 << 20))
        for extended in (False, True):
            w = wire(s)
            over = threading.Event()

            def cancels(w=w, over=over):  # one that comes before the statement hits nothing
                while not over.wait(0.02):
                    w.cancel()
            t = threading.Thread(target=cancels)
            t.start()
            start = time.monotonic()
            errors = [fields(body) for kind, body in w.ask(*((parse("", sql), bind(), execute(), SYNC) if extended else (query(sql),))) if kind == "E"]
            took = time.monotonic() - start
            over.set()
            t.join()
            ensure(errors and errors[0]["C"] == "57014", f"{name}: {errors}")
            ensure(took < 6, f"{name}: {took:.1f} s")
            ensure(w.rows("select 1") == [["1"]], "the connection is of no use")
            w.close()


@check
def few_rows_of_which_much_is_made_hold_up_nobody(s):
    """A network thread runs what is short: not joins of few rows with very many pairs, nor buckets between two rows."""
    for one in ("create table few as (select x::timestamp ts, x, 1 one from long_sequence(3000)) timestamp(ts)", "create table apart (ts timestamp, x int) timestamp(ts)",
                "insert into apart values ('1970-01-01', 1), ('2020-01-01', 2)"):
        ensure(post(s, one)[0] == 200, one)
    for sql in ("select count() from few a cross join few b cross join few c", "select count() from few a join few b on a.one = b.one join few c on a.one = c.one",
                "select count() from (select ts, sum(x) from apart sample by 1s fill(0)) a cross join few", "select count() from long_sequence(3000) a cross join long_sequence(3000) b cross join long_sequence(3000) c",
                "select count() from long_sequence(19000) where sha256(repeat(x::varchar, 8000)) = sha256(repeat(x::varchar, 7999))"):
        for over in ("http", "pg"):
            w = wire(s) if over == "pg" else None
            t = threading.Thread(target=(lambda w=w: w.ask(query_of(sql))) if w else (lambda: post(s, sql, 4000)), daemon=True)
            t.start()
            running = f"select query_id from query_activity() where query = '{sql}'"
            found, end = [], time.monotonic() + 3
            while not found and time.monotonic() < end:
                start = time.monotonic()
                found = post(s, running)[1]
                ensure(time.monotonic() - start < 1, f"{over}: {sql}: another statement waited")
            ensure(found and post(s, f"cancel query {found[0][0]}")[0] == 200, f"{over}: {sql}: it runs, and can be cancelled")
            t.join(3)
            ensure(not t.is_alive(), f"{over}: {sql}: it ended")
    ensure(post(s, "drop table few")[0] == post(s, "drop table apart")[0] == 200, "dropped")


@check
def long_texts_are_left_at_the_time_limit(s):
    """A batch of texts of 600 kB holds five gigabytes to look at: each function looks at the time between them."""
    text = "(case when x % 2 = 0 then repeat('ab', 300000) else repeat('ba', 300000) end)"
    for test in (f"{text} like '%a%b%c'", f"{text} like '%abac%'", f"{text} ilike '%ä'", f"{text} ~ 'a(b|c)+d'", f"{text} ~ 'a{{0,500}}c'", f"{text} = {text} || 'x'",
                 f"regexp_replace({text}, 'b{{2}}', '-') = 'x'", f"strpos({text}, 'bba') = 3", f"replace({text}, 'bba', 'x') = 'c'", f"sha256({text}) = 'x'",
                 f"length({text} || 'ä') = 3", f"split_part({text}, 'aa', 3) = 'x'", f"substring({text} || 'ä', 500000, 3) = 'x'", f"btrim({text}, 'ab') = 'x'", f"upper({text}) = 'x'"):
        start = time.monotonic()
        status, answer, _ = post(s, f"select count() from long_sequence(100000) where {test}", 400)
        ensure(status == 400 and ("timeout" in str(answer) or "memory limit" in str(answer)) and time.monotonic() - start < 3, f"{test}: ends at a limit: {time.monotonic() - start:.1f} s, {str(answer)[:100]}")
    one = "select length(regexp_replace(repeat('ab', 8000000), 'a{0,500}c', '-'))"
    start = time.monotonic()
    post(s, one, 400)
    ensure(time.monotonic() - start < 3, f"{one}: one text, too: {time.monotonic() - start:.1f} s")


def download(s, path, form, user=None, headers=None, keep=0):
    """(status, bytes of the answer, its first `keep`, highest resident memory meanwhile)"""
    import base64
    host, port = s.http.split(":")
    sent = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
    if user is not None:
        sent["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    peak, stop = [s.resident_bytes()[1]], threading.Event()

    def look():
        while not stop.wait(0.005):
            peak[0] = max(peak[0], s.resident_bytes()[1])
    looks = threading.Thread(target=look)
    looks.start()
    c = http.client.HTTPConnection(host, int(port), timeout=120)
    count, first = 0, b""
    try:
        c.request("POST", path, urllib.parse.urlencode(form), sent)
        r = c.getresponse()
        while piece := r.read(1 << 20):
            count += len(piece)
            first += piece[:keep - len(first)]
        status = r.status
    except http.client.IncompleteRead:
        status = 0
    finally:
        c.close()
        stop.set()
        looks.join()
    return status, count, first, peak[0]


@check
def few_rows_that_are_many_bytes_are_answered_in_bounded_memory(_):
    """A constant, or a text that many columns show, takes no memory until it is written: 200 MB of it in an answer of each kind."""
    with Server(env={"ALMANAC_QUERY_MEMORY_MAX": "32m", "ALMANAC_QUERY_MEMORY_TOTAL_MAX": "40m", "ALMANAC_HTTP_SNAPSHOT_BYTES_MAX": "16m"}) as s:  # of all: what the allocator keeps, too
        tall, wide = "select repeat('x', 1000000) a from long_sequence(200)", "select " + many(200, lambda i: f"a a{i}") + " from (select repeat('x', 1000000) || x a from long_sequence(1))"
        for name, path, form, headers in (("json", "/exec", {}, {}), ("csv", "/exp", {}, {}), ("ndjson", "/exp", {"fmt": "ndjson"}, {}), ("arrow", "/exp", {"fmt": "arrow"}, {}),
                                          ("snapshot", "/exec", {"snapshot": "new"}, {}), ("gzip", "/exec", {}, {"Accept-Encoding": "gzip"}), ("zstd", "/exec", {}, {"Accept-Encoding": "zstd"}),
                                          ("last rows", "/exec", {"limit": "-200"}, {}), ("parquet", "/exp", {"fmt": "parquet"}, {})):
            for sql in (tall, wide):
                before = s.resident_bytes()[1]
                status, count, first, peak = download(s, path, {"query": sql, **form}, headers=headers, keep=4000)
                grown = (peak - before) / 1e6
                # a buffer for the row of a held result is moved as it grows, until the limit refuses it
                ensure(grown < (100 if name == "snapshot" else 60), f"{name}: {sql[:40]}: takes {grown:.0f} MB")
                if sql == wide and name in ("arrow", "snapshot", "parquet"):  # a row of these is made at once
                    ensure(status != 200 and b"query.memory.max" in first, f"{name}: one row of 200 MB: {status} {first[-300:]}")
                else:
                    ensure(status == 200 and (count > 200_000_000 or name in ("gzip", "zstd", "parquet")), f"{name}: {sql[:40]}: {status}, {count} bytes")
        status, count, first, peak = download(s, "/exec", {"query": "select x, repeat('ä\"', 20000) || x b from long_sequence(40)"}, keep=1 << 30)
        rows = json.loads(first)["dataset"]
        ensure([r[0] for r in rows] == list(range(1, 41)) and all(r[1] == 'ä"' * 20000 + str(r[0]) for r in rows), "rows that went out in parts are whole")
        import io, pyarrow as pa
        status, count, first, peak = download(s, "/exp", {"query": "select x, repeat('ab', 100000) || x b, (x % 3)::symbol c from long_sequence(40)", "fmt": "arrow"}, keep=1 << 30)
        table = pa.ipc.open_stream(io.BytesIO(first)).read_all()
        ensure(table["x"].to_pylist() == list(range(1, 41)) and table["b"].to_pylist() == ["ab" * 100000 + str(x) for x in range(1, 41)] and
               table["c"].to_pylist() == [str(x % 3) for x in range(1, 41)] and table["b"].num_chunks > 1, f"messages of some rows each: {table['b'].num_chunks}")
        ensure(queries_bytes(s) < 1 << 20, "the memory of answers was given back")


@check
def an_answer_that_is_written_out_is_cancelled_and_ends_with_the_grant(_):
    """The rows of one batch may take long to be written."""
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096"}
    with Server(env=env) as s:
        root, user = "root:secret", "a1:of tests"
        for sql in ("create user a1 with password 'of tests'", "grant http to a1", "create table t as (select x from long_sequence(8000))", "grant select on t to a1"):
            status, said, _ = post(s, sql, user=root)
            ensure(status == 200, f"{sql}: {said}")
        for end in ("cancel query {}", "timeout", "revoke select on t from a1"):
            done = []
            rows = "select repeat('x', 1000000) a from t"
            t = threading.Thread(target=lambda: done.append(download(s, "/exec", {"query": rows, **({"timeout": "1"} if end == "timeout" else {})}, user=user)))
            t.start()
            if end != "timeout":
                running = "select query_id from query_activity() where username = 'a1'"
                wait_until(lambda: [post(s, end.format(id), user=root)[0] for [id] in post(s, running, user=root)[1]] == [200], f"{end}: nothing runs")
            t.join(30)
            ensure(done and done[0][0] != 200 and done[0][1] < 4_000_000_000, f"{end}: {[d[:2] for d in done]}")


@check
def columns_named_again_are_counted(_):
    """cols= may name a column many times: each is looked up at once, and what is made for it is memory of the statement."""
    with Server(env={"ALMANAC_QUERY_MEMORY_MAX": "32m", "ALMANAC_SQL_NODES_MAX": "500000"}) as s:
        for path, form in (("/exp", {"fmt": "arrow"}), ("/exp", {}), ("/exec", {}), ("/exec", {"snapshot": "new", "limit": "1"}), ("/exp", {"fmt": "parquet"}), ("/exp", {"fmt": "ndjson"})):
            before = s.resident_bytes()[1]
            status, count, first, peak = download(s, path, {"query": "select x from long_sequence(2000)", "cols": many(5000, lambda i: "x", ","), **form}, keep=300)
            ensure(peak - before < 80_000_000, f"{path} {form}: {(peak - before) / 1e6:.0f} MB")
            ensure(status == 200 or b"query.memory.max" in first, f"{path} {form}: {status} {first}")
        status, count, first, peak = download(s, "/exec", {"query": "select 1 a", "cols": many(500_001, lambda i: "a", ",")}, keep=1000)
        ensure(status == 400 and b"sql.nodes.max (500000)" in first, f"{status} {first}")
        wide = "with a as (select " + many(1500, lambda i: f"1 c{i}") + ") select a1.*, a2.*, 1 z from a a1 cross join a a2"
        waits, done = [], []
        t = threading.Thread(target=lambda: done.append(download(s, "/exec", {"query": wide, "cols": many(400_000, lambda i: "z", ",")}, keep=300)))
        start = time.monotonic()
        t.start()
        while t.is_alive():
            now = time.monotonic()
            post(s, "select 1")
            waits.append(time.monotonic() - now)
        ensure(time.monotonic() - start < 20, f"names are looked for one after another: {time.monotonic() - start:.1f} s")
        ensure(max(waits) < 1, f"others waited {max(waits):.2f} s")
        status, answer, _ = post(s, "select 1 a, 2 b, 3 A2")
        ensure(json.loads(download(s, "/exec", {"query": "select 1 a, 2 b, 3 c", "cols": "C,a,c,a"}, keep=1000)[2])["dataset"] == [[3, 1, 3, 1]], "the order that was asked for")


@check
def parameters_beyond_those_of_the_statement_hold_up_nobody(s):
    """params of a body are read on a thread of their own, as a long statement is."""
    def wait_beside(body):
        request = urllib.request.Request(s.url + "/exec", data=body, headers={"Content-Type": "application/json"})
        waits, said = [], []

        def send():
            try:
                urllib.request.urlopen(request, timeout=60)
            except urllib.error.HTTPError as e:
                said.append(json.loads(e.read())["error"])
        t = threading.Thread(target=send)
        t.start()
        while t.is_alive():
            start = time.monotonic()
            post(s, "select 1")
            waits.append(time.monotonic() - start)
        return max(waits), said
    values = json.dumps({"query": "select $1::int", "params": [1] * 2_000_000}).encode()
    base, _ = wait_beside(json.dumps({"query": "select $1::int", "params": [], "other": [1] * 2_000_000}).encode())  # refused where it is read
    waited, said = wait_beside(values)
    ensure(said and "the statement has 1 parameters, more than 65535 values were given" in said[0], str(said))
    ensure(waited < 1 or waited < 4 * base, f"others waited {waited:.2f} s, {base:.2f} s beside as many bytes")


@check
def who_takes_longer_than_it_seemed_leaves_the_network_thread(s):
    """Rows that are crowded in a short time seem to be few, and no estimate knows what an expression costs."""
    for one in ("create table crowded as (select (case when x % 2000 = 0 then x * 1000000000 else x end)::timestamp ts, x from long_sequence(4000000)) timestamp(ts)",):
        ensure(post(s, one)[0] == 200, one)
    slow = "x::varchar ~ '^(1|2|3)*(9|8|7)*(9|6)*5+(1|3)*$'"
    for sql in (f"select count() from crowded where ts < '1970-01-02' and {slow}", f"select x from crowded where ts < '1970-01-02' and {slow}", f"select count() from long_sequence(190000) where {slow} or sha256(x::varchar) = 'a'"):
        expected = post(s, sql)[1]
        for over in ("http", "pg"):
            w = wire(s) if over == "pg" else None
            answers = []
            t = threading.Thread(target=(lambda w=w: answers.append(w.rows(sql))) if w else (lambda: answers.append(post(s, sql)[1])), daemon=True)
            t.start()
            waits = []
            while t.is_alive():
                start = time.monotonic()
                post(s, "select 1")
                waits.append(time.monotonic() - start)
            t.join()
            rows = [[str(cell) for cell in row] for row in answers[0]]
            ensure(rows == [[str(cell) for cell in row] for row in expected], f"{over}: {sql}: the same rows")
            ensure(max(waits) < 1, f"{over}: {sql}: nobody waits: {max(waits):.2f} s")
    ensure(post(s, "drop table crowded")[0] == 200, "dropped")


def twice(n, one):
    """Columns of which each is made of the one before, used twice."""
    return "select a%d from (select x + 1 a0, %s from long_sequence(1))" % (n, ", ".join(f"{one.format(a=f'a{i}')} a{i + 1}" for i in range(n)))


@check
def what_is_used_twice_counts_twice(s):
    """A name of the list stands for its expression: what walks it meets the expression at each use."""
    for one in ("{a} + {a}", "{a} || {a}", "coalesce({a}, {a})", "nullif({a}, {a})", "case {a} when 1 then 2 when 3 then {a} end", "case when {a} > 1 then {a} else -{a} end", "greatest({a}, {a})",
                "(case when {a}::decimal between {a} and {a} then 1 else 2 end)", "round({a}, 1) - {a}"):
        for n in (12, 40):
            status, said, took = post(s, twice(n, one), 20000)
            ensure(status == 200 or "sql.nodes.max" in str(said), f"{one} {n} times: {said}")
            ensure(took < 10, f"{one} {n} times: {took:.1f} s")
        ensure(status == 400, f"{one}: 2^40 nodes are not made")
    for sql in ("select " + "coalesce(" * 40 + "x" + ", 1)" * 40 + " from long_sequence(1)", "select " + "nullif(" * 40 + "x" + ", 1)" * 40 + " from long_sequence(1)",
                "select " + "case " * 40 + "x" + " when 1 then 2 when 2 then 3 end" * 40 + " from long_sequence(1)",
                "select a from " + "(select a + a a from " * 40 + "(select x a from long_sequence(2))" + ")" * 40 + " where a > 3",
                "select a from " + "(select a + a a from " * 40 + "(select 1::long a)" + ")" * 40, "select x" + " + 1" * 900 + " from long_sequence(1)"):
        status, said, took = post(s, sql, 20000)
        ensure(status == 200 or "sql.nodes.max" in str(said), f"{sql[:60]}: {said}")
        ensure(took < 10, f"{sql[:60]}: {took:.1f} s")


@check
def many_conditions_of_a_column_end_at_the_time_limit(s):
    tests = " and ".join(f"x != {i}" for i in range(150000))
    start = time.monotonic()
    status, said, _ = post(s, f"select count() from long_sequence(10) where {tests}", 5000)
    ensure(time.monotonic() - start < 12, f"{time.monotonic() - start:.1f} s: {said}")
    status, said, took = post(s, "select count() from long_sequence(3000) where " + " and ".join(f"x != {i}" for i in range(1500)), 60000)
    ensure(status == 200 and said == [[1501]], f"each of them counts: {said}")
    status, said, took = post(s, "select count() from long_sequence(30000) where x > 5 and x != 7 and x < 100 and x != 8 and x > 6 and x <= 50 and x != 200", 60000)
    ensure(said == [[42]], f"ranges are one, what is left out is not in them: {said}")


@check
def what_few_rows_cost_holds_up_nobody(s):
    """Frames, arrays, long texts, the text of a view: no estimate of rows knows of them."""
    few = "long_sequence(19000)"
    texts = "(select repeat('ab', 300000) || x v from long_sequence(300))"
    status, said, _ = post(s, "create view conditions as (select x from long_sequence(10) where " + " and ".join(f"x != {i}" for i in range(20000)) + ")")
    ensure(status == 200, str(said))
    for sql in (f"select max(length(c)) from (select string_agg(x::varchar, ',') over (order by x) c from {few})", f"select count(c) from (select array_agg(x::double) over (order by x) c from {few})",
                f"select max(c) from (select median(x) over (order by x rows between 15000 preceding and current row exclude current row) c from {few})",
                f"select max(c) from (select approx_percentile(x::double, 0.5, 5) over (order by x rows between 15000 preceding and current row) c from {few})",
                f"select max(c) from (select sum(distinct x) over (order by x groups between 15000 preceding and current row) c from {few})",
                "select array_sort(array_build(1, 20000000, 1.0))[1]", "select count() from unnest(array_build(1, 20000000, 1))", f"select count() from {texts} where reverse(v) = v", f"select count() from {texts} where upper(v) = lower(v)",
                f"select count() from {texts} where v like '%' || v || '%b'", f"select max(v::double) from {texts}", "select count() from conditions"):
        answers = []
        t = threading.Thread(target=lambda sql=sql: answers.append(post(s, sql, 3000)), daemon=True)
        t.start()
        waits = []
        while t.is_alive():
            waits.append(post(s, "select 1")[2])
        ensure(max(waits, default=0) < 1, f"{sql[:100]}: nobody waits: {max(waits):.2f} s")
        status, said, took = answers[0]
        ensure(status == 200 or "timeout" in str(said) or "memory limit" in str(said), f"{sql[:100]}: {said}")
        ensure(took < 6, f"{sql[:100]}: ends at its time limit: {took:.1f} s")
    ensure(post(s, "drop view conditions")[0] == 200, "dropped")


LONG = "(select replace(s, 'a', repeat('é', 30)) t, replace(s, 'a', repeat('1,', 30)) n from (select repeat('a', 1000000) s from long_sequence(1)))"  # 60 MB each


@check
def functions_over_the_longest_text_end_soon(s):
    """A function looks at the time limit between texts: so a text that a function makes has a bound, and one call over it takes little."""
    bound = "is above query.text.bytes.max (67108864)"
    for one in ("replace(t, 'é', 'éé')", "t || t", "concat(t, t)", "t || 'x' || t", "format('%s%s', t, t)", "regexp_replace(t, 'é', 'éé')", "string_agg(t, ',')", "replace(repeat('a', 1000000), 'a', repeat('b', 1000))",
                "array_agg(t)", "quote_ident(replace(n, '1', '\"'))"):
        rows = "(select t from " + LONG + " cross join long_sequence(3))" if "agg" in one else LONG
        status, said, _ = post(s, f"select length({one}) from {rows}")
        ensure(status == 400 and bound in str(said), f"{one}: {status} {str(said)[:200]}")
    status, said, _ = post(s, "select length(lower(replace(s, 'a', repeat('é', 300)))) from (select repeat('a', 1000000) s from long_sequence(1))")
    ensure(status == 400 and bound in str(said) and "600000000" in str(said), f"{status} {said}")
    for one in ("length(lower(t))", "length(upper(t))", "length(initcap(t))", "length(reverse(t))", "strpos(t, 'x')", "length(string_to_array(n, ','))", "length(split_part(n, ',', 100000000))", "length(array_to_string(string_to_array(n, ','), ';'))",
                "parse_ident(n)", "('{' || n || '1}')::double[]", "length((('{' || n || '1}')::double[])::varchar)", "n::decimal(18, 3)", "json_extract('[' || n || '1]', '$[100000000]')", "length(quote_ident(n))", "length(md5(t))", "length(sha256(t))",
                "length(trim(t))", "length(regexp_replace(t, 'é', 'e'))", "t like '%x%é%'", "t ~ 'éx'", "length(left(t, 29999999))", "count_distinct(t)"):
        status, said, took = post(s, f"select {one} from {LONG}", 1000)
        # ::double[] needs 8 bytes for each number of the text: on a fast machine memory ends it before the time does
        ensure(status == 200 or "timeout" in str(said) or bound in str(said) or "inconvertible value" in str(said) or ("double[]" in one and "memory limit" in str(said)), f"{one}: {status} {str(said)[:200]}")
        ensure(took < 5, f"{one}: ends at its time limit of a second: {took:.1f} s")


def query_of(sql):
    return query(sql)


def queries_bytes(s):
    """Bytes of all statements, and the limit."""
    found = dict(s.rows("select * from memory_metrics()"))
    return int(found["QUERIES"]) - int(found["THIS_QUERY"])


def wait_until(condition, text, seconds=8):
    end = time.monotonic() + seconds
    while not condition():
        ensure(time.monotonic() < end, text)
        time.sleep(0.05)


# Holds some 24 MB while its rows are read.
SORT = "select x, x + 1 y from long_sequence(1000000) order by x % 1000, x desc"


def open_portals(w, n):
    """Suspended ones, in a block."""
    w.rows("begin")
    for i in range(n):
        w.send(parse(f"s{i}", SORT), bind(f"p{i}", f"s{i}"), execute(f"p{i}", 1))
    kinds = "".join(k for k, _ in w.ask(SYNC))
    ensure(kinds.count("s") == n, kinds)


@check
def cancel_frees_cursors_that_stand_still(s):
    """By a cancel request, CANCEL QUERY, cancel_query() and pg_cancel_backend(); portals, cursors of a block and WITH HOLD."""
    idle = queries_bytes(s)
    for kind in ("portals", "cursor", "hold"):
        for way in ("request", "statement", "function", "backend"):
            w = wire(s)
            if kind == "portals":
                open_portals(w, 3)
            else:
                w.rows("begin")
                w.rows(f"declare p0 cursor {'with hold ' if kind == 'hold' else ''}for {SORT}")
                w.rows("fetch 1 from p0")
                if kind == "hold":
                    w.rows("commit")
            ensure(queries_bytes(s) - idle > 8 << 20, f"{kind}: the rows take {queries_bytes(s) - idle} bytes")
            pid = int.from_bytes(w.key[:4], "big")
            if way == "request":
                w.cancel()
            else:
                number = [r for r in s.rows("select query_id, query from query_activity()") if r[0] and "query_activity" not in r[1]]
                ensure(number, f"{kind}: it is not listed")
                sql = {"statement": f"cancel query {number[0][0]}", "function": f"select cancel_query({number[0][0]})", "backend": f"select pg_cancel_backend({pid})"}[way]
                s.exec(sql)
            wait_until(lambda: queries_bytes(s) - idle < 1 << 20, f"{kind} by {way}: memory is still held")
            said = w.error(execute("p0", 1), SYNC) if kind == "portals" else w.error(query("fetch 1 from p0"))
            ensure(said is not None and said["C"] == "57014" and "cancelled" in said["M"], f"{kind} by {way}: {said}")
            w.rows("rollback")
            ensure(w.rows("select 1") == [["1"]], "the connection is of no use")
            w.close()


@check
def cancel_ends_an_answer_that_waits_for_its_reader(s):
    import socket
    idle = queries_bytes(s)
    host, port = s.http.rsplit(":", 1)
    for protocol in ("http", "pg"):
        if protocol == "http":
            sock = socket.create_connection((host, int(port)), timeout=30)
            sock.sendall(f"GET /exp?{urllib.parse.urlencode({'query': SORT})} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        else:
            w = wire(s)
            w.send(query(SORT))
        wait_until(lambda: queries_bytes(s) - idle > 8 << 20, "the query holds nothing")
        time.sleep(0.6)  # until the answer waits
        number = [r for r in s.rows("select query_id, query from query_activity()") if r[0] and "query_activity" not in r[1]]
        s.exec(f"cancel query {number[0][0]}")
        wait_until(lambda: queries_bytes(s) - idle < 1 << 20, f"{protocol}: memory is still held")
        if protocol == "pg":
            errors = [body for kind, body in w.until_ready() if kind == "E"]
            ensure(errors and b"57014" in errors[0], str(errors))
            ensure(w.rows("select 1") == [["1"]], "the connection is of no use")
            w.close()
        else:
            sock.close()


@check
def idle_cursors_and_slow_readers_are_not_waited_for(_):
    """pg.cursor.idle.timeout, http.send.timeout, pg.send.timeout."""
    import socket
    with Server(env={"ALMANAC_PG_CURSOR_IDLE_TIMEOUT": "700ms", "ALMANAC_HTTP_SEND_TIMEOUT": "700ms", "ALMANAC_PG_SEND_TIMEOUT": "700ms"}) as s:
        idle = queries_bytes(s)
        w = wire(s)
        open_portals(w, 2)
        for _ in range(5):  # one that is read stays
            time.sleep(0.25)
            kinds = w.kinds(execute("p1", 1), SYNC)
            ensure("D" in kinds, kinds)
        wait_until(lambda: queries_bytes(s) - idle < 1 << 20, "idle cursors are still held")
        said = w.error(execute("p0", 1), SYNC)
        ensure(said["C"] == "34000" and "pg.cursor.idle.timeout" in said["M"], str(said))
        w.close()
        for protocol in ("http", "pg"):
            if protocol == "http":
                host, port = s.http.rsplit(":", 1)
                sock = socket.create_connection((host, int(port)), timeout=30)
                sock.sendall(f"GET /exp?{urllib.parse.urlencode({'query': SORT})} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            else:
                w = wire(s)
                w.send(query(SORT))
                sock = w.s
            wait_until(lambda: queries_bytes(s) - idle > 8 << 20, "the query holds nothing")
            wait_until(lambda: queries_bytes(s) - idle < 1 << 20, f"{protocol}: a slow reader is waited for")
            wait_until(lambda: f"{protocol}.send.timeout" in s.tail(), f"{protocol}: the log does not say why")
            sock.close()


@check
def one_user_leaves_memory_to_others_and_all_of_them_some_to_the_administrator(_):
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096",
           "ALMANAC_QUERY_MEMORY_TOTAL_MAX": "256m", "ALMANAC_QUERY_MEMORY_USER_MAX": "128m", "ALMANAC_QUERY_MEMORY_ADMIN_RESERVE": "48m", "ALMANAC_QUERY_MEMORY_MAX": "64m",
           }
    with Server(env=env) as s:
        for sql in ("create user a1 with password 'of tests'", "create user a2 with password 'of tests'", "grant http, pgwire to a1", "grant http, pgwire to a2"):
            status, said, _ = post(s, sql, user="root:secret")
            ensure(status == 200, f"{sql}: {said}")

        # a join, which cannot go on in files
        held_rows = "select a.x from long_sequence(300000) a join long_sequence(300000) b on a.x = b.x"

        def fill(user):
            w, told = wire(s, user=user, password="of tests"), None
            w.rows("begin")
            for i in range(60):
                w.send(parse(f"s{i}", held_rows), bind(f"p{i}", f"s{i}"), execute(f"p{i}", 1))
                errors = [fields(body) for kind, body in w.ask(SYNC) if kind == "E"]
                if errors:
                    return w, errors[0]
            return w, told
        first, told = fill("a1")
        ensure(told is not None and told["C"] == "53200" and "query.memory.user.max" in told["M"], str(told))
        first.close()
        hold = []
        # a transaction that failed has dropped its portals: those of others stay by cursors WITH HOLD
        def keep(user, n):
            w = wire(s, user=user, password="of tests")
            hold.append(w)
            for i in range(n):
                w.rows("begin")
                w.rows(f"declare c{i} cursor with hold for {held_rows}")
                w.rows(f"fetch 1 from c{i}")
                w.rows("commit")
        used = lambda: int(dict(post(s, "select * from memory_metrics()", user="root:secret")[1])["QUERIES"])
        wait_until(lambda: used() < 4 << 20, "memory of a connection that went is held")
        keep("a1", 1)
        one = used()
        n = (128 << 20) // one
        keep("a1", n - 1)
        status, said, _ = post(s, held_rows, user="a1:of tests")
        ensure(status != 200 and "query.memory.user.max" in said, f"a1 has more than its share: {status} {str(said)[:200]}")
        status, said, _ = post(s, "select count() from long_sequence(10)", user="a2:of tests")
        ensure(status == 200, f"a2 is turned away: {said}")
        told = None
        try:
            keep("a2", n)
        except RuntimeError as e:
            told = str(e)
        ensure(told is None, f"a2 has less than its share, though cursors of a1, who holds more, can give way: {told}")
        status, said, _ = post(s, held_rows, user="a2:of tests")
        ensure(status != 200 and "query.memory.user.max" in said, f"a2 has more than its share: {status} {str(said)[:200]}")
        ensure(used() <= 208 << 20, f"all users have all of the memory: {used()}")
        status, said, _ = post(s, held_rows.replace("a.x from", "count() from"), user="root:secret")
        ensure(status == 200, f"the administrator is turned away: {said}")
        # its cursors go with their user
        for sql in ("alter user a1 disable", "drop user a2"):
            status, said, _ = post(s, sql, user="root:secret")
            ensure(status == 200, f"{sql}: {said}")
        wait_until(lambda: used() < 4 << 20, "memory of users who are gone is held")
        for w in hold:
            w.close()


@check
def the_statement_that_holds_most_gives_way(_):
    """Running or standing still; what asks for less, and small statements, go on."""
    # the table of the join is held while it looks for the other rows; of 3,000,000 rows some 240 MB, of 1,800,000 90 MB
    holding = "select count() from long_sequence(100000000000) a join long_sequence({rows}) b on a.x = b.x"
    joined = "select {what} from long_sequence({rows}) a join long_sequence({rows}) b on a.x = b.x"
    with Server(env={"ALMANAC_QUERY_MEMORY_TOTAL_MAX": "332m", "ALMANAC_QUERY_MEMORY_MAX": "300m", "ALMANAC_QUERY_TIMEOUT": "300s"}) as s:
        used = lambda: int(dict(post(s, "select * from memory_metrics()")[1])["QUERIES"])
        told = []
        large = threading.Thread(target=lambda: told.append(post(s, holding.format(rows=3000000))))
        large.start()
        seen = []
        # its table does not grow any more
        wait_until(lambda: seen.append(used()) or (seen[-1] > 200 << 20 and seen[-20:] == [seen[-1]] * 20) or not large.is_alive(), "the large statement holds nothing")
        status, said, _ = post(s, joined.format(what="count()", rows=300000))
        ensure(status == 200 and large.is_alive(), f"one that fits beside it: {status} {said} {told}")
        status, said, _ = post(s, joined.format(what="count()", rows=1800000))
        ensure(status == 200 and said == [[1800000]], f"the smaller one was ended: {status} {said}")
        large.join(60)
        ensure(told and told[0][0] == 400 and "query.memory.total.max" in told[0][1] and "used most" in told[0][1], f"the larger one goes on: {told}")
        w = wire(s)
        w.rows("begin")
        w.send(parse("s", joined.format(what="a.x", rows=3000000)), bind("p", "s"), execute("p", 1))
        w.ask(SYNC)
        ensure(used() > 200 << 20, f"the cursor holds {used()} bytes")
        status, said, _ = post(s, joined.format(what="count()", rows=1800000))
        ensure(status == 200 and said == [[1800000]], f"a cursor that nobody reads stays: {status} {said}")
        errors = [fields(body) for kind, body in w.ask(execute("p", 1) + SYNC) if kind == "E"]
        ensure(errors and errors[0]["C"] == "53200" and "used most" in errors[0]["M"], f"the cursor is gone without a word: {errors}")
        w.close()
        for busy in ("select pg_sleep(30)", "select count() from long_sequence(100000000000) where x % 7 = 8", "select pg_sleep(0.02)"):
            # while its connection runs something else
            w, ends = wire(s), []
            w.rows("begin")
            w.rows(f"declare c cursor for {joined.format(what='a.x', rows=3000000)}")
            w.rows("fetch 1 from c")
            ensure(used() > 200 << 20, f"the cursor holds {used()} bytes")

            def goes_on(w=w, ends=ends, busy=busy):
                try:
                    for _ in range(200):
                        w.rows(busy)
                    ends.append("all of them ran")
                except RuntimeError as e:
                    ends.append(str(e))

            other = threading.Thread(target=goes_on)
            other.start()
            wait_until(lambda: any("pg_sleep" in r[0] or "% 7" in r[0] for r in post(s, "select query from query_activity()")[1]), "the other statement does not run")
            for _ in range(3):
                status, said, took = post(s, joined.format(what="count()", rows=1800000))
                ensure(status == 200 and said == [[1800000]], f"a cursor beside '{busy}' stays: {status} {said}")
            other.join(60)
            ensure(ends and ("used most" in ends[0] or (busy.endswith("0.02)") and ends[0] == "all of them ran")), f"'{busy}' of the session that holds most: {ends}")
            w.close()


@check
def rows_of_open_transactions_and_loads_count(_):
    """Rows that are not committed are in the memory of their user, and those of a block that failed go at once."""
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096",
           "ALMANAC_TRANSACTION_MEMORY_MAX": "200m", "ALMANAC_QUERY_MEMORY_TOTAL_MAX": "400m", "ALMANAC_QUERY_MEMORY_USER_MAX": "100m", "ALMANAC_QUERY_MEMORY_MAX": "100m"}
    with Server(env=env) as s:
        root = "root:secret"
        for sql in ("create user low with password 'of tests'", "grant http, pgwire, create table to low", "create table m (ts timestamp, st string, n long) timestamp(ts) partition by day", "grant insert, select, update on m to low", "create table p (st string)", "grant insert on p to low"):
            status, said, _ = post(s, sql, user=root)
            ensure(status == 200, f"{sql}: {said}")
        held = lambda: dict((n, int(b)) for n, b in post(s, "select * from memory_metrics()", user=root)[1])
        used = lambda: held()["QUERIES"] - held()["THIS_QUERY"]
        insert = "insert into m select x::timestamp, repeat('z', 1000), x from long_sequence(10000)"  # some 10 MB
        open_ = []
        told = []
        for _ in range(4):
            w = wire(s, user="low", password="of tests")
            open_.append(w)
            w.rows("begin")
            w.rows("insert into m values (0, 'a', 1)")
            w.rows("savepoint a")
            w.rows(insert)
            w.rows("savepoint b")
            try:
                for _ in range(9):
                    w.rows(insert)
            except RuntimeError as e:
                told.append(str(e))
                w.rows("rollback to savepoint b")
        ensure(len(told) >= 3 and all("query.memory.user.max" in t for t in told), f"transactions of one user: {told}")
        ensure(20 << 20 < used() < 130 << 20, f"they are told: {used()}")
        status, said, _ = post(s, "select count_distinct(x) from long_sequence(1000000)", user=root)
        ensure(status == 200, f"others go on: {said}")
        before = used()
        open_[0].rows("rollback to savepoint a")
        ensure(used() < before - (5 << 20), f"what is taken back is given back: {used()} of {before}")
        try:
            open_[1].rows("select no_such_column from m")
        except RuntimeError:
            pass
        open_[1].rows("rollback to savepoint a")
        open_[1].rows("rollback to savepoint a")
        ensure(open_[1].rows("select count() from m") == [["1"]], "the savepoint has its row")
        for w in open_[:2]:
            w.rows("commit")
        for w in open_[2:]:
            w.close()
        wait_until(lambda: used() < 2 << 20, f"all is given back: {used()}")
        ensure(post(s, "select count() from m", user=root)[1] == [[2]], "what was committed is there")
        w = wire(s, user="low", password="of tests")
        w.rows("begin")
        for _ in range(4):
            w.rows(insert)
        ensure(used() > 30 << 20, f"{used()}")
        try:
            w.rows("select no_such_column from m")
        except RuntimeError:
            pass
        ensure(used() < 2 << 20, f"a block that failed holds nothing: {used()}")
        w.close()
        for _ in range(2):  # but for what its cursors hold, which counts
            w = wire(s, user="low", password="of tests")
            w.rows("begin")
            for _ in range(3):
                w.rows(insert)
            w.rows("declare c cursor for select * from m")
            before = used()
            try:
                w.rows("select no_such_column from m")
            except RuntimeError:
                pass
            ensure(used() > before - (4 << 20), f"what a cursor of a block that failed holds is counted: {used()} of {before}")
            w.rows("rollback")
            wait_until(lambda: used() < 2 << 20, f"and given back with it: {used()}")
            w.rows("begin")
            for _ in range(3):
                w.rows(insert)
            w.rows("declare c cursor with hold for select * from m")
            w.rows("fetch 1 from c")
            w.rows("insert into m values (0, 'a', 1)")
            before = used()
            w.rows("commit")
            ensure(used() > before // 2, f"what a cursor holds behind the commit is counted: {used()} of {before}")
            w.rows("close c")
            wait_until(lambda: used() < 2 << 20, f"and given back with it: {used()}")
            w.close()
        for i in range(50):  # lists of savepoints
            status, said, _ = post(s, f"create table s{i} (x long)", user="low:of tests")
            ensure(status == 200, f"{said}")
        w = wire(s, user="low", password="of tests")
        w.rows("begin")
        for i in range(50):
            w.rows(f"insert into s{i} values (1)")
        said = ""
        try:
            for i in range(9000):
                w.rows(f"savepoint p{i}")
        except RuntimeError as e:
            said = str(e)
        ensure("query.memory.user.max" in said and "savepoint" in said, f"savepoints of many tables: {said}")
        w.rows("rollback")
        w.rows("begin")
        for i in range(50):
            w.rows(f"insert into s{i} values (1)")
        before = used()
        for i in range(100):
            w.rows(f"declare c{i} cursor for select * from s0")
        ensure(used() - before > 100 * 50 * 200, f"cursors hold a version of each table: {used() - before}")
        w.rows("rollback")
        wait_until(lambda: used() < 2 << 20, f"and given back: {used()}")
        w.close()
        # loads: more than all of the limit, at the same time
        load = "insert into {t} select repeat('y', 1000) st from long_sequence(150000)"
        ends = []
        threads = [threading.Thread(target=lambda i=i: ends.append(post(s, f"create table c{i} as (select x, repeat('y', 1000) st from long_sequence(150000))" if i % 2 else load.format(t="p"), user="low:of tests"))) for i in range(4)]
        for t in threads:
            t.start()
        most = 0
        while any(t.is_alive() for t in threads):
            most = max(most, used())
            time.sleep(0.01)
        ensure(most < 130 << 20, f"loads of one user: {most}")
        ensure(most > 5 << 20, f"loads count: {most}")
        ensure(all(status == 200 or "query.memory.user.max" in str(said) for status, said, _ in ends) and any(status == 200 for status, _, _ in ends), f"{ends}")
        wait_until(lambda: used() < 2 << 20, f"all is given back: {used()}")


@check
def savepoints_share(_):
    """A block with many savepoints takes at most 3 times the table beside it, in files and in memory, whatever changes between them; what
    cannot be shared counts against query.spill.max; and ROLLBACK TO brings back what was there."""
    longer = "'some longer text ' || {i}"
    points = 120 if NIGHTLY else 30
    steps = {
        "few rows of a column": ["update t set x = x + 1 where l % 1000 = {i}"],
        "all rows of a column": ["update t set x = x + 1"],
        "one value for a column": ["update t set x = {i}"],
        "few rows, one column after the other": ["update t set x = x + 1 where l % 1000 = {i}", "update t set v = " + longer + " where l % 1000 = {i}", "update t set s = 'S' || {i} where l % 1000 = {i}"],
        "all rows of the texts": ["update t set v = " + longer + ", s = 'S' || {i}"],
        "rows that go": ["delete from t where l % 1000 = {i}"],
        "rows that come and change": ["insert into t values ({i}, 1, {i}, 'a', 'b')", "update t set x = 5 where l % 1000 = {i}"],
        "rows that go and change": ["delete from t where l = {i} + 7", "update t set x = 5 where l % 1000 = {i}"],
        "many rows that come": ["insert into t select x::timestamp, x, x, 'a', 'text of a row' from long_sequence(1000)"],
    }
    env = {"ALMANAC_QUERY_SPILL_MAX": "64m"}
    look = "select count(), sum(x), sum(l), sum(length(v)), max(v), count(distinct s), sum(length(s)) from t"
    with Server(env=env) as s:
        def files():  # but for dictionaries
            return sum(f.stat().st_size for f in (pathlib.Path(s.root) / "db" / "tables").rglob("*") if f.is_file() and not f.name.endswith(".dict"))

        def memory():
            return int(dict(post(s, "select * from memory_metrics()")[1])["QUERIES"])

        def fill(kind=""):
            for sql in ("drop table if exists t", "create table t (ts timestamp, x double, l long, s symbol, v varchar) timestamp(ts) partition by year",
                        "insert into t select (x*1000)::timestamp, x, x, 'S'||(x%100), 'v'||(x%1000) from long_sequence(120000)"):
                status, said, _ = post(s, sql)
                ensure(status == 200, f"{sql}: {said}")
            w = wire(s)
            w.rows("update t set x = x + 0")  # all rows are in parts
            if kind:
                w.rows(f"alter table t convert partition to {kind} where ts >= 0")
            return w

        def spilled():
            text = s.get("/metrics")[2].decode()
            return int(next(line.split()[-1] for line in text.splitlines() if line.startswith("almanac_spill_bytes ")))

        for kind in ("", "parquet"):
            for name, statements in steps.items():
                if kind and ("all rows" in name or not NIGHTLY and name not in ("few rows of a column", "rows that go and change")):
                    continue
                w = fill(kind)
                wait_until(lambda: memory() < 1 << 20, "memory of the statements before")
                table = 120000 * (8 + 8 + 8 + 4 + 16)
                had, begun = files(), memory()
                w.rows("begin")
                for sql in statements:
                    w.rows(sql.format(i=999))
                marks = {}
                for i in range(points):
                    w.rows(f"savepoint s{i}")
                    if i % (points // 3) == points // 6:
                        marks[i] = w.rows(look)
                    for sql in statements:
                        w.rows(sql.format(i=i))
                took, last = files() - had + memory() - begun, w.rows(look)
                most = 4 * table if name == "many rows that come" else 3 * table  # it has twice the rows then
                ensure(took < most, f"{kind} {name}: {took} bytes beside a table of {table}")
                ensure(spilled() == 0 or "all rows" in name, f"{kind} {name}: {spilled()} bytes of files kept")
                for i in sorted(marks, reverse=True):
                    ensure(marks[i] != last, f"{kind} {name}: nothing changes")
                    w.rows(f"rollback to s{i}")
                    ensure(w.rows(look) == marks[i], f"{kind} {name}: savepoint {i}: {w.rows(look)}, {marks[i]} expected")
                w.rows("commit")
                ensure(w.rows(look) == marks[points // 6], f"{kind} {name}: what was committed")
                ensure(memory() - begun < 1 << 20 and spilled() == 0, f"{kind} {name}: all is given back: {memory() - begun}, {spilled()}")
                w.close()
        w = fill()  # nothing is shared, and nothing can be packed
        w.rows("begin")
        w.rows("update t set x = rnd_double(), l = rnd_long(0, 1000000000000, 0)")
        first, said, done = w.rows(look), "", 0
        w.rows("savepoint a")
        try:
            for done in range(120):
                w.rows(f"savepoint s{done}")
                w.rows("update t set x = rnd_double(), l = rnd_long(0, 1000000000000, 0)")
        except RuntimeError as e:
            said = str(e)
        ensure("query.spill.max" in said and "savepoint" in said and 20 < done < 60, f"random values: {done} savepoints, {said}")
        ensure(spilled() > 48 << 20, f"files that only savepoints need count: {spilled()}")
        w.rows("rollback to a")
        ensure(w.rows(look) == first, "what the first savepoint has")
        w.rows("commit")
        ensure(spilled() == 0 and w.rows(look) == first, "all is given back")
        w.close()


@check
def dictionaries_have_a_limit(_):
    """Above the limit new symbols are refused, old ones are not, and TRUNCATE makes room."""
    with Server(env={"ALMANAC_STORAGE_SYMBOL_MEMORY_MAX": "40m"}) as s:
        for sql in ("create table y (ts timestamp, s symbol, v long) timestamp(ts) partition by day", "create table z (ts timestamp, s symbol) timestamp(ts) partition by day", "insert into y values (0, 'known', 1)"):
            ensure(post(s, sql)[0] == 200, sql)
        w = wire(s)
        said = ""
        for k in range(20):
            try:
                w.rows(f"insert into y select x::timestamp, repeat('z', 500) || (x + {k} * 10000), x from long_sequence(10000)")
            except RuntimeError as e:
                said = str(e)
        ensure("storage.symbol.memory.max (41943040)" in said and "TRUNCATE" in said, f"many symbols: {said}")
        for sql in ("insert into z values (0, 'new')", "insert into z select 0::timestamp, 'new'", "create table other as (select 'fresh'::symbol s)"):
            status, said, _ = post(s, sql)
            ensure(status == 400 and "storage.symbol.memory.max" in str(said), f"{sql}: {status} {said}")
        ensure(post(s, "insert into y values (1, 'known', 2), (2, null, 3)")[0] == 200 and post(s, "select count() from y where s = 'known'")[1] == [[2]], "known symbols are taken")
        ensure(post(s, "truncate table y")[0] == 200, "truncated")
        wait_until(lambda: post(s, "insert into z values (0, 'new')")[0] == 200, "there is room again")
        w.close()


@check
def one_user_leaves_symbols_to_others(_):
    """A user has a part of storage.symbol.memory.max, however the symbols came; it is given back with the dictionary, and counts across sessions."""
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096",
           "ALMANAC_STORAGE_SYMBOL_MEMORY_MAX": "64m"}
    root = "root:secret"
    more = lambda t, k, n=10000: f"insert into {t} select x::timestamp, repeat('z', 500) || (x + {k} * 10000) from long_sequence({n})"
    with Server(env=env) as s:
        for sql in ("create table y (ts timestamp, s symbol) timestamp(ts) partition by day", "create table z (ts timestamp, s symbol) timestamp(ts) partition by day",
                    *(f"create user {u} with password 'of tests'" for u in ("many", "few")), *(f"grant {what} to {u}" for u in ("many", "few") for what in ("http, pgwire, create table, create materialized view", "insert, select on y", "insert, select, truncate table on z"))):
            status, said, _ = post(s, sql, user=root)
            ensure(status == 200, f"{sql}: {said}")

        def refused(name):
            return f"storage.symbol.memory.{name} ("
        # a refresh writes for who made the view; and a dictionary counts though nothing is in it
        for sql in ("create table w (ts timestamp, s varchar) timestamp(ts) partition by day", "create materialized view m as (select ts, s::symbol s, count() c from w sample by 1s)", more("w", 50, 50000)):
            status, said, _ = post(s, sql, user="few:of tests")
            ensure(status == 200, f"{sql}: {said}")
        wait_until(lambda: post(s, "select count() from m", user="few:of tests")[1] == [[50000]], "the view is refreshed")
        status, said, _ = post(s, more("z", 60), user="few:of tests")
        ensure(status == 400 and refused("user.max") in str(said), f"symbols of the view count for who made it: {said}")
        for sql in ("drop materialized view m", "drop table w"):
            ensure(post(s, sql, user="few:of tests")[0] == 200, sql)
        wait_until(lambda: post(s, more("z", 60, 8000), user="few:of tests")[0] == 200, "they are given back")
        columns = ", ".join(f"s{i} symbol" for i in range(2000))
        for k in range(40):
            status, said, _ = post(s, f"create table wide{k} ({columns})", user="few:of tests")
            if status != 200:
                break
        ensure(k > 3 and refused("user.max") in str(said), f"dictionaries without values: {k} {said}")
        for i in range(k):
            post(s, f"drop table wide{i}", user="few:of tests")
        said = ""
        for k in range(12):  # each on a connection of its own
            w = wire(s, user="many", password="of tests")
            try:
                w.rows(more("yz"[k % 2], k))
            except RuntimeError as e:
                said = str(e)
            w.close()
        ensure(refused("user.max") in said and "(33554432)" in said and "TRUNCATE" in said, f"symbols of one user: {said}")
        for sql in ("insert into z select 0::timestamp, repeat('n', 600)", "create table other as (select repeat('f', 600)::symbol s)"):
            status, said, _ = post(s, sql, user="many:of tests")
            ensure(status == 400 and refused("user.max") in str(said), f"{sql}: {status} {said}")
        line = urllib.request.Request(s.url + "/write", data=b"z,s=" + b"l" * 600 + b" 0\n", headers={"Authorization": "Basic bWFueTpvZiB0ZXN0cw=="})
        try:
            urllib.request.urlopen(line, timeout=30)
            said = "a line was taken"
        except urllib.error.HTTPError as e:
            said = e.read().decode()
        ensure(refused("user.max") in said, f"a line: {said}")
        for who, word in (("few:of tests", "of few"), (root, "of root")):
            status, said, _ = post(s, f"insert into z values (0, '{word}')", user=who)
            ensure(status == 200, f"{who}: {said}")
        ensure(post(s, "insert into y values (0, 'of few')", user="few:of tests")[0] == 200 and post(s, "insert into y values (1, 'of few')", user="many:of tests")[0] == 200, "what another brought is taken")
        # two together leave an eighth to the administrator
        said = ""
        for k in range(12, 18):
            status, said, _ = post(s, more("y", k), user="few:of tests")
        ensure(refused("max") in str(said) and "an eighth" in str(said), f"two users: {said}")
        status, said, _ = post(s, "insert into y values (2, 'of root')", user=root)
        ensure(status == 200, f"the administrator: {said}")
        # given back
        ensure(post(s, "truncate table z", user="many:of tests")[0] == 200, "truncated")
        wait_until(lambda: post(s, "insert into z select 0::timestamp, repeat('n', 600)", user="many:of tests")[0] == 200, "there is room again")


@check
def texts_that_outlive_their_statement_are_short(_):
    """The lists of exports keep the beginning of a query when it has ended, and a view has a query of 1 MB at most."""
    with Server() as s:
        literal = "x" * 300000
        status, said, _ = post(s, f"copy (select '{literal}' v) to 'long_text' with format parquet")
        ensure(status == 200, f"{said}")
        log = "select status, length(table_name) from copy_export_log() where status != 'started'"
        wait_until(lambda: post(s, log)[1] != [], "the export ends")
        ensure(post(s, log)[1] == [["finished", 4096]], f"{post(s, log)}")
        ensure(post(s, f"create view short as (select '{literal}' v)")[0] == 200, "a view of 300 kB")
        status, said, _ = post(s, f"create view long as (select '{literal * 4}' v)")
        ensure(status == 400 and "1048576" in str(said), f"a view of 1.2 MB: {status} {str(said)[:200]}")


@check
def one_user_leaves_temporary_files_to_others(_):
    """A user has a part of query.spill.max, and what fails gives its files back, though its transaction stays open."""
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096",
           "ALMANAC_QUERY_MEMORY_MAX": "64m", "ALMANAC_QUERY_SPILL_MAX": "320m"}
    of_bytes = lambda mb: f"select * from (select rnd_double() d, repeat('x', 1000) s, x from long_sequence({mb * 1000})) order by d"
    with Server(env=env) as s:
        for sql in ("create user a1 with password 'of tests'", "grant http, pgwire to a1"):
            status, said, _ = post(s, sql, user="root:secret")
            ensure(status == 200, f"{sql}: {said}")
        held = wire(s, user="a1", password="of tests")
        held.rows("begin")
        held.rows(f"declare c cursor for {of_bytes(120)}")
        held.rows("fetch 1 from c")
        told = []
        w = wire(s, user="a1", password="of tests")
        w.rows("begin")
        try:
            w.rows(f"declare c cursor for {of_bytes(120)}")
            w.rows("fetch 1 from c")
        except RuntimeError as e:
            told.append(str(e))
        ensure(told and "query.spill.user.max" in told[0], f"a user has more than his part: {told}")
        # 180 of 320 MB: 120 are held, and nearly 40 would be by the block that failed
        status, said, _ = post(s, f"select count() from ({of_bytes(180)} limit 179999, 180001)", user="root:secret")
        ensure(status == 200, f"what failed keeps its files: {status} {said}")
        held.rows("rollback")
        status, said, _ = post(s, f"select count() from ({of_bytes(140)} limit 139999, 140001)", user="a1:of tests")
        ensure(status == 200, f"what is free again is not his: {status} {said}")
        w.close()
        held.close()


@check
def imports_of_one_user_leave_memory_to_others(_):
    """What an import keeps of a record that does not end is memory of who sends it."""
    import base64, socket
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096",
           "ALMANAC_QUERY_MEMORY_TOTAL_MAX": "256m", "ALMANAC_QUERY_MEMORY_MAX": "128m", "ALMANAC_QUERY_MEMORY_USER_MAX": "64m", "ALMANAC_QUERY_MEMORY_ADMIN_RESERVE": "32m"}
    with Server(env=env) as s:
        for sql in ("create table t (a varchar, b varchar)", "create user ins with password 'of tests'", "grant http to ins", "grant insert on t to ins", "create user a1 with password 'of tests'", "grant http to a1"):
            status, said, _ = post(s, sql, user="root:secret")
            ensure(status == 200, f"{sql}: {said}")
        host, port = s.http.split(":")
        login = base64.b64encode(b"ins:of tests").decode()
        conns = []
        for i in range(5):
            c = socket.create_connection((host, int(port)), timeout=20)
            conns.append(c)
            c.sendall(f"POST /imp?name=t&forceHeader=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {login}\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 900000000\r\n\r\n".encode() +
                      b'--x\r\nContent-Disposition: form-data; name="data"; filename="t"\r\n\r\na,b\r\n"')
            try:
                for _ in range(45):
                    c.sendall(b"y" * (1 << 20))
            except OSError:
                pass
        used = lambda: int(dict(post(s, "select * from memory_metrics()", user="root:secret")[1])["QUERIES"])
        time.sleep(1)
        ensure(used() <= 66 << 20, f"imports of one user take {used() / 1e6:.0f} MB")
        for user in ("a1:of tests", "root:secret"):
            status, said, _ = post(s, "select count() from (select a.x from long_sequence(300000) a join long_sequence(300000) b on a.x = b.x)", user=user)
            ensure(status == 200, f"{user}: {said}")
        for c in conns:
            c.close()
        wait_until(lambda: used() < 4 << 20, "memory of imports that ended is held")


ENDLESS = "select ts, sum(v) s from bounds where (select count() from long_sequence(100000000000)) > 0 sample by 1h"


def endless_views(s, n, user=None):
    for i in range(n):
        status, said, _ = post(s, f"create materialized view endless{i} as ({ENDLESS})", user=user)
        ensure(status == 200, f"{said}")


def refreshes(s, user=None):
    """Views that a refresh of the refresher or of somebody else runs for."""
    rows = post(s, "select query from query_activity()", user=user)[1]
    return [r[0] for r in rows if r[0].lower().startswith("refresh materialized view")]


@check
def an_endless_refresh_stops_no_other_and_ends_with_what_it_is_for(_):
    with Server(env={"ALMANAC_MAT_VIEW_REFRESH_WORKER_COUNT": "2"}) as s:
        seed(s)
        endless_views(s, 1)
        wait_until(lambda: any("endless0" in r for r in refreshes(s)), "the refresh does not run")
        s.exec("create materialized view good as (select ts, sum(v) s from bounds sample by 1h)")
        wait_until(lambda: s.rows("select count() from good") == [[10]], "another view waits for the endless one")
        s.exec("insert into bounds values ('2030-01-01', 5, 'z')")
        wait_until(lambda: s.rows("select count() from good") == [[11]], "another view waits for the endless one")
        s.exec("drop materialized view endless0")
        wait_until(lambda: refreshes(s) == [], "the view is gone, its refresh is not")
        # a refresh by a statement, and a base that goes
        endless_views(s, 1)
        said = []
        t = threading.Thread(target=lambda: said.append(post(s, "refresh materialized view endless0 full", wait=60)))
        t.start()
        wait_until(lambda: any("endless0" in r for r in refreshes(s)), "the refresh does not run")
        s.exec("rename table bounds to others")
        wait_until(lambda: refreshes(s) == [], "the base is gone, the refresh is not")
        t.join()
        ensure(said[0][0] != 200, str(said))
        ensure(s.rows("select count() from others") == [[11]], "rows were lost")


@check
def a_refresh_ends_at_its_time_limit_and_with_its_maker(_):
    with Server(env={"ALMANAC_MAT_VIEW_REFRESH_TIMEOUT": "600ms"}) as s:
        seed(s)
        endless_views(s, 1)
        reason = lambda: s.rows("select view_status, invalidation_reason from materialized_views() where view_name = 'endless0'")[0]
        wait_until(lambda: "mat.view.refresh.timeout (600 ms)" in str(reason()[1]), "the view goes on")
        ensure(reason()[0] == "invalid", str(reason()))
        status, said, took = post(s, "refresh materialized view endless0 full")
        ensure(status != 200 and "mat.view.refresh.timeout (600 ms)" in said and took < 5, f"{status} {said}")
    env = {"ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096"}
    with Server(env=env) as s:
        root, maker = "root:secret", "maker:of tests"
        for sql in ("create table bounds (ts timestamp, v long, s symbol) timestamp(ts) partition by day", "insert into bounds values (0, 1, 'a')", "create user maker with password 'of tests'",
                    "grant http to maker", "grant create materialized view to maker", "grant select on bounds to maker"):
            status, said, _ = post(s, sql, user=root)
            ensure(status == 200, f"{sql}: {said}")
        endless_views(s, 3, maker)  # one user's views leave a worker to others
        wait_until(lambda: len(refreshes(s, root)) > 0, "no refresh runs")
        status, said, _ = post(s, "create materialized view good as (select ts, sum(v) s from bounds sample by 1h)", user=root)
        ensure(status == 200, f"{said}")
        wait_until(lambda: post(s, "select count() from good", user=root)[1] == [[1]], "the views of one user stop those of others")
        ensure(len(refreshes(s, root)) == 1, f"{refreshes(s, root)}")
        # nor do those that are OWNED BY his group, nor those of an accomplice
        for sql in ("create group crew", "add user maker to crew", "grant select on bounds to crew", "create user friend with password 'of tests'", "grant http to friend", "grant create materialized view to friend", "grant select on bounds to friend"):
            status, said, _ = post(s, sql, user=root)
            ensure(status == 200, f"{sql}: {said}")
        status, said, _ = post(s, f"create materialized view endless3 as ({ENDLESS}) owned by crew", user=maker)
        ensure(status == 200, f"{said}")
        fresh = iter(range(100))

        def goes_on(who):
            name = f"good{next(fresh)}"
            ensure(post(s, f"create materialized view {name} as (select ts, sum(v) s from bounds sample by 1h)", user=root)[0] == 200, name)
            wait_until(lambda: post(s, f"select count() from {name}", user=root)[1] == [[1]], f"the views of {who} stop those of others", 20)
            post(s, f"drop materialized view {name}", user=root)

        goes_on("one user")
        ensure(len(refreshes(s, root)) == 1, f"{refreshes(s, root)}")
        ensure(post(s, f"create materialized view endless4 as ({ENDLESS})", user="friend:of tests")[0] == 200, "another user")
        wait_until(lambda: len(refreshes(s, root)) == 2, "the view of another user is refreshed")
        goes_on("two users")
        ensure(len(refreshes(s, root)) == 2, f"{refreshes(s, root)}")
        for i in (1, 2, 3, 4):
            post(s, f"drop materialized view endless{i}", user=root)
        post(s, "drop materialized view good", user=root)
        for sql in ("alter user maker disable", "alter user maker enable", "drop user maker"):
            if "enable" in sql:
                post(s, sql, user=root)
                post(s, "insert into bounds values (1, 2, 'b')", user=root)
                continue
            wait_until(lambda: any("endless0" in r for r in refreshes(s, root)), f"before {sql} the refresh does not run")
            status, said, _ = post(s, sql, user=root)
            ensure(status == 200, f"{sql}: {said}")
            wait_until(lambda: refreshes(s, root) == [], f"{sql}: the refresh goes on")


def no_loop_is_blind(s):
    """Debug builds log loops that did not look at the time limit (base/look.h)."""
    blind = [line for line in s.log_path.read_text(errors="replace").splitlines() if " look " in line and "without a look at the time limit" in line]
    ensure(not blind, "\n".join(blind))


def main():
    suite = Suite(__doc__)
    with Server(binary=suite.o.binary, env={"ALMANAC_QUERY_MEMORY_MAX": "512m", "ALMANAC_QUERY_MEMORY_TOTAL_MAX": "1g"}) as s:
        seed(s)
        suite.checks(s)
        suite.one("no_loop_is_blind", no_loop_is_blind, s)
    suite.close()


if __name__ == "__main__":
    main()
