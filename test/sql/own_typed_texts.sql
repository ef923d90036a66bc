-- Types in the words of PostgreSQL before a text, and functions of arrays that its clients ask with.
select int8 '7' a, int4 '-3' b, bool 't' c, double precision '1.5' d, pg_catalog.int8 '9' e, pg_catalog.bool 'f' f, float8 '2.5' + 1 g, numeric '1.5' h;
select timestamptz '2026-01-01 02:00:00+02' a, timestamp with time zone '2026-01-01' b, timestamp without time zone '2026-01-01' c, character varying 'x' d;
select - int8 '7' + 1 a, int8 '7'::int b, regclass 'pg_class'::int c;
select x 'alias' from long_sequence(1);
select x double from long_sequence(1);
select double precision from (select 1 double);
select pg_catalog. '1';
select nosuch '1';
select array_lower(array[1.0,2.0],1) a, array_upper(array[1.0,2.0],1) b, array_upper(array[[1.0,2.0,3.0]],2) c, array_lower(array[1.0],2) d, array_upper(null::double[],1) e;
select array_to_string(array[1.0,null,2.5],',','*') a, array_to_string('{a,NULL,b}',', ','none') b, array_to_string('{NULL}','-','') c, array_to_string('{a,NULL}','-',null) d, array_to_string(string_to_array('a,b',','),'|','*') e;
