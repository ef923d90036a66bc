/*
 * sample_way.c - FILL(LINEAR) of aggregates that measure the length of a track (haversine_dist_deg). A segment that crosses
 * bucket borders is divided among the buckets it crosses, including the segments from the last point before a bucket and
 * to the first point after it, because the buckets must add up to the whole length.
 *
 * Nulls       A row without a point counts as a bucket without a row: the way goes on from the row before.
 */
#include "exec/group/sample.h"

#define NO_ROW ALM_SAMPLE_NO_ROW

const alm_agg_ops *alm_sample_way_of(const alm_sample *sample, uint32_t i)
{
    const alm_aggs *aggs = sample->own.aggs;
    const alm_agg_ops *ops = aggs->state[aggs->state_of[i]].ops;
    return ops->between != NULL && sample->spec->fill[i].kind == 'l' && !sample->spec->backward
               ? ops
               : NULL;
}

alm_status alm_sample_way_add(alm_ctx *cx, const alm_sample *sample, uint32_t i, alm_pool *pool,
                              uint32_t n, alm_sample_way *way)
{
    way->ops = alm_sample_way_of(sample, i);
    const size_t bytes = way->ops->state_bytes;
    const char *from = sample->handing->states.array[sample->own.aggs->state_of[i]];
    ALM_TRY(alm_pool_grow(cx, pool, &way->states, way->n * bytes, ((size_t)way->n + n) * bytes));
    memcpy(way->states + way->n * bytes, from + (size_t)(sample->group_at - n) * bytes, n * bytes);
    way->n += n;
    return ALM_OK;
}

alm_status alm_sample_way_link(alm_ctx *cx, alm_pool *pool, const double *value,
                               const uint32_t *next, alm_sample_way *way)
{
    const size_t bytes = ((size_t)way->n + 1) * sizeof(uint32_t);
    ALM_TRY(alm_pool_alloc(cx, pool, bytes, &way->prev));
    ALM_TRY(alm_pool_alloc(cx, pool, bytes, &way->next));
    memset(way->prev, 0xff, bytes); /* NO_ROW */
    for (uint32_t row = 0; row < way->n; row++)
        if (next[row] != NO_ROW)
            way->prev[next[row]] = value[row] == value[row] ? row : way->prev[row];
    for (uint32_t row = way->n; row-- > 0;) {
        const uint32_t behind = next[row];
        way->next[row] =
            behind == NO_ROW || value[behind] == value[behind] ? behind : way->next[behind];
    }
    return ALM_OK;
}

/* A time of the buckets as the last argument of the call has them. */
static int64_t in_units_of(alm_type target, alm_type from, int64_t time)
{
    enum { NS_PER_US = 1000 };
    int64_t nanos;
    if (target.id == from.id)
        return time;
    if (target.id == ALM_T_TIMESTAMP)
        return time / NS_PER_US;
    return __builtin_mul_overflow(time, (int64_t)NS_PER_US, &nanos)
               ? time < 0 ? INT64_MIN : INT64_MAX
               : nanos;
}

double alm_sample_way_value(const alm_sample *sample, const alm_sample_way *way, uint32_t i,
                            const double *value, int64_t bucket, uint32_t real, uint32_t prev,
                            uint32_t next)
{
    const alm_agg_call *call = sample->own.aggs->state[sample->own.aggs->state_of[i]].call;
    const alm_type mine = sample->op.plan->cols[0].type, given = call->args[call->n_args - 1]->type;
    const int64_t from = in_units_of(given, mine, bucket);
    const int64_t to = in_units_of(given, mine, alm_bucket_next(&sample->bucketer, bucket));
    const size_t bytes = way->ops->state_bytes;
    const bool has = real != NO_ROW && value[real] == value[real];
    if (prev != NO_ROW && value[prev] != value[prev])
        prev = way->prev[prev];
    if (next != NO_ROW && value[next] != value[next])
        next = way->next[next];
    const char *a = prev == NO_ROW ? NULL : way->states + prev * bytes;
    const char *b = next == NO_ROW ? NULL : way->states + next * bytes;
    if (!has)
        return a == NULL || b == NULL ? __builtin_nan("") : way->ops->between(a, b, from, to);
    const char *own = way->states + real * bytes;
    return value[real] + (a == NULL ? 0 : way->ops->between(a, own, from, to)) +
           (b == NULL ? 0 : way->ops->between(own, b, from, to));
}
