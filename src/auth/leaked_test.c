/*
 * Goal: a password is found in a file of leaked ones where it is, and only there. Method: files of both kinds, of many sizes,
 * searched for each of their lines and for as many others; files that are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "auth/leaked.h"
#include "io/sim.h"

enum { FILE_LINES_MAX = 3000 };

typedef struct bed {
    alm_sim *sim;
    const alm_io *io;
    alm_arena arena;
    alm_ctx cx;
} bed;

static void bed_init(bed *b)
{
    *b = (bed){.sim = alm_sim_new(1)};
    b->io = alm_sim_io(b->sim);
    alm_arena_init(&b->arena, NULL);
    b->cx = (alm_ctx){.arena = &b->arena, .io = b->io};
}

static void bed_deinit(bed *b)
{
    alm_arena_deinit(&b->arena);
    alm_sim_free(b->sim);
}

static void put(const bed *b, const char *text, size_t n)
{
    const int h = b->io->open(b->io, "f", ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    assert_true(h >= 0);
    assert_int_equal(b->io->write(b->io, h, text, n, 0), (int64_t)n);
    (void)b->io->close(b->io, h);
}

static bool has(bed *b, const char *password)
{
    bool found = false;
    alm_arena_reset(&b->arena);
    assert_int_equal(alm_leaked_has(&b->cx, b->io, "f", alm_str_of(password), &found), ALM_OK);
    return found;
}

static void hex_of(const char *password, char out[41])
{
    uint8_t hash[20];
    assert_int_equal(EVP_Q_digest(NULL, "SHA1", NULL, password, strlen(password), hash, NULL), 1);
    for (int i = 0; i < 20; i++)
        (void)snprintf(out + 2 * i, 3, "%02X", hash[i]);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* pw0, pw2, pw4 ... are in the file. */
static size_t hashes(int n, const char *end, bool last_end, char *out)
{
    static char lines[FILE_LINES_MAX][41];
    size_t bytes = 0;
    for (int i = 0; i < n; i++) {
        char password[16];
        (void)snprintf(password, sizeof password, "pw%d", 2 * i);
        hex_of(password, lines[i]);
    }
    qsort(lines, (size_t)n, sizeof lines[0], by_text);
    for (int i = 0; i < n; i++)
        bytes += (size_t)snprintf(out + bytes, 64, "%s:%d%s", lines[i], i * 977,
                                  i < n - 1 || last_end ? end : "");
    return bytes;
}

static void hashes_are_found(void **state)
{
    (void)state;
    static char text[FILE_LINES_MAX * 64];
    static const int sizes[] = {1, 2, 3, 40, 41, 42, 43, 44, 100, 1000, FILE_LINES_MAX};
    bed b;
    bed_init(&b);
    for (size_t s = 0; s < ALM_COUNT(sizes); s++) {
        const int n = sizes[s];
        put(&b, text, hashes(n, s % 2 == 0 ? "\n" : "\r\n", s % 3 == 0, text));
        for (int i = 0; i < 2 * n; i++) {
            char password[16];
            (void)snprintf(password, sizeof password, "pw%d", i);
            if (has(&b, password) != (i % 2 == 0))
                fail_msg("%d lines: %s", n, password);
        }
        assert_false(has(&b, ""));
    }
    bed_deinit(&b);
}

static void small_letters_and_no_numbers(void **state)
{
    (void)state;
    bed b;
    char text[128] = "", hex[41];
    bed_init(&b);
    hex_of("one", hex);
    for (int i = 0; i < 40; i++)
        hex[i] = (char)(hex[i] >= 'A' ? hex[i] | 0x20 : hex[i]);
    (void)snprintf(text, sizeof text, "%s\n\n", hex);
    put(&b, text, strlen(text));
    assert_true(has(&b, "one"));
    assert_false(has(&b, hex)); /* it is a hash, not a password */
    assert_false(has(&b, "two"));
    bed_deinit(&b);
}

static void plain_lines_are_found(void **state)
{
    (void)state;
    bed b;
    bed_init(&b);
    static const char text[] = "123456\r\npassword\n\n  blank \ncorrect horse\nlast";
    put(&b, text, sizeof text - 1);
    static const char *const in[] = {"123456", "password", "  blank ", "correct horse", "last"};
    static const char *const out[] = {"12345",  "1234567", "passwor", "blank",
                                      "orrect", "horse",   "las",     "\r"};
    for (size_t i = 0; i < ALM_COUNT(in); i++)
        assert_true(has(&b, in[i]));
    for (size_t i = 0; i < ALM_COUNT(out); i++)
        assert_false(has(&b, out[i]));
    put(&b, "", 0);
    assert_false(has(&b, "x"));
    bed_deinit(&b);
}

/* A line longer than what is read at once, and lines across its borders. */
static void long_lines(void **state)
{
    (void)state;
    enum { LONG = 700000 };
    bed b;
    char *text = malloc(LONG + 64);
    assert_non_null(text);
    bed_init(&b);
    for (int shift = 0; shift < 12; shift++) {
        const size_t border = ((size_t)1 << 18) - 6 + (size_t)shift;
        memset(text, 'a', LONG);
        text[border] = '\n';
        memcpy(text + border + 1, "secret\n", 7);
        memcpy(text + LONG, "\nend", 4);
        put(&b, text, LONG + 4);
        assert_true(has(&b, "secret"));
        assert_true(has(&b, "end"));
        assert_false(has(&b, "aaaa"));
    }
    free(text);
    bed_deinit(&b);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    bed b;
    bool found = false;
    char text[8192], hex[41];
    bed_init(&b);
    assert_int_equal(alm_leaked_has(&b.cx, b.io, "f", ALM_STR("x"), &found), ALM_E_IO);
    alm_error_clear(&b.cx);
    hex_of("one", hex);
    memset(text, 'z', sizeof text);
    memcpy(text, hex, 40);
    text[40] = '\n';
    for (size_t i = 100; i < sizeof text; i += 50)
        text[i] = '\n';
    put(&b, text, sizeof text);
    assert_int_equal(alm_leaked_has(&b.cx, b.io, "f", ALM_STR("x"), &found), ALM_E_CORRUPT);
    alm_error_clear(&b.cx);
    alm_sim_fail(b.sim, ALM_SIM_READ, 1, 5, 0);
    assert_int_equal(alm_leaked_has(&b.cx, b.io, "f", ALM_STR("x"), &found), ALM_E_IO);
    bed_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_found), cmocka_unit_test(small_letters_and_no_numbers),
        cmocka_unit_test(plain_lines_are_found), cmocka_unit_test(long_lines),
        cmocka_unit_test(what_cannot_be_read_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
