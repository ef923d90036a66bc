-- What INT or LONG lost, and what is no time, is refused on its way into a table, wherever a query computes it.
drop table if exists oos;
drop table if exists oos_new;
drop table if exists oos_to;
create table oos (ts timestamp, v int, l long) timestamp(ts) partition by day;
insert into oos values ('2024-01-01', 1, 1), ('2024-01-02', 2, 2), ('2024-01-03', 3, 3);
create table oos_to (ts timestamp, i int, l long, n timestamp_ns, u timestamp, d date, s varchar) timestamp(ts) partition by day;

create table oos_new as (select v * 2000000000 a from oos);
create table oos_new as (select v * 2000000000 a from oos union all select v from oos);
create table oos_new as (select distinct v * 2000000000 a from oos);
create table oos_new as (select l * 9000000000000000000 a from oos);
create table oos_new as (with q as (select v * 2000000000 a from oos) select x.a, y.a b from q x join q y on x.a = y.a);
-- lag is as wide as what it takes
create table oos_new as (select lag(v * 2000000000) over (order by ts) a from oos);
select a, typeof(a) t from oos_new;
drop table oos_new;
-- a column that is asked to be wider is, and what fits is stored
create table oos_new as (select v * 2000000000 a from oos), cast(a as long);
select a, typeof(a) t from oos_new;
drop table oos_new;
create table oos_new as (select v * 2000000000 a from oos where v < 2 union all select v from oos);
select a from oos_new;
drop table oos_new;

insert into oos_to (ts, i) select ts, v * 2000000000 from oos;
insert into oos_to (ts, i) select ts, v * 2000000000 from oos union all select ts, v from oos;
insert into oos_to (ts, l) select ts, a from (select ts, v * 2000000000 a from oos union all select ts, v from oos);
insert into oos_to (ts, i) select ts, max(v) * 2000000000 from oos sample by 1d;
insert into oos_to (ts, l) select ts, v * 2000000000 from oos;
select l from oos_to;
truncate table oos_to;

-- aggregates over what several read, over lag, and over keys of SAMPLE BY
with q as (select v * 2000000000 a, rnd_int() r from oos) select (select sum(a) from q) s, (select count(a) from q) c;
select sum(a) from (select lag(v * 2000000000) over (order by ts) a from oos union all select v from oos);
select sum(a) from (select ts, v * 2000000000 a, count() c from oos sample by 1d);

-- infinity is a bound
insert into oos_to (ts, u) select '2024-01-01', 'infinity'::timestamp;
insert into oos_to (ts, u) select '2024-01-01', '-infinity'::timestamp;
insert into oos_to (ts, d) select '2024-01-01', 'infinity'::timestamp;
insert into oos_to (ts, d) select '2024-01-01', '-infinity'::date;
insert into oos_to (ts, n) select '2024-01-01', 'infinity'::timestamp;
insert into oos_to (ts, u) select ts, case when v = 2 then 'infinity'::timestamp else ts end from oos;
insert into oos_to (ts, u) select ts, x from (select ts, 'infinity'::timestamp x from oos union all select ts, ts from oos);
insert into oos_to (ts, u) with q as (select 'infinity'::timestamp x, rnd_int() r from long_sequence(1)) select a.x, b.x from q a cross join q b;
create table oos_new as (select 'infinity'::timestamp u, ts from oos);
-- one that is only compared with, or in a branch that is not taken, is none that is stored; a cast that is written makes null what does not fit
insert into oos_to (ts, u) select ts, case when v = 7 then 'infinity'::timestamp else ts end from oos where ts < 'infinity'::timestamp;
insert into oos_to (ts, n) select '2024-01-04', '9999-12-31'::timestamp::timestamp_ns;
select ts, n, u, d from oos_to;
drop table oos;
drop table oos_to;
