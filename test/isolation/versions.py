"""What reads tell of each key: who wrote what was read, in which order the versions of a key came, and what may not be seen at all.

The versions of a list are the prefixes of its longest read. Those of a register are ordered as far as time orders the operations that wrote or
read them, since commits take effect between request and answer and statements see all that was committed before them. Lists of tables that are
emptied have their order from clears.py.
"""
import collections

from clears import Clears
from graph import Graph, before_edges
from history import BACK, FAIL, INFO, SAVEPOINT, UPDATE, VIEW, show


class Writer:
    """Who wrote a value, and whether it is what the transaction leaves behind."""
    __slots__ = ("txn", "statement", "undone", "last")

    def __init__(self, txn, statement):
        self.txn, self.statement, self.undone, self.last = txn, statement, False, False


class Read:
    """What a statement saw of a key beside what its own transaction had written before."""
    __slots__ = ("txn", "statement", "key", "value", "known")

    def __init__(self, txn, statement, key, value):
        self.txn, self.statement, self.key, self.value, self.known = txn, statement, key, value, True


class Versions:
    """`found(name, text)` is called for each anomaly. Afterwards `reads` holds what was read of others by key, `final` what each transaction leaves
    behind, `committed` who did commit; pairs() and reads_to() give the dependencies."""

    def __init__(self, history, found):
        self.history, self.found = history, found
        self.writers, self.final = {}, [None] * len(history)
        self.reads = collections.defaultdict(list)
        self.longest, self.missing, self.after = {}, collections.defaultdict(list), {}
        for t in history:
            self.note_writes(t)
        self.carried = collections.defaultdict(dict)
        self.carry()
        for t in history:
            self.follow(t)
        self.committed = {t.number for t in history if t.status not in (FAIL, INFO)}
        for reads in self.reads.values():
            for r in reads:
                self.look(r)
        self.clears = Clears(self)
        for key in sorted(set(self.reads) | {k for final in self.final for k in final}):
            if key[0] != "list":
                self.order_register(key)
            elif key[1] in self.clears.tables:
                self.clears.order(key)
            else:
                self.order_list(key)

    # ------------------------------------------------------------- one transaction
    def note_writes(self, t):
        for s in t.statements:
            for key, value in s.writes:
                if (key, value) in self.writers:
                    raise ValueError(f"the history writes {value} to {key} twice")
                self.writers[key, value] = Writer(t, s)

    def carry(self):
        """What elements carry was read by the statements that wrote them."""
        seen = {}
        for t in self.history:
            for s in t.statements:
                for at, copy in s.copies.items():
                    if seen.setdefault(at, copy) != copy:
                        self.found("changed-copy", f"{t} reads {at[1]} of {at[0]} with {show_copy(copy)}, another with {show_copy(seen[at])}")
                    elif at in self.writers:
                        self.carried[id(self.writers[at].statement)].update(copy)

    def follow(self, t):
        """What the transaction had written when it read, and what it leaves behind."""
        own, marks = {}, []
        for s in t.statements:
            if s.kind == SAVEPOINT:
                marks.append({k: list(v) for k, v in own.items()})
            elif s.kind == BACK:
                own = {k: list(v) for k, v in marks[-1].items()}
            for key, value in s.writes:
                own.setdefault(key, []).append(value)
            for key, value in (*s.reads.items(), *self.carried.get(id(s), {}).items()):
                self.note_read(t, s, key, value, None if s.kind == VIEW else own.get(key))
        for s in t.statements:
            for key, value in s.writes:
                writer, kept = self.writers[key, value], own.get(key, [])
                writer.undone, writer.last = value not in kept, kept[-1:] == [value]
        self.final[t.number] = own

    def note_read(self, t, s, key, value, own):
        if key[0] == "list":
            mine = tuple(own or ())
            if mine and value[-len(mine):] != mine:
                self.found("own-writes", f"{t} wrote {show(mine)} to {key} and reads {show(value)}")
                return
            self.reads[key].append(Read(t, s, key, value[:len(value) - len(mine)]))
        elif own is None:
            self.reads[key].append(Read(t, s, key, value))
        elif value != own[-1]:
            self.found("own-writes", f"{t} wrote {own[-1]} to {key} and reads {value}")

    # ------------------------------------------------------------------- one read
    def look(self, r):
        """Only what was committed, and only as it was committed, may be read."""
        several = isinstance(r.value, tuple)
        values = r.value if several else () if r.value is None else (r.value,)
        if len(set(values)) != len(values) or (several and r.key[0] == "register"):
            self.found("duplicate", f"{r.txn} reads {r.key} = {show(r.value)}")
            r.known = False
        for value in values:
            w = self.writers.get((r.key, value))
            if w is None:
                self.found("unknown-value", f"{r.txn} reads {value} in {r.key}, which nobody wrote")
            elif w.undone or w.txn.status == FAIL:
                self.found("G1a", f"{r.txn} reads {value} in {r.key}, which was rolled back by {w.txn}")
            elif w.txn is r.txn:
                self.found("own-writes", f"{r.txn} reads {value} in {r.key} before it has written it")
            else:
                self.committed.add(w.txn.number)
                continue
            r.known = False
        last = self.writers.get((r.key, values[-1])) if values else None
        if r.known and last is not None and not last.last:
            self.found("G1b", f"{r.txn} reads {r.key} = {show(r.value)}, between two writes of {last.txn}")

    # ------------------------------------------------------------- order of versions
    def order_list(self, key):
        reads = [r for r in self.reads[key] if r.known]
        longest = max((r.value for r in reads), key=len, default=())
        for r in reads:
            if r.value != longest[:len(r.value)]:
                self.found("incompatible-order", f"{key} is {show(longest)} for some, and {r.txn} reads {show(r.value)}")
                r.known = False
        self.longest[key] = longest
        there, latest = set(longest), max((r.statement.invoked for r in reads if r.statement.kind != VIEW), default=-1)
        for t in self.writers_of(key):
            lacks = [v for v in self.final[t.number][key] if v not in there]
            if lacks and t.status not in (FAIL, INFO) and t.commit_completed < latest:
                self.found("lost-write", f"{lacks} of {t} is not in {key} = {show(longest)}, read later")
            elif lacks:
                self.missing[key].append(t.number)
        self.lost_updates(key, reads)

    def lost_updates(self, key, reads, version=lambda r: r.value):
        """Two UPDATE statements that began with the same version, and whose writes were committed."""
        bases = collections.defaultdict(set)
        for r in reads:
            if r.statement.kind == UPDATE and r.txn.number in self.committed and any(k == key and not self.writers[k, v].undone for k, v in r.statement.writes):
                bases[version(r)].add(r.txn.number)
        for value, numbers in bases.items():
            if len(numbers) > 1:
                self.found("lost-update", f"{' and '.join(str(self.history[n]) for n in sorted(numbers))} change the same version of {key}, {show(value)}")

    def writers_of(self, key):
        if not hasattr(self, "by_key"):
            self.by_key = collections.defaultdict(list)
            for t in self.history:
                for k in self.final[t.number]:
                    self.by_key[k].append(t)
        return self.by_key[key]

    def order_register(self, key):
        """Edges between versions: (a, b) where a was written or read before an operation of b began."""
        operations = [(-2, -1, None)]
        for t in self.writers_of(key):
            if t.number in self.committed:
                operations.append((t.commit_invoked, t.commit_completed, self.final[t.number][key][-1]))
        reads = [r for r in self.reads[key] if r.known]
        operations += [(r.statement.invoked, r.statement.completed, r.value) for r in reads if r.statement.kind != VIEW]
        edges = {(a, b) for a, b in before_edges(operations) if a != b}
        names = sorted({v for _, _, v in operations} | {r.value for r in reads}, key=lambda v: (v is not None, v))
        number = {v: i for i, v in enumerate(names)}
        graph = Graph(len(names))
        for a, b in edges:
            graph.edge(number[a], number[b], "before")
        knots = graph.components()
        for members in knots:
            values = [names[i] for i in sorted(members)]
            who = [str(self.writers[key, v].txn) for v in values if v is not None] + [str(r.txn) for r in reads if r.value in values]
            self.found("cyclic-versions", f"{key} is {values} in turn, but each was written once: {' | '.join(who[:6])}")
        self.after[key] = collections.defaultdict(list)
        for a, b in () if knots else edges:
            self.after[key][a].append(b)

    # ------------------------------------------------------------------ dependencies
    def writer(self, key, value):
        return self.writers[key, value].txn.number

    def pairs(self):
        """(a, b) of transactions: b wrote the version behind one of a."""
        for key, longest in self.longest.items():
            for a, b in zip(longest, longest[1:]):
                yield self.writer(key, a), self.writer(key, b)
        for key, after in self.after.items():
            for a, following in after.items():
                for b in following if a is not None else ():
                    yield self.writer(key, a), self.writer(key, b)
        yield from self.clears.pairs()

    def reads_to(self):
        """(read, who wrote what it saw or None, [who wrote what came behind it])"""
        for key, reads in self.reads.items():
            for r in reads:
                if r.known:
                    yield (r, *self.around(r))

    def around(self, r):
        if r.key[0] != "list":
            return self.around_register(r)
        return self.clears.around(r) if r.key[1] in self.clears.tables else self.around_list(r)

    def around_list(self, r):
        n, longest = len(r.value), self.longest[r.key]
        wrote = self.writer(r.key, longest[n - 1]) if n else None
        if n < len(longest):
            return wrote, [self.writer(r.key, longest[n])]
        return wrote, [t for t in self.missing[r.key] if t in self.committed]

    def around_register(self, r):
        wrote = None if r.value is None else self.writer(r.key, r.value)
        return wrote, [self.writer(r.key, v) for v in self.after[r.key].get(r.value, ())]


def show_copy(copy):
    return ", ".join(f"{' '.join(map(str, key))} = {show(value)}" for key, value in copy.items())
