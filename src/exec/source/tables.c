/*
 * tables.c - lists of tables: tables(), all_tables(), wal_tables(),
 * wal_transactions(), table_storage().
 *
 * Column names and types are those clients of the reference know. A write is visible when it is
 * acknowledged, so that nothing is ever suspended or pending.
 */
#include "exec/source/list.h"

#include "base/access.h"
#include "exec/source/schema.h"

static const char *const part_names[] = {
    [ALM_PART_NONE] = "NONE", [ALM_PART_HOUR] = "HOUR",   [ALM_PART_DAY] = "DAY",
    [ALM_PART_WEEK] = "WEEK", [ALM_PART_MONTH] = "MONTH", [ALM_PART_YEAR] = "YEAR"};

const char *alm_schema_partition(const alm_table *table)
{
    return part_names[table->partition];
}

/* The largest unit that divides the time to live. */
void alm_schema_ttl(const alm_table *table, int64_t *value, const char **unit)
{
    static const struct {
        int64_t hours;
        const char *name;
    } units[] = {{7 * 24, "WEEK"}, {24, "DAY"}, {1, "HOUR"}};
    const int64_t ttl = table->ttl_hours;
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

/* Steps this server does not have (rewriting of partitions, replicas) have nothing to measure: null. */
#define SPREAD(X, ID, name, type)                                                                  \
    X(ID##_P50, name "_p50", type)                                                                 \
    X(ID##_P90, name "_p90", type)                                                                 \
    X(ID##_P99, name "_p99", type)                                                                 \
    X(ID##_MAX, name "_max", type)
#define TABLE_COLS(X)                                                                              \
    X(ID, "id", INT)                                                                               \
    X(NAME, "table_name", STRING)                                                                  \
    X(TIME, "designatedTimestamp", STRING)                                                         \
    X(PARTITION, "partitionBy", STRING)                                                            \
    X(WAL, "walEnabled", BOOLEAN)                                                                  \
    X(DEDUP, "dedup", BOOLEAN)                                                                     \
    X(TTL, "ttlValue", INT)                                                                        \
    X(TTL_UNIT, "ttlUnit", STRING)                                                                 \
    X(MATVIEW, "matView", BOOLEAN)                                                                 \
    X(FOLDER, "directoryName", STRING)                                                             \
    X(UNCOMMITTED, "maxUncommittedRows", INT)                                                      \
    X(LAG, "o3MaxLag", LONG)                                                                       \
    X(SUSPENDED, "table_suspended", BOOLEAN)                                                       \
    X(KIND, "table_type", CHAR)                                                                    \
    X(ROWS, "table_row_count", LONG)                                                               \
    X(MAX_TS, "table_max_timestamp", TIMESTAMP)                                                    \
    X(TXN, "table_txn", LONG)                                                                      \
    X(PRESSURE, "table_memory_pressure_level", INT)                                                \
    X(AMP_COUNT, "table_write_amp_count", LONG)                                                    \
    SPREAD(X, AMP, "table_write_amp", DOUBLE)                                                      \
    X(MERGE_COUNT, "table_merge_rate_count", LONG)                                                 \
    SPREAD(X, MERGE, "table_merge_rate", LONG)                                                     \
    X(PENDING, "wal_pending_row_count", LONG)                                                      \
    X(DEDUPED, "dedup_row_count_since_start", LONG)                                                \
    X(WAL_TXN, "wal_txn", LONG)                                                                    \
    X(WAL_MAX_TS, "wal_max_timestamp", TIMESTAMP)                                                  \
    X(TX_COUNT, "wal_tx_count", LONG)                                                              \
    SPREAD(X, TX_SIZE, "wal_tx_size", LONG)                                                        \
    X(BATCH_COUNT, "replica_batch_count", LONG)                                                    \
    SPREAD(X, BATCH, "replica_batch_size", LONG)                                                   \
    X(REPLICA_MORE, "replica_more_pending", BOOLEAN)                                               \
    X(MIN_TS, "table_min_timestamp", TIMESTAMP)

enum {
#define X(ID, name, type) T_##ID,
    TABLE_COLS(X)
#undef X
};

static const alm_plan_col table_cols[] = {
#define X(ID, name, type) {name, ALM_TY(type)},
    TABLE_COLS(X)
#undef X
};

/* Time of a table in microseconds, whatever its resolution. */
static int64_t table_time(const alm_table *table, const alm_visible *seen, int64_t ts)
{
    if (table->ts_col < 0 || seen->min_ts > seen->max_ts)
        return ALM_TS_NULL;
    return table->cols[table->ts_col].type.id == ALM_T_TIMESTAMP_NS ? ts / 1000 : ts;
}

static void tables_put_options(alm_list *list, const alm_table *table)
{
    const char *unit = NULL;
    int64_t ttl = 0;
    alm_schema_ttl(table, &ttl, &unit);
    alm_list_int(list, T_ID, (int64_t)table->id);
    alm_list_text(list, T_NAME, table->name);
    alm_list_text(list, T_TIME, table->ts_col < 0 ? NULL : table->cols[table->ts_col].name);
    alm_list_text(list, T_PARTITION,
                  table->kind == ALM_TABLE_VIEW ? "N/A" : alm_schema_partition(table));
    alm_list_bool(list, T_WAL, table->wal);
    alm_list_bool(list, T_DEDUP, table->dedup);
    alm_list_int(list, T_TTL, ttl);
    alm_list_text(list, T_TTL_UNIT, unit);
    alm_list_bool(list, T_MATVIEW, table->kind == ALM_TABLE_MATVIEW);
    alm_list_text(list, T_FOLDER, table->name);
    alm_list_int(list, T_UNCOMMITTED, table->max_uncommitted_rows);
    alm_list_int(list, T_LAG, table->o3_max_lag_us);
    alm_list_int(list, T_KIND, "TVM"[table->kind]);
}

/* Writes are visible at once: what waits to be applied is always nothing. */
static void put_state(alm_list *list, const alm_table *table)
{
    const alm_visible seen = alm_table_visible(table);
    alm_list_int(list, T_ROWS, seen.rows);
    alm_list_int(list, T_MIN_TS, table_time(table, &seen, seen.min_ts));
    alm_list_int(list, T_MAX_TS, table_time(table, &seen, seen.max_ts));
    alm_list_int(list, T_TXN, (int64_t)alm_table_lsn(table));
    alm_list_int(list, T_PRESSURE, 0);
    if (!table->wal)
        return;
    alm_list_int(list, T_PENDING, 0);
    alm_list_int(list, T_WAL_TXN, (int64_t)alm_table_lsn(table));
    alm_list_int(list, T_WAL_MAX_TS, table_time(table, &seen, seen.max_ts));
}

static alm_status fill_tables(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *table = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, table->name))
            continue;
        ALM_TRY(alm_list_row(cx, list));
        tables_put_options(list, table);
        if (table->kind != ALM_TABLE_VIEW)
            put_state(list, table);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(tables, "tables", false, table_cols, fill_tables,
                "One row per table, with its options and the number of its rows.",
                "select table_name from tables()");

static const alm_plan_col name_cols[] = {{"table_name", ALM_TY(STRING)}};

static alm_status fill_names(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        if (!alm_access_sees(cx, alm_snapshot_at(snap, i)->name))
            continue;
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, alm_snapshot_at(snap, i)->name);
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

static alm_status fill_wal(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *table = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, table->name))
            continue;
        if (!table->wal || table->kind == ALM_TABLE_VIEW)
            continue;
        const int64_t lsn = (int64_t)alm_table_lsn(table);
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, table->name);
        alm_list_int(list, 2, lsn);
        alm_list_int(list, 3, 0);
        alm_list_int(list, 4, lsn);
        alm_list_int(list, 7, 0);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    wal_tables, "wal_tables", false, wal_cols, fill_wal,
    "Tables declared WAL. Writes are visible at once: none is ever behind or suspended.",
    "select name, suspended from wal_tables()");

static const alm_plan_col wal_txn_cols[] = {
    {"sequencerTxn", ALM_TY(LONG)},
    {"timestamp", ALM_TY(TIMESTAMP)},
    {"walId", ALM_TY(INT)},
    {"segmentId", ALM_TY(INT)},
    {"segmentTxn", ALM_TY(INT)},
    {"structureVersion", ALM_TY(LONG)},
    {"minTimestamp", ALM_TY(TIMESTAMP)},
    {"maxTimestamp", ALM_TY(TIMESTAMP)},
    {"rowCount", ALM_TY(LONG)},
    {"alterCommandType", ALM_TY(INT)},
};

/* Records that are in parts are gone from the log: of the changes only the newest is known. */
static alm_status fill_wal_txn(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_table *table = args->table;
    if (!table->wal || table->kind == ALM_TABLE_VIEW)
        return alm_fail(cx, ALM_E_ARG, args->pos, "table is not a WAL table [table=%s]",
                        table->name);
    if (alm_table_lsn(table) == 0)
        return ALM_OK;
    ALM_TRY(alm_list_row(cx, list));
    alm_list_int(list, 0, (int64_t)alm_table_lsn(table));
    alm_list_int(list, 5, (int64_t)table->schema_version);
    return ALM_OK;
}

ALM_LIST_SOURCE(wal_transactions, "wal_transactions", true, wal_txn_cols, fill_wal_txn,
                "The newest change of a WAL table; older ones are not kept.",
                "select \"sequencerTxn\" from wal_transactions('trades')");

/* ---------------------------------------------------------------------------- table_storage */

static const alm_plan_col storage_cols[] = {
    {"tableName", ALM_TY(STRING)},   {"walEnabled", ALM_TY(BOOLEAN)},
    {"partitionBy", ALM_TY(STRING)}, {"partitionCount", ALM_TY(LONG)},
    {"rowCount", ALM_TY(LONG)},      {"diskSize", ALM_TY(LONG)},
};

static alm_status fill_storage(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *table = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, table->name))
            continue;
        alm_partition_info *part = NULL;
        size_t n_parts = 0;
        int64_t bytes = 0;
        ALM_TRY(alm_check(cx));
        if (table->kind == ALM_TABLE_VIEW)
            continue;
        ALM_TRY(alm_table_partitions(cx, cx->arena, snap, table, &part, &n_parts));
        for (size_t k = 0; k < n_parts; k++)
            bytes += part[k].disk_bytes;
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, table->name);
        alm_list_bool(list, 1, table->wal);
        alm_list_text(list, 2, alm_schema_partition(table));
        alm_list_int(list, 3, (int64_t)n_parts);
        alm_list_int(list, 4, alm_table_visible(table).rows);
        alm_list_int(list, 5, bytes);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(table_storage, "table_storage", false, storage_cols, fill_storage,
                "Partitions, rows and bytes on disk of each table.",
                "select \"tableName\", \"diskSize\" from table_storage()");
