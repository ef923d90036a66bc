/*
 * Goal    What is written to a Parquet part comes back bit by bit, of every type, over several row groups, by an
 *         order or as it comes; statistics and last rows are those of a native part of the same rows;
 *         memory for decoded columns stays within its bound, and no reader loses what it was shown;
 *         damage and failing disks are errors that name file, column and row group.
 * Method  The same rows as a native part beside it; on the simulated disk and a real one.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conf.h"
#include "io/sim.h"
#include "storage/part/decoded.h"
#include "storage/part/inner.h"
#include "type/array.h"

#if defined(__SANITIZE_THREAD__) /* damage has no threads */
enum { STEP = 1009 };
#elif defined(ALM_SANITIZED)
enum { STEP = 67 }; /* of damaged bytes: ten times slower */
#else
enum { STEP = 7 };
#endif
enum { SYMBOLS = 300, COLS_MAX = 40, TABLE = 42 };
static const alm_part_claim WHATEVER = {.table_id = TABLE, .min_ts = 1}; /* is in the file */

static uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

typedef struct rows {
    alm_arena arena;
    alm_ctx cx;
    uint32_t n, n_cols;
    alm_vec cols[COLS_MAX];
    alm_part_coldef defs[COLS_MAX];
    alm_view views[SYMBOLS];
    alm_dict dict;
    uint64_t seed;
} rows;

static alm_view text_of(rows *r, size_t len, bool binary)
{
    char *text = NULL;
    assert_int_equal(alm_arena_bytes(&r->cx, &r->arena, len + 1, &text), ALM_OK);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(binary ? next_random(&r->seed) : 'a' + next_random(&r->seed) % 26);
    return alm_view_of((alm_str){text, len});
}

static alm_view array_of(rows *r, uint32_t dims)
{
    uint32_t len[2] = {(uint32_t)(next_random(&r->seed) % 4), 2};
    alm_array_out out;
    if (len[0] == 0)
        len[1] = 0;
    assert_int_equal(alm_array_begin(&r->cx, &r->arena, -1, dims, len, &out), ALM_OK);
    for (size_t i = 0; i < out.count; i++)
        alm_array_put(&out, i, i == 1 ? __builtin_nan("") : (double)i * 1.5 - 1);
    return alm_array_finish(&out);
}

static alm_view view_value(rows *r, alm_type type)
{
    if (next_random(&r->seed) % 8 == 0)
        return alm_view_null();
    if (type.id == ALM_T_ARRAY)
        return array_of(r, type.dims);
    const size_t len =
        next_random(&r->seed) % 3 == 0 ? next_random(&r->seed) % 60 : next_random(&r->seed) % 13;
    return text_of(r, len, type.id == ALM_T_BINARY);
}

/* A whole number that fits the type, with its sign in all bytes. */
static void number_value(rows *r, alm_type type, uint32_t width, void *out)
{
    static const int64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    int64_t most = 1000000;
    if (type.id == ALM_T_BOOLEAN)
        most = 2;
    else if (type.id == ALM_T_GEOHASH)
        most = INT64_C(1) << ALM_MIN(type.p, 40);
    else if (type.id == ALM_T_DECIMAL)
        most = tens[ALM_MIN(type.p, 6)];
    else if (width < 4)
        most = 100;
    int64_t x = (int64_t)(next_random(&r->seed) % (uint64_t)most);
    if (type.id == ALM_T_DECIMAL || type.id == ALM_T_LONG || type.id == ALM_T_INT)
        x = next_random(&r->seed) % 2 == 0 ? x : -x;
    const int64_t words[4] = {x, x < 0 ? -1 : 0, x < 0 ? -1 : 0, x < 0 ? -1 : 0};
    memcpy(out, words, width);
}

static void set_value(rows *r, uint32_t c, uint32_t row)
{
    const alm_vec *v = &r->cols[c];
    const alm_type type = v->type;
    char *at = (char *)v->data + (size_t)row * v->width;
    if (c == 0) {
        const int64_t ts = (int64_t)(row / 3) * 1000;
        memcpy(at, &ts, sizeof ts);
    } else if (type.id == ALM_T_SYMBOL) {
        const uint32_t code = r->n > 3 ? (uint32_t)(next_random(&r->seed) % SYMBOLS) : 0;
        memcpy(at, &code, sizeof code);
    } else if (alm_type_has_heap(type)) {
        const alm_view view = view_value(r, type);
        memcpy(at, &view, sizeof view);
    } else if (next_random(&r->seed) % 10 == 0) {
        alm_value_set_null(type, at);
    } else if (type.id == ALM_T_DOUBLE) {
        const double d = row % 97 == 5   ? __builtin_inf()
                         : row % 97 == 6 ? -__builtin_nan("7")
                                         : (double)(next_random(&r->seed) % 100000) / 7 - 5000;
        memcpy(at, &d, sizeof d);
    } else if (type.id == ALM_T_FLOAT) {
        const float f =
            row % 97 == 7 ? -__builtin_inff() : (float)(next_random(&r->seed) % 1000) / 8 - 60;
        memcpy(at, &f, sizeof f);
    } else {
        number_value(r, type, v->width, at);
    }
}

static void add_col(rows *r, alm_type type)
{
    static char names[COLS_MAX][16];
    const uint32_t c = r->n_cols++, width = alm_type_width(type);
    void *data = NULL;
    assert_true(c < COLS_MAX);
    (void)snprintf(names[c], sizeof names[c], "c%u", c);
    r->defs[c] = (alm_part_coldef){100 - c, type, names[c]}; /* ids need not ascend */
    assert_int_equal(alm_arena_zero(&r->cx, &r->arena, (size_t)r->n * width, &data), ALM_OK);
    r->cols[c] = (alm_vec){.type = type, .width = (uint8_t)width, .data = data};
    if (type.id == ALM_T_SYMBOL)
        r->cols[c].dict = &r->dict;
    for (uint32_t i = 0; i < r->n; i++)
        set_value(r, c, i);
}

static rows *rows_new(uint32_t n, uint64_t seed)
{
    rows *r = calloc(1, sizeof *r);
    alm_arena_init(&r->arena, NULL);
    r->n = n;
    r->seed = seed;
    r->views[0] = alm_view_null();
    for (uint32_t i = 1; i < SYMBOLS; i++) {
        char *text = NULL;
        assert_int_equal(alm_arena_bytes(&r->cx, &r->arena, 40, &text), ALM_OK);
        const int len = snprintf(text, 40, i % 2 == 0 ? "s%u" : "a symbol with number %u", i);
        r->views[i] = alm_view_of((alm_str){text, (size_t)len});
    }
    r->dict = (alm_dict){.views = r->views, .count = SYMBOLS, .id = 7};
    add_col(r, ALM_TY(TIMESTAMP));
    return r;
}

static void rows_free(rows *r)
{
    alm_arena_deinit(&r->arena);
    free(r);
}

static void add_all_types(rows *r)
{
    for (uint8_t id = ALM_T_BOOLEAN; id < ALM_TYPE_COUNT; id++)
        if (id != ALM_T_DECIMAL && id != ALM_T_GEOHASH && id != ALM_T_ARRAY)
            add_col(r, (alm_type){.id = id});
    const uint8_t digits[] = {2, 4, 9, 18, 38, 76}, bits[] = {5, 12, 30, 60};
    for (size_t i = 0; i < ALM_COUNT(digits); i++)
        add_col(r, alm_type_decimal(digits[i], 1));
    for (size_t i = 0; i < ALM_COUNT(bits); i++)
        add_col(r, alm_type_geohash(bits[i]));
    add_col(r, (alm_type){.id = ALM_T_ARRAY, .dims = 1});
    add_col(r, (alm_type){.id = ALM_T_ARRAY, .dims = 2});
}

/* Both parts have the same rows: the last ones first where there is an order. */
static alm_part *write_open(rows *r, const alm_io *io, const char *dir, const char *name,
                            bool parquet, const uint64_t *order, alm_decoded *decoded)
{
    const alm_part_chunk chunk = {.rows = r->n, .cols = r->cols};
    const alm_part_spec spec = {.table_id = TABLE,
                                .cols = r->defs,
                                .n_cols = r->n_cols,
                                .ts_col = order == NULL ? 0 : -1,
                                .chunks = &chunk,
                                .n_chunks = 1,
                                .order = order,
                                .n_order = r->n,
                                .parquet = parquet};
    alm_part_written written = {0};
    alm_part *part = NULL;
    char path[256];
    const alm_status st = alm_part_write(&r->cx, io, dir, name, &spec, &written);
    assert_string_equal(r->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    assert_int_equal(written.rows, r->n);
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(alm_part_open(&r->cx, io, path, NULL, TABLE, decoded, &part), ALM_OK);
    assert_int_equal(alm_part_bytes(part), written.bytes);
    return part;
}

static bool is_float(alm_type type)
{
    return type.id == ALM_T_FLOAT || type.id == ALM_T_DOUBLE;
}

/* Infinities and other NaNs are null: one bit pattern. */
static void same_floats(const alm_vec *a, const alm_vec *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const bool null = alm_vec_is_null(b, i) ||
                          (b->type.id == ALM_T_DOUBLE ? __builtin_isinf(((double *)b->data)[i])
                                                      : __builtin_isinf(((float *)b->data)[i]));
        assert_int_equal(alm_vec_is_null(a, i), null);
        if (!null)
            assert_memory_equal((char *)a->data + (size_t)i * a->width,
                                (char *)b->data + (size_t)i * b->width, a->width);
    }
}

/* A Parquet file has all columns; the native part lacks this one, whose values are all null (or 0). */
static void is_missing(const alm_vec *v, uint32_t n)
{
    uint8_t null[32] = {0};
    if (v->type.id != ALM_T_SYMBOL)
        alm_value_set_null(v->type, null);
    for (uint32_t i = 0; i < n; i++)
        if (alm_type_has_heap(v->type))
            assert_true(alm_view_is_null((const alm_view *)v->data + i));
        else
            assert_memory_equal((const char *)v->data + (size_t)i * v->width, null, v->width);
}

static void same_column(rows *r, const alm_part *parquet, const alm_part *native, uint32_t c)
{
    alm_vec a, b;
    const int32_t found = alm_part_find(native, r->defs[c].id, c);
    const uint32_t e = (uint32_t)alm_part_find(parquet, r->defs[c].id, c);
    const uint32_t ne = (uint32_t)found;
    const alm_status st =
        alm_part_vec(&r->cx, &r->arena, parquet, r->defs[c].id, r->defs[c].type, &a);
    assert_string_equal(r->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    assert_int_equal(alm_part_vec(&r->cx, &r->arena, native, r->defs[c].id, r->defs[c].type, &b),
                     ALM_OK);
    if (found < 0) {
        is_missing(&a, r->n);
        return;
    }
    assert_int_equal(a.width, b.width);
    if (is_float(a.type)) {
        same_floats(&a, &b, r->n);
        return;
    }
    assert_memory_equal(a.data, b.data, (size_t)r->n * a.width);
    assert_int_equal(alm_part_col_at(parquet, e)->heap_bytes,
                     alm_part_col_at(native, ne)->heap_bytes);
    if (a.heap != NULL && alm_part_col_at(native, ne)->heap_bytes > 0)
        assert_memory_equal(a.heap, b.heap, alm_part_col_at(native, ne)->heap_bytes);
    assert_memory_equal(alm_part_blocks(parquet, e), alm_part_blocks(native, ne),
                        alm_part_info(native)->n_blocks * sizeof(alm_part_block));
    const int32_t *last_a = NULL, *last_b = NULL;
    uint32_t n_a = 0, n_b = 0;
    assert_int_equal(alm_part_last(&r->cx, parquet, e, &last_a, &n_a), ALM_OK);
    assert_int_equal(alm_part_last(&r->cx, native, ne, &last_b, &n_b), ALM_OK);
    assert_int_equal(n_a, n_b);
    if (n_a > 0)
        assert_memory_equal(last_a, last_b, n_a * sizeof *last_a);
}

static void print_line(void *arg, const char *line)
{
    (void)arg;
    print_message("%s\n", line);
}

static void compare(rows *r, const alm_io *io, const char *dir, const uint64_t *order)
{
    alm_decoded decoded;
    alm_decoded_init(&decoded, io, NULL, INT64_MAX);
    alm_part *a = write_open(r, io, dir, "a.parquet", true, order, &decoded);
    alm_part *b = write_open(r, io, dir, "b.part", false, order, NULL);
    assert_int_equal(alm_part_info(a)->rows, r->n);
    for (uint32_t c = 0; c < r->n_cols; c++)
        same_column(r, a, b, c);
    assert_true(decoded.bytes > 0);
    alm_part_release(a);
    alm_part_release(b);
    assert_int_equal(decoded.bytes, 0);
    alm_decoded_deinit(&decoded);
    char path[256];
    (void)snprintf(path, sizeof path, "%s/a.parquet", dir);
    alm_part_check_arg arg = {.report = print_line};
    assert_int_equal(alm_part_check(&r->cx, io, path, NULL, &WHATEVER, &arg), ALM_OK);
    assert_int_equal(arg.n_findings, 0);
}

static alm_sim *sim_new(uint64_t seed)
{
    alm_sim *sim = alm_sim_new(seed);
    assert_int_equal(alm_sim_io(sim)->mkdir(alm_sim_io(sim), "/d"), 0);
    return sim;
}

/* ------------------------------------------------------------------------- tests */

static void all_types_come_back(void **state)
{
    (void)state;
    const uint32_t sizes[] = {1, 3, 700, 9000};
    for (size_t i = 0; i < ALM_COUNT(sizes); i++) {
        alm_sim *sim = sim_new(i);
        rows *r = rows_new(sizes[i], i);
        add_all_types(r);
        compare(r, alm_sim_io(sim), "/d", NULL);
        uint64_t *order = calloc(r->n, sizeof *order);
        for (uint32_t k = 0; k < r->n; k++)
            order[k] = r->n - 1 - k;
        compare(r, alm_sim_io(sim), "/d", order);
        free(order);
        rows_free(r);
        alm_sim_free(sim);
    }
}

/* Several row groups and blocks; wide values that lie in several chunks of the order. */
static void row_groups_come_back(void **state)
{
    (void)state;
    char dir[] = "/tmp/alm_parquet_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    rows *r = rows_new(400001, 5);
    const alm_type types[] = {ALM_TY(SYMBOL), ALM_TY(VARCHAR), ALM_TY(DOUBLE), ALM_TY(LONG256),
                              ALM_TY(BOOLEAN)};
    for (size_t i = 0; i < ALM_COUNT(types); i++)
        add_col(r, types[i]);
    compare(r, alm_io_posix(), dir, NULL);
    uint64_t *order = calloc(r->n, sizeof *order);
    for (uint32_t k = 0; k < r->n; k++)
        order[k] = r->n - 1 - k;
    compare(r, alm_io_posix(), dir, order);
    free(order);
    rows_free(r);
    const char *const names[] = {"a.parquet", "b.part"};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

/* A table so wide that a block of statistics is several row groups. */
static void wide_rows_have_small_row_groups(void **state)
{
    (void)state;
    alm_sim *sim = sim_new(3);
    rows *r = rows_new(70000, 8);
    for (int i = 0; i < 38; i++)
        add_col(r, ALM_TY(LONG256));
    compare(r, alm_sim_io(sim), "/d", NULL);
    rows_free(r);
    alm_sim_free(sim);
}

/* ------------------------------------------------------------------------ memory */

typedef struct budget {
    alm_sim *sim;
    const alm_io *io;
    rows *r;
    alm_spill_space spill;
    alm_decoded decoded;
    alm_part *part;
} budget;

static void budget_init(budget *b, int64_t max)
{
    b->sim = sim_new(9);
    b->io = alm_sim_io(b->sim);
    b->r = rows_new(300000, 9); /* three units */
    for (int i = 0; i < 3; i++)
        add_col(b->r, ALM_TY(LONG));
    add_col(b->r, ALM_TY(VARCHAR));
    assert_int_equal(alm_spill_space_open(&b->r->cx, &b->spill, b->io, "/d/tmp"), ALM_OK);
    alm_decoded_init(&b->decoded, b->io, &b->spill, max);
    b->part = write_open(b->r, b->io, "/d", "a.parquet", true, NULL, &b->decoded);
}

static void budget_free(budget *b)
{
    alm_part_release(b->part);
    assert_int_equal(b->decoded.bytes, 0);
    assert_int_equal(atomic_load(&b->decoded.spilled), 0);
    assert_int_equal(atomic_load(&b->spill.bytes), 0);
    alm_decoded_deinit(&b->decoded);
    rows_free(b->r);
    alm_sim_free(b->sim);
}

static alm_status touch(budget *b, uint32_t col, int64_t row, int64_t n)
{
    const uint32_t e = (uint32_t)alm_part_find(b->part, b->r->defs[col].id, 0);
    return alm_part_touch(&b->r->cx, b->part, e, row, n);
}

static const int64_t *longs(const budget *b, uint32_t col)
{
    return alm_part_data(b->part, (uint32_t)alm_part_find(b->part, b->r->defs[col].id, 0));
}

enum { UNIT = 131072, UNIT_BYTES = UNIT * 8 };

/* Only what is touched is decoded, and what nobody reads goes when other columns need the memory. */
static void unread_columns_go(void **state)
{
    (void)state;
    budget b;
    alm_reading first, second;
    budget_init(&b, 3 * UNIT_BYTES);
    alm_reading_begin(&b.decoded, &first);
    assert_int_equal(touch(&b, 1, 200000, 1), ALM_OK);
    assert_int_equal(b.decoded.bytes, UNIT_BYTES);
    assert_int_equal(touch(&b, 1, 0, 200000), ALM_OK);
    assert_int_equal(b.decoded.bytes, 2 * UNIT_BYTES);
    assert_int_equal(touch(&b, 2, 0, 1), ALM_OK);
    assert_int_equal(b.decoded.bytes, 3 * UNIT_BYTES);
    alm_reading_end(&b.decoded, &first);
    alm_reading_begin(&b.decoded, &second);
    assert_int_equal(touch(&b, 2, 0, 1), ALM_OK); /* so column 1 is the older one */
    assert_int_equal(touch(&b, 3, 0, 1), ALM_OK);
    assert_int_equal(b.decoded.bytes, 2 * UNIT_BYTES);
    assert_int_equal(atomic_load(&b.decoded.drops), 1);
    assert_int_equal(longs(&b, 1)[200000], 0); /* given back */
    assert_int_equal(longs(&b, 2)[5], ((int64_t *)b.r->cols[2].data)[5]);
    assert_int_equal(touch(&b, 1, 200000, 1), ALM_OK); /* and decoded again */
    assert_int_equal(longs(&b, 1)[200000], ((int64_t *)b.r->cols[1].data)[200000]);
    alm_reading_end(&b.decoded, &second);
    alm_decoded_drop_all(&b.decoded);
    assert_int_equal(b.decoded.bytes, 0);
    budget_free(&b);
}

/* What somebody may look at stays: the rest is in temporary files, as long as there is room. */
static void read_columns_stay(void **state)
{
    (void)state;
    budget b;
    alm_reading reader, late;
    struct alm_conf conf = {.query_spill_max = 64 << 20};
    budget_init(&b, UNIT_BYTES);
    b.r->cx.conf = &conf;
    alm_reading_begin(&b.decoded, &reader);
    for (uint32_t c = 1; c < 4; c++)
        assert_int_equal(touch(&b, c, 0, 300000), ALM_OK);
    assert_int_equal(touch(&b, 4, 0, 300000), ALM_OK);
    assert_true(b.decoded.bytes <= UNIT_BYTES + 14 * 2 * ALM_PART_PAGE); /* ends of ranges */
    assert_true(atomic_load(&b.decoded.spilled) > 10 * UNIT_BYTES);
    assert_int_equal(atomic_load(&b.spill.bytes), atomic_load(&b.decoded.spilled));
    assert_int_equal(atomic_load(&b.decoded.drops), 0);
    for (uint32_t c = 1; c < 4; c++)
        assert_memory_equal(longs(&b, c), b.r->cols[c].data, 300000 * 8);
    alm_reading_begin(&b.decoded, &late);
    alm_decoded_drop_all(&b.decoded); /* the first one still reads */
    assert_memory_equal(longs(&b, 1), b.r->cols[1].data, 300000 * 8);
    alm_reading_end(&b.decoded, &reader); /* what is in files goes with it */
    assert_int_equal(atomic_load(&b.spill.bytes), 0);
    conf.query_spill_max = 1 << 20;
    for (uint32_t c = 1; c < 4; c++) {
        const alm_status st = touch(&b, c, 0, 300000);
        if (st == ALM_OK)
            continue;
        assert_int_equal(st, ALM_E_LIMIT);
        assert_non_null(strstr(b.r->cx.err.msg, "storage.parquet.memory.max"));
        alm_error_clear(&b.r->cx);
    }
    assert_true(atomic_load(&b.spill.bytes) <= 1 << 20);
    alm_reading_end(&b.decoded, &late);
    budget_free(&b);
}

typedef struct reader {
    budget *b;
    alm_ctx cx;
    uint64_t seed;
    bool good;
} reader;

static void *read_at_random(void *arg)
{
    reader *rd = arg;
    budget *b = rd->b;
    for (int i = 0; i < 400; i++) {
        alm_reading reading;
        alm_reading_begin(&b->decoded, &reading);
        int64_t at[8];
        uint32_t cols[8];
        for (int k = 0; k < 8; k++) { /* pointers of several touches live at the same time */
            cols[k] = 1 + (uint32_t)(next_random(&rd->seed) % 3);
            at[k] = (int64_t)(next_random(&rd->seed) % 300000);
            const uint32_t e = (uint32_t)alm_part_find(b->part, b->r->defs[cols[k]].id, 0);
            rd->good = rd->good && alm_part_touch(&rd->cx, b->part, e, at[k], 1) == ALM_OK;
        }
        for (int k = 0; k < 8; k++)
            rd->good = rd->good &&
                       longs(b, cols[k])[at[k]] == ((int64_t *)b->r->cols[cols[k]].data)[at[k]];
        alm_reading_end(&b->decoded, &reading);
        if (i % 50 == 0)
            alm_decoded_drop_all(&b->decoded);
    }
    return NULL;
}

static void readers_and_drops_at_once(void **state)
{
    (void)state;
    budget b;
    reader readers[4];
    pthread_t threads[4];
    budget_init(&b, 2 * UNIT_BYTES);
    for (int i = 0; i < 4; i++) {
        readers[i] = (reader){.b = &b, .seed = (uint64_t)i, .good = true};
        assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, &readers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_string_equal(readers[i].cx.err.msg, "");
        assert_true(readers[i].good);
    }
    assert_true(atomic_load(&b.decoded.drops) > 0);
    budget_free(&b);
}

/* ------------------------------------------------------------------------ damage */

static alm_status open_and_read(rows *r, const alm_io *io, bool *same)
{
    alm_part *part = NULL;
    alm_error_clear(&r->cx);
    *same = true;
    alm_status st = alm_part_open(&r->cx, io, "/d/a.parquet", NULL, TABLE, NULL, &part);
    if (st != ALM_OK)
        return st;
    for (uint32_t c = 0; c < r->n_cols && st == ALM_OK; c++) {
        alm_vec v;
        st = alm_part_vec(&r->cx, &r->arena, part, r->defs[c].id, r->defs[c].type, &v);
        for (uint32_t i = 0; st == ALM_OK && i < r->n && !is_float(v.type); i++)
            if (!alm_type_has_heap(v.type) && v.type.id != ALM_T_SYMBOL)
                *same =
                    *same && memcmp((char *)v.data + (size_t)i * v.width,
                                    (char *)r->cols[c].data + (size_t)i * v.width, v.width) == 0;
    }
    alm_part_release(part);
    return st;
}

/* An error or the right rows, whatever bit is wrong; and errors of reading say where. */
static void flipped_bits_are_found(void **state)
{
    (void)state;
    alm_sim *sim = sim_new(4);
    const alm_io *io = alm_sim_io(sim);
    rows *r = rows_new(300, 4);
    add_all_types(r);
    alm_part *part = write_open(r, io, "/d", "a.parquet", true, NULL, NULL);
    const int64_t bytes = alm_part_bytes(part);
    alm_part_release(part);
    const int h = io->open(io, "/d/a.parquet", ALM_IO_READ | ALM_IO_WRITE);
    int64_t found = 0, tried = 0;
    for (int64_t at = 0; at < bytes; at += STEP, tried++) {
        uint8_t byte = 0;
        bool same = false;
        assert_int_equal(io->read(io, h, &byte, 1, at), 1);
        const uint8_t bad = (uint8_t)(byte ^ 1 << (at % 8));
        assert_int_equal(io->write(io, h, &bad, 1, at), 1);
        const alm_status st = open_and_read(r, io, &same);
        assert_true(st == ALM_OK || st == ALM_E_CORRUPT || st == ALM_E_UNSUPPORTED);
        assert_true(same);
        if (st != ALM_OK)
            assert_non_null(strstr(r->cx.err.msg, "/d/a.parquet"));
        found += st != ALM_OK;
        assert_int_equal(io->write(io, h, &byte, 1, at), 1);
    }
    assert_true(found > tried / 2);
    (void)io->close(io, h);
    rows_free(r);
    alm_sim_free(sim);
}

static void damage_is_named(void **state)
{
    (void)state;
    alm_sim *sim = sim_new(6);
    const alm_io *io = alm_sim_io(sim);
    rows *r = rows_new(300000, 4);
    add_col(r, ALM_TY(LONG));
    alm_part *part = write_open(r, io, "/d", "a.parquet", true, NULL, NULL);
    const int64_t bytes = alm_part_bytes(part);
    alm_part_release(part);
    const int h = io->open(io, "/d/a.parquet", ALM_IO_READ | ALM_IO_WRITE);
    const char junk[16] = "0123456789abcde";
    assert_int_equal(io->write(io, h, junk, sizeof junk, bytes / 2), (int64_t)sizeof junk);
    (void)io->close(io, h);
    bool same = false;
    assert_int_equal(open_and_read(r, io, &same), ALM_E_CORRUPT);
    assert_non_null(strstr(r->cx.err.msg, "/d/a.parquet"));
    assert_non_null(strstr(r->cx.err.msg, "row group"));
    assert_non_null(strstr(r->cx.err.msg, "c1"));
    alm_error_clear(&r->cx);
    alm_part_check_arg arg = {.report = print_line};
    assert_int_equal(alm_part_check(&r->cx, io, "/d/a.parquet", NULL, &WHATEVER, &arg), ALM_OK);
    assert_true(arg.n_findings > 0);
    assert_int_equal(alm_part_open(&r->cx, io, "/d/a.parquet", NULL, TABLE + 1, NULL, &part),
                     ALM_E_CORRUPT);
    alm_error_clear(&r->cx);
    rows_free(r);
    alm_sim_free(sim);
}

/* Each call of the disk fails in turn: an error comes back, no file stays. */
static void failed_writes_leave_nothing(void **state)
{
    (void)state;
    rows *r = rows_new(200, 9);
    add_all_types(r);
    const alm_part_chunk chunk = {.rows = r->n, .cols = r->cols};
    const alm_part_spec spec = {.table_id = TABLE,
                                .cols = r->defs,
                                .n_cols = r->n_cols,
                                .ts_col = 0,
                                .chunks = &chunk,
                                .n_chunks = 1,
                                .parquet = true};
    int64_t nth = 1;
    for (bool failed = true; failed; nth++) {
        alm_sim *sim = sim_new((uint64_t)nth);
        const alm_io *io = alm_sim_io(sim);
        alm_sim_fail(sim, ALM_SIM_CHANGE, nth, 28 /* ENOSPC */, 1);
        alm_part_written written = {0};
        alm_io_stat meta;
        alm_error_clear(&r->cx);
        const alm_status st = alm_part_write(&r->cx, io, "/d", "p", &spec, &written);
        failed = alm_sim_failed(sim) > 0;
        assert_int_equal(st, failed ? ALM_E_DISK_FULL : ALM_OK);
        assert_int_equal(io->stat(io, "/d/p", &meta) < 0, failed);
        alm_sim_free(sim);
    }
    assert_true(nth > 5);
    rows_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_come_back),
        cmocka_unit_test(row_groups_come_back),
        cmocka_unit_test(wide_rows_have_small_row_groups),
        cmocka_unit_test(unread_columns_go),
        cmocka_unit_test(read_columns_stay),
        cmocka_unit_test(readers_and_drops_at_once),
        cmocka_unit_test(flipped_bits_are_found),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(failed_writes_leave_nothing),
    };
#if defined(__SANITIZE_THREAD__)
    if (getenv("ALM_TEST_ALL") ==
        NULL) /* the others have one thread, and run without the sanitizer, too */
        cmocka_set_test_filter("readers_and_drops_at_once");
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
