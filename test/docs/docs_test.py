#!/usr/bin/env python3
"""Runs what the documentation says, and closes with 'N passed, N failed'.

    docs_test.py [--write] [PAGE...]

Blocks of a page run in order on a fresh server with the demo table:

    ```sql          statements, each ended by ; at the end of a line; all must succeed
    ```sql error    one statement that must be refused
    ```sh           a shell script that must succeed; the ports 9000, 8812 and 9003 are those of the server,
                    $ROOT is its data directory
    ```python       a script, run by this Python
    ```text         right after one of these: what it prints; after `sql error` the message

A result prints as columns with | between them; blanks at the ends of cells do not count. `...` on a
line of its own stands for any rows. --write puts the present results into the text blocks: look at
the difference before committing. Other blocks (console, json, java ...) are not run.

Besides: links between pages, settings that pages name, generated pages, and `dev run` itself.
"""
import argparse, json, os, pathlib, re, shlex, shutil, signal, subprocess, sys, tempfile

from lib.checks import print_again, relative
from lib.demo import load_demo
from lib.server import TOP, Server

BUILD = TOP / "build" / "release"
BLOCK = re.compile(r"^```(\w+)?([^\n]*)\n(.*?)^```$", re.M | re.S)
passed, failures = 0, []


def check(ok, what, detail="", page=None):
    global passed
    if ok:
        passed += 1
    else:
        failures.append(what)
        print(f"FAILED {what}\n{detail}", flush=True)
        print_again(*([relative(page)] if page else []))


def pages():
    found = [TOP / n for n in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md")]
    return [p for p in found if p.exists()] + sorted((TOP / "docs").rglob("*.md"))


# ----------------------------------------------------------------------------- blocks
def statements(text):
    """A statement ends with a ; at the end of a line."""
    return [s.strip() for s in re.split(r";[ \t]*(?:--[^\n]*)?$", text, flags=re.M)
            if re.sub(r"--[^\n]*", "", s).strip()]


def show(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join(map(show, value)) + "]"
    return str(value)


def table(answer):
    if "columns" not in answer:
        return f"{answer['updated']} rows" if "updated" in answer else "OK"
    rows = [[c["name"] for c in answer["columns"]]] + [[show(v) for v in r] for r in answer["dataset"]]
    width = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(v.ljust(w) for v, w in zip(r, width)).rstrip() for r in rows]
    lines.insert(1, "-+-".join("-" * w for w in width))
    return "\n".join(lines)


def normal(text):
    lines = [" | ".join(c.strip() for c in line.split("|")) for line in text.strip().split("\n")]
    return [re.sub(r"-{2,}", "--", line) for line in lines]


def matches(expected, got):
    want, have = normal(expected), normal(got)
    if "..." not in want:
        return want == have
    at = want.index("...")
    head, tail = want[:at], want[at + 1:]
    return have[:at] == head and (not tail or have[-len(tail):] == tail) and len(have) >= len(head) + len(tail)


def ask(server, sql):
    status, _, body = server.get("/exec", query=sql)
    return status, json.loads(body, parse_float=str, parse_int=str)


def run_sql(server, kind, text):
    """(ok, what it prints)"""
    found, answer = statements(text), {}
    for sql in found:
        status, answer = ask(server, sql)
        if kind == "error":
            return "error" in answer and len(found) == 1, answer.get("error", "it was not refused")
        if status != 200 or "error" in answer:
            return False, f"{answer.get('error')} at {answer.get('position')}: {sql}"
    return bool(found), table(answer)


def local(text, server):
    host, port = server.pg.rsplit(":", 1)
    text = text.replace("127.0.0.1:9000", server.http).replace("127.0.0.1:9003", server.health)
    text = text.replace("127.0.0.1:8812", server.pg)
    return re.sub(r"\b8812\b", port, re.sub(r"\b9000\b", server.http.rsplit(":", 1)[1], text))


def run_script(server, folder, args, text):
    env = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "TZ": "UTC", "ROOT": str(server.root)}
    p = subprocess.run([*args, local(text, server)], cwd=folder, env=env, stdin=subprocess.DEVNULL, timeout=120,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    host_back = p.stdout.replace(server.http, "127.0.0.1:9000").replace(server.pg, "127.0.0.1:8812")
    return p.returncode == 0, host_back


def run_page(path, write):
    text = path.read_text()
    blocks = list(BLOCK.finditer(text))
    if not any(b[1] in ("sql", "sh", "python") for b in blocks):
        return
    edits = []
    with Server(env={"ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backup"}) as server, tempfile.TemporaryDirectory() as folder:
        load_demo(server)
        for i, b in enumerate(blocks):
            kind, info, body = b[1], b[2].strip(), b[3]
            line = text.count("\n", 0, b.start()) + 1
            where = f"{path.relative_to(TOP)}:{line}"
            if kind == "sql":
                ok, got = run_sql(server, info, body)
            elif kind == "sh":
                ok, got = run_script(server, folder, ["bash", "-euo", "pipefail", "-c"], body)
            elif kind == "python":
                ok, got = run_script(server, folder, [sys.executable, "-c"], body)
            else:
                continue
            check(ok, where, got[:2000], path)
            follower = blocks[i + 1] if i + 1 < len(blocks) else None
            if follower is None or follower[1] != "text" or text[b.end():follower.start()].strip():
                continue
            if ok and write and "..." not in follower[3].split("\n"):
                edits.append((follower.start(3), follower.end(3), got.strip("\n") + "\n"))
            elif ok:
                check(matches(follower[3], got), f"{where} (result)", f"expected\n{follower[3]}got\n{got[:3000]}", path)
    for start, end, got in reversed(edits):
        text = text[:start] + got + text[end:]
    if edits:
        path.write_text(text)


# ----------------------------------------------------------------------------- pages as a whole
def anchors(text):
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def check_links(paths):
    linked = set()
    for path in paths:
        text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            to = (path.parent / name).resolve() if name else path
            ok = to.exists() and (not anchor or anchor in anchors(to.read_text()))
            check(ok, f"{path.relative_to(TOP)}: link {target}")
            linked.add(to)
    for path in paths:
        if (TOP / "docs") in path.parents and path != TOP / "docs" / "README.md":
            check(path in linked, f"{path.relative_to(TOP)} is linked from some page")


def check_settings(paths):
    keys = set(re.findall(r'ALM_CONF\(\w+, \w+,\s*"([^"]+)"', (TOP / "src/base/conf.def").read_text()))
    groups = {k.split(".")[0] for k in keys}
    for path in paths:
        if path.name in ("configuration.md", "differences.md"):
            continue
        for name in sorted(set(re.findall(r"`([a-z]+(?:\.[a-z0-9-]+)+)(?:=[^`]*)?`", path.read_text()))):
            if name.split(".")[0] in groups and not re.search(r"\.(c|h|md|py|def|txt|conf)$", name):
                check(name in keys, f"{path.relative_to(TOP)}: setting {name}")


def check_generated():
    p = subprocess.run([sys.executable, "tools/gen_docs.py", "--check"], cwd=TOP, capture_output=True, text=True)
    check(p.returncode == 0, "generated pages", p.stdout + p.stderr)


# ----------------------------------------------------------------------------- dev run
class Demo:
    """tools/run_demo.sh as a terminal runs it: a process group of its own that Ctrl-C reaches."""

    def __init__(self, root):
        env = {**os.environ, "ALMANAC_HTTP_BIND_TO": "127.0.0.1:0", "ALMANAC_PG_NET_BIND_TO": "127.0.0.1:0",
               "ALMANAC_HTTP_MIN_NET_BIND_TO": "127.0.0.1:0", "ALMANAC_LINE_TCP_NET_BIND_TO": "127.0.0.1:0"}
        self.p = subprocess.Popen(["sh", "tools/run_demo.sh", str(BUILD), str(root)], cwd=TOP, env=env, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  start_new_session=True)
        self.text = ""
        for line in self.p.stdout:
            self.text += line
            if line.startswith("Ctrl-C"):
                break
        self.url = re.search(r"http://[\d.:]+", self.text)[0]
        self.curls = re.findall(r"^  (curl .*)$", self.text, re.M)
        self.psql = re.search(r"(psql -h \S+ -p \d+ -U admin qdb)", self.text)[0]

    def stop(self):
        os.killpg(self.p.pid, signal.SIGINT)
        code = self.p.wait(30)
        self.p.stdout.close()
        return code


def shell(command, **more):
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, **more)


def check_demo():
    root = pathlib.Path(tempfile.mkdtemp(prefix="almanac-demo-"))
    try:
        demo = Demo(root)
        check(len(demo.curls) == 3, "dev run prints three queries", demo.text)
        for command in demo.curls:
            got = shell(command.replace("curl ", "curl -fsS ", 1))
            check(got.returncode == 0 and got.stdout.count("\n") + got.stdout.count("],[") >= 3, f"dev run: {command[-80:]}",
                  got.stdout[:500] + got.stderr)
            sql = re.search(r'"query=(.*)"$', command)[1]
            got = shell(f"{demo.psql} -At -c {shlex.quote(sql)}", env={**os.environ, "PGPASSWORD": "quest"})
            check(got.returncode == 0 and got.stdout.count("\n") >= 3, f"dev run by psql: {sql[-60:]}", got.stderr)
        add = shell(f"curl -fsS -G {demo.url}/exec --data-urlencode \"query=insert into trades values "
                    "('BTC-USD','buy',1.0,1.0,'2026-02-01T00:00:00.000000Z')\"")
        check(add.returncode == 0, "dev run: insert", add.stdout + add.stderr)
        check(demo.stop() == 0, "dev run: Ctrl-C ends it with exit code 0")
        demo = Demo(root)
        count = shell(f"curl -fsS -G {demo.url}/exp --data-urlencode 'query=select count() from trades'").stdout
        check(count.split() == ['"count()"', "120001"], "dev run: the data stays", count)
        check(demo.stop() == 0, "dev run: the second Ctrl-C too")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def check_dev():
    for args in ([], ["help"]):
        p = subprocess.run(["sh", "dev", *args], cwd=TOP, capture_output=True, text=True)
        verbs = set(re.findall(r"^  ./dev (\w+)", p.stdout, re.M))
        check(p.returncode == 0 and {"run", "test", "build"} <= verbs, f"dev {' '.join(args)} prints the help", p.stdout)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--write", action="store_true")
    ap.add_argument("--nightly", action="store_true", help="the same")
    ap.add_argument("pages", nargs="*")
    o = ap.parse_args()
    chosen = [pathlib.Path(p).resolve() for p in o.pages] or pages()
    for path in chosen:
        try:
            run_page(path, o.write)
        except Exception as e:  # a page that cannot run has failed
            check(False, f"{path.relative_to(TOP)}: {type(e).__name__}", str(e), path)
    if not o.pages:
        check_links(chosen)
        check_settings(chosen)
        check_generated()
        check_dev()
        check_demo()
    for what in failures:
        print("failed:", what)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(len(failures) > 0)


if __name__ == "__main__":
    main()
