/*
 * instance.c - the memory of a storage: its settings, locks and empty catalogue before recovery fills it, and its end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "storage/part/retired.h"
#include "storage/recover/recover.h"
#include "storage/state.h"

void alm_storage_conf_default(alm_storage_conf *conf)
{
    *conf = (alm_storage_conf){
        .sync = ALM_SYNC_COMMIT,
        .sync_interval_ms = 100,
        .wal_segment_bytes = INT64_C(16) << 20,
        .head_bytes_max = INT64_C(256) << 20,
        .table_head_bytes_max = INT64_C(64) << 20,
        .checkpoint_wal_bytes = INT64_C(256) << 20,
        .previous_wal_bytes = INT64_C(32) << 20,
        .txn_bytes_max = INT64_C(1) << 30,
        .part_rows_max = INT64_C(4) << 20,
        .sync_files_max = 16,
        .shared_part_bytes_max = 32 << 10,
        .shared_parts_min = 16,
        .overlap_max = 64,
        .snapshot_age_max_ms = INT64_C(3600000),
        .decoded_bytes_max = INT64_C(1) << 30,
        .hold_age_max_ms = INT64_C(86400000),
        .archive_interval_ms = INT64_C(60000),
        .archive_backlog_max = INT64_C(16) << 30,
    };
}

static void init_locks(alm_storage *storage)
{
    (void)pthread_mutex_init(&storage->queue_lock, NULL);
    (void)pthread_cond_init(&storage->crowd_cond, NULL);
    (void)pthread_mutex_init(&storage->publish_lock, NULL);
    (void)pthread_mutex_init(&storage->tab_lock, NULL);
    (void)pthread_cond_init(&storage->tab_cond, NULL);
    (void)pthread_mutex_init(&storage->file_lock, NULL);
    (void)pthread_mutex_init(&storage->touch_lock, NULL);
    (void)pthread_cond_init(&storage->touch_cond, NULL);
    (void)pthread_mutex_init(&storage->work_lock, NULL);
    (void)pthread_cond_init(&storage->work_cond, NULL);
    (void)pthread_cond_init(&storage->archive_cond, NULL);
    (void)pthread_cond_init(&storage->scrub_cond, NULL);
    (void)pthread_mutex_init(&storage->checkpoint_lock, NULL);
    (void)pthread_mutex_init(&storage->durable.lock, NULL);
    (void)pthread_mutex_init(&storage->durable.sync_lock, NULL);
}

static void deinit_locks(alm_storage *storage)
{
    (void)pthread_mutex_destroy(&storage->queue_lock);
    (void)pthread_cond_destroy(&storage->crowd_cond);
    (void)pthread_mutex_destroy(&storage->publish_lock);
    (void)pthread_mutex_destroy(&storage->tab_lock);
    (void)pthread_cond_destroy(&storage->tab_cond);
    (void)pthread_mutex_destroy(&storage->file_lock);
    (void)pthread_mutex_destroy(&storage->touch_lock);
    (void)pthread_cond_destroy(&storage->touch_cond);
    (void)pthread_mutex_destroy(&storage->work_lock);
    (void)pthread_cond_destroy(&storage->work_cond);
    (void)pthread_cond_destroy(&storage->archive_cond);
    (void)pthread_cond_destroy(&storage->scrub_cond);
    (void)pthread_mutex_destroy(&storage->checkpoint_lock);
    (void)pthread_mutex_destroy(&storage->durable.lock);
    (void)pthread_mutex_destroy(&storage->durable.sync_lock);
}

alm_status alm_storage_new(alm_ctx *cx, const alm_io *io, const char *root,
                           const alm_storage_conf *conf, alm_storage **out)
{
    alm_storage *storage = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *storage, "the storage", &storage));
    storage->io = io;
    if (conf != NULL)
        storage->conf = *conf;
    else
        alm_storage_conf_default(&storage->conf);
    storage->conf.wal_segment_bytes = ALM_MAX(storage->conf.wal_segment_bytes, INT64_C(4096));
    storage->queue_tail = &storage->queue_head;
    storage->next_table_id = storage->next_part_id = storage->next_file_id = storage->next_seq = 1;
    storage->next_dict_id = 1;
    storage->durable.dir = -1;
    char wal[ALM_PATH_MAX];
    const int len = snprintf(storage->root, sizeof storage->root, "%s/db", root);
    alm_status status = len < 0 || (size_t)len >= sizeof storage->root
                            ? alm_fail(cx, ALM_E_ARG, -1, "the path of the data is too long")
                            : ALM_OK;
    (void)snprintf(wal, sizeof wal, "%s/wal", storage->root);
    if (status == ALM_OK)
        status = alm_wal_init(cx, &storage->wal, io, wal, storage->conf.wal_segment_bytes);
    if (status == ALM_OK)
        storage->wal.sync_times = &storage->counters.log_syncs;
    if (status != ALM_OK) {
        free(storage);
        return status;
    }
    io->limit_maps(io, storage->conf.maps_max);
    init_locks(storage);
    alm_damages_init(&storage->damages);
    alm_decoded_init(&storage->decoded, io, &storage->spill, storage->conf.decoded_bytes_max);
    storage->decoded.copies_max = storage->conf.copies_bytes_max;
    status = alm_catver_empty(cx, &storage->current);
    if (status != ALM_OK) {
        alm_storage_free(storage);
        return status;
    }
    *out = storage;
    return ALM_OK;
}

void alm_storage_free(alm_storage *storage)
{
    storage->closing = true; /* files stay */
    alm_catver_release(storage->current);
    alm_wal_deinit(&storage->wal);
    alm_durable_close(storage);
    alm_owner_leave(&storage->owner);
    ALM_ASSERT(storage->n_files == 0);
    alm_decoded_deinit(&storage->decoded);
    alm_damages_deinit(&storage->damages);
    free(storage->failing);
    free(storage->files);
    alm_dict_list_free(&storage->catalog_dicts);
    alm_retired_free(storage);
    deinit_locks(storage);
    free(storage);
}
