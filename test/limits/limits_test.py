#!/usr/bin/env python3
"""Bounds that hold whatever a client asks for: memory of streams, memory and time of queries, nesting,
syncs per acknowledgement, a server at rest, a read-only or full disk, a second server."""
import base64, http.client, json, os, pathlib, re, subprocess, tempfile, time, urllib.parse, urllib.request

from lib.checks import Suite, check, ensure
from lib.preload import preloaded
from lib.server import Server, TOP



@check
def result_of_100_million_rows_streams_in_constant_memory(s):
    """/exp of long_sequence(100000000): about 900 MB of CSV, read slowly at first."""
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=300)
    s.exec("select 1")
    before = s.resident_bytes()[1]
    c.request("GET", "/exp?" + urllib.parse.urlencode({"query": "select x from long_sequence(100000000)"}))
    r = c.getresponse()
    total = len(r.read(1 << 20))
    time.sleep(0.5)  # a slow reader: what waits for it is bounded
    peak = s.resident_bytes()[1]
    lines = tail = 0
    while True:
        block = r.read(8 << 20)
        if not block:
            break
        total += len(block)
        tail = block[-12:]
        if lines % 16 == 0:
            peak = max(peak, s.resident_bytes()[1])
        lines += 1
    ensure(tail.endswith(b"100000000\r\n"), f"the last row is {tail!r}")
    ensure(total > 880_000_000, f"{total} bytes")
    ensure(peak - before < 64 << 20, f"memory grew by {(peak - before) >> 20} MB")


@check
def query_over_its_memory_limit_fails_alone(s):
    try:
        s.exec("select count() from long_sequence(9000000) a join long_sequence(9000000) b on a.x = b.x")
        raise AssertionError("no error")
    except RuntimeError as e:
        ensure("query" in str(e) and "memory" in str(e).lower(), str(e))
    ensure(s.rows("select 1") == [[1]], "the server does not answer")


def spill_files(s):
    return os.listdir(pathlib.Path(s.root) / "db" / "spill")


SORT = "select count(), first(x), last(x) from (select x from long_sequence(8000000) order by x % 1000, x desc)"


@check
def sorts_and_groupings_over_their_memory_go_on_in_files(s):
    s.exec("select 1")
    before = s.resident_bytes()[1]
    ensure(s.rows(SORT) == [[8000000, 8000000, 999]], "the sort is wrong")
    group = "select count(), sum(c) from (select x % 6000000 k, count() c from long_sequence(8000000) group by k)"
    ensure(s.rows(group) == [[6000000, 8000000]], "the groups are wrong")
    ensure(s.resident_bytes()[1] - before < 320 << 20, "more memory than the limit")
    ensure(spill_files(s) == [], "files are left")


@check
def a_sort_that_writes_files_is_stopped_in_time(s):
    start = time.monotonic()
    status, _, body = s.get("/exec", query=SORT.replace("8000000", "80000000"), headers={"Statement-Timeout": "1500"})
    took = time.monotonic() - start
    ensure(status == 400 and "timeout" in json.loads(body)["error"], f"{status} {body[:200]}")
    ensure(took < 3, f"took {took:.2f} s")
    ensure(spill_files(s) == [], "files are left")


@check
def every_kind_of_work_is_stopped_in_time(s):
    rows = "(select x, x % 1000 k, rnd_double(0) d from long_sequence(400000000))"
    for kind, sql in {
        "sort": f"select last(x) from (select * from {rows} order by d)",
        "top k": f"select last(x) from (select * from {rows} order by d limit 1000)",
        "group": f"select count() from (select d, count() from {rows} group by d)",
        "window": f"select max(r) from (select rank() over (partition by k order by d) r from {rows})",
        "join": f"select count() from {rows} a join (select x % 1000 k from long_sequence(1000000)) b on a.k = b.k",
        "except": f"select count() from (select k from {rows} except select 5 from long_sequence(1))",
    }.items():
        start = time.monotonic()
        status, _, body = s.get("/exec", query=sql, headers={"Statement-Timeout": "400"})
        took = time.monotonic() - start
        ensure(status == 400 and "timeout" in json.loads(body)["error"], f"{kind}: {status} {body[:200]}")
        ensure(took < 1.5, f"{kind} took {took:.2f} s")


@check
def explain_analyze_says_what_operators_hold(s):
    rows = "(select x, x % 1000 k, rnd_double() d from long_sequence(100000))"
    for kind, sql in {"sort": f"select * from {rows} order by d", "group by": f"select k, count() from {rows} group by k",
                      "join": f"select a.x from {rows} a join {rows} b on a.x = b.x", "window": f"select rank() over (partition by k order by d) from {rows}"}.items():
        lines = [r[0] for r in s.rows("explain analyze " + sql)]
        found = [line for line in lines if line.strip().startswith(kind)]
        ensure(found and all(int(re.search(r"memory=(-?\d+)", line)[1]) > 1000 and float(re.search(r"time=(-?[\d.]+)ms", line)[1]) >= 0 for line in found), str(lines))


@check
def temporary_files_have_a_bound(_):
    with Server(env={"ALMANAC_QUERY_MEMORY_MAX": "64m", "ALMANAC_QUERY_SPILL_MAX": "20m"}) as s:
        try:
            s.exec(SORT)
            raise AssertionError("no error")
        except RuntimeError as e:
            ensure("query.spill.max" in str(e), str(e))
        ensure(s.rows("select 1") == [[1]] and spill_files(s) == [], "files are left")


@check
def query_over_its_time_limit_fails_alone(s):
    start = time.monotonic()
    status, _, body = s.get("/exec", query="select sum(x) from long_sequence(1000000000000)", headers={"Statement-Timeout": "300"})
    took = time.monotonic() - start
    ensure(status == 400 and "timeout" in json.loads(body)["error"], f"{status} {body[:200]}")
    ensure(took < 2, f"took {took:.2f} s")


@check
def client_that_goes_away_ends_its_query(s):
    sock = s.connect()
    q = urllib.parse.quote("select sum(x) from long_sequence(1000000000000)")
    sock.sendall(f"GET /exec?query={q} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    time.sleep(0.3)
    sock.close()
    time.sleep(0.5)
    stat = lambda: sum(map(int, pathlib.Path(f"/proc/{s.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
    a = stat()
    time.sleep(0.5)
    ensure(stat() - a < 10, "the query still runs")


@check
def nesting_is_refused_with_a_message(s):
    for sql in ("select " + "(" * 10000 + "1" + ")" * 10000, "select " + "-" * 0 + "not " * 10000 + "true",
                "select * from " + "(select * from " * 5000 + "long_sequence(1)" + ")" * 5000):
        status, _, body = s.post_query(sql)
        ensure(status == 400 and "error" in json.loads(body), f"{status} {body[:200]}")
    ensure(s.rows("select 1") == [[1]], "the server does not answer")


@check
def nesting_up_to_the_limit_is_answered(s):
    """Every step of a statement, on a query thread: parser, binder, rules, operators."""
    n = 990
    for sql in ("select * from " + "(select * from " * n + "long_sequence(1)" + ")" * n, "select 1" + " union (select 1" * n + ")" * n,
                "select " + "abs(" * n + "1" + ")" * n, "select " + "case when true then " * n + "1" + " end" * n,
                "select x from long_sequence(1) where " + "x in (select x from long_sequence(1) where " * (n // 2) + "x = 1" + ")" * (n // 2)):
        status, _, body = s.post_query(sql)
        ensure(status in (200, 400) and "dataset" in json.loads(body) or "nested too deeply" in body.decode(), f"{status} {body[-200:]}")
    ensure(s.rows("select 1") == [[1]], "the server does not answer")


@check
def bad_bytes_are_errors(s):
    for sql in (b"select '\xff\xfe'", b"select '\x00'", b"\xc3\x28", b"select \x01"):
        status, _, body = s.get_raw("/exec?query=" + urllib.parse.quote_from_bytes(sql))
        ensure(status in (200, 400), f"{status}")
        json.loads(body)
    ensure(s.rows("select 1") == [[1]], "the server does not answer")


def counting_syncs(d):
    """The environment of a server whose sync calls are counted from outside, and the function that reads the count."""
    counter = pathlib.Path(d) / "count"
    return {"LD_PRELOAD": preloaded(d, "sync_count"), "SYNC_COUNT_FILE": str(counter)}, lambda: int.from_bytes(counter.read_bytes(), "little")


def syncs_for_20_commits(**env):
    """Sync calls while one client commits 20 times, counted outside the server."""
    with tempfile.TemporaryDirectory() as d:
        count, read = counting_syncs(d)
        with Server(env={**count, **env}) as s:
            s.exec("create table syncs (ts timestamp, v int) timestamp(ts) partition by day")
            s.exec("insert into syncs values (0, 0)")
            before = read()
            for i in range(20):
                s.exec(f"insert into syncs values ({i}, {i})")
            return read() - before


@check
def every_acknowledgement_has_its_sync(s):
    n = syncs_for_20_commits()
    ensure(20 <= n <= 30, f"{n} syncs for 20 acknowledgements of one client")


@check
def the_sync_test_notices_a_missing_sync(s):
    n = syncs_for_20_commits(ALMANAC_WAL_SYNC="off")
    ensure(n < 20, f"{n} syncs with wal.sync=off: the count proves nothing")


@check
def many_tables_and_partitions_share_syncs(s):
    n = 200
    with tempfile.TemporaryDirectory() as d:
        count, read = counting_syncs(d)
        with Server(env=count) as own:
            def few(what, run):
                before = read()
                run()
                ensure(1 <= read() - before <= n / 2, f"{read() - before} syncs for {what}")
            def write(field):
                lines = "".join(f"many{i},s=a {field}=1 1700000000000000000\n" for i in range(n)).encode()
                with urllib.request.urlopen(urllib.request.Request(own.url + "/write", lines, own.login()), timeout=60) as r:
                    ensure(r.status == 204, f"{r.status} for lines")
            few(f"{n} tables made by one request of lines", lambda: write("v"))
            few(f"a column for each of {n} tables", lambda: write("w"))
            ensure(own.rows("select count() from tables()") == [[n]], "not all tables were made")
            ensure(own.rows("select count(), sum(w) from many7") == [[2, 1.0]], "rows of a table")
            own.exec("create table hours (ts timestamp, v long) timestamp(ts) partition by hour")
            own.exec(f"insert into hours select timestamp_sequence(0, 3600000000), x from long_sequence({n})")
            few(f"an UPDATE of {n} partitions", lambda: own.exec("update hours set v = v + 1"))
            few(f"new values for {n} partitions", lambda: own.exec("alter table hours alter column v type double"))
            own.exec("insert into hours select ts, -v from hours union all select ts, 1000 + v from hours")
            few(f"a DELETE from {n} partitions", lambda: own.exec("delete from hours where v < 0"))
            ensure(own.rows("select count() from hours") == [[2 * n]], "rows that are left")
            before = read()
        ensure(read() - before <= n / 2, f"{read() - before} syncs for a stop")


@check
def second_server_on_the_directory_is_refused(s):
    p = subprocess.run([s.binary, "-d", str(s.root)], env={**os.environ, "ALMANAC_HTTP_BIND_TO": "127.0.0.1:0",
                       "ALMANAC_PG_NET_BIND_TO": "127.0.0.1:0", "ALMANAC_HTTP_MIN_NET_BIND_TO": "127.0.0.1:0", "ALMANAC_LINE_TCP_NET_BIND_TO": "127.0.0.1:0"},
                       capture_output=True, text=True, timeout=30)
    ensure(p.returncode != 0 and "is in use by process" in p.stderr, p.stderr[-400:])


@check
def open_listeners_are_refused_without_credentials(s):
    with tempfile.TemporaryDirectory() as root:
        for key, word in (("ALMANAC_HTTP_BIND_TO", "http.user"), ("ALMANAC_PG_NET_BIND_TO", "pg.password")):
            env = {**os.environ, "ALMANAC_HTTP_BIND_TO": "127.0.0.1:0", "ALMANAC_PG_NET_BIND_TO": "127.0.0.1:0",
                   "ALMANAC_HTTP_MIN_NET_BIND_TO": "127.0.0.1:0", "ALMANAC_LINE_TCP_NET_BIND_TO": "127.0.0.1:0", key: "0.0.0.0:0"}
            p = subprocess.run([s.binary, "-d", root], env=env, capture_output=True, text=True, timeout=30)
            ensure(p.returncode != 0 and word in p.stderr, f"{key}: {p.stderr[-400:]}")


@check
def bad_settings_name_key_value_and_file(s):
    with tempfile.TemporaryDirectory() as root:
        conf = pathlib.Path(root) / "conf"
        conf.mkdir()
        for text, words in (("no.such.key=1\n", ["no.such.key", "server.conf"]),
                            ("query.timeout=soon\n", ["query.timeout", "soon", "server.conf"])):
            (conf / "server.conf").write_text(text)
            p = subprocess.run([s.binary, "-d", root], capture_output=True, text=True, timeout=30)
            ensure(p.returncode != 0 and all(w in p.stderr for w in words), p.stderr[-400:])


@check
def server_at_rest_is_small_and_starts_quickly(s):
    with Server() as fresh:
        fresh.exec("select 1")
        resident = fresh.resident_bytes()[0]
        ensure(resident < 50 << 20, f"{resident >> 20} MB resident")
        ensure(fresh.start_seconds < 1.0, f"started in {fresh.start_seconds:.2f} s")


@check
def full_disk_is_an_error_and_writes_resume(s):
    """A small file system of its own (needs root; skipped where mounting is not allowed)."""
    with tempfile.TemporaryDirectory() as d:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", d], capture_output=True).returncode:
            print("skipped: full_disk: cannot mount a tmpfs")
            return
        try:
            with Server(root=d, log="/dev/null", env={"ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "4m"}) as small:
                small.exec("create table f (ts timestamp, n long, v varchar) timestamp(ts) partition by day")
                filler = pathlib.Path(d) / "filler"
                filler.write_bytes(b"x" * (16 << 20))
                acked, error = 0, None
                for i in range(400):
                    status, _, body = small.post_query(f"insert into f select x::timestamp, x + {acked}, rpad('a', 500, 'b') from long_sequence(200)")
                    if status != 200:
                        error = (status, json.loads(body)["error"])
                        break
                    acked += 200
                ensure(error is not None, "the disk never got full")
                ensure("space" in error[1].lower() or "full" in error[1].lower(), str(error))
                ensure(small.rows("select count() from f") == [[acked]], f"{acked} rows were acknowledged")
                filler.unlink()
                end = time.monotonic() + 10
                while small.post_query("insert into f values (1, -1, 'again')")[0] != 200:
                    ensure(time.monotonic() < end, "writes do not resume")
                    time.sleep(0.2)
                ensure(small.rows("select count() from f") == [[acked + 1]], "rows after the disk had room")
        finally:
            subprocess.run(["umount", "-l", d], check=True)


@check
def an_administrator_ends_a_full_disk(s):
    """What frees space, or takes permissions away, goes through when nothing else does; and everything goes on when there is space."""
    with tempfile.TemporaryDirectory() as d:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", d], capture_output=True).returncode:
            print("skipped: an_administrator_ends_a_full_disk: cannot mount a tmpfs")
            return
        env = {"ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_ACL_ENABLED": "true", "ALMANAC_ACL_ADMIN_USER": "root", "ALMANAC_ACL_ADMIN_PASSWORD": "secret", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": "4096", "ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backup"}

        def run(small, text, user="root:secret"):
            request = urllib.request.Request(small.url + "/exec", data=urllib.parse.urlencode({"query": text}).encode(), headers={"Authorization": "Basic " + base64.b64encode(user.encode()).decode()})
            try:
                with urllib.request.urlopen(request, timeout=60) as r:
                    return r.status, r.read().decode()
            except urllib.error.HTTPError as e:
                return e.code, e.read().decode()

        def fill(small):
            for rows in (4000, 400, 40, 4, 1):
                for _ in range(200):
                    if run(small, f"insert into big select x::timestamp, rpad('a', 500, 'b') from long_sequence({rows})", "low:of tests")[0] != 200:
                        break

        try:
            with Server(root=d, log="/dev/null", env=env) as small:
                for text in ("create user low with password 'of tests'", "grant http, create table to low", "create table spare (x long)", "create table kept (x long)", "insert into kept values (1)", "create table gone (ts timestamp, x long) timestamp(ts) partition by day", "insert into gone values (0, 1)"):
                    ensure(run(small, text)[0] == 200, text)
                ensure(run(small, "create table big (ts timestamp, v varchar) timestamp(ts) partition by day", "low:of tests")[0] == 200, "the table that fills the disk")
                fill(small)
                for text, user in (("insert into big values (1, 'x')", "low:of tests"), ("insert into spare values (1)", "root:secret")):
                    ensure(run(small, text, user)[0] == 507, f"the disk is full: {text}")
                for text in ("revoke create table from low", "alter user low disable", "create user other", "drop user other", "truncate table gone", "drop table spare"):
                    status, said = run(small, text)
                    ensure(status == 200, f"{text}: {status} {said}")
                ensure(run(small, "select 1", "low:of tests")[0] in (401, 403), "who filled the disk is out")
                status, said = run(small, "backup table kept to 'k'")
                ensure(status == 507 and "storage.disk.reserve" in said, f"a backup takes none of the space that was freed: {status} {said}")
                fill_user = "root:secret"
                for rows in (400, 1):
                    while run(small, f"insert into big select x::timestamp, rpad('a', 500, 'b') from long_sequence({rows})", fill_user)[0] == 200:
                        pass
            with Server(root=d, log="/dev/null", env=env) as small:
                ensure(run(small, "insert into big values (1, 'x')")[0] in (200, 507) and run(small, "select count() from big")[0] == 200, "it starts, and reads")
                status, said = run(small, "drop table big")
                ensure(status == 200, f"{status} {said}")
                end = time.monotonic() + 20
                while run(small, "create table next (x long)")[0] != 200:
                    ensure(time.monotonic() < end, "changes do not resume")
                    time.sleep(0.2)
                ensure((pathlib.Path(d) / "db" / "reserve").exists(), "the reserve is there again")
        finally:
            subprocess.run(["umount", "-l", d], check=True)


@check
def read_only_directory_is_a_clear_error(s):
    with tempfile.TemporaryDirectory() as d:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", d], capture_output=True).returncode:
            print("skipped: read_only: cannot mount a tmpfs")
            return
        try:
            p = subprocess.run([s.binary, "-d", d], capture_output=True, text=True, timeout=30)
            ensure(p.returncode == 1 and "read-only" in p.stderr.lower(), p.stderr[-300:])
        finally:
            subprocess.run(["umount", d], check=True)


def post_query(self, sql):
    import urllib.error, urllib.request
    body = urllib.parse.urlencode({"query": sql}).encode()
    try:
        with urllib.request.urlopen(self.url + "/exec", data=body, timeout=60) as r:
            return r.status, r.headers, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()


def get_raw(self, path):
    host, port = self.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    c.request("GET", path)
    r = c.getresponse()
    return r.status, r.headers, r.read()


Server.post_query = post_query
Server.get_raw = get_raw


def main():
    suite = Suite(__doc__)
    with Server(binary=suite.o.binary, env={"ALMANAC_QUERY_MEMORY_MAX": "256m"}) as s:
        suite.checks(s)
    suite.close()


if __name__ == "__main__":
    main()
