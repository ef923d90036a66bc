-- Arrays without numbers keep their shape, written as [] whatever it is.
drop table if exists oea_t;
create table oea_t (n int, a double[][], b double[], ts timestamp) timestamp(ts) partition by day;
insert into oea_t values (1, array[[],[]], array[], 0), (2, array[[]], array[1.0], 1), (3, array[[1.0,2.0],[3.0,4.0]], null, 2), (4, '{}', '{}', 3), (5, '{{},{}}', null, 4), (6, null, null, 5);
select n, a, dim_length(a, 1) d1, dim_length(a, 2) d2, b, dim_length(b, 1) e1 from oea_t order by n;
select n, dim_length(transpose(a), 1) t1, dim_length(transpose(a), 2) t2, array_count(a) c, array_sum(a) s, flatten(a) f from oea_t order by n;
select n, matmul(a, transpose(a)) m from oea_t order by n;
select n, dim_length(a + a, 1) p, dim_length(a * 2.0, 1) q, dim_length(-a, 1) r, dim_length(shift(a, 1), 1) s, dim_length(array_sort(a), 1) t from oea_t order by n;
select n, dim_length(a[1:2], 1) x, dim_length(a[1:2, 1:1], 2) y, dim_length(a[1:2, 3:], 1) z, a[1] u from oea_t where n in (1, 3, 5) order by n;
select a.n x, b.n y from oea_t a cross join oea_t b where a.a = b.a and a.n < b.n order by x, y;
select count() c from (select distinct a from oea_t);
select dim_length(array[[],[]], 1) x, dim_length('{{},{}}'::double[][], 1) y, dim_length(array[[[]],[[]]], 2) z, array[[],[]]::varchar t;
select n from oea_t where a = array[[]] order by n;
update oea_t set a = array[[],[],[]] where n = 2;
select n, dim_length(a, 1) d from oea_t where n = 2;
drop table oea_t;
