-- Where there is no value: types that have no null.
drop table if exists onv_t;
create table onv_t (ts timestamp, b byte, s short, o boolean, c char, i int) timestamp(ts) partition by day;
insert into onv_t values ('2024-01-01T00:00', 5, 300, true, 'x', 3), ('2024-01-01T00:01', 7, -6, false, 'y', 4), ('2024-01-01T00:03', 0, 0, true, null, null);
select nullif(b, b) a, nullif(s, s) b, nullif(b, 5) c, nullif(s, -6) d, nullif(b, i) e, nullif(s, 300L) f, nullif(5::byte, 5) g, nullif(b, 7.0) h from onv_t;
select nullif(b, null) a, nullif(null, s) b, nullif(null, b) c, nullif(s, 0) d, typeof(nullif(b, s)) e from onv_t;
select sum(nullif(b, 0)) a, count(nullif(s, 0)) b, avg(nullif(b, 5)) c, min(nullif(s, -6)) d, max(nullif(b, 7)) e from onv_t;
select nullif(b, 5) is null a, coalesce(nullif(s, 300), -1) b, nullif(b, 5) + 1 c, 10 / nullif(b, 0) d from onv_t;
select ts from onv_t where nullif(b, 0) is null;
select first_not_null(b) a, last_not_null(b) b, first_not_null(s) c, last_not_null(s) d, typeof(first_not_null(b)) e from onv_t;
select first_not_null(b) a, last_not_null(b) b, first_not_null(s) c, last_not_null(s) d from onv_t where ts > '2025';
select first_not_null(b) filter (where i = 9) a, last_not_null(s) filter (where i = 4) b from onv_t;
select i, first_not_null(b) a, last_not_null(s) b from onv_t order by i;
select ts, first_not_null(b) a, last_not_null(s) b from onv_t sample by 1m fill(null);
select ts, first_not_null(b) a, last_not_null(s) b from onv_t sample by 1m fill(prev);
select ts, first(b) a, last(s) b, min(b) c, max(s) d, sum(b) e, avg(s) f, count(b) g from onv_t sample by 1m fill(null);
select min(b) a, max(s) b, sum(b) c, avg(b) d, count(s) e from onv_t where ts > '2025';
select lag(b) over (order by ts) a, lead(s) over (order by ts) b, first_value(b) over (order by ts rows between 2 preceding and 1 preceding) c, max(s) over (order by ts rows between 2 preceding and 1 preceding) d, sum(b) over (order by ts rows between 2 preceding and 1 preceding) e from onv_t;
-- a BYTE, SHORT or BOOLEAN keeps its type in a CASE and in a join, where 0 and false stand for no value, as in the reference
select case when i = 3 then b end a, case when i = 3 then s else null end b, case when i = 3 then o end c, case when i = 3 then c end d from onv_t;
select x.b, y.b, y.s, y.o, y.i from onv_t x left join (select * from onv_t where i = 3) y on x.i = y.i order by x.ts;
select coalesce(null, b) a, coalesce(null, o) b, coalesce(s, 5) c from onv_t;
-- a value that is not there is 0 again in a column that has no null
create table onv_u (b byte, s short);
insert into onv_u select nullif(b, 5), nullif(s, -6) from onv_t;
select * from onv_u;
-- BOOLEAN as CHAR and back
select true::char a, false::char b, cast(o as char) c, o::char::boolean d, (b > 5)::char e, length(o::char::string) f from onv_t;
select o::char from onv_t where o::char = 'T';
create table onv_w as (select o::char c from onv_t);
select c, c::boolean b from onv_w;
-- arrays
select dot_product(0.5, null::double[]) a, dot_product(null::double[], 2) b, dot_product(array[1.0], null::double) c, dot_product(array[null, 2.0], 3) d, dot_product(array[]::double[], 2) e;
select dot_product(null::double[], array[1.0, 2.0]) a, dot_product(array[1.0], null::double[]) b;
drop table if exists onv_a;
create table onv_a (k int, a double[]);
insert into onv_a values (1, array[1.0, 2.0]), (2, null), (3, array[null]);
select k, dot_product(a, 0.5) x, dot_product(2.0, a) y, dot_product(a, a) z, array_sum(a) s, array_avg(a) m, array_count(a) n, a + 1 p, l2price(1, a, a) l from onv_a order by k;
select k, array_min(a) a, array_max(a) b, array_stddev(a) c, dim_length(a, 1) d, array_position(a, 2) e, insertion_point(a, 1.5) f, a[1] g, shift(a, 1) h, array_cum_sum(a) i from onv_a order by k;
drop table onv_t;
drop table onv_u;
drop table onv_w;
drop table onv_a;
