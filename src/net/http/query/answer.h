/*
 * answer.h - output formats of a statement over HTTP. Private to net/http.
 *
 * Table       A format is a row of answer.def and a file answer_<name>.c with its functions. run.c calls begin once the
 *             columns are chosen, rows for each batch until it is written, and end behind the last one; all append to
 *             run->out.
 * Threads     read runs on the loop thread, the others on the thread that makes the piece.
 */
#ifndef ALM_NET_HTTP_QUERY_ANSWER_H
#define ALM_NET_HTTP_QUERY_ANSWER_H

#include "net/http/exchange/http.h"
#include "session/session.h"

struct alm_query_run; /* run_state.h */

typedef struct alm_answer_ops {
    /* Parameters of the request that only this format has, into *options; false: the error was sent. NULL: there are none. */
    bool (*read)(alm_http *h, alm_str query, const void **options);
    ALM_NODISCARD alm_status (*begin)(struct alm_query_run *run, const alm_plan_col *cols);
    /* Some rows of run->batch from run->row on, at least one; advances run->row. */
    ALM_NODISCARD alm_status (*rows)(struct alm_query_run *run);
    ALM_NODISCARD alm_status (*end)(struct alm_query_run *run); /* NULL: nothing follows the rows */
    void (*close)(struct alm_query_run *run); /* frees what the arena does not; NULL: nothing */
    /* In place of begin, for rows that are kept for paging (held.h); NULL: the format has no paging. */
    ALM_NODISCARD alm_status (*begin_held)(struct alm_query_run *run, const alm_plan_col *cols);
    bool typed; /* some columns or values have no form in it, so a result may fail to be written */
    bool compressed; /* its bytes are compressed: no Content-Encoding */
} alm_answer_ops;

typedef struct alm_answer_format {
    const char *name;   /* value of fmt=, and the file extension */
    const char *accept; /* media type, as clients name it in Accept */
    const char *type;   /* Content-Type */
    const alm_answer_ops *ops;
} alm_answer_format;

typedef enum alm_answer_id {
#define ALM_ANSWER(id, name, accept, type) ALM_ANSWER_##id,
#include "net/http/query/answer.def"
#undef ALM_ANSWER
    ALM_ANSWER_COUNT
} alm_answer_id;

#define ALM_ANSWER(id, name, accept, type) extern const alm_answer_ops alm_answer_##name;
#include "net/http/query/answer.def"
#undef ALM_ANSWER
extern const alm_answer_format alm_answer_formats[ALM_ANSWER_COUNT];

/* {"name":...,"type":...} of a column. */
ALM_NODISCARD alm_status alm_answer_json_column(alm_ctx *cx, alm_buf *out, const alm_plan_col *col);

#endif
