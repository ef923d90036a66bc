-- The least INT and LONG stand for null: a value that would be one is refused, not lost.
drop table if exists ol_t;
create table ol_t (i int, l long, t timestamp, n timestamp_ns, dt date, d double, x decimal(20,0));
-- beyond LONG a number is a DOUBLE; with the letter of a LONG it is none
select -9223372036854775808 a, -9223372036854775809 b, 9223372036854775808 c, -9223372036854775807 d;
select -9223372036854775808L;
select 9223372036854775808L;
-- numbers
insert into ol_t (l) values (-9223372036854775808);
insert into ol_t (i) values (-2147483648);
insert into ol_t (i) values (-2147483648L);
insert into ol_t (i) values (-2147483648.0);
insert into ol_t (t) values (-9223372036854775808);
insert into ol_t (n) values (-9223372036854775808);
insert into ol_t (dt) values (-9223372036854775808);
insert into ol_t (l) select -9223372036854775808;
insert into ol_t (i) select x from (select -2147483648 x);
insert into ol_t (d, x) values (-9223372036854775808, -9223372036854775808);
insert into ol_t (i, l) values (-2147483647, -9223372036854775807);
update ol_t set l = -9223372036854775808;
update ol_t set i = -2147483648;
update ol_t set i = l + 9223372034707292159 where l < 0;
-- texts
insert into ol_t (l) values ('-9223372036854775808');
insert into ol_t (i) values ('-2147483648');
insert into ol_t (l) select '-9223372036854775808';
insert into ol_t (i) select x from (select '-2147483648' x);
insert into ol_t (i) select '-2_147_483_648';
update ol_t set l = '-9223372036854775808';
update ol_t set i = '-2147483648';
select i from ol_t where l = '-9223372036854775808';
select i from ol_t where i = '-2147483648';
select i from ol_t where i in ('-2147483648', '1');
select i from ol_t where l between '-9223372036854775808' and 5;
-- an explicit cast gives null, as for any number beyond the range
select '-9223372036854775808'::long a, cast('-2147483648' as int) b, (-2147483648)::int c, (-9223372036854775808)::long d;
-- as bounds they are what they say
select i, l from ol_t where i > -2147483648;
select * from ol_t order by l;
drop table ol_t;
