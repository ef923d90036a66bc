"""A suite as a list of checks. What fails is printed, with the command that runs it again; the last line is 'N passed, N failed'.

    from lib.checks import check, expect, main

    @check
    def a_row_comes_back(s):
        expect(s.rows("select 1"), [[1]], "one row")

    if __name__ == "__main__":
        main()              # the checks share one server

A suite that needs more makes a Suite, and calls `checks` with the arguments that each check takes:

    suite = Suite(__doc__)
    with Server(binary=suite.o.binary, env=ENV) as s:
        suite.checks(s)
    suite.close()
"""
import argparse, os, pathlib, shlex, sys, time, traceback

from lib.server import TOP, Server

CHECKS = []
SLOW_SECONDS = 10  # a check that takes longer says so


class Skip(Exception):
    """Raised by a check that cannot run here."""


def check(f):
    if f.__module__ == "__main__":  # the checks of a suite whose code another one imports are not those of that other one
        CHECKS.append(f)
    return f


def expect(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def ensure(good, why):
    if not good:
        raise AssertionError(why)


# ---------------------------------------------------------------- what runs a part again
def relative(path):
    path = pathlib.Path(os.path.abspath(path))
    return str(path.relative_to(TOP)) if path.is_relative_to(TOP) else str(path)


def again(*words):
    """The command that runs this program with other arguments, from the project's folder."""
    settings = [f"{k}={shlex.quote(v)}" for k, v in sorted(os.environ.items()) if k.startswith("ALMANAC_")]
    return " ".join([*settings, shlex.join([relative(sys.executable), relative(sys.argv[0]), *words])])


def given(parser, parsed, leave=()):
    """The options of this run that are not the default ones."""
    out = []
    for action in parser._actions:
        value = getattr(parsed, action.dest, action.default)
        if action.option_strings and value != action.default and action.dest not in leave:
            out += action.option_strings[:1] if action.nargs == 0 else [action.option_strings[0], str(value)]
    return out


def what_happened(e):
    if isinstance(e, AssertionError):
        return str(e)
    causes = "; ".join(f"{type(cause).__name__}: {cause}" for cause in getattr(e, "exceptions", [e])[:3])
    return f"{causes}\n{traceback.format_exc()[-1500:]}"


def print_again(*words):
    """For suites that print their failures in their own way: below a failure."""
    print(f"    again: {again(*words)}", flush=True)


def show(name, why, command):
    print(f"FAILED {name}: {why}\n    again: {command}", flush=True)


# ---------------------------------------------------------------- a suite
class Suite:
    """Counts what passed and failed. `add` makes more options, before they are read."""

    def __init__(self, doc=None, add=None):
        self.parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.parser.add_argument("--nightly", action="store_true")
        self.parser.add_argument("--preset", default="release", help="build directory under build/")
        self.parser.add_argument("--binary", help="another program")
        self.parser.add_argument("-v", action="store_true", help="how long each check takes")
        self.parser.add_argument("names", nargs="*", metavar="CHECK")
        if add is not None:
            add(self.parser)
        self.o = self.parser.parse_args()
        Server.program = self.o.binary
        self.passed = self.failed = 0

    def wants(self, name):
        return not self.o.names or name in self.o.names

    def again(self, name):
        return again(*given(self.parser, self.o), name)

    def checks(self, *args):
        """All checks, or those that are named."""
        for f in CHECKS:
            if self.wants(f.__name__):
                self.one(f.__name__, f, *args)

    def one(self, name, f, *args):
        """Whether f(*args) passed; None where it was skipped."""
        began = time.monotonic()
        try:
            f(*args)
        except Skip as e:
            print(f"skipped: {name}: {e}", flush=True)
            return None
        except Exception as e:
            self.fail(name, what_happened(e))
            return False
        finally:
            seconds = time.monotonic() - began
            if self.o.v or seconds > SLOW_SECONDS:
                print(f"{name}: {seconds:.1f} s", flush=True)
        self.passed += 1
        return True

    def that(self, good, name, why=""):
        """One expectation of a suite without checks: of the part `name`."""
        if good:
            self.passed += 1
        else:
            self.fail(name, why)

    def fail(self, name, why):
        self.failed += 1
        show(name, why, self.again(name))

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)


def main_alone(doc=None):
    """The checks, each of which starts what it needs."""
    suite = Suite(doc)
    suite.checks()
    suite.close()


def main(env=None):
    """The checks, on one server."""
    suite = Suite()
    with Server(binary=suite.o.binary, preset=suite.o.preset, env=env) as s:
        s.preset, s.nightly = suite.o.preset, suite.o.nightly
        s.sanitized = "asan" in suite.o.preset or "tsan" in suite.o.preset
        for f in CHECKS:
            if suite.wants(f.__name__) and suite.one(f.__name__, f, s) is False and s.process.poll() is not None:
                print(f"the server ended: {s.tail()}", flush=True)
                break
    suite.close()
