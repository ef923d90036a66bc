/*
 * sample_collect.c - one morsel of SAMPLE BY.
 *
 * Without keys a long run of rows goes to one state by the same kernel as a full scan. Short runs
 * (buckets of few rows) and keyed rows get group numbers, then one scatter per batch: no work per
 * bucket beyond opening its groups.
 */
#include "exec/group/sample.h"

enum { SHORT_RUN = 32 };

/* Times of the rows of a batch, ascending; under a selection they stay where storage has them, so
 * that a search touches only the times it looks at. */
typedef struct row_times {
    const int64_t *at;
    const uint16_t *sel; /* NULL: at[] is dense */
} row_times;

static inline int64_t sample_collect_time_of(const row_times *times, uint32_t i)
{
    return times->at[times->sel != NULL ? times->sel[i] : i];
}

alm_status alm_sample_slot_ready(alm_ctx *cx, const alm_sample *sample, alm_sample_slot *slot)
{
    if (slot->ready)
        return ALM_OK;
    alm_arena_init(&slot->lasting, cx->mem);
    alm_arena_init(&slot->scratch, cx->mem);
    alm_pool_init(&slot->pool, cx->mem, "sample by");
    slot->ready = true;
    ALM_TRY(alm_aggs_new(cx, sample->spec->keys, sample->spec->n_keys, sample->spec->aggs,
                         sample->spec->n_aggs, &slot->lasting, &slot->aggs));
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->number);
}

alm_status alm_sample_part_ready(alm_ctx *cx, const alm_sample *sample, const alm_sample_slot *slot,
                                 alm_sample_part *part)
{
    part->n = 0;
    part->states.n = 0;
    if (part->states.array == NULL)
        ALM_TRY(alm_states_reserve(cx, slot->aggs, &part->states, &part->pool, 0));
    if (part->map != NULL)
        alm_keymap_clear(part->map);
    if (sample->direct || sample->spec->n_keys == 0 || part->map != NULL)
        return ALM_OK;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, sample->spec->n_keys, &types));
    for (uint32_t key = 0; key < sample->spec->n_keys; key++)
        types[key] = sample->spec->keys[key]->type;
    return alm_keymap_new(cx, &part->pool, types, sample->spec->n_keys, &part->map);
}

/* Room for `more` groups. */
static alm_status reserve_groups(alm_ctx *cx, alm_sample_part *part, uint32_t more)
{
    if (part->n + more <= part->cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(part->n + more, ALM_MAX(2 * part->cap, 64U));
    ALM_TRY(alm_pool_grow(cx, &part->pool, &part->bucket, (size_t)part->n * 8, (size_t)cap * 8));
    ALM_TRY(alm_pool_grow(cx, &part->pool, &part->key, (size_t)part->n * 4, (size_t)cap * 4));
    part->cap = cap;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ borders */

/* Makes the bucket of t the one at hand. The next bucket of a plain stride needs no division. */
static void open_bucket(const alm_bucketer *bucketer, alm_sample_slot *slot, int64_t t)
{
    const bool plain = !bucketer->months && bucketer->zone == NULL;
    if (slot->open && plain && t >= slot->end && slot->end <= INT64_MAX - bucketer->stride &&
        (uint64_t)t - (uint64_t)slot->end < (uint64_t)bucketer->stride) {
        slot->start = slot->end;
        slot->end += bucketer->stride;
    } else {
        slot->start = alm_bucket_start(bucketer, t);
        slot->end = alm_bucket_next(bucketer, t);
    }
    slot->open = true;
}

/* Does t lie behind the bucket at hand? The last of all has no end. */
static inline bool sample_collect_is_behind(const alm_sample_slot *slot, int64_t t)
{
    return !slot->open || (t >= slot->end && slot->end != INT64_MAX);
}

/* First row of [from, n) at or after `limit`: gallop, then bisect. */
static uint32_t sample_collect_run_end(const row_times *ts, uint32_t from, uint32_t n,
                                       int64_t limit)
{
    if (n == 0 || sample_collect_time_of(ts, n - 1) < limit)
        return n;
    uint32_t step = 1;
    while (from + step < n && sample_collect_time_of(ts, from + step) < limit)
        step *= 2;
    uint32_t lo = from + step / 2, hi = ALM_MIN(from + step, n);
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (sample_collect_time_of(ts, mid) < limit)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The end of the rows of the bucket at hand. */
static uint32_t bucket_rows(const row_times *ts, uint32_t from, uint32_t n,
                            const alm_sample_slot *slot)
{
    return slot->end == INT64_MAX ? n : sample_collect_run_end(ts, from, n, slot->end);
}

ALM_SIMD static bool sample_collect_ascending(const int64_t *ts, uint32_t n)
{
    uint32_t falls = 0;
    for (uint32_t i = 1; i < n; i++)
        falls += ts[i] < ts[i - 1];
    return falls == 0;
}

/* ----------------------------------------------------------------------------- without keys */

static void add_group(alm_sample_part *part, int64_t bucket, uint32_t key)
{
    part->bucket[part->n] = bucket;
    part->key[part->n++] = key;
}

/* Group numbers of rows [0, n): a bucket is a group. */
static alm_status sample_collect_number_rows(alm_ctx *cx, const alm_sample *sample,
                                             alm_sample_slot *slot, alm_sample_part *part,
                                             const int64_t *ts, uint32_t n)
{
    ALM_TRY(reserve_groups(cx, part, n));
    uint32_t *restrict number = slot->number;
    for (uint32_t i = 0; i < n;) {
        if (sample_collect_is_behind(slot, ts[i])) {
            open_bucket(&sample->bucketer, slot, ts[i]);
            add_group(part, slot->start, 0);
        }
        const int64_t end = slot->end;
        const uint32_t group = part->n - 1;
        do
            number[i++] = group;
        while (i < n && ts[i] < end);
    }
    return ALM_OK;
}

static alm_status take_short_runs(alm_ctx *cx, const alm_sample *sample, alm_sample_slot *slot,
                                  alm_sample_part *part, const int64_t *ts, uint32_t lo, uint32_t n)
{
    ALM_TRY(sample_collect_number_rows(cx, sample, slot, part, ts + lo, n));
    ALM_TRY(alm_states_reserve(cx, slot->aggs, &part->states, &part->pool, part->n));
    return alm_aggs_scatter(cx, slot->aggs, &part->states, slot->number, lo, n);
}

static alm_status take_long_runs(alm_ctx *cx, const alm_sample *sample, alm_sample_slot *slot,
                                 alm_sample_part *part, const row_times *ts, uint32_t lo,
                                 uint32_t hi)
{
    for (uint32_t i = lo; i < hi;) {
        const int64_t time = sample_collect_time_of(ts, i);
        if (sample_collect_is_behind(slot, time)) {
            open_bucket(&sample->bucketer, slot, time);
            ALM_TRY(reserve_groups(cx, part, 1));
            add_group(part, slot->start, 0);
            ALM_TRY(alm_states_reserve(cx, slot->aggs, &part->states, &part->pool, part->n));
        }
        const uint32_t end = bucket_rows(ts, i, hi, slot);
        ALM_TRY(alm_aggs_update(cx, slot->aggs, &part->states, part->n - 1, i, end - i));
        i = end;
    }
    return ALM_OK;
}

/* How many rows a bucket has about, from the length of one and the time the batch spans. */
static bool runs_are_short(const alm_sample *sample, const row_times *ts, uint32_t lo, uint32_t hi)
{
    const int64_t time = sample_collect_time_of(ts, lo + (hi - lo) / 2);
    const int64_t start = alm_bucket_start(&sample->bucketer, time);
    const int64_t end = alm_bucket_next(&sample->bucketer, time);
    const double span =
        (double)sample_collect_time_of(ts, hi - 1) - (double)sample_collect_time_of(ts, lo);
    const double buckets = span / ALM_MAX((double)end - (double)start, 1.0) + 1.0;
    return (double)(hi - lo) < (double)SHORT_RUN * buckets;
}

/* ------------------------------------------------------------------------------------- keyed */

static alm_status sample_collect_reserve_last(alm_ctx *cx, alm_sample_slot *slot, uint32_t n)
{
    if (n <= slot->last_cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n, ALM_MAX(2 * slot->last_cap, 1024U));
    ALM_TRY(
        alm_pool_grow(cx, &slot->pool, &slot->last, (size_t)slot->last_cap * 4, (size_t)cap * 4));
    memset(slot->last + slot->last_cap, 0, (size_t)(cap - slot->last_cap) * 4);
    slot->last_cap = cap;
    return ALM_OK;
}

static alm_status key_numbers(alm_ctx *cx, const alm_sample *sample, alm_sample_slot *slot,
                              alm_sample_part *part, uint32_t n)
{
    if (sample->direct)
        return alm_group_codes(cx, slot->aggs->vec, sample->spec->n_keys, sample->card,
                               sample->dict, n, slot->number);
    ALM_TRY(alm_keymap_add(cx, part->map, slot->aggs->vec, n, slot->number));
    return sample_collect_reserve_last(cx, slot, alm_keymap_count(part->map));
}

/*
 * Two ways to turn the key numbers of n rows, all of the bucket at hand, into group numbers; the
 * number of groups so far is given and returned. Without a branch where many rows open a group, for
 * that cannot be foreseen: what is written beyond the last group is written again by the next, so
 * there is room for one more than rows. With a branch where few do: nothing is stored then.
 */
static uint32_t number_many(const alm_sample_slot *slot, const alm_sample_part *part,
                            uint32_t *restrict number, uint32_t rows, uint32_t groups)
{
    uint32_t *restrict last = slot->last, *restrict keys = part->key;
    int64_t *restrict bucket = part->bucket;
    const int64_t start = slot->start;
    const uint32_t first = slot->first;
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t key = number[i], known = last[key]; /* group + 1 */
        const bool fresh = known <= first;
        bucket[groups] = start;
        keys[groups] = key;
        groups += fresh;
        const uint32_t group = fresh ? groups : known;
        last[key] = group;
        number[i] = group - 1;
    }
    return groups;
}

static uint32_t number_few(const alm_sample_slot *slot, const alm_sample_part *part,
                           uint32_t *restrict number, uint32_t rows, uint32_t groups)
{
    uint32_t *restrict last = slot->last, *restrict keys = part->key;
    int64_t *restrict bucket = part->bucket;
    const uint32_t first = slot->first;
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t key = number[i];
        uint32_t group = last[key]; /* + 1 */
        if (group <= first) {
            bucket[groups] = slot->start;
            keys[groups++] = key;
            last[key] = group = groups;
        }
        number[i] = group - 1;
    }
    return groups;
}

static void number_run(alm_sample_slot *slot, alm_sample_part *part, uint32_t lo, uint32_t end)
{
    enum { MANY = 16 }; /* one row in so many opens a group: as the run before had it */
    const uint32_t before = part->n;
    part->n =
        (slot->many ? number_many : number_few)(slot, part, slot->number + lo, end - lo, before);
    slot->many = (uint64_t)(part->n - before) * MANY > end - lo;
}

static alm_status take_keyed(alm_ctx *cx, const alm_sample *sample, alm_sample_slot *slot,
                             alm_sample_part *part, const row_times *ts, uint32_t lo, uint32_t hi)
{
    ALM_TRY(key_numbers(cx, sample, slot, part, slot->aggs->rows));
    ALM_TRY(reserve_groups(cx, part, hi - lo + 1));
    for (uint32_t i = lo; i < hi;) {
        const int64_t time = sample_collect_time_of(ts, i);
        if (sample_collect_is_behind(slot, time)) {
            open_bucket(&sample->bucketer, slot, time);
            slot->first = part->n;
        }
        const uint32_t end = bucket_rows(ts, i, hi, slot);
        number_run(slot, part, i, end);
        i = end;
    }
    ALM_TRY(alm_states_reserve(cx, slot->aggs, &part->states, &part->pool, part->n));
    return alm_aggs_scatter(cx, slot->aggs, &part->states, slot->number + lo, lo, hi - lo);
}

/* ------------------------------------------------------------------------------------ morsels */

static alm_status flat_times(alm_ctx *cx, const alm_sample *sample, alm_sample_slot *slot,
                             alm_batch *batch, const int64_t **out)
{
    alm_vec *vec = NULL;
    ALM_TRY(alm_batch_column(cx, &slot->scratch, batch, sample->spec->ts_col, &vec));
    alm_vec flat = *vec;
    if (vec->is_const)
        ALM_TRY(alm_vec_expand(cx, &slot->scratch, vec, batch->rows, &flat));
    *out = flat.data;
    return ALM_OK;
}

static alm_status sample_collect_check_order(alm_ctx *cx, const alm_sample *sample,
                                             alm_sample_slot *slot, const int64_t *ts, uint32_t n)
{
    if (sample->sorted || n == 0)
        return ALM_OK;
    if (ts[0] < slot->newest || !sample_collect_ascending(ts, n))
        return alm_fail(cx, ALM_E_ARG, sample->op.plan->pos,
                        "base query does not provide ASC order over designated TIMESTAMP column");
    slot->newest = ts[n - 1];
    return ALM_OK;
}

/* A scan promises order; its filtered rows need no copies of their times. */
static alm_status batch_times(alm_ctx *cx, const alm_sample *sample, alm_sample_slot *slot,
                              alm_batch *batch, row_times *out)
{
    const alm_vec *vec = &batch->cols[sample->spec->ts_col];
    if (sample->sorted && vec->indirect && batch->sel != NULL) {
        *out = (row_times){vec->data, batch->sel};
        return ALM_OK;
    }
    out->sel = NULL;
    ALM_TRY(flat_times(cx, sample, slot, batch, &out->at));
    return sample_collect_check_order(cx, sample, slot, out->at, batch->rows);
}

/* Rows [*lo, *hi) count: not null, and between FROM and TO. */
static void cut_rows(const alm_sample_spec *spec, const row_times *ts, uint32_t *lo, uint32_t *hi)
{
    while (*lo < *hi && sample_collect_time_of(ts, *lo) == ALM_TS_NULL)
        ++*lo; /* nulls come first */
    if (spec->has_from && *lo < *hi && sample_collect_time_of(ts, *lo) < spec->from)
        *lo = sample_collect_run_end(ts, *lo, *hi, spec->from);
    if (spec->has_to && *lo < *hi)
        *hi = sample_collect_time_of(ts, *lo) >= spec->to
                  ? *lo
                  : sample_collect_run_end(ts, *lo, *hi, spec->to);
}

static alm_status sample_collect_take_batch(alm_ctx *cx, alm_sample *sample, alm_sample_slot *slot,
                                            alm_sample_part *part, alm_batch *batch)
{
    row_times ts;
    uint32_t lo = 0, hi = batch->rows;
    alm_arena_reset(&slot->scratch);
    ALM_TRY(batch_times(cx, sample, slot, batch, &ts));
    cut_rows(sample->spec, &ts, &lo, &hi);
    if (lo >= hi)
        return ALM_OK;
    if (!sample->have_bucketer) /* a serial input; a parallel one was asked before */
        ALM_TRY(alm_sample_bucketer(cx, sample, sample_collect_time_of(&ts, lo)));
    ALM_TRY(alm_aggs_eval(cx, slot->aggs, &slot->scratch, batch));
    if (sample->spec->n_keys > 0)
        return take_keyed(cx, sample, slot, part, &ts, lo, hi);
    if (!runs_are_short(sample, &ts, lo, hi))
        return take_long_runs(cx, sample, slot, part, &ts, lo, hi);
    if (ts.sel != NULL)
        ALM_TRY(flat_times(cx, sample, slot, batch, &ts.at));
    return take_short_runs(cx, sample, slot, part, ts.at, lo, hi - lo);
}

alm_status alm_sample_collect(alm_ctx *cx, void *sample, uint32_t slot_no, uint32_t morsel,
                              alm_op *input)
{
    alm_sample *s = sample;
    alm_sample_slot *slot = &s->slot[slot_no];
    alm_sample_part *part = &s->round[morsel - s->round_lo];
    ALM_TRY(alm_sample_slot_ready(cx, s, slot));
    ALM_TRY(alm_sample_part_ready(cx, s, slot, part));
    if (s->direct)
        ALM_TRY(sample_collect_reserve_last(cx, slot, s->n_codes));
    if (slot->last != NULL)
        memset(slot->last, 0, (size_t)slot->last_cap * 4);
    slot->open = false;
    slot->first = 0;
    slot->newest = INT64_MIN;
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        ALM_TRY(sample_collect_take_batch(cx, s, slot, part, batch));
    }
}

alm_status alm_sample_first(alm_ctx *cx, void *sample, uint32_t slot_no, uint32_t morsel,
                            alm_op *input)
{
    alm_sample *s = sample;
    alm_sample_slot *slot = &s->slot[slot_no];
    (void)morsel;
    ALM_TRY(alm_sample_slot_ready(cx, s, slot));
    for (;;) {
        alm_batch *batch = NULL;
        const int64_t *ts = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        alm_arena_reset(&slot->scratch);
        ALM_TRY(flat_times(cx, s, slot, batch, &ts));
        for (uint32_t i = 0; i < batch->rows; i++)
            if (ts[i] != ALM_TS_NULL)
                return alm_sample_bucketer(cx, s, ts[i]);
    }
}
