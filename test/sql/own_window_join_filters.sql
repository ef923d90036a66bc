-- Conditions in the ON of WINDOW JOIN besides the keys: those on the right rows choose them, those on the left row say whether it has any.
drop table if exists owf_a;
drop table if exists owf_b;
create table owf_a (ts timestamp, k symbol, x int) timestamp(ts) partition by day;
create table owf_b (ts timestamp, k symbol, y int, ok boolean) timestamp(ts) partition by day;
insert into owf_a values ('2026-01-06T10:00:00', 'p', 1), ('2026-01-06T10:00:05', 'p', 2), ('2026-01-06T10:00:05', 'q', 3), ('2026-01-06T10:01:00', 'q', 4), ('2026-01-06T10:02:00', null, 5);
insert into owf_b values ('2026-01-06T09:59:50', 'p', 9, true), ('2026-01-06T09:59:58', 'p', 1, true), ('2026-01-06T09:59:59', 'p', 5, false), ('2026-01-06T10:00:01', 'p', 3, true), ('2026-01-06T10:00:04', 'q', 2, true), ('2026-01-06T10:00:06', 'q', 7, false), ('2026-01-06T10:00:06', 'p', 4, false), ('2026-01-06T10:01:59', null, 8, true);
-- of the right side, beside a key
select a.ts, a.k, x, sum(y) s, count(y) n, max(b.ts) t from owf_a a window join owf_b b on a.k = b.k and b.y > 2 range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, a.k, x, sum(y) s, count() n from owf_a a window join owf_b b on a.k = b.k and not b.ok range between 2 seconds preceding and 2 seconds following exclude prevailing;
-- the prevailing row is the last one before the range that the condition holds for
select a.ts, a.k, x, first(y) f, sum(y) s, count() n from owf_a a window join owf_b b on a.k = b.k range between 1 seconds preceding and 1 seconds following include prevailing;
select a.ts, a.k, x, first(y) f, sum(y) s, count() n from owf_a a window join owf_b b on a.k = b.k and b.ok range between 1 seconds preceding and 1 seconds following include prevailing;
select a.ts, a.k, x, first(y) f, sum(y) s, count() n from owf_a a window join owf_b b on (a.k = b.k and b.y > 4) range between 1 seconds preceding and 1 seconds following;
-- of the left side: its row stays, without rows of the right side
select a.ts, a.k, x, sum(y) s, count() n, count(x) c from owf_a a window join owf_b b on a.k = b.k and a.x > 1 range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, a.k, x, sum(y) s, count() n from owf_a a window join owf_b b on a.k = b.k and a.x != 2 and b.y > 2 range between 2 seconds preceding and 2 seconds following include prevailing;
-- without keys
select a.ts, x, sum(y) s, count() n from owf_a a window join owf_b b on b.ok and b.k = 'p' range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, x, sum(y) s, count() n from owf_a a window join owf_b b on a.x > 3 or a.k = 'p' range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, x, sum(y) s, count() n from owf_a a window join owf_b b on 1 = 2 range between 2 seconds preceding and 2 seconds following;
-- of both
select a.ts, a.k, x, sum(y) s, count() n from owf_a a window join owf_b b on a.k = b.k and b.y > a.x range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, a.k, x, sum(y) s, count() n from owf_a a window join owf_b b on a.k = b.k and (b.ok or a.x = 3) range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, sum(y) from owf_a a window join owf_b b on a.k = b.k and b.y > a.x range between 2 seconds preceding and 2 seconds following include prevailing;
-- with FILTER, several joins, bounds by row
select a.ts, a.k, x, sum(y) filter (where b.ok) s, sum(y) t from owf_a a window join owf_b b on a.k = b.k and b.y < 5 range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, a.k, sum(b.y) s, sum(c.y) t, count(c.y) n from owf_a a window join owf_b b on a.k = b.k and b.ok range between 2 seconds preceding and 2 seconds following exclude prevailing window join owf_b c on a.k = c.k and not c.ok and a.x < 3 range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, sum(c.y) from owf_a a window join owf_b b on a.k = b.k range between 2 seconds preceding and 2 seconds following exclude prevailing window join owf_b c on c.y > b.y range between 2 seconds preceding and 2 seconds following exclude prevailing;
select a.ts, a.k, x, sum(y) s from owf_a a window join owf_b b on a.k = b.k and b.y > 2 range between x seconds preceding and x seconds following exclude prevailing where x < 4;
select k, sum(s) from (select a.k k, sum(y) s from owf_a a window join owf_b b on a.k = b.k and b.y > 2 range between 2 seconds preceding and 2 seconds following exclude prevailing) order by k;
drop table owf_a;
drop table owf_b;
