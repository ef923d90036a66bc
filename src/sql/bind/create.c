/* create.c - CREATE TABLE, CREATE TABLE AS, CREATE TABLE LIKE: all checks, no effects. */
#include "base/number.h"
#include "base/utf8.h"
#include "sql/bind/bind.h"
#include "sql/bind/table.h"
#include "sql/node/range.h"
#include "sql/opt/opt.h"
#include "sql/parse/parse.h"
#include "sql/plan/access.h"

/* --------------------------------------------------------------------- names */

bool alm_is_reserved_relation(const alm_source_if *sources, alm_str name)
{
    static const alm_str sys = {"sys.", 4};
    const bool in_sys = name.len > sys.len && alm_str_ieq((alm_str){name.ptr, sys.len}, sys);
    const alm_str bare = in_sys ? (alm_str){name.ptr + sys.len, name.len - sys.len} : name;
    return sources != NULL && sources->by_name != NULL &&
           (sources->by_name(name) || sources->by_name(bare));
}

alm_status alm_check_new_relation(alm_ctx *cx, const alm_source_if *sources, alm_str name,
                                  int32_t pos)
{
    if (!alm_is_reserved_relation(sources, name))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, pos,
                    "the name \"%.*s\" is reserved: the server has a relation of that name",
                    (int)name.len, name.ptr);
}

alm_status alm_create_check_name(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt)
{
    if (alm_table_name_ok(stmt->table))
        return alm_check_new_relation(cx, env->sources, stmt->table, stmt->table_pos);
    if (stmt->table.len > 0 && memchr(stmt->table.ptr, '/', stmt->table.len) != NULL)
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos, "'/' is not allowed");
    return alm_fail(cx, ALM_E_ARG, stmt->table_pos,
                    "Could not create table, invalid table name [table=%.*s]",
                    (int)ALM_MIN(stmt->table.len, 200), stmt->table.ptr);
}

alm_status alm_create_fits(alm_ctx *cx, uint32_t n, int32_t pos)
{
    return n <= ALM_TABLE_COLS_MAX
               ? ALM_OK
               : alm_fail(cx, ALM_E_LIMIT, pos, "a table may have %d columns, not %u",
                          ALM_TABLE_COLS_MAX, n);
}

int32_t alm_create_find(const alm_create *create, alm_str name)
{
    for (uint32_t i = 0; i < create->n_cols; i++)
        if (alm_str_ieq(alm_str_of(create->cols[i].name), name))
            return (int32_t)i;
    return -1;
}

void alm_create_defaults(alm_column *col)
{
    enum { SYMBOL_CAPACITY = 256 };
    if (col->type.id != ALM_T_SYMBOL)
        return;
    col->symbol_capacity = SYMBOL_CAPACITY;
    col->symbol_cached = true;
}

alm_status alm_create_add(alm_planner *planner, alm_create *create, alm_str name, alm_type type,
                          int32_t pos)
{
    alm_column *col = &create->cols[create->n_cols];
    if (alm_create_find(create, name) >= 0)
        return alm_fail(planner->cx, ALM_E_DUPLICATE, pos, "Duplicate column [name=%.*s]",
                        (int)name.len, name.ptr);
    if (name.len == 0 || name.len > 255 || alm_utf8_has_mark(name))
        return alm_fail(planner->cx, ALM_E_ARG, pos, "invalid column name: %.*s",
                        (int)ALM_MIN(name.len, 200), name.ptr);
    ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, name, &col->name));
    col->type = type;
    col->id = create->n_cols;
    alm_create_defaults(col);
    create->n_cols++;
    return ALM_OK;
}

/* ------------------------------------------------------------------- columns */

alm_status alm_create_symbol(alm_planner *planner, const alm_column_def *def, alm_column *col)
{
    const bool symbol = col->type.id == ALM_T_SYMBOL;
    if (def->indexed && !symbol)
        return alm_fail(planner->cx, ALM_E_TYPE, def->pos,
                        "indexes are supported only for SYMBOL columns [columnName=%s, "
                        "columnType=%s]",
                        col->name, alm_type_name(col->type));
    if (!symbol)
        return ALM_OK;
    if (def->symbol_capacity > 0)
        col->symbol_capacity = def->symbol_capacity;
    if (def->cache != 0)
        col->symbol_cached = def->cache > 0;
    if (def->indexed) {
        col->indexed = true;
        col->index_capacity = def->index_capacity > 0 ? def->index_capacity : ALM_INDEX_CAPACITY;
    }
    return ALM_OK;
}

alm_status alm_create_type(alm_planner *planner, const alm_column_def *def, alm_type *out,
                           uint32_t *length)
{
    alm_type_mod mod;
    ALM_TRY(alm_type_read_mod(planner->cx, def->type_pos, def->type_name, out, &mod));
    *length = mod.length;
    if (out->id == ALM_T_NONE)
        return alm_no_type(planner->cx, def->type_pos, "unsupported column type", def->type_name);
    if (out->id == ALM_T_INTERVAL)
        return alm_fail(planner->cx, ALM_E_TYPE, def->type_pos, "non-persisted type: %.*s",
                        (int)def->type_name.len, def->type_name.ptr);
    return ALM_OK;
}

static alm_status columns_from_list(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    ALM_TRY(alm_create_fits(planner->cx, stmt->n_cols, stmt->table_pos));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, stmt->n_cols + 1, &create->cols));
    for (uint32_t i = 0; i < stmt->n_cols; i++) {
        const alm_column_def *def = &stmt->cols[i];
        alm_type type = ALM_TY(NONE);
        uint32_t length = 0;
        if (def->type_name.len == 0) { /* index(name) behind the list */
            const int32_t place = alm_create_find(create, def->name);
            if (place < 0)
                return alm_fail(planner->cx, ALM_E_NAME, def->pos, "Invalid column: %.*s",
                                (int)def->name.len, def->name.ptr);
            ALM_TRY(alm_create_symbol(planner, def, &create->cols[place]));
            continue;
        }
        ALM_TRY(alm_create_type(planner, def, &type, &length));
        ALM_TRY(alm_create_add(planner, create, def->name, type, def->pos));
        create->cols[create->n_cols - 1].length = length;
        ALM_TRY(alm_create_symbol(planner, def, &create->cols[create->n_cols - 1]));
    }
    return ALM_OK;
}

static alm_status columns_from_table(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    ALM_TRY(alm_access_name(planner->cx, "SELECT", stmt->like, stmt->like_pos));
    const alm_table *like = alm_snapshot_find(planner->env->snapshot, stmt->like);
    if (like == NULL)
        return alm_no_table(planner->cx, planner->env->snapshot, stmt->like, stmt->like_pos);
    ALM_TRY(alm_access_any(planner->cx, "SELECT", like->name, stmt->like_pos));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, like->n_cols + 1, &create->cols));
    create->n_cols = like->n_cols;
    for (uint32_t i = 0; i < like->n_cols; i++) {
        create->cols[i] = like->cols[i];
        create->cols[i].dict = NULL;
        create->cols[i].id = i;
    }
    create->ts_col = like->ts_col;
    create->partition = like->partition;
    create->wal = like->wal;
    create->dedup = like->dedup;
    create->ttl_hours = like->ttl_hours;
    create->max_uncommitted_rows = like->max_uncommitted_rows;
    create->o3_max_lag_us = like->o3_max_lag_us;
    return ALM_OK;
}

static bool cast_allowed(const alm_planner *planner, alm_type from, alm_type target)
{
    if (alm_type_eq(from, target))
        return true;
    if (from.id == ALM_T_SYMBOL && !alm_type_is_text(target))
        return false;
    return alm_cast_fn(planner->env->registry, from, target) != NULL;
}

alm_status alm_create_add_all(alm_planner *planner, const alm_stmt *stmt, const alm_plan *plan,
                              bool stored, alm_create *create)
{
    const int32_t pos = stmt->select->pos;
    ALM_TRY(alm_create_fits(planner->cx, plan->n_cols, pos));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &create->cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        alm_type type = plan->cols[i].type;
        type.p = type.id == ALM_T_STRING ? 0 : type.p; /* a list is a text from here on */
        if (stored && type.id == ALM_T_INTERVAL)
            return alm_fail(planner->cx, ALM_E_TYPE, pos, "non-persisted type: %s [column=%s]",
                            alm_type_name(type), plan->cols[i].name);
        ALM_TRY(alm_create_add(planner, create, alm_str_of(plan->cols[i].name),
                               type.id == ALM_T_NULL ? ALM_TY(STRING) : type, pos));
    }
    return ALM_OK;
}

static alm_status columns_from_select(alm_planner *planner, const alm_stmt *stmt,
                                      alm_create *create)
{
    alm_plan *plan = NULL;
    alm_type *types = NULL;
    bool *all = NULL;
    ALM_TRY(alm_create_fits(planner->cx, stmt->n_cols, stmt->table_pos));
    ALM_TRY(alm_bind_query(planner, NULL, stmt->select, &plan));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &types));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &all));
    ALM_TRY(alm_create_add_all(planner, stmt, plan, true, create));
    for (uint32_t i = 0; i < stmt->n_cols; i++) {
        const alm_column_def *def = &stmt->cols[i];
        const int32_t place = alm_create_find(create, def->name);
        if (place < 0)
            return alm_fail(planner->cx, ALM_E_NAME, def->pos,
                            def->cast ? "CAST column doesn't exist [column=%.*s]"
                                      : "Invalid column: %.*s",
                            (int)def->name.len, def->name.ptr);
        alm_column *col = &create->cols[place];
        if (def->cast) {
            alm_type target = ALM_TY(NONE);
            ALM_TRY(alm_create_type(planner, def, &target, &col->length));
            if (!cast_allowed(planner, col->type, target))
                return alm_fail(planner->cx, ALM_E_TYPE, def->pos,
                                "unsupported cast [column=%s, from=%s, to=%s]", col->name,
                                alm_type_name(col->type), alm_type_name(target));
            const bool new_symbol = col->type.id != ALM_T_SYMBOL;
            col->type = target;
            if (new_symbol)
                alm_create_defaults(col);
        }
        ALM_TRY(alm_create_symbol(planner, def, col));
    }
    for (uint32_t i = 0; i < plan->n_cols; i++)
        types[i] = create->cols[i].type;
    create->ts_col = plan->ts_col; /* unless TIMESTAMP(x) says another */
    ALM_TRY(alm_plan_cast(planner, &plan, types, ALM_CAST_EXPLICIT));
    memset(all, 1, plan->n_cols * sizeof *all);
    ALM_TRY(alm_range_below(planner, plan, all));
    ALM_TRY(alm_plan_finite_times(planner, -1, &plan));
    ALM_TRY(alm_optimise(planner, &plan));
    create->source = plan;
    return ALM_OK;
}

/* -------------------------------------------------------------------- clauses */

static alm_status designated(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    if (stmt->timestamp.len == 0)
        return ALM_OK;
    const int32_t place = alm_create_find(create, stmt->timestamp);
    const bool as = stmt->select != NULL;
    if (place < 0)
        return alm_fail(planner->cx, ALM_E_NAME, stmt->timestamp_pos,
                        as ? "designated timestamp column doesn't exist [name=%.*s]"
                           : "invalid designated timestamp column [name=%.*s]",
                        (int)stmt->timestamp.len, stmt->timestamp.ptr);
    const alm_column *col = &create->cols[place];
    if (!alm_type_is_timestamp(col->type))
        return alm_fail(planner->cx, ALM_E_TYPE, stmt->timestamp_pos,
                        "TIMESTAMP column expected [actual=%s, columnName=%s]",
                        alm_type_name(col->type), col->name);
    create->ts_col = place;
    return ALM_OK;
}

static alm_status partitioning(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    static const char *const names[] = {"NONE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"};
    if (stmt->partition.len == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < ALM_COUNT(names); i++) {
        if (!alm_str_ieq(stmt->partition, alm_str_of(names[i])))
            continue;
        create->partition = (alm_partition_by)i;
        if (i > 0 && create->ts_col < 0)
            return alm_fail(planner->cx, ALM_E_ARG, stmt->partition_pos,
                            "partitioning is possible only on tables with designated timestamps");
        return ALM_OK;
    }
    return alm_fail(planner->cx, ALM_E_ARG, stmt->partition_pos,
                    "'NONE', 'HOUR', 'DAY', 'WEEK', 'MONTH' or 'YEAR' expected");
}

alm_status alm_create_ttl(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    static const int64_t partition_hours[] = {0, 1, 24, 168, 0, 0};
    if (stmt->ttl_unit == 0)
        return ALM_OK;
    int64_t hours = 0, months = 0;
    const int64_t n = stmt->ttl_count;
    switch (stmt->ttl_unit) {
    case 'h':
    case 'H':
        hours = n;
        break;
    case 'd':
    case 'D':
        hours = n * 24;
        break;
    case 'w':
    case 'W':
        hours = n * 168;
        break;
    case 'M':
    case 'm':
        months = n;
        break;
    case 'y':
    case 'Y':
        months = n * 12;
        break;
    default:
        return alm_fail(planner->cx, ALM_E_ARG, stmt->ttl_pos, "invalid TTL unit '%c'",
                        stmt->ttl_unit);
    }
    if (n < 0 || n > 1000000)
        return alm_fail(planner->cx, ALM_E_RANGE, stmt->ttl_pos, "TTL value out of range: %lld",
                        (long long)n);
    if (create->partition == ALM_PART_NONE)
        return alm_fail(planner->cx, ALM_E_ARG, stmt->ttl_pos,
                        "cannot set TTL on a non-partitioned table");
    const int64_t part = partition_hours[create->partition];
    const bool fits = create->partition == ALM_PART_MONTH  ? hours == 0
                      : create->partition == ALM_PART_YEAR ? hours == 0 && months % 12 == 0
                                                           : hours % part == 0;
    if (!fits)
        return alm_fail(planner->cx, ALM_E_ARG, stmt->ttl_pos,
                        "TTL value must be an integer multiple of partition size");
    create->ttl_hours = hours != 0 ? hours : -months;
    return ALM_OK;
}

alm_status alm_create_dedup(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    if (!stmt->dedup)
        return ALM_OK;
    const int32_t pos = stmt->n_dedup > 0 ? stmt->dedup_pos[0] : stmt->pos;
    if (!create->wal)
        return alm_fail(planner->cx, ALM_E_ARG, pos,
                        "deduplication is possible only on WAL tables");
    bool has_ts = false;
    ALM_TRY(alm_create_fits(planner->cx, stmt->n_dedup, pos));
    for (uint32_t i = 0; i < stmt->n_dedup; i++) {
        const int32_t place = alm_create_find(create, stmt->dedup_keys[i]);
        if (place < 0)
            return alm_fail(planner->cx, ALM_E_NAME, stmt->dedup_pos[i],
                            "deduplicate key column not found [column=%.*s]",
                            (int)stmt->dedup_keys[i].len, stmt->dedup_keys[i].ptr);
        create->cols[place].dedup_key = true;
        has_ts |= place == create->ts_col;
    }
    if (!has_ts)
        return alm_fail(planner->cx, ALM_E_ARG, pos,
                        "deduplicate key list must include dedicated timestamp column");
    create->dedup = true;
    return ALM_OK;
}

alm_status alm_create_params(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    for (uint32_t i = 0; i < stmt->n_with; i++) {
        const alm_assign *assign = &stmt->with[i];
        const bool rows = alm_str_ieq(assign->col, ALM_STR("maxUncommittedRows"));
        const char *text = NULL;
        int64_t n = 0;
        if (!rows && !alm_str_ieq(assign->col, ALM_STR("o3MaxLag")))
            return stmt->kind == ALM_STMT_ALTER_TABLE
                       ? alm_fail(planner->cx, ALM_E_ARG, assign->pos, "unknown parameter '%.*s'",
                                  (int)assign->col.len, assign->col.ptr)
                       : alm_fail(planner->cx, ALM_E_ARG, assign->pos,
                                  "unrecognized WITH parameter: %.*s", (int)assign->col.len,
                                  assign->col.ptr);
        if (!rows) {
            if (alm_lag_read(assign->value->text, &create->o3_max_lag_us))
                continue;
            return alm_fail(planner->cx, ALM_E_ARG, assign->value->pos,
                            "invalid value for o3MaxLag: %.*s",
                            (int)ALM_MIN(assign->value->text.len, 100), assign->value->text.ptr);
        }
        ALM_TRY(alm_ast_text(planner->cx, assign->value, &text));
        if (alm_int64_parse(alm_str_of(text), &n) != ALM_NUM_OK || n < 0 || n > INT32_MAX)
            return alm_fail(planner->cx, ALM_E_ARG, assign->value->pos,
                            "invalid value for maxUncommittedRows: %.100s", text);
        create->max_uncommitted_rows = n;
    }
    return ALM_OK;
}

alm_status alm_create_clauses(alm_planner *planner, const alm_stmt *stmt, alm_create *create)
{
    ALM_TRY(designated(planner, stmt, create));
    ALM_TRY(partitioning(planner, stmt, create));
    if (stmt->like.len == 0)
        create->wal = create->partition != ALM_PART_NONE;
    if (stmt->wal != 0)
        create->wal = stmt->wal > 0;
    if (create->wal && create->partition == ALM_PART_NONE)
        return alm_fail(planner->cx, ALM_E_ARG, stmt->table_pos,
                        "WAL Write Mode can only be used on partitioned tables");
    ALM_TRY(alm_create_ttl(planner, stmt, create));
    ALM_TRY(alm_create_dedup(planner, stmt, create));
    if (stmt->volume.len > 0)
        return alm_fail(planner->cx, ALM_E_ARG, stmt->volume_pos,
                        "volume alias is not allowed [alias=%.*s]", (int)stmt->volume.len,
                        stmt->volume.ptr);
    return alm_create_params(planner, stmt, create);
}

alm_status alm_plan_create(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_create **out)
{
    alm_planner planner = {.cx = cx, .env = env};
    alm_create *create = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &create));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->table, &create->name));
    create->ts_col = -1;
    bool listed = true; /* who may create one learns that a name is taken; others do not */
    ALM_TRY(alm_access_lists(cx, stmt->table, &listed));
    if (!listed)
        ALM_TRY(alm_access_may(cx, "CREATE TABLE", NULL, stmt->table_pos));
    const alm_table *old = alm_snapshot_find(env->snapshot, stmt->table);
    if (old != NULL && old->kind != ALM_TABLE_BASE)
        return alm_fail(cx, ALM_E_EXISTS, stmt->table_pos,
                        "view or materialized view with the requested name already exists "
                        "[table=%.*s]",
                        (int)stmt->table.len, stmt->table.ptr);
    if (old != NULL) {
        if (!stmt->if_not_exists)
            return alm_fail(cx, ALM_E_EXISTS, stmt->table_pos, "table already exists [table=%.*s]",
                            (int)stmt->table.len, stmt->table.ptr);
        create->exists = true;
        *out = create;
        return ALM_OK;
    }
    ALM_TRY(alm_create_check_name(cx, env, stmt));
    ALM_TRY(alm_access_may(cx, "CREATE TABLE", NULL, stmt->table_pos));
    if (stmt->select != NULL)
        ALM_TRY(columns_from_select(&planner, stmt, create));
    else if (stmt->like.len > 0)
        ALM_TRY(columns_from_table(&planner, stmt, create));
    else
        ALM_TRY(columns_from_list(&planner, stmt, create));
    ALM_TRY(alm_create_clauses(&planner, stmt, create));
    *out = create;
    return ALM_OK;
}
