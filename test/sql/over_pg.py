"""Statements over the PostgreSQL wire, their answers as those over REST (test/lib/cases.py).

Text form: simple queries. Binary form: Parse, Bind, Describe, Execute in pieces of a few rows, results
in binary. The wire does not name all types (IPv4 and GEOHASH come as text), so that the recorded type
says how a value of JSON would look; that the OID is the one for this type is checked.
"""
import base64, struct
from datetime import datetime, timedelta

from lib import pgclient as pg

EPOCH = datetime(2000, 1, 1)
PIECE = 5
OIDS = {"BOOLEAN": 16, "BYTE": 21, "SHORT": 21, "INT": 23, "LONG": 20, "FLOAT": 700, "DOUBLE": 701, "CHAR": 1042,
        "STRING": 1043, "VARCHAR": 1043, "SYMBOL": 1043, "TIMESTAMP": 1114, "TIMESTAMP_NS": 1114, "DATE": 1114,
        "UUID": 2950, "IPv4": 1043, "LONG256": 1043, "BINARY": 17, "INTERVAL": 1043, "ARRAY": 1022}
SIZES = {16: 1, 21: 2, 23: 4, 26: 4, 20: 8, 700: 4, 701: 8, 1114: 8, 2950: 16}


LISTS = {1009: 25, 1000: 16, 2287: 2249}  # a STRING that is a list comes as an array: of text, of boolean, of records
RECORD = 2249
MORE = {"STRING": {*LISTS, RECORD}, "INT": {26}}  # what a type may be, too: an INT that numbers an object is an oid


def record_text(b):
    """A binary record, whose fields are texts, as the text that it is over REST."""
    out, at = [], 4
    for _ in range(struct.unpack_from("!i", b)[0]):
        of, n = struct.unpack_from("!ii", b, at)
        cell, at = b[at + 8:at + 8 + max(n, 0)].decode(), at + 8 + max(n, 0)
        if of != 25:
            raise ValueError(f"a field of type {of}")
        plain = n < 0 or (cell and not set(cell) & set('(),"\\ \t\n\r\v\f'))
        out.append(cell if plain else '"' + cell.replace("\\", "\\\\").replace('"', '""') + '"')
    if at != len(b):
        raise ValueError("a record has more bytes than fields")
    return "(" + ",".join(out) + ")"


def list_text(b, oid):
    """A binary array of one dimension as the text that it is over REST."""
    dims, nulls, of = struct.unpack_from("!iii", b)
    if dims not in (0, 1) or nulls not in (0, 1) or of != LISTS[oid]:
        raise ValueError(f"bad list head {b[:12].hex()}")
    out, at = [], 20
    for _ in range(struct.unpack_from("!i", b, 12)[0] if dims else 0):
        n = struct.unpack_from("!i", b, at)[0]
        cell, at = b[at + 4:at + 4 + max(n, 0)], at + 4 + max(n, 0)
        if n < 0:
            out.append("NULL")
        elif of == 16:
            out.append("t" if cell == b"\1" else "f")
        else:
            text = record_text(cell) if of == RECORD else cell.decode()
            plain = text and text.upper() != "NULL" and not set(text) & set('{},"\\ \t\n\r\v\f')
            out.append(text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
    if dims and at != len(b):
        raise ValueError("a list has more bytes than elements")
    return "{" + ",".join(out) + "}"


def oid_of(kind):
    return 1700 if kind.startswith("DECIMAL") else 1043 if kind.startswith("GEOHASH") else OIDS[kind]


def numeric(b):
    """PG's binary numeric as text."""
    count, weight, sign, scale = struct.unpack_from("!hhHH", b)
    groups = struct.unpack_from(f"!{count}H", b, 8)
    if len(b) != 8 + 2 * count or sign not in (0, 0x4000) or any(g > 9999 for g in groups):
        raise ValueError(f"bad numeric {b.hex()}")
    if groups and (groups[0] == 0 or groups[-1] == 0):
        raise ValueError(f"zero groups at the ends of numeric {b.hex()}")
    at = lambda w: groups[weight - w] if 0 <= weight - w < count else 0
    whole = "".join("%04d" % at(w) for w in range(max(weight, 0), -1, -1)).lstrip("0") or "0"
    part = "".join("%04d" % at(w) for w in range(-1, -1 - (scale + 3) // 4, -1))[:scale]
    return ("-" if sign else "") + whole + ("." + part if scale else "")


def array(b):
    dims, nulls, oid = struct.unpack_from("!iii", b)
    if nulls not in (0, 1) or oid != 701:
        raise ValueError(f"bad array head {b[:12].hex()}")
    lengths, at = [], 12
    for _ in range(dims):
        length, lower = struct.unpack_from("!ii", b, at)
        if lower != 1:
            raise ValueError("arrays start at 1")
        lengths.append(length)
        at += 8

    def level(d):
        nonlocal at
        if d == dims:
            n = struct.unpack_from("!i", b, at)[0]
            at += 4
            if n < 0:
                return None
            at += 8
            return struct.unpack_from("!d", b, at - 8)[0]
        return [level(d + 1) for _ in range(lengths[d])]

    out = level(0) if dims else []
    if at != len(b):
        raise ValueError("bytes behind the array")
    return out


def array_text(s):
    """{1.0,NULL,{...}}"""
    stack, word = [[]], ""
    for ch in s:
        if ch in ",}":
            if word:
                stack[-1].append(None if word == "NULL" else float(word))
            word = ""
            if ch == "}":
                stack[-2].append(stack.pop())
        elif ch == "{":
            stack.append([])
        else:
            word += ch
    return stack[0][0]


def time_text(us, kind):
    """As JSON writes it; the wire has microseconds only."""
    t = EPOCH + timedelta(microseconds=us) if -63082281600000000 <= us - 0 < 252455616000000000 else None
    if t is None:
        return f"{us} us"
    text = t.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return text + {"DATE": ".%03dZ" % (t.microsecond // 1000), "TIMESTAMP": ".%06dZ" % t.microsecond}.get(kind, ".%06d000Z" % t.microsecond)


def value(cell, oid, binary, kind):
    if cell is None:
        return "" if kind == "CHAR" else None
    if binary and oid in SIZES and len(cell) != SIZES[oid]:
        raise ValueError(f"{len(cell)} bytes for type {oid}")
    if oid == 16:
        return {b"t": True, b"f": False, b"\1": True, b"\0": False}[cell]
    if oid in (20, 21, 23, 26):
        return struct.unpack({20: "!q", 21: "!h", 23: "!i", 26: "!i"}[oid], cell)[0] if binary else int(cell)
    if oid in (700, 701):
        if not binary:
            return float(cell)
        if oid == 701:
            return struct.unpack("!d", cell)[0]
        v = struct.unpack("!f", cell)[0]  # the shortest digits that mean this float
        return next((float(t) for t in ("%.*g" % (n, v) for n in range(6, 9)) if struct.pack("!f", float(t)) == cell), v)
    if oid == 1114:
        if binary:
            return time_text(struct.unpack("!q", cell)[0], kind)
        text = cell.decode().replace(" ", "T")
        if kind == "TIMESTAMP_NS":
            text += "000"
        return text + "Z"
    if oid == 1700:
        return numeric(cell) if binary else cell.decode()
    if oid == 2950:
        if not binary:
            return cell.decode()
        h = cell.hex()
        return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))
    if oid == 1022:
        return array(cell) if binary else array_text(cell.decode())
    if oid in LISTS and binary:
        return list_text(cell, oid)
    if oid == RECORD and binary:
        return record_text(cell)
    if oid == 17:  # JSON has base 64
        return base64.b64encode(cell if binary else bytes.fromhex(cell.decode()[2:])).decode()
    return cell.decode()


class OverPg:
    """Answers of one server. A statement that breaks the connection is an error; the next gets a new one."""

    def __init__(self, address, binary, user="admin", password="quest"):
        self.user, self.password = user, password
        self.address, self.binary, self.wire = address, binary, None

    def __call__(self, sql, want, timeout=60):
        try:
            if self.wire is None:
                self.wire = pg.Wire(self.address, user=self.user, password=self.password, timeout=timeout)
            w = self.wire
            start = [pg.parse("", sql), pg.bind("p", "", results=[1]), pg.describe("P", "p"), pg.FLUSH]
            w.send(*(start if self.binary else [pg.query(sql)]))
            return self.answer(w, want)
        except (pg.Closed, OSError) as e:
            self.wire = None
            return {"error": f"connection: {e}"}

    def answer(self, w, want):
        columns, rows, tag, error, asked = None, [], None, None, 0
        while True:
            kind, body = w.read()
            if kind == "E":
                error = pg.fields(body)
                if self.binary:
                    w.send(pg.SYNC)
            elif kind == "T":
                columns = self.description(body)
            elif kind == "D":
                rows.append(pg.cells(body))
            elif kind == "C":
                tag = body[:-1].decode()
                if self.binary:
                    w.send(pg.close("P", "p"), pg.SYNC)
            elif kind == "Z":
                break
            if self.binary and kind in "Tns" and error is None:
                w.send(pg.execute("p", PIECE if asked < 20 else 0), pg.FLUSH)
                asked += 1
        if error is not None:
            at = error.get("P")
            return {"error": error.get("M"), "position": int(at) - 1 if at else None}
        if columns is None:
            words = tag.split()
            return {"updated": int(words[-1])} if words[0] in ("UPDATE", "DELETE") else {}
        return self.shape(columns, rows, want)

    def description(self, body):
        count, at, out = struct.unpack_from("!H", body)[0], 2, []
        for _ in range(count):
            end = body.index(b"\0", at)
            _, _, oid, _, _, form = struct.unpack_from("!IhIhih", body, end + 1)
            out.append((body[at:end].decode(), oid, form))
            at = end + 19
        return out

    def shape(self, columns, rows, want):
        """Types are those of the recorded answer where the OID agrees with them."""
        kinds = [k for _, k in want.get("columns", [])]
        named = []
        for i, (name, oid, form) in enumerate(columns):
            fits = i < len(kinds) and (oid_of(kinds[i]) == oid or oid in MORE.get(kinds[i], ()))
            kind = kinds[i] if fits else f"oid {oid}"
            if form != (1 if self.binary else 0):
                return {"error": f"column {name} comes in format {form}"}
            named.append([name, kind])
        out = []
        for row in rows:
            if len(row) != len(columns):
                return {"error": f"{len(row)} cells in a row of {len(columns)} columns"}
            try:
                out.append([value(c, oid, self.binary, k) for c, (_, oid, _), (_, k) in zip(row, columns, named)])
            except (ValueError, KeyError, struct.error) as e:
                return {"error": f"bad value: {e}: {row}"}
        return {"columns": named, "timestamp": want.get("timestamp"), "rows": out}


def as_seen(want):
    """A recorded answer as far as the wire can tell: nanoseconds are cut, a LONG256 without value is no empty text."""
    kinds = [k for _, k in want.get("columns", [])]

    def seen(kind, v):
        if kind == "TIMESTAMP_NS" and v:
            return v[:-4] + "000Z"
        return None if kind == "LONG256" and v == "" else v

    if not {"TIMESTAMP_NS", "LONG256"} & set(kinds):
        return want
    return {**want, "rows": [list(map(seen, kinds, r)) for r in want["rows"]]}
