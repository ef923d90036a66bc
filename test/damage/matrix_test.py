#!/usr/bin/env python3
"""Every kind of file of a data directory, damaged in every way, at every time, under every action: no answer is wrong, and no error comes from outside of the
struck table.

A cell is a kind of file (kinds.py), a damage, a time (the server is stopped; it runs and has not read the file; it has read all of it) and an action (read, rewrite,
backup, restart). Each works on its own copy of a small database of which every answer is known (known.py), and compares all of them. What else is allowed, and
why, is the table of allowed.py. Without arguments it takes a sample, of the cells that fit in some seconds, in an order by a seed that is printed; --nightly takes all
cells, each with several places of the file. A cell is what its name says: the place is the seed of all that is left to chance in it.

    matrix_test.py [--binary FILE] [--nightly] [--seed N] [--cells N] [--seconds N] [--places N] [--only KIND/DAMAGE/TIME/ACTION[/PLACE]] [-v]
"""
import argparse, collections, multiprocessing, os, random, sys, threading, time, traceback

import cells, kinds, known as k, planted, stored
from lib.checks import given, print_again
from lib.server import Server

DBS = None


def run(cell):
    """(cell, outcome or None, what is wrong)"""
    kind, damage, when, action, place = cell
    of_stored = kinds.KINDS[kind].whose in (kinds.BACKUP, kinds.ARCHIVE)
    one = (stored.Stored if of_stored else cells.Cell)(DBS, kinds.KINDS[kind], damage, when, action, place)
    try:
        return cell, one.run(), None
    except cells.Violation as e:
        return cell, None, str(e)
    except Exception:
        return cell, None, f"{one.name}: {traceback.format_exc()[-1500:]}"


def find(i):
    return planted.is_found(DBS, i)


def every_cell(only, places):
    for i, kind in enumerate(kinds.KINDS):
        for damage in kinds.DAMAGES:
            for when in cells.TIMES:
                for action in cells.ACTIONS:
                    for place in places:
                        name = (kind.name, damage, when, action, str(place))
                        if all(part in ("", "*", got) for part, got in zip(only, name)):
                            yield i, damage, when, action, place


def in_turn(cells_wanted, jobs, seconds):
    """Gives out cells until the time is over (0: all), no more than the processes work on; the caller releases the semaphore for each result."""
    free, end = threading.Semaphore(2 * jobs), time.monotonic() + seconds

    def take():
        for cell in cells_wanted:
            free.acquire()
            if seconds and time.monotonic() > end:
                return
            yield cell
    return take(), free


def table(counts):
    """Outcomes of each kind."""
    lines = [f"{'':34}" + "".join(f"{outcome:>16}" for outcome in (*cells.OUTCOMES, "violation"))]
    for name in [*(kind.name for kind in kinds.KINDS), "all"]:
        row = counts[name]
        if sum(row.values()):
            lines.append(f"{name:34}" + "".join(f"{row[outcome]:16}" for outcome in (*cells.OUTCOMES, None)))
    return "\n".join(lines)


def main():
    global DBS
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary")
    ap.add_argument("--nightly", action="store_true")
    ap.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    ap.add_argument("--cells", type=int, default=0, help="no more than that many")
    ap.add_argument("--seconds", type=float, default=12, help="of the sample")
    ap.add_argument("--places", type=int, default=0)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--only", default="")
    ap.add_argument("-v", action="store_true", dest="verbose")
    o = ap.parse_args()
    places = range(o.seed, o.seed + (o.places or (3 if o.nightly else 1)))
    only = o.only.split("/")
    if len(only) == 5 and only[4] not in ("", "*"):
        places = [int(only[4])]
    wanted = list(every_cell(only, places))
    random.Random(o.seed).shuffle(wanted)
    seconds = 0 if o.nightly or o.only or o.cells else o.seconds
    if o.cells:
        wanted = wanted[:o.cells]
    print(f"seed {o.seed}, {len(wanted)} cells" + (f", those of {seconds:g} seconds" if seconds else ""), flush=True)
    Server.program = o.binary
    DBS = k.Databases(o.binary)
    counts, passed, failed = collections.defaultdict(collections.Counter), 0, 0
    try:
        with multiprocessing.get_context("fork").Pool(o.jobs) as pool:
            for what, found in [] if o.only else pool.imap_unordered(find, range(len(planted.cases(DBS)))):
                passed, failed = passed + found, failed + (not found)
                if not found:
                    print(f"planted, and not found: {what}", flush=True)
                    print_again(*given(ap, o))
            cells_taken, free = in_turn(wanted, o.jobs, seconds)
            for cell, outcome, why in pool.imap_unordered(run, cells_taken):
                free.release()
                for name in (kinds.KINDS[cell[0]].name, "all"):
                    counts[name][outcome] += 1
                passed, failed = passed + (why is None), failed + (why is not None)
                if why is not None:
                    print(why, flush=True)
                    print_again(*given(ap, o, leave=("seed", "cells", "seconds", "only")), "--only", "/".join(map(str, (kinds.KINDS[cell[0]].name, *cell[1:]))))
                elif o.verbose:
                    print(kinds.KINDS[cell[0]].name, *cell[1:], outcome, sep="/", flush=True)
    finally:
        DBS.remove()
    print(table(counts))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
