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
-- several WINDOW JOINs share the left side
select l.a, sum(r.b) s, min(q.a) m from owj_l l window join owj_r r on (k) range between 10 seconds preceding and 3 seconds following exclude prevailing window join owj_l q range between 20 seconds preceding and 1 seconds preceding exclude prevailing where l.a < 6;
select count(), sum(s), sum(m) from (select l.a, sum(r.b) s, sum(q.a) m from owj_l l window join owj_r r on (k) range between 10 seconds preceding and 3 seconds following exclude prevailing window join owj_l q on (k) range between 20 minutes preceding and 1 seconds preceding exclude prevailing);
select (select sum(r.b) from owj_l l join owj_r r on l.k = r.k and r.ts >= dateadd('s', -10, l.ts) and r.ts <= dateadd('s', 3, l.ts)) s, (select sum(q.a) from owj_l l join owj_l q on l.k = q.k and q.ts >= dateadd('m', -20, l.ts) and q.ts <= dateadd('s', -1, l.ts)) m;
-- window functions see the rows of the join
select a, s, sum(s) over (order by ts rows unbounded preceding) cum, rank() over (order by s) rk from (select l.ts, l.a, sum(r.b) s from owj_l l window join owj_r r on (k) range between 10 seconds preceding and 3 seconds following exclude prevailing where l.a < 6);
select l.a, sum(r.b) s, sum(sum(r.b)) over (order by l.ts rows unbounded preceding) cum, row_number() over (order by l.a desc) rn from owj_l l window join owj_r r on (k) range between 10 seconds preceding and 3 seconds following exclude prevailing where l.a < 6 order by l.a;
-- bounds by row, with and without a unit
select l.a, count(r.b) c, sum(r.b) s from owj_l l window join owj_r r range between l.a seconds preceding and l.a * 2 seconds following exclude prevailing where l.a < 6;
select count(), sum(c), sum(s) from (select l.a, count(r.b) c, sum(r.b) s from owj_l l window join owj_r r on (k) range between l.a seconds preceding and 5 seconds following exclude prevailing);
select count(r.b), sum(r.b) from owj_l l join owj_r r on l.k = r.k and r.ts >= dateadd('s', -l.a::int, l.ts) and r.ts <= dateadd('s', 5, l.ts);
select l.a, count(r.b) c from owj_l l window join owj_r r range between l.a * 1000000 preceding and current row exclude prevailing where l.a < 4;
select l.a, count(r.b) c, last(r.b) p from owj_l l window join owj_r r on (k) range between l.a seconds preceding and l.a seconds preceding include prevailing where l.a < 6;
-- errors
select l.a, count() c from owj_l l window join owj_r r range between r.b seconds preceding and current row;
select l.a, count() c from owj_l l window join owj_r r range between 1 seconds preceding and current row window join owj_r q range between 1 seconds preceding and current row;
select l.a, sum(r.b + q.b) c from owj_l l window join owj_r r range between 1 seconds preceding and current row window join owj_r q range between 1 seconds preceding and current row;
select l.a, r.b from owj_l l window join owj_r r range between 1 seconds preceding and current row;
