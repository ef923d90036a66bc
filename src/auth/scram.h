/*
 * scram.h - SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side, as PostgreSQL clients speak it.
 *
 * Kept        A verifier (salt, iterations, StoredKey, ServerKey), never the password.
 * Unknown users get an exchange with a made-up salt that is always the same for a name, and fail at
 * its end like a bad password, in the same time.
 */
#ifndef ALM_AUTH_SCRAM_H
#define ALM_AUTH_SCRAM_H

#include "base/base.h"

enum {
    ALM_SCRAM_KEY = 32,
    ALM_SCRAM_SALT = 16,
    ALM_SCRAM_ITERATIONS = 4096,
    ALM_SCRAM_NONCE_MAX = 256, /* of the client: sqlx sends up to 128 characters */
    ALM_SCRAM_MSG_MAX = 1024
};

typedef struct alm_scram_verifier {
    uint8_t salt[ALM_SCRAM_SALT];
    uint8_t stored_key[ALM_SCRAM_KEY];
    uint8_t server_key[ALM_SCRAM_KEY];
    int32_t iterations;
} alm_scram_verifier;

/* salt: random bytes. iterations: of PBKDF2, ALM_SCRAM_ITERATIONS at least. */
ALM_NODISCARD alm_status alm_scram_verifier_make(alm_ctx *cx, alm_str password,
                                                 const uint8_t salt[ALM_SCRAM_SALT],
                                                 int32_t iterations, alm_scram_verifier *out);
typedef struct alm_rounds {
    int32_t iterations;
    uint32_t users; /* with so many */
} alm_rounds;
/* Rounds of a name that nobody has, as if it were one of the users: each number is had by its share of all names (weighted rendezvous), and
 * one user more or less changes them for as small a share. n > 0. */
ALM_NODISCARD alm_status alm_scram_fake_rounds(alm_ctx *cx, const uint8_t secret[ALM_SCRAM_KEY],
                                               alm_str user, const alm_rounds *list, uint32_t n,
                                               int32_t *out);
/* A verifier that no password fits; the salt depends on secret, name and rounds alone: other rounds look like another password. */
ALM_NODISCARD alm_status alm_scram_verifier_fake(alm_ctx *cx, const uint8_t secret[ALM_SCRAM_KEY],
                                                 alm_str user, int32_t iterations,
                                                 alm_scram_verifier *out);

typedef struct alm_scram {
    alm_scram_verifier verifier;
    bool known; /* a real account */
    alm_str
        binding; /* of the channel (RFC 5929 tls-server-end-point); len 0: the server has none */
    char bound[320]; /* what the client has to say of it: c= */
    char client_first_bare[ALM_SCRAM_MSG_MAX];
    char server_first[ALM_SCRAM_MSG_MAX];
    char nonce[ALM_SCRAM_NONCE_MAX + 32]; /* the client's, then ours */
} alm_scram;

/* client-first-message -> server-first-message in scram->server_first. `random`: 18 bytes. `bound`: the client
 * chose the mechanism with channel binding. ALM_E_PROTOCOL on a malformed message, and when the client
 * believes that the server cannot bind while it can: somebody has kept that from it. */
ALM_NODISCARD alm_status alm_scram_first(alm_ctx *cx, alm_scram *scram, alm_str message, bool bound,
                                         const uint8_t random[18]);
/* client-final-message -> server-final-message in `out` (room for ALM_SCRAM_MSG_MAX).
 * ALM_E_AUTH: the proof is wrong; ALM_E_PROTOCOL: malformed. */
ALM_NODISCARD alm_status alm_scram_final(alm_ctx *cx, alm_scram *scram, alm_str message, char *out);

/* Does the clear-text password fit the verifier? Takes as long whatever the answer. */
ALM_NODISCARD alm_status alm_scram_check_password(alm_ctx *cx, const alm_scram_verifier *verifier,
                                                  alm_str password, bool *fits);

#endif
