/*
 * tx.c - transaction blocks: BEGIN, COMMIT, ROLLBACK, savepoints.
 *
 * An implicit transaction is what PostgreSQL makes of a pipeline, and of a text of several statements: what
 * is outside of BEGIN and COMMIT there is one transaction, too. A change of the catalogue commits what came
 * before it.
 *
 * A savepoint keeps a mark of what the block had written when it was set; NULL: nothing.
 */
#include <stdlib.h>
#include <strings.h>

#include "session/core/session_state.h"

enum { SAVEPOINTS_MAX = 10000 };

struct alm_savepoint {
    struct alm_savepoint *older;
    alm_txn_mark *mark;
    size_t settings; /* alm_settings_mark */
    uint64_t clock;
    bool read_only;
    char name[];
};

/* Forgets those that are newer than `kept`. */
static void forget_down_to(alm_session *s, const struct alm_savepoint *kept)
{
    while (s->savepoints != kept) {
        struct alm_savepoint *one = s->savepoints;
        s->savepoints = one->older;
        s->n_savepoints--;
        alm_txn_mark_free(one->mark);
        free(one);
    }
}

void alm_savepoints_clear(alm_session *s)
{
    forget_down_to(s, NULL);
}

size_t alm_savepoint_settings(const alm_session *s)
{
    return s->savepoints != NULL ? s->savepoints->settings : 0;
}

uint64_t alm_session_savepoint_clock(const alm_session *s)
{
    return s->savepoint_clock;
}
uint64_t alm_session_went_back(const alm_session *s)
{
    return s->went_back;
}

void alm_drop_writes(alm_session *s)
{
    if (s->txn != NULL)
        alm_txn_rollback(s->txn);
    s->txn = NULL;
}

/* The block has failed: only what its newest savepoint has can come back, and memory is not held for the rest. */
void alm_drop_failed_writes(alm_session *s)
{
    alm_ctx cx = {.conf = s->db->conf, .io = s->db->io};
    if (s->txn == NULL)
        return;
    if (s->savepoints == NULL || s->savepoints->mark == NULL)
        alm_drop_writes(s);
    else if (alm_txn_back_to(&cx, s->txn, s->savepoints->mark) != ALM_OK)
        alm_error_clear(&cx); /* no memory for lists: ROLLBACK TO does it */
}

/* The block is over; AND CHAIN begins the next one in the same mode. */
static void end_block(alm_session *s, bool chain)
{
    s->tx_state = chain ? 'T' : 'I';
    s->implicit = false;
    s->tx_looked = false;
    s->went_back = 0;
    s->settings.version++; /* transaction_read_only */
}

static void roll_back(alm_session *s, bool chain)
{
    alm_drop_writes(s);
    alm_settings_back_to(s, 0);
    end_block(s, chain);
}

static alm_status commit_block(alm_cursor *c, bool chain)
{
    alm_session *s = c->session;
    alm_txn *txn = s->txn;
    uint64_t lsn = 0;
    if (s->tx_state == 'E') {
        roll_back(s, chain);
        c->tag = "ROLLBACK"; /* what really happened */
        return ALM_OK;
    }
    s->txn = NULL;
    end_block(s, false); /* if it fails no other begins */
    if (txn != NULL)
        ALM_TRY(alm_txn_commit(&c->cx, txn, &lsn));
    alm_settings_commit(s);
    end_block(s, chain);
    return ALM_OK;
}

/* -------------------------------------------------------- implicit transaction */

void alm_session_implicit(alm_session *s)
{
    if (s->tx_state != 'I' || s->implicit)
        return;
    alm_transaction_begins(s);
    s->implicit = true;
}

void alm_session_settle(alm_session *s)
{
    if (s->tx_state != 'I' || s->txn != NULL)
        return;
    s->implicit = false;
    alm_settings_commit(s);
}

bool alm_session_pending(const alm_session *s)
{
    return s->tx_state == 'I' && s->txn != NULL;
}

static alm_status commit_pending(alm_ctx *cx, alm_session *s)
{
    alm_txn *txn = s->txn;
    uint64_t lsn = 0;
    s->txn = NULL;
    return alm_txn_commit(cx, txn, &lsn);
}

alm_status alm_session_implicit_end(alm_session *s)
{
    s->implicit = false;
    alm_status st = ALM_OK;
    if (alm_session_pending(s)) {
        alm_cursor c = {.session = s};
        alm_cursor_begin(&c);
        st = commit_pending(&c.cx, s);
        if (st != ALM_OK)
            st = alm_session_failed(s, &c.cx);
        alm_cursor_over(&c);
    }
    alm_session_settle(s);
    return st;
}

void alm_session_script(alm_session *s)
{
    s->no_blocks = false;
    alm_session_implicit(s);
}

void alm_session_script_drop(alm_session *s)
{
    alm_savepoints_clear(s);
    roll_back(s, false);
    s->no_blocks = true;
}

alm_status alm_session_script_end(alm_session *s)
{
    if (s->tx_state == 'I') {
        s->no_blocks = true;
        return alm_session_implicit_end(s);
    }
    alm_session_script_drop(s);
    s->err = (alm_error){.code = ALM_E_ARG,
                         .sql_pos = -1,
                         .msg = "the statements end inside of a transaction block: COMMIT or "
                                "ROLLBACK is missing, nothing was stored"};
    return s->err.code;
}

alm_status alm_session_commit_start(alm_session *s, void (*done)(void *arg), void *arg,
                                    bool *started)
{
    *started = false;
    if (!alm_session_pending(s))
        return ALM_OK;
    alm_cursor c = {.session = s};
    alm_cursor_begin(&c);
    alm_txn *txn = s->txn;
    alm_status st = alm_txn_commit_start(&c.cx, txn, done, arg, &s->commit);
    *started = s->commit != NULL;
    if (st != ALM_OK || *started) /* else it is as it was */
        s->txn = NULL;
    if (st != ALM_OK)
        st = alm_session_failed(s, &c.cx);
    alm_cursor_over(&c);
    return st;
}

alm_status alm_session_commit_end(alm_session *s)
{
    alm_ctx cx = {0};
    const alm_status st = alm_txn_commit_end(&cx, s->commit);
    s->commit = NULL;
    s->implicit = false;
    return st == ALM_OK ? ALM_OK : alm_session_failed(s, &cx);
}

alm_status alm_commit_before(alm_cursor *c)
{
    if (!alm_session_pending(c->session))
        return ALM_OK;
    ALM_TRY(commit_pending(&c->cx, c->session));
    return alm_cursor_look_again(c);
}

alm_status alm_outside_block(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    if (s->txn == NULL)
        return ALM_OK;
    if (!alm_session_pending(s))
        return alm_fail(&c->cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "%s after a write in the same transaction is not supported", c->tag);
    return alm_commit_before(c);
}

/* ----------------------------------------------------------------- savepoints */

static struct alm_savepoint *find_savepoint(const alm_session *s, alm_str name)
{
    struct alm_savepoint *one = s->savepoints;
    while (one != NULL && !alm_str_eq(alm_str_of(one->name), name))
        one = one->older;
    return one;
}

static alm_status refuse_aborted(alm_cursor *c, const alm_stmt *stmt)
{
    if (c->session->tx_state != 'E')
        return ALM_OK;
    return alm_fail(&c->cx, ALM_E_ABORTED, stmt->pos,
                    "current transaction is aborted, commands ignored until end of "
                    "transaction block");
}

static alm_status set_savepoint(alm_cursor *c, const alm_stmt *stmt, alm_str name)
{
    alm_session *s = c->session;
    ALM_TRY(refuse_aborted(c, stmt));
    if (s->n_savepoints >= SAVEPOINTS_MAX)
        return alm_fail(&c->cx, ALM_E_LIMIT, stmt->pos, "too many savepoints (limit %d)",
                        SAVEPOINTS_MAX);
    struct alm_savepoint *one = calloc(1, sizeof *one + name.len + 1);
    if (one == NULL)
        return alm_fail(&c->cx, ALM_E_MEMORY, stmt->pos, "out of memory");
    memcpy(one->name, name.ptr, name.len);
    const alm_status st = s->txn == NULL ? ALM_OK : alm_txn_mark_new(&c->cx, s->txn, &one->mark);
    if (st != ALM_OK) {
        free(one);
        return st;
    }
    one->older = s->savepoints;
    one->settings = alm_settings_mark(s);
    one->clock = ++s->savepoint_clock;
    one->read_only = s->tx_read_only;
    s->savepoints = one;
    s->n_savepoints++;
    return ALM_OK;
}

/* The savepoint itself stays. */
static alm_status go_back(alm_cursor *c, struct alm_savepoint *to)
{
    alm_session *s = c->session;
    forget_down_to(s, to);
    if (to->mark == NULL)
        alm_drop_writes(s);
    else
        ALM_TRY(alm_txn_back_to(&c->cx, s->txn, to->mark));
    alm_settings_back_to(s, to->settings);
    s->tx_read_only = to->read_only;
    s->went_back = to->clock;
    s->tx_state = 'T';
    return ALM_OK;
}

static alm_status run_savepoint(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    ALM_TRY(alm_arena_zstr(&c->cx, c->cx.arena, stmt->text, &c->tag));
    const alm_str name = stmt->value;
    if (s->tx_state == 'I')
        return alm_fail(&c->cx, ALM_E_NO_BLOCK, stmt->pos,
                        "%s can only be used in transaction blocks",
                        strcmp(c->tag, "SAVEPOINT") == 0 ? "SAVEPOINT"
                        : strcmp(c->tag, "RELEASE") == 0 ? "RELEASE SAVEPOINT"
                                                         : "ROLLBACK TO SAVEPOINT");
    if (strcmp(c->tag, "SAVEPOINT") == 0)
        return set_savepoint(c, stmt, name);
    struct alm_savepoint *found = find_savepoint(s, name);
    if (found == NULL)
        return alm_fail(&c->cx, ALM_E_SAVEPOINT, stmt->what_pos,
                        "savepoint \"%.*s\" does not exist", (int)name.len, name.ptr);
    if (strcmp(c->tag, "RELEASE") != 0)
        return go_back(c, found);
    ALM_TRY(refuse_aborted(c, stmt));
    forget_down_to(s, found->older);
    return ALM_OK;
}

static alm_status begin_block(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    const alm_tx_words *words = stmt->ext;
    ALM_TRY(alm_arena_zstr(&c->cx, c->cx.arena, stmt->text, &c->tag));
    if (s->tx_state == 'T')
        alm_cursor_note(c, true, "25001", "there is already a transaction in progress");
    if (s->tx_state == 'I' && !s->implicit)
        alm_transaction_begins(s);
    s->tx_state = 'T'; /* what an implicit transaction has written belongs to the block */
    s->implicit = false;
    s->settings.version++;
    if (words->read_only == 0)
        return ALM_OK;
    return alm_transaction_mode(&c->cx, s, words->read_only > 0, stmt->pos);
}

/* COMMIT, ROLLBACK */
static alm_status finish_block(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    const alm_tx_words *words = stmt->ext;
    if (s->tx_state == 'I' && words->chain)
        return alm_fail(&c->cx, ALM_E_NO_BLOCK, stmt->pos,
                        "%s AND CHAIN can only be used in transaction blocks", c->tag);
    if (s->tx_state == 'I')
        alm_cursor_note(c, true, alm_status_sqlstate(ALM_E_NO_BLOCK),
                        "there is no transaction in progress");
    alm_savepoints_clear(s);
    if (stmt->kind == ALM_STMT_COMMIT)
        return commit_block(c, words->chain);
    roll_back(s, words->chain);
    return ALM_OK;
}

alm_status alm_run_transaction(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    if (c->session->no_blocks)
        return ALM_OK;
    if (stmt->kind == ALM_STMT_BEGIN)
        return begin_block(c, stmt);
    if (stmt->kind == ALM_STMT_SAVEPOINT)
        return run_savepoint(c, stmt);
    return finish_block(c, stmt);
}

/* SET TRANSACTION, SET SESSION CHARACTERISTICS: what is said of the isolation changes nothing. */
alm_status alm_run_set_transaction(alm_cursor *c, const alm_stmt *stmt, alm_param *params,
                                   uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &c->cx;
    alm_session *s = c->session;
    const alm_tx_words *words = stmt->ext;
    if (words->session) {
        if (words->isolation != NULL)
            ALM_TRY(alm_session_set(cx, s, "default_transaction_isolation", words->isolation));
        if (words->read_only == 0)
            return ALM_OK;
        return alm_session_set(cx, s, "default_transaction_read_only",
                               words->read_only > 0 ? "on" : "off");
    }
    if (!alm_in_transaction(s))
        alm_cursor_note(c, true, alm_status_sqlstate(ALM_E_NO_BLOCK),
                        "SET TRANSACTION can only be used in transaction blocks");
    if (words->read_only == 0)
        return ALM_OK;
    return alm_transaction_mode(cx, s, words->read_only > 0, stmt->pos);
}
