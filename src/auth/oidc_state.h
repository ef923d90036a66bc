/*
 * oidc_state.h - the structs behind oidc.h, and what its files offer one another. Private to auth/.
 *
 * Entry       PENDING: a call for it runs, or it waits for keys; it belongs to that, and is not evicted. LOGOUT: so does a logout token.
 *             KNOWN, REFUSED: until_ns says how long. PAST: the answer is gone (stale, forgotten, no room), but not whose token it is and
 *             when it began, by which a log-out finds it. Each state is a list, the one that was used last in front.
 * Log-outs    A note for each user and session holds the newest. Who is out follows from that alone, at each question.
 * Threads     The lock of alm_oidc for all that is no constant; an entry's secret belongs to the call alone while PENDING.
 */
#ifndef ALM_AUTH_OIDC_STATE_H
#define ALM_AUTH_OIDC_STATE_H

#include <pthread.h>

#include "auth/claims.h"
#include "auth/jwt.h"
#include "auth/oidc.h"
#include "auth/share.h"
#include "base/map.h"
#include "io/http_client.h"

enum {
    ALM_OIDC_HASH = 32,
    ALM_OIDC_BUCKETS = 1 << 14,
    ALM_OIDC_PENDING_MAX = 1000,
    ALM_OIDC_WAITING_MAX = 1000, /* logout tokens that wait for keys */
    ALM_OIDC_PAST_MAX = 50000,
    ALM_OIDC_LOGOUTS_MAX = 50000,
    ALM_OIDC_LOGOUT_IDS_MAX = 50000,
    ALM_OIDC_NAMES_MAX = 256,
    ALM_OIDC_WHOM_MAX = 200,
    ALM_OIDC_NEW_MAX = 750, /* of them about who was not known before */
    ALM_OIDC_WAIT_MS = 500
}; /* after the first failure; then twice as long, up to a minute */

typedef enum alm_oidc_state {
    ALM_OIDC_IS_PENDING,
    ALM_OIDC_IS_LOGOUT,
    ALM_OIDC_IS_KNOWN,
    ALM_OIDC_IS_REFUSED,
    ALM_OIDC_IS_PAST,
    ALM_OIDC_STATES
} alm_oidc_state;

typedef struct alm_oidc_entry {
    uint8_t key[ALM_OIDC_HASH];
    alm_share_node node; /* KNOWN, PAST with an identity: a place of its user */
    struct alm_oidc_entry *chain, *prev, *next;
    alm_oidc *oidc;
    alm_oidc_state state;
    int64_t
        asked_ns; /* alm_monotonic_ns() at the start of the question that runs, or was answered last */
    int64_t until_ns;
    alm_principal *who; /* KNOWN; PENDING: who it was, or NULL */
    size_t bytes;       /* of who */
    alm_oidc_wait *waits;
    char *secret;   /* PENDING: the token; of a password the form, until it has become a token */
    char id[9];     /* of the token, for logs */
    bool password;  /* name and password are still to become a token */
    bool ropc;      /* they were given */
    bool forgotten; /* the answer counts for those that wait alone */
    bool logout;    /* a logout token: nobody is known by it */
    bool good;      /* the last answer was that it is */
    bool out;       /* its user has logged out: for good */
    bool has_identity, has_session;
    uint8_t identity[ALM_OIDC_HASH]; /* SHA-256 of whose it was said to be */
    uint8_t session[ALM_OIDC_HASH];  /* SHA-256 of the claim sid of a signed token */
    int64_t issued_s;                /* of a signed token, since 1970; 0: not known */
    int64_t expires_s; /* of an access token, as it or the provider says; 0: not known */
    int64_t began_ns;  /* alm_monotonic_ns() when it was first heard of, by whoever lives by it */
    struct alm_oidc_entry *keys_next; /* that wait for keys */
} alm_oidc_entry;

typedef struct alm_oidc_list {
    alm_oidc_entry *first, *last;
    size_t n;
} alm_oidc_list;

typedef struct alm_oidc_cache {
    uint64_t seed;
    alm_oidc_entry *buckets[ALM_OIDC_BUCKETS];
    alm_oidc_list lists[ALM_OIDC_STATES];
    alm_share known, past; /* by identity */
    size_t bytes;          /* of principals */
} alm_oidc_cache;

/* oidc_cache.c; with the lock held. */
/* False: no memory; deinit is right then, too. */
bool alm_oidc_cache_init(alm_oidc_cache *cache);
alm_oidc_entry *alm_oidc_cache_find(alm_oidc_cache *cache, const uint8_t key[ALM_OIDC_HASH]);
/* A new one, PENDING; NULL: no memory. */
alm_oidc_entry *alm_oidc_cache_add(alm_oidc_cache *cache, const uint8_t key[ALM_OIDC_HASH]);
/* To the front of the list of a state; what is over a limit leaves. KNOWN: with its principal, by its identity. */
void alm_oidc_cache_move(alm_oidc_cache *cache, alm_oidc_entry *entry, alm_oidc_state state);
/* Its answer is gone: PAST, where it is a token that was known; else dropped. */
void alm_oidc_cache_leave(alm_oidc_cache *cache, alm_oidc_entry *entry);
void alm_oidc_cache_drop(alm_oidc_cache *cache, alm_oidc_entry *entry);
void alm_oidc_cache_clear(
    alm_oidc_cache *cache); /* answers leave, but for PENDING, which are marked */
void alm_oidc_cache_deinit(alm_oidc_cache *cache);

typedef struct alm_oidc_moment {
    int64_t at_s;  /* since 1970, as the provider says */
    int64_t at_ns; /* alm_monotonic_ns() when it was heard of */
} alm_oidc_moment;

/* The newest log-out of a user ("sub:...") or of a session ("sid:..."), or a logout token that was used. */
typedef struct alm_oidc_note {
    alm_share_node node; /* first: what has to go is a note */
    struct alm_oidc_note *newer, *older;
    uint8_t key[ALM_OIDC_HASH];
    int64_t kept_ns;           /* alm_monotonic_ns() when it was put last */
    alm_oidc_moment all;       /* log-outs: of all tokens of the user or session */
    alm_oidc_moment anonymous; /* of a user: of those that name no session */
} alm_oidc_note;

typedef struct alm_oidc_notes {
    alm_share share;
    alm_map map;
    alm_oidc_note *newest, *oldest;
    bool of_log_outs;
} alm_oidc_notes;

/* oidc_record.c; with the lock held. */
bool alm_oidc_notes_init(alm_oidc_notes *notes, size_t limit, bool of_log_outs);
void alm_oidc_notes_deinit(alm_oidc_notes *notes);
alm_oidc_note *alm_oidc_notes_find(const alm_oidc_notes *notes, const uint8_t key[ALM_OIDC_HASH]);
/* That of the key, new or not, as the newest; kept for keep_ns at least. Of log-outs: the owner is a user, whose own note is put first and
 * touched afterwards, or the key itself. NULL: no room, or no memory. */
alm_oidc_note *alm_oidc_notes_put(alm_oidc_notes *notes, const uint8_t key[ALM_OIDC_HASH],
                                  const uint8_t owner[ALM_OIDC_HASH], int64_t keep_ns,
                                  int64_t now_ns);
/* It is the last of its owner that goes. */
void alm_oidc_notes_touch(alm_oidc_notes *notes, alm_oidc_note *note);
/* The later one of both. */
void alm_oidc_moment_join(alm_oidc_moment *to, alm_oidc_moment more);

/* A key of the provider that was looked for and not found. */
typedef struct alm_oidc_name {
    uint8_t hash[ALM_OIDC_HASH];
    int64_t looked_ns; /* 0: none */
} alm_oidc_name;

typedef struct alm_oidc_try { /* of something that is asked for until it is there */
    bool under_way;
    int64_t next_ns;
    int64_t wait_ms;
} alm_oidc_try;

struct alm_oidc {
    const alm_conf *conf;
    const alm_io *io;
    alm_claim_names names;
    alm_http_client *client;
    atomic_bool ready, stopped;
    _Atomic uint64_t forgets;
    uint8_t salt[ALM_OIDC_HASH]; /* of passwords */
    pthread_mutex_t lock;
    alm_oidc_cache *cache;
    alm_oidc_endpoints endpoints;
    alm_oidc_try discovery, fetch;
    bool look_again; /* at the discovery document: an end point of it failed, or lacks a key */
    int64_t discovered_ns; /* when it came last */
    alm_jwk_set *keys;     /* NULL: not there yet */
    int64_t keys_ns;       /* when they came */
    int64_t keys_asked_ns; /* when they were asked for: what they lack was not there since then */
    int64_t fetch_began_ns;
    int64_t
        refetch_full_ns; /* of fetches for keys that are lacking: when all that may come at once may again */
    alm_oidc_name names_lacking[ALM_OIDC_NAMES_MAX]; /* a ring */
    size_t n_names;                                  /* ever */
    alm_oidc_entry *want_keys;
    size_t n_unknown; /* of them, those whose key is not there */
    alm_oidc_notes logouts, logout_ids;
    int64_t session_out_ns; /* when a log-out came last that names a session alone */
    int64_t said_ns;        /* when a failure was logged last */
    alm_oidc_counts counts;
};

/* oidc_endpoints.c */
/* What the settings alone say; `known` if no discovery document is needed. */
void alm_oidc_endpoints_of_conf(const alm_conf *conf, alm_oidc_endpoints *out);
/* Fills what the settings leave open. ALM_E_VALUE: the document does not fit. */
ALM_NODISCARD alm_status alm_oidc_endpoints_of_json(alm_ctx *cx, const alm_conf *conf, alm_str json,
                                                    alm_oidc_endpoints *out);
/* Does the document come from where its issuer's should be? */
bool alm_oidc_issuer_fits(const alm_oidc_endpoints *endpoints, const char *url);
/* The certificates of acl.oidc.tls.keystore.path as PEM, malloc'd; NULL: those of the system. */
ALM_NODISCARD alm_status alm_oidc_trusted(alm_ctx *cx, const alm_conf *conf, const alm_io *io,
                                          const char *root, char **pem);

/* With the lock held: has the discovery document read where that is due; true: a call for it runs. */
bool alm_oidc_discover(alm_oidc *oidc);

/* Are keys of the provider needed? For ID tokens, and for access tokens that must name acl.oidc.audience. */
bool alm_oidc_needs_keys(const alm_conf *conf);

/* oidc_logout.c */
/* SHA-256 of both texts, one behind the other. False: no memory. */
bool alm_oidc_hash(const char *prefix, alm_str text, uint8_t out[ALM_OIDC_HASH]);
/* Claims of a logout token whose signature is right: who it names is out; whom: for logs. ALM_E_AUTH: it is none, or not for this
 * server. */
ALM_NODISCARD alm_status alm_oidc_log_out(alm_ctx *cx, alm_oidc *oidc, const alm_json *claims,
                                          char whom[ALM_OIDC_WHOM_MAX]);
/* With the lock held: did the user of a token, or its session, log out after it began? */
bool alm_oidc_is_out(const alm_oidc *oidc, const alm_oidc_entry *entry);
/* With the lock held: did its user log out after who asks logged in, with the same password? */
bool alm_oidc_is_out_since(const alm_oidc *oidc, const alm_oidc_entry *entry, int64_t began_ns);
/* With the lock held: it is out, and leaves its state; that of a password is gone then. */
void alm_oidc_end_entry(alm_oidc *oidc, alm_oidc_entry *entry);
/* With the lock held: is the answer one of before a log-out that may concern it, which only the provider knows? */
bool alm_oidc_is_doubtful(const alm_oidc *oidc, const alm_oidc_entry *entry);

/* oidc_access.c */
/* An access token: is it for this server? Then the user info end point is asked who it is of. The entry is settled. */
void alm_oidc_check_access(alm_oidc_entry *entry);

/* oidc_keys.c */
/* The discovery document was read again, or could not be: who waits for keys, or (moved) all, gets those it names. */
void alm_oidc_document_came(alm_oidc *oidc, bool moved);
/* So long a token that ends at `expires_s` may be known: over 0, at most a day. */
int64_t alm_oidc_left_ns(const alm_oidc *oidc, int64_t expires_s);
void alm_oidc_fetch_keys(alm_oidc *oidc); /* unless that is under way, or was tried just now */
/* When a token was issued, and in which session of the provider. Unverified, it may count once the provider has confirmed the token. */
void alm_oidc_note_session(alm_oidc_entry *entry, const alm_jwt *jwt);
/* Signature and claims of a token, now or when the keys are there. Of an ID token, the entry is settled then; with an access
 * token, the user info end point is asked next. */
void alm_oidc_check_token(alm_oidc_entry *entry);

/* oidc.c */
typedef struct alm_oidc_result {
    alm_oidc_verdict verdict;
    alm_principal *who; /* KNOWN; taken */
    int64_t ttl_ns;     /* KNOWN: at most so long; 0: no limit but the settings' */
    const char *why;
} alm_oidc_result;
/* Counted; false as alm_http_client_send. */
bool alm_oidc_send(alm_oidc *oidc, const alm_http_call *call);
/* The last step for an access token; the entry is settled by the answer. */
void alm_oidc_ask_user_info(alm_oidc_entry *entry);
/* `name`, which is written as it is, and the value as forms have it, at most three letters for a byte; the end of the text. */
char *alm_oidc_put_form(char *dest, const char *name, alm_str value);
/* Settles the entry without a user; AWAY is a line of the log. */
void alm_oidc_give_up(alm_oidc_entry *entry, alm_oidc_verdict verdict, const char *why);
/* The end of a call for an entry: who waits is told. */
void alm_oidc_settle(alm_oidc_entry *entry, const alm_oidc_result *result);
void alm_oidc_say(alm_oidc *oidc, const char *what,
                  const char *why); /* a line of the log, once a second */

#endif
