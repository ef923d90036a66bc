/*
 * haversine.c - haversine_dist_deg: length of a track of points on the globe.
 *
 * Units       Latitude and longitude in degrees, result in kilometres on a sphere of 6371.088 km.
 * Null rule   A point with a null in latitude, longitude or time is left out; fewer than two points
 *             give 0, none gives null.
 * Order       Points are joined in row order, so parts are merged in row order too.
 * FILL        LINEAR: between two points the way is gone at a steady pace, through buckets without a point, too.
 */
#include <math.h>

#include "func/agg/agg.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

static const double RADIUS_KM = 6371.088;

typedef struct track {
    double length_km;
    double first_lat, first_lon, last_lat, last_lon;
    int64_t points, first_ts, last_ts;
} track;

static double distance_km(double lat_a, double lon_a, double lat_b, double lon_b)
{
    const double radian = M_PI / 180, half_lat = (lat_b - lat_a) * radian / 2,
                 half_lon = (lon_b - lon_a) * radian / 2;
    const double h = sin(half_lat) * sin(half_lat) +
                     cos(lat_a * radian) * cos(lat_b * radian) * sin(half_lon) * sin(half_lon);
    return 2 * RADIUS_KM * asin(sqrt(h < 1 ? h : 1));
}

static void haversine_add_point(track *self, double lat, double lon, int64_t ts)
{
    if (lat != lat || lon != lon || ts == ALM_TS_NULL)
        return;
    if (self->points == 0) {
        self->first_lat = lat;
        self->first_lon = lon;
        self->first_ts = ts;
    } else {
        self->length_km += distance_km(self->last_lat, self->last_lon, lat, lon);
    }
    self->last_lat = lat;
    self->last_lon = lon;
    self->last_ts = ts;
    self->points++;
}

static void append_track(track *self, const track *p)
{
    if (p->points == 0)
        return;
    if (self->points == 0) {
        *self = *p;
        return;
    }
    self->length_km +=
        p->length_km + distance_km(self->last_lat, self->last_lon, p->first_lat, p->first_lon);
    self->last_lat = p->last_lat;
    self->last_lon = p->last_lon;
    self->last_ts = p->last_ts;
    self->points += p->points;
}

/* How much of the time between two points is over. */
static double haversine_share(int64_t at, int64_t from, int64_t to)
{
    return at <= from ? 0
           : at >= to ? 1
                      : ((double)at - (double)from) / ((double)to - (double)from);
}

static double track_between(const void *a, const void *b, int64_t from, int64_t to)
{
    const track *self = a, *q = b;
    const double whole = distance_km(self->last_lat, self->last_lon, q->first_lat, q->first_lon);
    return whole * (haversine_share(to, self->last_ts, q->first_ts) -
                    haversine_share(from, self->last_ts, q->first_ts));
}

static alm_status track_update(ALM_UNUSED alm_call *call, void *state, size_t n,
                               const alm_vec *args)
{
    for (size_t i = 0; i < n; i++)
        haversine_add_point(state, ALM_AT(double, args[0], i), ALM_AT(double, args[1], i),
                            ALM_AT(int64_t, args[2], i));
    return ALM_OK;
}

static alm_status track_scatter(ALM_UNUSED alm_call *call, void *states, const uint32_t *group,
                                size_t n, const alm_vec *args)
{
    track *all = states;
    for (size_t i = 0; i < n; i++)
        haversine_add_point(&all[group[i]], ALM_AT(double, args[0], i), ALM_AT(double, args[1], i),
                            ALM_AT(int64_t, args[2], i));
    return ALM_OK;
}

ALM_AGG_INIT(track, track, {0})
ALM_AGG_MERGE(track, track, { append_track(d, p); })
ALM_AGG_FINISH(track, track, double, s->points == 0 ? __builtin_nan("") : s->length_km)
static const alm_agg_ops track_ops = {.state_bytes = sizeof(track),
                                      .plain = true,
                                      .init = track_init,
                                      .update = track_update,
                                      .scatter = track_scatter,
                                      .merge = track_merge,
                                      .finish = track_finish,
                                      .between = track_between};

static const alm_fn ROWS[] = {
    ALM_AGG_ROW(
        "haversine_dist_deg", "(DOUBLE, DOUBLE, TIME) DOUBLE", track_ops, ALM_FN_ROW_ORDER,
        "Length in kilometres of a track of latitudes and longitudes in degrees. With "
        "FILL(LINEAR) each bucket also has its part of the way from and to the buckets beside it.",
        "haversine_dist_deg(50 + x, 13.4, x::timestamp) from long_sequence(3)"),
};
ALM_FN_TABLE(haversine, ROWS);
