/*
 * requests.h - one budget for what clients send and the server keeps until it is worked off: bodies, lines, rows of lines that are not
 * committed, messages of the PostgreSQL protocol; another for statements that it keeps prepared.
 *
 * Accounts    request.memory.max is for all requests. With access control each user has a part of it, request.memory.user.max, so that
 *             nobody takes it from the others. A failure names the account that was full.
 * Lifetime    A user is joined by each session or connection that charges him; the last one to leave frees the accounts, when all that
 *             was charged to them is given back.
 * Threads     Any; a lock of the database.
 */
#ifndef ALM_SESSION_REQUESTS_H
#define ALM_SESSION_REQUESTS_H

#include <pthread.h>

#include "session/session.h"

typedef struct alm_request_user {
    alm_mem requests; /* its parent is alm_db_request_memory */
    alm_mem prepared; /* statements: counted beside the account of all statements */
    struct alm_request_user *next;
    int64_t refs;
    char identity[];
} alm_request_user;

typedef struct alm_requests {
    pthread_mutex_t lock;
    alm_mem all;
    alm_request_user *users;
} alm_requests;

void alm_requests_init(alm_db *db);
void alm_requests_deinit(alm_db *db);
void alm_requests_conf(alm_db *db); /* settings have changed */

/* identity NULL: nobody in particular (no access control), without a limit of his own. */
ALM_NODISCARD alm_status alm_requests_join(alm_ctx *cx, alm_db *db, const char *identity,
                                           alm_request_user **out);
void alm_requests_leave(alm_db *db, alm_request_user *user); /* NULL: nothing */
/* Who the session is of now: joined for it, until it becomes another or ends. NULL: no memory, the error is on the session. */
alm_request_user *alm_session_requests(alm_session *session);
void alm_session_requests_over(alm_session *session);

#endif
