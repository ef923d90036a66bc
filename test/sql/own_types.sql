-- Values beyond the range of a type, LONG256 as other types, BINARY as text.
drop table if exists ot_max;
create table ot_max (k int, b byte, s short, i int, l long, f float, d double, g symbol, ts timestamp) timestamp(ts) partition by day;
insert into ot_max values (1, 127, 32767, 2147483647, 9223372036854775807, 3e38f, 1.7e308, 'a', 0), (2, -128, -32768, -2147483647, -9223372036854775807, -3e38f, -1.7e308, 'a', 1), (3, 1, 1, 1, 9223372036854775807, 1f, 1.0, 'b', 2);
-- integers: null beyond the range, not another number. A constant that INT does not hold is a LONG, one that LONG
-- does not hold an error: a constant is known when it is written, so nothing need be lost. 9.3 gives null, or another number
select 2147483647 + 1 a, -2147483647 - 2 b, 46341 * 46341 c, 2147483647 * 2 d;
select 9223372036854775807 + 1 a, -9223372036854775807 - 2 b, 3037000500L * 3037000500L c, 9223372036854775807 * 2 d;
select k, i + 1 a, i - 1 s, i * 2 m, -i n from ot_max;
select k, l + 1 a, l - 1 s, l * 2 m, -l n from ot_max;
select k, i + 1L a, i * 2L m from ot_max;
-- BYTE and SHORT meet as INT; their negatives have no null to be
select k, b + b a, s * s m from ot_max;
select -b from ot_max where k = 1;
select -b from ot_max;
select -s from ot_max;
select k, abs(b) b, abs(i) i, abs(l) l from ot_max;
select abs(s) from ot_max;
-- floating numbers
select k, f * 2f a, d * 2 b from ot_max;
-- sums
select sum(i) i, sum(b) b, sum(s) s from ot_max;
select sum(l) from ot_max where k < 3;
select sum(l) from ot_max;
select sum(l) from ot_max where k <> 2;
select g, sum(l) s from ot_max group by g order by g;
select g, sum(l) s from ot_max where k <> 2 group by g order by g;
select sum(l) from ot_max where k <> 2 sample by 1h;
select k, sum(l) over (order by ts) s from ot_max where k < 3;
select k, sum(l) over () s from ot_max;
select k, sum(l) over (order by ts rows between 1 preceding and current row) s from ot_max where k > 1;
select avg(l) a from ot_max where k <> 2;
select sum(l) filter (where k = 1) a from ot_max;
-- casts beyond the range are null, or 0 where there is no null
select 3000000000::int a, 128::byte b, -32769::short c, 1e10::int d, 1e300::long e, cast(1e300 as float) f, 70000::char g;
select k, cast(l as int) i, cast(l as short) s, cast(d as float) f, cast(f as long) l from ot_max;
-- and refused where they are stored
insert into ot_max (k, b, ts) values (4, 128, 4);
insert into ot_max (k, i, ts) values (4, 2147483648, 4);
insert into ot_max (k, f, ts) values (4, 1e300, 4);
insert into ot_max (k, l, ts) select 4, 1e300, 4::timestamp from long_sequence(1);
update ot_max set i = l;
-- LONG256 as other types, and they as LONG256
select true::long256 a, 7::byte::long256 b, 7::short::long256 c, 255::long256 d, 255.9::long256 e, cast(255.9 as float)::long256 f, '1970-01-01T00:00:00.000255Z'::timestamp::long256 g;
select (-1)::long256 a, (-1.0)::long256 b, null::long::long256 c, null::double::long256 d, 1e19::long256 e;
select x::boolean a, x::byte b, x::short c, x::char d, x::int e, x::long f, cast(x as float) g, x::double h, x::date i, x::timestamp j, x::timestamp_ns k from (select '0x41'::long256 x);
select x::boolean a, x::byte b, x::short c, x::char d, x::int e, x::long f, cast(x as float) g, x::double h, x::timestamp j from (select '0x010000000000000005'::long256 x);
select x::boolean a, x::byte b, x::char d, x::int e, x::long f, x::double h, x::timestamp j from (select null::long256 x);
drop table if exists ot_wide;
create table ot_wide (k int, v long256);
insert into ot_wide values (1, 255);
insert into ot_wide values (2, -1);
insert into ot_wide select 3, x from (select -5 x);
select * from ot_wide;
drop table ot_wide;
-- BINARY is base 64 in JSON and CSV
drop table if exists ot_bin;
create table ot_bin (k int, v binary);
insert into ot_bin values (1, from_base64('AAEC')), (2, from_base64('')), (3, null), (4, from_base64('no base 64'));
select k, v, length(v) n from ot_bin;
select v from ot_bin where v = from_base64('AAEC');
insert into ot_bin values (5, 'AAEC');
drop table ot_bin;
drop table ot_max;
-- BETWEEN keeps all digits, and takes what has an order
drop table if exists ot_between;
create table ot_between (k int, d decimal(38,6), u uuid, w long256, b boolean, ts timestamp) timestamp(ts) partition by day;
insert into ot_between values (1, 99999999999999999999999999999999.999998m, '11111111-0000-0000-0000-000000000000', 0x01, false, 0), (2, 99999999999999999999999999999999.999999m, 'ffffffff-0000-0000-0000-000000000000', 0xff, true, 1), (3, null, null, null, null, 2);
select k from ot_between where d between 99999999999999999999999999999999.999999m and 0m;
select k from ot_between where d not between 99999999999999999999999999999999.999999m and 99999999999999999999999999999999.999999m;
select k from ot_between where u between '80000000-0000-0000-0000-000000000000' and 'ffffffff-ffff-ffff-ffff-ffffffffffff';
select k from ot_between where w between 0xff and 0x02;
select k from ot_between where b between true and true;
select k from ot_between where d between null and 5m;
select k from ot_between where k between 1.5m and 2.5m;
-- FILL(LINEAR) is exact for all 64 bits
drop table if exists ot_fill;
create table ot_fill (l long, t timestamp_ns, d double, i int, ts timestamp) timestamp(ts) partition by day;
insert into ot_fill values (9223372036854775801, '2024-01-01T00:00:00.000000001Z', -1.7e308, -7, '2024-01-01'), (9223372036854775807, '2024-01-01T00:00:00.000000007Z', 1.7e308, 7, '2024-01-01T03');
select ts, last(l) l, last(t) t, last(d) d, last(i) i from ot_fill sample by 1h fill(linear);
insert into ot_fill values (-9223372036854775807, null, 0, 0, '2024-01-01T05');
select ts, last(l) l, last(t) t from ot_fill sample by 1h fill(linear);
drop table ot_fill;
drop table ot_between;
-- INTERVAL and nulls where they can stand
select i, count() c, first(i) f, count(i) n from (select case when x > 1 then interval('2024-01-01', '2024-01-02') end i from long_sequence(3)) group by i order by c;
select distinct i from (select interval('2024-01-01', '2024-01-02') i from long_sequence(3));
select lag(i) over (order by x) l from (select x, interval('2024-01-01', '2024-01-02') i from long_sequence(2));
select i from (select interval('2024-01-01', '2024-01-02') i union all select null);
select min(i) from (select interval('2024-01-01', '2024-01-02') i);
select interval('2024-01-01', '2024-01-02') < interval('2024-01-03', '2024-01-04');
select interval('2024-01-02', '2024-01-01');
create table ot_interval as (select interval('2024-01-01', '2024-01-02') i);
create view ot_interval as (select interval('2024-01-01', '2024-01-02') i);
select * from ot_interval;
drop view ot_interval;
-- bytes as PostgreSQL writes them
select '\x00ff41'::bytea a, 'abc'::bytea b, 'a\\b\000c'::bytea c, '\x'::bytea d, ''::binary e, null::bytea f;
select '\x0'::bytea a, '\xzz'::bytea b, 'a\b'::bytea c, 'a\400'::bytea d, 'a\00'::bytea e;
drop table if exists oexact;
create table oexact (k int, d decimal(20,4), w decimal(76,10));
insert into oexact values (1, 12345.6789, -123456789012345678901234567890123456789012345678901234567890123456.0123456789), (2, -0.0001, 1e3), (3, 7, 1.5e-3);
insert into oexact values (4, 1.00005, 0);
update oexact set d = -99.5, w = 1234567890123456789012.5 where k = 3;
update oexact set d = 0.00001 where k = 3;
select * from oexact order by k;
drop table oexact;
-- cells have the order of their texts
SELECT #u3 < #u33 AS a, #u33 < #u3 AS b, #u33d > #u33 AS c, #u33 <= #u33 AS d, #u33 < #u33 AS e, #u34 > #u33d9 AS f, null < #u33 AS g, #u33 >= #u34 AS h;
SELECT count() AS n, sum(CASE WHEN g < #u33 THEN 1 END) AS a, sum(CASE WHEN NOT (g < #u33) THEN 1 END) AS b FROM (SELECT make_geohash(x * 7 % 180, x % 90, 15) AS g FROM long_sequence(1000));
-- VARCHAR beside another type in UNION stays VARCHAR, but beside STRING
SELECT x::VARCHAR AS a, 'a'::SYMBOL AS b, 'v'::VARCHAR AS c, 'v'::VARCHAR AS d, 'c'::CHAR AS e FROM long_sequence(1) UNION ALL SELECT 1.5, 'b'::VARCHAR, true, '2024-01-01'::TIMESTAMP, 'w'::VARCHAR;
SELECT 'v'::VARCHAR AS a, 's'::STRING AS b, 'y'::SYMBOL AS c UNION ALL SELECT 's'::STRING, 1, 1;
