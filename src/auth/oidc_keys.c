/*
 * oidc_keys.c - signed tokens: checked by the provider's keys, which are fetched when they are needed first, every five minutes, and
 * when a token names one that they lack. Then the discovery document is read before, because it may name another place for them.
 *
 * Unknown     That a key is not there is said (401) by keys that were asked for after the token came, else nothing is said of it (503): the
 *             provider may just have changed them. Fetches for unknown keys are REFETCH_BURST at once, then one each REFETCH_S, so that
 *             forged names cannot flood the provider; a name that was looked for in vain is not looked for again for NAME_S.
 */
#include <stdio.h>

#include "auth/oidc_state.h"
#include "base/log.h"

static const int64_t SECOND_NS = INT64_C(1000000000);
enum {
    REFETCH_S = 5,
    REFETCH_BURST = 5,
    NAME_S = 10,
    UNKNOWN_MAX = 100, /* tokens of users with unknown keys that wait for a fetch */
    AGE_S = 300,
    WAIT_MAX_MS = 60000
};

static void oidc_keys_settle(alm_oidc_entry *entry, alm_oidc_verdict verdict, const char *why)
{
    const alm_oidc_result result = {.verdict = verdict, .why = why};
    alm_oidc_settle(entry, &result);
}

/* ---------------------------------------------------------------------- names of keys */

static bool was_looked_for(const alm_oidc *oidc, const uint8_t hash[ALM_OIDC_HASH], int64_t now_ns)
{
    const size_t n = ALM_MIN(oidc->n_names, (size_t)ALM_OIDC_NAMES_MAX);
    for (size_t i = 0; i < n; i++)
        if (memcmp(oidc->names_lacking[i].hash, hash, ALM_OIDC_HASH) == 0 &&
            now_ns - oidc->names_lacking[i].looked_ns < NAME_S * SECOND_NS)
            return true;
    return false;
}

static void note_name(alm_oidc *oidc, const uint8_t hash[ALM_OIDC_HASH], int64_t now_ns)
{
    alm_oidc_name *name = &oidc->names_lacking[oidc->n_names++ % ALM_OIDC_NAMES_MAX];
    memcpy(name->hash, hash, ALM_OIDC_HASH);
    name->looked_ns = now_ns;
}

static bool has_name(const alm_jwk_set *set, alm_str kid)
{
    bool has = false;
    for (size_t i = 0; i < alm_jwk_set_count(set); i++)
        has |= alm_str_eq(alm_jwk_set_kid(set, i), kid);
    return has;
}

/* With the lock held: keys that the provider has taken back need no looking for. */
static void note_gone(alm_oidc *oidc, const alm_jwk_set *old, const alm_jwk_set *set)
{
    uint8_t hash[ALM_OIDC_HASH];
    for (size_t i = 0; old != NULL && i < alm_jwk_set_count(old); i++) {
        const alm_str kid = alm_jwk_set_kid(old, i);
        if (kid.ptr != NULL && !has_name(set, kid) && alm_oidc_hash("", kid, hash))
            note_name(oidc, hash, oidc->keys_ns);
    }
}

/* ----------------------------------------------------------------------------- keys */

static alm_oidc_entry *take_waiting(alm_oidc *oidc)
{
    alm_oidc_entry *list = oidc->want_keys;
    oidc->want_keys = NULL;
    oidc->n_unknown = 0;
    return list;
}

static void keys_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc *oidc = arg;
    alm_ctx cx = {0};
    alm_jwk_set *set = NULL, *old = NULL;
    char why[200] = "";
    if (answer->status != 200)
        (void)snprintf(why, sizeof why, "%s (status %d)",
                       answer->error != NULL ? answer->error : "no key set", answer->status);
    else if (alm_jwk_set_parse(&cx, answer->body, &set) != ALM_OK)
        (void)snprintf(why, sizeof why, "%.150s", cx.err.msg);
    (void)pthread_mutex_lock(&oidc->lock);
    oidc->fetch.under_way = false;
    oidc->fetch.wait_ms =
        set != NULL ? 1000 : ALM_MIN(2 * oidc->fetch.wait_ms, (int64_t)WAIT_MAX_MS);
    oidc->fetch.next_ns = alm_monotonic_ns() + oidc->fetch.wait_ms * 1000000;
    oidc->look_again |= set == NULL;
    if (set != NULL) {
        oidc->discovery.wait_ms = ALM_OIDC_WAIT_MS;
        old = oidc->keys;
        oidc->keys = set;
        oidc->keys_ns = alm_monotonic_ns();
        oidc->keys_asked_ns = oidc->fetch_began_ns;
        note_gone(oidc, old, set);
    } else {
        oidc->counts.failures++;
    }
    alm_oidc_entry *list = take_waiting(oidc);
    (void)pthread_mutex_unlock(&oidc->lock);
    alm_jwk_set_release(old);
    if (set == NULL)
        alm_oidc_say(oidc, "the keys could not be fetched", why);
    else if (alm_jwk_set_count(set) == 0)
        alm_oidc_say(oidc, "the key set", "has no key that verifies signatures");
    while (list != NULL) {
        alm_oidc_entry *next = list->keys_next;
        if (set != NULL)
            alm_oidc_check_token(list);
        else
            oidc_keys_settle(list, ALM_OIDC_AWAY, why);
        list = next;
    }
}

/* With the lock held: may the keys be asked for now? Then they are. */
static bool oidc_keys_begins(alm_oidc *oidc, int64_t now_ns)
{
    if (oidc->fetch.under_way)
        return true;
    if (!oidc->endpoints.known || oidc->endpoints.keys[0] == 0 || now_ns < oidc->fetch.next_ns)
        return false;
    const alm_http_call call = {.url = oidc->endpoints.keys, .done = keys_came, .arg = oidc};
    oidc->fetch_began_ns = now_ns;
    oidc->fetch.under_way = alm_http_client_send(oidc->client, &call);
    oidc->counts.calls += oidc->fetch.under_way;
    return oidc->fetch.under_way;
}

void alm_oidc_document_came(alm_oidc *oidc, bool moved)
{
    const int64_t now_ns = alm_monotonic_ns();
    alm_oidc_entry *list = NULL;
    (void)pthread_mutex_lock(&oidc->lock);
    if (moved || oidc->want_keys != NULL)
        oidc->fetch.next_ns = 0;
    const bool due = oidc->keys == NULL || now_ns - oidc->keys_ns > AGE_S * SECOND_NS;
    const bool asked = (moved || due || oidc->want_keys != NULL) && oidc_keys_begins(oidc, now_ns);
    if (!asked)
        list = take_waiting(oidc);
    (void)pthread_mutex_unlock(&oidc->lock);
    while (list != NULL) {
        alm_oidc_entry *next = list->keys_next;
        oidc_keys_settle(list, ALM_OIDC_AWAY, "its keys cannot be asked for");
        list = next;
    }
}

void alm_oidc_fetch_keys(alm_oidc *oidc)
{
    const int64_t now_ns = alm_monotonic_ns();
    (void)pthread_mutex_lock(&oidc->lock);
    if (oidc->keys == NULL || now_ns - oidc->keys_ns > AGE_S * SECOND_NS)
        (void)oidc_keys_begins(oidc, now_ns);
    (void)pthread_mutex_unlock(&oidc->lock);
}

/* With the lock held: the entry is checked again when keys come. False: too many logout tokens wait. */
static bool join_waiting(alm_oidc_entry *entry)
{
    alm_oidc *oidc = entry->oidc;
    if (entry->logout && oidc->cache->lists[ALM_OIDC_IS_LOGOUT].n > ALM_OIDC_WAITING_MAX)
        return false;
    entry->keys_next = oidc->want_keys;
    oidc->want_keys = entry;
    return true;
}

/* There are none yet. False: they are not asked for. */
static bool wait_for_keys(alm_oidc_entry *entry)
{
    alm_oidc *oidc = entry->oidc;
    (void)pthread_mutex_lock(&oidc->lock);
    const bool waits = oidc_keys_begins(oidc, alm_monotonic_ns()) && join_waiting(entry);
    (void)pthread_mutex_unlock(&oidc->lock);
    return waits;
}

/* With the lock held: may keys be fetched now for one that they lack? Then they are: by the document, where that can be read. */
static bool refetches(alm_oidc *oidc, int64_t now_ns)
{
    static const int64_t step_ns = REFETCH_S * SECOND_NS;
    if (oidc->fetch.under_way || oidc->discovery.under_way)
        return true; /* and the token is looked at again after that */
    const int64_t full_ns = ALM_MAX(oidc->refetch_full_ns, now_ns);
    if (full_ns - now_ns > (REFETCH_BURST - 1) * step_ns)
        return false;
    oidc->refetch_full_ns = full_ns + step_ns;
    if (oidc->keys_asked_ns == oidc->fetch_began_ns) /* the last fetch did not fail */
        oidc->fetch.next_ns = 0;
    oidc->look_again = true; /* the provider may have them elsewhere now */
    return alm_oidc_discover(oidc) || oidc_keys_begins(oidc, now_ns);
}

typedef enum lack { IS_LACKING, IS_WAITED_FOR, IS_IN_DOUBT } lack;

/* The keys lack the one that the token names. */
static lack look_for(alm_oidc_entry *entry, alm_str kid)
{
    alm_oidc *oidc = entry->oidc;
    const int64_t now_ns = alm_monotonic_ns();
    uint8_t hash[ALM_OIDC_HASH];
    lack found = IS_IN_DOUBT;
    if (!alm_oidc_hash("", kid, hash))
        return IS_IN_DOUBT;
    (void)pthread_mutex_lock(&oidc->lock);
    if (was_looked_for(oidc, hash, now_ns)) {
        found = IS_LACKING;
    } else if (oidc->keys_asked_ns >= entry->asked_ns) {
        note_name(oidc, hash, now_ns);
        found = IS_LACKING;
    } else if ((entry->logout || oidc->n_unknown < UNKNOWN_MAX) && refetches(oidc, now_ns) &&
               join_waiting(entry)) {
        oidc->n_unknown += !entry->logout;
        found = IS_WAITED_FOR;
    }
    (void)pthread_mutex_unlock(&oidc->lock);
    return found;
}

/* --------------------------------------------------------------------------- tokens */

static alm_jwk_set *keys_of(alm_oidc *oidc)
{
    (void)pthread_mutex_lock(&oidc->lock);
    alm_jwk_set *keys = oidc->keys != NULL ? alm_jwk_set_retain(oidc->keys) : NULL;
    (void)pthread_mutex_unlock(&oidc->lock);
    return keys;
}

static alm_jwt_use use_of(const alm_oidc_entry *entry)
{
    if (entry->logout)
        return ALM_JWT_LOGOUT;
    return entry->oidc->conf->acl_oidc_groups_encoded_in_token ? ALM_JWT_ID : ALM_JWT_ACCESS;
}

bool alm_oidc_needs_keys(const alm_conf *conf)
{
    return conf->acl_oidc_groups_encoded_in_token || conf->acl_oidc_backchannel_logout_enabled ||
           (conf->acl_oidc_audience[0] != 0 && conf->acl_oidc_introspection_endpoint[0] == 0);
}

int64_t alm_oidc_left_ns(const alm_oidc *oidc, int64_t expires_s)
{
    const int64_t left_s = expires_s - oidc->io->wall_ns(oidc->io) / SECOND_NS;
    return ALM_MAX(ALM_MIN(left_s, (int64_t)86400), (int64_t)0) * SECOND_NS + 1;
}

/* The issuer of the discovery document; there is none before it came, and no question gets here then. */
static alm_status oidc_keys_check_claims(alm_ctx *cx, const alm_oidc_entry *entry,
                                         const alm_jwt *jwt, int64_t *expires_s)
{
    alm_oidc *oidc = entry->oidc;
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(oidc, &endpoints);
    const alm_conf *conf = oidc->conf;
    const bool any_client =
        use_of(entry) == ALM_JWT_ACCESS; /* the audience decides, whichever client got the token */
    const alm_jwt_wanted wanted = {.issuer = endpoints.issuer,
                                   .audience = conf->acl_oidc_audience[0] != 0
                                                   ? conf->acl_oidc_audience
                                                   : conf->acl_oidc_client_id,
                                   .client_id = any_client ? "" : conf->acl_oidc_client_id,
                                   .now_s = oidc->io->wall_ns(oidc->io) / SECOND_NS};
    return alm_jwt_check(cx, jwt, &wanted, expires_s);
}

/* When it was issued, and in which session of the provider: a log-out may name that. */
void alm_oidc_note_session(alm_oidc_entry *entry, const alm_jwt *jwt)
{
    const alm_str session = alm_json_text(alm_json_get(jwt->claims, "sid"));
    entry->has_session = session.len > 0 && alm_oidc_hash("sid:", session, entry->session);
    if (!alm_json_seconds(alm_json_get(jwt->claims, "iat"), &entry->issued_s))
        entry->issued_s = 0;
}

/* The signature of a logout token is right. */
static void oidc_keys_log_out(alm_oidc_entry *entry, const alm_jwt *jwt)
{
    alm_ctx cx = {0};
    char whom[ALM_OIDC_WHOM_MAX];
    const alm_status status = alm_oidc_log_out(&cx, entry->oidc, jwt->claims, whom);
    if (status == ALM_OK)
        oidc_keys_settle(entry, ALM_OIDC_KNOWN, whom);
    else
        oidc_keys_settle(entry, status == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY,
                         cx.err.msg);
}

/* The signature is right: is it for us, and who is it? */
static void accept(alm_oidc_entry *entry, const alm_jwt *jwt)
{
    alm_oidc *oidc = entry->oidc;
    alm_ctx cx = {0};
    alm_oidc_result result = {.verdict = ALM_OIDC_KNOWN};
    int64_t expires_s = 0;
    bool odd = false;
    alm_oidc_note_session(entry, jwt);
    alm_status status = oidc_keys_check_claims(&cx, entry, jwt, &expires_s);
    if (status == ALM_OK && use_of(entry) == ALM_JWT_ACCESS) {
        entry->expires_s = expires_s;
        alm_oidc_ask_user_info(entry);
        return;
    }
    if (status == ALM_OK)
        status = alm_claims_read(&cx, jwt->claims, &oidc->names, &result.who, &odd);
    if (status != ALM_OK) {
        oidc_keys_settle(entry, status == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY,
                         cx.err.msg);
        return;
    }
    if (odd)
        alm_log_warn("oidc", "token %s: the claim %s is no list of texts: it counts as missing",
                     entry->id, oidc->names.groups);
    result.ttl_ns = alm_oidc_left_ns(oidc, expires_s);
    alm_oidc_settle(entry, &result);
}

/* May be gone on return. */
static void settle_unknown(alm_oidc_entry *entry, const alm_jwt *jwt, const char *why)
{
    const lack found = look_for(entry, jwt->kid);
    if (found == IS_LACKING)
        oidc_keys_settle(entry, ALM_OIDC_REFUSED, why);
    else if (found == IS_IN_DOUBT)
        oidc_keys_settle(entry, ALM_OIDC_AWAY,
                         "it names a key that is not known, and keys were asked for just now");
}

static void oidc_keys_verify(alm_oidc_entry *entry, const alm_jwt *jwt)
{
    alm_ctx cx = {0};
    bool unknown = false;
    alm_jwk_set *keys = keys_of(entry->oidc);
    if (keys == NULL) {
        if (!wait_for_keys(entry))
            oidc_keys_settle(entry, ALM_OIDC_AWAY, "its keys are not there yet");
        return;
    }
    const alm_status status = alm_jwt_verify(&cx, jwt, keys, use_of(entry), &unknown);
    alm_jwk_set_release(keys);
    if (status == ALM_OK && entry->logout)
        oidc_keys_log_out(entry, jwt);
    else if (status == ALM_OK)
        accept(entry, jwt);
    else if (!unknown)
        oidc_keys_settle(entry, ALM_OIDC_REFUSED, cx.err.msg);
    else
        settle_unknown(entry, jwt, cx.err.msg);
}

void alm_oidc_check_token(alm_oidc_entry *entry)
{
    alm_ctx cx = {0};
    alm_jwt jwt;
    if (alm_jwt_parse(&cx, alm_str_of(entry->secret), &jwt) != ALM_OK) {
        oidc_keys_settle(entry, cx.err.code == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY,
                         cx.err.msg);
        return;
    }
    oidc_keys_verify(entry, &jwt);
    alm_jwt_deinit(&jwt);
}
