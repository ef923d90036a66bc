"""What the log of a server must never have: the passwords, tokens and keys that the suites use, and whatever has the look of one.

Method: each place through which a suite logs in or sets a password notes it (note, note_login, note_statement, note_settings); tokens, verifiers
and private keys are found by their form, too. server.py has the log searched when its server stops; what is found is printed with the secret
masked, and the process ends with a failure, whatever else it says. log_search_test.py shows that it can fail.
"""
import atexit, base64, os, re, sys, threading

# By form: what it is, and how it looks.
FORMS = [
    ("a bearer token", r"(?i:bearer)\s+(?:ey|qt1|qs1)[\w.~+/=-]*"),
    ("a signed token", r"\bey[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*"),
    ("a REST token", r"\bqt1[A-Za-z0-9_-]{20,}"),
    ("a session", r"\bqs1[A-Za-z0-9_-]{20,}"),
    ("a login by Basic", r"(?i:authorization:?\s+basic)\s+[A-Za-z0-9+/=]+"),
    ("a SCRAM verifier", r"SCRAM-SHA-256\$\d+:[A-Za-z0-9+/=$:]*"),
    ("a SCRAM message", r"\bc=[A-Za-z0-9+/=]+,r=[^,\s]+,p=[A-Za-z0-9+/=]+"),
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("a password in an address", r"://[^/\s:@]+:[^/\s@]+@"),
    ("a password of a statement", r"(?i:\bpassword)\s+'[^']*'"),
    ("a token of a statement", r"(?i:\btoken\s+type\s+rest)\s+'[^']*'"),
]
SETTING = re.compile(r"(?i)^(almanac_|qdb_|[a-z]+\.).*password$")  # settings whose value is one
PASSWORD_OF = re.compile(r"""(?i)\bpassword\s+('(?:[^']|'')*'|"(?:[^"]|"")*"|[^\s;,)]+)""")
# A word like these stands in a log by right: it is looked for in quotes, and where a password would stand.
PLAIN_BYTES = 6
PLAIN_WORDS = {"secret", "another", "password"}

found = []  # a line each, masked
lock = threading.Lock()
noted = set()
searcher = None  # made of `noted`, when that has not changed since


def note(*secrets):
    """These are secret from now on, in this process."""
    global searcher
    with lock:
        for s in secrets:
            s = s.decode(errors="replace") if isinstance(s, bytes) else s
            if s and s not in noted:
                noted.add(s)
                searcher = None


def note_login(value):
    """The value of a header Authorization."""
    scheme, _, secret = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            note(base64.b64decode(secret).decode(errors="replace").partition(":")[2])
        except ValueError:
            pass
    if len(secret) > 15:  # shorter ones are made up by tests of the header
        note(secret)


def note_statement(text):
    for got in PASSWORD_OF.findall(text if isinstance(text, str) else ""):
        note(got[1:-1].replace(got[0] * 2, got[0]) if got[0] in "'\"" else got)


def note_settings(pairs):
    """(key, value) of an environment or of server.conf."""
    for key, value in pairs:
        if SETTING.search(key.strip()):
            note(str(value).strip())


def pattern_of(secret):
    word = re.escape(secret)
    if len(secret) >= PLAIN_BYTES and secret not in PLAIN_WORDS:
        return rf"(?<![A-Za-z0-9]){word}(?![A-Za-z0-9])"
    return rf"(?:(?i:password|passwd|pwd)\W{{1,4}}){word}(?![A-Za-z0-9])"


def make_searcher():
    global searcher
    with lock:
        if searcher is None:
            words = [("a noted secret", pattern_of(s)) for s in sorted(noted, key=lambda s: (-len(s), s))]
            searcher = [(what, re.compile(p)) for what, p in FORMS]
            if words:
                searcher.append((words[0][0], re.compile("|".join(p for _, p in words))))
        return searcher


def masked(line, every):
    for _, pattern in every:
        line = pattern.sub(lambda m: f"<{len(m[0])} characters>", line)
    return line


def hits(text):
    """["what: line with the secrets masked"]"""
    every = make_searcher()
    return [f"{what}: {masked(line, every)[:400]}" for line in text.splitlines() for what, pattern in every if pattern.search(line)]


def search(path, start=0):
    """Of a log, what was written since byte `start`; what is there fails the process. A log that is no file is not read."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as f:
        f.seek(start)
        for hit in hits(f.read().decode(errors="replace")):
            found.append(hit)
            print(f"FAIL the log has {hit}", flush=True)


@atexit.register
def fail():
    if found:
        print(f"secrets in the log: {len(found)}", flush=True)
        sys.stdout.flush()
        os._exit(1)
