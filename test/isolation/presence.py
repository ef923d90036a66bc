"""Whether tables and columns are there when they should: statements that were refused for want of a name, and statements that found one that was gone."""
import collections

from history import ABSENT, AWAY, DROP, FAIL, INFO, OK, THERE


class Gap:
    """A name goes between `going` and `gone`, and is there again between `coming` and `there`; None: nobody knows, or it does not end."""
    __slots__ = ("kind", "going", "gone", "coming", "there")

    def __init__(self, s, status):
        self.kind, self.going, self.gone, self.coming, self.there = s.kind, s.invoked, s.completed if status == OK else None, None, None

    def allows_absence(self, s):
        return s.completed > self.going and (self.there is None or s.invoked < self.there)

    def holds(self, invoked, completed, is_commit):
        """Nothing that names it may succeed. What a block wrote before finds its column by whatever name, but not when it is dropped."""
        if is_commit and self.kind != DROP:
            return False
        return self.gone is not None and self.gone < invoked and (self.coming is None or completed < self.coming)


def gaps_of(history):
    """{table: [Gap]}, of what one client did to it, one after the other."""
    gaps = collections.defaultdict(list)
    steps = [(s.invoked, s, t.status) for t in history for s in t.statements if s.kind in (DROP, AWAY, THERE)]
    for _, s, status in sorted(steps, key=lambda step: step[0]):
        for name, _ in s.of:
            if s.kind != THERE and status != FAIL:
                gaps[name].append(Gap(s, status))
            elif s.kind == THERE and gaps[name] and gaps[name][-1].there is None:
                if gaps[name][-1].coming is None:
                    gaps[name][-1].coming = s.invoked
                if status == OK:
                    gaps[name][-1].there = s.completed
    return gaps


def spans_of(t, final):
    """(table, invoked, completed, is it the commit) of all that was done and answered. `final` is what the transaction left behind."""
    for s in t.statements:
        if s.completed is not None and s.kind != ABSENT:
            for table in {k[1] for k in s.reads} | {k[1] for k, _ in s.writes}:
                yield table, s.invoked, s.completed, False
    for table in {k[1] for k, values in final.items() if values} if t.status == OK else ():
        yield table, t.commit_invoked, t.commit_completed, True


def look_for_names(history, final, found):
    gaps = gaps_of(history)
    for t in history:
        for s in t.statements:
            for name, _ in s.of if s.kind == ABSENT else ():
                if not any(gap.allows_absence(s) for gap in gaps[name]):
                    found("missing-name", f"{t} misses {name}")
        for table, *span in spans_of(t, final[t.number]) if t.status != INFO else ():
            if any(gap.holds(*span) for gap in gaps.get(table, ())):
                found("ghost-name", f"{t} found {table} while it was gone")
