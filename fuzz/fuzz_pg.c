/*
 * fuzz_pg.c - the PostgreSQL wire: parameters of every OID, SCRAM messages, and whole connections
 * without a socket (fake_conn.h).
 *
 * The first byte chooses: 0 parameters, 1 SCRAM, 2 a connection from its first byte, 3 messages after
 * the login as they are, 4 messages after the login with the type and length made right. All that is
 * sent must be a sequence of well-formed messages.
 */
#include "fake_pg.h"

#include "auth/oauthbearer.h"
#include "auth/scram.h"
#include "type/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void param(alm_str bytes)
{
    static const uint32_t oids[] = {0,    16,   17,   18,   19,   20,   21,   23,
                                    25,   26,   114,  700,  701,  705,  1022, 1042,
                                    1043, 1082, 1083, 1114, 1184, 1700, 2950, 3802};
    static const alm_type_id types[] = {
        ALM_T_NONE,    ALM_T_BOOLEAN, ALM_T_BYTE,    ALM_T_SHORT,     ALM_T_CHAR,
        ALM_T_INT,     ALM_T_LONG,    ALM_T_FLOAT,   ALM_T_DOUBLE,    ALM_T_STRING,
        ALM_T_VARCHAR, ALM_T_SYMBOL,  ALM_T_DATE,    ALM_T_TIMESTAMP, ALM_T_TIMESTAMP_NS,
        ALM_T_UUID,    ALM_T_IPV4,    ALM_T_INTERVAL};
    if (bytes.len < 3)
        return;
    const uint32_t oid = oids[(unsigned char)bytes.ptr[0] % ALM_COUNT(oids)];
    const bool binary = bytes.ptr[1] & 1;
    alm_type type = {.id = (uint8_t)types[(unsigned char)bytes.ptr[2] % ALM_COUNT(types)]};
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    alm_vec value;
    alm_arena_init(&arena, NULL);
    if (oid != 0 && alm_pg_param_type(&cx, oid, &type) != ALM_OK) {
        alm_arena_deinit(&arena);
        return;
    }
    if (alm_pg_param(&cx, &arena, 0, oid, type, binary, (alm_str){bytes.ptr + 3, bytes.len - 3},
                     &value) == ALM_OK) {
        alm_buf out;
        alm_buf_init(&out, NULL);
        ALM_ASSERT(alm_pg_put_cell(&cx, &value, 0, true, &out) == ALM_OK);
        ALM_ASSERT(alm_pg_put_cell(&cx, &value, 0, false, &out) == ALM_OK);
        alm_buf_deinit(&out);
    }
    alm_arena_deinit(&arena);
}

/* Two messages, cut by a zero byte. */
static void scram(alm_str bytes)
{
    static const uint8_t salt[ALM_SCRAM_SALT] = {1}, random[18] = {2};
    const char *zero = memchr(bytes.ptr, 0, bytes.len);
    const size_t first = zero != NULL ? (size_t)(zero - bytes.ptr) : bytes.len;
    alm_str token = {0};
    alm_ctx bearer = {0};
    if (alm_oauthbearer_read(&bearer, bytes, &token) == ALM_OK && token.len > 0)
        ALM_ASSERT(token.ptr >= bytes.ptr && token.ptr + token.len < bytes.ptr + bytes.len);
    alm_scram s = {.known = true, .verifier = {.iterations = 1}};
    alm_ctx cx = {0};
    char out[ALM_SCRAM_MSG_MAX];
    (void)memcpy(s.verifier.salt, salt, sizeof(salt));
    if (alm_scram_first(&cx, &s, (alm_str){bytes.ptr, first}, false, random) != ALM_OK ||
        zero == NULL)
        return;
    /* a message in memory of its own length */
    const size_t n = bytes.len - first - 1;
    char *copy = malloc(n + (n == 0));
    ALM_ASSERT(copy != NULL);
    if (n > 0)
        (void)memcpy(copy, zero + 1, n);
    ALM_ASSERT(alm_scram_final(&cx, &s, (alm_str){copy, n}, out) != ALM_OK);
    free(copy);
}

/* ---------------------------------------------------------------- connections */

static void connection(alm_str bytes, bool login, bool framed)
{
    alm_conn conn;
    fake_pg_open(&conn, fake_database(true));
    const size_t piece = bytes.len > 0 ? (unsigned char)bytes.ptr[0] + 1u : 1;
    if (login)
        fake_pg_login(&conn);
    if (!framed) {
        fake_feed(&conn, &alm_pg_protocol, bytes, piece);
    } else {
        alm_buf made;
        alm_buf_init(&made, NULL);
        for (size_t at = 1; at + 2 <= bytes.len;) {
            static const char kinds[] = "PBDECSHQQPBDEX";
            const unsigned char kind = (unsigned char)bytes.ptr[at];
            const size_t n = ALM_MIN((size_t)(unsigned char)bytes.ptr[at + 1], bytes.len - at - 2);
            const char type = kind < 128 ? kinds[kind % (sizeof(kinds) - 1)] : (char)(kind - 128);
            fake_pg_put(&made, type, (alm_str){bytes.ptr + at + 2, n});
            at += 2 + n;
        }
        fake_feed(&conn, &alm_pg_protocol, (alm_str){made.ptr, made.len}, piece);
        alm_buf_deinit(&made);
    }
    check_sent(&conn);
    fake_close(&conn, &alm_pg_protocol);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    const alm_str bytes = {(const char *)data + 1, n - 1};
    switch (data[0] % 5) {
    case 0:
        param(bytes);
        break;
    case 1:
        scram(bytes);
        break;
    case 2:
        connection(bytes, false, false);
        break;
    case 3:
        connection(bytes, true, false);
        break;
    default:
        connection(bytes, true, true);
        break;
    }
    return 0;
}
