-- What random queries and fuzzing found wrong: answers by the rules, checked with DuckDB or the reference.
drop table if exists oco_t;
drop table if exists oco_empty;
create table oco_t (k int, x double, s symbol, ts timestamp) timestamp(ts) partition by day;
create table oco_empty (k int, x double, s symbol, ts timestamp) timestamp(ts) partition by day;
insert into oco_t values (1, 1.0, 'a', '2024-01-01'), (2, null, null, '2024-01-02'), (3, 2.0, 'b', '2024-01-03');
-- NOT is the opposite in a list; in WHERE it turns comparisons around, so that a null is left out both ways
select k, not (x > 1) n, not (x <= 1 and s = 'a') m from oco_t order by k;
select k from oco_t where not (x > 1) order by k;
select k from oco_t where not (x > 1 or k = 7) order by k;
select k from oco_t where not (not (x > 1)) order by k;
select k from oco_t where case when not (x > 1) then true else false end order by k;
select k from oco_t where x > all (select x from oco_empty) and k <> 2 order by k;
-- GROUP BY a constant has no group without rows
select 1 a, count() n from oco_t where k > 9 group by 1;
select 1 a, count() n from oco_t where k > 9;
select 'a' a, count() n, max(x) m from oco_t group by 1;
select 1 a, 'b' b, count() n from oco_empty group by a, b having count() >= 0;
-- an aggregate of a name that stands for an aggregate
select min(k) lo, max(k) hi from oco_t order by sum(lo) nulls first;
select max(k) + 1 hi from oco_t group by s having max(hi) > 1;
-- LATERAL before what cannot look to the left
select t.k, v.c from oco_t t left join lateral (values (1, 'one'), (3, 'three')) v(n, c) on v.n = t.k order by t.k;
select t.k, v.c from oco_t t, lateral (values (1, 'one'), (3, 'three')) v(n, c) order by t.k, v.c;
-- positions of lists of tables that are not there
show columns from oco_nosuch;
show partitions from oco_nosuch;
show create table oco_nosuch;
-- empty groups
select s, sum(x) t from oco_empty group by s;
select s, sum(x) t, first(k) f from oco_empty sample by 1h;
-- the last rows of what knows its number of rows but cannot leave any out
select t.k, u.k uk from (select ts, s, k, lag(k) over (partition by s order by ts) p from oco_t) t asof join oco_t u on (s) limit -2;
select k, p from (select k, lag(k) over (order by ts) p from oco_t) limit -1;
-- subqueries with outer columns do not double each other's plans
select k, (select max(u.k) from oco_t u where u.k < t.k + 1) a, (select max(u.k) from oco_t u where u.k < t.k + 2) b, (select max(u.k) from oco_t u where u.k < t.k + 3) c, (select max(u.k) from oco_t u where u.k < t.k + 4) d, (select max(u.k) from oco_t u where u.k < t.k + 5) e, (select max(u.k) from oco_t u where u.k < t.k + 6) f, (select max(u.k) from oco_t u where u.k < t.k + 7) g, (select max(u.k) from oco_t u where u.k < t.k + 8) h, (select max(u.k) from oco_t u where u.k < t.k + 9) i, (select max(u.k) from oco_t u where u.k < t.k + 10) j, (select max(u.k) from oco_t u where u.k < t.k + 11) l, (select max(u.k) from oco_t u where u.k < t.k + 12) m, (select max(u.k) from oco_t u where u.k < t.k + 13) n, (select max(u.k) from oco_t u where u.k < t.k + 14) o, (select max(u.k) from oco_t u where u.k < t.k + 15) p, (select max(u.k) from oco_t u where u.k < t.k + 16) q from oco_t t order by k;
-- aggregates of one column, taken together, where no row passes
select s, avg(x) a, min(x) b, max(x) c, count() n from oco_t where x > 100 group by s;
select a.f g, avg(a.x) p, min(a.x) q, count(a.x) r, sum(a.x) t from (select k > 1 f, x from oco_t where x > 100) a;
select a.f g, min(case when a.s <= 'b' then a.x end) q, avg(abs(2)) r from (select s, false f, x from oco_t where 42 = 10) a;
drop table if exists corner_between;
create table corner_between as (select x, case when x > 1 then (x * 86400000000L)::timestamp end t from long_sequence(4));
select x from corner_between where not (t between '1970-01-03' and '1970-01-04') order by x;
select x from corner_between where t not between '1970-01-03' and '1970-01-04' order by x;
select x from corner_between where not (x > 0 and t between '1970-01-03' and '1970-01-04') order by x;
select x from corner_between where not (t >= '1970-01-03' and t <= '1970-01-04') order by x;
drop table corner_between;
select a.x, b.x y from long_sequence(2) a join (select x - 1 x from long_sequence(4)) b on (a.x = 1 and b.x in (0, 2)) or (a.x = 2 and b.x in (0, 3)) order by 1, 2;
