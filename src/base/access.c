/* access.c - see access.h: names that clients write. */
#include "base/access.h"

/* Names of tables and columns have no case. */
static alm_status small_letters(alm_ctx *cx, alm_str name, const char **out)
{
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, name.len + 1, &text));
    for (size_t i = 0; i < name.len; i++)
        text[i] =
            (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] | 0x20 : name.ptr[i]);
    text[name.len] = 0;
    *out = text;
    return ALM_OK;
}

alm_status alm_access_lists(alm_ctx *cx, alm_str name, bool *out)
{
    const char *text = NULL;
    *out = true;
    if (cx->access == NULL)
        return ALM_OK;
    ALM_TRY(small_letters(cx, name, &text));
    *out = alm_access_sees(cx, text);
    return ALM_OK;
}

alm_status alm_access_gate(alm_ctx *cx, const alm_access_ask *ask, alm_str name,
                           const alm_str *columns, uint32_t n_columns)
{
    alm_access_ask question = *ask;
    const char **names = NULL;
    if (cx->access == NULL)
        return ALM_OK;
    ALM_TRY(small_letters(cx, name, &question.table));
    if (alm_access_sees(cx, question.table))
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_columns + 1, &names));
    for (uint32_t i = 0; i < n_columns; i++)
        ALM_TRY(small_letters(cx, columns[i], &names[i]));
    question.columns = names;
    question.n = n_columns;
    return cx->access->may(cx, cx->access->arg, &question);
}
