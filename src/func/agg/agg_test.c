/*
 * Goal: aggregates give the same result by update, by scatter and by merging parts, that of a plain
 * loop over the rows, for nulls, constants, empty input and dictionaries.
 * Method: made-up columns with nulls; each aggregate goes through the registry, is run in all the ways
 * the executor may run it (batches of several sizes, groups, parts merged in order), and is compared
 * with an expected value worked out in long double or by sorting.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "func/registry.h"
#include "type/text.h"

static alm_registry *reg;
static alm_arena arena;
static alm_ctx cx;

enum { ROWS = 3001, GROUPS = 7 };

/* ------------------------------------------------------------------ making */

static uint64_t dice = 1;

static uint64_t roll(void)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return dice >> 33;
}

static void *room(size_t bytes)
{
    void *p = NULL;
    assert_int_equal(alm_arena_zero(&cx, &arena, bytes, &p), ALM_OK);
    return p;
}

static alm_vec fresh(alm_type type, size_t n)
{
    return (alm_vec){.type = type,
                     .width = (uint8_t)alm_type_width(type),
                     .data = room(n * alm_type_width(type))};
}

static alm_vec doubles(void)
{
    alm_vec v = fresh(ALM_TY(DOUBLE), ROWS);
    for (size_t i = 0; i < ROWS; i++)
        ((double *)v.data)[i] =
            roll() % 11 == 0 ? __builtin_nan("") : (double)(int64_t)(roll() % 20001) / 16 - 600;
    return v;
}

static alm_vec longs(alm_type type)
{
    alm_vec v = fresh(type, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const int64_t x = (int64_t)(roll() % 401) - 200;
        if (v.width == 8)
            ((int64_t *)v.data)[i] = x % 13 == 0 ? ALM_LONG_NULL : x * INT64_C(1000000007);
        else
            ((int32_t *)v.data)[i] = x % 13 == 0 ? ALM_INT_NULL : (int32_t)x;
    }
    return v;
}

static const char *const WORDS[] = {"delta", "alpha", "a word that is longer than twelve", "beta",
                                    "another word that is long"};

typedef struct test_dict {
    alm_dict dict;
    alm_view views[ALM_COUNT(WORDS) + 1];
} test_dict;

static uint32_t no_find(ALM_UNUSED const alm_dict *dict, ALM_UNUSED alm_str what)
{
    return 0;
}

/* The same words as views and as codes. */
static void words(alm_vec *views, alm_vec *codes)
{
    test_dict *d = room(sizeof *d);
    d->views[0] = alm_view_null();
    for (size_t i = 0; i < ALM_COUNT(WORDS); i++)
        d->views[i + 1] = alm_view_of(alm_str_of(WORDS[i]));
    d->dict =
        (alm_dict){.views = d->views, .count = ALM_COUNT(WORDS) + 1, .id = 3, .find = no_find};
    *views = fresh(ALM_TY(VARCHAR), ROWS);
    *codes = fresh(ALM_TY(SYMBOL), ROWS);
    codes->width = 1;
    codes->dict = &d->dict;
    for (size_t i = 0; i < ROWS; i++) {
        const uint8_t code = (uint8_t)(roll() % (ALM_COUNT(WORDS) + 1));
        ((uint8_t *)codes->data)[i] = code;
        /* a copy that is gone later, so that a state that kept a pointer is found out */
        ((alm_view *)views->data)[i] = d->views[code];
    }
}

/* ----------------------------------------------------------------- running */

typedef struct plan {
    alm_call call;
    const alm_agg_ops *ops;
} plan;

static plan find(const char *name, uint32_t argc, const alm_vec *given)
{
    alm_arg args[4] = {0};
    alm_resolved r;
    alm_error_clear(&cx);
    for (uint32_t i = 0; i < argc; i++)
        args[i] = (alm_arg){.type = given[i].type, .value = given[i].is_const ? &given[i] : NULL};
    if (alm_registry_resolve(&cx, reg, alm_str_of(name), ALM_FN_AGGREGATE, 0, argc, args, &r) !=
        ALM_OK)
        fail_msg("%s: %s", name, cx.err.msg);
    for (uint32_t i = 0; i < argc; i++)
        assert_true(alm_type_eq(r.arg_types[i], given[i].type)); /* no casts here */
    return (plan){.call = {.cx = &cx,
                           .fn = r.fn,
                           .data = r.data,
                           .arena = &arena,
                           .result = r.result,
                           .argc = argc},
                  .ops = r.fn->agg};
}

static alm_vec slice(const alm_vec *v, size_t from)
{
    alm_vec s = *v;
    if (!v->is_const)
        s.data = (char *)v->data + from * v->width;
    return s;
}

static alm_vec finish(plan *p, const void *states, size_t n)
{
    alm_vec out;
    assert_int_equal(alm_vec_new(&cx, &arena, p->call.result, n, &out), ALM_OK);
    assert_int_equal(p->ops->finish(&p->call, states, n, &out), ALM_OK);
    return out;
}

/* One state over rows [from, to), in batches. Text is given in a buffer that is overwritten. */
static void feed(plan *p, void *state, uint32_t argc, const alm_vec *given, size_t from, size_t to,
                 size_t batch)
{
    for (size_t i = from; i < to; i += batch) {
        alm_vec args[4];
        for (uint32_t k = 0; k < argc; k++)
            args[k] = slice(&given[k], i);
        assert_int_equal(p->ops->update(&p->call, state, ALM_MIN(batch, to - i), args), ALM_OK);
    }
}

static alm_vec by_update(plan *p, uint32_t argc, const alm_vec *given, size_t batch)
{
    void *state = room(p->ops->state_bytes);
    p->ops->init(&p->call, state, 1);
    feed(p, state, argc, given, 0, ROWS, batch);
    return finish(p, state, 1);
}

static alm_vec by_parts(plan *p, uint32_t argc, const alm_vec *given)
{
    char *states = room(p->ops->state_bytes * 4);
    const size_t cut[] = {0, 100, 100, 2048, ROWS}; /* one part is empty */
    p->ops->init(&p->call, states, 4);
    for (size_t k = 0; k < 4; k++)
        feed(p, states + k * p->ops->state_bytes, argc, given, cut[k], cut[k + 1], 512);
    for (size_t k = 1; k < 4; k++)
        assert_int_equal(p->ops->merge(&p->call, states, NULL, states + k * p->ops->state_bytes, 1),
                         ALM_OK);
    return finish(p, states, 1);
}

static uint32_t group_of(size_t i)
{
    return (uint32_t)(i * i % GROUPS);
}

/* Two halves scattered into groups, merged through an index. */
static alm_vec by_groups(plan *p, uint32_t argc, const alm_vec *given, bool merged)
{
    void *one = room(p->ops->state_bytes * GROUPS), *two = room(p->ops->state_bytes * GROUPS);
    uint32_t *group = room(ROWS * sizeof *group), index[GROUPS];
    const size_t half = merged ? 1500 : ROWS;
    p->ops->init(&p->call, one, GROUPS);
    p->ops->init(&p->call, two, GROUPS);
    for (size_t i = 0; i < ROWS; i++) /* the second half numbers its groups the other way round */
        group[i] = i < half ? group_of(i) : GROUPS - 1 - group_of(i);
    for (uint32_t g = 0; g < GROUPS; g++)
        index[g] = GROUPS - 1 - g;
    alm_vec rest[4];
    for (uint32_t k = 0; k < argc; k++)
        rest[k] = slice(&given[k], half);
    assert_int_equal(p->ops->scatter(&p->call, one, group, half, given), ALM_OK);
    if (merged) {
        assert_int_equal(p->ops->scatter(&p->call, two, group + half, ROWS - half, rest), ALM_OK);
        assert_int_equal(p->ops->merge(&p->call, one, index, two, GROUPS), ALM_OK);
    }
    return finish(p, one, GROUPS);
}

static void same_value(const char *name, const alm_vec *a, size_t i, const alm_vec *b, size_t j)
{
    if (alm_vec_is_null(a, i) || alm_vec_is_null(b, j)) {
        if (alm_vec_is_null(a, i) != alm_vec_is_null(b, j))
            fail_msg("%s: null on one side only", name);
        return;
    }
    if (a->type.id == ALM_T_DOUBLE) {
        const double x = ((double *)a->data)[i], y = ((double *)b->data)[j];
        if (fabs(x - y) > 1e-9 * fmax(fabs(x), fabs(y)) + 1e-12)
            fail_msg("%s: %.17g is not %.17g", name, x, y);
        return;
    }
    char s1[ALM_VALUE_TEXT_MAX], s2[ALM_VALUE_TEXT_MAX];
    alm_str x, y;
    assert_true(alm_value_text(a, i, ALM_TEXT_DIALECT, s1, &x));
    assert_true(alm_value_text(b, j, ALM_TEXT_DIALECT, s2, &y));
    if (!alm_str_eq(x, y))
        fail_msg("%s: %.*s is not %.*s", name, (int)x.len, x.ptr, (int)y.len, y.ptr);
}

/* Rows of one group only, as a column of their own. */
static size_t pick_group(uint32_t g, const alm_vec *v, alm_vec *out)
{
    size_t n = 0;
    *out = *v;
    if (v->is_const) {
        for (size_t i = 0; i < ROWS; i++)
            n += group_of(i) == g;
        return n;
    }
    out->data = room(ROWS * (size_t)v->width);
    for (size_t i = 0; i < ROWS; i++)
        if (group_of(i) == g)
            memcpy((char *)out->data + n++ * v->width, (char *)v->data + i * v->width, v->width);
    return n;
}

/* All ways agree; the result over all rows is handed back. */
static alm_vec all_ways(const char *name, uint32_t argc, const alm_vec *given)
{
    plan p = find(name, argc, given);
    const alm_vec whole = by_update(&p, argc, given, ROWS);
    const size_t batches[] = {1, 17, 1024};
    for (size_t k = 0; k < ALM_COUNT(batches); k++) {
        const alm_vec other = by_update(&p, argc, given, batches[k]);
        same_value(name, &whole, 0, &other, 0);
    }
    const alm_vec parts = by_parts(&p, argc, given);
    same_value(name, &whole, 0, &parts, 0);
    const alm_vec groups = by_groups(&p, argc, given, false),
                  merged = by_groups(&p, argc, given, true);
    for (uint32_t g = 0; g < GROUPS; g++) {
        alm_vec own[4];
        size_t n = 0;
        for (uint32_t k = 0; k < argc; k++)
            n = pick_group(g, &given[k], &own[k]);
        void *state = room(p.ops->state_bytes);
        p.ops->init(&p.call, state, 1);
        if (n > 0)
            assert_int_equal(p.ops->update(&p.call, state, n, own), ALM_OK);
        const alm_vec alone = finish(&p, state, 1);
        same_value(name, &alone, 0, &groups, g);
        same_value(name, &alone, 0, &merged, g);
    }
    return whole;
}

static double number(const alm_vec *v)
{
    switch (v->type.id) {
    case ALM_T_DOUBLE:
        return ((double *)v->data)[0];
    case ALM_T_FLOAT:
        return (double)((float *)v->data)[0];
    case ALM_T_INT:
        return ((int32_t *)v->data)[0];
    default:
        return (double)((int64_t *)v->data)[0];
    }
}

#define ABOUT(want, v)                                                                             \
    do {                                                                                           \
        const double about_want_ = (double)(want), about_got_ = number(&(v));                      \
        if (!(fabs(about_want_ - about_got_) <= 1e-10 * fabs(about_want_) + 1e-12))                \
            fail_msg("got %.17g, want %.17g", about_got_, about_want_);                            \
    } while (0)

/* ------------------------------------------------------------------- tests */

static void numbers_against_plain_loops(void **state)
{
    (void)state;
    const alm_vec x = doubles(), y = doubles();
    const double *a = x.data, *b = y.data;
    long double sum = 0, least = 1e300L, most = -1e300L, n = 0;
    long double pair_n = 0, mx = 0, my = 0, weighted = 0, weight = 0, traded = 0, volume = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (a[i] == a[i]) {
            sum += a[i];
            n += 1;
            least = fminl(least, a[i]);
            most = fmaxl(most, a[i]);
        }
        if (a[i] == a[i] && b[i] == b[i]) {
            pair_n += 1;
            mx += a[i];
            my += b[i];
            weighted += (long double)a[i] * b[i];
            weight += b[i];
            traded += b[i] > 0 ? (long double)a[i] * b[i] : 0;
            volume += b[i] > 0 ? b[i] : 0;
        }
    }
    mx /= pair_n;
    my /= pair_n;
    long double m2 = 0, m3 = 0, m4 = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (a[i] == a[i]) {
            const long double d = a[i] - sum / n;
            m2 += d * d;
            m3 += d * d * d;
            m4 += d * d * d * d;
        }
        if (a[i] == a[i] && b[i] == b[i]) {
            xx += (a[i] - mx) * (a[i] - mx);
            yy += (b[i] - my) * (b[i] - my);
            xy += (a[i] - mx) * (b[i] - my);
        }
    }
    const alm_vec one[] = {x}, two[] = {x, y};
    ABOUT(sum, (alm_vec[]){all_ways("sum", 1, one)}[0]);
    ABOUT(sum, (alm_vec[]){all_ways("ksum", 1, one)}[0]);
    ABOUT(sum, (alm_vec[]){all_ways("nsum", 1, one)}[0]);
    ABOUT(sum / n, (alm_vec[]){all_ways("avg", 1, one)}[0]);
    ABOUT(least, (alm_vec[]){all_ways("min", 1, one)}[0]);
    ABOUT(most, (alm_vec[]){all_ways("max", 1, one)}[0]);
    ABOUT(n, (alm_vec[]){all_ways("count", 1, one)}[0]);
    ABOUT(m2 / (n - 1), (alm_vec[]){all_ways("variance", 1, one)}[0]);
    ABOUT(sqrtl(m2 / n), (alm_vec[]){all_ways("stddev_pop", 1, one)}[0]);
    ABOUT(sqrtl(n) * m3 / powl(m2, 1.5L), (alm_vec[]){all_ways("skewness_pop", 1, one)}[0]);
    ABOUT(n * m4 / (m2 * m2) - 3, (alm_vec[]){all_ways("kurtosis_pop", 1, one)}[0]);
    ABOUT(xy / (pair_n - 1), (alm_vec[]){all_ways("covar_samp", 2, two)}[0]);
    ABOUT(xy / sqrtl(xx * yy), (alm_vec[]){all_ways("corr", 2, two)}[0]);
    ABOUT(xy / yy, (alm_vec[]){all_ways("regr_slope", 2, two)}[0]);
    ABOUT(mx - my * xy / yy, (alm_vec[]){all_ways("regr_intercept", 2, two)}[0]);
    ABOUT(weighted / weight, (alm_vec[]){all_ways("weighted_avg", 2, two)}[0]);
    ABOUT(traded / volume, (alm_vec[]){all_ways("vwap", 2, two)}[0]);
}

static double exactly(const char *name, uint32_t argc, const alm_vec *given)
{
    const alm_vec v = all_ways(name, argc, given);
    return number(&v);
}

/* To the last bit, which no tolerance may hide: 0.1 and 1e15 / 3 are rounded when they are added up. */
static void equal_values_have_no_spread(void **state)
{
    (void)state;
    static const double equal[] = {0.1, 1e15 / 3, -7e-100, 3};
    for (size_t k = 0; k < ALM_COUNT(equal); k++) {
        const alm_vec x = doubles(), y = doubles();
        for (size_t i = 0; i < ROWS; i++)
            ((double *)x.data)[i] = i % 5 == 4 ? __builtin_nan("") : equal[k];
        const alm_vec two[] = {x, y}, turned[] = {y, x};
        assert_true(exactly("variance", 1, two) == 0);
        assert_true(exactly("stddev_pop", 1, two) == 0);
        assert_true(exactly("covar_samp", 2, two) == 0);
        assert_true(exactly("regr_slope", 2, two) == 0);
        assert_true(exactly("regr_r2", 2, two) == 1);
        assert_true(isnan(exactly("corr", 2, two)));
        assert_true(isnan(exactly("corr", 2, turned)));
        assert_true(isnan(exactly("regr_slope", 2, turned)));
        assert_true(isnan(exactly("regr_intercept", 2, turned)));
        assert_true(isnan(exactly("regr_r2", 2, turned)));
        assert_true(isnan(exactly("skewness", 1, two)));
    }
}

static void integers_against_plain_loops(void **state)
{
    (void)state;
    static const alm_type types[] = {ALM_TY(INT), ALM_TY(LONG)};
    for (size_t t = 0; t < 2; t++) {
        const alm_vec v = longs(types[t]);
        __int128 sum = 0;
        int64_t n = 0, least = INT64_MAX, most = INT64_MIN, distinct = 0;
        for (size_t i = 0; i < ROWS; i++) {
            if (alm_vec_is_null(&v, i))
                continue;
            const int64_t x = v.width == 8 ? ((int64_t *)v.data)[i] : ((int32_t *)v.data)[i];
            sum += x;
            n++;
            least = ALM_MIN(least, x);
            most = ALM_MAX(most, x);
            bool seen = false;
            for (size_t k = 0; k < i && !seen; k++)
                seen = memcmp((char *)v.data + k * v.width, (char *)v.data + i * v.width,
                              v.width) == 0;
            distinct += !seen;
        }
        ABOUT(sum, (alm_vec[]){all_ways("sum", 1, &v)}[0]);
        ABOUT((double)sum / (double)n, (alm_vec[]){all_ways("avg", 1, &v)}[0]);
        ABOUT(least, (alm_vec[]){all_ways("min", 1, &v)}[0]);
        ABOUT(most, (alm_vec[]){all_ways("max", 1, &v)}[0]);
        ABOUT(n, (alm_vec[]){all_ways("count", 1, &v)}[0]);
        ABOUT(distinct, (alm_vec[]){all_ways("count_distinct", 1, &v)}[0]);
        ABOUT(distinct, (alm_vec[]){all_ways("approx_count_distinct", 1, &v)}[0]);
        if (types[t].id == ALM_T_LONG) /* others are cast */
            (void)all_ways("mode", 1, &v);
        (void)all_ways("first", 1, &v);
        (void)all_ways("last", 1, &v);
        (void)all_ways("first_not_null", 1, &v);
        (void)all_ways("last_not_null", 1, &v);
    }
}

static void avg_of_longs_does_not_overflow(void **state)
{
    (void)state;
    alm_vec v = fresh(ALM_TY(LONG), ROWS);
    for (size_t i = 0; i < ROWS; i++)
        ((int64_t *)v.data)[i] = i % 3 == 0 ? -INT64_MAX : INT64_MAX - (int64_t)i;
    long double sum = 0;
    for (size_t i = 0; i < ROWS; i++)
        sum += ((int64_t *)v.data)[i];
    ABOUT(sum / (int)ROWS, (alm_vec[]){all_ways("avg", 1, &v)}[0]);
}

static void text_as_views_and_as_codes(void **state)
{
    (void)state;
    alm_vec views, codes;
    words(&views, &codes);
    static const char *const names[] = {
        "min",           "max",   "first",          "last", "first_not_null",
        "last_not_null", "count", "count_distinct", "mode"};
    for (size_t k = 0; k < ALM_COUNT(names); k++) {
        const alm_vec a = all_ways(names[k], 1, &views), b = all_ways(names[k], 1, &codes);
        same_value(names[k], &a, 0, &b, 0);
    }
    const alm_view comma = alm_view_of(ALM_STR(", "));
    alm_vec by = {.type = ALM_TY(STRING), .width = sizeof(alm_view), .is_const = true};
    by.data = room(sizeof comma);
    memcpy(by.data, &comma, sizeof comma);
    const alm_vec as_text[] = {views, by}, as_code[] = {codes, by};
    const alm_vec joined = all_ways("string_agg", 2, as_text),
                  joined_codes = all_ways("string_agg", 2, as_code);
    assert_true(alm_str_eq(alm_vec_text(&joined, 0), alm_vec_text(&joined_codes, 0)));
    const alm_vec distinct = all_ways("string_distinct_agg", 2, as_text),
                  distinct_codes = all_ways("string_distinct_agg", 2, as_code);
    assert_true(alm_str_eq(alm_vec_text(&distinct, 0), alm_vec_text(&distinct_codes, 0)));
    size_t bytes = 0;
    for (size_t i = 0; i < ALM_COUNT(WORDS); i++)
        bytes += strlen(WORDS[i]);
    assert_int_equal(alm_vec_text(&distinct, 0).len, bytes + 2 * (ALM_COUNT(WORDS) - 1));
}

/* Text in memory that is overwritten between batches, as the executor's batches are. */
static void states_keep_their_own_text(void **state)
{
    (void)state;
    static const char *const names[] = {"min", "max", "first", "last", "mode"};
    for (size_t k = 0; k < ALM_COUNT(names); k++) {
        char bytes[40];
        alm_vec v = {.type = ALM_TY(VARCHAR), .width = sizeof(alm_view)};
        alm_view view;
        v.data = &view;
        plan p = find(names[k], 1, &v);
        void *one = room(p.ops->state_bytes);
        p.ops->init(&p.call, one, 1);
        for (char c = 'a'; c <= 'e'; c++) {
            memset(bytes, c == 'e' ? 'c' : c, sizeof bytes);
            view = alm_view_of((alm_str){bytes, 30});
            const uint32_t group = 0;
            assert_int_equal(c % 2 ? p.ops->update(&p.call, one, 1, &v)
                                   : p.ops->scatter(&p.call, one, &group, 1, &v),
                             ALM_OK);
            memset(bytes, '#', sizeof bytes);
        }
        const alm_vec out = finish(&p, one, 1);
        const alm_str got = alm_vec_text(&out, 0);
        const char want[] = {'a', 'd', 'a', 'c', 'c'};
        assert_int_equal(got.len, 30);
        for (size_t i = 0; i < got.len; i++)
            assert_int_equal(got.ptr[i], want[k]);
    }
}

static void nothing_gives_null_or_zero(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t argc;
        bool zero;
    } all[] = {{"sum", 1, false},
               {"avg", 1, false},
               {"min", 1, false},
               {"max", 1, false},
               {"first", 1, false},
               {"last", 1, false},
               {"count", 1, true},
               {"count_distinct", 1, true},
               {"stddev", 1, false},
               {"var_pop", 1, false},
               {"corr", 2, false},
               {"covar_pop", 2, false},
               {"regr_slope", 2, false},
               {"vwap", 2, false},
               {"ksum", 1, false},
               {"nsum", 1, false},
               {"mode", 1, false},
               {"approx_median", 1, false},
               {"weighted_stddev", 2, false}};
    double nulls[20];
    for (size_t i = 0; i < 20; i++)
        nulls[i] = __builtin_nan("");
    for (size_t k = 0; k < ALM_COUNT(all); k++) {
        alm_vec v[2] = {{.type = ALM_TY(DOUBLE), .width = 8, .data = nulls}};
        v[1] = v[0];
        plan p = find(all[k].name, all[k].argc, v);
        void *states = room(p.ops->state_bytes * 2); /* no row at all; nothing but nulls */
        p.ops->init(&p.call, states, 2);
        assert_int_equal(p.ops->update(&p.call, (char *)states + p.ops->state_bytes, 20, v),
                         ALM_OK);
        const alm_vec out = finish(&p, states, 2);
        for (size_t i = 0; i < 2; i++) {
            if (all[k].zero)
                assert_int_equal(((int64_t *)out.data)[i], 0);
            else if (!alm_vec_is_null(&out, i))
                fail_msg("%s of nothing is not null", all[k].name);
        }
    }
}

static void recorded_figures(void **state)
{
    (void)state;
    double three[] = {1e16, 1.0, -1e16};
    alm_vec v = {.type = ALM_TY(DOUBLE), .width = 8, .data = three};
    plan k = find("ksum", 1, &v), m = find("nsum", 1, &v);
    void *s = room(64);
    k.ops->init(&k.call, s, 1);
    assert_int_equal(k.ops->update(&k.call, s, 3, &v), ALM_OK);
    ABOUT(0.0, (alm_vec[]){finish(&k, s, 1)}[0]);
    m.ops->init(&m.call, s, 1);
    assert_int_equal(m.ops->update(&m.call, s, 3, &v), ALM_OK);
    ABOUT(1.0, (alm_vec[]){finish(&m, s, 1)}[0]);

    double price[] = {1.15, 1.25, 1.55}, qty[] = {10, 20, 30};
    const alm_vec two[] = {{.type = ALM_TY(DOUBLE), .width = 8, .data = price},
                           {.type = ALM_TY(DOUBLE), .width = 8, .data = qty}};
    static const struct {
        const char *name;
        double want;
    } weighted[] = {{"weighted_stddev", 0.2174229226018437},
                    {"weighted_stddev_freq", 0.17140166590044087}};
    for (size_t i = 0; i < 2; i++) {
        plan p = find(weighted[i].name, 2, two);
        p.ops->init(&p.call, s, 1);
        assert_int_equal(p.ops->update(&p.call, s, 3, two), ALM_OK);
        ABOUT(weighted[i].want, (alm_vec[]){finish(&p, s, 1)}[0]);
    }
}

static void percentiles_are_close(void **state)
{
    (void)state;
    alm_vec v = fresh(ALM_TY(DOUBLE), ROWS);
    for (size_t i = 0; i < ROWS; i++)
        ((double *)v.data)[i] = (double)((i * 7919) % ROWS) - 1000; /* -1000 .. 2000, each once */
    const double fractions[] = {0.0, 0.1, 0.5, 0.9, 1.0};
    for (size_t k = 0; k < ALM_COUNT(fractions); k++) {
        double f = fractions[k];
        const alm_vec args[] = {v,
                                {.type = ALM_TY(DOUBLE), .width = 8, .is_const = true, .data = &f}};
        const alm_vec got = all_ways("approx_percentile", 2, args);
        const double want = fmax(ceil(f * (int)ROWS), 1) - 1001;
        assert_true(fabs(number(&got) - want) <= 1.1e-3 * fabs(want) + 1);
    }
}

static void constants_count_for_each_row(void **state)
{
    (void)state;
    double half = 0.5;
    int64_t seven = 7;
    const alm_vec a = {.type = ALM_TY(DOUBLE), .width = 8, .is_const = true, .data = &half},
                  b = {.type = ALM_TY(LONG), .width = 8, .is_const = true, .data = &seven};
    ABOUT((int)ROWS * 0.5, (alm_vec[]){all_ways("sum", 1, &a)}[0]);
    ABOUT(ROWS * 7, (alm_vec[]){all_ways("sum", 1, &b)}[0]);
    ABOUT(ROWS, (alm_vec[]){all_ways("count", 1, &b)}[0]);
    ABOUT(7, (alm_vec[]){all_ways("avg", 1, &b)}[0]);
    ABOUT(7, (alm_vec[]){all_ways("max", 1, &b)}[0]);
    ABOUT(1, (alm_vec[]){all_ways("count_distinct", 1, &b)}[0]);
    ABOUT(0, (alm_vec[]){all_ways("var_samp", 1, &a)}[0]);
}

static int start(void **state)
{
    (void)state;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    return alm_registry_new(&cx, &reg) == ALM_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    alm_registry_free(reg);
    alm_arena_deinit(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_against_plain_loops),
                                       cmocka_unit_test(equal_values_have_no_spread),
                                       cmocka_unit_test(integers_against_plain_loops),
                                       cmocka_unit_test(avg_of_longs_does_not_overflow),
                                       cmocka_unit_test(text_as_views_and_as_codes),
                                       cmocka_unit_test(states_keep_their_own_text),
                                       cmocka_unit_test(nothing_gives_null_or_zero),
                                       cmocka_unit_test(recorded_figures),
                                       cmocka_unit_test(percentiles_are_close),
                                       cmocka_unit_test(constants_count_for_each_row)};
    return cmocka_run_group_tests(tests, start, end);
}
