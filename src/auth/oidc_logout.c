/*
 * oidc_logout.c - users who logged out at the provider (OpenID Connect Back-Channel Logout 1.0): the provider sends a logout token that
 * names a user (sub), a session (sid), or both. Tokens that were issued before are refused from then on: those that are known here, and
 * signed ones that come later, as long as their log-out is among the last ALM_OIDC_LOGOUTS_MAX. About an opaque token that comes for the
 * first time later, the provider is asked as about any.
 */
#include <openssl/evp.h>
#include <stdio.h>

#include "auth/oidc_state.h"

static const int64_t SECOND_NS = INT64_C(1000000000);
enum { AGE_MAX_S = 300, LEEWAY_S = 30, ENDED_S = 86400 };

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

static bool same(const uint8_t a[ALM_OIDC_HASH], const uint8_t b[ALM_OIDC_HASH])
{
    return memcmp(a, b, ALM_OIDC_HASH) == 0;
}

/* A token that names its session is ended by that, others by their user. */
static bool is_of(const alm_oidc_logout_record *out, const alm_oidc_entry *e, const char *identity)
{
    uint8_t subject[ALM_OIDC_HASH];
    if (out->has_session && e->has_session)
        return same(out->session, e->session);
    return out->has_subject && alm_oidc_hash("", alm_str_of(identity), subject) &&
           same(out->subject, subject);
}

bool alm_oidc_is_logged_out(const alm_oidc *o, const alm_oidc_entry *e, const char *identity)
{
    const size_t n = ALM_MIN(o->n_logouts, (uint64_t)ALM_OIDC_LOGOUTS_MAX);
    for (size_t i = 0; i < n; i++) {
        const alm_oidc_logout_record *out = &o->logouts[i];
        const bool before = e->issued_s > 0 ? e->issued_s <= out->at_s : e->began_ns <= out->at_ns;
        if (before && is_of(out, e, identity))
            return true;
    }
    return false;
}

void alm_oidc_end_entry(alm_oidc *o, alm_oidc_entry *e)
{
    alm_principal_release(e->who);
    e->who = NULL;
    e->until_ns = alm_monotonic_ns() + ENDED_S * SECOND_NS;
    alm_oidc_cache_move(o->cache, e, ALM_OIDC_IS_ENDED);
}

/* With the lock held. A logout token that names only a session may concern any token without `sid`: the provider is asked about those again. */
static void end_known(alm_oidc *o, const alm_oidc_logout_record *out)
{
    alm_oidc_entry *next = NULL;
    for (alm_oidc_entry *e = o->cache->lists[ALM_OIDC_IS_KNOWN].first; e != NULL; e = next) {
        next = e->next;
        ALM_ASSERT(e->who != NULL);
        if (is_of(out, e, e->who->identity))
            alm_oidc_end_entry(o, e);
        else if (!out->has_subject && !e->has_session)
            alm_oidc_cache_drop(o->cache, e);
    }
    o->counts.known = (int64_t)o->cache->lists[ALM_OIDC_IS_KNOWN].n;
}

static void record(alm_oidc *o, const alm_oidc_logout_record *out)
{
    (void)pthread_mutex_lock(&o->lock);
    o->logouts[o->n_logouts++ % ALM_OIDC_LOGOUTS_MAX] = *out;
    end_known(o, out);
    (void)pthread_mutex_unlock(&o->lock);
    atomic_fetch_add(&o->forgets, 1); /* connections ask about their tokens again */
}

/* A logout token counts once: later it would end log-ins that came after it. */
static bool is_used(alm_oidc *o, const uint8_t token_id[ALM_OIDC_HASH])
{
    bool used = false;
    (void)pthread_mutex_lock(&o->lock);
    const size_t n = ALM_MIN(o->n_logouts, (uint64_t)ALM_OIDC_LOGOUTS_MAX);
    for (size_t i = 0; i < n && !used; i++)
        used = same(o->logouts[i].token_id, token_id);
    (void)pthread_mutex_unlock(&o->lock);
    return used;
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

static alm_status read_logout(alm_ctx *cx, alm_oidc *o, const alm_json *claims,
                              alm_oidc_logout_record *out)
{
    const alm_str subject = alm_json_text(alm_json_get(claims, "sub")),
                  session = alm_json_text(alm_json_get(claims, "sid")),
                  id = alm_json_text(alm_json_get(claims, "jti"));
    *out = (alm_oidc_logout_record){.at_ns = alm_monotonic_ns(),
                                    .has_subject = subject.len > 0,
                                    .has_session = session.len > 0};
    if (id.len == 0)
        return refuse(cx, "the logout token has no jti");
    if (!out->has_subject && !out->has_session)
        return refuse(cx, "the logout token names neither a user (sub) nor a session (sid)");
    if (!alm_oidc_hash("sub:", subject, out->subject) ||
        !alm_oidc_hash("", session, out->session) || !alm_oidc_hash("", id, out->token_id))
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    ALM_TRY(check_times(cx, claims, o->io->wall_ns(o->io) / SECOND_NS, &out->at_s));
    return is_used(o, out->token_id) ? refuse(cx, "the logout token was used before (jti)")
                                     : ALM_OK;
}

alm_status alm_oidc_log_out(alm_ctx *cx, alm_oidc *o, const alm_json *claims,
                            char whom[ALM_OIDC_WHOM_MAX])
{
    alm_oidc_logout_record out;
    const alm_str subject = alm_json_text(alm_json_get(claims, "sub"));
    ALM_TRY(check_claims(cx, o, claims));
    ALM_TRY(read_logout(cx, o, claims, &out));
    (void)snprintf(whom, ALM_OIDC_WHOM_MAX, "%s%.120s%s", out.has_subject ? "sub:" : "",
                   out.has_subject ? subject.ptr : "", out.has_session ? " a session" : "");
    record(o, &out);
    return ALM_OK;
}
