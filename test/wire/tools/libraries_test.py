#!/usr/bin/env python3
"""Libraries that look at the server before they use it: SQLAlchemy's inspector, and pandas.

    libraries_test.py [--preset NAME | --binary FILE] [NAME...]

What is not installed is skipped, with a word. What DatabaseMetaData of pgjdbc finds is a check of drivers/.
"""

from lib.checks import Skip, Suite, check, expect
from lib.server import Server

SETUP = ["create table tr (symbol symbol index, price double, n long, v varchar, c char, d decimal(10,2), a double[], u uuid, "
         "ts timestamp) timestamp(ts) partition by day dedup upsert keys(ts, symbol)",
         "insert into tr values ('a', 1.5, 1, 'x', 'c', 1.25m, array[1.0, 2.0], '11111111-2222-3333-4444-555555555555', "
         "'2024-01-01')",
         "create view tv as (select symbol, price from tr)",
         "create materialized view tm as (select ts, sum(price) p from tr sample by 1h)",
         'create table "T odd.\u00fc" ("x y" int, "Z" symbol index)']


def inspect(e, sa):
    i = sa.inspect(e)
    expect(sorted(i.get_table_names()), ["T odd.\u00fc", "tr"], "get_table_names")
    expect(i.get_view_names(), ["tv"], "get_view_names")
    expect(i.get_materialized_view_names(), ["tm"], "get_materialized_view_names")
    expect(sorted(i.get_schema_names()), ["information_schema", "public"], "get_schema_names")
    expect([i.has_table(t) for t in ("tr", "tv", "tm", "T odd.\u00fc", "nosuch")], [True, True, True, True, False], "has_table")
    columns = {c["name"]: c["type"].compile(e.dialect) for c in i.get_columns("tr")}
    expect(columns, {"symbol": "VARCHAR", "price": "DOUBLE PRECISION", "n": "BIGINT", "v": "VARCHAR", "c": "CHAR(1)",
                     "d": "NUMERIC(10, 2)", "a": "DOUBLE PRECISION[]", "u": "UUID", "ts": "TIMESTAMP WITHOUT TIME ZONE"}, "get_columns")
    expect([c["name"] for c in i.get_columns("T odd.\u00fc")], ["x y", "Z"], "get_columns of an odd name")
    expect([(x["name"], x["column_names"], x["unique"]) for x in i.get_indexes("tr")],
           [("tr_symbol_idx", ["symbol"], False)], "get_indexes")
    expect([x["column_names"] for x in i.get_indexes("T odd.\u00fc")], [["Z"]], "get_indexes of an odd name")
    for t in ("tr", "tv", "tm"):
        expect(i.get_pk_constraint(t)["constrained_columns"], [], "get_pk_constraint")
        expect(i.get_foreign_keys(t) + i.get_unique_constraints(t) + i.get_check_constraints(t), [], "constraints")
    expect(i.get_view_definition("tv"), " select symbol, price from tr;", "get_view_definition")
    expect(i.get_view_definition("tm"), " select ts, sum(price) p from tr sample by 1h;", "get_view_definition")
    expect((i.get_enums(), i.get_domains(), i.get_sequence_names(), i.get_temp_table_names()), ([], [], [], []), "others")
    expect(i.get_table_options("tr"), {}, "get_table_options")
    expect("pg_class" in i.get_table_names(schema="pg_catalog"), True, "tables of pg_catalog")


def reflect(e, sa):
    table = sa.Table("tr", sa.MetaData(), autoload_with=e)
    expect([x.name for x in table.indexes], ["tr_symbol_idx"], "indexes of a reflected table")
    with e.connect() as c:
        rows = c.execute(sa.select(table.c.symbol, table.c.d, table.c.a).where(table.c.price > 1)).all()
    expect([(s, str(d), a) for s, d, a in rows], [("a", "1.25", [1.0, 2.0])], "rows of a reflected table")
    every = sa.MetaData()
    every.reflect(bind=e, views=True)
    expect(sorted(every.tables), ["T odd.\u00fc", "tm", "tr", "tv"], "MetaData.reflect")


def frames(e, sa, pd):
    expect([str(t) for t in pd.read_sql(sa.text("select price, n, ts from tr"), e).dtypes][:2], ["float64", "int64"], "read_sql")
    expect(pd.read_sql_table("tr", e)["n"].tolist(), [1], "read_sql_table")
    one = pd.DataFrame({"x": [1, 2], "y": ["a", "b"], "z": [1.5, None], "t": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    one.to_sql("frame", e, if_exists="replace", index=False)
    again = pd.read_sql("select * from frame order by x", e)
    expect(again["y"].tolist() + again["t"].astype(str).tolist(), ["a", "b", "2024-01-01", "2024-01-02"], "to_sql")
    with e.connect().execution_options(isolation_level="AUTOCOMMIT") as c:
        c.execute(sa.text("drop table frame"))


@check
def sqlalchemy(s):
    try:
        import pandas as pd, sqlalchemy as sa
    except ImportError as e:
        raise Skip(f"{e.name} is not installed") from None
    done = 0
    for driver in ("psycopg", "psycopg2"):
        if driver == "psycopg2":
            try:
                import psycopg2  # noqa: F401
            except ImportError:
                print("psycopg2: skipped: not installed", flush=True)
                continue
        e = sa.create_engine(f"postgresql+{driver}://admin:quest@{s.pg}/qdb")
        if done == 0:
            with e.connect().execution_options(isolation_level="AUTOCOMMIT") as c:
                for sql in SETUP:
                    c.exec_driver_sql(sql)
        inspect(e, sa)
        reflect(e, sa)
        frames(e, sa, pd)
        e.dispose()
        done += 1


def main():
    suite = Suite(__doc__)
    with Server(binary=suite.o.binary, preset=suite.o.preset) as s:
        suite.checks(s)
    suite.close()


if __name__ == "__main__":
    main()
