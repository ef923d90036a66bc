"""What the tests of wires have alike: a list of checks, each with a server, and the closing line."""
import argparse, socket, sys

from lib.server import Server  # noqa: F401

CHECKS = []


def check(f):
    CHECKS.append(f)
    return f


def expect(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def raw(address, *parts, timeout=10):
    """Bytes as they are; (all that came back, did the server close within `timeout`?)."""
    host, port = address.rsplit(":", 1)
    got, closed = b"", False
    with socket.create_connection((host, int(port)), timeout=30) as s:
        try:
            for part in parts:
                s.sendall(part)
            s.settimeout(timeout)
            while True:
                block = s.recv(65536)
                if not block:
                    closed = True
                    break
                got += block
        except socket.timeout:
            pass
        except ConnectionError:
            closed = True
    return got, closed


def heads(got):
    """Status and headers (lower case names) of each answer in these bytes, bodies by Content-Length or chunks."""
    out = []
    while got:
        head, _, got = got.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        status = int(lines[0].split(" ")[1])
        out.append((status, headers))
        if "content-length" in headers:
            got = got[int(headers["content-length"]):]
        elif headers.get("transfer-encoding") == "chunked":
            _, _, got = got.partition(b"0\r\n\r\n")
    return out


def run_checks(s, names):
    """(passed, failed) of the checks, or of those that are named."""
    passed = failed = 0
    for f in CHECKS:
        if names and f.__name__ not in names:
            continue
        try:
            f(s)
            passed += 1
        except Exception as e:
            failed += 1
            print(f"{f.__name__}: {type(e).__name__}: {e}", flush=True)
    return passed, failed


def main(arguments=None, env=None):
    """Runs the checks, those that are named, each on the one server; says how many passed."""
    ap = argparse.ArgumentParser()
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--preset", default="release", help="build directory under build/")
    ap.add_argument("names", nargs="*")
    o = ap.parse_args(arguments)
    with Server(preset=o.preset, env=env) as s:
        s.preset, s.nightly = o.preset, o.nightly
        passed, failed = run_checks(s, o.names)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
