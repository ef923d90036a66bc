/*
 * bits.c - the operators & | ^ ~ << >> over integers and addresses.
 *
 * Null rule   Null in, null out. Shifting by a negative count or by the width and more is null.
 */
#include "func/value/kernel.h"
#include "func/value/tables.h"

#define INT_OR_NULL(expr)  (x == ALM_INT_NULL || y == ALM_INT_NULL ? ALM_INT_NULL : (expr))
#define LONG_OR_NULL(expr) (x == ALM_LONG_NULL || y == ALM_LONG_NULL ? ALM_LONG_NULL : (expr))

ALM_BINARY(and_int, int32_t, int32_t, int32_t, INT_OR_NULL(x &y))
ALM_BINARY(or_int, int32_t, int32_t, int32_t, INT_OR_NULL(x | y))
ALM_BINARY(xor_int, int32_t, int32_t, int32_t, INT_OR_NULL(x ^ y))
ALM_BINARY(and_long, int64_t, int64_t, int64_t, LONG_OR_NULL(x &y))
ALM_BINARY(or_long, int64_t, int64_t, int64_t, LONG_OR_NULL(x | y))
ALM_BINARY(xor_long, int64_t, int64_t, int64_t, LONG_OR_NULL(x ^ y))
ALM_UNARY(not_int, int32_t, int32_t, x == ALM_INT_NULL ? ALM_INT_NULL : ~x)
ALM_UNARY(not_long, int64_t, int64_t, x == ALM_LONG_NULL ? ALM_LONG_NULL : ~x)

ALM_BINARY(shl_int, int32_t, int32_t, int32_t,
           y < 0 || y > 31 || x == ALM_INT_NULL ? ALM_INT_NULL : (int32_t)((uint32_t)x << (y & 31)))
ALM_BINARY(shr_int, int32_t, int32_t, int32_t,
           y < 0 || y > 31 || x == ALM_INT_NULL ? ALM_INT_NULL : x >> (y & 31))
ALM_BINARY(shl_long, int64_t, int64_t, int64_t,
           y < 0 || y > 63 || x == ALM_LONG_NULL ? ALM_LONG_NULL
                                                 : (int64_t)((uint64_t)x << (y & 63)))
ALM_BINARY(shr_long, int64_t, int64_t, int64_t,
           y < 0 || y > 63 || x == ALM_LONG_NULL ? ALM_LONG_NULL : x >> (y & 63))

/* Addresses: 0 is null. */
ALM_BINARY(and_ipv4, uint32_t, uint32_t, uint32_t, x == 0 || y == 0 ? 0 : x & y)
ALM_BINARY(or_ipv4, uint32_t, uint32_t, uint32_t, x == 0 || y == 0 ? 0 : x | y)
ALM_UNARY(not_ipv4, uint32_t, uint32_t, x == 0 ? 0 : ~x)

#define OP(op, sig, kernel_, doc_, example_)                                                       \
    {.name = op,                                                                                   \
     .signature = sig,                                                                             \
     .flags = ALM_FN_INTERNAL | ALM_FN_NULL_OUT,                                                   \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    OP("&", "(INT, INT) INT", and_int, "Bits of both.", "6 & 3"),
    OP("&", "(LONG, LONG) LONG", and_long, "Bits of both.", "6L & 3"),
    OP("&", "(IPv4, IPv4) IPv4", and_ipv4, "Address under a mask.",
       "'10.0.3.4'::ipv4 & netmask('10.0.0.0/16')"),
    OP("|", "(INT, INT) INT", or_int, "Bits of either.", "6 | 3"),
    OP("|", "(LONG, LONG) LONG", or_long, "Bits of either.", "6L | 3"),
    OP("|", "(IPv4, IPv4) IPv4", or_ipv4, "Bits of either address.",
       "'10.0.3.0'::ipv4 | '0.0.0.4'::ipv4"),
    OP("^", "(INT, INT) INT", xor_int, "Bits of one only.", "6 ^ 3"),
    OP("^", "(LONG, LONG) LONG", xor_long, "Bits of one only.", "6L ^ 3"),
    OP("~", "(INT) INT", not_int, "All bits turned.", "~6"),
    OP("~", "(LONG) LONG", not_long, "All bits turned.", "~6L"),
    OP("~", "(IPv4) IPv4", not_ipv4, "All bits of an address turned.", "~ ipv4 '255.0.0.0'"),
    OP("<<", "(INT, INT) INT", shl_int, "Bits moved left.", "1 << 3"),
    OP("<<", "(LONG, LONG) LONG", shl_long, "Bits moved left.", "1L << 3"),
    OP(">>", "(INT, INT) INT", shr_int, "Bits moved right; the sign stays.", "8 >> 3"),
    OP(">>", "(LONG, LONG) LONG", shr_long, "Bits moved right; the sign stays.", "8L >> 3"),
};
ALM_FN_TABLE(bits, ROWS);
