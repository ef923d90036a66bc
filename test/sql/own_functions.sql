-- Functions beyond the recorded cases: lists of mixed types, times at the ends, constants of small types.

DROP TABLE IF EXISTS t;

CREATE TABLE t (n INT, y BYTE, h SHORT, l LONG, e DECIMAL(10,2), d DOUBLE, ts TIMESTAMP, a DOUBLE[], x BINARY);

INSERT INTO t VALUES (1, 0, 0, null, null, null, null, null, null), (2, 3, 4, 5, 3.00m, 1.7e308, '2024-02-29T12:34:56.123456Z', ARRAY[1.0, 2.0], null);

-- IN is = with each value

SELECT n, y in (null::long, 7), h in (l, 7), n in (l, e), n in (5, 1.00m), d in (1.7e308, 2.5m) FROM t;

SELECT n, a in (ARRAY[1.0, 2.0], ARRAY[3.0]), a in (a, ARRAY[3.0]) FROM t;

SELECT true in (1, 2);

SELECT '2024-02-29'::timestamp in ('2024-02-29T00:00:00.000000001Z'::timestamp_ns, '2023-01-01'::timestamp_ns), '9999-12-31T23:59:59.999Z'::date in ('9999-12-31T23:59:59.999999Z'::timestamp, '2023-01-01'::timestamp);

-- one row whose squares are beyond doubles

SELECT covar_pop(n, d), var_pop(d), weighted_stddev_freq(d, 2) FROM t;

-- offsets of small types

SELECT timestamp_floor('5h', 0::timestamp, 2::short), timestamp_floor('5h', l, 2::short) FROM t;

-- functions other databases have

SELECT initcap('hello WORLD-wide éa 3rd'), reverse('abcé日'), repeat('ab', 3), repeat('x', -1), chr(8364), chr(0), ascii('A'), ascii(''), reverse(null);

SELECT mod(-7, 3), mod(5.5, 2), mod(1, 0), trunc(-1.9), trunc(1.99, 1), trunc(12.345m, 2), cbrt(-27), log10(1000), log2(8), pow(2, 10);

SELECT gcd(12, -18), gcd(0, 0), gcd(null, 1), lcm(4, 6), lcm(-4, 6), lcm(9223372036854775807, 2), lcm(0, 5);

SELECT iif(2 > 1, 'yes', 'no'), if(1 > 2, 1, 2.5), ifnull(null, 5), nvl('a', 'b'), iif(true, null, 3), ifnull(null::int, 2L);

SELECT n, iif(n = 1, ts, '2024-01-01'::timestamp), ifnull(e, 1.5m), iif(n = 1, 'a', 'b'::symbol) FROM t;

SELECT iif(true, 1, 'a');

SELECT glob('BTC-USD', 'BTC*'), glob('BTC', 'B?C'), glob('a.c', 'a.c'), glob('abc', 'a.c'), glob('b', '[a-c]'), glob('b', '[!a-c]'), glob('a]', 'a]'), glob('x[', 'x['), glob(null, 'a'), glob('ab', '[a');

SELECT '10.0.0.3'::ipv4 << n, '10.0.0.3'::ipv4 <<= n, n >> '10.0.0.3'::ipv4 FROM (SELECT '10.0.0.' || (1 + x) || '/' || (29 + x) n FROM long_sequence(3));

-- aggregates

SELECT x % 3 g, arg_max('a text of many letters ' || x, x) a, arg_min(x, -x) b, max_by(x, x::timestamp) c, median(x), array_agg(x) FROM long_sequence(10) ORDER BY g;

SELECT arg_max(n, d), arg_min(n, d), arg_max(d, n), arg_max(a, n), arg_max(e, l) FROM t;

SELECT median(x), percentile_cont(x, 0.9), percentile_cont(x, 0), percentile_cont(x, 1), percentile_cont(-x, 0.25) FROM long_sequence(100001);

SELECT median(x), median(null::double), array_agg(null::double) FROM long_sequence(4);

SELECT median(x), array_agg(x), bool_and(x > 0), bool_or(x > 0), bit_and(x), geomean(x), twap(x, x::timestamp), arg_max(x, x) FROM long_sequence(0);

SELECT percentile_cont(x, 2) FROM long_sequence(3);

SELECT array_agg(x ORDER BY x DESC) FROM long_sequence(5);

SELECT bit_and(x + 12), bit_or(x), bit_xor(x), bool_and(x > 0), bool_or(x > 100), every(x > 1) FROM long_sequence(6);

SELECT geomean(x), geomean(x - 3), regr_r2(x, 2 * x + 1), regr_r2(1, x), regr_r2(x, 1), regr_count(x, x), regr_avgx(x, 2 * x), regr_avgy(x, 2 * x), regr_sxy(x, x), regr_sxx(1, x), regr_syy(1, x) FROM long_sequence(5);

SELECT twap(p, ts), twap(p, 0::timestamp), twap(p, null::timestamp) FROM (SELECT CASE x WHEN 1 THEN 10.0 WHEN 2 THEN 20.0 WHEN 3 THEN null ELSE 50.0 END p, (x * x * 1000)::timestamp ts FROM long_sequence(4));

SELECT x, median(x) OVER (ORDER BY x ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) m, array_agg(x) OVER (ORDER BY x ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) a, arg_max(x, -x) OVER (ORDER BY x ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) b FROM long_sequence(4);

-- random values: what holds whatever they are

SELECT dim_length(a, 1), dim_length(a, 2), array_min(a) >= 0, array_max(a) < 1, array_count(a) FROM (SELECT rnd_double_array(2, 0, 0, 2, 3) a FROM long_sequence(2));

SELECT count(), bool_and(s in ('a', 'b')), bool_and(z in ('sym0', 'sym1')), bool_and(p << '10.1.0.0/16'), bool_and(interval_start(i) <= interval_end(i)) FROM (SELECT rnd_symbol_weighted('a', 3, 'b', 1, 'c', 0) s, rnd_symbol_zipf(2, 1.5) z, rnd_ipv4('10.1.0.0/16', 0) p, rnd_interval() i FROM long_sequence(1000));

SELECT rnd_symbol_weighted('a', 'b');

SELECT rnd_symbol_zipf('a', 0);

SELECT rnd_double_array(2, 0, 0, 2);

SELECT rnd_ipv4('10.1', 0);

-- units and zones of columns

SELECT c, dateadd(c, 1, '2024-01-31'::timestamp), dateadd(c, x, '2024-01-31'::timestamp_ns), datediff(c, '2024-01-01', '2024-03-01'::timestamp) FROM (SELECT x, CASE x WHEN 1 THEN 'd'::char WHEN 2 THEN 'M'::char WHEN 3 THEN 'q'::char ELSE null::char END c FROM long_sequence(4));

SELECT today(z) = today('Europe/Berlin'), yesterday(z) IS NULL, tomorrow(z) = tomorrow('America/New_York') FROM (SELECT CASE x WHEN 1 THEN 'Europe/Berlin' WHEN 2 THEN 'America/New_York' ELSE null END z FROM long_sequence(3));

-- an unknown zone of a row is null there
SELECT today(z) FROM (SELECT 'nowhere' || x z FROM long_sequence(1));

SELECT cancel_query(0), cancel_query(null), pg_cancel_backend(0);

-- what is wrong with a call

SELECT date_trun('d', now());

SELECT left('abc');

SELECT abs();

SELECT meadian(x) FROM long_sequence(1);

SELECT rown_number() OVER () FROM long_sequence(1);

SELECT * FROM functionss();

SELECT name, signature, type FROM functions() WHERE name IN ('<<', 'case', 'netmask', 'pg_class', 'long_sequence') ORDER BY name, signature;
SELECT name, signature, type, doc, example FROM function_docs() WHERE name IN ('case', 'regr_slope', 'long_sequence') ORDER BY name, signature;
SELECT count() FROM function_docs() WHERE doc IS NULL OR doc = '';
SELECT (SELECT count() FROM functions()) = (SELECT count() FROM function_docs()) same;

-- digits of a column: the scale stays

SELECT k, round(d, k), trunc(d, k), floor(d, k), round_up(d, k), round_half_even(d, k), typeOf(round(d, k)), typeOf(trunc(d, k)) FROM (SELECT 1234.565m d, CASE x WHEN 1 THEN 2 WHEN 2 THEN 0 WHEN 3 THEN -2 WHEN 4 THEN 5 ELSE null END k FROM long_sequence(5));

SELECT ceil(d, k) FROM (SELECT 1234.565m d, -5 * x::int k FROM long_sequence(1));

SELECT pg_size_pretty(9223372036854775807), pg_size_pretty(-9223372036854775807), pg_size_pretty(10752), pg_size_pretty(-10752), pg_size_pretty(10751), pg_size_pretty(10239);
select string_to_array('a,,b,', ',') a, string_to_array('', ',') b, string_to_array('abc', null) c, string_to_array('abc', '') d, string_to_array('a,-', ',', '-') e, string_to_array(null, ',') f;
select array_lower(string_to_array('a,b', ','), 1) lo, array_upper(string_to_array('a,b', ','), 1) hi, (string_to_array('a,b', ','))[2] b;
select i, s[i] e from generate_series(1, 2) i, string_to_array('x y', ' ') s;
select s from string_to_array('a b', ' ') s;
select format('%s, %I, %L, %%', 7, 'a b', 'it''s') a, format('%2$s %1$s', 'x', 'y') b, format('%s|%L', null, null) c, format(null, 1) d;
select format('%I', null);
select format('%s %s', 1);
select format('%d', 1);
select substring('Hello World', 7) a, substring('abc', 0) b, substring('abc' from 2) c, substring('abc', 9) d;
-- what needs no rounding stays; names of months and days in either form; a tick is its own end
SELECT round_up(1.0, 0) AS a, round_up(2, 0) AS b, round_up(1.1, 1) AS c, round_up(-3.0, 0) AS d, round_up(0.3, 1) AS e, round_up(1.05, 1) AS f, round_up(300, -2) AS g, round_up(301, -2) AS h, round_up(-2.51, 1) AS i;
SELECT to_timestamp('March 9 2024', 'MMM d yyyy') AS a, to_timestamp('Mar 9 2024', 'MMMM d yyyy') AS b, to_timestamp('Saturday 9 Mar 2024', 'E d MMM yyyy') AS c, to_timestamp('Sat, 09 Mar 2024 05:07:03', 'EE, dd MMM yyyy HH:mm:ss') AS d, to_timestamp('Xyz 9 2024', 'MMM d yyyy') AS e;
SELECT timestamp_ceil('n', '2024-03-09T05:07:03.000000001Z'::TIMESTAMP_NS) AS a, timestamp_ceil('U', '2024-03-09T05:07:03.000001000Z'::TIMESTAMP_NS) AS b, timestamp_ceil('n', '2024-03-09T05:07:03.000001'::TIMESTAMP) AS c, timestamp_ceil('U', '2024-03-09T05:07:03.000001'::TIMESTAMP) AS d, timestamp_ceil('2U', '2024-03-09T05:07:03.000001'::TIMESTAMP) AS e, timestamp_ceil('U', null::TIMESTAMP) AS f;
-- texts of numbers in sums, as in products; no text is an address or a time there unless the other side is
SELECT '42' + 5 AS a, 5 - '2' AS b, '1.5' + 1.5 AS c, s + 5 AS d, 5 - s AS e, s - s AS f FROM (SELECT x::VARCHAR AS s FROM long_sequence(2));
SELECT '2024-01-02'::TIMESTAMP + '42' AS a, '2024-01-02'::TIMESTAMP - '2024-01-01' AS b, ipv4 '10.0.0.9' + '5' AS c, '5' + ipv4 '10.0.0.9' AS d, ipv4 '10.0.0.9' - '10.0.0.1' AS e, 1000 + '2024-01-02'::DATE AS f;
SELECT '10.0.0.1' + 5;
SELECT 's'::SYMBOL + 1;
SELECT ''::UUID AS a, ''::IPV4 AS b;
SELECT round_up(1.55m, -2) AS a, round(99m, -2) AS b, round_up(0.01m, -3) AS c, round_down(155m, -2) AS d;
