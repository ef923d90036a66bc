-- what an error says of words that were probably meant otherwise
drop table if exists oh_t;
create table oh_t (s symbol, sym symbol, v double, ts timestamp) timestamp(ts) partition by day;
-- a text in double quotes, also where a column is called nearly so
select v from oh_t where s = "s1";
select v from oh_t where sym = "BTC-USD";
select "vv" from oh_t;
select vv from oh_t;
-- SHOW
SHWO tables;
SHWO columns from oh_t;
SHWO;
show TABELS;
show colums from oh_t;
show timezon;
-- a keyword that is computed or compared with is a name
select v from oh_t where v = 2 and order = 1;
select v from oh_t where v = 2 or not table <> 1;
select v from oh_t where v = 2 and order by v;
-- functions have no schema of their own
select count() n from public.long_sequence(2);
select count() n from qdb.public.long_sequence(2);
select count() n from pg_catalog.generate_series(1, 3);
select count() n from other.long_sequence(2);
