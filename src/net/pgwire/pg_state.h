/*
 * pg_state.h - the structs of a PG connection. Private to net/pgwire.
 *
 * Order       Messages are handled one after the other; while one runs on a query thread no other is
 *             looked at. Answers are appended to `out` in that order and nowhere else, so they cannot
 *             swap or get lost.
 * Errors      After an error in the extended protocol all messages up to Sync are skipped; what was
 *             answered before stays.
 */
#ifndef ALM_NET_PGWIRE_PG_STATE_H
#define ALM_NET_PGWIRE_PG_STATE_H

#include <pthread.h>

#include "auth/scram.h"
#include "base/conf.h"
#include "base/map.h"
#include "codec/pg/pg_protocol.h"
#include "codec/pg/pg_rows.h"
#include "net/conn/renewal.h"
#include "net/pgwire/pgwire.h"

/* Keys of cancel requests: clients of protocol 3.0 count on four bytes. */
enum { PG_KEY_SHORT = 4, PG_KEY_LONG = 32, PG_NAME_BYTES = 128 };

struct alm_pg {
    alm_db *db;
    alm_tls_slot *tls;             /* NULL: none */
    uint8_t secret[ALM_SCRAM_KEY]; /* of made-up salts */
    uint8_t salt[ALM_SCRAM_SALT];
    pthread_mutex_t lock;
    alm_pg_accounts accounts; /* under the lock: passwords change */
};

typedef enum pg_phase {
    PG_STARTUP,
    PG_SASL_FIRST,
    PG_SASL_FINAL,
    PG_OAUTH_FIRST,   /* the client's message with a token, or without one */
    PG_OAUTH_REFUSED, /* the client has been told why, and ends the exchange */
    PG_PASSWORD,
    PG_READY
} pg_phase;

typedef struct pg_statement {
    char *name;
    alm_prepared *prepared;
    char *text;     /* that of prepared, where it borrows one; or NULL */
    uint32_t *oids; /* as the client gave them, n_params entries */
    alm_type *types;
    uint32_t n_params;
    const alm_plan_col *cols; /* owned by prepared */
    uint32_t n_cols;
    bool described;
    bool by_sql;      /* PREPARE made it */
    int64_t made_us;  /* wall clock */
    alm_mem *account; /* of the connection, which is charged with it; NULL: not yet */
    int64_t charged;
    const char *shown; /* text in pg_prepared_statements, owned; NULL: that of prepared */
    int32_t refs;      /* portals use it after Close */
} pg_statement;

typedef struct pg_portal {
    char *name;
    pg_statement *statement;
    alm_arena arena; /* parameter values */
    alm_vec *values;
    uint32_t n_values;
    int16_t *formats;
    uint32_t n_formats;
    alm_pg_cell *cells; /* of each column, once there are rows; calloc'd */
    bool by_column;     /* rows are written by pg_rows.h */
    alm_cursor *cursor;
    alm_batch *batch; /* rows [row, batch->rows) are not sent */
    uint32_t row;
    int64_t sent; /* of the current Execute */
    bool done;
    bool kept; /* over the end of its transaction: clients believe that it went, its name is free */
    bool declared, in_block, hold, binary,
        failed;        /* a cursor; in_block: by the block that is open */
    uint64_t born;     /* alm_session_savepoint_clock */
    uint64_t fetch_no; /* of a FETCH, and of the one that used the cursor last; 0: none */
    int64_t owed;      /* of a cursor: rows that FETCH is still to give; INT64_MAX: all */
    int64_t given;     /* of a FETCH: rows so far */
    int64_t made_us;
    int64_t idle_since_ns;  /* monotonic; 0: it runs, or was not looked at since it ran */
    const char *closed;     /* its rows are gone before they were read: why; NULL: they are not */
    alm_status closed_code; /* with closed */
    pg_statement *executes; /* of EXECUTE: what runs; a reference */
    struct pg_portal *next_drop;
} pg_portal;

typedef enum pg_step {
    PG_PREPARE,
    PG_EXECUTE,
    PG_FETCH_MORE,
    PG_ROWS,
    PG_COPY_OUT,
    PG_COPY_IN, /* waits for the client */
    PG_DONE,
    PG_COMMIT /* of the implicit transaction */
} pg_step;

/* What runs: a simple query text with its statements, one Execute of a portal, or the commit of a Sync. */
typedef struct pg_run {
    pg_step step;
    bool simple, parsing; /* parsing: a long Parse, nothing else */
    bool describes;       /* parsing: of a short text that takes long to plan */
    bool sync;            /* a commit, nothing else */
    bool last;            /* statement before a Sync or the end of the text */
    bool alone;           /* the only one of its transaction: may be run again */
    char *text;
    size_t text_len, offset;
    pg_statement *statement; /* simple: the current one; parsing: the new one */
    pg_portal *portal;
    pg_portal *from; /* a FETCH: the cursor; else NULL */
    bool discard;    /* MOVE */
    int64_t skip;    /* rows of the FETCH before, which its client did not wait for */
    int64_t limit;   /* rows of this Execute; 0: all */
    bool any;        /* simple: a statement was there */
    bool failed, finished, waiting;
    int64_t waiting_since_ns; /* for the client to read */
    atomic_bool cancelled;    /* asked for while this run waits for a thread, too */
    alm_error err;
} pg_run;

/* Longer statements are parsed and planned on a query thread. */
enum { PG_OPTIONS_MAX = 16, PG_INLINE_TEXT_MAX = 32 << 10 };

typedef struct pg_start_setting {
    const char *name, *value;
    struct pg_start_setting *next;
} pg_start_setting;

/* Who says whether the login is right: this server; the identity provider, by a token as password, by a token of OAUTHBEARER, or
 * by name and password. */
typedef enum pg_external_kind {
    PG_LOCAL,
    PG_BY_TOKEN,
    PG_BY_OAUTH,
    PG_BY_PASSWORD
} pg_external_kind;

typedef struct pg_conn {
    alm_conn *conn;
    alm_pg *pg;
    pg_phase phase;
    alm_arena arena; /* start-up parameters */
    alm_ctx cx;
    char user[256];
    bool user_too_long;
    pg_start_setting *start_settings; /* start-up parameters, newest first; in arena */
    const char *unknown_options[PG_OPTIONS_MAX];
    uint32_t n_unknown_options;
    bool read_only;
    struct alm_principal *who; /* with access control, once it is known */
    alm_seen seen;             /* of its login */
    pg_external_kind external;
    const char *oauth_why; /* PG_OAUTH_REFUSED: the error that follows */
    alm_renewal renewal;   /* of a user of the provider, by whose token the connection lives */
    bool renewed, away;    /* the provider was asked for the message that waits; no answer came */
    alm_scram scram;
    alm_session *session;
    int32_t pid;
    uint8_t key[PG_KEY_LONG];
    size_t key_bytes; /* of it */
    uint32_t minor;   /* of the protocol version that the connection speaks */
    alm_buf out;
    alm_map statements, portals;
    struct alm_request_user
        *requests;    /* who it is for the budgets of requests.h; NULL: not known yet */
    alm_mem prepared; /* statements that are kept */
    size_t dropping;  /* bytes of a message for which there was no memory */
    size_t
        wants; /* bytes of the message that is coming in, if it is larger than what is read ahead */
    char message_type; /* of that one */
    size_t message_bytes;
    bool direct; /* TLS from the first byte on */
    bool more;   /* bytes have come behind a start-up packet */
    bool skip;   /* until Sync */
    bool ended;  /* by its login: it has been told, and is closed with the next flush */
    bool torn;   /* no memory for a message: the connection ends when the loop sends next */
    char ahead;  /* type of the message behind an Execute */
    pg_run run;
    bool running;
    bool copying;      /* COPY FROM STDIN: messages are its data */
    bool copy_last;    /* the piece under way is the last */
    bool copy_head;    /* the head of a binary copy is still to be sent */
    alm_buf copy_data; /* in: a piece that is collected; out: one value */
    size_t piece_bytes;
    uint64_t *settings_sent;   /* hash of each value that the client knows; in arena */
    uint64_t settings_version; /* then */
    uint64_t fetches;
} pg_conn;

/* pg_message.c: answers, appended to conn->out. Out of memory closes the connection. */
void pg_begin(pg_conn *conn, alm_pg_server type, size_t *at);
void pg_end(pg_conn *conn, size_t offset);
void pg_put(pg_conn *conn, const void *bytes, size_t n);
void pg_put16(pg_conn *conn, int32_t value);
void pg_put32(pg_conn *conn, int32_t value);
void pg_put_text(pg_conn *conn, const char *text);         /* terminated */
void pg_simple_message(pg_conn *conn, alm_pg_server type); /* without body */
void pg_send_error(pg_conn *conn, const alm_error *err, alm_str sql, bool fatal);
/* Unless the client does not want to hear (client_min_messages). */
void pg_send_notice(pg_conn *conn, bool warning, const char *sqlstate, const char *text);
void pg_send_row_description(pg_conn *conn, const alm_plan_col *cols, uint32_t n_cols,
                             const int16_t *formats, uint32_t n_formats);
void pg_send_ready(pg_conn *conn);
void pg_send_complete(pg_conn *conn, const pg_portal *portal);
void pg_send_settings(pg_conn *conn); /* those that changed since the last time */
void pg_flush(pg_conn *conn);

/* Reader of one message body; `bad` is set when it was too short. */
typedef struct pg_reader {
    const char *at, *end;
    bool bad;
} pg_reader;
int32_t pg_read32(pg_reader *reader);
int32_t pg_read16(pg_reader *reader);
alm_str pg_read_text(pg_reader *reader); /* up to its zero byte */
alm_str pg_read_bytes(pg_reader *reader, size_t n);

/* pg_login.c */
bool pg_startup(pg_conn *conn, const char *body, size_t n); /* false: closed */
void pg_login_message(pg_conn *conn, char type, const char *body, size_t n);
void pg_auth_message(pg_conn *conn, alm_pg_auth code, alm_str data);
#define PG_BROKEN "broken message" /* of alm_conn_fault */
void pg_fatal(pg_conn *conn, alm_status code, const char *text);
/* Without access control: the account of the settings has the password still that the connection began with. */
bool pg_account_stands(const pg_conn *conn, alm_ctx *cx); /* false: cx->err */
void pg_let_in(pg_conn *conn, struct alm_principal *who); /* if the end point PGWIRE may be used */

/* pg_external.c */
ALM_NODISCARD alm_status pg_external_find(pg_conn *conn); /* conn->external, by conn->user */
void pg_external_login(pg_conn *conn, alm_str secret);
void pg_oauth_first(pg_conn *conn, const char *body, size_t n); /* the client's message */
void pg_oauth_refused(pg_conn *conn);                           /* its answer to the refusal */
typedef enum pg_admission {
    PG_ADMITTED,
    PG_WAITS,  /* the message comes again, or the connection is over */
    PG_NOT_NOW /* the provider cannot be asked: the message is to be refused */
} pg_admission;
/* May the message of a user of the provider be looked at? */
pg_admission pg_external_admits(pg_conn *conn, char type);
/* As alm_conn_work, for another piece of a statement; where the provider is not there, that is cancelled. */
void pg_external_work(pg_conn *wire, void (*work)(void *arg),
                      void (*done)(alm_conn *conn, void *arg));
/* For the tick, while a statement runs or its rows wait for their reader: may it go on? */
bool pg_external_stands(pg_conn *conn);

/* pg_extended.c */
void pg_message(pg_conn *conn, char type, const char *body, size_t n);
void pg_synced(pg_conn *conn); /* what a Sync ends is over */
/* Answers a message that cannot be taken, as if it had failed. */
void pg_message_refused(pg_conn *conn, char type, alm_status code, const char *text);
void pg_fail(pg_conn *conn, alm_status code, const char *text);
void pg_fail_err(pg_conn *conn, const alm_error *err, alm_str sql);
void pg_statement_release(pg_statement *statement);
void pg_statement_drop(pg_conn *conn, alm_str name);
void pg_portal_free(pg_portal *portal);
void pg_drop_all(pg_conn *conn);
/* DEALLOCATE, CLOSE, DISCARD: drops what the statement names. False: there is no such thing. */
bool pg_drop_named(pg_conn *conn, const alm_prepared *prepared, alm_error *err);
pg_portal *pg_portal_new(pg_conn *conn, alm_str name, pg_statement *statement);
/* Without its quotes, else in lower case. */
alm_str pg_object_name(alm_str words, char out[PG_NAME_BYTES]);

/* Types and result columns of a statement, once. False: the error. */
bool pg_statement_describe(pg_conn *conn, pg_statement *statement, alm_error *err);
/* Is there memory for the statement, as it is now, among those that are kept? False: the error. */
bool pg_statement_charge(pg_conn *conn, pg_statement *statement, alm_error *err);
/* Another statement with this name? Too many of them? False: the error. */
bool pg_statement_fits(pg_conn *conn, alm_str name, alm_error *err);

/* pg_prepare.c */
int64_t pg_now_us(const pg_conn *conn); /* wall clock */
bool pg_sql_prepare(pg_conn *conn, const pg_statement *s, alm_error *err);
/* What the portal of an EXECUTE is to run: looked up by name, its values read. False: the error. */
bool pg_sql_execute(pg_conn *conn, pg_portal *portal, alm_error *err);
/* The statement that an EXECUTE names, or NULL. */
pg_statement *pg_sql_named(pg_conn *conn, const pg_statement *statement);
alm_status pg_session_lists(alm_ctx *cx, void *arg, const char *what, const char *const **cells,
                            size_t *rows);

/* pg_cursor.c */
bool pg_cursor_declare(pg_conn *conn, pg_portal *portal, alm_error *err);
bool pg_cursor_fetch(pg_conn *conn, pg_run *run); /* false: run->err */
bool pg_is_fetch(const pg_portal *portal);        /* FETCH or MOVE, not a cursor */
bool pg_cursor_go_on(pg_conn *conn, pg_run *run); /* a FETCH that an Execute has cut */
const alm_plan_col *pg_result_cols(pg_conn *conn, const pg_statement *statement, uint32_t *n);
/* Messages count columns in 16 bits; rows of a binary COPY have the highest count for their end. */
enum { PG_COLS_MAX = 65535, PG_COPY_COLS_MAX = 65534 };
bool pg_cols_fit(uint32_t n, uint32_t max, alm_error *err); /* false: the error */
void pg_cursors_block_over(pg_conn *conn, bool rolled_back);
/* Whoever uses a cursor or portal whose rows were given back hears why. True: it was. */
bool pg_cursor_is_closed(const pg_portal *portal, alm_error *err);
/* Nothing of the connection runs: closes what was not read since idle_ns ago (0: all that holds rows) but what the run that
 * waits for its reader is about. */
void pg_cursors_give_back(pg_conn *conn, int64_t idle_ns, alm_status code, const char *why);
/* The same of those that read a snapshot which is older than storage.snapshot.age.max. */
void pg_cursors_drop_aged(pg_conn *conn);
void pg_cursors_went_back(pg_conn *conn); /* ROLLBACK TO: those that were declared since go */

/* pg_run.c */
void pg_run_simple(pg_conn *conn, alm_str text);
void pg_run_portal(pg_conn *conn, pg_portal *portal, int64_t limit, bool last);
void pg_run_sync(pg_conn *conn); /* commits, then pg_synced */
void pg_run_drained(pg_conn *conn);
/* A run that waits for its reader ends with this error. The connection stays paused: the caller resumes it. */
void pg_run_break(pg_conn *conn, const alm_error *err);
/* It reads a snapshot that is older than storage.snapshot.age.max. */
bool pg_run_is_aged(const pg_conn *conn, alm_error *err);
void pg_run_cancel(pg_conn *conn); /* by request of the client; nothing runs: no effect */
void pg_run_clear(pg_conn *conn);
void pg_run_failed(pg_conn *conn); /* run->err is the end of it */
void pg_run_resume(pg_conn *conn); /* goes on with run->step */

/* pg_copy.c */
void pg_copy_begin(pg_conn *conn, const alm_copy_stream *stream);
void pg_copy_wait(pg_conn *conn); /* for CopyData */
/* Rows until the piece is full or they are over; the error is in conn->cx. */
alm_status pg_copy_rows(pg_conn *conn, bool *done);
void pg_copy_message(pg_conn *conn, char type, const char *body, size_t n);
void pg_copy_fail(pg_conn *conn, alm_status code, const char *text);

#endif
