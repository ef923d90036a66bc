/*
 * Goal    The date and time functions answer as recorded, for TIMESTAMP and TIMESTAMP_NS, for columns
 *         and constants, with nulls; wrong constants are refused where they stand.
 * Method  Calls resolved through the registry and run on columns; results as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "func/scalar/time.h"
#include "time/zone_files_for_test.h"

typedef struct env {
    alm_ctx cx;
    alm_arena arena;
    alm_registry *registry;
} env;

static int setup(void **state)
{
    static env e;
    e = (env){0};
    alm_arena_init(&e.arena, NULL);
    e.cx.arena = &e.arena;
    e.cx.now_ns = INT64_C(1707312896789012345); /* 2024-02-07T13:34:56.789012345Z */
    e.cx.seed = 5;
    if (alm_zones_new(&e.cx, alm_zone_file_for_test, NULL, &e.cx.zones) != ALM_OK ||
        alm_registry_new(&e.cx, &e.registry) != ALM_OK)
        return -1;
    *state = &e;
    return 0;
}

static int teardown(void **state)
{
    env *e = *state;
    alm_registry_free(e->registry);
    alm_zones_free(e->cx.zones);
    alm_arena_deinit(&e->arena);
    return 0;
}

/* ------------------------------------------------------------------ arguments */

static alm_vec text(env *e, const char *value)
{
    alm_vec v;
    assert_int_equal(alm_vec_new(&e->cx, &e->arena, ALM_TY(STRING), 1, &v), ALM_OK);
    *(alm_view *)v.data = alm_view_of((alm_str){value, value == NULL ? 0 : strlen(value)});
    v.is_const = true;
    return v;
}

static alm_vec number(env *e, alm_type type, int64_t value)
{
    alm_vec v;
    assert_int_equal(alm_vec_new(&e->cx, &e->arena, type, 1, &v), ALM_OK);
    if (v.width == 4)
        *(int32_t *)v.data = (int32_t)value;
    else
        *(int64_t *)v.data = value;
    v.is_const = true;
    return v;
}

/* A constant time; NULL is null. */
static alm_vec at(env *e, alm_type type, const char *value)
{
    int64_t ticks = ALM_TS_NULL;
    if (value != NULL)
        assert_true(alm_time_parse(alm_str_of(value), alm_time_unit_of(type), &ticks));
    return number(e, type, ticks);
}

enum { ROWS_MAX = 2000 };

/* The same value in n rows. */
static alm_vec column(env *e, alm_vec one, size_t n)
{
    alm_vec v;
    assert_int_equal(alm_vec_expand(&e->cx, &e->arena, &one, n, &v), ALM_OK);
    v.is_const = false;
    return v;
}

/* A column of texts of one letter as CHAR, as the evaluator would cast it. */
static alm_vec letters(env *e, const alm_vec *texts, size_t n)
{
    alm_vec v;
    assert_int_equal(alm_vec_new(&e->cx, &e->arena, ALM_TY(CHAR), n, &v), ALM_OK);
    for (size_t i = 0; i < n; i++)
        ((uint16_t *)v.data)[i] = (uint8_t)alm_vec_text(texts, i).ptr[0];
    return v;
}

/* ------------------------------------------------------------------ calls */

static alm_status run(env *e, const char *name, uint32_t argc, alm_vec *args, size_t n,
                      alm_vec *out)
{
    alm_arg arg[8];
    alm_resolved r;
    uint64_t state[8] = {0};
    for (uint32_t i = 0; i < argc; i++)
        arg[i] = (alm_arg){.type = args[i].type,
                           .value = args[i].is_const ? &args[i] : NULL,
                           .pos = 10 * (int32_t)(i + 1)};
    ALM_TRY(alm_registry_resolve(&e->cx, e->registry, alm_str_of(name), ALM_FN_SCALAR, 3, argc, arg,
                                 &r));
    assert_true(r.fn->state_bytes <= sizeof(state));
    alm_vec given[8];
    memcpy(given, args, argc * sizeof *args);
    args = given;
    for (uint32_t i = 0; i < argc; i++)
        if (!args[i].is_const && r.arg_types[i].id == ALM_T_CHAR)
            args[i] = letters(e, &args[i], n);
        else if (!args[i].is_const || r.arg_types[i].id != ALM_T_STRING)
            assert_int_equal(r.arg_types[i].id, args[i].type.id); /* tests give exact types */
    alm_call call = {.cx = &e->cx,
                     .fn = r.fn,
                     .data = r.data,
                     .state = state,
                     .arena = &e->arena,
                     .result = r.result,
                     .pos = 3,
                     .argc = argc};
    ALM_TRY(alm_vec_new(&e->cx, &e->arena, r.result, n, out));
    return r.fn->kernel(&call, n, args, out);
}

static void show(const alm_vec *v, size_t i, char *out, size_t size)
{
    char time[ALM_TIME_TEXT_MAX + 1];
    if (alm_vec_is_null(v, i)) {
        (void)snprintf(out, size, "null");
    } else if (v->type.id == ALM_T_INTERVAL) {
        const alm_interval_value *value = (const alm_interval_value *)v->data + i;
        char hi[ALM_TIME_TEXT_MAX + 1];
        time[alm_time_format(value->lo, ALM_TIME_US, ALM_TIME_ISO, time)] = 0;
        hi[alm_time_format(value->hi, ALM_TIME_US, ALM_TIME_ISO, hi)] = 0;
        (void)snprintf(out, size, "%s..%s", time, hi);
    } else if (alm_type_is_text(v->type)) {
        const alm_str s = alm_vec_text(v, i);
        (void)snprintf(out, size, "%.*s", (int)s.len, s.ptr);
    } else if (v->type.id == ALM_T_BOOLEAN) {
        (void)snprintf(out, size, "%s", ((const uint8_t *)v->data)[i] ? "true" : "false");
    } else if (v->type.id == ALM_T_INT) {
        (void)snprintf(out, size, "%d", ((const int32_t *)v->data)[i]);
    } else if (v->type.id == ALM_T_LONG) {
        (void)snprintf(out, size, "%lld", (long long)((const int64_t *)v->data)[i]);
    } else {
        time[alm_time_format(((const int64_t *)v->data)[i], alm_time_unit_of(v->type), ALM_TIME_ISO,
                             time)] = 0;
        (void)snprintf(out, size, "%s", time);
    }
}

/* One row of constants, and many rows with each argument in turn as a column: the same answer. */
static void expect(env *e, const char *expected, const char *name, uint32_t argc, ...)
{
    alm_vec args[8], out;
    char got[200];
    va_list ap;
    va_start(ap, argc);
    for (uint32_t i = 0; i < argc; i++)
        args[i] = va_arg(ap, alm_vec);
    va_end(ap);
    if (run(e, name, argc, args, 1, &out) != ALM_OK)
        fail_msg("%s: %s", name, e->cx.err.msg);
    show(&out, 0, got, sizeof(got));
    if (strcmp(got, expected) != 0)
        fail_msg("%s: %s, not %s", name, got, expected);
    for (uint32_t i = 0; i < argc; i++) {
        const alm_vec one = args[i];
        args[i] = column(e, one, ROWS_MAX);
        if (run(e, name, argc, args, ROWS_MAX, &out) == ALM_OK)
            for (size_t row = 0; row < ROWS_MAX; row += 499) {
                show(&out, row, got, sizeof(got));
                if (strcmp(got, expected) != 0)
                    fail_msg("%s, argument %u as column, row %zu: %s", name, i, row, got);
            }
        else if (e->cx.err.code != ALM_E_FUNCTION) /* "must be a constant" */
            fail_msg("%s: %s", name, e->cx.err.msg);
        alm_error_clear(&e->cx);
        args[i] = one;
    }
}

static void refuse(env *e, const char *message, int32_t pos, const char *name, uint32_t argc, ...)
{
    alm_vec args[8], out;
    va_list ap;
    va_start(ap, argc);
    for (uint32_t i = 0; i < argc; i++)
        args[i] = va_arg(ap, alm_vec);
    va_end(ap);
    assert_int_not_equal(run(e, name, argc, args, 1, &out), ALM_OK);
    assert_string_equal(e->cx.err.msg, message);
    assert_int_equal(e->cx.err.sql_pos, pos);
    alm_error_clear(&e->cx);
}

#define US(value) at(e, ALM_TY(TIMESTAMP), value)
#define NS(value) at(e, ALM_TY(TIMESTAMP_NS), value)
#define MS(value) at(e, ALM_TY(DATE), value)
#define S(value)  text(e, value)
#define I(value)  number(e, ALM_TY(INT), value)
#define L(value)  number(e, ALM_TY(LONG), value)

static void clock_and_days(void **state)
{
    env *e = *state;
    expect(e, "2024-02-07T13:34:56.789012Z", "now", 0);
    expect(e, "2024-02-07T13:34:56.789012345Z", "now_ns", 0);
    expect(e, "2024-02-07T13:34:56.789012Z", "systimestamp", 0);
    expect(e, "2024-02-07T13:34:56.789Z", "sysdate", 0);
    expect(e, "2024-02-07T00:00:00.000000Z..2024-02-07T23:59:59.999999Z", "today", 0);
    expect(e, "2024-02-06T00:00:00.000000Z..2024-02-06T23:59:59.999999Z", "yesterday", 0);
    expect(e, "2024-02-07T18:30:00.000000Z..2024-02-08T18:29:59.999999Z", "tomorrow", 1,
           S("+05:30"));
    expect(e, "2024-01-01T00:00:00.000000Z..2024-01-02T00:00:00.000000Z", "interval", 2,
           US("2024-01-01"), US("2024-01-02"));
    expect(e, "null", "interval", 2, US("2024-01-01"), US(NULL));
    refuse(e, "invalid interval boundaries", 3, "interval", 2, US("2024-01-02"), US("2024-01-01"));
}

static void fields(void **state)
{
    env *e = *state;
    const char *leap = "2024-02-29T12:34:56.789012345Z";
    expect(e, "2024", "year", 1, US(leap));
    expect(e, "2", "month", 1, NS(leap));
    expect(e, "29", "day", 1, US(leap));
    expect(e, "12", "hour", 1, NS(leap));
    expect(e, "34", "minute", 1, US(leap));
    expect(e, "56", "second", 1, US(leap));
    expect(e, "789", "millis", 1, NS(leap));
    expect(e, "12", "micros", 1, NS(leap));
    expect(e, "345", "nanos", 1, NS(leap));
    expect(e, "4", "day_of_week", 1, US(leap));
    expect(e, "5", "day_of_week_sunday_first", 1, US(leap));
    expect(e, "9", "week_of_year", 1, US(leap));
    expect(e, "29", "days_in_month", 1, US(leap));
    expect(e, "true", "is_leap_year", 1, US(leap));
    expect(e, "false", "is_leap_year", 1, US(NULL));
    expect(e, "null", "hour", 1, NS(NULL));
    expect(e, "789012", "extract", 2, S("microseconds"), US(leap));
    expect(e, "1709210096", "extract", 2, S("epoch"), NS(leap));
    expect(e, "21", "extract", 2, S("CENTURY"), US(leap));
    expect(e, "null", "extract", 2, S("doy"), US(NULL));
    refuse(e, "unsupported timestamp part: fortnight", 10, "extract", 2, S("fortnight"), US(leap));
}

static void adding(void **state)
{
    env *e = *state;
    expect(e, "2024-02-29T00:00:00.000000Z", "dateadd", 3, S("M"), I(1), US("2024-01-31"));
    expect(e, "2024-01-29T23:59:59.999999999Z", "dateadd", 3, S("M"), I(-1),
           NS("2024-02-29T23:59:59.999999999"));
    expect(e, "2024-03-01T00:00:00.000000004Z", "dateadd", 3, S("n"), I(5),
           NS("2024-02-29T23:59:59.999999999"));
    expect(e, "2024-02-28T00:00:00.000000Z", "dateadd", 3, S("d"), L(-1), US("2024-02-29"));
    expect(e, "null", "dateadd", 3, S("d"), I(ALM_INT_NULL), US("2024-02-29"));
    expect(e, "null", "dateadd", 3, S("d"), I(1), US(NULL));
    expect(e, "null", "dateadd", 3, S("y"), I(300000), US("2024-02-29"));
    if (alm_zone_files_exist()) /* a day of 23 hours */
        expect(e, "2024-03-31T10:00:00.000000Z", "dateadd", 4, S("d"), I(1), US("2024-03-30T11:00"),
               S("Europe/Berlin"));
    refuse(e, "invalid time period [unit=x]", 10, "dateadd", 3, S("x"), I(1), US("2024-02-29"));
    expect(e, "60", "datediff", 3, S("d"), US("2024-01-01"), US("2024-03-01"));
    expect(e, "1500", "datediff", 3, S("n"), NS("2024-01-01T00:00:00.0000015"), NS("2024-01-01"));
    expect(e, "null", "datediff", 3, S("M"), US("2024-01-01"), US(NULL));
}

static void floors(void **state)
{
    env *e = *state;
    expect(e, "2024-02-29T12:30:00.000000Z", "timestamp_floor", 2, S("15m"),
           US("2024-02-29T12:34"));
    expect(e, "2024-02-29T23:59:59.999999990Z", "timestamp_floor", 2, S("10n"),
           NS("2024-02-29T23:59:59.999999999"));
    expect(e, "2018-01-06T00:00:00.000000Z", "timestamp_floor", 3, S("5d"), US("2018-01-07"),
           US("2018-01-01"));
    expect(e, "2018-01-04T00:00:00.000000Z", "timestamp_floor", 3, S("5d"), US("2018-01-07"),
           US(NULL));
    expect(e, "2024-02-28T21:30:00.000000Z", "timestamp_floor", 5, S("1d"), US("2024-02-29"),
           US(NULL), S("03:00"), S("+05:30"));
    expect(e, "2024-01-02T00:00:00.000000Z", "timestamp_ceil", 2, S("d"), US("2024-01-01"));
    expect(e, "2025-01-01T00:00:00.000000Z", "timestamp_ceil", 2, S("y"), US("2024-02-29"));
    expect(e, "2001-01-01T00:00:00.000000Z", "date_trunc", 2, S("century"), US("2024-02-29"));
    expect(e, "2020-01-01T00:00:00.000000Z", "date_trunc", 2, S("decade"), US("2024-02-29"));
    expect(e, "2024-02-26T00:00:00.000000Z", "date_trunc", 2, S("Week"), US("2024-02-29"));
    expect(e, "2024-02-29T23:59:59.999999000Z", "date_trunc", 2, S("microseconds"),
           NS("2024-02-29T23:59:59.999999999"));
    expect(e, "null", "timestamp_floor", 2, S("d"), US(NULL));
    expect(e, "null", "timestamp_ceil", 2, S("h"), US(NULL));
    refuse(e, "invalid unit 'z'", 10, "timestamp_floor", 2, S("z"), US("2024-02-29"));
    refuse(e, "invalid unit '0h'", 10, "timestamp_floor", 2, S("0h"), US("2024-02-29"));
    refuse(e, "invalid unit 'fortnight'", 10, "date_trunc", 2, S("fortnight"), US("2024-02-29"));
    refuse(e, "invalid offset: 9h", 40, "timestamp_floor", 5, S("d"), US("2024-02-29"), US(NULL),
           S("9h"), S("UTC"));
}

static void patterns(void **state)
{
    env *e = *state;
    expect(e, "2020-03-09T05:06:07.008009Z", "to_str", 2, US("2020-03-09T05:06:07.008009"),
           S("yyyy-MM-ddTHH:mm:ss.SSSUUUz"));
    expect(e, "Fri", "to_str", 2, MS("2020-12-25"), S("E"));
    expect(e, "null", "to_str", 2, US(NULL), S("yyyy"));
    expect(e, "", "to_str", 2, US("2020-12-25"), S(""));
    refuse(e, "format must not be null", 20, "to_str", 2, US("2020-12-25"), S(NULL));
    expect(e, "2020-12-25T17:46:00.000000Z", "to_timestamp", 2, S("25/12/2020 17:46"),
           S("dd/MM/yyyy HH:mm"));
    expect(e, "null", "to_timestamp", 2, S("2020-13-01"), S("yyyy-MM-dd"));
    expect(e, "null", "to_timestamp", 2, S(NULL), S("yyyy-MM-dd"));
    expect(e, "2020-12-25T00:00:00.000000Z", "to_timestamp", 1, S("2020-12-25"));
    expect(e, "2024-03-01T00:00:00.123456789Z", "to_timestamp_ns", 2,
           S("2024-03-01T00:00:00.123456789"), S("yyyy-MM-ddTHH:mm:ss.SSSUUUNNN"));
    expect(e, "2020-12-25T10:11:12.000Z", "to_date", 2, S("25/12/2020 10:11:12"),
           S("dd/MM/yyyy HH:mm:ss"));
    refuse(e, "pattern is required", 20, "to_timestamp", 2, S("2020"), S(NULL));
}

static void zones(void **state)
{
    env *e = *state;
    expect(e, "2024-01-01T17:30:00.000000Z", "to_timezone", 2, US("2024-01-01T12:00"), S("+05:30"));
    expect(e, "2024-01-01T20:00:00.000000Z", "to_utc", 2, US("2024-01-01T12:00"), S("-08:00"));
    expect(e, "null", "to_utc", 2, NS(NULL), S("-08:00"));
    refuse(e, "invalid timezone: Nowhere", 20, "to_timezone", 2, US("2024-01-01"), S("Nowhere"));
    if (!alm_zone_files_exist())
        return;
    expect(e, "2024-03-31T03:00:00.000000Z", "to_timezone", 2, US("2024-03-31T01:00"),
           S("Europe/Berlin"));
    expect(e, "2024-02-29T22:59:59.999999999Z", "to_utc", 2, NS("2024-02-29T23:59:59.999999999"),
           S("Europe/Berlin"));
}

static void sequences(void **state)
{
    env *e = *state;
    alm_vec out, args[2] = {US("2024-02-28T23:00"), L(1800000000)};
    assert_int_equal(run(e, "timestamp_sequence", 2, args, 4, &out), ALM_OK);
    const int64_t *t = out.data;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(t[i], *(const int64_t *)args[0].data + (int64_t)i * 1800000000);
    args[1] = column(e, L(0), 4); /* steps of a column add up */
    for (size_t i = 0; i < 4; i++)
        ((int64_t *)args[1].data)[i] = (int64_t)(i + 1) * 10;
    assert_int_equal(run(e, "timestamp_sequence", 2, args, 4, &out), ALM_OK);
    t = out.data;
    assert_int_equal(t[3] - t[0], 60);
}

static void shuffled_times(void **state)
{
    env *e = *state;
    enum { N = 8000 };
    alm_vec out, again, args[2] = {US("2024-01-01"), US("2024-01-01T00:00:01")};
    assert_int_equal(run(e, "timestamp_shuffle", 2, args, N, &out), ALM_OK);
    const int64_t *t = out.data, lo = *(const int64_t *)args[0].data;
    size_t low = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(t[i] >= lo && t[i] <= lo + 1000000);
        low += t[i] < lo + 500000;
    }
    assert_in_range(low, N / 2 - 250, N / 2 + 250); /* five standard deviations */
    assert_int_equal(run(e, "timestamp_shuffle", 2, args, N, &again), ALM_OK);
    assert_memory_equal(out.data, again.data, N * sizeof(int64_t)); /* the seed decides */
    refuse(e, "invalid range", 3, "timestamp_shuffle", 2, US("2024-01-02"), US("2024-01-01"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_and_days), cmocka_unit_test(fields),        cmocka_unit_test(adding),
        cmocka_unit_test(floors),         cmocka_unit_test(patterns),      cmocka_unit_test(zones),
        cmocka_unit_test(sequences),      cmocka_unit_test(shuffled_times)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
