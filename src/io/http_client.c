/* http_client.c - see http_client.h. One thread drives the multi handle; calls come to it by a list. */
#include "io/http_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADER_BYTES_MAX = 64 << 10, TICK_MS = 1000, TYPE_BYTES = 128 };

typedef struct call {
    struct call *next;
    alm_http_client *client;
    alm_http_call asked; /* its texts belong to the call */
    char *url, *form, *authorization;
    CURL *easy;
    struct curl_slist *headers;
    char *body;
    size_t n, cap, header_bytes;
    bool too_long;
    char error[CURL_ERROR_SIZE];
} call;

struct alm_http_client {
    alm_http_client_conf conf;
    char *ca_pem;
    CURLM *multi;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* come, n_calls, stop */
    call *come;
    int32_t n_calls;
    bool stop;
    call *running; /* of the thread */
};

/* ----------------------------------------------------------------------- addresses */

static size_t scheme_len(alm_str url)
{
    static const alm_str schemes[] = {{"https://", 8}, {"http://", 7}};
    for (size_t i = 0; i < ALM_COUNT(schemes); i++)
        if (url.len > schemes[i].len && memcmp(url.ptr, schemes[i].ptr, schemes[i].len) == 0)
            return schemes[i].len;
    return 0;
}

size_t alm_url_origin(alm_str url)
{
    const size_t from = scheme_len(url);
    size_t n = from;
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f || url.ptr[i] == '\\')
            return 0;
    while (n < url.len && strchr("/?#", url.ptr[n]) == NULL) {
        if (url.ptr[n] == '@') /* a name and a password */
            return 0;
        n++;
    }
    return from > 0 && n > from ? n : 0;
}

bool alm_url_is_loopback(alm_str url)
{
    char host[64];
    const size_t from = scheme_len(url), origin = alm_url_origin(url);
    if (origin <= from || origin - from >= sizeof host)
        return false;
    memcpy(host, url.ptr + from, origin - from);
    host[origin - from] = 0;
    char *colon = strrchr(host, ':');
    if (colon != NULL && strchr(colon, ']') == NULL)
        *colon = 0;
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (strncmp(host, "127.", 4) == 0 && host[strspn(host, "0123456789.")] == 0);
}

/* ---------------------------------------------------------------------------- life */

static void http_client_wipe(char *text)
{
    if (text == NULL)
        return;
    explicit_bzero(text, strlen(text));
    free(text);
}

static void call_free(call *request)
{
    if (request->easy != NULL)
        curl_easy_cleanup(request->easy);
    for (struct curl_slist *slist = request->headers; slist != NULL; slist = slist->next)
        explicit_bzero(slist->data, strlen(slist->data));
    curl_slist_free_all(request->headers);
    http_client_wipe(request->authorization);
    http_client_wipe(request->form);
    free(request->url);
    if (request->body != NULL)
        explicit_bzero(request->body, request->n); /* may hold a token */
    free(request->body);
    free(request);
}

static bool add_header(call *request, const char *line)
{
    struct curl_slist *longer = curl_slist_append(request->headers, line);
    if (longer != NULL)
        request->headers = longer;
    return longer != NULL;
}

static size_t http_client_take_body(char *bytes, size_t size, size_t n, void *arg)
{
    call *request = arg;
    const size_t more = size * n;
    if (more > (size_t)request->client->conf.body_max - request->n) {
        request->too_long = true;
        return 0;
    }
    if (request->n + more > request->cap) {
        const size_t cap = ALM_MAX(2 * request->cap, request->n + more + 4096);
        char *bigger = realloc(request->body, cap);
        if (bigger == NULL)
            return 0;
        request->body = bigger;
        request->cap = cap;
    }
    memcpy(request->body + request->n, bytes, more);
    request->n += more;
    return more;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *arg)
{
    call *request = arg;
    (void)bytes;
    request->header_bytes += size * n;
    request->too_long |= request->header_bytes > HEADER_BYTES_MAX;
    return request->too_long ? 0 : size * n;
}

static bool set_tls(call *request)
{
    const alm_http_client *client = request->client;
    CURL *e = request->easy;
    bool ok = curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, client->conf.tls_verify ? 1L : 0L) == 0 &&
              curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, client->conf.tls_verify ? 2L : 0L) == 0 &&
              curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == 0;
    if (ok && client->ca_pem != NULL) {
        struct curl_blob pem = {client->ca_pem, client->conf.ca_pem.len, CURL_BLOB_NOCOPY};
        ok = curl_easy_setopt(e, CURLOPT_CAINFO_BLOB, &pem) == 0 &&
             curl_easy_setopt(e, CURLOPT_CAPATH, NULL) == 0;
    }
    return ok;
}

static bool set_request(call *request)
{
    CURL *e = request->easy;
    bool ok = curl_easy_setopt(e, CURLOPT_URL, request->url) == 0 &&
              add_header(request, "Accept: application/json") && add_header(request, "Expect:");
    if (ok && request->authorization != NULL)
        ok = add_header(request, request->authorization);
    if (ok && request->form != NULL)
        ok = curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)request->asked.form.len) == 0 &&
             curl_easy_setopt(e, CURLOPT_POSTFIELDS, request->form) == 0;
    return ok && curl_easy_setopt(e, CURLOPT_HTTPHEADER, request->headers) == 0;
}

static bool set_up(call *request)
{
    const alm_http_client_conf *conf = &request->client->conf;
    CURL *e = request->easy = curl_easy_init();
    if (e == NULL)
        return false;
    return curl_easy_setopt(e, CURLOPT_PRIVATE, request) == 0 &&
           curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == 0 &&
           curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") == 0 &&
           curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L) == 0 &&
           curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)conf->timeout_ms) == 0 &&
           curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)conf->timeout_ms) == 0 &&
           curl_easy_setopt(e, CURLOPT_ERRORBUFFER, request->error) == 0 &&
           curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, http_client_take_body) == 0 &&
           curl_easy_setopt(e, CURLOPT_WRITEDATA, request) == 0 &&
           curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header) == 0 &&
           curl_easy_setopt(e, CURLOPT_HEADERDATA, request) == 0 &&
           (!alm_url_is_loopback(alm_str_of(request->url)) ||
            curl_easy_setopt(e, CURLOPT_PROXY, "") == 0) &&
           set_tls(request) && set_request(request);
}

/* --------------------------------------------------------------------------- answers */

static void http_client_finish(call *request, const alm_http_answer *answer)
{
    alm_http_client *client = request->client;
    for (call **at = &client->running; *at != NULL; at = &(*at)->next)
        if (*at == request) {
            *at = request->next;
            break;
        }
    (void)pthread_mutex_lock(&client->lock);
    client->n_calls--;
    (void)pthread_mutex_unlock(&client->lock);
    request->asked.done(request->asked.arg, answer);
    call_free(request);
}

static void http_client_fail(call *request, const char *why)
{
    const alm_http_answer answer = {.error = why};
    http_client_finish(request, &answer);
}

static void over(call *request, CURLcode code)
{
    long status = 0;
    char why[CURL_ERROR_SIZE + 64];
    const char *type = NULL;
    (void)curl_multi_remove_handle(request->client->multi, request->easy);
    if (request->too_long) {
        (void)snprintf(why, sizeof why, "its answer is longer than %lld bytes",
                       (long long)request->client->conf.body_max);
        http_client_fail(request, why);
        return;
    }
    if (code != CURLE_OK) {
        (void)snprintf(why, sizeof why, "%s",
                       request->error[0] ? request->error : curl_easy_strerror(code));
        http_client_fail(request, why);
        return;
    }
    (void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(request->easy, CURLINFO_CONTENT_TYPE, &type);
    const alm_http_answer answer = {
        .status = (int)status,
        .type = type != NULL ? alm_str_of(type) : (alm_str){0},
        .body = {request->body != NULL ? request->body : "", request->n}};
    http_client_finish(request, &answer);
}

/* ---------------------------------------------------------------------------- thread */

static void http_client_begin(alm_http_client *client, call *request)
{
    request->next = client->running;
    client->running = request;
    if (!set_up(request) || curl_multi_add_handle(client->multi, request->easy) != CURLM_OK)
        http_client_fail(request, "out of memory");
}

/* False: the client stops. */
static bool http_client_take_calls(alm_http_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    call *list = client->come;
    client->come = NULL;
    const bool stop = client->stop;
    (void)pthread_mutex_unlock(&client->lock);
    while (list != NULL) {
        call *next = list->next;
        http_client_begin(client, list);
        list = next;
    }
    return !stop;
}

static void take_answers(alm_http_client *client)
{
    int left = 0;
    for (const CURLMsg *m = curl_multi_info_read(client->multi, &left); m != NULL;
         m = curl_multi_info_read(client->multi, &left)) {
        call *request = NULL;
        const CURLcode code = m->data.result;
        if (m->msg == CURLMSG_DONE &&
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&request) == CURLE_OK)
            over(request, code);
    }
}

static void *http_client_run(void *arg)
{
    alm_http_client *client = arg;
    int64_t ticked_ns = 0;
    while (http_client_take_calls(client)) {
        int still = 0;
        (void)curl_multi_perform(client->multi, &still);
        take_answers(client);
        if (client->conf.tick != NULL &&
            alm_monotonic_ns() - ticked_ns > TICK_MS * INT64_C(1000000)) {
            ticked_ns = alm_monotonic_ns();
            client->conf.tick(client->conf.tick_arg);
        }
        (void)curl_multi_poll(client->multi, NULL, 0, TICK_MS, NULL);
    }
    while (client->running != NULL) {
        call *request = client->running;
        if (request->easy != NULL)
            (void)curl_multi_remove_handle(client->multi, request->easy);
        http_client_fail(request, "the server stops");
    }
    return NULL;
}

/* ------------------------------------------------------------------------- interface */

static void global_init(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

alm_status alm_http_client_new(alm_ctx *cx, const alm_http_client_conf *conf, alm_http_client **out)
{
    static pthread_once_t once =
        PTHREAD_ONCE_INIT; /* libcurl's own state, for the life of the process */
    (void)pthread_once(&once, global_init);
    alm_http_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    client->conf = *conf;
    (void)pthread_mutex_init(&client->lock, NULL);
    client->multi = curl_multi_init();
    if (conf->ca_pem.ptr != NULL)
        client->ca_pem = strndup(conf->ca_pem.ptr, conf->ca_pem.len);
    const long most = conf->connections_max;
    if (client->multi == NULL || (conf->ca_pem.ptr != NULL && client->ca_pem == NULL) ||
        curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, most) != CURLM_OK ||
        curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, most) != CURLM_OK) {
        alm_http_client_free(client);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    client->has_thread = pthread_create(&client->thread, NULL, http_client_run, client) == 0;
    if (!client->has_thread) {
        alm_http_client_free(client);
        return alm_fail(cx, ALM_E_IO, -1, "cannot create a thread for calls to other servers");
    }
    *out = client;
    return ALM_OK;
}

static call *call_new(alm_http_client *client, const alm_http_call *asked)
{
    call *request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    request->client = client;
    ALM_ASSERT(asked->bearer.ptr == NULL || asked->basic == NULL);
    request->asked = *asked;
    request->url = strdup(asked->url);
    if (asked->form.ptr != NULL)
        request->form = strndup(asked->form.ptr, asked->form.len);
    if (asked->bearer.ptr != NULL && asprintf(&request->authorization, "Authorization: Bearer %.*s",
                                              (int)asked->bearer.len, asked->bearer.ptr) < 0)
        request->authorization = NULL;
    if (asked->basic != NULL &&
        asprintf(&request->authorization, "Authorization: Basic %s", asked->basic) < 0)
        request->authorization = NULL;
    if (request->url != NULL && (asked->form.ptr == NULL || request->form != NULL) &&
        ((asked->bearer.ptr == NULL && asked->basic == NULL) || request->authorization != NULL))
        return request;
    call_free(request);
    return NULL;
}

bool alm_http_client_send(alm_http_client *client, const alm_http_call *asked)
{
    call *request = call_new(client, asked);
    if (request == NULL)
        return false;
    (void)pthread_mutex_lock(&client->lock);
    const bool taken = !client->stop && client->n_calls < ALM_HTTP_CLIENT_CALLS_MAX;
    if (taken) {
        client->n_calls++;
        request->next = client->come;
        client->come = request;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (taken)
        (void)curl_multi_wakeup(client->multi);
    else
        call_free(request);
    return taken;
}

void alm_http_client_stop(alm_http_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    client->stop = true;
    (void)pthread_mutex_unlock(&client->lock);
    (void)curl_multi_wakeup(client->multi);
}

void alm_http_client_free(alm_http_client *client)
{
    if (client == NULL)
        return;
    if (client->has_thread) {
        alm_http_client_stop(client);
        (void)pthread_join(client->thread, NULL);
    }
    if (client->multi != NULL)
        (void)curl_multi_cleanup(client->multi);
    (void)pthread_mutex_destroy(&client->lock);
    free(client->ca_pem);
    free(client);
}
