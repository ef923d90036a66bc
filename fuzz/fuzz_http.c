/*
 * fuzz_http.c - the readers of HTTP bytes: request heads, form bodies, multipart bodies.
 *
 * The first byte chooses the reader, the second the size of pieces. A head that is accepted must be
 * accepted at every later length with the same result, and its prefixes must not be; multipart parts
 * must come out the same in one piece and in many.
 */
#include <stdlib.h>

#include "net/http/exchange/http.h"
#include "net/http/exchange/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { LIMIT = 2000 };

/* A copy that ends where the bytes end, so that a read behind them shows. */
static char *copy_of(alm_str bytes)
{
    char *copy = malloc(bytes.len + (bytes.len == 0));
    ALM_ASSERT(copy != NULL);
    if (bytes.len > 0)
        (void)memcpy(copy, bytes.ptr, bytes.len);
    return copy;
}

static alm_http_parse parse_head(alm_str bytes, size_t *taken)
{
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    alm_http_request req = {0};
    int status = 0;
    const char *why = NULL;
    alm_arena_init(&arena, NULL);
    char *copy = copy_of(bytes);
    const alm_http_parse result = alm_http_parse_head(&cx, &arena, (alm_str){copy, bytes.len},
                                                      LIMIT, &req, taken, &status, &why);
    free(copy); /* the request must not point into it */
    if (result == ALM_HTTP_BAD)
        ALM_ASSERT(status >= 400 && status < 600 && why != NULL);
    if (result == ALM_HTTP_DONE) {
        ALM_ASSERT(*taken <= bytes.len && req.path.len > 0);
        ALM_ASSERT(req.path.ptr[0] == '/' || alm_str_eq(req.path, ALM_STR("*")));
        ALM_ASSERT(req.content_length < 0 || !req.chunked);
        (void)alm_http_param_is(&req, "query", "select 1");
        (void)alm_http_header(&req, "Content-Type");
        (void)alm_multipart_boundary(alm_http_header(&req, "Content-Type"));
    }
    alm_arena_deinit(&arena);
    return result;
}

static void head(alm_str bytes, size_t piece)
{
    size_t taken = 0, again = 0;
    if (parse_head(bytes, &taken) != ALM_HTTP_DONE)
        return;
    ALM_ASSERT(parse_head((alm_str){bytes.ptr, taken}, &again) == ALM_HTTP_DONE && again == taken);
    for (size_t cut = 0; cut < taken; cut += piece)
        ALM_ASSERT(parse_head((alm_str){bytes.ptr, cut}, &again) == ALM_HTTP_MORE);
}

static void form(alm_str bytes)
{
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    alm_http_request req = {0};
    alm_arena_init(&arena, NULL);
    char *copy = copy_of(bytes);
    if (alm_http_parse_params(&cx, &arena, (alm_str){copy, bytes.len}, &req)) {
        size_t total = 0;
        for (uint32_t i = 0; i < req.n_params; i++)
            total += req.params[i].name.len + req.params[i].value.len;
        ALM_ASSERT(total <= bytes.len);
    }
    free(copy);
    alm_arena_deinit(&arena);
}

/* ------------------------------------------------------------------ multipart */

typedef struct parts {
    alm_buf text;
} parts;

static alm_status on_part(alm_ctx *cx, void *arg, alm_str name, alm_str filename)
{
    parts *p = arg;
    ALM_TRY(alm_buf_append(cx, &p->text, "<", 1));
    ALM_TRY(alm_buf_append(cx, &p->text, name.ptr != NULL ? name.ptr : "", name.len));
    return alm_buf_append(cx, &p->text, filename.ptr != NULL ? filename.ptr : "", filename.len);
}

static alm_status on_bytes(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    parts *p = arg;
    return alm_buf_append(cx, &p->text, bytes, n);
}

static alm_status read_parts(alm_str bytes, size_t piece, parts *p)
{
    alm_ctx cx = {0};
    alm_multipart m;
    const alm_multipart_events events = {.part = on_part, .bytes = on_bytes, .arg = p};
    alm_buf_init(&p->text, NULL);
    alm_status st = alm_multipart_init(&cx, &m, ALM_STR("B-"), &events);
    for (size_t at = 0; st == ALM_OK && at < bytes.len; at += piece) {
        const alm_str part = {bytes.ptr + at, ALM_MIN(piece, bytes.len - at)};
        char *copy = copy_of(part);
        st = alm_multipart_feed(&cx, &m, copy, part.len);
        free(copy);
    }
    if (st == ALM_OK)
        st = alm_multipart_end(&cx, &m);
    alm_multipart_deinit(&m);
    return st;
}

static void multipart(alm_str bytes, size_t piece)
{
    parts whole, cut;
    const alm_status a = read_parts(bytes, bytes.len + 1, &whole);
    const alm_status b = read_parts(bytes, piece, &cut);
    ALM_ASSERT(a == b || bytes.len > ALM_MULTIPART_HEAD_MAX); /* that limit depends on the pieces */
    if (a == ALM_OK && b == ALM_OK)
        ALM_ASSERT(alm_str_eq((alm_str){whole.text.ptr, whole.text.len},
                              (alm_str){cut.text.ptr, cut.text.len}));
    alm_buf_deinit(&whole.text);
    alm_buf_deinit(&cut.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    const alm_str bytes = {(const char *)data + 2, n - 2};
    const size_t piece = data[1] % 64 + 1u;
    switch (data[0] % 3) {
    case 0:
        head(bytes, piece);
        break;
    case 1:
        form(bytes);
        break;
    default:
        multipart(bytes, piece);
        break;
    }
    return 0;
}
