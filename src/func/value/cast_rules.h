/*
 * cast_rules.h - rules of casting that only this folder needs; the public part is in registry.h.
 */
#ifndef ALM_FUNC_CAST_RULES_H
#define ALM_FUNC_CAST_RULES_H

#include "func/registry.h"

/* May a value of `from` be stored into a column of `target`? */
bool alm_assign_allowed(alm_type from, alm_type target);

/* The DECIMAL that holds all of another type: its own, that of the digits of an integer type, else the
 * usual one. */
alm_type alm_decimal_for(alm_type from);
/* Precision and scale that hold the values of both. */
alm_type alm_decimal_meet(alm_type a, alm_type b);

/* Names of cast rows: "::long" gives null for what does not fit, "=>long" refuses it. Where a strict
 * row is missing the other one cannot fail. "?>date" is for rows where no cast is written and gives null
 * for what "=>date" refuses; where it is missing, "::" reads the same texts as "=>". */
#define ALM_CAST_NAME         "::"
#define ALM_CAST_LENIENT_NAME "?>"
#define ALM_CAST_STRICT_NAME  "=>"

#endif
