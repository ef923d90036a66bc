/* acl_record.c - see acl_record.h: the readers. Writers are in acl_edit.c. */
#include "auth/acl_record.h"

enum { PARTS_MAX = 3 };

static alm_status acl_record_damaged(alm_ctx *cx, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "a record of %s in the catalogue is damaged", what);
}

/* Names behind the letter, terminated copies; there must be n of them. */
static alm_status acl_record_parts(alm_ctx *cx, alm_arena *arena, alm_str key, uint32_t n,
                                   const char **out)
{
    const char *ptr = key.ptr + 1, *end = key.ptr + key.len;
    for (uint32_t i = 0; i < n; i++) {
        const char *stop = memchr(ptr, 0, (size_t)(end - ptr));
        if ((stop == NULL) != (i + 1 == n))
            return acl_record_damaged(cx, "access control");
        if (stop == NULL)
            stop = end;
        ALM_TRY(alm_arena_zstr(cx, arena, (alm_str){ptr, (size_t)(stop - ptr)}, &out[i]));
        ptr = stop + 1;
    }
    return ALM_OK;
}

typedef struct reader {
    const uint8_t *at, *end;
    bool bad;
} reader;

static const uint8_t *acl_record_take(reader *self, size_t n)
{
    if (self->bad || (size_t)(self->end - self->at) < n) {
        self->bad = true;
        return NULL;
    }
    self->at += n;
    return self->at - n;
}

static uint8_t take_u8(reader *self)
{
    const uint8_t *ptr = acl_record_take(self, 1);
    return ptr == NULL ? 0 : *ptr;
}

static uint64_t take_uint(reader *self, size_t bytes)
{
    const uint8_t *ptr = acl_record_take(self, bytes);
    uint64_t value = 0;
    for (size_t i = 0; ptr != NULL && i < bytes; i++)
        value |= (uint64_t)ptr[i] << (8 * i);
    return value;
}

static void take_into(reader *self, void *out, size_t n)
{
    const uint8_t *ptr = acl_record_take(self, n);
    if (ptr != NULL)
        memcpy(out, ptr, n);
}

static void take_short_text(reader *self, char out[ALM_COORDINATE_MAX])
{
    const size_t n = take_u8(self);
    if (n >= ALM_COORDINATE_MAX)
        self->bad = true;
    else
        take_into(self, out, n);
}

static reader reader_of(alm_str value)
{
    const uint8_t *ptr = (const uint8_t *)value.ptr;
    return (reader){.at = ptr, .end = ptr + value.len};
}

alm_status alm_record_entity(alm_ctx *cx, alm_arena *arena, alm_record record, alm_entity *out)
{
    reader self = reader_of(record.value);
    ALM_TRY(acl_record_parts(cx, arena, record.key, 1, &out->name));
    const uint8_t kind = take_u8(&self), flags = take_u8(&self);
    if (kind < ALM_ENTITY_USER || kind > ALM_ENTITY_GROUP || flags >= 32)
        return acl_record_damaged(cx, "a user");
    out->kind = (alm_entity_kind)kind;
    out->enabled = (flags & 1) != 0;
    out->has_password = (flags & 2) != 0;
    out->has_key = (flags & 4) != 0;
    if (out->has_password) {
        out->verifier.iterations = (int32_t)take_uint(&self, 4);
        take_into(&self, out->verifier.salt, sizeof out->verifier.salt);
        take_into(&self, out->verifier.stored_key, sizeof out->verifier.stored_key);
        take_into(&self, out->verifier.server_key, sizeof out->verifier.server_key);
    }
    if (out->has_key) {
        take_short_text(&self, out->key_x);
        take_short_text(&self, out->key_y);
    }
    if ((flags & 8) != 0) {
        out->memory_max = (int64_t)take_uint(&self, 8);
        self.bad |= out->memory_max <= 0;
    }
    if ((flags & 16) != 0) {
        out->generation = take_uint(&self, 8);
        out->ended = take_uint(&self, 8);
    }
    return self.bad || self.at != self.end || out->name[0] == 0 ? acl_record_damaged(cx, "a user")
                                                                : ALM_OK;
}

alm_status alm_record_pair(alm_ctx *cx, alm_arena *arena, alm_record record, alm_pair *out)
{
    const char *names[PARTS_MAX];
    ALM_TRY(acl_record_parts(cx, arena, record.key, 2, names));
    *out = (alm_pair){names[0], names[1]};
    return ALM_OK;
}

alm_status alm_record_token(alm_ctx *cx, alm_arena *arena, alm_record record, alm_token *out)
{
    reader self = reader_of(record.value);
    if (record.key.len != 1 + ALM_TOKEN_HEX)
        return acl_record_damaged(cx, "a token");
    memcpy(out->hash, record.key.ptr + 1, ALM_TOKEN_HEX);
    const uint8_t flags = take_u8(&self);
    out->refresh = flags == 1;
    out->expires_us = (int64_t)take_uint(&self, 8);
    out->ttl_us = (int64_t)take_uint(&self, 8);
    if (self.bad || flags > 1)
        return acl_record_damaged(cx, "a token");
    return alm_arena_zstr(cx, arena, (alm_str){(const char *)self.at, (size_t)(self.end - self.at)},
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

alm_status alm_record_grant(alm_ctx *cx, alm_arena *arena, alm_record record, alm_grant *out)
{
    const char *names[PARTS_MAX];
    ALM_TRY(acl_record_parts(cx, arena, record.key, 3, names));
    *out = (alm_grant){.entity = names[0], .table = names[1], .column = names[2]};
    return alm_record_permissions(record.value, out) ? ALM_OK : acl_record_damaged(cx, "a grant");
}

alm_status alm_record_assume(alm_ctx *cx, alm_arena *arena, alm_record record, alm_assume *out)
{
    const char *names[PARTS_MAX];
    ALM_TRY(acl_record_parts(cx, arena, record.key, 2, names));
    *out = (alm_assume){names[0], names[1], record.value.len == 1 && record.value.ptr[0] == 1};
    return record.value.len == 1 ? ALM_OK : acl_record_damaged(cx, "a grant");
}

/* The value is the definer's name, a zero byte, ALM_DEFINER_MAKER, the generation and the maker. Older records have
 * ALM_DEFINER_GENERATION and no maker, or no generation: the zero byte is followed by the table and column names that the view read when
 * it was defined. */
alm_status alm_record_definer(alm_ctx *cx, alm_arena *arena, alm_record record, alm_definer *out)
{
    const char *end = record.value.len > 0 ? memchr(record.value.ptr, 0, record.value.len) : NULL;
    ALM_TRY(acl_record_parts(cx, arena, record.key, 1, &out->view));
    if (end == NULL)
        return acl_record_damaged(cx, "a view");
    const size_t len = (size_t)(end - record.value.ptr);
    reader self = reader_of((alm_str){end + 1, record.value.len - len - 1});
    const size_t left = (size_t)(self.end - self.at);
    out->generation = out->maker = 0;
    if (left == sizeof(uint64_t) + 1 && *self.at == ALM_DEFINER_GENERATION) {
        self.at++;
        out->generation = take_uint(&self, sizeof(uint64_t));
    } else if (left == 2 * sizeof(uint64_t) + 1 && *self.at == ALM_DEFINER_MAKER) {
        self.at++;
        out->generation = take_uint(&self, sizeof(uint64_t));
        out->maker = take_uint(&self, sizeof(uint64_t));
    } else if (self.at != self.end && self.end[-1] != 0) {
        return acl_record_damaged(cx, "a view");
    }
    return alm_arena_zstr(cx, arena, (alm_str){record.value.ptr, len}, &out->name);
}

alm_status alm_record_secret(alm_ctx *cx, alm_record record, uint8_t out[ALM_SCRAM_KEY])
{
    if (record.key.len != 1 || record.value.len != ALM_SCRAM_KEY)
        return acl_record_damaged(cx, "the secret");
    memcpy(out, record.value.ptr, ALM_SCRAM_KEY);
    return ALM_OK;
}
