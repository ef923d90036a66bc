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

static alm_status fill_views(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        if (t->kind != ALM_TABLE_VIEW)
            continue;
        const bool valid = t->view->reason[0] == 0;
        ALM_TRY(alm_list_row(cx, l));
        alm_list_text(l, 0, t->name);
        alm_list_text(l, 1, alm_access_text(cx, t->name, t->view->sql));
        alm_list_text(l, 2, t->name);
        alm_list_text(l, 3, valid ? NULL : alm_access_text(cx, t->name, t->view->reason));
        alm_list_text(l, 4, valid ? "valid" : "invalid");
        alm_list_int(l, 5, t->view->status_us);
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

static void put_every(alm_list *l, uint32_t col, alm_every e)
{
    alm_list_int(l, col, e.count);
    alm_list_text(l, col + 1, e.count == 0 ? NULL : unit_name(e.unit));
}

static const alm_table *base_of(const alm_snapshot *snap, const alm_view_def *v)
{
    const alm_table *base = alm_snapshot_find(snap, alm_str_of(v->base));
    return base != NULL && base->id == v->base_id ? base : NULL;
}

static const char *refresh_name(const alm_view_def *v)
{
    static const char *const names[] = {[ALM_REFRESH_IMMEDIATE] = "immediate",
                                        [ALM_REFRESH_MANUAL] = "manual",
                                        [ALM_REFRESH_TIMER] = "timer"};
    return names[v->refresh];
}

/* A time of the base in microseconds. */
static int64_t base_time(const alm_table *t, int64_t ts)
{
    if (ts == INT64_MAX || ts == INT64_MIN)
        return ALM_TS_NULL;
    return t->ts_col >= 0 && t->cols[t->ts_col].type.id == ALM_T_TIMESTAMP_NS ? ts / 1000 : ts;
}

/* A view that was never refreshed is behind its base, whatever was touched since the view came. */
static uint64_t base_lsn(const alm_table *base, const alm_view_def *v)
{
    return v->lsn == 0 ? alm_table_lsn(base) : alm_table_touched_lsn(base, v->lsn);
}

static alm_status fill_matviews(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    for (size_t i = 0; i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, t->name))
            continue;
        if (t->kind != ALM_TABLE_MATVIEW)
            continue;
        const alm_view_def *v = t->view;
        const alm_table *base = base_of(snap, v);
        const char *reason = base == NULL        ? "base table is dropped or renamed"
                             : v->reason[0] != 0 ? alm_access_text(cx, t->name, v->reason)
                                                 : NULL;
        const bool valid = base != NULL && v->reason[0] == 0;
        ALM_TRY(alm_list_row(cx, l));
        alm_list_text(l, 0, t->name);
        alm_list_text(l, 1, refresh_name(v));
        alm_list_text(l, 2, alm_access_sees(cx, v->base) ? v->base : NULL);
        alm_list_int(l, 3, v->started_us);
        alm_list_int(l, 4, v->finished_us);
        alm_list_text(l, 5, alm_access_text(cx, t->name, v->sql));
        alm_list_text(l, 6, t->name);
        alm_list_text(l, 7, reason);
        alm_list_text(l, 8, valid ? "valid" : "invalid");
        alm_list_int(l, 9, base_time(base == NULL ? t : base, v->period_hi));
        alm_list_int(l, 10, (int64_t)v->lsn);
        alm_list_int(l, 11, base == NULL ? -1 : (int64_t)base_lsn(base, v));
        put_every(l, 12, v->limit);
        alm_list_text(l, 14, v->zone[0] == 0 ? NULL : v->zone);
        alm_list_int(l, 15, v->start_us);
        put_every(l, 16, v->every);
        put_every(l, 18, v->period);
        put_every(l, 20, v->delay);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    materialized_views, "materialized_views", false, matview_cols, fill_matviews,
    "One row per materialized view: how it is refreshed, how far it is, whether it is valid.",
    "select view_name, refresh_type, view_status from materialized_views()");

/* ---------------------------------------------------------------------------- show create */

static const alm_plan_col ddl_cols[] = {{"ddl", ALM_TY(VARCHAR)}};

static alm_status one_text(alm_ctx *cx, alm_list *l, const alm_buf *b)
{
    alm_str text;
    ALM_TRY(alm_arena_copy(cx, cx->arena, (alm_str){b->ptr, b->len}, &text));
    ALM_TRY(alm_list_row(cx, l));
    alm_list_str(l, 0, text);
    return ALM_OK;
}

alm_status alm_schema_put_view(alm_ctx *cx, alm_buf *b, const alm_table *t)
{
    return alm_buf_printf(cx, b, "CREATE VIEW '%s' AS ( \n%s\n);", t->name, t->view->sql);
}

static alm_status fill_show_view(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    const alm_table *t = args->table;
    alm_buf b;
    if (t->kind != ALM_TABLE_VIEW)
        return alm_fail(cx, ALM_E_ARG, -1, "view name expected, got table name");
    alm_buf_init(&b, cx->mem);
    alm_status st = alm_schema_put_view(cx, &b, t);
    if (st == ALM_OK)
        st = one_text(cx, l, &b);
    alm_buf_deinit(&b);
    return st;
}

ALM_LIST_SOURCE(show_create_view, "show_create_view", true, ddl_cols, fill_show_view,
                "The statement that would make a view; SHOW CREATE VIEW is this.",
                "select ddl from show_create_view('large_trades')");

static alm_status put_period(alm_ctx *cx, alm_buf *b, const alm_view_def *v)
{
    if (v->period.count == 0)
        return ALM_OK;
    ALM_TRY(alm_buf_printf(cx, b, " PERIOD (LENGTH %u%c", v->period.count, v->period.unit));
    if (v->zone[0] != 0)
        ALM_TRY(alm_buf_printf(cx, b, " TIME ZONE '%s'", v->zone));
    if (v->delay.count > 0)
        ALM_TRY(alm_buf_printf(cx, b, " DELAY %u%c", v->delay.count, v->delay.unit));
    return alm_buf_text(cx, b, ")");
}

static alm_status put_refresh(alm_ctx *cx, alm_buf *b, const alm_view_def *v)
{
    switch (v->refresh) {
    case ALM_REFRESH_IMMEDIATE:
        ALM_TRY(alm_buf_text(cx, b, " REFRESH IMMEDIATE"));
        break;
    case ALM_REFRESH_MANUAL:
        ALM_TRY(alm_buf_text(cx, b, " REFRESH MANUAL"));
        break;
    case ALM_REFRESH_TIMER:
        ALM_TRY(alm_buf_printf(cx, b, " REFRESH EVERY %u%c", v->every.count, v->every.unit));
        break;
    }
    if (v->deferred)
        ALM_TRY(alm_buf_text(cx, b, " DEFERRED"));
    if (v->refresh == ALM_REFRESH_TIMER && v->start_us != ALM_TS_NULL) {
        char start[ALM_TIME_TEXT_MAX];
        const size_t n = alm_time_format(v->start_us, ALM_TIME_US, ALM_TIME_ISO, start);
        ALM_TRY(alm_buf_printf(cx, b, " START '%.*s'", (int)n, start));
    }
    if (v->refresh == ALM_REFRESH_TIMER && v->zone[0] != 0 && v->period.count == 0)
        ALM_TRY(alm_buf_printf(cx, b, " TIME ZONE '%s'", v->zone));
    return put_period(cx, b, v);
}

alm_status alm_schema_put_matview(alm_ctx *cx, alm_buf *b, const alm_table *t)
{
    const alm_view_def *v = t->view;
    const char *unit = NULL;
    int64_t ttl = 0;
    ALM_TRY(
        alm_buf_printf(cx, b, "CREATE MATERIALIZED VIEW '%s' WITH BASE '%s'", t->name, v->base));
    ALM_TRY(put_refresh(cx, b, v));
    ALM_TRY(alm_buf_printf(cx, b, " AS (\n%s\n) PARTITION BY %s", v->sql, alm_schema_partition(t)));
    alm_schema_ttl(t, &ttl, &unit);
    if (ttl > 0)
        ALM_TRY(alm_buf_printf(cx, b, " TTL %lld %s%s", (long long)ttl, unit, ttl == 1 ? "" : "S"));
    return alm_buf_text(cx, b, ";");
}

static alm_status fill_show_matview(alm_ctx *cx, const alm_list_args *args, alm_list *l)
{
    alm_buf b;
    if (args->table->kind != ALM_TABLE_MATVIEW)
        return alm_fail(cx, ALM_E_ARG, -1, "materialized view name expected, got table name");
    alm_buf_init(&b, cx->mem);
    alm_status st = alm_schema_put_matview(cx, &b, args->table);
    if (st == ALM_OK)
        st = one_text(cx, l, &b);
    alm_buf_deinit(&b);
    return st;
}

ALM_LIST_SOURCE(
    show_create_matview, "show_create_materialized_view", true, ddl_cols, fill_show_matview,
    "The statement that would make a materialized view; SHOW CREATE MATERIALIZED VIEW is "
    "this.",
    "select ddl from show_create_materialized_view('trades_1h')");
