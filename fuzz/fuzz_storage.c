/*
 * fuzz_storage.c - a data directory of which one file was changed: catalogue, log, dictionary, part or pack.
 *
 * Input       Byte 0 chooses the file, byte 1 (odd) cuts it at the place that bytes 2..4 say; then edits of four bytes: place (3), value.
 *             Checksums are made right again behind the edits, so that what the readers believe is reached, not their first look.
 * Expected    The directory is checked, opened, read whole, checkpointed and closed; each may fail with a message. Nothing crashes, and
 *             memory that a file asks for is bounded by the file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "io/sim.h"
#include "storage/log/wal.h"
#include "storage/part/format.h"
#include "storage/scan/scan.h"
#include "storage/storage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FILES_MAX = 64, DIRS_MAX = 16, PATH = 256, ROWS = 700, COLS = 5, EDITS_MAX = 64 };
#define DAY INT64_C(86400000000)

typedef struct image {
    char path[PATH];
    uint8_t *bytes;
    size_t n;
} image;

/* The directory as it was when the first input came. */
static image files[FILES_MAX];
static char dirs[DIRS_MAX][PATH];
static size_t n_files, n_dirs;

#define MUST(call) must((call), #call)

static void must(alm_status st, const char *what)
{
    if (st == ALM_OK)
        return;
    (void)fprintf(stderr, "fuzz_storage: %s: %d\n", what, (int)st);
    abort();
}

/* ---------------------------------------------------------------- the directory */

static void columns(alm_column *cols)
{
    static const char *const names[COLS] = {"ts", "n", "sym", "text", "x"};
    static const uint8_t types[COLS] = {ALM_T_TIMESTAMP, ALM_T_LONG, ALM_T_SYMBOL, ALM_T_VARCHAR,
                                        ALM_T_DOUBLE};
    for (uint32_t c = 0; c < COLS; c++)
        cols[c] = (alm_column){.name = names[c], .type = {.id = types[c]}};
}

static alm_view text(alm_ctx *cx, const char *format, int64_t n)
{
    char *at = NULL;
    MUST(alm_arena_bytes(cx, cx->arena, 64, &at));
    return alm_view_of((alm_str){at, (size_t)snprintf(at, 64, format, (int)n)});
}

static alm_batch batch_of(alm_ctx *cx, uint32_t n, int64_t first, int64_t step)
{
    alm_vec *cols = NULL;
    int64_t *ts = NULL, *number = NULL;
    alm_view *sym = NULL, *texts = NULL;
    double *x = NULL;
    MUST(ALM_NEWN(cx, cx->arena, COLS, &cols));
    MUST(ALM_NEWN(cx, cx->arena, n, &ts));
    MUST(ALM_NEWN(cx, cx->arena, n, &number));
    MUST(ALM_NEWN(cx, cx->arena, n, &sym));
    MUST(ALM_NEWN(cx, cx->arena, n, &texts));
    MUST(ALM_NEWN(cx, cx->arena, n, &x));
    for (uint32_t i = 0; i < n; i++) {
        ts[i] = first + i * step;
        number[i] = i;
        sym[i] = text(cx, i % 3 == 0 ? "S%d" : "symbol number %d", i % 7);
        texts[i] = i % 5 == 0 ? alm_view_null() : text(cx, "a text that is long enough %d", i);
        x[i] = i / 8.0;
    }
    cols[0] = (alm_vec){.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts};
    cols[1] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = number};
    cols[2] = (alm_vec){.type = ALM_TY(SYMBOL), .width = 16, .data = sym};
    cols[3] = (alm_vec){.type = ALM_TY(VARCHAR), .width = 16, .data = texts};
    cols[4] = (alm_vec){.type = ALM_TY(DOUBLE), .width = 8, .data = x};
    return (alm_batch){.rows = n, .n_cols = COLS, .cols = cols};
}

static void create(alm_ctx *cx, alm_storage *st, const char *name, int64_t ttl_hours)
{
    alm_column cols[COLS];
    columns(cols);
    const alm_table_spec spec = {.name = alm_str_of(name),
                                 .cols = cols,
                                 .n_cols = COLS,
                                 .partition = ALM_PART_DAY,
                                 .wal = true,
                                 .ttl_hours = ttl_hours};
    MUST(alm_table_create(cx, st, &spec, NULL));
}

static alm_snapshot *snapshot(alm_ctx *cx, alm_storage *st)
{
    alm_snapshot *snap = NULL;
    MUST(alm_snapshot_acquire(cx, st, &snap));
    return snap;
}

static void insert(alm_ctx *cx, alm_storage *st, const char *name, uint32_t n, int64_t first,
                   int64_t step)
{
    alm_txn *txn = NULL;
    alm_snapshot *snap = snapshot(cx, st);
    const alm_batch batch = batch_of(cx, n, first, step);
    MUST(alm_txn_begin(cx, st, &txn));
    MUST(alm_txn_append(cx, txn, alm_snapshot_find(snap, alm_str_of(name)), &batch));
    MUST(alm_txn_commit(cx, txn, NULL));
    alm_snapshot_release(snap);
}

static void move(alm_ctx *cx, alm_storage *st, const char *name, alm_partition_move how)
{
    const int64_t start = 0;
    alm_snapshot *snap = snapshot(cx, st);
    MUST(alm_table_move_partitions(cx, st, alm_snapshot_find(snap, alm_str_of(name)), how, &start,
                                   1));
    alm_snapshot_release(snap);
}

static void set_comment(alm_ctx *cx, alm_storage *st, const char *name)
{
    alm_snapshot *snap = snapshot(cx, st);
    const uint64_t id = alm_snapshot_find(snap, alm_str_of(name))->id;
    alm_snapshot_release(snap);
    MUST(alm_table_set_comment(cx, st, id, 0, ALM_STR("a comment")));
}

/* Parts, packs, dictionaries and catalogue first, then one of each record in the log. */
static void fill(alm_ctx *cx, alm_storage *st)
{
    const int64_t second_day = DAY;
    create(cx, st, "parts", 0);
    create(cx, st, "packed", 0);
    create(cx, st, "parquet", 0);
    insert(cx, st, "parts", ROWS, 0, DAY / ROWS * 2);
    insert(cx, st, "packed", 20, 0, DAY);
    insert(cx, st, "parquet", 60, 0, DAY / 30);
    MUST(alm_storage_checkpoint(cx, st));
    alm_snapshot *snap = snapshot(cx, st);
    MUST(alm_table_convert_partitions(cx, st, alm_snapshot_find(snap, ALM_STR("parquet")), true,
                                      &second_day, 1));
    alm_snapshot_release(snap);
    move(cx, st, "packed", ALM_PARTITION_DETACH);
    MUST(alm_storage_checkpoint(cx, st));
    create(cx, st, "ttl", 24);
    create(cx, st, "gone", 0);
    insert(cx, st, "ttl", 30, 0, DAY / 10);
    insert(cx, st, "ttl", 5, 10 * DAY, 1);
    insert(cx, st, "parts", 50, DAY / 2, DAY / 50);
    insert(cx, st, "gone", 5, 0, 1);
    MUST(alm_table_truncate(cx, st, ALM_STR("gone")));
    MUST(alm_table_drop(cx, st, ALM_STR("gone"), NULL));
    const alm_column more = {.name = "more", .type = ALM_TY(INT)};
    MUST(alm_table_add_column(cx, st, ALM_STR("packed"), &more));
    MUST(alm_table_rename(cx, st, ALM_STR("ttl"), ALM_STR("kept"), NULL));
    move(cx, st, "packed", ALM_PARTITION_ATTACH);
    set_comment(cx, st, "parts");
    const alm_record row = {ALM_STR("a key"), ALM_STR("a value")};
    const alm_records_change records = {
        .seen_lsn = (uint64_t)ALM_RECORDS_BLIND, .rows = &row, .n = 1};
    MUST(alm_records_put(cx, st, &records));
}

static void configure(alm_storage_conf *conf)
{
    alm_storage_conf_default(conf);
    conf->manual = true;
    conf->wal_segment_bytes = 32 << 10;
    conf->reserve_bytes = 0;
}

static void keep_file(const alm_io *io, const char *path, int64_t bytes)
{
    image *f = &files[n_files++];
    ALM_ASSERT(n_files < FILES_MAX);
    (void)snprintf(f->path, PATH, "%s", path);
    f->n = (size_t)bytes;
    f->bytes = malloc(f->n + 1);
    const int h = io->open(io, path, ALM_IO_READ);
    ALM_ASSERT(h >= 0 && f->bytes != NULL && io->read(io, h, f->bytes, f->n, 0) == bytes);
    (void)io->close(io, h);
}

typedef struct walk {
    const alm_io *io;
    const char *dir;
} walk;

static int keep_one(void *arg, const char *name)
{
    const walk *w = arg;
    char path[PATH];
    alm_io_stat meta;
    (void)snprintf(path, PATH, "%s/%s", w->dir, name);
    if (strcmp(name, "lock") == 0 || strcmp(name, "owner") == 0 ||
        strncmp(name, "spare-", 6) == 0 || w->io->stat(w->io, path, &meta) < 0)
        return 0;
    if (!meta.is_dir) {
        keep_file(w->io, path, meta.size_bytes);
        return 0;
    }
    (void)snprintf(dirs[n_dirs++], PATH, "%s", path);
    ALM_ASSERT(n_dirs < DIRS_MAX);
    walk below = {w->io, path};
    return w->io->list(w->io, path, keep_one, &below);
}

static void quiet(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    if (freopen("/dev/null", "w", stdout) == NULL)
        abort();
}

static void make_base(void)
{
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    alm_storage_conf conf;
    alm_storage *st = NULL;
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    alm_arena_init(&arena, NULL);
    configure(&conf);
    ALM_ASSERT(io->mkdir(io, "/r") == 0);
    MUST(alm_storage_open(&cx, io, "/r", &conf, &st));
    fill(&cx, st);
    walk w = {io, "/r"};
    ALM_ASSERT(io->list(io, "/r", keep_one, &w) >= 0); /* without the checkpoint of a clean stop */
    alm_storage_close(st);
    alm_arena_deinit(&arena);
    alm_sim_free(sim);
}

/* ----------------------------------------------------------------- checksums */

static uint64_t get(const uint8_t *at, size_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, at, bytes);
    return v;
}

static void put32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, sizeof v);
}

static bool ends_with(const image *f, const char *end)
{
    const size_t n = strlen(f->path), m = strlen(end);
    return n >= m && strcmp(f->path + n - m, end) == 0;
}

static void seal_catalog(image *f)
{
    if (f->n < 64)
        return;
    const uint64_t n = f->n;
    memcpy(f->bytes + 16, &n, sizeof n);
    const uint32_t crc = alm_crc32c(0, f->bytes + 64, f->n - 64);
    put32(f->bytes + 12, alm_crc32c(alm_crc32c(crc, f->bytes + 16, 48), f->bytes, 12));
}

static void seal_log(image *f)
{
    if (f->n < ALM_WAL_HEADER)
        return;
    put32(f->bytes + 12, alm_crc32c(alm_crc32c(0, f->bytes, 12), f->bytes + 16, 48));
    for (size_t at = ALM_WAL_HEADER; at + ALM_REC_HEADER <= f->n;) {
        uint8_t *head = f->bytes + at;
        if (memcmp(head, "NEXT", 4) == 0)
            put32(head + 4, alm_crc32c(0, head + 8, 40));
        if (memcmp(head, "REC1", 4) != 0)
            return;
        const uint64_t bytes = get(head + 8, 8);
        if (bytes > f->n - at - ALM_REC_HEADER)
            return;
        const uint32_t crc = alm_crc32c(0, head + ALM_REC_HEADER, (size_t)bytes);
        put32(head + 4, alm_crc32c(crc, head + 8, 40));
        at += (ALM_REC_HEADER + (size_t)bytes + 7) / 8 * 8;
    }
}

static void seal_dictionary(image *f)
{
    enum { HEADER = 40, RECORD = 24 };
    if (f->n < HEADER)
        return;
    put32(f->bytes + 32, alm_crc32c(0, f->bytes, 32));
    for (size_t at = HEADER; at + RECORD <= f->n;) {
        uint8_t *head = f->bytes + at;
        const uint64_t n = get(head + 8, 4), text_bytes = get(head + 16, 8);
        const uint64_t left = f->n - at - RECORD;
        if (n * 4 > left || text_bytes > left - n * 4)
            return;
        const size_t payload = (size_t)(n * 4 + text_bytes);
        const uint32_t crc = alm_crc32c(alm_crc32c(0, head + 4, 8), head + 16, 8);
        put32(head + 12, alm_crc32c(crc, head + RECORD, payload));
        at += RECORD + payload;
    }
}

static void seal_blocks(uint8_t *part, size_t n, const alm_part_footer *foot, uint8_t *cols)
{
    const size_t cols_bytes = (size_t)foot->n_cols * sizeof(alm_part_col);
    for (uint32_t c = 0; c < foot->n_cols; c++) {
        alm_part_col col;
        memcpy(&col, cols + c * sizeof col, sizeof col);
        const uint64_t bytes = (uint64_t)foot->rows * col.width;
        alm_part_block block;
        uint8_t *at = cols + cols_bytes + (size_t)c * sizeof block;
        if (foot->n_blocks != 1 || col.width > 64 || col.data_off > n || bytes > n - col.data_off)
            continue; /* the parts here have one block */
        memcpy(&block, at, sizeof block);
        block.crc = alm_crc32c(0, part + col.data_off, (size_t)bytes);
        if (col.heap_off <= n && block.heap_end <= n - col.heap_off)
            block.heap_crc = alm_crc32c(0, part + col.heap_off, (size_t)block.heap_end);
        memcpy(at, &block, sizeof block);
        if (col.last_off <= n && (uint64_t)col.n_last * 4 <= n - col.last_off) {
            col.last_crc = alm_crc32c(0, part + col.last_off, (size_t)col.n_last * 4);
            memcpy(cols + c * sizeof col, &col, sizeof col);
        }
    }
}

/* Whoever names the part by its checksum names it by the new one. */
static void rename_part(image *all, uint32_t before, uint32_t now)
{
    for (size_t i = 0; i < n_files && before != now; i++) {
        if (!ends_with(&all[i], "catalog") && !ends_with(&all[i], ".wal"))
            continue;
        for (size_t at = 0; at + 4 <= all[i].n; at++)
            if (get(all[i].bytes + at, 4) == before)
                put32(all[i].bytes + at, now);
        if (ends_with(&all[i], "catalog"))
            seal_catalog(&all[i]);
        else
            seal_log(&all[i]);
    }
}

/* A part in [part, part + n): a file, or a piece of a pack. */
static void seal_part(image *all, uint8_t *part, size_t n)
{
    alm_part_header head;
    alm_part_trailer tail;
    alm_part_footer foot;
    memcpy(&head, part, sizeof head);
    memcpy(&tail, part + n - sizeof tail, sizeof tail);
    put32(part + offsetof(alm_part_header, crc),
          alm_crc32c(0, part, offsetof(alm_part_header, crc)));
    if (tail.footer_off > n || tail.footer_bytes > n - tail.footer_off ||
        tail.footer_bytes < sizeof foot)
        return;
    memcpy(&foot, part + tail.footer_off, sizeof foot);
    const uint64_t entries =
        sizeof(alm_part_col) + (uint64_t)foot.n_blocks * sizeof(alm_part_block);
    if (foot.n_cols < 64 && foot.n_blocks < 64 && foot.rows > 0 && foot.rows <= 65536 &&
        foot.n_cols * entries <= tail.footer_bytes - sizeof foot)
        seal_blocks(part, n, &foot, part + tail.footer_off + sizeof foot);
    const uint32_t crc = alm_crc32c(0, part + tail.footer_off, (size_t)tail.footer_bytes);
    memcpy(part + n - sizeof tail + offsetof(alm_part_trailer, crc), &crc, sizeof crc);
    rename_part(all, tail.crc, crc);
}

static void seal_pack(image *all, image *f)
{
    size_t from = 0;
    for (size_t end = sizeof(alm_part_trailer); end <= f->n; end++) {
        if (memcmp(f->bytes + end - 8, ALM_PART_END_MAGIC, 8) != 0 || end - from < 96)
            continue;
        seal_part(all, f->bytes + from, end - from);
        from = (end + ALM_PART_PACKED - 1) / ALM_PART_PACKED * ALM_PART_PACKED;
    }
}

static void seal(image *all, image *f)
{
    if (ends_with(f, "catalog"))
        seal_catalog(f);
    else if (ends_with(f, ".wal"))
        seal_log(f);
    else if (ends_with(f, ".dict"))
        seal_dictionary(f);
    else if (ends_with(f, ".part") && f->n >= 96)
        seal_part(all, f->bytes, f->n);
    else if (ends_with(f, ".pack"))
        seal_pack(all, f);
}

/* ------------------------------------------------------------------ one input */

static void edit(image *f, const uint8_t *data, size_t n)
{
    const size_t place = ((size_t)data[2] << 16 | (size_t)data[3] << 8 | data[4]);
    if (data[1] % 2 != 0 && f->n > 0)
        f->n = place % f->n;
    data += 5;
    n -= 5;
    for (size_t i = 0; i + 4 <= n && i < 4u * EDITS_MAX && f->n > 0; i += 4)
        f->bytes[((size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2]) % f->n] =
            data[i + 3];
}

static void write_all(const alm_io *io, const image *all)
{
    ALM_ASSERT(io->mkdir(io, "/r") == 0);
    for (size_t i = 0; i < n_dirs; i++)
        ALM_ASSERT(io->mkdir(io, dirs[i]) == 0);
    for (size_t i = 0; i < n_files; i++) {
        const int h = io->open(io, all[i].path, ALM_IO_WRITE | ALM_IO_CREATE);
        ALM_ASSERT(h >= 0);
        ALM_ASSERT(io->write(io, h, all[i].bytes, all[i].n, 0) == (int64_t)all[i].n);
        (void)io->close(io, h);
    }
}

/* Bytes of texts are looked at, so that a wrong place is found. */
static uint64_t look_at(const alm_vec *v, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!alm_type_has_heap(v->type) && v->type.id != ALM_T_SYMBOL) {
            sum += ((const uint8_t *)v->data)[v->is_const ? 0 : (size_t)i * v->width];
            continue;
        }
        if (v->type.id == ALM_T_SYMBOL)
            ALM_ASSERT(v->dict == NULL || alm_vec_code(v, i) < v->dict->count);
        const alm_str s = v->type.id != ALM_T_SYMBOL || v->dict == NULL
                              ? alm_vec_text(v, i)
                              : alm_view_str(&v->dict->views[alm_vec_code(v, i)], NULL);
        for (size_t k = 0; s.ptr != NULL && k < s.len; k++)
            sum += (uint8_t)s.ptr[k];
    }
    return sum;
}

static void read_span(alm_ctx *cx, alm_scan *scan, alm_scan_cursor *cur, size_t i, uint32_t n_cols,
                      uint64_t *sum)
{
    const alm_span span = alm_scan_span_at(scan, i);
    alm_vec *vecs = NULL;
    MUST(ALM_NEWN(cx, cx->arena, n_cols, &vecs));
    for (int64_t row = 0; row < ALM_MIN(span.rows, (int64_t)8 * ALM_BATCH_ROWS);
         row += ALM_BATCH_ROWS) {
        const uint32_t m = (uint32_t)ALM_MIN(span.rows - row, (int64_t)ALM_BATCH_ROWS);
        if (alm_scan_read(cx, cur, i, row, m, NULL, vecs) != ALM_OK) {
            ALM_ASSERT(cx->err.msg[0] != 0);
            alm_error_clear(cx);
            return;
        }
        for (uint32_t c = 0; c < n_cols; c++)
            *sum += look_at(&vecs[c], m);
    }
}

static void read_table(alm_ctx *cx, alm_snapshot *snap, const alm_table *table, uint64_t *sum)
{
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    uint32_t *cols = NULL;
    if (table->view != NULL || alm_table_is_open(cx, table, -1) != ALM_OK) {
        alm_error_clear(cx);
        return;
    }
    MUST(ALM_NEWN(cx, cx->arena, table->n_cols + 1, &cols));
    for (uint32_t c = 0; c < table->n_cols; c++)
        cols[c] = c;
    alm_status e =
        alm_scan_new(cx, cx->arena, snap, table,
                     &(alm_scan_spec){.cols = cols, .n_cols = table->n_cols, .all = true}, &scan);
    if (e == ALM_OK)
        e = alm_scan_cursor_new(cx, cx->arena, scan, &cur);
    for (size_t i = 0; e == ALM_OK && i < alm_scan_span_count(scan) && i < 64; i++)
        read_span(cx, scan, cur, i, table->n_cols, sum);
    alm_error_clear(cx);
}

static void line(void *arg, const char *text_of)
{
    ALM_ASSERT(text_of[0] != 0);
    ++*(int64_t *)arg;
}

static void use(const alm_io *io)
{
    alm_arena arena;
    alm_mem mem = {.limit_bytes = 256 << 20, .name = "fuzz"};
    alm_ctx cx = {.arena = &arena, .mem = &mem};
    alm_storage_conf conf;
    alm_storage *st = NULL;
    int64_t lines = 0, findings = 0;
    uint64_t sum = 0;
    alm_arena_init(&arena, &mem);
    configure(&conf);
    if (alm_storage_check(&cx, io, "/r", line, &lines, &findings) != ALM_OK)
        alm_error_clear(&cx);
    if (alm_storage_open(&cx, io, "/r", &conf, &st) != ALM_OK) {
        ALM_ASSERT(cx.err.msg[0] != 0);
        alm_arena_deinit(&arena);
        return;
    }
    alm_snapshot *snap = snapshot(&cx, st);
    for (size_t i = 0; i < alm_snapshot_count(snap); i++)
        read_table(&cx, snap, alm_snapshot_at(snap, i), &sum);
    alm_snapshot_release(snap);
    if (alm_storage_checkpoint(&cx, st) != ALM_OK)
        alm_error_clear(&cx);
    alm_storage_close(st);
    alm_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    image all[FILES_MAX];
    if (n_files == 0) {
        quiet();
        make_base();
    }
    if (n < 5)
        return 0;
    for (size_t i = 0; i < n_files; i++) {
        all[i] = files[i];
        all[i].bytes = malloc(files[i].n + 1);
        if (all[i].bytes == NULL)
            abort();
        memcpy(all[i].bytes, files[i].bytes, files[i].n);
    }
    image *chosen = &all[data[0] % n_files];
    edit(chosen, data, n);
    seal(all, chosen);
    alm_sim *sim = alm_sim_new(1);
    write_all(alm_sim_io(sim), all);
    use(alm_sim_io(sim));
    alm_sim_free(sim);
    for (size_t i = 0; i < n_files; i++)
        free(all[i].bytes);
    return 0;
}
