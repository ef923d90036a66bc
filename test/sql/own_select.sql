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
-- long statements take linear time
SELECT count() AS c FROM (SELECT 0 AS x UNION SELECT 1 AS x UNION SELECT 2 AS x UNION SELECT 3 AS x UNION SELECT 4 AS x UNION SELECT 5 AS x UNION SELECT 6 AS x UNION SELECT 7 AS x UNION SELECT 8 AS x UNION SELECT 9 AS x UNION SELECT 10 AS x UNION SELECT 11 AS x UNION SELECT 12 AS x UNION SELECT 13 AS x UNION SELECT 14 AS x UNION SELECT 15 AS x UNION SELECT 16 AS x UNION SELECT 17 AS x UNION SELECT 18 AS x UNION SELECT 19 AS x UNION SELECT 20 AS x UNION SELECT 21 AS x UNION SELECT 22 AS x UNION SELECT 23 AS x UNION SELECT 24 AS x UNION SELECT 25 AS x UNION SELECT 26 AS x UNION SELECT 27 AS x UNION SELECT 28 AS x UNION SELECT 29 AS x UNION SELECT 30 AS x UNION SELECT 31 AS x UNION SELECT 32 AS x UNION SELECT 33 AS x UNION SELECT 34 AS x UNION SELECT 35 AS x UNION SELECT 36 AS x UNION SELECT 37 AS x UNION SELECT 38 AS x UNION SELECT 39 AS x UNION SELECT 40 AS x UNION SELECT 41 AS x UNION SELECT 42 AS x UNION SELECT 43 AS x UNION SELECT 44 AS x UNION SELECT 45 AS x UNION SELECT 46 AS x UNION SELECT 47 AS x UNION SELECT 48 AS x UNION SELECT 49 AS x UNION SELECT 50 AS x UNION SELECT 51 AS x UNION SELECT 52 AS x UNION SELECT 53 AS x UNION SELECT 54 AS x UNION SELECT 55 AS x UNION SELECT 56 AS x UNION SELECT 57 AS x UNION SELECT 58 AS x UNION SELECT 59 AS x);
SELECT count() AS c FROM long_sequence(1000) WHERE x = 0 OR x = 3 OR x = 6 OR x = 9 OR x = 12 OR x = 15 OR x = 18 OR x = 21 OR x = 24 OR x = 27 OR x = 30 OR x = 33 OR x = 36 OR x = 39 OR x = 42 OR x = 45 OR x = 48 OR x = 51 OR x = 54 OR x = 57 OR x = 60 OR x = 63 OR x = 66 OR x = 69 OR x = 72 OR x = 75 OR x = 78 OR x = 81 OR x = 84 OR x = 87 OR x = 90 OR x = 93 OR x = 96 OR x = 99 OR x = 102 OR x = 105 OR x = 108 OR x = 111 OR x = 114 OR x = 117 OR x = 120 OR x = 123 OR x = 126 OR x = 129 OR x = 132 OR x = 135 OR x = 138 OR x = 141 OR x = 144 OR x = 147 OR x = 150 OR x = 153 OR x = 156 OR x = 159 OR x = 162 OR x = 165 OR x = 168 OR x = 171 OR x = 174 OR x = 177 OR x = 180 OR x = 183 OR x = 186 OR x = 189 OR x = 192 OR x = 195 OR x = 198 OR x = 201 OR x = 204 OR x = 207 OR x = 210 OR x = 213 OR x = 216 OR x = 219 OR x = 222 OR x = 225 OR x = 228 OR x = 231 OR x = 234 OR x = 237 OR x = 240 OR x = 243 OR x = 246 OR x = 249 OR x = 252 OR x = 255 OR x = 258 OR x = 261 OR x = 264 OR x = 267 OR x = 270 OR x = 273 OR x = 276 OR x = 279 OR x = 282 OR x = 285 OR x = 288 OR x = 291 OR x = 294 OR x = 297 OR x = 300 OR x = 303 OR x = 306 OR x = 309 OR x = 312 OR x = 315 OR x = 318 OR x = 321 OR x = 324 OR x = 327 OR x = 330 OR x = 333 OR x = 336 OR x = 339 OR x = 342 OR x = 345 OR x = 348 OR x = 351 OR x = 354 OR x = 357 OR x = 360 OR x = 363 OR x = 366 OR x = 369 OR x = 372 OR x = 375 OR x = 378 OR x = 381 OR x = 384 OR x = 387 OR x = 390 OR x = 393 OR x = 396 OR x = 399 OR x = 402 OR x = 405 OR x = 408 OR x = 411 OR x = 414 OR x = 417 OR x = 420 OR x = 423 OR x = 426 OR x = 429 OR x = 432 OR x = 435 OR x = 438 OR x = 441 OR x = 444 OR x = 447 OR x = 450 OR x = 453 OR x = 456 OR x = 459 OR x = 462 OR x = 465 OR x = 468 OR x = 471 OR x = 474 OR x = 477 OR x = 480 OR x = 483 OR x = 486 OR x = 489 OR x = 492 OR x = 495 OR x = 498 OR x = 501 OR x = 504 OR x = 507 OR x = 510 OR x = 513 OR x = 516 OR x = 519 OR x = 522 OR x = 525 OR x = 528 OR x = 531 OR x = 534 OR x = 537 OR x = 540 OR x = 543 OR x = 546 OR x = 549 OR x = 552 OR x = 555 OR x = 558 OR x = 561 OR x = 564 OR x = 567 OR x = 570 OR x = 573 OR x = 576 OR x = 579 OR x = 582 OR x = 585 OR x = 588 OR x = 591 OR x = 594 OR x = 597;
DROP TABLE osl;
