#!/usr/bin/env python3
"""Run SQL case files against a server's REST API and compare with recorded answers.

A case file NAME.sql holds statements, each ending in ';' at the end of a line. The answers
stand beside it in NAME.json, one per statement, in order. A comment line directly above a
statement may hold directives:

    -- @unordered          rows are compared as a multiset
    -- @columns-only       only names and types are compared (random or clock values)
    -- @skip REASON        sent, but not compared

Usage: conform.py --url http://127.0.0.1:9000 PATH...            compare; exit 1 on any failure
       conform.py --url ... --record PATH...                     write NAME.json from the answers
Options: -v shows each failure in full. --strict: error position, timestamp index and updated count
count too. --unmet FILE: cases that are known to fail; a run then fails when any other case fails,
and when a listed one passes, so that the list can only shrink. --write-unmet FILE makes the list.
--pg ADDRESS [--binary]: the statements go over the PostgreSQL wire, with results as text or binary.
The last line reads 'N passed, N failed'. Only the Python standard library is used.
"""
import argparse, base64, json, math, pathlib, re, sys, time, urllib.error, urllib.parse, urllib.request


def statements(text):
    directives, buf = set(), []
    for line in text.splitlines():
        stripped = line.strip()
        if not buf and (not stripped or stripped.startswith("--")):
            for word in re.findall(r"@([a-z-]+)", stripped):
                directives.add(word)
            continue
        buf.append(line)
        if stripped.endswith(";"):
            yield "\n".join(buf).strip()[:-1].rstrip(), frozenset(directives)
            directives, buf = set(), []
    if buf:
        raise ValueError("last statement lacks ';': " + buf[0])


def run(url, sql, timeout, headers={}):
    q = urllib.parse.urlencode({"query": sql})
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/exec?{q}", headers=headers), timeout=timeout) as r:
            body = json.loads(r.read())
    except urllib.error.HTTPError as e:
        raw = e.read()
        try:
            body = json.loads(raw)
        except ValueError:
            return {"error": raw.decode("utf-8", "replace"), "status": e.code}
        return {"error": body.get("error"), "position": body.get("position"), "status": e.code}
    if "columns" in body:
        return {"columns": [[c["name"], c["type"]] for c in body["columns"]],
                "timestamp": body.get("timestamp"), "rows": body["dataset"]}
    if "error" in body:
        return {"error": body["error"], "position": body.get("position")}
    return {k: body[k] for k in ("ddl", "dml", "updated") if k in body}


def settle(url, timeout):
    """Wait until asynchronously applied writes are visible (a no-op where writes are synchronous)."""
    end = time.time() + timeout
    while time.time() < end:
        a = run(url, "select count() from wal_tables() where writerTxn <> sequencerTxn and not suspended", timeout)
        if "rows" not in a or a["rows"][0][0] == 0:
            return
        time.sleep(0.02)


def same_value(a, b):
    if isinstance(a, float) or isinstance(b, float):
        try:
            return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
        except TypeError:
            return False
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    return type(a) is type(b) and a == b


def compare(want, got, directives):
    """None where they agree, else what differs; notes are soft differences (error text, position, updated count)."""
    notes = []
    if "error" in want:
        if "error" not in got:
            return "expected an error: %s" % want["error"], notes
        if (want.get("position") or 0) != (got.get("position") or 0):  # 0: of the whole statement, over PostgreSQL: none
            notes.append("error position %s, want %s" % (got.get("position"), want.get("position")))
        if (want["error"] or "").lower() != (got["error"] or "").lower():
            notes.append("error text %r, want %r" % (got["error"], want["error"]))
        return None, notes
    if "error" in got:
        return "error: %s" % got["error"], notes
    if "columns" not in want:
        if "columns" in got:
            return "expected no result set", notes
        if want.get("updated") != got.get("updated"):
            notes.append("updated %s, recorded %s" % (got.get("updated"), want.get("updated")))
        return None, notes
    if "columns" not in got:
        return "expected a result set", notes
    if want["columns"] != got["columns"]:
        return "columns %s, want %s" % (got["columns"], want["columns"]), notes
    if "columns-only" in directives:
        return None, notes
    if want.get("timestamp") != got.get("timestamp"):
        notes.append("timestamp index %s, want %s" % (got.get("timestamp"), want.get("timestamp")))
    w, g = want["rows"], got["rows"]
    if "unordered" in directives:
        key = lambda r: json.dumps([round(v, 9) if isinstance(v, float) else v for v in r])
        w, g = sorted(w, key=key), sorted(g, key=key)
    if len(w) != len(g):
        return "%d rows, want %d; first got %s, want %s" % (len(g), len(w), g[:2], w[:2]), notes
    for i, (a, b) in enumerate(zip(g, w)):
        if not same_value(a, b):
            return "row %d is %s, want %s" % (i, a, b), notes
    return None, notes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--url", default="http://127.0.0.1:9000")
    ap.add_argument("--record", action="store_true")
    ap.add_argument("--wait", action="store_true", help="settle asynchronous writes before each query")
    ap.add_argument("--timeout", type=float, default=30)
    ap.add_argument("-v", action="store_true")
    ap.add_argument("--strict", action="store_true")
    ap.add_argument("--unmet", type=pathlib.Path)
    ap.add_argument("--write-unmet", type=pathlib.Path)
    ap.add_argument("--pg", metavar="ADDRESS")
    ap.add_argument("--binary", action="store_true")
    ap.add_argument("--user", metavar="NAME:PASSWORD", help="who asks, where there is a login")
    ap.add_argument("paths", nargs="+", type=pathlib.Path)
    o = ap.parse_args()
    files = sorted(f for p in o.paths for f in (p.rglob("*.sql") if p.is_dir() else [p]))
    headers = {"Authorization": "Basic " + base64.b64encode(o.user.encode()).decode()} if o.user else {}
    ask = lambda sql, want: run(o.url, sql, o.timeout, headers)
    if o.pg:
        from over_pg import OverPg, as_seen
        ask = OverPg(o.pg, o.binary, *(o.user.split(":", 1) if o.user else ()))
    total = passed = soft = 0
    listed = set()
    if o.unmet and o.unmet.exists():
        listed = {l.split()[0] for l in o.unmet.read_text().splitlines() if l and not l.startswith("#")}
    failing, surprises, seen = [], [], set()
    for f in files:
        cases = list(statements(f.read_text()))
        gold = f.with_suffix(".json")
        if o.record:
            out = []
            for sql, d in cases:
                settle(o.url, 30)
                out.append({"sql": sql, **run(o.url, sql, o.timeout)})
            gold.write_text("[\n" + ",\n".join(json.dumps(x, ensure_ascii=False) for x in out) + "\n]\n")
            bad = sum("error" in x for x in out)
            print(f"{f.name}: recorded {len(out)}, of them {bad} errors")
            continue
        wants = json.loads(gold.read_text())
        if len(wants) != len(cases):
            sys.exit(f"{f}: {len(cases)} statements but {len(wants)} answers")
        ok = 0
        for number, ((sql, d), want) in enumerate(zip(cases, wants), 1):
            if o.wait:
                settle(o.url, 30)
            try:
                got = ask(sql, want)
            except Exception as e:                      # the server went away or timed out
                got = {"error": "%s: %s" % (type(e).__name__, e)}
                why, notes = "no answer: %s" % got["error"], []
            else:
                why, notes = (None, []) if "skip" in d else compare(as_seen(want) if o.pg else want, got, d)
            soft += bool(notes)
            hard = [n for n in notes if not n.startswith("error text")]
            if o.strict and why is None and hard:
                why = "; ".join(hard)
            case = f"{f.name}:{number}"
            seen.add(case)
            if why is not None:
                failing.append(f"{case} {' '.join(sql.split())[:100]}")
            if case in listed:
                if why is None:
                    surprises.append(f"{case} passes now: take it off {o.unmet.name}")
                ok += why is not None
                continue
            if o.unmet and why is not None:
                surprises.append(f"{case}: {' '.join(sql.split())[:200]}\n    {why}")
            if why is None:
                ok += 1
            if o.v and (why or notes):
                print(f"--- {f.name}: {sql}\n    {why or 'note: ' + '; '.join(notes)}")
        total, passed = total + len(cases), passed + ok
        print(f"{f.name}: {ok}/{len(cases)}")
    if not o.record:
        print(f"{soft} with a soft difference (error text or position, timestamp index)")
        if o.write_unmet:
            o.write_unmet.write_text("# Recorded cases that are not met yet: file:number statement. It may only shrink.\n"
                                     + "".join(x + "\n" for x in failing))
        for line in surprises:
            print(line)
        if listed:
            print(f"of these {len(listed & seen)} are listed as not met yet")
        print(f"{passed} passed, {total - passed} failed")
        sys.exit(passed != total)


if __name__ == "__main__":
    main()
