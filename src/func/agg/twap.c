/*
 * twap.c - twap: mean of a price weighted by how long it stood.
 *
 * Units       Times in any unit: only their proportions count.
 * Null rule   A row with a null price or time is left out. One point, or no time between the points: their
 *             mean. None: null.
 * Order       A price stands until the time of the next row, so rows and parts are taken in row order.
 */
#include "func/agg/agg.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

typedef struct twap {
    double area, length; /* price times time, time */
    double sum;          /* of prices */
    double last_price;
    int64_t first_ts, last_ts, points;
} twap;

static void twap_add_point(twap *self, double price, int64_t ts)
{
    if (price != price || ts == ALM_TS_NULL)
        return;
    if (self->points == 0) {
        self->first_ts = ts;
    } else {
        const double step = (double)ts - (double)self->last_ts;
        self->area += self->last_price * step;
        self->length += step;
    }
    self->sum += price;
    self->last_price = price;
    self->last_ts = ts;
    self->points++;
}

static void twap_append(twap *self, const twap *p)
{
    if (p->points == 0)
        return;
    if (self->points == 0) {
        *self = *p;
        return;
    }
    const double step = (double)p->first_ts - (double)self->last_ts;
    self->area += self->last_price * step + p->area;
    self->length += step + p->length;
    self->sum += p->sum;
    self->last_price = p->last_price;
    self->last_ts = p->last_ts;
    self->points += p->points;
}

static alm_status twap_update(ALM_UNUSED alm_call *call, void *state, size_t n, const alm_vec *args)
{
    for (size_t i = 0; i < n; i++)
        twap_add_point(state, ALM_AT(double, args[0], i), ALM_AT(int64_t, args[1], i));
    return ALM_OK;
}

static alm_status twap_scatter(ALM_UNUSED alm_call *call, void *states, const uint32_t *group,
                               size_t n, const alm_vec *args)
{
    twap *all = states;
    for (size_t i = 0; i < n; i++)
        twap_add_point(&all[group[i]], ALM_AT(double, args[0], i), ALM_AT(int64_t, args[1], i));
    return ALM_OK;
}

static double twap_of(const twap *self)
{
    if (self->points == 0)
        return __builtin_nan("");
    return ALM_FINITE(self->length != 0 ? self->area / self->length
                                        : self->sum / (double)self->points);
}

ALM_AGG_INIT(twap, twap, {0})
ALM_AGG_MERGE(twap, twap, { twap_append(d, p); })
ALM_AGG_FINISH(twap, twap, double, twap_of(s))
ALM_AGG_OPS(twap, twap, twap, twap)

#define DOC                                                                                        \
    "Time-weighted average price: each price counts as long as it stands, which is until the "     \
    "time "                                                                                        \
    "of the next row; the last one does not count. Rows with a null are left out."

static const alm_fn ROWS[] = {
    ALM_AGG_ROW("twap", "(DOUBLE, TIME) DOUBLE", twap_ops, ALM_FN_ROW_ORDER, DOC,
                "twap(price, timestamp)"),
};
ALM_FN_TABLE(twap, ROWS);
