-- WITH RECURSIVE, and WITH used several times. Standard SQL that the reference lacks; checked with DuckDB,
-- limits and messages by hand. The step sees the rows found last.
DROP TABLE IF EXISTS orc_edge;
DROP TABLE IF EXISTS orc_emp;
DROP TABLE IF EXISTS orc_copy;
CREATE TABLE orc_edge (src INT, dst INT, w DOUBLE, kind SYMBOL);
INSERT INTO orc_edge VALUES (1, 2, 1.0, 'road'), (2, 3, 1.5, 'road'), (3, 1, 1.0, 'rail'), (3, 4, 2.0, 'road'), (4, 5, 1.0, 'rail'), (6, 7, 1.0, 'road');
CREATE TABLE orc_emp (id INT, boss INT, name VARCHAR);
INSERT INTO orc_emp VALUES (1, null, 'Ada'), (2, 1, 'Bo'), (3, 1, 'Cy'), (4, 2, 'Di'), (5, 4, 'Ed'), (6, 3, 'Flo');
-- numbers
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT * FROM n;
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000) SELECT count(), sum(x), max(x) FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n LIMIT 4) SELECT x FROM n;
WITH RECURSIVE f AS (SELECT 0 AS a, 1 AS b UNION ALL SELECT b, a + b FROM f WHERE b < 100) SELECT a FROM f;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x * 1.5 FROM n WHERE x < 6) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT 1::SHORT AS x UNION ALL SELECT x + 30000::LONG FROM n WHERE x < 90000) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT null AS x UNION ALL SELECT x FROM n WHERE x IS NOT NULL) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x WHERE 1 = 2 UNION ALL SELECT x + 1 FROM n) SELECT count() FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 20 ORDER BY x DESC LIMIT 3) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 3 UNION ALL SELECT 100 FROM n WHERE x = 2) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x % 10 < 3) SELECT * FROM n ORDER BY x;
-- text, times
WITH RECURSIVE s AS (SELECT 'a' AS t, 1 AS i UNION ALL SELECT t || 'b', i + 1 FROM s WHERE i < 4) SELECT t FROM s;
WITH RECURSIVE d AS (SELECT '2024-02-27'::TIMESTAMP AS ts UNION ALL SELECT dateadd('d', 1, ts) FROM d WHERE ts < '2024-03-01') SELECT ts FROM d;
-- graphs: UNION ends at a cycle
WITH RECURSIVE r AS (SELECT 1 AS node UNION SELECT e.dst FROM r JOIN orc_edge e ON e.src = r.node) SELECT node FROM r ORDER BY node;
WITH RECURSIVE r AS (SELECT 1 AS node UNION SELECT e.dst FROM orc_edge e JOIN r ON e.src = r.node) SELECT node FROM r ORDER BY node;
WITH RECURSIVE r AS (SELECT 1 AS node UNION SELECT e.dst FROM orc_edge e, r WHERE e.src = r.node AND e.kind = 'road') SELECT node FROM r ORDER BY node;
WITH RECURSIVE r AS (SELECT 1 AS node, 0 AS d UNION ALL SELECT e.dst, d + 1 FROM r JOIN orc_edge e ON e.src = r.node WHERE d < 6) SELECT node, min(d) AS d FROM r ORDER BY node;
WITH RECURSIVE p AS (SELECT src, dst, src || '>' || dst AS path, w FROM orc_edge WHERE src = 1 UNION ALL SELECT p.src, e.dst, p.path || '>' || e.dst, p.w + e.w FROM p JOIN orc_edge e ON e.src = p.dst WHERE NOT p.path LIKE '%' || e.dst || '%') SELECT path, w FROM p ORDER BY path;
WITH RECURSIVE r(node) AS (SELECT 1 UNION SELECT dst FROM orc_edge WHERE src IN (SELECT node FROM r)) SELECT node FROM r ORDER BY node;
WITH RECURSIVE r AS (SELECT 4 AS node UNION SELECT e.dst FROM r LEFT JOIN orc_edge e ON e.src = r.node) SELECT node FROM r ORDER BY node;
WITH RECURSIVE k AS (SELECT 'road'::SYMBOL AS kind, 1 AS node UNION SELECT e.kind, e.dst FROM k JOIN orc_edge e ON e.src = k.node) SELECT kind, node FROM k ORDER BY kind, node;
-- trees
WITH RECURSIVE t AS (SELECT id, name, 0 AS level FROM orc_emp WHERE boss IS NULL UNION ALL SELECT e.id, e.name, t.level + 1 FROM orc_emp e JOIN t ON e.boss = t.id) SELECT level, name FROM t ORDER BY level, name;
WITH RECURSIVE t AS (SELECT id, id AS top FROM orc_emp UNION ALL SELECT e.id, t.top FROM orc_emp e JOIN t ON e.boss = t.id) SELECT top, count() - 1 AS below FROM t ORDER BY top;
-- grouping in the step: over the rows found last
WITH RECURSIVE n AS (SELECT x FROM long_sequence(8) UNION ALL SELECT sum(x) FROM n HAVING count() > 1) SELECT * FROM n;
WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL (WITH z AS (SELECT x, count() AS c FROM a GROUP BY x) SELECT z.x + 1 FROM z JOIN z y ON z.x = y.x WHERE z.x < 5)) SELECT * FROM a;
-- several, inside and out
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 3), m AS (SELECT x FROM n UNION ALL SELECT x + 10 FROM m WHERE x < 20) SELECT count(), sum(x) FROM m;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 3), plain AS (SELECT count() AS c FROM n) SELECT n.x, plain.c FROM n, plain ORDER BY 1;
SELECT id FROM orc_emp WHERE id IN (WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x * 2 FROM n WHERE x < 100) SELECT x FROM n) ORDER BY id;
SELECT id, (WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT sum(x) FROM n) AS s FROM orc_emp ORDER BY id LIMIT 2;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 4) SELECT a.x, b.x FROM n a JOIN n b ON a.x = b.x + 1 ORDER BY 1;
CREATE TABLE orc_copy AS (WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT * FROM n);
INSERT INTO orc_copy WITH RECURSIVE n AS (SELECT 10 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 12) SELECT * FROM n;
SELECT x FROM orc_copy ORDER BY x;
-- WITH used several times: the same rows each time
WITH r AS (SELECT rnd_long() AS x FROM long_sequence(3)) SELECT count() FROM r a JOIN r b ON a.x = b.x;
WITH g AS (SELECT kind, count() AS c FROM orc_edge GROUP BY kind) SELECT x.kind, y.c FROM g x JOIN g y ON x.kind = y.kind ORDER BY 1;
WITH a AS (SELECT sum(w) AS s FROM orc_edge), b AS (SELECT s * 2 AS s FROM a UNION ALL SELECT s FROM a) SELECT x.s, y.s FROM b x, b y ORDER BY 1, 2;
WITH a AS MATERIALIZED (SELECT dst FROM orc_edge WHERE src = 3) SELECT * FROM a x, a y ORDER BY 1, 2;
WITH a AS NOT MATERIALIZED (SELECT max(dst) AS m FROM orc_edge) SELECT x.m, y.m FROM a x, a y;
-- over columns of the query around it: one recursion for each of its rows
SELECT x, (WITH RECURSIVE r(n, d) AS (SELECT x, 0 UNION ALL SELECT n - 1, d + 1 FROM r WHERE n > 0) SELECT max(d) FROM r) AS m FROM long_sequence(4);
SELECT x, (WITH RECURSIVE r(n) AS (SELECT x UNION ALL SELECT n + x FROM r WHERE n < 10) SELECT sum(n) FROM r) AS s FROM long_sequence(4);
SELECT x, (WITH RECURSIVE r(n) AS (SELECT 1L UNION ALL SELECT n * 2 FROM r WHERE n < x) SELECT n FROM r ORDER BY n DESC LIMIT 1) AS top FROM long_sequence(9);
SELECT x, (WITH RECURSIVE r(n) AS (SELECT 1L UNION SELECT (n + x) % 5 FROM r) SELECT count() FROM r) AS c FROM long_sequence(6);
SELECT e.id, (WITH RECURSIVE up(id, depth) AS (SELECT b.boss, 0 FROM orc_emp b WHERE b.id = e.id UNION ALL SELECT b.boss, up.depth + 1 FROM orc_emp b, up WHERE up.id = b.id AND b.boss IS NOT NULL) SELECT id FROM up ORDER BY depth DESC LIMIT 1) AS head FROM orc_emp e ORDER BY e.id;
SELECT t.x, (WITH RECURSIVE r(n) AS (SELECT t.x UNION ALL SELECT s.x FROM r JOIN long_sequence(5) s ON s.x = r.n + 1 WHERE s.x < t.x + 3) SELECT count() FROM r) AS c FROM long_sequence(4) t;
SELECT t.x, (WITH RECURSIVE r(n) AS (SELECT t.x UNION ALL SELECT s.x FROM r, long_sequence(5) s WHERE s.x = r.n + 1 AND t.x + 1 = s.x) SELECT count() FROM r) AS c, (WITH RECURSIVE r(n) AS (SELECT t.x UNION ALL SELECT n - 1 FROM r WHERE n > 0) SELECT string_agg(n::string, ' ') FROM r) AS down FROM long_sequence(4) t;
SELECT x FROM long_sequence(6) t WHERE EXISTS (WITH RECURSIVE r(n) AS (SELECT x UNION ALL SELECT n - 2 FROM r WHERE n > 1) SELECT 1 FROM r WHERE n = 0);
SELECT x FROM long_sequence(6) t WHERE 0 IN (WITH RECURSIVE r(n) AS (SELECT t.x UNION ALL SELECT n - 2 FROM r WHERE n > 1) SELECT n FROM r);
SELECT x, l.n FROM long_sequence(3) t LEFT JOIN LATERAL (WITH RECURSIVE r(n) AS (SELECT t.x UNION ALL SELECT n - 1 FROM r WHERE n > 1) SELECT n FROM r WHERE n > 1) l ORDER BY 1, 2;
SELECT x, (WITH RECURSIVE r(n) AS (SELECT 1L UNION ALL SELECT n + 1 FROM r WHERE n < 100 LIMIT 3) SELECT count() FROM r WHERE n <= x) AS c FROM long_sequence(4);
SELECT a.x, (SELECT sum(b.x + (WITH RECURSIVE r(n) AS (SELECT a.x UNION ALL SELECT n - b.x FROM r WHERE n > 0) SELECT count() FROM r)) FROM long_sequence(2) b) AS s FROM long_sequence(3) a;
SELECT t.x, (WITH RECURSIVE a(n) AS (SELECT t.x UNION ALL SELECT n - 1 FROM a WHERE n > 1), b(m) AS (SELECT n FROM a UNION SELECT m + 10 FROM b WHERE m < 10) SELECT sum(m) FROM b) AS s FROM long_sequence(3) t;
WITH RECURSIVE o(n) AS (SELECT 3L UNION ALL SELECT n - 1 FROM o WHERE n > (WITH RECURSIVE i(k) AS (SELECT 1L UNION ALL SELECT k + 1 FROM i WHERE k < o.n) SELECT min(k) FROM i)) SELECT n FROM o;
SELECT v, (WITH RECURSIVE r(n) AS (SELECT v UNION ALL SELECT n - 1 FROM r WHERE n > 0) SELECT count() FROM r) AS c FROM (SELECT CASE WHEN x = 2 THEN NULL ELSE x END AS v FROM long_sequence(3));
SELECT t.x, (WITH RECURSIVE r(n) AS (SELECT t.x UNION ALL SELECT count() FROM r HAVING count() > t.x) SELECT count() FROM r) AS c FROM long_sequence(3) t;
SELECT t.x, (WITH RECURSIVE a(n) AS (SELECT t.x UNION ALL (WITH z AS (SELECT DISTINCT n FROM a) SELECT z.n - 1 FROM z, z y WHERE z.n = y.n AND z.n > 1)) SELECT sum(n) FROM a) AS s FROM long_sequence(3) t;
-- errors
WITH n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT x FROM n) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT x FROM n UNION ALL SELECT 1) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x INTERSECT SELECT x FROM n) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x, x FROM n) SELECT * FROM n;
WITH RECURSIVE n(a, b) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT * FROM n;
WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n) SELECT count() FROM n;
DROP TABLE orc_edge;
DROP TABLE orc_emp;
DROP TABLE orc_copy;
