/*
 * rank.c - row_number, rank, dense_rank, percent_rank, cume_dist, ntile. They ignore the frame.
 *
 * Source      SQL:2016, 6.10 <window function>.
 */
#include "func/value/args.h"
#include "func/value/tables.h"
#include "func/window/window.h"

static void row_number(const alm_call *call, const alm_window_rows *window_rows, void *out)
{
    (void)call;
    int64_t *dest = out;
    for (uint32_t i = 0; i < window_rows->n; i++)
        dest[i] = (int64_t)i + 1;
}

static void rank(const alm_call *call, const alm_window_rows *window_rows, void *out)
{
    (void)call;
    int64_t *dest = out;
    for (uint32_t i = 0; i < window_rows->n; i++)
        dest[i] = (int64_t)window_rows->peer_lo[i] + 1;
}

static void dense_rank(const alm_call *call, const alm_window_rows *window_rows, void *out)
{
    (void)call;
    int64_t *dest = out;
    int64_t groups = 0;
    for (uint32_t i = 0; i < window_rows->n; i++) {
        groups += window_rows->peer_lo[i] == i;
        dest[i] = groups;
    }
}

static void percent_rank(const alm_call *call, const alm_window_rows *window_rows, void *out)
{
    (void)call;
    double *dest = out;
    const double others = window_rows->n > 1 ? (double)window_rows->n - 1 : 1;
    for (uint32_t i = 0; i < window_rows->n; i++)
        dest[i] = window_rows->peer_lo[i] / others;
}

static void cume_dist(const alm_call *call, const alm_window_rows *window_rows, void *out)
{
    (void)call;
    double *dest = out;
    for (uint32_t i = 0; i < window_rows->n; i++)
        dest[i] = (double)window_rows->peer_hi[i] / window_rows->n;
}

/* The first n % k buckets hold one row more than the others. */
static void ntile(const alm_call *call, const alm_window_rows *window_rows, void *out)
{
    int64_t *dest = out;
    const int64_t k = ((const alm_window_offset *)call->data)->offset;
    const int64_t small = window_rows->n / k, larger = window_rows->n % k;
    const int64_t border = larger * (small + 1);
    for (uint32_t i = 0; i < window_rows->n; i++)
        dest[i] = i < border ? i / (small + 1) + 1 : larger + (i - border) / ALM_MAX(small, 1) + 1;
}

static alm_status ntile_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                             alm_arg *args, alm_type *result, void **data)
{
    (void)fn;
    (void)pos;
    (void)argc;
    (void)result;
    alm_window_offset *offset = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &offset));
    offset->offset = 1;
    if (args[0].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[0], &offset->offset));
    if (offset->offset < 1)
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "ntile: number of buckets must be positive");
    *data = offset;
    return ALM_OK;
}

const alm_window_ops alm_window_row_number = {.rank = row_number};
const alm_window_ops alm_window_rank_ops = {.rank = rank, .ties = true};
const alm_window_ops alm_window_dense_rank = {.rank = dense_rank, .ties = true};
static const alm_window_ops percent_rank_ops = {.rank = percent_rank, .ties = true, .size = true};
static const alm_window_ops cume_dist_ops = {.rank = cume_dist, .ties = true, .size = true};
static const alm_window_ops ntile_ops = {.rank = ntile, .size = true};

#define ROW(f, sig, ops, bind_, doc_)                                                              \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .kind = ALM_FN_WINDOW,                                                                        \
     .bind = bind_,                                                                                \
     .window = &(ops),                                                                             \
     .doc = doc_,                                                                                  \
     .example = "select " f "() over (order by timestamp) from trades limit 3",                    \
     .since = "0.1"}

static const alm_fn rows[] = {
    ROW("row_number", "() LONG", alm_window_row_number, NULL,
        "Number of the row in its partition, from 1."),
    ROW("rank", "() LONG", alm_window_rank_ops, NULL,
        "Number of the first row that ties with this one: 1, 2, 2, 4."),
    ROW("dense_rank", "() LONG", alm_window_dense_rank, NULL,
        "Number of the group of ties the row is in: 1, 2, 2, 3."),
    ROW("percent_rank", "() DOUBLE", percent_rank_ops, NULL,
        "(rank - 1) / (rows of the partition - 1), 0 for a single row."),
    ROW("cume_dist", "() DOUBLE", cume_dist_ops, NULL,
        "Share of the partition's rows that come before or tie with this one."),
    {.name = "ntile",
     .signature = "(buckets LONG const) LONG",
     .kind = ALM_FN_WINDOW,
     .bind = ntile_bind,
     .window = &ntile_ops,
     .doc = "Number of the bucket, from 1, when the partition is cut into equal buckets.",
     .example = "select ntile(4) over (order by price) from trades limit 3",
     .since = "0.1"},
};

ALM_FN_TABLE(window_rank, rows);
