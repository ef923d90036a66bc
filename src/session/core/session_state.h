/*
 * session_state.h - the structs behind session.h. Private to session/.
 *
 * Ownership   alm_db owns storage, registry, workers and zones; sessions are linked into it so that a
 *             stop can cancel them. A prepared statement owns its text and tree; a cursor owns one
 *             arena with everything of one execution, a snapshot and its running operators.
 * Threads     db->lock guards the list of sessions. session->cancel is atomic; all else of a session
 *             is used by one thread at a time.
 */
#ifndef ALM_SESSION_SESSION_STATE_H
#define ALM_SESSION_SESSION_STATE_H

#include <pthread.h>

#include "auth/rights.h"
#include "base/access.h"
#include "base/conf.h"
#include "base/lookup.h"
#include "session/core/plan_cache.h"
#include "session/core/requests.h"
#include "session/session.h"
#include "time/zone.h"

/* What alm_statement.check has found: the plan of the statement, NULL where it has none or that does not matter; the columns of its result
 * begin with `first`. */
typedef struct alm_checked {
    alm_plan *plan;
    uint32_t first;
} alm_checked;

/* One kind of statement (sql/parse/statement.def): names and types without running it; running it. */
typedef struct alm_statement {
    alm_status (*check)(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                        alm_checked *out);
    alm_status (*run)(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n);
} alm_statement;

struct alm_db {
    const alm_statement *kinds; /* by alm_stmt_kind: statements.c */
    alm_status (*texts)(alm_ctx *cx, const char *what, const char *const **cells,
                        size_t *rows); /* lists for table functions: lists.c */
    const alm_io *io;
    const struct alm_conf *conf;
    char root[4096];
    char archive[8192]; /* of the log; "": none */
    alm_storage *storage;
    alm_registry *registry;
    alm_workers *workers;
    alm_zones *zones;
    alm_mem mem;   /* all queries */
    alm_mem users; /* those of users, not of the built-in admin; part of mem */
    struct {
        pthread_mutex_t lock;
        struct alm_account *first; /* of each user with a session */
        int64_t max_bytes, max_files, max_symbols;
        alm_mem symbols; /* of users without an account */
    } accounts;
    struct {
        pthread_mutex_t lock;
        struct alm_cursor *first; /* by alm_cursor.held_next */
    } statements; /* that hold memory: those that run, and cursors with rows to come */
    alm_requests requests;
    alm_plan_cache plans;
    int64_t query_mem_bytes;
    int64_t
        ram_bytes; /* that this process may use; processors too: when the settings were last read */
    uint32_t processors;
    _Atomic uint64_t next_statement;
    alm_db_counters counters;
    atomic_bool stopping;
    pthread_mutex_t lock;
    alm_session *sessions;
    int32_t n_sessions;
    int64_t started_us;              /* wall clock */
    const alm_cookies *cookies;      /* who keeps sessions of HTTP; NULL: nobody */
    struct alm_copy_jobs *copy_jobs; /* imports by COPY FROM a file */
    struct alm_jobs *exports;        /* exports by COPY TO a file */
    struct {
        pthread_mutex_t lock; /* one at a time */
        alm_reload_fn run;
        void *arg;
    } reload;
    struct alm_refreshers *refreshers; /* NULL: they do not run */
    struct {
        pthread_mutex_t lock;
        struct alm_refresh_run *first;
    } refreshes; /* that run: statement/matview.h */
    struct {
        pthread_mutex_t lock;
        alm_acl *acl; /* the newest that was looked at, or NULL */
        bool is_made;
        struct alm_audit_log *audit;
        alm_token *transient; /* access/transient.c: by hash; entity: malloc */
        size_t n_transient;
        _Atomic uint64_t version;  /* goes up with what decides about logins and is no record */
        struct alm_logins *logins; /* access/login.c */
        struct alm_oidc *oidc;     /* users of the identity provider; NULL: there are none */
    } access;
};

enum {
    ALM_SETTINGS_MAX = 64,
    ALM_SETTINGS_OWN_MAX = 100,
    ALM_SETTINGS_ALL_MAX = ALM_SETTINGS_MAX + ALM_SETTINGS_OWN_MAX
};

/* See settings.c. */
typedef struct alm_settings {
    char *now[ALM_SETTINGS_ALL_MAX], *start[ALM_SETTINGS_ALL_MAX];
    char *own
        [ALM_SETTINGS_OWN_MAX]; /* names that the client has made up; behind those of the table */
    uint32_t n_own;
    struct alm_setting_undo *undo; /* of the transaction, newest last */
    size_t n_undo, undo_cap;
    uint64_t version;   /* goes up with every change */
    uint64_t forgotten; /* the version that alm_session_forget_settings left */
} alm_settings;

/* The statement that runs, or ran last, for others to see. */
typedef struct alm_activity {
    pthread_mutex_t lock;
    int64_t begin_us; /* wall clock */
    char text[1024];  /* its beginning */
    bool fixed;       /* it stays: what the session runs is part of that */
    char application[64];
    uint64_t settings_version; /* that `application` is of */
} alm_activity;

/* Why a session may not write, whatever its transactions say. */
typedef enum alm_read_only {
    ALM_READ_WRITE,
    ALM_READ_ONLY_USER,     /* its user may not: ALM_E_DENIED */
    ALM_READ_ONLY_INTERFACE /* nobody may by this interface: ALM_E_READONLY (pg.security.readonly) */
} alm_read_only;

struct alm_session {
    alm_db *db;
    alm_session *prev, *next;
    char user[ALM_ENTITY_NAME_MAX + 1];
    const char *identity;              /* of who, or user; others read it with activity.lock */
    alm_principal *who;                /* NULL: access control does not ask */
    alm_principal *assumed;            /* service account, or NULL */
    alm_rights *rights;                /* of the one or the other; NULL: not looked up yet */
    struct alm_credential *credential; /* of a user of the provider; or NULL */
    bool renews;                       /* a job: it asks the provider itself (alm_session_renew) */
    int64_t answer_until_ns, answer_asked_ns;
    uint64_t answer_forgets;
    alm_seen seen; /* that `rights` are of */
    uint64_t turn; /* goes up when `rights` may be others */
    bool
        by_identity; /* with `rights`: his name reads as one of the house, so current_user() gives his identity */
    char plan_key[ALM_ENTITY_NAME_MAX +
                  60]; /* user, groups and epoch of `rights`, as plans are kept by; "": NULL */
    char protocol[16];
    int32_t pid; /* of the connection; 0: it has none */
    alm_ends ends;
    int64_t since_us; /* wall clock when it began */
    alm_activity activity;
    int64_t brief_ns;         /* alm_session_brief: until when; 0: any time */
    atomic_bool cancel, gone; /* gone: for good */
    atomic_bool
        gives_way; /* its cursors that stand still release their memory (mem.gives_way) at the next look */
    uint32_t n_held;            /* of its cursors, in db->statements; by its lock */
    atomic_bool ended;          /* by somebody: alm_session_is_ended */
    _Atomic int halted;         /* an alm_status: alm_session_halt */
    _Atomic uint64_t statement; /* number of the one that runs, 0: none */
    bool of_users; /* what it runs is for users, whom it is not: no memory of the administrator's */
    struct alm_account *account; /* NULL: its memory is of no user's */
    uint64_t last_statement;
    struct alm_cursor *open;        /* cursors with rows to come, the one that ran last first */
    uint8_t by;                     /* ALM_BY_HTTP ...: of db->counters */
    uint64_t seed;                  /* of its statements' seeds */
    int64_t timeout_ms;             /* 0: configured default */
    int64_t timeout_max_ms;         /* instead of query.timeout; 0: that itself */
    int64_t idle_ms, idle_block_ms; /* 0: no limit */
    bool no_blocks, streams;
    alm_read_only read_only;
    const char *reads_only;           /* why this request may only read; NULL: it may do more */
    bool exports;                     /* rows of this request are a file for the client: /exp */
    bool copies;                      /* rows are a file of the server: the SELECT of a COPY TO */
    bool default_read_only;           /* default_transaction_read_only */
    bool tx_read_only;                /* the transaction that is open */
    bool tx_looked;                   /* it has run a statement that reads or writes */
    bool implicit;                    /* statements outside of a block are one transaction */
    _Atomic alm_tx_state tx_state;    /* others list it */
    struct alm_savepoint *savepoints; /* of the block, newest first */
    int32_t n_savepoints;
    uint64_t savepoint_clock; /* how many there have been */
    uint64_t went_back;       /* clock of the savepoint that ROLLBACK TO named last */
    alm_txn
        *txn; /* open transaction that has written, or NULL: of the block, or the implicit one */
    struct alm_txn_commit_run *commit; /* under way; NULL: none */
    alm_request_user *requests;        /* joined, or NULL */
    alm_mem mem;                       /* prepared statements and settings */
    alm_arena arena;
    alm_settings settings;
    alm_session_list_fn list; /* of the protocol, or NULL */
    void *list_arg;
    alm_error err;
};

struct alm_prepared {
    alm_session *session;
    alm_mem mem;
    alm_arena arena;
    alm_str text;
    alm_stmt *stmt;
    alm_kept_plan *origin; /* owns text and stmt, which was never parsed here; NULL: they are own */
    alm_kept_plan *kept;   /* plan of the last execution, or NULL */
    int64_t last_rows;     /* limit of that plan (alm_execute_options); 0: none */
    bool keeps;            /* its plan may be kept, as far as the text says */
    bool again;            /* the text has come before */
    bool planned;          /* once, here */
    bool no_template;      /* one was tried in vain */
    uint32_t pause;        /* executions for which no plan is kept: those before did not hold */
    bool plain_values;     /* alm_prepared_is_values */
    bool ran;
    bool yielded; /* its next execution is the last one, elsewhere */
    int64_t parse_ns;
    int64_t nodes;            /* of the tree, without rows of VALUES; 0: it was not parsed */
    const int32_t *param_pos; /* of alm_describe */
    uint32_t n_param_pos;
};

/* Are statements part of a transaction that goes on behind them? */
static inline bool alm_in_transaction(const alm_session *session)
{
    return session->tx_state == ALM_TX_BLOCK ||
           (session->tx_state == ALM_TX_IDLE && session->implicit);
}

struct alm_cursor {
    alm_session *session;
    alm_cursor *open_next; /* of session->open */
    bool is_open;
    alm_cursor *held_prev, *held_next; /* of db->statements, by its lock */
    bool is_held;
    int64_t way_ns; /* with that lock: when mem.gives_way was set */
    alm_mem mem;
    alm_arena arena;
    alm_ctx cx;
    alm_lookup lookup;
    struct alm_account
        *maker_account;     /* of who made the view that is refreshed; NULL: the session's counts */
    alm_prepared *prepared; /* what alm_execute was given; NULL: nothing */
    alm_access access;
    alm_rights *rights;            /* what cx->access asks; NULL: everything is allowed */
    alm_seen seen;                 /* when the questions were answered last */
    uint64_t turn;                 /* of the session, then */
    const char *definer_of;        /* view whose definer is asked; NULL: the session's user is */
    const struct alm_asked *asked; /* that were answered with yes: standing.h */
    alm_snapshot *snapshot;
    int64_t snapshot_bytes; /* charged to `mem` for a snapshot of the open transaction */
    alm_plan *plan;
    alm_kept_plan *kept;      /* owns `plan`; NULL: the arena does */
    alm_exec *exec;           /* NULL, of a plan: it yielded, and is opened anew */
    _Atomic int64_t yield_ns; /* cx.yield_ns points here, and so do those of helpers */
    bool yielded;
    alm_execute_options options;
    int64_t rows_before; /* that options.last_rows leaves out, where they were counted */
    int64_t rows_given,
        rows_to_pass; /* in batches; rows that the cursor still has to skip, as it starts over or last_rows leaves them out */
    alm_plan_col *cols;
    uint32_t n_cols;
    int32_t ts_col;
    bool has_rows;
    struct alm_returned *returned,
        *last_returned;     /* RETURNING: rows that were not handed out yet */
    uint32_t returned_from; /* their first column in the plan */
    bool returns;
    alm_batch *ready; /* result that is made at once (EXPLAIN, SHOW x), handed out piece by piece */
    uint32_t ready_row;
    alm_copy_stream *stream;        /* of COPY, or NULL */
    struct alm_copy_in *copy_in;    /* COPY FROM STDIN, or NULL */
    void (*release)(alm_cursor *c); /* what its statement left to be freed with it; NULL: nothing */
    struct alm_pq_request *parquet_request; /* of COPY TO STDOUT (FORMAT parquet), or NULL */
    struct alm_pq_writer *parquet;          /* its writer, once rows are asked for */
    int64_t affected;
    const char *tag;
    alm_notice *notices, *last_notice;
    uint64_t statement;
    int64_t compile_ns, execute_ns;
    bool counted, failed; /* it is one of those that db->counters has; it ended by an error */
    int64_t map_faults;   /* of all, when the statement began */
};

/* account.c. Memory of the statements of one user. */
typedef struct alm_account alm_account;
void alm_accounts_init(alm_db *db);
void alm_accounts_deinit(alm_db *db);
void alm_accounts_limit(alm_db *db); /* the settings have changed */
/* New symbols of the cursor count for the user of that alm_maker, and not for the session's, until alm_account_leave_maker; 0: for no
 * user. */
ALM_NODISCARD alm_status alm_account_join_maker(struct alm_cursor *cursor, uint64_t maker);
void alm_account_leave_maker(struct alm_cursor *cursor);
/* The session's user is another now. */
void alm_account_change(alm_session *session);
void alm_account_leave(alm_session *session);
/* From here to alm_statement_release its memory counts among those that can give way. */
void alm_statement_hold(alm_cursor *cursor);
void alm_statement_release(alm_cursor *cursor);

void alm_db_look_at_machine(alm_db *db);
int64_t alm_session_timeout_ms(const alm_session *session); /* of its next statement; 0: none */

/* Context of one execution: arena, limits, clock, cancel flag of the session. */
void alm_cursor_context(alm_cursor *cursor);
/* The same, with a number of its own: what runs from here on can be cancelled. */
void alm_cursor_begin(alm_cursor *cursor);
/* It does not run any more; its arena goes. */
void alm_cursor_over(alm_cursor *cursor);

/* Copies the context's error to the session; returns its code. */
alm_status alm_session_failed(alm_session *session, const alm_ctx *cx);

/* Name of the setting that SHOW or SET names, as the table has it ("time zone": TimeZone); else the
 * words themselves. */
alm_status alm_setting_name(alm_ctx *cx, alm_str words, const char **out);

/* settings.c. Changes in a transaction are undone with it; local ones end with it. */
ALM_NODISCARD alm_status alm_setting_change(alm_ctx *cx, alm_session *session, const char *name,
                                            const char *value, bool local);
ALM_NODISCARD alm_status alm_settings_reset(alm_ctx *cx, alm_session *session); /* RESET ALL */
size_t alm_settings_mark(const alm_session *session);
void alm_settings_back_to(alm_session *session, size_t mark);
void alm_settings_commit(alm_session *session);
void alm_settings_deinit(alm_session *session);
/* A block or an implicit transaction begins: in the mode of the session. */
void alm_transaction_begins(alm_session *session);
ALM_NODISCARD alm_status alm_transaction_mode(alm_ctx *cx, alm_session *session, bool read_only,
                                              int32_t pos);
bool alm_session_refuses_writes(const alm_session *session); /* by mode, not by right */

/* tx.c */
size_t alm_savepoint_settings(const alm_session *session); /* mark of the newest; 0: none */
void alm_savepoints_clear(alm_session *session);
void alm_drop_writes(alm_session *session); /* what the open transaction has written */
/* After an error in a block: keeps only what ROLLBACK TO its newest savepoint needs. */
void alm_drop_failed_writes(alm_session *session);

/* activity.c. Of the text its beginning is kept, without secrets. */
void alm_activity_begin(alm_session *session, alm_str text, int64_t now_us);
/* The same for all statements to come. */
void alm_activity_fix(alm_session *session, alm_str text, int64_t now_us);
void alm_activity_settings(alm_session *session); /* settings have changed, maybe */

/* The table functions of exec/ in the form sql/ asks for. */
const alm_source_if *alm_session_sources(void);

/* cursor.c */
/* Something the client is to hear. */
void alm_cursor_note(alm_cursor *cursor, bool warning, const char *sqlstate, const char *format,
                     ...) ALM_PRINTF(4, 5);
/* What it reads is kept for it from now on, as long as storage.snapshot.age.max says. */
void alm_cursor_ages(alm_cursor *cursor);
/* A load reads nothing from here on but how *table (NULL: none) is made: no files are kept for it, however long its client sends. */
ALM_NODISCARD alm_status alm_cursor_keeps_table(alm_cursor *cursor, const alm_table **table);
/* From here on it may take as long as a new execution. */
void alm_cursor_restart_time_limit(alm_cursor *cursor);
/* A newer snapshot. Plans made on the one before must not be used any more. */
alm_status alm_cursor_look_again(alm_cursor *cursor);

/* Catalogue changes are refused in a block that has written, and commit an implicit transaction. */
alm_status alm_outside_block(alm_cursor *cursor, const alm_stmt *stmt);
/* Commits an implicit transaction before a statement that cannot go on with it. */
alm_status alm_commit_before(alm_cursor *cursor);

/* seen.c. Of now; until_us 0. To be taken before what it stands for is read. */
alm_seen alm_seen_now(const alm_db *db);
bool alm_seen_holds(const alm_db *db, const alm_seen *seen);
/* Something that decides about logins has changed and is no record. */
void alm_access_changed(alm_db *db);
/* ALM_E_LOGIN_OVER: somebody has ended the session. */
ALM_NODISCARD alm_status alm_session_goes_on(alm_ctx *cx, const alm_session *session);
/* ALM_E_DENIED, ALM_E_READONLY: it may not write (alm_read_only). */
ALM_NODISCARD alm_status alm_session_may_write(alm_ctx *cx, const alm_session *session,
                                               int32_t pos);
/* ALM_E_DENIED: this request may only read (alm_session_reads_only). */
ALM_NODISCARD alm_status alm_session_may_act(alm_ctx *cx, const alm_session *session, int32_t pos);
/* alm_session_halt: the reason as an error. */
ALM_NODISCARD alm_status alm_session_is_halted(alm_ctx *cx, const alm_session *session);
/* principal.c. Statements from here on run for the account, which is retained; NULL: for who logged in. */
void alm_session_assume(alm_session *session, alm_principal *account);
/* Work of another session for the same user, with the account that he has assumed: of a job, whose thread may wait for the provider. */
void alm_session_become_as(alm_session *session, const alm_session *other);
/* The name by which views and settings know who logged in: the identity of a user of the provider whose name reads as one of the house.
 * As long as the session's user is the same. */
const char *alm_session_shown_user(const alm_session *session);
/* The rights of whoever the statement ran for are given back. */
void alm_cursor_access_over(alm_cursor *cursor);

#endif
