/*
 * login.h - who it is: passwords and REST tokens of the built-in admin and of the catalogue's users, and what slows
 * down guessing.
 *
 * Answers     *out NULL: refused, whatever the reason; unknown names take as long as wrong passwords. An error is the server's.
 * Cost        A password that is not known to be right takes a PBKDF2 of acl.password.hash.iteration.count rounds: tens of
 *             milliseconds. One that was right lately is known by its HMAC.
 * Threads     Any.
 */
#ifndef ALM_SESSION_LOGIN_H
#define ALM_SESSION_LOGIN_H

#include "auth/oidc.h"
#include "session/session.h"

ALM_NODISCARD alm_status alm_login_password(alm_ctx *cx, alm_db *db, alm_str name, alm_str password,
                                            alm_principal **out);
/* The same without the work: *known false: it was not right lately, or is not at all. For threads that must not wait. */
ALM_NODISCARD alm_status alm_login_password_lately(alm_ctx *cx, alm_db *db, alm_str name,
                                                   alm_str password, alm_principal **out);
/* "qt1...": any text; user.len > 0: it must be a token of that one. later (may be NULL): the use of the token
 * moves its end, which waits for the disk: nothing was done, ask again without `later` where that may be. */
ALM_NODISCARD alm_status alm_login_token(alm_ctx *cx, alm_db *db, alm_str user, alm_str token,
                                         bool *later, alm_principal **out);
/* The principal behind a login that was checked elsewhere (SCRAM), against this verifier; *out NULL: it may not log in any more,
 * or has another password by now. */
ALM_NODISCARD alm_status alm_login_name(alm_ctx *cx, alm_db *db, alm_str name,
                                        const alm_scram_verifier *proved, alm_principal **out);
/* The entity of that name by its key (alm_entity.key_x), which was checked against `entity`. */
ALM_NODISCARD alm_status alm_login_key(alm_ctx *cx, const alm_entity *entity, alm_principal **out);
/* What SCRAM needs; false: nobody of that name can log in by password, *out is one that no password fits. */
ALM_NODISCARD alm_status alm_login_verifier(alm_ctx *cx, alm_db *db, alm_str name,
                                            alm_scram_verifier *out, bool *known);
/* A line of the audit log. user: who it said it was; who: who it is, or NULL. method: "password", "token" ...; address may
 * be NULL. */
void alm_login_note(alm_db *db, const char *user, const alm_principal *who, const char *interface,
                    const char *address, const char *method, bool ok);

/* What a password must be (acl.password.length.min, acl.password.leaked.file); else an error at `pos` that says what it is not. */
ALM_NODISCARD alm_status alm_login_policy(alm_ctx *cx, const alm_db *db, alm_str password,
                                          int32_t pos);
/* Users of the identity provider (acl.oidc.*), for a server: ALM_E_ARG for settings that cannot be. It stops with `end`. */
ALM_NODISCARD alm_status alm_login_begin(alm_ctx *cx, alm_db *db);
void alm_login_end(alm_db *db);
alm_oidc *alm_login_oidc(const alm_db *db); /* NULL: there are none */
/* Is the name of nobody here, neither of the administrator nor of an entity, and so maybe of a user of the provider? */
ALM_NODISCARD alm_status alm_login_is_elsewhere(alm_ctx *cx, alm_db *db, alm_str name, bool *is);
/* Is the provider asked about name and password (acl.oidc.ropc.flow.enabled)? Never about a name that reads as one here. */
ALM_NODISCARD alm_status alm_login_is_external(alm_ctx *cx, alm_db *db, alm_str name, bool *is);
/* The provider takes no more what the user was known by: all that began with it is over. Of an EXTERNAL one. */
void alm_login_refused(alm_db *db, alm_principal *who);
/* A logout token of the provider (alm_oidc_ask_logout), and what came of it. */
void alm_login_note_log_out(alm_db *db, const alm_oidc_wait *wait, const char *address);
/* Who has a cookie ends it. */
void alm_login_note_cookie_over(alm_db *db, const alm_principal *who, const char *address);
/* A row for each refusal, and for the log-in by which somebody became known. user: who it said it was, or NULL. */
void alm_login_note_external(alm_db *db, const alm_oidc_wait *wait, const char *user,
                             const char *interface, const char *address);

/* How long the answer has to wait after failures: of this address with this name, and also of it with whatever names. address: what
 * counts as one client (alm_conn_net_text). */
typedef struct alm_login_wait {
    int64_t name_ms, ms; /* ms: the longer one */
} alm_login_wait;
void alm_login_delays(alm_db *db, alm_str address, alm_str name, alm_login_wait *out);
void alm_login_result(alm_db *db, alm_str address, alm_str name, bool ok);

#endif
