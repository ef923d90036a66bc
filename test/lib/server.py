"""A server under test: own data directory, own ports (the system picks them), stopped at the end; then its log is searched for secrets."""
import base64, json, os, pathlib, shutil, signal, socket, subprocess, tempfile, time, urllib.error, urllib.parse, urllib.request

from lib import log_search

TOP = pathlib.Path(__file__).resolve().parents[2]


class Server:
    """with Server() as s: s.exec("select 1"). root=None makes a directory that goes away at the end."""

    program = None  # what runs where no binary is named: --binary of a suite (checks.py)

    def __init__(self, binary=None, root=None, env=None, preset="release", log=None):
        self.binary = str(binary or Server.program or TOP / "build" / preset / "almanac")
        self.own = root is None
        self.root = pathlib.Path(root or tempfile.mkdtemp(prefix="almanac-test-"))
        self.env = env or {}
        self.log = log
        self.process = None
        self.http = self.pg = self.health = self.line = None

    def launch(self):
        """Starts the process and does not wait until it serves; gives the file in which it will say where."""
        address = self.root / "conf" / "address"
        address.unlink(missing_ok=True)
        env = {**os.environ, "ALMANAC_HTTP_BIND_TO": "127.0.0.1:0", "ALMANAC_PG_NET_BIND_TO": "127.0.0.1:0",
               "ALMANAC_HTTP_MIN_NET_BIND_TO": "127.0.0.1:0", "ALMANAC_LINE_TCP_NET_BIND_TO": "127.0.0.1:0", **self.env}
        log_search.note_settings(env.items())
        out = open(self.log_path, "ab")
        self.log_start = out.tell()
        self.started = time.monotonic()
        self.process = subprocess.Popen([self.binary, "-d", str(self.root)], env=env, stdin=subprocess.DEVNULL,
                                        stdout=out, stderr=out)
        out.close()
        return address

    def start(self, wait=60):
        address = self.launch()
        end = time.monotonic() + wait
        while time.monotonic() < end:
            if self.process.poll() is not None:
                self.search_log()
                raise RuntimeError(f"server ended with {self.process.returncode}: {self.tail()}")
            try:
                text = address.read_text()
                if text.endswith("\n"):
                    break
            except OSError:
                pass
            time.sleep(0.005)
        else:
            raise RuntimeError(f"server did not start: {self.tail()}")
        self.start_seconds = time.monotonic() - self.started
        found = dict(line.split("=", 1) for line in text.split())
        self.http, self.pg, self.health = found.get("http"), found.get("pg"), found.get("health")
        self.line = found.get("line")
        return self

    @property
    def log_path(self):
        return pathlib.Path(self.log or self.root / "server.log")

    def tail(self):
        path = self.log_path
        return path.read_text(errors="replace")[-1500:] if path.exists() else ""

    @property
    def url(self):
        return f"http://{self.http}"

    def stop(self, sig=signal.SIGTERM, wait=60):
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(sig)
        code = self.process.wait(wait)
        self.process = None
        self.search_log()
        return code

    def search_log(self):
        """What was logged since the start."""
        conf = self.root / "conf" / "server.conf"
        if conf.is_file():
            log_search.note_settings(line.split("=", 1) for line in conf.read_text(errors="replace").splitlines() if "=" in line and line[0] != "#")
        log_search.search(self.log_path, self.log_start)

    def kill(self):
        return self.stop(signal.SIGKILL)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        try:
            code = self.stop()
            if kind is None and code not in (0, None):
                raise RuntimeError(f"server ended with {code}: {self.tail()}")
        finally:
            if self.process is not None:
                self.process.kill()
            if self.own:
                shutil.rmtree(self.root, ignore_errors=True)

    # ------------------------------------------------------------------ calls
    def login(self):
        """Headers of the administrator, for suites that run again with access control on."""
        if os.environ.get("ALMANAC_ACL_ENABLED") != "true":
            return {}
        return {"Authorization": "Basic " + base64.b64encode(b"admin:quest").decode()}

    def get(self, path, timeout=60, headers=None, **params):
        """(status, headers, body)"""
        query = "?" + urllib.parse.urlencode(params) if params else ""
        headers = {**self.login(), **(headers or {})}
        log_search.note_login(headers.get("Authorization", ""))
        log_search.note_statement(params.get("query", ""))
        request = urllib.request.Request(self.url + path + query, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as r:
                return r.status, r.headers, r.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read()

    def exec(self, sql, timeout=60, **params):
        status, _, body = self.get("/exec", timeout, query=sql, **params)
        answer = json.loads(body)
        if status != 200 or "error" in answer:
            raise RuntimeError(f"{status} {answer.get('error')} at {answer.get('position')}: {sql[:200]}")
        return answer

    def rows(self, sql, **params):
        return self.exec(sql, **params)["dataset"]

    def resident_bytes(self):
        """(all resident, anonymous only)"""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        field = lambda k: int(text.split(k + ":")[1].split()[0]) * 1024
        return field("VmRSS"), field("RssAnon")

    def connect(self):
        host, port = self.http.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=30)

    def pg_dsn(self, **more):
        host, port = self.pg.rsplit(":", 1)
        fields = {"host": host, "port": port, "user": "admin", "password": "quest", "dbname": "qdb", **more}
        log_search.note(fields["password"])
        return " ".join(f"{k}={v}" for k, v in fields.items())
