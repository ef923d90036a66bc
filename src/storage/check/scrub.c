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

static void wait_until(alm_storage *st, const alm_ctx *cx, int64_t at_ns)
{
    (void)pthread_mutex_lock(&st->work_lock);
    for (int64_t now = alm_monotonic_ns(); now < at_ns && !st->stop; now = alm_monotonic_ns()) {
        const int64_t ms = ALM_MIN((at_ns - now) / 1000000 + 1, (int64_t)WAIT_MS);
        (void)alm_cond_wait_ms(&st->scrub_cond, &st->work_lock, ms);
        if (cx->cancel != NULL && atomic_load(cx->cancel))
            break;
    }
    (void)pthread_mutex_unlock(&st->work_lock);
}

static alm_status pace(alm_ctx *cx, void *arg, int64_t bytes)
{
    scrubbing *s = arg;
    const int64_t rate = s->st->conf.scrub_bytes_per_second;
    s->result->bytes += bytes;
    alm_count(&s->st->scrub.bytes, bytes);
    if (!s->paced)
        return alm_check(cx);
    atomic_fetch_add(&s->st->scrub.done, bytes);
    if (rate == 0)
        return alm_check(cx);
    /* A pass that had to wait for the disk does not make up for it in a burst. */
    const int64_t now = alm_monotonic_ns();
    s->next_ns = ALM_MAX(s->next_ns, now - INT64_C(1000000) * BURST_MS);
    s->next_ns += (int64_t)((double)bytes / (double)rate * 1e9);
    if (s->next_ns > now)
        wait_until(s->st, cx, s->next_ns);
    return alm_check(cx);
}

/* ---------------------------------------------------------------------- findings */

static void found(scrubbing *s, const char *what)
{
    alm_scrub_result *r = s->result;
    if (r->findings++ == s->before) {
        r->damaged++;
        if (r->damaged == 1)
            (void)snprintf(r->first, sizeof r->first, "%s", what);
    }
}

static void part_finding(void *arg, const char *line)
{
    scrubbing *s = arg;
    char what[sizeof s->result->first];
    (void)snprintf(what, sizeof what, "table '%.128s': %.1024s", s->table, line);
    alm_damage_of_file(s->file, what);
    found(s, what);
}

/* Damage of what memory has, too: not of a part. */
static void other_finding(scrubbing *s, alm_damage_key key)
{
    char what[sizeof s->result->first];
    if (s->table != NULL)
        (void)snprintf(what, sizeof what, "table '%.128s': %s", s->table, s->cx->err.msg);
    else
        (void)snprintf(what, sizeof what, "%s", s->cx->err.msg);
    alm_error_clear(s->cx);
    alm_damage_add(s->st, key, what);
    found(s, what);
}

static bool is_damage(alm_status st)
{
    return st == ALM_E_CORRUPT || st == ALM_E_UNSUPPORTED;
}

/* ------------------------------------------------------------------------- parts */

/* Is the file there and of its size? What keeps it from being opened for now is an error, and says nothing about it. */
static alm_status look(scrubbing *s, const char *path, const alm_part_place *place, bool shared,
                       bool *there)
{
    const alm_io *io = s->st->io;
    alm_io_stat meta;
    char line[ALM_PATH_MAX + 128];
    int e = io->stat(io, path, &meta);
    const int h = e < 0 ? e : io->open(io, path, ALM_IO_READ);
    if (h >= 0)
        (void)io->close(io, h);
    if (h == -EMFILE || h == -ENFILE || h == -ENOMEM)
        return alm_io_fail(s->cx, h, path);
    *there = h >= 0 && !meta.is_dir && alm_place_fits(place, shared, meta.size_bytes);
    if (*there)
        return ALM_OK;
    if (e < 0 || h < 0)
        (void)snprintf(line, sizeof line, "part file '%s' cannot be opened: %s", path,
                       strerror(h < 0 ? -h : EIO));
    else
        (void)snprintf(line, sizeof line,
                       "part file '%s' has %lld bytes, not the %lld it should have", path,
                       (long long)meta.size_bytes, (long long)place->bytes);
    part_finding(s, line);
    return ALM_OK;
}

static alm_status one_file(scrubbing *s, alm_file *file)
{
    char path[ALM_PATH_MAX];
    bool there = false;
    alm_part_claim claim;
    alm_part_check_arg arg = {.report = part_finding, .arg = s, .pace = pace};
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    alm_file_claim(file, &claim);
    s->file = file;
    s->before = s->result->findings;
    s->result->files++;
    ALM_TRY(look(s, path, &place, shared, &there));
    if (there)
        ALM_TRY(alm_part_check(s->cx, s->st->io, path, shared ? &place : NULL, &claim, &arg));
    if (s->result->findings > s->before)
        return ALM_OK;
    if (claim.footer_crc == 0) /* an older catalogue did not say it */
        atomic_store(&file->footer_crc, arg.footer_crc);
    alm_damage_end(s->st, (alm_damage_key){ALM_DAMAGE_PART, file->table_id, file->id});
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
    size_t n = 0;
    for (uint32_t i = 0; set != NULL && i < set->n; i++)
        n += 1u + set->parts[i]->n_overlays;
    return n;
}

static alm_status list_files(scrubbing *s, const alm_version *v, uint64_t **ids, size_t *n)
{
    *n = 0;
    ALM_TRY(alm_heap_bytes(s->cx,
                           (most_files(v->parts) + most_files(v->detached) + 1) * sizeof **ids,
                           "a list of files", ids));
    list_set(v->parts, *ids, n);
    list_set(v->detached, *ids, n);
    return ALM_OK;
}

static alm_status parts(scrubbing *s, const uint64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        alm_file *file = alm_file_find(s->st, ids[i]);
        if (file == NULL)
            continue; /* merged, dropped ... meanwhile */
        const alm_status st = one_file(s, file);
        alm_file_release(file);
        ALM_TRY(st);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ dictionaries */

/* Under checkpoint_lock, so that no checkpoint removes the file meanwhile. */
static alm_status compare_dictionary(scrubbing *s, alm_damage_key key, alm_symbols *symbols,
                                     const char *dir, const char *name, int64_t *bytes)
{
    alm_status st = alm_symbols_compare(s->cx, symbols, s->st->io, dir, name, bytes);
    if (st == ALM_OK && *bytes > 0)
        s->result->files++;
    if (is_damage(st)) {
        s->result->files++;
        other_finding(s, key);
        if (atomic_load(&s->st->failed) || alm_symbols_lost(symbols) != NULL)
            return ALM_OK; /* read-only, or nobody has its values: it stays known */
        st = alm_symbols_rewrite(s->cx, symbols, s->st->io, dir, name);
        if (st == ALM_OK)
            alm_log_warn("storage", "the dictionary '%s/%s' is written anew", dir, name);
    }
    ALM_TRY(st);
    alm_damage_end(s->st, key);
    return ALM_OK;
}

static alm_status one_dictionary(scrubbing *s, uint64_t table_id, uint32_t col_id,
                                 alm_symbols *symbols)
{
    char dir[ALM_PATH_MAX], name[32];
    int64_t bytes = 0;
    const alm_damage_key key = {ALM_DAMAGE_DICTIONARY, table_id, col_id};
    alm_storage_table_dir(s->st, table_id, dir, sizeof dir);
    (void)snprintf(name, sizeof name, "%u.dict", col_id);
    s->before = s->result->findings;
    (void)pthread_mutex_lock(&s->st->checkpoint_lock);
    if (!alm_catalog_names_dict(s->st, table_id, col_id)) {
        /* not saved yet, or dropped meanwhile and removed by a checkpoint: there is no file */
        (void)pthread_mutex_unlock(&s->st->checkpoint_lock);
        return ALM_OK;
    }
    const alm_status st = compare_dictionary(s, key, symbols, dir, name, &bytes);
    (void)pthread_mutex_unlock(&s->st->checkpoint_lock);
    ALM_TRY(st);
    return pace(s->cx, s, bytes);
}

static alm_status dictionaries(scrubbing *s, uint64_t table_id, const alm_schema *schema)
{
    for (uint32_t c = 0; c < schema->n_cols; c++)
        if (schema->symbols[c] != NULL)
            ALM_TRY(one_dictionary(s, table_id, schema->cols[c].id, schema->symbols[c]));
    return ALM_OK;
}

/* Takes over the reference: the version may go while its files are read. */
static alm_status one_table(scrubbing *s, alm_version *v)
{
    alm_tab *tab = alm_tab_retain(v->tab); /* owns dictionaries and names */
    alm_schema *schema = alm_schema_retain(v->schema);
    const uint64_t table_id = v->table.id;
    uint64_t *ids = NULL;
    size_t n = 0;
    s->table = v->table.name;
    alm_status st = list_files(s, v, &ids, &n);
    alm_version_release(v);
    if (st == ALM_OK)
        st = parts(s, ids, n);
    if (st == ALM_OK)
        st = dictionaries(s, table_id, schema);
    free(ids);
    alm_schema_release(schema);
    alm_tab_release(tab);
    return st;
}

/* --------------------------------------------------------------- catalogue and log */

static alm_status compare_catalogue(scrubbing *s, bool previous, int64_t *bytes)
{
    alm_storage *st = s->st;
    (void)pthread_mutex_lock(&st->checkpoint_lock); /* while one is written they change names */
    const alm_status e = previous ? alm_generation_compare(s->cx, st, bytes)
                                  : alm_catalog_compare(s->cx, st, ALM_CATALOG,
                                                        atomic_load(&st->checkpoint_lsn), bytes);
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return e;
}

/* Memory has what these said: a checkpoint writes the one anew, and makes the other needless. */
static alm_status catalogue(scrubbing *s, bool previous)
{
    int64_t bytes = 0;
    const alm_damage_key key = {ALM_DAMAGE_CATALOGUE, 0, previous};
    s->table = NULL;
    s->before = s->result->findings;
    const alm_status st = compare_catalogue(s, previous, &bytes);
    s->result->files += !previous || bytes > 0 || st != ALM_OK;
    if (is_damage(st)) {
        other_finding(s, key);
        if (s->st->hold.held || atomic_load(&s->st->failed))
            return ALM_OK; /* it is written when the checkpoint is released; or it stays known */
        ALM_TRY(alm_checkpoint(s->cx, s->st, ALM_CHECKPOINT_KEEP_BYTES));
        alm_log_warn("storage", "the catalogue%s is written anew", previous ? " before" : "");
    } else if (st != ALM_OK) {
        return st;
    }
    alm_damage_end(s->st, key);
    return pace(s->cx, s, bytes);
}

/* The oldest finished segment behind this number; it is not used again while it is read. */
static bool next_segment(alm_storage *st, uint64_t behind, alm_wal_segment *out)
{
    alm_wal *wal = &st->wal;
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

static alm_status log_segments(scrubbing *s)
{
    alm_wal_segment seg = {0};
    bool any = false;
    s->table = NULL;
    while (next_segment(s->st, seg.number, &seg)) {
        const alm_damage_key key = {ALM_DAMAGE_LOG, 0, seg.number};
        s->before = s->result->findings;
        s->result->files++;
        const alm_status st = alm_wal_verify(s->cx, &s->st->wal, &seg);
        if (is_damage(st)) {
            other_finding(s, key);
            any = true;
        } else if (st == ALM_OK) {
            alm_damage_end(s->st, key);
        }
        if (!is_damage(st))
            ALM_TRY(st);
        ALM_TRY(pace(s->cx, s, seg.bytes));
    }
    return any && !atomic_load(&s->st->failed) ? alm_checkpoint(s->cx, s->st, 0) : ALM_OK;
}

/* ------------------------------------------------------------------------ passes */

static int64_t bytes_of_all(alm_storage *st)
{
    alm_catver *cat = alm_catver_current(st);
    int64_t n = 0;
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *v = alm_catver_at(cat, i);
        n += v->parts->bytes + (v->detached != NULL ? v->detached->bytes : 0);
    }
    alm_catver_release(cat);
    return n;
}

/* The table with the least number behind this one (retained), NULL: there is none. */
static alm_version *next_table(alm_storage *st, uint64_t behind)
{
    alm_catver *cat = alm_catver_current(st);
    size_t lo = 0, hi = cat->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (alm_catver_at(cat, mid)->table.id <= behind)
            lo = mid + 1;
        else
            hi = mid;
    }
    alm_version *v = lo < cat->n ? alm_version_retain(alm_catver_at(cat, lo)) : NULL;
    alm_catver_release(cat);
    return v;
}

static alm_status all_tables(scrubbing *s)
{
    uint64_t behind = 0;
    for (alm_version *v = NULL; (v = next_table(s->st, behind)) != NULL;) {
        ALM_ASSERT(v->table.id > behind);
        behind = v->table.id;
        ALM_TRY(one_table(s, v));
    }
    return ALM_OK;
}

static alm_status whole_pass(scrubbing *s)
{
    alm_scrub_state *state = &s->st->scrub;
    atomic_store(&state->total, bytes_of_all(s->st));
    atomic_store(&state->done, 0);
    atomic_store(&state->running, true);
    alm_status st = all_tables(s);
    if (st == ALM_OK)
        st = catalogue(s, false);
    if (st == ALM_OK)
        st = catalogue(s, true);
    if (st == ALM_OK)
        st = log_segments(s);
    atomic_store(&state->running, false);
    return st;
}

alm_status alm_scrub_all(alm_ctx *cx, alm_storage *st)
{
    alm_scrub_result result = {0};
    scrubbing s = {.cx = cx, .st = st, .result = &result};
    return whole_pass(&s);
}

alm_status alm_storage_scrub(alm_ctx *cx, alm_storage *st, uint64_t table_id, alm_scrub_result *out)
{
    scrubbing s = {.cx = cx, .st = st, .result = out};
    *out = (alm_scrub_result){0};
    alm_version *v = alm_storage_version(st, table_id);
    if (v == NULL)
        return ALM_OK; /* dropped meanwhile: there is nothing to look at */
    return one_table(&s, v);
}

void alm_storage_scrub_status(alm_storage *st, alm_scrub_status *out)
{
    const alm_scrub_state *s = &st->scrub;
    *out = (alm_scrub_status){.running = atomic_load(&s->running),
                              .bytes_done = atomic_load(&s->done),
                              .bytes_total = atomic_load(&s->total),
                              .bytes = alm_counted(&s->bytes),
                              .passes = alm_counted(&s->passes),
                              .last_us = atomic_load(&s->last_us)};
}

/* ---------------------------------------------------------------------- schedule */

static const char *const STAMP = "scrub";

/* When the last whole pass began, 0: there was none; and since when the next one is waited for. What cannot be read is as
 * if it were not there. */
typedef struct scrub_stamp {
    long long began_us, from_us;
} scrub_stamp;

static scrub_stamp read_stamp(alm_ctx *cx, alm_storage *st)
{
    char path[ALM_PATH_MAX];
    alm_buf text;
    scrub_stamp s = {0, 0};
    (void)snprintf(path, sizeof path, "%s/%s", st->root, STAMP);
    alm_buf_init(&text, NULL);
    if (alm_io_read_text(cx, st->io, path, 256, &text) == ALM_OK && text.len > 0 &&
        alm_buf_append(cx, &text, "", 1) == ALM_OK &&
        sscanf(text.ptr, "almanac scrub 1\nbegan %lld\nfrom %lld\n", &s.began_us, &s.from_us) != 2)
        s = (scrub_stamp){0, 0};
    alm_buf_deinit(&text);
    alm_error_clear(cx);
    return s;
}

static void write_stamp(alm_ctx *cx, alm_storage *st, scrub_stamp s)
{
    char text[96];
    const int n = snprintf(text, sizeof text, "almanac scrub 1\nbegan %lld\nfrom %lld\n",
                           s.began_us, s.from_us);
    if (alm_io_replace(cx, st->io, st->root, STAMP, text, (size_t)n) != ALM_OK)
        alm_log_warn("storage", "the next start does not know of this scrub: %s", cx->err.msg);
    alm_error_clear(cx);
}

/* What is left of the interval, whatever the clock did and however often the server was restarted meanwhile. */
static int64_t first_wait_ms(alm_ctx *cx, alm_storage *st)
{
    const int64_t interval_ms = st->conf.scrub_interval_ms;
    const int64_t now_us = st->io->wall_ns(st->io) / 1000;
    scrub_stamp s = read_stamp(cx, st);
    atomic_store(&st->scrub.last_us, s.began_us);
    if (s.from_us == 0 || s.from_us > now_us) {
        s.from_us = now_us;
        write_stamp(cx, st, s);
    }
    return ALM_MAX(interval_ms - (now_us - s.from_us) / 1000, INT64_C(0));
}

/* Milliseconds until the next one. */
static int64_t scheduled_pass(alm_ctx *cx, alm_storage *st)
{
    alm_scrub_result r = {0};
    scrubbing s = {.cx = cx, .st = st, .result = &r, .paced = true};
    const int64_t began_us = st->io->wall_ns(st->io) / 1000, began_ns = alm_monotonic_ns();
    s.next_ns = began_ns;
    const alm_status e = whole_pass(&s);
    const int64_t took_ms = (alm_monotonic_ns() - began_ns) / 1000000;
    if (e == ALM_E_CANCEL)
        return RETRY_MS;
    if (e != ALM_OK) {
        alm_log_warn("storage", "a scrub did not come to its end, and is tried again: %s",
                     cx->err.msg);
        alm_error_clear(cx);
        return ALM_MIN((int64_t)RETRY_MS, st->conf.scrub_interval_ms);
    }
    alm_count(&st->scrub.passes, 1);
    atomic_store(&st->scrub.last_us, began_us);
    write_stamp(cx, st, (scrub_stamp){began_us, began_us});
    if (r.damaged > 0 || took_ms >= BURST_MS)
        alm_log_info("storage", "scrub of %lld files, %lld bytes in %lld ms: %lld are damaged",
                     (long long)r.files, (long long)r.bytes, (long long)took_ms,
                     (long long)r.damaged);
    return ALM_MAX(st->conf.scrub_interval_ms - took_ms, INT64_C(1));
}

static bool has_stopped(alm_storage *st)
{
    (void)pthread_mutex_lock(&st->work_lock);
    const bool stop = st->stop;
    (void)pthread_mutex_unlock(&st->work_lock);
    return stop;
}

static void *scrub_main(void *arg)
{
    alm_storage *st = arg;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.io = st->io, .arena = &arena, .cancel = &st->worker_cancel};
    int64_t wait_ms = first_wait_ms(&cx, st);
    while (!has_stopped(st)) {
        wait_until(st, &cx, alm_monotonic_ns() + wait_ms * 1000000);
        if (has_stopped(st))
            break;
        wait_ms = scheduled_pass(&cx, st);
        alm_arena_reset(&arena);
    }
    alm_arena_deinit(&arena);
    return NULL;
}

alm_status alm_scrub_start(alm_ctx *cx, alm_storage *st)
{
    if (st->conf.scrub_interval_ms == 0)
        return ALM_OK;
    const int e = pthread_create(&st->scrub.thread, NULL, scrub_main, st);
    st->scrub.started = e == 0;
    return e == 0 ? ALM_OK : alm_io_fail(cx, -e, "start the thread of the scrub");
}

void alm_scrub_stop(alm_storage *st)
{
    if (st->scrub.started)
        (void)pthread_join(st->scrub.thread, NULL);
    st->scrub.started = false;
}
