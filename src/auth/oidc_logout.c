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
static bool is_before(const alm_oidc_entry *entry, const alm_oidc_moment *out)
{
    const bool was_here = entry->began_ns <= out->at_ns;
    if (entry->issued_s <= 0)
        return was_here;
    return entry->issued_s <= out->at_s || (was_here && entry->issued_s <= out->at_s + LEEWAY_S);
}

bool alm_oidc_is_out(const alm_oidc *oidc, const alm_oidc_entry *entry)
{
    if (entry->out || !entry->has_identity)
        return entry->out;
    const alm_oidc_note *user = alm_oidc_notes_find(&oidc->logouts, entry->identity),
                        *session = entry->has_session
                                       ? alm_oidc_notes_find(&oidc->logouts, entry->session)
                                       : NULL;
    return (session != NULL && is_before(entry, &session->all)) ||
           (user != NULL && is_before(entry, &user->all)) ||
           (user != NULL && !entry->has_session && is_before(entry, &user->anonymous));
}

bool alm_oidc_is_out_since(const alm_oidc *oidc, const alm_oidc_entry *entry, int64_t began_ns)
{
    alm_oidc_entry then = *entry;
    then.began_ns = began_ns;
    then.issued_s = 0; /* what he lived by then was another token */
    return alm_oidc_is_out(oidc, &then);
}

void alm_oidc_end_entry(alm_oidc *oidc, alm_oidc_entry *entry)
{
    if (entry->who != NULL)
        atomic_store(&entry->who->over, true);
    entry->out = !entry->ropc; /* a password may be asked about again */
    alm_oidc_cache_leave(oidc->cache, entry);
}

/* Answers that are given at once end now, all others at their next question. */
static void end_known(alm_oidc *oidc)
{
    alm_oidc_entry *next = NULL;
    for (alm_oidc_entry *entry = oidc->cache->lists[ALM_OIDC_IS_KNOWN].first; entry != NULL;
         entry = next) {
        next = entry->next;
        if (alm_oidc_is_out(oidc, entry))
            alm_oidc_end_entry(oidc, entry);
    }
}

bool alm_oidc_is_doubtful(const alm_oidc *oidc, const alm_oidc_entry *entry)
{
    return !entry->has_session && entry->asked_ns <= oidc->session_out_ns;
}

/* Whose session is it, as far as a token of it was here? */
static const uint8_t *oidc_logout_user_of(const alm_oidc *oidc,
                                          const uint8_t session[ALM_OIDC_HASH])
{
    static const alm_oidc_state states[] = {ALM_OIDC_IS_KNOWN, ALM_OIDC_IS_PAST};
    for (size_t i = 0; i < ALM_COUNT(states); i++)
        for (const alm_oidc_entry *entry = oidc->cache->lists[states[i]].first; entry != NULL;
             entry = entry->next)
            if (entry->has_session && memcmp(entry->session, session, ALM_OIDC_HASH) == 0)
                return entry->identity;
    return NULL;
}

/* False: no room; nothing has changed then. */
static bool record(alm_oidc *oidc, const log_out *out)
{
    static const int64_t keep_ns = KEEP_S * SECOND_NS, id_ns = (AGE_MAX_S + LEEWAY_S) * SECOND_NS;
    const int64_t now_ns = out->at.at_ns;
    const uint8_t *owner =
        out->has_subject ? out->subject : oidc_logout_user_of(oidc, out->session);
    alm_oidc_note *user = NULL, *session = NULL;
    if (owner != NULL) {
        user = alm_oidc_notes_put(&oidc->logouts, owner, owner, keep_ns, now_ns);
        if (user == NULL)
            return false;
    }
    if (owner == NULL)
        owner = out->session;
    if (out->has_session) {
        session = alm_oidc_notes_put(&oidc->logouts, out->session, owner, keep_ns, now_ns);
        if (session == NULL)
            return false;
    }
    if (user != NULL)
        alm_oidc_notes_touch(&oidc->logouts, user);
    if (alm_oidc_notes_put(&oidc->logout_ids, out->id, owner, id_ns, now_ns) == NULL)
        return false;
    if (session != NULL)
        alm_oidc_moment_join(&session->all, out->at);
    if (out->has_subject)
        alm_oidc_moment_join(session != NULL ? &user->anonymous : &user->all, out->at);
    else
        oidc->session_out_ns = now_ns;
    return true;
}

/* --------------------------------------------------------------------- logout tokens */

static alm_status oidc_logout_refuse(alm_ctx *cx, const char *why)
{
    return alm_fail(cx, ALM_E_AUTH, -1, "%s", why);
}

static alm_status oidc_logout_check_times(alm_ctx *cx, const alm_json *claims, int64_t now_s,
                                          int64_t *at_s)
{
    int64_t end_s = 0;
    const alm_json *exp = alm_json_get(claims, "exp");
    if (!alm_json_seconds(alm_json_get(claims, "iat"), at_s) || *at_s > now_s + LEEWAY_S ||
        *at_s < now_s - AGE_MAX_S)
        return oidc_logout_refuse(cx, "the logout token is not of now (iat)");
    if (exp != NULL && (!alm_json_seconds(exp, &end_s) || end_s <= now_s))
        return oidc_logout_refuse(cx, "the logout token is over (exp)");
    return ALM_OK;
}

static alm_status oidc_logout_check_claims(alm_ctx *cx, alm_oidc *oidc, const alm_json *claims)
{
    static const char event[] = "http://schemas.openid.net/event/backchannel-logout";
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(oidc, &endpoints);
    if (endpoints.issuer[0] != 0 &&
        !alm_str_eq(alm_json_text(alm_json_get(claims, "iss")), alm_str_of(endpoints.issuer)))
        return oidc_logout_refuse(cx, "the logout token is of another issuer (iss)");
    if (!alm_jwt_audience_has(alm_json_get(claims, "aud"), oidc->conf->acl_oidc_client_id))
        return oidc_logout_refuse(cx, "the logout token is for another client (aud)");
    if (!alm_json_is_object(alm_json_get(alm_json_get(claims, "events"), event)))
        return oidc_logout_refuse(cx, "the token is no logout token (events)");
    if (alm_json_get(claims, "nonce") != NULL)
        return oidc_logout_refuse(cx, "a logout token has no nonce");
    return ALM_OK;
}

static alm_status read_logout(alm_ctx *cx, alm_oidc *oidc, const alm_json *claims, log_out *out)
{
    const alm_str subject = alm_json_text(alm_json_get(claims, "sub")),
                  session = alm_json_text(alm_json_get(claims, "sid")),
                  id = alm_json_text(alm_json_get(claims, "jti"));
    *out = (log_out){.has_subject = subject.len > 0, .has_session = session.len > 0};
    if (id.len == 0)
        return oidc_logout_refuse(cx, "the logout token has no jti");
    if (!out->has_subject && !out->has_session)
        return oidc_logout_refuse(
            cx, "the logout token names neither a user (sub) nor a session (sid)");
    if (!alm_oidc_hash("sub:", subject, out->subject) ||
        !alm_oidc_hash("sid:", session, out->session) || !alm_oidc_hash("", id, out->id))
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    return oidc_logout_check_times(cx, claims, oidc->io->wall_ns(oidc->io) / SECOND_NS,
                                   &out->at.at_s);
}

/* A logout token counts once: later it would end log-ins that came after it. */
static alm_status oidc_logout_take(alm_ctx *cx, alm_oidc *oidc, log_out *out)
{
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&oidc->lock);
    out->at.at_ns = alm_monotonic_ns();
    if (alm_oidc_notes_find(&oidc->logout_ids, out->id) != NULL)
        status = oidc_logout_refuse(cx, "the logout token was used before (jti)");
    else if (!record(oidc, out))
        status = alm_fail(cx, ALM_E_LIMIT, -1, "there is no room for more log-outs");
    else
        end_known(oidc);
    (void)pthread_mutex_unlock(&oidc->lock);
    return status;
}

alm_status alm_oidc_log_out(alm_ctx *cx, alm_oidc *oidc, const alm_json *claims,
                            char whom[ALM_OIDC_WHOM_MAX])
{
    log_out out;
    const alm_str subject = alm_json_text(alm_json_get(claims, "sub"));
    ALM_TRY(oidc_logout_check_claims(cx, oidc, claims));
    ALM_TRY(read_logout(cx, oidc, claims, &out));
    ALM_TRY(oidc_logout_take(cx, oidc, &out));
    (void)snprintf(whom, ALM_OIDC_WHOM_MAX, "%s%.120s%s", out.has_subject ? "sub:" : "",
                   out.has_subject ? subject.ptr : "", out.has_session ? " a session" : "");
    atomic_fetch_add(&oidc->forgets, 1); /* who lives by a token asks about it again */
    return ALM_OK;
}
