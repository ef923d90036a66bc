#!/usr/bin/env python3
"""The prompt of `almanac sql` at a terminal (a pty): statements over several lines, editing, history,
completion, commands, Ctrl-C at the prompt and in a statement, Ctrl-D.

    prompt_test.py [--nightly]
"""
import os, pathlib, pty, re, select, signal, tempfile, termios, time

from cli_test import PROGRAM, TABLE, Client, OnBoth
from lib.checks import CHECKS, check, expect
from lib.server import Server

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x07\r]")


class Prompt:
    """with Prompt(client, folder) as p: p.ask("select 1;", "1 row"). `folder` holds the history."""

    def __init__(self, client, folder, password="quest"):
        env = {**client.env, "TERM": "xterm", "ALMANAC_HISTORY": f"{folder}/history", "LC_ALL": "C.UTF-8"}
        if password is None:
            del env["ALMANAC_PASSWORD"]
        self.folder = folder
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM, [PROGRAM, "sql", *client.where], env)
        self.text = ""
        self.status = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def until(self, wanted, seconds=20):
        """What comes up to the text `wanted`, which is taken too."""
        end = time.monotonic() + seconds
        while wanted not in self.text:
            if time.monotonic() > end or not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {wanted!r} in {self.text!r}")
            try:
                piece = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                piece = ""
            if not piece:
                raise AssertionError(f"ended before {wanted!r}: {self.text!r}")
            self.text = ESCAPES.sub("", self.text + piece)
        before, _, self.text = self.text.partition(wanted)
        return before

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def ask(self, line, *wanted):
        self.type(line + "\n")
        return [self.until(w) for w in wanted]

    def ready(self, prompt="almanac> "):
        """The prompt is there, and the terminal gives each key to the editor: between the two, a Ctrl-D is lost."""
        self.until(prompt)
        end = time.monotonic() + 20
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            if time.monotonic() > end:
                raise AssertionError("the terminal gives lines, not keys")
            time.sleep(0.001)

    def leave(self, keys="\x04"):
        self.type(keys)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
        raise AssertionError("it does not end")


@check
def statements_over_lines(p):
    p.ask("select 40 +", "-> ")
    p.ask("2 answer; select 'x' letter;", " answer\n", "42\n(1 row)", " letter\n", "(1 row)")


@check
def errors_and_on(p):
    p.ask("select", "-> ")
    p.ask("nope from t;", "ERROR 42703", "LINE 2: nope from t", "^", "almanac> ")
    p.ask("select 7 seven;", "(1 row)")


@check
def interrupt_at_the_prompt(p):
    p.type("select 1,\n")
    p.ready("-> ")
    p.type("2, 3")
    p.until("2, 3")
    time.sleep(0.1)  # it waits for the next key
    p.type("\x03")
    p.ready()
    p.ask("select 5 five;", " five\n", "(1 row)")


@check
def interrupt_of_a_statement(p):
    for _ in range(2):
        p.type("select sum(a.x * b.x) from long_sequence(10000000) a cross join long_sequence(1000000) b;\n")
        time.sleep(0.7)
        p.type("\x03")
        p.until("cancel")
        p.ready()
    p.ask("select 6 six;", " six\n", "(1 row)")


@check
def editing_and_history(p):
    p.ask("select 11 a;", "(1 row)")
    p.ready()
    p.ask("select 12 b;", "(1 row)")
    p.ready()
    p.type("\x1b[A\x1b[A\n")  # up, up: the one before the last
    p.until("(1 row)")
    p.ready()
    p.type("elect 13 c;\x01s\n")  # to the beginning of the line
    p.until(" c\n")
    p.until("(1 row)")


@check
def completion(p):
    for typed, word in (("SELE\t 1 kw;", "SELECT"), ("select long_na\t from a_table_to_complete;", "long_name_to_complete"),
                        ("select 1 from a_table\t;", "a_table_to_complete"), ("select timestamp_flo\t", "timestamp_floor")):
        p.type(typed)
        p.until(word)
        time.sleep(0.3)  # Ctrl-C is for a prompt that waits
        p.type("\x03")
        p.ready()


@check
def commands(p):
    p.ask("\\?", "\\watch")
    p.ready()
    p.ask("\\dt", "a_table_to_complete", "rows)")
    p.ready()
    p.ask("\\d t", " ts", "TIMESTAMP", "rows)")
    p.ready()
    p.ask('\\d no"such', "ERROR")
    p.ready()
    p.ask("\\format json", "almanac> ")
    p.ask("select 3 three;", '{"three":3}')
    p.ready()
    p.ask("\\format nope", "no format 'nope'")
    p.ready()
    p.ask("\\format table", "almanac> ")
    p.ask("\\timing", "timing is on")
    p.ask("select 4;", "Time: ", " ms")
    p.ask("\\timing off", "timing is off")
    p.ready()
    p.ask("\\zzz", "no command \\zzz")
    p.ready()


@check
def files(p):
    pathlib.Path(p.folder, "script.sql").write_text("select 'from a file' v;\nselect nope;\n")
    p.ask(f"\\i {p.folder}/script.sql", " from a file\n", "script.sql:2: ERROR")
    p.ready()
    p.ask("\\i /nonexistent", "No such file")
    p.ready()
    p.ask(f"\\o {p.folder}/out", "almanac> ")
    p.ask("select 99 into_file;", "almanac> ")
    p.ask("\\o", "almanac> ")
    expect("99" in pathlib.Path(p.folder, "out").read_text(), True)


@check
def watch(p):
    p.ask("select 8 eight;", "(1 row)")
    p.ready()
    p.ask("\\watch 0.1", *["(1 row)"] * 3)
    p.type("\x03")
    p.ready()


def at_a_prompt(f, client):
    with tempfile.TemporaryDirectory(prefix="almanac-prompt-") as folder, Prompt(client, folder) as p:
        p.ready()
        f(p)


def history_lasts(client):
    with tempfile.TemporaryDirectory(prefix="almanac-prompt-") as folder:
        with Prompt(client, folder) as p:
            p.ready()
            p.ask("select 77 remembered;", "(1 row)")
            p.ready()
            expect(p.leave(), 0)
        expect(os.stat(f"{folder}/history").st_mode & 0o077, 0)
        with Prompt(client, folder) as p:
            p.ready()
            p.type("\x1b[A\n")
            p.until(" remembered\n")
            p.ready()
            expect(p.leave("\\q\n"), 0)


def asks_for_password(client):
    with tempfile.TemporaryDirectory() as folder, Prompt(client, folder, password=None) as p:
        p.until("Password: ")
        p.type("quest\n")
        p.ready()
        expect("quest" in p.text, False)
        expect(p.leave(), 0)


def main():
    suite = OnBoth(__doc__)
    with Server() as s, tempfile.TemporaryDirectory() as data:
        for where, client in (("server", Client(server=s)), ("directory", Client(folder=data))):
            suite.one(f"{where}: set-up", client.ok, "-c", TABLE + "create table a_table_to_complete (long_name_to_complete int)")
            for f in CHECKS:
                if suite.wants(f.__name__):
                    suite.one(f"{where}: {f.__name__}", at_a_prompt, f, client)
            if suite.wants("history_lasts"):
                suite.one(f"{where}: history_lasts", history_lasts, client)
        if suite.wants("asks_for_password"):
            suite.one("asks_for_password", asks_for_password, Client(server=s))
    suite.close()


if __name__ == "__main__":
    main()
