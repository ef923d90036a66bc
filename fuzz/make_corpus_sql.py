#!/usr/bin/env python3
"""Seeds corpus/sql for fuzz_sql: usage make_corpus_sql.py CASES_DIR [OUT_DIR].

Takes the statements of the files of cases (test/sql) and keeps those that add some new pairs of neighbouring tokens
to what was kept before, shortest first, so that a few hundred small files stand for all forms."""
import hashlib, pathlib, re, sys

token = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_]\w*|\d[\w.]*|::|:=|\|\||[<>!]=?|\S")


def shape(tok):
    if tok[0] == "'":
        return "S"
    if tok[0].isdigit():
        return "1" if tok.isdigit() else "1x"
    return tok.lower()


def main():
    cases = pathlib.Path(sys.argv[1])
    out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parent / "corpus/sql")
    out.mkdir(parents=True, exist_ok=True)
    statements = set()
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test"))
    from lib.cases import read
    for path in sorted(cases.rglob("*.test")):
        statements |= {case.sql for case in read(path) if 3 < len(case.sql) <= 400}
    words = {}
    for s in statements:  # names of one file only say nothing about the grammar
        for t in set(map(shape, token.findall(s))):
            words[t] = words.get(t, 0) + 1
    seen, kept = set(), 0
    for s in sorted(statements, key=lambda s: (len(s), s)):
        shapes = [t if words[t] >= 40 else "n" for t in map(shape, token.findall(s))]
        pairs = set(zip(["^"] + shapes, shapes + ["$"]))
        if len(pairs - seen) < 4:
            continue
        seen |= pairs
        kept += 1
        (out / hashlib.sha1(s.encode()).hexdigest()[:12]).write_text(s)
    print(f"{kept} of {len(statements)} statements, {sum(f.stat().st_size for f in out.iterdir())} bytes")


if __name__ == "__main__":
    main()
