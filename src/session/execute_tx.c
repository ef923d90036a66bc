/*
 * execute_tx.c - transaction blocks: BEGIN, COMMIT, ROLLBACK, savepoints.
 *
 * An implicit transaction is what PostgreSQL makes of a pipeline, and of a text of several statements: what
 * is outside of BEGIN and COMMIT there is one transaction, too. A change of the catalogue commits what came
 * before it.
 *
 * A savepoint keeps a mark of what the block had written when it was set; NULL: nothing.
 */
#include <stdlib.h>
#include <strings.h>

#include "session/session_state.h"

enum { SAVEPOINTS_MAX = 10000 };

struct alm_savepoint {
    struct alm_savepoint *older;
    alm_txn_mark *mark;
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

void alm_drop_writes(alm_session *s)
{
    if (s->txn != NULL)
        alm_txn_rollback(s->txn);
    s->txn = NULL;
}

static alm_status commit_block(alm_cursor *c)
{
    alm_session *s = c->session;
    const char state = s->tx_state;
    alm_txn *txn = s->txn;
    s->tx_state = 'I';
    s->implicit = false;
    s->txn = NULL;
    if (state == 'E') {
        if (txn != NULL)
            alm_txn_rollback(txn);
        c->tag = "ROLLBACK"; /* what really happened */
        return ALM_OK;
    }
    if (txn == NULL)
        return ALM_OK;
    uint64_t lsn = 0;
    return alm_txn_commit(&c->cx, txn, &lsn);
}

/* -------------------------------------------------------- implicit transaction */

void alm_session_implicit(alm_session *s)
{
    if (s->tx_state == 'I')
        s->implicit = true;
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
    if (!alm_session_pending(s))
        return ALM_OK;
    alm_cursor c = {.session = s};
    alm_cursor_begin(&c);
    alm_status st = commit_pending(&c.cx, s);
    if (st != ALM_OK)
        st = alm_session_failed(s, &c.cx);
    alm_cursor_over(&c);
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
    alm_drop_writes(s);
    s->tx_state = 'I';
    s->implicit = false;
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

/* Last word of "a", "savepoint a", "to savepoint \"A\"", without quotes. */
static alm_str savepoint_name(alm_str words)
{
    size_t at = words.len;
    const bool quoted = at > 1 && words.ptr[at - 1] == '"';
    const size_t end = quoted ? at - 1 : at;
    at = end;
    while (at > 0 && words.ptr[at - 1] != (quoted ? '"' : ' '))
        at--;
    return (alm_str){words.ptr + at, end - at};
}

static struct alm_savepoint *find_savepoint(const alm_session *s, alm_str name)
{
    struct alm_savepoint *one = s->savepoints;
    while (one != NULL && !alm_str_ieq(alm_str_of(one->name), name))
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
    s->tx_state = 'T';
    return ALM_OK;
}

static alm_status run_savepoint(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    ALM_TRY(alm_arena_zstr(&c->cx, c->cx.arena, stmt->text, &c->tag));
    const alm_str name = savepoint_name(stmt->value);
    if (s->tx_state == 'I')
        return ALM_OK; /* outside of a block there is nothing to go back to */
    if (strcmp(c->tag, "SAVEPOINT") == 0)
        return set_savepoint(c, stmt, name);
    struct alm_savepoint *found = find_savepoint(s, name);
    if (found == NULL)
        return alm_fail(&c->cx, ALM_E_ARG, stmt->what_pos, "savepoint \"%.*s\" does not exist",
                        (int)name.len, name.ptr);
    if (strcmp(c->tag, "RELEASE") != 0)
        return go_back(c, found);
    ALM_TRY(refuse_aborted(c, stmt));
    forget_down_to(s, found->older);
    return ALM_OK;
}

alm_status alm_run_transaction(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_session *s = c->session;
    if (s->no_blocks)
        return ALM_OK;
    switch ((int)stmt->kind) {
    case ALM_STMT_BEGIN:
        ALM_TRY(alm_arena_zstr(&c->cx, c->cx.arena, stmt->text, &c->tag));
        if (s->tx_state == 'I')
            s->tx_state = 'T'; /* what an implicit transaction has written belongs to the block */
        s->implicit = false;
        return ALM_OK;
    case ALM_STMT_COMMIT:
        alm_savepoints_clear(s);
        return commit_block(c);
    case ALM_STMT_ROLLBACK:
        alm_savepoints_clear(s);
        alm_drop_writes(s);
        s->tx_state = 'I';
        s->implicit = false;
        return ALM_OK;
    default:
        return run_savepoint(c, stmt);
    }
}
