/* export_owner.c - see export_owner.h. */
#include "session/transfer/export_owner.h"

#include <errno.h>

#include "auth/token.h"
#include "codec/parquet/reader.h"
#include "storage/version/version.h"

#define FILE_KEY "almanac.exporter"

_Static_assert(sizeof(((alm_export_owner *)0)->mark) == ALM_TOKEN_HEX + 1, "a SHA-256 as text");

alm_status alm_export_owner_init(alm_ctx *cx, alm_export_owner *owner, const char *identity)
{
    owner->mark[0] = 0;
    return identity == NULL ? ALM_OK : alm_sha256_text(cx, alm_str_of(identity), owner->mark);
}

alm_status alm_export_mark_file(alm_ctx *cx, const alm_export_owner *owner, alm_pq_writer *writer)
{
    return owner->mark[0] == 0
               ? ALM_OK
               : alm_pq_put_key_value(cx, writer, ALM_STR(FILE_KEY), alm_str_of(owner->mark));
}

static bool is_mark(const alm_export_owner *owner, alm_str mark)
{
    return mark.ptr != NULL && alm_str_eq(mark, alm_str_of(owner->mark));
}

/* What is no Parquet file has no mark. */
static bool holds_mark(const alm_export_owner *owner, alm_str bytes)
{
    alm_ctx own = {.arena = owner->arena, .io = owner->io};
    const alm_pq_file *file = NULL;
    if (alm_pq_open(&own, owner->arena, "export", bytes, &file) != ALM_OK)
        return false;
    const alm_pq_file_meta *meta = alm_pq_meta(file);
    for (uint32_t i = 0; i < meta->n_key_value; i++)
        if (alm_str_eq(meta->key_value[i].key, ALM_STR(FILE_KEY)))
            return is_mark(owner, meta->key_value[i].value);
    return false;
}

static bool is_his_file(const alm_export_owner *owner, int handle)
{
    const int64_t n = owner->io->size(owner->io, handle);
    const void *bytes = NULL;
    if (n <= 0 || owner->io->map(owner->io, handle, (size_t)n, &bytes) < 0)
        return false;
    const bool his = holds_mark(owner, (alm_str){bytes, (size_t)n});
    (void)owner->io->unmap(owner->io, bytes, (size_t)n);
    return his;
}

/* A link, and what cannot be read, is not his. */
static alm_status export_owner_check_file(alm_ctx *cx, const alm_export_owner *owner,
                                          const char *path)
{
    const int handle =
        owner->io->open_below(owner->io, owner->root, path, ALM_IO_READ | ALM_IO_NO_LINKS);
    if (handle == -ENOENT || handle == -ENOTDIR)
        return ALM_OK;
    const bool his = handle >= 0 && is_his_file(owner, handle);
    if (handle >= 0)
        (void)owner->io->close(owner->io, handle);
    return his ? ALM_OK
               : alm_fail(cx, ALM_E_DENIED, -1,
                          "'%s' exists and is no export of yours: choose another name", path);
}

/* A folder without the file is anybody's. */
static bool is_anothers_folder(const alm_export_owner *owner, int folder)
{
    char text[ALM_TOKEN_HEX];
    const int handle = owner->io->open_below(owner->io, folder, ALM_EXPORT_FOLDER_FILE,
                                             ALM_IO_READ | ALM_IO_NO_LINKS);
    if (handle == -ENOENT)
        return false;
    const bool whole = handle >= 0 && owner->io->size(owner->io, handle) == ALM_TOKEN_HEX &&
                       owner->io->read(owner->io, handle, text, ALM_TOKEN_HEX, 0) == ALM_TOKEN_HEX;
    if (handle >= 0)
        (void)owner->io->close(owner->io, handle);
    return !whole || !is_mark(owner, (alm_str){text, ALM_TOKEN_HEX});
}

static alm_status check_folder(alm_ctx *cx, const alm_export_owner *owner, alm_str name)
{
    const char *path = NULL;
    ALM_TRY(alm_arena_zstr(cx, owner->arena, name, &path));
    const int folder = owner->io->open_dir_below(owner->io, owner->root, path, 0);
    const bool anothers = folder >= 0 && is_anothers_folder(owner, folder);
    if (folder >= 0)
        (void)owner->io->close(owner->io, folder);
    return anothers ? alm_fail(cx, ALM_E_DENIED, -1,
                               "the folder '%s' is of somebody else's exports: choose another name",
                               path)
                    : ALM_OK;
}

alm_status alm_export_may_place(alm_ctx *cx, const alm_export_owner *owner, const char *path)
{
    if (owner->any || owner->mark[0] == 0)
        return ALM_OK;
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    const char *const slash = strchr(path, '/');
    if (slash != NULL)
        ALM_TRY(check_folder(cx, owner, (alm_str){path, (size_t)(slash - path)}));
    return export_owner_check_file(cx, owner, path);
}

alm_status alm_export_mark_folder(alm_ctx *cx, const alm_export_owner *owner, int folder)
{
    if (owner->mark[0] == 0)
        return ALM_OK;
    const int handle =
        owner->io->open_below(owner->io, folder, ALM_EXPORT_FOLDER_FILE,
                              ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_EXCLUSIVE | ALM_IO_NO_LINKS);
    if (handle < 0)
        return alm_io_fail(cx, handle, ALM_EXPORT_FOLDER_FILE);
    alm_status status = alm_io_write_all(cx, owner->io, handle, owner->mark, ALM_TOKEN_HEX, 0,
                                         ALM_EXPORT_FOLDER_FILE);
    const int code = status == ALM_OK ? owner->io->sync(owner->io, handle) : 0;
    (void)owner->io->close(owner->io, handle);
    return code < 0 ? alm_io_fail(cx, code, ALM_EXPORT_FOLDER_FILE) : status;
}
