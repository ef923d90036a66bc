/*
 * alter.c - ALTER TABLE: the table as it shall be, and the plans that changes of its rows need.
 * All checks, no effects.
 */
#include "base/utf8.h"
#include "sql/bind/bind.h"
#include "sql/bind/table.h"
#include "sql/opt/opt.h"
#include "sql/plan/access.h"

typedef struct altering {
    alm_planner *p;
    const alm_stmt *stmt;
    const alm_alter *a;
    alm_alter_plan *out;
    alm_create *to;
} altering;

static alm_status no_column(const altering *al, const alm_column_def *def)
{
    const alm_nearest near = alm_nearest_column(al->out->table, def->name);
    return alm_fail_near(al->p->cx, ALM_E_NAME, def->pos, &near,
                         "column '%.*s' does not exist in table '%s'", (int)def->name.len,
                         def->name.ptr, al->out->table->name);
}

static alm_status invalid_column(const altering *al, const alm_column_def *def)
{
    return alm_no_column(al->p->cx, al->out->table, def->name, def->pos);
}

static alm_status taken(const altering *al, alm_str name, int32_t pos)
{
    return alm_fail(al->p->cx, ALM_E_DUPLICATE, pos, "column '%.*s' already exists", (int)name.len,
                    name.ptr);
}

static alm_status check_name(const altering *al, alm_str name, int32_t pos)
{
    if (name.len > 0 && name.len <= 255 && !alm_utf8_has_mark(name))
        return ALM_OK;
    return alm_fail(al->p->cx, ALM_E_ARG, pos, "invalid column name: %.*s",
                    (int)ALM_MIN(name.len, 200), name.ptr);
}

/* ------------------------------------------------------------------- columns */

static alm_status add_columns(altering *al)
{
    alm_ctx *cx = al->p->cx;
    alm_create *to = al->to;
    const uint32_t had = to->n_cols;
    for (uint32_t i = 0; i < al->a->n_cols; i++) {
        const alm_column_def *def = &al->a->cols[i];
        alm_column col = {0};
        ALM_TRY(alm_create_type(al->p, def, &col.type, &col.length));
        const int32_t at = alm_create_find(to, def->name);
        if (at >= 0 && (!al->stmt->if_not_exists || (uint32_t)at >= had))
            return taken(al, def->name, def->pos);
        if (at >= 0 && !alm_type_eq(to->cols[at].type, col.type))
            return alm_fail(cx, ALM_E_TYPE, def->type_pos,
                            "column already exists with a different column type [current type=%s, "
                            "requested type=%s]",
                            alm_type_name(to->cols[at].type), alm_type_name(col.type));
        if (at >= 0)
            continue;
        ALM_TRY(check_name(al, def->name, def->pos));
        ALM_TRY(alm_arena_zstr(cx, cx->arena, def->name, &col.name));
        alm_create_defaults(&col);
        ALM_TRY(alm_create_symbol(al->p, def, &col));
        to->cols[to->n_cols++] = col;
    }
    al->out->nothing = to->n_cols == had;
    return ALM_OK;
}

static alm_status drop_columns(altering *al)
{
    alm_create *to = al->to;
    for (uint32_t i = 0; i < al->a->n_cols; i++) {
        const alm_column_def *def = &al->a->cols[i];
        const int32_t at = alm_create_find(to, def->name);
        if (at < 0 && al->stmt->if_exists)
            continue;
        if (at < 0)
            return invalid_column(al, def);
        if (at == to->ts_col)
            return alm_fail(al->p->cx, ALM_E_ARG, al->stmt->pos,
                            "cannot remove designated timestamp column [table=%s, column=%s]",
                            al->out->table->name, to->cols[at].name);
        if (to->dedup && to->cols[at].dedup_key)
            return alm_fail(al->p->cx, ALM_E_ARG, def->pos,
                            "cannot remove deduplication key column [table=%s, column=%s]",
                            al->out->table->name, to->cols[at].name);
        memmove(&to->cols[at], &to->cols[at + 1],
                (to->n_cols - (uint32_t)at - 1) * sizeof(*to->cols));
        to->n_cols--;
        to->ts_col -= to->ts_col > at;
    }
    al->out->nothing = to->n_cols == al->out->table->n_cols;
    return ALM_OK;
}

static alm_status rename_columns(altering *al)
{
    alm_ctx *cx = al->p->cx;
    for (uint32_t i = 0; i < al->a->n_cols; i++) {
        const int32_t at = alm_create_find(al->to, al->a->cols[i].name);
        const alm_str name = al->a->new_names[i];
        if (at < 0)
            return invalid_column(al, &al->a->cols[i]);
        const int32_t other = alm_create_find(al->to, name);
        if (other >= 0 && other != at)
            return taken(al, name, al->a->new_pos[i]);
        ALM_TRY(check_name(al, name, al->a->new_pos[i]));
        ALM_TRY(alm_arena_zstr(cx, cx->arena, name, &al->to->cols[at].name));
    }
    return ALM_OK;
}

/* The one column of ALTER COLUMN; NULL type text: any type will do. */
static alm_status one_column(altering *al, const char *what, alm_column **out)
{
    const alm_column_def *def = &al->a->cols[0];
    const int32_t at = alm_create_find(al->to, def->name);
    if (at < 0)
        return no_column(al, def);
    alm_column *col = &al->to->cols[at];
    if (what != NULL && col->type.id != ALM_T_SYMBOL)
        return alm_fail(al->p->cx, ALM_E_TYPE, def->pos,
                        "%s only supported for symbol type [column=%s, type=%s]", what, col->name,
                        alm_type_name(col->type));
    *out = col;
    return ALM_OK;
}

static alm_status add_index(altering *al)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(al, "indexes are", &col));
    ALM_ASSERT(col != NULL);
    if (col->indexed)
        return alm_fail(al->p->cx, ALM_E_ARG, al->stmt->table_pos,
                        "column is already indexed [column=%s]", col->name);
    col->indexed = true;
    col->index_capacity =
        al->a->cols[0].index_capacity > 0 ? al->a->cols[0].index_capacity : ALM_INDEX_CAPACITY;
    return ALM_OK;
}

static alm_status drop_index(altering *al)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(al, "indexes are", &col));
    ALM_ASSERT(col != NULL);
    if (!col->indexed)
        return alm_fail(al->p->cx, ALM_E_ARG, al->a->cols[0].pos,
                        "column is not indexed [column=%s]", col->name);
    col->indexed = false;
    col->index_capacity = 0;
    return ALM_OK;
}

static alm_status set_cache(altering *al)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(al, "cache is", &col));
    ALM_ASSERT(col != NULL);
    col->symbol_cached = al->a->cols[0].cache > 0;
    return ALM_OK;
}

static alm_status set_capacity(altering *al)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(al, "symbol capacity is", &col));
    ALM_ASSERT(col != NULL);
    return alm_create_symbol(al->p, &al->a->cols[0], col);
}

/* --------------------------------------------------------------- column type */

/* Types that are not made out of others: a value of theirs would be lost or made up. */
static bool stands_alone(alm_type t)
{
    return t.id == ALM_T_BINARY || t.id == ALM_T_GEOHASH || t.id == ALM_T_LONG256 || t.dims > 0;
}

/* All rows: the value in its new type, and the position. */
static alm_status plan_values(altering *al, uint32_t col, alm_type type)
{
    alm_planner *p = al->p;
    const alm_table *table = al->out->table;
    alm_plan *scan = NULL;
    alm_expr **exprs = NULL, *value = NULL;
    const char **names = NULL;
    ALM_TRY(alm_plan_scan_rows(p, table, al->stmt->table_pos, &scan));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &names));
    ALM_TRY(alm_expr_col(p->cx, col, table->cols[col].type, al->a->cols[0].pos, &value));
    ALM_TRY(alm_expr_try_cast(p, value, type, ALM_CAST_EXPLICIT, &exprs[0]));
    if (exprs[0] == NULL || stands_alone(type) || stands_alone(table->cols[col].type))
        return alm_fail(p->cx, ALM_E_TYPE, al->a->cols[0].type_pos,
                        "incompatible column type change [existing=%s, new=%s]",
                        alm_type_name(table->cols[col].type), alm_type_name(type));
    ALM_TRY(alm_expr_col(p->cx, table->n_cols, ALM_TY(LONG), al->stmt->pos, &exprs[1]));
    names[0] = table->cols[col].name;
    names[1] = "row";
    ALM_TRY(alm_plan_project(p, scan, exprs, names, 2, &al->out->values));
    return alm_optimise(p, &al->out->values);
}

static alm_status set_type(altering *al)
{
    const alm_column_def *def = &al->a->cols[0];
    alm_ctx *cx = al->p->cx;
    alm_column *col = NULL;
    alm_type type = ALM_TY(NONE);
    uint32_t length = 0;
    ALM_TRY(one_column(al, NULL, &col));
    ALM_TRY(alm_create_type(al->p, def, &type, &length));
    if (col == &al->to->cols[al->to->ts_col])
        return alm_fail(cx, ALM_E_ARG, def->type_pos,
                        "cannot change type of designated timestamp column");
    const bool wider = length == 0 ? col->length > 0 : col->length > 0 && length > col->length;
    if (alm_type_eq(col->type, type) && wider) { /* all values fit already */
        col->length = length;
        return ALM_OK;
    }
    if (alm_type_eq(col->type, type) && length == col->length)
        return alm_fail(cx, ALM_E_TYPE, def->type_pos, "column '%s' type is already '%s'",
                        col->name, alm_type_name(type));
    ALM_TRY(plan_values(al, (uint32_t)(col - al->to->cols), type));
    *col = (alm_column){
        .name = col->name, .type = type, .dedup_key = col->dedup_key, .length = length};
    alm_create_defaults(col);
    return alm_create_symbol(al->p, def, col);
}

/* ------------------------------------------------------------------- options */

static alm_status set_ttl(altering *al)
{
    al->to->ttl_hours = 0;
    return alm_create_ttl(al->p, al->stmt, al->to);
}

static alm_status set_params(altering *al)
{
    return alm_create_params(al->p, al->stmt, al->to);
}

static alm_status set_wal(altering *al)
{
    al->to->wal = al->stmt->wal > 0;
    if (al->to->wal && al->to->partition == ALM_PART_NONE)
        return alm_fail(al->p->cx, ALM_E_ARG, al->stmt->table_pos,
                        "Cannot convert non-partitioned table");
    al->out->nothing = al->to->wal == al->out->table->wal;
    return ALM_OK;
}

static void clear_keys(alm_create *to)
{
    to->dedup = false;
    for (uint32_t i = 0; i < to->n_cols; i++)
        to->cols[i].dedup_key = false;
}

static alm_status dedup_on(altering *al)
{
    clear_keys(al->to);
    return alm_create_dedup(al->p, al->stmt, al->to);
}

static alm_status dedup_off(altering *al)
{
    clear_keys(al->to);
    al->out->nothing = !al->out->table->dedup;
    return ALM_OK;
}

/* Writes are visible when they are acknowledged: there is nothing to stop and nothing to go on with. */
static alm_status wal_flow(altering *al)
{
    if (!al->out->table->wal)
        return alm_fail(al->p->cx, ALM_E_ARG, al->stmt->table_pos, "%s is not a WAL table",
                        al->out->table->name);
    al->out->nothing = true;
    return ALM_OK;
}

/* ---------------------------------------------------------------- partitions */

static alm_status of_partitions(altering *al)
{
    al->out->partitions = true;
    if (al->out->table->partition == ALM_PART_NONE)
        return alm_fail(al->p->cx, ALM_E_ARG, al->a->pos + 5, "table is not partitioned");
    return ALM_OK;
}

/* Does a text look like the name of a partition? '9' stands for a digit. */
static bool looks_like(alm_str name, const char *form)
{
    if (name.len != strlen(form))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const bool digit = name.ptr[i] >= '0' && name.ptr[i] <= '9';
        if (form[i] == '9' ? !digit : name.ptr[i] != form[i])
            return false;
    }
    return true;
}

alm_status alm_check_partition_name(alm_ctx *cx, const alm_table *table, alm_str name, int32_t pos)
{
    static const struct {
        const char *form, *told;
    } rows[] = {[ALM_PART_NONE] = {"", ""},
                [ALM_PART_HOUR] = {"9999-99-99T99", "yyyy-MM-ddTHH"},
                [ALM_PART_DAY] = {"9999-99-99", "yyyy-MM-dd"},
                [ALM_PART_WEEK] = {"9999-W99", "YYYY-Www"},
                [ALM_PART_MONTH] = {"9999-99", "yyyy-MM"},
                [ALM_PART_YEAR] = {"9999", "yyyy"}};
    if (looks_like(name, rows[table->partition].form))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, pos, "'%s' expected, found [ts=%.*s]",
                    rows[table->partition].told, (int)ALM_MIN(name.len, 100), name.ptr);
}

alm_status alm_plan_partitions(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                               const alm_table *table, int64_t *starts, uint32_t n, alm_plan **out)
{
    alm_planner p = {.cx = cx, .env = env};
    const alm_alter *a = stmt->ext;
    alm_select none = {.pos = stmt->pos};
    alm_scope sc = {.p = &p, .sel = &none};
    alm_plan *node = NULL;
    const alm_column *ts = &table->cols[table->ts_col];
    ALM_TRY(alm_plan_new(&p, ALM_P_VALUES, stmt->table_pos, NULL, &node));
    ALM_TRY(ALM_NEW(cx, cx->arena, &node->cols));
    ALM_TRY(ALM_NEW(cx, cx->arena, &node->values.vecs));
    node->cols[0] = (alm_plan_col){ts->name, ts->type};
    node->n_cols = 1;
    node->values.vecs[0] = (alm_vec){.type = ts->type, .width = sizeof(*starts), .data = starts};
    node->values.n_rows = n;
    node->est_rows = n;
    node->ts_col = -1;
    sc.plan = node;
    ALM_TRY(alm_scope_add(&sc, stmt->table, NULL, node, 0));
    ALM_TRY(alm_bind_where(&sc, a->where));
    *out = sc.plan;
    return alm_optimise(&p, out);
}

/* ------------------------------------------------------------------ dispatch */

static alm_status later(altering *al)
{
    return alm_fail(al->p->cx, ALM_E_UNSUPPORTED, al->a->pos, "this ALTER TABLE is not supported");
}

static alm_status (*const actions[])(altering *al) = {
    [ALM_ALTER_ADD_COLUMN] = add_columns,
    [ALM_ALTER_DROP_COLUMN] = drop_columns,
    [ALM_ALTER_RENAME_COLUMN] = rename_columns,
    [ALM_ALTER_COLUMN_TYPE] = set_type,
    [ALM_ALTER_COLUMN_CAPACITY] = set_capacity,
    [ALM_ALTER_ADD_INDEX] = add_index,
    [ALM_ALTER_DROP_INDEX] = drop_index,
    [ALM_ALTER_CACHE] = set_cache,
    [ALM_ALTER_DROP_PARTITION] = of_partitions,
    [ALM_ALTER_DETACH_PARTITION] = of_partitions,
    [ALM_ALTER_ATTACH_PARTITION] = of_partitions,
    [ALM_ALTER_TO_PARQUET] = of_partitions,
    [ALM_ALTER_TO_NATIVE] = of_partitions,
    [ALM_ALTER_SQUASH] = of_partitions,
    [ALM_ALTER_SET_TTL] = set_ttl,
    [ALM_ALTER_SET_PARAM] = set_params,
    [ALM_ALTER_SET_TYPE] = set_wal,
    [ALM_ALTER_DEDUP] = dedup_on,
    [ALM_ALTER_DEDUP_OFF] = dedup_off,
    [ALM_ALTER_SUSPEND_WAL] = wal_flow,
    [ALM_ALTER_RESUME_WAL] = wal_flow,
    [ALM_ALTER_REFRESH] = later, /* session/statement/view.c */
    [ALM_ALTER_REFRESH_LIMIT] = later,
    [ALM_ALTER_QUERY] = later,
};

static alm_status describe(altering *al)
{
    const alm_table *t = al->out->table;
    alm_ctx *cx = al->p->cx;
    ALM_TRY(ALM_NEW(cx, cx->arena, &al->out->to));
    alm_create *to = al->to = al->out->to;
    ALM_TRY(ALM_NEWN(cx, cx->arena, t->n_cols + al->a->n_cols + 1, &to->cols));
    memcpy(to->cols, t->cols, t->n_cols * sizeof(*to->cols));
    to->name = t->name;
    to->n_cols = t->n_cols;
    to->ts_col = t->ts_col;
    to->partition = t->partition;
    to->wal = t->wal;
    to->dedup = t->dedup;
    to->ttl_hours = t->ttl_hours;
    to->max_uncommitted_rows = t->max_uncommitted_rows;
    to->o3_max_lag_us = t->o3_max_lag_us;
    return ALM_OK;
}

/* What each action needs, on its columns or (T) on the table. */
static const struct permission_row {
    const char *name;
    bool columns;
} permissions[] = {
    [ALM_ALTER_ADD_COLUMN] = {"ADD COLUMN", false},
    [ALM_ALTER_DROP_COLUMN] = {"DROP COLUMN", true},
    [ALM_ALTER_RENAME_COLUMN] = {"RENAME COLUMN", true},
    [ALM_ALTER_COLUMN_TYPE] = {"ALTER COLUMN TYPE", true},
    [ALM_ALTER_COLUMN_CAPACITY] = {"ALTER COLUMN TYPE", true},
    [ALM_ALTER_ADD_INDEX] = {"ADD INDEX", true},
    [ALM_ALTER_DROP_INDEX] = {"DROP INDEX", true},
    [ALM_ALTER_CACHE] = {"ALTER COLUMN CACHE", true},
    [ALM_ALTER_DROP_PARTITION] = {"DROP PARTITION", false},
    [ALM_ALTER_DETACH_PARTITION] = {"DETACH PARTITION", false},
    [ALM_ALTER_ATTACH_PARTITION] = {"ATTACH PARTITION", false},
    [ALM_ALTER_TO_PARQUET] = {"DROP PARTITION", false},
    [ALM_ALTER_TO_NATIVE] = {"DROP PARTITION", false},
    [ALM_ALTER_SQUASH] = {"DROP PARTITION", false},
    [ALM_ALTER_SET_TTL] = {"SET TABLE PARAM", false},
    [ALM_ALTER_SET_PARAM] = {"SET TABLE PARAM", false},
    [ALM_ALTER_SET_TYPE] = {"SET TABLE TYPE", false},
    [ALM_ALTER_DEDUP] = {"DEDUP ENABLE", false},
    [ALM_ALTER_DEDUP_OFF] = {"DEDUP DISABLE", false},
    [ALM_ALTER_SUSPEND_WAL] = {"RESUME WAL", false},
    [ALM_ALTER_RESUME_WAL] = {"RESUME WAL", false},
    [ALM_ALTER_REFRESH] = {"ALTER MATERIALIZED VIEW", false},
    [ALM_ALTER_REFRESH_LIMIT] = {"ALTER MATERIALIZED VIEW", false},
    [ALM_ALTER_QUERY] = {"ALTER VIEW", false},
};

static alm_status may_alter(const altering *al)
{
    const alm_table *t = al->out->table;
    const alm_alter *a = al->a;
    alm_ctx *cx = al->p->cx;
    const struct permission_row *row = &permissions[a->kind];
    uint32_t *cols = NULL, n = 0;
    if (cx->access == NULL)
        return ALM_OK;
    if (t->kind == ALM_TABLE_MATVIEW)
        return alm_access_may(cx, "ALTER MATERIALIZED VIEW", t->name, al->stmt->table_pos);
    if (!row->columns)
        return alm_access_may(cx, row->name, t->name, al->stmt->table_pos);
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_cols + 1, &cols));
    for (uint32_t i = 0; i < a->n_cols; i++) {
        const int32_t at = alm_table_col(t, a->cols[i].name);
        if (at >= 0)
            cols[n++] = (uint32_t)at;
    }
    if (n == 0) /* of columns that are not there only who may at all is told so */
        return alm_access_any(cx, row->name, t->name, al->stmt->table_pos);
    return alm_may_columns(cx, row->name, t, cols, n, al->stmt->table_pos);
}

static alm_status alter_gate(alm_ctx *cx, const alm_stmt *stmt)
{
    const alm_alter *a = stmt->ext;
    const struct permission_row *row = &permissions[a->kind];
    const alm_access_ask ask = {
        .permission = stmt->kind == ALM_STMT_ALTER_MATVIEW ? "ALTER MATERIALIZED VIEW" : row->name,
        .pos = stmt->table_pos};
    alm_str *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_cols + 1, &cols));
    for (uint32_t i = 0; i < a->n_cols; i++)
        cols[i] = a->cols[i].name;
    return alm_access_gate(cx, &ask, stmt->table, cols,
                           row->columns && stmt->kind != ALM_STMT_ALTER_MATVIEW ? a->n_cols : 0);
}

alm_status alm_plan_alter(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_alter_plan **out)
{
    alm_planner p = {.cx = cx, .env = env};
    altering al = {.p = &p, .stmt = stmt, .a = stmt->ext};
    ALM_TRY(ALM_NEW(cx, cx->arena, &al.out));
    ALM_TRY(alter_gate(cx, stmt));
    al.out->table = alm_snapshot_find(env->snapshot, stmt->table);
    if (al.out->table == NULL)
        return alm_no_table(cx, env->snapshot, stmt->table, stmt->table_pos);
    if (stmt->kind != ALM_STMT_ALTER_MATVIEW)
        ALM_TRY(alm_refuse_view(cx, al.out->table, stmt->table_pos));
    ALM_TRY(alm_create_fits(cx, al.a->n_cols, stmt->table_pos));
    ALM_TRY(may_alter(&al));
    ALM_TRY(describe(&al));
    ALM_TRY(actions[al.a->kind](&al));
    *out = al.out;
    return ALM_OK;
}
