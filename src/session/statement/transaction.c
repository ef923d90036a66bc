/*
 * transaction.c - the statements of transactions: BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION. What a transaction is: core/tx.c.
 */
#include <stdlib.h>

#include "session/core/tx.h"
#include "session/statement/statement.h"

enum { SAVEPOINTS_MAX = 10000 };

static alm_status commit_block(alm_cursor *c, bool chain)
{
    alm_session *s = c->session;
    alm_txn *txn = s->txn;
    uint64_t lsn = 0;
    if (s->tx_state == ALM_TX_FAILED) {
        alm_block_roll_back(s, chain);
        c->tag = "ROLLBACK"; /* what really happened */
        return ALM_OK;
    }
    s->txn = NULL;
    alm_block_end(s, false); /* if it fails no other begins */
    if (txn != NULL)
        ALM_TRY(alm_txn_commit(&c->cx, txn, &lsn));
    alm_settings_commit(s);
    alm_block_end(s, chain);
    return ALM_OK;
}

static struct alm_savepoint *find_savepoint(const alm_session *s, alm_str name)
{
    struct alm_savepoint *one = s->savepoints;
    while (one != NULL && !alm_str_eq(alm_str_of(one->name), name))
        one = one->older;
    return one;
}

static alm_status refuse_aborted(alm_cursor *c, const alm_stmt *stmt)
{
    if (c->session->tx_state != ALM_TX_FAILED)
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
    alm_savepoints_forget(s, to);
    if (to->mark == NULL)
        alm_drop_writes(s);
    else
        ALM_TRY(alm_txn_back_to(&c->cx, s->txn, to->mark));
    alm_settings_back_to(s, to->settings);
    s->tx_read_only = to->read_only;
    s->went_back = to->clock;
    s->tx_state = ALM_TX_BLOCK;
    return ALM_OK;
}

static alm_status run_savepoint(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    ALM_TRY(alm_arena_zstr(&c->cx, c->cx.arena, stmt->text, &c->tag));
    const alm_str name = stmt->value;
    if (s->tx_state == ALM_TX_IDLE)
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
    alm_savepoints_forget(s, found->older);
    return ALM_OK;
}

static alm_status begin_block(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    const alm_tx_words *words = stmt->ext;
    ALM_TRY(alm_arena_zstr(&c->cx, c->cx.arena, stmt->text, &c->tag));
    if (s->tx_state == ALM_TX_BLOCK)
        alm_cursor_note(c, true, "25001", "there is already a transaction in progress");
    if (s->tx_state == ALM_TX_IDLE && !s->implicit)
        alm_transaction_begins(s);
    s->tx_state = ALM_TX_BLOCK; /* what an implicit transaction has written belongs to the block */
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
    if (s->tx_state == ALM_TX_IDLE && words->chain)
        return alm_fail(&c->cx, ALM_E_NO_BLOCK, stmt->pos,
                        "%s AND CHAIN can only be used in transaction blocks", c->tag);
    if (s->tx_state == ALM_TX_IDLE)
        alm_cursor_note(c, true, alm_status_sqlstate(ALM_E_NO_BLOCK),
                        "there is no transaction in progress");
    alm_savepoints_clear(s);
    if (stmt->kind == ALM_STMT_COMMIT)
        return commit_block(c, words->chain);
    alm_block_roll_back(s, words->chain);
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
