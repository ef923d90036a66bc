/*
 * answer_text.h - rows of the formats that are text (codec/result_text.h). Private to net/http/query.
 */
#ifndef ALM_NET_HTTP_QUERY_ANSWER_TEXT_H
#define ALM_NET_HTTP_QUERY_ANSWER_TEXT_H

#include "net/http/query/run_state.h"

/* Makes run->writer for the columns that are chosen. */
ALM_NODISCARD alm_status alm_answer_text_begin(alm_query_run *run, const alm_plan_col *cols,
                                               alm_result_form form);
/* As alm_answer_ops.rows. */
ALM_NODISCARD alm_status alm_answer_text_rows(alm_query_run *run);

#endif
