/*
 * ilp_test.c - lines as text and what is read from them; every cut of the input gives the same lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/number.h"
#include "codec/ilp/ilp.h"
#include "type/decimal.h"

static const char *const UNIT_LETTERS[ALM_ILP_UNITS] = {
    [ALM_ILP_NO_UNIT] = "", [ALM_ILP_NS] = "n",     [ALM_ILP_US] = "u",  [ALM_ILP_MS] = "m",
    [ALM_ILP_SECOND] = "s", [ALM_ILP_MINUTE] = "M", [ALM_ILP_HOUR] = "h"};

/* "table|name:kind:value|...|@time+unit", or "!reason". */
static void show(const alm_ilp_line *line, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "%.*s", (int)line->table.len, line->table.ptr);
    for (uint32_t i = 0; i < line->n_fields; i++) {
        const alm_ilp_field *f = &line->fields[i];
        char value[120] = "";
        switch ((alm_ilp_kind)f->kind) {
        case ALM_ILP_SYMBOL:
        case ALM_ILP_STRING:
            (void)snprintf(value, sizeof value, "%.*s", (int)f->text.len, f->text.ptr);
            break;
        case ALM_ILP_LONG:
        case ALM_ILP_BOOLEAN:
            (void)snprintf(value, sizeof value, "%lld", (long long)f->i);
            break;
        case ALM_ILP_DOUBLE:
            value[alm_double_format(f->f, ALM_NUM_DIALECT, value)] = 0;
            break;
        case ALM_ILP_TIME:
            (void)snprintf(value, sizeof value, "%lld%s", (long long)f->i, UNIT_LETTERS[f->unit]);
            break;
        case ALM_ILP_LONG256:
            value[alm_long256_format(f->wide, value)] = 0;
            break;
        case ALM_ILP_DECIMAL:
            if (!f->is_null)
                value[alm_decimal_format(f->wide, f->scale, value)] = 0;
            break;
        case ALM_ILP_ARRAY:
            (void)snprintf(value, sizeof value, "%u dims, %zu bytes", f->dims, f->text.len);
            break;
        case ALM_ILP_KINDS:
            break;
        }
        n += (size_t)snprintf(out + n, room - n, "|%.*s:%d:%s", (int)f->name.len, f->name.ptr,
                              f->kind, value);
    }
    if (line->has_time)
        (void)snprintf(out + n, room - n, "|@%lld%s", (long long)line->time,
                       UNIT_LETTERS[line->time_unit]);
}

#define BIN(text) {text, sizeof(text) - 1}

static const struct {
    alm_str in;
    const char *want; /* lines joined by ; */
} CASES[] = {
    {BIN("t a=1 5\n"), "t|a:2:1.0|@5"},
    {BIN("t,s=x,u=y a=1i,b=t,c=\"q\" 5"), "t|s:0:x|u:0:y|a:1:1|b:3:1|c:4:q|@5"},
    {BIN("t a=1\r\nt a=2 7\r\n"), "t|a:2:1.0;t|a:2:2.0|@7"},
    {BIN("\n  \n# note\nt a=1"), "t|a:2:1.0"},
    {BIN("  t  a=1   5  \n"), "t|a:2:1.0|@5"},
    {BIN("t,s=x\nt,s=x 5\n"), "t|s:0:x;t|s:0:x|@5"},
    {BIN("a\\ b\\,c,s\\=1=v\\ w f\\ g=1 5"), "a b,c|s=1:0:v w|f g:2:1.0|@5"},
    {BIN("t s=\"a \\\"b\\\" \\\\ , = x\" 5"), "t|s:4:a \"b\" \\ , = x|@5"},
    {BIN("t,s=\"x\" a=1"), "t|s:0:\"x\"|a:2:1.0"},
    {BIN("t,s= a=1"), "t|s:0:|a:2:1.0"},
    {BIN("t a=-9223372036854775807i,b=0x1fi,c=7u"), "t|a:1:-9223372036854775807|b:6:0x1f|c:1:7"},
    {BIN("t x=-9223372036854775808i"), "!Could not parse entire line, field value is invalid. "
                                       "Field: x; value: -9223372036854775808i"},
    {BIN("t x=-9223372036854775808t"), "!Could not parse entire line, field value is invalid. "
                                       "Field: x; value: -9223372036854775808t"},
    {BIN("t a=+5,b=.5,c=5.,d=1e5,e=1E-5,f=NaN"),
     "t|a:2:5.0|b:2:0.5|c:2:5.0|d:2:100000.0|e:2:1.0E-5|f:2:NaN"},
    {BIN("t a=T,b=FALSE,c=tRuE"), "t|a:3:1|b:3:0|c:3:1"},
    {BIN("t a=5t,b=6n,c=-7m 8t"), "t|a:5:5u|b:5:6n|c:5:-7m|@8u"},
    {BIN("t a=1.25d,b=-3d"), "t|a:7:1.25|b:7:-3"},
    {BIN("t d==\x10\0\0\0\0\0\0\xf8\x3f,e=1i 5\n"), "t|d:2:1.5|e:1:1|@5"},
    {BIN("t d==\x17\x02\x01}\n"), "t|d:7:1.25"},
    {BIN("t d==\x17\x02\x00,e==\x17\x00\x01\xff\n"), "t|d:7:|e:7:-1"},
    {BIN("t a==\x0e\x0a\x02\x01\0\0\0\x01\0\0\0\n\n\n\n\n\n\n\n 5\n"), "t|a:8:2 dims, 16 bytes|@5"},
    {BIN("t,s=x, a=1 5\n"), "t|s:0:x|a:2:1.0|@5"},
    {BIN("t, a=1, 5\n"), "t|a:2:1.0|@5"},
    {BIN("t a=1,b=\"q\",\nt a=2,\r\nt a=3,"), "t|a:2:1.0|b:4:q;t|a:2:2.0;t|a:2:3.0"},
    {BIN("t,s=x,\nt,s=x, 5"), "t|s:0:x;t|s:0:x|@5"},
    {BIN("t,s=x,,u=y a=1"), "!a symbol without a name"},
    {BIN("t a=1,,b=2"), "!Field value is missing: "},
    {BIN("t a=1,, 5"), "!Field value is missing: "},
    {BIN("t ,a=1"), "!Field value is missing: "},
    {BIN("t \n"), "!No fields were provided"},
    {BIN("t\n"), "!No fields were provided"},
    {BIN(",s=1 x=1\nt a=1"), "!a line without a table;t|a:2:1.0"},
    {BIN("t,a x=1"), "!Symbol value is missing: a"},
    {BIN("t,=1 x=1"), "!a symbol without a name"},
    {BIN("t =1"), "!a field without a name"},
    {BIN("t x=1,y"), "!Field value is missing: y"},
    {BIN("t x= 5"), "!Could not parse entire line, field value is invalid. Field: x; value: "},
    {BIN("t x=abc"), "!Could not parse entire line, field value is invalid. Field: x; value: abc"},
    {BIN("t x=1f"), "!Could not parse entire line, field value is invalid. Field: x; value: 1f"},
    {BIN("t x=nan"), "!Could not parse entire line, field value is invalid. Field: x; value: nan"},
    {BIN("t x=9223372036854775808i"),
     "!Could not parse entire line, field value is invalid. Field: x; value: 9223372036854775808i"},
    {BIN("t x=-1u"), "!Could not parse entire line, field value is invalid. Field: x; value: -1u"},
    {BIN("t x=1 1.5"), "!Could not parse timestamp: 1.5"},
    {BIN("t x=1 5 6"), "!something stands behind the timestamp"},
    {BIN("t x=\"a\nb\" 5\nt y=1"),
     "!the text of field x is not closed;!No fields were provided;t|y:2:1.0"},
    {BIN("t x=\"a"), "!the text of field x is not closed"},
    {BIN("t x=\"\xff\" 5"), "!the text of field x is not UTF-8"},
    {BIN("t,s=\xff x=1"), "!bytes that are not UTF-8"},
    {BIN("t x==\x05 5\n"), "!field x: unknown type 5 of a binary value"},
    {BIN("t x==\x10\0\0"), "!the binary value of field x is cut off"},
    {BIN("t x==\x0e\x09\x01"),
     "!field x: an array has elements of type 9, only double is supported"},
    {BIN("t x==\x0e\x0a\x02\xff\xff\xff\x7f\xff\xff\xff\x7f"),
     "!field x: an array that is too large"},
    {BIN("t x==\x17\x02\x21"), "!field x: a decimal with scale 2 and 33 bytes"},
    {BIN("t\\"), "!a backslash ends the line"},
};

/* Feeds `cut` bytes at a time and joins what comes out. */
static void read_all(alm_str in, size_t cut, char *out, size_t room)
{
    alm_ctx cx = {0};
    alm_ilp_reader r;
    size_t start = 0, end = 0, n = 0;
    alm_ilp_init(&r, &cx);
    out[0] = 0;
    while (start < in.len) {
        end = ALM_MIN(ALM_MAX(end, start) + cut, in.len);
        /* a copy of its own size, so that reading beyond it is seen */
        char *piece = malloc(end - start + (end == start));
        memcpy(piece, in.ptr + start, end - start);
        for (size_t at = 0;;) {
            alm_ilp_line line;
            alm_ilp_result result;
            size_t used = 0;
            assert_int_equal(alm_ilp_next(&r, piece + at, end - start - at, end == in.len, &used,
                                          &line, &result),
                             ALM_OK);
            if (result == ALM_ILP_LINE || result == ALM_ILP_BAD) {
                n += (size_t)snprintf(out + n, room - n, "%s", n > 0 ? ";" : "");
                if (result == ALM_ILP_BAD)
                    (void)snprintf(out + n, room - n, "!%s", r.reason);
                else
                    show(&line, out + n, room - n);
                n = strlen(out);
            }
            at += used;
            if (result == ALM_ILP_MORE || at == end - start) {
                start += at;
                break;
            }
        }
        free(piece);
        if (end == in.len && start < in.len)
            fail_msg("bytes are left at the end");
    }
    alm_ilp_deinit(&r);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(CASES); i++) {
        char got[2000];
        for (size_t cut = CASES[i].in.len; cut >= 1; cut--) {
            read_all(CASES[i].in, cut, got, sizeof got);
            if (strcmp(got, CASES[i].want) != 0)
                fail_msg("case %zu in pieces of %zu: got '%s', want '%s'", i, cut, got,
                         CASES[i].want);
        }
    }
}

static void test_many_fields(void **state)
{
    (void)state;
    enum { FIELDS = 2000 };
    char *text = malloc(FIELDS * 12 + 20), *at = text;
    at += snprintf(at, 20, "wide ");
    for (int i = 0; i < FIELDS; i++)
        at += snprintf(at, 20, "%sf%d=%di", i > 0 ? "," : "", i, i);
    alm_ctx cx = {0};
    alm_ilp_reader r;
    alm_ilp_line line;
    alm_ilp_result result;
    size_t used = 0;
    alm_ilp_init(&r, &cx);
    assert_int_equal(alm_ilp_next(&r, text, (size_t)(at - text), true, &used, &line, &result),
                     ALM_OK);
    assert_int_equal(result, ALM_ILP_LINE);
    assert_int_equal(line.n_fields, FIELDS);
    for (int64_t i = 0; i < FIELDS; i++)
        assert_int_equal(line.fields[i].i, i);
    alm_ilp_deinit(&r);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_many_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
