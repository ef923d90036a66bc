-- Zones, offsets and beginnings that are columns.
DROP TABLE IF EXISTS oti_t;
CREATE TABLE oti_t (ts TIMESTAMP, z SYMBOL, o VARCHAR, f TIMESTAMP, n INT) TIMESTAMP(ts) PARTITION BY DAY;
INSERT INTO oti_t VALUES ('2024-03-30T12:00:00', 'Europe/Berlin', '00:00', null, 1), ('2024-03-30T12:00:00', 'UTC', '01:30', '2024-03-01T06:00:00', 1), ('2024-03-30T23:30:00', 'Asia/Kathmandu', '-00:15', '2024-01-01', 2), ('2024-03-31T01:30:00', 'Europe/Berlin', '00:00', null, null), ('2024-03-31T03:30:00', null, null, null, 3), ('2024-10-27T00:30:00', 'Europe/Berlin', '00:00', null, 1);
SELECT ts, z, dateadd('d', n, ts, z) AS d, dateadd('h', n::LONG, ts, z) AS h, dateadd('M', 1, ts::TIMESTAMP_NS, z) AS m FROM oti_t;
SELECT ts, timestamp_floor('1d', ts, null, o, z) AS a, timestamp_floor('6h', ts, f, o, z) AS b, timestamp_floor('1h', ts, f, '00:00', z) AS c FROM oti_t;
SELECT ts, timestamp_floor('5d', ts, f) AS a, timestamp_floor('1w', ts, f) AS b FROM oti_t;
SELECT z, timestamp_floor('1d', ts, null, '00:00', z) AS day, count() AS n FROM oti_t ORDER BY day, z;
-- an unknown zone or offset of a row is null there
SELECT dateadd('d', 1, ts, concat(z, 'x')) FROM oti_t;
SELECT timestamp_floor('1d', ts, null, z, 'UTC') FROM oti_t;
SELECT timestamp_floor('1x', ts, f) FROM oti_t;
DROP TABLE oti_t;
