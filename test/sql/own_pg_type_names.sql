-- PostgreSQL's names of types with lengths and digits, in casts and columns. PostgreSQL 15 was asked for every value.

-- Casts of texts are cut: by characters, not bytes.
select 'abcdef'::varchar(3) a, cast('abcdef' as varchar(3)) b, 'abcdef'::character varying(3) c, 'abcdef'::char varying(2) d;
select 'abcdef'::char(3) a, 'abcdef'::character(4) b, 'abcdef'::bpchar(2) c, 'ab'::char(5) d, 'abc'::char(1) e, 'abc'::character(1) f;
select 'abcdef'::national character varying(3) a, 'abcdef'::national char(2) b, 'abcdef'::nchar(3) c, 'abcdef'::nchar varying(4) d;
select 'äöüß€😀x'::varchar(6) a, '日本語'::varchar(2) b, length('日本語'::varchar(2)) n;
select 12345::varchar(3) a, 1.5::varchar(2) b, true::varchar(2) c, '2024-01-02'::timestamp::varchar(10) d, null::varchar(3) e, ''::varchar(3) f;
select 'abc'::varchar(10485760) a, 'abc'::pg_catalog.varchar(2) b, 'abc'::VARCHAR( 2 ) c;
select x::varchar(1) v, count() n from long_sequence(20) order by v;
select 'x' = 'xyz'::varchar(1) a, 'abc'::varchar(2)::varchar(9) b;
select s::varchar(2) v from (select 'abc'::symbol s) union all select 'defg'::varchar(3);
select 'abc'::varchar(0);
select 'abc'::char(0);
select 'abc'::varchar(-1);
select 'abc'::varchar(10485761);
select 'abc'::varchar(99999999999);
select 'abc'::varchar(x);
select 'abc'::varchar();
select 'abc'::varchar(1, 2);
select 'abc'::string(3);
select 1::int(3);

-- Times are rounded to so many digits.
select '2024-01-02T03:04:05.123456Z'::timestamp(3) a, '2024-01-02T03:04:05.123456'::timestamp(0) b, '2024-01-02T03:04:05.987654'::timestamp(1) c;
select '2024-01-02T03:04:05.999999'::timestamp(3) a, cast('2024-01-02T03:04:05.123456' as timestamp(2)) b, '2024-01-02T03:04:05.123456'::timestamp(6) c;
select '2024-01-02T03:04:05.123456'::timestamp(4) without time zone a, '2024-01-02T03:04:05.123456'::timestamp(5) with time zone b;
select '2024-01-02T03:04:05.1234'::timestamptz(2) a, '2024-01-02T03:04:05.5'::timestamp ( 0 ) with time zone b, null::timestamp(3) c;
select '2024-01-02T03:04:05.123456789'::timestamp(9) a, '2024-01-02T03:04:05.123456789'::timestamp(7) b, '2024-01-02T03:04:05.123456789'::timestamp(8) c;
select cast('2024-01-02T03:04:05.9' as timestamp(0)) + 1 a, '1969-12-31T23:59:59.9994'::timestamp(3) b;
select ts::timestamp(3) t, count() n from (select timestamp_sequence('2024-01-01', 400) ts from long_sequence(5)) order by t;
select '2024-01-02'::timestamp(10);
select '2024-01-02'::timestamp(-1);
select '2024-01-02'::timestamp(x);

-- The other names of PostgreSQL.
select 1.255::numeric(5, 2) a, 1.25::dec(5, 1) b, 1.25::decimal(5) c, 1.5::float(24) d, 1.5::float(53) e, 1.5::double precision f, 1.5::real g;

-- Columns keep their length; whatever is longer is refused on each way in.
drop table if exists opt_t, opt_u, opt_v, opt_w;
create table opt_t (ts timestamp(6) without time zone, v varchar(3), c char(5), one char(1), cv character varying(4), t timestamp(3), z timestamp with time zone, n numeric(6, 2))
  timestamp(ts) partition by day;
show columns from opt_t;
show create table opt_t;
select column_name, data_type, character_maximum_length from information_schema.columns where table_name = 'opt_t' order by ordinal_position;
select attname, atttypid, atttypmod, format_type(atttypid, atttypmod) f from pg_attribute
  where attrelid = 'opt_t'::regclass and attnum > 0 order by attnum;
insert into opt_t values ('2024-01-01', 'abc', 'abcde', 'x', 'äöüß', '2024-01-01T00:00:00.123456', '2024-01-02', 1.25);
insert into opt_t (ts, v) values ('2024-01-02', ''), ('2024-01-03', null), ('2024-01-04', '日本語');
insert into opt_t (ts, v) values ('2024-01-05', 'abcd');
insert into opt_t (ts, v) values ('2024-01-05', 'ok'), ('2024-01-05', 'too long');
insert into opt_t (ts, v) values ('2024-01-05', 'abc ');
insert into opt_t (ts, v) values ('2024-01-05', 12345);
insert into opt_t (ts, cv) values ('2024-01-05', '日本語日本');
insert into opt_t (ts, c) values ('2024-01-05', 'abcdef');
insert into opt_t (ts, v) select timestamp_sequence('2024-02-01', 1000000), 'abcd' from long_sequence(10);
insert into opt_t (ts, v) select timestamp_sequence('2024-02-01', 1000000), x::varchar from long_sequence(1500);
insert into opt_t (ts, v) select timestamp_sequence('2024-02-01', 1000000), x::varchar(3) from long_sequence(2);
update opt_t set v = 'abcd' where ts = '2024-01-02';
update opt_t set v = v || 'x';
update opt_t set v = 'xyz' where ts = '2024-01-02';
select ts, v, c, one, cv, t, z, n from opt_t order by ts;

-- The length goes with LIKE and ADD COLUMN, changes with ALTER COLUMN, and lives through RENAME.
create table opt_u (like opt_t);
insert into opt_u (ts, v) values ('2024-01-05', 'abcd');
alter table opt_u add column w varchar(2);
insert into opt_u (ts, w) values ('2024-01-05', 'abc');
insert into opt_u (ts, w) values ('2024-01-05', 'ab');
alter table opt_u rename column w to w2;
insert into opt_u (ts, w2) values ('2024-01-06', 'abc');
alter table opt_u alter column w2 type varchar(2);
alter table opt_u alter column w2 type varchar(4);
insert into opt_u (ts, w2) values ('2024-01-06', 'abcd');
insert into opt_u (ts, w2) values ('2024-01-07', 'abcde');
alter table opt_u alter column w2 type varchar(3);
alter table opt_u alter column w2 type varchar;
insert into opt_u (ts, w2) values ('2024-01-07', 'abcde');
alter table opt_u alter column w2 type varchar(5);
insert into opt_u (ts, w2) values ('2024-01-08', 'abcdef');
alter table opt_u alter column w2 type symbol;
insert into opt_u (ts, w2) values ('2024-01-08', 'abcdef');
alter table opt_u alter column w2 type varchar(5);
alter table opt_u alter column w2 type varchar(6);
select ts, w2 from opt_u order by ts;
show create table opt_u;

-- CREATE TABLE AS has the lengths that its list of casts says; those of the query's own casts are of its values.
create table opt_v as (select 'abcdef' a, 'abcdef'::varchar(4) b), cast(a as varchar(6));
show create table opt_v;
insert into opt_v values ('abcdefg', 'x');
insert into opt_v values ('x', 'abcdefgh');
create table opt_w as (select 'abcdef' a), cast(a as varchar(5));
select * from opt_v;
create table opt_w (a varchar(0));
create table opt_w (a varchar(10485761));
create table opt_w (a string(5));
create table opt_w (a timestamp(7), b timestamp(9) with time zone);
show create table opt_w;
drop table opt_t, opt_u, opt_v, opt_w;
