/*
 * signature.h - signatures of registry.h as values. Parsed once, when the registry is made.
 */
#ifndef ALM_FUNC_SIGNATURE_H
#define ALM_FUNC_SIGNATURE_H

#include "func/registry.h"

typedef enum alm_family {
    ALM_FAM_TYPE, /* exactly .type */
    ALM_FAM_ANY,
    ALM_FAM_NUMERIC,
    ALM_FAM_INTEGRAL,
    ALM_FAM_TEXT,
    ALM_FAM_TIME,
    ALM_FAM_SAME,
    ALM_FAM_BOUND /* `?`: bind says */
} alm_family;

typedef struct alm_sig_param {
    alm_family family;
    alm_type type;
    bool is_const;
    bool is_rest; /* zero or more */
} alm_sig_param;

enum { ALM_SIG_PARAMS = 16 };

typedef struct alm_signature {
    alm_sig_param params[ALM_SIG_PARAMS];
    uint32_t n_params;
    uint32_t min_args, max_args; /* max_args UINT32_MAX: no limit */
    alm_sig_param result;
} alm_signature;

/* False: the text is not a signature. */
bool alm_signature_parse(const char *text, alm_signature *out);
/* What stands at argument i; the last parameter repeats. */
const alm_sig_param *alm_signature_param(const alm_signature *sig, uint32_t i);
/* Is the type acceptable as it is? */
bool alm_family_has(const alm_sig_param *param, alm_type type);
/* The type an argument is cast to. `first` is the (cast) type of the first argument. */
alm_type alm_family_target(const alm_sig_param *param, alm_type arg, alm_type first);
const char *alm_family_name(const alm_sig_param *param);

#endif
