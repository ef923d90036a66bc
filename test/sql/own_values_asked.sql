-- A value has to fit where somebody asks for it, and nowhere else.
drop table if exists ova;
create table ova (id int, i int, n timestamp_ns, u timestamp, d date);
insert into ova values (1, 2147483647, '2024-01-01', '9999-01-01', '9999-01-01'), (2, null, null, '2024-01-02', '2024-01-02'), (3, 50000, '2024-01-03', '1500-01-01', '1500-01-01');

-- The result of a CASE that is not taken becomes no TIMESTAMP_NS.
select id, case when id = 2 then u else n end c from ova;
select id, case when id = 1 then n when id = 3 then n else d end c from ova;
select id, case id when 2 then u when 3 then n end c from ova;
select id, coalesce(n, u) c from ova;
select id, coalesce(n, d, u) c from ova;
select case when id = 1 then u else n end c from ova;
select coalesce(u, n) c from ova;
select case when id = 2 then n else d end c from ova;

-- Keys of a join are compared as other integers are: 50000 * 50000 is beyond INT, and no null.
select a.id a, b.id b from ova a join ova b on a.i = b.i * b.i;
select a.id a, b.id b from ova a left join ova b on a.i = b.i * b.i;
select a.id a, b.id b from ova a join ova b on a.i * 2 = b.i * 2;
select a.id a, b.id b from ova a join (select 2500000000L l from long_sequence(1)) c on a.i * a.i = c.l join ova b on b.id = a.id;
select id from ova where i * i in (select i from ova);
select id from ova a where exists (select 1 from ova b where b.i * b.i = a.i);

drop table ova;

-- Of values that are equally frequent, the first: also by key, and where the rows lie in several partitions.
create table ova (ts timestamp, k symbol, v long) timestamp(ts) partition by hour;
insert into ova select timestamp_sequence('2024-01-01', 60000000L), case when x % 3 = 0 then null else 'a' end, x * 7919 % 100003 from long_sequence(3000);
select k, mode(v) m from ova order by k;
select mode(v) m from ova;
drop table ova;
