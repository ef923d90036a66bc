-- Windows beyond the reference: FILTER, DISTINCT, GROUPS, EXCLUDE, IGNORE NULLS, QUALIFY, windows over groups.
drop table if exists ow_t;
create table ow_t (ts timestamp, sym symbol, g varchar, v double, n int, d decimal(10,2)) timestamp(ts) partition by day;
insert into ow_t values ('2024-01-01T00:00:00','A','x',1.0,1,1.25m),('2024-01-01T00:00:01','B','y',2.0,null,2.5m),('2024-01-01T00:00:01','A','x',null,3,3.75m),('2024-01-01T00:00:03','B',null,4.0,4,null),('2024-01-01T00:00:10','A','a text of more than twelve bytes',5.0,5,5.5m),('2024-01-01T00:00:12','A','another text, longer than that',-5.0,5,0.5m);
-- windows over groups and samples
select sym, sum(v) s, rank() over (order by sum(v) desc) r, sum(v) / sum(sum(v)) over () share from ow_t order by sym;
select ts, avg(v) a, lag(avg(v)) over (order by ts) before, sum(count()) over (order by ts) c from ow_t sample by 2s;
select sym, rank() over (order by count()) r from ow_t group by sym order by rank() over (order by count()) desc;
-- inside expressions, CASE and ORDER BY
select v - lag(v) over (order by ts) d, case when row_number() over (order by ts) > 3 then 'late' else 'early' end c from ow_t;
select v from ow_t order by row_number() over (order by v desc nulls last), v;
-- named windows
select sum(v) over w a, sum(v) over (w rows 1 preceding) b, count() over w2 c from ow_t window w as (partition by sym order by ts), w2 as (w rows between current row and unbounded following);
-- QUALIFY; conditions on ranks
select ts, v from ow_t qualify row_number() over (partition by sym order by v desc nulls last) = 1;
select v, r from (select v, rank() over (order by n desc) r from ow_t) where r <= 2;
select v, row_number() over (order by v desc nulls last) r, lag(v) over (order by v desc nulls last) l from ow_t qualify r < 3;
-- FILTER, DISTINCT
select sum(v) filter (where sym = 'A') over (order by ts) a, count() filter (where v > 1) over (order by ts rows 1 preceding) b, first_value(v) filter (where sym = 'B') over (order by ts) c, lag(v) filter (where sym = 'A') over (order by ts) l from ow_t;
select count(distinct sym) over () a, count(distinct n) over (order by ts) b, sum(distinct n) over (partition by sym) c, max(distinct v) over (order by ts rows 1 preceding) m from ow_t;
-- frames
select sum(v) over (order by ts groups between 1 preceding and current row exclude ties) a, sum(v) over (order by ts groups between 1 following and 2 following) b, count() over (order by n groups 1 preceding) c from ow_t;
select sum(v) over (rows between unbounded preceding and unbounded following exclude current row) a, min(v) over (order by ts range between 2 seconds preceding and 2 seconds following exclude group) b, max(g) over (order by ts rows between 2 preceding and 1 preceding) c from ow_t;
select sum(v) over (order by v range between 1.5 preceding and 1.5 following) a, count() over (order by v desc nulls last range between 3 preceding and current row) b from ow_t;
select sum(v) over (order by ts range between unbounded preceding and unbounded following) a, sum(v) over (order by ts rows between 1+1 preceding and 2 - 1 preceding) b from ow_t;
-- nulls
select first_value(v) ignore nulls over (order by ts rows between 1 preceding and current row) a, last_value(v) ignore nulls over (order by ts) b, nth_value(v, 2) ignore nulls over (order by ts) c, lag(v, 2) ignore nulls over (order by ts) d, lead(v, 1, 0.0) ignore nulls over (order by ts) e from ow_t;
-- values of all types
select first_value(sym) over w a, last_value(g) over w b, lag(d) over w c, lead(g, 1, 'none') over w e, nth_value(ts, 2) over w f, lag(sym, 2, 'none') over w h from ow_t window w as (order by ts);
select min(sym) over w a, max(g) over w b, sum(d) over w c, min(d) over w e, max(ts) over w f, string_agg(sym, '-') over w h from ow_t window w as (order by ts rows 2 preceding);
select ntile(4) over (order by ts) a, percent_rank() over (order by n) b, cume_dist() over (order by n) c, stddev_samp(v) over (order by ts rows 2 preceding) d, corr(v, n) over () e from ow_t;
select sum(v) over (partition by sym order by ts) a, row_number() over (order by ts) b from ow_t where v > 100;
-- offsets beyond everything
select lag(v, 9223372036854775807) over (order by ts) a, lead(v, 9223372036854775807) over (order by ts) b, nth_value(v, 9223372036854775807) over (order by ts) c, sum(v) over (order by ts rows between 9223372036854775807 preceding and 9223372036854775807 following) d, sum(v) over (order by ts groups between 9223372036854775807 preceding and 1 following) e from ow_t;
-- errors
select row_number() filter (where v > 1) over (order by ts) from ow_t;
select rank(distinct v) over (order by ts) from ow_t;
select sum(v) over (order by g range between 1 preceding and current row) from ow_t;
select sum(v) over (order by v range between -1 preceding and current row) from ow_t;
select sum(v) over (order by ts rows between n preceding and current row) from ow_t;
select v from ow_t where row_number() over (order by ts) = 1;
select sum(row_number() over ()) from ow_t;
select sum(v) over w from ow_t window v as (order by ts);
-- by its alias a window function comes into another
select sym, lag(v) over (order by ts) p, lead(v) over (partition by p order by ts) m from ow_t;
select sym, lag(v) over (order by ts) p, lead(v) over (order by p) m from ow_t;
select sym, lag(v) over (order by ts) p, sum(p) over (order by ts) m from ow_t;
select sym, lag(v) over (order by ts) p, sum(p) over (order by ts) m, rank() over (order by m desc) r from ow_t order by ts, sym;
select sym, sum(n) t, rank() over (order by sum(n)) r, sum(r) over () n from ow_t group by sym order by sym;
select sym, sum(n) t, rank() over (order by sum(n)) r, sum(r + t) over (order by r) u from ow_t group by sym having t > 1 qualify u > 12 order by u;
select sym, row_number() over (order by ts, sym) r, sum(n) filter (where r > 3) over () u from ow_t order by r;
-- HAVING stands before the windows
select sym, sum(v) t, rank() over (order by sum(v)) r from ow_t group by sym having r > 1;
select sym, sum(r) t, rank() over (order by ts) r from ow_t;
-- DISTINCT in frames that leave rows behind
select count(distinct sym) over (order by ts rows 1 preceding) from ow_t;
select ts, count(distinct sym) over (order by ts rows 1 preceding) a, sum(distinct n) over (order by ts rows between 1 preceding and 2 following) b, avg(distinct n) filter (where n > 1) over (order by ts range between '5' second preceding and current row) c, string_agg(distinct sym, ',') over (partition by g order by ts rows between 2 preceding and 1 preceding) d from ow_t;
select count(distinct sym) over (order by ts rows between 1 preceding and 1 following exclude current row) a, count(distinct n) over (order by ts groups between 1 preceding and current row exclude ties) b, count(distinct n) over (order by n desc rows 3 preceding exclude group) c from ow_t;
select max(a) m, sum(a) s from (select count(distinct x % 7) over (partition by x % 3 order by x rows 4 preceding) a from long_sequence(50000));
drop table ow_t;
