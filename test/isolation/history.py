"""Histories: what clients asked, what they were told, and when.

A transaction has statements. A statement reads keys, writes keys, or does both; SAVEPOINT and ROLLBACK TO are statements, too. A key is a tuple
(kind, table, number): the value of a "list" is a tuple of all elements that were appended, that of a "register" the value that was written last,
None before the first. Each value is written to a key once, so that a value that is read tells who wrote it.

Times are ticks of one clock of the clients: one is taken before a request is sent, and one after its answer has come.
"""
import json
from dataclasses import dataclass, field

OK, FAIL, INFO = "ok", "fail", "info"  # committed; certainly rolled back; nobody knows
READ, WRITE, UPDATE, SAVEPOINT, BACK = "read", "write", "update", "savepoint", "back"


@dataclass
class Statement:
    """`reads` are the values as they were told: {key: value}. An UPDATE tells what it left behind, so its own writes are in what it reads."""
    kind: str
    invoked: int
    completed: int | None = None
    reads: dict = field(default_factory=dict)
    writes: list = field(default_factory=list)


@dataclass
class Transaction:
    """The commit happens between `commit_invoked` and `commit_completed`; None: nobody knows when it is over."""
    process: int
    interface: str
    status: str = INFO
    statements: list = field(default_factory=list)
    commit_invoked: int = 0
    commit_completed: int | None = None
    number: int = -1

    def __str__(self):
        parts = []
        for s in self.statements:
            parts += [f"{s.kind} {' '.join(map(str, k))} = {show(v)}" for k, v in s.reads.items()]
            parts += [f"{s.kind} {' '.join(map(str, k))} <- {v}" for k, v in s.writes]
            if s.kind in (SAVEPOINT, BACK):
                parts.append(s.kind)
        return f"T{self.number} [{self.status}, {self.interface}, process {self.process}, commit {self.commit_invoked}..{self.commit_completed}: {'; '.join(parts)}]"


def show(value):
    if isinstance(value, tuple) and len(value) > 8:
        return f"(... {' '.join(map(str, value[-8:]))})"
    return f"({' '.join(map(str, value))})" if isinstance(value, tuple) else str(value)


def save(path, history):
    with open(path, "w") as f:
        for t in history:
            f.write(json.dumps([t.process, t.interface, t.status, t.commit_invoked, t.commit_completed,
                                [[s.kind, s.invoked, s.completed, list(s.reads.items()), s.writes] for s in t.statements]]) + "\n")


def load(path):
    history = []
    value = lambda v: tuple(v) if isinstance(v, list) else v
    with open(path) as f:
        for line in f:
            process, interface, status, invoked, completed, statements = json.loads(line)
            history.append(Transaction(process, interface, status, [
                Statement(kind, a, b, {tuple(k): value(v) for k, v in reads}, [(tuple(k), v) for k, v in writes])
                for kind, a, b, reads, writes in statements], invoked, completed))
    return history
