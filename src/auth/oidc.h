/*
 * oidc.h - users of an OpenID Connect provider: what token stands for whom, as the provider says, for acl.oidc.cache.ttl.
 *
 * Ways        User info: the access token is sent to the provider, which answers with claims, once it is known to be for this
 *             server (oidc_access.c). ID token: signature and claims are
 *             checked here by the provider's keys (jwt.h). Password: the provider gives a token for it, then as before.
 * Cache       Keyed by SHA-256 of the token, or of name and password. At most ALM_OIDC_KNOWN_MAX answers and ALM_OIDC_BYTES_MAX bytes of them;
 *             of the user who has most, the one that was used least lately goes. A refusal counts for acl.oidc.cache.refused.ttl, of which ALM_OIDC_REFUSED_MAX are kept. One
 *             call of a kind at once: who asks meanwhile waits for its answer. What is stale is never served.
 * Log-outs    A back-channel log-out ends each token of the user or session that began before it, whether its answer is in the cache or not:
 *             who lives by a token says since when, and tokens whose answers are gone leave their hash and beginning behind.
 * Secrets     Tokens and passwords are kept while a call for them runs, and wiped then. Log lines have the first eight digits of
 *             the hash.
 * Threads     Any; answers that take a call come on the thread of the client (io/http_client.h).
 */
#ifndef ALM_AUTH_OIDC_H
#define ALM_AUTH_OIDC_H

#include "auth/rights.h"
#include "base/conf.h"
#include "io/io.h"

enum {
    ALM_OIDC_KNOWN_MAX = 10000,
    ALM_OIDC_REFUSED_MAX = 1000,
    ALM_OIDC_BYTES_MAX = 64 << 20,
    ALM_OIDC_ANSWER_MAX = 1 << 20, /* of the provider */
    ALM_OIDC_TOKEN_MAX = 16384,
    ALM_OIDC_ID_MAX = 1000, /* of the client for introspection, and of its secret */
    ALM_OIDC_URL_MAX = 2048
};

typedef struct alm_oidc alm_oidc;

/* Settings that cannot be: ALM_E_ARG names the key. What is fine but risky is a line of the log. */
ALM_NODISCARD alm_status alm_oidc_check_conf(alm_ctx *cx, const alm_conf *conf);
/* root: of paths in the settings. The discovery document is asked for now; a provider that is down is asked again. */
ALM_NODISCARD alm_status alm_oidc_new(alm_ctx *cx, const alm_conf *conf, const alm_io *io,
                                      const char *root, alm_oidc **out);
/* Who waits is answered; from here on everybody is, at once: ALM_OIDC_AWAY. */
void alm_oidc_stop(alm_oidc *oidc);
void alm_oidc_free(alm_oidc *oidc); /* NULL: nothing */

/* ---------------------------------------------------------------------- questions */

typedef enum alm_oidc_verdict {
    ALM_OIDC_KNOWN,
    ALM_OIDC_REFUSED, /* expired, forged, unknown to the provider ... */
    ALM_OIDC_AWAY     /* the provider gives no answer */
} alm_oidc_verdict;

typedef struct alm_oidc_wait {
    struct alm_oidc_wait *next;
    void (*done)(struct alm_oidc_wait *wait); /* set by who asks; see below */
    /* the answer */
    alm_oidc_verdict verdict;
    alm_principal *who; /* KNOWN: a reference of who asked; NULL for a logout token */
    bool
        fresh; /* a first log-in, or a refusal by the provider: worth a line; one of those that wait has it */
    char id[9];    /* of the token, for logs */
    char why[200]; /* for logs: not KNOWN, or whom a logout token names */
    char *token;   /* of a password, if `wants_token`: malloc'd, to be wiped; else NULL */
    bool wants_token;
    int64_t until_ns; /* KNOWN: alm_monotonic_ns() until which it counts, */
    uint64_t forgets; /* unless alm_oidc_forgets() is another */
    int64_t
        began_ns; /* asked with: alm_monotonic_ns() when who asks began to live by the token; 0: now. KNOWN: when the token began */
} alm_oidc_wait;

/* Would the question be a call to the provider, for somebody who was not known lately? Such questions are to be paced by who asks them. */
bool alm_oidc_is_new(alm_oidc *oidc, alm_str token);
bool alm_oidc_is_new_password(alm_oidc *oidc, alm_str user, alm_str password);
enum { ALM_OIDC_ADDRESS_PENDING_MAX = 250 }; /* of one address under way, of a thousand */
/* True: the answer is there. False: done will be called with it, on another thread, maybe before this returns. */
bool alm_oidc_ask(alm_oidc *oidc, alm_str token, alm_oidc_wait *wait);
bool alm_oidc_ask_password(alm_oidc *oidc, alm_str user, alm_str password, alm_oidc_wait *wait);
/* Can the text be a token at all? Others need no asking. */
bool alm_oidc_is_token(alm_str text);
/*
 * A logout token of the provider (OpenID Connect Back-Channel Logout 1.0): KNOWN, without a principal: tokens of the user or session that
 * it names are refused from here on, and alm_oidc_forgets() has changed. REFUSED: it is no logout token for this server.
 */
bool alm_oidc_ask_logout(alm_oidc *oidc, alm_str token, alm_oidc_wait *wait);
/* No answer counts any more; who logged out at the provider stays out. */
void alm_oidc_forget(alm_oidc *oidc);
uint64_t alm_oidc_forgets(const alm_oidc *oidc); /* how often */

/* ------------------------------------------------------------------------- facts */

typedef struct alm_oidc_endpoints {
    bool known;                    /* false: the discovery document is not there yet, see `why` */
    char issuer[ALM_OIDC_URL_MAX]; /* "": not known */
    char authorization[ALM_OIDC_URL_MAX], token[ALM_OIDC_URL_MAX], userinfo[ALM_OIDC_URL_MAX],
        keys[ALM_OIDC_URL_MAX], device[ALM_OIDC_URL_MAX],
        introspection[ALM_OIDC_URL_MAX]; /* "": none */
    char end_session[ALM_OIDC_URL_MAX];  /* "": none */
    char why[200];
} alm_oidc_endpoints;
void alm_oidc_endpoints_get(alm_oidc *oidc, alm_oidc_endpoints *out);

typedef struct alm_oidc_counts {
    int64_t calls, failures, hits, refusals, known;
} alm_oidc_counts;
void alm_oidc_counts_get(alm_oidc *oidc, alm_oidc_counts *out);

#endif
