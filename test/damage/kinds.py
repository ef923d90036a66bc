"""Every kind of file that a data directory has, and every way in which one is damaged (docs/internals/storage.md, sections 1, 15 and 16).

A kind picks a file of a copy of `here` and says whose it is: of some days of a table or view, of a whole table (a dictionary), of the database (the catalogue and
the log), or of nothing whose loss a reader may notice. A damage changes the file, and says what is wrong then.
"""
import shutil

import known as k
from files import DAY, flip, folder, footer_of, natives, overlays, parquets, put, records, segments, write_at, write_over

# Whose a file is.
PART, DICT, DATABASE, COPY, NOTHING, BACKUP, ARCHIVE = "part", "dictionary", "database", "copy", "nothing", "backup", "archive"


class Target:
    """`spans`: (first byte, byte behind the last, days) of the pieces of the file; damage of one place strikes one of them. `partner`: the file that it is exchanged
    with. `sources`: the file that stands for it in another directory."""

    def __init__(self, path, of=None, days=None, spans=None, partner=None, sources=lambda root: None, detached=None):
        self.path, self.of, self.days, self.partner, self.sources, self.detached = path, of, days, partner, sources, detached
        self.spans = spans or [(0, path.stat().st_size, days)]

    def wrong(self, days=None):
        return Wrong(self.path, self.of, self.days if days is None else days, self.detached)


class Wrong:
    """A file that is not as it was written: `of` which table or view, which days of it (None: all), or the day of a detached partition, which nothing reads before it
    is attached."""

    def __init__(self, path, of=None, days=None, detached=None):
        self.path, self.of, self.days, self.detached = path, of, days, detached


class Kind:
    """`prepare` puts the file there, where the directory has none; `base`: the database that is copied; `held`: a checkpoint is held when it is damaged."""

    def __init__(self, name, whose, pick, prepare=None, times=("stopped", "before", "after"), base="here", held=False):
        self.name, self.whose, self.pick, self.prepare, self.times, self.base, self.held = name, whose, pick, prepare, times, base, held


KINDS = []


def kind(name, whose, **more):
    def add(pick):
        KINDS.append(Kind(name, whose, pick, **more))
        return pick
    return add


def table_ids(rng):
    i = rng.randrange(len(k.TABLES))
    return k.TABLES[i], 1 + 2 * i


# ---------------------------------------------------------------------- parts and dictionaries


def native_of(root, name, id, day):
    path, = (p.path for p in natives(root, id) if p.lo // DAY == day - 1)
    return path


@kind("native part", PART)
def native(root, rng):
    name, id = table_ids(rng)
    day, other = rng.sample((k.NATIVE_DAY, k.CHANGED_DAY, 5, 8), 2)
    return Target(native_of(root, name, id, day), name, {day}, partner=Wrong(native_of(root, name, id, other), name, {other}),
                  sources=lambda before: native_of(before, name, id, day))


@kind("overlay", PART)
def overlay(root, rng):
    (name, id), (other, other_id) = table_ids(rng), table_ids(rng)
    return Target(overlays(root, id)[0], name, {k.OVERLAY_DAY}, sources=lambda before: overlays(before, id)[0],
                  partner=Wrong(overlays(root, other_id)[0], other, {k.OVERLAY_DAY}) if other != name else Wrong(native_of(root, name, id, 8), name, {8}))


@kind("Parquet part", PART)
def parquet(root, rng):
    (name, id), (other, other_id) = table_ids(rng), table_ids(rng)
    partner = Wrong(parquets(root, other_id)[0], other, {k.PARQUET_DAY}) if other != name else Wrong(parquets(root, id)[1], name, set(), k.DETACHED_PARQUET_DAY)
    return Target(parquets(root, id)[0], name, {k.PARQUET_DAY}, partner=partner, sources=lambda before: parquets(before, id)[0])


def pieces(path):
    """(first byte, end, days) of the parts in a pack."""
    data, found, at = path.read_bytes(), [], 0
    while (end := data.find(b"ALMPEND1", at) + 8) > 7:
        found.append((at, end, {footer_of(path, data, end).lo // DAY + 1}))
        at = end + -end % 64
    return found


@kind("pack", PART)
def pack(root, rng):
    name, id = table_ids(rng)
    files = sorted(folder(root, id).glob("*.pack"))
    of = lambda path: set().union(*(days for _, _, days in pieces(path)))
    i = rng.randrange(2)
    return Target(files[i], name, of(files[i]), spans=pieces(files[i]), partner=Wrong(files[1 - i], name, of(files[1 - i])),
                  sources=lambda before: sorted(folder(before, id).glob("*.pack"))[0] if i else None)


@kind("part of a view", PART)
def view_part(root, rng):
    name, id = table_ids(rng)
    files = [p.path for p in natives(root, id + 1)]
    view = k.view_of(name)
    return Target(files[0], view, partner=Wrong(files[1], view), sources=lambda before: natives(before, id + 1)[0].path)


@kind("detached native part", PART)
def detached(root, rng):
    name, id = table_ids(rng)
    return Target(native_of(root, name, id, k.DETACHED_DAY), name, set(), detached=k.DETACHED_DAY, partner=Wrong(native_of(root, name, id, 5), name, {5}),
                  sources=lambda before: native_of(before, name, id, k.DETACHED_DAY))


@kind("detached Parquet part", PART)
def detached_parquet(root, rng):
    (name, id), (other, other_id) = table_ids(rng), table_ids(rng)
    partner = Wrong(parquets(root, other_id)[1], other, set(), k.DETACHED_PARQUET_DAY) if other != name else Wrong(parquets(root, id)[0], name, {k.PARQUET_DAY})
    return Target(parquets(root, id)[1], name, set(), detached=k.DETACHED_PARQUET_DAY, partner=partner, sources=lambda before: parquets(before, id)[1])


def dict_of(root, id):
    return next(folder(root, id).glob("*.dict"))


@kind("dictionary", DICT)
def dictionary(root, rng):
    (name, id), (other, other_id) = ((k.TABLES[i], 1 + 2 * i) for i in rng.sample(range(3), 2))
    return Target(dict_of(root, id), name, partner=Wrong(dict_of(root, other_id), other), sources=lambda before: dict_of(before, id))


@kind("dictionary of a view", DICT)
def view_dictionary(root, rng):
    (name, id), (other, other_id) = ((k.TABLES[i], 1 + 2 * i) for i in rng.sample(range(3), 2))
    return Target(dict_of(root, id + 1), k.view_of(name), partner=Wrong(dict_of(root, other_id), other), sources=lambda before: dict_of(before, id + 1))


# ------------------------------------------------------------------------ catalogue and log


@kind("catalogue", DATABASE)
def catalogue(root, rng):
    return Target(root / "db" / "catalog", partner=Wrong(segments(root)[-1]), sources=lambda before: before / "db" / "catalog")


def segment(root, i):
    """The last one or, with 0, the one before: the log behind the checkpoint is in both."""
    before, last = segments(root)[-2:]
    path, other = (last, before) if i else (before, last)
    found = records(path)
    return Target(path, spans=[(0, 64, None), *((a, b, None) for a, b in found)], partner=Wrong(other), sources=lambda before: before / "db" / "wal" / path.name)


@kind("finished segment of the log", DATABASE)
def finished_segment(root, rng):
    target = segment(root, 0)
    target.spans = target.spans[-16:]  # records behind the checkpoint
    return target


@kind("last segment of the log", DATABASE)
def last_segment(root, rng):
    target = segment(root, 1)
    target.spans = target.spans[:-1]
    return target


@kind("last record of the log", DATABASE)
def last_record(root, rng):
    target = segment(root, 1)
    target.spans = target.spans[-1:]
    return target


# -------------------------------------------------------- files whose loss nobody may notice


def beside(name):
    def pick(root, rng):
        path = root / "db" / name
        return Target(path, partner=Wrong(root / "db" / ("owner" if name != "owner" else "lock")), sources=lambda before: before / "db" / name)
    return pick


for name in ("lock", "owner", "reserve", "catalog.1"):
    kind(name, NOTHING)(beside(name))


def write_scrub(root):
    (root / "db" / "scrub").write_text("almanac scrub 1\nbegan 1790000000000000\nfrom 1780000000000000\n")


kind("scrub", NOTHING, prepare=write_scrub)(beside("scrub"))


def left(name, source):
    """A file that a crash left, or a rebuild of dictionaries: a copy of the one that it was to become."""
    def prepare(root):
        shutil.copyfile(source(root), root / "db" / name)

    def pick(root, rng):
        return Target(root / "db" / name, sources=lambda before: source(before))
    kind(name.rsplit("/", 1)[-1], NOTHING, prepare=prepare)(pick)


left("catalog.tmp", lambda root: root / "db" / "catalog")
left("owner.tmp", lambda root: root / "db" / "owner")
left("hold.tmp", lambda root: root / "db" / "owner")
left("tables/1/3.dict.tmp", lambda root: dict_of(root, 1))
left("tables/1/3.dict.repair", lambda root: dict_of(root, 1))
left("tables/1/3.dict.damaged", lambda root: dict_of(root, 1))
left("tables/1/00000000000000fe.part", lambda root: natives(root, 1)[0].path)
left("wal/spare-0000000000000009.wal", lambda root: segments(root)[0])



@kind("server.conf", NOTHING)
def server_conf(root, rng):
    return Target(root / "conf" / "server.conf", sources=lambda before: before / "conf" / "server.conf")


@kind("restoring", DATABASE, prepare=lambda root: (root / "restoring").write_text("almanac restore 1\n"), times=("stopped",))
def restoring(root, rng):
    return Target(root / "restoring")


@kind("hold", DATABASE, held=True)
@kind("hold of a copy", DATABASE, base="here-held", times=("stopped",))
def hold(root, rng):
    return Target(root / "db" / "hold", partner=Wrong(root / "db" / "catalog"))


@kind("log of a copy", COPY, base="here-held", times=("stopped",))
def log_of_a_copy(root, rng):
    path = segments(root)[-1]
    return Target(path, spans=[(0, 64, None), *((a, b, None) for a, b in records(path))], sources=lambda before: segments(before)[-1])


# ------------------------------------------------------------------------ backups and archive


def stored(name, pattern, whose=BACKUP, base="here", newest=True, prepare=None):
    """A file of the newest backup (which names it), or any."""
    def files(root):
        if whose == ARCHIVE:
            return sorted(root.glob(pattern))
        manifest = sorted(root.glob("backups/0*.manifest"))[-1]
        text = manifest.read_text()
        return [p for p in sorted(root.glob(pattern)) if not newest or p.name in text or p == manifest]

    def pick(root, rng):
        found = files(root)
        path = rng.choice(found)
        others = [p for p in found if p != path]
        same = lambda before: next((p for p in sorted(before.glob(pattern)) if p.name == path.name), next(iter(sorted(before.glob(pattern))), None))
        spans = [(0, 64, None), *((a, b, None) for a, b in records(path))] if path.suffix == ".wal" else None
        return Target(path, spans=spans, partner=Wrong(rng.choice(others)) if others else None, sources=same)
    kind(name, whose, base=base, prepare=prepare)(pick)


stored("manifest of the newest backup", "backups/0*.manifest")
stored("manifest of an older backup", "backups/00000001.manifest", newest=False)
stored("part in a backup", "backups/files/*.part")
stored("Parquet part in a backup", "backups/files/*.parquet")
stored("dictionary in a backup", "backups/files/*.dict")
stored("catalogue in a backup", "backups/files/*.catalog")
stored("lock of a backup", "backups/lock", newest=False)
stored("owner of a backup", "backups/owner", newest=False, prepare=lambda root: shutil.copyfile(root / "db" / "owner", root / "backups" / "owner"))
stored("incomplete.tmp of a backup", "backups/files/incomplete.tmp", newest=False,
       prepare=lambda root: shutil.copyfile(natives(root)[0].path, root / "backups" / "files" / "incomplete.tmp"))
stored("segment in the archive", "archive/0*.wal", ARCHIVE, "here-archived")
stored("part in the archive", "archive/files/*.part", ARCHIVE, "here-archived")
stored("tmp of the archive", "archive/0000000000000099.wal.tmp", ARCHIVE, "here-archived",
       prepare=lambda root: shutil.copyfile(segments(root)[0], root / "archive" / "0000000000000099.wal.tmp"))

# ---------------------------------------------------------------------------------- damages


def span_of(target, rng):
    return target.spans[rng.randrange(len(target.spans))]


def bit(target, rng, source, in_place):
    first, end, days = span_of(target, rng)
    if end <= first:
        return None
    flip(target.path, rng.randrange(first, end), rng.randrange(8))
    return [target.wrong(days)]


def zero(target, rng, source, in_place):
    """A stretch of 16 to 512 bytes becomes zeros."""
    first, end, days = span_of(target, rng)
    if end <= first:
        return None
    at = rng.randrange(first, end)
    old = target.path.read_bytes()[at:min(end, at + rng.choice((16, 64, 512)))]
    if not any(old):
        return None
    write_at(target.path, at, bytes(len(old)))
    return [target.wrong(days)]


def truncated(target, rng, source, in_place):
    """Also to nothing, and by one byte."""
    size = target.spans[-1][1]
    if size == 0:
        return None
    first, end, _ = span_of(target, rng)
    at = rng.choice((0, first, rng.randrange(first, max(end, first + 1)), size - 1))
    with open(target.path, "r+b") as f:
        f.truncate(at)
    days = None if target.days is None else {day for _, end, days in target.spans if end > at for day in days}
    return [target.wrong(days)]


def longer(target, rng, source, in_place):
    with open(target.path, "ab") as f:
        f.write(rng.choice((b"\0", b"x", bytes(4096), target.path.read_bytes()[:4096] or b"x" * 64)))
    return [target.wrong()]


def replace(path, data, in_place):
    if in_place:
        write_over(path, data)
    else:
        tmp = path.with_name(path.name + ".new")
        tmp.write_bytes(data)
        tmp.rename(path)


def exchanged(target, rng, source, in_place):
    if target.partner is None:
        return None
    a, b = target.path.read_bytes(), target.partner.path.read_bytes()
    if a == b:
        return None
    replace(target.path, b, in_place)
    replace(target.partner.path, a, in_place)
    return [target.wrong(), target.partner]


def taken_from(other):
    def take(target, rng, source, in_place):
        path = target.sources(source(other))
        if path is None or not path.exists() or path.read_bytes() == target.path.read_bytes():
            return None
        replace(target.path, path.read_bytes(), in_place)
        return [target.wrong()]
    return take


def deleted(target, rng, source, in_place):
    target.path.unlink()
    return [target.wrong()]


def folder_instead(target, rng, source, in_place):
    target.path.unlink()
    target.path.mkdir()
    if rng.randrange(2):
        (target.path / "a file").write_text("a file")
    return [target.wrong()]


DAMAGES = {"bit": bit, "zero": zero, "truncated": truncated, "longer": longer, "exchanged": exchanged, "of another database": taken_from("other"),
           "of an older time": taken_from("before"), "deleted": deleted, "folder": folder_instead}
