/*
 * conf_file.c - the configuration on disk: ROOT/conf/server.conf, written with commented defaults on
 * the first start.
 */
#include <stdio.h>

#include "base/log.h"
#include "io/io.h"
#include "server/server.h"

enum { CONF_BYTES_MAX = 1 << 20, SECRET_BYTES_MAX = 4096, PATH_BYTES = 4096 };

static alm_status conf_file_make_dir(alm_ctx *cx, const alm_io *io, const char *path)
{
    const int code = io->mkdir(io, path);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    return ALM_OK;
}

static alm_status write_default(alm_ctx *cx, const alm_io *io, const char *path)
{
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status = alm_conf_write_default(cx, &text);
    if (status == ALM_OK) {
        const int file = io->open(io, path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_EXCLUSIVE);
        status = file < 0 ? alm_io_fail(cx, file, path)
                          : alm_io_write_all(cx, io, file, text.ptr, text.len, 0, path);
        if (file >= 0)
            (void)io->close(io, file);
    }
    alm_buf_deinit(&text);
    return status;
}

static void conf_file_warn(void *arg, const char *message)
{
    (void)arg;
    alm_log_warn("conf", "%s", message);
}

static alm_status read_secret(alm_ctx *cx, void *arg, const char *path, alm_buf *out)
{
    return alm_io_read_text(cx, arg, path, SECRET_BYTES_MAX, out);
}

static alm_status read_conf(alm_ctx *cx, const alm_io *io, const char *path, alm_conf *conf)
{
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status = alm_io_read_text(cx, io, path, CONF_BYTES_MAX, &text);
    if (status == ALM_OK)
        status = alm_conf_init(cx, conf);
    if (status == ALM_OK) {
        alm_io *arg = NULL;
        memcpy(&arg, &io, sizeof arg); /* as const */
        const alm_conf_input input = {.text = {text.ptr, text.len},
                                      .file = path,
                                      .env = alm_conf_getenv,
                                      .secret = read_secret,
                                      .secret_arg = arg,
                                      .warn = conf_file_warn};
        status = alm_conf_read(cx, conf, &input);
        if (status != ALM_OK)
            alm_conf_deinit(conf);
    }
    alm_buf_deinit(&text);
    return status;
}

alm_status alm_server_conf_again(alm_ctx *cx, const char *root, alm_conf *out)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/conf/server.conf", root);
    return read_conf(cx, alm_io_posix(), path, out);
}

alm_status alm_server_conf(alm_ctx *cx, const char *root, alm_conf *out)
{
    const alm_io *io = alm_io_posix();
    static const char *const folders[] = {"", "/conf", "/import"};
    char path[PATH_BYTES];
    if (strlen(root) + 32 > sizeof(path))
        return alm_fail(cx, ALM_E_ARG, -1, "the path of the data directory is too long");
    for (size_t i = 0; i < ALM_COUNT(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        ALM_TRY(conf_file_make_dir(cx, io, path));
    }
    (void)snprintf(path, sizeof(path), "%s/conf/server.conf", root);
    alm_io_stat meta;
    if (io->stat(io, path, &meta) < 0)
        ALM_TRY(write_default(cx, io, path));
    return read_conf(cx, io, path, out);
}
