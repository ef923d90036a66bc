/*
 * finance.c - mid, spread, spread_bps, wmid, l2price.
 *
 * Null rule   Null in, null out; a result that is not finite is null.
 */
#include "func/value/kernel.h"
#include "func/value/tables.h"

ALM_BINARY(mid, double, double, double, ALM_FINITE((x + y) / 2))
ALM_BINARY(spread, double, double, double, ALM_FINITE(y - x))
ALM_BINARY(spread_bps, double, double, double, ALM_FINITE((y - x) / ((x + y) / 2) * 10000))

/* wmid(bid size, bid, ask, ask size): the price leans to the side that has less on offer. */
static alm_status wmid(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const double bid_size = ALM_AT(double, args[0], i), bid = ALM_AT(double, args[1], i),
                     ask = ALM_AT(double, args[2], i), ask_size = ALM_AT(double, args[3], i);
        const double share = bid_size / (bid_size + ask_size);
        results[i] = ALM_FINITE(ask * share + bid * (1 - share));
    }
    return ALM_OK;
}

/* l2price(wanted, size, price, size, price, ...): average price of that amount from the levels. */
static alm_status finance_l2price(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const double want = ALM_AT(double, args[0], i);
        double left = want, cost = 0;
        uint32_t k = 1;
        for (; k + 1 < call->argc; k += 2) {
            const double size = ALM_AT(double, args[k], i), price = ALM_AT(double, args[k + 1], i);
            if (size != size || price != price)
                continue;
            if (size >= left)
                break;
            cost += size * price;
            left -= size;
        }
        const double last = k + 1 < call->argc ? ALM_AT(double, args[k + 1], i) : __builtin_nan("");
        results[i] = want == 0 ? last : ALM_FINITE((cost + left * last) / want);
    }
    return ALM_OK;
}

static alm_status bind_levels(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos, uint32_t argc,
                              ALM_UNUSED alm_arg *args, ALM_UNUSED alm_type *result,
                              ALM_UNUSED void **data)
{
    if (argc % 2 == 0)
        return alm_fail(cx, ALM_E_FUNCTION, pos, "l2price requires an odd number of arguments.");
    return ALM_OK;
}

#define ROW(f, sig, bind_, kernel_, doc_, example_)                                                \
    {.name = f,                                                                                    \
     .signature = sig " DOUBLE",                                                                   \
     .flags = ALM_FN_NULL_OUT,                                                                     \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("mid", "(DOUBLE, DOUBLE)", NULL, mid, "Middle between bid and ask.", "mid(1.5, 2.5)"),
    ROW("spread", "(DOUBLE, DOUBLE)", NULL, spread, "Ask less bid.", "spread(1.5, 2.5)"),
    ROW("spread_bps", "(DOUBLE, DOUBLE)", NULL, spread_bps,
        "Spread in hundredths of a percent of the middle.", "spread_bps(1.5, 2.5)"),
    ROW("wmid", "(DOUBLE, DOUBLE, DOUBLE, DOUBLE)", NULL, wmid,
        "Middle weighted by what is on offer: bid size, bid, ask, ask size.",
        "wmid(100, 5, 6, 300)"),
    {.name = "l2price",
     .signature = "(DOUBLE, DOUBLE, DOUBLE, DOUBLE...) DOUBLE",
     .bind = bind_levels,
     .kernel = finance_l2price,
     .doc = "Average price of an amount taken from levels of size and price; levels with a null "
            "are left "
            "out.",
     .example = "l2price(100, 50, 10.0, 50, 11.0)",
     .since = "0.1"},
};
ALM_FN_TABLE(finance, ROWS);
