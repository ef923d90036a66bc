/* login.c - see login.h. */
#include "session/access/login.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/token.h"
#include "base/hash.h"
#include "base/log.h"
#include "session/access/access.h"

enum { MAC = 32, KEPT = 1024, FAILURES = 1024, DELAY_MAX_MS = 2000 };
/* Failures before answers wait: of an address with a name, of an address with whatever names. */
enum { FREE_TRIES = 5, FREE_TRIES_ADDRESS = 50 };

typedef struct failures {
    uint64_t key;
    uint32_t n;
    int64_t last_ns;
} failures;

struct alm_logins {
    pthread_mutex_t lock;
    uint8_t secret[MAC]; /* of this process */
    alm_scram_verifier admin;
    uint64_t admin_times;     /* that it was made: its salt is always the same for a name */
    char admin_password[256]; /* that `admin` is made of */
    uint8_t right[KEPT][MAC]; /* passwords that were right lately, by their HMAC */
    failures by_name[FAILURES], by_address[FAILURES];
};

alm_status alm_logins_new(alm_ctx *cx, const alm_db *db, struct alm_logins **out)
{
    struct alm_logins *logins = calloc(1, sizeof *logins);
    if (logins == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    const int code = db->io->random(db->io, logins->secret, sizeof logins->secret);
    if (code < 0) {
        free(logins);
        return alm_io_fail(cx, code, "random bytes");
    }
    (void)pthread_mutex_init(&logins->lock, NULL);
    *out = logins;
    return ALM_OK;
}

void alm_logins_free(struct alm_logins *logins)
{
    if (logins == NULL)
        return;
    (void)pthread_mutex_destroy(&logins->lock);
    OPENSSL_cleanse(logins, sizeof *logins);
    free(logins);
}

/* ---------------------------------------------------------------------- verifiers */

static int32_t rounds(const alm_db *db)
{
    return (int32_t)db->conf->acl_password_hash_iteration_count;
}

/* Of the catalogue, so that made-up names get the same after a restart, as others do. */
static const uint8_t *secret_of(const alm_db *db, const alm_acl *acl)
{
    return acl->has_secret ? acl->secret : db->access.logins->secret;
}

/* As if one of those who have passwords had the name. A name alone says what it gets: neither a restart nor the setting changes that. */
static alm_status make_up(alm_ctx *cx, const alm_db *db, const alm_acl *acl, alm_str name,
                          alm_scram_verifier *out)
{
    int32_t iterations = rounds(db); /* where nobody has one */
    if (acl->n_rounds > 0)
        ALM_TRY(alm_scram_fake_rounds(cx, secret_of(db, acl), name, acl->rounds, acl->n_rounds,
                                      &iterations));
    return alm_scram_verifier_fake(cx, secret_of(db, acl), name, iterations, out);
}

/* Made when it is needed first, and again when the password was reloaded. It is kept nowhere, and its salt and rounds are those that the name
 * would have if nobody had it: else the administrator's name could be told by them. */
static alm_status admin_verifier(alm_ctx *cx, alm_db *db, const alm_acl *acl,
                                 alm_scram_verifier *out)
{
    struct alm_logins *logins = db->access.logins;
    const char *password = db->conf->acl_admin_password;
    alm_scram_verifier like;
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&logins->lock);
    if (logins->admin.iterations == 0 || strcmp(logins->admin_password, password) != 0) {
        status = make_up(cx, db, acl, alm_str_of(db->conf->acl_admin_user), &like);
        if (status == ALM_OK)
            status = alm_scram_verifier_make(cx, alm_str_of(password), like.salt, like.iterations,
                                             &logins->admin);
        (void)snprintf(logins->admin_password, sizeof logins->admin_password, "%s", password);
        logins->admin_times++;
    }
    *out = logins->admin;
    (void)pthread_mutex_unlock(&logins->lock);
    return status;
}

/* Who has a password under that name; NULL: nobody. A longer name is nobody's, however it begins. */
static const alm_entity *find_user(const alm_acl *acl, alm_str name)
{
    char text[ALM_ENTITY_NAME_MAX + 1];
    if (name.len == 0 || name.len > ALM_ENTITY_NAME_MAX || memchr(name.ptr, 0, name.len) != NULL)
        return NULL;
    (void)snprintf(text, sizeof text, "%.*s", (int)name.len, name.ptr);
    const alm_entity *entity = alm_acl_entity(acl, text);
    return entity != NULL && entity->kind != ALM_ENTITY_GROUP && entity->has_password ? entity
                                                                                      : NULL;
}

alm_status alm_login_verifier(alm_ctx *cx, alm_db *db, alm_str name, alm_scram_verifier *out,
                              bool *known)
{
    const struct alm_conf *conf = db->conf;
    alm_acl *acl = NULL;
    alm_status status = ALM_OK;
    *known = false;
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const alm_entity *entity = find_user(acl, name);
    if (alm_str_eq(name, alm_str_of(conf->acl_admin_user)) && conf->acl_admin_user_enabled) {
        *known = true;
        status = admin_verifier(cx, db, acl, out);
    } else if (entity != NULL) { /* DISABLE is not seen by the salt */
        *known = entity->enabled;
        *out = entity->verifier;
    } else {
        status = make_up(cx, db, acl, name, out);
    }
    alm_acl_release(acl);
    return status;
}

/* The secret of the catalogue, where it has none; without one, made-up names change with each start. */
static alm_status make_secret(alm_ctx *cx, alm_db *db, const alm_acl *acl)
{
    uint8_t secret[ALM_SCRAM_KEY];
    const int code = db->io->random(db->io, secret, sizeof secret);
    if (code < 0)
        return alm_io_fail(cx, code, "random bytes");
    alm_acl_edit edit = {.cx = cx, .acl = acl};
    ALM_TRY(alm_edit_secret(&edit, secret));
    OPENSSL_cleanse(secret, sizeof secret);
    const alm_records_change change = {.seen_lsn = acl->epoch, .rows = edit.rows, .n = edit.n};
    return alm_records_put(cx, db->storage, &change);
}

static alm_status access_login_prepare(alm_ctx *cx, alm_db *db)
{
    alm_acl *acl = NULL;
    alm_scram_verifier unused;
    alm_status status = ALM_OK;
    ALM_TRY(alm_db_acl(cx, db, &acl));
    if (!acl->has_secret)
        status = make_secret(cx, db, acl);
    alm_acl_release(acl);
    ALM_TRY(status);
    ALM_TRY(alm_db_acl(cx, db, &acl));
    status = admin_verifier(cx, db, acl, &unused);
    alm_acl_release(acl);
    OPENSSL_cleanse(&unused, sizeof unused);
    return status;
}

void alm_logins_prepare(alm_db *db)
{
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena, .conf = db->conf, .io = db->io};
    if (access_login_prepare(&cx, db) != ALM_OK)
        alm_log_warn("acl", "no secret for names that are not there: %s", cx.err.msg);
    alm_arena_deinit(&arena);
}

/* Another one for the same password that was set again. */
static uint64_t admin_credential(alm_db *db, uint64_t version)
{
    struct alm_logins *logins = db->access.logins;
    (void)pthread_mutex_lock(&logins->lock);
    const uint64_t credential = alm_hash_u128(version, logins->admin_times);
    (void)pthread_mutex_unlock(&logins->lock);
    return credential;
}

alm_status alm_login_name(alm_ctx *cx, alm_db *db, alm_str name, const alm_scram_verifier *proved,
                          alm_principal **out)
{
    const alm_began began = {.proof = ALM_PROOF_PASSWORD,
                             .credential = alm_password_version(proved)};
    const struct alm_conf *conf = db->conf;
    alm_acl *acl = NULL;
    alm_status status = ALM_OK;
    *out = NULL;
    if (alm_str_eq(name, alm_str_of(conf->acl_admin_user))) {
        ALM_TRY(alm_principal_new(cx, ALM_PRINCIPAL_ADMIN, name, NULL, 0, out));
        (*out)->began = began;
        (*out)->began.credential = admin_credential(db, began.credential);
        if (alm_admin_over(db, *out) != NULL) {
            alm_principal_release(*out);
            *out = NULL;
        }
        return ALM_OK;
    }
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const alm_entity *entity = find_user(acl, name);
    if (entity != NULL && entity->enabled &&
        alm_password_version(&entity->verifier) == began.credential)
        status = alm_principal_local(cx, entity, &began, out);
    alm_acl_release(acl);
    return status;
}

alm_status alm_login_key(alm_ctx *cx, const alm_entity *entity, alm_principal **out)
{
    const alm_began began = {.proof = ALM_PROOF_KEY, .credential = alm_key_version(entity)};
    ALM_ASSERT(entity->has_key);
    return alm_principal_local(cx, entity, &began, out);
}

/* The verifier is made again when it is needed next: until then nobody has logged in by the new password. */
const char *alm_admin_over(alm_db *db, const alm_principal *who)
{
    const struct alm_conf *conf = db->conf;
    struct alm_logins *logins = db->access.logins;
    ALM_ASSERT(who->kind == ALM_PRINCIPAL_ADMIN);
    if (!conf->acl_admin_user_enabled)
        return "acl.admin.user.enabled is false";
    (void)pthread_mutex_lock(&logins->lock);
    const bool same = strcmp(logins->admin_password, conf->acl_admin_password) == 0 &&
                      alm_hash_u128(alm_password_version(&logins->admin), logins->admin_times) ==
                          who->began.credential;
    (void)pthread_mutex_unlock(&logins->lock);
    return same ? NULL : "the password has changed";
}

/* ---------------------------------------------------------------------- passwords */

static bool access_login_mac_of(const struct alm_logins *logins, const alm_scram_verifier *verifier,
                                alm_str name, alm_str password, uint8_t out[MAC])
{
    unsigned int n = 0;
    uint8_t first[MAC];
    uint8_t all[3 * MAC];
    const bool ok = HMAC(EVP_sha256(), logins->secret, MAC, (const uint8_t *)name.ptr, name.len,
                         first, &n) != NULL;
    memcpy(all, first, MAC);
    memcpy(all + MAC, verifier->stored_key, MAC);
    const bool second = ok && HMAC(EVP_sha256(), logins->secret, MAC, (const uint8_t *)password.ptr,
                                   password.len, all + 2 * (size_t)MAC, &n) != NULL;
    const bool third =
        second && HMAC(EVP_sha256(), logins->secret, MAC, all, sizeof all, out, &n) != NULL;
    OPENSSL_cleanse(all, sizeof all);
    return third;
}

static uint8_t *access_login_slot_of(struct alm_logins *logins, const uint8_t mac[MAC])
{
    uint32_t place;
    memcpy(&place, mac, sizeof place);
    return logins->right[place % KEPT];
}

alm_status alm_login_password_lately(alm_ctx *cx, alm_db *db, alm_str name, alm_str password,
                                     alm_principal **out)
{
    struct alm_logins *logins = db->access.logins;
    alm_scram_verifier verifier;
    bool known = false;
    uint8_t mac[MAC];
    *out = NULL;
    if (name.len == 0 || name.len > ALM_ENTITY_NAME_MAX ||
        (alm_str_eq(name, alm_str_of(db->conf->acl_admin_user)) && logins->admin.iterations == 0))
        return ALM_OK;
    ALM_TRY(alm_login_verifier(cx, db, name, &verifier, &known));
    if (!access_login_mac_of(logins, &verifier, name, password, mac))
        return alm_fail(cx, ALM_E_INTERNAL, -1, "HMAC failed");
    (void)pthread_mutex_lock(&logins->lock);
    const bool fits = known && CRYPTO_memcmp(access_login_slot_of(logins, mac), mac, MAC) == 0;
    (void)pthread_mutex_unlock(&logins->lock);
    const alm_status status = fits ? alm_login_name(cx, db, name, &verifier, out) : ALM_OK;
    OPENSSL_cleanse(&verifier, sizeof verifier);
    return status;
}

alm_status alm_login_password(alm_ctx *cx, alm_db *db, alm_str name, alm_str password,
                              alm_principal **out)
{
    struct alm_logins *logins = db->access.logins;
    alm_scram_verifier verifier;
    bool known = false, fits = false;
    uint8_t mac[MAC];
    *out = NULL;
    if (name.len == 0 || name.len > ALM_ENTITY_NAME_MAX)
        return ALM_OK;
    ALM_TRY(alm_login_verifier(cx, db, name, &verifier, &known));
    if (!access_login_mac_of(logins, &verifier, name, password, mac))
        return alm_fail(cx, ALM_E_INTERNAL, -1, "HMAC failed");
    (void)pthread_mutex_lock(&logins->lock);
    fits = known && CRYPTO_memcmp(access_login_slot_of(logins, mac), mac, MAC) == 0;
    (void)pthread_mutex_unlock(&logins->lock);
    alm_status status = ALM_OK;
    if (!fits) {
        status = alm_scram_check_password(cx, &verifier, password, &fits);
        fits = fits && known && status == ALM_OK;
        if (fits) {
            (void)pthread_mutex_lock(&logins->lock);
            memcpy(access_login_slot_of(logins, mac), mac, MAC);
            (void)pthread_mutex_unlock(&logins->lock);
        }
    }
    if (fits)
        status = alm_login_name(cx, db, name, &verifier, out);
    OPENSSL_cleanse(&verifier, sizeof verifier);
    return status;
}

/* ------------------------------------------------------------------------- tokens */

/* A token with REFRESH lives on from its use. In memory at once; a restart goes on with what the catalogue has. */
static const alm_entity *find_token(const alm_acl *acl, alm_db *db, const char *hash,
                                    alm_token *found, char name[ALM_ENTITY_NAME_MAX + 1],
                                    bool *transient)
{
    const alm_token *token = alm_acl_token(acl, hash);
    *transient = token == NULL && alm_transient_find(db, hash, found, name);
    if (token != NULL) {
        *found = *token;
        (void)snprintf(name, ALM_ENTITY_NAME_MAX + 1, "%s", token->entity);
        found->entity = name;
    }
    const alm_entity *entity = token != NULL || *transient ? alm_acl_entity(acl, name) : NULL;
    /* those of the catalogue go with their entity */
    return entity != NULL && (!*transient || entity->generation == found->generation) ? entity
                                                                                      : NULL;
}

const char *alm_token_over(alm_db *db, const alm_acl *acl, const alm_principal *who,
                           int64_t *until_us)
{
    char name[ALM_ENTITY_NAME_MAX + 1];
    alm_token token;
    bool transient = false;
    const alm_entity *entity = find_token(acl, db, who->began.token, &token, name, &transient);
    ALM_ASSERT(who->began.proof == ALM_PROOF_TOKEN);
    if (entity == NULL || strcmp(name, who->name) != 0 || token.expires_us <= 0)
        return "the token was dropped";
    *until_us = token.expires_us; /* as it is now: a use may move it */
    return token.expires_us > db->io->wall_ns(db->io) / 1000 ? NULL : "the token has ended";
}

static bool refresh_is_due(const alm_db *db, const alm_token *token, int64_t now_us)
{
    const int64_t threshold_us = db->conf->acl_rest_token_refresh_threshold * 1000000;
    return token->refresh && now_us + token->ttl_us - token->expires_us > threshold_us;
}

/* Moves the end of a transient token, or asks the catalogue to keep a later end. One that was dropped since it was found stays
 * dropped: the records are newer then, or it is not in the list. */
static alm_status access_login_refresh(alm_db *db, const alm_acl *acl, const alm_token *token,
                                       bool transient, int64_t now_us)
{
    if (!refresh_is_due(db, token, now_us))
        return ALM_OK;
    if (transient) {
        alm_transient_move(db, token, now_us + token->ttl_us);
        return ALM_OK;
    }
    alm_arena arena;
    alm_ctx own = {.arena = &arena, .io = db->io};
    alm_arena_init(&arena, NULL);
    alm_acl_edit edit = {.cx = &own, .acl = acl};
    alm_token later = *token;
    later.expires_us = now_us + token->ttl_us;
    alm_status status = alm_edit_token(&edit, &later);
    const alm_records_change change = {.seen_lsn = acl->epoch, .rows = edit.rows, .n = edit.n};
    if (status == ALM_OK)
        status = alm_records_put(&own, db->storage, &change);
    alm_arena_deinit(&arena);
    return status == ALM_E_STALE ? ALM_OK : status; /* the next use moves it */
}

alm_status alm_login_token(alm_ctx *cx, alm_db *db, alm_str user, alm_str token, bool *later,
                           alm_principal **out)
{
    char hash[ALM_TOKEN_HEX + 1], name[ALM_ENTITY_NAME_MAX + 1];
    alm_acl *acl = NULL;
    alm_token t;
    bool transient = false;
    const int64_t now_us = db->io->wall_ns(db->io) / 1000;
    *out = NULL;
    if (token.len != ALM_TOKEN_TEXT || !alm_rest_token_is_one(token))
        return ALM_OK;
    ALM_TRY(alm_rest_token_hash(cx, token, hash));
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const alm_entity *entity = find_token(acl, db, hash, &t, name, &transient);
    const bool good = entity != NULL && entity->enabled && t.expires_us > now_us &&
                      (user.len == 0 || alm_str_eq(user, alm_str_of(entity->name)));
    alm_status status = ALM_OK;
    if (later != NULL)
        *later = good && refresh_is_due(db, &t, now_us);
    if (later != NULL && *later) {
        alm_acl_release(acl);
        return ALM_OK;
    }
    alm_began began = {.proof = ALM_PROOF_TOKEN};
    (void)snprintf(began.token, sizeof began.token, "%s", hash);
    if (good)
        status = alm_principal_local(cx, entity, &began, out);
    if (good && status == ALM_OK && access_login_refresh(db, acl, &t, transient, now_us) != ALM_OK)
        alm_error_clear(cx); /* it is good until its old end */
    alm_acl_release(acl);
    return status;
}

/* ----------------------------------------------------------------------- failures */

static uint64_t access_login_key_of(const struct alm_logins *logins, alm_str address, alm_str name)
{
    uint64_t seed;
    memcpy(&seed, logins->secret, sizeof seed);
    return alm_hash_u128(alm_hash_str_nocase(address) ^ seed, alm_hash_str_nocase(name)) | 1;
}

static const int64_t FORGET_NS = INT64_C(600) * 1000000000;

static int64_t delay_of(const failures table[FAILURES], uint64_t key, uint32_t free_tries)
{
    const failures *f = &table[key % FAILURES];
    if (f->key != key || f->n <= free_tries || alm_monotonic_ns() - f->last_ns > FORGET_NS)
        return 0;
    return ALM_MIN(INT64_C(100) << ALM_MIN(f->n - free_tries - 1, 10u), (int64_t)DELAY_MAX_MS);
}

void alm_login_delays(alm_db *db, alm_str address, alm_str name, alm_login_wait *out)
{
    struct alm_logins *logins = db->access.logins;
    const uint64_t key = access_login_key_of(logins, address, name),
                   all = access_login_key_of(logins, address, (alm_str){"", 0});
    (void)pthread_mutex_lock(&logins->lock);
    out->name_ms = delay_of(logins->by_name, key, FREE_TRIES);
    out->ms = ALM_MAX(out->name_ms, delay_of(logins->by_address, all, FREE_TRIES_ADDRESS));
    (void)pthread_mutex_unlock(&logins->lock);
}

static void access_login_count(failures table[FAILURES], uint64_t key, bool ok)
{
    const int64_t now_ns = alm_monotonic_ns();
    failures *f = &table[key % FAILURES];
    if (f->key != key || now_ns - f->last_ns > FORGET_NS)
        f->n = 0;
    *f = (failures){.key = key, .n = ok ? 0 : ALM_MIN(f->n, UINT32_MAX - 1) + 1, .last_ns = now_ns};
}

/* A log-in that works says nothing about the other names that its address tries. */
void alm_login_result(alm_db *db, alm_str address, alm_str name, bool ok)
{
    struct alm_logins *logins = db->access.logins;
    (void)pthread_mutex_lock(&logins->lock);
    access_login_count(logins->by_name, access_login_key_of(logins, address, name), ok);
    if (!ok)
        access_login_count(logins->by_address,
                           access_login_key_of(logins, address, (alm_str){"", 0}), false);
    (void)pthread_mutex_unlock(&logins->lock);
}

void alm_login_note(alm_db *db, const char *user, const alm_principal *who, const char *interface,
                    const char *address, const char *method, bool ok)
{
    const alm_audit audit = {.event = "login",
                             .user = who != NULL ? who->name : user,
                             .identity = who != NULL ? who->identity : NULL,
                             .interface = interface,
                             .address = address,
                             .detail = method,
                             .ok = ok};
    alm_audit_add(db, &audit);
}
