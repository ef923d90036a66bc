/*
 * table.c - what one table is made of: table_columns(t), table_partitions(t),
 * show_create_table(t).
 */
#include <stdio.h>

#include "exec/source/list.h"
#include "exec/source/schema.h"

enum { SYMBOL_CAPACITY = 256, INDEX_CAPACITY = 256 }; /* defaults, left out of DDL */

/* -------------------------------------------------------------------------- table_columns */

static const alm_plan_col column_cols[] = {
    {"column", ALM_TY(STRING)},        {"type", ALM_TY(STRING)},
    {"indexed", ALM_TY(BOOLEAN)},      {"indexBlockCapacity", ALM_TY(INT)},
    {"symbolCached", ALM_TY(BOOLEAN)}, {"symbolCapacity", ALM_TY(INT)},
    {"symbolTableSize", ALM_TY(INT)},  {"designated", ALM_TY(BOOLEAN)},
    {"upsertKey", ALM_TY(BOOLEAN)},
};

static alm_status fill_columns(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_table *t = args->table;
    for (uint32_t i = 0; i < t->n_cols; i++) {
        const alm_column *c = &t->cols[i];
        const bool symbol = c->type.id == ALM_T_SYMBOL;
        ALM_TRY(alm_list_row(cx, l));
        alm_list_text(l, 0, c->name);
        alm_list_text(l, 1, alm_type_name(c->type));
        alm_list_bool(l, 2, c->indexed);
        alm_list_int(l, 3, !symbol ? 0 : c->indexed ? c->index_capacity : INDEX_CAPACITY);
        alm_list_bool(l, 4, symbol && c->symbol_cached);
        alm_list_int(l, 5, symbol ? c->symbol_capacity : 0);
        alm_list_int(l, 6, symbol && c->dict != NULL ? (int64_t)c->dict->count - 1 : 0);
        alm_list_bool(l, 7, (int32_t)i == t->ts_col);
        alm_list_bool(l, 8, c->dedup_key);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(table_columns, "table_columns", true, column_cols, fill_columns,
                "Columns of a table, with type and options; SHOW COLUMNS is this.",
                "select \"column\", type from table_columns('trades')");

/* ----------------------------------------------------------------------- table_partitions */

static const alm_plan_col partition_cols[] = {
    {"index", ALM_TY(INT)},
    {"partitionBy", ALM_TY(STRING)},
    {"name", ALM_TY(STRING)},
    {"minTimestamp", ALM_TY(TIMESTAMP)},
    {"maxTimestamp", ALM_TY(TIMESTAMP)},
    {"numRows", ALM_TY(LONG)},
    {"diskSize", ALM_TY(LONG)},
    {"diskSizeHuman", ALM_TY(STRING)},
    {"readOnly", ALM_TY(BOOLEAN)},
    {"active", ALM_TY(BOOLEAN)},
    {"attached", ALM_TY(BOOLEAN)},
    {"detached", ALM_TY(BOOLEAN)},
    {"attachable", ALM_TY(BOOLEAN)},
    {"isParquet", ALM_TY(BOOLEAN)},
    {"parquetFileSize", ALM_TY(LONG)},
};

alm_status alm_list_bytes(alm_ctx *cx, int64_t bytes, const char **out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < ALM_COUNT(units); unit++)
        size /= 1024;
    return alm_arena_printf(cx, cx->arena, out, "%.1f %s", size, units[unit]);
}

static int64_t micros(const alm_table *t, int64_t ts)
{
    const bool ns = t->ts_col >= 0 && t->cols[t->ts_col].type.id == ALM_T_TIMESTAMP_NS;
    return ns && ts != ALM_TS_NULL ? ts / 1000 : ts;
}

static alm_status fill_partitions(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_table *t = args->table;
    alm_partition_info *part = NULL;
    size_t n = 0;
    ALM_TRY(alm_table_partitions(cx, cx->arena, args->run->env.snapshot, t, &part, &n));
    size_t n_attached = n;
    while (n_attached > 0 && part[n_attached - 1].detached)
        n_attached--;
    for (size_t i = 0; i < n; i++) {
        const char *human = NULL;
        const int64_t rows = part[i].hidden ? 0 : part[i].rows; /* what it has is not seen */
        const bool timed = t->ts_col >= 0 && rows > 0;
        ALM_TRY(alm_list_bytes(cx, part[i].disk_bytes, &human));
        ALM_TRY(alm_list_row(cx, l));
        alm_list_int(l, 0, (int64_t)i);
        alm_list_text(l, 1, alm_schema_partition(t));
        alm_list_text(l, 2, part[i].name);
        alm_list_int(l, 3, timed ? micros(t, part[i].min_ts) : ALM_TS_NULL);
        alm_list_int(l, 4, timed ? micros(t, part[i].max_ts) : ALM_TS_NULL);
        alm_list_int(l, 5, rows);
        alm_list_int(l, 6, part[i].disk_bytes);
        alm_list_text(l, 7, human);
        alm_list_bool(l, 9, i + 1 == n_attached);
        alm_list_bool(l, 10, !part[i].detached);
        alm_list_bool(l, 11, part[i].detached);
        alm_list_bool(l, 12, part[i].detached);
        alm_list_bool(l, 13, part[i].parquet_bytes >= 0);
        alm_list_int(l, 14, part[i].parquet_bytes);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(table_partitions, "table_partitions", true, partition_cols, fill_partitions,
                "Partitions of a table, oldest first; SHOW PARTITIONS is this.",
                "select name, \"numRows\" from table_partitions('trades')");

/* ---------------------------------------------------------------------- show_create_table */

static bool plain_name(const char *name)
{
    if (*name >= '0' && *name <= '9')
        return false;
    for (; *name != 0; name++) {
        const char c = *name;
        const bool word =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!word)
            return false;
    }
    return true;
}

static alm_status put_name(alm_ctx *cx, alm_buf *b, const char *name)
{
    return alm_buf_printf(cx, b, plain_name(name) ? "%s" : "\"%s\"", name);
}

static alm_status put_columns(alm_ctx *cx, alm_buf *b, const alm_table *t)
{
    for (uint32_t i = 0; i < t->n_cols; i++) {
        const alm_column *c = &t->cols[i];
        ALM_TRY(alm_buf_text(cx, b, i == 0 ? "\n\t" : ",\n\t"));
        ALM_TRY(put_name(cx, b, c->name));
        ALM_TRY(alm_buf_printf(cx, b, " %s", alm_type_name(c->type)));
        if (c->length > 0)
            ALM_TRY(alm_buf_printf(cx, b, "(%u)", c->length));
        if (c->type.id != ALM_T_SYMBOL)
            continue;
        if (c->symbol_capacity > 0 && c->symbol_capacity != SYMBOL_CAPACITY)
            ALM_TRY(alm_buf_printf(cx, b, " CAPACITY %lld", (long long)c->symbol_capacity));
        if (!c->symbol_cached)
            ALM_TRY(alm_buf_text(cx, b, " NOCACHE"));
        if (c->indexed)
            ALM_TRY(alm_buf_text(cx, b, " INDEX"));
        if (c->indexed && c->index_capacity > 0 && c->index_capacity != INDEX_CAPACITY)
            ALM_TRY(alm_buf_printf(cx, b, " CAPACITY %lld", (long long)c->index_capacity));
    }
    return ALM_OK;
}

static alm_status put_keys(alm_ctx *cx, alm_buf *b, const alm_table *t)
{
    const char *comma = "";
    ALM_TRY(alm_buf_text(cx, b, "\nDEDUP UPSERT KEYS("));
    for (uint32_t i = 0; i < t->n_cols; i++) {
        if (!t->cols[i].dedup_key)
            continue;
        ALM_TRY(alm_buf_text(cx, b, comma));
        ALM_TRY(put_name(cx, b, t->cols[i].name));
        comma = ",";
    }
    return alm_buf_text(cx, b, ")");
}

/* Those that were set. */
static alm_status put_params(alm_ctx *cx, alm_buf *b, const alm_table *t)
{
    const int64_t rows = t->max_uncommitted_rows, lag = t->o3_max_lag_us;
    if (rows > 0)
        ALM_TRY(alm_buf_printf(cx, b, "\nWITH maxUncommittedRows=%lld", (long long)rows));
    if (lag > 0)
        ALM_TRY(
            alm_buf_printf(cx, b, "%s o3MaxLag=%lldus", rows > 0 ? "," : "\nWITH", (long long)lag));
    return ALM_OK;
}

alm_status alm_schema_put_table(alm_ctx *cx, alm_buf *b, const alm_table *t)
{
    ALM_TRY(alm_buf_printf(cx, b, "CREATE TABLE '%s' ( ", t->name));
    ALM_TRY(put_columns(cx, b, t));
    ALM_TRY(alm_buf_text(cx, b, "\n)"));
    if (t->ts_col >= 0) {
        ALM_TRY(alm_buf_text(cx, b, " timestamp("));
        ALM_TRY(put_name(cx, b, t->cols[t->ts_col].name));
        ALM_TRY(alm_buf_text(cx, b, ")"));
    }
    if (t->partition != ALM_PART_NONE) {
        ALM_TRY(alm_buf_printf(cx, b, " PARTITION BY %s", alm_schema_partition(t)));
        if (!t->wal)
            ALM_TRY(alm_buf_text(cx, b, " BYPASS WAL"));
    }
    int64_t ttl = 0;
    const char *unit = NULL;
    alm_schema_ttl(t, &ttl, &unit);
    if (ttl != 0)
        ALM_TRY(alm_buf_printf(cx, b, " TTL %lld %s%s", (long long)ttl, unit, ttl == 1 ? "" : "S"));
    ALM_TRY(put_params(cx, b, t));
    if (t->dedup)
        ALM_TRY(put_keys(cx, b, t));
    return alm_buf_text(cx, b, ";");
}

static const alm_plan_col ddl_cols[] = {{"ddl", ALM_TY(VARCHAR)}};

static alm_status fill_ddl(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    alm_buf b;
    alm_str text = {0};
    alm_buf_init(&b, cx->mem);
    alm_status st = alm_schema_put_table(cx, &b, args->table);
    if (st == ALM_OK)
        st = alm_arena_copy(cx, cx->arena, (alm_str){b.ptr, b.len}, &text);
    alm_buf_deinit(&b);
    ALM_TRY(st);
    ALM_TRY(alm_list_row(cx, l));
    alm_list_str(l, 0, text);
    return ALM_OK;
}

ALM_LIST_SOURCE(show_create_table, "show_create_table", true, ddl_cols, fill_ddl,
                "The statement that makes a table like this one; SHOW CREATE TABLE is this.",
                "select ddl from show_create_table('trades')");
