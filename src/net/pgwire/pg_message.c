/* pg_message.c - messages to the client, and reading of message bodies. */
#include <stdio.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"
#include "net/pgwire/pg_state.h"

void pg_put(pg_conn *conn, const void *bytes, size_t n)
{
    if (alm_buf_append(&conn->cx, &conn->out, bytes, n) != ALM_OK)
        conn->torn = true;
}

void pg_put16(pg_conn *conn, int32_t value)
{
    char bytes[2];
    alm_be_put16(bytes, (uint16_t)value);
    pg_put(conn, bytes, 2);
}

void pg_put32(pg_conn *conn, int32_t value)
{
    char bytes[4];
    alm_be_put32(bytes, (uint32_t)value);
    pg_put(conn, bytes, 4);
}

void pg_put_text(pg_conn *conn, const char *text)
{
    pg_put(conn, text, strlen(text) + 1);
}

static void pg_message_put_byte(pg_conn *conn, char byte)
{
    pg_put(conn, &byte, 1);
}

void pg_begin(pg_conn *conn, alm_pg_server type, size_t *at)
{
    pg_message_put_byte(conn, (char)type);
    *at = conn->out.len;
    pg_put32(conn, 0);
}

void pg_end(pg_conn *conn, size_t offset)
{
    if (conn->out.len >= offset + 4)
        alm_be_put32(conn->out.ptr + offset, (uint32_t)(conn->out.len - offset));
}

void pg_simple_message(pg_conn *conn, alm_pg_server type)
{
    size_t offset = 0;
    pg_begin(conn, type, &offset);
    pg_end(conn, offset);
}

/* A buffer up to this size stays for the next answer: most are small, and none needs memory of its own then. */
enum { OUT_KEPT = 4096 };

void pg_flush(pg_conn *conn)
{
    if (conn->torn) /* what is there makes no sense without what is not */
        alm_conn_abort(conn->conn);
    if (conn->out.cap > OUT_KEPT) {
        alm_conn_send(conn->conn, &conn->out);
    } else {
        alm_conn_send_bytes(conn->conn, conn->out.ptr, conn->out.len);
        conn->out.len = 0;
    }
    if (conn->ended)
        alm_conn_finish(conn->conn);
}

static void pg_message_put_field(pg_conn *conn, alm_pg_field field, const char *text)
{
    pg_message_put_byte(conn, (char)field);
    pg_put_text(conn, text);
}

void pg_send_error(pg_conn *conn, const alm_error *err, alm_str sql, bool fatal)
{
    size_t offset = 0;
    char number[24];
    conn->ended |= err->code == ALM_E_LOGIN_OVER;
    fatal |= conn->ended;
    pg_begin(conn, ALM_PG_SERVER_ERROR, &offset);
    pg_message_put_field(conn, ALM_PG_FIELD_SEVERITY, fatal ? "FATAL" : "ERROR");
    pg_message_put_field(conn, ALM_PG_FIELD_SEVERITY_UNTRANSLATED, fatal ? "FATAL" : "ERROR");
    pg_message_put_field(conn, ALM_PG_FIELD_CODE, alm_status_sqlstate(err->code));
    pg_message_put_field(conn, ALM_PG_FIELD_MESSAGE, err->msg);
    if (err->sql_pos >= 0 && sql.ptr != NULL && (size_t)err->sql_pos <= sql.len) {
        /* characters from 1 */
        const size_t n_utf8s = alm_utf8_count((alm_str){sql.ptr, (size_t)err->sql_pos});
        (void)snprintf(number, sizeof(number), "%zu", n_utf8s + 1);
        pg_message_put_field(conn, ALM_PG_FIELD_POSITION, number);
    }
    if (err->code == ALM_E_PLAN_CHANGED)
        pg_message_put_field(conn, ALM_PG_FIELD_ROUTINE, "RevalidateCachedQuery");
    pg_put(conn, "", 1);
    pg_end(conn, offset);
}

void pg_send_notice(pg_conn *conn, bool warning, const char *sqlstate, const char *text)
{
    const char *severity = warning ? "WARNING" : "NOTICE";
    size_t offset = 0;
    if (!alm_session_hears(conn->session, warning))
        return;
    pg_begin(conn, ALM_PG_SERVER_NOTICE, &offset);
    pg_message_put_field(conn, ALM_PG_FIELD_SEVERITY, severity);
    pg_message_put_field(conn, ALM_PG_FIELD_SEVERITY_UNTRANSLATED, severity);
    pg_message_put_field(conn, ALM_PG_FIELD_CODE, sqlstate);
    pg_message_put_field(conn, ALM_PG_FIELD_MESSAGE, text);
    pg_put(conn, "", 1);
    pg_end(conn, offset);
}

void pg_send_row_description(pg_conn *conn, const alm_plan_col *cols, uint32_t n_cols,
                             const int16_t *formats, uint32_t n_formats)
{
    size_t offset = 0;
    pg_begin(conn, ALM_PG_SERVER_ROW_DESCRIPTION, &offset);
    pg_put16(conn, (int32_t)n_cols);
    for (uint32_t i = 0; i < n_cols; i++) {
        pg_put_text(conn, cols[i].name);
        pg_put32(conn, cols[i].table_col > 0 ? alm_table_oid(cols[i].table_id) : 0);
        pg_put16(conn, (int32_t)cols[i].table_col);
        pg_put32(conn, alm_pg_oid(conn->cx.conf, cols[i].type));
        pg_put16(conn, alm_pg_size(cols[i].type));
        pg_put32(conn, alm_pg_typmod(cols[i].type));
        pg_put16(conn, n_formats == 0 ? 0 : n_formats == 1 ? formats[0] : formats[i]);
    }
    pg_end(conn, offset);
}

void pg_send_ready(pg_conn *conn)
{
    size_t offset = 0;
    const char state =
        (char)alm_session_tx_state(conn->session); /* its values are the protocol's */
    if (conn->ended) {                             /* FATAL was the last message */
        pg_flush(conn);
        return;
    }
    if (state == ALM_TX_IDLE) { /* the end of an implicit transaction too */
        pg_cursors_block_over(conn, false);
        alm_session_settle(conn->session);
    }
    pg_send_settings(conn);
    pg_begin(conn, ALM_PG_SERVER_READY, &offset);
    pg_put(conn, &state, 1);
    pg_end(conn, offset);
    pg_flush(conn);
    alm_conn_deadline(conn->conn, alm_session_idle_ms(conn->session));
}

/* "SELECT 5": of every small answer, so without a format. */
static void rows_tag(char *tag, const char *name, int64_t rows)
{
    const size_t len = strlen(name);
    (void)memcpy(tag, name, len);
    tag[len] = ' ';
    tag[len + 1 + alm_int64_format(rows, tag + len + 1)] = 0;
}

void pg_send_complete(pg_conn *conn, const pg_portal *portal)
{
    size_t offset = 0;
    char tag[96];
    const bool declare = portal->cursor == NULL; /* a cursor has it now */
    const char *name = declare ? "DECLARE CURSOR" : alm_cursor_tag(portal->cursor);
    const int64_t affected = declare ? -1 : alm_cursor_affected(portal->cursor);
    if (name[0] == 0) {
        pg_simple_message(conn, ALM_PG_SERVER_EMPTY_QUERY);
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
    pg_begin(conn, ALM_PG_SERVER_COMMAND_COMPLETE, &offset);
    pg_put_text(conn, tag);
    pg_end(conn, offset);
}

void pg_send_settings(pg_conn *conn)
{
    const uint64_t version = alm_session_settings_version(conn->session);
    if (version == conn->settings_version)
        return;
    conn->settings_version = version;
    for (size_t i = 0; i < alm_session_setting_count(); i++) {
        alm_session_setting_row row;
        size_t offset = 0;
        alm_session_setting_at(conn->session, i, &row);
        const uint64_t hash = alm_hash_str(alm_str_of(row.value)) | 1;
        if (!row.reported || conn->settings_sent[i] == hash)
            continue;
        conn->settings_sent[i] = hash;
        pg_begin(conn, ALM_PG_SERVER_PARAMETER_STATUS, &offset);
        pg_put_text(conn, row.name);
        pg_put_text(conn, row.value);
        pg_end(conn, offset);
    }
}

/* -------------------------------------------------------------------- reading */

alm_str pg_read_bytes(pg_reader *reader, size_t n)
{
    if (reader->bad || (size_t)(reader->end - reader->at) < n) {
        reader->bad = true;
        return (alm_str){"", 0};
    }
    const alm_str bytes = {reader->at, n};
    reader->at += n;
    return bytes;
}

int32_t pg_read32(pg_reader *reader)
{
    const alm_str bytes = pg_read_bytes(reader, 4);
    return reader->bad ? 0 : (int32_t)alm_be_get32(bytes.ptr);
}

int32_t pg_read16(pg_reader *reader)
{
    const alm_str bytes = pg_read_bytes(reader, 2);
    return reader->bad ? 0 : (int16_t)alm_be_get16(bytes.ptr);
}

alm_str pg_read_text(pg_reader *reader)
{
    const char *zero =
        reader->bad ? NULL : memchr(reader->at, 0, (size_t)(reader->end - reader->at));
    if (zero == NULL) {
        reader->bad = true;
        return (alm_str){"", 0};
    }
    const alm_str text = {reader->at, (size_t)(zero - reader->at)};
    reader->at = zero + 1;
    return text;
}
