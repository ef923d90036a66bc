/*
 * fuzz_http_conn.c - whole HTTP connections without a socket (fake_conn.h): requests one after another,
 * bodies by length and chunked, all endpoints. The first byte is the size of pieces.
 */
#include "fake_conn.h"

#include "net/http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    alm_conn conn;
    fake_open(&conn, &alm_http_protocol, fake_database(), NULL);
    fake_feed(&conn, &alm_http_protocol, (alm_str){(const char *)data + 1, n - 1}, data[0] + 1u);
    ALM_ASSERT(conn.sent.len == 0 || memcmp(conn.sent.ptr, "HTTP/1.1 ", 9) == 0);
    fake_close(&conn, &alm_http_protocol);
    return 0;
}
