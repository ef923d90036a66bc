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

static alm_status no_column(const altering *self, const alm_column_def *def)
{
    const alm_nearest near = alm_nearest_column(self->out->table, def->name);
    return alm_fail_near(self->p->cx, ALM_E_NAME, def->pos, &near,
                         "column '%.*s' does not exist in table '%s'", (int)def->name.len,
                         def->name.ptr, self->out->table->name);
}

static alm_status invalid_column(const altering *self, const alm_column_def *def)
{
    return alm_no_column(self->p->cx, self->out->table, def->name, def->pos);
}

static alm_status bind_alter_taken(const altering *self, alm_str name, int32_t pos)
{
    return alm_fail(self->p->cx, ALM_E_DUPLICATE, pos, "column '%.*s' already exists",
                    (int)name.len, name.ptr);
}

static alm_status bind_alter_check_name(const altering *self, alm_str name, int32_t pos)
{
    if (name.len > 0 && name.len <= 255 && !alm_utf8_has_mark(name))
        return ALM_OK;
    return alm_fail(self->p->cx, ALM_E_ARG, pos, "invalid column name: %.*s",
                    (int)ALM_MIN(name.len, 200), name.ptr);
}

/* ------------------------------------------------------------------- columns */

static alm_status add_columns(altering *self)
{
    alm_ctx *cx = self->p->cx;
    alm_create *to = self->to;
    const uint32_t had = to->n_cols;
    for (uint32_t i = 0; i < self->a->n_cols; i++) {
        const alm_column_def *def = &self->a->cols[i];
        alm_column col = {0};
        ALM_TRY(alm_create_type(self->p, def, &col.type, &col.length));
        const int32_t place = alm_create_find(to, def->name);
        if (place >= 0 && (!self->stmt->if_not_exists || (uint32_t)place >= had))
            return bind_alter_taken(self, def->name, def->pos);
        if (place >= 0 && !alm_type_eq(to->cols[place].type, col.type))
            return alm_fail(cx, ALM_E_TYPE, def->type_pos,
                            "column already exists with a different column type [current type=%s, "
                            "requested type=%s]",
                            alm_type_name(to->cols[place].type), alm_type_name(col.type));
        if (place >= 0)
            continue;
        ALM_TRY(bind_alter_check_name(self, def->name, def->pos));
        ALM_TRY(alm_arena_zstr(cx, cx->arena, def->name, &col.name));
        alm_create_defaults(&col);
        ALM_TRY(alm_create_symbol(self->p, def, &col));
        to->cols[to->n_cols++] = col;
    }
    self->out->nothing = to->n_cols == had;
    return ALM_OK;
}

static alm_status drop_columns(altering *self)
{
    alm_create *to = self->to;
    for (uint32_t i = 0; i < self->a->n_cols; i++) {
        const alm_column_def *def = &self->a->cols[i];
        const int32_t place = alm_create_find(to, def->name);
        if (place < 0 && self->stmt->if_exists)
            continue;
        if (place < 0)
            return invalid_column(self, def);
        if (place == to->ts_col)
            return alm_fail(self->p->cx, ALM_E_ARG, self->stmt->pos,
                            "cannot remove designated timestamp column [table=%s, column=%s]",
                            self->out->table->name, to->cols[place].name);
        if (to->dedup && to->cols[place].dedup_key)
            return alm_fail(self->p->cx, ALM_E_ARG, def->pos,
                            "cannot remove deduplication key column [table=%s, column=%s]",
                            self->out->table->name, to->cols[place].name);
        memmove(&to->cols[place], &to->cols[place + 1],
                (to->n_cols - (uint32_t)place - 1) * sizeof(*to->cols));
        to->n_cols--;
        to->ts_col -= to->ts_col > place;
    }
    self->out->nothing = to->n_cols == self->out->table->n_cols;
    return ALM_OK;
}

static alm_status rename_columns(altering *self)
{
    alm_ctx *cx = self->p->cx;
    for (uint32_t i = 0; i < self->a->n_cols; i++) {
        const int32_t place = alm_create_find(self->to, self->a->cols[i].name);
        const alm_str name = self->a->new_names[i];
        if (place < 0)
            return invalid_column(self, &self->a->cols[i]);
        const int32_t other = alm_create_find(self->to, name);
        if (other >= 0 && other != place)
            return bind_alter_taken(self, name, self->a->new_pos[i]);
        ALM_TRY(bind_alter_check_name(self, name, self->a->new_pos[i]));
        ALM_TRY(alm_arena_zstr(cx, cx->arena, name, &self->to->cols[place].name));
    }
    return ALM_OK;
}

/* The one column of ALTER COLUMN; NULL type text: any type will do. */
static alm_status one_column(altering *self, const char *what, alm_column **out)
{
    const alm_column_def *def = &self->a->cols[0];
    const int32_t place = alm_create_find(self->to, def->name);
    if (place < 0)
        return no_column(self, def);
    alm_column *col = &self->to->cols[place];
    if (what != NULL && col->type.id != ALM_T_SYMBOL)
        return alm_fail(self->p->cx, ALM_E_TYPE, def->pos,
                        "%s only supported for symbol type [column=%s, type=%s]", what, col->name,
                        alm_type_name(col->type));
    *out = col;
    return ALM_OK;
}

static alm_status add_index(altering *self)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(self, "indexes are", &col));
    ALM_ASSERT(col != NULL);
    if (col->indexed)
        return alm_fail(self->p->cx, ALM_E_ARG, self->stmt->table_pos,
                        "column is already indexed [column=%s]", col->name);
    col->indexed = true;
    col->index_capacity =
        self->a->cols[0].index_capacity > 0 ? self->a->cols[0].index_capacity : ALM_INDEX_CAPACITY;
    return ALM_OK;
}

static alm_status drop_index(altering *self)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(self, "indexes are", &col));
    ALM_ASSERT(col != NULL);
    if (!col->indexed)
        return alm_fail(self->p->cx, ALM_E_ARG, self->a->cols[0].pos,
                        "column is not indexed [column=%s]", col->name);
    col->indexed = false;
    col->index_capacity = 0;
    return ALM_OK;
}

static alm_status set_cache(altering *self)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(self, "cache is", &col));
    ALM_ASSERT(col != NULL);
    col->symbol_cached = self->a->cols[0].cache > 0;
    return ALM_OK;
}

static alm_status set_capacity(altering *self)
{
    alm_column *col = NULL;
    ALM_TRY(one_column(self, "symbol capacity is", &col));
    ALM_ASSERT(col != NULL);
    return alm_create_symbol(self->p, &self->a->cols[0], col);
}

/* --------------------------------------------------------------- column type */

/* Types that are not made out of others: a value of theirs would be lost or made up. */
static bool stands_alone(alm_type type)
{
    return type.id == ALM_T_BINARY || type.id == ALM_T_GEOHASH || type.id == ALM_T_LONG256 ||
           type.dims > 0;
}

/* All rows: the value in its new type, and the position. */
static alm_status plan_values(altering *self, uint32_t col, alm_type type)
{
    alm_planner *planner = self->p;
    const alm_table *table = self->out->table;
    alm_plan *scan = NULL;
    alm_expr **exprs = NULL, *value = NULL;
    const char **names = NULL;
    ALM_TRY(alm_plan_scan_rows(planner, table, self->stmt->table_pos, &scan));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2, &names));
    ALM_TRY(alm_expr_col(planner->cx, col, table->cols[col].type, self->a->cols[0].pos, &value));
    ALM_TRY(alm_expr_try_cast(planner, value, type, ALM_CAST_EXPLICIT, &exprs[0]));
    if (exprs[0] == NULL || stands_alone(type) || stands_alone(table->cols[col].type))
        return alm_fail(planner->cx, ALM_E_TYPE, self->a->cols[0].type_pos,
                        "incompatible column type change [existing=%s, new=%s]",
                        alm_type_name(table->cols[col].type), alm_type_name(type));
    ALM_TRY(alm_expr_col(planner->cx, table->n_cols, ALM_TY(LONG), self->stmt->pos, &exprs[1]));
    names[0] = table->cols[col].name;
    names[1] = "row";
    ALM_TRY(alm_plan_project(planner, scan, exprs, names, 2, &self->out->values));
    return alm_optimise(planner, &self->out->values);
}

static alm_status set_type(altering *self)
{
    const alm_column_def *def = &self->a->cols[0];
    alm_ctx *cx = self->p->cx;
    alm_column *col = NULL;
    alm_type type = ALM_TY(NONE);
    uint32_t length = 0;
    ALM_TRY(one_column(self, NULL, &col));
    ALM_TRY(alm_create_type(self->p, def, &type, &length));
    if (col == &self->to->cols[self->to->ts_col])
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
    ALM_TRY(plan_values(self, (uint32_t)(col - self->to->cols), type));
    *col = (alm_column){
        .name = col->name, .type = type, .dedup_key = col->dedup_key, .length = length};
    alm_create_defaults(col);
    return alm_create_symbol(self->p, def, col);
}

/* ------------------------------------------------------------------- options */

static alm_status set_ttl(altering *self)
{
    self->to->ttl_hours = 0;
    return alm_create_ttl(self->p, self->stmt, self->to);
}

static alm_status set_params(altering *self)
{
    return alm_create_params(self->p, self->stmt, self->to);
}

static alm_status set_wal(altering *self)
{
    self->to->wal = self->stmt->wal > 0;
    if (self->to->wal && self->to->partition == ALM_PART_NONE)
        return alm_fail(self->p->cx, ALM_E_ARG, self->stmt->table_pos,
                        "Cannot convert non-partitioned table");
    self->out->nothing = self->to->wal == self->out->table->wal;
    return ALM_OK;
}

static void clear_keys(alm_create *to)
{
    to->dedup = false;
    for (uint32_t i = 0; i < to->n_cols; i++)
        to->cols[i].dedup_key = false;
}

static alm_status dedup_on(altering *self)
{
    clear_keys(self->to);
    return alm_create_dedup(self->p, self->stmt, self->to);
}

static alm_status dedup_off(altering *self)
{
    clear_keys(self->to);
    self->out->nothing = !self->out->table->dedup;
    return ALM_OK;
}

/* Writes are visible when they are acknowledged: there is nothing to stop and nothing to go on with. */
static alm_status wal_flow(altering *self)
{
    if (!self->out->table->wal)
        return alm_fail(self->p->cx, ALM_E_ARG, self->stmt->table_pos, "%s is not a WAL table",
                        self->out->table->name);
    self->out->nothing = true;
    return ALM_OK;
}

/* ---------------------------------------------------------------- partitions */

static alm_status bind_alter_of_partitions(altering *self)
{
    self->out->partitions = true;
    if (self->out->table->partition == ALM_PART_NONE)
        return alm_fail(self->p->cx, ALM_E_ARG, self->a->pos + 5, "table is not partitioned");
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
    alm_planner planner = {.cx = cx, .env = env};
    const alm_alter *alter = stmt->ext;
    alm_select none = {.pos = stmt->pos};
    alm_scope scope = {.p = &planner, .sel = &none};
    alm_plan *node = NULL;
    const alm_column *ts = &table->cols[table->ts_col];
    ALM_TRY(alm_plan_new(&planner, ALM_P_VALUES, stmt->table_pos, NULL, &node));
    ALM_TRY(ALM_NEW(cx, cx->arena, &node->cols));
    ALM_TRY(ALM_NEW(cx, cx->arena, &node->values.vecs));
    node->cols[0] = (alm_plan_col){ts->name, ts->type};
    node->n_cols = 1;
    node->values.vecs[0] = (alm_vec){.type = ts->type, .width = sizeof(*starts), .data = starts};
    node->values.n_rows = n;
    node->est_rows = n;
    node->ts_col = -1;
    scope.plan = node;
    ALM_TRY(alm_scope_add(&scope, stmt->table, NULL, node, 0));
    ALM_TRY(alm_bind_where(&scope, alter->where));
    *out = scope.plan;
    return alm_optimise(&planner, out);
}

/* ------------------------------------------------------------------ dispatch */

static alm_status later(altering *self)
{
    return alm_fail(self->p->cx, ALM_E_UNSUPPORTED, self->a->pos,
                    "this ALTER TABLE is not supported");
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
    [ALM_ALTER_DROP_PARTITION] = bind_alter_of_partitions,
    [ALM_ALTER_DETACH_PARTITION] = bind_alter_of_partitions,
    [ALM_ALTER_ATTACH_PARTITION] = bind_alter_of_partitions,
    [ALM_ALTER_TO_PARQUET] = bind_alter_of_partitions,
    [ALM_ALTER_TO_NATIVE] = bind_alter_of_partitions,
    [ALM_ALTER_SQUASH] = bind_alter_of_partitions,
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

static alm_status bind_alter_describe(altering *self)
{
    const alm_table *table = self->out->table;
    alm_ctx *cx = self->p->cx;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self->out->to));
    alm_create *to = self->to = self->out->to;
    ALM_TRY(ALM_NEWN(cx, cx->arena, table->n_cols + self->a->n_cols + 1, &to->cols));
    memcpy(to->cols, table->cols, table->n_cols * sizeof(*to->cols));
    to->name = table->name;
    to->n_cols = table->n_cols;
    to->ts_col = table->ts_col;
    to->partition = table->partition;
    to->wal = table->wal;
    to->dedup = table->dedup;
    to->ttl_hours = table->ttl_hours;
    to->max_uncommitted_rows = table->max_uncommitted_rows;
    to->o3_max_lag_us = table->o3_max_lag_us;
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

static alm_status may_alter(const altering *self)
{
    const alm_table *table = self->out->table;
    const alm_alter *alter = self->a;
    alm_ctx *cx = self->p->cx;
    const struct permission_row *row = &permissions[alter->kind];
    uint32_t *cols = NULL, count = 0;
    if (cx->access == NULL)
        return ALM_OK;
    if (table->kind == ALM_TABLE_MATVIEW)
        return alm_access_may(cx, "ALTER MATERIALIZED VIEW", table->name, self->stmt->table_pos);
    if (!row->columns)
        return alm_access_may(cx, row->name, table->name, self->stmt->table_pos);
    ALM_TRY(ALM_NEWN(cx, cx->arena, alter->n_cols + 1, &cols));
    for (uint32_t i = 0; i < alter->n_cols; i++) {
        const int32_t place = alm_table_col(table, alter->cols[i].name);
        if (place >= 0)
            cols[count++] = (uint32_t)place;
    }
    if (count == 0) /* of columns that are not there only who may at all is told so */
        return alm_access_any(cx, row->name, table->name, self->stmt->table_pos);
    return alm_may_columns(cx, row->name, table, cols, count, self->stmt->table_pos);
}

static alm_status alter_gate(alm_ctx *cx, const alm_stmt *stmt)
{
    const alm_alter *alter = stmt->ext;
    const struct permission_row *row = &permissions[alter->kind];
    const alm_access_ask ask = {
        .permission = stmt->kind == ALM_STMT_ALTER_MATVIEW ? "ALTER MATERIALIZED VIEW" : row->name,
        .pos = stmt->table_pos};
    alm_str *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, alter->n_cols + 1, &cols));
    for (uint32_t i = 0; i < alter->n_cols; i++)
        cols[i] = alter->cols[i].name;
    return alm_access_gate(cx, &ask, stmt->table, cols,
                           row->columns && stmt->kind != ALM_STMT_ALTER_MATVIEW ? alter->n_cols
                                                                                : 0);
}

alm_status alm_plan_alter(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_alter_plan **out)
{
    alm_planner planner = {.cx = cx, .env = env};
    altering self = {.p = &planner, .stmt = stmt, .a = stmt->ext};
    ALM_TRY(ALM_NEW(cx, cx->arena, &self.out));
    ALM_TRY(alter_gate(cx, stmt));
    self.out->table = alm_snapshot_find(env->snapshot, stmt->table);
    if (self.out->table == NULL)
        return alm_no_table(cx, env->snapshot, stmt->table, stmt->table_pos);
    if (stmt->kind != ALM_STMT_ALTER_MATVIEW)
        ALM_TRY(alm_refuse_view(cx, self.out->table, stmt->table_pos));
    ALM_TRY(alm_create_fits(cx, self.a->n_cols, stmt->table_pos));
    ALM_TRY(may_alter(&self));
    ALM_TRY(bind_alter_describe(&self));
    ALM_TRY(actions[self.a->kind](&self));
    *out = self.out;
    return ALM_OK;
}
