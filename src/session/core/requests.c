/* requests.c - see requests.h. */
#include "session/core/requests.h"

#include <stdlib.h>

#include "session/core/session_state.h"

void alm_requests_init(alm_db *db)
{
    (void)pthread_mutex_init(&db->requests.lock, NULL);
    db->requests.all.name = "request.memory.max";
    alm_requests_conf(db);
}

void alm_requests_deinit(alm_db *db)
{
    ALM_ASSERT(db->requests.users == NULL);
    (void)pthread_mutex_destroy(&db->requests.lock);
}

alm_mem *alm_db_request_memory(alm_db *db)
{
    return &db->requests.all;
}

/* With the lock held, or before there is anybody else. */
static void set_limits(const alm_db *db, alm_request_user *user)
{
    const struct alm_conf *conf = db->conf;
    const bool one = user->identity[0] != 0;
    const int64_t requests = conf != NULL ? conf->request_memory_user_max : 0;
    const int64_t prepared = conf != NULL ? conf->pg_prepared_memory_user_max : 0;
    const int64_t half = db->requests.all.limit_bytes / 2;
    __atomic_store_n(&user->requests.limit_bytes,
                     !one           ? 0
                     : requests > 0 ? requests
                                    : half,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&user->prepared.limit_bytes, alm_db_memory_share(db, prepared, INT64_MAX, 8),
                     __ATOMIC_RELEASE);
}

void alm_requests_conf(alm_db *db)
{
    const int64_t all = db->conf != NULL ? db->conf->request_memory_max : 0;
    (void)pthread_mutex_lock(&db->requests.lock);
    __atomic_store_n(&db->requests.all.limit_bytes, alm_db_memory_share(db, all, INT64_MAX, 4),
                     __ATOMIC_RELEASE);
    for (alm_request_user *user = db->requests.users; user != NULL; user = user->next)
        set_limits(db, user);
    (void)pthread_mutex_unlock(&db->requests.lock);
}

/* NULL: no memory. */
static alm_request_user *requests_find_or_make(alm_db *db, const char *identity)
{
    alm_request_user *user = db->requests.users;
    while (user != NULL && strcmp(user->identity, identity) != 0)
        user = user->next;
    if (user != NULL)
        return user;
    const size_t len = strlen(identity) + 1;
    user = calloc(1, sizeof *user + len);
    if (user == NULL)
        return NULL;
    (void)memcpy(user->identity, identity, len);
    user->requests.name = "request.memory.user.max";
    user->requests.parent = &db->requests.all;
    user->prepared.name = "pg.prepared.memory.user.max";
    set_limits(db, user);
    user->next = db->requests.users;
    db->requests.users = user;
    return user;
}

alm_status alm_requests_join(alm_ctx *cx, alm_db *db, const char *identity, alm_request_user **out)
{
    (void)pthread_mutex_lock(&db->requests.lock);
    alm_request_user *user = requests_find_or_make(db, identity != NULL ? identity : "");
    if (user != NULL)
        user->refs++;
    (void)pthread_mutex_unlock(&db->requests.lock);
    *out = user;
    return user != NULL ? ALM_OK : alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
}

void alm_requests_leave(alm_db *db, alm_request_user *user)
{
    if (user == NULL)
        return;
    (void)pthread_mutex_lock(&db->requests.lock);
    ALM_ASSERT(user->refs > 0);
    if (--user->refs == 0) {
        alm_request_user **at = &db->requests.users;
        while (*at != user)
            at = &(*at)->next;
        *at = user->next;
        ALM_ASSERT(atomic_load(&user->requests.used_bytes) == 0);
        ALM_ASSERT(atomic_load(&user->prepared.used_bytes) == 0);
        free(user);
    }
    (void)pthread_mutex_unlock(&db->requests.lock);
}

alm_request_user *alm_session_requests(alm_session *session)
{
    if (session->requests != NULL)
        return session->requests;
    alm_ctx cx = {0};
    if (alm_requests_join(&cx, session->db, session->who != NULL ? session->identity : NULL,
                          &session->requests) == ALM_OK)
        return session->requests;
    session->err = cx.err;
    session->err.sql_pos = -1;
    return NULL;
}

void alm_session_requests_over(alm_session *session)
{
    alm_requests_leave(session->db, session->requests);
    session->requests = NULL;
}
