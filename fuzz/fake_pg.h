/*
 * fake_pg.h - a connection of the PostgreSQL protocol without a socket: its login, messages to it, and
 * what it sends as well-formed messages. Included once by a harness.
 */
#ifndef ALM_FUZZ_FAKE_PG_H
#define ALM_FUZZ_FAKE_PG_H

#include "fake_conn.h"

#include "codec/pg/pg_value.h"
#include "net/pgwire/pgwire.h"

static void fake_pg_open(alm_conn *conn, alm_db *db)
{
    static alm_arena arena;
    static alm_pg *pg;
    alm_ctx cx = {.arena = &arena};
    if (pg == NULL) {
        alm_arena_init(&arena, NULL);
        ALM_ASSERT(alm_pg_new(&cx, db, &pg) == ALM_OK);
    }
    fake_open(conn, &alm_pg_protocol, db, pg);
}

static void fake_pg_login(alm_conn *conn)
{
    static const char start[] = "\0\0\0\x14\0\3\0\0user\0admin\0\0"
                                "p\0\0\0\x0aquest";
    fake_feed(conn, &alm_pg_protocol, (alm_str){start, sizeof(start)}, sizeof(start));
    ALM_ASSERT(!conn->closing);
}

/* A message with its length made right. */
static void fake_pg_put(alm_buf *out, char type, alm_str body)
{
    alm_ctx cx = {0};
    char head[5] = {type};
    alm_be_put32(head + 1, (uint32_t)body.len + 4);
    ALM_ASSERT(alm_buf_append(&cx, out, head, sizeof(head)) == ALM_OK);
    ALM_ASSERT(alm_buf_append(&cx, out, body.ptr, body.len) == ALM_OK);
}

static void check_row(alm_str body)
{
    ALM_ASSERT(body.len >= 2);
    size_t at = 2;
    for (uint32_t i = 0; i < alm_be_get16(body.ptr); i++) {
        ALM_ASSERT(at + 4 <= body.len);
        const int32_t n = (int32_t)alm_be_get32(body.ptr + at);
        ALM_ASSERT(n >= -1);
        at += 4 + (n > 0 ? (size_t)n : 0);
    }
    ALM_ASSERT(at == body.len);
}

/* Where `closing` cut the last message, the bytes may end early. */
static void check_sent(const alm_conn *conn)
{
    size_t at = 0;
    const alm_str sent = {conn->sent.ptr, conn->sent.len};
    while (at < sent.len) {
        if (sent.ptr[at] == 'N' && (sent.len - at < 5 || sent.ptr[at + 1] != 0)) {
            at++; /* no SSL, no GSS */
            continue;
        }
        ALM_ASSERT(at + 5 <= sent.len);
        ALM_ASSERT(strchr("RSKZ123CDETtnsIvNGHdc", sent.ptr[at]) != NULL);
        const uint32_t length = alm_be_get32(sent.ptr + at + 1);
        ALM_ASSERT(length >= 4 && at + 1 + length <= sent.len);
        if (sent.ptr[at] == 'D')
            check_row((alm_str){sent.ptr + at + 5, length - 4});
        at += 1 + length;
    }
}

#endif
