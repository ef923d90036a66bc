"""What is allowed beside the right answers, and why. All else is a violation.

Of a damaged part reads of its days, of a dictionary reads of its table may fail, by an error that names table and file; that needs no row here. A row is (kinds, damages,
times, actions, what, reason); '*' is all. `what`:

    start refused   a start may fail, by an error that names the file
    cut             the log may end before the damage, if no whole record stands behind it: the state is exactly that behind the record before it
    window          reads of the struck days may be wrong, or end the process, until a rewrite reads them, a backup or a scrub
    older           a restore may give the backup before
    backup refused  BACKUP may fail, by an error that says why
    unnamed         a statement that reads the struck days may fail without the name of table and file
"""

ROWS = [
    ("catalogue", "*", "*", "*", "start refused", "it says what all tables are, so nothing is served without it"),
    ("server.conf", "*", "*", "*", "start refused", "a setting that makes no sense is no reason to start with another"),
    ("restoring", "*", "*", "*", "start refused", "that it is there says that the directory is not whole"),
    ("hold|hold of a copy", "*", "*", "*", "start refused", "whether files may go that a copy still needs is not known without it"),
    ("manifest of the newest backup", "deleted|folder", "*", "*", "older",
     "the manifest is the backup: without it the one before is the newest. A directory of such a name is none, as anyone who may write backups can make one"),
    ("manifest of the newest backup", "of another database", "*", "*", "backup refused", "backups of two databases need two directories"),
    ("lock of a backup", "folder", "*", "*", "backup refused", "older programs lock this file alone, so nothing is written that cannot lock it"),
    ("log of a copy", "of another database", "*", "*", "start refused", "whether the catalogue or the log is of elsewhere is not known"),
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
