/*
 * interval.c - conditions on the designated timestamp become ranges of the scan, exactly: what
 * is taken into the ranges is no longer tested.
 *
 * Taken       comparisons with constants, BETWEEN, IN (values or an interval), null tests, AND, OR, NOT of such; comparisons
 *             of a function that never falls while the timestamp rises (year(ts) = 2024): its
 *             borders are searched between the oldest and the newest row of the snapshot.
 *             Conditions on the buckets of a SAMPLE BY narrow the scan below it too.
 * Null rule   The designated timestamp is never null.
 */
#include "time/interval.h"
#include "sql/opt/opt.h"
#include "type/text.h"

typedef struct extractor {
    alm_planner *p;
    const alm_table
        *table;  /* NULL: times are buckets; no searching between oldest and newest row */
    uint32_t ts; /* column of the scan */
    alm_type type;
} extractor;

#define TIME_MIN (INT64_MIN + 1) /* the smallest value is null */

static alm_status extract(extractor *self, const alm_expr *expr, bool *ok, alm_time_ranges *out);

static alm_status set_one(extractor *self, int64_t lo, int64_t hi, alm_time_ranges *out)
{
    alm_ctx *cx = self->p->cx;
    out->n = 0;
    if (lo > hi)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &out->items));
    out->items[0] = (alm_time_range){lo, hi};
    out->n = 1;
    return ALM_OK;
}

static bool is_ts(const extractor *self, const alm_expr *expr)
{
    return expr->kind == ALM_X_COL && expr->col == self->ts;
}

static bool same_unit_int(const extractor *self, const alm_expr *expr, int64_t *out)
{
    return alm_type_eq(expr->type, self->type) && alm_expr_int(expr, out);
}

/* [lo, hi] of `ts op value`; for != the complement is the answer. */
static alm_status opt_interval_compare(extractor *self, const char *op, int64_t value,
                                       alm_time_ranges *out)
{
    if (strcmp(op, "=") == 0)
        return set_one(self, value, value, out);
    if (strcmp(op, "<") == 0)
        return set_one(self, TIME_MIN, value == INT64_MIN ? value : value - 1, out);
    if (strcmp(op, "<=") == 0)
        return set_one(self, TIME_MIN, value, out);
    if (strcmp(op, ">") == 0)
        return value == INT64_MAX ? set_one(self, 1, 0, out)
                                  : set_one(self, value + 1, INT64_MAX, out);
    if (strcmp(op, ">=") == 0)
        return set_one(self, value, INT64_MAX, out);
    alm_time_ranges ranges = {0};
    ALM_TRY(set_one(self, value, value, &ranges));
    return alm_ranges_complement(self->p->cx, self->p->cx->arena, &ranges, out);
}

static const char *mirrored(const char *op)
{
    static const char *const pairs[][2] = {{"=", "="}, {"!=", "!="}, {"<>", "<>"}, {"<", ">"},
                                           {">", "<"}, {"<=", ">="}, {">=", "<="}};
    for (size_t i = 0; i < ALM_COUNT(pairs); i++)
        if (strcmp(pairs[i][0], op) == 0)
            return pairs[i][1];
    return NULL;
}

/* ---------------------------------------------------------------- monotone functions */

/* Is expr the timestamp, or a rising function of it with constants for the rest? */
static bool is_rising(const extractor *self, const alm_expr *expr)
{
    if (is_ts(self, expr))
        return true;
    if (expr->kind != ALM_X_CALL || expr->fn->monotone_arg == 0 ||
        expr->fn->monotone_arg > expr->n_args)
        return false;
    for (uint32_t i = 0; i < expr->n_args; i++) {
        const bool rises = i + 1 == expr->fn->monotone_arg;
        if (rises ? !is_rising(self, expr->args[i]) : expr->args[i]->kind != ALM_X_CONST)
            return false;
    }
    return true;
}

typedef struct probe {
    extractor *x;
    int64_t ts;
} probe;

static alm_status put_ts(void *arg, alm_expr *expr, alm_expr **out)
{
    const probe *self = arg;
    if (!is_ts(self->x, expr))
        return ALM_OK;
    return alm_expr_bits(self->x->p->cx, self->x->type, (uint64_t)self->ts, expr->pos, out);
}

static alm_status evaluate_nested(extractor *self, alm_expr *expr, alm_expr **out)
{
    alm_expr *copy = NULL;
    ALM_TRY(alm_steps_add(self->p->cx, 1));
    ALM_TRY(ALM_NEW(self->p->cx, self->p->cx->arena, &copy));
    *copy = *expr;
    if (expr->n_args > 0) {
        ALM_TRY(ALM_NEWN(self->p->cx, self->p->cx->arena, expr->n_args, &copy->args));
        for (uint32_t i = 0; i < expr->n_args; i++)
            ALM_TRY(evaluate_nested(self, expr->args[i], &copy->args[i]));
        ALM_TRY(alm_expr_measure(self->p->cx, copy));
    }
    ALM_TRY(alm_expr_fold(self->p, &copy));
    *out = copy;
    return ALM_OK;
}

/* expr(ts) as a number; *ok false: it has none (null, another type). */
static alm_status opt_interval_value_at(extractor *self, const alm_expr *expr, int64_t ts, bool *ok,
                                        int64_t *out)
{
    probe pr = {self, ts};
    alm_expr *e = NULL;
    ALM_TRY(alm_expr_map(self->p->cx, (alm_expr *)(uintptr_t)expr, put_ts, &pr, &e));
    ALM_TRY(evaluate_nested(self, e, &e));
    *ok = alm_expr_int(e, out);
    return ALM_OK;
}

/* The smallest ts in [lo, hi] with expr(ts) >= value; hi + 1 if there is none. */
static alm_status opt_interval_border(extractor *self, const alm_expr *expr, int64_t value,
                                      bool *ok, int64_t *out)
{
    int64_t lo = self->table->min_ts, hi = self->table->max_ts;
    int64_t got = 0;
    ALM_TRY(opt_interval_value_at(self, expr, hi, ok, &got));
    if (!*ok)
        return ALM_OK;
    if (got < value) {
        *out = hi + 1;
        return ALM_OK;
    }
    while (lo < hi) {
        const int64_t mid = lo + (int64_t)(((uint64_t)hi - (uint64_t)lo) / 2);
        ALM_TRY(opt_interval_value_at(self, expr, mid, ok, &got));
        if (!*ok)
            return ALM_OK;
        if (got >= value)
            hi = mid;
        else
            lo = mid + 1;
    }
    *out = lo;
    return ALM_OK;
}

static alm_status compare_rising(extractor *self, const alm_expr *expr, const char *op,
                                 int64_t value, bool *ok, alm_time_ranges *out)
{
    const alm_table *table = self->table;
    *ok = table->row_count > 0 && table->min_ts <= table->max_ts && table->max_ts < INT64_MAX &&
          value < INT64_MAX;
    if (!*ok)
        return ALM_OK;
    int64_t offset = 0, past = 0; /* expr = value on [at, past) */
    ALM_TRY(opt_interval_value_at(
        self, expr, table->min_ts, ok,
        &offset)); /* null before the first times it has, and after the last */
    if (!*ok)
        return ALM_OK;
    ALM_TRY(opt_interval_border(self, expr, value, ok, &offset));
    if (*ok)
        ALM_TRY(opt_interval_border(self, expr, value + 1, ok, &past));
    if (!*ok)
        return ALM_OK;
    /* nothing lies outside [min_ts, max_ts], so the ends may be open */
    if (strcmp(op, "=") == 0)
        return set_one(self, offset, past - 1, out);
    if (strcmp(op, "<") == 0)
        return set_one(self, TIME_MIN, offset - 1, out);
    if (strcmp(op, "<=") == 0)
        return set_one(self, TIME_MIN, past - 1, out);
    if (strcmp(op, ">") == 0)
        return set_one(self, past, INT64_MAX, out);
    if (strcmp(op, ">=") == 0)
        return set_one(self, offset, INT64_MAX, out);
    alm_time_ranges ranges = {0};
    ALM_TRY(set_one(self, offset, past - 1, &ranges));
    return alm_ranges_complement(self->p->cx, self->p->cx->arena, &ranges, out);
}

/* ------------------------------------------------------------------------ cases */

static alm_status extract_compare(extractor *self, const alm_expr *expr, bool *ok,
                                  alm_time_ranges *out)
{
    const char *op = expr->fn->name;
    const alm_expr *a = expr->args[0], *b = expr->args[1];
    if (a->kind == ALM_X_CONST) {
        const alm_expr *swap = a;
        a = b;
        b = swap;
        op = mirrored(op);
    }
    int64_t value = 0;
    if (is_ts(self, a) && same_unit_int(self, b, &value)) {
        *ok = true;
        return opt_interval_compare(self, op, value, out);
    }
    if (is_ts(self, a) && alm_expr_is_null(b) && b->kind == ALM_X_CONST) { /* < null: nothing */
        *ok = true;
        if (strcmp(op, "!=") == 0 || strcmp(op, "<>") == 0)
            return set_one(self, TIME_MIN, INT64_MAX, out);
        return set_one(self, 1, 0, out);
    }
    if (self->table != NULL && !self->p->env->as_template && is_rising(self, a) &&
        alm_expr_int(b, &value) && alm_type_eq(a->type, b->type))
        return compare_rising(self, a, op, value, ok, out);
    return ALM_OK;
}

static alm_status extract_between(extractor *self, const alm_expr *expr, bool *ok,
                                  alm_time_ranges *out)
{
    int64_t a = 0, b = 0;
    if (expr->n_args != 3 || !is_ts(self, expr->args[0]) ||
        !same_unit_int(self, expr->args[1], &a) || !same_unit_int(self, expr->args[2], &b))
        return ALM_OK;
    *ok = true;
    return set_one(self, ALM_MIN(a, b), ALM_MAX(a, b), out);
}

/* ts IN interval(lo, hi), today() and the like. */
static alm_status extract_in_value(extractor *self, const alm_expr *value, bool *ok,
                                   alm_time_ranges *out)
{
    alm_interval_us interval_us;
    if (value->kind != ALM_X_CONST || self->type.id != ALM_T_TIMESTAMP)
        return ALM_OK;
    *ok = true;
    if (alm_expr_is_null(value))
        return set_one(self, 1, 0, out);
    memcpy(&interval_us, value->value.data, sizeof interval_us);
    return set_one(self, interval_us.lo_us, interval_us.hi_us, out);
}

static alm_status extract_in(extractor *self, const alm_expr *expr, bool *ok, alm_time_ranges *out)
{
    if (!is_ts(self, expr->args[0]))
        return ALM_OK;
    if (expr->n_args == 2 && expr->args[1]->type.id == ALM_T_INTERVAL)
        return extract_in_value(self, expr->args[1], ok, out);
    alm_time_range *items = NULL;
    uint32_t count = 0;
    ALM_TRY(ALM_NEWN(self->p->cx, self->p->cx->arena, expr->n_args, &items));
    for (uint32_t i = 1; i < expr->n_args; i++) {
        int64_t value = 0;
        if (same_unit_int(self, expr->args[i], &value))
            items[count++] = (alm_time_range){value, value};
        else if (!alm_expr_is_null(expr->args[i]))
            return ALM_OK;
    }
    out->items = items;
    out->n = alm_ranges_normalise(items, count);
    *ok = true;
    return ALM_OK;
}

/* An interval text of many ranges. */
static alm_status extract_text(extractor *self, const alm_expr *expr, bool *ok,
                               alm_time_ranges *out)
{
    alm_ctx *cx = self->p->cx;
    alm_str text = {0};
    bool is_text = false;
    if (!is_ts(self, expr->args[0]))
        return ALM_OK;
    ALM_TRY(alm_expr_string(cx, expr->args[1], &is_text, &text));
    if (!is_text)
        return ALM_OK;
    *ok = true;
    return alm_interval_parse(cx, cx->arena, text,
                              self->type.id == ALM_T_TIMESTAMP_NS ? ALM_TIME_NS : ALM_TIME_US,
                              cx->now_ns, expr->args[1]->pos, out);
}

static alm_status extract_both(extractor *self, const alm_expr *expr, bool is_and, bool *ok,
                               alm_time_ranges *out)
{
    alm_time_ranges a = {0}, b = {0};
    bool ok_a = false, ok_b = false;
    ALM_TRY(extract(self, expr->args[0], &ok_a, &a));
    if (!ok_a)
        return ALM_OK;
    ALM_TRY(extract(self, expr->args[1], &ok_b, &b));
    if (!ok_b)
        return ALM_OK;
    *ok = true;
    return is_and ? alm_ranges_intersect(self->p->cx, self->p->cx->arena, &a, &b, out)
                  : alm_ranges_union(self->p->cx, self->p->cx->arena, &a, &b, out);
}

static alm_status extract_not(extractor *self, const alm_expr *expr, bool *ok, alm_time_ranges *out)
{
    alm_time_ranges ranges = {0};
    ALM_TRY(extract(self, expr->args[0], ok, &ranges));
    if (!*ok)
        return ALM_OK;
    return alm_ranges_complement(self->p->cx, self->p->cx->arena, &ranges, out);
}

static alm_status extract(extractor *self, const alm_expr *expr, bool *ok, alm_time_ranges *out)
{
    *ok = false;
    if (alm_expr_is_true(expr) || alm_expr_is_false(expr)) {
        *ok = true;
        return alm_expr_is_true(expr) ? set_one(self, TIME_MIN, INT64_MAX, out)
                                      : set_one(self, 1, 0, out);
    }
    if (expr->kind != ALM_X_CALL)
        return ALM_OK;
    const char *name = expr->fn->name;
    if (expr->n_args == 2 && (strcmp(name, "and") == 0 || strcmp(name, "or") == 0))
        return extract_both(self, expr, name[0] == 'a', ok, out);
    if (expr->n_args == 1 && strcmp(name, "not") == 0)
        return extract_not(self, expr, ok, out);
    if (expr->n_args == 2 && mirrored(name) != NULL)
        return extract_compare(self, expr, ok, out);
    if (strcmp(name, "between") == 0)
        return extract_between(self, expr, ok, out);
    if (strcmp(name, "in") == 0)
        return extract_in(self, expr, ok, out);
    if (strcmp(name, "in interval") == 0)
        return extract_text(self, expr, ok, out);
    if (expr->n_args == 1 && is_ts(self, expr->args[0]) &&
        (strcmp(name, "is null") == 0 || strcmp(name, "is not null") == 0)) {
        *ok = true;
        return name[3] == 'n' && name[4] == 'o' ? set_one(self, TIME_MIN, INT64_MAX, out)
                                                : set_one(self, 1, 0, out);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------ scans */

static int32_t scan_ts(const alm_plan *scan)
{
    for (uint32_t i = 0; i < scan->scan.n_cols; i++)
        if (scan->scan.cols[i] == (uint32_t)scan->scan.table->ts_col)
            return (int32_t)i;
    return -1;
}

static alm_status opt_interval_narrow(alm_planner *planner, alm_plan *scan,
                                      const alm_time_ranges *set)
{
    alm_time_ranges have = {0}, got = *set;
    bool *has = alm_plan_updates(scan) ? &scan->scan.skips : &scan->scan.has_interval;
    if (*has) {
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, scan->scan.n_intervals + 1, &have.items));
        have.n = scan->scan.n_intervals;
        for (uint32_t i = 0; i < have.n; i++)
            have.items[i] = (alm_time_range){scan->scan.interval[i].lo, scan->scan.interval[i].hi};
        ALM_TRY(alm_ranges_intersect(planner->cx, planner->cx->arena, &have, set, &got));
    }
    const bool everything =
        got.n == 1 && got.items[0].lo <= TIME_MIN && got.items[0].hi == INT64_MAX;
    if (everything && !*has)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, got.n + 1, &scan->scan.interval));
    for (uint32_t i = 0; i < got.n; i++)
        scan->scan.interval[i] = (alm_interval){got.items[i].lo, got.items[i].hi};
    scan->scan.n_intervals = got.n;
    *has = true;
    return ALM_OK;
}

static alm_status from_filters(alm_planner *planner, alm_plan *scan)
{
    const int32_t ts = scan_ts(scan);
    if (ts < 0 || scan->scan.table->ts_col < 0)
        return ALM_OK;
    extractor self = {.p = planner,
                      .table = scan->scan.table,
                      .ts = (uint32_t)ts,
                      .type = scan->scan.table->cols[scan->scan.table->ts_col].type};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < scan->scan.n_filters; i++) {
        alm_time_ranges set = {0};
        bool ok = false;
        ALM_TRY(extract(&self, scan->scan.filter[i], &ok, &set));
        if (ok)
            ALM_TRY(opt_interval_narrow(planner, scan, &set));
        if (!ok || alm_plan_updates(scan)) /* positions count all rows: the condition stays */
            scan->scan.filter[kept++] = scan->scan.filter[i];
    }
    scan->scan.n_filters = kept;
    return ALM_OK;
}

/* The scan that a SAMPLE BY has its times from; NULL: there is something between. */
static alm_plan *sampled_scan(const alm_plan *sample)
{
    uint32_t col = sample->sample.ts_col;
    alm_plan *node = sample->child[0];
    for (; node->op == ALM_P_FILTER || node->op == ALM_P_PROJECT; node = node->child[0]) {
        if (node->op != ALM_P_PROJECT)
            continue;
        if (node->project.expr[col]->kind != ALM_X_COL)
            return NULL;
        col = node->project.expr[col]->col;
    }
    return node->op == ALM_P_SCAN && (int32_t)col == scan_ts(node) ? node : NULL;
}

/* SAMPLE BY FROM - TO reads only that much. */
static alm_status from_sample(alm_planner *planner, const alm_plan *sample)
{
    const alm_sample_spec *spec = &sample->sample;
    alm_plan *node = spec->has_from || spec->has_to ? sampled_scan(sample) : NULL;
    if (node == NULL)
        return ALM_OK;
    alm_time_range range = {spec->has_from ? spec->from : TIME_MIN,
                            spec->has_to ? spec->to - 1 : INT64_MAX};
    const alm_time_ranges set = {&range, range.lo <= range.hi ? 1 : 0};
    return opt_interval_narrow(planner, node, &set);
}

/* Conditions on the buckets of a SAMPLE BY: rows of others are not read. The conditions stay, for a
 * bucket may be cut where it begins before the range. Filling looks at its neighbours. */
static alm_status from_buckets(alm_planner *planner, const alm_plan *filter)
{
    const alm_plan *sample = filter->child[0];
    const alm_sample_spec *spec = &sample->sample;
    alm_plan *scan = spec->fill == NULL && !spec->first_observation ? sampled_scan(sample) : NULL;
    if (scan == NULL)
        return ALM_OK;
    const alm_zone *zone = NULL;
    alm_bucketer buckets;
    if (spec->zone != NULL)
        ALM_TRY(alm_zone_find(planner->cx, alm_str_of(spec->zone), sample->pos, &zone));
    const alm_bucket_spec bucket_spec = alm_sample_buckets(spec, sample->cols[0].type, zone);
    ALM_TRY(alm_bucketer_init(planner->cx, sample->pos, &bucket_spec, &buckets));
    extractor self = {.p = planner, .ts = 0, .type = sample->cols[0].type};
    for (uint32_t i = 0; i < filter->filter.n; i++) {
        alm_time_ranges set = {0};
        bool ok = false;
        ALM_TRY(extract(&self, filter->filter.conjunct[i], &ok, &set));
        if (!ok)
            continue;
        for (uint32_t row = 0; row < set.n; row++) { /* to the end of its last bucket */
            const int64_t next = alm_bucket_next(&buckets, set.items[row].hi);
            set.items[row].hi = next == INT64_MAX ? next : next - 1;
        }
        set.n = alm_ranges_normalise(set.items, set.n);
        ALM_TRY(opt_interval_narrow(planner, scan, &set));
    }
    return ALM_OK;
}

static alm_status opt_interval_visit(alm_planner *planner, alm_plan **plan)
{
    if ((*plan)->op == ALM_P_FILTER && (*plan)->child[0]->op == ALM_P_SAMPLE)
        return from_buckets(planner, *plan);
    if ((*plan)->op == ALM_P_SCAN)
        return from_filters(planner, *plan);
    if ((*plan)->op == ALM_P_SAMPLE)
        return from_sample(planner, *plan);
    return ALM_OK;
}

alm_status alm_rule_interval(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, opt_interval_visit);
}
