/*
 * oidc_logout.c - users who logged out at the provider (OpenID Connect Back-Channel Logout 1.0): the provider sends a logout token that
 * names a user (sub), a session (sid), or both. Tokens of that user or session that began before are refused from then on.
 *
 * Began       A token that says when it was issued began then, by the clock of the provider; else when it was heard of here first.
 *             So a log-out that comes late does not end what was issued after it.
 * Sessions    A log-out that names a session and a user ends tokens of that session, and those of the user that name none; one that names a
 *             session alone leaves tokens without a session in doubt: the provider is asked about them again.
 * Passwords   A user who logged out may log in by password again: the answer about it is forgotten, and the provider asked for another token.
 * Kept        The newest log-out of each user and session, for ALM_OIDC_LOGOUTS_MAX of them, a day at least. Ids of logout tokens (jti)
 *             for as long as such a token is taken. Where there is no room, a logout token is not taken (503).
 */
#include <openssl/evp.h>
#include <stdio.h>

#include "auth/oidc_state.h"

static const int64_t SECOND_NS = INT64_C(1000000000);
enum { AGE_MAX_S = 300, LEEWAY_S = 30, KEEP_S = 86400 };

typedef struct log_out {
    bool has_subject, has_session;
    uint8_t subject[ALM_OIDC_HASH], session[ALM_OIDC_HASH], id[ALM_OIDC_HASH];
    alm_oidc_moment at;
} log_out;

bool alm_oidc_hash(const char *prefix, alm_str text, uint8_t out[ALM_OIDC_HASH])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const bool ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
                    EVP_DigestUpdate(ctx, prefix, strlen(prefix)) == 1 &&
                    EVP_DigestUpdate(ctx, text.ptr, text.len) == 1 &&
                    EVP_DigestFinal_ex(ctx, out, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

/* ---------------------------------------------------------------------- who is out */

/* Clocks of a provider's machines may differ: what was here before the log-out came and is nearly as old is over. */
static bool is_before(const alm_oidc_entry *e, const alm_oidc_moment *out)
{
    const bool was_here = e->began_ns <= out->at_ns;
    if (e->issued_s <= 0)
        return was_here;
    return e->issued_s <= out->at_s || (was_here && e->issued_s <= out->at_s + LEEWAY_S);
}

bool alm_oidc_is_out(const alm_oidc *o, const alm_oidc_entry *e)
{
    if (e->out || !e->has_identity)
        return e->out;
    const alm_oidc_note *user = alm_oidc_notes_find(&o->logouts, e->identity),
                        *session =
                            e->has_session ? alm_oidc_notes_find(&o->logouts, e->session) : NULL;
    return (session != NULL && is_before(e, &session->all)) ||
           (user != NULL && is_before(e, &user->all)) ||
           (user != NULL && !e->has_session && is_before(e, &user->anonymous));
}

bool alm_oidc_is_out_since(const alm_oidc *o, const alm_oidc_entry *e, int64_t began_ns)
{
    alm_oidc_entry then = *e;
    then.began_ns = began_ns;
    then.issued_s = 0; /* what he lived by then was another token */
    return alm_oidc_is_out(o, &then);
}

void alm_oidc_end_entry(alm_oidc *o, alm_oidc_entry *e)
{
    if (e->who != NULL)
        atomic_store(&e->who->over, true);
    e->out = !e->ropc; /* a password may be asked about again */
    alm_oidc_cache_leave(o->cache, e);
}

/* Answers that are given at once end now, all others at their next question. */
static void end_known(alm_oidc *o)
{
    alm_oidc_entry *next = NULL;
    for (alm_oidc_entry *e = o->cache->lists[ALM_OIDC_IS_KNOWN].first; e != NULL; e = next) {
        next = e->next;
        if (alm_oidc_is_out(o, e))
            alm_oidc_end_entry(o, e);
    }
}

bool alm_oidc_is_doubtful(const alm_oidc *o, const alm_oidc_entry *e)
{
    return !e->has_session && e->asked_ns <= o->session_out_ns;
}

/* Whose session is it, as far as a token of it was here? */
static const uint8_t *user_of(const alm_oidc *o, const uint8_t session[ALM_OIDC_HASH])
{
    static const alm_oidc_state states[] = {ALM_OIDC_IS_KNOWN, ALM_OIDC_IS_PAST};
    for (size_t i = 0; i < ALM_COUNT(states); i++)
        for (const alm_oidc_entry *e = o->cache->lists[states[i]].first; e != NULL; e = e->next)
            if (e->has_session && memcmp(e->session, session, ALM_OIDC_HASH) == 0)
                return e->identity;
    return NULL;
}

/* False: no room; nothing has changed then. */
static bool record(alm_oidc *o, const log_out *out)
{
    static const int64_t keep_ns = KEEP_S * SECOND_NS, id_ns = (AGE_MAX_S + LEEWAY_S) * SECOND_NS;
    const int64_t now_ns = out->at.at_ns;
    const uint8_t *owner = out->has_subject ? out->subject : user_of(o, out->session);
    alm_oidc_note *user = NULL, *session = NULL;
    if (owner != NULL) {
        user = alm_oidc_notes_put(&o->logouts, owner, owner, keep_ns, now_ns);
        if (user == NULL)
            return false;
    }
    if (owner == NULL)
        owner = out->session;
    if (out->has_session) {
        session = alm_oidc_notes_put(&o->logouts, out->session, owner, keep_ns, now_ns);
        if (session == NULL)
            return false;
    }
    if (user != NULL)
        alm_oidc_notes_touch(&o->logouts, user);
    if (alm_oidc_notes_put(&o->logout_ids, out->id, owner, id_ns, now_ns) == NULL)
        return false;
    if (session != NULL)
        alm_oidc_moment_join(&session->all, out->at);
    if (out->has_subject)
        alm_oidc_moment_join(session != NULL ? &user->anonymous : &user->all, out->at);
    else
        o->session_out_ns = now_ns;
    return true;
}

/* --------------------------------------------------------------------- logout tokens */

static alm_status refuse(alm_ctx *cx, const char *why)
{
    return alm_fail(cx, ALM_E_AUTH, -1, "%s", why);
}

static alm_status check_times(alm_ctx *cx, const alm_json *claims, int64_t now_s, int64_t *at_s)
{
    int64_t end_s = 0;
    const alm_json *exp = alm_json_get(claims, "exp");
    if (!alm_json_seconds(alm_json_get(claims, "iat"), at_s) || *at_s > now_s + LEEWAY_S ||
        *at_s < now_s - AGE_MAX_S)
        return refuse(cx, "the logout token is not of now (iat)");
    if (exp != NULL && (!alm_json_seconds(exp, &end_s) || end_s <= now_s))
        return refuse(cx, "the logout token is over (exp)");
    return ALM_OK;
}

static alm_status check_claims(alm_ctx *cx, alm_oidc *o, const alm_json *claims)
{
    static const char event[] = "http://schemas.openid.net/event/backchannel-logout";
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(o, &endpoints);
    if (endpoints.issuer[0] != 0 &&
        !alm_str_eq(alm_json_text(alm_json_get(claims, "iss")), alm_str_of(endpoints.issuer)))
        return refuse(cx, "the logout token is of another issuer (iss)");
    if (!alm_jwt_audience_has(alm_json_get(claims, "aud"), o->conf->acl_oidc_client_id))
        return refuse(cx, "the logout token is for another client (aud)");
    if (!alm_json_is_object(alm_json_get(alm_json_get(claims, "events"), event)))
        return refuse(cx, "the token is no logout token (events)");
    if (alm_json_get(claims, "nonce") != NULL)
        return refuse(cx, "a logout token has no nonce");
    return ALM_OK;
}

static alm_status read_logout(alm_ctx *cx, alm_oidc *o, const alm_json *claims, log_out *out)
{
    const alm_str subject = alm_json_text(alm_json_get(claims, "sub")),
                  session = alm_json_text(alm_json_get(claims, "sid")),
                  id = alm_json_text(alm_json_get(claims, "jti"));
    *out = (log_out){.has_subject = subject.len > 0, .has_session = session.len > 0};
    if (id.len == 0)
        return refuse(cx, "the logout token has no jti");
    if (!out->has_subject && !out->has_session)
        return refuse(cx, "the logout token names neither a user (sub) nor a session (sid)");
    if (!alm_oidc_hash("sub:", subject, out->subject) ||
        !alm_oidc_hash("sid:", session, out->session) || !alm_oidc_hash("", id, out->id))
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    return check_times(cx, claims, o->io->wall_ns(o->io) / SECOND_NS, &out->at.at_s);
}

/* A logout token counts once: later it would end log-ins that came after it. */
static alm_status take(alm_ctx *cx, alm_oidc *o, log_out *out)
{
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&o->lock);
    out->at.at_ns = alm_monotonic_ns();
    if (alm_oidc_notes_find(&o->logout_ids, out->id) != NULL)
        st = refuse(cx, "the logout token was used before (jti)");
    else if (!record(o, out))
        st = alm_fail(cx, ALM_E_LIMIT, -1, "there is no room for more log-outs");
    else
        end_known(o);
    (void)pthread_mutex_unlock(&o->lock);
    return st;
}

alm_status alm_oidc_log_out(alm_ctx *cx, alm_oidc *o, const alm_json *claims,
                            char whom[ALM_OIDC_WHOM_MAX])
{
    log_out out;
    const alm_str subject = alm_json_text(alm_json_get(claims, "sub"));
    ALM_TRY(check_claims(cx, o, claims));
    ALM_TRY(read_logout(cx, o, claims, &out));
    ALM_TRY(take(cx, o, &out));
    (void)snprintf(whom, ALM_OIDC_WHOM_MAX, "%s%.120s%s", out.has_subject ? "sub:" : "",
                   out.has_subject ? subject.ptr : "", out.has_session ? " a session" : "");
    atomic_fetch_add(&o->forgets, 1); /* who lives by a token asks about it again */
    return ALM_OK;
}
