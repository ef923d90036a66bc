-- FILTER above what is computed below other nodes: an overflow there is computed in 64 bits or refused, never left out.
drop table if exists oof;
create table oof (v int);
insert into oof values (1), (2), (3);
select sum(y) filter (where k < 3) from (select v k, v*2000000000 y from oof);
select sum(v * 2000000000) filter (where v < 3), max(v * 2000000000) filter (where v < 2) from oof;
select sum(y) filter (where k < 3) from (select v k, v*2000000000 y from oof union all select 7, 1);
select sum(y) filter (where k < 3) from (select v k, v*200000000 y from oof union all select 2, 1);
select max(y) filter (where k < 3) from (select v k, v*2000000000 y from oof);
with q as (select v k, v*2000000000 y from oof) select (select sum(y) filter (where k < 3) from q) s, (select count() from q) n;
select sum(y) filter (where w < 3), max(y) from (select v k, v*2000000000 y from oof) a join (select v w from oof) b on a.k = b.w;
select count(y) filter (where k < 3) over () n from (select v k, v*2000000000 y from oof);
drop table oof;
