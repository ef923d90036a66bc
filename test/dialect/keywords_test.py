#!/usr/bin/env python3
"""Words as names without quotes: every word of the dialect in every place of the grammar where a name stands.

    keywords_test.py [--url http://...] [--nightly] [POSITION ...]

test/dialect/keywords.json says of each position which words the reference refuses there. Each other word must be taken, and mean what it means
in double quotes: the same columns and rows, or the same error (some positions name a column or type that does not exist, so that nothing is made).
EXPLAINED lists the words that need quotes here, with the reason. Without --nightly, words that no position refuses are left to the nightly run.
"""
import argparse, http.client, json, re, sys, urllib.parse

from lib.checks import print_again
from lib.server import TOP, Server

RECORDED = json.loads((TOP / "test" / "dialect" / "keywords.json").read_text())
RESERVED = {m[1] for m in re.finditer(r'ALM_KEYWORD\(\w+, "(\w+)", R\)', (TOP / "src" / "sql" / "text" / "keyword.def").read_text())}
KNOWN = {m[1] for m in re.finditer(r'ALM_KEYWORD\(\w+, "(\w+)"', (TOP / "src" / "sql" / "text" / "keyword.def").read_text())}
BARE_CALLS = {"current_catalog", "current_date", "current_timestamp", "current_user", "session_user"}
STATEMENTS = {"begin", "close", "comment", "commit", "delete", "discard", "lock", "notify", "prepare", "release", "reset", "rollback", "savepoint",
              "set", "start", "unlisten", "listen", "vacuum", "scrub", "abort", "analyze", "reindex", "do", "execute", "deallocate", "fetch", "grant", "revoke"}

# (positions or None for all, words, why)
EXPLAINED = [
    (None, RESERVED, "a reserved word needs quotes wherever an expression may stand, not only where the reference asks for them"),
    (None, BARE_CALLS, "functions without brackets, as in PostgreSQL"),
    (None, {"nan"}, "a number"),
    (r"table_bare.*", STATEMENTS, "begins a statement"),
    (r"table.*", {"tables"}, "a relation of the catalogue without quotes, a table within"),
    (r"alias.*|talias.*", {"returning"}, "RETURNING at the end of a statement lacks its list"),
    (r"talias.*", {"natural", "horizon"}, "NATURAL JOIN, HORIZON JOIN"),
    (r"latest", {"ilike"}, "an operator without its operands"),
]
# Reserved words that are names all the same, because nothing else could stand there.
ALWAYS = {"upd", "upd2", "alter_drop", "alter_ren2", "alter_type"}


class Client:
    def __init__(self, url):
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)

    def ask(self, sql):
        self.connection.request("GET", "/exec?" + urllib.parse.urlencode({"query": sql}))
        d = json.loads(self.connection.getresponse().read())
        if "error" in d:
            return "error", d["error"].replace('"', "")
        return [c["name"] for c in d.get("columns", [])], d.get("dataset")


def why_not(position, word):
    for where, words, reason in EXPLAINED:
        if word in words and (where is None or re.fullmatch(where, position)) and not (words is RESERVED and position in ALWAYS):
            return reason
    return None


def set_up(client, words):
    columns = ", ".join(f'"{w}" int' for w in words)
    rows = ", ".join(f"({k}, {k}000000, " + ", ".join(str(400 * k - 300 + i) for i in range(len(words))) + ")" for k in (1, 2))
    for sql in ("drop table if exists kw", f"create table kw (v int, ts timestamp, {columns}) timestamp(ts) partition by day",
                f"insert into kw values {rows}"):
        got = client.ask(sql)
        if got[0] == "error":
            raise RuntimeError(f"{sql[:80]}: {got[1]}")


def run(client, only, everything):
    words = RECORDED["words"].split()
    positions = {n: (p["sql"], set(p["refused"].split())) for n, p in RECORDED["positions"].items() if not only or n in only}
    special = SPECIAL.union(*(refused for _, refused in positions.values()))
    set_up(client, words)
    passed = failed = 0
    used = set()
    for name, (sql, refused) in positions.items():
        for word in words:
            if word in refused or not (everything or word in special):
                continue
            statement = re.sub(r"\bK\b", word, sql)
            plain, quoted = client.ask(statement), client.ask(re.sub(r"\bK\b", f'"{word}"', sql))
            reason = why_not(name, word)
            if plain == quoted:
                passed += 1
            elif reason is not None:
                used.add(reason)
            else:
                failed += 1
                print(f"{name}: {statement}\n    without quotes {str(plain)[:200]}\n    with           {str(quoted)[:200]}")
                print_again(*(["--nightly"] if everything else []), name)
    for _, _, reason in EXPLAINED:
        if not only and reason not in used:
            failed += 1
            print(f"explained, but there is no such difference: {reason}")
    missing = KNOWN - set(words)
    if missing:
        failed += 1
        print(f"test/dialect/keywords.json does not know {sorted(missing)}")
    return passed, failed


def flagged():
    return {m[1] for m in re.finditer(r'ALM_KEYWORD\(\w+, "(\w+)", ([^)]*)\)', (TOP / "src" / "sql" / "text" / "keyword.def").read_text()) if m[2] != "0"}


SPECIAL = flagged()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--url")
    p.add_argument("--nightly", action="store_true")
    p.add_argument("positions", nargs="*")
    a = p.parse_args()
    if a.url:
        passed, failed = run(Client(a.url), a.positions, a.nightly)
    else:
        with Server() as s:
            passed, failed = run(Client(s.url), a.positions, a.nightly)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
