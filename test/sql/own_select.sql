-- The rest of SELECT that the reference lacks or has less of: EXCLUDE and REPLACE, GROUP BY ALL, FROM first,
-- INTERVAL, QUALIFY and HAVING anywhere, words of the language as names. Checked with DuckDB or by hand.
DROP TABLE IF EXISTS osl;
CREATE TABLE osl (ts TIMESTAMP, k INT, s SYMBOL, v DOUBLE, note VARCHAR) TIMESTAMP(ts) PARTITION BY DAY;
INSERT INTO osl VALUES ('2024-01-31T01:00:00Z', 1, 'a', 1.5, 'x'), ('2024-01-31T02:00:00Z', 2, 'b', 2.5, null), ('2024-02-01T03:00:00Z', 3, 'a', 3.5, 'y'), ('2024-02-01T04:00:00Z', 4, 'b', null, 'x'), ('2024-02-02T05:00:00Z', 5, 'c', 5.5, 'z');
-- stars
SELECT * EXCLUDE (ts, note) FROM osl ORDER BY k LIMIT 2;
SELECT * EXCEPT (ts, note) FROM osl ORDER BY k LIMIT 2;
SELECT o.* EXCLUDE (ts), o.k * 10 AS k10 FROM osl o ORDER BY k LIMIT 1;
SELECT * EXCLUDE (ts, note) REPLACE (k * 10 AS k, upper(s) AS s) FROM osl ORDER BY v LIMIT 2;
SELECT * EXCLUDE (nosuch) FROM osl;
SELECT * REPLACE (1 AS nosuch) FROM osl;
SELECT * EXCLUDE (ts, k, s, v, note) FROM osl;
SELECT 1 AS a EXCEPT (SELECT 1);
-- grouping
SELECT s, note IS NULL AS n, count() AS c FROM osl GROUP BY ALL ORDER BY s, n;
SELECT s FROM osl GROUP BY ALL ORDER BY s;
SELECT upper(s) AS u, sum(v) + 1 AS w FROM osl GROUP BY ALL ORDER BY u;
SELECT upper(s) AS u, count() AS c FROM osl GROUP BY u ORDER BY c DESC, u;
SELECT s, count() AS c FROM osl GROUP BY 1 HAVING c > 1 ORDER BY 1;
SELECT sum(k) AS t FROM osl HAVING sum(k) > 100;
SELECT sum(k) AS t FROM osl HAVING sum(k) > 10;
SELECT s, sum(v) AS t FROM osl GROUP BY s QUALIFY row_number() OVER (ORDER BY t DESC) = 1;
SELECT k FROM osl QUALIFY row_number() OVER (PARTITION BY s ORDER BY k DESC) = 1 ORDER BY k;
SELECT DISTINCT ON (s) s, k FROM osl ORDER BY s, k DESC;
-- FROM first
FROM osl SELECT k WHERE k > 3 ORDER BY k;
FROM osl WHERE k = 2;
FROM osl SELECT s, count() AS c ORDER BY s;
SELECT count() AS c FROM (FROM osl SELECT DISTINCT s);
-- words of the language as names
SELECT k AS table, s AS order, v AS group FROM osl ORDER BY k LIMIT 1;
SELECT "table" + 1 AS t FROM (SELECT k AS table FROM osl) ORDER BY 1 LIMIT 1;
SELECT k AS "a.b", k AS "naïve 😀" FROM osl ORDER BY k LIMIT 1;
-- times
SELECT '2024-01-31T00:00:00Z'::TIMESTAMP + INTERVAL '1 month' AS t;
SELECT INTERVAL '1 day 2 hours' + ts AS t FROM osl ORDER BY k LIMIT 1;
SELECT ts - INTERVAL '90 minutes' AS a, ts + INTERVAL '1' HOUR AS b, INTERVAL '1 week' + ts - INTERVAL '7 days' AS c FROM osl ORDER BY k LIMIT 1;
SELECT k FROM osl WHERE ts >= DATE '2024-02-01' AND ts < TIMESTAMP '2024-02-01T00:00:00Z' + INTERVAL '1 day' ORDER BY k;
SELECT ts AT TIME ZONE 'Europe/Berlin' AS t, EXTRACT(hour FROM ts) AS h, EXTRACT(dow FROM ts) AS d FROM osl ORDER BY k LIMIT 1;
SELECT current_timestamp >= current_date AS a, localtimestamp > '2024-01-01' AS b, typeOf(current_date) AS c, typeOf(current_timestamp) AS d;
SELECT INTERVAL '1 day' AS i;
-- predicates and rows
SELECT k FROM osl WHERE k BETWEEN SYMMETRIC 4 AND 2 ORDER BY k;
SELECT k FROM osl WHERE note IS DISTINCT FROM 'x' ORDER BY k;
SELECT k FROM osl WHERE note IS NOT DISTINCT FROM null ORDER BY k;
SELECT k FROM osl WHERE k IN (1, 2.0, '3') ORDER BY k;
SELECT k FROM osl WHERE k = 2 OR k = 4 OR 5 = k ORDER BY k;
SELECT k FROM osl WHERE s = 'a' OR s = 'c' OR s = 'nobody' ORDER BY k;
SELECT k FROM osl WHERE k = 2 AND v > k ORDER BY k;
SELECT k FROM osl WHERE k = 2 AND k + 1 = 4;
SELECT k FROM osl ORDER BY v NULLS FIRST, k LIMIT 2;
SELECT k FROM osl ORDER BY v DESC NULLS LAST OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY;
SELECT +k AS a, -(-k) AS b, + - k AS c FROM osl ORDER BY k LIMIT 1;
SELECT E'tab\there' AS e, $$it's$$ AS d, $q$a $$ b$q$ AS q, 1 /* a /* nested */ comment */ + 1 AS n;
SELECT CASE k WHEN 1 THEN 'one' WHEN 2 THEN 'two' END AS w, CASE WHEN v > 3 THEN v ELSE k END AS m FROM osl ORDER BY k LIMIT 3;
SELECT * FROM osl JOIN (SELECT k, k * 2 AS kk FROM osl) d USING (k) ORDER BY k LIMIT 1;
SELECT k, kk FROM osl NATURAL JOIN (SELECT k, k * 2 AS kk FROM osl) d ORDER BY k LIMIT 2;
SELECT generate_series(1, 3);
-- sorted and distinct twice
SELECT s FROM (SELECT s, count() AS c FROM osl GROUP BY s ORDER BY s) ORDER BY s;
SELECT DISTINCT s FROM (SELECT DISTINCT s FROM osl) ORDER BY s;
SELECT DISTINCT c FROM (SELECT s, count() AS c FROM osl GROUP BY s) ORDER BY c;
DROP TABLE osl;
