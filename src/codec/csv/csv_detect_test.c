/*
 * csv_detect_test.c - goal: delimiter, header and types of a file as its first lines tell them; text is
 * never typed narrower. Method: a table of small files and the shape each has, as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "codec/csv/csv.h"

typedef struct shape_case {
    const char *text;
    const char *want; /* delimiter, header, name:TYPE ... */
    alm_csv_header header;
    char delimiter;
} shape_case;

static void detect(const shape_case *c)
{
    alm_ctx cx = {0};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    alm_csv_shape shape;
    char got[4096];
    const alm_status st =
        alm_csv_detect(&cx, &arena, alm_str_of(c->text), true, c->delimiter, c->header, &shape);
    int n = 0;
    if (st != ALM_OK) {
        n = snprintf(got, sizeof(got), "error %s", cx.err.msg);
    } else {
        n = snprintf(got, sizeof(got), "%c%s", shape.delimiter, shape.header ? " header" : "");
        for (uint32_t i = 0; i < shape.n_cols; i++)
            n += snprintf(got + n, sizeof(got) - (size_t)n, " %s:%s", shape.cols[i].name,
                          alm_type_name(shape.cols[i].type));
    }
    if (strcmp(got, c->want) != 0)
        fail_msg("%s\n got %s\nwant %s", c->text, got, c->want);
    alm_arena_deinit(&arena);
}

static void test_delimiters_and_headers(void **state)
{
    (void)state;
    static const shape_case cases[] = {
        {"a,b\n1,2\n", ", header a:INT b:INT", 0, 0},
        {"a;b\n1;2\n", "; header a:INT b:INT", 0, 0},
        {"a\tb\n1\t2\n", "\t header a:INT b:INT", 0, 0},
        {"a|b\n1|2\n", "| header a:INT b:INT", 0, 0},
        {"a,b\r1,2\r3,4", "error lines end with CR alone, LF or CRLF is expected", 0, 0},
        {"a,\"b\rc\"\r", ", f0:VARCHAR f1:VARCHAR", 0, 0},
        {"a,b\n", "error the delimiter must be an ASCII character", 0, '\xc3'},
        {"\n\r\na;b\n\n1;2\n", "; header a:INT b:INT", 0, 0},
        {"a,b;c\n\"x;y\",2\n\"z;w\",3\n", ", header a:VARCHAR b;c:INT", 0, 0},
        {"a;b\n1,5;2,5\n", "; header a:VARCHAR b:VARCHAR", 0, 0},
        {"1,2\n3,4\n", ", f0:INT f1:INT", 0, 0},
        {"name,city\nAda,London\nBob,Paris\n", ", header name:VARCHAR city:VARCHAR", 0, 0},
        {"x,y\nx,z\n", ", f0:VARCHAR f1:VARCHAR", 0, 0},
        {"x,y\n", ", f0:VARCHAR f1:VARCHAR", 0, 0},
        {"x,y\n", ", header x:VARCHAR y:VARCHAR", ALM_CSV_HEADER_DETECT_LONE, 0},
        {"x", ", header x:VARCHAR", ALM_CSV_HEADER_DETECT_LONE, 0},
        {"x,1\n", ", f0:VARCHAR f1:INT", ALM_CSV_HEADER_DETECT_LONE, 0},
        {"x,\n", ", f0:VARCHAR f1:VARCHAR", ALM_CSV_HEADER_DETECT_LONE, 0},
        {"x,x\n", ", f0:VARCHAR f1:VARCHAR", ALM_CSV_HEADER_DETECT_LONE, 0},
        {"x,24h\n", ", f0:VARCHAR f1:VARCHAR", ALM_CSV_HEADER_DETECT_LONE, 0},
        {"1,2\n3,4\n", ", header _1:INT _2:INT", ALM_CSV_HEADER_YES, 0},
        {"a:b:c\n", ": f0:VARCHAR f1:VARCHAR f2:VARCHAR", 0, ':'},
        {"", ",", 0, 0},
        {"\n\n", ",", 0, 0},
        {"one\n1\n2\n", ", header one:INT", 0, 0},
        {"\xef\xbb\xbf"
         "a,b\n1,2\n",
         ", header a:INT b:INT", 0, 0},
        {"\"a\nb\",c\n1,2\n", ", f0:VARCHAR f1:VARCHAR", 0, 0},
        {"a,a\n1,2\n", "error duplicate column name found [no=1,name=a]", 0, 0},
        {"a,A,b\nx,y,1\n", "error duplicate column name found [no=1,name=A]", 0, 0},
        {"a,a\nx,y\n", ", f0:VARCHAR f1:VARCHAR", 0, 0},
        {"a,A\n1,2\n", "error duplicate column name found [no=1,name=A]", ALM_CSV_HEADER_YES, 0},
        {"a b,r+s,1st,p_q,select,\n1,2,3,4,5,6\n",
         ", header aB:INT rS:INT _1st:INT p_q:INT select:INT f5:INT", ALM_CSV_HEADER_YES, 0},
        {"day,24h,1st\n2024-01-01,5,x\n", ", header day:DATE _24h:INT _1st:VARCHAR", 0, 0},
        {"24h,b\nx,y\n", ", f0:VARCHAR f1:VARCHAR", 0, 0},
        {",open,close\n0,1.5,2\n1,2.5,3\n", ", header f0:INT open:DOUBLE close:INT", 0, 0},
        {",name\n0,Ada\n1,Bob\n", ", header f0:INT name:VARCHAR", 0, 0},
        {"\"\",\"mpg\"\n\"Mazda\",21.0\n", ", header f0:VARCHAR mpg:DOUBLE", 0, 0},
        {"id,,v\n1,2,3\n", ", header id:INT f1:INT v:INT", 0, 0},
        {"f1,,v\n1,2,3\n", ", header f1:INT f1_:INT v:INT", 0, 0},
        {"a,b,\n1.5,2,\n2.5,3,\n", ", header a:DOUBLE b:INT f2:VARCHAR", 0, 0},
        {"a,b,\"\"\n1.5,2,\n2.5,3,\"\"\n", ", header a:DOUBLE b:INT f2:VARCHAR", 0, 0},
        {"ts;v;\n2024-01-01;1;\n", "; header ts:DATE v:INT f2:VARCHAR", 0, 0},
        {"name;city;\nAda;London;\nBob;Paris;\n", "; header name:VARCHAR city:VARCHAR f2:VARCHAR",
         0, 0},
        {"a,b,\n1,2,3\n", ", header a:INT b:INT f2:INT", 0, 0},
        {"a,b,\n1,2,\n", ", header a:INT b:INT f2:VARCHAR", ALM_CSV_HEADER_YES, 0},
        {"x,\ny,5\n", ", f0:VARCHAR f1:INT", 0, 0},
        {",x\ny,z\n", ", f0:VARCHAR f1:VARCHAR", 0, 0},
        {",\n1,2\n", ", f0:INT f1:INT", 0, 0},
        {",1\n2,3\n", ", f0:INT f1:INT", 0, 0},
        {"1,2,\n3,4,\n", ", f0:INT f1:INT f2:VARCHAR", 0, 0},
        {"5\" disk,a\n6\" disk,b\n", ", f0:VARCHAR f1:VARCHAR", 0, 0},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++)
        detect(&cases[i]);
}

/* One column with these values, one a line, below the header "v". */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *values, *type;
    } cases[] = {
        {"1\n-5\n+5", "INT"},
        {"1\n10000000000", "LONG"},
        {"1\n9223372036854775808", "DOUBLE"},
        {"1.5\n2", "DOUBLE"},
        {"1e5\n2.5", "DOUBLE"},
        {"true\nFalse", "BOOLEAN"},
        {"true\n1", "VARCHAR"},
        {"yes\nhello", "VARCHAR"},
        {"x\ny", "VARCHAR"},
        {"1\nx", "VARCHAR"},
        {"007\n12", "VARCHAR"},
        {"0\n12", "INT"},
        {"0.5\n12", "DOUBLE"},
        {"2024-01-02\n2024-01-03", "DATE"},
        {"2024-01-02T03:04:05.123Z\n2024-01-02", "DATE"},
        {"2024-01-02T03:04:05Z\n2024-01-02T03:04:05.123456Z", "TIMESTAMP"},
        {"2024-01-02 03:04:05.123456\n2024-01-02", "TIMESTAMP"},
        {"2024-01-02T03:04:05.123456+01:00\n2024-01-02", "TIMESTAMP"},
        {"2024-01-02T03:04:05.123456789Z\n2024-01-02", "TIMESTAMP_NS"},
        {"2024-01-02\n12", "VARCHAR"},
        {"01/02/2024\n02/02/2024", "VARCHAR"},
        {"11111111-2222-3333-4444-555555555555\n\"\"", "UUID"},
        {"01234567-0000-0000-0000-000000000001\n11111111-2222-3333-4444-555555555555", "UUID"},
        {"00000000-0000-0000-0000-000000000001\n007", "VARCHAR"},
        {"1.2.3.4\n10.0.0.1", "IPv4"},
        {"1.2.3.4\n1.5", "VARCHAR"},
        {"1\n\"\"\n3", "INT"},
        {"0x1f\n0xAB12\n\"\"", "LONG256"},
        {"0x1f\n0x123", "VARCHAR"},
        {"0x1f\n0xzz", "VARCHAR"},
        {"0x1f\n12", "VARCHAR"},
        {"0x8000000000000000800000000000000080000000000000008000000000000000", "VARCHAR"},
        {"0x800000000000000080000000000000008000000000000000800000000000000001", "VARCHAR"},
        {"\"1,000\"\n5%", "VARCHAR"},
        {"\"\"\n\"\"", "VARCHAR"},
    };
    char text[512], want[64];
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        (void)snprintf(text, sizeof(text), "v\n%s\n", cases[i].values);
        (void)snprintf(want, sizeof(want), ", header v:%s", cases[i].type);
        detect(&(shape_case){text, want, ALM_CSV_HEADER_YES, 0});
    }
}

static void test_names(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    char longest[400];
    (void)memset(longest, 'a', 126);
    for (size_t i = 126; i + 1 < sizeof(longest); i += 2)
        (void)memcpy(longest + i, "\xc3\xbc", 2);
    const char *name = NULL;
    assert_int_equal(alm_csv_clean_name(&cx, &arena, (alm_str){longest, 398}, 0, &name), ALM_OK);
    assert_int_equal(strlen(name), 126); /* no half character at the end */
    assert_int_equal(alm_csv_clean_name(&cx, &arena, ALM_STR("/?:"), 7, &name), ALM_OK);
    assert_string_equal(name, "f7");
    assert_int_equal(alm_csv_clean_name(&cx, &arena, ALM_STR("gr\xc3\xb6\xc3\x9f e"), 7, &name),
                     ALM_OK);
    assert_string_equal(name, "gr\xc3\xb6\xc3\x9f"
                              "E");
    alm_csv_shape shape;
    assert_int_equal(alm_csv_detect(&cx, &arena, (alm_str){0}, true, 0, 0, &shape), ALM_OK);
    assert_int_equal(shape.n_cols, 0);
    alm_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delimiters_and_headers),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
