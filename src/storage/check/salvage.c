/*
 * salvage.c - `almanac check ROOT --salvage OUT`: what is whole in a damaged directory, as Parquet files and a report. Nothing is
 * written to ROOT, so that every other way to bring the data back stays open.
 *
 * Reading     First as a start does (recover/recover.c). What that refuses is read again with what is damaged passed over (salvage_read.c).
 */
#include <errno.h>
#include <stdio.h>

#include "storage/check/salvage.h"
#include "storage/recover/generation.h"
#include "storage/recover/recover.h"

/* ------------------------------------------------------------------------- places */

static int salvage_count_entry(void *arg, const char *name)
{
    (void)name;
    ++*(int *)arg;
    return 0;
}

/* Is `out` ROOT or below it? Parents are told by their identity, whatever names lead there. */
static bool is_within(const alm_io *io, const char *root, const char *out)
{
    char path[ALM_PATH_MAX];
    alm_io_stat top, at, above;
    if (io->stat(io, root, &top) < 0)
        return false;
    size_t n = (size_t)snprintf(path, sizeof path, "%s", out);
    while (n + 4 < sizeof path && io->stat(io, path, &at) >= 0 && at.identity != 0) {
        if (at.identity == top.identity && at.device == top.device)
            return true;
        memcpy(path + n, "/..", 4);
        n += 3;
        if (io->stat(io, path, &above) < 0 ||
            (above.identity == at.identity && above.device == at.device))
            return false;
    }
    return false;
}

static alm_status make_out(alm_ctx *cx, const alm_io *io, const char *root, const char *out)
{
    int n = 0;
    alm_io_stat meta;
    const bool fresh = io->stat(io, out, &meta) == -ENOENT;
    int code = fresh ? io->mkdir(io, out) : io->list(io, out, salvage_count_entry, &n);
    if (code < 0)
        return alm_io_fail(cx, code, out);
    if (n > 0)
        return alm_fail(cx, ALM_E_EXISTS, -1,
                        "'%s' is not empty: what is saved goes to a new directory", out);
    if (!is_within(io, root, out))
        return ALM_OK;
    if (fresh)
        (void)io->rmdir(io, out);
    return alm_fail(cx, ALM_E_ARG, -1,
                    "'%s' is within '%s': what is saved goes to another directory", out, root);
}

alm_status alm_salvage_check_root(alm_ctx *cx, const alm_io *io, const char *root)
{
    static const char *const any[] = {"catalog", "wal", "tables"};
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    for (size_t i = 0; i < ALM_COUNT(any); i++) {
        (void)snprintf(path, sizeof path, "%s/db/%s", root, any[i]);
        if (io->stat(io, path, &meta) >= 0)
            return ALM_OK;
    }
    return alm_fail(cx, ALM_E_ARG, -1, "'%s' is not a data directory", root);
}

/* ------------------------------------------------------------------------ reading */

/* No server may write meanwhile, and nothing that goes may go from the disk. */
static alm_status salvage_take(alm_salvage *s, const char *root)
{
    ALM_TRY(alm_storage_new(s->cx, s->io, root, NULL, &s->st));
    s->st->closing = true;
    return alm_owner_take(s->cx, s->io, s->st->root, false, &s->st->owner);
}

static alm_status read_root(alm_salvage *s, const char *root)
{
    alm_wal_scan scan;
    ALM_TRY(salvage_take(s, root));
    const alm_status status = alm_storage_recover(s->cx, s->st, &scan);
    s->st->closing = true;
    if (status == ALM_OK && s->st->generation.alone)
        return alm_salvage_note(s, NULL, ALM_CATALOG, ALM_SAVED, s->st->generation.why.msg);
    if (!alm_is_damage(status))
        return status;
    const alm_error why = s->cx->err;
    alm_error_clear(s->cx);
    alm_storage_free(s->st);
    s->st = NULL;
    ALM_TRY(salvage_take(s, root));
    s->gaps = true;
    return alm_salvage_read(s, why.msg);
}

/* ------------------------------------------------------------------------- saving */

static alm_status save_set(alm_salvage *s, const alm_version *version, const alm_part_set *set,
                           bool detached)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        ALM_TRY(alm_check(s->cx));
        ALM_TRY(alm_salvage_part(s, version, set->parts[i], detached));
    }
    return ALM_OK;
}

static alm_status save_all(alm_salvage *s)
{
    ALM_TRY(alm_salvage_words(s));
    for (size_t i = 0; i < s->st->current->n; i++) {
        const alm_version *version = alm_catver_at(s->st->current, i);
        ALM_TRY(save_set(s, version, version->parts, false));
        ALM_TRY(save_set(s, version, version->detached, true));
        ALM_TRY(alm_salvage_head(s, version));
    }
    return alm_salvage_found(s);
}

static alm_status salvage(alm_salvage *s, const char *root)
{
    ALM_TRY(alm_salvage_report_open(s));
    alm_status status = read_root(s, root);
    if (status == ALM_OK)
        status = save_all(s);
    if (s->st != NULL)
        alm_storage_free(s->st);
    const alm_error was = s->cx->err;
    const alm_status closed = alm_salvage_report_close(s);
    if (status != ALM_OK)
        s->cx->err = was;
    const int synced = s->io->sync_dir(s->io, s->out);
    if (status == ALM_OK)
        status = closed;
    return status == ALM_OK && synced < 0 ? alm_io_fail(s->cx, synced, s->out) : status;
}

alm_status alm_storage_salvage(alm_ctx *cx, const alm_io *io, const char *root, const char *out,
                               void (*report)(void *arg, const char *line), void *arg,
                               alm_salvage_result *done)
{
    alm_salvage s = {.cx = cx,
                     .io = io,
                     .out = out,
                     .report = -1,
                     .tell = report,
                     .tell_arg = arg,
                     .done = done};
    *done = (alm_salvage_result){0};
    ALM_TRY(alm_salvage_check_root(cx, io, root));
    ALM_TRY(make_out(cx, io, root, out));
    alm_arena_init(&s.arena, NULL);
    const alm_status status = salvage(&s, root);
    alm_arena_deinit(&s.arena);
    return status;
}
