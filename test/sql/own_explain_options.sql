-- EXPLAIN with the options of PostgreSQL; what FORMAT JSON gives is in test/wire/explain_json_test.py.
drop table if exists oeo_t;
create table oeo_t (ts timestamp, v int) timestamp(ts) partition by day;
explain select v from oeo_t;
explain verbose select v from oeo_t;
explain (verbose) select v from oeo_t;
explain (format text) select v from oeo_t;
explain (format 'text', verbose on, costs off, analyze false) select v from oeo_t;
explain (settings, generic_plan off, buffers, wal, timing, summary, memory, serialize none, costs true, analyze off) select v from oeo_t;
explain (select v from oeo_t);
explain (format xml) select v from oeo_t;
explain (format yaml) select v from oeo_t;
explain (format csv) select v from oeo_t;
explain (format) select v from oeo_t;
explain (format json, nope) select v from oeo_t;
explain (verbose, format html) select v from oeo_t;
explain (format json;
explain (format json) select nope from oeo_t;
explain (format json) select;

-- System columns.
select tableoid = 'oeo_t'::regclass a, tableoid::regclass::text b from oeo_t;
insert into oeo_t values ('2024-01-01', 1), ('2024-01-02', 2);
select v, tableoid = 'oeo_t'::regclass a, t.tableoid::regclass::text b from oeo_t t order by v;
select * from oeo_t where tableoid = 'oeo_t'::regclass order by v;
select c.relname, c.tableoid, c.tableoid::regclass::text r, c.xmin from pg_catalog.pg_class c where c.relname = 'oeo_t';
select n.tableoid, n.nspname from pg_namespace n where n.nspname = 'public';
select tableoid t, xmin x, count() n from pg_type where typname = 'int4';
select a.tableoid, a.xmin, c.tableoid t from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relname = 'oeo_t' and a.attname = 'v';
select c.tableoid, c.oid = 'oeo_t'::regclass o from pg_class c left join pg_description d on d.objoid = c.oid and d.classoid = c.tableoid where c.relname = 'oeo_t';
select ctid from oeo_t;
select t.xmin from oeo_t t;
select xmax, cmin, cmax from oeo_t;
select tableoid from (select v from oeo_t);
select tableoid from long_sequence(1);
select 5 tableoid;
drop table oeo_t;
