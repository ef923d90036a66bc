/*
 * ep_public.c - files below http.static.public.directory, at paths that nothing else has, sent as asset.h says; the ETag is of
 * their content, for which a file is read once, on a query thread.
 *
 * Memory      One PIECE of a file, and what is unsent of another: who does not read holds no more.
 * Safety      What leads out of the folder (.., links) is not found, nor what is hidden (.name).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/hash.h"
#include "base/log.h"
#include "net/http/asset.h"
#include "net/http/exchange/http.h"
#include "net/shared.h"

enum { PIECE = 256 << 10 };

typedef struct public_run {
    alm_http *h;
    const char *dir;
    int64_t bytes_max;
    int file; /* open while the answer needs it; -1: not */
    int64_t size;
    uint64_t hash;
    alm_buf bytes;       /* all of a file of one piece, else the piece that is read */
    alm_asset_part left; /* to be read and sent */
    bool found, too_long, failed, waiting;
    int64_t waiting_since_ns;
    char etag[40];
} public_run;

/* A segment that begins with a dot: hidden, or a way up. */
static bool ep_public_is_hidden(alm_str path)
{
    for (size_t i = 0; i + 1 < path.len; i++)
        if (path.ptr[i] == '/' && path.ptr[i + 1] == '.')
            return true;
    return false;
}

static void ep_public_close_file(public_run *run)
{
    if (run->file >= 0)
        (void)alm_io_posix()->close(alm_io_posix(), run->file);
    run->file = -1;
}

/* Its length and the hash of its content; the last piece stays in run->bytes. */
static void look_through(public_run *run, const alm_io *io)
{
    int64_t n = 0;
    do {
        run->bytes.len = 0;
        while (run->bytes.len < PIECE &&
               (n = io->read(io, run->file, run->bytes.ptr + run->bytes.len, PIECE - run->bytes.len,
                             run->size)) > 0) {
            run->bytes.len += (size_t)n;
            run->size += n;
        }
        run->hash = alm_hash_combine(run->hash, alm_hash_bytes(run->bytes.ptr, run->bytes.len));
        run->too_long = run->size > run->bytes_max;
    } while (n > 0 && !run->too_long);
    run->found = n == 0;
}

static void ep_public_work(void *arg)
{
    public_run *run = arg;
    const alm_io *io = alm_io_posix();
    alm_ctx cx = {0};
    run->file = alm_io_open_below(io, run->dir, run->h->req.path.ptr + 1);
    if (run->file < 0 || alm_buf_reserve(&cx, &run->bytes, PIECE) != ALM_OK)
        return;
    look_through(run, io);
    (void)snprintf(run->etag, sizeof(run->etag), "%016llx-%llx", (unsigned long long)run->hash,
                   (unsigned long long)run->size);
}

static void ep_public_read_piece(void *arg)
{
    public_run *run = arg;
    const alm_io *io = alm_io_posix();
    alm_ctx cx = {0};
    const size_t want = (size_t)ALM_MIN(run->left.to - run->left.from, (uint64_t)PIECE);
    run->failed = alm_buf_reserve(&cx, &run->bytes, want) != ALM_OK;
    while (!run->failed && run->bytes.len < want) {
        const int64_t got = io->read(io, run->file, run->bytes.ptr + run->bytes.len,
                                     want - run->bytes.len, (int64_t)run->left.from);
        run->failed = got <= 0; /* it was cut meanwhile */
        run->bytes.len += (size_t)ALM_MAX(got, INT64_C(0));
        run->left.from += (uint64_t)ALM_MAX(got, INT64_C(0));
    }
}

static void piece_done(alm_conn *conn, void *arg);

static void ep_public_next_piece(public_run *run)
{
    ALM_ASSERT(run->left.from < run->left.to && run->bytes.len == 0);
    alm_conn_work(run->h->conn, ep_public_read_piece, piece_done, NULL, run);
}

static void piece_done(alm_conn *conn, void *arg)
{
    public_run *run = arg;
    alm_http *http = run->h;
    if (run->failed) {
        alm_http_stream_break(http);
    } else {
        alm_conn_send(conn, &run->bytes);
        if (run->left.from == run->left.to) {
            alm_http_whole_end(http);
        } else if (alm_conn_unsent(conn) > 0) {
            run->waiting = true;
            run->waiting_since_ns = alm_monotonic_ns();
            alm_conn_pause(conn);
        } else {
            ep_public_next_piece(run);
        }
    }
    alm_http_finished(http);
}

static void drained(alm_http *http)
{
    public_run *run = http->work;
    if (run == NULL || !run->waiting)
        return;
    run->waiting = false;
    ep_public_next_piece(run);
    alm_conn_resume(http->conn);
}

static bool is_stuck(alm_http *http)
{
    const public_run *run = http->work;
    const int64_t limit_ms = http->cx.conf->http_send_timeout;
    if (run == NULL || !run->waiting ||
        alm_monotonic_ns() - run->waiting_since_ns < limit_ms * 1000000)
        return false;
    alm_log_warn("http",
                 "a file was broken off: its client has read nothing of it for longer than "
                 "http.send.timeout (%lld ms)",
                 (long long)limit_ms);
    return true;
}

static void ep_public_work_done(alm_conn *conn, void *arg)
{
    public_run *run = arg;
    alm_http *http = run->h;
    (void)conn;
    const bool whole = run->size == (int64_t)run->bytes.len; /* in memory */
    const alm_asset asset = {.path = http->req.path.ptr,
                             .etag = run->etag,
                             .foreign = true,
                             .forms = {{whole ? run->bytes.ptr : "", (size_t)run->size}},
                             .part = whole ? NULL : &run->left};
    if (run->too_long)
        alm_http_reply_text(http, 503, "The file is longer than http.static.file.bytes.max");
    else if (run->found)
        alm_asset_reply(http, &asset);
    else
        alm_http_reply_text(http, 404, "Not Found");
    run->bytes.len = 0;
    if (http->streaming)
        ep_public_next_piece(run);
    else
        ep_public_close_file(run);
    alm_http_finished(http);
}

static void ep_public_begin(alm_http *http)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    public_run *run = ep_public_is_hidden(http->req.path) ? NULL : calloc(1, sizeof(*run));
    if (run == NULL) {
        alm_http_reply_text(http, 404, "Not Found");
        return;
    }
    run->h = http;
    run->file = -1;
    run->dir = shared->public_dir;
    run->bytes_max = http->cx.conf->http_static_file_bytes_max;
    alm_buf_init(&run->bytes, NULL);
    http->work = run;
    alm_conn_work(http->conn, ep_public_work, ep_public_work_done, NULL, run);
}

static void ep_public_close_run(alm_http *http)
{
    public_run *run = http->work;
    http->work = NULL;
    if (run == NULL)
        return;
    ep_public_close_file(run);
    alm_buf_deinit(&run->bytes);
    free(run);
}

const alm_http_handler alm_ep_public = {
    .begin = ep_public_begin, .close = ep_public_close_run, .drained = drained, .stuck = is_stuck};
