/*
 * tables.h - the function tables, one for each file of kernels. registry.c gathers them.
 *
 * A new file declares its table here and lists it in registry.c; nothing else changes.
 */
#ifndef ALM_FUNC_TABLES_H
#define ALM_FUNC_TABLES_H

#include "func/registry.h"

/* clang-format off */
#define ALM_FN_TABLES(X)                                                                           \
    X(arith) X(bits) X(compare) X(compare_text) X(logic) X(in) X(like) X(regex)                    \
    X(cast_number) X(cast_text) X(cast_time) X(cast_net) X(cast_wide) X(cast_decimal) X(cast_array) X(network) \
    X(array) X(array_make) X(array_shape)                                                          \
    X(long256) X(geohash) X(binary) X(decimal) X(decimal_round) X(decimal_sum) X(wide_extreme)     \
    X(json)                                                                                        \
    X(numeric) X(conditional) X(concat) X(text) X(text_make) X(hash) X(finance) X(system) X(pg) X(random)                                                                     \
    X(count) X(sum) X(extreme) X(pick) X(stats) X(distinct) X(sketch) X(percentile) X(haversine) X(arg) X(agg_bits) X(list) X(twap)\
    X(time) X(time_floor) X(time_make) X(time_text) X(time_zone)                                   \
    X(window_rank) X(window_value)
/* clang-format on */

#define ALM_FN_TABLE_DECLARE(name) extern const alm_fn_table alm_fn_table_##name;
ALM_FN_TABLES(ALM_FN_TABLE_DECLARE)
#undef ALM_FN_TABLE_DECLARE

/* Defines the table of a file from its array of rows. */
#define ALM_FN_TABLE(name, rows_)                                                                  \
    const alm_fn_table alm_fn_table_##name = {.rows = (rows_), .count = ALM_COUNT(rows_)}

#endif
