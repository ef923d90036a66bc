/*
 * type_name.c - the name of a type as it is shown, parameters included: "GEOHASH(5c)",
 * "DECIMAL(10,2)", "DOUBLE[][]". Names are constants of the program, so that they outlive whoever asks.
 */
#include "type/type.h"

enum { NAME_BYTES = 16 };

/* A number of bits that is a number of letters shows as such. */
#define FIVE(c, b1, b2, b3, b4)                                                                    \
    "GEOHASH(" #b1 "b)", "GEOHASH(" #b2 "b)", "GEOHASH(" #b3 "b)", "GEOHASH(" #b4 "b)",            \
        "GEOHASH(" #c "c)"
static const char GEOHASH_NAMES[ALM_GEOHASH_BITS_MAX + 1][NAME_BYTES] = {
    "GEOHASH",
    FIVE(1, 1, 2, 3, 4),
    FIVE(2, 6, 7, 8, 9),
    FIVE(3, 11, 12, 13, 14),
    FIVE(4, 16, 17, 18, 19),
    FIVE(5, 21, 22, 23, 24),
    FIVE(6, 26, 27, 28, 29),
    FIVE(7, 31, 32, 33, 34),
    FIVE(8, 36, 37, 38, 39),
    FIVE(9, 41, 42, 43, 44),
    FIVE(10, 46, 47, 48, 49),
    FIVE(11, 51, 52, 53, 54),
    FIVE(12, 56, 57, 58, 59),
};

/* DECIMAL_NAMES[p][s]; those with s > p are never asked for. */
#define NAME(p, s) "DECIMAL(" #p "," #s ")"
#define TEN(p, t)                                                                                  \
    NAME(p, t##0), NAME(p, t##1), NAME(p, t##2), NAME(p, t##3), NAME(p, t##4), NAME(p, t##5),      \
        NAME(p, t##6), NAME(p, t##7), NAME(p, t##8), NAME(p, t##9)
#define ALL(p)                                                                                     \
    {TEN(p, ),    TEN(p, 1),   TEN(p, 2),   TEN(p, 3),   TEN(p, 4),   TEN(p, 5),   TEN(p, 6),      \
     NAME(p, 70), NAME(p, 71), NAME(p, 72), NAME(p, 73), NAME(p, 74), NAME(p, 75), NAME(p, 76)}
#define TEN_OF(t)                                                                                  \
    ALL(t##0), ALL(t##1), ALL(t##2), ALL(t##3), ALL(t##4), ALL(t##5), ALL(t##6), ALL(t##7),        \
        ALL(t##8), ALL(t##9)
static const char
    DECIMAL_NAMES[ALM_DECIMAL_DIGITS_MAX + 1][ALM_DECIMAL_DIGITS_MAX + 1][NAME_BYTES] = {
        {"DECIMAL"}, ALL(1),  ALL(2),    ALL(3),    ALL(4),    ALL(5),    ALL(6),    ALL(7),
        ALL(8),      ALL(9),  TEN_OF(1), TEN_OF(2), TEN_OF(3), TEN_OF(4), TEN_OF(5), TEN_OF(6),
        ALL(70),     ALL(71), ALL(72),   ALL(73),   ALL(74),   ALL(75),   ALL(76),
};

/* ARRAY_NAMES[dims]; without dimensions it stands for all of them. */
#define A1  "[]"
#define A2  A1 A1
#define A4  A2 A2
#define A8  A4 A4
#define A16 A8 A8
#define FOUR(before)                                                                               \
    "DOUBLE" before A1, "DOUBLE" before A2, "DOUBLE" before A2 A1, "DOUBLE" before A4
static const char *const ARRAY_NAMES[ALM_ARRAY_DIMS_MAX + 1] = {
    "DOUBLE[]", FOUR(""),     FOUR(A4),     FOUR(A8),        FOUR(A8 A4),
    FOUR(A16),  FOUR(A16 A4), FOUR(A16 A8), FOUR(A16 A8 A4),
};

const char *alm_type_name(alm_type type)
{
    if (type.id == ALM_T_ARRAY && type.dims <= ALM_ARRAY_DIMS_MAX)
        return ARRAY_NAMES[type.dims];
    if (type.id == ALM_T_GEOHASH && type.p <= ALM_GEOHASH_BITS_MAX)
        return GEOHASH_NAMES[type.p];
    if (type.id == ALM_T_DECIMAL && type.p <= ALM_DECIMAL_DIGITS_MAX && type.s <= type.p)
        return DECIMAL_NAMES[type.p][type.s];
    return alm_type_info_of(type)->name;
}
