/*
 * tls.h - TLS 1.2 and 1.3 for connections, by OpenSSL over memory: bytes of the peer go in, plain text
 * comes out, and the other way round. No socket is touched here: conn.c carries the bytes. Private to
 * net/.
 *
 * No session is kept for later, none is negotiated anew: a connection is as long as its keys.
 *
 * Threads     A context is read-only once it is made, and counted: streams keep the one that they began with. A slot
 *             holds the newest and has a lock. A stream belongs to the loop thread.
 */
#ifndef ALM_NET_TLS_H
#define ALM_NET_TLS_H

#include <pthread.h>

#include "base/base.h"

enum { ALM_TLS_BINDING_MAX = 64 };

typedef struct alm_tls alm_tls;               /* certificate and key of a listener */
typedef struct alm_tls_stream alm_tls_stream; /* of one connection */

/* From PEM texts: the certificate with those that vouch for it behind it, and its private key. The paths
 * are for messages. `alpn` is the protocol that clients may name, as in "postgresql"; NULL: what they name is not
 * looked at. One reference is the caller's. */
ALM_NODISCARD alm_status alm_tls_new(alm_ctx *cx, alm_str cert, const char *cert_path, alm_str key,
                                     const char *key_path, const char *alpn, alm_tls **out);
void alm_tls_release(alm_tls *tls); /* NULL: nothing */

/* The context that connections of a listener begin with from now on. */
typedef struct alm_tls_slot {
    pthread_mutex_t lock;
    alm_tls *now; /* NULL: no TLS */
} alm_tls_slot;
void alm_tls_slot_init(alm_tls_slot *slot);
void alm_tls_slot_deinit(alm_tls_slot *slot);
void alm_tls_slot_set(alm_tls_slot *slot, alm_tls *tls); /* takes the reference over */
bool alm_tls_slot_is_set(alm_tls_slot *slot);

/* With the context that the slot has now. NULL: it has none, or no memory. */
alm_tls_stream *alm_tls_stream_new(alm_tls_slot *slot);
/* The channel binding tls-server-end-point (RFC 5929) of its certificate; len 0: there is none. */
alm_str alm_tls_binding(const alm_tls_stream *stream);
void alm_tls_stream_free(alm_tls_stream *stream);
/* Bytes of the peer. False: no memory. */
bool alm_tls_take(alm_tls_stream *stream, const char *bytes, size_t n);

typedef enum alm_tls_state {
    ALM_TLS_MORE,   /* of what was taken nothing is left */
    ALM_TLS_CLOSED, /* the peer has ended its side */
    ALM_TLS_FAILED
} alm_tls_state;
/* Plain text of what was taken, appended up to room bytes; a full buffer may have left some. */
alm_tls_state alm_tls_read(alm_tls_stream *stream, char *out, size_t room, size_t *n);
/* Is the handshake over? Nothing can be written before. */
bool alm_tls_is_open(const alm_tls_stream *stream);
/* Did the client name the protocol of the listener? */
bool alm_tls_named_protocol(const alm_tls_stream *stream);
bool alm_tls_write(alm_tls_stream *stream, const char *bytes, size_t n);
/* Tells the peer that nothing more comes. */
void alm_tls_end(alm_tls_stream *stream);
/* Why it failed, for the log. */
const char *alm_tls_reason(void);

/* Bytes for the peer: how many there are, and their move to `out`. */
size_t alm_tls_pending(const alm_tls_stream *stream);
void alm_tls_output(alm_tls_stream *stream, char *out, size_t n);

#endif
