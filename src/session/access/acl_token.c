/*
 * acl_token.c - ALTER USER ... CREATE TOKEN, DROP TOKEN. What is made is shown once, in the result; the catalogue keeps the
 * hash of a token and the public part of a key. TRANSIENT tokens live in memory, until a restart.
 */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "auth/token.h"
#include "session/access/access.h"

enum { TOKENS_OF_MAX = 1000 };

typedef struct token_run {
    const alm_acl_words *w;
    alm_token token;
    alm_key_texts key;
} token_run;

/* ------------------------------------------------------------------------- result */

alm_status alm_token_cols(alm_ctx *cx, const alm_acl_words *words, const alm_plan_col **cols,
                          uint32_t *n)
{
    static const alm_plan_col jwk[] = {{"name", ALM_TY(STRING)},
                                       {"public_key_x", ALM_TY(STRING)},
                                       {"public_key_y", ALM_TY(STRING)},
                                       {"private_key", ALM_TY(STRING)}};
    static const alm_plan_col rest[] = {{"name", ALM_TY(STRING)},
                                        {"token", ALM_TY(STRING)},
                                        {"expires_at", ALM_TY(TIMESTAMP)},
                                        {"refresh", ALM_TY(BOOLEAN)}};
    (void)cx;
    *cols = words->jwk ? jwk : rest;
    *n = 4;
    return ALM_OK;
}

static alm_status one_row(alm_cursor *cursor, const alm_acl_words *words)
{
    alm_ctx *cx = &cursor->cx;
    const alm_plan_col *cols = NULL;
    ALM_TRY(alm_token_cols(cx, words, &cols, &cursor->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, cursor->n_cols, &cursor->cols));
    ALM_TRY(ALM_NEW(cx, cx->arena, &cursor->ready));
    ALM_TRY(ALM_NEWN(cx, cx->arena, cursor->n_cols, &cursor->ready->cols));
    for (uint32_t i = 0; i < cursor->n_cols; i++) {
        cursor->cols[i] = cols[i];
        ALM_TRY(alm_vec_new(cx, cx->arena, cols[i].type, 1, &cursor->ready->cols[i]));
    }
    cursor->ready->n_cols = cursor->n_cols;
    cursor->ready->rows = 1;
    cursor->has_rows = true;
    return ALM_OK;
}

static alm_status acl_token_put_text(alm_cursor *cursor, uint32_t col, const char *text)
{
    alm_str kept;
    ALM_TRY(alm_arena_copy(&cursor->cx, cursor->cx.arena, alm_str_of(text), &kept));
    *(alm_view *)cursor->ready->cols[col].data = alm_view_of(kept);
    return ALM_OK;
}

/* ------------------------------------------------------------------------- create */

static uint32_t tokens_of(const alm_acl *acl, const char *entity)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < acl->n_tokens; i++)
        count += strcmp(acl->tokens[i].entity, entity) == 0;
    return count;
}

/* For one more of either kind. */
static alm_status acl_token_has_room(alm_cursor *cursor, const alm_acl *acl,
                                     const alm_entity *entity, int32_t pos)
{
    const uint32_t n = tokens_of(acl, entity->name) +
                       alm_transient_count(cursor->session->db, entity, cursor->cx.now_ns / 1000);
    return n < TOKENS_OF_MAX ? ALM_OK
                             : alm_fail(&cursor->cx, ALM_E_LIMIT, pos, "'%s' has %d tokens already",
                                        entity->name, TOKENS_OF_MAX);
}

static alm_status add_token(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    token_run *r = arg;
    const alm_entity *entity = NULL;
    ALM_TRY(alm_acl_need(cursor, edit->acl, &r->w->name, r->w->kind, &entity));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, entity->name, r->w->name.pos));
    ALM_TRY(acl_token_has_room(cursor, edit->acl, entity, r->w->name.pos));
    r->token.entity = entity->name;
    return alm_edit_token(edit, &r->token);
}

static alm_status acl_token_add_key(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    const token_run *r = arg;
    const alm_entity *old = NULL;
    ALM_TRY(alm_acl_need(cursor, edit->acl, &r->w->name, r->w->kind, &old));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, old->name, r->w->name.pos));
    alm_entity entity = *old;
    entity.has_key = true;
    memset(entity.key_x, 0, sizeof entity.key_x);
    memset(entity.key_y, 0, sizeof entity.key_y);
    memcpy(entity.key_x, r->key.x, strlen(r->key.x));
    memcpy(entity.key_y, r->key.y, strlen(r->key.y));
    return alm_edit_entity(edit, &entity);
}

static alm_status add_transient(alm_cursor *cursor, const token_run *r, const alm_entity *entity,
                                int64_t now_us)
{
    ALM_TRY(acl_token_has_room(cursor, cursor->rights->acl, entity, r->w->name.pos));
    return alm_transient_add(&cursor->cx, cursor->session->db, cursor->rights->acl, &r->token,
                             now_us);
}

static alm_status add_rest(alm_cursor *cursor, token_run *r)
{
    uint8_t random[ALM_TOKEN_HASH];
    char text[ALM_TOKEN_TEXT + 1];
    const alm_io *io = cursor->session->db->io;
    const int64_t now_us = cursor->cx.now_ns / 1000;
    const alm_entity *entity = NULL;
    if (!alm_rest_token_ttl(r->w->ttl.text, &r->token.ttl_us))
        return alm_fail(&cursor->cx, ALM_E_ARG, r->w->ttl.pos,
                        "a time to live is a number and s, m, h or d, from 1m to 3650d, not '%.*s'",
                        (int)ALM_MIN(r->w->ttl.text.len, 40), r->w->ttl.text.ptr);
    const int code = io->random(io, random, sizeof random);
    if (code < 0)
        return alm_io_fail(&cursor->cx, code, "random bytes");
    alm_rest_token_text(random, text);
    ALM_TRY(alm_rest_token_hash(&cursor->cx, alm_str_of(text), r->token.hash));
    r->token.expires_us = now_us + r->token.ttl_us;
    r->token.refresh = r->w->refresh;
    ALM_TRY(alm_acl_need(cursor, cursor->rights->acl, &r->w->name, r->w->kind, &entity));
    ALM_TRY(alm_acl_may_change(cursor, cursor->rights->acl, entity->name, r->w->name.pos));
    r->token.entity = entity->name;
    r->token.generation = entity->generation;
    ALM_TRY(r->w->transient ? add_transient(cursor, r, entity, now_us)
                            : alm_acl_change(cursor, add_token, r));
    ALM_TRY(one_row(cursor, r->w));
    ALM_TRY(acl_token_put_text(cursor, 0, r->token.entity));
    ALM_TRY(acl_token_put_text(cursor, 1, text));
    *(int64_t *)cursor->ready->cols[2].data = r->token.expires_us;
    *(uint8_t *)cursor->ready->cols[3].data = r->token.refresh;
    OPENSSL_cleanse(random, sizeof random);
    OPENSSL_cleanse(text, sizeof text);
    return ALM_OK;
}

alm_status alm_run_add_token(alm_cursor *cursor, const alm_acl_words *words)
{
    token_run r = {.w = words};
    if (!words->jwk)
        return add_rest(cursor, &r);
    ALM_TRY(alm_key_make(&cursor->cx, &r.key));
    ALM_TRY(alm_acl_change(cursor, acl_token_add_key, &r));
    ALM_TRY(one_row(cursor, words));
    const char *name = NULL;
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, words->name.text, &name));
    ALM_TRY(acl_token_put_text(cursor, 0, name));
    ALM_TRY(acl_token_put_text(cursor, 1, r.key.x));
    ALM_TRY(acl_token_put_text(cursor, 2, r.key.y));
    ALM_TRY(acl_token_put_text(cursor, 3, r.key.d));
    OPENSSL_cleanse(&r.key, sizeof r.key);
    return ALM_OK;
}

/* --------------------------------------------------------------------------- drop */

static alm_status acl_token_drop(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    const token_run *r = arg;
    const alm_entity *entity = NULL;
    uint32_t count = 0;
    char hash[ALM_TOKEN_HEX + 1] = "";
    ALM_TRY(alm_acl_need(cursor, edit->acl, &r->w->name, r->w->kind, &entity));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, entity->name, r->w->name.pos));
    if (r->w->jwk) {
        alm_entity bare = *entity;
        bare.has_key = false;
        return alm_edit_entity(edit, &bare);
    }
    if (r->w->token.text.ptr != NULL)
        ALM_TRY(alm_rest_token_hash(&cursor->cx, r->w->token.text, hash));
    count = alm_transient_drop(cursor->session->db, entity->name, hash);
    for (uint32_t i = 0; i < edit->acl->n_tokens; i++) {
        const alm_token *token = &edit->acl->tokens[i];
        if (strcmp(token->entity, entity->name) != 0 ||
            (hash[0] != 0 && strcmp(token->hash, hash) != 0))
            continue;
        ALM_TRY(alm_edit_drop_token(edit, token->hash));
        count++;
    }
    if (count == 0 && hash[0] != 0)
        return alm_fail(&cursor->cx, ALM_E_SETTING, r->w->token.pos, "'%s' has no such token",
                        entity->name);
    return ALM_OK;
}

alm_status alm_run_drop_token(alm_cursor *cursor, const alm_acl_words *words)
{
    token_run r = {.w = words};
    return alm_acl_change(cursor, acl_token_drop, &r);
}
