/*
 * backup.c - CHECKPOINT: the files of the database held still for a copy. BACKUP: a copy that
 * the server makes, below the folder of the configuration and nowhere else.
 */
#include <errno.h>

#include "session/access/access.h"
#include "session/statement/statement.h"

alm_status alm_run_checkpoint(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                              uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &cursor->cx;
    alm_storage *storage = cursor->session->db->storage;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->text, &cursor->tag));
    ALM_TRY(alm_outside_block(cursor, stmt));
    ALM_TRY(alm_access_may(cx, alm_stmt_permission(stmt), NULL, stmt->pos));
    if (alm_str_eq(stmt->what, ALM_STR("create")))
        return alm_storage_hold(cx, storage);
    return alm_storage_hold_release(cx, storage);
}

static bool has_dots(const char *path)
{
    for (const char *ptr = path; (ptr = strstr(ptr, "..")) != NULL; ptr += 2)
        if ((ptr == path || ptr[-1] == '/') && (ptr[2] == 0 || ptr[2] == '/'))
            return true;
    return false;
}

/* A path below the folder of backups: relative to it, or with all of it at its beginning. */
static alm_status below_root(alm_ctx *cx, const alm_stmt *stmt, const char *root, const char **out)
{
    const alm_str to = stmt->range_to;
    const char *path = NULL;
    if (to.len == 0) {
        *out = root;
        return ALM_OK;
    }
    if (memchr(to.ptr, 0, to.len) != NULL)
        return alm_fail(cx, ALM_E_ARG, stmt->range_to_pos, "directory has a zero byte");
    const bool absolute = to.ptr[0] == '/';
    ALM_TRY(alm_arena_printf(cx, cx->arena, &path, "%s%s%.*s", absolute ? "" : root,
                             absolute ? "" : "/", (int)to.len, to.ptr));
    const size_t len = strlen(root);
    if (has_dots(path) || strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != 0))
        return alm_fail(cx, ALM_E_DENIED, stmt->range_to_pos,
                        "directory is not below that of 'cairo.sql.backup.root' [dir=%.*s]",
                        (int)ALM_MIN(to.len, 200), to.ptr);
    *out = path;
    return ALM_OK;
}

static alm_status folder(alm_cursor *cursor, const alm_stmt *stmt, const char **out)
{
    alm_ctx *cx = &cursor->cx;
    const alm_db *db = cursor->session->db;
    const char *key = db->conf != NULL ? db->conf->cairo_sql_backup_root : "";
    if (key[0] == 0)
        return alm_fail(cx, ALM_E_DENIED, stmt->what_pos,
                        "Backup is disabled, no backup root directory is configured in the server "
                        "configuration ['cairo.sql.backup.root' property]");
    ALM_TRY(alm_arena_printf(cx, cx->arena, out, "%s%s%s", key[0] == '/' ? "" : db->root,
                             key[0] == '/' ? "" : "/", key));
    const int code = cx->io->mkdir(cx->io, *out);
    return code < 0 ? alm_io_fail(cx, code, *out) : ALM_OK;
}

/* Names that a backup into the folder itself gives its own files. */
static bool is_of_backups(alm_str name)
{
    static const char *const fixed[] = {"files", "lock", "owner"};
    static const char *const ends[] = {".manifest", ".tmp"};
    bool is = false;
    for (size_t i = 0; i < ALM_COUNT(fixed); i++)
        is |= alm_str_ieq(name, alm_str_of(fixed[i]));
    for (size_t i = 0; i < ALM_COUNT(ends); i++) {
        const alm_str end = alm_str_of(ends[i]);
        is |= name.len >= end.len &&
              alm_str_ieq((alm_str){name.ptr + name.len - end.len, end.len}, end);
    }
    return is;
}

/* Who may not back up the database makes a directory of his own for each backup, directly below the folder: in one that is there, his
 * would be taken for the newest of others' backups. */
static alm_status make_apart(alm_cursor *cursor, const alm_stmt *stmt, const char *root)
{
    alm_ctx *cx = &cursor->cx;
    const alm_str to = stmt->range_to;
    const char *name = NULL;
    if (to.len == 0 || memchr(to.ptr, '/', to.len) != NULL || to.ptr[0] == '.' || is_of_backups(to))
        return alm_fail(
            cx, ALM_E_DENIED, to.len > 0 ? stmt->range_to_pos : stmt->pos,
            "without BACKUP DATABASE, a backup needs TO and the name of a new directory");
    ALM_TRY(alm_arena_zstr(cx, cx->arena, to, &name));
    const int dir = cx->io->open_dir(cx->io, root);
    if (dir < 0)
        return alm_io_fail(cx, dir, root);
    const int made = cx->io->mkdir_in(cx->io, dir, name);
    (void)cx->io->close(cx->io, dir);
    if (made == -EEXIST)
        return alm_fail(cx, ALM_E_DENIED, stmt->range_to_pos,
                        "without BACKUP DATABASE, a backup needs a new directory [dir=%s]", name);
    return made < 0 ? alm_io_fail(cx, made, root) : ALM_OK;
}

static alm_status statement_backup_check_table(alm_cursor *cursor, const alm_stmt *stmt,
                                               alm_str name, int32_t pos)
{
    ALM_TRY(alm_access_name(&cursor->cx, alm_stmt_permission(stmt), name, pos));
    const alm_table *table = alm_snapshot_find(cursor->snapshot, name);
    if (table != NULL)
        return alm_access_may(&cursor->cx, alm_stmt_permission(stmt), table->name, pos);
    return alm_no_table(&cursor->cx, cursor->snapshot, name, pos);
}

static alm_status take_tables(alm_cursor *cursor, const alm_stmt *stmt, alm_backup_spec *spec)
{
    alm_str *names = NULL;
    if (stmt->all_tables)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(&cursor->cx, cursor->cx.arena, stmt->n_more + 1, &names));
    names[0] = stmt->table;
    ALM_TRY(statement_backup_check_table(cursor, stmt, stmt->table, stmt->table_pos));
    for (uint32_t i = 0; i < stmt->n_more; i++) {
        names[i + 1] = stmt->more_tables[i];
        ALM_TRY(
            statement_backup_check_table(cursor, stmt, stmt->more_tables[i], stmt->more_pos[i]));
    }
    spec->tables = names;
    spec->n_tables = stmt->n_more + 1;
    return ALM_OK;
}

alm_status alm_run_backup(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &cursor->cx;
    alm_backup_spec spec = {0};
    alm_backup_result result;
    const char *root = NULL;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->text, &cursor->tag));
    ALM_TRY(alm_outside_block(cursor, stmt));
    if (stmt->all_tables)
        ALM_TRY(alm_access_may(cx, "BACKUP DATABASE", NULL, stmt->pos));
    ALM_TRY(folder(cursor, stmt, &root));
    ALM_TRY(below_root(cx, stmt, root, &spec.dir));
    ALM_TRY(take_tables(cursor, stmt, &spec));
    if (!stmt->all_tables && !alm_access_has(cx, "BACKUP DATABASE"))
        ALM_TRY(make_apart(cursor, stmt, root));
    alm_audit_backup(cursor, spec.tables, spec.n_tables);
    spec.trusts_stored = cx->conf != NULL && !cx->conf->storage_backup_verify;
    cx->deadline_ns = cx->snapshot_until_ns = 0; /* as long as it takes; it can be cancelled */
    return alm_storage_backup(cx, cursor->session->db->storage, &spec, &result);
}
