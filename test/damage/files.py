"""Files of a data directory for suites that damage them: which is which, and how it is damaged."""
import collections, shutil, struct, subprocess

from lib.server import TOP, Server

DAY = 86400 * 10**6


def error_of(s, sql):
    try:
        s.exec(sql)
    except RuntimeError as e:
        return str(e)
    return None


def program(*args, timeout=120):
    """(exit code, what it says) of the program."""
    r = subprocess.run([Server.program or TOP / "build/release/almanac", *map(str, args)], capture_output=True, text=True, timeout=timeout)
    return r.returncode, r.stdout + r.stderr


# ------------------------------------------------------------------------ which is which

Part = collections.namedtuple("Part", "path bytes rows lo is_overlay")


def footer_of(path, data, end):
    """Of the part that ends there."""
    at, bytes = struct.unpack_from("<QQ", data, end - 32)
    _, rows, lo, _, ts_entry = struct.unpack_from("<Qqqqi", data, end - 32 - bytes)
    return Part(path, end, rows, lo, ts_entry < 0)


def read_part(path):
    data = path.read_bytes()
    return footer_of(path, data, len(data))


def folder(root, table=1):
    return root / "db" / "tables" / str(table)


def natives(root, table=1):
    return sorted((p for p in map(read_part, folder(root, table).glob("*.part")) if not p.is_overlay), key=lambda p: p.lo)


def overlays(root, table=1):
    return sorted(p.path for p in map(read_part, folder(root, table).glob("*.part")) if p.is_overlay)


def part_of(root, day, table=1):
    """The native part of the nth day of 1970."""
    return next(p.path for p in natives(root, table) if p.lo // DAY == day - 1)


def parquets(root, table=1):
    return sorted(folder(root, table).glob("*.parquet"))


def segments(root):
    return sorted((root / "db" / "wal").glob("[0-9a-f]*.wal"))


def records(segment):
    """(offset, end) of the records of a segment, by their lengths; the header of 64 bytes is not looked at."""
    data, at, found = segment.read_bytes(), 64, []
    while data[at:at + 4] == b"REC1":
        end = at + 48 + struct.unpack_from("<Q", data, at + 8)[0]
        end += -end % 8
        found.append((at, end))
        at = end
    return found


# ------------------------------------------------------------------------ how it is damaged


def write_at(path, at, bytes):
    """In place: a server that has the file open or mapped sees it."""
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(bytes)


def flip(path, at, bit=3):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ (1 << bit)]))


def put(source, target):
    """As `mv` does: the file that was there is unlinked."""
    tmp = target.with_suffix(".new")
    shutil.copyfile(source, tmp)
    tmp.rename(target)


def write_over(target, data):
    """As `cp` does: whoever has the file open sees the new bytes."""
    with open(target, "r+b") as f:
        f.write(data)
        f.truncate()


def exchange(a, b):
    third = a.with_suffix(".third")
    a.rename(third)
    b.rename(a)
    third.rename(b)
