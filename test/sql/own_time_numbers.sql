-- Texts of digits where a time is expected: a count of the unit since 1970, but eight digits are a day.
drop table if exists otn_t;
create table otn_t (k int, ts timestamp, n timestamp_ns, d date) timestamp(ts) partition by day;
insert into otn_t values (1, '2023-11-14T22:13:20', '2023-11-14T22:13:20', '2023-11-14T22:13:20'), (2, '1700000000000001', '1700000000000000001', '1700000000001'), (3, '20231114', '20231114', '20231114');
insert into otn_t select 4, '1700000000000007', '1700000000000000007', '1700000000007';
insert into otn_t select 5, '20231115', '20231115', '20231115';
insert into otn_t select 6, x, x, x from (select '20231116' x);
insert into otn_t select 7, x, null, null from (select '-1' x);
insert into otn_t (k, ts) values (8, '20231345');
insert into otn_t (k, ts) values (8, '-9223372036854775808');
insert into otn_t (k, ts) values (8, '99999999999999999999');
update otn_t set n = '1700000000000000009', d = '20231114' where k = 2;
update otn_t set n = x from (select '20231117' x) where k = 3;
select * from otn_t;
-- conditions
select k from otn_t where ts = '1700000000000000';
select k from otn_t where ts > '1700000000000000' and ts <= '1700000000000007';
select k from otn_t where ts > '20231113';
select k from otn_t where ts = '20231114';
select k from otn_t where ts >= '20231115' and n < '20231116';
select k from otn_t where ts between '20231114' and '1700000000000001';
select k from otn_t where ts != '1700000000000000';
select k from otn_t where n = '1700000000000000000';
select k from otn_t where d = '1700000000007';
select k from otn_t where d > '20231114' and d < '20231116';
select k from otn_t where ts > '20231345';
select k from otn_t where ts > '99999999';
select k from otn_t where ts > '2023';
-- IN: all of a day, one moment
select k from otn_t where ts in '20231114';
select k from otn_t where n in '20231114';
select k from otn_t where ts not in '20231114';
select k from otn_t where ts in '1700000000000001';
select k from otn_t where ts in ('1700000000000000', '1700000000000007', '20231115');
select k from otn_t where d in ('1700000000000', '20231116');
-- arguments
select dateadd('d', 1, '20231114') a, dateadd('s', 1, '1700000000000000') b, datediff('d', '20231114', '20231117') c, timestamp_floor('h', '1700000000000000') d;
select coalesce(ts, '20231114') a from otn_t where k = 1;
select k, count() c from otn_t where k = 1 sample by 1d from '20231114' to '20231115';
-- a cast reads the forms that it writes
select '1700000000000000'::timestamp a, '20231114'::timestamp b, '20231114'::date c;
drop table otn_t;
