-- A constant orders nothing: ORDER BY 'x' means a name. Refused as in the reference and in PostgreSQL.
drop table if exists ooc_t;
create table ooc_t (ts timestamp, s symbol, "a b" int, n long) timestamp(ts) partition by day;
insert into ooc_t values ('2024-01-01', 'x', 2, 1), ('2024-01-02', 'y', 1, 2), ('2024-01-03', 'x', 3, 3);
select * from ooc_t order by 's';
select * from ooc_t order by 'a b';
select s from ooc_t order by s, 'x' desc;
select s, sum(n) from ooc_t group by s order by 'sum';
select ts, sum(n) from ooc_t sample by 1d order by 'ts';
select n from ooc_t order by (('n'));
select n from (select n from ooc_t order by 'n');
with q as (select n from ooc_t) select n from q order by 'n';
select n from ooc_t union all select n from ooc_t order by 'n';
select n from ooc_t order by 1.5;
select n from ooc_t order by true;
select n from ooc_t order by null;
select n from ooc_t order by 1L;
select n from ooc_t union select n from ooc_t order by null;
select distinct n from ooc_t order by 'n';
select n from ooc_t latest on ts partition by s order by 'n';
select row_number() over (order by 'n') from ooc_t;
select sum(n) over (partition by s order by 'ts') from ooc_t;
select string_agg(s, ',' order by 's') from ooc_t;
create view ooc_v as (select n from ooc_t order by 'n');
insert into ooc_t select * from ooc_t order by 'ts';
-- what is meant
select "a b" from ooc_t order by "a b";
select n from ooc_t order by 1 desc;
select n x from ooc_t order by "x" desc;
-- expressions are not looked into; an item that is the constant may be named by it
select n from ooc_t order by 'a' || 'b', n desc;
select n from ooc_t order by -1, upper('x'), n;
select n, 'lbl' from ooc_t order by 'lbl', n desc;
select row_number() over (order by 1) r from ooc_t;
select n from ooc_t order by 7;
drop table ooc_t;
