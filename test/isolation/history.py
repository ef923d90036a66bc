"""Histories: what clients asked, what they were told, and when.

A transaction has statements. A statement reads keys, writes keys, or does both; SAVEPOINT and ROLLBACK TO are statements, too. A key is a tuple
(kind, table, number): the value of a "list" is a tuple of all elements that were appended, that of a "register" the value that was written last,
None before the first. Each value is written to a key once, so that a value that is read tells who wrote it.

The elements of some lists carry what their statement had read of other tables (INSERT SELECT, UPDATE ... FROM): whoever reads such an element is told
what its writer saw, also where the writer itself was told nothing.

Times are ticks of one clock of the clients: one is taken before a request is sent, and one after its answer has come.
"""
import json
from dataclasses import dataclass, field

OK, FAIL, INFO = "ok", "fail", "info"  # committed; certainly rolled back; nobody knows
READ, WRITE, UPDATE, SAVEPOINT, BACK = "read", "write", "update", "savepoint", "back"
VIEW, REFRESH = "view", "refresh"  # a read through a materialized view: its keys are those of the base table
CLEAR, DROP, AWAY, THERE = "clear", "drop", "away", "there"  # rows go; rows and their table or column; the name alone; the name is there again
ABSENT = "absent"  # a statement was refused since a table or column was missing
DAYS = 4  # partitions of a table


def day_of(key):
    return key[2] % DAYS


@dataclass
class Statement:
    """`reads` are the values as they were told: {key: value}. An UPDATE tells what it left behind, so its own writes are in what it reads.
    `copies` is what elements that were read carry: {(key, element): {key: value}}. `of` names what the statement is about otherwise: [(table or view,
    day or None)]."""
    kind: str
    invoked: int
    completed: int | None = None
    reads: dict = field(default_factory=dict)
    writes: list = field(default_factory=list)
    copies: dict = field(default_factory=dict)
    of: list = field(default_factory=list)


@dataclass
class Transaction:
    """The commit happens between `commit_invoked` and `commit_completed`; None: nobody knows when it is over. `generation` numbers the server process
    that was asked, and is not kept in files."""
    process: int
    interface: str
    status: str = INFO
    statements: list = field(default_factory=list)
    commit_invoked: int = 0
    commit_completed: int | None = None
    number: int = -1
    generation: int = 0

    def __str__(self):
        parts = []
        for s in self.statements:
            parts += [f"{s.kind} {' '.join(map(str, k))} = {show(v)}" for k, v in s.reads.items()]
            parts += [f"{s.kind} {' '.join(map(str, k))} <- {v}" for k, v in s.writes]
            parts += [f"{s.kind} {name}{'' if day is None else f' day {day}'}" for name, day in s.of]
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
                                [[s.kind, s.invoked, s.completed, list(s.reads.items()), s.writes,
                                  [[*at, list(copy.items())] for at, copy in s.copies.items()], s.of] for s in t.statements]]) + "\n")


def load(path):
    history = []
    value = lambda v: tuple(v) if isinstance(v, list) else v
    values = lambda pairs: {tuple(k): value(v) for k, v in pairs}
    with open(path) as f:
        for line in f:
            process, interface, status, invoked, completed, statements = json.loads(line)
            history.append(Transaction(process, interface, status, [
                Statement(kind, a, b, values(reads), [(tuple(k), v) for k, v in writes],
                          {(tuple(k), v): values(copy) for k, v, copy in copies}, [tuple(one) for one in of])
                for kind, a, b, reads, writes, copies, of in statements], invoked, completed))
    return history
