/*
 * session.h - the one door to data: prepare, bind, execute, fetch, cancel, ingest. HTTP, PostgreSQL
 * wire, line protocol, tests and the C library all come through it, so that permissions, limits,
 * cancel, transactions and logging exist once.
 *
 * Lifetimes   alm_db (process) > alm_session (connection or request) > alm_prepared (statement text)
 *             > alm_cursor (one execution).
 * Threads     alm_db is shared. A session and what hangs on it are used by one thread at a time, and
 *             may move between threads; alm_session_cancel may be called from any thread.
 */
#ifndef ALM_SESSION_SESSION_H
#define ALM_SESSION_SESSION_H

#include "exec/exec.h"
#include "sql/sql.h"

typedef struct alm_db alm_db;
typedef struct alm_session alm_session;
typedef struct alm_prepared alm_prepared;
typedef struct alm_cursor alm_cursor;

struct alm_conf; /* base/conf.h */
struct alm_ends; /* base/lookup.h */

ALM_NODISCARD alm_status alm_db_new(alm_ctx *cx, const alm_io *io, const char *root,
                                    const struct alm_conf *conf, alm_db **out);
/* Cancels running statements (they get `grace_ms`), checkpoints, closes. */
void alm_db_free(alm_db *db, int64_t grace_ms);
alm_storage *alm_db_storage(alm_db *db);
const char *alm_db_root(const alm_db *db);
const alm_registry *alm_db_registry(const alm_db *db);
const struct alm_conf *alm_db_conf(const alm_db *db);
/*
 * Settings while the server runs. Whoever owns the configuration (the server) says how it is read again; reload does
 * that, on the thread that asks. *changed: something was taken over. On an error nothing is.
 */
typedef enum alm_reload { ALM_RELOAD_ALL, ALM_RELOAD_CERTIFICATES } alm_reload;
typedef alm_status (*alm_reload_fn)(alm_ctx *cx, void *arg, alm_reload what, bool *changed);
void alm_db_reload_by(alm_db *db, alm_reload_fn run,
                      void *arg); /* NULL: nobody; waits for one under way */
ALM_NODISCARD alm_status alm_db_reload(alm_ctx *cx, alm_db *db, alm_reload what, bool *changed);
/* Settings that the database keeps in another form have changed. */
void alm_db_conf_changed(alm_db *db);
/* What this process may use of the machine (io/machine.h), as of the last reading of the settings. */
int64_t alm_db_ram_bytes(const alm_db *db);
uint32_t alm_db_processors(const alm_db *db);
/* The memory of a setting; where that is 0: one of so many parts of what there is, and `most` at most. */
int64_t alm_db_memory_share(const alm_db *db, int64_t setting, int64_t most, int64_t part);
/* The account of all statements (query.memory.total.max): what protocols keep for them counts too. */
alm_mem *alm_db_memory(alm_db *db);
/* Bytes that a statement keeps: its text, what was parsed and described of it. */
int64_t alm_prepared_bytes(const alm_prepared *prepared);
/* The account of what clients send (requests.h). */
alm_mem *alm_db_request_memory(alm_db *db);

/* What sessions did since the start: statements by the protocol that they came over, errors of all of them by
 * their code, the time that statements took here (not that their client took to read). */
enum { ALM_BY_HTTP, ALM_BY_PG, ALM_BY_LINE, ALM_BY_OTHER, ALM_BY_COUNT };
typedef struct alm_db_counters {
    struct {
        alm_counter started, completed, errors;
        alm_counter parsed,
            parsed_before; /* SELECTs that ran on the text, or on what was prepared */
        alm_counter rows;  /* of results */
    } by[ALM_BY_COUNT];
    alm_counter errors[ALM_STATUS_COUNT];
    alm_times statements;
} alm_db_counters;
const alm_db_counters *alm_db_counters_of(const alm_db *db);
/* Errors that are faults of the server, its disk or its memory, and not of a statement. */
int64_t alm_db_unhandled_errors(const alm_db *db);
/* Now. */
typedef struct alm_db_load {
    int64_t sessions, running;
} alm_db_load;
void alm_db_load_get(alm_db *db, alm_db_load *out);

ALM_NODISCARD alm_status alm_session_new(alm_ctx *cx, alm_db *db, const char *user,
                                         const char *protocol, alm_session **out);
void alm_session_free(alm_session *session);
/*
 * Access control (acl.enabled). A login makes a principal (auth/rights.h, auth/login.h) and gives it to the session, which
 * keeps a reference: its statements may then do what the principal may. Without one everything is allowed.
 */
struct alm_principal;
struct alm_acl;
void alm_session_become(alm_session *session, struct alm_principal *who);
/* Who statements run for: the service account that was assumed, or who logged in; NULL: nobody did. */
const struct alm_principal *alm_session_principal(const alm_session *session);
/* Has it this permission on the database? */
bool alm_session_holds(alm_session *session, const char *permission);
/* Any permission on the table: else it is not to be told that it is there. */
bool alm_session_sees(alm_session *session, const char *table);
/* May it add rows to any table at all, or make one? Asked before the bytes of rows are read. ALM_E_DENIED: on the session. overwrite: DROP TABLE will do. */
ALM_NODISCARD alm_status alm_session_may_ingest(alm_session *session, bool overwrite);
/*
 * Does what began before still count? ALM_E_LOGIN_OVER says why not: the password is another, the token ended, the user was disabled
 * ... (docs/security.md). Statements and fetches ask by themselves; who holds something between them has to.
 */
typedef struct
    alm_seen { /* the version of all permissions when it was looked last; zero at first */
    uint64_t records, version;
    int64_t until_us; /* wall clock: to be looked at again then; 0: not by itself */
} alm_seen;
/* For the cost of two loads while nothing has changed. */
ALM_NODISCARD alm_status alm_login_stands(alm_ctx *cx, alm_db *db, const struct alm_principal *who,
                                          alm_seen *seen);
/* The same of a session between statements, with its service account; whoever owns it. */
ALM_NODISCARD alm_status alm_session_still(alm_ctx *cx, alm_session *session);
/* What a result was allowed to read, to be asked again before it is read later; NULL: access control is off. */
typedef struct alm_questions alm_questions;
ALM_NODISCARD alm_status alm_cursor_questions(alm_ctx *cx, const alm_cursor *cursor,
                                              alm_questions **out);
void alm_questions_free(alm_questions *questions); /* NULL: nothing */
/* Of its user, who is that of the session now: ALM_E_DENIED, ALM_E_LOGIN_OVER. */
ALM_NODISCARD alm_status alm_questions_again(alm_ctx *cx, alm_session *session,
                                             const alm_questions *questions);
/* It has not the permission: ALM_E_DENIED "Access denied for NAME [PERMISSION]", and a line in the audit log. */
alm_status alm_session_denied(alm_ctx *cx, const alm_session *session, const char *permission,
                              int32_t pos);
/* Who there is and who may what, newest; one reference to the caller. */
ALM_NODISCARD alm_status alm_db_acl(alm_ctx *cx, alm_db *db, struct alm_acl **out);
/* ALM_E_DENIED "Access denied for NAME [HTTP]" unless it may use that interface. */
ALM_NODISCARD alm_status alm_access_end_point(alm_ctx *cx, alm_db *db,
                                              const struct alm_principal *who, const char *point);
/* Ends the statement that runs with that sequence number (0: whichever runs). Any thread. */
void alm_session_cancel(alm_session *session, uint64_t statement);
/* For who has the session while nothing of it runs: was a statement cancelled whose rows stand still? Its cursors are to be closed,
 * all of them: who is to free memory knows the session by one of their numbers. Asked once; *why is static. */
bool alm_session_take_cancel(alm_session *session, const alm_error **why);
/* The same before the session runs something else, and only where its cursors are to release memory for others. */
bool alm_session_gives_way(alm_session *session, const alm_error **why);
/* The account of memory of the session's user: that of its statements, and of what is kept for it. */
alm_mem *alm_session_memory(alm_session *session);
/* The account of its temporary files (alm_ctx.files); NULL: it has none. */
alm_mem *alm_session_files(alm_session *session);
/* Of symbols that the user is the first to write; NULL: he is no user, and only the symbols of all are bounded. Lives as long as the
 * database. */
alm_mem *alm_session_symbols(alm_session *session);
/* Ends the statement of that number; a read-only session, and one without SQL ENGINE ADMIN, that of its own user alone. */
typedef enum alm_cancelled { ALM_CANCEL_NONE, ALM_CANCEL_DENIED, ALM_CANCEL_DONE } alm_cancelled;
alm_cancelled alm_session_cancel_query(alm_session *session, int64_t statement);
/*
 * Sessions that a protocol keeps between its connections, for SHOW SESSIONS and DROP SESSION. Both are called on any thread; `each` is
 * called for every one that goes on, and must not end any.
 */
typedef struct alm_cookie {
    uint64_t number; /* of its login */
    const struct alm_principal *who;
    const char *address;               /* of its login */
    int64_t begun_us, used_us, end_us; /* wall clock */
} alm_cookie;
typedef struct alm_cookies {
    void *arg;
    alm_status (*list)(void *arg, alm_status (*each)(void *row_arg, const alm_cookie *cookie),
                       void *row_arg);
    void (*end)(void *arg, uint64_t number);
} alm_cookies;
void alm_db_cookies_by(alm_db *db, const alm_cookies *cookies); /* NULL: nobody any more */
/* Somebody ended the session (pg_terminate_backend, DROP SESSION): its protocol closes it. Any thread. */
bool alm_session_is_ended(const alm_session *session);
/*
 * What goes on for this request ends, and nothing more of it begins: ALM_E_LOGIN_OVER (somebody ended what it was sent with), ALM_E_PROVIDER
 * (the provider is not there to say whether its user may go on). ALM_OK: the next request. Any thread.
 */
void alm_session_halt(alm_session *session, alm_status why);
/* The client is gone: ends what runs and whatever is started still. Any thread. */
void alm_session_abandon(alm_session *session);
uint64_t alm_session_statement(const alm_session *session);
/* Of the one that ran or failed last; 0: none yet. One that could not be read has a number, too. */
uint64_t alm_session_last_statement(const alm_session *session);
/* The values are those of ReadyForQuery in the PostgreSQL protocol. */
typedef enum alm_tx_state {
    ALM_TX_IDLE = 'I',  /* no block */
    ALM_TX_BLOCK = 'T', /* in a block */
    ALM_TX_FAILED = 'E' /* in a block that has failed */
} alm_tx_state;
alm_tx_state alm_session_tx_state(const alm_session *session);
/* Something failed outside of any statement (a bad message): an open block is failed by it too. */
void alm_session_fail_block(alm_session *session);
/*
 * PostgreSQL's implicit transaction, of a pipeline or of a text of several statements: from here on
 * statements outside of a block are one transaction, until its end, which commits, or the first failure,
 * which drops it. No effect in a block. Pending: it has written something, so its end waits for the disk.
 */
void alm_session_implicit(alm_session *session);
bool alm_session_pending(const alm_session *session);
ALM_NODISCARD alm_status alm_session_implicit_end(alm_session *session);
/* The same without waiting, if that can be (*started): done(arg) is called on another thread when it is
 * over, maybe before this returns, and then alm_session_commit_end tells how. */
ALM_NODISCARD alm_status alm_session_commit_start(alm_session *session, void (*done)(void *arg),
                                                  void *arg, bool *started);
ALM_NODISCARD alm_status alm_session_commit_end(alm_session *session);
/* BEGIN, COMMIT and ROLLBACK do nothing: for protocols whose requests stand alone. */
void alm_session_no_blocks(alm_session *session);
/* A request of several statements in such a protocol: they are an implicit transaction (call it before each
 * of them), and those words do what they say until the end. The end commits; a block that is open there is an
 * error, and dropped, as is everything when a statement failed (drop). */
void alm_session_script(alm_session *session);
ALM_NODISCARD alm_status alm_session_script_end(alm_session *session);
void alm_session_script_drop(alm_session *session);
/* Settings that SET changes and SHOW shows (time zone, statement_timeout ...). */
const char *alm_session_setting(const alm_session *session, const char *name);
/* The error for a setting there is not. */
alm_status alm_no_setting(alm_ctx *cx, alm_str name, int32_t pos);
ALM_NODISCARD alm_status alm_session_set(alm_ctx *cx, alm_session *session, const char *name,
                                         const char *value);
void alm_session_timeout(alm_session *session, int64_t timeout_ms); /* 0: the configured default */
/* What stands for query.timeout from now on; 0: that itself. */
void alm_session_timeout_max(alm_session *session, int64_t timeout_ms);
/* Refuses every statement that writes: "Write permission denied". */
void alm_session_read_only(alm_session *session, bool on);
/* Until it is NULL, only statements that read are run, and nothing is cancelled; `why` is the error of the others, and stays. */
void alm_session_reads_only(alm_session *session, const char *why);
#define ALM_SESSION_FOREIGN                                                                        \
    "a page of another site may only read: http.cors.origins lists those that may do more"
#define ALM_SESSION_UNMARKED                                                                       \
    "a link or form may only read: what changes something needs the header X-Requested-With: "     \
    "XMLHttpRequest"
#define ALM_SESSION_READING "only statements that read are run with readonly=true"
/* The same for whoever it is: 25006, and the session says that it is read-only. */
void alm_session_read_only_interface(alm_session *session);
/* Lists that the protocol keeps, for pg_prepared_statements ("prepared") and pg_cursors ("cursors"); asked on the thread
 * that runs a statement of the session. Rows of texts, from cx->arena: name, text, moment in us; then types by number and
 * spaces, and whether PREPARE made it; or whether it is held and binary ("t", "f"). */
typedef alm_status (*alm_session_list_fn)(alm_ctx *cx, void *arg, const char *what,
                                          const char *const **cells, size_t *rows);
enum { ALM_SESSION_LIST_CELLS = 5 };
void alm_session_lists_by(alm_session *session, alm_session_list_fn list, void *arg);
/* What is set by now is what RESET goes back to. */
void alm_session_started(alm_session *session);
/* All that was set goes, as if the session were new: its next statement is somebody else's. Between statements only. */
void alm_session_forget_settings(alm_session *session);
/* A statement that was no part of a block is over, or the pipeline of several: what its SETs say stays. */
void alm_session_settle(alm_session *session);
/* Goes up whenever a setting may have another value. */
uint64_t alm_session_settings_version(const alm_session *session);
/* How long the client may be idle in the state there is; 0: no limit. */
int64_t alm_session_idle_ms(const alm_session *session);
/* Does it want notices, warnings? (client_min_messages) */
bool alm_session_hears(const alm_session *session, bool warning);
/* Savepoints set until now; that of the one to which ROLLBACK TO went last, 0: none in this block. What came
 * into being at a clock not below it is gone. */
uint64_t alm_session_savepoint_clock(const alm_session *session);
uint64_t alm_session_went_back(const alm_session *session);
/* Number of the connection, as pg_backend_pid() and the lists of sessions show it. */
void alm_session_pid(alm_session *session, int32_t pid);
/* The addresses of its connection, copied. */
void alm_session_exports(alm_session *session,
                         bool exports); /* rows are for a file: audit.export */
void alm_session_ends(alm_session *session, const struct alm_ends *ends);
const char *alm_session_user(const alm_session *session);
/* Who it is: equal texts are the same user, where names alone are not (alm_principal). Of one's own session; others are asked with _is_of,
 * on any thread. Until the session becomes somebody else. */
const char *alm_session_identity(const alm_session *session);
bool alm_session_is_of(alm_session *session, const char *identity);
alm_db *alm_session_db(const alm_session *session);

/*
 * Work that is no statement (an import): between the two it has a number as a statement has, is listed with this text, and a
 * cancel of that number makes alm_check(cx) fail. Between statements only.
 */
void alm_session_work_begin(alm_session *session, alm_ctx *cx, alm_str text);
void alm_session_work_text(alm_session *session, alm_str text);
void alm_session_work_end(alm_session *session);

/* All settings in order of name; value NULL asks SET to go back to the default. */
typedef struct alm_session_setting_row {
    const char *name, *value, *doc;
    bool reported; /* PG clients hear of it by ParameterStatus */
} alm_session_setting_row;
size_t alm_session_setting_count(void);
void alm_session_setting_at(const alm_session *session, size_t i, alm_session_setting_row *out);

/* The error of the last failed call on this session: position in bytes of the statement text. */
const alm_error *alm_session_error(const alm_session *session);

/* --------------------------------------------------------------- statements */

/* Parses one statement (the text may hold several: *next is the offset of the rest; NULL: more than
 * one is an error). Keeps its own copy of the text; with `next` it borrows the text, which must
 * outlive the statement: a script of many statements is not copied for each of them. */
ALM_NODISCARD alm_status alm_prepare(alm_session *session, alm_str text, size_t *next,
                                     alm_prepared **out);
/* Is there more than white space and semicolons from `offset` on? */
bool alm_text_goes_on(alm_str text, size_t offset);
void alm_prepared_free(alm_prepared *prepared);
alm_stmt_kind alm_prepared_kind(const alm_prepared *prepared);
const char *alm_prepared_text(const alm_prepared *prepared, size_t *len);
/* For lists: without passwords and tokens; from cx->arena. */
ALM_NODISCARD alm_status alm_prepared_shown(alm_ctx *cx, const alm_prepared *prepared,
                                            const char **out);
/* What SET, DISCARD, DEALLOCATE, CLOSE ... name, as written behind the command tag; tag "" for other
 * statements. Objects of the wire (statements, portals) are dropped by the wire. */
void alm_prepared_words(const alm_prepared *prepared, alm_str *tag, alm_str *rest);
/* What DECLARE CURSOR, FETCH and MOVE say; NULL: another statement. The cursor of a DECLARE gives the rows
 * of its query; a FETCH gives none: to read on in the cursor of that name is left to the protocol. */
const struct alm_cursor_words *alm_prepared_cursor(const alm_prepared *prepared);
/* PREPARE: what is prepared is kept by the protocol. EXECUTE: the cursor gives the values as one row (none: no rows);
 * to run the statement with them is left to the protocol. NULL: another statement. */
const struct alm_prepare_words *alm_prepared_prepare(const alm_prepared *prepared);
const struct alm_execute_words *alm_prepared_execute(const alm_prepared *prepared);
/* EXPLAIN of that statement, with the options of an EXPLAIN EXECUTE; in the same session. */
ALM_NODISCARD alm_status alm_prepare_explain(const alm_prepared *prepared,
                                             const struct alm_execute_words *words,
                                             alm_prepared **out);
/* Parameters: given types (NONE: infer) are completed; result columns if it returns rows. */
ALM_NODISCARD alm_status alm_describe(alm_session *session, alm_prepared *prepared,
                                      const alm_type *given, uint32_t n_given,
                                      const alm_type **params, uint32_t *n_params,
                                      const alm_plan_col **cols, uint32_t *n_cols);

/* Where parameter i (from 0) stands first in the text, once described; -1: nowhere. */
int32_t alm_prepared_param_pos(const alm_prepared *prepared, uint32_t i);

/* Which rows of its result a statement gives; all zero: every row. */
typedef struct alm_execute_options {
    int64_t
        last_rows; /* > 0: at most this many, the last ones. A SELECT is planned with that limit */
    bool
        count_all; /* with last_rows: alm_cursor_rows_before is known, so a SELECT runs as a whole */
} alm_execute_options;
/* Plans and starts. values: one element each, copied. A statement without rows has run when this
 * returns (INSERT, UPDATE, DDL): then alm_cursor_has_rows is false. */
ALM_NODISCARD alm_status alm_execute(alm_session *session, alm_prepared *prepared,
                                     const alm_vec *values, uint32_t n_values, alm_cursor **out);
ALM_NODISCARD alm_status alm_execute_with(alm_session *session, alm_prepared *prepared,
                                          const alm_vec *values, uint32_t n_values,
                                          const alm_execute_options *options, alm_cursor **out);
bool alm_cursor_has_rows(const alm_cursor *cursor);
const alm_plan_col *alm_cursor_cols(const alm_cursor *cursor, uint32_t *n);
int32_t alm_cursor_ts_col(const alm_cursor *cursor);
uint64_t
alm_cursor_statement(const alm_cursor *cursor); /* its number, as query_activity() has it */
/* Rows changed by INSERT, UPDATE, CREATE TABLE AS; -1 where that has no meaning. */
int64_t alm_cursor_affected(const alm_cursor *cursor);
/* Rows that last_rows left out before the first that the cursor gives; 0 where the plan leaves them out uncounted. */
int64_t alm_cursor_rows_before(const alm_cursor *cursor);
/* What the client is to hear besides, in order; NULL: nothing. */
typedef struct alm_notice {
    bool warning;
    const char *sqlstate, *text;
    struct alm_notice *next;
} alm_notice;
const alm_notice *alm_cursor_notice(const alm_cursor *cursor);
/* Command tag without counts, upper case: "SELECT", "INSERT", "CREATE TABLE", "SET" ... */
const char *alm_cursor_tag(const alm_cursor *cursor);
/* INSERT of literals, parameters, now(): in a transaction that goes on it waits for nothing. */
bool alm_prepared_is_values(const alm_prepared *prepared);
/* Few enough nodes to be planned, and described, on a network thread? */
bool alm_prepared_is_small(const alm_prepared *prepared);
/* Small enough to run on a network thread? (from the plan's row estimate; DML and DDL never are) */
bool alm_prepared_is_short(alm_session *session, const alm_prepared *prepared);
bool alm_cursor_is_short(const alm_cursor *cursor);
/*
 * From here on the statements of the session run on a thread that others wait for (brief), or on one of their own. On the
 * former alm_describe, alm_execute of a SELECT and alm_cursor_next give ALM_E_YIELD when they have taken BRIEF_MS, as no estimate of rows says what
 * an expression costs. That is no failure and counts for nothing: the caller makes the same call on another thread. A cursor
 * that yielded starts over there, passes over the rows that it has given, and is short no more. alm_describe counts no failure on
 * the former: who asks there asks early.
 */
void alm_session_brief(alm_session *session, bool brief);
/* Next batch, NULL at the end; borrowed until the next call. */
ALM_NODISCARD alm_status alm_cursor_next(alm_cursor *cursor, alm_batch **out);
/* Rows in hand are given out later: is what the statement was allowed there still? The error is the session's. */
ALM_NODISCARD alm_status alm_cursor_still(alm_cursor *cursor);
/* Has it read its state of the data for longer than storage.snapshot.age.max? Who has it while it waits for its client
 * closes it then, by this error. */
bool alm_cursor_is_aged(const alm_cursor *cursor, alm_error *err);
/* The same, and cancel and time limit: for rows of a batch that are written out piece by piece. */
ALM_NODISCARD alm_status alm_cursor_goes_on(alm_cursor *cursor);
/* The account of its memory, until it is closed: what an answer is made in counts there. */
alm_mem *alm_cursor_memory(alm_cursor *cursor);
/* Bytes that a statement of the session may use. */
int64_t alm_session_memory_max(const alm_session *session);
void alm_cursor_close(alm_cursor *cursor);
/* The client did not want rows for so long: that time does not count against the time limit. */
void alm_cursor_waited(alm_cursor *cursor, int64_t nanos);
/* Its last row is made, or it failed: lists do not show it any more, and none can cancel it. To be said before the
 * client has the end of the answer, who may ask at once on another connection. */
void alm_cursor_ended(alm_cursor *cursor);
/* Rows of a cursor that stood still are asked for again: the time limit starts anew, and a cancel
 * that came meanwhile was not meant for it. */
void alm_cursor_resume(alm_cursor *cursor);
/* Nanoseconds: parse+plan, and execution until now. */
void alm_cursor_times(const alm_cursor *cursor, int64_t *compile_ns, int64_t *execute_ns);

/* ---------------------------------------------------------------------- COPY */

/* The protocol can carry the bytes of COPY FROM STDIN and TO STDOUT; without it they are refused. */
void alm_session_streams(alm_session *session);

/* What a cursor of COPY waits for or gives. */
typedef struct alm_copy_stream {
    bool
        in; /* alm_copy_feed wants bytes; else rows come by alm_cursor_next, to be written by codec/copy */
    const struct alm_copy_format *format;
    bool parquet; /* TO: bytes come by alm_copy_parquet (transfer/parquet.h), not rows */
    uint32_t n_cols;
    const char *const *names;
} alm_copy_stream;
const alm_copy_stream *alm_cursor_copy(const alm_cursor *cursor); /* NULL: it is no COPY */

/* Bytes of COPY FROM STDIN in any pieces; alm_copy_end commits, and alm_cursor_affected has the rows.
 * After a failure, or without an end, closing the cursor drops what came. */
ALM_NODISCARD alm_status alm_copy_feed(alm_cursor *cursor, const char *bytes, size_t n);
ALM_NODISCARD alm_status alm_copy_end(alm_cursor *cursor);
/* What a client is to be told of a COPY FROM that has ended: lines that were left out, lines whose bad
 * values became null, and the first of them in words. Nothing, if it does not want to know. */
typedef struct alm_copy_faults {
    int64_t skipped, nulled;
    const char *const *texts;
    uint32_t n_texts;
} alm_copy_faults;
void alm_copy_told(const alm_cursor *cursor, alm_copy_faults *out);

/* ------------------------------------------------------------------- ingest */

/* Rows that do not come as SQL (CSV, line protocol): a table is made or found, columns matched by
 * name, batches loaded; all visible at commit. */
typedef struct alm_ingest alm_ingest;
/* owner: who has the grants on a table that is made, with access control; ptr NULL: the user. */
ALM_NODISCARD alm_status alm_ingest_begin(alm_session *session,
                                          const alm_table_spec *create_if_missing, bool overwrite,
                                          alm_str owner, alm_ingest **out);
/* Would alm_ingest_begin be allowed? For whoever collects much before there is a table to begin with. */
ALM_NODISCARD alm_status alm_ingest_may(alm_session *session, alm_str table, bool overwrite);
const alm_table *alm_ingest_table(const alm_ingest *in);
ALM_NODISCARD alm_status alm_ingest_append(alm_ingest *in, const alm_batch *rows);
ALM_NODISCARD alm_status alm_ingest_commit(alm_ingest *in, int64_t *rows);
void alm_ingest_rollback(alm_ingest *in);

#endif
