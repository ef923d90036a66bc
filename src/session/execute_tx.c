/*
 * execute_tx.c - transaction blocks: BEGIN, COMMIT, ROLLBACK, savepoints.
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
        drop_writes(s);
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
