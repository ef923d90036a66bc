-- Integer arithmetic beyond the range of INT and LONG: constants, columns, aggregates, what is stored.
drop table if exists oo_t;
create table oo_t (v int, l long, b byte, s short, g symbol, ts timestamp) timestamp(ts) partition by day;
insert into oo_t values (1, 1, 1, 1, 'a', '2024-07-08T19:20:01'), (2, 2, 2, 2, 'a', '2024-07-09T19:20:01'), (3, 9223372036854775807, 3, 3, 'b', '2024-07-10T19:20:01');
-- a constant is a LONG where INT does not hold it, and an error beyond LONG
select 24 * 60 * 60 * 1000000 a, 2147483647 + 1 b, -2147483647 - 2 c, 65536 * 65536 d, -(2147483647 + 1) e, 2147483647 * 1 f;
select typeof(24 * 60 * 60 * 1000000) a, typeof(24 * 60) b, typeof((2147483647 + 1) / 2) c, abs(-2147483647 - 1) d, (2147483647 + 1) % 7 e;
select 9223372036854775807 + 1;
select -9223372036854775807 - 2;
select 3037000500L * 3037000500L;
select v from oo_t where l > 9223372036854775807 * 2;
select '2024-01-01'::timestamp + 9223372036854775807;
select v from oo_t where ts > 1720468801 * 1000000;
select case when v = 1 then 24 * 60 * 60 * 1000000 else 1 end a, case when 1 = 1 then 2147483647 + 1 end b from oo_t;
select 1 / 0 a, 7 % 0 b, null + 2147483647 c;
-- over columns an INT stays one, and is null in the row that it cannot hold
select v * 2000000000 a, v + 2147483646 b, -v - 2147483646 c, v * 100000 * 100000 d, l + 1 e from oo_t;
select s * s a, b * b * b d, v * 2 c, typeof(v * 2) t from oo_t;
-- and is computed in 64 bits where more is asked for
select v * 2000000000 + 1L a, l + v * 2000000000 b, v * 2000000000 + 0.5 c, (v * 2000000000)::long d, cast(v * 2000000000 as double) e from oo_t;
select (v * 2000000000)::timestamp a, ts + v * 2000000000 b, (v * 2000000000)::decimal(12, 1) c, 1.5m + v * 2000000000 d from oo_t;
select v from oo_t where v * 2000000000 > 3;
select v from oo_t where v * 2000000000 = 4000000000;
select v from oo_t where v * 2000000000 > 3000000000L and v * 2000000000 < 5000000000.5;
select v from oo_t where v * 2000000000 between 2000000001 and 4000000000;
select v from oo_t where v * 2000000000 in (4000000000, 2000000000);
select v from oo_t where v * 2000000000 not in (2000000000, 7);
select v from oo_t where v + 2147483646 <> 2147483647;
select case v * 2000000000 when 4000000000 then 'two' else 'other' end a from oo_t;
-- the keys of a join, too: 2 * 2000000000 and 3 * 2000000000 were two nulls, and equal
select a.v, c.v w from oo_t a join oo_t c on a.v * 2000000000 = c.v * 1000000000 * 2;
select v * 2000000000 x from oo_t union all select 5L;
select case when v = 2 then v * 2000000000 else l end x from oo_t;
select coalesce(v * 2000000000, l) x from oo_t;
-- aggregates count every row
select sum(v * 2000000000) s, avg(v * 2000000000) a, count(v * 2000000000) n, count_distinct(v * 2000000000) d from oo_t;
select g, sum(v * 2000000000) s, count(v * 2000000000) n from oo_t group by g order by g;
select ts, sum(v * 2000000000) s from oo_t sample by 1d;
select sum(v * 2000000000) over (order by ts) s from oo_t;
select sum(-(v * 2000000000)) a, sum(abs(v * 2000000000)) b, sum(v * 2000000000 / 3) c, sum(v * 2000000000 % 7) d from oo_t;
select sum(coalesce(v * 2000000000, 0)) a, sum(nullif(v * 2000000000, 2000000000)) b, sum(case when v > 1 then v * 2000000000 end) c from oo_t;
select sum(v * v * 2000000000) a, sum(v * 2000000000) filter (where v > 1) b from oo_t;
select sum(x) s, max(v) m from (select v * 2000000000 x, v from oo_t);
select stddev_samp(v * 2000000000) a, min(v * 20) b, typeof(max(v * 20)) t from oo_t;
-- keys of groups are what the list shows
select v + 1 k, count() c from oo_t group by k having k > 2 order by k;
select v * 2000000000 k, v * 2000000000 + 1L l, count() c from oo_t group by v * 2000000000 having v * 2000000000 > 5 or count() > 1 order by k;
select v * 3 k, v * 3 + sum(l) filter (where v < 3) s from oo_t;
select v * 3 k, case when v * 3 > 5 then 'much' else 'little' end w, count() c from oo_t group by v * 3 order by v * 3 + 1L desc;
select ts, v * 3 k, count() c from oo_t where v * 3 <> 6 sample by 1d;
select v * 3 k, row_number() over (order by v * 3 + 1L desc) r, count() c from oo_t group by v * 3 order by k;
-- or fail: what is of the type of its argument
select max(v * 2000000000) from oo_t;
select first(v * 2000000000) from oo_t;
select max(x) from (select v * 2000000000 x from oo_t);
select g, min(v * 2000000000) from oo_t group by g;
select ts, max(v * 2000000000) from oo_t sample by 1d;
select max(coalesce(v * 2000000000, 0)) from oo_t;
select max(v::long * 2000000000) m from oo_t;
-- and what LONG does not hold
select sum(l + 1) from oo_t;
select sum(l * 2) from oo_t;
select avg(l * 2) from oo_t;
select count(l * 2) from oo_t;
select max(ts + l) from oo_t;
select sum(l * 2) over () from oo_t;
select sum(v * 2000000000 * 2000000000) from oo_t;
select sum(coalesce(l * 2, 0)) from oo_t;
select sum(x) from (select l * 2 x from oo_t);
select sum(case when v = 2 then 0 when l * 2 is null then 5 else 1 end) from oo_t;
select sum(case when v < 2 then 0 else l * 2 end) from oo_t;
-- in rows that count
select sum(l * 2) s from oo_t where v < 3;
select sum(l * 2) filter (where v < 3) s, max(v * 2000000000) filter (where v = 1) m from oo_t;
select sum(case when v < 3 then l * 2 else 0 end) s, max(case when v > 1 then 0 else v * 2000000000 end) m from oo_t;
select sum(case when v = 3 then 0 when l * 2 is null then 5 else 1 end) s from oo_t;
select sum(coalesce(case when v < 3 then l * 2 end, 0)) s from oo_t;
select sum(x) s from (select l * 2 x, v from oo_t) where v < 3;
select g, sum(l * 2) s from oo_t where g = 'a' group by g;
-- sums of LONG256
select sum('0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'::long256) from oo_t;
select sum('0x5555555555555555555555555555555555555555555555555555555555555555'::long256) s, sum('0xff'::long256) t from oo_t;
-- what is stored
drop table if exists oo_i;
create table oo_i (k int, i int, l long, d double);
insert into oo_i values (0, 1, 24 * 60 * 60 * 1000000, 24 * 60 * 60 * 1000000);
insert into oo_i values (0, 24 * 60 * 60 * 1000000, 1, 1);
insert into oo_i values (0, 1, 9223372036854775807 + 1, 1);
insert into oo_i select v, v, v * 2000000000, v * 2000000000 from oo_t order by v;
insert into oo_i (k, i) select v, v * 2000000000 from oo_t;
insert into oo_i (k, l) select v, l * 2 from oo_t order by ts;
select * from oo_i;
update oo_i set l = k * 1000000000 * 10;
update oo_i set i = k * 2000000000;
update oo_i set l = (k + 2) * 2000000000 * 2000000000;
update oo_i set i = case when k < 2 then k * 2000000000 else -1 end;
update oo_i set i = t.v * 2000000000 from oo_t t where t.v = oo_i.k;
select * from oo_i;
drop table oo_i;
drop table oo_t;
