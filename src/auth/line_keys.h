/*
 * line_keys.h - who may send lines over TCP: ECDSA keys over P-256, and a challenge that their owner signs.
 *
 * File        A line per key, `kid ec-p-256-sha256 X Y`: the coordinates of the public key in base64url.
 *             Blank lines and comments (#) are skipped.
 * Exchange    The client names its key, the server sends ALM_LINE_CHALLENGE printable bytes, the client
 *             answers with its signature of them in base64: r and s, 32 bytes each, or their DER form. A name
 *             that is not in the file takes the same steps and fails at the end.
 * Threads     Read-only once read.
 */
#ifndef ALM_AUTH_LINE_KEYS_H
#define ALM_AUTH_LINE_KEYS_H

#include "base/base.h"

enum { ALM_LINE_CHALLENGE = 512, ALM_LINE_KID_MAX = 100 };

typedef struct alm_line_keys alm_line_keys;

/* Messages name `file` and the line. */
ALM_NODISCARD alm_status alm_line_keys_read(alm_ctx *cx, alm_str text, const char *file,
                                            alm_line_keys **out);
void alm_line_keys_free(alm_line_keys *keys);
/* Random bytes become a challenge, in place. */
void alm_line_challenge(char bytes[ALM_LINE_CHALLENGE]);
bool alm_line_keys_verify(const alm_line_keys *keys, alm_str kid,
                          const char challenge[ALM_LINE_CHALLENGE], alm_str signature);

/* The same with one key by its coordinates; x.len 0: there is none, and it takes as long to say no. */
bool alm_line_key_verify(alm_str x, alm_str y, const char challenge[ALM_LINE_CHALLENGE],
                         alm_str signature);

#endif
