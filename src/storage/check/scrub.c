/*
 * scrub.c - see scrub.h.
 *
 * Files       Of a table the numbers of its files are listed first; each is then looked up again and held
 *             while it is read, so that a slow pass keeps no version, and no file but one, from going.
 */
#include "storage/check/scrub.h"
#include "storage/recover/generation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/wait.h"
#include "storage/dict/dict.h"
#include "storage/part/pack.h"
#include "storage/recover/recover.h"

enum { RETRY_MS = 60000, BURST_MS = 1000, WAIT_MS = 10000 };

typedef struct scrubbing {
    alm_ctx *cx;
    alm_storage *st;
    bool paced;        /* by storage.scrub.rate */
    int64_t next_ns;   /* when what was read so far may have been read */
    const char *table; /* of the table at hand */
    const alm_file *file;
    int64_t before; /* findings in files before this one */
    alm_scrub_result *result;
} scrubbing;

/* ------------------------------------------------------------------------- pace */

static void wait_until(alm_storage *storage, const alm_ctx *cx, int64_t at_ns)
{
    (void)pthread_mutex_lock(&storage->work_lock);
    for (int64_t now = alm_monotonic_ns(); now < at_ns && !storage->stop;
         now = alm_monotonic_ns()) {
        const int64_t millis = ALM_MIN((at_ns - now) / 1000000 + 1, (int64_t)WAIT_MS);
        (void)alm_cond_wait_ms(&storage->scrub_cond, &storage->work_lock, millis);
        if (cx->cancel != NULL && atomic_load(cx->cancel))
            break;
    }
    (void)pthread_mutex_unlock(&storage->work_lock);
}

static alm_status pace(alm_ctx *cx, void *arg, int64_t bytes)
{
    scrubbing *self = arg;
    const int64_t rate = self->st->conf.scrub_bytes_per_second;
    self->result->bytes += bytes;
    alm_count(&self->st->scrub.bytes, bytes);
    if (!self->paced)
        return alm_check(cx);
    atomic_fetch_add(&self->st->scrub.done, bytes);
    if (rate == 0)
        return alm_check(cx);
    /* A pass that had to wait for the disk does not make up for it in a burst. */
    const int64_t now = alm_monotonic_ns();
    self->next_ns = ALM_MAX(self->next_ns, now - INT64_C(1000000) * BURST_MS);
    self->next_ns += (int64_t)((double)bytes / (double)rate * 1e9);
    if (self->next_ns > now)
        wait_until(self->st, cx, self->next_ns);
    return alm_check(cx);
}

/* ---------------------------------------------------------------------- findings */

static void scrub_found(scrubbing *self, const char *what)
{
    alm_scrub_result *result = self->result;
    if (result->findings++ == self->before) {
        result->damaged++;
        if (result->damaged == 1)
            (void)snprintf(result->first, sizeof result->first, "%s", what);
    }
}

static void part_finding(void *arg, const char *line)
{
    scrubbing *self = arg;
    char what[sizeof self->result->first];
    (void)snprintf(what, sizeof what, "table '%.128s': %.1024s", self->table, line);
    alm_damage_of_file(self->file, what);
    scrub_found(self, what);
}

/* Damage of what memory has, too: not of a part. */
static void other_finding(scrubbing *self, alm_damage_key key)
{
    char what[sizeof self->result->first];
    if (self->table != NULL)
        (void)snprintf(what, sizeof what, "table '%.128s': %s", self->table, self->cx->err.msg);
    else
        (void)snprintf(what, sizeof what, "%s", self->cx->err.msg);
    alm_error_clear(self->cx);
    alm_damage_add(self->st, key, what);
    scrub_found(self, what);
}

static bool is_damage(alm_status status)
{
    return status == ALM_E_CORRUPT || status == ALM_E_UNSUPPORTED;
}

/* ------------------------------------------------------------------------- parts */

/* Is the file there and of its size? What keeps it from being opened for now is an error, and says nothing about it. */
static alm_status scrub_look(scrubbing *self, const char *path, const alm_part_place *place,
                             bool shared, bool *there)
{
    const alm_io *io = self->st->io;
    alm_io_stat meta;
    char line[ALM_PATH_MAX + 128];
    int code = io->stat(io, path, &meta);
    const int handle = code < 0 ? code : io->open(io, path, ALM_IO_READ);
    if (handle >= 0)
        (void)io->close(io, handle);
    if (handle == -EMFILE || handle == -ENFILE || handle == -ENOMEM)
        return alm_io_fail(self->cx, handle, path);
    *there = handle >= 0 && !meta.is_dir && alm_place_fits(place, shared, meta.size_bytes);
    if (*there)
        return ALM_OK;
    if (code < 0 || handle < 0)
        (void)snprintf(line, sizeof line, "part file '%s' cannot be opened: %s", path,
                       strerror(handle < 0 ? -handle : EIO));
    else
        (void)snprintf(line, sizeof line,
                       "part file '%s' has %lld bytes, not the %lld it should have", path,
                       (long long)meta.size_bytes, (long long)place->bytes);
    part_finding(self, line);
    return ALM_OK;
}

static alm_status scrub_one_file(scrubbing *self, alm_file *file)
{
    char path[ALM_PATH_MAX];
    bool there = false;
    alm_part_claim claim;
    alm_part_check_arg arg = {.report = part_finding, .arg = self, .pace = pace};
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    alm_file_claim(file, &claim);
    self->file = file;
    self->before = self->result->findings;
    self->result->files++;
    ALM_TRY(scrub_look(self, path, &place, shared, &there));
    if (there)
        ALM_TRY(alm_part_check(self->cx, self->st->io, path, shared ? &place : NULL, &claim, &arg));
    if (self->result->findings > self->before)
        return ALM_OK;
    if (claim.footer_crc == 0) /* an older catalogue did not say it */
        atomic_store(&file->footer_crc, arg.footer_crc);
    alm_damage_end(self->st, (alm_damage_key){ALM_DAMAGE_PART, file->table_id, file->id});
    return ALM_OK;
}

static void list_set(const alm_part_set *set, uint64_t *ids, size_t *n)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        const alm_part_ref *ref = set->parts[i];
        ids[(*n)++] = ref->file->id;
        for (uint32_t j = 0; j < ref->n_overlays; j++)
            if (j == 0 || ref->overlays[j].file != ref->overlays[j - 1].file)
                ids[(*n)++] = ref->overlays[j].file->id;
    }
}

static size_t most_files(const alm_part_set *set)
{
    size_t count = 0;
    for (uint32_t i = 0; set != NULL && i < set->n; i++)
        count += 1u + set->parts[i]->n_overlays;
    return count;
}

static alm_status list_files(scrubbing *self, const alm_version *version, uint64_t **ids, size_t *n)
{
    *n = 0;
    ALM_TRY(alm_heap_bytes(
        self->cx, (most_files(version->parts) + most_files(version->detached) + 1) * sizeof **ids,
        "a list of files", ids));
    list_set(version->parts, *ids, n);
    list_set(version->detached, *ids, n);
    return ALM_OK;
}

static alm_status scrub_parts(scrubbing *self, const uint64_t *ids, size_t n_ids)
{
    for (size_t i = 0; i < n_ids; i++) {
        alm_file *file = alm_file_find(self->st, ids[i]);
        if (file == NULL)
            continue; /* merged, dropped ... meanwhile */
        const alm_status status = scrub_one_file(self, file);
        alm_file_release(file);
        ALM_TRY(status);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ dictionaries */

/* Under checkpoint_lock, so that no checkpoint removes the file meanwhile. */
static alm_status compare_dictionary(scrubbing *self, alm_damage_key key, alm_symbols *symbols,
                                     const char *dir, const char *name, int64_t *bytes)
{
    alm_status status = alm_symbols_compare(self->cx, symbols, self->st->io, dir, name, bytes);
    if (status == ALM_OK && *bytes > 0)
        self->result->files++;
    if (is_damage(status)) {
        self->result->files++;
        other_finding(self, key);
        if (atomic_load(&self->st->failed) || alm_symbols_lost(symbols) != NULL)
            return ALM_OK; /* read-only, or nobody has its values: it stays known */
        status = alm_symbols_rewrite(self->cx, symbols, self->st->io, dir, name);
        if (status == ALM_OK)
            alm_log_warn("storage", "the dictionary '%s/%s' is written anew", dir, name);
    }
    ALM_TRY(status);
    alm_damage_end(self->st, key);
    return ALM_OK;
}

static alm_status one_dictionary(scrubbing *self, uint64_t table_id, uint32_t col_id,
                                 alm_symbols *symbols)
{
    char dir[ALM_PATH_MAX], name[32];
    int64_t bytes = 0;
    const alm_damage_key key = {ALM_DAMAGE_DICTIONARY, table_id, col_id};
    alm_storage_table_dir(self->st, table_id, dir, sizeof dir);
    (void)snprintf(name, sizeof name, "%u.dict", col_id);
    self->before = self->result->findings;
    (void)pthread_mutex_lock(&self->st->checkpoint_lock);
    if (!alm_catalog_names_dict(self->st, table_id, col_id)) {
        /* not saved yet, or dropped meanwhile and removed by a checkpoint: there is no file */
        (void)pthread_mutex_unlock(&self->st->checkpoint_lock);
        return ALM_OK;
    }
    const alm_status status = compare_dictionary(self, key, symbols, dir, name, &bytes);
    (void)pthread_mutex_unlock(&self->st->checkpoint_lock);
    ALM_TRY(status);
    return pace(self->cx, self, bytes);
}

static alm_status dictionaries(scrubbing *self, uint64_t table_id, const alm_schema *schema)
{
    for (uint32_t col = 0; col < schema->n_cols; col++)
        if (schema->symbols[col] != NULL)
            ALM_TRY(one_dictionary(self, table_id, schema->cols[col].id, schema->symbols[col]));
    return ALM_OK;
}

/* Takes over the reference: the version may go while its files are read. */
static alm_status one_table(scrubbing *self, alm_version *version)
{
    alm_tab *tab = alm_tab_retain(version->tab); /* owns dictionaries and names */
    alm_schema *schema = alm_schema_retain(version->schema);
    const uint64_t table_id = version->table.id;
    uint64_t *ids = NULL;
    size_t n = 0;
    self->table = version->table.name;
    alm_status status = list_files(self, version, &ids, &n);
    alm_version_release(version);
    if (status == ALM_OK)
        status = scrub_parts(self, ids, n);
    if (status == ALM_OK)
        status = dictionaries(self, table_id, schema);
    free(ids);
    alm_schema_release(schema);
    alm_tab_release(tab);
    return status;
}

/* --------------------------------------------------------------- catalogue and log */

static alm_status compare_catalogue(scrubbing *self, bool previous, int64_t *bytes)
{
    alm_storage *storage = self->st;
    (void)pthread_mutex_lock(
        &storage->checkpoint_lock); /* while one is written they change names */
    const alm_status status =
        previous ? alm_generation_compare(self->cx, storage, bytes)
                 : alm_catalog_compare(self->cx, storage, ALM_CATALOG,
                                       atomic_load(&storage->checkpoint_lsn), bytes);
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return status;
}

/* Memory has what these said: a checkpoint writes the one anew, and makes the other needless. */
static alm_status scrub_catalogue(scrubbing *self, bool previous)
{
    int64_t bytes = 0;
    const alm_damage_key key = {ALM_DAMAGE_CATALOGUE, 0, previous};
    self->table = NULL;
    self->before = self->result->findings;
    const alm_status status = compare_catalogue(self, previous, &bytes);
    self->result->files += !previous || bytes > 0 || status != ALM_OK;
    if (is_damage(status)) {
        other_finding(self, key);
        if (self->st->hold.held || atomic_load(&self->st->failed))
            return ALM_OK; /* it is written when the checkpoint is released; or it stays known */
        ALM_TRY(alm_checkpoint(self->cx, self->st, ALM_CHECKPOINT_KEEP_BYTES));
        alm_log_warn("storage", "the catalogue%s is written anew", previous ? " before" : "");
    } else if (status != ALM_OK) {
        return status;
    }
    alm_damage_end(self->st, key);
    return pace(self->cx, self, bytes);
}

/* The oldest finished segment behind this number; it is not used again while it is read. */
static bool scrub_next_segment(alm_storage *storage, uint64_t behind, alm_wal_segment *out)
{
    alm_wal *wal = &storage->wal;
    bool any = false;
    (void)pthread_mutex_lock(&wal->lock);
    wal->scrubbed = 0;
    for (size_t i = 0; i + 1 < wal->n_segments && !any; i++) {
        any = wal->segments[i].number > behind;
        if (any)
            *out = wal->segments[i];
    }
    if (any)
        wal->scrubbed = out->number;
    (void)pthread_mutex_unlock(&wal->lock);
    return any;
}

static alm_status log_segments(scrubbing *self)
{
    alm_wal_segment seg = {0};
    bool any = false;
    self->table = NULL;
    while (scrub_next_segment(self->st, seg.number, &seg)) {
        const alm_damage_key key = {ALM_DAMAGE_LOG, 0, seg.number};
        self->before = self->result->findings;
        self->result->files++;
        const alm_status status = alm_wal_verify(self->cx, &self->st->wal, &seg);
        if (is_damage(status)) {
            other_finding(self, key);
            any = true;
        } else if (status == ALM_OK) {
            alm_damage_end(self->st, key);
        }
        if (!is_damage(status))
            ALM_TRY(status);
        ALM_TRY(pace(self->cx, self, seg.bytes));
    }
    return any && !atomic_load(&self->st->failed) ? alm_checkpoint(self->cx, self->st, 0) : ALM_OK;
}

/* ------------------------------------------------------------------------ passes */

static int64_t bytes_of_all(alm_storage *storage)
{
    alm_catver *cat = alm_catver_current(storage);
    int64_t count = 0;
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *version = alm_catver_at(cat, i);
        count += version->parts->bytes + (version->detached != NULL ? version->detached->bytes : 0);
    }
    alm_catver_release(cat);
    return count;
}

/* The table with the least number behind this one (retained), NULL: there is none. */
static alm_version *next_table(alm_storage *storage, uint64_t behind)
{
    alm_catver *cat = alm_catver_current(storage);
    size_t lo = 0, hi = cat->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (alm_catver_at(cat, mid)->table.id <= behind)
            lo = mid + 1;
        else
            hi = mid;
    }
    alm_version *version = lo < cat->n ? alm_version_retain(alm_catver_at(cat, lo)) : NULL;
    alm_catver_release(cat);
    return version;
}

static alm_status all_tables(scrubbing *self)
{
    uint64_t behind = 0;
    for (alm_version *version = NULL; (version = next_table(self->st, behind)) != NULL;) {
        ALM_ASSERT(version->table.id > behind);
        behind = version->table.id;
        ALM_TRY(one_table(self, version));
    }
    return ALM_OK;
}

static alm_status whole_pass(scrubbing *self)
{
    alm_scrub_state *state = &self->st->scrub;
    atomic_store(&state->total, bytes_of_all(self->st));
    atomic_store(&state->done, 0);
    atomic_store(&state->running, true);
    alm_status status = all_tables(self);
    if (status == ALM_OK)
        status = scrub_catalogue(self, false);
    if (status == ALM_OK)
        status = scrub_catalogue(self, true);
    if (status == ALM_OK)
        status = log_segments(self);
    atomic_store(&state->running, false);
    return status;
}

alm_status alm_scrub_all(alm_ctx *cx, alm_storage *storage)
{
    alm_scrub_result result = {0};
    scrubbing self = {.cx = cx, .st = storage, .result = &result};
    return whole_pass(&self);
}

alm_status alm_storage_scrub(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                             alm_scrub_result *out)
{
    scrubbing self = {.cx = cx, .st = storage, .result = out};
    *out = (alm_scrub_result){0};
    alm_version *version = alm_storage_version(storage, table_id);
    if (version == NULL)
        return ALM_OK; /* dropped meanwhile: there is nothing to look at */
    return one_table(&self, version);
}

void alm_storage_scrub_status(alm_storage *storage, alm_scrub_status *out)
{
    const alm_scrub_state *scrub_state = &storage->scrub;
    *out = (alm_scrub_status){.running = atomic_load(&scrub_state->running),
                              .bytes_done = atomic_load(&scrub_state->done),
                              .bytes_total = atomic_load(&scrub_state->total),
                              .bytes = alm_counted(&scrub_state->bytes),
                              .passes = alm_counted(&scrub_state->passes),
                              .last_us = atomic_load(&scrub_state->last_us)};
}

/* ---------------------------------------------------------------------- schedule */

static const char *const STAMP = "scrub";

/* When the last whole pass began, 0: there was none; and since when the next one is waited for. What cannot be read is as
 * if it were not there. */
typedef struct scrub_stamp {
    long long began_us, from_us;
} scrub_stamp;

static scrub_stamp read_stamp(alm_ctx *cx, alm_storage *storage)
{
    char path[ALM_PATH_MAX];
    alm_buf text;
    scrub_stamp stamp = {0, 0};
    (void)snprintf(path, sizeof path, "%s/%s", storage->root, STAMP);
    alm_buf_init(&text, NULL);
    if (alm_io_read_text(cx, storage->io, path, 256, &text) == ALM_OK && text.len > 0 &&
        alm_buf_append(cx, &text, "", 1) == ALM_OK &&
        sscanf(text.ptr, "almanac scrub 1\nbegan %lld\nfrom %lld\n", &stamp.began_us,
               &stamp.from_us) != 2)
        stamp = (scrub_stamp){0, 0};
    alm_buf_deinit(&text);
    alm_error_clear(cx);
    return stamp;
}

static void write_stamp(alm_ctx *cx, alm_storage *storage, scrub_stamp stamp)
{
    char text[96];
    const int len = snprintf(text, sizeof text, "almanac scrub 1\nbegan %lld\nfrom %lld\n",
                             stamp.began_us, stamp.from_us);
    if (alm_io_replace(cx, storage->io, storage->root, STAMP, text, (size_t)len) != ALM_OK)
        alm_log_warn("storage", "the next start does not know of this scrub: %s", cx->err.msg);
    alm_error_clear(cx);
}

/* What is left of the interval, whatever the clock did and however often the server was restarted meanwhile. */
static int64_t first_wait_ms(alm_ctx *cx, alm_storage *storage)
{
    const int64_t interval_ms = storage->conf.scrub_interval_ms;
    const int64_t now_us = storage->io->wall_ns(storage->io) / 1000;
    scrub_stamp stamp = read_stamp(cx, storage);
    atomic_store(&storage->scrub.last_us, stamp.began_us);
    if (stamp.from_us == 0 || stamp.from_us > now_us) {
        stamp.from_us = now_us;
        write_stamp(cx, storage, stamp);
    }
    return ALM_MAX(interval_ms - (now_us - stamp.from_us) / 1000, INT64_C(0));
}

/* Milliseconds until the next one. */
static int64_t scheduled_pass(alm_ctx *cx, alm_storage *storage)
{
    alm_scrub_result result = {0};
    scrubbing self = {.cx = cx, .st = storage, .result = &result, .paced = true};
    const int64_t began_us = storage->io->wall_ns(storage->io) / 1000,
                  began_ns = alm_monotonic_ns();
    self.next_ns = began_ns;
    const alm_status status = whole_pass(&self);
    const int64_t took_ms = (alm_monotonic_ns() - began_ns) / 1000000;
    if (status == ALM_E_CANCEL)
        return RETRY_MS;
    if (status != ALM_OK) {
        alm_log_warn("storage", "a scrub did not come to its end, and is tried again: %s",
                     cx->err.msg);
        alm_error_clear(cx);
        return ALM_MIN((int64_t)RETRY_MS, storage->conf.scrub_interval_ms);
    }
    alm_count(&storage->scrub.passes, 1);
    atomic_store(&storage->scrub.last_us, began_us);
    write_stamp(cx, storage, (scrub_stamp){began_us, began_us});
    if (result.damaged > 0 || took_ms >= BURST_MS)
        alm_log_info("storage", "scrub of %lld files, %lld bytes in %lld ms: %lld are damaged",
                     (long long)result.files, (long long)result.bytes, (long long)took_ms,
                     (long long)result.damaged);
    return ALM_MAX(storage->conf.scrub_interval_ms - took_ms, INT64_C(1));
}

static bool has_stopped(alm_storage *storage)
{
    (void)pthread_mutex_lock(&storage->work_lock);
    const bool stop = storage->stop;
    (void)pthread_mutex_unlock(&storage->work_lock);
    return stop;
}

static void *scrub_main(void *arg)
{
    alm_storage *storage = arg;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.io = storage->io, .arena = &arena, .cancel = &storage->worker_cancel};
    int64_t wait_ms = first_wait_ms(&cx, storage);
    while (!has_stopped(storage)) {
        wait_until(storage, &cx, alm_monotonic_ns() + wait_ms * 1000000);
        if (has_stopped(storage))
            break;
        wait_ms = scheduled_pass(&cx, storage);
        alm_arena_reset(&arena);
    }
    alm_arena_deinit(&arena);
    return NULL;
}

alm_status alm_scrub_start(alm_ctx *cx, alm_storage *storage)
{
    if (storage->conf.scrub_interval_ms == 0)
        return ALM_OK;
    const int code = pthread_create(&storage->scrub.thread, NULL, scrub_main, storage);
    storage->scrub.started = code == 0;
    return code == 0 ? ALM_OK : alm_io_fail(cx, -code, "start the thread of the scrub");
}

void alm_scrub_stop(alm_storage *storage)
{
    if (storage->scrub.started)
        (void)pthread_join(storage->scrub.thread, NULL);
    storage->scrub.started = false;
}
