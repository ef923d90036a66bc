/*
 * two_tables_for_test.h - for tests of joins, set operations and windows: two random tables with nulls,
 * repeats and different dictionaries, and results as numbers that can be compared with answers
 * computed row by row. Texts are all "s<number>" and come back as that number; null is NaN.
 */
#ifndef ALM_EXEC_TWO_TABLES_FOR_TEST_H
#define ALM_EXEC_TWO_TABLES_FOR_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/run/table_fixture.h"

enum { COL_TS, COL_SYM, COL_N, COL_X, COL_TEXT, COL_FLAG, COLS };

typedef struct side_table {
    fake_table t;
    alm_dict dict;
    int64_t rows;
    double *cell; /* rows * COLS, as results show them */
} side_table;

typedef struct world {
    alm_arena arena;
    alm_mem mem;
    alm_ctx cx;
    plan_maker m;
    alm_workers *one, *four;
    uint64_t random;
} world;

static world *w;

static inline uint64_t draw(uint64_t below)
{
    w->random = w->random * 6364136223846793005U + 1442695040888963407U;
    return (w->random >> 33) % below;
}

static inline int world_setup(void **state)
{
    (void)state;
    w = calloc(1, sizeof *w);
    w->mem.name = "query";
    w->random = 4711;
    alm_arena_init(&w->arena, &w->mem);
    w->cx = (alm_ctx){.arena = &w->arena, .mem = &w->mem, .now_ns = 1};
    w->m.cx = &w->cx;
    must(&w->m, alm_registry_new(&w->cx, &w->m.registry));
    must(&w->m, alm_workers_new(&w->cx, 1, &w->one));
    must(&w->m, alm_workers_new(&w->cx, 4, &w->four));
    return 0;
}

static inline int world_teardown(void **state)
{
    (void)state;
    alm_workers_free(w->one);
    alm_workers_free(w->four);
    alm_registry_free(w->m.registry);
    alm_arena_deinit(&w->arena);
    assert_int_equal(w->mem.used_bytes, 0); /* every operator gave back what it was charged */
    free(w);
    return 0;
}

/* "s<number>", every third one too long to fit into a view. */
static inline alm_view text_of(uint64_t number)
{
    const char *s = NULL;
    must(&w->m,
         alm_arena_printf(&w->cx, &w->arena, &s, number % 3 == 0 ? "s%llu is a long text" : "s%llu",
                          (unsigned long long)number));
    return alm_view_of(alm_str_of(s));
}

/* Values s<from> .. s<to> in falling order, so that equal texts have different codes elsewhere. */
static inline void falling_dict(alm_dict *dict, uint32_t id, uint32_t from, uint32_t to)
{
    alm_view *views = NULL;
    const uint32_t n = to - from + 1;
    must(&w->m, ALM_NEWN(&w->cx, &w->arena, n + 1, &views));
    views[0] = alm_view_null();
    for (uint32_t i = 1; i <= n; i++) {
        views[i] = text_of(to + 1 - i);
    }
    *dict = (alm_dict){.views = views, .count = n + 1, .id = id, .find = fake_find};
}

static inline void *column(size_t rows, size_t width)
{
    void *data = NULL;
    must(&w->m, alm_arena_zero(&w->cx, &w->arena, rows * width + 16, &data));
    return data;
}

/*
 * ts rises, with repeats (step_us: mean step); sym from s<from>..s<to>; n in 0..n_max - 1; x with two
 * digits; text "s<number>" up to n_max, some of them long; flag. Nulls in sym, n, x, text.
 */
static inline void fill_table(side_table *t, int64_t rows, int64_t span_rows, uint32_t id,
                              uint32_t from, uint32_t to, uint64_t n_max, uint64_t step_us)
{
    int64_t *ts = column((size_t)rows, 8), *n = column((size_t)rows, 8);
    uint8_t *sym = column((size_t)rows, 1), *flag = column((size_t)rows, 1);
    double *x = column((size_t)rows, 8);
    alm_view *text = column((size_t)rows, sizeof *text);
    *t = (side_table){.rows = rows, .t = {.rows = rows, .span_rows = span_rows}};
    t->cell = column((size_t)rows * COLS, sizeof *t->cell);
    falling_dict(&t->dict, id, from, to);
    int64_t now = 1700000000000000;
    for (int64_t i = 0; i < rows; i++) {
        double *cell = t->cell + i * COLS;
        now += draw(3) == 0 ? 0 : (int64_t)draw(3 * step_us + 1);
        ts[i] = now;
        sym[i] = (uint8_t)draw(t->dict.count);
        n[i] = draw(9) == 0 ? ALM_LONG_NULL : (int64_t)draw(n_max);
        x[i] = draw(8) == 0 ? NAN : (double)draw(1000) / 4;
        flag[i] = (uint8_t)draw(2);
        const uint64_t number = draw(n_max);
        text[i] = draw(7) == 0 ? alm_view_null() : text_of(number);
        cell[COL_TS] = (double)now;
        cell[COL_SYM] = sym[i] == 0 ? NAN : (double)(to + 1 - sym[i]);
        cell[COL_N] = n[i] == ALM_LONG_NULL ? NAN : (double)n[i];
        cell[COL_X] = x[i];
        cell[COL_TEXT] = alm_view_is_null(&text[i]) ? NAN : (double)number;
        cell[COL_FLAG] = flag[i];
    }
    fake_column(&t->t, "ts", ALM_TY(TIMESTAMP), 8, ts, NULL);
    fake_column(&t->t, "sym", ALM_TY(SYMBOL), 1, sym, &t->dict);
    fake_column(&t->t, "n", ALM_TY(LONG), 8, n, NULL);
    fake_column(&t->t, "x", ALM_TY(DOUBLE), 8, x, NULL);
    fake_column(&t->t, "text", ALM_TY(VARCHAR), sizeof *text, text, NULL);
    fake_column(&t->t, "flag", ALM_TY(BOOLEAN), 1, flag, NULL);
}

static inline double cell_of(const side_table *t, int64_t row, uint32_t col)
{
    return row < 0 ? NAN : t->cell[row * COLS + col];
}

static inline bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static inline bool near(double a, double b)
{
    return same(a, b) || fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b)));
}

/* --------------------------------------------------------------------------------- results */

typedef struct result {
    double *v;
    uint32_t n_cols;
    int64_t n;
} result;

static inline double value_at(const alm_vec *v, uint32_t i)
{
    const uint32_t at = v->is_const ? 0 : i;
    if (alm_vec_is_null(v, i))
        return NAN;
    if (alm_type_is_text(v->type))
        return atof(alm_vec_text(v, i).ptr + 1);
    switch (v->width) {
    case 1:
        return ((const uint8_t *)v->data)[at];
    case 4:
        return ((const int32_t *)v->data)[at];
    default:
        return v->type.id == ALM_T_DOUBLE ? ((const double *)v->data)[at]
                                          : (double)((const int64_t *)v->data)[at];
    }
}

static inline result run_with(const alm_plan *plan, alm_workers *workers)
{
    const alm_exec_env env = {.scans = &fake_scans, .workers = workers, .registry = w->m.registry};
    result r = {.n_cols = plan->n_cols};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    int64_t cap = 0;
    must(&w->m, alm_exec_open(&w->cx, plan, &env, &ex));
    for (;;) {
        must(&w->m, alm_exec_next(&w->cx, ex, &b));
        if (b == NULL)
            break;
        assert_true(b->rows > 0 && b->rows <= ALM_BATCH_ROWS);
        if (r.n + b->rows > cap) {
            cap = 2 * (r.n + b->rows);
            r.v = realloc(r.v, (size_t)cap * (r.n_cols + 1) * sizeof(double));
        }
        for (uint32_t i = 0; i < b->rows; i++)
            for (uint32_t c = 0; c < r.n_cols; c++)
                r.v[(r.n + i) * r.n_cols + c] = value_at(&b->cols[c], i);
        r.n += b->rows;
    }
    alm_exec_close(ex);
    return r;
}

static inline double got(const result *r, int64_t row, uint32_t col)
{
    return r->v[row * r->n_cols + col];
}

/* A join of two scans. */
static inline alm_plan *p_join(plan_maker *m, uint8_t kind, alm_plan *left, alm_plan *right)
{
    const bool one_side = kind == ALM_JOIN_SEMI || kind == ALM_JOIN_ANTI;
    alm_plan *p = p_new(m, ALM_P_JOIN, left);
    must(m, ALM_NEWN(m->cx, m->cx->arena, 2, &p->child));
    p->child[0] = left;
    p->child[1] = right;
    p->n_children = 2;
    p->n_cols = left->n_cols + (one_side ? 0 : right->n_cols);
    must(m, ALM_NEWN(m->cx, m->cx->arena, p->n_cols + 1, &p->cols));
    memcpy(p->cols, left->cols, left->n_cols * sizeof *p->cols);
    if (!one_side)
        memcpy(p->cols + left->n_cols, right->cols, right->n_cols * sizeof *p->cols);
    must(m, ALM_NEWN(m->cx, m->cx->arena, 4, &p->join.left_keys));
    must(m, ALM_NEWN(m->cx, m->cx->arena, 4, &p->join.right_keys));
    must(m, ALM_NEWN(m->cx, m->cx->arena, 4, &p->join.residual));
    p->join.kind = kind;
    p->join.left_ts = p->join.right_ts = COL_TS;
    p->join.tolerance = -1;
    return p;
}

static inline void join_key(plan_maker *m, alm_plan *join, uint32_t left, uint32_t right)
{
    const uint32_t k = join->join.n_keys++;
    join->join.left_keys[k] = x_col(m, join->child[0], left);
    join->join.right_keys[k] = x_col(m, join->child[1], right);
}

#endif
