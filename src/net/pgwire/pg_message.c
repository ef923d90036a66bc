/* pg_message.c - messages to the client, and reading of message bodies. */
#include <stdio.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"
#include "net/pgwire/pg_state.h"

void pg_put(pg_conn *c, const void *bytes, size_t n)
{
    if (alm_buf_append(&c->cx, &c->out, bytes, n) != ALM_OK)
        c->torn = true;
}

void pg_put16(pg_conn *c, int32_t v)
{
    char bytes[2];
    alm_be_put16(bytes, (uint16_t)v);
    pg_put(c, bytes, 2);
}

void pg_put32(pg_conn *c, int32_t v)
{
    char bytes[4];
    alm_be_put32(bytes, (uint32_t)v);
    pg_put(c, bytes, 4);
}

void pg_put_text(pg_conn *c, const char *text)
{
    pg_put(c, text, strlen(text) + 1);
}

static void put_byte(pg_conn *c, char byte)
{
    pg_put(c, &byte, 1);
}

void pg_begin(pg_conn *c, alm_pg_server type, size_t *at)
{
    put_byte(c, (char)type);
    *at = c->out.len;
    pg_put32(c, 0);
}

void pg_end(pg_conn *c, size_t at)
{
    if (c->out.len >= at + 4)
        alm_be_put32(c->out.ptr + at, (uint32_t)(c->out.len - at));
}

void pg_simple_message(pg_conn *c, alm_pg_server type)
{
    size_t at = 0;
    pg_begin(c, type, &at);
    pg_end(c, at);
}

/* A buffer up to this size stays for the next answer: most are small, and none needs memory of its own then. */
enum { OUT_KEPT = 4096 };

void pg_flush(pg_conn *c)
{
    if (c->torn) /* what is there makes no sense without what is not */
        alm_conn_abort(c->conn);
    if (c->out.cap > OUT_KEPT) {
        alm_conn_send(c->conn, &c->out);
    } else {
        alm_conn_send_bytes(c->conn, c->out.ptr, c->out.len);
        c->out.len = 0;
    }
    if (c->ended)
        alm_conn_finish(c->conn);
}

static void put_field(pg_conn *c, alm_pg_field field, const char *text)
{
    put_byte(c, (char)field);
    pg_put_text(c, text);
}

void pg_send_error(pg_conn *c, const alm_error *err, alm_str sql, bool fatal)
{
    size_t at = 0;
    char number[24];
    c->ended |= err->code == ALM_E_LOGIN_OVER;
    fatal |= c->ended;
    pg_begin(c, ALM_PG_SERVER_ERROR, &at);
    put_field(c, ALM_PG_FIELD_SEVERITY, fatal ? "FATAL" : "ERROR");
    put_field(c, ALM_PG_FIELD_SEVERITY_UNTRANSLATED, fatal ? "FATAL" : "ERROR");
    put_field(c, ALM_PG_FIELD_CODE, alm_status_sqlstate(err->code));
    put_field(c, ALM_PG_FIELD_MESSAGE, err->msg);
    if (err->sql_pos >= 0 && sql.ptr != NULL && (size_t)err->sql_pos <= sql.len) {
        /* characters from 1 */
        const size_t n = alm_utf8_count((alm_str){sql.ptr, (size_t)err->sql_pos});
        (void)snprintf(number, sizeof(number), "%zu", n + 1);
        put_field(c, ALM_PG_FIELD_POSITION, number);
    }
    if (err->code == ALM_E_PLAN_CHANGED)
        put_field(c, ALM_PG_FIELD_ROUTINE, "RevalidateCachedQuery");
    pg_put(c, "", 1);
    pg_end(c, at);
}

void pg_send_notice(pg_conn *c, bool warning, const char *sqlstate, const char *text)
{
    const char *severity = warning ? "WARNING" : "NOTICE";
    size_t at = 0;
    if (!alm_session_hears(c->session, warning))
        return;
    pg_begin(c, ALM_PG_SERVER_NOTICE, &at);
    put_field(c, ALM_PG_FIELD_SEVERITY, severity);
    put_field(c, ALM_PG_FIELD_SEVERITY_UNTRANSLATED, severity);
    put_field(c, ALM_PG_FIELD_CODE, sqlstate);
    put_field(c, ALM_PG_FIELD_MESSAGE, text);
    pg_put(c, "", 1);
    pg_end(c, at);
}

void pg_send_row_description(pg_conn *c, const alm_plan_col *cols, uint32_t n,
                             const int16_t *formats, uint32_t n_formats)
{
    size_t at = 0;
    pg_begin(c, ALM_PG_SERVER_ROW_DESCRIPTION, &at);
    pg_put16(c, (int32_t)n);
    for (uint32_t i = 0; i < n; i++) {
        pg_put_text(c, cols[i].name);
        pg_put32(c, cols[i].table_col > 0 ? alm_table_oid(cols[i].table_id) : 0);
        pg_put16(c, (int32_t)cols[i].table_col);
        pg_put32(c, alm_pg_oid(c->cx.conf, cols[i].type));
        pg_put16(c, alm_pg_size(cols[i].type));
        pg_put32(c, alm_pg_typmod(cols[i].type));
        pg_put16(c, n_formats == 0 ? 0 : n_formats == 1 ? formats[0] : formats[i]);
    }
    pg_end(c, at);
}

void pg_send_ready(pg_conn *c)
{
    size_t at = 0;
    const char state = (char)alm_session_tx_state(c->session); /* its values are the protocol's */
    if (c->ended) {                                            /* FATAL was the last message */
        pg_flush(c);
        return;
    }
    if (state == ALM_TX_IDLE) { /* the end of an implicit transaction too */
        pg_cursors_block_over(c, false);
        alm_session_settle(c->session);
    }
    pg_send_settings(c);
    pg_begin(c, ALM_PG_SERVER_READY, &at);
    pg_put(c, &state, 1);
    pg_end(c, at);
    pg_flush(c);
    alm_conn_deadline(c->conn, alm_session_idle_ms(c->session));
}

/* "SELECT 5": of every small answer, so without a format. */
static void rows_tag(char *tag, const char *name, int64_t rows)
{
    const size_t n = strlen(name);
    (void)memcpy(tag, name, n);
    tag[n] = ' ';
    tag[n + 1 + alm_int64_format(rows, tag + n + 1)] = 0;
}

void pg_send_complete(pg_conn *c, const pg_portal *portal)
{
    size_t at = 0;
    char tag[96];
    const bool declare = portal->cursor == NULL; /* a cursor has it now */
    const char *name = declare ? "DECLARE CURSOR" : alm_cursor_tag(portal->cursor);
    const int64_t affected = declare ? -1 : alm_cursor_affected(portal->cursor);
    if (name[0] == 0) {
        pg_simple_message(c, ALM_PG_SERVER_EMPTY_QUERY);
        return;
    }
    if (pg_is_fetch(portal))
        (void)snprintf(tag, sizeof(tag), "%s %lld", name, (long long)portal->given);
    else if (strcmp(name, "SELECT") == 0 || (strcmp(name, "COPY") == 0 && affected < 0))
        rows_tag(tag, name, portal->sent);
    else if (strcmp(name, "INSERT") == 0)
        (void)snprintf(tag, sizeof(tag), "INSERT 0 %lld", (long long)ALM_MAX(affected, INT64_C(0)));
    else if (strcmp(name, "CREATE TABLE") == 0 && affected >= 0)
        (void)snprintf(tag, sizeof(tag), "SELECT %lld", (long long)affected);
    else if (affected >= 0)
        (void)snprintf(tag, sizeof(tag), "%s %lld", name, (long long)affected);
    else if (strcmp(name, "CLOSE") == 0)
        (void)snprintf(tag, sizeof(tag), "CLOSE CURSOR");
    else
        (void)snprintf(tag, sizeof(tag), "%s", name);
    pg_begin(c, ALM_PG_SERVER_COMMAND_COMPLETE, &at);
    pg_put_text(c, tag);
    pg_end(c, at);
}

void pg_send_settings(pg_conn *c)
{
    const uint64_t version = alm_session_settings_version(c->session);
    if (version == c->settings_version)
        return;
    c->settings_version = version;
    for (size_t i = 0; i < alm_session_setting_count(); i++) {
        alm_session_setting_row row;
        size_t at = 0;
        alm_session_setting_at(c->session, i, &row);
        const uint64_t hash = alm_hash_str(alm_str_of(row.value)) | 1;
        if (!row.reported || c->settings_sent[i] == hash)
            continue;
        c->settings_sent[i] = hash;
        pg_begin(c, ALM_PG_SERVER_PARAMETER_STATUS, &at);
        pg_put_text(c, row.name);
        pg_put_text(c, row.value);
        pg_end(c, at);
    }
}

/* -------------------------------------------------------------------- reading */

alm_str pg_read_bytes(pg_reader *r, size_t n)
{
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = true;
        return (alm_str){"", 0};
    }
    const alm_str bytes = {r->at, n};
    r->at += n;
    return bytes;
}

int32_t pg_read32(pg_reader *r)
{
    const alm_str bytes = pg_read_bytes(r, 4);
    return r->bad ? 0 : (int32_t)alm_be_get32(bytes.ptr);
}

int32_t pg_read16(pg_reader *r)
{
    const alm_str bytes = pg_read_bytes(r, 2);
    return r->bad ? 0 : (int16_t)alm_be_get16(bytes.ptr);
}

alm_str pg_read_text(pg_reader *r)
{
    const char *zero = r->bad ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
    if (zero == NULL) {
        r->bad = true;
        return (alm_str){"", 0};
    }
    const alm_str text = {r->at, (size_t)(zero - r->at)};
    r->at = zero + 1;
    return text;
}
