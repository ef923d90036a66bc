-- Lists count the rows that statements see, also while a materialized view needs rows that have expired.
DROP MATERIALIZED VIEW IF EXISTS otc_w;
DROP TABLE IF EXISTS otc;
CREATE TABLE otc (ts TIMESTAMP, v INT) TIMESTAMP(ts) PARTITION BY DAY TTL 1d WAL;
CREATE MATERIALIZED VIEW otc_w REFRESH MANUAL DEFERRED AS (SELECT ts, sum(v) s FROM otc SAMPLE BY 1w) PARTITION BY YEAR;
INSERT INTO otc VALUES ('2024-01-01T05:00', 1), ('2024-01-01T06:00', 2), ('2024-01-02T07:00', 3);
INSERT INTO otc VALUES ('2024-01-03T08:00', 4), ('2024-01-03T09:00', 5);
SELECT count(), min(ts), max(ts) FROM otc;
SELECT table_row_count, table_min_timestamp, table_max_timestamp FROM tables() WHERE table_name = 'otc';
SELECT name, "numRows", "minTimestamp", "maxTimestamp", "diskSize" >= 0 disk, attached, active FROM (SHOW PARTITIONS FROM otc);
SELECT "rowCount", "partitionCount" FROM table_storage() WHERE "tableName" = 'otc';
SELECT reltuples FROM pg_class WHERE relname = 'otc';
-- The same from parts: a load comes behind a flush of the head.
INSERT INTO otc SELECT '2024-01-03T10:00'::timestamp, x::int FROM long_sequence(3);
ALTER TABLE otc SQUASH PARTITIONS;
UPDATE otc SET v = v + 1;
SELECT count(), min(ts), max(ts) FROM otc;
SELECT table_row_count, table_min_timestamp, table_max_timestamp FROM tables() WHERE table_name = 'otc';
SELECT name, "numRows", "minTimestamp", "maxTimestamp", "diskSize" > 0 disk, attached, active FROM (SHOW PARTITIONS FROM otc);
SELECT sum("numRows") FROM (SHOW PARTITIONS FROM otc);
-- A partition that has expired can be dropped as others can; the view has lost its rows, then.
ALTER TABLE otc DROP PARTITION LIST '2024-01-01';
SELECT name, "numRows" FROM (SHOW PARTITIONS FROM otc);
REFRESH MATERIALIZED VIEW otc_w INCREMENTAL;
SELECT * FROM otc_w;
-- Without any rows.
DELETE FROM otc;
SELECT count(), min(ts), max(ts) FROM otc;
SELECT table_row_count, table_min_timestamp, table_max_timestamp FROM tables() WHERE table_name = 'otc';
SELECT name, "numRows" FROM (SHOW PARTITIONS FROM otc);
DROP MATERIALIZED VIEW otc_w;
DROP TABLE otc;
