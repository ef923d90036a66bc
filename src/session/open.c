/*
 * open.c - the process-wide engine: opens storage, registry, workers and time zones; stops them. Gives the wings below what they
 * cannot see from there: the kinds of statements (statements.c) and the lists for table functions (lists.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "session/access/access.h"
#include "session/statement/statement.h"
#include "session/tables.h"
#include "session/transfer/export.h"
#include "session/transfer/transfer.h"

static const int64_t MB = INT64_C(1) << 20;

static void storage_conf(const alm_db *db, alm_storage_conf *out)
{
    const struct alm_conf *conf = db->conf;
    alm_storage_conf_default(out);
    if (conf == NULL)
        return;
    out->sync = strcmp(conf->wal_sync, "off") == 0        ? ALM_SYNC_OFF
                : strcmp(conf->wal_sync, "interval") == 0 ? ALM_SYNC_INTERVAL
                                                          : ALM_SYNC_COMMIT;
    out->sync_interval_ms = conf->wal_sync_interval;
    out->wal_segment_bytes = conf->wal_segment_size;
    out->head_bytes_max =
        ALM_MAX(alm_db_memory_share(db, conf->storage_head_bytes_max, INT64_C(512) << 20, 8), MB);
    out->table_head_bytes_max = ALM_MAX(
        alm_db_memory_share(db, conf->storage_table_head_bytes_max, INT64_C(128) << 20, 32), MB);
    out->checkpoint_wal_bytes = conf->storage_checkpoint_wal_bytes;
    out->previous_wal_bytes = conf->storage_checkpoint_previous_wal_bytes;
    out->txn_bytes_max = alm_db_memory_share(db, conf->transaction_memory_max, INT64_MAX, 4);
    out->part_rows_max = conf->storage_part_rows_max;
    out->sync_files_max = (int32_t)conf->storage_sync_files_max;
    out->shared_part_bytes_max = conf->storage_shared_part_bytes_max;
    out->shared_parts_min = (int32_t)conf->storage_shared_parts_min;
    out->overlap_max = (int32_t)conf->storage_overlap_max;
    out->decoded_bytes_max =
        alm_db_memory_share(db, conf->storage_parquet_memory_max, INT64_MAX, 4);
    out->maps_max = conf->storage_maps_max;
    out->copies_bytes_max = alm_db_memory_share(db, conf->storage_small_memory_max, INT64_MAX, 32);
    out->snapshot_age_max_ms = conf->storage_snapshot_age_max;
    out->archive_interval_ms = conf->wal_archive_interval;
    out->archive_backlog_max = conf->wal_archive_backlog_max;
    out->hold_age_max_ms = conf->storage_checkpoint_hold_max;
    out->scrub_interval_ms = conf->storage_scrub_interval;
    out->scrub_bytes_per_second = conf->storage_scrub_rate;
    out->reserve_bytes = conf->storage_disk_reserve;
    out->symbols_bytes_max = alm_db_memory_share(db, conf->storage_symbol_memory_max, INT64_MAX, 2);
}

/* Zone files of the system. They are no part of the data: read from the real disk always. */
static bool session_open_load_zone(alm_ctx *cx, void *arg, const char *name, alm_buf *out)
{
    (void)arg;
    const alm_io *io = alm_io_posix();
    char path[512];
    alm_io_stat meta;
    (void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    if (io->stat(io, path, &meta) < 0 || meta.is_dir || meta.size_bytes > (1 << 20))
        return false;
    const int file = io->open(io, path, ALM_IO_READ);
    if (file < 0)
        return false;
    const size_t n = (size_t)meta.size_bytes;
    bool done = alm_buf_reserve(cx, out, n) == ALM_OK;
    done = done && io->read(io, file, out->ptr + out->len, n, 0) == (int64_t)n;
    if (done)
        out->len += n;
    (void)io->close(io, file);
    return done;
}

static alm_status open_parts(alm_ctx *cx, alm_db *db)
{
    alm_storage_conf conf;
    storage_conf(db, &conf);
    const char *archive = db->conf != NULL ? db->conf->wal_archive_dir : "";
    if (archive[0] != 0)
        (void)snprintf(db->archive, sizeof(db->archive), "%s%s%.4000s",
                       archive[0] == '/' ? "" : db->root, archive[0] == '/' ? "" : "/", archive);
    conf.archive_dir = db->archive;
    uint32_t threads = db->conf != NULL ? (uint32_t)db->conf->shared_worker_count : 0;
    if (threads == 0)
        threads = alm_db_processors(db);
    ALM_TRY(alm_registry_new(cx, &db->registry));
    ALM_TRY(alm_zones_new(cx, session_open_load_zone, NULL, &db->zones));
    cx->zones = db->zones;
    ALM_TRY(alm_workers_new(cx, threads, &db->workers));
    return alm_storage_open(cx, db->io, db->root, &conf, &db->storage);
}

alm_status alm_db_new(alm_ctx *cx, const alm_io *io, const char *root, const struct alm_conf *conf,
                      alm_db **out)
{
    alm_db *db = calloc(1, sizeof(*db));
    if (db == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    db->io = io;
    db->conf = conf;
    db->kinds = alm_statements;
    db->texts = alm_session_texts;
    db->started_us = io != NULL ? io->wall_ns(io) / 1000 : 0;
    if (strlen(root) >= sizeof(db->root)) {
        free(db);
        return alm_fail(cx, ALM_E_ARG, -1, "path of the data directory is longer than %zu bytes",
                        sizeof(db->root) - 1);
    }
    (void)memcpy(db->root, root, strlen(root) + 1);
    (void)pthread_mutex_init(&db->lock, NULL);
    (void)pthread_mutex_init(&db->reload.lock, NULL);
    alm_db_look_at_machine(db);
    alm_requests_init(db);
    alm_accounts_init(db);
    (void)pthread_mutex_init(&db->refreshes.lock, NULL);
    const alm_status access = alm_db_access_new(cx, db);
    if (access != ALM_OK) {
        alm_db_free(db, 0);
        return access;
    }
    alm_db_conf_changed(db);
    db->mem.name = "all queries";
    db->mem.return_kept = alm_machine_return_kept;
    db->mem.setting = "query.memory.total.max";
    alm_plan_cache_init(&db->plans, conf != NULL ? conf->query_plan_cache_max : 0);
    const alm_status status = open_parts(cx, db);
    if (status != ALM_OK) {
        alm_db_free(db, 0);
        return status;
    }
    alm_status started = alm_copy_jobs_new(cx, db, &db->copy_jobs);
    if (started == ALM_OK)
        started = alm_exports_new(cx, db, &db->exports);
    if (started == ALM_OK)
        started = alm_refresher_start(cx, db);
    if (started != ALM_OK) {
        alm_db_free(db, 0);
        return started;
    }
    *out = db;
    return ALM_OK;
}

static int32_t sessions_left(alm_db *db, bool cancel)
{
    (void)pthread_mutex_lock(&db->lock);
    int32_t running = 0;
    for (alm_session *session = db->sessions; session != NULL; session = session->next) {
        if (atomic_load(&session->statement) == 0)
            continue;
        running++;
        if (cancel)
            atomic_store(&session->cancel, true);
    }
    (void)pthread_mutex_unlock(&db->lock);
    return running;
}

void alm_db_free(alm_db *db, int64_t grace_ms)
{
    if (db == NULL)
        return;
    atomic_store(&db->stopping, true);
    alm_refresher_stop(db);
    const int64_t until = alm_monotonic_ns() + grace_ms * 1000000;
    while (sessions_left(db, false) > 0 && alm_monotonic_ns() < until)
        (void)usleep(2000);
    while (sessions_left(db, true) > 0 || alm_copy_jobs_run(db->copy_jobs) ||
           alm_jobs_run(db->exports))
        (void)usleep(1000); /* each loop over data checks the flag once per batch */
    if (db->workers != NULL)
        alm_workers_free(db->workers);
    if (db->storage != NULL)
        alm_storage_close(db->storage);
    if (db->registry != NULL)
        alm_registry_free(db->registry);
    if (db->zones != NULL)
        alm_zones_free(db->zones);
    alm_copy_jobs_free(db->copy_jobs);
    alm_plan_cache_deinit(&db->plans);
    alm_exports_free(db->exports);
    alm_db_access_free(db);
    (void)pthread_mutex_destroy(&db->lock);
    (void)pthread_mutex_destroy(&db->reload.lock);
    alm_requests_deinit(db);
    alm_accounts_deinit(db);
    (void)pthread_mutex_destroy(&db->refreshes.lock);
    free(db);
}
