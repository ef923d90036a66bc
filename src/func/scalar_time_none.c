/*
 * scalar_time_none.c - an empty table of date and time functions, for builds without scalar_time.c.
 */
#include "func/tables.h"

const alm_fn_table alm_fn_table_time __attribute__((weak)) = {.rows = NULL, .count = 0};
