#!/usr/bin/env python3
"""Kill rounds: writers of every kind at once, while the server is killed with SIGKILL at a random moment.

In every third round the server that recovers is killed, too, before or soon after it serves.

After each restart, which needs nobody:
- Every acknowledged request is there, once, with its values; of every other one all rows of a table are there or none, and of
  a line protocol request or a transaction all tables or none. What was rolled back is not there. A request that was there, or
  not, after an earlier round still is.
- Lines over TCP, which nothing acknowledges: the beginning of what was sent on each connection, at least what was seen.
- With DEDUP UPSERT KEYS each key is there once, with the value of the last request; also when the requests are sent again.
- A table with UPDATE and DELETE is as its client knows it, before or after the one statement or transaction under way.
- Backups and copies under a held checkpoint are made all the time: the newest backup that is there restores, with every
  request that was acknowledged before it began, and with the archived log everything at the end.
- A materialized view that follows a table is its query again, once it has caught up.
- `almanac check` finds the directory sound.

Method: rows say which request they are of (kill_rows.py); the journal of requests is kept outside the server. Every EPOCH
rounds a new directory begins. Options: --nightly (200 rounds instead of 6), --rounds N, --seed N, --binary FILE; --quick writes
for less time before each kill and restores a backup in every eighth round only, for runs of thousands of rounds.
"""
import argparse, random, statistics, subprocess, sys, tempfile, threading, time

from kill_rows import COLUMNS, WRONG, Journal
from kill_writers import PLAIN, PLAIN_WRITERS, Edited, Editor, Http, Keys, Upsert
from lib.checks import given, print_again
from lib.server import Server

EPOCH = 20
KEYS = {"few": 40, "many": 2500}  # clients of table d and how many keys each has
# small limits, so that flushes, checkpoints, recycled segments and bulk loads happen within a round too
ENV = {"ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "1m", "ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "2m",
       "ALMANAC_WAL_SEGMENT_SIZE": "1m", "ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backup", "ALMANAC_COPY_LOG_BYTES_MAX": "64k",
       "ALMANAC_WAL_ARCHIVE_DIR": "archive", "ALMANAC_WAL_ARCHIVE_INTERVAL": "200ms"}
VIEW = "select ts, w, count() n, sum(r) r, max(v) m from k sample by 1h"
TABLES = [f"create table k ({COLUMNS}) timestamp(ts) partition by day",
          f"create table l ({COLUMNS}) timestamp(ts) partition by month",
          f"create table t ({COLUMNS}) timestamp(ts) partition by week",
          f"create table d ({COLUMNS}) timestamp(ts) partition by month dedup upsert keys(ts, w, i)",
          "create table u (ts timestamp, n long, v long) timestamp(ts) partition by month",
          f"create materialized view kv as ({VIEW}) partition by day"]


class Keeper(threading.Thread):
    """Backups, and checkpoints that are held. `begun` has the requests that were acknowledged before each backup began."""

    def __init__(self, server, state, ending):
        super().__init__(daemon=True)
        self.server, self.state, self.ending, self.problems = server, state, ending, []

    def run(self):
        try:
            self.server.get("/exec", query="checkpoint release")  # one that the kill before left
            while not self.ending.is_set():
                asked = list(self.state.journal.asked.values())
                self.state.begun.append(({t: n for t, (n, _) in self.state.journal.settled.items()}, [a for a in asked if a.acked]))
                for sql in ("backup database to 'k'", "checkpoint create", "checkpoint release"):
                    self.server.exec(sql)
                    time.sleep(0.03)
        except Exception as e:
            if not self.ending.is_set():
                self.problems.append(f"keeper: {e}")


# ------------------------------------------------------------------------------------------------ checks

def requests(server, table, first):
    """{request: (rows, places, first place, last place, rows that are wrong)} of the requests from `first` on"""
    sql = f"select r, count(), count_distinct(i), min(i), max(i), {WRONG} from {table} where r >= {first}"
    return {row[0]: tuple(row[1:]) for row in server.rows(sql)}


def whole(n):
    return n, n, 0, n - 1, 0


def check_request(a, found):
    there = [a.r in found[t] for t in a.tables]
    torn = [f"{t}: {found[t][a.r]} of {n} rows" for t, n in a.tables.items() if a.r in found[t] and found[t][a.r] != whole(n)]
    if torn:
        return [f"{a.kind}: request {a.r} is torn: {torn}"]
    if a.acked and not all(there):
        return [f"{a.kind}: acknowledged request {a.r} over {a.tables} is lost: {there}"]
    if any(there) != all(there):
        return [f"{a.kind}: request {a.r} over {a.tables} is there in part: {there}"]
    return [f"{a.kind}: request {a.r} was rolled back and is there"] if a.never and any(there) else []


def check_streams(journal, found):
    bad = []
    for r, (sent, seen) in journal.streams.items():
        n = found.get(r, (0,))[0]
        if n and found[r] != whole(n) or not seen <= n <= sent:
            bad.append(f"line_tcp: of {sent} lines {seen} were seen; now {found.get(r)}")
    return bad


def check_settled(server, journal):
    """Earlier rounds are as they were."""
    bad = []
    for table, want in journal.settled.items():
        n, total = server.rows(f"select count(), sum(r) from {table} where r < {journal.first}")[0]
        if (n, total or 0) != want:
            bad.append(f"{table}: {n} rows of earlier rounds, there were {want[0]}")
    return bad


def check_requests(server, journal):
    """Requests of this round, which are settled then."""
    found = {t: requests(server, t, journal.first) for t in (*PLAIN, "t")}
    bad = [b for a in list(journal.asked.values()) for b in check_request(a, found)][:5]
    bad += check_streams(journal, found["t"]) + check_settled(server, journal)
    known = journal.asked.keys() | journal.streams.keys()
    strange = {r for rows in found.values() for r in rows} - known
    if strange:
        bad.append(f"rows of requests that nobody made: {sorted(strange)[:5]}")
    journal.settle({t: {r: row[0] for r, row in rows.items()} for t, rows in found.items()})
    return bad, found


def key_rows(server, keys):
    return {row[0]: row[1:] for row in
            server.rows(f"select i, count(), max(r), first(ts)::long, {WRONG} from d where w = '{keys.kind}'")}


def check_keys(server, keys):
    """Each key once, as the last acknowledged request has it, or all keys of the one under way as that has them."""
    have = key_rows(server, keys)
    r, on_way = keys.pending or (0, [])
    took = bool(on_way) and all(i in have and have[i][1] == r for i in on_way)
    if not took and any(row[1] == r for row in have.values()):
        return [f"upsert: request {r} of {keys.kind} is torn"]
    keys.settle(took)
    want = {i: [1, last, keys.times[i], 0] for i, last in keys.known.items()}
    wrong = [(i, have.get(i), want.get(i)) for i in have.keys() | want.keys() if have.get(i) != want.get(i)]
    return [f"upsert: {len(wrong)} keys of {keys.kind} are wrong, (key, is, should be): {wrong[:3]}"] if wrong else []


def send_again(server, state):
    """As clients do that lost their connection."""
    bad = []
    for keys in state.keys:
        Upsert(server, state.journal, threading.Event(), keys).again()
        bad += check_keys(server, keys)
    return bad


def check_edited(server, model, found):
    """The table that changes, with the request beside it in table l."""
    have = {n: v for n, v in server.rows("select n, v from u")}
    count = server.rows("select count() from u")[0][0]
    if count != len(have):
        return [f"edit: {count} rows, {len(have)} of them different"]
    beside = model.beside in found["l"] if model.beside else None
    if model.after is not None and have == model.after and beside is not False and (have != model.rows or beside):
        model.rows, beside = model.after, None
    same = have == model.rows and not (model.after is not None and beside)
    if not same:
        gone, more = [n for n in model.rows if n not in have], [n for n in have if n not in model.rows]
        return [f"edit: the table is neither as before nor as after: {len(gone)} rows are gone, {len(more)} more; "
                f"request {model.beside} in l is there: {beside}"]
    model.after, model.beside = None, 0
    return []


def check_backup(server, begun):
    """The directory is sound, and the newest backup in it opens and has its rows."""
    folder = server.root / "backup" / "k"
    made = sorted(int(p.name[:8]) for p in folder.glob("*.manifest")) if folder.exists() else []
    if not made:
        return []
    found = almanac(server, "check", folder)
    if found.returncode:
        return [f"almanac check of the backups: {found.stdout}{found.stderr}"]
    with tempfile.TemporaryDirectory() as d:
        done = almanac(server, "restore", folder, "TO", f"{d}/r")
        if done.returncode:
            return [f"restore: {done.stderr}"]
        with Server(binary=server.binary, root=f"{d}/r") as s:
            # backups that were cut off have no number, so number n began no earlier than the n-th that began
            settled, asked = begun[made[-1] - 1]
            first = min([a.r for a in asked], default=0)
            have = {t: requests(s, t, first) for t in PLAIN}
            bad = [f"backup {made[-1]}: request {a.r} of {a.kind} is missing in {t}" for a in asked for t, n in a.tables.items()
                   if have[t].get(a.r) != whole(n)][:3]
            return bad + [f"backup {made[-1]}: less than {n} rows in {t}" for t, n in settled.items()
                          if s.rows(f"select count() from {t}")[0][0] < n]


def check_archive(server, state):
    """The newest backup and the archived log make up everything. The server has stopped."""
    with tempfile.TemporaryDirectory() as d:
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
        done = almanac(server, "restore", server.root / "backup" / "k", "TO", f"{d}/r", "--until", until, "--allow-earlier")
        if done.returncode:
            return [f"restore --until: {done.stderr}"]
        with Server(binary=server.binary, root=f"{d}/r") as s:
            bad = check_settled(s, state.journal) + check_edited(s, state.edited, {"l": {}})
            return ["restored: " + b for b in bad + [b for k in state.keys for b in check_keys(s, k)]]


def check_view(server):
    """As soon as it has seen everything, it holds what its query gives."""
    for _ in range(6000):
        state = server.rows("select view_status, refresh_base_table_txn = base_table_txn from materialized_views()")[0]
        if state == ["valid", True]:
            break
        time.sleep(0.01)
    want, got = (server.rows(f"select * from ({q}) order by ts, w") for q in (VIEW, "kv"))
    return [] if want == got else [f"the view has {len(got)} rows, its query {len(want)}; state {state}"]


def almanac(server, *args):
    return subprocess.run([server.binary, *map(str, args)], capture_output=True, text=True)


def check_files(server, killed):
    """A kill may leave the beginning of a record that was never acknowledged: told, and no damage."""
    found = almanac(server, "check", "-d", server.root)
    lines = [line for line in found.stdout.splitlines() if not line.startswith("note: ")]
    findings = [line for line in lines[:-1] if not (killed and line.startswith("the log ends within a record"))]
    if found.returncode == 0 or (found.returncode == 1 and killed and not findings):
        return []
    return [f"almanac check: {findings} {found.stderr}"[:600]]


# ------------------------------------------------------------------------------------------------ rounds

class State:
    """What is known outside the server of one directory."""

    def __init__(self, seed):
        self.journal, self.begun, self.edited = Journal(seed), [], Edited()
        self.keys = [Keys(kind, n, random.Random(f"{seed} {kind}")) for kind, n in KEYS.items()]


def write_until_killed(server, state, seconds):
    ending = threading.Event()
    writers = [w(server, state.journal, ending) for w in PLAIN_WRITERS]
    writers += [Upsert(server, state.journal, ending, keys) for keys in state.keys]
    writers += [Editor(server, state.journal, ending, state.edited), Keeper(server, state, ending)]
    for w in writers:
        w.start()
    time.sleep(seconds)
    ending.set()
    server.kill()
    for w in writers:
        w.join(60)
    return [p for w in writers for p in w.problems] + [f"{w.kind}: never ends" for w in writers if w.is_alive()]


def kill_recovery(server, rng):
    """Recovery begins again from what one that was cut off has left. 0.08 s: a little longer than most starts take."""
    server.launch()
    time.sleep(rng.uniform(0, 0.08))
    server.kill()


def one_round(server, state, rng, quick):
    """Problems found; empty: none."""
    bad = write_until_killed(server, state, rng.uniform(0.02, 0.4) if quick else rng.uniform(0.1, 1.2))
    bad += check_files(server, killed=True)
    for _ in range(rng.choice((0, 0, 1))):
        kill_recovery(server, rng)
    server.start()
    more, found = check_requests(server, state.journal)
    bad += more + check_edited(server, state.edited, found)
    bad += [b for keys in state.keys for b in check_keys(server, keys)] + send_again(server, state)
    bad += check_view(server)
    return bad if quick and rng.randrange(8) else bad + check_backup(server, state.begun)


def report(what, bad):
    print(what + "".join(f"\n  {b}" for b in bad), flush=True)
    return not bad


def epoch(o, number, rounds, rng, restarts):
    """Some rounds with one directory: (passed, failed)"""
    state, passed = State(f"{o.seed} {number}"), 0
    with Server(binary=o.binary, env=ENV) as server:
        for sql in TABLES:
            server.exec(sql)
        server.exec("backup database to 'k'")
        state.begun.append(({}, []))
        for n in range(rounds):
            bad = one_round(server, state, rng, o.quick)
            restarts.append(server.start_seconds)
            if not report(f"round {number * EPOCH + n + 1}: {state.journal.acked_rows} rows acknowledged, "
                          f"restart {server.start_seconds:.2f} s", bad):
                print(f"kept: {keep(server)}")
                return passed, 1
            passed += 1
        server.stop()
        bad = check_files(server, killed=False) + check_archive(server, state)
        report("stopped", bad)
        return passed + (not bad), int(bool(bad))


def keep(server):
    server.own = False
    return server.root


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--rounds", type=int)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--binary")
    ap.add_argument("--seed", type=int, default=20260105)
    o = ap.parse_args()
    rounds = o.rounds or (200 if o.nightly else 6)
    rng, restarts, passed, failed = random.Random(o.seed), [], 0, 0
    for number in range((rounds + EPOCH - 1) // EPOCH):
        p, f = epoch(o, number, min(EPOCH, rounds - number * EPOCH), rng, restarts)
        passed, failed = passed + p, failed + f
        if failed:
            break
    if failed:
        print_again(*given(ap, o, leave=("seed",)), "--seed", str(o.seed))
    print(f"restart: median {statistics.median(restarts):.2f} s, longest {max(restarts):.2f} s, of {len(restarts)}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
