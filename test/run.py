#!/usr/bin/env python3
"""Runs the test suites and closes with 'N passed, N failed, N skipped'.

    run.py [--nightly] [SUITE...]       no names: all suites of the mode

A suite is a row of SUITES: a function that returns (passed, failed). Suites of one line in the log
each; what fails is printed in full. Builds are made by ./dev build. What cannot run says so on a line 'skipped: NAME: reason'.
"""
import argparse, atexit, collections, concurrent.futures, itertools, os, pathlib, re, signal, subprocess, sys, threading, time

TOP = pathlib.Path(__file__).resolve().parent.parent

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed", re.M)
SKIPPED = re.compile(r"^skipped: .*", re.M)


said = threading.local()  # .lines: what a suite has to say, printed when it ends


skips = []  # what could not run, from all suites


def skip(line):
    skips.append(line)
    say(line)


def say(text):
    if getattr(said, "lines", None) is None:
        print(text, flush=True)
    else:
        said.lines.append(text)


def command(args, env=None, timeout=3600, quiet=False):
    """Runs a program; (exit code, output)."""
    p = subprocess.run(args, cwd=TOP, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout)
    if p.returncode and not quiet:
        say(p.stdout[-8000:])
    return p.returncode, p.stdout


# Builds of the last suites, and their targets. The fuzz targets are built with the address sanitizer (clang's), so that in CI the suites that
# look for its findings run on the same objects; by night they run on those of gcc.
LATER = {"fuzz": ["all", "unit_tests"], "tsan": ["almanac", "unit_tests"]}
ASAN = {"ci": "fuzz", "nightly": "asan"}

# Tests of one thread, and simulated power cuts, find nothing more under TSan: CI does not build them there, the nightly run does, and so it is with
# the longest of those whose threads others have too.
ONE_THREAD = (r"^(base|time|type|codec|func|io|sql|auth)/|net/http/exchange/(multipart|parse)_test"
              r"|storage/([a-z_]+/)?(alter|backup|bulk|check|compact|crash|dict|durable|generation|hold|medium|owner|pack|part|match|partition|redo|reserve|rot|salvage|scan"
              r"|spill|update|view)_test|exec/(sort/items|join/op_asof|window/op_window)_test")
# In CI the optimised build runs the tests of loops over numbers and bytes, where a compiler may go wrong; all of them run under ASan there.
LOOPS = r"^(base|type|time|func|codec)/"


def tests_where(wanted):
    """Targets of the unit tests whose names, their paths below src/ without .c as in ctest, fulfil a condition."""
    names = [str(path.relative_to(TOP / "src").with_suffix("")) for path in sorted((TOP / "src").rglob("*_test.c"))]
    return [name.replace("/", "_") for name in names if wanted(name)]


class Ahead:
    """Builds presets that later suites need while the first ones run, with the processor time that those leave."""

    def __init__(self):
        self.process, self.presets = None, []

    def start(self, presets):
        self.presets = list(presets)
        if self.presets:
            steps = " && ".join(f"./dev build {preset} {' '.join(LATER[preset])}" for preset in self.presets)
            self.process = subprocess.Popen(["nice", "-n", "19", "sh", "-c", steps], cwd=TOP, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def stop(self):
        """What was not finished is built again by whoever needs it, or fails there, in full view."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()
        self.process = None

    def yield_to(self, preset):
        if preset in self.presets:
            rest = self.presets[self.presets.index(preset) + 1:]
            self.stop()
            return rest
        return []


ahead = Ahead()
built = set()  # nothing changes the sources while suites run
building = threading.Lock()  # suites of both lanes may need the same build


def build(preset, *targets):
    with building:
        if (preset, targets) in built:
            return
        rest = ahead.yield_to(preset)
        code, _ = command(["./dev", "build", preset, *targets])
        if code:
            raise RuntimeError(f"build of preset {preset} failed")
        built.add((preset, targets))
        if rest:
            ahead.start(rest)


def counted(args, env=None, timeout=3600):
    """A program whose last such line is 'N passed, N failed'."""
    code, out = command(args, env, timeout, quiet=True)
    found = CLOSING.findall(out)
    passed, failed = map(int, found[-1]) if found else (0, 1)
    for line in SKIPPED.findall(out):
        skip(line)
    if code or failed:
        say(out[-12000:])
    elif "needed a second try: " in out:
        say("\n".join(line for line in out.splitlines() if line.startswith("needed a second try: ")))
    return passed, failed + (1 if code and not failed else 0)


def layers(mode):
    build("release")  # the objects show which wings use each other
    code, _ = command([sys.executable, "tools/check_layers"])
    if code:
        say("    again: python3 tools/check_layers")
    return (0, 1) if code else (1, 0)


def failed_unit_tests(output):
    """[(target, test)] of the output of ctest: tests that failed, and the one during which a program ended."""
    found, target, running = [], None, None
    for line in output.splitlines():
        head = re.match(r" *\d+/\d+ +Test +#\d+: (\S+) \.*(.*)", line)
        test = re.match(r"\[ *(RUN|OK|FAILED|SKIPPED) *\] (\w+)$", line)
        if head:
            if running:
                found.append((target, running))
            target, running = head[1].replace("/", "_") if "***" in head[2] else None, None
        elif test and target:
            running = test[2] if test[1] == "RUN" else None
            if test[1] == "FAILED" and (target, test[2]) not in found:
                found.append((target, test[2]))
    return found + ([(target, running)] if running else [])


def unit(preset, mode):
    targets, wanted = LATER.get(preset, ["almanac", "unit_tests"]), []
    if preset == "release" and mode == "ci":
        targets, wanted = ["almanac", *tests_where(re.compile(LOOPS).search)], ["-R", LOOPS]
    elif preset == "tsan" and mode == "ci":
        wanted = ["-E", ONE_THREAD]
    build(preset, *targets)
    return ctest(f"build/{preset}", *wanted)


def ctest(folder, *wanted):
    code, out = command(["ctest", "--test-dir", folder, "-j", str(os.cpu_count()), "--output-on-failure", *wanted])
    for target, test in failed_unit_tests(out):
        everything = "ALM_TEST_ALL=1 " if "ALM_TEST_ALL" in os.environ else ""
        say(f"FAILED {target}: {test}\n    again: (cd {folder} && {everything}./{target} {test})")
    m = re.search(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", out)
    if not m:
        return 0, 1
    return int(m[3]) - int(m[2]), int(m[2])


def cases(*args):
    """The cases of test/sql; test/sql/run.py --help has the arguments."""
    return counted([sys.executable, "test/sql/run.py", *args])


def conformance(preset, mode, files=()):
    build(preset, *LATER.get(preset, ["almanac"]))
    return cases("--preset", preset, *files)


def conformance_pg(mode):
    """The same cases over the PostgreSQL wire: text, then binary."""
    build("release")
    return tuple(map(sum, zip(cases("--over", "pg"), cases("--over", "pg-binary"))))


def conformance_acl(mode):
    """The same cases for a user to whom everything is granted: each of their statements is asked for. Over both protocols by night. (own_ddl
    gives a table to somebody else, which no grant allows.)"""
    build("release")
    every = [str(path) for path in sorted((TOP / "test/sql").rglob("*.test")) if path.name != "own_ddl.test"]
    runs = [cases("--acl", "--over", way, *every) for way in ("http", "pg")] if mode == "nightly" else [cases("--acl", *THIRD)]
    return tuple(map(sum, zip(*runs)))


def pg_acl(mode):
    """The suites of the PostgreSQL wire once more, with access control on."""
    build("release")
    passed = failed = 0
    for name in ("messages", "values", "lists", "prepare", "returning", "cursor", "transactions", "settings", "copy", "catalog"):
        p, f = counted([sys.executable, f"test/wire/pg/{name}_test.py"], {"ALMANAC_ACL_ENABLED": "true"})
        passed, failed = passed + p, failed + f
    return passed, failed


def script(path, *args):
    def run(mode):
        build("release")
        return counted([sys.executable, path, *(["--nightly"] if mode == "nightly" else []), *args], timeout=14400)
    return run


def functions_asan(mode):
    """Bounds of constants are seen by the sanitizer alone."""
    build(ASAN[mode], *LATER.get(ASAN[mode], ["almanac"]))
    more = ["--nightly"] if mode == "nightly" else []
    return counted([sys.executable, "test/dialect/functions_test.py", "--written", "--preset", ASAN[mode], *more], timeout=7200)


def drivers(mode):
    """By name, the rows that are too slow to build for CI run too."""
    build("release")
    more = ["--nightly"] if mode == "nightly" else ["--all"] if "drivers" in sys.argv[1:] else []
    return counted([sys.executable, "test/wire/drivers/run.py", *more], timeout=7200)


def examples(mode):
    build("release")
    more = ["--nightly"] if mode == "nightly" else ["--all"] if "examples" in sys.argv[1:] else []
    return counted([sys.executable, "test/docs/examples_test.py", *more], timeout=7200)


THIRD = ["select/basics.test", "select/where.test", "aggregate/group_by.test", "sample/sample_by.test", "sample/fill.test",
         "sample/latest_on.test", "join/joins.test", "join/asof.test", "window/functions.test", "select/order_limit.test",
         "select/set_operations.test", "dml/insert.test", "dml/update.test"]
# seconds: every target, then the statements once more, which have the most to find
FUZZ_SECONDS = {"ci": [("all", 8)], "nightly": [("all", 300), ("query", 3600)]}


def fuzz(mode):
    build("fuzz", *LATER["fuzz"])
    passed = failed = 0
    every = sorted(path.name for path in (TOP / "build/fuzz").glob("fuzz_*") if path.is_file() and os.access(path, os.X_OK))
    runs = [(one, seconds) for target, seconds in FUZZ_SECONDS[mode] for one in (every if target == "all" else [target])]

    def run(one):
        return command(["sh", "tools/run_fuzz.sh", str(TOP / "build/fuzz"), one[0], str(one[1])], timeout=7200)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, out in pool.map(run, runs):
            passed += len(re.findall(r"^fuzz (\S+): clean", out, re.M))
            failed += code != 0
    return passed, failed or (0 if every else 1)


def lint(mode):
    """Layout and shell scripts; by night clang-tidy and cppcheck too, which take more than an hour of processor time."""
    args = ["./dev", "lint", *([] if mode == "nightly" else ["layout"])]
    code, _ = command(args, timeout=14400)
    if code:
        say("    again: " + " ".join(args))
    return (0, 1) if code else (1, 0)


SUITES = [
    # name, nightly only, function
    ("layers", False, layers),
    ("lint", False, lint),
    ("log-search", False, script("test/self/log_search_test.py")),
    ("unit", False, lambda mode: unit("release", mode)),
    ("again", False, script("test/self/again_test.py")),
    ("cases", False, script("test/sql/run_test.py")),
    ("conformance", False, lambda mode: conformance("release", mode)),
    ("conformance-pg", False, conformance_pg),
    ("conformance-acl", False, conformance_acl),
    ("pg-acl", True, pg_acl),
    ("differential", False, script("test/oracle/differential.py")),
    ("windows", False, script("test/oracle/windows.py")),
    ("rules", False, script("test/sql/rules_test.py")),
    ("filters", False, script("test/oracle/filters.py")),
    ("restart", False, script("test/sql/restart_test.py")),
    ("matviews", False, script("test/oracle/matview_test.py")),
    ("http", False, script("test/wire/http/http_test.py")),
    ("rest", False, script("test/wire/http/rest_test.py")),
    ("snapshots", False, script("test/wire/http/snapshot_test.py")),
    ("openapi", False, script("test/wire/http/openapi_test.py")),
    ("framing", False, script("test/wire/http/framing_test.py")),
    ("metrics", False, script("test/wire/http/metrics_test.py")),
    ("imp", False, script("test/wire/http/imp_test.py")),
    ("pg", False, script("test/wire/pg/messages_test.py")),
    ("pg-values", False, script("test/wire/pg/values_test.py")),
    ("pg-lists", False, script("test/wire/pg/lists_test.py")),
    ("reload", False, script("test/wire/http/reload_test.py")),
    ("pg-limits", False, script("test/wire/pg/limits_test.py")),
    ("returning", False, script("test/wire/pg/returning_test.py")),
    ("pg-prepare", False, script("test/wire/pg/prepare_test.py")),
    ("pg-cursors", False, script("test/wire/pg/cursor_test.py")),
    ("pg-tls", False, script("test/wire/pg/tls_test.py")),
    ("pg-transactions", False, script("test/wire/pg/transactions_test.py")),
    ("activity", False, script("test/wire/pg/activity_test.py")),
    ("pg-settings", False, script("test/wire/pg/settings_test.py")),
    ("copy", False, script("test/wire/pg/copy_test.py")),
    ("text-length", False, script("test/wire/pg/text_length_test.py")),
    ("explain-json", False, script("test/wire/pg/explain_json_test.py")),
    ("parquet-write", False, script("test/parquet/write_test.py")),
    ("pg-catalog", False, script("test/wire/pg/catalog_test.py")),
    ("pg-tools", False, script("test/wire/tools/libraries_test.py")),
    ("grafana", False, script("test/wire/tools/grafana_test.py")),
    ("line", False, script("test/wire/line/line_test.py")),
    ("cli", False, script("test/cli/cli_test.py")),
    ("cli-prompt", False, script("test/cli/prompt_test.py")),
    ("drivers", False, drivers),
    ("examples", False, examples),
    ("clients", False, script("test/wire/line/clients_test.py")),
    ("types", False, script("test/dialect/types_test.py")),
    ("bad-input", False, script("test/dialect/bad_input_test.py")),
    ("hostile", False, script("test/fault/hostile_test.py")),
    ("faults", False, script("test/fault/faults_test.py")),
    ("memory-faults", False, script("test/fault/memory_test.py")),
    ("data", False, script("test/oracle/trades_test.py")),
    ("parquet-cold", False, script("test/parquet/cold_test.py")),
    ("functions", False, script("test/dialect/functions_test.py")),
    ("keywords", False, script("test/dialect/keywords_test.py")),
    ("parquet", False, script("test/parquet/read_test.py")),
    ("limits", False, script("test/limits/limits_test.py")),
    ("query-bounds", False, script("test/limits/query_bounds_test.py")),
    ("load", False, script("test/limits/load_test.py")),
    ("cancel", True, script("test/limits/cancel_test.py")),
    ("acl", False, script("test/acl/acl_test.py")),
    ("acl-bounds", False, script("test/acl/bounds_test.py")),
    ("acl-tells", False, script("test/acl/tells_test.py")),
    ("bounds", False, script("test/limits/bounds_test.py")),
    ("revocation", False, script("test/oidc/revocation_test.py")),
    ("oidc", False, script("test/oidc/oidc_test.py")),
    ("oidc-logout", False, script("test/oidc/logout_test.py")),
    ("rot", False, script("test/damage/rot_test.py")),
    ("misplaced", False, script("test/damage/misplaced_test.py")),
    ("rot-matrix", False, script("test/damage/matrix_test.py")),
    ("salvage", False, script("test/damage/salvage_test.py")),
    ("upgrade", False, script("test/upgrade/upgrade_test.py")),
    ("maps", False, script("test/limits/maps_test.py")),
    ("space", False, script("test/limits/space_test.py")),
    ("containers", False, script("test/limits/container_test.py")),
    ("snapshot-age", False, script("test/limits/snapshot_age_test.py")),
    ("owner", False, script("test/fault/owner_test.py")),
    ("disk", False, script("test/crash/disk_test.py")),
    ("visibility", False, script("test/isolation/visibility_test.py")),
    ("isolation", False, script("test/isolation/isolation_test.py")),
    ("crash", False, script("test/crash/kill_test.py")),
    ("ddl", False, script("test/crash/ddl_test.py")),
    ("console-unit", False, script("test/console/console_test.py", "unit")),
    ("console", False, script("test/console/console_test.py", "browser")),
    ("docs", False, script("test/docs/docs_test.py")),
    ("functions-asan", False, functions_asan),
    ("unit-asan", False, lambda mode: unit(ASAN[mode], mode)),
    ("conformance-asan", False, lambda mode: conformance(ASAN[mode], mode)),
    ("unit-tsan", False, lambda mode: unit("tsan", mode)),
    ("conformance-tsan", False, lambda mode: conformance("tsan", mode, THIRD if mode == "ci" else ())),
    ("fuzz", False, fuzz),
]


# All suites run in three lanes, as a suite and its server seldom keep two cores busy. The second lane begins with these, which mostly wait, for
# time-outs and slow peers; then it and the first take what is left.
BESIDE = {"framing", "pg-limits", "faults", "pg-tls", "pg-settings", "matviews", "rest", "openapi", "reload", "console"}
# The third has these, which use a processor for a fifth of their time, and then ends: three suites that compute would make each other late.
WAITING = {"hostile", "snapshot-age", "oidc", "oidc-logout"}


def taken(queue):
    """Takes from the queue, which others take from, too, until it is empty."""
    while True:
        try:
            yield queue.popleft()
        except IndexError:
            return


def run_suites(suites, mode):
    """(passed, failed) of them."""
    passed = failed = 0
    for name, _, run in suites:
        start = time.monotonic()
        said.lines = []
        try:
            p, f = run(mode)
        except Exception as e:  # a suite that cannot run has failed
            say(f"{name}: {type(e).__name__}: {e}")
            p, f = 0, 1
        passed, failed = passed + p, failed + f
        if f:
            say(f"    the suite again: ./dev {'nightly' if mode == 'nightly' else 'test'} {name}")
        print("\n".join([*said.lines, f"{name}: {p} passed, {f} failed ({time.monotonic() - start:.0f} s)"]), flush=True)
        said.lines = None
    return passed, failed


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("suites", nargs="*")
    o = ap.parse_args()
    mode = "nightly" if o.nightly else "ci"
    if o.nightly:
        os.environ["ALM_TEST_ALL"] = "1"  # unit tests that take samples take everything
    known = [name for name, _, _ in SUITES]
    for name in o.suites:
        if name not in known:
            raise SystemExit(f"no suite {name}; there are: {', '.join(known)}")
    atexit.register(ahead.stop)
    if mode == "ci":
        LATER["tsan"] = ["almanac", *tests_where(lambda name: not re.search(ONE_THREAD, name))]
    wanted = [suite for suite in SUITES if (suite[0] in o.suites if o.suites else mode == "nightly" or not suite[1])]
    beside, waiting = ([] if o.suites else [suite for suite in wanted if suite[0] in names] for names in (BESIDE, WAITING))
    if not o.suites:
        build("release")
        ahead.start(LATER)
    left = collections.deque(suite for suite in wanted if suite not in beside and suite not in waiting)
    lanes = [taken(left)] if o.suites else [taken(left), itertools.chain(beside, taken(left)), waiting]
    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        results = list(pool.map(lambda suites: run_suites(suites, mode), lanes))
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed, {len(skips)} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
