"""Histories with one planted violation each, and clean ones that come close: the checker must name the first and pass the second."""
from checker import ALLOWED, FORBIDDEN, check
from history import ABSENT, AWAY, BACK, CLEAR, DROP, FAIL, INFO, OK, READ, REFRESH, SAVEPOINT, THERE, UPDATE, VIEW, WRITE, Statement, Transaction

A, B, C = ("list", "a", 1), ("list", "b", 1), ("list", "c", 1)
D, E = ("list", "d", 1), ("list", "d", 2)  # of one table, in two partitions
X, Y = ("register", "x", 1), ("register", "y", 1)
PLANTED = []  # (name, {forbidden anomalies}, {allowed ones}, history)


class Script:
    """A history in the order of its events: begin, statements, end. One tick for each request and each answer."""

    def __init__(self):
        self.history, self.tick, self.processes = [], 0, 0

    def now(self):
        self.tick += 1
        return self.tick

    def begin(self, process=None):
        self.processes += 1
        t = Transaction(process or 100 + self.processes, "planted")
        self.history.append(t)
        return t

    def do(self, t, kind, reads=None, writes=(), copies=None, of=()):
        t.statements.append(Statement(kind, self.now(), self.now(), reads or {}, list(writes), copies or {}, list(of)))

    def read(self, t, **of):
        self.do(t, READ, values(of))

    def write(self, t, *writes):
        self.do(t, WRITE, writes=writes)

    def end(self, t, status=OK):
        t.status, t.commit_invoked = status, self.now()
        t.commit_completed = None if status == INFO else self.now()

    def start_end(self, t):
        t.commit_invoked = self.now()

    def finish_end(self, t):
        t.status, t.commit_completed = OK, self.now()

    def wrote(self, *writes, process=None, status=OK):
        """A transaction of one statement."""
        t = self.begin(process)
        self.write(t, *writes)
        self.end(t, status)
        return t

    def saw(self, process=None, **of):
        t = self.begin(process)
        self.read(t, **of)
        self.end(t)
        return t

    def asked(self, kind, *of, status=OK, **reads):
        """A transaction of one statement that is about tables or a view as a whole."""
        t = self.begin()
        t.statements.append(s := Statement(kind, self.now(), None, values(reads), of=[one if isinstance(one, tuple) else (one, None) for one in of]))
        t.commit_invoked, t.status = s.invoked, status
        t.commit_completed = self.now()
        s.completed = None if status == INFO else t.commit_completed
        return t

    def ask(self, kind, *of, **reads):
        """Such a transaction that finish() ends."""
        t = self.asked(kind, *of, **reads)
        t.commit_completed = None
        return t

    def finish(self, t):
        t.commit_completed = t.statements[0].completed = self.now()

    def saw_copy(self, at, **of):
        """A read of an element that carries something."""
        t = self.begin()
        self.do(t, READ, {at[0]: (at[1],)}, copies={at: values(of)})
        self.end(t)


def values(of):
    keys = {"a": A, "b": B, "c": C, "d": D, "e": E, "x": X, "y": Y}
    return {keys[name]: tuple(v) if isinstance(v, list) else v for name, v in of.items()}


def plant(*expected, allowed=()):
    def take(f):
        s = Script()
        f(s)
        PLANTED.append((f.__name__, set(expected), set(allowed), s.history))
        return f
    return take


# -------------------------------------------------------------------------------- writes
@plant("G0")
def writes_between_each_other(s):
    t, u = s.begin(), s.begin()
    s.write(t, (A, 1), (B, 1))
    s.write(u, (A, 2), (B, 2))
    s.start_end(t)
    s.end(u)
    s.finish_end(t)
    s.saw(a=[1, 2], b=[2, 1])


@plant("lost-write")
def an_acknowledged_write_is_gone(s):
    s.wrote((A, 1))
    s.wrote((A, 2))
    s.saw(a=[1])


@plant("lost-update", "lost-write")
def an_update_is_written_over(s):
    t, u = s.begin(), s.begin()
    s.do(t, UPDATE, {A: (1,)}, [(A, 1)])
    s.do(u, UPDATE, {A: (2,)}, [(A, 2)])
    s.start_end(t)
    s.end(u)
    s.finish_end(t)
    s.saw(a=[2])


@plant("lost-update", allowed=["G-single"])
def two_updates_of_one_version(s):
    t, u = s.begin(), s.begin()
    s.do(t, UPDATE, {A: (1,)}, [(A, 1)])
    s.do(u, UPDATE, {A: (2,)}, [(A, 2)])
    s.start_end(t)
    s.end(u)
    s.finish_end(t)
    s.saw(a=[1, 2])


@plant("duplicate")
def a_write_is_there_twice(s):
    s.wrote((A, 1))
    s.saw(a=[1, 1])


@plant("duplicate")
def a_register_has_two_rows(s):
    s.wrote((X, 1))
    s.wrote((X, 2))
    s.saw(x=[1, 2])


@plant("unknown-value")
def a_value_out_of_nothing(s):
    s.wrote((A, 1))
    s.saw(a=[1, 7])


# --------------------------------------------------------------------------------- reads
@plant("G1a")
def a_rolled_back_write_is_read(s):
    s.wrote((A, 1), status=FAIL)
    s.saw(a=[1])


@plant("G1a")
def a_rolled_back_register_is_read(s):
    s.wrote((X, 1), status=FAIL)
    s.saw(x=1)


@plant("G1a")
def a_write_behind_a_savepoint_is_read(s):
    t = s.begin()
    s.write(t, (A, 1))
    s.do(t, SAVEPOINT)
    s.write(t, (A, 2))
    s.do(t, BACK)
    s.end(t)
    s.saw(a=[1, 2])


@plant("G1a")
def a_rolled_back_write_is_read_by_itself(s):
    t = s.begin()
    s.do(t, SAVEPOINT)
    s.write(t, (A, 2))
    s.do(t, BACK)
    s.read(t, a=[2])
    s.end(t)


@plant("G1a")
def what_a_kill_must_have_rolled_back_is_read(s):
    t = s.begin()
    s.write(t, (A, 1))  # its COMMIT was never sent
    t.status, t.commit_invoked, t.commit_completed = FAIL, s.now(), s.now()
    s.saw(a=[1])


@plant("G1b")
def an_intermediate_version_is_read(s):
    t = s.begin()
    s.write(t, (X, 1))
    s.write(t, (X, 2))
    s.start_end(t)
    s.saw(x=1)
    s.finish_end(t)


@plant("G1b", "fractured-read")
def half_of_a_list_is_read(s):
    t = s.begin()
    s.write(t, (A, 1), (A, 2))
    s.start_end(t)
    s.saw(a=[1])
    s.saw(a=[1, 2])
    s.finish_end(t)


@plant("G1c")
def two_transactions_read_each_other(s):
    t, u = s.begin(), s.begin()
    s.write(t, (A, 1))
    s.write(u, (B, 1))
    s.read(t, b=[1])
    s.read(u, a=[1])
    s.end(t)
    s.end(u)


@plant("fractured-read")
def a_part_of_a_request_is_read(s):
    t = s.begin()
    s.write(t, (A, 1), (B, 1))
    s.start_end(t)
    s.saw(a=[1], b=[])
    s.finish_end(t)


@plant("fractured-read")
def a_part_of_a_request_with_registers_is_read(s):
    s.wrote((X, 1))
    s.wrote((Y, 1))
    t = s.begin()
    s.write(t, (X, 2), (Y, 2))
    s.start_end(t)
    s.saw(x=2, y=1)
    s.finish_end(t)


@plant("monotonic-reads")
def a_part_of_a_request_survives_a_kill(s):
    s.wrote((A, 1), (B, 1), status=INFO)
    s.saw(process=1, a=[1])
    s.saw(process=1, b=[])


@plant("incompatible-order")
def lists_in_two_orders(s):
    t, u = s.begin(), s.begin()
    s.write(t, (A, 1))
    s.write(u, (A, 2))
    s.start_end(t)
    s.end(u)
    s.finish_end(t)
    s.saw(a=[1, 2])
    s.saw(a=[2, 1])


@plant("cyclic-versions")
def a_register_goes_back(s):
    s.wrote((X, 1))
    s.wrote((X, 2))
    s.saw(x=2)
    s.saw(x=1)


@plant("cyclic-versions")
def a_register_is_lost(s):
    s.wrote((X, 1))
    s.saw(x=None)


@plant("long-fork")
def two_orders_of_two_commits(s):
    t, u, v, w = s.begin(), s.begin(), s.begin(), s.begin()
    s.write(t, (A, 1))
    s.write(u, (B, 1))
    s.start_end(t)
    s.start_end(u)
    s.read(v, a=[1], b=[])
    s.read(w, a=[], b=[1])
    for one in (v, w):
        s.end(one)
    s.finish_end(t)
    s.finish_end(u)


@plant("G-monotonic", allowed=["G-single"])
def a_block_sees_less_than_before(s):
    t, u = s.begin(), s.begin()
    s.write(t, (A, 1), (B, 1))
    s.start_end(t)
    s.read(u, a=[1])
    s.read(u, b=[])
    s.finish_end(t)
    s.end(u)


# ------------------------------------------------------------------------------ sessions
@plant("own-writes")
def a_block_misses_its_own_write(s):
    t = s.begin()
    s.write(t, (A, 1))
    s.read(t, a=[])
    s.end(t)


@plant("own-writes")
def a_block_reads_an_older_register(s):
    t = s.begin()
    s.write(t, (X, 1))
    s.write(t, (X, 2))
    s.read(t, x=1)
    s.end(t)


@plant("own-writes")
def a_block_reads_what_it_will_write(s):
    t = s.begin()
    s.read(t, a=[1])
    s.write(t, (A, 1))
    s.end(t)


@plant("read-your-writes")
def a_session_misses_its_own_commit(s):
    s.wrote((A, 1), process=1)
    s.saw(process=1, a=[])
    s.saw(a=[1])


@plant("monotonic-reads")
def a_session_sees_less_than_before(s):
    t = s.begin()
    s.write(t, (A, 1))
    s.start_end(t)
    s.saw(process=1, a=[1])
    s.saw(process=1, a=[])
    s.finish_end(t)


@plant("monotonic-writes")
def writes_of_a_session_change_places(s):
    s.wrote((A, 1), process=1)
    s.wrote((A, 2), process=1)
    s.saw(a=[2, 1])


@plant("writes-follow-reads")
def a_write_goes_before_what_was_read(s):
    t = s.begin()
    s.write(t, (A, 1), (B, 1))
    s.start_end(t)
    s.saw(process=1, b=[1])
    s.wrote((A, 2), process=1)
    s.finish_end(t)
    s.saw(a=[2, 1])


@plant("stale-read")
def a_commit_of_another_is_missed(s):
    s.wrote((A, 1))
    s.saw(a=[])
    s.saw(a=[1])


@plant("real-time-order")
def a_later_write_takes_effect_before(s):
    s.wrote((A, 1))
    s.wrote((A, 2))
    s.saw(a=[2, 1])


# ------------------------------------------------------------- reads that flow into writes
@plant("fractured-read")
def an_insert_select_copies_a_part_of_a_transaction(s):
    t = s.begin()
    s.write(t, (A, 1), (B, 1))
    s.start_end(t)
    s.wrote((C, 1))
    s.finish_end(t)
    s.saw_copy((C, 1), a=[1], b=[])


@plant("stale-read")
def an_insert_select_copies_old_rows(s):
    s.wrote((A, 1))
    s.wrote((C, 1))
    s.saw_copy((C, 1), a=[])
    s.saw(a=[1])


@plant("cyclic-versions")
def an_update_from_takes_an_old_register(s):
    s.wrote((X, 1))
    s.wrote((X, 2))
    t = s.begin()
    s.do(t, UPDATE, {C: (1,)}, [(C, 1)], {(C, 1): {X: 1}})
    s.end(t)
    s.saw(x=2)


@plant("G1a")
def an_insert_select_copies_what_was_rolled_back(s):
    s.wrote((A, 1), status=FAIL)
    s.wrote((C, 1))
    s.saw_copy((C, 1), a=[1])


@plant("own-writes")
def an_insert_select_misses_what_its_block_wrote(s):
    t = s.begin()
    s.write(t, (A, 1))
    s.write(t, (C, 1))
    s.end(t)
    s.saw_copy((C, 1), a=[])


@plant("changed-copy")
def a_copy_changes(s):
    s.wrote((C, 1))
    s.saw_copy((C, 1), a=[])
    s.wrote((A, 1))
    s.saw_copy((C, 1), a=[1])


@plant("changed-copy")
def a_copy_is_not_what_returning_told(s):
    s.wrote((A, 1))
    t = s.begin()
    s.do(t, WRITE, {}, [(C, 1)], {(C, 1): values({"a": [1], "x": None})})
    s.end(t)
    s.saw_copy((C, 1), a=[1], x=7)


@plant()
def a_copy_whose_writer_was_told_nothing(s):
    s.wrote((A, 1), (B, 1))
    t = s.wrote((C, 1), status=INFO)
    t.statements[0].completed = None
    s.wrote((A, 2), (B, 2))
    s.saw_copy((C, 1), a=[1, 2], b=[1, 2])
    s.saw_copy((C, 1), a=[1, 2], b=[1, 2])


# --------------------------------------------------------------------- materialized views
@plant("torn-view")
def a_view_has_a_part_of_a_transaction(s):
    s.wrote((A, 1), (B, 1))
    s.asked(VIEW, "v", a=[1], b=[])


@plant("torn-view")
def a_view_has_a_later_commit_without_an_earlier(s):
    s.wrote((A, 1))
    s.wrote((B, 1))
    s.asked(VIEW, "v", a=[], b=[1])
    s.saw(a=[1], b=[1])


@plant("torn-view")
def a_view_keeps_a_part_of_what_was_cleared(s):
    s.wrote((D, 1), (E, 2))
    s.asked(CLEAR, "d")
    s.wrote((E, 3))
    s.asked(VIEW, "v", d=[1], e=[3])


@plant("view-back")
def a_view_goes_back(s):
    s.wrote((A, 1))
    s.asked(VIEW, "v", a=[1])
    s.asked(VIEW, "v", a=[])


@plant("view-behind")
def a_refresh_does_nothing(s):
    s.wrote((A, 1))
    s.asked(REFRESH, "v")
    s.asked(VIEW, "v", a=[])
    s.saw(a=[1])


@plant("view-behind")
def a_refresh_misses_a_clear(s):
    s.wrote((D, 1))
    s.asked(CLEAR, "d")
    s.asked(REFRESH, "v")
    s.asked(VIEW, "v", d=[1])


@plant("G1a")
def a_view_has_what_was_rolled_back(s):
    s.wrote((A, 1), status=FAIL)
    s.asked(VIEW, "v", a=[1])


@plant()
def views_that_are_behind(s):
    s.wrote((A, 1), (B, 1))
    s.asked(REFRESH, "v")
    s.wrote((A, 2), process=1)
    s.asked(VIEW, "v", a=[1], b=[1])
    s.asked(VIEW, "w", a=[], b=[])
    s.wrote((B, 2), process=1)
    s.asked(VIEW, "v", a=[1, 2], b=[1])
    s.asked(REFRESH, "w")
    s.asked(VIEW, "w", a=[1, 2], b=[1, 2])


# ----------------------------------------------------------- tables that are emptied or go
@plant("resurrected")
def rows_come_back_after_truncate(s):
    s.wrote((D, 1))
    s.asked(CLEAR, "d")
    s.saw(d=[1])


@plant("resurrected")
def rows_of_a_dropped_partition_come_back_with_new_ones(s):
    s.wrote((D, 1))
    s.asked(CLEAR, ("d", 1))
    s.wrote((D, 2))
    s.saw(d=[1, 2])


@plant("resurrected")
def rows_come_back_with_the_column(s):
    s.wrote((D, 1))
    s.saw(d=[1])
    s.asked(DROP, "d")
    s.asked(THERE, "d")
    s.saw(d=[1])


@plant("resurrected")
def rows_of_a_clear_that_a_kill_interrupted_are_there_for_some(s):
    s.wrote((D, 1), (E, 2))
    s.asked(CLEAR, "d")
    s.asked(CLEAR, "d", status=INFO)
    s.saw(d=[1], e=[2])


@plant("torn-clear")
def a_half_of_a_truncate_is_seen(s):
    s.wrote((D, 1), (E, 2))
    t = s.ask(CLEAR, "d")
    s.saw(d=[1], e=[])
    s.finish(t)


@plant("torn-clear")
def a_half_of_a_truncate_of_two_tables_is_seen(s):
    s.wrote((A, 1))
    s.wrote((D, 2))
    t = s.ask(CLEAR, "a", "d")
    s.saw(a=[], d=[2])
    s.finish(t)


@plant("torn-clear")
def one_of_two_partitions_is_gone(s):
    s.wrote((D, 1))
    s.wrote((E, 2))
    t = s.ask(CLEAR, ("d", 1), ("d", 2))
    s.saw(d=[], e=[2])
    s.finish(t)


@plant("lost-write")
def a_partition_goes_that_nobody_dropped(s):
    s.wrote((D, 1))
    s.wrote((E, 2))
    s.asked(CLEAR, ("d", 2))
    s.saw(d=[], e=[])


@plant("lost-write")
def a_write_behind_a_clear_is_gone(s):
    s.asked(CLEAR, "d")
    s.wrote((D, 1))
    s.saw(d=[])


@plant("stale-read")
def a_write_behind_a_clear_is_missed(s):
    s.asked(CLEAR, "d")
    s.wrote((D, 1))
    s.saw(d=[])
    s.saw(d=[1])


@plant("lost-update", allowed=["G-single"])
def two_updates_of_what_a_clear_left(s):
    s.asked(CLEAR, "d")
    t, u = s.begin(), s.begin()
    s.do(t, UPDATE, {D: (1,)}, [(D, 1)])
    s.do(u, UPDATE, {D: (2,)}, [(D, 2)])
    s.start_end(t)
    s.end(u)
    s.finish_end(t)
    s.saw(d=[1, 2])


@plant("incompatible-order")
def a_list_begins_anew_without_a_clear(s):
    s.asked(CLEAR, "d")
    s.wrote((D, 1), status=INFO)
    s.wrote((D, 2), status=INFO)
    s.saw(d=[1])
    s.saw(d=[2])


@plant("missing-name")
def a_table_is_missing(s):
    s.asked(DROP, "d")
    s.asked(THERE, "d")
    s.asked(ABSENT, "d", status=FAIL)


@plant("missing-name")
def a_column_is_missing_that_was_never_renamed(s):
    s.asked(ABSENT, "d", status=FAIL)


@plant("ghost-name")
def a_dropped_table_is_found(s):
    s.asked(DROP, "d")
    s.saw(d=[])
    s.asked(THERE, "d")


@plant("ghost-name")
def a_renamed_column_is_written(s):
    s.asked(AWAY, "d")
    s.wrote((D, 1))
    s.asked(THERE, "d")
    s.saw(d=[1])


@plant()
def names_that_go_and_come(s):
    s.wrote((D, 1))
    t = s.ask(AWAY, "d")
    s.saw(d=[1])
    s.asked(ABSENT, "d", status=FAIL)
    s.finish(t)
    s.asked(ABSENT, "d", status=FAIL)
    s.asked(THERE, "d")
    s.saw(d=[1])
    s.asked(DROP, "d")
    s.asked(ABSENT, "d", status=FAIL)
    t = s.begin()
    s.do(t, SAVEPOINT)
    s.write(t, (A, 1))
    s.do(t, BACK)
    s.end(t)
    s.asked(THERE, "d")
    s.saw(d=[])
    t = s.begin()
    s.write(t, (D, 2))
    s.asked(AWAY, "d")
    s.end(t)
    s.asked(THERE, "d")
    s.saw(d=[2])


@plant("ghost-name")
def a_block_commits_rows_of_a_dropped_column(s):
    t = s.begin()
    s.write(t, (D, 2))
    s.asked(DROP, "d")
    s.end(t)
    s.asked(THERE, "d")
    s.saw(d=[2])


@plant()
def clears_that_nobody_knows_of(s):
    s.wrote((C, 7), (D, 7), status=INFO)
    s.wrote((D, 8))
    s.asked(CLEAR, "d", "c", status=INFO)
    s.saw(d=[7, 8], c=[7])
    s.asked(CLEAR, "d")
    s.wrote((D, 1), (E, 1))
    s.asked(CLEAR, "d", status=INFO)
    s.saw(d=[1], e=[1])
    s.asked(CLEAR, "d", status=INFO)
    s.saw(d=[], e=[])
    s.wrote((D, 2))
    s.saw(d=[2], e=[])


@plant()
def a_clear_that_explains_nothing(s):
    """Nobody knows when the lines of a stream were stored: not when the clear began, but both before a read that came before."""
    s.wrote((D, 1), process=1, status=INFO)
    s.wrote((A, 1), process=1, status=INFO)
    s.saw(a=[1])
    for t in (s.asked(CLEAR, "d", status=INFO), *s.history[:2]):
        t.commit_completed = s.tick
    s.saw(d=[1])


@plant("lost-write")
def a_clear_that_a_kill_interrupted_is_done_by_halves(s):
    s.wrote((D, 1), (E, 2))
    s.asked(CLEAR, "d", status=INFO)
    s.saw(d=[], e=[2])


@plant()
def clean_clears(s):
    for i in range(50):
        s.wrote((D, 3 * i), (E, 3 * i))
        if i % 3:
            s.saw(d=[3 * i], e=[3 * i])
        t = s.ask(CLEAR, "d", "a")
        s.saw(d=[3 * i] if i % 2 else [], e=[3 * i] if i % 2 else [])
        s.wrote((D, 3 * i + 1))
        s.finish(t)
        if i % 5 == 0:
            s.saw(d=[3 * i + 1], e=[])
        s.asked(CLEAR, ("d", 1))
        s.saw(d=[], e=[])
        s.wrote((E, 3 * i + 2))
        s.asked(CLEAR, ("d", 2))


# ---------------------------------------------------------------- what the level allows
@plant(allowed=["G-single"])
def read_skew(s):
    t = s.begin()
    s.read(t, a=[], b=[])
    s.wrote((A, 1), (B, 1))
    s.read(t, a=[1], b=[1])
    s.end(t)


@plant(allowed=["G2-item"])
def write_skew(s):
    t, u = s.begin(), s.begin()
    s.read(t, a=[])
    s.read(u, b=[])
    s.write(t, (B, 1))
    s.write(u, (A, 1))
    s.end(t)
    s.end(u)


@plant(allowed=["P4", "G-single"])
def a_register_is_read_then_written_by_two(s):
    t, u = s.begin(), s.begin()
    s.read(t, x=None)
    s.read(u, x=None)
    s.write(t, (X, 1))
    s.write(u, (X, 2))
    s.end(t)
    s.end(u)


@plant()
def outcomes_that_nobody_knows(s):
    s.wrote((A, 1), status=INFO)
    s.wrote((A, 2), (B, 2), status=INFO)
    s.wrote((X, 1), status=INFO)
    s.saw(process=1, a=[], b=[], x=None)
    s.saw(process=1, a=[2], b=[2], x=1)


@plant(allowed=["G-single"])
def an_update_that_a_savepoint_took_back(s):
    t = s.begin()
    s.do(t, SAVEPOINT)
    s.do(t, UPDATE, {A: (1,)}, [(A, 1)])
    s.do(t, BACK)
    u = s.begin()
    s.do(u, UPDATE, {A: (2,)}, [(A, 2)])
    s.end(u)
    s.do(t, UPDATE, {A: (2, 3)}, [(A, 3)])
    s.end(t)
    s.saw(a=[2, 3])


@plant()
def a_clean_history(s):
    for i in range(200):
        t = s.begin(process=1 + i % 5)
        s.do(t, UPDATE, {C: tuple(range(i + 1))}, [(C, i)])
        s.do(t, SAVEPOINT)
        s.write(t, (A, 1000 + i))
        s.do(t, BACK)
        s.write(t, (A, i), (B, i), (X, i), (Y, i))
        s.read(t, a=list(range(i + 1)), x=i)
        s.end(t)
        s.wrote((A, 2000 + i), process=1 + i % 5, status=FAIL)
        s.saw(process=6, a=list(range(i + 1)), b=list(range(i + 1)), c=list(range(i + 1)), x=i, y=i)


def run():
    """(passed, failed)"""
    passed, failed, named = 0, 0, set()
    for name, expected, allowed, history in PLANTED:
        got = check(history)
        counted = {n for n in got.counts if n in ALLOWED}
        named |= expected | allowed
        if set(got.forbidden()) == expected and allowed <= counted and (expected or allowed == counted):
            passed += 1
            continue
        failed += 1
        print(f"FAILED planted {name}: expected {sorted(expected)} and {sorted(allowed)}, found {dict(got.counts)}")
        for kind, texts in got.texts.items():
            print(f"   {kind}: {texts[0]}")
    for name in sorted({*FORBIDDEN, *ALLOWED} - named):
        failed += 1
        print(f"FAILED planted: there is no history with {name}")
    return passed, failed


if __name__ == "__main__":
    print("%d passed, %d failed" % run())
