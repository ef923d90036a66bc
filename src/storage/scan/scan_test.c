/*
 * Goal    A scan gives exactly the visible rows of the ranges asked for, in order of time and then of
 *         insertion, in spans that can be read from any row on.
 * Method  Versions made by hand: parts on a simulated disk and lanes in memory with random, often
 *         equal times. The oracle sorts all rows by (time, source, row) and drops what DEDUP replaces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/sim.h"
#include "storage/dict/dict.h"
#include "storage/scan/scan.h"

#define DAY INT64_C(86400000000)
enum { COLS = 5, COL_TS = 0, COL_ID, COL_SYM, COL_TEXT, COL_LATE, SOURCES_MAX = 64 };

static uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

typedef struct row {
    int64_t ts, id;
    uint32_t source, sym;
    double late; /* NaN where the source lacks the column */
} row;

typedef struct table {
    alm_ctx cx;
    alm_arena arena;
    alm_sim *sim;
    alm_symbols *symbols;
    alm_dict dict;
    alm_column cols[COLS];
    alm_schema schema, old_schema; /* old: without the column `late` */
    uint32_t by_id[COLS];
    alm_version v;
    alm_lane lanes[SOURCES_MAX];
    alm_part_ref refs[SOURCES_MAX];
    alm_file files[SOURCES_MAX];
    row *rows; /* in order of insertion, each source sorted */
    int64_t n_rows, cap_rows;
    uint32_t n_sources, n_parts;
    int64_t next_id;
} table;

static table *table_new(uint64_t seed, bool dedup)
{
    static const char *const names[COLS] = {"ts", "id", "sym", "text", "late"};
    static const uint8_t types[COLS] = {ALM_T_TIMESTAMP, ALM_T_LONG, ALM_T_SYMBOL, ALM_T_VARCHAR,
                                        ALM_T_DOUBLE};
    table *t = calloc(1, sizeof(*t));
    alm_arena_init(&t->arena, NULL);
    t->sim = alm_sim_new(seed);
    assert_int_equal(alm_sim_io(t->sim)->mkdir(alm_sim_io(t->sim), "/d"), 0);
    assert_int_equal(alm_symbols_new(&t->cx, 1, 1, 3, &t->symbols), ALM_OK);
    for (uint32_t i = 1; i < 400; i++) {
        char text[16];
        uint32_t code = 0;
        const int n = snprintf(text, sizeof(text), "s%u", i);
        assert_int_equal(
            alm_symbols_intern_one(&t->cx, t->symbols, (alm_str){text, (size_t)n}, &code), ALM_OK);
    }
    alm_symbols_view(t->symbols, 400, &t->dict);
    for (uint32_t c = 0; c < COLS; c++)
        t->cols[c] = (alm_column){.name = names[c],
                                  .type = {.id = types[c]},
                                  .id = c + 1,
                                  .dict = c == COL_SYM ? &t->dict : NULL,
                                  .dedup_key = dedup && (c == COL_TS || c == COL_SYM)};
    for (uint32_t i = 0; i < COLS; i++)
        t->by_id[i] = i;
    t->schema = (alm_schema){.refs = 1, .n_cols = COLS, .cols = t->cols, .by_id = t->by_id};
    t->old_schema = (alm_schema){.refs = 1, .n_cols = COLS - 1, .cols = t->cols, .by_id = t->by_id};
    t->v = (alm_version){.refs = 1,
                         .table = {.name = "t",
                                   .id = 42,
                                   .cols = t->cols,
                                   .n_cols = COLS,
                                   .ts_col = COL_TS,
                                   .partition = ALM_PART_DAY,
                                   .dedup = dedup},
                         .schema = &t->schema,
                         .lanes = t->lanes};
    return t;
}

static void table_free(table *t)
{
    for (uint32_t i = 0; i < t->n_parts; i++)
        alm_part_release(t->files[i].part);
    for (uint32_t l = 0; l < t->v.n_lanes; l++) {
        for (uint32_t c = 0; c < t->lanes[l].n_chunks; c++)
            free(t->lanes[l].chunks[c].chunk);
        free(t->lanes[l].chunks);
    }
    free(t->v.parts);
    free(t->rows);
    alm_symbols_release(t->symbols);
    alm_sim_free(t->sim);
    alm_arena_deinit(&t->arena);
    free(t);
}

/* Text of a row: null, short or long, told by its id. */
static alm_view text_of(table *t, int64_t id)
{
    char *text = NULL;
    if (id % 5 == 0)
        return alm_view_null();
    assert_int_equal(alm_arena_bytes(&t->cx, &t->arena, 40, &text), ALM_OK);
    const int n =
        snprintf(text, 40, id % 2 == 0 ? "%lld" : "a long text of row %lld", (long long)id);
    return alm_view_of((alm_str){text, (size_t)n});
}

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* n rows of a new source with times in [lo, lo + width), sorted; returns the first. */
static row *add_rows(table *t, uint64_t *seed, int64_t n, int64_t lo, int64_t width, bool has_late)
{
    if (t->n_rows + n > t->cap_rows) {
        t->cap_rows = (t->n_rows + n) * 2;
        t->rows = realloc(t->rows, (size_t)t->cap_rows * sizeof(*t->rows));
    }
    row *first = t->rows + t->n_rows;
    for (int64_t i = 0; i < n; i++)
        first[i] = (row){.ts = lo + (int64_t)(next_random(seed) % (uint64_t)width),
                         .id = t->next_id++,
                         .source = t->n_sources,
                         .sym = (uint32_t)(next_random(seed) % (t->n_sources % 2 ? 4 : 300)),
                         .late = has_late ? (double)t->next_id : __builtin_nan("")};
    qsort(first, (size_t)n, sizeof(*first), by_time);
    if (t->v.table.dedup) { /* no source has two rows of equal time and keys */
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i++) {
            bool twice = false;
            for (int64_t k = kept; k-- > 0 && first[k].ts == first[i].ts && !twice;)
                twice = first[k].sym == first[i].sym;
            if (!twice)
                first[kept++] = first[i];
        }
        n = kept;
    }
    t->n_rows += n;
    t->n_sources++;
    return first;
}

static void fill_columns(table *t, const row *rows, int64_t n, void *const *cols)
{
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)cols[COL_TS])[i] = rows[i].ts;
        ((int64_t *)cols[COL_ID])[i] = rows[i].id;
        ((uint32_t *)cols[COL_SYM])[i] = rows[i].sym;
        ((alm_view *)cols[COL_TEXT])[i] = text_of(t, rows[i].id);
        if (cols[COL_LATE] != NULL)
            ((double *)cols[COL_LATE])[i] = rows[i].late;
    }
}

static void add_part(table *t, uint64_t *seed, int64_t n, int64_t day, int64_t lo, int64_t width)
{
    const bool has_late = next_random(seed) % 2 == 0;
    const int64_t before = t->n_rows;
    const row *rows = add_rows(t, seed, n, day * DAY + lo, width, has_late);
    n = t->n_rows - before;
    void *data[COLS] = {0};
    alm_vec vecs[COLS];
    alm_part_coldef defs[COLS];
    for (uint32_t c = 0; c < COLS; c++) {
        const uint32_t w = alm_type_width(t->cols[c].type);
        data[c] = c == COL_LATE && !has_late ? NULL : calloc((size_t)n, w);
        vecs[c] = (alm_vec){.type = t->cols[c].type, .width = (uint8_t)w, .data = data[c]};
        defs[c] = (alm_part_coldef){t->cols[c].id, t->cols[c].type};
    }
    fill_columns(t, rows, n, data);
    const alm_part_chunk chunk = {.rows = (uint32_t)n, .cols = vecs};
    const alm_part_spec spec = {.table_id = 42,
                                .cols = defs,
                                .n_cols = has_late ? COLS : COLS - 1,
                                .ts_col = COL_TS,
                                .chunks = &chunk,
                                .n_chunks = 1};
    char name[16], path[32];
    (void)snprintf(name, sizeof(name), "p%u", t->n_parts);
    (void)snprintf(path, sizeof(path), "/d/%s", name);
    alm_part_written written;
    alm_part *part = NULL;
    const alm_io *io = alm_sim_io(t->sim);
    assert_int_equal(alm_part_write(&t->cx, io, "/d", name, &spec, &written), ALM_OK);
    assert_int_equal(alm_part_open(&t->cx, io, path, NULL, 42, NULL, &part), ALM_OK);
    alm_file *file = &t->files[t->n_parts];
    *file = (alm_file){.refs = 1, .table_id = 42, .part = part};
    t->refs[t->n_parts] = (alm_part_ref){.refs = 1,
                                         .seq = t->n_parts + 1,
                                         .rows = n,
                                         .min_ts = rows[0].ts,
                                         .max_ts = rows[n - 1].ts,
                                         .bucket = day * DAY,
                                         .file = file};
    t->n_parts++;
    for (uint32_t c = 0; c < COLS; c++)
        free(data[c]);
}

static int ref_by_time(const void *a, const void *b)
{
    const alm_part_ref *x, *y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    if (x->min_ts != y->min_ts)
        return x->min_ts < y->min_ts ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void seal_parts(table *t)
{
    t->v.parts = calloc(1, sizeof(alm_part_set) + t->n_parts * sizeof(alm_part_ref *));
    t->v.parts->n = t->n_parts;
    for (uint32_t i = 0; i < t->n_parts; i++)
        t->v.parts->parts[i] = &t->refs[i];
    if (t->n_parts > 0)
        qsort(t->v.parts->parts, t->n_parts, sizeof(alm_part_ref *), ref_by_time);
}

static void add_lane(table *t, uint64_t *seed, int64_t n, int64_t lo, int64_t width)
{
    const bool has_late = next_random(seed) % 2 == 0;
    const int64_t before = t->n_rows;
    const row *rows = add_rows(t, seed, n, lo, width, has_late);
    n = t->n_rows - before;
    alm_lane *lane = &t->lanes[t->v.n_lanes++];
    *lane = (alm_lane){.rows = n, .min_ts = rows[0].ts, .max_ts = rows[n - 1].ts};
    lane->chunks = calloc((size_t)n, sizeof(*lane->chunks));
    for (int64_t done = 0; done < n;) {
        const int64_t some = (int64_t)(1 + next_random(seed) % 40);
        const int64_t m = ALM_MIN(n - done, some);
        alm_chunk *chunk = calloc(1, sizeof(*chunk) + COLS * sizeof(void *));
        chunk->schema = has_late ? &t->schema : &t->old_schema;
        chunk->n_cols = has_late ? COLS : COLS - 1;
        for (uint32_t c = 0; c < chunk->n_cols; c++)
            assert_int_equal(alm_arena_zero(&t->cx, &t->arena,
                                            (size_t)m * alm_type_width(t->cols[c].type),
                                            &chunk->cols[c]),
                             ALM_OK);
        void *cols[COLS] = {0};
        memcpy(cols, chunk->cols, chunk->n_cols * sizeof(void *));
        fill_columns(t, rows + done, m, cols);
        lane->chunks[lane->n_chunks++] = (alm_lane_chunk){chunk, (uint32_t)m};
        done += m;
    }
}

/* ------------------------------------------------------------------ oracle */

static bool in_ranges(int64_t ts, const alm_scan_range *ranges, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ts >= ranges[i].lo && ts <= ranges[i].hi)
            return true;
    return false;
}

/* Sorts the rows and applies DEDUP, once per table. */
static void oracle_settle(table *t)
{
    if (t->n_rows > 0)
        qsort(t->rows, (size_t)t->n_rows, sizeof(*t->rows), by_time);
    if (!t->v.table.dedup)
        return;
    int64_t kept = 0;
    for (int64_t i = 0; i < t->n_rows; i++) {
        bool replaced = false;
        for (int64_t k = i + 1; k < t->n_rows && t->rows[k].ts == t->rows[i].ts && !replaced; k++)
            replaced = t->rows[k].sym == t->rows[i].sym;
        if (!replaced)
            t->rows[kept++] = t->rows[i];
    }
    t->n_rows = kept;
}

static void same_row(table *t, const alm_vec *vecs, const bool *wanted, size_t i, const row *want)
{
    if (wanted[COL_TS])
        assert_int_equal(((const int64_t *)vecs[COL_TS].data)[i], want->ts);
    if (wanted[COL_ID])
        assert_int_equal(((const int64_t *)vecs[COL_ID].data)[i], want->id);
    if (wanted[COL_SYM]) {
        assert_int_equal(alm_vec_code(&vecs[COL_SYM], i), want->sym);
        assert_true(!vecs[COL_SYM].no_nulls || want->sym != 0);
    }
    if (wanted[COL_TEXT]) {
        const alm_view view = text_of(t, want->id);
        const alm_view *got = (const alm_view *)vecs[COL_TEXT].data + i;
        assert_true(alm_view_eq(got, vecs[COL_TEXT].heap, &view, NULL));
    }
    if (wanted[COL_LATE]) {
        const alm_vec *v = &vecs[COL_LATE];
        const double got = ((const double *)v->data)[v->is_const ? 0 : i];
        assert_true(got == want->late || (got != got && want->late != want->late));
    }
}

static void read_span(table *t, alm_scan_cursor *cur, const alm_scan *scan, size_t i,
                      const row *const *want, uint64_t *seed)
{
    const alm_span span = alm_scan_span_at(scan, i);
    alm_vec vecs[COLS];
    for (int64_t at = 0; at < span.rows;) {
        const int64_t some = (int64_t)(1 + next_random(seed) % 300);
        const uint32_t n = (uint32_t)ALM_MIN(span.rows - at, some);
        bool wanted[COLS];
        for (uint32_t c = 0; c < COLS; c++)
            wanted[c] = next_random(seed) % 3 != 0;
        assert_int_equal(alm_scan_read(&t->cx, cur, i, at, n, wanted, vecs), ALM_OK);
        for (uint32_t k = 0; k < n; k++) {
            same_row(t, vecs, wanted, k, want[at + k]);
            assert_true(want[at + k]->ts >= span.min_ts && want[at + k]->ts <= span.max_ts);
        }
        at += n;
    }
}

static void check_scan(table *t, const alm_scan_range *ranges, uint32_t n_ranges, bool all,
                       uint64_t *seed)
{
    const uint32_t cols[COLS] = {0, 1, 2, 3, 4};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    assert_int_equal(
        alm_scan_new_version(
            &t->cx, &arena, &t->v,
            &(alm_scan_spec){
                .cols = cols, .n_cols = COLS, .ranges = ranges, .n_ranges = n_ranges, .all = all},
            &scan),
        ALM_OK);
    assert_int_equal(alm_scan_cursor_new(&t->cx, &arena, scan, &cur), ALM_OK);
    const row **want = calloc((size_t)t->n_rows + 1, sizeof(*want));
    int64_t n = 0, at = 0;
    for (int64_t i = 0; i < t->n_rows; i++)
        if (all || in_ranges(t->rows[i].ts, ranges, n_ranges))
            want[n++] = &t->rows[i];
    assert_int_equal(alm_scan_rows(scan), n);
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_span span = alm_scan_span_at(scan, i);
        assert_true(span.rows > 0 && at + span.rows <= n);
        assert_true(span.min_ts >= last);
        last = want[at + span.rows - 1]->ts;
        read_span(t, cur, scan, i, want + at, seed);
        at += span.rows;
    }
    assert_int_equal(at, n);
    for (size_t i = alm_scan_span_count(scan); i-- > 0;) { /* and backward */
        at -= alm_scan_span_at(scan, i).rows;
        read_span(t, cur, scan, i, want + at, seed);
    }
    free(want);
    alm_arena_deinit(&arena);
}

/* In any order: the same rows, each once, nothing merged but what DEDUP needs. */
static void check_any_order(table *t, const alm_scan_range *ranges, uint32_t n_ranges, bool all)
{
    const uint32_t cols[COLS] = {0, 1, 2, 3, 4};
    const bool wanted[COLS] = {true, true, true, true, true};
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    const row **want = calloc((size_t)t->next_id + 1, sizeof(*want)); /* by id */
    int64_t left = 0;
    for (int64_t i = 0; i < t->n_rows; i++)
        if (all || in_ranges(t->rows[i].ts, ranges, n_ranges)) {
            want[t->rows[i].id] = &t->rows[i];
            left++;
        }
    assert_int_equal(alm_scan_new_version(&t->cx, &arena, &t->v,
                                          &(alm_scan_spec){.cols = cols,
                                                           .n_cols = COLS,
                                                           .ranges = ranges,
                                                           .n_ranges = n_ranges,
                                                           .all = all,
                                                           .order = ALM_SCAN_ANY_ORDER},
                                          &scan),
                     ALM_OK);
    assert_int_equal(alm_scan_cursor_new(&t->cx, &arena, scan, &cur), ALM_OK);
    assert_int_equal(alm_scan_rows(scan), left);
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_span span = alm_scan_span_at(scan, i);
        assert_true(span.direct || t->v.table.dedup);
        for (int64_t at = 0; at < span.rows; at++, left--) {
            alm_vec vecs[COLS];
            assert_int_equal(alm_scan_read(&t->cx, cur, i, at, 1, wanted, vecs), ALM_OK);
            const int64_t id = ((const int64_t *)vecs[COL_ID].data)[0];
            assert_non_null(want[id]);
            same_row(t, vecs, wanted, 0, want[id]);
            assert_true(want[id]->ts >= span.min_ts && want[id]->ts <= span.max_ts);
            want[id] = NULL;
        }
    }
    assert_int_equal(left, 0);
    free(want);
    alm_arena_deinit(&arena);
}

static void check_ranges(table *t, uint64_t *seed, int64_t span, int times)
{
    check_scan(t, NULL, 0, true, seed);
    check_any_order(t, NULL, 0, true);
    check_scan(t, NULL, 0, false, seed);
    for (int i = 0; i < times; i++) {
        alm_scan_range ranges[3];
        const uint32_t n = 1 + (uint32_t)(next_random(seed) % 3);
        int64_t at = -5;
        for (uint32_t k = 0; k < n; k++) {
            ranges[k].lo = at + (int64_t)(next_random(seed) % (uint64_t)span);
            ranges[k].hi =
                ranges[k].lo + (int64_t)(next_random(seed) % (uint64_t)span) / (1 + i % 5);
            at = ranges[k].hi + 1;
        }
        check_scan(t, ranges, n, false, seed);
        check_any_order(t, ranges, n, false);
    }
}

/* ------------------------------------------------------------------- tests */

static void random_versions(uint64_t seed, bool dedup, int64_t times, int64_t rows)
{
    table *t = table_new(seed, dedup);
    const uint32_t n_parts = (uint32_t)(next_random(&seed) % 7);
    for (uint32_t i = 0; i < n_parts; i++) {
        const int64_t lo = (int64_t)(next_random(&seed) % (uint64_t)times);
        add_part(t, &seed, 1 + (int64_t)(next_random(&seed) % (uint64_t)rows),
                 (int64_t)(next_random(&seed) % 3), lo,
                 1 + (int64_t)(next_random(&seed) % (uint64_t)times));
    }
    seal_parts(t);
    const uint32_t n_lanes = (uint32_t)(next_random(&seed) % 4);
    for (uint32_t i = 0; i < n_lanes; i++)
        add_lane(t, &seed, 1 + (int64_t)(next_random(&seed) % (uint64_t)rows),
                 (int64_t)(next_random(&seed) % 3) * DAY, times);
    oracle_settle(t);
    check_ranges(t, &seed, times, 6);
    check_ranges(t, &seed, 3 * DAY, 4);
    table_free(t);
}

static void any_overlap_is_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_versions(seed, false, 10, 200);     /* nearly all times are equal */
        random_versions(seed, false, 1000, 300);   /* some are */
        random_versions(seed, false, 1 << 30, 40); /* none are */
    }
}

static void dedup_keeps_the_last(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_versions(seed, true, 10, 200);
        random_versions(seed, true, 1000, 300);
        random_versions(seed, true, 1 << 30, 40);
    }
}

static void empty_tables_have_no_spans(void **state)
{
    (void)state;
    uint64_t seed = 1;
    table *t = table_new(1, false);
    seal_parts(t);
    check_ranges(t, &seed, 1000, 3);
    table_free(t);
}

/* Parts that follow one another, some at the same timestamp, need no merge: all spans are direct. */
static void parts_in_order_are_direct(void **state)
{
    (void)state;
    uint64_t seed = 7;
    table *t = table_new(7, false);
    for (int64_t i = 0; i < 10; i++)
        add_part(t, &seed, 500, 0, i * 100, i % 2 == 0 ? 101 : 100);
    seal_parts(t);
    oracle_settle(t);
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan *scan = NULL;
    const uint32_t col = 0;
    assert_int_equal(alm_scan_new_version(&t->cx, &arena, &t->v,
                                          &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true},
                                          &scan),
                     ALM_OK);
    assert_int_equal(alm_scan_span_count(scan), 10);
    for (size_t i = 0; i < 10; i++)
        assert_true(alm_scan_span_at(scan, i).direct);
    check_ranges(t, &seed, 1000, 10);
    alm_arena_deinit(&arena);
    table_free(t);
}

/* A late run in the middle of a large part: only the middle is merged, in bounded spans. */
static void only_the_overlap_is_merged(void **state)
{
    (void)state;
    uint64_t seed = 8;
    table *t = table_new(8, false);
    add_part(t, &seed, 300000, 0, 0, 1000000);
    seal_parts(t);
    add_lane(t, &seed, 200, 400000, 200000);
    oracle_settle(t);
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan *scan = NULL;
    const uint32_t col = 0;
    assert_int_equal(alm_scan_new_version(&t->cx, &arena, &t->v,
                                          &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true},
                                          &scan),
                     ALM_OK);
    const size_t n = alm_scan_span_count(scan);
    assert_true(n >= 3);
    assert_true(alm_scan_span_at(scan, 0).direct && alm_scan_span_at(scan, 0).rows > 100000);
    assert_true(alm_scan_span_at(scan, n - 1).direct &&
                alm_scan_span_at(scan, n - 1).rows > 100000);
    int64_t merged = 0;
    for (size_t i = 0; i < n; i++) {
        const alm_span s = alm_scan_span_at(scan, i);
        if (!s.direct) {
            assert_true(s.rows <= ALM_SCAN_SPAN_ROWS);
            merged += s.rows;
        }
    }
    assert_true(merged > 200 && merged < 80000);
    check_scan(t, NULL, 0, true, &seed);
    alm_arena_deinit(&arena);
    table_free(t);
}

static void large_overlaps_are_cut(void **state)
{
    (void)state;
    uint64_t seed = 9;
    table *t = table_new(9, false);
    add_part(t, &seed, 150000, 0, 0, 1000000);
    add_part(t, &seed, 100000, 0, 0, 1000000);
    add_part(t, &seed, 90000, 0, 77, 1); /* one timestamp */
    add_part(t, &seed, 90000, 0, 77, 1);
    seal_parts(t);
    oracle_settle(t);
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan *scan = NULL;
    const uint32_t col = 0;
    assert_int_equal(alm_scan_new_version(&t->cx, &arena, &t->v,
                                          &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true},
                                          &scan),
                     ALM_OK);
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_span s = alm_scan_span_at(scan, i);
        assert_true(s.direct || s.rows <= ALM_SCAN_SPAN_ROWS);
    }
    check_scan(t, NULL, 0, true, &seed);
    alm_arena_deinit(&arena);
    table_free(t);
}

static void statistics_and_last_rows(void **state)
{
    (void)state;
    uint64_t seed = 10;
    table *t = table_new(10, false);
    add_part(t, &seed, 100000, 0, 0, 1000000);
    seal_parts(t);
    oracle_settle(t);
    const uint32_t cols[3] = {COL_SYM, COL_ID, COL_LATE};
    alm_scan *scan = NULL;
    assert_int_equal(alm_scan_new_version(&t->cx, &t->arena, &t->v,
                                          &(alm_scan_spec){.cols = cols, .n_cols = 3, .all = true},
                                          &scan),
                     ALM_OK);
    int64_t left = 0, sum = 0;
    alm_col_stats stats;
    for (int64_t at = 0; at < 100000; at += left) {
        alm_scan_block_stats(scan, 0, at, 1, &left, &stats);
        assert_true(stats.valid && stats.has_sum && stats.rows == left);
        sum += stats.sum_i;
    }
    int64_t want = 0;
    for (int64_t i = 0; i < t->n_rows; i++)
        want += t->rows[i].id;
    assert_int_equal(sum, want);
    alm_scan_block_stats(scan, 0, 1, 1, &left, &stats);
    assert_false(stats.valid);
    assert_int_equal(left, 65535);
    uint32_t n = 0;
    const int32_t *last = alm_scan_last_rows(scan, 0, 0, &n);
    assert_non_null(last);
    for (uint32_t code = 0; code < n; code++) {
        int64_t at = t->n_rows;
        while (at > 0 && t->rows[at - 1].sym != code)
            at--;
        assert_int_equal(last[code], at - 1);
    }
    assert_null(alm_scan_last_rows(scan, 0, 1, &n));
    const alm_scan_range half = {0, 500000}; /* a clipped part has no last rows of its own */
    assert_int_equal(
        alm_scan_new_version(
            &t->cx, &t->arena, &t->v,
            &(alm_scan_spec){.cols = cols, .n_cols = 3, .ranges = &half, .n_ranges = 1}, &scan),
        ALM_OK);
    assert_null(alm_scan_last_rows(scan, 0, 0, &n));
    table_free(t);
}

static void without_timestamp_in_insertion_order(void **state)
{
    (void)state;
    uint64_t seed = 11;
    table *t = table_new(11, false);
    add_part(t, &seed, 100, 0, 500, 100);
    add_part(t, &seed, 100, 0, 0, 100);
    seal_parts(t);
    add_lane(t, &seed, 100, 200, 10);
    const alm_part_ref *swap[2] = {&t->refs[0], &t->refs[1]};
    memcpy(t->v.parts->parts, swap, sizeof(swap)); /* by seq */
    t->v.table.ts_col = -1;
    const uint32_t cols[1] = {COL_ID};
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    assert_int_equal(alm_scan_new_version(&t->cx, &t->arena, &t->v,
                                          &(alm_scan_spec){.cols = cols, .n_cols = 1, .all = true},
                                          &scan),
                     ALM_OK);
    assert_int_equal(alm_scan_cursor_new(&t->cx, &t->arena, scan, &cur), ALM_OK);
    int64_t at = 0;
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        alm_vec v;
        const alm_span span = alm_scan_span_at(scan, i);
        assert_true(span.direct);
        assert_int_equal(alm_scan_read(&t->cx, cur, i, 0, (uint32_t)span.rows, NULL, &v), ALM_OK);
        for (int64_t k = 0; k < span.rows; k++)
            assert_int_equal(((const int64_t *)v.data)[k], t->rows[at + k].id);
        at += span.rows;
    }
    assert_int_equal(at, t->n_rows);
    table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_overlap_is_in_order),
        cmocka_unit_test(dedup_keeps_the_last),
        cmocka_unit_test(empty_tables_have_no_spans),
        cmocka_unit_test(parts_in_order_are_direct),
        cmocka_unit_test(only_the_overlap_is_merged),
        cmocka_unit_test(large_overlaps_are_cut),
        cmocka_unit_test(statistics_and_last_rows),
        cmocka_unit_test(without_timestamp_in_insertion_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
