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

alm_status alm_token_cols(alm_ctx *cx, const alm_acl_words *w, const alm_plan_col **cols,
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
    *cols = w->jwk ? jwk : rest;
    *n = 4;
    return ALM_OK;
}

static alm_status one_row(alm_cursor *c, const alm_acl_words *w)
{
    alm_ctx *cx = &c->cx;
    const alm_plan_col *cols = NULL;
    ALM_TRY(alm_token_cols(cx, w, &cols, &c->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, c->n_cols, &c->cols));
    ALM_TRY(ALM_NEW(cx, cx->arena, &c->ready));
    ALM_TRY(ALM_NEWN(cx, cx->arena, c->n_cols, &c->ready->cols));
    for (uint32_t i = 0; i < c->n_cols; i++) {
        c->cols[i] = cols[i];
        ALM_TRY(alm_vec_new(cx, cx->arena, cols[i].type, 1, &c->ready->cols[i]));
    }
    c->ready->n_cols = c->n_cols;
    c->ready->rows = 1;
    c->has_rows = true;
    return ALM_OK;
}

static alm_status put_text(alm_cursor *c, uint32_t col, const char *text)
{
    alm_str kept;
    ALM_TRY(alm_arena_copy(&c->cx, c->cx.arena, alm_str_of(text), &kept));
    *(alm_view *)c->ready->cols[col].data = alm_view_of(kept);
    return ALM_OK;
}

/* ------------------------------------------------------------------------- create */

static uint32_t tokens_of(const alm_acl *acl, const char *entity)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < acl->n_tokens; i++)
        n += strcmp(acl->tokens[i].entity, entity) == 0;
    return n;
}

/* For one more of either kind. */
static alm_status has_room(alm_cursor *c, const alm_acl *acl, const alm_entity *e, int32_t pos)
{
    const uint32_t n =
        tokens_of(acl, e->name) + alm_transient_count(c->session->db, e, c->cx.now_ns / 1000);
    return n < TOKENS_OF_MAX ? ALM_OK
                             : alm_fail(&c->cx, ALM_E_LIMIT, pos, "'%s' has %d tokens already",
                                        e->name, TOKENS_OF_MAX);
}

static alm_status add_token(alm_cursor *c, alm_acl_edit *edit, void *arg)
{
    token_run *r = arg;
    const alm_entity *e = NULL;
    ALM_TRY(alm_acl_need(c, edit->acl, &r->w->name, r->w->kind, &e));
    ALM_TRY(alm_acl_may_change(c, edit->acl, e->name, r->w->name.pos));
    ALM_TRY(has_room(c, edit->acl, e, r->w->name.pos));
    r->token.entity = e->name;
    return alm_edit_token(edit, &r->token);
}

static alm_status add_key(alm_cursor *c, alm_acl_edit *edit, void *arg)
{
    const token_run *r = arg;
    const alm_entity *old = NULL;
    ALM_TRY(alm_acl_need(c, edit->acl, &r->w->name, r->w->kind, &old));
    ALM_TRY(alm_acl_may_change(c, edit->acl, old->name, r->w->name.pos));
    alm_entity e = *old;
    e.has_key = true;
    memset(e.key_x, 0, sizeof e.key_x);
    memset(e.key_y, 0, sizeof e.key_y);
    memcpy(e.key_x, r->key.x, strlen(r->key.x));
    memcpy(e.key_y, r->key.y, strlen(r->key.y));
    return alm_edit_entity(edit, &e);
}

static alm_status add_transient(alm_cursor *c, const token_run *r, const alm_entity *e,
                                int64_t now_us)
{
    ALM_TRY(has_room(c, c->rights->acl, e, r->w->name.pos));
    return alm_transient_add(&c->cx, c->session->db, c->rights->acl, &r->token, now_us);
}

static alm_status add_rest(alm_cursor *c, token_run *r)
{
    uint8_t random[ALM_TOKEN_HASH];
    char text[ALM_TOKEN_TEXT + 1];
    const alm_io *io = c->session->db->io;
    const int64_t now_us = c->cx.now_ns / 1000;
    const alm_entity *e = NULL;
    if (!alm_rest_token_ttl(r->w->ttl.text, &r->token.ttl_us))
        return alm_fail(&c->cx, ALM_E_ARG, r->w->ttl.pos,
                        "a time to live is a number and s, m, h or d, from 1m to 3650d, not '%.*s'",
                        (int)ALM_MIN(r->w->ttl.text.len, 40), r->w->ttl.text.ptr);
    const int code = io->random(io, random, sizeof random);
    if (code < 0)
        return alm_io_fail(&c->cx, code, "random bytes");
    alm_rest_token_text(random, text);
    ALM_TRY(alm_rest_token_hash(&c->cx, alm_str_of(text), r->token.hash));
    r->token.expires_us = now_us + r->token.ttl_us;
    r->token.refresh = r->w->refresh;
    ALM_TRY(alm_acl_need(c, c->rights->acl, &r->w->name, r->w->kind, &e));
    ALM_TRY(alm_acl_may_change(c, c->rights->acl, e->name, r->w->name.pos));
    r->token.entity = e->name;
    r->token.generation = e->generation;
    ALM_TRY(r->w->transient ? add_transient(c, r, e, now_us) : alm_acl_change(c, add_token, r));
    ALM_TRY(one_row(c, r->w));
    ALM_TRY(put_text(c, 0, r->token.entity));
    ALM_TRY(put_text(c, 1, text));
    *(int64_t *)c->ready->cols[2].data = r->token.expires_us;
    *(uint8_t *)c->ready->cols[3].data = r->token.refresh;
    OPENSSL_cleanse(random, sizeof random);
    OPENSSL_cleanse(text, sizeof text);
    return ALM_OK;
}

alm_status alm_run_add_token(alm_cursor *c, const alm_acl_words *w)
{
    token_run r = {.w = w};
    if (!w->jwk)
        return add_rest(c, &r);
    ALM_TRY(alm_key_make(&c->cx, &r.key));
    ALM_TRY(alm_acl_change(c, add_key, &r));
    ALM_TRY(one_row(c, w));
    const char *name = NULL;
    ALM_TRY(alm_arena_zstr(&c->cx, c->cx.arena, w->name.text, &name));
    ALM_TRY(put_text(c, 0, name));
    ALM_TRY(put_text(c, 1, r.key.x));
    ALM_TRY(put_text(c, 2, r.key.y));
    ALM_TRY(put_text(c, 3, r.key.d));
    OPENSSL_cleanse(&r.key, sizeof r.key);
    return ALM_OK;
}

/* --------------------------------------------------------------------------- drop */

static alm_status drop(alm_cursor *c, alm_acl_edit *edit, void *arg)
{
    const token_run *r = arg;
    const alm_entity *e = NULL;
    uint32_t n = 0;
    char hash[ALM_TOKEN_HEX + 1] = "";
    ALM_TRY(alm_acl_need(c, edit->acl, &r->w->name, r->w->kind, &e));
    ALM_TRY(alm_acl_may_change(c, edit->acl, e->name, r->w->name.pos));
    if (r->w->jwk) {
        alm_entity bare = *e;
        bare.has_key = false;
        return alm_edit_entity(edit, &bare);
    }
    if (r->w->token.text.ptr != NULL)
        ALM_TRY(alm_rest_token_hash(&c->cx, r->w->token.text, hash));
    n = alm_transient_drop(c->session->db, e->name, hash);
    for (uint32_t i = 0; i < edit->acl->n_tokens; i++) {
        const alm_token *t = &edit->acl->tokens[i];
        if (strcmp(t->entity, e->name) != 0 || (hash[0] != 0 && strcmp(t->hash, hash) != 0))
            continue;
        ALM_TRY(alm_edit_drop_token(edit, t->hash));
        n++;
    }
    if (n == 0 && hash[0] != 0)
        return alm_fail(&c->cx, ALM_E_SETTING, r->w->token.pos, "'%s' has no such token", e->name);
    return ALM_OK;
}

alm_status alm_run_drop_token(alm_cursor *c, const alm_acl_words *w)
{
    token_run r = {.w = w};
    return alm_acl_change(c, drop, &r);
}
