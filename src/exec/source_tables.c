/*
 * source_tables.c - lists of tables: tables(), all_tables(), wal_tables(), table_storage().
 *
 * Column names and types are those clients of the reference know. A write is visible when it is
 * acknowledged, so that nothing is ever suspended or pending.
 */
#include "exec/source_list.h"
#include "exec/source_schema.h"

static const char *const part_names[] = {
    [ALM_PART_NONE] = "NONE", [ALM_PART_HOUR] = "HOUR",   [ALM_PART_DAY] = "DAY",
    [ALM_PART_WEEK] = "WEEK", [ALM_PART_MONTH] = "MONTH", [ALM_PART_YEAR] = "YEAR"};

const char *alm_schema_partition(const alm_table *t)
{
    return part_names[t->partition];
}

/* The largest unit that divides the time to live. */
void alm_schema_ttl(const alm_table *t, int64_t *value, const char **unit)
{
    static const struct {
        int64_t hours;
        const char *name;
    } units[] = {{7 * 24, "WEEK"}, {24, "DAY"}, {1, "HOUR"}};
    const int64_t ttl = t->ttl_hours;
    *value = ttl;
    *unit = "HOUR";
    if (ttl < 0) { /* months */
        const bool years = -ttl % 12 == 0;
        *value = years ? -ttl / 12 : -ttl;
        *unit = years ? "YEAR" : "MONTH";
        return;
    }
    for (size_t i = 0; ttl > 0 && i < ALM_COUNT(units); i++)
        if (ttl % units[i].hours == 0) {
            *value = ttl / units[i].hours;
            *unit = units[i].name;
            return;
        }
}

/* ----------------------------------------------------------------------------------- tables */

static const alm_plan_col table_cols[] = {
    {"id", ALM_TY(INT)},
    {"table_name", ALM_TY(STRING)},
    {"designatedTimestamp", ALM_TY(STRING)},
    {"partitionBy", ALM_TY(STRING)},
    {"maxUncommittedRows", ALM_TY(INT)},
    {"o3MaxLag", ALM_TY(LONG)},
    {"walEnabled", ALM_TY(BOOLEAN)},
    {"directoryName", ALM_TY(STRING)},
    {"dedup", ALM_TY(BOOLEAN)},
    {"ttlValue", ALM_TY(INT)},
    {"ttlUnit", ALM_TY(STRING)},
    {"matView", ALM_TY(BOOLEAN)},
    {"table_type", ALM_TY(CHAR)},
    {"table_suspended", ALM_TY(BOOLEAN)},
    {"table_row_count", ALM_TY(LONG)},
    {"table_min_timestamp", ALM_TY(TIMESTAMP)},
    {"table_max_timestamp", ALM_TY(TIMESTAMP)},
};

/* Time of a table in microseconds, whatever its resolution. */
static int64_t table_time(const alm_table *t, int64_t ts)
{
    if (t->ts_col < 0 || t->min_ts > t->max_ts)
        return ALM_TS_NULL;
    return t->cols[t->ts_col].type.id == ALM_T_TIMESTAMP_NS ? ts / 1000 : ts;
}

static alm_status fill_tables(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        const char *unit = NULL;
        int64_t ttl = 0;
        alm_schema_ttl(t, &ttl, &unit);
        ALM_TRY(alm_list_row(cx, l));
        alm_list_int(l, 0, (int64_t)t->id);
        alm_list_text(l, 1, t->name);
        alm_list_text(l, 2, t->ts_col < 0 ? NULL : t->cols[t->ts_col].name);
        alm_list_text(l, 3, t->kind == ALM_TABLE_VIEW ? "N/A" : alm_schema_partition(t));
        alm_list_int(l, 4, t->max_uncommitted_rows);
        alm_list_int(l, 5, t->o3_max_lag_us);
        alm_list_bool(l, 6, t->wal);
        alm_list_text(l, 7, t->name);
        alm_list_bool(l, 8, t->dedup);
        alm_list_int(l, 9, ttl);
        alm_list_text(l, 10, unit);
        alm_list_bool(l, 11, t->kind == ALM_TABLE_MATVIEW);
        alm_list_int(l, 12, "TVM"[t->kind]);
        alm_list_bool(l, 13, false);
        if (t->kind == ALM_TABLE_VIEW)
            continue;
        alm_list_int(l, 14, t->row_count);
        alm_list_int(l, 15, table_time(t, t->min_ts));
        alm_list_int(l, 16, table_time(t, t->max_ts));
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(tables, "tables", false, table_cols, fill_tables,
                "One row per table, with its options and the number of its rows.",
                "select table_name from tables()");

static const alm_plan_col name_cols[] = {{"table_name", ALM_TY(STRING)}};

static alm_status fill_names(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        ALM_TRY(alm_list_row(cx, l));
        alm_list_text(l, 0, alm_snapshot_at(snap, i)->name);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(all_tables, "all_tables", false, name_cols, fill_names, "Names of all tables.",
                "select * from all_tables()");

/* ------------------------------------------------------------------------------- wal_tables */

static const alm_plan_col wal_cols[] = {
    {"name", ALM_TY(STRING)},         {"suspended", ALM_TY(BOOLEAN)},
    {"writerTxn", ALM_TY(LONG)},      {"bufferedTxnSize", ALM_TY(LONG)},
    {"sequencerTxn", ALM_TY(LONG)},   {"errorTag", ALM_TY(STRING)},
    {"errorMessage", ALM_TY(STRING)}, {"memoryPressure", ALM_TY(INT)},
};

static alm_status fill_wal(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    const int64_t lsn = (int64_t)alm_snapshot_lsn(snap);
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!t->wal || t->kind == ALM_TABLE_VIEW)
            continue;
        ALM_TRY(alm_list_row(cx, l));
        alm_list_text(l, 0, t->name);
        alm_list_int(l, 2, lsn);
        alm_list_int(l, 3, 0);
        alm_list_int(l, 4, lsn);
        alm_list_int(l, 7, 0);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    wal_tables, "wal_tables", false, wal_cols, fill_wal,
    "Tables declared WAL. Writes are visible at once: none is ever behind or suspended.",
    "select name, suspended from wal_tables()");

/* ---------------------------------------------------------------------------- table_storage */

static const alm_plan_col storage_cols[] = {
    {"tableName", ALM_TY(STRING)},   {"walEnabled", ALM_TY(BOOLEAN)},
    {"partitionBy", ALM_TY(STRING)}, {"partitionCount", ALM_TY(LONG)},
    {"rowCount", ALM_TY(LONG)},      {"diskSize", ALM_TY(LONG)},
};

static alm_status fill_storage(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        alm_partition_info *part = NULL;
        size_t n = 0;
        int64_t bytes = 0;
        ALM_TRY(alm_check(cx));
        if (t->kind == ALM_TABLE_VIEW)
            continue;
        ALM_TRY(alm_table_partitions(cx, cx->arena, snap, t, &part, &n));
        for (size_t k = 0; k < n; k++)
            bytes += part[k].disk_bytes;
        ALM_TRY(alm_list_row(cx, l));
        alm_list_text(l, 0, t->name);
        alm_list_bool(l, 1, t->wal);
        alm_list_text(l, 2, alm_schema_partition(t));
        alm_list_int(l, 3, (int64_t)n);
        alm_list_int(l, 4, t->row_count);
        alm_list_int(l, 5, bytes);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(table_storage, "table_storage", false, storage_cols, fill_storage,
                "Partitions, rows and bytes on disk of each table.",
                "select \"tableName\", \"diskSize\" from table_storage()");
