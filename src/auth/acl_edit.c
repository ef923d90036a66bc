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
    size_t n = 0;
    key[n++] = letter;
    memcpy(key + n, a, na);
    n += na;
    if (b != NULL) {
        key[n++] = 0;
        memcpy(key + n, b, nb);
        n += nb;
    }
    if (c != NULL) {
        key[n++] = 0;
        memcpy(key + n, c, nc);
        n += nc;
    }
    *out = (alm_str){key, n};
    return ALM_OK;
}

/* value.ptr NULL: the record goes. */
static alm_status add(alm_acl_edit *e, alm_str key, alm_str value)
{
    if (e->n == e->cap) {
        alm_record *bigger = NULL;
        e->cap = ALM_MAX(16u, 2 * e->cap);
        ALM_TRY(ALM_NEWN(e->cx, e->cx->arena, e->cap, &bigger));
        if (e->n > 0)
            memcpy(bigger, e->rows, e->n * sizeof *bigger);
        e->rows = bigger;
    }
    e->rows[e->n++] = (alm_record){key, value};
    return alm_hashes_add(e->cx, e->cx->arena, &e->keys, alm_hash_str(key));
}

static alm_status put(alm_acl_edit *e, char letter, const char *a, const char *b, const char *c,
                      alm_str value)
{
    alm_str key;
    ALM_TRY(alm_record_key(e->cx, letter, a, b, c, &key));
    return add(e, key, value);
}

static const alm_str gone = {NULL, 0};

typedef struct writer {
    char bytes[512];
    size_t n;
} writer;

static void write_uint(writer *w, uint64_t v, size_t bytes)
{
    ALM_ASSERT(w->n + bytes <= sizeof w->bytes);
    for (size_t i = 0; i < bytes; i++)
        w->bytes[w->n++] = (char)(uint8_t)(v >> (8 * i));
}

static void write_bytes(writer *w, const void *from, size_t n)
{
    ALM_ASSERT(w->n + n <= sizeof w->bytes);
    memcpy(w->bytes + w->n, from, n);
    w->n += n;
}

static alm_status written(alm_acl_edit *e, const writer *w, alm_str *out)
{
    return alm_arena_copy(e->cx, e->cx->arena, (alm_str){w->bytes, w->n}, out);
}

alm_status alm_edit_entity(alm_acl_edit *e, const alm_entity *entity)
{
    writer w = {.n = 0};
    alm_str value;
    const bool has_moments = entity->generation > 0 || entity->ended > 0;
    write_uint(&w, (uint64_t)entity->kind, 1);
    write_uint(&w,
               (uint64_t)entity->enabled | (uint64_t)entity->has_password << 1 |
                   (uint64_t)entity->has_key << 2 | (uint64_t)(entity->memory_max > 0) << 3 |
                   (uint64_t)has_moments << 4,
               1);
    if (entity->has_password) {
        write_uint(&w, (uint64_t)entity->verifier.iterations, 4);
        write_bytes(&w, entity->verifier.salt, sizeof entity->verifier.salt);
        write_bytes(&w, entity->verifier.stored_key, sizeof entity->verifier.stored_key);
        write_bytes(&w, entity->verifier.server_key, sizeof entity->verifier.server_key);
    }
    for (int i = 0; entity->has_key && i < 2; i++) {
        const char *text = i == 0 ? entity->key_x : entity->key_y;
        write_uint(&w, strlen(text), 1);
        write_bytes(&w, text, strlen(text));
    }
    if (entity->memory_max > 0)
        write_uint(&w, (uint64_t)entity->memory_max, 8);
    if (has_moments) {
        write_uint(&w, entity->generation, 8);
        write_uint(&w, entity->ended, 8);
    }
    ALM_TRY(written(e, &w, &value));
    return put(e, ALM_KEY_ENTITY, entity->name, NULL, NULL, value);
}

alm_status alm_edit_drop_entity(alm_acl_edit *e, const char *name)
{
    const alm_acl *acl = e->acl;
    ALM_TRY(put(e, ALM_KEY_ENTITY, name, NULL, NULL, gone));
    for (uint32_t i = 0; i < acl->n_members; i++)
        if (strcmp(acl->members[i].first, name) == 0 || strcmp(acl->members[i].second, name) == 0)
            ALM_TRY(alm_edit_member(e, acl->members[i].first, acl->members[i].second, false));
    for (uint32_t i = 0; i < acl->n_aliases; i++)
        if (strcmp(acl->aliases[i].first, name) == 0)
            ALM_TRY(alm_edit_alias(e, name, acl->aliases[i].second, false));
    for (uint32_t i = 0; i < acl->n_tokens; i++)
        if (strcmp(acl->tokens[i].entity, name) == 0)
            ALM_TRY(alm_edit_drop_token(e, acl->tokens[i].hash));
    for (uint32_t i = 0; i < acl->n_assumes; i++)
        if (strcmp(acl->assumes[i].entity, name) == 0 || strcmp(acl->assumes[i].account, name) == 0)
            ALM_TRY(alm_edit_assume(e, &acl->assumes[i], false));
    uint32_t first;
    const uint32_t end = alm_acl_grants_of(acl, name, &first);
    for (uint32_t i = first; i < end; i++) {
        const alm_grant g = alm_acl_grant_at(acl, i);
        ALM_TRY(put(e, ALM_KEY_GRANT, name, g.table, g.column, gone));
    }
    return ALM_OK;
}

static const alm_str nothing = {"", 0};

alm_status alm_edit_member(alm_acl_edit *e, const char *user, const char *group, bool is)
{
    return put(e, ALM_KEY_MEMBER, user, group, NULL, is ? nothing : gone);
}

alm_status alm_edit_alias(alm_acl_edit *e, const char *group, const char *alias, bool is)
{
    return put(e, ALM_KEY_ALIAS, group, alias, NULL, is ? nothing : gone);
}

alm_status alm_edit_token(alm_acl_edit *e, const alm_token *token)
{
    writer w = {.n = 0};
    alm_str value;
    write_uint(&w, token->refresh, 1);
    write_uint(&w, (uint64_t)token->expires_us, 8);
    write_uint(&w, (uint64_t)token->ttl_us, 8);
    write_bytes(&w, token->entity, strlen(token->entity));
    ALM_TRY(written(e, &w, &value));
    return put(e, ALM_KEY_TOKEN, token->hash, NULL, NULL, value);
}

alm_status alm_edit_drop_token(alm_acl_edit *e, const char *hash)
{
    return put(e, ALM_KEY_TOKEN, hash, NULL, NULL, gone);
}

alm_status alm_edit_grant(alm_acl_edit *e, const alm_grant *grant)
{
    writer w = {.n = 0};
    alm_str value = gone;
    for (uint8_t p = 1; p <= ALM_GRANT_OF_OWNER; p++) {
        if (!alm_permission_in(&grant->may, p))
            continue;
        write_uint(&w, p, 1);
        write_uint(&w, alm_permission_in(&grant->option, p), 1);
    }
    if (w.n > 0)
        ALM_TRY(written(e, &w, &value));
    return put(e, ALM_KEY_GRANT, grant->entity, grant->table, grant->column, value);
}

alm_status alm_edit_grant_now(const alm_acl_edit *e, const char *entity, const char *table,
                              const char *column, alm_grant *out)
{
    alm_str key;
    alm_grant old;
    bool there = alm_acl_grant(e->acl, entity, table, column, &old);
    ALM_TRY(alm_record_key(e->cx, ALM_KEY_GRANT, entity, table, column, &key));
    const alm_record *last = NULL; /* the last change counts */
    for (uint32_t at = 0, i = 0; alm_hashes_next(&e->keys, alm_hash_str(key), &at, &i);)
        if (alm_str_eq(e->rows[i].key, key))
            last = &e->rows[i];
    if (last != NULL && last->value.ptr != NULL)
        return alm_record_grant(e->cx, e->cx->arena, *last, out);
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

alm_status alm_edit_grants_more(const alm_acl_edit *e, const char *except, int64_t *out)
{
    change *list = NULL;
    uint32_t n = 0;
    *out = 0;
    ALM_TRY(ALM_NEWN(e->cx, e->cx->arena, e->n + 1, &list));
    for (uint32_t i = 0; i < e->n; i++)
        if (e->rows[i].key.ptr[0] == ALM_KEY_GRANT)
            list[n++] = (change){e->rows[i], i};
    qsort(list, n, sizeof *list, by_key);
    for (uint32_t i = 0; i < n; i++) {
        alm_grant g, old;
        if (i + 1 < n && alm_str_eq(list[i].r.key, list[i + 1].r.key))
            continue; /* the last change counts */
        ALM_TRY(alm_record_grant(e->cx, e->cx->arena, (alm_record){list[i].r.key, nothing}, &g));
        if (strcmp(g.entity, except) == 0)
            continue;
        const bool was = alm_acl_grant(e->acl, g.entity, g.table, g.column, &old);
        *out += (list[i].r.value.ptr != NULL) - was;
    }
    return ALM_OK;
}

alm_status alm_edit_assume(alm_acl_edit *e, const alm_assume *assume, bool is)
{
    const alm_str value = assume->option ? (alm_str){"\1", 1} : (alm_str){"\0", 1};
    return put(e, ALM_KEY_ASSUME, assume->entity, assume->account, NULL, is ? value : gone);
}

alm_status alm_edit_definer(alm_acl_edit *e, const alm_definer *definer)
{
    writer w = {.n = 0};
    alm_str value;
    if (definer->name == NULL)
        return put(e, ALM_KEY_DEFINER, definer->view, NULL, NULL, gone);
    ALM_ASSERT(strlen(definer->name) <= ALM_ENTITY_NAME_MAX);
    write_bytes(&w, definer->name, strlen(definer->name) + 1);
    write_uint(&w, ALM_DEFINER_MAKER, 1);
    write_uint(&w, definer->generation, 8);
    write_uint(&w, definer->maker, 8);
    ALM_TRY(written(e, &w, &value));
    return put(e, ALM_KEY_DEFINER, definer->view, NULL, NULL, value);
}

alm_status alm_edit_secret(alm_acl_edit *e, const uint8_t secret[ALM_SCRAM_KEY])
{
    writer w = {.n = 0};
    alm_str value;
    write_bytes(&w, secret, ALM_SCRAM_KEY);
    ALM_TRY(written(e, &w, &value));
    return put(e, ALM_KEY_SECRET, "", NULL, NULL, value);
}

alm_status alm_edit_move(alm_acl_edit *e, const char *table, const char *column, const char *to)
{
    for (uint32_t i = 0; i < e->acl->n_grants; i++) {
        alm_grant g = alm_acl_grant_at(e->acl, i);
        if (strcmp(g.table, table) != 0 || (column != NULL && strcmp(g.column, column) != 0))
            continue;
        ALM_TRY(put(e, ALM_KEY_GRANT, g.entity, g.table, g.column, gone));
        if (to == NULL)
            continue;
        if (column != NULL)
            g.column = to;
        else
            g.table = to;
        ALM_TRY(alm_edit_grant(e, &g));
    }
    return ALM_OK;
}
