/* network.h - an IPv4 network: "10.0.0.0/8", or "10.0.0.1", which is one of 32 bits. */
#ifndef ALM_FUNC_NETWORK_H
#define ALM_FUNC_NETWORK_H

#include "base/base.h"

typedef struct alm_network {
    uint32_t base, mask;
    uint8_t bits;
    bool ok;
} alm_network;

/* False, and *out as it was, for a text that is none. */
bool alm_network_parse(alm_str text, alm_network *out);

#endif
