/*
 * unit_filter.c - linked into every unit test, so that one test of a file can be run alone:
 *
 *     build/release/NAME_test PATTERN       the tests whose names match; * and ? are wildcards
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

__attribute__((constructor)) static void filter(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
}
