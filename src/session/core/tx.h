/*
 * tx.h - the open transaction of a session, for the statements that change its state. Private to session/.
 */
#ifndef ALM_SESSION_TX_H
#define ALM_SESSION_TX_H

#include "session/core/session_state.h"

struct alm_savepoint {
    struct alm_savepoint *older;
    alm_txn_mark *mark;
    size_t settings; /* alm_settings_mark */
    uint64_t clock;
    bool read_only;
    char name[];
};

/* Forgets the savepoints that are newer than `kept`. */
void alm_savepoints_forget(alm_session *session, const struct alm_savepoint *kept);
/* The block is over; AND CHAIN begins the next one in the same mode. */
void alm_block_end(alm_session *session, bool chain);
/* Drops what it wrote and set, and ends it. */
void alm_block_roll_back(alm_session *session, bool chain);

#endif
