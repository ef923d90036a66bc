-- ORDER BY and LIMIT in forms that plans treat specially: the last rows of a sort, limits below joins
-- and unions, ties, nulls, wide and long values.
drop table if exists oor_t;
drop table if exists oor_u;
create table oor_t (ts timestamp, k symbol, n long, x double, v varchar, u uuid) timestamp(ts) partition by day;
insert into oor_t
select timestamp_sequence('2024-01-01', 1000000),
       case x % 4 when 0 then null when 1 then 'a' when 2 then 'b' else 'c' end,
       case when x % 10 = 0 then null else x * 7 % 13 end,
       case when x % 9 = 0 then null else (x * 11 % 17) / 4.0 end,
       case when x % 8 = 0 then null else 'a long common prefix of texts ' || (x * 5 % 7)::string end,
       ('00000000-0000-0000-0000-00000000000' || (x % 5)::string)::uuid
from long_sequence(40);
create table oor_u (k symbol, w long);
insert into oor_u values ('a', 1), ('a', 2), ('b', 3);
select n, x, ts from oor_t order by n, x desc limit 5;
select n, x, ts from oor_t order by n, x desc limit -5;
select n, x, ts from oor_t order by n, x desc limit -8, -3;
select n, x, ts from oor_t order by n desc, x limit 3, 7;
select n, ts from oor_t order by n limit -40, -38;
select v, n from oor_t order by v, n limit -4;
select v, n from oor_t order by v desc, n limit 4;
select k, n, ts from oor_t order by k desc, n limit -3;
select u, ts from oor_t order by u desc, ts limit 3;
select u, ts from oor_t order by u, ts desc limit -2;
select n, ts from oor_t order by n limit -100000;
select ts, n from oor_t order by ts desc limit -2;
select t.ts, t.k, u.w from oor_t t left join oor_u u on t.k = u.k limit 4;
select t.ts, t.k, u.w from oor_t t left join oor_u u on t.k = u.k order by t.ts, u.w limit 2, 5;
select n from (select n from oor_t where n > 3 union all select w from oor_u) limit 3;
select n from (select n from oor_t where n > 11 union all select w from oor_u) limit -2;
select k, count() c from oor_t group by k order by c desc, k limit -2;
select distinct n from oor_t order by n desc limit 3;
select n, x from oor_t where n = 5 order by x limit -2;
select n from oor_t order by n limit 0;
select x from oor_t order by abs(x - 2) limit 3;
select x from oor_t order by abs(x - 2) desc limit -3;
