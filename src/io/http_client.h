/*
 * http_client.h - calls to an HTTP server elsewhere (an identity provider): a small answer as a whole, on a thread of
 * its own. Behind it: libcurl.
 *
 * Safety      http and https alone; certificates and names are checked, TLS 1.2 at least; redirects are answers, not followed;
 *             a proxy of the environment is used but for loopback addresses. No compressed answers, no cookies, no .netrc.
 * Limits      The time of a call from its start to its last byte, bytes of an answer, connections at once (calls above wait for
 *             one, within their time), calls at once (ALM_HTTP_CLIENT_CALLS_MAX). Connections are used again.
 * Secrets     What is sent is wiped afterwards, and in no message.
 * Threads     send: any. done and tick are called on the client's thread and must not wait.
 */
#ifndef ALM_IO_HTTP_CLIENT_H
#define ALM_IO_HTTP_CLIENT_H

#include "base/base.h"

enum { ALM_HTTP_CLIENT_CALLS_MAX = 1016 }; /* a thousand about users, and some for keys */

typedef struct alm_http_client alm_http_client;

typedef struct alm_http_client_conf {
    alm_str
        ca_pem; /* whose certificates are trusted; ptr NULL: those that the system trusts. Copied */
    bool tls_verify; /* false: for tests */
    int64_t timeout_ms, body_max;
    int32_t connections_max;
    void (*tick)(void *arg); /* about once a second; NULL: none */
    void *tick_arg;
} alm_http_client_conf;

typedef struct alm_http_answer {
    int status;        /* 0: there is none, `error` says why */
    alm_str type;      /* of the content; len 0: not said */
    alm_str body;      /* until done returns */
    const char *error; /* of connection, TLS, time, length; NULL: none */
} alm_http_answer;

typedef struct alm_http_call {
    const char *url;
    alm_str
        bearer; /* Authorization: Bearer; ptr NULL: without. Letters of a token alone: the caller has looked */
    const char *basic; /* Authorization: Basic, the text in base64; NULL: without */
    alm_str form;      /* body of a POST, application/x-www-form-urlencoded; ptr NULL: a GET */
    void (*done)(void *arg, const alm_http_answer *answer); /* once */
    void *arg;
} alm_http_call;

/* ALM_E_IO: no thread, or the certificates cannot be read. */
ALM_NODISCARD alm_status alm_http_client_new(alm_ctx *cx, const alm_http_client_conf *conf,
                                             alm_http_client **out);
/* Copies what it is given. False: too many calls, no memory, or the client stops; done is not called. */
bool alm_http_client_send(alm_http_client *client, const alm_http_call *call);
/* Ends the calls that run: done is called with an error. None is taken from here on. Any thread. */
void alm_http_client_stop(alm_http_client *client);
/* Stops, and waits for the thread. NULL: nothing. */
void alm_http_client_free(alm_http_client *client);

/* "https://host[:port][/...]" or "http://...": the length of its origin ("https://host:port"); 0: it is none. */
size_t alm_url_origin(alm_str url);
/* Is the host of such an address this machine? */
bool alm_url_is_loopback(alm_str url);

#endif
