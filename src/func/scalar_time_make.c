/*
 * scalar_time_make.c - times made up: sequences and random ones.
 *
 * Randomness  A hash of the statement's seed, the place of the call, the number of the row and a
 *             count of batches: no generator is carried from row to row, so that threads are
 *             independent, and a statement with the same seed gives the same rows.
 */
#include "func/scalar_time.h"

/* ------------------------------------------------------------------ sequences */

typedef struct sequence_state {
    int64_t next;
    bool started;
} sequence_state;

/* start + the sum of the steps of the rows before. Sums wrap around. */
static alm_status sequence_run(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    sequence_state *state = call->state;
    int64_t *o = out->data;
    const int64_t start = *(const int64_t *)args[0].data;
    if (args[1].is_const) { /* by the number of the row: no state, any order of batches */
        const int64_t step = *(const int64_t *)args[1].data;
        const bool null = start == ALM_TS_NULL || step == ALM_LONG_NULL;
        for (size_t i = 0; i < n; i++)
            o[i] = null ? ALM_TS_NULL
                        : (int64_t)((uint64_t)start + (uint64_t)step * (call->row_base + i));
        return ALM_OK;
    }
    const int64_t *step = args[1].data;
    if (!state->started)
        *state = (sequence_state){.next = start, .started = true};
    for (size_t i = 0; i < n; i++) {
        o[i] = state->next;
        if (state->next == ALM_TS_NULL || step[i] == ALM_LONG_NULL)
            state->next = ALM_TS_NULL;
        else
            state->next = (int64_t)((uint64_t)state->next + (uint64_t)step[i]);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ random times */

typedef struct random_data {
    int64_t lo;
    uint64_t width;     /* hi - lo; all of 64 bits where the ends are those of int64 */
    uint32_t null_rate; /* 0: no nulls; else one row in null_rate + 1 */
} random_data;

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static alm_status random_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos, uint32_t argc,
                              alm_arg *args, alm_type *result, void **data)
{
    random_data *d;
    int64_t hi;
    const alm_time_unit unit = alm_time_unit_of(*result);
    for (uint32_t i = 0; i < argc; i++)
        if (args[i].is_param && args[i].value == NULL)
            return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &d));
    ALM_TRY(alm_time_const_ticks(cx, &args[0], unit, &d->lo));
    ALM_TRY(alm_time_const_ticks(cx, &args[1], unit, &hi));
    if (d->lo == ALM_TS_NULL || hi == ALM_TS_NULL || d->lo > hi)
        return alm_fail(cx, ALM_E_ARG, pos, "invalid range");
    const int64_t rate = argc > 2 ? alm_time_const_long(&args[2], -1) : 0;
    if (rate < 0 || rate > INT32_MAX)
        return alm_fail(cx, ALM_E_ARG, args[argc - 1].pos, "invalid null rate");
    d->width = (uint64_t)hi - (uint64_t)d->lo;
    d->null_rate = (uint32_t)rate;
    *data = d;
    return ALM_OK;
}

static alm_status random_run(alm_call *call, size_t n, ALM_UNUSED const alm_vec *args, alm_vec *out)
{
    const random_data *d = call->data;
    uint64_t *batches = call->state;
    int64_t *o = out->data;
    if (d == NULL)
        return alm_time_no_value(call);
    const uint64_t key =
        mix(call->cx->seed ^ mix((uint64_t)(uint32_t)call->pos << 32 ^ (*batches)++));
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = mix(key ^ mix(call->row_base + i));
        /* high half of the product: even over the width */
        const uint64_t at =
            d->width == UINT64_MAX ? r : (uint64_t)((unsigned __int128)r * (d->width + 1) >> 64);
        const bool null = d->null_rate > 0 && mix(r) % ((uint64_t)d->null_rate + 1) == 0;
        o[i] = null ? ALM_TS_NULL : (int64_t)((uint64_t)d->lo + at);
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
#define RANDOM(name_, sig, doc_, example_)                                                         \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .flags = ALM_FN_VOLATILE,                                                                     \
     .bind = random_bind,                                                                          \
     .kernel = random_run,                                                                         \
     .state_bytes = sizeof(uint64_t),                                                              \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define RANDOM_DOC                                                                                 \
    "Random time between two; nulls: 0 for none, else about one row in that number plus one is "   \
    "null."

static const alm_fn ROWS[] = {
    SEQUENCE("timestamp_sequence", "(start TIME, step LONG) TIME",
             "timestamp_sequence('2024-01-01', 1000000)"),
    SEQUENCE("timestamp_sequence_ns", "(start TIMESTAMP_NS, step LONG) TIMESTAMP_NS",
             "timestamp_sequence_ns('2024-01-01', 1000000000)"),
    RANDOM("rnd_timestamp", "(lo TIMESTAMP const, hi TIMESTAMP const, nulls INT const) TIMESTAMP",
           RANDOM_DOC, "rnd_timestamp('2024-01-01', '2024-12-31', 0)"),
    RANDOM("rnd_timestamp_ns",
           "(lo TIMESTAMP_NS const, hi TIMESTAMP_NS const, nulls INT const) TIMESTAMP_NS",
           RANDOM_DOC, "rnd_timestamp_ns('2024-01-01', '2024-12-31', 0)"),
    RANDOM("rnd_date", "(lo DATE const, hi DATE const, nulls INT const) DATE", RANDOM_DOC,
           "rnd_date('2024-01-01', '2024-12-31', 0)"),
    RANDOM("timestamp_shuffle", "(lo TIMESTAMP const, hi TIMESTAMP const) TIMESTAMP",
           "Random time between two.", "timestamp_shuffle('2024-01-01', '2024-12-31')"),
};
ALM_FN_TABLE(time_make, ROWS);
