/*
 * almanac.c - the public C API (include/almanac.h) over sessions. Arrow arrays are copies: they live
 * until released, whatever becomes of result and database.
 */
#include "almanac.h"

#include <stdio.h>
#include <stdlib.h>

#include "codec/arrow.h"
#include "session/core/session_state.h"

struct almanac_database {
    alm_db *db;
    alm_conf conf;
    alm_arena arena;
};

struct almanac_connection {
    almanac_database *database;
    alm_session *session;
    alm_error own; /* failures before a session call */
};

enum { PARAMS_MAX = 4096 };

typedef struct bound_value {
    alm_vec vec;
    union {
        int64_t i;
        double d;
        uint8_t b;
        alm_view view;
    } value;
    char *text;
} bound_value;

struct almanac_statement {
    almanac_connection *conn;
    alm_prepared *prepared;
    bound_value *values;
    uint32_t n_values;
};

struct almanac_result {
    almanac_connection *conn;
    alm_cursor *cursor;
    alm_prepared *owned; /* of almanac_query */
};

const char *almanac_version(void)
{
    return ALM_VERSION;
}

static int almanac_open_failed(almanac_database *database, const alm_ctx *cx, char *message,
                               size_t n)
{
    if (message != NULL && n > 0)
        (void)snprintf(message, n, "%s", cx->err.msg);
    const int code = (int)cx->err.code;
    alm_conf_deinit(&database->conf);
    alm_arena_deinit(&database->arena);
    free(database);
    return code;
}

int almanac_open(const char *root, almanac_database **out, char *message, size_t message_bytes)
{
    *out = NULL;
    almanac_database *database = calloc(1, sizeof(*database));
    if (database == NULL)
        return (int)ALM_E_MEMORY;
    alm_arena_init(&database->arena, NULL);
    alm_ctx cx = {.arena = &database->arena};
    alm_status status = alm_conf_init(&cx, &database->conf);
    if (status == ALM_OK)
        status = alm_db_new(&cx, alm_io_posix(), root, &database->conf, &database->db);
    if (status != ALM_OK)
        return almanac_open_failed(database, &cx, message, message_bytes);
    *out = database;
    return 0;
}

void almanac_close(almanac_database *database)
{
    if (database == NULL)
        return;
    alm_db_free(database->db, 0);
    alm_conf_deinit(&database->conf);
    alm_arena_deinit(&database->arena);
    free(database);
}

int almanac_connect(almanac_database *database, almanac_connection **out)
{
    *out = NULL;
    almanac_connection *conn = calloc(1, sizeof(*conn));
    if (conn == NULL)
        return (int)ALM_E_MEMORY;
    conn->database = database;
    alm_ctx cx = {0};
    const alm_status status =
        alm_session_new(&cx, database->db, "admin", "library", &conn->session);
    if (status != ALM_OK) {
        free(conn);
        return (int)status;
    }
    *out = conn;
    return 0;
}

void almanac_disconnect(almanac_connection *conn)
{
    if (conn == NULL)
        return;
    alm_session_free(conn->session);
    free(conn);
}

static int fail_own(almanac_connection *conn, alm_status code, const char *text)
{
    conn->own = (alm_error){.code = code, .sql_pos = -1};
    (void)snprintf(conn->own.msg, sizeof(conn->own.msg), "%s", text);
    return (int)code;
}

void almanac_error(const almanac_connection *conn, almanac_error_info *out)
{
    const alm_error *err = conn->own.code != ALM_OK ? &conn->own : alm_session_error(conn->session);
    *out = (almanac_error_info){.code = (int)err->code,
                                .sqlstate = alm_status_sqlstate(err->code),
                                .message = err->msg,
                                .position = err->sql_pos};
}

void almanac_cancel(almanac_connection *conn)
{
    alm_session_cancel(conn->session, 0);
}

/* --------------------------------------------------------------- statements */

int almanac_prepare(almanac_connection *conn, const char *sql, almanac_statement **out)
{
    *out = NULL;
    conn->own = (alm_error){0};
    almanac_statement *stmt = calloc(1, sizeof(*stmt));
    if (stmt == NULL)
        return fail_own(conn, ALM_E_MEMORY, "out of memory");
    stmt->conn = conn;
    const alm_status status = alm_prepare(conn->session, alm_str_of(sql), NULL, &stmt->prepared);
    if (status != ALM_OK) {
        free(stmt);
        return (int)status;
    }
    *out = stmt;
    return 0;
}

void almanac_statement_free(almanac_statement *stmt)
{
    if (stmt == NULL)
        return;
    for (uint32_t i = 0; i < stmt->n_values; i++)
        free(stmt->values[i].text);
    free(stmt->values);
    alm_prepared_free(stmt->prepared);
    free(stmt);
}

static bound_value *slot(almanac_statement *stmt, uint32_t index, alm_type type)
{
    if (index >= PARAMS_MAX)
        return NULL;
    if (index >= stmt->n_values) {
        bound_value *grown = realloc(stmt->values, (index + 1) * sizeof(*grown));
        if (grown == NULL)
            return NULL;
        (void)memset(grown + stmt->n_values, 0, (index + 1 - stmt->n_values) * sizeof(*grown));
        stmt->values = grown;
        stmt->n_values = index + 1;
    }
    bound_value *value = &stmt->values[index];
    free(value->text);
    *value = (bound_value){
        .vec = {.type = type, .width = (uint8_t)alm_type_width(type), .is_const = true}};
    return value;
}

static int no_slot(almanac_statement *stmt)
{
    return fail_own(stmt->conn, ALM_E_PARAM, "parameter index is above the limit of 4096");
}

int almanac_bind_null(almanac_statement *stmt, uint32_t index)
{
    bound_value *value = slot(stmt, index, ALM_TY(VARCHAR));
    if (value == NULL)
        return no_slot(stmt);
    value->value.view = alm_view_null();
    return 0;
}

int almanac_bind_bool(almanac_statement *stmt, uint32_t index, int flag)
{
    bound_value *value = slot(stmt, index, ALM_TY(BOOLEAN));
    if (value == NULL)
        return no_slot(stmt);
    value->value.b = flag != 0;
    return 0;
}

int almanac_bind_int64(almanac_statement *stmt, uint32_t index, int64_t number)
{
    bound_value *value = slot(stmt, index, ALM_TY(LONG));
    if (value == NULL)
        return no_slot(stmt);
    value->value.i = number;
    return 0;
}

int almanac_bind_double(almanac_statement *stmt, uint32_t index, double number)
{
    bound_value *value = slot(stmt, index, ALM_TY(DOUBLE));
    if (value == NULL)
        return no_slot(stmt);
    value->value.d = number;
    return 0;
}

int almanac_bind_timestamp(almanac_statement *stmt, uint32_t index, int64_t micros)
{
    bound_value *value = slot(stmt, index, ALM_TY(TIMESTAMP));
    if (value == NULL)
        return no_slot(stmt);
    value->value.i = micros;
    return 0;
}

int almanac_bind_text(almanac_statement *stmt, uint32_t index, const char *text, size_t bytes)
{
    bound_value *value = slot(stmt, index, ALM_TY(VARCHAR));
    if (value == NULL)
        return no_slot(stmt);
    value->text = malloc(bytes + 1);
    if (value->text == NULL)
        return fail_own(stmt->conn, ALM_E_MEMORY, "out of memory");
    (void)memcpy(value->text, text, bytes);
    value->value.view = alm_view_of((alm_str){value->text, bytes});
    return 0;
}

/* ------------------------------------------------------------------ results */

static int almanac_run(almanac_connection *conn, alm_prepared *prepared, const alm_vec *values,
                       uint32_t n_rows, almanac_result **out)
{
    *out = NULL;
    almanac_result *result = calloc(1, sizeof(*result));
    if (result == NULL)
        return fail_own(conn, ALM_E_MEMORY, "out of memory");
    result->conn = conn;
    const alm_status status = alm_execute(conn->session, prepared, values, n_rows, &result->cursor);
    if (status != ALM_OK) {
        free(result);
        return (int)status;
    }
    *out = result;
    return 0;
}

int almanac_execute(almanac_statement *stmt, almanac_result **out)
{
    stmt->conn->own = (alm_error){0};
    alm_vec *values = calloc(stmt->n_values + 1, sizeof(*values));
    if (values == NULL)
        return fail_own(stmt->conn, ALM_E_MEMORY, "out of memory");
    for (uint32_t i = 0; i < stmt->n_values; i++) {
        values[i] = stmt->values[i].vec;
        values[i].data = &stmt->values[i].value;
    }
    const int code = almanac_run(stmt->conn, stmt->prepared, values, stmt->n_values, out);
    free(values);
    return code;
}

int almanac_query(almanac_connection *conn, const char *sql, almanac_result **out)
{
    *out = NULL;
    conn->own = (alm_error){0};
    alm_prepared *prepared = NULL;
    const alm_status status = alm_prepare(conn->session, alm_str_of(sql), NULL, &prepared);
    if (status != ALM_OK)
        return (int)status;
    const int code = almanac_run(conn, prepared, NULL, 0, out);
    if (code != 0)
        alm_prepared_free(prepared);
    else
        (*out)->owned = prepared;
    return code;
}

int64_t almanac_result_affected(const almanac_result *result)
{
    return alm_cursor_affected(result->cursor);
}

int almanac_result_schema(almanac_result *result, struct ArrowSchema *out)
{
    uint32_t n_fields = 0;
    const alm_plan_col *cols = alm_cursor_cols(result->cursor, &n_fields);
    alm_arrow_field *fields = calloc(n_fields + 1, sizeof(*fields));
    if (fields == NULL)
        return fail_own(result->conn, ALM_E_MEMORY, "out of memory");
    for (uint32_t i = 0; i < n_fields; i++)
        fields[i] = (alm_arrow_field){.name = cols[i].name, .type = cols[i].type};
    alm_ctx cx = {0};
    const alm_status status = alm_arrow_schema(&cx, fields, n_fields, out);
    free(fields);
    return status == ALM_OK ? 0 : fail_own(result->conn, status, cx.err.msg);
}

int almanac_result_next(almanac_result *result, struct ArrowArray *out)
{
    *out = (struct ArrowArray){0};
    alm_batch *batch = NULL;
    const alm_status status = alm_cursor_next(result->cursor, &batch);
    if (status != ALM_OK)
        return (int)status;
    if (batch == NULL)
        return 0;
    alm_ctx cx = {0};
    const alm_status made = alm_arrow_array(&cx, batch, out);
    return made == ALM_OK ? 0 : fail_own(result->conn, made, cx.err.msg);
}

void almanac_result_close(almanac_result *result)
{
    if (result == NULL)
        return;
    alm_cursor_close(result->cursor);
    alm_prepared_free(result->owned);
    free(result);
}
