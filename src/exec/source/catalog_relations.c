/*
 * catalog_relations.c - rows about tables, their columns and indexes: pg_class, pg_attribute,
 * pg_index, pg_tables, information_schema.tables, columns and their like.
 *
 * The relations of the catalogue list themselves too, so that tools can describe them; the functions
 * (FROM pg_class()) list tables only.
 */
#include "base/conf.h"
#include "exec/source/catalog.h"

#include "base/access.h"

int32_t alm_oid_of_table(const alm_table *table)
{
    return alm_table_oid(table->id);
}

/* 2048 columns a table fit beside half a million tables; beyond, numbers repeat. */
int32_t alm_oid_of_index(const alm_table *table, uint32_t col)
{
    return (int32_t)(ALM_OID_INDEXES + ((table->id << 11 | (col & 0x7ff)) & 0x3fffffff));
}

static bool has_index(const alm_table *table)
{
    for (uint32_t col = 0; col < table->n_cols; col++)
        if (table->cols[col].indexed)
            return true;
    return false;
}

/* --------------------------------------------------------------------------------- pg_class */

typedef struct class_row {
    int32_t oid;
    const char *name;
    int32_t schema;
    alm_relkind kind;
    uint32_t n_cols;
    int64_t rows;
    bool indexed;
} class_row;

static alm_status put_class(alm_ctx *cx, alm_cat *cat, const class_row *row)
{
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_int(cat, row->oid);
    alm_cat_text(cat, row->name);
    alm_cat_int(cat, row->schema);
    alm_cat_int(cat, row->oid);
    alm_cat_int(cat, row->kind);
    alm_cat_int(cat, (int16_t)ALM_MIN(row->n_cols, (uint32_t)INT16_MAX));
    alm_cat_float(cat, (double)row->rows);
    alm_cat_bool(cat, row->indexed);
    alm_cat_int(cat, row->kind == ALM_RELKIND_TABLE   ? ALM_OID_HEAP
                     : row->kind == ALM_RELKIND_INDEX ? ALM_OID_BTREE
                                                      : 0);
    return ALM_OK;
}

/* pg_class() says what the reference says there: everything is a table. */
static alm_relkind relation_kind(const alm_cat *cat, const alm_table *table)
{
    static const alm_relkind kinds[] = {[ALM_TABLE_BASE] = ALM_RELKIND_TABLE,
                                        [ALM_TABLE_VIEW] = ALM_RELKIND_VIEW,
                                        [ALM_TABLE_MATVIEW] = ALM_RELKIND_MATVIEW};
    return cat->function ? ALM_RELKIND_TABLE : kinds[table->kind];
}

ALM_CAT_FILL(classes)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "oid relname relnamespace relfilenode relkind relnatts reltuples "
                       "relhasindex relam");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        const int64_t rows = alm_table_visible(t).rows;
        const class_row table = {.oid = alm_oid_of_table(t),
                                 .name = t->name,
                                 .schema = ALM_OID_PUBLIC,
                                 .kind = relation_kind(cat, t),
                                 .n_cols = t->n_cols,
                                 .rows = rows,
                                 .indexed = !cat->function && has_index(t)};
        ALM_TRY(put_class(cx, cat, &table));
        for (uint32_t c = 0; !cat->function && c < t->n_cols; c++) {
            const char *name = NULL;
            if (!t->cols[c].indexed)
                continue;
            ALM_TRY(alm_index_name_of(cx, cx->arena, snap, t, c, &name));
            const class_row index = {.oid = alm_oid_of_index(t, c),
                                     .name = name,
                                     .schema = ALM_OID_PUBLIC,
                                     .kind = ALM_RELKIND_INDEX,
                                     .n_cols = 1,
                                     .rows = rows};
            ALM_TRY(put_class(cx, cat, &index));
        }
    }
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        alm_plan_col cols[ALM_CAT_COLS];
        uint32_t n = 0;
        ALM_TRY(alm_relation_columns(cx, rel, cols, &n));
        /* those PostgreSQL has as tables have numbers of their own */
        const class_row relation = {.oid = rel->oid,
                                    .name = rel->name,
                                    .schema = alm_relation_schema_oid(rel),
                                    .kind = rel->oid < ALM_OID_GENERATED ? ALM_RELKIND_TABLE
                                                                         : ALM_RELKIND_VIEW,
                                    .n_cols = n,
                                    .rows = -1};
        ALM_TRY(put_class(cx, cat, &relation));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------- pg_description */

ALM_CAT_FILL(comments)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "objoid classoid objsubid description");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        for (uint32_t c = 0; c <= t->n_cols; c++) { /* 0: the table itself */
            const char *text = alm_table_comment(t, c == 0 ? 0 : t->cols[c - 1].id);
            if (text == NULL)
                continue;
            ALM_TRY(alm_cat_row(cx, cat));
            alm_cat_int(cat, alm_oid_of_table(t));
            alm_cat_int(cat, 1259); /* pg_class */
            alm_cat_int(cat, c);
            alm_cat_text(cat, text);
        }
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------------------- pg_attribute */

static alm_status attribute_row(alm_ctx *cx, alm_cat *cat, int32_t oid, uint32_t number,
                                const alm_column *col)
{
    const alm_type type = col->type;
    const alm_pg_type_row *row = alm_pg_type_find(alm_pg_column_type(cx, type));
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_int(cat, oid);
    alm_cat_text(cat, col->name);
    alm_cat_int(cat, (int16_t)number);
    alm_cat_int(cat, alm_pg_column_type(cx, type));
    alm_cat_int(cat, row != NULL ? row->length : -1);
    /* precision and scale, as numeric(p,s) has them; CHAR is char(1); varchar(n) */
    alm_cat_int(cat, col->length > 0 ? (int32_t)col->length + 4
                     : alm_pg_column_type(cx, type) == ALM_PG_OID_NUMERIC
                         ? (((int32_t)type.p << 16) | type.s) + 4
                     : type.id == ALM_T_CHAR ? 5
                                             : -1);
    alm_cat_int(cat, row != NULL ? row->collation : 0);
    alm_cat_int(cat, row != NULL ? row->storage : ALM_TYPSTORAGE_EXTENDED);
    alm_cat_int(cat, row != NULL ? row->align : ALM_TYPALIGN_DOUBLE);
    alm_cat_bool(cat, row != NULL && row->by_value);
    alm_cat_int(cat, type.dims);
    return ALM_OK;
}

ALM_CAT_FILL(attributes)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "attrelid attname attnum atttypid attlen atttypmod attcollation attstorage "
                       "attalign attbyval attndims");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        for (uint32_t c = 0; c < t->n_cols; c++)
            ALM_TRY(attribute_row(cx, cat, alm_oid_of_table(t), c + 1, &t->cols[c]));
        for (uint32_t c = 0; !cat->function && c < t->n_cols; c++)
            if (t->cols[c].indexed)
                ALM_TRY(attribute_row(cx, cat, alm_oid_of_index(t, c), 1, &t->cols[c]));
    }
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        alm_plan_col cols[ALM_CAT_COLS];
        uint32_t n = 0;
        ALM_TRY(alm_relation_columns(cx, rel, cols, &n));
        for (uint32_t c = 0; c < n; c++) {
            const alm_column col = {.name = cols[c].name, .type = cols[c].type};
            ALM_TRY(attribute_row(cx, cat, rel->oid, c + 1, &col));
        }
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- indexes */

ALM_CAT_FILL(indexes)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    if (cat->function)
        return ALM_OK;
    alm_cat_order(cat, "indexrelid indrelid indkey");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        for (uint32_t c = 0; c < t->n_cols; c++) {
            const char *key = NULL;
            if (!t->cols[c].indexed)
                continue;
            ALM_TRY(alm_arena_printf(cx, cx->arena, &key, "%u", c + 1));
            ALM_TRY(alm_cat_row(cx, cat));
            alm_cat_int(cat, alm_oid_of_index(t, c));
            alm_cat_int(cat, alm_oid_of_table(t));
            alm_cat_text(cat, key);
        }
    }
    return ALM_OK;
}

ALM_CAT_FILL(index_list)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "tablename indexname indexdef");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        for (uint32_t c = 0; c < t->n_cols; c++) {
            const char *name = NULL, *text = NULL;
            if (!t->cols[c].indexed)
                continue;
            ALM_TRY(alm_index_name_of(cx, cx->arena, snap, t, c, &name));
            ALM_TRY(alm_catalog_index(cx, cx->arena, snap, t, (int32_t)c, &text));
            ALM_TRY(alm_cat_row(cx, cat));
            alm_cat_text(cat, t->name);
            alm_cat_text(cat, name);
            alm_cat_text(cat, text);
        }
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- lists of names */

static const char *catalog_relations_owner_of(const alm_ctx *cx)
{
    return cx->conf != NULL ? cx->conf->pg_user : "admin";
}

ALM_CAT_FILL(table_list)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "schemaname tablename tableowner hasindexes");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        if (t->kind != ALM_TABLE_BASE)
            continue;
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, "public");
        alm_cat_text(cat, t->name);
        alm_cat_text(cat, catalog_relations_owner_of(cx));
        alm_cat_bool(cat, has_index(t));
    }
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        if (rel->oid >= ALM_OID_GENERATED)
            continue;
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, rel->schema);
        alm_cat_text(cat, rel->name);
        alm_cat_text(cat, catalog_relations_owner_of(cx));
        alm_cat_bool(cat, false);
    }
    return ALM_OK;
}

ALM_CAT_FILL(view_list)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "schemaname viewname viewowner definition");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        if (t->kind != ALM_TABLE_VIEW)
            continue;
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, "public");
        alm_cat_text(cat, t->name);
        alm_cat_text(cat, catalog_relations_owner_of(cx));
        alm_cat_text(cat, alm_access_text(cx, t->name, t->view->sql));
    }
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        if (rel->oid < ALM_OID_GENERATED)
            continue;
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, rel->schema);
        alm_cat_text(cat, rel->name);
        alm_cat_text(cat, catalog_relations_owner_of(cx));
        alm_cat_keep(cat); /* no definition: the server's own relations are no queries */
    }
    return ALM_OK;
}

ALM_CAT_FILL(matview_list)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "schemaname matviewname matviewowner hasindexes ispopulated definition");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        if (t->kind != ALM_TABLE_MATVIEW)
            continue;
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, "public");
        alm_cat_text(cat, t->name);
        alm_cat_text(cat, catalog_relations_owner_of(cx));
        alm_cat_bool(cat, has_index(t));
        alm_cat_bool(cat, t->view->lsn > 0);
        alm_cat_text(cat, alm_access_text(cx, t->name, t->view->sql));
    }
    return ALM_OK;
}

ALM_CAT_FILL(table_stats)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "relid relname n_live_tup");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_int(cat, alm_oid_of_table(t));
        alm_cat_text(cat, t->name);
        alm_cat_int(cat, alm_table_visible(t).rows);
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------------- information_schema */

static alm_status table_row(alm_ctx *cx, alm_cat *cat, const char *schema, const char *name,
                            alm_table_kind kind)
{
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_text(cat, schema);
    alm_cat_text(cat, name);
    /* tools offer tables and views by these words of the standard, which has none for materialized views */
    alm_cat_text(cat, kind == ALM_TABLE_VIEW ? "VIEW" : "BASE TABLE");
    alm_cat_bool(cat, kind == ALM_TABLE_BASE);
    return ALM_OK;
}

ALM_CAT_FILL(is_tables)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "table_schema table_name table_type is_insertable_into");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (alm_access_sees(cx, t->name))
            ALM_TRY(table_row(cx, cat, "public", t->name,
                              cat->function ? ALM_TABLE_BASE : (alm_table_kind)t->kind));
    }
    for (size_t i = 0; !cat->function && i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        ALM_TRY(table_row(cx, cat, rel->schema, rel->name, ALM_TABLE_VIEW));
    }
    return ALM_OK;
}

ALM_CAT_FILL(is_views)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "table_schema table_name view_definition");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        if (alm_snapshot_at(snap, i)->kind != ALM_TABLE_VIEW ||
            !alm_access_sees(cx, alm_snapshot_at(snap, i)->name))
            continue;
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, "public");
        alm_cat_text(cat, alm_snapshot_at(snap, i)->name);
        alm_cat_text(cat, alm_access_text(cx, alm_snapshot_at(snap, i)->name,
                                          alm_snapshot_at(snap, i)->view->sql));
    }
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, rel->schema);
        alm_cat_text(cat, rel->name);
        alm_cat_keep(cat);
    }
    return ALM_OK;
}

/* Words of the standard for a type of pg_type, and its figures; 0 is null. */
static const struct word {
    int32_t oid;
    const char *name, *reference; /* what the reference says, where it differs */
    int16_t precision, radix, time;
} words[] = {
    {ALM_PG_OID_BOOL, "boolean", NULL, 0, 0, 0},
    {ALM_PG_OID_BYTEA, "bytea", NULL, 0, 0, 0},
    {ALM_PG_OID_INT8, "bigint", NULL, 64, 2, 0},
    {ALM_PG_OID_INT2, "smallint", NULL, 16, 2, 0},
    {ALM_PG_OID_INT4, "integer", NULL, 32, 2, 0},
    {ALM_PG_OID_TEXT, "text", NULL, 0, 0, 0},
    {ALM_PG_OID_ANY, "any", NULL, 0, 0, 0},
    {ALM_PG_OID_FLOAT4, "real", NULL, 24, 2, 0},
    {ALM_PG_OID_FLOAT8, "double precision", NULL, 53, 2, 0},
    {ALM_PG_OID_FLOAT8_ARRAY, "ARRAY", "unknown", 0, 0, 0},
    {ALM_PG_OID_BPCHAR, "character", NULL, 0, 0, 0},
    {ALM_PG_OID_VARCHAR, "character varying", NULL, 0, 0, 0},
    {ALM_PG_OID_TIMESTAMP, "timestamp without time zone", NULL, 0, 0, 6},
    {ALM_PG_OID_TIMESTAMPTZ, "timestamp with time zone", NULL, 0, 0, 6},
    {ALM_PG_OID_NUMERIC, "numeric", "unknown", 0, 10, 0},
    {ALM_PG_OID_UUID, "uuid", "character varying", 0, 0, 0},
};

static const struct word *catalog_relations_word_of(int32_t oid)
{
    for (size_t i = 0; i < ALM_COUNT(words); i++)
        if (words[i].oid == oid)
            return &words[i];
    return NULL;
}

const char *alm_cat_type_words(int32_t oid)
{
    const struct word *w = catalog_relations_word_of(oid);
    return w != NULL ? w->name : "USER-DEFINED";
}

static void int_or_null(alm_cat *cat, int32_t value)
{
    alm_cat_int(cat, value > 0 ? value : ALM_INT_NULL);
}

static alm_status column_row(alm_ctx *cx, alm_cat *cat, const char *schema, const char *table,
                             uint32_t number, const alm_column *col, bool updatable)
{
    const alm_type type = col->type;
    const int32_t oid = alm_pg_column_type(cx, type);
    const struct word *w = catalog_relations_word_of(oid);
    const alm_pg_type_row *row = alm_pg_type_find(oid);
    const char *display = alm_cat_display_type(oid);
    const bool decimal = oid == ALM_PG_OID_NUMERIC;
    const char *id = NULL;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &id, "%u", number));
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_text(cat, schema);
    alm_cat_text(cat, table);
    alm_cat_text(cat, col->name);
    alm_cat_int(cat, number);
    alm_cat_text(cat, cat->function ? "yes" : "YES");
    alm_cat_text(cat, w == NULL && display != NULL            ? display
                      : w == NULL                             ? "unknown"
                      : cat->function && w->reference != NULL ? w->reference
                                                              : w->name);
    int_or_null(cat, type.id == ALM_T_CHAR ? 1 : (int32_t)col->length);
    int_or_null(cat, decimal ? type.p : w != NULL ? w->precision : 0);
    int_or_null(cat, w != NULL ? w->radix : 0);
    if (decimal)
        alm_cat_int(cat, type.s);
    else /* whole numbers have a scale, of 0 */
        alm_cat_int(cat, oid == ALM_PG_OID_INT8 || oid == ALM_PG_OID_INT2 || oid == ALM_PG_OID_INT4
                             ? 0
                             : ALM_INT_NULL);
    int_or_null(cat, type.id == ALM_T_DATE ? 3 : w != NULL ? w->time : 0);
    alm_cat_text(cat, row != NULL ? row->name : oid == ALM_PG_OID_FLOAT8_ARRAY ? "_float8" : NULL);
    alm_cat_text(cat, id);
    alm_cat_bool(cat, updatable);
    return ALM_OK;
}

ALM_CAT_FILL(is_columns)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "table_schema table_name column_name ordinal_position is_nullable data_type "
                       "character_maximum_length numeric_precision numeric_precision_radix "
                       "numeric_scale datetime_precision udt_name dtd_identifier is_updatable");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        for (uint32_t c = 0; c < t->n_cols; c++)
            ALM_TRY(column_row(cx, cat, "public", t->name, c + 1, &t->cols[c], true));
    }
    for (size_t i = 0; !cat->function && i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        alm_plan_col cols[ALM_CAT_COLS];
        uint32_t n = 0;
        ALM_TRY(alm_relation_columns(cx, rel, cols, &n));
        for (uint32_t c = 0; c < n; c++) {
            const alm_column col = {.name = cols[c].name, .type = cols[c].type};
            ALM_TRY(column_row(cx, cat, rel->schema, rel->name, c + 1, &col, false));
        }
    }
    return ALM_OK;
}

ALM_CAT_FILL(own_columns)
{
    const alm_snapshot *snap = cat->run->env.snapshot;
    alm_cat_order(cat, "table_name column_name ordinal_position data_type");
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        for (uint32_t c = 0; c < t->n_cols; c++) {
            const char *type = NULL;
            ALM_TRY(
                alm_arena_zstr(cx, cx->arena, alm_str_of(alm_type_name(t->cols[c].type)), &type));
            ALM_TRY(alm_cat_row(cx, cat));
            alm_cat_text(cat, t->name);
            alm_cat_text(cat, t->cols[c].name);
            alm_cat_int(cat, c + 1);
            alm_cat_text(cat, type);
        }
    }
    return ALM_OK;
}
