/*
 * pg_oid.h - numbers of PostgreSQL's types, which its clients have built in: ALM_PG_OID_INT4, ALM_PG_OID_INT4_ARRAY ... of the
 * rows of pg_type.def.
 */
#ifndef ALM_TYPE_PG_OID_H
#define ALM_TYPE_PG_OID_H

enum {
#define ALM_PG_TYPE(id, oid, array, ...) ALM_PG_OID_##id = (oid), ALM_PG_OID_##id##_ARRAY = (array),
#include "type/pg_type.def"
#undef ALM_PG_TYPE
    ALM_PG_OID_NONE = 0 /* the client named no type */
};

#endif
