/*
 * run_state.h - a statement over HTTP as it runs (run.c), and how its rows come to be held and are read from there
 * (held.c). Private to these two.
 */
#ifndef ALM_NET_HTTP_QUERY_RUN_STATE_H
#define ALM_NET_HTTP_QUERY_RUN_STATE_H

#include "codec/arrow_ipc.h"
#include "codec/compress/pack.h"
#include "net/http/held.h"
#include "net/http/places.h"
#include "net/http/query/run.h"
#include "net/http/tagged.h"
#include "session/transfer/parquet.h"

typedef struct alm_query_run {
    alm_http *h;
    alm_session *session;
    alm_query_options opt;
    alm_str query; /* as sent */
    size_t next;   /* where the text goes on behind `prepared` */
    alm_prepared *prepared;
    alm_prepared *following; /* the statement behind it, NULL: it is the last */
    bool script;             /* of several statements, not committed yet */
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
    alm_result_writer *writer; /* of text */
    alm_arrow_field *fields;   /* of Arrow */
    alm_pq_writer *parquet;    /* of Parquet */
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
/* What stands between { and the rows, and behind them. */
ALM_NODISCARD alm_status alm_query_json_facts(alm_query_run *run, const alm_plan_col *cols);
ALM_NODISCARD alm_status alm_query_json_tail(alm_query_run *run);

/* ------------------------------------------------------------ of held.c */

/* The rows go where they are held; the answer is read from there. */
ALM_NODISCARD alm_status alm_query_held_head(alm_query_run *run, const alm_plan_col *cols);
/* The next piece of the answer, while the rows of the cursor go to where they are held. The page that was asked for does not wait for
 * the rows behind it; an error among these stands behind the page. */
ALM_NODISCARD alm_status alm_query_hold_piece(alm_query_run *run);
/* The next piece of the answer, of what is held. */
ALM_NODISCARD alm_status alm_query_held_piece(alm_query_run *run);

#endif
