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

static void init_locks(alm_storage *st)
{
    (void)pthread_mutex_init(&st->queue_lock, NULL);
    (void)pthread_cond_init(&st->crowd_cond, NULL);
    (void)pthread_mutex_init(&st->publish_lock, NULL);
    (void)pthread_mutex_init(&st->tab_lock, NULL);
    (void)pthread_cond_init(&st->tab_cond, NULL);
    (void)pthread_mutex_init(&st->file_lock, NULL);
    (void)pthread_mutex_init(&st->touch_lock, NULL);
    (void)pthread_cond_init(&st->touch_cond, NULL);
    (void)pthread_mutex_init(&st->work_lock, NULL);
    (void)pthread_cond_init(&st->work_cond, NULL);
    (void)pthread_cond_init(&st->archive_cond, NULL);
    (void)pthread_cond_init(&st->scrub_cond, NULL);
    (void)pthread_mutex_init(&st->checkpoint_lock, NULL);
    (void)pthread_mutex_init(&st->durable.lock, NULL);
    (void)pthread_mutex_init(&st->durable.sync_lock, NULL);
}

static void deinit_locks(alm_storage *st)
{
    (void)pthread_mutex_destroy(&st->queue_lock);
    (void)pthread_cond_destroy(&st->crowd_cond);
    (void)pthread_mutex_destroy(&st->publish_lock);
    (void)pthread_mutex_destroy(&st->tab_lock);
    (void)pthread_cond_destroy(&st->tab_cond);
    (void)pthread_mutex_destroy(&st->file_lock);
    (void)pthread_mutex_destroy(&st->touch_lock);
    (void)pthread_cond_destroy(&st->touch_cond);
    (void)pthread_mutex_destroy(&st->work_lock);
    (void)pthread_cond_destroy(&st->work_cond);
    (void)pthread_cond_destroy(&st->archive_cond);
    (void)pthread_cond_destroy(&st->scrub_cond);
    (void)pthread_mutex_destroy(&st->checkpoint_lock);
    (void)pthread_mutex_destroy(&st->durable.lock);
    (void)pthread_mutex_destroy(&st->durable.sync_lock);
}

alm_status alm_storage_new(alm_ctx *cx, const alm_io *io, const char *root,
                           const alm_storage_conf *conf, alm_storage **out)
{
    alm_storage *st = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *st, "the storage", &st));
    st->io = io;
    if (conf != NULL)
        st->conf = *conf;
    else
        alm_storage_conf_default(&st->conf);
    st->conf.wal_segment_bytes = ALM_MAX(st->conf.wal_segment_bytes, INT64_C(4096));
    st->queue_tail = &st->queue_head;
    st->next_table_id = st->next_part_id = st->next_file_id = st->next_seq = 1;
    st->next_dict_id = 1;
    st->durable.dir = -1;
    char wal[ALM_PATH_MAX];
    const int n = snprintf(st->root, sizeof st->root, "%s/db", root);
    alm_status e = n < 0 || (size_t)n >= sizeof st->root
                       ? alm_fail(cx, ALM_E_ARG, -1, "the path of the data is too long")
                       : ALM_OK;
    (void)snprintf(wal, sizeof wal, "%s/wal", st->root);
    if (e == ALM_OK)
        e = alm_wal_init(cx, &st->wal, io, wal, st->conf.wal_segment_bytes);
    if (e == ALM_OK)
        st->wal.sync_times = &st->counters.log_syncs;
    if (e != ALM_OK) {
        free(st);
        return e;
    }
    io->limit_maps(io, st->conf.maps_max);
    init_locks(st);
    alm_damages_init(&st->damages);
    alm_decoded_init(&st->decoded, io, &st->spill, st->conf.decoded_bytes_max);
    st->decoded.copies_max = st->conf.copies_bytes_max;
    e = alm_catver_empty(cx, &st->current);
    if (e != ALM_OK) {
        alm_storage_free(st);
        return e;
    }
    *out = st;
    return ALM_OK;
}

void alm_storage_free(alm_storage *st)
{
    st->closing = true; /* files stay */
    alm_catver_release(st->current);
    alm_wal_deinit(&st->wal);
    alm_durable_close(st);
    alm_owner_leave(&st->owner);
    ALM_ASSERT(st->n_files == 0);
    alm_decoded_deinit(&st->decoded);
    alm_damages_deinit(&st->damages);
    free(st->failing);
    free(st->files);
    alm_dict_list_free(&st->catalog_dicts);
    alm_retired_free(st);
    deinit_locks(st);
    free(st);
}
