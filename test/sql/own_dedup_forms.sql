-- DEDUP and its older name DEDUPLICATE, with and without ENABLE.
drop table if exists odf_a, odf_b, odf_c, odf_d;
create table odf_a (ts timestamp, k int, v int) timestamp(ts) partition by day;
alter table odf_a dedup upsert keys(ts, k);
insert into odf_a values ('2024-01-01', 1, 1), ('2024-01-01', 2, 1);
insert into odf_a values ('2024-01-01', 1, 2);
select k, v from odf_a order by k;
alter table odf_a dedup disable;
insert into odf_a values ('2024-01-01', 1, 3);
select k, v from odf_a order by k, v;
alter table odf_a deduplicate upsert keys (ts, k);
insert into odf_a values ('2024-01-01', 2, 9);
select k, v from odf_a order by k, v;
alter table odf_a deduplicate disable;
alter table odf_a deduplicate enable upsert keys(ts);
alter table odf_a dedup enable upsert keys(ts, k);
show create table odf_a;
create table odf_b (ts timestamp, k int) timestamp(ts) partition by day wal deduplicate upsert keys(ts, k);
show create table odf_b;
insert into odf_b values ('2024-01-01', 1);
insert into odf_b values ('2024-01-01', 1);
select * from odf_b;
create table odf_c (ts timestamp, k int) timestamp(ts) partition by day dedup upsert keys(ts);
create table odf_d as (select * from odf_b) timestamp(ts) partition by day wal DEDUPLICATE UPSERT KEYS(ts, k);
show create table odf_d;

-- What is neither.
alter table odf_a dedup;
alter table odf_a dedup keys(ts);
alter table odf_a dedup upsert (ts);
alter table odf_a dedup upsert keys ts;
alter table odf_a dedup upsert keys();
alter table odf_a dedup upsert keys(k);
alter table odf_a dedup upsert keys(ts, nope);
alter table odf_a deduplicated upsert keys(ts);
create table odf_e (ts timestamp, k int) timestamp(ts) partition by day deduplicate keys(ts);
create table odf_e (ts timestamp, k int) timestamp(ts) partition by day dedup upsert keys(ts) deduplicate upsert keys(ts);

-- The word is a name elsewhere.
select 1 deduplicate;
drop table odf_a, odf_b, odf_c, odf_d;
