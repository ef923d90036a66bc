/*
 * distance.c - points in boxes and circles, on a plane and on the globe.
 *
 * Units       Plane: any. Globe: degrees, latitude first; metres along the great circle of a sphere of
 *             6,371,008.8 m.
 * Null rule   A null gives null, or false.
 * Errors      Latitudes beyond 90, longitudes beyond 180, a radius below 0.
 */
#include <math.h>

#include "func/value/kernel.h"
#include "func/value/tables.h"

static const double RADIUS_M = 6371008.8;

static alm_status within_box(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                             alm_vec *out)
{
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const double x = ALM_AT(double, args[0], i), y = ALM_AT(double, args[1], i);
        results[i] = x >= ALM_AT(double, args[2], i) && y >= ALM_AT(double, args[3], i) &&
                     x <= ALM_AT(double, args[4], i) && y <= ALM_AT(double, args[5], i);
    }
    return ALM_OK;
}

/* That of a row is below all distances. */
static alm_status check_radius(alm_call *call, const alm_vec *arg, double radius)
{
    if (radius < 0 && arg->is_const)
        return alm_fail(call->cx, ALM_E_VALUE, call->pos, "radius must not be negative: %g",
                        radius);
    return ALM_OK;
}

static alm_status within_radius(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const double dx = ALM_AT(double, args[0], i) - ALM_AT(double, args[2], i);
        const double dy = ALM_AT(double, args[1], i) - ALM_AT(double, args[3], i);
        const double radius = ALM_AT(double, args[4], i);
        ALM_TRY(check_radius(call, &args[4], radius));
        results[i] = hypot(dx, dy) <= radius;
    }
    return ALM_OK;
}

/* From args[0], args[1] to args[2], args[3]; null if one is, or is a column's and no place of the globe. */
static alm_status distance_at(alm_call *call, const alm_vec *args, size_t i, double *out)
{
    const double radian = M_PI / 180;
    double at[4];
    for (int k = 0; k < 4; k++) {
        at[k] = ALM_AT(double, args[k], i);
        const bool beyond = fabs(at[k]) > (k % 2 == 0 ? 90 : 180);
        if (beyond && !args[k].is_const)
            at[k] = __builtin_nan("");
        else if (beyond)
            return alm_fail(call->cx, ALM_E_VALUE, call->pos, "%s out of range: %g",
                            k % 2 == 0 ? "latitude" : "longitude", at[k]);
    }
    const double half_lat = (at[2] - at[0]) * radian / 2, half_lon = (at[3] - at[1]) * radian / 2;
    const double h = sin(half_lat) * sin(half_lat) +
                     cos(at[0] * radian) * cos(at[2] * radian) * sin(half_lon) * sin(half_lon);
    *out = 2 * RADIUS_M * asin(sqrt(h > 1 ? 1 : h));
    return ALM_OK;
}

static alm_status scalar_distance(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        ALM_TRY(distance_at(call, args, i, &results[i]));
    return ALM_OK;
}

static alm_status within_distance(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const double radius = ALM_AT(double, args[4], i);
        double metres = 0;
        ALM_TRY(check_radius(call, &args[4], radius));
        ALM_TRY(distance_at(call, args, i, &metres));
        results[i] = metres <= radius;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- rows */

#define ROW(name_, sig, kernel_, doc_, example_)                                                   \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .flags = ALM_FN_NULL_OUT,                                                                     \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = name_ example_,                                                                    \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("within_box",
        "(x DOUBLE, y DOUBLE, min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE) BOOLEAN",
        within_box, "Is a point in a box, its borders included?", "(2, 3, 0, 0, 4, 3)"),
    ROW("within_radius",
        "(x DOUBLE, y DOUBLE, center_x DOUBLE, center_y DOUBLE, radius DOUBLE) BOOLEAN",
        within_radius, "Is a point of a plane no farther from another one than the radius?",
        "(3, 4, 0, 0, 5)"),
    ROW("geo_distance_meters", "(lat DOUBLE, lon DOUBLE, lat DOUBLE, lon DOUBLE) DOUBLE",
        scalar_distance, "Distance of two points of the globe in metres, along the great circle.",
        "(52.52, 13.405, 48.137, 11.575)"),
    ROW("geo_within_radius_latlon",
        "(lat DOUBLE, lon DOUBLE, center_lat DOUBLE, center_lon DOUBLE, meters DOUBLE) BOOLEAN",
        within_distance, "Is a point of the globe no farther from another one than so many metres?",
        "(52.52, 13.405, 52.5, 13.4, 5000)"),
};
ALM_FN_TABLE(distance, ROWS);
