/*
 * run_state.h - a statement over HTTP as it runs: its statements (script.c), their start and delivery (run.c), the pieces of the
 * answer (piece.c, answer_*.c), and rows that are held for paging (held.c). Private to net/http/query.
 */
#ifndef ALM_NET_HTTP_QUERY_RUN_STATE_H
#define ALM_NET_HTTP_QUERY_RUN_STATE_H

#include "codec/compress/pack.h"
#include "codec/result_text.h"
#include "net/http/query/held.h"
#include "net/http/query/places.h"
#include "net/http/query/run.h"
#include "net/http/query/tagged.h"

typedef struct alm_query_run {
    alm_http *h;
    alm_session *session;
    alm_query_options opt;
    alm_str query; /* as sent */
    size_t next;   /* where the text goes on behind `prepared` */
    alm_prepared *prepared;
    alm_prepared *following; /* the statement behind it, NULL: it is the last */
    bool script; /* its changes are committed with the answer (script.c), and are not yet */
    alm_cursor *cursor;
    alm_ctx cx;
    alm_mem
        mem; /* what is not in the account of the cursor, as there is none yet, or none at all */
    alm_arena arena;
    alm_buf out;
    alm_packer *packer; /* NULL: the answer goes out as it is */
    alm_buf packed;
    const alm_batch
        *batch; /* of the cursor, whose rows [row, row_end) are to be written; NULL: none */
    uint32_t row, row_end;
    alm_result_writer *writer; /* of formats that are text */
    void *answer;              /* state of another format; the file of the format names its type */
    alm_vec *chosen;           /* columns of a batch */
    uint32_t *cols;            /* of the `cols` parameter */
    uint32_t n_cols;
    alm_vec *values; /* of the parameters */
    uint32_t n_values;
    size_t piece_bytes;
    int64_t rows_seen, rows_sent;
    alm_held *held;    /* the rows come from there; NULL: from the cursor */
    bool held_begun;   /* rows go there */
    bool held_full;    /* no more fit */
    bool held_ready;   /* they are read from there */
    int64_t held_ns;   /* that it took until they were there, the execution included */
    int64_t held_next; /* row */
    alm_tagged tagged;
    alm_place place;
    bool begun; /* a piece was made */
    bool finished, failed, waiting;
    int64_t waiting_since_ns; /* for the client to read */
    alm_error err;            /* the last member: its text is not cleared at the beginning */
} alm_query_run;

/* ------------------------------------------------------------- of run.c */

/* The error that the client gets; its code. */
alm_status alm_query_failed(alm_query_run *run, const alm_error *err);
/* Starts run->prepared; ALM_E_YIELD leaves it to be started again on a query thread. */
ALM_NODISCARD alm_status alm_query_open(alm_query_run *run, const alm_execute_options *options);

/* ----------------------------------------------------------- of piece.c */

/* What stands before the rows, once the statement has run; the whole answer if it returns none. */
ALM_NODISCARD alm_status alm_query_begin_answer(alm_query_run *run);
/* Appends to run->out until the piece is full or the rows are over. ALM_E_YIELD: the rest is left to a query thread. */
ALM_NODISCARD alm_status alm_query_fill_piece(alm_query_run *run);
/* Compresses the piece in run->out; the first piece decides whether the answer is compressed. */
ALM_NODISCARD alm_status alm_query_pack_piece(alm_query_run *run);

/* ---------------------------------------------------------- of script.c */

/* Parses the first statement, and the second if there is one, and checks that the request may hold them. */
ALM_NODISCARD alm_status alm_script_prepare(alm_query_run *run);
/* Runs all statements but the last, which is then run->prepared. */
ALM_NODISCARD alm_status alm_script_run_leading(alm_query_run *run);
/* Commits what the statements changed. Call it before any byte of the answer goes out, so that the answer never reports what
 * was not stored. */
ALM_NODISCARD alm_status alm_script_commit(alm_query_run *run);
/* After a failure: nothing of what the statements changed is kept. */
void alm_script_drop(alm_query_run *run);

/* ----------------------------------------------------- of answer_json.c */

/* The members before the rows, without braces, and what follows the rows. */
ALM_NODISCARD alm_status alm_answer_json_facts(alm_query_run *run, const alm_plan_col *cols);
ALM_NODISCARD alm_status alm_answer_json_end(alm_query_run *run);

/* ------------------------------------------------------------ of held.c */

/* The rows go where they are held; the answer is read from there. */
ALM_NODISCARD alm_status alm_query_held_head(alm_query_run *run, const alm_plan_col *cols);
/* The next piece of the answer, while the rows of the cursor go to where they are held. The page that was asked for does not wait for
 * the rows behind it; an error among these stands behind the page. */
ALM_NODISCARD alm_status alm_query_hold_piece(alm_query_run *run);
/* The next piece of the answer, of what is held. */
ALM_NODISCARD alm_status alm_query_held_piece(alm_query_run *run);

#endif
