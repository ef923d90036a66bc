"""Clients that do not do what they write down, so that the histories of a sound server have violations: the checker has to find each."""
import collections

from clients import Asked, PgBlock, PgStatement, a_select, seconds_of
from history import OK, READ, UPDATE, WRITE
from pgclient import query


class LosesCommits(PgBlock):
    """Says it has committed what it rolled back."""
    finds = {"lost-write"}

    def commit(self, t):
        t.commit_invoked = self.world.tick()
        self.answers(query("rollback"))
        t.status, t.commit_completed = OK, self.world.tick()


class KeepsAborted(PgBlock):
    """Says it has rolled back what it committed."""
    finds = {"G1a"}

    def roll_back(self, t):
        self.answers(query("commit"))


class CommitsByHalves(PgBlock):
    """Commits each statement alone."""
    finds = {"fractured-read", "G1b", "G-monotonic", "monotonic-reads"}  # one of them

    def once(self):
        t = self.begin()
        t.commit_invoked = self.world.tick()
        for table in ("l0", "l1", "d0"):
            key, value = self.world.key(self.rng, table), self.world.value()
            asked = Asked(WRITE, f"insert into {table} values ({seconds_of(key[2]) * 1_000_000}, {key[2]}, {value})", (), [(key, value)])
            s = self.note(t, asked)
            self.answers(query(asked.sql))
            s.completed = self.world.tick()
        t.status, t.commit_completed = OK, self.world.tick()


class AnswersOldRows(PgStatement):
    """Answers a question with what it was told a while ago."""
    finds = {"stale-read", "monotonic-reads", "cyclic-versions", "long-fork"}  # one of them

    def once(self):
        if not hasattr(self, "old"):
            self.old = collections.deque()
        asked = a_select(self.world, self.rng)
        rows = self.answers(query(asked.sql))
        self.old.append((asked, rows))
        if len(self.old) > 20:
            asked, rows = self.old.popleft()
            self.at_once([asked], lambda _: rows)


class WritesOver(PgBlock):
    """Appends to what it has read before, and not to what is there."""
    finds = {"lost-update"}

    def once(self):
        key = self.world.key(self.rng, "u0")
        value = self.world.value() * 10_000 + key[2]
        rows = self.answers(query(f"select v from u0 where k = {key[2]}"))[0]
        self.world.ending.wait(0.005)
        text = f"{rows[0][0]},{value}"
        self.at_once([Asked(UPDATE, f"update u0 set v = '{text}' where k = {key[2]} returning 'u0' t, k, v", [key], [(key, value)])],
                     lambda asked: [self.run_one(asked[0])])


class Forgets(PgStatement):
    """Reads a list without one of its elements."""
    finds = {"incompatible-order"}

    def once(self):
        asked = a_select(self.world, self.rng)
        rows = self.answers(query(asked.sql))[0]
        lists = [r for r in rows if r[0] in ("l0", "l1")]
        if len(lists) > 2:
            rows.remove(lists[0])
        self.at_once([Asked(READ, asked.sql, asked.keys)], lambda _: [rows])


LIES = (LosesCommits, KeepsAborted, CommitsByHalves, AnswersOldRows, WritesOver, Forgets)
