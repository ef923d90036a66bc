-- A column of texts with digits where a time is expected: each row is read as a constant is, and what does not convert is no match.
drop table if exists otc_t;
create table otc_t (k int, ts timestamp, n timestamp_ns, d date, s string, v varchar, y symbol) timestamp(ts) partition by day;
insert into otc_t values (1, '2023-11-14T22:13:20', '2023-11-14T22:13:20', '2023-11-14T22:13:20', '1700000000000000', '1700000000000000000', '1700000000000'), (2, '2023-11-15', '2023-11-15', '2023-11-15', '20231115', '20231115', '20231115'), (3, '2023-11-16', '2023-11-16', '2023-11-16', 'none', 'none', 'none'), (4, '2023-11-17', null, null, null, null, null);
select k from otc_t where ts = s;
select k from otc_t where s = ts;
select k from otc_t where n = v;
select k from otc_t where d = y;
select k from otc_t where ts != s;
select k from otc_t where ts >= s order by k;
select k from otc_t where n <= v order by k;
select k from otc_t where y >= d order by k;
select k, ts = s e, n = v en, d = y ed from otc_t;
select k, n between v and v b, n in (v, s) i, n in (v) j from otc_t;
-- arguments
select k, day(s) dy, year(v) yr from otc_t where k < 3;
select k, datediff('d', s, ts) x from otc_t;
select k, dateadd('d', 1, s) x, date_trunc('month', s) m from otc_t;
select k, greatest(ts, s) g, least(d, y) l from otc_t;
-- a written cast reads times only
select k, s::timestamp t, v::timestamp_ns n, y::date d from otc_t;
-- subqueries
select k from otc_t where ts = (select '1700000000000000');
select k from otc_t where ts = (select s from otc_t where k = 1);
explain select k from otc_t where ts = s;
drop table otc_t;
