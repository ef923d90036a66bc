-- Rows as values: ROW(a, b) and (a, b) are the text of a record as PostgreSQL writes it, lists of them by array_agg
-- and ARRAY(select), keys of ORDER BY and GROUP BY one after the other. Reviewed by hand against PostgreSQL 15.
select (1, 'a b', true, null, '') r, row(2.5) s;
select row('a"b\c', '(x)', 'é', ',') r;
select row('2024-01-02T03:04:05.678901Z'::timestamp, '11111111-2222-3333-4444-555555555555'::uuid, 1.50m, -1::byte) r;
drop table if exists orow;
create table orow (k int, v varchar, y symbol);
insert into orow values (1, 'a', 'x'), (2, 'b c', 'y'), (3, null, 'x');
select (k, v, y) r from orow order by k;
select y, array_agg((k, v) order by k) a from orow group by y order by y;
select array(select (k, y) from orow) a;
select array_agg((v, k)) a from orow where k > 9;
select k from orow order by (y, k) desc;
select k from orow order by (y, -k), v;
select y, count() c from orow group by (y) order by y;
select y, k > 1 b, count() c from orow group by (y, k > 1) order by (y, b);
select y, max(k) over (partition by (y, y) order by (y, k)) m from orow order by m;
select k from orow where (v, y) is null;
select k from orow where (v, k) is not null order by k;
select (null, null) is null a, (1, null) is null b, (1, null) is not null c, row(1, 2) is not null d;
select row(1, 2) = row(1, 2) a, row(1) = row(2) b, row(1, 2) < (1, 3) c, row(1) in (row(2), row(1)) d;
select k from orow where row(k, y) in ((1, 'x'), (2, 'x'));
select count(distinct (y, 1)) c from orow;
select row();
select (1, (2, 3)) r;
select "row"(1);
select (1, 2) = 1;
select (1, nope) from orow;
drop table orow;
