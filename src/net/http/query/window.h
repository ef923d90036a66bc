/*
 * window.h - which rows of a result a request asks for: its `limit` parameter. Private to net/http.
 */
#ifndef ALM_NET_HTTP_QUERY_WINDOW_H
#define ALM_NET_HTTP_QUERY_WINDOW_H

#include "net/http/exchange/http.h"

/* Rows to deliver, counted from 0: [lo, hi). last > 0: the last `last` rows instead. */
typedef struct alm_row_window {
    int64_t lo, hi, last;
} alm_row_window;

/* The `limit` parameter; inclusive: /exec counts from 1 with both ends inside, /exp leaves the upper
 * end out. False: not a window. */
bool alm_row_window_parse(alm_str text, bool inclusive, alm_row_window *out);
/* The same of a request, everything where it has none; false: the error was sent. */
bool alm_row_window_read(alm_http *http, bool inclusive, alm_str query, alm_row_window *out);

#endif
