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
