/*
 * args.h - constants that bind reads: a text, a whole number, a value in another type.
 *
 * Null rule   A null constant gives text.ptr NULL, ALM_LONG_NULL, or the null of the type.
 * Ownership   Texts are in the query arena or in the constant itself.
 */
#ifndef ALM_FUNC_ARGS_H
#define ALM_FUNC_ARGS_H

#include "func/registry.h"

/* STRING, VARCHAR, SYMBOL or CHAR; ALM_E_TYPE for other types. args->value is set. */
ALM_NODISCARD alm_status alm_arg_text(alm_ctx *cx, const alm_arg *arg, alm_str *out);
/* Any integer or floating number, or a text of one. */
ALM_NODISCARD alm_status alm_arg_long(alm_ctx *cx, const alm_arg *arg, int64_t *out);
ALM_NODISCARD alm_status alm_arg_double(alm_ctx *cx, const alm_arg *arg, double *out);
/*
 * The constant as `target`, into 32 bytes at most. Text is read strictly. *fits is false where a number
 * has no equal in `target` (1.5 as INT, 300 as BYTE): then nothing is written.
 */
ALM_NODISCARD alm_status alm_arg_value(alm_ctx *cx, const alm_arg *arg, alm_type target, void *out,
                                       bool *fits);

#endif
