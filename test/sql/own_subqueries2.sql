-- More subqueries: ANY and ALL with every operator, LIMIT from the end, RIGHT, FULL, SPLICE and WINDOW JOIN under
-- columns of the query around them, values where no rows are, a second row as an error. The reference has
-- none of them; checked with DuckDB where it knows the form, else by hand.
DROP TABLE IF EXISTS oss_t;
DROP TABLE IF EXISTS oss_u;
CREATE TABLE oss_t (ts TIMESTAMP, k INT, s SYMBOL, v DOUBLE) TIMESTAMP(ts) PARTITION BY DAY;
CREATE TABLE oss_u (ts TIMESTAMP, k INT, w INT) TIMESTAMP(ts) PARTITION BY DAY;
INSERT INTO oss_t VALUES ('2024-01-01T00:00:01Z', 1, 'a', 1.5), ('2024-01-01T00:00:02Z', 2, 'b', 2.5), ('2024-01-01T00:00:03Z', 3, 'a', 3.5), ('2024-01-01T00:00:04Z', 4, 'b', 4.5), ('2024-01-01T00:00:05Z', 5, 'c', 5.5);
INSERT INTO oss_u VALUES ('2024-01-01T00:00:00Z', 1, 10), ('2024-01-01T00:00:02Z', 2, 20), ('2024-01-01T00:00:03Z', 2, 21), ('2024-01-01T00:00:04Z', 3, 2), ('2024-01-01T00:00:09Z', 9, 90);
-- ANY, ALL
SELECT x FROM long_sequence(4) s, (SELECT array_agg(k) AS a FROM oss_u) t WHERE x = ANY (t.a) ORDER BY x;
SELECT x FROM long_sequence(4) s, (SELECT array_agg(k) AS a FROM oss_u) t WHERE x <> ALL (t.a) ORDER BY x;
SELECT k FROM oss_t WHERE k <> ANY (SELECT k FROM oss_u) ORDER BY k;
SELECT k FROM oss_t WHERE k <> ANY (SELECT 5) ORDER BY k;
SELECT k FROM oss_t WHERE k <> ANY (SELECT k FROM oss_u WHERE k > 100) ORDER BY k;
SELECT k FROM oss_t WHERE k = ALL (SELECT 2) ORDER BY k;
SELECT k FROM oss_t WHERE k = ALL (SELECT k FROM oss_u) ORDER BY k;
SELECT k FROM oss_t WHERE k = ALL (SELECT k FROM oss_u WHERE k > 100) ORDER BY k;
SELECT k, k <> ANY (SELECT 5) AS a, k = ALL (SELECT 5) AS b FROM oss_t WHERE k > 3 ORDER BY k;
SELECT k FROM oss_t t WHERE k <> ANY (SELECT w FROM oss_u u WHERE u.k = t.k) ORDER BY k;
SELECT k FROM oss_t t WHERE k = ALL (SELECT w FROM oss_u u WHERE u.k = t.k) ORDER BY k;
SELECT k FROM oss_t WHERE k < ALL (SELECT k + 1 FROM oss_u) ORDER BY k;
SELECT k FROM oss_t WHERE k >= ANY (SELECT k + 1 FROM oss_u) ORDER BY k;
SELECT s FROM oss_t WHERE s <> ANY (SELECT s FROM oss_t WHERE k = 1) ORDER BY k;
-- LIMIT, from both ends, for each outer row
SELECT k, (SELECT w FROM oss_u u WHERE u.k = t.k LIMIT 1) AS first_w, (SELECT w FROM oss_u u WHERE u.k = t.k LIMIT -1) AS last_w FROM oss_t t ORDER BY k;
SELECT k, (SELECT k FROM oss_t x WHERE x.k < t.k ORDER BY x.k LIMIT -1) AS prev FROM oss_t t ORDER BY k;
SELECT k, (SELECT k FROM oss_t x WHERE x.k < t.k ORDER BY x.k LIMIT -2, -1) AS prev2 FROM oss_t t ORDER BY k;
SELECT k, (SELECT sum(w) FROM (SELECT w FROM oss_u u WHERE u.k <= t.k ORDER BY w LIMIT -2)) AS top2 FROM oss_t t ORDER BY k;
-- one row at most
SELECT k, (SELECT w FROM oss_u u WHERE u.k = t.k) AS w FROM oss_t t WHERE k <> 2 ORDER BY k;
SELECT k, (SELECT w FROM oss_u u WHERE u.k = t.k) AS w FROM oss_t t ORDER BY k;
SELECT (SELECT k FROM oss_u WHERE k = 9) AS k;
SELECT (SELECT k FROM oss_u) AS k;
SELECT k FROM oss_t WHERE k = (SELECT k FROM oss_u WHERE k = 2);
SELECT (SELECT k FROM oss_u WHERE k > 100) AS k;
-- joins of every kind below
SELECT k FROM oss_t t WHERE EXISTS (SELECT 1 FROM oss_u u FULL JOIN (SELECT 3 AS z) q ON u.k = q.z WHERE u.k = t.k) ORDER BY k;
SELECT k, (SELECT count(*) FROM oss_u u RIGHT JOIN (SELECT t.k AS z) q ON u.k = q.z) AS c FROM oss_t t ORDER BY k;
SELECT k, (SELECT count(u.k) FROM (SELECT * FROM oss_u x WHERE x.k = t.k) u FULL JOIN (SELECT 1 AS z) q ON u.k = q.z) AS c, (SELECT count(q.z) FROM (SELECT * FROM oss_u x WHERE x.k = t.k) u FULL JOIN (SELECT 1 AS z) q ON u.k = q.z) AS d FROM oss_t t ORDER BY k;
SELECT k, (SELECT sum(u.w) FROM (SELECT ts, k FROM oss_t x WHERE x.k <= t.k) x ASOF JOIN oss_u u ON x.k = u.k) AS s FROM oss_t t ORDER BY k;
SELECT k, (SELECT count() FROM (SELECT ts, k FROM oss_t x WHERE x.k <= t.k) x SPLICE JOIN (SELECT ts, k FROM oss_u WHERE k < 3) u) AS s FROM oss_t t ORDER BY k;
SELECT k, (SELECT sum(c) FROM (SELECT x.k, count(u.w) AS c FROM (SELECT ts, k FROM oss_t y WHERE y.k <= t.k) x WINDOW JOIN oss_u u ON x.k = u.k RANGE BETWEEN 2 seconds PRECEDING AND 2 seconds FOLLOWING EXCLUDE PREVAILING)) AS s FROM oss_t t ORDER BY k;
-- in every clause
SELECT (SELECT max(w) FROM oss_u u WHERE u.k = t.k) AS m, count() AS c FROM oss_t t GROUP BY (SELECT max(w) FROM oss_u u WHERE u.k = t.k) ORDER BY 1;
SELECT (SELECT max(w) FROM oss_u u WHERE u.k = t.k) AS m, count() AS c FROM oss_t t GROUP BY m ORDER BY m DESC;
SELECT k FROM oss_t t ORDER BY (SELECT max(w) FROM oss_u u WHERE u.k = t.k) DESC NULLS LAST, k;
SELECT k FROM oss_t ORDER BY k LIMIT (SELECT 2);
SELECT k FROM oss_t ORDER BY k LIMIT (SELECT min(k) FROM oss_u), (SELECT 3);
SELECT k FROM oss_t ORDER BY k LIMIT (SELECT k FROM oss_u);
SELECT CASE WHEN EXISTS (SELECT 1 FROM oss_u u WHERE u.k = t.k) THEN 'known' ELSE 'new' END AS what, k FROM oss_t t ORDER BY k;
SELECT abs((SELECT -5)) AS x, coalesce((SELECT k FROM oss_u WHERE k > 100), 7) AS y;
SELECT ts, count() AS c FROM oss_t SAMPLE BY 1s FROM (SELECT min(ts) FROM oss_t) TO (SELECT dateadd('s', 3, min(ts)) FROM oss_t);
SELECT * FROM generate_series(1, (SELECT 3));
SELECT x FROM long_sequence((SELECT 2));
VALUES ((SELECT 5), 6);
SELECT a.k FROM oss_t a JOIN oss_u b ON a.k = b.k AND b.w > (SELECT 15) ORDER BY 1;
SELECT a.k FROM oss_t a JOIN oss_u b ON a.k = b.k AND EXISTS (SELECT 1 FROM oss_u WHERE w > 1000) ORDER BY 1;
WITH m AS (SELECT max(k) AS m FROM oss_t) SELECT k FROM oss_t ORDER BY k LIMIT (SELECT m - 3 FROM m), (SELECT m FROM m);
-- rows of values, VALUES, LATERAL
SELECT k FROM oss_t WHERE (k, s) IN (SELECT k, s FROM oss_t WHERE k < 3) ORDER BY k;
SELECT k FROM oss_t WHERE (k, s) NOT IN (SELECT k, s FROM oss_t WHERE k > 3) ORDER BY k;
SELECT k FROM oss_t WHERE (k, s) = (1, 'a') OR (k, s) IN ((2, 'b'), (3, 'x')) ORDER BY k;
SELECT k FROM oss_t WHERE (k, v) > (2, 2.5) ORDER BY k;
SELECT t.k, n.name FROM oss_t t JOIN (VALUES (1, 'one'), (2, 'two')) n(k, name) ON t.k = n.k ORDER BY 1;
SELECT t.k, l.w FROM oss_t t LEFT JOIN LATERAL (SELECT w FROM oss_u u WHERE u.k = t.k ORDER BY w DESC LIMIT 1) l ON true ORDER BY t.k;
SELECT t.k, l.w FROM oss_t t LEFT JOIN LATERAL (SELECT sum(w) AS w FROM oss_u u WHERE u.k = t.k) l ON l.w > 15 ORDER BY t.k;
SELECT t.k, l.c FROM oss_t t, LATERAL (SELECT count() AS c FROM oss_u u WHERE u.k <= t.k) l ORDER BY t.k;
INSERT INTO oss_u (ts, k, w) VALUES ('2024-01-01T00:00:10Z', (SELECT max(k) + 1 FROM oss_u), (SELECT 5));
SELECT k, w FROM oss_u ORDER BY k LIMIT -1;
SELECT k FROM oss_t LIMIT (SELECT oss_t.k);
SELECT (SELECT k, w FROM oss_u) AS x;
-- what is computed above the groups and windows is looked up in a query there
SELECT max(k) IN (SELECT k FROM oss_u) AS x FROM oss_t;
SELECT s, max(k) AS m, max(k) = ANY (SELECT k FROM oss_u) AS x, max(k) NOT IN (SELECT k FROM oss_u) AS y FROM oss_t ORDER BY s;
SELECT s, max(k) AS m, (max(k), s) IN (SELECT k, 'a' FROM oss_u) AS x FROM oss_t ORDER BY s;
SELECT k, row_number() OVER (ORDER BY ts DESC) AS n, row_number() OVER (ORDER BY ts DESC) IN (SELECT k FROM oss_u) AS x FROM oss_t ORDER BY k;
SELECT k FROM oss_t QUALIFY row_number() OVER (ORDER BY ts) IN (SELECT k FROM oss_u) ORDER BY k;
SELECT s, max(k) AS m FROM oss_t GROUP BY s HAVING max(k) IN (SELECT k FROM oss_u);
SELECT s, max(k) AS m FROM oss_t GROUP BY s HAVING max(k) NOT IN (SELECT k FROM oss_u) OR s = 'a' ORDER BY s;
SELECT s, max(k) AS m, max(k) IN (SELECT k FROM oss_u) AS x, count() OVER (PARTITION BY x) AS n FROM oss_t ORDER BY s;
SELECT s, max(k) AS m, rank() OVER (ORDER BY max(k)) AS r, rank() OVER (ORDER BY max(k)) IN (SELECT x FROM long_sequence(2)) AS z FROM oss_t ORDER BY s;
SELECT s, max(k) AS m FROM oss_t GROUP BY s ORDER BY max(k) IN (SELECT k FROM oss_u) DESC, s;
SELECT DISTINCT max(k) IN (SELECT k FROM oss_u) AS x FROM oss_t GROUP BY s ORDER BY x;
SELECT s, max(k) AS m FROM oss_t GROUP BY s HAVING max(k) IN (SELECT u.k FROM oss_u u WHERE u.w > oss_t.k);
SELECT max(k) IN (SELECT ts FROM oss_u) AS x FROM oss_t;
SELECT s, m IN (SELECT k FROM oss_u) AS x FROM (SELECT s, max(k) AS m FROM oss_t) ORDER BY s;
SELECT s, max(k) AS m, max(k) <> ANY (SELECT 3) AS x, max(k) <> ANY (SELECT k FROM oss_u) AS y, max(k) = ALL (SELECT 3) AS z FROM oss_t ORDER BY s;
SELECT s, max(k) <> ANY (SELECT k FROM oss_u WHERE k > 100) AS x, max(k) = ALL (SELECT k FROM oss_u WHERE k > 100) AS y FROM oss_t ORDER BY s;
SELECT s, count(v) AS n FROM oss_t GROUP BY s HAVING max(k) <> ANY (SELECT k FROM oss_t WHERE s = 'a' LIMIT 1) ORDER BY s;
SELECT s, max(k) AS m FROM oss_t t GROUP BY s HAVING max(k) <> ANY (SELECT u.k FROM oss_t u WHERE u.s = t.s) ORDER BY s;
SELECT k FROM oss_t QUALIFY row_number() OVER (ORDER BY ts) <> ANY (SELECT 1) ORDER BY k;
SELECT k, row_number() OVER (ORDER BY ts) = ALL (SELECT 1) AS x FROM oss_t ORDER BY k;
SELECT ts, max(k) <> ANY (SELECT 3) AS x FROM oss_t SAMPLE BY 1d;
-- LATEST ON wants a column of its own query
SELECT EXISTS (SELECT * FROM (SELECT k AS m FROM oss_u) LATEST ON ts PARTITION BY m) AS x FROM oss_t;
DROP TABLE oss_t;
DROP TABLE oss_u;
