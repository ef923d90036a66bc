-- Tables are in the schema public of the database qdb. The name of another schema never stands for them, in
-- statements that read or write.
drop table if exists osn_t, osn_u, osn_w;
drop view if exists osn_v;
create table qdb.public.osn_t (ts timestamp, v int) timestamp(ts) partition by day;
create table public.osn_u (like qdb.public.osn_t);
insert into public.osn_t values ('2024-01-01', 1), ('2024-01-02', 2);
insert into QDB."public".osn_t (ts, v) values ('2024-01-03', 3);

-- Ours, in one, two and three parts.
select v from public.osn_t order by v;
select public.osn_t.v a, qdb.public.osn_t.v b from qdb.public.osn_t order by a;
select public.osn_t.* from osn_t order by v;
declare @t := qdb.public.osn_t select count() n from @t;
select count() n from qdb.pg_catalog.pg_class where relname = 'osn_t';
select table_name from qdb.information_schema.tables where table_name = 'osn_t';
select pg_catalog.abs(-1) a;

-- Reads of other schemas.
select * from osn_foo.osn_t;
select * from qdb.osn_foo.osn_t;
select * from other.public.osn_t;
select * from "".osn_t;
select * from pg_catalog.osn_t;
select * from information_schema.osn_t;
osn_foo.osn_t;
select * from osn_t a join osn_foo.osn_t b on (ts);
select osn_foo.osn_t.v from osn_t;
select osn_foo.osn_t.* from osn_t;
select osn_foo.abs(1);
select * from osn_foo.long_sequence(1);
declare @t := osn_foo.osn_t select * from @t;
with c as (select 1 x) select * from public.c;
show columns from osn_foo.osn_t;
show create table osn_foo.osn_t;
show columns from pg_catalog.osn_t;

-- Writes.
insert into osn_foo.osn_t values ('2024-01-04', 4);
insert into osn_t select * from osn_foo.osn_t;
insert into pg_catalog.osn_t values ('2024-01-04', 4);
update osn_foo.osn_t set v = 9;
update osn_t set osn_foo.v = 9;
delete from osn_foo.osn_t;
delete from osn_foo.osn_t where v = 1;
truncate table osn_foo.osn_t;
truncate table pg_catalog.osn_t;
truncate table public.osn_t, osn_foo.osn_t;
truncate table if exists osn_foo.osn_t, pg_catalog.osn_t, other.public.osn_t;
drop table osn_foo.osn_t;
drop table if exists osn_foo.osn_t;
drop table if exists osn_foo.osn_t, osn_w, other.public.osn_t;
drop view if exists osn_foo.osn_t;
drop index if exists osn_foo.osn_t;
drop index osn_foo.osn_t;
create table osn_foo.osn_w (a int);
create table pg_catalog.osn_w (a int);
create table osn_w (like osn_foo.osn_t);
create table osn_w as (select * from osn_foo.osn_t);
create table if not exists osn_foo.osn_t (a int);
create view osn_foo.osn_v as (select * from osn_t);
create materialized view osn_foo.osn_m as (select ts, sum(v) s from osn_t sample by 1d);
create materialized view osn_m with base osn_foo.osn_t as (select ts, sum(v) s from osn_t sample by 1d);
refresh materialized view osn_foo.osn_m full;
create index on osn_foo.osn_t (v);
alter table osn_foo.osn_t add column w int;
alter table osn_foo.osn_t drop column v;
alter table osn_t rename to osn_foo.osn_w;
rename table osn_foo.osn_t to osn_w;
rename table osn_t to osn_foo.osn_w;
comment on table osn_foo.osn_t is 'x';
comment on column osn_foo.osn_t.v is 'x';
vacuum table osn_foo.osn_t;
reindex table osn_foo.osn_t;
grant select on osn_foo.osn_t to admin;

-- Nothing of it did anything.
select ts, v from osn_t order by ts;
select count() n from tables() where table_name like 'osn_w%';

-- The same where the schema is ours.
update public.osn_t set v = 10 where v = 1;
update qdb.public.osn_t x set x.v = 20 where x.v = 2;
update osn_t set osn_t.v = 30 where v = 3;
delete from public.osn_t where v = 30;
select v from osn_t order by v;
alter table public.osn_t add column w int;
comment on column qdb.public.osn_t.w is 'x';
create view public.osn_v as (select v from qdb.public.osn_t);
select v from public.osn_v order by v;
drop view qdb.public.osn_v;
rename table public.osn_u to qdb.public.osn_w;
show columns from qdb.public.osn_w;
drop table if exists osn_foo.osn_t, public.osn_w;
select count() n from tables() where table_name = 'osn_w';
truncate table public.osn_t;
select count() n from osn_t;
drop table qdb.public.osn_t;
