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
-- a column of the query around is a key of GROUP BY, the same in all rows
select k, (select count() from (select 1 a from long_sequence(2) group by t.k)) n from oco_t t order by k;
select k, (select sum(n) from (select t.k g, count() n from oco_t u where u.k <= t.k group by t.k)) n from oco_t t order by k;
select k, (select max(n) from (select u.k % 2 p, t.k g, count() n from oco_t u group by u.k % 2, t.k)) n from oco_t t order by k;
-- subqueries in ORDER BY of a set operation, and in ON of LATERAL
select k m from oco_t union all select 7 order by exists (select 1 from oco_t u where u.k = m + 1), m desc;
select k from oco_t union all select 7 order by (select count() from oco_empty), 1;
select k m from oco_t union select 7 order by (select max(u.k) from oco_t u where u.k < m), 1 desc;
select t.k, u.n from oco_t t left join lateral (select k n from oco_t where k < t.k) u on (select 1 = 1) order by 1, 2;
select t.k, u.n from oco_t t left join lateral (select k n from oco_t where k < t.k) u on (select count() = 4 from oco_t) order by 1, 2;
select t.k, u.n from oco_t t join lateral (select k n from oco_t) u on (select count() from oco_t v where v.k < t.k) = u.n order by 1, 2;
-- the build side of a join reads groups that are over a join whose input is opened twice
select s, r, d from (select s, rank() over (order by s) r, row_number() over (order by s) n, (select rank() over (order by n) from (select count() n from oco_t) limit 1) d from (select s, sum(x) v, rank() over (order by sum(x)) p, 1 / sum(sum(x)) over () n from oco_t order by s)) order by s;
-- filled buckets are those of the rows of each outer row, which one SAMPLE BY for all does not know
select k, (select count() from (select ts, sum(x + t.k) v from oco_t u where u.k <= t.k sample by 1d fill(prev))) m from oco_t t;
select k, (select count() from (select ts, sum(x + t.k) v from oco_t u sample by 1d fill(prev))) m from oco_t t;
select k, (select count() from (select ts, sum(x + t.k) v from oco_t u where u.k <= t.k sample by 1d)) m from oco_t t;
select k, (select min(ts) from (select ts, sum(x + t.k) v from oco_t u where u.k >= t.k sample by 1d align to first observation)) m from oco_t t;
-- whether a group key is in a query is one value for the group
select s, count() n from oco_t t group by s having exists (select 1 from oco_t u where u.s = t.s and u.k > 1) order by s;
select s, count() n from oco_t t group by s having s in (select s from oco_t where k > 1) order by s;
select s, count() n from oco_t t group by s having s not in (select s from oco_t where k > 1) order by s;
select s, count() n, s in (select s from oco_t where k = 1) m, s = 'a' or exists (select 1 from oco_t u where u.s = t.s and u.k > 2) e from oco_t t group by s order by s;
select s, count() n from oco_t t group by s having k in (select k from oco_t);
select s, count() n from oco_t t group by s having exists (select 1 from oco_t u where u.k = t.k);
-- IN and EXISTS over columns two queries out
select k, (select count() from long_sequence(2) q where t.k in (select u.k from oco_t u where u.k > 1)) n from oco_t t;
select k, (select t.k in (select u.k from oco_t u where u.k > 1) from long_sequence(1)) n from oco_t t;
select k, (select max(t.k + q.x in (select u.k from oco_t u)) from long_sequence(2) q) n from oco_t t;
select k, (select count() from long_sequence(3) q where (t.k + 1 = any (select u.k from oco_t u where u.k <> q.x)) = true) n from oco_t t;
select k, (select sum(case when exists (select 1 from oco_t u where u.k = t.k + q.x) then 1 else 0 end) from long_sequence(3) q) n from oco_t t;
select k, (select sum(case when not exists (select 1 from oco_t u where u.k = t.k) then 1 else 0 end) from long_sequence(3) q) n from oco_t t;
select k, (select string_agg(a::string, ',') from (select q.x x, t.k in (select u.k from oco_t u where u.k >= q.x) a from long_sequence(3) q)) n from oco_t t;
-- outer columns in a WINDOW JOIN
select t.k, (select max(f) from (select a.k, sum(b.x) filter (where b.k > t.k) f from oco_t a window join oco_t b range between 1 day preceding and 1 day following)) m from oco_t t order by t.k;
select t.k, (select max(f) from (select a.k, sum(b.x + t.k) f from oco_t a window join oco_t b range between 1 day preceding and 1 day following)) m from oco_t t order by t.k;
select t.k, (select max(f) from (select a.k, sum(b.x) f from oco_t a window join oco_t b range between 1 day preceding and 1 day following where a.k <= t.k)) m from oco_t t order by t.k;
select t.k, (select max(f) from (select a.k, count() f from oco_t a window join (select * from oco_t u where u.k <> t.k) b range between 1 day preceding and 1 day following)) m from oco_t t order by t.k;
-- a subquery that is a value, over columns two queries out
select k, (select (select (select t.k))) n from oco_t t order by k;
select k, (select q.x + (select u.k from oco_t u where u.k = t.k) from long_sequence(1) q) n from oco_t t order by k;
select k, (select sum(q.x + (select u.x from oco_t u where u.k = t.k + 1)) from long_sequence(2) q) n from oco_t t order by k;
select k, (select q.x + (select u.k from oco_t u where u.k >= t.k) from long_sequence(1) q) n from oco_t t order by k;
select k, (select q.x + (select u.k from oco_t u where u.k > t.k) from long_sequence(1) q) n from oco_t t where k > 1 order by k;
select k, (select q.x + (select u.k from oco_t u where u.k <= t.k order by u.k desc limit 1) from long_sequence(1) q) n from oco_t t order by k;
select k, (select q.x + (select u.k from oco_t u where u.k >= t.k order by u.k limit 1, 2) from long_sequence(1) q) n from oco_t t order by k;
-- a volatile expression is like itself: windows over it are computed, and a key of GROUP BY is made once
select max(x) over (order by x) > '2020-01-01' m from (select systimestamp() x);
select count(*) over (partition by rnd_int(1,1,0)) c from long_sequence(3);
select count(*) over (partition by rnd_int(1,1,0) order by x) c, sum(x) over (order by rnd_double()) > 0 s from long_sequence(3);
select count() c, sum(n) s from (select rnd_int(1,3,0) r, count() n from long_sequence(1000) group by r) where r in (1, 2, 3);
select r, n > 0 m from (select rnd_int(1,3,0) r, count() n from long_sequence(1000) group by 1) order by r;
select r, n > 0 m from (select rnd_int(1,3,0) + 0 r, count() n from long_sequence(1000) group by r) order by r;
select k, (select count() from oco_t u where u.k = t.k + rnd_int(0,0,0)) n from oco_t t order by k;
select k, (select count() from (select k from oco_t u where u.k = t.k + rnd_int(0,0,0) union all select k from oco_t u where u.k < t.k)) n from oco_t t order by k;
-- OVER in ORDER BY of a query inside WHERE
select k from oco_t where k in (select k from oco_t order by rank() over (order by k));
select k from oco_t where k in ((select k from oco_t order by rank() over (order by k) limit 1));
select k from oco_t where k in (select k from oco_t order by rank() over (order by k) + 1 limit 1);
select k from oco_t where k in (select k from oco_t order by rank() over (partition by k), 1 limit 1);
select k from oco_t where exists (select k from oco_t order by rank() over (order by k) limit 1);
-- a double that rounds to the greatest FLOAT is one, the next is not
select cast(3.4028235e38 as float) a, cast(-3.4028235e38 as float) b, cast(3.4028235677973367e38 as float) c, cast(3.4028235677973362e38 as float) d;
-- texts of drivers in UPDATE, as in INSERT
create table oco_u (i int, bo boolean, bi binary, s string);
insert into oco_u values (1, 't', '\x00', 'a');
update oco_u set bo = 'f', bi = '\x01ff', s = 't';
select * from oco_u;
update oco_u set bo = 'maybe';
update oco_u set bo = s;
update oco_u set bi = 'text';
drop table oco_u;
-- a setting may stand in FROM as it may alone
select * from (show standard_conforming_strings);
select "transaction isolation level" l from (show transaction isolation level);
select a.client_encoding, b."time zone" from (show client_encoding) a, (show time zone) b;
select * from (show nosuch_setting);
-- blanks around the elements of a list and the parts of a name
select 'r' = any('{"p", "r"}') a, 'r' = any('{ p , r }') b, ' r' = any('{" r",p}') c, 'r' = any('{ }') d, array_to_string(string_to_array('{}', ','), '|') e;
drop table if exists oco_names;
create table oco_names (k int);
select '"public" . "oco_names"'::regclass = 'oco_names'::regclass a, ' public . oco_names '::regclass = 'oco_names'::regclass b;
drop table oco_names;
-- a CASE of nothing but nulls over aggregates
select count() n, case when (count_distinct(x) = count_distinct(x)) then null else null end c from long_sequence(3);
-- a text that reads as a boolean is a condition
select x from long_sequence(2) where 't';
select x from long_sequence(2) where 'no';
select count() n from long_sequence(2) having 'true';
select x from long_sequence(2) where 'maybe';
-- names in parts
select parse_ident('a.b') a, parse_ident('"A ""b".C . d_1$') b, parse_ident('t.c(', false) c, parse_ident(null) d;
select parse_ident('t.c(');
select parse_ident('"t');
select parse_ident('');
select parse_ident('1a');
-- several tables go at once, or none
drop table if exists oco_d1, oco_d2, oco_d3;
create table oco_d1 (k int);
create table oco_d2 (k int);
drop table oco_d1, oco_nosuch;
select count() n from tables() where table_name in ('oco_d1', 'oco_d2');
drop table oco_d1, oco_d2, OCO_D1;
select count() n from tables() where table_name in ('oco_d1', 'oco_d2');
-- ALTER TABLE ... RENAME TO
create table oco_d1 (k int);
create table oco_d2 (k int);
alter table oco_d1 rename to oco_d2;
alter table oco_d1 rename to oco_d3;
select k from oco_d3;
alter table oco_d1 rename to oco_d3;
alter table oco_d2 rename to "../x";
drop table if exists oco_d1, oco_d2, oco_d3;
select pg_sleep(0.001) s, pg_sleep(-1) t, pg_sleep(null) u;
-- row counts at the ends of LONG
select x from long_sequence(9223372036854775807) limit -5;
select x from long_sequence(9223372036854775807) limit -9223372036854775807, -9223372036854775805;
select x from long_sequence(9223372036854775807) limit 9223372036854775805, 9223372036854775807;
select x from long_sequence(9) limit 9223372036854775807, 9223372036854775807 offset 9223372036854775807;
select x from long_sequence(9223372036854775807) limit 3 offset 9223372036854775805;
create table oco_ends (v long);
insert into oco_ends values (9223372036854775806), (9223372036854775807), (-9223372036854775807);
select v from oco_ends where v > 9223372036854775806 and v > 9223372036854775805;
select v from oco_ends where v >= 9223372036854775807 and v <= 9223372036854775807;
select v from oco_ends where v < -9223372036854775806 and v <= 9223372036854775806;
drop table oco_ends;
-- FILTER of a window function is a condition
select x, sum(x) filter (where 3) over () from long_sequence(3);
select sum(x) filter (where x) over (order by x) from long_sequence(3);
select first_value(x) filter (where 'B') over (order by x) from long_sequence(3);
select sum(x) filter (where null) over () s from long_sequence(3);
select sum(x) filter (where 'true') over () s from long_sequence(2);
select x, sum(x) filter (where x > 1) over w s, first_value(x) filter (where x > 1) over w f from long_sequence(3) window w as (order by x);
-- functions with an effect stand in no view
create view oco_effect as (select cancel_query(x) c from long_sequence(3));
create view oco_effect as (select x from long_sequence(3) where reload_config());
create view oco_effect as (select set_config('a.b', 'c', false) c);
create view oco_effect as (select x from long_sequence(3));
alter view oco_effect as (select pg_terminate_backend(1) c);
create or replace view oco_effect as (select flush_user_info_cache() c);
select x from oco_effect;
drop view oco_effect;
