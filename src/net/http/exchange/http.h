/*
 * http.h - one HTTP/1.1 exchange: request as parsed, answer as sent. Private to net/http.
 *
 * Strict by RFC 9112: one Content-Length, never together with chunked, no bare CR or LF, no
 * obsolete folding. Requests of one connection are answered in order, pipelined ones too.
 *
 * Life        The head is complete -> route -> handler->begin. A body goes to handler->body in pieces
 *             as it comes (or is collected by the endpoint), then handler->end. The handler answers with
 *             alm_http_reply, or with alm_http_stream_begin / _chunk / _end. After the end the exchange
 *             is reset for the next request of the connection.
 * Memory      Request texts live in the arena of the exchange, until it is reset.
 * Threads     All functions are for the loop thread. Handlers that work long use alm_conn_work.
 */
#ifndef ALM_NET_HTTP_HTTP_H
#define ALM_NET_HTTP_HTTP_H

#include "net/conn/loop.h"
#include "net/conn/renewal.h"

enum { ALM_HTTP_HEADERS_MAX = 100, ALM_HTTP_PARAMS_MAX = 200 };

typedef struct alm_http_pair {
    alm_str name, value;
} alm_http_pair;

typedef struct alm_http_request {
    alm_str method, target, path, query;
    alm_str host; /* of the absolute form, else of the header; ptr NULL: none (HTTP/1.0) */
    int minor;    /* HTTP/1.minor */
    alm_http_pair *headers;
    uint32_t n_headers;
    alm_http_pair *params; /* decoded; of the query, later of a form body too */
    uint32_t n_params;
    int64_t content_length; /* -1: none given */
    bool chunked, keep_alive, expect_continue, has_body;
} alm_http_request;

typedef struct alm_http alm_http;
typedef struct alm_cookie_life alm_cookie_life; /* http/login/session_store.h */

typedef struct alm_http_handler {
    /* The head is there. For requests without body this is the only call. */
    void (*begin)(alm_http *h);
    /* A piece of the body; NULL: a body is refused. Returns false when it had enough (answered). */
    bool (*body)(alm_http *h, const char *bytes, size_t n);
    /* The body is complete. */
    void (*end)(alm_http *h);
    /* Frees h->work (cancels what runs there first, if `running`). Any time after begin. */
    void (*closing)(alm_http *h);
    void (*close)(alm_http *h);
    void (*drained)(alm_http *h);
    /* While the answer waits for its reader: has it waited too long, or was it cancelled? The connection is reset then, which frees
     * what the answer holds. NULL: never. */
    bool (*stuck)(alm_http *h);
    /* Of a route without a login: good credentials are looked at (alm_http.known), bad ones are as none. */
    bool tells_users;
    /* Runs statements: the session judges by them what a request without a mark (cors.h) may do. */
    bool runs_statements;
    /* Its parameter session=true asks for the cookie of a session, session=false ends it. */
    bool gives_cookie;
} alm_http_handler;

typedef struct alm_http_route {
    const char *path;
    const char *methods; /* "GET,HEAD" */
    const alm_http_handler *handler;
    bool needs_login;      /* false: anybody is let in, but see alm_http_handler.tells_users */
    const char *operation; /* in openapi.def */
    const char *doc;
} alm_http_route;

typedef enum alm_http_state {
    ALM_HTTP_HEAD,   /* waiting for a request */
    ALM_HTTP_BODY,   /* body is coming */
    ALM_HTTP_ANSWER, /* request complete, answer not */
    ALM_HTTP_DISCARD /* answered before the body was read: skip what is left of it */
} alm_http_state;

/* What the endpoints give to the protocol (site.c), so that the protocol knows none of them. Calls on the loop thread. */
typedef struct alm_http_site {
    /* The row that answers; NULL: the answer was sent. */
    const alm_http_route *(*find_route)(alm_http *h);
    /* Finds out who asks: calls alm_http_let_in, maybe later, or answers. */
    void (*login)(alm_http *h);
    /* The request is over, or its connection: releases h->cookie. */
    void (*forget_login)(alm_http *h);
    /* May this piece of the body, or its end, be handled now? False: the connection waits, and the bytes come again. */
    bool (*piece_may)(alm_http *h);
    /* On every tick: true if the login has ended and the running request was told so. */
    bool (*is_cut)(alm_http *h);
    /* A request of the health listener; answer_health follows from alm_http_let_in if that asks for a login. */
    void (*health)(alm_http *h);
    void (*answer_health)(alm_http *h);
} alm_http_site;

struct alm_http {
    alm_conn *conn;
    const alm_http_site *site;
    alm_http_state state;
    alm_arena arena;
    alm_ctx cx; /* for parsing and small answers */
    alm_http_request req;
    const alm_http_route *route;        /* that handles the request */
    const alm_http_route *route_wanted; /* that will, once who asks is known */
    alm_session *session;               /* of the connection */
    void *work;                         /* of the handler */
    alm_mem *charged_to;                /* of the user's requests; NULL: nothing was charged */
    int64_t charged;       /* with bytes of the body that are kept, until the answer is complete */
    int64_t body_left;     /* Content-Length bytes, or of the current chunk */
    int64_t body_seen;     /* bytes of the body so far */
    int64_t discard_from;  /* body_seen + 1 when the rest began to be dropped; 0: not yet */
    int64_t body_due_from; /* body_seen when its time began */
    size_t trailer_bytes;
    uint8_t chunk_phase;
    struct alm_principal *who; /* the request's, with access control; or NULL */
    alm_seen seen;             /* of its login */
    alm_renewal renewal;       /* of a user of the provider */
    bool renewed;              /* the provider was asked for the piece that waits */
    alm_cookie_life *cookie;   /* of the session that the request was sent with; or NULL */
    const char *headers;       /* lines of the answer that the handler does not know of, or NULL */
    int64_t date_s;            /* seconds since 1970 of `date` */
    char date[40];             /* as answers say it, of the last one; date_s 0: none yet */
    bool answered, head_sent, streaming, close_after, health;
    bool is_public;    /* the answer has no data, and says itself how it may be kept */
    bool head_due;     /* the time of the head runs */
    bool known;        /* the credentials are good, or nobody needs any */
    bool login_free;   /* whoever is not known is let in, too */
    bool foreign;      /* for a page of another site: reads only (cors.h) */
    bool unmarked;     /* maybe by a link: reads only (cors.h) */
    bool continue_due; /* the client waits for 100 before it sends the body */
};

extern const alm_protocol alm_http_protocol; /* site.c */
extern const alm_protocol alm_health_protocol;

/* Callbacks of these protocols (alm_protocol). */
void alm_http_open(alm_conn *conn, const alm_http_site *site, bool health);
size_t alm_http_data(alm_conn *conn, const char *bytes, size_t n);
void alm_http_starved(alm_conn *conn);
void alm_http_drained(alm_conn *conn);
void alm_http_closing(alm_conn *conn);
void alm_http_close(alm_conn *conn);
void alm_http_idle(alm_conn *conn);
bool alm_http_over(alm_conn *conn);
void alm_http_refuse(alm_conn *conn, const char *why);

/* ------------------------------------------------------------------- request */

typedef enum alm_http_parse { ALM_HTTP_MORE, ALM_HTTP_DONE, ALM_HTTP_BAD } alm_http_parse;

/*
 * Parses a request head at the start of `bytes`. DONE: *taken bytes belong to it and *req points
 * into memory of `arena`. BAD: *status and *why say what to answer; the connection must be closed.
 */
alm_http_parse alm_http_parse_head(alm_ctx *cx, alm_arena *arena, alm_str bytes, size_t limit,
                                   alm_http_request *req, size_t *taken, int *status,
                                   const char **why);
/* Is it a header line, without its end? */
bool alm_http_is_field(alm_str line);
/* Adds the pairs of an application/x-www-form-urlencoded text. False: bad escape or too many. */
bool alm_http_parse_params(alm_ctx *cx, alm_arena *arena, alm_str text, alm_http_request *req);
/* "name=" of the cookie of sessions: with TLS the browser takes it of this host alone (__Host-). */
alm_str alm_http_session_cookie(const alm_http *http);
/* ptr NULL: not there. The last of several counts. */
alm_str alm_http_param(const alm_http_request *req, const char *name);
alm_str alm_http_header(const alm_http_request *req, const char *name);
/* Value of the first cookie of that name, which ends in '='; ptr NULL: there is none. */
alm_str alm_http_cookie(const alm_http_request *req, alm_str name);
/* Thousandths of the q of `name` in a list like Accept; -1: it is not there. */
int32_t alm_http_quality(alm_str list, alm_str name);
bool alm_http_param_is(const alm_http_request *req, const char *name, const char *value);

/* -------------------------------------------------------------------- answer */

const char *alm_http_reason(int status);
/* A whole answer. `headers`: more lines, each ended by CRLF, or NULL. */
void alm_http_reply(alm_http *http, int status, const char *type, const char *headers,
                    alm_str body);
void alm_http_reply_text(alm_http *http, int status, const char *text);
/* A line of the log for what is refused before anybody looks at who asks (alm_conn_fault): 403 and 421 are what another site had sent, all
 * else is a request that is broken or over a limit. */
void alm_http_fault(alm_http *http, int status, const char *why);
/* {"query":...,"error":...,"position":n}; position in bytes of the query text is turned to
 * characters; query.ptr NULL leaves it out. */
void alm_http_reply_error(alm_http *http, int status, alm_str query, const char *message,
                          int32_t position_bytes);

/* More header lines, each ended by CRLF, for whatever the answer will be. */
void alm_http_add_headers(alm_http *http, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A streamed answer: chunked, or until close for HTTP/1.0. */
void alm_http_stream_begin(alm_http *http, int status, const char *type, const char *headers);
void alm_http_stream_chunk(alm_http *http, alm_buf *buf); /* takes the bytes */
void alm_http_stream_end(alm_http *http);
/* The same where the length is known: so many bytes follow by alm_conn_send, then alm_http_whole_end. Not begun if http->streaming is false
 * behind it, as for HEAD. */
void alm_http_whole_begin(alm_http *http, int status, const char *type, int64_t bytes);
void alm_http_whole_end(alm_http *http);
/* Something failed after the head went out: close without the last chunk; where there are no chunks, reset. */
void alm_http_stream_break(alm_http *http);

/* /metrics. */
void alm_http_metrics(alm_http *http);

/* Bytes of `text` counted as editors count: UTF-16 units. Beyond its end each counts one. */
int64_t alm_http_units_before(alm_str text, int32_t bytes);

/* Who asks is known: on to the route. Behind it, where it was not called while the head was read: alm_http_begun. */
void alm_http_let_in(alm_http *http);
void alm_http_begun(alm_http *http);

/* So many bytes of the body are kept until the exchange is over: counted among the requests of the user, who is known. */
ALM_NODISCARD alm_status alm_http_charge(alm_http *http, size_t bytes);
/* Call when the answer of an exchange is complete outside of `data`: the next request begins. */
void alm_http_finished(alm_http *http);
/* The session of the connection; NULL after an answer was sent (server stops, no memory). */
alm_session *alm_http_session(alm_http *http);

/* --------------------------------------------------------------------- endpoints */

extern const alm_http_handler alm_ep_exec, alm_ep_exp, alm_ep_validate, alm_ep_imp, alm_ep_write,
    alm_ep_ping, alm_ep_chk, alm_ep_queries, alm_ep_query, alm_ep_progress, alm_ep_snapshot,
    alm_ep_snapshot_end, alm_ep_settings, alm_ep_logout, alm_ep_preferences, alm_ep_warnings,
    alm_ep_metrics, alm_ep_index, alm_ep_asset, alm_ep_openapi, alm_ep_public;

#endif
