#!/usr/bin/env python3
"""Writes the pages that are tables of the source: settings, errors, metrics, permissions, relations of the catalogue, functions
(function_pages.py).

    gen_docs.py [--check] [--build DIR]

--check only compares: exit status 1 and the names of stale pages. DIR (build/release) holds the
program list_functions, which prints the function registry.
"""
import argparse, pathlib, re, sys

import function_pages

TOP = pathlib.Path(__file__).resolve().parent.parent
OUT = TOP / "docs" / "reference"
NOTE = "<!-- Made by tools/gen_docs.py from {}. Do not edit. -->\n"
SIZES = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")]
TIMES = [(86400000, "d"), (3600000, "h"), (60000, "min"), (1000, "s")]


def rows(path, name):
    """Arguments of each NAME(...) of a .def file, with the banner comment it stands under."""
    text = (TOP / path).read_text()
    out, section = [], ""
    token = re.compile(r"/\* -{3,} (.*?) \*/|\b(\w+)\(((?:\"(?:[^\"\\]|\\.)*\"|[^\"()])*)\)|/\*.*?\*/", re.S)
    for m in token.finditer(text):
        if m[1]:
            section = m[1]
        elif m[2] == name:
            parts = re.findall(r'((?:"(?:[^"\\]|\\.)*"\s*)+|[^,"]+)(?:,|$)', m[3].strip())
            args = ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', p)) if '"' in p else " ".join(p.split()) for p in parts]
            out.append((section, args))
    return out


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def amount(number, units, unit):
    for size, name in units:
        if number >= size and number % size == 0:
            return f"{number // size} {name}"
    return f"{number} {unit}".strip()


def bound(kind, text):
    number = {"INT64_MAX": 2**63 - 1}.get(text)
    number = int(text) if number is None else number
    if number == 2**63 - 1:
        return "2^63-1"
    if kind == "SIZE":
        return amount(number, SIZES, "b")
    return amount(number, TIMES, "ms") if kind == "MS" else str(number)


def used_fields():
    text = "".join(p.read_text() for p in sorted((TOP / "src").rglob("*.[ch]")) if not p.name.endswith("_test.c"))
    return set(re.findall(r"\b(?:ALM_CONF_ID_)?([a-z]+(?:_[a-z0-9]+)+)\b", text))


def configuration():
    used = used_fields()
    out = [NOTE.format("src/base/conf.def"), CONFIGURATION]
    section, unused = None, False
    for title, (kind, field, key, default, low, high, choices, flags, doc) in rows("src/base/conf.def", "ALM_CONF"):
        if title != section:
            section = title
            out.append(f"\n## {title[0].upper() + title[1:]}\n\n| Setting | Default | Values | Live | Meaning |\n|---|---|---|---|---|\n")
        values = {"BOOL": "`true`, `false`", "TEXT": "text", "ADDR": "host:port",
                  "CHOICE": ", ".join(f"`{c}`" for c in choices.split("|"))}.get(kind)
        if values is None:
            values = f"{bound(kind, low)} to {bound(kind, high)}"
        shown = "(unset)" if default == "" else "2^63-1" if default == str(2**63 - 1) else f"`{default}`"
        mark = "" if field in used else " †"
        unused |= bool(mark)
        out.append(f"| `{key}`{mark} | {shown} | {cell(values)} | {'yes' if 'RELOAD' in flags else ''} | {cell(doc)} |\n")
    if unused:
        out.append("\n† Accepted and checked, but without effect in this version.\n")
    out.append(ALIASES)
    keys = {f[1]: f[2] for _, f in rows("src/base/conf.def", "ALM_CONF")}
    for _, (alias, field, factor) in rows("src/base/conf_alias.def", "ALM_CONF_ALIAS"):
        times = f", times {factor}" if factor != "1" else ""
        out.append(f"| `{alias}` | `{keys[field]}`{times} |\n")
    out.append(REFUSED)
    for _, (key, harmless) in rows("src/base/conf_ignored.def", "ALM_CONF_REFUSED"):
        out.append(f"| `{key}` | {'(unset)' if harmless == '' else f'`{harmless}`'} |\n")
    out.append(IGNORED)
    return "".join(out)


CONFIGURATION = """# Settings

A setting is read from three places; the later wins: its default, the file `conf/server.conf` in the data
directory, the environment. The environment variable of `http.bind.to` is `ALMANAC_HTTP_BIND_TO`: upper case,
dots and dashes as underscores. `QDB_HTTP_BIND_TO` is understood too; the first is asked first.

The first start writes `server.conf` with every setting, its default and its meaning as comments. The file is
a Java properties file: `key=value`, comments start with `#`. Sizes take `k`, `m`, `g`, `t` (powers of 1024);
times take `ms`, `s`, `m`, `h`, `d` and are milliseconds without a unit. A value out of range, or an unknown
key, stops the server with a message that names the file and the line.

Passwords (`http.password`, `pg.password`, `pg.readonly.password`, `acl.admin.password`,
`acl.oidc.tls.keystore.password`) may stand in files of their own: `pg.password.file=/run/secrets/pg`, or the variable
`ALMANAC_PG_PASSWORD_FILE`. The end of the line does not count; a file that is empty, or larger than 4096 bytes, is a mistake.

Settings that are *live* change while the server runs: SIGHUP, or `SELECT reload_config()` (with access control: SYSTEM ADMIN), reads the
file again, and the [certificates](../how-to/tls.md). The others wait for the next start; the log names them. A file with a mistake
changes nothing, nor does one that would open an interface of the network to everybody; `reload_config()` and the log say why. SHOW
PARAMETERS shows what holds, and what is `reloadable`.
"""

ALIASES = """
## Other names

| Name | Stands for |
|---|---|
"""

REFUSED = """
## Settings of other servers

A configuration file brought along may name features that are not here. Where leaving them out silently would
cost a protection, the server refuses to start unless the value is the harmless one:

| Setting | Only value taken |
|---|---|
"""


IGNORED = """
Settings of the same server that have nothing to act on here (`cairo.*`, `http.worker.*` and the like, the list
is `src/base/conf_ignored.def`) are named in a warning and otherwise ignored.
"""


def errors():
    out = [NOTE.format("src/base/err.def"), ERRORS]
    for _, (name, state, status, doc) in rows("src/base/err.def", "ALM_ERR"):
        out.append(f"| {name} | {state} | {status} | {cell(doc)} |\n")
    return "".join(out)


ERRORS = """# Errors

An error has a code, a message that names the value at fault, and, where the statement text is to blame, the
position in it. PostgreSQL clients get the SQLSTATE and the position counted from 1, HTTP clients the status
and a JSON body with the position counted from 0:

    {"query":"select * from nope","error":"table does not exist [table=nope]","position":14}

Errors of a protocol itself (no such path, a broken request line) are plain text; see [REST](rest.md).
Once the first rows of an answer are on their way the status cannot change any more: the connection is closed
without the end mark of the answer, so that a client sees that it is not complete.

| Code | SQLSTATE | HTTP status | Meaning |
|---|---|---|---|
"""


KINDS = {"B": "BOOLEAN", "C": "CHAR", "H": "SHORT", "I": "INT", "L": "LONG", "F": "FLOAT", "P": "TIMESTAMP", "S": "STRING",
         "A": "list of STRING", "V": "vector of INT", "O": "INT", "R": "REGPROC"}


def catalog():
    out = [NOTE.format("src/exec/source/catalog.def"), CATALOG]
    empty = {}
    schema = ""
    for _, (where, name, _, fill, columns) in rows("src/exec/source/catalog.def", "ALM_RELATION"):
        if fill == "none":
            empty.setdefault(where, []).append(f"`{name}`")
            continue
        if where != schema:
            out.append(f"\n## {where}\n\n| Relation | Columns |\n|---|---|\n")
            schema = where
        shown = [c.lstrip("+").split("=")[0].split(":") for c in columns.split() if not c.startswith("-")]
        out.append(f"| `{name}` | " + ", ".join(f"{n} {KINDS[t]}" for n, t in shown) + " |\n")
    out.append("\n## Without rows\n")
    for where, names in empty.items():
        out.append(f"\n{where}: " + ", ".join(names) + ".\n")
    return "".join(out)


CATALOG = """# Relations of the catalogue

Tools and drivers of PostgreSQL look at these. What to ask of them: [metadata](../sql/metadata.md). A relation of
pg_catalog can be named with its schema or without. With `()` behind the name, as in `pg_class()`, it has fewer columns,
those that clients of the reference know.

A list is written `{a,b}`, a vector of numbers `1 2`; `unnest(list)` makes rows of either.
"""


METRIC_ENDS = {"counter": "_total", "counter_seconds": "_total", "codes": "_total"}
METRIC_TYPES = {"counter": "counter", "counter_seconds": "counter, seconds", "codes": "counter", "gauge": "gauge", "gauge_seconds": "gauge, seconds",
                "times": "histogram, seconds"}


def metrics():
    out = [NOTE.format("src/net/metric.def"), METRICS]
    section, families = None, {}
    for title, (kind, name, labels, _, doc) in rows("src/net/metric.def", "ALM_METRIC"):
        label = {"codes": "code=SYNTAX, sqlstate=42601, ..."}.get(kind, labels)
        families.setdefault(name, [title, kind, doc, []])[3].append(label)
    for name, (title, kind, doc, labels) in families.items():
        if title != section:
            section = title
            out.append(f"\n## {title[0].upper() + title[1:]}\n\n| Name | Type | Labels | Meaning |\n|---|---|---|---|\n")
        shown = [f"`{x.rstrip('=')}`" for x in labels if x]
        if len(shown) > 1:
            shown = [f"`{labels[0].split('=')[0]}`: " + ", ".join(f"`{x.split('=')[1]}`" for x in labels)]
        out.append(f"| `{name}{METRIC_ENDS.get(kind, '')}` | {METRIC_TYPES[kind]} | {cell(''.join(shown))} | {cell(doc)} |\n")
    return "".join(out)


METRICS = """# Metrics

`GET /metrics` answers in the text form of Prometheus: on the HTTP port (to the login, if there is one), and with
`metrics.enabled=true` on the health port (to the same login, unless `http.health.check.authentication.required=false`). Names that begin with
`questdb_` are those that dashboards of that server know, and mean what stands here; where two servers keep different
things (this one has no queue between log and tables) the nearest one is counted. Counts begin with the start of the server.

```yaml
scrape_configs:
  - job_name: almanac
    static_configs:
      - targets: ["127.0.0.1:9003"]
```

A histogram has the buckets 50 µs to 100 s. Worth an alert: `almanac_storage_read_only`, `questdb_unhandled_errors_total`,
`almanac_wal_archive_failing`, connections near their limit, and `questdb_physically_written_rows_total` that grows many times
faster than `questdb_committed_rows_total`.
"""


PERMISSIONS = """# Permissions

What GRANT and REVOKE name, with the levels on which each can be granted. `select * from all_permissions()` lists the same.
See [access control](../sql/access-control.md).
"""
LEVELS = {"D": "database", "T": "database, table", "C": "database, table, column"}


def permissions():
    out, section = [NOTE.format("src/auth/permission.def"), PERMISSIONS], None
    for title, (_, name, level, doc) in rows("src/auth/permission.def", "ALM_PERMISSION"):
        if title != section:
            section = title
            out.append(f"\n## {title[0].upper() + title[1:]}\n\n| Permission | Levels | Allows to |\n|---|---|---|\n")
        out.append(f"| {name} | {LEVELS[level]} | {cell(doc)} |\n")
    return "".join(out)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--build", default=TOP / "build" / "release")
    o = ap.parse_args()
    pages = {OUT / "configuration.md": configuration(), OUT / "errors.md": errors(),
             OUT / "catalog.md": catalog(), OUT / "metrics.md": metrics(), OUT / "permissions.md": permissions(), **function_pages.pages(o.build)}
    stale = [str(path.relative_to(TOP)) for path in function_pages.left_over(pages)]
    for path, text in pages.items():
        if not path.exists() or path.read_text() != text:
            stale.append(str(path.relative_to(TOP)))
            if not o.check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
    if o.check and stale:
        print("stale, run tools/gen_docs.py:", *stale)
        sys.exit(1)


if __name__ == "__main__":
    main()
