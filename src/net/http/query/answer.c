/* answer.c - see answer.h. */
#include "net/http/query/answer.h"

const alm_answer_format alm_answer_formats[ALM_ANSWER_COUNT] = {
#define ALM_ANSWER(id, name, accept, type)                                                         \
    [ALM_ANSWER_##id] = {#name, accept, type, &alm_answer_##name},
#include "net/http/query/answer.def"
#undef ALM_ANSWER
};
