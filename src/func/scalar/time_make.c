/*
 * time_make.c - times made up: sequences, and random ones within a range (more random times
 * are in random.c).
 *
 * Randomness  A hash of the statement's seed, the place of the call and the number of the row, as in
 *             random.c.
 */
#include "base/hash.h"
#include "func/scalar/time.h"

/* ------------------------------------------------------------------ sequences */

typedef struct sequence_state {
    int64_t next;
    bool started;
} sequence_state;

/* start + the sum of the steps of the rows before. Sums wrap around. */
static alm_status sequence_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    sequence_state *state = call->state;
    int64_t *results = out->data;
    const int64_t start = *(const int64_t *)args[0].data;
    if (args[1].is_const) { /* by the number of the row: no state, any order of batches */
        const int64_t step = *(const int64_t *)args[1].data;
        const bool null = start == ALM_TS_NULL || step == ALM_LONG_NULL;
        for (size_t i = 0; i < n_rows; i++)
            results[i] = null ? ALM_TS_NULL
                              : (int64_t)((uint64_t)start + (uint64_t)step * (call->row_base + i));
        return ALM_OK;
    }
    const int64_t *step = args[1].data;
    if (!state->started)
        *state = (sequence_state){.next = start, .started = true};
    for (size_t i = 0; i < n_rows; i++) {
        results[i] = state->next;
        if (state->next == ALM_TS_NULL || step[i] == ALM_LONG_NULL)
            state->next = ALM_TS_NULL;
        else
            state->next = (int64_t)((uint64_t)state->next + (uint64_t)step[i]);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ shuffle */

typedef struct shuffle_data {
    int64_t lo;
    uint64_t width; /* hi - lo */
} shuffle_data;

static alm_status shuffle_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos, uint32_t argc,
                               alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    shuffle_data *d;
    int64_t hi;
    for (uint32_t i = 0; i < argc; i++)
        if (args[i].is_param && args[i].value == NULL)
            return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &d));
    ALM_TRY(alm_time_const_ticks(cx, &args[0], ALM_TIME_US, &d->lo));
    ALM_TRY(alm_time_const_ticks(cx, &args[1], ALM_TIME_US, &hi));
    if (d->lo == ALM_TS_NULL || hi == ALM_TS_NULL || d->lo > hi)
        return alm_fail(cx, ALM_E_ARG, pos, "invalid range");
    d->width = (uint64_t)hi - (uint64_t)d->lo;
    *data = d;
    return ALM_OK;
}

static alm_status shuffle_run(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                              alm_vec *out)
{
    const shuffle_data *d = call->data;
    int64_t *results = out->data;
    if (d == NULL)
        return alm_time_no_value(call);
    const uint64_t place = call->cx->seed ^ ((uint64_t)(uint32_t)call->pos << 32) * ALM_HASH_K1;
    for (size_t i = 0; i < n_rows; i++) { /* the high half of the product: even over the width */
        const unsigned __int128 int128 = alm_hash_u128(place, call->row_base + i);
        results[i] = (int64_t)((uint64_t)d->lo +
                               (uint64_t)(int128 * ((unsigned __int128)d->width + 1) >> 64));
    }
    return ALM_OK;
}

#define SEQUENCE(name_, sig, example_)                                                             \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .flags = ALM_FN_VOLATILE,                                                                     \
     .kernel = sequence_run,                                                                       \
     .state_bytes = sizeof(sequence_state),                                                        \
     .doc = "Start in the first row, each further row a step later (a count of the unit).",        \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    SEQUENCE("timestamp_sequence", "(start TIME, step LONG) TIME",
             "timestamp_sequence('2024-01-01', 1000000)"),
    SEQUENCE("timestamp_sequence_ns", "(start TIMESTAMP_NS, step LONG) TIMESTAMP_NS",
             "timestamp_sequence_ns('2024-01-01', 1000000000)"),
    ALM_TIME_FN("timestamp_shuffle", "(lo TIMESTAMP const, hi TIMESTAMP const) TIMESTAMP",
                ALM_FN_VOLATILE, shuffle_bind, shuffle_run, 0, "Random time between two.",
                "timestamp_shuffle('2024-01-01', '2024-12-31')"),
};
ALM_FN_TABLE(time_make, ROWS);
