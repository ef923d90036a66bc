/*
 * Goal    What is written to a part comes back, whatever the type, the order and the nulls; columns of nulls take no
 *         bytes, and few rows few; parts of earlier versions are read; damage is found and named.
 * Method  Rows of all types from a seeded generator, written from uneven chunks in order, out of
 *         order and by an index, on the simulated disk and on a real one; a plain sort as oracle;
 *         statistics against plain loops; flipped bits everywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "io/sim.h"
#include "storage/part/format.h"
#include "storage/part/inner.h"
#include "storage/part/part.h"
#include "storage/part/stats.h"

enum { N_TYPES = ALM_TYPE_COUNT - ALM_T_BOOLEAN, TS = ALM_T_TIMESTAMP - ALM_T_BOOLEAN };

static uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* All columns of a set of rows: column c has type ALM_T_BOOLEAN + c. */
typedef struct rows {
    alm_arena arena;
    alm_ctx cx;
    uint32_t n;
    alm_vec cols[N_TYPES];
    alm_part_coldef defs[N_TYPES];
} rows;

static alm_view random_text(rows *r, uint64_t *seed)
{
    const uint64_t kind = next_random(seed) % 8;
    if (kind == 0)
        return alm_view_null();
    const size_t len = kind == 1 ? 0 : kind < 5 ? next_random(seed) % 13 : next_random(seed) % 60;
    char *text = NULL;
    assert_int_equal(alm_arena_bytes(&r->cx, &r->arena, len + 1, &text), ALM_OK);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + next_random(seed) % 26);
    return alm_view_of((alm_str){text, len});
}

/* A value, null now and then; times come from a small range so that many are equal. */
static void set_value(rows *r, uint32_t c, uint32_t row, uint64_t *seed, bool in_order)
{
    const alm_vec *v = &r->cols[c];
    char *at = (char *)v->data + (size_t)row * v->width;
    if (c == TS) {
        const int64_t ts =
            in_order ? (int64_t)row / 3 * 1000 : (int64_t)(next_random(seed) % (r->n / 2 + 1));
        memcpy(at, &ts, sizeof(ts));
        return;
    }
    if (alm_type_has_heap(v->type)) {
        const alm_view view = random_text(r, seed);
        memcpy(at, &view, sizeof(view));
        return;
    }
    if (v->type.id == ALM_T_SYMBOL) {
        const uint32_t code = (uint32_t)(next_random(seed) % 300);
        memcpy(at, &code, sizeof(code));
        return;
    }
    if (next_random(seed) % 10 == 0) {
        alm_vec null;
        assert_int_equal(alm_vec_null(&r->cx, &r->arena, v->type, &null), ALM_OK);
        memcpy(at, null.data, v->width);
    } else if (v->type.id == ALM_T_DOUBLE) {
        const double d = (double)(next_random(seed) % 100000) / 7 - 5000;
        memcpy(at, &d, sizeof(d));
    } else if (v->type.id == ALM_T_FLOAT) {
        const float f = (float)(next_random(seed) % 1000) / 8 - 60;
        memcpy(at, &f, sizeof(f));
    } else {
        const uint64_t bits[4] = {next_random(seed) % 2000, next_random(seed), 3, 4};
        memcpy(at, bits, v->width);
    }
}

static rows *make_rows(uint32_t n, uint64_t seed, bool in_order)
{
    rows *r = calloc(1, sizeof(*r));
    alm_arena_init(&r->arena, NULL);
    r->n = n;
    for (uint32_t c = 0; c < N_TYPES; c++) {
        const uint32_t id = ALM_T_BOOLEAN + c;
        const alm_type type = {.id = (uint8_t)id, .dims = id == ALM_T_ARRAY};
        r->defs[c] = (alm_part_coldef){100 - c, type}; /* ids need not ascend */
        void *data = NULL;
        assert_int_equal(alm_arena_zero(&r->cx, &r->arena, (size_t)n * alm_type_width(type), &data),
                         ALM_OK);
        r->cols[c] = (alm_vec){.type = type, .width = (uint8_t)alm_type_width(type), .data = data};
        for (uint32_t i = 0; i < n; i++)
            set_value(r, c, i, &seed, in_order);
    }
    return r;
}

static void free_rows(rows *r)
{
    alm_arena_deinit(&r->arena);
    free(r);
}

/* The rows as chunks of uneven size over the same arrays. */
static size_t make_chunks(rows *r, uint64_t seed, alm_part_chunk *chunks, size_t cap)
{
    size_t n = 0;
    for (uint32_t row = 0; row < r->n;) {
        uint32_t m = (uint32_t)(next_random(&seed) % (r->n / 3 + 2));
        m = n + 1 == cap ? r->n - row : ALM_MIN(m, r->n - row); /* empty chunks too */
        alm_vec *cols = NULL;
        assert_int_equal(ALM_NEWN(&r->cx, &r->arena, N_TYPES, &cols), ALM_OK);
        for (uint32_t c = 0; c < N_TYPES; c++) {
            cols[c] = r->cols[c];
            cols[c].data = (char *)r->cols[c].data + (size_t)row * r->cols[c].width;
        }
        chunks[n++] = (alm_part_chunk){.rows = m, .cols = cols};
        row += m;
    }
    return n;
}

static alm_part_spec make_spec(const rows *r, const alm_part_chunk *chunks, size_t n_chunks)
{
    return (alm_part_spec){.table_id = 42,
                           .cols = r->defs,
                           .n_cols = N_TYPES,
                           .ts_col = TS,
                           .chunks = chunks,
                           .n_chunks = n_chunks,
                           .sort = true};
}

static int64_t ts_of(const rows *r, uint32_t row)
{
    return ((int64_t *)r->cols[TS].data)[row];
}

/* Stable order by insertion into buckets of equal time: an independent way to sort. */
static uint32_t *oracle_order(const rows *r)
{
    uint32_t *order = calloc(r->n + 1, sizeof(*order));
    int64_t last = INT64_MIN;
    for (uint32_t done = 0; done < r->n;) {
        int64_t least = INT64_MAX;
        for (uint32_t i = 0; i < r->n; i++)
            if (ts_of(r, i) > last && ts_of(r, i) < least)
                least = ts_of(r, i);
        for (uint32_t i = 0; i < r->n; i++)
            if (ts_of(r, i) == least)
                order[done++] = i;
        last = least;
    }
    return order;
}

static void same_value(const alm_vec *got, uint32_t i, const alm_vec *want, uint32_t k)
{
    if (got->type.id == ALM_T_SYMBOL && got->width == sizeof(alm_view)) {
        assert_int_equal(alm_vec_code(want, k), 0); /* the part lacks the column */
    } else if (got->type.id == ALM_T_SYMBOL) {
        assert_int_equal(alm_vec_code(got, i), alm_vec_code(want, k));
    } else if (alm_type_has_heap(got->type)) {
        const alm_view *g = (const alm_view *)got->data + i, *w = (const alm_view *)want->data + k;
        assert_true(alm_view_eq(g, got->heap, w, want->heap));
    } else {
        assert_memory_equal((const char *)got->data + (size_t)i * got->width,
                            (const char *)want->data + (size_t)k * want->width, got->width);
    }
}

static void check_part(alm_part *part, rows *r, const uint32_t *order)
{
    assert_int_equal(alm_part_info(part)->rows, r->n);
    assert_true(alm_part_info(part)->n_cols <= N_TYPES); /* columns of nulls have no entry */
    for (uint32_t c = 0; c < N_TYPES; c++) {
        alm_vec v;
        assert_int_equal(alm_part_vec(&r->cx, &r->arena, part, r->defs[c].id, r->defs[c].type, &v),
                         ALM_OK);
        for (uint32_t i = 0; i < r->n; i++)
            same_value(&v, v.is_const ? 0 : i, &r->cols[c], order == NULL ? i : order[i]);
    }
}

static void ignore_line(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static int64_t findings(const alm_io *io, const char *path)
{
    alm_ctx cx = {0};
    const alm_part_claim claim = {.table_id = 42, .min_ts = 1}; /* says nothing else */
    alm_part_check_arg arg = {.report = ignore_line};
    assert_int_equal(alm_part_check(&cx, io, path, NULL, &claim, &arg), ALM_OK);
    return arg.n_findings;
}

static void round_trip(const alm_io *io, const char *dir, uint32_t n, bool in_order)
{
    rows *r = make_rows(n, n, in_order);
    alm_part_chunk chunks[64];
    const alm_part_spec spec = make_spec(r, chunks, make_chunks(r, n, chunks, 64));
    alm_part_written written = {0};
    alm_part *part = NULL;
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/p", dir);
    assert_int_equal(alm_part_write(&r->cx, io, dir, "p", &spec, &written), ALM_OK);
    assert_int_equal(written.rows, n);
    assert_int_equal(alm_part_open(&r->cx, io, path, NULL, 42, NULL, &part), ALM_OK);
    assert_int_equal(alm_part_bytes(part), written.bytes);
    uint32_t *order = oracle_order(r);
    assert_int_equal(written.min_ts, ts_of(r, order[0]));
    assert_int_equal(written.max_ts, ts_of(r, order[n - 1]));
    check_part(part, r, order);
    assert_int_equal(findings(io, path), 0);
    free(order);
    alm_part_release(part);
    free_rows(r);
}

static void all_types_come_back(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    const uint32_t sizes[] = {1, 2, 7, 500, 3000};
    for (size_t i = 0; i < ALM_COUNT(sizes); i++) {
        round_trip(io, "/d", sizes[i], true);
        round_trip(io, "/d", sizes[i], false);
    }
    alm_sim_free(sim);
}

static void a_real_disk_does_too(void **state)
{
    (void)state;
    char dir[] = "/tmp/alm_part_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    round_trip(alm_io_posix(), dir, 2000, false);
    (void)snprintf(path, sizeof(path), "%s/p", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* The same statistics, last rows and values as in the map of the file. */
static void same_part(rows *r, const alm_part *copy, const alm_part *part, uint32_t first)
{
    const alm_part_footer *f = alm_part_info(part);
    assert_memory_equal(alm_part_info(copy), f, sizeof *f);
    assert_int_equal(alm_part_bytes(copy), alm_part_bytes(part));
    for (uint32_t e = 0; e < f->n_cols; e++) {
        const int32_t *last = NULL, *want = NULL;
        uint32_t n = 0, n_want = 0;
        alm_vec v;
        assert_memory_equal(alm_part_blocks(copy, e), alm_part_blocks(part, e),
                            f->n_blocks * sizeof(alm_part_block));
        assert_int_equal(alm_part_last(&r->cx, copy, e, &last, &n), ALM_OK);
        assert_int_equal(alm_part_last(&r->cx, part, e, &want, &n_want), ALM_OK);
        assert_int_equal(n, n_want);
        assert_true(n == 0 || memcmp(last, want, n * sizeof *last) == 0);
        const alm_part_coldef *def = &r->defs[first + e];
        assert_int_equal(alm_part_vec(&r->cx, &r->arena, copy, def->id, def->type, &v), ALM_OK);
        for (uint32_t i = 0; i < r->n; i++)
            same_value(&v, i, &r->cols[first + e], i);
    }
}

static void small_parts_are_copied(void **state)
{
    (void)state;
    enum { ROWS = 200, COLS = 3 };
    const alm_io *io = alm_io_posix();
    char dir[] = "/tmp/alm_part_XXXXXX", path[64];
    alm_decoded decoded;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/p", dir);
    io->limit_maps(io, 1); /* half of it is in use at once */
    alm_decoded_init(&decoded, io, NULL, 0);
    for (uint32_t first = 0; first + COLS <= N_TYPES; first++) {
        rows *r = make_rows(ROWS, first, true);
        const alm_part_chunk chunk = {.rows = ROWS, .cols = r->cols + first};
        const alm_part_spec spec = {.table_id = 42,
                                    .cols = r->defs + first,
                                    .n_cols = COLS,
                                    .ts_col = -1,
                                    .chunks = &chunk,
                                    .n_chunks = 1};
        alm_part_written written = {0};
        alm_part *part = NULL, *copy = NULL, *mapped = NULL;
        assert_int_equal(alm_part_write(&r->cx, io, dir, "p", &spec, &written), ALM_OK);
        assert_int_equal(alm_part_open(&r->cx, io, path, NULL, 42, NULL, &part), ALM_OK);
        decoded.copies_max = 1;
        assert_int_equal(alm_part_open(&r->cx, io, path, NULL, 42, &decoded, &copy), ALM_OK);
        assert_true(atomic_load(&decoded.copies) > 1);
        assert_int_equal(alm_part_open(&r->cx, io, path, NULL, 42, &decoded, &mapped), ALM_OK);
        same_part(r, copy, part, first);
        same_part(r, mapped, part, first);
        alm_part_doubt(copy);
        same_part(r, copy, part, first);
        alm_part_release(mapped);
        alm_part_release(copy);
        assert_int_equal(decoded.copies, 0);
        /* What does not fit its checksum is not copied. */
        const int fd = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
        uint8_t byte = 0;
        const int64_t at = (int64_t)alm_part_col_at(part, 1)->data_off + 5;
        assert_int_equal(io->read(io, fd, &byte, 1, at), 1);
        byte ^= 4;
        assert_int_equal(io->write(io, fd, &byte, 1, at), 1);
        (void)io->close(io, fd);
        assert_int_equal(alm_part_open(&r->cx, io, path, NULL, 42, &decoded, &copy), ALM_E_CORRUPT);
        assert_non_null(strstr(r->cx.err.msg, path));
        assert_int_equal(decoded.copies, 0);
        alm_error_clear(&r->cx);
        alm_part_release(part);
        free_rows(r);
    }
    io->limit_maps(io, 0);
    alm_decoded_deinit(&decoded);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* Several blocks, with one column so that it is quick; an order given by the caller. */
static void blocks_and_given_order(void **state)
{
    (void)state;
    enum { ROWS = 150001 };
    alm_ctx cx = {0};
    alm_sim *sim = alm_sim_new(3);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    int64_t *ts = calloc(ROWS, sizeof(*ts));
    uint32_t *codes = calloc(ROWS, sizeof(*codes));
    double *x = calloc(ROWS, sizeof(*x));
    uint64_t *order = calloc(ROWS, sizeof(*order));
    for (uint32_t i = 0; i < ROWS; i++) {
        ts[i] = ROWS - i; /* backward */
        codes[i] = i % 70000;
        x[i] = i % 11 == 0 ? __builtin_nan("") : i * 0.1;
        order[i] = ROWS - 1 - i;
    }
    const alm_vec cols[3] = {{.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts},
                             {.type = ALM_TY(SYMBOL), .width = 4, .data = codes},
                             {.type = ALM_TY(DOUBLE), .width = 8, .data = x}};
    const alm_part_coldef defs[3] = {
        {1, ALM_TY(TIMESTAMP)}, {2, ALM_TY(SYMBOL)}, {3, ALM_TY(DOUBLE)}};
    const alm_part_chunk chunk = {.rows = ROWS, .cols = cols};
    const alm_part_spec spec = {.table_id = 42,
                                .cols = defs,
                                .n_cols = 3,
                                .ts_col = 0,
                                .chunks = &chunk,
                                .n_chunks = 1,
                                .order = order,
                                .n_order = ROWS};
    alm_part_written written = {0};
    alm_part *part = NULL;
    assert_int_equal(alm_part_write(&cx, io, "/d", "p", &spec, &written), ALM_OK);
    assert_int_equal(alm_part_open(&cx, io, "/d/p", NULL, 42, NULL, &part), ALM_OK);
    assert_int_equal(alm_part_info(part)->n_blocks, 3);
    assert_int_equal(alm_part_col_at(part, 1)->width, 4);
    assert_int_equal(alm_part_col_at(part, 1)->n_last, 0); /* too many codes */
    for (int64_t bound = -1; bound < ROWS + 3; bound += 977) {
        int64_t row = -1;
        assert_int_equal(alm_part_lower_bound(&cx, part, bound, &row), ALM_OK);
        assert_int_equal(row, bound <= 1 ? 0 : bound > ROWS ? ROWS : bound - 1);
    }
    const alm_part_block *b = &alm_part_blocks(part, 2)[1]; /* rows 65536..131071 backward */
    uint32_t nulls = 0;
    double lanes[8] = {0}, sum = 0;
    for (uint32_t i = 65536; i < 131072; i++) {
        const double v = x[ROWS - 1 - i];
        nulls += v != v;
        lanes[i % 8] += v != v ? 0 : v;
    }
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    assert_int_equal(b->nulls, nulls);
    assert_memory_equal(&b->sum, &sum, sizeof(sum));
    assert_int_equal(findings(io, "/d/p"), 0);
    alm_part_release(part);
    free(ts);
    free(codes);
    free(x);
    free(order);
    alm_sim_free(sim);
}

static void code_widths_and_last_rows(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_sim *sim = alm_sim_new(4);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    const uint32_t most[] = {255, 256, 65535, 65536};
    const uint32_t width[] = {1, 2, 2, 4};
    for (size_t k = 0; k < ALM_COUNT(most); k++) {
        uint32_t codes[4] = {1, most[k], 1, 0};
        const alm_vec col = {.type = ALM_TY(SYMBOL), .width = 4, .data = codes};
        const alm_part_coldef def = {5, ALM_TY(SYMBOL)};
        const alm_part_chunk chunk = {.rows = 4, .cols = &col};
        const alm_part_spec spec = {.table_id = 42,
                                    .cols = &def,
                                    .n_cols = 1,
                                    .ts_col = -1,
                                    .chunks = &chunk,
                                    .n_chunks = 1};
        alm_part_written written = {0};
        alm_part *part = NULL;
        assert_int_equal(alm_part_write(&cx, io, "/d", "p", &spec, &written), ALM_OK);
        assert_int_equal(alm_part_open(&cx, io, "/d/p", NULL, 42, NULL, &part), ALM_OK);
        assert_int_equal(alm_part_col_at(part, 0)->width, width[k]);
        alm_vec v;
        assert_int_equal(alm_part_vec(&cx, &arena, part, 5, ALM_TY(SYMBOL), &v), ALM_OK);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(alm_vec_code(&v, i), codes[i]);
        const int32_t *last = NULL;
        uint32_t n = 0;
        assert_int_equal(alm_part_last(&cx, part, 0, &last, &n), ALM_OK);
        if (most[k] < ALM_PART_LAST_MAX) {
            assert_int_equal(n, most[k] + 1);
            assert_int_equal(last[0], 3);
            assert_int_equal(last[1], 2);
            assert_int_equal(last[2], -1);
            assert_int_equal(last[most[k]], 1);
        } else {
            assert_null(last);
        }
        /* a column that is not there */
        assert_int_equal(alm_part_vec(&cx, &arena, part, 6, ALM_TY(DOUBLE), &v), ALM_OK);
        assert_true(v.is_const && alm_vec_is_null(&v, 0));
        alm_part_release(part);
    }
    alm_arena_deinit(&arena);
    alm_sim_free(sim);
}

static void statistics_of_edges(void **state)
{
    (void)state;
    alm_part_block b = {0};
    const int64_t big[3] = {INT64_MAX, 1, ALM_LONG_NULL};
    alm_part_block_stats(ALM_TY(LONG), 8, big, 3, &b);
    assert_int_equal(b.nulls, 1);
    assert_int_equal(b.flags, ALM_BLOCK_MINMAX | ALM_BLOCK_OVERFLOW);
    assert_int_equal(b.min, 1);
    alm_part_block_stats(ALM_TY(TIMESTAMP), 8, big, 3, &b);
    assert_int_equal(b.flags, ALM_BLOCK_MINMAX); /* times are not summed */
    alm_part_block_stats(ALM_TY(LONG), 8, &big[2], 1, &b);
    assert_int_equal(b.flags, ALM_BLOCK_SUM);
    assert_int_equal(b.sum, 0);
    const double inf[2] = {1, __builtin_inf()};
    alm_part_block_stats(ALM_TY(DOUBLE), 8, inf, 2, &b);
    assert_int_equal(b.flags, 0);
    const int8_t bytes[3] = {-128, 127, 1};
    alm_part_block_stats(ALM_TY(BYTE), 1, bytes, 3, &b);
    assert_int_equal((int64_t)b.min, -128);
    assert_int_equal((int64_t)b.sum, 0);
    const uint32_t ips[3] = {UINT32_MAX, 0, 7};
    alm_part_block_stats(ALM_TY(IPV4), 4, ips, 3, &b);
    assert_int_equal(b.nulls, 1);
    assert_int_equal(b.max, UINT32_MAX);
    assert_int_equal(b.min, 7);
}

/* --------------------------------------------------------- columns of nulls */

/* Every value of a column becomes the one that reads as missing. */
static void set_missing(rows *r, uint32_t c)
{
    uint8_t null[32] = {0};
    if (r->cols[c].type.id != ALM_T_SYMBOL)
        alm_value_set_null(r->cols[c].type, null);
    for (uint32_t i = 0; i < r->n; i++)
        memcpy((char *)r->cols[c].data + (size_t)i * r->cols[c].width, null, r->cols[c].width);
}

/* Writes the spec, compares all values, and gives the entries of the part. */
static uint32_t entries_of(const alm_io *io, rows *r, const alm_part_spec *spec,
                           const uint32_t *order, int64_t *bytes)
{
    alm_part_written written = {0};
    alm_part *part = NULL;
    assert_int_equal(alm_part_write(&r->cx, io, "/d", "p", spec, &written), ALM_OK);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/p", NULL, 42, NULL, &part), ALM_OK);
    const uint32_t n = alm_part_info(part)->n_cols;
    if (written.rows == r->n)
        check_part(part, r, order);
    assert_true((spec->ts_col >= 0) == (alm_part_info(part)->ts_entry >= 0));
    assert_int_equal(findings(io, "/d/p"), 0);
    alm_part_release(part);
    *bytes = written.bytes;
    return n;
}

static void columns_of_nulls_take_no_bytes(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(8);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    int64_t all = 0, bytes = 0;
    for (uint32_t c = 0; c < N_TYPES; c++) {
        rows *r = make_rows(300, c + 70, true);
        alm_part_chunk chunks[8];
        alm_part_spec spec = make_spec(r, chunks, make_chunks(r, c, chunks, 8));
        assert_int_equal(entries_of(io, r, &spec, NULL, &all), N_TYPES);
        if (c == TS) {
            free_rows(r);
            continue;
        }
        uint8_t last[32];
        char *end = (char *)r->cols[c].data + (size_t)299 * r->cols[c].width;
        memcpy(last, end, r->cols[c].width);
        set_missing(r, c);
        assert_int_equal(entries_of(io, r, &spec, NULL, &bytes), N_TYPES - 1);
        assert_true(bytes < all);
        /* One value, in the last row, and the column is there; not so where an order leaves this row out. */
        memset(last, 'x', sizeof(alm_view));
        if (alm_type_has_heap(r->cols[c].type))
            memcpy(last, &(alm_view){.len = 1}, sizeof(alm_view));
        memcpy(end, last, r->cols[c].width);
        assert_int_equal(entries_of(io, r, &spec, NULL, &bytes), N_TYPES);
        uint64_t order[299];
        for (uint32_t i = 0, chunk = 0, row = 0; i < 299; i++, row++) {
            while (row == chunks[chunk].rows) {
                chunk++;
                row = 0;
            }
            order[i] = (uint64_t)chunk << 32 | row;
        }
        spec.order = order;
        spec.n_order = 299;
        assert_int_equal(entries_of(io, r, &spec, NULL, &bytes), N_TYPES - 1);
        free_rows(r);
    }
    alm_sim_free(sim);
}

static void nothing_but_nulls_is_one_column(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(9);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    rows *r = make_rows(100, 5, true);
    alm_part_chunk chunks[8];
    int64_t bytes = 0;
    for (uint32_t c = 0; c < N_TYPES; c++)
        if (c != TS)
            set_missing(r, c);
    alm_part_spec spec = make_spec(r, chunks, make_chunks(r, 1, chunks, 8));
    assert_int_equal(entries_of(io, r, &spec, NULL, &bytes), 1); /* the times */
    set_missing(r, TS);
    spec.ts_col = -1;
    spec.sort = false;
    assert_int_equal(entries_of(io, r, &spec, NULL, &bytes), 1);
    /* A const null, of symbols a view: what a flush gives for a column that its rows lack. */
    const alm_part_chunk lacking = {.rows = 100, .cols = r->cols};
    for (uint32_t c = 0; c < N_TYPES; c++)
        assert_int_equal(alm_vec_null(&r->cx, &r->arena, r->defs[c].type, &r->cols[c]), ALM_OK);
    spec.chunks = &lacking;
    spec.n_chunks = 1;
    alm_part_written written = {0};
    assert_int_equal(alm_part_write(&r->cx, io, "/d", "p", &spec, &written), ALM_OK);
    assert_int_equal(written.bytes, bytes);
    free_rows(r);
    alm_sim_free(sim);
}

static void few_rows_take_few_bytes(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(10);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    rows *r = make_rows(1, 3, true);
    alm_part_chunk chunk = {.rows = 1, .cols = r->cols};
    for (uint32_t c = 0; c < N_TYPES; c++)
        if (c != TS && r->defs[c].type.id != ALM_T_DOUBLE)
            set_missing(r, c);
    alm_part_spec spec = make_spec(r, &chunk, 1);
    int64_t bytes = 0;
    assert_int_equal(entries_of(io, r, &spec, NULL, &bytes), 2);
    assert_true(bytes <=
                64 + 2 * (16 + 64 + 48) + 64 + 32); /* header, two columns, footer, trailer */
    free_rows(r);
    alm_sim_free(sim);
}

/* --------------------------------------------------------------- version 1 */

static uint64_t page_up(uint64_t at)
{
    return (at + ALM_PART_PAGE - 1) / ALM_PART_PAGE * ALM_PART_PAGE;
}

/* Copies a segment to the next page of the other file. */
static uint64_t to_page(uint8_t *out, const uint8_t *in, uint64_t off, uint64_t bytes,
                        uint64_t *end)
{
    const uint64_t at = page_up(*end);
    memcpy(out + at, in + off, bytes);
    *end = at + bytes;
    return at;
}

/* The same part as version 1 had it: each segment, the header too, begins a page. */
static size_t as_version_1(const alm_part *part, const uint8_t *in, uint8_t *out)
{
    const alm_part_footer *f = alm_part_info(part);
    const size_t size =
        sizeof *f + f->n_cols * (sizeof(alm_part_col) + f->n_blocks * sizeof(alm_part_block));
    alm_part_header head = {.version = 1, .align = ALM_PART_PAGE, .table_id = f->table_id};
    memcpy(head.magic, ALM_PART_MAGIC, sizeof head.magic);
    head.crc = alm_crc32c(0, &head, offsetof(alm_part_header, crc));
    memcpy(out, &head, sizeof head);
    uint8_t *footer = malloc(size);
    memcpy(footer, f, sizeof *f);
    memcpy(footer + sizeof *f, alm_part_col_at(part, 0), size - sizeof *f); /* and the blocks */
    alm_part_col *cols = (alm_part_col *)(void *)(footer + sizeof *f);
    uint64_t end = sizeof head;
    for (uint32_t c = 0; c < f->n_cols; c++) {
        alm_part_col *col = &cols[c];
        col->data_off = to_page(out, in, col->data_off, (uint64_t)f->rows * col->width, &end);
        if (alm_part_has_heap(col->type))
            col->heap_off = to_page(out, in, col->heap_off, col->heap_bytes, &end);
        if (col->n_last > 0)
            col->last_off = to_page(out, in, col->last_off, col->n_last * sizeof(int32_t), &end);
    }
    alm_part_trailer tail = {.footer_off = page_up(end),
                             .footer_bytes = size,
                             .crc = alm_crc32c(0, footer, size),
                             .version = 1};
    memcpy(tail.magic, ALM_PART_END_MAGIC, sizeof tail.magic);
    memcpy(out + tail.footer_off, footer, size);
    memcpy(out + tail.footer_off + size, &tail, sizeof tail);
    free(footer);
    return tail.footer_off + size + sizeof tail;
}

static void version_1_is_read(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20 };
    alm_sim *sim = alm_sim_new(11);
    const alm_io *io = alm_sim_io(sim);
    uint8_t *in = calloc(1, ROOM), *out = calloc(1, ROOM);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    rows *r = make_rows(700, 13, true);
    alm_part_chunk chunks[8];
    const alm_part_spec spec = make_spec(r, chunks, make_chunks(r, 1, chunks, 8));
    alm_part_written written = {0};
    alm_part *part = NULL;
    assert_int_equal(alm_part_write(&r->cx, io, "/d", "p", &spec, &written), ALM_OK);
    int fd = io->open(io, "/d/p", ALM_IO_READ);
    assert_int_equal(io->read(io, fd, in, ROOM, 0), written.bytes);
    (void)io->close(io, fd);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/p", NULL, 42, NULL, &part), ALM_OK);
    const size_t n = as_version_1(part, in, out);
    assert_true(n < ROOM && (int64_t)n > written.bytes);
    alm_part_release(part);
    fd = io->open(io, "/d/old", ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE);
    assert_int_equal(io->write(io, fd, out, n, 0), n);
    (void)io->close(io, fd);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/old", NULL, 42, NULL, &part), ALM_OK);
    check_part(part, r, NULL);
    assert_int_equal(findings(io, "/d/old"), 0);
    alm_part_release(part);
    /* The end of one version does not go with the header of another. */
    out[n - 12] = 2;
    fd = io->open(io, "/d/mixed", ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE);
    assert_int_equal(io->write(io, fd, out, n, 0), n);
    (void)io->close(io, fd);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/mixed", NULL, 42, NULL, &part), ALM_E_CORRUPT);
    free(in);
    free(out);
    free_rows(r);
    alm_sim_free(sim);
}

/* ------------------------------------------------------------------ damage */

static alm_status read_all(const alm_io *io, rows *r)
{
    alm_part *part = NULL;
    alm_error_clear(&r->cx);
    alm_status st = alm_part_open(&r->cx, io, "/d/p", NULL, 42, NULL, &part);
    if (st != ALM_OK)
        return st;
    for (uint32_t c = 0; c < N_TYPES && st == ALM_OK; c++) {
        alm_vec v;
        const int32_t *last = NULL;
        uint32_t n = 0;
        st = alm_part_vec(&r->cx, &r->arena, part, r->defs[c].id, r->defs[c].type, &v);
        if (st == ALM_OK)
            st = alm_part_last(&r->cx, part,
                               (uint32_t)alm_part_find(part, r->defs[c].id, UINT32_MAX), &last, &n);
    }
    alm_part_release(part);
    return st;
}

/* Padding between segments carries nothing and no checksum. */
static bool is_padding(const alm_part *part, int64_t at)
{
    const uint64_t off = (uint64_t)at;
    if (off < ALM_PART_HEADER)
        return off >= sizeof(alm_part_header) - 4;
    const alm_part_footer *f = alm_part_info(part);
    uint64_t end = 0;
    for (uint32_t c = 0; c < f->n_cols; c++) {
        const alm_part_col *col = alm_part_col_at(part, c);
        const uint64_t data = (uint64_t)f->rows * col->width;
        const uint64_t last = col->n_last * sizeof(int32_t);
        if ((off >= col->data_off && off < col->data_off + data) ||
            (col->heap_bytes > 0 && off >= col->heap_off &&
             off < col->heap_off + col->heap_bytes) ||
            (last > 0 && off >= col->last_off && off < col->last_off + last))
            return false;
        end = ALM_MAX(end, col->data_off + data);
        end = ALM_MAX(end, col->heap_off + col->heap_bytes);
        end = ALM_MAX(end, col->last_off + last);
    }
    return off < (end + ALM_PART_ALIGN - 1) / ALM_PART_ALIGN * ALM_PART_ALIGN;
}

static void flipped_bits_are_found(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(5);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    rows *r = make_rows(60, 9, false);
    alm_part_chunk chunks[8];
    const alm_part_spec spec = make_spec(r, chunks, make_chunks(r, 1, chunks, 8));
    alm_part_written written = {0};
    alm_part *part = NULL;
    assert_int_equal(alm_part_write(&r->cx, io, "/d", "p", &spec, &written), ALM_OK);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/p", NULL, 42, NULL, &part), ALM_OK);
    assert_int_equal(read_all(io, r), ALM_OK);
    int64_t tried = 0;
    for (int64_t at = 0; at < written.bytes; at++) {
        if (is_padding(part, at))
            continue;
        const unsigned bit = (unsigned)(at % 8);
        assert_true(alm_sim_flip(sim, "/d/p", at, bit));
        assert_int_not_equal(read_all(io, r), ALM_OK);
        assert_true(at % 16 != 0 || findings(io, "/d/p") > 0);
        assert_true(alm_sim_flip(sim, "/d/p", at, bit));
        tried++;
    }
    assert_true(tried > 5000);
    assert_int_equal(read_all(io, r), ALM_OK);
    alm_part_release(part);
    free_rows(r);
    alm_sim_free(sim);
}

static void errors_name_the_file(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(6);
    const alm_io *io = alm_sim_io(sim);
    assert_int_equal(io->mkdir(io, "/d"), 0);
    rows *r = make_rows(10, 9, true);
    alm_part_chunk chunks[8];
    alm_part_spec spec = make_spec(r, chunks, make_chunks(r, 1, chunks, 8));
    alm_part_written written = {0};
    alm_part *part = NULL;
    assert_int_equal(alm_part_write(&r->cx, io, "/d", "p", &spec, &written), ALM_OK);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/p", NULL, 43, NULL, &part), ALM_E_CORRUPT);
    assert_non_null(strstr(r->cx.err.msg, "/d/p"));
    alm_error_clear(&r->cx);
    assert_true(alm_sim_flip(sim, "/d/p", 9, 0)); /* version 258: damage, as the end says 2 */
    assert_int_equal(alm_part_open(&r->cx, io, "/d/p", NULL, 42, NULL, &part), ALM_E_CORRUPT);
    assert_non_null(strstr(r->cx.err.msg, "header and end are of different versions"));
    alm_error_clear(&r->cx);
    assert_true(alm_sim_flip(sim, "/d/p", written.bytes - 11, 0));
    assert_int_equal(alm_part_open(&r->cx, io, "/d/p", NULL, 42, NULL, &part), ALM_E_UNSUPPORTED);
    assert_non_null(strstr(r->cx.err.msg, "version 258"));
    alm_error_clear(&r->cx);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/none", NULL, 42, NULL, &part), ALM_E_CORRUPT);
    alm_error_clear(&r->cx);
    spec.n_chunks = 0;
    assert_int_equal(alm_part_write(&r->cx, io, "/d", "q", &spec, &written), ALM_E_ARG);
    free_rows(r);
    alm_sim_free(sim);
}

/* Each call of the disk fails in turn: an error comes back, no file stays. */
static void failed_writes_leave_nothing(void **state)
{
    (void)state;
    rows *r = make_rows(200, 9, false);
    alm_part_chunk chunks[8];
    const alm_part_spec spec = make_spec(r, chunks, make_chunks(r, 1, chunks, 8));
    int64_t nth = 1;
    for (bool failed = true; failed; nth++) {
        alm_sim *sim = alm_sim_new((uint64_t)nth);
        const alm_io *io = alm_sim_io(sim);
        assert_int_equal(io->mkdir(io, "/d"), 0);
        alm_sim_fail(sim, ALM_SIM_CHANGE, nth, 28 /* ENOSPC */, 1);
        alm_part_written written = {0};
        alm_error_clear(&r->cx);
        const alm_status st = alm_part_write(&r->cx, io, "/d", "p", &spec, &written);
        failed = alm_sim_failed(sim) > 0;
        alm_io_stat meta;
        if (failed) {
            assert_int_equal(st, ALM_E_DISK_FULL);
            assert_true(io->stat(io, "/d/p", &meta) < 0);
        } else {
            assert_int_equal(st, ALM_OK);
        }
        alm_sim_free(sim);
    }
    assert_true(nth > 4);
    free_rows(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_come_back),
        cmocka_unit_test(a_real_disk_does_too),
        cmocka_unit_test(small_parts_are_copied),
        cmocka_unit_test(blocks_and_given_order),
        cmocka_unit_test(code_widths_and_last_rows),
        cmocka_unit_test(statistics_of_edges),
        cmocka_unit_test(columns_of_nulls_take_no_bytes),
        cmocka_unit_test(nothing_but_nulls_is_one_column),
        cmocka_unit_test(few_rows_take_few_bytes),
        cmocka_unit_test(version_1_is_read),
        cmocka_unit_test(flipped_bits_are_found),
        cmocka_unit_test(errors_name_the_file),
        cmocka_unit_test(failed_writes_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
