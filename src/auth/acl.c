/*
 * acl.c - records of the catalogue as an alm_acl, and look-ups in it. Records come by ascending key; keys are a letter
 * and names with a zero behind each part but the last, so that they are sorted by the names.
 */
#include "auth/acl.h"

#include <stdlib.h>

#include "auth/acl_record.h"
#include "auth/entity_name.h"
#include "base/hash.h"

/* ------------------------------------------------------------------------ loading */

/* One array for the records of each letter: counted first, so that nothing moves. */
static void auth_acl_count(alm_acl *acl, char letter, uint32_t *of)
{
    uint32_t *const counts[] = {&acl->n_entities, &acl->n_members, &acl->n_aliases,
                                &acl->n_tokens,   &acl->n_assumes, &acl->n_definers};
    static const char letters[] = {ALM_KEY_ENTITY, ALM_KEY_MEMBER, ALM_KEY_ALIAS,
                                   ALM_KEY_TOKEN,  ALM_KEY_ASSUME, ALM_KEY_DEFINER};
    for (size_t i = 0; i < ALM_COUNT(letters); i++)
        if (letters[i] == letter)
            *of = (*counts[i])++;
}

static alm_status auth_acl_make_room(alm_ctx *cx, alm_acl *acl)
{
    alm_arena *arena = &acl->arena;
    ALM_TRY(ALM_NEWN(cx, arena, acl->n_entities + 1, &acl->entities));
    ALM_TRY(ALM_NEWN(cx, arena, acl->n_members + 1, &acl->members));
    ALM_TRY(ALM_NEWN(cx, arena, acl->n_aliases + 1, &acl->aliases));
    ALM_TRY(ALM_NEWN(cx, arena, acl->n_tokens + 1, &acl->tokens));
    ALM_TRY(ALM_NEWN(cx, arena, acl->n_assumes + 1, &acl->assumes));
    ALM_TRY(ALM_NEWN(cx, arena, acl->n_definers + 1, &acl->definers));
    acl->n_entities = acl->n_members = acl->n_aliases = acl->n_tokens = 0;
    acl->n_assumes = acl->n_definers = 0;
    return ALM_OK;
}

static alm_status auth_acl_read_record(alm_ctx *cx, alm_acl *acl, alm_record record)
{
    uint32_t i = 0;
    auth_acl_count(acl, record.key.ptr[0], &i);
    switch (record.key.ptr[0]) {
    case ALM_KEY_ENTITY:
        return alm_record_entity(cx, &acl->arena, record, &acl->entities[i]);
    case ALM_KEY_MEMBER:
        return alm_record_pair(cx, &acl->arena, record, &acl->members[i]);
    case ALM_KEY_ALIAS:
        return alm_record_pair(cx, &acl->arena, record, &acl->aliases[i]);
    case ALM_KEY_TOKEN:
        return alm_record_token(cx, &acl->arena, record, &acl->tokens[i]);
    case ALM_KEY_ASSUME:
        return alm_record_assume(cx, &acl->arena, record, &acl->assumes[i]);
    case ALM_KEY_DEFINER:
        return alm_record_definer(cx, &acl->arena, record, &acl->definers[i]);
    case ALM_KEY_SECRET:
        acl->has_secret = true;
        return alm_record_secret(cx, record, acl->secret);
    default:
        return ALM_OK; /* of somebody else */
    }
}

static alm_status auth_acl_load(alm_ctx *cx, const alm_snapshot *snap, alm_acl *acl)
{
    static const char first[] = {ALM_KEY_GRANT}, behind[] = {ALM_KEY_GRANT + 1};
    const uint32_t n = (uint32_t)alm_snapshot_record_count(snap);
    uint32_t unused = 0;
    acl->epoch = alm_snapshot_records_lsn(snap);
    acl->records = alm_snapshot_records(snap);
    acl->first_grant = alm_records_from(acl->records, (alm_str){first, 1});
    const uint32_t end = alm_records_from(acl->records, (alm_str){behind, 1});
    ALM_ASSERT(acl->first_grant <= end && end <= n);
    acl->n_grants = end - acl->first_grant;
    for (uint32_t i = acl->first_grant == 0 ? end : 0; i < n;
         i = i + 1 == acl->first_grant ? end : i + 1)
        auth_acl_count(acl, alm_snapshot_record_at(snap, i).key.ptr[0], &unused);
    ALM_TRY(auth_acl_make_room(cx, acl));
    for (uint32_t i = acl->first_grant == 0 ? end : 0; i < n;
         i = i + 1 == acl->first_grant ? end : i + 1)
        ALM_TRY(auth_acl_read_record(cx, acl, alm_snapshot_record_at(snap, i)));
    return alm_acl_index(cx, acl);
}

static int by_alias_hash(const void *a, const void *b)
{
    const alm_alias_slot *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->alias < y->alias ? -1 : x->alias > y->alias;
}

static alm_status index_aliases(alm_ctx *cx, alm_acl *acl)
{
    const uint32_t n_aliases = acl->n_aliases;
    acl->n_alias_groups = 0;
    ALM_TRY(ALM_NEWN(cx, &acl->arena, n_aliases + 1, &acl->by_alias));
    ALM_TRY(ALM_NEWN(cx, &acl->arena, n_aliases + 1, &acl->alias_groups));
    for (uint32_t i = 0; i < n_aliases; i++) {
        const alm_pair *pair = &acl->aliases[i];
        const uint32_t group = acl->n_alias_groups;
        if (group == 0 || strcmp(acl->alias_groups[group - 1], pair->first) != 0)
            acl->alias_groups[acl->n_alias_groups++] = pair->first; /* aliases come by group */
        acl->by_alias[i] = (alm_alias_slot){.hash = alm_hash_str(alm_str_of(pair->second)),
                                            .alias = i,
                                            .group = acl->n_alias_groups - 1};
    }
    if (n_aliases > 0)
        qsort(acl->by_alias, n_aliases, sizeof *acl->by_alias, by_alias_hash);
    return ALM_OK;
}

static int by_reading_hash(const void *a, const void *b)
{
    const alm_name_slot *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->entity < y->entity ? -1 : x->entity > y->entity;
}

static int auth_acl_by_number(const void *a, const void *b)
{
    const alm_rounds *x = a, *y = b;
    return x->iterations < y->iterations ? -1 : x->iterations > y->iterations;
}

static alm_status index_rounds(alm_ctx *cx, alm_acl *acl)
{
    uint32_t n = 0, kept = 0;
    ALM_TRY(ALM_NEWN(cx, &acl->arena, acl->n_entities + 1, &acl->rounds));
    for (uint32_t i = 0; i < acl->n_entities; i++)
        if (acl->entities[i].has_password)
            acl->rounds[n++] = (alm_rounds){acl->entities[i].verifier.iterations, 1};
    if (n > 0)
        qsort(acl->rounds, n, sizeof *acl->rounds, auth_acl_by_number);
    for (uint32_t i = 0; i < n; i++) {
        if (kept > 0 && acl->rounds[kept - 1].iterations == acl->rounds[i].iterations)
            acl->rounds[kept - 1].users++;
        else
            acl->rounds[kept++] = acl->rounds[i];
    }
    acl->n_rounds = kept;
    return ALM_OK;
}

alm_status alm_acl_index(alm_ctx *cx, alm_acl *acl)
{
    const uint32_t n_entities = acl->n_entities;
    ALM_TRY(ALM_NEWN(cx, &acl->arena, n_entities + 1, &acl->by_reading));
    for (uint32_t i = 0; i < n_entities; i++) {
        acl->by_reading[i].entity = i;
        ALM_TRY(alm_entity_name_hash(cx, &acl->arena, alm_str_of(acl->entities[i].name),
                                     &acl->by_reading[i].hash));
    }
    if (n_entities > 0)
        qsort(acl->by_reading, n_entities, sizeof *acl->by_reading, by_reading_hash);
    ALM_TRY(index_rounds(cx, acl));
    return index_aliases(cx, acl);
}

alm_status alm_acl_load(alm_ctx *cx, const alm_snapshot *snap, alm_acl **out)
{
    alm_acl *acl = calloc(1, sizeof *acl);
    if (acl == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    acl->refs = 1;
    alm_arena_init(&acl->arena, NULL);
    const alm_status status = auth_acl_load(cx, snap, acl);
    if (status != ALM_OK) {
        alm_acl_release(acl);
        return status;
    }
    *out = acl;
    return ALM_OK;
}

alm_acl *alm_acl_retain(alm_acl *acl)
{
    (void)atomic_fetch_add_explicit(&acl->refs, 1, memory_order_relaxed);
    return acl;
}

void alm_acl_release(alm_acl *acl)
{
    if (acl == NULL || atomic_fetch_sub_explicit(&acl->refs, 1, memory_order_acq_rel) != 1)
        return;
    alm_records_release(acl->records);
    alm_arena_deinit(&acl->arena);
    free(acl);
}

/* ----------------------------------------------------------------------- look-ups */

typedef int (*compare_fn)(const void *key, const void *row);

static const void *auth_acl_find(const void *key, const void *rows, uint32_t n, size_t bytes,
                                 compare_fn cmp)
{
    return n == 0 ? NULL : bsearch(key, rows, n, bytes, cmp);
}

static int auth_acl_by_name(const void *key, const void *row)
{
    return strcmp(key, ((const alm_entity *)row)->name);
}

const alm_entity *alm_acl_entity(const alm_acl *acl, const char *name)
{
    return auth_acl_find(name, acl->entities, acl->n_entities, sizeof *acl->entities,
                         auth_acl_by_name);
}

static int by_pair(const void *key, const void *row)
{
    const alm_pair *a = key, *b = row;
    const int c = strcmp(a->first, b->first);
    return c != 0 ? c : strcmp(a->second, b->second);
}

bool alm_acl_is_member(const alm_acl *acl, const char *user, const char *group)
{
    const alm_pair key = {user, group};
    return auth_acl_find(&key, acl->members, acl->n_members, sizeof key, by_pair) != NULL;
}

bool alm_acl_has_alias(const alm_acl *acl, const char *group, const char *alias)
{
    const alm_pair key = {group, alias};
    return auth_acl_find(&key, acl->aliases, acl->n_aliases, sizeof key, by_pair) != NULL;
}

const alm_alias_slot *alm_acl_alias_next(const alm_acl *acl, uint64_t hash, const char *alias,
                                         uint32_t *at)
{
    uint32_t lo = *at, hi = *at == 0 ? acl->n_aliases : *at;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (acl->by_alias[mid].hash < hash)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < acl->n_aliases && acl->by_alias[lo].hash == hash; lo++) {
        const alm_alias_slot *slot = &acl->by_alias[lo];
        if (strcmp(acl->aliases[slot->alias].second, alias) != 0)
            continue;
        *at = lo + 1;
        return slot;
    }
    return NULL;
}

const alm_entity *alm_acl_entity_next(const alm_acl *acl, uint64_t hash, uint32_t *at)
{
    uint32_t lo = *at, hi = *at == 0 ? acl->n_entities : *at;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (acl->by_reading[mid].hash < hash)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo >= acl->n_entities || acl->by_reading[lo].hash != hash)
        return NULL;
    *at = lo + 1;
    return &acl->entities[acl->by_reading[lo].entity];
}

uint32_t alm_acl_groups_of(const alm_acl *acl, const char *user, uint32_t *first)
{
    uint32_t lo = 0, hi = acl->n_members;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(acl->members[mid].first, user) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *first = lo;
    while (lo < acl->n_members && strcmp(acl->members[lo].first, user) == 0)
        lo++;
    return lo;
}

static int by_hash(const void *key, const void *row)
{
    return strcmp(key, ((const alm_token *)row)->hash);
}

const alm_token *alm_acl_token(const alm_acl *acl, const char *hash)
{
    return auth_acl_find(hash, acl->tokens, acl->n_tokens, sizeof *acl->tokens, by_hash);
}

/* ------------------------------------------------------------------------- grants */

static alm_record grant_record(const alm_acl *acl, uint32_t i)
{
    ALM_ASSERT(i < acl->n_grants);
    return alm_records_at(acl->records, (size_t)acl->first_grant + i);
}

/* "g", the entity, a zero, the table, a zero, the column, a zero. Of a record that is none the entity alone. */
static alm_grant grant_names(alm_str key)
{
    const char *const end = key.ptr + key.len, *entity = key.ptr + 1;
    const char *table = entity + strlen(entity) + 1;
    if (table > end)
        return (alm_grant){.entity = entity, .table = "", .column = ""};
    const char *column = table + strlen(table) + 1;
    if (column > end || column + strlen(column) != end)
        return (alm_grant){.entity = entity, .table = table, .column = ""};
    return (alm_grant){.entity = entity, .table = table, .column = column};
}

alm_grant alm_acl_grant_at(const alm_acl *acl, uint32_t i)
{
    const alm_record record = grant_record(acl, i);
    alm_grant grant = grant_names(record.key);
    if (grant.column + strlen(grant.column) ==
        record.key.ptr + record.key.len) /* else nothing is granted by it */
        alm_record_permissions(record.value, &grant);
    return grant;
}

typedef struct place { /* which grants; NULL: whatever */
    const char *entity, *table, *column;
} place;

static int auth_acl_compare(alm_grant grant, const place *at)
{
    int c = strcmp(grant.entity, at->entity);
    if (c == 0 && at->table != NULL)
        c = strcmp(grant.table, at->table);
    if (c == 0 && at->column != NULL)
        c = strcmp(grant.column, at->column);
    return c;
}

/* The first grant that is not below the place, or, past: the first above it. */
static uint32_t auth_acl_bound(const alm_acl *acl, const place *at, bool past)
{
    uint32_t lo = 0, hi = acl->n_grants;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        const int c = auth_acl_compare(grant_names(grant_record(acl, mid).key), at);
        if (c < 0 || (past && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool alm_acl_grant(const alm_acl *acl, const char *entity, const char *table, const char *column,
                   alm_grant *out)
{
    const place at = {entity, table, column};
    const uint32_t i = auth_acl_bound(acl, &at, false);
    *out = (alm_grant){.entity = entity, .table = table, .column = column};
    if (i == acl->n_grants || auth_acl_compare(grant_names(grant_record(acl, i).key), &at) != 0)
        return false;
    *out = alm_acl_grant_at(acl, i);
    return true;
}

uint32_t alm_acl_grants_of(const alm_acl *acl, const char *entity, uint32_t *first)
{
    const place at = {.entity = entity};
    *first = auth_acl_bound(acl, &at, false);
    return auth_acl_bound(acl, &at, true);
}

uint32_t alm_acl_grants_on(const alm_acl *acl, const char *entity, const char *table,
                           uint32_t *first)
{
    const place at = {.entity = entity, .table = table};
    *first = auth_acl_bound(acl, &at, false);
    return auth_acl_bound(acl, &at, true);
}

/* -------------------------------------------------------------------------- others */

static int by_assume(const void *key, const void *row)
{
    const alm_assume *a = key, *b = row;
    const int c = strcmp(a->entity, b->entity);
    return c != 0 ? c : strcmp(a->account, b->account);
}

const alm_assume *alm_acl_assume(const alm_acl *acl, const char *entity, const char *account)
{
    const alm_assume key = {.entity = entity, .account = account};
    return auth_acl_find(&key, acl->assumes, acl->n_assumes, sizeof key, by_assume);
}

static int by_view(const void *key, const void *row)
{
    return strcmp(key, ((const alm_definer *)row)->view);
}

const alm_definer *alm_acl_definer(const alm_acl *acl, const char *view)
{
    return auth_acl_find(view, acl->definers, acl->n_definers, sizeof *acl->definers, by_view);
}

const alm_entity *alm_acl_definer_entity(const alm_acl *acl, const alm_definer *definer)
{
    const alm_entity *entity = alm_acl_entity(acl, definer->name);
    return entity != NULL && entity->generation == definer->generation ? entity : NULL;
}
