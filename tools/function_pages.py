"""The pages of functions, docs/sql/functions/: one for each group of the registry, and an index of all names.

The results under the examples are taken over from the page as it stands, where the example is still the same: so the
pages can be checked without a server. `test/docs/docs_test.py --write PAGE` puts in what is missing, and the suite `docs`
compares all of them with what the server answers."""
import pathlib, re, subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
OUT = TOP / "docs" / "sql" / "functions"
NOTE = "<!-- Made by tools/gen_docs.py from the function registry (src/func, src/exec/source/source.def). Do not edit. -->\n"
# page: title, what stands above its functions; in the order of the index
GROUPS = {
    "aggregates": ("Aggregates", "One value for all rows, for each group of GROUP BY, for each bucket of SAMPLE BY, or for each row "
                   "[over a window](../window.md). Nulls are left out unless said otherwise; without any value the result is null."),
    "statistics": ("Statistics", "Aggregates. A row counts when none of the arguments is null; where too few rows count the result is null."),
    "window": ("Window functions", "They stand before OVER; see [window functions](../window.md). Every aggregate can be used in the same way."),
    "finance": ("Finance", ""),
    "conditional": ("Conditions", ""),
    "numeric": ("Numbers", "Infinite and undefined results are null. DECIMAL goes in and out without loss."),
    "text": ("Text", "Positions and lengths are characters, counted from 1. A SYMBOL, a UUID and an IPv4 address are taken as text."),
    "date-time": ("Date and time", "Times are UTC. TIMESTAMP counts microseconds, TIMESTAMP_NS nanoseconds, DATE milliseconds since 1970."),
    "array": ("Arrays", "DOUBLE[] of up to 32 dimensions; see [arrays](../arrays.md)."),
    "json": ("JSON", ""),
    "hash": ("Hashes and bytes", ""),
    "network": ("Networks and UUIDs", ""),
    "geo": ("Geohashes and distances", ""),
    "random": ("Random values", "A value is a function of the seed of the statement, the place of the call and the number of the row. A null rate of "
               "n makes about one row in n null, 0 none."),
    "row-sources": ("Row sources", "They stand in FROM."),
    "meta": ("Server and session", ""),
    "postgresql": ("For PostgreSQL clients", "What psql, drivers and tools ask about the server. All of them, and every other function, can be written "
                   "with `pg_catalog.` in front."),
}
SOURCES = {"generate_series", "long_sequence", "read_parquet", "parquet_scan"}  # the other table functions list things
INDEX = """# Functions

Names are the same in upper and lower case. Types in upper case are those of [types](../../reference/types.md); besides
them: ANY; NUMERIC (BYTE to DOUBLE); INTEGRAL (BYTE to LONG); TEXT (STRING, VARCHAR, SYMBOL); TIME (TIMESTAMP or
TIMESTAMP_NS, and the result is of the same type); SAME (type of the first argument). `const` asks for a constant or a
bind variable, `...` for more arguments of that type. `select * from functions()` lists them all.
[Operators and casts](operators.md) have a page of their own.

Examples with `price`, `amount`, `symbol`, `side` read the table `trades` of the [tutorial](../../tutorial.md).

"""
OPERATORS = """# Operators and casts

Precedence and null: [SQL](../README.md). Comparisons with a type of another family take constants as that type;
see [types](../../reference/types.md).

| Operator | Operands and result | Meaning | Example |
|---|---|---|---|
"""
CASTS = """
## Casts

`value::TYPE` or `CAST(value AS TYPE)`. What has no value in the type becomes null; a constant that cannot be read as an
address or a UUID is refused.

| To | From |
|---|---|
"""


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def merged(signatures):
    """Signatures that differ in types only, as one: (INT | LONG, TEXT) INT | LONG."""
    shapes = {}
    for s in signatures:
        m = re.match(r"^\((.*)\) (\S+)$", s)
        if m is None:  # of a table function
            shapes.setdefault((s,), [])
            continue
        params = [p.strip() for p in m[1].split(",")] if m[1] else []
        shapes.setdefault(tuple(len(p.split()) for p in params), []).append((params, m[2]))
    out = []
    for shape, group in shapes.items():
        if not group:
            out.append(shape[0])
            continue
        columns = [list(dict.fromkeys(p[i] for p, _ in group)) for i in range(len(group[0][0]))]
        results = list(dict.fromkeys(r for _, r in group))
        joined = [" | ".join(c) for c in columns]
        result = " | ".join("as bound" if r == "?" else r for r in results)
        same = len(columns) == 1 and columns[0] == results and len(results) > 1
        out.append(f"({', '.join(joined)}) " + ("the same" if same else result))
    return out


def registry(build):
    """Rows of list_functions by (kind, name), overloads together."""
    fields = ("kind", "name", "signature", "flags", "doc", "example", "since", "group", "nulls")
    text = subprocess.run([str(pathlib.Path(build) / "list_functions")], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        found.setdefault(tuple(line.split("\t")[:2]), []).append(dict(zip(fields, line.split("\t"))))
    return found


def is_listed(rows):
    return any(r["flags"] != "internal" for r in rows) and not rows[0]["name"].startswith("show_")


def group_of(rows):
    if rows[0]["kind"] == "table":
        return "row-sources" if rows[0]["name"] in SOURCES else "meta"
    groups = [r["group"] for r in rows if r["flags"] != "internal"]
    return min(groups, key=lambda g: list(GROUPS).index(g))


def distinct(rows, field):
    return list(dict.fromkeys(r[field] for r in rows if r[field] and r["flags"] != "internal"))


def statements(rows):
    """The examples of one function as statements."""
    kind, found = rows[0]["kind"], distinct(rows, "example")
    if kind in ("window", "table"):
        return found
    plain = [e for e in found if not re.search(r" from (\w+\(|\(select)", e)]
    out = [f"select {e}" for e in found if e not in plain]
    if plain:
        out.append("select " + ", ".join(plain) + (" from trades" if kind == "aggregate" else ""))
    return out


def null_rule(rows):
    takes = [r for r in rows if r["kind"] == "scalar" and r["flags"] != "internal" and not r["signature"].startswith("()")]
    if not takes or not all(r["nulls"] for r in takes):
        return ""
    yes_no = all(r["signature"].endswith(" BOOLEAN") for r in takes)
    return " False where an argument is null." if yes_no else " Null where an argument is null."


def varies(rows):
    """Is the result another one each time, or of another server?"""
    return rows[0]["kind"] == "table" and group_of(rows) == "meta" or any(r["flags"] in ("volatile", "stable") for r in rows)


def results_of(path):
    """Statement: result, of the page as it is."""
    if not path.exists():
        return {}
    pairs = re.findall(r"^```sql\n([^`]*);\n```\n```text\n(.*?)^```$", path.read_text(), re.M | re.S)
    return dict(pairs)


def section(rows, results):
    name = rows[0]["name"]
    shown = [r for r in rows if r["flags"] != "internal"]
    out = [f"\n## {name}\n\n"]
    out += [f"    {name}{s}\n" for s in merged([r["signature"] for r in shown])]
    out.append("\n" + " ".join(distinct(rows, "doc")) + null_rule(shown) + "\n")
    for sql in statements(shown):
        out.append(f"\n```sql\n{sql};\n```\n")
        if not varies(shown):
            out.append(f"```text\n{results.get(sql, '')}```\n")
    return "".join(out)


def operators(found):
    out = [NOTE, OPERATORS]
    casts = {}
    for (kind, name), rows in sorted(found.items()):
        if kind != "scalar" or rows[0]["flags"] != "internal" or name in HIDDEN:
            continue
        if name.startswith("::"):
            for r in rows:
                source, to = r["signature"].split(") ")
                casts.setdefault(to, set()).add(source.strip("(").split()[0])
        elif not name.startswith("=>") and not name.startswith("json_extract"):
            example = " ".join(f"`{e}`" for e in distinct_of(rows, "example")[:1])
            signature = "<br>".join(merged([r["signature"] for r in rows]))
            out.append(f"| `{cell(name)}` | {cell(signature)} | {cell(' '.join(distinct_of(rows, 'doc')))} | {cell(example)} |\n")
    out.append(CASTS)
    for to in sorted(casts, key=str.lower):
        out.append(f"| {to} | {', '.join(sorted(casts[to]))} |\n")
    return "".join(out)


def distinct_of(rows, field):
    return list(dict.fromkeys(r[field] for r in rows if r[field]))


# rewrites of other syntax
HIDDEN = {"neg", "single row", "time key", "array_of", "array_stack", "list_has", "in interval"}


def pages(build):
    """Path: text, of all pages."""
    found = registry(build)
    groups = {g: [] for g in GROUPS}
    for (_, name), rows in found.items():
        if is_listed(rows):
            groups[group_of(rows)].append((name, rows))
    index, out = [NOTE, INDEX], {}
    for group, (title, lead) in GROUPS.items():
        path = OUT / f"{group}.md"
        results = results_of(path)
        members = sorted(groups[group], key=lambda m: m[0])
        text = [NOTE, f"# {title}\n"] + ([f"\n{lead}\n"] if lead else [])
        out[path] = "".join(text + [section(rows, results) for _, rows in members])
        names = " · ".join(f"[{n}]({group}.md#{n})" for n, _ in members)
        index.append(f"## [{title}]({group}.md)\n\n{names}\n\n")
    out[OUT / "operators.md"] = operators(found)
    out[OUT / "README.md"] = "".join(index).rstrip("\n") + "\n"
    return out


def left_over(pages):
    """Pages of groups that are no more."""
    return [path for path in sorted(OUT.glob("*.md")) if path not in pages]
