/*
 * account.c - memory of statements by user: with access control the statements, cursors and prepared statements of one user
 * have a limit together (query.memory.user.max), and those of all users leave something to the built-in administrator
 * (query.memory.admin.reserve), so that he can see who has the memory, and end it.
 *
 * Accounts    statement > user > all users > all statements. The administrator's statements, and all of them without access
 *             control, are charged to the last alone. Temporary files have an account of their own (query.spill.user.max), and so has the memory of new symbols
 *             (storage.symbol.memory.user.max). An account lives as long as a session of its user, or memory of it.
 * Room        Where an account that several users share is full, the statement that holds most gives way, not the one that
 *             asks last: of the user who holds most, whose other statements count, too, so that nobody ends a statement of
 *             another user by running many small ones. query.memory.reserve is left to statements that hold little.
 * Threads     db->accounts.lock guards the list of accounts, db->statements.lock that of statements; sessions of one user share the
 *             account.
 */
#include <stddef.h>
#include <stdlib.h>

#include "session/core/session_state.h"

struct alm_account {
    alm_account *next;
    char *identity;    /* "": not known, since no session of the user was there yet */
    uint64_t maker;    /* alm_maker of it */
    uint32_t sessions; /* and refreshes of views that the user made */
    alm_mem mem;
    alm_mem files;   /* bytes in temporary files */
    alm_mem symbols; /* that the user was the first to write, until their dictionaries are freed */
};

/* Its session cannot release it while it runs another statement: so all of its statements are ended, and its connection releases
 * those that stand still. */
static void end_session_of(const alm_db *db, const alm_cursor *most, const alm_mem *full)
{
    const int64_t now_ns = alm_monotonic_ns();
    for (alm_cursor *cursor = db->statements.first; cursor != NULL; cursor = cursor->held_next)
        if (cursor->session == most->session) {
            cursor->way_ns = now_ns;
            atomic_store(&cursor->mem.gives_way, full);
        }
    atomic_store(&most->session->gives_way, true);
}

static bool account_make_room(alm_mem *root, const alm_mem *full, const alm_mem *asks,
                              int64_t bytes);

void alm_accounts_init(alm_db *db)
{
    (void)pthread_mutex_init(&db->accounts.lock, NULL);
    (void)pthread_mutex_init(&db->statements.lock, NULL);
    db->mem.make_room = account_make_room;
    db->users = (alm_mem){.parent = &db->mem,
                          .name = "the queries of all users",
                          .setting = "query.memory.admin.reserve"};
}

static void account_free(alm_account *account)
{
    free(account->identity);
    free(account);
}

void alm_accounts_deinit(alm_db *db)
{
    for (alm_account *account = db->accounts.first, *next = NULL; account != NULL; account = next) {
        next = account->next;
        account_free(account);
    }
    ALM_ASSERT(db->statements.first == NULL);
    (void)pthread_mutex_destroy(&db->statements.lock);
    (void)pthread_mutex_destroy(&db->accounts.lock);
}

/* An eighth of the reserve is little: so many statements have a part of it. */
static void keep_for_small(alm_mem *mem, const struct alm_conf *conf, int64_t total)
{
    enum { PARTS = 8 };
    const int64_t reserve = conf != NULL ? ALM_MIN(conf->query_memory_reserve, total / 8) : 0;
    __atomic_store_n(&mem->reserve_bytes, reserve, __ATOMIC_RELEASE);
    __atomic_store_n(&mem->small_bytes, reserve / PARTS, __ATOMIC_RELEASE);
}

static int64_t files_max(const struct alm_conf *conf)
{
    if (conf == NULL)
        return INT64_MAX;
    return conf->query_spill_user_max > 0 ? conf->query_spill_user_max : conf->query_spill_max / 2;
}

static int64_t symbols_max(const alm_db *db)
{
    if (db->conf == NULL)
        return INT64_MAX;
    const int64_t all = alm_db_memory_share(db, db->conf->storage_symbol_memory_max, INT64_MAX, 2);
    const int64_t one = db->conf->storage_symbol_memory_user_max;
    return one > 0 ? one : all / 2;
}

void alm_accounts_limit(alm_db *db)
{
    const struct alm_conf *conf = db->conf;
    const int64_t total = __atomic_load_n(&db->mem.limit_bytes, __ATOMIC_ACQUIRE);
    const int64_t reserve = conf != NULL ? conf->query_memory_admin_reserve : 0;
    const int64_t one = conf != NULL ? conf->query_memory_user_max : 0;
    ALM_ASSERT(total > 0);
    keep_for_small(&db->mem, conf, total);
    keep_for_small(&db->users, conf, total);
    __atomic_store_n(&db->users.limit_bytes, total - ALM_MIN(reserve, total / 4), __ATOMIC_RELEASE);
    (void)pthread_mutex_lock(&db->accounts.lock);
    db->accounts.max_bytes = one > 0 ? one : total / 2;
    db->accounts.max_files = files_max(conf);
    db->accounts.max_symbols = symbols_max(db);
    __atomic_store_n(&db->accounts.symbols.limit_bytes, db->accounts.max_symbols, __ATOMIC_RELEASE);
    for (alm_account *account = db->accounts.first; account != NULL; account = account->next) {
        __atomic_store_n(&account->mem.limit_bytes, db->accounts.max_bytes, __ATOMIC_RELEASE);
        __atomic_store_n(&account->files.limit_bytes, db->accounts.max_files, __ATOMIC_RELEASE);
        __atomic_store_n(&account->symbols.limit_bytes, db->accounts.max_symbols, __ATOMIC_RELEASE);
    }
    (void)pthread_mutex_unlock(&db->accounts.lock);
}

static alm_account *account_new(alm_db *db, const char *identity, uint64_t maker)
{
    alm_account *account = calloc(1, sizeof(*account));
    if (account == NULL)
        return NULL;
    account->identity = strdup(identity);
    if (account->identity == NULL) {
        free(account);
        return NULL;
    }
    account->maker = maker;
    account->mem = (alm_mem){.limit_bytes = db->accounts.max_bytes,
                             .parent = &db->users,
                             .name = "the queries of this user",
                             .setting = "query.memory.user.max"};
    account->files = (alm_mem){.limit_bytes = db->accounts.max_files};
    account->symbols = (alm_mem){.limit_bytes = db->accounts.max_symbols};
    account->next = db->accounts.first;
    db->accounts.first = account;
    return account;
}

/* With the lock: memory that is used still is given back to it, so it stays for the next session of the user. */
static void account_leave(alm_db *db, alm_account *account)
{
    ALM_ASSERT(account->sessions > 0);
    if (--account->sessions > 0 || atomic_load(&account->mem.used_bytes) > 0 ||
        atomic_load(&account->files.used_bytes) > 0 ||
        atomic_load(&account->symbols.used_bytes) > 0)
        return;
    alm_account **at = &db->accounts.first;
    while (*at != account)
        at = &(*at)->next;
    *at = account->next;
    account_free(account);
}

void alm_account_leave(alm_session *session)
{
    if (session->account == NULL)
        return;
    (void)pthread_mutex_lock(&session->db->accounts.lock);
    account_leave(session->db, session->account);
    (void)pthread_mutex_unlock(&session->db->accounts.lock);
    session->account = NULL;
}

static bool is_user(const alm_session *session)
{
    if (session->of_users && session->db->conf != NULL && session->db->conf->acl_enabled)
        return true;
    return session->who != NULL && session->who->kind != ALM_PRINCIPAL_ADMIN;
}

/* With the lock. An account that was made for a refresh gets the identity when its user comes. NULL: there is no memory. */
static alm_account *account_of(alm_db *db, const char *identity, uint64_t maker)
{
    for (alm_account *account = db->accounts.first; account != NULL; account = account->next) {
        if (account->maker != maker || (account->identity[0] != 0 && identity[0] != 0 &&
                                        strcmp(account->identity, identity) != 0))
            continue;
        char *known = account->identity[0] == 0 && identity[0] != 0 ? strdup(identity) : NULL;
        if (known != NULL) {
            free(account->identity);
            account->identity = known;
        }
        return account;
    }
    return account_new(db, identity, maker);
}

alm_status alm_account_join_maker(alm_cursor *cursor, uint64_t maker)
{
    alm_db *db = cursor->session->db;
    ALM_ASSERT(cursor->maker_account == NULL);
    cursor->cx.symbols = NULL;
    if (maker == 0)
        return ALM_OK;
    (void)pthread_mutex_lock(&db->accounts.lock);
    cursor->maker_account = account_of(db, "", maker);
    if (cursor->maker_account != NULL)
        cursor->maker_account->sessions++;
    (void)pthread_mutex_unlock(&db->accounts.lock);
    if (cursor->maker_account == NULL)
        return alm_fail(&cursor->cx, ALM_E_MEMORY, -1, "out of memory");
    cursor->cx.symbols = &cursor->maker_account->symbols;
    return ALM_OK;
}

void alm_account_leave_maker(alm_cursor *cursor)
{
    if (cursor->maker_account == NULL)
        return;
    (void)pthread_mutex_lock(&cursor->session->db->accounts.lock);
    account_leave(cursor->session->db, cursor->maker_account);
    (void)pthread_mutex_unlock(&cursor->session->db->accounts.lock);
    cursor->maker_account = NULL;
}

void alm_account_change(alm_session *session)
{
    alm_db *db = session->db;
    if (!is_user(session) || session->who == NULL) {
        alm_account_leave(session);
        return;
    }
    if (session->account != NULL && strcmp(session->account->identity, session->who->identity) == 0)
        return;
    (void)pthread_mutex_lock(&db->accounts.lock);
    alm_account *account =
        account_of(db, session->who->identity, alm_maker(session->who->identity));
    if (account != NULL)
        account->sessions++;
    ALM_ASSERT(session->txn == NULL && session->savepoints == NULL); /* charged to the one before */
    if (session->account != NULL)
        account_leave(db, session->account);
    session->account = account;
    (void)pthread_mutex_unlock(&db->accounts.lock);
}

alm_mem *alm_session_files(alm_session *session)
{
    return session->account != NULL ? &session->account->files : NULL;
}

alm_mem *alm_session_symbols(alm_session *session)
{
    if (session->account != NULL)
        return &session->account->symbols;
    return is_user(session) ? &session->db->accounts.symbols
                            : NULL; /* of a user whose account could not be made */
}

alm_mem *alm_session_memory(alm_session *session)
{
    if (session->account != NULL)
        return &session->account->mem;
    return is_user(session) ? &session->db->users
                            : &session->db->mem; /* there was no memory for an account */
}

/* ------------------------------------------------------------------------- room */

void alm_statement_hold(alm_cursor *cursor)
{
    alm_db *db = cursor->session->db;
    ALM_ASSERT(!cursor->is_held);
    (void)pthread_mutex_lock(&db->statements.lock);
    cursor->held_prev = NULL;
    cursor->held_next = db->statements.first;
    if (cursor->held_next != NULL)
        cursor->held_next->held_prev = cursor;
    db->statements.first = cursor;
    cursor->session->n_held++;
    (void)pthread_mutex_unlock(&db->statements.lock);
    cursor->is_held = true;
}

void alm_statement_release(alm_cursor *cursor)
{
    alm_db *db = cursor->session->db;
    if (!cursor->is_held)
        return;
    (void)pthread_mutex_lock(&db->statements.lock);
    if (cursor->held_next != NULL)
        cursor->held_next->held_prev = cursor->held_prev;
    if (cursor->held_prev != NULL)
        cursor->held_prev->held_next = cursor->held_next;
    else
        db->statements.first = cursor->held_next;
    ALM_ASSERT(cursor->session->n_held > 0);
    if (--cursor->session->n_held == 0) /* what it was to release is released */
        atomic_store(&cursor->session->gives_way, false);
    (void)pthread_mutex_unlock(&db->statements.lock);
    cursor->is_held = false;
}

static bool account_is_below(const alm_mem *mem, const alm_mem *above)
{
    while (mem != NULL && mem != above)
        mem = mem->parent;
    return mem != NULL;
}

typedef struct holding {
    int64_t of_user, own;
} holding;

/* `more` bytes are about to come. Who has no account of a user counts with the statement alone. */
static holding holding_of(const alm_db *db, const alm_mem *mem, int64_t more)
{
    const alm_mem *user =
        mem->parent != NULL && mem->parent->parent == &db->users ? mem->parent : mem;
    return (holding){.of_user = atomic_load(&user->used_bytes) + more,
                     .own = atomic_load(&mem->used_bytes) + more};
}

static bool is_more(holding a, holding b)
{
    return a.of_user != b.of_user ? a.of_user > b.of_user : a.own > b.own;
}

/* Was the statement chosen to end, less than WAY_MS ago? After that no request waits for its memory any more: a statement that never
 * looks at the flag would keep account_make_room from choosing another one. */
static bool is_giving_way(const alm_cursor *cursor, int64_t now_ns)
{
    enum { WAY_MS = 5000 };
    return atomic_load(&cursor->mem.gives_way) != NULL &&
           now_ns - cursor->way_ns < WAY_MS * INT64_C(1000000);
}

/* Of the statements below `full`, the one that holds most; NULL: who asks does. *waits: one gives way already. */
static alm_cursor *holds_most(const alm_db *db, const alm_mem *full, const alm_mem *asks,
                              int64_t bytes, bool *waits)
{
    alm_cursor *most = NULL;
    holding top = holding_of(db, asks, bytes);
    const int64_t now_ns = alm_monotonic_ns();
    *waits = false;
    for (alm_cursor *cursor = db->statements.first; cursor != NULL; cursor = cursor->held_next) {
        const bool same_user =
            cursor->mem.parent == asks->parent && asks->parent->parent == &db->users;
        const holding self = holding_of(db, &cursor->mem, same_user ? bytes : 0);
        if (&cursor->mem == asks || !account_is_below(&cursor->mem, full))
            continue;
        *waits |= is_giving_way(cursor, now_ns);
        if (atomic_load(&cursor->mem.gives_way) == NULL && is_more(self, top)) {
            most = cursor;
            top = self;
        }
    }
    return most;
}

static bool account_make_room(alm_mem *root, const alm_mem *full, const alm_mem *asks,
                              int64_t bytes)
{
    alm_db *db = (alm_db *)(void *)((char *)root - offsetof(alm_db, mem));
    bool waits = false;
    if (full->parent == &db->users) /* his own statements: he sees to them himself */
        return false;
    (void)pthread_mutex_lock(&db->statements.lock);
    alm_cursor *most = holds_most(db, full, asks, bytes, &waits);
    if (!waits && most != NULL)
        end_session_of(db, most, full);
    (void)pthread_mutex_unlock(&db->statements.lock);
    return waits || most != NULL;
}
