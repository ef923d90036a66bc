-- isOrdered, wait_wal_table, and NaN beside the operators of bits
drop table if exists io_t;
create table io_t (v long, b byte, s short, g symbol, ts timestamp) timestamp(ts) partition by day;
select isOrdered(v) empty from io_t;
insert into io_t values (1, 1, 1, 'a', '2024-01-01T00:00:01'), (2, 2, 2, 'b', '2024-01-01T00:00:02'), (2, 3, 3, 'a', '2024-01-01T00:00:03'), (5, 4, 4, 'b', '2024-01-02T00:00:04'), (3, 5, 5, 'b', '2024-01-02T00:00:05');
select isOrdered(v) v, isOrdered(ts) ts, isordered(b) b, ISORDERED(s) s, isOrdered(v::int) i, isOrdered(ts::timestamp_ns) n, isOrdered(ts::date) d, isOrdered(-b) m from io_t;
select g, isOrdered(v) v from io_t group by g order by g;
select ts, isOrdered(v) v from io_t sample by 1d;
select isOrdered(v) filter (where v < 5) f, isOrdered(v order by v) o, isOrdered(v order by v desc) u from io_t;
select isOrdered(v) over (order by ts rows between 1 preceding and current row) v from io_t;
-- a null is the least
select isOrdered(x) v from (select null::long x union all select 1L union all select 2L);
select isOrdered(x) v from (select 1L x union all select null union all select 2L);
-- many rows, so that several workers' parts are put together
select isOrdered(x) a, isOrdered(-x) b, isOrdered(x / 1000) c, isOrdered(x % 200000) d from long_sequence(300000);
select x % 3 k, isOrdered(x) a, isOrdered(-x) b from long_sequence(300000) group by k order by k;
select isOrdered(1.5) from io_t;
select wait_wal_table('io_t') a, wait_wal_table('public.io_t') b;
select wait_wal_table('io_none');
select wait_wal_table(null);
select wait_wal_table(g) from io_t;
-- NaN is a null of INT beside BYTE and SHORT, which have none
select 5::byte & NaN a, 5::byte | NaN b, NaN ^ 5::short c, b & NaN d, NaN | s e, 5 | NaN f, 5L ^ NaN g from io_t limit 1;
select b & 6 a, s | 1::byte c, typeof(b | NaN) d from io_t limit 1;
