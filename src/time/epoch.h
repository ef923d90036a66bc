/*
 * epoch.h - numbers as times: counts of a unit since 1970, and which unit numbers look like.
 *
 * Guess       A number that is a time of 1980 to 2100 in some unit is one in no other: the ranges do not touch.
 */
#ifndef ALM_TIME_EPOCH_H
#define ALM_TIME_EPOCH_H

#include "time/timestamp.h"

typedef enum alm_epoch {
    ALM_EPOCH_NONE,
    ALM_EPOCH_S,
    ALM_EPOCH_MS,
    ALM_EPOCH_US,
    ALM_EPOCH_NS,
    ALM_EPOCH_DAYS /* no count, but a day of the calendar as a number: 20240131 */
} alm_epoch;

/* s, ms, us, ns; ALM_EPOCH_NONE: another text. */
alm_epoch alm_epoch_of(alm_str text);
const char *alm_epoch_text(alm_epoch unit);  /* "ms" */
const char *alm_epoch_words(alm_epoch unit); /* "milliseconds since 1970" */
int64_t alm_epoch_second(alm_epoch unit);    /* units in a second */
/* What numbers from `least` to `greatest` look like; NONE: nothing of these. */
alm_epoch alm_epoch_guess(int64_t least, int64_t greatest);
/* The unit in which a column of times takes numbers. */
alm_epoch alm_epoch_of_ticks(alm_time_unit unit);

/* A number, perhaps with a fraction, of `unit` (a count) as ticks, rounded down; false: no number, or beyond 64 bits. */
bool alm_epoch_read(alm_str text, alm_epoch unit, alm_time_unit ticks, int64_t *out);

#endif
