/*
 * io.c - what is common to all tables of functions: whole-buffer transfer and errno to status.
 */
#include "io/io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum { CHUNK_BYTES_MAX = 1 << 30 }; /* Linux transfers at most 2 GiB - 4 KiB per call */

alm_status alm_io_fail(alm_ctx *cx, int negative_errno, const char *what)
{
    const int code = negative_errno < 0 ? -negative_errno : EIO;
    char text[128];
    const char *msg =
        strerror_r(code, text, sizeof text); /* the GNU form: text or a static string */
    alm_status status = ALM_E_IO;
    if (code == ENOSPC || code == EDQUOT)
        status = ALM_E_DISK_FULL;
    else if (code == EROFS)
        status = ALM_E_READONLY;
    return alm_fail(cx, status, -1, "%s: %s", what, msg);
}

alm_status alm_io_write_all(alm_ctx *cx, const alm_io *io, int handle, const void *buf, size_t n,
                            int64_t offset, const char *what)
{
    const char *ptr = buf;
    while (n > 0) {
        const size_t piece = ALM_MIN(n, (size_t)CHUNK_BYTES_MAX);
        const int64_t done = io->write(io, handle, ptr, piece, offset);
        if (done == -EINTR)
            continue;
        if (done < 0)
            return alm_io_fail(cx, (int)done, what);
        if (done == 0) /* no progress and no reason: do not spin */
            return alm_io_fail(cx, -EIO, what);
        ptr += done;
        n -= (size_t)done;
        offset += done;
    }
    return ALM_OK;
}

alm_status alm_io_read_all(alm_ctx *cx, const alm_io *io, int handle, void *buf, size_t n,
                           int64_t offset, const char *what)
{
    char *ptr = buf;
    while (n > 0) {
        const size_t piece = ALM_MIN(n, (size_t)CHUNK_BYTES_MAX);
        const int64_t done = io->read(io, handle, ptr, piece, offset);
        if (done == -EINTR)
            continue;
        if (done < 0)
            return alm_io_fail(cx, (int)done, what);
        if (done == 0)
            return alm_fail(cx, ALM_E_CORRUPT, -1,
                            "%s: the file ends at byte %lld, %zu more expected", what,
                            (long long)offset, n);
        ptr += done;
        n -= (size_t)done;
        offset += done;
    }
    return ALM_OK;
}

/* No bytes that were moved aside before are replaced; so there is a bound. */
static int io_set_aside(const alm_io *io, const char *path)
{
    enum { PATH_BYTES = 4096, ASIDE_MAX = 9 };
    char aside[PATH_BYTES];
    alm_io_stat meta;
    for (int i = 1; i <= ASIDE_MAX; i++) {
        const int n = i == 1 ? snprintf(aside, sizeof aside, "%s.damaged", path)
                             : snprintf(aside, sizeof aside, "%s.damaged.%d", path, i);
        if (n >= PATH_BYTES)
            return -ENAMETOOLONG;
        const int taken = io->stat(io, aside, &meta);
        if (taken >= 0 || taken == -ELOOP)
            continue;
        if (taken != -ENOENT)
            return taken;
        const int code = io->rename(io, path, aside);
        if (code >= 0)
            alm_log_warn("io", "'%s' is not a regular file, and is moved to '%s'", path, aside);
        return code;
    }
    alm_log_error("io", "'%s' is not a regular file, and cannot be moved: '%s' is there, too", path,
                  aside);
    return -EEXIST;
}

int alm_io_create(const alm_io *io, const char *path, uint32_t flags)
{
    const int handle = io->open(io, path, flags | ALM_IO_CREATE);
    /* A directory, a link, a pipe or a device, a link to nowhere. */
    const bool odd = handle == -EISDIR || handle == -ELOOP || handle == -ENXIO || handle == -ENOENT;
    if (!odd || io_set_aside(io, path) < 0)
        return handle;
    return io->open(io, path, flags | ALM_IO_CREATE);
}

int alm_io_rename_over(const alm_io *io, const char *from, const char *dest)
{
    const int code = io->rename(io, from, dest);
    if (code != -EISDIR || io_set_aside(io, dest) < 0)
        return code;
    return io->rename(io, from, dest);
}

int alm_io_remove(const alm_io *io, const char *path)
{
    const int code = io->unlink(io, path);
    return code == -EISDIR ? io_set_aside(io, path) : code;
}

int alm_io_make_dir(const alm_io *io, const char *path)
{
    const int code = io->mkdir(io, path);
    if (code != -ENOTDIR || io_set_aside(io, path) < 0)
        return code;
    return io->mkdir(io, path);
}

alm_status alm_io_replace(alm_ctx *cx, const alm_io *io, const char *dir, const char *name,
                          const void *buf, size_t n)
{
    enum { PATH_BYTES = 4096 };
    char path[PATH_BYTES], tmp[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    if (snprintf(tmp, sizeof tmp, "%s/%s.tmp", dir, name) >= PATH_BYTES)
        return alm_fail(cx, ALM_E_LIMIT, -1, "path '%.64s...' is too long", dir);
    const int handle = alm_io_create(io, tmp, ALM_IO_WRITE | ALM_IO_TRUNCATE);
    if (handle < 0)
        return alm_io_fail(cx, handle, tmp);
    alm_status status = alm_io_write_all(cx, io, handle, buf, n, 0, tmp);
    int code = status == ALM_OK ? io->sync(io, handle) : 0;
    const int closed = io->close(io, handle);
    if (code >= 0)
        code = closed;
    if (status == ALM_OK && code >= 0)
        code = alm_io_rename_over(io, tmp, path);
    if (status == ALM_OK && code >= 0)
        code = io->sync_dir(io, dir);
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, path);
    return status;
}

alm_status alm_io_read_text(alm_ctx *cx, const alm_io *io, const char *path, int64_t max,
                            alm_buf *out)
{
    alm_io_stat meta;
    int code = io->stat(io, path, &meta);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    if (meta.size_bytes > max)
        return alm_fail(cx, ALM_E_LIMIT, -1, "%s is larger than %lld bytes", path, (long long)max);
    const int file = io->open(io, path, ALM_IO_READ);
    if (file < 0)
        return alm_io_fail(cx, file, path);
    alm_status status = alm_buf_reserve(cx, out, (size_t)meta.size_bytes + 1);
    if (status == ALM_OK)
        status = alm_io_read_all(cx, io, file, out->ptr, (size_t)meta.size_bytes, 0, path);
    if (status == ALM_OK)
        out->len = (size_t)meta.size_bytes;
    (void)io->close(io, file);
    return status;
}

int alm_io_open_below(const alm_io *io, const char *folder, const char *path)
{
    const int dir = io->open_dir(io, folder);
    if (dir < 0)
        return dir;
    const int file = io->open_below(io, dir, path, ALM_IO_READ);
    (void)io->close(io, dir);
    return file;
}

const char *alm_io_path_below(const char *folder, const char *path)
{
    size_t len = strlen(folder);
    while (len > 1 && folder[len - 1] == '/')
        len--;
    if (len < 2 || path[0] != '/' || strncmp(path, folder, len) != 0 || path[len] != '/')
        return path;
    return path + len + 1;
}
