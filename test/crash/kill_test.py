#!/usr/bin/env python3
"""Kill rounds: writers insert over HTTP and PG wire while the server is killed with SIGKILL at a random
moment; after the restart every acknowledged row is there, once, and nothing half of a statement is.

Backups and copies under a held checkpoint are made all the time: the newest backup that is there restores, with
every row that was acknowledged before it began, and with the archived log every row at the end.

A materialized view that follows the table is its query again, once it has caught up.

Method: each writer numbers its rows and keeps the last number that was acknowledged outside the
server. A statement carries ROWS rows, so a torn statement shows as a partial group of numbers.
Options: --nightly (100 rounds instead of 10), --rounds N.
"""
import argparse, pathlib, random, subprocess, sys, tempfile, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server  # noqa: E402

ROWS = 7
WRITERS = 3


def insert_sql(writer, first):
    rows = ",".join(f"({writer},{n},'s{n % 5}',{n}.5,{1700000000000000 + (n * 7919 % 100000) * 1000})"
                    for n in range(first, first + ROWS))
    return f"insert into k (w, n, s, v, ts) values {rows}"


class Writer(threading.Thread):
    def __init__(self, server, number, acked):
        super().__init__(daemon=True)
        self.server, self.number, self.acked, self.stop = server, number, acked, False

    def run(self):
        send = self.pg if self.number == 0 else self.http
        try:
            send()
        except Exception:
            pass  # the server was killed

    def http(self):
        while not self.stop:
            first = self.acked[self.number]["sent"]
            self.acked[self.number]["sent"] += ROWS
            self.server.exec(insert_sql(self.number, first))
            self.acked[self.number]["acked"].append(first)

    def pg(self):
        import psycopg
        with psycopg.connect(self.server.pg_dsn(), autocommit=True) as c:
            while not self.stop:
                first = self.acked[self.number]["sent"]
                self.acked[self.number]["sent"] += ROWS
                c.execute(insert_sql(self.number, first))
                self.acked[self.number]["acked"].append(first)


class Keeper(threading.Thread):
    """Backups, and checkpoints that are held. `begun` has what was acknowledged before each backup began."""

    def __init__(self, server, acked, begun):
        super().__init__(daemon=True)
        self.server, self.acked, self.begun, self.stop = server, acked, begun, False

    def run(self):
        try:
            while not self.stop:
                self.begun.append([list(a["acked"]) for a in self.acked])
                self.server.exec("backup database to 'k'")
                self.server.exec("checkpoint create")
                time.sleep(0.05)
                self.server.exec("checkpoint release")
        except Exception:
            pass  # the server was killed


def check_backup(server, begun):
    """The directory is sound, and the newest backup in it opens and has its rows."""
    folder = server.root / "backup" / "k"
    made = sorted(int(p.name[:8]) for p in folder.glob("*.manifest")) if folder.exists() else []
    if not made:
        return []
    run = lambda *a: subprocess.run([server.binary, *map(str, a)], capture_output=True, text=True)
    found = run("check", folder)
    if found.returncode:
        return [f"almanac check of the backups: {found.stdout}{found.stderr}"]
    with tempfile.TemporaryDirectory() as d:
        done = run("restore", folder, "TO", f"{d}/r")
        if done.returncode:
            return [f"restore: {done.stderr}"]
        with Server(binary=server.binary, root=f"{d}/r") as s:
            # backups that were cut off have no number, so number n began no earlier than the n-th that began
            least = begun[made[-1] - 1]
            have = [{r[0] for r in s.rows(f"select n from k where w = {w}")} for w in range(WRITERS)]
    return [f"backup {made[-1]}: rows of writer {w} from {first} are missing" for w in range(WRITERS)
            for first in least[w] if not have[w].issuperset(range(first, first + ROWS))][:3]


def check_archive(server, acked):
    """The newest backup and the archived log make up everything that was acknowledged. The server has stopped."""
    with tempfile.TemporaryDirectory() as d:
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
        done = subprocess.run([server.binary, "restore", str(server.root / "backup" / "k"), "TO", f"{d}/r", "--until", until],
                              capture_output=True, text=True)
        if done.returncode:
            return [f"restore --until: {done.stderr}"]
        with Server(binary=server.binary, root=f"{d}/r") as s:
            return check(s, acked)


def check(server, acked):
    """Problems found; empty: none."""
    bad = []
    for w in range(WRITERS):
        rows = server.rows(f"select n, s, v from k where w = {w} order by n")
        numbers = [r[0] for r in rows]
        seen = set(numbers)
        if len(seen) != len(numbers):
            bad.append(f"writer {w}: {len(numbers) - len(seen)} rows twice")
        for n, s, v in rows:
            if s != f"s{n % 5}" or v != n + 0.5:
                bad.append(f"writer {w}: row {n} is changed: {s} {v}")
                break
        for first in acked[w]["acked"]:
            if not seen.issuperset(range(first, first + ROWS)):
                bad.append(f"writer {w}: acknowledged rows from {first} are lost")
                break
        for first in range(0, acked[w]["sent"], ROWS):
            n = len(seen & set(range(first, first + ROWS)))
            if n not in (0, ROWS):
                bad.append(f"writer {w}: {n} of {ROWS} rows of the statement at {first}")
                break
    return bad


VIEW = "select ts, w, count() n, sum(n) s, max(v) m from k sample by 1s"


def check_view(server):
    """The same of the view: as soon as it has seen everything, it holds what its query gives."""
    for _ in range(3000):
        state = server.rows("select view_status, refresh_base_table_txn = base_table_txn from materialized_views()")[0]
        if state == ["valid", True]:
            break
        time.sleep(0.01)
    want, got = (server.rows(f"select * from ({q}) order by ts, w") for q in (VIEW, "kv"))
    return [] if want == got else [f"the view has {len(got)} rows, its query {len(want)}; state {state}"]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--rounds", type=int)
    ap.add_argument("--binary")
    ap.add_argument("--seed", type=int, default=20260105)
    o = ap.parse_args()
    rounds = o.rounds or (100 if o.nightly else 10)
    rng = random.Random(o.seed)
    server = Server(binary=o.binary).start()
    # small limits, so that flushes, checkpoints and recycled segments happen within a round too
    server.env = {"ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "1m", "ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "2m",
                  "ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backup",
                  "ALMANAC_WAL_ARCHIVE_DIR": "archive", "ALMANAC_WAL_ARCHIVE_INTERVAL": "200ms"}
    passed = failed = 0
    begun = []
    acked = [{"sent": 0, "acked": []} for _ in range(WRITERS)]
    try:
        server.exec("create table k (w int, n long, s symbol, v double, ts timestamp) timestamp(ts) partition by hour")
        server.exec(f"create materialized view kv as ({VIEW}) partition by day")
        for round_ in range(rounds):
            writers = [Writer(server, w, acked) for w in range(WRITERS)] + [Keeper(server, acked, begun)]
            for w in writers:
                w.start()
            time.sleep(rng.uniform(0.1, 1.2))
            server.kill()
            for w in writers:
                w.stop = True
                w.join(30)
            server.start()
            bad = check(server, acked) + check_view(server) + check_backup(server, begun)
            print(f"round {round_ + 1}: {sum(len(a['acked']) for a in acked) * ROWS} rows acknowledged, "
                  f"restart {server.start_seconds:.2f} s{''.join(chr(10) + '  ' + b for b in bad)}", flush=True)
            passed, failed = passed + (not bad), failed + bool(bad)
            if bad:
                break
        server.stop()
        found = subprocess.run([server.binary, "check", "-d", str(server.root)], capture_output=True, text=True)
        if found.returncode != 0:
            print(f"almanac check: {found.stdout}{found.stderr}")
        lost = check_archive(server, acked)
        print("\n".join(lost))
        passed, failed = passed + (found.returncode == 0) + (not lost), failed + (found.returncode != 0) + bool(lost)
        server.__exit__(None, None, None)
    finally:
        if server.process is not None:
            server.kill()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
