/*
 * script.h - input, line by line, to statements: a statement ends at a ; outside of strings and
 * comments, or at the end of the input. Comments before a statement do not belong to it.
 *
 * Cost        A line is looked at once; the text of an open string again, with each line that has a ;.
 */
#ifndef ALM_CLI_SCRIPT_H
#define ALM_CLI_SCRIPT_H

#include "base/base.h"

typedef struct alm_script {
    alm_buf text;
    size_t used;  /* behind the last statement */
    size_t seen;  /* tokens up to here are known to hold no end */
    int64_t line; /* of text.ptr[used], from 1 */
} alm_script;

typedef struct alm_script_statement {
    alm_str text; /* without the ;, until the next feed */
    int64_t line; /* where it begins */
} alm_script_statement;

void alm_script_init(alm_script *script);
void alm_script_deinit(alm_script *script);
/* ALM_E_LIMIT: a statement of more than 1 GiB. */
ALM_NODISCARD alm_status alm_script_feed(alm_ctx *cx, alm_script *script, alm_str line);
/* Is there a whole statement? `last`: nothing comes any more, the rest is one too. */
bool alm_script_next(alm_script *script, bool last, alm_script_statement *out);

#endif
