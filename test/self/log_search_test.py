#!/usr/bin/env python3
"""The search of logs itself: each kind of secret is found, what stands in a log by right is not, and a suite whose server logs one fails.

    log_search_test.py [--nightly]
"""
import base64, pathlib, subprocess, sys, tempfile

from lib import log_search
from lib.checks import Suite, ensure
from lib.server import TOP


PASSWORD, KEY = "correct-horse-7", "5UjEMuA0Pj5pjK8a-fa24dyIf-Es5mYny3oE_Wmus48"
TOKEN = "qt1" + "aB3_-" * 8 + "xyz"
JWT = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"RS256"}', b'{"sub":"alice"}', b"signature"))
SECRET_LINES = [
    f"user 'a' came with {PASSWORD}",
    f"of a line client: {KEY}.",
    f"refused: ALTER USER x WITH PASSWORD '{PASSWORD}'",
    "refused: create user x with password 'never noted'",
    "alter user x drop token type rest 'never noted'",
    "password=pw",
    "Password: 'pw'",
    "basic: of-basic",
    "noted by the setting of-a-setting",
    "noted by the statement joe's own",
    f"the token {TOKEN} is unknown",
    f"authorization: bearer {TOKEN}",
    f"Authorization: Basic {base64.b64encode(b'a:b').decode()}",
    f"id_token={JWT}",
    "cookie qs1" + "c" * 43,
    "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy",
    "c=biws,r=nonce,p=cHJvb2Y=",
    "-----BEGIN EC PRIVATE KEY-----",
    "GET http://joe:pass@host/ ",
]
OPEN_LINES = [
    "event=login result=refused user='joe' interface=http address=- detail='password'",
    "'secret' is a table, and pw a column",
    f"before{PASSWORD}after is another word",
    "password: the setting has changed",
    "the claim groups of token 1a2b3c4d is no list",
    "set pg.password and http.password",
    "https://idp.example:8443/me answered 503",
    "bearer of news, eyes open",
]
LEAKY = """#!/bin/sh
echo "2026-01-01T00:00:00Z INFO server login with $ALMANAC_PG_PASSWORD" >&2
mkdir -p "$2/conf"
echo "http=127.0.0.1:1" > "$2/conf/address"
exec sleep 60
"""
SUITE = """
from lib.server import Server
with Server(binary={binary!r}, env={{"ALMANAC_PG_PASSWORD": {password!r}}}) as s:
    pass
"""


def forms():
    """Each kind of secret is found and masked; what stands in a log by right is not."""
    log_search.note(PASSWORD, KEY, "pw", "secret")
    log_search.note_login("Basic " + base64.b64encode(b"joe:of-basic").decode())
    log_search.note_settings([("ALMANAC_ACL_ADMIN_PASSWORD", "of-a-setting"), ("acl.oidc.pg.token.as.password.enabled", "is")])
    log_search.note_statement("create user x with password 'joe''s own'")
    for line in SECRET_LINES:
        got = log_search.hits("first\n" + line + "\nlast")
        ensure(got, f"found in: {line}")
        ensure(not any(secret in hit for hit in got for secret in (PASSWORD, KEY, TOKEN, JWT, "never noted", "of-basic")), f"masked: {got}")
    for line in OPEN_LINES:
        ensure(not log_search.hits(line), f"nothing found in: {line}: {log_search.hits(line)}")


def suites():
    """A suite whose server logs a password fails."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "leaky"
        program.write_text(LEAKY)
        program.chmod(0o755)
        for password, leaks in ((PASSWORD, True), ("", False)):
            # the child of a server that does not know SIGTERM ends by it: the suite sees that as it sees any other end
            text = SUITE.format(binary=str(program), password=password)
            text = text.replace("    pass", "    s.stop()")
            p = subprocess.run([sys.executable, "-c", text], cwd=TOP / "test", capture_output=True, text=True, timeout=60)
            ensure((p.returncode != 0) == leaks and ("FAIL the log has" in p.stdout) == leaks, f"a suite whose server logs it: {p.returncode} {p.stdout} {p.stderr}")
            ensure(not password or password not in p.stdout + p.stderr, "and does not print it")


def main():
    suite = Suite(__doc__)
    for f in (forms, suites):
        if suite.wants(f.__name__):
            suite.one(f.__name__, f)
    suite.close()


if __name__ == "__main__":
    main()
