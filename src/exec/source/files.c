/*
 * files.c - files that clients may read by name: files(), import_files(), export_files().
 *
 * Only the session knows the folder of imports; it gives name, bytes and time of each file below it.
 */
#include "exec/source/list.h"

#include "base/access.h"

#include <stdlib.h>

static const alm_plan_col file_cols[] = {{"path", ALM_TY(VARCHAR)},
                                         {"diskSize", ALM_TY(LONG)},
                                         {"diskSizeHuman", ALM_TY(STRING)},
                                         {"modifiedTime", ALM_TY(DATE)}};
enum { PATH, BYTES, CHANGED_US, CELLS };

/* `what` is "files" and the folder behind it. */
static alm_status source_files_fill(alm_ctx *cx, const alm_run *run, const char *what,
                                    alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(alm_access_may(cx, "READ FILE", NULL, -1));
    if (run->env.texts == NULL)
        return ALM_OK;
    ALM_TRY(run->env.texts(cx, what, &cell, &rows));
    for (; rows > 0; rows--, cell += CELLS) {
        const int64_t changed_us = strtoll(cell[CHANGED_US], NULL, 10);
        const int64_t bytes = strtoll(cell[BYTES], NULL, 10);
        const char *human = NULL;
        ALM_TRY(alm_list_row(cx, list));
        ALM_TRY(alm_list_bytes(cx, bytes, &human));
        alm_list_text(list, 0, cell[PATH]);
        alm_list_int(list, 1, bytes);
        alm_list_text(list, 2, human);
        alm_list_int(list, 3, changed_us == 0 ? ALM_LONG_NULL : changed_us / 1000);
    }
    return ALM_OK;
}

static alm_status fill_import(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    return source_files_fill(cx, args->run, "files", list);
}

ALM_LIST_SOURCE(import_files, "import_files", false, file_cols, fill_import,
                "The files below the folder of imports (cairo.sql.copy.root).",
                "select path, \"diskSize\" from import_files()");

static alm_status fill_export(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    return source_files_fill(cx, args->run, "exported", list);
}

ALM_LIST_SOURCE(export_files, "export_files", false, file_cols, fill_export,
                "The files that COPY TO has written (cairo.sql.copy.export.root).",
                "select path, \"diskSize\" from export_files()");

/* ------------------------------------------------------------------------------------ files */

static alm_status files_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)
{
    static const alm_list_kind kind = {"files", false, file_cols, ALM_COUNT(file_cols)};
    ALM_TRY(alm_list_bind(cx, &kind, &(alm_source_call){.pos = call->pos}, out));
    alm_str folder = {0};
    const char *what = NULL;
    char one[4] = {0};
    if (call->n_args != 1 || !alm_list_text_arg(call->args[0], one, &folder))
        return alm_fail(cx, ALM_E_ARG, call->n_args > 0 ? call->args[0]->pos : call->pos,
                        "files takes the name of a folder, as a constant");
    ALM_TRY(alm_arena_printf(cx, cx->arena, &what, "files%.*s", (int)folder.len,
                             folder.ptr == NULL ? "" : folder.ptr));
    if (strstr(what, "..") != NULL || what[5] == '/')
        return alm_fail(cx, ALM_E_ARG, call->args[0]->pos,
                        "a folder below that of imports expected, got '%s'", what + 5);
    out->data = (void *)(uintptr_t)what;
    return ALM_OK;
}

static alm_status files_open(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)
{
    alm_list *list = NULL;
    ALM_TRY(alm_list_new(cx, file_cols, ALM_COUNT(file_cols), &list));
    ALM_TRY(source_files_fill(cx, run, plan->source.data, list));
    *state = list;
    return ALM_OK;
}

const alm_source alm_source_files = {.name = "files",
                                     .signature = "(folder STRING)",
                                     .doc = "The files below a folder, which is below that of "
                                            "imports (cairo.sql.copy.root).",
                                     .example = "select path from files('2026')",
                                     .bind = files_bind,
                                     .open = files_open,
                                     .next = alm_list_next,
                                     .count = alm_list_count,
                                     .skip = alm_list_skip};
