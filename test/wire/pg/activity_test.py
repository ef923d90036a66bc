#!/usr/bin/env python3
"""What runs, and for whom: pg_stat_activity, query_activity(), the ends of connections; imports are listed and can be ended."""
import http.client, json, socket, time

from lib.checks import check, expect, main
from lib.pganswers import SLOW, state
from lib.pgclient import Wire, execute, bind, msg, parse, query, SYNC


def eventually(ask, want, what, seconds=10):
    end = time.monotonic() + seconds
    while True:
        got = ask()
        if want(got):
            return got
        if time.monotonic() > end:
            raise AssertionError(f"{what}: {got!r}")
        time.sleep(0.02)


@check
def ends_of_the_connection(s):
    w = Wire(s.pg)
    mine, server = w.s.getsockname(), w.s.getpeername()
    expect(w.rows("select inet_client_addr(), inet_client_port(), inet_server_addr(), inet_server_port()"),
           [[mine[0], str(mine[1]), server[0], str(server[1])]])
    expect(w.rows("select client_addr, client_port from pg_stat_activity where pid = pg_backend_pid()"), [[mine[0], str(mine[1])]])
    other = Wire(s.pg)
    expect(w.rows(f"select count() from pg_stat_activity where client_port = {other.s.getsockname()[1]}"), [["1"]])
    # a plan that is kept is not the answer to somebody else
    for one in (w, other, w):
        expect(one.rows("select inet_client_port()"), [[str(one.s.getsockname()[1])]])
    w.close()
    eventually(lambda: other.rows(f"select count() from pg_stat_activity where client_port = {mine[1]}"), lambda n: n == [["0"]], "it is gone")
    c = http.client.HTTPConnection(s.http)
    c.request("GET", "/exec?nm=true&query=select+inet_client_addr(),inet_client_port(),inet_server_port()")
    expect(json.loads(c.getresponse().read())["dataset"], [["127.0.0.1", c.sock.getsockname()[1], int(s.http.rsplit(":", 1)[1])]])


@check
def what_a_session_is_at(s):
    w, other = Wire(s.pg, params=[("application_name", "sheet one")]), Wire(s.pg)
    port = w.s.getsockname()[1]

    def row():
        return other.rows(f"select application_name, state, query_id is null, backend_start <= now(), backend_type from pg_stat_activity where client_port = {port}")[0]
    expect(row(), ["sheet one", "idle", "t", "t", "client backend"])
    w.ask(query("begin"))
    expect(row()[1], "idle in transaction")
    w.ask(query("select nope"))
    expect(row()[1], "idle in transaction (aborted)")
    w.ask(query("rollback"))
    w.ask(query("set application_name = 'sheet two'"))
    w.ask(query("select 1"))
    expect(row()[:2], ["sheet two", "idle"])
    w.send(query(SLOW))
    eventually(row, lambda r: r[1] == "active", "it runs")
    expect(row()[2], "f")
    number = other.rows(f"select query_id from pg_stat_activity where client_port = {port}")[0][0]
    expect(other.rows(f"select cancel_query({number})"), [["t"]])
    expect(state(w.until_ready()), "I")
    workers = other.rows("select value from show_parameters() where property_path = 'mat.view.refresh.worker.count'")
    expect(other.rows("select count() from pg_stat_activity where application_name = 'refresh' and backend_type = 'background worker'"), workers)


def begin_import(s, name, body):
    """A request whose body is not over."""
    host, port = s.http.rsplit(":", 1)
    c = socket.create_connection((host, int(port)))
    head = (f"POST /imp?name={name}&fmt=json HTTP/1.1\r\nHost: {s.http}\r\nContent-Type: multipart/form-data; boundary=B\r\n"
            "Content-Length: 100000000\r\n\r\n--B\r\nContent-Disposition: form-data; name=\"data\"; filename=\"f.csv\"\r\n\r\n")
    c.sendall(head.encode() + body)
    return c


@check
def imports_are_listed_and_end(s):
    w = Wire(s.pg)
    list_it = "select query_id, username, state, query, query_start <= dateadd('s', 5, now()) from query_activity() where query like '/imp%'"
    for body, more in ((b"a,b\r\n1,2\r\n", b"3,4\r\n" * 10), (b"a,b\r\n" + b"1,2\r\n" * 400000, b"3,4\r\n" * 10), (b"PAR1", b"x" * 10)):
        c = begin_import(s, "into_it", body)
        rows = eventually(lambda: w.rows(list_it), lambda r: len(r) == 1, "it is listed")
        expect(rows[0][1:], ["admin", "active", "/imp into 'into_it'", "t"])
        eventually(lambda: w.rows("select application_name, state, query from pg_stat_activity where query like '/imp%'"),
                   lambda r: r == [["http", "active", "/imp into 'into_it'"]], "the connection of the import before may be about to go")
        web = http.client.HTTPConnection(s.http)
        web.request("DELETE", "/query/" + rows[0][0])
        expect(web.getresponse().status, 200)
        c.sendall(more)
        answer = c.recv(65536).decode()
        expect(("cancelled by user" in answer, f"X-Query-Id: {rows[0][0]}\r\n" in answer, " 200 " in answer.split("\r\n")[0]), (True, True, False), answer)
        eventually(lambda: w.rows(list_it), lambda r: r == [], "it is over")
        expect(w.rows("select count() from tables() where table_name = 'into_it'"), [["0"]])
        c.close()
    # one that goes through is listed by what it does, and not after
    body = b"a,b\r\n1,2\r\n--B--\r\n"
    head = b"--B\r\nContent-Disposition: form-data; name=\"data\"; filename=\"from_it\"\r\n\r\n"
    web = http.client.HTTPConnection(s.http)
    web.request("POST", "/imp?fmt=json", head + body, {"Content-Type": "multipart/form-data; boundary=B"})
    answer = web.getresponse()
    expect((answer.status, json.loads(answer.read())["rowsImported"], int(answer.getheader("X-Query-Id")) > 0), (200, 1, True))
    expect(w.rows(list_it), [])
    web.request("GET", "/exec?nm=true&query=select+query+from+query_activity()")
    expect(json.loads(web.getresponse().read())["dataset"], [["select query from query_activity()"]])
    w.rows("drop table from_it")


@check
def copies_are_listed_and_end(s):
    w, c = Wire(s.pg), Wire(s.pg)
    w.rows("create table copied (a int, b varchar)")
    list_it = "select query_id, state, query from query_activity() where query like 'copy%'"
    c.send(query("copy copied from stdin"))
    expect(c.read()[0], "G")
    rows = eventually(lambda: w.rows(list_it), lambda r: len(r) == 1, "it is listed")
    expect(rows[0][1:], ["active", "copy copied from stdin"])
    c.send(msg(b"d", b"1\tx\n" * 1000))
    expect(w.rows(f"select cancel_query({rows[0][0]})"), [["t"]])
    c.send(msg(b"d", b"1\tx\n" * 1000), msg(b"c"))
    expect([k for k, _ in c.until_ready()], ["E", "Z"])
    expect(w.rows("select count() from copied"), [["0"]])
    expect(c.rows("select 1"), [["1"]])
    c.send(query("copy (select x from long_sequence(100000000000)) to stdout"))
    rows = eventually(lambda: w.rows(list_it), lambda r: len(r) == 1, "it is listed")
    expect(rows[0][1:], ["active", "copy (select x from long_sequence(100000000000)) to stdout"])
    expect(w.rows(f"select cancel_query({rows[0][0]})"), [["t"]])
    expect(state(c.until_ready()), "I")
    w.rows("copy (select x from long_sequence(1000000000000)) to 'ends' with format parquet")
    list_all = "select query_id, state, query, worker_pool from query_activity() where worker_pool = 'copy'"
    rows = eventually(lambda: w.rows(list_all), lambda r: len(r) == 1, "it is listed")
    expect(rows[0][1:], ["active", "copy (select x from long_sequence(1000000000000)) to 'ends' with format parquet", "copy"])
    expect(w.rows(f"select cancel_query({rows[0][0]})"), [["t"]])
    eventually(lambda: w.rows(list_all), lambda r: r == [], "it is over")
    w.rows("drop table copied")


if __name__ == "__main__":
    main()
