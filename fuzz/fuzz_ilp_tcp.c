/*
 * fuzz_ilp_tcp.c - whole connections of the line protocol without a socket (fake_conn.h): what is stored does
 * not hang on how the bytes are cut. Tables go after each run.
 *
 * Byte 0 is the size of pieces. Byte 1: with a login (1), bad lines are left out (2), no new columns (4).
 */
#include "fake_conn.h"

#include "net/ilp/ilp_tcp.h"
#include "net/shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char KEYS[] = "k ec-p-256-sha256 fLKYEaoEb9lrn3nkwLDA-M_xnuFOdSt9y0Z7_vWSHLU "
                           "Dt5tbS1dEDMSYfym3fgMv0B99szno-dFc1rYF9t0aac";

static alm_db *database(uint8_t flags)
{
    alm_db *db = fake_database(false);
    alm_conf *conf = fake_conf(db);
    conf->line_tcp_disconnect_on_error = (flags & 2) == 0;
    conf->line_log_message_on_error = false;
    conf->line_auto_create_new_columns = (flags & 4) == 0;
    return db;
}

/* True: the connection was still good at its end. */
static bool send(alm_str bytes, size_t piece, uint8_t flags, alm_net_shared *shared)
{
    alm_conn conn;
    alm_db *db = database(flags);
    fake_execute(db, "drop all tables");
    if ((flags & 4) != 0)
        fake_execute(db, "create table t (a double, b long, c symbol, ts timestamp) timestamp(ts) "
                         "partition by day");
    fake_open(&conn, &alm_ilp_protocol, db, shared);
    fake_feed(&conn, &alm_ilp_protocol, bytes, piece);
    const bool good = !conn.closing;
    fake_close(&conn, &alm_ilp_protocol);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    alm_ctx cx = {0};
    alm_net_shared whole = {0}, cut = {0};
    const alm_str bytes = {(const char *)data + 2, n - 2};
    const uint8_t flags = data[1];
    if ((flags & 1) != 0) {
        ALM_ASSERT(alm_line_keys_read(&cx, alm_str_of(KEYS), "keys", &whole.line_keys) == ALM_OK);
        cut.line_keys = whole.line_keys;
    }
    const bool a = send(bytes, bytes.len + 1, flags, &whole);
    const bool b = send(bytes, data[0] + 1U, flags, &cut);
    if (a && b)
        ALM_ASSERT(whole.line_tcp_rows == cut.line_tcp_rows);
    if ((flags & 1) != 0) /* nobody signs here */
        ALM_ASSERT(whole.line_tcp_rows == 0 && cut.line_tcp_rows == 0);
    alm_line_keys_free(whole.line_keys);
    return 0;
}
