/*
 * transaction.c - the statements of transactions: BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION. What a transaction is: core/tx.c.
 */
#include <stdlib.h>

#include "session/core/tx.h"
#include "session/statement/statement.h"

enum { SAVEPOINTS_MAX = 10000 };

static alm_status commit_block(alm_cursor *cursor, bool chain)
{
    alm_session *session = cursor->session;
    alm_txn *txn = session->txn;
    uint64_t lsn = 0;
    if (session->tx_state == ALM_TX_FAILED) {
        alm_block_roll_back(session, chain);
        cursor->tag = "ROLLBACK"; /* what really happened */
        return ALM_OK;
    }
    session->txn = NULL;
    alm_block_end(session, false); /* if it fails no other begins */
    if (txn != NULL)
        ALM_TRY(alm_txn_commit(&cursor->cx, txn, &lsn));
    alm_settings_commit(session);
    alm_block_end(session, chain);
    return ALM_OK;
}

static struct alm_savepoint *find_savepoint(const alm_session *session, alm_str name)
{
    struct alm_savepoint *one = session->savepoints;
    while (one != NULL && !alm_str_eq(alm_str_of(one->name), name))
        one = one->older;
    return one;
}

static alm_status refuse_aborted(alm_cursor *cursor, const alm_stmt *stmt)
{
    if (cursor->session->tx_state != ALM_TX_FAILED)
        return ALM_OK;
    return alm_fail(&cursor->cx, ALM_E_ABORTED, stmt->pos,
                    "current transaction is aborted, commands ignored until end of "
                    "transaction block");
}

static alm_status set_savepoint(alm_cursor *cursor, const alm_stmt *stmt, alm_str name)
{
    alm_session *session = cursor->session;
    ALM_TRY(refuse_aborted(cursor, stmt));
    if (session->n_savepoints >= SAVEPOINTS_MAX)
        return alm_fail(&cursor->cx, ALM_E_LIMIT, stmt->pos, "too many savepoints (limit %d)",
                        SAVEPOINTS_MAX);
    struct alm_savepoint *one = calloc(1, sizeof *one + name.len + 1);
    if (one == NULL)
        return alm_fail(&cursor->cx, ALM_E_MEMORY, stmt->pos, "out of memory");
    memcpy(one->name, name.ptr, name.len);
    const alm_status status =
        session->txn == NULL ? ALM_OK : alm_txn_mark_new(&cursor->cx, session->txn, &one->mark);
    if (status != ALM_OK) {
        free(one);
        return status;
    }
    one->older = session->savepoints;
    one->settings = alm_settings_mark(session);
    one->clock = ++session->savepoint_clock;
    one->read_only = session->tx_read_only;
    session->savepoints = one;
    session->n_savepoints++;
    return ALM_OK;
}

/* The savepoint itself stays. */
static alm_status go_back(alm_cursor *cursor, struct alm_savepoint *to)
{
    alm_session *session = cursor->session;
    alm_savepoints_forget(session, to);
    if (to->mark == NULL)
        alm_drop_writes(session);
    else
        ALM_TRY(alm_txn_back_to(&cursor->cx, session->txn, to->mark));
    alm_settings_back_to(session, to->settings);
    session->tx_read_only = to->read_only;
    session->went_back = to->clock;
    session->tx_state = ALM_TX_BLOCK;
    return ALM_OK;
}

static alm_status run_savepoint(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_session *session = cursor->session;
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, stmt->text, &cursor->tag));
    const alm_str name = stmt->value;
    if (session->tx_state == ALM_TX_IDLE)
        return alm_fail(&cursor->cx, ALM_E_NO_BLOCK, stmt->pos,
                        "%s can only be used in transaction blocks",
                        strcmp(cursor->tag, "SAVEPOINT") == 0 ? "SAVEPOINT"
                        : strcmp(cursor->tag, "RELEASE") == 0 ? "RELEASE SAVEPOINT"
                                                              : "ROLLBACK TO SAVEPOINT");
    if (strcmp(cursor->tag, "SAVEPOINT") == 0)
        return set_savepoint(cursor, stmt, name);
    struct alm_savepoint *found = find_savepoint(session, name);
    if (found == NULL)
        return alm_fail(&cursor->cx, ALM_E_SAVEPOINT, stmt->what_pos,
                        "savepoint \"%.*s\" does not exist", (int)name.len, name.ptr);
    if (strcmp(cursor->tag, "RELEASE") != 0)
        return go_back(cursor, found);
    ALM_TRY(refuse_aborted(cursor, stmt));
    alm_savepoints_forget(session, found->older);
    return ALM_OK;
}

static alm_status begin_block(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_session *session = cursor->session;
    const alm_tx_words *words = stmt->ext;
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, stmt->text, &cursor->tag));
    if (session->tx_state == ALM_TX_BLOCK)
        alm_cursor_note(cursor, true, "25001", "there is already a transaction in progress");
    if (session->tx_state == ALM_TX_IDLE && !session->implicit)
        alm_transaction_begins(session);
    session->tx_state =
        ALM_TX_BLOCK; /* what an implicit transaction has written belongs to the block */
    session->implicit = false;
    session->settings.version++;
    if (words->read_only == 0)
        return ALM_OK;
    return alm_transaction_mode(&cursor->cx, session, words->read_only > 0, stmt->pos);
}

/* COMMIT, ROLLBACK */
static alm_status finish_block(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_session *session = cursor->session;
    const alm_tx_words *words = stmt->ext;
    if (session->tx_state == ALM_TX_IDLE && words->chain)
        return alm_fail(&cursor->cx, ALM_E_NO_BLOCK, stmt->pos,
                        "%s AND CHAIN can only be used in transaction blocks", cursor->tag);
    if (session->tx_state == ALM_TX_IDLE)
        alm_cursor_note(cursor, true, alm_status_sqlstate(ALM_E_NO_BLOCK),
                        "there is no transaction in progress");
    alm_savepoints_clear(session);
    if (stmt->kind == ALM_STMT_COMMIT)
        return commit_block(cursor, words->chain);
    alm_block_roll_back(session, words->chain);
    return ALM_OK;
}

alm_status alm_run_transaction(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                               uint32_t n)
{
    (void)params;
    (void)n;
    if (cursor->session->no_blocks)
        return ALM_OK;
    if (stmt->kind == ALM_STMT_BEGIN)
        return begin_block(cursor, stmt);
    if (stmt->kind == ALM_STMT_SAVEPOINT)
        return run_savepoint(cursor, stmt);
    return finish_block(cursor, stmt);
}

/* SET TRANSACTION, SET SESSION CHARACTERISTICS: what is said of the isolation changes nothing. */
alm_status alm_run_set_transaction(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                                   uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &cursor->cx;
    alm_session *session = cursor->session;
    const alm_tx_words *words = stmt->ext;
    if (words->session) {
        if (words->isolation != NULL)
            ALM_TRY(
                alm_session_set(cx, session, "default_transaction_isolation", words->isolation));
        if (words->read_only == 0)
            return ALM_OK;
        return alm_session_set(cx, session, "default_transaction_read_only",
                               words->read_only > 0 ? "on" : "off");
    }
    if (!alm_in_transaction(session))
        alm_cursor_note(cursor, true, alm_status_sqlstate(ALM_E_NO_BLOCK),
                        "SET TRANSACTION can only be used in transaction blocks");
    if (words->read_only == 0)
        return ALM_OK;
    return alm_transaction_mode(cx, session, words->read_only > 0, stmt->pos);
}
