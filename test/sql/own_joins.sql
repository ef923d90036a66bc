-- Joins the reference lacks or gets wrong: direction of ASOF, nearest rows, keyed SPLICE, chains of inner joins, non-equi outer joins.
DROP TABLE IF EXISTS oj_t;
DROP TABLE IF EXISTS oj_q;
create table oj_t (ts timestamp, s symbol, p double) timestamp(ts) partition by day;
create table oj_q (ts timestamp, s symbol, b double) timestamp(ts) partition by day;
insert into oj_t values ('2024-01-01T00:00:10','a',1),('2024-01-01T00:00:20','b',2),('2024-01-01T00:00:30','a',3),('2024-01-01T00:00:40',null,4);
insert into oj_q values ('2024-01-01T00:00:05','a',10),('2024-01-01T00:00:12','a',11),('2024-01-01T00:00:20','b',12),('2024-01-01T00:00:26','b',13),('2024-01-01T00:00:31','a',14),('2024-01-01T00:00:50',null,15);
select t.ts, t.s, q.ts qts, b from oj_t t asof join oj_q q on (s) direction forward;
select t.ts, t.s, q.ts qts, b from oj_t t asof join oj_q q on (s) direction nearest;
select t.ts, t.s, q.ts qts, b from oj_t t asof join oj_q q on (s) direction backward;
select t.ts, t.s, q.ts qts, b from oj_t t lt join oj_q q on (s) direction forward;
select t.ts, t.s, q.ts qts, b from oj_t t lt join oj_q q on (s) direction nearest;
select t.ts, q.ts qts, b from oj_t t asof join oj_q q direction forward;
select t.ts, q.ts qts, b from oj_t t asof join oj_q q direction nearest tolerance 3s;
select t.ts, q.ts qts, b from oj_t t asof join oj_q q tolerance 3s direction nearest;
-- the same as a condition on the designated timestamps
select t.ts, t.s, q.ts qts, b from oj_t t asof join oj_q q on t.s = q.s and t.ts >= q.ts;
select t.ts, t.s, q.ts qts, b from oj_t t asof join oj_q q on t.s = q.s and q.ts < t.ts;
select t.ts, t.s, q.ts qts, b from oj_t t asof join oj_q q on t.s = q.s and t.ts <= q.ts;
select t.ts, t.s, q.ts qts, b from oj_t t asof join oj_q q on t.s = q.s and t.ts < q.ts tolerance 5s;
select t.ts, q.ts qts, b from oj_t t asof join oj_q q on t.ts <= q.ts;
-- a column of that name, a table called so
select t.ts, direction.b from oj_t t asof join oj_q direction on (s);
-- errors
select * from oj_t t asof join oj_q q on t.s = q.s and t.p < q.b;
select * from oj_t t asof join oj_q q on t.s = q.s and t.ts <= q.ts direction nearest;
select * from oj_t t join oj_q q on t.s = q.s direction forward;
-- filters on the key reach both sides
select t.ts, q.ts qts, b from (select * from oj_t where s = 'a') t asof join oj_q q on (s);
select t.ts, q.ts qts, b from oj_t t left join oj_q q on t.s = q.s where t.s = 'b' order by 1, 2;
select count() from oj_t t join oj_q q on t.s = q.s where q.s in ('a', 'nobody');
-- SPLICE by key: each side beside what prevails on the other for its own key
select * from oj_t t splice join oj_q q on (s);
-- null keys are equal, whatever the join
select t.ts, q.ts qts from oj_t t join oj_q q on t.s = q.s where t.s is null;
select count() from oj_t t join oj_q q on t.s = q.s and t.ts = q.ts;
-- chains of inner joins come out the same in any order of tables
DROP TABLE IF EXISTS oj_fact;
DROP TABLE IF EXISTS oj_item;
DROP TABLE IF EXISTS oj_shop;
DROP TABLE IF EXISTS oj_area;
create table oj_fact (ts timestamp, item int, shop int, n long) timestamp(ts) partition by day;
create table oj_item (id int, name symbol, price double);
create table oj_shop (id int, area int, city symbol);
create table oj_area (id int, name symbol);
insert into oj_fact select timestamp_sequence('2024-01-01', 1000000L), (x * 7 % 11)::int, (x * 13 % 23)::int, x from long_sequence(20000);
insert into oj_item select x::int - 1, 'item' || (x % 4), x * 1.5 from long_sequence(9);
insert into oj_shop select x::int - 1, (x % 3)::int, 'city' || (x % 5) from long_sequence(20);
insert into oj_area select x::int - 1, 'area' || x from long_sequence(3);
select a.name an, i.name iname, count() c, sum(f.n) n from oj_fact f join oj_item i on f.item = i.id join oj_shop s on f.shop = s.id join oj_area a on s.area = a.id group by an, iname order by 1, 2;
select a.name an, i.name iname, count() c, sum(f.n) n from oj_area a join oj_shop s on s.area = a.id join oj_fact f on f.shop = s.id join oj_item i on f.item = i.id group by an, iname order by 1, 2;
select a.name an, i.name iname, count() c, sum(f.n) n from oj_item i cross join oj_area a join oj_shop s on s.area = a.id join oj_fact f on f.shop = s.id and f.item = i.id group by an, iname order by 1, 2;
select s.city, count() c, sum(i.price) p from oj_shop s join oj_fact f on f.shop = s.id and f.n > s.area * 1000 join oj_item i on i.id = f.item and i.price < 10 group by s.city order by 1;
select count() c, sum(f.n) n, count(s.id) m from oj_shop s right join oj_fact f on f.shop = s.id;
select count() c, sum(f.n) n, count(s.id) m from oj_fact f left join oj_shop s on f.shop = s.id;
-- a join with an empty side, grouped by its symbols
select s.city, count() c from oj_fact f left join (select * from oj_shop where id > 100) s on f.shop = s.id group by s.city;
select q.s, count() c from oj_t t asof join (select * from oj_q where b > 100) q group by q.s;
-- outer joins by other conditions than equality
select t.ts, t.p, q.b from oj_t t right join oj_q q on t.ts > q.ts and t.p > 2 order by q.ts, t.ts;
select t.p, q.b from oj_t t full join oj_q q on t.p * 6 > q.b and t.s = q.s order by t.ts, q.ts;
select t.p, q.b from oj_t t full join oj_q q on t.p > 3 and q.b > 14 order by t.ts, q.ts;
-- joins in brackets: at the left, at the right, nested; names of what is inside stay
select f.n, i.name iname, s.city from ((oj_fact f join oj_item i on f.item = i.id) join oj_shop s on f.shop = s.id) where f.n < 6 order by f.n;
select f.n, s.city, a.name an from oj_fact f join (oj_shop s join oj_area a on s.area = a.id) on f.shop = s.id where f.n < 6 order by f.n;
select f.n, s.city, a.name an from oj_fact f left join (oj_shop s join oj_area a on s.area = a.id and a.name != 'area1') on f.shop = s.id where f.n < 6 order by f.n;
select count() c, sum(f.n) n from oj_item i join (oj_fact f join (oj_shop s join oj_area a on s.area = a.id) on f.shop = s.id) on i.id = f.item;
select t.p, q.b from (oj_t t asof join oj_q q on (s)) where t.p < 3;
select * from (oj_t t asof join oj_q q on (s)) x where p < 2;
select * from oj_t t join (oj_q q join oj_t t on (s)) on (s);
-- subqueries in ON of inner joins
select i.name iname, count() c from oj_fact f join oj_item i on f.item = i.id and i.price > (select avg(price) from oj_item) group by iname order by 1;
select i.name iname, count() c from oj_fact f join oj_item i on f.item = i.id and i.id in (select id from oj_shop where area = 1) group by iname order by 1;
select i.name iname, count() c from oj_fact f left join oj_item i on f.item = i.id and i.price > (select avg(price) from oj_item) group by iname order by 1;
-- queries in ON of LEFT JOIN: rows of the left side stay
DROP TABLE IF EXISTS ojq_a;
DROP TABLE IF EXISTS ojq_b;
CREATE TABLE ojq_a (x INT, s SYMBOL);
CREATE TABLE ojq_b (x INT, s SYMBOL, y INT);
INSERT INTO ojq_a VALUES (1, 'p'), (2, 'q'), (3, 'p'), (null, null);
INSERT INTO ojq_b VALUES (1, 'p', 10), (1, 'p', 20), (2, 'q', 30), (3, 'r', 40);
SELECT a.x, b.y FROM ojq_a a LEFT JOIN ojq_b b ON a.x = b.x AND b.y = (SELECT max(c.y) FROM ojq_b c WHERE c.x = a.x) ORDER BY 1;
SELECT a.x, b.y FROM ojq_a a LEFT JOIN ojq_b b ON a.x = b.x AND a.x IN (SELECT x FROM long_sequence(2)) ORDER BY 1, 2;
SELECT a.x, b.y FROM ojq_a a LEFT JOIN ojq_b b ON a.x = b.x AND b.s NOT IN (SELECT s FROM ojq_a) ORDER BY 1, 2;
SELECT a.x, b.y, c.y AS z FROM ojq_a a LEFT JOIN ojq_b b ON EXISTS (SELECT 1 FROM ojq_b d WHERE d.x = a.x AND d.y < b.y) LEFT JOIN ojq_b c ON c.y = b.y AND c.y > (SELECT min(y) FROM ojq_b) ORDER BY 1, 2;
SELECT a.s, count(b.y) AS n FROM ojq_a a LEFT JOIN ojq_b b ON a.s = b.s AND b.y > (SELECT avg(y) FROM ojq_b) GROUP BY a.s ORDER BY a.s;
SELECT a.x, b.* FROM ojq_a a LEFT JOIN (SELECT x, sum(y) AS t FROM ojq_b) b ON a.x = b.x AND b.t IN (SELECT y FROM ojq_b) ORDER BY a.x;
SELECT a.x, ojq_b.y FROM ojq_a a LEFT JOIN ojq_b ON a.x = ojq_b.x AND a.x IN (SELECT 2) ORDER BY 1, 2;
SELECT a.x FROM ojq_a a RIGHT JOIN ojq_b b ON a.x = b.x AND b.x IN (SELECT 2);
DROP TABLE ojq_a;
DROP TABLE ojq_b;
