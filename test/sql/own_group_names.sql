-- GROUP BY takes a plain name from the select list before it takes it from the columns of FROM.
DROP TABLE IF EXISTS ogn_t;
DROP TABLE IF EXISTS ogn_u;
CREATE TABLE ogn_t (ts TIMESTAMP, sym SYMBOL, price DOUBLE, side SYMBOL, n INT) TIMESTAMP(ts) PARTITION BY DAY;
CREATE TABLE ogn_u (ts TIMESTAMP, sym SYMBOL, k INT, v INT, count INT) TIMESTAMP(ts) PARTITION BY DAY;
INSERT INTO ogn_t VALUES ('2024-01-01T00:10', 'a', 1, 'buy', 1), ('2024-01-01T00:20', 'a', 2, 'sell', 2), ('2024-01-01T01:10', 'A', 3, 'buy', 3), ('2024-01-02T01:10', 'b', 4, null, 4);
INSERT INTO ogn_u VALUES ('2024-01-01T00:10', 'a', 1, 10, 1), ('2024-01-01T00:20', 'a', 2, 20, 1), ('2024-01-01T01:10', 'A', 1, 30, 2), ('2024-01-02T01:10', 'b', 2, 40, 2);
-- The bucket with the name of the time, as dashboards write it.
SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY ts ORDER BY ts;
SELECT date_trunc('hour', ts) AS "ts", avg(price) FROM ogn_t GROUP BY "ts" ORDER BY "ts";
SELECT timestamp_floor('1h', ts) AS TS, sum(price) s FROM ogn_t GROUP BY ts ORDER BY ts;
SELECT * FROM (SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY ts) WHERE ts > '2024-01-01T00:30' ORDER BY ts;
WITH q AS (SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY ts) SELECT max(s) FROM q;
SELECT timestamp_floor('1h', ts) ts, first(ts), sum(price) s FROM ogn_t GROUP BY ts ORDER BY ts;
-- WHERE means the column.
SELECT timestamp_floor('1h', ts) ts, count() FROM ogn_t WHERE ts > '2024-01-01T00:15' GROUP BY ts ORDER BY ts;
-- A qualified name and a name inside an expression mean the column, a position the item.
SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY ogn_t.ts ORDER BY ts, s;
SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t t GROUP BY t.ts ORDER BY ts, s;
SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY timestamp_floor('1h', ts) ORDER BY ts;
SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY 1 ORDER BY 1;
SELECT upper(sym) sym, sum(price) FROM ogn_t GROUP BY upper(sym) ORDER BY sym;
SELECT upper(sym) sym, sum(price) FROM ogn_t GROUP BY lower(sym);
SELECT upper(sym) sym, side, sum(price) FROM ogn_t GROUP BY sym, side ORDER BY sym, side;
SELECT case side when 'buy' then 'B' else 'X' end side, sum(price) FROM ogn_t GROUP BY side ORDER BY side;
SELECT concat(sym, 'x') sym, count() FROM ogn_t GROUP BY 1, sym, concat(sym, 'x') ORDER BY sym;
SELECT upper(sym) sym, length(sym) l, sum(price) s FROM ogn_t GROUP BY sym, l ORDER BY sym;
-- The column is no key then.
SELECT upper(sym) sym, length(sym) l, sum(price) s FROM ogn_t GROUP BY sym;
SELECT sym AS side, side AS sym, count() FROM ogn_t GROUP BY side;
-- Names that change places, and names of other columns.
SELECT v k, k v, count() FROM ogn_u GROUP BY k, v ORDER BY v, k;
SELECT k AS v, count() FROM ogn_u GROUP BY v ORDER BY v;
SELECT k AS v, sum(v) FROM ogn_u GROUP BY v ORDER BY v;
SELECT price + 0 AS n, n AS m, count() FROM ogn_t GROUP BY n, m ORDER BY n;
-- Constants and subqueries by their names.
SELECT 1 AS k, count() FROM ogn_u GROUP BY k;
SELECT (SELECT max(v) FROM ogn_u) AS v, count() FROM ogn_u GROUP BY v;
SELECT v IN (SELECT v FROM ogn_u WHERE v > 15) AS v, count() FROM ogn_u GROUP BY v ORDER BY v;
-- Of two columns of a join the one that the list has.
SELECT a.sym s, sum(price) p FROM ogn_t a JOIN ogn_u b ON a.sym = b.sym GROUP BY s ORDER BY s;
SELECT a.sym, sum(price) p FROM ogn_t a JOIN ogn_u b ON a.sym = b.sym GROUP BY sym ORDER BY sym;
SELECT b.ts, a.ts at, count() FROM ogn_t a JOIN ogn_u b ON a.sym = b.sym GROUP BY ts, at ORDER BY ts, at;
SELECT a.v + b.v AS v, count() FROM ogn_u a CROSS JOIN ogn_u b GROUP BY v ORDER BY v;
SELECT sum(price) p FROM ogn_t a JOIN ogn_u b ON a.sym = b.sym GROUP BY sym;
-- An aggregate and a window function are no keys, also by their names; an expression without alias has none.
SELECT sum(price) sym FROM ogn_t GROUP BY sym;
SELECT sym, sum(price) price FROM ogn_t GROUP BY sym, price;
SELECT row_number() OVER (ORDER BY k) AS k FROM ogn_u GROUP BY k;
SELECT sym, sum(price) price FROM ogn_t GROUP BY sym ORDER BY sym;
SELECT count(), sum(v) FROM ogn_u GROUP BY count ORDER BY 2;
-- HAVING, ORDER BY and OVER mean what GROUP BY means, aggregates read columns.
SELECT k + 1 AS k, count() c FROM ogn_u GROUP BY k HAVING k > 2;
SELECT k + 1 AS k, count() c FROM ogn_u GROUP BY k HAVING sum(k) > 2;
SELECT upper(sym) sym, sum(price) FROM ogn_t GROUP BY sym HAVING sym = 'A';
SELECT upper(sym) sym, count() FROM ogn_t GROUP BY ogn_t.sym HAVING sym = 'a';
SELECT upper(sym) sym, sum(price) FROM ogn_t GROUP BY sym ORDER BY lower(sym) DESC;
SELECT -v v, count() FROM ogn_u GROUP BY v ORDER BY -v;
SELECT timestamp_floor('1h', ts) ts, sum(price) s, sum(sum(price)) OVER (ORDER BY ts) r FROM ogn_t GROUP BY ts ORDER BY ts;
SELECT row_number() OVER (ORDER BY ts DESC) r, timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY ts ORDER BY ts;
SELECT k + 1 AS k, row_number() OVER (PARTITION BY k) r, count() FROM ogn_u GROUP BY k ORDER BY k;
SELECT k + 1 AS k, count() c FROM ogn_u GROUP BY k QUALIFY rank() OVER (ORDER BY k) = 1;
-- The name of an aggregate in HAVING, where the column is no key.
SELECT count, sum(v) v FROM ogn_u GROUP BY count HAVING v > 40;
SELECT sum(v) v, count FROM ogn_u HAVING v > 40;
SELECT k, sum(v) v FROM ogn_u GROUP BY k, ogn_u.v HAVING v > 20 ORDER BY k, 2;
-- Grouping sets.
SELECT timestamp_floor('1h', ts) ts, grouping(ts) g, sum(price) s FROM ogn_t GROUP BY ROLLUP(ts) ORDER BY g, ts;
SELECT grouping(sym) g, upper(sym) sym, sum(price) s FROM ogn_t GROUP BY GROUPING SETS ((sym), ()) ORDER BY g, sym;
SELECT DISTINCT upper(sym) sym FROM ogn_t GROUP BY sym ORDER BY sym;
SELECT DISTINCT ON (sym) upper(sym) sym, side FROM ogn_t GROUP BY sym, side ORDER BY sym, side DESC;
SELECT * EXCLUDE (sym, price, side, n) REPLACE (timestamp_floor('1h', ts) AS ts) FROM ogn_t GROUP BY ts ORDER BY ts;
-- Statements that contain queries.
DROP TABLE IF EXISTS ogn_w;
CREATE TABLE ogn_w AS (SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY ts) TIMESTAMP(ts) PARTITION BY DAY;
SELECT * FROM ogn_w;
INSERT INTO ogn_w SELECT timestamp_floor('1d', ts) ts, sum(price) s FROM ogn_t GROUP BY ts;
SELECT count(), sum(s) FROM ogn_w;
DROP MATERIALIZED VIEW IF EXISTS ogn_m;
CREATE MATERIALIZED VIEW ogn_m AS (SELECT timestamp_floor('1h', ts) ts, sum(price) s FROM ogn_t GROUP BY ts) TIMESTAMP(ts) PARTITION BY DAY;
DROP MATERIALIZED VIEW ogn_m;
DROP TABLE ogn_w;
DROP TABLE ogn_t;
DROP TABLE ogn_u;
