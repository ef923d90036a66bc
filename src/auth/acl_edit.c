/* acl_edit.c - changes of who may what, as records (acl.h); formats in acl_record.h. */
#include "auth/acl_record.h"

#include <stdlib.h>

#include "base/hash.h"

alm_status alm_record_key(alm_ctx *cx, char letter, const char *a, const char *b, const char *c,
                          alm_str *out)
{
    const size_t na = strlen(a), nb = b == NULL ? 0 : strlen(b), nc = c == NULL ? 0 : strlen(c);
    char *key = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, na + nb + nc + 4, &key));
    size_t count = 0;
    key[count++] = letter;
    memcpy(key + count, a, na);
    count += na;
    if (b != NULL) {
        key[count++] = 0;
        memcpy(key + count, b, nb);
        count += nb;
    }
    if (c != NULL) {
        key[count++] = 0;
        memcpy(key + count, c, nc);
        count += nc;
    }
    *out = (alm_str){key, count};
    return ALM_OK;
}

/* value.ptr NULL: the record goes. */
static alm_status acl_edit_add(alm_acl_edit *edit, alm_str key, alm_str value)
{
    if (edit->n == edit->cap) {
        alm_record *bigger = NULL;
        edit->cap = ALM_MAX(16u, 2 * edit->cap);
        ALM_TRY(ALM_NEWN(edit->cx, edit->cx->arena, edit->cap, &bigger));
        if (edit->n > 0)
            memcpy(bigger, edit->rows, edit->n * sizeof *bigger);
        edit->rows = bigger;
    }
    edit->rows[edit->n++] = (alm_record){key, value};
    return alm_hashes_add(edit->cx, edit->cx->arena, &edit->keys, alm_hash_str(key));
}

static alm_status acl_edit_put(alm_acl_edit *edit, char letter, const char *a, const char *b,
                               const char *c, alm_str value)
{
    alm_str key;
    ALM_TRY(alm_record_key(edit->cx, letter, a, b, c, &key));
    return acl_edit_add(edit, key, value);
}

static const alm_str gone = {NULL, 0};

typedef struct writer {
    char bytes[512];
    size_t n;
} writer;

static void write_uint(writer *self, uint64_t value, size_t bytes)
{
    ALM_ASSERT(self->n + bytes <= sizeof self->bytes);
    for (size_t i = 0; i < bytes; i++)
        self->bytes[self->n++] = (char)(uint8_t)(value >> (8 * i));
}

static void write_bytes(writer *self, const void *from, size_t n)
{
    ALM_ASSERT(self->n + n <= sizeof self->bytes);
    memcpy(self->bytes + self->n, from, n);
    self->n += n;
}

static alm_status written(alm_acl_edit *edit, const writer *self, alm_str *out)
{
    return alm_arena_copy(edit->cx, edit->cx->arena, (alm_str){self->bytes, self->n}, out);
}

alm_status alm_edit_entity(alm_acl_edit *edit, const alm_entity *entity)
{
    writer self = {.n = 0};
    alm_str value;
    const bool has_moments = entity->generation > 0 || entity->ended > 0;
    write_uint(&self, (uint64_t)entity->kind, 1);
    write_uint(&self,
               (uint64_t)entity->enabled | (uint64_t)entity->has_password << 1 |
                   (uint64_t)entity->has_key << 2 | (uint64_t)(entity->memory_max > 0) << 3 |
                   (uint64_t)has_moments << 4,
               1);
    if (entity->has_password) {
        write_uint(&self, (uint64_t)entity->verifier.iterations, 4);
        write_bytes(&self, entity->verifier.salt, sizeof entity->verifier.salt);
        write_bytes(&self, entity->verifier.stored_key, sizeof entity->verifier.stored_key);
        write_bytes(&self, entity->verifier.server_key, sizeof entity->verifier.server_key);
    }
    for (int i = 0; entity->has_key && i < 2; i++) {
        const char *text = i == 0 ? entity->key_x : entity->key_y;
        write_uint(&self, strlen(text), 1);
        write_bytes(&self, text, strlen(text));
    }
    if (entity->memory_max > 0)
        write_uint(&self, (uint64_t)entity->memory_max, 8);
    if (has_moments) {
        write_uint(&self, entity->generation, 8);
        write_uint(&self, entity->ended, 8);
    }
    ALM_TRY(written(edit, &self, &value));
    return acl_edit_put(edit, ALM_KEY_ENTITY, entity->name, NULL, NULL, value);
}

alm_status alm_edit_drop_entity(alm_acl_edit *edit, const char *name)
{
    const alm_acl *acl = edit->acl;
    ALM_TRY(acl_edit_put(edit, ALM_KEY_ENTITY, name, NULL, NULL, gone));
    for (uint32_t i = 0; i < acl->n_members; i++)
        if (strcmp(acl->members[i].first, name) == 0 || strcmp(acl->members[i].second, name) == 0)
            ALM_TRY(alm_edit_member(edit, acl->members[i].first, acl->members[i].second, false));
    for (uint32_t i = 0; i < acl->n_aliases; i++)
        if (strcmp(acl->aliases[i].first, name) == 0)
            ALM_TRY(alm_edit_alias(edit, name, acl->aliases[i].second, false));
    for (uint32_t i = 0; i < acl->n_tokens; i++)
        if (strcmp(acl->tokens[i].entity, name) == 0)
            ALM_TRY(alm_edit_drop_token(edit, acl->tokens[i].hash));
    for (uint32_t i = 0; i < acl->n_assumes; i++)
        if (strcmp(acl->assumes[i].entity, name) == 0 || strcmp(acl->assumes[i].account, name) == 0)
            ALM_TRY(alm_edit_assume(edit, &acl->assumes[i], false));
    uint32_t first;
    const uint32_t end = alm_acl_grants_of(acl, name, &first);
    for (uint32_t i = first; i < end; i++) {
        const alm_grant grant = alm_acl_grant_at(acl, i);
        ALM_TRY(acl_edit_put(edit, ALM_KEY_GRANT, name, grant.table, grant.column, gone));
    }
    return ALM_OK;
}

static const alm_str nothing = {"", 0};

alm_status alm_edit_member(alm_acl_edit *edit, const char *user, const char *group, bool is)
{
    return acl_edit_put(edit, ALM_KEY_MEMBER, user, group, NULL, is ? nothing : gone);
}

alm_status alm_edit_alias(alm_acl_edit *edit, const char *group, const char *alias, bool is)
{
    return acl_edit_put(edit, ALM_KEY_ALIAS, group, alias, NULL, is ? nothing : gone);
}

alm_status alm_edit_token(alm_acl_edit *edit, const alm_token *token)
{
    writer self = {.n = 0};
    alm_str value;
    write_uint(&self, token->refresh, 1);
    write_uint(&self, (uint64_t)token->expires_us, 8);
    write_uint(&self, (uint64_t)token->ttl_us, 8);
    write_bytes(&self, token->entity, strlen(token->entity));
    ALM_TRY(written(edit, &self, &value));
    return acl_edit_put(edit, ALM_KEY_TOKEN, token->hash, NULL, NULL, value);
}

alm_status alm_edit_drop_token(alm_acl_edit *edit, const char *hash)
{
    return acl_edit_put(edit, ALM_KEY_TOKEN, hash, NULL, NULL, gone);
}

alm_status alm_edit_grant(alm_acl_edit *edit, const alm_grant *grant)
{
    writer self = {.n = 0};
    alm_str value = gone;
    for (uint8_t p = 1; p <= ALM_GRANT_OF_OWNER; p++) {
        if (!alm_permission_in(&grant->may, p))
            continue;
        write_uint(&self, p, 1);
        write_uint(&self, alm_permission_in(&grant->option, p), 1);
    }
    if (self.n > 0)
        ALM_TRY(written(edit, &self, &value));
    return acl_edit_put(edit, ALM_KEY_GRANT, grant->entity, grant->table, grant->column, value);
}

alm_status alm_edit_grant_now(const alm_acl_edit *edit, const char *entity, const char *table,
                              const char *column, alm_grant *out)
{
    alm_str key;
    alm_grant old;
    bool there = alm_acl_grant(edit->acl, entity, table, column, &old);
    ALM_TRY(alm_record_key(edit->cx, ALM_KEY_GRANT, entity, table, column, &key));
    const alm_record *last = NULL; /* the last change counts */
    for (uint32_t place = 0, i = 0; alm_hashes_next(&edit->keys, alm_hash_str(key), &place, &i);)
        if (alm_str_eq(edit->rows[i].key, key))
            last = &edit->rows[i];
    if (last != NULL && last->value.ptr != NULL)
        return alm_record_grant(edit->cx, edit->cx->arena, *last, out);
    there &= last == NULL;
    *out = (alm_grant){.entity = entity, .table = table, .column = column};
    if (there) {
        out->may = old.may;
        out->option = old.option;
    }
    return ALM_OK;
}

typedef struct change { /* place: in the edit */
    alm_record r;
    uint32_t place;
} change;

static int by_key(const void *a, const void *b)
{
    const change *x = a, *y = b;
    const int c = alm_str_cmp(x->r.key, y->r.key);
    return c != 0 ? c : x->place < y->place ? -1 : 1;
}

alm_status alm_edit_grants_more(const alm_acl_edit *edit, const char *except, int64_t *out)
{
    change *list = NULL;
    uint32_t count = 0;
    *out = 0;
    ALM_TRY(ALM_NEWN(edit->cx, edit->cx->arena, edit->n + 1, &list));
    for (uint32_t i = 0; i < edit->n; i++)
        if (edit->rows[i].key.ptr[0] == ALM_KEY_GRANT)
            list[count++] = (change){edit->rows[i], i};
    qsort(list, count, sizeof *list, by_key);
    for (uint32_t i = 0; i < count; i++) {
        alm_grant grant, old;
        if (i + 1 < count && alm_str_eq(list[i].r.key, list[i + 1].r.key))
            continue; /* the last change counts */
        ALM_TRY(alm_record_grant(edit->cx, edit->cx->arena, (alm_record){list[i].r.key, nothing},
                                 &grant));
        if (strcmp(grant.entity, except) == 0)
            continue;
        const bool was = alm_acl_grant(edit->acl, grant.entity, grant.table, grant.column, &old);
        *out += (list[i].r.value.ptr != NULL) - was;
    }
    return ALM_OK;
}

alm_status alm_edit_assume(alm_acl_edit *edit, const alm_assume *assume, bool is)
{
    const alm_str value = assume->option ? (alm_str){"\1", 1} : (alm_str){"\0", 1};
    return acl_edit_put(edit, ALM_KEY_ASSUME, assume->entity, assume->account, NULL,
                        is ? value : gone);
}

alm_status alm_edit_definer(alm_acl_edit *edit, const alm_definer *definer)
{
    writer self = {.n = 0};
    alm_str value;
    if (definer->name == NULL)
        return acl_edit_put(edit, ALM_KEY_DEFINER, definer->view, NULL, NULL, gone);
    ALM_ASSERT(strlen(definer->name) <= ALM_ENTITY_NAME_MAX);
    write_bytes(&self, definer->name, strlen(definer->name) + 1);
    write_uint(&self, ALM_DEFINER_MAKER, 1);
    write_uint(&self, definer->generation, 8);
    write_uint(&self, definer->maker, 8);
    ALM_TRY(written(edit, &self, &value));
    return acl_edit_put(edit, ALM_KEY_DEFINER, definer->view, NULL, NULL, value);
}

alm_status alm_edit_secret(alm_acl_edit *edit, const uint8_t secret[ALM_SCRAM_KEY])
{
    writer self = {.n = 0};
    alm_str value;
    write_bytes(&self, secret, ALM_SCRAM_KEY);
    ALM_TRY(written(edit, &self, &value));
    return acl_edit_put(edit, ALM_KEY_SECRET, "", NULL, NULL, value);
}

alm_status alm_edit_move(alm_acl_edit *edit, const char *table, const char *column,
                         const char *dest)
{
    for (uint32_t i = 0; i < edit->acl->n_grants; i++) {
        alm_grant grant = alm_acl_grant_at(edit->acl, i);
        if (strcmp(grant.table, table) != 0 ||
            (column != NULL && strcmp(grant.column, column) != 0))
            continue;
        ALM_TRY(acl_edit_put(edit, ALM_KEY_GRANT, grant.entity, grant.table, grant.column, gone));
        if (dest == NULL)
            continue;
        if (column != NULL)
            grant.column = dest;
        else
            grant.table = dest;
        ALM_TRY(alm_edit_grant(edit, &grant));
    }
    return ALM_OK;
}
