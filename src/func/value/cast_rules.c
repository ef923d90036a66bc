/*
 * cast_rules.c - which types turn into which without being asked, at what cost, and where two types
 * meet. Data are touched by cast/number.c, cast/text.c and cast/time.c.
 *
 * Costs       0 the same type; 1..5 widening (one step of BYTE < SHORT < INT < LONG < FLOAT <
 *             DOUBLE, or of DATE < TIMESTAMP < TIMESTAMP_NS, each); 7 an integer as a FLOAT, which has
 *             24 bits, so that a FLOAT beside an integer is computed in DOUBLE; 8 a change of family
 *             that keeps the value (LONG as TIMESTAMP); 16 and more text that is read as something
 *             else, which may fail at run time. The numbers only have to order overloads.
 */
#include "func/value/cast_rules.h"

#include "type/ops.h"

/* Place on the ladder of numbers, 0 for what is none. */
static int number_rank(alm_type type)
{
    static const uint8_t rank[ALM_TYPE_COUNT] = {
        [ALM_T_BYTE] = 1, [ALM_T_SHORT] = 2, [ALM_T_INT] = 3,
        [ALM_T_LONG] = 4, [ALM_T_FLOAT] = 5, [ALM_T_DOUBLE] = 6};
    return rank[type.id];
}

static int time_rank(alm_type type)
{
    static const uint8_t rank[ALM_TYPE_COUNT] = {
        [ALM_T_DATE] = 1, [ALM_T_TIMESTAMP] = 2, [ALM_T_TIMESTAMP_NS] = 3};
    return rank[type.id];
}

alm_type alm_decimal_for(alm_type from)
{
    enum { PRECISION = 18, SCALE = 3 };
    switch (from.id) {
    case ALM_T_DECIMAL:
        return from;
    case ALM_T_BYTE:
        return alm_type_decimal(3, 0);
    case ALM_T_SHORT:
        return alm_type_decimal(5, 0);
    case ALM_T_INT:
        return alm_type_decimal(10, 0);
    case ALM_T_LONG:
        return alm_type_decimal(19, 0);
    default:
        return alm_type_decimal(PRECISION, SCALE);
    }
}

alm_type alm_decimal_meet(alm_type a, alm_type b)
{
    const uint32_t scale = ALM_MAX(a.s, b.s);
    const uint32_t whole = ALM_MAX((uint32_t)a.p - a.s, (uint32_t)b.p - b.s);
    return alm_type_decimal(ALM_MIN(whole + scale, (uint32_t)ALM_DECIMAL_DIGITS_MAX), scale);
}

static int text_cost(alm_type from, alm_type target)
{
    enum { TEXT_TO_TIME = 30, TEXT_TO_OTHER = 17, TEXT_TO_NUMBER = 32, TEXT_TO_WIDE = 50 };
    const bool symbol = from.id == ALM_T_SYMBOL;
    if (alm_type_is_text(target))
        return 1;
    if (time_rank(target) != 0)
        return TEXT_TO_TIME + time_rank(target);
    if (alm_type_written(target) == ALM_WRITTEN_TEXT)
        return TEXT_TO_OTHER;
    if (alm_type_written(target) == ALM_WRITTEN_WIDE)
        return symbol ? -1 : TEXT_TO_WIDE;
    if (symbol) /* sum(symbol) is a mistake, sum(varchar) may be meant */
        return -1;
    if (number_rank(target) != 0) /* DOUBLE holds what most texts of numbers say */
        return TEXT_TO_NUMBER + 6 - number_rank(target);
    if (target.id == ALM_T_CHAR)
        return TEXT_TO_NUMBER;
    return -1;
}

static bool is_rare(alm_type type)
{
    return alm_type_written(type) == ALM_WRITTEN_WIDE || type.id == ALM_T_BINARY ||
           type.id == ALM_T_ARRAY;
}

int alm_cast_cost(alm_type from, alm_type target)
{
    enum {
        TO_FLOAT = 7,
        OTHER_FAMILY = 8,
        TO_DECIMAL = 9,
        NARROW_TIME = 12,
        FROM_DECIMAL = 20,
        CHAR_TO_NUMBER = 40,
        TO_LONG256 = 45,
        ADDRESS_TO_TEXT = 25 /* above text to them: those are compared as what they are */
    };
    if (alm_type_eq(from, target))
        return 0;
    if (from.id ==
        ALM_T_NONE) /* a parameter: a DOUBLE takes any number, and nobody means the rare types */
        return is_rare(target) || alm_type_written(target) == ALM_WRITTEN_TEXT ? 2
               : number_rank(target) != 0 && target.id != ALM_T_DOUBLE         ? 1
                                                                               : 0;
    if (from.id == ALM_T_NULL) /* nobody means a type without null, nor one of the rare types */
        return alm_type_info_of(target)->null == ALM_NULL_NONE ? 3
               : is_rare(target) || target.id == ALM_T_UUID    ? 2
                                                               : 1;
    if (alm_type_is_text(from))
        return text_cost(from, target);
    const int nf = number_rank(from), nt = number_rank(target);
    const int tf = time_rank(from), tt = time_rank(target);
    if (nf != 0 && nt != 0)
        return nt <= nf ? -1 : target.id == ALM_T_FLOAT ? TO_FLOAT : nt - nf;
    if (tf != 0 && tt != 0)
        return tt > tf ? tt - tf : NARROW_TIME + tf - tt;
    if (nf != 0 && nf <= 4 && tt != 0) /* 1704067200000000 as a timestamp */
        return OTHER_FAMILY + tt;
    if (nf != 0 && nf <= 4 && target.id == ALM_T_DECIMAL)
        return TO_DECIMAL;
    if (nf != 0 && nf <= 4 && target.id == ALM_T_LONG256)
        return TO_LONG256;
    if (from.id == ALM_T_DECIMAL && target.id == ALM_T_DECIMAL)
        return 1;
    if (from.id == ALM_T_DECIMAL && target.id == ALM_T_DOUBLE)
        return FROM_DECIMAL;
    if (from.id == ALM_T_CHAR && (target.id == ALM_T_GEOHASH || target.id == ALM_T_DECIMAL))
        return CHAR_TO_NUMBER + 10;
    if (tf != 0 && target.id == ALM_T_LONG)
        return OTHER_FAMILY;
    if (tf != 0 && target.id == ALM_T_DOUBLE)
        return OTHER_FAMILY + 2;
    if (from.id == ALM_T_CHAR && alm_type_is_text(target))
        return target.id == ALM_T_STRING ? 1 : 2;
    if (from.id == ALM_T_CHAR && nt != 0)
        return CHAR_TO_NUMBER + 6 - nt;
    if (alm_type_written(from) == ALM_WRITTEN_TEXT && alm_type_is_text(target))
        return ADDRESS_TO_TEXT + (target.id == ALM_T_STRING ? 0 : 1);
    return -1;
}

static bool is_text_or_char(alm_type type)
{
    return alm_type_is_text(type) || type.id == ALM_T_CHAR;
}

static alm_type cast_rules_not_symbol(alm_type type)
{
    return type.id == ALM_T_SYMBOL ? ALM_TY(STRING) : type;
}

alm_type alm_type_meet(alm_type a, alm_type b)
{
    if (a.id == ALM_T_NULL || a.id == ALM_T_NONE)
        return cast_rules_not_symbol(b);
    if (b.id == ALM_T_NULL || b.id == ALM_T_NONE)
        return cast_rules_not_symbol(a);
    if (alm_type_eq(a, b))
        return cast_rules_not_symbol(a);
    if (number_rank(a) != 0 && number_rank(b) != 0)
        return number_rank(a) > number_rank(b) ? a : b;
    const bool dec_a = a.id == ALM_T_DECIMAL, dec_b = b.id == ALM_T_DECIMAL;
    if (dec_a || dec_b) {
        const alm_type other = dec_a ? b : a;
        const int rank = number_rank(other);
        if (rank > 4)
            return ALM_TY(DOUBLE);
        return rank == 0 && !(dec_a && dec_b)
                   ? ALM_TY(NONE)
                   : alm_decimal_meet(alm_decimal_for(a), alm_decimal_for(b));
    }
    if (a.id == ALM_T_GEOHASH && b.id == ALM_T_GEOHASH) /* the coarser one */
        return a.p < b.p ? a : b;
    if (time_rank(a) != 0 && time_rank(b) != 0)
        return time_rank(a) > time_rank(b) ? a : b;
    if (time_rank(a) != 0 && (b.id == ALM_T_INT || b.id == ALM_T_LONG))
        return a;
    if (time_rank(b) != 0 && (a.id == ALM_T_INT || a.id == ALM_T_LONG))
        return b;
    if (is_text_or_char(a) && is_text_or_char(b))
        return a.id == ALM_T_VARCHAR || b.id == ALM_T_VARCHAR ? ALM_TY(VARCHAR) : ALM_TY(STRING);
    return ALM_TY(NONE);
}

static bool is_any_number(alm_type type)
{
    return number_rank(type) != 0 || type.id == ALM_T_DECIMAL;
}

alm_type alm_type_union(alm_type a, alm_type b)
{
    if (a.id == ALM_T_ARRAY && b.id == ALM_T_ARRAY)
        return a.dims > b.dims ? a : b;
    /* VARCHAR takes in everything but STRING */
    const bool varchar = a.id == ALM_T_VARCHAR || b.id == ALM_T_VARCHAR;
    const bool string = a.id == ALM_T_STRING || b.id == ALM_T_STRING;
    const alm_type text = varchar && !string ? ALM_TY(VARCHAR) : ALM_TY(STRING);
    if (is_text_or_char(a) && is_text_or_char(b) && !alm_type_eq(a, b))
        return text;
    if ((time_rank(a) != 0 && is_any_number(b)) || (time_rank(b) != 0 && is_any_number(a)))
        return ALM_TY(
            NONE); /* a number is not an implicit timestamp, and a common text type would hide the mistake */
    const alm_type met = alm_type_meet(a, b);
    if (met.id != ALM_T_NONE && !(varchar && met.id == ALM_T_STRING))
        return met;
    return text;
}

/* What may be stored into a column of another type. Narrowing is checked value by value. */
bool alm_assign_allowed(alm_type from, alm_type target)
{
    if (alm_type_eq(from, target) || from.id == ALM_T_NULL)
        return true;
    const bool to_number = number_rank(target) != 0, to_time = time_rank(target) != 0;
    if (number_rank(from) != 0)
        return to_number || (number_rank(from) <= 4 &&
                             (to_time || target.id == ALM_T_DECIMAL || target.id == ALM_T_LONG256));
    if (time_rank(from) != 0)
        return to_time || (to_number && target.id != ALM_T_FLOAT);
    const bool to_string = target.id == ALM_T_STRING || target.id == ALM_T_VARCHAR;
    if (from.id == ALM_T_CHAR)
        return alm_type_is_text(target) || to_number || to_time || target.id == ALM_T_GEOHASH ||
               target.id == ALM_T_DECIMAL;
    if (from.id == ALM_T_STRING || from.id == ALM_T_VARCHAR)
        return target.id != ALM_T_BOOLEAN && target.id != ALM_T_INTERVAL &&
               target.id != ALM_T_BINARY;
    if (from.id == ALM_T_SYMBOL)
        return alm_type_is_text(target) || to_time;
    if (from.id == ALM_T_DECIMAL)
        return target.id == ALM_T_DECIMAL || target.id == ALM_T_DOUBLE || target.id == ALM_T_FLOAT;
    if (from.id == ALM_T_GEOHASH && target.id == ALM_T_GEOHASH) /* cells may grow, not shrink */
        return from.p >= target.p;
    return alm_type_written(from) != ALM_WRITTEN_BY_CLASS && to_string;
}

const char *alm_fn_negated(const char *name)
{
    static const char *const pairs[][2] = {{"=", "!="}, {"!=", "="}, {"<>", "="}, {"<", ">="},
                                           {">=", "<"}, {">", "<="}, {"<=", ">"}};
    for (size_t i = 0; i < ALM_COUNT(pairs); i++)
        if (strcmp(pairs[i][0], name) == 0)
            return pairs[i][1];
    return NULL;
}
