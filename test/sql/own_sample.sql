-- SAMPLE BY and LATEST ON beyond the recorded cases. Answers that the reference gives too were compared with it; where it
-- differs they were worked out by hand from the rules in docs/sql/sample-by.md.
-- two clock changes; nulls; two keys
drop table if exists osm_a;
create table osm_a (ts timestamp, k symbol, v double, n long, i int) timestamp(ts) partition by day;
insert into osm_a values ('2024-03-30T22:15:00','a',1.0,10,1),('2024-03-31T00:30:00','b',2.0,20,2),('2024-03-31T00:45:00','a',3.0,30,3),('2024-03-31T01:10:00','a',4.0,null,4),('2024-03-31T03:10:00','b',5.0,50,5),('2024-04-01T00:00:00','a',6.0,61,6);
drop table if exists osm_b;
create table osm_b (ts timestamp, v double) timestamp(ts) partition by day;
insert into osm_b values ('2024-03-29T22:30:00',1),('2024-03-29T23:30:00',2),('2024-03-30T00:30:00',4),('2024-03-30T22:30:00',8),('2024-03-30T23:30',16),('2024-03-31T00:30:00',32),('2024-03-31T01:30:00',64),('2024-03-31T22:30:00',128),('2024-03-31T23:30:00',256);
drop table if exists osm_q;
create table osm_q (ts timestamp, k symbol, bid double) timestamp(ts) partition by day;
insert into osm_q values ('2024-03-30T20:00:00','a',10),('2024-03-31T00:40:00','a',20),('2024-03-31T00:10:00','b',30),('2024-03-31T05:00:00','b',40);

-- FILL by column; LINEAR over LONG with nulls (the reference computes with the null)
select ts, sum(v), first(n), last(i) from osm_a sample by 1h fill(prev, null, 0);
select ts, sum(n), sum(i), avg(v) from osm_a sample by 1h fill(linear);
select ts, k, sum(n) from osm_a sample by 6h fill(linear);
select ts, count() from osm_a sample by 6h fill(prev);
select ts, count() c, sum(v) from osm_a sample by 6h fill(0, 1.5);
select ts, first(v), last(v), min(n), max(i) from osm_a sample by 1d fill(prev, linear, null, 0);
select ts, max(k) from osm_a sample by 6h fill(prev);
select ts, first(k) from osm_a sample by 6h fill(prev);
select ts, first(k) from osm_a sample by 6h fill(null);
select ts, last(ts) from osm_a sample by 6h fill(null);

-- PREV of another column
select ts, sum(v) a, min(v) b from osm_b sample by 6h fill(prev(b), null) limit 4;
select ts, sum(v) a, min(v) b, max(v) c from osm_b sample by 6h fill(prev(b), prev, prev(c)) limit 4;
select ts, a from (select ts, sum(v) a, min(v) b from osm_b sample by 6h fill(prev(b), 0)) limit 4;
select ts, sum(v) a, count() b from osm_b sample by 6h fill(prev(b), null) limit 4;
select ts, sum(v) a, min(v) b from osm_b sample by 6h fill(prev(x), null) limit 4;
select ts, sum(v) a, min(v)+1 b from osm_b sample by 6h fill(prev(b), null) limit 4;

-- calendar of a zone, over the change of its clock
select ts, sum(v) from osm_a sample by 1h align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_a sample by 1h fill(null) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_a sample by 1h fill(prev) align to calendar time zone 'Europe/Berlin' limit 3;
select ts, sum(v) from osm_a sample by 1d fill(prev) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_a sample by 1d align to calendar time zone 'Europe/Berlin' with offset '02:00';
select ts, sum(v) from osm_a sample by 1d fill(null) align to calendar time zone 'America/New_York' with offset '-01:30';
select to_timezone(ts, 'Europe/Berlin') t, sum(v) from osm_a sample by 1d align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_a sample by 1d from '2024-03-28' to '2024-04-06' fill(null) align to calendar time zone 'Europe/Berlin';

-- LIMIT with TIME ZONE takes rows in their order (the reference counts over another order)
select ts, sum(v) from osm_b sample by 1d fill(null) align to calendar time zone 'Europe/Berlin' limit 2;
select ts, sum(v) from osm_b sample by 1d align to calendar time zone 'Europe/Berlin' limit 1,2;
select ts, sum(v) from osm_b sample by 1d align to calendar time zone 'Europe/Berlin' limit -1;

-- FROM and TO are what the clock of the zone shows; both bound the rows read and the buckets made
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' to '2024-04-01' fill(null) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' to '2024-04-01' align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' to '2024-04-01' fill(null) align to calendar;
select ts, sum(v) from osm_b sample by 1h from '2024-03-31' to '2024-03-31T05' fill(null) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1h from '2024-03-31' to '2024-03-31T05' align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30T06' to '2024-04-02' fill(null) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' to '2024-04-01' fill(null) align to calendar with offset '06:00';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' to '2024-04-01' fill(null) align to calendar time zone 'Europe/Berlin' with offset '06:00';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' fill(null) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1d to '2024-03-31' fill(null) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' to '2024-04-01' fill(prev) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1d from '2024-03-30' to '2024-04-01' fill(null) align to calendar time zone '+02:00';
select ts, sum(v) from osm_b sample by 1M from '2024-02-15' to '2024-05-01' fill(null);
select ts, sum(v) from osm_b sample by 1M from '2024-02-15' to '2024-05-01' fill(null) align to calendar time zone 'Europe/Berlin';
select ts, sum(v) from osm_b sample by 1h from '2024-10-26T22' to '2024-10-27T03' fill(null) align to calendar time zone 'Europe/Berlin';

-- FROM and TO in UTC; FILL(PREV) before the first row is null; TO off the stride
select ts, sum(v) from osm_a sample by 1h from '2024-03-30' to '2024-03-31T04' fill(prev);
select ts, sum(v) from osm_a sample by 1h from '2024-03-31' to '2024-03-31T04' fill(null);
select ts, sum(v) from osm_a sample by 1h from '2024-03-31' fill(null) limit 3;
select ts, sum(v) from osm_a sample by 1h to '2024-03-31T04:30' fill(null);
select ts, sum(v) from osm_a sample by 1h from '2024-03-31T00:20' to '2024-03-31T04' fill(null);
select ts, sum(v) from osm_a sample by 5d from '2024-03-28' to '2024-04-06' fill(null);
select ts, k, sum(v) from osm_a sample by 12h from '2024-03-30' to '2024-04-01' fill(prev);
select ts, k, sum(v) from osm_a sample by 12h from '2024-03-30' to '2024-04-01' fill(null);
select ts, sum(v) from osm_a where k = 'zz' sample by 1h from '2024-03-31' to '2024-03-31T02' fill(null);
select ts, sum(v) from osm_a where k = 'zz' sample by 1h from '2024-03-31' to '2024-03-31T02' fill(prev);
select ts, sum(v) from osm_b sample by 1w from '2024-03-20' to '2024-05-01' fill(null) limit 3;
select ts, sum(v) from osm_b where ts >= '2024-03-30' sample by 1d from '2024-03-29' to '2024-04-02' fill(null);
select ts, sum(v) from osm_b sample by 1d from '2024-04-02' to '2024-04-01' fill(null);
select ts, sum(v) from osm_b sample by 1d from '2024-03-30'::timestamp to dateadd('d',2,'2024-03-30'::timestamp) fill(null);

-- ALIGN TO FIRST OBSERVATION, other units
select ts, sum(v) from osm_a sample by 7h align to first observation;
select ts, sum(v) from osm_a sample by 7h fill(prev) align to first observation;
select ts, sum(v) s from osm_a sample by 1M fill(null);
select ts, sum(v) s from osm_a sample by 1y;
select ts, sum(v) s from osm_a sample by 1w fill(null);
select ts, sum(v) s from osm_a sample by 2w;
select ts, sum(v) s from osm_a sample by 3d;
select ts, sum(v) s from osm_a sample by 90m;

-- queries and joins below, expressions around the bucket
select ts, avg(s) from (select ts, sum(v) s from osm_a sample by 1h) sample by 1d;
select ts, sum(v) from (osm_a where k='a') sample by 6h fill(null);
select ts, sum(v) from (select * from osm_a order by ts) sample by 6h;
select ts, sum(v) from (select * from osm_a order by ts desc) sample by 6h;
select hour(ts) h, sum(v) from osm_a sample by 6h;
select ts, sum(v)/count() m, k || 'x' kx from osm_a sample by 1d;
select ts, sum(v) from osm_a where k = 'zz' sample by 1h fill(null);
select t.ts, sum(t.v) s, avg(q.bid) b from osm_a t asof join osm_q q on (k) sample by 6h;
select t.ts, t.k, last(q.bid) b from osm_a t asof join osm_q q on (k) sample by 6h fill(prev);
select a.ts, count() from osm_a a join osm_q q on (k) sample by 6h;
select a.ts, count() from osm_a a left join osm_q q on a.k = q.k sample by 6h;
select a.ts, count() from osm_a a lt join osm_q q sample by 6h;
select a.ts, count() from osm_a a cross join osm_q q sample by 1d;
with x as (select * from osm_a where v > 1) select ts, k, sum(v) from x sample by 6h fill(0);
select ts, k, i % 2 odd, sum(v) from osm_a sample by 1d;
select ts, k, i % 2 odd, sum(v) from osm_a sample by 12h fill(null);
select dateadd('h', 1, ts) t, sum(v) from osm_a sample by 6h;
select date_trunc('day', ts) d, sum(v) from osm_a sample by 6h;
select ts::long l, sum(v) from osm_a sample by 1d;
select ts, sum(v) from osm_a sample by 1d order by ts desc;
select ts, sum(v) s from osm_a sample by 1d order by s desc limit 1;
select ts, sum(v) s from osm_a sample by 1d limit -1;
select ts, sum(v) filter (where k='a') from osm_a sample by 1d;
select ts, rank() over (order by ts) r, sum(v) from osm_a sample by 1d;
select ts, sum(v), sum(sum(v)) over (order by ts) from osm_a sample by 1d;
select ts, s, sum(s) over (order by ts) c from (select ts, sum(v) s from osm_a sample by 1d);
select ts, sum(v) s from osm_a sample by 1d having s > 5;
select sum(v) from osm_a sample by 1d union all select sum(v) from osm_a;
select * from (select * from osm_a order by ts desc) latest on ts partition by k;

-- finer than a microsecond
drop table if exists osm_n;
create table osm_n (ts timestamp_ns, v double) timestamp(ts) partition by day;
insert into osm_n values ('2024-03-30T20:00:00.000000001Z',10),('2024-03-30T20:00:00.000000003Z',20),('2024-03-30T20:00:00.000001003Z',30);
select ts, sum(v) from osm_n sample by 1n;
select ts, sum(v) from osm_n sample by 1U fill(null);
select ts, sum(v) from osm_n sample by 500n fill(prev);
select ts, sum(v) from osm_n sample by 1U align to first observation;
select ts, sum(v) from osm_n sample by 1d align to calendar time zone 'Asia/Tokyo';
select ts, sum(v) from osm_n sample by 1U from '2024-03-30T20:00:00' to '2024-03-30T20:00:00.000003Z' fill(0);
select ts, sum(v) from osm_a sample by 100n limit 1;
select ts, sum(v) from osm_a sample by 1U limit 2;
select ts, sum(v) from osm_a sample by 100T limit 2;

-- 29 February and the end of a month
select dateadd('M', 1, '2024-01-31T00:00:00.000000Z'::timestamp), dateadd('y', 1, '2024-02-29T00:00:00.000000Z'::timestamp), dateadd('M', 12, '2024-02-29T00:00:00.000000Z'::timestamp), dateadd('y', 4, '2024-02-29T00:00:00.000000Z'::timestamp);

-- LATEST ON over ordered, filtered and aggregated input
select * from osm_a latest on ts partition by k;
select * from (select * from osm_a order by v) latest on ts partition by k;
select * from (select * from osm_a where v < 5) latest on ts partition by k;
select * from osm_a where v < 5 latest on ts partition by k order by v;
select k, v from osm_a latest on ts partition by k, i limit 2;
select * from osm_a latest by k;
select count() from (osm_a latest on ts partition by k) where v > 5.5;
select ts, k, v from osm_a where k in ('a','zz') latest on ts partition by k;
select * from osm_a latest on ts partition by i % 2;

-- conditions on the buckets of a query below: rows of other buckets are not read
explain select * from (select ts, sum(v) s from osm_a sample by 1h) where ts > '2024-03-31T03';
select * from (select ts, sum(v) s from osm_a sample by 1h) where ts > '2024-03-31T00';
select * from (select ts, sum(v) s from osm_a sample by 1h) where ts > '2024-03-31T00:10';
select * from (select ts, sum(v) s from osm_a sample by 1d align to calendar time zone 'Europe/Berlin') where ts = '2024-03-30T23:00';
select * from (select ts, sum(v) s from osm_a sample by 1d align to calendar time zone 'Europe/Berlin') where ts <= '2024-03-31';
select * from (select ts, k, sum(v) s from osm_a sample by 6h) where ts in '2024-03-31';
select * from (select ts, sum(v) s from osm_a sample by 1h fill(prev)) where ts in '2024-03-31T02';
select * from (select ts, sum(v) s from osm_a sample by 1h align to first observation) where ts > '2024-03-31';
select * from (select ts t, sum(v) s from osm_a sample by 1M) where t = '2024-03-01';
select * from (select ts t, sum(v) s from osm_a sample by 1M) where t > '2024-03-01';
select * from (select ts t, sum(v) s from osm_a sample by 1M) where year(t) = 2024 and t < '2024-03-15';
select * from (select ts t, sum(v) s from osm_a sample by 1d) where t > '2024-03-31' or s > 13;
explain select * from (select ts t, sum(v) s from osm_a sample by 1M) where year(t) = 2024 and t < '2024-03-15';

-- newest buckets first
explain select ts, sum(v) from osm_a sample by 1h order by ts desc limit 2;
select ts, sum(v), first(k), last(n) from osm_a sample by 1h order by ts desc limit 2;
select ts, sum(v), first(k), last(n) from osm_a sample by 1d order by ts desc;
select ts, sum(v)/count() m from osm_a sample by 6h limit -2;
select ts, sum(v) from osm_a sample by 1d align to calendar time zone 'Europe/Berlin' order by ts desc limit 1, 2;
select ts, sum(v) from osm_a sample by 6h fill(0) order by ts desc limit 2;
select ts, k, sum(v) from osm_a sample by 6h order by ts desc limit 2;
