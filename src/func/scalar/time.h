/*
 * time.h - what the files of date and time functions share: units of types, constant
 * arguments, columns in pieces.
 */
#ifndef ALM_FUNC_SCALAR_TIME_H
#define ALM_FUNC_SCALAR_TIME_H

#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "time/bucket.h"
#include "time/calendar.h"
#include "time/timestamp.h"
#include "time/zone.h"
#include "type/ops.h"

enum { ALM_TIME_CHUNK = 512 }; /* rows taken at once where an argument must be brought into shape */

/* INTERVAL: closed, microseconds; both ends null is null. */
typedef struct alm_interval_value {
    int64_t lo, hi;
} alm_interval_value;

static inline alm_time_unit alm_time_unit_of(alm_type type)
{
    return alm_type_unit(type);
}

/* Text of a constant argument; ptr NULL: null, or a bind variable without a value. */
alm_str alm_time_const_text(const alm_arg *arg);
/* Constant argument as ticks of `unit`, whatever its type; null stays null. ALM_E_TIME "Invalid date
 * [str=x]" for a text that is no time. */
ALM_NODISCARD alm_status alm_time_const_ticks(alm_ctx *cx, const alm_arg *arg, alm_time_unit unit,
                                              int64_t *out);
/* Constant INT or LONG; `absent` for null or without a value. */
int64_t alm_time_const_long(const alm_arg *arg, int64_t absent);

/* The error of a kernel whose constant was a bind variable without a value when it was bound. */
alm_status alm_time_no_value(const alm_call *call);

/* Rows first .. first + n_rows - 1 (n at most ALM_TIME_CHUNK) of 64-bit values; a constant, or a column
 * of INT, is spread over `room`. */
const int64_t *alm_time_piece(const alm_vec *vec, size_t first, size_t n_rows,
                              int64_t room[ALM_TIME_CHUNK]);

/* How many of the rows first .. n_rows - 1 have the text of the first one, ALM_TIME_CHUNK at most. */
size_t alm_time_same_text(const alm_vec *texts, size_t first, size_t n_rows);

/* Row of a table: all fields that differ. */
#define ALM_TIME_FN(name_, sig, flags_, bind_, kernel_, mono, doc_, example_)                      \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .monotone_arg = mono,                                                                         \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

#endif
