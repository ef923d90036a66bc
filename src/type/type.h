/*
 * type.h - SQL types as values, and what can be asked of a type without looking at data.
 *
 * A type is four bytes: the row of type.def and up to three parameters (precision and scale,
 * geohash bits, array dimensions). Compare with alm_type_eq, switch on .id.
 */
#ifndef ALM_TYPE_TYPE_H
#define ALM_TYPE_TYPE_H

#include "base/base.h"

typedef enum alm_type_id {
    ALM_T_NONE = 0, /* an unset type */
    ALM_T_NULL,     /* the untyped literal NULL; never stored, never leaves the binder unresolved
                       but in a result column, where it shows as STRING */
#define ALM_TYPE(id, ...) ALM_T_##id,
#include "type/type.def"
#undef ALM_TYPE
    ALM_TYPE_COUNT
} alm_type_id;

typedef enum alm_type_class {
    ALM_TC_NONE,
    ALM_TC_BOOL,
    ALM_TC_INTEGER,
    ALM_TC_FLOATING,
    ALM_TC_DECIMAL,
    ALM_TC_CHAR,
    ALM_TC_TEXT,
    ALM_TC_TIME,
    ALM_TC_OTHER
} alm_type_class;

typedef enum alm_null_kind {
    ALM_NULL_NONE,
    ALM_NULL_MIN8,
    ALM_NULL_MIN16,
    ALM_NULL_INT,
    ALM_NULL_LONG,
    ALM_NULL_NAN32,
    ALM_NULL_NAN64,
    ALM_NULL_ZERO16,
    ALM_NULL_ZERO32,
    ALM_NULL_VIEW,
    ALM_NULL_LONG2,  /* UUID: both halves INT64_MIN */
    ALM_NULL_LONG4,  /* LONG256: all four words INT64_MIN */
    ALM_NULL_MIN128, /* DECIMAL: the least number of 16 bytes */
    ALM_NULL_MIN256, /* DECIMAL: the least number of 32 bytes */
    ALM_NULL_CODE    /* SYMBOL: code 0 */
} alm_null_kind;

/* What the bits of an element mean. */
typedef enum alm_value_form {
    ALM_FORM_NONE,
    ALM_FORM_U8,
    ALM_FORM_I8,
    ALM_FORM_U16,
    ALM_FORM_I16,
    ALM_FORM_U32,
    ALM_FORM_I32,
    ALM_FORM_I64,
    ALM_FORM_F32,
    ALM_FORM_F64,
    ALM_FORM_UUID,     /* two unsigned words, the high one first */
    ALM_FORM_INTERVAL, /* two signed words, the start first */
    ALM_FORM_I128,     /* signed, the low word first */
    ALM_FORM_I256,
    ALM_FORM_U256,
    ALM_FORM_VIEW,
    ALM_FORM_SIZED /* a signed number of the width that the parameters of the type ask for */
} alm_value_form;

typedef struct alm_type {
    uint8_t id;   /* alm_type_id */
    uint8_t p;    /* DECIMAL precision, GEOHASH bits, STRING: alm_list_of, INT: an OID */
    uint8_t s;    /* DECIMAL scale */
    uint8_t dims; /* ARRAY dimensions */
} alm_type;

typedef struct alm_type_info {
    const char *name; /* as in JSON: "TIMESTAMP_NS", "IPv4" */
    uint8_t width;
    alm_null_kind null;
    alm_value_form form; /* SIZED too */
    int32_t pg_oid;
    int16_t pg_len;
    const char *arrow;
    alm_type_class cls;
    bool csv_quoted;
    const struct alm_type_ops *ops; /* type/ops.h */
} alm_type_info;

#define ALM_TY(ID) ((alm_type){.id = ALM_T_##ID})

/* What the elements of a STRING are that is a list (type/text_list.h). A note for drivers and for
 * functions that take lists apart: alm_type_eq does not see it, and no column keeps it. */
typedef enum alm_list_of {
    ALM_LIST_NONE,
    ALM_LIST_TEXT,
    ALM_LIST_BOOL,
    ALM_LIST_OID,
    ALM_LIST_INT2,
    ALM_LIST_INT4,
    ALM_LIST_INT8,
    ALM_LIST_UUID,
    ALM_LIST_TIME,
    ALM_LIST_NUMERIC,
    ALM_LIST_ROW, /* of rows, ROW(a, b) */
    ALM_LIST_VECTOR,
    ALM_LIST_NONE_BUT_CHAR, /* no list: a text that a CHAR is made of or compared with */
    ALM_LIST_NONE_BUT_ROW,  /* no list: a row, "(a,b)" */
    ALM_LIST_NONE_BUT_JSON  /* no list: json, to drivers */
} alm_list_of;
static inline alm_type alm_type_list(alm_list_of of)
{
    return (alm_type){.id = ALM_T_STRING, .p = (uint8_t)of};
}

/* Of a parameter that meets a CHAR: any text may come, drivers are told bpchar. */
static inline alm_type alm_type_char_text(void)
{
    return alm_type_list(ALM_LIST_NONE_BUT_CHAR);
}

static inline alm_type alm_type_json(void)
{
    return alm_type_list(ALM_LIST_NONE_BUT_JSON);
}

static inline bool alm_type_is_row(alm_type type)
{
    return type.id == ALM_T_STRING && type.p == ALM_LIST_NONE_BUT_ROW;
}

/* An INT that names an object of the catalogue, a note like that of lists: array_agg makes a list of
 * them. */
static inline alm_type alm_type_oid(void)
{
    return (alm_type){.id = ALM_T_INT, .p = 1};
}
static inline bool alm_type_is_oid(alm_type type)
{
    return type.id == ALM_T_INT && type.p == 1;
}

/* An INT that is the number of a function: as a text, and in the result of a query, it is the name. */
static inline alm_type alm_type_regproc(void)
{
    return (alm_type){.id = ALM_T_INT, .p = 2};
}
static inline bool alm_type_is_regproc(alm_type type)
{
    return type.id == ALM_T_INT && type.p == 2;
}

const alm_type_info *alm_type_info_of(alm_type type); /* never NULL; NONE and NULL have rows too */
bool alm_type_eq(alm_type a, alm_type b);
const char *alm_type_name(alm_type type); /* "DOUBLE"; parameters included where any */
/* Accepts every spelling of the dialect, any case: "int", "integer", "float8", "timestamp_ns",
 * "text" ... False: no such type. */
bool alm_type_parse(alm_str text, alm_type *out);
/* The same where a bad parameter has an error of its own: "geohash(61b)", "decimal(5,6)". A name that
 * is no type at all gives NONE. */
ALM_NODISCARD alm_status alm_type_read(alm_ctx *cx, int32_t pos, alm_str text, alm_type *out);
/* What PostgreSQL's names say beyond the type: characters at most (0: any number), digits of the seconds (-1: not said). */
typedef struct alm_type_mod {
    uint32_t length;
    int8_t digits;
} alm_type_mod;
enum { ALM_TEXT_LENGTH_MAX = 10485760 };
/* As alm_type_read, of varchar(20), char(3), timestamp(3) and their like, too. */
ALM_NODISCARD alm_status alm_type_read_mod(alm_ctx *cx, int32_t pos, alm_str text, alm_type *out,
                                           alm_type_mod *mod);
/* The error for a name that is no type: "what: text". */
alm_status alm_no_type(alm_ctx *cx, int32_t pos, const char *what, alm_str text);

/* Parameters: GEOHASH 1..60 bits; DECIMAL 1..76 digits, 0..p of them behind the point; ARRAY 1..32
 * dimensions of DOUBLE. */
enum { ALM_GEOHASH_BITS_MAX = 60, ALM_DECIMAL_DIGITS_MAX = 76, ALM_ARRAY_DIMS_MAX = 32 };
static inline alm_type alm_type_geohash(uint32_t bits)
{
    return (alm_type){.id = ALM_T_GEOHASH, .p = (uint8_t)bits};
}
static inline alm_type alm_type_decimal(uint32_t precision, uint32_t scale)
{
    return (alm_type){.id = ALM_T_DECIMAL, .p = (uint8_t)precision, .s = (uint8_t)scale};
}
static inline alm_type alm_type_array(uint32_t dims)
{
    return (alm_type){.id = ALM_T_ARRAY, .dims = (uint8_t)dims};
}
/* Whose width or meaning depends on parameters; a bare one stands for all of them in signatures. */
static inline bool alm_type_is_sized(alm_type type)
{
    return type.id == ALM_T_GEOHASH || type.id == ALM_T_DECIMAL || type.id == ALM_T_ARRAY;
}
static inline bool
alm_type_is_text(alm_type type) /* STRING, VARCHAR, SYMBOL: views after decoding */
{
    return type.id == ALM_T_STRING || type.id == ALM_T_VARCHAR || type.id == ALM_T_SYMBOL;
}
/* Values are views whose long bytes lie elsewhere, in storage too (SYMBOL has codes there). */
static inline bool alm_type_has_heap(alm_type type)
{
    return type.id == ALM_T_STRING || type.id == ALM_T_VARCHAR || type.id == ALM_T_BINARY ||
           type.id == ALM_T_ARRAY;
}
static inline bool alm_type_is_timestamp(alm_type type)
{
    return type.id == ALM_T_TIMESTAMP || type.id == ALM_T_TIMESTAMP_NS;
}
/* A type that may be stored: for what is read from files. */
static inline bool alm_type_is_valid(alm_type type)
{
    return type.id > ALM_T_NULL && type.id < ALM_TYPE_COUNT &&
           (type.id != ALM_T_GEOHASH || type.p <= ALM_GEOHASH_BITS_MAX) &&
           (type.id != ALM_T_DECIMAL || (type.p <= ALM_DECIMAL_DIGITS_MAX && type.s <= type.p)) &&
           (type.id == ALM_T_ARRAY ? type.dims >= 1 && type.dims <= ALM_ARRAY_DIMS_MAX
                                   : type.dims == 0);
}
static inline uint32_t alm_type_width(alm_type type)
{
    return alm_type_info_of(type)->width;
}

#endif
