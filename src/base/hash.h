/*
 * hash.h - 64-bit hashes for hash tables and sketches. All bits are good, so a table may use the low
 * bits as its index and the high bits as its tag. The same within one process only: never on disk.
 */
#ifndef ALM_BASE_HASH_H
#define ALM_BASE_HASH_H

#include "base/base.h"

/* XXH3. */
uint64_t alm_hash_bytes(const void *bytes, size_t n);
static inline uint64_t alm_hash_str(alm_str text)
{
    return alm_hash_bytes(text.ptr, text.len);
}
/* Letters A-Z hash as a-z do (agrees with alm_str_ieq). */
uint64_t alm_hash_str_nocase(alm_str text);

/* 64x64 -> 128 bit product, halves folded together: every input bit reaches every output bit. */
static inline uint64_t alm_hash_fold(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define ALM_HASH_K0 UINT64_C(0xa0761d6478bd642f)
#define ALM_HASH_K1 UINT64_C(0xe7037ed1a0b428db)
#define ALM_HASH_K2 UINT64_C(0x8ebc6af09c88c6e3)

static inline uint64_t alm_hash_u64(uint64_t key)
{
    return alm_hash_fold(key ^ ALM_HASH_K0, ALM_HASH_K1 ^ (key >> 32));
}
static inline uint64_t alm_hash_u128(uint64_t hi, uint64_t lo)
{
    return alm_hash_fold(alm_hash_fold(hi ^ ALM_HASH_K0, ALM_HASH_K1) ^ lo, ALM_HASH_K2);
}
/* Hash of a sequence from the hash so far and the hash of the next element; order matters. */
static inline uint64_t alm_hash_combine(uint64_t so_far, uint64_t next)
{
    return alm_hash_fold(so_far ^ ALM_HASH_K2, next ^ ALM_HASH_K0) + next;
}

#endif
