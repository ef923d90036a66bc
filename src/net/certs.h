/*
 * certs.h - certificates and keys of the listeners, as the settings name their files: http.tls.*, pg.tls.* ...,
 * and tls.* for each that says nothing of its own. Private to net/.
 *
 * Errors      ALM_E_ARG names the key that is missing, or the file that holds no certificate or no key that
 *             fits; nothing is given then.
 */
#ifndef ALM_NET_CERTS_H
#define ALM_NET_CERTS_H

#include "base/conf.h"
#include "net/conn/tls.h"
#include "net/shared.h"

typedef struct alm_certs {
    alm_tls *of[ALM_NET_PROTOCOLS]; /* by ALM_NET_HTTP ...; NULL: no TLS there */
} alm_certs;

/* Does that listener have TLS? */
bool alm_certs_enabled(const alm_conf *conf, int listener);
/* Reads the files. Relative names start at root. */
ALM_NODISCARD alm_status alm_certs_read(alm_ctx *cx, const char *root, const alm_conf *conf,
                                        alm_certs *out);
void alm_certs_release(alm_certs *certs);

#endif
