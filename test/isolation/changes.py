"""Clients that change tables beside the others: one empties tables, drops and creates them and their columns, and one refreshes materialized views.

There is one of the first, since the checker takes the order of what it does from time.
"""
from clients import BROKEN, Pg, a_refresh
from history import AWAY, CLEAR, DAYS, DROP, FAIL, INFO, OK, THERE
from lib.pgclient import query
from statements import COLUMN, TEXTS, VIEWS, Asked, column_of, select_view


class Changer(Pg):
    interface = "changes"

    def __init__(self, world, number):
        super().__init__(world, number)
        self.open = None  # the transaction that took a name away, until it is there again

    def run(self):
        super().run()
        while self.open is not None:
            try:
                if self.link is None:
                    self.connect()
                self.mend()
            except BROKEN as e:
                self.world.problems.append(f"Changer: {type(e).__name__} {e}")
                return

    def once(self):
        self.mend()
        self.rng.choice((self.truncate, self.drop_partitions, self.drop_table, self.drop_column, self.rename_column))()
        self.world.ending.wait(self.rng.random() * 0.2)

    def change(self, kind, sql, of):
        """The transaction; what its outcome is when the connection breaks, mend() finds out where it can."""
        a = Asked(kind, sql, of=of)
        t = self.begin()
        if kind in (DROP, AWAY):
            self.open = t
        s = self.note(t, a)
        t.commit_invoked = s.invoked
        try:
            self.run_one(a)
        except BROKEN:
            t.status, self.process = INFO, self.world.process()
            raise
        t.status, t.commit_completed = OK, self.world.tick()
        s.completed = t.commit_completed
        return t

    # ------------------------------------------------------------------------------- rows go
    def truncate(self):
        tables = self.rng.choice((["z0"], ["z1"], ["z0", "z1"]))
        self.change(CLEAR, f"truncate table {', '.join(tables)}", [(t, None) for t in tables])

    def drop_partitions(self):
        table, days = self.rng.choice(("z0", "z1")), self.rng.sample(range(DAYS), self.rng.choice((1, 2)))
        names = ", ".join(f"'2026-01-{day + 1:02}'" for day in days)
        self.change(CLEAR, f"alter table {table} drop partition list {names}", [(table, day) for day in days])

    # ------------------------------------------------------------------------------ names go
    def drop_table(self):
        self.change(DROP, "drop table t0", [("t0", None)])
        self.pause_and_mend()

    def drop_column(self):
        table = self.rng.choice(tuple(COLUMN))
        self.change(DROP, f"alter table {table} drop column {COLUMN[table]}", [(table, None)])
        self.pause_and_mend()

    def rename_column(self):
        table = self.rng.choice(tuple(COLUMN))
        self.change(AWAY, f"alter table {table} rename column {COLUMN[table]} to away", [(table, None)])
        self.pause_and_mend()

    def pause_and_mend(self):
        self.world.ending.wait(self.rng.random() * 0.01)
        self.mend()

    def mend(self):
        """The name is there again. A change of unknown outcome has one now, since nobody else changes tables."""
        if self.open is None:
            return
        table, away = self.open.statements[0].of[0][0], self.open
        columns = {row[0] for row in self.answers(query(f"select column from (show columns from {table})"))[0]} if self.is_there(table) else set()
        if away.status == INFO:
            away.status = FAIL if column_of(table) in columns else OK
            away.commit_completed = away.statements[0].completed = self.world.tick()
        self.change(THERE, self.back(table, columns), [(table, None)])
        self.open = None

    def is_there(self, table):
        return self.answers(query(f"select 1 from tables() where table_name = '{table}'"))[0]

    @staticmethod
    def back(table, columns):
        kind = "varchar" if table in TEXTS else "long"
        if not columns:
            return f"create table {table} (ts timestamp, k long, v long) timestamp(ts) partition by day"
        if "away" in columns:
            return f"alter table {table} rename column away to {column_of(table)}"
        return f"alter table {table} add column if not exists {column_of(table)} {kind}"


class Refresher(Pg):
    """Refreshes views and looks at them."""
    interface = "refresh"

    def once(self):
        view = self.rng.choice(tuple(VIEWS))
        self.refresh(view)
        for _ in range(self.rng.randint(1, 3)):
            keys = sorted({self.world.key(self.rng, VIEWS[view]) for _ in range(4)})
            self.at_once([select_view(view, keys)], lambda asked: [self.run_one(asked[0])])
        self.world.ending.wait(self.rng.random() * 0.05)

    def refresh(self, view):
        how = "full" if self.rng.random() < 0.05 else "incremental"
        self.at_once([a_refresh(view, how)], lambda asked: [self.run_one(asked[0])])
