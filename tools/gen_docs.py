#!/usr/bin/env python3
"""Writes the reference pages that are tables of the source: settings, errors, functions.

    gen_docs.py [--check] [--build DIR]

--check only compares: exit status 1 and the names of stale pages. DIR (build/release) holds the
program list_functions, which prints the function registry.
"""
import argparse, pathlib, re, subprocess, sys

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
    return set(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b", text))


def configuration():
    used = used_fields()
    out = [NOTE.format("src/base/conf.def"), CONFIGURATION]
    section, unused = None, False
    for title, (kind, field, key, default, low, high, choices, flags, doc) in rows("src/base/conf.def", "ALM_CONF"):
        if title != section:
            section = title
            out.append(f"\n## {title[0].upper() + title[1:]}\n\n| Setting | Default | Values | Meaning |\n|---|---|---|---|\n")
        values = {"BOOL": "`true`, `false`", "TEXT": "text", "ADDR": "host:port",
                  "CHOICE": ", ".join(f"`{c}`" for c in choices.split("|"))}.get(kind)
        if values is None:
            values = f"{bound(kind, low)} to {bound(kind, high)}"
        shown = "(unset)" if default == "" else "2^63-1" if default == str(2**63 - 1) else f"`{default}`"
        mark = "" if field in used else " †"
        unused |= bool(mark)
        out.append(f"| `{key}`{mark} | {shown} | {cell(values)} | {cell(doc)} |\n")
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
key, stops the server with a message that names the file and the line. A change takes effect at the next start.
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


def merged(signatures):
    """Signatures that differ in types only, as one: (INT | LONG, TEXT) INT | LONG."""
    shapes = {}
    for s in signatures:
        m = re.match(r"^\((.*)\) (\S+)$", s)
        params = [p.strip() for p in m[1].split(",")] if m[1] else []
        shapes.setdefault(tuple(len(p.split()) for p in params), []).append((params, m[2]))
    out = []
    for group in shapes.values():
        columns = []
        for i in range(len(group[0][0])):
            columns.append(list(dict.fromkeys(p[i] for p, _ in group)))
        results = list(dict.fromkeys(r for _, r in group))
        joined = [" \\| ".join(c) for c in columns]
        result = " \\| ".join("as bound" if r == "?" else r for r in results)
        same = len(columns) == 1 and columns[0] == results and len(results) > 1
        out.append(f"({', '.join(joined)}) " + ("the same" if same else result))
    return "<br>".join(out)


def functions(build):
    program = pathlib.Path(build) / "list_functions"
    text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        kind, name, signature, flags, doc, example, since = line.split("\t")
        if flags == "internal" or kind not in KINDS:
            continue
        entry = found.setdefault((kind, name), {"signatures": [], "docs": [], "example": example})
        if signature and signature not in entry["signatures"]:
            entry["signatures"].append(signature)
        if doc and doc not in entry["docs"]:
            entry["docs"].append(doc)
    out = [NOTE.format("the function registry, src/func and src/exec/source.def"), FUNCTIONS]
    for kind, title in KINDS.items():
        names = sorted(n for k, n in found if k == kind)
        if not names:
            continue
        out.append(f"\n## {title}\n\n| Function | Arguments and result | Meaning | Example |\n|---|---|---|---|\n")
        for name in names:
            e = found[kind, name]
            signature = merged(e["signatures"]) if kind != "table" else cell("<br>".join(e["signatures"]))
            example = f"`{cell(e['example'])}`" if e["example"] else ""
            out.append(f"| `{name}` | {signature} | {cell(' '.join(e['docs']))} | {example} |\n")
    return "".join(out)


KINDS = {"scalar": "Scalar functions", "aggregate": "Aggregates", "window": "Window functions",
         "table": "Table functions"}
FUNCTIONS = """# Functions

Types in upper case are those of [types](types.md); besides them: ANY; NUMERIC (BYTE to DOUBLE); INTEGRAL (BYTE
to LONG); TEXT (STRING, VARCHAR, SYMBOL); TIME (TIMESTAMP or TIMESTAMP_NS, and the result is of the same type);
SAME (type of the first argument). `const` asks for a constant or a bind variable, `...` for more arguments of
that type. Unless said otherwise a null argument gives null. Every aggregate can also be used
[over a window](../sql/window.md).
"""


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--build", default=TOP / "build" / "release")
    o = ap.parse_args()
    pages = {"configuration.md": configuration(), "errors.md": errors(), "functions.md": functions(o.build)}
    stale = []
    for name, text in pages.items():
        path = OUT / name
        if not path.exists() or path.read_text() != text:
            stale.append(f"docs/reference/{name}")
            if not o.check:
                path.write_text(text)
    if o.check and stale:
        print("stale, run tools/gen_docs.py:", *stale)
        sys.exit(1)


if __name__ == "__main__":
    main()
