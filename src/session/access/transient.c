/*
 * transient.c - REST tokens that live in memory, until a restart: by hash, so that a log-in finds one without looking at the others.
 *
 * Limits      ALM_TOKENS_OF_MAX for one entity, of those of the catalogue and these together; TRANSIENT_MAX of all. Where that is
 *             reached, a token of whoever has most gives its place to one of who has fewer: nobody takes all of them.
 * Ends        Dropped ones are gone from the list. A use moves the end of the token that it found, and of no other: neither of one
 *             that was dropped meanwhile nor of one that has another end by now.
 * Threads     db->access.lock.
 */
#include <stdlib.h>

#include "session/access/access.h"

enum { TRANSIENT_MAX = 10000 };

/* With the lock held, as all of these: the token of that hash, or where it would be. */
static size_t transient_place_of(const alm_db *db, const char *hash, bool *is_there)
{
    size_t lo = 0, hi = db->access.n_transient;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (strcmp(db->access.transient[mid].hash, hash) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *is_there = lo < db->access.n_transient && strcmp(db->access.transient[lo].hash, hash) == 0;
    return lo;
}

static void transient_remove_at(alm_db *db, size_t offset)
{
    alm_token *list = db->access.transient;
    ALM_ASSERT(offset < db->access.n_transient);
    free((char *)(uintptr_t)list[offset].entity);
    db->access.n_transient--;
    memmove(&list[offset], &list[offset + 1], (db->access.n_transient - offset) * sizeof *list);
}

/* Those that have ended, or whose entity is gone, whoever has its name now. */
static void sweep(alm_db *db, const alm_acl *acl, int64_t now_us)
{
    alm_token *list = db->access.transient;
    size_t kept = 0;
    for (size_t i = 0; i < db->access.n_transient; i++) {
        const alm_entity *entity = alm_acl_entity(acl, list[i].entity);
        if (list[i].expires_us > now_us && entity != NULL &&
            entity->generation == list[i].generation)
            list[kept++] = list[i];
        else
            free((char *)(uintptr_t)list[i].entity);
    }
    db->access.n_transient = kept;
}

static uint32_t transient_count_of(const alm_db *db, const char *entity, uint64_t generation,
                                   int64_t now_us)
{
    uint32_t n = 0;
    for (size_t i = 0; i < db->access.n_transient; i++) {
        const alm_token *token = &db->access.transient[i];
        n += token->expires_us > now_us && token->generation == generation &&
             strcmp(token->entity, entity) == 0;
    }
    return n;
}

uint32_t alm_transient_count(alm_db *db, const alm_entity *entity, int64_t now_us)
{
    (void)pthread_mutex_lock(&db->access.lock);
    const uint32_t n = transient_count_of(db, entity->name, entity->generation, now_us);
    (void)pthread_mutex_unlock(&db->access.lock);
    return n;
}

static int by_entity(const void *a, const void *b)
{
    const alm_token *const *x = a, *const *y = b;
    const int c = strcmp((*x)->entity, (*y)->entity);
    if (c != 0)
        return c;
    return (*x)->expires_us<(*y)->expires_us ? -1 : (*x)->expires_us>(*y)->expires_us;
}

/* The one that ends first of whoever has most, if that is more than `mine` and one; n: nobody has. No memory is nobody, too. */
static size_t place_of_most(const alm_db *db, uint32_t mine)
{
    const size_t n_transient = db->access.n_transient;
    size_t most = 0, found = n_transient;
    const alm_token **list = malloc((n_transient + 1) * sizeof *list);
    if (list == NULL)
        return n_transient;
    for (size_t i = 0; i < n_transient; i++)
        list[i] = &db->access.transient[i];
    qsort((void *)list, n_transient, sizeof *list, by_entity);
    for (size_t from = 0, to = 0; from < n_transient; from = to) {
        while (to < n_transient && strcmp(list[to]->entity, list[from]->entity) == 0)
            to++;
        if (to - from > most) {
            most = to - from;
            found = (size_t)(list[from] - db->access.transient);
        }
    }
    free((void *)list);
    return most > (size_t)mine + 1 ? found : n_transient;
}

/* There is room for one more behind it. */
static alm_status transient_make_room(alm_ctx *cx, alm_db *db, const alm_acl *acl,
                                      const alm_token *token, int64_t now_us)
{
    if (db->access.n_transient >= TRANSIENT_MAX)
        sweep(db, acl, now_us);
    if (db->access.n_transient >= TRANSIENT_MAX) {
        const size_t offset =
            place_of_most(db, transient_count_of(db, token->entity, token->generation, now_us));
        if (offset == db->access.n_transient)
            return alm_fail(cx, ALM_E_LIMIT, -1, "there are %d transient tokens already",
                            TRANSIENT_MAX);
        transient_remove_at(db, offset);
    }
    alm_token *bigger =
        realloc(db->access.transient, (db->access.n_transient + 1) * sizeof *bigger);
    if (bigger == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    db->access.transient = bigger;
    return ALM_OK;
}

alm_status alm_transient_add(alm_ctx *cx, alm_db *db, const alm_acl *acl, const alm_token *token,
                             int64_t now_us)
{
    bool is_there = false;
    char *name = strdup(token->entity);
    if (name == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_lock(&db->access.lock);
    const alm_status status = transient_make_room(cx, db, acl, token, now_us);
    if (status == ALM_OK) {
        const size_t offset = transient_place_of(db, token->hash, &is_there);
        alm_token *slot = &db->access.transient[offset];
        ALM_ASSERT(!is_there); /* of 256 random bits */
        memmove(slot + 1, slot, (db->access.n_transient - offset) * sizeof *slot);
        *slot = *token;
        slot->entity = name;
        db->access.n_transient++;
    } else {
        free(name);
    }
    (void)pthread_mutex_unlock(&db->access.lock);
    return status;
}

bool alm_transient_find(alm_db *db, const char *hash, alm_token *out,
                        char name[ALM_ENTITY_NAME_MAX + 1])
{
    bool is_there = false;
    (void)pthread_mutex_lock(&db->access.lock);
    const size_t offset = transient_place_of(db, hash, &is_there);
    if (is_there) {
        *out = db->access.transient[offset];
        ALM_ASSERT(strlen(out->entity) <= ALM_ENTITY_NAME_MAX);
        (void)memcpy(name, out->entity, strlen(out->entity) + 1);
        out->entity = name;
    }
    (void)pthread_mutex_unlock(&db->access.lock);
    return is_there;
}

void alm_transient_move(alm_db *db, const alm_token *found, int64_t expires_us)
{
    bool is_there = false;
    (void)pthread_mutex_lock(&db->access.lock);
    const size_t offset = transient_place_of(db, found->hash, &is_there);
    alm_token *slot = is_there ? &db->access.transient[offset] : NULL;
    if (is_there && slot->generation == found->generation &&
        slot->expires_us == found->expires_us && slot->expires_us < expires_us)
        slot->expires_us = expires_us;
    (void)pthread_mutex_unlock(&db->access.lock);
}

uint32_t alm_transient_drop(alm_db *db, const char *entity, const char *hash)
{
    uint32_t count = 0;
    (void)pthread_mutex_lock(&db->access.lock);
    for (size_t i = db->access.n_transient; i-- > 0;) {
        const alm_token *token = &db->access.transient[i];
        if (strcmp(token->entity, entity) != 0 || (hash[0] != 0 && strcmp(token->hash, hash) != 0))
            continue;
        transient_remove_at(db, i);
        count++;
    }
    (void)pthread_mutex_unlock(&db->access.lock);
    if (count > 0)
        alm_access_changed(db);
    return count;
}
