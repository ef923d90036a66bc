-- HORIZON JOIN: each left row once per offset, beside the right row that prevails at its time plus the offset.
DROP TABLE IF EXISTS ohj_t;
DROP TABLE IF EXISTS ohj_q;
DROP TABLE IF EXISTS ohj_w;
create table ohj_t (ts timestamp, s symbol, p double) timestamp(ts) partition by day;
create table ohj_q (ts timestamp, s symbol, b double) timestamp(ts) partition by day;
create table ohj_w (ts timestamp_ns, s symbol, v long) timestamp(ts) partition by day;
insert into ohj_t values ('2024-01-01T00:00:10','a',1),('2024-01-01T00:00:20','b',2),('2024-01-01T00:00:30','a',3),('2024-01-01T00:00:40',null,4);
insert into ohj_q values ('2024-01-01T00:00:05','a',10),('2024-01-01T00:00:12','a',11),('2024-01-01T00:00:20','b',12),('2024-01-01T00:00:26','b',13),('2024-01-01T00:00:31','a',14),('2024-01-01T00:00:50',null,15);
insert into ohj_w values ('2024-01-01T00:00:00','a',1),('2024-01-01T00:00:29','a',2),('2024-01-01T00:00:30','b',3);
select h.offset, count() n, avg(q.b) a, sum(q.b - t.p) d from ohj_t t horizon join ohj_q q on (s) range from -10s to 10s step 5s as h order by 1;
select h.offset / 1000000 sec, t.s, avg(q.b) a from ohj_t t horizon join ohj_q q on (t.s = q.s) list (0, 1s, 20s) as h order by sec, s;
-- without keys
select h.offset, max(q.b) m, last(q.ts) l from ohj_t t horizon join ohj_q q range from 0 to 30s step 15s as h order by 1;
-- h.timestamp in an expression, and rows themselves
select t.p, h.timestamp, h.offset, q.b from ohj_t t horizon join ohj_q q on (s) list (-5s, 0s, 10s) as h order by 1, 2;
-- conditions on the left side, on offsets, on the right side
select h.offset, count() n, sum(q.b) b from ohj_t t horizon join ohj_q q on (s) range from -10s to 10s step 10s as h where t.p > 1 order by 1;
select h.offset, count() n, sum(q.b) b from ohj_t t horizon join ohj_q q on (s) range from -10s to 10s step 10s as h where h.offset >= 0 order by 1;
select h.offset, count() n, sum(q.b) b from ohj_t t horizon join ohj_q q on (s) range from -10s to 10s step 10s as h where q.b > 11 order by 1;
-- several right sides, of different resolution; only the last one has the offsets
select h.offset, sum(q.b) b, sum(w.v) v from ohj_t t horizon join ohj_q q on (s) horizon join ohj_w w on (s) range from -10s to 10s step 10s as h order by 1;
select h.offset, sum(q.b) b, sum(w.v) v from ohj_t t horizon join ohj_q q on (s) horizon join ohj_w w list (0, 1s) as h order by 1;
-- nanoseconds on the left: offsets are nanoseconds
select h.offset, sum(q.b) b from ohj_w w horizon join ohj_q q on (s) list (0, 5s) as h order by 1;
-- after another join, from a subquery, with SAMPLE BY over the moved time
select h.offset, n.name, sum(q.b) b from ohj_t t join (select 'a'::symbol s, 'first' name union all select 'b'::symbol, 'second') n on t.s = n.s horizon join ohj_q q on t.s = q.s list (0, 10s) as h order by 1, 2;
select h.offset, sum(q.b) b from (select * from ohj_t where s = 'a') t horizon join (select * from ohj_q where b > 10) q on (s) list (0, 20s) as h order by 1;
select timestamp, sum(b) b, count() n from (select h.timestamp, q.b from ohj_t t horizon join ohj_q q on (s) list (0, 20s) as h order by timestamp) timestamp(timestamp) sample by 20s;
-- offsets without aggregates in a subquery, a variable as an offset
select count(), sum(o) from (select h.offset o, q.b from ohj_t t horizon join ohj_q q range from 1s to 5s step 1s as h);
declare @step := 5s select h.offset, count() n from ohj_t t horizon join ohj_q q on (s) range from 0 to 10s step @step as h order by 1;
-- the same as ASOF JOIN by moved times, over more rows than a batch has
DROP TABLE IF EXISTS ohj_big;
DROP TABLE IF EXISTS ohj_ref;
create table ohj_big (ts timestamp, s symbol, a long) timestamp(ts) partition by day;
create table ohj_ref (ts timestamp, s symbol, b long) timestamp(ts) partition by day;
insert into ohj_big select timestamp_sequence('2024-01-01', 700000L), 's' || (x * 7 % 13), x from long_sequence(30000);
insert into ohj_ref select timestamp_sequence('2024-01-01', 400000L), 's' || (x * 5 % 17), x from long_sequence(50000);
select h.offset o, count(b) n, sum(b) sb, sum(a * b) sab from ohj_big t horizon join ohj_ref q on (s) list (-1h, -2s, 0, 3s, 1m) as h order by o;
with m as (select -3600 o union all select -2 union all select 0 union all select 3 union all select 60) select o, count(b) n, sum(b) sb, sum(a * b) sab from (select o, a, s, dateadd('s', o::int, ts) mt from ohj_big cross join m order by mt) timestamp(mt) t asof join ohj_ref q on (s) order by o;
-- errors
select h.offset, sum(q.b) from ohj_t t horizon join ohj_q q on (s) order by 1;
select h.offset, sum(q.b) from ohj_t t horizon join ohj_q q on (s) list (0, 5s, 5s) as h;
select h.offset, sum(q.b) from ohj_t t horizon join ohj_q q on (s) range from 0 to 10s step 0s as h;
select h.offset, sum(q.b) from ohj_t t horizon join ohj_q q on (s) range from 10s to 0s step 1s as h;
select h.offset, sum(q.b) from ohj_t t horizon join ohj_q q on (s) range from 0 to 10d step 1T as h;
select h.offset, sum(q.b) from ohj_t t horizon join ohj_q q on (s) range from 0 to 10y step 1s as h;
select h.offset, sum(q.b) from ohj_t t horizon join ohj_q q on t.p > q.b list (0) as h;
select h.offset, sum(q.x) from ohj_t t horizon join (select 1 x) q list (0) as h;
select h.nothing, sum(q.b) from ohj_t t horizon join ohj_q q on (s) list (0) as h;
