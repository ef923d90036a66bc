/* Method: answers of a provider, good and odd, and who they are read as. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/claims.h"

enum { GOT_BYTES = 1000 }; /* the longest name twice, and groups */

/* name [identity]: group, group; "?" behind it where the groups were odd; or the error's name. */
static void read_as(const char *json, const alm_claim_names *names, char out[GOT_BYTES])
{
    alm_ctx cx = {0};
    alm_principal *who = NULL;
    bool odd = false;
    const alm_status st = alm_claims_of_text(&cx, alm_str_of(json), names, &who, &odd);
    if (st != ALM_OK) {
        (void)snprintf(out, GOT_BYTES, "%s", alm_status_name(st));
        return;
    }
    assert_int_equal(who->kind, ALM_PRINCIPAL_EXTERNAL);
    int n = snprintf(out, GOT_BYTES, "%s [%s]:", who->name, who->identity);
    for (uint32_t i = 0; i < who->n_groups; i++)
        n += snprintf(out + n, GOT_BYTES - (size_t)n, " %s", who->groups[i]);
    (void)snprintf(out + n, GOT_BYTES - (size_t)n, "%s", odd ? "?" : "");
    alm_principal_release(who);
}

static void test_who_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *name_claim, *json, *want;
    } rows[] = {
        {"", "{\"sub\":\"s\",\"name\":\"N\",\"groups\":[\"a\",\"b\"]}", "N [sub:s]: a b"},
        {"", "{\"sub\":\"s\",\"name\":\"\",\"groups\":\"one\"}", "s [sub:s]: one"},
        {"", "{\"name\":\"N\"}", "AUTH"},
        {"", "{\"name\":\"N\",\"sub\":null}", "AUTH"},
        {"", "{\"name\":\"N\",\"sub\":\"\"}", "AUTH"},
        {"", "{\"name\":\"N\",\"sub\":[\"s\"]}", "AUTH"},
        {"mail", "{\"mail\":\"m\"}", "AUTH"},
        {"", "{\"sub\":\"s\",\"groups\":[]}", "s [sub:s]:"},
        {"", "{\"sub\":\"s\",\"groups\":null}", "s [sub:s]:"},
        {"", "{\"sub\":\"s\",\"groups\":\"\"}", "s [sub:s]:"},
        {"", "{\"sub\":\"s\",\"groups\":7}", "s [sub:s]:?"},
        {"", "{\"sub\":\"s\",\"groups\":{\"a\":1}}", "s [sub:s]:?"},
        {"", "{\"sub\":\"s\",\"groups\":true}", "s [sub:s]:?"},
        {"", "{\"sub\":\"s\",\"groups\":[\"a\",7]}", "s [sub:s]:?"},
        {"", "{\"sub\":\"s\",\"groups\":[[\"a\"]]}", "s [sub:s]:?"},
        {"", "{\"sub\":\"s\",\"groups\":[\"CN=a, b\",\"\\u00f6\"]}", "s [sub:s]: CN=a, b \xc3\xb6"},
        {"mail", "{\"sub\":\"s\",\"name\":\"N\",\"mail\":\"m\"}", "m [sub:s]:"},
        {"mail", "{\"sub\":\"s\",\"name\":\"N\"}", "AUTH"},
        {"mail", "{\"sub\":\"s\",\"mail\":7}", "AUTH"},
        {"", "{\"sub\":\"s\",\"name\":\" \"}", "AUTH"},
        {"", "{\"sub\":\"s\",\"name\":\"admin \"}", "AUTH"},
        {"", "{\"sub\":\"s\",\"name\":\"\\u202eadmin\"}", "AUTH"},
        {"", "{\"sub\":\"s\",\"name\":\"ad\\u200bmin\"}", "AUTH"},
        {"", "{\"sub\":\"s\",\"name\":\"a\\nb\"}", "AUTH"},
        {"", "{\"sub\":\"\\u00a0\"}", "AUTH"},
        {"", "{\"sub\":\"s\",\"name\":\"Jane Doe\"}", "Jane Doe [sub:s]:"},
        {"mail", "{\"sub\":\"s\",\"mail\":\"m\\u202e\"}", "AUTH"},
        {"", "{}", "AUTH"},
        {"", "{\"sub\":7}", "AUTH"},
        {"", "[]", "VALUE"},
        {"", "", "VALUE"},
        {"", "7", "VALUE"},
        {"", "<html>", "VALUE"},
        {"", "{\"sub\":\"s\"", "VALUE"},
        {"", "{\"sub\":\"s\"} x", "VALUE"},
        {"", "{\"sub\":\"s\",\"sub\":\"t\"}", "VALUE"},
        {"", "{\"sub\":\"\\u0000\"}", "VALUE"},
        {"", "{\"sub\":\"\xff\"}", "VALUE"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        char got[GOT_BYTES];
        const alm_claim_names names = {rows[i].name_claim, "groups"};
        read_as(rows[i].json, &names, got);
        assert_string_equal(got, rows[i].want);
    }
}

static void test_limits(void **state)
{
    (void)state;
    const alm_claim_names names = {"", "groups"};
    enum { BYTES = 1 << 16 };
    char *json = malloc(BYTES), got[GOT_BYTES];
    for (int n = ALM_GROUPS_OF_MAX; n <= ALM_GROUPS_OF_MAX + 1; n++) {
        int at = snprintf(json, BYTES, "{\"sub\":\"s\",\"groups\":[\"g\"");
        for (int i = 1; i < n; i++)
            at += snprintf(json + at, (size_t)(BYTES - at), ",\"g%d\"", i % 10);
        (void)snprintf(json + at, (size_t)(BYTES - at), "]}");
        alm_ctx cx = {0};
        alm_principal *who = NULL;
        bool odd = false;
        const alm_status st = alm_claims_of_text(&cx, alm_str_of(json), &names, &who, &odd);
        assert_int_equal(st, n == ALM_GROUPS_OF_MAX ? ALM_OK : ALM_E_AUTH);
        alm_principal_release(who);
    }
    for (int n = ALM_ENTITY_NAME_MAX; n <= ALM_ENTITY_NAME_MAX + 1; n++) {
        (void)snprintf(json, BYTES, "{\"sub\":\"s\",\"name\":\"%0*d\"}", n, 7);
        read_as(json, &names, got);
        assert_int_equal(strcmp(got, "AUTH") != 0, n == ALM_ENTITY_NAME_MAX);
    }
    (void)snprintf(json, BYTES, "{\"name\":\"n\",\"sub\":\"%0*d\"}", 2000, 7);
    read_as(json, &names, got);
    assert_string_equal(got, "AUTH");
    (void)snprintf(json, BYTES, "{\"name\":\"n\",\"groups\":[\"%0*d\"]}", 5000, 7);
    read_as(json, &names, got);
    assert_string_equal(got, "AUTH");
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_it_is),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
