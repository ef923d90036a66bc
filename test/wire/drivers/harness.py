"""What the Python programs of the driver matrix share: the lines they print, and the values of every type.

A program registers a function for each check (`@check`), named as in drivers.toml, and ends with main(NAME, VERSION).
Environment: PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLROOTCERT, TABLE_PREFIX.
"""
import datetime as dt, decimal, os, resource, struct, sys, threading, traceback, uuid

HOST, PORT = os.environ.get("PGHOST", "127.0.0.1"), int(os.environ.get("PGPORT", "8812"))
USER, PASSWORD = os.environ.get("PGUSER", "admin"), os.environ.get("PGPASSWORD", "quest")
DATABASE, CA = os.environ.get("PGDATABASE", "qdb"), os.environ.get("PGSSLROOTCERT", "")
PREFIX = os.environ.get("TABLE_PREFIX", "d_")
# Takes about a minute where nothing stops it.
SLOW = "select count() from long_sequence(100000) a cross join long_sequence(100000) b where a.x + b.x = -1"

CHECKS = {}


class NoFeature(Exception):
    """The driver has no such thing; the text says what is missing."""


def check(f):
    """Registers a check; a name that Python or the driver takes ends with _."""
    CHECKS[f.__name__.rstrip("_")] = f
    return f


def none(**reasons):
    """none(copy_in="why"): checks the driver has no feature for."""
    def register(name, reason):
        def absent():
            raise NoFeature(reason)
        CHECKS[name] = absent
    for name, reason in reasons.items():
        register(name, reason)


def expect(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}"[:3000])


def expect_raises(kind, f, *args, **more):
    """The error; AssertionError where there is none."""
    try:
        f(*args, **more)
    except kind as e:
        return e
    raise AssertionError(f"no error: {args!r:.200}")


def table(name):
    return PREFIX + name


def later(seconds, f):
    """Calls f from another thread after a while."""
    timer = threading.Timer(seconds, f)
    timer.daemon = True
    timer.start()
    return timer


def bounded(read, limit_bytes=96 << 20):
    """Calls read() and expects that the peak of resident memory rises by less than the limit."""
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before = peak()
    result = read()
    grown = peak() - before
    if grown > limit_bytes:
        raise AssertionError(f"the client took {grown >> 20} MiB, more than {limit_bytes >> 20}")
    return result


def in_threads(n, f):
    """Runs f(0) ... f(n - 1) at once; the first error is raised."""
    errors = []

    def one(i):
        try:
            f(i)
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def main(name, version):
    print(f"driver {name} {version}", flush=True)
    for f_name, f in CHECKS.items():
        if len(sys.argv) > 1 and f_name not in sys.argv[1:]:
            continue
        try:
            f()
            print(f"ok {f_name}", flush=True)
        except NoFeature as e:
            print(f"none {f_name}: {e}", flush=True)
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt):
                raise
            print(f"fail {f_name}: {type(e).__name__}: {' '.join(str(e).split())}", flush=True)
            traceback.print_exc(file=sys.stdout)


# ----------------------------------------------------------------------------- values of every type
ODD = "it's \"q\" \\ \t\n \u00fc \u6f22 \U0001f600 $1 %s {x} ;--"
D = decimal.Decimal
T = dt.datetime
# The first and the last microsecond of Python are infinities to some drivers.
# (column, SQL type, three values: usual, least, greatest; what null reads as)
TYPES = [
    ("bo", "boolean", (True, False, True), False),
    ("by", "byte", (7, -128, 127), 0),
    ("sh", "short", (-7, -32768, 32767), 0),
    ("i", "int", (12, -(1 << 31) + 1, (1 << 31) - 1), None),
    ("l", "long", (1 << 40, -(1 << 63) + 1, (1 << 63) - 1), None),
    ("f", "float", (1.5, -3.4028234663852886e38, 3.4028234663852886e38), None),
    ("d", "double", (0.1, -1.7976931348623157e308, 5e-324), None),
    ("c", "char", ("\u00fc", "'", "x"), None),
    ("s", "string", (ODD, "", "\u00e4" * 1000), None),
    ("v", "varchar", (ODD, "", "y" * 1000), None),
    ("sy", "symbol", (ODD, "", "sym"), None),
    ("da", "date", (T(2024, 1, 2, 3, 4, 5, 123000), T(1969, 12, 31, 23, 59, 59, 999000), T(9999, 12, 31, 23, 59, 59, 999000)), None),
    ("ts", "timestamp", (T(2024, 3, 1, 9, 0, 0, 123456), T(1, 1, 1, 0, 0, 0, 1), T(9999, 12, 31, 23, 59, 59, 999998)), None),
    ("tb", "timestamp", (T(1970, 1, 1), T(1969, 12, 31, 23, 59, 59, 999999), T(1999, 12, 31, 23, 59, 59, 999999)), None),
    ("tn", "timestamp_ns", (T(2024, 3, 1, 9, 0, 0, 123456), T(1678, 1, 1, 0, 0, 0, 1), T(2262, 1, 1, 0, 0, 0, 999999)), None),
    ("u", "uuid", (uuid.UUID("11111111-2222-3333-4444-555555555555"), uuid.UUID(int=1), uuid.UUID(int=(1 << 128) - 1)), None),
    ("ip", "ipv4", ("192.168.0.1", "0.0.0.1", "255.255.255.255"), None),
    ("w", "long256", ("0xff", "0x00", "0x7" + "f" * 63), None),
    ("g", "geohash(8c)", ("u33dbm12", "00000000", "zzzzzzzz"), None),
    ("de", "decimal(20,4)", (D("12345.6789"), D("-9999999999999999.9999"), D("0.0001")), None),
    ("db", "decimal(76,10)", (D("1.5000000000"), D("-" + "9" * 66 + ".9999999999"), D("1234567890123456789012345678901234567890.0123456789")), None),
    ("bi", "binary", (bytes(range(256)), b"", b"\x00"), None),
    ("a", "double[]", ([1.5, None, -2.0], [], [1e300]), None),
    ("m", "double[][]", ([[1.0, 2.0], [None, 4.0]], [], [[5e-324]]), None),
]
COLUMNS = [c for c, _, _, _ in TYPES]
NULLS = [null for _, _, _, null in TYPES]


def types_ddl(name, more=""):
    return f"create table {name} (k int, " + ", ".join(f"{c} {t}" for c, t, _, _ in TYPES) + more + ")"


def type_rows():
    """[(k, values)]"""
    return [(i, [values[i] for _, _, values, _ in TYPES]) for i in range(3)]


def single(x):
    """Of a 32-bit number text holds the shortest digits that read back, as one of 64 bits it is another."""
    return x if x is None else struct.unpack("f", struct.pack("f", x))[0]


def expect_row(got, want, what=""):
    """Compares column by column and names those that differ."""
    got = [single(g) if c == "f" else g for c, g in zip(COLUMNS, got)]
    wrong = [f"{c}: got {g!r:.120}, want {w!r:.120}" for c, g, w in zip(COLUMNS, got, want) if g != w or not isinstance(g, type(w))]
    if wrong or len(got) != len(want):
        raise AssertionError(f"{what}: {len(got)} of {len(want)} columns; " + "; ".join(wrong))


# ----------------------------------------------------------------------------- tables of the time series check
def time_series_setup(prefix=None):
    """Statements that make trades and quotes: 600 trades, one a second, of two symbols; a quote each 10 s."""
    t, q = table("trades"), table("quotes")
    return [f"drop table if exists {t}", f"drop table if exists {q}",
            f"create table {t} (ts timestamp, sym symbol, price double, n long) timestamp(ts) partition by day",
            f"create table {q} (ts timestamp, sym symbol, bid double) timestamp(ts) partition by day",
            f"insert into {t} select dateadd('s', (x - 1)::int, '2026-01-06T10:00:00Z'::timestamp), "
            f"case when x % 2 = 0 then 'A' else 'B' end, x::double, x from long_sequence(600)",
            f"insert into {q} select dateadd('s', ((x - 1) * 10)::int, '2026-01-06T10:00:00Z'::timestamp), 'A', x * 10.0 from long_sequence(60)"]


START, END = T(2026, 1, 6, 10), T(2026, 1, 6, 10, 10)


def time_series_queries():
    """[(text with {0}, {1}, ... for the parameters, parameters, rows)]"""
    t, q = table("trades"), table("quotes")
    buckets = [(T(2026, 1, 6, 10, 2 * i), 60, sum(range(120 * i + 2, 120 * i + 121, 2)) / 60) for i in range(5)]
    return [
        (f"select ts, count() n, avg(price) p from {t} where sym = {{0}} and ts >= {{1}} and ts < {{2}} sample by 2m", ("A", START, END), buckets),
        (f"select sym, price from {t} where ts < {{0}} latest on ts partition by sym order by sym", (T(2026, 1, 6, 10, 5),), [("A", 300.0), ("B", 299.0)]),
        (f"select t.n, q.bid from {t} t asof join {q} q on (sym) where t.sym = {{0}} and t.n > {{1}} order by t.n", ("A", 594),
         [(596, 600.0), (598, 600.0), (600, 600.0)]),
    ]
