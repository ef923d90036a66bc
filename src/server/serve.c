/*
 * serve.c - the life of the server: open, listen, wait for a signal, stop in the reverse order.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/log.h"
#include "io/io.h"
#include "net/net.h"
#include "server/server.h"

enum { GRACE_MS = 5000 };

/* ROOT/conf/address names the ports as bound: scripts and tests read it (port 0 is allowed). */
/* `identity`: of the file, so that no other is taken for it at the end. */
static alm_status write_addresses(alm_ctx *cx, const char *root, const alm_net *net,
                                  uint64_t *identity)
{
    static const char *const listeners[] = {"http", "pg", "health", "line"};
    const alm_io *io = alm_io_posix();
    char path[4096], temporary[4096];
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status = ALM_OK;
    for (size_t i = 0; status == ALM_OK && i < ALM_COUNT(listeners); i++) {
        const char *address = alm_net_address(net, listeners[i]);
        if (address != NULL)
            status = alm_buf_printf(cx, &text, "%s=%s\n", listeners[i], address);
    }
    (void)snprintf(path, sizeof(path), "%s/conf/address", root);
    (void)snprintf(temporary, sizeof(temporary), "%s/conf/address.new", root);
    if (status == ALM_OK) {
        const int file = alm_io_create(io, temporary, ALM_IO_WRITE | ALM_IO_TRUNCATE);
        status = file < 0 ? alm_io_fail(cx, file, temporary)
                          : alm_io_write_all(cx, io, file, text.ptr, text.len, 0, temporary);
        if (file >= 0)
            (void)io->close(io, file);
    }
    if (status == ALM_OK) {
        alm_io_stat meta;
        const int code = alm_io_rename_over(io, temporary, path);
        status = code < 0 ? alm_io_fail(cx, code, path) : ALM_OK;
        *identity = io->stat(io, path, &meta) < 0 ? 0 : meta.identity;
    }
    alm_buf_deinit(&text);
    return status;
}

static void log_start(const alm_net *net, int64_t start_ns)
{
    static const char *const listeners[] = {"http", "pg", "health", "line"};
    for (size_t i = 0; i < ALM_COUNT(listeners); i++)
        if (alm_net_address(net, listeners[i]) != NULL)
            alm_log_info(listeners[i], "listening on %s", alm_net_address(net, listeners[i]));
    alm_log_info("server", "almanac " ALM_VERSION " is ready after %lld ms",
                 (long long)((alm_monotonic_ns() - start_ns) / 1000000));
}

/* Where the root was renamed, its name may be that of another server's by now. */
static void remove_addresses(const char *root, uint64_t identity)
{
    const alm_io *io = alm_io_posix();
    char path[4096];
    alm_io_stat meta;
    (void)snprintf(path, sizeof(path), "%s/conf/address", root);
    if (io->stat(io, path, &meta) >= 0 && meta.identity == identity)
        (void)io->unlink(io, path);
}

/* ------------------------------------------------------------------ settings that change */

typedef struct served {
    const char *root;
    alm_conf *conf;
    alm_db *db;
    alm_net *net;
    const alm_conf *fresh; /* while it is taken over */
    bool *changed;
} served;

static void set_log_level(const alm_conf *conf)
{
    alm_log_level level = ALM_LOG_INFO;
    if (alm_log_level_parse(alm_str_of(conf->log_level), &level))
        alm_log_set_level(level);
}

static void note_change(void *arg, const alm_conf_row *row, bool applied)
{
    const served *self = arg;
    *self->changed |= applied;
    if (applied)
        alm_log_info("conf", "%s has changed", row->key);
    else
        alm_log_warn("conf", "%s has changed in the file: that needs a restart", row->key);
}

static alm_status serve_take_over(alm_ctx *cx, void *arg)
{
    const served *self = arg;
    ALM_TRY(alm_conf_reload(cx, self->conf, self->fresh, note_change, arg));
    alm_db_conf_changed(self->db);
    set_log_level(self->conf);
    return ALM_OK;
}

/* On the thread of whoever asks, one at a time. */
static alm_status serve_reload(alm_ctx *cx, void *arg, alm_reload what, bool *changed)
{
    served self = *(served *)arg;
    alm_conf fresh, merged;
    *changed = false;
    if (what == ALM_RELOAD_CERTIFICATES)
        return alm_net_certificates(cx, self.net, changed);
    ALM_TRY(alm_server_conf_again(cx, self.root, &fresh));
    alm_conf_merge(self.conf, &fresh, &merged);
    self.fresh = &fresh;
    self.changed = changed;
    const alm_status status =
        alm_net_reload(cx, self.net, &merged, serve_take_over, &self, changed);
    alm_conf_deinit(&fresh);
    return status;
}

static void reload_by_signal(served *self)
{
    alm_ctx cx = {.conf = self->conf};
    bool changed = false;
    if (alm_db_reload(&cx, self->db, ALM_RELOAD_ALL, &changed) != ALM_OK)
        alm_log_error("conf", "SIGHUP changes nothing: %s", cx.err.msg);
    else
        alm_log_info("conf", "read again on SIGHUP%s", changed ? "" : ", nothing has changed");
}

static void wait_for_end(served *self, const sigset_t *signals)
{
    int got = 0;
    for (;;) {
        (void)sigwait(signals, &got);
        if (got != SIGHUP)
            break;
        reload_by_signal(self);
    }
    alm_log_info("server", "stopping on %s", got == SIGINT ? "SIGINT" : "SIGTERM");
}

static alm_status serve_until(alm_ctx *cx, const char *root, alm_conf *conf,
                              const sigset_t *signals)
{
    const int64_t start_ns = alm_monotonic_ns();
    alm_db *db = NULL;
    alm_net *net = NULL;
    uint64_t addresses = 0;
    ALM_TRY(alm_db_new(cx, alm_io_posix(), root, conf, &db));
    alm_status status = alm_net_start(cx, db, &net);
    if (status == ALM_OK)
        status = write_addresses(cx, root, net, &addresses);
    if (status == ALM_OK) {
        served self = {.root = root, .conf = conf, .db = db, .net = net};
        log_start(net, start_ns);
        alm_db_reload_by(db, serve_reload, &self);
        wait_for_end(&self, signals);
        alm_db_reload_by(db, NULL, NULL);
        remove_addresses(root, addresses);
    }
    alm_net_stop(net, GRACE_MS);
    alm_db_free(db, GRACE_MS);
    if (status == ALM_OK)
        alm_log_info("server", "stopped");
    return status;
}

/* As many as the system lets this process have; the limit that shells start with is meant for others. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

int alm_serve(const char *root)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    /* before any thread is made, so that all of them leave the signals to this one */
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    allow_files();
    alm_arena arena;
    alm_conf conf;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    alm_status status = alm_server_conf(&cx, root, &conf);
    if (status == ALM_OK) {
        set_log_level(&conf);
        status = serve_until(&cx, root, &conf, &signals);
        alm_conf_deinit(&conf);
    }
    if (status != ALM_OK)
        alm_log_error("server", "%s", cx.err.msg);
    alm_arena_deinit(&arena);
    return status == ALM_OK ? 0 : 1;
}
