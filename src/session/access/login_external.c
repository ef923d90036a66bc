/* login_external.c - users of the identity provider: the life of auth/oidc.h beside a database, and its lines in the audit log. */
#include <stdio.h>

#include "auth/entity_name.h"
#include "auth/leaked.h"
#include "base/conf.h"
#include "base/log.h"
#include "base/utf8.h"
#include "session/access/access.h"
#include "session/access/login.h"

alm_status alm_login_policy(alm_ctx *cx, const alm_db *db, alm_str password, int32_t pos)
{
    const char *const name = db->conf->acl_password_leaked_file;
    const char *path = NULL;
    bool leaked = false;
    if ((int64_t)alm_utf8_count(password) < db->conf->acl_password_length_min)
        return alm_fail(cx, ALM_E_ARG, pos,
                        "password is too short: at least %lld characters (acl.password.length.min)",
                        (long long)db->conf->acl_password_length_min);
    if (name[0] == 0)
        return ALM_OK;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &path, "%s%s%s", name[0] == '/' ? "" : db->root,
                             name[0] == '/' ? "" : "/", name));
    if (alm_leaked_has(cx, db->io, path, password, &leaked) != ALM_OK) {
        const alm_status status = cx->err.code;
        alm_log_error("acl", "acl.password.leaked.file: %s", cx->err.msg);
        alm_error_clear(cx);
        return alm_fail(cx, status, pos,
                        "the password cannot be checked: acl.password.leaked.file is not readable, "
                        "or has another form; the log has more");
    }
    if (!leaked)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, pos,
                    "password is in the list of leaked passwords (acl.password.leaked.file)");
}

/* The operator's own password is his to choose; that of a file that cannot be read nobody could set any. */
static void warn_of_policy(alm_db *db)
{
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena, .conf = db->conf, .io = db->io};
    if (alm_login_policy(&cx, db, alm_str_of(db->conf->acl_admin_password), -1) != ALM_OK)
        alm_log_warn("acl", "acl.admin.password: %s", cx.err.msg);
    alm_arena_deinit(&arena);
}

alm_status alm_login_begin(alm_ctx *cx, alm_db *db)
{
    if (db->conf->acl_enabled) {
        warn_of_policy(db);
        alm_logins_prepare(db);
    }
    ALM_TRY(alm_oidc_check_conf(cx, db->conf));
    if (!db->conf->acl_oidc_enabled)
        return ALM_OK;
    ALM_ASSERT(db->access.oidc == NULL);
    return alm_oidc_new(cx, db->conf, db->io, db->root, &db->access.oidc);
}

void alm_login_end(alm_db *db)
{
    if (db->access.oidc != NULL)
        alm_oidc_stop(db->access.oidc);
}

alm_oidc *alm_login_oidc(const alm_db *db)
{
    return db->access.oidc;
}

alm_status alm_login_is_elsewhere(alm_ctx *cx, alm_db *db, alm_str name, bool *is)
{
    alm_acl *acl = NULL;
    char text[ALM_ENTITY_NAME_MAX + 1];
    *is = false;
    if (db->access.oidc == NULL || name.len == 0 ||
        alm_str_eq(name, alm_str_of(db->conf->acl_admin_user)))
        return ALM_OK;
    if (name.len > ALM_ENTITY_NAME_MAX)
        return ALM_OK; /* no name is that long, wherever */
    ALM_TRY(alm_db_acl(cx, db, &acl));
    (void)snprintf(text, sizeof text, "%.*s", (int)name.len, name.ptr);
    *is = alm_acl_entity(acl, text) == NULL;
    alm_acl_release(acl);
    return ALM_OK;
}

/* By a slip of case somebody's password here would go to the provider. */
alm_status alm_login_is_external(alm_ctx *cx, alm_db *db, alm_str name, bool *is)
{
    alm_acl *acl = NULL;
    *is = false;
    if (db->access.oidc == NULL || !db->conf->acl_oidc_ropc_flow_enabled)
        return ALM_OK;
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const alm_status status =
        alm_entity_name_is_elsewhere(cx, acl, db->conf->acl_admin_user, name, is);
    alm_acl_release(acl);
    return status;
}

void alm_login_refused(alm_db *db, alm_principal *who)
{
    ALM_ASSERT(who->kind == ALM_PRINCIPAL_EXTERNAL);
    atomic_store(&who->over, true);
    alm_access_changed(db);
}

/* "token 0123abcd, sub:alice, groups: a, b" */
static void login_external_describe(const alm_oidc_wait *wait, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "token%s%s", wait->id[0] != 0 ? " " : "", wait->id);
    if (wait->who == NULL) {
        (void)snprintf(out + n, size - n, ", %s", wait->why);
        return;
    }
    n += (size_t)snprintf(out + n, size - n, ", %.100s, groups:", wait->who->identity);
    for (uint32_t i = 0; i < wait->who->n_groups && n + 1 < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s %s", i > 0 ? "," : "", wait->who->groups[i]);
}

void alm_login_note_external(alm_db *db, const alm_oidc_wait *wait, const char *user,
                             const char *interface, const char *address)
{
    char detail[500];
    /* each request of who is known has an answer; each refusal is somebody's try, wherever the answer comes from */
    if (wait->verdict == ALM_OIDC_AWAY || (wait->verdict == ALM_OIDC_KNOWN && !wait->fresh))
        return;
    login_external_describe(wait, detail, sizeof detail);
    const alm_audit audit = {.event = "login",
                             .user = wait->who != NULL ? wait->who->name
                                     : user != NULL    ? user
                                                       : "",
                             .identity = wait->who != NULL ? wait->who->identity : NULL,
                             .interface = interface,
                             .address = address,
                             .detail = detail,
                             .ok = wait->verdict == ALM_OIDC_KNOWN};
    alm_audit_add(db, &audit);
}

/* Anybody may send what is none: one row for an address and a reason, without what the sender has put into it. */
void alm_login_note_log_out(alm_db *db, const alm_oidc_wait *wait, const char *address)
{
    char detail[300];
    const bool ok = wait->verdict == ALM_OIDC_KNOWN;
    if (wait->verdict == ALM_OIDC_AWAY)
        return;
    if (ok)
        alm_access_changed(db); /* principals are over by it: who has one looks */
    if (ok)
        (void)snprintf(detail, sizeof detail, "identity provider, token %s, %s", wait->id,
                       wait->why);
    else
        (void)snprintf(detail, sizeof detail, "identity provider, refused: %.*s",
                       (int)strcspn(wait->why, "'"), wait->why);
    const bool by_subject = ok && strncmp(wait->why, "sub:", 4) == 0;
    const alm_audit audit = {.event = "logout",
                             .user = "",
                             .identity = by_subject ? wait->why : NULL,
                             .interface = "http",
                             .address = address,
                             .detail = detail,
                             .ok = ok};
    alm_audit_add(db, &audit);
}

void alm_login_note_cookie_over(alm_db *db, const alm_principal *who, const char *address)
{
    const alm_audit audit = {.event = "logout",
                             .user = who->name,
                             .identity = who->identity,
                             .interface = "http",
                             .address = address,
                             .detail = "cookie",
                             .ok = true};
    alm_audit_add(db, &audit);
}
