-- DECIMAL: the scale of a quotient, numbers without m taken as they are written.
drop table if exists ode_t;
create table ode_t (k int, a decimal(15,2), b decimal(18,8), c decimal(38,20), d decimal(76,40), e decimal(9,0), i int, l long);
insert into ode_t values
    (1, 10.25, 3.12345678, 123456789012345678.12345678901234567890, 123456789012345678901234567890123456.1234567890, 7, 3, 7),
    (2, -0.42, 0.00000001, -0.00000000000000000001, 1, -2, -3, 6),
    (3, null, 1, 1, null, 0, 0, null);
-- a quotient has both scales
select 1.00m / 3.00m a, 2.00m / 3.00m b, -2.00m / 3.00m c, 1m / 3m d, 10.00m / 4 e, 1.005m / 1.000m f, 0.00005m / 2.00000m g;
select (1.00m / 3.00m) / 3.00m a, 1.00m / 3.00m * 3m b, 0.05m / 2m c, 0.15m / 2m d, -0.05m / 2m e;
select k, a / b ab, b / a ba, a / e ae, e / a ea, a / i ai, i / a ia, a / l al, a / 3 a3, a / 3.00m a3m from ode_t order by k;
select k, a / c ac, c / a ca from ode_t order by k;
select sum(a) / sum(b) a, sum(a) / count() b, avg(a) / 2.0m c, max(b) / min(a) d from ode_t;
select k, avg(a) a, sum(a) / sum(b) b from ode_t group by k order by k;
select k, a / b r from ode_t where a / b > 3.28162056m order by k;
-- a dividend beyond 256 bits, more than 76 digits behind the point
select c / c a from ode_t order by k;
select d / d a, a / d b from ode_t where k = 1;
select 2.00000000000000000000000000000000000000m / 3.000000000000000000000000000000000000m a, -1.00000000000000000000000000000000000000m / 3.00000000000000000000000000000000000000m b;
select 1m / 7.00000000000000000000000000000000000000000000000000000000000000000000000000m a;
select 99999999999999999999999999999999999999m / 0.00000000000000000001m;
select d / a from ode_t where k = 1;
select 0.00000000000000000000000000000000000001m / 0.00000000000000000000000000000000000003m a, 5e-38m / 1e38m b;
-- division by zero, remainders
select a / 0m a, a / e b, a % 0m c, b % a d, c % a e, a % i f from ode_t order by k;
-- a number cast to DECIMAL is what is written, rounded half away from zero to the scale
select 12345678901234567.8901::decimal(38,4) a, cast(12345678901234567.8901 as decimal(38,4)) b, (12345678901234567.8901)::decimal(38,4) c, 12345678901234567.8901d::decimal(38,4) d;
select -12345678901234567.8901::decimal(38,4) a, cast(-12345678901234567.8901 as decimal(38,4)) b;
select 0.1234567890123456789012345678901234567890::decimal(76,40) a, 1_234_567_890_123_456_789.5::decimal(38,1) b, 123456789012345678901234567890::decimal(38,2) c;
select 1e3::decimal(10,2) a, 1.5e-3::decimal(10,4) b, 1.25e30::decimal(38,0) c, 0.1::decimal d, 12::decimal(4,2) e;
select 1.005::decimal(10,2) a, -1.005::decimal(10,2) b, 12345678901234567.4999::decimal(38,0) c, 12345678901234567.5::decimal(38,0) d;
-- a DOUBLE is what it shows
select 12345678901234567.8901::double::decimal(38,4) a, (1.1 + 2.2)::decimal(38,20) b, cast(1.1 as float)::decimal(38,20) c, 0.1f::decimal(5,2) d;
select 123456::decimal(3,0);
select 999.5::decimal(3,0);
select 1e400::decimal(76,0);
-- beside a DECIMAL, too
select k from ode_t where c = 123456789012345678.12345678901234567890;
select k from ode_t where c = 123456789012345678.1234567890123457;
select k from ode_t where 123456789012345678.1234567890123457 > c order by k;
select k from ode_t where c > 123456789012345678.1234567890123456;
select k from ode_t where c >= -0.00000000000000000001 and c <= -0.00000000000000000001;
select k from ode_t where c != 123456789012345678.12345678901234567891 order by k;
select k from ode_t where c in (123456789012345678.12345678901234567890, 7.5) order by k;
select k from ode_t where c in (123456789012345678.12345678901234567891, 7.5) order by k;
select k from ode_t where c in (123456789012345678.12345678901234567890);
select k from ode_t where c not in (123456789012345678.12345678901234567890, 1.0) order by k;
select k from ode_t where c between 123456789012345678.123456789012345678 and 123456789012345678.123456789012345679;
select k from ode_t where a = 10.25 and b < 3.13 and e > -1e3;
select case c when 123456789012345678.12345678901234567890 then 'x' end a, case c when 123456789012345678.1234567890123457 then 'x' end b, a + 0.5 c, nullif(c, 123456789012345678.12345678901234567890) d, nullif(c, 123456789012345678.1234567890123457) e from ode_t where k = 1;
update ode_t set c = -12345678901234567.89012345 where k = 3;
select c from ode_t where k = 3;
drop table ode_t;
