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

void alm_oidc_say(alm_oidc *o, const char *what, const char *why)
{
    const int64_t now_ns = alm_monotonic_ns();
    (void)pthread_mutex_lock(&o->lock);
    const bool now = o->said_ns == 0 || now_ns - o->said_ns > SECOND_NS;
    if (now)
        o->said_ns = now_ns;
    (void)pthread_mutex_unlock(&o->lock);
    if (now && !atomic_load(&o->stopped))
        alm_log_warn("oidc", "identity provider: %s: %s", what, why);
}

/* ----------------------------------------------------------------------------- ends */

/* A password may be right again for who logs in now, and what he began before his log-out is over. */
static bool ended_before(const alm_oidc_wait *w, const alm_oidc_entry *e)
{
    return e->ropc && w->began_ns != 0 && alm_oidc_is_out_since(e->oidc, e, w->began_ns);
}

static void give(alm_oidc_wait *w, const alm_oidc_entry *e, const alm_oidc_result *result)
{
    const bool known = result->verdict == ALM_OIDC_KNOWN,
               ended = known && e->who != NULL && ended_before(w, e);
    const char *why = ended ? LOGGED_OUT : result->why != NULL ? result->why : "";
    w->verdict = ended ? ALM_OIDC_REFUSED : result->verdict;
    w->who = e->who != NULL && known && !ended ? alm_principal_retain(e->who) : NULL;
    w->until_ns = e->until_ns;
    if (!e->ropc || w->began_ns == 0)
        w->began_ns = e->began_ns;
    (void)snprintf(w->id, sizeof w->id, "%s", e->id);
    (void)snprintf(w->why, sizeof w->why, "%s", why);
    w->token = w->wants_token && e->ropc && w->who != NULL ? strdup(e->secret) : NULL;
}

static void wipe(char **secret)
{
    alm_secret_free(*secret);
    *secret = NULL;
}

/* With the lock held: what the entry is from now on. True: it was news. */
static bool settle_entry(alm_oidc_entry *e, const alm_oidc_result *result)
{
    alm_oidc *o = e->oidc;
    const int64_t now_ns = alm_monotonic_ns();
    const bool was_known = e->who != NULL, known = result->verdict == ALM_OIDC_KNOWN;
    /* what changed at the provider after it was asked may not be in the answer, however long that took */
    int64_t until_ns = e->asked_ns + o->conf->acl_oidc_cache_ttl * 1000000;
    if (result->ttl_ns > 0)
        until_ns = ALM_MIN(until_ns, now_ns + result->ttl_ns);
    if (e->who != NULL && result->verdict == ALM_OIDC_REFUSED)
        atomic_store(&e->who->over, true);
    alm_principal_release(e->who);
    e->who = result->who;
    if (result->verdict != ALM_OIDC_AWAY)
        e->good = known;
    e->password = e->ropc;
    o->counts.refusals += result->verdict == ALM_OIDC_REFUSED;
    e->until_ns = e->forgotten ? now_ns
                  : result->verdict == ALM_OIDC_REFUSED
                      ? now_ns + o->conf->acl_oidc_cache_refused_ttl * 1000000
                      : until_ns;
    e->forgotten = false;
    return known ? !was_known : result->verdict == ALM_OIDC_REFUSED;
}

/* With the lock held: a log-out finds the token of this key as it finds that of `from`. Without memory it is as any that was not seen. */
static void note_token(alm_oidc *o, const alm_oidc_entry *from, const uint8_t key[ALM_OIDC_HASH])
{
    if (alm_oidc_cache_find(o->cache, key) != NULL)
        return;
    alm_oidc_entry *e = alm_oidc_cache_add(o->cache, key);
    if (e == NULL)
        return;
    e->oidc = o;
    e->good = e->has_identity = true;
    memcpy(e->identity, from->identity, ALM_OIDC_HASH);
    e->has_session = from->has_session;
    memcpy(e->session, from->session, ALM_OIDC_HASH);
    e->issued_s = from->issued_s;
    e->expires_s = from->expires_s;
    e->began_ns = e->asked_ns = from->began_ns;
    alm_oidc_cache_leave(o->cache, e);
}

/* With the lock held. Who has a token signed by ECDSA has a second signature for it, and another text with it: where the token does not say when it was
 * issued, it began with the first text. */
static void find_beginning(alm_oidc_entry *e)
{
    uint8_t key[ALM_OIDC_HASH];
    const alm_str part =
        e->issued_s > 0 ? (alm_str){0} : alm_jwt_signed_part(alm_str_of(e->secret));
    if (part.ptr == NULL || !alm_oidc_hash("signed:", part, key))
        return;
    const alm_oidc_entry *first = alm_oidc_cache_find(e->oidc->cache, key);
    if (first != NULL)
        e->began_ns = ALM_MIN(e->began_ns, first->began_ns);
    else
        note_token(e->oidc, e, key);
}

/* With the lock held: what is said about a token that the provider takes, as far as log-outs and memory let it be. */
static void judge(alm_oidc_entry *e, alm_oidc_result *result)
{
    if (result->who == NULL)
        return;
    e->has_identity = alm_oidc_hash("", alm_str_of(result->who->identity), e->identity);
    if (e->has_identity && !e->ropc)
        find_beginning(e);
    const bool out = e->has_identity && alm_oidc_is_out(e->oidc, e);
    if (e->has_identity && !out)
        return;
    alm_principal_release(result->who);
    *result = out ? (alm_oidc_result){.verdict = ALM_OIDC_REFUSED, .why = LOGGED_OUT}
                  : (alm_oidc_result){.verdict = ALM_OIDC_AWAY, .why = "out of memory"};
    e->out = out;
}

/* With the lock held. The token of a password is given away to whoever lives by it: a log-out is to find it, whenever it comes back. */
static void note_given(alm_oidc_entry *e)
{
    uint8_t key[ALM_OIDC_HASH];
    if (alm_oidc_hash("", alm_str_of(e->secret), key))
        note_token(e->oidc, e, key);
}

/* With the lock held: where an entry goes that was settled. */
static void put_away(alm_oidc_entry *e, const alm_oidc_result *result)
{
    alm_oidc_cache *cache = e->oidc->cache;
    if (e->logout)
        alm_oidc_cache_drop(cache, e);
    else if (e->out)
        alm_oidc_end_entry(e->oidc, e);
    else if (result->verdict == ALM_OIDC_AWAY)
        alm_oidc_cache_leave(cache, e);
    else
        alm_oidc_cache_move(
            cache, e, result->verdict == ALM_OIDC_KNOWN ? ALM_OIDC_IS_KNOWN : ALM_OIDC_IS_REFUSED);
}

void alm_oidc_settle(alm_oidc_entry *e, const alm_oidc_result *settled)
{
    alm_oidc *o = e->oidc;
    alm_oidc_result result = *settled;
    (void)pthread_mutex_lock(&o->lock);
    judge(e, &result);
    alm_oidc_wait *waits = e->waits;
    e->waits = NULL;
    const bool news = settle_entry(e, &result);
    for (alm_oidc_wait *w = waits; w != NULL; w = w->next) {
        give(w, e, &result);
        w->fresh = news && w == waits;
        if (w->token != NULL)
            note_given(e);
    }
    wipe(&e->secret);
    put_away(e, &result);
    o->counts.failures += result.verdict == ALM_OIDC_AWAY;
    if (result.verdict == ALM_OIDC_KNOWN)
        o->discovery.wait_ms = ALM_OIDC_WAIT_MS;
    (void)pthread_mutex_unlock(&o->lock);
    while (waits != NULL) { /* each may be gone when it was told */
        alm_oidc_wait *next = waits->next;
        waits->done(waits);
        waits = next;
    }
}

void alm_oidc_give_up(alm_oidc_entry *e, alm_oidc_verdict verdict, const char *why)
{
    const alm_oidc_result result = {.verdict = verdict, .why = why};
    if (verdict == ALM_OIDC_AWAY)
        alm_oidc_say(e->oidc, "no answer about a token", why);
    alm_oidc_settle(e, &result);
}

/* ------------------------------------------------------------------------- user info */

/* No answer, or none that says anything about the token. */
static void settle_odd(alm_oidc_entry *e, const alm_http_answer *answer)
{
    char why[200];
    if (answer->status == 0)
        (void)snprintf(why, sizeof why, "%s", answer->error);
    else
        (void)snprintf(why, sizeof why, "it answered with status %d%s", answer->status,
                       answer->status / 100 == 3 ? ", a redirect, which is not followed" : "");
    (void)pthread_mutex_lock(&e->oidc->lock);
    e->oidc->look_again = true; /* it may be elsewhere now */
    (void)pthread_mutex_unlock(&e->oidc->lock);
    alm_oidc_give_up(e, ALM_OIDC_AWAY, why);
}

static bool is_refusal(int status)
{
    return status == 400 || status == 401 || status == 403;
}

static void settle_claims(alm_oidc_entry *e, alm_str body)
{
    alm_oidc *o = e->oidc;
    alm_ctx cx = {0};
    alm_oidc_result result = {.verdict = ALM_OIDC_KNOWN};
    bool odd = false;
    const alm_status st = alm_claims_of_text(&cx, body, &o->names, &result.who, &odd);
    if (st != ALM_OK) {
        alm_oidc_give_up(e, st == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY, cx.err.msg);
        return;
    }
    if (odd && e->who == NULL)
        alm_log_warn("oidc", "token %s: the claim %s is no list of texts: it counts as missing",
                     e->id, o->names.groups);
    if (e->expires_s > 0)
        result.ttl_ns = alm_oidc_left_ns(o, e->expires_s);
    alm_oidc_settle(e, &result);
}

static void userinfo_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc_entry *e = arg;
    static const alm_str signed_type = ALM_STR("application/jwt");
    if (is_refusal(answer->status))
        alm_oidc_give_up(e, ALM_OIDC_REFUSED, "the identity provider does not take the token");
    else if (answer->status != 200)
        settle_odd(e, answer);
    else if (answer->type.len >= signed_type.len &&
             alm_str_ieq((alm_str){answer->type.ptr, signed_type.len}, signed_type))
        alm_oidc_give_up(e, ALM_OIDC_REFUSED,
                         "the identity provider signs its user info, which is not read");
    else
        settle_claims(e, answer->body);
}

/* ------------------------------------------------------------------------- passwords */

static void begin(alm_oidc_entry *e);

/* The token that was given for name and password: as if it had come itself. */
static void take_token(alm_oidc_entry *e, alm_str body)
{
    alm_ctx cx = {0};
    alm_json *document = NULL;
    const char *member =
        e->oidc->conf->acl_oidc_groups_encoded_in_token ? "id_token" : "access_token";
    alm_str token = {0};
    if (alm_json_parse(&cx, body, &document) == ALM_OK)
        token = alm_json_text(alm_json_get(document, member));
    char *copy = alm_oidc_is_token(token) ? strndup(token.ptr, token.len) : NULL;
    if (copy != NULL) {
        wipe(&e->secret);
        e->secret = copy;
        e->password = false;
    }
    alm_json_free(document);
    if (copy != NULL)
        begin(e);
    else
        alm_oidc_give_up(e, ALM_OIDC_AWAY, "its token end point gave no token");
}

static void token_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc_entry *e = arg;
    if (is_refusal(answer->status))
        alm_oidc_give_up(e, ALM_OIDC_REFUSED,
                         "the identity provider does not take name and password");
    else if (answer->status != 200)
        settle_odd(e, answer);
    else
        take_token(e, answer->body);
}

/* ------------------------------------------------------------------------- questions */

bool alm_oidc_send(alm_oidc *o, const alm_http_call *call)
{
    (void)pthread_mutex_lock(&o->lock);
    o->counts.calls++;
    (void)pthread_mutex_unlock(&o->lock);
    return alm_http_client_send(o->client, call);
}

void alm_oidc_ask_user_info(alm_oidc_entry *e)
{
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(e->oidc, &endpoints);
    const alm_http_call call = {.url = endpoints.userinfo,
                                .bearer = alm_str_of(e->secret),
                                .done = userinfo_came,
                                .arg = e};
    if (!alm_oidc_send(e->oidc, &call))
        alm_oidc_give_up(e, ALM_OIDC_AWAY, "too many calls at once");
}

static void ask_token(alm_oidc_entry *e)
{
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(e->oidc, &endpoints);
    const alm_http_call call = {
        .url = endpoints.token, .form = alm_str_of(e->secret), .done = token_came, .arg = e};
    if (!alm_oidc_send(e->oidc, &call))
        alm_oidc_give_up(e, ALM_OIDC_AWAY, "too many calls at once");
}

static void begin(alm_oidc_entry *e)
{
    if (e->ropc) { /* another token each time */
        e->expires_s = e->issued_s = 0;
        e->has_session = false;
    }
    if (e->logout)
        alm_oidc_check_token(e);
    else if (e->password)
        ask_token(e);
    else if (e->oidc->conf->acl_oidc_groups_encoded_in_token)
        alm_oidc_check_token(e);
    else
        alm_oidc_check_access(e);
}

typedef enum question { TOKEN, PASSWORD, LOGOUT } question;

static bool is_under_way(const alm_oidc_entry *e)
{
    return e->state == ALM_OIDC_IS_PENDING || e->state == ALM_OIDC_IS_LOGOUT;
}

static bool counts(const alm_oidc *o, const alm_oidc_entry *e)
{
    return !is_under_way(e) && alm_monotonic_ns() < e->until_ns &&
           (e->state != ALM_OIDC_IS_KNOWN || !alm_oidc_is_doubtful(o, e));
}

/* Why no question can be asked; NULL: it can. Logout tokens are no calls: made-up tokens turn none away. */
static const char *hindrance(const alm_oidc *o, const alm_oidc_entry *e, question kind)
{
    const size_t n = o->cache->lists[ALM_OIDC_IS_PENDING].n,
                 most = e != NULL && e->good ? ALM_OIDC_PENDING_MAX : ALM_OIDC_NEW_MAX;
    return atomic_load(&o->stopped)      ? "the server stops"
           : !o->endpoints.known         ? o->endpoints.why
           : kind != LOGOUT && n >= most ? "too many questions at once"
                                         : NULL;
}

/* With the lock held: that of the key, NULL if there is none. Who lives by the token may have begun with it before this entry did. */
static alm_oidc_entry *look_up(alm_oidc *o, const uint8_t key[ALM_OIDC_HASH], int64_t began_ns)
{
    alm_oidc_entry *e = alm_oidc_cache_find(o->cache, key);
    if (e == NULL)
        return NULL;
    if (!e->ropc && began_ns != 0)
        e->began_ns = ALM_MIN(e->began_ns, began_ns);
    if (is_under_way(e) || !alm_oidc_is_out(o, e))
        return e;
    const bool ropc = e->ropc;
    alm_oidc_end_entry(o, e);
    return ropc ? NULL : e;
}

/* With the lock held. At once: known, refused lately, logged out, or no question can be asked. */
static bool answer_now(alm_oidc *o, alm_oidc_entry *e, question kind, alm_oidc_wait *w)
{
    static const alm_oidc_entry none = {.id = ""};
    alm_oidc_result result = {.verdict = ALM_OIDC_REFUSED};
    if (e != NULL && (e->out || (counts(o, e) && !w->wants_token))) {
        if (e->state == ALM_OIDC_IS_KNOWN)
            result.verdict = ALM_OIDC_KNOWN;
        else
            result.why = e->out ? LOGGED_OUT : "refused just now";
        o->counts.hits++;
        give(w, e, &result);
        alm_oidc_cache_move(o->cache, e, e->state);
        return true;
    }
    if (e != NULL && is_under_way(e))
        return false;
    result = (alm_oidc_result){.verdict = ALM_OIDC_AWAY, .why = hindrance(o, e, kind)};
    if (result.why != NULL)
        give(w, &none, &result);
    return result.why != NULL;
}

/* With the lock held. *start: its call is to be made. NULL: no memory. The secret is taken. */
static alm_oidc_entry *enter(alm_oidc *o, const uint8_t key[ALM_OIDC_HASH], char *secret,
                             question kind, int64_t began_ns, bool *start)
{
    alm_oidc_entry *e = alm_oidc_cache_find(o->cache, key);
    *start = e == NULL || !is_under_way(e);
    if (!*start) {
        wipe(&secret);
        return e;
    }
    if (e == NULL)
        e = alm_oidc_cache_add(o->cache, key);
    if (e == NULL) {
        wipe(&secret);
        return NULL;
    }
    alm_oidc_cache_move(o->cache, e, kind == LOGOUT ? ALM_OIDC_IS_LOGOUT : ALM_OIDC_IS_PENDING);
    e->oidc = o;
    e->secret = secret;
    e->password = e->ropc = kind == PASSWORD;
    e->logout = kind == LOGOUT;
    e->asked_ns = alm_monotonic_ns();
    if (e->began_ns == 0 || e->ropc) /* a password becomes a token that begins now */
        e->began_ns = began_ns != 0 ? ALM_MIN(began_ns, e->asked_ns) : e->asked_ns;
    return e;
}

/* secret: malloc'd; taken. */
static bool ask(alm_oidc *o, const uint8_t key[ALM_OIDC_HASH], char *secret, question kind,
                alm_oidc_wait *w)
{
    bool start = false;
    const int64_t began_ns = w->began_ns; /* the answer has another */
    w->next = NULL;
    w->fresh = false;
    w->forgets =
        atomic_load(&o->forgets); /* before: an answer that is forgotten meanwhile counts as such */
    (void)pthread_mutex_lock(&o->lock);
    if (secret == NULL || answer_now(o, look_up(o, key, began_ns), kind, w)) {
        (void)pthread_mutex_unlock(&o->lock);
        if (secret == NULL)
            *w = (alm_oidc_wait){.verdict = ALM_OIDC_AWAY, .why = "out of memory"};
        wipe(&secret);
        return true;
    }
    alm_oidc_entry *e = enter(o, key, secret, kind, began_ns, &start);
    if (e != NULL) { /* the last of those that wait: the first is who began */
        alm_oidc_wait **at = &e->waits;
        while (*at != NULL)
            at = &(*at)->next;
        *at = w;
    }
    (void)pthread_mutex_unlock(&o->lock);
    if (e == NULL)
        *w = (alm_oidc_wait){.verdict = ALM_OIDC_AWAY, .why = "out of memory"};
    else if (start)
        begin(e);
    return e == NULL;
}

/* RFC 6750: the letters of a token, and some "=" behind them. Tokens of this server are not the provider's to see. */
bool alm_oidc_is_token(alm_str text)
{
    size_t n = 0;
    if (text.len == 0 || text.len > ALM_OIDC_TOKEN_MAX || alm_rest_token_is_one(text))
        return false;
    for (; n < text.len && text.ptr[n] != '='; n++) {
        const char c = text.ptr[n];
        const bool letter =
            (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && memchr("-._~+/", c, 6) == NULL)
            return false;
    }
    const bool any = n > 0;
    for (; n < text.len; n++)
        if (text.ptr[n] != '=')
            return false;
    return any;
}

/* Who was known before is asked about again without waiting: that is the least that others cannot take from him. */
static bool is_new(alm_oidc *o, const uint8_t key[ALM_OIDC_HASH])
{
    (void)pthread_mutex_lock(&o->lock);
    const alm_oidc_entry *e = alm_oidc_cache_find(o->cache, key);
    const bool now =
        e != NULL && (e->good || e->out || is_under_way(e) || alm_monotonic_ns() < e->until_ns);
    (void)pthread_mutex_unlock(&o->lock);
    return !now;
}

/* False: no token has this form. One token has one: what is taken for it elsewhere, and written otherwise, is none. */
static bool key_of_token(alm_str token, uint8_t key[ALM_OIDC_HASH])
{
    return alm_oidc_is_token(token) && alm_jwt_is_canonical(token) && alm_oidc_hash("", token, key);
}

bool alm_oidc_is_new(alm_oidc *o, alm_str token)
{
    uint8_t key[ALM_OIDC_HASH];
    return !o->conf->acl_oidc_groups_encoded_in_token && key_of_token(token, key) && is_new(o, key);
}

bool alm_oidc_ask(alm_oidc *o, alm_str token, alm_oidc_wait *w)
{
    uint8_t key[ALM_OIDC_HASH];
    if (!key_of_token(token, key)) {
        w->verdict = ALM_OIDC_REFUSED;
        (void)snprintf(w->why, sizeof w->why, "no token has this form");
        return true;
    }
    return ask(o, key, strndup(token.ptr, token.len), TOKEN, w);
}

/* The hash has a prefix of its own, so that a logout token never finds the cache entry of an access token with the same text. */
bool alm_oidc_ask_logout(alm_oidc *o, alm_str token, alm_oidc_wait *w)
{
    uint8_t key[ALM_OIDC_HASH];
    if (!alm_oidc_is_token(token) || !alm_oidc_hash("logout:", token, key)) {
        w->verdict = ALM_OIDC_REFUSED;
        (void)snprintf(w->why, sizeof w->why, "no token has this form");
        return true;
    }
    return ask(o, key, strndup(token.ptr, token.len), LOGOUT, w);
}

/* -------------------------------------------------------------------------- by name */

char *alm_oidc_put_form(char *to, const char *name, alm_str value)
{
    to = stpcpy(to, name);
    for (size_t i = 0; i < value.len; i++) {
        const unsigned char c = (unsigned char)value.ptr[i];
        const bool plain =
            (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain || (c != 0 && strchr("-._~", c) != NULL)) {
            *to++ = (char)c;
        } else {
            *to++ = '%';
            *to++ = "0123456789ABCDEF"[c >> 4];
            *to++ = "0123456789ABCDEF"[c & 15];
        }
    }
    *to = 0;
    return to;
}

static char *form_of(const alm_oidc *o, alm_str user, alm_str password)
{
    const alm_str scope = alm_str_of(o->conf->acl_oidc_scope),
                  client = alm_str_of(o->conf->acl_oidc_client_id);
    char *form = malloc(100 + 3 * (user.len + password.len + scope.len + client.len));
    if (form == NULL)
        return NULL;
    char *at = stpcpy(form, "grant_type=password");
    at = alm_oidc_put_form(at, "&client_id=", client);
    at = alm_oidc_put_form(at, "&scope=", scope);
    at = alm_oidc_put_form(at, "&username=", user);
    (void)alm_oidc_put_form(at, "&password=", password);
    return form;
}

/* Nobody can guess passwords by the key: it is of a secret of the process too. */
static bool key_of_password(const alm_oidc *o, alm_str user, alm_str password,
                            uint8_t key[ALM_OIDC_HASH])
{
    const uint8_t length = (uint8_t)(user.len & 255);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const bool ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
                    EVP_DigestUpdate(ctx, o->salt, sizeof o->salt) == 1 &&
                    EVP_DigestUpdate(ctx, &length, 1) == 1 &&
                    EVP_DigestUpdate(ctx, user.ptr, user.len) == 1 &&
                    EVP_DigestUpdate(ctx, "", 1) == 1 && /* no zero byte is in either */
                    EVP_DigestUpdate(ctx, password.ptr, password.len) == 1 &&
                    EVP_DigestFinal_ex(ctx, key, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

bool alm_oidc_is_new_password(alm_oidc *o, alm_str user, alm_str password)
{
    uint8_t key[ALM_OIDC_HASH];
    return key_of_password(o, user, password, key) && is_new(o, key);
}

bool alm_oidc_ask_password(alm_oidc *o, alm_str user, alm_str password, alm_oidc_wait *w)
{
    uint8_t key[ALM_OIDC_HASH];
    if (user.len == 0 || user.len > NAME_MAX_BYTES || password.len == 0 ||
        password.len > NAME_MAX_BYTES || memchr(user.ptr, 0, user.len) != NULL ||
        memchr(password.ptr, 0, password.len) != NULL || alm_rest_token_is_one(password) ||
        !key_of_password(o, user, password, key)) {
        w->verdict = ALM_OIDC_REFUSED;
        (void)snprintf(w->why, sizeof w->why, "name or password may not be");
        return true;
    }
    return ask(o, key, form_of(o, user, password), PASSWORD, w);
}

/* ------------------------------------------------------------------------ discovery */

static void say_found(const alm_oidc *o, const alm_oidc_endpoints *found)
{
    alm_log_info("oidc", "sign-on by %s", found->issuer);
    if (o->conf->acl_oidc_issuer[0] == 0 &&
        !alm_oidc_issuer_fits(found, o->conf->acl_oidc_configuration_url))
        alm_log_warn("oidc", "the issuer is not the address that the discovery document came "
                             "from: if it is right, set acl.oidc.issuer");
}

static void document_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc *o = arg;
    alm_ctx cx = {0};
    char why[160] = "";
    alm_oidc_endpoints found;
    alm_oidc_endpoints_of_conf(o->conf, &found);
    if (answer->status != 200)
        (void)snprintf(why, sizeof why, "%s (status %d)",
                       answer->error != NULL ? answer->error : "", answer->status);
    else if (alm_oidc_endpoints_of_json(&cx, o->conf, answer->body, &found) != ALM_OK)
        (void)snprintf(why, sizeof why, "%.150s", cx.err.msg);
    (void)pthread_mutex_lock(&o->lock);
    o->discovery.under_way = false;
    o->discovery.wait_ms = ALM_MIN(2 * o->discovery.wait_ms, (int64_t)WAIT_MAX_MS);
    o->discovery.next_ns = alm_monotonic_ns() + o->discovery.wait_ms * 1000000;
    const bool first = !o->endpoints.known;
    const bool moved = !first && why[0] == 0 && strcmp(o->endpoints.keys, found.keys) != 0;
    if (why[0] == 0) {
        o->endpoints = found;
        o->discovered_ns = alm_monotonic_ns();
    } else if (first) {
        (void)snprintf(o->endpoints.why, sizeof o->endpoints.why, "the discovery document: %s",
                       why);
    } /* else: what was found before counts on */
    if (why[0] == 0)
        o->look_again = false;
    (void)pthread_mutex_unlock(&o->lock);
    if (why[0] != 0)
        alm_oidc_say(o, "the discovery document could not be read", why);
    else if (first)
        say_found(o, &found);
    if (alm_oidc_needs_keys(o->conf))
        alm_oidc_document_came(o, moved);
}

/* With the lock held: is the document to be read? Before it was, for what failed since, and every hour. */
static bool is_due(const alm_oidc *o, int64_t now_ns)
{
    const bool old = now_ns - o->discovered_ns > DOCUMENT_AGE_S * SECOND_NS;
    return o->conf->acl_oidc_configuration_url[0] != 0 && !o->discovery.under_way &&
           now_ns >= o->discovery.next_ns && (!o->endpoints.known || o->look_again || old);
}

bool alm_oidc_discover(alm_oidc *o)
{
    const alm_http_call call = {
        .url = o->conf->acl_oidc_configuration_url, .done = document_came, .arg = o};
    if (is_due(o, alm_monotonic_ns()))
        o->discovery.under_way = alm_http_client_send(o->client, &call);
    return o->discovery.under_way;
}

static void tick(void *arg)
{
    alm_oidc *o = arg;
    if (!atomic_load(&o->ready) || atomic_load(&o->stopped))
        return;
    (void)pthread_mutex_lock(&o->lock);
    (void)alm_oidc_discover(o);
    (void)pthread_mutex_unlock(&o->lock);
    if (alm_oidc_needs_keys(o->conf))
        alm_oidc_fetch_keys(o);
}

/* ----------------------------------------------------------------------------- life */

static alm_status start_client(alm_ctx *cx, alm_oidc *o, const char *root)
{
    char *pem = NULL;
    ALM_TRY(alm_oidc_trusted(cx, o->conf, o->io, root, &pem));
    const alm_http_client_conf conf = {.ca_pem = pem != NULL ? alm_str_of(pem) : (alm_str){0},
                                       .tls_verify = o->conf->acl_oidc_tls_validation_enabled,
                                       .timeout_ms = o->conf->acl_oidc_http_timeout,
                                       .body_max = ALM_OIDC_ANSWER_MAX,
                                       .connections_max = CONNECTIONS_MAX,
                                       .tick = tick,
                                       .tick_arg = o};
    const alm_status st = alm_http_client_new(cx, &conf, &o->client);
    free(pem);
    return st;
}

/* The first pages that ask for settings find the end points, where the provider is quick. */
static void wait_for_first(alm_oidc *o)
{
    enum { STEP_MS = 5, STEPS = 200 };
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
    bool waits = true;
    for (int i = 0; waits && i < STEPS; i++) {
        (void)pthread_mutex_lock(&o->lock);
        waits = o->discovery.under_way;
        (void)pthread_mutex_unlock(&o->lock);
        if (waits)
            (void)nanosleep(&step, NULL);
    }
}

/* False: no memory; alm_oidc_free is right then, too. */
static bool make_room(alm_oidc *o)
{
    const bool notes = alm_oidc_notes_init(&o->logouts, ALM_OIDC_LOGOUTS_MAX, true),
               ids = alm_oidc_notes_init(&o->logout_ids, ALM_OIDC_LOGOUT_IDS_MAX, false);
    o->cache = calloc(1, sizeof *o->cache);
    return o->cache != NULL && alm_oidc_cache_init(o->cache) && notes && ids;
}

alm_status alm_oidc_new(alm_ctx *cx, const alm_conf *conf, const alm_io *io, const char *root,
                        alm_oidc **out)
{
    alm_oidc *o = calloc(1, sizeof *o);
    if (o == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    *o = (alm_oidc){.conf = conf,
                    .io = io,
                    .discovery = {.wait_ms = ALM_OIDC_WAIT_MS},
                    .fetch = {.wait_ms = ALM_OIDC_WAIT_MS}};
    o->names = (alm_claim_names){conf->acl_oidc_sub_claim, conf->acl_oidc_groups_claim};
    (void)pthread_mutex_init(&o->lock, NULL);
    alm_oidc_endpoints_of_conf(conf, &o->endpoints);
    alm_status st = make_room(o) ? ALM_OK : alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    const int code = io->random(io, o->salt, sizeof o->salt);
    if (st == ALM_OK && code < 0)
        st = alm_io_fail(cx, code, "random bytes");
    if (st == ALM_OK) {
        memcpy(&o->cache->seed, o->salt, sizeof o->cache->seed);
        st = start_client(cx, o, root);
    }
    if (st != ALM_OK) {
        alm_oidc_free(o);
        return st;
    }
    atomic_store(&o->ready, true);
    tick(o);
    wait_for_first(o);
    *out = o;
    return ALM_OK;
}

void alm_oidc_stop(alm_oidc *o)
{
    atomic_store(&o->stopped, true);
    alm_http_client_stop(o->client);
}

void alm_oidc_free(alm_oidc *o)
{
    if (o == NULL)
        return;
    atomic_store(&o->stopped, true);
    alm_http_client_free(o->client); /* its calls are over then, and so is all that is PENDING */
    if (o->cache != NULL)
        alm_oidc_cache_deinit(o->cache);
    free(o->cache);
    alm_oidc_notes_deinit(&o->logouts);
    alm_oidc_notes_deinit(&o->logout_ids);
    alm_jwk_set_release(o->keys);
    (void)pthread_mutex_destroy(&o->lock);
    OPENSSL_cleanse(o->salt, sizeof o->salt);
    free(o);
}

uint64_t alm_oidc_forgets(const alm_oidc *o)
{
    return atomic_load(&o->forgets);
}

void alm_oidc_forget(alm_oidc *o)
{
    atomic_fetch_add(&o->forgets, 1);
    (void)pthread_mutex_lock(&o->lock);
    alm_oidc_cache_clear(o->cache);
    (void)pthread_mutex_unlock(&o->lock);
}

void alm_oidc_endpoints_get(alm_oidc *o, alm_oidc_endpoints *out)
{
    (void)pthread_mutex_lock(&o->lock);
    *out = o->endpoints;
    (void)pthread_mutex_unlock(&o->lock);
}

void alm_oidc_counts_get(alm_oidc *o, alm_oidc_counts *out)
{
    (void)pthread_mutex_lock(&o->lock);
    *out = o->counts;
    out->known = (int64_t)o->cache->lists[ALM_OIDC_IS_KNOWN].n;
    (void)pthread_mutex_unlock(&o->lock);
}
