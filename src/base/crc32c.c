/*
 * crc32c.c - CRC-32C by the crc32 instruction where there is one, by tables elsewhere.
 *
 * The instruction takes 8 bytes and has a latency of three cycles, so three lanes run side by side;
 * their values are joined by a carry-less multiplication with x^(8n-33) mod P, which moves a value
 * over n bytes of zeros (n the length of a lane). Lanes are short, so that bytes from memory come in
 * one stream: 19 GB/s, where lanes of a kilobyte have 6 (bytes that no cache holds, one core).
 */
#include "base/crc32c.h"

/* Between calls and inside, values are kept inverted: ~crc is the register of the definition. */

static const uint32_t TABLE[8][256] = {
#include "base/crc32c_table.def"
};

uint32_t alm_crc32c_tables(uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *ptr = bytes;
    uint32_t reg = ~crc;
    for (; n >= 8; n -= 8, ptr += 8) {
        uint32_t low, high;
        memcpy(&low, ptr, 4);
        memcpy(&high, ptr + 4, 4);
        low ^= reg;
        reg = TABLE[7][low & 0xFF] ^ TABLE[6][low >> 8 & 0xFF] ^ TABLE[5][low >> 16 & 0xFF] ^
              TABLE[4][low >> 24] ^ TABLE[3][high & 0xFF] ^ TABLE[2][high >> 8 & 0xFF] ^
              TABLE[1][high >> 16 & 0xFF] ^ TABLE[0][high >> 24];
    }
    for (; n > 0; n--, ptr++)
        reg = reg >> 8 ^ TABLE[0][(reg ^ *ptr) & 0xFF];
    return ~reg;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define WITH_CRC __attribute__((target("sse4.2,pclmul")))

static uint64_t word_at(const uint8_t *ptr)
{
    uint64_t word;
    memcpy(&word, ptr, sizeof(word));
    return word;
}

/* A register moved over as many zero bytes as `factor` stands for. */
WITH_CRC static uint64_t move(uint64_t reg, uint32_t factor)
{
    const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)reg),
                                                 _mm_cvtsi64_si128((int64_t)factor), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Three lanes of `lane` bytes each; one: x^(8 lane - 33), two: x^(16 lane - 33), mod P. */
WITH_CRC static inline uint64_t three_lanes(uint64_t reg, const uint8_t *ptr, size_t lane,
                                            uint32_t one, uint32_t two)
{
    uint64_t a = reg, b = 0, c = 0;
    for (size_t i = 0; i < lane; i += 8) {
        a = _mm_crc32_u64(a, word_at(ptr + i));
        b = _mm_crc32_u64(b, word_at(ptr + lane + i));
        c = _mm_crc32_u64(c, word_at(ptr + 2 * lane + i));
    }
    return move(a, two) ^ move(b, one) ^ c;
}

WITH_CRC static uint32_t crc_instruction(uint32_t crc, const void *bytes, size_t n)
{
    enum { LANE = 128 };
    const uint8_t *ptr = bytes;
    uint64_t reg = ~crc;
    for (; n >= 3 * LANE; n -= 3 * LANE, ptr += 3 * LANE)
        reg = three_lanes(reg, ptr, LANE, 0x0d3b6092, 0xb9e02b86);
    for (; n >= 8; n -= 8, ptr += 8)
        reg = _mm_crc32_u64(reg, word_at(ptr));
    for (; n > 0; n--, ptr++)
        reg = _mm_crc32_u8((uint32_t)reg, *ptr);
    return ~(uint32_t)reg;
}

uint32_t alm_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return crc_instruction(crc, bytes, n);
    return alm_crc32c_tables(crc, bytes, n);
}
#else
uint32_t alm_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return alm_crc32c_tables(crc, bytes, n);
}
#endif
