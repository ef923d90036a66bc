-- Aggregates whose argument is computed below other operators: no row is lost because INT was too small for it.
drop table if exists ob_t;
create table ob_t (v int, g symbol, ts timestamp) timestamp(ts) partition by day;
insert into ob_t values (1, 'a', '2024-07-08T00:00:01'), (2, 'b', '2024-07-08T00:00:02'), (3, 'a', '2024-07-09T00:00:03'), (null, 'c', '2024-07-09T00:00:04');
-- joins, from either side
select sum(y) s, avg(y) m, count(y) n, count() c from (select g, v * 2000000000 y from ob_t) a join (select distinct g from ob_t) b on a.g = b.g;
select b.g, sum(a.y) s from (select distinct g from ob_t) b left join (select g, v * 2000000000 y from ob_t) a on a.g = b.g group by b.g order by b.g;
select sum(y) s from (select v * 2000000000 y from ob_t) cross join long_sequence(2);
select a.g, sum(b.y) s from ob_t a asof join (select ts, v * 2000000000 y from ob_t) b group by a.g order by a.g;
select ts, sum(y) s from (select a.ts, b.y from ob_t a join (select g, v * 2000000000 y from ob_t) b on a.g = b.g) timestamp(ts) sample by 1d order by ts;
-- sorted and cut rows
select sum(y) s from (select v, v * 2000000000 y from ob_t order by v desc limit 2);
select sum(y) s, count(y) n from (select v, v * 2000000000 y from ob_t order by v);
select sum(y) s from (select y from (select v, v * 2000000000 y from ob_t) where v > 1);
-- an aggregate that is an INT of INTs, a column that is a key or compared too, groups of what was lost, the right side of a WINDOW JOIN: refused
select a.ts, sum(b.y) s from ob_t a window join (select ts, v * 2000000000 y from ob_t) b range between 1 day preceding and current row exclude prevailing order by a.ts;
select max(y) from (select g, v * 2000000000 y from ob_t) a join (select distinct g from ob_t) b on a.g = b.g;
select y, sum(y) from (select g, v * 2000000000 y from ob_t) a join (select distinct g from ob_t) b on a.g = b.g group by y;
select sum(y) from (select distinct v * 2000000000 y from ob_t);
select sum(y) from (select v * 2000000000 y, count() from ob_t group by y);
select sum(y), max(y) from (select g, v * 2000000000 y from ob_t) a join (select distinct g from ob_t) b on a.g = b.g;
-- what fits is not refused
select max(y) m, sum(y) s from (select g, v * 700000000 y from ob_t where v < 4) a join (select distinct g from ob_t) b on a.g = b.g;
select sum(y) s from (select distinct v * 700000000 y from ob_t);
-- aggregates over windows beside it, each with its own column
select v, y, count(y) over () n, row_number() over (order by ts) r, approx_count_distinct(y) over () d, last_value(g) over (order by ts) g from (select ts, v, g, v * 2000000000 y from ob_t) order by ts;
select v, n + 1 n from (select v, count(y) over (partition by g) n from (select v, g, v * 2000000000 y from ob_t)) order by v;
select v, count(y) over () n, count(z) over () m, string_agg(g, ',') over () t from (select v, g, v * 2000000000 y, v * 1000000000 z from ob_t) order by v;
