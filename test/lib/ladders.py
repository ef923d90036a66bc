"""Values of every column type, in ascending order, as each interface shows them."""
NO_NULL = {"BOOLEAN", "BYTE", "SHORT"}
# name: (column type, [(literal, JSON, CSV, PG), ...]); CSV None: as JSON, PG None: as CSV
LADDERS = {
    "BOOLEAN": [("false", False, "false", "f"), ("true", True, "true", "t")],
    "BYTE": [(v, int(v), v, None) for v in ("-128", "-1", "0", "127")],
    "SHORT": [(v, int(v), v, None) for v in ("-32768", "-1", "0", "32767")],
    "CHAR": [(f"'{c}'", c, c, None) for c in "0Azž日"],
    "INT": [(v, int(v), v, None) for v in ("-2147483647", "-1", "0", "2147483647")],
    "LONG": [(v, int(v), v, None) for v in ("-9223372036854775807", "-1", "0", "9223372036854775807")],
    "FLOAT": [("-1.5e30f", -1.5e30, "-1.5E30", "-1.5e+30"), ("-0.25f", -0.25, "-0.25", None), ("0f", 0.0, "0.0", "0"), ("0.1f", 0.1, "0.1", None), ("3e38f", 3e38, "3.0E38", "3e+38")],
    "DOUBLE": [("-1.7e308", -1.7e308, "-1.7E308", "-1.7e+308"), ("-0.25", -0.25, "-0.25", None), ("0.0", 0.0, "0.0", "0"), ("1e-290", 1e-290, "1.0E-290", "1e-290"), ("0.1", 0.1, "0.1", None),
               ("1.7976931348623157e308", 1.7976931348623157e308, "1.7976931348623157E308", "1.7976931348623157e+308")],
    "STRING": [(f"'{v}'", v, v, None) for v in ("", "A", "a \"q\", b", "aaaaaaaaaaaa", "aaaaaaaaaaaaa", "line\nend", "ž")],
    "VARCHAR": [(f"'{v}'", v, v, None) for v in ("", "A", "a \"q\", b", "aaaaaaaaaaaa", "aaaaaaaaaaaaa", "line\nend", "ž")],
    "SYMBOL": [(f"'{v}'", v, v, None) for v in ("", "A", "a \"q\", b", "aaaaaaaaaaaaa", "ž")],
    "DATE": [(f"'{v}'", v, v, v[:-1].replace("T", " ")) for v in ("0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z")],
    "TIMESTAMP": [(f"'{v}'", v, v, v[:-1].replace("T", " ")) for v in ("0001-01-01T00:00:00.000000Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z")],
    "TIMESTAMP_NS": [(f"'{v}'", v, v, v[:-4].replace("T", " ")) for v in ("1700-01-01T00:00:00.000000001Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00.000000000Z", "2262-01-01T00:00:00.123456789Z")],
    "UUID": [(f"'{v}'", v, v, None) for v in ("00000000-0000-0000-0000-000000000000", "11111111-2222-3333-4444-555555555555", "80000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff")],
    "IPv4": [(f"'{v}'", v, v, None) for v in ("0.0.0.1", "10.0.0.255", "127.255.255.255", "255.255.255.255")],
    "LONG256": [(v, v, v, None) for v in ("0x00", "0xff", "0x010000000000000000", "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff")],
    "GEOHASH(4c)": [(f"#{v}", v, v, None) for v in ("0000", "u33d", "zzzz")],
    "GEOHASH(3c)": [(f"#{v}", v, v, None) for v in ("000", "u33", "zzz")],
    "GEOHASH(12c)": [(f"#{v}", v, v, None) for v in ("000000000000", "u33dbm000001", "zzzzzzzzzzzz")],
    "GEOHASH(31b)": [(f"##{v}", v, v, None) for v in ("0" * 31, "01" * 15 + "1", "1" * 31)],
    "GEOHASH(7b)": [(f"##{v}", v, v, None) for v in ("0000000", "0101010", "1111111")],
    "DECIMAL(2,1)": [(v + "m", v, v, None) for v in ("-9.9", "-0.1", "0.0", "9.9")],
    "DECIMAL(4,2)": [(v + "m", v, v, None) for v in ("-99.99", "-0.01", "0.00", "99.99")],
    "DECIMAL(9,3)": [(v + "m", v, v, None) for v in ("-999999.999", "0.000", "999999.999")],
    "DECIMAL(18,3)": [(v + "m", v, v, None) for v in ("-999999999999999.999", "0.001", "999999999999999.999")],
    "DECIMAL(38,6)": [(v + "m", v, v, None) for v in ("-99999999999999999999999999999999.999999", "0.000000", "0.000001")],
    "DECIMAL(76,0)": [(v + "m", v, v, None) for v in ("-" + "9" * 76, "0", "9" * 76)],
    "BINARY": [(f"from_base64('{v}')", v, v, None) for v in ("AA==", "AAECAwQFBgcICQoLDA0O")],
    "DOUBLE[]": [("ARRAY[]", [], "[]", "{}"), ("ARRAY[1.5, null]", [1.5, None], "[1.5,null]", "{1.5,NULL}"), ("ARRAY[1.0, 2.0, 3.0]", [1.0, 2.0, 3.0], "[1.0,2.0,3.0]", "{1,2,3}")],
    "DOUBLE[][]": [("ARRAY[[1.0], [2.5]]", [[1.0], [2.5]], "[[1.0],[2.5]]", "{{1},{2.5}}"), ("ARRAY[[1.0, 2.5]]", [[1.0, 2.5]], "[[1.0,2.5]]", "{{1,2.5}}")],
    "DOUBLE[][][]": [("ARRAY[[[-1.5]]]", [[[-1.5]]], "[[[-1.5]]]", "{{{-1.5}}}"), ("ARRAY[[[1.0, 2.0], [3.0, 4.0]]]", [[[1.0, 2.0], [3.0, 4.0]]], "[[[1.0,2.0],[3.0,4.0]]]", "{{{1,2},{3,4}}}")],
}


def family(t):
    return t.split("(")[0].split("[")[0] + ("[]" if "[" in t else "")
