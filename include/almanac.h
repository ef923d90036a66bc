/*
 * almanac.h - the Almanac engine as a library: open a data directory, run SQL, read results as
 * Arrow arrays (Arrow C data interface), no server and no sockets.
 *
 * Lifetimes   database > connection > statement > result. Close in the opposite order.
 * Threads     A database is shared by threads; a connection and what hangs on it belong to one thread
 *             at a time. almanac_cancel may be called from any thread.
 * Errors      Functions return 0 or an error code; almanac_error describes the last failure of a
 *             connection: message, SQLSTATE, and the byte offset in the SQL text (-1: none).
 * Null        Arrow validity bitmaps. Types: see the `arrow` column of src/type/type.def; SYMBOL is
 *             plain text here.
 */
#ifndef ALMANAC_H
#define ALMANAC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

typedef struct almanac_database almanac_database;
typedef struct almanac_connection almanac_connection;
typedef struct almanac_statement almanac_statement;
typedef struct almanac_result almanac_result;

typedef struct almanac_error_info {
    int code;             /* 0: no error */
    const char *sqlstate; /* five characters */
    const char *message;  /* valid until the next call on the connection */
    int32_t position;     /* byte offset in the SQL text, -1 */
} almanac_error_info;

const char *almanac_version(void);

/* Opens or creates the data directory `root`. On failure *out is NULL and `message`, if not NULL,
 * receives up to message_bytes of text. */
int almanac_open(const char *root, almanac_database **out, char *message, size_t message_bytes);
void almanac_close(almanac_database *db);

int almanac_connect(almanac_database *db, almanac_connection **out);
void almanac_disconnect(almanac_connection *conn);
void almanac_error(const almanac_connection *conn, almanac_error_info *out);
/* Ends the statement that runs on the connection. Any thread. */
void almanac_cancel(almanac_connection *conn);

/* One statement; parameters are written $1, $2 ... */
int almanac_prepare(almanac_connection *conn, const char *sql, almanac_statement **out);
void almanac_statement_free(almanac_statement *stmt);
/* Parameter values by index from 0; kept until bound anew. */
int almanac_bind_null(almanac_statement *stmt, uint32_t index);
int almanac_bind_bool(almanac_statement *stmt, uint32_t index, int value);
int almanac_bind_int64(almanac_statement *stmt, uint32_t index, int64_t value);
int almanac_bind_double(almanac_statement *stmt, uint32_t index, double value);
int almanac_bind_text(almanac_statement *stmt, uint32_t index, const char *text, size_t bytes);
/* Microseconds since 1970-01-01T00:00:00Z. */
int almanac_bind_timestamp(almanac_statement *stmt, uint32_t index, int64_t us);

/* Runs the statement. INSERT, UPDATE and DDL are durable when it returns. */
int almanac_execute(almanac_statement *stmt, almanac_result **out);
/* prepare + execute + free of the statement, for statements without parameters. */
int almanac_query(almanac_connection *conn, const char *sql, almanac_result **out);
/* Rows changed, -1 where that has no meaning. */
int64_t almanac_result_affected(const almanac_result *result);
/* Struct schema of the result columns; the caller releases it. No columns: n_children 0. */
int almanac_result_schema(almanac_result *result, struct ArrowSchema *out);
/* Next rows as a struct array, which the caller releases; at the end out->release is NULL. */
int almanac_result_next(almanac_result *result, struct ArrowArray *out);
void almanac_result_close(almanac_result *result);

#ifdef __cplusplus
}
#endif

#endif
