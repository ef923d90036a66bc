/* acl_record.c - see acl_record.h: the readers. Writers are in acl_edit.c. */
#include "auth/acl_record.h"

enum { PARTS_MAX = 3 };

static alm_status damaged(alm_ctx *cx, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "a record of %s in the catalogue is damaged", what);
}

/* Names behind the letter, terminated copies; there must be n of them. */
static alm_status parts(alm_ctx *cx, alm_arena *arena, alm_str key, uint32_t n, const char **out)
{
    const char *at = key.ptr + 1, *end = key.ptr + key.len;
    for (uint32_t i = 0; i < n; i++) {
        const char *stop = memchr(at, 0, (size_t)(end - at));
        if ((stop == NULL) != (i + 1 == n))
            return damaged(cx, "access control");
        if (stop == NULL)
            stop = end;
        ALM_TRY(alm_arena_zstr(cx, arena, (alm_str){at, (size_t)(stop - at)}, &out[i]));
        at = stop + 1;
    }
    return ALM_OK;
}

typedef struct reader {
    const uint8_t *at, *end;
    bool bad;
} reader;

static const uint8_t *take(reader *r, size_t n)
{
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = true;
        return NULL;
    }
    r->at += n;
    return r->at - n;
}

static uint8_t take_u8(reader *r)
{
    const uint8_t *at = take(r, 1);
    return at == NULL ? 0 : *at;
}

static uint64_t take_uint(reader *r, size_t bytes)
{
    const uint8_t *at = take(r, bytes);
    uint64_t v = 0;
    for (size_t i = 0; at != NULL && i < bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

static void take_into(reader *r, void *out, size_t n)
{
    const uint8_t *at = take(r, n);
    if (at != NULL)
        memcpy(out, at, n);
}

static void take_short_text(reader *r, char out[ALM_COORDINATE_MAX])
{
    const size_t n = take_u8(r);
    if (n >= ALM_COORDINATE_MAX)
        r->bad = true;
    else
        take_into(r, out, n);
}

static reader reader_of(alm_str value)
{
    const uint8_t *at = (const uint8_t *)value.ptr;
    return (reader){.at = at, .end = at + value.len};
}

alm_status alm_record_entity(alm_ctx *cx, alm_arena *arena, alm_record r, alm_entity *out)
{
    reader in = reader_of(r.value);
    ALM_TRY(parts(cx, arena, r.key, 1, &out->name));
    const uint8_t kind = take_u8(&in), flags = take_u8(&in);
    if (kind < ALM_ENTITY_USER || kind > ALM_ENTITY_GROUP || flags >= 32)
        return damaged(cx, "a user");
    out->kind = (alm_entity_kind)kind;
    out->enabled = (flags & 1) != 0;
    out->has_password = (flags & 2) != 0;
    out->has_key = (flags & 4) != 0;
    if (out->has_password) {
        out->verifier.iterations = (int32_t)take_uint(&in, 4);
        take_into(&in, out->verifier.salt, sizeof out->verifier.salt);
        take_into(&in, out->verifier.stored_key, sizeof out->verifier.stored_key);
        take_into(&in, out->verifier.server_key, sizeof out->verifier.server_key);
    }
    if (out->has_key) {
        take_short_text(&in, out->key_x);
        take_short_text(&in, out->key_y);
    }
    if ((flags & 8) != 0) {
        out->memory_max = (int64_t)take_uint(&in, 8);
        in.bad |= out->memory_max <= 0;
    }
    if ((flags & 16) != 0) {
        out->generation = take_uint(&in, 8);
        out->ended = take_uint(&in, 8);
    }
    return in.bad || in.at != in.end || out->name[0] == 0 ? damaged(cx, "a user") : ALM_OK;
}

alm_status alm_record_pair(alm_ctx *cx, alm_arena *arena, alm_record r, alm_pair *out)
{
    const char *names[PARTS_MAX];
    ALM_TRY(parts(cx, arena, r.key, 2, names));
    *out = (alm_pair){names[0], names[1]};
    return ALM_OK;
}

alm_status alm_record_token(alm_ctx *cx, alm_arena *arena, alm_record r, alm_token *out)
{
    reader in = reader_of(r.value);
    if (r.key.len != 1 + ALM_TOKEN_HEX)
        return damaged(cx, "a token");
    memcpy(out->hash, r.key.ptr + 1, ALM_TOKEN_HEX);
    const uint8_t flags = take_u8(&in);
    out->refresh = flags == 1;
    out->expires_us = (int64_t)take_uint(&in, 8);
    out->ttl_us = (int64_t)take_uint(&in, 8);
    if (in.bad || flags > 1)
        return damaged(cx, "a token");
    return alm_arena_zstr(cx, arena, (alm_str){(const char *)in.at, (size_t)(in.end - in.at)},
                          &out->entity);
}

bool alm_record_permissions(alm_str value, alm_grant *out)
{
    bool ok = value.len % 2 == 0;
    out->may = out->option = (alm_permission_set){{0, 0}};
    for (size_t i = 0; i + 1 < value.len && ok; i += 2) {
        const uint8_t number = (uint8_t)value.ptr[i], option = (uint8_t)value.ptr[i + 1];
        ok = number > 0 && number <= ALM_GRANT_OF_OWNER && option <= 1;
        if (ok)
            alm_permission_put(&out->may, number);
        if (ok && option == 1)
            alm_permission_put(&out->option, number);
    }
    if (!ok)
        out->may = out->option = (alm_permission_set){{0, 0}};
    return ok;
}

alm_status alm_record_grant(alm_ctx *cx, alm_arena *arena, alm_record r, alm_grant *out)
{
    const char *names[PARTS_MAX];
    ALM_TRY(parts(cx, arena, r.key, 3, names));
    *out = (alm_grant){.entity = names[0], .table = names[1], .column = names[2]};
    return alm_record_permissions(r.value, out) ? ALM_OK : damaged(cx, "a grant");
}

alm_status alm_record_assume(alm_ctx *cx, alm_arena *arena, alm_record r, alm_assume *out)
{
    const char *names[PARTS_MAX];
    ALM_TRY(parts(cx, arena, r.key, 2, names));
    *out = (alm_assume){names[0], names[1], r.value.len == 1 && r.value.ptr[0] == 1};
    return r.value.len == 1 ? ALM_OK : damaged(cx, "a grant");
}

/* The value is the definer's name, a zero byte, ALM_DEFINER_MAKER, the generation and the maker. Older records have
 * ALM_DEFINER_GENERATION and no maker, or no generation: the zero byte is followed by the table and column names that the view read when
 * it was defined. */
alm_status alm_record_definer(alm_ctx *cx, alm_arena *arena, alm_record r, alm_definer *out)
{
    const char *end = r.value.len > 0 ? memchr(r.value.ptr, 0, r.value.len) : NULL;
    ALM_TRY(parts(cx, arena, r.key, 1, &out->view));
    if (end == NULL)
        return damaged(cx, "a view");
    const size_t len = (size_t)(end - r.value.ptr);
    reader in = reader_of((alm_str){end + 1, r.value.len - len - 1});
    const size_t left = (size_t)(in.end - in.at);
    out->generation = out->maker = 0;
    if (left == sizeof(uint64_t) + 1 && *in.at == ALM_DEFINER_GENERATION) {
        in.at++;
        out->generation = take_uint(&in, sizeof(uint64_t));
    } else if (left == 2 * sizeof(uint64_t) + 1 && *in.at == ALM_DEFINER_MAKER) {
        in.at++;
        out->generation = take_uint(&in, sizeof(uint64_t));
        out->maker = take_uint(&in, sizeof(uint64_t));
    } else if (in.at != in.end && in.end[-1] != 0) {
        return damaged(cx, "a view");
    }
    return alm_arena_zstr(cx, arena, (alm_str){r.value.ptr, len}, &out->name);
}

alm_status alm_record_secret(alm_ctx *cx, alm_record r, uint8_t out[ALM_SCRAM_KEY])
{
    if (r.key.len != 1 || r.value.len != ALM_SCRAM_KEY)
        return damaged(cx, "the secret");
    memcpy(out, r.value.ptr, ALM_SCRAM_KEY);
    return ALM_OK;
}
