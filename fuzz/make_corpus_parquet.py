#!/usr/bin/env python3
"""Writes seeds for fuzz_parquet to fuzz/corpus/parquet: small files of each type, encoding, codec and page version.

Needs pyarrow. Files above 4,096 bytes are of no use to the fuzzer and are left out; pages have no checksums, which a change
would break first.
"""
import pathlib, sys

import pyarrow as pa
import pyarrow.parquet as pq

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "test"))
import parquet_test as t  # noqa: E402


def main():
    out = TOP / "fuzz/corpus/parquet"
    out.mkdir(parents=True, exist_ok=True)
    number = 0
    for name, kind in t.TYPES.items():
        leaf = kind
        while pa.types.is_list(leaf):
            leaf = leaf.value_type
        for encoding, fits in t.ENCODINGS.items():
            if not fits(leaf):
                continue
            number += 1
            nulls = ["some", "required", "runs"][number % 3]
            column = t.to_array(t.with_nulls(t.sample_values(kind, 20, number), nulls, number), kind)
            table = pa.table([column], schema=pa.schema([pa.field("c", kind, nullable=nulls != "required")]))
            leaf_name = "c" + ".list.element" * str(kind).count("list<")
            options = {"use_dictionary": True} if encoding == "DICTIONARY" else {"use_dictionary": False, "column_encoding": {leaf_name: encoding}}
            path = out / f"{name}_{encoding.lower()}.parquet"
            pq.write_table(table, path, compression=t.CODECS[number % len(t.CODECS)], store_schema=False,
                           data_page_version=["1.0", "2.0"][number % 2], data_page_size=100, row_group_size=12,
                           write_page_index=number % 2 == 0, **options)
            if path.stat().st_size > 4096:
                path.unlink()
    nested = pa.table({"s": [{"a": 1, "b": {"c": "x"}}, None, {"a": None, "b": None}], "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
                       "l": [[{"x": 1}], [], None], "t": [["a"], None, []]})
    pq.write_table(nested, out / "nested.parquet", store_schema=False)
    print(f"{len(list(out.iterdir()))} seeds")


if __name__ == "__main__":
    main()
