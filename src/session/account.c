/*
 * account.c - memory of statements by user: with access control the statements, cursors and prepared statements of one user
 * have a limit together (query.memory.user.max), and those of all users leave something to the built-in administrator
 * (query.memory.admin.reserve), so that he can see who has the memory, and end it.
 *
 * Accounts    statement > user > all users > all statements. The administrator's statements, and all of them without access
 *             control, are charged to the last alone. An account lives as long as a session of its user, or memory of it.
 * Threads     db->accounts.lock guards the list; sessions of one user share the account.
 */
#include <stdlib.h>

#include "session/access.h"

struct alm_account {
    alm_account *next;
    char *identity;
    uint32_t sessions;
    alm_mem mem;
};

void alm_accounts_init(alm_db *db)
{
    (void)pthread_mutex_init(&db->accounts.lock, NULL);
    db->users = (alm_mem){.parent = &db->mem,
                          .name = "the queries of all users",
                          .setting = "query.memory.admin.reserve"};
}

static void account_free(alm_account *a)
{
    free(a->identity);
    free(a);
}

void alm_accounts_deinit(alm_db *db)
{
    for (alm_account *a = db->accounts.first, *next = NULL; a != NULL; a = next) {
        next = a->next;
        account_free(a);
    }
    (void)pthread_mutex_destroy(&db->accounts.lock);
}

void alm_accounts_limit(alm_db *db)
{
    const struct alm_conf *conf = db->conf;
    const int64_t total = __atomic_load_n(&db->mem.limit_bytes, __ATOMIC_ACQUIRE);
    const int64_t reserve = conf != NULL ? conf->query_memory_admin_reserve : 0;
    const int64_t one = conf != NULL ? conf->query_memory_user_max : 0;
    ALM_ASSERT(total > 0);
    __atomic_store_n(&db->users.limit_bytes, total - ALM_MIN(reserve, total / 4), __ATOMIC_RELEASE);
    (void)pthread_mutex_lock(&db->accounts.lock);
    db->accounts.max_bytes = one > 0 ? one : total / 2;
    for (alm_account *a = db->accounts.first; a != NULL; a = a->next)
        __atomic_store_n(&a->mem.limit_bytes, db->accounts.max_bytes, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&db->accounts.lock);
}

static alm_account *account_new(alm_db *db, const char *identity)
{
    alm_account *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return NULL;
    a->identity = strdup(identity);
    if (a->identity == NULL) {
        free(a);
        return NULL;
    }
    a->mem = (alm_mem){.limit_bytes = db->accounts.max_bytes,
                       .parent = &db->users,
                       .name = "the queries of this user",
                       .setting = "query.memory.user.max"};
    a->next = db->accounts.first;
    db->accounts.first = a;
    return a;
}

/* With the lock: memory that is used still is given back to it, so it stays for the next session of the user. */
static void leave(alm_db *db, alm_account *a)
{
    ALM_ASSERT(a->sessions > 0);
    if (--a->sessions > 0 || atomic_load(&a->mem.used_bytes) > 0)
        return;
    alm_account **at = &db->accounts.first;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    account_free(a);
}

void alm_account_leave(alm_session *s)
{
    if (s->account == NULL)
        return;
    (void)pthread_mutex_lock(&s->db->accounts.lock);
    leave(s->db, s->account);
    (void)pthread_mutex_unlock(&s->db->accounts.lock);
    s->account = NULL;
}

static bool is_user(const alm_session *s)
{
    if (s->of_users && s->db->conf != NULL && s->db->conf->acl_enabled)
        return true;
    return s->who != NULL && s->who->kind != ALM_PRINCIPAL_ADMIN;
}

void alm_account_change(alm_session *s)
{
    alm_db *db = s->db;
    if (!is_user(s) || s->who == NULL) {
        alm_account_leave(s);
        return;
    }
    if (s->account != NULL && strcmp(s->account->identity, s->who->identity) == 0)
        return;
    (void)pthread_mutex_lock(&db->accounts.lock);
    alm_account *a = db->accounts.first;
    while (a != NULL && strcmp(a->identity, s->who->identity) != 0)
        a = a->next;
    if (a == NULL)
        a = account_new(db, s->who->identity);
    if (a != NULL)
        a->sessions++;
    if (s->account != NULL)
        leave(db, s->account);
    s->account = a;
    (void)pthread_mutex_unlock(&db->accounts.lock);
}

alm_mem *alm_session_memory(alm_session *s)
{
    if (s->account != NULL)
        return &s->account->mem;
    return is_user(s) ? &s->db->users : &s->db->mem; /* there was no memory for an account */
}
