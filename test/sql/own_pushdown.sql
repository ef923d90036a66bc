-- A condition above an operator whose rows depend on one another leaves rows out of its answer, never out of its input.
DROP TABLE IF EXISTS opd_t;
DROP TABLE IF EXISTS opd_z;
CREATE TABLE opd_t (ts TIMESTAMP, s SYMBOL, b BOOLEAN, v INT) TIMESTAMP(ts) PARTITION BY DAY;
INSERT INTO opd_t VALUES ('2024-01-01T00:00:10', 's1', true, 1), ('2024-01-01T00:00:45', 's2', false, 2), ('2024-01-01T00:01:15', 's2', true, 3), ('2024-01-01T00:01:50', 's1', true, 4), ('2024-01-01T00:03:20', 's2', false, 5), ('2024-01-01T00:03:55', null, true, 6);
-- Buckets begin at the first row of all.
SELECT ts, s, count() FROM opd_t SAMPLE BY 1m ALIGN TO FIRST OBSERVATION;
SELECT * FROM (SELECT ts, s, count() FROM opd_t SAMPLE BY 1m ALIGN TO FIRST OBSERVATION) WHERE s = 's2';
SELECT * FROM (SELECT ts, s, b, sum(v) FROM opd_t SAMPLE BY 1m ALIGN TO FIRST OBSERVATION) WHERE NOT b AND s <> 's1';
SELECT * FROM (SELECT ts, s, count() c FROM opd_t SAMPLE BY 1m ALIGN TO FIRST OBSERVATION) WHERE s IS NULL OR c > 1;
WITH q AS (SELECT ts, s, count() c FROM opd_t SAMPLE BY 1m ALIGN TO FIRST OBSERVATION) SELECT sum(c) FROM q WHERE s = 's2' AND ts < '2024-01-01T00:02';
SELECT * FROM (SELECT ts, s, sum(v) v FROM opd_t SAMPLE BY 1m FILL(PREV) ALIGN TO FIRST OBSERVATION) WHERE s = 's2';
SELECT * FROM (SELECT ts, s, sum(c) c FROM (SELECT ts, s, count() c FROM opd_t SAMPLE BY 1m ALIGN TO FIRST OBSERVATION) SAMPLE BY 2m ALIGN TO FIRST OBSERVATION) WHERE s = 's2';
SELECT a.ts, a.c FROM (SELECT ts, s, count() c FROM opd_t SAMPLE BY 1m ALIGN TO FIRST OBSERVATION) a JOIN opd_t t ON a.s = t.s WHERE t.s = 's2' AND t.v = 5;
-- Calendar buckets do not depend on the rows.
SELECT * FROM (SELECT ts, s, count() FROM opd_t SAMPLE BY 1m) WHERE s = 's2';
-- 0.0 and -0.0 are one key, whose first value shows: what tells them apart is asked of the group.
CREATE TABLE opd_z (ts TIMESTAMP, x DOUBLE, f FLOAT, k INT) TIMESTAMP(ts) PARTITION BY DAY;
INSERT INTO opd_z VALUES ('2024-01-01T00', 0.0, 0.0, 1), ('2024-01-01T01', -0.0, -0.0, 2), ('2024-01-01T02', 1.0, 1.0, 3), ('2024-01-01T03', -0.0, 0.0, 4);
SELECT * FROM (SELECT x, count() c FROM opd_z) WHERE cast(x AS STRING) = '-0.0';
SELECT c FROM (SELECT x, count() c FROM opd_z) WHERE cast(x AS STRING) = '0.0';
SELECT count() FROM (SELECT DISTINCT x FROM opd_z) WHERE cast(x AS STRING) = '-0.0';
SELECT count() FROM (SELECT x FROM opd_z UNION SELECT x + 1 FROM opd_z) WHERE cast(x AS STRING) = '-0.0';
SELECT count() FROM (SELECT x FROM opd_z EXCEPT SELECT -x FROM opd_z WHERE k = 1) WHERE cast(x AS STRING) = '-0.0';
SELECT c FROM (SELECT k, count() OVER (PARTITION BY x) c FROM (SELECT x, k FROM opd_z)) WHERE k = 2;
SELECT k, c FROM (SELECT k, x, count() OVER (PARTITION BY x) c FROM opd_z) WHERE cast(x AS STRING) = '-0.0' ORDER BY k;
SELECT count() FROM (SELECT x FROM opd_z LATEST ON ts PARTITION BY x) WHERE cast(x AS STRING) = '0.0';
SELECT count() FROM (SELECT a.x ax, b.x bx FROM opd_z a JOIN opd_z b ON a.x = b.x) WHERE cast(ax AS STRING) = '0.0';
SELECT count() FROM (SELECT x, count() c FROM opd_z) WHERE x = 0;
SELECT c FROM (SELECT f, count() c FROM opd_z) WHERE f BETWEEN -0.5 AND 0.5;
DROP TABLE opd_t;
DROP TABLE opd_z;
