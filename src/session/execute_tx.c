/*
 * execute_tx.c - transaction blocks: BEGIN, COMMIT, ROLLBACK, savepoints.
 *
 * A savepoint can be set only while the block has written nothing. Going back to one is then the same
 * as dropping all that was written since, which is what the storage can do.
 */
#include <stdlib.h>
#include <strings.h>

#include "session/session_state.h"

void alm_savepoints_clear(alm_session *s)
{
    free(s->savepoints);
    s->savepoints = NULL;
    s->savepoints_len = 0;
}

static void drop_writes(alm_session *s)
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

/* Offset of the newest savepoint of that name, or -1. */
static int64_t find_savepoint(const alm_session *s, alm_str name)
{
    int64_t found = -1;
    for (size_t at = 0; at < s->savepoints_len;) {
        const alm_str one = alm_str_of(s->savepoints + at);
        if (alm_str_ieq(one, name))
            found = (int64_t)at;
        at += one.len + 1;
    }
    return found;
}

static alm_status set_savepoint(alm_cursor *c, const alm_stmt *stmt, alm_str name)
{
    alm_session *s = c->session;
    if (s->txn != NULL)
        return alm_fail(&c->cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "SAVEPOINT after a write in the same transaction is not supported");
    if (s->tx_state == 'E')
        return alm_fail(&c->cx, ALM_E_ABORTED, stmt->pos,
                        "current transaction is aborted, commands ignored until end of "
                        "transaction block");
    if (s->savepoints_len + name.len + 1 > (64 << 10))
        return alm_fail(&c->cx, ALM_E_LIMIT, stmt->pos, "too many savepoints");
    char *grown = realloc(s->savepoints, s->savepoints_len + name.len + 1);
    if (grown == NULL)
        return alm_fail(&c->cx, ALM_E_MEMORY, stmt->pos, "out of memory");
    s->savepoints = grown;
    (void)memcpy(grown + s->savepoints_len, name.ptr, name.len);
    grown[s->savepoints_len + name.len] = 0;
    s->savepoints_len += name.len + 1;
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
    const int64_t found = find_savepoint(s, name);
    if (found < 0)
        return alm_fail(&c->cx, ALM_E_ARG, stmt->what_pos, "savepoint \"%.*s\" does not exist",
                        (int)name.len, name.ptr);
    if (strcmp(c->tag, "RELEASE") == 0) {
        if (s->tx_state == 'E')
            return alm_fail(&c->cx, ALM_E_ABORTED, stmt->pos,
                            "current transaction is aborted, commands ignored until end of "
                            "transaction block");
        s->savepoints_len = (size_t)found;
        return ALM_OK;
    }
    s->savepoints_len = (size_t)found + name.len + 1; /* ROLLBACK TO keeps the savepoint */
    drop_writes(s);
    s->tx_state = 'T';
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
            s->tx_state = 'T';
        return ALM_OK;
    case ALM_STMT_COMMIT:
        alm_savepoints_clear(s);
        return commit_block(c);
    case ALM_STMT_ROLLBACK:
        alm_savepoints_clear(s);
        drop_writes(s);
        s->tx_state = 'I';
        return ALM_OK;
    default:
        return run_savepoint(c, stmt);
    }
}
