/*
 * sources.c - hands exec's table functions and constant folding to sql/, which may not include it.
 */
#include "session/core/session_state.h"

const alm_source_if *alm_session_sources(void)
{
    static const alm_source_if table = {.find = alm_source_find,
                                        .by_name = alm_source_by_name,
                                        .offer = alm_source_offer,
                                        .bind = alm_source_bind,
                                        .ordered = alm_source_ordered,
                                        .codes = alm_source_codes,
                                        .arg_type = alm_source_arg_type,
                                        .constant = alm_exec_constant};
    return &table;
}
