/*
 * oidc_keys.c - signed tokens: checked by the provider's keys, which are fetched when they are needed first, every five minutes, and
 * when a token names one that they lack - for that once in a minute, so that forged names cannot flood the provider. Then
 * the discovery document is read before, because it may name another place for them.
 */
#include <stdio.h>

#include "auth/oidc_state.h"
#include "base/log.h"

static const int64_t SECOND_NS = INT64_C(1000000000);
enum { REFETCH_S = 60, AGE_S = 300, WAIT_MAX_MS = 60000 };

static void settle(alm_oidc_entry *entry, alm_oidc_verdict verdict, const char *why)
{
    const alm_oidc_result result = {.verdict = verdict, .why = why};
    alm_oidc_settle(entry, &result);
}

/* ----------------------------------------------------------------------------- keys */

static void keys_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc *o = arg;
    alm_ctx cx = {0};
    alm_jwk_set *set = NULL, *old = NULL;
    char why[200] = "";
    if (answer->status != 200)
        (void)snprintf(why, sizeof why, "%s (status %d)",
                       answer->error != NULL ? answer->error : "no key set", answer->status);
    else if (alm_jwk_set_parse(&cx, answer->body, &set) != ALM_OK)
        (void)snprintf(why, sizeof why, "%.150s", cx.err.msg);
    (void)pthread_mutex_lock(&o->lock);
    o->fetch.under_way = false;
    o->fetch.wait_ms = set != NULL ? 1000 : ALM_MIN(2 * o->fetch.wait_ms, (int64_t)WAIT_MAX_MS);
    o->fetch.next_ns = alm_monotonic_ns() + o->fetch.wait_ms * 1000000;
    o->look_again |= set == NULL;
    if (set != NULL) {
        o->discovery.wait_ms = ALM_OIDC_WAIT_MS;
        old = o->keys;
        o->keys = set;
        o->keys_ns = alm_monotonic_ns();
    } else {
        o->counts.failures++;
    }
    alm_oidc_entry *list = o->want_keys;
    o->want_keys = NULL;
    (void)pthread_mutex_unlock(&o->lock);
    alm_jwk_set_release(old);
    if (set == NULL)
        alm_oidc_say(o, "the keys could not be fetched", why);
    else if (alm_jwk_set_count(set) == 0)
        alm_oidc_say(o, "the key set", "has no key that verifies signatures");
    while (list != NULL) {
        alm_oidc_entry *next = list->keys_next;
        if (set != NULL)
            alm_oidc_check_token(list);
        else
            settle(list, ALM_OIDC_AWAY, why);
        list = next;
    }
}

/* With the lock held: may the keys be asked for now? Then they are. */
static bool begins(alm_oidc *o, int64_t now_ns)
{
    if (o->fetch.under_way)
        return true;
    if (!o->endpoints.known || o->endpoints.keys[0] == 0 || now_ns < o->fetch.next_ns)
        return false;
    const alm_http_call call = {.url = o->endpoints.keys, .done = keys_came, .arg = o};
    o->fetch.under_way = alm_http_client_send(o->client, &call);
    o->counts.calls += o->fetch.under_way;
    return o->fetch.under_way;
}

void alm_oidc_document_came(alm_oidc *o, bool moved)
{
    const int64_t now_ns = alm_monotonic_ns();
    alm_oidc_entry *list = NULL;
    (void)pthread_mutex_lock(&o->lock);
    if (moved || o->want_keys != NULL)
        o->fetch.next_ns = 0;
    const bool due = o->keys == NULL || now_ns - o->keys_ns > AGE_S * SECOND_NS;
    const bool asked = (moved || due || o->want_keys != NULL) && begins(o, now_ns);
    if (!asked) {
        list = o->want_keys;
        o->want_keys = NULL;
    }
    (void)pthread_mutex_unlock(&o->lock);
    while (list != NULL) {
        alm_oidc_entry *next = list->keys_next;
        settle(list, ALM_OIDC_AWAY, "its keys cannot be asked for");
        list = next;
    }
}

void alm_oidc_fetch_keys(alm_oidc *o)
{
    const int64_t now_ns = alm_monotonic_ns();
    (void)pthread_mutex_lock(&o->lock);
    if (o->keys == NULL || now_ns - o->keys_ns > AGE_S * SECOND_NS)
        (void)begins(o, now_ns);
    (void)pthread_mutex_unlock(&o->lock);
}

/* The token waits for keys. False: they are not asked for. refetch: there are some, and it names another. */
static bool wait_for_keys(alm_oidc_entry *e, bool refetch)
{
    alm_oidc *o = e->oidc;
    const int64_t now_ns = alm_monotonic_ns();
    (void)pthread_mutex_lock(&o->lock);
    bool waits = true;
    if (refetch && !o->fetch.under_way) {
        waits = o->refetched_ns == 0 || now_ns - o->refetched_ns > REFETCH_S * SECOND_NS;
        if (waits) {
            o->refetched_ns = now_ns;
            o->fetch.next_ns = 0;
            o->look_again = true; /* the provider may have them elsewhere now */
        }
    }
    /* keys follow the document where that is read */
    waits = waits && ((refetch && alm_oidc_discover(o)) || begins(o, now_ns));
    if (waits) {
        e->keys_next = o->want_keys;
        o->want_keys = e;
    }
    (void)pthread_mutex_unlock(&o->lock);
    return waits;
}

/* --------------------------------------------------------------------------- tokens */

static alm_jwk_set *keys_of(alm_oidc *o)
{
    (void)pthread_mutex_lock(&o->lock);
    alm_jwk_set *keys = o->keys != NULL ? alm_jwk_set_retain(o->keys) : NULL;
    (void)pthread_mutex_unlock(&o->lock);
    return keys;
}

static alm_jwt_use use_of(const alm_oidc_entry *e)
{
    if (e->logout)
        return ALM_JWT_LOGOUT;
    return e->oidc->conf->acl_oidc_groups_encoded_in_token ? ALM_JWT_ID : ALM_JWT_ACCESS;
}

bool alm_oidc_needs_keys(const alm_conf *conf)
{
    return conf->acl_oidc_groups_encoded_in_token || conf->acl_oidc_backchannel_logout_enabled ||
           (conf->acl_oidc_audience[0] != 0 && conf->acl_oidc_introspection_endpoint[0] == 0);
}

int64_t alm_oidc_left_ns(const alm_oidc *o, int64_t expires_s)
{
    const int64_t left_s = expires_s - o->io->wall_ns(o->io) / SECOND_NS;
    return ALM_MAX(ALM_MIN(left_s, (int64_t)86400), (int64_t)0) * SECOND_NS + 1;
}

/* The issuer of the discovery document; there is none before it came, and no question gets here then. */
static alm_status check_claims(alm_ctx *cx, const alm_oidc_entry *e, const alm_jwt *jwt,
                               int64_t *expires_s)
{
    alm_oidc *o = e->oidc;
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(o, &endpoints);
    const alm_conf *conf = o->conf;
    const bool any_client =
        use_of(e) == ALM_JWT_ACCESS; /* the audience decides, whichever client got the token */
    const alm_jwt_wanted wanted = {.issuer = endpoints.issuer,
                                   .audience = conf->acl_oidc_audience[0] != 0
                                                   ? conf->acl_oidc_audience
                                                   : conf->acl_oidc_client_id,
                                   .client_id = any_client ? "" : conf->acl_oidc_client_id,
                                   .now_s = o->io->wall_ns(o->io) / SECOND_NS};
    return alm_jwt_check(cx, jwt, &wanted, expires_s);
}

/* When it was issued, and in which session of the provider: a log-out may name that. */
static void note_session(alm_oidc_entry *e, const alm_jwt *jwt)
{
    const alm_str session = alm_json_text(alm_json_get(jwt->claims, "sid"));
    e->has_session = session.len > 0 && alm_oidc_hash("", session, e->session);
    if (!alm_json_seconds(alm_json_get(jwt->claims, "iat"), &e->issued_s))
        e->issued_s = 0;
}

/* The signature of a logout token is right. */
static void log_out(alm_oidc_entry *e, const alm_jwt *jwt)
{
    alm_ctx cx = {0};
    char whom[ALM_OIDC_WHOM_MAX];
    const alm_status st = alm_oidc_log_out(&cx, e->oidc, jwt->claims, whom);
    if (st == ALM_OK)
        settle(e, ALM_OIDC_KNOWN, whom);
    else
        settle(e, st == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY, cx.err.msg);
}

/* The signature is right: is it for us, and who is it? */
static void accept(alm_oidc_entry *e, const alm_jwt *jwt)
{
    alm_oidc *o = e->oidc;
    alm_ctx cx = {0};
    alm_oidc_result result = {.verdict = ALM_OIDC_KNOWN};
    int64_t expires_s = 0;
    bool odd = false;
    note_session(e, jwt);
    alm_status st = check_claims(&cx, e, jwt, &expires_s);
    if (st == ALM_OK && use_of(e) == ALM_JWT_ACCESS) {
        e->expires_s = expires_s;
        alm_oidc_ask_user_info(e);
        return;
    }
    if (st == ALM_OK)
        st = alm_claims_read(&cx, jwt->claims, &o->names, &result.who, &odd);
    if (st != ALM_OK) {
        settle(e, st == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY, cx.err.msg);
        return;
    }
    if (odd)
        alm_log_warn("oidc", "token %s: the claim %s is no list of texts: it counts as missing",
                     e->id, o->names.groups);
    result.ttl_ns = alm_oidc_left_ns(o, expires_s);
    alm_oidc_settle(e, &result);
}

static void verify(alm_oidc_entry *e, const alm_jwt *jwt)
{
    alm_ctx cx = {0};
    bool unknown = false;
    alm_jwk_set *keys = keys_of(e->oidc);
    if (keys == NULL) {
        if (!wait_for_keys(e, false))
            settle(e, ALM_OIDC_AWAY, "its keys are not there yet");
        return;
    }
    const alm_status st = alm_jwt_verify(&cx, jwt, keys, use_of(e), &unknown);
    alm_jwk_set_release(keys);
    if (st == ALM_OK && e->logout)
        log_out(e, jwt);
    else if (st == ALM_OK)
        accept(e, jwt);
    else if (!unknown || !wait_for_keys(e, true))
        settle(e, ALM_OIDC_REFUSED, cx.err.msg);
}

void alm_oidc_check_token(alm_oidc_entry *e)
{
    alm_ctx cx = {0};
    alm_jwt jwt;
    if (alm_jwt_parse(&cx, alm_str_of(e->secret), &jwt) != ALM_OK) {
        settle(e, cx.err.code == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY, cx.err.msg);
        return;
    }
    verify(e, &jwt);
    alm_jwt_deinit(&jwt);
}
