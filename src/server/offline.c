/*
 * offline.c - what the program does without serving: verify a directory, restore a backup.
 */
#include <stdio.h>

#include "base/log.h"
#include "io/io.h"
#include "server/server.h"
#include "storage/storage.h"
#include "time/timestamp.h"

static void print_finding(void *arg, const char *line)
{
    (void)arg;
    (void)puts(line);
}

static int salvage_root(alm_ctx *cx, const alm_options *options)
{
    alm_salvage_result done;
    const alm_status status = alm_storage_salvage(cx, alm_io_posix(), options->root,
                                                  options->salvage, print_finding, NULL, &done);
    if (status != ALM_OK) {
        (void)fprintf(stderr, "almanac check: %s\n", cx->err.msg);
        return 2;
    }
    (void)printf(
        "saved %lld rows in %lld files to '%s': of %lld parts %lld whole, %lld in part, %lld "
        "not; %lld findings, see report.csv\n",
        (long long)done.rows, (long long)done.files, options->salvage,
        (long long)(done.whole + done.partial + done.lost), (long long)done.whole,
        (long long)done.partial, (long long)done.lost, (long long)done.findings);
    return done.findings > 0;
}

static int rebuild_symbols(alm_ctx *cx, const alm_options *options)
{
    alm_rebuild_result done;
    const alm_status status =
        alm_storage_rebuild_symbols(cx, alm_io_posix(), options->root, print_finding, NULL, &done);
    if (status != ALM_OK) {
        (void)fprintf(stderr, "almanac check: %s\n", cx->err.msg);
        return 2;
    }
    (void)printf("%lld dictionaries rebuilt: %lld symbols, %lld of them lost, in %lld rows\n",
                 (long long)done.columns, (long long)done.symbols, (long long)done.lost,
                 (long long)done.rows);
    return done.lost > 0;
}

int alm_check_root(const alm_options *options)
{
    const alm_io *io = alm_io_posix();
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    int64_t findings = 0;
    alm_log_set_level(ALM_LOG_WARN);
    if (options->salvage != NULL || options->rebuild_symbols) {
        const int code =
            options->salvage != NULL ? salvage_root(&cx, options) : rebuild_symbols(&cx, options);
        alm_arena_deinit(&arena);
        return code;
    }
    const char *dir = options->root;
    const alm_status status =
        alm_archive_is(io, dir) ? alm_archive_check(&cx, io, dir, print_finding, NULL, &findings)
        : alm_backup_is(io, dir)
            ? alm_backup_check(&cx, io, dir, options->repair, print_finding, NULL, &findings)
        : options->repair ? alm_storage_repair(&cx, io, dir, print_finding, NULL, &findings)
                          : alm_storage_check(&cx, io, dir, print_finding, NULL, &findings);
    if (status != ALM_OK)
        (void)fprintf(stderr, "almanac check: %s\n", cx.err.msg);
    else
        (void)printf("%lld findings\n", (long long)findings);
    alm_arena_deinit(&arena);
    return status != ALM_OK ? 2 : findings > 0 ? 1 : 0;
}

static void print_restored(const alm_restore_spec *spec, const alm_restore_result *done)
{
    char time[ALM_TIME_TEXT_MAX + 1];
    time[alm_time_format(done->time_us, ALM_TIME_US, ALM_TIME_ISO, time)] = 0;
    (void)printf("restored backup %u to '%s': %lld tables, %lld rows, lsn %llu", done->generation,
                 spec->root, (long long)done->tables, (long long)done->rows,
                 (unsigned long long)done->lsn);
    if (spec->until_lsn > 0 || spec->until_us > 0)
        (void)printf(" of %s", time);
    (void)putchar('\n');
}

int alm_restore_root(const alm_options *options)
{
    const alm_restore_spec spec = {.dir = options->from,
                                   .root = options->root,
                                   .generation = options->generation,
                                   .until_lsn = options->until_lsn,
                                   .until_us = options->until_us,
                                   .allow_earlier = options->allow_earlier,
                                   .log = options->log};
    alm_restore_result done;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    alm_log_set_level(ALM_LOG_WARN); /* what is done is printed */
    const alm_status status = alm_backup_restore(&cx, alm_io_posix(), &spec, &done);
    if (status != ALM_OK)
        (void)fprintf(stderr, "almanac restore: %s\n", cx.err.msg);
    else
        print_restored(&spec, &done);
    alm_arena_deinit(&arena);
    return status == ALM_OK ? 0 : status == ALM_E_ARG || status == ALM_E_EXISTS ? 2 : 1;
}
