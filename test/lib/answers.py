"""Answers of a server over REST, and whether two of them agree. cases.py says what an answer is."""
import base64, json, math, urllib.error, urllib.parse, urllib.request

from lib.cases import answer_lines, row_text


class OverHttp:
    """Asks one server. login: 'NAME:PASSWORD', where it wants one."""

    def __init__(self, url, login=None, timeout=120):
        self.url, self.timeout = url, timeout
        self.headers = {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()} if login else {}

    def __call__(self, sql, want=None):
        return ask(self.url, sql, self.timeout, self.headers)


def ask(url, sql, timeout=120, headers={}):
    request = urllib.request.Request(f"{url}/exec?{urllib.parse.urlencode({'query': sql})}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as r:
            body = json.loads(r.read())
    except urllib.error.HTTPError as e:
        raw = e.read()
        try:
            body = json.loads(raw)
        except ValueError:
            body = {"error": raw.decode("utf-8", "replace")}
        return {"error": body.get("error"), "position": body.get("position"), "status": e.code}
    if "columns" in body:
        return {"columns": [[c["name"], c["type"]] for c in body["columns"]], "timestamp": body.get("timestamp"), "rows": body["dataset"]}
    if "error" in body:
        return {"error": body["error"], "position": body.get("position")}
    return {"updated": body["updated"]} if "updated" in body else {}


def same_value(a, b):
    """Floating values agree within 1e-9 relative or 1e-12 absolute."""
    if isinstance(a, float) or isinstance(b, float):
        try:
            return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
        except TypeError:
            return False
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    return type(a) is type(b) and a == b


def difference(want, got, directives=frozenset()):
    """What differs, as a text; None where the answers agree. Of an error its position is compared, not the message and status."""
    if "skip" in directives:
        return None
    if "error" in want or "error" in got:
        return difference_of_errors(want, got)
    if "columns" in want:
        return difference_of_rows(want, got, directives) if "columns" in got else "expected a result set"
    if "columns" in got:
        return "expected no result set"
    if want.get("updated") != got.get("updated"):
        return f"updated {got.get('updated', 'without a count')}, want {want.get('updated', 'no count')}"
    return None


def difference_of_errors(want, got):
    if "error" not in got:
        return f"expected an error: {want['error']}"
    if "error" not in want:
        return f"error: {got['error']}"
    if (want.get("position") or 0) != (got.get("position") or 0):  # 0: of the whole statement; the PostgreSQL wire has none then
        return f"error position {got.get('position')}, want {want.get('position')}; {got['error']}"
    return None


def difference_of_rows(want, got, directives):
    if want["columns"] != got["columns"]:
        return f"columns\n    got  {head_text(got)}\n    want {head_text(want)}"
    if "columns-only" in directives:
        return None
    w, g = want["rows"], got["rows"]
    if "unordered" in directives:
        w, g = sorted(w, key=order_of_row), sorted(g, key=order_of_row)
    if len(w) != len(g):
        return f"{len(g)} rows, want {len(w)}" + "".join(f"\n    got  {row_text(row)}" for row in g[:2]) + "".join(f"\n    want {row_text(row)}" for row in w[:2])
    for i, (a, b) in enumerate(zip(g, w)):
        if not same_value(a, b):
            return f"row {i + 1}\n    got  {row_text(a)}\n    want {row_text(b)}"
    if want["timestamp"] != got["timestamp"]:
        return f"timestamp index {got['timestamp']}, want {want['timestamp']}"
    return None


def head_text(answer):
    return answer_lines({**answer, "rows": []})[0]


def order_of_row(row):
    return json.dumps([round(v, 9) if isinstance(v, float) else v for v in row])
