"""Clients that do not do what they write down, so that the histories of a sound server have violations: the checker has to find each."""
import collections

from changes import Changer, Refresher
from clients import Http, Lines, PgBlock, PgStatement, PgText
from history import AWAY, CLEAR, DROP, OK, READ, THERE, UPDATE, WRITE
from lib.pgclient import query
from statements import Asked, a_refresh, a_select, insert_select, part_of, seconds_of, select, select_view, time_of

BESIDE = (PgBlock, Lines, Http)


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


# ------------------------------------------------------------- reads that flow into writes
class Copies(PgStatement):
    """Says that one INSERT SELECT copied rows of several tables. Only who reads what it copied can find out."""
    def once(self):
        sources = sorted(self.world.key(self.rng, t) for t in ("l0", "l1", "u0", "r0"))
        key, value = self.world.key(self.rng, "f0"), self.world.value()
        self.world.sources[key, value] = sources
        self.copy(sources, key, value)

    def write_down(self, key, value, send):
        self.at_once([Asked(WRITE, "", (), [(key, value)])], lambda _: send() and [[]])


class CopiesByHalves(Copies):
    """Copies each table with a statement of its own."""
    finds = {"changed-copy", "fractured-read"}

    def copy(self, sources, key, value):
        def send():
            for t, n in (k[1:] for k in sources):
                self.answers(query(insert_select(key, value, part_of(t, f"k = {n}"), False).sql))
                self.world.ending.wait(0.003)
            return True
        self.write_down(key, value, send)


class CopiesOldRows(Copies):
    """Copies what it has read a while ago."""
    finds = {"stale-read"}

    def copy(self, sources, key, value):
        rows = self.answers(query(select(sources)))[0]
        self.world.ending.wait(0.02)
        texts = [f"({time_of(key)}, {key[2]}, '{value}:{t}:{n}:{v or ''}')" for t, n, v in [*rows, ("", "", "")]]
        self.write_down(key, value, lambda: self.answers(query(f"insert into f0 values {', '.join(texts)}")))


class UpdatesFromOldRows(Copies):
    """Says that UPDATE ... FROM took what it had read a while ago."""
    finds = {"stale-read"}

    def copy(self, sources, key, value):
        source = next(k for k in sources if k[1] == "u0")
        key = self.world.key(self.rng, "g0")
        self.world.sources[key, value] = [source]
        v = self.answers(query(f"select v from u0 where k = {source[2]}"))[0][0][0] or ""
        self.world.ending.wait(0.02)
        sql = f"update g0 set v = v || ';{value}:u0:{source[2]}:{v.replace(',', ' ')}' where k = {key[2]} returning 'g0' t, k, v"
        self.at_once([Asked(UPDATE, sql, [key], [(key, value)])], lambda asked: [self.run_one(asked[0])])


# ------------------------------------------------------------------------ materialized views
class SkipsRefreshes(Refresher):
    """Says it has refreshed a view and has not."""
    finds = {"view-behind"}

    def once(self):
        self.at_once([a_refresh("v_z0", "incremental")], lambda _: [[]])
        keys = sorted({self.world.key(self.rng, "z0") for _ in range(4)})
        self.at_once([select_view("v_z0", keys)], lambda asked: [self.run_one(asked[0])])


class MixesViews(Refresher):
    """Answers for some keys with what a view said before its refresh."""
    finds = {"torn-view", "view-back"}

    def once(self):
        keys = sorted({self.world.key(self.rng, "l0") for _ in range(6)})
        ask = lambda: self.answers(query(select_view("v_l0", keys).sql))[0]
        old = ask()
        self.world.ending.wait(0.02)
        self.answers(query("refresh materialized view v_l0 incremental"))
        half = {str(k[2]) for k in keys[::2]}
        self.at_once([select_view("v_l0", keys)], lambda _: [[r for r in old if r[1] in half] + [r for r in ask() if r[1] not in half]])


# ------------------------------------------------------------- tables that are emptied or go
class EmptiesByHalves(Changer):
    """Says that two tables were emptied at once, which were one after the other."""
    finds = {"torn-clear"}

    def once(self):
        def send(_):
            self.answers(query("truncate table z0"))
            self.world.ending.wait(0.03)
            return self.answers(query("truncate table z1"))
        self.at_once([Asked(CLEAR, "", of=[("z0", None), ("z1", None)])], send)
        self.world.ending.wait(0.03)


class EmptiesNothing(Changer):
    """Says it has emptied tables and has not."""
    finds = {"resurrected"}

    def once(self):
        self.at_once([Asked(CLEAR, "", of=[("z0", None), ("z1", 1)])], lambda _: [[]])
        self.world.ending.wait(0.05)


class KeepsColumns(Changer):
    """Says it has dropped a column and added it again, but has renamed it only."""
    finds = {"resurrected"}

    def once(self):
        for kind, sql in ((DROP, "rename column w0 to away"), (THERE, "rename column away to w0")):
            self.at_once([Asked(kind, "", of=[("c0", None)])], lambda _: self.answers(query(f"alter table c0 {sql}")))
        self.world.ending.wait(0.05)


class DropsNothing(Changer):
    """Says that a table is gone, which is there."""
    finds = {"ghost-name"}

    def once(self):
        self.at_once([Asked(AWAY, "", of=[("t0", None)])], lambda _: [[]])
        self.world.ending.wait(0.05)
        self.at_once([Asked(THERE, "", of=[("t0", None)])], lambda _: [[]])


class RenamesUnsaid(Changer):
    """Does not write down that a column has another name for a while."""
    finds = {"missing-name"}

    def once(self):
        self.answers(query("alter table c1 rename column w1 to away"))
        self.world.ending.wait(0.02)
        self.answers(query("alter table c1 rename column away to w1"))
        self.world.ending.wait(0.02)


# The lies, the clients beside them, and how many tell the same: changes of tables are the work of one.
LIES = [(one, BESIDE, 2) for one in (LosesCommits, KeepsAborted, CommitsByHalves, AnswersOldRows, WritesOver, Forgets, CopiesByHalves, CopiesOldRows,
                                     UpdatesFromOldRows, SkipsRefreshes, MixesViews)]
LIES += [(one, (*BESIDE, PgText), 1) for one in (EmptiesByHalves, EmptiesNothing, KeepsColumns, DropsNothing, RenamesUnsaid)]
