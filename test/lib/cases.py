"""Files of SQL cases (*.test): a statement, and below it what the server must answer. README.md describes the format.

read(path) gives the cases of a file; File keeps every line, so that an answer is replaced without touching another byte.
An answer is a dict, as answers.ask gives it:

    {"columns": [[name, type], ...], "timestamp": index or -1, "rows": [[value, ...], ...]}
    {"error": message, "position": offset or None, "status": HTTP status}
    {"updated": count}      an UPDATE or DELETE
    {}                      any other statement without rows
"""
import dataclasses, json, pathlib, re

ANSWER = "---- "
ERROR = re.compile(r"error(?: (\d{3}))?(?: at (-?\d+))?: ?(.*)", re.S)
UPDATED = re.compile(r"updated (\d+)")
DIRECTIVE = re.compile(r"--\s*@(unordered|columns-only|skip)\b")
STATUS = 400  # of an error that names none
decoder = json.JSONDecoder()


@dataclasses.dataclass
class Case:
    sql: str
    line: int  # of the first line of the statement, from 1
    end: int  # of its last line
    directives: frozenset
    answer: dict
    answer_end: int  # the last line of the answer; `end` where it has none


# ---------------------------------------------------------------- values
def quoted(text):
    """A JSON string whose control and formatting characters are all escaped."""
    out = json.dumps(text, ensure_ascii=False)
    escaped = (ch if ch.isprintable() else "".join(f"\\u{unit:04x}" for unit in memoryview(ch.encode("utf-16-le", "surrogatepass")).cast("H")) for ch in out)
    return "".join(escaped)


def is_bare(text):
    """Whether a string without quotes is read as this string."""
    return text != "" and text == text.strip() and text.isprintable() and text[0] not in "\"[{" and "|" not in text


def looks_like_another_value(text):
    if text.lower() in ("null", "true", "false"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def value_text(value):
    if isinstance(value, str):
        return value if is_bare(value) and not looks_like_another_value(value) else quoted(value)
    if isinstance(value, list):
        return "[" + ", ".join(quoted(v) if isinstance(v, str) else value_text(v) for v in value) + "]"
    return json.dumps(value)


def value_of(text):
    if looks_like_another_value(text) or text[0] in "\"[{":
        return json.loads(text)
    return text


def row_text(row):
    return " | ".join(map(value_text, row))


def name_text(name):
    return name if is_bare(name) and not ERROR.match(name) else quoted(name)


def cells(line):
    """The cells of a line, separated by ' | '; quoted texts and arrays may contain that."""
    out, at = [], 0
    while True:
        end = at
        while line[end:end + 1] in ('"', "["):  # a quoted name is followed by its type
            end = decoder.raw_decode(line, end)[1]
        end = line.find(" | ", end)
        if end < 0:
            return [*out, line[at:]]
        out.append(line[at:end])
        at = end + 3


# ---------------------------------------------------------------- answers
def answer_lines(answer):
    """The lines below a statement; none for a statement that is only done."""
    if "error" in answer:
        message = answer["error"] or ""
        status = f" {answer['status']}" if answer.get("status", STATUS) != STATUS else ""
        place = f" at {answer['position']}" if answer.get("position") is not None else ""
        return [f"{ANSWER}error{status}{place}: {message if is_bare_message(message) else quoted(message)}"]
    if "columns" in answer:
        head = [f"{name_text(name)} {kind}{'*' if i == answer['timestamp'] else ''}" for i, (name, kind) in enumerate(answer["columns"])]
        return [ANSWER + " | ".join(head), *map(row_text, answer["rows"])]
    return [f"{ANSWER}updated {answer['updated']}"] if "updated" in answer else []


def is_bare_message(text):
    return text != "" and text == text.strip() and text.isprintable() and text[0] != '"'


def answer_of(lines):
    head = lines[0][len(ANSWER):]
    error, updated = ERROR.fullmatch(head), UPDATED.fullmatch(head)
    if error or updated:
        if len(lines) > 1:
            raise ValueError("more than one line")
        return error_of(error) if error else {"updated": int(updated[1])}
    columns, timestamp = [], -1
    for i, cell in enumerate(cells(head)):
        name, _, kind = cell.rpartition(" ")
        if not name or not kind:
            raise ValueError(f"{cell!r} is no name and type")
        if kind.endswith("*"):
            kind, timestamp = kind[:-1], i
        columns.append([json.loads(name) if name[0] == '"' else name, kind])
    rows = [list(map(value_of, cells(line))) for line in lines[1:]]
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row of {len(row)} values below {len(columns)} columns: {row}")
    return {"columns": columns, "timestamp": timestamp, "rows": rows}


def error_of(match):
    status, position, message = match.groups()
    return {"error": json.loads(message) if message[:1] == '"' else message,
            "position": None if position is None else int(position), "status": int(status or STATUS)}


# ---------------------------------------------------------------- files
class File:
    """A file of cases, line by line."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        with open(self.path, encoding="utf-8", newline="") as f:
            self.lines = f.read().split("\n")
        self.cases = list(self.scan())

    def scan(self):
        lines, at, directives = self.lines, 0, set()
        while at < len(lines):
            stripped = lines[at].strip()
            if lines[at].startswith(ANSWER):
                raise self.wrong(at + 1, "an answer without a statement")
            if not stripped or stripped.startswith("--"):
                found = DIRECTIVE.match(stripped)
                directives |= {found[1]} if found else set()
                at += 1
                continue
            end = at
            while not lines[end].strip().endswith(";"):
                end += 1
                if end == len(lines) or lines[end].startswith(ANSWER):
                    raise self.wrong(at + 1, "the statement does not end in ';'")
            sql = "\n".join(lines[at:end + 1]).strip()[:-1].rstrip()
            last = self.end_of_answer(end)
            try:
                answer = answer_of(lines[end + 1:last + 1]) if last > end else {}
            except ValueError as e:
                raise self.wrong(end + 2, str(e))
            yield Case(sql, at + 1, end + 1, frozenset(directives), answer, last + 1)
            at, directives = last + 1, set()

    def end_of_answer(self, end):
        """The answer begins in the line after the statement's last and ends before the first blank line."""
        if end + 1 == len(self.lines) or not self.lines[end + 1].startswith(ANSWER):
            return end
        end += 1
        while end + 1 < len(self.lines) and self.lines[end + 1] != "":
            end += 1
        return end

    def wrong(self, line, why):
        return ValueError(f"{self.path}:{line}: {why}")

    def replace(self, changes):
        """Writes the file with other answers, changes: [(case, answer)] in the order of the file. No other line changes."""
        out, at = [], 0
        for case, answer in changes:
            out += self.lines[at:case.end] + answer_lines(answer)
            at = case.answer_end
            if answer_lines(answer) and self.lines[at:at + 1] != [""]:
                out.append("")
        with open(self.path, "w", encoding="utf-8", newline="") as f:
            f.write("\n".join(out + self.lines[at:]))


def read(path):
    return File(path).cases
