-- Joins by time and IN at the last nanosecond, and beside times that no TIMESTAMP_NS holds: as if the range were unlimited.
drop table if exists ote_us;
drop table if exists ote_ns;
create table ote_us (ts timestamp, a int, k symbol) timestamp(ts) partition by none;
create table ote_ns (ts timestamp_ns, b int, k symbol) timestamp(ts) partition by none;
insert into ote_us values ('0001-01-01', 1, 'x'), ('1600-01-01', 2, 'x'), ('1677-09-21T00:12:43.145225Z', 3, 'x'), ('2262-04-11T23:47:16.854775Z', 4, 'x'), ('3000-01-01', 5, 'x'), ('9999-12-31T23:59:59.999999Z', 6, 'x');
insert into ote_ns values ('1677-09-21T00:12:43.145224193Z', 1, 'x'), ('1677-09-21T00:12:43.145225000Z', 2, 'x'), ('2262-04-11T23:47:16.854775806Z', 3, 'x'), ('2262-04-11T23:47:16.854775807Z', 4, 'x');

select a, b from ote_us asof join ote_ns;
select a, b from ote_us lt join ote_ns;
select a, b from ote_us asof join ote_ns on (k);
select a, b from ote_us lt join ote_ns on (k);
select b, a from ote_ns asof join ote_us;
select b, a from ote_ns lt join ote_us;
select b, a from ote_ns lt join ote_us on (k);
-- The right side as a stream.
select a, b from ote_us asof join (select * from ote_ns where b > 0) n;
select a, b from ote_us lt join (select * from ote_ns where b > 0) n;
select b, a from ote_ns asof join (select * from ote_us where a > 0) u;

-- 737 years lie between the last TIMESTAMP_NS and the year 3000.
select a, b from ote_us asof join ote_ns tolerance 1h;
select a, b from ote_us lt join ote_ns tolerance 1h;
select a, b from ote_us asof join ote_ns tolerance 269000d;
select a, b from ote_us asof join ote_ns tolerance 270000d;
select a, b from ote_us lt join ote_ns on (k) tolerance 269000d;
select b, a from ote_ns asof join ote_us tolerance 30d;
select b, a from ote_ns asof join ote_us on (k) tolerance 30d;
-- Both ends of one unit are further apart than 64 bits count.
select x.b, y.b from ote_ns x lt join ote_ns y tolerance 100000d;

select a, b from ote_us asof join ote_ns on ote_us.ts <= ote_ns.ts;
select a, b from ote_us asof join ote_ns on ote_us.ts < ote_ns.ts;
select b, a from ote_ns asof join ote_us on ote_ns.ts < ote_us.ts;

select b, a from ote_ns asof join ote_us direction nearest;
select a, b from ote_us asof join ote_ns direction nearest;

-- Times beyond the range of the other side stay different times.
select a, b from ote_us splice join ote_ns;

select b from ote_ns where ts in '2262-04-11T23:47:16.854775807Z';
select b from ote_ns where ts in ('2262-04-11T23:47:16.854775807Z');
select b from ote_ns where ts not in ('2262-04-11T23:47:16.854775807Z');
select b from ote_ns where ts in '1677-09-21T00:12:43.145224193Z';
select b from ote_ns where ts in '2262-04-11T23:47:16.854775807Z;1d';

drop table ote_us;
drop table ote_ns;
