#!/usr/bin/env python3
"""/metrics of the health port: read by the parser of the Prometheus client, complete, and true: each count goes up by what was done.

    metrics_test.py [NAME...]
"""
import http.client, pathlib, re, socket, time, urllib.parse, urllib.request

from prometheus_client.parser import text_string_to_metric_families

from lib.checks import check, expect, main
from lib.rawhttp import raw
from lib.server import TOP, Server
from lib.tools import gen_docs


def scrape(s):
    with urllib.request.urlopen(f"http://{s.health}/metrics", timeout=30) as r:
        expect(r.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return r.read().decode()


def values(s):
    """{(name of the sample, labels): value}"""
    return {(x.name, tuple(sorted(x.labels.items()))): x.value for f in text_string_to_metric_families(scrape(s)) for x in f.samples}


def grown(s, action):
    """What the counts are more, by name, or name and label value."""
    before = values(s)
    action()
    after = values(s)
    return {k[0] + ("" if not k[1] else "/" + k[1][0][1]): after[k] - before[k] for k in after}


def soon(f, what):
    end = time.monotonic() + 20
    while not f():
        expect(time.monotonic() < end, True, what)
        time.sleep(0.05)


# ------------------------------------------------------------------------------------------------------ the text
@check
def the_text_is_of_the_format(s):
    text = scrape(s)
    expect(text.endswith("\n") and "\n\n\n" not in text, True)
    seen, family, kind = set(), None, None
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            expect(family in seen, False, f"{family} twice")
            expect(len(line.split(" ", 3)[3]) > 3, True, line)
            seen.add(family)
        elif line.startswith("# TYPE "):
            expect(line.split(" ")[2], family)
            kind = line.split(" ")[3]
            expect(kind in ("counter", "gauge", "histogram"), True, line)
            expect(family.endswith("_total"), kind == "counter", line)
        elif line:
            m = re.fullmatch(r'([a-z_]+[a-z0-9_]*)(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? (-?[0-9]+(\.[0-9]+)?)', line)
            expect(m is not None, True, line)
            expect(m[1] in ([family + e for e in ("_bucket", "_sum", "_count")] if kind == "histogram" else [family]), True, line)
    families = list(text_string_to_metric_families(text))
    expect(len(families), len(seen))
    samples = [(x.name, tuple(sorted(x.labels.items()))) for f in families for x in f.samples]
    expect(len(samples), len(set(samples)), "samples twice")
    for f in families:
        if f.type == "histogram":
            buckets = [x.value for x in f.samples if x.name.endswith("_bucket")]
            count, total = ([x.value for x in f.samples if x.name.endswith(e)][0] for e in ("_count", "_sum"))
            expect((buckets, buckets[-1], total >= 0), (sorted(buckets), count, True), f.name)


@check
def every_row_of_the_table_is_there_and_documented(s):
    text = scrape(s)
    page = (TOP / "docs" / "reference" / "metrics.md").read_text()
    names = {(kind, name) for _, (kind, name, labels, value, doc) in gen_docs.rows("src/net/metric.def", "ALM_METRIC")}
    expect(len(names) > 70, True, len(names))
    for kind, name in names:
        full = name + ("_total" if kind in ("counter", "counter_seconds", "codes") else "")
        expect(f"# HELP {full} " in text and f"`{full}`" in page, True, full)
    expect(len(re.findall("^# HELP ", text, re.M)), len(names))


@check
def names_that_dashboards_know_are_there(s):
    got = {k[0] for k in values(s)}
    for name in ("commits_total", "o3_commits_total", "committed_rows_total", "physically_written_rows_total", "rollbacks_total", "json_queries_total", "json_queries_completed_total",
                 "json_queries_cache_hits_total", "json_queries_cache_misses_total", "pg_wire_queries_total", "pg_wire_queries_completed_total", "pg_wire_select_cache_hits_total",
                 "pg_wire_select_cache_misses_total", "pg_wire_errors_total", "unhandled_errors_total", "http_connections", "line_tcp_connections", "pg_wire_connections", "wal_written_rows_total",
                 "wal_apply_written_rows_total", "wal_apply_physically_written_rows_total", "wal_seq_txn", "wal_writer_txn", "memory_mem_used", "memory_rss", "suspended_tables"):
        expect("questdb_" + name in got, True, name)


# ------------------------------------------------------------------------------------------------------ the counts
@check
def statements_are_counted_once_by_where_they_come_from(s):
    s.exec("create table m (ts timestamp, v long) timestamp(ts) partition by day")

    def some():
        for _ in range(5):
            s.rows("select x from long_sequence(7)")
        for sql in ("select nope", "selec", "select * from nope", "select * from nope"):
            expect(s.get("/exec", query=sql)[0], 400)

    g = grown(s, some)
    expect([g[k] for k in ("questdb_json_queries_total", "questdb_json_queries_completed_total", "almanac_statement_failures_total/http", "almanac_result_rows_total/http", "questdb_pg_wire_queries_total",
                           "questdb_json_queries_cache_misses_total", "questdb_json_queries_cache_hits_total", "almanac_statement_seconds_count", "questdb_unhandled_errors_total")], [9, 5, 4, 35, 0, 9, 0, 9, 0])
    expect([g["almanac_statement_errors_total/" + k] for k in ("TABLE", "NAME", "SYNTAX")], [3, 1, 0])
    expect([g["almanac_http_answers_total/" + k] for k in ("2xx", "4xx", "5xx")], [6, 4, 0])  # and one of /metrics


@check
def statements_over_pg_and_what_was_prepared(s):
    import psycopg

    def some():
        with psycopg.connect(s.pg_dsn(), autocommit=True) as c:
            for i in range(10):
                expect(c.execute("select x from long_sequence(3) where x > %s", (i % 2,), prepare=True).fetchall()[-1], (3,))
            for _ in range(2):
                try:
                    c.execute("select nope")
                except psycopg.Error:
                    pass

    g = grown(s, some)
    expect((g["questdb_pg_wire_select_cache_hits_total"] >= 8, g["questdb_pg_wire_errors_total"], g["questdb_pg_wire_queries_completed_total"] >= 10, g["almanac_connections_accepted_total/pg"]), (True, 2, True, 1))
    soon(lambda: values(s)[("questdb_pg_wire_connections", ())] == 0, "the connection goes")


@check
def running_statements_are_a_gauge(s):
    sock = s.connect()
    sock.sendall(b"GET /exec?query=" + urllib.parse.quote("select sum(x % 7) from long_sequence(100000000000)").encode() + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    soon(lambda: values(s)[("almanac_statements_running", ())] == 1, "it runs")
    sock.close()
    soon(lambda: values(s)[("almanac_statements_running", ())] == 0, "it ends")


@check
def long_statements_land_in_their_bucket(s):
    g = grown(s, lambda: s.get("/exec", query="select sum(x % 7) from long_sequence(1000000000000)", headers={"Statement-Timeout": "1500"}))  # of which it may wait for its turn
    expect((g["almanac_statement_seconds_bucket/0.25"], g["almanac_statement_seconds_bucket/+Inf"], g["almanac_statement_seconds_sum"] >= 0.25, g["almanac_statement_errors_total/TIMEOUT"]), (0, 1, True, 1))


@check
def rows_commits_and_syncs_are_counted(s):
    s.exec("create table mw (ts timestamp, v long) timestamp(ts) partition by day")

    def some():
        for i in range(3):
            s.exec(f"insert into mw values ('2026-01-0{3 - i}', 1), ('2026-01-0{3 - i}T01', 2)")
        s.exec("insert into mw select ('2026-02-01T00:00:00.000000Z'::timestamp::long + x)::timestamp, x from long_sequence(1000)")

    g = grown(s, some)
    expect([g[k] for k in ("questdb_committed_rows_total", "questdb_wal_written_rows_total", "questdb_o3_commits_total", "almanac_rows", "questdb_rollbacks_total")], [1006, 1006, 2, 1006, 0])
    expect((g["questdb_commits_total"] >= 4, g["almanac_wal_sync_seconds_count"] >= 4, g["almanac_wal_bytes_total"] > 500, g["questdb_wal_seq_txn"] >= 4), (True, True, True, True))
    now = values(s)
    expect(now[("questdb_wal_seq_txn", ())], now[("questdb_wal_writer_txn", ())])
    g = grown(s, lambda: s.get("/exec", query="insert into mw values ('2026-01-01', 1); insert into mw values ('2026-01-02', 1); select nope"))
    expect((g["questdb_rollbacks_total"], g["questdb_committed_rows_total"]), (1, 0))
    g = grown(s, lambda: (s.exec("checkpoint create"), s.exec("checkpoint release")))
    expect(g["almanac_checkpoint_seconds_count"] >= 1, True)
    g = grown(s, lambda: s.exec("update mw set v = 3 where v = 2"))  # an update of rows in memory flushes them first
    expect((g["almanac_flushed_rows_total"], g["almanac_flushes_total"], g["questdb_physically_written_rows_total"] >= 1006, g["questdb_committed_rows_total"]), (1006, 1, True, 0))
    expect((g["almanac_partitions"], g["almanac_parts_bytes"] > 0), (4, True))
    expect([values(s)[(k, ())] for k in ("almanac_storage_read_only", "questdb_suspended_tables", "almanac_snapshots")], [0, 0, 0])


@check
def loads_and_merges_are_counted(s):
    s.exec("create table mm (ts timestamp, v long) timestamp(ts) partition by year")

    def some():
        for i in range(12):
            s.exec(f"insert into mm select ('2026-01-01T00:00:00.000000Z'::timestamp::long + x * 1000)::timestamp, x from long_sequence(70000)")

    g = grown(s, some)
    expect(g["questdb_committed_rows_total"], 840000)
    s.exec("alter table mm squash partitions")
    soon(lambda: values(s)[("almanac_merge_seconds_count", ())] > 0, "a merge")
    expect(values(s)[("questdb_physically_written_rows_total", ())] >= 840000, True)


@check
def lines_imports_and_connections_are_counted(s):
    body = b"ml v=1 1000000000\nml v=2 2000000000\n"

    def some():
        c = http.client.HTTPConnection(*s.http.rsplit(":", 1), timeout=30)
        c.request("POST", "/write", body)
        expect(c.getresponse().status, 204)
        c.close()
        c = http.client.HTTPConnection(*s.http.rsplit(":", 1), timeout=30)
        c.request("POST", "/write", b"broken")
        expect(c.getresponse().status, 400)
        c.close()

    g = grown(s, some)
    expect([g[k] for k in ("questdb_line_http_recv_bytes_total", "almanac_line_http_rows_total", "almanac_line_http_refused_requests_total", "almanac_connections_accepted_total/http", "questdb_committed_rows_total")],
           [len(body) + 6, 2, 1, 2, 2])
    expect((g["almanac_received_bytes_total/http"] > len(body) + 6, g["almanac_sent_bytes_total/http"] > 100, g["almanac_received_bytes_total/health"] > 0), (True, True, True))
    host, port = s.line.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as c:
        soon(lambda: values(s)[("questdb_line_tcp_connections", ())] == 1, "a connection")
        c.sendall(b"ml v=3 3000000000\n")
    soon(lambda: values(s)[("almanac_line_tcp_rows_total", ())] == 1, "its row")
    soon(lambda: values(s)[("questdb_line_tcp_connections", ())] == 0, "it goes")


@check
def the_process_is_as_the_system_has_it(s):
    v = values(s)
    rss, _ = s.resident_bytes()
    expect(abs(v[("process_resident_memory_bytes", ())] - rss) < 32 << 20, True, rss)
    expect(abs(v[("process_start_time_seconds", ())] - (time.time() - (time.monotonic() - s.started))) < 3, True)
    files = len(list(pathlib.Path(f"/proc/{s.process.pid}/fd").iterdir()))
    expect(abs(v[("process_open_fds", ())] - files) <= 2, True, (v[("process_open_fds", ())], files))
    expect(v[("process_threads", ())], len(list(pathlib.Path(f"/proc/{s.process.pid}/task").iterdir())))
    expect(0 < v[("process_cpu_seconds_total", ())] < 600, True)
    g = grown(s, lambda: s.rows("select sum(x % 7) from long_sequence(200000000)"))
    expect(g["process_cpu_seconds_total"] > 0.1, True, g["process_cpu_seconds_total"])
    expect(v[("almanac_memory_limit_bytes", (("account", "statements"),))] > v[("almanac_memory_peak_bytes", (("account", "statements"),))] > 0, True)


@check
def without_the_setting_there_are_no_metrics(s):
    with Server(preset=s.preset) as c:
        got, _ = raw(c.health, b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        expect(got.endswith(b"Status: Healthy"), True)


if __name__ == "__main__":
    main(env={"ALMANAC_METRICS_ENABLED": "true"})
