-- Functions that newer versions of the reference have: exponential averages, arrays together and in another order,
-- shapes of distributions, charts, points in circles; and nulls without a type.
DROP TABLE IF EXISTS onw_t;
CREATE TABLE onw_t (ts TIMESTAMP, s SYMBOL, p DOUBLE, v DOUBLE, n INT, a DOUBLE[]) TIMESTAMP(ts) PARTITION BY DAY;
INSERT INTO onw_t VALUES ('2024-01-01T00:00:00', 'a', 10, 1, 1, ARRAY[1.0, 2.0]), ('2024-01-01T00:01:00', 'b', 100, 2, 2, ARRAY[10.0, 20.0, 30.0]), ('2024-01-01T00:02:00', 'a', 20, 3, 1, ARRAY[3.0, null]), ('2024-01-01T00:02:00', 'a', 30, 0, 3, null), ('2024-01-01T00:04:00', 'a', null, 4, null, ARRAY[5.0]), ('2024-01-01T00:08:00', 'b', 50, null, 2, null), ('2024-01-01T00:16:00', 'a', 40, 5, 1, ARRAY[0.5, 0.5, 0.5]), ('2024-01-02T00:16:00', 'b', 60, 2, 7, ARRAY[1.0]);
SELECT ts, s, avg(p, 'alpha', 0.25) OVER (PARTITION BY s ORDER BY ts) AS e FROM onw_t;
SELECT ts, s, avg(p, 'period', 3) OVER (PARTITION BY s ORDER BY ts) AS e, avg(n, 'PERIODS', 3) OVER () AS f FROM onw_t;
SELECT ts, s, avg(p, 'minute', 2) OVER (PARTITION BY s ORDER BY ts) AS e, avg(p, 'seconds', 120) OVER (PARTITION BY s ORDER BY ts) AS f FROM onw_t;
SELECT ts, s, avg(p, 'alpha', 0.25, v) OVER (PARTITION BY s ORDER BY ts) AS e, avg(p, 'minute', 2, v) OVER (PARTITION BY s ORDER BY ts) AS f FROM onw_t;
-- whatever the frame
SELECT avg(p, 'period', 3) OVER w AS a, avg(p, 'period', 3) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS b, avg(p, 'period', 3) OVER (w ROWS 0 PRECEDING EXCLUDE CURRENT ROW) AS c FROM onw_t WINDOW w AS (PARTITION BY s ORDER BY ts);
SELECT ts, avg(p, 'period', 3) OVER (ORDER BY ts DESC) AS a FROM onw_t ORDER BY ts;
SELECT avg(p, 'minute', 2) OVER (ORDER BY t) AS a FROM (SELECT ts::TIMESTAMP_NS AS t, p FROM onw_t);
-- as an aggregate: what the last row has
SELECT s, avg(p, 'period', 3) AS a, avg(p, 'minute', 2, ts) AS b, avg(p, 'minute', 2, v, ts) AS c FROM onw_t ORDER BY s;
SELECT ts, avg(p, 'alpha', 0.5) AS a FROM onw_t SAMPLE BY 4m FILL(PREV) LIMIT 5;
SELECT abs(a - 99999.5) < 0.5 AS a, abs(b - 100000) < 1e-6 AS b FROM (SELECT avg(x::DOUBLE, 'alpha', 0.9) AS a, avg(x::DOUBLE, 'alpha', 1) AS b FROM long_sequence(100000));
SELECT avg(p, 'month', 2) OVER (ORDER BY ts) FROM onw_t;
SELECT avg(p, 'minute', 2) OVER () FROM onw_t;
SELECT avg(p, 'minute', 2) FROM onw_t;
SELECT avg(p, 'alpha', 1.5) OVER () FROM onw_t;
SELECT avg(p, 'period', 0) OVER () FROM onw_t;
SELECT avg(p, s, 3) OVER () FROM onw_t;
SELECT array_sort(ARRAY[3, null, 1, 2]) AS a, array_sort(ARRAY[3, null, 1, 2], true) AS b, array_sort(ARRAY[3, null, 1], false, true) AS c, array_sort(ARRAY[[2, 1], [4, 3]]) AS d, array_reverse(ARRAY[[1, 2], [3, 4]]) AS e;
SELECT array_sort(a) AS b, array_reverse(a) AS c, array_sort(a, p > 25, true) AS d FROM onw_t;
SELECT array_build(1, 3, 0) AS a, array_build(2, 3, 0.5, ARRAY[1, 2]) AS b, array_build(1, ARRAY[1, 2], 7) AS c, array_build(1, 0, 1) AS d, array_build(1, null, 1) AS e, array_build(1, 2, null) AS f;
SELECT array_build(2, n, p, a) AS b FROM onw_t;
SELECT array_build(2, 3, 1);
SELECT array_build(1, -3, 1);
SELECT array_build(1, 2, ARRAY[[1]]);
SELECT array_elem_sum(ARRAY[1, 2, 3], ARRAY[10, null]) AS a, array_elem_avg(ARRAY[1, 2], ARRAY[3, 4], ARRAY[5]) AS b, array_elem_min(ARRAY[1, 2], ARRAY[0.5, 9]) AS c, array_elem_max(ARRAY[[1, 2], [3, 4]], ARRAY[9]) AS d, array_elem_sum(null::DOUBLE[], null::DOUBLE[]) AS e;
SELECT s, array_elem_sum(a) AS a, array_elem_avg(a) AS b, array_elem_min(a) AS c, array_elem_max(a) AS d FROM onw_t ORDER BY s;
SELECT ts, array_elem_sum(a) AS a FROM onw_t SAMPLE BY 1d;
SELECT array_elem_max(a) OVER (ORDER BY ts ROWS 1 PRECEDING) AS a FROM onw_t;
SELECT array_elem_sum(b) AS a FROM (SELECT array_build(1, x % 3 + 1, 1) AS b FROM long_sequence(30000));
SELECT skewness(x * x) AS a, skewness_samp(x * x) AS b, skewness_pop(x * x) AS c, kurtosis(x * x) AS d, kurtosis_samp(x * x) AS e, kurtosis_pop(x * x) AS f FROM long_sequence(10);
SELECT skewness(x) AS a, kurtosis(x) AS b, skewness_pop(1.0) AS c, kurtosis_pop(null::DOUBLE) AS d FROM long_sequence(2);
SELECT s, skewness(p) AS a, kurtosis_pop(p) AS b FROM onw_t ORDER BY s;
SELECT bar(5, 0, 10, 10) AS a, bar(3.3, 0, 10, 4) AS b, bar(-1, 0, 1, 4) AS c, bar(99, 0, 1, 4) AS d, bar(null, 0, 1, 4) AS e, bar(1, 1, 1, 4) AS f;
SELECT s, bar(sum(p), 0, 200, 8) AS b, sparkline(p) AS c FROM onw_t ORDER BY s;
SELECT bar(1, 0, 1, 0);
SELECT sparkline(x) AS a, sparkline(x, null, null, 4) AS b, sparkline(x, 0, 32, 4) AS c, sparkline(null::DOUBLE) AS d FROM long_sequence(16);
SELECT sparkline(x, 0, 1, 0) FROM long_sequence(3);
SELECT within_box(2, 3, 0, 0, 4, 3) AS a, within_box(null, 3, 0, 0, 4, 3) AS b, within_radius(3, 4, 0, 0, 5) AS c, within_radius(3, 4.01, 0, 0, 5) AS d;
SELECT geo_distance_meters(52.52, 13.405, 48.137, 11.575) AS a, geo_distance_meters(0, 179, 0, -179) AS b, geo_distance_meters(null, 1, 1, 1) AS c, geo_within_radius_latlon(52.52, 13.405, 52.5, 13.4, 5000) AS d, geo_within_radius_latlon(52.52, 13.405, 52.5, 13.4, 2000) AS e;
SELECT geo_distance_meters(95, 1, 1, 1);
SELECT geo_within_radius_latlon(1, 181, 1, 1, 5);
SELECT within_radius(1, 1, 1, 1, -1);
SELECT length_bytes('Zürich') AS a, length_bytes(null) AS b, is_end_of_month('2024-02-29') AS c, is_end_of_month('2023-02-28T23:00:00'::TIMESTAMP_NS) AS d, is_end_of_month('2024-02-28') AS e, is_end_of_month(null) AS f;
-- an untyped null is of no type that has no null
SELECT sum(null) AS a, avg(null) AS b, min(null) AS c, count_distinct(null) AS d, mode(null) AS e FROM long_sequence(2);
SELECT abs(null) AS a, -null AS b, sign(null) AS c;
SELECT mode(n) AS a, mode(n::SHORT) AS b, mode(n::BYTE) AS c FROM onw_t;
DROP TABLE onw_t;
