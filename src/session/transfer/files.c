/*
 * files.c - the files below the folder of imports or exports, for files(), import_files() and export_files().
 *
 * Links       Neither listed nor followed: a link tells nothing of what it stands for.
 * Errors      A folder that is not there, or that goes while it is read, has no files.
 * Limits      FILES_MAX files, FOLDERS_DEEP folders one in the other; what is beyond is left out.
 */
#include <stdio.h>
#include <string.h>

#include "base/conf.h"
#include "session/core/session_state.h"
#include "session/statement/statement.h"
#include "session/transfer/export_owner.h"
#include "session/transfer/transfer.h"

enum { FILES_MAX = 100000, FOLDERS_DEEP = 8, CELLS = 3 };

typedef struct walk {
    alm_ctx *cx;
    const alm_io *io;
    int root, dir;      /* handles: of imports or exports, of the folder that is listed */
    const char *folder; /* its path: "" or "a/b/" */
    const char **cell;
    size_t n, cap;
    const char **folders; /* still to be listed */
    size_t n_folders, cap_folders;
    alm_status st;
} walk;

static alm_status transfer_files_grow(alm_ctx *cx, const char ***array, size_t n, size_t *cap,
                                      size_t more)
{
    if (n + more <= *cap)
        return ALM_OK;
    const char **wider = NULL;
    const size_t room = ALM_MAX(2 * *cap, (size_t)96);
    ALM_TRY(ALM_NEWN(cx, cx->arena, room, &wider));
    if (n > 0)
        memcpy(wider, *array, n * sizeof *wider);
    *array = wider;
    *cap = room;
    return ALM_OK;
}

static size_t depth(const char *folder)
{
    size_t count = 0;
    for (; *folder != 0; folder++)
        count += *folder == '/';
    return count;
}

static alm_status transfer_files_take(walk *self, const char *name)
{
    alm_ctx *cx = self->cx;
    alm_io_stat meta = {0};
    const char *path = NULL;
    if (self->folder[0] == 0 && strcmp(name, ".unfinished") == 0)
        return ALM_OK; /* exports that are written still */
    if (strcmp(name, ALM_EXPORT_FOLDER_FILE) == 0)
        return ALM_OK; /* no file of rows */
    ALM_TRY(alm_arena_printf(cx, cx->arena, &path, "%s%s", self->folder, name));
    if (self->io->stat_in(self->io, self->dir, name, &meta) < 0 || (!meta.is_dir && !meta.is_file))
        return ALM_OK;
    if (meta.is_dir) {
        if (depth(path) + 1 >= FOLDERS_DEEP)
            return ALM_OK;
        ALM_TRY(transfer_files_grow(cx, &self->folders, self->n_folders, &self->cap_folders, 1));
        return alm_arena_printf(cx, cx->arena, &self->folders[self->n_folders++], "%s/", path);
    }
    ALM_TRY(transfer_files_grow(cx, &self->cell, self->n, &self->cap, CELLS));
    const char **cell = &self->cell[self->n];
    self->n += CELLS;
    cell[0] = path;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[1], "%lld", (long long)meta.size_bytes));
    return alm_arena_printf(cx, cx->arena, &cell[2], "%lld", (long long)meta.changed_us);
}

static int transfer_files_each(void *arg, const char *name)
{
    walk *self = arg;
    if (self->n / CELLS >= FILES_MAX)
        return 1;
    self->st = transfer_files_take(self, name);
    return self->st != ALM_OK;
}

static alm_status transfer_files_list(walk *self)
{
    while (self->n_folders > 0 && self->st == ALM_OK) {
        ALM_TRY(alm_check(self->cx));
        self->folder = self->folders[--self->n_folders];
        self->dir = self->io->open_dir_below(self->io, self->root, self->folder, ALM_IO_NO_LINKS);
        if (self->dir < 0)
            continue;
        (void)self->io->list_in(self->io, self->dir, transfer_files_each, self);
        (void)self->io->close(self->io, self->dir);
    }
    return self->st;
}

static const char *transfer_files_root_of(const alm_db *db, alm_files_of of)
{
    if (db->conf == NULL)
        return "";
    return of == ALM_FILES_IMPORTED ? db->conf->cairo_sql_copy_root
                                    : db->conf->cairo_sql_copy_export_root;
}

alm_status alm_files_texts(alm_ctx *cx, alm_files_of of, const char *folder,
                           const char *const **cells, size_t *rows)
{
    const alm_db *db = cx->session->db;
    const char *const root = transfer_files_root_of(db, of);
    walk self = {.cx = cx, .io = db->io};
    const char *place = NULL;
    *rows = 0;
    if (root[0] == 0)
        return ALM_OK;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &place, "%s%s%s", root[0] == '/' ? "" : db->root,
                             root[0] == '/' ? "" : "/", root));
    ALM_TRY(transfer_files_grow(cx, &self.folders, 0, &self.cap_folders, 1));
    const size_t len = strlen(folder);
    const char *const slash = len > 0 && folder[len - 1] != '/' ? "/" : "";
    ALM_TRY(
        alm_arena_printf(cx, cx->arena, &self.folders[self.n_folders++], "%s%s", folder, slash));
    self.root = db->io->open_dir(db->io, place);
    if (self.root < 0)
        return ALM_OK;
    const alm_status status = transfer_files_list(&self);
    (void)db->io->close(db->io, self.root);
    ALM_TRY(status);
    *cells = self.cell;
    *rows = self.n / CELLS;
    return ALM_OK;
}
