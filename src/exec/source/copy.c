/* copy.c - sys.text_import_log and sys.copy_export_log: imports by COPY FROM a file and exports by COPY TO one, as the
 * session tells them. */
#include "exec/source/list.h"

#include <stdlib.h>

enum { TS, FIRST_COUNT = 7, CELLS = 10 };

static const alm_plan_col cols[] = {
    {"ts", ALM_TY(TIMESTAMP)},   {"id", ALM_TY(STRING)},         {"table_name", ALM_TY(STRING)},
    {"file", ALM_TY(STRING)},    {"phase", ALM_TY(STRING)},      {"status", ALM_TY(STRING)},
    {"message", ALM_TY(STRING)}, {"rows_handled", ALM_TY(LONG)}, {"rows_imported", ALM_TY(LONG)},
    {"errors", ALM_TY(LONG)},
};

static alm_status source_copy_fill(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    if (args->run->env.texts == NULL)
        return ALM_OK;
    ALM_TRY(args->run->env.texts(cx, "imports", &cell, &rows));
    for (; rows > 0; rows--, cell += CELLS) {
        ALM_TRY(alm_list_row(cx, list));
        for (uint32_t i = 0; i < CELLS; i++) {
            const bool count = i == TS || i >= FIRST_COUNT;
            if (count && cell[i] != NULL)
                alm_list_int(list, i, strtoll(cell[i], NULL, 10));
            else if (!count)
                alm_list_text(list, i, cell[i]);
        }
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    text_import_log, "text_import_log", false, cols, source_copy_fill,
    "The newest 1,000 imports by COPY FROM a file: when they began and ended, rows and faults.",
    "select id, status, rows_imported from sys.text_import_log");

static const alm_plan_col export_cols[] = {
    {"ts", ALM_TY(TIMESTAMP)},
    {"id", ALM_TY(STRING)},
    {"table_name", ALM_TY(STRING)},
    {"export_path", ALM_TY(STRING)},
    {"num_exported_files", ALM_TY(LONG)},
    {"phase", ALM_TY(STRING)},
    {"status", ALM_TY(STRING)},
    {"message", ALM_TY(STRING)},
    {"rows_exported", ALM_TY(LONG)},
};

static alm_status source_copy_fill_exports(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    if (args->run->env.texts == NULL)
        return ALM_OK;
    ALM_TRY(args->run->env.texts(cx, "exports", &cell, &rows));
    for (; rows > 0; rows--, cell += ALM_COUNT(export_cols)) {
        ALM_TRY(alm_list_row(cx, list));
        for (uint32_t i = 0; i < ALM_COUNT(export_cols); i++) {
            if (export_cols[i].type.id == ALM_T_STRING)
                alm_list_text(list, i, cell[i]);
            else if (cell[i] != NULL)
                alm_list_int(list, i, strtoll(cell[i], NULL, 10));
        }
    }
    return ALM_OK;
}

ALM_LIST_SOURCE(
    copy_export_log, "copy_export_log", false, export_cols, source_copy_fill_exports,
    "The newest 1,000 exports by COPY TO a file: when they began and ended, files and rows.",
    "select id, status, export_path from sys.copy_export_log");
