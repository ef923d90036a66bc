-- WINDOW JOIN over ranges short and long, beside the plain join that gives the same sums.
DROP TABLE IF EXISTS owj_l;
DROP TABLE IF EXISTS owj_r;
create table owj_l (ts timestamp, k symbol, a long) timestamp(ts) partition by day;
create table owj_r (ts timestamp, k symbol, b long) timestamp(ts) partition by day;
insert into owj_l select timestamp_sequence('2024-01-01', 7000000L), case when x % 3 = 0 then 'A' when x % 3 = 1 then 'B' else null end, x from long_sequence(3000);
insert into owj_r select timestamp_sequence('2024-01-01', 1000000L), case when x % 4 = 0 then 'A' when x % 4 = 1 then 'C' else null end, x from long_sequence(20000);
select count(), sum(s), sum(c) from (select l.a, sum(r.b) s, count() c from owj_l l window join owj_r r range between 600 seconds preceding and 300 seconds following exclude prevailing);
select count(), sum(b), count() from owj_l l join owj_r r on r.ts >= dateadd('s', -600, l.ts) and r.ts <= dateadd('s', 300, l.ts);
select count(), sum(s), sum(c) from (select l.a, sum(r.b * l.a) s, count() c from owj_l l window join owj_r r on (k) range between 600 seconds preceding and 3000 seconds following exclude prevailing);
select count(), sum(r.b * l.a) from owj_l l join owj_r r on l.k = r.k and r.ts >= dateadd('s', -600, l.ts) and r.ts <= dateadd('s', 3000, l.ts);
select count(), sum(s), sum(c) from (select l.a, sum(r.b) s, count() c from owj_l l window join owj_r r on (k) range between 10 seconds preceding and 3 seconds following exclude prevailing);
select count(), sum(r.b) from owj_l l join owj_r r on l.k = r.k and r.ts >= dateadd('s', -10, l.ts) and r.ts <= dateadd('s', 3, l.ts);
select count(), sum(s), sum(c) from (select l.a, sum(r.b) s, count() c from owj_l l window join owj_r r on (k) range between unbounded preceding and current row);
select count(), sum(r.b) from owj_l l join owj_r r on l.k = r.k and r.ts <= l.ts;
select count(), sum(len) from (select l.a, length(string_agg(r.k, ',')) len from owj_l l window join owj_r r range between 700 seconds preceding and current row exclude prevailing);
