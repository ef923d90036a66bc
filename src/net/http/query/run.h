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

#include "net/http/query/answer.h"
#include "net/http/query/window.h"

typedef struct alm_query_options {
    const alm_answer_format *format;
    const void *answer; /* parameters of the format (alm_answer_ops.read) */
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
    const char *headers;       /* more header lines */
    struct alm_places *places; /* where it takes one while it runs; NULL: it needs none */
    const int64_t *places_max; /* at once, -1: any; of a setting, which may change */
    bool places_0_is_any;      /* as -1 is */
    int64_t places_wait_ms;    /* for one */
    const char *limit_name;    /* the setting behind that */
} alm_query_options;

/* Answers the exchange. `query` and texts in options live in http->arena; options->held is taken over. */
void alm_query_run_start(alm_http *http, alm_str query, const alm_query_options *options);
/* For the handler table. */
void alm_query_run_close(alm_http *http);
void alm_query_run_drained(alm_http *http);
/* Its client takes longer than http.send.timeout to read what waits, or it was cancelled while it waits. */
bool alm_query_run_is_stuck(alm_http *http);
void alm_query_run_closing(alm_http *http);

#endif
