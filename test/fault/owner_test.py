#!/usr/bin/env python3
"""One process has a data directory: a second server, check, restore and the client are refused by whatever name they come, also when files of
the lock were removed; owners that are gone hinder nobody; a directory that is moved takes its server along."""
import ctypes, os, pathlib, shutil, signal, subprocess, tempfile, time

from lib.checks import CHECKS, Skip, Suite, check, expect
from lib.server import Server, TOP

LIBC = ctypes.CDLL(None, use_errno=True)
MS_BIND, MNT_DETACH = 4096, 2


class Place:
    """A folder with one server on its `root`; `binary` is that of all programs."""

    def __init__(self, binary):
        self.binary = str(binary)
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="almanac-owner-"))
        self.root = self.top / "root"
        self.server = self.new(self.root)

    def new(self, root):
        return Server(binary=self.binary, root=root, log=self.top / f"log.{root.name}")

    def run(self, *args, wait=60):
        """(exit code, all that it says) of a program that is expected to end by itself."""
        env = {**os.environ, **{f"ALMANAC_{k}_BIND_TO": "127.0.0.1:0" for k in ("HTTP", "PG_NET", "HTTP_MIN_NET", "LINE_TCP_NET")}}
        p = subprocess.Popen([self.binary, *map(str, args)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            out = p.communicate(timeout=wait)[0]
        except subprocess.TimeoutExpired:
            p.terminate()
            return None, p.communicate()[0]
        return p.returncode, out

    def refused(self, root, text):
        code, out = self.run("-d", root, wait=5)
        expect((code, "in use" in out), (1, True), f"{text}: {out[-300:]}")

    def __enter__(self):
        self.server.start()
        self.server.exec("create table t (ts timestamp, x long) timestamp(ts) partition by day wal")
        self.server.exec("insert into t values ('2026-01-01', 1)")
        return self

    def __exit__(self, kind, value, trace):
        if self.server.process is not None:
            self.server.process.kill()
            self.server.process.wait()
        shutil.rmtree(self.top, ignore_errors=True)

    def still_sound(self):
        self.server.exec("insert into t values ('2026-01-02', 2)")
        expect(self.server.rows("select count() from t where ts = '2026-01-02'"), [[1]], "the first server")
        self.server.stop()
        code, out = self.run("check", self.root)
        expect(code, 0, out)


@check
def a_second_server_is_refused(p):
    p.refused(p.root, "as it is")
    p.still_sound()


@check
def the_lock_file_was_removed(p):
    (p.root / "db" / "lock").unlink()
    p.refused(p.root, "without the lock file")
    p.refused(p.root, "again, with the one of the first try")
    p.still_sound()


@check
def lock_and_owner_were_removed(p):
    for name in ("lock", "owner"):
        (p.root / "db" / name).unlink(missing_ok=True)
    p.refused(p.root, "without lock file and record")
    p.still_sound()


@check
def a_link_is_the_same_directory(p):
    (p.top / "link").symlink_to(p.root)
    (p.root / "db" / "lock").unlink()
    p.refused(p.top / "link", "a link to the root")
    (p.top / "half").mkdir()
    (p.top / "half" / "db").symlink_to(p.root / "db")
    p.refused(p.top / "half", "a link to db")
    p.refused(p.top / "half" / ".." / "link", "a path with ..")
    p.still_sound()


@check
def a_bind_mount_is_the_same_directory(p):
    other = p.top / "mount"
    other.mkdir()
    if LIBC.mount(str(p.root).encode(), str(other).encode(), None, MS_BIND, None) != 0:
        raise Skip(f"no mounts here: {os.strerror(ctypes.get_errno())}")
    try:
        (p.root / "db" / "lock").unlink()
        p.refused(other, "a bind mount")
    finally:
        LIBC.umount2(str(other).encode(), MNT_DETACH)
    p.still_sound()


@check
def a_directory_that_moved_takes_its_server_along(p):
    moved = p.top / "moved"
    p.root.rename(moved)
    p.refused(moved, "the directory under its new name")
    second = p.new(p.root).start()  # what has the old name now is another directory
    try:
        second.exec("create table u (ts timestamp, x long) timestamp(ts) partition by day wal")
        for i in range(20):  # segments of the log, parts and files that go: all at the new name
            p.server.exec(f"insert into t select (x * 86400000000L * {i + 1})::timestamp, x from long_sequence(20000)")
            second.exec(f"insert into u select (x * 86400000000L * {i + 1})::timestamp, x from long_sequence(10)")
        p.server.exec("checkpoint create")
        p.server.exec("checkpoint release")
        p.server.exec("drop table t")
        expect(second.rows("select count() from u"), [[200]], "the second server")
        expect(p.server.stop(), 0, "stop of the first")
        expect((p.root / "conf" / "address").exists(), True, "the address of the second server")
    finally:
        expect(second.stop(), 0, "stop of the second")
    for root in (moved, p.root):
        code, out = p.run("check", root)
        expect(code, 0, f"{root.name}: {out}")
    for root, want in ((moved, []), (p.root, ["u"])):
        with p.new(root) as s:
            expect([r[0] for r in s.rows("select table_name from tables()")], want, root.name)


@check
def tools_obey(p):
    p.server.exec("insert into t values ('2026-01-03', 3)")
    for gone in ("lock", "owner"):
        (p.root / "db" / gone).unlink(missing_ok=True)
        for args in (["check", p.root], ["check", p.root, "--repair"]):
            code, out = p.run(*args)
            expect((code, "in use" in out), (2, True), f"{args[0]} {out}")
        code, out = p.run("sql", "-d", p.root, "-c", "select 1")
        expect((code, "in use" in out), (2, True), f"sql {out}")
    p.still_sound()


def held_by(pid):
    """Names of what a process has open; none of one that has ended."""
    try:
        return [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


@check
def a_check_that_runs_keeps_servers_out(p):
    """A check that is stopped in the middle stands for one that takes long."""
    for i in range(30):
        p.server.exec("insert into t select (x * 1000000L)::timestamp, x from long_sequence(100000)")
    p.server.stop()
    c = subprocess.Popen([p.binary, "check", str(p.root)], stdout=subprocess.DEVNULL)
    try:
        db = os.path.realpath(p.root / "db")
        while c.poll() is None and not any(h.startswith(db) for h in held_by(c.pid)):
            pass
        c.send_signal(signal.SIGSTOP)
        if c.poll() is not None:
            raise Skip("the check was too quick")
        time.sleep(0.05)  # it had opened the directory, and locks it next
        expect(any(h == db or h == db + "/lock" for h in held_by(c.pid)), True, "what the check holds")
        (p.root / "db" / "lock").unlink()
        p.refused(p.root, "while a check runs")
    finally:
        if c.poll() is None:
            c.send_signal(signal.SIGCONT)
        c.wait(60)
    p.server.start()
    p.still_sound()


@check
def owners_that_are_gone_hinder_nobody(p):
    for i in range(3):
        p.server.kill()
        p.server.start()
    p.server.kill()
    owner = p.root / "db" / "owner"
    record = owner.read_text()
    lines = dict(line.split(" ", 1) for line in record.splitlines()[1:])
    expect({"boot", "pid", "started", "space", "directory"} <= set(lines), True, record)
    # Not even the record of a process that runs, if it is another than the one that wrote it, or of another boot or directory.
    alive = os.getpid()
    for old, new in ((f"pid {lines['pid']}", f"pid {alive}"), ("boot ", "boot 0"), ("", "")):
        owner.write_text(record.replace(old, new) if old else "")
        p.server.start()
        p.server.kill()
    owner.unlink()
    p.server.start()
    p.still_sound()
    expect(owner.exists(), False, "a clean stop leaves no record")


@check
def a_copy_belongs_to_nobody(p):
    p.server.exec("checkpoint create")
    copy = p.top / "copy"
    shutil.copytree(p.root, copy)
    p.server.exec("checkpoint release")
    with p.new(copy) as s:
        expect(s.rows("select count() from t"), [[1]], "the copy")
    p.still_sound()


@check
def a_record_says_whose_directory_it_is(p):
    """Where locks do not hold, the record alone refuses."""
    pid = p.server.process.pid
    code, out = p.run("-d", p.root)
    expect((code, f"process {pid}" in out), (1, True), out[-300:])
    p.still_sound()


def in_a_place(f, binary):
    with Place(binary) as p:
        f(p)


def main():
    suite = Suite(__doc__)
    for f in CHECKS:
        if suite.wants(f.__name__):
            suite.one(f.__name__, in_a_place, f, suite.o.binary or TOP / "build/release/almanac")
    suite.close()


if __name__ == "__main__":
    main()
