/*
 * tx.c - the open transaction of a session: what it has written, its savepoints, its end (statement/transaction.c: BEGIN to ROLLBACK).
 *
 * An implicit transaction is what PostgreSQL makes of a pipeline, and of a text of several statements: what
 * is outside of BEGIN and COMMIT there is one transaction, too. A change of the catalogue commits what came
 * before it.
 *
 * A savepoint keeps a mark of what the block had written when it was set; NULL: nothing.
 */
#include <stdlib.h>

#include "session/core/tx.h"

void alm_savepoints_forget(alm_session *s, const struct alm_savepoint *kept)
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
    alm_savepoints_forget(s, NULL);
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

void alm_block_end(alm_session *s, bool chain)
{
    s->tx_state = chain ? ALM_TX_BLOCK : ALM_TX_IDLE;
    s->implicit = false;
    s->tx_looked = false;
    s->went_back = 0;
    s->settings.version++; /* transaction_read_only */
}

void alm_block_roll_back(alm_session *s, bool chain)
{
    alm_drop_writes(s);
    alm_settings_back_to(s, 0);
    alm_block_end(s, chain);
}

/* -------------------------------------------------------- implicit transaction */

void alm_session_implicit(alm_session *s)
{
    if (s->tx_state != ALM_TX_IDLE || s->implicit)
        return;
    alm_transaction_begins(s);
    s->implicit = true;
}

void alm_session_settle(alm_session *s)
{
    if (s->tx_state != ALM_TX_IDLE || s->txn != NULL)
        return;
    s->implicit = false;
    alm_settings_commit(s);
}

bool alm_session_pending(const alm_session *s)
{
    return s->tx_state == ALM_TX_IDLE && s->txn != NULL;
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
    alm_block_roll_back(s, false);
    s->no_blocks = true;
}

alm_status alm_session_script_end(alm_session *s)
{
    if (s->tx_state == ALM_TX_IDLE) {
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
