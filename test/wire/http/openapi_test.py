#!/usr/bin/env python3
"""/openapi.json: a valid description, of the very endpoints and methods that are there; and the server does as it says: schemathesis
sends what the description allows and what it does not, and holds every answer against it.

    openapi_test.py [--nightly] [NAME...]
"""
import json, os, pathlib, re, subprocess, sys, tempfile

from openapi_spec_validator import OpenAPIV31SpecValidator

from lib.checks import check, expect, main
from lib.rawhttp import heads, raw
from lib.server import TOP
from lib.tools import gen_docs

HERE = pathlib.Path(__file__).resolve().parent
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS")


def description(s):
    status, headers, body = s.get("/openapi.json")
    expect((status, headers["Content-Type"]), (200, "application/json; charset=utf-8"))
    return json.loads(body)


def template(path):
    return path + "{id}" if len(path) > 1 and path.endswith("/") else path


@check
def it_is_valid_and_stays_the_same(s):
    errors = list(OpenAPIV31SpecValidator(description(s)).iter_errors())
    expect(errors, [])
    first, second = s.get("/openapi.json"), s.get("/openapi.json")
    expect((first[2], first[1]["ETag"]), (second[2], second[1]["ETag"]))
    expect(s.get("/openapi.json", headers={"If-None-Match": first[1]["ETag"]})[0], 304)


@check
def it_has_each_route_and_no_other(s):
    table = {}
    for _, (path, methods, handler, login, operation, doc) in gen_docs.rows("src/net/http/route.def", "ALM_ROUTE"):
        for method in methods.split(","):
            expect((path, method) in table, False, "twice")
            table[path, method] = (doc, login == "true")
    described = {}
    for path, item in description(s)["paths"].items():
        for method, op in item.items():
            described[path, method.upper()] = (op["summary"], "security" in op)
    expect({k: v for k, v in described.items() if k[1] != "OPTIONS"}, {(template(p), m): v for (p, m), v in table.items()})
    expect({p for p, m in described if m == "OPTIONS"}, {template(p) for p, _ in table})


@check
def the_server_takes_what_it_has_and_nothing_else(s):
    for path, item in description(s)["paths"].items():
        real = path.replace("{id}", "1")
        allow = raw(s.http, f"OPTIONS {real} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())[0]
        expect({m.strip() for m in heads(allow)[0][1]["allow"].split(",")}, {m.upper() for m in item}, path)
        for method in METHODS:
            got = heads(raw(s.http, f"{method} {real} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())[0].partition(b"\r\n\r\n")[0] + b"\r\n\r\n")[0][0]
            expect(got == 405, method.lower() not in item, (method, path, got))


@check
def each_operation_is_in_both_tables(s):
    routes = {r[1][4] for r in gen_docs.rows("src/net/http/route.def", "ALM_ROUTE")}
    for name in ("ALM_API_PARAM", "ALM_API_BODY", "ALM_API_ANSWER"):
        for _, row in gen_docs.rows("src/net/http/openapi.def", name):
            expect(set(row[0].split()) <= routes, True, row[:3])
    answered = {op for _, row in gen_docs.rows("src/net/http/openapi.def", "ALM_API_ANSWER") for op in row[0].split()}
    expect(answered, routes)
    ids = [op["operationId"] for item in description(s)["paths"].values() for op in item.values()]
    expect(len(ids), len(set(ids)))


@check
def the_server_does_as_it_says(s):
    """Examples and the edges of each parameter, then random requests for as long as there is time."""
    s.exec("create table trades (timestamp timestamp, symbol symbol, price double) timestamp(timestamp) partition by day")
    limits = ["--max-time", "900"] if s.nightly else ["--max-examples", "8"]
    with tempfile.TemporaryDirectory() as folder:
        document = pathlib.Path(folder) / "openapi.json"  # by its address it would leave itself out
        document.write_text(json.dumps(description(s)))
        p = subprocess.run([pathlib.Path(sys.executable).parent / "st", "--config-file", HERE / "schemathesis.toml", "run", document, "--url", s.url, "--checks", "all", "--phases", "examples,coverage,fuzzing",
                            "--seed", "1", "--no-color", *limits], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": folder})
    if p.returncode:
        raise AssertionError(p.stdout[-6000:])
    tested = re.search(r"Tested: (\d+)", p.stdout)
    expect(int(tested[1]), sum(len(item) for item in description(s)["paths"].values()))
    expect(int(re.search(r"(\d+) generated", p.stdout)[1]) > 500, True, p.stdout[-500:])
    expect(s.rows("select 1"), [[1]])


if __name__ == "__main__":
    main()
