/*
 * ep_public.c - files below http.static.public.directory, at paths that nothing else has. Read as a whole on a query
 * thread, and sent as asset.h says; the ETag is of their content.
 *
 * Safety      What leads out of the folder (.., links) is not found, nor what is hidden (.name).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/hash.h"
#include "net/http/asset.h"
#include "net/http/query_run.h"
#include "net/shared.h"

typedef struct public_run {
    alm_http *h;
    const char *dir;
    int64_t bytes_max;
    alm_buf bytes;
    bool found, too_long;
    char etag[40];
} public_run;

/* A segment that begins with a dot: hidden, or a way up. */
static bool is_hidden(alm_str path)
{
    for (size_t i = 0; i + 1 < path.len; i++)
        if (path.ptr[i] == '/' && path.ptr[i + 1] == '.')
            return true;
    return false;
}

static void read_file(public_run *run, const alm_io *io, int file)
{
    enum { STEP = 256 << 10 };
    alm_ctx cx = {0};
    int64_t n = 1;
    while (n > 0 && !run->too_long) {
        if (alm_buf_reserve(&cx, &run->bytes, STEP) != ALM_OK)
            return;
        n = io->read(io, file, run->bytes.ptr + run->bytes.len, STEP, (int64_t)run->bytes.len);
        run->bytes.len += (size_t)ALM_MAX(n, (int64_t)0);
        run->too_long = (int64_t)run->bytes.len > run->bytes_max;
    }
    run->found = n == 0;
}

static void work(void *arg)
{
    public_run *run = arg;
    const alm_io *io = alm_io_posix();
    const int file = alm_io_open_below(io, run->dir, run->h->req.path.ptr + 1);
    if (file < 0)
        return;
    read_file(run, io, file);
    (void)io->close(io, file);
    (void)snprintf(run->etag, sizeof(run->etag), "%016llx-%zx",
                   (unsigned long long)alm_hash_bytes(run->bytes.ptr, run->bytes.len),
                   run->bytes.len);
}

static void work_done(alm_conn *conn, void *arg)
{
    public_run *run = arg;
    alm_http *h = run->h;
    (void)conn;
    const alm_asset asset = {.path = h->req.path.ptr,
                             .etag = run->etag,
                             .foreign = true,
                             .forms = {{run->bytes.ptr, run->bytes.len}}};
    if (run->too_long)
        alm_http_reply_text(h, 503, "The file is longer than http.static.file.bytes.max");
    else if (run->found)
        alm_asset_reply(h, &asset);
    else
        alm_http_reply_text(h, 404, "Not Found");
    alm_http_finished(h);
}

static void begin(alm_http *h)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    public_run *run = is_hidden(h->req.path) ? NULL : calloc(1, sizeof(*run));
    if (run == NULL) {
        alm_http_reply_text(h, 404, "Not Found");
        return;
    }
    run->h = h;
    run->dir = shared->public_dir;
    run->bytes_max = h->cx.conf->http_static_file_bytes_max;
    alm_buf_init(&run->bytes, NULL);
    h->work = run;
    alm_conn_work(h->conn, work, work_done, NULL, run);
}

static void close_run(alm_http *h)
{
    public_run *run = h->work;
    h->work = NULL;
    if (run == NULL)
        return;
    alm_buf_deinit(&run->bytes);
    free(run);
}

const alm_http_handler alm_ep_public = {.begin = begin, .close = close_run};
