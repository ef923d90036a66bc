-- x op ALL (list): a null x is neither below, above nor other than a value, and leaves the row out, as in PostgreSQL (and in the
-- reference, which knows <> ALL of texts); NOT IN and <> keep it.
drop table if exists oal_t;
create table oal_t (ts timestamp, s symbol, v varchar, t string, n long, i int, d double, u uuid, c varchar, a double[]) timestamp(ts) partition by day;
insert into oal_t values ('2024-01-01', 'a', 'a', 'a', 1, 1, 1.5, '11111111-2222-3333-4444-555555555555', '{a,x}', array[1.5, 7]),
    ('2024-01-02', 'b', 'b', 'b', 2, 2, 2.5, null, '{}', array[]);
insert into oal_t values ('2024-01-03', null, null, null, null, null, null, null, '{a,NULL}', array[1.5]), ('2024-01-04', null, null, null, null, null, null, null, '{}', null);
select ts, s from oal_t where s <> all('{a}'::text[]);
select ts, v from oal_t where v != all('{a,c}'::text[]);
select ts, t from oal_t where t <> all('{a,NULL}'::text[]);
select ts, s from oal_t where s <> all(array['a', 'c']);
select ts, s from oal_t where s <> all('{}'::text[]);
select ts, s from oal_t where s <> all(null::text[]);
select ts, s from oal_t where not (s <> all('{a}'::text[]));
select ts, s from oal_t where not (s = any('{a}'::text[]));
select ts, s from oal_t where s <> 'a';
select ts, s from oal_t where s not in ('a', 'c');
-- numbers and other types
select ts, n from oal_t where n <> all('{1,7}');
select ts, n from oal_t where n <> all('{1}'::long[]);
select ts, i from oal_t where i <> all(array[1, 7]);
select ts, d from oal_t where d <> all('{1.5}');
select ts, d from oal_t where d <> all(array[1.5]);
select ts, d from oal_t where d <> all(array[]::double[]);
select ts, u from oal_t where u <> all('{22222222-2222-3333-4444-555555555555}');
select ts from oal_t where ts <> all('{2024-01-01,2024-01-03}');
-- lists and arrays of a column
select ts, v from oal_t where v <> all(c);
select ts, d from oal_t where d <> all(a);
-- the other operators
select ts, n from oal_t where n < all('{2,9}');
select ts, n from oal_t where n >= all('{1}');
select ts, n from oal_t where n = all('{1}');
select ts, n from oal_t where n > all('{}');
select ts, v from oal_t where v < all('{b}');
select ts, v from oal_t where v > all(array['a']);
select ts, n from oal_t where n <> any('{1}');
select ts, n from oal_t where n < any('{2}');
-- over a query < > <= >= ALL leave nulls out; <> ALL is NOT IN, where a null differs from what is not null, = ALL says null equals null
select ts, n from oal_t where n < all(select n + 1 from oal_t where n = 1);
select ts, n from oal_t where n >= all(select n from oal_t where n = 2);
select ts, n from oal_t where n > all(select n from oal_t where n = 77);
select ts, n from oal_t where n <> all(select 1L);
select ts, n from oal_t where n not in (select 1L);
select ts, s from oal_t where s <> all(select 'a');
-- in the select list, in CASE
select n, n <> all('{1}') x, v <> all('{a}') y, d > all(array[1.5]) z, case when s <> all('{a}') then 1 else 0 end c from oal_t;
select count() from oal_t where s <> all('{a}') or s is null;
drop table oal_t;
