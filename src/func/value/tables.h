/*
 * tables.h - the function tables, one for each file of kernels. registry.c gathers them.
 *
 * A new file declares its table here and lists it in registry.c; nothing else changes.
 */
#ifndef ALM_FUNC_TABLES_H
#define ALM_FUNC_TABLES_H

#include "func/registry.h"

/* clang-format off */
/* X(table, group); the group names the page under docs/sql/functions. Ties of overloads go by order. */
#define ALM_FN_TABLES(X)                                                                           \
    X(arith, "numeric") X(bits, "operators") X(compare, "operators") X(compare_times, "operators") \
    X(compare_text, "operators") X(logic, "operators") X(in, "operators") X(like, "text")          \
    X(regex, "text") X(cast_number, "casts") X(cast_text, "casts") X(cast_time, "casts")           \
    X(cast_net, "casts") X(cast_wide, "casts") X(cast_decimal, "casts") X(cast_array, "casts")     \
    X(network, "network") X(array, "array") X(array_make, "array") X(array_shape, "array")         \
    X(long256, "numeric") X(geohash, "geo") X(binary, "hash") X(decimal, "numeric")                \
    X(decimal_round, "numeric") X(decimal_sum, "aggregates") X(wide_extreme, "aggregates")         \
    X(json, "json") X(numeric, "numeric") X(conditional, "conditional") X(concat, "text")          \
    X(text, "text") X(text_make, "text") X(format, "text") X(hash, "hash") X(finance, "finance") X(system, "meta")   \
    X(pg, "postgresql") X(regproc, "postgresql") X(random, "random") X(count, "aggregates") X(sum, "aggregates")            \
    X(extreme, "aggregates") X(pick, "aggregates") X(stats, "statistics")                          \
    X(distinct, "aggregates") X(sketch, "aggregates") X(percentile, "aggregates")                  \
    X(haversine, "geo") X(arg, "aggregates") X(agg_bits, "aggregates") X(list, "aggregates")       \
    X(twap, "finance") X(smooth, "aggregates") X(time, "date-time") X(time_floor, "date-time")     \
    X(time_make, "date-time") X(time_text, "date-time") X(time_zone, "date-time")                  \
    X(window_rank, "window") X(window_value, "window")                                             \
    X(array_elements, "array") X(array_arrange, "array") X(moments, "statistics")                  \
    X(chart, "text") X(distance, "geo") X(text_list, "postgresql") X(row, "postgresql")            \
    X(list_text, "aggregates")
/* clang-format on */

#define ALM_FN_TABLE_DECLARE(name, group) extern const alm_fn_table alm_fn_table_##name;
ALM_FN_TABLES(ALM_FN_TABLE_DECLARE)
#undef ALM_FN_TABLE_DECLARE

/* Defines the table of a file from its array of rows. */
#define ALM_FN_TABLE(name, rows_)                                                                  \
    const alm_fn_table alm_fn_table_##name = {.rows = (rows_), .count = ALM_COUNT(rows_)}

#endif
