/*
 * activity.c - what goes on now: query_activity(), memory_metrics(), pools, and the rows of
 * pg_stat_activity.
 */
#include "exec/source/catalog.h"

#include <stdlib.h>

/* The texts of one session, as exec.h lists them. */
enum {
    STATEMENT,
    PID,
    BEGIN_US,
    USER,
    PROTOCOL,
    STATE,
    TEXT,
    APPLICATION,
    CLIENT,
    CLIENT_PORT,
    SINCE_US,
    CELLS
};

static int64_t source_activity_number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static alm_status texts(alm_ctx *cx, const alm_run *run, const char *what, const char *const **cell,
                        size_t *rows)
{
    *rows = 0;
    return run->env.texts == NULL ? ALM_OK : run->env.texts(cx, what, cell, rows);
}

static const alm_plan_col activity_cols[] = {
    {"query_id", ALM_TY(LONG)},         {"worker_id", ALM_TY(LONG)},
    {"worker_pool", ALM_TY(STRING)},    {"username", ALM_TY(STRING)},
    {"query_start", ALM_TY(TIMESTAMP)}, {"state_change", ALM_TY(TIMESTAMP)},
    {"state", ALM_TY(STRING)},          {"is_wal", ALM_TY(BOOLEAN)},
    {"query", ALM_TY(STRING)},
};

static alm_status fill_activity(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(texts(cx, args->run, "activity", &cell, &rows));
    for (; rows > 0; rows--, cell += CELLS) {
        if (source_activity_number(cell[STATEMENT]) == 0)
            continue; /* idle */
        ALM_TRY(alm_list_row(cx, list));
        alm_list_int(list, 0, source_activity_number(cell[STATEMENT]));
        alm_list_int(list, 1, source_activity_number(cell[PID]));
        alm_list_text(list, 2, cell[PROTOCOL]);
        alm_list_text(list, 3, cell[USER]);
        alm_list_int(list, 4, source_activity_number(cell[BEGIN_US]));
        alm_list_int(list, 5, source_activity_number(cell[BEGIN_US]));
        alm_list_text(list, 6, cell[STATE]);
        alm_list_text(list, 8, cell[TEXT]);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(query_activity, "query_activity", false, activity_cols, fill_activity,
                "The statements that run now, this one too.",
                "select query_id, query_start, query from query_activity()");

static const alm_plan_col session_cols[] = {
    {"session_id", ALM_TY(STRING)},      {"username", ALM_TY(STRING)},
    {"interface", ALM_TY(STRING)},       {"login", ALM_TY(STRING)},
    {"service_account", ALM_TY(STRING)}, {"client_address", ALM_TY(STRING)},
    {"login_time", ALM_TY(TIMESTAMP)},   {"last_use", ALM_TY(TIMESTAMP)},
    {"end_time", ALM_TY(TIMESTAMP)},
};

static alm_status fill_sessions(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    enum { SESSION_CELLS = ALM_COUNT(session_cols) };
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(texts(cx, args->run, "sessions", &cell, &rows));
    for (; rows > 0; rows--, cell += SESSION_CELLS) {
        ALM_TRY(alm_list_row(cx, list));
        for (uint32_t i = 0; i < SESSION_CELLS; i++)
            if (session_cols[i].type.id == ALM_T_TIMESTAMP)
                alm_list_int(list, i,
                             cell[i] != NULL ? source_activity_number(cell[i]) : ALM_TS_NULL);
            else
                alm_list_text(list, i, cell[i]);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    session_activity, "session_activity", false, session_cols, fill_sessions,
    "Sessions that go on between statements: cookies of HTTP, connections of the "
    "PostgreSQL protocol and of lines. One's own; all with SQL ENGINE ADMIN. DROP SESSION "
    "session_id ends one.",
    "select session_id, username, login from session_activity()");

static const alm_plan_col memory_cols[] = {{"memory_tag", ALM_TY(STRING)}, {"bytes", ALM_TY(LONG)}};

static alm_status fill_memory(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(texts(cx, args->run, "memory", &cell, &rows));
    for (size_t i = 0; i < rows; i++) {
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, cell[2 * i]);
        if (cell[2 * i + 1] != NULL)
            alm_list_int(list, 1, source_activity_number(cell[2 * i + 1]));
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(memory_metrics, "memory_metrics", false, memory_cols, fill_memory,
                "Memory that queries hold, and what clients have sent that is not worked off "
                "(REQUESTS), with their limits. With access control, without SQL ENGINE ADMIN, the "
                "limits alone: "
                "what is held is null.",
                "select memory_tag, bytes from memory_metrics()");

static const alm_plan_col reader_cols[] = {{"table_name", ALM_TY(STRING)},
                                           {"owner_thread_id", ALM_TY(LONG)},
                                           {"last_access_timestamp", ALM_TY(TIMESTAMP)},
                                           {"current_txn", ALM_TY(LONG)}};

static alm_status fill_none(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    (void)cx;
    (void)args;
    (void)list;
    return ALM_OK;
}

ALM_LIST_SOURCE(reader_pool, "reader_pool", false, reader_cols, fill_none,
                "Always empty: queries share snapshots, no reader is kept open for a table.",
                "select table_name from reader_pool()");

static const alm_plan_col writer_cols[] = {{"table_name", ALM_TY(STRING)},
                                           {"owner_thread_id", ALM_TY(LONG)},
                                           {"last_access_timestamp", ALM_TY(TIMESTAMP)},
                                           {"ownership_reason", ALM_TY(STRING)}};

ALM_LIST_SOURCE(writer_pool, "writer_pool", false, writer_cols, fill_none,
                "Always empty: all tables are written through one log, no writer is kept open.",
                "select table_name from writer_pool()");

static const alm_plan_col export_cols[] = {
    {"export_id", ALM_TY(STRING)},   {"worker_id", ALM_TY(LONG)},
    {"username", ALM_TY(STRING)},    {"start_time", ALM_TY(TIMESTAMP)},
    {"phase", ALM_TY(STRING)},       {"request_source", ALM_TY(STRING)},
    {"export_path", ALM_TY(STRING)}, {"export_sql", ALM_TY(STRING)},
    {"message", ALM_TY(STRING)},
};

/* One thread for each export: the number of its row. */
static alm_status source_activity_fill_exports(alm_ctx *cx, const alm_list_args *args,
                                               alm_list *list)
{
    enum { X_ID, X_USER, X_BEGIN, X_PHASE, X_SOURCE, X_PATH, X_QUERY, X_MESSAGE, X_CELLS };
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(texts(cx, args->run, "exporting", &cell, &rows));
    for (size_t i = 0; i < rows; i++, cell += X_CELLS) {
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, cell[X_ID]);
        alm_list_int(list, 1, (int64_t)i);
        alm_list_text(list, 2, cell[X_USER]);
        alm_list_int(list, 3, source_activity_number(cell[X_BEGIN]));
        alm_list_text(list, 4, cell[X_PHASE]);
        alm_list_text(list, 5, cell[X_SOURCE]);
        alm_list_text(list, 6, cell[X_PATH]);
        alm_list_text(list, 7, cell[X_QUERY]);
        alm_list_text(list, 8, cell[X_MESSAGE]);
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    export_activity, "export_activity", false, export_cols, source_activity_fill_exports,
    "The exports by COPY TO a file that run now; query_activity() lists those over HTTP.",
    "select export_id from export_activity()");

static const alm_plan_col checkpoint_cols[] = {{"in_progress", ALM_TY(BOOLEAN)},
                                               {"started_at", ALM_TY(TIMESTAMP)}};

static alm_status fill_checkpoint(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(texts(cx, args->run, "checkpoint", &cell, &rows));
    ALM_TRY(alm_list_row(cx, list));
    alm_list_bool(list, 0, rows > 0);
    if (rows > 0)
        alm_list_int(list, 1, source_activity_number(cell[0]));
    return ALM_OK;
}

ALM_LIST_SOURCE(checkpoint_status, "checkpoint_status", false, checkpoint_cols, fill_checkpoint,
                "Is a CHECKPOINT CREATE waiting for its release, and since when?",
                "select in_progress from checkpoint_status()");

static const alm_plan_col backup_cols[] = {
    {"in_progress", ALM_TY(BOOLEAN)},     {"bytes_done", ALM_TY(LONG)},
    {"bytes_total", ALM_TY(LONG)},        {"archived_lsn", ALM_TY(LONG)},
    {"archive_failing", ALM_TY(BOOLEAN)},
};

static alm_status fill_backup(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(texts(cx, args->run, "backup", &cell, &rows));
    if (rows == 0)
        return ALM_OK;
    ALM_TRY(alm_list_row(cx, list));
    alm_list_bool(list, 0, source_activity_number(cell[0]) != 0);
    alm_list_int(list, 1, source_activity_number(cell[1]));
    alm_list_int(list, 2, source_activity_number(cell[2]));
    if (source_activity_number(cell[3]) > 0)
        alm_list_int(list, 3, source_activity_number(cell[3]));
    alm_list_bool(list, 4, source_activity_number(cell[4]) != 0);
    return ALM_OK;
}

ALM_LIST_SOURCE(
    backup_status, "backup_status", false, backup_cols, fill_backup,
    "How far the BACKUP is that runs, or ran last; up to which log number the log is in "
    "the archive, and whether archiving fails.",
    "select in_progress, bytes_done, bytes_total from backup_status()");

ALM_CAT_FILL(activity)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(texts(cx, cat->run, "activity", &cell, &rows));
    alm_cat_order(cat, "pid usename application_name client_addr client_port backend_start "
                       "query_start state_change state query backend_type query_id");
    for (; rows > 0; rows--, cell += CELLS) {
        const int64_t begin = source_activity_number(cell[BEGIN_US]);
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_int(cat, source_activity_number(cell[PID]));
        alm_cat_text(cat, cell[USER]);
        /* what does not say who it is at least tells how it came */
        alm_cat_text(cat, cell[APPLICATION][0] != 0 ? cell[APPLICATION] : cell[PROTOCOL]);
        alm_cat_text(cat, cell[CLIENT]);
        alm_cat_int(cat, cell[CLIENT_PORT] != NULL ? source_activity_number(cell[CLIENT_PORT])
                                                   : ALM_INT_NULL);
        alm_cat_int(cat, source_activity_number(cell[SINCE_US]));
        alm_cat_int(cat, begin > 0 ? begin : ALM_TS_NULL);
        alm_cat_int(cat, begin > 0 ? begin : ALM_TS_NULL);
        alm_cat_text(cat, cell[STATE]);
        alm_cat_text(cat, cell[TEXT]);
        alm_cat_text(cat, cell[CLIENT] != NULL ? "client backend" : "background worker");
        alm_cat_int(cat, source_activity_number(cell[STATEMENT]) > 0
                             ? source_activity_number(cell[STATEMENT])
                             : ALM_LONG_NULL);
    }
    return ALM_OK;
}
