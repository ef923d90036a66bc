/* rights.c - see rights.h. */
#include "auth/rights.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

enum { GROUP_NAME_MAX = 4096, SUBJECT_MAX = 1024 };

/* -------------------------------------------------------------------- principals */

struct alm_kept_rights {
    pthread_mutex_t lock;
    bool made;
    uint64_t epoch;
    uint32_t n, cap;
    uint32_t *groups; /* in alm_acl.alias_groups */
    alm_permission_set db, db_option;
    int64_t memory_max;
};

static void kept_free(alm_kept_rights *kept)
{
    if (kept == NULL)
        return;
    (void)pthread_mutex_destroy(&kept->lock);
    free(kept->groups);
    free(kept);
}

/* One block: the object, the lists, the texts. prefix: of the identity. */
static alm_status make_principal(alm_ctx *cx, const alm_principal *like, alm_str name,
                                 const char *prefix, alm_str subject, alm_principal **out)
{
    const char *const *groups = like->groups;
    const uint32_t n_groups = like->n_groups;
    if (name.len == 0 || name.len > ALM_ENTITY_NAME_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a user name must have 1 to %d bytes, not %zu",
                        ALM_ENTITY_NAME_MAX, name.len);
    if (subject.len > SUBJECT_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a user's subject may have %d bytes, not %zu",
                        SUBJECT_MAX, subject.len);
    if (n_groups > ALM_GROUPS_OF_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a user may have %d groups, not %u", ALM_GROUPS_OF_MAX,
                        n_groups);
    size_t bytes = sizeof(alm_principal) + n_groups * (sizeof(char *) + sizeof(uint64_t)) +
                   name.len + 1 + strlen(prefix) + subject.len + 1;
    for (uint32_t i = 0; i < n_groups; i++) {
        const size_t len = strlen(groups[i]);
        if (len > GROUP_NAME_MAX)
            return alm_fail(cx, ALM_E_LIMIT, -1, "a group name may have %d bytes, not %zu",
                            GROUP_NAME_MAX, len);
        bytes += len + 1;
    }
    alm_principal *who = calloc(1, bytes);
    if (who == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    who->kept = like->kind == ALM_PRINCIPAL_EXTERNAL ? calloc(1, sizeof *who->kept) : NULL;
    if (like->kind == ALM_PRINCIPAL_EXTERNAL && who->kept == NULL) {
        free(who);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    if (who->kept != NULL)
        (void)pthread_mutex_init(&who->kept->lock, NULL);
    const char **list = (const char **)(who + 1);
    uint64_t *hashes = (uint64_t *)(list + n_groups);
    char *text = (char *)(hashes + n_groups);
    who->refs = 1;
    who->kind = like->kind;
    who->name = memcpy(text, name.ptr, name.len);
    text += name.len + 1;
    who->identity = text;
    text = stpcpy(text, prefix);
    memcpy(text, subject.ptr, subject.len);
    text += subject.len + 1;
    for (uint32_t i = 0; i < n_groups; i++) {
        list[i] = text;
        hashes[i] = alm_hash_str(alm_str_of(groups[i]));
        text = stpcpy(text, groups[i]) + 1;
    }
    who->groups = list;
    who->group_hashes = hashes;
    who->n_groups = n_groups;
    *out = who;
    return ALM_OK;
}

alm_status alm_principal_new(alm_ctx *cx, alm_principal_kind kind, alm_str name,
                             const char *const *groups, uint32_t n_groups, alm_principal **out)
{
    const alm_principal like = {.kind = kind, .groups = groups, .n_groups = n_groups};
    const char *prefix = kind == ALM_PRINCIPAL_ADMIN   ? "admin:"
                         : kind == ALM_PRINCIPAL_LOCAL ? "local:"
                                                       : "name:";
    return make_principal(cx, &like, name, prefix, name, out);
}

uint64_t alm_password_version(const alm_scram_verifier *verifier)
{
    const alm_str salt = {(const char *)verifier->salt, sizeof verifier->salt};
    const alm_str key = {(const char *)verifier->stored_key, sizeof verifier->stored_key};
    return alm_hash_u128(alm_hash_str(salt), alm_hash_str(key));
}

uint64_t alm_key_version(const alm_entity *entity)
{
    return alm_hash_u128(alm_hash_str(alm_str_of(entity->key_x)),
                         alm_hash_str(alm_str_of(entity->key_y)));
}

alm_status alm_principal_local(alm_ctx *cx, const alm_entity *entity, const alm_began *began,
                               alm_principal **out)
{
    const alm_principal like = {.kind = ALM_PRINCIPAL_LOCAL};
    char prefix[40] = "local:";
    if (entity->generation > 0)
        (void)snprintf(prefix, sizeof prefix,
                       "local %llu:", (unsigned long long)entity->generation);
    ALM_TRY(
        make_principal(cx, &like, alm_str_of(entity->name), prefix, alm_str_of(entity->name), out));
    (*out)->began = *began;
    (*out)->began.generation = entity->generation;
    (*out)->began.ended = entity->ended;
    return ALM_OK;
}

const char *alm_principal_over(const alm_principal *who, const alm_acl *acl)
{
    const alm_began *began = &who->began;
    const alm_entity *entity = alm_acl_entity(acl, who->name);
    ALM_ASSERT(who->kind == ALM_PRINCIPAL_LOCAL);
    if (entity == NULL || entity->kind == ALM_ENTITY_GROUP ||
        entity->generation != began->generation)
        return "the user was dropped";
    if (!entity->enabled || entity->ended != began->ended)
        return "the user was disabled";
    if (began->proof == ALM_PROOF_PASSWORD &&
        (!entity->has_password || alm_password_version(&entity->verifier) != began->credential))
        return "the password has changed";
    if (began->proof == ALM_PROOF_KEY &&
        (!entity->has_key || alm_key_version(entity) != began->credential))
        return "the key was dropped";
    return NULL;
}

alm_status alm_principal_external(alm_ctx *cx, alm_str name, alm_str subject,
                                  const char *const *groups, uint32_t n_groups, alm_principal **out)
{
    const alm_principal like = {
        .kind = ALM_PRINCIPAL_EXTERNAL, .groups = groups, .n_groups = n_groups};
    ALM_ASSERT(subject.len > 0);
    return make_principal(cx, &like, name, "sub:", subject, out);
}

alm_principal *alm_principal_retain(alm_principal *who)
{
    (void)atomic_fetch_add_explicit(&who->refs, 1, memory_order_relaxed);
    return who;
}

void alm_principal_release(alm_principal *who)
{
    if (who != NULL && atomic_fetch_sub_explicit(&who->refs, 1, memory_order_acq_rel) == 1) {
        kept_free(who->kept);
        free(who);
    }
}

bool alm_principal_is_mapped(const alm_principal *who, const alm_acl *acl)
{
    ALM_ASSERT(who->kind == ALM_PRINCIPAL_EXTERNAL);
    for (uint32_t group = 0; group < who->n_groups; group++) {
        uint32_t place = 0;
        if (alm_acl_alias_next(acl, who->group_hashes[group], who->groups[group], &place) != NULL)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------------ rights */

static bool has_db(const alm_rights *rights, uint8_t number, bool option)
{
    return alm_permission_in(option ? &rights->db_option : &rights->db, number);
}

/* Counts for the principal, up to the limit: the login has said that the rest does not. */
static void add_subject(alm_rights *rights, const char **list, const char *name)
{
    if (rights->n < ALM_GROUPS_OF_MAX)
        list[rights->n++] = name; /* of the alm_acl, which the rights hold */
}

static void unite(alm_permission_set *to, const alm_permission_set *from)
{
    for (size_t i = 0; i < ALM_COUNT(to->word); i++)
        to->word[i] |= from->word[i];
}

static void unite_db(alm_rights *rights)
{
    for (uint32_t i = 0; i < rights->n; i++) {
        alm_grant grant;
        (void)alm_acl_grant(rights->acl, rights->of[i], "", "", &grant);
        unite(&rights->db, &grant.may);
        unite(&rights->db_option, &grant.option);
    }
}

static int64_t memory_max(const alm_rights *rights, const alm_principal *who)
{
    int64_t least = 0;
    for (uint32_t i = 0; i < rights->n; i++) {
        const alm_entity *entity = alm_acl_entity(rights->acl, rights->of[i]);
        const int64_t max = entity != NULL ? entity->memory_max : 0;
        if (max > 0 && who->kind == ALM_PRINCIPAL_LOCAL && strcmp(entity->name, who->name) == 0)
            return max;
        if (max > 0 && (least == 0 || max < least))
            least = max;
    }
    return least;
}

/* Those that were found before, if the epoch is the same. */
static bool auth_rights_take_kept(alm_rights *rights, const char **list, const alm_principal *who)
{
    alm_kept_rights *kept = who->kept;
    (void)pthread_mutex_lock(&kept->lock);
    const bool same = kept->made && kept->epoch == rights->acl->epoch;
    for (uint32_t i = 0; same && i < kept->n; i++)
        add_subject(rights, list, rights->acl->alias_groups[kept->groups[i]]);
    if (same) {
        rights->db = kept->db;
        rights->db_option = kept->db_option;
        rights->memory_max = kept->memory_max;
    }
    (void)pthread_mutex_unlock(&kept->lock);
    return same;
}

/* Without memory for it they are found again next time. */
static void auth_rights_keep(const alm_rights *rights, const alm_principal *who,
                             const uint32_t *groups)
{
    alm_kept_rights *kept = who->kept;
    (void)pthread_mutex_lock(&kept->lock);
    if (rights->n > kept->cap) {
        uint32_t *bigger = realloc(kept->groups, rights->n * sizeof *bigger);
        if (bigger != NULL) {
            kept->groups = bigger;
            kept->cap = rights->n;
        }
    }
    kept->made = rights->n <= kept->cap;
    if (kept->made) {
        kept->epoch = rights->acl->epoch;
        kept->n = rights->n;
        if (rights->n > 0)
            memcpy(kept->groups, groups, rights->n * sizeof *groups);
        kept->db = rights->db;
        kept->db_option = rights->db_option;
        kept->memory_max = rights->memory_max;
    }
    (void)pthread_mutex_unlock(&kept->lock);
}

/* Each group here once, by name, however many of the user's groups are aliases of it. */
static alm_status collect_external(alm_ctx *cx, alm_rights *rights, const char **list,
                                   const alm_principal *who)
{
    const alm_acl *acl = rights->acl;
    bool *is_in = NULL;
    uint32_t groups[ALM_GROUPS_OF_MAX];
    if (auth_rights_take_kept(rights, list, who))
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, &rights->arena, acl->n_alias_groups + 1, &is_in));
    for (uint32_t group = 0; group < who->n_groups; group++) {
        const alm_alias_slot *slot = NULL;
        uint32_t place = 0;
        while ((slot = alm_acl_alias_next(acl, who->group_hashes[group], who->groups[group],
                                          &place)) != NULL)
            is_in[slot->group] = true;
    }
    for (uint32_t i = 0; i < acl->n_alias_groups && rights->n < ALM_GROUPS_OF_MAX; i++) {
        if (!is_in[i])
            continue;
        groups[rights->n] = i;
        add_subject(rights, list, acl->alias_groups[i]);
    }
    unite_db(rights);
    rights->memory_max = memory_max(rights, who);
    auth_rights_keep(rights, who, groups);
    return ALM_OK;
}

static void collect_local(alm_rights *rights, const char **list, const alm_principal *who)
{
    const alm_acl *acl = rights->acl;
    const alm_entity *entity = alm_acl_entity(acl, who->name);
    uint32_t place = 0;
    rights->enabled = entity != NULL && (entity->kind == ALM_ENTITY_GROUP || entity->enabled);
    if (!rights->enabled)
        return;
    add_subject(rights, list, rights->name);
    const uint32_t end = alm_acl_groups_of(acl, who->name, &place);
    for (; place < end; place++)
        add_subject(rights, list, acl->members[place].second);
    unite_db(rights);
    rights->memory_max = memory_max(rights, who);
}

static alm_status auth_rights_collect(alm_ctx *cx, alm_rights *rights, const alm_principal *who)
{
    const char **list = NULL;
    ALM_TRY(alm_arena_zstr(cx, &rights->arena, alm_str_of(who->name), &rights->name));
    rights->kind = who->kind;
    if (who->kind == ALM_PRINCIPAL_ADMIN) {
        rights->enabled = rights->all = true;
        return ALM_OK;
    }
    ALM_TRY(ALM_NEWN(cx, &rights->arena, ALM_GROUPS_OF_MAX, &list));
    rights->of = list;
    if (who->kind == ALM_PRINCIPAL_EXTERNAL) {
        rights->enabled = true;
        ALM_TRY(collect_external(cx, rights, list, who));
    } else {
        collect_local(rights, list, who);
    }
    rights->all = has_db(rights, ALM_PERMISSION_DATABASE_ADMIN, false);
    return ALM_OK;
}

alm_status alm_rights_new(alm_ctx *cx, alm_acl *acl, const alm_principal *who, alm_rights **out)
{
    alm_rights *rights = calloc(1, sizeof *rights);
    if (rights == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    rights->refs = 1;
    rights->acl = alm_acl_retain(acl);
    alm_arena_init(&rights->arena, NULL);
    const alm_status status = auth_rights_collect(cx, rights, who);
    if (status != ALM_OK) {
        alm_rights_release(rights);
        return status;
    }
    *out = rights;
    return ALM_OK;
}

alm_status alm_rights_of(alm_ctx *cx, alm_acl *acl, const char *name, alm_rights **out)
{
    const alm_principal who = {.kind = ALM_PRINCIPAL_LOCAL, .name = name};
    return alm_rights_new(cx, acl, &who, out);
}

alm_rights *alm_rights_retain(alm_rights *rights)
{
    (void)atomic_fetch_add_explicit(&rights->refs, 1, memory_order_relaxed);
    return rights;
}

void alm_rights_release(alm_rights *rights)
{
    if (rights == NULL || atomic_fetch_sub_explicit(&rights->refs, 1, memory_order_acq_rel) != 1)
        return;
    alm_acl_release(rights->acl);
    alm_arena_deinit(&rights->arena);
    free(rights);
}

/* --------------------------------------------------------------------- questions */

static bool auth_rights_has(const alm_grant *grant, uint8_t number, bool option)
{
    return alm_permission_in(option ? &grant->option : &grant->may, number);
}

static bool auth_rights_has_at(const alm_acl *acl, const char *of, const alm_rights_ask *ask,
                               const char *column)
{
    alm_grant grant;
    return alm_acl_grant(acl, of, ask->table, column, &grant) &&
           auth_rights_has(&grant, ask->number, ask->option);
}

/* On a column of the table, whichever. */
static bool has_column(const alm_rights *rights, uint8_t number, const char *table, bool option)
{
    for (uint32_t i = 0; i < rights->n; i++) {
        uint32_t place;
        const uint32_t end = alm_acl_grants_on(rights->acl, rights->of[i], table, &place);
        for (; place < end; place++) {
            const alm_grant grant = alm_acl_grant_at(rights->acl, place);
            if (auth_rights_has(&grant, number, option))
                return true;
        }
    }
    return false;
}

bool alm_rights_may(const alm_rights *rights, const alm_rights_ask *ask)
{
    const uint8_t number = ask->number;
    if (rights->kind == ALM_PRINCIPAL_ADMIN || (rights->all && !ask->option))
        return true;
    if (has_db(rights, number, ask->option) ||
        (ask->option && has_db(rights, ALM_PERMISSION_DATABASE_ADMIN, true)))
        return true;
    if (ask->table == NULL)
        return false;
    for (uint32_t i = 0; i < rights->n; i++) {
        const char *of = rights->of[i];
        if (auth_rights_has_at(rights->acl, of, ask, "") ||
            (ask->column != NULL && auth_rights_has_at(rights->acl, of, ask, ask->column)))
            return true;
    }
    return ask->ts && !ask->option &&
           (number == ALM_PERMISSION_SELECT || number == ALM_PERMISSION_UPDATE) &&
           has_column(rights, number, ask->table, false);
}

bool alm_rights_any(const alm_rights *rights, uint8_t number, const char *table)
{
    const alm_rights_ask ask = {.number = number, .table = table};
    return alm_rights_may(rights, &ask) || has_column(rights, number, table, false);
}

bool alm_rights_anywhere(const alm_rights *rights, uint8_t number)
{
    if (rights->kind == ALM_PRINCIPAL_ADMIN || rights->all)
        return true;
    for (uint32_t i = 0; i < rights->n; i++) {
        uint32_t place;
        const uint32_t end = alm_acl_grants_of(rights->acl, rights->of[i], &place);
        for (; place < end; place++) {
            const alm_grant grant = alm_acl_grant_at(rights->acl, place);
            if (alm_permission_in(&grant.may, number))
                return true;
        }
    }
    return false;
}

bool alm_rights_sees(const alm_rights *rights, const char *table)
{
    if (rights->all)
        return true;
    for (uint32_t i = 0; i < rights->n; i++) {
        uint32_t first;
        alm_grant grant;
        if (alm_acl_grants_on(rights->acl, rights->of[i], table, &first) > first)
            return true;
        (void)alm_acl_grant(rights->acl, rights->of[i], "", "", &grant);
        for (size_t p = 0; p < alm_permission_count(); p++) {
            const alm_permission *row = alm_permission_at(p);
            if (row->level != ALM_LEVEL_D && alm_permission_in(&grant.may, row->number))
                return true;
        }
    }
    return false;
}

bool alm_rights_assumes(const alm_rights *rights, const char *account, bool option)
{
    if (rights->kind == ALM_PRINCIPAL_ADMIN || (rights->all && !option))
        return true;
    if (option && has_db(rights, ALM_PERMISSION_DATABASE_ADMIN, true))
        return true;
    for (uint32_t i = 0; i < rights->n; i++) {
        const alm_assume *assume = alm_acl_assume(rights->acl, rights->of[i], account);
        if (assume != NULL && (assume->option || !option))
            return true;
    }
    return false;
}

bool alm_rights_is_in(const alm_rights *rights, const char *entity)
{
    for (uint32_t i = 0; i < rights->n; i++)
        if (strcmp(rights->of[i], entity) == 0)
            return true;
    return false;
}
