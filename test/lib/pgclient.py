"""Messages of the PostgreSQL protocol by hand: what drivers would not send, or not in that order."""
import base64, hashlib, hmac, os, socket, struct

from lib import log_search


class Closed(Exception):
    pass


def msg(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def parse(name="", sql="", oids=()):
    return msg(b"P", name.encode() + b"\0" + sql.encode() + b"\0" + struct.pack("!H", len(oids)) + b"".join(struct.pack("!I", o) for o in oids))


def bind(portal="", statement="", values=(), formats=(), results=()):
    body = portal.encode() + b"\0" + statement.encode() + b"\0"
    body += struct.pack("!H", len(formats)) + b"".join(struct.pack("!h", f) for f in formats)
    body += struct.pack("!H", len(values))
    for v in values:
        body += struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v
    body += struct.pack("!H", len(results)) + b"".join(struct.pack("!h", f) for f in results)
    return msg(b"B", body)


def describe(kind, name=""):
    return msg(b"D", kind.encode() + name.encode() + b"\0")


def execute(portal="", limit=0):
    return msg(b"E", portal.encode() + b"\0" + struct.pack("!i", limit))


def close(kind, name=""):
    return msg(b"C", kind.encode() + name.encode() + b"\0")


def query(sql):
    log_search.note_statement(sql)
    return msg(b"Q", sql.encode() + b"\0")


SYNC, FLUSH, TERMINATE = msg(b"S"), msg(b"H"), msg(b"X")


def startup(params, code=196608):
    body = struct.pack("!I", code) + b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in params) + b"\0"
    return struct.pack("!I", len(body) + 4) + body


def fields(body):
    """Fields of an ErrorResponse: {'S': 'ERROR', 'C': '42601', ...}"""
    return {p[:1].decode(): p[1:].decode() for p in body.split(b"\0") if p}


def cells(body):
    out, at = [], 2
    for _ in range(struct.unpack_from("!H", body)[0]):
        n = struct.unpack_from("!i", body, at)[0]
        at += 4
        out.append(None if n < 0 else body[at:at + n])
        at += max(n, 0)
    if at != len(body):
        raise AssertionError("the cells do not fill the DataRow")
    return out


class Wire:
    def __init__(self, address, user="admin", password="quest", params=(), code=196608, login=True, timeout=60):
        host, port = address.rsplit(":", 1)
        self.s = socket.create_connection((host, int(port)), timeout=timeout)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = bytearray()
        self.settings, self.key, self.seen = {}, None, []
        log_search.note(password)
        if login:
            self.send(startup([("user", user), ("database", "qdb"), *params], code))
            self.login(password)

    def send(self, *messages):
        self.s.sendall(b"".join(messages))

    def need(self, n):
        while len(self.buf) < n:
            part = self.s.recv(1 << 18)
            if not part:
                raise Closed("connection closed")
            self.buf += part

    def take(self, n):
        self.need(n)
        out = bytes(self.buf[:n])
        del self.buf[:n]
        return out

    def read(self):
        kind, length = struct.unpack("!ci", self.take(5))
        return kind.decode(), self.take(length - 4)

    def login(self, password):
        first = "n,,n=,r=" + base64.b64encode(os.urandom(18)).decode()
        while True:
            kind, body = self.read()
            self.seen.append(kind)
            if kind == "R":
                code = struct.unpack_from("!I", body)[0]
                if code == 10:
                    self.send(msg(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first.encode()))
                elif code == 11:
                    server_first = body[4:].decode()
                    got = dict(p.split("=", 1) for p in server_first.split(","))
                    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(got["s"]), int(got["i"]))
                    mac = lambda key, text: hmac.new(key, text, hashlib.sha256).digest()
                    without = "c=biws,r=" + got["r"]
                    auth = (first[3:] + "," + server_first + "," + without).encode()
                    key = mac(salted, b"Client Key")
                    proof = bytes(a ^ b for a, b in zip(key, mac(hashlib.sha256(key).digest(), auth)))
                    self.signature = base64.b64encode(mac(mac(salted, b"Server Key"), auth))
                    self.send(msg(b"p", (without + ",p=" + base64.b64encode(proof).decode()).encode()))
                elif code == 12 and body[4:] != b"v=" + self.signature:
                    raise AssertionError("the server's signature is wrong")
                elif code == 3:
                    self.send(msg(b"p", password.encode() + b"\0"))
            elif kind == "S":
                name, value = body.rstrip(b"\0").split(b"\0") if body.count(b"\0") == 2 and body[-2:] != b"\0\0" else (body[:-2], b"")
                self.settings[name.decode()] = value.decode()
            elif kind == "K":
                self.key = body
            elif kind == "v":
                self.negotiated = body
            elif kind == "E":
                raise PermissionError(fields(body))
            elif kind == "Z":
                return

    def until_ready(self):
        """[(kind, body)] up to ReadyForQuery, its letter last; bodies of notices into self.notices."""
        out, self.notices = [], []
        while True:
            kind, body = self.read()
            if kind == "N":
                self.notices.append(body)
                continue
            out.append((kind, body))
            if kind == "Z":
                return out

    def ask(self, *messages):
        self.send(*messages)
        return self.until_ready()

    def kinds(self, *messages):
        return "".join(k for k, _ in self.ask(*messages))

    def rows(self, sql):
        out = []
        for kind, body in self.ask(query(sql)):
            if kind == "E":
                raise RuntimeError(fields(body))
            if kind == "D":
                out.append([None if c is None else c.decode() for c in cells(body)])
        return out

    def error(self, *messages):
        for kind, body in self.ask(*messages):
            if kind == "E":
                return fields(body)
        return None

    def cancel(self, key=None):
        key = self.key if key is None else key
        host, port = self.s.getpeername()[:2]
        with socket.create_connection((host, port), timeout=10) as s:
            s.sendall(struct.pack("!II", 8 + len(key), 80877102) + key)
            s.recv(1)

    def close(self):
        self.s.close()
