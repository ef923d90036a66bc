-- Listings of the server: their columns, and what they say of tables, views and indexes. Reviewed by hand.
drop view if exists omv;
drop materialized view if exists omm;
drop table if exists omt;
drop table if exists omp;
create table omt (y symbol index, d double, de decimal(10,2), a double[], ts timestamp) timestamp(ts) partition by day wal dedup upsert keys(ts, y);
create table omp (x int);
insert into omt values ('a', 1.5, 1.25m, array[1.0, 2.0], '2030-01-01T00:00:00.000000Z'), ('b', 2.5, 2.5m, null, '2030-01-02T00:00:00.000000Z');
create view omv as (select y, d from omt);
create materialized view omm refresh manual deferred as (select ts, sum(d) d from omt sample by 1d) partition by month;
-- @columns-only
select * from tables();
select table_name, table_type, "matView", "walEnabled", table_row_count, table_min_timestamp, table_max_timestamp, wal_pending_row_count, wal_max_timestamp, replica_more_pending from tables() where table_name in ('omt', 'omp', 'omv') order by table_name;
select count() n from tables() where table_name = 'omt' and table_txn = wal_txn and table_txn > 0;
-- the number of its newest change is the table's own
select w."sequencerTxn" = t.table_txn same, w."writerTxn" = t.table_txn applied from wal_tables() w join tables() t on w.name = t.table_name where w.name = 'omt';
select count() n, first("sequencerTxn") > 0 numbered from wal_transactions('omt');
select * from wal_transactions('omp');
select * from wal_transactions('nosuch');
-- @columns-only
select * from wal_transactions('omt');
-- @columns-only
select * from checkpoint_status();
select in_progress from checkpoint_status();
-- @columns-only
select * from writer_pool();
-- @columns-only
select * from reader_pool();
-- @columns-only
select * from export_activity();
-- @columns-only
select * from export_files();
-- @columns-only
select * from import_files();
-- @columns-only
select * from files('nosuch');
select count() n from files('nosuch');
select * from files('../conf');
select * from files('/etc');
select * from files();
select * from files(1);
-- @columns-only
select * from memory_metrics();
-- @columns-only
select * from pg_catalog.pg_shdescription();
-- @columns-only
select * from pg_get_keywords();
select word, catcode from pg_catalog.pg_get_keywords() where word = 'select';
-- @columns-only
select * from pg_catalog.pg_class();
-- @columns-only
select * from pg_catalog.pg_namespace();
select relname, relkind, reltuples from pg_class where relname like 'om%' order by relname;
select schemaname, viewname, viewowner, definition from pg_views where viewname = 'omv';
select schemaname, matviewname, ispopulated, definition from pg_matviews where matviewname = 'omm';
drop view omv;
drop materialized view omm;
drop table omt;
drop table omp;
