-- A FLOAT has 24 bits: beside an integer it is computed in DOUBLE.
drop table if exists ofi_t;
create table ofi_t (ts timestamp, k symbol, f float, b byte, s short, i int, l long, d double) timestamp(ts) partition by day;
insert into ofi_t values ('2024-01-01T00:00', 'a', 1.5, 5, 300, 16777217, 5000000000, 0.5), ('2024-01-01T00:01', 'a', 0.1, -3, 7, 3, 9, 0.5),
    ('2024-01-01T00:02', 'b', null, 1, 1, 1, 1, 1), ('2024-01-01T00:03', 'b', 2.5, 1, 2, null, null, null);
select l + f a, l - f b, f - l c, l * f d, f / l e, l / f f, l % f g, f % l h from ofi_t;
select i + f a, i - f b, f - i c, i * f d, f / i e, i / f f, i % f g, f % i h from ofi_t;
select s + f a, s - f b, s * f c, s / f d, f / s e, s % f g from ofi_t;
select b + f a, b - f b, b * f c, b / f d, f / b e, b % f g from ofi_t;
select f + f a, f - f b, f * f c, f / f d, -f e, f + d f, f * d g from ofi_t;
-- a constant that a FLOAT holds leaves it one, as in the reference; but in a difference
select f * 2 a, 2 + f b, f / 2 c, f % 2 d, f - 2 e, 2 - f f, f * 2L g, f + 16777217 h, 16777216 + f i from ofi_t;
select typeof(f + i) a, typeof(l - f) b, typeof(f * s) c, typeof(b / f) d, typeof(f % l) e, typeof(f * 2) f, typeof(f + f) g, typeof(f - 1) h, typeof(1 - 1.5f) i from ofi_t limit 1;
select sum(f) / count() a, sum(f) / count(f) b, sum(f) + sum(i) c, sum(f) * 2 d, sum(f) / 2.0 e, sum(f) f from ofi_t;
select k, sum(f) / count() a, max(f) - min(i) b, avg(f * l) c from ofi_t order by k;
select abs(f) a, abs(-f) b, abs(f - i) c, sign(f) d from ofi_t;
select greatest(f, l) a, least(i, f) b, greatest(f, i) c, least(f, f) d from ofi_t;
select mod(f, i) a, mod(l, f) b, power(f, b) c from ofi_t;
-- comparisons
select l > 5e9::float a, i = 16777216f b, i > 16777216f c, i in (16777216f, 1f) d from ofi_t;
select k, f from ofi_t where i - f > 16777215 and l - f < 4999999999;
select ts, sum(i) - sum(f) a from ofi_t sample by 2m;
-- window functions
select min(f) over () a, max(f) over (partition by k) b, sum(f) over (order by ts) c, avg(f) over () d from ofi_t;
select min(f) over (order by ts rows between 1 preceding and current row) a, max(f) over (order by ts rows between 1 preceding and 1 preceding) b, typeof(min(f) over ()) c from ofi_t;
select lag(f) over (order by ts) a, lead(f) over (order by ts) b, first_value(f) over (order by ts) c, last_value(f) over (order by ts) d, nth_value(f, 2) over (order by ts) e from ofi_t;
select min(i) over () a, max(l) over () b, typeof(max(s) over ()) c, count(f) over () d from ofi_t;
-- without OVER they keep the type
select min(f) a, max(f) b, first(f) c, last(f) d, typeof(min(f)) e, typeof(sum(f)) f from ofi_t;
-- stored
create table ofi_u as (select f + i a, f * 2 b, l - f c, abs(f) d from ofi_t);
select "column", type from table_columns('ofi_u');
drop table ofi_u;
update ofi_t set f = f * i where k = 'a';
select f from ofi_t;
drop table ofi_t;
