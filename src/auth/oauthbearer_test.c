/* Method: messages of RFC 7628 and of clients that are wrong, each with the token or the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/oauthbearer.h"

#define S "\1"

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *message, *token, *why;
    } rows[] = {
        {"n,," S "auth=Bearer abc.d-e_f==" S S, "abc.d-e_f==", NULL},
        {"y,," S "auth=bearer  abc" S S, "abc", NULL},
        {"n,," S "host=h" S "port=8812" S "auth=BEARER abc" S S, "abc", NULL},
        {"n,," S "auth=Bearer a=b" S "x=" S S, "a=b", NULL},
        {"n,," S "auth=" S S, "", NULL}, /* where is a token to be had? */
        {"", NULL, "channel binding"},
        {"p=tls-exporter,," S "auth=Bearer abc" S S, NULL, "channel binding"},
        {"n,a=admin," S "auth=Bearer abc" S S, NULL, "authorization identity"},
        {"n,,", NULL, "separator"},
        {"n,," S, NULL, "separator"},
        {"n,,auth=Bearer abc" S S, NULL, "separator"},
        {"n,," S "auth=Bearer abc", NULL, "separator"},
        {"n,," S "auth=Bearer abc" S, NULL, "key=value"},
        {"n,," S S, NULL, "auth is missing"},
        {"n,," S "AUTH=Bearer abc" S S, NULL, "auth is missing"},
        {"n,," S S "auth=Bearer abc" S S, NULL, "key=value"},
        {"n,," S "auth" S S, NULL, "key=value"},
        {"n,," S "=x" S "auth=Bearer abc" S S, NULL, "key=value"},
        {"n,," S "auth=Bearer abc" S "auth=Bearer abd" S S, NULL, "twice"},
        {"n,," S "auth=Basic abc" S S, NULL, "only Bearer"},
        {"n,," S "auth=Bearer" S S, NULL, "only Bearer"},
        {"n,," S "auth=Bearer " S S, NULL, "only Bearer"},
        {"n,," S "auth=Bearer   " S S, NULL, "token is empty"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_ctx cx = {0};
        alm_str token = {0};
        const alm_status st = alm_oauthbearer_read(&cx, alm_str_of(rows[i].message), &token);
        assert_int_equal(st, rows[i].why == NULL ? ALM_OK : ALM_E_PROTOCOL);
        if (rows[i].why == NULL) {
            assert_int_equal(token.len, strlen(rows[i].token));
            assert_memory_equal(token.ptr, rows[i].token, token.len);
        } else if (strstr(cx.err.msg, rows[i].why) == NULL) {
            fail_msg("%s: %s", rows[i].why, cx.err.msg);
        }
    }
    static const char zero[] = "n,," S "auth=Bearer a\0b" S S;
    alm_ctx cx = {0};
    alm_str token;
    assert_int_equal(alm_oauthbearer_read(&cx, (alm_str){zero, sizeof zero - 1}, &token),
                     ALM_E_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
