/*
 * view.c - views(), materialized_views(), and the statements that would make them again.
 */
#include "exec/source/list.h"

#include "base/access.h"
#include "exec/source/schema.h"
#include "time/timestamp.h"

/* "HOUR" of h */
static const char *unit_name(char unit)
{
    static const struct {
        char unit;
        const char *name;
    } rows[] = {{'s', "SECOND"}, {'m', "MINUTE"}, {'h', "HOUR"}, {'d', "DAY"},
                {'w', "WEEK"},   {'M', "MONTH"},  {'y', "YEAR"}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (rows[i].unit == unit)
            return rows[i].name;
    return NULL;
}

/* ------------------------------------------------------------------------------------ views */

static const alm_plan_col view_cols[] = {
    {"view_name", ALM_TY(STRING)},           {"view_sql", ALM_TY(STRING)},
    {"view_table_dir_name", ALM_TY(STRING)}, {"invalidation_reason", ALM_TY(STRING)},
    {"view_status", ALM_TY(STRING)},         {"view_status_update_time", ALM_TY(TIMESTAMP)},
};

static alm_status fill_views(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *table = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, table->name))
            continue;
        if (table->kind != ALM_TABLE_VIEW)
            continue;
        const bool valid = table->view->reason[0] == 0;
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, table->name);
        alm_list_text(list, 1, alm_access_text(cx, table->name, table->view->sql));
        alm_list_text(list, 2, table->name);
        alm_list_text(list, 3,
                      valid ? NULL : alm_access_text(cx, table->name, table->view->reason));
        alm_list_text(list, 4, valid ? "valid" : "invalid");
        alm_list_int(list, 5, table->view->status_us);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(views, "views", false, view_cols, fill_views,
                "One row per view: its query, and whether that still works.",
                "select view_name, view_status from views()");

/* ---------------------------------------------------------------------- materialized_views */

static const alm_plan_col matview_cols[] = {
    {"view_name", ALM_TY(STRING)},
    {"refresh_type", ALM_TY(STRING)},
    {"base_table_name", ALM_TY(STRING)},
    {"last_refresh_start_timestamp", ALM_TY(TIMESTAMP)},
    {"last_refresh_finish_timestamp", ALM_TY(TIMESTAMP)},
    {"view_sql", ALM_TY(STRING)},
    {"view_table_dir_name", ALM_TY(STRING)},
    {"invalidation_reason", ALM_TY(STRING)},
    {"view_status", ALM_TY(STRING)},
    {"refresh_period_hi", ALM_TY(TIMESTAMP)},
    {"refresh_base_table_txn", ALM_TY(LONG)},
    {"base_table_txn", ALM_TY(LONG)},
    {"refresh_limit", ALM_TY(INT)},
    {"refresh_limit_unit", ALM_TY(STRING)},
    {"timer_time_zone", ALM_TY(STRING)},
    {"timer_start", ALM_TY(TIMESTAMP)},
    {"timer_interval", ALM_TY(INT)},
    {"timer_interval_unit", ALM_TY(STRING)},
    {"period_length", ALM_TY(INT)},
    {"period_length_unit", ALM_TY(STRING)},
    {"period_delay", ALM_TY(INT)},
    {"period_delay_unit", ALM_TY(STRING)},
};

static void source_view_put_every(alm_list *list, uint32_t col, alm_every every)
{
    alm_list_int(list, col, every.count);
    alm_list_text(list, col + 1, every.count == 0 ? NULL : unit_name(every.unit));
}

static const alm_table *source_view_base_of(const alm_snapshot *snap, const alm_view_def *def)
{
    const alm_table *base = alm_snapshot_find(snap, alm_str_of(def->base));
    return base != NULL && base->id == def->base_id ? base : NULL;
}

static const char *refresh_name(const alm_view_def *def)
{
    static const char *const names[] = {[ALM_REFRESH_IMMEDIATE] = "immediate",
                                        [ALM_REFRESH_MANUAL] = "manual",
                                        [ALM_REFRESH_TIMER] = "timer"};
    return names[def->refresh];
}

/* A time of the base in microseconds. */
static int64_t base_time(const alm_table *table, int64_t ts)
{
    if (ts == INT64_MAX || ts == INT64_MIN)
        return ALM_TS_NULL;
    return table->ts_col >= 0 && table->cols[table->ts_col].type.id == ALM_T_TIMESTAMP_NS
               ? ts / 1000
               : ts;
}

/* A view that was never refreshed is behind its base, whatever was touched since the view came. */
static uint64_t base_lsn(const alm_table *base, const alm_view_def *def)
{
    return def->lsn == 0 ? alm_table_lsn(base) : alm_table_touched_lsn(base, def->lsn);
}

static alm_status fill_matviews(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *table = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, table->name))
            continue;
        if (table->kind != ALM_TABLE_MATVIEW)
            continue;
        const alm_view_def *def = table->view;
        const alm_table *base = source_view_base_of(snap, def);
        const char *reason = base == NULL          ? "base table is dropped or renamed"
                             : def->reason[0] != 0 ? alm_access_text(cx, table->name, def->reason)
                                                   : NULL;
        const bool valid = base != NULL && def->reason[0] == 0;
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, table->name);
        alm_list_text(list, 1, refresh_name(def));
        alm_list_text(list, 2, alm_access_sees(cx, def->base) ? def->base : NULL);
        alm_list_int(list, 3, def->started_us);
        alm_list_int(list, 4, def->finished_us);
        alm_list_text(list, 5, alm_access_text(cx, table->name, def->sql));
        alm_list_text(list, 6, table->name);
        alm_list_text(list, 7, reason);
        alm_list_text(list, 8, valid ? "valid" : "invalid");
        alm_list_int(list, 9, base_time(base == NULL ? table : base, def->period_hi));
        alm_list_int(list, 10, (int64_t)def->lsn);
        alm_list_int(list, 11, base == NULL ? -1 : (int64_t)base_lsn(base, def));
        source_view_put_every(list, 12, def->limit);
        alm_list_text(list, 14, def->zone[0] == 0 ? NULL : def->zone);
        alm_list_int(list, 15, def->start_us);
        source_view_put_every(list, 16, def->every);
        source_view_put_every(list, 18, def->period);
        source_view_put_every(list, 20, def->delay);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    materialized_views, "materialized_views", false, matview_cols, fill_matviews,
    "One row per materialized view: how it is refreshed, how far it is, whether it is valid.",
    "select view_name, refresh_type, view_status from materialized_views()");

/* ---------------------------------------------------------------------------- show create */

static const alm_plan_col ddl_cols[] = {{"ddl", ALM_TY(VARCHAR)}};

static alm_status one_text(alm_ctx *cx, alm_list *list, const alm_buf *buf)
{
    alm_str text;
    ALM_TRY(alm_arena_copy(cx, cx->arena, (alm_str){buf->ptr, buf->len}, &text));
    ALM_TRY(alm_list_row(cx, list));
    alm_list_str(list, 0, text);
    return ALM_OK;
}

alm_status alm_schema_put_view(alm_ctx *cx, alm_buf *buf, const alm_table *table)
{
    return alm_buf_printf(cx, buf, "CREATE VIEW '%s' AS ( \n%s\n);", table->name, table->view->sql);
}

static alm_status fill_show_view(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const alm_table *table = args->table;
    alm_buf buf;
    if (table->kind != ALM_TABLE_VIEW)
        return alm_fail(cx, ALM_E_ARG, -1, "view name expected, got table name");
    alm_buf_init(&buf, cx->mem);
    alm_status status = alm_schema_put_view(cx, &buf, table);
    if (status == ALM_OK)
        status = one_text(cx, list, &buf);
    alm_buf_deinit(&buf);
    return status;
}

ALM_LIST_SOURCE(show_create_view, "show_create_view", true, ddl_cols, fill_show_view,
                "The statement that would make a view; SHOW CREATE VIEW is this.",
                "select ddl from show_create_view('large_trades')");

static alm_status put_period(alm_ctx *cx, alm_buf *buf, const alm_view_def *def)
{
    if (def->period.count == 0)
        return ALM_OK;
    ALM_TRY(alm_buf_printf(cx, buf, " PERIOD (LENGTH %u%c", def->period.count, def->period.unit));
    if (def->zone[0] != 0)
        ALM_TRY(alm_buf_printf(cx, buf, " TIME ZONE '%s'", def->zone));
    if (def->delay.count > 0)
        ALM_TRY(alm_buf_printf(cx, buf, " DELAY %u%c", def->delay.count, def->delay.unit));
    return alm_buf_text(cx, buf, ")");
}

static alm_status put_refresh(alm_ctx *cx, alm_buf *buf, const alm_view_def *def)
{
    switch (def->refresh) {
    case ALM_REFRESH_IMMEDIATE:
        ALM_TRY(alm_buf_text(cx, buf, " REFRESH IMMEDIATE"));
        break;
    case ALM_REFRESH_MANUAL:
        ALM_TRY(alm_buf_text(cx, buf, " REFRESH MANUAL"));
        break;
    case ALM_REFRESH_TIMER:
        ALM_TRY(alm_buf_printf(cx, buf, " REFRESH EVERY %u%c", def->every.count, def->every.unit));
        break;
    }
    if (def->deferred)
        ALM_TRY(alm_buf_text(cx, buf, " DEFERRED"));
    if (def->refresh == ALM_REFRESH_TIMER && def->start_us != ALM_TS_NULL) {
        char start[ALM_TIME_TEXT_MAX];
        const size_t n = alm_time_format(def->start_us, ALM_TIME_US, ALM_TIME_ISO, start);
        ALM_TRY(alm_buf_printf(cx, buf, " START '%.*s'", (int)n, start));
    }
    if (def->refresh == ALM_REFRESH_TIMER && def->zone[0] != 0 && def->period.count == 0)
        ALM_TRY(alm_buf_printf(cx, buf, " TIME ZONE '%s'", def->zone));
    return put_period(cx, buf, def);
}

alm_status alm_schema_put_matview(alm_ctx *cx, alm_buf *buf, const alm_table *table)
{
    const alm_view_def *def = table->view;
    const char *unit = NULL;
    int64_t ttl = 0;
    ALM_TRY(alm_buf_printf(cx, buf, "CREATE MATERIALIZED VIEW '%s' WITH BASE '%s'", table->name,
                           def->base));
    ALM_TRY(put_refresh(cx, buf, def));
    ALM_TRY(alm_buf_printf(cx, buf, " AS (\n%s\n) PARTITION BY %s", def->sql,
                           alm_schema_partition(table)));
    alm_schema_ttl(table, &ttl, &unit);
    if (ttl > 0)
        ALM_TRY(
            alm_buf_printf(cx, buf, " TTL %lld %s%s", (long long)ttl, unit, ttl == 1 ? "" : "S"));
    return alm_buf_text(cx, buf, ";");
}

static alm_status fill_show_matview(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    alm_buf buf;
    if (args->table->kind != ALM_TABLE_MATVIEW)
        return alm_fail(cx, ALM_E_ARG, -1, "materialized view name expected, got table name");
    alm_buf_init(&buf, cx->mem);
    alm_status status = alm_schema_put_matview(cx, &buf, args->table);
    if (status == ALM_OK)
        status = one_text(cx, list, &buf);
    alm_buf_deinit(&buf);
    return status;
}

ALM_LIST_SOURCE(
    show_create_matview, "show_create_materialized_view", true, ddl_cols, fill_show_matview,
    "The statement that would make a materialized view; SHOW CREATE MATERIALIZED VIEW is "
    "this.",
    "select ddl from show_create_materialized_view('trades_1h')");
