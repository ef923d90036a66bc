"""Cells of files in a backup or in the archive of the log: no restore gives wrong answers, and the server that writes there goes on.

read: `almanac check` and a restore; rewrite: changes, the next backup, a restore; backup: the next backup, a restore; restart: of the server.
"""
import shutil, time

import kinds, known as k
from cells import REFUSED, RIGHT, Cell, Client, difference
from files import program


class Stored(Cell):
    """`saved`: what the newest backup knows, or the archive at its end."""

    def __init__(self, dbs, kind, *rest, **more):
        super().__init__(dbs, kind, *rest, **more)
        self.of_archive = kind.whose == kinds.ARCHIVE
        self.env = k.ARCHIVE if self.of_archive else {}
        if self.of_archive:
            self.known = dbs.archived.copy()
        self.saved, self.last = (self.known if self.of_archive else dbs.tail.states[0]).copy(), dbs.archived_lsn if self.of_archive else None

    def source(self, which):
        return self.dbs.folder / {"before": "here-before", "other": "other-archived" if self.of_archive else "other"}[which]

    def steps(self):
        if self.time != "stopped":
            self.start()
            if self.time == "after":
                self.back_up()
        if not self.strike():
            return "not applicable"
        return getattr(self, self.action)()

    def running(self):
        if self.s is None:
            self.start()

    def back_up(self):
        said = self.ask("backup database")
        if isinstance(said, str):
            if "backup refused" not in self.allowed or "another database" not in said and not self.names_file(said):
                self.fail(f"backup database: {said}")
            self.outcomes.add(REFUSED)
            return False
        if not self.of_archive or self.wrong:
            self.saved, self.last = self.known.copy(), None
        return True

    # ---------------------------------------------------------------------------- actions

    def read(self):
        where = self.root / ("archive" if self.of_archive else "backups")
        found, said = program("check", where)
        restored = self.restore()
        if found == 0 and not restored:
            self.fail(f"check finds nothing, and the restore is refused: {said}")
        if self.s is not None:
            self.compare("of the server")

    def rewrite(self):
        self.running()
        for name in k.TABLES:
            self.write(name, "insert")
            self.write(name, "delete")
        if self.of_archive:
            time.sleep(0.3)  # a round of the archive, whatever comes of it
        self.backup()

    def backup(self):
        self.running()
        if self.back_up() and not self.restore():
            self.fail(f"restore of a new backup: {self.said}")
        self.compare("behind a backup")

    def restart(self):
        self.running()
        for _ in range(2):
            self.stop()
            self.start()
            self.compare("behind a restart")

    # ------------------------------------------------------------------------ comparison

    def restore(self):
        """False: it is refused, and leaves nothing."""
        target = self.root / "restored"
        more = ("--until", str(self.last), "--log", self.root / "archive") if self.last else ()
        code, self.said = program("restore", self.root / "backups", "TO", target, *more)
        if code:
            opened = target / "db" / "catalog"
            if code not in (1, 2) or opened.exists() and not (target / "restoring").exists():
                self.fail(f"a restore ends with {code} and leaves something: {self.said}")
            shutil.rmtree(target, ignore_errors=True)
            self.outcomes.add(REFUSED)
            return False
        with self.dbs.server(target) as s:
            if self.is_older(s):
                return True
            client = Client(s)
            for q in k.questions():
                got, right = client.rows(q.sql), self.right(q, self.saved.tables[k.table_of(q.of)])
                if got != right:
                    self.fail(f"restored: {q.sql}: {difference(got, right)}")
        shutil.rmtree(target)
        self.outcomes.add(RIGHT)
        return True

    def is_older(self, s):
        """A backup whose manifest is gone does not exist, and the one before is restored."""
        if "older" not in self.allowed:
            return False
        before = self.dbs.tail.states[0] if self.time == "after" else self.dbs.before
        client = Client(s)
        if any(client.rows(q.sql) != q.answer(before.tables[k.table_of(q.of)]) for q in k.questions()):
            return False
        self.outcomes.add("log cut")
        return True
