/*
 * be.h - big-endian numbers in bytes at any address.
 */
#ifndef ALM_BASE_BE_H
#define ALM_BASE_BE_H

#include <endian.h>

#include "base/base.h"

#define ALM_DEFINE_BE(bits)                                                                        \
    static inline void alm_be_put##bits(char *to, uint##bits##_t v)                                \
    {                                                                                              \
        v = htobe##bits(v);                                                                        \
        memcpy(to, &v, sizeof v);                                                                  \
    }                                                                                              \
    static inline uint##bits##_t alm_be_get##bits(const char *from)                                \
    {                                                                                              \
        uint##bits##_t v;                                                                          \
        memcpy(&v, from, sizeof v);                                                                \
        return be##bits##toh(v);                                                                   \
    }
ALM_DEFINE_BE(16)
ALM_DEFINE_BE(32)
ALM_DEFINE_BE(64)
#undef ALM_DEFINE_BE

#endif
