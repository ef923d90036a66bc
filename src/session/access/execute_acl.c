/*
 * execute_acl.c - users, service accounts, groups, memberships, aliases, passwords (acl_grant.c: grants; acl_token.c:
 * tokens). Each statement is one change of the records of the catalogue, made again when somebody else was faster.
 */
#include <openssl/crypto.h>
#include <stdio.h>

#include "auth/entity_name.h"
#include "base/conf.h"
#include "base/number.h"
#include "session/access/access.h"
#include "session/access/login.h"

/* --------------------------------------------------------------------- look-ups */

/* Nobody may be taken for somebody else: "ADMIN" beside "admin". */
static alm_status refuse_twin(alm_cursor *cursor, const alm_acl *acl, const alm_acl_name *name)
{
    const char *twin = NULL;
    const alm_conf *conf = cursor->session->db->conf;
    ALM_TRY(alm_entity_name_twin(&cursor->cx, acl, conf->acl_admin_user, name->text, &twin));
    if (twin == NULL)
        return ALM_OK;
    return alm_fail(&cursor->cx, ALM_E_ENTITY_EXISTS, name->pos,
                    "entity already exists: \"%.*s\" reads as \"%s\"", (int)name->text.len,
                    name->text.ptr, twin);
}

static alm_status need_permission(alm_cursor *cursor, const char *permission, int32_t pos)
{
    return alm_access_may(&cursor->cx, permission, NULL, pos);
}

/* Of one's own password and tokens nobody has to be asked; external users have none. Those of an assumed service account are not
 * one's own: who sets them would be that account after REVOKE ASSUME, too. */
static alm_status need_unless_own(alm_cursor *cursor, const char *permission,
                                  const alm_acl_words *words)
{
    const alm_rights *rights = cursor->rights;
    const bool own = cursor->session->assumed == NULL && rights->kind == ALM_PRINCIPAL_LOCAL &&
                     alm_str_eq(alm_str_of(rights->name), words->name.text);
    return own ? ALM_OK : need_permission(cursor, permission, words->name.pos);
}

/* ------------------------------------------------------------------------ passwords */

/* What a password must be that somebody sets from now on; those that were set stay. */
static alm_status check_password(alm_cursor *cursor, const alm_acl_name *password)
{
    if (password->text.len == 0)
        return alm_fail(&cursor->cx, ALM_E_ARG, password->pos, "a password must not be empty");
    return alm_login_policy(&cursor->cx, cursor->session->db, password->text, password->pos);
}

static alm_status set_password(alm_cursor *cursor, const alm_acl_words *words, alm_entity *entity)
{
    uint8_t salt[ALM_SCRAM_SALT];
    const alm_io *io = cursor->session->db->io;
    entity->has_password = false;
    OPENSSL_cleanse(&entity->verifier, sizeof entity->verifier);
    if (words->no_password || words->password.text.ptr == NULL)
        return ALM_OK;
    ALM_TRY(check_password(cursor, &words->password));
    const int code = io->random(io, salt, sizeof salt);
    if (code < 0)
        return alm_io_fail(&cursor->cx, code, "random bytes");
    entity->has_password = true;
    return alm_scram_verifier_make(
        &cursor->cx, words->password.text, salt,
        (int32_t)cursor->session->db->conf->acl_password_hash_iteration_count, &entity->verifier);
}

/* --------------------------------------------------------------------------- memory */

/* "1048576", "512M"; 0, and UNLIMITED: nothing is said. Less than MEMORY_LEAST would let nothing run. */
static alm_status read_memory(alm_cursor *cursor, const alm_acl_name *limit, int64_t *out)
{
    enum { MEMORY_LEAST = 64 << 10 };
    static const char units[] = "kmg";
    alm_str text = limit->text;
    int64_t n = 0, unit = 1;
    *out = 0;
    if (text.ptr == NULL)
        return ALM_OK;
    const char last = text.len > 0 ? (char)(text.ptr[text.len - 1] | 0x20) : 0;
    const char *found = last != 0 ? strchr(units, last) : NULL;
    if (found != NULL) {
        unit = INT64_C(1024) << (10 * (found - units));
        text.len--;
    }
    if (alm_int64_parse(text, &n) != ALM_NUM_OK || n < 0 || __builtin_mul_overflow(n, unit, out))
        return alm_fail(&cursor->cx, ALM_E_ARG, limit->pos,
                        "a size is a number of bytes, or one with K, M or G, not '%.*s'",
                        (int)ALM_MIN(limit->text.len, 40), limit->text.ptr);
    if (*out > 0 && *out < MEMORY_LEAST)
        return alm_fail(&cursor->cx, ALM_E_ARG, limit->pos,
                        "a memory limit is at least 64K [limit=%lld]", (long long)*out);
    return ALM_OK;
}

/* --------------------------------------------------------------------------- edits */

typedef struct acl_run {
    const alm_stmt *stmt;
    const alm_acl_words *w;
    alm_entity made; /* its password is hashed once, however often the change is tried */
} acl_run;

static alm_status already_there(alm_cursor *cursor, const alm_acl_name *name)
{
    return alm_fail(&cursor->cx, ALM_E_ENTITY_EXISTS, name->pos,
                    "entity already exists [name=%.*s]", (int)name->text.len, name->text.ptr);
}

/* Connections over PGWIRE with the name _sso bring a token of the identity provider (pg_external.c). Names that begin with `sub:` look
 * like the subjects that current_user() returns for users of the provider, so that views by current_user() would mix the two up. */
static alm_status refuse_reserved(alm_cursor *cursor, const alm_acl_name *name)
{
    if (alm_entity_name_is_identity(name->text))
        return alm_fail(&cursor->cx, ALM_E_ARG, name->pos,
                        "names that begin with \"sub:\" are reserved: they identify users of the "
                        "identity provider");
    if (!alm_str_ieq(name->text, ALM_STR("_sso")))
        return ALM_OK;
    return alm_fail(&cursor->cx, ALM_E_ARG, name->pos,
                    "the name \"%.*s\" is reserved: users of the identity provider log in by it",
                    (int)name->text.len, name->text.ptr);
}

static alm_status create(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    acl_run *r = arg;
    const acl_run *run = r;
    const alm_acl_words *words = run->w;
    const char *name = NULL, *owner = NULL, *alias = NULL;
    ALM_TRY(alm_acl_name_of(cursor, &words->name, &name));
    const alm_entity *old = alm_acl_entity(edit->acl, name);
    if (old != NULL && run->stmt->if_not_exists)
        return ALM_OK;
    if (old != NULL || alm_is_admin_name(cursor, name))
        return already_there(cursor, &words->name);
    ALM_TRY(refuse_reserved(cursor, &words->name));
    ALM_TRY(refuse_twin(cursor, edit->acl, &words->name));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, name, words->name.pos)); /* granted in advance */
    if (words->kind == 's')
        ALM_TRY(alm_find_owner(cursor, run->stmt, &owner));
    r->made.name = name;
    r->made.generation = edit->acl->epoch + 1;
    ALM_TRY(alm_edit_entity(edit, &r->made));
    if (owner != NULL) {
        const alm_assume assume = {.entity = owner, .account = name, .option = true};
        ALM_TRY(alm_edit_assume(edit, &assume, true));
    }
    if (words->alias.text.ptr == NULL)
        return ALM_OK;
    ALM_TRY(need_permission(cursor, "ADD EXTERNAL ALIAS", words->alias.pos));
    ALM_TRY(alm_acl_name_of(cursor, &words->alias, &alias));
    return alm_edit_alias(edit, name, alias, true);
}

static alm_status execute_acl_drop(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    const acl_run *run = arg;
    const alm_entity *entity = NULL;
    if (run->stmt->if_exists) {
        const char *name = NULL;
        ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, run->w->name.text, &name));
        if (alm_acl_entity(edit->acl, name) == NULL)
            return ALM_OK;
    }
    ALM_TRY(alm_acl_need(cursor, edit->acl, &run->w->name, run->w->kind, &entity));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, entity->name, run->w->name.pos));
    return alm_edit_drop_entity(edit, entity->name); /* what it began is over by its generation */
}

static alm_status change_entity(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    acl_run *run = arg;
    const alm_entity *old = NULL;
    ALM_TRY(alm_acl_need(cursor, edit->acl, &run->w->name, run->w->kind, &old));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, old->name, run->w->name.pos));
    alm_entity entity = *old;
    if (run->w->verb == ALM_ACL_PASSWORD) {
        entity.has_password = run->made.has_password;
        entity.verifier = run->made.verifier;
    } else if (run->w->verb == ALM_ACL_MEMORY) {
        entity.memory_max = run->made.memory_max;
    } else {
        entity.enabled = run->w->verb == ALM_ACL_ENABLE;
        if (!entity.enabled) /* ENABLE brings back none of its sessions */
            entity.ended = edit->acl->epoch + 1;
    }
    return alm_edit_entity(edit, &entity);
}

static alm_status change_alias(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    const acl_run *run = arg;
    const bool add = run->w->verb == ALM_ACL_ADD_ALIAS;
    const alm_entity *group = NULL;
    const char *alias = NULL;
    ALM_TRY(alm_acl_need(cursor, edit->acl, &run->w->name, 'g', &group));
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, run->w->alias.text, &alias));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, group->name, run->w->name.pos));
    const bool there = alm_acl_has_alias(edit->acl, group->name, alias);
    if (!add && !there)
        return alm_fail(&cursor->cx, ALM_E_SETTING, run->w->alias.pos,
                        "external alias does not exist [group=%s, alias=%s]", group->name, alias);
    if (add)
        ALM_TRY(alm_entity_name_check(&cursor->cx, run->w->alias.text, run->w->alias.pos,
                                      "an external name"));
    return add && there ? ALM_OK : alm_edit_alias(edit, group->name, alias, add);
}

static alm_status change_members(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    const acl_run *run = arg;
    const alm_acl_words *words = run->w;
    const bool add = words->verb == ALM_ACL_ADD_MEMBER;
    const alm_entity *user = NULL, *group = NULL;
    ALM_TRY(alm_acl_need(cursor, edit->acl, &words->name, 'u', &user));
    ALM_TRY(alm_acl_may_change(cursor, edit->acl, user->name, words->name.pos));
    for (uint32_t i = 0; i < words->n_names; i++) {
        ALM_TRY(alm_acl_need(cursor, edit->acl, &words->names[i], 'g', &group));
        ALM_TRY(alm_acl_may_change(cursor, edit->acl, group->name, words->names[i].pos));
        if (alm_acl_is_member(edit->acl, user->name, group->name) != add)
            ALM_TRY(alm_edit_member(edit, user->name, group->name, add));
    }
    return ALM_OK;
}

static alm_status change_assume(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    const acl_run *run = arg;
    const alm_acl_words *words = run->w;
    const bool grant = words->verb == ALM_ACL_GRANT_ASSUME;
    const alm_entity *account = NULL;
    const char *entity = NULL;
    ALM_TRY(alm_acl_need(cursor, edit->acl, &words->names[0], 's', &account));
    ALM_TRY(alm_acl_grantee_of(cursor, edit->acl, &words->name, &entity));
    if (alm_is_admin_name(cursor, entity))
        return alm_fail(&cursor->cx, ALM_E_GRANT, words->name.pos,
                        "permissions of the built-in admin cannot be changed");
    if (!alm_rights_assumes(cursor->rights, account->name, true))
        return alm_access_denied(cursor, words->names[0].pos, "ASSUME SERVICE ACCOUNT");
    const alm_assume assume = {entity, account->name, words->option};
    return alm_edit_assume(edit, &assume, grant);
}

/* ------------------------------------------------------------------ the other one */

static alm_status assume(alm_cursor *cursor, const alm_acl_words *words)
{
    alm_session *session = cursor->session;
    const alm_entity *account = NULL;
    alm_principal *who = NULL;
    if (session->by != ALM_BY_PG)
        return alm_fail(&cursor->cx, ALM_E_UNSUPPORTED, words->name.pos,
                        "ASSUME SERVICE ACCOUNT needs a connection by the PostgreSQL protocol");
    if (session->assumed != NULL)
        return alm_fail(&cursor->cx, ALM_E_ARG, words->name.pos,
                        "a service account is assumed already: %s", session->assumed->name);
    ALM_TRY(alm_acl_need(cursor, cursor->rights->acl, &words->name, 's', &account));
    if (!alm_rights_assumes(cursor->rights, account->name, false))
        return alm_access_denied(cursor, words->name.pos, "ASSUME SERVICE ACCOUNT");
    const alm_began began = {.proof = ALM_PROOF_ASSUMED};
    if (!account->enabled)
        return alm_access_denied(cursor, words->name.pos, "ASSUME SERVICE ACCOUNT: it is disabled");
    ALM_TRY(alm_principal_local(&cursor->cx, account, &began, &who));
    const alm_status status = alm_access_end_point(&cursor->cx, session->db, who, "PGWIRE");
    if (status != ALM_OK) {
        alm_principal_release(who);
        return status;
    }
    alm_session_assume(session, who);
    alm_principal_release(who);
    return ALM_OK;
}

static alm_status execute_acl_leave(alm_cursor *cursor, const alm_acl_words *words)
{
    alm_session *session = cursor->session;
    const alm_str name = words->name.text;
    if (session->assumed == NULL ||
        (name.ptr != NULL && !alm_str_eq(name, alm_str_of(session->assumed->name))))
        return alm_fail(&cursor->cx, ALM_E_ARG, words->name.pos,
                        "the service account is not assumed");
    alm_session_assume(session, NULL);
    return ALM_OK;
}

/* ------------------------------------------------------------------------ dispatch */

static alm_status hashed(alm_cursor *cursor, acl_run *run)
{
    const alm_acl_words *words = run->w;
    run->made.enabled = true;
    run->made.kind = words->kind == 'g'   ? ALM_ENTITY_GROUP
                     : words->kind == 's' ? ALM_ENTITY_ACCOUNT
                                          : ALM_ENTITY_USER;
    return set_password(cursor, words, &run->made);
}

static const char *execute_acl_permission_of(const alm_acl_words *words)
{
    static const char *const names[][2] = {{"CREATE USER", "DROP USER"},
                                           {"CREATE GROUP", "DROP GROUP"},
                                           {"CREATE SERVICE ACCOUNT", "DROP SERVICE ACCOUNT"}};
    const size_t kind = words->kind == 'u' ? 0 : words->kind == 'g' ? 1 : 2;
    switch ((int)words->verb) {
    case ALM_ACL_CREATE:
        return names[kind][0];
    case ALM_ACL_DROP:
        return names[kind][1];
    case ALM_ACL_ENABLE:
        return "ENABLE USER";
    case ALM_ACL_DISABLE:
        return "DISABLE USER";
    case ALM_ACL_MEMORY:
        return "SET MEMORY LIMIT";
    case ALM_ACL_ADD_ALIAS:
        return "ADD EXTERNAL ALIAS";
    case ALM_ACL_DROP_ALIAS:
        return "REMOVE EXTERNAL ALIAS";
    case ALM_ACL_ADD_MEMBER:
        return "ADD USER";
    case ALM_ACL_REMOVE_MEMBER:
        return "REMOVE USER";
    default:
        return NULL;
    }
}

static alm_status not_of_admin(alm_cursor *cursor, const alm_acl_name *name)
{
    const char *text = NULL;
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, name->text, &text));
    return alm_is_admin_name(cursor, text)
               ? alm_fail(&cursor->cx, ALM_E_GRANT, name->pos,
                          "the built-in admin has no memory limit of its own")
               : ALM_OK;
}

static alm_status run_verb(alm_cursor *cursor, acl_run *run)
{
    const alm_acl_words *words = run->w;
    const char *permission = execute_acl_permission_of(words);
    if (permission != NULL)
        ALM_TRY(need_permission(cursor, permission, words->name.pos));
    switch (words->verb) {
    case ALM_ACL_CREATE:
        ALM_TRY(hashed(cursor, run));
        return alm_acl_change(cursor, create, run);
    case ALM_ACL_DROP:
        return alm_acl_change(cursor, execute_acl_drop, run);
    case ALM_ACL_PASSWORD:
        ALM_TRY(need_unless_own(cursor, words->no_password ? "REMOVE PASSWORD" : "ADD PASSWORD",
                                words));
        ALM_TRY(hashed(cursor, run));
        return alm_acl_change(cursor, change_entity, run);
    case ALM_ACL_MEMORY:
        ALM_TRY(not_of_admin(cursor, &words->name));
        ALM_TRY(read_memory(cursor, &words->limit, &run->made.memory_max));
        return alm_acl_change(cursor, change_entity, run);
    case ALM_ACL_ENABLE:
    case ALM_ACL_DISABLE:
        return alm_acl_change(cursor, change_entity, run);
    case ALM_ACL_ADD_TOKEN:
        ALM_TRY(need_unless_own(cursor, words->jwk ? "CREATE JWK" : "CREATE REST TOKEN", words));
        return alm_run_add_token(cursor, words);
    case ALM_ACL_DROP_TOKEN:
        ALM_TRY(need_unless_own(cursor, words->jwk ? "DROP JWK" : "DROP REST TOKEN", words));
        return alm_run_drop_token(cursor, words);
    case ALM_ACL_ADD_ALIAS:
    case ALM_ACL_DROP_ALIAS:
        return alm_acl_change(cursor, change_alias, run);
    case ALM_ACL_ADD_MEMBER:
    case ALM_ACL_REMOVE_MEMBER:
        return alm_acl_change(cursor, change_members, run);
    case ALM_ACL_GRANT:
    case ALM_ACL_REVOKE:
        return alm_run_grant(cursor, words);
    case ALM_ACL_GRANT_ASSUME:
    case ALM_ACL_REVOKE_ASSUME:
        return alm_acl_change(cursor, change_assume, run);
    case ALM_ACL_ASSUME:
        return assume(cursor, words);
    case ALM_ACL_EXIT:
        return execute_acl_leave(cursor, words);
    }
    ALM_UNREACHABLE("a verb of access control");
}

alm_status alm_run_acl(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    acl_run run = {.stmt = stmt, .w = stmt->ext};
    (void)params;
    (void)n;
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, stmt->text, &cursor->tag));
    if (cursor->rights == NULL)
        return alm_fail(&cursor->cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "%s needs access control (acl.enabled=true)", cursor->tag);
    ALM_TRY(alm_outside_block(cursor, stmt));
    const alm_status status = run_verb(cursor, &run);
    OPENSSL_cleanse(&run.made.verifier, sizeof run.made.verifier);
    alm_audit_acl(cursor, stmt, status == ALM_OK);
    return status;
}
