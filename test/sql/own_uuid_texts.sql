-- Functions of texts over UUID and IPv4: they see the text that is shown.
drop table if exists out_t;
create table out_t (n int, u uuid, ip ipv4, g symbol);
insert into out_t values (1, '11111111-2222-3333-4444-5555555555ab', '10.0.0.1', 'a'), (2, 'FFFFFFFF-0000-1111-2222-333333333333', '192.168.10.200', 'a'), (3, null, null, 'b');
select n, length(u) a, left(u, 8) b, right(u, 4) c, upper(u) d, lower(u) e, substring(u, 1, 3) f from out_t;
select n, replace(u, '-', '') a, split_part(u, '-', 2) b, strpos(u, '-') c, starts_with(u, '11') d, trim(u) e, lpad(u, 38, '*') f from out_t;
select n, u || '!' a, concat(u, '/', ip) b, u like '1111%' c, u ilike 'FFFF%' d, u ~ '^[0-9a-f-]+$' e, u not like '%a_' f from out_t;
select n, regexp_replace(u, '-.*', '') a, md5(u) = md5(u::string) b, reverse(u) c, ascii(u) d from out_t;
select n from out_t where u like '%ab';
select n from out_t where length(u) = 36 and left(u, 1) = 'f';
select string_agg(u, ',') a, string_agg(ip, ';') b from out_t;
select g, string_agg(u, ',') a, string_distinct_agg(u, ',') b from out_t order by g;
select n, length(ip) a, left(ip, 3) b, ip like '10.%' c, replace(ip, '.', '-') d, split_part(ip, '.', 4) e, upper(ip) f from out_t;
-- a comparison with texts is still one of UUIDs: their case does not count
select n from out_t where u = 'ffffffff-0000-1111-2222-333333333333';
select n, u = upper(u) a, u != lower(u) b, ip = '10.0.0.' || n c from out_t;
select n, u < 'ffffffff-0000-1111-2222-333333333333' a, u in ('11111111-2222-3333-4444-5555555555AB') b from out_t;
select count_distinct(u) a, first(u) b, min(u) c, max(ip) d from out_t;
-- what is no text of them is refused as before
select u + 1 from out_t;
select sum(u) from out_t;
select sqrt(ip) from out_t;
select u = 5 from out_t;
drop table out_t;
