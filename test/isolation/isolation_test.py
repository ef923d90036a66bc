#!/usr/bin/env python3
"""The isolation that docs/sql/transactions.md promises, checked in the manner of Jepsen's Elle: clients of all interfaces write and read the same lists and
registers in several tables, the server is killed now and then, and checker.py looks for what may not be in their history.

    isolation_test.py [--nightly] [--seconds S] [--seed N] [--binary PATH] [--history FILE]

It begins with the checker itself: histories with planted violations (planted.py), and clients that lie about a sound server (lies.py).
--history looks at the history of a round that failed once more.
"""
import argparse, collections, random, sys, time

import planted
from changes import Changer, Refresher
from checker import ALLOWED, FORBIDDEN, check
from clients import Http, Lines, Pg, PgBlock, PgStatement, PgText, Stream, World, read_all
from history import AWAY, CLEAR, DROP, FAIL, INFO, OK, REFRESH, VIEW, load, save
from lib.checks import given, print_again, relative
from lib.pgclient import query
from lib.server import Server, TOP
from lies import LIES
from statements import TABLES, create

CLIENTS = (PgBlock, PgBlock, PgBlock, PgText, PgStatement, Http, Lines, Stream)
# heads so small, and so many checkpoints, that rows are in logs, heads and parts at any time
ENV = {"ALMANAC_STORAGE_TABLE_HEAD_BYTES_MAX": "64k", "ALMANAC_STORAGE_CHECKPOINT_WAL_BYTES": "1m", "ALMANAC_WAL_SEGMENT_SIZE": "1m"}
CHANGES = {VIEW: "views read", REFRESH: "refreshes", CLEAR: "emptied", DROP: "dropped", AWAY: "renamed"}
FOLDER = TOP / "build" / "isolation"


class Mover(Pg):
    """Moves partitions between forms under the clients; no row changes by it."""
    interface = "maintenance"

    def once(self):
        table = self.rng.choice(tuple(TABLES))
        day = f"'2026-01-0{self.rng.randint(1, 4)}'"
        to = self.rng.choice(("squash partitions", f"convert partition to parquet list {day}", f"convert partition to native list {day}"))
        self.link.error(query(f"alter table {table} {to}"))  # it may have nothing to do
        self.world.ending.wait(self.rng.random() * 0.3)


def start(server):
    server.start()
    server.generation = getattr(server, "generation", 0) + 1


def killer(world, rng, seconds, every):
    """Kills the server until the time is over; returns the tick at which each process was dead."""
    dead, end = {}, time.monotonic() + seconds
    while True:
        pause = rng.uniform(0.4, 1.6) * every if every else seconds + 1
        if time.monotonic() + pause >= end:
            time.sleep(max(0, end - time.monotonic()))
            return dead
        time.sleep(pause)
        world.up.clear()
        world.server.kill()
        dead[world.server.generation] = world.tick()
        start(world.server)
        world.up.set()


def round_of(server, seed, seconds, every, clients, made, more=0):
    """A history, what went wrong beside it, and how often the server was killed."""
    views = any(issubclass(c, Refresher) for c in clients)
    create(server, made, more, views)
    world = World(server, seed, made)
    world.views = views
    threads = [c(world, i) for i, c in enumerate(clients)]
    for t in threads:
        t.start()
    dead = killer(world, random.Random(f"{seed} kills"), seconds, every)
    world.ending.set()
    for t in threads:
        t.join(90)
        if t.is_alive():
            world.problems.append(f"{type(t).__name__} does not end")
    read_all(world)
    for t in world.history:
        if t.status == INFO:
            nothing_after(t, dead.get(t.generation))
    return world, len(dead)


def nothing_after(t, dead):
    """A process does nothing after its end, and what was sent to it then did not happen."""
    t.commit_completed = dead
    if dead is not None and dead < t.commit_invoked:
        t.status = FAIL


class Totals:
    def __init__(self):
        self.counts, self.anomalies = collections.Counter(), collections.Counter()

    def add(self, world, kills, checked):
        self.counts.update(rounds=1, kills=kills, transactions=len(world.history), conflicts=world.conflicts, absences=world.absences)
        for t in world.history:
            if t.interface == "stream":
                self.counts["by stream"] += t.number in checked.committed
                continue
            self.counts[{OK: "committed", FAIL: "rolled back", INFO: "unknown"}[t.status]] += 1
            self.counts["statements"] += len(t.statements)
            self.counts["reads of keys"] += sum(len(s.reads) for s in t.statements)
            self.counts["copies read"] += sum(len(s.copies) for s in t.statements)
            self.counts.update(CHANGES[s.kind] for s in t.statements if t.status == OK and s.kind in CHANGES)
            self.counts[f"by {t.interface}"] += t.status == OK
            self.counts["unknown, seen"] += t.status == INFO and t.number in checked.committed
        self.anomalies.update(checked.counts)

    def say(self):
        print("isolation:", ", ".join(f"{k} {v}" for k, v in self.counts.items()))
        print("forbidden:", ", ".join(f"{k} {self.anomalies[k]}" for k in FORBIDDEN))
        print("allowed:", ", ".join(f"{k} {self.anomalies[k]}" for k in ALLOWED), flush=True)


def honest(server, seed, seconds, every, made, more, totals):
    """A round without lies; True if nothing forbidden was found."""
    world, kills = round_of(server, seed, seconds, every, (*CLIENTS, Mover, Changer, Refresher), made, more)
    checked = check(world.history)
    totals.add(world, kills, checked)
    bad = checked.forbidden()
    for text in world.problems[:5]:
        print(f"FAILED round {seed}: {text}")
    if bad:
        FOLDER.mkdir(parents=True, exist_ok=True)
        save(FOLDER / f"{seed}.jsonl", world.history)
        print(f"FAILED round {seed}, its history is {FOLDER / f'{seed}.jsonl'}")
        print_again("--history", relative(FOLDER / f"{seed}.jsonl"))
        tell(checked, bad)
    return not bad and not world.problems


def tell(checked, bad):
    for name, n in bad.items():
        print(f"  {name} ({FORBIDDEN[name]}): {n}")
        for text in checked.texts[name]:
            print(f"    {text[:4000]}")


def lies(server, seed, seconds, tries=8):
    """(passed, failed): each lie is found. A slow machine may need more than one round for it."""
    passed = failed = 0
    for one, beside, copies in LIES:
        for i in range(tries):
            world, _ = round_of(server, f"{seed} {one.__name__} {i}", seconds, 0, (*beside, *[one] * copies), 60)
            found = set(check(world.history).forbidden())
            if found & one.finds or world.problems:
                break
        if found & one.finds and not world.problems:
            passed += 1
        else:
            failed += 1
            print(f"FAILED {one.__name__} ({one.__doc__}): found {sorted(found)}, expected one of {sorted(one.finds)}; {world.problems[:3]}")
    return passed, failed


def again(path):
    checked = check(load(path))
    tell(checked, checked.forbidden())
    print(dict(checked.counts))
    return bool(checked.forbidden())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--nightly", action="store_true", help="an hour")
    ap.add_argument("--seconds", type=float)
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument("--binary")
    ap.add_argument("--history")
    o = ap.parse_args()
    if o.history:
        sys.exit(again(o.history))
    seconds = o.seconds or (3600 if o.nightly else 3.5)
    seed = o.seed if o.seed is not None else random.randrange(10**6)
    print(f"seed {seed}")
    passed, failed = planted.run()
    server, totals, length = Server(binary=o.binary, env=ENV), Totals(), min(seconds, 20)
    start(server)
    try:
        p, f = lies(server, seed, 0.5)
        passed, failed = passed + p, failed + f
        end = time.monotonic() + seconds
        for i in range(10**9):
            good = honest(server, f"{seed}-{i}", length, 2 if length < 10 else 5, 1200, 500_000 if i % 3 == 2 else 0, totals)
            passed, failed = passed + good, failed + (not good)
            if i % 10 == 9:
                totals.say()
            if time.monotonic() + length / 2 > end or failed > 3:
                break
        totals.say()
        for what in ("kills", "conflicts", "views read", "refreshes", "copies read", *(["unknown", "absences", *CHANGES.values()] if seconds >= 60 else ()), *(f"by {c.interface}" for c in CLIENTS)):
            if totals.counts[what] == 0:
                print(f"FAILED the run has no {what}")
                failed += 1
    finally:
        server.__exit__(*sys.exc_info())
    if failed:
        print_again(*given(ap, o, leave=("seed",)), "--seed", str(seed))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
