-- A value of a column that does not convert: the comparison is false in its row (!= is true), a function of it is null.
-- Only constants are refused.
drop table if exists orv;
create table orv (n int, i int, l long, d double, f float, s string, v varchar, m symbol, c char, u uuid, ip ipv4, w long256, g geohash(1c), e decimal(10,2), ts timestamp, tn timestamp_ns, da date);
insert into orv values (0, 1, 1, 1, 1, '1', '1', '1', '1', '11111111-2222-3333-4444-555555555555', '10.0.0.1', 0x01, #1, 1.00m, 1, 1, 1);
insert into orv values (1, 1, 1, 1.5, 1.5, '1.5', '1.5', '1.5', 'd', null, null, null, null, 1.25m, null, null, null);
insert into orv values (2, -1, -1, -1, -1, 'abc', 'abc', 'abc', 'x', null, null, null, null, -1.25m, null, null, null);
insert into orv (n) values (3);
insert into orv (n, s, v, m, c) values (4, 'zz', 'zz', 'zz', 'z');
-- numbers and texts: the numbers are compared; null equals null alone, not what is no number
select n, i = s eq, i != s ne, i < s lt, i <= s le, i > s gt, i >= s ge from orv;
select n, s = i eq, s != i ne, s < i lt, s <= i le, s > i gt, s >= i ge from orv;
select n, i = m eq, i != m ne, i < m lt, i <= m le, i > m gt, i >= m ge from orv;
select n, l = m a, l != m b, d = m c, d != v e, f = m g, f < s h from orv;
select n, m = 1 a, m != 1 b, m < 10 c, 1.5 = m e, m in (1, 2) g, m not in (1, 2) h from orv;
select n from orv where m = 1;
select n from orv where v < 10;
select n from orv where s < 3000000000;
select first(m) < 10 a, last(m) < 10 b, max(v) = 1 c from orv;
select m, count() from orv group by m having first(m) < 2 order by m;
-- NOT turns the comparison around, as it does for a null
select n from orv where not (i < s);
select n from orv where not (i >= s);
select n from orv where not (i = s);
select n from orv where not (i != s);
select n from orv where not (u = v or i = m);
-- the other types
select n, i = c a, i != c b, c <= i e, d = c f, ts = c g from orv;
select n, u = v a, u != m b, u < s e, ip = v f, ip != s g, ip <= m h from orv;
select n, w = i a, w != i b, w < l e from orv;
select n, w = v a, w != m b from orv where n > 1;
select n, g = s a, g != v b, g = m e, e = v f, e != s h, e < m j from orv;
-- digits count as a time in a row, too, as they do in a constant: ts = '1'
select n, ts = v a, ts != m b, ts <= s e, tn = v f, da != s h from orv;
-- IN, BETWEEN, CASE, NULLIF, rows, subqueries
select n, d in (m, '1') a, d in (m, v) b, i in (s, v) e, i not in (s, v) f, u in (s, v) g, u not in (s, v) h from orv;
select n, i between s and v a, i not between s and v b, m between 1 and 3 e, i between m and 3 f, w between i and l g from orv;
select n, case i when s then 'same' when v then 'never' else 'other' end a, nullif(i, s) b from orv;
select n from orv where (i, l) = (s, v);
select n from orv where (i, l) < (m, v);
select n from orv where d = (select min(v) from orv);
select a.n, b.n m from orv a join orv b on a.i <= b.v order by a.n, b.n;
select a.n, b.n m from orv a left join orv b on a.i < b.m and b.n > 0 order by a.n, b.n;
select count() from orv a cross join orv b where a.i = b.v;
-- functions
select n, i + s a, v * 2 b, d - s e, abs(v) f, e + v h from orv;
select n, array[s, v] a, round(s, 1) b from orv;
-- an aggregate leaves out no row in silence
select sum(v) from orv;
select avg(s) from orv where n < 2;
select sum(v::double) a, max(v::double) b from orv;
select n, s::decimal(10,2) a, s::geohash(1c) b, v::uuid e, m::ipv4 f from orv;
select n, to_timezone(ts, v) a, to_utc(ts, m) b, dateadd('d', 1, ts, v) e, timestamp_floor('1d', ts, null, '00:00', s) f, timestamp_floor('1d', ts, null, s, 'UTC') h from orv;
select n, interval(ts, dateadd('d', 1 - n * 2, ts)) a, substring(v, 1, i) b, split_part(v, '.', n) e from orv;
select n, lpad(v, i * 2000000, 'x') a, length(repeat(v, 2000000 * n)) b from orv where n in (1, 2);
select n, within_radius(0, 0, 0, 0, i) a, geo_distance_meters(i * 91, 0, 0, 0) b, bar(1, 0, 2, i) e from orv where n < 3;
select n, array[1.0, 2.0][n] a, array[1.0, 2.0] + array_build(1, n, 1) b, array_build(1, i, 0) e, dim_length(array[1.0], n) f from orv;
select n, v::text[] a, v::regclass b, current_setting(v) e, format(v || '%', n) f, parse_ident(v) h from orv where n > 0;
-- constants are refused where they stand
select n from orv where i = 'abc';
select n from orv where u != 'abc';
select n from orv where c < 1 and i in (1, 'x');
select n from orv where w = -1;
select n from orv where g = 'ail';
select e < 'x' from orv;
select to_timezone(ts, 'nowhere') from orv;
select dateadd('d', 1, ts, 'nowhere') from orv;
select substring(v, 1, -1) from orv;
select split_part(v, '.', 0) from orv;
select interval('2024-01-02', '2024-01-01');
select array[1.0][0] from orv;
select 'abc'::decimal(10,2) from orv;
-- what is written must fit
insert into orv (i) select v from orv;
update orv set i = m::string;
update orv set u = v;
select n, i, u from orv;
drop table orv;
