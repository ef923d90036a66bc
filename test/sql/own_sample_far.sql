-- Buckets over times that lie centuries apart, at both ends of what a TIMESTAMP_NS holds.
DROP TABLE IF EXISTS osf_t;
CREATE TABLE osf_t (ts TIMESTAMP_NS, k SYMBOL, s VARCHAR, v INT) TIMESTAMP(ts) PARTITION BY YEAR;
INSERT INTO osf_t VALUES ('1677-09-21T00:12:44', 'a', 'x', 1), ('1677-09-22T00:12:44', 'b', 'y', 2), ('1700-01-01', 'a', 'x', 3), ('2024-01-01', 'a', 'y', 4), ('2024-01-01T05:00', 'a', 'x', 5), ('2262-04-11T23:47:16.854775807', 'b', 'y', 6), ('2262-04-11T23:47:16.854775807', 'b', 'x', 7);
-- The first bucket begins with the range of the type, where its border is no time of it.
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1h;
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1d;
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1w;
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1M;
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1y;
SELECT ts, sum(v) FROM osf_t SAMPLE BY 100y;
SELECT ts, sum(v) FROM osf_t SAMPLE BY 106751d;
SELECT ts, k, sum(v) FROM osf_t SAMPLE BY 1d;
SELECT ts, s, sum(v) FROM osf_t SAMPLE BY 1d;
SELECT ts, sum(v) FROM (SELECT ts, v FROM osf_t WHERE v <> 3 LIMIT 100) SAMPLE BY 1d;
SELECT * FROM (SELECT ts, sum(v) s FROM osf_t SAMPLE BY 1d) ORDER BY ts DESC;
SELECT * FROM (SELECT ts, sum(v) s FROM osf_t SAMPLE BY 1d) WHERE ts > '1690' AND ts < '2200';
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1d ALIGN TO FIRST OBSERVATION;
SELECT ts, sum(v) FROM osf_t WHERE v > 1 SAMPLE BY 1d ALIGN TO FIRST OBSERVATION;
SELECT ts, sum(v) FROM osf_t SAMPLE BY 30d ALIGN TO CALENDAR TIME ZONE 'Europe/Berlin';
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1d ALIGN TO CALENDAR TIME ZONE '-08:00';
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1d ALIGN TO CALENDAR TIME ZONE '+08:00' WITH OFFSET '00:30';
SELECT ts, sum(v) FROM osf_t SAMPLE BY 1d FROM '1700-01-01' TO '2262-01-01';
SELECT ts, sum(v) FROM osf_t SAMPLE BY 50y FILL(NULL);
SELECT ts, sum(v) FROM osf_t SAMPLE BY 100y FILL(PREV);
SELECT ts, sum(v) s, avg(v) a FROM osf_t WHERE v IN (1, 6) SAMPLE BY 50y FILL(LINEAR);
SELECT timestamp_floor('1d', ts) t, sum(v) FROM osf_t GROUP BY t ORDER BY t;
SELECT timestamp_floor('1d', ts) f, timestamp_ceil('1d', ts) c, date_trunc('year', ts) y FROM osf_t;
-- Differences of centuries elsewhere.
SELECT ts, sum(v) OVER (ORDER BY ts RANGE BETWEEN '1' DAY PRECEDING AND CURRENT ROW) s FROM osf_t;
SELECT ts, count() OVER (ORDER BY ts RANGE BETWEEN '100000' DAY PRECEDING AND '1' DAY PRECEDING) n FROM osf_t;
SELECT a.v, b.v bv FROM osf_t a LT JOIN osf_t b TOLERANCE 1d;
SELECT a.v, b.v bv FROM osf_t a ASOF JOIN (SELECT * FROM osf_t WHERE v IN (1, 4)) b TOLERANCE 100000d;
SELECT a.v, sum(b.v) s FROM osf_t a WINDOW JOIN osf_t b RANGE BETWEEN 100000 days PRECEDING AND 100000 days FOLLOWING EXCLUDE PREVAILING;
SELECT twap(v, ts) FROM osf_t;
-- TIMESTAMP has no such rows in tables, but in queries.
SELECT n, count() FROM (SELECT ts, count() n FROM (SELECT cast(x * 9000000000000000000 AS TIMESTAMP) ts FROM (SELECT x - 2 x FROM long_sequence(3)) ORDER BY ts) TIMESTAMP(ts) SAMPLE BY 1d);
DROP TABLE osf_t;
