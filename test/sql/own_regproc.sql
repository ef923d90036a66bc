-- Functions by name and number: regproc, regprocedure, and columns of pg_type that name functions.
select 'version'::regproc::oid = (select oid from pg_proc where proname = 'version') a, 'version'::regproc::text b, 'pg_catalog.VERSION'::regproc::text c;
select 'version()'::regprocedure::text a, 'round(numeric, integer)'::regprocedure::text b, 'round(float8,int)'::regprocedure::text c;
select 'round'::regproc;
select 'nosuch'::regproc;
select 'nosuch()'::regprocedure;
select 'version(integer)'::regprocedure;
select to_regproc('version') is not null a, to_regproc('round') is null b, to_regproc('nosuch') is null c, to_regprocedure('version()') is not null d, to_regprocedure('round(text)') is null e;
select typname, typinput, typinput::oid o, typinput::int i, typinput::text t, typinput::regprocedure p, typoutput::regprocedure q from pg_type where typname in ('int4', 'timestamp') order by 1;
select t.typname, p.proname from pg_type t join pg_proc p on p.oid = t.typinput where t.typname = 'int4';
select 44::regproc a, 0::regproc b, 99999999::regproc c;
select array_length(array_agg(oid::regprocedure::text), 1) > 3 from pg_proc where proname = 'round';
