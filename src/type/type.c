/*
 * type.c - the table of types, and the names types are known by.
 */
#include "type/type.h"

static const alm_type_info INFO[ALM_TYPE_COUNT] = {
    [ALM_T_NONE] = {"NONE", 0, ALM_NULL_NONE, ALM_TC_NONE, 0, 0, "n", false},
    /* NULL travels as a STRING view, and is described to clients as one. */
    [ALM_T_NULL] = {"NULL", 16, ALM_NULL_VIEW, ALM_TC_NONE, 1043, -1, "n", true},
#define ALM_TYPE(id, name, width, null, oid, pg_len, arrow, cls, quoted)                           \
    [ALM_T_##id] = {name, width, ALM_NULL_##null, ALM_TC_##cls, oid, pg_len, arrow, quoted},
#include "type/type.def"
#undef ALM_TYPE
};

typedef struct type_alias {
    alm_str name;
    alm_type_id id;
} type_alias;

#define ALIAS(text, id) {{text, sizeof(text) - 1}, ALM_T_##id}

/* Spellings besides the names of type.def: those of the PostgreSQL world that drivers write. */
static const type_alias ALIASES[] = {
    ALIAS("bool", BOOLEAN),
    ALIAS("int1", BYTE),
    ALIAS("tinyint", BYTE),
    ALIAS("int2", SHORT),
    ALIAS("smallint", SHORT),
    ALIAS("integer", INT),
    ALIAS("int4", INT),
    ALIAS("bigint", LONG),
    ALIAS("int8", LONG),
    ALIAS("real", FLOAT),
    ALIAS("float4", FLOAT),
    ALIAS("float8", DOUBLE),
    ALIAS("double precision", DOUBLE),
    ALIAS("text", STRING),
    ALIAS("character varying", VARCHAR),
    ALIAS("bpchar", CHAR),
    ALIAS("character", CHAR),
    ALIAS("timestamptz", TIMESTAMP),
    ALIAS("timestamp with time zone", TIMESTAMP),
    ALIAS("timestamp without time zone", TIMESTAMP),
    ALIAS("inet", IPV4),
};

const alm_type_info *alm_type_info_of(alm_type t)
{
    ALM_ASSERT(t.id < ALM_TYPE_COUNT);
    return &INFO[t.id];
}

bool alm_type_eq(alm_type a, alm_type b)
{
    return a.id == b.id && a.p == b.p && a.s == b.s && a.dims == b.dims;
}

const char *alm_type_name(alm_type t)
{
    return alm_type_info_of(t)->name;
}

bool alm_type_parse(alm_str text, alm_type *out)
{
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++) {
        if (alm_str_ieq(text, alm_str_of(INFO[id].name))) {
            *out = (alm_type){.id = id};
            return true;
        }
    }
    for (size_t i = 0; i < ALM_COUNT(ALIASES); i++) {
        if (alm_str_ieq(text, ALIASES[i].name)) {
            *out = (alm_type){.id = (uint8_t)ALIASES[i].id};
            return true;
        }
    }
    return false;
}
