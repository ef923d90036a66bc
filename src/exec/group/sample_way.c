/*
 * sample_way.c - FILL(LINEAR) of what is measured along a way (haversine_dist_deg): each bucket gets its part of the way from the
 * last point before it, and to the first one behind it, so that all buckets together have all of it.
 *
 * Nulls       A row without a point counts as a bucket without a row: the way goes on from the row before.
 */
#include "exec/group/sample.h"

#define NO_ROW ALM_SAMPLE_NO_ROW

const alm_agg_ops *alm_sample_way_of(const alm_sample *s, uint32_t i)
{
    const alm_aggs *a = s->own.aggs;
    const alm_agg_ops *ops = a->state[a->state_of[i]].ops;
    return ops->between != NULL && s->spec->fill[i].kind == 'l' && !s->spec->backward ? ops : NULL;
}

alm_status alm_sample_way_add(alm_ctx *cx, const alm_sample *s, uint32_t i, alm_pool *pool,
                              uint32_t n, alm_sample_way *w)
{
    w->ops = alm_sample_way_of(s, i);
    const size_t bytes = w->ops->state_bytes;
    const char *from = s->handing->states.array[s->own.aggs->state_of[i]];
    ALM_TRY(alm_pool_grow(cx, pool, &w->states, w->n * bytes, ((size_t)w->n + n) * bytes));
    memcpy(w->states + w->n * bytes, from + (size_t)(s->group_at - n) * bytes, n * bytes);
    w->n += n;
    return ALM_OK;
}

alm_status alm_sample_way_link(alm_ctx *cx, alm_pool *pool, const double *value,
                               const uint32_t *next, alm_sample_way *w)
{
    const size_t bytes = ((size_t)w->n + 1) * sizeof(uint32_t);
    ALM_TRY(alm_pool_alloc(cx, pool, bytes, &w->prev));
    ALM_TRY(alm_pool_alloc(cx, pool, bytes, &w->next));
    memset(w->prev, 0xff, bytes); /* NO_ROW */
    for (uint32_t r = 0; r < w->n; r++)
        if (next[r] != NO_ROW)
            w->prev[next[r]] = value[r] == value[r] ? r : w->prev[r];
    for (uint32_t r = w->n; r-- > 0;) {
        const uint32_t behind = next[r];
        w->next[r] = behind == NO_ROW || value[behind] == value[behind] ? behind : w->next[behind];
    }
    return ALM_OK;
}

/* A time of the buckets as the last argument of the call has them. */
static int64_t in_units_of(alm_type to, alm_type from, int64_t time)
{
    enum { NS_PER_US = 1000 };
    int64_t ns;
    if (to.id == from.id)
        return time;
    if (to.id == ALM_T_TIMESTAMP)
        return time / NS_PER_US;
    return __builtin_mul_overflow(time, (int64_t)NS_PER_US, &ns) ? time < 0 ? INT64_MIN : INT64_MAX
                                                                 : ns;
}

double alm_sample_way_value(const alm_sample *s, const alm_sample_way *w, uint32_t i,
                            const double *value, int64_t bucket, uint32_t real, uint32_t prev,
                            uint32_t next)
{
    const alm_agg_call *call = s->own.aggs->state[s->own.aggs->state_of[i]].call;
    const alm_type mine = s->op.plan->cols[0].type, given = call->args[call->n_args - 1]->type;
    const int64_t from = in_units_of(given, mine, bucket);
    const int64_t to = in_units_of(given, mine, alm_bucket_next(&s->bucketer, bucket));
    const size_t bytes = w->ops->state_bytes;
    const bool has = real != NO_ROW && value[real] == value[real];
    if (prev != NO_ROW && value[prev] != value[prev])
        prev = w->prev[prev];
    if (next != NO_ROW && value[next] != value[next])
        next = w->next[next];
    const char *a = prev == NO_ROW ? NULL : w->states + prev * bytes;
    const char *b = next == NO_ROW ? NULL : w->states + next * bytes;
    if (!has)
        return a == NULL || b == NULL ? __builtin_nan("") : w->ops->between(a, b, from, to);
    const char *own = w->states + real * bytes;
    return value[real] + (a == NULL ? 0 : w->ops->between(a, own, from, to)) +
           (b == NULL ? 0 : w->ops->between(own, b, from, to));
}
