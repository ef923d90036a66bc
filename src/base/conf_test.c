/*
 * conf_test.c - goal: every row of conf.def has a default that fits itself; sources win in order;
 * bad values, unknown and refused keys are named with their place; nothing is half taken over.
 */
#include "base/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct env_pair {
    const char *name, *value;
} env_pair;

static const char *fake_env(void *arg, const char *name)
{
    for (const env_pair *p = arg; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return p->value;
    return NULL;
}

typedef struct warnings {
    int count;
    char last[512];
} warnings;

static void on_warning(void *arg, const char *message)
{
    warnings *w = arg;
    w->count++;
    (void)snprintf(w->last, sizeof(w->last), "%s", message);
}

static alm_status read_text(alm_ctx *cx, alm_conf *conf, const char *text, env_pair *env,
                            warnings *w)
{
    const alm_conf_input input = {.text = alm_str_of(text),
                                  .file = "server.conf",
                                  .env = env != NULL ? fake_env : NULL,
                                  .env_arg = env,
                                  .warn = w != NULL ? on_warning : NULL,
                                  .warn_arg = w};
    return alm_conf_read(cx, conf, &input);
}

static void test_defaults(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_string_equal(conf.http_bind_to, "127.0.0.1:9000");
    assert_int_equal(conf.query_timeout, 60000);
    assert_int_equal(conf.wal_segment_size, 16 << 20);
    assert_true(conf.http_enabled);
    assert_string_equal(conf.http_user, "");
    alm_conf_deinit(&conf);
}

/* Generated from the rows: each value a row allows is read back, each beyond is refused. */
static void test_ranges_of_all_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_CONF_COUNT; i++) {
        const alm_conf_row *row = alm_conf_row_at(i);
        assert_true(row->doc[0] != '\0');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(row->key, alm_conf_row_at(k)->key);
        if (row->kind != ALM_CONF_INT && row->kind != ALM_CONF_SIZE && row->kind != ALM_CONF_MS)
            continue;
        assert_true(row->min < row->max);
        const int64_t values[] = {row->min, row->max};
        for (size_t k = 0; k < 4; k++) {
            const bool outside = k >= 2;
            const int64_t edge = values[k % 2];
            if (outside && (edge == INT64_MAX || edge == INT64_MIN))
                continue;
            const int64_t value = !outside ? edge : k == 2 ? edge - 1 : edge + 1;
            char text[200];
            (void)snprintf(text, sizeof(text), "%s=%lld\n", row->key, (long long)value);
            alm_ctx cx = {0};
            alm_conf conf;
            assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
            const alm_status st = read_text(&cx, &conf, text, NULL, NULL);
            assert_int_equal(st, outside ? ALM_E_ARG : ALM_OK);
            int64_t got;
            memcpy(&got, (const char *)&conf + row->offset, sizeof(got));
            if (!outside)
                assert_int_equal(got, value);
            else
                assert_non_null(strstr(cx.err.msg, "must be between"));
            alm_conf_deinit(&conf);
        }
    }
}

static void test_properties_text(void **state)
{
    (void)state;
    static const char text[] = "\xEF\xBB\xBF# a comment = no setting\n"
                               "! another\r\n"
                               "\r\n"
                               "  http.net.connection.limit = 17  \r\n"
                               "pg.user:bob\n"
                               "pg.password = a\\u00e9\\t\\\\ \\\n"
                               "      b=c#d\n"
                               "query.timeout 2m\n"
                               "http.recv.buffer.size=1M\n"
                               "wal.sync=INTERVAL\n"
                               "http.net.connection.limit=18";
    alm_ctx cx = {0};
    alm_conf conf;
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(read_text(&cx, &conf, text, NULL, NULL), ALM_OK);
    assert_int_equal(conf.http_net_connection_limit, 18); /* the last wins */
    assert_string_equal(conf.pg_user, "bob");
    assert_string_equal(conf.pg_password, "a\xC3\xA9\t\\ b=c#d");
    assert_int_equal(conf.query_timeout, 120000);
    assert_int_equal(conf.http_recv_buffer_size, 1 << 20);
    assert_string_equal(conf.wal_sync, "interval"); /* as written in the table */
    assert_string_equal(alm_conf_source_name(&conf, ALM_CONF_ID_pg_user), "conf");
    assert_string_equal(alm_conf_source_name(&conf, ALM_CONF_ID_pg_enabled), "default");
    alm_conf_deinit(&conf);
}

static void test_aliases_and_environment(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    env_pair env[] = {{"QDB_PG_USER", "env"},
                      {"QDB_HTTP_NET_BIND_TO", "0.0.0.0:80"},
                      {"ALMANAC_QUERY_TIMEOUT", "5s"},
                      {"QDB_QUERY_TIMEOUT", "9s"},
                      {"QDB_HTTP_KEEP_ALIVE_TIMEOUT", "7"},
                      {NULL, NULL}};
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(read_text(&cx, &conf,
                               "pg.user=file\nhttp.min.bind.to=[::1]:9\nquery.timeout.sec=3\n"
                               "pg.net.idle.timeout=1000\n",
                               env, NULL),
                     ALM_OK);
    assert_string_equal(conf.pg_user, "env");
    assert_string_equal(conf.http_bind_to, "0.0.0.0:80");
    assert_string_equal(conf.http_min_net_bind_to, "[::1]:9");
    assert_int_equal(conf.query_timeout, 5000); /* our prefix before theirs, both before the file */
    assert_int_equal(conf.pg_net_connection_timeout, 1000);
    assert_int_equal(conf.http_keep_alive_timeout, 7);
    assert_string_equal(alm_conf_source_name(&conf, ALM_CONF_ID_pg_user), "env");
    alm_conf_deinit(&conf);
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(read_text(&cx, &conf, "query.timeout.sec=3", NULL, NULL), ALM_OK);
    assert_int_equal(conf.query_timeout, 3000);
    alm_buf out;
    alm_buf_init(&out, NULL);
    assert_int_equal(alm_conf_value_text(&cx, &conf, ALM_CONF_ID_query_timeout, 1000, &out),
                     ALM_OK);
    assert_int_equal(out.len, 1);
    assert_memory_equal(out.ptr, "3", 1);
    alm_buf_deinit(&out);
    alm_conf_deinit(&conf);
}

static void test_sizes_that_may_be_left_to_the_system(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(conf.pg_net_connection_rcvbuf, -1);
    assert_int_equal(read_text(&cx, &conf, "pg.net.connection.rcvbuf=64k", NULL, NULL), ALM_OK);
    assert_int_equal(conf.pg_net_connection_rcvbuf, 65536);
    assert_int_equal(read_text(&cx, &conf, "pg.net.connection.rcvbuf=-1", NULL, NULL), ALM_OK);
    assert_int_equal(conf.pg_net_connection_rcvbuf, -1);
    assert_int_equal(read_text(&cx, &conf, "pg.net.connection.rcvbuf=-2", NULL, NULL), ALM_E_ARG);
    assert_int_equal(read_text(&cx, &conf, "sql.text.max=-1", NULL, NULL), ALM_E_ARG);
    alm_conf_deinit(&conf);
}

static void test_errors_name_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"\nhttp.enabled=maybe\n", "server.conf line 2: http.enabled=maybe: not true or false"},
        {"pg.net.connection.limit=x1", "pg.net.connection.limit=x1: not a whole number"},
        {"pg.net.connection.limit=0", "must be between 1 and 65536"},
        {"http.recv.buffer.size=5q", "http.recv.buffer.size=5q: not a size"},
        {"query.timeout=1w", "query.timeout=1w: not a time"},
        {"query.memory.max=99999999999t", "not a size"},
        {"http.bind.to=9000", "not an address"},
        {"http.bind.to=host:70000", "not an address"},
        {"http.bind.to=::1:9000", "not an address"},
        {"wal.sync=sometimes", "not one of commit|interval|off"},
        {"http.usr=x", "unknown setting 'http.usr', did you mean 'http.user'?"},
        {"=5", "unknown setting ''"},
        {"pg.user=\\u12G4", "four hexadecimal digits"},
        {"acl.oidc.port=0", "must be between 1 and 65535"},
        {"tls.enabled=perhaps", "not true or false"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_ctx cx = {0};
        alm_conf conf;
        assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
        char text[256]; /* a good setting before the bad one must not stay */
        (void)snprintf(text, sizeof(text), "%s\npg.user=half", rows[i].text);
        assert_int_equal(read_text(&cx, &conf, text, NULL, NULL), ALM_E_ARG);
        if (strstr(cx.err.msg, rows[i].part) == NULL)
            fail_msg("%s: %s", rows[i].text, cx.err.msg);
        assert_string_equal(conf.pg_user, "admin");
        alm_conf_deinit(&conf);
    }
}

static void test_secrets_are_not_told(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    env_pair env[] = {{"QDB_HTTP_NET_CONNECTION_LIMIT", "many"}, {NULL, NULL}};
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(read_text(&cx, &conf, "", env, NULL), ALM_E_ARG);
    assert_non_null(strstr(cx.err.msg, "QDB_HTTP_NET_CONNECTION_LIMIT=many"));
    alm_error_clear(&cx);
    assert_int_equal(read_text(&cx, &conf, "http.password=s3cret", NULL, NULL), ALM_OK);
    alm_buf out;
    alm_buf_init(&out, NULL);
    for (size_t i = 0; i < ALM_CONF_COUNT; i++) {
        assert_int_equal(alm_conf_value_text(&cx, &conf, i, 1, &out), ALM_OK);
        assert_int_equal(alm_buf_text(&cx, &out, "\n"), ALM_OK);
    }
    assert_int_equal(alm_buf_append(&cx, &out, "", 1), ALM_OK);
    assert_null(strstr(out.ptr, "s3cret"));
    assert_null(strstr(out.ptr, "quest"));
    assert_non_null(strstr(out.ptr, "****"));
    out.len = 0;
    assert_int_equal(alm_conf_env_name(&cx, "http.keep-alive.max", &out), ALM_OK);
    assert_int_equal(out.len, strlen("QDB_HTTP_KEEP_ALIVE_MAX"));
    assert_memory_equal(out.ptr, "QDB_HTTP_KEEP_ALIVE_MAX", out.len);
    alm_buf_deinit(&out);
    alm_conf_deinit(&conf);
}

/* The file's name says what is in it. */
static alm_status fake_secret(alm_ctx *cx, void *arg, const char *path, alm_buf *out)
{
    (void)arg;
    if (strcmp(path, "/none") == 0)
        return alm_fail(cx, ALM_E_IO, -1, "cannot open '%s'", path);
    ALM_TRY(alm_buf_text(cx, out, strcmp(path, "/empty") == 0 ? "" : path));
    return alm_buf_text(cx, out, "\r\n");
}

static alm_status read_secrets(alm_ctx *cx, alm_conf *conf, const char *text, env_pair *env)
{
    const alm_conf_input input = {.text = alm_str_of(text),
                                  .file = "server.conf",
                                  .env = env != NULL ? fake_env : NULL,
                                  .env_arg = env,
                                  .secret = fake_secret};
    return alm_conf_read(cx, conf, &input);
}

static void test_secrets_from_files(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    env_pair env[] = {{"QDB_PG_PASSWORD_FILE", "/pg"},
                      {"ALMANAC_HTTP_PASSWORD", "plain"},
                      {"ALMANAC_HTTP_PASSWORD_FILE", "/http"},
                      {NULL, NULL}};
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(
        read_secrets(&cx, &conf,
                     "acl.admin.password.file = /run/secrets/admin\n"
                     "pg.password=text\npg.readonly.password=a\npg.readonly.password.file=b",
                     env),
        ALM_OK);
    assert_string_equal(conf.acl_admin_password, "/run/secrets/admin");
    assert_string_equal(conf.pg_password, "/pg");        /* the environment before the file */
    assert_string_equal(conf.http_password, "plain");    /* itself before its file */
    assert_string_equal(conf.pg_readonly_password, "b"); /* the last wins */
    assert_int_equal(read_secrets(&cx, &conf, "pg.password.file=/none", NULL), ALM_E_IO);
    assert_string_equal(cx.err.msg, "pg.password.file: cannot open '/none'");
    alm_error_clear(&cx);
    assert_int_equal(read_secrets(&cx, &conf, "pg.password.file=/empty", NULL), ALM_E_ARG);
    assert_non_null(strstr(cx.err.msg, "pg.password.file: '/empty' is empty"));
    alm_error_clear(&cx);
    assert_int_equal(read_secrets(&cx, &conf, "pg.user.file=/x", NULL), ALM_E_ARG); /* no secret */
    assert_string_equal(conf.pg_password, "/pg");
    alm_conf_deinit(&conf);
}

static void test_sign_on_elsewhere_means_access_control(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(
        read_text(&cx, &conf, "acl.oidc.enabled=true\nacl.oidc.pkce.enabled=false", NULL, NULL),
        ALM_OK);
    assert_true(conf.acl_enabled);
    assert_false(conf.acl_oidc_pkce_required);
    assert_int_equal(read_text(&cx, &conf, "acl.oidc.enabled=true\nacl.enabled=false", NULL, NULL),
                     ALM_OK);
    assert_false(conf.acl_enabled); /* refused at the start of the server */
    alm_conf_deinit(&conf);
}

static void test_a_password_of_the_admin_means_access_control(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(read_text(&cx, &conf, "acl.admin.user=root", NULL, NULL), ALM_OK);
    assert_false(conf.acl_enabled);
    assert_int_equal(read_text(&cx, &conf, "acl.admin.password=mine", NULL, NULL), ALM_OK);
    assert_true(conf.acl_enabled);
    assert_int_equal(
        read_text(&cx, &conf, "acl.enabled=false\nacl.admin.password=mine", NULL, NULL), ALM_OK);
    assert_false(conf.acl_enabled); /* said is said */
    alm_conf_deinit(&conf);
}

static void test_foreign_keys_warn(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    warnings w = {0};
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(read_text(&cx, &conf,
                               "cairo.sql.jit.mode=on\nacl.other=1\nline.udp.unicast=true\n"
                               "http.worker.count=3\npg.select.cache.row.count=1\n",
                               NULL, &w),
                     ALM_OK);
    assert_int_equal(w.count, 5);
    assert_non_null(strstr(w.last, "pg.select.cache.row.count is not used"));
    w.count = 0;
    assert_int_equal(read_text(&cx, &conf, "http.usr=x\nconfig.validation.strict=false", NULL, &w),
                     ALM_OK);
    assert_int_equal(w.count, 1);
    assert_non_null(strstr(w.last, "http.usr is not known"));
    alm_conf_deinit(&conf);
}

static void test_default_file_reads_back(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    alm_buf out;
    alm_buf_init(&out, NULL);
    assert_int_equal(alm_conf_init(&cx, &conf), ALM_OK);
    assert_int_equal(alm_conf_write_default(&cx, &out), ALM_OK);
    size_t settings = 0; /* uncommented, every line is a setting that reads */
    for (size_t i = 0; i + 1 < out.len; i++) {
        if (out.ptr[i] == '\n' && out.ptr[i + 1] == '#' && out.ptr[i + 2] != ' ') {
            out.ptr[i + 1] = ' ';
            settings++;
        }
    }
    assert_int_equal(settings, ALM_CONF_COUNT);
    const alm_conf_input input = {.text = {out.ptr, out.len}, .file = "f"};
    assert_int_equal(alm_conf_read(&cx, &conf, &input), ALM_OK);
    assert_string_equal(alm_conf_source_name(&conf, 0), "conf");
    assert_string_equal(conf.pg_password, "quest");
    alm_buf_deinit(&out);
    alm_conf_deinit(&conf);
}

typedef struct changes {
    int applied, later;
} changes;

static void on_change(void *arg, const alm_conf_row *row, bool applied)
{
    changes *c = arg;
    assert_int_equal(row->reloadable, applied);
    c->applied += applied;
    c->later += !applied;
}

static void test_reload(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf live, fresh;
    changes seen = {0};
    assert_int_equal(alm_conf_init(&cx, &live), ALM_OK);
    assert_int_equal(alm_conf_init(&cx, &fresh), ALM_OK);
    assert_int_equal(
        read_text(&cx, &fresh,
                  "pg.user=new\nquery.timeout=1s\npg.readonly.user.enabled=true\npg.enabled=false",
                  NULL, NULL),
        ALM_OK);
    alm_conf merged;
    alm_conf_merge(&live, &fresh, &merged);
    assert_string_equal(merged.pg_user, "new");
    assert_int_equal(merged.query_timeout, 1000);
    assert_true(merged.pg_readonly_user_enabled);
    assert_true(merged.pg_enabled); /* needs a restart */
    assert_string_equal(live.pg_user, "admin");
    assert_int_equal(alm_conf_reload(&cx, &live, &fresh, on_change, &seen), ALM_OK);
    alm_conf_deinit(&fresh);
    assert_int_equal(seen.applied, 3);
    assert_int_equal(seen.later, 1);
    assert_string_equal(live.pg_user, "new");
    assert_int_equal(live.query_timeout, 1000);
    assert_true(live.pg_readonly_user_enabled);
    assert_true(live.pg_enabled);
    alm_conf_deinit(&live);
}

static void test_addresses(void **state)
{
    (void)state;
    alm_str host;
    uint16_t port;
    assert_true(alm_addr_split(ALM_STR("[::1]:9000"), &host, &port));
    assert_true(alm_str_eq(host, ALM_STR("::1")) && port == 9000);
    assert_true(alm_addr_split(ALM_STR(":0"), &host, &port));
    assert_true(host.len == 0 && port == 0);
    assert_true(alm_addr_split(ALM_STR("localhost:65535"), &host, &port));
    assert_false(alm_addr_split(ALM_STR("localhost:65536"), &host, &port));
    assert_false(alm_addr_split(ALM_STR("localhost:"), &host, &port));
    assert_false(alm_addr_split(ALM_STR("localhost:+80"), &host, &port));
    assert_false(alm_addr_split(ALM_STR("a b:80"), &host, &port));
    assert_false(alm_addr_split(ALM_STR(""), &host, &port));
    assert_false(alm_addr_split(ALM_STR("[]:80"), &host, &port));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_ranges_of_all_rows),
        cmocka_unit_test(test_properties_text),
        cmocka_unit_test(test_aliases_and_environment),
        cmocka_unit_test(test_sizes_that_may_be_left_to_the_system),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_secrets_are_not_told),
        cmocka_unit_test(test_secrets_from_files),
        cmocka_unit_test(test_sign_on_elsewhere_means_access_control),
        cmocka_unit_test(test_a_password_of_the_admin_means_access_control),
        cmocka_unit_test(test_foreign_keys_warn),
        cmocka_unit_test(test_default_file_reads_back),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
