#!/usr/bin/env python3
"""Runs the test suites and closes with 'N passed, N failed'.

    run.py [--nightly] [SUITE...]       no names: all suites of the mode

A suite is a row of SUITES: a function that returns (passed, failed). Suites of one line in the log
each; what fails is printed in full. Builds are made by ./dev build.
"""
import argparse, os, pathlib, re, subprocess, sys, time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "test"))
from server import Server  # noqa: E402

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed", re.M)


def command(args, env=None, timeout=3600, quiet=False):
    """Runs a program; (exit code, output)."""
    p = subprocess.run(args, cwd=TOP, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout)
    if p.returncode and not quiet:
        print(p.stdout[-8000:], flush=True)
    return p.returncode, p.stdout


def build(preset, *targets):
    code, _ = command(["./dev", "build", preset, *targets])
    if code:
        raise SystemExit(f"build of preset {preset} failed")


def counted(args, env=None, timeout=3600):
    """A program whose last such line is 'N passed, N failed'."""
    code, out = command(args, env, timeout, quiet=True)
    found = CLOSING.findall(out)
    passed, failed = map(int, found[-1]) if found else (0, 1)
    if code or failed:
        print(out[-12000:], flush=True)
    return passed, failed + (1 if code and not failed else 0)


def layers(mode):
    code, _ = command([sys.executable, "tools/check_layers"])
    return (0, 1) if code else (1, 0)


# Tests of one thread, and simulated power cuts, find nothing more under TSan: there they are left to the nightly run.
ONE_THREAD = "^(base|time|type|codec|func|io|sql|auth)/|net/(multipart|parse)_test|storage/(alter|bulk|check|compact|crash|dict|part|partition|scan|spill|update|view)_test|exec/sort_items_test"


def unit(preset, mode):
    build(preset)
    code, out = command(["cmake", "--build", f"build/{preset}", "--target", "unit_tests"])
    if code:
        return 0, 1
    left_out = ["-E", ONE_THREAD] if preset == "tsan" and mode == "ci" else []
    code, out = command(["ctest", "--test-dir", f"build/{preset}", "-j", str(os.cpu_count()), "--output-on-failure", *left_out])
    m = re.search(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", out)
    if not m:
        return 0, 1
    return int(m[3]) - int(m[2]), int(m[2])


def conformance(preset, mode, files=("test/sql",)):
    build(preset)
    with Server(preset=preset) as s:
        return counted([sys.executable, "test/sql/conform.py", "--url", s.url, "--timeout", "120",
                        "--strict", "--unmet", "test/sql/unmet.txt", *files])


def conformance_pg(mode):
    """The same cases over the PostgreSQL wire: text, then binary."""
    build("release")
    passed = failed = 0
    with Server() as s:
        for form in ([], ["--binary"]):
            p, f = counted([sys.executable, "test/sql/conform.py", "--pg", s.pg, *form, "--strict", "--unmet", "test/sql/unmet.txt", "test/sql"])
            passed, failed = passed + p, failed + f
    return passed, failed


def script(path, *args):
    def run(mode):
        build("release")
        return counted([sys.executable, path, *(["--nightly"] if mode == "nightly" else []), *args], timeout=14400)
    return run


def drivers(mode):
    """By name, the rows that are too slow to build for CI run too."""
    build("release")
    more = ["--nightly"] if mode == "nightly" else ["--all"] if "drivers" in sys.argv[1:] else []
    return counted([sys.executable, "test/wire/drivers/run.py", *more], timeout=7200)


def examples(mode):
    build("release")
    more = ["--nightly"] if mode == "nightly" else ["--all"] if "examples" in sys.argv[1:] else []
    return counted([sys.executable, "test/examples_test.py", *more], timeout=7200)


THIRD = [f"test/sql/{f}.sql" for f in ("select_basics", "select_where", "group_by", "sample_by", "sample_by_fill", "latest_on",
                                       "joins", "asof_joins", "window_functions", "order_limit", "set_operations", "insert", "update")]
# seconds: every target, then the statements once more, which have the most to find
FUZZ_SECONDS = {"ci": [("all", 10)], "nightly": [("all", 300), ("query", 3600)]}


def fuzz(mode):
    build("fuzz")
    passed = failed = 0
    for target, seconds in FUZZ_SECONDS[mode]:
        code, out = command(["sh", "tools/run_fuzz.sh", str(TOP / "build/fuzz"), target, str(seconds)], timeout=7200)
        passed += len(re.findall(r"^fuzz (\S+): clean", out, re.M))
        failed += code != 0
    return passed, failed


SUITES = [
    # name, nightly only, function
    ("layers", False, layers),
    ("unit", False, lambda mode: unit("release", mode)),
    ("conformance", False, lambda mode: conformance("release", mode)),
    ("conformance-pg", False, conformance_pg),
    ("differential", False, script("test/oracle/differential.py")),
    ("windows", False, script("test/oracle/windows.py")),
    ("rules", False, script("test/opt_off_test.py")),
    ("restart", False, script("test/sql/restart_test.py")),
    ("matviews", False, script("test/matview_test.py")),
    ("http", False, script("test/wire/http_test.py")),
    ("rest", False, script("test/wire/rest_test.py")),
    ("openapi", False, script("test/wire/openapi_test.py")),
    ("framing", False, script("test/wire/framing_test.py")),
    ("metrics", False, script("test/wire/metrics_test.py")),
    ("imp", False, script("test/wire/imp_test.py")),
    ("pg", False, script("test/wire/pg_test.py")),
    ("pg-cursors", False, script("test/wire/pg_cursor_test.py")),
    ("pg-tls", False, script("test/wire/pg_tls_test.py")),
    ("pg-transactions", False, script("test/wire/pg_transactions_test.py")),
    ("pg-settings", False, script("test/wire/pg_settings_test.py")),
    ("copy", False, script("test/wire/copy_test.py")),
    ("pg-catalog", False, script("test/wire/pg_catalog_test.py")),
    ("pg-tools", False, script("test/wire/pg_tools_test.py")),
    ("grafana", False, script("test/wire/grafana_test.py")),
    ("line", False, script("test/wire/line_test.py")),
    ("cli", False, script("test/cli_test.py")),
    ("cli-prompt", False, script("test/cli_prompt_test.py")),
    ("drivers", False, drivers),
    ("examples", False, examples),
    ("clients", False, script("test/wire/clients_test.py")),
    ("types", False, script("test/types_test.py")),
    ("bad-input", False, script("test/bad_input_test.py")),
    ("hostile", False, script("test/hostile_test.py")),
    ("faults", False, script("test/faults_test.py")),
    ("memory-faults", False, script("test/memory_fault_test.py")),
    ("data", False, script("test/data_test.py")),
    ("functions", False, script("test/functions_test.py")),
    ("limits", False, script("test/limits_test.py")),
    ("load", False, script("test/load_test.py")),
    ("cancel", True, script("test/cancel_test.py")),
    ("disk", False, script("test/crash/disk_test.py")),
    ("visibility", False, script("test/visibility_test.py")),
    ("crash", False, script("test/crash/kill_test.py")),
    ("ddl", False, script("test/crash/ddl_test.py")),
    ("docs", False, script("test/docs_test.py")),
    ("unit-asan", False, lambda mode: unit("asan", mode)),
    ("conformance-asan", False, lambda mode: conformance("asan", mode)),
    ("unit-tsan", False, lambda mode: unit("tsan", mode)),
    ("conformance-tsan", False, lambda mode: conformance("tsan", mode, THIRD if mode == "ci" else ("test/sql",))),
    ("fuzz", False, fuzz),
]


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
    passed = failed = 0
    for name, long, run in SUITES:
        if (o.suites and name not in o.suites) or (not o.suites and long and mode == "ci"):
            continue
        start = time.monotonic()
        try:
            p, f = run(mode)
        except Exception as e:  # a suite that cannot run has failed
            print(f"{name}: {type(e).__name__}: {e}", flush=True)
            p, f = 0, 1
        passed, failed = passed + p, failed + f
        print(f"{name}: {p} passed, {f} failed ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
