"""The order of versions of lists in tables that are emptied: TRUNCATE, DROP PARTITION, DROP TABLE and DROP COLUMN start each list anew.

All clears of a table are asked for by one client, one after the other, so their order is known: behind the clear number i comes epoch i. All reads that
begin with the same element are of one *segment*, whose longest read has the others as beginnings. In which epoch a segment was follows from time: an
element that was committed before a clear began was in an earlier epoch, one whose commit began when a clear was over in that epoch or a later one, and
so do the reads. A segment that would be before and behind a clear was brought back from the dead.

A clear that a kill interrupted did not happen if a segment lived on behind it. It did if an element is gone that nothing else can have taken: only
then others depend on it. Else it explains nothing, and no dependency is made of it.
"""
import collections
from bisect import bisect_left, bisect_right

from history import CLEAR, DROP, FAIL, INFO, OK, VIEW, day_of, show


class Clear:
    """`txn` takes the rows of the whole table away, or of one day."""
    __slots__ = ("txn", "day", "invoked", "completed", "sure")

    def __init__(self, txn, day):
        self.sure = txn.status != INFO
        self.txn, self.day, self.invoked, self.completed = txn, day, txn.commit_invoked, txn.commit_completed


class Segment:
    """In the epochs lo..hi, which are one where time tells."""
    __slots__ = ("longest", "lo", "hi")

    def __init__(self, longest):
        self.longest, self.lo, self.hi = longest, 0, 0


class Line:
    """What is known of one key."""

    def __init__(self, clears):
        self.clears = clears
        self.began = [c.invoked for c in clears]
        self.ended = [float("inf") if c.completed is None else c.completed for c in clears]
        self.segments, self.of_element = {}, {}
        self.unseen = []  # (transaction, lo, hi) of elements that were committed and never read

    def before(self, time):
        """The last epoch in which something may have been that was over at `time`."""
        return len(self.began) if time is None else bisect_right(self.began, time)

    def behind(self, time):
        """The first epoch in which something may have been that began at `time`."""
        return bisect_left(self.ended, time)

    def next(self, epoch):
        """The clear behind an epoch as a list of at most one transaction."""
        return [c.txn.number for c in self.clears[epoch:] if c.sure][:1]

    def last(self, epoch):
        """The one in front of it."""
        return [c.txn.number for c in self.clears[:epoch] if c.sure][-1:]


class Clears:
    def __init__(self, versions):
        self.v, self.tables, self.lines = versions, collections.defaultdict(list), {}
        for t in versions.history:
            for s in t.statements if t.status != FAIL else ():
                for table, day in s.of if s.kind in (CLEAR, DROP) else ():
                    self.tables[table].append(Clear(t, day))
        for table, clears in self.tables.items():
            clears.sort(key=lambda c: c.invoked)
            for a, b in zip(clears, clears[1:]):
                if a.txn is not b.txn and (a.completed is None or a.completed > b.invoked):
                    raise ValueError(f"two clears of {table} at once")
        self.refute()
        self.confirm()
        versions.committed |= {c.txn.number for clears in self.tables.values() for c in clears if c.sure}

    def of_key(self, key):
        return [c for c in self.tables[key[1]] if c.day is None or c.day == day_of(key)]

    def refute(self):
        """Leaves out the clears of unknown outcome that did not happen: what was committed before them was read when they were over."""
        for key, reads in self.v.reads.items():
            doubtful = [c for c in self.of_key(key) if c.txn.status == INFO and c.completed is not None] if key[1] in self.tables else ()
            for c in doubtful:
                if any(r.known and self.outlives(key, r, c) for r in reads):
                    for clears in self.tables.values():
                        clears[:] = [other for other in clears if other.txn is not c.txn]

    def outlives(self, key, r, clear):
        """Has the read an element from before the clear, and was it, or another element, behind it?"""
        writers = [self.v.writers[key, v].txn for v in r.value]
        old = any(t.commit_completed is not None and t.commit_completed < clear.invoked for t in writers)
        late = r.statement.kind != VIEW and r.statement.invoked > clear.completed
        return old and (late or any(t.commit_invoked > clear.completed for t in writers))

    def confirm(self):
        """An element that was there before the clear began is not there when it is over, and no other clear was near."""
        sure = set()
        for key, reads in self.v.reads.items():
            clears = self.of_key(key) if key[1] in self.tables else ()
            for before, c, behind in zip([None, *clears], clears, [*clears[1:], None]):
                if c.txn.status != INFO or c.completed is None or (before is not None and before.completed is None):
                    continue
                began, ends = -1 if before is None else before.completed, float("inf") if behind is None else behind.invoked
                old = {v for t in self.v.writers_of(key) if t.status == OK and began < t.commit_invoked and t.commit_completed < c.invoked for v in self.v.final[t.number][key]}
                late = [r for r in reads if r.known and r.statement.kind != VIEW and r.statement.completed is not None
                        and c.completed < r.statement.invoked and r.statement.completed < ends]
                if any(not old.issubset(r.value) for r in late):
                    sure.add(c.txn.number)
        for clears in self.tables.values():
            for c in clears:
                c.sure |= c.txn.number in sure

    # ---------------------------------------------------------------------- one key
    def order(self, key):
        self.lines[key] = line = Line(self.of_key(key))
        reads = [r for r in self.v.reads[key] if r.known]
        for r in reads:
            if r.value and len(r.value) > len(line.segments.get(r.value[0], Segment(())).longest):
                line.segments[r.value[0]] = Segment(r.value)
        self.agree(key, line, reads)
        for first, s in line.segments.items():
            s.lo, s.hi = self.epochs(key, line, s, [r for r in reads if r.known and r.value[:1] == (first,)])
            if s.lo > s.hi:
                self.v.found("resurrected", f"{key} is {show(s.longest)} when {line.clears[s.hi].txn} was over, which took it")
                self.forget(reads, first)
        line.segments = {first: s for first, s in line.segments.items() if s.lo <= s.hi}
        self.one_for_each_epoch(key, line, reads)
        self.look_for_unseen(key, line, reads)
        self.lost_updates(key, line, reads)

    @staticmethod
    def forget(reads, first):
        for r in reads:
            if r.value[:1] == (first,):
                r.known = False

    def agree(self, key, line, reads):
        for s in line.segments.values():
            for v in s.longest:
                if line.of_element.setdefault(v, s) is not s:
                    self.v.found("incompatible-order", f"{key} is {show(s.longest)} for some, and {show(line.of_element[v].longest)} for others")
        for r in reads:
            longest = line.segments[r.value[0]].longest if r.value else ()
            if r.value != longest[:len(r.value)]:
                self.v.found("incompatible-order", f"{key} is {show(longest)} for some, and {r.txn} reads {show(r.value)}")
                r.known = False

    def epochs(self, key, line, segment, reads):
        lo, hi = 0, len(line.clears)
        for v in segment.longest:
            t = self.v.writers[key, v].txn
            lo, hi = max(lo, line.behind(t.commit_invoked)), min(hi, line.before(t.commit_completed))
        for r in reads:
            hi = min(hi, line.before(r.statement.completed))
            if r.statement.kind != VIEW:  # a view may be as old as it likes
                lo = max(lo, line.behind(r.statement.invoked))
        return lo, hi

    def one_for_each_epoch(self, key, line, reads):
        by_epoch = {}
        for first, s in list(line.segments.items()):
            if s.lo == s.hi and by_epoch.setdefault(s.lo, s) is not s:
                self.v.found("incompatible-order", f"{key} is {show(by_epoch[s.lo].longest)} for some and {show(s.longest)} for others, and nothing emptied it between")
                self.forget(reads, first)
                del line.segments[first]
        line.by_epoch = {s.lo: s for s in line.segments.values() if s.lo == s.hi}

    def look_for_unseen(self, key, line, reads):
        """An element that no read shows was taken by a clear, came behind the longest read of its epoch, or is lost."""
        reads = [r for r in reads if r.statement.kind != VIEW and r.statement.completed is not None]
        for t in self.v.writers_of(key):
            lacks = [v for v in self.v.final[t.number][key] if v not in line.of_element]
            if not lacks or t.number not in self.v.committed:
                continue
            lo, hi = line.behind(t.commit_invoked), line.before(t.commit_completed)
            taken = line.began[lo] if lo < len(line.began) else float("inf")
            known = t.status not in (FAIL, INFO)
            if known and any(r.statement.invoked > t.commit_completed and r.statement.completed < taken for r in reads):
                self.v.found("lost-write", f"{lacks} of {t} is not in {key}, which was read later, and which nothing emptied between")
            else:
                line.unseen.append((t.number, lo, hi))

    def lost_updates(self, key, line, reads):
        """As those of other lists, but each segment begins with the same version, which is empty. What was written and never read is in none."""
        segment = lambda r: next((line.of_element.get(v) for k, v in r.statement.writes if k == key), None)
        self.v.lost_updates(key, reads, lambda r: (r.value, id(segment(r) or r)))

    # ----------------------------------------------------------------- dependencies
    def pairs(self):
        for key, line in self.lines.items():
            sure = [c.txn.number for c in line.clears if c.sure]
            yield from zip(sure, sure[1:])
            for s in line.segments.values():
                chain = [self.v.writer(key, v) for v in s.longest]
                chain = line.last(s.lo) + chain + line.next(s.hi)
                yield from zip(chain, chain[1:])

    def around(self, r):
        line = self.lines[r.key]
        if r.value:
            s, n = line.segments[r.value[0]], len(r.value)
            wrote = self.v.writer(r.key, r.value[-1])
            if n < len(s.longest):
                return wrote, [self.v.writer(r.key, s.longest[n])]
            return wrote, line.next(s.hi) + (self.unseen_of(line, s.lo) if s.lo == s.hi else [])
        epoch = self.epoch_of_empty(line, r)
        if epoch is None:
            return None, []
        wrote = next(iter(line.last(epoch)), None)
        first = [self.v.writer(r.key, line.by_epoch[epoch].longest[0])] if epoch in line.by_epoch else []
        return wrote, first or line.next(epoch) + self.unseen_of(line, epoch)

    @staticmethod
    def unseen_of(line, epoch):
        return [t for t, lo, hi in line.unseen if lo == hi == epoch]

    def epoch_of_empty(self, line, r):
        """An empty list may be from several epochs; not from one that had an element when the statement began."""
        if r.statement.kind == VIEW:
            return None
        lo, hi = line.behind(r.statement.invoked), line.before(r.statement.completed)
        had = lambda t: (done := self.v.history[t].commit_completed) is not None and done < r.statement.invoked
        some = lambda epoch: [self.v.writer(r.key, line.by_epoch[epoch].longest[0])] if epoch in line.by_epoch else self.unseen_of(line, epoch)
        may = [e for e in range(lo, hi + 1) if not any(had(t) for t in some(e))]
        if not may and lo < hi:
            self.v.found("lost-write", f"{r.txn} reads nothing in {r.key}, which had elements before and behind the clear")
        return lo if lo == hi else may[0] if len(may) == 1 else None
