-- || of arrays: one array, as in PostgreSQL; with a text it stays a text.
select array[1.0] || array[2.0, 3.0] a, array[1.0, 2.0] || 3.0 b, 0 || array[1.0] c, array[1.0] || 2 || 3 || array[4] d;
select array[[1.0, 2.0]] || array[[3.0, 4.0], [5.0, 6.0]] a, array[[1.0, 2.0]] || array[3.0, 4.0] b, array[1.0, 2.0] || array[[3.0, 4.0]] c;
select null::double[] || array[1.0] a, array[1.0] || null b, null || array[1.0] c, null::double[] || null::double[] d, null::double[] || 1.5 e, array[1.0] || null::double f;
select array[] || array[1.0] a, array[1.0] || array[] b, array[] || array[] c, array[[],[]] || array[[1.0]] d;
select array[1.0] || ' and ' || array[2.0] a, 'x' || array[1.0] b, 1 || 2 c, 1 || 2 || array[3.0] d;
select array_cat(array[1.0], array[2.0]) a, array_append(array[1.0], 2) b, array_prepend(1, array[2.0]) c;
select (array[1.0] || array[2.0])[2] a, array_count(array[1.0] || array[2.0, null]) b, dim_length(array[[1.0, 2.0]] || array[[3.0, 4.0]], 1) c;
select array[[1.0, 2.0]] || array[[3.0]] a;
select array[[1.0]] || 1.0 a;
select 1.0 || array[[1.0]] a;
select array[[[1.0]]] || array[1.0] a;
select array[1.0] || true a;
drop table if exists oaj;
create table oaj (k int, a double[], b double[], m double[][], x double, i int);
insert into oaj values (1, array[1.0, 2.0], array[3.0], array[[1.0, 2.0], [3.0, 4.0]], 9.5, 7), (2, null, array[4.0], array[[1.0, 2.0]], null, null), (3, array[5.0], null, null, 1.5, 1), (4, null, null, null, null, null), (5, array[], array[1.0, 1.0], array[[1.0]], 2, 2);
select k, a || b c, b || a d, a || x e, i || a f from oaj;
-- shapes that do not fit are null in their rows
select k, m || b c, m || a d from oaj;
select k from oaj where (a || b)[1] = 1;
update oaj set a = a || b || x where k < 4;
select k, a from oaj;
drop table oaj;
