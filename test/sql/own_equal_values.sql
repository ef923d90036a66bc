-- Statistics of equal values: a spread of exactly 0, and none where one is needed. Tested by =, which has no tolerance.
drop table if exists oev_t;
create table oev_t (ts timestamp, g symbol, c double, h double, w double, n double, x double) timestamp(ts) partition by day;
insert into oev_t
select timestamp_sequence('2024-01-01', 60000000), case when x % 3 = 0 then 'a' else 'b' end, 0.1 * (x / x), 1e15 / 3.0 * (x / x), x / 7.0,
       case when x % 2 = 0 then null else 0.3 end, x
from long_sequence(5000);
select stddev(c) = 0 a, variance(c) = 0 b, stddev_pop(c) = 0 c, var_pop(c) = 0 d, stddev_samp(h) = 0 e, var_samp(n) = 0 f from oev_t;
-- PostgreSQL: no line through equal x; y that stands still has slope 0 and r2 1; no correlation with what stands still
select corr(c, x) a, corr(x, c) b, corr(c, h) c, regr_slope(x, c) d, regr_intercept(x, c) e, regr_r2(x, c) f from oev_t;
select regr_slope(c, x) = 0 a, regr_intercept(c, x) = 0.1 b, regr_r2(c, x) c, covar_pop(c, x) = 0 d, covar_samp(x, n) = 0 e, regr_sxx(x, c) = 0 f, regr_sxy(c, x) = 0 g from oev_t;
select corr(n, x) a, corr(x, n) b, regr_slope(x, n) c, regr_count(x, n) d, regr_avgx(x, n) = 0.3 e, regr_avgy(n, x) = 0.3 f from oev_t;
select skewness(c) a, kurtosis(c) b, skewness_pop(h) c, kurtosis_pop(n) d from oev_t;
select weighted_stddev(c, w) = 0 a, weighted_stddev_rel(h, w) = 0 b, weighted_stddev_freq(c, x) = 0 c from oev_t;
-- groups: by key, by many keys, by time
select g, stddev(c) = 0 a, corr(c, x) b, regr_slope(x, c) c, var_pop(h) = 0 d, regr_slope(c, x) = 0 e from oev_t order by g;
select count() c from (select x % 1000 k, stddev(c) s, var_pop(h) v, corr(c, x) r from oev_t) where s = 0 and v = 0 and r is null;
select ts, stddev(c) = 0 a, corr(x, h) b, var_pop(n) = 0 c from oev_t sample by 1d;
select count() c from (select ts, stddev(c) s, corr(c, x) r from oev_t sample by 7m) where s = 0 and r is null;
select count() c from (select ts, stddev(c) s, corr(c, x) r from oev_t sample by 1m) where s is null and r is null;
-- frames
select count() c from (select stddev(c) over (order by ts rows between 99 preceding and current row) s, corr(c, x) over (order by ts rows between 99 preceding and current row) r from oev_t) where s = 0 and r is null;
select count() c from (select var_pop(h) over (partition by g order by ts range between '1' hour preceding and current row) s from oev_t) where s = 0;
select count() c from (select stddev_pop(c) over (partition by g) s, regr_slope(x, c) over (partition by g) r from oev_t) where s = 0 and r is null;
-- constants
select stddev(0.1) = 0 a, corr(0.1, x) b, corr(x, 0.1) c, regr_slope(x, 0.1) d, var_pop(0.1) = 0 e from oev_t;
-- one row
select stddev(c) a, var_pop(c) b, corr(c, x) c, weighted_stddev(x, w) d, weighted_stddev(c, 0.7) e, weighted_stddev(c, 0.3) f, regr_r2(c, x) g from oev_t where x = 5;
select count() c from (select x k, weighted_stddev(c, w) s from oev_t) where s is null;
-- values of one magnitude: what they have in common does not cancel
select variance(1e9 + x % 2) a, corr(1e9 + x, 1e9 - x) b, regr_slope(1e12 + 2 * x, x) c, covar_pop(1e6 + x % 2, x % 2) d from oev_t;
-- a perfect correlation is 1 and not more
select corr(x, w) <= 1 a, corr(-x, w) >= -1 b, corr(w, 3 * w) <= 1 c from oev_t;
-- elements of an array
select array_stddev(array[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]) = 0 a, array_stddev_pop(array[0.3, null, 0.3, 0.3]) = 0 b, array_stddev_samp(array[1e15 + 0.3, 1e15 + 0.3, 1e15 + 0.3]) = 0 c, array_stddev(array[null, 0.1]) d;
-- vwap: what was not traded has no price
drop table if exists oev_v;
create table oev_v (ts timestamp, g symbol, p double, q double) timestamp(ts) partition by day;
insert into oev_v values ('2024-01-01T00:00', 'a', 100, 10), ('2024-01-01T00:01', 'a', 105, 40), ('2024-01-01T00:02', 'a', 1, 0), ('2024-01-01T00:03', 'a', 1, -1),
    ('2024-01-01T01:00', 'b', 1, 0), ('2024-01-01T01:01', 'b', 2, -5), ('2024-01-01T01:02', 'c', null, 5), ('2024-01-01T01:03', 'c', 7, null), ('2024-01-01T01:04', 'c', 8, 2);
select vwap(p, q) a, vwap(-p, q) b, vwap(0, q) c, vwap(p, -q) d, vwap(p, 2) e from oev_v where g = 'a';
select g, vwap(p, q) a, weighted_avg(p, q) b from oev_v order by g;
select ts, vwap(p, q) a from oev_v sample by 1h;
select ts, vwap(p, q) over (order by ts rows between 1 preceding and current row) a from oev_v;
select vwap(p, q) a from oev_v where q <= 0;
select vwap(p, q) filter (where g <> 'c') a from oev_v;
drop table oev_t;
drop table oev_v;
