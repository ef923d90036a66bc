#!/usr/bin/env python3
"""Parquet files as read_parquet reads them, cell by cell beside pyarrow.

    read_test.py [--preset P] [--nightly]

Three sets: the files of ../shared/data/parquet-testing (left out, and said, where they are not there), each equal or refused
for a reason that is a row of docs/reference/parquet.md; files that pyarrow writes with every type x encoding x codec x
page version x nulls (a sample, all with --nightly); and files cut, changed and absurd: an error, and the server lives.

The null rule: BOOLEAN, BYTE and SHORT have no null, theirs read as false and 0. NaN and the infinities are null.
"""
import argparse, base64, collections, datetime, decimal, itertools, json, math, os, random, re, shutil, struct, sys

import pyarrow as pa
import pyarrow.parquet as pq

from lib.checks import given, print_again
from lib.server import TOP, Server

FOREIGN = TOP.parent / "shared" / "data" / "parquet-testing"
EPOCH = datetime.datetime(1970, 1, 1)
passed, failures = 0, []


def check(name, good, why=""):
    global passed
    if good:
        passed += 1
    else:
        failures.append(f"{name}: {why}")
        print(f"FAIL {name}: {why}"[:600], flush=True)


# ------------------------------------------------------------------------------------------ values


def digits(ticks, unit):
    """A time as /exec shows it: us with six digits, ns with nine."""
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    seconds, rest = divmod(ticks, per)
    nanos = rest * (10**9 // per)
    return seconds, nanos


def shown_time(ticks, unit, digits_out):
    seconds, nanos = digits(ticks, unit)
    days, second = divmod(seconds, 86400)
    year, month, day = civil(days)
    fraction = f"{nanos:09d}"[:digits_out]
    return f"{year:04d}-{month:02d}-{day:02d}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{fraction}Z"


def civil(days):
    z = days + 719468
    era = z // 146097
    doe = z - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


def flat(column):
    """A column of a table as [(dotted name, type, values)]; structs are taken apart."""
    out, todo = [], [column]
    while todo:
        name, kind, values = todo.pop(0)
        if pa.types.is_struct(kind):
            inner = []
            for i in range(kind.num_fields):
                f = kind.field(i)
                inner.append((f"{name}.{f.name}", f.type, [None if v is None else v.get(f.name) for v in values]))
            todo = inner + todo
        else:
            out.append((name, kind, values))
    return out


def is_numbers(kind):
    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return pa.types.is_integer(kind) and kind != pa.uint64() or pa.types.is_floating(kind)


def real(x):
    return None if x is None or math.isnan(x) or math.isinf(x) else x


def nested(x):
    return [nested(v) for v in x] if isinstance(x, (list, tuple)) else real(None if x is None else float(x))


def as_float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def same(kind, want, got):
    t = pa.types
    if t.is_dictionary(kind):
        kind = kind.value_type
    if t.is_boolean(kind):
        return got is bool(want)
    if kind in (pa.int8(), pa.int16(), pa.uint8()):
        return got == (want or 0)
    if want is None:
        return got is None
    if t.is_float16(kind) or t.is_float32(kind):
        return got is None if real(float(want)) is None else got is not None and as_float32(got) == float(want)
    if t.is_float64(kind):
        return got == real(want)
    if kind == pa.int32():
        return got == (None if want == -2**31 else want)
    if kind == pa.int64():
        return got == (None if want == -2**63 else want)
    if kind == pa.uint64() or t.is_decimal(kind):
        return got is not None and decimal.Decimal(str(got)) == decimal.Decimal(str(want))
    if t.is_integer(kind):
        return got == want
    if t.is_list(kind) or t.is_large_list(kind):
        return got == nested(want)
    if t.is_string(kind) or t.is_large_string(kind):
        return got == want
    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind):
        return isinstance(got, str) and got == shown_binary(want)
    return got == want


def shown_binary(value):
    return base64.b64encode(value).decode()


def raw_ticks(array):
    """Times as whole numbers, since Python's have no nanoseconds."""
    kind = array.type
    bits = 32 if kind in (pa.date32(), pa.time32("s"), pa.time32("ms")) else 64
    return array.cast(pa.int32() if bits == 32 else pa.int64()).to_pylist()


def column_values(table, name):
    """[(column, type, values as the server shows them)] of a column of a table."""
    array = table[name].combine_chunks() if table[name].num_chunks != 1 else table[name].chunk(0)
    return array_values(name, array)


def array_values(name, array):
    t, kind = pa.types, array.type
    if isinstance(array, pa.ExtensionArray):
        if str(kind) == "extension<arrow.uuid>":
            return [(name, "text", [None if v is None else str(v) for v in array.to_pylist()])]
        return array_values(name, array.storage)
    if t.is_struct(kind):
        out = []
        for i in range(kind.num_fields):
            out += array_values(f"{name}.{kind.field(i).name}", array.flatten()[i])
        return out
    if t.is_timestamp(kind):
        show = 9 if kind.unit == "ns" else 6
        return [(name, "text", [None if x is None else shown_time(x, kind.unit, show) for x in raw_ticks(array)])]
    if t.is_date32(kind):
        return [(name, "text", [None if x is None else shown_time(x * 86400, "s", 3) for x in raw_ticks(array)])]
    if t.is_time(kind):
        show = {"ms": 3, "us": 6, "ns": 9}[kind.unit]
        return [(name, "text", [None if x is None else shown_time(x, kind.unit, show)[11:-1] for x in raw_ticks(array)])]
    return [(name, kind, array.to_pylist())]


# ------------------------------------------------------------------------------------- comparison


class Number(float):
    """A number of JSON that keeps its digits: decimals have more than a float."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __str__(self):
        return self.text


class Reader:
    def __init__(self, server):
        self.server = server
        self.folder = server.root / "import"
        self.folder.mkdir(exist_ok=True)

    def query(self, text):
        status, _, body = self.server.get("/exec", query=text)
        return status, json.loads(body, parse_float=Number)

    def rows(self, file, columns):
        """Rows of a file, or the error."""
        listed = ", ".join('"' + c.replace('"', '""') + '"' for c in columns) if columns else "*"
        status, body = self.query(f"select {listed} from read_parquet('{file}')")
        return (body, None) if status == 200 else (None, body.get("error", str(body)))

    def compare(self, file, table, names=None, without=()):
        """None, or how the answer differs."""
        want = []
        for name in names or table.column_names:
            want += [w for w in column_values(table, name) if w[0] not in without]
        body, error = self.rows(file, [w[0] for w in want])
        if error:
            return f"error: {error}"
        got = body["dataset"]
        if len(got) != table.num_rows:
            return f"{len(got)} rows, expected {table.num_rows}"
        for c, (name, kind, values) in enumerate(want):
            kinds = body["columns"][c]["type"]
            for r, value in enumerate(values):
                cell = got[r][c]
                good = (cell == value) if kind == "text" else same(kind, value, cell)
                if not good:
                    return f"row {r}, column {name} {kind} as {kinds}: {cell!r}, expected {value!r}"
        return None


# ------------------------------------------------------------------------------------- sets of files


def refused_rows():
    """{file: {column or '': reason}} of the table in docs/reference/parquet.md."""
    out = {}
    text = (TOP / "docs/reference/parquet.md").read_text()
    for file, column, reason in re.findall(r"^\| `([\w.-]+\.parquet)` \| (?:`([^`]+)`|all) \| (.+?) \|$", text, re.M):
        out.setdefault(file, {})[column] = reason
    return out


def foreign_files(reader):
    if not FOREIGN.is_dir():
        print("skipped: files of others: ../shared/data/parquet-testing is not there", flush=True)
        return
    refused = refused_rows()
    files = sorted(p.name for p in FOREIGN.glob("*.parquet"))
    for file in files:
        shutil.copy(FOREIGN / file, reader.folder / file)
        known = refused.get(file, {})
        if "" in known:
            body, error = reader.rows(file, [])
            check(f"foreign {file}", error is not None and reason_in(known[""], error), f"refused for {known['']!r}: {error!r}")
            continue
        columns = [r[0] for r in reader.query(f"select column_name from parquet_schema('{file}') where column_name is not null")[1]["dataset"]]
        if set(columns) <= set(known):
            for column, reason in known.items():
                body, error = reader.rows(file, [column])
                check(f"foreign {file} {column}", error is not None and reason_in(reason, error), f"refused for {reason!r}: {error!r}")
            continue
        try:
            schema = pq.read_metadata(FOREIGN / file).schema
            fields = list(dict.fromkeys(schema.column(i).path.split(".")[0] for i in range(len(schema))))
            fields = [f for f in fields if f not in known]
            table = pq.ParquetFile(FOREIGN / file, coerce_int96_timestamp_unit="us").read(columns=fields) if fields else None
        except Exception as e:  # noqa: BLE001
            check(f"foreign {file}", False, f"pyarrow cannot read it: {e}")
            continue
        for column, reason in known.items():
            body, error = reader.rows(file, [column])
            check(f"foreign {file} {column}", error is not None and reason_in(reason, error), f"refused for {reason!r}: {error!r}")
        if table is not None:
            why = reader.compare(file, table, fields, known)
            check(f"foreign {file}", why is None, why)
    check("all rows of the table are files", set(refused) <= set(files), str(set(refused) - set(files)))


def reason_in(reason, error):
    return reason.lower() in error.lower()


def sample_values(kind, n, seed):
    rng = random.Random(seed)
    t = pa.types
    if t.is_boolean(kind):
        return [rng.random() < 0.5 for _ in range(n)]
    if t.is_unsigned_integer(kind):
        return [rng.choice([0, 1, 2**kind.bit_width - 1, rng.getrandbits(kind.bit_width)]) for _ in range(n)]
    if t.is_integer(kind):
        b = kind.bit_width - 1
        return [rng.choice([0, -1, 2**b - 1, -(2**b) + 1, rng.getrandbits(b), min(i, 2**b - 1)]) if i % 3 else i % 100 for i in range(n)]
    if t.is_float16(kind):
        import numpy as np
        return [np.float16(rng.choice([0.5, -2.0, 65504.0, 6e-8, rng.random()])) for _ in range(n)]
    if t.is_floating(kind):
        return [as_float32(rng.gauss(0, 1e6)) if kind == pa.float32() else rng.choice([rng.gauss(0, 1e6), 0.0, 1e300]) for _ in range(n)]
    if t.is_decimal(kind):
        top = 10**kind.precision - 1
        with decimal.localcontext(decimal.Context(prec=90)):
            return [decimal.Decimal(rng.choice([0, top, -top, rng.randint(-top, top)])).scaleb(-kind.scale) for _ in range(n)]
    if t.is_string(kind):
        return [rng.choice(["", "a", "buy", "twelve bytes", "longer than twelve bytes \u00e4\u20ac", f"value {i}", "x" * (i % 300)]) for i in range(n)]
    if kind == pa.binary(16):
        return [rng.randbytes(16) for _ in range(n)]
    if t.is_fixed_size_binary(kind):
        return [rng.randbytes(kind.byte_width) for _ in range(n)]
    if t.is_binary(kind):
        return [rng.randbytes(rng.choice([0, 1, 11, 12, 13, 40])) for _ in range(n)]
    if t.is_timestamp(kind):
        return [rng.randint(-10**9, 2 * 10**9) * {"ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit] + i for i in range(n)]
    if t.is_date(kind):
        return [rng.randint(-30000, 60000) for _ in range(n)]
    if t.is_time(kind):
        return [rng.randrange(86400 * {"ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]) for _ in range(n)]
    if t.is_list(kind):
        inner = kind.value_type
        if t.is_list(inner):
            shape = [(rng.randint(1, 3), rng.randint(1, 3)) for _ in range(n)]
            return [[[rng.random() for _ in range(w)] for _ in range(h)] for h, w in shape]
        return [[None if rng.random() < 0.1 else (rng.randint(-1000, 1000) if t.is_integer(inner) else as_float32(rng.random()))
                 for _ in range(rng.randint(0, 5))] for _ in range(n)]
    raise AssertionError(kind)


TYPES = {
    "bool": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(), "u8": pa.uint8(),
    "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(), "f16": pa.float16(), "f32": pa.float32(), "f64": pa.float64(),
    "d2": pa.decimal128(2, 1), "d9": pa.decimal128(9, 2), "d18": pa.decimal128(18, 6), "d38": pa.decimal128(38, 10),
    "d76": pa.decimal256(76, 20), "str": pa.string(), "bin": pa.binary(), "fix": pa.binary(5), "fix20": pa.binary(20),
    "date": pa.date32(), "ms": pa.timestamp("ms"), "us": pa.timestamp("us", "UTC"), "ns": pa.timestamp("ns"),
    "t_ms": pa.time32("ms"), "t_us": pa.time64("us"), "t_ns": pa.time64("ns"), "list_i": pa.list_(pa.int32()),
    "list_f": pa.list_(pa.float32()), "list2": pa.list_(pa.list_(pa.float64())),
}
ENCODINGS = {
    "PLAIN": lambda t: True,
    "DICTIONARY": lambda t: not pa.types.is_boolean(t),
    "RLE": pa.types.is_boolean,
    "DELTA_BINARY_PACKED": lambda t: pa.types.is_integer(t) or pa.types.is_timestamp(t) or pa.types.is_date(t) or pa.types.is_time(t),
    "DELTA_LENGTH_BYTE_ARRAY": lambda t: pa.types.is_string(t) or pa.types.is_binary(t),
    "DELTA_BYTE_ARRAY": lambda t: pa.types.is_string(t) or pa.types.is_binary(t) or pa.types.is_fixed_size_binary(t),
    "BYTE_STREAM_SPLIT": lambda t: pa.types.is_integer(t) and t.bit_width >= 8 or t in (pa.float32(), pa.float64()) or
                                   pa.types.is_fixed_size_binary(t),
}
CODECS = ["NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD"]
NULLS = {"required": None, "none": 0.0, "some": 0.3, "runs": -1.0, "all": 1.0}


def with_nulls(values, kind, seed):
    share = NULLS[kind]
    rng = random.Random(seed)
    if not share:
        return values
    if share < 0:
        return [None if i // 100 % 2 else v for i, v in enumerate(values)]
    return [None if rng.random() < share else v for v in values]


def to_array(values, kind):
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_date(kind) or pa.types.is_time32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, kind)


def generated(reader, long):
    """One file for each encoding, codec, page version and kind of nulls: all types that have the encoding as columns."""
    rng = random.Random(20)
    every = list(itertools.product(ENCODINGS, CODECS, ["1.0", "2.0"], NULLS))
    chosen = every if long else rng.sample(every, 14)
    for number, (encoding, codec, version, nulls) in enumerate(chosen):
        n = rng.choice([1, 700, 3000, 9001])
        fields, arrays = [], []
        for k, (name, kind) in enumerate(TYPES.items()):
            leaf = kind
            while pa.types.is_list(leaf):
                leaf = leaf.value_type
            if not ENCODINGS[encoding](leaf):
                continue
            values = with_nulls(sample_values(kind, n, number * 100 + k), nulls, number + k)
            arrays.append(to_array(values, kind))
            fields.append(pa.field(name, kind, nullable=nulls != "required"))
        table = pa.table(arrays, schema=pa.schema(fields))
        path = reader.folder / "generated.parquet"
        leaves = {}
        for f in fields:
            leaves[f.name + ".list.element" * str(f.type).count("list<")] = encoding
        options = {"use_dictionary": True} if encoding == "DICTIONARY" else {"use_dictionary": False, "column_encoding": leaves}
        pq.write_table(table, path, compression=codec, data_page_version=version, row_group_size=rng.choice([n, 1000, 2500]),
                       data_page_size=rng.choice([200, 5000, 10**6]), write_page_checksum=number % 2 == 0,
                       write_page_index=number % 3 == 0, store_schema=number % 2 == 1, version="2.6", **options)
        why = reader.compare("generated.parquet", table)
        check(f"generated {encoding} {codec} v{version} nulls {nulls} rows {n}", why is None, why)


def queries(reader):
    """What is around the cells: folders, schemas that unite, pruning, metadata, paths."""
    root = reader.folder
    for year in (2023, 2024):
        for month in (1, 2):
            folder = root / f"hive/year={year}/month={month:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"x": [year * 100 + month, 1], "name": ["a", f"m{month}"]}), folder / "part.parquet")
    (root / "hive/_SUCCESS").write_text("")

    def one(name, sql, want):
        status, body = reader.query(sql)
        got = body.get("dataset", body.get("error"))
        check(name, got == want, f"{sql}: {got!r}, expected {want!r}")

    def bad(name, sql, part, status=400):
        got, body = reader.query(sql)
        error = body.get("error", "")
        check(name, got == status and part in error, f"{sql}: {got} {error!r}, expected {status} {part!r}")

    hive = "read_parquet('hive/*/*/*.parquet')"
    one("folders are columns", f"select year, month, count(), sum(x) from {hive} where year = 2024 order by month",
        [[2024, 1, 2, 202402], [2024, 2, 2, 202403]])
    one("folders at any depth", "select count() from read_parquet('hive/**/*.parquet')", [[8]])
    one("a folder of one file", "select year, month, x from parquet_read('hive/year=2023/month=02/part.parquet') limit 1",
        [[2023, 2, 202302]])
    one("conditions on texts", f"select count() from {hive} where name = 'm2'", [[2]])
    one("conditions nobody meets", f"select count() from {hive} where name = 'zzz'", [[0]])
    pq.write_table(pa.table({"A": pa.array([1, None], pa.int32()), "b": ["x", "y"]}), root / "unite1.parquet")
    pq.write_table(pa.table({"a": pa.array([2.5]), "c": [7]}), root / "unite2.parquet")
    one("schemas unite by name", "select * from read_parquet('unite?.parquet')",
        [[1.0, "x", None], [None, "y", None], [2.5, None, 7]])
    pq.write_table(pa.table({"a": ["text"]}), root / "unite3.parquet")
    bad("schemas that differ", "select * from read_parquet('unite[13].parquet')", "column 'A' is INT in 'unite1.parquet' and VARCHAR in")
    pq.write_table(pa.table({"n": list(range(20000)), "s": [f"k{i % 7}" for i in range(20000)]}), root / "n.parquet",
                   row_group_size=3000, data_page_size=1000, write_page_index=True)
    n = "read_parquet('n.parquet')"
    one("negative LIMIT", f"select n from {n} limit -2", [[19998], [19999]])
    one("LIMIT within", f"select n from {n} limit 8999, 9002", [[8999], [9000], [9001]])
    one("count", f"select count() from {n}", [[20000]])
    one("ranges", f"select min(n), max(n), count() from {n} where n >= 5999 and n < 9001", [[5999, 9000, 3002]])
    one("point", f"select n, s from {n} where n = 12345", [[12345, "k4"]])
    one("group", f"select s, count() c, sum(n) t from {n} order by s limit 2",
        [[f"k{k}", len(range(k, 20000, 7)), sum(range(k, 20000, 7))] for k in range(2)])
    one("join", f"select count() from {n} a join {n} b on a.n = b.n where a.s = 'k3'", [[len(range(3, 20000, 7))]])
    one("top", f"select n from {n} order by n desc limit 2", [[19999], [19998]])
    one("in a CTE", f"with t as (select n from {n}) select sum(n) from t", [[sum(range(20000))]])
    times = [1_700_000_000_000_000 + 60_000_000 * i for i in range(5000)]
    turned = times[:2500] + times[:1:-2]
    for name, values in (("sorted", times), ("unsorted", turned)):
        pq.write_table(pa.table({"ts": pa.array(values, pa.timestamp("us")), "v": list(range(len(values)))}), root / f"{name}.parquet",
                       row_group_size=700)
        source = f"(select * from read_parquet('{name}.parquet')) timestamp(ts)"
        hours = {}
        for t in values:
            hours[t // 3_600_000_000] = hours.get(t // 3_600_000_000, 0) + 1
        one(f"SAMPLE BY of a file that is {name}", f"select count() c from {source} sample by 1h", [[c] for _, c in sorted(hours.items())])
        plan = str(reader.query(f"explain select count() c from {source} sample by 1h")[1]["dataset"])
        check(f"a sort where the file is {name}", ("sort ts" in plan) == (name == "unsorted"), plan)
    both = "(select * from read_parquet('sorted.parquet')) timestamp(ts)"
    one("ASOF JOIN of files", f"select count(), sum(b.v - a.v) from ({both}) a asof join ({both}) b", [[5000, 0]])
    one("LATEST ON", f"select v from {both} latest on ts partition by v % 2 order by v", [[4998], [4999]])
    one("schema", "select name, physical_type, column_type from parquet_schema('n.parquet') where depth = 1",
        [["n", "INT64", "LONG"], ["s", "BYTE_ARRAY", "VARCHAR"]])
    meta = pq.ParquetFile(root / "n.parquet").metadata
    want = [[g, c, meta.row_group(g).num_rows, meta.row_group(g).column(c).compression, meta.row_group(g).column(c).num_values,
             meta.row_group(g).column(c).total_compressed_size, meta.row_group(g).column(c).statistics.null_count,
             str(meta.row_group(g).column(c).statistics.min)] for g in range(meta.num_row_groups) for c in range(meta.num_columns)]
    one("metadata as pyarrow's", "select row_group, column_id, row_group_rows, compression, num_values, compressed_bytes, null_count, "
        "min_value from parquet_metadata('n.parquet')", want)
    for path in ("../conf/server.conf", "/etc/passwd", "a/../../x.parquet"):
        bad(f"path {path}", f"select * from read_parquet('{path}')", "relative", 403)
    os.symlink("/etc", root / "out")
    os.mkfifo(root / "pipe.parquet")
    bad("a link that leads out", "select * from read_parquet('out/passwd')", "no such file", 403)
    bad("a pipe", "select * from read_parquet('pipe.parquet')", "no such file")
    bad("no file", "select * from read_parquet('nope.parquet')", "no such file")
    bad("no match", "select * from read_parquet('nope*.parquet')", "no file")
    bad("a folder", "select * from read_parquet('hive')", "no such file")
    os.remove(root / "pipe.parquet")
    nested = pa.table({"m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())), "l": [["a"]], "x": [1]})
    pq.write_table(nested, root / "nested.parquet")
    one("refused columns that nobody reads", "select x from read_parquet('nested.parquet')", [[1]])
    bad("maps", "select m from read_parquet('nested.parquet')", "column 'm': maps are not supported")
    bad("lists of texts", "select * from read_parquet('nested.parquet')", "not supported")


# --------------------------------------------------------------------------------------------- codes


def coded_texts(reader):
    """Texts that files write by dictionaries are grouped and compared by codes: answers as of the plain texts."""
    root = reader.folder / "codes"
    root.mkdir(exist_ok=True)
    rng = random.Random(11)

    def put(name, values, keep=True, **options):
        table = pa.table({"ts": pa.array([1_700_000_000_000_000 + 1_000_000 * i for i in range(len(values))], pa.timestamp("us")),
                          "s": pa.array(values, pa.string()), "n": list(range(len(values)))} if keep else {"n": list(range(len(values)))})
        pq.write_table(table, root / name, **{"row_group_size": 700, "data_page_size": 500, **options})

    words = ["", "a", "b", "twelve bytes", "more than twelve bytes", "ü", "zzz"]
    draw = lambda n, these: [None if rng.random() < 0.1 else rng.choice(these) for _ in range(n)]
    sets = {"few": [("few1.parquet", draw(5000, words), {}), ("few2.parquet", draw(1500, words[2:] + ["only here"]), {})],
            "plain": [("plain1.parquet", draw(900, words), {}), ("plain2.parquet", draw(900, words), {"use_dictionary": False})],
            "nulls": [("nulls.parquet", [None] * 1000, {})],
            "wide": [("wide.parquet", [f"value {i % 3000}" for i in range(9000)], {"row_group_size": 9000, "dictionary_pagesize_limit": 1 << 22})],
            "many": [("many.parquet", [f"v{i}" for i in range(70000)], {"row_group_size": 70000, "dictionary_pagesize_limit": 1 << 22})],
            "spilt": [("spilt.parquet", [f"a long value, number {i % 900}" for i in range(3000)], {"row_group_size": 3000, "dictionary_pagesize_limit": 2000})]}
    for name, files in sets.items():
        values = []
        for file, column, options in files:
            put(file, column, **options)
            values += column
        source = f"read_parquet('codes/{name}*.parquet')"
        coded = name in ("few", "nulls", "wide")
        counts = {}
        for v in values:
            counts[v] = counts.get(v, 0) + 1

        def one(sql, want):
            status, body = reader.query(sql)
            got = body.get("dataset", body.get("error"))
            check(f"codes {name}: {sql}", got == want, f"{str(got)[:300]}, expected {str(want)[:300]}")

        in_order = sorted(counts.items(), key=lambda e: (e[0] is not None, (e[0] or "").encode()))
        one(f"select s, count() c from {source} group by s order by s", [list(e) for e in in_order])
        one(f"select count() from (select distinct s from {source})", [[len(counts)]])
        one(f"select k, c from (select s k, count() c from {source} where n >= 10 group by s) order by k limit 3",
            [[k, c] for k, c in sorted(group(v for f, col, _ in files for v in col[10:]).items(), key=lambda e: (e[0] is not None, (e[0] or "").encode()))][:3])
        some = [v for v in counts if v][:2] or ["x", "y"]
        quoted = ["'" + v + "'" for v in some]
        tests = {f"s = {quoted[0]}": lambda v: v == some[0], f"s != {quoted[0]}": lambda v: v != some[0],
                 f"s in ({', '.join(quoted)}, 'nowhere')": lambda v: v in some, f"s not in ({', '.join(quoted)})": lambda v: v not in some,
                 "s like '%e%'": lambda v: v is not None and "e" in v, "s is null": lambda v: v is None, "s = 'nowhere'": lambda v: False,
                 f"s = {quoted[0]} or s = {quoted[-1]}": lambda v: v in (some[0], some[-1]),
                 f"s = {quoted[0]} and length(s) > 0": lambda v: v == some[0] and len(v) > 0}
        for where, test in tests.items():
            want = sum(test(v) for v in values)
            one(f"select count() from {source} where {where}", [[want]])
            one(f"select count() from (select s, n from {source} where {where}) where n >= 0", [[want]])
        one(f"select count() from {source} a join (select s, min(n) m from {source} group by s) b on a.s = b.s",
            [[len(values)]])
        plan = str(reader.query(f"explain select s, count() from {source} group by s")[1]["dataset"])
        check(f"codes {name}: the plan", ("::VARCHAR" in plan) == coded, plan)
    ts = "(select * from read_parquet('codes/few1.parquet')) timestamp(ts)"
    status, body = reader.query(f"select ts, s, count() c from {ts} sample by 1h order by ts, s")
    hours = group((1_700_000_000 + i) // 3600 * 10 + 0 for i in range(5000))
    check("codes: SAMPLE BY", status == 200 and sum(r[2] for r in body["dataset"]) == 5000 and
          len({r[0] for r in body["dataset"]}) == len(hours) and {r[1] for r in body["dataset"]} == set(words) | {None}, str(body)[:300])
    put("without.parquet", [0] * 50, keep=False)
    status, body = reader.query("select s, count() from read_parquet('codes/*w*t*.parquet') group by s")
    check("codes: no file has the column", status == 400, str(body)[:200])
    few = group(v for f, col, _ in sets["few"] for v in col)
    status, body = reader.query("select s, count() from read_parquet('codes/[fw][ei][wt]*.parquet') group by s order by s")
    check("codes: a file without the column", status == 200 and body["dataset"][0] == [None, few[None] + 50] and
          len(body["dataset"]) == len(few), str(body)[:300])
    # metadata that says what is not so: a plain page that is called coded
    put("lies.parquet", [f"a long value, number {i % 900}" for i in range(3000)], row_group_size=3000, dictionary_pagesize_limit=2000)
    data = (root / "lies.parquet").read_bytes()
    data = data.replace(b"\x15\x00\x15\x00\x15", b"\x15\x00\x15\x10\x15") # data page, PLAIN to RLE_DICTIONARY
    (root / "lies.parquet").write_bytes(data)
    status, body = reader.query("select s, count() from read_parquet('codes/lies.parquet') group by s order by s")
    check("codes: metadata that lies", status == 400 and "lies.parquet" in body.get("error", ""), str(body)[:300])


def group(values):
    counts = {}
    for v in values:
        counts[v] = counts.get(v, 0) + 1
    return counts


# --------------------------------------------------------------------------------------- bad input


def grouped(reader):
    """GROUP BY over texts, by the dictionaries of the row groups: with and without nulls, several of them, given up half-way."""
    rng = random.Random(7)
    words = [f"w{i:03d}" + "x" * (i % 20) for i in range(400)]
    rows = 60000
    few = [rng.choice(words[:5]) if rng.random() > 0.1 else None for _ in range(rows)]
    shifting = [words[i // 2500 * 10 + rng.randrange(30)] for i in range(rows)]
    growing = [words[rng.randrange(10)] if i < 30000 else f"{rng.randrange(20000)}-{'y' * 30}" for i in range(rows)]
    plain = [rng.choice(words) for _ in range(rows)]
    number = [rng.randrange(1000) for _ in range(rows)]
    table = pa.table({"few": few, "shifting": shifting, "growing": growing, "plain": plain, "n": pa.array(number, pa.int64())})
    where = reader.folder / "grouped"
    where.mkdir(exist_ok=True)
    for i, (at, size) in enumerate(((0, 7000), (25000, 20000))):
        pq.write_table(table.slice(at, 25000 if i == 0 else 35000), where / f"{i}.parquet", row_group_size=size, data_page_size=4096,
                       use_dictionary=["few", "shifting", "growing"], dictionary_pagesize_limit=20000, write_page_index=i == 1)
    for column, values in (("few", few), ("shifting", shifting), ("growing", growing), ("plain", plain)):
        for condition, keep in (("", lambda n: True), (" where n < 300", lambda n: n < 300), (" where n = 7 or n > 900", lambda n: n == 7 or n > 900)):
            want = {}
            for value, n in zip(values, number):
                if keep(n):
                    was = want.get(value, (0, 0))
                    want[value] = (was[0] + 1, was[1] + n)
            status, body = reader.query(f"select {column}, count(), sum(n) from read_parquet('grouped/*.parquet'){condition} group by {column}")
            got = {row[0]: (row[1], row[2]) for row in body.get("dataset", [])}
            check(f"group by {column}{condition}", status == 200 and got == want and len(body["dataset"]) == len(want), f"{status} {str(body)[:200]}")
    status, body = reader.query("select few, shifting, count() from read_parquet('grouped/*.parquet') group by few, shifting")
    pairs = collections.Counter(zip(few, shifting))
    check("group by two", status == 200 and {(r[0], r[1]): r[2] for r in body["dataset"]} == pairs, str(body)[:200])
    status, body = reader.query("select distinct few from read_parquet('grouped/*.parquet')")
    check("distinct", status == 200 and {r[0] for r in body["dataset"]} == set(few), str(body)[:200])


def statistics(reader):
    """min, max and count of whole columns, which statistics of row groups answer where they can: as from the rows."""
    rng = random.Random(11)
    rows = 30000
    ticks = [1700000000000000 + rng.randrange(10**12) for _ in range(rows)]
    maybe = lambda values, share: [v if rng.random() > share else None for v in values]  # noqa: E731
    numbers = [rng.randrange(-10**9, 10**9) for _ in range(rows)]
    reals = [rng.uniform(-100, 100) for _ in range(rows)]
    columns = {
        "ts": pa.array(ticks, pa.timestamp("us")), "ms": pa.array([t // 1000 for t in ticks], pa.timestamp("ms")),
        "l": pa.array(maybe(numbers, 0.1), pa.int64()), "i": pa.array(maybe(numbers, 0.2), pa.int32()), "u": pa.array([abs(n) for n in numbers], pa.uint32()),
        "none": pa.array([None] * rows, pa.int64()), "half": pa.array([n if k < rows // 2 else None for k, n in enumerate(numbers)], pa.int64()),
        "least": pa.array([-2**63 if k == 77 else n for k, n in enumerate(numbers)], pa.int64()),
        "least32": pa.array([-2**31 if k == 77 else n for k, n in enumerate(numbers)], pa.int32()),
        "d": pa.array(maybe(reals, 0.1), pa.float64()), "f": pa.array(reals, pa.float32()),
        "mixed": pa.array(maybe([math.nan if k % 3 == 0 else x for k, x in enumerate(reals)], 0.1), pa.float64()),
        "holes": pa.array(maybe([-2**63 if k % 777 == 0 else n for k, n in enumerate(numbers)], 0.1), pa.int64()),
        "nan": pa.array([math.nan if k % 3 == 0 else x for k, x in enumerate(reals)], pa.float64()),
        "inf": pa.array([math.inf if k == 5 else x for k, x in enumerate(reals)], pa.float64()),
        "zero": pa.array([abs(x) if k != 5 else -0.0 for k, x in enumerate(reals)], pa.float64()),
        "text": pa.array(maybe([str(n) for n in numbers], 0.3), pa.string()), "b": pa.array(maybe([n % 2 == 0 for n in numbers], 0.5), pa.bool_()),
        "s": pa.array(maybe([n % 100 for n in numbers], 0.5), pa.int16())}
    table = pa.table(columns)
    for name, options in {"stats": {}, "bare": {"write_statistics": False}, "pages": {"write_page_index": True, "data_page_size": 2000}}.items():
        pq.write_table(table, reader.folder / f"{name}.parquet", row_group_size=4000, **options)
    pq.write_table(table.slice(0, 0), reader.folder / "no_rows.parquet")
    (reader.folder / "two").mkdir(exist_ok=True)
    pq.write_table(table, reader.folder / "two" / "a.parquet", row_group_size=9000)
    pq.write_table(table.select(["ts", "i"]), reader.folder / "two" / "b.parquet", row_group_size=9000)
    for name in ("stats", "bare", "pages", "no_rows", "two/*"):
        file = f"{name}.parquet"
        for column in columns:
            wants = [f"count({column})", "count()"] + ([f"min({column})", f"max({column})"] if column not in ("text", "b", "s") else [])
            short = reader.query(f"select {', '.join(wants)} from read_parquet('{file}')")
            long = reader.query(f"select {', '.join(wants)} from (select * from read_parquet('{file}') limit 1000000000)")
            check(f"statistics of {column} in {name}", short[0] == long[0] == 200 and short[1].get("dataset") == long[1].get("dataset"), f"{short} {long}")
    status, body = reader.query("select min(ts), count(l), max(i) from read_parquet('stats.parquet')")
    want = [shown_time(min(ticks), "us", 6), sum(v is not None for v in columns["l"].to_pylist()), max(v for v in columns["i"].to_pylist() if v is not None)]
    check("statistics beside pyarrow", status == 200 and body["dataset"] == [want], f"{body} {want}")
    def read(what):
        """Rows that the source gives to the query."""
        status, body = reader.query(f"explain analyze select {what} from read_parquet('stats.parquet')")
        return status, re.findall(r"source read_parquet.*?rows[= :]*(\d+)", str(body))

    for what, rows_read in (("min(ts), count(l), max(i), min(f), count(text), count()", 0), ("sum(l)", rows), ("count(d)", rows), ("max(inf)", rows),
                            ("max(zero)", rows), ("min(least)", rows), ("min(least32)", rows), ("count(distinct i)", rows)):
        got = read(what)
        check(f"rows read for {what}", got == (200, [str(rows_read)]), str(got))


def nulls_among_values(reader):
    """Values of a file that are the null of their type here, where the file misses none: null in aggregates, tests, windows, Arrow and tables."""
    root, nan, inf = reader.folder, math.nan, math.inf
    kinds = {"double": (pa.float64(), [1.0, nan, 3.0, inf, -inf, -0.0], [1.0, None, 3.0, None, None, 0.0]),
             "float": (pa.float32(), [1.0, nan, 3.0, inf, -inf, 2.0], [1.0, None, 3.0, None, None, 2.0]),
             "half": (pa.float16(), [1.0, nan, 3.0, inf, -inf, 2.0], [1.0, None, 3.0, None, None, 2.0]),
             "int": (pa.int32(), [1, -2**31, 3, 4, 5, 6], [1, None, 3, 4, 5, 6]),
             "long": (pa.int64(), [1, -2**63, 3, 4, 5, 6], [1, None, 3, 4, 5, 6]),
             "time": (pa.timestamp("us"), [1, -2**63, 3, 4, 5, 6], [1, None, 3, 4, 5, 6]),
             "nanos": (pa.timestamp("ns"), [1, -2**63, 3, 4, 5, 6], [1, None, 3, 4, 5, 6]),
             "plain": (pa.float64(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])}
    shapes = {"coded": {}, "flat": {"use_dictionary": False}, "groups": {"row_group_size": 2}, "alone": {"row_group_size": 1, "use_dictionary": False},
              "unpacked": {"use_dictionary": False, "compression": "none", "data_page_version": "2.0"}, "bare": {"write_statistics": False},
              "split": {"use_dictionary": False, "use_byte_stream_split": True}}
    for name, (kind, values, want) in kinds.items():
        for shape, options in shapes.items():
            if shape == "split" and not pa.types.is_floating(kind):
                continue
            for needed in (False, True):  # a field that is required has no levels at all
                array = pa.array(values, kind)
                table = pa.table([pa.array(range(6), pa.int32()), array], schema=pa.schema([pa.field("n", pa.int32()), pa.field("x", kind, nullable=not needed)]))
                pq.write_table(table, root / "values.parquet", **options)
                one_kind(reader, f"{name} {shape}{' required' if needed else ''}", want, pa.types.is_timestamp(kind))


def one_kind(reader, what, want, is_time):
    there = [v for v in want if v is not None]
    source = "read_parquet('values.parquet')"
    number = "x::long" if is_time else "x"
    if what.startswith("nanos"):
        source, number = "(select n, x, x::long x8 from read_parquet('values.parquet'))", "x8"

    def told(ask, answer):
        status, body = reader.query(ask)
        got = [[float(c) if isinstance(c, Number) else c for c in row] for row in body.get("dataset", [])]
        check(f"nulls among values, {what}: {ask}", status == 200 and got == answer, str(body.get("error", got)))

    aggregates = [len(there), 6, sum(there), sum(there) / len(there), min(there), max(there)]
    folded = f"count(x), count(), sum({number}), avg({number}), min({number}), max({number})"
    told(f"select {folded} from {source}", [aggregates])
    told(f"select n from {source} where x is null", [[i] for i, v in enumerate(want) if v is None])
    told(f"select count() from {source} where x is not null", [[len(there)]])
    told(f"select {number} from {source}", [[v] for v in want])
    last, seen = None, []
    for v in want:
        last = last if v is None else v
        seen.append([last])
    told(f"select last_value({number}) ignore nulls over (order by n rows between unbounded preceding and current row) from {source}", seen)
    reader.query("drop table if exists values_of")
    reader.query(f"create table values_of as (select * from {source})")
    told(f"select {folded} from values_of", [aggregates])
    told("select n from values_of where x is null", [[i] for i, v in enumerate(want) if v is None])
    status, _, body = reader.server.get("/exp", query=f"select x from {source}", fmt="arrow")
    column = pa.ipc.open_stream(body).read_all().column(0) if status == 200 else None
    check(f"nulls among values, {what}: Arrow", status == 200 and column.null_count == len(want) - len(there), f"{status} {column}")


def bad_texts(reader):
    """Bytes that are no UTF-8 in a column that says it is: an error that names file, column and row group, wherever they are."""
    wrong = {"short": b"\xff", "cut": b"0123456789\xe2\x82", "long": b"x" * 40 + b"\xc0\xaf" + b"y" * 40, "surrogate": b"\xed\xa0\x80"}
    for name, bytes_ in wrong.items():
        for coded in (True, False):
            values = [b"text %d" % (i % 50) for i in range(5000)]
            values[4321] = bytes_
            column = pa.array(values, pa.binary()).view(pa.string())
            pq.write_table(pa.table({"good": pa.array(range(5000)), "t": column}), reader.folder / "texts.parquet", row_group_size=3000, use_dictionary=coded)
            status, body = reader.query("select count(), min(t) from read_parquet('texts.parquet')")
            text = body.get("error", "")
            check(f"bad text {name} {coded}", status == 400 and "texts.parquet" in text and "'t'" in text and "UTF-8" in text, f"{status} {str(body)[:300]}")
            status, body = reader.query("select sum(good) from read_parquet('texts.parquet')")
            check(f"beside a bad text {name} {coded}", status == 200 and body["dataset"] == [[sum(range(5000))]], str(body)[:300])
    values = ["é" * 3, "日本語", "🦉" * 9, "", "ascii", "ö" * 100]
    pq.write_table(pa.table({"t": values}), reader.folder / "texts.parquet")
    status, body = reader.query("select t from read_parquet('texts.parquet')")
    check("good texts", status == 200 and [r[0] for r in body["dataset"]] == values, str(body)[:300])


def bad_files(reader, long):
    """Every answer is rows or an error of its own; the server stays."""
    root = reader.folder
    rng = random.Random(5)
    good = []
    for k, (codec, version) in enumerate([("NONE", "1.0"), ("SNAPPY", "2.0"), ("ZSTD", "1.0")]):
        names = ["i32", "i64", "f64", "str", "d38", "us", "list_f", "bool", "f16"]
        table = pa.table({n: to_array(with_nulls(sample_values(TYPES[n], 400, k), "some", k), TYPES[n]) for n in names})
        path = root / "whole.parquet"
        pq.write_table(table, path, compression=codec, data_page_version=version, data_page_size=500, write_page_index=True,
                       use_dictionary=k % 2 == 0)
        good.append(path.read_bytes())
    statuses = {}
    for i in range(3000 if long else 250):
        data = bytearray(rng.choice(good))
        kind = rng.randrange(4)
        if kind == 0:
            data = data[:rng.randrange(len(data))]
        elif kind == 1:
            for _ in range(rng.randint(1, 5)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == 2:
            at = rng.randrange(max(1, len(data) - 3000), len(data))
            data[at] ^= 1 << rng.randrange(8)
        else:
            at = rng.randrange(len(data))
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        (root / "bad.parquet").write_bytes(data)
        for sql in ("select * from read_parquet('bad.parquet')", "select count() from parquet_metadata('bad.parquet')"):
            status, body = reader.query(sql)
            statuses[status] = statuses.get(status, 0) + 1
            if status not in (200, 400, 403):
                check(f"bad file {i}", False, f"{status} {str(body)[:300]}")
            if status == 400 and "bad.parquet" not in body.get("error", ""):
                check(f"bad file {i}", False, f"an error that does not name the file: {body.get('error')}")
    for path in sorted((TOP / "fuzz/corpus/parquet").iterdir()):
        (root / "bad.parquet").write_bytes(path.read_bytes())
        for sql in ("select * from read_parquet('bad.parquet')", "select count(*) from read_parquet('bad.parquet') limit -1"):
            status, body = reader.query(sql)
            check(f"corpus {path.name}", status in (200, 400), f"{status} {str(body)[:300]}")
    check("bad files", reader.query("select 1")[0] == 200, "the server is gone")
    for name, data in {"empty": b"", "short": b"PAR1", "magic": b"PAR1" * 3, "encrypted": b"PARE" + bytes(20) + b"PARE",
                       "footer": b"PAR1" + b"\xff\xff\xff\x7fPAR1", "text": b"a text\n" * 100}.items():
        (root / "bad.parquet").write_bytes(data)
        status, body = reader.query("select * from read_parquet('bad.parquet')")
        check(f"bad file {name}", status == 400 and "bad.parquet" in body.get("error", ""), f"{status} {body}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="release")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    with Server(preset=args.preset) as server:
        reader = Reader(server)
        parts = {"foreign": lambda: foreign_files(reader), "generated": lambda: generated(reader, args.nightly),
                 "queries": lambda: queries(reader), "grouped": lambda: grouped(reader), "codes": lambda: coded_texts(reader),
                 "statistics": lambda: statistics(reader), "values": lambda: nulls_among_values(reader), "texts": lambda: bad_texts(reader), "bad": lambda: bad_files(reader, args.nightly)}
        for name, part in parts.items():
            if not args.only or name in args.only.split(","):
                before = len(failures)
                part()
                if len(failures) > before:
                    print_again(*given(parser, args, leave=("only",)), "--only", name)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
