-- INSERT ... SELECT takes columns by position: a number where the designated timestamp is most often a column in the
-- wrong place, and is refused. Times and texts are taken; a number can be cast.
drop table if exists oid_src, oid_it, oid_ns, oid_plain;
create table oid_src (ts timestamp, seq long, i int, sh short, b byte, c char, dbl double, f float, dc decimal(10, 2), bo boolean,
  d date, n timestamp_ns, s string, v varchar, sy symbol) timestamp(ts) partition by day;
insert into oid_src values ('2024-01-01', 1714867200000000, 5, 5, 5, '5', 5.0, 5.0, 5.0m, true,
  '2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-06');
create table oid_it (seq long, ts timestamp) timestamp(ts) partition by day;
create table oid_ns (ts timestamp_ns, seq long) timestamp(ts) partition by day;
create table oid_plain (seq long, ts timestamp);

-- The columns are swapped.
insert into oid_it select ts, seq from oid_src;
insert into oid_it (seq, ts) select ts, seq from oid_src;
insert into oid_it select * from (select ts, seq from oid_src);
insert into oid_it select ts, seq from oid_src union all select ts, seq from oid_src;
with q as (select ts, seq from oid_src) insert into oid_it select * from q;
insert into oid_it select ts, seq from oid_src returning seq;
explain insert into oid_it select ts, seq from oid_src;

-- Every number, with and without a list of columns.
insert into oid_it select 1, i from oid_src;
insert into oid_it (ts, seq) select i, 1 from oid_src;
insert into oid_it select 1, sh from oid_src;
insert into oid_it select 1, b from oid_src;
insert into oid_it select 1, c from oid_src;
insert into oid_it select 1, dbl from oid_src;
insert into oid_it select 1, f from oid_src;
insert into oid_it select 1, dc from oid_src;
insert into oid_it select 1, bo from oid_src;
insert into oid_it select 1, seq + 1 from oid_src;
insert into oid_it select 1, 1714867200000000 from oid_src;
insert into oid_it select x, x from long_sequence(3);
insert into oid_it select seq, count() from oid_src;
insert into oid_ns select seq, 1 from oid_src;
select * from oid_it;
select * from oid_ns;

-- What is a time, or is cast to one.
insert into oid_it select 1, ts from oid_src;
insert into oid_it select 2, d from oid_src;
insert into oid_it select 3, n from oid_src;
insert into oid_it select 4, s from oid_src;
insert into oid_it select 5, v from oid_src;
insert into oid_it select 6, sy from oid_src;
insert into oid_it (ts, seq) select seq::timestamp, 7 from oid_src;
insert into oid_it select 8, cast(seq as timestamp) from oid_src;
insert into oid_it select 9, '2024-02-01' from oid_src;
insert into oid_it values (10, 1714867200000000);
insert into oid_ns select ts, 1 from oid_src;
select * from oid_it order by seq;
select * from oid_ns;

-- Null is refused as before, by its value; other columns and tables without a designated timestamp take numbers.
insert into oid_it select 11, null from oid_src;
insert into oid_plain select 1, seq from oid_src;
select * from oid_plain;
drop table oid_src, oid_it, oid_ns, oid_plain;
