#!/usr/bin/env python3
"""What fails is printed with the command that runs it again, and that command works.

Method: a failure is planted in each mechanism that runs tests: the printed command must fail in the same way, and run nothing else.
(Files of SQL cases: test/sql/run_test.py.) Each suite of run.py uses one of the mechanisms.
"""
import pathlib, re, subprocess, sys, tempfile

from lib.checks import Skip, check, ensure, main_alone
from lib.server import TOP

sys.path.append(str(TOP / "test"))
import run  # noqa: E402

CHECKS_FILE = """
from lib.checks import check, expect, Suite
@check
def good(s): pass
@check
def bad(s): expect(s, 2, "the argument")
suite = Suite(add=lambda parser: parser.add_argument("--number", type=int, default=0))
suite.checks(suite.o.number)
suite.that(not suite.wants("a case: 'of many words'"), "a case: 'of many words'", "planted")
suite.close()
"""
PARTS_FILE = """
import contextlib
from lib.acl_checks import run_suite
def bad(check, s): check.that(False, "planted")
def bad_and_more(check, s): check.that(True, "")
run_suite([bad, bad_and_more], lambda binary, env: contextlib.nullcontext(), {})
"""
PRINTED_FILE = """
import argparse
from lib.checks import given, print_again
ap = argparse.ArgumentParser()
ap.add_argument("--seed", type=int, default=1)
ap.add_argument("--only", type=int)
ap.add_argument("--quick", action="store_true")
o = ap.parse_args()
if o.only in (None, 7):
    print_again(*given(ap, o, leave=("seed", "only")), "--seed", str(o.seed), "--only", "7")
print(f"0 passed, 1 failed" if o.only in (None, 7) else "1 passed, 0 failed")
"""
UNIT_FILE = """
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
static void good(void **state) { (void)state; }
static void bad(void **state) { (void)state; assert_int_equal(1, 2); }
static void ends(void **state) { (void)state; abort(); }
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad), cmocka_unit_test(ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
"""
FUZZ_FILE = """#!/bin/sh
if [ -f "$1" ]; then echo "found again in $1"; exit 1; fi
echo input > "{folder}/crash-1"
echo "Test unit written to {folder}/crash-1"
exit 1
"""
VITEST_FILE = """
test("good", () => {});
describe("a group", () => {
  test("is bad (1 + 1)", () => { expect(1).toBe(2); });
  test("is bad (1 + 1), too", () => { expect(1).toBe(2); });
});
"""


def shell(command, **more):
    p = subprocess.run(command, shell=True, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return p.returncode, p.stdout


def again(output):
    return re.findall(r"^ *again: (.*)$", output, re.M)


def closes(output, passed, failed):
    ensure(output.rstrip().endswith(f"{passed} passed, {failed} failed"), f"not {passed} passed, {failed} failed: {output}")


class Planted:
    """A folder with a suite in it, which imports as those of the project do."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name)
        (path / "lib").symlink_to(TOP / "test" / "lib")
        (path / "planted_test.py").write_text(self.text)
        return f"{sys.executable} {path / 'planted_test.py'}"

    def __exit__(self, *_):
        self.folder.cleanup()


@check
def checks_of_a_suite():
    with Planted(CHECKS_FILE) as suite:
        _, out = shell(f"ALMANAC_PLANTED='a b' {suite} --number 1")
        closes(out, 1, 2)
        first, second = again(out)
        ensure(first.startswith("ALMANAC_PLANTED='a b' ") and first.endswith("--number 1 bad"), f"settings and options: {first}")
        _, out = shell(first)
        closes(out, 1, 1)  # what follows the checks passes when it is not asked for
        ensure("FAILED bad: the argument: got 1, want 2" in out, out)
        _, out = shell(second)
        closes(out, 0, 1)
        ensure("FAILED a case: 'of many words': planted" in out, out)


@check
def parts_of_access_control():
    with Planted(PARTS_FILE) as suite:
        _, out = shell(suite)
        closes(out, 1, 1)
        (command,) = again(out)
        _, out = shell(command)
        closes(out, 0, 1)


@check
def suites_that_print_in_their_own_way():
    with Planted(PRINTED_FILE) as suite:
        _, out = shell(f"{suite} --seed 5 --quick")
        (command,) = again(out)
        ensure(command.endswith("--quick --seed 5 --only 7"), command)
        _, out = shell(command)
        closes(out, 0, 1)


@check
def unit_tests():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "planted.c"
        source.write_text(UNIT_FILE)
        code, out = shell(f"cc -o {folder}/a_planted_test {source} test/lib/unit_filter.c -lcmocka")
        ensure(code == 0, out)
        (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(f'add_test(a/planted_test "{folder}/a_planted_test")\n')
        run.said.lines = []
        ensure(run.ctest(folder) == (0, 1), "ctest finds it")
        bad, ends = again("\n".join(run.said.lines))
        code, out = shell(bad)
        ensure(code != 0 and "[  FAILED  ] bad" in out and "good" not in out, out)
        code, out = shell(ends)
        ensure(code != 0 and "[ RUN      ] ends" in out and "bad" not in out, out)


@check
def findings_of_fuzzers():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "fuzz_planted"
        program.write_text(FUZZ_FILE.format(folder=folder))
        program.chmod(0o755)
        code, out = shell(f"sh tools/run_fuzz.sh {folder} planted 1")
        ensure(code != 0, out)
        (command,) = again(out)
        code, out = shell(command)
        ensure(code != 0 and f"found again in {folder}/crash-1" in out, out)


@check
def tests_of_the_console():
    if not (TOP / "console/node_modules/vitest").exists():
        raise Skip("the packages of the console are not there")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "planted.test.js").write_text(VITEST_FILE)
        config = pathlib.Path(folder) / "vitest.config.js"
        config.write_text(f"export default {{ test: {{ globals: true, dir: '{folder}', include: ['**/*.test.js'] }} }};\n")
        _, out = shell(f"{sys.executable} test/console/console_test.py unit --config {config}")
        closes(out, 1, 2)
        _, out = shell(again(out)[0])
        closes(out, 0, 1)


@check
def every_suite_has_a_mechanism():
    known = re.compile(r"from cli_test import .*\bOnBoth\b|from lib\.checks import .*\b(main|main_alone|Suite|print_again)\b|from lib\.acl_checks import .*\brun_(part|suite)\b|test/sql/run\.py")
    text = (TOP / "test/run.py").read_text()
    scripts = sorted(set(re.findall(r'"(test/[\w/]+\.py)"', text)))
    ensure(len(scripts) > 70, f"{len(scripts)} suites")
    lacking = [s for s in scripts if s != "test/sql/run.py" and not known.search((TOP / s).read_text())]
    ensure(not lacking, f"without a command: {lacking}")


if __name__ == "__main__":
    main_alone(__doc__)
