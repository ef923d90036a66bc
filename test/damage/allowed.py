"""What is allowed beside the right answers, and why. All else is a violation.

Of a damaged part reads of its days, of a dictionary reads of its table may fail, by an error that names table and file; that needs no row here. A row is (kinds, damages,
times, actions, what, reason); '*' is all. `what`:

    start refused   a start may fail, by an error that names the file
    cut             the log may end before the damage, if no whole record stands behind it: the state is exactly that behind the record before it
    window          reads of the struck days may be wrong, or end the process, until a rewrite reads them, a backup or a scrub
    unnamed         a statement that reads the struck days may fail without the name of table and file
"""

ROWS = [
    ("catalogue", "*", "*", "*", "start refused", "it says what all tables are, so nothing is served without it"),
    ("lock", "folder", "*", "*", "start refused", "older programs lock this file alone, so nothing is opened that cannot lock it"),
    ("finished segment of the log|last segment of the log|last record of the log", "*", "*", "*", "start refused",
     "a hole in the log takes what came behind it from every table"),
    ("last segment of the log|last record of the log", "bit|zero|truncated|exchanged|of another database|of an older time", "*", "*", "cut",
     "a record that was begun and not acknowledged looks the same"),
    ("native part|overlay|part of a view", "bit|zero|truncated|longer|exchanged|of another database|of an older time", "after", "*", "window",
     "a block is compared with its checksum at its first touch, and its bytes are those of the file from then on"),
    ("native part|overlay|part of a view", "truncated|exchanged|of another database|of an older time", "after", "*", "unnamed",
     "the file became shorter than its map: what was under way and may have read zeros fails, whatever it read"),
]


def allowed(kind, damage, time, action):
    """The set of `what`."""
    fits = lambda column, value: column == "*" or value in column.split("|")
    return {what for kinds, damages, times, actions, what, _ in ROWS
            if fits(kinds, kind) and fits(damages, damage) and fits(times, time) and fits(actions, action)}
