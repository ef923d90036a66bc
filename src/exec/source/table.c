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

static alm_status fill_columns(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_table *table = args->table;
    for (uint32_t i = 0; i < table->n_cols; i++) {
        const alm_column *col = &table->cols[i];
        const bool symbol = col->type.id == ALM_T_SYMBOL;
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, col->name);
        alm_list_text(list, 1, alm_type_name(col->type));
        alm_list_bool(list, 2, col->indexed);
        alm_list_int(list, 3, !symbol ? 0 : col->indexed ? col->index_capacity : INDEX_CAPACITY);
        alm_list_bool(list, 4, symbol && col->symbol_cached);
        alm_list_int(list, 5, symbol ? col->symbol_capacity : 0);
        alm_list_int(list, 6, symbol && col->dict != NULL ? (int64_t)col->dict->count - 1 : 0);
        alm_list_bool(list, 7, (int32_t)i == table->ts_col);
        alm_list_bool(list, 8, col->dedup_key);
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

static int64_t micros(const alm_table *table, int64_t ts)
{
    const bool nanos =
        table->ts_col >= 0 && table->cols[table->ts_col].type.id == ALM_T_TIMESTAMP_NS;
    return nanos && ts != ALM_TS_NULL ? ts / 1000 : ts;
}

static alm_status fill_partitions(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_table *table = args->table;
    alm_partition_info *part = NULL;
    size_t n = 0;
    ALM_TRY(alm_table_partitions(cx, cx->arena, args->run->env.snapshot, table, &part, &n));
    size_t n_attached = n;
    while (n_attached > 0 && part[n_attached - 1].detached)
        n_attached--;
    for (size_t i = 0; i < n; i++) {
        const char *human = NULL;
        const int64_t rows = part[i].hidden ? 0 : part[i].rows; /* what it has is not seen */
        const bool timed = table->ts_col >= 0 && rows > 0;
        ALM_TRY(alm_list_bytes(cx, part[i].disk_bytes, &human));
        ALM_TRY(alm_list_row(cx, list));
        alm_list_int(list, 0, (int64_t)i);
        alm_list_text(list, 1, alm_schema_partition(table));
        alm_list_text(list, 2, part[i].name);
        alm_list_int(list, 3, timed ? micros(table, part[i].min_ts) : ALM_TS_NULL);
        alm_list_int(list, 4, timed ? micros(table, part[i].max_ts) : ALM_TS_NULL);
        alm_list_int(list, 5, rows);
        alm_list_int(list, 6, part[i].disk_bytes);
        alm_list_text(list, 7, human);
        alm_list_bool(list, 9, i + 1 == n_attached);
        alm_list_bool(list, 10, !part[i].detached);
        alm_list_bool(list, 11, part[i].detached);
        alm_list_bool(list, 12, part[i].detached);
        alm_list_bool(list, 13, part[i].parquet_bytes >= 0);
        alm_list_int(list, 14, part[i].parquet_bytes);
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
        const char byte = *name;
        const bool word = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '_';
        if (!word)
            return false;
    }
    return true;
}

static alm_status source_table_put_name(alm_ctx *cx, alm_buf *buf, const char *name)
{
    return alm_buf_printf(cx, buf, plain_name(name) ? "%s" : "\"%s\"", name);
}

static alm_status source_table_put_columns(alm_ctx *cx, alm_buf *buf, const alm_table *table)
{
    for (uint32_t i = 0; i < table->n_cols; i++) {
        const alm_column *col = &table->cols[i];
        ALM_TRY(alm_buf_text(cx, buf, i == 0 ? "\n\t" : ",\n\t"));
        ALM_TRY(source_table_put_name(cx, buf, col->name));
        ALM_TRY(alm_buf_printf(cx, buf, " %s", alm_type_name(col->type)));
        if (col->length > 0)
            ALM_TRY(alm_buf_printf(cx, buf, "(%u)", col->length));
        if (col->type.id != ALM_T_SYMBOL)
            continue;
        if (col->symbol_capacity > 0 && col->symbol_capacity != SYMBOL_CAPACITY)
            ALM_TRY(alm_buf_printf(cx, buf, " CAPACITY %lld", (long long)col->symbol_capacity));
        if (!col->symbol_cached)
            ALM_TRY(alm_buf_text(cx, buf, " NOCACHE"));
        if (col->indexed)
            ALM_TRY(alm_buf_text(cx, buf, " INDEX"));
        if (col->indexed && col->index_capacity > 0 && col->index_capacity != INDEX_CAPACITY)
            ALM_TRY(alm_buf_printf(cx, buf, " CAPACITY %lld", (long long)col->index_capacity));
    }
    return ALM_OK;
}

static alm_status put_keys(alm_ctx *cx, alm_buf *buf, const alm_table *table)
{
    const char *comma = "";
    ALM_TRY(alm_buf_text(cx, buf, "\nDEDUP UPSERT KEYS("));
    for (uint32_t i = 0; i < table->n_cols; i++) {
        if (!table->cols[i].dedup_key)
            continue;
        ALM_TRY(alm_buf_text(cx, buf, comma));
        ALM_TRY(source_table_put_name(cx, buf, table->cols[i].name));
        comma = ",";
    }
    return alm_buf_text(cx, buf, ")");
}

/* Those that were set. */
static alm_status source_table_put_params(alm_ctx *cx, alm_buf *buf, const alm_table *table)
{
    const int64_t rows = table->max_uncommitted_rows, lag = table->o3_max_lag_us;
    if (rows > 0)
        ALM_TRY(alm_buf_printf(cx, buf, "\nWITH maxUncommittedRows=%lld", (long long)rows));
    if (lag > 0)
        ALM_TRY(alm_buf_printf(cx, buf, "%s o3MaxLag=%lldus", rows > 0 ? "," : "\nWITH",
                               (long long)lag));
    return ALM_OK;
}

alm_status alm_schema_put_table(alm_ctx *cx, alm_buf *buf, const alm_table *table)
{
    ALM_TRY(alm_buf_printf(cx, buf, "CREATE TABLE '%s' ( ", table->name));
    ALM_TRY(source_table_put_columns(cx, buf, table));
    ALM_TRY(alm_buf_text(cx, buf, "\n)"));
    if (table->ts_col >= 0) {
        ALM_TRY(alm_buf_text(cx, buf, " timestamp("));
        ALM_TRY(source_table_put_name(cx, buf, table->cols[table->ts_col].name));
        ALM_TRY(alm_buf_text(cx, buf, ")"));
    }
    if (table->partition != ALM_PART_NONE) {
        ALM_TRY(alm_buf_printf(cx, buf, " PARTITION BY %s", alm_schema_partition(table)));
        if (!table->wal)
            ALM_TRY(alm_buf_text(cx, buf, " BYPASS WAL"));
    }
    int64_t ttl = 0;
    const char *unit = NULL;
    alm_schema_ttl(table, &ttl, &unit);
    if (ttl != 0)
        ALM_TRY(
            alm_buf_printf(cx, buf, " TTL %lld %s%s", (long long)ttl, unit, ttl == 1 ? "" : "S"));
    ALM_TRY(source_table_put_params(cx, buf, table));
    if (table->dedup)
        ALM_TRY(put_keys(cx, buf, table));
    return alm_buf_text(cx, buf, ";");
}

static const alm_plan_col ddl_cols[] = {{"ddl", ALM_TY(VARCHAR)}};

static alm_status fill_ddl(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    alm_buf buf;
    alm_str text = {0};
    alm_buf_init(&buf, cx->mem);
    alm_status status = alm_schema_put_table(cx, &buf, args->table);
    if (status == ALM_OK)
        status = alm_arena_copy(cx, cx->arena, (alm_str){buf.ptr, buf.len}, &text);
    alm_buf_deinit(&buf);
    ALM_TRY(status);
    ALM_TRY(alm_list_row(cx, list));
    alm_list_str(list, 0, text);
    return ALM_OK;
}

ALM_LIST_SOURCE(show_create_table, "show_create_table", true, ddl_cols, fill_ddl,
                "The statement that makes a table like this one; SHOW CREATE TABLE is this.",
                "select ddl from show_create_table('trades')");
