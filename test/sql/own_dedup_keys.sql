-- Keys of DEDUP: they are not updated, -0.0 is 0.0, and null is one key.
drop table if exists odk_t, odk_f, odk_g, odk_o, odk_p;
create table odk_t (ts timestamp, s symbol, k int, v double) timestamp(ts) partition by day dedup upsert keys(ts, s, k);
insert into odk_t values ('2024-01-01', 'a', 1, 1), ('2024-01-01', 'b', 1, 2), ('2024-01-01', 'a', 2, 3);
update odk_t set s = 'a';
update odk_t set v = 9, k = 1 where s = 'a';
update odk_t set S = 'a' where s = 'nope';
update odk_t set s = x.s from odk_t x where odk_t.ts = x.ts;
update odk_t set v = 7 where s = 'b';
select s, k, v from odk_t order by s, k;
alter table odk_t dedup disable;
update odk_t set s = 'a' where s = 'b';
select s, k, v from odk_t order by s, k, v;

-- DOUBLE and FLOAT: within one insert, in a later one, and for more rows of one time than are compared in pairs.
create table odk_f (ts timestamp, d double, f float, v int) timestamp(ts) partition by day dedup upsert keys(ts, d, f);
insert into odk_f values ('2024-01-01', 0.0, 0.0f, 1), ('2024-01-01', -0.0, 0.0f, 2);
insert into odk_f values ('2024-01-01', 0.0, -0.0f, 3), ('2024-01-01', -0.0, -0.0f, 4);
insert into odk_f values ('2024-01-02', null, 0.0f, 5), ('2024-01-02', nan, -0.0f, 6), ('2024-01-02', 1.0, null, 7), ('2024-01-02', 1.0, nan, 8);
select ts, d, f, v from odk_f order by ts, v;
create table odk_g (ts timestamp, d double, v long) timestamp(ts) partition by day dedup upsert keys(ts, d);
insert into odk_g select '2024-01-01'::timestamp, (x % 50) * 1.0, x from long_sequence(100);
insert into odk_g select '2024-01-01'::timestamp, -0.0, 1000 from long_sequence(3);
insert into odk_g select '2024-01-01'::timestamp, (x % 50) * -1.0, 2000 + x from long_sequence(100);
select count() n, count_distinct(d) k, max(v) m from odk_g;
select d, v from odk_g where d = 0;
select d, count() n from odk_f group by d order by n;

-- Rows that are older than the keys stay as they are, equal or not; the first upsert of their key replaces them all.
create table odk_o (ts timestamp, k int, v int) timestamp(ts) partition by day;
insert into odk_o values ('2024-01-01', 1, 1), ('2024-01-01', 1, 2), ('2024-01-01', 2, 3), ('2024-01-01', 2, 4);
insert into odk_o values ('2024-01-01', 1, 5), ('2024-01-01', 3, 6);
alter table odk_o dedup upsert keys(ts, k);
select k, v from odk_o order by k, v;
insert into odk_o values ('2024-01-01', 2, 100), ('2024-01-02', 9, 9);
select k, v from odk_o order by k, v;
insert into odk_o values ('2024-01-01', 1, 200);
select k, v from odk_o order by k, v;
drop table odk_t, odk_f, odk_g, odk_o;
