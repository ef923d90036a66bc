/*
 * catalog.h - relations of pg_catalog and information_schema (catalog.def) as sources.
 *
 * A relation is a row of catalog.def and, unless it is empty, a fill function in a catalog_*.c. A
 * fill says once which columns it writes and in which order (alm_cat_order), then puts the cells of
 * each row one after the other; columns it does not name keep their default.
 *
 * Names       pg_class, pg_catalog.pg_class, information_schema.columns; with "()" behind them the
 *             function of that name, whose columns are fewer.
 * Ownership   as list.h.
 */
#ifndef ALM_EXEC_SOURCE_CATALOG_H
#define ALM_EXEC_SOURCE_CATALOG_H

#include "exec/source/list.h"
#include "type/pg_oid.h"

/* Fixed object numbers. */
enum {
    ALM_OID_HEAP = 2, /* access methods */
    ALM_OID_BTREE = 403,
    ALM_OID_CATALOG = 11,
    ALM_OID_PUBLIC = 2200,
    ALM_OID_GENERATED = 10000, /* relations below it are tables of PostgreSQL, others are views */
    ALM_OID_INFORMATION = 13000,
    ALM_OID_DATABASE = 16383,
    ALM_OID_OWNER = 10,
    ALM_OID_READER = 16382,
    ALM_OID_FUNCTIONS = 14000, /* plus the place in the registry */
    ALM_OID_FUNCTIONS_MAX = 16381,
    ALM_OID_INDEXES = 1 << 30,
    ALM_CAT_COLS = 64
};

typedef struct alm_cat {
    alm_list list;
    alm_run *run;
    const char *name;
    bool function; /* FROM name(): as the reference answers */
    alm_plan_col cols[ALM_CAT_COLS];
    const char *defaults[ALM_CAT_COLS]; /* texts; NULL: null */
    uint16_t shown[ALM_CAT_COLS];       /* columns that are given out */
    uint32_t n_shown;
    uint16_t order[ALM_CAT_COLS]; /* ALM_CAT_COLS: not in this relation */
    uint32_t n_order, at;
} alm_cat;

typedef alm_status (*alm_cat_fill)(alm_ctx *cx, alm_cat *cat);

/* Names of the columns that the puts after each alm_cat_row write, parted by spaces. One that the
 * relation does not have is passed over, so that relations alike share a fill. A row that gets fewer
 * or more cells than there are names fails with ALM_E_INTERNAL. */
void alm_cat_order(alm_cat *cat, const char *names);
ALM_NODISCARD alm_status alm_cat_row(alm_ctx *cx, alm_cat *cat);
void alm_cat_text(alm_cat *cat, const char *text); /* NULL: null */
void alm_cat_int(alm_cat *cat, int64_t value);     /* integers, CHAR, TIMESTAMP */
void alm_cat_bool(alm_cat *cat, bool value);
void alm_cat_float(alm_cat *cat, double value);
void alm_cat_keep(alm_cat *cat); /* leave the default */

/* NULL: no such relation. */
const alm_source *alm_catalog_find(alm_str name);
/* Relation number i, NULL: no more. */
const alm_source *alm_catalog_at(size_t i);

/* Letters of pg_catalog, as PostgreSQL defines them. */
typedef enum alm_relkind {
    ALM_RELKIND_INDEX = 'i',
    ALM_RELKIND_MATVIEW = 'm',
    ALM_RELKIND_TABLE = 'r',
    ALM_RELKIND_VIEW = 'v'
} alm_relkind;
typedef enum alm_amtype { ALM_AMTYPE_TABLE = 't', ALM_AMTYPE_INDEX = 'i' } alm_amtype;
typedef enum alm_prokind {
    ALM_PROKIND_AGGREGATE = 'a',
    ALM_PROKIND_FUNCTION = 'f',
    ALM_PROKIND_WINDOW = 'w'
} alm_prokind;
typedef enum alm_provolatile {
    ALM_PROVOLATILE_IMMUTABLE = 'i',
    ALM_PROVOLATILE_STABLE = 's',
    ALM_PROVOLATILE_VOLATILE = 'v'
} alm_provolatile;
typedef enum alm_typtype { ALM_TYPTYPE_BASE = 'b', ALM_TYPTYPE_PSEUDO = 'p' } alm_typtype;
typedef enum alm_typcategory { ALM_TYPCATEGORY_ARRAY = 'A' } alm_typcategory;
typedef enum alm_typalign { ALM_TYPALIGN_INT = 'i', ALM_TYPALIGN_DOUBLE = 'd' } alm_typalign;
typedef enum alm_typstorage { ALM_TYPSTORAGE_EXTENDED = 'x' } alm_typstorage;

/* The relations themselves, for pg_class and pg_attribute. */
typedef struct alm_relation {
    const char *schema, *name;
    int32_t oid;
    alm_cat_fill fill;
    const char *columns;
} alm_relation;
size_t alm_relation_count(void);
const alm_relation *alm_relation_at(size_t i);
/* Columns of the relation, names from cx->arena. */
ALM_NODISCARD alm_status alm_relation_columns(alm_ctx *cx, const alm_relation *rel,
                                              alm_plan_col *cols, uint32_t *n);
int32_t alm_relation_schema_oid(const alm_relation *rel);

/* type/pg_type.def as values. */
typedef struct alm_pg_type_row {
    int32_t oid, array_oid;
    const char *name;
    int16_t length;
    bool by_value, preferred;
    char kind, category, align, storage;
    int32_t collation;
    const char *prefix;
    int32_t in, out, recv, send;
} alm_pg_type_row;
const alm_pg_type_row *alm_pg_type_find(int32_t oid); /* NULL: not listed */
/* Number under which tools see the type of a column. */
int32_t alm_pg_column_type(const alm_ctx *cx, alm_type type);
int32_t alm_pg_plain_type(alm_type type); /* whatever pg.timestamp.zone says: of functions */

/* "double precision", "integer[]": as format_type names it; NULL: not listed. */
const char *alm_cat_display_type(int32_t oid);
/* "double precision", "ARRAY": the standard's words for a type; "USER-DEFINED" for other types. */
const char *alm_cat_type_words(int32_t oid);
/* Rows of pg_proc for the functions of the registry. */
ALM_NODISCARD alm_status alm_cat_functions(alm_ctx *cx, alm_cat *cat);

/* Object numbers of a table and of the index of one of its columns. */
int32_t alm_oid_of_table(const alm_table *table);
int32_t alm_oid_of_index(const alm_table *table, uint32_t col);

#define ALM_CAT_FILL(name)                             alm_status alm_cat_fill_##name(alm_ctx *cx, alm_cat *cat)
#define ALM_RELATION(schema, name, oid, fill, columns) ALM_CAT_FILL(fill);
#include "exec/source/catalog.def"
#undef ALM_RELATION

#endif
