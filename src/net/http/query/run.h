/*
 * run.h - one statement over HTTP: prepared, executed and streamed piece by piece, for /exec
 * (JSON) and /exp (CSV). Private to net/http.
 *
 * A piece is made on the loop thread while the statement is short, else on a query thread. The head
 * of the answer is held back until the first piece is there, so that errors keep their status; an
 * answer that fits one piece is sent with its length. The next piece is made when the client has read
 * most of the one before.
 */
#ifndef ALM_NET_HTTP_QUERY_RUN_H
#define ALM_NET_HTTP_QUERY_RUN_H

#include "codec/result_text.h"
#include "net/http/http.h"

/* Rows to deliver, counted from 0: [lo, hi). last > 0: the last `last` rows instead. */
typedef struct alm_row_window {
    int64_t lo, hi, last;
} alm_row_window;

/* The `limit` parameter; inclusive: /exec counts from 1 with both ends inside, /exp leaves the upper
 * end out. False: not a window. */
bool alm_row_window_parse(alm_str text, bool inclusive, alm_row_window *out);
/* The same of a request, everything where it has none; false: the error was sent. */
bool alm_row_window_read(alm_http *h, bool inclusive, alm_str query, alm_row_window *out);

typedef struct alm_query_options {
    alm_result_form form;
    alm_row_window window;
    bool count_all, no_meta, timings, explain, quote_long, select_only;
    bool hold; /* JSON: keep the rows (held.h), and answer with its name */
    struct alm_held
        *held;   /* JSON: read in this one, the query is not run; the reference goes to the run */
    alm_str tag; /* the client's name for the run (tagged.h), or ptr NULL */
    char delimiter;
    int64_t timeout_ms;
    alm_str cols;              /* comma list, or ptr NULL */
    alm_str params;            /* JSON list of the values of the parameters, or ptr NULL */
    const char *type;          /* of the answer */
    const char *headers;       /* more header lines */
    struct alm_places *places; /* where it takes one while it runs; NULL: it needs none */
    const int64_t *places_max; /* at once, -1: any; of a setting, which may change */
    bool places_0_is_any;      /* as -1 is */
    int64_t places_wait_ms;    /* for one */
    const char *limit_name;    /* the setting behind that */
    const struct alm_pq_request *parquet; /* of ALM_RESULT_PARQUET */
} alm_query_options;

/* Answers the exchange. `query` and texts in options live in h->arena; options->held is taken over. */
void alm_query_run_start(alm_http *h, alm_str query, const alm_query_options *options);
/* {"name":...,"type":...} of a column, as answers tell it. */
ALM_NODISCARD alm_status alm_query_json_column(alm_ctx *cx, alm_buf *out, const alm_plan_col *col);
/* For the handler table. */
void alm_query_run_close(alm_http *h);
void alm_query_run_drained(alm_http *h);
/* Its client takes longer than http.send.timeout to read what waits, or it was cancelled while it waits. */
bool alm_query_run_is_stuck(alm_http *h);
void alm_query_run_closing(alm_http *h);

/* Call when the answer of an exchange is complete outside `data`. */
void alm_http_finished(alm_http *h);

#endif
