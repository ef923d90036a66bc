-- FILL(LINEAR) of the length of a track: between two points the way is gone at a steady pace, through buckets without a point, too, so that
-- all buckets together are as long as the track.
drop table if exists otf_t;
create table otf_t (ts timestamp, k symbol, lat double, lon double, other timestamp_ns) timestamp(ts) partition by day;
insert into otf_t values ('2024-01-01T00:00:00', 'e', 0, 0, '2024-01-01T00:00:00'), ('2024-01-01T00:00:30', 'e', 0, 1, '2024-01-01T00:00:30'),
    ('2024-01-01T00:01:30', 'e', 0, 3, '2024-01-01T00:01:30'), ('2024-01-01T00:04:30', 'e', 0, 9, '2024-01-01T00:04:30'), ('2024-01-01T00:05:10', 'e', 0, 10, '2024-01-01T00:05:10');
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m fill(linear);
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 2m fill(linear);
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m fill(linear) align to first observation;
select ts, haversine_dist_deg(lat, lon, other) h from otf_t sample by 1m fill(linear);
select ts, haversine_dist_deg(lat, lon, ts) h, avg(lon) a, count() n from otf_t sample by 1m fill(linear);
select ts, haversine_dist_deg(lat, lon, ts) h, sum(lon) s from otf_t sample by 1m fill(linear, null);
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m from '2023-12-31T23:59' to '2024-01-01T00:07' fill(linear);
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m fill(linear) align to calendar time zone 'Asia/Kathmandu';
-- the other ways to fill take a bucket by itself
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m;
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m fill(null);
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m fill(prev);
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m fill(0);
-- across the globe, by key, with points that are not known
insert into otf_t (ts, k, lat, lon) values ('2024-01-01T00:00:07', 'a', 10, 20), ('2024-01-01T00:00:13', 'b', -5, 100), ('2024-01-01T00:00:40', 'a', 12, 25.5), ('2024-01-01T00:01:31', 'b', -6, 110),
    ('2024-01-01T00:03:31', 'a', 20, 40), ('2024-01-01T00:04:31', 'a', null, 40), ('2024-01-01T00:07:10', 'a', 30, 10), ('2024-01-01T00:09:00', 'b', 60, -170), ('2024-01-01T00:10:00', 'c', null, null);
select ts, haversine_dist_deg(lat, lon, ts) h from otf_t where k = 'a' sample by 1m fill(linear);
select ts, k, haversine_dist_deg(lat, lon, ts) h from otf_t where k != 'e' sample by 3m fill(linear) order by k, ts;
select k, sum(h) h from (select ts, k, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 1m fill(linear)) order by k;
select k, sum(h) h from (select ts, k, haversine_dist_deg(lat, lon, ts) h from otf_t sample by 7s fill(linear)) order by k;
select k, haversine_dist_deg(lat, lon, ts) h from otf_t order by k;
select k, sum(h) h, sum(g) g from (select ts, k, haversine_dist_deg(lat, lon, ts) h, haversine_dist_deg(lon / 3, lat, ts) g from otf_t sample by 20s fill(linear, linear)) order by k;
-- many morsels
drop table if exists otf_m;
create table otf_m as (select timestamp_sequence('2024-01-01', 7000000 + 1000000 * (x % 3)) ts, 60 * sin(x / 500.0) lat, (x % 3600) / 10.0 - 180 lon from long_sequence(30000)) timestamp(ts) partition by day;
select count() n, round(sum(h) / w, 9) r from (select ts, haversine_dist_deg(lat, lon, ts) h from otf_m where ts not in '2024-01-01T08' sample by 1m fill(linear)),
    (select haversine_dist_deg(lat, lon, ts) w from otf_m where ts not in '2024-01-01T08');
select count() n, round(sum(h) / w, 9) r from (select ts, haversine_dist_deg(lat, lon, ts) h from otf_m sample by 3s fill(linear)), (select haversine_dist_deg(lat, lon, ts) w from otf_m);
drop table otf_t;
drop table otf_m;
