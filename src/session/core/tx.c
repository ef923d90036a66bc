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

void alm_savepoints_forget(alm_session *session, const struct alm_savepoint *kept)
{
    while (session->savepoints != kept) {
        struct alm_savepoint *one = session->savepoints;
        session->savepoints = one->older;
        session->n_savepoints--;
        alm_txn_mark_free(one->mark);
        free(one);
    }
}

void alm_savepoints_clear(alm_session *session)
{
    alm_savepoints_forget(session, NULL);
}

size_t alm_savepoint_settings(const alm_session *session)
{
    return session->savepoints != NULL ? session->savepoints->settings : 0;
}

uint64_t alm_session_savepoint_clock(const alm_session *session)
{
    return session->savepoint_clock;
}
uint64_t alm_session_went_back(const alm_session *session)
{
    return session->went_back;
}

void alm_drop_writes(alm_session *session)
{
    if (session->txn != NULL)
        alm_txn_rollback(session->txn);
    session->txn = NULL;
}

/* The block has failed: only what its newest savepoint has can come back, and memory is not held for the rest. */
void alm_drop_failed_writes(alm_session *session)
{
    alm_ctx cx = {.conf = session->db->conf, .io = session->db->io};
    if (session->txn == NULL)
        return;
    if (session->savepoints == NULL || session->savepoints->mark == NULL)
        alm_drop_writes(session);
    else if (alm_txn_back_to(&cx, session->txn, session->savepoints->mark) != ALM_OK)
        alm_error_clear(&cx); /* no memory for lists: ROLLBACK TO does it */
}

void alm_block_end(alm_session *session, bool chain)
{
    session->tx_state = chain ? ALM_TX_BLOCK : ALM_TX_IDLE;
    session->implicit = false;
    session->tx_looked = false;
    session->went_back = 0;
    session->settings.version++; /* transaction_read_only */
}

void alm_block_roll_back(alm_session *session, bool chain)
{
    alm_drop_writes(session);
    alm_settings_back_to(session, 0);
    alm_block_end(session, chain);
}

/* -------------------------------------------------------- implicit transaction */

void alm_session_implicit(alm_session *session)
{
    if (session->tx_state != ALM_TX_IDLE || session->implicit)
        return;
    alm_transaction_begins(session);
    session->implicit = true;
}

void alm_session_settle(alm_session *session)
{
    if (session->tx_state != ALM_TX_IDLE || session->txn != NULL)
        return;
    session->implicit = false;
    alm_settings_commit(session);
}

bool alm_session_pending(const alm_session *session)
{
    return session->tx_state == ALM_TX_IDLE && session->txn != NULL;
}

static alm_status commit_pending(alm_ctx *cx, alm_session *session)
{
    alm_txn *txn = session->txn;
    uint64_t lsn = 0;
    session->txn = NULL;
    return alm_txn_commit(cx, txn, &lsn);
}

alm_status alm_session_implicit_end(alm_session *session)
{
    session->implicit = false;
    alm_status status = ALM_OK;
    if (alm_session_pending(session)) {
        alm_cursor cursor = {.session = session};
        alm_cursor_begin(&cursor);
        status = commit_pending(&cursor.cx, session);
        if (status != ALM_OK)
            status = alm_session_failed(session, &cursor.cx);
        alm_cursor_over(&cursor);
    }
    alm_session_settle(session);
    return status;
}

void alm_session_script(alm_session *session)
{
    session->no_blocks = false;
    alm_session_implicit(session);
}

void alm_session_script_drop(alm_session *session)
{
    alm_savepoints_clear(session);
    alm_block_roll_back(session, false);
    session->no_blocks = true;
}

alm_status alm_session_script_end(alm_session *session)
{
    if (session->tx_state == ALM_TX_IDLE) {
        session->no_blocks = true;
        return alm_session_implicit_end(session);
    }
    alm_session_script_drop(session);
    session->err = (alm_error){.code = ALM_E_ARG,
                               .sql_pos = -1,
                               .msg = "the statements end inside of a transaction block: COMMIT or "
                                      "ROLLBACK is missing, nothing was stored"};
    return session->err.code;
}

alm_status alm_session_commit_start(alm_session *session, void (*done)(void *arg), void *arg,
                                    bool *started)
{
    *started = false;
    if (!alm_session_pending(session))
        return ALM_OK;
    alm_cursor cursor = {.session = session};
    alm_cursor_begin(&cursor);
    alm_txn *txn = session->txn;
    alm_status status = alm_txn_commit_start(&cursor.cx, txn, done, arg, &session->commit);
    *started = session->commit != NULL;
    if (status != ALM_OK || *started) /* else it is as it was */
        session->txn = NULL;
    if (status != ALM_OK)
        status = alm_session_failed(session, &cursor.cx);
    alm_cursor_over(&cursor);
    return status;
}

alm_status alm_session_commit_end(alm_session *session)
{
    alm_ctx cx = {0};
    const alm_status status = alm_txn_commit_end(&cx, session->commit);
    session->commit = NULL;
    session->implicit = false;
    return status == ALM_OK ? ALM_OK : alm_session_failed(session, &cx);
}

alm_status alm_commit_before(alm_cursor *cursor)
{
    if (!alm_session_pending(cursor->session))
        return ALM_OK;
    ALM_TRY(commit_pending(&cursor->cx, cursor->session));
    return alm_cursor_look_again(cursor);
}

alm_status alm_outside_block(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_session *session = cursor->session;
    if (session->txn == NULL)
        return ALM_OK;
    if (!alm_session_pending(session))
        return alm_fail(&cursor->cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "%s after a write in the same transaction is not supported", cursor->tag);
    return alm_commit_before(cursor);
}
