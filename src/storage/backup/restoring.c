/*
 * restoring.c - ROOT/restoring: the marker of a data directory whose restore has not ended. It is written before the
 * first file and removed after the last one, each synced; while it is there, nothing opens the directory.
 */
#include <stdio.h>

#include "storage/backup/backup.h"

static void marker_path(const char *root, char *path)
{
    (void)snprintf(path, ALM_PATH_MAX, "%.*s/restoring", ALM_PATH_MAX - 256, root);
}

alm_status alm_restore_refuse(alm_ctx *cx, const alm_io *io, const char *root)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    marker_path(root, path);
    if (io->stat(io, path, &meta) < 0)
        return ALM_OK;
    return alm_fail(
        cx, ALM_E_CORRUPT, -1,
        "'%s' is not complete: a restore of it was refused or cut off; remove the directory and "
        "restore again",
        root);
}

alm_status alm_restoring_begin(alm_ctx *cx, const alm_io *io, const char *root)
{
    static const char text[] = "almanac restore 1\n";
    char path[ALM_PATH_MAX];
    marker_path(root, path);
    const int handle = io->open(io, path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    alm_status status = alm_io_write_all(cx, io, handle, text, sizeof text - 1, 0, path);
    const int code = status == ALM_OK ? io->sync(io, handle) : 0;
    (void)io->close(io, handle);
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, path);
    if (status != ALM_OK)
        return status;
    const int synced = io->sync_dir(io, root);
    return synced < 0 ? alm_io_fail(cx, synced, root) : ALM_OK;
}

void alm_restoring_cancel(const alm_io *io, const char *root)
{
    char path[ALM_PATH_MAX];
    marker_path(root, path);
    (void)io->unlink(io, path);
}

alm_status alm_restoring_end(alm_ctx *cx, const alm_io *io, const char *root)
{
    char path[ALM_PATH_MAX];
    marker_path(root, path);
    int code = io->unlink(io, path);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    code = io->sync_dir(io, root);
    return code < 0 ? alm_io_fail(cx, code, root) : ALM_OK;
}
