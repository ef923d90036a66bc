/*
 * fuzz_imp.c - /imp on whole HTTP connections without a socket (fake_conn.h): multipart body, schema,
 * CSV file, into a table that is there or is made.
 *
 * Byte 0 is the size of pieces, bytes 1 and 2 choose parameters and table, byte 3 is the length of the
 * schema (255: the rest is the multipart body as it is). Then the schema, then the file.
 *
 * The answer must not depend on the pieces, is JSON where JSON was asked for, and says 200 only when the
 * table has as many rows as it says.
 */
#include "fake_conn.h"

#include "codec/json.h"
#include "net/http/exchange/http.h"
#include "net/shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char boundary[] = "B-";

static void put(alm_buf *out, const char *text, size_t n)
{
    alm_ctx cx = {0};
    ALM_ASSERT(alm_buf_append(&cx, out, text, n) == ALM_OK);
}

static void put_text(alm_buf *out, const char *text)
{
    put(out, text, strlen(text));
}

/* Bits of the two bytes as parameters. */
static void put_params(alm_buf *out, unsigned bits)
{
    static const char *const rows[][4] = {
        {"", "&atomicity=skipRow", "&atomicity=abort", "&atomicity=x"},
        {"", "&forceHeader=true", "&forceHeader=false", "&skipLev=true"},
        {"", "&timestamp=ts&partitionBy=DAY", "&timestamp=ts", "&partitionBy=YEAR"},
        {"", "&delimiter=%3B", "&delimiter=%09", "&delimiter=,"},
        {"", "&overwrite=true", "&create=false", "&maxUncommittedRows=1000&o3MaxLag=5000000"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        put_text(out, rows[i][bits >> (2 * i) & 3]);
}

static void put_part(alm_buf *out, const char *name, alm_str bytes)
{
    put_text(out, "--B-\r\nContent-Disposition: form-data; name=\"");
    put_text(out, name);
    put_text(out, "\"; filename=\"f\"\r\n\r\n");
    put(out, bytes.ptr, bytes.len);
    put_text(out, "\r\n");
}

static void put_request(alm_buf *out, const char *table, unsigned bits, size_t schema_len,
                        alm_str bytes)
{
    alm_buf body;
    char head[160];
    alm_buf_init(&body, NULL);
    if (schema_len == 255) {
        put(&body, bytes.ptr, bytes.len);
    } else {
        schema_len = ALM_MIN(schema_len, bytes.len);
        if (schema_len > 0)
            put_part(&body, "schema", (alm_str){bytes.ptr, schema_len});
        put_part(&body, "data", (alm_str){bytes.ptr + schema_len, bytes.len - schema_len});
        put_text(&body, "--B---\r\n");
    }
    put_text(out, "POST /imp?fmt=json&name=");
    put_text(out, table);
    put_params(out, bits);
    (void)snprintf(head, sizeof(head),
                   " HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=\"%s\"\r\n"
                   "Content-Length: %zu\r\n\r\n",
                   boundary, body.len);
    put_text(out, head);
    put(out, body.ptr, body.len);
    alm_buf_deinit(&body);
}

/* The body of the one answer to a request, in memory of *conn; its status. */
static int ask(alm_conn *conn, alm_str request, size_t piece, alm_str *body)
{
    static alm_net_shared shared;
    fake_open(conn, &alm_http_protocol, fake_database(false), &shared);
    fake_feed(conn, &alm_http_protocol, request, piece);
    const char *start = memmem(conn->sent.ptr, conn->sent.len, "\r\n\r\n", 4);
    ALM_ASSERT(start != NULL && memcmp(conn->sent.ptr, "HTTP/1.1 ", 9) == 0);
    start += 4;
    *body = (alm_str){start, conn->sent.len - (size_t)(start - conn->sent.ptr)};
    return (int)strtol(conn->sent.ptr + 9, NULL, 10);
}

static void run(const char *query)
{
    alm_conn conn;
    alm_str body;
    char request[300];
    (void)snprintf(request, sizeof(request), "GET /exec?query=%s HTTP/1.1\r\nHost: a\r\n\r\n",
                   query);
    (void)ask(&conn, alm_str_of(request), sizeof(request), &body);
    fake_close(&conn, &alm_http_protocol);
}

/* Does the table have so many rows? */
static void check_count(const char *table, int64_t rows)
{
    alm_conn conn;
    alm_str body;
    char request[200], want[64];
    (void)snprintf(request, sizeof(request),
                   "GET /exp?query=select%%20count()%%20from%%20%s HTTP/1.1\r\nHost: a\r\n\r\n",
                   table);
    const int status = ask(&conn, alm_str_of(request), sizeof(request), &body);
    const int n = snprintf(want, sizeof(want), "\"count()\"\r\n%lld\r\n", (long long)rows);
    if (status == 200)
        ALM_ASSERT(memmem(body.ptr, body.len, want, (size_t)n) != NULL);
    else /* an empty file makes no table */
        ALM_ASSERT(rows == 0);
    fake_close(&conn, &alm_http_protocol);
}

static void check_answer(int status, alm_str body, const char *table)
{
    alm_ctx cx = {0};
    alm_json *document = NULL;
    if (body.len == 0 || body.ptr[0] != '{') { /* the request as such was refused */
        ALM_ASSERT(status >= 400);
        return;
    }
    ALM_ASSERT(alm_json_parse(&cx, body, &document) == ALM_OK);
    const bool good = alm_str_eq(alm_json_text(alm_json_get(document, "status")), ALM_STR("OK"));
    ALM_ASSERT(good == (status == 200));
    alm_json_free(document);
    static const char key[] = "\"rowsImported\":";
    const char *at = memmem(body.ptr, body.len, key, sizeof(key) - 1);
    ALM_ASSERT(good == (at != NULL));
    check_count(table, good ? strtoll(at + sizeof(key) - 1, NULL, 10) : 0);
}

/* The answer's body as text of the heap. */
static char *import(const char *table, alm_str request, size_t piece)
{
    alm_conn conn;
    alm_str body;
    run("drop%20table%20made");
    run("truncate%20table%20there");
    const int status = ask(&conn, request, piece, &body);
    check_answer(status, body, table);
    char *copy = strndup(body.ptr, body.len);
    ALM_ASSERT(copy != NULL);
    fake_close(&conn, &alm_http_protocol);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 4)
        return 0;
    const unsigned bits = data[1] | (unsigned)data[2] << 8;
    const char *table = bits & 1u << 15 ? "there" : "made";
    alm_buf request;
    alm_buf_init(&request, NULL);
    run("drop%20table%20there");
    run("create%20table%20there%20(ts%20timestamp,a%20int,s%20symbol,v%20double,t%20varchar)%20"
        "timestamp(ts)%20partition%20by%20day");
    put_request(&request, table, bits, data[3], (alm_str){(const char *)data + 4, n - 4});
    const alm_str bytes = {request.ptr, request.len};
    char *whole = import(table, bytes, bytes.len);
    char *cut = import(table, bytes, data[0] + 1u);
    ALM_ASSERT(strcmp(whole, cut) == 0);
    free(whole);
    free(cut);
    alm_buf_deinit(&request);
    return 0;
}
