-- Materialized views over a table with a TTL: a bucket keeps what it had, and what comes is added, whatever the aggregate.
DROP MATERIALIZED VIEW IF EXISTS otv_w;
DROP MATERIALIZED VIEW IF EXISTS otv_d;
DROP MATERIALIZED VIEW IF EXISTS otv_o;
DROP TABLE IF EXISTS otv;
CREATE TABLE otv (ts TIMESTAMP, k SYMBOL, v INT) TIMESTAMP(ts) PARTITION BY DAY TTL 1d WAL;
CREATE MATERIALIZED VIEW otv_w REFRESH MANUAL AS (SELECT ts, sum(v) s, count() n, avg(v) a, count_distinct(v) d, first(v) f, last(v) l FROM otv SAMPLE BY 1w) PARTITION BY YEAR;
CREATE MATERIALIZED VIEW otv_d REFRESH MANUAL AS (SELECT ts, k, sum(v) s FROM otv SAMPLE BY 1d) PARTITION BY YEAR;
CREATE MATERIALIZED VIEW otv_o REFRESH MANUAL AS (SELECT ts, sum(n) n FROM otv_w SAMPLE BY 1M) PARTITION BY YEAR;
INSERT INTO otv VALUES ('2024-01-01', 'a', 1), ('2024-01-02', 'b', 2);
INSERT INTO otv VALUES ('2024-01-03', 'a', 3);
REFRESH MATERIALIZED VIEW otv_w INCREMENTAL;
REFRESH MATERIALIZED VIEW otv_d INCREMENTAL;
SELECT * FROM otv_w;
SELECT * FROM otv;
-- Two more days expire, and a row comes for the week.
INSERT INTO otv VALUES ('2024-01-05', 'c', 5);
REFRESH MATERIALIZED VIEW otv_w INCREMENTAL;
REFRESH MATERIALIZED VIEW otv_d INCREMENTAL;
SELECT * FROM otv_w;
SELECT * FROM otv_d ORDER BY ts;
-- What has expired is not there for statements.
SELECT * FROM otv;
SELECT count(), min(ts), max(ts), sum(v) FROM otv;
SELECT * FROM otv LATEST ON ts PARTITION BY k;
SELECT * FROM otv WHERE ts < '2024-01-04';
SELECT a.v, b.v bv FROM otv a LT JOIN otv b;
UPDATE otv SET v = v + 10;
DELETE FROM otv WHERE v < 10;
SELECT * FROM otv;
REFRESH MATERIALIZED VIEW otv_w INCREMENTAL;
SELECT s, n FROM otv_w;
-- A late row for a day that has expired counts while the rows of its bucket are kept, and leaves other buckets as they are.
INSERT INTO otv VALUES ('2024-01-02T12:00', 'z', 100), ('2023-12-20', 'z', 1000);
SELECT * FROM otv;
REFRESH MATERIALIZED VIEW otv_w INCREMENTAL;
REFRESH MATERIALIZED VIEW otv_d INCREMENTAL;
SELECT s, n FROM otv_w;
SELECT * FROM otv_d ORDER BY ts;
-- The week is over: a full refresh goes on from the first bucket that has all its rows.
INSERT INTO otv VALUES ('2024-01-16', 'a', 7);
INSERT INTO otv VALUES ('2024-01-17', 'a', 8);
REFRESH MATERIALIZED VIEW otv_w FULL;
REFRESH MATERIALIZED VIEW otv_d FULL;
REFRESH MATERIALIZED VIEW otv_o FULL;
SELECT ts, s, n FROM otv_w;
SELECT * FROM otv_d ORDER BY ts;
SELECT * FROM otv_o;
SELECT name, "numRows" FROM (SHOW PARTITIONS FROM otv);
REFRESH MATERIALIZED VIEW otv_w RANGE FROM '2024-01-01' TO '2024-01-07';
REFRESH MATERIALIZED VIEW otv_w RANGE FROM '2024-01-01' TO '2024-01-17';
SELECT ts, s, n FROM otv_w;
-- A view that comes later sees the bucket as far as its rows are there.
CREATE MATERIALIZED VIEW otv_l REFRESH MANUAL AS (SELECT ts, count() n FROM otv SAMPLE BY 1M) PARTITION BY YEAR;
REFRESH MATERIALIZED VIEW otv_l INCREMENTAL;
SELECT ts, n >= 2 FROM otv_l;
DROP MATERIALIZED VIEW otv_l;
-- Truncated tables are empty for their views, too.
TRUNCATE TABLE otv;
INSERT INTO otv VALUES ('2024-01-01', 'a', 1);
SELECT * FROM otv;
REFRESH MATERIALIZED VIEW otv_w INCREMENTAL;
SELECT ts, s, n FROM otv_w;
-- Without views nothing stays.
INSERT INTO otv VALUES ('2024-01-03', 'a', 2);
-- The first day is there for the views, and no statement sees its row: it counts none.
SELECT name, "numRows" FROM (SHOW PARTITIONS FROM otv);
DROP MATERIALIZED VIEW otv_o;
DROP MATERIALIZED VIEW otv_w;
DROP MATERIALIZED VIEW otv_d;
INSERT INTO otv VALUES ('2024-01-04', 'a', 3);
SELECT name, "numRows" FROM (SHOW PARTITIONS FROM otv);
SELECT * FROM otv;
DROP TABLE otv;
