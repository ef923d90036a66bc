/*
 * access.c - the answer to base/access.h for a session (access.h): its principal's rights at the epoch of the
 * statement's snapshot.
 */
#include "session/access/access.h"

#include <stdio.h>
#include <stdlib.h>

#include "auth/entity_name.h"
#include "auth/oidc.h"
#include "base/access.h"
#include "base/hash.h"
#include "session/access/credential.h"
#include "session/core/standing.h"

enum { NAME_BYTES = 1100 }; /* of tables and columns: storage allows 1,024 */

/* --------------------------------------------------------------------- the newest */

alm_status alm_db_acl(alm_ctx *cx, alm_db *db, alm_acl **out)
{
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, db->storage, &snap));
    (void)pthread_mutex_lock(&db->access.lock);
    alm_status st = ALM_OK;
    alm_acl *made = NULL;
    if (db->access.acl == NULL || db->access.acl->epoch != alm_snapshot_records_lsn(snap))
        st = alm_acl_load(cx, snap, &made);
    if (st == ALM_OK && made != NULL) {
        /* a snapshot taken before a change may come here behind one taken after it: never back */
        const bool newer = db->access.acl == NULL || db->access.acl->epoch <= made->epoch;
        if (newer) {
            alm_acl_release(db->access.acl);
            db->access.acl = made;
        } else {
            alm_acl_release(made);
        }
    }
    if (st == ALM_OK)
        *out = alm_acl_retain(db->access.acl);
    (void)pthread_mutex_unlock(&db->access.lock);
    alm_snapshot_release(snap);
    return st;
}

/* ---------------------------------------------------------------------- principal */

void alm_session_assume(alm_session *s, alm_principal *account)
{
    alm_principal *old = s->assumed;
    (void)pthread_mutex_lock(&s->activity.lock); /* others list the name */
    s->assumed = account != NULL ? alm_principal_retain(account) : NULL;
    (void)pthread_mutex_unlock(&s->activity.lock);
    alm_principal_release(old);
    alm_rights_release(s->rights);
    s->rights = NULL;
    s->turn++;
    s->plan_key[0] = 0;
}

/* Another answer of the provider about the same user: what he has assumed is looked at again by the next statement. */
static bool goes_on(const alm_session *s, const alm_principal *who)
{
    return s->assumed != NULL && who != NULL && strcmp(s->who->identity, who->identity) == 0;
}

void alm_session_become(alm_session *s, alm_principal *who)
{
    if (s->who == who)
        return;
    alm_principal *old = s->who;
    if (old == NULL || who == NULL || strcmp(old->identity, who->identity) != 0) {
        alm_session_requests_over(s);
        alm_session_lives_by(s, NULL);
    }
    if (!goes_on(s, who))
        alm_session_assume(s, NULL);
    alm_rights_release(s->rights);
    s->rights = NULL;
    s->turn++;
    s->plan_key[0] = 0;
    (void)pthread_mutex_lock(&s->activity.lock);
    s->who = who != NULL ? alm_principal_retain(who) : NULL;
    if (who != NULL)
        (void)snprintf(s->user, sizeof s->user, "%s", who->name);
    s->identity = who != NULL ? s->who->identity : s->user;
    (void)pthread_mutex_unlock(&s->activity.lock);
    if (who != NULL) /* else it ends: what it has is given back before */
        alm_account_change(s);
    alm_principal_release(old);
}

void alm_session_become_as(alm_session *s, const alm_session *other)
{
    alm_session_become(s, other->who);
    alm_session_assume(s, other->assumed);
    alm_session_lives_by(s, other->credential);
    s->renews = true;
}

const char *alm_session_shown_user(const alm_session *s)
{
    const bool external = s->who != NULL && s->who->kind == ALM_PRINCIPAL_EXTERNAL;
    return external && (s->by_identity || s->assumed != NULL) ? s->who->identity : s->user;
}

const alm_principal *alm_session_principal(const alm_session *s)
{
    return s->assumed != NULL ? s->assumed : s->who;
}

static const char *end_point(const alm_session *s)
{
    return s->by == ALM_BY_HTTP   ? "HTTP"
           : s->by == ALM_BY_PG   ? "PGWIRE"
           : s->by == ALM_BY_LINE ? "ILP"
                                  : NULL; /* a job of a session that was let in */
}

static bool holds(const alm_rights *rights, const char *permission)
{
    const alm_permission *row = alm_permission_find(alm_str_of(permission));
    ALM_ASSERT(row != NULL);
    const alm_rights_ask ask = {.number = row->number};
    return rights->enabled && alm_rights_may(rights, &ask);
}

/* May the principal use the interface? Both may who has assumed another. */
static alm_status check_end_point(alm_ctx *cx, alm_acl *acl, const alm_principal *who,
                                  const char *point)
{
    alm_rights *rights = NULL;
    if (point == NULL)
        return ALM_OK;
    ALM_TRY(alm_rights_new(cx, acl, who, &rights));
    const bool may = holds(rights, point);
    alm_rights_release(rights);
    return may ? ALM_OK
               : alm_fail(cx, ALM_E_DENIED, -1, "Access denied for %s [%s]", who->name, point);
}

alm_status alm_access_end_point(alm_ctx *cx, alm_db *db, const alm_principal *who,
                                const char *point)
{
    alm_acl *acl = NULL;
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const alm_status st = check_end_point(cx, acl, who, point);
    alm_acl_release(acl);
    return st;
}

/* Plans are for equal rights: external users of one name may be in different groups, and so may one user from one token to
 * the next, with no change here. */
static uint64_t groups_hash(const alm_rights *rights)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < rights->n; i++)
        hash = alm_hash_u128(hash + 1, alm_hash_str(alm_str_of(rights->of[i])));
    return hash;
}

static alm_status new_rights(alm_ctx *cx, alm_session *s, alm_acl *acl)
{
    alm_rights *rights = NULL;
    bool elsewhere = true;
    ALM_TRY(check_end_point(cx, acl, s->who, end_point(s)));
    if (s->assumed != NULL)
        ALM_TRY(check_end_point(cx, acl, s->assumed, end_point(s)));
    ALM_TRY(alm_rights_new(cx, acl, alm_session_principal(s), &rights));
    const alm_status st = rights->kind == ALM_PRINCIPAL_EXTERNAL
                              ? alm_entity_name_is_elsewhere(cx, acl, s->db->conf->acl_admin_user,
                                                             alm_str_of(rights->name), &elsewhere)
                              : ALM_OK;
    if (st != ALM_OK) {
        alm_rights_release(rights);
        return st;
    }
    alm_rights_release(s->rights);
    s->rights = rights;
    s->by_identity = !elsewhere;
    s->turn++;
    (void)snprintf(s->plan_key, sizeof s->plan_key, "%d:%llu:%016llx:%s", (int)rights->kind,
                   (unsigned long long)rights->acl->epoch, (unsigned long long)groups_hash(rights),
                   elsewhere ? rights->name : s->who->identity);
    return ALM_OK;
}

/* A job asks the provider itself, so it has to come back for that. */
static void look_again_when_stale(const alm_session *s, alm_seen *seen)
{
    if (s->credential == NULL || !s->renews)
        return;
    const int64_t left_ns =
        ALM_MAX(s->answer_until_ns - alm_monotonic_ns(), (int64_t)ALM_CREDENTIAL_BETWEEN_NS);
    const int64_t due_us = (s->db->io->wall_ns(s->db->io) + left_ns) / 1000;
    seen->until_us = seen->until_us == 0 ? due_us : ALM_MIN(seen->until_us, due_us);
}

/* The rights that the session had, or new ones where records are newer; none where its login is over. */
alm_status alm_session_refresh(alm_ctx *cx, alm_session *s)
{
    alm_acl *acl = NULL;
    ALM_TRY(alm_session_is_halted(cx, s));
    ALM_TRY(alm_session_renew(cx, s));
    if (s->rights != NULL && alm_seen_holds(s->db, &s->seen))
        return ALM_OK;
    alm_seen seen = alm_seen_now(s->db);
    alm_status st = alm_db_acl(cx, s->db, &acl);
    if (st != ALM_OK)
        return st;
    st = alm_session_stands(cx, s, acl, &seen);
    if (st == ALM_OK && (s->rights == NULL || s->rights->acl->epoch != acl->epoch))
        st = new_rights(cx, s, acl);
    if (st == ALM_OK) {
        seen.records = acl->epoch;
        look_again_when_stale(s, &seen);
        s->seen = seen;
    } else {
        alm_rights_release(s->rights);
        s->rights = NULL; /* asked again by the next statement */
        s->plan_key[0] = 0;
    }
    alm_acl_release(acl);
    return st;
}

alm_status alm_session_still(alm_ctx *cx, alm_session *s)
{
    if (s->who == NULL || s->db->conf == NULL || !s->db->conf->acl_enabled)
        return ALM_OK;
    return alm_session_refresh(cx, s);
}

/* ---------------------------------------------------------------------- questions */

static void lower(char to[NAME_BYTES], const char *name)
{
    size_t i = 0;
    for (; name[i] != 0 && i + 1 < NAME_BYTES; i++)
        to[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    to[i] = 0;
}

alm_status alm_lower_name(alm_ctx *cx, alm_str name, const char **out)
{
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, name.len + 1, &text));
    for (size_t i = 0; i < name.len; i++)
        text[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? (char)(name.ptr[i] - 'A' + 'a')
                                                           : name.ptr[i];
    text[name.len] = 0;
    *out = text;
    return ALM_OK;
}

static alm_status deny(alm_ctx *cx, const alm_session *s, const alm_rights *rights, int32_t pos,
                       const char *what)
{
    /* of a definer who is gone there is no name */
    const char *name = rights != NULL && rights->name[0] != 0 ? rights->name : s->user;
    alm_audit audit = {.event = "denied", .detail = what};
    alm_audit_session(s, &audit);
    alm_audit_add(s->db, &audit);
    return alm_fail(cx, ALM_E_DENIED, pos, "Access denied for %s [%s]", name, what);
}

alm_status alm_access_denied(alm_cursor *c, int32_t pos, const char *what)
{
    return deny(&c->cx, c->session, alm_cursor_rights(c), pos, what);
}

alm_status alm_session_denied(alm_ctx *cx, const alm_session *s, const char *permission,
                              int32_t pos)
{
    return deny(cx, s, s->rights, pos, permission);
}

/* "SELECT on t(a, b)": those of the columns for which `missing` is set. */
static alm_status denied(alm_cursor *c, const alm_access_ask *ask, const bool *missing)
{
    char what[700];
    size_t n = (size_t)snprintf(what, sizeof what, "%s", ask->permission);
    int32_t pos = ask->pos;
    bool first = true;
    for (uint32_t i = 0; missing != NULL && ask->col_pos != NULL && i < ask->n; i++)
        if (missing[i] && (first || ask->col_pos[i] < pos)) {
            pos = ask->col_pos[i];
            first = false;
        }
    first = true;
    if (ask->table != NULL)
        n += (size_t)snprintf(what + n, sizeof what - n, " on %.128s", ask->table);
    for (uint32_t i = 0; missing != NULL && i < ask->n; i++) {
        if (!missing[i])
            continue;
        const size_t room = sizeof what - n;
        if (room < strlen(ask->columns[i]) + 10) {
            n += (size_t)snprintf(what + n, room, ", ...");
            break;
        }
        n += (size_t)snprintf(what + n, room, "%s%s", first ? "(" : ", ", ask->columns[i]);
        first = false;
    }
    if (!first)
        (void)snprintf(what + n, sizeof what - n, ")");
    if (ask->instead != NULL)
        (void)snprintf(what + n, sizeof what - n, " or %s", ask->instead);
    return alm_access_denied(c, pos, what);
}

typedef struct judge {        /* whose rights count */
    const alm_rights *rights; /* NULL: everything is allowed, or nothing: gone */
    bool gone;                /* the definer of the view, whoever has his name now */
} judge;

/* *made: rights to release. */
static alm_status find_judge(alm_cursor *c, const char *view, judge *out, alm_rights **made)
{
    char name[NAME_BYTES];
    *made = NULL;
    *out = (judge){.rights = c->rights};
    if (view == NULL)
        return ALM_OK;
    lower(name, view);
    const alm_definer *definer = alm_acl_definer(c->rights->acl, name);
    *out = (judge){.gone = false};
    if (definer == NULL || alm_is_admin_name(c, definer->name))
        return ALM_OK;
    out->gone = alm_acl_definer_entity(c->rights->acl, definer) == NULL;
    if (out->gone)
        return ALM_OK;
    ALM_TRY(alm_rights_of(&c->cx, c->rights->acl, definer->name, made));
    out->rights = *made;
    return ALM_OK;
}

static bool column_ok(const judge *j, const alm_access_ask *ask, uint8_t number, const char *table,
                      const char *col)
{
    char column[NAME_BYTES];
    lower(column, col);
    const alm_rights_ask question = {.number = number,
                                     .table = table,
                                     .column = column,
                                     .ts = ask->ts != NULL &&
                                           alm_str_ieq(alm_str_of(ask->ts), alm_str_of(col))};
    return alm_rights_may(j->rights, &question);
}

static alm_status answer(alm_cursor *c, const judge *j, const alm_access_ask *ask)
{
    char table[NAME_BYTES];
    const alm_permission *row = alm_permission_find(alm_str_of(ask->permission));
    ALM_ASSERT(row != NULL); /* asked by a name that is none */
    if (ask->table != NULL)
        lower(table, ask->table);
    const alm_rights_ask whole = {.number = row->number,
                                  .table = ask->table != NULL ? table : NULL};
    if (alm_rights_may(j->rights, &whole))
        return ALM_OK;
    if (ask->table != NULL && ask->any_column && alm_rights_any(j->rights, row->number, table))
        return ALM_OK;
    const alm_permission *instead =
        ask->instead != NULL ? alm_permission_find(alm_str_of(ask->instead)) : NULL;
    const alm_rights_ask other = {.number = instead != NULL ? instead->number : 0};
    if (instead != NULL && alm_rights_may(j->rights, &other))
        return ALM_OK;
    if (ask->quiet)
        return alm_fail(&c->cx, ALM_E_DENIED, ask->pos, "Access denied");
    if (ask->n == 0)
        return denied(c, ask, NULL);
    bool *missing = NULL, any = false;
    ALM_TRY(ALM_NEWN(&c->cx, c->cx.arena, ask->n, &missing));
    for (uint32_t i = 0; i < ask->n; i++) {
        missing[i] = !column_ok(j, ask, row->number, table, ask->columns[i]);
        any |= missing[i];
    }
    return any ? denied(c, ask, missing) : ALM_OK;
}

static alm_status definer_is_gone(alm_cursor *c, const alm_access_ask *ask)
{
    char what[400];
    (void)snprintf(what, sizeof what, "the definer of view %.300s is gone", ask->view);
    return alm_access_denied(c, ask->pos, what);
}

alm_status alm_access_answer(alm_cursor *c, const alm_access_ask *ask)
{
    judge j;
    alm_rights *made = NULL;
    ALM_TRY(find_judge(c, ask->view, &j, &made));
    const alm_status st = j.gone             ? definer_is_gone(c, ask)
                          : j.rights == NULL ? ALM_OK
                                             : answer(c, &j, ask);
    alm_rights_release(made);
    return st;
}

/* What the built-in admin may nobody can take from him. */
static alm_status may(alm_ctx *cx, void *arg, const alm_access_ask *ask)
{
    alm_cursor *c = arg;
    (void)cx;
    ALM_TRY(alm_access_answer(c, ask));
    return c->rights->kind == ALM_PRINCIPAL_ADMIN && ask->view == NULL ? ALM_OK
                                                                       : alm_asked_add(c, ask);
}

/* Both as find_judge has them: rights to everything need no barrier, and neither do one's own. What is not known hides. */
static bool hides(alm_ctx *cx, void *arg, const char *view, const char *reader)
{
    alm_cursor *c = arg;
    judge of, by;
    alm_rights *made[2] = {NULL, NULL};
    bool hidden = true;
    if (find_judge(c, reader, &by, &made[0]) == ALM_OK &&
        find_judge(c, view, &of, &made[1]) == ALM_OK) {
        const bool all = by.rights == NULL ? !by.gone : by.rights->all;
        const bool same =
            by.rights != NULL && of.rights != NULL && by.rights->kind == ALM_PRINCIPAL_LOCAL &&
            of.rights->kind == ALM_PRINCIPAL_LOCAL && strcmp(by.rights->name, of.rights->name) == 0;
        hidden = !all && !same;
    } else {
        alm_error_clear(cx);
    }
    alm_rights_release(made[0]);
    alm_rights_release(made[1]);
    return hidden;
}

/* What was shown must be seen still when it is read later; what cannot be remembered is not shown. */
static bool sees(alm_ctx *cx, void *arg, const char *table)
{
    char name[NAME_BYTES];
    alm_cursor *c = arg;
    const alm_access_ask ask = {.table = name};
    (void)cx;
    lower(name, table);
    if (!alm_rights_sees(c->rights, name))
        return false;
    if (c->rights->kind == ALM_PRINCIPAL_ADMIN || alm_asked_add(c, &ask) == ALM_OK)
        return true;
    alm_error_clear(&c->cx);
    return false;
}

alm_status alm_cursor_access(alm_cursor *c)
{
    alm_session *s = c->session;
    if (s->who == NULL || s->db->conf == NULL || !s->db->conf->acl_enabled)
        return ALM_OK;
    ALM_TRY(alm_session_refresh(&c->cx, s));
    alm_cursor_access_over(c);
    c->rights = alm_rights_retain(s->rights);
    c->seen = s->seen;
    c->turn = s->turn;
    c->access = (alm_access){.arg = c, .may = may, .sees = sees, .hides = hides};
    c->cx.access = &c->access;
    c->cx.user = c->rights->name;
    /* a copy: another answer of the provider takes the place of `who` while the cursor is open */
    if (s->by_identity && c->rights->kind == ALM_PRINCIPAL_EXTERNAL)
        ALM_TRY(alm_arena_zstr(&c->cx, &c->arena, alm_str_of(s->who->identity), &c->cx.user));
    c->mem.limit_bytes = alm_session_memory_max(s);
    return ALM_OK;
}

int64_t alm_session_memory_max(const alm_session *s)
{
    return s->rights != NULL && s->rights->memory_max > 0
               ? s->rights->memory_max
               : __atomic_load_n(&s->db->query_mem_bytes, __ATOMIC_ACQUIRE);
}

void alm_cursor_access_over(alm_cursor *c)
{
    if (c->rights == NULL)
        return;
    alm_account_leave_maker(c);
    c->cx.access = NULL;
    c->cx.user = c->session->user;
    c->cx.symbols = alm_session_symbols(c->session);
    alm_rights_release(c->rights);
    c->rights = NULL;
}

/* Views that it reads may have other definers: so the administrator's rights are rights, too. */
static alm_status rights_of_definer(alm_cursor *c, alm_acl *acl, const char *view)
{
    char name[NAME_BYTES];
    lower(name, view);
    const alm_definer *definer = alm_acl_definer(acl, name);
    if (definer == NULL || alm_is_admin_name(c, definer->name)) {
        const alm_principal admin = {.kind = ALM_PRINCIPAL_ADMIN,
                                     .name = c->session->db->conf->acl_admin_user};
        return alm_rights_new(&c->cx, acl, &admin, &c->rights);
    }
    /* of one who is gone nobody's rights count, though another has his name */
    const bool gone = alm_acl_definer_entity(acl, definer) == NULL;
    return alm_rights_of(&c->cx, acl, gone ? "" : definer->name, &c->rights);
}

uint64_t alm_view_maker(const alm_db *db, const alm_acl *acl, const char *view)
{
    char name[NAME_BYTES];
    lower(name, view);
    const alm_definer *definer = acl != NULL ? alm_acl_definer(acl, name) : NULL;
    if (definer == NULL || definer->maker == ALM_MAKER_ADMIN ||
        (definer->maker == 0 && strcmp(definer->name, db->conf->acl_admin_user) == 0))
        return 0;
    if (definer->maker != 0)
        return definer->maker;
    /* The record of an older version does not name the user who created the view, so that its definer counts. */
    return alm_hash_u128(definer->generation, alm_hash_str(alm_str_of(definer->name))) | 1;
}

alm_status alm_cursor_as_definer(alm_cursor *c, const char *view)
{
    alm_ctx *cx = &c->cx;
    const alm_db *db = c->session->db;
    alm_acl *acl = NULL;
    alm_cursor_access_over(c);
    if (db->conf == NULL || !db->conf->acl_enabled)
        return ALM_OK;
    c->asked = NULL; /* what the user had to be asked for was */
    c->seen = alm_seen_now(db);
    c->turn = c->session->turn;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(view), &c->definer_of));
    ALM_TRY(alm_db_acl(cx, c->session->db, &acl));
    alm_status st = rights_of_definer(c, acl, c->definer_of);
    if (st == ALM_OK)
        st = alm_account_join_maker(c, alm_view_maker(db, acl, c->definer_of));
    alm_acl_release(acl);
    ALM_TRY(st);
    c->access = (alm_access){.arg = c, .may = may, .sees = sees, .hides = hides};
    cx->access = &c->access;
    cx->user = c->rights->name;
    return ALM_OK;
}

const alm_rights *alm_cursor_rights(const alm_cursor *c)
{
    return c->rights;
}

bool alm_session_holds(alm_session *s, const char *permission)
{
    if (s->who == NULL || s->db->conf == NULL || !s->db->conf->acl_enabled)
        return true;
    alm_ctx cx = {0};
    return alm_session_refresh(&cx, s) == ALM_OK && holds(s->rights, permission);
}

bool alm_session_sees(alm_session *s, const char *table)
{
    char name[NAME_BYTES];
    if (s->who == NULL || s->db->conf == NULL || !s->db->conf->acl_enabled)
        return true;
    alm_ctx cx = {0};
    lower(name, table);
    return alm_session_refresh(&cx, s) == ALM_OK && alm_rights_sees(s->rights, name);
}

bool alm_may_see_others(const alm_session *s)
{
    if (s->who == NULL || s->db->conf == NULL || !s->db->conf->acl_enabled)
        return true;
    return s->rights != NULL && holds(s->rights, "SQL ENGINE ADMIN");
}

bool alm_is_admin_name(const alm_cursor *c, const char *name)
{
    return strcmp(name, c->session->db->conf->acl_admin_user) == 0;
}

/* ------------------------------------------------------------------------ changes */

alm_status alm_acl_edit_begin(alm_cursor *c, alm_acl_edit *edit)
{
    *edit = (alm_acl_edit){.cx = &c->cx, .acl = c->rights != NULL ? c->rights->acl : NULL};
    return ALM_OK;
}

alm_status alm_acl_with(alm_ctx *cx, const alm_acl_edit *edit, bool blind,
                        const alm_records_change **out)
{
    alm_records_change *change = NULL;
    *out = NULL;
    if (edit->n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &change));
    *change =
        (alm_records_change){.seen_lsn = blind ? (uint64_t)ALM_RECORDS_BLIND : edit->acl->epoch,
                             .rows = edit->rows,
                             .n = edit->n};
    *out = change;
    return ALM_OK;
}

alm_status alm_acl_change(alm_cursor *c, alm_acl_fn fn, void *arg)
{
    enum { TRIES = 64 };
    for (int i = 0;; i++) {
        alm_acl_edit edit;
        ALM_TRY(alm_acl_edit_begin(c, &edit));
        ALM_TRY(fn(c, &edit, arg));
        if (edit.n == 0)
            return ALM_OK;
        const alm_records_change change = {
            .seen_lsn = edit.acl->epoch, .rows = edit.rows, .n = edit.n};
        const alm_status st = alm_records_put(&c->cx, c->session->db->storage, &change);
        if (st != ALM_E_STALE || i + 1 == TRIES)
            return st;
        alm_error_clear(&c->cx);
        ALM_TRY(alm_cursor_look_again(c));
        ALM_TRY(alm_cursor_access(c));
    }
}

/* ------------------------------------------------------------------------- owners */

alm_status alm_find_owner(alm_cursor *c, const alm_stmt *stmt, const char **owner)
{
    const alm_rights *rights = c->rights;
    *owner = NULL;
    if (rights == NULL)
        return ALM_OK; /* OWNED BY says nothing where access control is off */
    if (stmt->owner.len == 0) {
        if (rights->kind == ALM_PRINCIPAL_EXTERNAL)
            return alm_fail(&c->cx, ALM_E_SYNTAX, stmt->end,
                            "OWNED BY is required for external users");
        *owner = rights->kind == ALM_PRINCIPAL_ADMIN ? NULL : rights->name;
        return ALM_OK;
    }
    const alm_acl_name name = {stmt->owner, stmt->owner_pos};
    const alm_entity *entity = NULL;
    ALM_TRY(alm_acl_need(c, rights->acl, &name, 0, &entity));
    const bool mine =
        (rights->kind == ALM_PRINCIPAL_LOCAL && strcmp(entity->name, rights->name) == 0) ||
        alm_rights_is_in(rights, entity->name);
    if (!mine && !rights->all)
        return alm_fail(&c->cx, ALM_E_DENIED, stmt->owner_pos, "Access denied for %s [OWNED BY %s]",
                        rights->name, entity->name);
    *owner = entity->name;
    return ALM_OK;
}

/* What was granted on a name before there is something of it. An administrator may do that; who is none begins with his own grants
 * alone, as those who had them, or gave them, had another table in mind. */
static alm_status start_clean(alm_cursor *c, alm_acl_edit *edit, const char *table,
                              const char *column)
{
    return c->rights == NULL || c->rights->all ? ALM_OK : alm_edit_move(edit, table, column, NULL);
}

/* Does the owner of what is made get the permission on it? Not BACKUP TABLE, which writes to the server's files. */
static bool is_of_owner(const alm_permission *p, alm_level least)
{
    return p->level >= least && p->number != ALM_PERMISSION_BACKUP_TABLE;
}

/* Has he all that own() gives on the level, with grant option? */
static bool has_all(const alm_grant *g, alm_level least)
{
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (is_of_owner(p, least) &&
            !(alm_permission_in(&g->may, p->number) && alm_permission_in(&g->option, p->number)))
            return false;
    }
    return true;
}

static alm_status own(alm_acl_edit *edit, const char *owner, const char *table, const char *column,
                      alm_level least)
{
    alm_grant g;
    ALM_TRY(alm_edit_grant_now(edit, owner, table, column, &g));
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (!is_of_owner(p, least))
            continue;
        alm_permission_put(&g.may, p->number);
        alm_permission_put(&g.option, p->number);
    }
    alm_permission_put(&g.may, ALM_GRANT_OF_OWNER);
    return alm_edit_grant(edit, &g);
}

alm_status alm_own_table(alm_cursor *c, const alm_stmt *stmt, const char *table, alm_acl_edit *edit)
{
    const char *owner = NULL, *name = NULL;
    ALM_TRY(alm_acl_edit_begin(c, edit));
    ALM_TRY(alm_find_owner(c, stmt, &owner));
    ALM_TRY(alm_lower_name(&c->cx, alm_str_of(table), &name));
    if (alm_snapshot_find(c->snapshot, alm_str_of(table)) == NULL)
        ALM_TRY(start_clean(c, edit, name, NULL));
    if (owner == NULL)
        return ALM_OK;
    return own(edit, owner, name, "", ALM_LEVEL_T);
}

/* What own() gave: older versions did not mark it, but gave all that can be granted there, with grant option. */
static bool is_owner(const alm_grant *g)
{
    return alm_permission_in(&g->may, ALM_GRANT_OF_OWNER) ||
           has_all(g, g->column[0] != 0 ? ALM_LEVEL_C : ALM_LEVEL_T);
}

/* Of an owner's permission that he took from himself in part there are grants on columns left. */
static bool is_of_an_owner(const alm_acl *acl, const alm_grant *g)
{
    alm_grant table_wide;
    return is_owner(g) ||
           (alm_acl_grant(acl, g->entity, g->table, "", &table_wide) && is_owner(&table_wide));
}

alm_status alm_disown(alm_cursor *c, alm_str table, bool cascade, alm_acl_edit *edit)
{
    const char *name = NULL;
    if (edit->acl == NULL)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&c->cx, table, &name));
    if (cascade || !c->rights->all)
        return alm_edit_move(edit, name, NULL, NULL);
    for (uint32_t i = 0; i < edit->acl->n_grants; i++) {
        alm_grant g = alm_acl_grant_at(edit->acl, i);
        if (strcmp(g.table, name) != 0 || !is_of_an_owner(edit->acl, &g))
            continue;
        g.may = g.option = (alm_permission_set){{0, 0}};
        ALM_TRY(alm_edit_grant(edit, &g));
    }
    return ALM_OK;
}

alm_status alm_own_columns(alm_cursor *c, const alm_stmt *stmt, const char *table,
                           const alm_column *cols, uint32_t n, alm_acl_edit *edit)
{
    const char *owner = NULL, *name = NULL, *column = NULL;
    ALM_TRY(alm_find_owner(c, stmt, &owner));
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_lower_name(&c->cx, alm_str_of(table), &name));
        ALM_TRY(alm_lower_name(&c->cx, alm_str_of(cols[i].name), &column));
        ALM_TRY(start_clean(c, edit, name, column));
        alm_grant table_wide = {0};
        if (owner != NULL)
            ALM_TRY(alm_edit_grant_now(edit, owner, name, "", &table_wide));
        if (owner != NULL &&
            !has_all(&table_wide, ALM_LEVEL_C)) /* else it counts for the column, too */
            ALM_TRY(own(edit, owner, name, column, ALM_LEVEL_C));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------- life */

alm_status alm_db_access_new(alm_ctx *cx, alm_db *db)
{
    (void)pthread_mutex_init(&db->access.lock, NULL);
    db->access.is_made = true;
    ALM_TRY(alm_audit_new(cx, db->conf != NULL ? (size_t)db->conf->acl_audit_rows_max : 1,
                          &db->access.audit));
    return alm_logins_new(cx, db, &db->access.logins);
}

void alm_db_access_free(alm_db *db)
{
    if (!db->access.is_made)
        return; /* it did not come that far */
    alm_audit_free(db->access.audit);
    for (size_t i = 0; i < db->access.n_transient; i++)
        free((char *)(uintptr_t)db->access.transient[i].entity);
    free(db->access.transient);
    alm_oidc_free(db->access.oidc);
    alm_logins_free(db->access.logins);
    alm_acl_release(db->access.acl);
    (void)pthread_mutex_destroy(&db->access.lock);
}
