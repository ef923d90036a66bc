/*
 * table_fixture.h - for tests and benchmarks of exec alone: tables in plain arrays behind a table of scan functions
 * (fake_scans, for alm_exec_env.scans), and short ways to write plans.
 *
 * A table is cut into spans of `span_rows` rows, each with statistics per block (unless no_stats) and
 * the last rows of symbols (unless no_last).
 */
#ifndef ALM_EXEC_TABLE_FIXTURE_H
#define ALM_EXEC_TABLE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "exec/run/op.h"

enum { FAKE_COLS = 12 };

typedef struct fake_table {
    alm_table table;
    alm_column col[FAKE_COLS];
    void *data[FAKE_COLS];
    uint8_t width[FAKE_COLS];
    int64_t rows, span_rows;
    bool no_stats, no_last;
    int32_t *last[FAKE_COLS]; /* scratch of alm_scan_last_rows */
} fake_table;

/* Rows asked of alm_scan_read since it was set to 0. */
static int64_t fake_rows_read;

struct alm_scan {
    const fake_table *t;
    uint32_t *cols;
    uint32_t n_cols;
    int64_t *lo, *hi; /* rows of the table */
    size_t n_spans;
};

struct alm_scan_cursor {
    const alm_scan *scan;
};

static inline const fake_table *fake_of(const alm_table *table)
{
    return (const fake_table *)(const void *)table;
}

static inline void fake_column(fake_table *t, const char *name, alm_type type, uint8_t width,
                               void *data, const alm_dict *dict)
{
    const uint32_t c = t->table.n_cols++;
    t->col[c] = (alm_column){.name = name, .type = type, .id = c, .dict = dict};
    t->data[c] = data;
    t->width[c] = width;
    t->table.cols = t->col;
}

/* First row of the table with a time >= ts. */
static inline int64_t fake_row(const fake_table *t, int64_t ts)
{
    const int64_t *times = t->data[t->table.ts_col];
    int64_t lo = 0, hi = t->rows;
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (times[mid] < ts)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static alm_status fake_scan_open(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap,
                                 const alm_table *table, const alm_scan_spec *spec, alm_scan **out)
{
    (void)snap;
    alm_scan *s = NULL;
    const fake_table *t = fake_of(table);
    const alm_scan_range *ranges = spec->ranges;
    const uint32_t n_cols = spec->n_cols, n_ranges = spec->n_ranges;
    const size_t spans = (size_t)(t->rows / t->span_rows + 1) + 2 * n_ranges;
    ALM_TRY(ALM_NEW(cx, arena, &s));
    ALM_TRY(ALM_NEWN(cx, arena, n_cols + 1, &s->cols));
    ALM_TRY(ALM_NEWN(cx, arena, spans * (n_ranges + 1), &s->lo));
    ALM_TRY(ALM_NEWN(cx, arena, spans * (n_ranges + 1), &s->hi));
    if (n_cols > 0)
        memcpy(s->cols, spec->cols, n_cols * sizeof *s->cols);
    s->t = t;
    s->n_cols = n_cols;
    for (uint32_t r = 0; r < (spec->all ? 1 : n_ranges); r++) {
        const int64_t from = spec->all ? 0 : fake_row(t, ranges[r].lo);
        const int64_t to = spec->all ? t->rows : fake_row(t, ranges[r].hi + 1);
        for (int64_t at = from; at < to;) {
            const int64_t end = ALM_MIN(to, (at / t->span_rows + 1) * t->span_rows);
            s->lo[s->n_spans] = at;
            s->hi[s->n_spans++] = end;
            at = end;
        }
    }
    *out = s;
    return ALM_OK;
}

static size_t fake_scan_span_count(const alm_scan *scan)
{
    return scan->n_spans;
}

static alm_span fake_scan_span_at(const alm_scan *scan, size_t i)
{
    return (alm_span){.rows = scan->hi[i] - scan->lo[i], .direct = true};
}

static int64_t fake_scan_rows(const alm_scan *scan)
{
    int64_t n = 0;
    for (size_t i = 0; i < scan->n_spans; i++)
        n += scan->hi[i] - scan->lo[i];
    return n;
}

static alm_status fake_scan_cursor_new(alm_ctx *cx, alm_arena *arena, const alm_scan *scan,
                                       alm_scan_cursor **out)
{
    ALM_TRY(ALM_NEW(cx, arena, out));
    (*out)->scan = scan;
    return ALM_OK;
}

static alm_status fake_scan_read(alm_ctx *cx, alm_scan_cursor *cur, size_t i, int64_t row,
                                 uint32_t n, const bool *wanted, alm_vec *vecs)
{
    (void)cx;
    const alm_scan *s = cur->scan;
    ALM_ASSERT(n <= ALM_BATCH_ROWS && row >= 0 && s->lo[i] + row + n <= s->hi[i]);
    (void)__atomic_fetch_add(&fake_rows_read, n, __ATOMIC_RELAXED);
    for (uint32_t c = 0; c < s->n_cols; c++) {
        const uint32_t col = s->cols[c];
        if (!wanted[c])
            continue;
        vecs[c] = (alm_vec){.type = s->t->col[col].type,
                            .width = s->t->width[col],
                            .dict = s->t->col[col].dict,
                            .data = (char *)s->t->data[col] +
                                    (size_t)(s->lo[i] + row) * s->t->width[col]};
    }
    return ALM_OK;
}

static void fake_scan_block_stats(const alm_scan *scan, size_t i, int64_t row, uint32_t col,
                                  int64_t *block_rows_left, alm_col_stats *out)
{
    const fake_table *t = scan->t;
    const uint32_t c = scan->cols[col];
    const int64_t at = scan->lo[i] + row, part = at / t->span_rows * t->span_rows;
    const int64_t first = part + (at - part) / ALM_STATS_BLOCK_ROWS * ALM_STATS_BLOCK_ROWS;
    const int64_t end =
        ALM_MIN(ALM_MIN(first + ALM_STATS_BLOCK_ROWS, part + t->span_rows), t->rows);
    *out = (alm_col_stats){0};
    *block_rows_left = ALM_MIN(end, scan->hi[i]) - at;
    if (t->no_stats || at != first || end > scan->hi[i] ||
        (t->col[c].type.id != ALM_T_DOUBLE && t->width[c] != 8))
        return;
    const bool floating = t->col[c].type.id == ALM_T_DOUBLE;
    *out = (alm_col_stats){.valid = true,
                           .rows = end - at,
                           .min_i = INT64_MAX,
                           .max_i = INT64_MIN,
                           .min_f = 1e308,
                           .max_f = -1e308};
    for (int64_t k = at; k < end; k++) {
        if (floating) {
            const double x = ((const double *)t->data[c])[k];
            out->nulls += x != x;
            out->min_f = x < out->min_f ? x : out->min_f;
            out->max_f = x > out->max_f ? x : out->max_f;
        } else {
            const int64_t x = ((const int64_t *)t->data[c])[k];
            if (x == ALM_LONG_NULL) {
                out->nulls++;
                continue;
            }
            out->min_i = ALM_MIN(out->min_i, x);
            out->max_i = ALM_MAX(out->max_i, x);
        }
    }
    out->has_minmax = out->nulls < out->rows;
}

static const int32_t *fake_scan_last_rows(const alm_scan *scan, size_t i, uint32_t col, uint32_t *n)
{
    const uint32_t c = scan->cols[col];
    const fake_table *t = scan->t;
    const alm_dict *dict = t->col[c].dict;
    if (t->no_last || dict == NULL || t->last[c] == NULL)
        return NULL;
    alm_vec v = {.width = t->width[c], .data = t->data[c]};
    for (uint32_t k = 0; k < dict->count; k++)
        t->last[c][k] = -1;
    for (int64_t row = scan->lo[i]; row < scan->hi[i]; row++)
        t->last[c][alm_vec_code(&v, (size_t)row)] = (int32_t)(row - scan->lo[i]);
    *n = dict->count;
    return t->last[c];
}

static const alm_scan_ops fake_scans = {.open = fake_scan_open,
                                        .span_count = fake_scan_span_count,
                                        .span_at = fake_scan_span_at,
                                        .rows = fake_scan_rows,
                                        .cursor_new = fake_scan_cursor_new,
                                        .read = fake_scan_read,
                                        .block_stats = fake_scan_block_stats,
                                        .last_rows = fake_scan_last_rows};

/* ----------------------------------------------------------------------------------- dictionaries */

static inline uint32_t fake_find(const alm_dict *dict, alm_str text)
{
    for (uint32_t c = 1; c < dict->count; c++)
        if (alm_str_eq(alm_view_str(&dict->views[c], NULL), text))
            return c;
    return 0;
}

/* Values prefix1 .. prefix(n). */
static inline void fake_dict(alm_ctx *cx, alm_dict *dict, uint32_t id, const char *prefix,
                             uint32_t n)
{
    alm_view *views = NULL;
    if (ALM_NEWN(cx, cx->arena, n + 1, &views) != ALM_OK)
        abort();
    views[0] = alm_view_null();
    for (uint32_t i = 1; i <= n; i++) {
        const char *text = NULL;
        if (alm_arena_printf(cx, cx->arena, &text, "%s%u", prefix, i) != ALM_OK)
            abort();
        views[i] = alm_view_of(alm_str_of(text));
    }
    *dict = (alm_dict){.views = views, .count = n + 1, .id = id, .find = fake_find};
}

/* ------------------------------------------------------------------------------------------ plans */

typedef struct plan_maker {
    alm_ctx *cx;
    alm_registry *registry;
    uint32_t next_id;
} plan_maker;

static inline void must(plan_maker *m, alm_status st)
{
    if (st == ALM_OK)
        return;
    fprintf(stderr, "%s: %s\n", alm_status_name(st), m->cx->err.msg);
    abort();
}

static inline alm_expr *x_new(plan_maker *m, alm_expr_kind kind, alm_type type)
{
    alm_expr *e = NULL;
    must(m, ALM_NEW(m->cx, m->cx->arena, &e));
    e->kind = kind;
    e->type = type;
    e->pos = -1;
    return e;
}

static inline alm_expr *x_col(plan_maker *m, const alm_plan *input, uint32_t col)
{
    alm_expr *e = x_new(m, ALM_X_COL, input->cols[col].type);
    e->col = col;
    return e;
}

static inline alm_expr *x_bits(plan_maker *m, alm_type type, const void *bits)
{
    alm_expr *e = x_new(m, ALM_X_CONST, type);
    char *data = NULL;
    must(m, alm_arena_zero(m->cx, m->cx->arena, 16, &data));
    memcpy(data, bits, alm_type_width(type));
    e->value = (alm_vec){
        .type = type, .width = (uint8_t)alm_type_width(type), .is_const = true, .data = data};
    return e;
}

static inline alm_expr *x_double(plan_maker *m, double v)
{
    return x_bits(m, ALM_TY(DOUBLE), &v);
}
static inline alm_expr *x_long(plan_maker *m, int64_t v)
{
    return x_bits(m, ALM_TY(LONG), &v);
}

static inline alm_expr *x_text(plan_maker *m, const char *text)
{
    const alm_view v = alm_view_of(alm_str_of(text));
    return x_bits(m, ALM_TY(STRING), &v);
}

static inline alm_resolved x_resolve(plan_maker *m, const char *name, alm_fn_kind kind, uint32_t n,
                                     alm_expr **args)
{
    alm_arg arg[8];
    alm_resolved r;
    for (uint32_t i = 0; i < n; i++)
        arg[i] = (alm_arg){.type = args[i]->type,
                           .value = args[i]->kind == ALM_X_CONST ? &args[i]->value : NULL,
                           .pos = -1};
    must(m, alm_registry_resolve(m->cx, m->registry, alm_str_of(name), kind, -1, n, arg, &r));
    return r;
}

static inline alm_expr *x_call(plan_maker *m, const char *name, uint32_t n, alm_expr **args)
{
    const alm_resolved r = x_resolve(m, name, ALM_FN_SCALAR, n, args);
    alm_expr *e = x_new(m, ALM_X_CALL, r.result);
    e->fn = r.fn;
    e->data = r.data;
    e->n_args = n;
    must(m, ALM_NEWN(m->cx, m->cx->arena, n + 1, &e->args));
    memcpy(e->args, args, n * sizeof *args);
    return e;
}

static inline alm_expr *x_two(plan_maker *m, const char *name, alm_expr *a, alm_expr *b)
{
    return x_call(m, name, 2, (alm_expr *[]){a, b});
}

static inline alm_agg_call x_agg(plan_maker *m, const char *name, alm_expr *arg)
{
    alm_expr *args[1] = {arg};
    const alm_resolved r = x_resolve(m, name, ALM_FN_AGGREGATE, arg != NULL, args);
    alm_agg_call c = {.fn = r.fn, .data = r.data, .n_args = arg != NULL, .type = r.result};
    must(m, ALM_NEWN(m->cx, m->cx->arena, 2, &c.args));
    c.args[0] = arg;
    return c;
}

static inline alm_plan *p_new(plan_maker *m, alm_plan_op op, alm_plan *child)
{
    alm_plan *p = NULL;
    must(m, ALM_NEW(m->cx, m->cx->arena, &p));
    p->op = op;
    p->id = m->next_id++;
    p->ts_col = -1;
    if (child != NULL) {
        must(m, ALM_NEWN(m->cx, m->cx->arena, 1, &p->child));
        p->child[0] = child;
        p->n_children = 1;
        p->cols = child->cols;
        p->n_cols = child->n_cols;
        p->ts_col = child->ts_col;
        p->order = child->order;
    }
    return p;
}

static inline alm_plan *p_scan(plan_maker *m, const fake_table *t)
{
    alm_plan *p = p_new(m, ALM_P_SCAN, NULL);
    p->n_cols = t->table.n_cols;
    must(m, ALM_NEWN(m->cx, m->cx->arena, FAKE_COLS, &p->cols));
    must(m, ALM_NEWN(m->cx, m->cx->arena, FAKE_COLS, &p->scan.cols));
    for (uint32_t i = 0; i < p->n_cols; i++) {
        p->cols[i] = (alm_plan_col){t->col[i].name, t->col[i].type};
        p->scan.cols[i] = i;
    }
    p->scan.table = &t->table;
    p->scan.n_cols = p->scan.n_out = p->n_cols;
    p->ts_col = t->table.ts_col;
    p->order = ALM_ORDER_ASC;
    return p;
}

static inline void p_where(plan_maker *m, alm_plan *scan, alm_expr *e)
{
    if (scan->scan.filter == NULL)
        must(m, ALM_NEWN(m->cx, m->cx->arena, 8, &scan->scan.filter));
    scan->scan.filter[scan->scan.n_filters++] = e;
}

static inline alm_plan *p_project(plan_maker *m, alm_plan *child, uint32_t n, alm_expr **exprs)
{
    alm_plan *p = p_new(m, ALM_P_PROJECT, child);
    must(m, ALM_NEWN(m->cx, m->cx->arena, n + 1, &p->project.expr));
    must(m, ALM_NEWN(m->cx, m->cx->arena, n + 1, &p->cols));
    p->n_cols = n;
    p->ts_col = -1;
    for (uint32_t i = 0; i < n; i++) {
        p->project.expr[i] = exprs[i];
        p->cols[i] = (alm_plan_col){"", exprs[i]->type};
    }
    return p;
}

static inline alm_plan *p_group(plan_maker *m, alm_plan *child, uint32_t n_keys, alm_expr **keys,
                                uint32_t n_aggs, const alm_agg_call *aggs)
{
    alm_plan *p = p_new(m, ALM_P_GROUP, child);
    p->n_cols = n_keys + n_aggs;
    p->ts_col = -1;
    p->order = ALM_ORDER_NONE;
    must(m, ALM_NEWN(m->cx, m->cx->arena, p->n_cols + 1, &p->cols));
    must(m, ALM_NEWN(m->cx, m->cx->arena, n_keys + 1, &p->group.keys));
    must(m, ALM_NEWN(m->cx, m->cx->arena, n_aggs + 1, &p->group.aggs));
    for (uint32_t i = 0; i < n_keys; i++) {
        p->group.keys[i] = keys[i];
        p->cols[i] = (alm_plan_col){"", keys[i]->type};
    }
    for (uint32_t i = 0; i < n_aggs; i++) {
        p->group.aggs[i] = aggs[i];
        p->cols[n_keys + i] = (alm_plan_col){"", aggs[i].type};
    }
    p->group.n_keys = n_keys;
    p->group.n_aggs = n_aggs;
    return p;
}

static inline alm_plan *p_sample(plan_maker *m, alm_plan *child, int64_t count, char unit,
                                 uint32_t n_keys, alm_expr **keys, uint32_t n_aggs,
                                 const alm_agg_call *aggs)
{
    alm_plan *g = p_group(m, child, n_keys, keys, n_aggs, aggs);
    alm_plan *p = p_new(m, ALM_P_SAMPLE, child);
    p->n_cols = 1 + g->n_cols;
    must(m, ALM_NEWN(m->cx, m->cx->arena, p->n_cols, &p->cols));
    p->cols[0] = (alm_plan_col){"ts", ALM_TY(TIMESTAMP)};
    memcpy(p->cols + 1, g->cols, g->n_cols * sizeof *g->cols);
    p->ts_col = 0;
    p->sample = (alm_sample_spec){.ts_col = (uint32_t)child->ts_col,
                                  .count = count,
                                  .unit = unit,
                                  .keys = g->group.keys,
                                  .n_keys = n_keys,
                                  .aggs = g->group.aggs,
                                  .n_aggs = n_aggs};
    return p;
}

static inline alm_plan *p_sort(plan_maker *m, alm_plan *child, uint32_t n, const alm_sort_key *keys,
                               int64_t limit)
{
    alm_plan *p = p_new(m, ALM_P_SORT, child);
    must(m, ALM_NEWN(m->cx, m->cx->arena, n + 1, &p->sort.keys));
    memcpy(p->sort.keys, keys, n * sizeof *keys);
    p->sort.n_keys = n;
    p->sort.limit = limit;
    p->ts_col = -1;
    p->order = ALM_ORDER_NONE;
    return p;
}

static inline alm_plan *p_limit(plan_maker *m, alm_plan *child, int64_t lo, int64_t hi)
{
    alm_plan *p = p_new(m, ALM_P_LIMIT, child);
    p->limit.lo = lo;
    p->limit.hi = hi;
    return p;
}

static inline alm_plan *p_latest(plan_maker *m, alm_plan *child, uint32_t n, alm_expr **keys)
{
    alm_plan *p = p_new(m, ALM_P_LATEST, child);
    must(m, ALM_NEWN(m->cx, m->cx->arena, n + 1, &p->latest.keys));
    memcpy(p->latest.keys, keys, n * sizeof *keys);
    p->latest.n_keys = n;
    p->latest.ts_col = (uint32_t)child->ts_col;
    return p;
}

#endif
