/*
 * value.c - lag, lead, first_value, last_value, nth_value: values of other rows.
 *
 * Types       BYTE, SHORT and INT give LONG, FLOAT gives DOUBLE (the reference has no narrower ones);
 *             every other type stays as it is.
 * Cost        Constant per row.
 */
#include "func/value/args.h"
#include "func/value/tables.h"
#include "func/window/window.h"

uint32_t alm_window_pieces(const alm_window_rows *window_rows, uint32_t i, alm_window_range out[3])
{
    const uint32_t lo = window_rows->lo[i], hi = window_rows->hi[i];
    alm_window_range all[3] = {{lo, hi}, {0, 0}, {0, 0}};
    if (window_rows->exclude == ALM_EXCLUDE_CURRENT) {
        all[0] = (alm_window_range){lo, ALM_MIN(hi, i)};
        all[1] = (alm_window_range){ALM_MAX(lo, i + 1), hi};
    } else if (window_rows->exclude == ALM_EXCLUDE_GROUP ||
               window_rows->exclude == ALM_EXCLUDE_TIES) {
        const uint32_t group_lo = window_rows->peer_lo[i], group_hi = window_rows->peer_hi[i];
        all[0] = (alm_window_range){lo, ALM_MIN(hi, group_lo)};
        if (window_rows->exclude == ALM_EXCLUDE_TIES)
            all[1] = (alm_window_range){ALM_MAX(lo, i), ALM_MIN(hi, i + 1)};
        all[2] = (alm_window_range){ALM_MAX(lo, group_hi), hi};
    }
    uint32_t count = 0;
    for (uint32_t k = 0; k < 3; k++)
        if (all[k].lo < all[k].hi)
            out[count++] = all[k];
    return count;
}

/* Rows that count, by ordinal: those before position i, and the position of the k-th. */
static inline uint32_t ordinal(const alm_window_rows *window_rows, uint32_t i)
{
    return window_rows->before != NULL ? window_rows->before[i] : i;
}

static inline uint32_t window_value_position(const alm_window_rows *window_rows, uint32_t k)
{
    return window_rows->some != NULL ? window_rows->some[k] : k;
}

/* ---------------------------------------------------------------------------- lag and lead */

static int64_t window_value_offset_of(const alm_call *call)
{
    return ((const alm_window_offset *)call->data)->offset;
}

static void same_row(const alm_window_rows *window_rows, uint32_t *at)
{
    for (uint32_t i = 0; i < window_rows->n; i++)
        at[i] = i;
}

static void lag(const alm_call *call, const alm_window_rows *window_rows, uint32_t *at)
{
    const int64_t k = window_value_offset_of(call);
    if (k == 0) {
        same_row(window_rows, at);
        return;
    }
    for (uint32_t i = 0; i < window_rows->n; i++) {
        const uint32_t seen = ordinal(window_rows, i);
        at[i] =
            seen >= k ? window_value_position(window_rows, (uint32_t)(seen - k)) : ALM_WINDOW_NONE;
    }
}

static void lead(const alm_call *call, const alm_window_rows *window_rows, uint32_t *at)
{
    const int64_t k = window_value_offset_of(call), all = ordinal(window_rows, window_rows->n);
    if (k == 0) {
        same_row(window_rows, at);
        return;
    }
    for (uint32_t i = 0; i < window_rows->n; i++) {
        const int64_t left = all - ordinal(window_rows, i + 1);
        at[i] = k <= left ? window_value_position(window_rows, (uint32_t)(all - left + k - 1))
                          : ALM_WINDOW_NONE;
    }
}

/* ------------------------------------------------------------------------- values of frames */

/* The k-th row, from 1, of what is left of the frame of i; k < 0: from the end. */
static uint32_t row_of_frame(const alm_window_rows *window_rows, uint32_t i, int64_t k)
{
    alm_window_range piece[3];
    const uint32_t n = alm_window_pieces(window_rows, i, piece);
    for (uint32_t p = 0; p < n; p++) {
        const alm_window_range range = piece[k > 0 ? p : n - 1 - p];
        const int64_t lo = ordinal(window_rows, range.lo), hi = ordinal(window_rows, range.hi);
        if (k > 0 && k <= hi - lo)
            return window_value_position(window_rows, (uint32_t)(lo + k - 1));
        if (k < 0 && -k <= hi - lo)
            return window_value_position(window_rows, (uint32_t)(hi + k));
        k += k > 0 ? lo - hi : hi - lo;
    }
    return ALM_WINDOW_NONE;
}

static void window_first_value(const alm_call *call, const alm_window_rows *window_rows,
                               uint32_t *at)
{
    (void)call;
    for (uint32_t i = 0; i < window_rows->n; i++)
        at[i] = row_of_frame(window_rows, i, 1);
}

static void last_value(const alm_call *call, const alm_window_rows *window_rows, uint32_t *at)
{
    (void)call;
    for (uint32_t i = 0; i < window_rows->n; i++)
        at[i] = row_of_frame(window_rows, i, -1);
}

static void nth_value(const alm_call *call, const alm_window_rows *window_rows, uint32_t *at)
{
    for (uint32_t i = 0; i < window_rows->n; i++)
        at[i] = row_of_frame(window_rows, i, window_value_offset_of(call));
}

/* ------------------------------------------------------------------------------------- bind */

static alm_type widened(alm_type type)
{
    switch (type.id) {
    case ALM_T_BYTE:
    case ALM_T_SHORT:
    case ALM_T_INT:
        return ALM_TY(LONG);
    case ALM_T_FLOAT:
        return ALM_TY(DOUBLE);
    case ALM_T_NULL:
        return ALM_TY(STRING);
    default:
        return type;
    }
}

static alm_status value_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                             alm_arg *args, alm_type *result, void **data)
{
    (void)cx;
    (void)fn;
    (void)pos;
    (void)argc;
    (void)data;
    args[0].type = widened(args[0].type);
    *result = args[0].type;
    return ALM_OK;
}

static alm_status offset_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                              alm_arg *args, alm_type *result, void **data)
{
    alm_window_offset *offset = NULL;
    ALM_TRY(value_bind(cx, fn, pos, argc, args, result, data));
    ALM_TRY(ALM_NEW(cx, cx->arena, &offset));
    offset->offset = 1;
    if (argc > 1 && args[1].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[1], &offset->offset));
    if (offset->offset < 0)
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "offset must be a positive integer");
    if (argc > 2)
        args[2].type = args[0].type;
    *data = offset;
    return ALM_OK;
}

static alm_status nth_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc, alm_arg *args,
                           alm_type *result, void **data)
{
    ALM_TRY(offset_bind(cx, fn, pos, argc, args, result, data));
    if (((alm_window_offset *)*data)->offset < 1)
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "nth_value: n must be positive");
    return ALM_OK;
}

const alm_window_ops alm_window_lag = {.pick = lag, .default_arg = 2};
const alm_window_ops alm_window_lead = {.pick = lead, .default_arg = 2, .size = true};
const alm_window_ops alm_window_first_value = {.pick = window_first_value, .frame = true};
const alm_window_ops alm_window_last_value = {.pick = last_value, .frame = true};
static const alm_window_ops nth_value_ops = {.pick = nth_value, .frame = true};

#define ROW(f, sig, ops, bind_, doc_, example_)                                                    \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .kind = ALM_FN_WINDOW,                                                                        \
     .flags = ALM_FN_SYMBOLS,                                                                      \
     .bind = bind_,                                                                                \
     .window = &(ops),                                                                             \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define LAG                                                                                        \
    "Value `offset` rows before in the partition (1 if not given), else the default or null."
#define LEAD                                                                                       \
    "Value `offset` rows after in the partition (1 if not given), else the default or null."

static const alm_fn rows[] = {
    ROW("lag", "(value ANY) ?", alm_window_lag, offset_bind, LAG,
        "select price - lag(price) over (partition by symbol order by timestamp) from trades limit "
        "3"),
    ROW("lag", "(value ANY, offset LONG const) ?", alm_window_lag, offset_bind, LAG,
        "select lag(price, 2) over (order by timestamp) from trades limit 3"),
    ROW("lag", "(value ANY, offset LONG const, default ANY) ?", alm_window_lag, offset_bind, LAG,
        "select lag(price, 1, 0.0) over (order by timestamp) from trades limit 3"),
    ROW("lead", "(value ANY) ?", alm_window_lead, offset_bind, LEAD,
        "select lead(price) over (partition by symbol order by timestamp) from trades limit 3"),
    ROW("lead", "(value ANY, offset LONG const) ?", alm_window_lead, offset_bind, LEAD,
        "select lead(price, 2) over (order by timestamp) from trades limit 3"),
    ROW("lead", "(value ANY, offset LONG const, default ANY) ?", alm_window_lead, offset_bind, LEAD,
        "select lead(price, 1, 0.0) over (order by timestamp) from trades limit 3"),
    ROW("first_value", "(value ANY) ?", alm_window_first_value, value_bind,
        "Value of the first row of the frame; IGNORE NULLS: the first that is not null.",
        "select first_value(price) over (partition by symbol order by timestamp) from trades limit "
        "3"),
    ROW("last_value", "(value ANY) ?", alm_window_last_value, value_bind,
        "Value of the last row of the frame; IGNORE NULLS: the last that is not null.",
        "select last_value(price) over (order by timestamp rows 10 preceding) from trades limit 3"),
    ROW("nth_value", "(value ANY, n LONG const) ?", nth_value_ops, nth_bind,
        "Value of row n of the frame, counted from 1; null if there are fewer rows.",
        "select nth_value(price, 2) over (order by timestamp) from trades limit 3"),
};

ALM_FN_TABLE(window_value, rows);
