/*
 * Method: a server of a few lines, on a port that the system picks, answers by the path that it is asked for: well, not at all, too
 * long, for ever, with a redirect. Counts its connections.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/http_client.h"

enum { BODY_MAX = 1000, TIMEOUT_MS = 300 };

static int listener;
static char base[64];
static _Atomic int connections, requests;
static char last_request[4096];
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(int c, const char *text)
{
    (void)!write(c, text, strlen(text));
}

/* False: the connection is over. */
static bool answer(int c, const char *request)
{
    char text[4096];
    atomic_fetch_add(&requests, 1);
    (void)pthread_mutex_lock(&last_lock);
    (void)snprintf(last_request, sizeof last_request, "%s", request);
    (void)pthread_mutex_unlock(&last_lock);
    if (strstr(request, " /silent ") != NULL) {
        (void)usleep(3 * TIMEOUT_MS * 1000);
        return false;
    }
    if (strstr(request, " /endless ") != NULL) {
        say(c, "HTTP/1.1 200 OK\r\n\r\n");
        for (int i = 0; i < 100; i++) {
            say(c, " ");
            (void)usleep(10000);
        }
        return false;
    }
    if (strstr(request, " /headers ") != NULL) {
        say(c, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 5000; i++)
            say(c, "X-A: aaaaaaaaaaaaaaaaaaaaaaaa\r\n");
        return false;
    }
    if (strstr(request, " /cut ") != NULL) {
        say(c, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf");
        return false;
    }
    if (strstr(request, " /redirect ") != NULL) {
        (void)snprintf(text, sizeof text,
                       "HTTP/1.1 302 Found\r\nLocation: %s/good\r\nContent-Length: 0\r\n\r\n",
                       base);
        say(c, text);
        return true;
    }
    const bool large = strstr(request, " /long ") != NULL;
    (void)snprintf(
        text, sizeof text,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%0*d",
        large ? BODY_MAX + 1 : BODY_MAX, large ? BODY_MAX + 1 : BODY_MAX, 7);
    say(c, text);
    return true;
}

static void *serve_one(void *arg)
{
    const int c = (int)(intptr_t)arg;
    char request[4096];
    size_t n = 0;
    for (;;) {
        const ssize_t got = read(c, request + n, sizeof request - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        request[n] = 0;
        const char *end = strstr(request, "\r\n\r\n");
        const char *length = strstr(request, "Content-Length: ");
        if (end == NULL ||
            (length != NULL && n < (size_t)(end + 4 - request) + strtoul(length + 16, NULL, 10)))
            continue;
        n = 0;
        if (!answer(c, request))
            break;
    }
    (void)close(c);
    return NULL;
}

static void *serve(void *unused)
{
    for (;;) {
        const int c = accept(listener, NULL, NULL);
        pthread_t thread;
        if (c < 0)
            return unused;
        atomic_fetch_add(&connections, 1);
        if (pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)c) == 0)
            (void)pthread_detach(thread);
    }
}

typedef struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t came;
    int n, status;
    size_t bytes;
    char type[64], error[200];
} outcome;

static void done(void *arg, const alm_http_answer *got)
{
    outcome *o = arg;
    (void)pthread_mutex_lock(&o->lock);
    o->n++;
    o->status = got->status;
    o->bytes = got->body.len;
    (void)snprintf(o->type, sizeof o->type, "%.*s", (int)got->type.len,
                   got->type.len > 0 ? got->type.ptr : "");
    (void)snprintf(o->error, sizeof o->error, "%s", got->error != NULL ? got->error : "");
    (void)pthread_cond_signal(&o->came);
    (void)pthread_mutex_unlock(&o->lock);
}

static void wait_for(outcome *o, int n)
{
    (void)pthread_mutex_lock(&o->lock);
    while (o->n < n)
        (void)pthread_cond_wait(&o->came, &o->lock);
    (void)pthread_mutex_unlock(&o->lock);
}

static alm_http_client *client_new(void)
{
    alm_ctx cx = {0};
    alm_http_client *client = NULL;
    const alm_http_client_conf conf = {
        .tls_verify = true, .timeout_ms = TIMEOUT_MS, .body_max = BODY_MAX, .connections_max = 4};
    assert_int_equal(alm_http_client_new(&cx, &conf, &client), ALM_OK);
    return client;
}

static outcome ask(alm_http_client *client, const char *path, alm_str bearer, alm_str form)
{
    char url[200];
    outcome o = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
    (void)snprintf(url, sizeof url, "%s%s", path[0] == '/' ? base : "", path);
    const alm_http_call call = {
        .url = url, .bearer = bearer, .form = form, .done = done, .arg = &o};
    assert_true(alm_http_client_send(client, &call));
    wait_for(&o, 1);
    return o;
}

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int status;
        const char *error;
    } rows[] = {{"/good", 200, ""},
                {"/redirect", 302, ""},
                {"/long", 0, "longer than 1000 bytes"},
                {"/headers", 0, "longer than"},
                {"/cut", 0, "bytes remaining"},
                {"/silent", 0, "timed out"},
                {"/endless", 0, "timed out"},
                {"http://127.0.0.1:1/", 0, "connect"},
                {"file:///etc/passwd", 0, "rotocol"},
                {"ftp://127.0.0.1/", 0, "rotocol"}};
    alm_http_client *client = client_new();
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const outcome o = ask(client, rows[i].path, (alm_str){0}, (alm_str){0});
        if (o.status != rows[i].status || strstr(o.error, rows[i].error) == NULL)
            fail_msg("%s: %d '%s'", rows[i].path, o.status, o.error);
    }
    alm_http_client_free(client);
}

static void test_what_is_sent(void **state)
{
    (void)state;
    alm_http_client *client = client_new();
    const int before = atomic_load(&connections);
    for (int i = 0; i < 20; i++) {
        const outcome o = ask(client, "/good", ALM_STR("tok.en"), (alm_str){0});
        assert_int_equal(o.status, 200);
        assert_int_equal(o.bytes, BODY_MAX);
        assert_string_equal(o.type, "application/json");
    }
    assert_int_equal(atomic_load(&connections), before + 1); /* one connection, used again */
    assert_non_null(strstr(last_request, "Authorization: Bearer tok.en\r\n"));
    assert_null(strstr(last_request, "Accept-Encoding"));
    const outcome o = ask(client, "/good", (alm_str){0}, ALM_STR("a=b&c=d"));
    assert_int_equal(o.status, 200);
    assert_non_null(strstr(last_request, "POST /good "));
    assert_non_null(strstr(last_request, "\r\n\r\na=b&c=d"));
    assert_null(strstr(last_request, "Authorization"));
    alm_http_client_free(client);
}

static void test_stop_and_limits(void **state)
{
    (void)state;
    alm_http_client *client = client_new();
    char url[100];
    outcome o = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
    (void)snprintf(url, sizeof url, "%s/silent", base);
    const alm_http_call call = {.url = url, .done = done, .arg = &o};
    int sent = 0;
    while (alm_http_client_send(client, &call))
        sent++;
    assert_true(sent >= ALM_HTTP_CLIENT_CALLS_MAX && sent < 2 * ALM_HTTP_CLIENT_CALLS_MAX);
    alm_http_client_stop(client);
    wait_for(&o, sent); /* each is told */
    assert_false(alm_http_client_send(client, &call));
    alm_http_client_free(client);
    assert_int_equal(o.n, sent);
}

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *url, *origin;
        bool loopback;
    } rows[] = {{"https://h/x?y#z", "https://h", false},
                {"http://h:81?x", "http://h:81", false},
                {"http://127.0.0.1:80/", "http://127.0.0.1:80", true},
                {"http://[::1]:80/", "http://[::1]:80", true},
                {"http://localhost", "http://localhost", true},
                {"http://localhost.example/", "http://localhost.example", false},
                {"http://127.0.0.1.example/", "http://127.0.0.1.example", false},
                {"https://u@h/", "", false},
                {"https:///x", "", false},
                {"ftp://h/", "", false},
                {"https://h\\x", "", false},
                {"https://h /", "", false},
                {"/x", "", false}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const alm_str url = alm_str_of(rows[i].url);
        assert_int_equal(alm_url_origin(url), strlen(rows[i].origin));
        assert_int_equal(alm_url_is_loopback(url), rows[i].loopback);
    }
}

static int start(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr *)&at, &n) != 0)
        return 1;
    (void)snprintf(base, sizeof base, "http://127.0.0.1:%d", ntohs(at.sin_port));
    return pthread_create(&thread, NULL, serve, NULL) != 0 || pthread_detach(thread) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_stop_and_limits), cmocka_unit_test(test_addresses)};
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, start, NULL);
}
