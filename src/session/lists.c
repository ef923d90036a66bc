/*
 * lists.c - gives exec's table functions what they cannot see themselves: settings of the session, what runs, imports, keywords.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"
#include "session/tables.h"
#include "session/transfer/export.h"
#include "session/transfer/transfer.h"

static const char *const keywords[] = {
#define ALM_KEYWORD(id, text, flags) text,
#include "sql/text/keyword.def"
#undef ALM_KEYWORD
};

static alm_status settings_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    const size_t n_settings = alm_session_setting_count();
    const char **out = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 3 * n_settings, &out));
    for (size_t i = 0; i < n_settings; i++) {
        alm_session_setting_row row;
        alm_session_setting_at(cx->session, i, &row);
        out[3 * i] = row.name;
        out[3 * i + 1] = row.value;
        out[3 * i + 2] = row.doc;
    }
    *cells = out;
    *rows = n_settings;
    return ALM_OK;
}

static alm_status checkpoint_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    int64_t since_us = 0;
    const char **out = NULL;
    if (!alm_storage_hold_status(cx->session->db->storage, &since_us))
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &out));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &out[0], "%lld", (long long)since_us));
    *cells = out;
    *rows = 1;
    return ALM_OK;
}

static alm_status backup_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_backup_status status;
    const char **out = NULL;
    alm_storage_backup_status(cx->session->db->storage, &status);
    const int64_t values[] = {status.in_progress, status.bytes_done, status.bytes_total,
                              (int64_t)status.archived_lsn, status.archive_failing};
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_COUNT(values), &out));
    for (size_t i = 0; i < ALM_COUNT(values); i++)
        ALM_TRY(alm_arena_printf(cx, cx->arena, &out[i], "%lld", (long long)values[i]));
    *cells = out;
    *rows = 1;
    return ALM_OK;
}

alm_status alm_session_texts(alm_ctx *cx, const char *what, const char *const **cells, size_t *rows)
{
    *rows = 0;
    if (strcmp(what, "keywords") == 0) {
        *cells = keywords;
        *rows = ALM_COUNT(keywords);
    } else if (strcmp(what, "settings") == 0 && cx->session != NULL) {
        return settings_texts(cx, cells, rows);
    } else if (strcmp(what, "activity") == 0 && cx->session != NULL) {
        return alm_activity_texts(cx, cells, rows);
    } else if (strcmp(what, "sessions") == 0 && cx->session != NULL) {
        return alm_sessions_texts(cx, cells, rows);
    } else if (strcmp(what, "memory") == 0 && cx->session != NULL) {
        return alm_memory_texts(cx, cells, rows);
    } else if (strcmp(what, "checkpoint") == 0 && cx->session != NULL) {
        return checkpoint_texts(cx, cells, rows);
    } else if (strcmp(what, "backup") == 0 && cx->session != NULL) {
        return backup_texts(cx, cells, rows);
    } else if (strcmp(what, "imports") == 0 && cx->session != NULL) {
        return alm_copy_texts(cx, cells, rows);
    } else if (strcmp(what, "exports") == 0 && cx->session != NULL) {
        return alm_export_log_texts(cx, cells, rows);
    } else if (strcmp(what, "exporting") == 0 && cx->session != NULL) {
        return alm_export_texts(cx, cells, rows);
    } else if (strcmp(what, "exported") == 0 && cx->session != NULL) {
        return alm_files_texts(cx, ALM_FILES_EXPORTED, "", cells, rows);
    } else if (strcmp(what, "prepared") == 0 || strcmp(what, "cursors") == 0) {
        return cx->session != NULL && cx->session->list != NULL
                   ? cx->session->list(cx, cx->session->list_arg, what, cells, rows)
                   : ALM_OK;
    } else if (strncmp(what, "acl ", 4) == 0 && cx->session != NULL) {
        return alm_acl_texts(cx, what + 4, cells, rows);
    } else if (strncmp(what, "files", 5) == 0 && cx->session != NULL) {
        return alm_files_texts(cx, ALM_FILES_IMPORTED, what + 5, cells, rows);
    }
    return ALM_OK;
}
