-- Standard grouping and ordering that the reference lacks: ROLLUP, CUBE, GROUPING SETS, DISTINCT ON, ORDER BY in
-- aggregates, HAVING, QUALIFY, NATURAL JOIN, USING, LIKE ESCAPE, INTERVAL arithmetic.
DROP TABLE IF EXISTS ogr_t;
DROP TABLE IF EXISTS ogr_s;
CREATE TABLE ogr_t (ts TIMESTAMP, sym SYMBOL, px DOUBLE, n LONG) TIMESTAMP(ts) PARTITION BY DAY;
CREATE TABLE ogr_s (sym SYMBOL, name VARCHAR, lim LONG);
INSERT INTO ogr_t VALUES ('2024-01-01T00:00:00Z', 'A', 1.5, 1), ('2024-01-01T01:00:00Z', 'B', 2.5, 2), ('2024-01-01T02:00:00Z', 'A', 3.5, 3), ('2024-01-02T00:00:00Z', 'C', 4.5, 4), ('2024-01-02T01:00:00Z', null, null, 5);
INSERT INTO ogr_s VALUES ('A', 'al%pha', 2), ('B', 'beta', 3), ('D', 'delta', 9);
-- @unordered
SELECT sym, sum(n) AS s FROM ogr_t GROUP BY ROLLUP(sym);
-- @unordered
SELECT sym, n % 2 AS m, sum(n) AS s, grouping(sym) AS gs, grouping(m) AS gm FROM ogr_t GROUP BY GROUPING SETS ((sym), (m), ());
-- @unordered
SELECT sym, n % 2 AS m, sum(n) AS s FROM ogr_t GROUP BY CUBE(sym, m);
-- @unordered
SELECT sym, n % 2 AS m, sum(n) AS s FROM ogr_t GROUP BY sym, ROLLUP(m);
SELECT DISTINCT ON (sym) sym, n FROM ogr_t ORDER BY sym, n DESC;
SELECT DISTINCT ON (n % 2) n FROM ogr_t ORDER BY n % 2, n DESC;
SELECT string_agg(sym, ',' ORDER BY n DESC) AS x, sum(n) AS s FROM ogr_t;
SELECT n % 2 AS m, string_agg(sym, ',' ORDER BY px DESC NULLS LAST) AS x FROM ogr_t ORDER BY m;
SELECT sym, count() AS c FROM ogr_t GROUP BY sym HAVING count() > 1;
SELECT sym, n FROM ogr_t QUALIFY row_number() OVER (PARTITION BY sym ORDER BY ts DESC) = 1;
SELECT sum(n) FILTER (WHERE sym = 'A') AS a, sum(n) AS s FROM ogr_t;
SELECT n FROM ogr_t ORDER BY n OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;
SELECT px FROM ogr_t ORDER BY px NULLS FIRST;
SELECT px FROM ogr_t ORDER BY px DESC NULLS LAST;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(x, y);
SELECT * FROM ogr_t NATURAL JOIN ogr_s;
SELECT sym, name FROM ogr_t JOIN ogr_s USING (sym);
SELECT sym, name FROM ogr_t RIGHT JOIN ogr_s USING (sym);
SELECT name FROM ogr_s WHERE name LIKE 'al!%p%' ESCAPE '!';
SELECT name FROM ogr_s WHERE name NOT LIKE 'al!%p%' ESCAPE '!';
SELECT ts + INTERVAL '1 day 2 hours' AS x, ts - INTERVAL '30' MINUTE AS y FROM ogr_t LIMIT 1;
SELECT n FROM ogr_t WHERE px BETWEEN 2 AND 4;
SELECT t.n, s.name FROM ogr_t t LEFT JOIN ogr_s s ON t.sym = s.sym WHERE s.lim > 1;
SELECT t.n, s.name FROM ogr_t t LEFT JOIN ogr_s s ON t.sym = s.sym WHERE s.lim = null;
-- errors
SELECT string_agg(sym, ',' ORDER BY n) AS x, first(n) AS f FROM ogr_t;
SELECT string_agg(sym, ',' ORDER BY n) AS x, string_agg(sym, ',' ORDER BY px) AS y FROM ogr_t;
SELECT grouping(px) AS g, sum(n) AS s FROM ogr_t GROUP BY ROLLUP(sym);
CREATE TABLE ogr_d (a INT DEFAULT 5);
SELECT INTERVAL '1 day' AS i;
SELECT ts + INTERVAL '1 dog' AS i FROM ogr_t;
