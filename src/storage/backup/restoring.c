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
    const int h = io->open(io, path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (h < 0)
        return alm_io_fail(cx, h, path);
    alm_status st = alm_io_write_all(cx, io, h, text, sizeof text - 1, 0, path);
    const int e = st == ALM_OK ? io->sync(io, h) : 0;
    (void)io->close(io, h);
    if (st == ALM_OK && e < 0)
        st = alm_io_fail(cx, e, path);
    if (st != ALM_OK)
        return st;
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
    int e = io->unlink(io, path);
    if (e < 0)
        return alm_io_fail(cx, e, path);
    e = io->sync_dir(io, root);
    return e < 0 ? alm_io_fail(cx, e, root) : ALM_OK;
}
