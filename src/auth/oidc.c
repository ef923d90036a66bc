/* oidc.c - see oidc.h: questions, the calls for them, and their ends. */
#include "auth/oidc.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "auth/oidc_state.h"
#include "auth/token.h"
#include "base/log.h"

enum { CONNECTIONS_MAX = 32, WAIT_MAX_MS = 60000, NAME_MAX_BYTES = 1024, DOCUMENT_AGE_S = 3600 };
static const int64_t SECOND_NS = INT64_C(1000000000);
static const char LOGGED_OUT[] = "the user has logged out at the identity provider";

void alm_oidc_say(alm_oidc *oidc, const char *what, const char *why)
{
    const int64_t now_ns = alm_monotonic_ns();
    (void)pthread_mutex_lock(&oidc->lock);
    const bool now = oidc->said_ns == 0 || now_ns - oidc->said_ns > SECOND_NS;
    if (now)
        oidc->said_ns = now_ns;
    (void)pthread_mutex_unlock(&oidc->lock);
    if (now && !atomic_load(&oidc->stopped))
        alm_log_warn("oidc", "identity provider: %s: %s", what, why);
}

/* ----------------------------------------------------------------------------- ends */

/* A password may be right again for who logs in now, and what he began before his log-out is over. */
static bool ended_before(const alm_oidc_wait *wait, const alm_oidc_entry *entry)
{
    return entry->ropc && wait->began_ns != 0 &&
           alm_oidc_is_out_since(entry->oidc, entry, wait->began_ns);
}

static void auth_oidc_give(alm_oidc_wait *wait, const alm_oidc_entry *entry,
                           const alm_oidc_result *result)
{
    const bool known = result->verdict == ALM_OIDC_KNOWN,
               ended = known && entry->who != NULL && ended_before(wait, entry);
    const char *why = ended ? LOGGED_OUT : result->why != NULL ? result->why : "";
    wait->verdict = ended ? ALM_OIDC_REFUSED : result->verdict;
    wait->who = entry->who != NULL && known && !ended ? alm_principal_retain(entry->who) : NULL;
    wait->until_ns = entry->until_ns;
    if (!entry->ropc || wait->began_ns == 0)
        wait->began_ns = entry->began_ns;
    (void)snprintf(wait->id, sizeof wait->id, "%s", entry->id);
    (void)snprintf(wait->why, sizeof wait->why, "%s", why);
    wait->token =
        wait->wants_token && entry->ropc && wait->who != NULL ? strdup(entry->secret) : NULL;
}

static void auth_oidc_wipe(char **secret)
{
    alm_secret_free(*secret);
    *secret = NULL;
}

/* With the lock held: what the entry is from now on. True: it was news. */
static bool settle_entry(alm_oidc_entry *entry, const alm_oidc_result *result)
{
    alm_oidc *oidc = entry->oidc;
    const int64_t now_ns = alm_monotonic_ns();
    const bool was_known = entry->who != NULL, known = result->verdict == ALM_OIDC_KNOWN;
    /* what changed at the provider after it was asked may not be in the answer, however long that took */
    int64_t until_ns = entry->asked_ns + oidc->conf->acl_oidc_cache_ttl * 1000000;
    if (result->ttl_ns > 0)
        until_ns = ALM_MIN(until_ns, now_ns + result->ttl_ns);
    if (entry->who != NULL && result->verdict == ALM_OIDC_REFUSED)
        atomic_store(&entry->who->over, true);
    alm_principal_release(entry->who);
    entry->who = result->who;
    if (result->verdict != ALM_OIDC_AWAY)
        entry->good = known;
    entry->password = entry->ropc;
    oidc->counts.refusals += result->verdict == ALM_OIDC_REFUSED;
    entry->until_ns = entry->forgotten ? now_ns
                      : result->verdict == ALM_OIDC_REFUSED
                          ? now_ns + oidc->conf->acl_oidc_cache_refused_ttl * 1000000
                          : until_ns;
    entry->forgotten = false;
    return known ? !was_known : result->verdict == ALM_OIDC_REFUSED;
}

/* With the lock held: a log-out finds the token of this key as it finds that of `from`. Without memory it is as any that was not seen. */
static void note_token(alm_oidc *oidc, const alm_oidc_entry *from, const uint8_t key[ALM_OIDC_HASH])
{
    if (alm_oidc_cache_find(oidc->cache, key) != NULL)
        return;
    alm_oidc_entry *entry = alm_oidc_cache_add(oidc->cache, key);
    if (entry == NULL)
        return;
    entry->oidc = oidc;
    entry->good = entry->has_identity = true;
    memcpy(entry->identity, from->identity, ALM_OIDC_HASH);
    entry->has_session = from->has_session;
    memcpy(entry->session, from->session, ALM_OIDC_HASH);
    entry->issued_s = from->issued_s;
    entry->expires_s = from->expires_s;
    entry->began_ns = entry->asked_ns = from->began_ns;
    alm_oidc_cache_leave(oidc->cache, entry);
}

/* With the lock held. Who has a token signed by ECDSA has a second signature for it, and another text with it: where the token does not say when it was
 * issued, it began with the first text. */
static void find_beginning(alm_oidc_entry *entry)
{
    uint8_t key[ALM_OIDC_HASH];
    const alm_str part =
        entry->issued_s > 0 ? (alm_str){0} : alm_jwt_signed_part(alm_str_of(entry->secret));
    if (part.ptr == NULL || !alm_oidc_hash("signed:", part, key))
        return;
    const alm_oidc_entry *first = alm_oidc_cache_find(entry->oidc->cache, key);
    if (first != NULL)
        entry->began_ns = ALM_MIN(entry->began_ns, first->began_ns);
    else
        note_token(entry->oidc, entry, key);
}

/* With the lock held: what is said about a token that the provider takes, as far as log-outs and memory let it be. */
static void auth_oidc_judge(alm_oidc_entry *entry, alm_oidc_result *result)
{
    if (result->who == NULL)
        return;
    entry->has_identity = alm_oidc_hash("", alm_str_of(result->who->identity), entry->identity);
    if (entry->has_identity && !entry->ropc)
        find_beginning(entry);
    const bool out = entry->has_identity && alm_oidc_is_out(entry->oidc, entry);
    if (entry->has_identity && !out)
        return;
    alm_principal_release(result->who);
    *result = out ? (alm_oidc_result){.verdict = ALM_OIDC_REFUSED, .why = LOGGED_OUT}
                  : (alm_oidc_result){.verdict = ALM_OIDC_AWAY, .why = "out of memory"};
    entry->out = out;
}

/* With the lock held. The token of a password is given away to whoever lives by it: a log-out is to find it, whenever it comes back. */
static void note_given(alm_oidc_entry *entry)
{
    uint8_t key[ALM_OIDC_HASH];
    if (alm_oidc_hash("", alm_str_of(entry->secret), key))
        note_token(entry->oidc, entry, key);
}

/* With the lock held: where an entry goes that was settled. */
static void put_away(alm_oidc_entry *entry, const alm_oidc_result *result)
{
    alm_oidc_cache *cache = entry->oidc->cache;
    if (entry->logout)
        alm_oidc_cache_drop(cache, entry);
    else if (entry->out)
        alm_oidc_end_entry(entry->oidc, entry);
    else if (result->verdict == ALM_OIDC_AWAY)
        alm_oidc_cache_leave(cache, entry);
    else
        alm_oidc_cache_move(cache, entry,
                            result->verdict == ALM_OIDC_KNOWN ? ALM_OIDC_IS_KNOWN
                                                              : ALM_OIDC_IS_REFUSED);
}

void alm_oidc_settle(alm_oidc_entry *entry, const alm_oidc_result *settled)
{
    alm_oidc *oidc = entry->oidc;
    alm_oidc_result result = *settled;
    (void)pthread_mutex_lock(&oidc->lock);
    auth_oidc_judge(entry, &result);
    alm_oidc_wait *waits = entry->waits;
    entry->waits = NULL;
    const bool news = settle_entry(entry, &result);
    for (alm_oidc_wait *wait = waits; wait != NULL; wait = wait->next) {
        auth_oidc_give(wait, entry, &result);
        wait->fresh = news && wait == waits;
        if (wait->token != NULL)
            note_given(entry);
    }
    auth_oidc_wipe(&entry->secret);
    put_away(entry, &result);
    oidc->counts.failures += result.verdict == ALM_OIDC_AWAY;
    if (result.verdict == ALM_OIDC_KNOWN)
        oidc->discovery.wait_ms = ALM_OIDC_WAIT_MS;
    (void)pthread_mutex_unlock(&oidc->lock);
    while (waits != NULL) { /* each may be gone when it was told */
        alm_oidc_wait *next = waits->next;
        waits->done(waits);
        waits = next;
    }
}

void alm_oidc_give_up(alm_oidc_entry *entry, alm_oidc_verdict verdict, const char *why)
{
    const alm_oidc_result result = {.verdict = verdict, .why = why};
    if (verdict == ALM_OIDC_AWAY)
        alm_oidc_say(entry->oidc, "no answer about a token", why);
    alm_oidc_settle(entry, &result);
}

/* ------------------------------------------------------------------------- user info */

/* No answer, or none that says anything about the token. */
static void settle_odd(alm_oidc_entry *entry, const alm_http_answer *answer)
{
    char why[200];
    if (answer->status == 0)
        (void)snprintf(why, sizeof why, "%s", answer->error);
    else
        (void)snprintf(why, sizeof why, "it answered with status %d%s", answer->status,
                       answer->status / 100 == 3 ? ", a redirect, which is not followed" : "");
    (void)pthread_mutex_lock(&entry->oidc->lock);
    entry->oidc->look_again = true; /* it may be elsewhere now */
    (void)pthread_mutex_unlock(&entry->oidc->lock);
    alm_oidc_give_up(entry, ALM_OIDC_AWAY, why);
}

static bool is_refusal(int status)
{
    return status == 400 || status == 401 || status == 403;
}

static void auth_oidc_settle_claims(alm_oidc_entry *entry, alm_str body)
{
    alm_oidc *oidc = entry->oidc;
    alm_ctx cx = {0};
    alm_oidc_result result = {.verdict = ALM_OIDC_KNOWN};
    bool odd = false;
    const alm_status status = alm_claims_of_text(&cx, body, &oidc->names, &result.who, &odd);
    if (status != ALM_OK) {
        alm_oidc_give_up(entry, status == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY,
                         cx.err.msg);
        return;
    }
    if (odd && entry->who == NULL)
        alm_log_warn("oidc", "token %s: the claim %s is no list of texts: it counts as missing",
                     entry->id, oidc->names.groups);
    if (entry->expires_s > 0)
        result.ttl_ns = alm_oidc_left_ns(oidc, entry->expires_s);
    alm_oidc_settle(entry, &result);
}

static void userinfo_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc_entry *entry = arg;
    static const alm_str signed_type = ALM_STR("application/jwt");
    if (is_refusal(answer->status))
        alm_oidc_give_up(entry, ALM_OIDC_REFUSED, "the identity provider does not take the token");
    else if (answer->status != 200)
        settle_odd(entry, answer);
    else if (answer->type.len >= signed_type.len &&
             alm_str_ieq((alm_str){answer->type.ptr, signed_type.len}, signed_type))
        alm_oidc_give_up(entry, ALM_OIDC_REFUSED,
                         "the identity provider signs its user info, which is not read");
    else
        auth_oidc_settle_claims(entry, answer->body);
}

/* ------------------------------------------------------------------------- passwords */

static void auth_oidc_begin(alm_oidc_entry *e);

/* The token that was given for name and password: as if it had come itself. */
static void take_token(alm_oidc_entry *entry, alm_str body)
{
    alm_ctx cx = {0};
    alm_json *document = NULL;
    const char *member =
        entry->oidc->conf->acl_oidc_groups_encoded_in_token ? "id_token" : "access_token";
    alm_str token = {0};
    if (alm_json_parse(&cx, body, &document) == ALM_OK)
        token = alm_json_text(alm_json_get(document, member));
    char *copy = alm_oidc_is_token(token) ? strndup(token.ptr, token.len) : NULL;
    if (copy != NULL) {
        auth_oidc_wipe(&entry->secret);
        entry->secret = copy;
        entry->password = false;
    }
    alm_json_free(document);
    if (copy != NULL)
        auth_oidc_begin(entry);
    else
        alm_oidc_give_up(entry, ALM_OIDC_AWAY, "its token end point gave no token");
}

static void token_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc_entry *entry = arg;
    if (is_refusal(answer->status))
        alm_oidc_give_up(entry, ALM_OIDC_REFUSED,
                         "the identity provider does not take name and password");
    else if (answer->status != 200)
        settle_odd(entry, answer);
    else
        take_token(entry, answer->body);
}

/* ------------------------------------------------------------------------- questions */

bool alm_oidc_send(alm_oidc *oidc, const alm_http_call *call)
{
    (void)pthread_mutex_lock(&oidc->lock);
    oidc->counts.calls++;
    (void)pthread_mutex_unlock(&oidc->lock);
    return alm_http_client_send(oidc->client, call);
}

void alm_oidc_ask_user_info(alm_oidc_entry *entry)
{
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(entry->oidc, &endpoints);
    const alm_http_call call = {.url = endpoints.userinfo,
                                .bearer = alm_str_of(entry->secret),
                                .done = userinfo_came,
                                .arg = entry};
    if (!alm_oidc_send(entry->oidc, &call))
        alm_oidc_give_up(entry, ALM_OIDC_AWAY, "too many calls at once");
}

static void ask_token(alm_oidc_entry *entry)
{
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(entry->oidc, &endpoints);
    const alm_http_call call = {.url = endpoints.token,
                                .form = alm_str_of(entry->secret),
                                .done = token_came,
                                .arg = entry};
    if (!alm_oidc_send(entry->oidc, &call))
        alm_oidc_give_up(entry, ALM_OIDC_AWAY, "too many calls at once");
}

static void auth_oidc_begin(alm_oidc_entry *entry)
{
    if (entry->ropc) { /* another token each time */
        entry->expires_s = entry->issued_s = 0;
        entry->has_session = false;
    }
    if (entry->logout)
        alm_oidc_check_token(entry);
    else if (entry->password)
        ask_token(entry);
    else if (entry->oidc->conf->acl_oidc_groups_encoded_in_token)
        alm_oidc_check_token(entry);
    else
        alm_oidc_check_access(entry);
}

typedef enum question { TOKEN, PASSWORD, LOGOUT } question;

static bool is_under_way(const alm_oidc_entry *entry)
{
    return entry->state == ALM_OIDC_IS_PENDING || entry->state == ALM_OIDC_IS_LOGOUT;
}

static bool counts(const alm_oidc *oidc, const alm_oidc_entry *entry)
{
    return !is_under_way(entry) && alm_monotonic_ns() < entry->until_ns &&
           (entry->state != ALM_OIDC_IS_KNOWN || !alm_oidc_is_doubtful(oidc, entry));
}

/* Why no question can be asked; NULL: it can. Logout tokens are no calls: made-up tokens turn none away. */
static const char *hindrance(const alm_oidc *oidc, const alm_oidc_entry *entry, question kind)
{
    const size_t n = oidc->cache->lists[ALM_OIDC_IS_PENDING].n,
                 most = entry != NULL && entry->good ? ALM_OIDC_PENDING_MAX : ALM_OIDC_NEW_MAX;
    return atomic_load(&oidc->stopped)   ? "the server stops"
           : !oidc->endpoints.known      ? oidc->endpoints.why
           : kind != LOGOUT && n >= most ? "too many questions at once"
                                         : NULL;
}

/* With the lock held: that of the key, NULL if there is none. Who lives by the token may have begun with it before this entry did. */
static alm_oidc_entry *auth_oidc_look_up(alm_oidc *oidc, const uint8_t key[ALM_OIDC_HASH],
                                         int64_t began_ns)
{
    alm_oidc_entry *entry = alm_oidc_cache_find(oidc->cache, key);
    if (entry == NULL)
        return NULL;
    if (!entry->ropc && began_ns != 0)
        entry->began_ns = ALM_MIN(entry->began_ns, began_ns);
    if (is_under_way(entry) || !alm_oidc_is_out(oidc, entry))
        return entry;
    const bool ropc = entry->ropc;
    alm_oidc_end_entry(oidc, entry);
    return ropc ? NULL : entry;
}

/* With the lock held. At once: known, refused lately, logged out, or no question can be asked. */
static bool answer_now(alm_oidc *oidc, alm_oidc_entry *entry, question kind, alm_oidc_wait *wait)
{
    static const alm_oidc_entry none = {.id = ""};
    alm_oidc_result result = {.verdict = ALM_OIDC_REFUSED};
    if (entry != NULL && (entry->out || (counts(oidc, entry) && !wait->wants_token))) {
        if (entry->state == ALM_OIDC_IS_KNOWN)
            result.verdict = ALM_OIDC_KNOWN;
        else
            result.why = entry->out ? LOGGED_OUT : "refused just now";
        oidc->counts.hits++;
        auth_oidc_give(wait, entry, &result);
        alm_oidc_cache_move(oidc->cache, entry, entry->state);
        return true;
    }
    if (entry != NULL && is_under_way(entry))
        return false;
    result = (alm_oidc_result){.verdict = ALM_OIDC_AWAY, .why = hindrance(oidc, entry, kind)};
    if (result.why != NULL)
        auth_oidc_give(wait, &none, &result);
    return result.why != NULL;
}

/* With the lock held. *start: its call is to be made. NULL: no memory. The secret is taken. */
static alm_oidc_entry *auth_oidc_enter(alm_oidc *oidc, const uint8_t key[ALM_OIDC_HASH],
                                       char *secret, question kind, int64_t began_ns, bool *start)
{
    alm_oidc_entry *entry = alm_oidc_cache_find(oidc->cache, key);
    *start = entry == NULL || !is_under_way(entry);
    if (!*start) {
        auth_oidc_wipe(&secret);
        return entry;
    }
    if (entry == NULL)
        entry = alm_oidc_cache_add(oidc->cache, key);
    if (entry == NULL) {
        auth_oidc_wipe(&secret);
        return NULL;
    }
    alm_oidc_cache_move(oidc->cache, entry,
                        kind == LOGOUT ? ALM_OIDC_IS_LOGOUT : ALM_OIDC_IS_PENDING);
    entry->oidc = oidc;
    entry->secret = secret;
    entry->password = entry->ropc = kind == PASSWORD;
    entry->logout = kind == LOGOUT;
    entry->asked_ns = alm_monotonic_ns();
    if (entry->began_ns == 0 || entry->ropc) /* a password becomes a token that begins now */
        entry->began_ns = began_ns != 0 ? ALM_MIN(began_ns, entry->asked_ns) : entry->asked_ns;
    return entry;
}

/* secret: malloc'd; taken. */
static bool auth_oidc_ask(alm_oidc *oidc, const uint8_t key[ALM_OIDC_HASH], char *secret,
                          question kind, alm_oidc_wait *wait)
{
    bool start = false;
    const int64_t began_ns = wait->began_ns; /* the answer has another */
    wait->next = NULL;
    wait->fresh = false;
    wait->forgets = atomic_load(
        &oidc->forgets); /* before: an answer that is forgotten meanwhile counts as such */
    (void)pthread_mutex_lock(&oidc->lock);
    if (secret == NULL || answer_now(oidc, auth_oidc_look_up(oidc, key, began_ns), kind, wait)) {
        (void)pthread_mutex_unlock(&oidc->lock);
        if (secret == NULL)
            *wait = (alm_oidc_wait){.verdict = ALM_OIDC_AWAY, .why = "out of memory"};
        auth_oidc_wipe(&secret);
        return true;
    }
    alm_oidc_entry *entry = auth_oidc_enter(oidc, key, secret, kind, began_ns, &start);
    if (entry != NULL) { /* the last of those that wait: the first is who began */
        alm_oidc_wait **at = &entry->waits;
        while (*at != NULL)
            at = &(*at)->next;
        *at = wait;
    }
    (void)pthread_mutex_unlock(&oidc->lock);
    if (entry == NULL)
        *wait = (alm_oidc_wait){.verdict = ALM_OIDC_AWAY, .why = "out of memory"};
    else if (start)
        auth_oidc_begin(entry);
    return entry == NULL;
}

/* RFC 6750: the letters of a token, and some "=" behind them. Tokens of this server are not the provider's to see. */
bool alm_oidc_is_token(alm_str text)
{
    size_t count = 0;
    if (text.len == 0 || text.len > ALM_OIDC_TOKEN_MAX || alm_rest_token_is_one(text))
        return false;
    for (; count < text.len && text.ptr[count] != '='; count++) {
        const char byte = text.ptr[count];
        const bool letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                            (byte >= '0' && byte <= '9');
        if (!letter && memchr("-._~+/", byte, 6) == NULL)
            return false;
    }
    const bool any = count > 0;
    for (; count < text.len; count++)
        if (text.ptr[count] != '=')
            return false;
    return any;
}

/* Who was known before is asked about again without waiting: that is the least that others cannot take from him. */
static bool is_new(alm_oidc *oidc, const uint8_t key[ALM_OIDC_HASH])
{
    (void)pthread_mutex_lock(&oidc->lock);
    const alm_oidc_entry *entry = alm_oidc_cache_find(oidc->cache, key);
    const bool now = entry != NULL && (entry->good || entry->out || is_under_way(entry) ||
                                       alm_monotonic_ns() < entry->until_ns);
    (void)pthread_mutex_unlock(&oidc->lock);
    return !now;
}

/* False: no token has this form. One token has one: what is taken for it elsewhere, and written otherwise, is none. */
static bool key_of_token(alm_str token, uint8_t key[ALM_OIDC_HASH])
{
    return alm_oidc_is_token(token) && alm_jwt_is_canonical(token) && alm_oidc_hash("", token, key);
}

bool alm_oidc_is_new(alm_oidc *oidc, alm_str token)
{
    uint8_t key[ALM_OIDC_HASH];
    return !oidc->conf->acl_oidc_groups_encoded_in_token && key_of_token(token, key) &&
           is_new(oidc, key);
}

bool alm_oidc_ask(alm_oidc *oidc, alm_str token, alm_oidc_wait *wait)
{
    uint8_t key[ALM_OIDC_HASH];
    if (!key_of_token(token, key)) {
        wait->verdict = ALM_OIDC_REFUSED;
        (void)snprintf(wait->why, sizeof wait->why, "no token has this form");
        return true;
    }
    return auth_oidc_ask(oidc, key, strndup(token.ptr, token.len), TOKEN, wait);
}

/* The hash has a prefix of its own, so that a logout token never finds the cache entry of an access token with the same text. */
bool alm_oidc_ask_logout(alm_oidc *oidc, alm_str token, alm_oidc_wait *wait)
{
    uint8_t key[ALM_OIDC_HASH];
    if (!alm_oidc_is_token(token) || !alm_oidc_hash("logout:", token, key)) {
        wait->verdict = ALM_OIDC_REFUSED;
        (void)snprintf(wait->why, sizeof wait->why, "no token has this form");
        return true;
    }
    return auth_oidc_ask(oidc, key, strndup(token.ptr, token.len), LOGOUT, wait);
}

/* -------------------------------------------------------------------------- by name */

char *alm_oidc_put_form(char *dest, const char *name, alm_str value)
{
    dest = stpcpy(dest, name);
    for (size_t i = 0; i < value.len; i++) {
        const unsigned char byte = (unsigned char)value.ptr[i];
        const bool plain = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                           (byte >= '0' && byte <= '9');
        if (plain || (byte != 0 && strchr("-._~", byte) != NULL)) {
            *dest++ = (char)byte;
        } else {
            *dest++ = '%';
            *dest++ = "0123456789ABCDEF"[byte >> 4];
            *dest++ = "0123456789ABCDEF"[byte & 15];
        }
    }
    *dest = 0;
    return dest;
}

static char *auth_oidc_form_of(const alm_oidc *oidc, alm_str user, alm_str password)
{
    const alm_str scope = alm_str_of(oidc->conf->acl_oidc_scope),
                  client = alm_str_of(oidc->conf->acl_oidc_client_id);
    char *form = malloc(100 + 3 * (user.len + password.len + scope.len + client.len));
    if (form == NULL)
        return NULL;
    char *ptr = stpcpy(form, "grant_type=password");
    ptr = alm_oidc_put_form(ptr, "&client_id=", client);
    ptr = alm_oidc_put_form(ptr, "&scope=", scope);
    ptr = alm_oidc_put_form(ptr, "&username=", user);
    (void)alm_oidc_put_form(ptr, "&password=", password);
    return form;
}

/* Nobody can guess passwords by the key: it is of a secret of the process too. */
static bool key_of_password(const alm_oidc *oidc, alm_str user, alm_str password,
                            uint8_t key[ALM_OIDC_HASH])
{
    const uint8_t length = (uint8_t)(user.len & 255);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const bool ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
                    EVP_DigestUpdate(ctx, oidc->salt, sizeof oidc->salt) == 1 &&
                    EVP_DigestUpdate(ctx, &length, 1) == 1 &&
                    EVP_DigestUpdate(ctx, user.ptr, user.len) == 1 &&
                    EVP_DigestUpdate(ctx, "", 1) == 1 && /* no zero byte is in either */
                    EVP_DigestUpdate(ctx, password.ptr, password.len) == 1 &&
                    EVP_DigestFinal_ex(ctx, key, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

bool alm_oidc_is_new_password(alm_oidc *oidc, alm_str user, alm_str password)
{
    uint8_t key[ALM_OIDC_HASH];
    return key_of_password(oidc, user, password, key) && is_new(oidc, key);
}

bool alm_oidc_ask_password(alm_oidc *oidc, alm_str user, alm_str password, alm_oidc_wait *wait)
{
    uint8_t key[ALM_OIDC_HASH];
    if (user.len == 0 || user.len > NAME_MAX_BYTES || password.len == 0 ||
        password.len > NAME_MAX_BYTES || memchr(user.ptr, 0, user.len) != NULL ||
        memchr(password.ptr, 0, password.len) != NULL || alm_rest_token_is_one(password) ||
        !key_of_password(oidc, user, password, key)) {
        wait->verdict = ALM_OIDC_REFUSED;
        (void)snprintf(wait->why, sizeof wait->why, "name or password may not be");
        return true;
    }
    return auth_oidc_ask(oidc, key, auth_oidc_form_of(oidc, user, password), PASSWORD, wait);
}

/* ------------------------------------------------------------------------ discovery */

static void say_found(const alm_oidc *oidc, const alm_oidc_endpoints *found)
{
    alm_log_info("oidc", "sign-on by %s", found->issuer);
    if (oidc->conf->acl_oidc_issuer[0] == 0 &&
        !alm_oidc_issuer_fits(found, oidc->conf->acl_oidc_configuration_url))
        alm_log_warn("oidc", "the issuer is not the address that the discovery document came "
                             "from: if it is right, set acl.oidc.issuer");
}

static void document_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc *oidc = arg;
    alm_ctx cx = {0};
    char why[160] = "";
    alm_oidc_endpoints found;
    alm_oidc_endpoints_of_conf(oidc->conf, &found);
    if (answer->status != 200)
        (void)snprintf(why, sizeof why, "%s (status %d)",
                       answer->error != NULL ? answer->error : "", answer->status);
    else if (alm_oidc_endpoints_of_json(&cx, oidc->conf, answer->body, &found) != ALM_OK)
        (void)snprintf(why, sizeof why, "%.150s", cx.err.msg);
    (void)pthread_mutex_lock(&oidc->lock);
    oidc->discovery.under_way = false;
    oidc->discovery.wait_ms = ALM_MIN(2 * oidc->discovery.wait_ms, (int64_t)WAIT_MAX_MS);
    oidc->discovery.next_ns = alm_monotonic_ns() + oidc->discovery.wait_ms * 1000000;
    const bool first = !oidc->endpoints.known;
    const bool moved = !first && why[0] == 0 && strcmp(oidc->endpoints.keys, found.keys) != 0;
    if (why[0] == 0) {
        oidc->endpoints = found;
        oidc->discovered_ns = alm_monotonic_ns();
    } else if (first) {
        (void)snprintf(oidc->endpoints.why, sizeof oidc->endpoints.why,
                       "the discovery document: %s", why);
    } /* else: what was found before counts on */
    if (why[0] == 0)
        oidc->look_again = false;
    (void)pthread_mutex_unlock(&oidc->lock);
    if (why[0] != 0)
        alm_oidc_say(oidc, "the discovery document could not be read", why);
    else if (first)
        say_found(oidc, &found);
    if (alm_oidc_needs_keys(oidc->conf))
        alm_oidc_document_came(oidc, moved);
}

/* With the lock held: is the document to be read? Before it was, for what failed since, and every hour. */
static bool auth_oidc_is_due(const alm_oidc *oidc, int64_t now_ns)
{
    const bool old = now_ns - oidc->discovered_ns > DOCUMENT_AGE_S * SECOND_NS;
    return oidc->conf->acl_oidc_configuration_url[0] != 0 && !oidc->discovery.under_way &&
           now_ns >= oidc->discovery.next_ns && (!oidc->endpoints.known || oidc->look_again || old);
}

bool alm_oidc_discover(alm_oidc *oidc)
{
    const alm_http_call call = {
        .url = oidc->conf->acl_oidc_configuration_url, .done = document_came, .arg = oidc};
    if (auth_oidc_is_due(oidc, alm_monotonic_ns()))
        oidc->discovery.under_way = alm_http_client_send(oidc->client, &call);
    return oidc->discovery.under_way;
}

static void tick(void *arg)
{
    alm_oidc *oidc = arg;
    if (!atomic_load(&oidc->ready) || atomic_load(&oidc->stopped))
        return;
    (void)pthread_mutex_lock(&oidc->lock);
    (void)alm_oidc_discover(oidc);
    (void)pthread_mutex_unlock(&oidc->lock);
    if (alm_oidc_needs_keys(oidc->conf))
        alm_oidc_fetch_keys(oidc);
}

/* ----------------------------------------------------------------------------- life */

static alm_status start_client(alm_ctx *cx, alm_oidc *oidc, const char *root)
{
    char *pem = NULL;
    ALM_TRY(alm_oidc_trusted(cx, oidc->conf, oidc->io, root, &pem));
    const alm_http_client_conf conf = {.ca_pem = pem != NULL ? alm_str_of(pem) : (alm_str){0},
                                       .tls_verify = oidc->conf->acl_oidc_tls_validation_enabled,
                                       .timeout_ms = oidc->conf->acl_oidc_http_timeout,
                                       .body_max = ALM_OIDC_ANSWER_MAX,
                                       .connections_max = CONNECTIONS_MAX,
                                       .tick = tick,
                                       .tick_arg = oidc};
    const alm_status status = alm_http_client_new(cx, &conf, &oidc->client);
    free(pem);
    return status;
}

/* The first pages that ask for settings find the end points, where the provider is quick. */
static void wait_for_first(alm_oidc *oidc)
{
    enum { STEP_MS = 5, STEPS = 200 };
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
    bool waits = true;
    for (int i = 0; waits && i < STEPS; i++) {
        (void)pthread_mutex_lock(&oidc->lock);
        waits = oidc->discovery.under_way;
        (void)pthread_mutex_unlock(&oidc->lock);
        if (waits)
            (void)nanosleep(&step, NULL);
    }
}

/* False: no memory; alm_oidc_free is right then, too. */
static bool auth_oidc_make_room(alm_oidc *oidc)
{
    const bool notes = alm_oidc_notes_init(&oidc->logouts, ALM_OIDC_LOGOUTS_MAX, true),
               ids = alm_oidc_notes_init(&oidc->logout_ids, ALM_OIDC_LOGOUT_IDS_MAX, false);
    oidc->cache = calloc(1, sizeof *oidc->cache);
    return oidc->cache != NULL && alm_oidc_cache_init(oidc->cache) && notes && ids;
}

alm_status alm_oidc_new(alm_ctx *cx, const alm_conf *conf, const alm_io *io, const char *root,
                        alm_oidc **out)
{
    alm_oidc *oidc = calloc(1, sizeof *oidc);
    if (oidc == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    *oidc = (alm_oidc){.conf = conf,
                       .io = io,
                       .discovery = {.wait_ms = ALM_OIDC_WAIT_MS},
                       .fetch = {.wait_ms = ALM_OIDC_WAIT_MS}};
    oidc->names = (alm_claim_names){conf->acl_oidc_sub_claim, conf->acl_oidc_groups_claim};
    (void)pthread_mutex_init(&oidc->lock, NULL);
    alm_oidc_endpoints_of_conf(conf, &oidc->endpoints);
    alm_status status =
        auth_oidc_make_room(oidc) ? ALM_OK : alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    const int code = io->random(io, oidc->salt, sizeof oidc->salt);
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, "random bytes");
    if (status == ALM_OK) {
        memcpy(&oidc->cache->seed, oidc->salt, sizeof oidc->cache->seed);
        status = start_client(cx, oidc, root);
    }
    if (status != ALM_OK) {
        alm_oidc_free(oidc);
        return status;
    }
    atomic_store(&oidc->ready, true);
    tick(oidc);
    wait_for_first(oidc);
    *out = oidc;
    return ALM_OK;
}

void alm_oidc_stop(alm_oidc *oidc)
{
    atomic_store(&oidc->stopped, true);
    alm_http_client_stop(oidc->client);
}

void alm_oidc_free(alm_oidc *oidc)
{
    if (oidc == NULL)
        return;
    atomic_store(&oidc->stopped, true);
    alm_http_client_free(oidc->client); /* its calls are over then, and so is all that is PENDING */
    if (oidc->cache != NULL)
        alm_oidc_cache_deinit(oidc->cache);
    free(oidc->cache);
    alm_oidc_notes_deinit(&oidc->logouts);
    alm_oidc_notes_deinit(&oidc->logout_ids);
    alm_jwk_set_release(oidc->keys);
    (void)pthread_mutex_destroy(&oidc->lock);
    OPENSSL_cleanse(oidc->salt, sizeof oidc->salt);
    free(oidc);
}

uint64_t alm_oidc_forgets(const alm_oidc *oidc)
{
    return atomic_load(&oidc->forgets);
}

void alm_oidc_forget(alm_oidc *oidc)
{
    atomic_fetch_add(&oidc->forgets, 1);
    (void)pthread_mutex_lock(&oidc->lock);
    alm_oidc_cache_clear(oidc->cache);
    (void)pthread_mutex_unlock(&oidc->lock);
}

void alm_oidc_endpoints_get(alm_oidc *oidc, alm_oidc_endpoints *out)
{
    (void)pthread_mutex_lock(&oidc->lock);
    *out = oidc->endpoints;
    (void)pthread_mutex_unlock(&oidc->lock);
}

void alm_oidc_counts_get(alm_oidc *oidc, alm_oidc_counts *out)
{
    (void)pthread_mutex_lock(&oidc->lock);
    *out = oidc->counts;
    out->known = (int64_t)oidc->cache->lists[ALM_OIDC_IS_KNOWN].n;
    (void)pthread_mutex_unlock(&oidc->lock);
}
