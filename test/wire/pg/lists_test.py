#!/usr/bin/env python3
"""Lists of texts and numbers over the PostgreSQL wire: their types, what is made of them, rows of their elements.

    lists_test.py [--preset NAME] [CHECK...]
"""
import struct

from lib.checks import check, expect, main
from lib.pganswers import data_rows, kinds, pg, text, with_asyncpg
from lib.pgclient import SYNC, Wire, bind, describe, execute, parse, query


def oids(answer):
    body, at, found = next(b for k, b in answer if k == "T"), 2, []
    for _ in range(struct.unpack_from("!H", body)[0]):
        at = body.index(b"\0", at) + 1
        found.append(struct.unpack_from("!IHI", body, at)[2])
        at += 18
    return found


@check
def casts_make_arrays(s):
    w = Wire(s.pg)
    some = [("'{a,\"b c\",NULL}'::text[]", 1009, '{a,"b c",NULL}'), ("'{}'::varchar[]", 1009, "{}"), ("'{1,2}'::int[]", 1007, "{1,2}"), ("'{1}'::int8[]", 1016, "{1}"),
            ("'{t}'::bool[]", 1000, "{t}"), ("array['a,b', 'c\"d', null]::text[]", 1009, '{"a,b","c\\"d",NULL}'), ("array[1, 2]::int[]", 1007, "{1,2}"),
            ("'{2024-01-01}'::timestamp[]", 1115, "{2024-01-01}"), ("'{1.5}'::numeric[]", 1231, "{1.5}"), ("null::text[]", 1009, None), ("'{1.5}'::float8[]", 1022, "{1.5}"),
            ("string_to_array('a,b', ',')", 1009, "{a,b}"), ("array_append('{1}'::int[], '2')", 1007, "{1,2}")]
    for sql, oid, want in some:
        a = w.ask(parse("", f"select {sql}"), bind(), describe("P"), execute(), SYNC)
        expect((oids(a), text(data_rows(a))), ([oid], [[want]]), sql)
    a = w.ask(parse("", "select '{a,NULL}'::text[], '{1}'::int[]"), bind("", "", results=[1]), execute(), SYNC)
    expect(data_rows(a), [[struct.pack("!iiIii", 1, 1, 25, 2, 1) + struct.pack("!i", 1) + b"a" + struct.pack("!i", -1), struct.pack("!iiIiiii", 1, 0, 23, 1, 1, 4, 1)]])
    for sql in ("'a'::text[]", "'{a'::text[]", "'1,2'::int[]"):
        expect(w.error(query(f"select {sql}"))["C"], "22P02", sql)


@check
def functions_take_lists(s):
    w = Wire(s.pg)
    for sql, want in [("array_to_string(array['a', 'b'], ',')", "a,b"), ("array_to_string(array[1, 2.5, null], ';')", "1;2.5"), ("array_length(array['a', 'b'], 1)", "2"),
                      ("array_length(array[[1, 2, 3]], 2)", "3"), ("array_length('{}', 1)", None), ("array_position(array['a', 'b'], 'b')", "2"), ("array_position('{a,b}', 'z')", None),
                      ("array_position('{a,NULL}', null)", "2"), ("array_append(array['a'], 'b,c')", '{a,"b,c"}'), ("array_append('{}', 'a')", "{a}"), ("array_append('{a}', null)", "{a,NULL}"),
                      ("array_prepend('x', array['b'])", "{x,b}"), ("array_cat(array['a'], array['b'])", "{a,b}"), ("array_cat('{a}', null)", "{a}"), ("cardinality(array['a', 'b'])", "2"),
                      ("cardinality(array[[1, 2], [3, 4]])", "4"), ("array_remove(array['a', 'b'], 'a')", "{b}"), ("'b' = any('{a,b}'::text[])", "t"), ("array_position(array[5, 7], 7)", "2"),
                      ("2 = any('{1,2}'::int[])", "t")]:
        expect(w.rows(f"select {sql}"), [[want]], sql)


@check
def rows_of_elements(s):
    w = Wire(s.pg)
    expect(w.rows("select unnest(array['a', 'b'])"), [["a"], ["b"]])
    expect(w.rows("select * from unnest(array[1.5, 2.5])"), [["1.5"], ["2.5"]])
    expect(w.rows("select unnest('{1,2}'::int[]) + 1"), [["2"], ["3"]])
    expect(w.rows("select unnest('{1,2,3}'::int8[]), unnest('{x,y}'::text[])"), [["1", "x"], ["2", "y"], ["3", None]])
    expect(w.rows("select a, b, n from unnest('{1,2,3}'::int8[], '{x,y}'::text[]) with ordinality t(a, b, n)"), [["1", "x", "1"], ["2", "y", "2"], ["3", None, "3"]])
    expect(w.rows("select count() from unnest('{}'::text[], null::int[])"), [["0"]])
    w.ask(query("create table lists (k int, l varchar); insert into lists values (1, '{a,b}'), (2, '{c}'), (3, null)"))
    expect(w.rows("select k, unnest(l) from lists"), [["1", "a"], ["1", "b"], ["2", "c"]])
    expect(w.rows("select k, a, b from lists, unnest(l, '{1,2}'::int[]) t(a, b) where k < 3"), [["1", "a", "1"], ["1", "b", "2"], ["2", "c", "1"], ["2", None, "2"]])
    expect(w.error(query("select unnest('{1,x}'::int[])"))["C"], "22P02")
    a = w.ask(parse("", "select unnest($1::int[]), unnest($2::text[]), unnest($3::float8[])"), describe("S"), SYNC)
    expect((a[1][1], oids(a)), (struct.pack("!H3I", 3, 1007, 1009, 1022), [23, 1043, 701]))


@check
def many_rows_come_as_lists(s):
    """INSERT ... SELECT FROM unnest($1, $2): how Rust and Go send a block of rows."""
    n = 50000
    with pg(s, autocommit=True) as c:
        c.execute("create table blocks (ts timestamp, id int, name varchar, price double) timestamp(ts) partition by day")
        for binary in ("%t", "%b"):
            c.execute(f"insert into blocks select cast(a as timestamp), b, c, d from unnest({binary}::int8[], {binary}::int[], {binary}::text[], {binary}::float8[]) as t(a, b, c, d)",
                      [[10**15 + i * 10**6 for i in range(n)], list(range(n)), [f'name "{i}", {{x}}' for i in range(n)], [i / 4 for i in range(n)]])
        expect(c.execute("select count(), sum(id), count_distinct(name), sum(price), min(ts)::long, max(ts)::long from blocks").fetchone(),
               (2 * n, n * (n - 1), n, n * (n - 1) / 4, 10**15, 10**15 + (n - 1) * 10**6))
        expect(c.execute("select name from blocks where id = 7 limit 1").fetchone(), ('name "7", {x}',))


@check
def asyncpg_reads_and_writes_lists(s):
    async def body(c):
        await c.execute("create table plain_blocks (id int, name varchar)")
        await c.execute("insert into plain_blocks select unnest($1::int[]), unnest($2::text[])", [1, 2, 3], ["a", None, "c,d"])
        expect([tuple(r) for r in await c.fetch("select id, name from plain_blocks order by id")], [(1, "a"), (2, None), (3, "c,d")])
        expect([tuple(r) for r in await c.fetch("select * from unnest($1::int8[], $2::text[]) t(a, b)", [1, 2], ["x"])], [(1, "x"), (2, None)])
        expect(await c.fetchval("select array['a', 'b c']::text[]"), ["a", "b c"])
        expect(await c.fetchval("select $1::text[]", ["q", None]), ["q", None])
    with_asyncpg(s, body)


@check
def rows_come_as_records(s):
    """How sqlx asks for the attributes of a type, and tokio-postgres and asyncpg decode what comes."""
    w = Wire(s.pg)
    a = w.ask(query("select (1, 'a b', null, '') r, array_agg((x, 'v' || x)) l from long_sequence(2)"))
    expect(oids(a), [2249, 2287])
    expect(w.rows("select (1, 'a b', null, '') r, array_agg((x, 'v' || x)) l from long_sequence(2)"), [['(1,"a b",,"")', '{"(1,v1)","(2,v2)"}']])
    expect(w.rows("""select array_agg((attname, atttypid)) from (select * from pg_catalog.pg_attribute where attrelid = 'pg_range'::regclass
        and not attisdropped and attnum between 1 and 2 order by attnum) attributes"""), [['{"(rngtypid,23)","(rngsubtype,23)"}']])

    async def body(c):
        got = await c.fetchrow("""select row(1, 'a "b" \\', null, '', true) r, array_agg((x, 'v,' || x)) l, array(select (x, '(') from long_sequence(1)) a,
            array_agg((x, x)) filter (where x > 9) n from long_sequence(2)""")
        expect((tuple(got["r"]), [tuple(r) for r in got["l"]], [tuple(r) for r in got["a"]], got["n"]),
               (("1", 'a "b" \\', None, "", "t"), [("1", "v,1"), ("2", "v,2")], [("1", "(")], None))
    with_asyncpg(s, body)


if __name__ == "__main__":
    main()
