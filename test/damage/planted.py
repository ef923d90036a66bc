"""The self-test: cells whose comparison is told a lie, or whose server does what none may do, are violations, under each action."""

import cells, kinds, known as k, stored


def of(name):
    return next(kind for kind in kinds.KINDS if kind.name == name)


def another_value(q, answer):
    """In one row of one day."""
    return [[*answer[0][:-1], answer[0][-1] + 1], *answer[1:]] if q.of in ("t1", "w") and q.days == {k.NATIVE_DAY} else answer


def a_row_less(q, answer):
    return answer[1:] if q.of in ("t1", "w") and q.days == {k.NATIVE_DAY} else answer


class OfAnotherTable(cells.Cell):
    """The errors of the struck table are those of one that is not struck."""

    def strike(self):
        done = super().strike()
        for w in self.wrong:
            w.of = {"t0": "t1", "t1": "t2", "t2": "t0"}[w.of]
        return done


class OfAnotherDay(cells.Cell):
    def strike(self):
        done = super().strike()
        for w in self.wrong:
            w.days = {k.HEAD_DAY}
        return done


class Ends(cells.Cell):
    """The process ends behind the damage."""

    def strike(self):
        done = super().strike()
        self.s.process.kill()
        self.s.process.wait()
        return done


class Harms(cells.Cell):
    """A start that is refused has changed another file."""

    def start(self):
        started = super().start()
        if not started:
            segment = sorted(self.root.glob("db/wal/0*.wal"))[-1]
            segment.write_bytes(segment.read_bytes()[:70000])
        return started


def cases(dbs):
    """(what is planted, a cell)"""
    return list(each_case(dbs))


def each_case(dbs):
    for action in cells.ACTIONS:
        for lie in (another_value, a_row_less):
            yield f"{lie.__name__}, {action}", cells.Cell(dbs, of("lock"), "deleted", "before", action, 1, lie=lie)
        yield f"of another table, {action}", OfAnotherTable(dbs, of("native part"), "deleted", "stopped", action, 1)
        yield f"of another day, {action}", OfAnotherDay(dbs, of("native part"), "deleted", "stopped", action, 1)
        yield f"the server ends, {action}", Ends(dbs, of("lock"), "deleted", "before", action, 1)
    for name in ("lock of a backup", "tmp of the archive"):
        yield f"another value, restored beside a damaged {name}", stored.Stored(dbs, of(name), "deleted", "stopped", "read", 1, lie=another_value)
    yield "a start that is refused harms", Harms(dbs, of("finished segment of the log"), "deleted", "stopped", "read", 1)


def is_found(dbs, i):
    """(what the nth case plants, whether that is found)"""
    what, cell = cases(dbs)[i]
    try:
        cell.run()
    except cells.Violation:
        return what, True
    return what, False
