/*
 * fuzz_http_conn.c - whole HTTP connections without a socket (fake_conn.h): requests one after another,
 * bodies by length and chunked, all endpoints. The first byte is the size of pieces.
 *
 * Nothing may be written, but by lines: an input that only writes lines stores them, and the tables go.
 */
#include "fake_conn.h"

#include "net/http/exchange/http.h"
#include "net/shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool has(alm_str bytes, alm_str word)
{
    return memmem(bytes.ptr, bytes.len, word.ptr, word.len) != NULL;
}

static bool only_lines(alm_str bytes)
{
    return (has(bytes, ALM_STR("POST /write")) || has(bytes, ALM_STR("POST /api/v2/write"))) &&
           !has(bytes, ALM_STR("GET /")) && !has(bytes, ALM_STR("/e")) &&
           !has(bytes, ALM_STR("/imp"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static alm_net_shared shared;
    if (n < 2)
        return 0;
    alm_conn conn;
    alm_db *db = fake_database(false);
    const alm_str bytes = {(const char *)data + 1, n - 1};
    const bool writes = only_lines(bytes);
    fake_conf(db)->query_timeout = 20;
    fake_conf(db)->http_export_timeout = 20; /* /exp has its own */
    fake_conf(db)->http_security_readonly = !writes;
    fake_open(&conn, &alm_http_protocol, db, &shared);
    fake_feed(&conn, &alm_http_protocol, bytes, data[0] + 1u);
    ALM_ASSERT(conn.sent.len == 0 || memcmp(conn.sent.ptr, "HTTP/1.1 ", 9) == 0);
    fake_close(&conn, &alm_http_protocol);
    ALM_ASSERT(shared.line_http_running == 0);
    if (writes)
        fake_execute(db, "drop all tables");
    return 0;
}
